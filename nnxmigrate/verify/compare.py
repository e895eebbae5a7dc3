"""Comparing what two runs printed and wrote, number by number."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|\binf\b|\bnan\b)")
#: What differs from run to run and says nothing: addresses, times of day, durations, rates.
_NOISE = re.compile(
    r"0x[0-9a-f]{6,}"
    r"|\d{4}-\d\d-\d\d[T ]?"
    r"|\d{1,2}:\d\d:\d\d(?:[.,]\d+)?"
    r"|\b\d+(?:\.\d+)?\s*(?:ms|s|sec|secs|seconds|min|it/s|steps/s|s/it|s/step)\b",
    re.IGNORECASE,
)

_ARRAYS = """
import json, sys
import numpy as np
one, two, rtol, atol = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
def load(path):
    data = np.load(path, allow_pickle=False)
    return {name: data[name] for name in data.files} if hasattr(data, "files") else {"": data}
a, b = load(one), load(two)
for name in sorted(a.keys() | b.keys()):
    if name not in a or name not in b:
        sys.exit(f"{name} is in one of them only")
    if a[name].shape != b[name].shape:
        sys.exit(f"{name or 'the array'} has shape {a[name].shape}, then {b[name].shape}")
    bad = ~np.isclose(a[name], b[name], rtol=rtol, atol=atol, equal_nan=True)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0]) if bad.ndim else ()
        what = f"{name or 'the array'}{list(first)}: {a[name][first]} became {b[name][first]}"
        sys.exit(f"{what}; {int(bad.sum())} differ")
"""


@dataclass(frozen=True)
class Tolerance:
    """How far numbers may be apart.

    Attributes:
        relative: part of their size.
        absolute: at least.
        ignore: lines that match are not compared.
    """

    relative: float = 1e-3
    absolute: float = 1e-5
    ignore: re.Pattern[str] | None = None


@dataclass(frozen=True)
class Difference:
    """Where two texts first differ.

    Attributes:
        line: the 1-based line of the old text; one behind its end if the new text is longer.
        old: the old line.
        new: the new line.
        why: what differs, in words.
        stream: where it was printed: ``stdout`` or ``stderr``.
    """

    line: int
    old: str
    new: str
    why: str
    stream: str = "stdout"


def first_difference(old: str, new: str, tolerance: Tolerance) -> Difference | None:
    """Return where two outputs first differ; None if they agree within the tolerance."""
    left, right = list(_lines(old, tolerance)), list(_lines(new, tolerance))
    for number in range(max(len(left), len(right))):
        if number >= len(left):
            return Difference(len(old.splitlines()) + 1, "", right[number][1], "the new program prints more")
        if number >= len(right):
            return Difference(left[number][0], left[number][1], "", "the new program prints less")
        why = _unlike(left[number][1], right[number][1], tolerance)
        if why:
            return Difference(left[number][0], left[number][1], right[number][1], why)
    return None


def _lines(text: str, tolerance: Tolerance) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not (tolerance.ignore and tolerance.ignore.search(line)):
            yield number, line.rstrip()


def _unlike(old: str, new: str, tolerance: Tolerance) -> str:
    """Return what differs between two lines; empty if nothing does."""
    old, new = _NOISE.sub("~", old), _NOISE.sub("~", new)
    if old == new:
        return ""
    if _NUMBER.sub("#", old).split() != _NUMBER.sub("#", new).split():
        return "other words"
    for one, two in zip(_NUMBER.findall(old), _NUMBER.findall(new), strict=True):
        a, b = float(one.replace("_", "")), float(two.replace("_", ""))
        both_nan = math.isnan(a) and math.isnan(b)
        if not both_nan and not math.isclose(a, b, rel_tol=tolerance.relative, abs_tol=tolerance.absolute):
            return f"{one} became {two}"
    return ""


def file_differences(
    old: Path, new: Path, patterns: Sequence[str], tolerance: Tolerance, python: Path
) -> list[tuple[str, str]]:
    """Compare files that both runs wrote.

    Args:
        old: the copy of the old code.
        new: the copy of the new code.
        patterns: which files, as globs relative to the copies.
        tolerance: how far numbers may be apart.
        python: an interpreter with numpy, for arrays.

    Returns:
        The files that differ, each with what differs.
    """
    names: set[str] = set()
    for root in (old, new):
        for pattern in patterns:
            names |= {path.relative_to(root).as_posix() for path in root.glob(pattern) if path.is_file()}
    found = [(name, _file(old / name, new / name, tolerance, python)) for name in sorted(names)]
    missing = [(pattern, "no file of that name on either side") for pattern in patterns if not names]
    return missing + [(name, why) for name, why in found if why]


def _file(old: Path, new: Path, tolerance: Tolerance, python: Path) -> str:
    if not old.exists() or not new.exists():
        return f"only the {'old' if old.exists() else 'new'} program wrote it"
    if old.suffix in (".npy", ".npz"):
        command = [str(python), "-c", _ARRAYS, str(old), str(new), str(tolerance.relative), str(tolerance.absolute)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stderr.strip().splitlines()[-1] if done.returncode else ""
    one, two = old.read_bytes(), new.read_bytes()
    if one == two:
        return ""
    try:
        found = first_difference(one.decode("utf-8"), two.decode("utf-8"), tolerance)
    except UnicodeDecodeError:
        return "its bytes differ, and it is no text"
    return f"line {found.line}: {found.why}" if found else ""

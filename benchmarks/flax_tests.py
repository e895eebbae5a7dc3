"""Flax's own tests as a yardstick: ``python -m benchmarks.flax_tests CHECKOUT``.

The tests of NNX as Flax 0.10.7 had them are taken from a checkout of Flax, or from its git directory, migrated, and
run: as they are under 0.10.7, as they are and migrated under each target. A test *breaks* if it passes under 0.10.7
and not under the target; it is *back* if it passes there after migration, and *broken anew* if it passed before. Each
test that stays broken is listed with its error and with what is said about it: the findings that the migration left
inside it, or in what it uses of its file, or the sentence in docs/changes.md that says why no tool can mend it.

Three files ask for an option of 0.10 when they are imported, so that none of their tests runs under a later release.
That is one thing to mend and not two hundred; so the tests as they are get the option lent (``LENT``), and a test
counts as broken for its own sake only. What is migrated gets nothing lent.

Needs git, and installs the pins of ``tests.environments`` with what the tests import besides.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from codemods.nnx.unavoidable import CHANGES
from tests.environments import PINS, environment

TAG = "v0.10.7"
TESTS = "tests/nnx"
NEEDED = ("pytest", "absl-py", "cloudpickle", "einops")
#: What stands in for the option that later releases do not have.
LENT = """\
from flax.configurations import config

if not hasattr(config, "flax_mutable_array"):
    type(config).flax_mutable_array = False
"""
#: Which sentence of ``codemods.nnx.unavoidable`` is about a test, by a pattern of its name and how it begins.
SENTENCES = {
    r"summary_test.*test_tabulate": "`nnx.tabulate` counts more random state",
    r"normalization_test.*LinenConsistency": "norm layers with a `dtype` of half precision round",
    r"graph_utils_test.*test_pytree_flatten": "private names of the modules of Flax",
    r"test_split_merge_update_context|test_to_tree_update_context": "an attribute that held a number or a string",
    r"test_set_attribute_error|test_rng_trace_level_constraints": "messages of errors and `repr` texts differ",
    r"test_autoregressive_decode_with_x64": "Flax 0.11 needs Python 3.11, and each release runs",
}
#: Most of the time goes into compiling small programs, mostly the same before and after migration.
QUICK = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
LIMIT = 3600  # seconds after which a run of the tests is ended


@dataclass(frozen=True)
class Result:
    """How a test ended.

    Attributes:
        passed: whether it passed; a skipped test did not.
        error: the last line of its error.
    """

    passed: bool
    error: str = ""


@dataclass(frozen=True)
class Left:
    """A finding that a migration left.

    Attributes:
        path: the file, below the folder of the tests.
        lines: its line in the migrated file, and those of the other places that it names.
        code: the rule.
    """

    path: str
    lines: tuple[int, ...]
    code: str


def lay_out(checkout: Path, tag: str, folder: Path) -> None:
    """Put the tests of a tag of Flax into a folder.

    Args:
        checkout: a clone of Flax, or its git directory.
        tag: which release.
        folder: where they go.

    Raises:
        subprocess.CalledProcessError: if the checkout does not have them.
    """
    packed = subprocess.run(
        ["git", "-C", str(checkout), "archive", tag, TESTS], stdout=subprocess.PIPE, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def run(version: str, folder: Path) -> dict[str, Result]:
    """Run the tests of a folder under a Flax version; tests have the names of their file, class and function.

    Args:
        version: a key of :data:`tests.environments.PINS`.
        folder: where they were laid out.

    Raises:
        subprocess.TimeoutExpired: if they come to no end.
    """
    exe = environment(f"flax-tests-{version}", (*PINS[version], *NEEDED))
    report = folder / "report.xml"
    settings = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONHASHSEED": "0", **QUICK}
    settings["JAX_COMPILATION_CACHE_DIR"] = str(folder.parent / f"compiled-{version}")
    settings.pop("PYTHONPATH", None)
    subprocess.run(
        [
            *(str(exe), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"),
            *("--rootdir", ".", "-c", os.devnull, f"--junit-xml={report.name}", TESTS),
        ],
        cwd=folder,
        env=settings,
        stdout=(folder / "output.txt").open("wb"),
        stderr=subprocess.STDOUT,
        timeout=LIMIT,
        check=False,
    )
    found: dict[str, Result] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        bad = [child for child in case if child.tag in {"failure", "error", "skipped"}]
        error = next((child.get("message") or "" for child in bad), "")
        name = f"{case.get('classname', '')}.{case.get('name', '')}"
        found[name] = Result(not bad, (error.strip().splitlines() or [""])[0])
    return found


def migrate(folder: Path, target: str) -> list[Left]:
    """Migrate the tests of a folder in place, unsafe fixes too, and return the findings that are left.

    Args:
        folder: where they were laid out.
        target: the Flax version to migrate to.

    Raises:
        subprocess.CalledProcessError: if the program fails.
    """
    options = ["--from", "0.10", "--to", target, "--unsafe-fixes", "--output-format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "nnxmigrate", *options, TESTS], cwd=folder, stdout=subprocess.PIPE, check=False
    )
    (folder / "report.json").write_bytes(done.stdout)
    try:
        report = json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise subprocess.CalledProcessError(done.returncode, "nnxmigrate") from error
    for file in report["files"]:
        if file["status"] == "failed":
            print(f"left by a failure: {file['path']}: {file['reason']}")
    return [left for found in report["findings"] for left in _left(found)]


def _left(found: dict[str, Any]) -> Iterator[Left]:
    """Yield a finding for each file that it names places in, in its message or apart."""
    lines = {found["path"]: [place["start"]["line"] for place in (found, *found["related"])]}
    for numbers, path in re.findall(r"\blines? ([\d, and]+\d|\d+)(?: of (\S+\.py))?", found["message"]):
        lines.setdefault(path or found["path"], []).extend(map(int, re.findall(r"\d+", numbers)))
    yield from (Left(path, tuple(numbers), found["code"]) for path, numbers in lines.items())


@dataclass(frozen=True)
class Place:
    """Where a test is written.

    Attributes:
        path: its file.
        ranges: first and last lines: its own, and those of what it uses of its file.
    """

    path: str
    ranges: tuple[tuple[int, int], ...]


def places(folder: Path) -> dict[str, Place]:
    """Return where each test function of a folder is, by its name."""
    found = {}
    for path in sorted((folder / TESTS).rglob("*.py")):
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        body = ast.parse(path.read_bytes()).body
        named = {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        for outer in body:
            holders = [outer] if isinstance(outer, ast.FunctionDef) else getattr(outer, "body", [])
            for node in holders:
                if isinstance(node, ast.FunctionDef) and isinstance(outer, ast.ClassDef | ast.FunctionDef):
                    prefix = module if node is outer else f"{module}.{outer.name}"
                    used = [node, *(named[name] for name in _names(node) if name in named and named[name] is not outer)]
                    ranges = tuple((part.lineno, part.end_lineno or part.lineno) for part in used)
                    found[f"{prefix}.{node.name}"] = Place(path.relative_to(folder).as_posix(), ranges)
    return found


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def said(name: str, where: Mapping[str, Place], left: list[Left]) -> list[str]:
    """Return what is said about a test: findings in it, with their lines, and the sentence about it.

    Args:
        name: the test.
        where: the places of all tests.
        left: what the migration left.
    """
    plain = name.partition("[")[0]
    function = next((n for n in sorted(where, key=len, reverse=True) if plain.startswith(n)), None)
    found: list[str] = []
    if function is not None:
        place = where[function]
        for one in left:
            lines = [n for n in one.lines if any(first <= n <= last for first, last in place.ranges)]
            found += [f"{one.code}:{n}" for n in lines if one.path == place.path]
    for pattern, beginning in SENTENCES.items():
        if re.search(pattern, name):
            found += [f"docs/changes.md: {c.what}" for c in CHANGES if c.what.startswith(beginning)]
    return list(dict.fromkeys(found))


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print what broke, what is back and what stays broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path, help="a clone of Flax, or its git directory")
    parser.add_argument("--to", nargs="+", default=["0.11", "0.12"], choices=("0.11", "0.12"), help="target versions")
    parser.add_argument("--keep", type=Path, help="work in this folder, and use results that it has")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.keep or Path(temporary)).resolve()
        before = _measured("0.10", folder / "before-0.10", given.checkout, None)
        print(f"Flax 0.10.7: {sum(r.passed for r in before.values())} of {len(before)} tests pass")
        for target in given.to:
            _compare(target, folder, given.checkout, before)
    return 0


def _measured(version: str, folder: Path, checkout: Path, target: str | None) -> dict[str, Result]:
    if not (folder / "report.xml").exists():
        lay_out(checkout, TAG, folder)
        if target is None:
            (folder / TESTS / "conftest.py").write_text(LENT)
        else:
            left = migrate(folder, target)
            (folder / "left.json").write_text(json.dumps([vars(f) for f in left]))
    known = folder / "results.json"
    if not known.exists():
        known.write_text(json.dumps({name: vars(result) for name, result in run(version, folder).items()}))
    return {name: Result(**result) for name, result in json.loads(known.read_text()).items()}


def _compare(target: str, folder: Path, checkout: Path, before: dict[str, Result]) -> None:
    plain = _measured(target, folder / f"before-{target}", checkout, None)
    new = _measured(target, folder / f"after-{target}", checkout, target)
    left = [
        Left(f["path"], tuple(f["lines"]), f["code"])
        for f in json.loads((folder / f"after-{target}" / "left.json").read_text())
    ]
    good = [name for name, result in before.items() if result.passed]
    breaks = [name for name in good if not plain.get(name, Result(False)).passed]
    still = [name for name in breaks if not new.get(name, Result(False)).passed]
    anew = [name for name in good if name not in breaks and not new.get(name, Result(False)).passed]
    print(f"\nFlax {target}: {len(breaks)} break, {len(breaks) - len(still)} are back, {len(anew)} are broken anew")
    where = places(folder / f"after-{target}")
    told = {name: said(name, where, left) for name in (*still, *anew)}
    silent = sum(not told[name] for name in still)
    print(f"of the {len(still)} others {len(still) - silent} have a finding or a sentence, {silent} have none")
    for title, names in (("stays broken", still), ("broken anew", anew)):
        for name in names:
            print(f"{title}: {name} ({', '.join(told[name]) or 'nothing said'})")
            print(f"    {new.get(name, Result(False, 'is gone')).error}")


if __name__ == "__main__":
    sys.exit(main())

"""Look for programs that nnxmigrate does not handle: ``python -m benchmarks.fuzz FOLDER... --minutes 10``.

Each case takes a Python file of the folders (public code, laid out beforehand), changes its syntax tree or its lines at
random, writes it out again and asks: does the analysis end without a defect; does the result parse; does a second run
leave it alone; did every byte outside the edits stay. With ``--flax``, cases made from programs are also run before and
after their migration: one that no longer prints the same although nothing is left to do by hand is a fault. A case that
fails is kept in ``--keep``, as small as lines can be taken away.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import math
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from codemods.nnx.analyse import analyse
from codemods.nnx.edits import Edit, spliced
from codemods.nnx.findings import Safety
from codemods.nnx.options import VERSIONS, Options
from codemods.nnx.source import Source
from nnxmigrate import migrate

PROGRAMS = Path(__file__).resolve().parents[1] / "fixtures" / "programs"
LARGEST = 30_000  # bytes of a file that is taken
RUN = 0.03  # of the cases that are programs: running one costs as much as many cases
BATCH = 20  # programs for one process: an import of JAX costs as much as many of them
TARGETS = (("0.11",), ("0.12",), ("0.11", "0.12"))
CHOICES = (*(Options(targets=some) for some in TARGETS), Options(targets=("0.12",), lint=True))


class Mutator(ast.NodeTransformer):
    """Changes a syntax tree by the grammar: what stands where an expression, a name or a statement may stand.

    Args:
        chance: where randomness comes from.
        rate: how likely a node changes.
    """

    def __init__(self, chance: random.Random, rate: float, pool: Sequence[ast.expr]) -> None:
        self.chance = chance
        self.rate = rate
        self.pool = pool

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Change a node's children, and now and then the node."""
        super().generic_visit(node)
        if self.chance.random() >= self.rate:
            return node
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load) and self.pool:
            return copy.deepcopy(self.chance.choice(self.pool))
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and len(block) > 1:
                self._block(block)
        return node

    def _call(self, node: ast.Call) -> ast.expr:
        what = self.chance.randrange(5)
        if what == 0 and node.args:
            node.args.pop()
        elif what == 1 and node.keywords:
            self.chance.shuffle(node.keywords)
        elif what == 2 and node.args:
            node.args[-1] = ast.Starred(node.args[-1], ast.Load())
        elif what == 3:
            node.keywords.append(ast.keyword(None, ast.Name("options", ast.Load())))
        else:
            return ast.IfExp(ast.Name("flag", ast.Load()), node, copy.deepcopy(node))
        return node

    def _block(self, block: list[ast.stmt]) -> None:
        what = self.chance.randrange(4)
        place = self.chance.randrange(len(block))
        if what == 0:
            block.pop(place)
        elif what == 1:
            block.insert(place, copy.deepcopy(self.chance.choice(block)))
        elif what == 2:
            block[place] = ast.If(ast.Name("flag", ast.Load()), [block[place]], [])
        else:
            self.chance.shuffle(block)


def mutated(text: str, chance: random.Random) -> str:
    """Return a text changed by its grammar or by its lines; perhaps no Python any more."""
    if chance.random() < 0.3:
        lines = text.splitlines(keepends=True)
        for _ in range(chance.randrange(1, 5)):
            place = chance.randrange(len(lines)) if lines else 0
            lines[place : place + chance.randrange(3)] = chance.sample(lines, min(len(lines), chance.randrange(3)))
        return "".join(lines)
    tree = ast.parse(text)
    pool = [node for node in ast.walk(tree) if isinstance(node, ast.expr)][:200]
    pool = [node for node in pool if isinstance(getattr(node, "ctx", ast.Load()), ast.Load)]
    changed = Mutator(chance, chance.choice((0.005, 0.02, 0.05)), pool).visit(tree)
    return ast.unparse(ast.fix_missing_locations(changed)) + "\n"


def fault(text: str, options: Options) -> str:
    """Return what is wrong with how a text is handled; empty if nothing is."""
    try:
        once, problem = _migrated(text, options)
        if problem or once == text:
            return problem
        try:
            ast.parse(once)
        except SyntaxError as error:
            return f"the result does not parse: {error.msg}"
        for _ in range(10):  # fixes that overlap are made one after the other
            again, problem = _migrated(once, options)
            if problem or again == once:
                return problem
            once = again
    except Exception as error:  # the very thing that is looked for
        return f"{type(error).__name__}: {str(error)[:100]}"
    return "its fixes come to no end"


def _migrated(text: str, options: Options) -> tuple[str, str]:
    data = text.encode()
    analysis = analyse([Source("main.py", data, "main")], options)
    defects = [failure.message for failure in analysis.failures if failure.internal]
    if defects:
        return text, defects[0]
    edits: list[Edit] = []
    taken: list[tuple[int, int]] = []
    for finding in analysis.findings:
        if finding.fix is None or finding.fix.safety is not Safety.SAFE or finding.fix.paths != {"main.py"}:
            continue
        own = {edit for _, edit in finding.fix.edits} - set(edits)
        spans = [(edit.start, edit.end) for edit in own]
        if not any(a <= d and c <= b for a, b in spans for c, d in taken):
            edits += own
            taken += spans
    if any(edit.end > len(data) or edit.start > edit.end for edit in edits):
        return text, "an edit lies outside of the text"
    return spliced(data, edits).decode(), ""


def _same_fault(wrong: str, options: Options, text: str) -> bool:
    return fault(text, options) == wrong


def smallest(text: str, wrong: Callable[[str], bool]) -> str:
    """Return a text with as many lines taken away as it stays wrong without."""
    lines = text.splitlines(keepends=True)
    size = max(len(lines) // 2, 1)
    while size:
        place = 0
        while place < len(lines):
            fewer = lines[:place] + lines[place + size :]
            if wrong("".join(fewer)):
                lines = fewer
            else:
                place += size
        size //= 2
    return "".join(lines)


def texts(folders: Sequence[Path], programs: Path) -> Iterator[tuple[str, bool]]:
    """Yield the files that hold NNX code and are not too large, and whether they are programs that may be run."""
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            own = programs.resolve() in path.resolve().parents
            if path.is_file() and path.stat().st_size <= LARGEST:
                text = path.read_text(encoding="utf-8", errors="replace")
                if "nnx" in text:
                    try:
                        ast.parse(text)
                    except (SyntaxError, ValueError):
                        continue
                    yield text, own


_DRIVER = """
import contextlib, io, json, signal, sys

def late(*_):
    raise TimeoutError

signal.signal(signal.SIGALRM, late)
results = []
for text in json.load(open(sys.argv[1])):
    out = io.StringIO()
    signal.alarm(60)
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(text, "program", "exec"), {"__name__": "__main__"})
        results.append([out.getvalue(), ""])
    except BaseException as error:
        results.append([None, f"{type(error).__name__}: {error}"[:300]])
    signal.alarm(0)
json.dump(results, open(sys.argv[2], "w"))
"""


def ran(python: Path, programs: Sequence[str]) -> list[tuple[str | None, str]]:
    """Run programs one after the other; return what each prints, or None and why it failed."""
    with tempfile.TemporaryDirectory() as folder:
        given, results = Path(folder, "programs.json"), Path(folder, "results.json")
        given.write_text(json.dumps(list(programs)))
        command = [str(python), "-W", "ignore", "-c", _DRIVER, str(given), str(results)]
        subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if not results.exists():  # one of them took the process down
            return [(None, "the process ended")] * len(programs)
        return [(out, error) for out, error in json.loads(results.read_text())]


def alike(one: str | None, other: str) -> bool:
    """Say whether two outputs are the same but for the last digits of numbers."""
    if one is None:
        return False
    parts, others = _NUMBER.split(one), _NUMBER.split(other)
    numbers, more = _NUMBER.findall(one), _NUMBER.findall(other)
    return parts == others and all(
        math.isclose(float(a), float(b), rel_tol=1e-4, abs_tol=1e-5) for a, b in zip(numbers, more, strict=True)
    )


_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


@dataclass
class Trial:
    """Programs that are run before and after their migration.

    Attributes:
        pythons: with Flax 0.10, and with one or more later families, in order.
        keep: the folder for programs that are no longer the same.
        waiting: programs that are to be run.
        counts: how many there were of what.
    """

    pythons: Sequence[Path]
    keep: Path
    waiting: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, text: str) -> None:
        """Take a program, and run those that wait if they are enough."""
        self.waiting.append(text)
        if len(self.waiting) >= BATCH:
            self.run()

    def run(self) -> None:
        """Run what waits; keep the programs that print something else although nothing is left to do by hand."""
        before = ran(self.pythons[0], self.waiting)
        alive = [(text, out) for text, (out, _) in zip(self.waiting, before, strict=True) if out]
        self.waiting.clear()
        self.counts["programs run"] += len(alive)
        for version, python in zip(VERSIONS[1:], self.pythons[1:], strict=False):
            results = [migrate(text, to=version) for text, _ in alive]
            after = ran(python, [result.text for result in results])
            for (text, out), result, (now, error) in zip(alive, results, after, strict=True):
                if alike(now, out):
                    self.counts[f"the same on {version}"] += 1
                elif result.left:
                    self.counts[f"with hand work left on {version}"] += 1
                else:
                    self.counts[f"not the same on {version}"] += 1
                    self.keep.mkdir(parents=True, exist_ok=True)
                    name = f"program{self.counts['kept']}.py"
                    self.counts["kept"] += 1
                    why = error or f"prints {now!r} and not {out!r}"[:1000]
                    (self.keep / name).write_text(f"# Flax {version}: {why!r}\n{text}")
                    (self.keep / f"after_{name}").write_text(result.text)
                    print(f"not the same on {version}: {name}: {why[:200]!r}", flush=True)


def main() -> int:
    """Fuzz for the time asked for; print the counts, and return 1 if something was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--minutes", type=float, default=10, help="of processor time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"))
    parser.add_argument("--programs", type=Path, default=PROGRAMS, help="the folder of programs that may be run")
    parser.add_argument("--flax", type=Path, nargs="+", metavar="PYTHON", help="Pythons with Flax 0.10, 0.11 and 0.12")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(10_000)
    chance = random.Random(given.seed)
    corpus = list(texts(given.folders, given.programs))
    trial = Trial(given.flax or (), given.keep)
    print(f"{len(corpus)} files", flush=True)
    counts: Counter[str] = Counter()
    found: dict[str, str] = {}
    while time.process_time() < 60 * given.minutes:
        base, own = chance.choice(corpus)
        try:
            text = mutated(base, chance)
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, TypeError, AttributeError, KeyError, IndexError):
            counts["no Python"] += 1
            continue
        options = chance.choice(CHOICES)
        began = time.process_time()
        wrong = fault(text, options)
        counts["slow"] += time.process_time() - began > 30
        counts["cases"] += 1
        if counts["cases"] % 1000 == 0:
            print(f"{time.process_time() / 60:.0f} minutes: {counts['cases']} cases", flush=True)
        if not wrong and own and given.flax and chance.random() < RUN:
            trial.take(text)
        if wrong and wrong not in found:
            found[wrong] = text
            small = smallest(text, partial(_same_fault, wrong, options))
            given.keep.mkdir(parents=True, exist_ok=True)
            (given.keep / f"case{len(found)}.py").write_text(f"# {wrong}\n# {options}\n{small}")
            print(f"{wrong}: case{len(found)}.py", flush=True)
    if trial.waiting:
        trial.run()
    counts += trial.counts
    faults = len(found) + counts["kept"]
    print(", ".join(f"{number} {what}" for what, number in counts.items()) + f"; {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

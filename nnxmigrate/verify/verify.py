"""Both sides of a migration, run and compared."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nnxmigrate.outcome import Diagnostic, Outcome, Status
from nnxmigrate.verify import copies, environments, running
from nnxmigrate.verify.compare import Difference, Tolerance, file_differences, first_difference
from nnxmigrate.verify.modules import PACKAGES, imported
from nnxmigrate.verify.program import is_pytest, program
from nnxmigrate.verify.suspects import Suspect, suspects
from nnxmigrate.verify.wanted import wanted


class CannotVerify(Exception):
    """The two sides cannot be compared; the message says why."""


@dataclass(frozen=True)
class Plan:
    """What is compared.

    Attributes:
        project: the folder of the project.
        command: what is run.
        old: the commit that holds the old code; None for the files as they are.
        migrated: whether the files as they are hold the new code; otherwise a copy is migrated.
        files: globs of files that are compared beside the output.
        tolerance: how far numbers may be apart.
        seed: for `random` and `numpy.random`.
        limit: seconds for each run.
        install_limit: seconds for making each environment.
        copy_limit: bytes of the project.
        python: version of the environments' interpreter; None for what the project takes.
        extra: more requirements.
        extras: extras and groups of the project that are installed as well.
        below: the folder that the command is run in, relative to the project.
        errors: whether what is printed to stderr is compared, too.
        pythons: interpreters to use instead of making environments.
        releases: the releases of Flax that the user names, for each side.
    """

    project: Path
    command: Sequence[str]
    old: str | None = None
    migrated: bool = False
    files: Sequence[str] = ()
    tolerance: Tolerance = field(default_factory=Tolerance)
    seed: int = 0
    limit: float = 600
    install_limit: float = 1800
    copy_limit: int = 2_000_000_000
    python: str | None = None
    extra: Sequence[str] = ()
    extras: Sequence[str] = ()
    below: str = "."
    errors: bool = False
    pythons: tuple[Path | None, Path | None] = (None, None)
    releases: tuple[str | None, str | None] = (None, None)


@dataclass
class Result:
    """What came out.

    Attributes:
        recipes: what the environments hold, in words.
        old: the run of the old code.
        new: the run of the new code.
        difference: where the outputs first differ.
        files: files that differ, with what differs.
        tests: tests that passed before and do not now.
        suspects: changed places in code that ran before the difference.
        by_test: the same for every test that broke.
        changed: how many findings were fixed on the way.
        left: how many are left.
        compared: how many streams and files were compared beside the output.
        ran: the text of the old files that ran.
    """

    recipes: tuple[str, str]
    old: running.Side
    new: running.Side
    difference: Difference | None = None
    files: list[tuple[str, str]] = field(default_factory=list)
    tests: list[str] = field(default_factory=list)
    suspects: list[Suspect] = field(default_factory=list)
    by_test: dict[str, list[Suspect]] = field(default_factory=dict)
    changed: int = 0
    left: int = 0
    compared: int = 0
    ran: str = ""

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.difference or self.files or self.tests) and self.old.code == self.new.code


Migrate = Callable[[Path, bool], Outcome]


def verify(
    plan: Plan, origin: Callable[[Path], str], target: str, migrate: Migrate, tell: Callable[[str], None]
) -> Result:
    """Run a program on both sides and compare.

    Args:
        plan: what is compared.
        origin: returns the Flax that the code in a folder was written for.
        target: the Flax of the new code.
        migrate: migrates a folder, or only says what would change.
        tell: called with what is being done.

    Raises:
        CannotVerify: if one side cannot be made, or the old program fails.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="nnxmigrate-verify-", ignore_cleanup_errors=True) as folder:
            return _compared(plan, Path(folder).resolve(), (origin, target), migrate, tell)
    except (environments.NoEnvironment, copies.CopyFailed) as error:
        raise CannotVerify(str(error)) from error


def _pythons(
    plan: Plan, roots: tuple[Path, Path], versions: tuple[str, str], tell: Callable[[str], None]
) -> tuple[tuple[Path, Path], tuple[str, str]]:
    """Return the interpreters of both sides, and what they hold in words."""
    recipes: list[environments.Recipe | None] = []
    beside = None
    python = plan.python
    sides = zip(roots, versions, plan.releases, plan.pythons, strict=True)
    for number, (root, version, exact, given) in enumerate(sides):
        if given is not None:
            recipes.append(None)
            continue
        folder = program(plan.command, root / plan.below, root)
        folder = folder if folder.is_dir() else folder.parent
        python = python or environments.python_for(folder, root)
        oldest = number == 0 and versions[0] == versions[1]  # else both sides were the same
        one = environments.recipe(environments.pins_of(folder, root), version, beside, exact=exact, oldest=oldest)
        beside = one.jax
        try:
            found = wanted(folder, root, plan.extras)
        except KeyError as error:
            raise CannotVerify(f"--extra {error.args[0]}: the project declares no such extra or group") from error
        tell(f"resolving what goes with {one}")
        one = replace(
            one,
            others=environments.others(found.lines),
            constraints=environments.others(found.constraints),
            options=tuple(found.indexes),
        )
        one = environments.settled(one, _extra(plan, one), python, plan.install_limit)
        for line in one.moved:
            tell(f"{line} does not go together with {one}: another release of it is taken")
        recipes.append(one)
    pythons, words = [], []
    for recipe, given in zip(recipes, plan.pythons, strict=True):
        if recipe is not None:
            tell(f"environment with {recipe}")
            given = environments.make(recipe, _extra(plan, recipe), python or "", plan.install_limit)
        assert given is not None
        words.append(str(recipe or given))
        pythons.append(given)
    return (pythons[0], pythons[1]), (words[0], words[1])


def _extra(plan: Plan, one: environments.Recipe) -> list[str]:
    """Return what is installed besides what the project requires."""
    tests = is_pytest(plan.command) and not any(re.match(r"pytest\b(?!-)", line) for line in one.others)
    return [*plan.extra, *(["pytest"] if tests else [])]


def _compared(
    plan: Plan,
    top: Path,
    versions: tuple[Callable[[Path], str], str],
    migrate: Migrate,
    tell: Callable[[str], None],
) -> Result:
    name = plan.project.name or "project"
    roots = (top / "old" / name, top / "new" / name)
    for side in ("old", "new"):
        (top / side).mkdir()
        (top / f"{side}-notes").mkdir()
    tell("copying the project")
    copies.copy(plan.project, roots[0], plan.old, plan.copy_limit)
    copies.copy(plan.project, roots[1], None if plan.migrated else plan.old, plan.copy_limit)
    tell("migrating the copy")
    outcome = migrate(roots[0] if plan.migrated else roots[1], not plan.migrated)
    failed = [f"{file.path}: {file.reason}" for file in outcome.by_status[Status.FAILED] if file.internal]
    if failed:
        raise CannotVerify("the copy cannot be migrated: " + "; ".join(failed))
    if plan.pythons[1] is None:
        _raise_pins(roots[1], versions[1])
    pythons, words = _pythons(plan, roots, (versions[0](roots[0]), versions[1]), tell)
    sides = []
    for number, side in enumerate(("old", "new")):
        tell(f"running the {side} program with {words[number]}")
        sides.append(
            running.run(
                roots[number],
                plan.below,
                plan.command,
                pythons[number],
                project=plan.project,
                seed=plan.seed,
                limit=plan.limit,
                work=top / f"{side}-notes",
            )
        )
        first = sides[0]
        if number == 0 and first.code != 0 and "passed" not in first.tests.values():
            what = f"took more than {plan.limit:.0f} s (--timeout)" if first.code is None else "failed"
            raise CannotVerify(
                f"the old program {what} with {words[0]}, so there is nothing to compare with:\n"
                f"{_tail(first.out if first.tests else first.err)}"
                f"{_missing(plan, roots[0], pythons[0], first.out + first.err)}"
            )
    result = Result(words, sides[0], sides[1], changed=len(outcome.fixed), left=len(outcome.left))
    # findings that were fixed have their places in the old text; those that are left in the text that was written
    base = roots[0]
    fixed = [_moved(one, roots) for one in outcome.fixed]
    left = [_moved(one, roots) for one in outcome.left] if plan.migrated else []
    _judge(plan, result, roots, pythons[1], base, fixed, left)
    return result


def _unlike(plan: Plan, roots: tuple[Path, Path], old: str, new: str) -> Difference | None:
    return first_difference(old.replace(str(roots[0]), ""), new.replace(str(roots[1]), ""), plan.tolerance)


def _raise_pins(root: Path, target: str) -> None:
    """Raise the pins of a copy to what its code is for, as the user will."""
    from nnxmigrate.doctor import bump, project

    for path, content in bump.plan(project.read(root).sets, target).contents.items():
        Path(path).write_bytes(content)


def _missing(plan: Plan, root: Path, python: Path, error: str) -> str:
    """Return what to add to the call if modules are missing that the project imports."""
    if "ModuleNotFoundError" not in error:
        return ""
    names = [name for name in imported(root) if name not in _own_modules(root)]
    code = "import importlib.util as u, sys; print(*[n for n in sys.argv[1:] if u.find_spec(n) is None])"
    done = subprocess.run([str(python), "-c", code, *names], capture_output=True, text=True, check=False)
    missing = done.stdout.split()
    if not missing:
        return ""
    options = " ".join(f"--with {PACKAGES.get(name, name)}" for name in missing)
    folder = program(plan.command, root / plan.below, root)
    extras = wanted(folder if folder.is_dir() else folder.parent, root).extras
    also = f"; the project declares --extra {', --extra '.join(sorted(extras))}" if extras else ""
    return f"\nIts code imports what is not installed there; name what the program needs: {options}{also}"


def _own_modules(root: Path) -> set[str]:
    """Return the names of modules that lie in a project."""
    return {path.stem for path in root.rglob("*.py")} | {path.parent.name for path in root.rglob("*.py")}


def _moved(one: Diagnostic, roots: tuple[Path, Path]) -> Diagnostic:
    """Return a finding with the paths of the old copy: the same places before anything was written."""

    def old(path: str) -> str:
        return os.path.abspath(path).replace(str(roots[1]), str(roots[0]), 1)

    parts = tuple(replace(part, path=old(part.path)) for part in one.replacements)
    return replace(one, path=old(one.path), replacements=parts)


def _judge(
    plan: Plan,
    result: Result,
    roots: tuple[Path, Path],
    python: Path,
    base: Path,
    fixed: Sequence[Diagnostic],
    left: Sequence[Diagnostic],
) -> None:
    """Find what differs, and the rules that may be to blame."""
    old, new = result.old, result.new
    if old.tests:
        result.tests = sorted(
            name for name, outcome in old.tests.items() if outcome == "passed" and new.tests.get(name) != "passed"
        )
        for name in result.tests:
            result.by_test[name] = suspects(base, fixed, left, old.entered, test=name)
    else:
        result.difference = _unlike(plan, roots, old.out, new.out)
        if plan.errors and result.difference is None:
            found = _unlike(plan, roots, old.err, new.err)
            result.difference = found and replace(found, stream="stderr")
    files = {roots[0] / one.path for one in old.entered}
    result.ran = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file())
    names = {path for pattern in plan.files for path in roots[0].glob(pattern)}
    result.compared = len(names) + (plan.errors and bool(old.err.strip()))
    result.files = file_differences(roots[0], roots[1], plan.files, plan.tolerance, python)
    if result.difference or result.files or (old.code != new.code and not result.tests):
        where = result.difference
        printed = where.line - 1 if where is not None and where.stream == "stdout" else None
        result.suspects = suspects(base, fixed, left, old.entered, printed)


def _tail(text: str, lines: int = 12) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-lines:])

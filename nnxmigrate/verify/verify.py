"""Both sides of a migration, run and compared."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nnxmigrate.outcome import Diagnostic, Outcome, Status
from nnxmigrate.verify import copies, environments, running
from nnxmigrate.verify.compare import Difference, Tolerance, file_differences, first_difference
from nnxmigrate.verify.suspects import Suspect, suspects


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
        python: version of the environments' interpreter.
        extra: more requirements.
        pythons: interpreters to use instead of making environments.
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
    python: str = "3.11"
    extra: Sequence[str] = ()
    pythons: tuple[Path | None, Path | None] = (None, None)


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

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not (self.difference or self.files or self.tests) and self.old.code == self.new.code


Migrate = Callable[[Path, bool], Outcome]


def verify(plan: Plan, versions: tuple[str, str], migrate: Migrate, tell: Callable[[str], None]) -> Result:
    """Run a program on both sides and compare.

    Args:
        plan: what is compared.
        versions: the Flax of the old and of the new code.
        migrate: migrates a folder, or only says what would change.
        tell: called with what is being done.

    Raises:
        CannotVerify: if one side cannot be made, or the old program fails.
    """
    try:
        pythons, words = _pythons(plan, versions, tell)
        with tempfile.TemporaryDirectory(prefix="nnxmigrate-verify-", ignore_cleanup_errors=True) as folder:
            top = Path(folder).resolve()
            return _compared(plan, top, pythons, words, migrate, tell)
    except (environments.NoEnvironment, copies.CopyFailed) as error:
        raise CannotVerify(str(error)) from error


def _pythons(
    plan: Plan, versions: tuple[str, str], tell: Callable[[str], None]
) -> tuple[tuple[Path, Path], tuple[str, str]]:
    """Return the interpreters of both sides, and what they hold in words."""
    made = environments.recipes(environments.pins_of(plan.project), environments.requirements(plan.project), *versions)
    extra = [*plan.extra]
    if running.is_pytest(plan.command) and not any(one.startswith("pytest") for one in made[0].others):
        extra.append("pytest")
    pythons, words = [], []
    for recipe, given in zip(made, plan.pythons, strict=True):
        if given is None:
            tell(f"environment with {recipe}")
            given = environments.make(recipe, extra, plan.python, plan.install_limit)
            words.append(str(recipe))
        else:
            words.append(str(given))
        pythons.append(given)
    return (pythons[0], pythons[1]), (words[0], words[1])


def _compared(
    plan: Plan,
    top: Path,
    pythons: tuple[Path, Path],
    words: tuple[str, str],
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
    below = os.path.relpath(os.getcwd(), plan.project)
    below = "." if below.startswith("..") else below
    sides = []
    for number, side in enumerate(("old", "new")):
        tell(f"running the {side} program with {words[number]}")
        sides.append(
            running.run(
                roots[number],
                below,
                plan.command,
                pythons[number],
                project=plan.project,
                seed=plan.seed,
                limit=plan.limit,
                work=top / f"{side}-notes",
            )
        )
        if number == 0 and sides[0].code != 0 and not sides[0].tests:
            what = f"took more than {plan.limit:.0f} s (--timeout)" if sides[0].code is None else "failed"
            raise CannotVerify(
                f"the old program {what} with {words[0]}, so there is nothing to compare with:\n{_tail(sides[0].err)}"
            )
    result = Result(words, sides[0], sides[1], changed=len(outcome.fixed), left=len(outcome.left))
    # findings that were fixed have their places in the old text; those that are left in the text that was written
    base = roots[0]
    fixed = [_moved(one, roots) for one in outcome.fixed]
    left = [_moved(one, roots) for one in outcome.left] if plan.migrated else []
    _judge(plan, result, roots, pythons[1], base, fixed, left)
    return result


def _moved(one: Diagnostic, roots: tuple[Path, Path]) -> Diagnostic:
    """Return a finding with the paths of the old copy: the same places before anything was written."""
    from dataclasses import replace

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
        texts = (old.out.replace(str(roots[0]), ""), new.out.replace(str(roots[1]), ""))
        result.difference = first_difference(*texts, plan.tolerance)
    result.files = file_differences(roots[0], roots[1], plan.files, plan.tolerance, python)
    if result.difference or result.files or (old.code != new.code and not result.tests):
        printed = result.difference.line - 1 if result.difference else None
        result.suspects = suspects(base, fixed, left, old.entered, printed)


def _tail(text: str, lines: int = 12) -> str:
    return "\n".join(f"    {line}" for line in text.strip().splitlines()[-lines:])

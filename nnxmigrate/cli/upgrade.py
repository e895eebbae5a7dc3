"""The command ``upgrade``: the whole route, one step after the other."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from nnxmigrate.cli import advice
from nnxmigrate.cli.common import Choices
from nnxmigrate.files.discovery import display

#: Subjects of the commits that `--commit-per-step` makes begin with this.
SUBJECT = "nnxmigrate: "


class _Stop(Exception):
    """A step needs a person; the message says what for."""


@dataclass
class Route:
    """What is walked.

    Attributes:
        path: the project.
        origin: the version that the user says the code was written for.
        target: the version that the user says it shall run on.
        dry: whether nothing is written.
        ask: whether the user is asked before something is written.
        commit: whether every step is committed.
        program: the command that `verify` runs.
        options: options that `verify` gets.
        goals: the versions of each part of the project before anything was done, in words.
        goal: the version that its pins will ask for, which its code is migrated to if the user names none.
        todo: what is left for a person at the end.
    """

    path: Path
    origin: str | None
    target: str | None
    dry: bool
    ask: bool
    commit: bool
    program: Sequence[str]
    options: Sequence[str] = ()
    goals: list[str] = field(default_factory=list)
    goal: str = ""
    todo: list[str] = field(default_factory=list)

    @property
    def given(self) -> list[str]:
        """The options that say the versions, as the user gave them."""
        return self._versions(self.target)

    @property
    def versions(self) -> list[str]:
        """The options that say the versions of every step."""
        return self._versions(self.target or self.goal)

    def _versions(self, target: str | None) -> list[str]:
        pairs = (("--from", self.origin), ("--to", target))
        return [word for option, value in pairs if value for word in (option, value)]

    @property
    def place(self) -> str:
        """The project as a user would write it."""
        return shlex.quote(display(str(self.path)))


@click.command()
@click.argument("path", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path("."))
@click.option("--from", "origin", metavar="VERSION", help="Flax version the code was written for.")
@click.option("--to", "target", metavar="VERSION", help="Flax version that it shall run on.")
@click.option("--dry-run", is_flag=True, help="Only show what every step would do.")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing.")
@click.option("--commit-per-step", is_flag=True, help="Commit in git what every step changed.")
@click.option("--verify", "program", metavar="COMMAND", help="What proves the migration.")
@click.option("--with", "extra", multiple=True, metavar="REQUIREMENT", help="Install this as well to prove it.")
@click.option("--extra", "extras", multiple=True, metavar="NAME", help="Install this extra of the project, too.")
def upgrade(
    path: Path,
    origin: str | None,
    target: str | None,
    dry_run: bool,
    yes: bool,
    commit_per_step: bool,
    program: str | None,
    extra: tuple[str, ...],
    extras: tuple[str, ...],
) -> None:
    """Walk the whole route to a newer Flax: versions, code, pins, checkpoints, proof, and what is left.

    PATH is the folder of a project. The route stops at the first thing that needs a person and says what; run the
    command again to go on, what is done stays done. Exit status: 0 at its end, 1 if it stopped, 2 after a failure.
    """
    Choices([str(path)], {"origin": origin, "targets": target}).versions()
    ask = not yes and not dry_run
    if ask and not sys.stdin.isatty():
        raise click.UsageError("upgrade writes files: say --yes, or --dry-run to see the plan")
    if (extra or extras) and not program:
        raise click.UsageError("--with and --extra are for --verify, which is not given")
    options = [
        word for name, given in (("--with", extra), ("--extra", extras)) for one in given for word in (name, one)
    ]
    route = Route(path, origin, target, dry_run, ask, commit_per_step, _words(program), options)
    route.goals = _goals(route)
    if not route.goals:
        raise click.UsageError(f"{route.place} holds no NNX code")
    route.goal = _goal(route)
    if commit_per_step and not dry_run:
        _check_clean(route)
    steps: Sequence[tuple[str, Callable[[Route], None]]] = (
        ("What the project is", _look),
        ("Migrate the code", _migrate),
        ("Raise the pins", _pins),
        ("Checkpoints", _checkpoints),
        ("Prove it", _prove),
    )
    for number, (title, step) in enumerate(steps, 1):
        click.echo(click.style(f"{number}. {title}", bold=True))
        try:
            step(route)
        except _Stop as stop:
            click.echo(f"\nStopped at step {number}: {stop}")
            click.echo(f"Then go on with: {_again(route, program)}")
            sys.exit(1)
    click.echo(click.style("6. What is left", bold=True))
    for line in route.todo:
        click.echo(f"  - {line}")
    if not dry_run:
        _run(["status", str(path), *route.versions])
    click.echo("  the plan ends here; nothing was written" if dry_run else "  the route ends here")


def _words(program: str | None) -> list[str]:
    """Return the words of the command that proves the migration, if it can be run."""
    from nnxmigrate.verify.program import runnable

    try:
        words = shlex.split(program or "")
    except ValueError as error:
        raise click.UsageError(f"--verify: {error}") from error
    reason = runnable(words) if words else None
    if reason:
        raise click.UsageError(f"--verify: {reason}")
    return words


def _again(route: Route, program: str | None) -> str:
    words = ["nnxmigrate", "upgrade", display(str(route.path)), *route.given]
    words += ["--yes"] * (not route.ask and not route.dry) + ["--commit-per-step"] * route.commit
    words += ["--verify", program, *route.options] if program else []
    return shlex.join(words)


def _run(arguments: list[str]) -> int:
    """Run another command of this program, and return its exit status."""
    from nnxmigrate.cli import main

    advice.WALKING.set(True)
    try:
        code = main.main(arguments, prog_name="nnxmigrate", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    except click.ClickException as error:
        error.show()
        return 2
    finally:
        advice.WALKING.set(False)


def _fail(code: int) -> None:
    if code not in (0, 1):
        sys.exit(code)


def _confirm(route: Route, question: str) -> None:
    if route.ask and not click.confirm(question, default=True):
        raise _Stop("you said no")


def _goals(route: Route) -> list[str]:
    """Return the versions of each part of the project, in words."""
    from nnxmigrate.cli.verify import project_versions

    return project_versions(route.path, Choices([str(route.path)], {"origin": route.origin, "targets": route.target}))


def _look(route: Route) -> None:
    code = _run(["doctor", str(route.path)])
    _fail(code)
    for line in route.goals:
        click.echo(f"  {line}")


def _migrate(route: Route) -> None:
    _confirm(route, f"Rewrite the code in {route.place}?")
    mode = ["--check"] if route.dry else []
    token = advice.COMMITTING.set(route.commit and not route.dry)
    code = _run([str(route.path), *route.versions, *mode])
    advice.COMMITTING.reset(token)
    _fail(code)
    if route.dry:
        if _errors_left(route):
            route.todo.append("mend the errors listed at step 2 by hand: the route stops there until they are gone")
        return
    _commit(route, "rewrite the code for the newer Flax")
    if _errors_left(route):
        raise _Stop(
            "mend the errors listed above by hand; what you find to be right, silence with `# nnx: ignore[CODE]` in "
            "its line, or delete from .nnxmigrate-left.toml."
        )


def _errors_left(route: Route) -> bool:
    """Say whether something is left that fails or silently gives other results."""
    from nnxmigrate.cli.execute import examine
    from nnxmigrate.cli.remaining import record_of
    from nnxmigrate.rules import at_least
    from nnxmigrate.settings import Settings

    choices = Choices([str(route.path)], {"origin": route.origin, "targets": route.target or route.goal})
    settings = Settings(options=choices.options(lint=False), write=False, per_file=choices.per_file())
    outcome, _ = examine(choices, [str(route.path)], settings, record=record_of([str(route.path)]))
    return any(at_least(one.code, "error") for one in outcome.left)


def _pins(route: Route) -> None:
    from nnxmigrate.doctor import bump, project
    from nnxmigrate.doctor.compat import TARGETS
    from nnxmigrate.files.atomic import WriteFailed, write_all
    from nnxmigrate.versions import jax_pins
    from nnxmigrate.versions.pins import forget

    reading = project.read(route.path)
    goal = _goal(route)
    plan = bump.plan(reading.sets, goal)
    for change in plan.changes:
        click.echo(f"  {display(change.path)}: {change.package} {change.before or '(nothing)'} -> {change.after}")
    if not plan.changes:
        click.echo("  nothing to raise" if reading.sets else "  no pins of Flax")
    if plan.changes and not route.dry:
        _confirm(route, "Raise these pins?")
        try:
            write_all(plan.contents)
        except (OSError, WriteFailed) as error:
            raise _Stop(f"the pins could not be written: {error}") from error
        forget()
        jax_pins.forget()
        _commit(route, "raise the pins of Flax")
    changed = {change.path for change in plan.changes}
    for pins in reading.sets:
        if pins.kind == "pins" and pins.path not in changed and pins.specifier("flax").contains("0.10.7"):
            route.todo.append(f"{display(pins.path)} still allows Flax 0.10, on which the new code may not run")
    if not reading.sets:
        wanted = TARGETS[goal].exact
        route.todo.append(f"install what the new code needs: pip install flax=={wanted['flax']} jax=={wanted['jax']}")
    for stuck in plan.stuck:
        route.todo.append(f"write {stuck.package}{stuck.after} into {display(stuck.path)} by hand")
    for refresh in sorted({pins.refresh for pins in reading.sets if pins.kind == "lock" and pins.refresh}):
        route.todo.append(f"renew the lock: {refresh}")


def _goal(route: Route) -> str:
    """Return the Flax that pins are raised to: the newest that the code shall run on."""
    from nnxmigrate.cli.verify import project_goal

    return project_goal(route.path, Choices([str(route.path)], {"origin": route.origin, "targets": route.target}))


def _checkpoints(route: Route) -> None:
    from nnxmigrate.found_checkpoints import checkpoints

    found = list(checkpoints(route.path))
    for one in found:
        name = display(str(one.path))
        if one.trouble:
            click.echo(f"  {name}: {one.trouble}")
        elif one.need:
            command = f"nnxmigrate fix-ckpt {shlex.quote(name)}"
            click.echo(f"  {name}: {one.need}\n    {command}")
            route.todo.append(f"convert {name}: {command}")
        else:
            click.echo(f"  {name}: fits as it is: no random streams of 0.10, and no optimizer's state with its model")
    if not found:
        click.echo("  none found here; `nnxmigrate fix-ckpt --dry-run PATH` tells of one that lies elsewhere")


def _prove(route: Route) -> None:
    if not route.program:
        click.echo('  no command given; --verify "python train.py --steps 5" runs it before and after, and compares')
        route.todo.append("prove it: nnxmigrate verify -- python train.py")
        return
    words = ["verify", "--project", str(route.path), *route.versions, *route.options]
    start = _start(route)
    words += ["--old", start] if start else []
    words += ["--", *route.program]
    if route.dry:
        click.echo(f"  would run: {shlex.join(['nnxmigrate', *words])}")
        return
    _confirm(route, f"Run `{shlex.join(route.program)}` on both sides?")
    code = _run(words)
    if code:
        raise _Stop("the two sides differ, or could not be compared: see above.")


def _git(route: Route, *arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=route.path, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def _check_clean(route: Route) -> None:
    status = _git(route, "status", "--porcelain", "--untracked-files=no")
    if status is None:
        raise click.UsageError(f"--commit-per-step: {route.place} is in no git repository")
    if status.strip():
        raise click.UsageError("--commit-per-step: commit your own changes first. Nothing was changed.")


def _commit(route: Route, subject: str) -> None:
    """Commit what a step changed, and nothing else: there were no other changes at the beginning."""
    if not route.commit:
        return
    from nnxmigrate.recorded import place

    _git(route, "add", "--update", ".")
    record = place([str(route.path)])
    if os.path.isfile(record):
        _git(route, "add", os.path.abspath(record))
    if (_git(route, "diff", "--cached", "--name-only") or "").strip():
        if _git(route, "commit", "--quiet", "--message", SUBJECT + subject) is None:
            raise _Stop("git refused the commit: run `git commit` and see.")
        click.echo(f"  committed: {SUBJECT}{subject}; `git revert HEAD` takes it back")


def _start(route: Route) -> str | None:
    """Return the commit before the first one that this command made; None if it made none."""
    log: Any = _git(route, "log", "--format=%H %s") or ""
    ours = [line.partition(" ")[0] for line in log.splitlines() if line.partition(" ")[2].startswith(SUBJECT)]
    return f"{ours[-1]}~1" if ours else None

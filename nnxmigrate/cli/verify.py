"""The command ``verify``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codemods.nnx.options import VERSIONS
from nnxmigrate.cli.common import Choices
from nnxmigrate.files.roots import project_root
from nnxmigrate.outcome import Outcome
from nnxmigrate.settings import Settings

if TYPE_CHECKING:
    from nnxmigrate.project import Project
    from nnxmigrate.verify.suspects import Suspect
    from nnxmigrate.verify.verify import Result
    from nnxmigrate.versions.choose import Chosen

_SHOWN = 8


@click.command(context_settings={"ignore_unknown_options": False})
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder of the project. [the one around the working directory]",
)
@click.option("--old", metavar="COMMIT", help="Where the code is that is not migrated yet. [see above]")
@click.option(
    "--from", "origin", metavar="VERSION", help="Flax of the old code, as 0.10 or 0.10.4. [what the project says]"
)
@click.option(
    "--to", "target", metavar="VERSION", help="Flax of the new code, as 0.12 or 0.12.8. [what the project says]"
)
@click.option("--unsafe-fixes", is_flag=True, help="Also make fixes that may change behaviour.")
@click.option("--compare", "files", multiple=True, metavar="GLOB", help="Also compare files that the program writes.")
@click.option("--rtol", default=1e-3, show_default=True, help="Numbers may differ by this part of their size.")
@click.option("--atol", default=1e-5, show_default=True, help="Or by this.")
@click.option("--stderr", "errors", is_flag=True, help="Compare what is printed to stderr, too, such as a log.")
@click.option("--ignore-lines", metavar="REGEX", help="Lines of the output that are not compared.")
@click.option("--seed", default=0, show_default=True, help="Seed of Python's and NumPy's generators.")
@click.option("--timeout", default=600.0, show_default=True, help="Seconds for each run.")
@click.option("--install-timeout", default=1800.0, show_default=True, help="Seconds for making each environment.")
@click.option("--copy-limit", default=2.0, show_default=True, help="Gigabytes that are copied at most.")
@click.option("--python", metavar="VERSION", help="Version of the environments' interpreter.")
@click.option("--with", "extra", multiple=True, metavar="REQUIREMENT", help="Install this as well.")
@click.option(
    "--extra", "extras", multiple=True, metavar="NAME", help="Install this extra or group of the project too."
)
@click.option("--old-python", type=click.Path(exists=True, path_type=Path), help="Interpreter for the old code.")
@click.option("--new-python", type=click.Path(exists=True, path_type=Path), help="Interpreter for the new code.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def verify(command: tuple[str, ...], **given: Any) -> None:
    """Prove a migration on your own program: `nnxmigrate verify -- python train.py --steps 5`.

    Runs COMMAND on the old code under the old Flax and on the migrated code under the new one, and compares what they
    print, and the files named, number by number. Where they differ, it names the rules that changed the code which had
    run by then. With `pytest ...` it names tests that passed before and fail after.

    This runs your code, in two copies of the project below the system's folder for temporary files, with environments
    made by uv from the project's own pins with only Flax, JAX and what must move with them exchanged. It uses the CPU
    and the same seeds. Nothing in your tree is written. Variables that uv knows apply, such as UV_TORCH_BACKEND=cpu.

    The files as they are count as the old code if nnxmigrate would change them; else as the new code, and the old code
    is the last commit. --old names another one. Exit status: 0 if nothing differs, 1 if something does, 2 if that
    cannot be said.
    """
    from nnxmigrate.verify.compare import Tolerance
    from nnxmigrate.verify.program import runnable
    from nnxmigrate.verify.verify import CannotVerify, Plan
    from nnxmigrate.verify.verify import verify as run

    reason = runnable(command)
    if reason:
        raise click.UsageError(reason)
    project = given["project"] or Path(project_root(os.getcwd()) or os.getcwd())
    project = project.resolve()
    below = os.path.relpath(os.getcwd(), project)
    below = "." if below.startswith("..") else below
    quiet = given["as_json"]
    asked = {"origin": given["origin"], "targets": given["target"], "unsafe_fixes": given["unsafe_fixes"] or None}
    choices = Choices([str(project)], asked)
    chosen, several = _of_program(project, choices, command, below)
    if several and not quiet:
        click.echo(f"  versions of the part that the program is in: {chosen}", err=True)
    would = migrated(project, choices, write=False)
    old = given["old"]
    done = not would.fixed
    if done and old is None:
        old = "HEAD"
        if not _committed(project):
            raise click.UsageError(
                f"there is nothing to migrate in {project}, and git has no commit of it that could hold the old code; "
                "run this before the migration, or in a repository"
            )
    try:
        ignore = re.compile(given["ignore_lines"]) if given["ignore_lines"] else None
    except re.error as error:
        raise click.UsageError(f"--ignore-lines: {error}") from error
    plan = Plan(
        project,
        command,
        old,
        done or given["old"] is not None,
        given["files"],
        Tolerance(given["rtol"], given["atol"], ignore),
        given["seed"],
        given["timeout"],
        given["install_timeout"],
        int(given["copy_limit"] * 1e9),
        given["python"],
        given["extra"],
        given["extras"],
        below,
        given["errors"],
        (given["old_python"], given["new_python"]),
        (_release(given["origin"]), _release(given["target"])),
    )

    def origin(root: Path) -> str:
        there = choices.moved(str(project), str(root))
        return there.versions()[0] or _of_program(root, there, command, below)[0].origin

    if not quiet:
        click.echo(f"This runs `{' '.join(command)}` twice, in copies; nothing in {project} is written.", err=True)
    try:
        result = run(
            plan,
            origin,
            chosen.targets[-1],
            lambda root, write: migrated(root, choices.moved(str(project), str(root)), write=write),
            lambda words: None if quiet else click.echo(f"  {words} ...", err=True),
        )
    except CannotVerify as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    click.echo(json.dumps(record(result), indent=2) if quiet else text(result))
    sys.exit(0 if result.same else 1)


def _committed(project: Path) -> bool:
    """Say whether a folder is in a git repository with a commit."""
    found = subprocess.run(["git", "rev-parse", "--verify", "HEAD"], cwd=project, capture_output=True, check=False)
    return found.returncode == 0


def _release(text: str | None) -> str | None:
    """Return the release of Flax that the user names; None if it is a family or nothing."""
    return text if text and re.fullmatch(r"\d+\.\d+\.\d+", text) else None


def migrated(root: Path, choices: Choices, *, write: bool) -> Outcome:
    """Migrate a folder, or say what would change in it."""
    from nnxmigrate.cli.execute import run_parts

    settings = Settings(
        options=choices.options(lint=False),
        unsafe_fixes=bool(choices.get("unsafe_fixes", "unsafe-fixes", False)),
        write=write,
        per_file=choices.per_file(),
    )
    return run_parts(_files(root, choices), settings, choices)[0]


def _files(root: Path, choices: Choices) -> Project:
    from nnxmigrate.files.discovery import discover
    from nnxmigrate.project import load

    exclude, base = choices.exclude()
    return load(discover([str(root)], exclude=exclude, base=base))


def _of_program(project: Path, choices: Choices, command: Sequence[str], below: str) -> tuple[Chosen, bool]:
    """Return the versions of the part of a project that the program is in, and whether there are several parts."""
    from nnxmigrate.verify.program import program
    from nnxmigrate.versions.parts import parts

    found = parts(_files(project, choices), *choices.versions())
    if not found:
        raise click.UsageError(f"{project} holds no NNX code")
    place = os.path.realpath(program(command, project / below, project))

    def near(part: Project) -> tuple[bool, int]:
        files = [os.path.realpath(path) for path in part.paths.values() if part.paths]
        own = [path for name, path in part.paths.items() if name in part.documents and name not in part.context]
        return place in files, sum(os.path.realpath(path).startswith(os.path.dirname(place) + os.sep) for path in own)

    return max(found, key=lambda pair: near(pair[1]))[0], len(found) > 1


def _chosen(project: Path, choices: Choices) -> list[Chosen]:
    from nnxmigrate.versions.parts import parts

    return [one for one, _ in parts(_files(project, choices), *choices.versions())]


def project_versions(project: Path, choices: Choices) -> list[str]:
    """Return the versions that code is taken from and to, in words, for each part of a project."""
    return [str(one) for one in _chosen(project, choices)]


def project_goal(project: Path, choices: Choices) -> str:
    """Return the newest Flax that the code of a project shall run on."""
    return max((one.targets[-1] for one in _chosen(project, choices)), key=VERSIONS.index, default=VERSIONS[-1])


def text(result: Result) -> str:
    """Return a result for people."""
    lines = [f"old: {result.recipes[0]}", f"new: {result.recipes[1]}"]
    if result.same:
        lines.append(f"{_agreed(result)}; {_count(result.changed, 'finding')} fixed, {result.left} left.")
        return "\n".join(lines)
    lines += _differences(result)
    if result.suspects:
        lines += _blamed("Rules that changed code which had run by then, the nearest first:", result.suspects)
    for name in result.tests:
        lines.append(f"{name}: passed before, now {result.new.tests.get(name, 'missing')}")
        lines += _blamed("  rules that changed code which it runs:", result.by_test[name], "  ")
    blamed = [one for ones in (result.suspects, *result.by_test.values()) for one in ones]
    if result.tests:
        lines.append("By rule: " + ", ".join(f"{code} {n}" for code, n in _tests_by_rule(result).most_common()))
    if not blamed:
        lines.append("No rule changed code that had run by then.")
    lines += _unavoidable(blamed, result.ran)
    return "\n".join(lines)


def _agreed(result: Result) -> str:
    """Say what agrees, and no more than that."""
    if result.old.tests:
        passed = sum(outcome == "passed" for outcome in result.old.tests.values())
        if not passed:
            return f"Not proven: none of {_count(len(result.old.tests), 'test')} passed before"
        return f"Verified: {_count(passed, 'test')} that passed before {'pass' if passed > 1 else 'passes'} after"
    printed = len([line for line in result.old.out.splitlines() if line.strip()])
    if printed or result.compared:
        files = f" and {_count(result.compared, 'file')}" if result.compared else ""
        return f"Verified: {_count(printed, 'line')} of output{files} agree"
    hint = "--stderr compares its log" if result.old.err.strip() else "print a loss, or name files with --compare"
    return f"Not proven: the program ran to its end on both sides, but printed nothing to compare ({hint})"


def _differences(result: Result) -> Iterator[str]:
    if result.new.code is None:
        yield "The new program took too long."
    elif result.old.code != result.new.code and not result.tests:
        yield f"The new program ended with status {result.new.code}, the old one with {result.old.code}:"
        yield from (f"    {line}" for line in result.new.err.strip().splitlines()[-6:])
        yield from _explained(result.new.err)
    if result.difference:
        what = "outputs" if result.difference.stream == "stdout" else "logs on stderr"
        yield f"The {what} differ first in line {result.difference.line}: {result.difference.why}"
        yield f"  - {result.difference.old}"
        yield f"  + {result.difference.new}"
    yield from (f"The file {name} differs: {why}" for name, why in result.files)


def _explained(error: str) -> Iterator[str]:
    from nnxmigrate.explain.match import matches
    from nnxmigrate.explain.table import ENTRIES

    for match in matches(error, ENTRIES)[:1]:
        yield f"  {match.entry.title}: {match.entry.fix}"


def _blamed(title: str, found: Sequence[Suspect], indent: str = "") -> Iterator[str]:
    if found:
        yield title
    for one in found[:_SHOWN]:
        what = "" if one.changed else " (left to do)"
        yield f"{indent}  {one.code} {one.path}:{one.line} in {one.function}{what}: {one.text}"
    if len(found) > _SHOWN:
        yield f"{indent}  and {len(found) - _SHOWN} more; --json lists all"


def _tests_by_rule(result: Result) -> Counter[str]:
    return Counter(code for found in result.by_test.values() for code in {one.code for one in found})


def _unavoidable(found: Sequence[Suspect], code: str) -> Iterator[str]:
    """Yield what changes without any rule being able to tell, in the families concerned, and in code that does it."""
    from codemods.nnx.unavoidable import CHANGES

    families = {int(one.code[3]) for one in found} | {2}
    changes = [change for change in CHANGES if change.family in families and "Nothing needs doing" not in change.advice]
    for title, sure in (("What changes unavoidably in code like this", True), ("and, if the program does it", False)):
        some = [one for one in changes if bool(one.shows) is sure and re.search(one.shows, code)]
        if some:
            yield f"{title} (docs/changes.md):"
            yield from (f"  {change.what}. {change.advice}" for change in some[:_SHOWN])


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def record(result: Result) -> dict[str, Any]:
    """Return a result as JSON values."""
    return {
        "same": result.same,
        "old": {"with": result.recipes[0], "status": result.old.code},
        "new": {"with": result.recipes[1], "status": result.new.code},
        "difference": vars(result.difference) if result.difference else None,
        "files": dict(result.files),
        "tests": {name: [vars(one) for one in result.by_test[name]] for name in result.tests},
        "suspects": [vars(one) for one in result.suspects],
        "fixed": result.changed,
        "left": result.left,
    }

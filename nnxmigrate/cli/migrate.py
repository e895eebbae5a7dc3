"""The command ``migrate``."""

from __future__ import annotations

import sys
from typing import Any

import click

from nnxmigrate.cli.common import Choices, reporting, selection
from nnxmigrate.cli.execute import Command, execute
from nnxmigrate.settings import Settings


@click.command()
@selection
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if something would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print the changes, and the report to stderr.")
@click.option("--patch", type=click.Path(dir_okay=False), metavar="FILE", help="Write a patch for `git apply` instead.")
@click.option("--todo", is_flag=True, default=None, help="Leave a comment where hand work remains.")
@reporting
def migrate(paths: tuple[str, ...], **given: Any) -> None:
    """Rewrite code for a newer Flax, in place.

    PATHS are files and folders. From folders come Python files and notebooks that .gitignore does not leave out.
    Changes that are not certain are reported and not made. Exit status: 0 if nothing is left to do, 1 if findings
    are left (or would change), 2 after a failure. `git diff` shows what was done; the summary says how to undo it.
    """
    choices = Choices(paths, given)
    settings = Settings(
        options=choices.options(lint=False),
        unsafe_fixes=bool(choices.get("unsafe_fixes", "unsafe-fixes", False)),
        todo=bool(choices.get("todo", "todo", False)),
        write=not (given["check"] or given["diff"] or given["patch"]),
        jobs=choices.jobs(),
        per_file=choices.per_file(),
    )
    sys.exit(execute(choices, paths, settings, given, Command.MIGRATE).exit_code)

"""The command ``lint``."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import click

from nnxmigrate.cli.common import Choices, reporting, selection
from nnxmigrate.cli.execute import Command, execute
from nnxmigrate.recorded import BASELINE
from nnxmigrate.settings import Settings


@click.command()
@selection
@click.option("--fix", is_flag=True, help="Make the safe fixes; with --unsafe-fixes the others too.")
@click.option("--diff", is_flag=True, help="Write nothing; print what --fix would change, and the report to stderr.")
@click.option("--statistics", is_flag=True, help="Print only how often each rule is broken.")
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep quiet about findings that this file holds, and fail on new ones.",
)
@click.option(
    "--write-baseline", is_flag=True, help=f"Write all findings to the baseline instead, by default {BASELINE}."
)
@click.option("--add-ignore", is_flag=True, help="Silence every finding by a comment in its line instead.")
@reporting
def lint(paths: tuple[str, ...], **given: Any) -> None:
    """Report mistakes in NNX code, and what the versions asked for no longer accept.

    PATHS are files and folders, by default the working directory. Nothing is changed without --fix. Exit status: 0
    if there are no findings, 1 if there are, 2 after a failure.
    """
    paths = paths or (".",)
    choices = Choices(paths, given)
    fixes = given["fix"] or given["diff"]
    settings = Settings(
        options=replace(choices.options(lint=True), fixes=fixes),
        fix=fixes,
        write=fixes and not given["diff"],
        unsafe_fixes=bool(choices.get("unsafe_fixes", "unsafe-fixes", False)),
        jobs=choices.jobs(),
        audit=True,
        per_file=choices.per_file(),
    )
    sys.exit(execute(choices, paths, settings, given, Command.LINT).exit_code)

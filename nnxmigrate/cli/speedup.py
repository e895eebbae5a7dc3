"""The command ``speedup``."""

from __future__ import annotations

import sys
from typing import Any

import click

from codemods.nnx.options import Options
from nnxmigrate.cli.common import Choices, reporting
from nnxmigrate.cli.execute import Command, execute
from nnxmigrate.settings import Settings

#: The rule that makes each form.
FORMS = {"cached-partial": "NNX920", "split-merge": "NNX921"}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="PATHS...")
@click.option(
    "--form",
    type=click.Choice(list(FORMS)),
    default="cached-partial",
    show_default=True,
    help="nnx.cached_partial in two lines, or jax.jit with nnx.split, nnx.merge and nnx.update.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if something would change.")
@click.option("--diff", is_flag=True, help="Write nothing; print the changes, and the report to stderr.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out files, in the form of .gitignore.")
@reporting
def speedup(paths: tuple[str, ...], **given: Any) -> None:
    """Rewrite hot nnx.jit training loops so that they take their objects apart once, in place.

    A loop is rewritten only where the result is sure to be the same bit by bit; of every other one the report names the
    condition that it fails. It pays for small models: `benchmarks/steps.py` measures it. Exit status as of `migrate`.
    """
    choices = Choices(paths, given)
    settings = Settings(
        options=Options(select=(FORMS[given["form"]],), lint=True),
        write=not (given["check"] or given["diff"]),
    )
    sys.exit(execute(choices, paths, settings, given, Command.SPEEDUP).exit_code)

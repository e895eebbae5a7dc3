"""The command line: ``nnxmigrate PATHS…`` is short for ``nnxmigrate migrate PATHS…``."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from nnxmigrate import garbage
from nnxmigrate.version import __version__

#: Where every command is and what it does, so that none has to be imported to list them.
COMMANDS = {
    "migrate": ("nnxmigrate.cli.migrate:migrate", "Rewrite code for a newer Flax (the default command)."),
    "upgrade": ("nnxmigrate.cli.upgrade:upgrade", "Walk the whole route: code, pins, checkpoints, proof."),
    "lint": ("nnxmigrate.cli.lint:lint", "Report what is wrong or outdated in NNX code."),
    "status": ("nnxmigrate.cli.status:status", "List what is left to do of a migration, by file and by rule."),
    "verify": ("nnxmigrate.cli.verify:verify", "Run your program before and after the migration, and compare."),
    "fix-ckpt": ("nnxmigrate.cli.fix_ckpt:fix_ckpt", "Convert a checkpoint for a newer Flax."),
    "speedup": ("nnxmigrate.cli.speedup:speedup", "Rewrite hot nnx.jit training loops into faster forms."),
    "explain": ("nnxmigrate.cli.explain:explain", "Name the cause of an error message and the way out."),
    "doctor": ("nnxmigrate.cli.doctor:doctor", "Check which versions of flax, jax, orbax and optax go together."),
    "server": ("nnxmigrate.cli.server:server", "Find and fix while you type: a server for editors."),
    "rules": ("nnxmigrate.cli.rules:rules", "List all rules."),
    "rule": ("nnxmigrate.cli.rules:rule", "Explain one rule, with examples."),
}

#: The exit status after an interrupt, as of other programs that a signal ends.
INTERRUPTED = 130


class Commands(click.Group):
    """Commands that are imported when they are run, and a default one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command in front of arguments that begin with no command and no option of the group."""
        ctx.meta["nnxmigrate.words"] = [*args]
        if args and args[0] not in (*COMMANDS, "--help", "-h", "--version"):
            args = ["migrate", *args]
        return super().parse_args(ctx, args)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments; what they hold is made harmless in the words of a refusal."""
        with _harmless():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what the user or files say is made harmless in the words of a refusal."""
        try:
            with _harmless():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


class _Full(click.ClickException):
    """The output cannot be written."""

    exit_code = 2


@contextmanager
def _harmless() -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        from nnxmigrate.visible import visible_lines

        vars(error)["message"] = visible_lines(error.message)
        raise
    except OSError as error:
        if error.filename is not None or error.errno == errno.EPIPE:  # a broken pipe is the reader's wish
            raise
        raise _Full(f"the output cannot be written: {error.strerror}") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="nnxmigrate")
def main() -> None:
    """Take code and checkpoints from Flax NNX 0.10 to 0.11 or 0.12, and lint NNX code.

    `nnxmigrate src/` rewrites the files below src/ in place; `nnxmigrate --diff src/` only shows what would change.
    `nnxmigrate migrate --help` lists the options.
    """


def run() -> None:
    """Run the program as a process of its own."""
    garbage.last_command()
    main()

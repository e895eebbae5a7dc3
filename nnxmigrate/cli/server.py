"""The command ``server``."""

from __future__ import annotations

import click


@click.command()
def server() -> None:
    """Speak with an editor over standard input and output (the language server protocol).

    Editors start it; docs/editors.md says how. It needs `pip install '.[server]'` in a clone of nnxmigrate.
    """
    try:
        from nnxmigrate.server.protocol import create
    except ModuleNotFoundError as error:
        raise click.UsageError(
            f"{error}: install it with `pip install '.[server]'` in a clone of nnxmigrate"
        ) from error
    create().start_io()

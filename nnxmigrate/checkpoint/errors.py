"""How a conversion says that it cannot go on."""

from __future__ import annotations


class CheckpointError(Exception):
    """A checkpoint, model or destination cannot be used; nothing was written.

    Attributes:
        hint: the way out, one line; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class MisfitError(CheckpointError):
    """A checkpoint and a model do not have the same leaves; the message names them."""

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


def unreadable(place: object, error: Exception) -> CheckpointError:
    """Return the error for a database of which TensorStore cannot read a part."""
    if "PERMISSION_DENIED" in str(error):
        return CheckpointError(f"{place}: no permission to read all of it", READABLE)
    return CheckpointError(f"{place}: the OCDBT database is damaged: {error}")


READABLE = "let somebody run this who may read it, or have it made readable"


class MisfitError(CheckpointError):
    """A checkpoint and a model do not have the same leaves; the message names them."""

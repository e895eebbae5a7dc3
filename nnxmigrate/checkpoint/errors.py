"""How a conversion says that it cannot go on."""

from __future__ import annotations

import re

READABLE = "let somebody run this who may read it, or have it made readable"
ANOTHER = "what is lost cannot be made up: take another copy of it, or a checkpoint that was saved before or after it"
_SHORT = re.compile(
    r'local file "(?P<file>[^"]+)": Requested byte range \[\d+, (?P<end>\d+)\) .* of size (?P<size>\d+)'
)


class CheckpointError(Exception):
    """A checkpoint, model or destination cannot be used; nothing was written.

    Attributes:
        hint: the way out, one line; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def or_else(self, way: str) -> CheckpointError:
        """Return the error with another way out, where it has none of its own; ``way`` may be empty."""
        return self if self.hint or not way else CheckpointError(str(self), way)


class DamagedError(CheckpointError):
    """A part of a checkpoint is missing, cut off or not what Orbax writes."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint or ANOTHER)
        self._own = bool(hint)

    def or_else(self, way: str) -> CheckpointError:
        return self if self._own or not way else DamagedError(str(self), way)


def unreadable(place: object, error: Exception, what: str = "the OCDBT database is damaged") -> CheckpointError:
    """Return the error for something stored that TensorStore cannot read.

    Args:
        place: the folder of the item.
        error: what TensorStore said.
        what: what that means where neither a permission nor a file that is too short is the cause.
    """
    if "PERMISSION_DENIED" in str(error):
        return CheckpointError(f"{place}: no permission to read all of it", READABLE)
    short = _SHORT.search(str(error))
    if short:
        size, end = int(short["size"]), int(short["end"])
        file = short["file"].removeprefix(f"{place}/")
        return DamagedError(f"{place}: damaged: {file} is cut off: {size:,} bytes of at least {end:,}")
    return DamagedError(f"{place}: {what}: {error}")


class MisfitError(CheckpointError):
    """A checkpoint and a model do not have the same leaves; the message names them."""

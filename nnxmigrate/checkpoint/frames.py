"""Say whether a stored chunk is whole, from the marks of its compression alone; nothing is decompressed."""

from __future__ import annotations

import struct
from collections.abc import Callable

Read = Callable[[int, int], bytes]
"""Returns so many bytes from an offset; fewer at the end."""

_ZSTD = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)


def zstd_size(read: Read, size: int) -> int | None:
    """Walk over the blocks of Zstandard frames.

    Args:
        read: reads the file.
        size: how long it is.

    Returns:
        How many bytes the frames say that they hold, or -1 if one does not say it; None if the file is damaged: its
        marks do not fit together, or it does not end where its last frame does.
    """
    offset, total, known = 0, 0, True
    while offset < size:
        head = read(offset, 18)
        if len(head) < 5:
            return None
        magic = struct.unpack("<I", head[:4])[0]
        if magic in _SKIPPABLE and len(head) >= 8:
            offset += 8 + int(struct.unpack("<I", head[4:8])[0])
            continue
        if magic != _ZSTD:
            return None
        flags = head[4]
        single, checksum = flags >> 5 & 1, flags >> 2 & 1
        at = 5 + (not single) + (0, 1, 2, 4)[flags & 3]
        width = (single, 2, 4, 8)[flags >> 6]
        content = int.from_bytes(head[at : at + width], "little") + (256 if width == 2 else 0)
        known = known and bool(width)
        total += content
        end = _blocks_end(read, offset + at + width, size)
        if end is None:
            return None
        offset = end + 4 * checksum
    return None if offset != size or not size else total if known else -1


def _blocks_end(read: Read, offset: int, size: int) -> int | None:
    """Return where the last block of a frame ends; None if there is none."""
    while offset + 3 <= size:
        mark = int.from_bytes(read(offset, 3), "little")
        last, kind, length = mark & 1, mark >> 1 & 3, mark >> 3
        if kind == 3:
            return None
        offset += 3 + (1 if kind == 1 else length)
        if last:
            return offset if offset <= size else None
    return None

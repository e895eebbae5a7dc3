"""A hash of blocks of bytes that costs less than reading them.

With xxHash that is XXH3 with 64 bits, which misses a change by chance once in 2**64; it is no protection against who
wants to deceive. Without that package it is CRC-32, which costs fifteen times as much.
"""

from __future__ import annotations

import zlib

try:
    import xxhash
except ImportError:
    NAME = "crc32"  # hashes of different names are not compared

    def joined(found: int, block: memoryview | bytes) -> int:
        """Return the hash of what had the hash ``found``, 0 if that was nothing, and of the ``block`` after it."""
        return zlib.crc32(block, found)

else:
    NAME = "xxh3"

    def joined(found: int, block: memoryview | bytes) -> int:
        """Return the hash of what had the hash ``found``, 0 if that was nothing, and of the ``block`` after it."""
        hashed: int = xxhash.xxh3_64_intdigest(block, seed=found)
        return hashed

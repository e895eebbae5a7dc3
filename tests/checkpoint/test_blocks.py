"""Blocks arrive whole past the system's cache and through it, and every changed bit of one changes its hash."""

from __future__ import annotations

import errno
import os
import pathlib
from typing import Any

import pytest

from nnxmigrate.checkpoint import blocks
from nnxmigrate.checkpoint.blocks import BLOCK, File, new_block
from nnxmigrate.checkpoint.errors import CheckpointError
from tests.checkpoint.support import run_code

CONTENT = os.urandom(2 * BLOCK + 5000)


def refusing(call: Any) -> Any:
    """Return a system call that file systems refuse past the cache: the first time, as it is then not tried again."""
    refused: list[int] = []

    def refuse(*arguments: Any) -> Any:
        if not refused:
            refused.append(1)
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return call(*arguments)

    return refuse


@pytest.mark.parametrize("way", ["past the cache", "refused", "no block device", "through the cache"])
def test_blocks_go_and_come(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, len(CONTENT))
    if way == "refused":
        for name in ("preadv", "pwritev"):
            monkeypatch.setattr(os, name, refusing(getattr(os, name)), raising=False)
    if way == "no block device":
        monkeypatch.setattr(blocks, "has_blocks", lambda descriptor: False)
    memory = new_block()
    with File(path, write=True, past_cache=way != "through the cache") as file:
        for start in range(0, len(CONTENT), BLOCK):
            part = CONTENT[start : start + BLOCK]
            memory[: len(part)] = part
            file.write(memoryview(memory)[: len(part)], start)
        file.begin_writing(0, len(CONTENT))
    assert path.read_bytes() == CONTENT
    found = bytearray()
    with File(path, past_cache=way != "through the cache") as file:
        file.forget(0, len(CONTENT))
        for start in range(0, len(CONTENT), BLOCK):
            view = memoryview(memory)[: min(BLOCK, len(CONTENT) - start)]
            file.read(view, start)
            found += view
        with pytest.raises(CheckpointError, match="became shorter"):
            file.read(memoryview(memory), 2 * BLOCK)
    assert bytes(found) == CONTENT


def test_other_errors_are_told(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)

    def broken(*arguments: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "preadv", broken, raising=False)
    with File(path, past_cache=True) as file, pytest.raises(OSError, match="Input/output error"):
        file.read(memoryview(new_block()), 0)


CODE = """
import random, sys
if "{name}" == "crc32":
    sys.modules["xxhash"] = None
from nnxmigrate.checkpoint.hashing import NAME, joined
assert NAME == "{name}"
random.seed(0)
block = bytearray(random.randbytes(300_003))
whole = joined(0, memoryview(block))
assert whole == joined(0, bytes(block))
def changed(*bits):
    for bit in bits:
        block[bit // 8] ^= 1 << bit % 8
    found = joined(0, memoryview(block))
    for bit in bits:
        block[bit // 8] ^= 1 << bit % 8
    return found != whole
total = 8 * len(block)
assert all(changed(random.randrange(total)) for _ in range(300))
assert all(changed(bit) for bit in (0, 63, 64, total - 1, total - 25))
assert all(changed(*random.sample(range(total), 2)) for _ in range(300))
assert joined(joined(0, block[:4096]), block[4096:]) != joined(joined(0, block[4096:]), block[:4096])
assert joined(joined(0, block[:4096]), block[4096:]) == joined(joined(0, bytes(block[:4096])), bytes(block[4096:]))
for size in range(1, 20):
    assert len({{joined(7, bytes([value] * size)) for value in range(256)}}) == 256
"""


@pytest.mark.parametrize("name", ["xxh3", "crc32"])
def test_hashes(name: str) -> None:
    """With and without the package, which this interpreter may not have."""
    run_code("0.12", CODE.format(name=name))

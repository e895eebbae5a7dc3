"""Jobs of several processes, as on many hosts: all plan and compute, each copies its share, the first one commits."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from nnxmigrate.checkpoint.errors import CheckpointError

_PATIENCE = 24 * 3600  # seconds for which processes wait for the slowest one
_TEXT = 4096  # bytes of a text that one process tells the others

T = TypeVar("T")


def join(coordinator: str | None, processes: int | None, process: int | None) -> None:
    """Become part of a ``jax.distributed`` job.

    Args:
        coordinator: host and port of the first process; None to let JAX find out from the cluster's environment.
        processes: how many there are; None likewise.
        process: which one this is; None likewise.

    Raises:
        CheckpointError: if JAX cannot find the others.
    """
    import jax

    try:
        jax.distributed.initialize(coordinator, processes, process)
    except (ValueError, RuntimeError) as error:
        raise CheckpointError(f"joining the jax.distributed job failed: {error}") from error


def is_leader() -> bool:
    """Say whether this process is the one that commits and reports."""
    return number() == 0


def number() -> int:
    """Return which process of the job this is; 0 without a job."""
    if not _in_job():
        return 0
    import jax

    return int(jax.process_index())


def count() -> int:
    """Return how many processes the job has; 1 without a job."""
    if not _in_job():
        return 1
    import jax

    return int(jax.process_count())


@contextmanager
def together(what: str) -> Iterator[None]:
    """Let all processes leave a block together; if it fails in one of them, it fails in all.

    Args:
        what: what the block does, for the others' message.

    Raises:
        CheckpointError: in the processes in which the block did not fail itself, if it failed in another.
    """
    if not _in_job():
        yield
        return
    failed = True
    try:
        yield
        failed = False
    finally:
        outcome = _all(failed)
    if any(outcome):
        who = "the first process of the job" if outcome[0] else f"process {outcome.index(True)} of the job"
        raise CheckpointError(f"{who} failed while {what}; see its output")


def told_by_leader(text: str) -> str:
    """Return in all processes the text that the first one gives."""
    if not _in_job():
        return text
    import numpy
    from orbax.checkpoint import multihost

    content = text.encode()[:_TEXT] if is_leader() else b""
    given = multihost.broadcast_one_to_all(numpy.frombuffer(content.ljust(_TEXT, b"\0"), numpy.uint8))
    return bytes(bytearray(numpy.asarray(given, numpy.uint8))).rstrip(b"\0").decode()


def share(pieces: Iterable[tuple[int, str, T]]) -> list[T]:
    """Return this process's share of some work, about as large as that of every other one.

    Args:
        pieces: size, name and what it is; the same in all processes.
    """
    loads = [0] * count()
    own: list[T] = []
    for size, _, piece in sorted(pieces, key=lambda piece: (-piece[0], piece[1])):
        at = loads.index(min(loads))
        loads[at] += size + 1
        if at == number():
            own.append(piece)
    return own


def gathered(amount: int) -> list[int]:
    """Return what each process gives, in their order."""
    if not _in_job():
        return [amount]
    import numpy
    from jax.experimental import multihost_utils

    halves = numpy.asarray([[amount >> 24, amount & 0xFFFFFF]], numpy.int32)  # JAX has no wider numbers by default
    found = numpy.asarray(multihost_utils.process_allgather(halves)).reshape(-1, 2)
    return [(int(high) << 24) + int(low) for high, low in found]


def _all(failed: bool) -> list[bool]:
    """Wait for all processes; return what each of them says, in their order."""
    import numpy
    from jax.experimental import multihost_utils
    from orbax.checkpoint import multihost

    multihost.sync_global_processes("nnxmigrate fix-ckpt", timeout=_PATIENCE)
    gathered = multihost_utils.process_allgather(numpy.asarray([failed]))
    return [bool(one) for one in numpy.asarray(gathered).reshape(-1)]


def _in_job() -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and jax.distributed.is_initialized() and jax.process_count() > 1

"""Jobs of several processes, as on many hosts: all of them plan and compute, the first one writes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from nnxmigrate.checkpoint.errors import CheckpointError

_PATIENCE = 24 * 3600  # seconds for which processes wait for the one that copies


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
    """Say whether this process is the one that writes and reports."""
    return not _in_job() or _process_index() == 0


@contextmanager
def led() -> Iterator[None]:
    """Let all processes leave a block together, after the first one.

    Raises:
        CheckpointError: in the other processes, if the block failed in the first.
    """
    if not _in_job():
        yield
        return
    import numpy
    from orbax.checkpoint import multihost

    failed = True
    try:
        yield
        failed = False
    finally:
        multihost.sync_global_processes("nnxmigrate fix-ckpt", timeout=_PATIENCE)
        outcome = multihost.broadcast_one_to_all(numpy.asarray(failed))
    if outcome:
        raise CheckpointError("the first process of the job could not write the checkpoint; see its output")


def _in_job() -> bool:
    jax = sys.modules.get("jax")
    return jax is not None and jax.distributed.is_initialized() and jax.process_count() > 1


def _process_index() -> int:
    import jax

    return int(jax.process_index())

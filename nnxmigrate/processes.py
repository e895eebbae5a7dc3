"""The analysis in several processes."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress

from codemods.nnx.findings import Analysis
from codemods.nnx.options import Options
from nnxmigrate.analysing import Group, analysed, failed


def analysed_in_processes(
    groups: Sequence[Group], options: Options, jobs: int, context: AbstractSet[str] = frozenset()
) -> list[Analysis]:
    """Analyse groups in a pool, the largest first; a group that kills its process fails alone."""
    order = sorted(range(len(groups)), key=lambda n: -sum(len(source.data) for source in groups[n]))
    results: dict[int, Analysis] = {}
    with _pool(min(jobs, len(groups))) as pool, suppress(BrokenProcessPool):  # perhaps before all are handed over
        futures = {n: pool.submit(analysed, groups[n], options, context) for n in order}
        for n, future in futures.items():
            results[n] = future.result()
    for n in order:
        if n not in results:
            results[n] = _in_own_process(groups[n], options, context)
    return [results[n] for n in range(len(groups))]


def _in_own_process(group: Group, options: Options, context: AbstractSet[str]) -> Analysis:
    with _pool(1) as pool:
        try:
            return pool.submit(analysed, group, options, context).result()
        except BrokenProcessPool:
            return failed(group, "the analysis crashed its process")


def _pool(workers: int) -> ProcessPoolExecutor:
    ways = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if "fork" in ways else None)
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_deaf)


def _deaf() -> None:
    """Leave an interrupt to the process that waits for this one, which says in one line that it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

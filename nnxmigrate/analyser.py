"""Analysing a project's groups of files: kept from round to round and run to run, in several processes if they pay."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from codemods.nnx.findings import Analysis
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from nnxmigrate.analysing import Group, analysed
from nnxmigrate.cache.store import Cache
from nnxmigrate.garbage import Heap
from nnxmigrate.progress import begin

#: Below this number of bytes a second process costs more than it saves.
WORTH_A_POOL = 1_000_000


class Analyser:
    """The analysis of a project's groups of files; a group that did not change is not analysed again.

    Args:
        options: what is looked for.
        jobs: number of processes; None for as many as there are processors, if the work is worth it.
        context: the paths of sources that are only read to understand the others.
        cache: where analyses are kept from run to run; None for nowhere.
    """

    def __init__(
        self,
        options: Options,
        jobs: int | None = None,
        context: AbstractSet[str] = frozenset(),
        cache: Cache | None = None,
    ) -> None:
        self._options = options
        self._jobs = jobs
        self._context = context
        self._cache = cache
        self._known: dict[tuple[Source, ...], Analysis] = {}
        self._heap = Heap()

    def __call__(self, groups: Sequence[Group]) -> Analysis:
        """Return what is found in all groups, in the order of the groups' files."""
        size = sum(map(len, groups))
        files = f"{size} file{'s' * (size != 1)}"
        begin(f"analysing {files}")
        new = []
        for group in groups:
            if tuple(group) not in self._known:
                kept = self._kept(group) if self._cache else None
                if kept is None:
                    new.append(group)
                else:
                    self._known[tuple(group)] = kept
        for number, (group, analysis) in enumerate(zip(new, self._analyses(new), strict=True), 1):
            begin(f"analysed {number} of {len(new)} parts, {files}")
            self._known[tuple(group)] = analysis
            if self._cache and not any(failure.internal for failure in analysis.failures):
                self._cache.keep(analysis, *self._key(group, self._asked(group)))
        return joined([self._known[tuple(group)] for group in groups])

    def _asked(self, group: Group) -> list[str] | None:
        """Return the paths of the sources that findings are wanted of; None for all."""
        asked = [source.path for source in group if source.path not in self._context]
        return asked if len(asked) < len(group) else None

    def _kept(self, group: Group) -> Analysis | None:
        """Return what an earlier run found, perhaps when it was asked about all files of the group."""
        assert self._cache is not None
        asked = self._asked(group)
        known = self._cache.find(*self._key(group, None))
        if isinstance(known, Analysis):
            known.findings = [one for one in known.findings if asked is None or one.path in asked]
        elif asked is not None:
            known = self._cache.find(*self._key(group, asked))
        return known if isinstance(known, Analysis) else None

    def _key(self, group: Group, asked: Sequence[str] | None) -> Iterator[str | bytes]:
        """Yield all that an analysis depends on, apart from this program."""
        options = self._options.among(source.path for source in group)
        yield from ("analysis", repr(options), repr(asked))
        for source in group:
            shape = source.module, source.package, source.notebook, source.cells, source.failed
            yield from (source.path, repr(shape), source.data)

    def _analyses(self, groups: Sequence[Group]) -> Iterator[Analysis]:
        jobs = self._jobs or self._processes_that_pay(groups)
        if min(jobs, len(groups)) < 2:
            return self._in_this_process(groups)
        from nnxmigrate.processes import analysed_in_processes  # dear to import

        return iter(analysed_in_processes(groups, self._options, jobs, self._context))

    def _in_this_process(self, groups: Sequence[Group]) -> Iterator[Analysis]:
        for group in groups:
            self._heap.before(sum(len(source.data) for source in group))
            yield analysed(group, self._options, self._context)

    def _processes_that_pay(self, groups: Sequence[Group]) -> int:
        size = sum(len(source.data) for group in groups for source in group)
        return (os.cpu_count() or 1) if size > WORTH_A_POOL else 1


def joined(analyses: Sequence[Analysis]) -> Analysis:
    """Return several analyses as one."""
    return Analysis(
        [finding for analysis in analyses for finding in analysis.findings],
        [failure for analysis in analyses for failure in analysis.failures],
        sum(analysis.unanswered for analysis in analyses),
    )

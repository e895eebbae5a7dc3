"""Running the analysis over groups of files, in several processes where that pays."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from codemods.nnx.findings import Analysis, Failure
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from nnxmigrate.cache.store import Cache
from nnxmigrate.progress import begin

#: Below this number of bytes a second process costs more than it saves.
WORTH_A_POOL = 1_000_000

#: Calls within calls that the analysis may need: generated code holds sums of a thousand terms.
NESTING = 10_000

Group = Sequence[Source]


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
        yield from ("analysis", repr(self._options), repr(asked))
        for source in group:
            yield from (source.path, repr((source.module, source.package, source.notebook)), source.data)

    def _analyses(self, groups: Sequence[Group]) -> Iterator[Analysis]:
        jobs = self._jobs or self._processes_that_pay(groups)
        if min(jobs, len(groups)) < 2:
            return (analysed(group, self._options, self._context) for group in groups)
        from nnxmigrate.processes import analysed_in_processes

        return iter(analysed_in_processes(groups, self._options, jobs, self._context))

    def _processes_that_pay(self, groups: Sequence[Group]) -> int:
        size = sum(len(source.data) for group in groups for source in group)
        return (os.cpu_count() or 1) if size > WORTH_A_POOL else 1


def joined(analyses: Sequence[Analysis]) -> Analysis:
    """Return several analyses as one."""
    return Analysis(
        [finding for analysis in analyses for finding in analysis.findings],
        [failure for analysis in analyses for failure in analysis.failures],
    )


def analysed(
    group: Group,
    options: Options,
    context: AbstractSet[str] = frozenset(),
    stop: Callable[[], bool] | None = None,
) -> Analysis:
    """Analyse one group; whatever goes wrong in it is a failure of its files, and the run goes on.

    Args:
        group: sources that are analysed together.
        options: what is looked for.
        context: the paths of those of which nothing is to be found.
        stop: asked now and then whether the analysis shall end.

    Raises:
        Stopped: if it shall.
    """
    from codemods.nnx import analyse as pure  # all rules: not needed where no file mentions NNX
    from nnxmigrate import own_rules

    own_rules.load()

    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, NESTING))
    gc.disable()  # nearly all that is made is kept to the end: looking for garbage is a third of parsing and walking
    try:
        asked = {source.path for source in group} - context if context else None
        return pure.analyse(group, options, asked, *([] if stop is None else [stop]))
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(place.filename)}:{place.lineno}"
        return failed(group, f"the analysis failed: {type(error).__name__}: {error} ({where})")
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()


def failed(group: Group, reason: str) -> Analysis:
    """Return an analysis that failed for all files of a group by a defect of this program."""
    return Analysis(failures=[Failure(source.path, reason, internal=True) for source in group])

"""Running the analysis over groups of files, in one process."""

from __future__ import annotations

import gc
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from codemods.nnx.findings import Analysis, Failure
from codemods.nnx.options import Options
from codemods.nnx.source import Source

#: Calls within calls that the analysis may need: generated code holds sums of a thousand terms.
NESTING = 10_000

Group = Sequence[Source]


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
    limit, collecting = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, NESTING))
    gc.disable()  # nearly all that is made is kept to the end: looking for garbage is a third of parsing and walking
    try:
        from codemods.nnx import analyse as pure  # all rules: not needed where no file mentions NNX
        from nnxmigrate import own_rules

        own_rules.load()
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

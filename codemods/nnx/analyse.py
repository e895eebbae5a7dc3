"""The one entry point: sources in, findings with edits out."""

from __future__ import annotations

from collections.abc import Sequence

from codemods.nnx.findings import Analysis
from codemods.nnx.options import Options
from codemods.nnx.source import Source


def analyse(sources: Sequence[Source], options: Options) -> Analysis:
    """Find what the chosen rules have to say about a project.

    Nothing is read or written; a source that cannot be analysed becomes a failure and the others go on.

    Args:
        sources: all modules of the project that may matter, each with a unique path.
        options: what is asked for.

    Returns:
        Findings in order of path and position, and the sources that failed.
    """
    return Analysis()

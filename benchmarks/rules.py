"""Where linting a project spends its CPU time: in each rule and in each shared analysis, without what these ask."""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from codemods.nnx import analyse
from codemods.nnx.catalogue import every_rule
from codemods.nnx.context import Context
from codemods.nnx.flow import Flow
from codemods.nnx.listed import Listed
from codemods.nnx.options import Options
from codemods.nnx.rule import Rule
from codemods.nnx.source import Source
from nnxmigrate.analysing import NESTING
from nnxmigrate.files.discovery import discover
from nnxmigrate.project import groups, load, sources


class Clock:
    """CPU seconds by name; what runs within another span counts for itself alone."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._open: list[str] = []
        self._last = time.process_time()

    @contextmanager
    def span(self, name: str) -> Iterator[None]:
        """Count the time until the end for a name."""
        self._charge()
        self._open.append(name)
        try:
            yield
        finally:
            self._charge()
            self._open.pop()

    def _charge(self) -> None:
        now = time.process_time()
        if self._open:
            self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._last
        self._last = now


def watched(clock: Clock) -> None:
    """Make every rule and shared analysis of this process count its time, for the rest of its life."""
    timed = tuple(_rule(rule, clock) for rule in every_rule())
    analyse.every_rule = lambda: timed  # type: ignore[attr-defined]
    _method(Flow, "__init__", "the project's flow", clock)
    if hasattr(Context, "_distrust"):
        _method(Context, "_distrust", "distrusted containers", clock)
    _analyses(Context, "shared", "shared", clock)
    _analyses(Source, "once", "source", clock)
    for owner, words in ((Context, "shared: "), (Source, "source: ")):
        for name, member in list(vars(owner).items()):
            if isinstance(member, cached_property):
                fresh = cached_property(_timed(member.func, words + name, clock))
                fresh.__set_name__(owner, name)
                setattr(owner, name, fresh)


def _rule(rule: Rule, clock: Clock) -> Rule:
    def check(context: Context) -> Any:
        with clock.span(f"{rule.code} {rule.name}"):
            return iter(list(rule.check(context)))

    return replace(rule.loaded() if isinstance(rule, Listed) else rule, check=check)


def _analyses(owner: type, name: str, words: str, clock: Clock) -> None:
    """Count the time of each analysis that is given to a method which keeps its result."""
    kept = getattr(owner, name)

    def counted(subject: Any, analysis: Callable[[Any], Any]) -> Any:
        with clock.span(f"{words}: {analysis.__module__.removeprefix('codemods.nnx.')}"):
            return kept(subject, analysis)

    setattr(owner, name, counted)


def _method(owner: type, name: str, words: str, clock: Clock) -> None:
    setattr(owner, name, _timed(getattr(owner, name), words, clock))


def _timed(function: Callable[..., Any], name: str, clock: Clock) -> Callable[..., Any]:
    def call(subject: Any, *args: Any, **kwargs: Any) -> Any:
        with clock.span(name):
            return function(subject, *args, **kwargs)

    return call


def show(folder: Path, only: str | None, origin: str, targets: tuple[str, ...], top: int) -> None:
    """Lint a folder in this process and print where the time went.

    Args:
        folder: the project.
        only: the one file to lint; the others are its context. None for all.
        origin: the Flax version that the project is written for.
        targets: the Flax versions to migrate to; the origin for one that is only linted.
        top: how many lines to print.
    """
    clock = Clock()
    watched(clock)
    sys.setrecursionlimit(NESTING)
    begin = time.process_time()
    with clock.span("reading the files"):
        project = load(discover([str(folder / only) if only else str(folder)]))
        texts = sources(project.documents)
        parts = groups(project.documents)
    findings = 0
    with clock.span("everything else"):
        for names in parts:
            options = Options(origin=origin, targets=targets, lint=True, fixes=False)
            gc.disable()  # as the program does
            asked = {name for name in names if name not in project.context}
            findings += len(analyse.analyse([texts[name] for name in names], options, asked).findings)
            gc.enable()
    total = time.process_time() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"\n{folder.name}{f' ({only})' if only else ''}: {total:.1f} s, {findings} findings, {memory / 1e6:.0f} MB")
    for name, seconds in sorted(clock.seconds.items(), key=lambda item: -item[1])[:top]:
        print(f"  {seconds:8.2f} s {seconds / total:6.1%}  {name}")

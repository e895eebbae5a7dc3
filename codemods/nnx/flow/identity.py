"""Whether two values are the same object."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemods.nnx.flow.branches import line_of
from codemods.nnx.frames import Bound, Frame, Indexed, Moment, Part, Round
from codemods.nnx.values import (
    Attr,
    Call,
    Choice,
    Const,
    Each,
    Either,
    Item,
    Loop,
    Ref,
    Value,
)

if TYPE_CHECKING:
    from codemods.nnx.flow.flow import Flow


class Identity:
    """Compares values, and knows which of them may be another object at each read."""

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self._unsteady: set[Value] = set()
        self._unsteady_names: set[str] = set()
        self._trusted: set[Value] = set()  # what answers so far stand on

    def same(self, one: Bound, two: Bound) -> bool:
        """Say whether two values are provably the same object."""
        one, two = self.flow.resolve(one), self.flow.resolve(two)
        a, b = one.value, two.value
        if a == b and one.frame is two.frame:
            return self.stale(one) == self.stale(two) and self._stable(one)
        if isinstance(a, Const) and isinstance(b, Const):
            return type(a.value) is type(b.value) and a.value == b.value
        if isinstance(a, Ref) and isinstance(b, Ref):
            return a == b
        key = (one, two)
        known = self.flow.answers.same.find(key)
        if known is not None:
            return known.value
        if self.flow.questions.under_way(key):
            return True
        if self.flow.questions.tired():
            return False
        with self.flow.questions.asking(key) as question:
            answer = self._same(one, two)
        if question.stands_on is not None:
            self.flow.answers.same.keep(key, answer, question.stands_on)
        return answer

    def _same(self, one: Bound, two: Bound) -> bool:
        a, b = one.value, two.value
        if isinstance(a, Attr) and isinstance(b, Attr):
            bases = self.flow.with_value(one, a.base), self.flow.with_value(two, b.base)
            return a.name == b.name and self._stable(one) and self.same(*bases)
        if isinstance(a, Indexed) and isinstance(b, Indexed):
            return self.same(self.flow.with_value(one, a.base), self.flow.with_value(two, b.base)) and self.same(
                a.index, b.index
            )
        if isinstance(a, Round) and isinstance(b, Round):
            return (
                a.loop is b.loop
                and a.frame is b.frame
                and self.stale(one) == self.stale(two)
                and self.same(self.flow.with_value(one, a.base), self.flow.with_value(two, b.base))
            )
        if isinstance(a, Part) and isinstance(b, Part):
            return a.site is b.site and one.frame is two.frame and self.same(a.of, b.of)
        if (
            isinstance(a, Choice)
            and isinstance(b, Choice)
            and a.node is b.node
            and len(a.options) == len(b.options)
            and not isinstance(a, Either)
        ):
            pairs = zip(a.options, b.options, strict=True)
            if all(self.same(self.flow.with_value(one, x), self.flow.with_value(two, y)) for x, y in pairs):
                return True
        if isinstance(a, Loop) and isinstance(b, Loop) and a.node is b.node and a.again and b.again:
            return self.same(self.flow.with_value(one, a.before), self.flow.with_value(two, b.before)) and self.same(
                self.flow.older(one, a.again, a.node), self.flow.older(two, b.again, b.node)
            )
        for x, y in ((one, two), (two, one)):
            if isinstance(x.value, Choice):
                return all(self.same(self.flow.with_value(x, o), y) for o in x.value.options)
            if isinstance(x.value, Loop) and x.value.again is not None:
                return self.same(self.flow.with_value(x, x.value.before), y) and self.same(
                    self.flow.older(x, x.value.again, x.value.node), y
                )
        return False

    def stale(self, bound: Bound) -> frozenset[ast.AST | Moment]:
        """Return the loops of earlier rounds that matter for a value: those around a place that it was made at."""
        if not bound.stale:
            return bound.stale
        lines: set[int] | None = None
        left = []
        for since in bound.stale:
            if isinstance(since, Moment):
                matters = since.writer is None or since.given or self._written(since, bound.frame)
            else:
                lines = self._lines(bound) if lines is None else lines
                matters = any(since.lineno <= line <= since.end_lineno for line in lines)  # type: ignore[attr-defined]
            if matters:
                left.append(since)
        return bound.stale if len(left) == len(bound.stale) else frozenset(left)

    def _written(self, since: Moment, frame: Frame | None) -> bool:
        """Say whether the function that assigns what was read runs on the way to an activation."""
        while frame is not None:
            if frame.function is since.writer:
                return True
            frame = frame.caller
        return False

    def _lines(self, bound: Bound) -> set[int]:
        """Return the lines of the expression that made a value and of the calls that led there."""
        lines = {line_of(getattr(bound.value, "node", None) or getattr(bound.value, "loop", None))}
        frames, seen = [bound.frame], set()
        while frames:
            frame = frames.pop()
            if frame is None or frame in seen:
                continue
            seen.add(frame)
            if isinstance(frame.site, Call):
                lines.add(line_of(frame.site.node))
            elif frame.receiver is not None:
                lines.add(line_of(getattr(frame.receiver.value, "node", None)))
                frames.append(frame.receiver.frame)
            frames.append(frame.caller)
        return lines - {0}

    def distrust(self, containers: set[Value]) -> None:
        """Take the elements of displays that are changed through other names for different ones at each read."""
        self._unsteady |= containers
        self._unsteady_names = {c.name for c in self._unsteady if isinstance(c, Attr)}
        if any(map(self._is_unsteady, self._trusted)):
            self._trusted.clear()
            self.flow.forget()
        self.flow.assumptions.settled = True

    def is_distrusted(self, container: Value) -> bool:
        """Say whether a display is changed through other names than that of the text."""
        if container in self._unsteady:
            return True
        self._trusted.add(container)
        self.flow.assumptions.doubt()
        return False

    def current(self, bound: Bound) -> bool:
        """Say whether a value is the last one that was made at its place."""
        return not self.stale(bound) and self._stable(bound)

    def steady(self, container: Bound) -> bool:
        """Say whether a container is changed only where the values of the text show it."""
        if self._is_unsteady(container.value):
            return False
        self._trusted.add(container.value)
        self.flow.assumptions.doubt()
        return True

    def _is_unsteady(self, value: Value) -> bool:
        return value in self._unsteady or (isinstance(value, Attr) and value.name in self._unsteady_names)

    def _stable(self, bound: Bound) -> bool:
        """Say whether reading a value twice gives the same object: no attribute on the way is assigned again."""
        value = bound.value
        if (
            isinstance(value, Either)
            or not self.steady(bound)
            or any(isinstance(s, Moment) and s.writer is None for s in bound.stale)
        ):
            return False
        if isinstance(value, Attr):
            base = self.flow.resolve(self.flow.with_value(bound, value.base))
            if self.flow.classes.class_of(base) is not None:
                lasting = not self.flow.moments.of_attribute(base, value.name, bound)
            else:
                lasting = value.name not in self.flow.moments.reassigned()
            return lasting and self._stable(base)
        if isinstance(value, Indexed | Round | Item | Each):
            return self._stable(self.flow.with_value(bound, value.base))
        return self._stable(value.of) if isinstance(value, Part) else True

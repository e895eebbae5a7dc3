"""What a package needs to offer rules of its own through the entry point ``nnxmigrate.rules``.

A rule is one :class:`Rule` value; its ``check`` gets a :class:`Context` and yields findings, some with a :class:`Fix`
made of edits. ``docs/own-rules.md`` shows a whole package.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit, spliced
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.options import Options
from codemods.nnx.project import Project
from codemods.nnx.rewrite import add_keyword, positional_to_keyword, remove_keyword, replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.source import Source
from codemods.nnx.walk import walk

__all__ = [
    "CallEvent",
    "Context",
    "Edit",
    "Example",
    "Finding",
    "Fix",
    "Kind",
    "Options",
    "Rule",
    "Safety",
    "add_keyword",
    "calls_of",
    "finding",
    "fix",
    "positional_to_keyword",
    "remove_keyword",
    "replace",
    "verify",
]


def calls_of(context: Context, *names: str) -> Iterator[CallEvent]:
    """Yield the calls of functions or classes by their full names, whatever the program calls them.

    An event has the call's syntax (``node``), the scope in which it stands (``scope``, which :func:`finding` takes)
    and its module's text (``scope.module.source``, which the functions that make edits take).

    Args:
        context: what the rule's ``check`` got.
        names: full names, as ``flax.nnx.Linear``.
    """
    for event in context.project.calls():
        if context.flow.calls.callee_name(context.flow.here(event.value, event.scope)) in names:
            yield event


def fix(event: CallEvent, *edits: Edit, safety: Safety = Safety.SAFE) -> Fix:
    """Return a fix of one file from edits of the module in which a call stands.

    Args:
        event: the call.
        edits: the edits, made together or not at all.
        safety: whether the fix keeps what the program does.
    """
    path = event.scope.module.source.path
    return Fix(tuple((path, edit) for edit in edits), safety)


def verify(rule: Rule) -> None:
    """Check that a rule does with its examples what they say, and that it leaves its own results alone.

    For tests: call it for every rule of the package.

    Raises:
        AssertionError: if an example is not as it should be; the message shows it.
    """
    assert rule.examples, f"{rule.code} has no examples"
    for number, example in enumerate(rule.examples, 1):
        for target in example.targets:
            options = Options(targets=(target,), lint=rule.kind is Kind.LINT)
            which = f"{rule.code}, example {number}, to {target}"
            found = _found(rule, example.before, options)
            wanted = example.before if example.after is None else example.after
            assert bool(found) == (example.after != example.before), f"{which}: {len(found)} findings"
            fixes = [one.fix for one in found if one.fix and (example.unsafe or one.fix.safety is Safety.SAFE)]
            data = spliced(example.before.encode(), {edit for some in fixes for _, edit in some.edits})
            assert data.decode() == wanted, f"{which} becomes\n{data.decode()}"
            again = [one.fix for one in _found(rule, wanted, options) if one.fix]
            assert not again or not fixes, f"{which}: its result is changed again"


def _found(rule: Rule, text: str, options: Options) -> Sequence[Finding]:
    context = Context(Project([Source("main.py", text.encode(), "main").once(walk)]), options)
    return list(rule.check(context))

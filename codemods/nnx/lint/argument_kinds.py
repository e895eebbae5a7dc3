"""NNX914: calls that give a compiled function arguments of different structure."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import compiled_roots, in_test, shown
from codemods.nnx.lint.traced import Root, original
from codemods.nnx.values import Call, Const, Mapping, Sequence


def _check(context: Context) -> Iterator[Finding]:
    for root in compiled_roots(context):
        if len(root.static) == len(root.function.params) and root.function.params:
            continue  # what is static could not be read
        yield from _changing(context, root)


def _changing(context: Context, root: Root) -> Iterator[Finding]:
    first: dict[str, tuple[str, int]] = {}
    told: set[str] = set()
    for frame in context.flow.sites.entries(root.function):
        site = frame.site
        if not isinstance(site, Call):
            continue
        event = next((e for e in context.flow.sites.callers(root.function) if e.value is site), None)
        if event is None or in_test(event.scope) or context.traced.get(event.scope.function) is not None:
            continue
        for name in root.function.params:
            given = context.flow.argument(frame, name)
            if name in root.static or name in told or given is None:
                continue
            kind = _structure(context, original(given))
            if not kind:
                continue
            known, line = first.setdefault(name, (kind, event.node.lineno))
            if known != kind:
                told.add(name)
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    f"`{name}` is {kind} here and {known} in line {line}: {shown(root.function)} is compiled for each",
                    "give the same type and structure at every call",
                )


def _structure(context: Context, bound: Bound) -> str:
    """Return in words what makes one argument another structure for ``jit``; empty if that is not known."""
    found = context.flow.resolve(bound)
    value = found.value
    if isinstance(value, Const):
        return "None" if value.value is None else f"{_article(type(value.value).__name__)}"
    if isinstance(value, Mapping):
        keys = [key.value if isinstance(key, Const) else None for key, _ in value.items]
        if all(isinstance(key, str) for key in keys):
            return "a dict of " + ", ".join(sorted(str(key) for key in keys))
        return ""
    if isinstance(value, Sequence):
        return f"{_article(type(value.node).__name__.lower())} of {len(value.items)}"
    name = context.flow.calls.callee_name(found)
    if name.startswith("numpy.") and name.rpartition(".")[2] in {"float32", "float64", "int32", "int64"}:
        return _article(name)
    return "an array" if context.kinds.only(found) is Kind.ARRAY else ""


def _article(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


RULE = lint_rule(
    "NNX914",
    "changing-arguments",
    "calls of a compiled function with arguments of different types or structures",
    why="""\
`jit` compiles for the structure of its arguments: an int and a float, a float and a `np.float32`, None and an array,
dicts with other keys, a list and a tuple are compiled each on their own. A flip in a loop is paid once, but calls that
go on to vary are paid every time. The rule is off unless it is selected.
""",
    source="JAX tutorial on pytrees; traces were counted on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
import jax


@jax.jit
def scaled(x, factor):
    return x * factor


scaled(1.0, 2)
scaled(1.0, 2.5)
""",
    ),
    clean=(
        """\
import jax


@jax.jit
def scaled(x, factor):
    return x * factor


scaled(1.0, 2.0)
scaled(1.0, 2.5)
""",
    ),
    default=False,
)

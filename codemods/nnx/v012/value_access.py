"""NNX603: ``.value`` of Variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, ClassFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.kinds import class_kind
from codemods.nnx.places import listed
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.source import Source
from codemods.nnx.v012.told import Told
from codemods.nnx.v012.told_layers import ToldLayers
from codemods.nnx.v012.value_mutation import mutated
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Const

_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.MatMult: "@", ast.Pow: "**", ast.FloorDiv: "//",
    ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def check(context: Context) -> Iterator[Finding]:
    """Yield accesses of ``.value`` where all targets have the new accessors: all of a project with their edits, or one.

    A project has one spelling. As long as there is a place that may be a Variable's and cannot be rewritten, all stay.
    """
    if set(context.options.targets) != {"0.12"}:
        return
    if any(_own_value(cls, context) for cls in context.project.classes()):
        return  # `[...]` and get_value() go past it
    variables = Variables(context)
    places = list(variables.values())
    told, layers = Told(context), ToldLayers(context)

    def of_variable(event: AttrEvent) -> bool:
        if variables.is_variable(event.base, event.scope) or told.is_variable(event):
            return True
        return layers.parameter(event.base, event.node.value, event.scope)

    known = {e: of_variable(e) for e in places if e.scope.module in context.asked}
    if not any(known.values()):
        return  # nothing would be said of the modules that are asked about
    for event in places:
        if event not in known:
            known[event] = of_variable(event)
    inner = mutated(context)
    called = {call.node.func for call in context.project.calls()}
    sure: list[tuple[AttrEvent, Fix]] = []
    others: list[tuple[AttrEvent, bool]] = []  # the other places, and whether they are a Variable's
    for event in places:
        if event.node in inner or event.node in called:
            continue
        if not known[event]:
            others.append((event, False))
            continue
        source = event.scope.module.source
        edits: list[Edit] = []
        if source.faithful(event.node):
            edits = _read(variables, event) if event.context == "load" else _written(variables, event)
        if edits:
            sure.append((event, Fix(tuple((source.path, edit) for edit in edits))))
        else:
            others.append((event, True))
    if not sure:
        return
    doubtful = [event for event, one in others if one or variables.may_be_variable(event)]
    if doubtful:
        yield _kept([event for event, _ in sure], doubtful)
        return
    for event, fix in sure:
        yield finding(
            "NNX603",
            event.scope,
            event.node,
            f"`.{event.node.attr}` of a Variable is deprecated since Flax 0.12.1",
            "read by `[...]` (arrays) or get_value(), write by set_value(...)",
            fix,
        )


def _own_value(cls: ClassFacts, context: Context) -> bool:
    """Say whether a class of Variables says itself what `value` is."""
    if "value" not in cls.methods and "value" not in cls.scope.env:
        return False
    return any(class_kind(name) is Objects.VARIABLE for name in context.flow.classes.mro(cls)[1])


def _kept(sure: list[AttrEvent], doubtful: list[AttrEvent]) -> Finding:
    """Return what is said once where some places cannot be rewritten, so that none is."""
    first = sure[0]
    rest = listed(doubtful, first.scope.module)
    rest = rest if rest.startswith("\n") else f" {rest}"
    return finding(
        "NNX603",
        first.scope,
        first.node,
        f"`.value` of a Variable is deprecated since Flax 0.12.1; {len(sure)} of {len(sure) + len(doubtful)} places "
        "can be rewritten, and all are left as they are, so that the project keeps one spelling",
        f"rewrite these by hand, `x[...]` for arrays and get_value() for the rest, then run again:{rest}",
    )


def _read(variables: Variables, event: AttrEvent) -> list[Edit]:
    """Return the edits of a read: ``[...]`` of an array, else the method that gives any content."""
    source = event.scope.module.source
    if event.node.attr == "raw_value":
        accessor = ".get_raw_value()"
    else:
        accessor = "[...]" if variables.holds_array(event.base, event.scope) else ".get_value()"
    return [Edit(_dot(source, event.node), source.span(event.node)[1], accessor.encode())]


def _written(variables: Variables, event: AttrEvent) -> list[Edit]:
    """Return the edits of an assignment; none if it is not one of its own."""
    statement, node, source = event.statement, event.node, event.scope.module.source
    if node.attr != "value":
        return []
    end = source.span(statement)[1]
    dot, after = _dot(source, node), source.span(node)[1]
    if type(statement) is ast.Assign and statement.targets == [node] and not source.awkward(statement.value):
        start = _behind(source, after, b"=")
        if source.data[start : start + 1] == b"(" and start < source.span(statement.value)[0]:
            return [Edit(dot, start, b".set_value")]  # the parentheses around the value become those of the call
        return [Edit(dot, start, b".set_value("), Edit(end, end, b")")]
    if not isinstance(statement, ast.AugAssign) or statement.target is not node or source.awkward(statement.value):
        return []
    if _keeps_type(variables, event, statement):
        return [Edit(dot, after, b"[...]")]
    sign = _SIGNS[type(statement.op)]
    base = source.text(node.value)
    if not variables.holds_array(event.base, event.scope) and not _holds_constant(variables, event):
        return []
    if not _simple(node.value):
        return []
    operand = isinstance(statement.value, ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.Subscript)
    opening, closing = ("", ")") if operand else ("(", "))")
    start = _behind(source, after, f"{sign}=".encode())
    middle = f".set_value({base}.get_value() {sign} {opening}"
    return [Edit(dot, start, middle.encode()), Edit(end, end, closing.encode())]


def _keeps_type(variables: Variables, event: AttrEvent, statement: ast.AugAssign) -> bool:
    """Say whether an array keeps its type under an operation, as numbers do that are joined with a whole number."""
    if not isinstance(statement.op, ast.Add | ast.Sub | ast.Mult) or not isinstance(statement.value, ast.Constant):
        return False
    if type(statement.value.value) is not int or not variables.holds_array(event.base, event.scope):
        return False
    bound = variables.flow.here(event.base, event.scope)
    return all(_is_numeric(getattr(s.value, "node", None)) for s in variables.context.sources.originals(bound))


def _is_numeric(made: ast.AST | None) -> bool:
    """Say whether a Variable's constructor, as it is written, names no truth values."""
    if not isinstance(made, ast.Call):
        return False
    names = {n.id for n in ast.walk(made) if isinstance(n, ast.Name)} | {
        n.attr for n in ast.walk(made) if isinstance(n, ast.Attribute)
    }
    truths = any(isinstance(n, ast.Constant) and isinstance(n.value, bool) for n in ast.walk(made))
    return not truths and not names & {"bool", "bool_", "dtype"}


def _holds_constant(variables: Variables, event: AttrEvent) -> bool:
    """Say whether a Variable was made with a number or a string."""
    sources = variables.context.sources.originals(variables.flow.here(event.base, event.scope))
    contents = [getattr(s.value, "args", ())[:1] for s in sources]
    return bool(contents) and all(c and isinstance(c[0], Const) for c in contents)


def _simple(node: ast.expr) -> bool:
    """Say whether evaluating an expression twice is the same as once."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _dot(source: Source, node: ast.Attribute) -> int:
    """Return the offset of the dot before an attribute's name."""
    return source.data.rindex(b".", source.span(node.value)[1], source.span(node)[1])


def _behind(source: Source, start: int, sign: bytes) -> int:
    """Return the offset behind a sign and the blanks that follow it on the line."""
    position = source.data.index(sign, start) + len(sign)
    while source.data[position : position + 1] in (b" ", b"\t"):
        position += 1
    return position


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx


class Meter(nnx.Module):
    def __init__(self):
        self.total = nnx.Variable(jnp.zeros(3))
        self.count = nnx.Variable(jnp.array(0))
        self.label = nnx.Variable("mean")

    def add(self, x):
        self.total.value = self.total.value + x
        self.count.value += 1
        self.label.value += "!"

    def mean(self):
        return self.total.value / self.count.value


meter = Meter()
meter.add(jnp.ones(3))
print(meter.mean(), meter.label.value)
"""
_AFTER = """\
import jax.numpy as jnp
from flax import nnx


class Meter(nnx.Module):
    def __init__(self):
        self.total = nnx.Variable(jnp.zeros(3))
        self.count = nnx.Variable(jnp.array(0))
        self.label = nnx.Variable("mean")

    def add(self, x):
        self.total.set_value(self.total[...] + x)
        self.count[...] += 1
        self.label.set_value(self.label.get_value() + "!")

    def mean(self):
        return self.total[...] / self.count[...]


meter = Meter()
meter.add(jnp.ones(3))
print(meter.mean(), meter.label.get_value())
"""

RULE = Rule(
    code="NNX603",
    name="value-access",
    summary="`.value` of a Variable is deprecated",
    why="""\
`variable.value` warns since Flax 0.12.1. `variable[...]` reads an array, and `get_value()` any content. The exact
replacement of an assignment is `set_value(x)`: `variable[...] = x` writes into the old array, which keeps its type and
shape. `[...]` is therefore used for writing only where the type cannot change. That is how Flax 0.12.8 itself is
written: its layers, streams and optimizers use `[...]` 68 times and `get_value()` 5 times, and `.value` never. If 0.10
or 0.11 is among the versions asked for, `.value` stays, as it works everywhere.

A project keeps one spelling: where some place may be a Variable's and cannot be rewritten, all stay as they are, and
one finding lists those places.
""",
    kind=Kind.SUGGESTED,
    safety=Safety.SAFE,
    since="0.12.1",
    source="measured on Flax 0.10.7 to 0.12.8",
    examples=(Example(_BEFORE, _AFTER, targets=("0.12",)),),
    check=check,
    always=True,
)

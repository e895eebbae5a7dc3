"""NNX308: dicts as attributes whose keys have no order."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Class, Const, Mapping


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every attribute of an NNX object that is set to a dict with keys of several types."""
    if not context.options.crosses("0.11"):
        return
    for event in context.asked.attributes():
        stored = event.stored
        if event.context != "store" or not isinstance(stored, Mapping):
            continue
        types = {type(key.value) for key, _ in stored.items if isinstance(key, Const)}
        if len(types - {bool, int, float}) + bool(types & {bool, int, float}) < 2:
            continue
        cls = context.flow.classes.class_of(context.flow.here(event.base, event.scope))
        if cls is not None and Objects.MODULE in context.kinds.class_kinds(context.flow.here(Class(cls), cls.scope)):
            names = " and ".join(sorted(t.__name__ for t in types))
            yield finding(
                "NNX308",
                event.scope,
                stored.node,
                f"keys of types {names} cannot be sorted: setting this attribute raises ValueError since Flax 0.11",
                "use keys of one type, or wrap the dict in types.MappingProxyType",
            )


RULE = Rule(
    code="NNX308",
    name="unordered-dict-attribute",
    summary="a dict with keys of several types as an attribute of a module",
    why="""\
Since Flax 0.11 every value that is assigned to an attribute of a module is looked through as a pytree, and JAX sorts
the keys of dicts. Keys that cannot be compared, such as 0 and "one", raise "Comparator raised exception while sorting
pytree dictionary keys" at the assignment.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="measured on 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(
            before="""\
from flax import nnx


class Table(nnx.Module):
    def __init__(self):
        self.names = {0: "zero", "one": 1}
""",
            run=False,
        ),
        Example(
            before="""\
from flax import nnx


class Table(nnx.Module):
    def __init__(self):
        self.names = {"zero": 0, "one": 1}


print(Table().names["one"])
""",
            after="""\
from flax import nnx


class Table(nnx.Module):
    def __init__(self):
        self.names = {"zero": 0, "one": 1}


print(Table().names["one"])
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)

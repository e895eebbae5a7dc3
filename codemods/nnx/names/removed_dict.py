"""NNX502: ``nnx.Dict``, which 0.11 does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.compat import borrow
from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.imports import spell
from codemods.nnx.names.references import Reference, guarded, newer, nnx_references
from codemods.nnx.nodes import last_word
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.symbols import PUBLIC
from codemods.nnx.values import Attr, Call, Class, Free, Param, Ref

_NAME = "flax.nnx.Dict"
_ALIASES = frozenset({_NAME, "flax.nnx.helpers.Dict"})
_METHODS = frozenset(name for name in dir(dict) if not name.startswith("__"))
_Edits = list[tuple[str, Edit]]


def check(context: Context) -> Iterator[Finding]:
    """Yield every use of ``nnx.Dict`` if a target lacks it; what can be rewritten is rewritten together."""
    if "0.11" not in context.options.targets:
        return
    found = [r for r in nnx_references(context) if r.name in _ALIASES]
    if not found:
        return
    if _of_012(context):
        for reference in found:
            yield finding(
                "NNX502", reference.scope, reference.node, "nnx.Dict does not exist in Flax 0.11", newer("0.12")
            )
        return
    plan = _Plan(context)
    for reference in found:
        plan.reference(reference)
    for event in context.project.attributes():
        plan.attribute(event)
    for call in context.project.calls():
        plan.reflection(call)
    yield from plan.findings()


def _of_012(context: Context) -> bool:
    """Say whether the project has names that came with 0.12, so that its nnx.Dict is not the one of 0.10."""
    new = PUBLIC["0.12"] - PUBLIC["0.11"] - PUBLIC["0.10"]
    return any(r.base == "flax.nnx" and r.last in new and not guarded(r) for r in nnx_references(context))


class _Plan:
    """The edits of one project, and what is said about them."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow
        self.calls = {event.node.func: event for event in context.project.calls()}
        self.edits: _Edits = []
        self.said: list[tuple[Scope, ast.AST, str, str, bool]] = []
        self.making: set[FunctionFacts | None] = set()  # the outermost functions in which dicts are made and kept
        self.read: list[tuple[Scope, ast.Attribute]] = []  # what is rewritten with the dicts, as it is an entry of one

    def say(self, scope: Scope, node: ast.AST, message: str, help: str, fixed: bool) -> None:
        self.said.append((scope, node, message, help, fixed))

    def findings(self) -> Iterator[Finding]:
        fix = Fix(tuple(dict.fromkeys(self.edits))) if self.edits else None
        made: set[ModuleFacts] = set()
        for scope, node, message, help, fixed in self.said:
            related: list[tuple[ast.AST, str]] = []
            if fixed and scope.module not in made:
                made.add(scope.module)
                related = [
                    (entry, f'read it as ["{entry.attr}"] then') for at, entry in self.read if at.module is scope.module
                ]
            yield finding("NNX502", scope, node, message, help, fix if fixed else None, related=related)
        for scope, entry in self.read:
            if scope.module not in made:  # the dict is made in another file
                message, help = _of_entry(entry)
                yield finding("NNX502", scope, entry, message, help, fix)

    # -- the class --------------------------------------------------------------------------------

    def reference(self, reference: Reference) -> None:
        """Plan one place that names the class: an attribute, or an import with its uses."""
        scope, source = reference.scope, reference.scope.module.source
        if isinstance(reference.node, ast.Attribute):
            if source.faithful(reference.node):
                self.use(reference.node, scope)
            return
        assert isinstance(reference.node, ast.alias)
        local = reference.node.asname or "Dict"
        module = scope.module
        for node in source.nodes:
            if isinstance(node, ast.Name) and node.id == local and self.means_class(module, node):
                self.use(node, scope)
        start, end = source.span(reference.node)
        if "data" not in module.scope.bindings and "0.10" not in self.context.options.targets:
            self.edits.append((source.path, Edit(start, end, b"data")))
        else:
            self.say(scope, reference.node, "nnx.Dict does not exist in Flax 0.11", "import nnx instead", False)

    def means_class(self, module: ModuleFacts, node: ast.Name) -> bool:
        value = module.values.get(node)
        if isinstance(value, Free | Attr):
            value = self.flow.resolve(self.flow.here(value, module.scope)).value
        return isinstance(value, Ref) and value.name == _NAME

    def use(self, node: ast.Attribute | ast.Name, scope: Scope) -> None:
        """Plan one expression of the class."""
        event = self.calls.get(node)
        source = scope.module.source
        message = "nnx.Dict does not exist in Flax 0.11"
        if any(node in cls.node.bases for cls in scope.module.classes):
            self.say(scope, node, message, "derive from nnx.Module, and keep the entries in nnx.data({...})", False)
        elif event is not None and self.is_field(event):
            made = self.field_edits(event)
            self.edits += made
            help = "a dict marked as data is the same on 0.11 and 0.12; read its entries by index"
            self.say(event.scope, event.node, message, help, bool(made))
        else:
            self.edits.append((source.path, Edit(*source.span(node), b"dict")))
            self.say(scope, node, message, "a plain dict is a node too", True)
            self.making.add(_outermost(scope))

    def is_field(self, event: CallEvent) -> bool:
        """Say whether a constructed dict is assigned to an attribute at once."""
        statement = event.statement
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if getattr(statement, "value", None) is not event.node:
            return False
        return all(isinstance(t, ast.Attribute) and not self.of_plain_class(t, event.scope) for t in targets)

    def of_plain_class(self, target: ast.Attribute, scope: Scope) -> bool:
        """Say whether an attribute belongs to an object of the project that is no node."""
        value = scope.module.values.get(target.value)
        held = self.flow.resolve(self.flow.here(value, scope)) if value is not None else None
        cls = self.flow.classes.class_of(held) if held is not None else None
        return cls is not None and not any(b.startswith("flax.nnx.") for b in self.flow.classes.mro(cls)[1])

    def field_edits(self, event: CallEvent) -> _Edits:
        call, source = event.node, event.scope.module.source
        imported = "data" if isinstance(call.func, ast.Name) else None
        edits: _Edits = []
        if "0.10" in self.context.options.targets:
            borrowed = borrow(self.context.project, event.scope, "data")
            if borrowed is None:
                return []
            text, edits = borrowed.text, list(borrowed.edits)
        elif imported is not None and imported not in event.scope.module.scope.bindings:
            text = imported
        else:
            spelling = spell(self.flow, event.scope, "data")
            if spelling is None:
                return []
            text, edits = spelling.text, [(source.path, edit) for edit in spelling.edits]
        start, end = source.span(call.func)
        if len(call.args) == 1 and not call.keywords and isinstance(call.args[0], ast.Dict | ast.DictComp):
            return [*edits, (source.path, Edit(start, end, text.encode()))]
        stop = source.span(call)[1]
        return [
            *edits,
            (source.path, Edit(start, end, f"{text}(dict".encode())),
            (source.path, Edit(stop, stop, b")")),
        ]

    # -- its entries ------------------------------------------------------------------------------

    def attribute(self, event: AttrEvent) -> None:
        """Plan an entry that is reached as an attribute."""
        name, source = event.node.attr, event.scope.module.source
        if name in _METHODS or name.startswith("__") or isinstance(event.base, Ref | Class):
            return
        if isinstance(event.base, Param) and event.base is event.base.function.self_param:
            return
        every, some = self.from_dict(event)
        if not some:
            return
        if not every or not source.faithful(event.node):
            message = _of_entry(event.node)[0]
            self.say(event.scope, event.node, message, f"it may be an nnx.Dict: read it as [{name!r}]", False)
            return
        start, end = source.span(event.node.value)[1], source.span(event.node)[1]
        self.edits.append((source.path, Edit(start, end, f'["{name}"]'.encode())))
        self.read.append((event.scope, event.node))

    def from_dict(self, event: AttrEvent) -> tuple[bool, bool]:
        """Say whether an object is an ``nnx.Dict`` on every way, and on some."""
        sources = self.context.sources.originals(self.flow.here(event.base, event.scope))
        made = [isinstance(s.value, Call) and self.flow.calls.callee_name(s) == _NAME for s in sources]
        if not any(made) and _outermost(event.scope) in self.making:  # what is merged may have been split there
            return False, any(self.merged(source) for source in sources)
        return all(made), any(made)

    def merged(self, source: Bound) -> bool:
        """Say whether an object was merged of what may have been a dict."""
        call = source.value
        if not isinstance(call, Call) or last_word(call.node.func) != "merge" or not call.args:
            return False
        whole = self.flow.calls.split_object(self.flow.follow(source, call.args[0]))
        if whole is None:
            return True
        originals = self.context.sources.originals(whole)
        return any(isinstance(o.value, Call) and self.flow.calls.callee_name(o) == _NAME for o in originals)

    def reflection(self, event: CallEvent) -> None:
        """Report entries that are reached by ``getattr`` and the like."""
        if not isinstance(event.node.func, ast.Name) or event.node.func.id not in {"getattr", "setattr", "hasattr"}:
            return
        if event.value.args:
            sources = self.context.sources.originals(self.flow.here(event.value.args[0], event.scope))
            if any(isinstance(s.value, Call) and self.flow.calls.callee_name(s) == _NAME for s in sources):
                message = "entries of a dict are no attributes, and Flax 0.11 has no nnx.Dict"
                self.say(event.scope, event.node, message, "index it, or ask with `in`", False)


def _of_entry(node: ast.Attribute) -> tuple[str, str]:
    """Return what is wrong with an entry that is reached as an attribute, and what to write."""
    return (
        f"the entry {node.attr!r} of a dict is no attribute",
        f'read it as ["{node.attr}"], which works on all versions',
    )


def _outermost(scope: Scope) -> FunctionFacts | None:
    """Return the outermost function around a scope; None for the module."""
    found = None
    inner: Scope | None = scope
    while inner is not None:
        found = inner.function or found
        inner = inner.parent
    return found


_HEAD = """\
import jax.numpy as jnp
from flax import nnx


"""
_BEFORE = (
    _HEAD
    + """\
class Heads(nnx.Module):
    def __init__(self, rngs):
        self.heads = nnx.Dict({"mean": nnx.Linear(2, 3, rngs=rngs), "scale": nnx.Linear(2, 1, rngs=rngs)})
        self.extra = nnx.Dict(bias=nnx.Param(jnp.ones(3)))

    def __call__(self, x):
        return self.heads["mean"](x) * self.heads.scale(x) + self.extra.bias


print(Heads(nnx.Rngs(0))(jnp.ones((1, 2))))
"""
)
_AFTER = (
    _HEAD
    + """\
class Heads(nnx.Module):
    def __init__(self, rngs):
        self.heads = nnx.data({"mean": nnx.Linear(2, 3, rngs=rngs), "scale": nnx.Linear(2, 1, rngs=rngs)})
        self.extra = nnx.data(dict(bias=nnx.Param(jnp.ones(3))))

    def __call__(self, x):
        return self.heads["mean"](x) * self.heads["scale"](x) + self.extra["bias"]


print(Heads(nnx.Rngs(0))(jnp.ones((1, 2))))
"""
)
_FREE = _HEAD + "pair = nnx.Dict(a=nnx.Param(jnp.ones(2)))\nprint(len(nnx.to_flat_state(nnx.state(pair))))\n"

RULE = Rule(
    code="NNX502",
    name="removed-dict",
    summary="nnx.Dict does not exist in 0.11",
    why="""\
`nnx.Dict` was removed in 0.11.0 and came back in 0.12.0. For 0.11 an attribute becomes a dict marked by `nnx.data`,
which 0.12 accepts as well, and any other one a plain dict. The paths of the state stay the same. Entries are then
reached by index only. With `--to 0.12` alone nothing changes.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(before=_BEFORE, after=_AFTER),
        Example(before=_FREE, after=_FREE.replace("nnx.Dict", "dict")),
        Example(before=_BEFORE, after=_BEFORE, targets=("0.12",)),
    ),
    check=check,
    always=True,
)

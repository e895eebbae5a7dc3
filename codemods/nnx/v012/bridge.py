"""NNX619: the streams of ``nnx.bridge.ToNNX``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import AttrEvent, CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.optimizer.state_tree import state_holder
from codemods.nnx.places import once
from codemods.nnx.project import scope_of
from codemods.nnx.rewrite import RewriteError, remove_keyword
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Attr, Call, Choice, Const, Item, Value

_NAMES = frozenset({"flax.nnx.bridge.ToNNX", "flax.nnx.bridge.wrappers.ToNNX"})


def check(context: Context) -> Iterator[Finding]:
    """Yield bridges that get streams, assignments to their attributes, and reads of their streams from a state."""
    if not context.options.crosses("0.12") or not any(m.source.mentions(b"bridge") for m in context.project.modules):
        return
    bridges = _Bridges(context)
    # what code for the target draws is what is meant; linting gives code that may be for it the benefit of the doubt
    written_for_it = context.origin == "0.12" or (context.options.lint and not context.options.settled)
    calls = () if written_for_it else context.asked.calls()
    made = (event for event in calls if context.flow.calls.name(event) in _NAMES)
    yield from once(context.project, (found for event in made for found in bridges.made(event)))
    for store in context.asked.attributes():
        if store.context == "store" and store.node.attr in {"rngs", "module"}:
            yield from bridges.stored(store)
    for module in context.asked.modules:
        if module.source.mentions(b"rngs"):
            yield from bridges.keys(module)


class _Bridges:
    """Which objects are Linen modules that ``ToNNX`` wraps."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.flow = context.flow
        self.alone = set(context.options.targets) == {"0.12"}
        # the calls of lazy_init by what stands before the dot
        self.later = {
            event.node.func.value: event.node
            for event in context.project.calls()
            if isinstance(event.node.func, ast.Attribute) and event.node.func.attr == "lazy_init"
        }

    def made(self, event: CallEvent) -> Iterator[Finding]:
        if self._streams(event.value) is not None:
            yield finding(
                "NNX619",
                event.scope,
                event.node,
                "ToNNX forks the streams that it is given since Flax 0.12, so that it draws other parameters and masks",
                "leave them out and call lazy_init(..., rngs=rngs), which draws the same parameters on all versions",
                self._handed(event),
            )

    def _handed(self, event: CallEvent) -> Fix | None:
        """Return the edits that hand the streams to ``lazy_init``; calls that draw masks would then need them too."""
        source = event.scope.module.source
        later = self.later.get(event.node)
        given = next((k for k in event.node.keywords if k.arg == "rngs"), None)
        if later is None or given is None or not source.faithful(later):
            return None
        last = [*later.args, *(k.value for k in later.keywords)]
        if not last or any(k.arg in {None, "rngs"} for k in later.keywords) or isinstance(last[-1], ast.Starred):
            return None
        end = source.span(last[-1])[1]
        if source.data[end : source.span(later)[1] - 1].strip(b" \t\r\n,"):
            return None
        try:
            removal = remove_keyword(source, event.node, "rngs")
        except RewriteError:
            return None
        added = Edit(end, end, f", rngs={source.text(given.value)}".encode())
        return Fix(((source.path, removal), (source.path, added)), Safety.UNSAFE)

    def _streams(self, call: Call) -> Value | None:
        given = call.argument(1, "rngs")
        return None if given == Const(None) else given

    def stored(self, event: AttrEvent) -> Iterator[Finding]:
        """Yield assignments of ``rngs`` and ``module``, which are properties now."""
        calls = self._calls(self.flow.here(event.base, event.scope))
        if not calls:
            return
        new = f"to_nnx__{event.node.attr}"
        # an attribute that held None would have to be marked as data
        held = event.node.attr == "module" or all(self._holds_streams(call) for call in calls)
        source = event.scope.module.source
        fix = None
        if self.alone and held and source.faithful(event.node):
            end = source.span(event.node)[1]
            fix = Fix(((source.path, Edit(end - len(event.node.attr), end, new.encode())),))
        message = f"the attribute `{event.node.attr}` of ToNNX cannot be set since Flax 0.12"
        yield finding("NNX619", event.scope, event.node, message, f"it is `{new}` there", fix)

    def _holds_streams(self, made: Bound) -> bool:
        given = self._streams(made.value) if isinstance(made.value, Call) else None
        if given is None or isinstance(given, Choice):  # one of its options may be None
            return False
        return self.context.kinds.only(self.flow.with_value(made, given)) is Objects.RNGS

    def keys(self, module: ModuleFacts) -> Iterator[Finding]:
        """Yield ``state["rngs"]`` where the state is that of such an object."""
        for node, value in module.values.items():
            place = _key(node)
            if place is None or not isinstance(value, Attr | Item) or not module.source.faithful(place):
                continue
            scope = scope_of(module, place)
            owner = self._owner(self.flow.here(value.base, scope))
            if owner is not None and self._calls(owner):
                yield self._renamed(module, scope, place)

    def _renamed(self, module: ModuleFacts, scope: Scope, place: ast.expr) -> Finding:
        source = module.source
        start, end = source.span(place)
        start = source.data.rindex(b"rngs", start, end)
        fix = Fix(((source.path, Edit(start, start + 4, b"to_nnx__rngs")),)) if self.alone else None
        message = "the state of ToNNX has no `rngs` since Flax 0.12"
        return finding("NNX619", scope, place, message, "it is `to_nnx__rngs` there", fix)

    def _owner(self, state: Bound, depth: int = 0) -> Bound | None:
        """Return the object of which a state, or a part of a state, is the state."""
        for source in self.context.sources.originals(state):
            holder = state_holder(self.context, source)
            if holder is not None:
                return holder
            value = source.value
            key: object = value.name if isinstance(value, Attr) else None
            if isinstance(value, Item | Indexed):
                index = value.index.value if isinstance(value, Indexed) else value.index
                key = index.value if isinstance(index, Const) else None
            if isinstance(value, Attr | Item | Indexed) and isinstance(key, str) and depth < 8:
                outer = self._owner(self.flow.with_value(source, value.base), depth + 1)
                return self.flow.with_value(outer, Attr(outer.value, key)) if outer is not None else None
        return None

    def _calls(self, bound: Bound, depth: int = 0) -> list[Bound]:
        """Return the calls of ``ToNNX`` that make an object; none if something else makes it on some way."""
        found: list[Bound] = []
        for source in self.context.sources.originals(bound):
            value = source.value
            callee = self.flow.follow(source, value.callee) if isinstance(value, Call) else None
            if isinstance(value, Call) and self.flow.calls.callee_name(source) in _NAMES:
                found.append(source)
            elif (
                callee is not None and isinstance(callee.value, Attr) and callee.value.name == "lazy_init" and depth < 4
            ):
                inner = self._calls(self.flow.with_value(callee, callee.value.base), depth + 1)
                if not inner:
                    return []
                found += inner
            else:
                return []
        return found


def _key(node: ast.AST) -> ast.expr | None:
    """Return the node whose last word is the key ``rngs`` of something."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == "rngs":
        return node.slice
    return node if isinstance(node, ast.Attribute) and node.attr == "rngs" else None


_STATE = """\
import flax.linen as nn
import jax.numpy as jnp
from flax import nnx
from flax.nnx import bridge

dense = bridge.ToNNX(nn.Dense(3), rngs=nnx.Rngs(0)).lazy_init(jnp.ones((1, 2)))
print(list(nnx.state(dense)["rngs"]))
"""

_LEFT = """\
import flax.linen as nn
import jax.numpy as jnp
from flax import nnx
from flax.nnx import bridge

dense = bridge.ToNNX(nn.Dense(3)).lazy_init(jnp.ones((1, 2)), rngs=nnx.Rngs(0))
print(dense.kernel.shape, dense.kernel.value.sum())
"""

RULE = Rule(
    code="NNX619",
    name="bridge-streams",
    summary="streams that nnx.bridge.ToNNX holds",
    why="""\
`nnx.bridge.ToNNX(module, rngs=rngs)` used the given streams up to Flax 0.11. Since 0.12 it forks them: `lazy_init`
draws other parameters from the same seed, and dropout other masks, without an error. They are kept as `to_nnx__rngs`,
also in the state; `rngs` and `module` can only be read. `ToNNX(module).lazy_init(x, rngs=rngs)` draws the same
parameters on all versions; a module with dropout then needs `rngs=` in each call, so that this change has to be asked
for.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.0",
    source="measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    examples=(
        Example(_STATE, _STATE.replace('["rngs"]', '["to_nnx__rngs"]'), targets=("0.12",)),
        Example(
            _LEFT.replace("nn.Dense(3))", "nn.Dense(3), rngs=nnx.Rngs(0))").replace(
                ", rngs=nnx.Rngs(0))\nprint", ")\nprint"
            ),
            _LEFT,
            targets=("0.12",),
            unsafe=True,
        ),
        Example(_LEFT, _LEFT, targets=("0.11", "0.12")),
    ),
    check=check,
    always=True,
)

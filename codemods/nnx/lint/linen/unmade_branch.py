"""Linen models that are applied by a flag whose layers no ``init`` made, which ran by another one; part of NNX627."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.frames import Bound
from codemods.nnx.lint.linen.flags import call_flags
from codemods.nnx.lint.linen.modules import HOME, classes_of, is_plain, method_around, modules_at, wanted
from codemods.nnx.lint.linen_outputs import applied_modules
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Attr, Call, Const

# layers that have parameters however they are made
LAYERS = frozenset(
    {"Dense", "DenseGeneral", "Conv", "ConvTranspose", "ConvLocal", "Embed", "Einsum", "SelfAttention",
     "MultiHeadAttention", "MultiHeadDotProductAttention"}
)  # fmt: skip
# with these in a project, parameters may come from elsewhere
_LOADED = (b"restore", b"from_bytes", b"from_state_dict", b"pickle", b"msgpack", b"load", b"torch",
           b"unfreeze", b"traverse_util")  # fmt: skip
_MAKING = ("init", "init_with_output", "lazy_init")
_Flags = Mapping[str, object]


def unmade(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls of ``apply``, each with a layer that they reach and no ``init`` does, and with what turns it on.

    Args:
        context: the analysis.
    """
    if any(m.source.mentions(word) for m in context.project.modules for word in _LOADED):
        return
    inits: list[tuple[CallEvent, list[Bound]]] | None = None
    for event in context.bodies.named("apply", "apply_fn"):
        if not wanted(context, event):
            continue
        modules = applied_modules(context, context.flow.here(event.value, event.scope), mutable=True)
        classes = set(classes_of(context, modules))
        cls = classes.pop() if len(classes) == 1 else None
        method = cls.methods.get("__call__") if cls is not None and is_plain(context, cls) else None
        if cls is None or method is None or not _branches(method, cls) or _a_part(context, cls):
            continue
        if context.shared(_init_handed_on):
            return
        inits = _inits(context) if inits is None else inits
        own = [(call, made) for call, made in inits if cls in classes_of(context, made) or not made]
        if not own or not all(made and _plain(call) for call, made in own):
            continue
        on = [_flags(event, method, cls, one) for one in modules]
        off = [_flags(call, method, cls, one) for call, made in own for one in made]
        found = _unreached(context, method, on, off)
        if found is not None:
            yield event, *found


def _branches(method: FunctionFacts, cls: ClassFacts) -> bool:
    """Say whether a method has branches, makes its layers itself and hands that on to nothing."""
    inner = [node for node in ast.walk(method.node) if node is not method.node]
    if any(isinstance(node, ast.FunctionDef | ast.Lambda | ast.ListComp | ast.GeneratorExp) for node in inner):
        return False
    if any(isinstance(node, ast.Attribute) and node.attr in cls.methods for node in inner):
        return False
    return any(isinstance(node, ast.If) for node in inner)


def _a_part(context: Context, cls: ClassFacts) -> bool:
    """Say whether a model may be a part of another one, whose ``init`` makes its parameters too."""
    made = (event for event in context.project.calls() if last_word(event.node.func) == cls.name)
    return any(method_around(context, event.scope) is not None for event in made)


def _init_handed_on(context: Context) -> bool:
    """Say whether an ``init`` is named and not called, as in ``jax.jit(model.init)``."""
    for module in context.project.modules:
        called = {id(event.node.func) for event in module.calls}
        if any(node.attr in _MAKING and id(node) not in called for node in module.source.of_type(ast.Attribute)):
            return True
    return False


def _plain(call: CallEvent) -> bool:
    """Say whether all arguments of an ``init`` are written out, and it runs ``__call__``."""
    if call.value.starred or any(key is None for key, _ in call.value.keywords):
        return False
    return keyword(call.node, "method") is None


def _inits(context: Context) -> list[tuple[CallEvent, list[Bound]]]:
    """Return the calls that may initialise a module of Linen, with the modules; none of them where that is unknown."""
    found = []
    for event in context.bodies.named(*_MAKING):
        callee = event.value.callee
        if isinstance(callee, Attr) and len(event.value.args) > 1:
            found.append((event, modules_at(context, context.flow.here(callee.base, event.scope))))
    return found


def _flags(event: CallEvent, method: FunctionFacts, cls: ClassFacts, module: Bound) -> dict[str, object]:
    """Return the flags of a call by their names, and those of the fields of a module with the object before the dot."""
    found = dict(call_flags(event, method))
    if event.value.starred or not isinstance(module.value, Call):
        return found
    own = method.self_param.name if method.self_param is not None else ""
    for place, name in enumerate(cls.fields):
        value = module.value.argument(place, name)
        if value is not None:
            found[f"{own}.{name}"] = value.value if isinstance(value, Const) else None
        else:
            found[f"{own}.{name}"] = next(
                (
                    constant(one.value)
                    for one in cls.node.body
                    if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.target.id == name
                    if one.value is not None
                ),
                None,
            )
    return found


def _truth(test: ast.expr, flags: _Flags) -> bool | None:
    """Say whether a condition holds; None if that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, flags)
        return None if inner is None else not inner
    if isinstance(test, ast.Name | ast.Attribute):
        value = flags.get(ast.unparse(test))
        return value if isinstance(value, bool) else None
    return None


def _unreached(
    context: Context, method: FunctionFacts, on: list[dict[str, object]], off: list[dict[str, object]]
) -> tuple[str, str] | None:
    """Return a kind of layer of which a call makes more than any ``init`` may, with the condition of one."""
    rebound = {n.id for n in ast.walk(method.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if any(name in rebound for flags in (*on, *off) for name in flags):
        on = [{k: v for k, v in flags.items() if k not in rebound} for flags in on]
        off = [{k: v for k, v in flags.items() if k not in rebound} for flags in off]
    made: dict[str, list[CallEvent]] = {}
    for call in context.bodies.calls.get(method.scope, ()):
        name = context.flow.calls.name(call)
        if name.startswith(HOME) and name.removeprefix(HOME) in LAYERS:
            made.setdefault(name, []).append(call)
    applied = {id(call.node.func) for call in context.bodies.calls.get(method.scope, ())}
    for name, calls in made.items():
        if any(call.loops or keyword(call.node, "name") is not None or id(call.node) not in applied for call in calls):
            continue
        least = min(sum(_reached(context, call, flags) is True for call in calls) for flags in on) if on else 0
        most = max(sum(_reached(context, call, flags) is not False for call in calls) for flags in off)
        if least > most:
            block = next(
                (block for call in calls for block, _ in context.bodies.paths(call.scope).get(call.node, ())
                 if isinstance(block, ast.If) and _reached(context, call, off[0]) is False),
                None,
            )  # fmt: skip
            return name.removeprefix(HOME), ast.unparse(block.test) if block is not None else "its flags"
    return None


def _reached(context: Context, call: CallEvent, flags: _Flags) -> bool | None:
    """Say whether a call is reached with flags; None if that is not known."""
    sure = True
    for block, arm in context.bodies.paths(call.scope).get(call.node, ()):
        if isinstance(block, ast.With):
            continue
        truth = _truth(block.test, flags) if isinstance(block, ast.If | ast.IfExp) and arm != "test" else None
        if truth is not None and truth is not (arm == "body"):
            return False
        sure = sure and truth is not None
    for block in context.bodies.behind(call.node, call.scope):
        truth = _truth(block.test, flags) if not block.orelse else None
        if truth is True:
            return False
        sure = sure and truth is False
    return True if sure else None

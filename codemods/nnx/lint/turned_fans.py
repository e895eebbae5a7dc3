"""NNX546: initial weights that are scaled by the outputs of a kernel, where its inputs are meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.origins import constant_key
from codemods.nnx.lint.places import in_test, own_scopes
from codemods.nnx.lint.syntax import constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Const, Value

_MAKERS = frozenset({"he_normal", "he_uniform", "kaiming_normal", "kaiming_uniform", "lecun_normal", "lecun_uniform"})
_HOMES = ("flax.nnx.initializers.", "flax.linen.initializers.", "jax.nn.initializers.")
_AXES = ("in_axis", "out_axis", "batch_axis")
_TURNED = pattern(rb"\.T\b|transpose|swapaxes|einsum")
_KERNELS = pattern(r"(^|_)(w|weights?|kernels?|proj\w*|lin\w*|dense|fc|matrix)\d*(_|$)|^w[a-z]?\d*$", re.I)
_OUTPUTS = pattern(r"(^|_)(out|output|outputs)(_|$)|out$", re.I)


def _check(context: Context) -> Iterator[Finding]:
    sources = ((module, module.source) for module in context.asked.modules)
    modules = [module for module, text in sources if text.mentions(b"initializers") and text.matches(_TURNED)]
    if not modules:
        return
    for event in context.asked.calls():
        if event.scope.module not in modules or in_test(event.scope):
            continue
        of_linen = last_word(event.node.func) == "param" and len(event.node.args) > 2
        shape = event.node.args[2 if of_linen else 1] if len(event.node.args) > 1 else None
        if not isinstance(shape, ast.Tuple) or len(shape.elts) != 2 or isinstance(shape.elts[1], ast.Starred):
            continue
        outputs, inputs = (ast.unparse(one) for one in shape.elts)
        made = event.value.args[1] if of_linen else event.value.callee
        maker = _maker(context, made, event) if outputs != inputs else ""
        used = _used(context, event, bool(_OUTPUTS.search(last_word(shape.elts[0])))) if maker else None
        if used is not None:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{maker}` takes the last axis for the outputs, and this kernel sums over it: the weights are scaled "
                f"by `{outputs}` instead of `{inputs}`",
                "tell the initializer which axis is which: in_axis=-1, out_axis=-2",
                related=[(used, "the last axis is summed over here")],
            )


def _maker(context: Context, value: Value, event: CallEvent) -> str:
    """Return the name of what makes an initializer that divides by the inputs, if it is told of no axes."""
    flow = context.flow
    made = flow.follow(flow.here(event.value, event.scope), value)
    if not isinstance(made.value, Call):
        return ""
    name, call = flow.calls.callee_name(made), made.value
    if not name.startswith(_HOMES) or call.starred or any(call.keyword(word) is not None for word in _AXES):
        return ""
    if last(name) == "variance_scaling":
        return last(name) if call.argument(1, "mode") == Const("fan_in") and len(call.args) <= 3 else ""
    return last(name) if last(name) in _MAKERS and not call.args else ""


def _used(context: Context, event: CallEvent, outputs_first: bool) -> ast.expr | None:
    """Return where a product sums over the last axis of a kernel that a call makes, if all that use it do."""
    local, name = _kept_as(context, event)
    if not outputs_first and not _KERNELS.search(name):
        return None  # rows that are points, as of prototypes
    if local:
        names = context.bodies.names(event.scope).get(name, ())
        if sum(isinstance(n.ctx, ast.Store) for n in names) != 1:
            return None
        found = [_product(context, event.scope, n, outputs_first) for n in names if isinstance(n.ctx, ast.Load)]
        return found[0] if found and None not in found else None
    return _turned(context, event.scope.module, name, outputs_first) if name else None


def _kept_as(context: Context, event: CallEvent) -> tuple[bool, str]:
    """Return the key or the attribute under which weights are kept, or the variable, and whether it is one."""
    above = around(context, event.scope)
    node: ast.AST = event.node
    outer = above.get(node)
    if isinstance(outer, ast.Call) and last_word(outer.func) in {"Param", "asarray"} and outer.args[:1] == [node]:
        node, outer = outer, above.get(outer)
    if isinstance(outer, ast.Dict):
        key = outer.keys[outer.values.index(node)] if node in outer.values else None
        return False, key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and outer.value is node:
        target = outer.targets[0]
        if isinstance(target, ast.Subscript):
            return False, constant_key(target) or ""
        if isinstance(target, ast.Name):
            return True, target.id
        return False, target.attr if isinstance(target, ast.Attribute) else ""
    return False, ""


def _turned(context: Context, module: ModuleFacts, name: str, outputs_first: bool) -> ast.expr | None:
    """Return where a product sums over the last axis of a kernel; None if the kernel is ever used otherwise."""
    found: ast.expr | None = None
    for scope in own_scopes(module):
        for node in context.bodies.nodes(scope):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                return None
            read = (isinstance(node, ast.Subscript) and constant_key(node) == name) or (
                isinstance(node, ast.Attribute) and node.attr == name
            )
            if not read or not isinstance(node, ast.Subscript | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            found = _product(context, scope, node, outputs_first)
            if found is None:
                return None
    return found


def _product(context: Context, scope: Scope, node: ast.expr, outputs_first: bool) -> ast.expr | None:
    """Return the product that sums over the last axis of an array with two."""
    above = around(context, scope)
    turned = False
    part: ast.AST = node
    outer = above.get(part)
    while outer is not None:
        if isinstance(outer, ast.Attribute) and outer.attr in {"value", "T", "mT"}:
            turned ^= outer.attr != "value"
        elif isinstance(outer, ast.Subscript) and outer.value is part and constant(outer.slice) is ...:
            pass
        elif isinstance(outer, ast.Attribute) and outer.attr in _METHODS and isinstance(above.get(outer), ast.Call):
            call = above[outer]
            assert isinstance(call, ast.Call)
            turned ^= (outer.attr == "transpose" and not call.args) or outer.attr == "swapaxes"
            outer = call
        elif isinstance(outer, ast.Call) and last_word(outer.func) == "transpose" and outer.args == [part]:
            turned = not turned
        else:
            break
        part, outer = outer, above.get(outer)
    if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.MatMult):
        sums = turned if outer.right is part else outputs_first and not turned
        return outer if sums else None
    if not isinstance(outer, ast.Call) or part not in outer.args:
        return None
    place, word = outer.args.index(part), last_word(outer.func)
    if word in {"dot", "matmul"} and len(outer.args) == 2:
        sums = turned if place else outputs_first and not turned
        return outer if sums else None
    return outer if word == "einsum" and not turned and _sums_last(outer, place) else None


_METHODS = frozenset({"astype", "get_value", "transpose", "swapaxes"})


def _sums_last(call: ast.Call, place: int) -> bool:
    """Say whether einsum sums over the last of two axes of an operand, of which it keeps the first."""
    text = constant(call.args[0])
    if not isinstance(text, str) or "->" not in text or place < 1:
        return False
    given, _, result = text.replace(" ", "").partition("->")
    terms = given.split(",")
    if place > len(terms) or len(terms[place - 1]) != 2 or len(terms) != len(call.args) - 1:
        return False
    first, summed = terms[place - 1][0], terms[place - 1][1]
    others = "".join(term for i, term in enumerate(terms) if i != place - 1)
    return first in result and first not in others and summed in others and summed not in result


_BAD = """\
import jax
import jax.numpy as jnp

init = jax.nn.initializers.he_normal()


def init_layer(key, n_in, n_out):
    return {"weight": init(key, (n_out, n_in)), "bias": jnp.zeros(n_out)}


def apply_layer(params, x):
    return jax.nn.relu(x @ params["weight"].T + params["bias"])
"""

RULE = lint_rule(
    "NNX546",
    "turned-fans",
    "a kernel of outputs and inputs whose initial weights are scaled by the number of its outputs",
    why="""\
`he_normal`, `lecun_normal` and the like divide by the number of inputs, which they take to be the last axis but one: of
kernels as `x @ w` takes them. For a kernel of the shape (outputs, inputs), as PyTorch has them, they divide by the
outputs: a layer that makes few numbers of many gets weights that are too large, one that makes many of few too small.
`in_axis=-1, out_axis=-2` says which axis is which.
""",
    source="docstring of jax.nn.initializers.variance_scaling; measured: 18 times the spread after four layers",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("he_normal()", "he_normal(in_axis=-1, out_axis=-2)"),),
)

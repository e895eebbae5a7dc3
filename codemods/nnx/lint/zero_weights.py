"""NNX989: a network of several layers whose weights all begin at zero."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise, permutations

from codemods.nnx.context import Context
from codemods.nnx.facts import ClassFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, resolved, written
from codemods.nnx.lint.syntax import constant, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source
from codemods.nnx.values import Call, Ref

_WEIGHT = pattern(r"^(w|weights?|kernels?|dense|fc|hidden|out(put)?)(_?\d+|_\w+)?$", re.I)
_NAMED = pattern(r"init|params|weights|network|mlp", re.I)
# what is only a template, is filled elsewhere, or is told apart by noise
_OTHERWISE = (
    b"load", b"restore", b"checkpoint", b"pretrained", b"perturb", b"evolution", b"posterior", b"numpyro", b"blackjax",
    b"langevin", b"lora", b"unravel", b"eval_shape",
)  # fmt: skip
_NOT_LEARNED = pattern(r"grad|accum|moment|veloc|opt|state|zeros|like|ema|mean|var", re.I)


def _check(context: Context) -> Iterator[Finding]:
    if any(module.source.mentions(b"grad") for module in context.project.modules):
        yield from (_found(scope, node) for scope, node in _layers(context))
    for scope, node in each(context, ast.Dict):
        if _ours(scope) and (linked := _linked(_entries(node))) is not None and _kept(context, scope, node):
            yield _found(scope, linked)
    for scope, linked in _filled(context):
        yield _found(scope, linked)
    yield from _low_rank(context)
    for scope, comprehension in each(context, ast.ListComp):
        pairs = _neighbours(context, comprehension, scope) if scope.module.source.mentions(b"zeros") else []
        if any(_zero_layer(context, comprehension.elt, scope, one) for one in pairs):
            yield _found(scope, comprehension.elt)
        if _ours(scope) and _kept(context, scope, comprehension):
            zeros = _of_sizes(comprehension)
            if zeros is not None:
                yield _found(scope, zeros)


def _layers(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield the first of two layers of a class of NNX whose weights all begin at zero."""
    for cls in (cls for module in context.asked.modules for cls in module.classes):
        init = cls.methods.get("__init__")
        source = cls.scope.module.source
        if init is None or not source.mentions(b"zeros") or in_test(init.scope):
            continue
        made: dict[str, ast.expr] = {}
        for node in context.bodies.nodes(init.scope):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
                made[node.targets[0].attr] = node.value
        values = init.scope.module.values
        names = {
            node: context.flow.calls.callee_name(context.flow.here(value, init.scope))
            for node in made.values()
            if isinstance(value := values.get(node), Call)
        }
        linear = [node for node, name in names.items() if name == "flax.nnx.Linear" and isinstance(node, ast.Call)]
        if len(linear) > 1 and all(_begins_at_zero(context, node, init.scope) for node in linear):
            if not source.once(_otherwise) and not any(
                name.startswith("flax.nnx.") and name not in _PLAIN for name in names.values()
            ):
                sizes = [[ast.unparse(one) for one in node.args[:2]] for node in linear]
                chained = (one[1:] == two[:1] != one[:1] for one, two in pairwise(sizes))
                if any(chained):
                    yield init.scope, linear[0]
        params = {w: n.args[0] for w, n in made.items() if names.get(n) == "flax.nnx.Param" and n.args}  # type: ignore[attr-defined]
        if len(params) == len(names) and len(params) == len(made):
            linked = _linked(list(params.items()))
            sizes_of_linked = _zero_matrix(linked) if linked is not None else None
            if linked is not None and sizes_of_linked is not None and len(set(sizes_of_linked)) == 2:
                yield init.scope, linked


def _filled(context: Context) -> Iterator[tuple[Scope, ast.expr]]:
    """Yield the first of two layers of zeros in a dict that is filled entry by entry."""
    for module in context.asked.modules:
        for function in module.functions if module.source.mentions(b"zeros(") else ():
            if not _ours(function.scope) or not _NAMED.search(function.name) or _NOT_LEARNED.search(function.name):
                continue
            entries: dict[str, list[tuple[str, ast.expr]]] = {}
            empty: set[str] = set()
            for node in context.bodies.nodes(function.scope):
                target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
                if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                    empty |= {target.id} if ast.unparse(node.value) in {"{}", "dict()"} else set()
                elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    word = constant(target.slice)
                    value = node.value if isinstance(node, ast.Assign) and isinstance(word, str) else target
                    entries.setdefault(target.value.id, []).append((str(word), value))
            for name in empty:
                linked = _linked(entries.get(name))
                if linked is not None:
                    yield function.scope, linked


def _low_rank(context: Context) -> Iterator[Finding]:
    """Yield the first of two factors of a matrix of low rank, both of which begin at zero."""
    for cls in (cls for module in context.asked.modules for cls in module.classes):
        init = cls.methods.get("__init__")
        source = cls.scope.module.source
        if init is None or not source.mentions(b"zeros") or in_test(init.scope) or source.once(_brought):
            continue
        made: dict[str, ast.Call] = {}
        for node in context.bodies.nodes(init.scope):
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Attribute):
                if isinstance(node.value, ast.Call) and last_word(node.targets[0].value) == "self":
                    made[node.targets[0].attr] = node.value
        zeros = {word: sizes for word, call in made.items() if (sizes := _zero_factor(context, call, init.scope))}
        for one, two in permutations(zeros, 2):
            inner = zeros[one][1] == zeros[two][0]
            if inner and len({*zeros[one], *zeros[two]}) > 1 and _product(context, cls, one, two):
                if not _set_elsewhere(context, (one, two), made):
                    yield finding(RULE.code, init.scope, made[one], _BOTH, _DRAW)
                    break


_BOTH = "both factors of a product begin at zero: the gradient of each is a multiple of the other, and neither learns"
_DRAW = "draw this one: nnx.initializers.he_uniform()(rngs.params(), shape); only the second may begin at zero"


def _brought(source: Source) -> bool:
    """Say whether a file's words tell that its weights come from elsewhere."""
    text = source.data.lower()
    return any(word in text for word in (b"restore", b"checkpoint", b"eval_shape", b"load_", b"from_pretrained"))


def _zero_factor(context: Context, call: ast.Call, scope: Scope) -> tuple[str, str] | None:
    """Return the two sizes of a parameter or layer without bias that begins at zero."""
    value = scope.module.values.get(call)
    name = context.flow.calls.callee_name(context.flow.here(value, scope)) if isinstance(value, Call) else ""
    if name == "flax.nnx.Linear" and len(call.args) >= 2 and _begins_at_zero(context, call, scope):
        plain = constant(keyword(call, "use_bias")) is False
        return (ast.unparse(call.args[0]), ast.unparse(call.args[1])) if plain else None
    if name not in {"flax.nnx.Param", "flax.nnx.LoRAParam"} or not call.args or not isinstance(call.args[0], ast.Call):
        return None
    given = call.args[0]
    maker = given.func.func if isinstance(given.func, ast.Call) else given.func
    if last_word(maker) not in {"zeros", "zeros_init"}:
        return None
    shapes = [*given.args, *(k.value for k in given.keywords if k.arg == "shape")]
    shape = next((one for one in shapes if isinstance(one, ast.Tuple) and len(one.elts) == 2), None)
    return (ast.unparse(shape.elts[0]), ast.unparse(shape.elts[1])) if shape is not None else None


def _product(context: Context, cls: ClassFacts, one: str, two: str) -> bool:
    """Say whether a method multiplies something by both factors, one after the other."""
    for method in cls.methods.values():
        for node in context.bodies.nodes(method.scope) if method.name != "__init__" else ():
            sides = _matrices(node)
            if sides is not None and _attribute(sides[1]) == two and one in _lasts(context, sides[0], method.scope):
                return True
            if isinstance(node, ast.Call) and len(node.args) == 1 and _attribute(node.func) == two:
                inner = written(context, node.args[0], method.scope)
                if isinstance(inner, ast.Call) and _attribute(inner.func) == one:
                    return True
    return False


def _matrices(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides of a product of matrices."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if isinstance(node, ast.Call) and last_word(node.func) in {"dot", "matmul"} and len(node.args) == 2:
        return node.args[0], node.args[1]
    return None


def _lasts(context: Context, node: ast.expr, scope: Scope) -> set[str]:
    """Return the attributes that may be the last factor of an expression."""
    found: set[str] = set()
    left = [node]
    while left:
        one = written(context, left.pop(), scope)
        sides = _matrices(one)
        if sides is not None:
            left.append(sides[1])
        elif isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult | ast.Div):
            left += [one.left, one.right]
        elif word := _attribute(one):
            found.add(word)
    return found


def _attribute(node: ast.expr) -> str:
    """Return the attribute of which an expression is the value: ``self.a[...]`` or ``self.a.value``."""
    while True:
        whole = isinstance(node, ast.Subscript) and constant(node.slice) is ...
        if whole or (isinstance(node, ast.Attribute) and node.attr == "value"):
            assert isinstance(node, ast.Subscript | ast.Attribute)
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
            node = node.args[0] if node.func.attr == "asarray" and node.args else node.func.value
        else:
            break
    return node.attr if isinstance(node, ast.Attribute) else ""


_SAME = frozenset({"get_value", "astype", "asarray"})


def _set_elsewhere(context: Context, words: tuple[str, str], made: dict[str, ast.Call]) -> bool:
    """Say whether other code sets one of two attributes."""
    for module in context.project.modules:
        for node in module.source.of_type(ast.Assign):
            if any(_attribute(target) in words for target in node.targets) and node.value not in made.values():
                return True
        if any(_attribute(node.target) in words for node in module.source.of_type(ast.AugAssign)):
            return True
    return False


def _neighbours(context: Context, node: ast.ListComp, scope: Scope) -> list[tuple[str, str]]:
    """Return the names of the two sizes that ``for a, b in zip(sizes[:-1], sizes[1:])`` gives."""
    target, over = node.generators[0].target, written(context, node.generators[0].iter, scope)
    if len(node.generators) != 1 or not isinstance(target, ast.Tuple) or not isinstance(over, ast.Call):
        return []
    cuts = [ast.unparse(one) for one in over.args]
    if last_word(over.func) != "zip" or len(cuts) != 2 or cuts[1] != cuts[0].removesuffix("[:-1]") + "[1:]":
        return []
    return [(ast.unparse(target.elts[0]), ast.unparse(target.elts[1]))] if len(target.elts) == 2 else []


def _zero_layer(context: Context, node: ast.expr, scope: Scope, sizes: tuple[str, str]) -> bool:
    """Say whether an expression is a layer from one size to the next whose weights begin at zero."""
    if in_test(scope) or scope.module.source.once(_otherwise):
        return False
    value = scope.module.values.get(node)
    if not isinstance(node, ast.Call) or not isinstance(value, Call) or len(node.args) < 2:
        return False
    linear = context.flow.calls.callee_name(context.flow.here(value, scope)) == "flax.nnx.Linear"
    given = ast.unparse(node.args[0]), ast.unparse(node.args[1])
    return linear and given == sizes and _begins_at_zero(context, node, scope)


_PLAIN = frozenset({"flax.nnx.Linear", "flax.nnx.LayerNorm", "flax.nnx.BatchNorm", "flax.nnx.Dropout"})


def _begins_at_zero(context: Context, layer: ast.Call, scope: Scope) -> bool:
    """Say whether the kernel of a layer is zero at first."""
    given = keyword(layer, "kernel_init")
    made = resolved(context, given, scope) if given is not None else None
    if made is None or any(k.arg is None for k in layer.keywords):
        return False
    name = made.value.name if isinstance(made.value, Ref) else context.flow.calls.callee_name(made)
    return name in _ZEROS


_ZEROS = frozenset(
    [f"{home}.initializers.{word}" for home in ("jax.nn", "flax.nnx", "flax.linen") for word in ("zeros", "zeros_init")]
)


def _entries(node: ast.Dict) -> list[tuple[str, ast.expr]] | None:
    """Return the entries of a dict; None if a name of one is not known."""
    found = [(constant(key), value) for key, value in zip(node.keys, node.values, strict=True)]
    return [(word, value) for word, value in found if isinstance(word, str)] if all(
        isinstance(word, str) for word, _ in found) else None  # fmt: skip


def _found(scope: Scope, node: ast.expr) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        "all weights begin at zero: the units of a layer stay equal, and the layers before it learn nothing",
        "draw the weights: jax.random.normal(key, shape) / jnp.sqrt(shape[0]); only biases may begin at zero",
    )


def _ours(scope: Scope) -> bool:
    source = scope.module.source
    return source.mentions(b"grad(") and not in_test(scope) and not source.once(_otherwise)


def _otherwise(source: Source) -> bool:
    """Say whether a file's words tell that weights of zero are meant, or are filled with others later."""
    text = source.data.lower()
    return any(word in text for word in _OTHERWISE)


def _kept(context: Context, scope: Scope, node: ast.expr) -> bool:
    """Say whether an expression makes what a model learns, by the names of what gets it."""
    name = scope.function.name if scope.function is not None else ""
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.Assign) and one.value is node:
            names = [last_word(target) for target in one.targets]
            return any(_NAMED.search(word) and not _NOT_LEARNED.search(word) for word in names)
        if isinstance(one, ast.Return) and one.value is node:
            return _NAMED.search(name) is not None and not _NOT_LEARNED.search(name)
    return False


def _zero_matrix(node: ast.expr) -> tuple[str, str] | None:
    """Return the two sizes of a matrix of zeros."""
    if not isinstance(node, ast.Call) or last_word(node.func) != "zeros" or not node.args:
        return None
    shape = node.args[0]
    if not isinstance(shape, ast.Tuple) or len(shape.elts) != 2 or constant(shape.elts[0]) == 1:
        return None
    return ast.unparse(shape.elts[0]), ast.unparse(shape.elts[1])


def _linked(entries: list[tuple[str, ast.expr]] | None) -> ast.expr | None:
    """Return the first of two layers of zeros, if there are no other weights."""
    found: list[tuple[ast.expr, tuple[str, str]]] = []
    for word, value in entries or ():
        if isinstance(value, ast.Call) and last_word(value.func) in {"zeros", "ones"}:
            sizes = _zero_matrix(value)
            if sizes is not None and _WEIGHT.search(word):
                found.append((value, sizes))
        else:
            return None
    for one, (_, width) in found:
        if any(one is not other and first == width for other, (first, _) in found):
            return one
    return None


def _of_sizes(node: ast.ListComp) -> ast.expr | None:
    """Return the matrix of zeros of each layer, where a list has one for each two sizes that follow each other."""
    if len(node.generators) != 1:
        return None
    target, over = node.generators[0].target, node.generators[0].iter
    if not isinstance(target, ast.Tuple) or not isinstance(over, ast.Call) or last_word(over.func) != "zip":
        return None
    cuts = [ast.unparse(one) for one in over.args]
    if len(cuts) != 2 or not cuts[0].endswith("[:-1]") or cuts[1] != cuts[0].replace("[:-1]", "[1:]"):
        return None
    calls = [n for n in ast.walk(node.elt) if isinstance(n, ast.Call)]
    if any(last_word(call.func) not in {"zeros", "ones"} for call in calls):
        return None
    sizes = tuple(ast.unparse(one) for one in target.elts)
    return next((call for call in calls if _zero_matrix(call) == sizes), None)


_BAD = """\
import jax
import jax.numpy as jnp


def init_params(width, hidden):
    return {
        "w1": jnp.zeros((width, hidden)),
        "b1": jnp.zeros(hidden),
        "w2": jnp.zeros((hidden, 1)),
    }


def loss_fn(params, x, y):
    hidden = jnp.tanh(x @ params["w1"] + params["b1"])
    return jnp.mean((hidden @ params["w2"] - y) ** 2)


params = init_params(2, 8)
grads = jax.grad(loss_fn)(params, jnp.ones((4, 2)), jnp.ones((4, 1)))
"""

RULE = lint_rule(
    "NNX989",
    "zero-weights",
    "a network of several layers whose weights all begin at zero",
    why="""\
The gradient of each layer is a product with the weights of the next, and with what the one before gives. Where all are
zero, so are all gradients but those of the last bias, for ever. A model with one layer may begin at zero, and the last
layer may, or one of the two matrices of a low rank.
""",
    source="Goodfellow et al. 2016, section 8.4; measured: the gradients of all weights are 0",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.zeros((width, hidden))", "jax.random.normal(jax.random.key(0), (width, hidden))"),),
)

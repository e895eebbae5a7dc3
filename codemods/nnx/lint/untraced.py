"""What a transform leaves as it is of the parameters of a function: static ones, and those that it does not map."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from codemods.nnx.facts import FunctionFacts
from codemods.nnx.lint.names import last
from codemods.nnx.lint.syntax import constant, is_none, keyword, several
from codemods.nnx.nodes import last_word

_STATIC = frozenset({"jit", "pmap", "remat", "checkpoint"})  # transforms whose options may say what is static
# where transforms take the axes or the specs of arguments, by position behind the function
_AXES = {"vmap": ("in_axes", 1), "pmap": ("in_axes", 2), "scan": ("in_axes", -1), "shard_map": ("in_specs", 2)}
_OPEN = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp)  # what may be None


@dataclass(frozen=True)
class Untraced:
    """The parameters that a transform leaves as they are: all of them, those declared static, and those of no axis."""

    names: frozenset[str]
    declared: frozenset[str] = frozenset()
    unmapped: frozenset[str] = frozenset()


def untraced(
    function: FunctionFacts, name: str, options: ast.Call | None, skipped: int, given: frozenset[str]
) -> Untraced:
    """Return the parameters that a transform does not trace.

    Args:
        function: the function.
        name: the transform.
        options: the call with its options.
        skipped: how many first parameters are bound before, ``self`` of a bound method among them.
        given: parameters that are bound before by name.
    """
    params = list(function.params)
    known = {*params[:skipped], *given}
    if options is None:
        return Untraced(frozenset(known))
    rest = [param for param in params[skipped:] if param not in given]
    if last(name) in _STATIC and any(k.arg is None for k in options.keywords):
        handed = _handed_on(function)
        declared = None if handed is None else _declared(handed, params[skipped:])
    else:
        declared = _excluded(options, rest) if last(name) == "vectorize" else _declared(options, params[skipped:])
    axes = _axes(name, options)
    if declared is None or (axes is not None and _unreadable(axes)):
        return Untraced(frozenset(params))  # rather nothing than something wrong
    unmapped = frozenset(_left_alone(axes, rest) if axes is not None else ())
    if axes is not None:
        known |= unmapped | _behind(axes, rest, function)
    return Untraced(frozenset(known | declared), frozenset(declared), unmapped)


def registered(function: FunctionFacts, decorator: ast.expr) -> bool:
    """Say whether a decorator compiles a function that one below it registers as it is: ``@jax.jit`` over
    ``@area.register(dict)``. Who calls ``area`` gets the plain function; nothing calls what is compiled by its name.

    Args:
        function: the function.
        decorator: the one of its decorators that applies a transform.
    """
    decorators = getattr(function.node, "decorator_list", [])
    if decorator not in decorators:
        return False
    below = [one.func if isinstance(one, ast.Call) else one for one in decorators[decorators.index(decorator) + 1 :]]
    if not any(isinstance(one, ast.Attribute) and one.attr in {"dispatch", "register"} for one in below):
        return False
    calls = function.scope.module.source.of_type(ast.Call)
    return (
        not any(
            isinstance(call.func, ast.Name) and call.func.id == function.name and call not in decorators
            for call in calls
        )
        or function.name == "_"
    )


def _handed_on(function: FunctionFacts) -> ast.Call | None:
    """Return the decorator whose options a wrapper hands on to a transform: ``jax.jit(f, **kwargs)``; None if no
    decorator tells of them."""
    decorators = getattr(function.node, "decorator_list", [])
    called = [one for one in decorators if isinstance(one, ast.Call)]
    if len(decorators) != 1:
        return None
    return called[0] if called else ast.Call(func=decorators[0], args=[], keywords=[])


def _declared(options: ast.Call, rest: list[str]) -> set[str] | None:
    """Return the parameters that options declare static; None if they cannot be read."""
    found: set[str] = set()
    for word in ("static_argnums", "static_broadcasted_argnums"):
        node = keyword(options, word)
        numbers = constant(node)
        if node is not None and numbers is None and not is_none(node):
            return None
        for number in several(numbers):
            if isinstance(number, int) and -len(rest) <= number < len(rest):
                found.add(rest[number])
    node = keyword(options, "static_argnames")
    names = constant(node)
    if node is not None and names is None and not is_none(node):
        return None
    return found | {name for name in several(names) if isinstance(name, str)}


def _excluded(options: ast.Call, rest: list[str]) -> set[str] | None:
    """Return the parameters that ``vectorize`` hands on as they are; None if what says so cannot be read."""
    node = keyword(options, "excluded")
    if node is None and len(options.args) > 1:
        node = options.args[1]
    if node is None:
        return set()
    if isinstance(node, ast.Call) and len(node.args) < 2 and last_word(node.func) in {"set", "frozenset"}:
        node = node.args[0] if node.args else ast.Tuple(elts=[])
    if not isinstance(node, ast.Set | ast.Tuple | ast.List):
        return None
    places = [constant(one) for one in node.elts]
    if not all(isinstance(one, int | str) for one in places):
        return None
    numbered = {rest[one] for one in places if isinstance(one, int) and 0 <= one < len(rest)}
    return numbered | {one for one in places if isinstance(one, str)}


def _axes(name: str, options: ast.Call) -> ast.expr | None:
    """Return what a transform is told about the axes of its arguments."""
    if last(name) not in _AXES:
        return None
    word, position = _AXES[last(name)]
    given = keyword(options, word)
    if given is None and not name.startswith("flax.") and 0 < position < len(options.args):
        return options.args[position]
    return given


def _unreadable(axes: ast.expr) -> bool:
    """Say whether what is said of the axes may leave any argument alone."""
    if isinstance(axes, ast.Tuple | ast.List):
        return any(isinstance(axis, ast.Starred) for axis in axes.elts)
    if isinstance(axes, ast.Call) and last_word(axes.func) in {"tuple", "list"}:
        return True
    return isinstance(axes, ast.Name | ast.Attribute | ast.Subscript | ast.BinOp | ast.IfExp)


def _left_alone(axes: ast.expr, params: list[str]) -> set[str]:
    """Return the parameters whose axis is None, or may be."""
    if is_none(axes):
        return set(params)
    if not isinstance(axes, ast.Tuple | ast.List):
        return set()
    return {
        param
        for param, axis in zip(params, axes.elts, strict=False)
        if is_none(axis)
        or (isinstance(axis, _OPEN) and "Carry" not in {getattr(axis, "id", ""), _attr(axis)})
        or _partly(axis)
    }


def _behind(axes: ast.expr, params: list[str], function: FunctionFacts) -> set[str]:
    """Return the parameters behind all that axes are given for, which have no default: something binds them before."""
    if not isinstance(axes, ast.Tuple | ast.List) or not axes.elts:
        return set()
    positional = [*function.params][: function.positional]
    return {param for param in params[len(axes.elts) :] if param in positional and param not in function.defaults}


def _partly(axis: ast.expr) -> bool:
    """Say whether the axes of a tree leave some of its leaves alone, or may: ``State(0, None)``."""
    if isinstance(axis, ast.Call) and last_word(axis.func) == "StateAxes":
        return False  # the object is traced whatever becomes of its Variables
    return isinstance(axis, ast.Call | ast.Dict | ast.Tuple | ast.List) and any(map(is_none, _nodes(axis)))


def _nodes(node: ast.expr) -> Iterator[ast.expr]:
    return (one for one in ast.walk(node) if isinstance(one, ast.expr))


def _attr(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""

"""NNX828: misspelled options of jit, and static arguments that the function does not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.known import TRANSPARENT
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import COMPILING
from codemods.nnx.lint.places import compiled_roots, foreign, shown
from codemods.nnx.lint.syntax import constant, keyword, several
from codemods.nnx.lint.traced import Root
from codemods.nnx.values import Call, Ref

_OPTIONS = frozenset(
    {"static_argnums", "static_argnames", "donate_argnums", "donate_argnames", "in_shardings", "out_shardings",
     "device",
     "backend", "inline", "keep_unused", "compiler_options", "abstracted_axes", "fun", "in_axis_resources",
     "out_axis_resources", "static_broadcasted_argnums", "axis_name", "axis_size", "in_axes", "out_axes", "devices",
     "global_arg_shapes", "spmd_axis_name", "graph", "graph_updates", "propagate_updates", "f"}
)  # fmt: skip


# what is written for an option whose name is longer
_MEANT = {
    "donate": ["donate_argnums"],
    "donate_args": ["donate_argnums"],
    "donate_names": ["donate_argnames"],
    "static": ["static_argnums"],
    "static_names": ["static_argnames"],
    "statics": ["static_argnums"],
}


def _check(context: Context) -> Iterator[Finding]:
    for event, name in foreign(context, "jit", "pmap", "partial"):
        if name == "functools.partial":
            first = event.value.args[0] if event.value.args else None
            target = context.flow.follow(context.flow.here(event.value, event.scope), first).value if first else None
            name = getattr(target, "name", "")
        if name not in COMPILING:
            continue
        for word in event.node.keywords:
            if word.arg is None or word.arg in _OPTIONS:
                continue
            import difflib  # dear, and only needed here

            close = difflib.get_close_matches(word.arg, sorted(_OPTIONS), 1, 0.8) or _MEANT.get(word.arg, [])
            if close:
                source = event.scope.module.source
                start = source.offset(word.lineno, word.col_offset)
                edit = Edit(start, start + len(word.arg.encode()), close[0].encode())
                yield finding(
                    RULE.code,
                    event.scope,
                    word,
                    f"{name} has no option `{word.arg}`",
                    f"write {close[0]}",
                    Fix(((source.path, edit),)),
                )
    roots = [*compiled_roots(context)]
    for root in roots:
        if _abstract(root):
            continue  # another class has the function that is meant
        if any(one.node is root.node and one.function is not root.function for one in roots):
            continue  # one of several, of which the options may be those of another one
        if _wrapped(context, root):
            continue  # and other arguments, perhaps
        yield from _numbers(root)
        for option in ("static_argnames", "donate_argnames"):
            yield from _names(root, option)


def _wrapped(context: Context, root: Root) -> bool:
    """Say whether a decorator of the project, or of a library, stands between a function and jit."""
    node = root.function.node
    if not root.decorator or isinstance(node, ast.Lambda):
        return False
    behind = [
        value
        for decorator, value in zip(node.decorator_list, root.function.decorators, strict=True)
        if decorator.lineno > getattr(root.node, "lineno", 0)
    ]
    scope = root.function.scope.parent or root.scope
    for value in behind:
        found = context.flow.resolve(context.flow.here(value, scope))
        name = found.value.name if isinstance(found.value, Ref) else ""
        if isinstance(found.value, Call):
            name = context.flow.calls.wrapper_name(found, found.value)
            name = name or context.flow.calls.callee_name(found)
        if name not in TRANSPARENT:
            return True
    return False


def _abstract(root: Root) -> bool:
    """Say whether a method only stands for those of other classes."""
    body = root.function.node.body
    return (
        root.function.owner is not None
        and isinstance(body, list)
        and all(isinstance(s, ast.Raise | ast.Pass) or _text(s) for s in body)
    )


def _text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _names(root: Root, word: str) -> Iterator[Finding]:
    """Yield names of arguments that the function does not have."""
    node = keyword(root.options, word) if root.options is not None else None
    names = constant(node)
    if node is None or names is None or root.function.kwarg is not None:
        return
    for one in several(names):
        if isinstance(one, str) and one not in root.function.params:
            what = "static" if word.startswith("static") else "donated"
            yield finding(
                RULE.code,
                root.scope,
                node,
                f"{shown(root.function)} has no parameter `{one}` that could be {what}",
                "name one of its parameters",
            )


def _numbers(root: Root) -> Iterator[Finding]:
    """Yield numbers of arguments beyond those that the function takes by position."""
    function = root.function
    if root.options is None or function.vararg is not None or root.partial:
        return
    count = function.positional - root.bound
    for word in ("static_argnums", "donate_argnums"):
        node = keyword(root.options, word)
        numbers = constant(node)
        if node is None or numbers is None:
            continue
        beyond = [str(one) for one in several(numbers) if type(one) is int and not -count <= one < count]
        if beyond:
            yield finding(
                RULE.code,
                root.scope,
                node,
                f"{shown(function)} takes {count} positional arguments, and {word} asks for number "
                + " and ".join(beyond),
                "count from 0",
            )


RULE = lint_rule(
    "NNX828",
    "jit-options",
    "a misspelled option of jit, or a static argument that does not exist",
    why="""\
An unknown option raises a TypeError, and so does a name in `static_argnames` that is no parameter of the function.
""",
    source="JAX tutorial, which writes `static_argnum`; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    severity="error",
    check=_check,
    mended=(
        (
            """\
import jax

double = jax.jit(lambda x, n: x * n, static_argnum=1)
""",
            """\
import jax

double = jax.jit(lambda x, n: x * n, static_argnums=1)
""",
        ),
    ),
    safety=Safety.SAFE,
)

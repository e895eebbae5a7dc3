"""NNX753: functions made in a loop that all see its last round."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.origins import named
from codemods.nnx.lint.places import each
from codemods.nnx.lint.syntax import inside
from codemods.nnx.nodes import last_word


def _check(context: Context) -> Iterator[Finding]:
    for scope, node in each(context, ast.ListComp, ast.DictComp, ast.For):
        if isinstance(node, ast.ListComp | ast.DictComp):
            made = _inner(node.elt if isinstance(node, ast.ListComp) else node.value)
            names = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            late = _late(made, names) if isinstance(made, ast.Lambda) else ""
            if late and isinstance(made, ast.Lambda):
                yield _found(scope, made, late)
        elif isinstance(node, ast.For):
            names = {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            for function, kept in _kept(node):
                late = _late(function, names)
                if late and not _read(context.bodies.nodes(scope), kept, node) and not _left(scope, kept):
                    yield _found(scope, function, late)


def _found(scope: Scope, made: ast.Lambda | ast.FunctionDef, name: str) -> Finding:
    return finding(
        RULE.code,
        scope,
        made,
        f"every function of the loop sees the `{name}` of the last round",
        f"give it as a default, `{name}={name}`, or by functools.partial",
    )


def _late(made: ast.Lambda | ast.FunctionDef, names: set[str]) -> str:
    """Return a variable of the loop that a function reads when it is called; empty if there is none."""
    args = made.args
    own = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if a is not None}
    body = [made.body] if isinstance(made, ast.Lambda) else made.body
    inner = [n for part in body for n in ast.walk(part)]
    own |= {n.id for n in inner if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    own |= {a.arg for n in inner if isinstance(n, ast.arguments) for a in (*n.args, *n.kwonlyargs, *n.posonlyargs)}
    return next((n.id for n in inner if isinstance(n, ast.Name) and n.id in names - own), "")


def _inner(made: ast.expr | None) -> ast.expr | None:
    """Return the function behind transforms that keep it for later, as in ``jax.jit(jax.grad(f))``."""
    while isinstance(made, ast.Call) and last_word(made.func) in _KEEPING and made.args:
        made = made.args[0]
    return made


_KEEPING = frozenset({"jit", "grad", "value_and_grad", "vmap", "pmap", "checkpoint", "remat", "jacfwd", "jacrev"})


def _kept(loop: ast.For) -> Iterator[tuple[ast.Lambda | ast.FunctionDef, str]]:
    """Yield the functions that the rounds of a loop put into a list or dict, and its name."""
    defined = {n.name: n for n in loop.body if isinstance(n, ast.FunctionDef) and not n.decorator_list}
    for statement in loop.body:
        value: ast.expr | None = None
        kept = ""
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            func = statement.value.func
            if isinstance(func, ast.Attribute) and func.attr == "append" and named(func.value):
                value, kept = next(iter(statement.value.args), None), ast.unparse(func.value)
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            if named(statement.targets[0].value):
                value, kept = statement.value, ast.unparse(statement.targets[0].value)
        value = _inner(value)
        if isinstance(value, ast.Lambda):
            yield value, kept
        elif isinstance(value, ast.Name) and value.id in defined:
            yield defined[value.id], kept


def _read(nodes: tuple[ast.AST, ...], name: str, loop: ast.For) -> bool:
    """Say whether a list is made or read in the round that puts a function into it."""
    stores = {n.func.value for n in ast.walk(loop) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
              and n.func.attr == "append"}  # fmt: skip
    stores |= {n.targets[0].value for n in ast.walk(loop) if isinstance(n, ast.Assign)
               and isinstance(n.targets[0], ast.Subscript)}  # fmt: skip
    return any(
        isinstance(n, ast.Name | ast.Attribute | ast.Subscript)
        and n not in stores
        and inside(n, loop)
        and ast.unparse(n) == name
        for n in nodes
    )


def _left(scope: Scope, name: str) -> bool:
    """Say whether nothing reads a list: it is only begun, and gets the functions."""
    if not name.isidentifier():
        return False
    source = scope.module.source
    stores = {n.func.value for n in source.of_type(ast.Call) if isinstance(n.func, ast.Attribute)
              and n.func.attr == "append"}  # fmt: skip
    stores |= {n.targets[0].value for n in source.of_type(ast.Assign) if isinstance(n.targets[0], ast.Subscript)}
    loads = [n for n in source.of_type(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return scope.module.source.notebook and all(n in stores for n in loads)


RULE = lint_rule(
    "NNX753",
    "late-binding",
    "functions put into a list in a loop read its variable",
    why="""\
A function looks its outer variables up when it is called. By the time `jax.lax.switch` runs the branches, or a chain
its layers, the loop is over, and all of them see the value of the last round.
""",
    source="Python FAQ; Stack Overflow on branches of lax.switch that are all the same; measured: the same results",
    check=_check,
    bad=(
        """\
import jax

scales = [1.0, 10.0, 100.0]
branches = [lambda x: x * scale for scale in scales]


def scaled(i, x):
    return jax.lax.switch(i, branches, x)
""",
    ),
    clean=(
        """\
import jax

scales = [1.0, 10.0, 100.0]
branches = [lambda x, scale=scale: x * scale for scale in scales]


def scaled(i, x):
    return jax.lax.switch(i, branches, x)
""",
    ),
)

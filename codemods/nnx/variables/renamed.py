"""NNX411: ``nnx.VariableState`` became ``nnx.Variable``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.imports import spell
from codemods.nnx.rewrite import replace
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.values import Ref
from codemods.nnx.variables.mixed import mixed
from codemods.nnx.variables.references import references, type_compared
from codemods.nnx.variables.told_apart import live_tests, told_apart


def check(context: Context) -> Iterator[Finding]:
    """Yield a finding for every mention of the class, except where it is called and where it is told from Variable."""
    if not context.options.crosses("0.11"):
        return
    if "0.10" in context.options.targets and "0.12" not in context.options.targets:
        return  # 0.11 has the name as an alias, and 0.10 has no other
    for module in context.asked.modules:
        yield from _by_name(context, module)
        mentioned = list(references(context, module))
        if mentioned:
            yield from _module(context, module, mentioned)


def _module(
    context: Context, module: ModuleFacts, mentioned: list[tuple[ast.Name | ast.Attribute, Scope]]
) -> Iterator[Finding]:
    asking = [test for pair in told_apart(context, module) for test in pair]
    asking += [one.test for one in mixed(context, module)]
    asking += live_tests(context, module)
    kept = {node for test in asking for node in ast.walk(test.node)}
    parents = {child: node for node in ast.walk(module.source.tree) for child in ast.iter_child_nodes(node)}
    both = "0.10" in context.options.targets
    renamed: list[tuple[ast.Name | ast.Attribute, Scope, ast.Compare | str | None, list[Edit] | None]] = []
    for node, scope in mentioned:
        parent = parents.get(node)
        if node in kept or (isinstance(parent, ast.Call) and parent.func is node):
            continue
        exact = _exact(node, parents)
        edits = None if both or exact is _KEPT else _renamed(context, scope, node, parents, exact)
        renamed.append((node, scope, exact, edits))
    imports = _imports(module, whole=len(renamed) == len(mentioned) and not both)
    for node, scope, exact, edits in renamed:
        path = module.source.path
        yield finding(
            "NNX411",
            scope,
            node,
            _MESSAGE,
            _help(both, exact),
            Fix(tuple((path, edit) for edit in (*edits, *imports))) if edits is not None else None,
        )


def _by_name(context: Context, module: ModuleFacts) -> Iterator[Finding]:
    """Yield ``type(x).__name__ == "VariableState"`` and the like."""
    for node in module.source.of_type(ast.Compare) if module.source.mentions(b"VariableState") else ():
        sides = [node.left, *node.comparators]
        if any(isinstance(n, ast.Constant) and n.value == "VariableState" for n in sides) and any(
            isinstance(n, ast.Attribute) and n.attr in {"__name__", "__qualname__"} for n in sides
        ):
            yield finding("NNX411", module.scope, node, _MESSAGE, _help(False, _KEPT))


_MESSAGE = "states hold Variables since Flax 0.11; VariableState is another name for Variable, and goes away"
_KEPT = "compared"


def _exact(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> ast.Compare | str | None:
    """Return the comparison of ``type(x)`` with a mention; :data:`_KEPT` where exactly this class counts otherwise.

    The leaves are of subclasses of Variable since 0.11, so that the class itself is that of none.
    """
    parent = parents.get(node)
    if isinstance(parent, ast.Compare) and type_compared(parent) is not None:
        return parent
    if isinstance(parent, ast.Tuple | ast.List | ast.Set):
        node, parent = parent, parents.get(parent)
        if isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.In | ast.NotIn):
            return _KEPT
        return None
    if isinstance(parent, ast.Compare) or (isinstance(parent, ast.Dict) and node in parent.keys):
        return _KEPT
    return None


def _help(both: bool, exact: ast.Compare | str | None) -> str:
    if exact is not None:
        return "the class of a leaf is nnx.Param or another subclass now: write isinstance(x, nnx.Variable)"
    return 'write getattr(nnx, "VariableState", nnx.Variable)' if both else "write nnx.Variable"


def _renamed(
    context: Context,
    scope: Scope,
    node: ast.Name | ast.Attribute,
    parents: dict[ast.AST, ast.AST],
    exact: ast.Compare | str | None,
) -> list[Edit] | None:
    """Return the edits of one mention; a tuple or union with ``Variable`` itself shrinks."""
    source = scope.module.source
    if isinstance(exact, ast.Compare):
        compared = type_compared(exact)
        assert compared is not None
        subject, _ = compared
        text = source.text(node)
        if isinstance(node, ast.Attribute):
            text = text.removesuffix("VariableState") + "Variable"
        elif text == "VariableState":
            spelled = spell(context.flow, scope, "Variable")
            if spelled is None:
                return None
            text = "Variable"
        negated = "not " if isinstance(exact.ops[0], ast.IsNot | ast.NotEq) else ""
        if not source.faithful(exact):
            return None
        return [replace(source, exact, f"{negated}isinstance({source.text(subject)}, {text})")]
    if isinstance(node, ast.Name) and node.id != "VariableState":
        return []  # an alias: its import changes
    spelling = spell(context.flow, scope, "Variable")
    if spelling is None:
        return None
    parent = parents.get(node)
    if isinstance(parent, ast.Tuple) and len(parent.elts) == 2:
        other = next(e for e in parent.elts if e is not node)
        if _is_variable(context, scope, other):
            start, end = source.span(parent)
            return [Edit(start, end, source.text(other).encode())]
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.BitOr):
        other = parent.right if parent.left is node else parent.left
        if _is_variable(context, scope, other):
            return [replace(source, parent, source.text(other))]
    if isinstance(node, ast.Attribute):
        _, end = source.span(node)
        return [Edit(end - len("VariableState"), end, b"Variable")]
    return [replace(source, node, "Variable")]


def _is_variable(context: Context, scope: Scope, node: ast.expr) -> bool:
    value = scope.module.values.get(node)
    if value is None:
        return False
    if isinstance(node, ast.Attribute):
        value = context.flow.classes.spelled(node, scope)
    return context.flow.resolve(context.flow.here(value, scope)).value == Ref("flax.nnx.Variable")


def _imports(module: ModuleFacts, whole: bool) -> list[Edit]:
    """Return edits of the imports of the name: it is replaced if no mention stays, else ``Variable`` is added."""
    edits = []
    for node in module.imports:
        if not isinstance(node, ast.ImportFrom):
            continue
        present = any(alias.name == "Variable" and alias.asname is None for alias in node.names)
        for alias in node.names:
            if alias.name != "VariableState":
                continue
            start, _ = module.source.span(alias)
            end = start + len("VariableState")
            if alias.asname is not None or (whole and not present):
                edits.append(Edit(start, end, b"Variable"))
            elif not present:
                edits.append(Edit(start, start, b"Variable, "))
    return edits


RULE = Rule(
    code="NNX411",
    name="variable-state",
    summary="nnx.VariableState, which is nnx.Variable since 0.11",
    why="""\
Up to Flax 0.10 the leaves of a state were `VariableState` objects. Since 0.11 they are the Variables themselves; the
old name is an alias that 0.12 keeps with a warning. In annotations, `isinstance` and `is_leaf` the new name means the
same.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.11.0",
    source="Flax 0.11 release notes",
    examples=(
        Example(
            before="""\
import jax
from flax import nnx

state = nnx.state(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))
names = jax.tree.map(lambda v: v.value.ndim, state, is_leaf=lambda x: isinstance(x, nnx.VariableState))
print(names["kernel"], names["bias"])
""",
            after="""\
import jax
from flax import nnx

state = nnx.state(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))
names = jax.tree.map(lambda v: v.value.ndim, state, is_leaf=lambda x: isinstance(x, nnx.Variable))
print(names["kernel"], names["bias"])
""",
            targets=("0.11", "0.12"),
        ),
    ),
    check=check,
    always=True,
)

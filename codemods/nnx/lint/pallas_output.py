"""NNX995: a kernel of Pallas that adds to an output which it never sets."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.flow.calls import Callee
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, shown
from codemods.nnx.lint.syntax import argument, keyword
from codemods.nnx.lint.traced import free_params
from codemods.nnx.nodes import last_word

_STATIC = frozenset({"shape", "dtype", "ndim", "size"})


def _check(context: Context) -> Iterator[Finding]:
    seen: set[ast.AST] = set()
    for event, name in foreign(context, "pallas_call"):
        kernel = event.value.argument(0, "kernel")
        if name != "jax.experimental.pallas.pallas_call" or kernel is None or event.value.starred:
            continue
        aliases = keyword(event.node, "input_output_aliases")
        if aliases is not None and not (isinstance(aliases, ast.Dict) and not aliases.keys):
            continue
        for source in context.sources.originals(context.flow.here(kernel, event.scope)):
            for called in context.flow.calls.callables(source):
                function = called.function
                for ref in _outputs(called, event.node) if function.scope.module in context.asked else ():
                    added = _added(function, ref)
                    if added is not None and added not in seen:
                        seen.add(added)
                        yield _found(function, ref, added)


def _found(function: FunctionFacts, ref: str, added: ast.stmt) -> Finding:
    return finding(
        RULE.code,
        function.scope,
        added,
        f"{shown(function)} adds to `{ref}` and never sets it: it begins with whatever the memory holds",
        f"begin with zeros in the first round of the sum, under @pl.when: {ref}[...] = jnp.zeros_like({ref})",
    )


def _outputs(kernel: Callee, call: ast.Call) -> list[str]:
    """Return the parameters of a kernel that are outputs or scratch memory for certain: the last one at least."""
    function = kernel.function
    if function.vararg is not None:
        return []
    positional = list(function.params)[: function.positional]
    refs = [name for name in free_params(kernel) if name in positional]
    specs = keyword(call, "in_specs")
    if isinstance(specs, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in specs.elts):
        if keyword(call, "grid_spec") is None and len(specs.elts) < len(refs):
            return refs[len(specs.elts) :]
    return [name for place, name in enumerate(refs, 1) if place == len(refs) or name.startswith(("o_", "out"))]


def _added(function: FunctionFacts, ref: str) -> ast.stmt | None:
    """Return the first statement of a kernel that adds to a reference, if nothing in it may set that."""
    added: list[ast.stmt] = []
    known: set[ast.AST] = set()  # names of the reference whose use is understood
    made = _bound_once(function)
    for node in ast.walk(function.node):
        if isinstance(node, ast.AugAssign) and _part(node.target, ref):
            added.append(node)
        elif isinstance(node, ast.Assign) and any(_part(target, ref) for target in node.targets):
            value = made.get(node.value.id, node.value) if isinstance(node.value, ast.Name) else node.value
            if not _sums(value, ref):
                return None
            added.append(node)
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _STATIC):
            known.add(node.value)
        elif isinstance(node, ast.Call) and last_word(node.func) == "load":
            known.update(node.args[:1])
    names = (n for n in ast.walk(function.node) if isinstance(n, ast.Name) and n.id == ref)
    if not added or any(name not in known for name in names):
        return None
    stored = sum(
        isinstance(n, ast.Subscript) and _part(n, ref) and isinstance(n.ctx, ast.Store) for n in ast.walk(function.node)
    )
    return min(added, key=lambda one: one.lineno) if stored == len(added) else None


def _bound_once(function: FunctionFacts) -> dict[str, ast.expr]:
    """Return the variables of a kernel that one assignment gives their value, with that."""
    stores = Counter(n.id for n in ast.walk(function.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return {
        target.id: node.value
        for node in ast.walk(function.node)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and stores[target.id] == 1
    }


def _part(node: ast.expr, ref: str) -> bool:
    """Say whether an expression is what a reference holds, or a part of that."""
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == ref


def _sums(node: ast.expr, ref: str) -> bool:
    """Say whether an expression is a sum or product of what a reference holds and something else."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
        return False
    return any(_part(side, ref) or _read(side, ref) or _sums(side, ref) for side in (node.left, node.right))


def _read(node: ast.expr, ref: str) -> bool:
    """Say whether an expression is ``pl.load`` of a reference."""
    given = argument(node, 0, "x_ref_or_view") if isinstance(node, ast.Call) else None
    return last_word(getattr(node, "func", None)) == "load" and isinstance(given, ast.Name) and given.id == ref


_BAD = """\
import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, o_ref):
    o_ref[...] += x_ref[...]


def total(x):
    return pl.pallas_call(
        kernel,
        grid=(x.shape[0] // 8,),
        in_specs=[pl.BlockSpec((8,), lambda i: (i,))],
        out_specs=pl.BlockSpec((8,), lambda i: (0,)),
        out_shape=jax.ShapeDtypeStruct((8,), jnp.float32),
    )(x)
"""

RULE = lint_rule(
    "NNX995",
    "pallas-output-not-set",
    "a kernel of Pallas adds to an output that it never sets",
    why="""\
The memory of an output, and of what `scratch_shapes` asks for, is not set before a kernel of `pl.pallas_call` runs: it
holds whatever was there, and NaN where the kernel is interpreted. A sum over an axis of the grid has to begin in its
first round: `@pl.when(pl.program_id(axis) == 0)` above a function that writes zeros. With `input_output_aliases` an
output begins with the input.
""",
    source="JAX documentation on Pallas, reductions and accumulation; measured on JAX 0.6.2, 0.7.2 and 0.10.2: NaN",
    severity="error",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "    o_ref[...] +=",
            "    @pl.when(pl.program_id(0) == 0)\n    def _():\n        o_ref[...] = jnp.zeros_like(o_ref)\n\n"
            "    o_ref[...] +=",
        ),
    ),
)

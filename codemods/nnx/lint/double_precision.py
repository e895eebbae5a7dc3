"""NNX917: types of 64 bits without the 64-bit mode of JAX."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.callback_result import wide_declared
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.narrow_mode import holds_tests, may_stay_narrow
from codemods.nnx.lint.syntax import constant, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.places import once
from codemods.nnx.values import Ref

_WIDE = frozenset({"float64", "int64", "uint64", "complex128"})
_KEYWORDS = frozenset({"dtype", "param_dtype", "preferred_element_type"})


# what makes arrays of a type that may be given by its place
_MAKING = frozenset(
    {"array", "asarray", "zeros", "ones", "empty", "full", "arange", "eye", "zeros_like", "ones_like", "full_like",
     "normal", "uniform"}
)  # fmt: skip


def _check(context: Context) -> Iterator[Finding]:
    if not context.shared(may_stay_narrow):
        return
    yield from once(context.project, _asked_for(context))  # one setting mends them all


def _asked_for(context: Context) -> Iterator[Finding]:
    """Yield the types of 64 bits that are asked for."""
    for event in context.asked.calls():
        if holds_tests(event.scope.module):
            continue  # the mode may be set where tests are configured, or by what they import by its name
        for argument in _types(context, event):
            if event.node in context.shared(wide_declared):
                break  # an error, of which NNX675 tells
            word = _wide(context, argument, event)
            if word and (not word.endswith("int64") or _large(event)):
                yield finding(
                    RULE.code,
                    event.scope,
                    argument,
                    f"without 64-bit mode JAX gives {word.replace('64', '32').replace('128', '64')} for {word}",
                    'write the smaller type, or call jax.config.update("jax_enable_x64", True) first',
                )
                break


_NUMBERS = pattern(r"(^|_)(hash\w*|times?|timestamps?|nanos(econds)?|ns|microseconds|bits|addresses)(_|$)")
_FIT = 2**31  # what 32 bits hold


def _large(event: CallEvent) -> bool:
    """Say whether whole numbers may be too large for 32 bits, by what is written in the call or by their names."""
    for node in ast.walk(event.statement):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and abs(node.value) >= _FIT:
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
            return True
        if isinstance(node, ast.Name | ast.Attribute) and _NUMBERS.search(last_word(node).lower()):
            return True
        if isinstance(node, ast.Dict):  # {"timestamp": jnp.asarray(column, jnp.int64)}
            keys = [key for key, one in zip(node.keys, node.values, strict=True) if one is event.node]
            if any(isinstance(text := constant(key), str) and _NUMBERS.search(text.lower()) for key in keys):
                return True
    read = (constant(n.slice) for n in ast.walk(event.node) if isinstance(n, ast.Subscript))
    return any(isinstance(text, str) and _NUMBERS.search(text.lower()) for text in read)


def _types(context: Context, event: CallEvent) -> list[ast.expr]:
    """Return the arguments of a call that are types of arrays of JAX."""
    node = event.node
    named = [k.value for k in node.keywords if k.arg in _KEYWORDS]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
        value = event.scope.module.values.get(node.func.value)
        known = value is not None and context.kinds.only(context.flow.here(value, event.scope)) is Kind.ARRAY
        known = known and not _of_integers(context, event, node.func.value)
        return [*node.args[:1], *named] if known else []
    placed = [n for n in node.args[1:] if last_word(n) in _WIDE or (isinstance(n, ast.Constant) and n.value in _WIDE)]
    if placed and last_word(node.func) in _MAKING:
        named = [*named, *placed]
    if not named:
        return []
    name = context.flow.calls.name(event)
    return named if name.startswith(("jax.", "flax.nnx.")) else []


def _of_integers(context: Context, event: CallEvent, array: ast.expr) -> bool:
    """Say whether an array becomes one of floats only where it is none, whatever floats there are:
    ``if not jnp.issubdtype(x.dtype, jnp.floating)``."""
    blocks = (b for b, _ in context.bodies.paths(event.scope).get(event.node, ()) if isinstance(b, ast.If | ast.IfExp))
    return any(
        isinstance(call, ast.Call) and last_word(call.func) == "issubdtype" and names_in(call) & names_in(array)
        for block in blocks
        for call in ast.walk(block.test)
    )


def _wide(context: Context, node: ast.expr, event: CallEvent) -> str:
    """Return the name of a type of 64 bits; empty if an expression is none."""
    text = constant(node)
    if isinstance(text, str):
        return text if text in _WIDE else ""
    value = event.scope.module.values.get(node)
    if value is None:
        return ""
    found = context.flow.resolve(context.flow.here(value, event.scope)).value
    home, _, word = found.name.rpartition(".") if isinstance(found, Ref) else ("", "", "")
    return word if home in {"jax.numpy", "numpy"} and word in _WIDE else ""


RULE = lint_rule(
    "NNX917",
    "double-precision",
    "a type of 64 bits where JAX is in 32-bit mode",
    why="""\
Unless `jax_enable_x64` is set, JAX gives arrays of 32 bits where 64 were asked for, with a warning at most. The code
reads as more exact than it is. Of whole numbers the rule speaks only where they may be larger than 32 bits hold: times,
hashes, powers. Code that only others run may get the mode from them, so that the rule asks for a
program among the files, and says nothing where one of them speaks of the mode.
""",
    source="JAX documentation; measured on Flax 0.10.7, 0.11.2 and 0.12.8: float32 and int32 in every form",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp

total = jnp.zeros(3, dtype=jnp.float64)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
total = jnp.zeros(3, dtype=jnp.float64)
""",
    ),
)

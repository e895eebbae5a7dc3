"""NNX956: an nnx.Param that holds what no gradient is to change."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.arrays import BOOL, INT, Arrays
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.kept_average import keeps_average, of_attribute, read_otherwise
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.lint.syntax import keyword
from codemods.nnx.lint.whole_params import integer_parameters
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Ref

_PARAM = Ref("flax.nnx.Param")
# where a project says one of these, the optimizer may leave something out
_ELSEWHERE = pattern(
    rb"set_to_zero|multi_transform|\bmasked\(|DiffState|PathContains|nnx\.(All|Not|Any|map_state|filter_state)\b"
    rb"|\bfreeze\(",
    needs=(b"set_to_zero", b"multi_transform", b"masked(", b"diffstate", b"pathcontains", b"nnx.all", b"nnx.not",
           b"nnx.any", b"nnx.map_state", b"nnx.filter_state", b"freeze("),
)  # fmt: skip
_DRAWN = pattern(r"\b(rngs?|random|initializers?|normal|uniform|key)\b|_init\b")
_SINUS = pattern(r"sinus|sin_?cos|cos_?sin|(^|_)(sin|cos|cis|pe|rope|rotary|freqs?)(_|$)|(^|_)pos\w*_(enc|table)")
_MASK = pattern(r"(^|_)(masks?|tril|triu|causal)$")
_SCHEDULE = pattern(
    r"^_?(betas|alphas|sigmas|timesteps|alphas?_?(bars?|cumprod(_prev)?)|sqrt_(one_minus_)?alphas?\w*|posterior_var\w*)$"
)
_TURNING = pattern(r"(^|_)(inv_?freqs?|freqs_?cis|(cos|sin)_cached)$")
_FIXED = pattern(r"(^|_)(fixed|buffer|non_?trainable)(_|$)")
_DIFFUSION = pattern(rb"cumprod|alphas?_?(bar|hat)|diffusion|denois|ddpm|ddim", re.I)
_RUNNING = pattern(r"^_?(running|moving)_(mean|avg|average|var|variance|std|sum|count)$|^num_batches(_tracked)?$")
_DECAYS = pattern(rb"\b(adamw|lamb|add_decayed_weights|nadamw)\b")
_FILLED = frozenset({"linspace", "arange", "cumprod", "cos", "sin", "geomspace", "logspace"})
_TRAINED = "is {}, and trained as an nnx.Param: the optimizer changes it"
_DEPTH = 4


def _check(context: Context) -> Iterator[Finding]:
    events = [event for event, name in foreign(context, "Param") if name == "flax.nnx.Param" and event.node.args]
    if not events or any(module.source.matches(_ELSEWHERE) for module in context.project.modules):
        return
    said = set()
    for made, grad, name in integer_parameters(context):
        said.add(made)
        yield finding(
            RULE.code,
            made.scope,
            made.node,
            f"{name.removeprefix('flax.')} differentiates all nnx.Params of the model, and this one holds integers",
            "keep them in an nnx.Variable, which is no parameter, or give it floating point numbers",
            related=[(grad.node, "differentiated here")] if grad.scope.module is made.scope.module else [],
        )
    if not params_trained(context):
        return
    stopped = {
        last_word(one.args[0].value if isinstance(one.args[0], ast.Subscript) else one.args[0])
        for module in context.project.modules
        for one in module.source.of_type(ast.Call)
        if last_word(one.func) == "stop_gradient" and one.args
    }
    for event in events:
        name = _attribute(event)
        owner = event.scope.function.owner if event.scope.function is not None else None
        if event in said or not name or owner is None or in_test(event.scope) or name in stopped:
            continue
        what = _constant(context, event, name, owner)
        if what:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{name}` {what}",
                "keep it in a Variable of another type: class Buffer(nnx.Variable)",
            )


def params_trained(context: Context) -> bool:
    """Say whether the project trains all Params, and nothing else: every optimizer takes them, and every gradient is of
    them."""
    optimizers = [
        event for event, name in foreign(context, "Optimizer", "ModelAndOptimizer", everywhere=True)
        if name in {"flax.nnx.Optimizer", "flax.nnx.ModelAndOptimizer"}
    ]  # fmt: skip
    for event in optimizers:
        wrt = event.value.argument(2, "wrt")
        if wrt is not None and context.flow.resolve(context.flow.here(wrt, event.scope)).value != _PARAM:
            return False
    gradients = (event for event, name in foreign(context, "grad", "value_and_grad", everywhere=True)
                 if name in GRADIENTS and name.startswith("flax.nnx."))  # fmt: skip
    return bool(optimizers) and any(keyword(event.node, "wrt") is None for event in gradients)


def _attribute(event: CallEvent) -> str:
    """Return the attribute of an object that a call makes, in a constructor; '' if it is none."""
    statement, function = event.statement, event.scope.function
    targets = (
        statement.targets if isinstance(statement, ast.Assign)
        else [statement.target] if isinstance(statement, ast.AnnAssign) else []
    )  # fmt: skip
    if function is None or function.name not in {"__init__", "setup", "__post_init__"} or len(targets) != 1:
        return ""
    target = targets[0]
    own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    made = isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is event.node
    return target.attr if own and made and isinstance(target, ast.Attribute) else ""


def _constant(context: Context, event: CallEvent, name: str, owner: ClassFacts) -> str:
    """Say what a Param holds that is no weight; '' if it may be one."""
    known = Arrays(context, {}).of(event.value.args[0], event.scope)
    if known.number in {INT, BOOL} and not known.weak and known.axes is not None:
        kind = "integers" if known.number == INT else "truth values"
        return f"holds {kind}, of which there is no gradient: as an nnx.Param it is taken, with a TypeError"
    if _RUNNING.search(name) and _stored(owner, name):
        return _TRAINED.format("a running statistic")
    if keeps_average(owner, name) and _moved(context, owner, name):
        return _TRAINED.format("a running average")
    nodes = _made_of(context, event)
    words = {last_word(node.func) for node in nodes if isinstance(node, ast.Call)}
    names = {last_word(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)} | {name} | words
    if any(_DRAWN.search(one.lower()) for one in names) or "stop_gradient" in words or "learn" in name:
        return ""
    if {"sin", "cos"} <= words and any(_SINUS.search(one.lower()) for one in names - {"sin", "cos"}):
        return _TRAINED.format("a table of sines and cosines")
    if words & {"tril", "triu", "tri"} and _MASK.search(name.lower()):
        return _TRAINED.format("a mask")
    if _SCHEDULE.search(name) and words & _FILLED and event.scope.module.source.matches(_DIFFUSION):
        return _TRAINED.format("a part of the noise schedule")
    if _TURNING.search(name.lower()) and words & _FILLED:
        return _TRAINED.format("a table of frequencies")
    given = event.node.args[0]
    if words and any(_FIXED.search(one.lower()) for one in (name, last_word(given))):
        return _TRAINED.format("fixed by its name")
    return ""


def _moved(context: Context, owner: ClassFacts, name: str) -> bool:
    """Say whether an optimizer moves a Param: it is read, and no gradient is stopped, or all weights decay."""
    modules = context.project.modules
    if read_otherwise(owner, name) and not any(b"stop_gradient" in module.source.data for module in modules):
        return True
    return any(module.source.matches(_DECAYS) for module in modules) and not any(
        b"mask=" in module.source.data for module in modules
    )


def _stored(owner: ClassFacts, name: str) -> bool:
    """Say whether a method other than the constructor gives an attribute a new value."""
    return any(
        of_attribute(target, name)
        for one in owner.node.body
        if isinstance(one, ast.FunctionDef) and one.name != "__init__"
        for node in ast.walk(one)
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    )


def _made_of(context: Context, event: CallEvent) -> list[ast.AST]:
    """Return the nodes of what a value is computed with, in its body and in functions of the project."""
    function = event.scope.function
    assert function is not None
    found: list[ast.AST] = []
    seen: set[str] = set()
    entered: set[FunctionFacts] = set()
    todo: list[tuple[ast.AST, FunctionFacts]] = [(event.node.args[0], function)]
    while todo and len(found) < _NODES:
        root, home = todo.pop()
        for node in ast.walk(root):
            found.append(node)
            if isinstance(node, ast.Name) and node.id not in seen and home is function:
                seen.add(node.id)
                todo += [(value, home) for value in _values_of(home, node.id)]
            elif isinstance(node, ast.Call):
                for callee in _callees(context, node, home):
                    if callee not in entered and len(entered) < _DEPTH:
                        entered.add(callee)
                        found.append(ast.Name(callee.name))
                        todo += [(part, callee) for part in callee.node.body] if isinstance(
                            callee.node, ast.FunctionDef
                        ) else []  # fmt: skip
    return found


_NODES = 2000


def _callees(context: Context, node: ast.Call, home: FunctionFacts) -> list[FunctionFacts]:
    value = home.scope.module.values.get(node)
    if value is None:
        return []
    return [callee.function for callee, _ in context.flow.calls.invoked(context.flow.here(value, home.scope))]


def _values_of(function: FunctionFacts, name: str) -> list[ast.expr]:
    """Return what a function gives a variable, or puts into parts of it."""
    values: list[ast.expr] = []
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(n, ast.Name) and n.id == name for target in targets for n in ast.walk(target)):
                values.append(node.value)
    return values


_BAD = """\
import jax.numpy as jnp
import optax
from flax import nnx


class Encoder(nnx.Module):
    def __init__(self, length, width, rngs: nnx.Rngs):
        angles = jnp.arange(length)[:, None] / 10000.0 ** (jnp.arange(width // 2) * 2 / width)
        self.pos_table = nnx.Param(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1))
        self.out = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, x):
        return self.out(x + self.pos_table[: x.shape[-2]])


model = Encoder(16, 8, nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)


@nnx.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    optimizer.update(model, grads)
"""

RULE = lint_rule(
    "NNX956",
    "trained-constant",
    "an nnx.Param that holds a mask, a table, integers or running statistics",
    why="""\
`nnx.Param` says that an array is trained. A table of sines, a mask, a noise schedule or running averages in one get
gradients and weight decay, and drift away from what they were computed as; an array of integers or truth values raises
a TypeError when the gradient is taken. What PyTorch calls a buffer is a Variable of a type of its own.
""",
    source="google/flax#4620; measured on Flax 0.11.2 and 0.12.8: the table changes with every step",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace("nnx.Param(jnp", "Buffer(jnp").replace(
            "class Encoder", "class Buffer(nnx.Variable):\n    pass\n\n\nclass Encoder"
        ),
    ),
)

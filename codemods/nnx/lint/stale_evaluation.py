"""NNX992: an evaluation, within the training loop, of what was made of the parameters before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import each, in_test, kinds_of
from codemods.nnx.lint.stale_elsewhere import behind_called, elsewhere_called, stale_attributes
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_EVALUATED = pattern(
    r"^(eval\w*|val|valid\w*|test)_(model|params|parameters|state|net|network|policy|variables|weights|agent|module)$"
)
_TRAINED = pattern(r"(^|_)(params|parameters|state|variables|weights|model|agent|train_state|ts)(_|$)", re.I)
_KEPT = pattern(r"teacher|target|ref|frozen|old|init|base|prior|orig|before|pretrain|anchor|template", re.I)
_FIRST = pattern(
    r"teacher|target|ref|frozen|old|init|base|prior|orig|before|pretrain|anchor|template|start|first|0$", re.I
)
_HELD_OUT = pattern(r"(x|y|X)?_?(test|val|valid|validation|eval|held_?out)(_|$)")
_EVALUATING = pattern(r"(^|_)(eval\w*|accuracy|valid\w*|acc|test)(_|$)", re.I)


def _check(context: Context) -> Iterator[Finding]:
    yield from _stale_models(context)
    for place, call, model, state in stale_attributes(context):
        yield finding(
            RULE.code,
            place,
            call,
            f"`{state}` was split off `{model}` in the constructor and is trained: `{model}` stays what it was",
            f"make the model of what is trained: nnx.merge(graphdef, {state})",
        )
    yield from _first_names(context)
    for scope, node in each(context, ast.Assign):
        if len(node.targets) != 1 or not isinstance(node.targets[0], ast.Name) or in_test(scope):
            continue
        name = node.targets[0].id
        source = _trained(node.value)
        if source is None or source == name:
            continue
        evaluated = bool(_EVALUATED.search(name))
        part = isinstance(node.value, ast.Attribute) and name in {"params", "variables", "weights", "parameters"}
        if not evaluated and not part and not _is_model(context, node.value, scope):
            continue
        loop = _loop_behind(context, node, scope)
        if loop is None or not _steps(loop, source) or not _only_read(loop, name):
            continue
        read = _read(loop, name, evaluated)
        if read is not None and not any(
            _binds(other, name) and other is not node for other in _assigns(context, scope)
        ):
            yield finding(
                RULE.code,
                scope,
                read,
                f"`{name}` was made of `{source}` before the loop, which trains `{source}`: what it began with is "
                "evaluated in every round",
                f"make `{name}` anew of the new `{source}` where it is evaluated",
                related=[(node, "made here")],
            )


def _first_names(context: Context) -> Iterator[Finding]:
    """Yield the evaluations of ``params`` in a loop that trains ``weights``, which was another name of it before."""
    for scope, node in each(context, ast.Assign):
        first, target = node.value, node.targets[0]
        if not isinstance(first, ast.Name) or not isinstance(target, ast.Name) or len(node.targets) != 1:
            continue
        if not _TRAINED.search(first.id) or not _TRAINED.search(target.id) or in_test(scope):
            continue
        if any(_FIRST.search(name) for name in (first.id, target.id)) or first.id == target.id:
            continue
        loop = _loop_behind(context, node, scope)
        if loop is None or not _steps(loop, target.id) or not _only_read(loop, first.id):
            continue
        read = _read(loop, first.id, evaluated=False)
        if read is None or target.id in names_in(read) or _compared(loop, read, target.id):
            continue
        if any(
            _binds(n, target.id) and isinstance(n.value, ast.Name) for n in ast.walk(loop) if isinstance(n, ast.Assign)
        ):
            continue  # each round begins anew, or keeps a better one
        yield finding(
            RULE.code,
            scope,
            read,
            f"the loop trains `{target.id}`, and `{first.id}` stays what it began with, which every round evaluates",
            f"evaluate `{target.id}`",
            related=[(node, "two names of one here")],
        )


def _compared(loop: ast.For | ast.While, read: ast.expr, name: str) -> bool:
    """Say whether the same evaluation is made of what is trained as well."""
    word = last_word(read.func) if isinstance(read, ast.Call) else ""
    calls = (n for n in ast.walk(loop) if isinstance(n, ast.Call) and n is not read and last_word(n.func) == word)
    return any(name in names_in(one) for one in calls)


def _trained(value: ast.expr) -> str | None:
    """Return the variable with parameters that an expression is, or hands to a call."""
    if isinstance(value, ast.Name):
        return value.id if _TRAINED.search(value.id) else None
    if isinstance(value, ast.Attribute) and value.attr in {"params", "variables"} and isinstance(value.value, ast.Name):
        return value.value.id if _TRAINED.search(value.value.id) else None
    if not isinstance(value, ast.Call) or last_word(value.func) in {"deepcopy", "copy", "clone"}:
        return None
    given = [one for one in (*value.args, *(k.value for k in value.keywords)) if isinstance(one, ast.Name)]
    names = [one.id for one in given if _TRAINED.search(one.id)]
    return names[-1] if names else None


def _is_model(context: Context, value: ast.expr, scope: Scope) -> bool:
    """Say whether a call makes a model of parameters, by ``nnx.merge`` or a function of the project."""
    made = scope.module.values.get(value)
    return isinstance(value, ast.Call) and made is not None and kinds_of(context, made, scope) == {Kind.MODULE}


def _loop_behind(context: Context, node: ast.Assign, scope: Scope) -> ast.For | ast.While | None:
    """Return the next loop behind an assignment in the same block."""
    paths = context.bodies.paths(scope)
    own = paths.get(node, ())
    loops = [
        n
        for n in context.bodies.nodes(scope)
        if isinstance(n, ast.For | ast.While) and n.lineno > node.lineno and paths.get(n, ()) == own
    ]
    return min(loops, key=lambda one: one.lineno, default=None)


def _steps(loop: ast.For | ast.While, source: str) -> bool:
    """Say whether each round binds the parameters anew to what a call makes of the old ones."""
    return any(
        isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and _binds(n, source)
        and source in {a.id for a in (*n.value.args, *(k.value for k in n.value.keywords)) if isinstance(a, ast.Name)}
        for n in ast.walk(loop)
    )


def _binds(node: ast.Assign, name: str) -> bool:
    """Say whether an assignment gives a variable a value."""
    return any(isinstance(n, ast.Name) and n.id == name for t in node.targets for n in ast.walk(t))


def _assigns(context: Context, scope: Scope) -> Iterator[ast.Assign]:
    return (n for n in context.bodies.nodes(scope) if isinstance(n, ast.Assign))


def _split(context: Context, scope: Scope) -> Iterator[tuple[ast.Assign, str, str]]:
    """Yield the assignments that split a model, with the names of the model and of what is trained of it."""
    for node in _assigns(context, scope):
        call, target = node.value, node.targets[0]
        if isinstance(call, ast.Call) and isinstance(target, ast.Name) and last_word(call.func) == "state":
            model = call.args[0] if call.args else None
            made = scope.module.values.get(call)
            if isinstance(model, ast.Name) and not _KEPT.search(model.id) and isinstance(made, Call):
                if context.flow.calls.callee_name(context.flow.here(made, scope)) == "flax.nnx.state":
                    yield node, model.id, target.id
            continue
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple) or len(node.targets) != 1:
            continue
        model = call.args[0] if call.args else None
        if last_word(call.func) != "split" or not isinstance(model, ast.Name) or _KEPT.search(model.id):
            continue
        made = scope.module.values.get(call)
        if made is not None and isinstance(made, Call):
            if context.flow.calls.callee_name(context.flow.here(made, scope)) == "flax.nnx.split":
                yield from ((node, model.id, one.id) for one in target.elts[1:] if isinstance(one, ast.Name))


def _stale_models(context: Context) -> Iterator[Finding]:
    """Yield the calls, in a loop that trains a state, of the model that the state was split off."""
    for module in context.asked.modules:
        if not module.source.mentions(b"split") and not module.source.mentions(b"state"):
            continue
        for scope in (module.scope, *(function.scope for function in module.functions)):
            for node, model, source in _split(context, scope) if not in_test(scope) else ():
                loop = _loop_behind(context, node, scope)
                if loop is None or not _steps(loop, source) or not _only_read(loop, model):
                    continue
                if _given_both(loop, model, source) or _bound_between(scope, model, node, loop):
                    continue
                merged = (n for n in ast.walk(loop) if isinstance(n, ast.Call) and last_word(n.func) == "merge")
                if any(merged) or _in_inner(loop, source):
                    continue
                read, place = _called(context, scope, loop, model), scope
                if read is None:
                    read, place = elsewhere_called(context, scope, loop, model, source) or (None, scope)
                if read is None and isinstance(node.targets[0], ast.Name):  # of what nnx.split gives NNX812 tells
                    read = behind_called(context, scope, loop, model, source)
                if read is not None:
                    yield finding(
                        RULE.code,
                        place,
                        read,
                        f"`{source}` was split off `{model}` before the loop, which trains `{source}`: `{model}` stays "
                        "what it was in every round",
                        f"put it back before: nnx.update({model}, {source})",
                        related=[(node, "split here")],
                    )


def _given_both(loop: ast.For | ast.While, model: str, source: str) -> bool:
    """Say whether a call gets a model with its state, and may put that into it."""
    calls = (n for n in ast.walk(loop) if isinstance(n, ast.Call))
    given = ([*n.args, *(k.value for k in n.keywords)] for n in calls)
    return any({model, source} <= {n.id for n in one if isinstance(n, ast.Name)} for one in given)


def _bound_between(scope: Scope, model: str, split: ast.Assign, loop: ast.For | ast.While) -> bool:
    """Say whether a model is bound anew between the place where its state is split off and the end of a loop."""
    end = loop.end_lineno or loop.lineno
    stores = (n for n in ast.walk(scope.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return any(n.id == model and split.lineno < n.lineno <= end for n in stores)


def _in_inner(loop: ast.For | ast.While, source: str) -> bool:
    """Say whether a function or lambda in the loop reads what is trained, and may put it back."""
    inner = (n for n in ast.walk(loop) if isinstance(n, ast.FunctionDef | ast.Lambda))
    return any(source in names_in(one) for one in inner)


def _called(context: Context, scope: Scope, loop: ast.For | ast.While, model: str) -> ast.expr | None:
    """Return where a loop calls a model, or gives it to an evaluation."""
    for event in context.bodies.calls.get(scope, ()):
        if loop not in event.loops:
            continue
        if isinstance(event.node.func, ast.Name) and event.node.func.id == model:
            return event.node
    return _read(loop, model, evaluated=False)


def _only_read(loop: ast.For | ast.While, name: str) -> bool:
    """Say whether a loop neither binds a variable nor may put new parameters into what it holds."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Call) and last_word(node.func) in {"update", "load_state_dict", "copy_to", "sync"}:
            if name in names_in(node):
                return False
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            if name in names_in(node):
                return False
    return True


def _read(loop: ast.For | ast.While, name: str, evaluated: bool) -> ast.expr | None:
    """Return where a variable is evaluated in a loop: called, or given to a call, of an evaluation if its name does not
    tell so."""
    for node in ast.walk(loop):
        if not isinstance(node, ast.Call):
            continue
        given = {a.id for a in (*node.args, *(k.value for k in node.keywords)) if isinstance(a, ast.Name)}
        given |= {v.id for a in node.args if isinstance(a, ast.Dict) for v in a.values if isinstance(v, ast.Name)}
        called = isinstance(node.func, ast.Name) and node.func.id == name
        if name in given and last_word(node.func) == "apply" and any(map(_HELD_OUT.match, given - {name})):
            return node
        if (evaluated and (called or name in given)) or (name in given and _EVALUATING.search(last_word(node.func))):
            return node
    return None


_BAD = """\
import jax
from flax import nnx


def train(model, batches, step, accuracy):
    graphdef, params = nnx.split(model)
    eval_model = nnx.merge(graphdef, params)
    for batch in batches:
        params = step(params, batch)
        print(accuracy(eval_model, batch))
    return params
"""

_CLEAN = """\
import jax
from flax import nnx


def train(model, batches, step, accuracy):
    graphdef, params = nnx.split(model)
    for batch in batches:
        params = step(params, batch)
        eval_model = nnx.merge(graphdef, params)
        print(accuracy(eval_model, batch))
    return params
"""

RULE = lint_rule(
    "NNX992",
    "stale-evaluation",
    "an evaluation in the training loop of what was made of the parameters before it",
    why="""\
Parameters that a step returns are new ones. A model that was merged of the old ones, or a variable that holds them,
stays what it was: its accuracy is that of the first parameters in every round. Reference and target networks are meant
to stay and have other names; what is updated, or bound again in the loop, is left alone. A model of
which the state was split off and trained stays as it was in functions and in other methods of its object as well.
""",
    source="Flax pull request 3982; measured: the accuracy stays at 0.18 while the loss falls",
    severity="warning",
    check=_check,
    bad=(_BAD,),
    clean=(_CLEAN,),
)

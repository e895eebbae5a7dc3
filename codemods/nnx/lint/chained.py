"""What a chain of transformations holds, and what stands behind its optimizer that belongs before it."""

from __future__ import annotations

import ast

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.frames import Bound
from codemods.nnx.lint.learning_rates import flag_default, greatest_rate
from codemods.nnx.lint.names import OPTIMIZERS, last
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.syntax import argument
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Const, Ref, Sequence, Star, Value

# clipping by a size that is meant for gradients, with the name of that size
_CLIPPING = {"clip_by_global_norm": "max_norm", "adaptive_grad_clip": "clipping", "clip": "max_delta"}
_SMALL = 0.1  # what limits updates on purpose is less
_DECAY = "add_decayed_weights"
_STEPS = frozenset({f"optax.{name}" for name in OPTIMIZERS} | {"optax.scale_by_learning_rate"})
_MEMORYLESS = "sgd without momentum"  # to clip its updates is to clip the gradients by another size
_FAR = 20  # times the learning rate: no gradient is meant to be so large
_WHOLE = 0.5  # what turns the sign alone, before a learning rate, is more
_NAMES = (ast.Name, ast.Attribute)
# what keeps moments of the gradients
_REMEMBERING = frozenset(
    f"optax.{word}" for word in ("scale_by_adam", "scale_by_rms", "scale_by_lion", "scale_by_amsgrad", "trace", "ema",
                                 "scale_by_rss", "scale_by_belief", "scale_by_adamax", "scale_by_yogi")
)  # fmt: skip
_SIGN_KEPT = frozenset(
    {"identity", "zero_nans", "clip_by_block_rms", "add_decayed_weights", "apply_every", "add_noise"}
)
_DEPTH = 6


def late(context: Context, event: CallEvent) -> str:
    """Return what a chain clips or adds behind its optimizer, as a message; empty for nothing of the kind."""
    stepped = ""
    step: Bound | None = None
    parts = _parts(context, event) or []
    for place, part in enumerate(parts):
        word = _late(context, part) if stepped else ""
        if word and word != _DECAY and stepped == _MEMORYLESS and not (step and _of_gradients(context, part, step)):
            return ""
        if word == _DECAY and any(_may_turn(context, one) for one in parts[place + 1 :]):
            return ""
        if word == _DECAY:
            return f"`{word}` behind `{stepped}` adds the weights to steps that are added to them: they grow"
        if word:
            return f"`{word}` behind `{stepped}` clips the updates, and not the gradients that the optimizer reads"
        named = _stepping(context, part)
        if named:
            stepped, step = named, part
        elif not stepped and _negative(context, part):
            stepped, step = "scale" if step else _MEMORYLESS, part
        elif _name(context, part) in _REMEMBERING:
            step = part
    return ""


def _of_gradients(context: Context, part: Bound, step: Bound) -> bool:
    """Say whether a limit is meant for gradients, by its name or as it is far above what the steps can be."""
    sources = list(context.sources.originals(part))
    source = sources[0] if len(sources) == 1 else None
    if source is None or not isinstance(source.value, Call):
        return False
    word = last(_name(context, source))
    given = source.value.argument(0, _CLIPPING.get(word, ""))
    if _called_gradients(source.value, word):
        return True
    sizes, rates = _numbers(context, source, given), _rates(context, step)
    return word != "clip" and bool(sizes and rates) and min(sizes) >= _FAR * max(rates)


def _called_gradients(made: Call, word: str) -> bool:
    """Say whether the size that a call clips by has a name that speaks of gradients, as ``max_grad_norm``."""
    node = argument(made.node, 0, _CLIPPING.get(word, ""))
    return node is not None and any("grad" in last_word(n).lower() for n in ast.walk(node) if isinstance(n, _NAMES))


def _rates(context: Context, step: Bound) -> frozenset[int | float]:
    """Return the learning rates of plain gradient descent; none if one is not known."""
    found: set[int | float] = set()
    for source in context.sources.originals(step):
        if not isinstance(source.value, Call):
            return frozenset()
        rates = _numbers(context, source, source.value.argument(0, "learning_rate"))
        greatest = greatest_rate(context, source) if not rates else None  # of a schedule
        if not rates and greatest is None:
            return frozenset()
        found |= {abs(rate) for rate in rates} if greatest is None else {greatest}
    return frozenset(found)


def _numbers(context: Context, source: Bound, value: Value | None) -> frozenset[int | float]:
    assert isinstance(source.value, Call)
    home = context.bodies.home(source.value.node)
    known = numbers(context, value, home) if home is not None else frozenset()
    default = flag_default(value, home) if home is not None and not known else None
    return frozenset({default}) if default is not None else known


def _negative(context: Context, part: Bound) -> bool:
    """Say whether a part scales what comes from before by negative numbers, as the last step of an optimizer does."""
    sources = [*context.sources.originals(part)]
    known = [
        _numbers(context, one, one.value.argument(0, "step_size"))
        for one in sources
        if isinstance(one.value, Call) and _name(context, one) == "optax.scale"
    ]
    return (
        bool(known) and len(known) == len(sources) and all(one and -_WHOLE < min(one) <= max(one) < 0 for one in known)
    )


def _may_turn(context: Context, part: Bound) -> bool:
    """Say whether a part may turn the sign of what comes from before, so that weights which are added shrink."""
    for source in context.sources.originals(part):
        name = _name(context, source)
        if name == "optax.scale" and isinstance(source.value, Call):
            known = _numbers(context, source, source.value.argument(0, "step_size"))
            if not known or min(known) < 0:
                return True
        elif last(name) not in _CLIPPING and last(name) not in _SIGN_KEPT:
            return True
    return False


def _parts(context: Context, event: CallEvent) -> list[Bound] | None:
    """Return what a chain is made of, in order; None if that is not known."""
    found: list[Bound] = []
    call = context.flow.here(event.value, event.scope)
    for value in event.value.args:
        if not isinstance(value, Star):
            found.append(context.flow.follow(call, value))
            continue
        listed = _listed(context, event, call, value.value)
        if listed is None:
            return None
        found += listed
    return found


def _listed(context: Context, event: CallEvent, call: Bound, value: Value) -> list[Bound] | None:
    """Return the elements of a list that is unpacked, and what the same body appends to it."""
    node = next((one.value for one in event.node.args if isinstance(one, ast.Starred)), None)
    name = node.id if isinstance(node, ast.Name) else ""
    changed = [
        one for one in context.bodies.calls.get(event.scope, ())
        if isinstance(one.node.func, ast.Attribute) and isinstance(one.node.func.value, ast.Name)
        and name and one.node.func.value.id == name
    ]  # fmt: skip
    if any(last_word(one.node.func) != "append" or one.loops or not one.value.args for one in changed):
        return None
    begun = [b for b in event.scope.bindings.get(name, []) if isinstance(b, Sequence)] if changed else []
    if changed and len(begun) != 1:
        return None
    whole = Bound(begun[0], call.frame) if begun else context.flow.follow(call, value)
    if not isinstance(whole.value, Sequence) or any(isinstance(one, Star) for one in whole.value.items):
        return None
    elements = [context.flow.follow(whole, one) for one in whole.value.items]
    return elements + [context.flow.here(one.value.args[0], one.scope) for one in changed]


def _late(context: Context, part: Bound) -> str:
    """Return the name of what clips gradients or lets weights decay; empty for another part."""
    sources = [one for one in context.sources.originals(part) if _name(context, one) != "optax.identity"]
    names = {_name(context, one) for one in sources}
    if len(names) != 1:
        return ""
    word = next(iter(names)).removeprefix("optax.")
    size = _CLIPPING.get(word)
    for source in sources if size is not None or word == _DECAY else ():
        assert isinstance(source.value, Call)
        given = source.value.argument(0, size or "weight_decay")
        known = _numbers(context, source, given)
        if size is None and not (known and min(known) > 0):
            return ""
        if size is not None and (
            (known and min(known) < _SMALL)
            or (word == "clip" and not known and not _called_gradients(source.value, word))
        ):
            return ""
    return word if size is not None or word == _DECAY else ""


def _stepping(context: Context, part: Bound, depth: int = 0) -> str:
    """Return the name of an optimizer that has applied its learning rate; empty for another part."""
    names = {_optimizer(context, one, depth) for one in context.sources.originals(part)}
    return min(names) if names and all(names) else ""


def _optimizer(context: Context, source: Bound, depth: int) -> str:
    """Return the name of an optimizer that a call makes, also with ``inject_hyperparams`` or as the end of a chain."""
    value = source.value
    if not isinstance(value, Call) or depth > _DEPTH:
        return ""
    name = _name(context, source)
    if name == "optax.chain" and value.args and not value.starred:
        return _stepping(context, context.flow.follow(source, value.args[-1]), depth + 1)
    callee = context.flow.follow(source, value.callee)
    if isinstance(callee.value, Call) and _name(context, callee) == "optax.inject_hyperparams" and callee.value.args:
        inner = context.flow.follow(callee, callee.value.args[0]).value
        name = inner.name if isinstance(inner, Ref) else ""
    turns = value.argument(1, "flip_sign") if name == "optax.scale_by_learning_rate" else None
    if turns is not None and turns != Const(True):
        return ""  # a part that follows is the one that goes down
    if name == "optax.sgd" and value.argument(1, "momentum") is None:
        return _MEMORYLESS
    return last(name) if name in _STEPS else ""


def _name(context: Context, source: Bound) -> str:
    return context.flow.calls.callee_name(source) if isinstance(source.value, Call) else ""

"""Arguments that layers and pools of NNX certainly refuse, or take for something else; part of NNX874."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.arrays import Arrays
from codemods.nnx.lint.carry_batch import of_batches
from codemods.nnx.lint.carry_shape import of_whole_sequences
from codemods.nnx.lint.image_sizes import product
from codemods.nnx.lint.numbers import numbers
from codemods.nnx.lint.owners import made_once, owner_class, plain_module
from codemods.nnx.lint.places import callers_of, foreign, in_test, literal
from codemods.nnx.lint.syntax import argument, constant, entry_word, keyword
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Item, Mapping, Param, Sequence, Unknown, Value

_OPTIMIZERS = ("adam", "adamw", "sgd", "rmsprop", "adagrad", "lamb", "lion", "nadam", "radam", "adabelief", "adafactor")
# optimizers that take b1 behind the learning rate, and those that decay weights
_WITH_DECAY = frozenset({"adamw", "nadamw", "adamaxw", "lamb", "lion", "adan"})
_AVERAGING = ("adam", "nadam", "radam", "adabelief", "adamax", "amsgrad", *sorted(_WITH_DECAY))
_DECAY = pattern(r"^(weight_?decay|wd|decay_weight|l2(_reg)?)$", re.I)
_SMALL = 0.1  # nobody averages over so few gradients
_POOLS = ("max_pool", "avg_pool", "min_pool")


def refused(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the arguments with what is wrong, and the way out."""
    for event, name in foreign(
        context, "MultiHeadAttention", "GroupNorm", "Conv", "Sequential", "Dropout", "Einsum", "LoRA", *_POOLS
    ):
        if not name.startswith("flax.nnx.") or event.value.starred or context.bodies.guarded(event.node, event.scope):
            continue
        word = name.removeprefix("flax.nnx.")
        if word == "MultiHeadAttention":
            yield from _heads(context, event)
        elif word == "GroupNorm":
            yield from _groups(context, event)
        elif word == "Conv":
            yield from _kernel(context, event)
            yield from _causal(context, event)
            yield from _divided(context, event)
        elif word == "Sequential":
            yield from _chain(context, event)
        elif word == "LoRA":
            yield from _adapted(context, event)
        elif word == "Einsum":
            yield from _equation(context, event)
        elif word == "Dropout":
            yield from _rate(context, event)
        elif word in _POOLS:
            yield from _window(context, event)
    yield from _repeated(context)


def _equation(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the equations that do not say what comes out, or do not have two operands."""
    given = event.value.argument(0, "einsum_str")
    found = context.flow.resolve(context.flow.here(given, event.scope)).value if given is not None else None
    text = found.value if isinstance(found, Const) else None
    if isinstance(text, str) and ("->" not in text or text.count(",") != 1):
        message = f'"{text}" has to name two operands and the result'
        yield event, event.node, message, 'write all of it: "ab,bc->ac"'


def _carry(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the batch sizes that a cell gets where it wants the shape of its input."""
    for event in context.bodies.named("initialize_carry"):
        node = argument(event.node, 0, "input_shape")
        if node is None or event.scope.module not in context.asked or event.value.starred:
            continue
        value = event.scope.module.values.get(node)
        found = context.flow.resolve(context.flow.here(value, event.scope)) if value is not None else None
        callee = event.value.callee
        if found is None or not isinstance(callee, Attr) or not _size(found.value):
            continue
        cls = owner_class(context, callee.base, event.scope)
        if isinstance(cls, str) and cls.endswith("Cell") and not context.bodies.guarded(event.node, event.scope):
            message = "the carry is made for the shape of an input, and not for a batch size alone"
            yield event, node, message, "write initialize_carry(x.shape, rngs)"


def _size(value: Value) -> bool:
    """Say whether a value is a number, or one of those of a shape."""
    if isinstance(value, Const):
        return type(value.value) is int
    if not isinstance(value, Item | Indexed):
        return False
    base, index = value.base, value.index.value if isinstance(value, Indexed) else value.index
    return isinstance(base, Attr) and base.name == "shape" and isinstance(index, Const) and type(index.value) is int


def _adapted(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the adapters whose result has another width than that of the layer they are added to."""
    base = event.value.argument(3, "base_module") if len(event.value.args) > 3 else event.value.keyword("base_module")
    width = _given(context, event, 2, "out_features")
    if base is not None and width is not None:
        made = made_once(context, base, event.scope)
        layers = [made] if made is not None else [*context.sources.originals(context.flow.here(base, event.scope))]
        widths = {_width(context, layer) for layer in layers}
        other = widths.pop() if len(widths) == 1 else None
        if other is not None and other != width:
            message = (
                f"the layer gives {other} features and the adapter {width}: it takes (in_features, rank, out_features)"
            )
            yield event, event.node, message, "give it the rank second"
            return
    given = [argument(event.node, i, name) for i, name in enumerate(("in_features", "lora_rank", "out_features"))]
    names = [one is not None and bool(_RANK.search(last_word(one) or "")) for one in given]
    if None not in given and (names[0] or names[2]) and not names[1]:
        message = "nnx.LoRA takes (in_features, lora_rank, out_features), and the rank does not stand second here"
        yield event, event.node, message, "give it the rank second, or all by name"


_RANK = pattern(r"(^|_)rank$|^lora_(r|dim)$", re.I)


def _width(context: Context, made: Bound) -> int | None:
    """Return how many features a linear layer gives."""
    if not isinstance(made.value, Call) or context.flow.calls.callee_name(made) != "flax.nnx.Linear":
        return None
    return _part(context, made, made.value.argument(1, "out_features"))


def _rate(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the rates of more than one, which leave nothing."""
    rate, node = event.value.argument(0, "rate"), argument(event.node, 0, "rate")
    if node is not None and _is_kept(context, event, rate, node):
        message = "nnx.Dropout takes the share that is dropped, and this is the one that is kept"
        yield event, node, message, f"write 1 - {event.scope.module.source.text(node)}"
        return
    bound = None if rate is None else context.flow.here(rate, event.scope)
    sources = None if bound is None else context.sources.all_of(bound, lambda value: isinstance(value, Const))
    found = [s.value.value if isinstance(s.value, Const) else None for s in sources or ()]
    rates = [one for one in found if isinstance(one, int | float)]
    if rates and len(rates) == len(found) and min(rates) > 1:
        message = f"a rate of {rates[0]} drops everything: it is a share between 0 and 1"
        yield event, event.node, message, "divide it by 100"


def _is_kept(context: Context, event: CallEvent, rate: Value | None, node: ast.expr) -> bool:
    """Say whether a rate has the name of the share that is kept, and is not known to be a small one."""
    word = _share_word(rate, node)
    if not _KEPT.search(word):
        return False
    found = numbers(context, rate, event.scope)
    entry = rate.node if isinstance(rate, Call) else None
    other = constant(entry.args[1]) if entry is not None and len(entry.args) > 1 else None
    if isinstance(other, int | float) and other < _MOST:
        return False
    return min(found) >= _MOST if found else isinstance(node, ast.Name | ast.Attribute) or bool(_OF_KEPT.search(word))


def _share_word(rate: Value | None, node: ast.expr) -> str:
    """Return the name of a share: that of a variable or an attribute, or the key of an entry, also under a name."""
    if isinstance(node, ast.Call) and last_word(node.func) == "get" and node.args:
        key = constant(node.args[0])  # cfg.get("keep_prob", 0.9)
        return key if isinstance(key, str) else ""
    word = entry_word(node) if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) else ""
    if not isinstance(node, ast.Name) or _KEPT.search(word):
        return word
    if isinstance(rate, Call) and last_word(rate.node.func) == "get":
        return _share_word(None, rate.node)
    if isinstance(rate, Item):  # rate = cfg["keep_prob"]
        return rate.index.value if isinstance(rate.index, Const) and isinstance(rate.index.value, str) else ""
    return rate.name if isinstance(rate, Attr) else word


_MOST = 0.5  # what is called kept and is less may be dropped all the same
_OF_KEPT = pattern(r"prob|rate|share|frac|^p_|_p$", re.I)
_KEPT = pattern(r"(^|_)(keep|keep_?prob|keep_?rate|retain|p_keep)(_|$)", re.I)


def misgiven(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the dicts of keys that modules are called with, the masks made of embeddings, and sizes for shapes."""
    yield from _carry(context)
    yield from of_whole_sequences(context)
    yield from of_batches(context)
    for event, name in foreign(context, "make_causal_mask", "make_attention_mask"):
        if name.startswith("flax.nnx.") and event.value.args and _embedded(context, event.value.args[0], event.scope):
            if not context.bodies.guarded(event.node, event.scope):
                message = "a mask is made of token ids, (batch, length): embeddings have an axis too many"
                yield event, event.node.args[0], message, "give it the tokens, or x[..., 0]"
    yield from _pads(context)
    yield from _rates(context)
    yield from _averages(context)
    yield from _images(context)
    yield from _streams(context)
    for module in context.asked.modules:
        if not module.source.mentions(b"rngs="):
            continue
        for event in module.calls:
            given = event.value.keyword("rngs") if event.node.keywords else None
            if given is None or event.value.starred:
                continue
            found = context.flow.resolve(context.flow.here(given, event.scope)).value
            if not isinstance(found, Mapping) or not plain_module(
                context, owner_class(context, event.value.callee, event.scope)
            ):
                continue
            node = keyword(event.node, "rngs")
            if node is not None and not context.bodies.guarded(event.node, event.scope):
                yield event, node, "modules of NNX take an nnx.Rngs, and no dict of keys", "write nnx.Rngs(dropout=key)"


def _pads(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the masks of attention that tell of tokens, and not of pairs of them."""
    for module in context.asked.modules:
        if not module.source.mentions(b"MultiHeadAttention") and not module.source.mentions(b"mask="):
            continue
        for event in module.calls:
            given = event.value.keyword("mask") if event.node.keywords else None
            if given is None or event.scope.function is None:
                continue
            found = context.sources.originals(context.flow.here(given, event.scope))
            if not found or not all(_of_tokens(context, one, event.scope) for one in found):
                continue
            if owner_class(context, event.value.callee, event.scope) == "flax.nnx.MultiHeadAttention":
                place = keyword(event.node, "mask")
                if place is not None:
                    message = "this mask tells of tokens, (batch, length), and attention wants pairs of them"
                    yield event, place, message, "write nnx.make_attention_mask(mask, mask)"


def _of_tokens(context: Context, mask: Bound, scope: Scope) -> bool:
    """Say whether a mask compares token ids with a constant: ``tokens != 0``."""
    value = mask.value
    home = mask.frame.function.scope if mask.frame is not None else _written_in(context, mask) or scope
    if isinstance(value, Call):
        if context.flow.calls.callee_name(mask) not in _COMPARING or len(value.args) != 2:
            return False
        tokens, other = value.args
    else:
        node = value.node if isinstance(value, Unknown) else None
        if not isinstance(node, ast.Compare) or len(node.comparators) != 1:
            return False
        left, right = (home.module.values.get(side) for side in (node.left, node.comparators[0]))
        if left is None or right is None:
            return False
        tokens, other = left, right
    known = isinstance(context.flow.resolve(context.flow.here(other, home)).value, Const)
    return known and _tokens(context, tokens, home)


_COMPARING = frozenset(f"jax.numpy.{word}" for word in ("not_equal", "equal", "greater", "less"))


def _rates(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the parameters and models in the place of the learning rate, as optimizers of PyTorch take them."""
    for event, name in foreign(context, *_OPTIMIZERS):
        if not name.startswith("optax.") or not event.node.args or event.value.starred:
            continue
        kind = context.kinds.only(context.flow.here(event.value.args[0], event.scope))
        if kind in {Kind.STATE, Kind.MODULE, Kind.GRADIENT} and not context.bodies.guarded(event.node, event.scope):
            message = "this is what is optimised: a transformation of optax takes the learning rate first"
            yield event, event.node.args[0], message, "nnx.Optimizer(model, tx, wrt=nnx.Param) brings the two together"


def _averages(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the decays of weights that stand in the place of b1, the share that an average of gradients keeps."""
    for event, name in foreign(context, *_AVERAGING):
        args = event.node.args
        if not name.startswith("optax.") or len(args) < 2 or event.value.starred or in_test(event.scope):
            continue
        number = literal(context, args[1], event.scope)
        small = isinstance(number, float) and 0 < number <= _SMALL
        if not small and not _DECAY.search(entry_word(args[1])):
            continue
        word = name.removeprefix("optax.")
        given = ast.unparse(args[1])
        yield (
            event,
            args[1],
            f"the second argument of {word} is b1: the average keeps {given} of its gradients, and no weight decays",
            f"write weight_decay={given}" if word in _WITH_DECAY else "name it, or decay by optax.adamw",
        )


def _tokens(context: Context, value: Value, scope: Scope) -> bool:
    """Say whether a value goes into an nnx.Embed as it is."""
    return any(
        value in call.value.args[:1] and owner_class(context, call.value.callee, scope) == "flax.nnx.Embed"
        for call in context.bodies.calls.get(scope, ())
        if isinstance(call.value.callee, Attr)
    )


def _images(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the calls of convolutions over one axis with arrays of four."""
    if not any(module.source.mentions(b"Conv(") for module in context.project.modules):
        return
    arrays = Arrays(context, {})
    layers, chains = context.flow.may.made_by({"Conv"}), context.flow.may.made_by({"Sequential"})
    for module in context.asked.modules:
        if not module.source.mentions(b"nnx"):
            continue
        for event in module.calls:
            if not isinstance(event.value.callee, Attr) or len(event.value.args) != 1:
                continue
            if not layers.may_be(event.value.callee) and not chains.may_be(event.value.callee):
                continue
            made = _convolution(context, event)
            if made is None:
                continue
            size = made.value.argument(2, "kernel_size") if isinstance(made.value, Call) else None
            if size is None or _part(context, made, size) is None:
                continue
            if arrays.of(event.value.args[0], event.scope).axes == 4 and not context.bodies.guarded(
                event.node, event.scope
            ):
                message = "a number as kernel_size is a convolution over one axis, and this array has four"
                yield event, event.node, message, "make the layer with kernel_size=(n, n)"


def _convolution(context: Context, event: CallEvent) -> Bound | None:
    """Return the convolution that a call runs first, by itself or as the first layer of a chain."""
    kind = owner_class(context, event.value.callee, event.scope)
    if kind not in {"flax.nnx.Conv", "flax.nnx.Sequential"}:
        return None
    made = next(iter(context.sources.of(context.flow.here(event.value.callee, event.scope))), None)
    if kind == "flax.nnx.Conv" or made is None:
        return made
    chain = made.value
    if not isinstance(chain, Call) or chain.starred or not chain.args:
        return None
    first = context.flow.follow(made, chain.args[0])
    return first if context.flow.calls.callee_name(first) == "flax.nnx.Conv" else None


def _streams(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the streams that are asked for by calling nnx.Rngs with their name."""
    for module in context.asked.modules:
        if not module.source.mentions(b"rng"):
            continue
        for event in module.calls:
            if len(event.node.args) != 1 or event.node.keywords or not isinstance(event.value.args[0], Const):
                continue
            name = event.value.args[0].value
            if not isinstance(name, str) or not isinstance(event.node.func, ast.Name | ast.Attribute):
                continue
            callee = context.flow.here(event.value.callee, event.scope)
            if context.kinds.only(callee) is Kind.RNGS and not context.bodies.guarded(event.node, event.scope):
                text = event.scope.module.source.text(event.node.func)
                yield event, event.node, "an nnx.Rngs is called without a name", f"write {text}.{name}()"


def _embedded(context: Context, value: Value, scope: Scope, depth: int = 0) -> bool:
    """Say whether a value is what an nnx.Embed gives, through sums and layers that keep its axes, and through the
    calls of the project's modules."""
    found = context.flow.resolve(context.flow.here(value, scope))
    inner = found.value
    if isinstance(inner, Param):
        homes = [(one, _written_in(context, one)) for one in context.sources.originals(found)]
        return bool(homes) and all(
            home is not None and one.value is not inner and depth < _NESTED
            and _embedded(context, one.value, home, depth + 1)
            for one, home in homes
        )  # fmt: skip
    home = found.frame.function.scope if found.frame is not None else scope
    if isinstance(inner, Unknown) and isinstance(inner.node, ast.BinOp):
        values = home.module.values
        parts = [values.get(part) for part in (inner.node.left, inner.node.right)]
        return any(part is not None and _embedded(context, part, home, depth) for part in parts)
    if not isinstance(inner, Call) or not isinstance(inner.callee, Attr):
        return False
    cls = owner_class(context, inner.callee, home)
    if cls == "flax.nnx.Embed":
        return True
    keeping = cls in {"flax.nnx.Dropout", "flax.nnx.LayerNorm", "flax.nnx.RMSNorm", "flax.nnx.Linear"}
    return keeping and bool(inner.args) and _embedded(context, inner.args[0], home, depth)


_NESTED = 3  # modules that hand on what they are given


def _written_in(context: Context, source: Bound) -> Scope | None:
    """Return the body that a value is written in."""
    if source.frame is not None:
        return source.frame.function.scope
    node = getattr(source.value, "node", None)
    if isinstance(node, ast.Call):
        return context.bodies.home(node)
    return context.bodies.module_scope(node) if isinstance(node, ast.expr) else None


def _number(context: Context, bound: Bound) -> int | None:
    """Return the number that a value is in every way through the project; None if it is not just one."""
    sources = context.sources.all_of(bound, lambda value: isinstance(value, Const)) or ()
    found = {source.value.value if isinstance(source.value, Const) else None for source in sources}
    one = found.pop() if len(found) == 1 else None
    return one if type(one) is int else None


def _given(context: Context, event: CallEvent, position: int, name: str) -> int | None:
    value = event.value.argument(position, name)
    return None if value is None else _number(context, context.flow.here(value, event.scope))


def _heads(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    heads = _given(context, event, 0, "num_heads")
    own = keyword(event.node, "qkv_features")
    place, name = (2, "qkv_features") if own else (1, "in_features")
    features = _given(context, event, place, name)
    if features is None and heads:
        features = _undivided(context, event, place, name, heads)
    if heads and features and features % heads:
        message = f"{features} features cannot be divided among {heads} heads"
        yield event, event.node, message, "choose a number of heads that divides them"


def _groups(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    features = _given(context, event, 0, "num_features")
    given = event.value.argument(1, "num_groups")
    if keyword(event.node, "group_size") is not None or len(event.node.args) > 2:
        if not any(key is None for key, _ in event.value.keywords):
            yield from _sized_groups(context, event, given)
        return
    groups = 32 if given is None else _given(context, event, 1, "num_groups")
    if features is None and groups:
        features = _undivided(context, event, 0, "num_features", groups)
    if features is None:
        return
    if groups and features % groups:
        default = " that are the default" if given is None else ""
        message = f"{features} channels cannot be divided into the {groups} groups{default}"
        yield event, event.node, message, "give num_groups that divides them"


def _undivided(context: Context, event: CallEvent, place: int, name: str, parts: int) -> int | None:
    """Return the first number of features, of the several with which a layer is made, that a number of parts does not
    divide."""
    value = event.value.argument(place, name)
    if value is None or context.bodies.behind(event.node, event.scope):
        return None
    if context.bodies.paths(event.scope).get(event.node):
        return None  # perhaps only where it does
    widths = [product(context, one) for one in context.sources.originals(context.flow.here(value, event.scope))]
    return next((width for width in widths if width is not None and width % parts), None)


def _sized_groups(
    context: Context, event: CallEvent, groups: Value | None
) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the groups whose number is given beside their size, also by its default of 32."""
    size = event.value.argument(2, "group_size")
    if size is None or not _some_number(context, context.flow.here(size, event.scope)):
        return
    if groups is None:
        message = "the size of a group is given beside the number of groups, which is 32 unless it is None"
        yield event, event.node, message, "write num_groups=None, group_size=..."
    elif _some_number(context, context.flow.here(groups, event.scope)):
        message = "either the number of groups is given or their size, and the other is None"
        yield event, event.node, message, "write num_groups=None, group_size=..."


def _some_number(context: Context, bound: Bound) -> bool:
    """Say whether a value is a number in every way through the project, not always the same one."""
    sources = context.sources.all_of(bound, lambda value: isinstance(value, Const)) or ()
    return bool(sources) and all(isinstance(s.value, Const) and type(s.value.value) is int for s in sources)


def _kernel(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield convolutions over one axis in a model of images, which goes by its pools and its other kernels."""
    size = event.value.argument(2, "kernel_size")
    function = event.scope.function
    if size is None or function is None or function.owner is None:
        return
    if not isinstance(context.flow.resolve(context.flow.here(size, event.scope)).value, Const):
        return
    if _number(context, context.flow.here(size, event.scope)) is None:
        return
    node = keyword(event.node, "kernel_size") or event.node.args[2]
    for method in function.owner.methods.values():
        for other in context.bodies.calls.get(method.scope, ()):
            func = other.node.func
            window = argument(other.node, 1, "window_shape")
            pooled = isinstance(func, ast.Attribute) and func.attr in _POOLS and isinstance(window, ast.Tuple)
            if pooled and isinstance(window, ast.Tuple) and len(window.elts) == 2:
                message = "a number as kernel_size is a convolution over one axis, and this model pools over two"
                yield event, node, message, "write kernel_size=(n, n)"
                return


def _divided(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the convolutions whose channels cannot be divided among their groups."""
    node = keyword(event.node, "feature_group_count")
    value = event.value.keyword("feature_group_count")
    groups = product(context, context.flow.here(value, event.scope)) if value is not None else None
    if node is None or not groups:
        return
    for place, name in ((1, "out_features"), (0, "in_features")):
        given = event.value.argument(place, name)
        channels = product(context, context.flow.here(given, event.scope)) if given is not None else None
        if channels is not None and channels % groups:
            message = f"{channels} {name.replace('_', ' ')} cannot be divided into {groups} groups"
            yield event, node, message, "give each group as many channels: those of a depthwise layer are its inputs"
            return


def _causal(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield causal convolutions over more than one axis."""
    padding, size = event.value.argument(4, "padding"), event.value.argument(2, "kernel_size")
    if padding is None or size is None:
        return
    given = context.flow.resolve(context.flow.here(padding, event.scope)).value
    shape = context.flow.resolve(context.flow.here(size, event.scope)).value
    if isinstance(given, Const) and given.value == "CAUSAL" and isinstance(shape, Sequence) and len(shape.items) > 1:
        yield event, event.node, "causal padding is for convolutions over one axis", "mask the kernel instead: mask="


def _window(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    shape = event.value.argument(1, "window_shape")
    if shape is not None and _number(context, context.flow.here(shape, event.scope)) is not None:
        node = keyword(event.node, "window_shape") or event.node.args[1]
        yield event, node, "the window is a number, and it needs a length for every axis", "write (n, n)"
        return
    padding = constant(keyword(event.node, "padding"))
    lengths = _moves_by_one(event, 1)
    if lengths and padding in (None, "VALID") and min(lengths) > 1 and _flattened(context, event):
        yield event, event.node, _BY_ONE, f"give strides={lengths}, or (1, ...) where that is meant"


_BY_ONE = "the window moves by one: strides are one unless they are given, other than in PyTorch"


def _moves_by_one(event: CallEvent, place: int) -> tuple[int, ...]:
    """Return the window of a pool without strides; nothing if it has some, or the window is not written.

    Args:
        event: the call of the pool, or of ``functools.partial`` with it.
        place: where the window stands.
    """
    lengths = constant(argument(event.node, place, "window_shape"))
    if len(event.node.args) > place + 1 or keyword(event.node, "strides") is not None or event.value.starred:
        return ()
    if not isinstance(lengths, tuple) or not all(type(n) is int for n in lengths):
        return ()
    return lengths


def _repeated(context: Context) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield the pools of a class or function that pools more than once with windows of even length that move by one:
    where a window is to move by one, its length is odd, so that what it gives has the size of what it gets."""
    found: dict[ast.AST, list[tuple[CallEvent, tuple[int, ...]]]] = {}
    for event, name in foreign(context, "max_pool", "partial"):
        if name == "functools.partial" and event.value.args:
            pool = context.flow.resolve(context.flow.here(event.value.args[0], event.scope)).value
            name = f"partial {getattr(pool, 'name', '')}"
        if name.removeprefix("partial ") != "flax.nnx.max_pool" or context.bodies.guarded(event.node, event.scope):
            continue
        lengths = _moves_by_one(event, 1)
        if max(lengths, default=0) > 1 and not any(n % 2 for n in lengths if n != 1):
            if constant(keyword(event.node, "padding")) in (None, "VALID") and not in_test(event.scope):
                found.setdefault(_outermost(event), []).append((event, lengths))
    for whole, pools in found.items():
        if _ON_PURPOSE.search(pools[0][0].scope.module.source.text(whole)):
            continue
        for event, lengths in pools:
            alike = sum(other == lengths for _, other in pools) > 1 or bool(set(event.loops)) or _called(context, event)
            if alike and not (
                last_word(event.node.func) == "max_pool" and min(lengths) > 1 and _flattened(context, event)
            ):
                yield event, event.node, _BY_ONE, f"give strides={lengths}, or (1, ...) where that is meant"


def _called(context: Context, event: CallEvent) -> bool:
    """Say whether a function that does nothing but pool is called several times, or in a loop."""
    function = event.scope.function
    if function is None or not isinstance(event.statement, ast.Return) or event.statement.value is not event.node:
        return False
    callers = callers_of(context, function)
    return len(callers) > 1 or any(caller.loops for caller in callers)


_ON_PURPOSE = pattern(r"blur|alias|dilat|ero[ds]|morph|nms|peak|sliding|smooth|rolling|strides?\s*=\s*\(?1\b", re.I)


def _outermost(event: CallEvent) -> ast.AST:
    """Return the class, or else the outermost function, that a call stands in; in none of them its statement."""
    scope = event.scope
    while scope.parent is not None and scope.parent.parent is not None:
        scope = scope.parent
    return event.statement if scope.parent is None else scope.node


def _flattened(context: Context, event: CallEvent) -> bool:
    """Say whether the function flattens what it pools, for a layer with a fixed number of features."""
    return any(
        last_word(other.node.func) in {"reshape", "flatten", "ravel", "rearrange"}
        and other.node.lineno >= event.node.lineno
        for other in context.bodies.calls.get(event.scope, ())
    )


def _chain(context: Context, event: CallEvent) -> Iterator[tuple[CallEvent, ast.expr, str, str]]:
    """Yield linear layers that take another number of features than the one before gives."""
    width: int | None = None
    for node, value in zip(event.node.args, event.value.args, strict=True):
        made = context.flow.resolve(context.flow.here(value, event.scope))
        name = context.flow.calls.callee_name(made)
        if name == "flax.nnx.Linear" and isinstance(made.value, Call):
            taken = _part(context, made, made.value.argument(0, "in_features"))
            if width is not None and taken is not None and taken != width:
                yield (
                    event,
                    node,
                    f"this layer takes {taken} features, and the one before gives {width}",
                    "give it as many",
                )
            width = _part(context, made, made.value.argument(1, "out_features"))
        elif not _pointwise(context, value, event):
            width = None


def _part(context: Context, made: Bound, value: Value | None) -> int | None:
    return None if value is None else _number(context, context.flow.with_value(made, value))


_POINTWISE = frozenset(
    {"relu", "gelu", "silu", "swish", "tanh", "sigmoid", "leaky_relu", "elu", "softplus", "selu", "softmax"}
)


def _pointwise(context: Context, value: Value, event: CallEvent) -> bool:
    """Say whether a step keeps the number of features."""
    found = context.flow.resolve(context.flow.here(value, event.scope))
    name = getattr(found.value, "name", "") or context.flow.calls.callee_name(found)
    home, _, word = str(name).rpartition(".")
    return word in _POINTWISE or (
        home == "flax.nnx" and word in {"Dropout", "LayerNorm", "BatchNorm", "RMSNorm", "GroupNorm"}
    )

"""NNX703: paddings of transposed convolutions as PyTorch counts them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import foreign, in_test
from codemods.nnx.values import Const, Sequence, Value

# the positions of the features, the kernel, the strides and the padding
_ORDER = {"flax.nnx.": (2, 3, 4), "flax.linen.": (1, 2, 3)}


class _Window(NamedTuple):
    """What a convolution does along each axis.

    Attributes:
        kernel: the lengths of the kernel.
        strides: the steps.
        padding: how much stands before and behind, as much of it on both sides.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]


def _check(context: Context) -> Iterator[Finding]:
    mirrored: list[tuple[CallEvent, _Window]] = []
    for event, name in foreign(context, "ConvTranspose"):
        home = name.removesuffix("ConvTranspose")
        if home not in _ORDER or event.value.starred or in_test(event.scope):
            continue
        window = _window(context, event, home)
        if window is None or context.bodies.guarded(event.node, event.scope):
            continue
        axes = [*zip(*window, strict=True)]
        stride = next((step for kernel, step, padding in axes if step > 1 and kernel - 2 * padding == step), None)
        if stride is not None:
            yield _told(event, f"this gives {stride}n - {2 * stride - 2} of n places, and not {stride}n", axes)
        elif any(kernel != 2 * padding + 1 for kernel, _, padding in axes):
            mirrored.append((event, window))
    if mirrored:
        yield from _undone(context, mirrored)


def _undone(context: Context, mirrored: list[tuple[CallEvent, _Window]]) -> Iterator[Finding]:
    """Yield the transposed convolutions that are to undo a convolution of the same class, and do not."""
    for event, name in foreign(context, "Conv"):
        home = name.removesuffix("Conv")
        if home not in _ORDER or event.value.starred:
            continue
        window = _window(context, event, home)
        for other, its in mirrored:
            if (
                window == its
                and _owner(other) is _owner(event)
                and _features(other, home) == _features(event, home)[::-1]
            ):
                yield _told(
                    other,
                    "this does not undo the convolution with the same kernel, strides and padding",
                    [*zip(*its, strict=True)],
                )
                mirrored = [one for one in mirrored if one[0] is not other]


def _told(event: CallEvent, what: str, axes: Iterable[tuple[int, int, int]]) -> Finding:
    fitting = [kernel - 1 - padding for kernel, _, padding in axes]
    written = str(fitting[0]) if len(set(fitting)) == 1 else str(tuple((one, one) for one in fitting))
    return finding(
        RULE.code,
        event.scope,
        event.node,
        f"{what}: JAX pads what the kernel goes over, and PyTorch takes the padding off the result",
        f'write padding={written}, which is what PyTorch does, or padding="SAME"',
    )


def _owner(event: CallEvent) -> object:
    function = event.scope.function
    return function.owner or function if function is not None else event.scope


def _features(event: CallEvent, home: str) -> list[str]:
    """Return how the numbers of features are written, those of the input first."""
    names = ("in_features", "out_features")[: _ORDER[home][0]]
    by_name = {k.arg: ast.unparse(k.value) for k in event.node.keywords}
    return [
        ast.unparse(event.node.args[i]) if i < len(event.node.args) else by_name.get(name, f"{i}")
        for i, name in enumerate(names)
    ]


def _window(context: Context, event: CallEvent, home: str) -> _Window | None:
    """Return what a convolution does, if all of it is given in numbers."""
    if any(key in {None, "kernel_dilation", "input_dilation", "transpose_kernel"} for key, _ in event.value.keywords):
        return None
    places = dict(zip(("kernel_size", "strides", "padding"), _ORDER[home], strict=True))
    given = {name: event.value.argument(place, name) for name, place in places.items()}
    if given["kernel_size"] is None or given["padding"] is None:
        return None
    kernel = _lengths(context, given["kernel_size"], event)
    padding = _lengths(context, given["padding"], event)
    strides = (1,) if given["strides"] is None else _lengths(context, given["strides"], event)
    if kernel is None or padding is None or strides is None:
        return None
    number = len(kernel)
    parts = [one * number if len(one) == 1 else one for one in (strides, padding)]
    return _Window(kernel, parts[0], parts[1]) if all(len(one) == number for one in parts) else None


def _lengths(context: Context, value: Value, event: CallEvent) -> tuple[int, ...] | None:
    """Return the number for each axis that a value gives, or one for all; also of equal pairs of them."""
    bound = context.flow.resolve(context.flow.here(value, event.scope))
    if isinstance(bound.value, Sequence):
        found = [_length(context, context.flow.with_value(bound, one)) for one in bound.value.items]
        return tuple(one for one in found if one is not None) if found and None not in found else None
    one = _number(context, bound)
    return None if one is None else (one,)


def _length(context: Context, bound: Bound) -> int | None:
    found = context.flow.resolve(bound)
    if isinstance(found.value, Sequence) and len(found.value.items) == 2:
        both = {_number(context, context.flow.with_value(found, one)) for one in found.value.items}
        return both.pop() if len(both) == 1 else None
    return _number(context, found)


def _number(context: Context, bound: Bound) -> int | None:
    """Return the number that a value is in every way through the project; None if it is not just one."""
    sources = context.sources.all_of(bound, lambda value: isinstance(value, Const)) or ()
    found = {source.value.value if isinstance(source.value, Const) else None for source in sources}
    one = found.pop() if len(found) == 1 else None
    return one if type(one) is int else None


RULE = lint_rule(
    "NNX703",
    "torch-padding",
    "a padding of a transposed convolution as PyTorch counts it",
    why="""\
`ConvTranspose` of Flax pads what the kernel goes over, so that more padding gives a larger result. PyTorch takes the
padding off the result, so that more of it gives a smaller one: its `padding=p` is `padding=kernel_size - 1 - p` here.
With a kernel of 4, strides of 2 and `padding=1`, PyTorch makes 16 places of 8, and Flax 14; with `padding=0` the result
of a kernel of 2 loses two places. A decoder does not give back the shape that the encoder got.
""",
    source="google/flax#4593; measured on Flax 0.10.7, 0.11.2 and 0.12.8",
    check=_check,
    bad=(
        """\
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.up = nnx.ConvTranspose(8, 3, kernel_size=(4, 4), strides=(2, 2), padding=1, rngs=rngs)
""",
    ),
    clean=(
        """\
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.wide = nnx.ConvTranspose(8, 4, kernel_size=(4, 4), strides=(2, 2), padding=2, rngs=rngs)
        self.same = nnx.ConvTranspose(4, 3, kernel_size=(4, 4), strides=(2, 2), padding="SAME", rngs=rngs)
""",
    ),
)

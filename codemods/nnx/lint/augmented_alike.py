"""Images of a batch that are all cropped, turned or flipped by the same random numbers; part of NNX836."""

from __future__ import annotations

import ast
import re

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts
from codemods.nnx.lint.applied import calls_of
from codemods.nnx.lint.keys import SAME
from codemods.nnx.lint.names import BATCHING
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import entry_word
from codemods.nnx.lint.traced import Root
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Param

_CHANGING = pattern(
    r"(^|_)(augment\w*|aug|crop|flip|shift|jitter|rotat\w+|cutout|eras\w+|distort\w*|translat\w+|affine)(_|$)"
)
_IMAGE = pattern(r"^(imgs?|images?|pictures?|photos?)$", re.I)
_IMAGES = pattern(r"(^|_)(imgs|images|image|pictures|photos)(_batch)?$", re.I)
# what gets the same change on purpose: pictures of one scene, or with what belongs to them
_ON_PURPOSE = pattern(
    r"video|clip|frame|sequence|temporal|view|pair|stack|consist|same|shared|sync|episode|traj|burst|stereo", re.I
)


def augmented_alike(context: Context, root: Root, keys: list[Param], mapped: list[Param]) -> str:
    """Return the name of a key by which all images of a batch are changed in the same way.

    Args:
        context: the analysis.
        root: the ``vmap``.
        keys: the parameters that are not mapped, which the function draws with.
        mapped: the parameters that are mapped.
    """
    function = root.function
    images = [param for param in mapped if _IMAGE.search(param.name)]
    if not keys or not images or not _CHANGING.search(function.name) or _ON_PURPOSE.search(function.name):
        return ""
    if any(_ON_PURPOSE.search(param.name) or SAME.search(param.name) for param in (*keys, *mapped)):
        return ""
    events = list(calls_of(context, root))
    if not events or not all(_of_batch(context, event, root, images[0]) for event in events):
        return ""
    return keys[0].name


def _of_batch(context: Context, event: CallEvent, root: Root, image: Param) -> bool:
    """Say whether a call gives the images of a batch, and stands in no function for what belongs together."""
    params = [p for p in root.function.params.values() if p is not root.function.self_param]
    place = params.index(image) if image in params else -1
    if in_test(event.scope) or event.value.starred or not 0 <= place < len(event.node.args):
        return False
    given = event.node.args[place]
    named = isinstance(given, ast.Name | ast.Attribute | ast.Subscript) and _IMAGES.search(entry_word(given))
    around: FunctionFacts | None = event.scope.function
    if around is None:
        return bool(named)
    tracing = context.traced.get(around)
    within = tracing is not None and any(one.transform in BATCHING for one in tracing.roots)
    return bool(named) and not within and not _ON_PURPOSE.search(around.name)

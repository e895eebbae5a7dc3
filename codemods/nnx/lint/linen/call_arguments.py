"""Arguments of ``init`` and ``apply`` that ``__call__`` of the module does not take, or needs; part of NNX587."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.lint.linen.modules import classes_of, receiver_modules, wanted
from codemods.nnx.nodes import last_word

# what the method of Linen takes for itself
_OWN = frozenset({"rngs", "method", "mutable", "capture_intermediates", "variables"})
_DECORATORS = frozenset({"compact", "nowrap", "remat", "checkpoint", "jit", "named_call"})


def call_arguments(context: Context) -> Iterator[tuple[CallEvent, str, str]]:
    """Yield the calls with too few or too many arguments, or of other names, with what is wrong and what to do.

    Args:
        context: the analysis.
    """
    for event in context.bodies.named("init", "apply", "init_with_output"):
        keywords = {name for name, _ in event.value.keywords if name is not None}
        if not event.value.args or "method" in keywords or not wanted(context, event):
            continue
        classes = classes_of(context, receiver_modules(context, event))
        found = [_wrong(context, cls, event, keywords - _OWN) for cls in classes]
        first = next(iter(found), None)
        if first is not None and all(found):
            yield event, *first


def _wrong(context: Context, cls: ClassFacts, event: CallEvent, keywords: set[str]) -> tuple[str, str] | None:
    """Return what is wrong with the arguments for one class; None if nothing is."""
    method = context.flow.classes.method(cls, "__call__")
    if method is None or method.vararg is not None or not _plain(method):
        return None
    names = list(method.params)[1 : method.positional]
    given = len(event.value.args) - 1
    word = last_word(event.node.func)
    if given > len(names):
        return (
            f"`{cls.name}` is called with {len(names)} argument{'' if len(names) == 1 else 's'}, and gets {given} "
            f"behind the first of `{word}`",
            f"its __call__ takes ({', '.join(names)})",
        )
    behind = [name for name in list(method.params)[1:] if name != method.kwarg]
    missing = [name for name in behind[given:] if name not in keywords and name not in method.defaults]
    if missing:
        return (
            f"`{cls.name}` needs `{missing[0]}`, and `{word}` is not given it",
            f"give it behind the first argument of {word}",
        )
    others = keywords.difference(behind)
    if others and method.kwarg is None:
        return (
            f"`{cls.name}` takes no argument `{sorted(others)[0]}`",
            f"its __call__ takes ({', '.join(behind)})",
        )
    return None


def _plain(method: FunctionFacts) -> bool:
    """Say whether the decorators of a method leave its arguments as they are."""
    decorators = getattr(method.node, "decorator_list", ())
    return all(last_word(getattr(one, "func", one)) in _DECORATORS for one in decorators)

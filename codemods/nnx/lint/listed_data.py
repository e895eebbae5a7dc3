"""Lists and dicts that text of JSON has, that functions make, or that a command line gives; part of NNX826."""

from __future__ import annotations

import ast
import json

from codemods.nnx.context import Context
from codemods.nnx.frames import Bound, Indexed, Part
from codemods.nnx.lint.command_line import is_parsed, option_word
from codemods.nnx.lint.static_parts import DISPLAYS, LISTING
from codemods.nnx.lint.syntax import entry_word, keyword
from codemods.nnx.nodes import every
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Free,
    Function,
    Item,
    Mapping,
    ModuleRef,
    Param,
    Ref,
    Sequence,
)

_DEPTH = 6
_MANY = 100
_LONG = 100_000  # characters of text that is looked into


def listed(context: Context, bound: Bound, seen: set[Bound] | None = None) -> bool:
    """Say whether a value is a list, dict or set on every way that it may come from; what is made a tuple is none.

    Args:
        context: the analysis.
        bound: the value, not yet followed, since what is followed loses its ``tuple(...)``.
        seen: the values that were asked about on the way here, all of which have to be lists.
    """
    seen = set() if seen is None else seen
    if bound in seen:
        return True
    seen.add(bound)
    if len(seen) > _MANY:
        return False
    value = bound.value
    if isinstance(value, Sequence | Mapping):
        return isinstance(value.node, DISPLAYS)
    if isinstance(value, Comprehension):
        return value.loop in context.shared(_loops_of_displays)
    if isinstance(value, Changed):
        before = context.flow.with_value(bound, value.before)
        return isinstance(value.node, DISPLAYS) or listed(context, before, seen)
    if isinstance(value, Part):
        return listed(context, value.of, seen)
    if isinstance(value, Call):
        return _made(context, bound, value, seen)
    if isinstance(value, Attr) and _of_parser(context, bound, value):
        return True
    found = ways(context, bound)
    return bool(found) and all(listed(context, way, seen) for way in found)


def ways(context: Context, bound: Bound) -> list[Bound]:
    """Return what a variable, an attribute or an entry of a container may be; empty if that is not known.

    Args:
        context: the analysis.
        bound: the value, not yet followed.
    """
    flow, value = context.flow, bound.value
    if isinstance(value, Choice):
        return [flow.with_value(bound, option) for option in value.options]
    if isinstance(value, Free):
        return [flow.here(value.scope.env[value.name], value.scope)] if value.name in value.scope.env else []
    if isinstance(value, Param):
        frames = [bound.frame] if bound.frame is not None and bound.frame.site is not None else []
        given = [flow.argument(one, value.name) for one in frames or flow.sites.entries(value.function)]
        if not given and value.name in value.function.defaults:
            given = [Bound(value.function.defaults[value.name], flow.open_frame(value.function.scope.parent))]
        return [one for one in given if one is not None] if None not in given else []
    if isinstance(value, Attr):
        base = flow.follow(bound, value.base).value
        if isinstance(base, ModuleRef):
            return _of_module(context, base, value.name)
        instances = context.sources.originals(flow.with_value(bound, value.base))
        fields = [flow.fields.field(one, value.name) for one in instances]
        return [one for some in fields for one in some] if all(fields) else []
    if isinstance(value, Item | Indexed):
        index = value.index if isinstance(value, Indexed) else flow.follow(bound, value.index)
        bases = context.sources.originals(flow.with_value(bound, value.base))
        entries = [_entry(context, one, index) for one in bases]
        return [one for one in entries if one is not None] if None not in entries else []
    return []


def _of_module(context: Context, ref: ModuleRef, name: str) -> list[Bound]:
    """Return what a variable of a module of the project is, if it is bound once; empty if that is not known."""
    module = context.project.find(ref.name, ref.importer)
    bound = module.scope.bindings.get(name, []) if module is not None else []
    return [context.flow.here(bound[0], module.scope)] if module is not None and len(bound) == 1 else []


def _entry(context: Context, base: Bound, index: Bound) -> Bound | None:
    """Return what stands under a key in a display, as it is written there, or in a text of JSON."""
    key = index.value.value if isinstance(index.value, Const) else None
    if not isinstance(key, str | int) or key in context.shared(_keys):
        return None
    if isinstance(base.value, Mapping):
        found = [one for name, one in base.value.items if isinstance(name, Const) and name.value == key]
        return context.flow.with_value(base, found[0]) if len(found) == 1 else None
    part = _part(_text(context, base, 0), key)
    return Bound(Sequence(ast.List([], ast.Load()), ())) if isinstance(part, list | dict) else None


def stored(context: Context, node: ast.expr) -> bool:
    """Say whether an entry of such a name is set anywhere: ``config["shape"] = tuple(config["shape"])``."""
    return entry_word(node) in context.shared(_keys)


def _keys(context: Context) -> set[object]:
    """Return the keys under which something is put into containers, lists left out."""
    return {
        store.node.slice.value
        for module in context.project.modules
        for store in module.item_stores
        if isinstance(store.node.slice, ast.Constant)
        and not isinstance(getattr(store.statement, "value", None), DISPLAYS)
    }


def _loops_of_displays(context: Context) -> set[ast.AST]:
    """Return the loops of the comprehensions that make lists, dicts and sets; others are generators."""
    displays = (ast.ListComp, ast.DictComp, ast.SetComp)
    return {
        node.generators[0]
        for module in context.project.modules
        for node in module.source.of_type(*displays)
        if isinstance(node, displays)
    }


def _made(context: Context, source: Bound, value: Call, seen: set[Bound]) -> bool:
    flow = context.flow
    name = flow.calls.callee_name(source)
    given = [flow.with_value(source, one) for one in value.args]
    if name == "dataclasses.field":
        return _from_factory(context, source, value, seen)
    if name == "typing.cast" and len(given) == 2:
        return listed(context, given[1], seen)
    if name == "json.loads":
        return isinstance(_text(context, source, 0), list | dict)
    if name:
        return name in LISTING or name == "dataclasses.asdict"
    if isinstance(value.callee, Attr) and len(given) == 1 and not value.keywords:
        word = value.callee.name
        if word == "split":
            separator = flow.resolve(given[0]).value
            return isinstance(separator, Const) and isinstance(separator.value, str)
        if word == "get":
            base = flow.follow(source, value.callee.base)
            item = _entry(context, base, flow.resolve(given[0])) if isinstance(base.value, Mapping) else None
            return item is not None and listed(context, item, seen)
    results = [
        Bound(result, frame)
        for callee, frame in flow.calls.invoked(source)
        if not callee.gradient and not callee.function.generator
        for result in callee.function.returns
    ]
    return bool(results) and all(listed(context, one, seen) for one in results)


def _from_factory(context: Context, source: Bound, value: Call, seen: set[Bound]) -> bool:
    """Say whether the default of a field is a list: ``field(default_factory=lambda: [8, 8])``."""
    factory = value.keyword("default_factory")
    made = context.flow.follow(source, factory).value if factory is not None else None
    if isinstance(made, Function):
        returns = made.facts.returns
        return len(returns) == 1 and listed(context, Bound(returns[0]), seen)
    return isinstance(made, Ref) and made.name in LISTING


def _text(context: Context, source: Bound, depth: int) -> object:
    """Return the part of a text of JSON that a value is; None if it is none."""
    value = source.value
    if depth > _DEPTH:
        return None
    if isinstance(value, Item | Indexed):
        index = value.index.value if isinstance(value, Indexed) else value.index
        key = index.value if isinstance(index, Const) else None
        if not isinstance(key, str | int) or key in context.shared(_keys):
            return None
        bases = context.sources.originals(context.flow.with_value(source, value.base))
        wholes = [_text(context, one, depth + 1) for one in bases]
        return _part(wholes[0], key) if len(wholes) == 1 else None
    if not isinstance(value, Call) or context.flow.calls.callee_name(source) != "json.loads":
        return None
    if len(value.args) != 1 or value.keywords:
        return None
    texts = context.sources.originals(context.flow.with_value(source, value.args[0]))
    written = [one.value.value if isinstance(one.value, Const) else None for one in texts]
    text = written[0] if len(written) == 1 else None
    if not isinstance(text, str) or len(text) > _LONG:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _part(whole: object, key: str | int) -> object:
    """Return an entry of a dict or list; None if there is none."""
    if isinstance(whole, dict):
        return whole.get(key)
    inside = isinstance(whole, list) and isinstance(key, int) and -len(whole) <= key < len(whole)
    return whole[key] if isinstance(whole, list) and isinstance(key, int) and inside else None


def _of_parser(context: Context, source: Bound, value: Attr) -> bool:
    """Say whether an attribute of parsed arguments is a list: one of several, which is required or has a list."""
    parsed = context.flow.follow(source, value.base)
    if not isinstance(parsed.value, Call) or not is_parsed(parsed.value):
        return False
    home = context.bodies.home(parsed.value.node)
    scopes = {home} if home is not None else set()
    options = [
        event.node
        for event in context.bodies.named("add_argument")
        if event.scope in scopes
        and event.node.args
        and isinstance(event.node.args[-1], ast.Constant)
        and option_word(event.node.args[-1]) == value.name
    ]
    changed = any(
        isinstance(node, ast.Attribute) and node.attr == value.name and isinstance(node.ctx, ast.Store)
        for scope in scopes
        for node in every(scope.module.source.tree)
    )
    return len(options) == 1 and not changed and _takes_several(options[0])


def _takes_several(option: ast.Call) -> bool:
    """Say whether an option of a command line always gives a list."""
    many, default, required = (keyword(option, word) for word in ("nargs", "default", "required"))
    if keyword(option, "action") is not None or keyword(option, "dest") is not None:
        return False
    several = isinstance(many, ast.Constant) and (many.value in {"+", "*"} or type(many.value) is int)
    needed = isinstance(required, ast.Constant) and required.value is True
    return several and (isinstance(default, ast.List) or needed)

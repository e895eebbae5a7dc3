"""NNX747: a static object that changes only in fields that its comparison leaves out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ClassFacts, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import jit_of
from codemods.nnx.lint.static_parts import dataclass_options
from codemods.nnx.lint.statics import static_arguments
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Class, Const, Value


def _check(context: Context) -> Iterator[Finding]:
    if not any(module.source.mentions(b"compare") for module in context.project.modules):
        return
    uncompared = {cls: left for cls in context.project.classes() if (left := _uncompared(context, cls))}
    told: set[ast.AST] = set()
    for event, node, name in static_arguments(context, receivers=True) if uncompared else ():
        cls = _class(context, node, event.scope)
        if cls is None or cls not in uncompared:
            continue
        left_out = uncompared[cls]
        for root in jit_of(context, event):
            for read in _reads(root.function, name, left_out):
                if read not in told and _changed(context, cls, read.attr, left_out):
                    told.add(read)
                    yield finding(
                        RULE.code,
                        root.function.scope,
                        read,
                        f"`{read.attr}` is left out where `{cls.name}` objects are compared: the compiled code of "
                        "another value is used",
                        f"leave out compare=False of `{read.attr}`, or give it as an ordinary argument",
                    )
                    break


def _class(context: Context, node: ast.expr, scope: Scope) -> ClassFacts | None:
    """Return the class of the objects that an argument may be, as far as they are known."""
    value = scope.module.values.get(node)
    if value is None:
        return None
    found: set[ClassFacts] = set()
    pending = [context.flow.here(value, scope)]
    seen: set[Value] = set()
    while pending:
        for one in context.sources.of(pending.pop()):
            cls = context.flow.classes.class_of(one)
            if cls is not None:
                found.add(cls)
            elif isinstance(one.value, Call) and one.value.args and one.value not in seen:
                seen.add(one.value)
                if context.flow.calls.callee_name(one) in _COPYING:  # in a loop, of what the last round made
                    pending.append(context.flow.with_value(one, one.value.args[0]))
    return found.pop() if len(found) == 1 else None


_COPYING = frozenset({"dataclasses.replace", "copy.replace"})


def _uncompared(context: Context, cls: ClassFacts) -> set[str]:
    """Return the fields of a frozen dataclass that two equal objects may differ in, and that a caller gives."""
    options = dataclass_options(context, cls) if not cls.bases else None
    if options is None or options.get("frozen") is not True or options.get("eq") is False:
        return set()
    if {"__eq__", "__hash__", "__post_init__"} & set(cls.scope.bindings):
        return set()
    found: set[str] = set()
    for name in cls.fields:
        made = cls.scope.env.get(name)
        if not isinstance(made, Call) or made.starred or last_word(made.node.func) != "field":
            continue
        given = {key: value.value for key, value in made.keywords if isinstance(value, Const)}
        if given.get("compare", True) is False and given.get("init", True) is True and not given.get("hash"):
            found.add(name)
    return found


def _reads(function: FunctionFacts, name: str, fields: set[str]) -> list[ast.Attribute]:
    """Return the places where a function, or one inside it, reads some fields of a parameter."""
    found: list[ast.Attribute] = []
    for node in ast.walk(function.node):
        inner = node is not function.node and isinstance(node, ast.FunctionDef | ast.Lambda)
        if inner and any(arg.arg == name for arg in ast.walk(node) if isinstance(arg, ast.arg)):
            return []
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
            return []
        if isinstance(node, ast.Attribute) and node.attr in fields and isinstance(node.value, ast.Name):
            if node.value.id == name:
                found.append(node)
    return sorted(found, key=lambda read: (read.lineno, read.col_offset))


def _changed(context: Context, cls: ClassFacts, field: str, left_out: set[str]) -> bool:
    """Say whether objects of a class are made that differ in a field, and in none that is compared."""
    made: dict[tuple[str, ...], set[str]] = {}
    for event in context.bodies.named("replace"):
        keywords = {key for key, _ in event.value.keywords}
        if field not in keywords or not keywords <= left_out or not event.node.args:
            continue
        if context.flow.calls.name(event) in _COPYING and _class(context, event.node.args[0], event.scope) is cls:
            return True
    for event in context.bodies.named(cls.name):
        callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
        if not isinstance(callee, Class) or callee.facts is not cls or event.value.starred:
            continue
        given: dict[str, ast.expr] = dict(zip(cls.fields, event.node.args, strict=False))
        given |= {key.arg: key.value for key in event.node.keywords if key.arg}
        others = [value for name, value in given.items() if name not in left_out]
        if not all(isinstance(value, ast.Constant) for value in others):
            continue
        value = given.get(field)
        if value is not None and _in_loop(context, event, value):
            return True
        same = tuple(sorted(f"{name}={ast.unparse(one)}" for name, one in given.items() if name not in left_out))
        if value is None:
            made.setdefault(same, set()).add(_default(cls, field))
        elif isinstance(value, ast.Constant):
            made.setdefault(same, set()).add(ast.unparse(value))
    return any(len(values - {""}) > 1 for values in made.values())


def _default(cls: ClassFacts, field: str) -> str:
    """Return the text of the constant that a field is where nothing is given for it; nothing for others."""
    made = cls.scope.env.get(field)
    default = made.keyword("default") if isinstance(made, Call) else None
    return repr(default.value) if isinstance(default, Const) else ""


def _in_loop(context: Context, event: CallEvent, value: ast.expr) -> bool:
    """Say whether an object is made with the variable of a loop."""
    if not isinstance(value, ast.Name):
        return False
    for outer, _ in context.bodies.paths(event.scope).get(event.node, ()):
        if isinstance(outer, ast.For) and any(
            isinstance(n, ast.Name) and n.id == value.id for n in ast.walk(outer.target)
        ):
            return True
    return False


RULE = lint_rule(
    "NNX747",
    "uncompared-static-field",
    "compiled code reads a field of a static argument that compare=False leaves out",
    why="""\
Compiled code is looked up by static arguments that are equal. A field with `compare=False` takes no part in that: an
object that differs only there gets the code that was compiled with the value of the first one, silently.
""",
    source="documentation of jax.jit (static_argnums) and of dataclasses.field; measured on JAX 0.10.2",
    check=_check,
    bad=(
        """\
from dataclasses import dataclass, field, replace
from functools import partial

import jax


@dataclass(frozen=True)
class Settings:
    size: int
    scale: float = field(default=1.0, compare=False)


@partial(jax.jit, static_argnums=0)
def scaled(settings, x):
    return settings.scale * x


settings = Settings(3)
print(scaled(settings, 1.0), scaled(replace(settings, scale=2.0), 1.0))
""",
    ),
    clean=(
        """\
from dataclasses import dataclass, field, replace
from functools import partial

import jax


@dataclass(frozen=True)
class Settings:
    size: int
    scale: float = 1.0
    label: str = field(default="", compare=False)


@partial(jax.jit, static_argnums=0)
def scaled(settings, x):
    return settings.scale * x


settings = Settings(3)
print(scaled(settings, 1.0), scaled(replace(settings, scale=2.0, label="b"), 1.0))
""",
    ),
)

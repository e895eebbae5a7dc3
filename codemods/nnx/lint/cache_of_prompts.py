"""NNX543: prompts that are answered one after the other with one cache."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import callers_of, in_test
from codemods.nnx.lint.syntax import constant, inside, names_in, root_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Function

# what gives a model other arrays for its cache, or sets its index back
_RESETTING = (b"clone", b"copy", b"nnx.merge", b"nnx.split", b"nnx.update", b"nnx.state",
              b"reset", b"nnx.pop", b"nnx.Cache", b"nnx.map_state", b"setattr")  # fmt: skip
# where the index or the keys are set, or handed on under another name; to read them changes nothing
_SET_BACK = pattern(
    rb"(cache_index|cached_key)(\.(raw_)?value|\[[^\]\n]*\])?(\s*=(?!=)|\.(set_value|copy_from)|[\"'])"
    rb"|=\s*[\w.\[\]]*(cache_index|cached_key)\s*$",
    re.M,
)
_PROMPTS = pattern(r"(^|_)(prompts|questions|queries|requests|sentences|texts)(_|$)", re.I)
_ONE_TALK = pattern(
    r"chat|conversation|dialog|turn|history|talk|session|stream|chunk|segment|continu|reply|replies", re.I
)


def _check(context: Context) -> Iterator[Finding]:
    modules = context.project.modules
    if not any(module.source.mentions(b"init_cache") for module in modules):
        return
    wrappers = _wrappers(context)
    named = re.compile(rf"\b({'|'.join(map(re.escape, wrappers))})\b".encode()) if wrappers else None
    for module in modules:
        text = named.sub(b"", module.source.data) if named is not None else module.source.data
        if any(word in text for word in _RESETTING) or _SET_BACK.search(text):
            return
    made = [*context.bodies.named("init_cache")]
    if wrappers:
        made = [one for one in made if one.scope.function is None or one.scope.function.name not in wrappers]
        made += context.bodies.named(*wrappers)
    if not made:
        return
    scopes = {event.scope for event in made}
    if len(scopes) != 1 or not _decodes(context) or in_test(made[0].scope):
        return
    names = {root.id for event in made if isinstance(root := root_of(event.node.func), ast.Name)}
    begun = {name for event in made for loop in event.loops for name in _owner(loop)} | names
    last = max(event.node.lineno for event in made)
    scope = made[0].scope
    yield from _of_constructor(context, made, begun)
    if scope.module not in context.asked:
        return
    for event in context.bodies.calls.get(scope, ()):
        loop = next((one for one in reversed(event.loops) if isinstance(one, ast.For | ast.comprehension)), None)
        if (
            loop is None
            or event.node.lineno <= last
            or any(loop in one.loops or inside(one.node, loop) for one in made)
        ):
            continue
        if _of_prompts(scope.node, loop) and _answers(context, event, loop, begun):
            yield finding(
                RULE.code,
                scope,
                event.node,
                "every prompt goes on behind the tokens of those before: the cache is made once, before the loop",
                "call init_cache for each prompt, where its answer begins",
                related=[(made[0].node, "made here")],
            )
            return


def _of_constructor(context: Context, made: list[CallEvent], begun: set[str]) -> Iterator[Finding]:
    """Yield the call of a method for each prompt, where the constructor of its object alone makes the cache."""
    function = made[0].scope.function
    me = function.self_param if function is not None and function.name == "__init__" else None
    if function is None or me is None or function.owner is None:
        return
    nodes = [n for event in made for n in (event.node.func, *(one.iter for one in event.loops if _iterates(one)))]
    fields = _read_fields(nodes, me.name)
    for node in context.bodies.nodes(function.scope):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in begun - {me.name}:
            fields |= _read_fields(node.targets, me.name)
    for method in function.owner.methods.values():
        own = method.self_param
        if own is None or method.name.startswith("__") or _ONE_TALK.search(method.name) or not _loops(method.node):
            continue
        if not fields & _read_fields([method.node], own.name):
            continue
        for event in callers_of(context, method):
            loop = next((one for one in reversed(event.loops) if _iterates(one)), None)
            if loop is None or event.scope.module not in context.asked or in_test(event.scope):
                continue
            given = set().union(*(names_in(one) for one in (*event.node.args, *event.node.keywords)))
            held = event.node.func.value if isinstance(event.node.func, ast.Attribute) else None
            if not given & names_in(loop.target) or not isinstance(held, ast.Name | ast.Attribute):
                continue
            if context.bodies.guarded(event.node, event.scope) or _stored(loop) & names_in(held):
                continue
            if _of_prompts(event.scope.node, loop):
                yield finding(
                    RULE.code,
                    event.scope,
                    event.node,
                    "every prompt goes on behind the tokens of those before: the cache is made once, with the object",
                    f"call init_cache in `{method.name}`, where an answer begins",
                )
                return


def _iterates(loop: ast.AST) -> TypeGuard[ast.For | ast.comprehension]:
    return isinstance(loop, ast.For | ast.comprehension)


def _read_fields(nodes: Iterable[ast.AST], me: str) -> set[str]:
    """Return the attributes of ``self`` in some nodes."""
    return {
        n.attr
        for node in nodes
        for n in ast.walk(node)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == me
    }


def _stored(loop: ast.AST) -> set[str]:
    """Return the names that a loop binds."""
    return {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def _loops(node: ast.AST) -> bool:
    """Say whether a function goes over something, as over the tokens of an answer."""
    return any(
        isinstance(one, ast.For | ast.While | ast.comprehension)
        or (isinstance(one, ast.Call) and last_word(one.func) in {"map", "scan", "fori_loop", "while_loop"})
        for one in ast.walk(node)
    )


def _wrappers(context: Context) -> list[str]:
    """Return the names of the methods that do nothing but make the caches of their object anew."""
    names = {event.scope.function.name for event in context.bodies.named("init_cache")
             if event.scope.function is not None and event.scope.function.owner is not None
             and _only_makes(event.scope.function.node)}  # fmt: skip
    methods = [name for cls in context.project.classes() for name in cls.methods]
    return sorted(name for name in names if name not in {"__init__", "__call__"} and methods.count(name) == 1)


def _only_makes(node: ast.AST) -> bool:
    """Say whether all statements of a method are calls of ``init_cache``, or loops with those."""
    body = [one for one in getattr(node, "body", ()) if not (isinstance(one, ast.Expr) and constant(one.value))]
    return isinstance(node, ast.FunctionDef | ast.For) and all(
        _only_makes(one)
        if isinstance(one, ast.For)
        else isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and last_word(one.value.func) == "init_cache"
        for one in body
    )


def _owner(loop: ast.AST) -> set[str]:
    """Return the names in what a loop goes over, as the model in ``for block in model.blocks``."""
    return {*names_in(loop.iter)} if isinstance(loop, ast.For | ast.comprehension) else set()


def _decodes(context: Context) -> bool:
    """Say whether the project's attention keeps what it has seen, as far as one word tells."""
    return any(
        word.arg == "decode" and constant(word.value) is True
        for module in context.project.modules
        for word in module.source.of_type(ast.keyword)
    )


def _of_prompts(body: ast.AST, loop: ast.For | ast.comprehension) -> bool:
    """Say whether a loop goes over several prompts, by the name of them all, and these are no parts of one talk."""
    nodes = [*ast.walk(loop.iter), *ast.walk(loop.target)]
    names = [last_word(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    if any(_ONE_TALK.search(name) for name in names) or not any(_PROMPTS.search(name) for name in names):
        return False
    if isinstance(loop.iter, ast.Name):  # a list of one is no second prompt
        bound = [n for n in ast.walk(body) if isinstance(n, ast.Assign)]
        given = [n.value for n in bound if loop.iter.id in names_in(n.targets[0])]
        return not any(isinstance(one, ast.List | ast.Tuple) and len(one.elts) < 2 for one in given)
    return True


def _answers(context: Context, event: CallEvent, loop: ast.For | ast.comprehension, begun: set[str]) -> bool:
    """Say whether a call gives a prompt and the model to a function of the project that goes over the tokens."""
    given = set().union(*(names_in(one) for one in (*event.node.args, *event.node.keywords)))
    if not given & names_in(loop.target) or context.bodies.guarded(event.node, event.scope):
        return False
    callee = context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value
    if not isinstance(callee, Function) or callee.facts.name == "<lambda>" or _ONE_TALK.search(callee.facts.name):
        return False
    node = callee.facts.node
    free = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - set(callee.facts.params)
    return _loops(node) and bool((given | free) & begun)


_BAD = """\
import jax.numpy as jnp
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 16, rngs=rngs)

    def __call__(self, token):
        return self.out(self.attn(self.embed(token)[:, None]))[:, 0]


def answer(model, prompt):
    for token in prompt:
        logits = model(jnp.array([token]))
    return int(logits.argmax())


model = Decoder(nnx.Rngs(0))
prompts = [[3, 7, 11], [5, 1], [3, 7, 11]]
model.attn.init_cache((1, 32, 8))
print([answer(model, prompt) for prompt in prompts])
"""

RULE = lint_rule(
    "NNX543",
    "cache-of-prompts",
    "several prompts decoded with a cache that is made once",
    why="""\
Attention with `decode=True` keeps the keys and values of all tokens since `init_cache`. Without a new cache the second
prompt is read as the continuation of the first and its answer, and the same prompt twice has two answers. Nothing
raises until the cache is full.
""",
    source="measured on Flax 0.11.2 and 0.12.8: other logits for the same prompt",
    check=_check,
    bad=(_BAD,),
    clean=(
        _BAD.replace(
            "    for token in prompt", "    model.attn.init_cache((1, 32, 8))\n    for token in prompt"
        ).replace("model.attn.init_cache((1, 32, 8))\nprint", "print"),
        _BAD.replace("[answer(model, prompt) for prompt in prompts]", "answer(model, prompts[0])"),
    ),
)

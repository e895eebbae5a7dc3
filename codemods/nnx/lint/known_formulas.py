"""Looking for the usual wrong forms of well-known formulas."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.around import around
from codemods.nnx.lint.inlined import inlined, looked_through, word_of, words_of_formulas
from codemods.nnx.lint.places import in_test, own_scopes, written
from codemods.nnx.lint.syntax import inside, names_in
from codemods.nnx.lint.templates import Bound, Reading, matches, parsed, terms
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call, Unknown


@dataclass(frozen=True)
class Wrong:
    """A wrong form of a formula.

    Attributes:
        forms: templates of the wrong form, see :mod:`codemods.nnx.lint.templates`.
        message: what is wrong with it.
        help: the right form.
        words: words that all stand in a file with it.
        inside: what the function around it, or the variable that it is given to, is called; None for any name.
        named: what stands for names in capitals, or what that was set to, looks like.
        unlike: what they do not look like, nor what that was set to.
        plain: those of these names that stand for nothing with a minus in front of it, and for the double of nothing.
        whole: whether the form is the whole formula: with no sign before it, no factor of another one, not compared.
        rest: what makes it right where that is added or subtracted later: after a mean, or under a name.
        alone: whether it may be right as a term of a sum: ``x - softplus(x)``.
    """

    forms: tuple[str, ...]
    message: str
    help: str
    words: tuple[bytes, ...]
    inside: re.Pattern[str] | None = None
    named: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    unlike: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    plain: str = ""
    whole: bool = False
    rest: re.Pattern[str] | None = None
    alone: bool = False


def wrong_forms(context: Context, code: str, known: Sequence[Wrong]) -> Iterator[Finding]:
    """Yield a finding for every wrong form in the code that is asked about.

    Args:
        context: the analysis.
        code: the code of the findings.
        known: the wrong forms.
    """
    asked: dict[ModuleFacts, list[Wrong]] = {}
    for module in context.asked.modules:
        text = module.source.data
        if b"jax" in text or b"jnp" in text:
            here = [one for one in known if all(word in text for word in one.words)]
            if here:
                asked[module] = here
    if not asked:
        return
    words, told = context.shared(_Words), set[ast.expr]()
    found: list[tuple[Wrong, ast.BinOp | ast.Call, Scope]] = []
    for module, some in asked.items():
        done = words.of_module(module)
        here = [one for one in some if any(_needs(form)[1] <= done for form in one.forms)]
        for scope in own_scopes(module) if here else ():
            fitting = {} if in_test(scope) else _fitting(here, words, scope)
            for node, kind in words.formulas(scope) if fitting else ():
                for wrong, form in fitting.get(kind, ()):
                    if _fits(context, words, wrong, form, node, scope) and not _told(context, node, scope, told):
                        told.add(node)
                        found.append((wrong, node, scope))
    functions: dict[int, set[str]] = {}  # where each is told
    for wrong, _, scope in found:
        functions.setdefault(id(wrong), set()).update([scope.function.name] if scope.function is not None else ())
    for wrong, node, scope in found:
        if not _of_function(context, node, scope, functions[id(wrong)]):
            yield finding(code, scope, node, wrong.message, wrong.help)


def _of_function(context: Context, node: ast.expr, scope: Scope, told: Collection[str]) -> bool:
    """Say whether a formula is all in a function that is called, or one of these, where it is told, is called in it."""
    if isinstance(node, ast.Call) and inlined(context, node, scope) is not None:
        return True
    return any(isinstance(one, ast.Call) and last_word(one.func) in told for one in ast.walk(node))


class _Words:
    """The functions that bodies call, the operations that they do, and the names around them and in them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._known: dict[Scope, frozenset[str]] = {}
        self._modules: dict[ModuleFacts, frozenset[str]] = {}
        self._names: dict[Scope, tuple[str, ...]] = {}
        self._readings: dict[ast.expr, Reading] = {}
        self._formulas: dict[Scope, Sequence[tuple[ast.BinOp | ast.Call, str]]] = {}

    def of(self, scope: Scope) -> frozenset[str]:
        """Return the words of a body, with those of the formulas that it calls."""
        if scope not in self._known:
            own = {word_of(node) for node, _ in self.formulas(scope)}
            called = self._context.shared(words_of_formulas)
            self._known[scope] = frozenset(own.union(*(called[word] for word in own & called.keys())))
        return self._known[scope]

    def of_module(self, module: ModuleFacts) -> frozenset[str]:
        """Return the words of all bodies of a module."""
        if module not in self._modules:
            self._modules[module] = frozenset(word for scope in own_scopes(module) for word in self.of(scope))
        return self._modules[module]

    def formulas(self, scope: Scope) -> Sequence[tuple[ast.BinOp | ast.Call, str]]:
        """Return the operations of a body in their order, and behind them its calls, each with its kind."""
        if scope not in self._formulas:
            operations, calls = list[tuple[ast.BinOp | ast.Call, str]](), list[tuple[ast.BinOp | ast.Call, str]]()
            for node in self._context.bodies.nodes(scope):
                if isinstance(node, ast.BinOp):
                    operations.append((node, _kind(node)))
                elif isinstance(node, ast.Call):
                    calls.append((node, "call"))
            self._formulas[scope] = operations + calls
        return self._formulas[scope]

    def reading(self, node: ast.expr, scope: Scope) -> Reading:
        """Return an expression for the templates, in which names stand for what they were set to."""
        if node not in self._readings:
            self._readings[node] = Reading(node, lambda one: _set(self._context, one, scope))
        return self._readings[node]

    def named(self, scope: Scope) -> tuple[str, ...]:
        """Return the names of the functions around a body with those of all its variables, and each function alone."""
        if scope not in self._names:
            functions = _functions(scope)
            every = " ".join((*functions, *self._context.bodies.names(scope))).lower()
            self._names[scope] = every, *functions
        return self._names[scope]


def _fitting(known: Sequence[Wrong], words: _Words, scope: Scope) -> Mapping[str, Sequence[tuple[Wrong, str]]]:
    """Return the forms that may stand in a body, by their outermost operation."""
    found: dict[str, list[tuple[Wrong, str]]] = {}
    here = words.of(scope)
    for wrong in known:
        forms = [form for form in wrong.forms if _needs(form)[1] <= here]
        if forms and (wrong.inside is None or any(map(wrong.inside.search, words.named(scope)))):
            for form in forms:
                found.setdefault(_needs(form)[0], []).append((wrong, form))
    return found


@cache
def _needs(form: str) -> tuple[str, frozenset[str]]:
    """Return the outermost operation of a form, and the functions and operations that it cannot be without."""
    root = parsed(form)
    while isinstance(root, ast.UnaryOp):
        root = root.operand
    needed = set()
    for node in ast.walk(root):
        if isinstance(node, ast.Call) and not last_word(node.func).isupper() and last_word(node.func) not in _POWERS:
            needed.add(last_word(node.func))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            needed.add("MatMult")
    return _kind(root), frozenset(needed - {""})


_POWERS = frozenset({"sqrt", "square"})  # which are written in several ways


def _fits(context: Context, words: _Words, wrong: Wrong, form: str, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression is one of the wrong forms."""
    above = around(context, scope)
    parent = above.get(node)
    if _part(node, parent) or (wrong.whole and isinstance(parent, ast.BinOp | ast.UnaryOp | ast.Compare)):
        return False
    if _kind(node) == "sum" and _length(node) < _terms(form):
        return False
    ways = list(islice(matches(form, words.reading(node, scope)), _WAYS))
    if any(_is_apart(context, wrong, bound, scope) for bound in ways):
        return False  # sums and products of the same parts may stand for the right form as well
    if not any(_is_named(context, wrong, bound, scope) for bound in ways):
        return False
    if wrong.rest is not None and _completed(context, wrong.rest, node, scope):
        return False
    if wrong.alone and _completed(context, _ANYTHING, node, scope, _THROUGH):
        return False
    return wrong.inside is None or wrong.inside.search(_called(node, above, scope)) is not None


_THROUGH = 2  # how many functions a formula is followed out of, to what is done with it there
_ANYTHING = pattern(r".")


def _completed(context: Context, rest: re.Pattern[str], node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Say whether what is missing is added to an expression around it, behind its name, or by a caller."""
    above = around(context, scope)
    inner: ast.AST = node
    while (outer := above.get(inner)) is not None:
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add | ast.Sub):
            if rest.search(ast.unparse(outer.right if outer.left is inner else outer.left)):
                return True
        if isinstance(outer, ast.Assign):
            names = {n.id for target in outer.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
            if _added_behind(context, rest, names, outer.lineno, scope):
                return True
        inner = outer
    returned = (
        isinstance(inner, ast.Return)
        or scope.function is None
        or any(isinstance(n, ast.Return) and n.value is not None for n in context.bodies.nodes(scope))
    )
    if scope.function is None or not returned or depth >= _THROUGH:
        return False
    return any(
        _completed(context, rest, event.node, event.scope, depth + 1)
        for event in context.flow.sites.callers(scope.function)
    )


def _added_behind(context: Context, rest: re.Pattern[str], names: set[str], line: int, scope: Scope) -> bool:
    """Say whether what is missing is added to one of some variables: ``kl.mean() - 0.5``, ``kl -= 0.5``."""
    for node in context.bodies.nodes(scope):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub):
            if last_word(node.target) in names and rest.search(ast.unparse(node.value)):
                return True
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) and node.lineno >= line:
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if names & names_in(one) and rest.search(ast.unparse(other)):
                    return True
    return False


def _is_named(context: Context, wrong: Wrong, bound: Bound, scope: Scope) -> bool:
    """Say whether names in capitals stand for what they have to."""
    named = ((bound[name], looks) for name, looks in wrong.named.items() if name in bound)
    return all(_named(context, *one, looks, scope) for one, looks in named)


def _is_apart(context: Context, wrong: Wrong, bound: Bound, scope: Scope) -> bool:
    """Say whether a name in capitals stands for what it must not."""
    apart = ((bound[name], looks) for name, looks in wrong.unlike.items() if name in bound)
    if any(_named(context, *one, looks, scope) or _made_like(context, one[1], looks, scope) for one, looks in apart):
        return True
    return any(_turned(context, bound[name][1], scope) for name in wrong.plain if name in bound)


_WAYS = 24  # in which sums and products of the same parts are tried


@cache
def _terms(form: str) -> int:
    """Return how many terms a form has."""
    return len(terms(parsed(form)))


def _length(node: ast.expr) -> int:
    """Return how many terms a sum is written with."""
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        return _length(node.left) + _length(node.right)
    return 1


def _told(context: Context, node: ast.expr, scope: Scope, told: Collection[ast.expr]) -> bool:
    """Say whether an expression was spoken of already, or a part of it, perhaps under a name."""
    if any(_overlap(node, one) for one in told):
        return True
    return any(written(context, name, scope) in told for name in ast.walk(node) if isinstance(name, ast.Name))


def _overlap(one: ast.expr, other: ast.expr) -> bool:
    return inside(one, other) or inside(other, one)


def _set(context: Context, node: ast.expr, scope: Scope) -> ast.expr:
    """Return what a variable was set to, or what a function gives that is a formula; a variable itself if it was made
    of what it was before: ``x = x - x.max()``."""
    made = looked_through(context, node, scope)
    return node if isinstance(node, ast.Name) and node.id in names_in(made) else made


def _kind(node: ast.expr) -> str:
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Add | ast.Sub):
            return "sum"
        return "product" if isinstance(node.op, ast.Mult | ast.Div) else "other"
    return "call" if isinstance(node, ast.Call) else "other"


def _part(node: ast.expr, parent: ast.AST | None) -> bool:
    """Say whether an expression is only a part of a longer sum or product."""
    if isinstance(parent, ast.UnaryOp):
        return False
    return isinstance(parent, ast.BinOp) and _kind(parent) == _kind(node) != "other"


def _named(context: Context, text: str, node: ast.expr, looks: re.Pattern[str], scope: Scope) -> bool:
    if looks.search(text):
        return True
    while isinstance(node, ast.Subscript):
        node = node.value  # a part of what was drawn
    made = written(context, node, scope)
    return made is not node and looks.search(ast.unparse(made)) is not None


def _made_like(context: Context, node: ast.expr, looks: re.Pattern[str], scope: Scope) -> bool:
    """Say whether what the function around, or ``__init__``, set a variable or an attribute to looks so."""
    value = scope.module.values.get(node) if isinstance(node, ast.Name | ast.Attribute) else None
    found = context.flow.resolve(context.flow.here(value, scope)).value if value is not None else None
    made = found.node if isinstance(found, Call | Unknown) else None
    return isinstance(made, ast.expr) and looks.search(ast.unparse(made)) is not None


def _turned(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether an expression has a minus in front of it, or is the double of another."""
    first = terms(written(context, node, scope))[0]
    return (
        first.number < 0
        or _turned_before(context, node, scope)
        or first.number == 2
        or any(terms(written(context, one.node, scope))[0].number < 0 for one in first.factors)
    )


def _turned_before(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a variable gets a minus in any of the lines that set it: ``dist = -jnp.squeeze(dist)``."""
    if not isinstance(node, ast.Name):
        return False
    for one in context.bodies.nodes(scope):
        if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Mult) and last_word(one.target) == node.id:
            if terms(one.value)[0].number < 0:
                return True
        if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == node.id for t in one.targets):
            if terms(one.value)[0].number < 0:
                return True
    return False


def _called(node: ast.AST, above: Mapping[ast.AST, ast.AST], scope: Scope) -> str:
    """Return the names of the functions around an expression, and of the variable that it is given to."""
    names = []
    inner: ast.AST | None = node
    while inner is not None:
        if isinstance(inner, ast.Assign):
            names += [ast.unparse(target) for target in inner.targets]
        inner = above.get(inner)
    return " ".join((*names, *_functions(scope))).lower()


def _functions(scope: Scope) -> list[str]:
    """Return the names of the functions around a body, and of their classes."""
    names = []
    outer: Scope | None = scope
    while outer is not None:
        if outer.function is not None:
            names.append(outer.function.name)
            if outer.function.owner is not None:
                names.append(outer.function.owner.name)
        outer = outer.parent
    return names

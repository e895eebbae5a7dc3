"""NNX954: a generator or a discriminator whose loss asks for the same scores where it needs opposite ones."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.known import GRADIENTS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import foreign, in_test, position, resolved, shown
from codemods.nnx.lint.syntax import argument, constant
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Free, Function, Item, Param, Ref, Sequence, Value

_WORDS = pattern(
    rb"discrim|critic|generator|fake|advers|\bgan\b",
    re.I,
    needs=(b"discrim", b"critic", b"generator", b"fake", b"advers", b"gan"),
)
# where a gradient may be followed upwards
_UPWARDS = pattern(
    rb"lambda (\w+): *-\1\b|ascent|maximi[sz]e|jnp\.negative|operator\.neg|\.scale\(|reversal|\(-(lr|learning_rate)\b",
    re.I,
)
_FAKE = pattern(r"fake|(^|_)gen(_|$|erated)|synth|(^|_)samples?(_|$)", re.I)
_MADE = pattern(r"fake|(^|_)gen(_|$|erated)", re.I)  # what is no name of points that are drawn in some space
_HOMES = ("jax.numpy.", "jax.nn.", "flax.nnx.", "jax.lax.")
_REDUCED = frozenset({"mean", "sum"})
_RISING = frozenset({"softplus", "log_sigmoid", "sigmoid", "relu", "log", "exp", "tanh", "elu", "squeeze"})
_BINARY = "sigmoid_binary_cross_entropy"
_SQUARED = frozenset({"l2_loss", "squared_error"})
_DEPTH = 8

#: Where a score is pulled to: up (1.0, ""), down (-1.0, ""), or to a number (number, "to").
_Pull = tuple[float, str]


class _Given(NamedTuple):
    """An expression, the body that it stands in, and what the parameters of that body are given."""

    node: ast.expr
    scope: Scope
    params: dict[Param, _Given]


class _Score(NamedTuple):
    """The call of a model that scores something, and where the loss pulls what it gives; None if that is not known."""

    call: _Given
    pull: _Pull | None


def _check(context: Context) -> Iterator[Finding]:
    if not any(m.source.matches(_WORDS) and m.source.mentions(b"grad") for m in context.project.modules):
        return
    judges: dict[ModuleFacts, set[_Pull | None]] = {}
    makers: list[tuple[FunctionFacts, list[_Score]]] = []
    seen: set[tuple[FunctionFacts, str]] = set()
    for function, param in _differentiated(context):
        if (function, param.name) in seen or in_test(function.scope):
            continue
        seen.add((function, param.name))
        reader = _Reader(context, param)
        scores = reader.scores(function)
        own = [one for one in scores if reader.of_own(one.call)]
        if own:
            alike = reader.alike(own)
            if alike is not None and alike.scope.module in context.asked:
                yield finding(
                    RULE.code,
                    alike.scope,
                    alike.node,
                    f"{shown(function)} pulls the scores of fakes where it pulls those of what is real: it learns no"
                    " difference",
                    "give the fakes the opposite label: zeros",
                )
            pulls = reader.of_fakes(own)
            judges.setdefault(function.scope.module, set()).update(pulls)
        made = [one for one in scores if not reader.of_own(one.call) and reader.scores_own(one.call)]
        if made and not own:
            makers.append((function, made))
    for function, made in makers:
        pulls = judges.get(function.scope.module, set())
        if function.scope.module.source.matches(_UPWARDS):
            continue
        if len(pulls) == 1 and None not in pulls and {one.pull for one in made} == pulls:
            call = made[0].call
            if call.scope.module in context.asked:
                yield finding(
                    RULE.code,
                    call.scope,
                    call.node,
                    f"{shown(function)} pulls the scores of fakes where the loss of the discriminator pulls them, too",
                    "give the generator the opposite aim: the label of what is real, or the other sign",
                )


def _differentiated(context: Context) -> Iterator[tuple[FunctionFacts, Param]]:
    """Yield the losses of a project, each with the parameter with respect to which its gradient is taken."""
    for event, name in foreign(context, "grad", "value_and_grad", everywhere=True):
        if name not in GRADIENTS or not event.value.args:
            continue
        place = _place(event)
        for callee in context.flow.calls.callables(context.flow.here(event.value.args[0], event.scope)):
            function = callee.function
            first = len(callee.args) + int(callee.receiver is not None and function.binding in {"instance", "class"})
            params = list(function.params.values())[first:]
            if place is not None and place < len(params):
                yield function, params[place]


def _place(event: CallEvent) -> int | None:
    """Return the number of the argument that a gradient is taken with respect to; None if it is not one number."""
    node = argument(event.node, 1, "argnums")
    if node is None:
        return 0
    if isinstance(node, ast.Call) and last_word(node.func) == "DiffState" and node.args:
        node = node.args[0]
    number = constant(node)
    return number if type(number) is int and number >= 0 else None


class _Reader:
    """Reads in the loss of one model which scores it is made of."""

    def __init__(self, context: Context, own: Param) -> None:
        self._context = context
        self._own = own

    def scores(self, function: FunctionFacts) -> list[_Score]:
        """Return the scores in what a function returns, also beside something else."""
        if len(function.returns) != 1 or function.generator:
            return []
        value: Value = function.returns[0]
        if isinstance(value, Sequence) and value.items:
            value = value.items[0]
        node = getattr(value, "node", None)
        if not isinstance(node, ast.expr) or node not in self._context.bodies.paths(function.scope):
            return []
        return self._read(_Given(node, function.scope, {}), (1.0, ""), 0)

    def of_own(self, call: _Given) -> bool:
        """Say whether a call is one of the model that is differentiated."""
        return self._calls(call) is self._own

    def scores_own(self, call: _Given) -> bool:
        """Say whether what is scored was made by the model that is differentiated."""
        return any(self._made_by(one) is self._own for one in self._inputs(call))

    def of_fakes(self, scores: list[_Score]) -> set[_Pull | None]:
        """Return where the scores of fakes are pulled, if others are pulled elsewhere; nothing if none are known."""
        fakes = [one for one in scores if any(map(self._fake, self._inputs(one.call)))]
        others = [one.pull for one in scores if one not in fakes]
        pulls = {one.pull for one in fakes}
        if not fakes or not others:
            return set()
        return pulls if not pulls & {*others} and None not in others else {None}

    def alike(self, scores: list[_Score]) -> _Given | None:
        """Return the call that scores fakes, if they are pulled where all else is; None if that is not known."""
        fakes = [one.call for one in scores if any(self._fake(given, _MADE) for given in self._inputs(one.call))]
        pulls = {one.pull for one in scores}
        if fakes and len(fakes) < len(scores) and len(pulls) == 1 and None not in pulls:
            return fakes[0]
        one = scores[0] if len(scores) == 1 and None not in pulls else None  # else a penalty beside the losses
        return one.call if one is not None and any(map(self._joined, self._inputs(one.call))) else None

    def _joined(self, given: _Given) -> bool:
        """Say whether a batch is joined of fakes and of others, that have one label then."""
        given = self._settled(given)
        fakes = [self._fake(_Given(part, given.scope, given.params), _MADE) for part in _parts(given.node)]
        return any(fakes) and not all(fakes)

    def _read(self, given: _Given, pull: _Pull | None, depth: int) -> list[_Score]:
        given = self._settled(given)
        node, scope, params = given
        if depth > _DEPTH:
            return []

        def inner(part: ast.expr, way: _Pull | None) -> list[_Score]:
            return self._read(_Given(part, scope, params), way, depth + 1)

        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return inner(node.operand, _turned(pull))
        if isinstance(node, ast.BinOp):
            return self._of_operation(node, given, pull, depth)
        if not isinstance(node, ast.Call):
            return []
        value = scope.module.values.get(node)
        name = self._context.flow.calls.callee_name(self._context.flow.here(value, scope)) if value is not None else ""
        word = last(name)
        if name.startswith("optax.") and (word == _BINARY or word in _SQUARED):
            return self._of_labels(node, given, pull, word, depth)
        if name.startswith(_HOMES):
            if word in _REDUCED | _RISING and node.args:
                return inner(node.args[0], pull)
            return self._of_square(node.args[0], given, pull, depth) if word == "square" and node.args else []
        if name or not isinstance(value, Call):
            return []
        if isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCED | {"squeeze", "reshape", "astype"}:
            return inner(node.func.value, pull)
        if self._calls(given) is not None:
            return [_Score(given, pull)]
        return self._of_helper(value, given, pull, depth)

    def _of_helper(self, value: Call, given: _Given, pull: _Pull | None, depth: int) -> list[_Score]:
        """Return the scores in what a function of the project gives of its arguments."""
        invoked = self._context.flow.calls.invoked(self._context.flow.here(value, given.scope))
        if len(invoked) != 1 or invoked[0][0].gradient or value.starred:
            return []
        function = invoked[0][0].function
        if len(function.returns) != 1 or function.generator:
            return []
        returned = getattr(function.returns[0], "node", None)
        if not isinstance(returned, ast.expr) or returned not in self._context.bodies.paths(function.scope):
            return []
        found: dict[Param, _Given] = {}
        assert isinstance(given.node, ast.Call)
        for param in function.params.values():
            node = argument(given.node, position(param), param.name)
            if node is not None:
                found[param] = _Given(node, given.scope, given.params)
        return self._read(_Given(returned, function.scope, found), pull, depth + 1)

    def _of_operation(self, node: ast.BinOp, given: _Given, pull: _Pull | None, depth: int) -> list[_Score]:
        def inner(part: ast.expr, way: _Pull | None) -> list[_Score]:
            return self._read(_Given(part, given.scope, given.params), way, depth + 1)

        if isinstance(node.op, ast.Add):
            return inner(node.left, pull) + inner(node.right, pull)
        if isinstance(node.op, ast.Sub):
            return inner(node.left, pull) + inner(node.right, _turned(pull))
        if isinstance(node.op, ast.Pow) and constant(node.right) == 2:
            return self._of_square(node.left, given, pull, depth)
        if isinstance(node.op, ast.Mult | ast.Div):
            sides = [(node.left, node.right), *([(node.right, node.left)] if isinstance(node.op, ast.Mult) else [])]
            for one, other in sides:
                factor = constant(other)
                if isinstance(factor, int | float) and factor:
                    return inner(one, pull if factor > 0 else _turned(pull))
            return inner(node.left, None) + inner(node.right, None)
        return []

    def _of_square(self, base: ast.expr, given: _Given, pull: _Pull | None, depth: int) -> list[_Score]:
        """Return the scores in a square: it pulls a score to the number that is taken from it."""
        part = self._settled(_Given(base, given.scope, given.params))
        node, aim = part.node, 0.0
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            sides = [(node.left, node.right), (node.right, node.left)]
            numbers = [(one, self._label(_Given(other, part.scope, part.params))) for one, other in sides]
            found = next(((one, number) for one, number in numbers if number is not None), None)
            if found is None:
                return self._read(part, None, depth + 1)
            aim = -found[1] if isinstance(node.op, ast.Add) else found[1]
            node = found[0]
        way = (aim, "to") if pull == (1.0, "") else None
        return self._read(_Given(node, part.scope, part.params), way, depth + 1)

    def _of_labels(self, node: ast.Call, given: _Given, pull: _Pull | None, word: str, depth: int) -> list[_Score]:
        names = ("logits", "labels") if word == _BINARY else ("predictions", "targets")
        score, label = argument(node, 0, names[0]), argument(node, 1, names[1])
        if score is None or label is None:
            return []
        number = self._label(_Given(label, given.scope, given.params))
        way: _Pull | None = None
        if number is not None and pull is not None and pull[1] == "":
            if word in _SQUARED:
                way = (number, "to") if pull[0] > 0 else None
            elif number != 0.5:
                way = pull if number < 0.5 else _turned(pull)
        return self._read(_Given(score, given.scope, given.params), way, depth + 1)

    def _label(self, given: _Given) -> float | None:
        """Return the number that all labels are."""
        given = self._settled(given)
        node = given.node
        number = constant(node)
        if isinstance(number, int | float):
            return float(number)
        if not isinstance(node, ast.Call):
            return None
        word = last_word(node.func)
        if parts := _parts(node):
            numbers = {self._label(_Given(part, given.scope, given.params)) for part in parts}
            return numbers.pop() if len(numbers) == 1 else None
        if word in {"zeros", "zeros_like", "ones", "ones_like"}:
            return 0.0 if word.startswith("zeros") else 1.0
        filled = constant(argument(node, 1, "fill_value")) if word in {"full", "full_like"} else None
        return float(filled) if isinstance(filled, int | float) else None

    def _settled(self, given: _Given) -> _Given:
        """Return the expression that variables stand for."""
        for _ in range(_DEPTH):
            node, scope, params = given
            value = scope.module.values.get(node)
            if isinstance(node, ast.Name) and isinstance(value, Param) and value in params:
                given = params[value]
                continue
            if isinstance(node, ast.Name) and isinstance(value, Free | Item):
                found = resolved(self._context, node, scope)
                if found is None or found.frame is None:
                    return given
                value, scope = found.value, found.frame.function.scope
            inner = getattr(value, "node", None)
            if not isinstance(node, ast.Name) or not isinstance(inner, ast.expr) or isinstance(inner, ast.Name):
                return given
            if inner not in self._context.bodies.paths(scope):
                return given
            given = _Given(inner, scope, params)
        return given

    def _calls(self, given: _Given) -> object | None:
        """Return the model that a call runs: a parameter or a variable around; None if it runs something else."""
        node = given.node
        if not isinstance(node, ast.Call):
            return None
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in {"apply", "apply_fn"} and node.args:
            weights = node.args[0]
            if isinstance(weights, ast.Dict) and weights.values:
                weights = weights.values[0]
            return self._model(_Given(weights, given.scope, given.params))
        return self._model(_Given(func, given.scope, given.params))

    def _model(self, given: _Given) -> object | None:
        value = given.scope.module.values.get(given.node)
        while isinstance(value, Param) and value in given.params:
            given = given.params[value]
            value = given.scope.module.values.get(given.node)
        if isinstance(value, Free):
            found = resolved(self._context, given.node, given.scope)
            made = found.value if found is not None else value
            return made if isinstance(made, Param) else None if isinstance(made, Function | Ref) else value
        if isinstance(value, Attr):
            return ast.unparse(given.node) if isinstance(value.base, Param | Free) else None
        return value if isinstance(value, Param) else None

    def _inputs(self, call: _Given) -> list[_Given]:
        assert isinstance(call.node, ast.Call)
        return [_Given(one, call.scope, call.params) for one in call.node.args if not isinstance(one, ast.Starred)]

    def _made_by(self, given: _Given) -> object | None:
        """Return the model that made an input, also with its gradient stopped."""
        given = self._settled(given)
        node = given.node
        if isinstance(node, ast.Call) and last_word(node.func) in {"stop_gradient", "concatenate"} and node.args:
            return self._made_by(_Given(node.args[0], given.scope, given.params))
        return self._calls(given)

    def _fake(self, given: _Given, names: re.Pattern[str] = _FAKE) -> bool:
        """Say whether another model made an input, or its name says so."""
        maker = self._made_by(given)
        if maker is not None:
            return maker is not self._own
        node = self._settled(given).node
        named = [one for one in (node, given.node) if isinstance(one, ast.Name | ast.Attribute)]
        return any(names.search(last_word(one)) is not None for one in named)


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the batches that an expression joins; none for others."""
    if not isinstance(node, ast.Call) or last_word(node.func) not in {"concatenate", "concat", "vstack"}:
        return []
    axis = argument(node, 1, "axis")
    if not node.args or (axis is not None and constant(axis) != 0):
        return []
    whole = node.args[0]
    return whole.elts if isinstance(whole, ast.List | ast.Tuple) else []


def _turned(pull: _Pull | None) -> _Pull | None:
    return (-pull[0], "") if pull is not None and not pull[1] else None


_BAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx

bce = optax.sigmoid_binary_cross_entropy


def critic_loss(critic, generator, real, noise):
    on_real, on_fake = critic(real), critic(generator(noise))
    return bce(on_real, jnp.ones_like(on_real)).mean() + bce(on_fake, jnp.zeros_like(on_fake)).mean()


def generator_loss(generator, critic, noise):
    scores = critic(generator(noise))
    return bce(scores, jnp.zeros_like(scores)).mean()


@nnx.jit
def step(generator, critic, g_opt, c_opt, real, noise):
    c_opt.update(critic, nnx.grad(critic_loss)(critic, generator, real, noise))
    g_opt.update(generator, nnx.grad(generator_loss)(generator, critic, noise))
"""

RULE = lint_rule(
    "NNX954",
    "same-side",
    "a GAN whose losses ask for the same of fakes where they have to ask for opposites",
    why="""\
The two networks of a GAN play against each other: what the loss of the discriminator pulls down, the scores of fakes,
the loss of the generator has to pull up. With the same label, or the same sign, the generator learns to be recognised,
and its samples leave the data, while both losses fall as if all were well. A discriminator that gets one label for
fakes and for what is real learns no difference between them.
""",
    source="mlpack/mlpack#1933; measured: samples of data with mean 3 end at -3.5",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("bce(scores, jnp.zeros_like", "bce(scores, jnp.ones_like"),),
)

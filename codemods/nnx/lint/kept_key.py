"""NNX897: a key that an object keeps, and draws with at every call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import combinations

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, CallEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.kinds import Kind
from codemods.nnx.lint.around import around
from codemods.nnx.lint.conditions import apart
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.key_left_out import keys_left_out
from codemods.nnx.lint.key_reuse import reuses
from codemods.nnx.lint.names import KEY_MAKERS, NOT_CONSUMING
from codemods.nnx.lint.places import foreign, is_test, kinds_of
from codemods.nnx.lint.syntax import Path, keyword, names_in
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Const, Param, Value

_SAMPLERS = (
    "normal", "uniform", "bernoulli", "categorical", "gumbel", "permutation", "choice", "truncated_normal", "randint",
    "exponential", "laplace", "dirichlet", "gamma", "beta", "poisson", "multivariate_normal", "rademacher", "split",
)  # fmt: skip
_ONCE = pattern(r"init|build|setup|create|make|reset|load|weight|project|feature|dataset|generate_data|seed", re.I)

# methods that give the examples in a new order, by their names, and those that are to give the same each time
_ANEW = pattern(r"^__(iter|next)__$|shuffle|(^|_)(batches|epochs?|minibatches)(_|$)")
_DRAWN = pattern(r"^_?(sample|draw)(_indices|_batch)?$|(^|_)(next|get|sample|random)_(mini)?batch$")
_FIXED = pattern(r"(^|_)(fixed|constant|same|eval|valid|val|test)(_|$)")
_SAME = pattern(r"eval|valid|test|fixed|fold|split|subset|plot|show")


def _check(context: Context) -> Iterator[Finding]:
    for event, variable, kept in keys_left_out(context):
        if any(place.node is event.node and not place.weak for place in context.shared(reuses)):
            continue  # NNX830 says the same of the loop around
        yield finding(
            RULE.code,
            event.scope,
            variable,
            f"`{variable.id}` goes nowhere: what is returned keeps its old `{kept}`, and the next call draws the same",
            f"put it into what is returned: replace({kept}={variable.id}, ...)",
        )
    seen: set[tuple[object, str]] = set()
    for event, name in foreign(context, *_SAMPLERS):
        function = event.scope.function
        key = event.value.argument(0, "key")
        if (
            function is None
            or function.owner is None
            or not name.startswith("jax.random.")
            or is_test(event.scope.module)
        ):
            continue
        if not isinstance(key, Attr) or key.base is not function.self_param or _ONCE.search(function.name):
            continue
        if _FIXED.search(key.name):
            continue  # the same each time, as its name says
        if function.generator and not _ANEW.search(function.name):
            continue  # a run of many steps, which begins once
        if name.rpartition(".")[2] in NOT_CONSUMING or (function.owner, key.name) in seen:
            continue
        if not _kept(context, event, key) or not (
            _of_argument(event, function)
            or name.endswith(".split")
            or _shuffles(context, function, name)
            or _as_noise(context, event, function, key.name)
        ):
            continue
        if _replaced(context, function.owner, key.name) or _handed_on(context, event) or _while_made(context, function):
            continue
        if not event.loops and (_called_once(context, function) or _begins_run(context, event, function)):
            continue
        if any(place.node is event.node and not place.weak for place in context.shared(reuses)):
            continue  # NNX830 says the same of the loop around
        seen.add((function.owner, key.name))
        yield finding(
            RULE.code,
            event.scope,
            event.node,
            f"`self.{key.name}` never changes: every call draws the same numbers",
            _instead(context, function.owner, key.name),
        )


def _instead(context: Context, owner: ClassFacts, name: str) -> str:
    """Return what to do, by what a class derives from."""
    libraries = context.flow.classes.mro(owner)[1]
    if any(library.startswith("flax.linen.") for library in libraries):
        return 'draw with self.make_rng("noise"), and give apply(..., rngs={"noise": key}) a new key at every call'
    if any(library.startswith("flax.nnx.") for library in libraries):
        return "keep streams instead, self.rngs = rngs, and take a new key at every call, self.rngs.noise()"
    return f"give every call a key of its own, or go on with a part: self.{name}, key = jax.random.split(self.{name})"


# what is new at every call by its name, and what is drawn once for all calls by that of its class, key or method
_NOISE = pattern(
    r"noise|noisy|(^|_)(eps|epsilon|jitter|perturb\w*|dropout|explor\w*|corrupt\w*|gumbels?|rand\w*|sampled?|drop)(_|$)",
    re.I,
)
_LASTING = pattern(
    r"feature|fourier|project|basis|hash|prior|fixed|frozen|static|const|reservoir|orthogonal|rff|sketch|permut|embed"
    r"|codebook|target|init|eval|valid|test|plot|show|weight|anchor",
    re.I,
)
_CHANCE = pattern(r"(^|_)(eps|epsilon|prob\w*|p|rate|chance|explor\w*)(_|$)", re.I)
_SAYS_FIXED = pattern(r"fixed|frozen|same (noise|key|draw|random)|determinis|reproduc|constant|once", re.I)


def _as_noise(context: Context, event: CallEvent, function: FunctionFacts, key: str) -> bool:
    """Say whether what is drawn is noise, by the names of the key and of the variable, or decides by chance.

    Features and projections that are drawn once for all calls, or anew with the same key, have other names.
    """
    owner = function.owner
    own = function.self_param.name if function.self_param is not None else ""
    if owner is None or isinstance(function.node, ast.Lambda) or not (set(function.params) - {own}):
        return False
    statement, above = event.statement, around(context, event.scope)
    targets = [last_word(t) for t in statement.targets] if isinstance(statement, ast.Assign) else []
    if any(map(_LASTING.search, (owner.name, function.name, key, *targets))):
        return False
    if _SAYS_FIXED.search(" ".join(_documented(node) for node in (owner.node, function.node))):
        return False
    inner: ast.AST = event.node
    outer = above.get(inner)
    if isinstance(outer, ast.Compare) and len(outer.ops) == 1:
        other = outer.comparators[0] if outer.left is inner else outer.left
        return isinstance(other, ast.Name | ast.Attribute) and _CHANCE.search(last_word(other)) is not None
    while isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult | ast.Add):
        inner, outer = outer, above.get(outer)
    named = any(map(_NOISE.search, targets)) and len(targets) == 1
    return named or (_NOISE.search(key) is not None and (bool(targets) or isinstance(inner, ast.BinOp)))


def _documented(node: ast.AST) -> str:
    """Return the docstring of a class or function."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return ast.get_docstring(node) or ""
    return ""


def _called_once(context: Context, function: FunctionFacts) -> bool:
    """Say whether a method is called at one place, once for each object that is made there: ``Trainer(1).run()``."""
    assert function.owner is not None
    callers, made = context.flow.sites.callers(function), context.flow.sites.constructions(function.owner)
    return (
        len(callers) == 1
        and not callers[0].loops
        and bool(made)
        and all(one.scope is callers[0].scope and not one.loops for one in made)
    )


def _begins_run(context: Context, event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether a method begins a run with the key: a loop of its own goes on with a part of it, or it is called a
    run; and the project calls methods of its name at one place of each function alone, and in no loop."""
    statement = event.statement
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is event.node else []
    names = {name for target in targets for name in names_in(target)}
    goes_on = _RUN.fullmatch(function.name) is not None or any(
        isinstance(loop, ast.For | ast.While) and names & names_in(loop)
        for loop in context.bodies.nodes(function.scope)
    )
    calls = [one for one in context.bodies.named(function.name) if isinstance(one.node.func, ast.Attribute)]
    goes_on = goes_on or (_TRAINING.fullmatch(function.name) is not None and _trains(context, function))
    if not goes_on or not calls or any(one.loops for one in calls):
        return False
    return all(
        one.scope is not two.scope
        or apart(_path(context, one), _path(context, two), one.scope.node)
        or ast.dump(one.node.func) != ast.dump(two.node.func)
        for one, two in combinations(calls, 2)
    )


def _trains(context: Context, function: FunctionFacts) -> bool:
    """Say whether a method is the whole training, with a loop over its steps or epochs."""
    return any(
        isinstance(loop, ast.For)
        and any(_STEPS.search(name.lower()) for name in (*names_in(loop.target), *names_in(loop.iter)))
        for loop in context.bodies.nodes(function.scope)
    )


_STEPS = pattern(r"step|epoch|iter|round")
_RUN = pattern(r"_?(run|main|launch)(_(loop|all|experiment|training))?|(main|train\w*|eval\w*)_loop")
_TRAINING = pattern(r"train(_and_eval\w*)?|fit|train_model")


def _path(context: Context, event: CallEvent) -> Path:
    return context.bodies.paths(event.scope).get(event.node, ())


def _shuffles(context: Context, function: FunctionFacts, name: str) -> bool:
    """Say whether a method gives the examples of one epoch or batch, in an order of its own, or the order for one that
    does."""
    if not name.endswith((".permutation", ".choice", ".randint")) or _SAME.search(function.name):
        return False
    if any("cache" in ast.unparse(one) for one in getattr(function.node, "decorator_list", ())):
        return False  # drawn once
    assert function.owner is not None
    if any(event.loops for event in context.flow.sites.constructions(function.owner)):
        return False  # a new object, which may be given another key, for each epoch
    if _ANEW.search(function.name) or _drawn_anew(function, name):
        return True
    callers = {event.scope.function for event in context.flow.sites.callers(function)} - {None}
    return any(
        one.owner is function.owner and bool(_ANEW.search(one.name)) and not _SAME.search(one.name)
        for one in callers
        if one is not None
    )


def _drawn_anew(function: FunctionFacts, name: str) -> bool:
    """Say whether a method samples by its name: ``sample``, ``next_batch``."""
    return bool(_DRAWN.search(function.name)) and not name.endswith(".permutation")


def _kept(context: Context, event: CallEvent, key: Attr) -> bool:
    """Say whether only the constructor gives an attribute its value, and it is a key."""
    function = event.scope.function
    assert function is not None
    assert function.owner is not None
    stores = [one for parent in context.flow.classes.mro(function.owner)[0] for one in parent.stores.get(key.name, ())]
    if not stores and (_default(function.owner, key.name) or _of_one_seed(context, function.owner, key.name)):
        others = context.flow.fields.stores().get(key.name, ())
        return all(_of_another(context, store, function.owner) for store in others)
    if not stores or any(method.name != "__init__" for method, _ in stores):
        return _set_up_once(context, function, key, stores)
    for store in context.flow.fields.stores().get(key.name, ()):
        other = store.scope.function
        if _of_another(context, store, function.owner):
            continue
        if other is None or other.name != "__init__":
            return False
    kinds = kinds_of(context, key, event.scope)
    return kinds == {Kind.KEY} or (not kinds and all(_stream(value) for _, value in stores))


def _set_up_once(
    context: Context, function: FunctionFacts, key: Attr, stores: list[tuple[FunctionFacts, Value]]
) -> bool:
    """Say whether a constructor makes an attribute None, a method called ``setup`` puts in it what it is given, and
    other methods ask a method for the next key again and again: ``self._next_key()``."""
    given = [(method, value) for method, value in stores if value != Const(None)]
    others = [one for one in context.flow.fields.stores().get(key.name, ()) if one.scope.function is not None]
    if len(given) != 1 or len(stores) != 2 or len(others) != len(stores) or not _NEXT.search(function.name):
        return False
    method, value = given[0]
    if not _SETUP.fullmatch(method.name) or not isinstance(value, Param) or value.function is not method:
        return False
    callers = {one.scope.function for one in context.flow.sites.callers(function)}
    return len(callers) > 1 and any(one is not method for one in callers)


_SETUP = pattern(r"_?(setup|build|configure|initiali[sz]e)")
_NEXT = pattern(r"(^|_)(next|new|fresh|split|draw)_(rng|key)s?$")


def _default(owner: ClassFacts, name: str) -> bool:
    """Say whether a field of a dataclass is a key of one seed: ``field(default_factory=lambda: jax.random.key(0))``."""
    for node in owner.node.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            made = node.value
            factory = keyword(made, "default_factory") if isinstance(made, ast.Call) else None
            made = factory.body if isinstance(factory, ast.Lambda) else made
            return isinstance(made, ast.Call) and ast.unparse(made.func).endswith((".random.key", ".random.PRNGKey"))
    return False


def _of_one_seed(context: Context, owner: ClassFacts, name: str) -> bool:
    """Say whether a field of a dataclass, or module of Linen, gets a key of a written seed wherever it is made."""
    fields = [n.target.id for n in owner.node.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    made = context.flow.sites.constructions(owner) if name in fields and "__init__" not in owner.methods else ()
    for event in made:
        given = event.value.argument(fields.index(name), name)
        sources = [*context.sources.originals(context.flow.here(given, event.scope))] if given is not None else []
        if not sources or event.value.starred:
            return False
        for one in sources:
            if context.flow.calls.callee_name(one) not in KEY_MAKERS:
                return False
            if not isinstance(one.value, Call) or not all(isinstance(seed, Const) for seed in one.value.args):
                return False
    return bool(made)


def _replaced(context: Context, owner: ClassFacts, name: str) -> bool:
    """Say whether modules that name a class make copies of objects with another attribute of a name: by
    ``eqx.tree_at(lambda m: m.key, ...)`` or ``replace(m, key=...)``, or by methods that make another object."""
    for event in context.flow.sites.constructions(owner):
        method = event.scope.function
        if method is not None and method.owner is owner and method.binding == "instance":
            return True
    word = owner.name.encode()
    for event in context.bodies.named("tree_at"):
        if not event.scope.module.source.mentions(word):
            continue
        where = event.node.args[0] if event.node.args else None
        if not isinstance(where, ast.Lambda) or any(
            isinstance(n, ast.Attribute) and n.attr == name for n in ast.walk(where)
        ):
            return True
    return any(
        keyword.arg == name and word in event.scope.module.source.data
        for event in context.bodies.named("replace", "_replace")
        for keyword in event.node.keywords
    )


def _handed_on(context: Context, event: CallEvent) -> bool:
    """Say whether a method returns a part of the key along with what it drew, for the caller to keep."""
    statement = event.statement
    if not isinstance(statement, ast.Assign) or statement.value is not event.node:
        return False
    parts = {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return any(
        isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and any(isinstance(one, ast.Name) and one.id in parts for one in node.value.elts)
        for node in context.bodies.nodes(event.scope)
    )


def _while_made(context: Context, function: FunctionFacts) -> bool:
    """Say whether only the constructor calls a method."""
    callers = [event.scope.function for event in context.flow.sites.callers(function)]
    return bool(callers) and all(
        one is not None and one.owner is not None and one.name in {"__init__", "__post_init__"} for one in callers
    )


def _of_another(context: Context, store: AttrEvent, owner: ClassFacts) -> bool:
    """Say whether a method stores into its own object, which is none of a class."""
    base = store.base
    if not isinstance(base, Param) or base is not base.function.self_param or base.function.owner is None:
        return False
    return owner not in context.flow.classes.mro(base.function.owner)[0]


def _stream(value: Value) -> bool:
    """Say whether a value looks like a key of streams that are not known: ``rngs.noise()``."""
    callee = value.callee if isinstance(value, Call) and not value.args else None
    base = callee.base if isinstance(callee, Attr) else None
    return isinstance(base, Param) and base.name == "rngs"


def _of_argument(event: CallEvent, function: FunctionFacts) -> bool:
    """Say whether what is drawn depends on an argument, so that it is drawn for every call."""
    own = function.self_param.name if function.self_param is not None else ""
    params = set(function.params) - {own}
    rest = [*event.node.args[1:], *(k.value for k in event.node.keywords if k.arg != "key")]
    read = {n.id for part in rest for n in ast.walk(part) if isinstance(n, ast.Name)} - {own}
    return bool(read) and (bool(read & params) or bool(read & set(function.scope.bindings)))


RULE = lint_rule(
    "NNX897",
    "kept-key",
    "an object keeps one key and draws with it at every call",
    why="""\
A key gives the same numbers each time. One that the constructor keeps and that no method replaces makes the noise of a
VAE, the exploration of an agent or a mask the same at every call.
""",
    source="measured on Flax 0.10.7 and 0.12.8: equal numbers at every call",
    check=_check,
    bad=(
        """\
import jax
from flax import nnx


class Noise(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.key = rngs.noise()

    def __call__(self, x):
        return x + jax.random.normal(self.key, x.shape)
""",
    ),
    clean=(
        """\
import jax
from flax import nnx


class Noise(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.rngs = rngs

    def __call__(self, x):
        return x + jax.random.normal(self.rngs.noise(), x.shape)
""",
        """\
import jax
from flax import nnx


class Features(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs):
        self.key = rngs.noise()
        self.width = width

    def __call__(self, x):
        return x @ jax.random.normal(self.key, (4, self.width))
""",
    ),
)

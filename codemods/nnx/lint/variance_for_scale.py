"""NNX950: noise that is scaled by a variance, as the exponential of a log-variance gives it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.arithmetic import factors, squared
from codemods.nnx.lint.around import around
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.noise_of_steps import noise_of_steps
from codemods.nnx.lint.origins import made_by
from codemods.nnx.lint.places import each, foreign, in_test
from codemods.nnx.lint.syntax import argument, entry_word, operands
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Call

_VARIANCE = pattern(r"(^|_)(log_?var(iance)?s?|lnvar|log_?sigma_?(2|sq|squared)|log_?std_?(2|sq))(_|$)|logvar", re.I)
_HALVED = pattern(r"half|std|scale|stddev", re.I)
_NOISE = pattern(r"^(eps|epsilon|noise|normal_noise|gaussian_noise)\d*$|^(eps|noise)_", re.I)
_DRAWS = frozenset({"jax.random.normal", "numpy.random.normal", "numpy.random.randn", "numpy.random.standard_normal"})
# distributions with the place and the name of their scale
_SCALES = {
    "distrax.Normal": (1, "scale"),
    "distrax.MultivariateNormalDiag": (1, "scale_diag"),
    "numpyro.distributions.Normal": (1, "scale"),
    "tensorflow_probability.substrates.jax.distributions.Normal": (1, "scale"),
    **{
        f"jax.scipy.stats.norm.{word}": (2, "scale")
        for word in ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")
    },
}
# what is called a scale, and what is called its square
_SCALE = pattern(r"^(\w+_)?(sigmas?|stds?|stddev|std_dev|sd|scales?)$", re.I)
_SQUARE = pattern(r"^(\w+_)?(sigmas?_?(2|sq|squared)|variances?)$", re.I)
# log-variances that are doubled somewhere stand for a scale
_DOUBLED = pattern(rb"exp\(\s*2(\.0?)?\s*\*\s*\w*log_?var|2(\.0?)?\s*\*\s*\w*log_?var|log_?var\w*\s*\*\s*2", re.I)
# where another scale is the softplus of one, the name only says that any number will do
_SOFTENED = pattern(rb"softplus\(\s*(\w+\.)*\w*(log_?var|lnvar)", re.I)
_LOGARITHMS = pattern(
    rb"log_?var|lnvar|log_?sigma|log_?std|log_?scale",
    re.I,
    needs=(b"log_var", b"logvar", b"lnvar", b"sigma", b"log_s", b"logs"),
)
_DEPTH = 5


def _check(context: Context) -> Iterator[Finding]:
    for scope, product, step in noise_of_steps(context, lambda node, home: _is_noise(context, node, home, 0)):
        yield finding(
            RULE.code,
            scope,
            product,
            f"`{ast.unparse(step)}` is the variance of the noise of a step, and its scale is the root of that",
            f"scale it by the root: jnp.sqrt({ast.unparse(step)})",
        )
    yield from _squares(context)
    if not any(m.source.matches(_LOGARITHMS) for m in context.project.modules):
        return
    modules = {module for module in context.project.modules if not module.source.matches(_DOUBLED)}
    for scope, node in each(context, ast.BinOp):
        if not isinstance(node.op, ast.Mult) or in_test(scope) or scope.module not in modules:
            continue
        outer = around(context, scope).get(node)
        if isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Mult):
            continue
        parts = list(factors(node))
        if not any(_is_noise(context, part, scope, 0) for part in parts) or len(parts) > 4:
            continue
        for part in parts:
            found = _exponential(context, part, scope, 0)
            if found is not None:
                yield _found(*found)
            elif _bare_logarithm(context, node, part, scope):
                way = "jnp.exp(0.5 * {})" if _VARIANCE.search(entry_word(part)) else "jnp.exp({})"
                yield finding(
                    RULE.code,
                    scope,
                    part,
                    f"`{ast.unparse(part)}` is a logarithm, and noise is scaled by what that is the logarithm of",
                    "take the exponential: " + way.format(ast.unparse(part)),
                )
    for event, name in foreign(context, "multiply"):
        pair = event.node.args
        if name != "jax.numpy.multiply" or len(pair) != 2 or in_test(event.scope) or event.scope.module not in modules:
            continue
        for part, other in (pair, pair[::-1]):
            found = _exponential(context, part, event.scope, 0)
            if found is not None and _is_noise(context, other, event.scope, 0):
                yield _found(*found)
    for event, name in foreign(context, *{name.rpartition(".")[2] for name in _SCALES}):
        given = argument(event.node, *_SCALES[name]) if name in _SCALES else None
        if given is not None and not in_test(event.scope) and event.scope.module in modules:
            found = _exponential(context, given, event.scope, 0)
            if found is not None and not event.scope.module.source.matches(_SOFTENED):
                yield _found(*found)


def _squares(context: Context) -> Iterator[Finding]:
    """Yield the squares of scales, and variances of samples, at the place of a scale."""
    for event, name in foreign(context, *{name.rpartition(".")[2] for name in _SCALES}):
        given = argument(event.node, *_SCALES[name]) if name in _SCALES and not event.value.starred else None
        if given is None or in_test(event.scope) or event.scope.module.source.matches(_SOFTENED_SQUARE):
            continue
        loc = argument(event.node, 1, "loc")
        if (_is_square(context, given, event.scope, 0) or _beside_mean(event, given, loc)) and not _numbered(
            event, given
        ):
            short = ".".join(name.split(".")[-2:]) if name.startswith("jax.") else name.rpartition(".")[2]
            yield finding(
                RULE.code,
                event.scope,
                given,
                f"`{short}` takes the scale, and `{ast.unparse(given)}` is the variance, its square",
                "give the scale itself"
                if isinstance(given, ast.BinOp)
                else f"take the root: jnp.sqrt({ast.unparse(given)})",
            )


# any number will do for what is learned through softplus, whatever it is called
_SOFTENED_SQUARE = pattern(rb"(sigma_?(2|sq)|variance)\w*\s*=\s*\S*softplus|softplus\([^)\n]*variance", re.I)


def _numbered(event: CallEvent, node: ast.expr) -> bool:
    """Say whether a name counts scales, and does not mean a square: ``sigma_2`` beside ``mu_2``, or in a file with
    ``sigma_1``."""
    found = _SECOND.search(entry_word(node))
    if found is None:
        return False
    others = [*event.node.args, *(one.value for one in event.node.keywords)]
    if any(entry_word(one).endswith("2") for one in others if one is not node):
        return True
    return any(event.scope.module.source.mentions(f"{found[1]}{number}".encode()) for number in (0, 1, 3))


_SECOND = pattern(r"^(\w*sigmas?_?)2$", re.I)


def _is_square(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether a number is the square of a scale, by what it is made of, or else by its name."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    if made is not None and depth < _DEPTH and isinstance(made, ast.Call | ast.BinOp | ast.Name):
        known = isinstance(made, ast.Call) and last_word(made.func) in {"sample", "param"}
        return _is_square(context, made, scope, depth + 1) or (known and _SQUARE.search(entry_word(node)) is not None)
    base = squared(node)
    if base is not None:
        return _SCALE.search(entry_word(base)) is not None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):  # variances add up
        every = operands(node, ast.Add)
        named = [_is_square(context, one, scope, depth + 1) or _named_variance(one) for one in every]
        return any(named) and all(known or squared(one) is not None for known, one in zip(named, every, strict=True))
    if isinstance(node, ast.Call):
        return last_word(node.func) in {"var", "nanvar"}
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and _SQUARE.search(entry_word(node)) is not None


def _named_variance(node: ast.expr) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and _VAR.search(entry_word(node)) is not None


_VAR = pattern(r"^(?!log)(\w+_)?(?<!log_)(?<!std_)(?<!scale_)vars?$", re.I)
_LOC = pattern(r"(mean|mu|loc)s?$", re.I)
_VAR_END = pattern(r"vars?$", re.I)


def _beside_mean(event: CallEvent, given: ast.expr, loc: ast.expr | None) -> bool:
    """Say whether a scale is called the variance that belongs to the mean: ``state.var`` beside ``state.mean``."""
    if loc is None or type(loc) is not type(given) or not _named_variance(given):
        return False
    first, second = entry_word(loc), entry_word(given)
    if _LOC.search(first) is None or _LOC.sub("", first) != _VAR_END.sub("", second):
        return False
    bases = [ast.dump(one.value) if isinstance(one, ast.Attribute) else "" for one in (loc, given)]
    return bases[0] == bases[1] and not event.scope.module.source.matches(_SOFTENED_VAR)


_SOFTENED_VAR = pattern(rb"var\w*\s*=\s*[^\n]*(softplus|exp|sqrt|std)|(softplus|exp|std)\([^)\n]*var", re.I)


def _found(scope: Scope, node: ast.Call, name: str) -> Finding:
    return finding(
        RULE.code,
        scope,
        node,
        f"exp({name}) is the variance, and the scale of the noise is its root",
        f"take half of the logarithm: exp(0.5 * {name})",
    )


def _bare_logarithm(context: Context, product: ast.BinOp, part: ast.expr, scope: Scope) -> bool:
    """Say whether ``log_var`` scales noise that is added to a mean, and stands for what a layer or a caller gives."""
    outer = around(context, scope).get(product)
    if not isinstance(outer, ast.BinOp) or not isinstance(outer.op, ast.Add) or not _LOGARITHM.search(entry_word(part)):
        return False
    mean = outer.left if outer.right is product else outer.right
    if not _MEAN.search(entry_word(mean)) or not isinstance(part, ast.Name | ast.Attribute | ast.Subscript):
        return False
    made = made_by(context, part, scope) if isinstance(part, ast.Name) else None
    words = {last_word(n.func) for n in ast.walk(made) if isinstance(n, ast.Call)} if made is not None else set()
    return not words & {"exp", "sqrt", "softplus", "square", "exp2", "expm1", "get_std", "std"}


_LOGARITHM = pattern(r"^(\w+_)?(log_?var(iance)?|log_?std|log_?sigma|log_?scale)(_\w+)?$", re.I)
_MEAN = pattern(r"(^|_)(mean|means|mu|loc|z_?mu|z_?mean|m)(_|\d|$)", re.I)


def _is_noise(context: Context, node: ast.expr, scope: Scope, depth: int) -> bool:
    """Say whether a factor is noise of variance one, by where it is drawn or by its name."""
    if isinstance(node, ast.Name):
        made = made_by(context, node, scope)
        if made is None:
            return _NOISE.search(node.id) is not None
        return depth < _DEPTH and _is_noise(context, made, scope, depth + 1)
    value = scope.module.values.get(node)
    if not isinstance(node, ast.Call) or not isinstance(value, Call):
        return False
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    if name:
        return name in _DRAWS or (name.startswith("flax.nnx.") and name.endswith(".normal"))
    return last_word(node.func) in {"normal", "standard_normal"}


def _exponential(context: Context, node: ast.expr, scope: Scope, depth: int) -> tuple[Scope, ast.Call, str] | None:
    """Return the exponential of a log-variance that a scale is."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        made = made_by(context, node, scope)
        return _exponential(context, made, scope, depth + 1) if made is not None else None
    if not isinstance(node, ast.Call) or last_word(node.func) != "exp" or len(node.args) != 1:
        return None
    given = node.args[0]
    name = entry_word(given)
    while isinstance(given, ast.Call) and last_word(given.func) in {"clip", "asarray", "broadcast_to"} and given.args:
        given = given.args[0]
        name = entry_word(given)
    if not isinstance(given, ast.Name | ast.Attribute | ast.Subscript):
        return None
    if not _VARIANCE.search(name) or _HALVED.search(name) or _scaled(context, given, scope):
        return None
    home = context.bodies.home(node)
    return (home, node, ast.unparse(given)) if home is not None else None


def _scaled(context: Context, node: ast.expr, scope: Scope) -> bool:
    """Say whether a log-variance was made by a product or quotient, perhaps half of it."""
    made = made_by(context, node, scope) if isinstance(node, ast.Name) else None
    return isinstance(made, ast.BinOp)


_BAD = """\
import jax
import jax.numpy as jnp


def sample(key, mean, log_var):
    noise = jax.random.normal(key, mean.shape)
    return mean + jnp.exp(log_var) * noise


print(sample(jax.random.key(0), jnp.zeros(3), jnp.ones(3)))
"""

RULE = lint_rule(
    "NNX950",
    "variance-for-scale",
    "noise times a log-variance or its exponential, or a density with a variance for its scale",
    why="""\
Noise of variance one times s has the variance s**2: s is the standard deviation, exp(0.5 * log_var). With exp(log_var)
the samples have another spread than the divergence and the density speak of, which take log_var for the logarithm of
the variance, and the fit ends at a wrong one. `norm.logpdf(x, mean, sigma**2)` and `Normal(mean, sigma**2)` take the
standard deviation at that place, too.
""",
    source="Kingma and Welling 2014, section 2.4; measured: a posterior variance of 0.30 instead of 0.20",
    check=_check,
    bad=(_BAD,),
    clean=(_BAD.replace("jnp.exp(log_var)", "jnp.exp(0.5 * log_var)"), _BAD.replace("log_var", "log_std")),
)

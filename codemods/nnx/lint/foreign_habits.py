"""NNX762: arguments and functions that JAX, Optax and Flax have not, most often those of other libraries."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, ModuleFacts, Scope
from codemods.nnx.findings import Finding
from codemods.nnx.known import ARRAY_FUNCTIONS
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.names import last
from codemods.nnx.lint.no_such_name import misfits, no_such_names
from codemods.nnx.lint.places import once
from codemods.nnx.lint.results import STAGED_RESULTS
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Ref

_ARRAYS = {"dim": "axis", "dims": "axis", "keepdim": "keepdims", "input": "", "other": "", "inplace": "",
           "requires_grad": ""}  # fmt: skip
_OLD = {"a_min": "min", "a_max": "max"}  # of clip; JAX 0.7 warns of them, JAX 0.10 has them no more
_SAMPLING = {"size": "shape", "low": "minval", "high": "maxval", "loc": "", "scale": "", "mean": "", "std": "",
             "seed": "key"}  # fmt: skip
_STEPPING = {"lr": "learning_rate", "betas": "b1 and b2", "params": "", "beta1": "b1", "beta2": "b2", "alpha": ""}
#: The names of NumPy's `random` that people look for in `jax.random`, with what there is.
_OF_NUMPY = {"seed": "jax.random.key, which gives a key for the functions that draw", "rand": "jax.random.uniform",
             "randn": "jax.random.normal"}  # fmt: skip
# those of them that `jax.numpy` has no `random` for either, as far as they go by other names in `jax.random`
_RANDOM = {
    **_OF_NUMPY, "random": "jax.random.uniform", "random_sample": "jax.random.uniform", "ranf": "jax.random.uniform",
    "sample": "jax.random.uniform", "standard_normal": "jax.random.normal", "integers": "jax.random.randint",
    "random_integers": "jax.random.randint", "shuffle": "jax.random.permutation", "bytes": "jax.random.bits",
    "standard_exponential": "jax.random.exponential", "standard_gamma": "jax.random.gamma",
    "standard_cauchy": "jax.random.cauchy", "standard_t": "jax.random.t", "weibull": "jax.random.weibull_min",
    "default_rng": "jax.random.key, which gives a key for the functions that draw",
    "RandomState": "jax.random.key, which gives a key for the functions that draw",
}  # fmt: skip
#: What `jax.random` has beside the functions of `STAGED_RESULTS`.
_DRAWING = frozenset({"PRNGKey", "ball", "fold_in", "generalized_normal", "key", "multinomial", "multivariate_normal",
                      "orthogonal", "randint", "t", "triangular", "wrap_key_data"})  # fmt: skip
# functions that have one of these after all
_EXCEPT: dict[str, frozenset[str]] = {
    **dict.fromkeys(("fill_diagonal", "place", "put", "put_along_axis"), frozenset({"inplace"})),
    **dict.fromkeys(("pad", "piecewise", "apply_along_axis"), frozenset(_ARRAYS)),
    **dict.fromkeys(("multivariate_normal", "wald"), frozenset({"mean"})),
    **dict.fromkeys(("key", "PRNGKey"), frozenset({"seed"})),
    "ravel_multi_index": frozenset({"dims"}),
    "double_sided_maxwell": frozenset({"loc", "scale"}),
    **dict.fromkeys(("rayleigh", "weibull_min"), frozenset({"scale"})),
    "ball": frozenset({"dim"}),
}
_OPTIMIZERS = frozenset(
    {"adam", "adamw", "sgd", "rmsprop", "adagrad", "lamb", "lion", "nadam", "nadamw", "adamax", "radam", "adabelief",
     "adafactor", "amsgrad", "novograd", "yogi", "noisy_sgd", "adadelta"}
)  # fmt: skip
_DECAYING = frozenset({"adam", "sgd", "rmsprop", "adagrad", "radam", "adabelief"})
# what other libraries call a function, with its place in JAX
_NAMES = {
    "cat": "jnp.concatenate", "clamp": "jnp.clip", "unsqueeze": "jnp.expand_dims", "tensor": "jnp.array",
    "from_numpy": "jnp.asarray", "randn": "jax.random.normal", "rand": "jax.random.uniform", "mm": "jnp.matmul",
    "bmm": "jnp.matmul", "softmax": "jax.nn.softmax", "relu": "jax.nn.relu", "sigmoid": "jax.nn.sigmoid",
    "log_softmax": "jax.nn.log_softmax", "one_hot": "jax.nn.one_hot", "logsumexp": "jax.nn.logsumexp",
    "manual_seed": "jax.random.key", "numel": "x.size", "zeros_initializer": "jax.nn.initializers.zeros",
    "reduce_mean": "jnp.mean", "reduce_sum": "jnp.sum", "reduce_max": "jnp.max", "cast": "x.astype",
    "rsqrt": "jax.lax.rsqrt", "erf": "jax.scipy.special.erf", "loadtxt": "np.loadtxt", "genfromtxt": "np.genfromtxt",
    "savetxt": "np.savetxt", "errstate": "np.errstate", "ndindex": "np.ndindex", "ndenumerate": "np.ndenumerate",
    "masked_fill": "jnp.where", "scatter_add": "x.at[i].add", "float": "jnp.float32",
    **{word: f"jnp.linalg.{word}" for word in ("norm", "inv", "det", "svd", "eigh", "eig", "eigvals", "eigvalsh",
                                               "cholesky", "solve", "qr", "pinv", "lstsq", "slogdet", "matrix_power",
                                               "matrix_rank", "cond", "multi_dot")},
}  # fmt: skip
#: What people look for in `jax.nn` that has no such name, with what there is.
_OF_LAYERS = {
    "Softmax": "jax.nn.softmax", "LogSoftmax": "jax.nn.log_softmax", "ReLU": "jax.nn.relu", "ReLU6": "jax.nn.relu6",
    "GELU": "jax.nn.gelu", "SiLU": "jax.nn.silu", "Sigmoid": "jax.nn.sigmoid", "Tanh": "jax.nn.tanh",
    "LeakyReLU": "jax.nn.leaky_relu", "ELU": "jax.nn.elu", "SELU": "jax.nn.selu", "CELU": "jax.nn.celu",
    "Softplus": "jax.nn.softplus", "Mish": "jax.nn.mish", "logsigmoid": "jax.nn.log_sigmoid",
    "cross_entropy": "optax.softmax_cross_entropy_with_integer_labels",
    "softmax_cross_entropy": "optax.softmax_cross_entropy",
    "binary_cross_entropy": "optax.sigmoid_binary_cross_entropy, which takes logits",
    "binary_cross_entropy_with_logits": "optax.sigmoid_binary_cross_entropy",
    "sigmoid_cross_entropy_with_logits": "optax.sigmoid_binary_cross_entropy",
    "mse_loss": "optax.squared_error", "CrossEntropyLoss": "optax.softmax_cross_entropy_with_integer_labels",
    "MSELoss": "optax.squared_error", "BCEWithLogitsLoss": "optax.sigmoid_binary_cross_entropy",
    "dropout": "nnx.Dropout", "Dropout": "nnx.Dropout", "Linear": "nnx.Linear", "Dense": "nnx.Linear",
    "LayerNorm": "nnx.LayerNorm", "Embedding": "nnx.Embed", "Conv2d": "nnx.Conv", "Module": "nnx.Module",
    "Sequential": "nnx.Sequential", "Parameter": "nnx.Param", "BatchNorm2d": "nnx.BatchNorm",
}  # fmt: skip
_VARIABLES = frozenset({"Param", "Variable", "BatchStat", "Cache", "Intermediate"})
#: Arguments of `pjit` that no JAX has any more which Flax NNX runs on.
_LAID_OUT = {"in_axis_resources": "in_shardings", "out_axis_resources": "out_shardings"}
_RELEASE = "0.4.26"
#: The release since which JAX warns of the old arguments of `clip`; it has the new ones since 0.4.27.
_WARNING = "0.7.0"
#: The release with which `jax.random.key` came.
_KEYS = "0.4.16"


def _check(context: Context) -> Iterator[Finding]:
    found: dict[tuple[ModuleFacts, str, str], list[tuple[Scope, ast.AST]]] = {}
    for event in context.asked.calls():
        if (
            not event.node.keywords
            and getattr(event.node.func, "attr", "") not in _NAMES
            and last_word(event.node.func) not in _OF_LAYERS
            and (getattr(event.node.func, "attr", "") not in {"normal", "uniform", "seed", "rand", "randn", "choice"})
            and last_word(event.node.func) not in _CHECKED
        ):
            continue
        name = context.flow.calls.name(event)
        home, _, word = name.rpartition(".")
        wrong = _wrong(name, event)
        if wrong is not None:
            if not context.bodies.guarded(event.node, event.scope):
                found.setdefault((event.scope.module, *wrong), []).append((event.scope, event.node))
            continue
        if (home == "jax.numpy" and word in _NAMES) or home == "jax.numpy.random":
            there = _drawing(word) if home == "jax.numpy.random" else _NAMES[word]
            if not context.bodies.guarded(event.node, event.scope):
                what = f"there is no `{name.replace('jax.numpy', 'jnp')}`"
                found.setdefault((event.scope.module, what, f"use {there}"), []).append((event.scope, event.node))
            continue
        if home == "jax.random" and word in _OF_NUMPY:
            if not context.bodies.guarded(event.node, event.scope):
                what, instead = f"there is no `{name}`", f"use {_OF_NUMPY[word]}"
                found.setdefault((event.scope.module, what, instead), []).append((event.scope, event.node))
            continue
        if home == "jax.nn" and (word in _OF_LAYERS or name not in STAGED_RESULTS):
            if word in _OF_LAYERS and not context.bodies.guarded(event.node, event.scope):
                what, instead = f"there is no `{name}`", f"use {_OF_LAYERS[word]}"
                found.setdefault((event.scope.module, what, instead), []).append((event.scope, event.node))
            continue  # the arguments of what is not known are not known either
        known = _foreign(home, word)
        if known is _LAID_OUT and _older(context, event, _RELEASE):
            continue
        # the target 0.11 runs with a JAX that has them, as what the project pins may do
        if name == "jax.numpy.clip" and context.options.target == "0.12" and not _older(context, event, _WARNING):
            known = {**known, **_OLD}
        for keyword, _ in event.value.keywords if known else ():
            if keyword in known and keyword not in _EXCEPT.get(word, ()):
                own = known[keyword or ""]
                what = f"`{last(name)}` has no argument `{keyword}`"
                what += " in new releases of JAX" if keyword in _OLD else ""
                instead = f"it is called {own}" if own else "see its signature"
                found.setdefault((event.scope.module, what, instead), []).append((event.scope, event.node))
                break
    for scope, node in _of_arrays(context):
        what, instead = f"there is no `{ast.unparse(node)}`", "index the array itself: x.at[index].set(value)"
        found.setdefault((scope.module, what, instead), []).append((scope, node))
    seen = {(scope.module, node) for places in found.values() for scope, node in places}
    seen |= {(module, one) for module, node in seen if isinstance(node, ast.Call) for one in ast.walk(node.func)}
    for home_scope, place, what, instead in (*no_such_names(context), *misfits(context)):
        if (home_scope.module, place) not in seen:
            found.setdefault((home_scope.module, what, instead), []).append((home_scope, place))
    for (module, what, instead), places in found.items():
        if context.options.older_jax(module.source.path, _KEYS):
            instead = instead.replace("jax.random.key,", "jax.random.PRNGKey,")
        yield from once(RULE.code, places, what, instead)


def _of_arrays(context: Context) -> Iterator[tuple[Scope, ast.Attribute]]:
    """Yield where ``jnp.at[index]`` is asked of the module, which arrays alone have."""
    modules = {module for module in context.asked.modules if module.source.matches(_ASKED)}
    for event in context.asked.attributes() if modules else ():
        scope, node = event.scope, event.node
        if node.attr == "at" and scope.module in modules and event.context == "load":
            base = context.flow.resolve(context.flow.here(event.base, scope)).value
            if isinstance(base, Ref) and base.name == "jax.numpy" and not context.bodies.guarded(node, scope):
                yield scope, node


_ASKED = pattern(rb"np\.at\[|numpy\.at\[", needs=(b".at[",))


def _older(context: Context, event: CallEvent, release: str) -> bool:
    """Say whether the project's pins and locks allow only a JAX that is older than a release."""
    return context.options.older_jax(event.scope.module.source.path, release)


_CHECKED = _VARIABLES | {"default_backend"}


def _wrong(name: str, event: CallEvent) -> tuple[str, str] | None:
    """Return what is wrong with the arguments of a call, and what to write, where those alone tell it."""
    home, _, word = name.rpartition(".")
    given = event.node.args
    if event.value.starred:
        return None
    if home == "flax.nnx" and word in _VARIABLES and not given and not event.node.keywords:
        return f"`{word}` needs a value", f"give it an array: nnx.{word}(jnp.zeros(shape))"
    if name == "jax.default_backend" and given:
        return "`default_backend` takes no argument", "choose a device: with jax.default_device(jax.devices(...)[0])"
    return None


def _drawing(word: str) -> str:
    """Return what draws numbers in JAX as a function of NumPy's `random` does."""
    if word in _RANDOM:
        return _RANDOM[word] if " " in _RANDOM[word] else f"{_RANDOM[word]}, which takes a key"
    known = word in _DRAWING or f"jax.random.{word}" in STAGED_RESULTS
    return f"jax.random.{word}, which takes a key" if known else "a function of jax.random, which takes a key"


def _foreign(home: str, word: str) -> dict[str, str]:
    """Return what a function is given by habits of other libraries, with the name that it has here."""
    if home in {"jax.numpy", "jax.nn", "jax.numpy.linalg"} or (home == "flax.nnx" and word in ARRAY_FUNCTIONS):
        return _ARRAYS
    if home == "jax.random" and (word in _DRAWING or f"jax.random.{word}" in STAGED_RESULTS):
        return _SAMPLING
    if (home, word) == ("jax.experimental.pjit", "pjit"):
        return _LAID_OUT
    if home == "optax" and word in _OPTIMIZERS:
        decay = {"weight_decay": "that of optax.adamw or add_decayed_weights"} if word in _DECAYING else {}
        return {**_STEPPING, **decay}
    return {}


RULE = lint_rule(
    "NNX762",
    "foreign-habit",
    "a name or argument that is not there, most often one of PyTorch, TensorFlow or NumPy",
    why="""\
What is `dim`, `keepdim`, `lr`, `size` or `cat` elsewhere is `axis`, `keepdims`, `learning_rate`, `shape` and
`concatenate` here, `jnp.norm` is `jnp.linalg.norm`, and a Variable without a value is none. The call raises a TypeError
or AttributeError when it is reached. Of `a_min` and `a_max` of `jnp.clip` nothing is said where the project's pins or
locks allow only releases of JAX that have them.

Public functions of JAX, Optax, Flax and Orbax have their arguments in a table, made by asking eleven releases from JAX
0.4.13 to 0.10.2: a call counts as wrong if none of them takes it so. A name that none of them has counts only where it
is like one that they have, or another of their modules or NumPy has it; so `jnp.tahn` is told of, and what a later
release may bring is not. Names under `try`, behind `hasattr` or a test of a version are left alone, and so are projects
that pin a JAX newer than the table.
""",
    source="Stack Overflow; signatures of JAX 0.6.2, 0.7.2 and 0.10.2 and their optax: TypeError or AttributeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax


def probabilities(logits):
    return jax.nn.softmax(logits, dim=-1)
""",
        """\
import optax

tx = optax.adam(lr=1e-3)
""",
    ),
    clean=(
        """\
import jax
import optax

tx = optax.adam(learning_rate=1e-3)


def probabilities(logits):
    return jax.nn.softmax(logits, axis=-1)
""",
    ),
)

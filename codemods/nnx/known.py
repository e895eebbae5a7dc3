"""What the analysis knows of Flax, JAX and the standard library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

# Functions that return a function which behaves like their first argument as far as objects are concerned.
TRANSPARENT = frozenset(
    {
        "flax.nnx.jit", "flax.nnx.vmap", "flax.nnx.pmap", "flax.nnx.scan", "flax.nnx.remat", "flax.nnx.checkpoint",
        "flax.nnx.shard_map", "flax.nnx.split_rngs", "flax.nnx.fork_rngs", "flax.nnx.cached_partial",
        "flax.nnx.custom_vjp", "flax.nnx.checkify", "flax.nnx.state_axes",
        "jax.jit", "jax.vmap", "jax.pmap", "jax.checkpoint", "jax.remat", "jax.shard_map", "jax.named_call",
        "jax.custom_vjp", "jax.custom_jvp", "jax.named_scope",
        "functools.partial", "functools.lru_cache", "functools.cache", "functools.partialmethod",
        "contextlib.contextmanager", "typing.no_type_check", "typing.overload",
        "jaxtyping.jaxtyped", "beartype.beartype", "typeguard.typechecked",
    }
)  # fmt: skip

# Those of them that run the function as it is; the others trace it, so that it works on copies of its arguments.
UNTRACED = frozenset(name for name in TRANSPARENT if not name.startswith(("flax.", "jax."))) | {
    "flax.nnx.cached_partial",
    "flax.nnx.split_rngs",
    "flax.nnx.fork_rngs",
    "jax.named_call",
}

# Functions that return a function of gradients of their first argument.
GRADIENTS = frozenset(
    {"flax.nnx.grad", "flax.nnx.value_and_grad", "jax.grad", "jax.value_and_grad", "jax.jacfwd", "jax.jacrev"}
)


class Running(NamedTuple):
    """A function that calls some of its arguments.

    Attributes:
        positions: where these stand; one that is a list holds several.
        names: what they are called as keywords.
        first: where the first operand stands that each gets.
        counted: whether they get the loop's counter before it.
    """

    positions: tuple[int, ...]
    names: tuple[str, ...]
    first: int
    counted: bool = False


_FORI = Running((2,), ("body_fun",), 3, counted=True)
_WHILE = Running((0, 1), ("cond_fun", "body_fun"), 2)
_COND = Running((1, 2), ("true_fun", "false_fun"), 3)
_SWITCH = Running((1,), ("branches",), 2)
CALLS_BODY: dict[str, Running] = {
    "flax.nnx.fori_loop": _FORI,
    "flax.nnx.while_loop": _WHILE,
    "flax.nnx.cond": _COND,
    "flax.nnx.switch": _SWITCH,
    "flax.nnx.eval_shape": Running((0,), ("f",), 1),
    "jax.lax.fori_loop": _FORI,
    "jax.lax.while_loop": _WHILE,
    "jax.lax.cond": _COND,
    "jax.lax.switch": _SWITCH,
    "jax.lax.scan": Running((0,), ("f",), 1),
    "jax.eval_shape": Running((0,), ("fun",), 1),
}
#: What the operand of these is called as a keyword.
OPERANDS = ("init_val", "init", "operand")

#: Functions of flax.nnx that give one array, without its name; most of them are those of jax.nn.
ARRAY_FUNCTIONS = frozenset(
    {
        "avg_pool", "celu", "combine_masks", "dot_product_attention", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu",
        "hard_swish", "hard_tanh", "leaky_relu", "log_sigmoid", "log_softmax", "logsumexp", "make_attention_mask",
        "make_causal_mask", "max_pool", "min_pool", "one_hot", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign",
        "softmax", "softplus", "standardize", "swish", "tanh",
    }
)  # fmt: skip

#: Methods of records that give another one, with the fields that they are given and the rest as it was.
REPLACING = frozenset({"replace", "_replace"})

# Functions that return an independent copy of their first argument (of the object graph in it).
COPIES = frozenset({"flax.nnx.clone", "copy.deepcopy", "copy.copy"})

# Names of flax.nnx that users also reach through its submodules, which come and go between releases.
_HOMES = {
    "optimizer": {"Optimizer", "ModelAndOptimizer", "OptState", "OptArray", "OptVariable"},
    "training.optimizer": {"Optimizer", "ModelAndOptimizer", "OptState", "OptArray", "OptVariable"},
    "module": {"Module"},
    "object": {"Object"},
    "pytreelib": {"Pytree", "Object"},
    "graph": {"split", "merge", "state", "update", "clone", "graphdef", "pop", "cached_partial", "GraphDef"},
    "statelib": {"State"},
    "state": {"State"},
    "variablelib": {"Variable", "Param", "VariableState", "BatchStat", "Cache", "Intermediate"},
    "rnglib": {"Rngs", "RngStream", "RngState", "RngKey", "RngCount", "split_rngs", "fork_rngs", "reseed"},
    "spmd": {"with_sharding_constraint", "with_partitioning", "get_partition_spec", "get_named_sharding"},
    "nn.linear": {"Linear", "Conv", "Embed", "Einsum", "LinearGeneral", "ConvTranspose"},
    "nn.stochastic": {"Dropout"},
    "nn.attention": {"MultiHeadAttention"},
    "nn.normalization": {"BatchNorm", "LayerNorm", "RMSNorm", "GroupNorm"},
    "nn.recurrent": {"RNN", "Bidirectional", "LSTMCell", "GRUCell", "OptimizedLSTMCell", "SimpleCell"},
    "transforms.compilation": {"jit"},
    "transforms.autodiff": {"grad", "value_and_grad", "remat", "DiffState"},
    "transforms.iteration": {"scan", "vmap", "pmap", "Carry", "StateAxes"},
}


# Functions of jax.nn that Linen has under its own name.
_ACTIVATIONS = frozenset(
    {"celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "leaky_relu", "log_sigmoid",
     "log_softmax", "one_hot", "relu", "relu6", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus",
     "standardize", "swish"}
)  # fmt: skip

# Functions that Linen and NNX have in common.
_POOLS = frozenset({"avg_pool", "max_pool", "pool"})

# The module of stand-ins that a project gets for several Flax versions at once, see codemods.nnx.compat.
COMPATIBILITY = "_nnx_compat"


def canonical(name: str) -> str:
    """Return the public name of a symbol of Flax or JAX that was reached through one of its submodules.

    >>> canonical("flax.nnx.training.optimizer.Optimizer")
    'flax.nnx.Optimizer'
    """
    if f".{COMPATIBILITY}." in f".{name}":
        return f"flax.nnx.{name.rpartition('.')[2]}"
    if name.startswith("flax.experimental.nnx"):
        name = "flax.nnx" + name[len("flax.experimental.nnx") :]
    if name.startswith("flax.nnx."):
        home, _, last = name[len("flax.nnx.") :].rpartition(".")
        if home == "training.metrics":
            return f"flax.nnx.{last}" if last in {"Metric", "MultiMetric"} else f"flax.nnx.metrics.{last}"
        if home and last in _HOMES.get(home, ()):
            return f"flax.nnx.{last}"
    if name.startswith("flax.linen."):
        home, _, last = name[len("flax.linen.") :].rpartition(".")
        if home in {"", "activation"} and last in _ACTIVATIONS:
            return f"jax.nn.{last}"
        if home in {"", "pooling"} and last in _POOLS:
            return f"flax.nnx.{last}"
    return name


_LIBRARIES = frozenset({"flax", "jax", "jaxlib", "numpy", "optax", "orbax", *sys.stdlib_module_names})


def foreign(module: str) -> bool:
    """Say whether an absolute import of a module means a library, even if a file of the project has its name.

    >>> foreign("flax.nnx"), foreign("mylab.flax")
    (True, False)
    """
    return module.partition(".")[0] in _LIBRARIES


def named_so(name: str, modules: Iterable[str], is_package: Callable[[str], bool]) -> list[str]:
    """Return the modules that an import may mean that is not found from its own folder outwards.

    Args:
        name: what is imported: ``lab.optim`` may be any module of a name that ends so, ``lab`` alone a package in a
            folder ``src``, from which it is installed.
        modules: the names of those whose last word is that of the import.
        is_package: says whether a module is a package.
    """
    if "." not in name:
        return [full for full in modules if f".{full}".endswith(f".src.{name}") and is_package(full)]
    return [full for full in modules if full.endswith("." + name)]

"""What the lint rules know of JAX, NNX and the standard library, by full name."""

from __future__ import annotations

from codemods.nnx.known import CALLS_BODY

# Transforms whose function runs once per compilation. The first argument is the function.
JITS = frozenset(
    {"jax.jit", "flax.nnx.jit", "jax.pmap", "flax.nnx.pmap", "jax.experimental.pjit.pjit", "jax.pjit",
     "jax.shard_map", "flax.nnx.shard_map", "jax.experimental.shard_map.shard_map",
     "jax.checkpoint", "jax.remat", "flax.nnx.checkpoint", "flax.nnx.remat", "flax.nnx.scan"}
)  # fmt: skip
# The ones that keep compiled code under the function object.
COMPILING = frozenset({"jax.jit", "flax.nnx.jit", "jax.pmap", "flax.nnx.pmap", "jax.experimental.pjit.pjit"})
# Transforms whose function runs at every call, but on tracers.
BATCHING = frozenset({"jax.vmap", "flax.nnx.vmap", "jax.numpy.vectorize"})

# Functions that trace some of their arguments at once: the positions and the names of these arguments.
BODIES: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "jax.lax.map": ((0,), ("f",)),
    "jax.lax.associative_scan": ((0,), ("fn",)),
    **{name: one[:2] for name, one in CALLS_BODY.items() if not name.endswith(".eval_shape")},
}
WITH_PATH = frozenset({"jax.tree.map_with_path", "jax.tree_util.tree_map_with_path"})  # the path of a leaf comes first
TREE_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map", *WITH_PATH})
# What takes a tree, and gives one of the same structure: an array of an array.
OF_TREES = frozenset({"jax.device_put", "jax.lax.stop_gradient", "jax.lax.optimization_barrier", "jax.lax.pmax",
                      "jax.lax.pmin", "jax.lax.psum", "jax.lax.pvary", "jax.lax.sort"})  # fmt: skip

SOFTMAX = frozenset({"jax.nn.softmax", "flax.nnx.softmax"})

# Last parts of all names above: a cheap test before a name is resolved.
TRACING_WORDS = frozenset(name.rpartition(".")[2] for name in (*JITS, *BATCHING, *BODIES))

# Functions that run their argument on the host although they are called in traced code.
HOST_CALLBACKS = frozenset(
    {"jax.debug.callback", "jax.pure_callback", "jax.experimental.io_callback", "jax.experimental.pure_callback",
     "jax.experimental.host_callback.call", "jax.experimental.host_callback.id_tap"}
)  # fmt: skip

# Namespaces whose functions give arrays of arrays.
ARRAY_SPACES = ("jax.numpy.", "jax.lax.", "jax.nn.", "jax.random.", "jax.scipy.", "jax.image.", "optax.", "einops.",
                "flax.nnx.initializers.", "jax.ops.")  # fmt: skip
ARRAY_FUNCTIONS = frozenset(
    {"relu", "gelu", "softmax", "log_softmax", "sigmoid", "tanh", "silu", "swish", "elu", "celu", "leaky_relu", "selu",
     "softplus", "soft_sign", "hard_tanh", "hard_sigmoid", "hard_silu", "glu", "one_hot", "logsumexp", "standardize",
     "relu6", "log_sigmoid", "normalize", "dot_product_attention", "make_causal_mask", "combine_masks"}
)  # fmt: skip
# Functions that say something static of an array.
STATIC_RESULTS = frozenset(
    {f"{home}.{name}" for home in ("jax.numpy", "numpy") for name in
     ("shape", "ndim", "size", "issubdtype", "result_type", "dtype", "iinfo", "finfo", "isscalar", "promote_types",
      "can_cast", "broadcast_shapes", "iterable", "iscomplexobj")}
    | {"jax.eval_shape", "jax.tree.structure", "jax.tree_util.tree_structure", "jax.lax.axis_size", "jax.typeof",
       "jax.device_count", "jax.local_device_count", "jax.process_index", "optax.tree_utils.tree_get"}
)  # fmt: skip

# Attributes of an array that are known while it is traced.
STATIC_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "size", "aval", "weak_type", "sharding", "itemsize", "nbytes"})
# Attributes of an array that are arrays, and its methods that give arrays.
ARRAY_ATTRIBUTES = frozenset({"T", "mT", "real", "imag", "at", "flat"})
ARRAY_METHODS = frozenset(
    {"sum", "mean", "any", "all", "max", "min", "prod", "std", "var", "argmax", "argmin", "astype", "reshape", "ravel",
     "flatten", "squeeze", "transpose", "dot", "cumsum", "cumprod", "clip", "round", "conj", "take", "swapaxes",
     "repeat", "sort", "argsort", "diagonal", "trace", "ptp", "set", "add", "multiply", "mul", "divide", "power",
     "apply", "get", "copy", "view", "block_until_ready", "searchsorted", "nonzero"}
)  # fmt: skip

# numpy functions that accept tracers or never see one.
NUMPY_ALLOWED = frozenset(
    {"sum", "mean", "max", "min", "reshape", "transpose", "shape", "prod", "ndim", "size", "float32", "float64",
     "float16", "int32", "int64", "int8", "uint8", "uint32", "bool_", "dtype", "issubdtype", "finfo", "iinfo",
     "result_type", "isscalar", "std", "var", "amax", "amin", "any", "all", "cumsum", "cumprod", "argmax", "argmin",
     "ravel", "squeeze", "swapaxes", "clip", "round", "take", "repeat", "newaxis", "ndarray", "generic", "integer",
     "floating", "number", "iterable", "broadcast_shapes", "promote_types", "diagonal", "trace", "nonzero", "argsort",
     "sort", "copy", "around", "compress", "ptp", "searchsorted", "choose", "expand_dims", "moveaxis", "flip", "real",
     "imag"}
)  # fmt: skip

# Functions that make a key of a seed.
KEY_MAKERS = frozenset({"jax.random.key", "jax.random.PRNGKey"})
# Samplers and the other functions of jax.random that use a key up.
NOT_CONSUMING = frozenset(
    {"key", "PRNGKey", "fold_in", "key_data", "wrap_key_data", "key_impl", "clone", "PRNGKeyArray", "KeyArray",
     "default_prng_impl", "threefry2x32_p"}
)  # fmt: skip

MUTATING_METHODS = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "appendleft"})

# Host functions that give another value, or do something, at every call.
HOST_MODULES = (
    "random.", "numpy.random.", "requests.", "urllib.request.", "wandb.", "mlflow.", "datetime.datetime.now",
    "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today")  # fmt: skip
HOST_FUNCTIONS = frozenset(
    {"time.time", "time.time_ns", "time.perf_counter", "time.perf_counter_ns", "time.monotonic", "time.process_time",
     "time.sleep", "builtins.open", "builtins.input", "os.getenv", "os.environ.get", "os.urandom",
     "uuid.uuid4", "uuid.uuid1", "secrets.token_hex", "numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.save",
     "numpy.savez", "numpy.savetxt", "jax.numpy.load", "jax.numpy.save", "pickle.load", "pickle.dump", "json.dump"}
)  # fmt: skip


def gives_arrays(name: str) -> bool:
    """Say whether a foreign function gives arrays when it is given arrays."""
    if name in STATIC_RESULTS:
        return False
    if name.startswith("flax.nnx."):
        return name.rpartition(".")[2] in ARRAY_FUNCTIONS
    return name.startswith(ARRAY_SPACES) or name in TREE_MAPS


def last(name: str) -> str:
    """Return the last part of a dotted name."""
    return name.rpartition(".")[2]


TRAIN_STATE = "flax.training.train_state.TrainState"
# what optax has for whole optimizers
OPTIMIZERS = frozenset(
    {"adabelief", "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamaxw", "adamw", "amsgrad", "lamb", "lars",
     "lion", "nadam", "nadamw", "novograd", "radam", "rmsprop", "sgd", "yogi"}
)  # fmt: skip

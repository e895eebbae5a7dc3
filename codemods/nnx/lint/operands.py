"""What arithmetic makes of an array: an array only where the other operand is a number or an array itself.

A class that overloads operators, as a quantity with a unit or an operator on states, makes of an array whatever it
wants. Where no such class is in sight, neither in the project nor in a library that it imports, an operand of which
nothing is known can only be a number or an array, or raises an error.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable

from codemods.nnx.context import Context
from codemods.nnx.facts import Scope
from codemods.nnx.frames import Bound
from codemods.nnx.lint.names import ARRAY_METHODS
from codemods.nnx.nodes import last_word
from codemods.nnx.values import (
    Attr,
    Call,
    Changed,
    Choice,
    Comprehension,
    Const,
    Item,
    Loop,
    Mapping,
    Param,
    Ref,
    Sequence,
    Unknown,
    Value,
)

#: Libraries whose numbers and arrays leave an array of JAX what it is in arithmetic.
NUMERIC = frozenset({"jax", "jaxlib", "numpy", "flax", "optax", "scipy", "einops", "chex", "haiku", "distrax", "jraph",
                     "equinox", "orbax", "tensorflow_probability"})  # fmt: skip
# libraries that have no objects for arithmetic with arrays
_HARMLESS = NUMERIC | sys.stdlib_module_names | frozenset(
    {"IPython", "PIL", "absl", "ale_py", "beartype", "blackjax", "cffi", "click", "cloudpickle", "clu", "comet_ml",
     "cv2", "datasets", "diffrax", "dm_env", "dotenv", "envpool", "fire", "fsspec", "gin", "grain", "gym", "gymnasium",
     "gymnax", "h5py", "huggingface_hub", "hydra", "imageio", "ipywidgets", "jaxopt", "jaxtyping", "joblib", "librosa",
     "loguru", "matplotlib", "ml_collections", "ml_dtypes", "mlflow", "msgpack", "mujoco", "neptune", "nltk", "numba",
     "numpyro", "omegaconf", "optimistix", "optuna", "plotly", "psutil", "pydantic", "pytest", "ray", "regex",
     "requests", "rich", "rlax", "safetensors", "seaborn", "sentencepiece", "setuptools", "simple_parsing", "skimage",
     "sklearn", "soundfile", "tabulate", "tensorboard", "tensorboardX", "tensorstore", "termcolor", "tiktoken",
     "tokenizers", "torchvision", "tqdm", "transformers", "treescope", "typeguard", "typer", "typing_extensions",
     "tyro", "wandb", "yaml", "zarr"}
)  # fmt: skip
_KEPT = frozenset({"T", "mT", "real", "imag"})  # attributes of an array that are arrays
_COUNTS = frozenset({"ndim", "size", "itemsize", "nbytes"})
_WRITING = frozenset({"set", "add", "multiply", "mul", "divide", "power", "min", "max", "get", "apply"})
_CONVERTING = frozenset({"builtins.int", "builtins.float", "builtins.len", "builtins.bool", "builtins.ord"})
_MODULES = frozenset({"math", "time", "random"})
_SPACES = frozenset({"jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.nn", "jax.random", "jax.lax", "jax.scipy",
                     "optax", "optax.losses"})  # fmt: skip
_NUMBERS = frozenset({"int", "float", "bool", "complex", "Array", "ndarray", "ArrayLike", "Scalar", "Float", "Int"})
_DEPTH = 8


def overloading(context: Context) -> bool:
    """Say whether arithmetic may be overloaded: by a class of the project, or of a library that is not known."""
    return context.bodies.overloaded or any(
        _strange(context, root, module.name) for module in context.project.modules for root in _roots(module.imports)
    )


def _roots(imports: Iterable[ast.Import | ast.ImportFrom]) -> set[str]:
    """Return the libraries, or modules beside, that statements import."""
    found: set[str] = set()
    for one in imports:
        if isinstance(one, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in one.names}
        elif not one.level and one.module:
            found.add(one.module.partition(".")[0])
    return found


def _strange(context: Context, root: str, importer: str) -> bool:
    return root not in _HARMLESS and context.flow.project.find(root, importer) is None


def gives_array(
    context: Context, parts: Iterable[Value | None], scope: Scope, is_array: Callable[[Value | None], bool]
) -> bool:
    """Say whether an operation gives an array: one operand is an array, and the others leave it that.

    Args:
        context: the analysis.
        parts: the operands.
        scope: the scope that they belong to.
        is_array: says of an operand whether it is an array.
    """
    rest: list[tuple[Value | None, bool]] = []  # with whether it was not asked for yet
    found = False
    for part in parts:  # no operand is asked for without need: each may be such an operation again
        if found or not is_array(part):
            rest.append((part, found))
        else:
            found = True
    return found and all(leaves_arrays(context, part, scope) or (new and is_array(part)) for part, new in rest)


def leaves_arrays(context: Context, value: Value | None, scope: Scope) -> bool:
    """Say whether arithmetic of an array with a value gives an array, whatever else it might be.

    Args:
        context: the analysis.
        value: the other operand.
        scope: the scope that it belongs to.
    """
    return not context.shared(overloading) or plain(context, value, scope)


def plain(context: Context, value: Value | None, scope: Scope, depth: int = 0) -> bool:
    """Say whether a value is a number, or an array of NumPy or JAX, for certain.

    Args:
        context: the analysis.
        value: the value.
        scope: the scope that it belongs to.
        depth: how deep in a larger value it stands.
    """
    if value is None or depth > _DEPTH:
        return False
    if isinstance(value, Const):
        return isinstance(value.value, bool | int | float | complex)
    if isinstance(value, Unknown):
        return _operation(context, value.node, scope, depth + 1)
    if isinstance(value, Loop):
        return all(plain(context, one, scope, depth + 1) for one in (value.before, value.again) if one is not None)
    if isinstance(value, Choice):
        return all(plain(context, one, scope, depth + 1) for one in value.options)
    if isinstance(value, Changed):
        return isinstance(value.node, ast.Subscript) and plain(context, value.before, scope, depth + 1)
    if isinstance(value, Item):
        if isinstance(value.base, Attr) and value.base.name == "shape":
            return True
        if plain(context, value.base, scope, depth + 1):
            return True
    if isinstance(value, Attr):
        if value.name in _COUNTS or (value.name in _KEPT and plain(context, value.base, scope, depth + 1)):
            return True
    if isinstance(value, Call):
        found = _call(context, value, scope, depth + 1)
        if found is not None:
            return found
    return _further(context, value, scope, depth + 1)


def _operation(context: Context, node: ast.AST, scope: Scope, depth: int) -> bool:
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.AugAssign):
        parts = [node.target, node.value]
    else:
        return False
    return all(plain(context, scope.module.values.get(part), scope, depth) for part in parts)


def _call(context: Context, value: Call, scope: Scope, depth: int) -> bool | None:
    """Say whether a call gives a number or an array; None if a function of the project or of an object decides."""
    name = context.flow.calls.callee_name(context.flow.here(value, scope))
    home, _, word = name.rpartition(".")
    if name in _CONVERTING or home in _MODULES:
        return True
    if home in _SPACES or home.startswith("jax.scipy."):
        return word[:1].islower()
    if home.partition(".")[0] == "numpy" or name in {"builtins.abs", "builtins.sum", "builtins.min", "builtins.max",
                                                     "builtins.round"}:  # fmt: skip
        return all(plain(context, one, scope, depth) or _of_numbers(context, one, scope, depth) for one in value.args)
    if name:
        return False
    callee = value.callee
    if isinstance(callee, Attr) and callee.name in _WRITING and isinstance(callee.base, Item):
        written = callee.base.base
        if isinstance(written, Attr) and written.name == "at":
            return plain(context, written.base, scope, depth)
    if isinstance(callee, Attr) and callee.name in ARRAY_METHODS and plain(context, callee.base, scope, depth):
        return True
    return None


def _of_numbers(context: Context, value: Value, scope: Scope, depth: int) -> bool:
    """Say whether a value is a list of numbers, a type or a text, which functions of NumPy take besides."""
    if isinstance(value, Sequence):
        return all(plain(context, one, scope, depth) or _of_numbers(context, one, scope, depth) for one in value.items)
    return isinstance(value, Const | Ref) or (isinstance(value, Attr) and value.name in {"shape", "dtype"})


def _further(context: Context, value: Value, scope: Scope, depth: int) -> bool:
    """Go on with what a value resolves to, or with all that a parameter or field is given."""
    found = context.flow.resolve(context.flow.here(value, scope))
    inner = found.value
    if isinstance(inner, Ref):
        return inner.name.partition(".")[0] in {"numpy", "jax", "math"}
    if isinstance(inner, Param):
        note = inner.function.annotations.get(inner.name)
        if note is not None:
            whole = note.value if isinstance(note, ast.Subscript) else note
            return last_word(whole) in _NUMBERS
    if inner is not value and not isinstance(inner, Param | Attr):
        return plain(context, inner, _home(context, found, scope), depth)
    if isinstance(inner, Param) and (inner is inner.function.self_param or inner.function in context.traced):
        return False
    sources = context.sources.all_of(found, _may_be_plain)
    return bool(sources) and all(
        one.value is not inner and plain(context, one.value, _home(context, one, scope), depth) for one in sources or ()
    )


def _home(context: Context, found: Bound, scope: Scope) -> Scope:
    """Return the scope that a value belongs to that was followed from another one."""
    if found.frame is not None:
        return found.frame.function.scope
    if isinstance(found.value, Call | Unknown):
        return context.bodies.home(found.value.node) or context.bodies.module_scope(found.value.node) or scope
    return scope


def _may_be_plain(value: Value) -> bool:
    return not isinstance(value, Sequence | Mapping | Comprehension)

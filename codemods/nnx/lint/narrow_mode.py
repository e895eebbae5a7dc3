"""Whether a program stays in the 32-bit mode of JAX."""

from __future__ import annotations

import ast
import sys

from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.lint.places import is_test
from codemods.nnx.lint.syntax import names_in
from codemods.nnx.nodes import last_word

# packages that do not switch the 64-bit mode on when they are imported
_PLAIN = sys.stdlib_module_names | {
    "PIL", "absl", "beartype", "chex", "clu", "cv2", "datasets", "diffrax", "distrax", "einops", "equinox", "flax",
    "grain", "gym", "gymnasium", "h5py", "haiku", "jax", "jaxlib", "jaxtyping", "lineax", "matplotlib",
    "ml_collections", "ml_dtypes", "msgpack", "networkx", "numba", "numpy", "optax", "optimistix", "orbax", "pandas",
    "psutil", "requests", "scipy", "seaborn", "sklearn", "tensorflow", "tensorflow_datasets", "torch", "torchvision",
    "tqdm", "transformers", "typing_extensions", "tyro", "wandb", "yaml",
}  # fmt: skip


def may_stay_narrow(context: Context) -> bool:
    """Say whether no file speaks of the 64-bit mode, and one of them is a program, which nothing else sets it for.

    Args:
        context: the analysis.
    """
    modules = context.project.modules
    return not any(b"x64" in module.source.data.lower() for module in modules) and any(map(_program, modules))


def stays_narrow(context: Context) -> bool:
    """Say whether a program stays in 32-bit mode for certain: neither a file nor a package that it imports sets it.

    Args:
        context: the analysis.
    """
    if not may_stay_narrow(context):
        return False
    modules = context.project.modules
    own = {word for module in modules for word in module.name.removesuffix(".py").replace("/", ".").split(".")}
    imported = {
        name.partition(".")[0]
        for module in modules
        for one in module.imports
        for name in _named(one)
    }  # fmt: skip
    return imported <= _PLAIN | own


def _named(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the modules of other packages that a statement imports, or of its own by their full names."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    return [statement.module] if statement.module and not statement.level else []


def _program(module: ModuleFacts) -> bool:
    """Say whether a module does something when it is run, and not only for those that import it or test it."""
    return not holds_tests(module) and any(
        (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))
        or isinstance(one, ast.For | ast.While | ast.With)
        or (isinstance(one, ast.If) and "__name__" in names_in(one.test))
        or (isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and not _declares(one.value))
        for one in getattr(module.scope.node, "body", ())
    )


def holds_tests(module: ModuleFacts) -> bool:
    """Say whether a module holds tests, by its name, or as a file ``test.py`` of functions ``test_...``.

    Args:
        module: a module.
    """
    if is_test(module):
        return True
    name = module.source.file_name
    return name in {"test.py", "tests.py"} and any(one.name.startswith("test_") for one in module.functions)


def _declares(call: ast.Call) -> bool:
    """Say whether a call only declares something, as modules do that others import."""
    return last_word(call.func) in {"getLogger", "TypeVar", "NewType", "namedtuple", "partial", "jit", "vmap", "grad"}

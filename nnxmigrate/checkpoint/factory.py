"""The user's function that builds the new program's model."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import pathlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from nnxmigrate.checkpoint.errors import CheckpointError

Seeds = Mapping[str, int]
"""Seeds by stream name; the empty name is the default stream's, ``nnx.Rngs(0)``."""


def parse_seeds(text: str) -> dict[str, int]:
    """Read seeds written as ``params=0,dropout=1`` or as one number for all streams.

    Raises:
        CheckpointError: if it is written otherwise.
    """
    seeds: dict[str, int] = {}
    for part in text.split(","):
        name, _, seed = part.strip().rpartition("=")
        if not seed.isdecimal() or (name and not name.isidentifier()) or name in seeds:
            raise CheckpointError(f"--rngs {text}: write stream=seed,stream=seed, such as params=0,dropout=1")
        seeds[name] = int(seed)
    return seeds


def rngs_source(seeds: Seeds) -> str:
    """Return the Python expression that makes the ``nnx.Rngs`` of ``seeds``."""
    ordered = sorted(seeds.items(), key=lambda seed: bool(seed[0]))  # the positional one comes first
    return f"nnx.Rngs({', '.join(f'{name}={seed}' if name else str(seed) for name, seed in ordered)})"


def load_factory(reference: str) -> Callable[..., Any]:
    """Import the object that ``package.module:name`` or ``path/to/file.py:name`` refers to.

    Modules are looked up in the working directory too.

    Raises:
        CheckpointError: if there is no such object, or it cannot be called, or its module cannot be imported.
    """
    module_name, mark, name = reference.rpartition(":")
    if not mark or not module_name or not name:
        raise CheckpointError(f"--model {reference}: write package.module:factory or path/to/file.py:factory")
    found: Any = _imported(module_name, reference)
    for attribute in name.split("."):
        if not hasattr(found, attribute):
            raise CheckpointError(f"--model {reference}: {module_name} has no {name}")
        found = getattr(found, attribute)
    if not callable(found):
        raise CheckpointError(f"--model {reference}: not callable; name a function that returns the model")
    return found  # type: ignore[no-any-return]


def takes_rngs(factory: Callable[..., Any]) -> bool:
    """Say whether ``factory`` is called with the new ``nnx.Rngs``.

    Raises:
        CheckpointError: if it needs other arguments.
    """
    return _rngs_parameter(factory) is not None


def call_with_rngs(factory: Callable[..., Any], seeds: Seeds) -> Any:
    """Call ``factory`` with a new ``nnx.Rngs`` if it takes one, else with nothing.

    Raises:
        CheckpointError: if it needs other arguments.
    """
    from flax import nnx

    parameter = _rngs_parameter(factory)
    if parameter is None:
        return factory()
    named = {name: seed for name, seed in seeds.items() if name}
    rngs = nnx.Rngs(*([seeds[""]] if "" in seeds else []), **named)
    if parameter.name == "rngs" or parameter.kind is inspect.Parameter.KEYWORD_ONLY:
        return factory(**{parameter.name: rngs})
    return factory(rngs)


def call_source(factory: Callable[..., Any], name: str, seeds: Seeds) -> str:
    """Return the Python expression that calls ``factory`` under ``name`` as :func:`call_with_rngs` does."""
    parameter = _rngs_parameter(factory)
    if parameter is None:
        return f"{name}()"
    named = parameter.name == "rngs" or parameter.kind is inspect.Parameter.KEYWORD_ONLY
    return f"{name}({f'{parameter.name}=' if named else ''}{rngs_source(seeds)})"


def _imported(module_name: str, reference: str) -> Any:
    """Import a module as if it was run without arguments; say in words why that fails."""
    said = io.StringIO()
    arguments, sys.argv = sys.argv, [module_name]
    try:
        with contextlib.redirect_stderr(said):
            module = _import(module_name)
    except SystemExit as error:
        code = f" (status {error.code})" if error.code else ""
        raise CheckpointError(
            f"--model {reference}: {module_name} ends the program when it is imported{code}{_last_line(said)}",
            'it parses arguments or runs its main part; put that below `if __name__ == "__main__":`, '
            "or name a small file that only builds the model",
        ) from error
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing and missing != module_name.partition(".")[0]:
            raise CheckpointError(
                f"--model {reference}: {module_name} needs {missing}, which is not installed here",
                "run this in the environment of the migrated program, or name a file that needs only the model's code",
            ) from error
        raise CheckpointError(
            f"--model {reference}: there is no module {module_name} here: {_said(error)}",
            "start in the folder from which the program starts, or write path/to/file.py:factory",
        ) from error
    except Exception as error:  # whatever the user's module raises is told, not handled
        raise CheckpointError(f"--model {reference}: importing {module_name} failed: {_said(error)}") from error
    finally:
        sys.argv = arguments
    sys.stderr.write(said.getvalue())
    return module


def _last_line(said: io.StringIO) -> str:
    lines = [line.strip() for line in said.getvalue().splitlines() if line.strip()]
    return f": {lines[-1]}" if lines else ""


def _import(module_name: str) -> Any:
    if module_name.endswith(".py"):
        path = pathlib.Path(module_name).absolute()
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.is_file():
            raise FileNotFoundError(f"{path} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.path.insert(0, str(path.parent))
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    if "" not in sys.path:
        sys.path.insert(0, "")
    return importlib.import_module(module_name)


def _rngs_parameter(factory: Callable[..., Any]) -> inspect.Parameter | None:
    """Return the parameter that takes the ``nnx.Rngs``: the one of that name, or the only one without a default."""
    if inspect.isclass(factory):  # the metaclass of NNX modules hides the signature of their constructor
        parameters = dict(list(inspect.signature(factory.__init__).parameters.items())[1:])
    else:
        parameters = dict(inspect.signature(factory).parameters)
    kinds = inspect.Parameter
    open_ones = [one for one in parameters.values() if one.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
    required = [one for one in open_ones if one.default is kinds.empty]
    named = parameters.get("rngs")
    if len(required) > 1 or (named is not None and required not in ([], [named])):
        raise CheckpointError(
            f"{_name(factory)} needs {', '.join(one.name for one in required)}; "
            "write a function that takes rngs, or nothing, and returns the model"
        )
    return named or (required[0] if required else None)


def _name(factory: Callable[..., Any]) -> str:
    return getattr(factory, "__qualname__", repr(factory))


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

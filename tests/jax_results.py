"""What functions of JAX give inside of compiled code, found by calling them there.

``python -m tests.jax_results`` asks every Flax environment and writes ``codemods/nnx/lint/results.py``. Each public
function is called under ``jax.jit`` with a few sets of plain arguments; the first that it takes decides, for traced
arrays and for arrays that are not traced. Only functions on whose results all environments agree are listed.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.environments import PINS, execute

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "codemods" / "nnx" / "lint" / "results.py"
_GIVEN = (".reduce", ".tree_reduce", ".closure_convert")  # these give what the function makes that they are given
COMMAND = "python -m tests.jax_results"

PROBE = r'''
import contextlib, importlib, inspect, io, json, sys, warnings

import jax
import jax.numpy as jnp
import numpy as np

warnings.simplefilter("ignore")
HOMES = ["jax", "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.nn", "jax.nn.initializers",
         "jax.random", "jax.scipy.special", "jax.scipy.linalg", "jax.scipy.stats.norm", "jax.image", "jax.ops",
         "jax.tree", "jax.tree_util", "jax.dtypes", "jax.core", "flax.nnx"]
SKIPPED = {"load", "save", "savez", "print_environment_info", "clear_caches", "clear_backends", "debug_infs",
           "set_state", "live_arrays", "printoptions", "set_printoptions", "fromfile", "ensure_compile_time_eval"}


def sets(x, key):
    """Yield sets of arguments: of arrays, of a type, of a shape."""
    m, i, b = jnp.reshape(x, (2, 2)), jnp.astype(x, "int32"), x > 0
    yield (x,)
    yield (m,)
    yield (key,)
    yield (key, (2,))
    yield (key, x)
    yield (key, x, x)
    yield (x, x)
    yield (m, m)
    yield (x, 0)
    yield (x, (4,))
    yield (x, (2, 2))
    yield (x, x.dtype)
    yield (x, jnp.float32)
    yield (x.dtype, jnp.floating)
    yield (x.dtype, x.dtype)
    yield (x, x, x)
    yield (b, x, x)
    yield (x, 1, 2)
    yield (i,)
    yield (i, i)
    yield (i, 4)
    yield ([x, x],)
    yield ({"a": x},)
    yield (lambda v: v, x)
    yield (lambda v: v, {"a": x})
    yield (x.shape, x.shape)
    yield (x.dtype,)


def traced(tree):
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(tree))


def ask(function, concrete):
    """Return whether the first set that a function takes gives a tracer; None if it takes none or says nothing."""
    answer = []

    def body(x, key):
        if concrete:
            x, key = np.ones(4, np.float32), KEY
        given = list(sets(*((x, key) if not concrete else (X, KEY))))
        for number, arguments in enumerate(given):
            if not concrete and number > 20 and not traced(arguments):
                continue
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    result = function(*arguments)
            except Exception:
                continue
            if result is None or callable(result) or inspect.isgenerator(result):
                return 0
            leaves = jax.tree_util.tree_leaves(result)
            answer.append("traced" if traced(result) else "python" if leaves or result in ((), []) else "other")
            return 0
        return 0

    try:
        jax.jit(body)(X, KEY)
    except Exception:
        return None
    return answer[0] if answer else None


X, KEY = jnp.ones(4), jax.random.key(0)
found = {}
for home in HOMES:
    try:
        module = importlib.import_module(home)
    except Exception:
        continue
    for name in dir(module):
        if name.startswith("_") or name in SKIPPED:
            continue
        try:
            function = getattr(module, name)
        except Exception:
            continue
        if not callable(function) or inspect.isclass(function):
            continue
        found[f"{home}.{name}"] = [ask(function, False), ask(function, True)]
json.dump(found, open(sys.argv[1], "w"))
'''


def results(version: str, folder: Path) -> dict[str, tuple[str | None, str | None]]:
    """Return what each function gives for traced arrays and for others, under one Flax version."""
    folder.mkdir(parents=True, exist_ok=True)
    probe, out = folder / "probe.py", folder / f"{version}.json"
    probe.write_text(PROBE)
    done = execute(version, probe, str(out), limit=1500)
    if not out.exists():
        raise RuntimeError(done.err)
    return {name: (one, two) for name, (one, two) in json.loads(out.read_text()).items()}


def agreed(every: list[dict[str, tuple[str | None, str | None]]]) -> tuple[list[str], list[str]]:
    """Return the functions that give Python values of traced arrays, and those that give traced arrays of any."""
    every_name = {name for one in every for name in one}
    names = sorted(n for n in every_name if n.rpartition(".")[2][0].islower() and not n.endswith(_GIVEN))

    def only(name: str, place: int) -> set[str | None]:
        return {one[name][place] for one in every if name in one} - {None}

    python = [name for name in names if only(name, 0) == {"python"}]
    staged = [name for name in names if only(name, 0) == {"traced"} and only(name, 1) == {"traced"}]
    return python, staged


def rendered(python: list[str], staged: list[str]) -> str:
    """Return the text of the table."""
    lines = [
        f'"""What functions of JAX give inside of compiled code; made by ``{COMMAND}`` on {len(PINS)} releases."""',
        "",
        "from __future__ import annotations",
        "",
        "# Given traced arrays, these return values that Python knows while it compiles.",
        *_table("PYTHON_RESULTS", python),
        "",
        "# These return traced arrays while a function is compiled, whatever arrays they are given.",
        *_table("STAGED_RESULTS", staged),
    ]
    return "\n".join(lines) + "\n"


def _table(name: str, words: list[str]) -> list[str]:
    lines, line = [f"{name} = frozenset(", "    {"], "        "
    for word in words:
        item = f'"{word}", '
        if len(line) + len(item) > 119:
            lines.append(line.rstrip())
            line = "        "
        line += item
    return [*lines, line.rstrip(), "    }", ")  # fmt: skip"]


def main() -> None:
    """Write the table."""
    with tempfile.TemporaryDirectory() as folder:
        every = [results(version, Path(folder)) for version in PINS]
    TARGET.write_text(rendered(*agreed(every)))


if __name__ == "__main__":
    main()

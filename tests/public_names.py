"""Which public names JAX, Optax, Flax and Orbax have, and what they take: ``python -m tests.public_names``.

Writes ``codemods/nnx/lint/public_names.txt`` anew, from the releases of :data:`OLDER` and the environments of
``tests/environments.py``. What one of them has counts as there, and what one of them takes as taken. Beside the names
stand those of NumPy, which people look for in ``jax.numpy``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from codemods.nnx.lint.public_names import TABLE
from tests.environments import PINS, environment, python

_NUMPY_1 = ("numpy<2", "scipy<1.13")
#: Releases of JAX between those of the environments and before them, with an Optax and a Flax of their time.
OLDER = {
    "0.4.13": (
        "jax==0.4.13",
        "jaxlib==0.4.13",
        "optax==0.1.5",
        "flax==0.6.11",
        "orbax-checkpoint==0.2.7",
        "chex==0.1.82",
        *_NUMPY_1,
    ),
    "0.4.20": ("jax==0.4.20", "jaxlib==0.4.20", "optax==0.1.7", "flax==0.7.5", "chex==0.1.83", *_NUMPY_1),
    "0.4.26": ("jax==0.4.26", "jaxlib==0.4.26", "optax==0.2.2", "flax==0.8.3", *_NUMPY_1),
    "0.4.31": ("jax==0.4.31", "jaxlib==0.4.31", "optax==0.2.3", "flax==0.8.5", "numpy<2.1"),
    "0.4.35": ("jax==0.4.35", "jaxlib==0.4.35", "optax==0.2.3", "flax==0.10.0"),
    "0.4.38": ("jax==0.4.38", "jaxlib==0.4.38", "optax==0.2.4", "flax==0.10.2"),
    "0.5.3": ("jax==0.5.3", "jaxlib==0.5.3", "optax==0.2.4", "flax==0.10.5"),
    "0.8.2": ("jax==0.8.2", "jaxlib==0.8.2", "optax==0.2.6", "flax==0.12.2"),
}
_DISTRIBUTIONS = (
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
)
HOMES = (
    *("jax", "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.random", "jax.nn", "jax.nn.initializers"),
    *("jax.lax", "jax.lax.linalg", "jax.tree", "jax.tree_util", "jax.sharding", "jax.debug", "jax.dtypes", "jax.image"),
    *("jax.flatten_util", "jax.errors", "jax.ops", "jax.profiler", "jax.dlpack", "jax.ad_checkpoint", "jax.export"),
    *("jax.custom_batching", "jax.custom_derivatives", "jax.distributed", "jax.stages", "jax.scipy"),
    *("jax.scipy.special", "jax.scipy.linalg", "jax.scipy.signal", "jax.scipy.ndimage", "jax.scipy.optimize"),
    *("jax.scipy.fft", "jax.scipy.integrate", "jax.scipy.interpolate", "jax.scipy.cluster", "jax.scipy.cluster.vq"),
    *("jax.scipy.sparse", "jax.scipy.sparse.linalg", "jax.scipy.spatial", "jax.scipy.spatial.transform"),
    *("jax.scipy.stats", *(f"jax.scipy.stats.{one}" for one in _DISTRIBUTIONS)),
    *("optax", "optax.losses", "optax.schedules", "optax.tree_utils", "optax.tree", "optax.contrib"),
    *("optax.projections", "optax.transforms", "optax.assignment", "optax.perturbations", "optax.second_order"),
    *("flax.nnx", "flax.linen", "flax.nnx.initializers", "flax.linen.initializers", "flax.training.train_state"),
    *("flax.training.checkpoints", "flax.training.common_utils", "flax.serialization", "flax.struct", "flax.core"),
    *("flax.traverse_util", "flax.jax_utils", "orbax.checkpoint"),
)
#: Runs inside an environment: prints by module and name the arguments of what is public, null where there are none.
LISTING = r"""
import importlib, inspect, json, pkgutil, sys

def taken(thing):
    try:
        if isinstance(thing, type):
            if inspect.isabstract(thing) or thing.__init__ is object.__init__ and thing.__new__ is object.__new__:
                return None
            own = thing.__init__ is not object.__init__  # the metaclass of a module takes anything
            found = inspect.signature(thing.__init__ if own else thing)
            parameters = list(found.parameters.values())[own:]
        else:
            parameters = list(inspect.signature(thing).parameters.values())
    except (TypeError, ValueError):
        return None
    return [(p.name, p.kind.name, p.default is p.empty) for p in parameters]

listed = {}
for home in sys.argv[1:]:
    try:
        module = importlib.import_module(home)
    except ImportError:
        continue
    names = {one.name: None for one in pkgutil.iter_modules(getattr(module, "__path__", ()))}
    for name in (*dir(module), *getattr(module, "_deprecations", ())):
        try:
            thing = getattr(module, name)
        except AttributeError:
            continue
        names[name] = taken(thing) if callable(thing) else None
    listed[home] = {name: names[name] for name in names if not name.startswith("_")}
print(json.dumps(listed))
"""
Parameters = list[tuple[str, str, bool]]
Listed = dict[str, dict[str, Parameters | None]]


def listed(exe: Path) -> Listed:
    """Return what is public in an environment, by module and name.

    Args:
        exe: its Python.

    Raises:
        subprocess.CalledProcessError: if something fails there.
    """
    settings = {**os.environ, "JAX_PLATFORMS": "cpu"}
    settings.pop("PYTHONPATH", None)
    command = [str(exe), "-W", "ignore", "-c", LISTING, *HOMES, "numpy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=settings)
    names: Listed = json.loads(done.stdout.splitlines()[-1])
    return names


def line(name: str, found: Sequence[Parameters | None]) -> str:
    """Return the line of the table for a name.

    Args:
        name: the name.
        found: what it takes in each release, the oldest first; None where nothing is known of that.
    """
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return name
    kinds = [{kind for _, kind, _ in one} for one in known]
    more, any_keyword = any("VAR_POSITIONAL" in one for one in kinds), any("VAR_KEYWORD" in one for one in kinds)
    placed = [[p for p in one if p[1].startswith("POSITIONAL")] for one in known]
    words = []
    for i, (word, kind, _) in enumerate(placed[-1]):
        needed = all(len(one) > i and one[i][0] == word and one[i][2] for one in placed)
        words.append(("!" if needed else "") + ("/" if kind == "POSITIONAL_ONLY" else word))
    named = [{p[0]: p[2] for p in one if p[1] in {"POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY"}} for one in known]
    at_places = {p[0] for p in placed[-1] if p[1] != "POSITIONAL_ONLY"}
    by_name = dict.fromkeys(word for one in reversed(named) for word in one if word not in at_places)
    words += [(":!" if all(one.get(word) for one in named) else ":") + word for word in by_name]
    if more and any_keyword and not any("!" in word for word in words):
        return name
    most = "*" if more else str(max(map(len, placed)))
    return " ".join([name, most, *words, *(["**"] if any_keyword else [])])


def table(releases: Mapping[str, Listed]) -> str:
    """Return the text of the table.

    Args:
        releases: what each release has, the oldest first.
    """
    lines = []
    numbers = list(releases)
    for home in sorted({home for one in releases.values() for home in one}):
        lines.append(f"@ {home}")
        every = [one.get(home, {}) for one in releases.values()]
        for name in sorted({name for one in every for name in one}):
            found = [one[name] for one in every if name in one]
            known = name if home == "numpy" else line(name, found)
            last = max(i for i, one in enumerate(every) if name in one)
            if last + 1 < len(numbers) and home != "numpy":
                known = known.replace(name, f"{name} -{numbers[last + 1]}", 1)
            lines.append(known)
    return "\n".join(lines) + "\n"


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def _key(item: tuple[str, Any]) -> tuple[int, ...]:
    return _numbers(item[0])


def main() -> int:
    """Write the table; return an exit status."""
    of_pins = {next(p for p in pins if p.startswith("jax==")).partition("==")[2]: python(v) for v, pins in PINS.items()}
    older = {release: environment(f"names-{release}", pins) for release, pins in OLDER.items()}
    releases = {release: listed(exe) for release, exe in sorted({**older, **of_pins}.items(), key=_key)}
    TABLE.write_text(table(releases), encoding="utf-8")
    print(f"{TABLE.name}: {sum(map(len, releases[max(releases, key=_numbers)].values()))} names in the newest")
    return 0


if __name__ == "__main__":
    sys.exit(main())

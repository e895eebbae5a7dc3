"""Many checkpoints, written by every Flax 0.10 and loaded by the printed code under newer ones.

    python -m tests.checkpoint.zoo [--every N] [--cases 3 25] [--writers 0.10.0 0.10.7] [--readers 0.11 0.12]

Writes, converts and loads all cases, or every Nth, and prints which are wrong; the tests take some of them.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pytest

from tests.checkpoint.support import FIXTURES, HERE, environment, run
from tests.environments import environment as installed

#: What each Flax was used with in its time.
WRITERS = {
    "0.10.0": ("jax==0.4.35", "jaxlib==0.4.35", "orbax-checkpoint==0.7.0"),
    "0.10.1": ("jax==0.4.35", "jaxlib==0.4.35", "orbax-checkpoint==0.8.0"),
    "0.10.2": ("jax==0.4.38", "jaxlib==0.4.38", "orbax-checkpoint==0.10.2"),
    "0.10.3": ("jax==0.5.0", "jaxlib==0.5.0", "orbax-checkpoint==0.11.2"),
    "0.10.4": ("jax==0.5.0", "jaxlib==0.5.0", "orbax-checkpoint==0.11.5"),
    "0.10.5": ("jax==0.5.3", "jaxlib==0.5.3", "orbax-checkpoint==0.11.10"),
    "0.10.6": ("jax==0.6.0", "jaxlib==0.6.0", "orbax-checkpoint==0.11.12"),
    "0.10.7": ("jax==0.6.2", "jaxlib==0.6.2", "orbax-checkpoint==0.11.19"),
}
READERS = ("0.11", "0.12")
MODELS = (
    *("Mlp", "NoBias", "Attention", "Recurrent", "Lists", "Stacked", "OwnNoise", "Names", "Half", "Lora", "Conv"),
)
OPTIMIZERS = ("", "sgd", "momentum", "adamw", "chain", "multi", "steps", "injected")
SAVERS = ("state", "pure", "pytree", "folders", "zarr3", "folders-zarr3", "manager", "composite", "shared")
COUNT = 16 * len(WRITERS)


@dataclass(frozen=True)
class Case:
    """One checkpoint and how it is converted.

    Attributes:
        number: its number in the table.
        writer: the Flax that writes it.
        model: a model of the zoo.
        optimizer: an optimizer of the zoo; empty for the model alone.
        saver: how it is saved.
        way: ``model``, ``split`` (the optimizer into an item of its own) or ``bare`` (without a model).
    """

    number: int
    writer: str
    model: str
    optimizer: str
    saver: str
    way: str

    @property
    def name(self) -> str:
        """What it is called."""
        parts = (f"{self.number:03}", self.writer, self.model, self.optimizer or "alone", self.saver, self.way)
        return "-".join(parts)


def table() -> list[Case]:
    """Return all cases: models, optimizers and savers go round at different speeds, so that most pairs meet."""
    cases = []
    for number in range(COUNT):
        saver = SAVERS[number % len(SAVERS)]
        optimizer = OPTIMIZERS[number * 5 // 3 % len(OPTIMIZERS)]
        way = "model"
        if optimizer and number % 4 == 0 and saver not in ("shared", "composite"):
            way = "split"
        elif not optimizer and number % 3 == 0 and saver != "shared":
            way = "bare"
        writer = list(WRITERS)[number // 2 % len(WRITERS)]
        cases.append(Case(number, writer, MODELS[number % len(MODELS)], optimizer, saver, way))
    return cases


def more() -> list[Case]:
    """Return cases of what the table does not have: models and optimizers of another kind, each with its own saver."""
    rows = (
        ("0.10.0", "Own", "adamw", "state", "model"),
        ("0.10.7", "Own", "", "pytree", "bare"),
        ("0.10.6", "Own", "deep", "manager", "split"),
        ("0.10.7", "Holders", "sgd", "state", "model"),
        ("0.10.3", "Holders", "adamw", "pure", "model"),
        ("0.10.6", "Holders", "", "pytree", "model"),
        ("0.10.7", "Sharers", "", "state", "model"),
        ("0.10.0", "Sharers", "sgd", "manager", "split"),
        ("0.10.5", "Sharers", "adamw", "shared", "model"),
        ("0.10.7", "Grid", "steps", "state", "split"),
        ("0.10.4", "Grid", "", "folders", "model"),
        ("0.10.7", "Grid", "", "pure", "bare"),
        ("0.10.7", "Parted", "adamw", "state", "model"),
        ("0.10.3", "Norms", "own", "pure", "split"),
        ("0.10.0", "Norms", "own", "shared", "model"),
        ("0.10.0", "Mlp", "", "beside", "model"),
        ("0.10.7", "Sharers", "adamw", "beside", "model"),
        ("0.10.4", "Lora", "deep", "below", "model"),
        ("0.10.7", "Own", "momentum", "below", "model"),
    )
    return [Case(COUNT + number, *row) for number, row in enumerate(rows)]


def share(count: int) -> list[Case]:
    """Return some cases that together meet as many models, writers, savers and optimizers as that many can."""
    chosen: list[Case] = []
    met: set[tuple[str, str]] = set()
    while len(chosen) < count:
        left = [case for case in (*more(), *table()) if case not in chosen]
        best = max(left, key=lambda case: (("model", case.model) not in met, len(_traits(case) - met)))
        chosen.append(best)
        met |= _traits(best)
    return sorted(chosen, key=lambda case: case.number)


def _traits(case: Case) -> set[tuple[str, str]]:
    return {(what, getattr(case, what)) for what in ("model", "writer", "saver", "optimizer", "way")}


def written(cases: Sequence[Case], folder: pathlib.Path) -> dict[str, Any]:
    """Write checkpoints, all of a writer in one process; return what their programs did after they saved."""
    results: dict[str, Any] = {}
    for writer in dict.fromkeys(case.writer for case in cases):
        own = [{**asdict(case), "name": case.name} for case in cases if case.writer == writer]
        exe = installed(f"flax-{writer}", (f"flax=={writer}", *WRITERS[writer], "optax==0.2.4"))
        done = subprocess.run(
            [str(exe), "-W", "ignore", str(FIXTURES / "zoo_models.py"), str(folder)],
            input=json.dumps(own),
            capture_output=True,
            text=True,
            env=environment(),
            timeout=1800,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        results |= json.loads(done.stdout)
    return results


def loaded(
    cases: Sequence[Case],
    folder: pathlib.Path,
    reader: str,
    forget: Sequence[Case] = (),
    partial: Sequence[Case] = (),
) -> dict[str, Any]:
    """Convert and load checkpoints in one process under a newer Flax; return what their programs did then.

    Args:
        cases: the checkpoints.
        folder: where they are.
        reader: the newer Flax.
        forget: those which are loaded once more, to go on as if their optimizers had lost what they remember.
        partial: those which are loaded once more without being converted, by the code that ``--check`` prints.
    """
    own = [{**asdict(case), "name": case.name, "forget": case in forget, "partial": case in partial} for case in cases]
    done = run(reader, HERE / "zoo_resume.py", folder, input=json.dumps(own), timeout=3600)
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return results


def wrong(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Say what is wrong with a case; nothing if nothing is."""
    for result in (before, after):
        if "error" in result:
            return str(result["error"])
    names = {*before["arrays"], *after["arrays"]}
    differing = sorted(name for name in names if before["arrays"].get(name) != after["arrays"].get(name))
    if differing:
        return f"other leaves: {', '.join(differing)}"
    if after["forward"] != _close(before["forward"], 1e-5):
        return f"other output: {before['forward']} {after['forward']}"
    if after["losses"] != pytest.approx(before["losses"], abs=2e-5, nan_ok=True):
        return f"other losses: {before['losses']} {after['losses']}"
    return "" if after["untouched"] else "the source was changed"


def _close(rows: list[list[float]], tolerance: float) -> list[Any]:
    return [pytest.approx(row, abs=tolerance, nan_ok=True) for row in rows]


def main(arguments: Sequence[str]) -> int:
    """Run the cases and print which are wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--cases", nargs="+", type=int, default=None, help="numbers of cases")
    parser.add_argument("--writers", nargs="+", default=list(WRITERS))
    parser.add_argument("--readers", nargs="+", default=list(READERS))
    given = parser.parse_args(arguments)
    cases = [case for case in (*table(), *more())[:: given.every] if case.writer in given.writers]
    cases = [case for case in cases if given.cases is None or case.number in given.cases]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        before = written(cases, pathlib.Path(folder))
        for reader in given.readers:
            after = loaded(cases, pathlib.Path(folder), reader)
            for case in cases:
                said = wrong(before[case.name], after[case.name])
                failures += bool(said)
                if said:
                    print(f"{reader} {case.name}: {said}")
    print(f"{len(cases)} checkpoints, {len(given.readers)} readers: {failures} wrong")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

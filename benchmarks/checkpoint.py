"""Measure ``fix-ckpt`` beside a plain copy, Orbax's restore and save, and the guide's recipe as printed.

    python benchmarks/checkpoint.py [--megabytes 100 2000 4000] [--array 1000] [--folder DIR]

Run in an environment with a new Flax; the checkpoint is written by that Flax with RNG state in the form of 0.10.
Each way runs in a process of its own, on files in the page cache. Wall time is that of the work without imports;
"storage" leaves out what Flax and XLA need to trace the model and to compile its RNG state, which no copy does. Peak
memory is what the process had at most above its size after imports; bytes written are those handed to the disk, after
a sync, bytes read those that the process asked the system for. ``--array`` measures one array of so many megabytes.
``fix-ckpt`` is measured without verification, with it, and with hard links; it brings its files to the disk before it
says that it is done, so ``cp -r`` is measured without and with a sync.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

WIDTHS = {500: 1024, 1_000_000: 4096}  # features of a layer, by the number of megabytes up to which it is used

TRACING = ("trace", "initialise")  # stages of fix-ckpt

WAYS = {
    "cp -r": "copy",
    "cp -r, synced": "copy_synced",
    "fix-ckpt --no-verify": "fix",
    "fix-ckpt": "fix_verified",
    "fix-ckpt --link --no-verify": "fix_linked",
    "Orbax restore + save": "restore_and_save",
    "recipe as printed": "recipe",
}


class Size(NamedTuple):
    """The size of a model.

    Attributes:
        layers: how many linear layers it has.
        width: features of each.
        height: inputs of each; 0 for as many as features.
    """

    layers: int
    width: int
    height: int = 0

    @property
    def rows(self) -> int:
        """Inputs of a layer: as many as its features, unless it is one large array."""
        return self.height or self.width


def main() -> None:
    """Measure all ways at all sizes and print a table for each size."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--megabytes", type=int, nargs="+", default=[100, 2000, 4000])
    arguments.add_argument("--array", type=int, nargs="*", default=[1000], help="megabytes of a single array")
    arguments.add_argument("--folder", type=pathlib.Path, help="where checkpoints are written; on the disk to measure")
    arguments.add_argument("--way", nargs=5, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.way:
        way, layers, width, height, folder = given.way
        _way(way, Size(int(layers), int(width), int(height)), pathlib.Path(folder))
        return
    for megabytes in given.array:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            _measure(Size(1, 4096, round(megabytes * 1e6 / (4 * 4096))), pathlib.Path(folder))
    for megabytes in given.megabytes:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            width = next(width for limit, width in WIDTHS.items() if megabytes <= limit)
            _measure(Size(max(1, round(megabytes * 1e6 / (4 * width**2))), width), pathlib.Path(folder))


def _measure(size: Size, folder: pathlib.Path) -> None:
    _run("write", size, folder)
    source = folder / "old"
    stored = sum(path.stat().st_size for path in source.rglob("*") if path.is_file())
    print(f"\n{size.layers} layers, {stored / 1e6:,.1f} MB on the disk")
    heads = ("wall s", "storage s", "x cp -r", "x synced", "CPU s", "peak MB", "read MB", "written MB", "x source")
    print(f"{'':28}" + "".join(f"{head:>11}" for head in heads))
    copied: list[float] = []
    for title, way in WAYS.items():
        facts = _run(way, size, folder)
        stages = facts["stages"] or {}
        storage = facts["wall"] - sum(stages.get(stage, 0.0) for stage in TRACING)
        copied += [storage] if way.startswith("copy") else []
        numbers = (
            f"{facts['wall']:11.2f}{storage:11.2f}{storage / copied[0]:11.1f}{storage / copied[-1]:11.1f}"
            f"{facts['cpu']:11.2f}{facts['peak'] / 1e6:11.0f}"
            f"{facts['read'] / 1e6:11.1f}{facts['written'] / 1e6:11.2f}{facts['written'] / stored:11.3f}"
        )
        print(f"{title:28}{numbers}", flush=True)
        if stages:
            print(f"{'':30}{', '.join(f'{stage} {seconds:.2f}' for stage, seconds in stages.items())}")
        shutil.rmtree(folder / "new", ignore_errors=True)


def _run(way: str, size: Size, folder: pathlib.Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--way", way, str(size.layers), str(size.width), str(size.height), str(folder)]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(pathlib.Path(__file__).parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{way} failed:\n{done.stderr}")
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1]) if way != "write" else {}
    return facts


def _way(way: str, size: Size, folder: pathlib.Path) -> None:
    """Do one thing in this process and print what it cost."""
    old, new = folder / "old", folder / "new"
    if way == "write":
        _write(size, old)
        return
    work = _work(way, size, old, new)  # imports
    os.sync()
    baseline, written, read, cpu = _peak(), _counted("write_bytes"), _counted("rchar"), time.process_time()
    start = time.perf_counter()
    stages = work()
    wall = time.perf_counter() - start
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = time.process_time() - cpu + children.ru_utime + children.ru_stime
    read = _counted("rchar") - read
    os.sync()
    written = _counted("write_bytes") - written
    facts = {"wall": wall, "cpu": cpu, "peak": _peak() - baseline, "read": read, "written": written, "stages": stages}
    print(json.dumps(facts))


def _work(way: str, size: Size, old: pathlib.Path, new: pathlib.Path) -> Callable[[], dict[str, float] | None]:
    """Return a function that does the work, with everything imported."""
    if way.startswith("copy"):

        def copy() -> None:
            subprocess.run(["cp", "-r", str(old), str(new)], check=True)
            if way == "copy_synced":
                subprocess.run(["sync", *(str(path) for path in new.rglob("*"))], check=True)

        return copy
    if way.startswith("fix"):
        import jax
        import orbax.checkpoint as ocp
        import tensorstore  # noqa: F401
        from flax import nnx

        from nnxmigrate.checkpoint.convert import run_job
        from nnxmigrate.checkpoint.job import Request, plan_job

        def fix() -> dict[str, float]:
            request = Request(
                str(old),
                str(new),
                make=lambda: _model(size, nnx.Rngs(params=0, dropout=1)),
                link=way == "fix_linked",
                verify=way == "fix_verified",
            )
            job = plan_job(request)
            run_job(job)
            return job.seconds

        return fix
    import jax
    import orbax.checkpoint as ocp
    from flax import nnx

    def restore_and_save() -> None:
        checkpointer = ocp.StandardCheckpointer()
        checkpointer.save(new, checkpointer.restore(old))
        checkpointer.wait_until_finished()

    def recipe() -> None:
        checkpointer = ocp.StandardCheckpointer()
        checkpoint = checkpointer.restore(old)

        @jax.jit  # type: ignore[untyped-decorator]
        def fixed(checkpoint: dict[str, object], rngs: nnx.Rngs) -> nnx.State:
            flat = nnx.traversals.flatten_mapping(checkpoint)
            flat = {path: leaf for path, leaf in flat.items() if "rngs" not in path}
            kept = {path[:-1] if path[-1] == "value" else path: leaf for path, leaf in flat.items()}
            model = _model(size, rngs)
            nnx.update(model, nnx.traversals.unflatten_mapping(kept))
            return nnx.state(model)

        checkpointer.save(new, fixed(checkpoint, nnx.Rngs(params=0, dropout=1)))
        checkpointer.wait_until_finished()  # the guide leaves this out, and a script then writes nothing

    return recipe if way == "recipe" else restore_and_save


def _model(size: Size, rngs: object) -> object:
    """Return linear layers with one dropout; attributes, because the recipe fails on lists."""
    from flax import nnx

    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            for number in range(size.layers):
                setattr(self, f"layer{number}", nnx.Linear(size.rows, size.width, rngs=rngs))
            self.dropout = nnx.Dropout(0.1, rngs=rngs)

    return Model()


def _write(size: Size, path: pathlib.Path) -> None:
    """Write the state with two streams below the dropout, as 0.10 does."""
    import orbax.checkpoint as ocp
    from flax import nnx

    state = nnx.to_pure_dict(nnx.state(_model(size, nnx.Rngs(params=0, dropout=1))))
    streams = nnx.to_pure_dict(nnx.state(nnx.Rngs(params=0, dropout=1)))
    tree = {name: {leaf: {"value": value} for leaf, value in below.items()} for name, below in state.items()}
    tree["dropout"] = {
        "rngs": {name: {leaf: {"value": value} for leaf, value in below.items()} for name, below in streams.items()}
    }
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(path, tree)
    checkpointer.wait_until_finished()


def _peak() -> int:
    """Return the most memory this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _counted(what: str) -> int:
    """Return what the system counted of this process and its children, such as ``write_bytes``."""
    with open("/proc/self/io") as file:
        counts = dict(line.split(": ") for line in file)
    return int(counts[what])


if __name__ == "__main__":
    main()

"""Kill conversions at random moments, and flip bits while they run; in an environment with TensorStore.

python faults.py kills SOURCE DESTINATION NUMBER    many processes of one conversion, each killed; results as JSON
python faults.py flips SOURCE DESTINATION NUMBER    conversions in whose copies a bit is flipped before they are read
"""

import json
import os
import pathlib
import random
import shutil
import signal
import sys
import time
from typing import Any

import numpy  # noqa: F401
import tensorstore  # imported once for all processes, but not yet used: its threads do not survive a fork

from nnxmigrate.checkpoint.convert import run_job
from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.job import Request, plan_job
from nnxmigrate.checkpoint.transfer import Transfer
from tests.checkpoint.support import fingerprint


def convert(source: str, destination: str) -> None:
    """Convert without a model."""
    run_job(plan_job(Request(source, destination, step="all")))


def kills(source: str, destination: pathlib.Path, number: int) -> dict[str, Any]:
    """Kill as many processes, whenever; say what they left and whether a last one completes."""
    before = fingerprint(source)
    whole = _timed(source, destination)
    shutil.rmtree(destination)
    found = {"killed": 0, "finished": 0, "half": 0}
    moments = random.Random(0)
    while found["killed"] < number:
        child = _start(source, destination)
        time.sleep(moments.uniform(0.0, 1.1) * whole)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        found["killed" if os.WIFSIGNALED(status) else "finished"] += 1
        if destination.exists():
            found["half"] += not _complete_in_child(source, destination)
            shutil.rmtree(destination)
    child = _start(source, destination)
    _, status = os.waitpid(child, 0)
    left = sorted(path.name for path in destination.parent.iterdir() if ".nnxmigrate-tmp-" in path.name)
    return {
        **found,
        "last": os.waitstatus_to_exitcode(status),
        "complete": _complete_in_child(source, destination),
        "left": left,
        "source untouched": fingerprint(source) == before,
    }


def _timed(source: str, destination: pathlib.Path) -> float:
    start = time.perf_counter()
    os.waitpid(_start(source, destination), 0)
    return time.perf_counter() - start


def _start(source: str, destination: pathlib.Path) -> int:
    child = os.fork()
    if child:
        return child
    try:
        convert(source, str(destination))
        os._exit(0)
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        os._exit(1)


def _complete_in_child(source: str, destination: pathlib.Path) -> bool:
    """Look at a result in a process of its own: a parent that has used TensorStore cannot fork any more."""
    child = os.fork()
    if not child:
        try:
            os._exit(0 if _complete(source, destination) else 1)
        except BaseException:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _complete(source: str, destination: pathlib.Path) -> bool:
    """Say whether every stored value that is no RNG state is there and the same, read by TensorStore alone."""
    steps = [path for path in pathlib.Path(source).iterdir() if path.is_dir()]
    return all(
        _values(step / "default").items() <= _values(destination / step.name / "default").items() for step in steps
    )


def _values(folder: pathlib.Path) -> dict[bytes, bytes]:
    store = tensorstore.KvStore.open({"driver": "ocdbt", "base": f"file://{folder}/"}).result()
    return {key: store.read(key).result().value for key in store.list().result() if b".rngs." not in key}


def flips(source: str, destination: pathlib.Path, number: int) -> dict[str, Any]:
    """Flip a bit in a copied file before it is read back; count what was found and what was left."""
    before = fingerprint(source)
    places = random.Random(0)
    original = Transfer.sync
    found: dict[str, Any] = {"noticed": 0, "missed": [], "left": []}

    def flipping(self: Transfer) -> None:
        files = sorted(path for path in self._root.rglob("*") if path.is_file() and "/d/" in f"/{path}")
        file = places.choice([path for path in files if path in {one.destination for one in self._copied}])
        content = bytearray(file.read_bytes())
        at = places.randrange(len(content))
        content[at] ^= 1 << places.randrange(8)
        file.write_bytes(content)
        original(self)

    Transfer.sync = flipping  # type: ignore[method-assign]
    for _ in range(number):
        try:
            convert(source, str(destination))
            found["missed"].append(True)
        except CheckpointError:
            found["noticed"] += 1
        found["left"] += [path.name for path in destination.parent.iterdir() if path.name.startswith(destination.name)]
    found["source untouched"] = fingerprint(source) == before
    return found


if __name__ == "__main__":
    what, first, second, times = sys.argv[1:]
    print(json.dumps({"kills": kills, "flips": flips}[what](first, pathlib.Path(second), int(times))))

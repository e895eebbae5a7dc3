"""An optimizer's checkpoint with large values is split in bounded memory, and takes the room of its values once."""

from __future__ import annotations

import json
import pathlib

import pytest

from tests.checkpoint.support import run_code

_SPLIT = """
import hashlib, json, pathlib, resource, sys
import jax, numpy as np, orbax.checkpoint as ocp, tensorstore
from nnxmigrate.checkpoint.convert import run_job
from nnxmigrate.checkpoint.job import Request, plan_job
from nnxmigrate.checkpoint.wishes import Wishes

folder, megabytes, verify = pathlib.Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "verify"

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def room(path):
    return sum(one.stat().st_blocks * 512 for one in path.rglob("*") if one.is_file())

if len(sys.argv) > 4:  # write, in a process of its own
    large = lambda seed: np.random.default_rng(seed).random(megabytes << 17)
    small = np.arange(5, dtype=np.float32)
    value = lambda x: {"value": x}
    tree = {
        "model": {"dense": {"kernel": value(large(0)), "bias": value(small)}, "step": value(small * 2)},
        "opt_state": {"mu": {"kernel": value(large(1)), "bias": value(small * 3)}},
        "step": value(np.asarray(7, np.uint32)),
    }
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(folder / "old", tree)
    checkpointer.wait_until_finished()
    sys.exit()
before = peak()
job = plan_job(Request(str(folder / "old"), str(folder / "new"), wishes=Wishes(split=True), verify=verify))
run_job(job)
memory = peak() - before

def digests(path, head=""):
    store = tensorstore.KvStore.open({"driver": "ocdbt", "base": f"file://{path}/"}).result()
    keys = [key.decode() for key in store.list().result()]
    return {head + key: hashlib.sha256(store.read(key).result().value).hexdigest() for key in keys}

old = digests(folder / "old")
new = digests(folder / "new" / "model", "model.") | digests(folder / "new" / "optimizer")
rooms = [room(folder / name) for name in ("old", "new/model", "new/optimizer")]
restored = ocp.StandardCheckpointer().restore(folder / "new" / "optimizer")
print(json.dumps({"memory": memory, "same": old == new, "keys": len(new), "rooms": rooms,
                  "step": int(restored["step"]["value"]), "compared": job.compared, "copied": job.done.copied}))
"""


@pytest.mark.parametrize("verify", ["verify", "no"])
def test_large_values_are_never_in_memory(tmp_path: pathlib.Path, verify: str) -> None:
    run_code("0.12", _SPLIT, tmp_path, "160", verify, "write")
    found = json.loads(run_code("0.12", _SPLIT, tmp_path, "160", verify).splitlines()[-1])
    assert (found["same"], found["keys"], found["step"]) == (True, 12, 7)
    assert found["memory"] < 100e6
    old, model, optimizer = found["rooms"]
    assert 0.4 * old < model < 0.6 * old
    assert 0.4 * old < optimizer < 0.6 * old
    assert found["copied"] < 1.02 * old
    assert (found["compared"] > 0.98 * old) is (verify == "verify")

"""Checkpoints in a store without files: a bucket, reached through TensorStore."""

from __future__ import annotations

import pathlib

import pytest

from tests.checkpoint.bucket import Objects, serve
from tests.checkpoint.support import FIXTURES, environment, fix_ckpt, model, run_code


def uploaded(folder: pathlib.Path, head: str) -> Objects:
    return {f"{head}/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def downloaded(objects: Objects, head: str, folder: pathlib.Path) -> None:
    for name, content in objects.items():
        if name.startswith(f"{head}/"):
            path = folder / name.removeprefix(f"{head}/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


_COMPARE = """
import sys, jax, numpy as np, orbax.checkpoint as ocp
one, two = (ocp.StandardCheckpointer().restore(path) for path in sys.argv[1:])
data = lambda x: jax.random.key_data(x) if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) else x
same = jax.tree.leaves(jax.tree.map(lambda a, b: a.dtype == b.dtype and np.array_equal(data(a), data(b)), one, two))
print(len(same), all(same))
"""


@pytest.mark.parametrize(
    ("form", "item", "where"),
    [("standard", "", "bucket"), ("folders", "", "bucket"), ("manager", "10/default", "bucket"), ("zarr3", "", "disk")],
)
def test_a_bucket(tmp_path: pathlib.Path, form: str, item: str, where: str) -> None:
    source = FIXTURES / "forms" / form
    objects = uploaded(source, "run")
    before = dict(objects)
    with serve(objects) as address:
        target = "gs://bucket/run_nnx011" if where == "bucket" else str(tmp_path / "remote")
        variables = environment(TENSORSTORE_GCS_HTTP_URL=address, GCE_METADATA_ROOT="localhost:1")
        done = fix_ckpt("0.12", "gs://bucket/run", target, *model("Mlp"), env=variables)
        assert done.returncode == 0, done.stderr
        again = fix_ckpt("0.12", "gs://bucket/run", target, *model("Mlp"), env=variables)
        assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert {name: content for name, content in objects.items() if name.startswith("run/")} == before
    if where == "bucket":
        marks = [name for name in objects if name.endswith("commit_success.txt")]
        assert marks == [f"run_nnx011/{item.partition('/')[0]}/commit_success.txt".replace("//", "/")]
        downloaded(objects, "run_nnx011", tmp_path / "remote")
    done = fix_ckpt("0.12", source, tmp_path / "local", *model("Mlp"))
    assert done.returncode == 0, done.stderr
    assert run_code("0.12", _COMPARE, tmp_path / "remote" / item, tmp_path / "local" / item).split() == ["12", "True"]


def test_nothing_there(tmp_path: pathlib.Path) -> None:
    with serve({}) as address:
        variables = environment(TENSORSTORE_GCS_HTTP_URL=address, GCE_METADATA_ROOT="localhost:1")
        done = fix_ckpt("0.12", "gs://bucket/run", env=variables)
    assert (done.returncode, "no such checkpoint" in done.stderr) == (2, True)

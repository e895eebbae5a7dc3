"""Checkpoints in a store without files: a bucket, reached through TensorStore."""

from __future__ import annotations

import os
import pathlib
import subprocess
import time

import pytest

from tests.checkpoint.bucket import Objects, Traffic, serve
from tests.checkpoint.support import FIXTURES, environment, fix_ckpt, model, run_code
from tests.environments import PINS, WITHOUT
from tests.environments import environment as installed


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


def variables_of(address: str) -> dict[str, str]:
    """Return the variables under which TensorStore and gcsfs take a server for Google's."""
    return environment(
        TENSORSTORE_GCS_HTTP_URL=address,
        GCE_METADATA_ROOT="localhost:1",
        STORAGE_EMULATOR_HOST=address,
        FSSPEC_GS_TOKEN="anon",
        GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT="false",
    )


def with_gcsfs(*arguments: str, address: str) -> subprocess.CompletedProcess[str]:
    """Run the command where gcsfs is installed."""
    if os.environ.get(WITHOUT):
        pytest.skip("runs real Flax")
    exe = installed("flax-0.12-gcs", (*PINS["0.12"], "gcsfs"))
    command = [str(exe), "-m", "nnxmigrate.cli.fix_ckpt", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=variables_of(address))


def test_the_bucket_copies_by_itself(tmp_path: pathlib.Path) -> None:
    """With a driver of fsspec nothing of the data passes through this host, and an interrupted run is gone on with."""
    objects = uploaded(FIXTURES / "trees" / "Large", "run")
    for number in range(20):  # data files that are copied too
        objects[f"run/ocdbt.process_0/d/{number:032x}"] = bytes(100_000)
    before, traffic = dict(objects), Traffic()
    with serve(objects, traffic) as address:
        done = with_gcsfs("gs://bucket/run", "gs://bucket/new", address=address)
        assert done.returncode == 0, done.stderr
        assert "were copied by the store itself" in done.stdout
        assert traffic.copied > 2_000_000
        assert traffic.read + traffic.written < 100_000
        assert "new/commit_success.txt" in objects
        assert "new/nnxmigrate-unfinished" not in objects
        # credentials that expire in the middle
        traffic.until = traffic.requests + 60
        start = time.monotonic()
        lost = with_gcsfs("gs://bucket/run", "gs://bucket/again", address=address)
        assert time.monotonic() - start < 40  # gcsfs would repeat its requests for a minute
        assert lost.returncode == 2, lost.stdout
        assert "the next run of the same command" in lost.stderr
        assert len(lost.stderr.splitlines()) == 2, lost.stderr
        assert "again/commit_success.txt" not in objects
        traffic.until = None
        done = with_gcsfs("gs://bucket/run", "gs://bucket/again", address=address)
        assert done.returncode == 0, done.stderr
        assert "were there already" in done.stdout
    assert {name: content for name, content in objects.items() if name.startswith("run/")} == before
    for name in ("new", "again"):
        downloaded(objects, name, tmp_path / name)
    assert run_code("0.12", _COMPARE, tmp_path / "new", tmp_path / "again").split()[1] == "True"


def test_credentials_that_are_lost_before_the_list() -> None:
    """TensorStore takes a refusal for an empty list."""
    with serve(uploaded(FIXTURES / "forms" / "folders", "run"), Traffic(until=1)) as address:
        done = fix_ckpt("0.12", "gs://bucket/run", "gs://bucket/new", env=variables_of(address))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2), done.stderr
    assert "Invalid Credentials" in done.stderr


def test_lost_credentials_without_a_driver() -> None:
    objects = uploaded(FIXTURES / "forms" / "folders", "run")
    before, traffic = dict(objects), Traffic(until=40)
    with serve(objects, traffic) as address:
        done = fix_ckpt("0.12", "gs://bucket/run", "gs://bucket/new", env=variables_of(address))
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 2), done.stderr
        assert "new/commit_success.txt" not in objects
        traffic.until = None
        done = fix_ckpt("0.12", "gs://bucket/run", "gs://bucket/new", env=variables_of(address))
        assert done.returncode == 0, done.stderr
        assert "new/commit_success.txt" in objects
    assert {name: content for name, content in objects.items() if name.startswith("run/")} == before

"""Whatever happens, the source is untouched and the destination is absent or complete."""

from __future__ import annotations

import json
import pathlib
import resource
import shutil
import signal
import subprocess
import time
from typing import Any

import pytest

from tests.checkpoint.support import FIXTURES, HERE, environment, fingerprint, fix_ckpt, run
from tests.environments import python

LARGE = FIXTURES / "trees" / "Large"
VERSION = "0.12"
KILLS = 100


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a checkpoint of a CheckpointManager with many steps, so that there is something to interrupt."""
    return managed(tmp_path, 60)


def managed(folder: pathlib.Path, number: int) -> pathlib.Path:
    """Write a checkpoint of a CheckpointManager with a number of steps."""
    steps = folder / "run"
    for step in range(number):
        (steps / str(step)).mkdir(parents=True)
        shutil.copytree(LARGE, steps / str(step) / "default")
        shutil.copy(FIXTURES / "forms" / "manager" / "10" / "_CHECKPOINT_METADATA", steps / str(step))
    return steps


def start(source: pathlib.Path, *options: str) -> subprocess.Popen[str]:
    command = [str(python(VERSION)), "-m", "nnxmigrate.cli.fix_ckpt", str(source), "--step", "all", *options]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(folder: pathlib.Path, pattern: str) -> None:
    """Wait until something matches."""
    deadline = time.monotonic() + 120
    while not any(folder.glob(pattern)):
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.mark.parametrize("link", [(), ("--link",)])
def test_a_killed_run_leaves_nothing_that_looks_finished(source: pathlib.Path, link: tuple[str, ...]) -> None:
    before = fingerprint(source)
    folder = source.parent
    for pattern in ("run_nnx011.nnxmigrate-tmp-*", "run_nnx011.nnxmigrate-tmp-*/50/default/_METADATA"):
        process = start(source, *link)
        wait_for(folder, pattern)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not (folder / "run_nnx011").exists()
        assert len(list(folder.glob("*.nnxmigrate-tmp-*"))) == 1  # the run before is gone on with
    done = fix_ckpt(VERSION, source, "--step", "all", *link)
    assert done.returncode == 0, done.stderr
    if not link:
        assert "bytes were there already, from a run that was interrupted" in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["run", "run_nnx011"]
    assert len(list((folder / "run_nnx011").iterdir())) == 60
    assert fingerprint(source) == before


def faults(what: str, source: pathlib.Path, destination: pathlib.Path, number: int) -> dict[str, Any]:
    """Run many conversions that fail in some way, in one process or its children."""
    done = run(VERSION, HERE / "faults.py", what, source, destination, str(number), timeout=1800)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_hundred_kills(tmp_path: pathlib.Path) -> None:
    """Whenever it is killed: the destination is absent or complete, and the next one goes on or begins anew."""
    source = managed(tmp_path, 15)
    found = faults("kills", source, source.parent / "new", KILLS)
    assert found["killed"] == KILLS
    assert (found["half"], found["last"], found["complete"]) == (0, 0, True)
    assert found["left"] == []
    assert found["source untouched"]


def test_flipped_bits_in_copies(source: pathlib.Path) -> None:
    found = faults("flips", source, source.parent / "new", 30)
    assert (found["noticed"], found["missed"], found["left"]) == (30, [], [])
    assert found["source untouched"]


@pytest.mark.parametrize("file", ["manifest.ocdbt", "d/*"])
def test_flipped_bits_in_the_sources_index(tmp_path: pathlib.Path, file: str) -> None:
    """Every bit of an index node is covered by its checksum; of the manifest what is before it tells its length."""
    shutil.copytree(LARGE, tmp_path / "run")
    (path,) = (tmp_path / "run").glob(file)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 16
    path.write_bytes(content)
    done = fix_ckpt(VERSION, tmp_path / "run")
    assert (done.returncode, "damaged" in done.stderr) == (2, True), done.stderr
    assert [one.name for one in tmp_path.iterdir()] == ["run"]


def test_two_runs_at_once(source: pathlib.Path) -> None:
    one = start(source)
    wait_for(source.parent, "run_nnx011.nnxmigrate-tmp-*")
    two = start(source)
    errors = {process.communicate()[1] for process in (one, two)}
    assert sorted((one.returncode, two.returncode)) == [0, 2]
    assert any("made by another run meanwhile" in error or "exists already" in error for error in errors)
    assert sorted(path.name for path in source.parent.iterdir()) == ["run", "run_nnx011"]
    assert len(list((source.parent / "run_nnx011").iterdir())) == 60


def test_a_full_disk(tmp_path: pathlib.Path) -> None:
    """A limit on the size of files stands in for the disk: the write of the one large file fails halfway."""
    source = tmp_path / "run"
    shutil.copytree(LARGE, source)
    before = fingerprint(source)
    limit = max(path.stat().st_size for path in source.rglob("*")) - 1

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = fix_ckpt(VERSION, source, preexec_fn=limited)
    assert done.returncode == 2
    assert "nothing was left behind" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert fingerprint(source) == before


_FULL = """
import sys
import numpy, orbax.checkpoint as ocp
from nnxmigrate.checkpoint import convert
from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.job import Request, plan_job
from nnxmigrate.checkpoint.wishes import Wishes

source, folder, verify = sys.argv[1], sys.argv[2], sys.argv[3] == "True"
if verify:
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(source, {"a": numpy.random.default_rng(0).random(1 << 20), "b": numpy.arange(3.0)})
    checkpointer.wait_until_finished()
convert.require_space = lambda *arguments: None  # as if somebody else filled the disk after it was looked at
try:
    convert.run_job(plan_job(Request(source, f"{folder}/out", verify=verify, wishes=Wishes(drop=["b"]))))
except CheckpointError as error:
    print(error)
"""


def test_a_disk_that_is_really_full(tmp_path: pathlib.Path) -> None:
    """A small file system in memory; making one needs rights that not everybody has."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = ["mount", "-t", "tmpfs", "-o", "size=5m", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mounted, capture_output=True, check=False).returncode:
        pytest.skip("no rights to mount a file system")
    try:
        for verify in (True, False):
            done = run(VERSION, "-c", _FULL, tmp_path / "old", disk, str(verify))
            assert done.stdout.strip() == "the disk is full; nothing was left behind", done.stderr
            assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_destination_that_cannot_be_written_to(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    done = fix_ckpt(VERSION, LARGE, tmp_path / "file" / "out")
    assert (done.returncode, "is a file, so nothing can be written below it" in done.stderr) == (2, True), done.stderr

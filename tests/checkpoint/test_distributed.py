"""Checkpoints of many devices and processes, and the command as a job of two processes."""

from __future__ import annotations

import pathlib
import shutil
import socket
import subprocess

import pytest

from tests.checkpoint.support import FIXTURES, HERE, NEW, environment, fix_ckpt, model, run_code
from tests.environments import python


def pair(version: str, *arguments: str | pathlib.Path) -> list[tuple[int, str, str]]:
    """Run two processes; ``COORDINATOR`` and ``NUMBER`` are filled in. Return codes and outputs."""
    return crowd(2, version, *arguments)


def crowd(size: int, version: str, *arguments: str | pathlib.Path) -> list[tuple[int, str, str]]:
    """Run several processes; ``COORDINATOR`` and ``NUMBER`` are filled in. Return codes and outputs."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        coordinator = f"localhost:{probe.getsockname()[1]}"
    jobs = []
    for number in range(size):
        filled = [{"COORDINATOR": coordinator, "NUMBER": str(number)}.get(str(one), str(one)) for one in arguments]
        jobs.append(
            subprocess.Popen(
                [str(python(version)), *filled],
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    outputs = [job.communicate(timeout=900) for job in jobs]
    return [(job.returncode, *output) for job, output in zip(jobs, outputs, strict=True)]


def job(version: str, source: pathlib.Path, destination: pathlib.Path) -> list[tuple[int, str, str]]:
    """Run the command as a job of two processes."""
    options = ["--distributed", "--coordinator", "COORDINATOR", "--processes", "2", "--process", "NUMBER"]
    return pair(version, "-m", "nnxmigrate.cli.fix_ckpt", source, destination, *model("Wide"), *options)


@pytest.mark.parametrize("version", NEW)
def test_a_job_of_two_processes(tmp_path: pathlib.Path, version: str) -> None:
    leader, follower = job(version, FIXTURES / "processes", tmp_path / "out")
    assert (leader[0], follower[0]) == (0, 0), leader[2] + follower[2]
    assert "wrote" in leader[1]
    assert "wrote" not in follower[1]
    # the same bytes of parameters reach both processes, whether the job or one process converted
    done = fix_ckpt(version, FIXTURES / "processes", tmp_path / "alone", *model("Wide"))
    assert done.returncode == 0, done.stderr
    seen = []
    for name in ("out", "alone"):
        both = pair(version, HERE / "processes.py", tmp_path / name, "COORDINATOR", "NUMBER")
        assert [one[0] for one in both] == [0, 0], both[0][2]
        seen.append([[line for line in one[1].splitlines() if line.startswith("['")] for one in both])
    assert seen[0] == seen[1]
    first, second = seen[0]
    assert len(first) == len(second) == 4
    kernel = [line for line in first if "kernel" in line]
    assert " False (2, 8) " in kernel[0]
    assert kernel != [line for line in second if "kernel" in line]


def test_all_processes_fail_together(tmp_path: pathlib.Path) -> None:
    (tmp_path / "out").mkdir()
    leader, follower = job("0.12", FIXTURES / "processes", tmp_path / "out")
    assert (leader[0], follower[0]) == (2, 2)
    assert "exists already" in leader[2]
    assert "exists already" in follower[2]


def test_four_processes_copy_a_share_each(tmp_path: pathlib.Path) -> None:
    source = tmp_path / "run"
    for step in range(8):
        shutil.copytree(FIXTURES / "trees" / "Large", source / str(step) / "default")
        shutil.copy(FIXTURES / "forms" / "manager" / "10" / "_CHECKPOINT_METADATA", source / str(step))
    options = ["--step", "all", "--distributed", "--coordinator", "COORDINATOR", "--processes", "4"]
    ends: list[str | pathlib.Path] = [*options, "--process", "NUMBER"]
    done = crowd(4, "0.12", "-m", "nnxmigrate.cli.fix_ckpt", source, tmp_path / "out", *ends)
    assert [one[0] for one in done] == [0, 0, 0, 0], done[0][2]
    said = next(line for line in done[0][1].splitlines() if "processes copied" in line)
    shares = [int(number.replace(",", "")) for number in said.partition("in bytes: ")[2].split(", ")]
    assert len(shares) == 4
    assert min(shares) > 0.1 * sum(shares)
    assert not any("wrote" in one[1] for one in done[1:])
    alone = fix_ckpt("0.12", source, tmp_path / "alone", "--step", "all")
    assert alone.returncode == 0, alone.stderr
    names = [path.relative_to(tmp_path / "alone") for path in (tmp_path / "alone").rglob("ocdbt.process_*/d/*")]
    assert len(names) >= 8
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()
    assert not [path for path in tmp_path.rglob("*") if "nnxmigrate" in path.name]


@pytest.mark.parametrize("version", NEW)
def test_eight_devices_keep_their_shardings(tmp_path: pathlib.Path, version: str) -> None:
    done = fix_ckpt(version, FIXTURES / "sharded", tmp_path / "out", *model("Wide"))  # on one device
    assert done.returncode == 0, done.stderr
    code = (
        "import os, sys\n"
        "os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=8'\n"
        "import jax, orbax.checkpoint as ocp\n"
        "for leaf in jax.tree.leaves(ocp.StandardCheckpointer().restore(sys.argv[1])):\n"
        "    print(type(leaf.sharding).__name__, len(leaf.sharding.device_set), leaf.sharding.is_fully_replicated)"
    )
    lines = run_code(version, code, tmp_path / "out").splitlines()
    assert sorted(lines) == ["NamedSharding 8 False"] * 2 + ["NamedSharding 8 True"] * 2

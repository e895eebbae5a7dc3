"""Paths as people write them, whole trees of runs, and what is noticed before anything else; all without a model."""

from __future__ import annotations

import json
import pathlib
import shutil
import sys
from typing import Any

import pytest

from tests.checkpoint.support import FIXTURES, fingerprint, run_code

#: Runs commands given as JSON, in their folders, in one process; prints exit codes, outputs, errors and heavy imports.
_DRIVER = """
import json, os, sys, time
from click.testing import CliRunner
from nnxmigrate.cli.fix_ckpt import fix_ckpt

results = []
for folder, home, arguments in json.loads(sys.argv[1]):
    os.chdir(folder)
    os.environ["HOME"] = home
    start = time.process_time()
    run = CliRunner().invoke(fix_ckpt, arguments)
    if run.exception and not isinstance(run.exception, SystemExit):
        raise run.exception
    heavy = sorted({"jax", "flax", "orbax"} & set(sys.modules))
    results.append([run.exit_code, run.stdout, run.stderr, heavy, time.process_time() - start])
print(json.dumps(results))
"""

STANDARD = FIXTURES / "forms" / "standard"


def commands(*given: tuple[pathlib.Path, list[str]]) -> list[tuple[int, str, str, list[str], float]]:
    """Run commands in their folders, under Flax 0.12."""
    text = json.dumps([[str(folder), str(folder), arguments] for folder, arguments in given])
    results: list[Any] = json.loads(run_code("0.12", _DRIVER, text))
    return [(one[0], one[1], one[2], one[3], one[4]) for one in results]


def test_paths(tmp_path: pathlib.Path) -> None:
    for name in ("run", "here/run", "odd name %20é"):
        shutil.copytree(STANDARD, tmp_path / name)
    (tmp_path / "link").symlink_to("run")
    (tmp_path / "deep").symlink_to("here")
    cases = {
        "relative": (tmp_path, ["run", "out/relative"]),
        "dots": (tmp_path / "here", ["../run", "../out/dots"]),
        "dots in the middle": (tmp_path, ["here/../run", "here/../out/middle"]),
        "home": (tmp_path, ["~/run", "~/out/home"]),
        "link": (tmp_path, ["link"]),
        "below a link": (tmp_path, ["deep/../run", "deep/../out/below"]),
        "here": (tmp_path / "run", [".", "../out/here"]),
        "slash": (tmp_path, ["run/", "out/slash/"]),
        "odd": (tmp_path, ["odd name %20é", "out/odd name %20é"]),
        "url": (tmp_path, [(tmp_path / "odd name %20é").as_uri(), (tmp_path / "out" / "by url é").as_uri()]),
    }
    before = fingerprint(tmp_path / "run")
    results = dict(zip(cases, commands(*cases.values()), strict=True))
    assert {name: result[2] for name, result in results.items() if result[0]} == {}
    assert {name for name, result in results.items() if result[3]} == set()  # no model: neither jax nor orbax
    made = ["below", "by url é", "dots", "here", "home", "middle", "odd name %20é", "relative", "slash"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == made
    assert (tmp_path / "link_nnx011" / "_METADATA").is_file()  # beside the link
    assert fingerprint(tmp_path / "run") == before


def test_destinations_that_are_refused(tmp_path: pathlib.Path) -> None:
    shutil.copytree(STANDARD, tmp_path / "run")
    (tmp_path / "link").symlink_to("run")
    (tmp_path / "there").mkdir()
    failing = ["--model", "no_such_module:make"]  # not reached
    cases = {
        "the source": (tmp_path, ["run", "run"]),
        "in the source": (tmp_path, ["run", "run/new"]),
        "in the source by a link": (tmp_path, ["run", "link/new"]),
        "in the source by dots": (tmp_path, ["run", "there/../run/new"]),
        "there": (tmp_path, ["run", "there"]),
        "there, dry run": (tmp_path, ["run", "there", "--dry-run"]),
        "recursive, in the source": (tmp_path, ["run", "run/new", "-r"]),
    }
    for name, result in zip(cases, commands(*cases.values()), strict=True):
        wanted = "exists already" if name.startswith("there") else "the source is never changed"
        assert (result[0], wanted in result[2]) == (2, True), (name, result)
        assert "plan:" not in result[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "run", "there"]
    (result,) = commands((tmp_path, ["run", "there", *failing]))
    assert (result[0], "exists already" in result[2], result[3]) == (2, True, [])


def test_trees_of_runs(tmp_path: pathlib.Path) -> None:
    forms = FIXTURES / "forms"
    shutil.copytree(forms / "manager", tmp_path / "all" / "run1" / "checkpoints")
    shutil.copytree(forms / "standard", tmp_path / "all" / "run2" / "final")
    shutil.copytree(forms / "pure", tmp_path / "all" / "run2" / "broken")
    (tmp_path / "all" / "run2" / "broken" / "_METADATA").write_text("{")
    shutil.copytree(forms / "standard", tmp_path / "all" / "run3" / "5.orbax-checkpoint-tmp-1")
    (tmp_path / "all" / "run2" / "log.txt").write_text("no checkpoint")
    both = commands((tmp_path, ["all", "-r"]), (tmp_path, ["all", "-r", "--json"]))
    code, said, errors, _, _ = both[0]
    assert (code, errors) == (2, "")
    assert "3 checkpoints: 2 written, 1 failed" in said or "3 checkpoints: " in said
    assert "not the JSON that Orbax writes" in said
    assert said.count("\nnote: layers' streams are left out") == 1
    new = tmp_path / "all_nnx011"
    found = sorted(path.parent.relative_to(new).as_posix() for path in new.rglob("_METADATA"))
    assert found == ["run1/checkpoints/0/default", "run1/checkpoints/10/default", "run2/final"]
    assert not (new / "run2" / "log.txt").exists()
    assert json.loads(both[1][1])["counts"] == {"there already": 2, "failed": 1}
    (tmp_path / "half").mkdir()
    shutil.copytree(forms / "standard", tmp_path / "half" / "a")
    shutil.copytree(forms / "standard", tmp_path / "half" / "b")
    (tmp_path / "half" / "b" / "_sharding").unlink()
    looked = ["half", "-r", "--dry-run"]
    text, machines = commands((tmp_path, looked), (tmp_path, [*looked, "--json"]))
    notes = [line for line in text[1].splitlines() if line.startswith("note: ")]
    assert [note.endswith(f" ({tmp_path / 'half' / 'b'})") for note in notes] == [False, True], notes
    assert [len(one["notes"]) for one in json.loads(machines[1])["checkpoints"]] == [1, 2]


def test_a_converted_checkpoint_needs_nothing_without_a_model_too(tmp_path: pathlib.Path) -> None:
    """The program's own streams, which all versions store alike, stay; so does a stream per layer."""
    first, second = commands(
        (tmp_path, [str(STANDARD), "new", "--json"]),
        (tmp_path, ["new", "other", "--json"]),
    )
    assert (first[0], second[0]) == (0, 0), first[2] + second[2]
    assert json.loads(second[1])["status"] == "needless"
    assert not (tmp_path / "other").exists()


def test_a_small_checkpoint_costs_little(tmp_path: pathlib.Path) -> None:
    """All of it, verification included, beside what importing TensorStore costs in the same run."""
    code = (
        "import sys, time\n"
        "start = time.process_time()\n"
        "import tensorstore\n"
        "floor = time.process_time() - start\n"
        "from nnxmigrate.cli.fix_ckpt import fix_ckpt\n"
        "sys.argv = ['fix-ckpt', *sys.argv[1:]]\n"
        "try: fix_ckpt()\n"
        "finally: print(floor, time.process_time() - start, {'jax', 'orbax'} & set(sys.modules), file=sys.stderr)"
    )
    from tests.checkpoint.support import run

    done = run("0.12", "-c", code, STANDARD, tmp_path / "out")
    assert done.returncode == 0, done.stderr
    floor, whole, heavy = done.stderr.splitlines()[-1].split(maxsplit=2)
    assert heavy == "set()"
    assert float(whole) < 4 * float(floor) + 0.3


@pytest.mark.skipif(sys.platform == "win32", reason="standard error is not a descriptor there")
@pytest.mark.parametrize("scheme", ["gs", "s3"])
def test_a_bucket_without_credentials_is_told_at_once(tmp_path: pathlib.Path, scheme: str) -> None:
    from tests.checkpoint.support import environment, fix_ckpt

    variables = environment(HOME=str(tmp_path), GCE_METADATA_ROOT="localhost:1", AWS_EC2_METADATA_DISABLED="true")
    variables |= {"TENSORSTORE_GCS_HTTP_URL": "http://localhost:1"}
    for name in [name for name in variables if name.startswith(("AWS_ACCESS", "AWS_SECRET", "GOOGLE_APP"))]:
        del variables[name]
    done = fix_ckpt("0.12", f"{scheme}://no-such-bucket-of-ours/run", env=variables)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 2, done.stderr
    assert lines[0].startswith(f"error: {scheme}://no-such-bucket-of-ours/run: ")
    assert "no credentials were found" in lines[1]

"""What does not fit, is damaged or cannot be used is refused with a reason, and nothing is written."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.checkpoint.support import (
    FIXTURES,
    HERE,
    NEW,
    case,
    drive,
    environment,
    fix_ckpt,
    model,
    require_right,
    run,
)
from tests.environments import python

STANDARD, FOLDERS, MANAGER = (FIXTURES / "forms" / form for form in ("standard", "folders", "manager"))
LARGE = FIXTURES / "trees" / "Large"
MLP = model("Mlp")


def changed(name: str) -> tuple[str, str]:
    return "--model", f"{HERE / 'changed.py'}:{name}"


def broken(name: str) -> tuple[str, str]:
    return "--model", f"{HERE / 'broken' / name}.py:make"


#: What is asked for, the exit code, and what must be said.
REFUSED: dict[str, tuple[pathlib.Path, tuple[str, ...], int, tuple[str, ...]]] = {
    "renamed": (STANDARD, changed("Renamed"), 1, ("fc.kernel.value", "linear.kernel.value", "--rename linear=fc")),
    "reshaped": (STANDARD, changed("Wider"), 1, ("linear.kernel.value: stored float32[2, 4], model float32[2, 8]",)),
    "unexpected": (STANDARD, changed("Shorter"), 1, ("out.kernel.value: float32[4, 3]", "--drop")),
    "missing": (STANDARD, changed("Longer"), 1, ("extra.kernel.value: float32[3, 2]", "--allow-missing")),
    "another model": (STANDARD, tuple(model("Lists")), 1, ("digits.0.bias.value", " more")),
    "dry run of a misfit": (STANDARD, (*changed("Longer"), "--dry-run"), 1, ("extra.bias.value",)),
    "optimizer as model": (FIXTURES / "forms/optimizer", tuple(model("Lora")), 1, ("model.linear.kernel.value",)),
    "rename of nothing": (STANDARD, (*MLP, "--rename", "nowhere=fc"), 2, ("nowhere", "no such leaf")),
    "rename onto another": (STANDARD, ("--rename", "linear.bias=out.bias"), 2, ("would both become out.bias.value",)),
    "rename without a name": (STANDARD, ("--rename", "linear"), 2, ("OLD=NEW",)),
    "drop of nothing": (STANDARD, ("--drop", "nowhere"), 2, ("no stored leaf matches",)),
    "initialise without a model": (STANDARD, ("--allow-missing", "fc"), 2, ("--model",)),
    "no such step": (MANAGER, ("--step", "7"), 2, ("0, 10",)),
    "a step of one tree": (STANDARD, ("--step", "7"), 2, ("not the root of a CheckpointManager",)),
    "no such item": (MANAGER, ("--item", "weights"), 2, ("default",)),
    "split of a model": (STANDARD, ("--optimizer", "split"), 2, ("nnx.Optimizer",)),
    "no such module": (STANDARD, ("--model", "no_such_module:make"), 2, ("ModuleNotFoundError",)),
    "no such file": (STANDARD, ("--model", "no/such/file.py:make"), 2, ("no Python file",)),
    "no such factory": (STANDARD, changed("Nowhere"), 2, ("has no Nowhere",)),
    "not callable": (STANDARD, changed("number"), 2, ("not callable",)),
    "no reference": (STANDARD, ("--model", "changed"), 2, ("package.module:factory",)),
    "factory fails": (STANDARD, changed("failing"), 2, ("ZeroDivisionError: on purpose",)),
    "factory of an optimizer fails": (
        FIXTURES / "forms/optimizer",
        changed("failing"),
        2,
        ("ZeroDivisionError: on purpose", "returns the model without its optimizer"),
    ),
    "factory needs more": (STANDARD, changed("needs_more"), 2, ("needs_more needs width, rngs",)),
    "seeds that nobody takes": (STANDARD, (*changed("without_rngs"), "--rngs", "0"), 2, ("takes no rngs",)),
    "seeds without a model": (STANDARD, ("--rngs", "0"), 2, ("need --model",)),
    "read back and not": (STANDARD, ("--no-verify", "--verify-from-disk"), 2, ("contradict each other",)),
    "seeds that are none": (STANDARD, (*changed("Half"), "--rngs", "params"), 2, ("params=0,dropout=1",)),
    "parses arguments": (
        STANDARD,
        broken("parsing"),
        2,
        ("ends the program when it is imported", "--config", "__main__"),
    ),
    "missing dependency": (
        STANDARD,
        broken("depending"),
        2,
        ("needs no_such_dependency, which is not installed here",),
    ),
    "returns nothing": (STANDARD, changed("returns_nothing"), 2, ("returned no NNX module but None",)),
    "returns a class": (STANDARD, changed("returns_class"), 2, ("returned the class Mlp, no object of it",)),
    "returns settings": (STANDARD, changed("returns_settings"), 2, ("returned no NNX module but a builtins.dict",)),
    "ends the program": (STANDARD, changed("leaves"), 2, ("ended the program: SystemExit(3)",)),
    "keep of nothing": (STANDARD, ("--keep", "linear"), 2, ("no stored RNG stream matches",)),
    "check": (STANDARD, ("--check",), 1, ('"needed"', "6 leaves of RNG state", "partial_restore=True")),
    "check with a model": (STANDARD, (*MLP, "--check"), 1, ('"needed"', "4 leaves of the model's RNG state")),
    "check of what does not fit": (STANDARD, (*changed("Longer"), "--check"), 1, ("extra.bias.value",)),
    "check of what needs nothing": (
        FIXTURES / "forms/composite",
        ("--item", "best", "--check"),
        0,
        ('"needless"', "holds no RNG state", "ocp.CheckpointManager"),
    ),
    "check of a tree": (FIXTURES / "forms", ("-r", "--check"), 1, ('"needed": 10', "forms/zarr3")),
    "no such path": (FIXTURES / "nowhere", (), 2, ("no such checkpoint",)),
    "a file": (FIXTURES / "models.py", (), 2, ("a folder",)),
    "folder of checkpoints": (FIXTURES / "forms", (), 2, ("name one of them", "standard")),
    "keys into a folder lr=[1,2]": (STANDARD, (*MLP,), 2, ("takes", "for a pattern", "without [ ] in its path")),
    "script of an item that does not fit": (STANDARD, (*changed("Longer"), "--emit-script"), 1, ("extra.bias",)),
}

#: What is converted after all, and what must be said.
ACCEPTED: dict[str, tuple[tuple[str, ...], str]] = {
    "renamed": ((*changed("Renamed"), "--rename", "linear=fc"), '"path": "fc.kernel.value"'),
    "dropped": ((*changed("Shorter"), "--drop", "out"), '"path": "out.kernel.value"'),
    "initialised": ((*changed("Longer"), "--allow-missing", "extra.*"), '"path": "extra.kernel.value"'),
    "another type": (changed("Half"), "stored float32[2, 4], model bfloat16[2, 4]; kept as stored"),
    "own seeds": (changed("without_rngs"), '"load": '),
    "without keys, into a folder lr=[1,2]": ((), '"load": '),
}

Damage = Callable[[pathlib.Path], object]


def _without(pattern: str) -> Damage:
    """Remove what matches."""

    def damage(folder: pathlib.Path) -> None:
        found = list(folder.glob(pattern))
        assert found
        for path in found:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def _cut(pattern: str) -> Damage:
    """Halve the largest file that matches."""

    def damage(folder: pathlib.Path) -> None:
        largest = max(folder.glob(pattern), key=lambda path: path.stat().st_size)
        largest.write_bytes(largest.read_bytes()[: largest.stat().st_size // 2])

    return damage


def _of_another_compression(folder: pathlib.Path) -> None:
    """Cut a chunk that nothing but its decoder can tell to be whole."""
    header = folder / "linear.kernel.value" / ".zarray"
    header.write_text(json.dumps({**json.loads(header.read_text()), "compressor": {"id": "zlib", "level": 1}}))
    (folder / "linear.kernel.value" / "0.0").write_bytes(zlib.compress(bytes(range(32)))[:20])


#: A form, what happens to it, and what must be said.
DAMAGED: dict[str, tuple[pathlib.Path, Damage, str]] = {
    "no metadata": (STANDARD, _without("_METADATA"), "_METADATA is missing"),
    "no metadata of an item": (MANAGER, _without("10/default/_METADATA"), "_METADATA is missing"),
    "cut metadata": (STANDARD, _cut("_METADATA"), "not the JSON that Orbax writes"),
    "cut handlers": (STANDARD, _cut("_CHECKPOINT_METADATA"), "not the JSON that Orbax writes"),
    "cut shardings": (STANDARD, _cut("_sharding"), "not the JSON that Orbax writes"),
    "cut key types": (STANDARD, _cut("array_metadatas/*"), "not the JSON that Orbax writes"),
    "no index": (STANDARD, _without("manifest.ocdbt"), "manifest.ocdbt, the database's root, is missing"),
    "cut index": (STANDARD, _cut("manifest.ocdbt"), "damaged"),
    "no data": (STANDARD, _without("d"), "damaged"),
    "no data of a process": (LARGE, _without("ocdbt.process_0/d/*"), "is missing"),
    "cut data": (LARGE, _cut("ocdbt.process_0/d/*"), "cut off"),
    "no leaf": (FOLDERS, _without("linear.kernel.value"), "linear.kernel.value is missing"),
    "no header": (FOLDERS, _without("linear.kernel.value/.zarray"), "linear.kernel.value is missing"),
    "no chunk": (FOLDERS, _without("linear.kernel.value/0.0"), "the chunk 0.0 is missing"),
    "cut chunk": (FOLDERS, _cut("linear.kernel.value/0.0"), "cannot be read: linear.kernel.value/0.0 is cut off"),
    "cut chunk of zlib": (FOLDERS, _of_another_compression, "linear.kernel.value: a stored value cannot be read"),
    "cut root": (STANDARD, _cut("d/*"), " is cut off: "),
}


@pytest.fixture(scope="module", params=NEW)
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the results of all cases."""
    folder = tmp_path_factory.mktemp("refusals")
    cases = [case(f"refused {name}", one[0], folder, None, *one[1]) for name, one in REFUSED.items()]
    cases += [case(f"accepted {name}", STANDARD, folder, None, *one[0]) for name, one in ACCEPTED.items()]
    for name, (source, damage, _) in DAMAGED.items():
        copy = folder / f"source {name}"
        shutil.copytree(source, copy)
        damage(copy)
        cases.append(case(f"damaged {name}", copy, folder, None if source == LARGE else "Mlp"))
    for name, file in (("types", "array_metadatas"), ("shardings", "_sharding")):
        for form in ("standard", "zarr3"):
            copy = folder / f"source {form} {name}"
            shutil.copytree(FIXTURES / "forms" / form, copy)
            _without(file)(copy)
            cases.append(case(f"{form} without {name}", copy, folder, "Mlp"))
    return drive(request.param, cases)


@pytest.mark.parametrize("lost", [("manifest.ocdbt",), ("manifest.ocdbt", "d")])
def test_a_lost_root_is_made_anew_from_what_the_processes_wrote(tmp_path: pathlib.Path, lost: tuple[str, ...]) -> None:
    """So Orbax leaves a checkpoint below a folder with a bracket in its name. What the refusal prints is run."""
    copy = shutil.copytree(LARGE, tmp_path / "copy")
    for name in lost:
        _without(name)(copy)
    below = shutil.copytree(copy, tmp_path / "lr=[1]" / "copy")
    refusals = [fix_ckpt("0.12", source, tmp_path / "new") for source in (copy, below)]
    assert [done.returncode for done in refusals] == [2, 2]
    assert ["without [" in done.stderr for done in refusals] == [False, True]
    command = refusals[0].stderr.splitlines()[-1].strip()
    assert (command.startswith("python -c '"), command.endswith("' COPY")) == (True, True)
    command = f"{python('0.12')}{command.removeprefix('python').removesuffix('COPY')}copy"
    subprocess.run(command, shell=True, check=True, cwd=tmp_path, env=environment(), timeout=600)
    done = fix_ckpt("0.12", copy, tmp_path / "new")
    assert done.returncode == 0, done.stderr
    _without("ocdbt.process_0/manifest.ocdbt")(copy)
    _without("manifest.ocdbt")(copy)
    done = fix_ckpt("0.12", copy, tmp_path / "other")
    assert (done.returncode, "python -c" in done.stderr) == (2, False), done.stderr


def _require_refused(result: dict[str, Any], code: int, words: tuple[str, ...]) -> None:
    assert "crash" not in result, result["crash"]
    said = result["output"] + result["errors"]
    assert result["exit"] == code, said
    assert [word for word in words if word not in said] == []
    assert result["source untouched"]
    assert not result["written"]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(results: dict[str, Any], name: str) -> None:
    _, _, code, words = REFUSED[name]
    _require_refused(results[f"refused {name}"], code, words)


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged(results: dict[str, Any], name: str) -> None:
    """The error names the source, not the copy that is gone with the run, and a way out."""
    result = results[f"damaged {name}"]
    _require_refused(result, 2, (DAMAGED[name][2],))
    assert "help: " in result["errors"]
    assert ".nnxmigrate-tmp" not in result["errors"]
    assert f"source {name}" in result["errors"] or DAMAGED[name][0] == MANAGER, result["errors"]


@pytest.mark.parametrize("name", ACCEPTED)
def test_ways_out(results: dict[str, Any], name: str) -> None:
    result = results[f"accepted {name}"]
    require_right(result)
    assert ACCEPTED[name][1] in result["output"]


@pytest.mark.parametrize("form", ["standard", "zarr3"])
@pytest.mark.parametrize("lost", ["types", "shardings"])
def test_lost_sidecars_are_told_and_keys_stay_keys(results: dict[str, Any], form: str, lost: str) -> None:
    result = results[f"{form} without {lost}"]
    require_right(result)
    assert any("missing" in note for note in json.loads(result["output"])["notes"])


@pytest.mark.parametrize("taken", ["full", "empty", "file"])
def test_a_taken_destination_stays_as_it_is(tmp_path: pathlib.Path, taken: str) -> None:
    destination = tmp_path / "out"
    if taken == "file":
        destination.write_text("mine")
    else:
        destination.mkdir()
    if taken == "full":
        (destination / "mine").write_text("mine")
    done = fix_ckpt("0.12", STANDARD, destination)
    assert (done.returncode, "exists already" in done.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert [path.name for path in destination.glob("*")] == (["mine"] if taken == "full" else [])


@pytest.mark.parametrize("name", ["ckpt.orbax-checkpoint-tmp", "10.orbax-checkpoint-tmp-3"])
def test_an_unfinished_checkpoint(tmp_path: pathlib.Path, name: str) -> None:
    shutil.copytree(STANDARD, tmp_path / name)
    done = fix_ckpt("0.12", tmp_path / name)
    assert (done.returncode, "unfinished" in done.stderr) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_unfinished_steps_are_passed_over(tmp_path: pathlib.Path) -> None:
    shutil.copytree(MANAGER, tmp_path / "run")
    shutil.copytree(MANAGER / "10", tmp_path / "run" / "20.orbax-checkpoint-tmp-1")
    done = fix_ckpt("0.12", tmp_path / "run", "--step", "all", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == [0, 10]
    assert any("step 20 was begun and never finished" in note for note in json.loads(done.stdout)["notes"])
    assert sorted(path.name for path in (tmp_path / "run_nnx011").iterdir()) == ["0", "10"]
    done = fix_ckpt("0.12", tmp_path / "run", tmp_path / "other", "--step", "20")
    assert "20.orbax-checkpoint-tmp-1 holds no finished tree; there is 0, 10" in done.stderr


@pytest.mark.parametrize(
    ("left", "step", "told"),
    [
        (["20.orbax-checkpoint-tmp-1", "step_30.orbax-checkpoint-tmp"], None, "steps 20, 30 were begun and never"),
        (["5.orbax-checkpoint-tmp-1"], "all", "step 5 was begun and never"),
        (["5.orbax-checkpoint-tmp-1"], None, ""),  # an older one, of which nobody would think that it is the latest
        (["10.orbax-checkpoint-tmp-1"], "all", ""),  # saved again
        (["default.orbax-checkpoint-tmp-1"], "all", ""),
        (["20.orbax-checkpoint-tmp-1"], "10", ""),
    ],
)
def test_steps_that_never_finished_are_named(
    tmp_path: pathlib.Path, left: list[str], step: str | None, told: str
) -> None:
    shutil.copytree(MANAGER, tmp_path / "run")
    for name in left:
        (tmp_path / "run" / name).mkdir()
    done = fix_ckpt("0.12", tmp_path / "run", "--json", "--dry-run", *(["--step", step] if step else []))
    assert done.returncode == 0, done.stderr
    notes = [note for note in json.loads(done.stdout)["notes"] if "never finished" in note]
    assert ([told in note for note in notes] == [True]) if told else not notes, notes


@pytest.mark.parametrize("lost", ["_CHECKPOINT_METADATA", "default"])
def test_a_later_step_that_is_passed_over_is_named(tmp_path: pathlib.Path, lost: str) -> None:
    shutil.copytree(MANAGER, tmp_path / "run")
    shutil.copytree(MANAGER / "10", tmp_path / "run" / "20")
    _without(lost)(tmp_path / "run" / "20")
    for options in ([], ["--step", "all"]):
        done = fix_ckpt("0.12", tmp_path / "run", "--json", "--dry-run", *options)
        assert done.returncode == 0, done.stderr
        notes = json.loads(done.stdout)["notes"]
        assert any("passed over" in note and note.endswith("gone: 20") for note in notes), notes
    done = fix_ckpt("0.12", tmp_path / "run", "--step", "20")
    assert (done.returncode, "20 holds no finished tree; there is 0, 10" in done.stderr) == (2, True), done.stderr
    done = fix_ckpt("0.12", tmp_path / "run", "--json", "--dry-run", "--step", "0")
    assert not any("passed over" in note for note in json.loads(done.stdout)["notes"])


def _cut_data(step: pathlib.Path) -> None:
    for path in (step / "default").rglob("d/*"):
        os.truncate(path, 1)


def _not_json(step: pathlib.Path) -> None:
    (step / "_CHECKPOINT_METADATA").write_text("{")


_LATEST: dict[str, Callable[[pathlib.Path], object]] = {
    "the database": _without("default/d"),
    "the metadata": _without("default/_METADATA"),
    "the handlers": _not_json,
    "the data": _cut_data,
}


@pytest.mark.parametrize("damage", _LATEST)
def test_a_damaged_latest_step_leaves_the_others(tmp_path: pathlib.Path, damage: str) -> None:
    shutil.copytree(MANAGER, tmp_path / "run")
    _LATEST[damage](tmp_path / "run" / "10")
    for options in ([], ["--step", "all"], ["--step", "10"]):
        done = fix_ckpt("0.12", tmp_path / "run", *options)
        assert (done.returncode, "help: --step 0 takes another step" in done.stderr) == (2, True), done.stderr
    done = fix_ckpt("0.12", tmp_path / "run", "--step", "0")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "run_nnx011").iterdir()] == ["0"]


@pytest.mark.parametrize("damage", _LATEST)
def test_a_damaged_earlier_step_stands_against_nothing(tmp_path: pathlib.Path, damage: str) -> None:
    shutil.copytree(MANAGER, tmp_path / "run")
    _LATEST[damage](tmp_path / "run" / "0")
    done = fix_ckpt("0.12", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "run_nnx011").iterdir()] == ["10"]
    done = fix_ckpt("0.12", tmp_path / "run", tmp_path / "all", "--step", "all")
    assert (done.returncode, "--step 10 takes another step" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("lost", ["_CHECKPOINT_METADATA", "default"])
@pytest.mark.parametrize("name", ["5", "20"])
def test_what_no_program_can_load_is_not_copied(tmp_path: pathlib.Path, name: str, lost: str) -> None:
    shutil.copytree(MANAGER, tmp_path / "run")
    shutil.copytree(MANAGER / "10", tmp_path / "run" / name)
    _without(lost)(tmp_path / "run" / name)
    (tmp_path / "run" / "plots_3").mkdir()
    (tmp_path / "run" / "plots_3" / "loss.txt").write_text("0.5")
    done = fix_ckpt("0.12", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (tmp_path / "run_nnx011").iterdir()) == ["10", "plots_3"]


def test_of_a_manager_with_a_damaged_step_the_others_are_found(tmp_path: pathlib.Path) -> None:
    shutil.copytree(MANAGER, tmp_path / "runs" / "one")
    _without("default/_METADATA")(tmp_path / "runs" / "one" / "0")
    done = fix_ckpt("0.12", "-r", tmp_path / "runs")
    assert (done.returncode, "1 failed, 1 written" in done.stdout) == (2, True), done.stdout
    assert (tmp_path / "runs_nnx011" / "one" / "10" / "default" / "_METADATA").is_file()


def test_splitting_never_writes_into_another_item(tmp_path: pathlib.Path) -> None:
    shutil.copytree(FIXTURES / "forms" / "optimizer", tmp_path / "run" / "opt")
    shutil.copytree(STANDARD, tmp_path / "run" / "model")
    (tmp_path / "run" / "_CHECKPOINT_METADATA").write_text("{}")
    done = fix_ckpt("0.12", tmp_path / "run", "--item", "opt", "--optimizer", "split", "--no-verify")
    assert done.returncode == 2, done.stdout
    assert "another item model is there already" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


#: Runs the command as somebody who may read and write little; root may do everything, so it becomes nobody, who may
#: import nothing: the command is run once before.
_AS_NOBODY = """
import os, sys
from nnxmigrate.cli.fix_ckpt import fix_ckpt
good, warm, *arguments = sys.argv[1:]
try:
    fix_ckpt.main([good, warm], standalone_mode=False)
except SystemExit:
    pass
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
fix_ckpt.main(arguments)
"""


@pytest.mark.skipif(os.name != "posix", reason="knows no permissions")
@pytest.mark.parametrize("what", ["", "_METADATA", "d", "result"])
def test_what_may_not_be_read_or_written_is_named(what: str) -> None:
    with tempfile.TemporaryDirectory() as folder:  # not below pytest's own, which is closed to others
        base = pathlib.Path(folder)
        base.chmod(0o777)
        source = shutil.copytree(STANDARD, base / "checkpoint")
        (base / "result").mkdir(mode=0o777)
        (base / "result").chmod(0o555 if what == "result" else 0o777)
        if what != "result":
            (source / what).chmod(0)
        done = run("0.12", "-c", _AS_NOBODY, STANDARD, base / "before", source, base / "result" / "new")
        assert done.returncode == 2, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert "ermission" in done.stderr
        assert "help: " in done.stderr
        assert list((base / "result").iterdir()) == []
        if what != "result":
            (source / what).chmod(0o755)


@pytest.mark.parametrize(
    ("source", "destination", "words"),
    [
        pytest.param("state.msgpack", "new", ("a file", "load the file in the old"), id="a msgpack file"),
        pytest.param("state.npz", "new", ("a file", "NumPy files", "without RNG state"), id="a NumPy file"),
        pytest.param("arrays", "new", ("state.npz is a", "load the file in the old"), id="a NumPy file in a folder"),
        pytest.param("legacy", "new", ("checkpoint_3 is a msgpack", "load the file in the old"), id="in a folder"),
        pytest.param(str(STANDARD), "state.msgpack/new", ("is a file, so nothing can be",), id="below a file"),
    ],
)
def test_files_that_are_no_folders(tmp_path: pathlib.Path, source: str, destination: str, words: list[str]) -> None:
    (tmp_path / "legacy").mkdir()
    (tmp_path / "arrays").mkdir()
    for name in ("state.msgpack", "legacy/checkpoint_3", "state.npz", "arrays/state.npz"):
        (tmp_path / name).write_bytes(b"\x81\xa1a\x01")
    done = fix_ckpt("0.12", source, destination, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert [word for word in words if word not in done.stderr] == []


@pytest.mark.parametrize(("name", "told"), [("run/state.msgpack", True), ("run/log.txt", False)])
def test_trees_of_other_files(tmp_path: pathlib.Path, name: str, told: bool) -> None:
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_bytes(b"1")
    done = fix_ckpt("0.12", ".", "-r", cwd=tmp_path)
    assert (done.returncode, "no Orbax checkpoint in it" in done.stderr) == (2, True)
    assert ("load the file in the old" in done.stderr) == told


def test_a_store_without_a_driver(tmp_path: pathlib.Path) -> None:
    done = fix_ckpt("0.12", "hdfs://cluster/run", cwd=tmp_path)
    assert (done.returncode, "cannot open hdfs://" in done.stderr) == (2, True)

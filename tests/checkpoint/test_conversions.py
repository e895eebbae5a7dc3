"""Checkpoints written by Flax 0.10 load in the same programs under newer releases, after conversion."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.checkpoint.support import FIXTURES, NEW, case, drive, require_right, run, script_case

ZOO = (
    *("Mlp", "Attention", "Lora", "Recurrent", "Lists", "Sequence", "OwnRngs"),
    *("Names", "Keys", "Scanned", "Types", "Tied", "Arrays", "Untraceable"),
)

#: Checkpoints in the repository: name, model, options.
STORED: list[tuple[str, str | None, tuple[str, ...]]] = [
    *((f"era/0.10.{patch}", "Mlp", ()) for patch in range(8)),
    *((f"trees/{name}", name, ()) for name in ("Lists", "Names", "Recurrent", "Scanned", "Large")),
    ("forms/standard", "Mlp", ()),
    ("forms/standard", "Mlp", ("--link",)),
    ("forms/standard", "Mlp", ("--no-verify",)),
    ("forms/standard", "Mlp", ("--verify-from-disk",)),
    ("forms/standard", "Mlp", ("--eager-init",)),
    ("forms/standard", None, ()),
    ("forms/pure", "Mlp", ()),
    ("forms/pure", None, ()),
    ("forms/folders", "Mlp", ()),
    ("forms/folders", "Mlp", ("--link",)),
    ("forms/zarr3", "Mlp", ()),
    ("forms/v1", "Mlp", ()),
    ("forms/manager", "Mlp", ()),
    ("forms/manager", "Mlp", ("--step", "all")),
    ("forms/manager", "Mlp", ("--step", "0")),
    ("forms/manager/10", "Mlp", ()),
    ("forms/prefixed", "Mlp", ()),
    ("forms/composite", "Mlp", ()),
    ("forms/composite", "Mlp", ("--item", "state")),
    ("forms/composite", None, ("--item", "state")),
    ("forms/optimizer", "optimizer", ()),
    ("forms/optimizer", "Mlp", ()),
    ("forms/optimizer", "Mlp", ("--optimizer", "split")),
    ("forms/optimizer", "optimizer_alone", ("--optimizer", "split")),
    ("forms/optimizer", None, ("--optimizer", "split")),
    ("forms/by_hand", "by_hand", ()),
    ("sharded", "Wide", ()),
    ("processes", "Wide", ()),
]


SCRIPTED = ("forms/standard Mlp", "forms/pure Mlp", "trees/Lists Lists", "forms/optimizer optimizer")


def _name(source: str, model: str | None, options: tuple[str, ...]) -> str:
    return " ".join((source, model or "without a model", *options))


@pytest.fixture(scope="session", params=NEW)
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the results for all checkpoints in the repository."""
    folder = tmp_path_factory.mktemp("stored")
    cases = [case(_name(*one), FIXTURES / one[0], folder, one[1], *one[2]) for one in STORED]
    scripts = [script_case(one) for one in cases if one["name"] in SCRIPTED]
    return drive(request.param, cases + scripts)


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return a folder with checkpoints of all models, written now by Flax 0.10."""
    folder = tmp_path_factory.mktemp("zoo")
    for what in ("zoo", "forms"):
        done = run("0.10", FIXTURES / "write.py", folder / what, what)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session", params=NEW)
def fresh(
    request: pytest.FixtureRequest, zoo: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Return the results for all models in both layouts, and for the forms that are not in the repository."""
    folder = tmp_path_factory.mktemp("fresh")
    cases = [
        case(f"{layout}/{name}", zoo / "zoo" / layout / name, folder, name)
        for layout in ("state", "pure")
        for name in (*ZOO, "Plain")
    ]
    cases += [case(form, zoo / "forms" / form, folder, "Mlp") for form in ("async", "folders_zarr3")]
    return drive(request.param, cases)


@pytest.mark.parametrize("name", [_name(*one) for one in STORED])
def test_checkpoints_in_the_repository(stored: dict[str, Any], name: str) -> None:
    require_right(stored[name])


@pytest.mark.parametrize("name", SCRIPTED)
def test_the_script_does_the_same(stored: dict[str, Any], name: str) -> None:
    result = stored[f"script of {name}"]
    assert "crash" not in result, result["crash"]
    assert result["exit"] == 0
    assert result["leaves"] > 10
    assert result["differing"] == []


@pytest.mark.parametrize("layout", ["state", "pure"])
@pytest.mark.parametrize("name", ZOO)
def test_every_model(fresh: dict[str, Any], layout: str, name: str) -> None:
    result = fresh[f"{layout}/{name}"]
    require_right(result)
    assert result["rng count"] > 0


@pytest.mark.parametrize("form", ["async", "folders_zarr3"])
def test_other_forms(fresh: dict[str, Any], form: str) -> None:
    require_right(fresh[form])


@pytest.mark.parametrize("layout", ["state", "pure"])
def test_without_rng_state_nothing_is_needed(fresh: dict[str, Any], layout: str) -> None:
    result = fresh[f"{layout}/Plain"]
    assert (result["exit"], json.loads(result["output"])["status"]) == (0, "needless")
    assert not result["written"]


def test_links_share_the_data(stored: dict[str, Any]) -> None:
    for form, shared in (("forms/standard", 1000), ("forms/folders", 100)):
        copied = json.loads(stored[f"{form} Mlp"]["output"])["bytes"]
        linked = json.loads(stored[f"{form} Mlp --link"]["output"])["bytes"]
        assert copied["linked"] == 0
        assert linked["linked"] > shared
        assert linked["copied"] < copied["copied"]

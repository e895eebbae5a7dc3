"""The printed code of every layout runs, with what it leaves to the user, and fills everything that is stored."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from tests.checkpoint.support import HERE, NEW, run

LAYOUTS = HERE / "layouts.py"


def _case(
    layout: str, factory: str, filled: str, *options: str, items: tuple[str, ...] = ("",), script: bool = False
) -> dict[str, Any]:
    return {
        "layout": layout,
        "factory": factory,
        "filled": filled,
        "options": list(options),
        "items": items,
        "without value": "pure" in layout or "split" in options,
        "script": script,
    }


_SPLIT = ("--optimizer", "split")
_MODEL, _OPTIMIZER = "nnx.state(model)", "nnx.state(optimizer)"
_RECALLED = "{**nnx.state(model), 'memory': nnx.state(model)['recall']}"
_BOTH = "{'model': nnx.state(model), **nnx.state(optimizer)}"
_TWO = "{'enc': nnx.state(saved['enc']), 'dec': nnx.state(saved['dec'])}"
_TRAINERS = "{'gen': nnx.state(saved['gen']), 'disc': nnx.state(saved['disc'])}"
_ITEMS = ("gen", "disc")
_SAVED = "nnx.state(saved)"
_EACH = "{'gen': nnx.state(saved['gen']), 'disc': nnx.state(saved['disc']), 'step': tree['step']}"
_HELD = (
    "{**{key: {'model': nnx.state(saved[key][0]), **nnx.state(saved[key][1])} for key in ('gen', 'disc')}, "
    "'step': tree['step']}"
)

_SEEN = "'linear': {**nnx.state(model)['linear'], 'seen': {'value': [numpy.full(3, at) for at in (0, 1)]}}"  # dropped
_NAMED = "{'model': nnx.state(model), 'run': {'name': 'a run', 'seeds': [7, 2**40]}}"
_NAMED_SAVED = "{'model': nnx.state(saved['model']), 'run': tree['run']}"

#: Conversions that succeed: how the checkpoint was saved, the factory, and where the printed code put what is stored.
CASES = {
    "model": _case("model", "", _MODEL),
    "model, by its factory": _case("model", "model", _MODEL),
    "pure model": _case("pure model", "", _MODEL),
    "optimizer": _case("optimizer", "", _OPTIMIZER),
    "optimizer, by its factory": _case("optimizer", "optimizer", _OPTIMIZER),
    "optimizer, by that of its model": _case("optimizer", "model", _OPTIMIZER),
    "optimizer, by that of a pair": _case("optimizer", "pair", _BOTH),
    "optimizer, split": _case("optimizer", "", _BOTH, *_SPLIT),
    "optimizer, split by its factory": _case("optimizer", "optimizer", _BOTH, *_SPLIT),
    "optimizer, split by that of its model": _case("optimizer", "model", _BOTH, *_SPLIT),
    "optimizer, split by that of a pair": _case("optimizer", "pair", _BOTH, *_SPLIT),
    "pure optimizer": _case("pure optimizer", "", _OPTIMIZER),
    "pure optimizer, by that of a pair": _case("pure optimizer", "pair", _BOTH),
    "pure optimizer, split by its factory": _case("pure optimizer", "optimizer", _BOTH, *_SPLIT),
    "derived": _case("derived", "", _OPTIMIZER),
    "derived, by its factory": _case("derived", "measuring", _OPTIMIZER),
    "derived, by that of its model": _case("derived", "model", _OPTIMIZER),
    "derived, split": _case("derived", "", _BOTH, *_SPLIT),
    "derived, split by its factory": _case("derived", "measuring", _BOTH, *_SPLIT),
    "opt_state": _case("opt_state", "", _OPTIMIZER),
    "opt_state, by a factory": _case("opt_state", "alone", _OPTIMIZER),
    "parts": _case("parts", "", "tree"),
    "parts, by a factory": _case("parts", "parts", "tree", script=True),
    "pure parts": _case("pure parts", "", "tree"),
    "pure parts, by a factory": _case("pure parts", "pure_parts", "tree", script=True),
    "pure parts, by a factory of states": _case("pure parts", "state_parts", "tree"),
    "streams apart, by a factory": _case("streams apart", "streams_apart", "tree", script=True),
    "averaged": _case("averaged", "", "tree"),
    "averaged, by a factory": _case("averaged", "averaged", "tree"),
    "two": _case("two", "", "tree"),
    "two, by a factory": _case("two", "two", _TWO),
    "pure two": _case("pure two", "", "tree"),
    "pure two, by a factory": _case("pure two", "two", _TWO, script=True),
    "trainers": _case("trainers", "", "tree"),
    "trainers, by a factory": _case("trainers", "trainers", _TRAINERS[:-1] + ", 'step': tree['step']}", script=True),
    "in a list": _case("in list", "", "tree"),
    "in a list, by a factory": _case(
        "in list", "in_list", "{'models': [nnx.state(one) for one in saved['models']], 'step': tree['step']}"
    ),
    "items, by a factory": _case("items", "both_trainers", _TRAINERS, items=_ITEMS),
    "items, by a factory of states": _case("items", "states_of_trainers", "{'gen': gen, 'disc': disc}", items=_ITEMS),
    "items with a rename in one": _case(
        "items",
        "renamed_trainers",
        "{'gen': nnx.state(saved['gen']), 'disc': {**(disc := nnx.state(saved['disc'])), 'metrics': disc['measures']}}",
        *("--rename", "metrics=measures"),
        items=_ITEMS,
    ),
    "one of the items": _case("items", "both_trainers", _TRAINERS, "--item", "disc", items=("disc",)),
    "streams alone, by a factory": _case("streams alone", "Dropping", "nnx.state(model)"),
    "sharded, by its factory": _case("sharded", "Sharded", _MODEL, script=True),
    "memory": _case("memory", "", _MODEL),
    "memory, by its factory": _case("memory", "Remembering", _MODEL),
    "pure memory, by its factory": _case("pure memory", "Remembering", _MODEL),
    "noisy": _case("noisy", "Noisy", _MODEL),
    "raw noisy": _case("raw noisy", "Noisy", _MODEL),
    "raw noisy memory": _case("raw noisy memory", "NoisyRemembering", _MODEL),
    "raw model": _case("raw model", "model", _MODEL),
    "raw model without its factory": _case("raw model", "", _MODEL),
    "memory under another name": _case("memory", "Recalling", _RECALLED, "--rename", "memory=recall"),
    "dots and brackets in names": _case(
        "headed",
        "Headed",
        "{'heads': {'a.b': (heads := nnx.state(model)['heads'])['p.q'], 'p.q.r': heads['a_b'], '[y]': heads['[z]']}}",
        *("--rename", "heads.a.b=heads.p.q", "--rename", "heads.p.q.r=heads.a_b", "--rename", "heads.[y]=heads.[z]"),
        script=True,
    ),
    "sown": _case("sown", "sown", f"{{**{_MODEL}, {_SEEN}}}", "--drop", "linear.seen"),
    "named": _case("named", "", "tree"),
    "named, by that of its model": _case("named", "model", _NAMED),
    "named, by a factory": _case("named", "named", _NAMED_SAVED),
    "pure named, by a factory": _case("pure named", "named", _NAMED_SAVED),
    "named parts, by a factory": _case("named parts", "named_parts", "tree"),
    "named items, by a factory": _case("named items", "named", f"{{'state': {_NAMED_SAVED}}}", items=("state",)),
    "at once": _case("at once", "", "tree"),
    "at once, by a pair": _case("at once", "pair", _SAVED, script=True),
    "at once, by a pair with a holder": _case("at once", "pair_with_holder", _SAVED),
    "pure at once, by a pair": _case("pure at once", "pair", _SAVED),
    "at once in a dict, by a dict": _case("at once in a dict", "dict_of_pair", _SAVED),
    "at once in a dict, by a dict with a holder": _case("at once in a dict", "dict_with_holder", _SAVED),
    "at once below a key, by a pair": _case("at once below a key", "pair", "{'state': nnx.state(saved), 'step': 3}"),
    "each at once, by pairs": _case("each at once", "two_pairs", _EACH),
    "each at once, by pairs with holders": _case("each at once", "two_pairs_with_holders", _EACH),
    "pure each at once, by pairs": _case("pure each at once", "two_pairs", _EACH),
    "two optimizers, by pairs": _case("two optimizers", "two_pairs", _HELD),
    "pure two optimizers, by pairs": _case("pure two optimizers", "two_pairs", _HELD),
    "two apart": _case("two apart", "", "tree"),
    "two apart, by a factory": _case("two apart", "two_apart", _TWO),
    "deeper, by a factory": _case("deeper", "two", f"{{'train': {_TWO}, 'step': 3}}"),
    "with its memory, by a holder": _case("with its memory", "dict_with_holder", _SAVED),
    "with its memory, by a pair": _case("with its memory", "dict_of_pair", _SAVED),
    "without keys": _case("without keys", "", _MODEL),
    "without keys, by its factory": _case("without keys", "model", _MODEL),
    "own classes, by the factory of all": _case("own classes", "Prompted", _MODEL),
    "pure own classes, by the factory of all": _case("pure own classes", "Prompted", _MODEL),
    "without adapters, by the factory of all": _case("without adapters", "lora", _MODEL, script=True),
    "without own classes, by the factory of all": _case("without own classes", "Prompted", _MODEL, script=True),
    "items without adapters, by the factory of all": _case(
        "items without adapters", "lora", "{'params': nnx.state(model), 'rngs': {}}", items=("params", "rngs")
    ),
    "adapted, by its factory": _case("adapted", "adapted", _OPTIMIZER),
    "adapted, by that of its model": _case("adapted", "lora", _OPTIMIZER),
    "adapted, split by that of its model": _case("adapted", "lora", _BOTH, *_SPLIT),
    "adapted": _case("adapted", "", _OPTIMIZER),
    "adapted, split": _case("adapted", "", _BOTH, *_SPLIT),
    "prompting, by that of its model": _case("prompting", "Prompted", _OPTIMIZER),
    "joined": _case("joined", "", "tree"),
    "items of all steps": _case("items", "both_trainers", _TRAINERS, "--step", "all", items=_ITEMS),
    "part items": _case("part items", "", "{'params': params, 'rest': rest}", items=("params", "rest")),
    "trained items, without a copy of the model": _case(
        "trained items",
        "dict_of_pair",
        "{'model': nnx.state(saved['model']), "
        "'optimizer': {'model': nnx.state(saved['model']), **nnx.state(saved['optimizer'])}}",
        *("--drop", "model"),
        items=("model", "optimizer"),
    ),
    "averaged items": _case(
        "averaged items",
        "",
        "{'model': nnx.state(model), 'ema': ema, 'settings': settings}",
        items=("model", "ema", "settings"),
    ),
}

#: Conversions that are refused, and what must be said.
REFUSED = {
    "memory that the model lacks": (
        _case("memory", "model", ""),
        ("unknown to the model (2)", "memory.count.value: uint32[]", "memory.key.value: uint32[2]", "will be lost"),
    ),
    "memory beside numbers of keys": (
        _case("raw noisy memory", "Noisy", ""),
        ("unknown to the model (2)", "memory.count.value: uint32[]", "memory.key.value: uint32[2]", "will be lost"),
    ),
    "memory that was renamed": (_case("memory", "Recalling", ""), ("perhaps: --rename memory=recall",)),
    "streams alone": (_case("streams alone", "", ""), ("nothing would be left", "--model")),
    "memory by the factory of a model": (
        _case("opt_state", "model", ""),
        ("this is the state of an optimizer without its model", "leave --model out"),
    ),
    "parameters below a key": (
        _case("parameters below a key", "model", ""),
        ("below 'params' stands a part of the model's state and no RNG state", "leave --model out"),
    ),
    "memory where the factory has a holder": (
        _case("memory first", "holder_first", ""),
        ("an optimizer was saved without its model, at adam", "nnx.Optimizer there"),
    ),
    "a holder where the factory has its memory": (
        _case("counted", "dict_of_pair", ""),
        ("an optimizer was saved with its model, at optimizer", "nnx.ModelAndOptimizer there"),
    ),
    "trained items where the factory has the memory alone": (
        _case("trained items", "dict_of_pair", ""),
        ("item optimizer: ", "an optimizer was saved with its model", "--drop model leaves this copy out"),
    ),
    "a model beside its optimizer": (
        _case("counted", "model", ""),
        ("with {'model': model, 'optimizer': nnx.ModelAndOptimizer(model, tx), 'epoch': …}",),
    ),
    "own classes that cannot be imported": (
        _case("pure own classes", "locally_prompted", ""),
        ("missing in the checkpoint", "leave --model out, and load it with that filter"),
    ),
    "a part by other things than classes": (
        _case("first layer", "model", ""),
        ("missing in the checkpoint", "leave --model out, and load it with that filter"),
    ),
    "parts beside strings and numbers": (
        _case("named parts", "state_parts", ""),
        ("let the factory return the tree that was saved, with run.name, run.seeds.0, run.seeds.1 in it",),
    ),
    "a string that is not stored": (
        _case("model below a key", "named_alone", "", "--allow-missing", "name"),
        ("only arrays and numbers are made anew", "let the factory leave name out"),
    ),
    "names with dots that changed": (_case("headed", "Headed", ""), ("missing in the checkpoint (6)", "--rename")),
    "what was sown": (_case("sown", "sown", ""), ("linear.seen: tuples, as sow records them", "--drop linear.seen")),
    "joined names": (_case("joined", "model", ""), ("joined the names of its state by '.'", "leave --model out")),
    "streams apart": (
        _case("streams apart", "lora", ""),
        ("stored in parts, below params and rngs", "let the factory return"),
    ),
    "parts beside averages": (
        _case("averaged parts", "model", ""),
        ("stored in parts, below averages and batch_stats and params", "let the factory return"),
    ),
    "parts of two models": (
        _case("parts of both", "numbered", ""),
        ("stored in parts, below state.0 and state.1", "let the factory return"),
    ),
    "a tuple where the checkpoint has names": (
        _case("two", "numbered", ""),
        ("the factory returned a list or tuple", "{'dec': …, 'enc': …}"),
    ),
    "models without their optimizers": (
        _case("with its memory", "only_model", ""),
        ("let the factory return the tree that was saved, with optimizer in it",),
    ),
    "items of which one does not fit": (
        _case("items", "two_wrong", ""),
        ("item disc: the checkpoint does not fit the model", "extra.kernel.value"),
    ),
}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return a folder with all layouts, saved by Flax 0.10."""
    folder = tmp_path_factory.mktemp("layouts")
    done = run("0.10", LAYOUTS, "save", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", params=NEW)
def results(request: pytest.FixtureRequest, checkpoints: pathlib.Path) -> dict[str, Any]:
    """Return what became of all cases under a newer Flax."""
    cases = CASES | {name: case for name, (case, _) in REFUSED.items()}
    done = run(request.param, LAYOUTS, "load", checkpoints, input=json.dumps(cases), timeout=1200)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_printed_code_runs(results: dict[str, Any], name: str) -> None:
    result = results[name]
    assert "crash" not in result, result["crash"]
    assert result["exit"] == 0, result["errors"]
    assert "..." not in result["load"]
    assert result["differing"] == [], result["load"]
    assert result.get("differing partially", []) == [], result["partial"]


def test_code_for_all_steps(results: dict[str, Any]) -> None:
    lines = results["items of all steps"]["load"].splitlines()
    assert [line for line in lines if line.startswith("# step")] == [
        "# step 2; step 1 loads in the same way, by its number"
    ]
    assert sum("manager.restore(2," in line for line in lines) == len(_ITEMS)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["script"]])
def test_the_script_writes_the_same(results: dict[str, Any], name: str) -> None:
    assert results[name]["scripted"] == []


def test_what_the_optimizer_trains(results: dict[str, Any]) -> None:
    for name in ("adapted", "adapted, split", "adapted, by that of its model"):
        assert "(model, tx, wrt=nnx.LoRAParam)  # tx" in results[name]["load"], name
    own = results["prompting, by that of its model"]["load"]
    assert "wrt=Prompt)" in own
    assert "import Prompt, Prompted" in own


@pytest.mark.parametrize("name", REFUSED)
def test_refused(results: dict[str, Any], name: str) -> None:
    result = results[name]
    assert "crash" not in result, result["crash"]
    assert result["exit"] == 1
    assert [word for word in REFUSED[name][1] if word not in result["errors"]] == []
    assert not result["written"]


def test_most_layouts_load_without_conversion_too(results: dict[str, Any]) -> None:
    partial = [name for name in CASES if results[name].get("partial")]
    assert len(partial) > 15
    assert "two, by a factory" in partial
    assert not any(name in partial for name in ("two", "parts", "parts, by a factory", "pure parts, by a factory"))

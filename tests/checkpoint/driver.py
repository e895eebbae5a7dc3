"""Convert checkpoints and load them again, in an environment with a new Flax; cases as JSON in, results out.

A case has ``name``, ``source``, ``destination``, ``model`` (a name in models.py, or null) and ``options`` (of the
command). Facts about source and destination are read with Orbax, not with the code that is tested.
"""

import json
import pathlib
import sys
import traceback
from typing import Any

import jax
import models  # type: ignore[import-not-found]
import numpy as np
import optax
import orbax.checkpoint as ocp
from click.testing import CliRunner
from etils import epath  # type: ignore[import-not-found]
from flax import nnx

from nnxmigrate.cli.fix_ckpt import fix_ckpt
from tests.checkpoint.support import fingerprint

SEEDS = "params=0,dropout=1,carry=2"


def arrays(folder: pathlib.Path) -> dict[str, Any]:
    """Return all arrays of an item as NumPy arrays, by name; keys as their data."""
    handler = ocp.PyTreeCheckpointHandler()
    metadata = handler.metadata(epath.Path(folder))
    tree = getattr(metadata, "tree", metadata)
    arguments = jax.tree.map(
        lambda leaf: ocp.RestoreArgs(restore_type=np.ndarray) if hasattr(leaf, "shape") else ocp.RestoreArgs(),
        tree,
        is_leaf=lambda leaf: hasattr(leaf, "shape"),
    )
    restored = handler.restore(epath.Path(folder), args=ocp.args.PyTreeRestore(restore_args=arguments))
    return {name_of(path): np.asarray(leaf) for path, leaf in jax.tree_util.tree_leaves_with_path(restored)}


def live(tree: Any) -> dict[str, Any]:
    """Return all arrays of a tree of states as NumPy arrays, by name; keys as their data."""
    found = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        typed = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        found[name_of(path)] = np.asarray(jax.random.key_data(leaf) if typed else leaf)
    return found


def typed_keys(tree: Any) -> dict[str, bool]:
    """Say which leaves of a tree are typed keys, by name."""
    leaves = {name_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}
    return {
        name: isinstance(leaf, jax.Array) and bool(jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key))
        for name, leaf in leaves.items()
    }


def name_of(path: Any) -> str:
    return ".".join(str(getattr(key, "idx", getattr(key, "key", getattr(key, "name", key)))) for key in path)


def same(one: Any, two: Any) -> bool:
    return bool(one.shape == two.shape and one.dtype == two.dtype and one.tobytes() == two.tobytes())


def convert(case: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one case: what the command said, and what is true of its output."""
    source, destination = case["source"], pathlib.Path(case["destination"])
    before = fingerprint(source)
    arguments = [source, str(destination), "--json", *case["options"]]
    if case["model"]:
        arguments += ["--model", f"{models.__file__}:{case['model']}"]
        arguments += ["--rngs", SEEDS]
    if "reference" in case:
        return executed(arguments, destination, pathlib.Path(case["reference"]))
    run = CliRunner().invoke(fix_ckpt, arguments)
    result: dict[str, Any] = {"exit": run.exit_code, "output": run.stdout, "errors": run.stderr}
    if run.exception and not isinstance(run.exception, SystemExit):
        result["crash"] = "".join(traceback.format_exception(run.exception))
    result["source untouched"] = fingerprint(source) == before
    result["written"] = destination.exists()
    if run.exit_code == 0 and destination.exists():
        result |= truths(case, json.loads(run.stdout), destination)
    return result


def executed(arguments: list[str], destination: pathlib.Path, reference: pathlib.Path) -> dict[str, Any]:
    """Execute the script that the command prints; say whether it writes what the command wrote to ``reference``."""
    run = CliRunner().invoke(fix_ckpt, [one for one in arguments if one != "--json"])
    exec(run.stdout, {"__name__": "__main__"})
    one, two = arrays(destination), arrays(reference)
    differing = [name for name in {*one, *two} if name not in one or name not in two or not same(one[name], two[name])]
    return {"exit": run.exit_code, "leaves": len(one), "differing": differing}


def truths(case: dict[str, Any], said: dict[str, Any], destination: pathlib.Path) -> dict[str, Any]:
    """Check a written checkpoint: kept bytes, names, RNG values, and the printed code that loads it."""
    old: dict[str, Any] = {}
    new: dict[tuple[str | None, str], Any] = {}
    for item in said["items"]:
        if "kept" not in item:
            continue
        names = [name for name in (step_folder(said, item), item["item"]) if name]
        old |= arrays(pathlib.Path(case["source"], *names))
        for part in {kept["item"] for kept in item["kept"]}:
            new |= {(part, name): array for name, array in arrays(folder_of(destination, names, item, part)).items()}
        kept = [(one["item"], one["path"], one["from"]) for one in item["kept"]]
    result: dict[str, Any] = {"kept": all(same(old[source], new[part, path]) for part, path, source in kept)}
    trees = loaded(case, said["load"])
    wanted = {(part, name): array for part, tree in trees.items() for name, array in live(tree).items()}
    result["names"] = sorted(map(str, set(new) ^ set(wanted)))
    result["loaded"] = [str(name) for name, array in wanted.items() if name in new and not close(array, new[name])]
    if case["model"]:
        keys = {name for name, typed in typed_keys(nnx.state(made(case["model"]))).items() if typed}
        filled = {name for tree in trees.values() for name, typed in typed_keys(tree).items() if typed}
        result["untyped"] = [name for name in keys if not at(name, dict.fromkeys(filled))]
        fresh = live(nnx.state(made(case["model"]), nnx.RngState))
        for place, source in models.STORED_AS.get(case["model"], {}).items():
            for name in fresh:
                if name.startswith(f"{place}."):
                    (fresh[name],) = at(source + name.removeprefix(place), old)
        stored = {name: array for (_, name), array in new.items()}
        result["rng"] = [name for name, array in fresh.items() if not any(same(array, one) for one in at(name, stored))]
        result["rng count"] = len(fresh)
    return result


def at(name: str, stored: dict[str, Any]) -> list[Any]:
    """Return what is stored for a leaf of a model: in an optimizer's tree or its own, with `value` or without."""
    bare = name.removesuffix(".value")
    return [
        stored[f"{head}{one}"] for head in ("", "model.", "params.") for one in (name, bare) if head + one in stored
    ]


def close(one: Any, two: Any) -> bool:
    """Compare a value in a program with the stored one, which may be wider than JAX's own types."""
    return bool(one.shape == two.shape and one.tobytes() == two.astype(one.dtype).tobytes())


def folder_of(destination: pathlib.Path, names: list[str], item: dict[str, Any], part: str | None) -> pathlib.Path:
    if part is None:
        return destination.joinpath(*names)
    return destination.joinpath(*names[: len(names) - bool(item["item"])], part)


def step_folder(said: dict[str, Any], item: dict[str, Any]) -> str:
    """Return the name of a step's folder."""
    if item["step"] is None:
        return ""
    found = [path.name for path in pathlib.Path(said["source"]).iterdir() if path.name.split("_")[-1].isdigit()]
    return next(name for name in found if int(name.split("_")[-1]) == item["step"])


def made(name: str) -> Any:
    model = getattr(models, name)(models.new_rngs())
    return model[0] if isinstance(model, tuple) else model


def loaded(case: dict[str, Any], code: str) -> dict[str | None, Any]:
    """Run the code that the command printed; return the trees of what it filled, by part."""
    program: dict[str, Any] = {"MyModel": models.Mlp, "tx": optax.adamw(1e-3)}
    if "nnx.ModelAndOptimizer(model, tx)" in code:
        code = code.replace("(model, tx)", "(model, tx, wrt=nnx.Param)")
    exec(code, program)
    if "tree" in program:
        return {None: program["tree"]}
    split = "nnx.update(model" in code and "nnx.update(optimizer" in code
    filters = () if case["model"] or "--model" in case["options"] else (nnx.Not(nnx.RngState),)
    shape = nnx.to_pure_dict if "to_pure_dict" in code else lambda state: state
    if split:
        return {part: shape(nnx.state(program[part], *filters)) for part in ("model", "optimizer")}
    filled = "optimizer" if "nnx.update(optimizer" in code else "model"
    return {None: shape(nnx.state(program[filled], *filters))}


if __name__ == "__main__":
    results = {}
    for case in json.load(sys.stdin):
        try:
            results[case["name"]] = convert(case)
        except Exception:
            results[case["name"]] = {"crash": traceback.format_exc()}
    json.dump(results, sys.stdout)

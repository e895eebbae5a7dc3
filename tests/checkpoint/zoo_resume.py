"""Convert checkpoints of the zoo and load them with the printed code; cases as JSON in, what their programs do out."""

import contextlib
import json
import pathlib
import sys
import traceback
from typing import Any

import zoo_models as zoo  # type: ignore[import-not-found]
from click.testing import CliRunner

from nnxmigrate.cli.fix_ckpt import fix_ckpt
from tests.checkpoint.support import fingerprint


def resume(case: dict[str, Any], folder: pathlib.Path) -> dict[str, Any]:
    """Convert, load and go on."""
    source, destination = folder / "checkpoint", folder / f"new-{zoo.flax.__version__}"
    before = fingerprint(source)
    arguments = [str(source), str(destination), "--json"]
    names = ["make", case["model"], *([case["optimizer"]] if case["optimizer"] else [])]
    if case["way"] == "split":
        names.append("split")
        arguments += ["--optimizer", "split"]
    if case["way"] != "bare":
        arguments += ["--model", f"{zoo.__file__}:{'__'.join(names)}"]
    run = CliRunner().invoke(fix_ckpt, arguments)
    if run.exit_code:
        crash = "" if isinstance(run.exception, SystemExit) else "".join(traceback.format_exception(run.exception))
        return {"error": f"exit {run.exit_code}: {run.stderr}{crash}"}
    said = json.loads(run.stdout)
    made = load(case, said["load"])
    arrays = zoo.arrays(made)
    forward, losses = zoo.evaluate(made)
    forgotten = zoo.forgetful(load(case, said["load"])) if case.get("forget") else []
    return {
        "partial": partially(case, arguments) if case.get("partial") else None,
        "arrays": arrays,
        "forward": forward,
        "losses": losses,
        "forgotten": forgotten,
        "status": said["status"],
        "untouched": fingerprint(source) == before,
    }


def partially(case: dict[str, Any], arguments: list[str]) -> Any:
    """Load the source itself with the code that ``--check`` prints; return the arrays, or why there is no such code."""
    run = CliRunner().invoke(fix_ckpt, [arguments[0], "--check", *arguments[2:]])
    if run.exit_code not in (0, 1):
        return f"exit {run.exit_code}: {run.stderr}"
    said = json.loads(run.stdout)
    if not said["partial"]:
        return f"no code: {'; '.join(said['reasons'])}"
    return zoo.arrays(load(case, said["partial"]))


def load(case: dict[str, Any], code: str) -> Any:
    """Execute the printed code; return the model, the optimizer or both."""
    program: dict[str, Any] = {"MyModel": lambda rngs: zoo.make(case["model"])}
    with contextlib.redirect_stdout(sys.stderr), _without_mesh():
        exec(code, program)
    made = (program["model"], program["optimizer"]) if case["way"] == "split" else program.get("optimizer")
    return made or program["model"]


def _without_mesh() -> contextlib.AbstractContextManager[None]:
    """Let models with shardings be made on one device, as programs without a mesh do under Flax 0.12."""
    config = zoo.flax.config
    if hasattr(config, "flax_always_shard_variable"):
        return config.temp_flip_flag("always_shard_variable", False)  # type: ignore[no-any-return]
    return contextlib.nullcontext()


if __name__ == "__main__":
    base = pathlib.Path(sys.argv[1])
    results = {}
    for one in json.load(sys.stdin):
        try:
            results[one["name"]] = resume(one, base / one["name"])
        except Exception:
            results[one["name"]] = {"error": traceback.format_exc()}
    print()
    print(json.dumps(results))

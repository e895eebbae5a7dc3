"""Programs that save their state in every way: under Flax 0.10 they save, under newer releases they load.

    python -m tests.checkpoint.layouts save FOLDER
    python -m tests.checkpoint.layouts load FOLDER     cases as JSON in, results out

A case names a layout, a factory of this file (or none), options of the command, and the expression that gives, from
the variables of the printed code, what should have been filled.
"""

import contextlib
import json
import pathlib
import sys
import tempfile
from typing import Any

import flax
import jax
import jax.numpy as jnp
import models  # type: ignore[import-not-found]
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import nnx

Holder: Any = nnx.ModelAndOptimizer if models.NEW else nnx.Optimizer
OPT_STATE: Any = nnx.optimizer.OptState


class Memory(nnx.Module):  # type: ignore[misc]
    """The program's own numbers, which have the names and shapes of a stream's."""

    def __init__(self) -> None:
        self.key = nnx.Variable(jnp.array([5, 6], jnp.uint32))
        self.count = nnx.Variable(jnp.uint32(77))


class Remembering(models.Mlp):  # type: ignore[misc]
    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(rngs)
        self.memory = Memory()


class Recalling(models.Mlp):  # type: ignore[misc]
    """The same under another name."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(rngs)
        self.recall = Memory()


class Shaking(nnx.Module):  # type: ignore[misc]
    """A layer of the program's own, with the streams that it is given or some of its own."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.scale = nnx.Param(jnp.ones(3))
        self.rngs = rngs


class Noisy(nnx.Module):  # type: ignore[misc]
    """Streams wherever a program may hold one."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.cell = nnx.GRUCell(2, 3, rngs=rngs)
        self.linear = nnx.Linear(2, 3, rngs=rngs)
        self.noise = nnx.Rngs(noise=7, more=8)
        self.own = Shaking(nnx.Rngs(shake=9))
        self.shared = Shaking(rngs)
        self.stream = nnx.Rngs(noise=10).noise


class NoisyRemembering(Noisy):
    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(rngs)
        self.memory = Memory()


class Prompt(nnx.Param):  # type: ignore[misc]
    pass


class Codebook(nnx.Variable):  # type: ignore[misc]
    pass


class Usage(Codebook):
    pass


class Prompted(models.Mlp):  # type: ignore[misc]
    """Variables of the program's own classes, derived from Flax's and from each other."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(rngs)
        self.prompt = Prompt(jnp.ones((2, 3)))
        self.codes = Codebook(jnp.ones((4, 2)))
        self.usage = Usage(jnp.ones(4))


def locally_prompted(rngs: nnx.Rngs) -> nnx.Module:
    """The same with a class that no other module can import."""

    class Prompt(nnx.Param):  # type: ignore[misc]
        pass

    made = models.Mlp(rngs)
    made.prompt = Prompt(jnp.ones((2, 3)))
    return made


class Dropping(nnx.Module):  # type: ignore[misc]
    """Nothing but RNG state."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


class Sharded(nnx.Module):  # type: ignore[misc]
    """A Variable with a sharding, which newer releases make in a mesh only."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        kernel = nnx.with_partitioning(nnx.initializers.ones, ("rows", None))
        self.linear = nnx.Linear(2, 3, kernel_init=kernel, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


class Measuring(Holder):  # type: ignore[misc]
    """An optimizer that holds more than its model."""

    def __init__(self, model: nnx.Module, tx: optax.GradientTransformation) -> None:
        self.best = nnx.Variable(jnp.float32(1.5))
        self.metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
        super().__init__(model, tx, **({"wrt": nnx.Param} if models.NEW else {}))


class MeasuringAlone(nnx.Optimizer):  # type: ignore[misc]
    """The same without its model."""

    def __init__(self, model: nnx.Module, tx: optax.GradientTransformation, wrt: Any) -> None:
        self.best = nnx.Variable(jnp.float32(1.5))
        self.metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
        super().__init__(model, tx, wrt=wrt)


class Renaming(Measuring):
    """The same under another name."""

    def __init__(self, model: nnx.Module, tx: optax.GradientTransformation) -> None:
        super().__init__(model, tx)
        self.measures = self.metrics
        del self.metrics


def tx() -> optax.GradientTransformation:
    return optax.adam(1e-2)


def model(rngs: nnx.Rngs) -> nnx.Module:
    return models.Mlp(rngs)


def optimizer(rngs: nnx.Rngs) -> Any:
    return Holder(models.Mlp(rngs), tx(), **({"wrt": nnx.Param} if models.NEW else {}))


def alone(rngs: nnx.Rngs) -> Any:
    return nnx.Optimizer(models.Mlp(rngs), tx(), wrt=nnx.Param)


def pair(rngs: nnx.Rngs) -> Any:
    made = models.Mlp(rngs)
    return made, nnx.Optimizer(made, tx(), wrt=nnx.Param)


def measuring(rngs: nnx.Rngs) -> Any:
    return Measuring(models.Mlp(rngs), tx())


def pure(state: Any) -> Any:
    return nnx.to_pure_dict(state)


def parts(rngs: nnx.Rngs) -> dict[str, Any]:
    _, params, stats, rest = nnx.split(models.Mlp(rngs), nnx.Param, nnx.BatchStat, ...)
    return {"weights": params, "averages": stats, "streams": rest}


def pure_parts(rngs: nnx.Rngs) -> dict[str, Any]:
    made = models.Mlp(rngs)
    return {"params": pure(nnx.state(made, nnx.Param)), "rest": pure(nnx.state(made, nnx.Not(nnx.Param)))}


def state_parts(rngs: nnx.Rngs) -> dict[str, Any]:
    made = models.Mlp(rngs)
    return {"params": nnx.state(made, nnx.Param), "rest": nnx.state(made, nnx.Not(nnx.Param))}


def streams_apart(rngs: nnx.Rngs) -> dict[str, Any]:
    params, streams = nnx.state(models.Lora(rngs), nnx.Param, nnx.RngState)
    return {"params": params, "rngs": streams, "step": 3}


def averaged(rngs: nnx.Rngs) -> dict[str, Any]:
    made = optimizer(rngs)
    states = {"model": nnx.state(made.model), "ema_params": nnx.state(made.model, nnx.Param)}
    return {**states, "opt": nnx.state(made, OPT_STATE)}


def two(rngs: nnx.Rngs) -> dict[str, Any]:
    """Two models that share an ``nnx.Rngs``."""
    return {"enc": models.Mlp(rngs), "dec": models.Lora(rngs)}


def trainers(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"gen": optimizer(rngs), "disc": measuring(rngs), "step": 3}


def in_list(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"models": [models.Mlp(rngs), models.Lora(rngs)], "step": jnp.array(3)}


class Longer(models.Mlp):  # type: ignore[misc]
    def __init__(self, rngs: nnx.Rngs) -> None:
        super().__init__(rngs)
        self.extra = nnx.Linear(3, 2, rngs=rngs)


def two_wrong(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"gen": models.Mlp(rngs), "disc": Longer(rngs)}


def states_of_trainers(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"gen": nnx.state(optimizer(rngs)), "disc": nnx.state(measuring(rngs))}


def lora(rngs: nnx.Rngs) -> nnx.Module:
    return models.Lora(rngs)


def adapted(rngs: nnx.Rngs) -> Any:
    """An optimizer that trains some of the parameters."""
    return Holder(models.Lora(rngs), tx(), wrt=nnx.LoRAParam)


def prompting(rngs: nnx.Rngs) -> Any:
    return Holder(Prompted(rngs), tx(), wrt=Prompt)


def averaged_parts(rngs: nnx.Rngs) -> dict[str, Any]:
    """The parts of a model as a train state has them, with averages and what an optimizer remembers."""
    _, params, stats, rest = nnx.split(models.Mlp(rngs), nnx.Param, nnx.BatchStat, ...)
    memory = tx().init(params)
    return {"params": params, "batch_stats": stats, "rest": rest, "opt_state": memory, "averages": params, "step": 3}


def joined(rngs: nnx.Rngs) -> dict[str, Any]:
    state = pure(nnx.state(models.Mlp(rngs), nnx.Not(nnx.RngState)))
    return {".".join(map(str, path)): value for path, value in nnx.traversals.flatten_mapping(state).items()}


def numbered(rngs: nnx.Rngs) -> Any:
    return models.Mlp(rngs), models.Lora(rngs)


def only_model(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"model": models.Mlp(rngs)}


def first_layer(rngs: nnx.Rngs) -> Any:
    return nnx.state(models.Mlp(rngs), lambda path, _: path[0] == "linear")


def both_trainers(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"gen": optimizer(rngs), "disc": measuring(rngs)}


def renamed_trainers(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"gen": optimizer(rngs), "disc": Renaming(models.Mlp(rngs), tx())}


def at_once(rngs: nnx.Rngs) -> Any:
    """The state of a model and its optimizer, taken together."""
    made = optimizer(rngs)
    return nnx.state((made.model, made))


def at_once_in_a_dict(rngs: nnx.Rngs) -> Any:
    made = optimizer(rngs)
    return nnx.state({"model": made.model, "optimizer": made})


def pair_with_holder(rngs: nnx.Rngs) -> Any:
    made = optimizer(rngs)
    return made.model, made


def dict_with_holder(rngs: nnx.Rngs) -> dict[str, Any]:
    made = optimizer(rngs)
    return {"model": made.model, "optimizer": made}


def dict_of_pair(rngs: nnx.Rngs) -> dict[str, Any]:
    made, its = pair(rngs)
    return {"model": made, "optimizer": its}


def each_at_once(rngs: nnx.Rngs) -> dict[str, Any]:
    """Two models with their optimizers, each two taken together."""
    return {"gen": at_once(rngs), "disc": at_once(nnx.Rngs(8)), "step": 3}


def two_optimizers(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"gen": optimizer(rngs), "disc": optimizer(nnx.Rngs(8)), "step": 3}


def two_pairs(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"gen": pair(rngs), "disc": pair(nnx.Rngs(8)), "step": 3}


def two_pairs_with_holders(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"gen": pair_with_holder(rngs), "disc": pair_with_holder(nnx.Rngs(8)), "step": 3}


def two_apart(rngs: nnx.Rngs) -> dict[str, Any]:
    """Two models that share nothing."""
    return {"enc": models.Mlp(rngs), "dec": models.Lora(nnx.Rngs(8))}


def deeper(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"train": two(rngs), "step": 3}


def with_its_memory(rngs: nnx.Rngs) -> dict[str, Any]:
    """A model beside what its optimizer holds without it."""
    made = optimizer(rngs)
    return {"model": nnx.state(made.model), "optimizer": nnx.state(made, OPT_STATE)}


def memory_first(rngs: nnx.Rngs) -> dict[str, Any]:
    made = optimizer(rngs)
    return {"adam": nnx.state(made, OPT_STATE), "model": nnx.state(made.model)}


def holder_first(rngs: nnx.Rngs) -> dict[str, Any]:
    made = optimizer(rngs)
    return {"adam": made, "model": made.model}


def counted(rngs: nnx.Rngs) -> dict[str, Any]:
    return {**dict_with_holder(rngs), "epoch": 3}


class Headed(nnx.Module):  # type: ignore[misc]
    """Layers whose names have dots and brackets in them, which the newer program has changed."""

    def __init__(self, rngs: nnx.Rngs) -> None:
        names = ("p.q", "a_b", "[z]") if models.NEW else ("a.b", "p.q.r", "[y]")
        self.heads = models.DICT({name: nnx.Linear(2, 3, rngs=rngs) for name in names})
        self.dropout = nnx.Dropout(0.5, rngs=rngs)


def named(rngs: nnx.Rngs) -> dict[str, Any]:
    """A model beside strings and numbers, which are others in the newer program."""
    run = {"name": "new", "seeds": [0, 0]} if models.NEW else {"name": "a run", "seeds": [7, 2**40]}
    return {"model": models.Mlp(rngs), "run": run}


def sown(rngs: nnx.Rngs) -> nnx.Module:
    made = models.Mlp(rngs)
    for step in range(0 if models.NEW else 2):
        made.linear.sow(nnx.Intermediate, "seen", jnp.full(3, step))
    return made


def named_alone(rngs: nnx.Rngs) -> dict[str, Any]:
    return {"weights": nnx.state(models.Mlp(rngs), nnx.Not(nnx.RngState)), "name": "new"}


def named_parts(rngs: nnx.Rngs) -> dict[str, Any]:
    return {**pure_parts(rngs), "run": named(rngs)["run"]}


#: What is saved as one tree, and in which form: states, pure dicts, or states with the numbers of their keys.
LAYOUTS: dict[str, tuple[Any, str]] = {
    "model": (model, "state"),
    "pure model": (model, "pure"),
    "optimizer": (optimizer, "state"),
    "pure optimizer": (optimizer, "pure"),
    "derived": (measuring, "state"),
    "opt_state": (lambda rngs: nnx.state(optimizer(rngs), OPT_STATE), "state"),
    "parts": (parts, "state"),
    "pure parts": (pure_parts, "state"),
    "streams apart": (streams_apart, "state"),
    "averaged": (averaged, "state"),
    "two": (two, "state"),
    "pure two": (two, "pure"),
    "trainers": (trainers, "state"),
    "in list": (in_list, "state"),
    "streams alone": (Dropping, "state"),
    "sharded": (Sharded, "state"),
    "memory": (Remembering, "state"),
    "pure memory": (Remembering, "pure"),
    "noisy": (Noisy, "state"),
    "raw noisy": (Noisy, "raw"),
    "raw noisy memory": (NoisyRemembering, "raw"),
    "raw model": (model, "raw"),
    "at once": (at_once, "state"),
    "pure at once": (at_once, "pure"),
    "at once in a dict": (at_once_in_a_dict, "state"),
    "at once below a key": (lambda rngs: {"state": at_once(rngs), "step": 3}, "state"),
    "each at once": (each_at_once, "state"),
    "pure each at once": (each_at_once, "pure"),
    "two optimizers": (two_optimizers, "state"),
    "pure two optimizers": (two_optimizers, "pure"),
    "two apart": (two_apart, "state"),
    "deeper": (deeper, "state"),
    "with its memory": (with_its_memory, "state"),
    "memory first": (memory_first, "state"),
    "counted": (counted, "state"),
    "parameters below a key": (lambda rngs: {"params": pure(nnx.state(model(rngs), nnx.Param))}, "state"),
    "own classes": (lambda rngs: nnx.state(Prompted(rngs), (Prompt, Codebook)), "state"),
    "pure own classes": (lambda rngs: nnx.state(Prompted(rngs), Prompt), "pure"),
    "without adapters": (lambda rngs: nnx.state(models.Lora(rngs), nnx.Not(nnx.LoRAParam)), "state"),
    "without own classes": (lambda rngs: nnx.state(Prompted(rngs), nnx.Not((Prompt, Codebook))), "state"),
    "adapted": (adapted, "state"),
    "prompting": (prompting, "state"),
    "averaged parts": (averaged_parts, "state"),
    "parts of both": (lambda rngs: {"state": list(nnx.split(numbered(rngs), nnx.Param, ...)[1:])}, "state"),
    "joined": (joined, "state"),
    "first layer": (first_layer, "state"),
    "model below a key": (lambda rngs: {"weights": nnx.state(model(rngs), nnx.Not(nnx.RngState))}, "state"),
    "sown": (sown, "state"),
    "headed": (Headed, "state"),
    "named": (named, "state"),
    "pure named": (named, "pure"),
    "named parts": (named_parts, "state"),
    "without keys": (lambda rngs: nnx.state(model(rngs), nnx.Not(nnx.RngKey)), "state"),
}


def saved(made: Any, form: str) -> Any:
    """Return what a program saves, other values than those it begins with."""
    kinds = (models.nnx.Object,)
    tree = jax.tree.map(
        lambda one: nnx.state(one) if isinstance(one, kinds) else one, made, is_leaf=lambda one: isinstance(one, kinds)
    )
    tree = jax.tree.map(_later, tree)
    if form == "raw":
        return jax.tree.map(_numbers, tree)
    if form == "state":
        return tree
    return jax.tree.map(
        lambda one: pure(one) if isinstance(one, nnx.State) else one,
        tree,
        is_leaf=lambda one: isinstance(one, nnx.State),
    )


def _later(leaf: Any) -> Any:
    return leaf + 1 if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jnp.floating) else leaf


def _numbers(leaf: Any) -> Any:
    """Return a key's numbers, as programs saved them before Orbax knew typed keys."""
    typed = isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if typed else leaf


def save(folder: pathlib.Path) -> None:
    for name, (make, form) in LAYOUTS.items():
        tree = saved(make(models.new_rngs()), form)
        strings = any(isinstance(leaf, str) for leaf in jax.tree.leaves(tree))
        with ocp.PyTreeCheckpointer() if strings else ocp.StandardCheckpointer() as checkpointer:
            checkpointer.save(folder / name, tree)
    tree = saved(both_trainers(models.new_rngs()), "state")
    with ocp.CheckpointManager(folder / "items") as manager:
        items = {name: ocp.args.StandardSave(state) for name, state in tree.items()}
        for step in (1, 2):
            manager.save(step, args=ocp.args.Composite(**items, config=ocp.args.JsonSave({"layers": 2})))
        manager.wait_until_finished()
    with ocp.CheckpointManager(folder / "named items") as manager:
        tree = saved(named(models.new_rngs()), "state")
        manager.save(2, args=ocp.args.Composite(state=ocp.args.PyTreeSave(tree)))
    made = models.Mlp(models.new_rngs())
    split = nnx.split(made, nnx.Param, ...)
    adapted = models.Lora(models.new_rngs())
    filters = (nnx.All(nnx.Param, nnx.Not(nnx.LoRAParam)), nnx.RngState)
    for name, parts in (
        ("items without adapters", {"params": nnx.state(adapted, filters[0]), "rngs": nnx.state(adapted, filters[1])}),
        ("part items", {"params": split[1], "rest": split[2]}),
        ("trained items", dict_with_holder(models.new_rngs())),
        ("averaged items", {"model": nnx.state(made), "ema": nnx.state(made, nnx.Param), "settings": {"rate": 0.5}}),
    ):
        with ocp.CheckpointManager(folder / name) as manager:
            items = {part: ocp.args.StandardSave(saved(state, "state")) for part, state in parts.items()}
            manager.save(2, args=ocp.args.Composite(**items))
            manager.wait_until_finished()


def load(case: dict[str, Any], folder: pathlib.Path, work: pathlib.Path) -> dict[str, Any]:
    """Convert, execute the printed code and say which stored leaves are not in what it filled."""
    from click.testing import CliRunner

    from nnxmigrate.cli.fix_ckpt import fix_ckpt

    source, destination = folder / case["layout"], work / "new"
    arguments = [str(source), "--json", *case["options"]]
    if case["factory"]:
        arguments += ["--model", f"{__file__}:{case['factory']}", "--rngs", "params=0,dropout=1,carry=2"]
    run = CliRunner().invoke(fix_ckpt, [*arguments, str(destination)])
    result: dict[str, Any] = {"exit": run.exit_code, "output": run.stdout, "errors": run.stderr}
    if run.exception and not isinstance(run.exception, SystemExit):
        raise run.exception
    result["written"] = destination.exists()
    if run.exit_code:
        return result
    result["load"] = json.loads(run.stdout)["load"]
    result["differing"] = differing(case, result["load"], source)
    if case["script"]:
        result["scripted"] = scripted([*arguments[:1], *arguments[2:], str(work / "scripted")], destination)
    check = CliRunner().invoke(fix_ckpt, [*arguments, "--check"])
    result["partial"] = json.loads(check.stdout).get("partial")
    if result["partial"]:
        result["differing partially"] = differing(case, result["partial"], source)
    return result


def scripted(arguments: list[str], destination: pathlib.Path) -> list[str]:
    """Execute the script that the command prints; return the names of leaves that it does not write as the command."""
    from click.testing import CliRunner

    from nnxmigrate.cli.fix_ckpt import fix_ckpt
    from tests.checkpoint.driver import arrays, same

    run = CliRunner().invoke(fix_ckpt, [*arguments, "--emit-script"])
    assert run.exit_code == 0, run.stderr
    exec(run.stdout, {"__name__": "__main__"})
    one, two = arrays(destination), arrays(pathlib.Path(arguments[-1]))
    assert one
    return [name for name in {*one, *two} if name not in one or name not in two or not same(one[name], two[name])]


def differing(case: dict[str, Any], code: str, source: pathlib.Path) -> list[str]:
    """Execute printed code; return the names of stored leaves, but for RNG state, that it did not fill."""
    from tests.checkpoint.driver import arrays, live

    mine = MeasuringAlone if "derived from nnx.Optimizer" in code else Measuring
    model = Remembering if "memory" in case["layout"] else models.Lora if "adapt" in case["layout"] else models.Mlp
    program: dict[str, Any] = {"MyModel": model, "MyOptimizer": mine, "tx": tx(), "numpy": np}
    meshless = "in your program's mesh" in code
    with flax.config.temp_flip_flag("always_shard_variable", False) if meshless else contextlib.nullcontext():
        exec(code, program)
    filled = live(eval(case["filled"], program))
    stored: dict[str, Any] = {}
    for item in case["items"]:
        below = arrays(source / "2" / item if item else source)
        stored |= {f"{item}.{name}".removeprefix("."): array for name, array in below.items()}
    ordinary = {name: array for name, array in stored.items() if ".rngs." not in f".{name}."}
    assert ordinary or case["layout"] == "streams alone"
    if case["without value"]:
        filled = {name.removesuffix(".value"): array for name, array in filled.items()}
        ordinary = {name.removesuffix(".value"): array for name, array in ordinary.items()}
    return [name for name, array in ordinary.items() if not np.array_equal(filled.get(name), array)]


def main() -> None:
    folder = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "save":
        save(folder)
        return
    results = {}
    for name, case in json.load(sys.stdin).items():
        with tempfile.TemporaryDirectory() as work:
            try:
                results[name] = load(case, folder, pathlib.Path(work))
            except Exception as error:
                results[name] = {"crash": f"{type(error).__name__}: {error}"}
    print(json.dumps(results))


if __name__ == "__main__":
    main()

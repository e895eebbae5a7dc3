"""Models, optimizers and savers that every Flax from 0.10.0 to 0.12 runs; writes the checkpoints of the zoo.

    python zoo_program.py FOLDER    cases as JSON on standard input; under Flax 0.10

A case trains for three steps, saves, and goes on for five steps whose losses are noted: whoever loads the checkpoint
must see the same. Layers draw no random numbers, for their rates are 0; the program's own streams do.
"""

import json
import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import flax
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import nnx

NEW = tuple(int(part) for part in flax.__version__.split(".")[:2]) >= (0, 11)
LIST = getattr(nnx, "List", list)
X = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(4, 6)
Y = np.sin(X[:, :2] * 3)


class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(6, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.0, rngs=rngs)
        self.other = nnx.Dropout(0.0, rngs=rngs)
        self.last = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.other(self.dropout(nnx.relu(self.norm(self.first(x))))))


class NoBias(nnx.Module):
    """Parameters that are left out: 0.10.0 stores their places."""

    def __init__(self, rngs):
        self.first = nnx.Linear(6, 8, use_bias=False, rngs=rngs)
        self.norm = nnx.LayerNorm(8, use_scale=False, rngs=rngs)
        self.dropout = nnx.Dropout(0.0, rngs=rngs)
        self.last = nnx.Linear(8, 2, use_bias=False, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(self.norm(self.first(x))))


class Attention(nnx.Module):
    def __init__(self, rngs):
        self.attend = nnx.MultiHeadAttention(2, 6, 6, dropout_rate=0.5, deterministic=True, decode=False, rngs=rngs)
        self.last = nnx.Linear(6, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.attend(x[None])[0])


class Recurrent(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 5, rngs=rngs), rngs=rngs)
        self.cell = nnx.GRUCell(5, 5, rngs=rngs)
        self.last = nnx.Linear(5, 2, rngs=rngs)

    def __call__(self, x):
        carry = self.rnn(x.reshape(4, 2, 3))[:, -1]
        return self.last(self.cell(carry, carry)[1])


class Block(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(6, 6, rngs=rngs)
        self.dropout = nnx.Dropout(0.0, rngs=rngs)

    def __call__(self, x):
        return x + self.dropout(nnx.tanh(self.linear(x)))


class Lists(nnx.Module):
    def __init__(self, rngs):
        self.blocks = LIST([Block(rngs) for _ in range(11)])
        self.head = nnx.Sequential(
            nnx.Linear(6, 4, rngs=rngs), nnx.Dropout(0.0, rngs=rngs), nnx.Linear(4, 2, rngs=rngs)
        )

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Stacked(nnx.Module):
    def __init__(self, rngs):
        @nnx.split_rngs(splits=3)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def create(rngs):
            return Block(rngs)

        self.blocks = create(rngs)
        self.last = nnx.Linear(6, 2, rngs=rngs)

    def __call__(self, x):
        kernels, biases = self.blocks.linear.kernel.value, self.blocks.linear.bias.value
        for at in range(3):
            x = x + nnx.tanh(x @ kernels[at] + biases[at])
        return self.last(x)


class OwnNoise(nnx.Module):
    """Streams of the program itself, beside a layer's; resumed noise must not repeat."""

    def __init__(self, rngs):
        self.anoise = nnx.Rngs(noise=7)
        self.dropout = nnx.Dropout(0.0, rngs=rngs)
        self.last = nnx.Linear(6, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(x)) + 0.1 * jax.random.normal(self.anoise.noise(), (1, 2))


class Names(nnx.Module):
    """Misleading names: a layer ``rngs``, a parameter ``value``, data that look like a stream."""

    def __init__(self, rngs):
        self.rngs = nnx.Linear(6, 6, rngs=rngs)
        self.value = nnx.Param(jnp.ones(6))
        self.zpair = Pair()
        self.dropout = nnx.Dropout(0.0, rngs=rngs)
        self.last = nnx.Linear(6, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(self.rngs(x) * self.value.value))


class Pair(nnx.Module):
    def __init__(self):
        self.key = nnx.Variable(jnp.arange(2, dtype=jnp.uint32))
        self.count = nnx.Variable(jnp.array(5, jnp.uint32))


class Half(nnx.Module):
    """Parameters in bfloat16, counters, values that are easily lost, an empty place."""

    def __init__(self, rngs):
        self.first = nnx.Linear(6, 8, param_dtype=jnp.bfloat16, rngs=rngs)
        self.special = nnx.Variable(jnp.array([0.0, -0.0, jnp.nan, jnp.inf, 1e-45], jnp.float32))
        self.calls = nnx.Variable(jnp.array(3, jnp.int32))
        self.nothing = nnx.Variable(None)
        self.dropout = nnx.Dropout(0.0, rngs=rngs)
        self.last = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(self.first(x).astype(jnp.float32)))


class Lora(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.LoRALinear(6, 8, lora_rank=2, rngs=rngs)
        self.dropout = nnx.Dropout(0.0, rngs=rngs)
        self.last = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(self.first(x)))


class Conv(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 3, (3,), rngs=rngs)
        self.embed = nnx.Embed(5, 18, rngs=rngs)
        self.dropout = nnx.Dropout(0.0, rngs=rngs)
        self.last = nnx.Linear(18, 2, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(self.conv(x[..., None]).reshape(4, 18) + self.embed(jnp.arange(4))))


MODELS = {
    one.__name__: one for one in (Mlp, NoBias, Attention, Recurrent, Lists, Stacked, OwnNoise, Names, Half, Lora, Conv)
}

OPTIMIZERS = {
    "sgd": lambda: optax.sgd(0.05),
    "momentum": lambda: optax.sgd(0.05, momentum=0.9),
    "adamw": lambda: optax.adamw(1e-2),
    "chain": lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.linear_schedule(1e-2, 1e-3, 20))),
    "multi": lambda: optax.multi_transform(
        {"a": optax.adam(1e-2), "b": optax.sgd(0.05)}, lambda params: jax.tree.map(lambda _: "a", params)
    ),
    "steps": lambda: optax.MultiSteps(optax.adam(1e-2), 2),
    "injected": lambda: optax.inject_hyperparams(optax.adam)(learning_rate=1e-2),
}


def new_rngs():
    return nnx.Rngs(params=0, dropout=1, carry=2)


def make(model, optimizer="", split=False):
    """Return a model, what 0.10's nnx.Optimizer is now, or a model and the nnx.Optimizer of 0.11."""
    built = MODELS[model](new_rngs())
    if not optimizer:
        return built
    tx = OPTIMIZERS[optimizer]()
    if not NEW:
        return nnx.Optimizer(built, tx)
    if split:
        return built, nnx.Optimizer(built, tx, wrt=nnx.Param)
    return nnx.ModelAndOptimizer(built, tx, wrt=nnx.Param)


def trainer(made):
    """Return a model and the function that makes a step and returns the loss."""
    if isinstance(made, tuple):
        model, optimizer = made
    elif isinstance(made, nnx.Optimizer):
        model, optimizer = made.model, made
    else:
        model, optimizer = made, None

    def loss_of(model):
        return jnp.mean((model(X) - Y) ** 2)

    graddef = nnx.value_and_grad(loss_of)

    def step():
        loss, grads = graddef(model)
        if optimizer is None:  # plain gradient descent, whose only state is the model
            params = nnx.state(model, nnx.Param)
            nnx.update(model, jax.tree.map(lambda p, g: p - 0.05 * g.astype(p.dtype), params, grads))
        elif isinstance(made, tuple):
            optimizer.update(model, grads)
        else:
            optimizer.update(grads)
        return float(loss)

    return model, step


def evaluate(made):
    """Return what the model says and the next five losses."""
    model, step = trainer(made)
    forward = np.asarray(model(X), np.float64).tolist()
    return forward, [step() for _ in range(5)]


def plain(leaf):
    """Return a leaf as NumPy's, keys as their data."""
    typed = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if typed else leaf)


def arrays(state):
    """Return the leaves of a state that are no RNG state, by name."""
    rng = {name(path) for path, _ in jax.tree_util.tree_leaves_with_path(state.filter(nnx.RngState))}
    leaves = jax.tree_util.tree_leaves_with_path(state)
    return {name(path): plain(leaf) for path, leaf in leaves if name(path) not in rng}


def name(path):
    keys = [str(getattr(key, "idx", getattr(key, "key", getattr(key, "name", key)))) for key in path]
    return ".".join(keys[:-1] if keys[-1] == "value" and len(keys) > 1 else keys)


def storable(state):
    """Return what this Orbax can save: before 0.11.7 the data of keys instead of keys."""
    if tuple(int(part) for part in ocp.__version__.split(".")[:3]) >= (0, 11, 7):
        return state
    return jax.tree.map(
        lambda leaf: (
            jax.random.key_data(leaf)
            if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            else leaf
        ),
        state,
    )


def save(path, tree, **options):
    with ocp.Checkpointer(ocp.PyTreeCheckpointHandler(**options)) as checkpointer:
        checkpointer.save(path, args=ocp.args.PyTreeSave(tree))


def standard(path, tree):
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(path, tree)
    getattr(checkpointer, "wait_until_finished", lambda: None)()


def manager(path, **items):
    with ocp.CheckpointManager(path) as found:
        if set(items) == {"default"}:
            found.save(3, args=ocp.args.StandardSave(items["default"]))
        else:
            found.save(3, args=ocp.args.Composite(**{one: ocp.args.StandardSave(tree) for one, tree in items.items()}))
        found.wait_until_finished()


def shared(path, state):
    """Save a state in two items, as programs do with what nnx.split gives."""
    parameters, rest = state.split(nnx.Param, ...)
    manager(path, params=parameters, rest=rest)


SAVERS = {
    "state": standard,
    "pure": lambda path, state: standard(path, nnx.to_pure_dict(state)),
    "pytree": lambda path, state: save(path, state),
    "folders": lambda path, state: save(path, state, use_ocdbt=False),
    "zarr3": lambda path, state: save(path, state, use_zarr3=True),
    "folders-zarr3": lambda path, state: save(path, state, use_ocdbt=False, use_zarr3=True),
    "manager": lambda path, state: manager(path, default=state),
    "composite": lambda path, state: manager(path, state=state, other={"x": np.arange(3)}),
    "shared": shared,
}


def write(case, folder):
    made = make(case["model"], case["optimizer"])
    _, step = trainer(made)
    for _ in range(3):
        step()
    state = nnx.state(made)
    SAVERS[case["saver"]](folder / "checkpoint", storable(state))
    np.savez(
        folder / "arrays.npz",
        **{
            one: array.view(np.uint8).reshape(-1) if array.size else array.ravel()
            for one, array in (
                (one, np.atleast_1d(np.ascontiguousarray(array))) for one, array in arrays(state).items()
            )
        },
    )
    forward, losses = evaluate(made)
    return {"forward": forward, "losses": losses}


if __name__ == "__main__":
    base = pathlib.Path(sys.argv[1]).absolute()
    results = {}
    for case in json.load(sys.stdin):
        folder = base / case["name"]
        folder.mkdir(parents=True)
        try:
            results[case["name"]] = write(case, folder)
        except Exception as error:
            results[case["name"]] = {"error": f"{type(error).__name__}: {error}"[:500]}
        jax.clear_caches()
    json.dump(results, sys.stdout)

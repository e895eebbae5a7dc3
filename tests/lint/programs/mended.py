"""Mistakes with buffers, checkpoints, pytrees and indices that go through several functions, objects and containers."""

from __future__ import annotations

from tests.lint.programs import Pair


def _pair(code: str, text: str, wrong: str, right: str, *, since: str = "0.10") -> Pair:
    """Return a program with a mistake and the one without it, which differ in what stands for ``@@``."""
    return Pair(code, text.replace("@@", wrong), text.replace("@@", right), since)


_RING = """
class Ring:
    def __init__(self, slots):
        self.data = np.zeros((slots, 33, 12), dtype=np.float32)
        self.slots = slots
        self.count = 0

    def write(self, rows):
        place = self.count % self.slots
        self.data[place] = rows
        self.count += 1
        return place

    def on_device(self, place):
        return @@


def fill(ring, rounds):
    kept = []
    for i in range(rounds):
        place = ring.write(np.full((33, 12), float(i)))
        kept.append(ring.on_device(place))
    return kept


print([float(rows.mean()) for rows in fill(Ring(4), 8)])
"""

_STAGE = """
data = np.zeros((4, 33, 12), dtype=np.float32)


def stage(i):
    place = i % 4
    data[place] = float(i)
    return @@


print([float(rows.mean()) for rows in [stage(i) for i in range(8)]])
"""

_GRAPH = """
def padded(targets, size, nodes):
    targets = np.asarray(targets, np.int32)
    rest = size - len(targets)
    return jnp.ones(size), jnp.asarray(np.concatenate([targets, @@]))


class Sum(nnx.Module):
    def __init__(self, nodes):
        self.nodes = nodes

    def __call__(self, values, targets):
        return jnp.zeros(self.nodes).at[targets].add(values, mode="drop")


@nnx.jit
def run(module, values, targets):
    return module(values, targets)


print(run(Sum(3), *padded([0, 1, 1], 5, 3)))
"""

_BEST = """
step = jax.jit(lambda p, lr, v: p - lr * (p - v), donate_argnums=0)


class Fit:
    def __init__(self):
        self.params = jnp.linspace(-1.0, 1.0, 4096)
        self.low = jnp.inf
        self.best = None

    def run(self, *data):
        for i in range(5):
            self.params = step(self.params, 0.5, *data)
            loss = float(jnp.abs(self.params - 0.1 * i).sum())
            if loss < self.low:
                self.low, self.best = loss, @@
        return self.best


print(float(Fit().run(jnp.zeros(4096)).sum()))
"""

_BATCHES = """
def table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(32, 3)).astype(np.float32)
    return rows, rows[:, 0] * rows[:, 1]


def shuffled(rows, goals):
    rng = np.random.default_rng(1)
    order = @order@
    for start in range(0, 32, 8):
        picked = order[start : start + 8]
        yield jnp.asarray(rows[picked]), jnp.asarray(goals[picked])


class Column(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)

    def __call__(self, rows):
        return self.out(rows)


def loss(model, rows, goals):
    made = @@
    return jnp.mean((made - goals) ** 2)


model = Column(nnx.Rngs(0))
for rows, goals in shuffled(*table()):
    print(f"{float(nnx.value_and_grad(loss)(model, rows, goals)[0]):.4f}")
"""

_HEAD_ONLY = """
params = {"body": jnp.ones(3), "head": jnp.ones(3)}


def head(tree):
    return {name: name == "head" for name in tree}


def frozen(tree):
    return {name: name != "head" for name in tree}


def count_frozen(tree):
    return sum(frozen(tree).values())


def build():
    return optax.chain(optax.clip(1.0), @@)


tx = build()
state = tx.init(params)
for _ in range(3):
    grads = jax.grad(lambda p: ((p["body"] * p["head"]) ** 2).sum())(params)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)
print(params["body"])
"""

_RESUME = """
import tempfile

import orbax.checkpoint as ocp


def fresh(tx):
    params = {"w": jnp.ones((4, 1))}
    return {"params": params, "opt": tx.init(params), "step": 0}


def train(tx, state, rounds):
    for _ in range(rounds):
        grads = jax.grad(lambda p: ((x @ p["w"]) ** 2).mean())(state["params"])
        updates, opt = tx.update(grads, state["opt"], state["params"])
        params = optax.apply_updates(state["params"], updates)
        state = {"params": params, "opt": opt, "step": state["step"] + 1}
    return state


class Store:
    def __init__(self, folder):
        self.folder = folder
        self.checkpointer = ocp.@maker@()

    def save(self, state):
        self.checkpointer.save(f"{self.folder}/state", state)
        if hasattr(self.checkpointer, "wait_until_finished"):
            self.checkpointer.wait_until_finished()

    def load(self, template):
        state = self.checkpointer.restore(f"{self.folder}/state"@@)
        assert int(state["step"]) == 2
        return state


tx = optax.adam(0.1)
with tempfile.TemporaryDirectory() as folder:
    store = Store(folder)
    store.save(train(tx, fresh(tx), 2))
    print(int(train(tx, store.load(fresh(tx)), 2)["step"]))
"""

_MANAGER = """
import tempfile

import orbax.checkpoint as ocp


def by_loss(metrics):
    return float(metrics["valid_loss"])


def options():
    return ocp.CheckpointManagerOptions(max_to_keep=2, @@)


with tempfile.TemporaryDirectory() as folder:
    manager = ocp.CheckpointManager(folder, options=options())
    for epoch in range(4):
        metrics = {"valid_loss": [4.0, 3.0, 2.0, 1.0][epoch]}
        manager.save(epoch, args=ocp.args.StandardSave({"w": x}), metrics=metrics)
    manager.wait_until_finished()
    print(sorted(manager.all_steps()))
"""

_POLICY = """
@jax.tree_util.register_pytree_node_class
class Policy:
    def __init__(self, mean, log_std, name="policy"):
        self.mean = mean
        self.log_std = log_std
        self.name = name

    def tree_flatten(self):
        return (self.mean, self.log_std), self.name

    @classmethod
    def tree_unflatten(cls, name, children):
        @@


policy = Policy(jnp.full(2, 5.0), jnp.full(2, -1.0))
print(jax.jit(lambda p: p.mean + jnp.exp(p.log_std))(policy))
"""

_KERNEL = """
class Kernel:
    def __init__(self, raw_scale, raw_width):
        self.scale = @transform@
        self.width = jnp.asarray(raw_width)


def flatten(kernel):
    children = (kernel.scale, kernel.width)
    return children, None


def unflatten(_, children):
    @@


jax.tree_util.register_pytree_node(Kernel, flatten, unflatten)
kernel = Kernel(jnp.float32(-1.0), jnp.float32(0.5))
print(f"{float(jax.tree.map(lambda leaf: leaf, kernel).scale):.4f}")
"""
_PLAIN = "kernel = object.__new__(Kernel)\n    kernel.scale, kernel.width = children\n    return kernel"

_VISITS = """
class Visits:
    def __init__(self, states):
        self.counts = jnp.zeros(states)

    def add(self, states):
        self.counts = self.counts.at[states].@@


def walk(key, start):
    moves = jnp.array([-1, 0, 1])

    def step(state, key):
        chosen = @chosen@
        state = jnp.clip(state + moves[chosen], 0, 8)
        return state, (state, chosen)

    return jax.lax.scan(step, start, jax.random.split(key, 20))


visits = Visits(9)
_, (states, chosen) = walk(jax.random.key(0), jnp.zeros((16,), jnp.int32))
states, chosen = (part.reshape(-1) for part in (states, chosen))
visits.add(states)
print(float(visits.counts.sum()))
"""
_LOST, _ADDED = "set(self.counts[states] + 1)", "add(1)"

_CONFUSION = """
logits = jax.random.normal(jax.random.key(0), (64, 4))
goals = jax.random.randint(jax.random.key(1), (64,), 0, 4)
guesses = jnp.argmax(logits, axis=-1)
table = jnp.zeros((4, 4))
table = table.at[goals, guesses].@@
print(float(table.sum()))
"""

PAIRS = {
    "slots of a buffer refilled": _pair(
        "NNX776", _RING, "jax.device_put(self.data[place])", "jnp.array(self.data[place])"
    ),
    "slots of a buffer refilled, with a name": _pair(
        "NNX776", _RING.replace("return @@", "rows = @@\n        return rows"),
        "jax.device_put(self.data[place], jax.devices()[0])", "jax.device_put(self.data[place].copy())",
    ),
    "module's buffer refilled": _pair("NNX776", _STAGE, "jax.device_put(data[place])", "jnp.array(data[place])"),
    "padding joined": _pair("NNX847", _GRAPH, "np.full(rest, -1, np.int32)", "np.full(rest, nodes, np.int32)"),
    "padding of minus ones": _pair("NNX847", _GRAPH, "-np.ones(rest, np.int32)", "nodes * np.ones(rest, np.int32)"),
    "padding stacked to the side": _pair(
        "NNX847", _GRAPH.replace("concatenate", "hstack"), "np.ones(rest, np.int32) * -1", "np.full(rest, 3)"
    ),
    "padding appended": _pair(
        "NNX847", _GRAPH.replace("concatenate([targets, @@])", "append(targets, @@)"),
        "np.full(rest, fill_value=-1)", "np.full(rest, fill_value=nodes)",
    ),
    "best parameters donated, with data unpacked": _pair("NNX856", _BEST, "self.params", "jnp.copy(self.params)"),
    "best parameters donated in a record": _pair(
        "NNX856", _BEST.replace("return self.best", 'return self.best["params"]'),
        '{"params": self.params}', '{"params": jnp.array(self.params)}',
    ),
    **{
        f"column against shuffled vector, {word}": _pair(
            "NNX800", _BATCHES.replace("@order@", order), "model(rows)", right
        )
        for word, order, right in (
            ("by a generator", "rng.permutation(len(rows))", "model(rows)[:, 0]"),
            ("by numpy", "np.random.RandomState(0).permutation(32)", "model(rows).squeeze(-1)"),
            ("by jax", "jax.random.permutation(jax.random.key(0), 32)", "jnp.squeeze(model(rows), axis=1)"),
            ("by sorting", "np.argsort(rows[:, 2])", "model(rows).reshape(-1)"),
            ("by drawing", "rng.integers(0, 32, size=32)", "model(rows).ravel()"),
        )
    },
    "frozen part counted": _pair(
        "NNX770", _HEAD_ONLY + 'print("frozen:", count_frozen(params))\n',
        "optax.masked(optax.adamw(0.1), head)",
        "optax.masked(optax.adamw(0.1), head), optax.masked(optax.set_to_zero(), frozen)",
    ),
    "frozen part asserted": _pair(
        "NNX770", _HEAD_ONLY + "assert count_frozen(params) == 1\n",
        "optax.masked(optax.sgd(0.1), head)",
        "optax.masked(optax.sgd(0.1), head), optax.masked(optax.set_to_zero(), frozen)",
    ),
    "frozen part reported": _pair(
        "NNX770",
        _HEAD_ONLY + "def main():\n    number = count_frozen(params)\n    print(f'{number} frozen')\n\n\nmain()\n",
        "optax.masked(optax.adam(0.1), head)",
        "optax.masked(optax.adam(0.1), head), optax.masked(optax.set_to_zero(), frozen)",
    ),
    **{
        f"resumed without template, {maker}": _pair(
            "NNX728", _RESUME.replace("@maker@", maker), "", f", {word}template"
        )
        for maker, word in (("StandardCheckpointer", ""), ("PyTreeCheckpointer", "item="))
    },
    "resumed without template, one way of two": _pair(
        "NNX728",
        _RESUME.replace("@maker@", "StandardCheckpointer")
        .replace("    print(int(", "    resumed = store.load(fresh(tx)) if folder else fresh(tx)\n    print(int(")
        .replace("store.load(fresh(tx)), 2", "resumed, 2"),
        "", ", template",
    ),
    "worst checkpoints kept": _pair(
        "NNX774", _MANAGER, "best_fn=by_loss", 'best_fn=by_loss, best_mode="min"'
    ),
    "worst checkpoints kept, with a lambda": _pair(
        "NNX774", _MANAGER, 'best_fn=lambda m: m["valid_loss"]', 'best_fn=lambda m: -m["valid_loss"]'
    ),
    "worst checkpoints kept by a policy": _pair(
        "NNX774", _MANAGER.replace("max_to_keep=2, @@", "preservation_policy=ocp.checkpoint_managers.BestN(@@)"),
        "get_metric_fn=by_loss, n=2", "get_metric_fn=by_loss, n=2, reverse=True",
    ),
    **{
        f"fields that change places, {word}": _pair("NNX775", _POLICY, wrong, right)
        for word, wrong, right in (
            ("by place", "log_std, mean = children\n        return cls(mean, log_std, name)",
             "return cls(*children, name=name)"),
            ("by name", "return cls(mean=children[1], log_std=children[0], name=name)",
             "return cls(mean=children[0], log_std=children[1], name=name)"),
            ("in a new object",
             "new = object.__new__(cls)\n        new.log_std, new.mean = children\n        new.name = name\n"
             "        return new",
             "new = object.__new__(cls)\n        new.mean, new.log_std = children\n        new.name = name\n"
             "        return new"),
        )
    },
    "fields that change places in a dataclass": _pair(
        "NNX775",
        "import dataclasses\n"
        + _POLICY.replace("class Policy:\n    def __init__(self, mean, log_std, name=\"policy\"):\n"
                          "        self.mean = mean\n        self.log_std = log_std\n        self.name = name\n",
                          "@dataclasses.dataclass\nclass Policy:\n    mean: jax.Array\n    log_std: jax.Array\n"
                          "    name: str = 'policy'\n")
        .replace("(self.mean, self.log_std), self.name", "@@, self.name")
        .replace("        @@\n", "        return cls(*children, name)\n"),
        "(self.log_std, self.mean)", "(self.mean, self.log_std)",
    ),
    **{
        f"computed again when rebuilt, {word}": _pair(
            "NNX775", _KERNEL.replace("@transform@", transform), "return Kernel(*children)", _PLAIN
        )
        for word, transform in (
            ("softplus", "jax.nn.softplus(raw_scale)"),
            ("exp", "jnp.exp(jnp.asarray(raw_scale))"),
            ("a factor", "2.0 * raw_scale"),
            ("a small number", "jax.nn.softplus(raw_scale) + 1e-3"),
        )
    },
    "visits counted once": _pair(
        "NNX744", _VISITS.replace("@chosen@", "jax.random.randint(key, state.shape, 0, 3)"), _LOST, _ADDED
    ),
    "visits of one of two choices counted once": _pair(
        "NNX744",
        _VISITS.replace("@chosen@", "jnp.where(jax.random.bernoulli(jax.random.fold_in(key, 1), 0.5, state.shape), "
                        "jax.random.randint(jax.random.fold_in(key, 2), state.shape, 0, 3), "
                        "jnp.argmax(jnp.ones((9, 3))[state], axis=-1))"),
        _LOST, _ADDED,
    ),
    "guesses counted once": _pair(
        "NNX744", _CONFUSION, "set(table[goals, guesses] + 1.0)", "add(1.0)"
    ),
}  # fmt: skip

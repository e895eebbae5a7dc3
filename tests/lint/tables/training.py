"""Training and what belongs to it: gradients, optimizers, modes, metrics, parts of models, copies of states, keys."""

from __future__ import annotations

from tests.lint.tables import Cases

_DROPPING = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.out(self.drop(x))
@nnx.jit
def train_step(net, opt, x):
    grads = nnx.grad(lambda m: m(x).sum())(net)
    opt.update(net, grads)
"""
_MAIN = """\
net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
train_step(net, opt, x)
"""
_HALF = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.{norm}(4, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.norm(self.fc(v)))
@nnx.jit
def train_step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).sum())(net))
net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
rows = jnp.ones((2, 3))
"""
_TWO = """\
other = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
other_optimizer = nnx.Optimizer(other, optax.sgd(0.1), wrt=nnx.Param)
def distance(first, second):
    return ((first(x) - second(x)) ** 2).sum()
"""
_NORMED = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
"""

_SUMMING = """\
def grads_of(net, v):
    return nnx.grad(lambda m: (m(v) ** 2).mean())(net)
@nnx.jit
def fit(net, opt):
    total = jax.tree.map(jnp.zeros_like, grads_of(net, x))
    for i, v in enumerate(batches):
        total = jax.tree.map(jnp.add, total, grads_of(net, v))
        if (i + 1) % 2 == 0:
            opt.update(net, jax.tree.map(lambda g: g / 2, total))  # NNX892
fit(model, optimizer)
"""
_ADDS = "        total = jax.tree.map(jnp.add, total, grads_of(net, v))\n"
_ZEROS = "    total = jax.tree.map(jnp.zeros_like, grads_of(net, x))\n"
_LATER = """\
        if total is None:
            total = grads_of(net, v)
        else:
            total = optax.tree.add(total, grads_of(net, v))
"""
_HELPED = (
    """\
def apply(net, opt, grads, seen):
    opt.update(net, grads)
    return optax.global_norm(seen)
"""
    + _SUMMING
)
_RESET = _SUMMING.replace("  # NNX892", "\n            total = None").replace(_ZEROS, "    total = None\n")

_MESH = """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
"""

_MEASURED = """\
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
def loss_of(net, v):
    return (net(v) ** 2).mean()
def train_step(net, opt, metrics, v):
    loss, grads = nnx.value_and_grad(loss_of)(net, v)
    metrics.update(loss=loss)
    nnx.update(net, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(net, nnx.Param), grads))
def eval_step(net, metrics, v):
    metrics.update(loss=loss_of(net, v))
"""

_CACHED = """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.MultiHeadAttention(2, 4, decode=True, rngs=rngs)
    def init_cache(self, shape):
        self.attention.init_cache(shape)
    def __call__(self, v):
        return self.attention(v)
"""

CASES = {
    "NNX787": Cases(
        bad=(
            """\
def local(w, v):
    return jnp.sum((v @ w) ** 2)
def step(w, v):
    def loss(w):
        return jax.lax.psum(local(w, v), "i")
    grads = jax.grad(loss)(w)
    return jax.lax.psum(grads, "i")  # NNX787
print(jax.pmap(step, axis_name="i", in_axes=(None, 0))(x, jnp.ones((1, 2, 3))))
""",
            """\
def loss(w, v):
    value = jnp.mean((v @ w) ** 2)
    return jax.lax.pmean(value, axis_name="i")
def step(w, v):
    value, grads = jax.value_and_grad(loss)(w, v)
    grads = jax.tree.map(lambda g: jax.lax.psum(g, "i"), grads)  # NNX787
    return value, grads
print(jax.pmap(step, axis_name="i", in_axes=(None, 0))(x, jnp.ones((1, 2, 3))))
""",
            """\
from jax.sharding import PartitionSpec as P
def average(tree, axis):
    return jax.lax.pmean(tree, axis)
def step(w, x, y):
    grads = jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(w)
    return w - 0.1 * average(grads, "data")  # NNX787
def build(mesh):
    return jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P())
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def step(w, x):
    grads = jax.grad(loss)(w, x)
    return jax.lax.pmean(grads, "data")  # NNX787
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def step(w, x):
    value, grads = jax.value_and_grad(loss)(w, x)
    return jax.tree.map(lambda g: jax.lax.pmean(g, "data"), grads)  # NNX787
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
            _MESH
            + """\
def loss(w, x):
    return optax.squared_error(x @ w).mean()
def step(w, x):
    def total(w):
        return loss(w, x)
    grads = jax.grad(total)(w)
    return w - 0.1 * jax.lax.pmean(grads, axis_name="data")  # NNX787
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
            _MESH
            + """\
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=(P(), P()))
def gradients(w, x, y):
    def local(w):
        return jnp.mean((x @ w - y) ** 2)
    value, grads = jax.value_and_grad(local)(w)
    value = jax.lax.pmean(value, "data")
    grads = jax.lax.pmean(grads, "data")  # NNX787
    return value, grads
""",
            _MESH
            + """\
slopes = jax.value_and_grad(lambda w, x: jnp.mean((x @ w) ** 2))
@jax.shard_map(mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
def step(w, x):
    value, grads = slopes(w, x)
    value, grads = jax.lax.pmean((value, grads), "data")  # NNX787
    return grads
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.sum((x @ w) ** 2)
def step(w, x):
    grads = jax.grad(loss)(w, x)
    return jax.tree.map(partial(jax.lax.psum, axis_name="data"), grads)  # NNX787
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def step(w, x):
    return jax.lax.psum(jax.grad(loss)(w, x), "data")  # NNX787
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
        ),
        clean=(
            """\
def loss(w, v):
    return jnp.sum((v @ w) ** 2)
def step(w, v):
    value, grads = jax.value_and_grad(loss)(w, v)
    return jax.lax.psum(value, "i"), jax.lax.psum(grads, "i")
print(jax.pmap(step, axis_name="i", in_axes=(None, 0))(x, jnp.ones((1, 2, 3))))
""",
            """\
def loss(w, v):
    return jax.lax.pmean(jnp.mean((v @ w) ** 2), axis_name="i")
def step(w, v):
    value, grads = jax.value_and_grad(loss)(w, v)
    return value, jax.lax.pmean(grads, "i")
print(jax.pmap(step, axis_name="i", in_axes=(None, 0))(x, jnp.ones((1, 2, 3))))
""",
            """\
def loss(w, v):
    return jax.lax.psum(jnp.sum((v @ w) ** 2), axis_name="i")
def step(w, v):
    value, grads = jax.value_and_grad(loss)(w, v)
    return value, jax.lax.pmean(grads, "i")
print(jax.pmap(step, axis_name="i", in_axes=(None, 0))(x, jnp.ones((1, 2, 3))))
""",
            """\
from jax.sharding import PartitionSpec as P
def average(tree, axis):
    return jax.lax.pmean(tree, axis)
def step(w, x, y):
    loss, grads = jax.value_and_grad(lambda w: average(jnp.mean((jnp.tanh(x @ w) - y) ** 2), "data"))(w)
    return w - 0.1 * grads, loss
def build(mesh):
    return jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=(P(), P()))
print(build)
""",
            _MESH
            + """\
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=(P(), P()))
def gradients(w, x):
    value, grads = jax.value_and_grad(lambda w: jax.lax.pmean(jnp.mean((x @ w) ** 2), "data"))(w)
    return value, grads
gradients(jnp.ones(3), jnp.ones((4, 3)))
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.sum((x @ w) ** 2)
def step(w, x):
    grads = jax.grad(loss)(w, x)
    return jax.lax.psum(grads, "data") / jax.lax.axis_size("data")  # as it was
""",
            _MESH
            + """\
@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P("data")), out_specs=P())
def step(w, x):
    grads = jax.grad(lambda w: jnp.mean((x * w) ** 2))(w)
    return jax.lax.pmean(grads, "data")
step(jnp.ones(4), jnp.ones(4))
""",
            _MESH
            + """\
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
def step(w, x):
    grads = jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w)
    return jax.lax.pmean(grads, "data")  # of a sum, the mean leaves it
step(jnp.ones(3), jnp.ones((4, 3)))
""",
            _MESH
            + """\
def loss(w, x):
    return jax.lax.pmean(jnp.mean((x @ w) ** 2), "data")
def step(w, x):
    grads = jax.grad(loss)(w, x)
    return jax.lax.pmean(grads, "data")
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def step(w, x):
    grads = jax.grad(loss)(w, x)
    return jax.lax.pmean(grads, "data")
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P(), check_vma=False)
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.sum((x @ w) ** 2) / 64
def step(w, x):
    grads = jax.grad(loss)(w, x)
    return jax.lax.pmean(grads, "data")
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def step(w, x):
    w = jax.lax.pcast(w, "data", to="varying")
    grads = jax.grad(loss)(w, x)
    return jax.lax.pmean(grads, "data")
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
            _MESH
            + """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def step(w, x):
    value = loss(w, x)
    return jax.lax.pmean(value, "data")
f = jax.shard_map(step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
""",
        ),
    ),
    "NNX785": Cases(
        bad=(
            """\
MOMENTUM = 0.9
class Norm:
    @staticmethod
    def apply(params, state, v):
        m = jnp.mean(v, axis=0)
        return (v - m) * params["s"], dict(mean=MOMENTUM * state["mean"] + (1 - MOMENTUM) * m)
def net(params, state, v):
    h, norm_state = Norm.apply(params["norm"], state["norm"], v @ params["w"])
    new_state = {"norm": norm_state}
    return h, new_state
def loss(params, state, v):
    out, new = net(params, state, v)
    return jnp.mean(out**2), new
@jit
def step(params, state, v):
    grads, aux = jax.grad(loss, has_aux=True)(params, state, v)  # NNX785
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), state
""",
            """\
def norm(v, stats, train):
    if train:
        mean = v.mean(0)
        return v - mean, {"mean": 0.9 * stats["mean"] + 0.1 * mean}
    return v - stats["mean"], stats
def loss(params, stats, v):
    out, new = norm(v @ params, stats, True)
    return jnp.mean(out**2), new
def step(params, stats, opt_state, tx, v):
    (value, new_stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, v)  # NNX785
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), stats, opt_state
""",
            """\
def forward(params, running, v, train=True):
    h = v @ params
    m = jnp.mean(h, axis=0)
    running = running + 0.1 * (m - running)
    return h - m, running
def loss(params, running, v):
    out, _ = forward(params, running, v, train=True)  # NNX785
    return jnp.mean(out**2)
def step(params, running, opt_state, tx, v):
    grads = jax.grad(loss)(params, running, v)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), running, opt_state
""",
            """\
from typing import NamedTuple
tx = optax.sgd(0.1)
class Stats(NamedTuple):
    mean: jax.Array
def forward(params, stats: Stats, v):
    h = v @ params
    return h - h.mean(0), Stats(mean=0.1 * h.mean(0) + 0.9 * stats.mean)
def loss(params, stats, v):
    out, new = forward(params, stats, v)
    return jnp.mean(out**2), (new, out)
@jit
def step(params, stats, state, v):
    (value, (stats, out)), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, v)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), stats, state
def train(params, stats, state, data):
    for v in data:
        params, _, state = step(params, stats, state, v)  # NNX785
    return params, stats
""",
            """\
class Trainer:
    def _step(self, state, batch_stats, x, y):
        def compute(params):
            variables = {"params": params, "batch_stats": batch_stats}
            out, updates = state.apply_fn(variables, x, mutable=["batch_stats"])
            return jnp.square(out - y).mean(), updates["batch_stats"]
        (loss, new_stats), grads = jax.value_and_grad(compute, has_aux=True)(state.params)  # NNX785
        return state.apply_gradients(grads=grads), batch_stats, loss
""",
            """\
def loss_fn(params, stats, apply, x, y):
    out, mutated = apply({"params": params, "batch_stats": stats}, x, mutable=["batch_stats"])  # NNX785
    return jnp.mean((out - y) ** 2)
def step(params, stats, opt_state, tx, apply, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, stats, apply, x, y)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss
""",
            """\
def loss_fn(params, stats):
    out, new = net.apply({'params': params, 'batch_stats': stats}, x, mutable=['batch_stats'])
    return out.sum(), new
def step(state):
    grads, new = jax.grad(loss_fn, has_aux=True)(state.params, state.stats)  # NNX785
    return state.apply_gradients(grads=grads)
""",
            """\
def loss_fn(params, stats):
    out, new = net.apply({'params': params, 'batch_stats': stats}, x, mutable=['batch_stats'])
    return out.sum(), new
def step(state):
    (loss, new), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params, state.stats)  # NNX785
    return state.apply_gradients(grads=grads)
""",
            """\
def step(state):
    def loss_fn(params):
        out, new = state.apply_fn({'params': params}, x, mutable=['batch_stats'])  # NNX785
        return out.sum()
    return state.apply_gradients(grads=jax.grad(loss_fn)(state.params))
""",
        ),
        clean=(
            """\
def norm(v, stats):
    mean = v.mean(0)
    return v - mean, {"mean": 0.9 * stats["mean"] + 0.1 * mean}
def loss(params, stats, v):
    out, new = norm(v * params, stats)
    return jnp.mean(out**2), new
def step(params, stats, opt_state, tx, v):
    (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, v)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), stats, opt_state
tx = optax.sgd(0.1)
print(step(x, {"mean": 0.0}, tx.init(x), tx, x)[1])
""",
            """\
def forward(params, running, v):  # the averages are made in a pass of their own
    h = v * params
    mean = h.mean(0)
    return h - mean, 0.9 * running + 0.1 * mean
def loss(params, running, v):
    out, _ = forward(params, running, v)
    return jnp.mean(out**2)
def step(params, running, opt_state, tx, v):
    grads = jax.grad(loss)(params, running, v)
    updates, opt_state = tx.update(grads, opt_state)
    _, running = forward(params, running, v)
    return optax.apply_updates(params, updates), running, opt_state
tx = optax.sgd(0.1)
print(step(x, 0.0, tx.init(x), tx, x)[1])
""",
            """\
def loss(params, v):  # what stands beside it is only looked at
    out = v * params
    return jnp.mean(out**2), {"mean": out.mean(), "logits": out}
def step(params, opt_state, tx, v):
    (value, _), grads = jax.value_and_grad(loss, has_aux=True)(params, v)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state
tx = optax.sgd(0.1)
print(step(x, tx.init(x), tx, x)[0])
""",
            """\
def forward(params, running, v):
    h = v * params
    mean = h.mean(0)
    return h - mean, 0.9 * running + 0.1 * mean
def error(params, running, v):
    out, _ = forward(params, running, v)
    return jnp.mean(out**2)
print(error(x, 0.0, x), jax.grad(error)(x, 0.0, x))
""",
            """\
def forward(params, running, v):
    h = v * params
    mean = h.mean(0)
    return h - mean, 0.9 * running + 0.1 * mean
def loss(params, running, v):
    out, new = forward(params, running, v)
    return jnp.mean(out**2), new
def inner_step(params, running, opt_state, tx, v):  # a first try, of which the weights alone are wanted
    (value, _), grads = jax.value_and_grad(loss, has_aux=True)(params, running, v)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates)
tx = optax.sgd(0.1)
print(inner_step(x, 0.0, tx.init(x), tx, x))
""",
            """\
def error(params, stats, apply, x, y):
    out, mutated = apply({"params": params, "batch_stats": stats}, x, mutable=["batch_stats"])
    return jnp.mean((out - y) ** 2)
def sensitivity(params, stats, apply, x, y):
    return jax.grad(error)(params, stats, apply, x, y)
print(sensitivity)
""",
            """\
class Trainer:
    def _step(self, state, batch_stats, x, y):
        def compute(params):
            variables = {"params": params, "batch_stats": batch_stats}
            out, updates = state.apply_fn(variables, x, mutable=["batch_stats"])
            return jnp.square(out - y).mean(), updates["batch_stats"]
        (loss, new_stats), grads = jax.value_and_grad(compute, has_aux=True)(state.params)
        return state.apply_gradients(grads=grads), new_stats, loss
print(Trainer)
""",
            """\
def loss_fn(params, stats):
    out, new = net.apply({'params': params, 'batch_stats': stats}, x, mutable=['batch_stats'])
    return out.sum(), new
def step(state):
    grads, new = jax.grad(loss_fn, has_aux=True)(state.params, state.stats)
    return state.apply_gradients(grads=grads, batch_stats=new['batch_stats'])
""",
            """\
def loss_fn(params, stats):
    out, new = net.apply({'params': params, 'batch_stats': stats}, x, mutable=['batch_stats'])
    return out.sum(), new
def step(state):
    (loss, new), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params, state.stats)
    return state.apply_gradients(grads=grads, **new)
""",
            """\
def step(state):
    def loss_fn(params):
        out, _ = state.apply_fn({'params': params}, x, mutable=['batch_stats'])
        return out.sum()
    return state.apply_gradients(grads=jax.grad(loss_fn)(state.params))
""",
            """\
def step(state):
    def loss_fn(params):
        out, kept = state.apply_fn({'params': params}, x, mutable=['intermediates'])
        return out.sum()
    return state.apply_gradients(grads=jax.grad(loss_fn)(state.params))
""",
            """\
def step(state, other):
    def loss_fn(params):
        out, new = state.apply_fn({'params': params}, x, mutable=['batch_stats'])
        return out.sum(), new
    def other_loss(params):
        out, new = other.apply_fn({'params': params}, x, mutable=['batch_stats'])
        return out.sum()
    grads, new = jax.grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads, batch_stats=new['batch_stats'])
    return state, other.apply_gradients(grads=jax.grad(other_loss)(other.params))
""",
            """\
def warm_up(params, rounds):
    out, new = net.apply(params, x, mutable=['batch_stats'])
    return out
""",
        ),
    ),
    "NNX815": Cases(
        bad=(
            """\
class Mixed(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x, train):
        return self.drop(x, deterministic=not train)
def validate(model, rows):
    return [model(row, train=True).mean() for row in rows]  # NNX815
""",
            _DROPPING
            + """\
@nnx.jit
def pred_step(net, x):
    logits = net(x)  # NNX815
    return logits.argmax(axis=-1), logits
"""
            + _MAIN
            + "first, _ = pred_step(net, x)\n",
            _DROPPING
            + """\
def evaluate(net, x):
    return net(x).mean()  # NNX815
"""
            + _MAIN
            + "print(evaluate(net, x))\n",
            _DROPPING
            + """\
@nnx.jit
def eval_step(net, x):
    return net(x).mean()  # NNX815
"""
            + _MAIN
            + "print(eval_step(net, x))\n",
            _DROPPING
            + """\
class Trainer:
    def __init__(self):
        self.net = Net(nnx.Rngs(0))
        self.opt = nnx.Optimizer(self.net, optax.sgd(0.1), wrt=nnx.Param)
    def fit(self):
        train_step(self.net, self.opt, x)
    def predict(self, x):
        return self.net(x)  # NNX815
trainer = Trainer()
trainer.fit()
print(trainer.predict(x))
""",
            # the mode is set after the predictions, or for an evaluation
            _DROPPING
            + """\
def predict(net, x):
    result = net(x)  # NNX815
    net.train()
    return result
"""
            + _MAIN
            + "print(predict(net, x))\n",
            _DROPPING
            + """\
def evaluate(net, x):
    net.train()
    return net(x).mean()  # NNX815
"""
            + _MAIN
            + "print(evaluate(net, x))\n",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.norm(self.fc(v)))
def predict(net, v):
    net.set_attributes(deterministic=True)  # NNX815
    return net(v)
y = predict(Net(nnx.Rngs(0)), jnp.ones((2, 3)))
""",
            # told by the training before
            _HALF.format(norm="BatchNorm")
            + """\
for _ in range(3):
    train_step(net, opt, rows)
net.set_attributes(deterministic=True)  # NNX815
y = net(rows)
""",
            _HALF.format(norm="BatchNorm")
            + """\
def main(net, opt, rows):
    for _ in range(3):
        net.set_attributes(deterministic=False)
        train_step(net, opt, rows)
        net.set_attributes(deterministic=True)  # NNX815
        print(net(rows))
main(net, opt, rows)
""",
        ),
        clean=(
            """\
class Mixed(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x, train):
        return self.drop(x, deterministic=not train)
def validate(model, rows):
    return [model(row, train=False).mean() for row in rows]
def evaluate_uncertainty(model, row):
    return jnp.stack([model(row, train=True) for _ in range(4)]).std(axis=0)
def evaluate(model, row, both=False):
    if both:
        return model(row, train=True) - model(row, train=False)
    return model(row, train=False)
mixed = Mixed(nnx.Rngs(0))
print(validate(mixed, jnp.ones((2, 3))), evaluate_uncertainty(mixed, jnp.ones(3)).shape)
print(evaluate(mixed, jnp.ones(3)), evaluate(mixed, jnp.ones(3), both=True).shape)
""",
            _DROPPING
            + """\
@nnx.jit
def pred_step(net, x):
    logits = net(x)
    return logits.argmax(axis=-1), logits
"""
            + _MAIN
            + "net.eval()\nfirst, _ = pred_step(net, x)\n",
            """\
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return self.out(self.drop(v, rngs=rngs))
def sample_prediction(net, v, rngs):
    return net(v, rngs)
net, noise = Dropping(nnx.Rngs(0)), nnx.Rngs(dropout=1)
print(nnx.grad(lambda m, noise: m(x, noise).sum())(net, noise)["out"]["bias"])
print(sample_prediction(net, x, noise))
""",
            _DROPPING
            + """\
def evaluate(net, x):
    net.eval()
    return net(x).mean()
"""
            + _MAIN
            + "print(evaluate(net, x))\n",
            _DROPPING
            + """\
def predict_with_dropout(net, x):
    return jnp.stack([net(x) for _ in range(5)]).std(0)
"""
            + _MAIN
            + "print(predict_with_dropout(net, x))\n",
            # what predicts with the model in training mode wants its draws
            _DROPPING
            + """\
def predict_with_spread(net, x):
    net.train()
    results = jnp.stack([net(x) for _ in range(5)])
    return results.mean(0), results.std(0)
"""
            + _MAIN
            + "print(predict_with_spread(net, x))\n",
            _DROPPING
            + """\
def evaluate(net, x):
    return net(x).mean()
"""
            + _MAIN
            + "net.set_attributes(deterministic=True)\nprint(evaluate(net, x))\n",
            """\
def train(net, opt, x):
    opt.update(net, nnx.grad(lambda m: m(x).sum())(net))
def evaluate(net, x):
    return net(x).mean()
train(model, optimizer, x)
print(evaluate(model, x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.norm(self.fc(v)))
def predict(net, v):
    net.set_attributes(deterministic=True, use_running_average=True)
    return net(v)
y = predict(Net(nnx.Rngs(0)), jnp.ones((2, 3)))
""",
            # training goes on, which may want no dropout
            _HALF.format(norm="BatchNorm")
            + """\
for _ in range(3):
    train_step(net, opt, rows)
net.set_attributes(deterministic=True)
for _ in range(3):
    train_step(net, opt, rows)
""",
            _HALF.format(norm="BatchNorm")
            + """\
net.set_attributes(deterministic=True)
for _ in range(3):
    train_step(net, opt, rows)
""",
            _HALF.format(norm="LayerNorm")
            + """\
for _ in range(3):
    train_step(net, opt, rows)
net.set_attributes(deterministic=True)
y = net(rows)
""",
            _HALF.format(norm="BatchNorm")
            + """\
for _ in range(3):
    train_step(net, opt, rows)
net.set_attributes(deterministic=True)
net.norm.set_attributes(use_running_average=True)
y = net(rows)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.LayerNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.norm(self.fc(v)))
def predict(net, v):
    net.set_attributes(deterministic=True)
    return net(v)
y = predict(Net(nnx.Rngs(0)), jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX890": Cases(
        bad=(
            """\
from flax.training.train_state import TrainState
def step(one, two, v):
    def loss(params):
        return jnp.mean((one.apply_fn(params, v) - two.apply_fn(two.params, v)) ** 2)
    def other(params):
        return jnp.mean(two.apply_fn(params, v) ** 2)
    grads = jax.grad(loss)(two.params)
    rest = jax.grad(other)(two.params)
    return one.apply_gradients(grads=grads), two.apply_gradients(grads=rest)  # NNX890
def made(scale):
    params = {"w": jnp.ones(3)}
    return TrainState.create(apply_fn=lambda p, v: v * p["w"], params=params, tx=optax.sgd(scale))
print(step(made(0.1), made(0.2), jnp.ones(3))[0].params)
""",
            """\
def critic_step(critic, actor, optimizer, v):
    def loss(critic):
        return jnp.mean(critic(actor(v)) ** 2)
    grads = nnx.grad(loss)(critic)
    optimizer.update(actor, grads)  # NNX890
""",
            """\
def loss(first, second, v):
    return second(first(v)).mean()
def step(first, second, first_opt, second_opt, v):
    for_second, for_first = nnx.grad(loss, argnums=(0, 1))(first, second, v)
    first_opt.update(first, for_first)  # NNX890
    second_opt.update(second, for_second)  # NNX890
""",
            """\
def critic_loss(actor, critic, v):
    return (critic(actor(v)) ** 2).mean()
@nnx.jit
def update(actor, critic, critic_opt, v):
    loss, grads = nnx.value_and_grad(critic_loss)(actor, critic, v)
    critic_opt.update(critic, grads)  # NNX890
    return loss
""",
            """\
def loss_fn(v, y, net):
    return ((net(v) - y) ** 2).mean()
def train_step(net, opt, v, y):
    loss, grads = nnx.value_and_grad(loss_fn)(v, y, net)
    opt.update(net, grads)  # NNX890
    return loss
""",
            """\
def loss(state0, theta, seen):
    return ((state0 * theta - seen) ** 2).mean()
def fit(state0, theta, seen):
    tx = optax.adam(1e-2)
    opt_state = tx.init(theta)
    both = jax.jit(jax.value_and_grad(loss))
    for _ in range(3):
        value, g = both(state0, theta, seen)
        steps, opt_state = tx.update(g, opt_state)
        theta = optax.apply_updates(theta, steps)  # NNX890
    return theta
""",
            _TWO
            + """\
def step():
    loss, grads = nnx.value_and_grad(distance)(model, other)
    other_optimizer.update(other, grads)  # NNX890
    return loss
""",
            _TWO
            + """\
@nnx.jit
def step(a, b, a_opt, b_opt):
    a_grads = nnx.grad(distance)(a, b)
    b_grads = nnx.grad(distance, argnums=1)(a, b)
    a_opt.update(a, a_grads)
    b_opt.update(b, a_grads)  # NNX890
    return b_grads
step(model, other, optimizer, other_optimizer)
""",
            """\
def batch_loss(batch, net):
    return net(batch).sum()
grad_fn = nnx.jit(nnx.value_and_grad(batch_loss))
def step(net, opt, batch):
    loss, grads = grad_fn(batch, net)
    opt.update(net, grads)  # NNX890
step(model, optimizer, x)
""",
        ),
        clean=(
            """\
from flax.training.train_state import TrainState
def step(one, two, v):
    def loss(params):
        return jnp.mean((one.apply_fn(params, v) - two.apply_fn(two.params, v)) ** 2)
    def other(params):
        return jnp.mean(two.apply_fn(params, v) ** 2)
    grads = jax.grad(loss)(one.params)
    rest = jax.grad(other)(two.params)
    return one.apply_gradients(grads=grads), two.apply_gradients(grads=rest)
def made(scale):
    params = {"w": jnp.ones(3)}
    return TrainState.create(apply_fn=lambda p, v: v * p["w"], params=params, tx=optax.sgd(scale))
print(step(made(0.1), made(0.2), jnp.ones(3))[0].params)
""",
            """\
from flax.training.train_state import TrainState
def step(one, two, v):
    def loss(params):
        return jnp.mean((one.apply_fn(params, v) - two.apply_fn(two.params, v)) ** 2)
    def other(params):
        return jnp.mean(two.apply_fn(params, v) ** 2)
    two = one.replace(params=jax.tree.map(jnp.sin, one.params))
    grads = jax.grad(loss)(two.params)
    rest = jax.grad(other)(two.params)
    return one.apply_gradients(grads=grads), two
def made(scale):
    params = {"w": jnp.ones(3)}
    return TrainState.create(apply_fn=lambda p, v: v * p["w"], params=params, tx=optax.sgd(scale))
print(step(made(0.1), made(0.2), jnp.ones(3))[0].params)
""",
            """\
from flax.training.train_state import TrainState
def step(one, two, v):
    def loss(params):
        return jnp.mean((one.apply_fn(params, v) - two.apply_fn(two.params, v)) ** 2)
    def other(params):
        return jnp.mean(two.apply_fn(params, v) ** 2)
    grads = jax.grad(loss)(two.params)
    rest = jax.grad(other)(two.params)
    return one.apply_gradients(grads=grads), rest
def made(scale):
    params = {"w": jnp.ones(3)}
    return TrainState.create(apply_fn=lambda p, v: v * p["w"], params=params, tx=optax.sgd(scale))
print(step(made(0.1), made(0.2), jnp.ones(3))[0].params)
""",
            """\
def critic_step(critic, actor, optimizer, v):
    def loss(critic):
        return jnp.mean(critic(actor(v)) ** 2)
    grads = nnx.grad(loss)(critic)
    optimizer.update(critic, grads)
critic = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
critic_step(critic, nnx.Linear(3, 3, rngs=nnx.Rngs(1)), nnx.Optimizer(critic, optax.sgd(0.1), wrt=nnx.Param), x)
""",
            """\
class Step:
    def update(self, actor, grads):
        return actor(jnp.ones((2, 3))), grads
def critic_step(critic, actor, step, v):
    def loss(critic):
        return jnp.mean(critic(actor(v)) ** 2)
    return step.update(actor, nnx.grad(loss)(critic))
layer = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
print(critic_step(nnx.Linear(3, 1, rngs=nnx.Rngs(0)), layer, Step(), x)[0].shape)
""",
            """\
def loss(first, second, v):
    return second(first(v)).mean()
def step(first, second, first_opt, second_opt, v):
    value, (for_first, for_second) = nnx.value_and_grad(loss, argnums=(0, 1))(first, second, v)
    first_opt.update(first, for_first)
    second_opt.update(second, for_second)
other = nnx.Linear(3, 3, rngs=nnx.Rngs(5))
step(model, other, optimizer, nnx.Optimizer(other, optax.sgd(0.1), wrt=nnx.Param), x)
""",
            """\
def critic_loss(actor, critic, v):
    return (critic(actor(v)) ** 2).mean()
@nnx.jit
def update(actor, critic, actor_opt, critic_opt, v):
    actor_grads, critic_grads = nnx.grad(critic_loss, argnums=(0, 1))(actor, critic, v)
    actor_opt.update(actor, actor_grads)
    critic_opt.update(critic, critic_grads)
other = nnx.Linear(3, 3, rngs=nnx.Rngs(5))
update(model, other, optimizer, nnx.Optimizer(other, optax.sgd(0.1), wrt=nnx.Param), x)
""",
            """\
def loss_fn(v, y, net):
    return ((net(v) - y) ** 2).mean()
def train_step(net, opt, v, y):
    loss, grads = nnx.value_and_grad(loss_fn, argnums=2)(v, y, net)
    opt.update(net, grads)
    return loss
train_step(model, optimizer, x, x)
""",
            """\
class Log:
    def __init__(self):
        self.seen = []

    def update(self, what, grads):
        self.seen.append((what, grads))
def impact(v, net):
    return net(v).sum()
def sensitivity(net, v, log):
    log.update(net, jax.grad(impact)(v, net))
sensitivity(model, x, Log())
""",
            """\
def loss(state0, theta, seen):
    return ((state0 * theta - seen) ** 2).mean()
def fit(state0, theta, seen):
    tx = optax.adam(1e-2)
    opt_state = tx.init(theta)
    both = jax.jit(jax.value_and_grad(loss, argnums=1))
    for _ in range(3):
        value, g = both(state0, theta, seen)
        steps, opt_state = tx.update(g, opt_state)
        theta = optax.apply_updates(theta, steps)
    return theta
print(fit(x, x, 2 * x))
""",
            _TWO
            + """\
def step():
    loss, grads = nnx.value_and_grad(distance, argnums=1)(model, other)
    other_optimizer.update(other, grads)
    return loss
""",
            _TWO
            + """\
def step():
    loss, grads = nnx.value_and_grad(distance, argnums=(0, 1))(model, other)
    optimizer.update(model, grads[0])
    other_optimizer.update(other, grads[1])
    return loss
""",
            _TWO
            + """\
def step(net):
    frozen = nnx.clone(net)
    grads = nnx.grad(distance)(net, frozen)
    optimizer.update(net, grads)
step(model)
""",
            """\
def batch_loss(batch, net):
    return net(batch).sum()
grad_fn = nnx.jit(nnx.value_and_grad(batch_loss, argnums=nnx.DiffState(1, nnx.Param)))
def step(net, opt, batch):
    loss, grads = grad_fn(batch, net)
    opt.update(net, grads)
step(model, optimizer, x)
""",
        ),
    ),
    "NNX891": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        norm = partial(nnx.BatchNorm, use_running_average=True)  # NNX891
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.norm = norm(3, rngs=rngs)

    def __call__(self, v):
        return self.norm(self.first(v))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, v):
        v = self.norm(v, use_running_average=True)  # NNX891
        return self.drop(v, deterministic=True)  # NNX891
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, use_running_average=True, rngs=rngs)  # NNX891
    def __call__(self, x):
        return self.norm(x)
net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, deterministic=True, rngs=rngs)  # NNX891
    def __call__(self, x):
        return self.drop(x)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        norm = partial(nnx.BatchNorm, momentum=0.9)
        self.first = norm(3, rngs=rngs)
        self.last = nnx.BatchNorm(3, momentum=0.9, use_running_average=True, rngs=rngs)  # NNX891
    def __call__(self, x):
        return self.last(self.first(x))
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, v):
        return self.drop(self.norm(v[None]))

    def predict(self, v):
        return self.drop(self.norm(v[None], use_running_average=True), deterministic=True)
net = Net(nnx.Rngs(0))
net(x)
net.predict(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs, training):
        norm = partial(nnx.BatchNorm, use_running_average=not training)
        self.norm = norm(3, rngs=rngs)

    def __call__(self, v):
        return self.norm(v[None])
Net(nnx.Rngs(0), True)(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, use_running_average=False, rngs=rngs)
    def __call__(self, x):
        return self.norm(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, use_running_average=True, rngs=rngs)
    def __call__(self, x, train=False):
        return self.norm(x, use_running_average=not train)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, deterministic=True, rngs=rngs)
    def __call__(self, x):
        return self.drop(x)
net = Net(nnx.Rngs(0))
net.train()
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, weights, rngs):
        self.norm = nnx.BatchNorm(3, use_running_average=True, rngs=rngs)
        nnx.update(self, weights)  # pretrained
    def __call__(self, x):
        return self.norm(x)
""",
        ),
    ),
    "NNX892": Cases(
        bad=(
            # training and evaluation under one metric, with a reset behind one of the two
            _MEASURED + "for step in range(20):\n    train_step(model, optimizer, metrics, x)\n    if step % 5 == 4:\n"
            "        print(metrics.compute())\n        for v in batches:\n            eval_step(model, metrics, v)\n"
            "        print(metrics.compute())  # NNX892\n        metrics.reset()\n",
            _MEASURED
            + "for epoch in range(3):\n    for v in batches:\n        train_step(model, optimizer, metrics, v)\n"
            "    print(metrics.compute())  # NNX892\n    metrics.reset()\n    for v in batches:\n"
            "        eval_step(model, metrics, v)\n    print(metrics.compute())\n",
            _MEASURED + "def train_epoch(net, opt, metrics, data):\n    metrics.reset()\n    for v in data:\n"
            "        train_step(net, opt, metrics, v)\n    return metrics.compute()\n"
            "def evaluate(net, metrics, data):\n    for v in data:\n        eval_step(net, metrics, v)\n"
            "    return metrics.compute()  # NNX892\n"
            "for epoch in range(3):\n    print(train_epoch(model, optimizer, metrics, batches))\n"
            "    print(evaluate(model, metrics, batches))\n",
            _MEASURED + "class Trainer:\n    def __init__(self):\n"
            "        self.metrics = nnx.MultiMetric(loss=nnx.metrics.Average('loss'))\n"
            "    def train_epoch(self, data):\n        self.metrics.reset()\n        for v in data:\n"
            "            train_step(model, optimizer, self.metrics, v)\n        return self.metrics.compute()\n"
            "    def validate(self, data):\n        for v in data:\n            eval_step(model, self.metrics, v)\n"
            "        return self.metrics.compute()  # NNX892\n    def fit(self):\n        for epoch in range(3):\n"
            "            print(self.train_epoch(batches), self.validate(batches))\nTrainer().fit()\n",
            _MEASURED + "for epoch in range(3):\n    for v in batches:\n"
            "        loss, grads = nnx.value_and_grad(loss_of)(model, v)\n"
            "        optimizer.update(model, grads)  # NNX904\n"
            "        metrics.update(loss=loss)\n    for val_batch in batches:\n"
            "        metrics.update(loss=loss_of(model, val_batch))\n"
            "    print(metrics.compute())  # NNX892\n    metrics.reset()\n",
            """\
def fit(params, loss, tx, st):
    acc = jax.tree.map(jnp.zeros_like, params)
    for i in range(8):
        g = jax.grad(loss)(params, jnp.ones(3))
        acc = jax.tree.map(lambda a, b: a + b, acc, g)
        if (i + 1) % 4 == 0:
            u, st = tx.update(acc, st, params)  # NNX892
            params = optax.apply_updates(params, u)
    return params
""",
            """\
def fit(state, grad_fn, batches, n):
    grad_sum = jax.tree.map(lambda p: jnp.zeros(p.shape), state.params)
    for i, b in enumerate(batches):
        grads = grad_fn(state.params, b)
        grad_sum = optax.tree_utils.tree_add(grad_sum, grads)
        if not (i + 1) % n:
            state = state.apply_gradients(grads=jax.tree.map(lambda x: x / n, grad_sum))  # NNX892
    return state
""",
            """\
@nnx.jit
def train_step(net, opt, metrics, v):
    loss, grads = nnx.value_and_grad(lambda m: (m(v) ** 2).mean())(net)
    metrics.update(loss=loss)
    opt.update(net, grads)
@nnx.jit
def eval_step(net, metrics, v):
    metrics.update(loss=(net(v) ** 2).mean())
train_metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
val_metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
for epoch in range(3):
    for v in batches:
        train_step(model, optimizer, train_metrics, v)  # NNX901
    print(train_metrics.compute())
    train_metrics.reset()
    eval_step(model, val_metrics, x)
    print(val_metrics.compute())  # NNX892
""",
            """\
@nnx.jit
def train_step(net, opt, metrics, v):
    loss, grads = nnx.value_and_grad(lambda m: (m(v) ** 2).mean())(net)
    metrics.update(loss=loss)
    opt.update(net, grads)
@nnx.jit
def eval_step(net, metrics, v):
    metrics.update(loss=(net(v) ** 2).mean())
def run(net, opt):
    train_metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    val_metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    history = []
    for _ in range(3):
        train_metrics.reset()
        for v in batches:
            train_step(net, opt, train_metrics, v)  # NNX901
        eval_step(net, val_metrics, x)
        history.append((train_metrics.compute(), val_metrics.compute()))  # NNX892
    return history
run(model, optimizer)
""",
            """\
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
for epoch in range(3):
    for batch in batches:
        metrics.update(loss=batch.sum())
    print(metrics.compute())  # NNX892
""",
            """\
@nnx.jit
def step(meter, batch):
    meter.update(values=batch)
def train(epochs):
    meter = nnx.metrics.Average()
    for epoch in range(epochs):
        for batch in batches:
            step(meter, batch)
        print(epoch, meter.compute())  # NNX892
train(2)
""",
            """\
class Trainer:
    def __init__(self):
        self.metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    def epoch(self):
        for batch in batches:
            self.metrics.update(loss=batch.sum())
        return self.metrics.compute()  # NNX892
trainer = Trainer()
for _ in range(3):
    print(trainer.epoch())
""",
            # sums of gradients, begun with the first ones or by a helper, of an object
            _SUMMING,
            _SUMMING.replace(_ZEROS, "    total = None\n").replace(_ADDS, _LATER),
            _SUMMING.replace(_ZEROS, "    total = None\n").replace(
                _ADDS, _ADDS.replace("= jax", "= grads_of(net, v) if total is None else jax")
            ),
            _HELPED.replace("opt.update(net, jax", "apply(net, opt, jax").replace("total))", "total), v)"),
            _SUMMING.replace("total", "net.total")
            .replace("jax.tree.map(jnp.zeros_like, grads_of(net, x))", "None")
            .replace("= jax", "= grads_of(net, v) if net.total is None else jax"),
        ),
        clean=(
            # training and evaluation under one metric, with a reset between them, or each with its own
            _MEASURED + "for step in range(20):\n    train_step(model, optimizer, metrics, x)\n    if step % 2:\n"
            "        print(metrics.compute())\n        metrics.reset()\n    if step % 5 == 4:\n"
            "        metrics.reset()\n        for v in batches:\n            eval_step(model, metrics, v)\n"
            "        print(metrics.compute())\n        metrics.reset()\n",
            _MEASURED + "def result(metrics):\n    values = metrics.compute()\n    metrics.reset()\n    return values\n"
            "for epoch in range(3):\n    for v in batches:\n        train_step(model, optimizer, metrics, v)\n"
            "    print(result(metrics))\n    for v in batches:\n        eval_step(model, metrics, v)\n"
            "    print(result(metrics))\n",
            _MEASURED + "def train_epoch(net, opt, metrics, data):\n    for v in data:\n"
            "        train_step(net, opt, metrics, v)\n    values = metrics.compute()\n    metrics.reset()\n"
            "    return values\ndef evaluate(net, metrics, data):\n    metrics.reset()\n    for v in data:\n"
            "        eval_step(net, metrics, v)\n    values = metrics.compute()\n    metrics.reset()\n"
            "    return values\nfor epoch in range(3):\n    print(train_epoch(model, optimizer, metrics, batches))\n"
            "    print(evaluate(model, metrics, batches))\n",
            _MEASURED + "for epoch in range(3):\n    seen = nnx.MultiMetric(loss=nnx.metrics.Average('loss'))\n"
            "    for v in batches:\n        train_step(model, optimizer, metrics, v)\n    for v in batches:\n"
            "        eval_step(model, seen, v)\n    print(metrics.compute(), seen.compute())\n    metrics.reset()\n",
            _MEASURED + "class Trainer:\n    def __init__(self):\n"
            "        self.metrics = nnx.MultiMetric(loss=nnx.metrics.Average('loss'))\n"
            "    def train_epoch(self, data):\n        self.metrics.reset()\n        for v in data:\n"
            "            train_step(model, optimizer, self.metrics, v)\n        return self.metrics.compute()\n"
            "    def validate(self, data):\n        self.metrics.reset()\n        for v in data:\n"
            "            eval_step(model, self.metrics, v)\n"
            "        return self.metrics.compute()\n    def fit(self):\n        for epoch in range(3):\n"
            "            print(self.train_epoch(batches), self.validate(batches))\nTrainer().fit()\n",
            _MEASURED
            + "for epoch in range(3):\n    for v in batches:\n        train_step(model, optimizer, metrics, v)\n"
            "        print('so far', metrics.compute())\n    if epoch == 2:\n        for v in batches:\n"
            "            print('test', loss_of(model, v))\n    print(metrics.compute())\n    metrics.reset()\n",
            """\
tx = optax.sgd(0.1)
params = jnp.ones(3)
st, acc = tx.init(params), jnp.zeros(3)
for i in range(8):
    acc = acc + jax.grad(lambda p: (p**2).sum())(params)
    if (i + 1) % 4 == 0:
        updates, st = tx.update(acc / 4, st)
        params = optax.apply_updates(params, updates)
        acc = jnp.zeros(3)
print(params)
""",
            """\
tx = optax.sgd(0.1)
params = jnp.ones(3)
st, total_grads = tx.init(params), None
for i in range(4):
    grads = jax.grad(lambda p: (p**2).sum())(params)
    total_grads = grads if total_grads is None else jax.tree.map(jnp.add, total_grads, grads)
    if (i + 1) % 2 == 0:
        updates, st = tx.update(total_grads, st)
        params, total_grads = optax.apply_updates(params, updates), None
print(params)
""",
            # one step at the end of each sum
            """\
tx = optax.sgd(0.1)
params = jnp.ones(3)
st = tx.init(params)
for epoch in range(2):
    grad_sum = jnp.zeros(3)
    for i in range(4):
        grad_sum = grad_sum + jax.grad(lambda p: (p**2).sum())(params)
        if i == 3:
            updates, st = tx.update(grad_sum, st)
            params = optax.apply_updates(params, updates)
print(params)
""",
            """\
@nnx.jit
def train_step(net, opt, metrics, v):
    loss, grads = nnx.value_and_grad(lambda m: (m(v) ** 2).mean())(net)
    metrics.update(loss=loss)
    opt.update(net, grads)
@nnx.jit
def eval_step(net, metrics, v):
    metrics.update(loss=(net(v) ** 2).mean())
train_metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
val_metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
for epoch in range(3):
    for v in batches:
        train_metrics.update(loss=v.sum())
    print(train_metrics.compute())
    train_metrics.reset()
    eval_step(model, val_metrics, x)
    print(val_metrics.compute())
    val_metrics.reset()
""",
            """\
@nnx.jit
def train_step(net, opt, metrics, v):
    loss, grads = nnx.value_and_grad(lambda m: (m(v) ** 2).mean())(net)
    metrics.update(loss=loss)
    opt.update(net, grads)
@nnx.jit
def eval_step(net, metrics, v):
    metrics.update(loss=(net(v) ** 2).mean())
def run(net):
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    for number in range(3):
        eval_step(net, metrics, x * number)
        print(metrics.compute())
run(model)
""",
            """\
@nnx.jit
def train_step(net, opt, metrics, v):
    loss, grads = nnx.value_and_grad(lambda m: (m(v) ** 2).mean())(net)
    metrics.update(loss=loss)
    opt.update(net, grads)
@nnx.jit
def eval_step(net, metrics, v):
    metrics.update(loss=(net(v) ** 2).mean())
for epoch in range(3):
    val_metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    for v in batches:
        print(v.sum())
    eval_step(model, val_metrics, x)
    print(val_metrics.compute())
""",
            """\
@nnx.jit
def train_step(net, opt, metrics, v):
    loss, grads = nnx.value_and_grad(lambda m: (m(v) ** 2).mean())(net)
    metrics.update(loss=loss)
    opt.update(net, grads)
@nnx.jit
def eval_step(net, metrics, v):
    metrics.update(loss=(net(v) ** 2).mean())
overall = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
for epoch in range(3):
    total = 0.0
    for v in batches:
        total = total + float(v.sum())
    overall.update(loss=total)
    print(overall.compute())
""",
            """\
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
for epoch in range(3):
    for batch in batches:
        metrics.update(loss=batch.sum())
    print(metrics.compute())
    metrics.reset()
""",
            """\
def evaluate():
    metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
    for batch in batches:
        metrics.update(loss=batch.sum())
    return metrics.compute()
for epoch in range(3):
    print(evaluate())
""",
            """\
running = nnx.metrics.Average()
for batch in batches:
    running.update(values=batch)
    print(running.compute())
""",
            """\
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
for epoch in range(3):
    for batch in batches:
        metrics.update(loss=batch.sum())
print(metrics.compute())
""",
            # sums that begin anew, and one that no optimizer gets
            _RESET.replace(_ADDS, _LATER),
            _RESET.replace(_ADDS, _ADDS.replace("= jax", "= grads_of(net, v) if total is None else jax")),
            _SUMMING.replace("  # NNX892", "").replace(
                _ADDS, _ADDS.replace("= jax", "= grads_of(net, v) if i % 2 == 0 else jax")
            ),
            _SUMMING.replace("  # NNX892", "").replace(
                _ADDS, "        if i % 2 == 0:\n            total = optax.tree.zeros_like(total)\n" + _ADDS
            ),
            _HELPED.replace("  # NNX892", "").replace("opt.update(net, jax", "apply(net, opt, grads_of(net, v), jax"),
        ),
    ),
    "NNX893": Cases(
        bad=(
            """\
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
metrics.update(loss=jnp.ones(3))
found = metrics.compute  # NNX893
print(found["loss"])
""",
            """\
average = nnx.metrics.Average()
average.update(values=jnp.ones(3))
print(f"{average.compute:.3f}")  # NNX893
average.reset  # NNX893
""",
            """\
counted = nnx.metrics.Accuracy()
logits, labels = jnp.ones((2, 3)), jnp.zeros(2, int)
counted.update(logits=labels, labels=logits)  # NNX893
""",
            """\
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
def evaluate(logits, labels):
    metrics.update(logits=logits, labels=labels)  # NNX893
""",
            """\
accuracy = nnx.metrics.Accuracy()
def evaluate(logits):
    accuracy.update(logits=logits)  # NNX893
""",
            """\
@nnx.jit
def step(meter, batch):
    meter.update(values=batch)  # NNX893
def run():
    step(nnx.metrics.Average("loss"), x)
""",
            'metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))\n'
            "def count(logits, labels):\n"
            '    given = {"logits": logits, "labels": labels}\n'
            "    metrics.update(**given)  # NNX893\n",
        ),
        clean=(
            """\
class Loss(nnx.metrics.Average):
    pass
meter = Loss()
meter.update(values=jnp.ones(3))
table = {"value": meter.compute, "again": meter.reset}
print({name: one() for name, one in table.items()})
""",
            """\
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
metrics.update(loss=jnp.ones(3))
ask = metrics.compute
hooks = [metrics.reset]
print(ask()["loss"], metrics.compute().items())
for hook in hooks:
    hook()
""",
            """\
counted = nnx.metrics.Accuracy()
logits, labels = jnp.ones((2, 3)), jnp.zeros(2, int)
label_logits = logits
counted.update(logits=label_logits, labels=labels)
print(counted.compute())
""",
            """\
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
metrics.update(loss=x.sum(), logits=jnp.ones((2, 3)), labels=jnp.zeros(2, jnp.int32))
""",
            """\
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy())
given = {"logits": jnp.ones((2, 3)), "labels": jnp.zeros(2, jnp.int32)}
metrics.update(**given)
""",
            """\
name = "err" + "or"
meter = nnx.metrics.Average(name)
meter.update(error=x)
""",
            """\
meter = nnx.metrics.Average()
meter.update(values=x)
""",
            'metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))\n'
            "def count(logits, labels):\n"
            '    given = {"logits": logits, "labels": labels}\n'
            "    metrics.update(**given, loss=0.5)\n"
            "count(jnp.ones((2, 3)), jnp.array([0, 1]))\n"
            "print(metrics.compute())\n",
        ),
    ),
    "NNX894": Cases(
        bad=(
            """\
def train_step(net, batch):
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)  # NNX894
    grads = nnx.grad(lambda m: m(batch).sum())(net)
    opt.update(net, grads)  # NNX904
for batch in batches:
    train_step(model, batch)
""",
            """\
def train(net):
    for batch in batches:
        opt = nnx.Optimizer(net, optax.sgd(0.1, momentum=0.9), wrt=nnx.Param)  # NNX894
        opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))  # NNX904
train(model)
""",
            """\
class Trainer:
    def __init__(self, net):
        self.net = net
    def step(self, batch):
        opt = nnx.Optimizer(self.net, optax.adamw(1e-3), wrt=nnx.Param)  # NNX894
        opt.update(self.net, nnx.grad(lambda m: m(batch).sum())(self.net))  # NNX904
    def fit(self):
        for batch in batches:
            self.step(batch)
Trainer(model).fit()
""",
            """\
def optimizer_of(net):
    return nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
@nnx.jit
def step(net, opt, batch):
    opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
def fit(net):
    opt = optimizer_of(net)  # NNX894
    for batch in batches:
        step(net, opt, batch)  # NNX901
def run(net):
    for epoch in range(3):
        fit(net)
run(model)
""",
            """\
@nnx.jit
def step(net, opt, batch):
    opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
def run(net, num_epochs):
    for i in range(num_epochs):
        opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)  # NNX894
        for batch in batches:
            step(net, opt, batch)  # NNX901
run(model, 2)
""",
            """\
@nnx.jit
def step(net, opt, batch):
    opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
class Trainer:
    def __init__(self, net):
        self.net = net
    def one_epoch(self):
        self.opt = nnx.Optimizer(self.net, optax.adam(1e-3), wrt=nnx.Param)  # NNX894
        for batch in batches:
            step(self.net, self.opt, batch)  # NNX901
    def fit(self):
        for _ in range(3):
            self.one_epoch()
Trainer(model).fit()
""",
            # a transformation that is handed on
            """\
@nnx.jit
def step(net, opt, batch):
    opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
def train_epoch(net, tx):
    opt = nnx.Optimizer(net, tx, wrt=nnx.Param)  # NNX894
    for batch in batches:
        step(net, opt, batch)  # NNX901
tx = optax.chain(optax.clip(1.0), optax.adam(1e-3))
for epoch in range(3):
    train_epoch(model, tx)
""",
        ),
        clean=(
            # another transformation for every stage
            """\
def train_epoch(net, tx):
    opt = nnx.Optimizer(net, tx, wrt=nnx.Param)
    for batch in batches:
        opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
@nnx.jit
def run(net):
    for tx in (optax.adam(1e-3), optax.adam(1e-4)):
        train_epoch(net, tx)
run(model)
""",
            """\
def train_step(net, batch):
    opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
@nnx.jit
def run(net):
    for batch in batches:
        train_step(net, batch)
run(model)
""",
            """\
def adapt(net, batch):
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    for _ in range(3):
        opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
@nnx.jit
def run(net):
    for batch in batches:
        adapt(net, batch)
run(model)
""",
            """\
def one(net, batch):
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
@nnx.jit
def run(net):
    for batch in batches:
        fast = nnx.clone(net)
        one(fast, batch)
run(model)
""",
            """\
def make(net):
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    print(opt.step)
    return opt
opts = [make(net) for net in (model, nnx.clone(model))]
""",
            # a new model for each of them
            """\
def fit(net):
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    for batch in batches:
        opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
@nnx.jit
def run(rngs):
    for epoch in range(2):
        net = nnx.Linear(3, 3, rngs=rngs)
        fit(net)
run(nnx.Rngs(0))
""",
            # a stage of the training, with another part of the data
            """\
def fit(net, part):
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    for batch in part:
        opt.update(net, nnx.grad(lambda m: m(batch).sum())(net))
@nnx.jit
def run(net):
    for part in (batches, batches):
        fit(net, part)
run(model)
""",
            # a trainer that begins anew
            """\
class Trainer:
    def __init__(self, net):
        self.net = net
    def begin(self):
        self.opt = nnx.Optimizer(self.net, optax.adam(1e-3), wrt=nnx.Param)
    def run(self):
        self.begin()
        for epoch in range(2):
            for batch in batches:
                self.opt.update(self.net, nnx.grad(lambda m: m(batch).sum())(self.net))
@nnx.jit
def run(net):
    Trainer(net).run()
run(model)
""",
        ),
    ),
    "NNX895": Cases(
        bad=(
            """\
chain = nnx.Sequential(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), nnx.BatchNorm(3, rngs=nnx.Rngs(1)))
graphdef, params, stats = nnx.split(chain, nnx.Param, nnx.BatchStat)
again = nnx.merge(graphdef, params)  # NNX895
""",
            """\
class Tower(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)])
    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v
graphdef, params = nnx.split(Tower(nnx.Rngs(0)), nnx.Param)  # NNX895
""",
            _NORMED
            + """\
graphdef, params = nnx.split(Net(nnx.Rngs(0)), nnx.Param)  # NNX895
""",
            _DROPPING
            + """\
def parts(net):
    return nnx.split(net, nnx.Param, nnx.BatchStat)  # NNX895
parts(Net(nnx.Rngs(0)))
""",
            "graphdef, rest, kernels = nnx.split(model, ..., nnx.Param)  # NNX895\n",
            """\
class Block(nnx.Module):
    def __init__(self, rate, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(rate, rngs=rngs)
class Net(nnx.Module):
    def __init__(self, rngs):
        self.one = Block(0.1, rngs)
        self.two = Block(0.3, rngs)
graphdef, params = nnx.split(Net(nnx.Rngs(0)), nnx.Param)  # NNX895
""",
        ),
        clean=(
            """\
chain = nnx.Sequential(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), nnx.relu, nnx.LayerNorm(3, rngs=nnx.Rngs(1)))
graphdef, params = nnx.split(chain, nnx.Param)
print(nnx.merge(graphdef, params)(x).shape)
""",
            """\
norms = [nnx.BatchNorm(3, rngs=nnx.Rngs(1))]
chain = nnx.Sequential(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), *(norms if x.ndim > 3 else []))
graphdef, params = nnx.split(chain, nnx.Param)
print(nnx.merge(graphdef, params)(x).shape)
""",
            _NORMED
            + """\
graphdef, params, stats = nnx.split(Net(nnx.Rngs(0)), nnx.Param, nnx.BatchStat)
""",
            _NORMED
            + """\
graphdef, params, rest = nnx.split(Net(nnx.Rngs(0)), nnx.Param, ...)
""",
            _NORMED
            + """\
params = nnx.state(Net(nnx.Rngs(0)), nnx.Param)
""",
            "graphdef, params = nnx.split(model, nnx.Param)\n",
            """\
class Block(nnx.Module):
    def __init__(self, rate, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(rate, rngs=rngs)
class Net(nnx.Module):
    def __init__(self, rngs):
        self.one = Block(0.1, rngs)
graphdef, params, rest = nnx.split(Net(nnx.Rngs(0)), nnx.Param, ...)
""",
        ),
    ),
    "NNX896": Cases(
        bad=(
            """\
from flax import linen as nn
from flax.traverse_util import flatten_dict
def zeroed(net, variables, v):
    flat = flatten_dict(variables["params"])
    flat[("kernel",)] = flat[("kernel",)] * 0  # NNX896
    return net.apply(variables, v)
""",
            """\
def load(net, weights):
    params = nnx.to_pure_dict(nnx.state(net, nnx.Param))
    params["kernel"] = weights["kernel"]  # NNX896
    return net
""",
            """\
def load(net, weights):
    params = nnx.to_pure_dict(nnx.state(net))
    for path, array in weights.items():
        node = params
        *parents, last = path.split(".")
        for part in parents:
            node = node[part]
        node[last] = array  # NNX896
""",
            """\
from flax import serialization
def load(net, weights):
    params = serialization.to_state_dict(nnx.to_pure_dict(nnx.state(net)))
    for name in weights:
        params[name] = weights[name]  # NNX896
""",
            "from flax import traverse_util\n"
            "def load(net, weights):\n"
            "    graphdef, state = nnx.split(net)\n"
            "    flat = traverse_util.flatten_dict(nnx.to_pure_dict(state))\n"
            "    for name, value in weights.items():\n"
            '        flat[tuple(name.split("."))] = jnp.asarray(value)  # NNX896\n'
            "    return nnx.merge(graphdef, state)\n"
            'print(load(model, {"kernel": np.zeros((3, 3))})(x))\n',
            """\
def load(net, pure):
    graphdef, state = nnx.split(net)
    nnx.replace_by_pure_dict(state, pure)  # NNX896
    return net
net = load(model, nnx.to_pure_dict(nnx.state(model)))
""",
        ),
        clean=(
            """\
from flax import linen as nn
from flax.traverse_util import flatten_dict, unflatten_dict
def zeroed(net, variables, v):
    flat = flatten_dict(variables["params"])
    flat[("kernel",)] = flat[("kernel",)] * 0
    return net.apply({"params": unflatten_dict(flat)}, v)
net = nn.Dense(2)
print(zeroed(net, net.init(jax.random.key(0), jnp.ones((2, 3))), jnp.ones((2, 3))).shape)
""",
            """\
def load(net, weights):
    params = nnx.to_pure_dict(nnx.state(net, nnx.Param))
    params["kernel"] = weights["kernel"]
    nnx.update(net, params)
    return net
load(model, {"kernel": jnp.ones((3, 3))})
""",
            """\
def edited(net, weights):
    params = nnx.to_pure_dict(nnx.state(net, nnx.Param))
    params["kernel"] = weights["kernel"]
    return params
edited(model, {"kernel": jnp.ones((3, 3))})
""",
            """\
def looked(net):
    params = nnx.to_pure_dict(nnx.state(net, nnx.Param))
    print(params["kernel"].shape)
looked(model)
""",
            """\
class Holder:
    def load(self, net, weights):
        params = nnx.to_pure_dict(nnx.state(net, nnx.Param))
        params["kernel"] = weights["kernel"]
        self.params = params
Holder().load(model, {"kernel": jnp.ones((3, 3))})
""",
            "from flax import traverse_util\n"
            "def load(net, weights):\n"
            "    graphdef, state = nnx.split(net)\n"
            "    flat = traverse_util.flatten_dict(nnx.to_pure_dict(state))\n"
            "    for name, value in weights.items():\n"
            '        flat[tuple(name.split("."))] = jnp.asarray(value)\n'
            "    nnx.replace_by_pure_dict(state, traverse_util.unflatten_dict(flat))\n"
            "    return nnx.merge(graphdef, state)\n"
            'print(load(model, {"kernel": np.zeros((3, 3))})(x))\n',
            """\
def load(net, pure):
    graphdef, state = nnx.split(net)
    nnx.replace_by_pure_dict(state, pure)
    return nnx.merge(graphdef, state)
def filled(state, pure):
    nnx.replace_by_pure_dict(state, pure)
def load_into(net, pure):
    state = nnx.state(net)
    nnx.replace_by_pure_dict(state, pure)
    nnx.update(net, state)
pure = nnx.to_pure_dict(nnx.state(model))
net = load(model, pure)
load_into(model, pure)
""",
        ),
    ),
    "NNX897": Cases(
        bad=(
            """\
def noisy(state, v):
    new_key, draw = jax.random.split(state.key)  # NNX897
    return state._replace(total=state.total + jax.random.normal(draw) * v)
""",
            """\
def kept(state, v):
    return state._replace(total=state.total + v)
def noisy(state):
    rng, draw = jax.random.split(state.rng)  # NNX897
    return kept(state, jax.random.normal(draw)), 0
""",
            """\
class NoisyLinear(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 2, rngs=rngs)
        self.key = rngs.noise()
        self.sigma = 0.5
    def __call__(self, v):
        w_noise = jax.random.normal(self.key, self.linear.kernel.shape)  # NNX897
        return self.linear(v) + self.sigma * (v @ w_noise)
""",
            """\
class Explorer:
    def __init__(self, seed):
        self.key, self.epsilon = jax.random.key(seed), 0.1
    def act(self, values):
        if jax.random.uniform(self.key) < self.epsilon:  # NNX897
            return 0
        return values.argmax()
explorer = Explorer(0)
print([explorer.act(one) for one in batches])
""",
            """\
from flax import linen as nn
class Blurred(nn.Module):
    key: jax.Array
    @nn.compact
    def __call__(self, v):
        noise = jax.random.normal(self.key, (3,))  # NNX897
        return v + noise
blurred = Blurred(key=jax.random.key(0))
print(blurred.apply({}, x), blurred.apply({}, 2 * x))
""",
            """\
class Runner:
    def __init__(self, seed):
        self.random_key = jax.random.key(seed)
    def run(self, v, count):
        rng, *rest = jax.random.split(self.random_key, count + 1)  # NNX897
        for key in rest:
            v = v + jax.random.normal(key, v.shape)
        return v
runner = Runner(0)
print([runner.run(one, 2) for one in batches])
""",
            """\
class Noise(nnx.Module):
    def __init__(self, rngs):
        self.key = rngs.noise()
    def __call__(self, x):
        return x + jax.random.normal(self.key, x.shape)  # NNX897
""",
            """\
class Agent:
    def __init__(self, seed):
        self.rng = jax.random.key(seed)
    def act(self, logits):
        return jax.random.categorical(self.rng, logits)  # NNX897
""",
            """\
class Mask(nnx.Module):
    def __init__(self, key, rate):
        self.noise_key, self.rate = jax.random.fold_in(key, 1), rate
    def __call__(self, x):
        shape = x.shape
        return x * jax.random.bernoulli(self.noise_key, self.rate, shape)  # NNX897
""",
            "import dataclasses\n"
            "@dataclasses.dataclass\n"
            "class Augment:\n"
            "    strength: float\n"
            "    key: jax.Array = dataclasses.field(default_factory=lambda: jax.random.key(0))\n"
            "    def jitter(self, images):\n"
            "        return images + self.strength * jax.random.normal(self.key, images.shape)  # NNX897\n"
            "augment = Augment(0.1)\n"
            "print([augment.jitter(one) for one in batches])\n",
        ),
        clean=(
            """\
from typing import NamedTuple
class State(NamedTuple):
    key: jax.Array
    total: jax.Array
def noisy(state, v):
    new_key, draw = jax.random.split(state.key)
    state = state._replace(total=state.total + jax.random.normal(draw) * v)
    return state._replace(key=new_key)
print(noisy(State(key, jnp.zeros(())), 1.0).total)
""",
            """\
from typing import NamedTuple
class State(NamedTuple):
    key: jax.Array
    total: jax.Array
def noisy(state, v):
    _, draw = jax.random.split(state.key)
    return state._replace(total=state.total + jax.random.normal(draw) * v)
state = State(key, jnp.zeros(()))
for i in range(2):
    state = noisy(state._replace(key=jax.random.fold_in(key, i)), 1.0)
print(state.total)
""",
            """\
from typing import NamedTuple
class State(NamedTuple):
    key: jax.Array
    total: jax.Array
def renewed(state, fresh):
    return state._replace(total=state.total + 1.0, key=fresh)
def noisy(state):
    rest, draw = jax.random.split(state.key)
    return renewed(state, draw)
print(noisy(State(key, jnp.zeros(()))).total)
""",
            """\
class Trainer:
    def __init__(self, seed):
        self.rng = jax.random.key(seed)
    def train(self, steps):
        rng, data_rng = jax.random.split(self.rng)
        print(jax.random.permutation(data_rng, 3))
        for step in range(steps):
            print(step)
def main(kind=Trainer):
    kind(0).train(3)
main()
""",
            """\
class RandomFeatures(nnx.Module):
    def __init__(self, rngs):
        self.key, self.width = rngs.noise(), 4
    def __call__(self, v):
        noise = jax.random.normal(self.key, (3, self.width))
        return jnp.cos(v @ noise)
features = RandomFeatures(nnx.Rngs(0))
print(features(x), features(2 * x))
""",
            '''\
class Antithetic:
    """Adds the same noise to all inputs, so that their results can be compared."""
    def __init__(self, seed):
        self.noise_key = jax.random.key(seed)
    def __call__(self, v):
        noise = jax.random.normal(self.noise_key, (3,))
        return v + noise, v - noise
print([Antithetic(0)(one) for one in batches])
''',
            """\
class Projected(nnx.Module):
    def __init__(self, rngs):
        self.key = rngs.params()
    def __call__(self, v):
        w = jax.random.orthogonal(self.key, 3)
        return v @ w
print(Projected(nnx.Rngs(0))(x))
""",
            """\
class Dithered(nnx.Module):
    def __init__(self, rngs):
        self.key, self.count = rngs.noise(), nnx.Variable(jnp.array(0))
    def __call__(self, v):
        self.count[...] += 1
        noise = jax.random.normal(jax.random.fold_in(self.key, self.count[...]), (3,))
        return v + noise
print(Dithered(nnx.Rngs(0))(x))
""",
            """\
class Runner:
    def __init__(self, seed):
        self.random_key = jax.random.key(seed)
    def run_loop(self, v, count):
        rng, _ = jax.random.split(self.random_key)
        for _ in range(count):
            rng, draw = jax.random.split(rng)
            v = v + jax.random.normal(draw, v.shape)
        return v
def experiment(kind, runner):
    if kind == "short":
        return runner.run_loop(x, 1)
    else:
        return runner.run_loop(x, 3)
print(experiment("short", Runner(0)))
""",
            """\
class Trainer:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
        self.model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    def run(self, v):
        key, first = jax.random.split(self.key)
        for _ in range(2):
            key, draw = jax.random.split(key)
            v = v + jax.random.normal(draw, v.shape)
        return self.model(v + jax.random.normal(first, v.shape))
def main():
    trainer = Trainer(3)
    print(trainer.run(x))
main()
""",
            """\
class Tasks:
    def __init__(self, count, rng):
        self.count, self.fixed_rng = count, rng
    def __iter__(self):
        for rng in jax.random.split(self.fixed_rng, self.count):
            yield jax.random.normal(rng, (2,))
for task in Tasks(2, jax.random.key(0)):
    print(task)
""",
            """\
class Noise(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
    def __call__(self, x):
        return x + jax.random.normal(self.rngs.noise(), x.shape)
Noise(nnx.Rngs(0))(x)
""",
            """\
class Agent:
    def __init__(self, seed):
        self.rng = jax.random.key(seed)
    def act(self, logits):
        self.rng, own = jax.random.split(self.rng)
        return jax.random.categorical(own, logits)
Agent(0).act(x)
""",
            """\
class Features(nnx.Module):
    def __init__(self, width, rngs):
        self.key, self.width = rngs.noise(), width
    def __call__(self, x):
        return x @ jax.random.normal(self.key, (3, self.width))
Features(2, nnx.Rngs(0))(x)
""",
            """\
class Sampler:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
    def sample(self, logits, step):
        return jax.random.categorical(jax.random.fold_in(self.key, step), logits)
Sampler(0).sample(x, 3)
""",
            """\
class Trainer:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
    def train(self, steps):
        k, sub = jax.random.split(self.key)
        for _ in range(steps):
            k, sub = jax.random.split(k)
            yield jax.random.normal(sub)
y = list(Trainer(0).train(3))
""",
            "import dataclasses\n"
            "@dataclasses.dataclass\n"
            "class Augment:\n"
            "    strength: float\n"
            "    key: jax.Array = dataclasses.field(default_factory=lambda: jax.random.key(0))\n"
            "    def jitter(self, images):\n"
            "        self.key, sub = jax.random.split(self.key)\n"
            "        return images + self.strength * jax.random.normal(sub, images.shape)\n"
            "augment = Augment(0.1)\n"
            "print([augment.jitter(one) for one in batches])\n",
        ),
    ),
    "NNX898": Cases(
        bad=(
            # methods that make the cache, and that nobody calls
            _CACHED.replace("decode=True, rngs=rngs)", "decode=True, rngs=rngs)  # NNX898")
            + "net = Decoder(nnx.Rngs(0))\nprint(net(jnp.ones((1, 1, 4))))\n",
            _CACHED.replace("decode=True, rngs=rngs)", "decode=True, rngs=rngs)  # NNX898").replace(
                "def init_cache", "def reset"
            )
            + "class LM(nnx.Module):\n    def __init__(self, rngs):\n        self.net = Decoder(rngs)\n"
            "    def init_cache(self, shape):\n        self.net.attention.init_cache(shape)\n"
            "    def __call__(self, v):\n        return self.net(v)\n"
            "def generate(lm):\n    return lm(jnp.ones((1, 1, 4)))\nprint(generate(LM(nnx.Rngs(0))))\n",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.MultiHeadAttention(2, 4, decode=True, rngs=rngs)  # NNX898
""",
            "attention = nnx.MultiHeadAttention(num_heads=2, in_features=4, decode=True, rngs=nnx.Rngs(0))  # NNX898\n",
            """\
from flax.nnx import MultiHeadAttention
def make(rngs):
    return MultiHeadAttention(2, 4, rngs=rngs, decode=True)  # NNX898
""",
            "class Decoder(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        given = dict(num_heads=2, in_features=8, decode=True)  # NNX898\n"
            "        self.attend = nnx.MultiHeadAttention(**given, rngs=rngs)\n"
            "    def __call__(self, v):\n"
            "        return self.attend(v)\n",
        ),
        clean=(
            # methods that make the cache, called by name or not, and those of a library
            _CACHED + "net = Decoder(nnx.Rngs(0))\nnet.init_cache((1, 5, 4))\nprint(net(jnp.ones((1, 1, 4))))\n",
            _CACHED + "net = Decoder(nnx.Rngs(0))\ngetattr(net, 'init_cache')((1, 5, 4))\n"
            "print(net(jnp.ones((1, 1, 4))))\n",
            _CACHED,
            _CACHED.replace("def init_cache", "def reset")
            + "def begin(net):\n    net.reset((1, 5, 4))\n    return net\n"
            "print(begin(Decoder(nnx.Rngs(0)))(jnp.ones((1, 1, 4))))\n",
            """\
attention = nnx.MultiHeadAttention(2, 4, decode=True, rngs=nnx.Rngs(0))
attention.init_cache((1, 5, 4))
attention(jnp.ones((1, 1, 4)))
""",
            """\
attention = nnx.MultiHeadAttention(2, 4, decode=True, rngs=nnx.Rngs(0))
attention(jnp.ones((1, 1, 4)), decode=False)
""",
            "attention = nnx.MultiHeadAttention(2, 4, decode=False, rngs=nnx.Rngs(0))\n",
            """\
attention = nnx.MultiHeadAttention(2, 4, rngs=nnx.Rngs(0))
attention(jnp.ones((1, 1, 4)), decode=False)
""",
            "class Encoder(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        given = dict(num_heads=2, in_features=8, decode=False)\n"
            "        self.attend = nnx.MultiHeadAttention(**given, rngs=rngs)\n"
            "    def __call__(self, v):\n"
            "        return self.attend(v)\n"
            "print(Encoder(nnx.Rngs(0))(jnp.ones((1, 2, 8))))\n",
        ),
    ),
    "NNX899": Cases(
        bad=(
            """\
class Net(nnx.Module):
    hidden = nnx.Linear(3, 8, rngs=nnx.Rngs(0))  # NNX899
    def __init__(self, rngs):
        self.out = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(nnx.relu(self.hidden(v)))
""",
            """\
class Counting(nnx.Module):
    calls = nnx.Variable(jnp.zeros(()))  # NNX899
    def __call__(self, v):
        self.calls[...] += 1
        return v
""",
            """\
class Scale(nnx.Param):
    pass
class Scaled(nnx.Module):
    scale: Scale = None
    gain = Scale(jnp.ones(3))  # NNX899
    def forward(self, v):
        return v * self.gain
""",
            """\
class Net(nnx.Module):
    def __init__(self, use_bias, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.scale = 0.1 * jnp.ones(3)  # NNX899
        self.bias = jnp.zeros(3) if use_bias else None  # NNX899
    def __call__(self, x):
        y = self.lin(x) * self.scale
        return y if self.bias is None else y + self.bias
""",
            """\
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.mean = nnx.Linear(3, 2, rngs=rngs)
        self.log_std = jnp.zeros(2)  # NNX899
    def __call__(self, x):
        return self.mean(x), jnp.exp(self.log_std)
""",
            """\
class Scaled(nnx.Module):
    def __init__(self, key):
        self.kernel = jax.random.normal(key, (3, 3))  # NNX899
        self.bias = nnx.Param(jnp.zeros(3))
    def __call__(self, x):
        return x @ self.kernel + self.bias
""",
            """\
class Stack(nnx.Module):
    layers = []
    def __init__(self, depth, rngs):
        for _ in range(depth):
            self.layers.append(nnx.Linear(3, 3, rngs=rngs))  # NNX899
    def __call__(self, x):
        return [layer(x) for layer in self.layers]
""",
            """\
class Contrastive(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.image, self.text = nnx.Linear(3, 2, rngs=rngs), nnx.Linear(3, 2, rngs=rngs)
        self.logit_scale = nnx.Variable(jnp.array(0.0))  # NNX899
    def __call__(self, a, b):
        return jnp.exp(self.logit_scale[...]) * self.image(a) @ self.text(b).T
def train(net, opt, a, b):
    opt.update(net, nnx.grad(lambda m: m(a, b).sum())(net))
net = Contrastive(nnx.Rngs(0))
train(net, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param), x, x)
""",
            """\
class Mixed(nnx.Module):
    def __init__(self, width, rngs: nnx.Rngs):
        make = nnx.initializers.lecun_normal()
        self.projection = nnx.Variable(make(rngs.params(), (width, width)))  # NNX899
        self.gain = nnx.Variable(jnp.ones(width))  # NNX899
    def __call__(self, v):
        return v @ self.projection[...] * self.gain[...]
net = Mixed(3, nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
print(nnx.grad(lambda m: m(x).sum())(net))
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    make = nnx.Linear
    activation = staticmethod(nnx.relu)
    sizes = tuple([3, 8])
    def __init__(self, rngs):
        self.hidden = self.make(*self.sizes, rngs=rngs)
    def __call__(self, v):
        return self.activation(self.hidden(v))
print(Net(nnx.Rngs(0))(x))
""",
            """\
class Net(nnx.Module):
    hidden = nnx.Linear(3, 8, rngs=nnx.Rngs(0))
    def __init__(self, rngs):
        self.hidden = nnx.Linear(3, 8, rngs=rngs)
    def __call__(self, v):
        return self.hidden(v)
print(Net(nnx.Rngs(1))(x))
""",
            """\
class Shared:
    hidden = nnx.Linear(3, 8, rngs=nnx.Rngs(0))
    def __call__(self, v):
        return self.hidden(v)
print(Shared()(x))
""",
            """\
class Net(nnx.Module):
    example = nnx.Linear(3, 8, rngs=nnx.Rngs(0))
    def __init__(self, rngs):
        self.hidden = nnx.Linear(3, 8, rngs=rngs)
    def __call__(self, v):
        return self.hidden(v)
print(Net(nnx.Rngs(1))(x), Net.example.in_features)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.scale = jnp.sqrt(3.0)
        self.input_offset = jnp.zeros(3)
        self.kernel = jnp.arange(3.0) * jnp.ones(3)
        self.state_bias = jnp.zeros(3)
        self.gain = jnp.ones(3)
    def set_gain(self, gain):
        self.gain = gain
    def __call__(self, x):
        return self.lin(x - self.input_offset) * self.scale * self.gain + self.kernel + self.state_bias
Net(nnx.Rngs(0))(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.bias = nnx.Param(jnp.zeros(3)) if rngs else None
    def __call__(self, x):
        return self.lin(x) + self.bias
Net(nnx.Rngs(0))(x)
""",
            """\
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.mean = nnx.Linear(3, 2, rngs=rngs)
        self.log_std = nnx.Param(jnp.zeros(2))
    def __call__(self, x):
        return self.mean(x), jnp.exp(self.log_std)
Policy(nnx.Rngs(0))(x)
""",
            """\
class Masked(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
        self.mask = jnp.ones(3)
    def __call__(self, x):
        return self.out(x * self.mask)
Masked(nnx.Rngs(0))(x)
""",
            """\
class Schedule:
    def __init__(self):
        self.beta = jnp.zeros(3)
    def __call__(self, step):
        return self.beta[step]
Schedule()(0)
""",
            """\
class Named(nnx.Module):
    known = []
    def __init__(self, name, rngs):
        self.known.append(name)
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, x):
        return self.out(x)
Named("first", nnx.Rngs(0))(x)
""",
            """\
class Scaled(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.temperature = nnx.Variable(jnp.array(0.07))
        self.gain = nnx.Variable(jnp.ones(3))
    def __call__(self, v):
        return self.fc(v) * self.gain[...] / self.temperature[...]
net = Scaled(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
opt.update(net, nnx.grad(lambda m: m(x).sum())(net))
net.gain[...] = net.gain[...] * 0.9
""",
            """\
class RandomFeatures(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.directions = nnx.Variable(nnx.initializers.normal(1.0)(rngs.params(), (3, 8)))
        self.fc = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, v):
        return self.fc(jnp.tanh(v @ self.directions[...]))
net = RandomFeatures(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
opt.update(net, nnx.grad(lambda m: m(x).sum())(net))
""",
            """\
class Scaled(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.log_scale = nnx.Variable(jnp.array(0.0))
    def __call__(self, v):
        return self.fc(v) * jnp.exp(self.log_scale[...])
net = Scaled(nnx.Rngs(0))
both = nnx.Any(nnx.Param, nnx.Variable)
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Variable)
opt.update(net, nnx.grad(lambda m: m(x).sum(), argnums=nnx.DiffState(0, both))(net))
""",
            """\
class Shifted(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.offset = nnx.Variable(jnp.full(3, 0.5))
        self.log_var = nnx.Param(jnp.zeros(3))
    def __call__(self, v):
        return self.fc(v) + self.offset[...] * jnp.exp(self.log_var[...])
net = Shifted(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
opt.update(net, nnx.grad(lambda m: m(x).sum())(net))
""",
        ),
    ),
}

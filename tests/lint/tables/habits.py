"""Habits of other libraries: what belongs to PyTorch, Keras or Linen, on objects of NNX."""

from __future__ import annotations

from tests.lint.tables import Cases

_NET = (
    "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.fc = nnx.Linear(3, 3, rngs=rngs)\n"
    "    def __call__(self, x):\n        return self.fc(x)\n"
)
_MODE = (
    "class Noisy(nnx.Module):\n    def __init__(self):\n        self.{name} = True\n    def __call__(self, x):\n"
    "        return 2 * x if self.{name} else x  # NNX721\n{at}"
)
_FLAT = """\
class Flat(nnx.Module):
    def __init__(self, n, rngs=nnx.Rngs(5)):
        self.conv = nnx.Conv(1, {conv}, rngs=rngs)
        self.fc = nnx.Linear({flat}, 3, rngs=rngs)
    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.conv(x)), (2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        return self.fc(x)  # NNX722
"""
_PAIR = (
    "class Pair(nnx.Module):\n    def __init__(self, rngs):\n        self.up = nnx.Linear({up}, rngs=rngs)\n"
    "        self.down = nnx.Linear({down}, rngs=rngs)\n    def __call__(self, x):\n"
)
_ORBAX = "import orbax.checkpoint as ocp\n"
_RESTORE = (
    _ORBAX + "def run(path):\n    c = ocp.StandardCheckpointer()\n    c.save(path, nnx.state(model))\n"
    "    c.wait_until_finished()\n"
)

_ENCODER = """\
PAD, tokens = 0, jnp.array([[5, 8, 2, 0], [7, 3, 0, 0]])
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(9, 4, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(2, 4, decode=False, rngs=rngs)
"""

_PALLAS = """\
from jax.experimental import pallas as pl
BLOCK, WHOLE = pl.BlockSpec((8, 128), lambda i: (i, 0)), pl.BlockSpec((8, 128), lambda i: (0, 0))
SHAPE = jax.ShapeDtypeStruct((8, 128), jnp.float32)
tall = jnp.ones((16, 128))
def summed(kernel, n=1):
    return pl.pallas_call(kernel, grid=(2,), in_specs=[BLOCK] * n, out_specs=WHOLE, out_shape=SHAPE, interpret=True)
"""

_MODAL = """\
class Part(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x, {takes}):
        return self.drop(x, deterministic={drops})
class Net(nnx.Module):
    def __init__(self, rngs):
        self.part = Part(rngs)
    def __call__(self, x, {gives}):
        return self.part(x, {flag}
        )
"""
_NORMED = """\
import flax.linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        x = nn.BatchNorm(use_running_average=not train)(x)
        return nn.Dense(1)(x)
net = Net()
def forward(variables, v):
    return net.apply(variables, v, fixed)  #
print(forward(net.init(key, jnp.ones((2, 3))), jnp.ones((2, 3))))
"""

_VIDEO = """\
def load(n):
    video = np.zeros((n, 4, 4), dtype=np.int16)
    for t in range(n):
        video[t, t % 4] = 100
    return video
@jax.jit
def change(a, b):
    return jnp.mean(jnp.abs(b - a))
def motion(video):
    out = []
    for a, b in zip(video, video[1:]):
        out.append(float(change(a, b)))
    return out
print(motion(load(3)))
"""

CASES: dict[str, Cases] = {
    "NNX677": Cases(
        bad=(
            """\
class Gated(nnx.Module):
    def __init__(self, rngs):
        self.gate = nnx.Param(jnp.zeros(3))
        self.linear = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + jax.nn.sigmoid(self.gate) * self.linear(v)  # NNX677
print(Gated(nnx.Rngs(0))(x))
""",
            """\
class Mean(nnx.Variable):
    pass
class Scaling(nnx.Module):
    def __init__(self):
        self.spread = Mean(jnp.ones(3))
    def __call__(self, v):
        spread = self.spread
        return v * jax.lax.rsqrt(spread)  # NNX677
print(Scaling()(x))
""",
            """\
from jax import lax
print(lax.dot(x, model.kernel) + lax.add(jnp.zeros(3), y=model.bias))  # NNX677 NNX677
""",
            """\
@nnx.jit
def squash(net, v):
    return nnx.sigmoid(net.bias) * v  # NNX677
squash(model, x)
""",
        ),
        clean=(
            """\
class Gated(nnx.Module):
    def __init__(self, rngs):
        self.gate = nnx.Param(jnp.zeros(3))
        self.linear = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + jax.nn.sigmoid(self.gate[...]) * self.linear(v)
print(Gated(nnx.Rngs(0))(x))
""",
            """\
class Gated(nnx.Module):
    def __init__(self):
        self.gate = nnx.Param(jnp.zeros(3))
    def __call__(self, v):
        return jax.nn.silu(self.gate) + nnx.softplus(self.gate) + jnp.exp(self.gate) + jax.nn.relu(self.gate) + v
print(Gated()(x))
""",
            """\
from jax import lax
print(lax.exp(model.bias.value), lax.rsqrt(model.bias + 1.0), lax.dot(x, model.kernel[...]))
""",
            """\
def squash(bias):
    return nnx.sigmoid(bias)
print(squash(model.bias[...]), squash(jnp.asarray(model.bias)), squash(x))
""",
            """\
print(jax.tree.map(lambda leaf: jax.nn.sigmoid(leaf), nnx.state(model)))
_, params = nnx.split(model)
print(jax.tree.map(jax.lax.exp, params), jax.lax.stop_gradient(model.bias))
""",
        ),
    ),
    "NNX676": Cases(
        bad=(
            """\
def centre(rows):
    rows -= rows.mean(axis=0)
rows = jnp.arange(6.0).reshape(3, 2)
centre(rows)  # NNX676
print(rows.mean())
""",
            """\
class Track:
    def damp(self, speed, by):
        factor = 1.0 - by
        speed *= factor
    def run(self, n):
        speed = jnp.ones(3)
        for _ in range(n):
            self.damp(speed, by=0.1)  # NNX676
        return speed
print(Track().run(3))
""",
            """\
def add(total, gradient):
    total += gradient
total = jnp.zeros(3)
add(gradient=x, total=total)  # NNX676
print(total)
""",
        ),
        clean=(
            """\
def centre(rows):
    rows -= rows.mean(axis=0)
rows = np.arange(6.0).reshape(3, 2)
centre(rows)
print(rows.mean())
""",
            """\
def centre(rows):
    rows -= rows.mean(axis=0)
    return rows
rows = centre(jnp.arange(6.0).reshape(3, 2))
print(rows.mean())
""",
            """\
def show(rows):
    rows -= rows.mean(axis=0)
    print(rows)
show(jnp.arange(6.0).reshape(3, 2))
rows = jnp.ones(3)
show(rows)
""",
            """\
def extend(rows, more):
    rows += more
rows = [jnp.ones(3)]
extend(rows, [x])
print(rows)
""",
            """\
class Sums:
    def __init__(self):
        self.total = jnp.zeros(3)
    def add(self, value):
        self.total += value
sums = Sums()
sums.add(x)
print(sums.total)
""",
        ),
    ),
    "NNX675": Cases(
        bad=(
            """\
def host(v):
    return np.quantile(np.asarray(v), 0.9).astype(np.float32)
def limit(row):
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), row, vmap_method="expand_dims")  # NNX675
print(jax.vmap(limit)(jnp.ones((2, 3))))
""",
            """\
def host(v):
    return v.max()
@jax.vmap
def top(row):
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), row, vmap_method="broadcast_all")  # NNX675
print(top(jnp.ones((2, 3))))
""",
            """\
def count(v):
    return int(np.sum(np.asarray(v) > 0))
@jax.jit
def positive(v):
    return jax.pure_callback(count, jax.ShapeDtypeStruct((), jnp.float32), v)  # NNX675
""",
            """\
class Table:
    def look(self, i):
        return np.zeros((3, 1), np.float32)
table = Table()
def looked_up(i):
    return jax.pure_callback(table.look, jax.ShapeDtypeStruct((3,), jnp.float32), i)  # NNX675
""",
            """\
from jax.experimental import io_callback
def save(v):
    np.asarray(v)
def step(v):
    done = io_callback(save, jax.ShapeDtypeStruct((), jnp.bool_), v)  # NNX675
    return v, done
""",
            """\
def nearest(v):
    return np.sqrt(2.0) * math.sqrt(3.0)
def bin_of(v):
    return jax.pure_callback(lambda w: math.sqrt(2.0), jax.ShapeDtypeStruct((), jnp.int32), v)  # NNX675
""",
            """\
def flags(v):
    return jax.pure_callback(lambda w: np.isnan(w), jax.ShapeDtypeStruct((3,), jnp.float32), v)  # NNX675
""",
            """\
def host(v):
    return np.interp(v, np.arange(3.0), np.ones(3))
@jax.jit
def looked_up(v):
    like = jax.ShapeDtypeStruct(v.shape, jnp.float64)
    return jax.pure_callback(host, like, v)  # NNX675
print(looked_up(x))
""",
            """\
from jax.experimental import io_callback
LIKE = {"value": jax.ShapeDtypeStruct((3,), "float32"), "place": jax.ShapeDtypeStruct((3,), dtype=np.int64)}
def ordered(v):
    return {"value": np.sort(v), "place": np.argsort(v)}
print(io_callback(ordered, LIKE, x))  # NNX675
""",
            """\
def spec(shape):
    return jax.ShapeDtypeStruct(shape, float)
print(jax.pure_callback(np.sinc, spec(x.shape), x))  # NNX675
print(jax.pure_callback(np.sinc, np.zeros(3), x))  # NNX675
""",
        ),
        clean=(
            """\
def host(v, dtype):
    return np.asarray(v, np.float64)
def run(v, dtype):
    return jax.pure_callback(lambda w: host(w, dtype), jax.ShapeDtypeStruct(v.shape, dtype), v)
print(run(x, jnp.float32), run(x, jnp.result_type(float)))
print(jax.pure_callback(np.sinc, np.zeros(3, np.float32), x))
""",
            """\
def host(v):
    return np.asarray(v, np.float64)
like = jax.eval_shape(lambda v: jnp.asarray(v, dtype=float), x)
print(jax.pure_callback(host, like, x), jax.pure_callback(host, jnp.zeros(3), x))
print(jax.ShapeDtypeStruct((3,), jnp.float64))
""",
            """\
def host(v):
    return np.asarray(v)
wide = jax.config.jax_enable_x64
dtype = jnp.float64 if wide else jnp.float32
print(jax.pure_callback(host, jax.ShapeDtypeStruct((3,), dtype), x))
if wide:
    print(jax.pure_callback(host, jax.ShapeDtypeStruct((3,), jnp.float64), x))
""",
            """\
def host(v):
    return np.quantile(np.asarray(v), 0.9).astype(np.float32)
def limit(row):
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), row, vmap_method="sequential")
print(jax.vmap(limit)(jnp.ones((2, 3))))
""",
            """\
def host(v):
    return np.quantile(np.asarray(v), 0.9, axis=-1).astype(np.float32)
def limit(row):
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), row, vmap_method="expand_dims")
print(jax.vmap(limit)(jnp.ones((2, 3))))
""",
            """\
def host(v):
    return v.max()
def top(row):
    return jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), row, vmap_method="broadcast_all")
print(jax.jit(top)(x))
""",
            """\
def count(v):
    return np.int32(np.sum(np.asarray(v) > 0))
@jax.jit
def positive(v):
    return jax.pure_callback(count, jax.ShapeDtypeStruct((), jnp.int32), v)
print(positive(x))
""",
            """\
def area(v):
    grid = np.linspace(0.0, 1.0, 11)
    return np.trapezoid(grid**2, grid)
print(jax.jit(lambda v: jax.pure_callback(area, jax.ShapeDtypeStruct((), jnp.float32), v))(x))
""",
            """\
def rows(v):
    return np.stack([v, v])
def both(v):
    return jax.pure_callback(rows, jax.ShapeDtypeStruct((2, *v.shape), v.dtype), v, vmap_method="sequential")
print(both(x))
""",
            """\
from jax.experimental import io_callback
def save(v):
    print(np.asarray(v))
io_callback(save, None, x)
""",
            """\
def ordered(v):
    return np.sort(v), np.argsort(v).astype(np.int32)
like = (jax.ShapeDtypeStruct((3,), jnp.float32), jax.ShapeDtypeStruct((3,), jnp.int32))
print(jax.pure_callback(ordered, like, x))
""",
            """\
def flags(v):
    return jax.pure_callback(lambda w: np.isnan(w), jax.ShapeDtypeStruct((3,), jnp.bool_), v)
print(flags(x))
""",
            """\
def shifted(v):
    return v + 1
def run(v):
    return jax.pure_callback(shifted, jax.ShapeDtypeStruct(v.shape, jnp.float32), v, vmap_method="expand_dims")
print(run(x), jax.vmap(run)(jnp.ones((2, 3))))
""",
        ),
    ),
    "NNX674": Cases(
        bad=(
            """\
def report(value, limit):
    jax.debug.print("above: {v} > {l}", v=value, l=limit)
    return value
def clipped(value, limit):
    jax.lax.cond(value > limit, report, lambda v, l: v, value, limit)  # NNX674
    return jnp.minimum(value, limit)
print(jax.vmap(clipped, in_axes=(0, None))(x, 0.5))
""",
            """\
seen = []
def note(value):
    jax.debug.callback(seen.append, value)
def checked(v):
    bad = jnp.any(v > 2)
    jax.lax.cond(bad, lambda: note(v), lambda: None)  # NNX674
    return v * 2
@jax.jit
def run(rows):
    return jax.vmap(lambda row: checked(row))(rows)
print(run(jnp.ones((2, 3))))
""",
            """\
@jax.vmap
def chosen(i, v):
    def first(w):
        jax.debug.print("first {}", w)
        return w
    return jax.lax.switch(i, [first, lambda w: 2 * w], v)  # NNX674
print(chosen(jnp.array([0, 1, 1]), x))
""",
        ),
        clean=(
            """\
def report(value):
    jax.debug.print("above: {v}", v=value)
    return value
def clipped(value):
    jax.lax.cond(value > 0.5, report, lambda v: v, value)
    return jnp.minimum(value, 0.5)
print(jax.lax.map(clipped, x))
""",
            """\
def report(value):
    jax.debug.print("step {v}", v=value)
def run(value, step):
    jax.lax.cond(step % 2 == 0, report, lambda v: None, value)
    return value * 2
print(jax.vmap(run, in_axes=(0, None))(x, 4))
""",
            """\
def told(above, value):
    if above:
        print("above", value)
def report(above, value):
    jax.debug.callback(told, above, value)
def clipped(value):
    above = value > 0.5
    jax.lax.cond(above, report, lambda a, v: None, above, value)
    return jnp.minimum(value, 0.5)
print(jax.vmap(clipped)(x))
""",
            """\
def report(value):
    jax.debug.print("mean {v}", v=value)
def centred(value):
    mean = jax.lax.pmean(value, "batch")
    jax.lax.cond(mean > 0.5, report, lambda v: None, mean)
    return value - mean
print(jax.vmap(centred, axis_name="batch")(x))
""",
            """\
def run(carry, _):
    value, step = carry
    jax.lax.cond(step % 2 == 0, lambda s: jax.debug.print("step {}", s), lambda s: None, step)
    return (value + 1, step + 1), None
print(jax.vmap(lambda v: jax.lax.scan(run, (v, 0), None, length=3)[0])(x))
""",
            """\
def report(value):
    jax.debug.print("value {v}", v=value)
def run(value, loud=False):
    jax.lax.cond(loud, report, lambda v: None, value)
    return value * 2
print(jax.vmap(run)(x), jax.vmap(lambda v: jnp.where(v > 1, v, 0))(x))
""",
        ),
    ),
    "NNX673": Cases(
        bad=(
            """\
schedule = optax.cosine_decay_schedule(1e-3, 1000)
tx = optax.inject_hyperparams(optax.adam)(learning_rate=schedule)
state = tx.init(x)
state.hyperparams["learning_rate"] = jnp.asarray(1e-4)  # NNX673
""",
            """\
def make():
    return optax.inject_hyperparams(optax.adamw)(optax.linear_schedule(0.1, 0.01, 100), weight_decay=lambda n: 0.1 / n)
tx = make()
def with_rate(state, rate):
    state.hyperparams["learning_rate"] = rate  # NNX673
    state.hyperparams["weight_decay"] *= 0.5  # NNX673
    return state
@jax.jit
def step(params, state):
    updates, state = tx.update(params, state, params)
    return optax.apply_updates(params, updates), state
params, state = x, tx.init(x)
for epoch in range(3):
    if epoch == 2:
        state = with_rate(state, jnp.asarray(0.0))
    params, state = step(params, state)
""",
            """\
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.inject_hyperparams(optax.sgd)(learning_rate=optax.exponential_decay(0.1, 10, 0.9)),
)
state = tx.init(x)
state[1].hyperparams["learning_rate"] = jnp.asarray(0.01)  # NNX673
""",
            """\
tx = optax.inject_hyperparams(optax.adam)(learning_rate=optax.cosine_decay_schedule(1e-3, 1000))
injected = nnx.Optimizer(model, tx, wrt=nnx.Param)
injected.opt_state.hyperparams["learning_rate"].value = jnp.asarray(1e-4)  # NNX673
""",
        ),
        clean=(
            """\
tx = optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)
state = tx.init(x)
state.hyperparams["learning_rate"] = jnp.asarray(1e-4)
print(state.hyperparams)
""",
            """\
schedule = optax.cosine_decay_schedule(1e-3, 1000)
tx = optax.inject_hyperparams(optax.adamw)(learning_rate=schedule, weight_decay=0.1)
state = tx.init(x)
state.hyperparams["weight_decay"] = jnp.asarray(0.2)
print(state.hyperparams["learning_rate"])
""",
            """\
def make(rate):
    return optax.inject_hyperparams(optax.sgd)(learning_rate=rate)
tx = make(0.1)
def with_rate(state, rate):
    state.hyperparams["learning_rate"] = rate
    return state
state = with_rate(tx.init(x), jnp.asarray(0.01))
other = make(optax.constant_schedule(0.1))
print(state.hyperparams, other.init(x).hyperparams)
""",
            """\
tx = optax.chain(
    optax.scale_by_schedule(optax.linear_schedule(1.0, 0.1, 10)),
    optax.inject_hyperparams(optax.sgd)(learning_rate=0.1),
)
state = tx.init(x)
state[1].hyperparams["learning_rate"] = jnp.asarray(0.01)
print(state[1].hyperparams)
""",
            """\
tx = optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)
injected = nnx.Optimizer(model, tx, wrt=nnx.Param)
injected.opt_state.hyperparams["learning_rate"].value = jnp.asarray(1e-4)
print(injected.opt_state.hyperparams["learning_rate"].value)
""",
            """\
settings = {"hyperparams": {"learning_rate": optax.constant_schedule(0.1)}}
class Config:
    def __init__(self):
        self.hyperparams = {"learning_rate": optax.constant_schedule(0.1)}
config = Config()
config.hyperparams["learning_rate"] = 0.1
print(config.hyperparams, optax.inject_hyperparams)
""",
        ),
    ),
    "NNX720": Cases(
        bad=(
            """\
def split_heads(h, heads):
    batch, length, width = h.shape
    h = h.reshape(batch, length, heads, width // heads)
    return h.transpose(1, 2)  # NNX720
print(split_heads(jnp.ones((2, 3, 4)), 2))
""",
            """\
def scores(q, k):
    q, k = jnp.reshape(q, (2, 3, 4)), jnp.reshape(k, (2, 3, 4))
    return q @ k.transpose(-2, -1)  # NNX720
""",
            """\
def channels_last(images):
    return jnp.transpose(images, (0, 3, 1))  # NNX720
""",
            """\
def turned(image):
    image = jnp.asarray(image) / 255.0
    return image.transpose(2, 0)  # NNX720
""",
            "optimizer.zero_grad()  # NNX720\nmodel(x).sum().backward()  # NNX720\noptimizer.step()  # NNX720\n",
            _NET + "net = Net(nnx.Rngs(0))\nprint(sum(p.size for p in net.parameters()))  # NNX720\n",
            _NET + "def fresh():\n    return Net(nnx.Rngs(0))\nnet = fresh().to('cpu')  # NNX720\n",
            "model.weight = nnx.Param(jnp.ones((3, 3)))  # NNX720\n",
            "model.kernel.data  # NNX720\n",
            "model.train(False)  # NNX720\n",
            "model.train(mode=False)  # NNX720\n",
            "y = jnp.ones((2, 3)).mean(dim=0)  # NNX720\n",
            "y = (2 * nnx.relu(model(x))).unsqueeze(0)  # NNX720\n",
            "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.fc = nnx.Linear(3, 3, rngs=rngs)\n"
            "        self.register_buffer('mask', jnp.ones(3))  # NNX720\n",
            "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.fc = nnx.Linear(3, 3, rngs=rngs)\n"
            "    def __call__(self, x):\n        return self.fc.forward(x)  # NNX720\n",
            "y = model(x)\nprint(y.view(1, -1), y.reshape(1, -1))  # NNX720\n",
            "rows = jnp.ones((2, 5))\nbest, place = rows.max(axis=1)  # NNX720\n",
            "rows = jnp.ones((2, 5))\nmax_v, max_i = rows.max(axis=1)  # NNX720\n",
            "rows = jnp.ones((2, 5))\nmax_value, max_class = rows.max(axis=1)  # NNX720\n",
            "rows = jnp.ones((2, 5))\nvmax, imax = rows.max(axis=1)  # NNX720\n",
            "_, most = jnp.ones((2, 5)).min(axis=0)  # NNX720\n",
        ),
        clean=(
            """\
def split_heads(h, heads):
    batch, length, width = h.shape
    h = h.reshape(batch, length, heads, width // heads)
    return h.transpose(0, 2, 1, 3), h.swapaxes(1, 2)
print(split_heads(jnp.ones((2, 3, 4)), 2)[0].shape)
""",
            """\
@jax.vmap
def turned(rows):
    return rows.transpose(1, 0) + jnp.transpose(rows, (-1, -2))
print(turned(jnp.ones((5, 3, 4))).shape)
""",
            """\
def kernel(w):
    if w.ndim == 4:
        w = w.transpose(2, 3, 1, 0)
    else:
        w = w.transpose(1, 0)
    return w
print(kernel(np.ones((3, 4))).shape)
""",
            """\
class Grid:
    def transpose(self, one, two):
        return one + two
print(Grid().transpose(1, 2), jnp.ones((2, 3, 4)).transpose((-1, 0, 1)).shape)
""",
            """\
def rows(image):
    return image[..., 0].transpose(1, 0), image.mean(axis=0).transpose(1, 0)
print(rows(jnp.ones((4, 3, 2))))
""",
            """\
def register(cls, **functions):
    for name, function in functions.items():
        setattr(cls, name, function)
    return "ArrayImpl"
class Tracers:
    pass
register(Tracers, clamp=jnp.clip)
register(type(jnp.ones(3)), clamp=jnp.clip)
print(jnp.ones(3).clamp(0, 1))
""",
            "points = jnp.ones((5, 2))\nxmin, ymin = points.min(axis=0)\nxmax, ymax = points.max(axis=0)\n",
            "points = jnp.ones((5, 2))\nlo_x, lo_y = points.min(axis=0)\nhi_x, hi_y = jnp.max(points, axis=0)\n",
            "points = jnp.ones((5, 2))\na_min, b_min = points.min(axis=0)\nx1, x2 = jnp.median(points, axis=0)\n",
            "track = jnp.ones((5, 2))\nlat_max, lon_max = track.max(axis=0)\n",
            """\
class Ket:
    __array_priority__ = 100
    def __init__(self, data):
        self.data = data
    def __mul__(self, other):
        return Ket(self.data * getattr(other, "data", other))
    def __radd__(self, other):
        return Ket(self.data + other)
    __rmul__ = __mul__
    def norm(self):
        return jnp.linalg.norm(self.data)
def shown(ket):
    return (ket * jnp.ones(3)).norm(), (jnp.ones(3).sum() + ket).data
print(shown(Ket(jnp.ones(3))))
""",
            """\
class Box:
    def __init__(self, data):
        self.data = data
    def __rtruediv__(self, other):
        return Box(other / self.data)
boxes = [Box(2.0), Box(3.0)]
print([(jnp.ones(()) / box).data for box in boxes])
""",
            "loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(model)\nprint(optimizer.step, loss)\n",
            "model.eval()\nprint(model(x).reshape(1, -1)[..., None].size)\nmodel.train()\n",
            "model.kernel = nnx.Param(jnp.ones((3, 3)))\nprint(model.kernel[...])\n",
            "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.weight = nnx.Param(jnp.ones(3))\n"
            "    def parameters(self):\n        return nnx.state(self, nnx.Param)\n"
            "    def forward(self, x):\n        return self.weight * x\n"
            "net = Net(nnx.Rngs(0))\nprint(net.forward(x), net.parameters(), net.weight)\n",
            "class Mode(nnx.Module):\n    def train(self, mode=True):\n        print(mode)\n        return self\n"
            "Mode().train(False)\n",
            "class Tensor:\n    def __init__(self, x):\n        self.x = x\n"
            "    def detach(self):\n        return self\n"
            "    def numpy(self):\n        return np.asarray(self.x)\n"
            "t = Tensor(model(x))\nprint(t.detach().numpy())\n",
            "def host(tensor):\n    return tensor.detach().cpu().numpy()\n",
            "try:\n    y = model(x).numpy()\nexcept AttributeError:\n    y = np.asarray(model(x))\n",
            "y = model(x).view(jnp.int32)\nprint(model(x).mean(axis=0, keepdims=True))\n",
            "class Flexible(nnx.Module):\n    def __getattr__(self, name):\n        return lambda *_: None\n"
            "Flexible().cuda()\n",
            "class Holder:\n    model = None\n    def fit(self, x):\n        return x\n"
            "holder = Holder()\nholder.model = model\nprint(holder.fit(x))\n",
            "class Box(dict):\n    grad = data = 3\nbox = Box()\nprint(box.grad, box.data)\n",
            "sizes = {'to': 1}\nprint(sizes, str(model(x)).lower())\n",
        ),
    ),
    "NNX721": Cases(
        bad=(
            _MODE.format(name="training", at="") + "net = Noisy()\nnet.eval()\n",
            _MODE.format(name="is_training", at="")
            + "class Outer(nnx.Module):\n    def __init__(self):\n        self.inner = Noisy()\nnet = Outer()\n"
            "net.eval()\n",
            _MODE.format(name="train_mode", at="") + "def evaluate(net: Noisy):\n    net.eval()\n    return net(x)\n",
        ),
        clean=(
            _MODE.format(name="training", at="").replace("  # NNX721", "") + "net = Noisy()\n"
            "net.eval(training=False)\n",
            _MODE.format(name="training", at="").replace("  # NNX721", "") + "net = Noisy()\nnet.training = False\n",
            _MODE.format(name="training", at="").replace("  # NNX721", "") + "net = Noisy()\nnet(x)\n",
            _MODE.format(name="deterministic", at="").replace("  # NNX721", "") + "net = Noisy()\nnet.eval()\n",
            _MODE.format(name="training", at="    def eval(self):\n        self.training = False\n").replace(
                "  # NNX721", ""
            )
            + "net = Noisy()\nnet.eval()\n",
        ),
    ),
    "NNX722": Cases(
        bad=(
            """\
class Block(nnx.Module):
    def __init__(self, dim, ratio, rngs):
        self.wide = nnx.Linear(dim, 2 * dim * ratio, rngs=rngs)
        self.narrow = nnx.Linear(dim * ratio, dim, rngs=rngs)
    def __call__(self, v):
        return self.narrow(jax.nn.silu(self.wide(v)))  # NNX722
""",
            """\
def main(rngs):
    up = nnx.Linear(3, 8, rngs=rngs)
    down = nnx.Linear(4, 2, rngs=rngs)
    return down(nnx.relu(up(x)))  # NNX722
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.features = nnx.Sequential(nnx.Conv(1, 8, (3, 3), rngs=rngs), nnx.relu)
    def __call__(self, x):
        return self.features(x).mean((1, 2))  # NNX722
def digits(n):
    return np.zeros((n, 784), np.float32).reshape(-1, 1, 28, 28)
print(Net(nnx.Rngs(0))(digits(4)))
""",
            """\
def block(v, conv):
    return nnx.relu(conv(v))  # NNX722
pixels = np.random.rand(2, 3, 16, 16).astype(np.float32)
print(block(jnp.asarray(pixels), nnx.Conv(3, 4, kernel_size=(3, 3), rngs=nnx.Rngs(0))))
""",
            """\
class C(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 8, kernel_size=(3, 3), rngs=rngs)
    def __call__(self, x):
        return self.conv(x)  # NNX722
def load(n):
    flat = np.arange(n * 192, dtype=np.uint8)
    images = flat.reshape(n, 3, 8, 8)
    return images.astype(np.float32) / 255.0, np.arange(n)
def minibatches(images, labels, size):
    for i in range(0, len(images), size):
        yield jnp.asarray(images[i : i + size]), jnp.asarray(labels[i : i + size])
def loss_fn(net, batch):
    images, labels = batch
    return net(images).mean()
images, labels = load(4)
for batch in minibatches(images, labels, 2):
    print(loss_fn(C(nnx.Rngs(7)), batch))
""",
            """\
class C(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 8, kernel_size=(3, 3), rngs=rngs)
    def __call__(self, x):
        return self.conv(x)  # NNX722
class Data:
    def __init__(self, flat):
        self.images = flat.reshape(len(flat), 3, 8, 8)
    def batches(self, size):
        for i in range(0, 4, size):
            yield {"image": self.images[i : i + size], "number": i}
for batch in Data(np.ones((4, 192))).batches(2):
    print(C(nnx.Rngs(7))(batch["image"]).mean())
""",
            _PAIR.format(up="3, 8", down="16, 2") + "        return self.down(nnx.relu(self.up(x)))  # NNX722\n",
            _PAIR.format(up="3, 8", down="16, 2")
            + "        h = self.up(x)\n        h = jax.nn.gelu(h)\n        return self.down(h)  # NNX722\n",
            "class C(nnx.Module):\n    def __init__(self):\n"
            "        self.conv = nnx.Conv(3, 8, kernel_size=(3, 3), rngs=nnx.Rngs(7))\n    def __call__(self, x):\n"
            "        return self.conv(x)  # NNX722\nC()(jnp.zeros((1, 3, 32, 32)))\n",
            _FLAT.format(conv="8, (3, 3)", flat="n * 13 * 13") + "Flat(8)(jnp.ones((2, 28, 28, 1)))\n",
            _FLAT.format(conv="n, kernel_size=(5, 5), strides=2, padding='VALID'", flat="n * 7 * 7")
            + "def run(net):\n    return net(jax.random.normal(key, (4, 28, 28, 1)))\nrun(Flat(8))\n",
            _FLAT.format(conv="8, (3, 3), padding='VALID'", flat="8 * 14**2")
            + "batch = 4\nv = np.zeros((batch, 28, 28, 1))\ndef run(m, v):\n    return m(v)\nrun(Flat(8), v)\n",
            _FLAT.format(conv="8, (3, 3)", flat="n * 13 * 13")
            + "def batch(n):\n    y = jax.random.randint(key, (n,), 0, 9)\n"
            "    return jnp.ones((n, 28, 28, 1)) + y[:, None, None, None] / 9, y\n"
            "@nnx.jit\ndef step(net, x, y):\n"
            "    return nnx.grad(lambda m: jnp.mean((m(x)[:, 0] - y) ** 2))(net)\n"
            "net, (x, y) = Flat(8), batch(4)\nprint(step(net, x, y))\n",
            _FLAT.format(conv="8, (2, 2), padding='VALID'", flat="8 * 14 * 14").replace(
                "strides=(2, 2)", "padding='SAME'"
            )
            + "Flat(8)(jnp.ones((2, 28, 28, 1)))\n",
            "class C(nnx.Module):\n    def __init__(self, n, rngs):\n        self.a = nnx.Linear(3, n, rngs=rngs)\n"
            "        self.norm = nnx.LayerNorm(4, rngs=rngs)\n    def __call__(self, x):\n"
            "        return self.norm(self.a(x))  # NNX722\nprint(C(8, nnx.Rngs(7)))\n",
            """\
class Net(nnx.Module):
    def __init__(self, hidden, rngs):
        one, two = nnx.GRUCell(3, hidden, rngs=rngs), nnx.GRUCell(3, hidden, rngs=rngs)
        self.both = nnx.Bidirectional(nnx.RNN(nnx.GRUCell(3, hidden, rngs=rngs)), nnx.RNN(two))
        self.rnn = nnx.RNN(nnx.LSTMCell(5, hidden, rngs=rngs))
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)
        self.text = nnx.Linear(3, 6, rngs=rngs)
        self.wide = nnx.Linear(3, 8, rngs=rngs)
        self.out = nnx.Linear(hidden, 2, rngs=rngs)
        self.first = nnx.RNN(one)
    def __call__(self, v):
        return self.out(self.both(v))  # NNX722
    def attended(self, v):
        return self.attn(self.wide(v), self.text(v))  # NNX722
    def recurrent(self, v):
        return self.rnn(self.text(v))  # NNX722
net = Net(4, nnx.Rngs(0))
""",
        ),
        clean=(
            """\
class Block(nnx.Module):
    def __init__(self, dim, ratio, rngs):
        self.wide = nnx.Linear(dim, dim * ratio, rngs=rngs)
        self.narrow = nnx.Linear(ratio * dim, dim, rngs=rngs)
        self.gated = nnx.Linear(dim, 2 * dim, rngs=rngs)
    def __call__(self, v):
        v = self.narrow(jax.nn.silu(self.wide(v)))
        gate, v = jnp.split(self.gated(v), 2, axis=-1)
        return self.wide(nnx.sigmoid(gate) * v)
print(Block(3, 2, nnx.Rngs(0))(x).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, dim, rngs):
        self.wide = nnx.Linear(dim, 2 * dim, rngs=rngs)
        dim = 2 * dim
        self.narrow = nnx.Linear(dim, 3, rngs=rngs)
    def __call__(self, v):
        return self.narrow(nnx.relu(self.wide(v)))
print(Block(3, nnx.Rngs(0))(x).shape)
""",
            """\
def run(layer, v):
    return layer(v)
print(run(nnx.Linear(3, 4, rngs=nnx.Rngs(1)), jnp.ones((2, 3))))
print(run(nnx.Linear(5, 4, rngs=nnx.Rngs(2)), jnp.ones((2, 5))))
for width in (3, 5):
    layer = nnx.Linear(width, 4, rngs=nnx.Rngs(width))
    print(layer(jnp.ones((2, width))).shape)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.features = nnx.Sequential(nnx.Conv(1, 8, (3, 3), rngs=rngs), nnx.relu)
    def __call__(self, x):
        return self.features(x).mean((1, 2))
def digits(n):
    return np.zeros((n, 784), np.float32).reshape(-1, 28, 28, 1)
print(Net(nnx.Rngs(0))(digits(4)).shape)
""",
            """\
class C(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 8, kernel_size=(3, 3), rngs=rngs)
    def __call__(self, x):
        return self.conv(x)
def load(n):
    flat = np.arange(n * 192, dtype=np.uint8)
    images = flat.reshape(n, 3, 8, 8).transpose(0, 2, 3, 1)
    return images.astype(np.float32) / 255.0, np.arange(n)
def minibatches(images, labels, size):
    for i in range(0, len(images), size):
        yield jnp.asarray(images[i : i + size]), jnp.asarray(labels[i : i + size])
def loss_fn(net, batch):
    images, labels = batch
    return net(images).mean()
images, labels = load(4)
for batch in minibatches(images, labels, 2):
    print(loss_fn(C(nnx.Rngs(7)), batch))
""",
            """\
class C(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 8, kernel_size=(3, 3), rngs=rngs)
    def __call__(self, x):
        return self.conv(x)
class Data:
    def __init__(self, flat):
        self.images = flat.reshape(len(flat), 3, 8, 8)
        self.images = np.moveaxis(self.images, 1, -1)
    def batches(self, size):
        for i in range(0, 4, size):
            yield {"image": self.images[i : i + size], "number": i}
for batch in Data(np.ones((4, 192))).batches(2):
    print(C(nnx.Rngs(7))(batch["image"]).mean())
""",
            _FLAT.format(conv="8, (3, 3)", flat="n * 14 * 14").replace("  # NNX722", "")
            + "Flat(8)(jnp.ones((2, 28, 28, 1)))\n",
            _FLAT.format(conv="8, (3, 3), padding='VALID'", flat="n * 13 * 13").replace("  # NNX722", "")
            + "Flat(8)(jnp.ones((2, 28, 28, 1)))\n",
            _FLAT.format(conv="8, (3, 3), padding=1", flat="n * 14 * 14").replace("  # NNX722", "")
            + "Flat(8)(jnp.ones((2, 28, 28, 1)))\n",
            _FLAT.format(conv="8, (5, 5), strides=(2, 2)", flat="8 * (14 // 2) ** 2").replace("  # NNX722", "")
            + "Flat(8)(jnp.ones((2, 28, 28, 1)))\n",
            _FLAT.format(conv="8, (3, 3)", flat="8 * 14").replace("  # NNX722", "")
            + "jax.vmap(lambda v, net=Flat(8): net(v))(jnp.ones((2, 28, 28, 1)))\n",
            _FLAT.format(conv="8, (3, 3), kernel_dilation=2, padding='VALID'", flat="8 * 12 * 12").replace(
                "  # NNX722", ""
            )
            + "Flat(8)(jnp.ones((2, 28, 28, 1)))\n",
            _PAIR.format(up="3, 8", down="8, 2") + "        return self.down(nnx.relu(self.up(x)))\n",
            _PAIR.format(up="3, 8", down="16, 2") + "        h = self.up(x)\n"
            "        return self.down(jnp.concatenate([h, h], -1))\n",
            _PAIR.format(up="3, 8", down="16, 2") + "        return self.down(self.up(x).reshape(-1, 16))\n",
            "class C(nnx.Module):\n    def __init__(self, n, rngs):\n        self.a = nnx.Linear(3, n, rngs=rngs)\n"
            "        self.b = nnx.Linear(8, 2, rngs=rngs)\n    def __call__(self, x):\n"
            "        return self.b(self.a(x))\n"
            "def built(n):\n    return C(n, nnx.Rngs(7))\n",
            "class C(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.conv = nnx.Conv(3, 8, (3, 3), rngs=rngs)\n"
            "    def __call__(self, x):\n        return self.conv(x)\n"
            "C(nnx.Rngs(7))(jnp.zeros((1, 3, 32, 32)).transpose(0, 2, 3, 1))\n",
            _PAIR.format(up="3, 8", down="16, 2")
            + "        h = self.up(x)\n        for _ in range(2):\n            h = jnp.tile(h, 2)\n"
            "        return self.down(h[..., :16])\n",
            """\
class Net(nnx.Module):
    def __init__(self, hidden, rngs):
        one, two = nnx.GRUCell(3, hidden, rngs=rngs), nnx.GRUCell(3, hidden, rngs=rngs)
        self.both = nnx.Bidirectional(nnx.RNN(one), nnx.RNN(two))
        self.mean = nnx.Bidirectional(nnx.RNN(one), nnx.RNN(two), merge_fn=lambda a, b: (a + b) / 2)
        self.rnn = nnx.RNN(nnx.LSTMCell(6, hidden, rngs=rngs))
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, in_kv_features=6, decode=False, rngs=rngs)
        self.text = nnx.Linear(3, 6, rngs=rngs)
        self.wide = nnx.Linear(3, 8, rngs=rngs)
        self.out = nnx.Linear(2 * hidden, 2, rngs=rngs)
        self.few = nnx.Linear(hidden, 2, rngs=rngs)
    def __call__(self, v):
        both = self.out(self.both(v)) + self.few(self.mean(v)) + self.few(self.rnn(self.text(v)))
        return both, self.attn(self.wide(v), self.text(v))
print(Net(4, nnx.Rngs(0))(jnp.ones((2, 5, 3)))[1].shape)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, out_features=4, decode=False, rngs=rngs)
        self.wide = nnx.Linear(3, 8, rngs=rngs)
        self.out = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v):
        return self.out(self.attn(self.wide(v)))
print(Net(nnx.Rngs(0))(jnp.ones((2, 5, 3))).shape)
""",
        ),
    ),
    "NNX723": Cases(
        bad=(
            "state = nnx.state(model)\nprint(state['params']['kernel'])  # NNX723\n",
            "graphdef, params, rest = nnx.split(model, 'params', ...)  # NNX723\n",
            "params = nnx.state(model, 'batch_stats')  # NNX723\n",
            "opt = nnx.Optimizer(model, optax.sgd(0.1), wrt='params')  # NNX723\n",
        ),
        clean=(
            "state = nnx.state(model)\nprint(state['kernel'])\n",
            "graphdef, params, rest = nnx.split(model, nnx.Param, ...)\n",
            "streams = nnx.state(model, 'dropout')\n",
            "drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0, params=1))\nstreams = nnx.state(drop, 'params')\n",
            "class Holder(nnx.Module):\n    def __init__(self, rngs):\n        self.params = nnx.Param(jnp.ones(3))\n"
            "print(nnx.state(Holder(nnx.Rngs(7)))['params'])\n",
            "saved = {'params': nnx.state(model)}\nprint(saved['params']['kernel'])\n",
        ),
    ),
    "NNX724": Cases(
        bad=(
            "total = sum(jnp.sum(p.value ** 2) for p in jax.tree.leaves(nnx.state(model)))  # NNX724\n",
            "half = jax.tree.map(lambda p: p.value / 2, nnx.state(model, nnx.Param))  # NNX724\n",
            "params = nnx.state(model, nnx.Param)\nfor p in jax.tree_util.tree_leaves(params):\n"
            "    print(p.value.shape)  # NNX724\n",
            "def scaled(path, p):\n    return 2 * p.value  # NNX724\n"
            "params = jax.tree_util.tree_map_with_path(scaled, nnx.state(model))\n",
            """\
leaves, _ = jax.tree_util.tree_flatten(nnx.state(model, nnx.Param))
total = 0.0
for leaf in leaves:
    total += jnp.sum(leaf.value ** 2)  # NNX724
""",
            """\
params = nnx.state(model, nnx.Param)
norms = {str(path): p.value for path, p in jax.tree_util.tree_leaves_with_path(params)}  # NNX724
""",
        ),
        clean=(
            "total = sum(jnp.sum(p ** 2) for p in jax.tree.leaves(nnx.state(model)))\n",
            "held = lambda v: hasattr(v, 'value')\n"
            "half = jax.tree.map(lambda p: p.value / 2, nnx.state(model), is_leaf=held)\n",
            "def scaled(p):\n    return 2 * p.value if isinstance(p, nnx.Variable) else 2 * p\n"
            "params = jax.tree.map(scaled, nnx.state(model))\n",
            "class Cell:\n    value = 3\ntotal = sum(c.value for c in jax.tree.leaves([Cell(), Cell()]))\n",
            "for path, p in nnx.to_flat_state(nnx.state(model)):\n    print(path, p.shape)\n",
            """\
leaves, structure = jax.tree.flatten(nnx.state(model, nnx.Param))
print(sum(jnp.sum(leaf ** 2) for leaf in leaves), structure)
for path, p in jax.tree_util.tree_leaves_with_path(nnx.state(model)):
    print(path, p.shape)
""",
            """\
leaves, _ = jax.tree.flatten(nnx.state(model), is_leaf=lambda v: isinstance(v, nnx.Variable))
for leaf in leaves:
    print(leaf[...].shape)
""",
        ),
    ),
    "NNX725": Cases(
        bad=(
            _ORBAX + "def save(folder):\n    manager = ocp.CheckpointManager(folder)\n"
            "    manager.save(1, nnx.state(model))  # NNX725\n",
            _ORBAX + "manager = None\ndef main(folder):\n    manager = ocp.CheckpointManager(folder)\n"
            "    for step in range(3):\n        manager.save(step, {'model': nnx.state(model)})  # NNX725\n",
            _ORBAX + "class Saver:\n    def __init__(self, folder):\n"
            "        self.manager = ocp.CheckpointManager(folder)\n"
            "    def save(self, step):\n        _, state = nnx.split(model)\n"
            "        self.manager.save(step, state)  # NNX725\nsaver = Saver\n",
        ),
        clean=(
            _ORBAX + "def save(folder):\n    manager = ocp.CheckpointManager(folder)\n"
            "    try:\n        manager.save(1, args=ocp.args.StandardSave(nnx.state(model)))\n"
            "    except TypeError:\n        manager.save(1, nnx.state(model))\n",
            _ORBAX + "def save(folder):\n    manager = ocp.CheckpointManager(folder)\n"
            "    manager.save(1, args=ocp.args.StandardSave(nnx.state(model)))\n",
            _ORBAX + "def save(folder):\n    manager = ocp.CheckpointManager(folder, ocp.PyTreeCheckpointer())\n"
            "    manager.save(1, nnx.state(model))\n",
            _ORBAX + "def save(folder):\n    manager = ocp.CheckpointManager(folder)\n"
            "    manager.save(1, metrics={'loss': 1.0},"
            " args=ocp.args.StandardSave(nnx.state(model)))\n",
            _ORBAX + "def save(manager):\n    manager.save(1, nnx.state(model))\n",
        ),
    ),
    "NNX726": Cases(
        bad=(
            """\
from flax import linen
class Block(linen.Module):
    @linen.compact
    def __call__(self, x, train=True):
        return linen.BatchNorm(momentum=0.1, use_running_average=not train)(x)  # NNX726
""",
            "norm = nnx.BatchNorm(3, momentum=0.1, rngs=nnx.Rngs(7))  # NNX726\n",
            "m = 0.01\nnorm = nnx.BatchNorm(3, use_running_average=False, momentum=m, rngs=nnx.Rngs(7))  # NNX726\n",
            "Norm = partial(nnx.BatchNorm, momentum=0.1, rngs=nnx.Rngs(7))  # NNX726\nnorm = Norm(3)\n",
        ),
        clean=(
            """\
from flax import linen
class Pretrained(linen.Module):
    pretrained: bool = True
    @linen.compact
    def __call__(self, x, train=True):
        return linen.BatchNorm(momentum=0.1, use_running_average=not train)(x)
net = Pretrained()
print(net.apply(net.init(key, x[None], train=False), x[None], train=False))
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):  # its weights are those of a pretrained one
        self.norm = nnx.BatchNorm(3, use_running_average=True, momentum=0.1, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
print(Encoder(nnx.Rngs(0))(jnp.ones((2, 3))))
""",
            "norm = nnx.BatchNorm(3, momentum=0.9, rngs=nnx.Rngs(7))\n",
            "norm = nnx.BatchNorm(3, rngs=nnx.Rngs(7))\n",
            "def made(momentum):\n    return nnx.BatchNorm(3, momentum=momentum, rngs=nnx.Rngs(7))\n",
            "tx = optax.sgd(0.1, momentum=0.1)\n",
        ),
    ),
    "NNX727": Cases(
        bad=(
            """\
tx = optax.chain(optax.clip(1.0), optax.inject_hyperparams(optax.sgd)(learning_rate=0.1))
state = tx.init(x)
for i in range(2):
    _, state = tx.update(x, state, x)
    state.hyperparams["learning_rate"] = 0.01  # NNX727
""",
            "print(optimizer.opt_state.hyperparams['learning_rate'])  # NNX727\n",
            "tx = optax.adamw(optax.cosine_decay_schedule(0.1, 10))\nopt = nnx.Optimizer(model, tx, wrt=nnx.Param)\n"
            "def rate(opt):\n    return opt.opt_state.hyperparams  # NNX727\nprint(rate(opt))\n",
            "opt = nnx.Optimizer(model, optax.chain(optax.clip(1.0), optax.adam(0.1)), wrt=nnx.Param)\n"
            "opt.opt_state.hyperparams['learning_rate'][...] = 0.1  # NNX727\n",
            """\
class Trainer:
    def __init__(self, params):
        self.tx = optax.adamw(1e-3)
        self.opt_state = self.tx.init(params)
    def rate(self):
        return self.opt_state.hyperparams["learning_rate"]  # NNX727
trainer = Trainer({"w": x})
""",
        ),
        clean=(
            """\
tx = optax.chain(optax.clip(1.0), optax.inject_hyperparams(optax.sgd)(learning_rate=0.1))
state = tx.init(x)
for i in range(2):
    _, state = tx.update(x, state, x)
    state[1].hyperparams["learning_rate"] = jnp.float32(0.01)
""",
            """\
tx = optax.inject_hyperparams(optax.sgd)(learning_rate=0.1)
state = tx.init(x)
for i in range(2):
    _, state = tx.update(x, state, x)
    state.hyperparams["learning_rate"] = jnp.float32(0.01)
""",
            "tx = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)\n"
            "opt = nnx.Optimizer(model, tx, wrt=nnx.Param)\nprint(opt.opt_state.hyperparams['learning_rate'])\n",
            "def rate(opt):\n    return opt.opt_state.hyperparams\n",
            "print(optimizer.opt_state)\n",
            "tx = optax.chain(optax.clip(1.0), optax.inject_hyperparams(optax.sgd)(learning_rate=0.1))\n"
            "opt = nnx.Optimizer(model, tx, wrt=nnx.Param)\nprint(opt.opt_state[1].hyperparams)\n",
            """\
class Trainer:
    def __init__(self, params):
        self.tx = optax.inject_hyperparams(optax.adamw)(learning_rate=1e-3)
        self.opt_state = self.tx.init(params)
    def rate(self):
        return self.opt_state.hyperparams["learning_rate"]
print(Trainer({"w": x}).rate())
""",
            """\
class State:
    hyperparams = {"rate": 0.1}
class Own:
    def init(self, params):
        return State()
print(Own().init(x).hyperparams["rate"])
""",
        ),
    ),
    "NNX728": Cases(
        bad=(
            """\
import tempfile
import orbax.checkpoint as ocp
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(2)])
def run(path):
    first, fresh = MLP(nnx.Rngs(0)), MLP(nnx.Rngs(1))
    with ocp.StandardCheckpointer() as c:
        c.save(path, nnx.to_pure_dict(nnx.state(first)))
        c.wait_until_finished()
        weights = c.restore(path)
    nnx.update(fresh, weights)  # NNX728
""",
            """\
import tempfile
import orbax.checkpoint as ocp
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.relu)
def run(path):
    first, fresh = MLP(nnx.Rngs(0)), MLP(nnx.Rngs(1))
    with ocp.StandardCheckpointer() as c:
        c.save(path, nnx.to_pure_dict(nnx.state(first)))
        c.wait_until_finished()
        nnx.update(fresh, c.restore(path))  # NNX728
""",
            _RESTORE + "    nnx.update(model, c.restore(path))  # NNX728\n",
            _RESTORE + "    raw = c.restore(path)\n    nnx.update(model, raw)  # NNX728\n",
            _ORBAX + "tx = optax.adam(1e-3)\ndef step(grads, opt, params):\n"
            "    return tx.update(grads, opt, params)\n"
            "def main(path, params, grads, old):\n    c = ocp.StandardCheckpointer()\n"
            "    state = c.restore(path) if old else {'params': params, 'opt': tx.init(params)}  # NNX728\n"
            "    return step(grads, state['opt'], state['params'])\n",
        ),
        clean=(
            _RESTORE + "    graphdef, _ = nnx.split(model)\n    return nnx.merge(graphdef, c.restore(path))\n",
            """\
import tempfile
import orbax.checkpoint as ocp
class MLP(nnx.Module):
    def __call__(self, v):
        return self.layers(v)
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.relu)
def run(path):
    first = MLP(nnx.Rngs(0))
    graphdef, state = nnx.split(first)
    with ocp.StandardCheckpointer() as c:
        c.save(path, state)
        c.wait_until_finished()
        second = nnx.merge(graphdef, c.restore(path))
    assert (second(x) == first(x)).all()
run(tempfile.mkdtemp() + '/m')
""",
            """\
import tempfile
import orbax.checkpoint as ocp
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.relu)
def run(path):
    first, fresh = MLP(nnx.Rngs(0)), MLP(nnx.Rngs(1))
    with ocp.StandardCheckpointer() as c:
        c.save(path, nnx.to_pure_dict(nnx.state(first)))
        c.wait_until_finished()
        weights = c.restore(path)
    state = nnx.state(fresh)
    nnx.replace_by_pure_dict(state, weights)
    nnx.update(fresh, state)
run(tempfile.mkdtemp() + '/m')
""",
            """\
import tempfile
import orbax.checkpoint as ocp
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.relu)
def run(path):
    first, fresh = MLP(nnx.Rngs(0)), MLP(nnx.Rngs(1))
    with ocp.StandardCheckpointer() as c:
        c.save(path, nnx.to_pure_dict(nnx.state(first)))
        c.wait_until_finished()
        weights = c.restore(path, nnx.to_pure_dict(nnx.state(fresh)))
    nnx.update(fresh, weights)
run(tempfile.mkdtemp() + '/m')
""",
            """\
import tempfile
import orbax.checkpoint as ocp
class MLP(nnx.Module):
    def __init__(self, rngs):
        self.only = nnx.Linear(3, 3, rngs=rngs)
def run(path):
    first, fresh = MLP(nnx.Rngs(0)), MLP(nnx.Rngs(1))
    with ocp.StandardCheckpointer() as c:
        c.save(path, nnx.to_pure_dict(nnx.state(first)))
        c.wait_until_finished()
        weights = c.restore(path)
    nnx.update(fresh, weights)
run(tempfile.mkdtemp() + '/m')
""",
            _RESTORE + "    nnx.update(model, c.restore(path, nnx.state(model)))\n",
            _RESTORE + "    raw = c.restore(path)\n    return raw['kernel']['value']\n",
            *(
                _ORBAX + "tx = optax.adam(1e-3)\ndef step(state, grads):\n"
                "    updates, opt = tx.update(grads, state['opt'], state['params'])\n"
                "    return {'params': optax.apply_updates(state['params'], updates), 'opt': opt}\n"
                "def main(path, params, grads):\n    c = ocp.StandardCheckpointer()\n"
                "    c.save(path, {'params': params, 'opt': tx.init(params)})\n    state = c.restore(path)\n"
                + changed
                + "    for _ in range(3):\n        state = step(state, grads)\n    return state\n"
                for changed in (
                    "    state['opt'] = tx.init(state['params'])\n",
                    "    state = {**state, 'opt': tx.init(params)}\n",
                    "    state.update(opt=tx.init(params))\n",
                )
            ),
            _RESTORE.replace("nnx.state(model)", "nnx.to_pure_dict(nnx.state(model))")
            + "    nnx.update(model, c.restore(path))\n",
            "def loaded(c, path):\n    nnx.update(model, c.restore(path))\n",
        ),
    ),
    "NNX729": Cases(
        bad=(
            """\
def descend(params, grads, rate):
    for p, g in zip(params, grads):
        p = p - rate * g  # NNX729
    return params
print(descend([x, x], [x, x], 0.1))
""",
            """\
def descend(params, grads, rate):
    for name, p in params.items():
        p = p - rate * grads[name]  # NNX729
    return params
""",
            """\
def fit(v):
    w, b = jnp.ones(3), jnp.zeros(())
    for _ in range(3):
        dw, db = jax.grad(lambda w, b: (v @ w + b) ** 2, argnums=(0, 1))(w, b)
        for param, grad in zip([w, b], [dw, db]):
            param = param - 0.1 * grad  # NNX729
    return w, b
""",
            """\
layers = [jnp.ones(3), jnp.ones(3)]
grads = jax.grad(lambda layers: (layers[0] * layers[1]).sum())(layers)
for p, g in zip([jnp.ones(3), jnp.zeros(3)], grads):
    p -= 0.1 * g  # NNX729
""",
            "for path, m in nnx.iter_modules(model):\n    if isinstance(m, nnx.Linear):\n"
            "        m = nnx.Linear(3, 3, rngs=nnx.Rngs(7))  # NNX729\n",
            "def cut(net):\n    for name, child in nnx.iter_children(net):\n        child = None  # NNX729\n"
            "    return net\n",
            "for path, v in nnx.to_flat_state(nnx.state(model)):\n    v = jnp.zeros(3)  # NNX729\n",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.parts = nnx.List([nnx.Linear(3, 3, rngs=rngs)])
    def adapt(self, rngs):
        for part in self.parts:
            part = nnx.LoRA(3, 1, 3, base_module=part, rngs=rngs)  # NNX729
    def __call__(self, v):
        return self.parts[0](v)
""",
        ),
        clean=(
            """\
def descend(params, grads, rate):
    new = []
    for p, g in zip(params, grads):
        p -= rate * g
        new.append(p)
    return new, [p - rate * g for p, g in zip(params, grads)]
print(descend([x, x], [x, x], 0.1))
""",
            """\
def descend(params, grads, rate):
    for name, g in grads.items():
        params[name] -= rate * g
    return params
print(descend({"w": x}, {"w": x}, 0.1))
""",
            """\
def descend(params, grads):
    for p, g in zip(params, grads):
        p -= 0.1 * g
    return params
print(descend([np.ones(3)], [np.ones(3)]))
""",
            """\
def dots(params, grads):
    total = 0.0
    for p, g in zip(params, grads):
        total += (p * g).sum()
    return total
print(dots([x], [x]))
""",
            """\
def last(params, grads):
    for p, g in zip(params, grads):
        p = p - 0.1 * g
    return p
print(last([x], [x]))
""",
            "for path, m in nnx.iter_graph(model):\n    print(path, m)\n",
            "for path, m in nnx.iter_graph(model):\n    m = getattr(m, 'inner', m)\n    print(m)\n",
            "for name, m in list(vars(model).items()):\n    print(name, m)\n",
            "for path, v in nnx.to_flat_state(nnx.state(model)):\n    v[...] = jnp.zeros_like(v[...])\n",
            "found = None\nfor path, m in nnx.iter_graph(model):\n    found = m\nprint(found)\n",
            """\
class Net:
    def __init__(self, rngs):
        self.parts = [3, 3]
        made = []
        for part in self.parts:
            part = nnx.Linear(3, part, rngs=rngs)
            made.append(part)
        self.layers = made
print(len(Net(nnx.Rngs(0)).layers))
""",
            """\
class Net:
    def __init__(self, rngs):
        self.sizes = (2, 4)
        for size in self.sizes:
            size = nnx.Linear(3, size, rngs=rngs)
        self.last = size
print(Net(nnx.Rngs(0)).last.out_features)
""",
        ),
    ),
    "NNX730": Cases(
        bad=(
            """\
class Stack(nnx.Module):
    def __init__(self, layers):
        layers = list(layers)  # NNX730
    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v
""",
            """\
class Loop:
    def __init__(self, model, rate):
        self.model = model
        tx = optax.adam(rate)  # NNX730
        wrt = nnx.Param
    def start(self):
        return nnx.Optimizer(self.model, self.tx, wrt=nnx.Param)
""",
            "class Two(nnx.Module):\n    def __init__(self, rngs):\n        self.fc1 = nnx.Linear(3, 3, rngs=rngs)\n"
            "    def __call__(self, x):\n        return self.fc_1(x)  # NNX730\nprint(Two(nnx.Rngs(7)))\n",
            "class Base(nnx.Module):\n    def __init__(self, rngs):\n        self.enc = nnx.Linear(3, 3, rngs=rngs)\n"
            "class Top(Base):\n    def __call__(self, x):\n        return self.encoder(x)  # NNX730\n"
            "print(Top(nnx.Rngs(7)))\n",
            "cell = nnx.GRUCell(3, 3, rngs=nnx.Rngs(7))\nh = cell.zero_state(3)  # NNX730\n",
            "print(model.shape)  # NNX730\n",
        ),
        clean=(
            """\
class Options:
    def __init__(self, rate, tx):
        steps = 3
        self.__dict__.update(locals())
    def all(self):
        return self.rate, self.steps
print(Options(0.1, None).rate)
""",
            """\
class Kept(nnx.Module):
    def __init__(self, rngs):
        linear = nnx.Linear(3, 3, rngs=rngs)
        self.call = jax.jit(lambda v: v * 2)
        self.other = linear
    def __call__(self, v):
        return self.other(self.call(v))
    linear = property(lambda self: self.other)
    def again(self, v):
        return self.linear(v)
print(Kept(nnx.Rngs(0)).again(x))
""",
            """\
class Late:
    def __init__(self, rate):
        scale = rate
    def set(self, scale):
        self.scale = scale
        return self.scale
print(Late(1.0).set(2.0))
""",
            "class Two(nnx.Module):\n    def __init__(self, rngs):\n        self.fc1 = nnx.Linear(3, 3, rngs=rngs)\n"
            "    def __call__(self, x):\n        return self.fc1(x)\nprint(Two(nnx.Rngs(7))(x))\n",
            "class Any(nnx.Module):\n    def __init__(self, rngs):\n        for i in range(2):\n"
            "            setattr(self, f'fc{i}', nnx.Linear(3, 3, rngs=rngs))\n    def __call__(self, x):\n"
            "        return self.fc1(self.fc0(x))\nprint(Any(nnx.Rngs(7))(x))\n",
            "class Base(nnx.Module):\n    def __call__(self, x):\n        return self.head(x)\nclass Top(Base):\n"
            "    def __init__(self, rngs):\n        self.head = nnx.Linear(3, 3, rngs=rngs)\n"
            "print(Top(nnx.Rngs(7))(x))\n",
            "class Open(nnx.Module):\n    def __call__(self, x):\n        return self.late * x\nopen_ = Open()\n"
            "open_.late = 3\nprint(open_(x))\n",
            "class Maybe(nnx.Module):\n    def __call__(self, x):\n"
            "        return self.bias + x if hasattr(self, 'bias') else x\n"
            "print(Maybe()(x))\n",
            "cell = nnx.GRUCell(3, 3, rngs=nnx.Rngs(7))\n"
            "print(cell.hidden_features, model.kernel.shape, model.in_features)\n",
            "class Kept(nnx.Module):\n    size: int = 3\n    @property\n    def twice(self):\n"
            "        return 2 * self.size\n"
            "print(Kept().twice)\n",
        ),
    ),
    "NNX731": Cases(
        bad=(
            """\
import flax.linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, quiet):
        v = nn.Dropout(0.5, deterministic=quiet)(v)
        v = nn.Dropout(0.5, deterministic=quiet)(v)
        return nn.Dropout(0.5)(v, deterministic=not quiet)  # NNX731
""",
            "class One(nnx.Module):\n    def __init__(self, rngs):\n        self.drop = nnx.Dropout(0.5, rngs=rngs)\n"
            "    def __call__(self, x, train=True):\n        return self.drop(x, deterministic=train)  # NNX731\n",
            "class One(nnx.Module):\n    def __init__(self, training, rngs):\n        self.training = training\n"
            "        self.norm = nnx.BatchNorm(3, rngs=rngs)\n    def __call__(self, x):\n"
            "        return self.norm(x, use_running_average=self.training)  # NNX731\n",
            "def attend(layer, x, deterministic):\n"
            "    return layer(x, use_running_average=not deterministic)  # NNX731\n",
            "def switch(net, is_training):\n"
            "    net.set_attributes(\n"
            "        deterministic=is_training  # NNX731\n"
            "    )\n",
            "training = True\nattention = nnx.MultiHeadAttention(2, 4, rngs=nnx.Rngs(7))\n"
            "attention(jnp.ones((2, 4)), decode=False, deterministic=training)  # NNX731\n",
            # given by its place, or under the name of the other
            _MODAL.format(takes="deterministic=True", drops="deterministic", gives="train", flag="train  # NNX731"),
            _MODAL.format(takes="train=True", drops="not train", gives="deterministic", flag="deterministic  # NNX731"),
            _MODAL.format(
                takes="training=True", drops="not training", gives="inference", flag="training=inference  # NNX731"
            ),
            "class One(nnx.Module):\n    def __init__(self, rngs):\n        self.norm = nnx.BatchNorm(3, rngs=rngs)\n"
            "    def __call__(self, x, train):\n        return self.norm(x, train)  # NNX731\n",
            "def dropped(layer, x, deterministic=True):\n    return layer(x, deterministic=deterministic)\n"
            "def step(layer, x, train):\n    return dropped(layer, x, train)  # NNX731\n",
        ),
        clean=(
            """\
import flax.linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, quiet):
        v = nn.Dropout(0.5, deterministic=quiet)(v)
        return nn.Dropout(0.5)(v, deterministic=quiet)
print(Net().apply({}, x, True))
""",
            """\
import flax.linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, quiet):
        if quiet:
            return nn.Dropout(0.5)(v, deterministic=quiet)
        return nn.Dropout(0.5)(v, deterministic=not quiet)
print(Net().apply({}, x, True))
""",
            "class One(nnx.Module):\n    def __init__(self, rngs):\n        self.drop = nnx.Dropout(0.5, rngs=rngs)\n"
            "    def __call__(self, x, train=True):\n        return self.drop(x, deterministic=not train)\n"
            "One(nnx.Rngs(7))(x)\n",
            "class One(nnx.Module):\n    def __init__(self, rngs):\n        self.norm = nnx.BatchNorm(3, rngs=rngs)\n"
            "    def __call__(self, x, train=True):\n        train = not train\n"
            "        return self.norm(x, use_running_average=train)\nOne(nnx.Rngs(7))(x)\n",
            "class One(nnx.Module):\n    def __init__(self, rngs):\n        self.drop = nnx.Dropout(0.5, rngs=rngs)\n"
            "    def __call__(self, x, deterministic=True):\n        return self.drop(x, deterministic=deterministic)\n"
            "One(nnx.Rngs(7))(x)\n",
            _MODAL.format(takes="deterministic=True", drops="deterministic", gives="train", flag="not train")
            + "Net(nnx.Rngs(7))(x, True)\n",
            _MODAL.format(takes="train=True", drops="not train", gives="train", flag="train")
            + "Net(nnx.Rngs(7))(x, True)\n",
            _MODAL.format(takes="deterministic=True", drops="deterministic", gives="train", flag="True")
            + "Net(nnx.Rngs(7))(x, True)\n",
            "class One(nnx.Module):\n    def __init__(self, rngs):\n        self.norm = nnx.BatchNorm(3, rngs=rngs)\n"
            "    def __call__(self, x, train):\n        return self.norm(x, not train)\nOne(nnx.Rngs(7))(x, True)\n",
            "def scored(data, inference):\n    return data.sum() if inference is None else data.mean()\n"
            "def both(train, test):\n    return scored(train, test), scored(test, train)\nboth(x, x)\n",
            "def run(train, test):\n    return {'fit': train, 'score': test}\nrun(train=x, test=x)\n",
            "def switch(net, inference):\n    net.set_attributes(deterministic=inference, raise_if_not_found=False)\n"
            "switch(model, True)\n",
            "dropout = nnx.Dropout(0.5, rngs=nnx.Rngs(7))\n"
            "for train in (True, False):\n    dropout(x, deterministic=not train)\n",
            """\
import flax.linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        y = nn.MultiHeadDotProductAttention(2, deterministic=train)(x, x)
        return nn.Dropout(0.1)(y, train)
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        return Block()(x, train=not train)
weights = Net().init(key, jnp.ones((2, 4, 4)))
""",
        ),
    ),
    "NNX946": Cases(
        bad=(
            """\
from flax import linen as nn
class Counting(nn.Module):
    @nn.compact
    def __call__(self, v):
        calls = self.variable("stats", "calls", lambda: jnp.zeros(()))
        calls.value = calls.value + 1
        return nn.Dense(4)(v)
counting = Counting()
variables = counting.init(jax.random.key(0), jnp.ones((2, 3)))
y = counting.apply(variables, jnp.ones((2, 3)))  # NNX946
""",
            _NORMED.replace("fixed", "train=True").replace("#", "# NNX946"),
            _NORMED.replace("fixed", "True").replace("#", "# NNX946"),
            _NORMED.replace("train=False):", "train=True):").replace(", fixed", "").replace("#", "# NNX946"),
            # the flag stands at the call of the layer, and the model in a TrainState
            """\
import flax.linen as nn
from flax.training.train_state import TrainState
class Net(nn.Module):
    def setup(self):
        self.norm = nn.BatchNorm()
    def __call__(self, x, deterministic):
        return self.norm(x, use_running_average=deterministic)
net = Net()
variables = net.init(key, jnp.ones((2, 3)), True)
state = TrainState.create(apply_fn=net.apply, params=variables["params"], tx=optax.sgd(0.1))
def forward(state, stats, v):
    return state.apply_fn({"params": state.params, "batch_stats": stats}, v, deterministic=False)  # NNX946
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Counting(nn.Module):
    @nn.compact
    def __call__(self, v):
        calls = self.variable("stats", "calls", lambda: jnp.zeros(()))
        if self.is_mutable_collection("stats"):
            calls.value = calls.value + 1
        return nn.Dense(4)(v)
counting = Counting()
variables = counting.init(jax.random.key(0), jnp.ones((2, 3)))
print(counting.apply(variables, jnp.ones((2, 3))).shape)
""",
            """\
from flax import linen as nn
class Counting(nn.Module):
    @nn.compact
    def __call__(self, v):
        calls = self.variable("stats", "calls", lambda: jnp.zeros(()))
        if not self.is_initializing():
            calls.value = calls.value + 1
        return nn.Dense(4)(v)
counting = Counting()
variables = counting.init(jax.random.key(0), jnp.ones((2, 3)))
print(counting.apply(variables, jnp.ones((2, 3)), mutable=["stats"])[1]["stats"])
""",
            _NORMED.replace("fixed", "train=False"),
            _NORMED.replace(", fixed", ""),
            _NORMED.replace("fixed", 'train=True, mutable=["batch_stats"]'),
            # a flag that is not known
            _NORMED.replace("fixed", "train=mode").replace(
                "forward(variables, v)", "forward(variables, v, mode=False)"
            ),
            # a layer that a setting leaves out
            _NORMED.replace("fixed", "train=True")
            .replace("Net()", "Net(False)")
            .replace("    @nn.compact", "    normed: bool = True\n    @nn.compact")
            .replace("        x = nn.Batch", "        if self.normed:\n            x = nn.Batch"),
            _NORMED.replace("fixed", "train=True").replace("use_running_average=not train", "use_running_average=True"),
        ),
    ),
    "NNX732": Cases(
        bad=(
            """\
def mask_of(n):
    causal_mask = jnp.triu(jnp.ones((n, n), dtype=bool))  # NNX732
    return causal_mask[None, None]
""",
            """\
def attend(scores):
    n = scores.shape[-1]
    causal = jnp.triu(jnp.ones((n, n)), k=0).astype(bool)  # NNX732
    return scores * causal
""",
            "def causal(n):\n    return jnp.triu(jnp.ones((n, n)), k=1).astype(bool)\n"
            "q = jnp.ones((1, 4, 2, 3))\n"
            "nnx.dot_product_attention(q, q, q, mask=causal(4)[None, None])  # NNX732\n",
            "class One(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.attention = nnx.MultiHeadAttention(2, 4, decode=False, rngs=rngs)\n"
            "    def __call__(self, v):\n        seen = jnp.tril(jnp.ones((4, 4)))\n"
            "        return self.attention(v, mask=seen == 0)  # NNX732\n"
            "One(nnx.Rngs(7))(jnp.ones((4, 4)))\n",
            "q = jnp.ones((1, 4, 2, 3))\nbias = jnp.where(np.tril(np.ones((4, 4))), 0.0, -jnp.inf)\n"
            "nnx.dot_product_attention(q, q, q, mask=bias)  # NNX732\n",
            "q = jnp.ones((1, 4, 2, 3))\nlater = jnp.triu(jnp.full((4, 4), 1), 1) > 0.5\n"
            "jax.nn.dot_product_attention(q, q, q, mask=jnp.expand_dims(later, (0, 1)))  # NNX732\n",
            "q = jnp.ones((1, 4, 2, 3))\nadded = (1 - jnp.tril(jnp.ones((4, 4)))) * -1e9\n"
            "nnx.dot_product_attention(q, q, q, mask=added)  # NNX732\n",
            # padding, by the number that fills up, by its place behind the end, and as a part of a mask
            _ENCODER + "    def __call__(self, tokens):\n        is_pad = tokens == PAD\n"
            "        return self.attention(self.embed(tokens), mask=is_pad[:, None, None])  # NNX732\n"
            "Encoder(nnx.Rngs(7))(tokens)\n",
            _ENCODER + "    def __call__(self, tokens, mask=None):\n"
            "        return self.attention(self.embed(tokens), mask=mask)  # NNX732\n"
            "hidden = jnp.equal(tokens, 0)\n"
            "Encoder(nnx.Rngs(7))(tokens, mask=jnp.expand_dims(hidden, (1, 2)))\n",
            _ENCODER + "    def __call__(self, batch):\n        mask = batch['hidden'][:, None, None, :]\n"
            "        return self.attention(self.embed(batch['ids']), mask=mask)  # NNX732\n"
            "def collate(tokens, lengths):\n"
            "    return {'ids': tokens, 'hidden': jnp.arange(4)[None] >= lengths[:, None]}\n"
            "Encoder(nnx.Rngs(7))(collate(tokens, jnp.array([3, 2])))\n",
            "def masked(cfg, ids):\n    positions = jnp.arange(ids.shape[1])\n"
            "    return nnx.combine_masks(nnx.make_causal_mask(ids), (ids == cfg['pad_token_id'])[:, None, None])\n"
            "q = jnp.ones((2, 4, 2, 3))\n"
            "m = masked({'pad_token_id': 0}, jnp.array([[5, 8, 2, 0], [7, 3, 0, 0]]))\n"
            "nnx.dot_product_attention(q, q, q, None, m)  # NNX732\n",
            "q, lengths = jnp.ones((2, 4, 2, 3)), jnp.array([3, 2])\n"
            "outside = lengths[:, None] <= jnp.arange(4)\n"
            "jax.nn.dot_product_attention(q, q, q, mask=outside[:, None, None, :])  # NNX732\n",
            "q, pad_id, words = jnp.ones((2, 4, 2, 3)), 0, np.array([[5, 8, 2, 0], [7, 3, 0, 0]])\n"
            "hidden = (pad_id == words)[:, None, None] | jnp.triu(jnp.ones((4, 4), bool), k=1)\n"
            "nnx.dot_product_attention(q, q, q, mask=hidden)  # NNX732\n",
            "q, src = jnp.ones((2, 4, 2, 3)), jnp.array([[5, 8, 2, 0], [7, 3, 0, 0]])\n"
            "pair = nnx.make_attention_mask(src > 0, src == 0)\n"
            "nnx.dot_product_attention(q, q, q, mask=pair)  # NNX732\n",
            "import flax.linen as nn\nclass Old(nn.Module):\n    @nn.compact\n    def __call__(self, ids, pad_idx=0):\n"
            "        h = nn.Embed(9, 4)(ids)\n        hidden = ~(ids != pad_idx)\n"
            "        return nn.MultiHeadDotProductAttention(2)(h, h, mask=hidden[:, None, None])  # NNX732\n"
            "Old().init_with_output(jax.random.key(7), jnp.array([[5, 8, 2, 0]]))\n",
            """\
def attend(q, k, v, tokens, pad_id):
    keep = tokens != pad_id
    return nnx.dot_product_attention(q, k, v, mask=keep[:, None, :, None])  # NNX732
""",
            """\
class E(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
    def __call__(self, h, tokens):
        mask = (tokens > 0)[:, None, :, jnp.newaxis]
        return self.attn(h, mask=mask)  # NNX732
""",
            """\
class E(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
    def __call__(self, h, tokens):
        mask = self.make_mask(tokens)
        return self.attn(h, mask=mask)  # NNX732
    def make_mask(self, tokens):
        return jnp.not_equal(tokens, 0)[:, None, :, None]
""",
        ),
        clean=(
            """\
def hidden_of(n):
    causal_mask = jnp.triu(jnp.ones((n, n), dtype=bool), k=1)
    return ~causal_mask
print(hidden_of(3))
""",
            """\
def mask_of(n):
    causal = jnp.triu(jnp.ones((n, n)))
    return causal.T
print(mask_of(3))
""",
            """\
def hidden(scores):
    n = scores.shape[-1]
    causal = jnp.triu(jnp.ones((n, n)), k=1)
    return jnp.where(causal, -jnp.inf, scores)
print(hidden(jnp.ones((3, 3))))
""",
            """\
def upper(n):
    factor = jnp.triu(jnp.ones((n, n)))
    return factor @ factor
print(upper(3))
""",
            """\
def attend(q, k, v, tokens, pad_id):
    keep = tokens != pad_id
    return nnx.dot_product_attention(q, k, v, mask=keep[:, None, None, :])
print(attend(jnp.ones((1, 3, 2, 4)), jnp.ones((1, 3, 2, 4)), jnp.ones((1, 3, 2, 4)), jnp.array([[1, 2, 0]]), 0).shape)
""",
            """\
class E(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
    def __call__(self, h, tokens):
        mask = (tokens > 0)[:, None, jnp.newaxis, :]
        return self.attn(h, mask=mask)
print(E(nnx.Rngs(0))(jnp.ones((1, 3, 8)), jnp.array([[1, 2, 0]])).shape)
""",
            """\
class E(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs)
    def __call__(self, h, tokens):
        mask = self.make_mask(tokens)
        return self.attn(h, mask=mask)
    def make_mask(self, tokens):
        return jnp.not_equal(tokens, 0)[:, None, None, :]
print(E(nnx.Rngs(0))(jnp.ones((1, 3, 8)), jnp.array([[1, 2, 0]])).shape)
""",
            """\
def attend(q, k, v, tokens, pad_id):
    keep = tokens != pad_id
    return nnx.dot_product_attention(q, k, v, mask=keep[:, None, :, None] & keep[:, None, None, :])
print(attend(jnp.ones((1, 3, 2, 4)), jnp.ones((1, 3, 2, 4)), jnp.ones((1, 3, 2, 4)), jnp.array([[1, 2, 0]]), 0).shape)
""",
            _ENCODER + "    def __call__(self, tokens):\n        keep = tokens != PAD\n"
            "        return self.attention(self.embed(tokens), mask=keep[:, None, None])\n"
            "Encoder(nnx.Rngs(7))(tokens)\n",
            _ENCODER + "    def __call__(self, tokens):\n        is_pad = tokens == PAD\n"
            "        seen = jnp.logical_not(is_pad)[:, None, None] & nnx.make_causal_mask(tokens).astype(bool)\n"
            "        return self.attention(self.embed(tokens), mask=seen)\n"
            "Encoder(nnx.Rngs(7))(tokens)\n",
            _ENCODER + "    def __call__(self, tokens, mask=None):\n"
            "        return self.attention(self.embed(tokens), mask=mask)\n"
            "Encoder(nnx.Rngs(7))(tokens, mask=~jnp.equal(tokens, 0)[:, None, None])\n"
            "Encoder(nnx.Rngs(7))(tokens)\n",
            "q, lengths = jnp.ones((2, 4, 2, 3)), jnp.array([3, 2])\n"
            "jax.nn.dot_product_attention(q, q, q, mask=(jnp.arange(4) < lengths[:, None])[:, None, None])\n",
            "q, pad_lengths = jnp.ones((2, 4, 2, 3)), jnp.array([1, 2])  # filled up on the left\n"
            "jax.nn.dot_product_attention(q, q, q, mask=(jnp.arange(4) >= pad_lengths[:, None])[:, None, None])\n",
            "q, n, lengths = jnp.ones((2, 4, 2, 3)), 4, jnp.array([3, 2])  # filled up on the left\n"
            "jax.nn.dot_product_attention(q, q, q, mask=(jnp.arange(n) >= n - lengths[:, None])[:, None, None])\n",
            "q, padded = jnp.ones((2, 4, 2, 3)), jnp.array([[0, 0, 0, 1], [0, 0, 1, 1]])\n"
            "nnx.dot_product_attention(q, q, q, mask=(padded == 0)[:, None, None])\n"
            "pad = padded\nnnx.dot_product_attention(q, q, q, mask=(pad == 0)[:, None, None])\n",
            "q, token_type_ids = jnp.ones((2, 4, 2, 3)), jnp.array([[0, 0, 1, 1], [0, 1, 1, 1]])\n"
            "nnx.dot_product_attention(q, q, q, mask=(token_type_ids == 0)[:, None, None])\n",
            "q, segments = jnp.ones((2, 4, 2, 3)), jnp.array([[1, 1, 2, 0], [1, 2, 2, 2]])\n"
            "same = nnx.make_attention_mask(segments, segments, jnp.equal)\n"
            "nnx.dot_product_attention(q, q, q, mask=same)\n",
            "q, ids = jnp.ones((2, 4, 2, 3)), jnp.array([[5, 8, 2, 0], [7, 3, 0, 0]])\n"
            "bias = jnp.where((ids == 0)[:, None, None], -1e9, 0.0)  # which is added\n"
            "nnx.dot_product_attention(q, q, q, bias)\n",
            "q, ids, pad_id = jnp.ones((2, 4, 2, 3)), jnp.array([[5, 8, 2, 0], [7, 3, 0, 0]]), 0\n"
            "nnx.dot_product_attention(q, q, q, mask=~((ids == pad_id)[:, None, None] | (ids == 5)[:, None, None]))\n",
            "q, ids, causal = jnp.ones((2, 4, 2, 3)), jnp.array([[5, 8, 2, 0], [7, 3, 0, 0]]), True\n"
            "seen = jnp.ones((2, 1, 1, 4), bool) if causal else (ids == 0)[:, None, None]\n"
            "nnx.dot_product_attention(q, q, q, mask=seen)\n",
            "def count(v, mask):\n    return (v * mask).sum()\ntokens = jnp.array([[5, 0], [0, 0]])\n"
            "count(tokens, mask=tokens == 0)\n",
            "q = jnp.ones((1, 4, 2, 3))\nlater = jnp.triu(jnp.ones((4, 4), bool), k=1)\n"
            "nnx.dot_product_attention(q, q, q, mask=~later)\n",
            "q = jnp.ones((1, 4, 2, 3))\nseen = jnp.tril(jnp.ones((4, 4)))[None, None].astype(bool)\n"
            "jax.nn.dot_product_attention(q, q, q, mask=seen)\n",
            "q = jnp.ones((1, 4, 2, 3))\nlater = jnp.triu(jnp.ones((4, 4)), k=1)\n"
            "nnx.dot_product_attention(q, q, q, mask=later == 0)\n",
            "q = jnp.ones((1, 4, 2, 3))\nadded = jnp.where(jnp.tril(jnp.ones((4, 4))), 0.0, -1e9)\n"
            "nnx.dot_product_attention(q, q, q, bias=added[None, None])\n",
            "q = jnp.ones((1, 4, 2, 3))\nbehind = jnp.triu(jnp.ones((4, 4), bool))\n"
            "nnx.dot_product_attention(q, q, q, mask=behind)  # from the end of a sequence on\n",
            "def attend(v, mask):\n    return v.at[jnp.where(mask)].set(0)\n"
            "attend(jnp.ones((4, 4)), mask=jnp.triu(jnp.ones((4, 4), bool), k=1))\n",
        ),
    ),
    "NNX994": Cases(
        bad=(
            """\
def filled(tree):
    def f(leaf):
        if leaf is None:
            return -100.0
        return jnp.max(leaf)
    return jax.tree.map(f, tree)  # NNX994
print(filled({"a": x, "b": None}))
""",
            "rates = {'w': 2.0, 'b': None}\n"
            "out = jax.tree.map(lambda m, g: g if m is None else m * g, rates, {'w': x, 'b': x})  # NNX994\n",
            "def or_zero(state):\n    if state is None:\n        return 0.0\n    return state.sum()\n"
            "def totals(tree):\n    return jax.tree_util.tree_map(or_zero, tree)  # NNX994\n",
            "def blend(old, new):\n    if old is not None:\n        return 0.9 * old + 0.1 * new\n    return new\n"
            "def blended(olds, news):\n    return jax.tree.map(blend, olds, news)  # NNX994\n",
            "class Masks:\n    def fill(self, mask, value):\n        if mask is None:\n"
            "            mask = jnp.ones_like(value)\n        return mask * value\n"
            "    def apply(self, masks, values):\n        return jax.tree.map(self.fill, masks, values)  # NNX994\n",
            "def given(tree):\n    return jax.tree.map(lambda leaf: leaf is not None, tree)  # NNX994\n",
        ),
        clean=(
            """\
def largest(tree):
    def f(leaf):
        if leaf is None:
            return -100.0
        return jnp.max(leaf)
    return jax.tree.reduce(lambda a, b: jnp.maximum(a, b), jax.tree.map(f, tree), -100.0)
print(largest({"a": x, "b": None}))
""",
            "rates = {'w': 2.0, 'b': None}\nout = jax.tree.map(lambda m, g: g if m is None else m * g, rates,\n"
            "                   {'w': x, 'b': x}, is_leaf=lambda leaf: leaf is None)\n",
            # None reaches the function from the further trees
            "rates = {'w': 2.0, 'b': None}\n"
            "out = jax.tree.map(lambda g, m: g if m is None else m * g, {'w': x, 'b': x}, rates)\n",
            # what gives None for None does so anyhow
            "print(jax.tree.map(lambda leaf: None if leaf is None else leaf + 1, {'w': x, 'b': None}))\n"
            "print(jax.tree.map(lambda a, b: a + b if a is not None else None, {'w': x, 'b': None}, "
            "{'w': x, 'b': None}))\n",
            # used by itself, too
            "def or_zero(state):\n    if state is None:\n        return 0.0\n    return state.sum()\n"
            "print(jax.tree.map(or_zero, {'w': x}), or_zero(None))\n",
            "def guarded(leaf):\n    if leaf is None:\n        raise ValueError('no leaf')\n    return leaf + 1\n"
            "print(jax.tree.map(guarded, {'w': x}))\n",
            "def doubled(leaf, scale=None):\n    return 2 * leaf if scale is None else scale * leaf\n"
            "print(jax.tree.map(doubled, {'w': x}))\n",
            "pairs = list(map(lambda one: 0.0 if one is None else one, [1.0, None]))\nprint(pairs)\n",
            # nothing puts None there
            "def cleaned(params):\n    grads = jax.grad(lambda p: p['w'].sum())(params)\n"
            "    return jax.tree.map(lambda g, p: g if g is not None else jnp.zeros_like(p), grads, params)\n"
            "print(cleaned({'w': x}))\n",
            "specs = nnx.get_partition_spec(nnx.state(model))\n"
            "print(jax.tree.map(lambda s: 'all' if s is None else str(s), specs))\n",
            "def pulled(v):\n    _, pull = jax.vjp(jnp.sin, v)\n    (back,) = pull(v)\n"
            "    return jax.tree.map(lambda g: 0.0 if g is None else g, back)\nprint(pulled(x))\n",
        ),
    ),
    "NNX995": Cases(
        bad=(
            _PALLAS + "def kernel(v_ref, o_ref):\n    o_ref[...] += v_ref[...]  # NNX995\nsummed(kernel)(tall)\n",
            _PALLAS + "def kernel(v_ref, w_ref, total, *, scale):\n"
            "    total[...] = total[...] + scale * v_ref[...] * w_ref[...]  # NNX995\n"
            "summed(partial(kernel, scale=2.0), 2)(tall, tall)\n",
            _PALLAS + "from jax.experimental.pallas import tpu as pltpu\n"
            "def kernel(v_ref, out_ref, acc_ref):\n    acc_ref[...] += v_ref[...]  # NNX995\n"
            "    @pl.when(pl.program_id(0) == 1)\n    def _():\n        out_ref[...] = acc_ref[...]\n"
            "def scratched(v):\n    return pl.pallas_call(kernel, grid=(2,), in_specs=[BLOCK], out_specs=WHOLE,\n"
            "                          out_shape=SHAPE, scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)])(v)\n",
            _PALLAS + "def kernel(v_ref, o_ref):\n    def body(i, carry):\n"
            "        o_ref[i, :] += v_ref[i, :]  # NNX995\n        return carry\n"
            "    jax.lax.fori_loop(0, 8, body, 0)\nsummed(kernel)(tall)\n",
            "from jax.experimental import pallas as pl\n"
            "def body(x_ref, y_ref):\n"
            "    total = y_ref[0] + x_ref[pl.program_id(0)]\n"
            "    y_ref[0] = total  # NNX995\n"
            "shape = jax.ShapeDtypeStruct((1,), jnp.float32)\n"
            "print(pl.pallas_call(body, grid=(3,), out_shape=shape, interpret=True)(x))\n",
        ),
        clean=(
            _PALLAS + "def kernel(v_ref, o_ref):\n    @pl.when(pl.program_id(0) == 0)\n    def _():\n"
            "        o_ref[...] = jnp.zeros_like(o_ref)\n    o_ref[...] += v_ref[...]\nprint(summed(kernel)(tall))\n",
            _PALLAS + "def kernel(v_ref, o_ref):\n    first = pl.program_id(0) == 0\n"
            "    o_ref[...] = jnp.where(first, v_ref[...], o_ref[...] + v_ref[...])\nprint(summed(kernel)(tall))\n",
            _PALLAS + "def kernel(v_ref, b_ref, o_ref):\n    o_ref[...] += v_ref[...]\n"
            "print(pl.pallas_call(kernel, grid=(2,), in_specs=[BLOCK, WHOLE], out_specs=WHOLE, out_shape=SHAPE,\n"
            "                     input_output_aliases={1: 0}, interpret=True)(tall, jnp.zeros((8, 128))))\n",
            _PALLAS + "def kernel(v_ref, o_ref):\n    o_ref[...] = v_ref[...] * 2\n    o_ref[...] += 1.0\n"
            "print(summed(kernel)(tall))\n",
            _PALLAS + "def clear(ref):\n    ref[...] = jnp.zeros(ref.shape)\ndef kernel(v_ref, o_ref):\n"
            "    @pl.when(pl.program_id(0) == 0)\n    def _():\n        clear(o_ref)\n"
            "    o_ref[...] += v_ref[...]\nprint(summed(kernel)(tall))\n",
            "from jax.experimental import pallas as pl\n"
            "def body(x_ref, y_ref):\n"
            "    total = 2 * x_ref[...]\n"
            "    total = total + 1.0\n"
            "    y_ref[...] = total\n"
            "shape = jax.ShapeDtypeStruct((3,), jnp.float32)\n"
            "print(pl.pallas_call(body, out_shape=shape, interpret=True)(x))\n",
        ),
    ),
    "NNX993": Cases(
        bad=(
            _VIDEO.replace("np.int16", "np.uint8").replace("abs(b - a))", "abs(b - a))  # NNX993"),
            _VIDEO.replace("np.int16", "np.uint8")
            .replace("abs(b - a))", "square(b - a))  # NNX993")
            .replace("zip(video, video[1:])", "zip(video[:-1], video[1:], strict=True)"),
            "def clip():\n    frames = np.empty((4, 8, 8), np.uint8)\n    for t in range(4):\n"
            "        frames[t] = np.full((8, 8), 10 * t)\n    return frames\n"
            "@jax.jit\ndef motion(frames):\n    diff = frames[1:] - frames[:-1]  # NNX993\n"
            "    return jnp.abs(diff).mean()\nprint(motion(jnp.asarray(clip())))\n",
            "def distance(a, b):\n    return jnp.sqrt(jnp.sum((a - b).astype(jnp.float32) ** 2))  # NNX993\n"
            "print(distance(x.astype(jnp.uint16), jnp.uint16(x)))\n",
            "rng = np.random.default_rng(0)\nimages = jnp.asarray(rng.integers(0, 255, (2, 4, 4), dtype=np.uint8))\n"
            "one, two = images[0], images[1]\nprint((one - two).mean(), two - one > 10)  # NNX993 NNX993\n",
            "class Pairs:\n    def __init__(self, key):\n"
            "        self.images = jax.random.randint(key, (2, 4, 4), 0, 999, dtype='uint16')\n"
            "    def loss(self):\n        left, right = self.images[0], self.images[1]\n"
            "        return jnp.square(left.reshape(-1) - right.reshape(-1)).mean()  # NNX993\n"
            "print(Pairs(key).loss())\n",
            "times = jnp.zeros(4, dtype=jnp.uint32)\nprint(jnp.linalg.norm(times[1:] - times[:-1]))  # NNX993\n",
            "from PIL import Image\n"
            "def error(a, b):\n"
            "    return ((a - b) ** 2).mean()  # NNX993\n"
            "def psnr(first, second):\n"
            '    a = np.array(Image.open(first).convert("RGB"))\n'
            '    b = np.array(Image.open(second).convert("RGB"))\n'
            "    return 10 * jnp.log10(255.0**2 / error(a, b))\n",
        ),
        clean=(
            _VIDEO,
            _VIDEO.replace("np.int16", "np.uint8").replace(
                "    out = []", "    out, video = [], video.astype(np.float32)"
            ),
            "frames = jnp.zeros((4, 8, 8), jnp.uint8)\n"
            "print(jnp.abs(frames[1:].astype(jnp.int32) - frames[:-1].astype(jnp.int32)).mean())\n",
            # a minuend that is never the smaller one
            "frames = jnp.zeros((4, 8, 8), jnp.uint8)\nprint((frames - frames.min()).mean())\n"
            "one, two = frames[0], frames[1]\nprint((jnp.maximum(one, two) - jnp.minimum(one, two)).mean())\n",
            "starts, ends = jnp.array([0, 3], dtype=jnp.uint32), jnp.array([3, 9], dtype=jnp.uint32)\n"
            "print((ends - starts).mean(), ends - starts > 4)\n",
            "frames = jnp.zeros((4, 8, 8), jnp.uint16)\nprint(jnp.abs(frames / 255 - frames.mean()).sum())\n"
            "print(jnp.any(frames[1:] - frames[:-1] != 0))\n",
            "def mixed(bits, more):\n    bits = bits ^ (bits >> 7)\n    return jnp.square(bits - more)\n"
            "print(mixed(jax.random.bits(key, (4,)), jnp.arange(4, dtype=jnp.uint32)))\n",
            "def change(before, after):\n    return jnp.abs(after - before).mean()\n"
            "print(change(x, 2 * x), change(jnp.zeros(3, jnp.uint8), x))\n",
            "frames = jnp.zeros((4, 8, 8), jnp.uint8)\nframes = frames.astype(jnp.float32)\n"
            "print(jnp.abs(frames[1:] - frames[:-1]).mean(), jnp.abs(x.astype(jnp.int8) - x.astype(jnp.int8)))\n",
            "try:\n"
            "    from PIL import Image\n"
            "except ImportError:\n"
            "    Image = None\n"
            "def error(a, b):\n"
            "    return ((a - b) ** 2).mean()\n"
            "def psnr(first, second):\n"
            '    a = np.array(Image.open(first).convert("RGB"), dtype=np.float32)\n'
            '    b = np.array(Image.open(second).convert("RGB")) / 1.0\n'
            "    return 10 * jnp.log10(255.0**2 / error(a, b))\n"
            "print(error(x, x))\n",
        ),
    ),
    "NNX996": Cases(
        bad=(
            """\
from jax.sharding import PartitionSpec as P
def local(w, rows):
    errors = (rows @ w) ** 2
    return errors.mean()
def loss(w, rows):
    return jax.lax.psum(local(w, rows), "rows")  # NNX996
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("rows",))
total = jax.shard_map(loss, mesh=mesh, in_specs=(P(), P("rows")), out_specs=P())
""",
            """\
@partial(jax.pmap, axis_name="d")
def centred(x):
    mean = jax.lax.psum(jnp.mean(x, axis=0), "d")  # NNX996
    return x - mean
print(centred(jnp.ones((1, 4, 3))))
""",
            "def local(w, v, y):\n    return jax.lax.psum(jnp.mean((v @ w - y) ** 2), 'data')  # NNX996\n"
            "print(jax.vmap(local, (None, 0, 0), axis_name='data')(x, jnp.ones((4, 2, 3)), jnp.ones((4, 2))))\n",
            "@partial(jax.pmap, axis_name='batch')\ndef step(w, v):\n"
            "    def loss_fn(w):\n        return jnp.sum((v * w) ** 2)\n    error = (v - w).mean()\n"
            "    loss = jax.lax.psum(error, axis_name='batch')  # NNX996\n"
            "    return loss, jax.lax.pmean(jax.grad(loss_fn)(w), 'batch')\n",
            "from jax import lax\ndef metrics(loss, hits, axis):\n"
            "    return lax.psum((loss.mean(), hits.mean()), axis)  # NNX996\n",
            '@partial(jax.pmap, axis_name="batch")\n'
            "def step(params, v, y):\n"
            "    def loss(p):\n"
            "        return optax.l2_loss(v @ p, y).mean()\n"
            "    value, grads = jax.value_and_grad(loss)(params)\n"
            '    return jax.lax.psum(value, "batch"), jax.lax.psum(grads, axis_name="batch")  # NNX996 NNX996\n',
            "def loss(params, v, y):\n"
            "    return jnp.mean((v @ params - y) ** 2)\n"
            "def step(params, v, y):\n"
            "    grads = jax.grad(loss)(params, v, y)\n"
            '    return jax.tree.map(lambda g: jax.lax.psum(g, "dp"), grads)  # NNX996\n'
            'each = jax.pmap(step, axis_name="dp")\n',
        ),
        clean=(
            """\
from jax.sharding import PartitionSpec as P
def local(w, rows):
    errors = (rows @ w) ** 2
    return errors.sum()
def loss(w, rows):
    return jax.lax.psum(local(w, rows), "rows")
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("rows",))
total = jax.shard_map(loss, mesh=mesh, in_specs=(P(), P("rows")), out_specs=P())
assert total(x, jnp.ones((2, 3))) == 18
""",
            """\
@partial(jax.pmap, axis_name="d")
def centred(x):
    total = jax.lax.psum(jnp.sum(x, axis=0), "d")
    return x - total
print(centred(jnp.ones((1, 4, 3))))
""",
            """\
@partial(jax.pmap, axis_name="d")
def total_of_means(x):
    means = jax.lax.psum(jnp.mean(x, axis=0), "d")
    return means * 2
print(total_of_means(jnp.ones((1, 4, 3))))
""",
            "def local(w, v, y):\n    return jax.lax.pmean(jnp.mean((v @ w - y) ** 2), 'data')\n"
            "print(jax.vmap(local, (None, 0, 0), axis_name='data')(x, jnp.ones((4, 2, 3)), jnp.ones((4, 2))))\n",
            "def local(v):\n    return jax.lax.psum(jnp.mean(v), 'data') / jax.lax.psum(1, 'data')\n"
            "print(jax.vmap(local, axis_name='data')(jnp.ones((4, 2))))\n",
            "def local(v):\n    total = jax.lax.psum(v.mean(), 'data')\n    return 0.25 * total\n"
            "print(jax.vmap(local, axis_name='data')(jnp.ones((4, 2))))\n",
            "def local(v):\n    return jax.lax.psum(v.sum(), 'data'), jax.lax.psum(v.mean(axis=0), 'data')\n"
            "print(jax.vmap(local, axis_name='data')(jnp.ones((4, 2))))\n",
            # one loss of several, not the same one of other examples
            "def total(v):\n    return jax.lax.psum(jnp.mean(v), 'tasks')\n"
            "print(jax.vmap(total, axis_name='tasks')(jnp.ones((4, 2))))\n",
            "def local(v, share):\n    return jax.lax.psum(share * jnp.mean(v), 'data')\n"
            "print(jax.vmap(local, axis_name='data')(jnp.ones((4, 2)), jnp.full(4, 0.25)))\n",
            "def loss(params, v, y):\n"
            "    return jnp.sum((v @ params - y) ** 2)\n"
            "def step(params, v, y):\n"
            "    grads = jax.grad(loss)(params, v, y)\n"
            '    return jax.tree.map(lambda g: jax.lax.psum(g, "dp"), grads)\n'
            'print(jax.pmap(step, axis_name="dp")(jnp.ones((1, 3)), jnp.ones((1, 2, 3)), jnp.ones((1, 2))))\n',
            "def loss(params, v, y):\n"
            "    return jnp.mean((v @ params - y) ** 2), jnp.sum(y)\n"
            "def step(params, v, y):\n"
            "    (value, count), grads = jax.value_and_grad(loss, has_aux=True)(params, v, y)\n"
            '    return jax.lax.psum(count, "dp"), jax.lax.pmean(value, "dp"), jax.lax.pmean(grads, "dp")\n'
            'print(jax.pmap(step, axis_name="dp")(jnp.ones((1, 3)), jnp.ones((1, 2, 3)), jnp.ones((1, 2))))\n',
        ),
    ),
}

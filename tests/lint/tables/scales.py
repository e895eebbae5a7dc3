"""Steps, scales, sums and times of the wrong size, and what a network or a chain makes of them."""

from __future__ import annotations

from tests.lint.tables import Cases

_LOW = """\
def cast(tree, dtype):
    return jax.tree.map(lambda leaf: leaf.astype(dtype), tree)
def half(tree):
    return jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), tree)  # NNX947
def loss(params, rows):
    return ((rows.astype(params["w"].dtype) @ params["w"]).astype(jnp.float32) ** 2).mean()
rows = jnp.ones((2, 3))
"""
_KEPT = _LOW.replace("  # NNX947", "")
_TRAINED = """\
state = tx.init(params)
for _ in range(2):
    updates, state = tx.update(jax.grad(loss)(params, rows), state, params)
    params = optax.apply_updates(params, updates)
print(params)
"""
_CHAIN = """\
def logp(v):
    return -0.5 * jnp.sum(v**2)
def step(key, v):
    k1, k2 = jax.random.split(key)
    proposal = v + jax.random.normal(k1, v.shape)
"""
_PIECES = """\
def net(params, x):
    h = jax.nn.relu(x * params["w"] + params["b"])  # NNX951
    return h @ params["o"]
params = {"w": jnp.ones(4), "b": jnp.zeros(4), "o": jnp.ones(4)}
"""
_BENT = _PIECES.replace("  # NNX951", "")
_MESH = """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
"""
_CELL = """\
def cell(params, h, now):
    h = jnp.tanh(now @ params["x"] + h @ params["h"])
    return h, h
params = {"x": jnp.ones((3, 4)), "h": jnp.eye(4)}
rows = jnp.ones((5, 5, 3))
"""

CASES: dict[str, Cases] = {
    "NNX521": Cases(
        bad=(
            """\
def tables(n=1024, dim=8):
    speeds = 10000.0 ** (-jnp.arange(0, dim, 2) / dim)
    places = jnp.arange(n, dtype=jnp.bfloat16)  # NNX521
    angles = places[:, None] * speeds
    return jnp.cos(angles), jnp.sin(angles)
tables()
""",
            """\
class Steps:
    def __init__(self, steps=1000, dtype=jnp.bfloat16):
        self.steps, self.dtype = steps, dtype
    def draw(self, k):
        return jax.random.randint(k, (4,), 0, self.steps).astype(self.dtype)  # NNX521
def embed(t, dim=8):
    angles = jnp.outer(t, jnp.exp(-jnp.arange(dim // 2) / dim))
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)
embed(Steps().draw(key))
""",
            """\
LENGTH = 4096
def rotary(speeds):
    angles = jnp.einsum("i,j->ij", jnp.asarray(jnp.arange(LENGTH), jnp.float16), speeds)  # NNX521
    angles = jnp.concatenate([angles, angles], axis=-1)
    return jnp.sin(angles)
rotary(jnp.ones(4))
""",
            """\
def mask(lengths, n=512):
    return jnp.arange(n, dtype="bfloat16")[None, :] < lengths[:, None]  # NNX521
mask(jnp.array([300, 400]))
""",
        ),
        clean=(
            """\
def tables(n=1024, dim=8):
    speeds = 10000.0 ** (-jnp.arange(0, dim, 2, dtype=jnp.bfloat16) / dim)
    angles = jnp.arange(n, dtype=jnp.float32)[:, None] * speeds
    return jnp.cos(angles).astype(jnp.bfloat16), jnp.sin(angles).astype(jnp.bfloat16)
tables()
""",
            """\
def patches(side=14):
    return jnp.sin(jnp.arange(side * side, dtype=jnp.bfloat16)[:, None] * jnp.ones(4, jnp.bfloat16))
patches()
""",
            """\
def tables(places, speeds):
    return jnp.sin(places.astype(jnp.bfloat16)[:, None] * speeds)
tables(jnp.arange(200), jnp.ones(4))
""",
            """\
def turn(n=1000):
    return jnp.sin((jnp.arange(n) / n * 2 * jnp.pi).astype(jnp.bfloat16))
turn()
""",
            """\
def mask(lengths, n=512):
    return (jnp.arange(n)[None, :] < lengths[:, None]).astype(jnp.bfloat16)
mask(jnp.array([300, 400]))
""",
            """\
def ramp(n=1000):
    return jnp.arange(n, dtype=jnp.bfloat16).reshape(10, 100) @ jnp.ones((100, 2), jnp.bfloat16)
ramp()
""",
        ),
    ),
    "NNX525": Cases(
        bad=(
            """\
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
np.save("/tmp/boxed_one.npy", params)
loaded = np.load("/tmp/boxed_one.npy", allow_pickle=True)
print(loaded["w"])  # NNX525
""",
            """\
class Store:
    def __init__(self, path):
        self.path = path
    def save(self, params):
        np.save(self.path, jax.device_get(params))
    def load(self):
        return np.load(self.path, allow_pickle=True)
def predict(params, v):
    return v @ params["w"]  # NNX525
store = Store("/tmp/boxed_two.npy")
store.save({"w": jnp.ones((3, 2)), "b": jnp.zeros(2)})
predict(store.load(), x)
""",
            """\
state = dict(step=jnp.array(0), mean=jnp.zeros(3))
for _ in range(2):
    state = jax.tree.map(lambda leaf: leaf + 1, state)
np.save("/tmp/boxed_three", state)
state = np.load("/tmp/boxed_three.npy")  # NNX525
""",
            """\
def keep(path):
    np.save(path, {f"layer_{i}": np.ones(3) for i in range(2)})
def read(path):
    return {name: 2 * leaf for name, leaf in np.load(path, allow_pickle=True).items()}  # NNX525
keep("/tmp/boxed_four.npy")
read("/tmp/boxed_four.npy")
""",
        ),
        clean=(
            """\
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
np.save("/tmp/boxed_ten.npy", np.stack([params["w"], params["w"]]))
both = np.load("/tmp/boxed_ten.npy")
loaded = {"w": both[0], "v": both[1]}
print(loaded["w"])
""",
            """\
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
np.save("/tmp/boxed_five.npy", params)
loaded = np.load("/tmp/boxed_five.npy", allow_pickle=True).item()
print(loaded["w"], np.load("/tmp/boxed_five.npy", allow_pickle=True)[()]["b"])
""",
            """\
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
np.savez("/tmp/boxed_six.npz", **params)
loaded = np.load("/tmp/boxed_six.npz")
print(loaded["w"])
""",
            """\
rows = np.zeros(3, dtype=[("a", "f4")])
np.save("/tmp/boxed_seven.npy", rows)
print(np.load("/tmp/boxed_seven.npy")["a"])
""",
            """\
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
np.save("/tmp/boxed_eight.npy", params)
np.save("/tmp/boxed_nine.npy", params["w"])
print(np.load("/tmp/boxed_nine.npy").sum())
try:
    np.load("/tmp/boxed_eight.npy")
except ValueError:
    print("pickled")
""",
        ),
    ),
    "NNX947": Cases(
        bad=(
            """\
def chain(keys, start):
    def body(carry, k):
        v, accepted = carry
        new = v + jax.random.normal(k, v.shape)
        better = new.sum() < v.sum()
        accepted = accepted + better.astype(jnp.bfloat16)
        return (jnp.where(better, new, v), accepted), None
    return jax.lax.scan(body, (start, jnp.zeros((), jnp.bfloat16)), keys)[0]  # NNX947
print(chain(jax.random.split(key, 1000), x))
""",
            """\
def counted(n):
    return jax.lax.fori_loop(0, n, lambda i, c: c + jnp.bfloat16(1), jnp.bfloat16(0))  # NNX947
print(counted(1000))
""",
            """\
def begun(dim, dtype=jnp.bfloat16):
    return dict(mean=jnp.zeros(dim), count=jnp.zeros((), dtype))  # NNX947
def grown(stats, v):
    count = stats["count"] + 1
    return dict(mean=stats["mean"] + (v - stats["mean"]) / count, count=count)
def body(stats, v):
    stats = grown(stats, v)
    return stats, v - stats["mean"]
stats, out = jax.lax.scan(body, begun(3), jnp.ones((999, 3)))
""",
            """\
def body(stats, row):
    return {"seen": stats["seen"] + 1, "total": stats["total"] + row}, None
begun = {"seen": jnp.zeros((), jnp.float16), "total": jnp.zeros(3)}  # NNX947
stats, _ = jax.lax.scan(body, begun, jnp.ones((4000, 3)))
""",
            """\
@jax.jit
def scored(totals, logits, labels):
    hits = jnp.sum(jnp.argmax(logits, -1) == labels).astype(jnp.bfloat16)
    return {"hits": totals["hits"] + hits, "count": totals["count"] + labels.shape[0]}
def evaluate(batches):
    totals = {
        "hits": jnp.zeros((), jnp.bfloat16),  # NNX947
        "count": jnp.zeros((), jnp.int32),
    }
    for logits, labels in batches:
        totals = scored(totals, logits, labels)
    return totals
""",
            """\
@jax.jit
def counted(n, logits, labels):
    return n + len(labels), logits
def evaluate(batches):
    n = jnp.zeros((), dtype=jnp.float16)  # NNX947
    for logits, labels in batches:
        n, _ = counted(n, logits, labels)
    return n
""",
            """\
def hits(batches):
    n = jnp.zeros((), jnp.bfloat16)  # NNX947
    for guesses, labels in batches:
        n += (guesses == labels).sum()
    return n
""",
            "def steps():\n    return jax.lax.fori_loop(0, 1000, lambda i, c: c + 1, jnp.int32(0)) + steps_of()\n"
            "def steps_of():\n    def body(i, c):\n        return c + 1\n"
            "    return jax.lax.fori_loop(0, 1000, body, jnp.bfloat16(0))  # NNX947\nprint(steps())\n",
            "def evaluate(rows):\n    seen = jnp.zeros((), dtype=jnp.float16)  # NNX947\n    for row in rows:\n"
            "        seen += row.shape[0]\n    return seen\n",
            _LOW
            + """\
params = half({"w": jnp.ones((3, 2))})
tx = optax.adam(1e-4)
"""
            + _TRAINED,
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 4, dtype=jnp.bfloat16, param_dtype=jnp.bfloat16, rngs=rngs)  # NNX947
        self.last = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.last(nnx.relu(self.first(v))).astype(jnp.float32)
net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(2e-4)), wrt=nnx.Param)
opt.update(net, nnx.grad(lambda net: net(x).sum())(net))
""",
            _KEPT
            + """\
params = half({"w": jnp.ones((3, 2))})
ema = params  # NNX947
for _ in range(3):
    params = jax.tree.map(lambda leaf: leaf * 0.9, params)
    ema = jax.tree.map(lambda e, p: 0.999 * e + (1 - 0.999) * p, ema, params)
print(ema)
""",
            # by hand
            _LOW
            + """\
params = half({"w": jnp.ones((3, 2))})
for _ in range(2):
    params = jax.tree.map(lambda p, g: p - 5e-4 * g, params, jax.grad(loss)(params, rows))
print(params)
""",
            """\
weights = {"w": jax.random.normal(key, (3, 2), dtype=jnp.bfloat16)}
def update(ema, params):
    return jax.tree.map(lambda e, p: 0.999 * e + (1 - 0.999) * p, ema, params)
@jit
def step(params, ema):
    params = jax.tree.map(lambda p: p * 0.9, params)
    return params, update(ema, params)
def main(params):
    ema = jax.tree.map(jnp.copy, params)  # NNX947
    for _ in range(3):
        params, ema = step(params, ema)
    return ema
main(weights)
""",
        ),
        clean=(
            """\
def chain(keys, start):
    def body(carry, k):
        v, accepted = carry
        new = v + jax.random.normal(k, v.shape)
        better = new.sum() < v.sum()
        accepted = accepted + better.astype(jnp.int32)
        return (jnp.where(better, new, v), accepted), None
    return jax.lax.scan(body, (start, jnp.zeros((), jnp.int32)), keys)[0]
print(chain(jax.random.split(key, 1000), x))
""",
            """\
print(jax.lax.fori_loop(0, 100, lambda i, c: c + 1, jnp.bfloat16(0)))
""",
            """\
def mean(vs):
    return jax.lax.scan(lambda h, v: (h * jnp.bfloat16(0.5) + v, None), jnp.bfloat16(0), vs)[0]
print(mean(x.astype(jnp.bfloat16)))
""",
            """\
def begun(dim, dtype=jnp.bfloat16):
    return dict(mean=jnp.zeros(dim), count=jnp.zeros((), dtype))
def grown(stats, v):
    count = stats["count"] + 1
    return dict(mean=stats["mean"] + (v - stats["mean"]) / count, count=count)
def body(stats, v):
    stats = grown(stats, v)
    return stats, v - stats["mean"]
stats, out = jax.lax.scan(body, begun(3, jnp.float32), jnp.ones((999, 3)))
assert stats["count"] == 999
""",
            """\
def body(stats, row):
    return {"seen": stats["seen"] + 1, "total": stats["total"] + row}, None
begun = {"seen": jnp.zeros((), jnp.int32), "total": jnp.zeros(3, jnp.float16)}
stats, _ = jax.lax.scan(body, begun, jnp.ones((4000, 3), jnp.float16))
assert stats["seen"] == 4000
""",
            """\
def body(stats, _):
    return {"seen": stats["seen"] + 1}, None
stats, _ = jax.lax.scan(body, {"seen": jnp.zeros((), jnp.bfloat16)}, None, length=100)
assert stats["seen"] == 100
""",
            """\
@jax.jit
def scored(totals, logits, labels):
    hits = jnp.sum(jnp.argmax(logits, -1) == labels)
    return {"hits": totals["hits"] + hits, "loss": totals["loss"] + logits.mean()}
def evaluate(batches):
    totals = {"hits": jnp.zeros((), jnp.int32), "loss": jnp.zeros((), jnp.bfloat16)}
    for logits, labels in batches:
        totals = scored(totals, logits, labels)
    return totals
print(evaluate([(jnp.ones((3, 2), jnp.bfloat16), jnp.zeros(3))]))
""",
            """\
@jax.jit
def moved(position, velocity):
    return position + velocity
def run(velocity):
    position = jnp.zeros((), jnp.bfloat16)
    for _ in range(3):
        position = moved(position, velocity)
    return position
print(run(jnp.ones((), jnp.bfloat16)))
""",
            """\
def share(batches):
    shares = jnp.zeros((), jnp.float16)
    for guesses, labels in batches:
        shares = shares + (guesses == labels).mean()
    return shares
print(share([(x, x)]))
""",
            "def evaluate(rows):\n    init = (jnp.asarray(0, jnp.int32), jnp.zeros((), jnp.bfloat16))\n"
            "    def body(carry, row):\n"
            "        seen, peak = carry\n"
            "        return (seen + row.shape[0], jnp.maximum(peak, row.max().astype(peak.dtype))), None\n"
            "    return jax.lax.scan(body, init, rows)[0]\nprint(evaluate(jnp.ones((4, 3))))\n",
            "def few():\n    def body(i, c):\n        return c + 1\n"
            "    return jax.lax.fori_loop(0, 10, body, jnp.bfloat16(0))\n"
            "print(few(), jnp.bfloat16(1) + 1)\n",
            # float32, and a copy of half precision for the forward pass
            _KEPT
            + """\
params = {"w": jnp.ones((3, 2))}
tx = optax.adam(1e-4)
state = tx.init(params)
for _ in range(2):
    grads = jax.grad(lambda params: loss(half(params), rows))(params)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)
print(params)
""",
            # steps that are large enough
            _KEPT
            + """\
params = half({"w": jnp.ones((3, 2))})
tx = optax.sgd(0.1)
"""
            + _TRAINED,
            # a teacher that is not trained
            """\
teacher = nnx.Linear(3, 3, param_dtype=jnp.bfloat16, rngs=nnx.Rngs(0))
student = nnx.Linear(3, 3, dtype=jnp.bfloat16, rngs=nnx.Rngs(1))
opt = nnx.Optimizer(student, optax.adam(1e-4), wrt=nnx.Param)
opt.update(student, nnx.grad(lambda student: ((student(x) - teacher(x)) ** 2).mean())(student))
print(student(x))
""",
            # an average in float32
            _KEPT
            + """\
params = half({"w": jnp.ones((3, 2))})
ema = cast(params, jnp.float32)
for _ in range(3):
    params = jax.tree.map(lambda leaf: leaf * 0.9, params)
    ema = jax.tree.map(lambda e, p: 0.999 * e + 0.001 * p.astype(jnp.float32), ema, params)
print(ema)
""",
            # steps by hand that are large enough
            _KEPT
            + """\
params = half({"w": jnp.ones((3, 2))})
for _ in range(2):
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, rows))
print(params)
""",
            # an average of the last few
            _KEPT
            + """\
params = half({"w": jnp.ones((3, 2))})
ema = params
for _ in range(3):
    params = jax.tree.map(lambda leaf: leaf * 0.9, params)
    ema = jax.tree.map(lambda e, p: 0.5 * e + 0.5 * p, ema, params)
print(ema)
""",
            """\
weights = {"w": jax.random.normal(key, (3, 2), dtype=jnp.bfloat16)}
def update(ema, params):
    return jax.tree.map(lambda e, p: 0.999 * e + (1 - 0.999) * p, ema, params)
def main(params):
    ema = jax.tree.map(lambda p: p.astype(jnp.float32), params)
    for _ in range(3):
        ema = update(ema, params)
    return ema
main(weights)
""",
        ),
    ),
    "NNX948": Cases(
        bad=(
            _CELL
            + """\
def last(params, rows):
    batch, steps, _ = rows.shape
    return jax.lax.scan(lambda h, now: cell(params, h, now), jnp.zeros((batch, 4)), rows)[0]  # NNX948
print(last(params, rows).shape)
""",
            _CELL
            + '''\
def every(params, rows):
    """Give the states of sequences of shape (batch, time, features)."""
    start = jnp.zeros((rows.shape[1], 4))
    _, states = jax.lax.scan(functools.partial(cell, params), start, rows)  # NNX948
    return states
print(every(params, rows).shape)
''',
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 4, rngs=rngs)
    def __call__(self, rows):
        start = jnp.zeros((len(rows), 4))
        return jax.lax.scan(lambda h, now: self.cell(h, now), start, rows)[1]  # NNX948
print(Reader(nnx.Rngs(0))(jnp.ones((5, 5, 3))).shape)
""",
            # a first state that a function makes
            _CELL
            + """\
def begun(count):
    return jnp.zeros((count, 4))
def last(params, rows):
    return jax.lax.scan(lambda h, now: cell(params, h, now), begun(rows.shape[0]), rows)[0]  # NNX948
print(last(params, rows).shape)
""",
            "class Net(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.inner = nnx.Linear(3, 4, rngs=rngs)\n"
            "        self.again = nnx.Linear(4, 4, rngs=rngs)\n"
            "    def __call__(self, rows):\n"
            "        b, t, d = rows.shape\n"
            "        def step(h, now):\n"
            "            h = jnp.tanh(self.inner(now) + self.again(h))\n"
            "            return h, h\n"
            "        return jax.lax.scan(step, jnp.zeros((b, 4)), rows)[1]  # NNX948\n"
            "print(Net(nnx.Rngs(0))(jnp.ones((5, 5, 3))).shape)\n",
        ),
        clean=(
            _CELL
            + """\
def begun(count):
    return jnp.zeros((count, 4))
def last(params, rows):
    times = jnp.moveaxis(rows, 1, 0)
    return jax.lax.scan(lambda h, now: cell(params, h, now), begun(rows.shape[0]), times)[0]
print(last(params, rows).shape)
""",
            _CELL
            + """\
def last(params, rows):
    batch, steps, _ = rows.shape
    times = rows.swapaxes(0, 1)
    return jax.lax.scan(lambda h, now: cell(params, h, now), jnp.zeros((batch, 4)), times)[0]
print(last(params, rows).shape)
""",
            _CELL
            + '''\
def every(params, rows):
    """Give the states of sequences of shape (time, batch, features)."""
    return jax.lax.scan(functools.partial(cell, params), jnp.zeros((rows.shape[1], 4)), rows)[1]
print(every(params, rows).shape)
''',
            _CELL
            + '''\
def every(params, rows):
    """Give the states of sequences of shape (batch, time, features)."""
    one = lambda row: jax.lax.scan(functools.partial(cell, params), jnp.zeros(4), row)[1]
    return jax.vmap(one)(rows)
print(every(params, rows).shape)
''',
            # forces of each on all
            """\
def forces(points):
    def added(total, point):
        apart = points - point
        return total + apart / (1.0 + (apart**2).sum(-1, keepdims=True)), None
    return jax.lax.scan(added, jnp.zeros((points.shape[0], 3)), points)[0]
print(forces(jnp.ones((4, 3))))
""",
            # a table with a row for each
            """\
def table(rows):
    def filled(found, now):
        place, row = now
        return found.at[place].set(row @ jnp.ones((3, 3))), None
    return jax.lax.scan(filled, jnp.zeros((rows.shape[0], 3)), (jnp.arange(rows.shape[0]), rows))[0]
print(table(jnp.ones((4, 3))))
""",
            "class Net(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.inner = nnx.Linear(3, 4, rngs=rngs)\n"
            "        self.again = nnx.Linear(4, 4, rngs=rngs)\n"
            "    def __call__(self, rows):\n"
            "        b, t, d = rows.shape\n"
            "        def step(h, now):\n"
            "            h = jnp.tanh(self.inner(now) + self.again(h))\n"
            "            return h, h\n"
            "        return jax.lax.scan(step, jnp.zeros((b, 4)), rows.swapaxes(0, 1))[1]\n"
            "print(Net(nnx.Rngs(0))(jnp.ones((5, 5, 3))).shape)\n",
        ),
    ),
    "NNX997": Cases(
        bad=(
            """\
def density(v, mean, scale):
    found = -0.5 * ((v - mean) / scale) ** 2 - 0.5 * jnp.log(2 * jnp.pi)  # NNX997
    return found.sum()
print(density(x, 0.0, 2.0))
""",
            """\
def error(y, outputs):
    std = outputs["std"]
    log_prob = -0.5 * ((y - outputs["mean"]) / std) ** 2 - 0.5 * jnp.log(2 * jnp.pi)  # NNX997
    outputs["log_prob"] = log_prob
    return -log_prob.mean()
print(error(x, dict(mean=0.0, std=2.0)))
""",
            """\
class Gaussian:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std
    def density(self, v):
        z = (v - self.mean) / self.std
        return -0.5 * (z**2 + jnp.log(2.0 * jnp.pi)).sum()  # NNX997
print(Gaussian(0.0, 2.0).density(x))
""",
            """\
def error(y, guess, std):
    return jnp.mean((y - guess) ** 2 / (2 * std**2) + 0.5 * np.log(2 * np.pi))  # NNX997
print(error(x, 0.0, 2.0))
""",
            """\
def chosen(action, mean, std):
    away = action - mean
    return jnp.sum(-jnp.square(away / std) / 2 - jnp.log(jnp.sqrt(2 * jnp.pi)), axis=-1)  # NNX997
print(chosen(x, 0.0, 2.0))
""",
        ),
        clean=(
            """\
def density(v, mean, scale):
    return -0.5 * ((v - mean) / scale) ** 2 - jnp.log(scale) - 0.5 * jnp.log(2 * jnp.pi)
print(density(x, 0.0, 2.0))
""",
            """\
def density(v, mean, log_std):
    std = jnp.exp(log_std)
    return -0.5 * (((v - mean) / std) ** 2 + 2 * log_std + jnp.log(2 * jnp.pi))
print(density(x, 0.0, 0.5))
""",
            """\
def density(v, params):
    mean, std, log_std = jnp.broadcast_arrays(params["mean"], params["std"], params["log_std"])
    squares = 0.5 * jnp.sum(jnp.square((v - mean) / std))
    return -(squares + jnp.sum(log_std) + mean.size / 2 * jnp.log(2 * jnp.pi))
print(density(x, dict(mean=x, std=jnp.exp(x), log_std=x)))
""",
            """\
def density(v, params):
    std, width = params["std"], params.get("log_std")
    return -0.5 * ((v - params["mean"]) / std) ** 2 - width - 0.5 * jnp.log(2 * jnp.pi)
print(density(x, dict(mean=x, std=jnp.exp(x), log_std=x)))
""",
            """\
def density(v, layer):
    std, log_std = layer(v)
    return -0.5 * ((v - 1.0) / std) ** 2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
print(density(x, lambda v: (jnp.exp(v), v)))
""",
            """\
def density(v, mean):
    return -0.5 * (v - mean) ** 2 - 0.5 * jnp.log(2 * jnp.pi)
print(density(x, 0.0))
""",
            """\
def density(v, mean, var):
    return -0.5 * (v - mean) ** 2 / var - 0.5 * jnp.log(2 * jnp.pi * var)
print(density(x, 0.0, 2.0))
""",
            """\
def density(v, mean, s):
    return jnp.exp(-0.5 * ((v - mean) / s) ** 2) / (s * jnp.sqrt(2 * jnp.pi))
def entropy(s):
    return 0.5 + 0.5 * jnp.log(2 * jnp.pi) + jnp.log(s)
print(density(x, 0.0, 2.0), entropy(2.0))
""",
            """\
def density(v, mean, root):
    z = jax.scipy.linalg.solve_triangular(root, v - mean, lower=True)
    return -0.5 * jnp.sum(z**2) - 0.5 * len(v) * jnp.log(2 * jnp.pi) - jnp.sum(jnp.log(jnp.diag(root)))
print(density(x, 0.0, 2 * jnp.eye(3)))
""",
        ),
    ),
    "NNX949": Cases(
        bad=(
            """\
def step(q, key):
    first, second = jax.random.split(key)
    p = jax.random.normal(first)
    h0 = 0.5 * q**2 + 0.5 * p**2
    qn, pn = q + 0.1 * p, p - 0.1 * q
    h1 = 0.5 * qn**2 + 0.5 * pn**2
    return jnp.where(jax.random.uniform(second) < h0 - h1, qn, q)  # NNX949
""",
            """\
def potential(q):
    return jnp.sum(q**4)
def hamiltonian(q, p):
    return potential(q) + 0.5 * jnp.sum(p**2)
def accepted(key, q, p, q_new, p_new):
    delta = hamiltonian(q, p) - hamiltonian(q_new, p_new)
    keep = jax.random.uniform(key) < jnp.minimum(0.0, delta)  # NNX949
    return jnp.where(keep, q_new, q)
""",
            """\
def log_prob(q):
    return -jnp.sum(q**2)
def leapfrog(q, p):
    return q + 0.1 * p, p
def step(q, key):
    k1, k2 = jax.random.split(key)
    p = jax.random.normal(k1, q.shape)
    q_new, p_new = leapfrog(q, p)
    h_old = -log_prob(q) + 0.5 * jnp.sum(q**2)  # NNX949
    h_new = -log_prob(q_new) + 0.5 * jnp.dot(p_new, p_new)
    return jnp.where(jnp.log(jax.random.uniform(k2)) < h_old - h_new, q_new, q)
""",
            """\
def potential(q):
    return jnp.sum(q**2)
def kinetic(p):
    return 0.5 * jnp.sum(p**2)
def leapfrog(q, p):
    return q + 0.1 * p, p
def step(q, key):
    k1, k2 = jax.random.split(key)
    p = jax.random.normal(k1, q.shape)
    q_new, p_new = leapfrog(q, p)
    h_old = potential(q) + kinetic(q)  # NNX949
    h_new = kinetic(p_new) + potential(q_new)
    return jnp.where(jnp.log(jax.random.uniform(k2)) < h_old - h_new, q_new, q)
""",
            """\
def hamiltonian(q, p):
    return jnp.sum(q**2) + 0.5 * jnp.sum(p**2)
def leapfrog(q, p):
    return q + 0.1 * p, p
def kernel(state, key):
    q, h = state
    k1, k2 = jax.random.split(key)
    momentum = jax.random.normal(k1, q.shape)
    q_new, p_new = leapfrog(q, momentum)
    h_new = hamiltonian(q_new, p_new)
    accept = jnp.log(jax.random.uniform(k2)) < h - h_new  # NNX949
    return (jnp.where(accept, q_new, q), jnp.where(accept, h_new, h)), q
""",
            """\
def hamiltonian(q, p):
    return jnp.sum(q**2) + 0.5 * jnp.sum(p**2)
def leapfrog(q, p):
    return q + 0.1 * p, p
def kernel(q, energy_old, key):
    k1, k2 = jax.random.split(key)
    p = jax.random.normal(k1, q.shape)
    q_new, p_new = leapfrog(q, p)
    energy_new = hamiltonian(q_new, p_new)
    ratio = jnp.exp(energy_old - energy_new)  # NNX949
    accept = jax.random.uniform(k2) < ratio
    return jnp.where(accept, q_new, q), jnp.where(accept, energy_new, energy_old)
""",
            """\
def energy(spins):
    return -jnp.sum(spins[1:] * spins[:-1])
def step(key, spins, beta):
    first, second = jax.random.split(key)
    i = jax.random.randint(first, (), 0, spins.shape[0])
    new_spins = spins.at[i].multiply(-1)
    growth = energy(new_spins) - energy(spins)
    accept = jax.random.uniform(second) < jnp.exp(beta * growth)  # NNX949
    return jnp.where(accept, new_spins, spins)
print(step(key, jnp.ones(10), 0.5))
""",
            """\
def potential(q):
    return 0.5 * jnp.sum(q**2)
def kinetic(p):
    return 0.5 * jnp.sum(p**2)
def transition(key, q, p, q_new, p_new):
    old_h = potential(q) + kinetic(p)
    new_h = potential(q_new) + kinetic(p_new)
    accept = jnp.log(jax.random.uniform(key)) < new_h - old_h  # NNX949
    return jnp.where(accept, q_new, q)
print(transition(key, x, x, x, x))
""",
            """\
def potential(q):
    return 0.5 * jnp.sum(q**2)
def kinetic(p):
    return 0.5 * jnp.sum(p**2)
def transition(key, q, p, q_new, p_new):
    old_h = potential(q) + kinetic(p)
    new_h = potential(q_new) + kinetic(p_new)
    prob = jnp.minimum(1.0, jnp.exp(new_h - old_h))
    accept = jax.random.uniform(key) < prob  # NNX949
    return jnp.where(accept, q_new, q)
print(transition(key, x, x, x, x))
""",
            _CHAIN
            + """\
    log_ratio = logp(v) - logp(proposal)
    accept = jnp.log(jax.random.uniform(k2)) < log_ratio  # NNX949
    return jnp.where(accept, proposal, v)
print(step(key, x))
""",
            _CHAIN
            + """\
    before, after = 0.0, 1.0
    current_logp = logp(v)
    proposed_logp = logp(proposal)
    accept = jax.random.uniform(k2) < jnp.exp(current_logp - proposed_logp)  # NNX949
    return jnp.where(accept, proposal, v)
print(step(key, x))
""",
            _CHAIN
            + """\
    accept = jax.random.exponential(k2) < logp(proposal) - logp(v)  # NNX949
    return jnp.where(accept, proposal, v)
print(step(key, x))
""",
            _CHAIN
            + """\
    log_ratio = logp(proposal) - logp(v)
    return jnp.where(jax.random.uniform(k2) < log_ratio, proposal, v)  # NNX949
print(step(key, x))
""",
            _CHAIN
            + """\
    log_alpha = jnp.minimum(0.0, logp(proposal) - logp(v))
    accepted = jnp.exp(log_alpha) < jax.random.uniform(k2)  # NNX949
    return jax.lax.select(accepted, proposal, v)
print(step(key, x))
""",
            "def hamiltonian(q, p):\n"
            "    return 0.5 * jnp.sum(q**2) + 0.5 * jnp.sum(p**2)\n"
            "def accept(key, q, p, q_new, p_new):\n"
            "    delta = hamiltonian(q_new, p_new) - hamiltonian(q, p)\n"
            "    return jnp.where(jnp.log(jax.random.uniform(key)) < delta, q_new, q)  # NNX949\n"
            "print(accept(key, x, x, x, x))\n",
            "def step(key, v, log_prob):\n"
            "    first, second = jax.random.split(key)\n"
            "    cand = v + jax.random.normal(first, v.shape)\n"
            "    log_alpha = jnp.minimum(0.0, log_prob(cand) - log_prob(v))\n"
            "    return jax.lax.cond(jax.random.uniform(second) < log_alpha, lambda: cand, lambda: v)  # NNX949\n"
            "print(step(key, x, lambda v: -jnp.sum(v**2)))\n",
        ),
        clean=(
            """\
def potential(q):
    return jnp.sum(q**4)
def accepted(key, q, p, q_new, p_new):
    h_old = potential(q) + 0.5 * jnp.sum(p**2)
    h_new = potential(q_new) + 0.5 * jnp.sum(p_new**2)
    return jax.random.uniform(key) < jnp.exp(h_old - h_new)
print(accepted(key, x, x, 2 * x, x))
""",
            """\
def potential(q):
    return jnp.sum(q**4)
def accepted(key, q, p, q_new, p_new):
    h_old = potential(q) + 0.5 * jnp.sum(p**2)
    h_new = potential(q_new) + 0.5 * jnp.sum(p_new**2)
    return jnp.log(jax.random.uniform(key)) < h_old - h_new
print(accepted(key, x, x, 2 * x, x))
""",
            """\
def thinned(key, high, low):
    return jax.random.uniform(key, high.shape) < high - low
print(thinned(key, x, 0.5 * x))
""",
            """\
def log_prob(q):
    return -jnp.sum(q**2)
def leapfrog(q, p):
    return q + 0.1 * p, p
def step(q, key):
    k1, k2 = jax.random.split(key)
    p = jax.random.normal(k1, q.shape)
    q_new, p_new = leapfrog(q, p)
    h_old = -log_prob(q) + 0.5 * jnp.sum(p**2)
    h_new = -log_prob(q_new) + 0.5 * jnp.dot(p_new, p_new)
    return jnp.where(jnp.log(jax.random.uniform(k2)) < h_old - h_new, q_new, q)
assert step(x, key).shape == (3,)
""",
            """\
def potential(q):
    return jnp.sum(q**4)
def posterior(q, key):
    noise = jax.random.normal(key, q.shape)
    energy = potential(q) + 0.5 * jnp.sum(q**2)
    return energy, q + noise
assert posterior(x, key)[0] > 0
""",
            """\
def potential(q):
    return jnp.sum(q**2)
def kinetic(p):
    return 0.5 * jnp.sum(p**2)
def leapfrog(q, p):
    return q + 0.1 * p, p
def step(q, key):
    k1, k2 = jax.random.split(key)
    p = jax.random.normal(k1, q.shape)
    q_new, p_new = leapfrog(q, p)
    h_old = potential(q) + kinetic(p)
    h_new = kinetic(p_new) + potential(q_new)
    return jnp.where(jnp.log(jax.random.uniform(k2)) < h_old - h_new, q_new, q)
assert step(x, key).shape == (3,)
""",
            """\
def kinetic(state):
    return 0.5 * jnp.sum(state[1] ** 2)
def potential(state):
    return jnp.sum(state[0] ** 2)
def energy(x):
    return kinetic(x) + potential(x)
assert energy((x, x)) > 0
""",
            """\
def hamiltonian(q, p):
    return jnp.sum(q**2) + 0.5 * jnp.sum(p**2)
def leapfrog(q, p):
    return q + 0.1 * p, p
def kernel(state, key):
    q, h = state
    k1, k2 = jax.random.split(key)
    momentum = jax.random.normal(k1, q.shape)
    h = hamiltonian(q, momentum)
    q_new, p_new = leapfrog(q, momentum)
    h_new = hamiltonian(q_new, p_new)
    accept = jnp.log(jax.random.uniform(k2)) < h - h_new
    return (jnp.where(accept, q_new, q), jnp.where(accept, h_new, h)), q
assert kernel((x, 0.0), key)[1].shape == (3,)
""",
            """\
def leapfrog(q, p):
    return q + 0.1 * p, p
def kernel(state, key):
    q, u = state
    k1, k2 = jax.random.split(key)
    p = jax.random.normal(k1, q.shape)
    q_new, p_new = leapfrog(q, p)
    u_new = jnp.sum(q_new**2)
    change = u - u_new + 0.5 * jnp.sum(p**2) - 0.5 * jnp.sum(p_new**2)
    accept = jnp.log(jax.random.uniform(k2)) < change
    return (jnp.where(accept, q_new, q), jnp.where(accept, u_new, u)), q
assert kernel((x, jnp.sum(x**2)), key)[1].shape == (3,)
""",
            """\
def coupled(key, draw, log_phi, log_w):
    first, second = jax.random.split(key)
    y = draw(first)
    log_v = jnp.log(jax.random.uniform(second))
    accept = log_v > log_phi(y) - log_w(y)
    return accept, y
print(coupled(key, jax.random.normal, lambda v: -(v**2), lambda v: 1.0 - v**2))
""",
            """\
def energy(spins):
    return -jnp.sum(spins[1:] * spins[:-1])
def step(key, spins, beta):
    first, second = jax.random.split(key)
    i = jax.random.randint(first, (), 0, spins.shape[0])
    new_spins = spins.at[i].multiply(-1)
    growth = energy(new_spins) - energy(spins)
    accept = jax.random.uniform(second) < jnp.exp(-beta * growth)
    return jnp.where(accept, new_spins, spins)
print(step(key, jnp.ones(10), 0.5))
""",
            """\
def potential(q):
    return 0.5 * jnp.sum(q**2)
def kinetic(p):
    return 0.5 * jnp.sum(p**2)
def transition(key, q, p, q_new, p_new):
    old_h = potential(q) + kinetic(p)
    new_h = potential(q_new) + kinetic(p_new)
    accept = jnp.log(jax.random.uniform(key)) < old_h - new_h
    return jnp.where(accept, q_new, q)
print(transition(key, x, x, x, x))
""",
            """\
def potential(q):
    return 0.5 * jnp.sum(q**2)
def kinetic(p):
    return 0.5 * jnp.sum(p**2)
def transition(key, q, p, q_new, p_new):
    old_h = potential(q) + kinetic(p)
    new_h = potential(q_new) + kinetic(p_new)
    prob = jnp.minimum(1.0, jnp.exp(old_h - new_h))
    accept = jax.random.uniform(key) < prob
    return jnp.where(accept, q_new, q)
print(transition(key, x, x, x, x))
""",
            """\
def potential(q):
    return 0.5 * jnp.sum(q**2)
def kinetic(p):
    return 0.5 * jnp.sum(p**2)
def transition(key, q, p, q_new, p_new):
    old_h = potential(q) + kinetic(p)
    new_h = potential(q_new) + kinetic(p_new)
    growth = new_h - old_h
    accept = jnp.log(jax.random.uniform(key)) < -growth
    return jnp.where(accept, q_new, q)
print(transition(key, x, x, x, x))
""",
            """\
def neg_log_prob(v):
    return 0.5 * jnp.sum(v**2)
def step(key, v):
    k1, k2 = jax.random.split(key)
    proposal = v + jax.random.normal(k1, v.shape)
    accept = jnp.log(jax.random.uniform(k2)) < neg_log_prob(v) - neg_log_prob(proposal)
    return jnp.where(accept, proposal, v)
print(step(key, x))
""",
            _CHAIN
            + """\
    current_logp = logp(v)
    proposed_logp = logp(proposal)
    accept = jax.random.uniform(k2) < jnp.exp(proposed_logp - current_logp)
    return jnp.where(accept, proposal, v)
print(step(key, x))
""",
            _CHAIN
            + """\
    accept = -jax.random.exponential(k2) < logp(proposal) - logp(v)
    return jnp.where(accept, proposal, v)
print(step(key, x))
""",
            _CHAIN
            + """\
    log_ratio = logp(proposal) - logp(v)
    return jnp.where(jnp.log(jax.random.uniform(k2)) < log_ratio, proposal, v)
print(step(key, x))
""",
            _CHAIN
            + """\
    reject = jnp.exp(logp(proposal) - logp(v)) < jax.random.uniform(k2)
    return jnp.where(reject, v, proposal)
print(step(key, x))
""",
            # a difference of energies
            _CHAIN
            + """\
    accept = jax.random.exponential(k2) > logp(v) - logp(proposal)
    return jnp.where(accept, proposal, v)
print(step(key, x))
""",
            # whether something happens within a time
            """\
def happens(key, rate, seconds):
    return jax.random.exponential(key) < rate * seconds
print(happens(key, 2.0, 0.1))
""",
            "def hamiltonian(q, p):\n"
            "    return 0.5 * jnp.sum(q**2) + 0.5 * jnp.sum(p**2)\n"
            "def accept(key, q, p, q_new, p_new):\n"
            "    delta = hamiltonian(q, p) - hamiltonian(q_new, p_new)\n"
            "    return jnp.where(jnp.log(jax.random.uniform(key)) < delta, q_new, q)\n"
            "print(accept(key, x, x, x, x))\n",
            "def step(key, v, log_prob):\n"
            "    first, second = jax.random.split(key)\n"
            "    cand = v + jax.random.normal(first, v.shape)\n"
            "    alpha = jnp.exp(jnp.minimum(0.0, log_prob(cand) - log_prob(v)))\n"
            "    return jax.lax.cond(jax.random.uniform(second) < alpha, lambda: cand, lambda: v)\n"
            "print(step(key, x, lambda v: -jnp.sum(v**2)))\n",
        ),
    ),
    "NNX950": Cases(
        bad=(
            """\
from jax.scipy.stats import norm
def log_likelihood(y, mu, sigma):
    return norm.logpdf(y, mu, sigma**2).sum()  # NNX950
print(log_likelihood(x, 0.0, 0.3))
""",
            """\
from jax.scipy import stats
def fitted(y):
    spread = jnp.var(y)
    return stats.norm.cdf(y, jnp.mean(y), spread)  # NNX950
print(fitted(x))
""",
            """\
import jax.scipy.stats as st
class Noise:
    def __init__(self, noise_variance):
        self.noise_variance = noise_variance
    def log_prob(self, y, mean):
        return st.norm.logpdf(y, loc=mean, scale=self.noise_variance)  # NNX950
""",
            """\
def sample(key, mean, log_var):
    return mean + log_var * jax.random.normal(key, mean.shape)  # NNX950
print(sample(key, x, x))
""",
            """\
def reparameterize(mu, log_std, eps):
    return mu + eps * log_std  # NNX950
print(reparameterize(x, x, x))
""",
            """\
def decode(net, v, k):
    mean, log_var = jnp.split(net(v), 2)
    noise = jax.random.normal(k, mean.shape)
    return noise * log_var + mean  # NNX950
""",
            """\
def ula(theta, key, step_size):
    noise = jax.random.normal(key, theta.shape)
    drift = -step_size * theta
    return theta + drift + jnp.sqrt(2.0) * step_size * noise  # NNX950
""",
            """\
def sampled(grad_logp, v, key, dt):
    return v + dt * grad_logp(v) + 2**0.5 * dt * jax.random.normal(key, v.shape)  # NNX950
""",
            """\
def euler_maruyama(key, y, dt, n):
    def step(y, k):
        return y - y * dt + 0.5 * dt * jax.random.normal(k, y.shape), y  # NNX950
    return jax.lax.scan(step, y, jax.random.split(key, n))
print(euler_maruyama(key, x, 0.01, 3))
""",
            """\
def langevin(k, y, eta_t, h):
    noise = jax.random.normal(k, y.shape)
    y = y - h * y + eta_t * noise * h  # NNX950
    return y
print(langevin(key, x, 0.3, 0.01))
""",
            """\
def drawn(key, mean, logvar):
    return mean + jnp.exp(logvar) * jax.random.normal(key, mean.shape)  # NNX950
print(drawn(key, x, x))
""",
            """\
class Code(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
        self.mean = nnx.Linear(3, 2, rngs=rngs)
        self.log_var = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        mean, log_var = self.mean(v), self.log_var(v)
        std = jnp.exp(log_var)  # NNX950
        eps = jax.random.normal(self.rngs.noise(), mean.shape)
        return mean + eps * std
print(Code(nnx.Rngs(0, noise=1))(x))
""",
            """\
def likelihood(v, mean, log_variance):
    return jax.scipy.stats.norm.logpdf(v, mean, jnp.exp(log_variance)).sum()  # NNX950
print(likelihood(x, x, x))
""",
            "def rsample(key, loc, logvar):\n"
            "    eps = jax.random.normal(key, loc.shape)\n"
            "    return loc + jnp.multiply(jnp.exp(logvar), eps)  # NNX950\n"
            "print(rsample(key, x, x))\n",
            """\
from jax.scipy.stats import norm
def log_likelihood(y, level, obs_noise):
    total = level.var + obs_noise**2
    return norm.logpdf(y, level.mean, total)  # NNX950
""",
            """\
from jax.scipy.stats import norm
def coverage(y, pred_mean, pred_var):
    return norm.cdf(y, loc=pred_mean, scale=pred_var)  # NNX950
print(coverage(x, x, x))
""",
            """\
import jax.scipy.stats as st
def joined(y, mu, sigma, tau):
    both = sigma**2 + tau**2
    return st.norm.logpdf(y, mu, both)  # NNX950
print(joined(x, 0.0, 0.3, 0.4))
""",
        ),
        clean=(
            """\
from jax.scipy.stats import norm
def groups(y, sigma_1, sigma_2, mu2, sigma2):
    return norm.logpdf(y, 0.0, sigma_1) + norm.logpdf(y, 0.0, sigma_2) + norm.logpdf(y, mu2, sigma2)
print(groups(x, 1.0, 2.0, 0.5, 3.0))
""",
            """\
import jax.scipy.stats as stats
def joint(v, sigma_1, sigma_2):
    return stats.norm.logpdf(v, 0.0, sigma_1) + stats.norm.logpdf(v, 1.0, sigma_2)
print(joint(x, 0.5, 2.0))
""",
            """\
from jax.scipy.stats import norm
def log_likelihood(y, mu, sigma, variance, p):
    root = jnp.sqrt(variance)
    total = norm.logpdf(y, mu, sigma) + norm.logpdf(y, mu, root) + norm.logpdf(y, mu, jnp.sqrt(sigma**2))
    return total + norm.logpdf(y, mu, jnp.std(y)) + norm.logpdf(y, mu, p**2) + norm.logpdf(y, sigma**2, sigma)
print(log_likelihood(x, 0.0, 0.3, 2.0, 1.5))
""",
            """\
from jax.scipy.stats import norm
def learned(y, mu, raw):
    noise_variance = jax.nn.softplus(raw)
    return norm.logpdf(y, mu, noise_variance)
print(learned(x, 0.0, 0.3))
""",
            """\
def spread(v, log_var):
    return jax.scipy.stats.norm.logpdf(v, 0.0, jax.nn.softplus(log_var))
def narrow(v, log_var):
    return jax.scipy.stats.norm.logpdf(v, 0.0, jnp.exp(log_var))
print(spread(x, x), narrow(x, x))
""",
            """\
def sample(key, mean, log_std):
    return mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
print(sample(key, x, x))
""",
            """\
def jitter(key, log_var, spread):  # the logarithm itself is noisy
    return log_var + spread * jax.random.normal(key, log_var.shape)
print(jitter(key, x, 0.1))
""",
            """\
def sample(key, mean, log_sigma):
    log_sigma = jnp.exp(log_sigma)
    return mean + log_sigma * jax.random.normal(key, mean.shape)
print(sample(key, x, x))
""",
            """\
def score(mean, log_var, weight):
    return mean + log_var * weight
print(score(x, x, x))
""",
            """\
def ula(theta, key, step_size):
    noise = jax.random.normal(key, theta.shape)
    drift = -step_size * theta
    return theta + drift + jnp.sqrt(2.0 * step_size) * noise
assert ula(x, key, 0.1).shape == (3,)
""",
            """\
def private(w, key, lr, sigma):
    noise = sigma * jax.random.normal(key, w.shape)
    return w - lr * w - lr * noise
assert private(x, key, 0.1, 1.0).shape == (3,)
""",
            """\
def euler_maruyama(key, y, dt, n):
    def step(y, k):
        return y - y * dt + 0.5 * jnp.sqrt(dt) * jax.random.normal(k, y.shape), y
    return jax.lax.scan(step, y, jax.random.split(key, n))
print(euler_maruyama(key, x, 0.01, 3))
""",
            """\
def forced(k, y, dt):
    return y - y * dt + 0.5 * dt * jax.random.normal(k, y.shape)
print(forced(key, x, 0.01))
""",
            """\
def sde_step(k, y, dt):
    dw = dt**0.5 * jax.random.normal(k, y.shape)
    return y - y * dt + 0.5 * dw
print(sde_step(key, x, 0.01))
""",
            """\
def sde_start(k, y, dt):
    return y + dt * jax.random.normal(k, y.shape)
print(sde_start(key, x, 0.01))
""",
            """\
def drawn(key, mean, logvar):
    return mean + jnp.exp(0.5 * logvar) * jax.random.normal(key, mean.shape)
print(drawn(key, x, x))
""",
            """\
def drawn(key, mean, log_var):
    std = jnp.sqrt(jnp.exp(log_var))
    return mean + std * jax.random.normal(key, mean.shape)
print(drawn(key, x, x))
""",
            """\
def drawn(key, mean, log_std):
    return mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)
print(drawn(key, x, x))
""",
            # a logarithm of the scale, as its other use tells
            """\
def drawn(key, mean, logvar):
    return mean + jnp.exp(logvar) * jax.random.normal(key, mean.shape)
def divergence(mean, logvar):
    return 0.5 * jnp.sum(jnp.exp(2 * logvar) + mean**2 - 1 - 2 * logvar)
print(drawn(key, x, x), divergence(x, x))
""",
            """\
def error(found, wanted, logvar):
    return 0.5 * jnp.sum((found - wanted) ** 2 * jnp.exp(-logvar) + logvar)
print(error(x, x, x))
""",
            "def rsample(key, loc, logvar):\n"
            "    eps = jax.random.normal(key, loc.shape)\n"
            "    return loc + jnp.multiply(jnp.exp(0.5 * logvar), eps), jnp.multiply(jnp.exp(logvar), loc)\n"
            "print(rsample(key, x, x))\n",
            """\
from jax.scipy.stats import norm
def log_likelihood(y, level_mean, level_var, obs_noise):
    total = level_var + obs_noise**2
    return norm.logpdf(y, level_mean, jnp.sqrt(total)) + norm.logpdf(y, level_mean, total**0.5)
print(log_likelihood(x, 0.0, 1.0, 0.3))
""",
            """\
from jax.scipy.stats import norm
def spread(y, v, floor):
    return norm.logpdf(y, 0.0, floor + 0.5 * v**2) + norm.logpdf(y, 0.0, v**2 + floor**2)
print(spread(x, x, 0.3))
""",
            """\
from jax.scipy.stats import norm
def fitted(y, raw):
    mean, raw_var = raw, jnp.ones(3)
    var = jax.nn.softplus(raw_var)
    return norm.logpdf(y, mean, var) + norm.logpdf(y, mean, std_var)
std_var = jnp.ones(3)
print(fitted(x, x))
""",
        ),
    ),
    "NNX951": Cases(
        bad=(
            """\
from jax.nn import leaky_relu as act
def net(params, v):
    hidden = act(params["w"] @ v)  # NNX951
    return params["out"] @ hidden
def laplacian(params, v):
    return jnp.trace(jax.hessian(net, argnums=1)(params, v))
print(laplacian({"w": jnp.ones((4, 3)), "out": jnp.ones(4)}, x))
""",
            """\
from jax.nn import relu as bend
def net(params, v):
    return jnp.sum(bend(v * params["w"]) @ params["out"])  # NNX951
second = jax.grad(jax.grad(net, argnums=1), argnums=1)
""",
            _PIECES
            + """\
print(jax.grad(jax.grad(net, argnums=1), argnums=1)(params, 0.5))
""",
            _PIECES
            + """\
def first(params, x):
    return jax.grad(net, argnums=1)(params, x)
print(jax.vmap(jax.grad(first, argnums=1), (None, 0))(params, x))
""",
            """\
class Field(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 4, rngs=rngs)
        self.last = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, x):
        return self.last(nnx.relu(self.first(x)))[0]  # NNX951
field = Field(nnx.Rngs(0))
print(jnp.trace(jax.hessian(lambda x: field(x))(x)))
""",
            "def net(p, t, x):\n"
            '    z = jnp.stack([t, x]) @ p["w"]\n'
            '    return jnp.maximum(z, 0.0) @ p["v"]  # NNX951\n'
            "u_xx = jax.grad(jax.grad(net, 2), 2)\n"
            'print(u_xx({"w": jnp.ones((2, 8)), "v": jnp.ones(8)}, 0.1, 0.2))\n',
            "class Field(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.layers = nnx.Sequential(nnx.Linear(2, 8, rngs=rngs), nnx.relu, nnx.Linear(8, 1, rngs=rngs))\n"
            "    def __call__(self, x):\n"
            "        return self.layers(x)[0]  # NNX951\n"
            "def laplacian(net, x):\n"
            "    return jnp.trace(jax.jacfwd(jax.grad(net))(x))\n"
            "print(laplacian(Field(nnx.Rngs(0)), jnp.ones(2)))\n",
        ),
        clean=(
            """\
from jax.nn import softplus as act
def net(params, v):
    return params["out"] @ act(params["w"] @ v)
print(jax.hessian(net, argnums=1)({"w": jnp.ones((4, 3)), "out": jnp.ones(4)}, x))
relu = jax.nn.relu
""",
            """\
from jax.nn import leaky_relu as act
def net(params, v):
    return params["out"] @ act(params["w"] @ v)
print(jax.grad(net, argnums=1)({"w": jnp.ones((4, 3)), "out": jnp.ones(4)}, x))
""",
            """\
def net(params, v):
    return params["out"] @ jax.nn.leaky_relu(params["w"] @ v**2)
print(jax.hessian(net, argnums=1)({"w": jnp.ones((4, 3)), "out": jnp.ones(4)}, x))
""",
            _BENT.replace("jax.nn.relu", "jnp.tanh")
            + """\
print(jax.grad(jax.grad(net, argnums=1), argnums=1)(params, 0.5))
""",
            # the first derivative
            _BENT
            + """\
def fit(params, x):
    return (jax.grad(net, argnums=1)(params, x) - 1.0) ** 2
print(jax.grad(fit)(params, 0.5))
""",
            # a factor that is zero at the ends
            _BENT
            + """\
def zero_at_ends(params, x):
    return x * (1.0 - x) * net(params, x)
print(jax.hessian(zero_at_ends, argnums=1)(params, 0.5))
""",
            # a loss, by the weights
            _BENT
            + """\
def loss(params, x):
    return (net(params, x) - 1.0) ** 2
print(jax.hessian(loss)(params, 0.5))
""",
            # a power of it
            _BENT.replace("return h @", "return h**3 @")
            + """\
print(jax.hessian(net, argnums=1)(params, 0.5))
""",
            "def net(p, t, x):\n"
            '    z = jnp.stack([t, x]) @ p["w"]\n'
            '    return jnp.maximum(z, 0.0) ** 3 @ p["v"]\n'
            "u_xx = jax.grad(jax.grad(net, 2), 2)\n"
            'print(u_xx({"w": jnp.ones((2, 8)), "v": jnp.ones(8)}, 0.1, 0.2))\n',
            "class Field(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.layers = nnx.Sequential(nnx.Linear(2, 8, rngs=rngs), nnx.tanh, nnx.Linear(8, 1, rngs=rngs))\n"
            "        self.out = nnx.Sequential(nnx.Linear(1, 4, rngs=rngs), nnx.relu, nnx.Linear(4, 1, rngs=rngs))\n"
            "    def __call__(self, x):\n"
            "        return self.out(self.layers(x))[0]\n"
            "def laplacian(net, x):\n"
            "    return jnp.trace(jax.jacfwd(jax.grad(net))(x))\n"
            "print(laplacian(Field(nnx.Rngs(0)), jnp.ones(2)))\n",
        ),
    ),
    "NNX952": Cases(
        bad=(
            """\
DAY = 86_400
events = np.array([1_700_000_000, 1_700_000_035])
def phase(t):
    return jnp.sin(2 * jnp.pi * (t % DAY) / DAY)
print(phase(jnp.asarray(events, dtype=jnp.float32)))  # NNX952
""",
            """\
def trips():
    start = 1_700_006_400
    pickup = start + np.arange(4) * 60
    return pickup, pickup + 90
def minutes(pickup, dropoff):
    dropoff = jnp.asarray(dropoff, dtype=jnp.float32)  # NNX952
    return (dropoff - jnp.asarray(pickup, dtype=jnp.float32)) / 60.0
print(minutes(*trips()))
""",
            """\
stamps = np.array([1_700_000_000.0, 1_700_000_001.5, 1_700_000_003.0])
times = jnp.asarray(stamps)  # NNX952
print(jnp.diff(times))
""",
            """\
def begun():
    return jnp.float32(time.time())  # NNX952
start = begun()
print(begun() - start)
""",
            """\
def recorded(n, start=1.7e9):
    return start + np.cumsum(np.ones(n))
def prepared(stamps):
    t = jnp.array(stamps, dtype=jnp.float32)  # NNX952
    return t - t.min()
print(prepared(recorded(4)))
""",
        ),
        clean=(
            """\
DAY = 86_400
events = np.array([1_700_000_000, 1_700_000_035])
def phase(t):
    return jnp.sin(2 * jnp.pi * t / DAY)
print(phase(jnp.asarray(events % DAY, dtype=jnp.float32)))
""",
            """\
# integers that int32 holds
DAY = 86_400
events = np.array([1_700_000_000, 1_700_000_035])
print(jnp.asarray(events) % DAY)
""",
            """\
# seconds of one day
DAY = 86_400
events = np.array([17_000, 17_035])
print(jnp.asarray(events, dtype=jnp.float32) % DAY)
""",
            """\
stamps = np.array([1_700_000_000.0, 1_700_000_001.5, 1_700_000_003.0])
times = jnp.asarray(stamps - stamps[0])
print(jnp.diff(times))
""",
            """\
start = time.time()
print(jnp.float32(time.time() - start) - 1.0)
""",
            # integers that 32 bits hold
            """\
stamps = jnp.asarray([1_700_000_000, 1_700_000_001])
print(stamps - stamps[0])
""",
            # no times
            """\
bands = jnp.asarray([1.2e9, 1.5e9])
print(bands - bands[0])
""",
            """\
times = jnp.asarray(np.array([0.5, 1.5, 3.0]))
print(times - times[0])
""",
        ),
    ),
    "NNX953": Cases(
        bad=(
            _MESH
            + """\
def total(v):
    return jax.lax.psum(v.sum(), "data")  # NNX953
print(jax.shard_map(total, mesh=mesh, in_specs=P(), out_specs=P())(jnp.ones(4)))
""",
            _MESH
            + """\
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P()), out_specs=P())
def loss(w, rows):
    local = jnp.sum((rows @ w) ** 2)
    return jax.lax.psum(local, "data")  # NNX953
print(loss(x, jnp.ones((4, 3))))
""",
            _MESH
            + """\
whole = P(None)
def counted(mesh, v):
    def body(v):
        return jax.lax.psum(jnp.histogram(v, 4)[0], axis_name="data")  # NNX953
    return jax.shard_map(body, mesh=mesh, in_specs=(whole,), out_specs=P())(v)
print(counted(mesh, jnp.ones(4)))
""",
            "from jax.sharding import PartitionSpec as P\n"
            'mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model"))\n'
            "def loss(w, rows):\n"
            '    return jax.lax.psum(jnp.sum((rows @ w) ** 2), ("data", "model"))  # NNX953\n'
            'specs = (P(), P("data"))\n'
            "print(jax.jit(jax.shard_map(loss, mesh=mesh, in_specs=specs, out_specs=P()))(x, jnp.ones((2, 3))))\n",
        ),
        clean=(
            _MESH
            + """\
def total(v):
    return jax.lax.psum(v.sum(), "data")
print(jax.shard_map(total, mesh=mesh, in_specs=P("data"), out_specs=P())(jnp.ones(4)))
""",
            # weights as a whole, data in parts
            _MESH
            + """\
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
def loss(w, rows):
    return jax.lax.psum(jnp.sum((rows @ w) ** 2), "data")
print(loss(x, jnp.ones((4, 3))))
""",
            # every device takes its part by itself
            _MESH
            + """\
@partial(jax.shard_map, mesh=mesh, in_specs=P(), out_specs=P())
def part(v):
    mine = jax.lax.dynamic_slice_in_dim(v, 4 * jax.lax.axis_index("data"), 4)
    return jax.lax.psum(mine.sum(), "data")
print(part(jnp.ones(4)))
""",
            # a mean
            _MESH
            + """\
@partial(jax.shard_map, mesh=mesh, in_specs=P(), out_specs=P())
def mean(v):
    return jax.lax.psum(v.sum(), "data") / jax.lax.psum(1, "data")
print(mean(jnp.ones(4)))
""",
            # how many devices there are
            _MESH
            + """\
@partial(jax.shard_map, mesh=mesh, in_specs=P(), out_specs=P())
def counted(v):
    return v * jax.lax.psum(1, "data")
print(counted(jnp.ones(4)))
""",
            "from jax.sharding import PartitionSpec as P\n"
            'mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model"))\n'
            "def loss(w, rows):\n"
            '    return jax.lax.psum(jnp.sum((rows @ w) ** 2), ("data", "model"))\n'
            'specs = (P("model"), P("data", "model"))\n'
            "print(jax.jit(jax.shard_map(loss, mesh=mesh, in_specs=specs, out_specs=P()))(x, jnp.ones((2, 3))))\n",
        ),
    ),
    "NNX978": Cases(
        bad=(
            """\
def load(n):
    return {"at": 1_704_067_200_000 + np.cumsum(np.random.default_rng(0).integers(500, 4000, size=n))}
log = load(4)
stamps = jnp.asarray(log["at"])  # NNX978
""",
            """\
@jax.jit
def bucket(ids):
    return ids % 1000
stamps = np.int64(1_700_000_000_000) + np.arange(6, dtype=np.int64)
ids = (stamps << np.int64(22)) | np.int64(5)
print(bucket(ids))  # NNX978
print(bucket(ids=stamps))  # NNX978
""",
            """\
class Table:
    @partial(jax.jit, static_argnums=0)
    def rows(self, users):
        return users % 7
users = np.array([5_000_000_000, 7], dtype=np.int64)
print(Table().rows(users))  # NNX978
print(jax.vmap(lambda u: u % 10)(users))  # NNX978
""",
            """\
def weights(places):
    return 1.0 / 256 ** jnp.arange(1, places + 1)  # NNX978
@jax.jit
def decode(digits):
    return jnp.sum(digits * weights(digits.shape[-1]), axis=-1)
PLACES = 5
digits = np.random.default_rng(0).integers(0, 256, size=(4, PLACES))
print(decode(jnp.asarray(digits)))
""",
            """\
@jax.jit
def scaled(v):
    n = v.shape[1]
    return v / 16 ** jnp.arange(n)  # NNX978
print(scaled(jnp.ones((4, 12))))
""",
            """\
@jax.jit
def number(digits):
    return digits @ 10 ** jnp.arange(digits.shape[-1])  # NNX978
print(number(jnp.zeros((2, 12), jnp.int32)))
""",
            """\
ids = (np.int64(1_700_000_000) << 22) + np.arange(200, dtype=np.int64) * 3
table = jnp.asarray(ids)  # NNX978
chosen = np.random.default_rng(0).choice(ids, size=9)
asked = jax.device_put(chosen)  # NNX978
""",
            """\
def on_device(v):
    return jnp.array(v, dtype=jnp.int64)  # NNX978
on_device(np.array([7, 5_000_000_000], dtype=np.int64))
""",
            """\
days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]")
since = jnp.asarray(days.astype(np.int64))  # NNX978
stamps = np.array([time.time_ns() for _ in range(3)])
print(jnp.asarray(stamps[1:]))  # NNX978
""",
            """\
def weights(base, places):
    return 1.0 / base ** jnp.arange(1, places + 1)  # NNX978
def decode(digits):
    return jnp.sum(digits * weights(256, digits.shape[-1]), axis=-1)
print(weights(256, 4), decode(jnp.ones((2, 4))))
""",
            """\
def sizes(start, count):
    return start * 2 ** jnp.arange(count)  # NNX978
def report(scale):
    return sizes(scale, 3), sizes(start=1, count=33)
""",
            """\
def log_factorials(count):
    return jnp.log(jnp.cumprod(jnp.arange(1, count + 1)))  # NNX978
print(log_factorials(20))
""",
            """\
def table(most):
    counts = jnp.arange(1, most + 1)
    return jnp.log(jnp.cumprod(jnp.concatenate([jnp.ones(1, jnp.int32), counts])))  # NNX978
print(table(40)[3])
""",
            """\
N = 50_000
print(jnp.arange(N) ** 2)  # NNX978
""",
            """\
ids = jnp.arange(100_000)
print(ids.sum() / 100_000, jnp.prod(jnp.arange(1, 6)))  # NNX978
""",
            """\
bits = 2 ** jnp.arange(40)  # NNX978
print(bits)
""",
            """\
def factorial(n):
    return jnp.prod(jnp.arange(1, n + 1))  # NNX978
print([factorial(3), factorial(13)])
""",
        ),
        clean=(
            """\
def load(n):
    return {"at": np.cumsum(np.random.default_rng(0).integers(500, 4000, size=n))}
log = load(4)
stamps = jnp.asarray(log["at"])
""",
            """\
def load(n):
    stamps = 1_704_067_200_000 + np.cumsum(np.random.default_rng(0).integers(500, 4000, size=n))
    return {"at": stamps - stamps[0], "first": int(stamps[0])}
log = load(4)
stamps = jnp.asarray(log["at"])
""",
            """\
@jax.jit
def bucket(ids):
    return ids % 1000
ids = np.array([5_000_000_000, 7], dtype=np.int64)
print(bucket(ids % 1000), bucket((ids % 97).astype(np.int32)), bucket(ids.astype(np.float32)), bucket(ids - ids[0]))
print(bucket(np.unique(ids, return_inverse=True)[1]), bucket(np.searchsorted(ids, ids)))
""",
            """\
@jax.jit
def bucket(ids):
    return ids % 1000
if jax.config.jax_enable_x64:
    print(bucket(np.array([5_000_000_000, 7], dtype=np.int64)))
""",
            """\
@partial(jax.jit, static_argnames="most")
def below(v, most):
    return v * (most > 7)
def on_host(ids):
    return ids % 1000
@jax.jit
def noise(seed):
    return jax.random.normal(jax.random.key(seed), (3,))
print(below(x, most=5_000_000_000), on_host(np.array([5_000_000_000, 7])), noise(np.int64(5_000_000_000)))
""",
            """\
@jax.jit
def scaled(v):
    return v / 16.0 ** jnp.arange(v.shape[-1]), v / 2 ** jnp.arange(v.shape[-1])
print(scaled(jnp.ones((4, 12))))
""",
            """\
def row(v):
    return v / 16 ** jnp.arange(v.shape[0])
print(jax.vmap(row)(jnp.ones((40, 5))))
""",
            """\
def weights(places):
    return 1.0 / 256 ** jnp.arange(1, places + 1)
@jax.jit
def decode(digits):
    return jnp.sum(digits * weights(digits.shape[-1]), axis=-1)
print(decode(jnp.ones((9, 3))), decode(jnp.asarray(np.random.default_rng(0).integers(0, 256, size=(9, 3)))))
""",
            """\
ids = (np.int64(1_700_000_000) << 22) + np.arange(200, dtype=np.int64) * 3
known, compact = np.unique(ids, return_inverse=True)
print(jnp.asarray(compact), jnp.asarray(ids - ids[0]), jnp.asarray(ids % 97), jnp.asarray(ids.astype(np.float32)))
""",
            """\
print(jnp.asarray(np.array([5_000_000_000, 7], dtype=np.float64)))
print(jnp.asarray(np.array([3_000_000_000, 7], dtype=np.uint32)))
print(jnp.asarray(np.array([5_000_000_000, 0.5])), jnp.asarray(np.full(3, 2**40), dtype=jnp.float32))
print(jnp.asarray(np.array([2**31 - 1, -(2**31)])), jnp.asarray(np.arange(7) * 2**10))
""",
            """\
start = time.time_ns()
days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[ns]")
print(jnp.asarray(np.array([time.time_ns() - start])), jnp.asarray((days - days[0]).astype(np.int64) // 10**9))
print(jnp.asarray(days.astype("datetime64[D]").astype(np.int64)))
""",
            """\
if jax.config.jax_enable_x64:
    print(jnp.asarray(np.array([5_000_000_000])))
""",
            """\
ids = np.array([5_000_000_000, 6_000_000_000])
halves = np.stack([ids >> 32, ids & 0xFFFFFFFF], axis=1).astype(np.uint32)
print(jnp.asarray(halves), np.asarray(ids), jnp.asarray(np.searchsorted(ids, ids)))
""",
            """\
def weights(base, places):
    return 1.0 / base ** jnp.arange(1, places + 1)
def decode(digits):
    return jnp.sum(digits * weights(256.0, digits.shape[-1]), axis=-1)
print(weights(256.0, 4), decode(jnp.ones((2, 4))))
""",
            """\
def weights(base, places):
    return 1.0 / base ** jnp.arange(1, places + 1)
print(weights(256, 3), weights(2, 20), weights(base=10, places=9))
""",
            """\
def weights(base, places):
    if places > 3:
        return 1.0 / float(base) ** jnp.arange(1, places + 1)
    return 1.0 / base ** jnp.arange(1, places + 1)
def decode(digits):
    return jnp.sum(digits * weights(256, digits.shape[-1]), axis=-1)
print(weights(256, 4), decode(jnp.ones((2, 4))))
""",
            """\
def weights(base, places):
    places = min(places, 3)
    return 1.0 / base ** jnp.arange(1, places + 1)
few = partial(weights, 2)
print(weights(256, 4), few(20))
""",
            """\
def log_factorials(count):
    return jnp.cumsum(jnp.log(jnp.arange(1, count + 1)))
print(log_factorials(20))
""",
            """\
def factorial(n):
    return jnp.prod(jnp.arange(1, n + 1))
print([factorial(3), factorial(12)])
""",
            """\
def factorial(n):
    return jnp.prod(jnp.arange(1, n + 1))
print([factorial(len(part)) for part in ("ab", "abc")])
""",
            """\
counts = jnp.arange(1.0, 21.0)
print(jnp.cumprod(counts), jnp.prod(jnp.arange(1, 21, dtype=jnp.float32)), 2.0 ** jnp.arange(40))
""",
            """\
ids = jnp.arange(100_000)
print(ids.mean(), ids.astype(jnp.float32).sum(), 2 ** jnp.arange(31)[:30])
""",
            """\
cells = jnp.arange(1000)
print((cells * 73856093) & 1023, (cells * 73856093 ^ cells * 19349663) % 512)
""",
            """\
powers = 10 ** jnp.arange(9)
print(powers, (jnp.arange(40_000) ** 2).max(), jnp.sum(jnp.arange(60_000)))
""",
            """\
print(np.cumprod(np.arange(1, 15)), np.sum(np.arange(100_000)))
""",
        ),
    ),
    "NNX983": Cases(
        bad=(
            """\
def act(mean, scale, key):
    raw = mean + scale * jax.random.normal(key, mean.shape)
    action = jnp.tanh(raw)
    log_prob = jax.scipy.stats.norm.logpdf(raw, mean, scale)
    return action, (log_prob - jnp.log(1 - action**2)).sum(-1)  # NNX983
""",
            """\
def act(mean, scale, key):
    raw = mean + scale * jax.random.normal(key, mean.shape)
    action = jnp.tanh(raw)
    log_prob = jax.scipy.stats.norm.logpdf(raw, mean, scale).sum(-1)
    log_prob -= jnp.log1p(-action**2).sum(-1)  # NNX983
    return action, log_prob
""",
            """\
def act(mean, scale, key):
    raw = mean + scale * jax.random.normal(key, mean.shape)
    logp = jax.scipy.stats.norm.logpdf(raw, mean, scale).sum(-1)
    logp += (2 * (jnp.log(2) - raw - jax.nn.softplus(-2 * raw))).sum(-1)  # NNX983
    return jnp.tanh(raw), logp
print(act(x, 1.0, key))
""",
            """\
def act(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    log_prob = log_prob + jnp.log(1.0 - action**2 + 1e-6)  # NNX983
    return action, log_prob.sum(axis=-1)
print(act(x, 0.0 * x, key))
""",
            """\
def act(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    log_prob = log_prob.sum(-1)
    log_prob += jnp.sum(jnp.log(1 - jnp.square(action) + 1e-6), axis=-1)  # NNX983
    return action, log_prob
print(act(x, 0.0 * x, key))
""",
            """\
def act(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    volume = jnp.log1p(-(action**2)).sum(axis=-1)  # NNX983
    return action, log_prob.sum(axis=-1) + volume
print(act(x, 0.0 * x, key))
""",
            """\
def act(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    return action, (log_prob - jnp.log(1 - raw**2 + 1e-6)).sum(axis=-1)  # NNX983
print(act(x, 0.0 * x, key))
""",
            """\
def act(mean, scale, key):
    raw = mean + scale * jax.random.normal(key, mean.shape)
    squashed = jnp.tanh(raw)
    logp = jax.scipy.stats.norm.logpdf(raw, mean, scale).sum(-1)
    return squashed, logp + jnp.log(1 - squashed * squashed + 1e-6).sum(-1)  # NNX983
print(act(x, 1.0, key))
""",
        ),
        clean=(
            """\
def act(mean, scale, key):
    raw = mean + scale * jax.random.normal(key, mean.shape)
    action = jnp.tanh(raw)
    log_prob = jax.scipy.stats.norm.logpdf(raw, mean, scale)
    safe = log_prob - jnp.log(1 - action**2 + 1e-6)
    return action, safe.sum(-1), (log_prob - jnp.log(jnp.maximum(1 - action**2, 1e-6))).sum(-1)
print(act(x, x, key))
def bounded(mean, scale, key):
    mean = jnp.tanh(mean)
    raw = mean + scale * jax.random.truncated_normal(key, -2.0, 2.0, mean.shape)
    action = jnp.tanh(raw)
    log_prob = jax.scipy.stats.norm.logpdf(raw, mean, scale)
    return action, (log_prob - jnp.log(1 - action**2)).sum(-1)
print(bounded(x, x, key))
""",
            """\
def act(mean, scale, key):
    raw = mean + scale * jax.random.normal(key, mean.shape)
    logp = jax.scipy.stats.norm.logpdf(raw, mean, scale).sum(-1)
    logp -= (2 * (jnp.log(2) - raw - jax.nn.softplus(-2 * raw))).sum(-1)
    return jnp.tanh(raw), logp
print(act(x, 1.0, key))
""",
            """\
def act(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    log_prob = log_prob - jnp.log(1.0 - action**2 + 1e-6)
    return action, log_prob.sum(axis=-1)
print(act(x, 0.0 * x, key))
""",
            """\
def act(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    log_prob = log_prob.sum(-1)
    log_prob -= jnp.sum(jnp.log(1 - jnp.square(action) + 1e-6), axis=-1)
    return action, log_prob
print(act(x, 0.0 * x, key))
""",
            """\
def act(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    nll = -log_prob + jnp.log(1 - action**2 + 1e-6)
    return action, nll.sum(axis=-1)
print(act(x, 0.0 * x, key))
""",
            """\
def act(mean, log_std, key):
    noise = jax.random.normal(key, mean.shape)
    raw = mean + jnp.exp(log_std) * noise
    action = jnp.tanh(raw)
    log_prob = -0.5 * (noise**2 + jnp.log(2 * jnp.pi)) - log_std
    volume = -jnp.log1p(-(action**2)).sum(axis=-1)
    return action, log_prob.sum(axis=-1) + volume
print(act(x, 0.0 * x, key))
""",
            """\
def log_density(y):
    return jnp.sum(1.5 * jnp.log(1 - y**2 + 1e-6))
def unconstrained(v):
    y = jnp.tanh(v)
    return log_density(y) + jnp.sum(jnp.log(1 - y**2 + 1e-6))
print(jax.grad(unconstrained)(x))
""",
            """\
def fisher(r, n):
    z = jnp.arctanh(r)
    log_prob = jax.scipy.stats.norm.logpdf(z, 0.0, 1 / jnp.sqrt(n))
    return log_prob - jnp.log(1 - r**2)
print(fisher(0.5, 10.0))
""",
            """\
def step(v, log_prob):
    y = jnp.tanh(v)
    return y, log_prob + jnp.log(1 - y**2 + 1e-6)
print(step(x, 0.0 * x))
""",
        ),
    ),
    "NNX707": Cases(
        bad=(
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)

before = jnp.concatenate([alphas_cumprod[:-1], jnp.ones(1)])  # NNX707
print(betas * (1 - before) / (1 - alphas_cumprod))
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)

alphas_cumprod_prev = jnp.append(alphas_cumprod[1:], 1.0)  # NNX707
print(betas * (1 - alphas_cumprod_prev) / (1 - alphas_cumprod))
""",
            """\
class Schedule:
    def __init__(self, betas):
        self.alpha_bars = jnp.cumprod(1.0 - betas)
        self.before = jnp.pad(self.alpha_bars[:-1], ((0, 1),), constant_values=1.0)  # NNX707
print(Schedule(jnp.linspace(1e-4, 0.02, 10)).before)
""",
            """\
betas = np.linspace(1e-4, 0.02, 10)
ab = np.cumprod(1.0 - betas)
ab_prev = np.concatenate([np.array([1.0]), ab[1:]])  # NNX707
print(ab_prev)
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)

alphas_cumprod_prev = jnp.roll(alphas_cumprod, -1)  # NNX707
print(alphas_cumprod_prev)
""",
        ),
        clean=(
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)

before = jnp.concatenate([jnp.ones(1), alphas_cumprod[:-1]])
print(betas * (1 - before) / (1 - alphas_cumprod))
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)

alphas_cumprod_prev = jnp.append(1.0, alphas_cumprod[:-1])
print(betas * (1 - alphas_cumprod_prev) / (1 - alphas_cumprod))
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)

alphas_cumprod_prev = jnp.pad(alphas_cumprod[:-1], (1, 0), constant_values=1.0)
alphas_cumprod_next = jnp.append(alphas_cumprod[1:], 0.0)
print(alphas_cumprod_prev, alphas_cumprod_next, jnp.roll(alphas_cumprod, -1))
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)

alphas_cumprod_prev = jnp.roll(alphas_cumprod, 1).at[0].set(1.0)
print(alphas_cumprod_prev)
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)

gates = jnp.append(x[:-1], 1.0)
print(jnp.append(alphas_cumprod, 1.0), gates, jnp.pad(x[:-1], (0, 1), constant_values=1.0))
""",
            """\
discounts = jnp.cumprod(0.9 * jnp.ones(4))
print(jnp.append(discounts[:-1], 1.0))
""",
        ),
    ),
    "NNX708": Cases(
        bad=(
            """\
def rate(step, warmup, total):
    return jax.lax.cond(step >= warmup, lambda: 1.0 - step / (total - warmup), lambda: step / warmup)  # NNX708
print(rate(20, 10, 100))
""",
            """\
def rate(step, warmup_steps, total_steps, peak):
    if step < warmup_steps:
        return peak * step / warmup_steps
    progress = step / (total_steps - warmup_steps)  # NNX708
    return 0.5 * peak * (1 + math.cos(math.pi * progress))
print([rate(n, 10, 100, 0.1) for n in (9, 10, 99)])
""",
            """\
class Rate:
    def __init__(self, peak, warmup, total):
        self.peak, self.warmup, self.total = peak, warmup, total
    def __call__(self, step):
        step = jnp.asarray(step, jnp.float32)
        rising = step / self.warmup
        falling = jnp.cos(0.5 * jnp.pi * step / jnp.maximum(self.total - self.warmup, 1))  # NNX708
        return self.peak * jnp.where(step < self.warmup, rising, falling)
print(Rate(0.1, 10, 100)(20))
""",
            """\
def rate(step, warmup, total):
    fraction = jnp.clip(step / (total - warmup), 0.0, 1.0)  # NNX708
    return jnp.where(step < warmup, step / warmup, 1.0 - fraction)
print(rate(20, 10, 100))
""",
            """\
WARMUP, TOTAL = 10, 100
def rate(step):
    left = TOTAL - WARMUP
    falling = 0.5 * (1 + jnp.cos(jnp.pi * step / left))  # NNX708
    return jnp.where(step >= WARMUP, falling, step / WARMUP)
print(rate(20))
""",
        ),
        clean=(
            """\
def rate(step, warmup, total):
    going = step < warmup
    step = step - warmup
    return jax.lax.cond(going, lambda: 0.0, lambda: 1.0 - step / (total - warmup))
print(rate(20, 10, 100))
""",
            """\
def rate(step, warmup, total):
    return jax.lax.cond(step < warmup, lambda: step / warmup, lambda: 1.0 - (step - warmup) / (total - warmup))
print(rate(20, 10, 100))
""",
            """\
def rate(step, warmup_steps, total_steps, peak):
    if step < warmup_steps:
        return peak * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return 0.5 * peak * (1 + math.cos(math.pi * progress))
print([rate(n, 10, 100, 0.1) for n in (9, 10, 99)])
""",
            """\
def rate(step, warmup, total):
    return jnp.where(step < warmup, step / warmup, (total - step) / (total - warmup))
print(rate(20, 10, 100))
""",
            """\
def rate(step, warmup, total):
    if step < warmup:
        return step / warmup
    step = step - warmup
    return 1.0 - step / (total - warmup)
print(rate(20, 10, 100))
""",
            """\
def falling(step, warmup, total):
    return jnp.cos(jnp.pi * step / (total - warmup))
print(falling(0, 10, 100))
""",
            """\
def rate(step, warmup, total):
    after = jnp.maximum(step - warmup, 0)
    return jnp.where(step < warmup, step / warmup, 1 - after / (total - warmup))
print(rate(20, 10, 100))
""",
            """\
def rate(step, warmup, total):
    return jnp.where(step < warmup, step / warmup, 1 - step / total)
print(rate(20, 10, 100))
""",
        ),
    ),
    "NNX709": Cases(
        bad=(
            """\
def sample(seed, probs, n, beta):
    rng = np.random.default_rng(seed)
    index = rng.choice(n, 4, p=probs)
    return index, probs[index] ** -beta  # NNX709
print(sample(0, np.full(10, 0.1), 10, 0.4))
""",
            """\
def sample(k, probs, n, beta):
    index = jax.random.choice(k, n, (4,), p=probs)
    p = probs[index]
    return index, 1.0 / p**beta  # NNX709
print(sample(key, jnp.full(10, 0.1), 10, 0.4))
""",
            """\
class Replay:
    def __init__(self, size, beta=0.4):
        self.size, self.beta = size, beta
        self.priorities = jnp.ones(size)
    def sample(self, k, batch):
        probs = self.priorities / self.priorities.sum()
        index = jax.random.choice(k, self.size, (batch,), p=probs)
        weights = probs[index] ** (-self.beta)  # NNX709
        return index, weights
print(Replay(10).sample(key, 4))
""",
            """\
def sample(probs, n):
    index = np.random.choice(n, 4, p=probs)
    return index, jnp.power(jnp.take(probs, index), -0.4)  # NNX709
print(sample(np.full(10, 0.1), 10))
""",
            """\
def sample(k, probs, n, beta):
    index = jax.random.choice(k, n, (4,), True, probs)
    return index, (1.0 / probs[index]) ** beta  # NNX709
print(sample(key, jnp.full(10, 0.1), 10, 0.4))
""",
        ),
        clean=(
            """\
def sample(seed, probs, n, beta):
    rng = np.random.default_rng(seed)
    index = rng.choice(n, 4, p=probs)
    weights = (n * probs[index]) ** -beta
    return index, weights
print(sample(0, np.full(10, 0.1), 10, 0.4))
""",
            """\
def sample(k, probs, n, beta):
    index = jax.random.choice(k, n, (4,), p=probs)
    return index, (n * probs[index]) ** -beta
print(sample(key, jnp.full(10, 0.1), 10, 0.4))
""",
            """\
def sample(k, probs, n, beta):
    index = jax.random.choice(k, n, (4,), p=probs)
    weights = probs[index] ** -beta
    return index, weights / weights.max()
print(sample(key, jnp.full(10, 0.1), 10, 0.4))
""",
            """\
def sample(k, probs, n, beta):
    index = jax.random.choice(k, n, (4,), p=probs)
    return index, (1.0 / (n * probs[index])) ** beta
print(sample(key, jnp.full(10, 0.1), 10, 0.4))
""",
            """\
def estimate(k, probs, values, n):
    index = jax.random.choice(k, n, (4,), p=probs)
    return jnp.mean(values[index] / probs[index])
print(estimate(key, jnp.full(10, 0.1), jnp.ones(10), 10))
""",
            """\
def scaled(k, probs, degrees, n, beta):
    index = jax.random.choice(k, n, (4,), p=probs)
    return degrees[index] ** -beta
print(scaled(key, jnp.full(10, 0.1), jnp.ones(10), 10, 0.4))
""",
            """\
def sample(k, priorities, n, alpha):
    probs = priorities**alpha
    probs = probs / probs.sum()
    return jax.random.choice(k, n, (4,), p=probs)
print(sample(key, jnp.ones(10), 10, 0.6))
""",
        ),
    ),
    "NNX999": Cases(
        bad=(
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
def extract(table, t, shape):
    return table[t].reshape(-1, *[1] * (len(shape) - 1))
def noised(x_start, t, noise):
    a = extract(alphas, t, x_start.shape)
    return jnp.sqrt(a) * x_start + jnp.sqrt(1.0 - a) * noise  # NNX999
""",
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
signal, rest = jnp.sqrt(alphas), 1
signals = jnp.sqrt(alphas)
noises = jnp.sqrt(1.0 - alphas)
def noised(x0, t, noise):
    return signals[t][:, None] * x0 + noises[t][:, None] * noise  # NNX999
""",
            """\
def noised(betas, x0, t, noise):
    alphas = 1.0 - betas
    a = alphas[t][:, None]
    return jnp.sqrt(a) * x0 + jnp.sqrt(1.0 - a) * noise  # NNX999
""",
            """\
class Diffusion:
    def __init__(self, betas):
        self.alphas = 1.0 - betas
        self.alpha_bars = jnp.cumprod(self.alphas)
    def q_sample(self, x_start, t, eps):
        keep = self.alphas[t]
        return keep**0.5 * 0 + jnp.sqrt(keep) * x_start + jnp.sqrt(1 - keep) * eps
    def q(self, x_start, t, eps):
        keep = self.alphas[t]
        return jnp.sqrt(keep) * x_start + jnp.sqrt(1 - keep) * eps  # NNX999
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 100)
alphas_cumprod = jnp.cumprod(betas)  # NNX999
print(jnp.sqrt(alphas_cumprod))
""",
            """\
class Diffusion:
    def __init__(self, steps):
        self.betas = jnp.linspace(1e-4, 0.05, steps)
        self.alphas = 1.0 - self.betas
        self.alpha_bars = jnp.cumprod(self.betas)  # NNX999
    def noised(self, v, t, noise):
        share = self.alpha_bars[t]
        return jnp.sqrt(share) * v + jnp.sqrt(1.0 - share) * noise
print(Diffusion(50).noised(x, 3, 0.0 * x))
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 100)
alphas = 1.0 - betas
sqrt_alpha_bar = jnp.sqrt(jnp.cumprod(1.0 - alphas))  # NNX999
print(sqrt_alpha_bar)
""",
            """\
alpha_bar = jnp.cumprod(jnp.linspace(1e-4, 0.02, 100))  # NNX999
print(alpha_bar, "betas from 1e-4 to 0.02")
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 100)
schedule = dict(betas=betas, alpha_bar=jnp.cumsum(1.0 - betas))  # NNX999
print(schedule["alpha_bar"])
""",
        ),
        clean=(
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
shares = jnp.cumprod(alphas)
signals = jnp.sqrt(shares)
noises = jnp.sqrt(1.0 - shares)
def noised(x0, t, noise):
    return signals[t][:, None] * x0 + noises[t][:, None] * noise
assert noised(jnp.ones((2, 3)), jnp.array([0, 1]), 0.0).shape == (2, 3)
""",
            """\
betas = jnp.linspace(1e-3, 0.1, 6)
alphas = 1.0 - betas
def extract(table, t):
    return table[t][:, None]
def noised(x0, t, noise):
    a = extract(jnp.cumprod(alphas), t)
    return jnp.sqrt(a) * x0 + jnp.sqrt(1.0 - a) * noise
assert noised(jnp.ones((2, 3)), jnp.array([0, 1]), 0.0).shape == (2, 3)
""",
            """\
def noised(betas, x0, t, noise):
    alphas = jnp.cumprod(1.0 - betas)
    a = alphas[t][:, None]
    return jnp.sqrt(a) * x0 + jnp.sqrt(1.0 - a) * noise
assert noised(jnp.full(4, 0.1), jnp.ones((2, 3)), jnp.array([0, 1]), 0.0).shape == (2, 3)
""",
            """\
def chain(betas, v, noises):
    alphas = 1.0 - betas
    for t in range(4):
        v = jnp.sqrt(alphas[t]) * v + jnp.sqrt(1.0 - alphas[t]) * noises[t]
    return v
assert chain(jnp.full(4, 0.1), x, jnp.ones(4)).shape == (3,)
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 100)
alphas = 1.0 - betas
alphas_cumprod = jnp.cumprod(alphas)
print(jnp.sqrt(alphas_cumprod), jnp.cumprod(1.0 - betas))
""",
            """\
betas = jnp.linspace(1e-4, 0.02, 100)
log_alpha_bar = jnp.cumsum(jnp.log(1.0 - betas))
alpha_bar = jnp.exp(-jnp.cumsum(betas))
print(log_alpha_bar, alpha_bar)
""",
            """\
def schedule(steps):
    t = jnp.linspace(0.0, 1.0, steps + 1)
    alpha_bar = jnp.cos(0.5 * jnp.pi * t) ** 2
    betas = jnp.clip(1.0 - alpha_bar[1:] / alpha_bar[:-1], 0.0, 0.999)
    alpha_bars = jnp.cumprod(1.0 - betas)
    return alpha_bars
print(schedule(50))
""",
            """\
alphas = jnp.linspace(0.9999, 0.98, 100)
alpha_bars = jnp.cumprod(alphas)
betas = 1.0 - alphas
print(alpha_bars, betas)
""",
            """\
betas = jnp.full(10, 0.9)
discounts = jnp.cumprod(betas)
print(discounts)
""",
            """\
betas = jnp.linspace(0.98, 0.9999, 10)
alpha_bars = jnp.cumprod(jnp.linspace(0.98, 0.9999, 10))
total_alpha = jnp.cumsum(betas)
print(alpha_bars, total_alpha)
""",
        ),
    ),
}

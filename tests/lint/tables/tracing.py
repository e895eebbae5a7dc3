"""Values that are not known while a function is compiled: decisions, numbers, shapes and static arguments."""

from __future__ import annotations

from tests.lint.tables import Cases

_PLANNED = """\
from dataclasses import dataclass, replace
@partial(jax.jit, static_argnames="plan")
def f(v, plan):
    return v * plan.n
"""

_NOISY = """\
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v, train):
        if train:
            v = self.drop(v)
        return v
net = Noisy(nnx.Rngs(7))
"""

CASES = {
    "NNX819": Cases(
        bad=(
            "graphdef, others, params = nnx.split(model, nnx.Param, ...)  # NNX819\n",
            """\
from flax.nnx import split
def parts(m: nnx.Module):
    graphdef, batch_stats, params = split(m, nnx.Param, nnx.BatchStat)  # NNX819
    return params
""",
            "rest, params = nnx.state(model, nnx.Param, ...)  # NNX819\n",
            "params, graphdef = nnx.split(model)  # NNX819\n",
        ),
        clean=(
            "graphdef, params, others = nnx.split(model, nnx.Param, ...)\n",
            "graphdef, params, batch_stats, rest = nnx.split(model, nnx.Param, nnx.BatchStat, ...)\n",
            "graphdef, trainable, frozen = nnx.split(model, nnx.Param, ...)\n",
            "graphdef, rest, params = nnx.split(model, nnx.Not(nnx.Param), ...)\n",
            "graphdef, state = nnx.split(model)\n",
            "def f(model, wanted):\n    graphdef, others, params = nnx.split(model, wanted, ...)\n    return params\n",
            "a, b = nnx.state(model, nnx.Param, ...)\n",
        ),
    ),
    "NNX820": Cases(
        bad=(
            """\
def rate(count):
    if count < 10:  # NNX820
        return 0.01 * count
    return 0.1
tx = optax.adam(rate)
@jax.jit
def step(p, state, g):
    updates, state = tx.update(g, state, p)
    return optax.apply_updates(p, updates), state
""",
            """\
tx = optax.chain(optax.clip(1.0), optax.scale_by_schedule(lambda n: -min(n, 10) / 10))  # NNX820
@jax.jit
def step(p, state, g):
    updates, state = tx.update(g, state, p)
    return optax.apply_updates(p, updates), state
""",
            """\
def soft(v, limit):
    if v > limit:  # NNX820
        return v - limit
    return 0.0
shrink = jnp.vectorize(soft)
print(shrink(x, 0.5))
""",
            """\
@jnp.vectorize
def step(v):
    return 1.0 if v > 0 else 0.0  # NNX820
""",
            """\
@jax.jit
def all_small(v):
    return not jnp.any(v > 3)  # NNX820
@jax.jit
def shown(v):
    empty = not v.any()  # NNX820
    return jnp.where(empty, v, 0.0)
""",
            """\
@jax.jit
def doubled(v):
    if v > 0:  # NNX820
        v = v * 2
    return v
with jax.disable_jit():
    print(jax.vmap(doubled)(x))
""",
            """\
@jax.jit
def relaxed(v, rounds, limit):
    for i in range(rounds):  # NNX821
        v = v * 0.5
        if i < rounds - 1:
            v = v + 1.0
        if v.sum() > limit:  # NNX820
            v = v * 0.1
    return v
relaxed(x, 3, 1.0)
""",
            """\
@jax.jit
def filled(v, n):
    out = jnp.zeros(n)  # NNX823
    if n > 2:
        out = out + 1.0
    if v > 2:  # NNX820
        out = out * 2.0
    return out
filled(1.0, 3)
""",
            """\
@jax.jit
def chosen(i, j, v):
    if i == 0 and j == 1 and v[0] > 0.0:  # NNX820
        return v
    return 2.0 * v
print(chosen(1, 2, x))
""",
            """\
@jax.jit
def scaled(v, scale=None):
    return v / (scale or 2.0)  # NNX820
print(scaled(x), scaled(x, 3.0))
""",
            """\
class Scaler:
    def __init__(self, scale):
        self.scale = scale
    def apply(self, v, scale=None):
        scale = scale or self.scale  # NNX820
        return (v - v.mean()) / scale
scaler = Scaler(2.0)
normalise = jax.jit(lambda v, s: scaler.apply(v, s))
print(normalise(x, None), normalise(x, jnp.float32(3.0)))
""",
            """\
@jax.jit
def shifted(v, shift=None):
    if shift:  # NNX820
        v = v + shift
    return v
print(shifted(x), shifted(x, shift=jnp.ones(())))
""",
            """\
import contextlib
class Timer:
    def __enter__(self):
        return self
    def __exit__(self, kind, value, trace):
        return False
class Section(Timer):
    pass
class Done(Timer):
    def __exit__(self, kind, value, trace):
        self.good = kind is None
        return kind is None
@contextlib.contextmanager
def section(name):
    print(name)
    try:
        yield name
    finally:
        print("end")
@jax.jit
def f(v):
    with Timer(), Section():
        assert v.sum() > 0  # NNX820
    with section("checks"):
        assert jnp.all(v > 0)  # NNX820
    with Done() as timer:
        if v[0] > 0:  # NNX820
            v = v * 2
    return v
""",
            """\
def clamped(v):
    if v.dtype == jnp.float16 and jnp.isinf(v).any():  # NNX820
        v = jnp.clip(v, -6e4, 6e4)
    return v
def layer(v):
    return clamped(v * 2)
y = jax.jit(layer)(x)
""",
            """\
def attend(v, mask=None):
    return v * mask if mask else v  # NNX820
def decode(v):
    @jax.jit
    def first(v):
        return v, v > 0.0
    @jax.jit
    def following(v, mask):
        return attend(v, mask=mask), mask
    v, mask = first(v)
    for _ in range(2):
        v, mask = following(v, mask)
    return v
y = decode(x)
""",
            """\
@jax.jit
def f(x):
    if x.sum() > 0:  # NNX820
        return x
    return -x
""",
            """\
@nnx.jit
def step(model, x):
    loss = model(x).mean()
    while loss > 1:  # NNX820
        loss = loss / 2
    return loss
""",
            """\
@partial(jax.jit, static_argnames="n")
def f(x, n):
    assert jnp.all(x > 0)  # NNX820
    return x * n
""",
            """\
def clip(v, limit):
    return limit if v > limit else v  # NNX820
fast = jax.jit(lambda v: clip(v, 3.0))
""",
            """\
def body(carry, v):
    carry = v if v > carry else carry  # NNX820
    return carry, v
jax.lax.scan(body, 0.0, x)
""",
            """\
@jax.jit
def f(x, y):
    return max(x, y)  # NNX820
""",
            """\
@jax.jit
def f(x):
    match x.sum():  # NNX820
        case 0:
            return x
    return -x
""",
            """\
def f(x, n):
    return x * n if x[0] > 0 else -x  # NNX820
fast = partial(jax.jit, static_argnums=1)(f)
faster = jax.jit(fun=f, static_argnames="n")
""",
            """\
@jax.jit
def f(x, mask):
    if not mask.any() or x[0] > 1:  # NNX820
        return x
    return x * mask
""".replace("mask.any() or x[0] > 1", "mask.any()"),
            """\
@jax.jit
def f(x, y):
    good = x > 0 and y > 0  # NNX820
    return jnp.where(good, x, y)
""",
            """\
@jax.jit
def f(x):
    return jnp.where(not x, 1.0, x)  # NNX820
""",
            """\
@jax.jit
def f(x):
    return sorted(x * 2)  # NNX820
""",
            """\
class Gate(nnx.Module):
    def __init__(self):
        self.ready = nnx.Variable(jnp.array(False))
        self.calls = nnx.Variable(jnp.array(0))
        self.shift = nnx.Param(jnp.zeros(3))
    def __call__(self, v):
        if not self.ready[...]:  # NNX820
            self.shift[...] = v.mean(0)
            self.ready[...] = jnp.array(True)
        return v + self.shift[...]
@nnx.jit
def run(gate, v):
    return gate(v)
run(Gate(), x)
""",
            """\
class Gate(nnx.Module):
    def __init__(self):
        self.ready = nnx.Variable(jnp.array(False))
        self.calls = nnx.Variable(jnp.array(0))
        self.shift = nnx.Param(jnp.zeros(3))
    def __call__(self, v):
        if self.ready.value:  # NNX820
            v = v * 2.0
        if self.calls[...] == 0:  # NNX820
            v = v + 1.0
        return v + self.shift[...]
class Gates(nnx.Module):
    def __init__(self):
        self.first, self.rest = Gate(), nnx.data([Gate(), Gate()])
    def total(self, v):
        for scale, gate in zip((1.0, 2.0), self.rest):
            v = scale * gate(v)
        return self.first(v).sum()
@nnx.jit
def slopes(gates, v):
    return nnx.grad(lambda parts: parts.total(v))(gates)
slopes(Gates(), x)
""",
        ),
        clean=(
            """\
def rate(count, top=0.1, warm=None):
    if warm is None:
        warm = 10
    return jnp.where(count < warm, top * count / warm, top)
tx = optax.adam(rate)
@jax.jit
def step(p, state, g):
    updates, state = tx.update(g, state, p)
    return optax.apply_updates(p, updates), state
print(step(x, tx.init(x), x))
""",
            """\
def rate(count):
    return 0.1 if count < 10 else 0.01
tx = optax.sgd(rate)
updates, state = tx.update(x, tx.init(x), x)
print(updates)
""",
            """\
@jax.jit
def kept(x, y, *extra):
    pair = jax.lax.stop_gradient((x, y))
    total = pair[0].sum() if pair else 0.0
    rest = jax.device_put({"x": x})
    while rest:
        total = total + rest.popitem()[1].sum()
    both = jax.lax.optimization_barrier([y, *extra])
    if both:
        total = total + both[0].sum()
    return total
kept(x, x)
""",
            """\
@partial(jnp.vectorize, excluded=(1,))
def powers(v, n):
    return v**n if n > 2 else v
print(powers(x, 3))
""",
            """\
signed = jnp.vectorize(lambda v, flag: v if flag else -v, excluded={"flag"})
print(signed(x, flag=True), np.vectorize(lambda v: v if v > 0 else 0.0)(np.ones(3)))
""",
            """\
@functools.partial(jax.jit, static_argnums=(1, 2))
def applied(v, f, names):
    plain = not callable(f)
    few = not any(name.startswith("w") for name in names) and not len(v.shape)
    return v if plain or few or not isinstance(v, jax.Array) else f(v)
print(applied(x, jnp.sin, ("w", "b")), applied(x, None, ()))
""",
            """\
@functools.singledispatch
def limited(v, n):
    return n
@jit
@limited.register
def limited_list(v: list, n):
    if n > 1:
        return v[:1]
    return v
print(limited([x], 2))
""",
            """\
kept = []
def body(c, v):
    kept.append(c)
    if c > 0:
        c = c * 2
    return c, v
@jax.jit
def run(c, v):
    if v.sum() > 0:
        v = v * float(v[0])
    v = np.sin(v)
    return jax.lax.scan(body, c, v)
with jax.disable_jit():
    print(run(1.0, x))
""",
            """\
from flax import struct
static = partial(struct.field, pytree_node=False)
class Agent(struct.PyTreeNode):
    scale: jax.Array
    n: int = static()
    @jax.jit
    def act(self, v):
        drawn = jnp.ones((self.n, 3)) * self.scale
        assert drawn.shape[0] == self.n
        return drawn + v
print(Agent(scale=x, n=2).act(x))
""",
            """\
from flax import struct
@struct.dataclass
class Ages:
    counts: jax.Array
def of(full, prefix):
    if not full:
        return {}
    return {name: count for name, count in full.items() if name.startswith(prefix)}
@jax.jit
def total(ages):
    return sum(map(jnp.sum, of(ages.counts, "a").values()))
print(total(Ages({"a1": x, "b": x})))
""",
            """\
@partial(jax.jit, static_argnames="rounds")
def relaxed(v, rounds):
    for i in range(rounds):
        v = v * 0.5
        if i < rounds - 1:
            v = v + 1.0
    return v
print(relaxed(x, rounds=3))
""",
            """\
@partial(jax.jit, static_argnames="n")
def filled(v, n):
    out = jnp.zeros(n)
    if n > 2:
        out = out + 1.0
    return jnp.where(v > 2, out * 2.0, out)
print(filled(1.0, n=3))
""",
            """\
class Process:
    def variance(self, t):
        assert jnp.all(t >= 0), "t must be positive"
        raise NotImplementedError
    def stddev(self, t):
        return jnp.sqrt(self.variance(t))
class Brownian(Process):
    def variance(self, t):
        return t
@jax.jit
def spread(t, process: Process = Brownian()):
    return process.stddev(t)
print(spread(x))
""",
            """\
@partial(jax.jit, static_argnames="scale")
def scaled(v, scale=None):
    return v / (scale or 2.0)
print(scaled(x), scaled(x, 3.0))
""",
            """\
@jax.jit
def scaled(v, scale=None):
    return v / (scale or 2.0)
print(scaled(x), scaled(x, None))
""",
            """\
@jax.jit
def weighted(v, options=None):
    options = options or {}
    return v * options.get("weight", 1.0)
print(weighted(x), weighted(x, {"weight": 2.0}))
""",
            """\
def scaled(v, scale=None):
    return v / (scale or 2.0)
@jax.jit
def half(v):
    return scaled(v)
print(half(x), scaled(x, 3.0))
""",
            """\
import contextlib
class Skipping:
    def __enter__(self):
        return self
    def __exit__(self, kind, value, trace):
        if kind is not None and issubclass(kind, jax.errors.ConcretizationTypeError):
            return True
class SkippingAll(Skipping):
    pass
class Ignoring(contextlib.suppress):
    pass
@contextlib.contextmanager
def checks(name):
    try:
        yield name
    except jax.errors.TracerBoolConversionError:
        pass
@contextlib.contextmanager
def quiet():
    with contextlib.suppress(Exception):
        yield
@jax.jit
def f(v):
    with Skipping():
        assert v.sum() > 0
    with SkippingAll() as _, Skipping():
        assert jnp.all(v > 0)
    with checks("v"):
        assert v[0] > 0
    with quiet():
        if v.min() < 0:
            v = v * 2
    skipping = Skipping()
    with skipping:
        assert v[1] > 0
    with Ignoring(Exception):
        assert v[2] > 0
    return v
print(f(x))
""",
            """\
class Money:
    def __init__(self, amount):
        self.amount = amount
    def __mul__(self, other):
        return Money(self.amount * other.amount)
    def __lt__(self, other):
        return True
    def __bool__(self):
        return True
jax.tree_util.register_pytree_node(Money, lambda m: ((m.amount,), None), lambda _, parts: Money(*parts))
@jax.jit
def f(a, b):
    c = a * b
    if c:
        return c
    if a < b:
        return a
    return b
y = f(Money(x), Money(x))
""",
            """\
@jax.jit
def f(v, batch):
    feats = {"a": v}
    feats.update({"b": batch["b"]})
    for k, one in feats.items():
        if k in ["a"]:
            v = v + one
    for k in feats:
        if k == "a":
            v = v + feats[k]
    return v
y = f(x, {"b": x})
""",
            """\
@jax.jit
def f(v, batch):
    feats = dict(a=v)
    feats |= {"b": batch["b"]}
    for i, (k, one) in enumerate(sorted(feats.items())):
        if k in ("a",) or i in (0, 1):
            v = v + one
    for k in sorted(feats):
        if k in ("a",):
            v = v + feats[k]
    for k in batch.keys():
        if k in ("b",):
            v = v + batch[k]
    return v
y = f(x, {"b": x})
""",
            """\
class Money:
    def __init__(self, amount):
        self.amount = amount
    def __add__(self, other):
        return Money(self.amount + other.amount)
    def __bool__(self):
        return True
jax.tree_util.register_pytree_node(Money, lambda m: ((m.amount,), None), lambda _, parts: Money(*parts))
@jax.jit
def f(a, b):
    c = a + b
    if c:
        return c.amount
    return a.amount
y = f(Money(x), Money(x))
""",
            """\
def checked(v, grid=None):
    if grid is None and jnp.any(v < 0):
        raise ValueError
    return v * 2
def fluxes(v, grid=None):
    traced = grid is not None
    def one(v, t):
        return checked(v, grid=grid) + t, None
    if traced:
        v, _ = jax.lax.scan(one, v, jnp.arange(3.0))
    else:
        for t in range(3):
            v, _ = one(v, t)
    return v
print(fluxes(x), fluxes(x, (3,)))
""",
            """\
class Stack(nnx.Module):
    def __init__(self):
        self.first = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        self.second = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
    def __call__(self, v, caches=None):
        kept = []
        for i, layer in enumerate((self.first, self.second)):
            v = layer(v) + (caches[i] if caches else 0.0)
            kept.append(v)
        return v, kept
def generate(stack, v):
    graphdef, state = nnx.split(stack)
    @jax.jit
    def prefill(state, v):
        m = nnx.merge(graphdef, state)
        v, pairs = m(v)
        caches = []
        for one in pairs:
            caches.append(jnp.zeros(3) + one)
        return v, caches
    @jax.jit
    def decode(state, v, caches):
        m = nnx.merge(graphdef, state)
        v, caches = m(v, caches=caches)
        return v, caches
    v, caches = prefill(state, v)
    for _ in range(2):
        v, caches = decode(state, v, caches)
    return v
print(generate(Stack(), x))
""",
            """\
def scaled(v, caches=None):
    return v * caches[0] if caches else v
def generate(v):
    @jax.jit
    def prefill(v):
        caches = []
        for number in range(2):
            caches.append(v + number)
        return v, caches
    @jax.jit
    def decode(v, caches):
        return scaled(v, caches), caches
    v, caches = prefill(v)
    for _ in range(2):
        v, caches = decode(v, caches)
    return v
print(generate(x))
""",
            """\
def product(data, size, form):
    if form == "whole":
        def run(w):
            return (data * w).sum()
    else:
        def run(w):
            def part(row):
                if size > 0:
                    return row * w
                return row
            return jax.vmap(part)(data).sum()
    return run
@jax.jit
def f(data, size, w):
    return product(data, size, "whole")(w)
f(x, 2, 3.0)
""",
            """\
@jax.jit
def f(x, scale):
    if isinstance(scale, jax.Array):
        return jnp.where(scale > 0, x, 0)
    if scale > 0:
        return x
    return x * 2
""",
            """\
@jax.jit
def f(x, mask=None):
    if mask is not None and x.ndim == 2:
        x = x * mask
    return x
""",
            """\
@partial(jax.jit, static_argnames=("train",))
def f(x, train):
    return x if train else -x
""",
            """\
@nnx.jit
def step(model, x):
    if model.use_bias and isinstance(x, jax.Array):
        return model(x)
    return x
""",
            """\
@jax.jit
def f(batch):
    if "mask" in batch:
        return batch["x"] * batch["mask"]
    return batch["x"]
""",
            """\
@jax.jit
def f(x):
    return jnp.where(x > 0, x, -x) & (x > 1)
""",
            """\
y = jax.jit(lambda v: v.sum())(x)
if y > 3:
    print("large")
""",
            """\
@jax.jit
def f(x):
    if x.dtype == jnp.float32 and x.shape[0] > 2 and len(x) > 1:
        return x
    return x.astype(jnp.float32)
""",
            """\
@jax.jit
def f(params):
    for name, value in sorted(params.items()):
        if name.startswith("bias"):
            params = {**params, name: value * 2}
    return params
""",
            """\
@jax.jit
def f(x, ys):
    total = x
    for y in ys:
        total = total + y
    assert x.shape == (3,), x.shape
    return total if ys else x
""".replace("total if ys else x", "total"),
            """\
@jax.jit
def f(x):
    assert x.ndim in (1, 2) and not x.weak_type
    return x
""",
            """\
@jax.jit
def f(x):
    match x.ndim, x.dtype.name:
        case 1, "float32":
            return x
    return -x
""",
            """\
def f(x, n):
    return x * n if n > 0 else -x
fast = partial(jax.jit, static_argnums=1)(f)
""",
            """\
loss = nnx.grad(lambda m: m(x).sum())
def f(v):
    return v if v > 0 else -v
jax.grad(f)(1.0)
""",
            """\
def predict(points, labels: list[jax.Array] | None = None):
    return points, labels[0] if labels else None
@jax.jit
def forward(points, labels):
    return predict(points, labels)
y = forward(x, [x for _ in range(2)])
""",
            """\
@jax.jit
def naive(v):
    if v > 0:
        return v
    return 0
try:
    naive(10.0)
except Exception as error:
    print(error)
""",
            """\
class Gate(nnx.Module):
    def __init__(self):
        self.ready = nnx.Variable(jnp.array(False))
        self.calls = nnx.Variable(jnp.array(0))
        self.shift = nnx.Param(jnp.zeros(3))
    def __call__(self, v):
        if not self.ready[...]:
            return v * 2.0
        return v + self.shift[...]
gate = Gate()
print(gate(x))
""",
            # what no transform changes is known: outside of the batch, and beside the parameters
            """\
class Gate(nnx.Module):
    def __init__(self):
        self.ready = nnx.Variable(jnp.array(True))
        self.shift = nnx.Param(jnp.zeros(3))
    def __call__(self, v):
        if self.ready[...]:
            v = v * 2.0
        return v + self.shift[...]
def run(gate, v):
    return gate(v)
print(nnx.vmap(run, in_axes=(None, 0))(Gate(), x).shape)
print(nnx.grad(lambda gate, v: gate(v).sum())(Gate(), x))
""",
            """\
class Store(nnx.Module):
    def __init__(self):
        self.kept = nnx.Variable(None)
    def __call__(self, v):
        if self.kept.value is None:
            v = v + 1.0
        return v
@nnx.jit
def run(store, v):
    return store(v)
print(run(Store(), x))
""",
        ),
    ),
    "NNX821": Cases(
        bad=(
            """\
def count(v):
    return int(jnp.sum(v))  # NNX821
@jax.jit
def scaled(v):
    with jax.ensure_compile_time_eval():
        n = count(jnp.ones(3))
    return v * n * count(v)
""",
            """\
def run_layers(layers, h):
    def body(i, h):
        return h @ layers[i]["w"]  # NNX821
    return jax.lax.fori_loop(0, len(layers), body, h)
def made(n):
    layers = []
    for k in jax.random.split(key, n):
        layers.append({"w": jax.random.normal(k, (3, 3))})
    return layers
run_layers(made(4), x)
""",
            """\
def mixed(v):
    rows = []
    for factor in range(3):
        rows.append(v * factor)
    return jax.lax.scan(lambda total, i: (total + rows[i].sum(), None), 0.0, jnp.arange(3))[0]  # NNX821
""",
            """\
def forward(params, v):
    return jax.lax.fori_loop(0, 3, lambda i, h: h @ params["layers"][i], v)  # NNX821
params = {"layers": [jnp.eye(3) for _ in range(3)]}
forward(params, x)
""",
            """\
def through(layers, v):
    return jax.lax.fori_loop(0, 2, lambda i, h: h * layers[i], v)  # NNX821
def mean_squared(layers, v):
    return (through(layers, v) ** 2).mean()
@jax.jit
def step(layers, v):
    grads = jax.grad(mean_squared)(layers, v)
    return jax.tree.map(lambda p, g: p - 0.1 * g, layers, grads)
def train():
    layers = [jnp.ones(3), jnp.ones(3)]
    for _ in range(3):
        layers = step(layers, x)
""",
            """\
@jax.jit
def summed(window, v):
    n, m = window
    for i in range(n):  # NNX821
        for j in range(m):
            v = v + i * j
    return v
print(summed((2, 3), x))
""",
            """\
class Solver:
    def _dt(self, state):
        return float(jnp.clip(state.sum(), 0.0, 1.0))  # NNX821
    def step(self, state, model):
        return state + self._dt(state)
solver = Solver()
def run(state, model):
    @jax.jit
    def body(state, _):
        new = solver.step(state, model)
        return new, new
    return jax.lax.scan(body, state, None, length=3)
""",
            """\
@jax.jit
def f(x):
    return float(x.sum())  # NNX821
""",
            """\
@nnx.jit
def step(model, x):
    loss = model(x).mean()
    return loss.item()  # NNX821
""",
            """\
def norm(v):
    return math.pi * int(v)  # NNX821
fast = jit(lambda v: norm(v[0]))
""",
            """\
@jax.jit
def f(x, n):
    for i in range(n):  # NNX821
        x = x * 2
    return x
""",
            """\
@jax.jit
def f(x):
    return x.tolist()  # NNX821
""",
            """\
f = jax.vmap(lambda v: bool(v))  # NNX821
""",
        ),
        clean=(
            """\
import functools
@functools.lru_cache
def table(n):
    parts = []
    for i, j in zip(*[m.ravel() for m in jnp.meshgrid(jnp.arange(n), jnp.arange(n), indexing="ij")]):
        i, j = int(i), int(j)
        if i > j:
            parts.append(i + float(jnp.sqrt(j)))
    return jnp.array(parts)
@jax.jit
def scaled(v):
    with jax.ensure_compile_time_eval():
        weights = table(3)
    return v.sum() * weights
print(scaled(x))
""",
            """\
from jax import ensure_compile_time_eval as at_once
@jax.jit
def scaled(v):
    def count(n):
        return int(jnp.sum(jnp.arange(n)))
    with at_once():
        n = count(3)
    with at_once():
        def mean(values):
            return float(values.mean())
        m = mean(jnp.ones(3))
    return jnp.ones(n) * v.sum() * m
print(scaled(x))
""",
            """\
@jax.ensure_compile_time_eval()
def count(n):
    return int(jnp.sum(jnp.arange(n)))
print(jax.jit(lambda v: v.sum() * jnp.ones(count(3)))(x))
""",
            """\
def picked(items, i):
    return items[i] * 2.0
picked([1.0, 2.0], 0)
fast = jax.jit(picked)
print(fast(jnp.ones((3, 2)), 1))
""",
            """\
def total(rows):
    parts = []
    for row in rows:
        parts.append(row * 2.0)
    parts = jnp.stack(parts)
    return jax.lax.fori_loop(0, 3, lambda i, h: h + parts[i].sum(), 0.0)
print(total(jnp.ones((3, 2))))
""",
            """\
class Bank:
    def __init__(self):
        self.rows = []
    def add(self, row):
        self.rows.append(row)
    def finish(self):
        self.rows = jnp.stack(self.rows)
    def total(self):
        return jax.lax.fori_loop(0, 2, lambda i, h: h + self.rows[i].sum(), 0.0)
bank = Bank()
bank.add(x)
bank.add(x)
bank.finish()
print(bank.total())
""",
            """\
def rows_of(items, i):
    if isinstance(items, list):
        items = jnp.stack(items)
    return items[i]
print(jax.jit(rows_of)([x, x], 1))
""",
            """\
def unrolled(layers, v):
    for i in range(len(layers)):
        v = v @ layers[i]
    return v
print(jax.jit(unrolled)([jnp.eye(3), jnp.eye(3)], x))
""",
            """\
def placed(board, spots, values):
    flat = board.flatten()
    return flat.at[spots.flatten()].max(values.flatten()).reshape(2, 3)
print(jax.jit(placed)(jnp.zeros((2, 3)), jnp.array([0, 4]), jnp.ones(2)))
""",
            """\
def probe(v, debug=False):
    y = jnp.sin(v)
    if debug:
        print(float(y.sum()))
    return y
compiled = jax.jit(probe, static_argnames=("debug",))
print(compiled(x), compiled(x, debug=False))
""",
            """\
@partial(jax.jit, static_argnames=("n",))
def bins(n):
    n = int(n)
    return jnp.ones(n).sum()
def all_bins(ns):
    return jax.vmap(bins)(ns)
print(bins(3))
""",
            """\
def product(v, n):
    z = 1.0
    for i in range(int(n)):
        z = z * (v + i)
    return z * n
print(jax.grad(product)(1.0, 2.0), jax.grad(product, argnums=1)(1.0, 2.0))
""",
            """\
class Solver:
    def _dt(self, state):
        return float(jnp.clip(state.sum(), 0.0, 1.0))
    def step(self, state, model):
        return state + self._dt(state)
solver = Solver()
def run(state, dt, model):
    @jax.jit
    def old(state, _):
        new = solver.step(state, dt, model)
        return new, new
    return jax.lax.scan(old, state, None, length=3)
print(solver.step(x, None))
""",
            """\
@jax.jit
def f(x):
    return x.sum() / float(x.shape[0])
""",
            """\
@partial(jax.jit, static_argnames="n")
def f(x, n):
    for i in range(int(n)):
        x = x * 2
    return x
""",
            """\
@jax.jit
def f(x):
    return x.astype(float) * int(math.prod(x.shape))
""",
            """\
loss = jax.jit(lambda v: v.sum())(x)
print(float(loss), loss.item())
""",
            """\
@jax.jit
def f(x):
    for i in range(x.shape[0]):
        x = x * i
    return x
""",
            """\
@jax.jit
def f(x):
    return x * int("3") + len(x)
""",
            """\
@jax.jit
def f(items):
    for name, item in items.items():
        yield_ = item * 2
    return yield_
""",
            """\
def nll(mean, variance, *, validate=False):
    if validate and bool(jnp.any(variance <= 0)):
        raise ValueError("the variance is negative")
    return jnp.mean(mean / variance)
y = jax.jit(lambda m, v: nll(m, v))(x, x)
z = jax.grad(nll)(x, x)
""",
            """\
@jax.jit
def whole(v):
    return float(v)
try:
    whole(1.0)
except Exception as error:
    print(error)
""",
        ),
    ),
    "NNX822": Cases(
        bad=(
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v, training):
        return linen.Dropout(0.5, deterministic=not training)(linen.Dense(4)(v))
net = Net()
@jax.jit  # NNX822
def apply(params, v, dropout, is_training):
    return net.apply(params, v, is_training, rngs={"dropout": dropout})
apply(net.init(key, x, False), x, key, True)
""",
            "@jit\ndef f(p, v, train=True):\n    def loss(q):\n"
            "        return q * v if train else q  # NNX822\n    return jax.grad(loss)(p)\nf(1.0, 2.0, True)\n",
            """\
@nnx.jit
def f(model, x, train: bool):
    if train:  # NNX822
        return model(x)
    return x
""",
            """\
@jax.jit
def f(x, mode="mean"):
    if mode == "mean":  # NNX822
        return x.mean()
    return x.sum()
f(x, "sum")
""",
            """\
def f(x, flip: bool):
    return -x if flip else x  # NNX822
fast = jax.jit(f)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def f(x, flip: bool = False):
    return -x if flip else x  # NNX822
f(x, True)
""",
            """\
@jax.jit
def f(x, train):
    if train:  # NNX822
        return x * 2
    return x
f(x, True)
f(x, train=False)
""",
            _NOISY
            + """\
@partial(nnx.remat, prevent_cse=False)
def run(net, v, train):
    return net.drop(v) if train else v  # NNX822
run(net, x, True)
""",
            _NOISY
            + """\
fast = nnx.remat(lambda net, v, train: net(v, train))  # NNX822
fast(net, x, train=True)
""",
            _NOISY
            + """\
class Deep(nnx.Module):
    def __init__(self, rngs):
        self.net = Noisy(rngs)
    def __call__(self, v, deterministic):
        @nnx.remat
        def run(net, v, deterministic):
            return net(v, not deterministic)  # NNX822
        return run(self.net, v, deterministic)
Deep(nnx.Rngs(7))(x, False)
""",
            _NOISY
            + """\
def run(net, v, *, train):
    h = net(v, train)
    return v + h
apply = nnx.remat(run) if len(x) > 1 else run  # NNX631 NNX822
apply(net, x, train=True)
""",
        ),
        clean=(
            """\
def train_step(model, key, state, scale, fast: bool = False):
    if fast:
        return state * scale
    return state + scale
step = functools.partial(train_step, None)
mapped = jax.pmap(step, in_axes=(0, 0, None))
print(mapped(jax.random.split(jax.random.key(0), 1), x[None], 2.0))
""",
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v, scaled):
        return jnp.where(scaled, 2.0, 1.0) * linen.Dense(4)(v)
net = Net()
@jax.jit
def apply(params, v, scaled):
    return net.apply(params, v, scaled)
print(apply(net.init(key, x, False), x, True).shape)
""",
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v, training):
        return linen.Dropout(0.5, deterministic=not training)(linen.Dense(4)(v))
net = Net()
@partial(jax.jit, static_argnames="is_training")
def apply(params, v, dropout, is_training):
    return net.apply(params, v, is_training, rngs={"dropout": dropout})
print(apply(net.init(key, x, False), x, jax.random.key(1), True).shape)
""",
            _NOISY
            + """\
@partial(nnx.remat, static_argnums=(2,))
def run(net, v, train):
    return net(v, train)
run(net, x, True)
""",
            _NOISY + "train = True\nnnx.remat(lambda net, v: net(v, train))(net, x)\n",
            _NOISY + "def run(train, net, v):\n    return net(v, train)\nnnx.remat(partial(run, True))(net, x)\n",
            "@jax.checkpoint\ndef run(v, train):\n    return jnp.where(train, v * 2, v)\nrun(x, True)\n",
            "@jax.checkpoint\ndef run(v, train):\n    return v if train is None else v * train\nrun(x, None)\n",
            "@functools.partial(jit, static_argnames='train')\ndef f(p, v, train=True):\n    def loss(q):\n"
            "        return q * v if train else q\n    return jax.grad(loss)(p)\nf(1.0, 2.0, True)\n",
            "@jit\ndef f(p, v, train=True):\n    def loss(q, train):\n"
            "        return q * v if train else q\n"
            "    return jax.grad(lambda q: loss(q, False))(p) * train\nf(1.0, 2.0)\n",
            """\
@jax.jit
def f(x, packed: bool = True):
    if packed:
        return (x,)
    return x
f(x)
""",
            """\
@partial(nnx.jit, static_argnames="train")
def f(model, x, train: bool):
    if train:
        return model(x)
    return x
""",
            """\
@nnx.jit(static_argnums=2)
def f(model, x, train: bool):
    return model(x) if train else x
""",
            """\
def f(x, train: bool):
    return x if train else -x
f(x, True)
""",
            """\
@jax.jit
def f(x, flip: bool):
    return jnp.where(flip, -x, x)
""",
            """\
def f(x, train: bool):
    return x if train else -x
fast = jax.jit(partial(f, train=True))
""",
            """\
fast = jax.jit(lambda x, flip: jax.lax.cond(flip, jnp.negative, jnp.abs, x))
fast(x, True)
""",
        ),
    ),
    "NNX823": Cases(
        bad=(
            """\
from flax import struct
class Bandit:
    count: int
@struct.dataclass
class Thompson(Bandit):
    arms: int
    count: int = struct.field(pytree_node=False)
    @jax.jit
    def sample(self, key):
        return jax.random.beta(key, 1.0, 1.0, (self.arms,))  # NNX823
""",
            # an array, though a class of the project has a method of this name
            """\
class Policy(nnx.Module):
    def mean(self, o):
        return o
@jax.jit
def share(v, axis):
    return jnp.exp(v).mean(axis)  # NNX823
share(x, 0)
""",
            # one cause: what is traced, by whatever name
            """\
def lagged(v):
    def at(lag):
        length = 3 - lag
        first = v[: 3 - lag] if lag > 0 else v  # NNX823
        second = v[lag:] if lag > 0 else v
        return first[:length] @ second[:length]
    return jax.vmap(at)(jnp.arange(2))
print(lagged(jnp.ones(3)))
""",
            """\
@jax.jit
def windows(v, i, j):
    return v[i : i + 2] + v[j : j + 3], v[: i + j]  # NNX823
windows(jnp.ones(8), 1, 2)
""",
            """\
@partial(jax.jit, static_argnames={"other"})
def grid(size, v, other):
    return jnp.linspace(0, 1, size) + v[:1]  # NNX823
grid(3, x, 1)
""",
            """\
@jax.jit
def grid(n):
    return jnp.arange(n**2).reshape(n, n)  # NNX823
@jax.jit
def overlap(a, b):
    return jnp.sum(a, b, axis=0)  # NNX823
""",
            """\
def rows(v, n):
    return jnp.zeros(n) + v  # NNX823
print(jax.vmap(rows, in_axes=(0, 0))(x, jnp.arange(3)))
""",
            """\
def rows(v, n, m):
    return jnp.zeros((m, n)) + v  # NNX823
rows = partial(rows, m=2)
print(jax.jit(rows)(1.0, 3))
""",
            """\
@jax.jit
def upper(v, n, axis):
    rows, columns = jnp.triu_indices(n)  # NNX823
    return jnp.linalg.norm(v, axis=axis)  # NNX823
upper(jnp.eye(3), 3, 0)
""",
            """\
@jax.jit
def places(v, count):
    first = jnp.nonzero(v, size=count)[0]  # NNX823
    return jnp.zeros_like(v, shape=(count,)), first  # NNX823
places(x, 2)
""",
            """\
@jax.jit
def pooled(v, graph, count):
    return jax.ops.segment_sum(v, graph, num_segments=count)  # NNX823
pooled(x, jnp.arange(3), 3)
""",
            """\
@jax.jit
def f(x, n):
    return jnp.zeros(n) + x[0]  # NNX823
""",
            """\
@jax.jit
def f(x, n):
    return x.reshape(n, -1)  # NNX823
""",
            """\
@nnx.jit
def f(model, x, n):
    return model(x)[:n]  # NNX823
""",
            """\
def one_hot(labels, classes):
    return jax.nn.one_hot(labels, classes)  # NNX823
@jax.jit
def f(x, classes):
    return one_hot(x, classes)
""",
            """\
@jax.jit
def f(x):
    n = x.sum().astype(int)
    return jnp.arange(n)  # NNX823
""",
            """\
@jax.jit
def f(key, n):
    return jax.random.split(key, n)  # NNX823
""",
            """\
@jax.jit
def f(x, start, size):
    return jax.lax.dynamic_slice(x, (start,), (size,))  # NNX823
""",
            """\
@jax.jit
def f(x, parts):
    return jnp.split(x, parts)  # NNX823
""",
        ),
        clean=(
            """\
def gathered(chunks, count):
    return jnp.zeros((count,)) + sum(chunks)
class Fit:
    def __init__(self):
        self.compiled_gather = jax.jit(self.gather)
    def gather(self, count):
        return jnp.zeros((count,))
def fit():
    compiled = jax.jit(gathered)
    return Fit()
def start():
    return gathered([1.0, 2.0], 3), fit().gather(2)
print(start())
""",
            """\
@functools.singledispatch
def head(v, n):
    return n
@jax.jit
@head.register(dict)
def _(v, n):
    if n > 2:
        return v["a"][:n]
    return jnp.zeros(n)
print(head({"a": x}, 3))
""",
            """\
from flax import struct
class Bandit:
    arms: int
@struct.dataclass
class Thompson(Bandit):
    arms: int = struct.field(pytree_node=False)
    @jax.jit
    def sample(self, key):
        return jax.random.beta(key, 1.0, 1.0, (self.arms,))
print(Thompson(3).sample(jax.random.key(0)))
""",
            # methods of the project's own classes that arrays have too
            """\
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.mu = nnx.Linear(3, 3, rngs=rngs)
    def mean(self, o):
        return self.mu(o)
    def reshape(self, o):
        return o + self.mu(o)
    def max(self):
        return 3
    def any(self):
        return True
    def item(self):
        return 2
def rollout(policy, start):
    def body(s, _):
        action = policy.mean(s) + policy.reshape(s) + jnp.zeros(policy.max())
        if policy.any():
            action = action * float(policy.item())
        return s + action, action.sum(-1)
    return jax.lax.scan(body, start, None, length=policy.max())[1]
@nnx.jit
def evaluate(policy, start):
    return rollout(policy, start).mean(), policy.mean(start)
print(evaluate(Policy(nnx.Rngs(0)), jnp.ones(3)))
""",
            """\
class Gaussian:
    def __init__(self, scale):
        self.scale = scale
    def std(self, at):
        return self.scale * at
    def argmax(self, at):
        return at + self.scale
jax.tree_util.register_pytree_node(Gaussian, lambda d: ((d.scale,), None), lambda _, c: Gaussian(*c))
@jax.jit
def spread(dist, at):
    return dist.std(at) + dist.argmax(at)
print(spread(Gaussian(2.0), jnp.ones(3)))
""",
            """\
def lagged(v):
    def at(lag):
        first = v[: 3 - lag] if lag > 0 else v
        second = v[lag:] if lag > 0 else v
        return first @ second
    return jnp.stack([at(lag) for lag in range(2)])
print(lagged(jnp.ones(3)))
""",
            """\
@jax.jit
def windows(v, i):
    return jax.lax.dynamic_slice_in_dim(v, i, 2) + v[:2]
print(windows(jnp.ones(8), 1))
""",
            """\
@partial(jax.jit, static_argnames={"size"})
def grid(size, v):
    return jnp.linspace(0, 1, size) + v[:1]
def made(size, v):
    return jnp.ones(size) + v[:1]
print(grid(3, x), jax.jit(made, static_argnames={"size"})(3, x), jax.jit(made, static_argnums={0})(3, x))
""",
            """\
def crop(key, image, height, width):
    return jax.lax.dynamic_slice(image, (0, 0), (height, width)) + jax.random.uniform(key)
def pick(key, image, height, width):
    return jax.random.choice(key, image.reshape(-1), (height * width,)).reshape(height, width)
if len(batches) > 1:
    crop = partial(crop, height=2, width=2)
    pick = partial(pick, height=2, width=2)
@partial(jax.jit, static_argnames="first")
def step(keys, image, first):
    use = pick if first else crop
    return jax.vmap(use, in_axes=(0, None))(keys, image)
print(step(jax.random.split(key, 3), jnp.eye(4), first=True).shape)
print(step(jax.random.split(key, 3), jnp.eye(4), first=False).shape)
""",
            """\
def zeros(v, n):
    return jnp.zeros(n) + v
def ones(v, n):
    return jnp.ones(n) + v
if len(batches) > 1:
    zeros = partial(zeros, n=3)
    ones = partial(ones, n=3)
@partial(jax.jit, static_argnames="first")
def step(v, first):
    use = ones if first else zeros
    return jax.vmap(use)(v), jax.jit(use)(v[0])
print(step(x, first=True)[0].shape)
""",
            """\
def compiled(**options):
    def wrapper(f):
        return functools.wraps(f)(jax.jit(f, **options))
    return wrapper
@compiled(static_argnames=["n"])
def padded(v, n):
    low = n - v.shape[0]
    if low < 0:
        v = v[abs(low):]
    return v
print(padded(x, 2))
""",
            """\
@jax.jit
def drawn(key, v):
    one, other = jax.random.split(key)
    return jax.random.beta(one, v, v, v.shape), jax.random.truncated_normal(other, -v, v)
print(drawn(key, x))
""",
            """\
@jax.jit
def turned(v, shift, factor):
    return jnp.roll(v, shift), jnp.repeat(v * factor, 2, axis=0, total_repeat_length=2 * len(v))
print(turned(x, 1, 2))
""",
            """\
@partial(jax.jit, static_argnames="count")
def pooled(v, graph, count):
    rows, columns = jnp.triu_indices(v.shape[0])
    return jax.ops.segment_sum(v, graph, num_segments=count), jnp.nonzero(v, size=count), v[rows]
print(pooled(x, jnp.arange(3), 3))
""",
            """\
@partial(jax.jit, static_argnames="n")
def f(x, n):
    return jnp.zeros(n) + x[:n].sum()
""",
            """\
@jax.jit
def f(x):
    return x.reshape(x.shape[0], -1)[: x.shape[0] // 2]
""",
            """\
@jax.jit
def f(x, i):
    return x[i] + jax.lax.dynamic_slice_in_dim(x, i, 2)
""",
            """\
@jax.jit
def f(x):
    return jnp.zeros_like(x) + jnp.ones(x.shape) + jnp.arange(len(x))
""",
            """\
@jax.jit
def f(x, value):
    return jnp.full(x.shape, value)
""",
            """\
@jax.jit
def f(x, k):
    return jnp.where(jnp.arange(x.shape[0]) < k, x, 0)
""",
            """\
def f(x, n):
    return jnp.zeros(n) + x[:n].sum()
f(x, 3)
""",
            """\
@jax.jit
def f(x, start):
    return jax.lax.dynamic_slice(x, (start,), (2,))
""",
            """\
@jax.jit
def f(key, x):
    keys = jax.random.split(key, x.shape[0])
    return jax.vmap(jax.random.normal)(keys)
""",
        ),
    ),
    "NNX824": Cases(
        bad=(
            """\
@jax.jit
def clipped(flux, n=3.0):
    keep = jnp.ones(flux.shape, dtype=bool)
    for _ in range(3):
        keep = jnp.abs(flux - jnp.where(keep, flux, 0.0).mean()) < n
    return jnp.mean(flux[keep])  # NNX824
""",
            """\
def negatives(v):
    return v[v < 0]  # NNX824
try:
    print(x)
except ValueError:
    pass
few = jax.jit(negatives)(x)
""",
            """\
@jax.jit
def f(x):
    return x[x > 0]  # NNX824
""",
            """\
@jax.jit
def f(x):
    mask = jnp.isnan(x)
    return x.at[mask].set(0.0)  # NNX824
""",
            """\
def drop(v):
    keep = (v > 0) & (v < 3)
    return v[keep].sum()  # NNX824
@nnx.jit
def f(model, x):
    return drop(model(x))
""",
            """\
@jax.jit
def f(x, mask: jax.Array):
    return x[mask]  # NNX824
f(x, x > 2)
""",
            """\
@jax.jit
def f(x):
    mask = ~jnp.isnan(x)
    return x[:, mask]  # NNX824
""",
        ),
        clean=(
            """\
@jax.jit
def clipped(flux, n=3.0):
    keep = jnp.ones(flux.shape, dtype=bool)
    for _ in range(3):
        keep = jnp.abs(flux - jnp.where(keep, flux, 0.0).mean()) < n
    return jnp.mean(flux, where=keep)
print(clipped(x))
""",
            """\
def negatives(v):
    return v[v < 0]
try:
    jax.jit(negatives)(x)
except Exception as error:
    print("refused:", type(error).__name__)
""",
            """\
@jax.jit
def f(x):
    return jnp.where(x > 0, x, 0.0)
""",
            """\
@jax.jit
def f(x, i):
    return x[i] + x.at[i].set(3.0)
""",
            "y = x[x > 0]\n",
            """\
@jax.jit
def f(x):
    order = jnp.argsort(x)
    return x[order]
""",
            """\
@jax.jit
def f(x):
    mask = np.array([True, False, True])
    return x[mask]
""",
            """\
@jax.jit
def f(x):
    return x * (x > 0)
""",
        ),
    ),
    "NNX825": Cases(
        bad=(
            """\
@jax.jit
def repeated(v, counts):
    return v.repeat(counts)  # NNX825
repeated(x, jnp.arange(3))
""",
            """\
@jax.jit
def cut(v, place):
    rest = jnp.delete(v, place)  # NNX825
    return rest, jnp.trim_zeros(v), jnp.unique_counts(v)  # NNX825 NNX825
cut(x, 1)
""",
            """\
@jax.jit
def f(x):
    return jnp.nonzero(x)  # NNX825
""",
            """\
@nnx.jit
def f(model, x):
    return jnp.where(model(x) > 0)  # NNX825
""",
            """\
from jax.numpy import unique as distinct
@jax.jit
def f(x):
    return distinct(x)  # NNX825
""",
            """\
@jax.jit
def f(x, counts):
    return jnp.repeat(x, counts)  # NNX825
""",
            """\
def count(labels):
    return jnp.bincount(labels)  # NNX825
fast = jax.jit(lambda v: count(v))
""",
            """\
@jax.jit
def f(x):
    return x.nonzero()  # NNX825
""",
        ),
        clean=(
            """\
@jax.jit
def repeated(v, counts):
    return v.repeat(counts, total_repeat_length=4), v.repeat(2), v.repeat(np.arange(3))
print(repeated(x, jnp.arange(3)))
""",
            """\
@jax.jit
def cut(v, places):
    rest = jnp.delete(v, places, assume_unique_indices=True)
    return rest, jnp.delete(v, 1), jnp.unique_counts(v, size=3)
print(cut(x, jnp.array([1])))
""",
            """\
@jax.jit
def f(x):
    return jnp.nonzero(x, size=2)
""",
            """\
@jax.jit
def f(x):
    return jnp.where(x > 0, x, 0)
""",
            "y = jnp.unique(x)\n",
            """\
@jax.jit
def f(x):
    return jnp.repeat(x, 3)
""",
            """\
@jax.jit
def f(labels):
    return jnp.bincount(labels, length=10)
""",
            """\
@jax.jit
def f(x):
    return x * jnp.unique(np.array([1, 2, 2]), size=2).sum()
""",
            """\
@jax.jit
def f(x, counts):
    return jnp.repeat(x, counts, total_repeat_length=8)
""",
        ),
    ),
    "NNX826": Cases(
        bad=(
            """\
from flax import linen
class Net(linen.Module):
    features: list
    @linen.compact
    def __call__(self, v):
        for size in self.features:
            v = linen.Dense(size)(v)
        return v
@partial(jit, static_argnums=0)
def run(net, params, v):
    return net.apply(params, v)
CONFIG = {"features": [3, 2]}
def main(cfg):
    net = Net(features=cfg["features"])
    params = net.init(key, x)
    return run(net, params, x)  # NNX826
main(CONFIG)
""",
            """\
from dataclasses import dataclass, field
@dataclass(frozen=True)
class Stages:
    weights: list[float] = field(default_factory=lambda: [0.5, 0.5])
@dataclass(frozen=True)
class Settings:
    dt: float = 0.1
    stages: Stages = field(default_factory=Stages)
@partial(jax.jit, static_argnames="settings")
def step(state, settings):
    return state + settings.dt * sum(settings.stages.weights)
step(x, Settings())  # NNX826
""",
            """\
from dataclasses import dataclass
@dataclass
class Stages:
    order: int = 4
@dataclass(frozen=True)
class Settings:
    stages: Stages
    dt: float = 0.1
@partial(jax.jit, static_argnames="settings")
def step(state, settings):
    return state + settings.dt * settings.stages.order
step(x, Settings(Stages()))  # NNX826
""",
            """\
@partial(jax.jit, static_argnums=1)
def padded(v, widths):
    return jnp.pad(v, widths)
def bench(v):
    widths = [(0, 1)] + []
    def run():
        return padded(v, widths)  # NNX826
    return run
""",
            """\
@partial(jax.jit, static_argnames="sizes")
def blurred(v, sizes):
    return v * len(sizes)
blurred_all = jax.vmap(blurred, in_axes=(0, None))
def run(rows):
    return blurred(rows, sizes=[3, 5])  # NNX826
print(blurred_all(jnp.ones((2, 3)), 1.0) if x.sum() < 0 else run(x))
""",
            """\
from dataclasses import dataclass
@dataclass
class Sizes:
    width: int = 3
class Wide(Sizes):
    def scaled(self, v):
        return v * self.width
@partial(jax.jit, static_argnums=0)
def start(net, v):
    return net.scaled(v)
start(Wide(), x)  # NNX826
""",
            """\
class Kernel:
    @partial(jax.jit, static_argnums=(0, 2))
    def old(self, a, sizes):
        return a.sum() * len(sizes)
    @classmethod
    @partial(jax.jit, static_argnums=(0, 2))
    def made(cls, a, sizes):
        return a.sum() * len(sizes)
    def run(self, a):
        func = self.old
        return func(a, [1])  # NNX826
func, unbound, old = Kernel.made, Kernel.old, Kernel().old
func(x, [1])  # NNX826
old(x, [1])  # NNX826
unbound(Kernel(), x, [1])  # NNX826
""",
            """\
@partial(jax.jit, static_argnames=("beta",))
def inner(v, beta):
    return v * beta
@partial(jax.jit, static_argnames=("beta",))
def outer(v, beta):
    return inner(v, beta)
outer(x, jnp.ones(()))  # NNX826
""",
            """\
import json
@partial(jax.jit, static_argnames="shape")
def f(x, shape):
    return jnp.zeros(shape) + x
SETTINGS = json.loads('{"net": {"shape": [2, 3], "rate": 0.1}}')
f(1.0, shape=SETTINGS["net"]["shape"])  # NNX826
def run(text):
    return f(1.0, json.loads(text)["shape"])  # NNX826
run('{"shape": [2]}')
""",
            """\
@partial(jax.jit, static_argnames="shape")
def f(x, shape):
    return jnp.zeros(shape) + x
def shapes(v):
    return [v.shape[0], 2]
def run(n):
    shape = [2 for _ in range(n)]
    shape.append(3)
    settings = {"shape": [2], "n": 3}
    f(1.0, shape=settings.get("shape"))  # NNX826
    f(1.0, shapes(x))  # NNX826
    return f(1.0, shape)  # NNX826
""",
            """\
import argparse
@partial(jax.jit, static_argnames="shape")
def f(x, shape):
    return jnp.zeros(shape) + x
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", nargs="+", type=int, default=[2, 3])
    return f(1.0, parser.parse_args().shape)  # NNX826
""",
            """\
@partial(jax.jit, static_argnames="shape")
def f(x, shape):
    return jnp.zeros(shape) + x
f(1.0, [2, 3])  # NNX826
""",
            """\
def f(x, config):
    return x * config["scale"]
fast = jax.jit(f, static_argnums=1)
fast(x, {"scale": 2})  # NNX826
""",
            """\
@partial(nnx.jit, static_argnums=(1,))
def f(model, sizes):
    return sizes
f(model, sizes=[3])  # NNX826
""",
            """\
@partial(jax.jit, static_argnums=1)
def f(x, y):
    return x * y
f(x, jnp.ones(3))  # NNX826
""",
            _PLANNED
            + """\
@dataclass
class Plan:
    n: int = 2
def run(plan):
    return f(x, plan=plan)  # NNX826
run(Plan())
""",
            _PLANNED
            + """\
@dataclass(eq=True)
class Plan:
    n: int = 2
@dataclass
class Longer(Plan):
    m: int = 3
class Trainer:
    def __init__(self, plan):
        self.plan = plan
    def step(self, v):
        return f(v, self.plan)  # NNX826
Trainer(Longer(m=4)).step(x)
""",
            _PLANNED
            + """\
class Plan:
    def __init__(self, n):
        self.n = n
    def __eq__(self, other):
        return self.n == other.n
f(x, Plan(3))  # NNX826
""",
            _PLANNED
            + """\
from types import SimpleNamespace
for plan in [SimpleNamespace(n=2), SimpleNamespace(n=3)]:
    f(x, plan)  # NNX826
""",
            _PLANNED
            + """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--n", type=int, default=2)
f(x, parser.parse_args([]))  # NNX826
""",
            _PLANNED
            + """\
@dataclass
class Plan:
    n: int = 2
class Short(Plan):
    pass
def run(plan):
    changed = replace(plan, n=5)
    return f(x, changed)  # NNX826
run(Short())
""",
        ),
        clean=(
            """\
from flax import linen
class Net(linen.Module):
    features: list
    @linen.compact
    def __call__(self, v):
        for size in self.features:
            v = linen.Dense(size)(v)
        return v
@partial(jit, static_argnums=0)
def run(net, params, v):
    return net.apply(params, v)
CONFIG = {"features": [3, 2]}
def main(cfg):
    net = Net(features=tuple(cfg["features"]))
    params = net.init(key, x)
    return run(net, params, x)
main(CONFIG)
""",
            """\
from flax import linen
class Net(linen.Module):
    features: list
    @linen.compact
    def __call__(self, v):
        for size in self.features:
            v = linen.Dense(size)(v)
        return v
@partial(jit, static_argnums=0)
def run(net, params, v):
    return net.apply(params, v)
CONFIG = {"features": (3, 2)}
def main(cfg):
    net = Net(features=cfg["features"])
    params = net.init(key, x)
    return run(net, params, x)
main(CONFIG)
""",
            """\
from flax import linen
class Net(linen.Module):
    features: list
    def __hash__(self):
        return 0
    @linen.compact
    def __call__(self, v):
        for size in self.features:
            v = linen.Dense(size)(v)
        return v
@partial(jit, static_argnums=0)
def run(net, params, v):
    return net.apply(params, v)
CONFIG = {"features": [3, 2]}
def main(cfg):
    net = Net(features=cfg["features"])
    params = net.init(key, x)
    return run(net, params, x)
main(CONFIG)
""",
            """\
from flax import linen
class Net(linen.Module):
    features: list
    @linen.compact
    def __call__(self, v):
        for size in self.features:
            v = linen.Dense(size)(v)
        return v
def run(net, params, v):
    return net.apply(params, v)
CONFIG = {"features": [3, 2]}
def main(cfg):
    net = Net(features=cfg["features"])
    params = net.init(key, x)
    return run(net, params, x)
main(CONFIG)
""",
            """from functools import partial
@partial(jax.jit, static_argnames=["c"])
def loss(params, xs, ys, c=1e-4):
    return ((xs @ params - ys) ** 2).mean() + c * (params**2).sum()
print(loss(jnp.ones(3), jnp.ones((2, 3)), jnp.ones(2)))
@partial(jax.jit, static_argnames=["f", "c"])
def loss(params, f, xs, ys, c=1e-4):
    return ((f(xs @ params) - ys) ** 2).mean() + c * (params**2).sum()
def slope(params, f, xs, ys):
    return jax.grad(loss)(params, f, xs, ys)
print(slope(jnp.ones(3), jnp.tanh, jnp.ones((2, 3)), jnp.ones(2)))
""",
            """\
from dataclasses import dataclass, field
@dataclass(frozen=True)
class Stages:
    weights: tuple[float, ...] = (0.5, 0.5)
    notes: list[str] = field(default_factory=list, compare=False)
@dataclass(frozen=True)
class Settings:
    dt: float = 0.1
    stages: Stages = field(default_factory=Stages)
@partial(jax.jit, static_argnames="settings")
def step(state, settings):
    return state + settings.dt * sum(settings.stages.weights)
step(x, Settings())
""",
            """\
from dataclasses import dataclass, field
@dataclass(eq=False)
class Stages:
    weights: list[float] = field(default_factory=lambda: [0.5, 0.5])
@dataclass(frozen=True)
class Settings:
    dt: float = 0.1
    stages: Stages = field(default_factory=Stages)
@partial(jax.jit, static_argnames="settings")
def step(state, settings):
    return state + settings.dt * sum(settings.stages.weights)
step(x, Settings())
""",
            """\
@partial(jax.jit, static_argnums=1)
def padded(v, widths):
    return jnp.pad(v, widths)
def bench(v):
    pairs = []
    for dim in v.shape:
        pairs += [(dim // 2, dim // 2)]
    widths = tuple(pairs + [])
    def run():
        return padded(v, widths)
    return run
print(bench(x)())
""",
            """\
@partial(jax.jit, static_argnames=("steps", "unroll"))
def walked(start, speed, steps, unroll=False):
    return start + speed * steps
print(jax.vmap(partial(walked, steps=2), in_axes=(0, None))(x, 0.5))
""",
            """\
from dataclasses import dataclass
from flax import linen
@dataclass
class Sizes:
    width: int = 3
class Net(Sizes, linen.Module):
    @linen.compact
    def __call__(self, v):
        return linen.Dense(self.width)(v)
@partial(jax.jit, static_argnums=0)
def start(net, v):
    return net.init(jax.random.key(0), v)
start(Net(), x)
""",
            """\
class Kernel:
    def __init__(self):
        self.func, self.unbound = self.old, Kernel.old
        self.ways = {"old": self.old, "made": self.made}
    @partial(jax.jit, static_argnums=(0, 3))
    def old(self, a, b, debug):
        return a + b
    @classmethod
    @partial(jax.jit, static_argnums=(0, 3))
    def made(cls, a, b, debug):
        return a + b
    @classmethod
    def other(cls, a, b, debug):
        return a
    def run(self):
        func = self.old
        def inner(v):
            return func(v, jnp.ones(3), True)
        return inner(x), func(jnp.ones(3), x, True), getattr(self, "old")(jnp.ones(3), x, True)
    def stored(self):
        first = self.func(jnp.ones(3), x, True)
        return first, self.unbound(self, jnp.ones(3), x, True), self.ways["made"](jnp.ones(3), x, True)
    def either(self, plain):
        if plain:
            func = lambda *given: given[0]
        else:
            func = self.old
        return func(jnp.ones(3), x, True)
    @classmethod
    def both(cls, flag):
        func = cls.made if flag else cls.other
        return func(jnp.ones(3), x, True)
class Heir(Kernel):
    def run(self):
        func = super().old
        return func(jnp.ones(3), x, True), super().run()
def applied(f, *given):
    return f(*given)
def to_ones(f, a):
    return f(a, jnp.ones(3), True)
func, kernel, unbound = Kernel.made, Heir(), Kernel.old
print(func(jnp.ones(3), x, True), unbound(kernel, jnp.ones(3), x, True), kernel.run(), kernel.stored())
print(kernel.either(True), kernel.either(False), Kernel.both(True), to_ones(kernel.old, x), to_ones(func, x))
print(applied(func, x, x, True))
""",
            """\
class Ops:
    @classmethod
    @partial(jax.jit, static_argnames=["cls", "shape"])
    def make(cls, v, shape):
        return v.reshape(shape)
    @classmethod
    @partial(jax.jit, static_argnums=(0, 1))
    def part(cls, n, v):
        return v[:n]
    @staticmethod
    @partial(jax.jit, static_argnums=0)
    def first(n, v):
        return v[:n]
    @property
    @partial(jax.jit, static_argnums=0)
    def two(self):
        return jnp.ones(2)
    def run(self):
        return self.make(x, (3, 1)), self.part(2, x), self.first(2, x), self.two
class Sub(Ops):
    @classmethod
    def all(cls):
        return cls.make(x, (1, 3)), cls.part(1, x)
print(Ops.make(x, (3, 1)), Ops().make(x, shape=(3, 1)), Ops.part(2, x), Ops.first(2, x), Ops().run(), Sub.all())
""",
            """\
class Held:
    def __init__(self):
        self.f = jax.jit(self.step, static_argnums=1)
        self.g = jax.jit(Held.other, static_argnums=0)
        self.h = jax.jit(type(self).made, static_argnums=0)
    def step(self, v, n):
        return v[:n]
    @staticmethod
    def other(n, v):
        return v[:n]
    @classmethod
    def made(cls, n, v):
        return v[:n]
held = Held()
print(held.f(x, 2), held.g(2, x), held.h(2, x))
""",
            """\
@partial(jax.jit, static_argnames=("beta",))
def inner(v, beta):
    return v * beta
@partial(jax.jit, static_argnames=("beta",))
def outer(v, beta):
    return inner(v, beta)
print(outer(x, 2.0), outer(x, beta=1.0))
""",
            """\
class Listener:
    def __init__(self):
        self.heard = []
    def hear(self, value):
        self.heard.append(value)
@partial(jax.jit, static_argnums=0)
def told(hear, i, v):
    return v * 0.5
@jax.jit
def silent(i, v):
    return v * 0.5
def run(v, steps, listener=None):
    step = partial(told, listener.hear) if listener is not None else silent
    return jax.lax.fori_loop(jnp.int32(0), jnp.int32(steps), step, v)
print(run(x, 3), run(x, 3, Listener()))
""",
            """\
import json
settings = json.loads('{"shape": [2, 3], "name": "mean"}')
class Run:
    def __init__(self, settings):
        self.shape = tuple(settings["shape"])
        self.fast = jax.jit(self.slow, static_argnums=1)
    def slow(self, x, shape):
        return jnp.zeros(shape) + x
    def __call__(self, x):
        return self.fast(x, self.shape)
print(Run(settings)(1.0), Run({"shape": [2]})(1.0))
""",
            """\
SIZES, SETTINGS = [2, 3], {"shape": [2, 3]}
f = jax.jit(lambda x, s: jnp.zeros(s) + x, static_argnums=1)
def run(x, s):
    s = tuple(s) if isinstance(s, list) else s
    return f(x, s)
def again(x, s):
    if isinstance(s, list):
        s = tuple(s)
    return f(x, s)
SHAPE = tuple(SIZES)
FROZEN = {k: tuple(v) for k, v in SETTINGS.items()}
print(run(1.0, [2]), again(1.0, [3]), f(1.0, SHAPE), f(2.0, tuple(SIZES)), f(1.0, FROZEN["shape"]))
""",
            """\
SETTINGS = {"shape": [2, 3]}
SETTINGS["shape"] = tuple(SETTINGS["shape"])
f = jax.jit(lambda x, s: jnp.zeros(s) + x, static_argnums=1)
def run(x):
    return f(x, SETTINGS["shape"])
print(run(1.0))
""",
            _PLANNED
            + """\
@dataclass(frozen=True)
class Plan:
    n: int = 2
def run(plan):
    return f(x, plan=plan)
run(Plan())
run(replace(Plan(), n=3))
""",
            _PLANNED
            + """\
@dataclass(eq=False)
class Plan:
    n: int = 2
@dataclass(unsafe_hash=True)
class Safe:
    n: int = 2
@dataclass
class Own:
    n: int = 2
    def __hash__(self):
        return self.n
class Derived(Own):
    pass
for plan in [Plan(), Safe(), Own(), Derived()]:
    f(x, plan)
""",
            _PLANNED
            + """\
class Plan:
    def __init__(self, n):
        self.n = n
    def __eq__(self, other):
        return self.n == other.n
    def __hash__(self):
        return hash(self.n)
f(x, Plan(3))
""",
            _PLANNED
            + """\
def hashed(cls):
    cls.__hash__ = lambda self: hash(self.n)
    return cls
@hashed
@dataclass
class Plan:
    n: int = 2
def run(plan):
    return f(x, plan)
run(Plan())
""",
            _PLANNED
            + """\
@dataclass
class Plan:
    n: int = 2
def run(plan):
    return f(x, plan.n), jax.jit(lambda v, n: v * n)(x, plan.n)
@partial(jax.jit, static_argnames="plan")
def f(v, plan):
    return v * plan
run(Plan())
""",
            """\
def g(x, shape):
    return x.sum()
compiled = jax.jit(g, static_argnums=1)
compiled(x, (1, 3))
g(x, [1, 3])
""",
            """\
@partial(jax.jit, static_argnames="shape")
def f(x, shape):
    return jnp.zeros(shape) + x
f(1.0, (2, 3))
""",
            """\
@jax.jit
def f(x, parts):
    return x + sum(parts)
f(x, [x, x])
""",
            """\
fast = jax.jit(lambda v, n: v * n, static_argnums=1)
fast(jnp.ones(3), 2)
""",
            """\
@partial(jax.jit, static_argnames="mode")
def f(batch, mode):
    return batch["x"]
f({"x": x}, "train")
""",
            """\
@partial(jax.jit, static_argnames="axes")
def f(x, axes):
    return x.sum(axes)
f(x, tuple([0]))
""",
        ),
    ),
    "NNX827": Cases(
        bad=(
            """\
class Codec(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(3, 3, rngs=rngs)
        self.decoder = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, x):
        return self.decoder(self.encoder(x))
@partial(jax.jit, static_argnames=("codec",))  # NNX827
def loss(params, x, codec: Codec):
    nnx.update(codec.decoder, params)
    return jnp.mean((codec(x) - x) ** 2)
codec = Codec(nnx.Rngs(0))
loss(nnx.state(codec.decoder), x, codec)
""",
            """\
@partial(jax.jit, static_argnames=("judge",))  # NNX827
def score(x, judge: nnx.Linear):
    return judge(x).sum()
def main():
    judge = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    first = score(x, judge)
    nnx.update(judge, nnx.state(nnx.Linear(3, 3, rngs=nnx.Rngs(1))))
    return first, score(x, judge=judge)
main()
""",
            """\
@partial(jax.jit, static_argnames=["model"])  # NNX827
def predict(model: nnx.Module, x):
    return model(x)
""",
            """\
def predict(net, x):
    return net(x)
fast = jax.jit(predict, static_argnums=0)  # NNX827
fast(model, x)
""",
            """\
@partial(nnx.jit, static_argnums=(0, 1))  # NNX827
def step(n, optimizer: nnx.Optimizer, x):
    return x * n
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
    @partial(jax.jit, static_argnums=0)  # NNX827
    def __call__(self, x):
        return self.linear(x)
""",
        ),
        clean=(
            """\
class Judge:
    def __init__(self, scale):
        self.scale = scale
    def __call__(self, x):
        return self.scale * x.sum()
@partial(jax.jit, static_argnames=("judge",))
def score(x, judge: Judge):
    return judge(x)
print(score(x, judge=Judge(2.0)))
""",
            """\
@partial(jax.jit, static_argnames=("judge",))
def score(x, judge: nnx.Linear):
    return judge(x).sum()
@partial(jax.jit, static_argnums=0)
def twice(judge: nnx.Linear, x):
    return judge(judge(x))
def main():
    judge = nnx.Linear(3, 3, rngs=nnx.Rngs(0))  # nothing trains it
    return score(x, judge), score(x, judge=judge), twice(judge, x)
print(main())
""",
            """\
@nnx.jit
def predict(model: nnx.Module, x):
    return model(x)
""",
            """\
@partial(jax.jit, static_argnames="graphdef")
def predict(graphdef: nnx.GraphDef, state, x):
    return nnx.merge(graphdef, state)(x)
""",
            """\
@partial(nnx.jit, static_argnames=("n",))
def predict(model: nnx.Module, x, n):
    return model(x) * n
""",
            """\
class Scaler:
    @partial(jax.jit, static_argnums=0)
    def apply(self, x):
        return x * 2
""",
            """\
@partial(jax.jit, static_argnames=("tx",))
def update(params, tx: optax.GradientTransformation):
    return params
""",
        ),
    ),
    "NNX828": Cases(
        bad=(
            """\
step = jax.jit(lambda p, v: p + v, donate=(0,))  # NNX828
""",
            """\
@partial(jax.jit, static_argnum=1)  # NNX828
def f(x, n):
    return x * n
""",
            "f = nnx.jit(lambda m, n: m, static_argname='n')  # NNX828\n",
            """\
@partial(jax.jit, static_argnames=("trian",))  # NNX828
def f(x, train):
    return x
""",
            """\
from jax import jit as fast
f = fast(lambda v: v, donate_argnum=0)  # NNX828
""",
            "f = jax.jit(lambda v, n: v * n, static_argnums=2)  # NNX828\n",
            """\
@partial(jax.jit, donate_argnames=("states",))  # NNX828
def f(state, x):
    return state
""",
        ),
        clean=(
            """\
def whole(params, v):
    return jnp.sum(params * v)
def in_chunks(params, v, last):
    return jnp.sum(params * v) if last else jnp.sum(params)
def make(chunks):
    if chunks is None:
        loss = whole
    else:
        loss = in_chunks
    slope = jax.value_and_grad(loss)
    if chunks is not None:
        slope = jax.jit(slope, static_argnames=("last",))
    return slope
print(make(3)(x, x, last=True))
""",
            """\
step = jax.jit(lambda p, v: p + v, donate_argnums=(0,))
print(step(jnp.ones(3), x))
""",
            """\
@partial(jax.jit, static_argnums=1)
def f(x, n):
    return x * n
""",
            """\
@partial(jax.jit, static_argnames=("n",), donate_argnums=(0,))
def f(x, n):
    return x * n
""",
            """\
@partial(jax.jit, static_argnames="mode")
def f(x, **options):
    return x
""",
            "f = jax.jit(lambda v: v, keep_unused=True, inline=True)\n",
            "f = jax.jit(lambda *v: v, static_argnums=2)\n",
            "f = jax.jit(lambda v, n: v * n, static_argnums=-1)\n",
            """\
class Scaler:
    @partial(jax.jit, static_argnums=(0, 2))
    def apply(self, x, n):
        return x * n
    def other(self, x, n):
        return x * n
    def run(self, x):
        return jax.jit(self.other, static_argnums=1)(x, 2)
""",
            """\
def jit(fn, static_argnum=0):
    return fn
f = jit(lambda v: v, static_argnum=1)
""",
        ),
    ),
    "NNX829": Cases(
        bad=(
            """\
loop = partial(jax.lax.fori_loop, 0, 3, body=lambda i, v: v + i)  # NNX829
""",
            """\
options = dict(lower=0, upper=3, body=lambda i, v: v, init=1)
print(jax.lax.fori_loop(**options))  # NNX829
""",
            "y = jax.lax.fori_loop(start=0, stop=3, body_fun=lambda i, c: c, init_val=x)  # NNX829\n",
            "y = jax.lax.while_loop(cond=lambda c: False, body=lambda c: c, init_val=x)  # NNX829\n",
            """\
from jax import lax
y = lax.fori_loop(0, 3, body=lambda i, c: c, init_val=x)  # NNX829
""",
            """\
from flax.nnx import while_loop
y = while_loop(cond_fun=lambda c: False, body_fun=lambda c: c, init=x)  # NNX829
""",
            "y = jax.lax.scan(body=lambda c, v: (c, v), carry=0, xs=x)  # NNX829\n",
            "y = jax.lax.cond(True, true_fn=jnp.sin, false_fn=jnp.cos, operand=x)  # NNX829\n",
        ),
        clean=(
            """\
print(jax.lax.scan(**{"f": lambda c, v: (c + v, v), "init": 0.0, "xs": jnp.ones(3)}))
""",
            """\
options = dict(lower=0, upper=3, body_fun=lambda i, v: v + i, init_val=1)
print(jax.lax.fori_loop(**options), partial(jax.lax.fori_loop, 0, 3)(body_fun=lambda i, v: v, init_val=2))
""",
            "y = jax.lax.fori_loop(lower=0, upper=3, body_fun=lambda i, c: c, init_val=x)\n",
            "y = jax.lax.fori_loop(0, 3, lambda i, c: c, x)\n",
            "y = jax.lax.while_loop(cond_fun=lambda c: c.sum() > 9, body_fun=lambda c: c, init_val=x)\n",
            "y = jax.lax.scan(f=lambda c, v: (c, v), init=0, xs=x)\n",
            "y = jax.lax.cond(True, true_fun=jnp.sin, false_fun=jnp.cos, operand=x)\n",
            "y = jax.lax.map(f=jnp.sin, xs=x)\n",
            """\
def fori_loop(start, stop, body):
    return [body(i) for i in range(start, stop)]
y = fori_loop(start=0, stop=3, body=print)
""",
        ),
    ),
}

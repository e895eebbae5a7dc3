"""Flags that are passed on, streams and meshes that are set, and rounds that are counted."""

from __future__ import annotations

from tests.lint.tables import Cases

_DROPS = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
"""

_PART = """\
class Part(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v, train: bool = True):
        return self.drop(self.fc(v), deterministic=not train)
class Whole(nnx.Module):
    def __init__(self, rngs):
        self.first, self.second = Part(rngs), Part(rngs)
"""

_MESH = """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
"""

_ADDED = """\
w, tx = jnp.ones(3), optax.sgd(0.1)
state = tx.init(w)
gradient = jax.grad(lambda w, v: jnp.sum((w * v) ** 2))
total = jnp.zeros(3)
"""

_DENSE = """\
from flax import linen as nn
class Dense(nn.Module):
    width: int
    scale: float | None = None
    rate: float | None = None
    @nn.compact
    def __call__(self, v, training: bool = False):
        v = nn.Dense(self.width)(v)
        if self.rate is not None:
            v = nn.Dropout(self.rate)(v, deterministic=not training)
        return v
class Value(nn.Module):
    @nn.compact
    def __call__(self, v, training: bool = False):
        h = Dense(4, rate=0.1)(v, training=training)
        head = Dense(1{})
        return head(h)  # NNX665
"""
_SHOWN = "print(jax.tree.leaves(Value().init(key, x))[0].shape)\n"

_PLACES = """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
whole, rows = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
w, b = jnp.ones(3), jnp.ones((4, 3))
def product(w, b):
    return (w * b).sum()
"""

CASES = {
    "NNX547": Cases(
        bad=(
            """\
from jax.scipy.stats import norm
def component_densities(theta, v):
    weights, mean = jax.nn.softmax(theta["logits"]), theta["mean"]
    return weights * norm.pdf(v[:, None], mean, 1.0)
def loss(theta, v):
    density = component_densities(theta, v).sum(axis=1)
    return -jnp.mean(jnp.log(density))  # NNX547
print(jax.grad(loss)({"logits": jnp.zeros(2), "mean": jnp.ones(2)}, jnp.array([0.0, 40.0])))
""",
            """\
from jax.scipy import stats
def loss(theta, v):
    return -jnp.log(jnp.prod(stats.norm.pdf(v, theta, 1.0)))  # NNX547
print(jax.grad(loss)(1.0, jnp.linspace(0.0, 9.0, 99)))
""",
            """\
def marginal(noise, v, y):
    gram = jnp.exp(-((v[:, None] - v) ** 2)) + noise * jnp.eye(v.shape[0])
    return 0.5 * y @ jnp.linalg.solve(gram, y) + 0.5 * jnp.log(jnp.linalg.det(gram))  # NNX547
print(jax.grad(marginal)(0.01, jnp.linspace(0.0, 1.0, 99), jnp.ones(99)))
""",
            """\
def likelihood(probs):
    return jnp.log(probs.prod())  # NNX547
print(likelihood(jnp.full(300, 0.5)))
""",
        ),
        clean=(
            """\
from jax.scipy.stats import norm
def loss(theta, v):
    parts = jax.nn.log_softmax(theta["logits"]) + norm.logpdf(v[:, None], theta["mean"], 1.0)
    return -jnp.mean(jax.scipy.special.logsumexp(parts, axis=1))
print(jax.grad(loss)({"logits": jnp.zeros(2), "mean": jnp.ones(2)}, jnp.array([0.0, 40.0])))
""",
            """\
from jax.scipy.stats import norm
def loss(theta, v):
    return -jnp.mean(jnp.log(norm.pdf(v, theta, 1.0) + 1e-6))
print(jax.grad(loss)(1.0, jnp.linspace(0.0, 1.0, 9)))
""",
            """\
def volume(jacobian):
    return jnp.log(jnp.abs(jnp.linalg.det(jacobian)))
print(volume(2 * jnp.eye(2)), jnp.log(jnp.linalg.det(jnp.ones((2, 2)) + 1e-3 * jnp.eye(2))))
""",
            """\
def sizes(v):
    return jnp.log(jnp.prod(jnp.array(v.shape)))
print(sizes(jnp.ones((2, 3))))
""",
            """\
def marginal(noise, v, y):
    gram = jnp.exp(-((v[:, None] - v) ** 2)) + noise * jnp.eye(v.shape[0])
    return 0.5 * y @ jnp.linalg.solve(gram, y) + 0.5 * jnp.linalg.slogdet(gram)[1]
print(jax.grad(marginal)(0.1, jnp.linspace(0.0, 1.0, 9), jnp.ones(9)))
""",
        ),
    ),
    "NNX694": Cases(
        bad=(
            """\
class Experts(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.second = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, which):
        return nnx.switch(which, [self.first, self.second], v)  # NNX694
print(Experts(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.array(1)).shape)
""",
            """\
class Experts(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.second = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, which):
        return nnx.cond(which > 0, self.first, self.second, v)  # NNX694
print(Experts(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.array(1)).shape)
""",
            """\
class Mixture(nnx.Module):
    def __init__(self, rngs):
        self.parts = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(3)])
    def __call__(self, v, which):
        return nnx.switch(which, self.parts, v)  # NNX694
""",
            """\
first, second = nnx.Linear(3, 3, rngs=nnx.Rngs(0)), nnx.Linear(3, 3, rngs=nnx.Rngs(1))
branches = (first, second)
print(nnx.switch(jnp.array(1), branches, jnp.ones((1, 3))))  # NNX694
""",
        ),
        clean=(
            """\
def first(v):
    return v + 1
def second(v):
    return 2 * v
print(nnx.switch(jnp.array(1), [first, second], jnp.ones(3)), nnx.cond(True, first, second, jnp.ones(3)))
""",
            """\
class Experts(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.second = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, which):
        branches = [lambda m, v, name=name: getattr(m, name)(v) for name in ("first", "second")]
        return nnx.switch(which, branches, self, v)
print(Experts(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.array(1)).shape)
""",
            """\
class Experts(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.second = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, which):
        return nnx.switch(which, [lambda m, v: m.first(v), lambda m, v: m.second(v)], self, v)
print(Experts(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.array(1)).shape)
""",
            """\
class Experts(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.second = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, which):
        return jax.lax.switch(which, [self.first, self.second], v)
print(Experts(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.array(1)).shape)
""",
            """\
class Experts(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.second = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, which):
        return nnx.cond(which > 0, lambda m, v: m.first(v), lambda m, v: m.second(v), self, v)
print(Experts(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.array(1)).shape)
""",
            """\
class Experts(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.second = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, which):
        return (self.first, self.second)[int(which)](v)
print(Experts(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.array(1)).shape)
""",
        ),
    ),
    "NNX631": Cases(
        bad=(
            """\
def loss(model, v, *, scale=1.0):
    return scale * jnp.mean(model(v) ** 2)
@nnx.jit
def step(model, v):
    return nnx.value_and_grad(loss)(model, v)  # NNX631
print(step(model, jnp.ones((2, 3)))[0])
""",
            """\
class Run:
    def __init__(self, model):
        self.model = model
    def step(self, v):
        def loss(model, v, *rest, scale):
            return scale * jnp.mean(model(v) ** 2)
        return nnx.grad(loss)(self.model, v, scale=2.0)  # NNX631
""",
            """\
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))  # NNX631
def total(carry, v, *, scale=2.0):
    return carry + scale * v.sum(), v
print(total(0.0, jnp.ones((2, 3))))
""",
            """\
def loss(model, v, **options):
    return options.get("scale", 1.0) * jnp.mean(model(v) ** 2)
grad_fn = nnx.value_and_grad(loss)
print(grad_fn(model, jnp.ones((2, 3)), scale=2.0)[0])  # NNX631
""",
        ),
        clean=(
            """\
def loss(model, v, scale=1.0):
    return scale * jnp.mean(model(v) ** 2)
print(nnx.value_and_grad(loss)(model, v=jnp.ones((2, 3)), scale=2.0)[0])
""",
            """\
from functools import partial
def loss(model, v, *, scale=1.0):
    return scale * jnp.mean(model(v) ** 2)
print(nnx.value_and_grad(partial(loss, scale=2.0))(model, jnp.ones((2, 3)))[0])
print(nnx.grad(lambda m: loss(m, jnp.ones((2, 3)), scale=2.0))(model) is not None)
""",
            """\
@nnx.jit
def run(model, v, *, scale=1.0):
    return scale * model(v)
def weighted(w, *, scale=1.0):
    return (w * scale).sum()
print(run(model, jnp.ones((2, 3)), scale=2.0).shape, jax.grad(weighted)(x, scale=2.0))
""",
            """\
def loss(model, v, **options):
    return options.get("scale", 1.0) * jnp.mean(model(v) ** 2)
print(nnx.value_and_grad(loss)(model, jnp.ones((2, 3)))[0], loss(model, jnp.ones((2, 3)), scale=2.0))
""",
            """\
try:
    nnx.grad(lambda m, *, scale=1.0: scale * m(jnp.ones((2, 3))).sum())(model)
except TypeError as error:
    print(error)
""",
        ),
    ),
    "NNX522": Cases(
        bad=(
            _PLACES
            + """\
@partial(jax.jit, in_shardings=(whole, rows), out_shardings=whole)
def step(w, b):
    return w - b.mean(0)
for batch in [b, 2 * b]:
    w = step(w=w, b=batch)  # NNX522
""",
            _PLACES
            + """\
fast = jax.jit(product, in_shardings=(whole, rows))
given = partial(fast, b=b)
print(given(w))  # NNX522
print(fast.lower(w, b=b))  # NNX522
def scaled(w, b, n=1):
    return w * b.sum() * n
print(jax.jit(scaled, in_shardings=(whole, rows), static_argnames="n")(w, b, n=2))  # NNX522
def compiled(function):
    return jax.jit(function, in_shardings=(whole, rows))
class Trainer:
    def __init__(self, function):
        self.step = compiled(function)
    def run(self, w, b):
        return self.step(w, b=b)  # NNX522
print(Trainer(product).run(w, b))
class Scale:
    @partial(jax.jit, static_argnums=0, in_shardings=(whole, rows))
    def apply(self, w, b):
        return w * b
print(Scale().apply(w, b=b))  # NNX522
""",
            _PLACES
            + """\
def summed(w, b):
    return jax.lax.psum((w * b).sum(), "data")
local = jax.shard_map(summed, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
print(jax.jit(local)(w, b=b))  # NNX522
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=P())
def total(w, b):
    return jax.lax.psum((w * b).sum(), "data")
print(total(w=w, b=b))  # NNX522
""",
            _PLACES
            + """\
slopes = jax.value_and_grad(product)
def train(w, b):
    loss, grads = slopes(w=w, b=b)  # NNX522
    return w - 0.1 * grads, loss
print(train(w, b))
""",
            _PLACES
            + """\
print(jax.jit(jax.grad(product, argnums=(0, 1)))(w, b=b))  # NNX522
print(jax.hessian(product)(w=w, b=b))  # NNX522
class Model:
    def loss(self, w, b):
        return (w * b).sum()
    def slopes(self, w, b):
        return jax.grad(self.loss)(w=w, b=b)  # NNX522
print(Model().slopes(w, b))
""",
            """\
@partial(jax.checkpoint, static_argnums=(1,))
def block(v, train):
    return v * 2 if train else v
def stack(v, train):
    for _ in range(3):
        v = block(v, train=train)  # NNX522
    return v
print(stack(x, True))
print(jax.grad(lambda v: block(v, train=False).sum())(x))  # NNX522
print(partial(block, train=True)(x))  # NNX522
""",
            """\
def scaled(v, n, train=True):
    return v * n if train else v
saved = jax.remat(scaled, static_argnums=(1, 2))
print(saved(x, 2, train=False))  # NNX522
print(saved(x, 2))  # NNX522
print(jax.checkpoint(scaled, static_argnums=2)(x, n=x, train=True))  # NNX522
""",
            """\
class Block:
    @partial(jax.checkpoint, static_argnums=(0, 2))
    def apply(self, v, train):
        return v * 2 if train else v
    def run(self, v):
        return self.apply(v, train=True)  # NNX522
print(Block().run(x))
""",
        ),
        clean=(
            """\
def scaled(v, n, train=True):
    return v * n if train else v
saved = jax.remat(scaled, static_argnums=(1, 2))
print(saved(x, 2, True), partial(saved, x)(2, True), jax.checkpoint(scaled, static_argnums=())(x, n=2))
print(jax.checkpoint(partial(scaled, train=True), static_argnums=(1,))(x, 2), jax.checkpoint(scaled)(x, n=x))
print(jax.jit(scaled, static_argnums=(2,))(x, 2), jax.checkpoint(scaled, static_argnums=(2,))(x, 2, False))
print(nnx.remat(scaled, static_argnums=(2,))(x, n=2, train=True))
""",
            """\
def scaled(v, n, train=True):
    return v * n if train else v
saved = jax.remat(scaled, static_argnums=(1, 2))
def given(*rest):
    return saved(*rest)
print(given(x, 2, True))
""",
            """\
class Block:
    @partial(jax.checkpoint, static_argnums=(0, 2))
    def apply(self, v, train):
        return v * 2 if train else v
    @partial(jax.checkpoint, static_argnums=(0,))
    def both(self, v, w):
        return v * w
print(Block().apply(x, True), Block().both(x, w=2), Block.apply(Block(), x, True))
def chosen(v, remat):
    step = Block().both
    if remat:
        step = jax.checkpoint(lambda a, b: a * b, static_argnums=(1,))
    return step(v, 2)
print(chosen(x, True), chosen(x, False))
""",
            _PLACES
            + """\
print(jax.jit(product, in_shardings=(whole, rows))(w, b), jax.jit(product, out_shardings=whole)(w=w, b=b))
print(jax.jit(partial(product, b=b), in_shardings=whole)(w), jax.jit(product, in_shardings=None)(w, b=b))
""",
            _PLACES
            + """\
def compiled(shardings=None):
    return jax.jit(product, in_shardings=shardings)
print(compiled()(w, b=b), compiled((whole, rows))(w, b))
""",
            _PLACES
            + """\
def wrapped(function):
    inner = jax.jit(function, in_shardings=(whole, rows))
    @functools.wraps(function)
    def call(w, b):
        return inner(w, b)
    return call
@wrapped
def scaled(w, b):
    return w * b
print(scaled(w, b=b))
""",
            _PLACES
            + """\
def chosen(sharded):
    if sharded:
        step = jax.jit(product, in_shardings=(whole, rows))
    else:
        step = jax.jit(product)
    return step
print(chosen(False)(w, b=b))
""",
            _PLACES
            + """\
print(jax.grad(product)(w, b=b), partial(jax.grad(product), b=b)(w), jax.grad(product, argnums=1)(w, b))
class Model:
    @partial(jax.grad, argnums=1)
    def slope(self, w, b):
        return (w * b).sum()
print(Model().slope(w, b=b))
""",
            _PLACES
            + """\
def slopes(argnums):
    return jax.grad(product, argnums=argnums)
print(slopes(0)(w, b=b))
print(nnx.grad(product)(w=w, b=b))
""",
        ),
    ),
    "NNX663": Cases(
        bad=(
            _DROPS + "net = Net(nnx.Rngs(0))\nnnx.reseed(net, dropout=key)  # NNX663\nprint(net(x))\n",
            _DROPS + "net = Net(nnx.Rngs(default=1))\nnnx.reseed(net, dropout=1, noise=2)  # NNX663\nprint(net(x))\n",
            _DROPS
            + """\
def make(seed):
    return Net(nnx.Rngs(jax.random.key(seed)))
def masks(seed):
    net = make(0)
    nnx.reseed(net, dropout=seed)  # NNX663
    return net(x)
print(masks(1), masks(2))
""",
        ),
        clean=(
            _DROPS + "net = Net(nnx.Rngs(0))\nnnx.reseed(net, default=key)\nprint(net(x))\n",
            _DROPS + "net = Net(nnx.Rngs(params=0, dropout=1))\nnnx.reseed(net, dropout=key)\nprint(net(x))\n",
            _DROPS + "net = Net(nnx.Rngs({'params': 0, 'dropout': 1}))\nnnx.reseed(net, dropout=key)\nprint(net(x))\n",
            _DROPS
            + "names = {'dropout': 1}\nnet = Net(nnx.Rngs(0, **names))\nnnx.reseed(net, dropout=key)\nprint(net(x))\n",
            # streams of another model have the name
            _DROPS + "one, two = Net(nnx.Rngs(0)), Net(nnx.Rngs(params=0, dropout=1))\n"
            "for net in (one, two):\n    nnx.reseed(net, default=2, dropout=3)\n    print(net(x))\n",
        ),
    ),
    "NNX664": Cases(
        bad=(
            """\
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
@jax.jit
def f(tree):
    return jax.lax.with_sharding_constraint(tree, {"w": P("data"), "b": P()})  # NNX664
""",
            _MESH + "@jax.jit\ndef f(v):\n    return jax.lax.with_sharding_constraint(v * 2, P('data'))  # NNX664\n",
            _MESH
            + """\
from jax.lax import with_sharding_constraint as placed
along = P("data", None)
@nnx.jit
def run(m, v):
    return placed(m(v), along)  # NNX664
v = jax.device_put(jnp.ones((2, 3)), NamedSharding(mesh, P("data", None)))
""",
            _MESH
            + """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return jax.lax.with_sharding_constraint(self.fc(v), shardings=P(None, "data"))  # NNX664
""",
        ),
        clean=(
            """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
@jax.jit
def f(tree):
    return jax.lax.with_sharding_constraint(tree, {name: NamedSharding(mesh, P()) for name in tree})
print(f({"w": x}))
""",
            _MESH + "@jax.jit\ndef f(v):\n"
            "    return jax.lax.with_sharding_constraint(v * 2, NamedSharding(mesh, P('data')))\nprint(f(x[:2]))\n",
            _MESH + "@jax.jit\ndef f(v):\n    return jax.lax.with_sharding_constraint(v * 2, P('data'))\n"
            "with jax.set_mesh(mesh) if hasattr(jax, 'set_mesh') else mesh:\n    print(f(x[:2]))\n",
            _MESH + "@jax.jit\ndef f(v):\n    return jax.lax.with_sharding_constraint(v * 2, P('data'))\n"
            "with mesh:\n    print(f(x[:2]))\n",
            # a library, whose users set a mesh
            "from jax.sharding import PartitionSpec as P\n"
            "def placed(v):\n    return jax.lax.with_sharding_constraint(v, P('data'))\n",
            # only where there are several devices
            _MESH + "def placed(v):\n    if jax.device_count() > 1000:\n"
            "        v = jax.lax.with_sharding_constraint(v, P('data'))\n    return v\nprint(placed(x))\n",
        ),
    ),
    "NNX665": Cases(
        bad=(
            _DENSE.format(", rate=0.5") + "    # with dropout\n",
            _DENSE.format(", None, 0.5") + "    # with dropout\n",
            _DENSE.format("").replace("None = None", "None = 0.1") + "    # with dropout\n",
            _PART
            + """\
    def score(self, v, val, train: bool = True):
        v = self.first(v, train=train)
        return self.second(v) - val  # NNX665
""",
            _PART
            + """\
    def __call__(self, v, train: "bool | None" = None):
        v = self.first(v, train=train)
        return self.second(v)  # NNX665
""",
            _PART
            + """\
    def __call__(self, v, train: bool = True):
        v = self.first(v, train=train)
        return self.second(v)  # NNX665
""",
            _PART.replace("train: bool = True", "*, deterministic=False").replace("not train", "deterministic")
            + """\
    def encode(self, v, deterministic):
        v = self.first(v)  # NNX665
        return self.second(v, deterministic=deterministic)
""",
            _PART.replace("self.first, self.second = Part(rngs), Part(rngs)", "self.parts = nnx.List([Part(rngs)])")
            + """\
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v, is_training=False):
        for part in self.parts:
            v = part(v)  # NNX665
        return self.drop(v, deterministic=not is_training)
""",
            _PART.replace("bool = True", "bool = False")
            + """\
    def __call__(self, v, train: bool = False):
        return self.second(self.first(v, train))  # NNX665
""",
        ),
        clean=(
            _PART
            + """\
    def fit(self, train: list, epochs=2):
        for _ in range(epochs):
            print(self.second(x))
            self.run(train)
    def run(self, train):
        for v in train:
            print(self.first(v))
Whole(nnx.Rngs(0)).fit(batches)
""",
            _PART
            + """\
    def fit(self, train, val, epochs=2):
        for _ in range(epochs):
            self.run(train)
            print(self.second(x), self.second(val[0]))
    def run(self, rows):
        for v in rows:
            print(self.first(v))
Whole(nnx.Rngs(0)).fit(batches, batches)
""",
            _PART
            + """\
    def fit(self, train):
        print(len(train), self.second(x))
        self.run(train)
    def run(self, rows):
        for v in rows:
            print(self.first(v))
Whole(nnx.Rngs(0)).fit(batches)
""",
            _PART
            + """\
    def __call__(self, v, train: bool = True):
        return self.second(self.first(v, train=train), train)
print(Whole(nnx.Rngs(0))(x, train=False))
""",
            _PART
            + """\
    def __call__(self, v, train: bool = True):
        v = self.first(v, train=train)
        return self.second(v) if train else self.second(v, train=False)
print(Whole(nnx.Rngs(0))(x, train=False))
""",
            # a part that is kept as it was trained before
            _PART.replace("first", "teacher").replace("bool = True", "bool = False")
            + """\
    def __call__(self, v, train: bool = False):
        return self.second(self.teacher(v), train=train)
print(Whole(nnx.Rngs(0))(x))
""",
            # nothing of it is passed on
            _PART
            + """\
    def __call__(self, v, train: bool = True):
        if train:
            v = v + 1
        return self.second(self.first(v))
print(Whole(nnx.Rngs(0))(x).shape)
""",
            # whether an action is drawn, which says nothing of dropout
            _PART.replace("first", "seen").replace("bool = True", "bool = False")
            + """\
        self.policy = nnx.Linear(3, 3, rngs=rngs)
    def act(self, v, deterministic=False):
        return self.choose(self.policy(self.seen(v)), deterministic)
    def choose(self, logits, deterministic):
        return jnp.argmax(logits) if deterministic else jax.random.categorical(jax.random.key(1), logits)
print(Whole(nnx.Rngs(0)).act(x))
""",
            # a part without dropout
            _DENSE.format("").replace("  # NNX665", "") + _SHOWN,
            _DENSE.format("").replace("self.rate is not None", "self.rate").replace("  # NNX665", "") + _SHOWN,
            _DENSE.format(", rate=0.5").replace("head(h)  # NNX665", "head(h, training=training)") + _SHOWN,
            _DENSE.format("")
            .replace("float | None = None", "float = 0.0")
            .replace("self.rate is not None", "self.rate > 0.0")
            .replace("  # NNX665", "")
            + _SHOWN,
            _PART
            + """\
    def __call__(self, v, **options):
        return self.second(self.first(v, **options), **options)
print(Whole(nnx.Rngs(0))(x, train=False))
""",
        ),
    ),
    "NNX666": Cases(
        bad=(
            """\
w, tx = jnp.ones(3), optax.sgd(0.1)
state = tx.init(w)
gradient = jax.grad(lambda w, v: jnp.sum((w * v) ** 2))
total, step = jnp.zeros(3), 0
for v in batches:
    total = total + gradient(w, v)
    if step % 2 == 0:  # NNX666
        updates, state = tx.update(total / 2, state)
        w, total = optax.apply_updates(w, updates), jnp.zeros(3)
    step += 1
""",
            """\
w, tx = jnp.ones(3), optax.sgd(0.1)
state = tx.init(w)
gradient = jax.grad(lambda w, v: jnp.sum((w * v) ** 2))
kept = []
for i in range(8):
    kept.append(gradient(w, x))
    if i % 4 == 0:  # NNX666
        updates, state = tx.update(sum(kept) / 4, state)
        w = optax.apply_updates(w, updates)
        kept.clear()
""",
            _ADDED
            + """\
for step, batch in enumerate(batches):
    total = jax.tree.map(jnp.add, total, gradient(w, batch))
    if step % 2 == 0:  # NNX666
        updates, state = tx.update(total / 2, state)
        w, total = optax.apply_updates(w, updates), jnp.zeros(3)
""",
            """\
def fit(params, tx, grad_fn, batches, every):
    state, total = tx.init(params), None
    for i in range(len(batches)):
        grads = grad_fn(params, batches[i])
        total = grads if total is None else jax.tree.map(lambda a, b: a + b, total, grads)
        if not i % every:  # NNX666
            updates, state = tx.update(total, state, params)
            params = optax.apply_updates(params, updates)
            total = None
    return params
""",
            """\
w, velocity = jnp.ones(3), optax.sgd(0.1)
state = velocity.init(w)
summed = jnp.zeros(3)
for n, v in enumerate(batches, start=0):
    summed += jax.grad(lambda w: jnp.sum((w * v) ** 2))(w)
    if n % 4 == 0:  # NNX666
        updates, state = velocity.update(summed / 4, state)
        w = optax.apply_updates(w, updates)
        summed = jnp.zeros(3)
""",
        ),
        clean=(
            """\
w, tx = jnp.ones(3), optax.sgd(0.1)
state = tx.init(w)
gradient = jax.grad(lambda w, v: jnp.sum((w * v) ** 2))
total, step = jnp.zeros(3), 0
for v in batches:
    step += 1
    total = total + gradient(w, v)
    if step % 2 == 0:
        updates, state = tx.update(total / 2, state)
        w, total = optax.apply_updates(w, updates), jnp.zeros(3)
""",
            """\
w, tx = jnp.ones(3), optax.sgd(0.1)
state = tx.init(w)
gradient = jax.grad(lambda w, v: jnp.sum((w * v) ** 2))
total, step = jnp.zeros(3), 1
for v in batches:
    total = total + gradient(w, v)
    if step % 2 == 0:
        updates, state = tx.update(total / 2, state)
        w, total = optax.apply_updates(w, updates), jnp.zeros(3)
    step += 1
""",
            _ADDED
            + """\
for step, batch in enumerate(batches):
    total = jax.tree.map(jnp.add, total, gradient(w, batch))
    if (step + 1) % 2 == 0:
        updates, state = tx.update(total / 2, state)
        w, total = optax.apply_updates(w, updates), jnp.zeros(3)
""",
            _ADDED
            + """\
for step, batch in enumerate(batches, start=1):
    total = jax.tree.map(jnp.add, total, gradient(w, batch))
    if step % 2 == 0:
        updates, state = tx.update(total / 2, state)
        w, total = optax.apply_updates(w, updates), jnp.zeros(3)
""",
            # each batch is applied, and the losses of some are told together
            """\
w, summed = jnp.ones(3), 0.0
tx = optax.sgd(0.1)
state = tx.init(w)
for step, v in enumerate(batches):
    loss, g = jax.value_and_grad(lambda w: jnp.sum((w * v) ** 2))(w)
    updates, state = tx.update(g, state)
    w = optax.apply_updates(w, updates)
    summed += loss
    if step % 2 == 0:
        print(summed)
        summed = 0.0
""",
            # another network has a step at times
            _ADDED
            + """\
for step, batch in enumerate(batches):
    grads = gradient(w, batch)
    if step % 2 == 0:
        updates, state = tx.update(grads, state)
        w, grads = optax.apply_updates(w, updates), None
""",
            _ADDED
            + """\
for step, batch in enumerate(batches):
    total = jax.tree.map(jnp.add, total, gradient(w, batch))
    if step % 2 == 1:
        updates, state = tx.update(total / 2, state)
        w, total = optax.apply_updates(w, updates), jnp.zeros(3)
""",
        ),
    ),
}

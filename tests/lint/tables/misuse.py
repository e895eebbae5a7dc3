"""Models, optimizers and results that are not what their names say."""

from __future__ import annotations

from tests.lint.tables import Cases

_DONATED = "step = jax.jit(lambda p, v: p + v, donate_argnums=0)\n"

_STATE = """\
import functools
from typing import NamedTuple
class Training(NamedTuple):
    params: dict
    count: jax.Array
def create(key):
    return Training({"w": jax.random.normal(key, (3, 2))}, jnp.zeros(()))
@functools.partial(jax.jit, donate_argnums=0)
def step(state, x):
    grads = jax.grad(lambda p: jnp.sum((x @ p["w"]) ** 2))(state.params)
    return Training(jax.tree.map(lambda p, g: p - 0.01 * g, state.params, grads), state.count + 1)
@jax.jit
def mix(old, new):
    return jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, old, new)
x = jnp.ones((4, 3))
"""

_DROPPING = """\
def predict(v, key):
    for _ in range(2):
        key, sub = jax.random.split(key)
        v = v * jax.random.bernoulli(sub, 0.5, v.shape)
    return v.sum()
"""

_FLOCK = """\
def fly(k, bird):
    one, two = jax.random.split(k)
    speed = 1.0 + 0.2 * jax.random.normal(one)
    turn = jax.random.uniform(two)
    return bird + speed * jnp.array([jnp.cos(turn), jnp.sin(turn)])
birds = jnp.arange(6.0).reshape(3, 2)
"""

_DONATING = """\
@partial(nnx.jit, donate_argnums=0)
def train(net):
    net.bias[...] = net.bias[...] + 1.0
def blend(slow, fast):
    nnx.update(slow, jax.tree.map(lambda s, f: 0.9 * s + 0.1 * f, nnx.state(slow), nnx.state(fast)))
"""
_FLIPS = """\
def random_flip(key, image):
    return jnp.where(jax.random.bernoulli(key), image[:, ::-1], image)
def prepare(rng, images):
    return jax.vmap(random_flip)(jax.random.split(rng, 2), images)
print(prepare(key, jnp.arange(18.0).reshape(2, 3, 3)).shape)
"""

_MERGED = "    copied = nnx.merge(graphdef, state)\n    copied.eval()\n    return copied(v)\n"
_TAKEN_APART = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
def evaluate(graphdef, state, v):
    return nnx.merge(graphdef, state)(v)
def main(v):
    net = Net(nnx.Rngs(0))
    graphdef, state = nnx.split(net)
    net.eval()
    copied = nnx.merge(graphdef, state)
    copied.eval()
    return copied(v)
print(main(x))
"""

_SPREAD = """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
sharding = NamedSharding(mesh, P("data"))
params = {"w": jnp.ones((4, 3)), "b": jnp.zeros(4)}
tx = optax.adam(1e-2)
state = tx.init(params)
"""

CASES = {
    "NNX836": Cases(
        bad=(
            """\
def members(seed, n):
    keys = jnp.stack([jax.random.key(seed)] * n)
    return nnx.vmap(lambda key: nnx.Linear(2, 3, rngs=nnx.Rngs(key)))(keys)  # NNX836
""",
            """\
def draws(n):
    key = jax.random.key(0)
    return jax.vmap(lambda k: jax.random.normal(k, (2,)))(jnp.repeat(key[None], n, axis=0))  # NNX836
""",
            # nothing is mapped: copies of one draw
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.3, rngs=rngs)
    def __call__(self, v):
        return self.drop(v).sum(-1)
def posterior(net, v, draws):
    net.train()
    many = nnx.vmap(lambda m, u: m(u), in_axes=(None, None), axis_size=draws)  # NNX836
    return many(net, v)
def whole(net, v, draws):
    return nnx.vmap(lambda m, u: m(u), in_axes=None, axis_size=draws)(net, v)  # NNX836
net = Net(nnx.Rngs(0))
posterior(net, jnp.ones((2, 3)), 4), whole(net, jnp.ones((2, 3)), 4)
noise = jax.vmap(lambda k, v: v + jax.random.normal(k, (3,)), in_axes=(None, None), axis_size=5)(key, x)  # NNX836
""",
            """\
class Member(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.inner(v)
@nnx.jit
def fit(member, optimizer, v):
    optimizer.update(member, nnx.grad(lambda m: (m(v) ** 2).mean())(member))
tx = optax.sgd(0.1)
import copy
def make_ensemble(count):
    base = Member(nnx.Rngs(0))
    return [copy.deepcopy(base) for _ in range(count)]  # NNX836
members = make_ensemble(3)
for member in members:
    tuner = nnx.Optimizer(member, tx, wrt=nnx.Param)
    step = nnx.cached_partial(fit, member, tuner)
    step(x)
print(jnp.std(jnp.stack([member(x) for member in members]), axis=0))
""",
            """\
def make_ensemble(size, seed):
    @nnx.vmap(out_axes=0, axis_size=size)
    def create():
        return nnx.Linear(3, 2, rngs=nnx.Rngs(seed))  # NNX836
    return create()
print(make_ensemble(3, 5).kernel.shape)
""",
            _FLIPS.replace(
                "random_flip)(jax.random.split(rng, 2), images)",
                "random_flip, in_axes=(None, 0))(rng, images)  # NNX836",
            ),
            """\
class Augmenter:
    def rotate(self, image, key):
        turned = jax.random.bernoulli(key)
        return jnp.where(turned, jnp.rot90(image), image)
    def __call__(self, batch, key):
        return jax.vmap(self.rotate, in_axes=(0, None))(batch["image"], key)  # NNX836
print(Augmenter()({"image": jnp.arange(18.0).reshape(2, 3, 3)}, key).shape)
""",
            """\
def drop(x, key):
    return x * jax.random.bernoulli(key, 0.5, x.shape)
copies = jnp.stack([key] * 4)
jax.vmap(drop)(jnp.ones((4, 8)), copies)  # NNX836
""",
            """\
def drop(x, key):
    return x * jax.random.bernoulli(key, 0.5, x.shape)
def run(x):
    return jax.vmap(drop)(x, jnp.broadcast_to(jax.random.key(0), (2,)))  # NNX836
""",
            _FLOCK
            + """\
class Flock:
    def step(self, k, birds, wind):
        one, two = jax.random.split(k)
        birds = jax.vmap(fly, in_axes=(None, 0))(one, birds)  # NNX836
        order = jax.random.permutation(two, len(birds))
        return birds[order] + wind, birds.mean()
flock = Flock()
step = jax.jit(flock.step)
for _ in range(3):
    key, sub = jax.random.split(key)
    birds, mean = step(sub, birds, 0.1)
""",
            _FLOCK
            + """\
def body(carry, t):
    k, flock = carry
    k, sub = jax.random.split(k)
    flock = jax.vmap(fly, in_axes=(None, 0))(sub, flock)  # NNX836
    return (k, flock), t
jax.lax.scan(body, (key, birds), jnp.arange(3))
""",
            """\
@partial(jax.vmap, in_axes=(0, None))  # NNX836
def hop(place, k):
    place = place + 0.1 * jax.random.normal(k, (2,))
    return place
birds = jnp.arange(6.0).reshape(3, 2)
for k in jax.random.split(key, 3):
    birds = hop(birds, k)
""",
            """\
class Flock:
    def __init__(self, birds):
        self.birds = birds
    def run(self, keys):
        for k in keys:
            self.birds = jax.vmap(lambda k, b: b + jax.random.uniform(k), in_axes=(None, 0))(k, self.birds)  # NNX836
Flock(jnp.arange(6.0)).run(jax.random.split(key, 3))
""",
            """\
@nnx.vmap
def make(i):
    return nnx.Linear(2, 2, rngs=nnx.Rngs(0))  # NNX836
""",
            """\
@nnx.vmap(in_axes=None, axis_size=3)  # NNX836
def make(rngs: nnx.Rngs):
    return nnx.Linear(2, 2, rngs=rngs)
""",
            """\
def noisy(v):
    key = jax.random.key(0)  # NNX836
    return v + jax.random.normal(key)
y = jax.vmap(noisy)(x)
""",
            """\
def make(rngs, width):
    return nnx.Linear(2, 2, rngs=rngs)
ensemble = nnx.vmap(make, in_axes=(None, 0))(nnx.Rngs(0), x)  # NNX836
""",
            _DROPPING
            + """\
def samples(v, key, n):
    rows = jnp.broadcast_to(v, (n,) + v.shape)
    return jax.vmap(predict, in_axes=(0, None))(rows, key)  # NNX836
""",
            _DROPPING
            + """\
def samples(v, key, n):
    rows = v[None].repeat(n, axis=0)
    return jax.jit(jax.vmap(predict, in_axes=(0, None)))(rows, key)  # NNX836
""",
            _DROPPING
            + """\
def samples(v, key, n):
    rows = jax.tree.map(lambda a: jnp.repeat(jnp.expand_dims(a, 0), n, axis=0), v)
    return jax.vmap(predict, in_axes=(0, None))(rows, key)  # NNX836
""",
            _DROPPING
            + """\
many = jax.vmap(predict, in_axes=(0, None))  # NNX836
def samples(v, key, n):
    return many(jnp.stack([v for _ in range(n)]), key)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc, self.drop = nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return v + self.drop(self.fc(v), rngs=rngs)
@nnx.split_rngs(splits=4)
@nnx.vmap(in_axes=0, out_axes=0)
def made(rngs):
    return Block(rngs)
@nnx.scan(in_axes=(nnx.Carry, 0, None), out_axes=nnx.Carry)  # NNX836
def run(v, block, rngs):
    return block(v, rngs)
print(run(x, made(nnx.Rngs(0)), nnx.Rngs(dropout=1)))
""",
            """\
@nnx.scan(in_axes=(nnx.Carry, None), out_axes=(nnx.Carry, 0), length=4)  # NNX836
def walk(v, rngs):
    v = v + jax.random.normal(rngs.noise(), v.shape)
    return v, v
print(walk(x, nnx.Rngs(noise=0)))
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc, self.drop = nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return v + self.drop(self.fc(v))
axes = nnx.StateAxes({nnx.Param: 0, ...: None})
@nnx.split_rngs(splits=4, only="params")
@nnx.vmap(in_axes=(nnx.StateAxes({"params": 0, ...: None}),), out_axes=axes)
def made(rngs):
    return Block(rngs)
def run(v, block):
    return block(v)
print(nnx.scan(run, in_axes=(nnx.Carry, axes), out_axes=nnx.Carry)(x, made(nnx.Rngs(0))))  # NNX836
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc, self.drop = nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(0))
@nnx.vmap(in_axes=(None, 0))  # NNX836
def of_rows(net, v):
    return net(v)
net.eval()
print(of_rows(net, jnp.ones((4, 3))))
net.train()
print(of_rows(net, jnp.ones((4, 3))))
""",
        ),
        clean=(
            """\
def members(seed, n):
    keys = jnp.stack([jax.random.key(seed + i) for i in range(n)])
    return nnx.vmap(lambda key: nnx.Linear(2, 3, rngs=nnx.Rngs(key)))(keys)
print(members(0, 3).kernel.shape)
""",
            """\
def draws(n):
    keys = jnp.repeat(jax.random.split(jax.random.key(0), n), 2, axis=0)
    return jax.vmap(lambda k: jax.random.normal(k, (2,)))(keys)
print(draws(2))
""",
            # members that are told apart, and copies without draws
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.3, rngs=rngs)
    def __call__(self, v):
        return self.drop(v).sum(-1)
def posterior(net, v, draws):
    net.train()
    axes = nnx.StateAxes({nnx.RngState: 0, ...: None})
    many = nnx.vmap(lambda m, u: m(u), in_axes=(axes, None), axis_size=draws)
    return nnx.split_rngs(splits=draws)(many)(net, v)
print(posterior(Net(nnx.Rngs(0)), jnp.ones((2, 3)), 4).shape)
""",
            """\
def drawn(k, v):
    return v + jax.random.normal(jax.random.fold_in(k, jax.lax.axis_index("member")), (3,))
print(jax.vmap(drawn, in_axes=None, axis_size=5, axis_name="member")(key, jnp.ones(3)))
print(jax.vmap(lambda k, v: v + jax.random.normal(k, (3,)), in_axes=(0, None))(jax.random.split(key, 5), jnp.ones(3)))
copies = nnx.vmap(lambda m, v: m(v), in_axes=None, axis_size=5)(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), jnp.ones(3))
""",
            """\
class Member(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.inner(v)
@nnx.jit
def fit(member, optimizer, v):
    optimizer.update(member, nnx.grad(lambda m: (m(v) ** 2).mean())(member))
tx = optax.sgd(0.1)
def make_ensemble(count):
    rngs = nnx.Rngs(0)
    return [Member(rngs) for _ in range(count)]
members = make_ensemble(3)
for member in members:
    tuner = nnx.Optimizer(member, tx, wrt=nnx.Param)
    step = nnx.cached_partial(fit, member, tuner)
    step(x)
print(jnp.std(jnp.stack([member(x) for member in members]), axis=0))
""",
            """\
class Member(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.inner(v)
@nnx.jit
def fit(member, optimizer, v):
    optimizer.update(member, nnx.grad(lambda m: (m(v) ** 2).mean())(member))
tx = optax.sgd(0.1)
base = Member(nnx.Rngs(0))
members = [nnx.clone(base) for _ in range(2)]
tuners = [nnx.Optimizer(member, tx, wrt=nnx.Param) for member in members]
for member, tuner, rows in zip(members, tuners, (x, 2 * x)):
    nnx.cached_partial(fit, member, tuner)(rows)
""",
            """\
class Member(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.inner(v)
@nnx.jit
def fit(member, optimizer, v):
    optimizer.update(member, nnx.grad(lambda m: (m(v) ** 2).mean())(member))
tx = optax.sgd(0.1)
base = Member(nnx.Rngs(0))
members = [nnx.clone(base) for _ in range(2)]
for member in members:
    tuner = nnx.Optimizer(member, tx, wrt=nnx.Param)
    step = nnx.cached_partial(fit, member, tuner)
    for rows in batches[::-1]:
        step(rows)
""",
            """\
def make_ensemble(size, seed):
    @nnx.split_rngs(splits=size)
    @nnx.vmap(out_axes=0, axis_size=size)
    def create(rngs):
        return nnx.Linear(3, 2, rngs=rngs)
    return create(nnx.Rngs(seed))
print(make_ensemble(3, 5).kernel.shape)
""",
            """\
def make_ensemble(seeds):
    @nnx.vmap
    def create(seed):
        return nnx.Linear(3, 2, rngs=nnx.Rngs(seed))
    return create(seeds)
print(make_ensemble(jax.random.split(key, 3)).kernel.shape)
""",
            _FLIPS,
            # of one scene
            _FLIPS.replace(
                "random_flip)(jax.random.split(rng, 2), images)", "random_flip, in_axes=(None, 0))(rng, frames)"
            ).replace("rng, images)", "rng, frames)"),
            _FLIPS.replace(
                "random_flip)(jax.random.split(rng, 2), images)", "random_flip, in_axes=(None, 0))(rng, images)"
            )
            .replace("def prepare", "def prepare_views")
            .replace("print(prepare", "print(prepare_views"),
            """\
def random_flip(key, image):
    return jnp.where(jax.random.bernoulli(key), image[:, ::-1], image)
def clips(key, videos):
    def one(key, images):
        return jax.vmap(random_flip, in_axes=(None, 0))(key, images)
    return jax.vmap(one)(jax.random.split(key, 2), videos)
print(clips(key, jnp.arange(36.0).reshape(2, 2, 3, 3)).shape)
""",
            """\
def drop(x, key, i):
    return x * jax.random.bernoulli(jax.random.fold_in(key, i), 0.5, x.shape)
jax.vmap(drop)(jnp.ones((4, 8)), jnp.stack([key] * 4), jnp.arange(4))
""",
            """\
def drop(x, key):
    return x * jax.random.bernoulli(key, 0.5, x.shape)
jax.vmap(drop)(jnp.ones((4, 8)), jax.random.split(key, 4))
""",
            """\
@partial(jax.vmap, in_axes=(0, None))
@partial(jax.vmap, in_axes=(None, 0))
@jax.jit
def sample(key, v):
    return v + jax.random.normal(key, v.shape)
print(sample(jax.random.split(jax.random.key(0), 3), jnp.ones((2, 4))))
""",
            _FLOCK
            + """\
def body(carry, t):
    k, flock = carry
    k, sub = jax.random.split(k)
    flock = jax.vmap(fly, in_axes=(0, 0))(jax.random.split(sub, 3), flock)
    return (k, flock), t
jax.lax.scan(body, (key, birds), jnp.arange(3))
""",
            _FLOCK
            + """\
def cost(k, rate):
    return (rate + jax.random.normal(k)) ** 2
rates = jnp.array([0.1, 0.2])
for k in jax.random.split(key, 3):  # the rates are compared under the same noise
    costs = jax.vmap(cost, in_axes=(None, 0))(k, rates)
moved = jax.vmap(fly, in_axes=(None, 0))(key, birds)
""",
            """\
def fly(k, bird, number):
    own = jax.random.split(k, 3)[number]
    return bird + jax.random.normal(own)
def other(k, bird, number):
    return bird + jax.random.normal(jax.random.fold_in(k, number))
birds = jnp.arange(6.0).reshape(3, 2)
for k in jax.random.split(key, 3):
    birds = jax.vmap(fly, in_axes=(None, 0, 0))(k, birds, jnp.arange(3))
    one, two = jax.random.split(k)
    birds = jax.vmap(other, in_axes=(None, 0, 0))(two, birds, jnp.arange(3))
""",
            """\
def fit(k, w):
    some = jax.random.randint(k, (4,), 0, 9)
    return w - 0.1 * jax.grad(lambda w: (w * jnp.arange(9.0)[some]).sum() ** 2)(w)
members = jnp.array([0.1, 0.2])
for k in jax.random.split(key, 3):  # members of an ensemble see the same batches
    members = jax.vmap(fit, in_axes=(None, 0))(k, members)
""",
            """\
def common_shock(k, price):
    return price + jax.random.normal(k)
prices = jnp.array([1.0, 2.0])
for k in jax.random.split(key, 3):
    prices = jax.vmap(common_shock, in_axes=(None, 0))(k, prices)
""",
            """\
graphdef, state = nnx.split(model)
def loss(p, v):
    return nnx.merge(graphdef, p)(v).sum()
y = jax.vmap(loss, in_axes=(None, 0))(state, jnp.ones((4, 3)))
""",
            """\
def train(rng, rate):
    dummy = jax.random.key(0)
    shape = jax.random.normal(dummy, (3,)).shape
    return jax.random.normal(rng, shape) * rate
y = jax.vmap(train)(jax.random.split(key, 2), jnp.ones(2))
""",
            """\
y = jax.vmap(lambda k, n: jax.random.split(k, 3), in_axes=(0, None))(jax.random.split(key, 2), 3)
""",
            """\
@nnx.split_rngs(splits=3)
@nnx.vmap
def make(rngs):
    return nnx.Linear(2, 2, rngs=rngs)
make(nnx.Rngs(0))
""",
            """\
@nnx.vmap
def make(key):
    return nnx.Linear(2, 2, rngs=nnx.Rngs(key))
make(jax.random.split(key, 3))
""",
            """\
def noisy(v, i):
    k = jax.random.fold_in(jax.random.key(0), i)
    return v + jax.random.normal(k)
y = jax.vmap(noisy)(x, jnp.arange(3))
""",
            """\
def table(v):
    return v * 2
y = jax.vmap(table)(jax.random.normal(jax.random.key(0), (3,)))
""",
            """\
@nnx.vmap(in_axes=(None, 0))
def apply(net, v):
    return net(v)
apply(model, jnp.ones((4, 3)))
""",
            _DROPPING
            + """\
def samples(v, key, n):
    keys = jax.random.split(key, n)
    return jax.vmap(predict, in_axes=(None, 0))(v, keys)
print(samples(x, key, 4))
""",
            _DROPPING
            + """\
def samples(rows, key):
    return jax.vmap(predict, in_axes=(0, None))(rows, key)
print(samples(jnp.arange(12.0).reshape(4, 3), key))
""",
            _DROPPING
            + """\
def samples(v, key, n):
    rows = jnp.stack([v * i for i in range(n)])
    return jax.vmap(predict, in_axes=(0, None))(rows, key)
print(samples(x, key, 4))
""",
            _DROPPING
            + """\
def samples(v, key, n):
    rows = jnp.repeat(v[:, None], n, axis=0)
    return jax.vmap(predict, in_axes=(0, None))(rows, key)
print(samples(x, key, 4))
""",
            """\
def predict(v, key):
    for _ in range(2):
        v = v * 0.5
    return v
rows = jnp.broadcast_to(x, (4,) + x.shape)
print(jax.vmap(predict, in_axes=(0, None))(rows, key))
""",
            """\
def shift(k, channel):
    return jnp.roll(channel, jax.random.randint(k, (), 0, 3), 0)
class Translate:
    def __call__(self, image, k):
        return jax.vmap(shift, in_axes=(None, 0))(k, image)
y = Translate()(jnp.ones((3, 4, 4)), key)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc, self.drop = nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return v + self.drop(self.fc(v), rngs=rngs)
@nnx.split_rngs(splits=4)
@nnx.vmap(in_axes=0, out_axes=0)
def made(rngs):
    return Block(rngs)
@nnx.split_rngs(splits=4)
@nnx.scan(in_axes=(nnx.Carry, 0, 0), out_axes=nnx.Carry)
def run(v, block, rngs):
    return block(v, rngs)
print(run(x, made(nnx.Rngs(0)), nnx.Rngs(dropout=1)))
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc, self.drop = nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return v + self.drop(self.fc(v), rngs=rngs)
@nnx.split_rngs(splits=4)
@nnx.vmap(in_axes=0, out_axes=0)
def made(rngs):
    return Block(rngs)
@nnx.scan(in_axes=(nnx.Carry, 0, nnx.StateAxes({nnx.RngCount: nnx.Carry, ...: None})), out_axes=nnx.Carry)
def run(v, block, rngs):
    return block(v, rngs)
print(run(x, made(nnx.Rngs(0)), nnx.Rngs(dropout=1)))
""",
            """\
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
def walk(carry, _):
    v, rngs = carry
    v = v + jax.random.normal(rngs.noise(), v.shape)
    return (v, rngs), v
print(walk((x, nnx.Rngs(noise=0)), jnp.arange(4)))
""",
            """\
cell, mask = nnx.SimpleCell(3, 3, rngs=nnx.Rngs(0)), nnx.Dropout(0.5)
@nnx.scan(in_axes=(nnx.Carry, None, None, 0), out_axes=(nnx.Carry, 0))
def variational(h, cell, rngs, v):
    return cell(mask(h, rngs=rngs), v)
print(variational(jnp.zeros(3), cell, nnx.Rngs(1), jnp.ones((4, 3))))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc, self.drop = nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(0))
@nnx.vmap(in_axes=(None, 0))
def of_rows(net, v):
    return net(v)
net.train()
print(net(jnp.ones((4, 3))))
net.eval()
print(of_rows(net, jnp.ones((4, 3))))
""",
        ),
    ),
    "NNX856": Cases(
        bad=(
            """\
@partial(nnx.jit, donate_argnums=(0, 1))
def step(q, target, v):
    q.kernel[...] += target(v).sum()
target = nnx.clone(model)
step(model, target, x)  # NNX856
""",
            """\
@partial(nnx.jit, donate_argnames=("q",))
def step(q, target, v):
    q.kernel[...] += target(v).sum()
class Agent:
    def __init__(self):
        self.q = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
        self.target = nnx.clone(self.q)
    def learn(self, v):
        step(self.q, self.target, v)  # NNX856
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(params):
    return jax.tree.map(lambda p: p - 0.1, params)
def run(v):
    net = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    params = nnx.state(net)
    for _ in range(3):
        params = step(params)
    return params, net(v)  # NNX856
""",
            """\
def kept(given, steps):
    noise = jnp.sin(given)
    first = noise
    step = jax.jit(lambda i, noise: noise + i, donate_argnames=["noise"])
    for i in range(steps):
        noise = step(i, noise)
    return noise - first  # NNX856
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
params = {"w": jnp.zeros(3)}
state = {"params": params, "ema": params}
for one in (1.0, 2.0):
    state = step(state, one)  # NNX856
""",
            """\
from typing import Any, NamedTuple
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
class State(NamedTuple):
    params: Any
    target: Any
def begun():
    params = {"w": jnp.zeros(3)}
    return State(params=params, target=params)
state = step(begun(), 1.0)
first = begun()
first = step(first, 1.0)  # NNX856
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
class Trainer:
    def __init__(self):
        weights = jax.random.normal(key, (3,))
        self.state = {"average": weights, "now": weights}
    def run(self):
        self.state = step(self.state, 1.0)  # NNX856
""",
            """\
from typing import Any
from flax.training.train_state import TrainState
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
class Own(TrainState):
    target_params: Any = None
params = {"w": jnp.zeros(3)}
state = Own.create(apply_fn=model, params=params, target_params=params, tx=optax.sgd(0.1))
state = step(state, 1.0)  # NNX856
""",
            _STATE
            + """\
state = create(key)
average, best = state.params, 1.0
for _ in range(3):
    state = step(state, x)
    average = mix(average, state.params)  # NNX856
print(average)
""",
            _STATE
            + """\
def train(state, n):
    average = state.params
    for _ in range(n):
        state = step(state, x)
        average = mix(average, state.params)  # NNX856
    return average
print(train(create(key), 3))
""",
            _STATE
            + """\
def train(key, n):
    params = {"w": jax.random.normal(key, (3, 2))}
    state = Training(params, jnp.zeros(()))
    frozen = params
    for _ in range(n):
        state = step(state, x)
        frozen = mix(frozen, state.params)  # NNX856
    return frozen
print(train(key, 3))
""",
            _STATE
            + """\
class Trainer:
    def __init__(self, key):
        self.state = create(key)
        self.average = self.state.params
    def fit(self, n):
        for _ in range(n):
            self.state = step(self.state, x)
            self.average = mix(self.average, self.state.params)  # NNX856
Trainer(key).fit(3)
""",
            _DONATED
            + """\
def begin(seed):
    return {"w": jax.random.normal(jax.random.key(seed), (3,))}
tree = jax.jit(lambda p, v: jax.tree.map(lambda w: w + v, p), donate_argnums=0)
def run(n):
    p = begin(0)
    average = p
    for i in range(n):
        p = tree(p, i)
        average = jax.tree.map(lambda a, w: 0.9 * a + 0.1 * w, average, p)  # NNX856
    return average
""",
            """\
tree = jax.jit(lambda p, v: {"w": p["w"] + v}, donate_argnums=0)
def run():
    p = {"w": jnp.ones(3)}
    target, i = p, 0
    while i < 4:
        p = tree(p, i)
        if i % 2:
            target = optax.incremental_update(p, target, 0.1)  # NNX856
        i += 1
    return target
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(p, v):
    return p + v
new = step(x, 1.0)
print(x)  # NNX856
""",
            """\
step = jax.jit(lambda p, v: p + v, donate_argnums=(0,))
p = jnp.ones(3)
for v in range(3):
    out = step(p, v)  # NNX856
""",
            """\
@partial(jax.jit, donate_argnames="p")
def step(v, p):
    return p + v
def run(p):
    first = p
    p = step(1.0, p=p)
    return p - first  # NNX856
""",
            """\
@partial(jax.jit, donate_argnums=1)
def step(v, p):
    return p + v
class Trainer:
    def run(self):
        new = step(1.0, self.params)
        change = new - self.params  # NNX856
        self.params = new
        return change
""",
            "step = jax.jit(lambda p, v: p + v, donate_argnums=0)\ndef run(p):\n    best, low = None, 9.0\n"
            "    for i in range(4):\n        p = step(p, i)\n        if i < low:\n"
            "            low, best = i, p  # NNX856\n    return best\n",
            "step = jax.jit(lambda p, v: p + v, donate_argnums=0)\ndef run(p):\n    seen = []\n"
            "    for i in range(4):\n        p = step(p, i)\n        seen.append(p)  # NNX856\n"
            "    return seen\n",
            _DONATED + "def run(p, *rest):\n    best = None\n    for i in range(4):\n        p = step(p, *rest)\n"
            "        if i < 2:\n            best = p  # NNX856\n    return best\n",
            _DONATED + "def run(p, rest):\n    new = step(p, *rest)\n    return new - p  # NNX856\n",
            _DONATED
            + """\
class Best:
    def __init__(self):
        self.low, self.params = 9.0, None
    def take(self, low, params):
        if low < self.low:
            self.low, self.params = low, params
def run(p):
    best = Best()
    for i in range(4):
        p = step(p, i)
        best.take(i, p)  # NNX856
    return best.params
""",
            _DONATED
            + """\
def run(p):
    best = {"loss": 9.0, "params": None}
    for i in range(4):
        p = step(p, i)
        if i < best["loss"]:
            best = {"loss": i, "params": p}  # NNX856
    return best["params"]
""",
            _DONATED
            + """\
def run(p):
    kept = {}
    for i in range(4):
        p = step(p, i)
        kept[i] = p  # NNX856
    return kept
""",
            _DONATED
            + """\
def run(p):
    history = []
    for i in range(4):
        p = step(p, i)
        history.append((i, p))  # NNX856
    return history
""",
            _DONATED
            + """\
def epoch(p, rows):
    for v in rows:
        p = step(p, v)
    return p
def run(p):
    best, low = None, 9.0
    for i in range(4):
        p = epoch(p, [1.0, 2.0])
        if i < low:
            best, low = p, i  # NNX856
    return best
""",
            _DONATED
            + """\
def epoch(p, rows):
    for v in rows:
        p = step(p, v)
    return p
def run(p):
    new = epoch(p, [1.0, 2.0])
    return new - p  # NNX856
""",
            _DONATED
            + """\
def run(p):
    best, low = None, 99.0
    for epoch in range(3):
        for v in [1.0, 2.0]:
            p = step(p, v)
        loss = float(p.sum())
        if loss < low:
            low = loss
            best = p  # NNX856
    return best
""",
            _DONATED
            + """\
class Trainer:
    def __init__(self):
        self.params, self.best, self.low = jnp.ones(3), None, 9.0
    def fit(self):
        for i in range(4):
            self.params = step(self.params, i)
            if i < self.low:
                self.low = i
                self.best = self.params  # NNX856
    def predict(self, v):
        return v * self.best
""",
            _DONATED
            + """\
def offer(best, params, loss):
    if loss < best["loss"]:
        best.update(loss=loss, params=params)
def run(p):
    best = dict(loss=9.0, params=p * 1)
    for i in range(4):
        p = step(p, i)
        offer(best, p, i)  # NNX856
    return best
out = run(jnp.ones(3))["params"]
""",
            _DONATING
            + """\
def run(net):
    old = nnx.clone(net)
    train(net)
    return old(x) - net(x)  # NNX856
print(run(model))
""",
            _DONATING
            + """\
def run(net):
    fast = nnx.clone(net)
    train(fast)
    return net(x)  # NNX856
print(run(model))
""",
            _DONATING
            + """\
def slow_of(net):
    return nnx.clone(net)
class Trainer:
    def __init__(self):
        self.net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        self.slow = slow_of(self.net)
    def fit(self):
        train(self.net)
        blend(self.slow, self.net)  # NNX856
Trainer().fit()
""",
            """\
from typing import NamedTuple
class Wave(NamedTuple):
    now: jax.Array
    before: jax.Array
class Solver:
    @partial(jax.jit, static_argnums=0, donate_argnums=1)
    def advance(self, wave):
        return Wave(2 * wave.now - wave.before, wave.now)
def begin(n):
    bump = jnp.exp(-jnp.linspace(0.0, 1.0, n))
    return Wave(now=bump, before=bump)
def run(solver, rounds):
    wave = begin(8)
    for _ in range(rounds):
        wave = solver.advance(wave)  # NNX856
    return wave
run(Solver(), 3)
""",
        ),
        clean=(
            """\
@partial(jax.jit, donate_argnums=0)
def val_step(state, batch):
    return jnp.mean((state["w"] * batch) ** 2), jnp.max(batch)
def validate(state, batches):
    losses = []
    for batch in batches:
        loss, most = val_step(state, batch)
        losses.append((loss, most))
    return losses
validate({"w": jnp.ones((2, 2))}, [jnp.ones((2, 2)), jnp.zeros((2, 2))])
""",
            """\
step = jax.pmap(lambda params, average: (params + 1, average + params), donate_argnums=(0, 1))
params = jax.pmap(lambda v: v)(jnp.ones((1, 3)))
average = params
params, average = step(params=params, average=average)
print(params, average)
""",
            """\
@partial(nnx.jit, donate_argnums=(0, 1))
def step(q, target, v):
    q.kernel[...] += target(v).sum()
target = nnx.clone(model)
nnx.update(target, jax.tree.map(jnp.copy, nnx.state(model)))
step(model, target, x)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(params):
    return jax.tree.map(lambda p: p - 0.1, params)
def run(v):
    net = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    graphdef, params = nnx.split(net)
    for _ in range(3):
        params = step(params)
    nnx.update(net, params)
    return net(v)
print(run(x))
""",
            """\
def examples(count):
    for index in range(count):
        item = {"v": np.ones(3) * index, "label": np.array([index])}
        yield index, item
@functools.partial(jax.jit, donate_argnums=(0,))
def predict(batch):
    return batch["v"] * 2.0 + batch["label"]
for index, batch in examples(2):
    out = predict(batch)
    labels = batch["label"]
    print(out, labels)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
params = {"w": np.zeros(3, np.float32)}
state = {"params": params, "ema": params}
state = step(state, 1.0)
print(state)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
params = jax.device_get({"w": jnp.zeros(3)})
state = {"params": params, "ema": params}
state = step(state, 1.0)
print(state)
""",
            # another name for what the last call gave
            """\
def sampled(noise, steps):
    step = jax.jit(lambda i, noise: noise + i, donate_argnames=["noise"])
    for i in range(steps):
        noise = step(i, noise)
    result = noise
    return jax.tree.map(lambda one: one * 2, result)
print(sampled(jnp.ones(3), 3))
""",
            """\
class Sampler:
    def __call__(self, given, steps):
        noise = jnp.sin(given)
        step = jax.jit(lambda i, noise: self.step(i, noise), donate_argnames="noise")
        for i in range(steps):
            noise = step(i, noise)
        result = noise
        shown = result
        return shown + result
    def step(self, i, noise):
        return noise - i
print(Sampler()(x, 2))
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
params = {"w": jnp.zeros(3)}
state = {"params": params, "ema": jax.tree.map(jnp.copy, params)}
for one in (1.0, 2.0):
    state = step(state, one)
print(state)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
params = {"w": jnp.zeros(3)}
state = {"params": params, "ema": params}
state["ema"] = jax.tree.map(jnp.copy, params)
state = step(state, 1.0)
print(state)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
params = {"w": jnp.zeros(3)}
state = {"params": params, "ema": params}
state = jax.tree.map(jnp.copy, state)
state = step(state, 1.0)
print(state)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
@jax.jit
def begun(key):
    params = jax.random.normal(key, (3,))
    return {"params": params, "ema": params}
state = step(begun(key), 1.0)
later = begun(key)
later = step(later, 1.0)
print(state, later)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
number = 0.0
state = {"first": number, "last": number, "v": jnp.zeros(3)}
state = step(state, 1.0)
print(state)
""",
            """\
@jax.jit
def step(state, v):
    return jax.tree.map(lambda one: one + v, state)
params = {"w": jnp.zeros(3)}
state = {"params": params, "ema": params}
state = step(state, 1.0)
print(state)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def fill(loaded):
    return jax.tree.map(lambda leaf: 2 * leaf, loaded)
def main():
    loaded = {"w": jnp.ones(3)}
    state = fill(loaded)
    if loaded is not None and isinstance(loaded, dict):
        del loaded
    return state
print(main())
""",
            _STATE
            + """\
class Trainer:
    def __init__(self, key):
        self.state = create(key)
        self.average = self.state.params
    def restore(self):
        self.state = create(jax.random.key(1))
    def fit(self, n):
        for _ in range(n):
            self.state = step(self.state, x)
            self.average = mix(self.average, self.state.params)
trainer = Trainer(key)
trainer.restore()
trainer.fit(3)
""",
            _STATE
            + """\
def train(state, n):
    average = state.params
    state = Training(jax.tree.map(jnp.copy, state.params), state.count)
    for _ in range(n):
        state = step(state, x)
        average = mix(average, state.params)
    return average
print(train(create(key), 3))
""",
            """\
from flax import struct
@struct.dataclass
class Field:
    value: jax.Array
    attrs: dict = struct.field(pytree_node=False)
spectrum = jax.jit(lambda field: field.value * 2.0, donate_argnums=0)
def measured(v):
    field = Field(v + 1.0, {"size": 3})
    found = spectrum(field)
    return found, dict(field.attrs)
print(measured(x))
""",
            _STATE
            + """\
state = create(key)
average = jax.tree.map(jnp.copy, state.params)
for _ in range(3):
    state = step(state, x)
    average = mix(average, state.params)
print(average)
""",
            _STATE
            + """\
def train(state, n):
    average = state.params
    for _ in range(n):
        average = mix(average, state.params)
        state = step(state, x)
    return average
print(train(create(key), 3))
""",
            _STATE
            + """\
def train(key, n):
    params = {"w": jax.random.normal(key, (3, 2))}
    state = Training(jax.tree.map(jnp.copy, params), jnp.zeros(()))
    frozen = params
    for _ in range(n):
        state = step(state, x)
        frozen = mix(frozen, state.params)
    return frozen
print(train(key, 3))
""",
            _STATE
            + """\
class Trainer:
    def __init__(self, key):
        self.state = create(key)
        self.average = jax.tree.map(jnp.copy, self.state.params)
    def fit(self, n):
        for _ in range(n):
            self.state = step(self.state, x)
            self.average = mix(self.average, self.state.params)
Trainer(key).fit(3)
""",
            _STATE
            + """\
def train(n):
    state = create(key)
    shown = state.params
    for _ in range(n):
        state = step(state, x)
        shown = state.params
        print(shown["w"].sum())
train(3)
""",
            """\
tree = jax.jit(lambda p, v: {"w": p["w"] + v}, donate_argnums=0)
def run(p):
    average = jax.tree.map(jnp.copy, p)
    for i in range(4):
        p = tree(p, i)
        average = jax.tree.map(lambda a, w: 0.9 * a + 0.1 * w, average, p)
    return average
print(run({"w": jnp.ones(3)}))
""",
            """\
tree = jax.jit(lambda p, v: {"w": p["w"] + v}, donate_argnums=0)
p = {"w": jnp.ones(3)}
average = p
for i in range(4):
    average = jax.tree.map(lambda a, w: 0.9 * a + 0.1 * w, average, p)
    p = tree(p, i)
    print(average)
""",
            """\
tree = jax.jit(lambda v, p: {"w": p["w"] + v}, donate_argnums=0)
def run(p):
    average = p
    for i in range(4):
        p = tree(jnp.ones(3), p)
        average = jax.tree.map(lambda a, w: 0.9 * a + 0.1 * w, average, p)
    return average
print(run({"w": jnp.ones(3)}))
""",
            # with arrays of its own
            _DONATING
            + """\
def run(net):
    graphdef, state = nnx.split(net)
    old = nnx.merge(graphdef, jax.tree.map(jnp.copy, state))
    train(net)
    return old(x) - net(x)
print(run(nnx.Linear(3, 3, rngs=nnx.Rngs(0))))
""",
            # new arrays first
            _DONATING
            + """\
def run(net):
    slow = nnx.clone(net)
    blend(slow, net)
    train(net)
    return slow(x)
print(run(nnx.Linear(3, 3, rngs=nnx.Rngs(0))))
""",
            # a clone of what it is by then
            _DONATING
            + """\
def run(net):
    train(net)
    best = nnx.clone(net)
    return best(x) - net(x)
print(run(nnx.Linear(3, 3, rngs=nnx.Rngs(0))))
""",
            # other arrays are written into it
            _DONATING
            + """\
def run(net):
    best = nnx.clone(net)
    train(net)
    nnx.update(best, nnx.state(net))
    return best(x)
print(run(nnx.Linear(3, 3, rngs=nnx.Rngs(0))))
""",
            # the model of nnx.jit goes on with the new arrays, also where nothing tells that it is one
            _DONATING
            + """\
def run(net, rounds):
    for _ in range(rounds):
        blend(net, net)
        train(net)
    return net(x)
""",
            # nothing is donated
            _DONATING.replace(", donate_argnums=0", "")
            + """\
def run(net):
    old = nnx.clone(net)
    train(net)
    return old(x) - net(x)
print(run(model))
""",
            """\
step = jax.jit(lambda p, v: p + v, donate_argnums=0)
@jax.jit
def whole(p, v):
    new = step(p, v)
    return new - p
whole(x, 1.0)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(p, v):
    return p + v
for v in range(3):
    x = step(x, v)
print(x)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(p, v):
    return p + v
def run(p, fast):
    if fast:
        return step(p, 1.0)
    return p
run(jnp.ones(3), True)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(p, v):
    return p + v
new = step(x, 1.0)
print(x.shape, new)
""",
            _DONATED + "def run(p, rest):\n    new = step(*rest, p)\n    return new - p\n",
            _DONATED + "def run(p, *rest):\n    best = None\n    for i in range(4):\n        p = step(p, *rest)\n"
            "        if i < 2:\n            best = jnp.copy(p)\n    return best\n",
            """\
@partial(jax.jit, donate_argnums=0)
def step(p, v):
    return p + v
for v in range(3):
    fresh = jnp.ones(3)
    out = step(fresh, v)
""",
            """\
@partial(nnx.jit, donate_argnums=0)
def double(m):
    m.kernel.value = m.kernel.value * 2
double(model)
model(x)
""",
            """\
@partial(jax.jit, donate_argnums=0)
def step(p, v):
    return p + v
class Trainer:
    def __init__(self):
        self.params = jnp.ones(3)
    def run(self):
        before = np.array(self.params)
        self.params = step(self.params, 1.0)
        return self.params - before
Trainer().run()
""",
            "step = jax.jit(lambda p, v: p + v, donate_argnums=0)\ndef run(p):\n    best = None\n"
            "    for i in range(4):\n        p = step(p, i)\n        if i > 2:\n            best = p\n"
            "            break\n    return best\n",
            "step = jax.jit(lambda p, v: p + v, donate_argnums=0)\ndef run(p):\n    for i in range(4):\n"
            "        p = step(p, i)\n        now = p\n    return now\n",
            "step = jax.jit(lambda p, v: p + v, donate_argnums=0)\ndef run(p):\n    seen = []\n"
            "    for i in range(4):\n        p = step(p, i)\n        if i > 2:\n"
            "            seen = jnp.copy(p)\n    return seen\n",
            _DONATED
            + """\
class Best:
    def __init__(self):
        self.low, self.params = 9.0, None
    def take(self, low, params):
        if low < self.low:
            self.low, self.params = low, jax.tree.map(jnp.copy, params)
def run(p):
    best = Best()
    for i in range(4):
        p = step(p, i)
        best.take(1.0 / (i + 1), p)
    return best.params
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
class Current:
    def __init__(self):
        self.params = None
    def set(self, params):
        self.params = params
def run(p):
    current = Current()
    for i in range(4):
        p = step(p, i)
        current.set(p)
    return current.params
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
def run(p):
    best = {"loss": 9.0, "params": None}
    for i in range(4):
        p = step(p, i)
        if i < best["loss"]:
            best = {"loss": i, "params": np.asarray(p).copy()}
    return best["params"]
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
def run(p):
    best = {"loss": 9.0, "params": None}
    for i in range(4):
        p = step(p, i)
        if i < best["loss"]:
            best = {"loss": i, "params": p}
    return best["loss"]
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
def run(p):
    history = []
    for i in range(4):
        p = step(p, i)
        history.append((i, float(p.sum())))
    return history
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
def run(p):
    kept = {}
    for i in range(4):
        p = step(p, i)
        if i == 3:
            kept[i] = p
    return kept
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
def run(start):
    results = []
    for rate in (0.1, 0.2):
        p = jnp.copy(start)
        for v in range(3):
            p = step(p, rate * v)
        results.append((rate, p))
    return results
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
def epoch(p, rows):
    for v in rows:
        p = step(p, v)
    return p
def run(p):
    best, low = None, 9.0
    for i in range(4):
        p = epoch(p, [1.0, 2.0])
        if i < low:
            best, low = p + 0, i
    return best
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
def epoch(p, rows):
    if not rows:
        return p
    p = p * 1
    for v in rows:
        p = step(p, v)
    return p
def run(p):
    new = epoch(p, [1.0, 2.0])
    return new - p
print(run(jnp.ones(3)))
""",
            _DONATED
            + """\
class Trainer:
    def __init__(self):
        self.params, self.best, self.low = jnp.ones(3), None, 9.0
    def fit(self):
        for i in range(4):
            self.params = step(self.params, i)
            if i < self.low:
                self.best = jnp.copy(self.params)
    def predict(self, v):
        return v * self.best
trainer = Trainer()
trainer.fit()
print(trainer.predict(2.0))
""",
            _DONATED
            + """\
class Trainer:
    def __init__(self):
        self.params, self.best = jnp.ones(3), None
    def save(self):
        print(self.best)
    def fit(self):
        for i in range(4):
            self.params = step(self.params, i)
            if i % 2:
                self.best = self.params
                self.save()
Trainer().fit()
""",
            _DONATED
            + """\
def run(p):
    best = None
    for i in range(4):
        p = step(p, i)
        if i > 1:
            best = p
        if best is not None:
            print(i, best)
            best = None
    return p
print(run(jnp.ones(3)))
""",
            """\
from typing import NamedTuple
class Wave(NamedTuple):
    now: jax.Array
    before: jax.Array
class Solver:
    @partial(jax.jit, static_argnums=0, donate_argnums=1)
    def advance(self, wave):
        return Wave(2 * wave.now - wave.before, wave.now)
class Other:
    def advance(self, wave):
        return wave
def run(solver, other, rounds):
    bump = jnp.exp(-jnp.linspace(0.0, 1.0, 8))
    wave = Wave(now=bump, before=jnp.copy(bump))
    for _ in range(rounds):
        wave = solver.advance(wave)
    same = Wave(now=x, before=x)
    other.advance(same)
    return wave, same
print(run(Solver(), Other(), 3))
""",
        ),
    ),
    "NNX857": Cases(
        bad=(
            """\
def f(v):
    return v ** 3
def scaled(v):
    return 2 * f(v)
g, value = jax.value_and_grad(scaled)(2.0)  # NNX857
""",
            """\
class Tracker:
    def update(self, step, loss):
        self.last = step, loss
def train_step(m):
    value, grads = nnx.value_and_grad(lambda one: one(x).sum())(m)
    return value
tracker = Tracker()
loss = train_step(model)
tracker.update(0, loss)
optimizer.update(model, loss)  # NNX857
""",
            "grads, loss = nnx.value_and_grad(lambda m: m(x).sum())(model)  # NNX857\n",
            """\
f = jax.jit(jax.value_and_grad(lambda v: v.sum()))
g, value = f(x)  # NNX857
""",
            "grads, (loss, aux) = jax.value_and_grad(lambda v: (v.sum(), v), has_aux=True)(x)  # NNX857\n",
            """\
a, b = nnx.value_and_grad(lambda m: m(x).sum())(model)
optimizer.update(model, a)  # NNX857
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
grad_fn = nnx.jit(nnx.grad(loss_fn))
loss, grads = grad_fn(model, x)  # NNX857
""",
            """\
def hvp(f, v, u):
    return jax.jvp(jax.grad(f), (v,), (u,))[0]  # NNX857
""",
            """\
def curvature(v, u):
    hv = jax.jvp(jax.grad(lambda w: jnp.sum(w**4)), (v,), (u,))[0]  # NNX857
    return jnp.vdot(u, hv)
""",
            """\
def rate(f, t):
    y_dot, y = jax.jvp(f, (t,), (1.0,))  # NNX857
    return y_dot / y
""",
            """\
from jax import grad, jvp
def operator(f, v):
    return lambda u: jvp(grad(f), (v,), (u,))[0] + 0.1 * u  # NNX857
""",
        ),
        clean=(
            """\
def f(v):
    return v ** 3
def slope(v):
    return jax.grad(f)(v)
g, curvature = jax.value_and_grad(jax.jacfwd(f))(2.0)
grad, change = jax.value_and_grad(slope)(2.0)
grads, seconds = jax.jit(jax.value_and_grad(lambda v: jax.grad(f)(v)))(2.0)
print(g, curvature, grad, change, grads, seconds)
""",
            """\
class Tracker:
    def update(self, step, loss, count=1):
        self.last = step, loss
@nnx.jit
def train_step(m, opt):
    loss, grads = nnx.value_and_grad(lambda one: one(x).sum())(m)
    opt.update(m, grads)
    return loss
tracker = Tracker()
for step in range(2):
    loss = train_step(model, optimizer)
    tracker.update(step, loss)
""",
            """\
def show(bar, meters):
    value, grads = jax.value_and_grad(lambda v: v.sum())(x)
    bar.update(value)
    meters["loss"].update(value, 3)
    return grads
""",
            "loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(model)\n",
            "(loss, aux), grads = jax.value_and_grad(lambda v: (v.sum(), v), has_aux=True)(x)\n",
            "grads, aux = jax.grad(lambda v: (v.sum(), v), has_aux=True)(x)\n",
            """\
def step(v):
    value, grads = jax.value_and_grad(lambda u: u.sum())(v)
    return grads, value
grads, loss = step(x)
""",
            """\
g_loss, g_grads = jax.value_and_grad(lambda v: v.sum())(x)
loss, grads = jax.value_and_grad(lambda v: v.sum())(x)
""",
            """\
value, slopes = jax.grad(lambda v, w: (v * w).sum(), argnums=(0, 1))(x, x)
loss, grads = jax.value_and_grad(lambda v: (v * v).sum())(x)
""",
            """\
left, right = jax.grad(lambda pair: (pair[0] * pair[1]).sum())((x, x))
slopes, extra = jax.grad(lambda v: ((v * v).sum(), v), has_aux=True)(x)
""",
            """\
def hvp(f, v, u):
    return jax.jvp(jax.grad(f), (v,), (u,))[1]
print(hvp(lambda w: jnp.sum(w**4), x, x))
""",
            """\
f = lambda w: jnp.sum(w**4)
slope, hv = jax.jvp(jax.grad(f), (x,), (x,))
y, y_dot = jax.jvp(f, (x,), (x,))
value = jax.jvp(f, (x,), (x,))[0]
primal, tangent, extra = jax.jvp(lambda w: (f(w), w), (x,), (x,), has_aux=True)
print(slope, hv, y, y_dot, value)
""",
            """\
f = lambda w: jnp.sum(w**4)
slope = jax.jvp(jax.grad(f), (x,), (x,))[0]
bent = jax.jvp(jax.grad(f), (x,), (x,))[1]
print(slope, bent)
""",
        ),
    ),
    "NNX858": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        conv = partial(nnx.Conv, kernel_size=(3, 3))
        self.first = conv(1, 8)  # NNX858
        self.second = conv(8, 8, rngs=rngs)
""",
            "layer = nnx.Linear(3, 3)  # NNX858\n",
            "from flax.nnx import Conv as C, Rngs\nlayer = C(1, 2, (3, 3), 1, Rngs(0))  # NNX858\n",
            """\
class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(3)  # NNX858
block = Block()  # NNX858
""",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.drop = nnx.Dropout(0.5)  # NNX858
    def __call__(self, v):
        return self.drop(v)
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        conv = partial(nnx.Conv, kernel_size=(3, 3))
        shared = partial(conv, rngs=rngs)
        self.first = conv(1, 8, **{"rngs": rngs})
        self.second = conv(8, 8, rngs=rngs)
        self.third = shared(8, 8)
Net(nnx.Rngs(0))
""",
            "layer = nnx.Linear(3, 3, rngs=nnx.Rngs(0))\n",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.drop = nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return self.drop(v, rngs=rngs)
Net()(x, nnx.Rngs(0))
""",
            "drop = nnx.Dropout(0.0)\ndrop(x)\n",
            "options = {'rngs': nnx.Rngs(0)}\nlayer = nnx.Linear(3, 3, **options)\n",
            "make = partial(nnx.Linear, rngs=nnx.Rngs(0))\nlayer = make(3, 3)\n",
            """\
class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.LayerNorm(3, rngs=rngs)
block = Block(nnx.Rngs(0))
""",
        ),
    ),
    "NNX859": Cases(
        bad=(
            """\
class Average:
    def __init__(self, model, decay=0.9):
        self.shadow = model
        self.decay = decay
    def step(self, model):
        mix = lambda a, b: self.decay * a + (1 - self.decay) * b
        nnx.update(self.shadow, jax.tree.map(mix, nnx.state(self.shadow), nnx.state(model)))
average = Average(model)  # NNX859
for _ in batches:
    average.step(model)
""",
            """\
def mse(net, v):
    return jnp.mean((net(v) - 1.0) ** 2)
def adapt(net, v, rate):
    learner = net  # NNX859
    grads = nnx.grad(mse)(learner, v)
    nnx.update(learner, jax.tree.map(lambda p, g: p - rate * g, nnx.state(learner, nnx.Param), grads))
    return learner
def meta(net, tasks):
    total = 0.0
    for v in tasks:
        total = total + mse(adapt(net, v, 0.1), v)
    return total
meta(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), batches)
""",
            """\
def reptile(net, tasks):
    for v in tasks:
        fast_model = net  # NNX859
        grads = nnx.grad(lambda m: jnp.mean(m(v) ** 2))(fast_model)
        start = nnx.state(fast_model, nnx.Param)
        nnx.update(fast_model, jax.tree.map(lambda p, g: p - 0.1 * g, start, grads))
        old, new = nnx.state(net, nnx.Param), nnx.state(fast_model, nnx.Param)
        nnx.update(net, jax.tree.map(lambda a, b: a + 0.5 * (b - a), old, new))
    return net
reptile(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), [x, x])
""",
            """\
@nnx.jit
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).mean())(net))
def fit(net, rounds, check):
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    best_net, best = net, 1e9
    for v in rounds:
        step(net, opt, v)
        if check(net) < best:
            best_net = net  # NNX859
    return best_net
""",
            """\
class Agent:
    def __init__(self, online, target=None):
        self.online = online
        self.target = online if target is None else target  # NNX859
Agent(model)
""",
            """\
class Agent:
    def __init__(self):
        self.online = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
        self.target_net = self.online  # NNX859
""",
            """\
def train(rngs):
    net = nnx.Linear(3, 3, rngs=rngs)
    ema_net = net  # NNX859
    return net(x), ema_net
""",
            """\
class Agent:
    def __init__(self, net: nnx.Module):
        self.net = net
        self.frozen = net  # NNX859
""",
        ),
        clean=(
            """\
class Average:
    def __init__(self, model, decay=0.9):
        self.shadow = nnx.clone(model)
        self.decay = decay
    def step(self, model):
        mix = lambda a, b: self.decay * a + (1 - self.decay) * b
        nnx.update(self.shadow, jax.tree.map(mix, nnx.state(self.shadow), nnx.state(model)))
average = Average(model)
average.step(model)
""",
            """\
class Average:
    def __init__(self, model, decay=0.9):
        self.shadow = model
        self.decay = decay
    def step(self, model):
        mix = lambda a, b: self.decay * a + (1 - self.decay) * b
        nnx.update(self.shadow, jax.tree.map(mix, nnx.state(self.shadow), nnx.state(model)))
average = Average(nnx.clone(model))
average.step(model)
other = Average(model)
other.step(nnx.clone(model))
""",
            """\
def mse(net, v):
    return jnp.mean((net(v) - 1.0) ** 2)
def adapt(net, v, rate):
    learner = nnx.clone(net)
    grads = nnx.grad(mse)(learner, v)
    nnx.update(learner, jax.tree.map(lambda p, g: p - rate * g, nnx.state(learner, nnx.Param), grads))
    return learner
def meta(net, tasks):
    total = 0.0
    for v in tasks:
        total = total + mse(adapt(net, v, 0.1), v)
    return total
meta(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), batches)
""",
            """\
def tune(net, v):
    learner = net
    nnx.update(learner, jax.tree.map(lambda p: 0.9 * p, nnx.state(learner, nnx.Param)))
    return learner
print(tune(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), x)(x))
""",
            """\
def act(net, steps):
    for v in steps:
        learner = net
        print(learner(v))
act(nnx.jit(lambda v: 2 * v), [x, x])
""",
            """\
def reptile(net, tasks):
    for v in tasks:
        fast_model = nnx.clone(net)
        grads = nnx.grad(lambda m: jnp.mean(m(v) ** 2))(fast_model)
        start = nnx.state(fast_model, nnx.Param)
        nnx.update(fast_model, jax.tree.map(lambda p, g: p - 0.1 * g, start, grads))
        old, new = nnx.state(net, nnx.Param), nnx.state(fast_model, nnx.Param)
        nnx.update(net, jax.tree.map(lambda a, b: a + 0.5 * (b - a), old, new))
    return net
reptile(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), [x, x])
""",
            """\
def fit(net, check):
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
    best_net = nnx.clone(net)
    opt.update(net, nnx.grad(lambda m: m(x).mean())(net))
    if check(net) < 1.0:
        best_net = nnx.clone(net)
    return best_net
fit(model, lambda net: 0.0)
""",
            """\
class Agent:
    def __init__(self, online, target=None):
        self.online = online
        self.target = online if target is None else target
Agent(model, nnx.clone(model))
""",
            """\
def moved(net, device=None):
    return net if device is None else nnx.clone(net)
def frozen(net):
    return nnx.clone(net)
frozen_net = frozen(model)
old_net = moved(model, "cpu")
y = model(x)
""",
            """\
class Agent:
    def __init__(self):
        self.online = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
        self.target_net = nnx.clone(self.online)
Agent()
""",
            """\
class Agent:
    def __init__(self, net: nnx.Module, target: nnx.Module):
        self.net = net
        self.target = target
        self.teacher = target
Agent(model, nnx.clone(model))
""",
            """\
best = None
for seed in (5, 6):
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(seed))
    if best is None:
        best = net
""",
            """\
class Holder:
    def __init__(self, frozen_model: nnx.Module):
        self.frozen = frozen_model
        self.best_score = 0
Holder(model)
""",
            """\
def rebuild(net: nnx.Module):
    old = net
    net = nnx.clone(net)
    return old, net
rebuild(model)
""",
        ),
    ),
    "NNX860": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
class Evaluator:
    def score(self, net):
        net.eval()  # NNX860
        return [float(net(batch).sum()) for batch in batches]
class Trainer:
    def __init__(self, net, evaluator):
        self.net = net
        self.evaluator = evaluator
        self.opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    def epoch(self):
        learn(self.net, self.opt, x)
    def fit(self, epochs):
        self.net.train()
        for _ in range(epochs):
            self.epoch()
            print(self.evaluator.score(self.net))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
Trainer(Net(nnx.Rngs(0)), Evaluator()).fit(3)
""",
            """\
net = nnx.Dropout(0.1, rngs=nnx.Rngs(0))
def train_step(net, v):
    return nnx.value_and_grad(lambda m: m(v).sum())(net)
for batch in batches:
    train_step(net, batch)
    net.set_attributes(deterministic=True, use_running_average=True)  # NNX860
""",
            """\
net = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
def train_step(net, v):
    return nnx.value_and_grad(lambda m: m(v).sum())(net)
for batch in batches:
    train_step(net, batch)
    net.eval()  # NNX860
""",
            """\
net = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
def evaluate(model, v):
    model.eval()  # NNX860
    return model(v)
def fit(net):
    net.train()
    for batch in batches:
        nnx.grad(lambda m: m(batch).sum())(net)
        evaluate(net, batch)
""",
            """\
class Trainer:
    def __init__(self):
        self.model = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
    def train_epoch(self):
        return nnx.grad(lambda m: m(x).sum())(self.model)
    def validate(self):
        self.model.eval()  # NNX860
        return self.model(x)
    def fit(self):
        for _ in range(3):
            self.train_epoch()
            self.validate()
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
class Evaluator:
    def score(self, net):
        net.eval()
        return [float(net(batch).sum()) for batch in batches]
class Trainer:
    def __init__(self, net, evaluator):
        self.net = net
        self.evaluator = evaluator
        self.opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    def epoch(self):
        learn(self.net, self.opt, x)
    def fit(self, epochs):
        for _ in range(epochs):
            self.net.train()
            self.epoch()
            print(self.evaluator.score(self.net))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
Trainer(Net(nnx.Rngs(0)), Evaluator()).fit(3)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
class Evaluator:
    def score(self, net):
        net.eval()
        found = [float(net(batch).sum()) for batch in batches]
        net.train()
        return found
class Trainer:
    def __init__(self, net, evaluator):
        self.net = net
        self.evaluator = evaluator
        self.opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    def epoch(self):
        learn(self.net, self.opt, x)
    def fit(self, epochs):
        self.net.train()
        for _ in range(epochs):
            self.epoch()
            print(self.evaluator.score(self.net))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
Trainer(Net(nnx.Rngs(0)), Evaluator()).fit(3)
""",
            """\
net = nnx.Dropout(0.1, rngs=nnx.Rngs(0))
def train_step(net, v):
    return nnx.value_and_grad(lambda m: m(v).sum())(net)
for batch in batches:
    net.set_attributes(deterministic=False)
    train_step(net, batch)
    net.set_attributes(deterministic=True)
""",
            """\
net = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
def train_step(net, v):
    return nnx.value_and_grad(lambda m: m(v).sum())(net)
for batch in batches:
    net.train()
    train_step(net, batch)
    net.eval()
""",
            """\
net = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
def train_step(net, v):
    return nnx.value_and_grad(lambda m: m(v).sum())(net)
for batch in batches:
    train_step(net, batch)
net.eval()
""",
            """\
net = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
net.eval()
for batch in batches:
    nnx.grad(lambda m: m(batch).sum())(net)
""",
            """\
class Trainer:
    def __init__(self):
        self.model = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
    def train_epoch(self):
        self.model.train()
        return nnx.grad(lambda m: m(x).sum())(self.model)
    def validate(self):
        self.model.eval()
        return self.model(x)
    def fit(self):
        for _ in range(3):
            self.train_epoch()
            self.validate()
Trainer().fit()
""",
            """\
net = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
for batch in batches:
    nnx.grad(lambda m: m(batch).sum())(net)
    copy = nnx.clone(net)
    copy.eval()
""",
        ),
    ),
    "NNX861": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.body(v))
class Trainer:
    def __init__(self, net, rate):
        self.net = net
        self.opt = nnx.Optimizer(net, optax.adam(rate), wrt=nnx.Param)
    def fit(self, v):
        grads = nnx.grad(lambda m: m(v).mean())(self.net)
        self.opt.update(self.net, grads)
    def show(self, v):
        return self.net(v).shape
def replace_head(net, classes, rngs):
    net.head = nnx.Linear(4, classes, rngs=rngs)
def run(rngs):
    net = Net(rngs)
    trainer = Trainer(net, 0.1)
    trainer.fit(jnp.ones((2, 3)))
    replace_head(net, 5, rngs)  # NNX861
    trainer.fit(jnp.ones((2, 3)))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.body(v))
class Trainer:
    def __init__(self, net, rate):
        self.net = net
        self.opt = nnx.Optimizer(net, optax.adam(rate), wrt=nnx.Param)
    def fit(self, v):
        grads = nnx.grad(lambda m: m(v).mean())(self.net)
        self.opt.update(self.net, grads)
    def show(self, v):
        return self.net(v).shape
def run(rngs):
    net = Net(rngs)
    trainer = Trainer(net, 0.1)
    trainer.fit(jnp.ones((2, 3)))
    net.head = nnx.Linear(4, 5, rngs=rngs)  # NNX861
    trainer.fit(jnp.ones((2, 3)))
""",
            """\
net = nnx.Sequential(model, nnx.relu)
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
net.head = nnx.Linear(3, 5, rngs=nnx.Rngs(1))  # NNX861
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def swap(net, rngs):
    net.head = nnx.Linear(3, 5, rngs=rngs)
def run(rngs):
    net = Net(rngs)
    opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    swap(net, rngs)  # NNX861
    return opt
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
class Trainer:
    def __init__(self, rngs):
        self.net = Net(rngs)
        self.opt = nnx.Optimizer(self.net, optax.sgd(0.1), wrt=nnx.Param)
        self.net.head = nnx.Linear(3, 5, rngs=rngs)  # NNX861
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def swap(net, rngs):
    net.head = nnx.Linear(3, 5, rngs=rngs)
def optimizer_of(net, rate):
    tx = optax.adam(rate)
    return nnx.Optimizer(net, tx, wrt=nnx.Param)
def run(rngs):
    net = Net(rngs)
    opt = optimizer_of(net, 0.1)
    swap(net, rngs)  # NNX861
    return net, opt
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def begin_anew(self, classes, rngs):
        self.head = nnx.Linear(3, classes, rngs=rngs)
def run(rngs):
    net = Net(rngs)
    opt = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
    net.begin_anew(5, rngs)  # NNX861
    return net, opt
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def setup(net):
    tx = optax.adam(0.1)
    opt = nnx.Optimizer(net, tx, wrt=nnx.Param)
    return opt, tx
def run(rngs):
    net = Net(rngs)
    opt, tx = setup(net)
    net.head = nnx.Linear(3, 5, rngs=rngs)  # NNX861
    return net, opt, tx
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def run(rngs):
    net = Net(rngs)
    tx = optax.adam(0.1)
    moments = tx.init(nnx.state(net, nnx.Param))
    net.head = nnx.Linear(3, 5, rngs=rngs)  # NNX861
    return net, tx, moments
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.body(v))
class Trainer:
    def __init__(self, net, rate):
        self.net = net
        self.opt = nnx.Optimizer(net, optax.adam(rate), wrt=nnx.Param)
    def fit(self, v):
        grads = nnx.grad(lambda m: m(v).mean())(self.net)
        self.opt.update(self.net, grads)
    def show(self, v):
        return self.net(v).shape
def replace_head(net, classes, rngs):
    net.head = nnx.Linear(4, classes, rngs=rngs)
def run(rngs):
    net = Net(rngs)
    trainer = Trainer(net, 0.1)
    trainer.fit(jnp.ones((2, 3)))
    replace_head(net, 5, rngs)
    trainer = Trainer(net, 0.1)
    trainer.fit(jnp.ones((2, 3)))
run(nnx.Rngs(0))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 4, rngs=rngs)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.body(v))
class Trainer:
    def __init__(self, net, rate):
        self.net = net
        self.opt = nnx.Optimizer(net, optax.adam(rate), wrt=nnx.Param)
    def fit(self, v):
        grads = nnx.grad(lambda m: m(v).mean())(self.net)
        self.opt.update(self.net, grads)
    def show(self, v):
        return self.net(v).shape
def run(rngs):
    net = Net(rngs)
    trainer = Trainer(net, 0.1)
    trainer.fit(jnp.ones((2, 3)))
    net.head = nnx.Linear(4, 5, rngs=rngs)
    return trainer.show(jnp.ones((2, 3)))
print(run(nnx.Rngs(0)))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
net = Net(nnx.Rngs(1))
net.head = nnx.Linear(3, 5, rngs=nnx.Rngs(2))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
net = Net(nnx.Rngs(1))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
net.head = nnx.Linear(3, 5, rngs=nnx.Rngs(2))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
""",
            """\
class Trainer:
    def __init__(self, rngs):
        self.net = nnx.Linear(3, 3, rngs=rngs)
        self.opt = nnx.Optimizer(self.net, optax.sgd(0.1), wrt=nnx.Param)
        self.head = nnx.Linear(3, 5, rngs=rngs)
Trainer(nnx.Rngs(1))
""",
            """\
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
model.kernel.value = jnp.zeros((3, 3))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def swap(net, rngs):
    net.head = nnx.Linear(3, 5, rngs=rngs)
net = Net(nnx.Rngs(1))
swap(net, nnx.Rngs(2))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
""",
            # used up before
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def optimizer_of(net):
    return nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
def run(rngs):
    net = Net(rngs)
    opt = optimizer_of(net)
    print(opt.step)
    net.head = nnx.Linear(3, 5, rngs=rngs)
    return net
run(nnx.Rngs(1))
""",
            # made again of what the function gives back
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def swap(net, rngs):
    net.head = nnx.Linear(3, 5, rngs=rngs)
    return net
def optimizer_of(net):
    return nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
def run(rngs):
    net = Net(rngs)
    opt = optimizer_of(net)
    print(opt.step)
    net = swap(net, rngs)
    opt = optimizer_of(net)
    return net, opt
run(nnx.Rngs(1))
""",
            # another model's
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def begin_anew(self, classes, rngs):
        self.head = nnx.Linear(3, classes, rngs=rngs)
def optimizer_of(net):
    return nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
def run(rngs):
    net, other = Net(rngs), Net(rngs)
    opt = optimizer_of(net)
    other.begin_anew(5, rngs)
    return net, other, opt
run(nnx.Rngs(1))
""",
            # before the optimizer, by a method
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def begin_anew(self, classes, rngs):
        self.head = nnx.Linear(3, classes, rngs=rngs)
def run(rngs):
    net = Net(rngs)
    net.begin_anew(5, rngs)
    tx = optax.adam(0.1)
    return tx.init(nnx.state(net, nnx.Param)), nnx.Optimizer(net, tx, wrt=nnx.Param)
run(nnx.Rngs(1))
""",
            # at the end of each stage
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def swap(net, rngs):
    net.head = nnx.Linear(3, 5, rngs=rngs)
def run(rngs):
    net = Net(rngs)
    for stage in range(3):
        opt = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
        print(stage, opt.step)
        swap(net, rngs)
run(nnx.Rngs(1))
""",
        ),
    ),
    "NNX862": Cases(
        bad=(
            """\
import orbax.checkpoint as ocp
def load(net, path):
    state = ocp.StandardCheckpointer().restore(path, nnx.state(net))  # NNX862
    return net
""",
            """\
import orbax.checkpoint as ocp
manager = ocp.CheckpointManager('/tmp/nowhere')
def resume(net, step):
    manager.restore(step, args=ocp.args.StandardRestore(nnx.state(net)))  # NNX862
""",
            """\
from flax import serialization
def load(state, data):
    restored = serialization.from_bytes(state, data)  # NNX862
    return state
""",
            """\
from flax import linen as nn
from flax import serialization
def evaluated(path, v):
    params = nn.Dense(2).init(key, v)
    serialization.from_bytes(params, open(path, "rb").read())  # NNX862
    return nn.Dense(2).apply(params, v)
""",
        ),
        clean=(
            """\
import tempfile, os
from flax import serialization
path = os.path.join(tempfile.mkdtemp(), "params")
params = {"w": x}
with open(path, "wb") as f:
    f.write(serialization.to_bytes(params))
    print("saved")
with open(path, "rb") as f:
    restored_params = serialization.from_bytes(params, f.read())
    print("restored")
""",
            """\
from flax import serialization
params = {"w": x}
data = serialization.to_bytes(params)
print(len(data))
assert serialization.from_bytes(params, data)
""",
            """\
import tempfile
import orbax.checkpoint as ocp
folder = tempfile.mkdtemp() + "/"
checkpointer = ocp.PyTreeCheckpointer()
for number in range(2):
    checkpointer.save(folder + str(number), {"w": x * number})
def load_model(number):
    return checkpointer.restore(folder + str(number))
def judged(count):
    load_model(count - 1)
    for number in range(count):
        params = load_model(number)
        print(params["w"].sum())
judged(2)
""",
            """\
def resume(manager, batches, grain):
    if manager.latest_step():
        manager.restore(manager.latest_step(), args=grain.python.PyGrainCheckpointRestore(batches))
    for batch in batches:
        manager.save(1, args=grain.python.PyGrainCheckpointSave(batches))
def main(path, batches, grain):
    import orbax.checkpoint as ocp
    manager = ocp.CheckpointManager(path)
    if manager.latest_step():
        manager.restore(manager.latest_step(), args=grain.python.PyGrainCheckpointRestore(batches))
    return batches
""",
            """\
import orbax.checkpoint as ocp
def load(net, path):
    _graphdef, _template = nnx.split(net)
    _state = ocp.StandardCheckpointer().restore(path, _template)
    return nnx.merge(_graphdef, _state)
""",
            """\
import orbax.checkpoint as ocp
def load(net, path):
    state = ocp.StandardCheckpointer().restore(path, nnx.state(net))
    nnx.update(net, state)
    return net
""",
            """\
import orbax.checkpoint as ocp
def load(path):
    restored = ocp.StandardCheckpointer().restore(path)
    return restored
""",
            """\
from flax import serialization
def load(state, data):
    return serialization.from_bytes(state, data)
print(load({'a': x}, serialization.to_bytes({'a': x})))
""",
            """\
class Window:
    def restore(self):
        self.shown = True
window = Window()
window.restore()
""",
            """\
import orbax.checkpoint as ocp
def readable(path):
    try:
        ocp.StandardCheckpointer().restore(path)
    except ValueError:
        return False
    return True
""",
        ),
    ),
    "NNX863": Cases(
        bad=(
            """\
def mean(tree, axis_name="batch"):
    return jax.lax.pmean(tree, axis_name)
def train(v):
    return mean(v)
def evaluate(v):
    return mean(v)  # NNX863
print(jax.vmap(train, axis_name="batch")(jnp.ones((2, 3))))
print(jax.jit(evaluate)(x))
""",
            """\
def step(v):
    return v - jax.lax.pmean(v, "batch")
print(jax.vmap(step, axis_name="batch")(jnp.ones((2, 3))))
def check(batches):
    fast = jax.jit(step)
    for batch in batches:
        print(fast(batch))  # NNX863
check(batches)
""",
            """\
def rank():
    return jax.lax.axis_index("batch")
print(jax.vmap(lambda v: v + rank(), axis_name="batch")(x))
def body(carry, v):
    return carry + jax.lax.psum(v, "batch"), v
print(jax.vmap(lambda v: jax.lax.scan(body, 0.0, v), axis_name="batch")(jnp.ones((2, 3))))
print(rank())  # NNX863
""",
            """\
class Trainer:
    def __init__(self):
        self.train = jax.vmap(self.train_step, axis_name="batch")
        self.evaluate = jax.jit(self.eval_step)
    def total(self, v):
        return jax.lax.psum(v, "batch")
    def train_step(self, v):
        return self.total(v)
    def eval_step(self, v):
        return self.total(v)  # NNX863
trainer = Trainer()
print(trainer.train(jnp.ones((2, 3))))
print(trainer.evaluate(x))
""",
            _SPREAD
            + """\
print(jax.device_put(state, sharding))  # NNX863
print(jax.tree.map(lambda one: jax.device_put(one, sharding), state))  # NNX863
print(jax.jit(tx.init, out_shardings=sharding)(params))  # NNX863
""",
            _SPREAD
            + """\
def spread(tree, sharding):
    return jax.device_put(tree, sharding)
params = spread(params, sharding)
state = spread(state, sharding)  # NNX863
""",
            _SPREAD
            + """\
chain = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
def setup(params):
    state = chain.init(params)
    return jax.device_put(state, sharding)  # NNX863
setup(params)
scheduled = optax.sgd(optax.cosine_decay_schedule(0.1, 10))
print(jax.device_put(scheduled.init(params), sharding))  # NNX863
""",
            _SPREAD
            + """\
columns = NamedSharding(mesh, P(None, "data"))
print(jax.device_put(params, columns))  # NNX863
print(jax.device_put({"params": params, "step": 0}, sharding))  # NNX863
""",
            _SPREAD
            + """\
def put(one):
    return jax.device_put(one, sharding)
print(jax.tree.map(put, state))  # NNX863
print(jax.tree.map(partial(jax.device_put, device=sharding), state))  # NNX863
print(jax.jit(lambda p, s: (p, s), in_shardings=(sharding, sharding))(params, state))  # NNX863
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.make_mesh((1, 1), ("data", "fsdp"))
def constrained(v):
    with jax.set_mesh(mesh):
        return jax.lax.with_sharding_constraint(v, P("model"))  # NNX863
""",
            """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ('data',))
sharding = NamedSharding(mesh, P('batch'))  # NNX863
""",
            """\
from jax.sharding import NamedSharding, PartitionSpec
class Shards:
    def __init__(self):
        self.mesh = jax.make_mesh((1, 1), ('data', 'model'))
        self.weights = NamedSharding(self.mesh, PartitionSpec(None, ('data', 'tensor')))  # NNX863
""",
            """\
from jax.sharding import Mesh, PartitionSpec as P
AXES = ('x',)
mesh = Mesh(np.array(jax.devices()[:1]), AXES)
f = jax.shard_map(lambda v: v, mesh=mesh, in_specs=(P('y'),), out_specs=P('x'))  # NNX863
""",
            """\
NAMES = ('rows', 'cols')
mesh = jax.make_mesh((1, 1), NAMES)
init = nnx.with_partitioning(nnx.initializers.ones_init(), (None, 'model'))  # NNX863
""",
            """\
ROW, KERNEL = 'rows', (None, 'model')
def build_mesh(names=(ROW, 'cols')):
    return jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), axis_names=('rows', 'cols'))
mesh = build_mesh()
init = nnx.with_partitioning(nnx.initializers.ones_init(), sharding=KERNEL)  # NNX863
""",
            """\
mesh = jax.make_mesh((1,), ('rows',))
def parted(axis):
    return nnx.with_partitioning(nnx.initializers.ones_init(), (None, axis))  # NNX863
init = parted('cols')
""",
        ),
        clean=(
            """\
class Sampler:
    def __init__(self, n_devices=1):
        self.n_devices = n_devices
    def sample(self, key):
        again = jax.random.uniform(key) < 0.5
        if self.n_devices > 1:
            again = jax.lax.all_gather(again, axis_name="device")[0]
        return again
jax.vmap(Sampler().sample)(jax.random.split(jax.random.key(0), 2))
""",
            """\
def mean(tree, axis_name=None):
    if axis_name is not None:
        tree = jax.lax.pmean(tree, axis_name)
    return tree
print(jax.vmap(partial(mean, axis_name="batch"), axis_name="batch")(jnp.ones((2, 3))), jax.jit(mean)(x))
def careful(v):
    try:
        return jax.lax.pmean(v, "batch")
    except NameError:
        return v
print(jax.jit(careful)(x))
""",
            """\
@jax.jit
def inner(v):
    return jax.lax.pmean(v, "batch")
def outer(v):
    return inner(v) + jax.lax.axis_index("batch")
print(jax.vmap(outer, axis_name="batch")(jnp.ones((2, 3))))
def loss(w):
    return jax.lax.pmean(w.sum(), "batch")
print(jax.vmap(lambda w: jax.grad(loss)(w), axis_name="batch")(jnp.ones((2, 3))))
print(jax.jit(lambda v: jax.vmap(inner, axis_name="batch")(v))(jnp.ones((2, 3))))
""",
            """\
def mapped(function, values):
    return jax.vmap(function, axis_name="batch")(values)
def mean(v):
    return jax.lax.pmean(v, "batch")
print(mapped(lambda v: mean(v), jnp.ones((2, 3))), mapped(mean, jnp.ones((2, 3))))
def evaluate(v, parallel=True):
    if parallel:
        v = mean(v)
    return v
print(jax.jit(partial(evaluate, parallel=False))(x))
""",
            _SPREAD
            + """\
whole = NamedSharding(mesh, P())
print(jax.device_put(state, whole), jax.device_put(params, sharding))
print(jax.device_put(optax.sgd(0.1).init(params), sharding))
print(jax.device_put((params, state), (sharding, whole)), jax.device_put(state[0].mu, sharding))
print(jax.tree.map(lambda one: jax.device_put(one, sharding if one.ndim else whole), state))
""",
            _SPREAD
            + """\
def put(one):
    if one.ndim == 0:
        return one
    return jax.device_put(one, sharding)
print(jax.tree.map(put, state))
print(jax.jit(tx.init, out_shardings=NamedSharding(mesh, P()))(params))
""",
            _SPREAD
            + """\
@jax.vmap
def started(p):
    return tx.init(p)
print(jax.device_put(started(params), sharding), jax.device_put(jax.vmap(tx.init)(params), sharding))
""",
            """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec
mesh = Mesh(np.array(jax.devices()[:1]), ("devices",))
def shardings(kind, shapes):
    if kind == "fsdp":
        def shard(value):
            return ("devices",) + (None,) * (value.ndim - 1)
        return jax.tree.map(lambda v: NamedSharding(mesh, PartitionSpec(*shard(v))), shapes)
    elif kind == "tp":
        def shard(value):
            return ("tensor",)
        return [shard(one) for one in shapes]
print(shardings("fsdp", {"w": jnp.ones((2, 2))}))
""",
            """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "fsdp"))
def constrained(v):
    with mesh:
        v = jax.lax.with_sharding_constraint(v, P(("data", "fsdp")))
        return jax.lax.with_sharding_constraint(v, NamedSharding(mesh, P("data")))
constrained(x)
""",
            """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ('data',))
sharding = NamedSharding(mesh, P(None, 'data'))
""",
            """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
def place(mesh, axis):
    return NamedSharding(mesh, P(axis))
place(Mesh(np.array(jax.devices()[:1]), ('data',)), 'data')
""",
            """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ('data', 'model'))
sharding = NamedSharding(mesh, P(('data', 'model')))
""",
            """\
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
meshes = [Mesh(np.array(jax.devices()[:1]), (name,)) for name in ('data', 'model')]
shardings = [NamedSharding(mesh, P(mesh.axis_names[0])) for mesh in meshes]
""",
            """\
NAMES = ('rows', 'cols')
mesh = jax.make_mesh((1, 1), NAMES)
KERNEL = (None, NAMES[1])
init = nnx.with_partitioning(nnx.initializers.ones_init(), KERNEL)
""",
            """\
def make_mesh(names):
    return jax.make_mesh((1,) * len(names), names)
mesh = make_mesh(['rows', 'model'][:2])
init = nnx.with_partitioning(nnx.initializers.ones_init(), (None, 'model'))
""",
            """\
mesh = jax.make_mesh((1,), ('rows',))
def parted(axis):
    return nnx.with_partitioning(nnx.initializers.ones_init(), (None, axis if axis in mesh.axis_names else None))
init = parted('cols')
""",
            """\
mesh = jax.make_mesh((1,), ('rows',))
def parted(axis):
    return nnx.with_partitioning(nnx.initializers.ones_init(), (None, axis))
init = parted(None)
""",
            """\
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ('rows',))
mapped = partial(jax.shard_map, mesh=mesh)
@jax.jit
@partial(mapped, in_specs=P('rows'), out_specs=P())
def total(v):
    return jax.lax.psum(v.sum(), 'rows')
""",
            """\
from jax.sharding import Mesh, PartitionSpec as P
def over_rows(f):
    wrap = getattr(jax, 'shard_map')
    return wrap(f, mesh=Mesh(np.array(jax.devices()[:1]), ('rows',)), in_specs=P('rows'), out_specs=P())
@jax.jit
@over_rows
def total(v):
    return jax.lax.psum(v.sum(), 'rows')
""",
        ),
    ),
    "NNX869": Cases(
        bad=(
            """\
def shares(w, v):
    return jax.nn.softmax(v @ w)
class Trainer:
    def __init__(self, apply_fn):
        self.apply_fn = apply_fn
    def loss(self, w, v, labels):
        return optax.softmax_cross_entropy_with_integer_labels(self.apply_fn(w, v), labels).mean()  # NNX869
print(Trainer(shares).loss(jnp.ones((3, 2)), jnp.ones((2, 3)), jnp.array([0, 1])))
""",
            """\
def drawn(key, logits, temperature):
    chances = jax.nn.softmax(logits) / temperature
    return jax.random.categorical(key, chances)  # NNX869
print(drawn(key, x, 0.7))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, z):
        return nnx.sigmoid(self.out(z))
class Auto(nnx.Module):
    def __init__(self, rngs):
        self.mean, self.decoder = nnx.Linear(3, 3, rngs=rngs), Decoder(rngs)
    def __call__(self, v):
        mean = self.mean(v)
        return self.decoder(mean), mean
def loss_fn(net, v):
    logits, mean = net(v)
    return optax.sigmoid_binary_cross_entropy(logits, v).mean() + (mean**2).mean()  # NNX869
print(nnx.grad(loss_fn)(Auto(nnx.Rngs(0)), x))
""",
            """\
class Two(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        logits = self.head(v)
        return logits, nnx.softmax(logits)
net = Two(nnx.Rngs(0))
print(optax.softmax_cross_entropy_with_integer_labels(net(x)[1], jnp.array(1)))  # NNX869
""",
            """\
def likelihood(params, v, labels):
    chances = jax.nn.softmax(v @ params, axis=-1)
    logs = jax.nn.log_softmax(chances)  # NNX869
    return -jnp.take_along_axis(logs, labels[:, None], 1).mean()
""",
            """\
class Chain:
    def __init__(self, start, moves):
        self.start = jnp.asarray(start)
        self.moves = jnp.asarray(moves)
    def walk(self, z, k):
        return jax.random.categorical(k, self.moves[z])  # NNX869
chain = Chain([0.5, 0.5], moves=[[0.9, 0.1], [0.2, 0.8]])
""",
            """\
def rates(tokens, n):
    counts = jnp.ones((n, n)).at[tokens[:-1], tokens[1:]].add(1.0)
    totals = counts.sum(axis=1, keepdims=True)
    return counts / totals
def sampled(k, rates, z):
    return jax.vmap(lambda k: jax.random.categorical(k, rates[z]))(jax.random.split(k, 4))  # NNX869
print(sampled(key, rates(jnp.array([0, 1, 2, 1]), 3), 0))
""",
            """\
def resampled(k, weights, particles):
    weights = weights / jnp.sum(weights)
    return particles[jax.random.categorical(k, weights, shape=(3,))]  # NNX869
""",
            """\
from dataclasses import dataclass
@dataclass
class Mixture:
    weights: tuple = (0.7, 0.3)
class Policy:
    def __init__(self, logits):
        self.probs = jax.nn.softmax(logits)
    def act(self, k):
        return jax.random.categorical(k, self.probs)  # NNX869
def drawn(k, mixture, log_probs):
    k, j = jax.random.split(k)
    part = jax.random.categorical(k, jnp.array(mixture.weights))  # NNX869
    return part, jax.random.categorical(j, jnp.exp(log_probs))  # NNX869
drawn(key, Mixture(), x)
""",
            """\
def units(k, w, v):
    logits = v @ w
    return jax.random.bernoulli(k, logits)  # NNX869
""",
            """\
moves = jnp.array([[0.9, 0.1], [0.2, 0.8]])
def walk(keys, z):
    return jax.vmap(jax.random.categorical)(keys, moves[z])  # NNX869
def start(k, logits):
    return jax.random.choice(k, 3, p=logits)  # NNX869
""",
            """\
chances = jnp.array([[0.9, 0.1], [0.2, 0.8]])
def walk(z, k):
    return jax.random.categorical(k, chances[z]), z  # NNX869
""",
            """\
import flax.linen as linen
from flax.training.train_state import TrainState
class Classes(linen.Module):
    @linen.compact
    def __call__(self, v):
        return linen.softmax(linen.Dense(3)(v))
def start(key, v):
    net = Classes()
    return TrainState.create(apply_fn=net.apply, params=net.init(key, v)["params"], tx=optax.sgd(0.1))
def loss(params, state, v, y):
    out = state.apply_fn({"params": params}, v)
    return optax.softmax_cross_entropy_with_integer_labels(out, y).mean()  # NNX869
print(jax.grad(loss)(start(key, x).params, start(key, x), x[None], jnp.array([1])))
""",
            """\
def loss(net, labels):
    return optax.softmax_cross_entropy(jax.nn.softmax(net(x)), labels)  # NNX869
""",
            """\
def loss(net, labels):
    probs = nnx.sigmoid(net(x)).squeeze(-1)
    return optax.sigmoid_binary_cross_entropy(probs, labels).mean()  # NNX869
""",
            """\
net = nnx.Sequential(nnx.Linear(3, 3, rngs=nnx.Rngs(0)), nnx.softmax)
def loss(labels):
    return optax.softmax_cross_entropy_with_integer_labels(net(x), labels)  # NNX869
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        v = self.out(v)
        return jax.nn.softmax(v, axis=-1)
def loss(net, labels):
    logits = net(x)
    return optax.losses.softmax_cross_entropy(logits=logits, labels=labels)  # NNX869
loss(Net(nnx.Rngs(0)), x)
""",
        ),
        clean=(
            """\
def scores(w, v):
    return v @ w
def shares(w, v):
    return jax.nn.softmax(v @ w)
class Trainer:
    def __init__(self, apply_fn):
        self.apply_fn = apply_fn
    def loss(self, w, v, labels):
        return optax.softmax_cross_entropy_with_integer_labels(self.apply_fn(w, v), labels).mean()
print(Trainer(scores).loss(jnp.ones((3, 2)), jnp.ones((2, 3)), jnp.array([0, 1])), shares(jnp.ones((3, 2)), x))
""",
            """\
def drawn(key, logits, temperature):
    return jax.random.categorical(key, logits / temperature)
print(drawn(key, x, 0.7))
""",
            """\
class Two(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        logits = self.head(v)
        return logits, nnx.softmax(logits)
net = Two(nnx.Rngs(0))
print(optax.softmax_cross_entropy_with_integer_labels(net(x)[0], jnp.array(1)))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, z):
        return self.out(z)
class Auto(nnx.Module):
    def __init__(self, rngs):
        self.mean, self.decoder = nnx.Linear(3, 3, rngs=rngs), Decoder(rngs)
    def __call__(self, v):
        mean = self.mean(v)
        return self.decoder(mean), mean
def loss_fn(net, v):
    logits, mean = net(v)
    return optax.sigmoid_binary_cross_entropy(logits, v).mean() + (mean**2).mean()
print(nnx.grad(loss_fn)(Auto(nnx.Rngs(0)), x))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, z):
        return nnx.sigmoid(self.out(z))
class Auto(nnx.Module):
    def __init__(self, rngs):
        self.mean, self.decoder = nnx.Linear(3, 3, rngs=rngs), Decoder(rngs)
    def __call__(self, v):
        mean = self.mean(v)
        return self.decoder(mean), mean
def loss_fn(net, v):
    shown, mean = net(v)
    return optax.sigmoid_binary_cross_entropy(mean, v).mean() + (shown**2).mean()
print(nnx.grad(loss_fn)(Auto(nnx.Rngs(0)), x))
""",
            """\
def likelihood(params, v, labels):
    chances = jax.nn.softmax(v @ params, axis=-1)
    logs = jax.nn.log_softmax(jnp.log(chances)) + jax.nn.log_softmax(v @ params)
    return -jnp.take_along_axis(logs, labels[:, None], 1).mean()
likelihood(jnp.ones((3, 3)), jnp.ones((2, 3)), jnp.array([0, 1]))
""",
            """\
class Chain:
    def __init__(self, moves, scores):
        self.moves = jnp.asarray(moves)
        self.scores = jnp.asarray(scores)
    def walk(self, z, k):
        k, j = jax.random.split(k)
        return jax.random.categorical(k, jnp.log(self.moves[z])), jax.random.categorical(j, self.scores[z])
chain = Chain([[0.9, 0.1], [0.2, 0.8]], [[0.0, 1.0], [2.0, 1.0]])
print(chain.walk(0, key))
""",
            """\
def resampled(k, weights):
    weights = weights / jnp.sum(weights)
    return jax.random.categorical(k, jnp.log(weights), shape=(3,))
print(resampled(key, x))
""",
            """\
moves = jnp.array([[0.9, 0.1], [0.2, 0.8]])
def walk(keys, z):
    return jax.vmap(jax.random.categorical)(keys, jnp.log(moves[z]))
print(walk(jax.random.split(key, 2), jnp.array([0, 1])))
""",
            """\
def drawn(k, logits):
    k, j = jax.random.split(k)
    scaled = logits / jnp.max(jnp.abs(logits))
    return jax.random.categorical(k, scaled), jax.random.categorical(j, logits / logits.shape[0])
print(drawn(key, x))
""",
            """\
def drawn(k, logits):
    k, j = jax.random.split(k)
    return jax.random.bernoulli(k, jax.nn.sigmoid(logits)), jax.random.choice(j, 3, p=jax.nn.softmax(logits))
print(drawn(key, x))
""",
            """\
def rates(tokens):
    counts = jnp.ones((3, 3)).at[tokens[:-1], tokens[1:]].add(1.0)
    return jnp.log(counts / counts.sum(-1, keepdims=True))
print(jax.random.categorical(key, rates(jnp.array([0, 1, 2]))[0]))
""",
            """\
chances = jnp.array([[0.9, 0.1], [0.2, 0.8]])
scores = jnp.array([0.5, 0.25, 0.0])
def walk(z, k):
    return jax.random.categorical(k, jnp.log(chances[z])), scores
print(walk(0, key)[0].shape)
""",
            """\
scores = jnp.array([0.5, 0.25, 0.0])
print(jax.random.categorical(key, scores).shape)
""",
            """\
import flax.linen as linen
from flax.training.train_state import TrainState
class Classes(linen.Module):
    @linen.compact
    def __call__(self, v):
        return linen.Dense(3)(v)
def start(key, v):
    net = Classes()
    return TrainState.create(apply_fn=net.apply, params=net.init(key, v)["params"], tx=optax.sgd(0.1))
def loss(params, state, v, y):
    out = state.apply_fn({"params": params}, v)
    return optax.softmax_cross_entropy_with_integer_labels(out, y).mean()
print(jax.grad(loss)(start(key, x).params, start(key, x), x[None], jnp.array([1])))
""",
            """\
def loss(net, labels):
    logits = net(x)
    return optax.softmax_cross_entropy(logits, labels), jax.nn.softmax(logits)
""",
            """\
def loss(net, labels):
    return optax.softmax_cross_entropy(jax.nn.log_softmax(net(x)), labels)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.out(nnx.softmax(v))
def loss(net, labels):
    return optax.softmax_cross_entropy(net(x), labels)
loss(Net(nnx.Rngs(0)), x)
""",
            """\
def loss(net, teacher):
    return optax.softmax_cross_entropy(net(x), jax.nn.softmax(teacher(x)))
""",
            """\
def loss(net, labels):
    return -(labels * jnp.log(jax.nn.softmax(net(x)))).sum()
""",
        ),
    ),
    "NNX870": Cases(
        bad=(
            """\
def unit(v, eps=1e-8):
    return v / (eps + jnp.linalg.norm(v))  # NNX870
slope = jax.grad(lambda v: unit(v - 1.0).sum())(x)
""",
            """\
def ratio(v, eps):
    return jnp.where(eps > 0, v / eps, 0.0).sum()  # NNX870
slope = jax.grad(ratio, (0, 1))
""",
            """\
def shares(v, eps=1e-8):
    total = v.sum()
    return jnp.where(total > eps, v / total, 0.0).sum()  # NNX870
slope = jax.grad(shares)(x)
""",
            """\
TINY = 1e-12
def directions(v):
    length = jnp.sum(v * v)
    return jnp.where(length < TINY, 0.0, v / length).sum()  # NNX870
slope = jax.grad(directions)(x)
""",
            """\
def logs(v):
    return jax.lax.select(v > 0, jnp.log(v), jnp.zeros_like(v))  # NNX870
def loss(params):
    return (params * logs(params)).sum()
slope = jax.grad(loss)
""",
            """\
class Sinc(nnx.Module):
    def __init__(self):
        self.scale = nnx.Param(jnp.ones(3))

    def __call__(self, v):
        u = v * self.scale
        return jnp.where(u == 0, 1.0, jnp.sin(u) / u)  # NNX870
def loss(net: Sinc, v):
    return net(v).sum()
def step(net: Sinc, v):
    return nnx.grad(loss)(net, v)
""",
            """\
def reach(v):
    spread = jnp.sqrt(jnp.maximum(v**2 - 1.0, 0.0))  # NNX870
    largest = v + spread
    return v * jnp.ceil(largest) + largest
g = jax.grad(lambda v: reach(v).sum())(x)
""",
            """\
def spread(c, caps, wanted):
    def fix(args):
        c, caps = args
        total = jnp.sum(caps)
        return c + jnp.where(total > 0, caps / total, 0.0)  # NNX870
    return jax.lax.cond(wanted, fix, lambda args: args[0], (c, caps)).sum()
step = jax.grad(spread, argnums=(0, 1))
""",
            """\
def curve(r):
    return jnp.where((r > 0.0) & (r != 2.0), 4.0 / r, 0.0).sum()  # NNX870
step = jax.grad(curve)
""",
            """\
def loss(v):
    return jnp.where(v > 0, jnp.log(v), 0.0).sum()  # NNX870
g = jax.grad(loss)(x)
""",
            """\
def norm(v):
    total = (v ** 2).sum()
    return jnp.where(total == 0, 0.0, jnp.sqrt(total))  # NNX870
def loss(m):
    return norm(m(x))
g = nnx.value_and_grad(loss)(model)
""",
            """\
def loss(w, n):
    empty = n == 0
    return jnp.where(empty, 0.0, w / n).sum()  # NNX870
g = jax.grad(loss)(x, x)
""",
            "g = jax.grad(lambda v: jnp.where(jnp.abs(v) < 1, jnp.arccos(v), 0.0).sum())(x)  # NNX870\n",
            """\
class Radius(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, v):
        total = jnp.sum(self.fc(v) ** 2, axis=-1)
        return jnp.where(total > 0, jnp.sqrt(total), 0.0)  # NNX870
@nnx.jit
def step(net, v):
    def loss_fn(net):
        return net(v).sum()
    return nnx.grad(loss_fn)(net)
step(Radius(nnx.Rngs(0)), x)
""",
            """\
class Radius(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)

    def lengths(self, v):
        out = self.fc(v)
        return jnp.where(out > 0, jnp.sqrt(out), 0.0)  # NNX870
net = Radius(nnx.Rngs(0))
g = nnx.grad(lambda m: m.lengths(x).sum())(net)
""",
            """\
def attend(w, q, v, mask):
    scores = jnp.where(mask, q @ q.T, -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1)
    out = weights @ (v @ w)
    return jnp.where(mask.any(axis=-1, keepdims=True), out, 0.0)  # NNX870
def loss(w, q, v, mask):
    return jnp.sum(attend(w, q, v, mask) ** 2)
jax.grad(loss)(jnp.eye(3), jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.array([[True, True], [False, False]]))
""",
            """\
class Pool:
    def __call__(self, params, tokens, lengths):
        mask = jnp.arange(tokens.shape[1]) < lengths[:, None]
        scores = jnp.where(mask, tokens @ params["q"], -jnp.inf)
        values = tokens @ params["v"]
        out = jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), values)
        return jnp.where(lengths[:, None] > 0, out, 0.0)  # NNX870
pool = Pool()
params = {"q": jnp.ones(3), "v": jnp.eye(3)}
jax.grad(lambda p: pool(p, jnp.ones((2, 4, 3)), jnp.array([3, 0])).sum())(params)
""",
            """\
def pool(params, tokens, length):
    mask = jnp.arange(tokens.shape[0]) < length
    weights = jax.nn.softmax(jnp.where(mask, tokens @ params["query"], -jnp.inf))
    return weights @ tokens
def loss(params, tokens, lengths, y):
    pooled = jax.vmap(pool, in_axes=(None, 0, 0))(params, tokens, lengths)
    each = (pooled @ params["out"] - y) ** 2
    present = lengths > 0
    return jnp.sum(jnp.where(present, each, 0.0))  # NNX870
jax.grad(loss)({"query": jnp.ones(3), "out": jnp.ones(3)}, jnp.ones((2, 4, 3)), jnp.array([3, 0]), jnp.ones(2))
""",
        ),
        clean=(
            """\
from typing import NamedTuple
class Batch(NamedTuple):
    measured: jax.Array
    scale: jax.Array
def make_batch(measured, scale):
    return Batch(jnp.asarray(measured), jnp.abs(scale))
def loss(batch):
    seen = batch.measured
    return jnp.sum((jnp.sqrt(jnp.maximum(seen, 0.0)) - batch.scale) ** 2)
def fit(scale, measured):
    def of(scale):
        batch = make_batch(measured=measured, scale=scale)
        return loss(batch)
    return jax.grad(of)(scale)
fit(jnp.ones(3), jnp.arange(3.0))
""",
            """\
def turned(rotation, v):
    quat = jnp.array([rotation[0], -rotation[1], -rotation[2], -rotation[3]])
    quat = quat / (jnp.linalg.norm(quat) + 1e-12)
    return v + quat[1:] * quat[0]
def loss(rotation, v):
    return turned(rotation, v).sum()
print(jax.grad(loss)(jnp.array([1.0, 0.0, 0.0, 0.0]), x))
""",
            """\
def total_loss(w, v):
    size = jnp.linalg.norm(w)
    total_loss = ((w - v) ** 2).sum()
    return total_loss, {"cosine": (w * v).sum() / (size + 1e-6)}
print(jax.grad(total_loss, has_aux=True)(x, x))
""",
            """\
def loss(v, mask=None):
    terms = v ** 2
    if mask is not None:
        terms = jnp.where(mask, 0.0, terms)
    total = 2.0 * jnp.sum(terms)
    count = jnp.sum(~mask)
    return jnp.where(count > 0, total / count, 0.0)
print(jax.grad(loss)(x, jnp.ones(3, bool)))
""",
            """\
def loss(v, min_sigma):
    sigma = v[0] - v[1]
    weights = jnp.where(sigma < min_sigma, v - (1.0 / sigma - 1.0 / min_sigma) / v.sum(), v)
    return jnp.sum(weights ** 2)
print(jax.grad(loss)(x, 1e-3))
""",
            """\
def step(v, eps):
    r = v / eps
    return jnp.where(v < eps, 3 * r * r - 2 * r * r * r, 1.0).sum()
def soft(v, eps=1e-3):
    return jnp.where(jnp.abs(v) < eps, v * v / eps, jnp.abs(v)).sum()
print(jax.grad(step, (0, 1))(x, 0.1), jax.grad(soft, (0, 1))(x, 1e-3))
""",
            """\
_FLOOR = 1e-25
def size(volume, number, cut, scale):
    kept = jnp.maximum(volume, _FLOOR)
    raw = (kept / jnp.maximum(number, 1.0)) ** 0.5
    return jnp.where(raw > 0.1, scale * (cut / raw) ** 3, volume)
slope = jax.grad(lambda v: size(v, 2.0, 0.1, v))(1.0)
""",
            """\
def capped(mass, rate, low):
    share = mass / 2.0
    return jnp.where(share < low, mass / low, rate)
slope = jax.grad(lambda v: capped(v, v, 0.5))(1.0)
""",
            """\
def misfit(v, fields):
    total = jnp.array(0.0)
    weight = 0.0
    for field in fields:
        if field is None:
            continue
        total = total + 2.0 * (v - field) ** 2
        weight = weight + 2.0
    return jnp.where(weight > 0, total / weight + v, 1e6)
slope = jax.grad(misfit)(1.0, [1.0, None])
""",
            """\
def solved(v, rounds):
    residuals = []
    for _ in range(rounds):
        before = v
        v = 0.5 * v + 0.1
        residual = jnp.linalg.norm(v - before) / (jnp.linalg.norm(v) + 1e-30)
        residuals.append(residual)
    return dict(v=v, residual_history=jnp.asarray(residuals))
slope = jax.grad(lambda v: solved(v, 2)["v"].sum())(x)
""",
            """\
class Radius(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, v):
        total = jnp.sum(self.fc(v) ** 2, axis=-1)
        safe = jnp.where(total > 0, total, 1.0)
        return jnp.where(total > 0, jnp.sqrt(safe), 0.0)
@nnx.jit
def step(net, v):
    def loss_fn(net):
        return net(v).sum()
    return nnx.grad(loss_fn)(net)
step(Radius(nnx.Rngs(0)), x)
""",
            """\
class Radius(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, v):
        return self.fc(v)

    def report(self, v):
        out = self.fc(v)
        return jnp.where(out > 0, jnp.sqrt(out), 0.0)
@nnx.jit
def step(net, v):
    def loss_fn(net):
        return net(v).sum()
    return nnx.grad(loss_fn)(net)
net = Radius(nnx.Rngs(0))
step(net, x)
print(net.report(x))
""",
            """\
class Weighted(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, v, lengths):
        inverse = jnp.where(lengths > 0, 1.0 / lengths, 0.0)
        return self.fc(v) * inverse
def loss_fn(net, v, lengths):
    return net(v, lengths).sum()
g = nnx.grad(loss_fn)(Weighted(nnx.Rngs(0)), x, jnp.zeros(3))
""",
            """\
def step(v):
    norm = jnp.max(jnp.abs(v))
    bound = jnp.where(norm > 0.0, 0.9 / norm, 1.0)
    h = jnp.minimum(1.0, bound)
    h = jax.lax.stop_gradient(jnp.maximum(h, 1e-3))
    def moved(w):
        return w + h
    return moved(v * h).sum()
print(jax.grad(step)(x))
""",
            """\
def rate(v):
    return jnp.where(v >= 1.0, jnp.power(v, 1.2), v).sum()
print(jax.grad(rate)(x))
""",
            """\
class Near:
    def __init__(self, idx):
        self.idx = idx
    def update(self, positions):
        return Near(jnp.argsort(positions[:, 0]))
def shell(positions, near, z):
    rs = positions[near.idx] - positions + z
    size = jnp.linalg.norm(rs + 1.0, axis=1)
    return rs * jnp.where(size > 0.25, 0.25 / size, 1.0)[:, None]
def energy(positions, near):
    near = near.update(positions)
    rs = shell(jax.lax.stop_gradient(positions), near, z=0.5)
    return (positions * rs).sum()
print(jax.grad(energy)(jnp.ones((3, 2)), Near(jnp.arange(3))))
""",
            """\
@jax.custom_jvp
def norm(v):
    return jnp.sqrt(jnp.sum(v**2))
@norm.defjvp
def slope(primals, tangents):
    (v,), (t,) = primals, tangents
    n = norm(v)
    return n, jnp.dot(v, t) / jnp.where(n > 0, n, 1.0)
def unit(v):
    n = norm(v)
    return (v / jnp.where(n > 0, n, 1.0)).sum()
print(jax.grad(unit)(jnp.zeros(3)))
""",
            """\
def ratio(t, s):
    val = jnp.pi * t / s
    return jnp.where(jnp.abs(s) < 1e-8, jnp.nan, val)
def upper(t, s):
    return jnp.where(s > 0, t / s, jnp.inf)
print(jax.grad(ratio, argnums=1)(1.0, 2.0), jax.grad(upper, argnums=1)(1.0, 2.0))
""",
            """\
def down(v, step):
    safe = jnp.isfinite(v) & (step > 0.0)
    q = jnp.floor(v / step)
    return jnp.where(safe, q * step, v)
print(jax.grad(lambda s: down(x * 1.3, s).sum())(0.5), jax.grad(lambda s: down(x, s).sum())(0.0))
""",
            """\
def loss(v):
    spread = jnp.sqrt(jnp.maximum(v**2 - 1.0, 0.0))
    largest = v + spread
    near = jnp.where(v > spread, 1.0, 2.0)
    return (v * jnp.ceil(3.0 * largest) * near).sum() + spread.astype(jnp.int32).sum()
print(jax.grad(loss)(x))
""",
            """\
def bins(v):
    unit = v / (jnp.linalg.norm(v) + 1e-8)
    return (v * jnp.round(unit)).sum()
print(jax.grad(bins)(x))
""",
            """\
def logs(v):
    safe = jax.lax.select(v > 0, v, jnp.ones_like(v))
    return jax.lax.select(v > 0, jnp.log(safe), jnp.zeros_like(v))
def loss(params):
    return (params * logs(params)).sum()
jax.grad(loss)(x)
""",
            """\
class Sinc(nnx.Module):
    def __init__(self):
        self.scale = nnx.Param(jnp.ones(3))

    def __call__(self, v):
        u = v * self.scale
        safe = jnp.where(u == 0, 1.0, u)
        return jnp.where(u == 0, 1.0, jnp.sin(safe) / safe)
def loss(net: Sinc, v):
    return net(v).sum()
def step(net: Sinc, v):
    return nnx.grad(loss)(net, v)
step(Sinc(), x)
""",
            """\
class Masked(nnx.Module):
    def __init__(self):
        self.scale = nnx.Param(jnp.ones(3))
        self.counts = jnp.array([0.0, 1.0, 2.0])

    def __call__(self, v):
        weights = jnp.where(self.counts == 0, 0.0, v / self.counts)
        return weights * self.scale
def loss(net: Masked, v):
    return net(v).sum()
def step(net: Masked, v):
    return nnx.grad(loss)(net, v)
step(Masked(), x)
""",
            """\
def spread(c, caps, left):
    active = caps > 1e-9
    def fix(args):
        c, caps, left, active = args
        share = jnp.where(active, caps, 0.0)
        total = jnp.sum(share)
        return c + jnp.where(total > 0, left * share / total, 0.0)
    found = jnp.logical_and(left > 1e-9, jnp.any(active))
    c = jax.lax.cond(found, fix, lambda args: args[0], (c, caps, left, active))
    return c.sum()
print(jax.grad(spread, argnums=(0, 1))(x, x, 1.0))
""",
            """\
def curve(r):
    near = 4.0 / r**2 - 0.5 / r + 2.0 * r
    small = 3.0 - 2.0 * r**0.001
    return jnp.where((r > 0.01) & (r <= 0.5), near, jnp.where((r > 0.0) & (r <= 0.01), small, 0.0))
print(jax.grad(curve)(0.2))
""",
            """\
def loss(v):
    safe = jnp.where(v > 0, v, 1.0)
    return jnp.where(v > 0, jnp.log(safe), 0.0).sum()
g = jax.grad(loss)(x)
""",
            """\
def loss(v):
    return jnp.where(v > 0, jnp.log(jnp.where(v > 0, v, 1.0)), 0.0).sum()
g = jax.grad(loss)(x)
""",
            """\
def metric(v):
    return jnp.where(v > 0, jnp.log(v), 0.0).sum()
y = metric(x)
""",
            """\
def loss(v):
    return jnp.where(v > 0, v / (1 + v), 0.0).sum() + jnp.where(v > 0, jnp.exp(v), 0.0).sum()
g = jax.grad(loss)(x)
""",
            """\
def loss(v, mask):
    return jnp.where(mask > 0, jnp.log1p(v), 0.0).sum()
g = jax.grad(loss)(x, x)
""",
            """\
def loss(v, scale):
    return (v * jax.lax.stop_gradient(jnp.where(scale > 0, jnp.sqrt(scale), 0.0))).sum()
g = jax.grad(loss)(x, x)
""",
            """\
def attend(w, q, v, mask):
    scores = jnp.where(mask, q @ q.T, -1e9)
    out = jax.nn.softmax(scores, axis=-1) @ (v @ w)
    return jnp.where(mask.any(axis=-1, keepdims=True), out, 0.0)
def loss(w, q, v, mask):
    return jnp.sum(attend(w, q, v, mask) ** 2)
jax.grad(loss)(jnp.eye(3), jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.array([[True, True], [False, False]]))
""",
            """\
def attend(w, q, v, mask):
    weights = jax.nn.softmax(jnp.where(mask, q @ q.T, -jnp.inf), axis=-1)
    weights = jnp.where(mask.any(axis=-1, keepdims=True), weights, 0.0)
    return weights @ (v @ w)
def loss(w, q, v, mask):
    return jnp.sum(attend(w, q, v, mask) ** 2)
jax.grad(loss)(jnp.eye(3), jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.array([[True, True], [False, False]]))
""",
            """\
def attend(q, v, mask):
    weights = jax.nn.softmax(jnp.where(mask, q @ q.T, -jnp.inf), axis=-1)
    out = weights @ v
    return jnp.where(mask.any(axis=-1, keepdims=True), out, 0.0)
def loss(q, v, mask):
    return jnp.sum(attend(q, v, mask) ** 2)
jax.grad(loss)(jnp.ones((2, 3)), jnp.ones((2, 3)), jnp.array([[True, True], [False, False]]))
""",
            """\
def pool(params, tokens, length):
    mask = jnp.arange(tokens.shape[0]) < length
    weights = jax.nn.softmax(jnp.where(mask, tokens @ params["query"], -1e9))
    return weights @ tokens
def loss(params, tokens, lengths, y):
    pooled = jax.vmap(pool, in_axes=(None, 0, 0))(params, tokens, lengths)
    each = (pooled @ params["out"] - y) ** 2
    return jnp.sum(jnp.where(lengths > 0, each, 0.0))
jax.grad(loss)({"query": jnp.ones(3), "out": jnp.ones(3)}, jnp.ones((2, 4, 3)), jnp.array([3, 0]), jnp.ones(2))
""",
            """\
def pool(params, tokens, length):
    mask = jnp.arange(tokens.shape[0]) < length
    weights = jax.nn.softmax(jnp.where(mask, tokens @ params["query"], -jnp.inf))
    return weights @ tokens
def loss(params, tokens, lengths, y):
    pooled = jax.vmap(pool, in_axes=(None, 0, 0))(params, tokens, lengths)
    each = jnp.where(y > 0, pooled @ params["out"] - y, 0.0)
    return jnp.sum(each**2)
jax.grad(loss)({"query": jnp.ones(3), "out": jnp.ones(3)}, jnp.ones((2, 4, 3)), jnp.array([3, 1]), jnp.ones(2))
""",
        ),
    ),
    "NNX871": Cases(
        bad=(
            """\
def advance(state, tx, grads):
    updates, moments = tx.update(grads, state.opt_state, state.params)  # NNX871
    return state._replace(params=optax.apply_updates(state.params, updates))
""",
            """\
import dataclasses
def advance(state, grads):
    updates, new_state = state.tx.update(grads, state.opt_state, state.params)  # NNX871
    params = optax.apply_updates(state.params, updates)
    new = dataclasses.replace(state, step=state.step + 1, params=params)
    if state.decay is not None:
        new = dataclasses.replace(new, average=jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, state.average, params))
    return new, optax.global_norm(grads)
""",
            """\
def objective(model, x):
    return (model(x) ** 2).mean()
@nnx.jit
def advance(model, optimizer: nnx.Optimizer, x):
    loss, grads = nnx.value_and_grad(objective)(model, x)  # NNX871
    return grads, loss
_, loss = advance(model, optimizer, x)
""",
            """\
@nnx.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)  # NNX871
""",
            """\
tx = optax.adam(0.1)
w = jnp.zeros(4)
state = tx.init(w)
for batch in batches:
    grads = jax.grad(lambda w: jnp.mean((batch[0] @ w) ** 2))(w)
    updates, state = tx.update(grads, state, w)  # NNX871
print(w)
""",
            """\
tx = optax.adam(1e-3)
@jax.jit
def step(params, opt_state, grads):
    updates, new_state = tx.update(grads, opt_state, params)  # NNX871
    return optax.apply_updates(params, updates), opt_state
""",
            """\
class Trainer:
    def __init__(self, params):
        self.params = params
        self.tx = optax.adam(1e-3)
        self.opt_state = self.tx.init(params)

    def step(self, grads):
        updates, opt_state = self.tx.update(grads, self.opt_state, self.params)  # NNX871
        self.params = optax.apply_updates(self.params, updates)
""",
            """\
tx = optax.adam(0.1)
def step(params, state, grads):
    updates, state = tx.update(grads, state)  # NNX871
    return params, state
""",
            """\
def fit(params, grads):
    tx = optax.adam(0.1)
    opt_state = tx.init(params)
    for _ in range(3):
        updates, _ = tx.update(grads, opt_state, params)  # NNX871
        params = optax.apply_updates(params, updates)
    return params
""",
            """\
class Trainer:
    def __init__(self, tx):
        self.tx = tx
    def step(self, params, opt_state, grads):
        updates, new_state = self.tx.update(grads, opt_state)  # NNX871
        return new_state
""",
        ),
        clean=(
            """\
from typing import Any, NamedTuple
class State(NamedTuple):
    params: Any
    opt_state: Any
def advance(state, tx, grads):
    updates, moments = tx.update(grads, state.opt_state, state.params)
    state = state._replace(params=optax.apply_updates(state.params, updates))
    return state._replace(opt_state=moments)
tx = optax.adam(0.1)
print(advance(State(x, tx.init(x)), tx, x).params)
""",
            """\
from typing import Any, NamedTuple
class State(NamedTuple):
    params: Any
    opt_state: Any
def tried(state, tx, grads):
    updates, unused = tx.update(grads, state.opt_state, state.params)
    return optax.apply_updates(state.params, updates)
tx = optax.adam(0.1)
print(tried(State(x, tx.init(x)), tx, x))
""",
            """\
def objective(model, x):
    return (model(x) ** 2).mean()
@nnx.jit
def measured(model, optimizer: nnx.Optimizer, x):
    loss, grads = nnx.value_and_grad(objective)(model, x)
    return grads, loss
grads, loss = measured(model, optimizer, x)
optimizer.update(model, grads)
""",
            """\
def shapes(model, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    return jax.tree.map(jnp.shape, grads)
print(shapes(model, x))
def warm_up(model, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
warm_up(model, x)
""",
            """\
tx = optax.adam(0.1)
w = jnp.zeros(4)
state = tx.init(w)
for row in x:
    grads = jax.grad(lambda w: jnp.mean((row * w) ** 2))(w)
    updates, state = tx.update(grads, state, w)
def moved():
    return optax.apply_updates(w, updates)
print(moved())
""",
            """\
def step(params, state, tx, v):
    grads = jax.grad(lambda p: jnp.sum((p * v) ** 2))(params)
    updates, state = tx.update(grads, state); params = optax.apply_updates(params, updates)
    return params, state
tx = optax.sgd(0.1)
print(step(x, tx.init(x), tx, x))
""",
            """\
tx = optax.adam(0.1)
def begun(params):
    fake_updates = jax.tree.map(jnp.zeros_like, params)
    _, state = tx.update(fake_updates, tx.init(params), params)
    return state
print(begun(x))
""",
            """\
ema = optax.chain(optax.ema(0.9))
def averaged(params, state):
    _, new = ema.update(params, state)
    return new[0].ema, new
print(averaged({"w": x}, ema.init({"w": x}))[0])
""",
            """\
tx = optax.adam(1e-3)
@jax.jit
def step(params, opt_state, grads):
    updates, new_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), new_state
@jax.jit
def tried(params, opt_state, grads):
    updates, _ = tx.update(grads, opt_state, params)
    return optax.global_norm(updates), opt_state
step(x, tx.init(x), x)
tried(x, tx.init(x), x)
""",
            """\
class Trainer:
    def __init__(self, params):
        self.params = params
        self.tx = optax.adam(1e-3)
        self.opt_state = self.tx.init(params)

    def step(self, grads):
        updates, self.opt_state = self.tx.update(grads, self.opt_state, self.params)
        self.params = optax.apply_updates(self.params, updates)

    def tried(self, grads):
        updates, _ = self.tx.update(grads, self.opt_state, self.params)
        return optax.apply_updates(self.params, updates)
trainer = Trainer(x)
trainer.step(x)
trainer.tried(x)
""",
            """\
tx = optax.adam(0.1)
def step(params, state, grads):
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state
step(x, tx.init(x), x)
""",
            """\
def fit(params, grads):
    tx = optax.sgd(0.1)
    opt_state = tx.init(params)
    for _ in range(3):
        updates, _ = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
    return params
fit(x, x)
""",
            """\
def direction(grads):
    tx = optax.adam(0.1)
    updates, _ = tx.update(grads, tx.init(grads))
    return updates
direction(x)
""",
            """\
def fit(params, grads):
    tx = optax.adam(0.1)
    state = tx.init(params)
    for _ in range(3):
        updates, state = tx.update(grads, state, params)
        params = optax.apply_updates(params, updates)
    return params
fit(x, x)
""",
            """\
class Trainer:
    def __init__(self, decay):
        self.optimizer = optax.adam(1e-3)
        self.ema = optax.ema(decay)
    def step(self, params, opt_state, ema_state, grads):
        updates, opt_state = self.optimizer.update(grads, opt_state, params)
        new = optax.apply_updates(params, updates)
        _, ema_state = self.ema.update(new, ema_state)
        return new, opt_state, ema_state
""",
            """\
tracker = optax.ema(0.9)
def follow(params, state):
    mean, state = tracker.update(params, state)
    return state
y = follow(x, tracker.init(x))
""",
        ),
    ),
    "NNX743": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
@nnx.jit
def score(net, v):
    return net(v).sum()
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
        self.learn = nnx.cached_partial(learn, self.net, self.opt)
        self.score = nnx.cached_partial(score, self.net)  # NNX743
    def fit(self):
        self.net.train()
        for batch in batches:
            self.learn(batch)
    def evaluate(self):
        self.net.eval()
        for batch in batches:
            print(self.score(batch))
trainer = Trainer(Net(nnx.Rngs(0)))
trainer.fit()
trainer.evaluate()
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
@nnx.jit
def score(net, v):
    return net(v).sum()
def run(net, opt):
    fast_learn = nnx.cached_partial(learn, net, opt)
    fast_score = nnx.cached_partial(score, net)  # NNX743
    for batch in batches:
        net.train()
        fast_learn(batch)
        net.eval()
        print(fast_score(batch))
net = Net(nnx.Rngs(0))
run(net, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param))
""",
            _TAKEN_APART.replace("    copied.eval()\n", "").replace("nnx.split(net)", "nnx.split(net)  # NNX743"),
            # by a function that evaluates
            _TAKEN_APART.replace("nnx.split(net)", "nnx.split(net)  # NNX743").replace(
                _MERGED,
                "    return evaluate(graphdef, state, v)\n",
            ),
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.drop(self.fc(v)) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
fast = nnx.cached_partial(predict, net)  # NNX743
net.eval()
print(fast(x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.drop(self.fc(v)) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def main():
    net = Net(nnx.Rngs(0))
    opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    step = nnx.cached_partial(train_step, net, opt)
    evaluate = nnx.cached_partial(predict, net)  # NNX743
    for epoch in range(2):
        net.train()
        for v in batches:
            step(v)
        net.eval()
        for v in batches:
            print(evaluate(v))
main()
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.drop(self.fc(v)) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
net.eval()
fast = nnx.cached_partial(train_step, net, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param))  # NNX743
net.train()
for v in batches:
    fast(v)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.fc(v) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
fast = nnx.cached_partial(predict, net)  # NNX743
print(fast(x))
net.gain = 0.5
print(fast(x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.fc(v) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
fast = nnx.cached_partial(predict, net)  # NNX743
net.fc = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
print(fast(x))
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
@nnx.jit
def score(net, v):
    return net(v).sum()
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
        self.learn = nnx.cached_partial(learn, self.net, self.opt)
    def fit(self):
        self.net.train()
        for batch in batches:
            self.learn(batch)
    def evaluate(self):
        self.net.eval()
        fast = nnx.cached_partial(score, self.net)
        for batch in batches:
            print(fast(batch))
trainer = Trainer(Net(nnx.Rngs(0)))
trainer.fit()
trainer.evaluate()
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
@nnx.jit
def score(net, v):
    return net(v).sum()
class Trainer:
    def __init__(self, net):
        net.eval()
        self.net = net
        self.opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
        self.score = nnx.cached_partial(score, self.net)
    def fit(self):
        for batch in batches:
            print(batch)
    def evaluate(self):
        self.net.eval()
        for batch in batches:
            print(self.score(batch))
trainer = Trainer(Net(nnx.Rngs(0)))
trainer.fit()
trainer.evaluate()
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
@nnx.jit
def score(net, v):
    return net(v).sum()
def run(net, opt):
    fast_score = nnx.cached_partial(score, net)
    for batch in batches:
        net.eval()
        print(fast_score(batch))
net = Net(nnx.Rngs(0))
run(net, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.lin(v))
@nnx.jit
def learn(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
@nnx.jit
def score(net, v):
    return net(v).sum()
def run(net, opt):
    fast_learn = nnx.cached_partial(learn, net, opt)
    net.train()
    for batch in batches:
        fast_learn(batch)
    net.eval()
    fast_score = nnx.cached_partial(score, net)
    for batch in batches:
        print(fast_score(batch))
net = Net(nnx.Rngs(0))
run(net, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param))
""",
            # the mode is set before, again, or of what is merged
            _TAKEN_APART,
            _TAKEN_APART.replace("    copied.eval()\n", "")
            .replace("    net.eval()\n", "")
            .replace("    graphdef, state", "    net.eval()\n    graphdef, state"),
            _TAKEN_APART.replace("nnx.merge(graphdef, state)\n", "net\n"),
            # the function sets it; training goes on behind an evaluation
            _TAKEN_APART.replace(
                _MERGED,
                "    return evaluate(graphdef, state, v)\n",
            ).replace(
                "    return nnx.merge(graphdef, state)(v)\n",
                "    net = nnx.merge(graphdef, state)\n    net.eval()\n    return net(v)\n",
            ),
            _TAKEN_APART.replace(
                _MERGED,
                "    first = net(v)\n    return first, train(graphdef, state, v)\n",
            ).replace("def evaluate", "def train"),
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.drop(self.fc(v)) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
net.eval()
fast = nnx.cached_partial(predict, net)
net.eval()
print(fast(x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.drop(self.fc(v)) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
step = nnx.cached_partial(train_step, net, opt)
for epoch in range(2):
    net.train()
    for v in batches:
        step(v)
    net.eval()
    print(predict(net, x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.fc(v) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
fast = nnx.cached_partial(predict, net)
net.fc.kernel[...] = jnp.zeros((3, 3))
net.note = "zeros"
print(fast(x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.drop(self.fc(v)) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
fast = nnx.cached_partial(predict, net)
print(fast(x))
net.eval()
net.gain = 0.5
print(predict(net, x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.drop(self.fc(v)) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
fast = nnx.cached_partial(predict, model)
model.eval()
print(fast(x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.gain = 1.0
        self.note = ""
    def __call__(self, v):
        return self.drop(self.fc(v)) * self.gain
@nnx.jit
def predict(net, v):
    return net(v)
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
net = Net(nnx.Rngs(0))
fast = partial(predict, net)
net.eval()
print(fast(x))
""",
        ),
    ),
}

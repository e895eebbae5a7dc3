"""Cases of rules about trees of arrays: what maps over them give, and how they are rebuilt."""

from __future__ import annotations

from tests.lint.tables import Cases

CASES = {
    "NNX523": Cases(
        bad=(
            """\
params = {i: jnp.ones((3, 3)) for i in range(2)}
params["out"] = x
print(jax.tree.map(jnp.shape, params))  # NNX523
""",
            """\
class Net:
    def __init__(self):
        self.params = {}
        for i in range(3):
            self.params[i] = jnp.ones((3, 3))
        self.params["head"] = x
    def slopes(self, v):
        return jax.grad(lambda p: (p[0] @ v).sum())(self.params)  # NNX523
print(Net().slopes(x))
""",
            """\
def layers(widths):
    net = {"scale": x}
    for i, (m, n) in enumerate(zip(widths[:-1], widths[1:])):
        net[i] = {"w": jnp.ones((m, n)), "b": jnp.zeros(n)}
    return net
def main():
    net = layers([1, 2, 3])
    state = optax.adam(1e-3).init(net)  # NNX523
    return state
main()
""",
            """\
@jax.jit
def told(v):
    return {"mean": v.mean(), 0: v.sum()}  # NNX523
print(told(x))
edges = {(0, 1): x, "bias": x}
def energy(p, v):
    return (p["bias"] * v).sum()
print(jax.value_and_grad(energy)(edges, x))  # NNX523
""",
            """\
groups = dict(first=x)
groups[None] = x
print(jax.device_put(groups))  # NNX523
whole = {**groups, "second": x}
print(jax.lax.scan(lambda c, _: (c, None), whole, None, 2))  # NNX523
""",
            """\
def step(params, v):
    return params[0] * v
held = {0: x, "n": x}
print(jax.jit(step)({"x": held, "y": x}, x))  # NNX523
print(jax.vmap(lambda p, v: p[0] * v, in_axes=(None, 0))(held, x))  # NNX523
""",
        ),
        clean=(
            """\
from collections import OrderedDict
both = {0: x, "out": x}
print(jax.jit(lambda v: v * both[0])(x), jax.grad(lambda v: (v * both[0] @ both["out"]).sum())(x))
print(jax.tree.map(jnp.sum, OrderedDict(both)), jax.tree.map(jnp.sum, list(both.values())))
print(jax.tree.map(jnp.sum, {str(k): v for k, v in both.items()}), jax.tree.map(jnp.sum, {0: x, 1.5: x, True: x}))
""",
            """\
params = {}
for i in range(3):
    params[i] = x
params = {f"layer{i}": v for i, v in params.items()}
params["out"] = x
print(jax.tree.map(jnp.sum, params))
""",
            """\
both = {0: x, "n": 3}
n = both.pop("n")
print(n, jax.tree.map(jnp.sum, both))
one = {0: x, "n": 3}
del one["n"]
print(jax.tree.map(jnp.sum, one))
""",
            """\
def filled(flag):
    params = {"a": x}
    if flag:
        params[0] = x
    return params
print(jax.tree.map(jnp.sum, filled(False)))
def chosen(flag):
    params = {"a": x}
    if flag:
        params = {0: x}
    return params
print(jax.tree.map(jnp.sum, chosen(True)))
""",
            """\
last = {0: x}
for _ in range(3):
    last = {"a": x}
print(jax.tree.map(jnp.sum, last))
""",
            """\
def built(names):
    params = {}
    for name in names:
        params[name] = x
    params["out"] = x
    return params
print(jax.tree.map(jnp.sum, built(["a", "b"])))
@jax.jit
def inner(v):
    local = {0: v, "a": v}
    return local[0] + local["a"]
print(inner(x))
""",
            """\
both = {0: x, "out": x}
print(jax.tree.map(lambda one: one, both, is_leaf=lambda one: isinstance(one, dict))["out"])
""",
        ),
    ),
    "NNX670": Cases(
        bad=(
            """\
def one(p, v):
    return p - v, 0.9 * v
def steps(w, v):
    w, v = jax.tree.map(one, w, v)  # NNX670
    return w, v
print(steps((jnp.ones(2), jnp.ones(3)), (jnp.ones(2), jnp.ones(3))))
""",
            """\
def one(p, v, g):
    v = 0.9 * v + g
    return p - 0.1 * v, v
def update(params, velocity, grads):
    new = jax.tree.map(lambda p, v, g: one(p, v, g), params, velocity, grads)
    params, velocity = new  # NNX670
    return params, velocity
""",
            """\
def rates(p, lr):
    return p * lr, lr
def scaled(p):
    return rates(p, 0.1)
moved, used = jax.tree.map(scaled, {"w": jnp.zeros(2), "b": jnp.zeros(())})  # NNX670
""",
            """\
def update(params, velocity, grads):
    def one(p, v, g):
        v = 0.9 * v + g
        return p - 0.1 * v, v
    both = jax.tree.map(one, params, velocity, grads)
    new = jax.tree.map(lambda pair: pair[0], both)  # NNX670
    return new, jax.tree.map(lambda pair: pair[1], both, is_leaf=lambda n: isinstance(n, tuple))
""",
            """\
def first(pair):
    return pair[0]
def halves(params):
    return jax.tree_util.tree_map(first, jax.tree_util.tree_map(lambda p: (p / 2, p), params))  # NNX670
""",
            """\
def split(p):
    return p[:1], p[1:]
def rests(weights):
    parts = jax.tree.map(split, weights)
    return jax.tree.map(lambda p: p[-1], parts)  # NNX670
""",
            """\
def moved(params, velocity, grads):
    def one(p, v, g):
        v = 0.9 * v + g
        return p - 0.1 * v, v
    return jax.tree.map(one, params, velocity, grads)
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
velocity = jax.tree.map(jnp.zeros_like, params)
params, velocity = moved(params, velocity, params)  # NNX670
""",
            """\
def update(params, velocity, grads):
    def one(p, v, g):
        v = 0.9 * v + g
        return p - 0.1 * v, v
    params, velocity = jax.tree.map(one, params, velocity, grads)  # NNX670
    return params, velocity
""",
            """\
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
grads = jax.tree.map(jnp.ones_like, params)
moved, kept = jax.tree.map(lambda p, g: (p - g, g), params, grads)  # NNX670
""",
            """\
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
grads = jax.tree.map(jnp.ones_like, params)
pairs = jax.tree_util.tree_map(lambda p, g: (p - g, g), params, grads)
moved, kept = pairs  # NNX670
""",
            """\
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
grads = jax.tree.map(jnp.ones_like, params)
def one(p, g):
    if p.ndim > 0:
        return p - g, g
    return p, g
moved = jax.tree.map(one, params, grads)[0]  # NNX670
""",
            """\
def scaled(grads, mu, nu):
    def one(g, m, n):
        m, n = 0.9 * m + 0.1 * g, 0.99 * n + 0.01 * g**2
        return m / jnp.sqrt(n), m, n
    updates, mu, nu = jax.tree.map(one, grads, mu, nu)  # NNX670
    return updates, mu, nu
""",
        ),
        clean=(
            """\
def one(p, v):
    return p - v, 0.9 * v
def steps(w, v):
    w, v = jax.tree.map(one, w, v)
    return w, v
first, second = jax.tree.map(lambda a: (a, 2 * a), (1.0, 2.0))
print(steps(jnp.ones(2), jnp.ones(2)), first, second)
""",
            """\
def one(p, g):
    return p - 0.1 * g, g
def update(params, grads):
    new = jax.tree.map(lambda p, g: one(p, g)[0], params, grads)
    return new
print(update({"w": x}, {"w": x}))
""",
            """\
def one(p, g):
    return p - 0.1 * g, g
pairs = jax.tree.map(lambda p, g: one(p, g), (x, x), (x, x))
first, second = pairs
print(first[0], second[1])
""",
            """\
def one(p, g):
    return jnp.stack([p, g])
def pair(p, g):
    return one(p, g)
grads = {"w": x, "b": x}
names = jax.tree.map(lambda p, g: pair(p, g), grads, grads)
first, second = names
print(first, second)
""",
            """\
def halves(params):
    both = jax.tree.map(lambda p: (p / 2, p), params)
    return jax.tree.map(lambda pair: pair[0], both, is_leaf=lambda n: isinstance(n, tuple))
print(halves({'w': x}))
""",
            """\
def rows(params):
    return jax.tree.map(lambda p: p[0], params)
print(rows({'w': x}))
""",
            """\
def chosen(params):
    both = jax.tree.map(lambda p: (p / 2, p), params)
    return jax.tree.map(lambda _, pair: pair[0], params, both)
print(chosen({'w': x}))
""",
            """\
def doubled(params):
    twice = jax.tree.map(lambda p: jnp.stack([p, p]), params)
    return jax.tree.map(lambda p: p[0], twice)
print(doubled({'w': x}))
""",
            """\
def scaled(trees):
    return jax.tree.map(lambda v: (v, 2 * v), trees)
one, two = scaled((x, x))
print(one, two)
""",
            """\
def moved(params, grads):
    return jax.tree.map(lambda p, g: p - g, params, grads)
weight, bias = moved((x, x), (x, x))
print(weight, bias)
""",
            """\
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
grads = jax.tree.map(jnp.ones_like, params)
pairs = jax.tree.map(lambda p, g: (p - g, g), params, grads)
moved, kept = jax.tree.transpose(jax.tree.structure(params), jax.tree.structure((0, 0)), pairs)
print(moved, kept, pairs["w"][0])
""",
            """\
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
grads = jax.tree.map(jnp.ones_like, params)
pairs = jax.tree.map(lambda p, g: (p - g, g), params, grads)
moved = jax.tree.map(lambda pair: pair[0], pairs, is_leaf=lambda one: isinstance(one, tuple))
kept = jax.tree.map(lambda pair: pair[1], pairs, is_leaf=lambda one: isinstance(one, tuple))
print(moved, kept)
""",
            """\
low, high = jax.tree.map(lambda v: (v - 1, v + 1), (x, 2 * x))
print(low, high)
""",
            """\
both = [x, 2 * x]
one, two = jax.tree.map(lambda v: (v.min(), v.max()), both)
print(one, two, jax.tree.map(lambda v: (v, v), both)[0])
""",
            """\
params = {"w": jnp.zeros(2), "b": jnp.zeros(())}
grads = jax.tree.map(jnp.ones_like, params)
bias, weight = jax.tree.leaves(jax.tree.map(lambda p: p + 1, params))
print(bias, weight)
""",
            """\
def halves(batch):
    images, labels = jax.tree.map(lambda v: (v[:1], v[1:]), batch)
    return images, labels
print(halves((x, x)))
""",
            """\
def moved(actor_critic):
    actor, critic = jax.tree.map(lambda v: v + 1, actor_critic)
    return actor, critic
print(moved((x, x)))
""",
        ),
    ),
    "NNX672": Cases(
        bad=(
            """\
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        assert corners.ndim > 1  # NNX672
        self.corners = corners
    def tree_flatten(self):
        return (self.corners,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
boxes = Boxes(jnp.zeros((2, 4)))
shapes = jax.tree.map(jnp.shape, boxes)
""",
            """\
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        if corners.ndim < 2:  # NNX672
            raise ValueError(corners.shape)
        self.corners = corners
    def tree_flatten(self):
        return (self.corners,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
from jax.sharding import PartitionSpec
def specs(n):
    boxes = Boxes(jnp.zeros((n, 4)))
    return jax.tree.map(lambda leaf: PartitionSpec("data"), boxes)
""",
            """\
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Points:
    place: jax.Array
    def __post_init__(self):
        if self.place.shape[-1] != 3:  # NNX672
            raise ValueError("three numbers each")
total = jax.jit(lambda points: points.place.sum())
lowered = total.lower(Points(jnp.zeros((5, 3))))
""",
            """\
class Cell:
    def __init__(self, sides):
        assert sides.shape == (3,)  # NNX672
        self.sides = sides
jax.tree_util.register_pytree_node(Cell, lambda cell: ((cell.sides,), None), lambda _, parts: Cell(*parts))
empty = jax.tree_util.tree_map(lambda leaf: None, Cell(x))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Gaussian:
    def __init__(self, mean, scale):
        self.mean = jnp.asarray(mean)  # NNX672
        self.scale = jnp.asarray(scale)
    def tree_flatten(self):
        return (self.mean, self.scale), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
dtypes = jax.tree.map(lambda leaf: leaf.dtype, Gaussian(x, x))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Walkers:
    def __init__(self, places):
        self.places = jnp.array(places, jnp.float32)  # NNX672
    def tree_flatten(self):
        return (self.places,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(children[0])
def begin(k):
    return Walkers(jax.random.normal(k, (4, 3)))
wanted = jax.eval_shape(begin, key)
""",
        ),
        clean=(
            """\
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        assert corners.ndim > 1
        self.corners = corners
    def tree_flatten(self):
        return (self.corners,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        boxes = object.__new__(cls)
        boxes.corners = children[0]
        return boxes
boxes = Boxes(jnp.zeros((2, 4)))
print(jax.tree.map(jnp.shape, boxes).corners)
""",
            """\
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        assert corners.ndim > 1
        self.corners = corners
    def tree_flatten(self):
        return (self.corners,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
boxes = Boxes(jnp.zeros((2, 4)))
print(jax.tree.map(lambda leaf: 2 * leaf, boxes).corners, jax.jit(lambda b: b.corners.sum())(boxes))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        if isinstance(corners, jax.Array):
            assert corners.ndim > 1
        self.corners = corners
    def tree_flatten(self):
        return (self.corners,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
boxes = Boxes(jnp.zeros((2, 4)))
print(jax.tree.map(jnp.shape, boxes).corners)
""",
            """\
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        assert corners is not False
        self.corners = corners
    def tree_flatten(self):
        return (self.corners,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
boxes = Boxes(jnp.zeros((2, 4)))
print(jax.tree.map(jnp.shape, boxes).corners)
""",
            """\
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        if hasattr(corners, 'ndim') and corners.ndim < 2:
            raise ValueError(corners)
        self.corners = corners
    def tree_flatten(self):
        return (self.corners,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
boxes = Boxes(jnp.zeros((2, 4)))
print(jax.tree.map(lambda leaf: leaf.size, boxes).corners)
""",
            """\
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        assert corners.ndim > 1
        self.corners = corners
    def tree_flatten(self):
        return (self.corners,), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
boxes = Boxes(jnp.zeros((2, 4)))
print(jax.tree.map(jnp.shape, {"a": x}), boxes.corners, "A".lower())
""",
            """\
@jax.tree_util.register_pytree_node_class
class Gaussian:
    def __init__(self, mean, scale):
        self.mean = jnp.asarray(mean)
        self.scale = jnp.asarray(scale)
    def tree_flatten(self):
        return (self.mean, self.scale), None
    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)
def density(q, v):
    return -(((v - q.mean) / q.scale) ** 2).sum()
q = jax.tree.map(lambda leaf: 2 * leaf, Gaussian(x, x))
print(jax.grad(density)(q, x).mean, jax.jit(density)(q, x), jax.eval_shape(density, q, x))
""",
        ),
    ),
}

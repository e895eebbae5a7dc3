"""Comparisons, numbers, loops and optimizers that do something else than they seem to."""

from __future__ import annotations

from tests.lint.tables import Cases

_GENERATOR = "def parts(v):\n    for i in range(0, 3):\n        yield v[i]\n"
_SHARDED = """\
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ("data",))
"""
_PREPARED = _SHARDED + "mapped = partial(jax.shard_map, mesh=mesh, check_vma=False)\n"
_CARRY = "def body(c):\n    return c[1], c[1] * 0.5\n"

_MESH = """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model"))
init = nnx.with_partitioning(nnx.initializers.lecun_normal(), (None, "model"))
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 4, kernel_init=init, rngs=rngs)
    def __call__(self, x):
        return self.out(x)
"""

_RING = (
    "class Ring:\n    def __init__(self, rows):\n        self.rows = rows\n        self.data = jnp.zeros((rows, 2))\n"
    "        self.place = self.size = 0\n    def push(self, x):\n"
)

_TABLE = (
    "@jax.tree_util.register_pytree_node_class\nclass Table:\n    def __init__(self, a, m, n):\n"
    "        self.a, self.m, self.n = a, m, n\n"
)
_UNFLATTEN = (
    "    @classmethod\n    def tree_unflatten(cls, aux, children):\n        return cls(*children, *aux)\n"
    "read = jax.jit(lambda table: table.a.sum() + table.m[0])\n"
)

_ALL_AUX = """\
@jax.tree_util.register_pytree_node_class
class Table:
    def __init__(self, raw):
        self.m = raw.mean(axis=0)
        self.n = raw.std(axis=0)
    def at(self, i):
        return self.m[i] + self.n[i]
    def tree_flatten(self):
        aux = (self.m, self.n)  # NNX772
        return (), aux
    @classmethod
    def tree_unflatten(cls, aux, children):
        made = object.__new__(cls)
        made.m, made.n = aux
        return made
"""

_WEIGHTS = "weights = {'w': x, 'b': 2.0 * x}\nleaves, structure = jax.tree.flatten(weights)\n"

_LOSS = "def loss(w, v):\n    return jnp.mean((w * v - 1.0) ** 2)\n"
_UNCHECKED = (
    '@jax.jit\n@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data")), out_specs=(P(), P()), check_vma=False)\n'
)
_SETTINGS = """\
from dataclasses import dataclass, field, replace
@dataclass(frozen=True)
class Settings:
    size: int
    scale: float = field(default=1.0, compare=False)
    label: str = field(default="", compare=False)
"""
_SCALED = "@partial(jax.jit, static_argnums=0)\ndef scaled(s, x):\n    return s.scale * x  # NNX747\n"
CASES = {
    "NNX797": Cases(
        bad=(
            """\
class Norms:
    def __init__(self, params):
        self.names = list(params)
    def __call__(self, grads):
        sizes = [jnp.sum(leaf) for leaf in jax.tree.leaves(grads)]
        return dict(zip(self.names, sizes))  # NNX797
params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
Norms(params)(jax.grad(lambda p: jnp.sum(p["w"] * x + p["b"]))(params))
""",
            """\
def named(names, tree):
    return {name: jnp.sum(leaf) for name, leaf in zip(names, jax.tree.leaves(tree))}  # NNX797
params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
named(params.keys(), params)
""",
            """\
from jax.flatten_util import ravel_pytree
params = {'weights': jnp.zeros(3), 'bias': jnp.zeros(())}
def mode(objective):
    theta, unravel = ravel_pytree(params)
    step = theta - 0.1 * jax.grad(objective)(theta)
    weights, bias = step[:3], step[3]  # NNX797
    return weights, bias
""",
            """\
from jax.flatten_util import ravel_pytree
def begin():
    return {'slope': jnp.ones(2), 'offset': jnp.zeros(1)}
flat, back = ravel_pytree(begin())
slope = flat[:2]  # NNX797
offset = flat[-1]  # NNX797
""",
            """\
def begun(key, n):
    return {"weight": jax.random.normal(key, (n, n)), "bias": jnp.zeros((n, n))}
def applied(layer, v):
    w, b = jax.tree.leaves(layer)  # NNX797
    return v @ w + b
print(applied(begun(key, 3), x))
""",
            """\
layer = {"scale": jnp.ones(3), "bias": jnp.zeros(3)}
(scale, bias), treedef = jax.tree.flatten(layer)  # NNX797
leaves, _ = jax.tree.flatten(layer)
scale, bias = [leaf.astype(jnp.float32) for leaf in leaves]  # NNX797
""",
            """\
@jax.jit
def predict(params, v):
    w, b = params.values()  # NNX797
    return v @ w + b
print(predict({"w": jnp.ones((3, 3)), "b": jnp.zeros((3, 3))}, x))
""",
            """\
def loss(params, v):
    w, b = params.values()  # NNX797
    return jnp.sum(v * w + b)
print(jax.grad(loss)({"w": jnp.ones(3), "b": jnp.zeros(3)}, x))
""",
            """\
LAYERS = ["embed", "attn", "head"]
def init(key):
    return {name: jax.random.normal(k, (3,)) for name, k in zip(LAYERS, jax.random.split(key, 3))}
grads = jax.grad(lambda p: sum(jnp.sum(v**2) for v in p.values()))(init(key))
for name, leaf in zip(LAYERS, jax.tree.leaves(grads)):  # NNX797
    print(name, leaf.sum())
""",
            """\
NAMES = ("w", "b")
params = dict(zip(NAMES, (jnp.ones(3), jnp.zeros(3))))
print(dict(zip(NAMES, [leaf.sum() for leaf in jax.tree.leaves(params)])))  # NNX797
""",
            """\
def init(key):
    params = {}
    for name, size in zip(["stem", "body", "head"], (4, 3, 2)):
        key, sub = jax.random.split(key)
        params[name] = jax.random.normal(sub, (size,))
    return params
@jax.jit
def grads_of(params):
    return jax.grad(lambda p: sum(jnp.sum(v**2) for v in p.values()))(params)
def report(grads):
    for name, leaf in zip(("stem", "body", "head"), jax.tree.leaves(grads)):  # NNX797
        print(name, leaf.shape)
report(grads_of(init(key)))
""",
            """\
params = {}
for name in ("w_in", "w_hid", "b"):
    params[name] = jnp.ones(3)
for name, leaf in zip(params.keys(), jax.tree.leaves(params)):  # NNX797
    print(name, leaf.sum())
""",
            """\
def run():
    params = {}
    params["w"] = jnp.ones(3)
    params["b"] = jnp.zeros(3)
    norms = [jnp.linalg.norm(leaf) for leaf in jax.tree.leaves(params)]
    return dict(zip(["w", "b"], norms))  # NNX797
run()
""",
            "def loss(p, v):\n    return jnp.sum((v @ p['w'] + p['b']) ** 2)\n"
            "def train(steps):\n    p = {'w': jnp.ones((3, 2)), 'b': jnp.zeros(2)}\n"
            "    grad_fn = jax.jit(jax.grad(loss))\n"
            "    for _ in range(steps):\n        leaves = jax.tree.leaves(grad_fn(p, x))\n"
            "        print(dict(zip(p.keys(), leaves)))  # NNX797\n",
            """\
RATES = {"stem": 0.3, "body": 0.1}
def init():
    return {"stem": jnp.ones(3), "body": jnp.zeros(3)}
def update(params, grads):
    leaves, structure = jax.tree.flatten(params)
    rates = list(RATES.values())
    moved = [p - r * g for p, g, r in zip(leaves, jax.tree.leaves(grads), rates)]  # NNX797
    return jax.tree.unflatten(structure, moved)
params = init()
for _ in range(3):
    params = update(params, jax.grad(lambda p: sum(jnp.sum(v**2) for v in p.values()))(params))
""",
            "NAMES = ['w', 'b']\ndef told(params):\n"
            "    for name, leaf in zip(NAMES, jax.tree.leaves(params)):  # NNX797\n        print(name, leaf.sum())\n"
            "told({'w': x, 'b': 2.0 * x})\n",
            _WEIGHTS + "for name, leaf in zip(weights, leaves):  # NNX797\n    print(name, leaf.sum())\n",
            _WEIGHTS + "half = [v / 2 for v in weights.values()]\n"
            "again = jax.tree.unflatten(structure, half)  # NNX797\n",
            "def init():\n    return {'w': jnp.ones(3), 'b': jnp.zeros(3)}\n"
            "from jax import tree_util\ndef halved(p):\n    parts = tuple(v / 2 for v in p.values())\n"
            "    return tree_util.tree_unflatten(tree_util.tree_structure(p), parts)  # NNX797\nhalved(init())\n",
            _WEIGHTS + "sizes = dict(zip(weights.keys(), [v.size for v in jax.tree.leaves(weights)]))  # NNX797\n",
            "import io\ndef init():\n    return {'w': jnp.ones(3), 'b': jnp.zeros(3)}\n"
            "def save(p):\n    buffer = io.BytesIO()\n"
            "    np.savez(buffer, *[np.asarray(v) for v in p.values()])  # NNX797\n"
            "    buffer.seek(0)\n    return buffer\n"
            "def load(buffer, like):\n    found = np.load(buffer)\n"
            "    parts = [found[f'arr_{i}'] for i in range(len(found.files))]\n"
            "    return jax.tree.unflatten(jax.tree.structure(like), parts)\nload(save(init()), init())\n",
            """\
params = {"weight": jnp.arange(3.0), "scale": jnp.ones(3), "bias": jnp.zeros(3)}
shapes = {name: p.shape for name, p in params.items()}
def pack(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])
def unpack(vector):
    tree, offset = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        tree[name] = jnp.reshape(vector[offset : offset + size], shape)  # NNX797
        offset += size
    return tree
def loss(vector):
    return jnp.sum(unpack(vector)["weight"])
vector = pack(params)
loss(jnp.asarray(vector))
""",
            """\
from jax.flatten_util import ravel_pytree
class Fit:
    def __init__(self):
        self.start = {"w": jnp.ones(2), "b": jnp.zeros(1)}
    def cut(self, flat):
        found, at = {}, 0
        for name, leaf in self.start.items():
            found[name] = flat[at : at + leaf.size].reshape(leaf.shape)  # NNX797
            at += leaf.size
        return found
    def run(self):
        flat = ravel_pytree(self.start)[0]
        return self.cut(flat)
Fit().run()
""",
        ),
        clean=(
            """\
class Norms:
    def __init__(self, params):
        self.names = sorted(params)
    def __call__(self, grads):
        sizes = [jnp.sum(leaf) for leaf in jax.tree.leaves(grads)]
        return dict(zip(self.names, sizes))
params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
Norms(params)(jax.grad(lambda p: jnp.sum(p["w"] * x + p["b"]))(params))
""",
            """\
class Norms:
    def __init__(self, params):
        self.names = list(params)
    def __call__(self, grads):
        return dict(zip(self.names, [jnp.sum(grads[name]) for name in self.names]))
params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
Norms(params)(jax.grad(lambda p: jnp.sum(p["w"] * x + p["b"]))(params))
""",
            """\
from jax.flatten_util import ravel_pytree
params = {'weights': jnp.zeros(3), 'bias': jnp.zeros(())}
theta, unravel = ravel_pytree(params)
bias, weights = theta[0], theta[1:]
print(bias, weights)
""",
            """\
from jax.flatten_util import ravel_pytree
theta, unravel = ravel_pytree((jnp.zeros(3), jnp.zeros(())))
weights, bias = theta[:3], theta[3]
print(bias, weights)
""",
            """\
from jax.flatten_util import ravel_pytree
theta, unravel = ravel_pytree({'weights': jnp.zeros(3), 'bias': jnp.zeros(())})
weights = unravel(theta)['weights']
print(weights[:2])
""",
            """\
from jax.flatten_util import ravel_pytree
theta, unravel = ravel_pytree({'weights': jnp.zeros(3), 'bias': jnp.zeros(())})
other = jnp.arange(4.0)
weights = other[:3]
print(weights, theta)
""",
            """\
def begun(key, n):
    return {"weight": jax.random.normal(key, (n, n)), "bias": jnp.zeros((n, n))}
def applied(layer, v):
    b, w = jax.tree.leaves(layer)
    return v @ w + b
print(applied(begun(key, 3), x))
""",
            """\
layer = {"scale": jnp.ones(3), "bias": jnp.zeros(3)}
(bias, scale), treedef = jax.tree.flatten(layer)
one, two = jax.tree.leaves(layer)
print(bias, scale, one, two)
""",
            """\
def applied(layer, v):
    w, b = jax.tree.leaves(layer)
    return v * w + b
print(applied((jnp.ones(3), jnp.zeros(3)), x), applied([jnp.ones(3), jnp.zeros(3)], x))
""",
            """\
def predict(params, v):
    w, b = params.values()
    return v * w + b
print(predict({"w": jnp.ones(3), "b": jnp.zeros(3)}, x))
""",
            """\
@jax.jit
def predict(params, v):
    b, w = params.values()
    return v * w + b
print(predict({"w": jnp.ones(3), "b": jnp.zeros(3)}, x))
""",
            """\
@jax.jit
def summed(v):
    params = {"w": 2 * v, "b": v}
    w, b = params.values()
    return w * v + b
print(summed(x))
""",
            """\
mean, std = jax.tree.leaves({"mean": x, "std": x})
W, b = [jnp.sum(leaf) for leaf in jax.tree.leaves({"W": x, "b": x})]
print(mean, std, W, b)
""",
            """\
NAMES = ("b", "w")
params = dict(zip(NAMES, (jnp.ones(3), jnp.zeros(3))))
print(dict(zip(NAMES, [leaf.sum() for leaf in jax.tree.leaves(params)])))
""",
            """\
params = {name: jnp.ones(3) for name in ("w", "b")}
print({name: leaf.sum() for name, leaf in params.items()}, jax.tree.leaves(params))
""",
            """\
LAYERS = ["attn", "embed", "head"]
params = {name: jnp.ones(3) for name in LAYERS}
for name, leaf in zip(LAYERS, jax.tree.leaves(params)):
    print(name, leaf.sum())
more = {name: jnp.ones(3) for name in ("w", "b") if name != "b"}
for name, leaf in zip(("w", "b"), jax.tree.leaves(more)):
    print(name, leaf.sum())
""",
            """\
def init(key):
    params = {}
    for name in ("stem", "body", "head"):
        params[name] = jnp.ones(3)
    return params
params = init(key)
for name, leaf in zip(("body", "head", "stem"), jax.tree.leaves(params)):
    print(name, leaf.shape)
for name, leaf in zip(("stem", "body", "head"), params.values()):
    print(name, leaf.shape)
""",
            """\
params = {}
for i in range(3):
    params[f"layer_{i}"] = jnp.ones(3)
for name, leaf in zip(params, jax.tree.leaves(params)):
    print(name, leaf.sum())
""",
            """\
def init(more):
    params = {}
    params["w"] = jnp.ones(3)
    for name in more:
        params[name] = jnp.zeros(3)
    return params
for name, leaf in zip(["w", "b"], jax.tree.leaves(init(["x"]))):
    print(name, leaf.sum())
""",
            """\
RATES = {"stem": 0.3, "body": 0.1}
def update(params, grads):
    leaves, structure = jax.tree.flatten(params)
    rates = jax.tree.leaves(RATES)
    moved = [p - r * g for p, g, r in zip(leaves, jax.tree.leaves(grads), rates)]
    return jax.tree.unflatten(structure, moved)
params = {"stem": x, "body": 2.0 * x}
for _ in range(3):
    params = update(params, params)
for name, leaf in zip(["body", "stem"], jax.tree.leaves(params)):
    print(name, leaf.sum())
for name, leaf in zip(["y", "x"], jax.tree.leaves(params)):
    print(name, leaf.sum())
""",
            "weights = {'b': x, 'w': 2.0 * x}\nfor name, leaf in zip(weights, jax.tree.leaves(weights)):\n"
            "    print(name, leaf.sum())\n",
            _WEIGHTS + "for name, leaf in zip(sorted(weights), leaves):\n    print(name, leaf.sum())\n",
            _WEIGHTS + "again = jax.tree.unflatten(structure, [v / 2 for v in leaves])\n",
            "@jax.jit\ndef init():\n    return {'w': jnp.ones(3), 'b': jnp.zeros(3)}\nweights = init()\n"
            "for name, leaf in zip(weights, jax.tree.leaves(weights)):  # jit has sorted them\n    print(name, leaf)\n",
            _WEIGHTS + "weights = jax.tree.map(jnp.abs, weights)\nleaves = jax.tree.leaves(weights)\n"
            "for name, leaf in zip(weights, leaves):\n    print(name, leaf)\n",
            "import collections\nweights = collections.OrderedDict(w=x, b=2.0 * x)\n"
            "for name, leaf in zip(weights, jax.tree.leaves(weights)):  # it keeps its order\n    print(name)\n",
            _WEIGHTS + "for name, value in zip(weights.keys(), weights.values()):\n    print(name, value)\n",
            _WEIGHTS + "import io\nnp.savez(io.BytesIO(), *leaves)\nnp.savez(io.BytesIO(), **weights)\n",
            """\
params = {"weight": jnp.arange(3.0), "scale": jnp.ones(3), "bias": jnp.zeros(3)}
shapes = {name: p.shape for name, p in params.items()}
def pack(tree):
    return np.concatenate([np.ravel(tree[name]) for name in shapes])
def unpack(vector):
    tree, offset = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        tree[name] = jnp.reshape(vector[offset : offset + size], shape)
        offset += size
    return tree
unpack(jnp.asarray(pack(params)))
""",
            """\
params = {"weight": jnp.arange(3.0), "scale": jnp.ones(3), "bias": jnp.zeros(3)}
shapes = {name: p.shape for name, p in sorted(params.items())}
def pack(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])
def unpack(vector):
    tree, offset = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        tree[name] = jnp.reshape(vector[offset : offset + size], shape)
        offset += size
    return tree
unpack(jnp.asarray(pack(params)))
""",
            """\
params = {"bias": jnp.zeros(3), "weight": jnp.arange(3.0)}
shapes = {name: p.shape for name, p in params.items()}
def pack(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])
def unpack(vector):
    tree, offset = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        tree[name] = jnp.reshape(vector[offset : offset + size], shape)
        offset += size
    return tree
unpack(pack(params))
""",
        ),
    ),
    "NNX739": Cases(
        bad=(
            _MESH + "net = Net(nnx.Rngs(0))  # NNX739\nwith jax.set_mesh(mesh):\n    print(net)\n",
            _MESH + "class Two(nnx.Module):\n    def __init__(self, rngs):\n        self.a = Net(rngs)\n"
            "def main():\n    two = Two(nnx.Rngs(0))  # NNX739\n    with jax.set_mesh(mesh):\n        print(two)\n"
            "main()\n",
            _MESH + "with mesh:\n    pass\nwith jax.set_mesh(mesh):\n    a = Net(nnx.Rngs(0))\n"
            "b = Net(nnx.Rngs(1))  # NNX739\n",
            """\
mesh = jax.make_mesh((1, 1), ("data", "model"))
def placed(*axes):
    return nnx.with_partitioning(nnx.initializers.lecun_normal(), axes)
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(4, 8, kernel_init=placed(None, "model"), rngs=rngs)
net = Net(nnx.Rngs(0))  # NNX739
with jax.set_mesh(mesh):
    y = net.out.kernel
""",
        ),
        clean=(
            _MESH + "with jax.set_mesh(mesh):\n    net = Net(nnx.Rngs(0))\nprint(net)\n",
            _MESH + "jax.set_mesh(mesh)\nnet = Net(nnx.Rngs(0))\n",
            _MESH + "def main():\n    net = Net(nnx.Rngs(0))\n    print(net)\nwith jax.set_mesh(mesh):\n    main()\n",
            _MESH + "import contextlib\n@contextlib.contextmanager\ndef on():\n    with jax.set_mesh(mesh):\n"
            "        yield\nwith on():\n    net = Net(nnx.Rngs(0))\n",
            """\
mesh = jax.make_mesh((1, 1), ("data", "model"))
def placed(*axes):
    return nnx.with_partitioning(nnx.initializers.lecun_normal(), axes)
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(4, 8, kernel_init=placed(None, "model"), rngs=rngs)
with jax.set_mesh(mesh):
    net = Net(nnx.Rngs(0))
    y = net.out.kernel
""",
        ),
    ),
    "NNX740": Cases(
        bad=(
            "@jax.jit\ndef noisy(v):\n    return v + jax.random.normal(key, v.shape)  # NNX740\n"
            "for _ in range(3):\n    x = noisy(x)\n",
            "def make(k):\n    @jax.jit\n    def step(v):\n"
            "        return v * jax.random.bernoulli(k, 0.5, v.shape)  # NNX740\n    return step\n"
            "step = make(key)\nfor batch in batches:\n    step(batch)\n",
            "def make(seed):\n    k = jax.random.key(seed)\n    def noise(v):\n"
            "        return jax.random.uniform(k, shape=v.shape)  # NNX740\n"
            "    @jax.jit\n    def step(v):\n        return v + noise(v)\n    return step\n"
            "step = make(1)\nfor batch in batches:\n    step(batch)\n",
            """\
def make(seed):
    base = jax.random.key(seed)
    def step(v):
        first, second = jax.random.split(base)
        return v + jax.random.normal(second, v.shape)  # NNX740
    return jax.jit(step)
step = make(0)
for _ in range(3):
    x = step(x)
""",
        ),
        clean=(
            "@jax.jit\ndef noisy(v, k):\n    return v + jax.random.normal(k, v.shape)\n"
            "for i in range(3):\n    x = noisy(x, jax.random.fold_in(key, i))\n",
            "@jax.jit\ndef noisy(v, i):\n    return v + jax.random.normal(jax.random.fold_in(key, i), v.shape)\n"
            "for i in range(3):\n    x = noisy(x, i)\n",
            "@jax.jit\ndef features(v):\n    return v * jax.random.normal(key, v.shape)\n"
            "for batch in batches:\n    features(batch)\n",
            "@jax.jit\ndef noisy(v):\n    return v + jax.random.normal(key, v.shape)\nx = noisy(x)\n",
            """\
def make(seed):
    base = jax.random.key(seed)
    def step(v, i):
        first, second = jax.random.split(jax.random.fold_in(base, i))
        return v + jax.random.normal(second, v.shape)
    return jax.jit(step)
step = make(0)
for i in range(3):
    x = step(x, i)
print(x)
""",
            """\
base = jax.random.key(5)
@jax.jit
def start(v):
    first, second = jax.random.split(base)
    return v + jax.random.normal(second, v.shape)
print(start(x))
""",
        ),
    ),
    "NNX741": Cases(
        bad=(
            """\
@jax.tree_util.register_pytree_node_class
class Track:
    def __init__(self, mean, count):
        self.mean, self.count = mean, count
    def tree_flatten(self):
        return (self.mean, self.count), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
    @jax.jit
    def add(self, v):
        share = 1.0 / (self.count + 1)
        self.mean = self.mean + share * (v - self.mean)  # NNX741
        self.count = self.count + 1
track = Track(0.0, 0)
for batch in batches:
    track.add(batch.mean())
print(track.mean)
""",
            """\
@jax.tree_util.register_pytree_node_class
class Track:
    def __init__(self, mean, count):
        self.mean, self.count = mean, count
    def tree_flatten(self):
        return (self.mean, self.count), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
@jax.jit
def add(track, v):
    track.count += 1  # NNX741
    return v * 2
track = Track(0.0, 0)
add(track, x)
""",
            """\
class Track:
    def __init__(self, mean):
        self.mean = mean
jax.tree_util.register_pytree_node(Track, lambda t: ((t.mean,), None), lambda _, parts: Track(*parts))
def add(v, track):
    track.mean = 0.9 * track.mean + 0.1 * v.mean()  # NNX741
    return v - 1
fast = jax.jit(add)
track = Track(0.0)
for batch in batches:
    fast(batch, track)
""",
            "@jax.jit\ndef norm(s, v):\n    s['m'] = 0.9 * s['m'] + v.mean()  # NNX741\n    return v - s['m']\n"
            "s = {'m': 0.0}\nfor batch in batches:\n    norm(s, batch)\n",
            "@nnx.jit\ndef count(v, s):\n    s['n'] += 1  # NNX741\n    return v * 2\n"
            "s = {'n': 0}\nfor batch in batches:\n    count(batch, s=s)\n",
            "def norm(s, v):\n    s['m'] = jnp.maximum(s['m'], v)  # NNX741\n    return v\n"
            "fast = jax.jit(norm)\ns = {'m': x}\nfor batch in batches:\n    y = fast(s, batch)\n",
            """\
@jax.jit
def move(state, v):
    state.update(t=state["t"] + 1, at=state["at"] + v)  # NNX741
    return jnp.abs(state["at"])
state = {"t": 0, "at": x}
for batch in batches:
    move(state, batch)
""",
            """\
@jax.jit
def note(state, v):
    state["mean"] = v.mean()  # NNX741
state = {"mean": 0.0}
note(state, x)
print(state)
""",
            """\
def put(state, v):
    state["mean"] = v.mean()  # NNX741
def both(state, v):
    put(state, v)
run = jax.jit(both)
state = {"mean": 0.0}
run(state, x)
""",
        ),
        clean=(
            """\
@jax.tree_util.register_pytree_node_class
class Track:
    def __init__(self, mean, count):
        self.mean, self.count = mean, count
    def tree_flatten(self):
        return (self.mean, self.count), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
    @jax.jit
    def add(self, v):
        self.mean = self.mean + v
        self.count = self.count + 1
        return self
track = Track(0.0, 0)
for batch in batches:
    track = track.add(batch.mean())
print(track.mean)
""",
            """\
@jax.tree_util.register_pytree_node_class
class Track:
    def __init__(self, mean, count):
        self.mean, self.count = mean, count
    def tree_flatten(self):
        return (self.mean, self.count), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
    @jax.jit
    def add(self, v):
        self.mean = self.mean + v
        return self.mean * 2
print(Track(0.0, 0).add(x))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Track:
    def __init__(self, mean, count):
        self.mean, self.count = mean, count
    def tree_flatten(self):
        return (self.mean, self.count), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
    @jax.jit
    def add(self, v):
        return Track(self.mean + v, self.count + 1)
print(Track(0.0, 0).add(x).mean)
""",
            """\
@jax.tree_util.register_pytree_node_class
class Track:
    def __init__(self, mean, count):
        self.mean, self.count = mean, count
    def tree_flatten(self):
        return (self.mean, self.count), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
    def both(self):
        return self.mean, self.count
    @jax.jit
    def add(self, v):
        self.mean = self.mean + v
        return self.both()
print(Track(0.0, 0).add(x))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Track:
    def __init__(self, mean, count):
        self.mean, self.count = mean, count
    def tree_flatten(self):
        return (self.mean, self.count), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
    def add(self, v):
        self.mean = self.mean + v
track = Track(0.0, 0)
track.add(x)
print(track.mean, jax.jit(lambda t: t.mean)(track))
""",
            "@jax.jit\ndef norm(s, v):\n    s['m'] = 0.9 * s['m'] + v.mean()\n    return s, v - s['m']\n"
            "s = {'m': 0.0}\nfor batch in batches:\n    s, y = norm(s, batch)\n",
            "@jax.jit\ndef scaled(b):\n    b['x'] = b['x'] / 255\n    return b['x'].sum()\n"
            "for batch in batches:\n    scaled({'x': batch})\n",
            "@jax.jit\ndef scaled(b):\n    b['x'] = b['x'] / 255\n    return b['x'].sum()\n"
            "for b in [{'x': x}, {'x': x}]:\n    scaled(b)\n",
            "@jax.jit\ndef put(s, v):\n    s['v'] = v\n    return s['v'] * 2\n"
            "s = {}\nfor batch in batches:\n    put(s, batch)\n",
            """\
@jax.jit
def note(history, v):
    history["means"].append(v.mean())
    return history, v * 2
history = {"means": []}
for batch in batches:
    history, y = note(history, batch)
print(history)
""",
            """\
@jax.jit
def move(state, v):
    state.update(t=state["t"] + 1)
    return state, v
state = {"t": 0}
for batch in batches:
    state, y = move(state, batch)
print(state)
""",
            """\
@jax.jit
def filled(options, v):
    options.update(scale=2.0)
    return v * options["scale"]
options = {"scale": 1.0}
for batch in batches:
    print(filled(options, batch))
""",
            """\
@jax.jit
def shown(state, v):
    state["mean"] = v.mean()
    jax.debug.print("{}", state["mean"])
shown({"mean": 0.0}, x)
""",
            """\
@jax.jit
def local(state, v):
    state = dict(state)
    state["mean"] = v.mean()
    jax.debug.callback(lambda s: None, state)
local({"mean": 0.0}, x)
""",
            """\
def note(state, v):
    state["mean"] = v.mean()
state = {"mean": 0.0}
note(state, x)
print(state)
""",
        ),
    ),
    "NNX750": Cases(
        bad=(
            "y = jnp.where(x == jnp.nan, 0.0, x)  # NNX750\n",
            "def broken(loss):\n    return loss != np.nan  # NNX750\n",
            "from math import nan\ny = float(x[0]) == nan  # NNX750\n",
            "y = jnp.equal(x, float('nan'))  # NNX750\n",
            """\
NAN = float("nan")
def known(v):
    return v != NAN  # NNX750
""",
        ),
        clean=(
            "y = jnp.where(jnp.isnan(x), 0.0, x)\n",
            "y = x == jnp.inf\n",
            "y = x != x\n",
            "class Nan:\n    nan = 3.0\ny = x == Nan.nan\n",
            "same = jnp.nan is np.nan\n",
            """\
NAN = float("nan")
def known(v, nan=0.0):
    return v != nan, jnp.full(3, NAN)[:0]
print(known(x))
""",
            """\
nan = float("1.5")
print(x == nan)
""",
        ),
    ),
    "NNX751": Cases(
        bad=(
            "angle, radius = jax.random.uniform(key)  # NNX751\n",
            "angle, radius = jax.random.normal(key, shape=())  # NNX751\n",
            "def placed(key):\n    a, b = jax.random.normal(key, (3, 2))  # NNX751\n    return a, b\n",
            "a, b = jax.random.split(key, 3)  # NNX751\n",
            "count = 4\na, b = jax.random.split(key, num=count)  # NNX751\n",
            "graph, state = nnx.split(model, nnx.Param, ...)  # NNX751\n",
            "a, b, c = jax.random.split(key)  # NNX751\n",
            "a, b = jnp.split(jnp.ones(3), 3)  # NNX751\n",
            "f = lambda a, b: (a * b).sum()\nv, da, db = jax.value_and_grad(f, argnums=(0, 1))(x, x)  # NNX751\n",
            "f = lambda a, b: (a * b).sum()\ng = jax.jit(jax.value_and_grad(f, (0, 1)))\n"
            "v, da, db = g(x, x)  # NNX751\n",
            """\
def descend(f, v, rate):
    y, pull = jax.vjp(f, v)
    slope = pull(jnp.ones_like(y))
    return v - rate * slope  # NNX751
""",
            """\
def fitted(a, y):
    w = jnp.linalg.lstsq(a, y)
    return a @ w - y  # NNX751
""",
            """\
from jax.scipy.sparse.linalg import cg
def newton(f, v):
    g = jax.grad(f)(v)
    step = cg(lambda u: jax.jvp(jax.grad(f), (v,), (u,))[1], g)
    return v - step  # NNX751
""",
            """\
def covariance(f, mu, sigma):
    bent = jax.hessian(f, argnums=(0, 1))(mu, sigma)
    return jnp.linalg.inv(bent)  # NNX751
""",
            """\
def moved(f, w, b):
    loss, grads = jax.jit(jax.value_and_grad(f, argnums=(0, 1)))(w, b)
    return w - 0.1 * grads, b  # NNX751
""",
            """\
def turned(m):
    basis = jnp.linalg.qr(m)
    return basis.T  # NNX751
""",
        ),
        clean=(
            "shape = (2,)\na, b = jax.random.uniform(key, shape)\nprint(a, b)\n",
            "options = {'shape': (2,)}\na, b = jax.random.normal(key, **options)\nprint(a, b)\n",
            "a, *others = jax.random.normal(key, (3,))\nprint(a, others)\n",
            "a, b = jax.random.normal(key, shape=(2, 5))\nc = jax.random.normal(jax.random.key(1))\nprint(a, b, c)\n",
            "a, b = jax.random.split(key)\n",
            "a, *b = jax.random.split(key, 3)\n",
            "keys = jax.random.split(key, 3)\n",
            "graph, params, rest = nnx.split(model, nnx.Param, ...)\n",
            "def draw(n):\n    a, b = jax.random.split(key, n)\n    return a, b\n",
            "a, b = 'p q'.split(' ')\n",
            "f = lambda a, b: (a * b).sum()\nda, db = jax.grad(f, argnums=(0, 1))(x, x)\n",
            "f = lambda a, b: (a * b).sum()\nv, (da, db) = jax.value_and_grad(f, argnums=(0, 1))(x, x)\n"
            "da, db = jax.grad(f, argnums=(0, 1))(x, x)\n",
            """\
def descend(f, v, rate):
    y, pull = jax.vjp(f, v)
    (slope,) = pull(jnp.ones_like(y))
    return v - rate * slope - rate * pull(y)[0]
print(descend(jnp.sin, x, 0.1))
""",
            """\
m = jnp.outer(x, x) + jnp.eye(3)
print(jnp.linalg.qr(m, mode="r") @ m, jnp.linalg.svd(m, compute_uv=False) * 2.0, jnp.linalg.eigh(m).eigenvalues / 2.0)
print(jnp.linalg.lstsq(m, x)[0] - x, jnp.linalg.slogdet(m).logabsdet - 1.0, jnp.linalg.eigh(m) + jnp.linalg.qr(m))
""",
            """\
f = lambda w, b: jnp.sum(w * b)
g = jax.grad(f, argnums=(0, 1))(x, x)
h = jax.grad(f, argnums=1)(x, x)
print(x - g[0], x - h, jax.tree.map(lambda a: 0.1 * a, g))
print(jnp.array(jax.hessian(f, argnums=(0, 1))(1.0, 2.0)) @ jnp.eye(2))
""",
            """\
from jax.scipy.sparse.linalg import cg
def newton(f, v):
    g = jax.grad(f)(v)
    step, info = cg(lambda u: jax.jvp(jax.grad(f), (v,), (u,))[1], g)
    return v - step
print(newton(lambda w: jnp.sum(w**4), x))
""",
            """\
def pulled(f, v):
    _, pull = jax.vjp(f, v, v)
    slopes = pull(v)
    return len(slopes) * slopes[0], 2 * slopes, jnp.stack(slopes) @ v
print(pulled(jnp.multiply, x))
""",
            """\
f = lambda w, b: jnp.sum(w * b)
loss, grads = jax.value_and_grad(f)(x, x)
loss, (by_w, by_b) = jax.value_and_grad(f, argnums=(0, 1))(x, x)
print(x - 0.1 * grads, grads.T, x - by_w, by_b.shape, jax.hessian(f)(x, x) @ x)
""",
            """\
m = jnp.outer(x, x) + jnp.eye(3)
whole = jnp.linalg.eigh(m)
basis, upper = jnp.linalg.qr(m)
print(whole.eigenvectors @ m, basis @ upper - m, jnp.linalg.norm(basis), jnp.linalg.eigvalsh(m) / 2.0)
""",
        ),
    ),
    "NNX752": Cases(
        bad=(
            _GENERATOR + "made = parts(x)\nfor epoch in range(3):\n    for p in made:  # NNX752\n        print(p)\n",
            "pairs = zip(range(3), range(3))\n"
            "for epoch in range(3):\n    for p in pairs:  # NNX752\n        print(p)\n",
            "made = zip(range(3), range(3))\npairs = made\n"
            "for epoch in range(3):\n    for p in pairs:  # NNX752\n        print(p)\n",
            "def run(n):\n    rows = (b * 2 for b in batches)\n    for _ in range(n):\n"
            "        for row in rows:  # NNX752\n            print(row)\n",
            """\
def parts(v, size):
    for i in range(0, len(v), size):
        yield v[i : i + size]
def evaluate(net, held):
    return np.mean([net(b).mean() for b in held])
def main(net, train, test, step):
    held = parts(test, 8)
    for epoch in range(10):
        for batch in parts(train, 8):
            step(net, batch)
        print(epoch, evaluate(net, held))  # NNX752
""",
        ),
        clean=(
            _GENERATOR + "for epoch in range(3):\n    for p in parts(x):\n        print(p)\n",
            _GENERATOR + "made = list(parts(x))\nfor epoch in range(3):\n    for p in made:\n        print(p)\n",
            _GENERATOR + "made = parts(x)\nfor epoch in range(3):\n    for p in made:\n        break\n",
            "pairs = range(3)\nfor epoch in range(3):\n    for p in pairs:\n        print(p)\n",
            "def forever():\n    while True:\n        yield x\nstream = forever()\n"
            "for epoch in range(3):\n    for p in stream:\n        break\n",
            """\
def parts(v, size):
    for i in range(0, len(v), size):
        yield v[i : i + size]
def evaluate(net, held):
    return np.mean([net(b).mean() for b in held])
def main(net, test):
    for epoch in range(2):
        held = parts(test, 1)
        print(epoch, evaluate(net, held), evaluate(net, list(parts(test, 1))))
main(jnp.sin, x)
""",
            """\
def parts(v, size):
    for i in range(0, len(v), size):
        yield v[i : i + size]
def some(net, stream):
    for batch in stream:
        return net(batch)
def main(net, test):
    stream = parts(test, 1)
    for epoch in range(2):
        print(some(net, stream))
main(jnp.sin, x)
""",
        ),
    ),
    "NNX753": Cases(
        bad=(
            "fs = [lambda v: v * s for s in (1.0, 2.0)]  # NNX753\n",
            "fs = []\nfor s in (1.0, 2.0):\n    fs.append(lambda v: v * s)  # NNX753\n",
            "fs = {}\nfor s in (1.0, 2.0):\n    def scale(v):  # NNX753\n        return v * s\n    fs[s] = scale\n",
            "fs = {n: lambda v: v + n for n in range(3)}  # NNX753\n",
        ),
        clean=(
            "fs = [lambda v, s=s: v * s for s in (1.0, 2.0)]\n",
            "fs = [partial(jnp.multiply, s) for s in (1.0, 2.0)]\n",
            "fs = [lambda s: s * 2 for s in (1.0, 2.0)]\n",
            "for s in (1.0, 2.0):\n    print(jax.tree.map(lambda v: v * s, x))\n",
            "fs = []\nfor s in (1.0, 2.0):\n    fs.append(lambda v: v * s)\n    print(fs[-1](x))\n",
        ),
    ),
    "NNX754": Cases(
        bad=(
            """\
def bias(length):
    keep = jnp.tril(jnp.ones((length, length), jnp.float16))
    return (1.0 - keep) * -1e9  # NNX754
""",
            """\
def hidden(scores, mask):
    return scores + -1e6 * (1 - mask.astype("float16"))  # NNX754
""",
            """\
class Tower(nnx.Module):
    def __init__(self, rngs):
        self.proj = nnx.Linear(3, 2, dtype=jnp.float16, rngs=rngs)
    def __call__(self, v):
        z = self.proj(v)
        return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-8)  # NNX754
print(Tower(nnx.Rngs(0))(x))
""",
            """\
class Towers(nnx.Module):
    def __init__(self, rngs):
        options = dict(dtype=jnp.float16, use_bias=False, rngs=rngs)
        self.query, self.item = nnx.Linear(3, 2, **options), nnx.Linear(3, 2, **options)
    def embed(self, layer, v):
        z = layer(v)
        return z / (jnp.sqrt(jnp.sum(z * z, axis=-1, keepdims=True)) + 1e-8)  # NNX754
    def __call__(self, q, i):
        return self.embed(self.query, q) @ self.embed(self.item, i).T
print(Towers(nnx.Rngs(0))(x, x))
""",
            "h = x.astype(jnp.float16)\ny = h / (h.std() + 1e-8)  # NNX754\n",
            "h = jnp.zeros(3, dtype=jnp.float16)\ny = 1.0 / jnp.maximum(h, 1e-9)  # NNX754\n",
            "image = jnp.zeros((2, 2), jnp.uint8)\ny = image - 128  # NNX754\n",
            "a, b = np.zeros(2, np.uint8), np.ones(2, np.uint8)\ny = a - b  # NNX754\n",
        ),
        clean=(
            """\
def bias(length):
    keep = jnp.tril(jnp.ones((length, length), jnp.float16))
    small = (1.0 - keep) * -1e4
    wide = (1.0 - keep.astype(jnp.float32)) * -1e9
    return small, wide, (1.0 - keep.astype(jnp.bfloat16)) * -1e9
print(bias(3))
""",
            """\
class Tower(nnx.Module):
    def __init__(self, rngs):
        self.proj = nnx.Linear(3, 2, dtype=jnp.float16, rngs=rngs)
    def __call__(self, v):
        z = self.proj(v).astype(jnp.float32)
        return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-8)
print(Tower(nnx.Rngs(0))(x))
""",
            """\
class Tower(nnx.Module):
    def __init__(self, rngs):
        self.proj = nnx.Linear(3, 2, dtype=jnp.bfloat16, rngs=rngs)
    def __call__(self, v):
        z = self.proj(v)
        return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-8)
print(Tower(nnx.Rngs(0))(x))
""",
            """\
class Tower(nnx.Module):
    def __init__(self, rngs):
        self.proj = nnx.Linear(3, 2, dtype=jnp.float16, rngs=rngs)
    def __call__(self, v):
        z = self.proj(v)
        return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-4)
print(Tower(nnx.Rngs(0))(x))
""",
            """\
class Tower(nnx.Module):
    def __init__(self, rngs):
        self.proj = nnx.Linear(3, 2, param_dtype=jnp.float16, rngs=rngs)
    def __call__(self, v):
        z = self.proj(v)
        return z / (jnp.linalg.norm(z, axis=-1, keepdims=True) + 1e-8)
print(Tower(nnx.Rngs(0))(x))
""",
            "h = x.astype(jnp.bfloat16)\ny = h / (h.std() + 1e-8)\n",
            "h = x.astype(jnp.float16)\ny = h / (h.std() + 1e-4)\n",
            "image = jnp.zeros((2, 2), jnp.uint8)\ny = 255 - image\n",
            "image = jnp.zeros((2, 2), jnp.uint8)\ny = image - image.min()\n",
            "labels = jnp.ones(2, dtype=jnp.uint8)\nfrom_zero = labels - 1\n",
            "h = jnp.zeros(3, dtype=jnp.float16)\ny = jnp.where(h > 0, h, -1e9)\n",
            "image = jnp.zeros((2, 2), jnp.uint8)\ny = image.astype(jnp.float32) - 128\n",
            "image = jnp.zeros((2, 2), jnp.uint8)\ny = image - 128.0\n",
            "h = x.astype(jnp.float16)\ny = h.astype(jnp.float32) / (h.astype(jnp.float32).std() + 1e-8)\n",
            """\
def highlight(img, color=(255, 255, 255), alpha=0.3):
    return img + alpha * (np.array(color, dtype=np.uint8) - img)
y = highlight(np.zeros((2, 3), dtype=np.uint8))
""",
        ),
    ),
    "NNX755": Cases(
        bad=(
            "tx = optax.chain(optax.scale_by_adam(), optax.scale(1e-3))  # NNX755\n"
            "o = nnx.Optimizer(model, tx, wrt=nnx.Param)\n",
            "o = nnx.Optimizer(model, optax.chain(optax.clip(1.0), optax.scale_by_rms()), wrt=nnx.Param)  # NNX755\n",
            "def made(rate):\n    return optax.chain(optax.scale_by_adam(), optax.scale(rate))  # NNX755\n"
            "o = nnx.Optimizer(model, made(0.1), wrt=nnx.Param)\n",
        ),
        clean=(
            "o = nnx.Optimizer(model, optax.chain(optax.scale_by_adam(), optax.scale(-1e-3)), wrt=nnx.Param)\n",
            "o = nnx.Optimizer(model, optax.chain(optax.clip(1.0), optax.adam(1e-3)), wrt=nnx.Param)\n",
            "tx = optax.chain(optax.scale_by_adam(), optax.scale_by_learning_rate(1e-3))\n"
            "o = nnx.Optimizer(model, tx, wrt=nnx.Param)\n",
            "direction = optax.chain(optax.scale_by_adam(), optax.add_decayed_weights(1e-4))\n",
            "def made(rate):\n    return optax.chain(optax.scale_by_adam(), optax.scale(rate))\n"
            "o = nnx.Optimizer(model, made(-0.1), wrt=nnx.Param)\n",
        ),
    ),
    "NNX756": Cases(
        bad=(
            """\
def body(total, batch):
    v, w = batch
    return total + v @ w, None
def loader(v):
    for i in range(3):
        yield v + i, v
def run(v):
    return jax.lax.scan(body, 0.0, list(loader(v)))  # NNX756
""",
            """\
def body(total, batch):
    v, w = batch
    return total + v @ w, None
def run(vs, ws):
    return jax.lax.scan(body, 0.0, [(v, w) for v, w in zip(vs, ws)])  # NNX756
""",
            """\
def depth(species, r):
    return jnp.min(species["eps"] * r)
class Field:
    def __init__(self, table):
        self.table = [dict(eps=jnp.asarray(e)) for e in table]
    def depths(self, r):
        return jax.vmap(functools.partial(depth, r=r))(self.table)  # NNX756
""",
            """\
print(jax.lax.scan(lambda c, v: (c + v, c), x, 0.0))  # NNX756
""",
            """\
print(jax.lax.map(lambda i: 2 * i, range(3)))  # NNX756
""",
            """\
rates = [0.1, 0.2, 0.3]
print(jax.vmap(lambda v, r: v * r)(x, rates))  # NNX756
""",
            """\
print(jax.jit(jax.vmap(lambda i: 2 * i))(range(3)))  # NNX756
""",
            """\
def layers_of(n):
    made = []
    for k in jax.random.split(key, n):
        made.append({'w': jax.random.normal(k, (3, 3))})
    return made
def layer(h, p):
    return h @ p['w'], None
@jax.jit
def forward(layers, h):
    return jax.lax.scan(layer, h, layers)[0]  # NNX756
print(forward(layers_of(2), x))
""",
            """\
from typing import NamedTuple
class Sample(NamedTuple):
    x: jax.Array
    weight: float
def score(sample):
    return jnp.sum(sample.x) * sample.weight
samples = [Sample(i * jnp.ones(3), 0.5) for i in range(4)]
print(jax.vmap(score)(samples))  # NNX756
""",
            """\
from typing import NamedTuple
class Layer(NamedTuple):
    w: jax.Array
    b: jax.Array
def apply(h, layer):
    return jnp.tanh(h @ layer.w + layer.b), None
layers = []
for _ in range(3):
    layers.append(Layer(jnp.eye(3), jnp.zeros(3)))
print(jax.lax.scan(apply, x, layers))  # NNX756
""",
            "def body(h, w):\n    return h @ w, None\ny = jax.lax.scan(body, x, [jnp.eye(3), jnp.eye(3)])  # NNX756\n",
            "rows = [jnp.ones(3) for _ in range(4)]\ny = jax.lax.map(lambda r: r * 2 - 1, rows)  # NNX756\n",
            "y = jax.vmap(lambda r: r * 2 - 1)([jnp.ones(3), jnp.ones(3)])  # NNX756\n",
            """\
def layer(h, p):
    return jnp.tanh(h @ p["w"] + p["b"]), None
layers = []
for i in range(3):
    layers.append({"w": jnp.eye(3), "b": jnp.zeros(3)})
y = jax.lax.scan(layer, x, layers)  # NNX756
""",
            """\
weights = [nnx.Param(jnp.eye(3)) for _ in range(2)]
def body(h, w):
    return h @ w, None
y = jax.lax.scan(body, x, [w[...] for w in weights])  # NNX756
""",
        ),
        clean=(
            """\
def body(total, batch):
    v, w = batch
    return total + (v * w).sum(), None
def loader(v):
    for i in range(3):
        yield v + i, v
def run(v):
    stacked = jax.tree.map(lambda *a: jnp.stack(a), *loader(v))
    return jax.lax.scan(body, 0.0, stacked), jax.lax.scan(body, 0.0, [v, v])
print(run(x))
def inner(total, pair):
    (v, w), (y, z) = pair
    return total + v * w + y * z, None
print(jax.lax.scan(inner, 0.0, [(x, x), (x, x)]))
""",
            """\
def depth(species, r):
    return jnp.min(species["eps"] * r)
def depths(table, r):
    rows = [dict(eps=jnp.asarray(e)) for e in table]
    return jax.vmap(functools.partial(depth, r=r))(jax.tree.map(lambda *v: jnp.stack(v), *rows))
print(depths([1.0, 2.0], jnp.ones(3)))
""",
            """\
print(jax.lax.scan(lambda c, _: (c + 1, c), 0, None, 3), jax.lax.scan(lambda c, _: (c + 1, c), 0, length=3))
""",
            """\
print(jax.lax.scan(lambda c, v: (c + v, c), 0.0, x), jax.lax.map(lambda i: 2 * i, jnp.arange(3)))
""",
            """\
print(jax.lax.scan(lambda c, v: (c + v[0] * v[1], c), 0.0, (x, x)))
""",
            """\
print(jax.vmap(lambda v, r: v * r[0], in_axes=(0, None))(x, [0.1, 0.2]))
""",
            """\
print(jax.vmap(lambda pair: pair[0] * pair[1])([x, x]), jax.vmap(lambda r: 2 * r)(jnp.array([0.1, 0.2])))
""",
            """\
print(jax.vmap(lambda v, r: v * r, (0, None))(x, 0.1), [jax.vmap(lambda v: v * r)(x) for r in (0.1, 0.2)])
""",
            """\
def layer(h, p):
    return h @ p['w'], None
@jax.jit
def forward(layers, h):
    for one in layers:
        h = layer(h, one)[0]
    return h
print(forward([{'w': jnp.eye(3)}, {'w': jnp.eye(3)}], x))
""",
            """\
from typing import NamedTuple
class Sample(NamedTuple):
    x: jax.Array
    weight: float
def score(sample):
    return jnp.sum(sample.x) * sample.weight
samples = [Sample(i * jnp.ones(3), 0.5) for i in range(4)]
stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *samples)
print(jax.vmap(score)(stacked), [score(one) for one in samples])
""",
            """\
from typing import NamedTuple
class Sample(NamedTuple):
    x: jax.Array
    y: jax.Array
def first(samples):
    return samples[0].x - samples.copy()[1].y
print(jax.vmap(first)([Sample(x, x), Sample(2 * x, x)]))
""",
            "def body(h, w):\n    return h @ w, None\ny = jax.lax.scan(body, x, jnp.stack([jnp.eye(3), jnp.eye(3)]))\n",
            "def body(h, ws):\n    a, b = ws\n    return h @ a + b, None\n"
            "y = jax.lax.scan(body, x, [jnp.ones((4, 3, 3)), jnp.ones((4, 3))])\n",
            "y = jax.lax.map(lambda r: jax.tree.map(jnp.sum, r), [jnp.ones((2, 3)), jnp.ones(2)])\n",
            "y = jax.vmap(lambda r: r[0] + r[1])([jnp.ones(3), jnp.ones(3)])\n",
            """\
def layer(h, p):
    return jnp.tanh(h @ p["w"] + p["b"]), None
layers = [{"w": jnp.eye(3), "b": jnp.zeros(3)} for _ in range(3)]
stacked = jax.tree.map(lambda *parts: jnp.stack(parts), *layers)
y, _ = jax.lax.scan(layer, x * 1.0, stacked)
print(y)
""",
            """\
weights = [nnx.Param(jnp.eye(3)) for _ in range(2)]
def body(h, w):
    return h @ w, None
y, _ = jax.lax.scan(body, x * 1.0, jnp.stack([w[...] for w in weights]))
print(y)
""",
        ),
    ),
    "NNX746": Cases(
        bad=(
            """\
SHAPES = {"encoder": {"kernel": (4, 8), "bias": (8,)}, "decoder": {"kernel": (8, 4), "bias": (4,)}}
def scaled(key, shape):
    return jax.random.normal(key, shape) / jnp.sqrt(shape[0])
def begin(key, shapes):
    keys = iter(jax.random.split(key, 4))
    return jax.tree.map(lambda shape: scaled(next(keys), shape), shapes)  # NNX746
begin(key, SHAPES)
""",
            """\
def shapes_of(sizes):
    shapes = []
    for n, m in zip(sizes[:-1], sizes[1:]):
        shapes.append({"w": (n, m), "b": (m,)})
    return shapes
params = jax.tree.map(lambda shape: jnp.ones(shape), shapes_of([3, 4]))  # NNX746
""",
            """\
params = jax.tree.map(jnp.zeros, [(7, 5), (5,), (5, 1), (1,)])  # NNX746
""",
            """\
def shapes_of(sizes):
    shapes = {}
    for i, (n, m) in enumerate(zip(sizes[:-1], sizes[1:])):
        shapes[f"layer_{i}"] = {"w": (n, m), "b": (m,)}
    return shapes
params = jax.tree.map(lambda shape: jnp.zeros(shape), shapes_of([3, 4, 2]))  # NNX746
""",
            """\
widths = {"a": (3, 4), "c": (4, 2)}
shapes = {name: {"w": (n, m), "b": (m,)} for name, (n, m) in widths.items()}
params = jax.tree.map(jnp.ones, shapes)  # NNX746
""",
            """\
LAYERS = {"hidden": (3, 8), "out": (8, 2)}
def begun(key):
    keys = dict(zip(LAYERS, jax.random.split(key, len(LAYERS))))
    zeros = jax.tree.map(jnp.zeros, LAYERS)  # NNX746
    return {name: zeros[name] + 0.1 * jax.random.normal(keys[name], LAYERS[name]) for name in LAYERS}
print(begun(key))
""",
            """\
sizes = {"hidden": (3, 8), "out": (8, 2)}
made = jax.tree.map(lambda size: jnp.ones(size), sizes)  # NNX746
print(made["hidden"].sum(axis=0))
""",
            "shapes = {'w': (3, 4), 'b': (4,)}\nzeros = jax.tree.map(jnp.zeros, shapes)  # NNX746\n",
            "def shapes(n, m):\n    return {'in': {'w': (n, m), 'b': (m,)}, 'scale': ()}\n"
            "ones = jax.tree.map(lambda s: jnp.ones(s, jnp.float32), shapes(2, 3))  # NNX746\n",
            "SHAPES = {'w': (3, 4), 'v': (4, 2)}\ndef filled(shape):\n    return jnp.full(shape, 0.5)\n"
            "params = jax.tree.map(filled, SHAPES)  # NNX746\n",
            "def spec(s):\n    return jax.ShapeDtypeStruct(s, jnp.float32)\n"
            "specs = jax.tree.map(spec, {'w': (3, 4), 'b': (4,)})  # NNX746\n",
            "ranks = jax.tree.map(lambda s: len(s), {'w': (3, 4), 'v': (4, 5)})  # NNX746\n",
            "def rows(path, s):\n    return s[0]\n"
            "first = jax.tree_util.tree_map_with_path(rows, {'w': (3, 4), 'b': (4,)})  # NNX746\n",
            """\
shapes = jax.tree.map(lambda leaf: leaf.shape, {"w": jnp.ones((3, 4)), "b": x})
buffers = jax.tree.map(jnp.zeros, shapes)  # NNX746
""",
            """\
def described(params):
    return jax.tree_util.tree_map(jnp.shape, params)
ranks = jax.tree.map(lambda s: len(s), described({"w": jnp.ones((3, 4)), "b": x}))  # NNX746
""",
            """\
def shape_of(path, leaf):
    return leaf.shape
class Moments:
    def __init__(self, params):
        self.shapes = jax.tree_util.tree_map_with_path(shape_of, params)
    def begin(self):
        return jax.tree.map(lambda s: jnp.full(s, 0.5), self.shapes)  # NNX746
print(Moments({"w": jnp.ones((3, 4)), "b": x}).begin())
""",
        ),
        clean=(
            """\
SHAPES = {"encoder": {"kernel": (4, 8), "bias": (8,)}, "decoder": {"kernel": (8, 4), "bias": (4,)}}
def scaled(key, shape):
    return jax.random.normal(key, shape) / jnp.sqrt(shape[0])
def begin(key, shapes):
    keys = iter(jax.random.split(key, 4))
    return jax.tree.map(lambda shape: scaled(next(keys), shape), shapes, is_leaf=lambda s: isinstance(s, tuple))
print(jax.tree.map(jnp.shape, begin(key, SHAPES)))
def doubled(size):
    if isinstance(size, int):
        return 2 * size
    return size[0]
print(jax.tree.map(lambda size: doubled(size), SHAPES))
""",
            """\
pairs = {}
for name, n in [("a", 3), ("b", 4)]:
    pairs[name] = (n, 0.5)
halves = jax.tree.map(lambda n: 2 * n, pairs)
""",
            """\
arrays = []
for n in (3, 4):
    arrays.append((jnp.ones(n), jnp.zeros((n, n))))
sums = jax.tree.map(lambda a: jnp.zeros(a.shape), arrays)
""",
            """\
sizes = [3, 4, 5]
rows = jax.tree.map(jnp.ones, [n for n in sizes]), jax.tree.map(jnp.zeros, [3, 4])
twice = jax.tree.map(lambda a: 2 * a, [(jnp.ones(3), jnp.ones(2)), (jnp.ones(3),)])
""",
            """\
def shapes_of(sizes):
    shapes = {}
    for i, (n, m) in enumerate(zip(sizes[:-1], sizes[1:])):
        shapes[f"layer_{i}"] = {"w": (n, m), "b": (m,)}
    return shapes
params = jax.tree.map(lambda s: jnp.zeros(s), shapes_of([3, 4, 2]), is_leaf=lambda s: isinstance(s, tuple))
""",
            """\
def rows_of(sizes):
    rows = {}
    for i, n in enumerate(sizes):
        rows[f"layer_{i}"] = {"sizes": (n, n), "count": n}
    return rows
rows = jax.tree.map(lambda n: jnp.zeros(n), rows_of([3, 4]))
""",
            """\
LAYERS = {"hidden": (3, 8), "out": (8, 2)}
def begun(key):
    keys = dict(zip(LAYERS, jax.random.split(key, len(LAYERS))))
    zeros = jax.tree.map(jnp.zeros, LAYERS, is_leaf=lambda node: isinstance(node, tuple))
    return {name: zeros[name] + 0.1 * jax.random.normal(keys[name], LAYERS[name]) for name in LAYERS}
print(begun(key))
""",
            """\
sizes = {"lstm": (8, 8), "top": (4, 4)}
states = jax.tree.map(jnp.zeros, sizes)
c, h = states["lstm"]
print(c + h, states["top"][0] + jnp.ones(4), len(states["top"]))
""",
            "shapes = {'w': (3, 4), 'b': (4,)}\n"
            "zeros = jax.tree.map(jnp.zeros, shapes, is_leaf=lambda s: isinstance(s, tuple))\n",
            "zeros = {k: jnp.zeros(s) for k, s in {'w': (3, 4), 'b': (4,)}.items()}\n",
            "sizes = {'encoder': (3, 4), 'decoder': (4, 2)}\nbiases = jax.tree.map(jnp.zeros, sizes)\n",
            "shapes = {'w': np.array((3, 4)), 'b': np.array((4,))}\n"
            "zeros = jax.tree.map(lambda s: jnp.zeros(tuple(s)), shapes)\n",
            "pairs = {'a': (jnp.ones(3), jnp.ones(2)), 'b': (x,)}\nfirst = jax.tree.map(lambda p: p[0], pairs)\n",
            "twice = jax.tree.map(lambda n: 2 * n, {'shape': (3, 4), 'rest': (1,)})\n",
            "def made(s):\n    return jnp.zeros(s) if isinstance(s, tuple) else s\n"
            "kept = jax.tree.map(made, {'w_shape': (3, 4), 'b': (4,)})\n",
            """\
params = {"w": jnp.ones((3, 4)), "b": x}
shapes = jax.tree.map(lambda leaf: leaf.shape, params)
flat = jax.tree.map(lambda leaf: leaf.reshape(-1), params)
print(jax.tree.map(lambda leaf, shape: leaf.reshape(shape), flat, shapes))
print(jax.tree.map(jnp.zeros, shapes, is_leaf=lambda s: isinstance(s, tuple)))
print(jax.tree.map(lambda size: 2 * size, shapes))
""",
            """\
params = {"w": jnp.ones((3, 4)), "b": x}
sizes = jax.tree.map(lambda leaf: leaf.size, params)
print(jax.tree.map(jnp.zeros, sizes), jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), params))
""",
        ),
    ),
    "NNX747": Cases(
        bad=(
            _SETTINGS + _SCALED + "a = Settings(3)\nprint(scaled(a, 1.0), scaled(replace(a, scale=2.0), 1.0))\n",
            _SETTINGS + _SCALED + "for value in (1.0, 2.0):\n    print(scaled(Settings(3, scale=value), 1.0))\n",
            _SETTINGS + _SCALED + "print(scaled(Settings(3, 1.5), 1.0), scaled(Settings(3, 2.0), 1.0))\n",
            _SETTINGS + "def scaled(x, s):\n    def body(c, _):\n        return c * s.scale, None  # NNX747\n"
            "    return jax.lax.scan(body, x, None, length=2)[0]\nfast = jax.jit(scaled, static_argnames=('s',))\n"
            "def run(s, values):\n    for value in values:\n        s = replace(s, scale=value)\n"
            "        print(fast(1.0, s=s))\nrun(Settings(2), [1.0, 2.0])\n",
            """\
from dataclasses import dataclass, field
@dataclass(frozen=True)
class Config:
    depth: int = 2
    rate: float = field(default=0.1, compare=False)
@partial(jax.jit, static_argnames=("cfg",))
def forward(v, cfg):
    return v * cfg.rate  # NNX747
print(forward(x, cfg=Config()), forward(x, cfg=Config(rate=0.5)))
""",
        ),
        clean=(
            _SETTINGS.replace("1.0, compare=False", "1.0")
            + _SCALED.replace("  # NNX747", "")
            + "a = Settings(3)\nprint(scaled(a, 1.0), scaled(replace(a, scale=2.0), 1.0))\n",
            _SETTINGS
            + _SCALED.replace("  # NNX747", "")
            + "print(scaled(Settings(3), 1.0), scaled(Settings(3), 2.0))\n",
            _SETTINGS
            + _SCALED.replace("  # NNX747", "")
            + "a = Settings(3)\nprint(scaled(a, 1.0), scaled(replace(a, label='b'), 1.0))\n",
            _SETTINGS
            + _SCALED.replace("  # NNX747", "")
            + "a = Settings(3)\nprint(scaled(a, 1.0), scaled(replace(a, size=4, scale=2.0), 1.0))\n",
            _SETTINGS + "@partial(jax.jit, static_argnums=0)\ndef sized(s, x):\n    return s.size * x\n"
            "a = Settings(3)\nprint(sized(a, 1.0), sized(replace(a, scale=2.0), 1.0))\n",
            """\
from dataclasses import dataclass, field
@dataclass(frozen=True)
class Config:
    depth: int = 2
    rate: float = field(default=0.1, compare=False)
@partial(jax.jit, static_argnames=("cfg",))
def forward(v, cfg):
    return v * cfg.rate
print(forward(x, cfg=Config()), forward(x, cfg=Config(rate=0.1)), forward(x, cfg=Config(3, 0.5)))
""",
        ),
    ),
    "NNX748": Cases(
        bad=(
            "y = jax.lax.associative_scan(lambda a, b: 0.9 * a + b, jnp.ones(8))  # NNX748\n",
            "y = jax.lax.associative_scan(jnp.subtract, jnp.ones(8))  # NNX748\n",
            "def mean(a, b):\n    return (a + b) / 2\ny = jax.lax.associative_scan(mean, jnp.ones(8))  # NNX748\n",
            "class Filter:\n    def __init__(self, keep):\n        self.keep = keep\n"
            "    def combine(self, a, b):\n        rest = 1 - self.keep\n        return self.keep * a + rest * b\n"
            "    def run(self, v):\n        return jax.lax.associative_scan(self.combine, v)  # NNX748\n",
            "def combine(left, right):\n    a, b = left\n    c, d = right\n    return a * c, a * b + d\n"
            "y = jax.lax.associative_scan(combine, (jnp.ones(8), jnp.ones(8)))  # NNX748\n",
        ),
        clean=(
            "y = jax.lax.associative_scan(lambda a, b: a + b, jnp.ones(8))\n",
            "y = jax.lax.associative_scan(jnp.maximum, jnp.ones(8))\n",
            "def combine(left, right):\n    a, b = left\n    c, d = right\n    return a * c, c * b + d\n"
            "y = jax.lax.associative_scan(combine, (jnp.ones(8), jnp.ones(8)))\n",
            "y = jax.lax.associative_scan(lambda a, b: a + b - a * b, jnp.ones(8))\n",
            "y = jax.lax.associative_scan(lambda a, b: a @ b, jnp.ones((8, 2, 2)))\n",
            "y = jax.lax.scan(lambda c, v: (0.9 * c + v, c), 0.0, jnp.ones(8))\n",
        ),
    ),
    "NNX757": Cases(
        bad=(
            """\
tx = optax.sgd(0.1)
def gathered(loss):
    return jax.lax.all_gather(loss, axis_name="replica").mean()
def step(w, state, v):
    loss, grads = jax.value_and_grad(lambda w: jnp.mean((v @ w) ** 2))(w)
    updates, state = tx.update(grads, state)  # NNX757
    return optax.apply_updates(w, updates), state, gathered(loss)
mapped_step = jax.pmap(step, axis_name="replica")
""",
            """\
@nnx.pmap(axis_name="devices", in_axes=(None, None, 0), out_axes=0)
def advance(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: (m(v) ** 2).mean())(model)
    loss = jax.lax.pmean(loss, "devices")
    optimizer.update(model, grads)  # NNX757
    return loss, grads
""",
            """\
tx = optax.sgd(0.1)
@partial(jax.pmap, axis_name="batch")
def step(w, state, v):
    grads = jax.grad(lambda w: jnp.mean((v @ w) ** 2))(w)
    updates, state = tx.update(grads, state)  # NNX757
    return optax.apply_updates(w, updates), state
w = jnp.ones((1, 3))
w, state = step(w, jax.pmap(tx.init)(w), jnp.ones((1, 4, 3)))
""",
            _SHARDED + '@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())\n'
            "def f(v):\n    return jnp.mean(v)  # NNX757\n",
            _SHARDED + '@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P())\n'
            "def f(v, w):\n    return ((v - w) ** 2).sum()  # NNX757\n",
            _SHARDED + "def f(v):\n    squares = v**2\n    return jnp.max(squares)  # NNX757\n"
            'g = jax.shard_map(f, mesh=mesh, in_specs=(P("data"),), out_specs=P())\n',
            _PREPARED + '@jax.jit\n@partial(mapped, in_specs=P("data"), out_specs=(P(), P()))\n'
            'def f(v):\n    return jax.lax.psum(v.sum(), "data"), jnp.max(v)  # NNX757\n',
            _PREPARED
            + 'def f(v):\n    return jnp.mean(v)  # NNX757\ng = mapped(f, in_specs=P("data"), out_specs=P())\n',
            _PREPARED + "def f(v):\n    return jnp.mean(v)  # NNX757\n"
            'def build():\n    return jax.jit(mapped(f, in_specs=(P("data"),), out_specs=P()))\n',
            _SHARDED + _LOSS + "def both(w, v):\n    value, slope = jax.value_and_grad(loss)(w, v)\n"
            "    return value, slope\n" + _UNCHECKED + "def f(w, v):\n    return both(w, v)  # NNX757\n",
            _SHARDED + _LOSS + _UNCHECKED + "def f(w, v):\n    return jax.value_and_grad(loss)(w, v)  # NNX757\n",
            _SHARDED + _LOSS + _UNCHECKED + "def f(w, v):\n    value, slope = jax.value_and_grad(loss)(w, v)\n"
            '    return jax.lax.pmean(value, "data"), w - 0.1 * slope  # NNX757\n',
            _SHARDED + _UNCHECKED.replace("(P(), P()), check", "P(), check") + "def f(w, v):\n"
            "    def loss(w):\n        return ((w * v) ** 2).mean()\n    return jax.grad(loss)(w)  # NNX757\n",
            _SHARDED + _LOSS + _UNCHECKED + "def f(w, v):\n    value, slope = jax.value_and_grad(loss)(w, v)\n"
            "    updates, _ = optax.sgd(0.1).update(slope, optax.sgd(0.1).init(w), w)\n"
            '    return jax.lax.pmean(value, "data"), optax.apply_updates(w, updates)  # NNX757\n',
            _SHARDED + _LOSS + _UNCHECKED + "def f(w, v):\n    value, slope = jax.value_and_grad(loss)(w, v)\n"
            '    return jax.lax.pmean(value, "data"), jax.tree.map(lambda p, g: p - 0.1 * g, w, slope)  # NNX757\n',
        ),
        clean=(
            """\
tx = optax.sgd(0.1)
def reduced(loss, grads):
    return jax.lax.pmean((loss, grads), axis_name="replica")
def step(w, state, v):
    loss, grads = jax.value_and_grad(lambda w: jnp.mean((v @ w) ** 2))(w)
    loss, grads = reduced(loss, grads)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(w, updates), state, loss
def step_of_leaves(w, state, v):
    loss, grads = jax.value_and_grad(lambda w: jnp.mean((v @ w) ** 2))(w)
    grads = jax.tree.map(lambda g: jax.lax.pmean(g, axis_name="replica"), grads)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(w, updates), state, jax.tree.map(lambda x: jax.lax.pmean(x, "replica"), loss)
w = jnp.ones((1, 3))
for one in (step, step_of_leaves):
    print(jax.pmap(one, axis_name="replica")(w, jax.pmap(tx.init)(w), jnp.ones((1, 4, 3))))
""",
            """\
@functools.partial(jax.pmap, axis_name="devices")
def graded(w, v):
    loss, grads = jax.value_and_grad(lambda w: ((v @ w) ** 2).mean())(w)
    loss = jax.lax.pmean(loss, "devices")
    return loss, grads
print(graded(jnp.ones((1, 3)), jnp.ones((1, 2, 3)))[0])
""",
            """\
def penalty(w):
    return (w**2).sum()
def loss(w, v):
    return ((w * v) ** 2).mean()
@partial(jax.pmap, axis_name="batch")
def step(w, v):
    value, grads = jax.value_and_grad(loss)(w, v)
    value, grads = jax.lax.pmean((value, grads), "batch")
    more = jax.grad(penalty)(w)
    return w - 0.1 * (grads + more), value
print(step(jnp.ones((1, 3)), jnp.ones((1, 3))))
""",
            """\
@partial(jax.pmap, axis_name="batch")
def gradients(w, v):
    loss, grads = jax.value_and_grad(lambda w: jnp.mean((w * v) ** 2))(w)
    loss = jax.lax.pmean(loss, axis_name="batch")
    grads = jax.tree.map(lambda g: jnp.clip(g, -1.0, 1.0), grads)
    size = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    grads = jax.tree.map(lambda g: jnp.minimum(1, 1 / size) * g, grads)
    return grads, loss
@partial(jax.pmap, axis_name="batch")
def update(w, grads):
    return w - 0.1 * jax.lax.pmean(grads, axis_name="batch")
w = jnp.ones((1, 3))
grads, loss = gradients(w, w)
print(update(w, grads))
""",
            """\
tx = optax.sgd(0.1)
@partial(jax.pmap, axis_name="members")
def step(w, state, v):
    grads = jax.grad(lambda w: jnp.mean((v @ w) ** 2))(w)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(w, updates), state
w = jnp.ones((1, 3))
w, state = step(w, jax.pmap(tx.init)(w), jnp.ones((1, 4, 3)))
""",
            """\
tx = optax.sgd(0.1)
def together(tree):
    return jax.lax.pmean(tree, "batch")
@partial(jax.pmap, axis_name="batch")
def step(w, state, v):
    grads = jax.grad(lambda w: jnp.mean((v @ w) ** 2))(w)
    updates, state = tx.update(together(grads), state)
    return optax.apply_updates(w, updates), state
w = jnp.ones((1, 3))
w, state = step(w, jax.pmap(tx.init)(w), jnp.ones((1, 4, 3)))
""",
            """\
def update(params, state, old, v):
    def loss(params, state):
        out = params * v
        return out.sum(), (out.mean(), state + 1.0)
    grads, (mean, state) = jax.grad(loss, has_aux=True)(params, state)
    grads = jax.lax.psum(grads, "devices")
    old = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, old, state)
    return params - grads, state, old
run = jax.pmap(update, axis_name="devices")
print(run(x[None], x[None], x[None], x[None]))
""",
            _SHARDED + _LOSS + _UNCHECKED + "def f(w, v):\n    value, slope = jax.value_and_grad(loss)(w, v)\n"
            '    value, slope = jax.lax.pmean((value, slope), "data")\n'
            "    updates, _ = optax.sgd(0.1).update(slope, optax.sgd(0.1).init(w), w)\n"
            "    return value, optax.apply_updates(w, updates)\n",
            _SHARDED + _LOSS + _UNCHECKED + "def f(w, v):\n    value, slope = jax.value_and_grad(loss)(w, v)\n"
            '    mean = functools.partial(jax.lax.pmean, axis_name="data")\n'
            "    return mean(value), jax.tree.map(lambda p, g: p - 0.1 * mean(g), w, slope)\n",
            _SHARDED + '@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P())\n'
            'def f(v):\n    return jax.lax.pmean(jnp.mean(v), "data")\n',
            _SHARDED + "@partial(jax.shard_map, mesh=mesh, in_specs=P(), out_specs=P())\n"
            "def f(v):\n    return jnp.mean(v)\n",
            _SHARDED + '@partial(jax.shard_map, mesh=mesh, in_specs=P("data"), out_specs=P("data"))\n'
            "def f(v):\n    return v - jnp.mean(v)\n",
            _SHARDED + '@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P())\n'
            "def f(v, w):\n    return jnp.mean(w)\n",
            _PREPARED + '@jax.jit\n@partial(mapped, in_specs=P("data"), out_specs=(P(), P()))\n'
            'def f(v):\n    return jax.lax.psum(v.sum(), "data"), jax.lax.pmax(jnp.max(v), "data")\n',
            _PREPARED + 'def f(v):\n    return jax.lax.pmean(jnp.mean(v), "data")\n'
            'g = jax.jit(mapped(f, in_specs=P("data"), out_specs=P()))\n',
            _PREPARED + "def f(v):\n    return v - jnp.mean(v)\n"
            'g = mapped(f, in_specs=P("data"), out_specs=P("data"))\n',
            _SHARDED + _LOSS + "def both(w, v):\n    value, slope = jax.value_and_grad(loss)(w, v)\n"
            '    return jax.lax.pmean((value, slope), "data")\n'
            + _UNCHECKED
            + "def f(w, v):\n    return both(w, v)\ng = f(2.0, jnp.ones(8))\n",
            _SHARDED
            + _LOSS
            + _UNCHECKED.replace(", check_vma=False", "")
            + "def f(w, v):\n    value, slope = jax.value_and_grad(loss)(w, v)\n"
            '    return jax.lax.pmean(value, "data"), slope\ng = f(2.0, jnp.ones(8))\n',
            _SHARDED + _UNCHECKED + "def f(w, v):\n    def loss(w):\n"
            '        return jax.lax.pmean(((w * v) ** 2).mean(), "data")\n'
            "    return jax.value_and_grad(loss)(w)\ng = f(2.0, jnp.ones(8))\n",
            _SHARDED + _UNCHECKED + "def f(w, v):\n    value, slope = jax.value_and_grad(jnp.square)(w)\n"
            "    return value, slope\ng = f(2.0, jnp.ones(8))\n",
        ),
    ),
    "NNX758": Cases(
        bad=(
            """\
@functools.lru_cache(maxsize=None)
def distance(a, b):
    return jnp.sum((a - b) ** 2)
print(distance(jnp.ones(3), jnp.zeros(3)))  # NNX758
""",
            "counts = {}\nfor one in jnp.argmax(jnp.ones((3, 2)), axis=-1):\n    counts[one] = 1  # NNX758\n",
            "names = {0: 'a', 1: 'b'}\nbest = jnp.argmax(x)\nprint(names[best])  # NNX758\n",
            "print(len(set(jnp.arange(3))))  # NNX758\n",
            "seen = set()\nseen.add(jnp.sum(x))  # NNX758\n",
        ),
        clean=(
            """\
@functools.lru_cache(maxsize=None)
def grid(size, low=0.0):
    return jnp.linspace(low, 1.0, size)
def distance(a, b):
    return jnp.sum((a - b) ** 2)
print(grid(4), grid(5, low=0.5), distance(grid(4), grid(4)), grid(len(jnp.ones(3))))
""",
            "counts = {}\nfor one in jnp.argmax(jnp.ones((3, 2)), axis=-1).tolist():\n    counts[one] = 1\n",
            "names = {0: 'a', 1: 'b'}\nbest = jnp.argmax(x)\nprint(names[int(best)])\n",
            "rows = jnp.ones((3, 2))\nprint(rows[jnp.argmax(x)])\n",
            "counts = {}\nfor one in np.arange(3):\n    counts[one] = 1\n",
            "values = {'a': jnp.sum(x)}\nprint(values['a'])\n",
            """\
SCALES = {2.0: (2, 1)}
class Up(nnx.Module):
    def __init__(self, scale: float = 2.0):
        self.scale = scale
        self.up = SCALES[self.scale][0]
y = Up(2.0)
""",
        ),
    ),
    "NNX759": Cases(
        bad=(
            """\
def loss_fn(model, x):
    return jnp.mean(model(x) ** 2)
def step(model, x):
    loss, grads = nnx.value_and_grad(loss_fn, model, x)  # NNX759
    return loss, grads
""",
            """\
def fit(model, x):
    return nnx.grad(lambda m: jnp.mean(m(x) ** 2), model)  # NNX759
fit(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), x)
""",
            """\
def pooled(h):
    return h.mean(axis=0)
def chosen(flag, h):
    return jax.lax.cond(flag, pooled(h), pooled(2 * h))  # NNX759
""",
            """\
class Tally(nnx.Module):
    def __init__(self):
        self.right = nnx.Variable(jnp.array(0))
def counted(tally):
    tally.right[...] += 1
@nnx.jit
def seen(tally, x):
    nnx.cond(x.sum() > 0, counted(tally), lambda tally: None, tally)  # NNX759
""",
            """\
def loss(params, v):
    return (v @ params["w"]).sum()
params = {"w": jnp.ones(3)}
slopes = jax.grad(loss, params, x)  # NNX759
""",
            """\
def gap(wanted, given):
    return jnp.mean((wanted - given) ** 2)
def judged(model, rows, wanted):
    given = jax.vmap(model(rows))  # NNX759
    return gap(wanted, given)
""",
            """\
def hits(model, rows, labels):
    scores = jax.vmap(model(rows))  # NNX759
    return jnp.mean(jnp.argmax(scores, axis=1) == labels)
""",
            """\
slope = jax.grad(lambda v: jnp.sum(v**2))
def slopes(rows):
    return jax.vmap(slope(rows))  # NNX759
""",
            """\
def slopes(v):
    return jax.grad(lambda u: jnp.sum(u**3), v)  # NNX759
def curved(rows):
    return jax.vmap(jax.jacobian(slopes))(rows)
""",
            """\
doubled = jax.jit(lambda v: v * 2, x)  # NNX759
""",
            """\
rows = jnp.ones((2, 3))
dots = jax.vmap(jnp.dot, rows, rows)  # NNX759
""",
            "def loss(w):\n    return jnp.sum(w**2)\ng = jax.grad(loss(x))  # NNX759\n",
            "y = jax.lax.cond(x[0] > 0, 1.0, 0.0)  # NNX759\n",
            "y = jax.lax.switch(0, [lambda v: v, jnp.ones(3)], x)  # NNX759\n",
            "step = jax.jit(jnp.sum(x))  # NNX759\n",
        ),
        clean=(
            """\
def made(scale):
    return lambda v: v * scale
rows = jnp.ones((2, 3))
mapped = jax.vmap(made(2.0))
print(mapped(rows) + 1, jax.vmap(mapped)(rows)[0], jax.jit(mapped).lower(rows).as_text()[:1])
""",
            """\
def slopes(place, v):
    return jax.grad(lambda a, b: jnp.sum(a * b), place)(v, v)
print(slopes(0, x))
""",
            """\
both = {"mapped": jax.vmap(jnp.sin), "slope": jax.grad(lambda v: jnp.sum(v**2))}
print(both["mapped"](x) * 2, both["slope"](x) - x)
""",
            """\
kinds = [jax.vmap(lambda v, scale=scale: v * scale) for scale in (1.0, 2.0)]
print(kinds[0](x) + kinds[1](x))
""",
            """\
def loss_fn(model, x):
    return jnp.mean(model(x) ** 2)
def step(model, x):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x)
    dx = jax.grad(lambda v, w: (v * w).sum(), 1)(x, 2 * x)
    places = (0, 1)
    both = jax.grad(lambda v, w: (v * w).sum(), places)(x, x)
    return loss, dx, both
print(step(model, x)[0])
""",
            """\
made = jax.value_and_grad(lambda w: (w**2).sum())
loss, grads = made(x)
print(loss)
""",
            """\
def pooled(axis):
    def inner(h):
        return h.mean(axis=axis)
    return inner
def chosen(flag, h):
    return jax.lax.cond(flag, pooled(0), pooled(-2), h)
print(chosen(True, jnp.ones((3, 4))))
""",
            """\
def pooled(h):
    return h.mean(axis=0)
def chosen(flag, h):
    return jax.lax.cond(flag, pooled, lambda h: pooled(2 * h), h)
print(chosen(True, x))
""",
            """\
rows = jnp.ones((2, 3))
twice = jax.vmap(jax.vmap(jnp.sin, 0), 0)
print(twice(rows), jax.jit(jnp.dot)(rows, x), jax.vmap(jnp.dot, (0, None), 0)(rows, x))
""",
            """\
def loss(w, v):
    return jnp.mean((v * w) ** 2)
step = jax.checkpoint(loss)
print(jax.value_and_grad(step, argnums=1)(x, x), jax.hessian(loss)(x, x).shape)
""",
            """\
def loss(params, v):
    return (v @ params["w"]).sum()
params = {"w": jnp.ones(3)}
print(jax.grad(loss, 0)(params, x), jax.vmap(loss, (None, 0))(params, jnp.ones((2, 3))))
""",
            """\
axes = ({"w": 0},)
print(jax.vmap(lambda p: p["w"] * 2, axes)({"w": x}))
def slope(a, b, argnums):
    return jax.grad(lambda a, b: a * b, argnums)(a, b)
print(slope(1.0, 2.0, 0), slope(1.0, 2.0, (0, 1)))
""",
            "def loss(w):\n    return jnp.sum(w**2)\ng = jax.grad(loss)(x)\n",
            "y = jax.lax.cond(x[0] > 0, lambda: 1.0, lambda: 0.0)\n",
            "def loss_for(size):\n    return lambda w: jnp.sum(w**2) * size\ng = jax.grad(loss_for(2))(x)\n",
            "y = jax.lax.switch(0, [jnp.sin, jnp.cos], x)\n",
            "step = jax.jit(partial(jnp.sum, axis=0))\n",
        ),
    ),
    "NNX760": Cases(
        bad=(
            """\
def times(v, t):
    if len(t) < 2:
        return v
    if t < 0:  # NNX760
        raise ValueError("negative")
    return v * t
print(times(x, jnp.arange(3.0)))
""",
            """\
@jax.jit
def halved(low, high):
    def cond(state):
        low, high = state
        return high - low > 1e-3  # NNX760
    return jax.lax.while_loop(cond, lambda s: (s[0], 0.5 * (s[0] + s[1])), (low, high))
print(halved(jnp.zeros(3), x))
""",
            """\
def times(start, count):
    found = jnp.linspace(start, 1.0, count).reshape(-1, 2)
    if start == found[0]:  # NNX760
        return found
    return found[1:]
print(times(0.0, 4))
""",
            "def going(c):\n    return jnp.abs(c[0] - c[1]) > 0.1  # NNX760\n"
            + _CARRY
            + "y = jax.lax.while_loop(going, body, (jnp.ones(3), jnp.zeros(3)))\n",
            "y = jax.lax.while_loop(lambda c: c > 0.1, lambda c: c / 2, jnp.ones(3))  # NNX760\n",
            "v = jnp.zeros(3)\ny = jax.lax.cond(v > 0, lambda a: a, lambda a: -a, v)  # NNX760\n",
        ),
        clean=(
            """\
def scaled(given):
    weight = np.array(given).reshape((1,))
    if weight != 0:
        return x / weight
    other = np.asarray(given).reshape(1, 1)
    return x if other > 0.5 else -x
print(scaled(jnp.zeros(1)))
""",
            """\
def times(v, t=1):
    if isinstance(t, (int, float)):
        if t < 0:
            raise ValueError("negative")
        t = jnp.arange(v.shape[0]) * t
    return v * t
print(times(x), times(x, jnp.arange(3.0)))
""",
            """\
def checked(v, t=1):
    if np.isscalar(t):
        assert t > 0
    return v * t
def guarded(v, t=1):
    if not isinstance(t, float):
        return v * t
    return v if t < 0 else v * 2
def flat(v, t):
    if t.ndim == 0 or t.size == 1:
        if t > 0:
            return v
    return v * t
print(checked(x), checked(x, jnp.ones(3)), guarded(x, jnp.ones(3)), flat(x, jnp.ones(3)))
""",
            """\
@jax.jit
def halved(v):
    return jax.lax.while_loop(lambda s: s > 1e-3, lambda s: 0.5 * s, v)
print(jax.vmap(halved)(x), jax.lax.map(halved, x))
""",
            """\
@jax.jit
def halved(low, high):
    def cond(state):
        low, high = state
        return jnp.any(high - low > 1e-3)
    return jax.lax.while_loop(cond, lambda s: (s[0], 0.5 * (s[0] + s[1])), (low, high))
print(halved(jnp.zeros(3), x))
""",
            """\
flip = np.random.randint(0, 2, 1)
if flip == 1:
    print(flip)
""",
            """\
share = np.random.rand(3)
coin = np.random.choice(2, size=1)
if coin == 0:
    print(share)
""",
            """\
def times(start, count):
    found, step = jnp.linspace(start, 1.0, count, retstep=True)
    found = found.reshape(-1, 1)
    assert start == found[0]
    if jnp.reshape(found, (count, 1))[1] > step:
        return found
    return found[1:]
print(times(0.0, 4))
""",
            # one element has a truth
            """\
class Mesh:
    def __init__(self, vertices):
        self.count = vertices.shape[0]
    def features(self, values):
        count = np.array([self.count])
        assert count == len(values)
        return jnp.asarray(count)
print(Mesh(jnp.ones((3, 2))).features(x))
""",
            """\
def checked(values, n):
    count = np.asarray([n])
    if count != values.shape[0]:
        raise ValueError(n)
    if np.atleast_1d(n) > 5:
        return None
    return values
print(checked(x, 3))
""",
            """\
@np.vectorize
def sign(m):
    fac = 1
    if m < 0:
        fac = -1
    return fac
print(sign(jnp.arange(-2, 3)))
""",
            """\
def solve(rs, limit):
    norms = jnp.ones_like(rs, shape=limit + 1)
    def going(carry):
        norms, k = carry
        return (norms[k] > 1e-6) & (k < limit)
    def body(carry):
        norms, k = carry
        return norms.at[k + 1].set(norms[k] / 2), k + 1
    return jax.lax.while_loop(going, body, (norms, 0))
print(solve(jnp.ones((3, 3)), 4))
""",
            "def going(c):\n    return jnp.max(jnp.abs(c[0] - c[1])) > 0.1\n"
            + _CARRY
            + "y = jax.lax.while_loop(going, body, (jnp.ones(3), jnp.zeros(3)))\n",
            "y = jax.lax.while_loop(lambda c: c > 0.1, lambda c: c / 2, 1.0)\n",
            "y = jax.vmap(lambda v: jax.lax.cond(v > 0, lambda: v, lambda: -v))(jnp.ones(3))\n",
            "@jax.vmap\ndef halved(v):\n    return jax.lax.while_loop(lambda c: c > 0.1, lambda c: c / 2, v)\n"
            "print(halved(jnp.ones(3)))\n",
            "v = jnp.zeros(3)\ny = jax.lax.cond(v[0] > 0, lambda a: a, lambda a: -a, v)\n",
            "y = jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, jnp.ones(3)))\n",
        ),
    ),
    "NNX761": Cases(
        bad=(
            "v = jnp.array([])\nfor i in range(50):\n    v = jnp.append(v, i)  # NNX761\n",
            "v = jnp.zeros((0, 2))\nn = 0\nwhile n < 40:\n"
            "    v = jnp.concatenate([v, jnp.ones((1, 2))])  # NNX761\n    n += 1\n",
            "def collected(run, n):\n    v = jnp.zeros((0, 2))\n    for i in range(n):\n"
            "        v = jnp.vstack((v, run(i)))  # NNX761\n    return v\n",
        ),
        clean=(
            "v = []\nfor i in range(50):\n    v.append(i)\ny = jnp.array(v)\n",
            "v = jnp.array([])\nfor i in range(3):\n    v = jnp.append(v, i)\n",
            "v = jnp.ones(1)\nfor i in range(50):\n    v = jnp.append(v, v.sum())\n",
            "for i in range(50):\n    v = jnp.append(x, i)\n",
        ),
    ),
    "NNX762": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.dense = nn.Linear(n, n)  # NNX762
        self.drop = nn.Dropout(0.1)
    def forward(self, v):
        return self.drop(self.dense(v))
""",
            """\
class Head:
    def __init__(self):
        self.softmax = jax.nn.Softmax(dim=1)  # NNX762
""",
            """\
def loss(logits, target):
    return jax.nn.cross_entropy(input=logits, output=target)  # NNX762
""",
            "noise = jax.random.normal(jax.random.key(1), (3,), scale=2.0)  # NNX762\n",
            """\
class Scale(nnx.Module):
    def __init__(self):
        self.weight = nnx.Param()  # NNX762
def size(v):
    return jnp.norm(v, ord=2)  # NNX762
def turned(v):
    return jnp.inv(v)  # NNX762
def on_cpu(v):
    with jax.default_backend("cpu"):  # NNX762
        return jnp.sin(v)
from jax.experimental import pjit
def laid_out(f):
    return pjit.pjit(f, in_axis_resources=None, out_axis_resources=None)  # NNX762
""",
            "y = jax.nn.softmax(x, dim=-1)  # NNX762\n",
            "tx = optax.adamw(lr=1e-3)  # NNX762\n",
            "y = jnp.cat([x, x])  # NNX762\n",
            "y = jax.random.normal(key, size=(3,))  # NNX762\n",
            "y = jnp.sum(x, keepdim=True)  # NNX762\n",
            "y = jnp.random.normal(key, (3,))  # NNX762\n",
            "y = jnp.clip(x, a_min=0.0, a_max=1.0)  # NNX762\n",
            "@jax.jit\ndef kept(v):\n    return jnp.at[v < 0].set(0)  # NNX762\n",
            """\
def squashed(v, dtype=jnp.floatt32):  # NNX762
    return jnp.tahn(v).astype(dtype)  # NNX762
def turned(v):
    return jnp.transpose(v, 1, 0)  # NNX762
""",
            """\
from jax.numpy import linagl  # NNX762
class Trainer:
    def __init__(self, rate):
        schedule = optax.cosine_annealing_schedule(rate, 100)  # NNX762
        self.tx = optax.adamw(schedule, weightdecay=0.1)  # NNX762
    def step(self, params, grads, state):
        updates, state = self.tx.update(grads, state, params)  # NNX871
        return optax.apply_updates(params), state  # NNX762
""",
            """\
import jax.random as jr
def relu(v):
    return jnp.where(v > 0, v)  # NNX762
def mapped(f, v):
    return jax.vmap(f, axis=0)(v)  # NNX762
print(jr.normal(shape=(3,)))  # NNX762
""",
        ),
        clean=(
            """\
print(jax.nn.standardize(x, axis=0), jax.nn.softmax(x, axis=-1))
""",
            "from jax import random\nprint(random.rayleigh(random.key(1), scale=2.0))\n"
            "print(random.weibull_min(random.key(2), scale=1.0, concentration=2.0))\n"
            "print(random.double_sided_maxwell(random.key(3), loc=0.0, scale=1.0))\n",
            "noise = 2.0 * jax.random.normal(jax.random.key(1), (3,))\nprint(noise)\n",
            "try:\n    y = jnp.clip(x, min=0.0)\nexcept TypeError:\n    y = jnp.clip(x, a_min=0.0)\n",
            """\
JAX_VERSION = tuple(int(part) for part in jax.__version__.split(".")[:2])
if JAX_VERSION < (0, 4):
    y = jnp.clip(x, a_min=0.0)
else:
    y = jnp.clip(x, min=0.0)
""",
            """\
if hasattr(jnp, "concat"):
    y = jnp.concat([x, x])
else:
    y = jnp.cat([x, x])
""",
            """\
mask = jnp.tril(jnp.ones((3, 3)))
print(jnp.linalg.norm(mask), jnp.linalg.inv(mask), jax.default_backend())
""",
            """\
class Scale(nnx.Module):
    def __init__(self):
        self.weight, self.count = nnx.Param(x), nnx.Variable(value=x)
with jax.default_device(jax.devices("cpu")[0]):
    print(Scale().weight[...] + Scale().count[...])
""",
            "y = jax.nn.softmax(x, axis=-1)\n",
            "import types\njnp_at = types.SimpleNamespace(at=[x])\nprint(jnp_at.at[0], x.at[0].set(1.0))\n",
            "tx = optax.adamw(learning_rate=1e-3, weight_decay=0.1)\n",
            """\
import importlib
def first(*names):
    return next(getattr(jnp, name) for name in names if hasattr(jnp, name))
transposed = jnp.permute_dims if hasattr(jnp, "permute_dims") else jnp.permute_dim
try:
    from jax.numpy import linagl as linalg
except ImportError:
    from jax.numpy import linalg
def older(v):
    if int(jax.__version__.split(".")[1]) < 4:
        return jnp.tahn(v)
    return jnp.tanh(v, *())
options = {"axis": 0}
print(first("tahn", "tanh")(x), linalg.norm(x), older(x), jnp.sum(x, **options), jnp.where(x > 0))
""",
            """\
from types import SimpleNamespace
class Own:
    def sum(self, v, dim=0):
        return v.sum()
jnp_like = SimpleNamespace(sum=Own().sum, tahn=jnp.tanh)
jax.numpy.tahn = jnp.tanh
print(jnp_like.sum(x, dim=0), jnp_like.tahn(x), jnp.tahn(x))
del jax.numpy.tahn
""",
            """\
shape = (2, 3)
print(jnp.where(x > 0, x, 0.0), jnp.transpose(x, (0,)), jnp.matmul(x, x, precision=None))
print(jax.random.uniform(key, shape, minval=0.0, maxval=1.0).shape, jax.vmap(jnp.sin, in_axes=0, out_axes=0)(x))
schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=2, decay_steps=10, end_value=0.01)
print(optax.apply_updates({"w": x}, {"w": x}), schedule(3), jax.tree.map(jnp.add, x, x))
print(jax.nn.gelu(x, approximate=True))
""",
            "y = jnp.ravel_multi_index((jnp.array([0]), jnp.array([1])), dims=(2, 2))\n",
            "y = jax.random.multivariate_normal(key, mean=jnp.zeros(2), cov=jnp.eye(2))\n",
            "k = jax.random.key(seed=3)\n",
            "y = jnp.clip(x, 0.0, 1.0)\n",
            "if hasattr(jnp, 'fill_diagonal'):\n    y = jnp.fill_diagonal(jnp.eye(2), 1.0, inplace=False)\n",
            "y = np.clip(np.ones(3), a_min=0.0, a_max=1.0)\nz = jnp.clip(x, min=0.0, max=1.0)\n",
        ),
    ),
    "NNX763": Cases(
        bad=(
            """\
def chunk(key, chunk_shape):
    return jax.random.normal(key, 1, *chunk_shape)  # NNX763
""",
            """\
def weights(keys, layers):
    return [jax.random.normal(k, din, dout) for k, din, dout in zip(keys, layers[:-1], layers[1:])]  # NNX763
""",
            """\
def joined(one, two):
    return jnp.concatenate(one, two, axis=-1)  # NNX763
""",
            """\
def longer(tokens, token):
    return jnp.concatenate(tokens, token[None])  # NNX763
""",
            """\
def relu(v):
    return jnp.max(0, v)  # NNX763
print(relu(x))
""",
            """\
def clipped(v):
    low = jnp.zeros_like(v)
    v = jnp.min(v, 1.0)  # NNX763
    return jnp.max(jnp.sin(v), low)  # NNX763
""",
            """\
def losses(v):
    one = jnp.square(v)
    two = jnp.abs(v)
    return jnp.mean(one, two)  # NNX763
""",
            """\
print(jax.nn.logsumexp(jnp.sin(x), jnp.cos(x)))  # NNX763
""",
            """\
def mask(size):
    return jnp.tril(jnp.ones(size, size))  # NNX763
""",
            "y = jnp.zeros(3, 4)  # NNX763\n",
            "width = 4\ny = jax.random.normal(key, 3, width)  # NNX763\n",
            "y = jnp.concatenate(x, jnp.ones(3))  # NNX763\n",
            "y = jnp.stack(x, model(x))  # NNX763\n",
        ),
        clean=(
            """\
def chunk(key, chunk_shape):
    return jax.random.normal(key, (1, *chunk_shape))
print(chunk(key, (2, 3)).shape)
""",
            """\
def joined(one, two, axes):
    return jnp.concatenate([one, two], axis=-1), jnp.concatenate((one, two), axes[0])
print(joined(x, x, (0, 1)))
""",
            """\
def longer(tokens, token):
    return jnp.concatenate([tokens, token[None]])
print(longer(x, x[0]))
""",
            """\
def stacked(parts):
    return jnp.stack(*parts)
print(stacked(([x, x], 1)))
""",
            """\
def reduced(v, axis, axes=(0, 1)):
    last = v.ndim - 1
    return jnp.max(v, axis), jnp.sum(v, axes), jnp.argmax(v, last), jnp.all(v, tuple(range(v.ndim)))
print(reduced(jnp.ones((3, 2)), 0))
""",
            """\
print(jnp.maximum(0, x), jnp.max(jnp.stack([x, x]), 0), jnp.sum(jnp.ones((2, 3)), jnp.argmin(x)), jnp.max(3.0))
""",
            """\
for axis in range(2):
    print(jnp.std(jnp.ones((3, 2)), axis), max(0, axis))
""",
            """\
class Parts:
    @staticmethod
    def empty(batch, length, dtype, width=4):
        return jnp.zeros((batch, length), dtype), jnp.zeros((batch, width), dtype)
def build(batch):
    return Parts.empty(batch, 2, jnp.float32)
def outdated(batch):
    return Parts.empty(batch, jnp.float32, 2)
print(build(3)[0].shape)
""",
            """\
n, kind = 3, jnp.float32
print(jnp.ones((n, n)), jnp.zeros(n, kind), jnp.full(n, n), jnp.ones(n, "int32"), jnp.eye(n, n))
""",
            """\
def made(shape, dtype=jnp.float32):
    return jnp.ones(shape, dtype), jax.random.normal(key, shape, dtype)
print(made(3))
""",
            "y = jnp.zeros((3, 4))\n",
            "y = jnp.zeros(3, jnp.int32)\n",
            "y = jax.random.normal(key, (3, 4), jnp.float32)\n",
            "y = jnp.concatenate([x, x], 0)\n",
            "axis = 0\ny = jnp.stack((x, x), axis)\n",
        ),
    ),
    "NNX764": Cases(
        bad=(
            "y = x[: x.shape[0] / 2]  # NNX764\n",
            "half = len(batches) / 2\nfor i in range(half):  # NNX764\n    print(i)\n",
            "y = jnp.zeros((x.size / 3, 2))  # NNX764\n",
            "y = jax.lax.switch(jnp.floor(x[0] * 1.5), [jnp.sin, jnp.cos], x * 1.0)  # NNX764\n",
            """\
def heads(v, n):
    rows, width = v.shape
    size = width / n
    return v.reshape(rows, n, size)  # NNX764
""",
            """\
def rotated(v):
    d = v.shape[-1]
    half = d / 2
    return jnp.concatenate([-v[..., half:], v[..., :half]], axis=-1)  # NNX764 NNX764
""",
            """\
def narrow(dim, rngs):
    return nnx.Linear(dim, dim / 4, rngs=rngs)  # NNX764
""",
        ),
        clean=(
            "import numpy as np\nsteps = 20\nprint(np.r_[0 : 1 : 1 / steps].size, np.mgrid[0 : 2 : 1 / steps].size)\n",
            "y = x[: x.shape[0] // 2]\n",
            "half = len(batches) // 2\nfor i in range(half):\n    print(i)\n",
            "share = x.size / 3\nprint(x * share)\n",
            "table = {1.5: 'a'}\nprint(table[3 / 2])\n",
            "y = x[int(x.shape[0] / 2)]\n",
            """\
grid = jnp.ones((4, 6))
rows, width = grid.shape
size = width // 3
half = int(width / 2)
print(grid.reshape(rows, 3, size).shape, grid[:, :half], 1 / width)
print(grid.reshape((int(rows / 2), -1)).shape, {0.5: 'a'}[2 / 4])
""",
            """\
class Half:
    def __init__(self, dim):
        self.dim = dim
        self.share = dim / 4
    def __call__(self, v):
        size = v.shape[-1] / self.share
        return v[..., : int(size)].reshape(-1, self.dim // 2) / size
print(Half(2)(jnp.ones((2, 2))))
""",
            """\
steps = len(batches) / 2
for i in range(round(steps)):
    print(i, steps)
print(jnp.arange(steps), jnp.linspace(0.0, steps, 3))
""",
            """\
class Frame:
    shape = (4, 2)
    loc = {}
    def __class_getitem__(cls, part):
        return part
frame = Frame
frame.loc = Frame
half = frame.shape[0] / 2
print(frame.loc[:half])
""",
        ),
    ),
    "NNX765": Cases(
        bad=(
            "y = jnp.log(jax.nn.softmax(x))  # NNX765\n",
            "p = nnx.softmax(x, axis=-1)\ny = -jnp.log(p).sum()  # NNX765\n",
            "p = jax.nn.sigmoid(x)\ny = -(jnp.log(p) + 0.0).mean()  # NNX765\n",
        ),
        clean=(
            """\
def divergence(v):
    uniform = jax.nn.softmax(jnp.zeros(v.shape))
    return jnp.mean(uniform * (jnp.log(uniform) - jax.nn.log_softmax(v)))
print(divergence(x))
""",
            "y = jax.nn.log_softmax(x)\n",
            "y = jnp.log(jax.nn.softmax(x) + 1e-8)\n",
            "y = jnp.log(jnp.clip(jax.nn.softmax(x), 1e-6, 1.0))\n",
            "p = jax.nn.softmax(x)\nprint(p, jax.nn.log_sigmoid(x))\n",
        ),
    ),
    "NNX988": Cases(
        bad=(
            """\
def loss(w):
    logits = w * x
    return jnp.log(jnp.sum(jnp.exp(logits))) - logits[0]  # NNX988
print(jax.grad(loss)(x))
""",
            """\
def log_probs(w, v):
    hidden = jnp.tanh(v @ w)
    logits = hidden @ w
    total = jnp.exp(logits).sum(axis=-1, keepdims=True)
    return logits - jnp.log(total)  # NNX988
def loss(w, v, label):
    return -jnp.mean(label * log_probs(w, v))
print(jax.value_and_grad(loss)(jnp.eye(3), jnp.ones((2, 3)), 1.0)[0])
""",
            """\
def softmax(v):
    e = jnp.exp(v)
    return e / jnp.sum(e, axis=-1, keepdims=True)
def loss(w):
    return -jnp.log(softmax(w * x))[0]  # NNX988
print(jax.grad(loss)(x))
""",
            """\
def loss(w, t):
    p = 1.0 / (1.0 + jnp.exp(-jnp.vdot(w, x)))
    return -t * jnp.log(p)  # NNX988
print(jax.grad(loss)(x, 1.0))
""",
            """\
def loss(w):
    p = jax.nn.softmax(w * x)
    return -jnp.log(p[0])  # NNX988
print(jax.grad(loss)(x))
""",
            """\
def predict(w, v):
    return jax.nn.softmax(v @ w, axis=-1)
def loss(w, v, label):
    return -jnp.mean(jax.nn.one_hot(label, 3) * jnp.log(predict(w, v)))  # NNX988
step = jax.jit(jax.value_and_grad(loss))
print(step(jnp.eye(3), x, 1)[0])
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return nnx.softmax(self.out(v))
def loss(net, v, label):
    picked = jnp.take_along_axis(net(v), label[:, None], axis=1)
    return -jnp.log(picked).mean()  # NNX988
print(nnx.value_and_grad(loss)(Net(nnx.Rngs(0)), jnp.ones((2, 3)), jnp.array([0, 1]))[0])
""",
            """\
def loss(w, t):
    p = jax.nn.sigmoid(jnp.vdot(w, x))
    return -(t * jnp.log(p) + (1 - t) * jnp.log(1 - p))  # NNX988
print(jax.grad(loss)(x, 1.0))
""",
        ),
        clean=(
            """\
def loss(w):
    logits = w * x
    return jax.nn.logsumexp(logits) - logits[0]
print(jax.grad(loss)(x))
""",
            """\
def loss(w):
    logits = w * x
    logits = logits - logits.max()
    return jnp.log(jnp.sum(jnp.exp(logits))) - logits[0]
print(jax.grad(loss)(x))
""",
            """\
def loss(w):
    unit = w / jnp.linalg.norm(w)
    logits = unit * x / 0.5
    return jnp.log(jnp.sum(jnp.exp(logits))) - logits[0]
print(jax.grad(loss)(x))
""",
            """\
def loss(w):
    logits = jnp.tanh(w * x)
    return jnp.log(jnp.sum(jnp.exp(logits))) - logits[0]
print(jax.grad(loss)(x))
""",
            """\
def energy(w, v):
    return jnp.log(jnp.sum(jnp.exp(w * v)))
print(jax.grad(energy)(x, x))
""",
            """\
def softmax(v):
    e = jnp.exp(v)
    return e / jnp.sum(e, axis=-1, keepdims=True)
def loss(w):
    return -jnp.log(softmax(w * x) + 1e-9)[0]
print(jax.grad(loss)(x))
""",
            """\
def loss(w):
    return -jax.nn.log_softmax(w * x)[0]
print(jax.grad(loss)(x))
""",
            """\
def loss(w):
    p = jax.nn.softmax(w * x)
    return -jnp.log(p + 1e-9)[0]
print(jax.grad(loss)(x))
""",
            """\
def loss(w):
    p = jnp.clip(jax.nn.softmax(w * x), 1e-7, 1.0)
    return -jnp.log(p)[0]
print(jax.grad(loss)(x))
""",
            """\
def loss(w):
    p = jax.nn.softmax(jnp.tanh(w * x))
    return -jnp.log(p)[0]
print(jax.grad(loss)(x))
""",
            """\
def loss(w):
    return optax.softmax_cross_entropy_with_integer_labels(w * x, 0)
print(jax.grad(loss)(x))
""",
            """\
def chosen(w):
    return jnp.log(w[0]) + jax.nn.log_sigmoid(w[1])
print(jax.grad(chosen)(x), nnx.softmax(x))
""",
        ),
    ),
    "NNX981": Cases(
        bad=(
            "rates = optax.piecewise_constant_schedule(1e-3, {100: 1e-4, 200: 1e-5})  # NNX981\n",
            """\
BASE = 0.1
rates = optax.piecewise_constant_schedule(
    init_value=BASE,
    boundaries_and_scales={100: BASE * 0.1, 200: BASE / 100},  # NNX981
)
""",
            """\
class Config:
    lr = 0.1
    final_lr = 0.01
    decay_at = 100
cfg = Config()
rates = optax.piecewise_constant_schedule(cfg.lr, {cfg.decay_at: cfg.final_lr})  # NNX981
""",
            """\
def build(base, places, decay=0.1):
    scales = {place: base * decay ** (i + 1) for i, place in enumerate(places)}
    return optax.piecewise_constant_schedule(base, scales)  # NNX981
rates = build(0.1, [100, 200])
""",
            """\
lrs, places = [0.1, 0.01, 0.001], [100, 200]
rates = optax.piecewise_constant_schedule(lrs[0], dict(zip(places, lrs[1:])))  # NNX981
""",
            """\
total = 300
places = {int(total * 0.3): 0.1, int(total * 0.6): 0.01, int(total * 0.8): 0.001}
rates = optax.piecewise_constant_schedule(0.5, places)  # NNX981
""",
            """\
lr1, lr2, lr3 = 1e-2, 2e-3, 1e-3
rates = optax.piecewise_interpolate_schedule("linear", lr1, {100: lr2, 200: lr3})  # NNX981
""",
        ),
        clean=(
            "print(optax.piecewise_constant_schedule(1e-3, {100: 0.1, 200: 0.1})(150))\n",
            """\
lr1, lr2, lr3 = 1e-2, 1e-3, 1e-4
rates = optax.piecewise_constant_schedule(lr1, {100: lr2 / lr1, 200: lr3 / lr2})
print(rates(150))
""",
            """\
def build(base, places, decay=0.1):
    return optax.piecewise_constant_schedule(base, {place: decay for place in places})
print(build(0.1, [100, 200])(150))
""",
            """\
print(optax.piecewise_constant_schedule(0.1, {100: 0.5, 200: 0.2, 250: 0.1})(220))
print(optax.piecewise_constant_schedule(1.0, {100: 0.1, 200: 0.01})(150))
print(optax.piecewise_constant_schedule(0.1, {100: 0.01})(150))
""",
            """\
lr_decay = 0.1
print(optax.piecewise_constant_schedule(1.0, {100: lr_decay, 200: lr_decay})(150))
print(optax.piecewise_constant_schedule(1e-4, {10: 10.0, 100: 0.1, 200: 0.0})(150))
""",
            """\
lrs, places = [0.1, 0.01, 0.001], [100, 200]
scales = {place: new / old for place, old, new in zip(places, lrs, lrs[1:])}
print(optax.piecewise_constant_schedule(lrs[0], scales)(150))
""",
            """\
print(optax.piecewise_constant_schedule(0.1, dict(zip([100, 200], [0.1] * 2)))(150))
rates = optax.join_schedules([optax.constant_schedule(1e-3), optax.constant_schedule(1e-4)], [100])
print(rates(150))
""",
            """\
def build(cfg):
    factors = dict(zip(cfg["epochs"], cfg["factors"]))
    return optax.piecewise_constant_schedule(cfg["lr"], factors)
print(build({"lr": 0.1, "epochs": [100, 200], "factors": [0.1, 0.5]})(150))
""",
        ),
    ),
    "NNX766": Cases(
        bad=(
            # the number of batches has another name where it is given
            """\
def make(epochs, batches, accum):
    micro = epochs * batches
    total = micro
    rate = optax.warmup_cosine_decay_schedule(0.0, 0.1, total // 10, total, 0.0)  # NNX766
    return optax.MultiSteps(optax.adamw(rate), every_k_schedule=accum)
EPOCHS, BATCHES, ACCUM = 5, 40, 8
tx = make(EPOCHS, BATCHES, ACCUM)
@jax.jit
def micro_step(tree, state):
    updates, state = tx.update(tree, state, tree)
    return optax.apply_updates(tree, updates), state
tree, state = x, tx.init(x)
for epoch in range(EPOCHS):
    for b in range(BATCHES):
        tree, state = micro_step(tree, state)
""",
            "joined = optax.join_schedules(\n    [optax.linear_schedule(0.0, 1.0, 9), optax.constant_schedule(1.0)], "
            "[0, 9]  # NNX766\n)\n",
            "parts = [optax.linear_schedule(0.0, 1.0, 9), optax.constant_schedule(1.0), optax.constant_schedule(0.1)]\n"
            "joined = optax.join_schedules(parts, boundaries=[9])  # NNX766\n",
            # the epochs are handed to the function that makes the optimizer
            """\
def make(total):
    return optax.adam(optax.cosine_decay_schedule(0.1, total))  # NNX766
class Args:
    epochs = 4
def fit(args, train_step):
    tx = make(total=args.epochs)
    for epoch in range(args.epochs):
        for v in batches:
            train_step(tx, v)
fit(Args, lambda tx, v: None)
""",
            # a rate that is asked for by steps, joined schedules, and a warmup alone
            """\
class Config:
    epochs, warmup_epochs = 4, 1
def fit(cfg, train_step, steps_per_epoch):
    rate = optax.warmup_cosine_decay_schedule(
        0.0,
        0.1,
        warmup_steps=cfg.warmup_epochs,
        decay_steps=cfg.epochs,  # NNX766
    )
    tx = optax.sgd(rate)
    for epoch in range(cfg.epochs):
        for i in range(steps_per_epoch):
            train_step(tx, i)
    return rate(cfg.epochs * steps_per_epoch // 2), rate((cfg.epochs - 1) * steps_per_epoch)
fit(Config, lambda tx, i: None, 2)
""",
            """\
def make(cfg):
    warm = optax.linear_schedule(0.0, 0.1, cfg.warmup_epochs)  # NNX766
    rest = optax.cosine_decay_schedule(0.1, cfg.num_epochs - cfg.warmup_epochs)  # NNX766
    return optax.sgd(optax.join_schedules([warm, rest], boundaries=[cfg.warmup_epochs]))
class Config:
    num_epochs, warmup_epochs = 4, 1
def fit(cfg, train_step):
    tx = make(cfg)
    for epoch in range(cfg.num_epochs):
        for v in batches:
            train_step(tx, v)
fit(Config, lambda tx, v: None)
""",
            """\
def fit(epochs, warmup_epochs, train_step):
    total = epochs * len(batches)
    tx = optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_epochs, total))  # NNX766
    for epoch in range(epochs):
        for v in batches:
            train_step(tx, v)
fit(4, 1, lambda tx, v: None)
""",
            """\
EPOCHS = 4
rate = optax.piecewise_constant_schedule(0.1, {EPOCHS // 2: 0.1, EPOCHS - 1: 0.1})  # NNX766
def fit(train_step, tx):
    epoch = 0
    while epoch < EPOCHS:
        for v in batches:
            train_step(tx, v)
        epoch += 1
fit(lambda tx, v: None, optax.sgd(rate))
""",
            """\
def main(args, train_step):
    steps = args.epochs
    tx = optax.sgd(optax.exponential_decay(0.1, int(steps * 0.5), 0.9))  # NNX766
    for epoch in range(args.epochs):
        for v in batches:
            train_step(tx, v)
class Args:
    epochs = 4
main(Args(), lambda tx, v: None)
""",
            """\
CONFIG = {"epochs": 3, "lr": 0.1}
rate = optax.cosine_decay_schedule(CONFIG["lr"], decay_steps=CONFIG["epochs"])  # NNX766
def fit(train_batch, tx):
    for epoch in range(CONFIG["epochs"]):
        for v in batches:
            train_batch(tx, v)
fit(lambda tx, v: None, optax.sgd(rate))
""",
            """\
class Trainer:
    def __init__(self, config, train_step):
        self.config, self.train_step = config, train_step
        rate = optax.linear_schedule(0.1, 0.0, transition_steps=config.num_epochs)  # NNX766
        self.tx = optax.sgd(rate)
    def fit(self, loader):
        for _ in range(self.config.num_epochs):
            self.one_epoch(loader)
    def one_epoch(self, loader):
        for v in loader:
            self.train_step(self.tx, v)
class Config:
    num_epochs = 3
Trainer(Config(), lambda tx, v: None).fit(batches)
""",
            """\
class Config:
    total_steps = 400
    warmup_steps = 40
def schedule(cfg: Config):
    return optax.warmup_cosine_decay_schedule(
        init_value=0.0,
        peak_value=0.1,
        warmup_steps=cfg.warmup_steps,
        decay_steps=cfg.total_steps - cfg.warmup_steps,  # NNX766
    )
print(schedule(Config())(390))
""",
            "def rate(num_train_steps, warmup):\n    decay = num_train_steps - warmup\n"
            "    return optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup, decay, 0.0)  # NNX766\n"
            "print(rate(400, 40)(399))\n",
            "def rate(max_steps, ratio):\n    warmup_steps = int(ratio * max_steps)\n"
            "    steps = max(1, max_steps - warmup_steps)\n    return optax.warmup_cosine_decay_schedule(\n"
            "        0.0, 0.1, warmup_steps=warmup_steps, decay_steps=steps  # NNX766\n    )\n",
            """\
B, K, EPOCHS = 16, 4, 3
def make(steps_per_epoch):
    rate = optax.cosine_decay_schedule(0.1, EPOCHS * steps_per_epoch)  # NNX766
    return optax.MultiSteps(optax.adam(rate), K)
def batches(v, size):
    for i in range(0, len(v), size):
        yield v[i : i + size]
def fit(v, step):
    tx = make(len(v) // B)
    for _ in range(EPOCHS):
        for batch in batches(v, B):
            step(tx, batch)
""",
            """\
class Trainer:
    def __init__(self, config, data):
        self.size, self.epochs = config.batch_size, config.epochs
        self.data = data
        steps_per_epoch = math.ceil(len(data) / self.size)
        rate = optax.linear_schedule(0.1, 0.0, transition_steps=self.epochs * steps_per_epoch)  # NNX766
        self.tx = optax.MultiSteps(optax.adam(rate), every_k_schedule=config.accumulate)
    def fit(self, step):
        for _ in range(self.epochs):
            for i in range(0, len(self.data), self.size):
                step(self.tx, self.data[i : i + self.size])
""",
            "s = optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=100, decay_steps=50)  # NNX766\n",
            "s = optax.warmup_cosine_decay_schedule(0.0, 0.1, 100, 100)  # NNX766\n",
            "warm, rest = 200, 100\ns = optax.warmup_cosine_decay_schedule(0.0, 0.1, warm, rest)  # NNX766\n",
            "def run(hp, step, tree):\n"
            "    rate = optax.linear_schedule(0.1, 0.0, hp.num_micro_batches)  # NNX766\n"
            "    tx = optax.MultiSteps(optax.sgd(rate), hp.every)\n    state = tx.init(tree)\n"
            "    for i in range(hp.num_micro_batches):\n        tree, state = step(tree, state, i)\n    return tree\n",
            """\
class Config:
    num_steps = 64
    accum_steps = 8
def make_optimizer(cfg):
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 4, cfg.num_steps)  # NNX766
    return optax.MultiSteps(optax.adamw(schedule), every_k_schedule=cfg.accum_steps)
@nnx.jit
def micro_step(model, opt, x):
    grads = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(model)
    opt.update(model, grads)
def main(cfg, model):
    opt = nnx.Optimizer(model, make_optimizer(cfg), wrt=nnx.Param)
    for step in range(cfg.num_steps):
        micro_step(model, opt, jnp.ones((2, 3)))
print(make_optimizer(Config))
""",
            """\
N_EPOCHS, N_MB, K = 3, 8, 4
def build(k):
    rate = optax.cosine_decay_schedule(0.1, N_EPOCHS * N_MB)  # NNX766
    return optax.MultiSteps(optax.chain(optax.clip(1.0), optax.adam(rate)), every_k_schedule=k)
tx = build(K)
params, state = jnp.zeros(2), tx.init(jnp.zeros(2))
for e in range(N_EPOCHS):
    for i in range(N_MB):
        updates, state = tx.update(params - i, state, params)
        params = optax.apply_updates(params, updates)
""",
            """\
tx = optax.MultiSteps(optax.sgd(optax.linear_schedule(0.1, 0.0, 40)), 4)  # NNX766
params, state = jnp.zeros(2), tx.init(jnp.zeros(2))
for e in range(5):
    for i in range(8):
        updates, state = tx.update(params - i, state, params)
        params = optax.apply_updates(params, updates)
""",
        ),
        clean=(
            """\
def make(epochs, batches, accum):
    micro = epochs * batches
    total = micro // accum
    rate = optax.warmup_cosine_decay_schedule(0.0, 0.1, total // 10, total, 0.0)
    return optax.MultiSteps(optax.adamw(rate), every_k_schedule=accum)
EPOCHS, BATCHES, ACCUM = 5, 16, 8
tx = make(EPOCHS, BATCHES, ACCUM)
@jax.jit
def micro_step(tree, state):
    updates, state = tx.update(tree, state, tree)
    return optax.apply_updates(tree, updates), state
tree, state = x, tx.init(x)
for epoch in range(EPOCHS):
    for b in range(BATCHES):
        tree, state = micro_step(tree, state)
""",
            """\
def make(epochs, batches, accum):
    micro = epochs * batches
    total = micro
    rate = optax.warmup_cosine_decay_schedule(0.0, 0.1, total // 10, total, 0.0)
    return optax.MultiSteps(optax.adamw(rate), every_k_schedule=accum)
EPOCHS, BATCHES, ACCUM = 5, 16, 8
tx = make(EPOCHS, BATCHES // ACCUM, ACCUM)
@jax.jit
def micro_step(tree, state):
    updates, state = tx.update(tree, state, tree)
    return optax.apply_updates(tree, updates), state
tree, state = x, tx.init(x)
for epoch in range(EPOCHS):
    for b in range(BATCHES):
        tree, state = micro_step(tree, state)
""",
            "joined = optax.join_schedules([optax.linear_schedule(0.0, 1.0, 9), optax.constant_schedule(1.0)], [9])\n"
            "print(joined(3))\n",
            "parts = [optax.constant_schedule(1.0)] * 3\njoined = optax.join_schedules(parts, boundaries=[9, 12])\n"
            "print(joined(3))\n",
            "parts = [*[optax.constant_schedule(1.0)] * 3]\nprint(optax.join_schedules(parts, [9, 12])(3))\n",
            """\
def make(total):
    return optax.cosine_decay_schedule(0.1, total)
class Args:
    epochs = 4
def fit(args, train_step):
    weight = make(total=args.epochs)
    for epoch in range(args.epochs):
        for v in batches:
            train_step(weight(epoch), v)
fit(Args, lambda w, v: None)
""",
            """\
def make(total):
    return optax.adam(optax.cosine_decay_schedule(0.1, total))
class Args:
    epochs = 4
def fit(args, train_step):
    tx = make(args.epochs * len(batches))
    for epoch in range(args.epochs):
        for v in batches:
            train_step(tx, v)
fit(Args, lambda tx, v: None)
""",
            """\
class Config:
    epochs, warmup_epochs = 4, 1
def fit(cfg, train_step, steps_per_epoch):
    rate = optax.warmup_cosine_decay_schedule(
        0.0, 0.1, cfg.warmup_epochs * steps_per_epoch, decay_steps=cfg.epochs * steps_per_epoch
    )
    tx = optax.sgd(rate)
    for epoch in range(cfg.epochs):
        for i in range(steps_per_epoch):
            train_step(tx, i)
    return rate(cfg.epochs * steps_per_epoch // 2)
fit(Config, lambda tx, i: None, 2)
""",
            """\
def fit(epochs, warmup_epochs, train_step):
    rest = epochs - warmup_epochs
    beta = optax.join_schedules(
        [optax.linear_schedule(0.0, 1.0, warmup_epochs), optax.cosine_decay_schedule(1.0, rest)], [warmup_epochs]
    )
    for epoch in range(epochs):
        for v in batches:
            train_step(v, beta(epoch))
fit(4, 1, lambda v, b: print(v * b))
""",
            """\
def fit(num_steps, warmup_epochs, update):
    tx = optax.sgd(optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_epochs, num_steps))
    for step in range(num_steps):
        update(tx, batches[step % 2])
fit(4, 1, lambda tx, v: None)
""",
            """\
EPOCHS, PER_EPOCH = 4, 2
rate = optax.piecewise_constant_schedule(0.1, {EPOCHS * PER_EPOCH // 2: 0.1})
def fit(train_step, tx):
    for epoch in range(EPOCHS):
        for v in batches:
            train_step(tx, v)
fit(lambda tx, v: None, optax.sgd(rate))
""",
            """\
def main(epochs, train_step):
    tx = optax.sgd(optax.exponential_decay(0.1, epochs * 2, 0.9))
    for epoch in range(epochs):
        for v in batches:
            train_step(tx, v)
main(4, lambda tx, v: None)
""",
            """\
cfg = {"epochs": 3, "lr": 0.1}
rate = optax.cosine_decay_schedule(cfg["lr"], decay_steps=cfg["epochs"])
def evaluate(batches):
    return sum(float(jnp.mean(v**2)) for v in batches)
def fit(train_step, tx):
    for epoch in range(cfg["epochs"]):
        train_step(tx, x)
        print(evaluate(batches))
fit(lambda tx, v: None, optax.sgd(rate))
""",
            """\
cfg = {"epochs": 3}
weight = optax.linear_schedule(0.0, 1.0, transition_steps=cfg["epochs"])
def fit(train_step):
    for epoch in range(cfg["epochs"]):
        for v in batches:
            train_step(v, weight(epoch))
fit(lambda v, w: print(v * w))
""",
            """\
class Env:
    def step(self, action):
        return action, 1.0
def rollout(env, steps):
    rewards = []
    for i in range(steps):
        rewards.append(env.step(i)[1])
    return rewards
def fit(update, tx, epochs):
    for epoch in range(epochs):
        update(tx, sum(rollout(Env(), 4)))
def main(epochs):
    fit(lambda tx, r: print(r), optax.sgd(optax.linear_schedule(0.1, 0.0, epochs)), epochs)
main(3)
""",
            "total, warm = 400, 40\nprint(optax.warmup_cosine_decay_schedule(0.0, 0.1, warm, total)(total))\n",
            "warm, rest = 40, 300\nprint(optax.warmup_cosine_decay_schedule(0.0, 0.1, warm, warm + rest)(9))\n",
            # the decay alone, behind a warmup of its own
            "total, warm = 400, 40\nrest = optax.cosine_decay_schedule(0.1, total - warm)\n"
            "print(optax.join_schedules([optax.linear_schedule(0.0, 0.1, warm), rest], [warm])(40))\n",
            # the last steps are to have the end value
            "total, warm, cool = 400, 40, 60\n"
            "print(optax.warmup_cosine_decay_schedule(0.0, 0.1, warm, total - cool, 1e-3)(total))\n",
            """\
class Config:
    num_steps = 64
    accum_steps = 8
def make_optimizer(cfg):
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 4, cfg.num_steps // cfg.accum_steps)
    return optax.MultiSteps(optax.adamw(schedule), every_k_schedule=cfg.accum_steps)
@nnx.jit
def micro_step(model, opt, x):
    grads = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(model)
    opt.update(model, grads)
def main(cfg, model):
    opt = nnx.Optimizer(model, make_optimizer(cfg), wrt=nnx.Param)
    for step in range(cfg.num_steps):
        micro_step(model, opt, jnp.ones((2, 3)))
print(make_optimizer(Config))
""",
            """\
class Config:
    num_steps = 64
    accum_steps = 8
def make_optimizer(cfg):
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 4, cfg.num_steps)
    return optax.MultiSteps(optax.adamw(schedule), every_k_schedule=cfg.accum_steps)
@nnx.jit
def micro_step(model, opt, x):
    grads = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(model)
    opt.update(model, grads)
def main(cfg, model):
    opt = nnx.Optimizer(model, make_optimizer(cfg), wrt=nnx.Param)
    for step in range(cfg.num_steps * cfg.accum_steps):
        micro_step(model, opt, jnp.ones((2, 3)))
print(make_optimizer(Config))
""",
            """\
class Config:
    num_steps = 64
    accum_steps = 8
def make_optimizer(cfg):
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 4, cfg.num_steps)
    return optax.MultiSteps(optax.adamw(schedule), every_k_schedule=cfg.accum_steps)
@nnx.jit
def micro_step(model, opt, x):
    grads = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(model)
    opt.update(model, grads)
def main(cfg, model):
    opt = nnx.Optimizer(model, make_optimizer(cfg), wrt=nnx.Param)
    for step in range(cfg.num_steps):
        for _ in range(cfg.accum_steps):
            micro_step(model, opt, jnp.ones((2, 3)))
print(make_optimizer(Config))
""",
            """\
class Config:
    num_steps = 64
    accum_steps = 8
def make_optimizer(cfg):
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-2, 4, cfg.num_steps)
    return optax.MultiSteps(optax.adamw(schedule), every_k_schedule=cfg.accum_steps)
@nnx.jit
def micro_step(model, opt, x):
    grads = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(model)
    opt.update(model, grads)
def main(cfg, model):
    opt = nnx.Optimizer(model, make_optimizer(cfg), wrt=nnx.Param)
    for step in range(cfg.num_steps):
        train_step(cfg, model, opt)
def train_step(cfg, model, opt):
    for _ in range(cfg.accum_steps):
        micro_step(model, opt, jnp.ones((2, 3)))
print(make_optimizer(Config))
""",
            """\
B, MICRO, EPOCHS = 64, 16, 3
def make(steps_per_epoch):
    rate = optax.cosine_decay_schedule(0.1, EPOCHS * steps_per_epoch)
    return optax.MultiSteps(optax.adam(rate), B // MICRO)
def fit(v, step):
    tx = make(len(v) // B)
    for _ in range(EPOCHS):
        for i in range(0, len(v), MICRO):
            step(tx, v[i : i + MICRO])
fit(jnp.ones(64), lambda tx, v: None)
""",
            """\
B, K, EPOCHS = 16, 4, 3
def make(steps_per_epoch):
    rate = optax.cosine_decay_schedule(0.1, EPOCHS * steps_per_epoch)
    return optax.MultiSteps(optax.adam(rate), K)
def fit(v, step):
    tx = make(len(v) // (B * K))
    for _ in range(EPOCHS):
        for i in range(0, len(v), B):
            step(tx, v[i : i + B])
fit(jnp.ones(64), lambda tx, v: None)
""",
            """\
B, K, EPOCHS = 16, 4, 3
def make(steps_per_epoch):
    rate = optax.cosine_decay_schedule(0.1, EPOCHS * steps_per_epoch // K)
    return optax.MultiSteps(optax.adam(rate), K)
def fit(v, step):
    tx = make(len(v) // B)
    for _ in range(EPOCHS):
        for i in range(0, len(v), B):
            step(tx, v[i : i + B])
fit(jnp.ones(64), lambda tx, v: None)
""",
            "s = optax.warmup_cosine_decay_schedule(0.0, 0.1, warmup_steps=100, decay_steps=150)\n",
            "warm, rest = 200, 100\ns = optax.warmup_cosine_decay_schedule(0.0, 0.1, warm, warm + rest)\n",
            "s = optax.warmup_constant_schedule(0.0, 0.1, 100)\n",
            "def run(hp, step, tree):\n"
            "    rate = optax.linear_schedule(0.1, 0.0, hp.num_micro_batches // hp.every)\n"
            "    tx = optax.MultiSteps(optax.sgd(rate), hp.every)\n    state = tx.init(tree)\n"
            "    for i in range(hp.num_micro_batches):\n        tree, state = step(tree, state, i)\n    return tree\n",
            "def run(hp, step, tree):\n    rate = optax.linear_schedule(0.1, 0.0, hp.updates)\n"
            "    tx = optax.MultiSteps(optax.sgd(rate), hp.micro_batches)\n    state = tx.init(tree)\n"
            "    for i in range(hp.updates * hp.micro_batches):\n        tree, state = step(tree, state, i)\n"
            "    return tree\n",
            "def made(warm, steps):\n    return optax.warmup_cosine_decay_schedule(0.0, 0.1, warm, steps)\n",
            """\
N_EPOCHS, N_MB, K = 3, 8, 4
tx = optax.MultiSteps(optax.sgd(optax.linear_schedule(0.1, 0.0, N_EPOCHS * N_MB // K)), K)
params, state = jnp.zeros(2), tx.init(jnp.zeros(2))
for e in range(N_EPOCHS):
    for i in range(N_MB):
        updates, state = tx.update(params - i, state, params)
        params = optax.apply_updates(params, updates)
""",
            """\
tx = optax.MultiSteps(optax.sgd(optax.linear_schedule(0.1, 0.0, 12)), 4)
params, state = jnp.zeros(2), tx.init(jnp.zeros(2))
for e in range(12):
    for i in range(4):
        updates, state = tx.update(params - i, state, params)
        params = optax.apply_updates(params, updates)
""",
        ),
    ),
    "NNX767": Cases(
        bad=(
            "def accuracy(p, labels):\n    return (p == labels).sum() // len(labels)  # NNX767\n",
            "def accuracy(p, labels):\n    hits = jnp.sum(p.argmax(-1) == labels)\n"
            "    return hits // labels.shape[0]  # NNX767\n",
            "def accuracy(p, labels):\n    return jnp.count_nonzero(p == labels) // labels.size  # NNX767\n",
            """\
def precision(guess, truth):
    tp = jnp.sum((guess == 1) & (truth == 1))
    fp = jnp.sum((guess == 1) & (truth == 0))
    return tp // (tp + fp)  # NNX767
""",
            """\
def accuracy(logits, labels):
    hits = jnp.equal(jnp.argmax(logits, -1), labels)
    return hits.sum() // hits.size  # NNX767
""",
        ),
        clean=(
            "def accuracy(p, labels):\n    return (p == labels).sum() / len(labels)\n",
            "def accuracy(p, labels):\n    return 100 * (p == labels).sum() // len(labels)\n",
            "def batches_of(p):\n    return p.sum() // len(p)\n",
            "def steps(labels, size):\n    return (labels == 1).sum() // size\n",
            """\
def precision(guess, truth):
    tp = jnp.sum((guess == 1) & (truth == 1))
    fp = jnp.sum((guess == 1) & (truth == 0))
    return tp / (tp + fp), tp // (fp + 2), (guess > 0).sum() // 2
print(precision(jnp.ones(4), jnp.ones(4)))
""",
            """\
def rounds(logits, labels, size):
    hits = jnp.equal(jnp.argmax(logits, -1), labels)
    return hits.sum() // size, hits.sum() / hits.size
print(rounds(jnp.eye(3), jnp.arange(3), 2))
""",
        ),
    ),
    "NNX768": Cases(
        bad=(
            """\
def pulled(v, start):
    return jnp.linalg.norm(v - start) ** 2  # NNX768
print(jax.grad(pulled)(x, x))
""",
            """\
def bends(v):
    return jnp.sin(v)
def moved(v):
    return jnp.linalg.norm(bends(v) - v) ** 2  # NNX768
print(jax.grad(moved)(x))
""",
            """\
def scaled(v, factor):
    return v * factor
def cost(v):
    moved = scaled(v, 2.0)
    return jnp.linalg.norm(moved) ** 2  # NNX768
print(jax.grad(cost)(x))
""",
            """\
def bends(v):
    return jnp.sin(v)
def total(v):
    return jnp.linalg.norm(bends(v) + v) ** 2  # NNX768
slope = jax.grad(total)(x)
""",
            "def loss(p):\n    return jnp.linalg.norm(p) ** 2  # NNX768\nprint(jax.grad(loss)(x))\n",
            "def loss(p):\n    n = optax.global_norm(p)\n    return 0.1 * n * n  # NNX768\nprint(jax.grad(loss)(x))\n",
            "def reg(p):\n    return sum(jnp.square(jnp.linalg.norm(v, axis=0)).sum() for v in p)  # NNX768\n"
            "def loss(p, y):\n    return reg(p) + y.sum()\nstep = jax.jit(jax.value_and_grad(loss))\n",
        ),
        clean=(
            """\
def log_amplitude(w, v):
    exp = jnp.exp(v @ w)
    norm = jnp.linalg.norm(exp, 2, axis=-1, keepdims=True) ** 2
    return jnp.sum(jnp.log(norm))
print(jax.grad(log_amplitude)(jnp.ones((3, 2)), jnp.ones((4, 3))))
""",
            """\
def loss(a, b):
    d = jnp.linalg.norm(a - b + 1e-6, axis=-1)
    return jnp.mean(d**2)
print(jax.grad(loss)(x, x))
""",
            """\
def radial(v):
    radius = jnp.linalg.norm(v, axis=-1)
    return jnp.mean(0.5 * radius**2 - 2.0 * jnp.log(radius + 1e-8))
print(jax.grad(radial)(x[None]))
""",
            """\
def smeared(v, widths):
    return jnp.exp(-v[:, None] ** 2 / widths).sum(0)
def misfit(v, seen, widths):
    found = smeared(v, widths)
    return jnp.linalg.norm(seen - found) ** 2 / jnp.linalg.norm(seen) ** 2
def recurs(v, widths):
    first = smeared(v, widths)
    return jnp.linalg.norm(smeared(v + 1.0, widths) - first) ** 2 / jnp.linalg.norm(first) ** 2
widths = jnp.array([0.5, 1.0])
print(jax.grad(misfit)(x, jnp.ones(2), widths), jax.grad(recurs)(x, widths))
""",
            """\
def solve(v):
    return jax.lax.fori_loop(0, 3, lambda _, u: u - 0.1 * (u - jnp.sin(v)), v), v
def cost(v):
    path, _ = solve(v)
    return jnp.linalg.norm(path) ** 2
print(jax.grad(cost)(x))
""",
            """\
def run_ilqr(v):
    return jnp.concatenate([jnp.sin(v), v + 1.0])
def cost(v):
    found = run_ilqr(v)
    states = found[:3]
    return jnp.linalg.norm(states) ** 2
print(jax.grad(cost)(x))
""",
            """\
def bends(v):
    return jnp.sin(v) + 2.0
def lengths(v):
    return v ** 2 + 1.0
def total(v):
    return jnp.linalg.norm(bends(v) + lengths(v)) ** 2
def joined(v):
    return jnp.linalg.norm(jnp.concatenate((bends(v), lengths(v)))) ** 2
print(jax.grad(total)(x), jax.grad(joined)(x))
""",
            "def loss(p):\n    return jnp.sum(p**2)\nprint(jax.grad(loss)(x))\n",
            "def loss(p, y):\n    return jnp.sum(p * y) / jnp.linalg.norm(y) ** 2\nprint(jax.grad(loss)(x, x))\n",
            "def size(p):\n    return jnp.linalg.norm(p) ** 2\nprint(size(x))\n",
            "def loss(p):\n    return jnp.linalg.norm(p, ord=1) ** 2\nprint(jax.grad(loss)(x))\n",
            "def loss(p):\n    return jax.lax.stop_gradient(jnp.linalg.norm(p) ** 2) * p.sum()\n",
        ),
    ),
    "NNX769": Cases(
        bad=(
            """\
def cosine(a, b):
    return jnp.dot(a, b) / jnp.linalg.norm(a) * jnp.linalg.norm(b)  # NNX769
print(cosine(x, 2 * x))
""",
            """\
def alike(u, v):
    return jnp.sum(u * v) / jnp.linalg.norm(v) * jnp.linalg.norm(u)  # NNX769
print(alike(x, 2 * x))
""",
            "y = jnp.where(x > 0 & x < 1, x, 0)  # NNX769\n",
            "def f(x, valid):\n    return x > 0.5 & valid  # NNX769\n",
            "def cond(state):\n    i, going = state\n    return i < 10 & going  # NNX769\n",
            "m = x <= -1.0 | x >= 1.0  # NNX769\n",
            """\
def valid(tokens, lengths, pad=0):
    return tokens != pad & jnp.arange(3) < lengths[:, None]  # NNX769
""",
        ),
        clean=(
            """\
def cosine(a, b):
    return jnp.dot(a, b) / (jnp.linalg.norm(a) * jnp.linalg.norm(b))
print(cosine(x, 2 * x))
""",
            """\
def cosine(a, b):
    return jnp.dot(a, b) / jnp.linalg.norm(a) / jnp.linalg.norm(b)
print(cosine(x, 2 * x))
""",
            """\
def clipped(g, w):
    return jnp.linalg.norm(w) / jnp.linalg.norm(g) * g
print(clipped(x, 2 * x))
""",
            "y = jnp.where((x > 0) & (x < 1), x, 0)\n",
            "def f(n):\n    return n & 7 < 4\n",
            "def f(n, low):\n    return low < n & 255\n",
            "def f(n, mask):\n    return n == mask & 3, n & 1 == 0, 0 < n < 3\n",
            "def f(a: 'int | None', b):\n    return (a or 0) < (b | 3)\n",
            """\
def f(n, flags):
    return n != flags & 3, (n != 0) & (flags < 3), n & 1 == flags & 1
print(f(2, 3))
""",
        ),
    ),
    "NNX770": Cases(
        bad=(
            "tx = optax.masked(optax.adam(1e-3), {'a': True, 'b': False})  # NNX770\n",
            "def build(mask):\n    return optax.chain(optax.clip(1.0), optax.masked(optax.sgd(0.1), mask))  # NNX770\n",
            "inner = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))\n"
            "def build(mask):\n    return optax.masked(inner, mask=mask)  # NNX770\n",
            "def freeze_first(tx, mask):\n    return optax.masked(tx, mask)  # NNX770\n"
            "tx = freeze_first(optax.adam(1e-3), {'a': True, 'b': False})\n",
            "def make():\n    return optax.chain(optax.clip(1.0), optax.lion(1e-4))\n"
            "def frozen(mask, *, tx):\n    return optax.masked(inner=tx, mask=mask)  # NNX770\n"
            "for mask in ({'a': True}, {'a': False}):\n    tx = frozen(mask, tx=make())\n",
            "def build(mask, freeze=True):\n    tx = optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)\n"
            "    return optax.masked(tx, mask) if freeze else tx  # NNX770\n",
            "def frozen(tree):\n    return {k: k != 'a' for k in tree}\n"
            "tx = optax.masked(optax.adam(1e-3), {'a': True, 'b': False})  # NNX770\n"
            "print('frozen:', sum(frozen({'a': 1, 'b': 2}).values()))\n",
            "def count_frozen(tree):\n    return len(tree)\n"
            "def build(m):\n    return optax.masked(optax.adam(1e-3), m)  # NNX770\n"
            "def main():\n    n = count_frozen({'a': 1})\n    assert n == 1\n    print(n)\nmain()\n",
        ),
        clean=(
            "def build(m, rest):\n"
            "    return optax.chain(optax.masked(optax.adam(1e-3), m), optax.masked(optax.sgd(0.1), rest))\n",
            "def build(m):\n    return optax.chain(optax.masked(optax.add_decayed_weights(1), m), optax.adam(1e-3))\n",
            "def build(m, rest):\n"
            "    return optax.chain(optax.masked(optax.adam(1e-3), m), optax.masked(optax.set_to_zero(), rest))\n",
            "def build(m):\n    return optax.chain(optax.masked(optax.scale_by_adam(), m), optax.scale(-1e-3))\n",
            "def only(tx, m):\n    return optax.masked(tx, m)\n"
            "a = optax.chain(only(optax.add_decayed_weights(1e-4), {'a': True}), optax.sgd(0.1))\n",
            "def only(tx, m):\n    return optax.masked(tx, m)\ntx = only(optax.adam(1e-3), {'a': True})\n"
            "def freeze_rest(grads):\n    return {'a': grads['a'], 'b': 0.0 * grads['b']}\n"
            "grads = freeze_rest({'a': jnp.ones(2), 'b': jnp.ones(2)})\n",
            "def only(tx, m):\n    return optax.masked(tx, m)\n"
            "for tx in (optax.sgd(0.1), optax.scale(0.5)):\n    tx = only(tx, {'a': True})\n",
            "def frozen(tree):\n    return {k: k != 'a' for k in tree}\n"
            "tx = optax.masked(optax.adam(1e-3), {'a': True})\n"
            "grads = {'a': x, 'b': x}\nmask = frozen(grads)\nprint(mask)\n"
            "grads = {k: 0 * g if mask[k] else g for k, g in grads.items()}\n",
            "def frozen(tree):\n    return {k: k != 'a' for k in tree}\ndef masks(tree):\n    return frozen(tree)\n"
            "tx = optax.masked(optax.adam(1e-3), {'a': True})\nkept = masks({'a': 1})\n",
        ),
    ),
    "NNX771": Cases(
        bad=(
            """\
from flax import struct
class Agent(struct.PyTreeNode):
    entropy: float | None = None
    def prepare(self):
        if self.entropy is None:
            self.entropy = -3.0  # NNX771
        return self.entropy
""",
            """\
from flax.training.train_state import TrainState
class State(TrainState):
    batch_stats: dict = None
def step(state: State, grads, stats):
    state = state.apply_gradients(grads=grads)
    state.batch_stats = stats  # NNX771
    return state
""",
            """\
from flax.training import train_state
class State(train_state.TrainState):
    ema: dict = None
def fit(params, grads):
    state = State.create(apply_fn=None, params=params, tx=optax.sgd(0.1))
    for _ in range(3):
        state = state.apply_gradients(grads=grads)
        state.ema = params  # NNX771
    return state
""",
            """\
from flax.training.train_state import TrainState
def load(state: TrainState, params):
    state.params = params  # NNX771
    return state
""",
            """\
import flax.struct
@flax.struct.dataclass
class Spec:
    rate: float = 0.1
class Other(Spec):
    def halve(self):
        self.rate = 0.05  # NNX771
""",
            "from flax import struct\n@struct.dataclass\nclass S:\n    a: jax.Array\n"
            "def f(s: S):\n    s.a = s.a + 1  # NNX771\n    return s\n",
            "from flax import struct\nclass B(struct.PyTreeNode):\n    a: jax.Array\n"
            "    def push(self, v):\n        self.a = v  # NNX771\n        return self\n",
            "from typing import NamedTuple\nclass C(NamedTuple):\n    a: jax.Array\n"
            "def body(c, _):\n    c.a = c.a + 1  # NNX771\n    return c, None\n"
            "out = jax.lax.scan(body, C(jnp.zeros(2)), None, length=2)\n",
            "from flax.training.train_state import TrainState\n"
            "s = TrainState.create(apply_fn=None, params={}, tx=optax.sgd(0.1))\ns.step = 1  # NNX771\n",
        ),
        clean=(
            """\
from flax import struct
class Agent(struct.PyTreeNode):
    ratio: float = 0.5
    @property
    def entropy(self):
        return -self.ratio * 3
    def prepare(self):
        if self.entropy is None:
            self.entropy = -3.0
        return self.entropy
print(Agent().prepare())
""",
            """\
from flax.training.train_state import TrainState
def load(state: TrainState, params):
    state = state.replace(params=params)
    state.params["w"] = params["w"]
    return state
made = TrainState.create(apply_fn=None, params={"w": x}, tx=optax.sgd(0.1))
print(load(made, {"w": 2 * x}).params)
""",
            """\
class State:
    def __init__(self, step):
        self.step = step
    def replace(self, step):
        return State(step)
def advance(state: State):
    state = state.replace(step=state.step + 1)
    state.step = 7
    return state
print(advance(State(0)).step)
""",
            """\
from flax.training.train_state import TrainState
class State(TrainState):
    batch_stats: dict = None
class Trainer:
    def __init__(self, params):
        self.state = State.create(apply_fn=None, params=params, tx=optax.sgd(0.1))
    def step(self, grads, stats):
        self.state = self.state.apply_gradients(grads=grads)
        self.state = self.state.replace(batch_stats=stats)
        return self.state
print(Trainer({"w": x}).step({"w": x}, {}).batch_stats)
""",
            """\
import flax.struct
@flax.struct.dataclass
class Spec:
    rate: float = 0.1
class Other(Spec):
    def __init__(self):
        self.seen = 0
print(Other().seen)
""",
            "from flax import struct\n@struct.dataclass\nclass S:\n    a: jax.Array\n"
            "def f(s: S):\n    return s.replace(a=s.a + 1)\n",
            "from flax import struct\n@struct.dataclass(frozen=False)\nclass S:\n    a: jax.Array\n"
            "def f(s: S):\n    s.a = s.a + 1\n    return s\n",
            "import dataclasses\n@dataclasses.dataclass\nclass S:\n    a: float = 0.0\n"
            "    def add(self, v):\n        self.a += v\n",
            "class S:\n    a = 0\ndef f(s: S):\n    s.a = 1\n",
            "from flax import struct\n@struct.dataclass\nclass S:\n    a: jax.Array\n"
            "def f(s, v):\n    s.a = v\n    return S(v)\n",
        ),
    ),
    "NNX772": Cases(
        bad=(
            """\
@jax.tree_util.register_pytree_node_class
class Normaliser:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std
    def tree_flatten(self):
        return (self.mean,), (self.std,)  # NNX772
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0], aux[0])
@jax.jit
def centred(norm, y):
    return y - norm.mean
for seed in range(1):
    data = jax.random.normal(jax.random.key(seed), (5, 3)) * 2
    print(centred(Normaliser(data.mean(0), data.std(0)), data))
""",
            """\
from flax import struct
@struct.dataclass
class Stats:
    mean: jnp.ndarray
    std: jnp.ndarray
class Pipeline(struct.PyTreeNode):
    weights: jax.Array
    stats: Stats = struct.field(pytree_node=False)  # NNX772
def build(data):
    return Pipeline(weights=jnp.eye(3), stats=Stats(data.mean(0), data.std(0)))
""",
            """\
from dataclasses import dataclass, field
@partial(jax.tree_util.register_dataclass, data_fields=["energies"], meta_fields=["elements"])  # NNX772
@dataclass
class Sites:
    energies: jnp.ndarray
    elements: jnp.ndarray
def made(energies, numbers):
    return Sites(energies, jnp.asarray(numbers))
""",
            "from flax import struct\n@struct.dataclass\nclass S:\n"
            "    a: jax.Array = struct.field(pytree_node=False)  # NNX772\n",
            "import dataclasses\n@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass S:\n"
            "    a: jnp.ndarray = dataclasses.field(metadata={'static': True})  # NNX772\n",
            "from flax import struct\nclass S(struct.PyTreeNode):\n"
            "    a: jax.Array | None = struct.field(pytree_node=False, default=None)  # NNX772\n",
            _TABLE
            + "    def tree_flatten(self):\n        return (self.a,), (self.m, self.n)  # NNX772\n"
            + _UNFLATTEN
            + "def make(k):\n    raw = jax.random.normal(k, (4, 2))\n"
            "    return Table(raw, raw.mean(axis=0), 'a')\nmake(key)\n",
            _TABLE
            + "    def tree_flatten(self):\n        aux = (self.m, self.n)  # NNX772\n        return (self.a,), aux\n"
            + _UNFLATTEN
            + "def make(k):\n    raw = jax.random.normal(k, (4, 2))\n"
            "    return Table(raw, raw[0] - jnp.ones(2), n='a')\nmake(key)\n",
            "from typing import Any\nfrom flax import struct\n@struct.dataclass\nclass S:\n    a: Any\n"
            "    m: Any = struct.field(pytree_node=False)  # NNX772\n"
            "def make(k):\n    raw = jax.random.normal(k, (4, 2))\n    return S(a=raw, m=raw.mean(0))\nmake(key)\n",
            "import dataclasses\nfrom typing import Any\n"
            "@partial(jax.tree_util.register_dataclass, data_fields=['a'], meta_fields=['m'])  # NNX772\n"
            "@dataclasses.dataclass\nclass S:\n    a: Any\n    m: Any\n"
            "def make(k):\n    raw = jax.random.normal(k, (4, 2))\n    return S(raw, np.ones((4, 2)) * 2)\nmake(key)\n",
            "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.layer = nnx.Linear(3, 3, rngs=rngs)\n"
            "        self.freqs = nnx.static(jnp.arange(3) / 3)  # NNX772\n",
            _ALL_AUX
            + "read = jax.jit(lambda table: table.m.sum())\n"
            + "table = Table(jax.random.normal(key, (4, 2)))\nread(table)\n",
            _ALL_AUX.replace("    def at", "    @jax.jit\n    def at")
            + "print(Table(jax.random.normal(key, (4, 2))).at(1))\n",
        ),
        clean=(
            """\
@jax.tree_util.register_pytree_node_class
class Normaliser:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std
    def tree_flatten(self):
        return (self.mean, self.std), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
@jax.jit
def centred(norm, y):
    return y - norm.mean
for seed in range(1):
    data = jax.random.normal(jax.random.key(seed), (5, 3)) * 2
    print(centred(Normaliser(data.mean(0), data.std(0)), data))
""",
            _ALL_AUX.replace("  # NNX772", "")
            + "table = Table(jax.random.normal(key, (4, 2)))\n"
            + "print(jax.jit(lambda i: table.at(i))(1))  # never a tree\n",
            "from flax import struct\n@struct.dataclass\nclass S:\n"
            "    # Static due to what old checkpoints hold\n"
            "    a: jax.Array = struct.field(pytree_node=False)\nS(x)\n",
            """\
from flax import struct
@struct.dataclass
class Shape:
    rows: int
    columns: int
class Pipeline(struct.PyTreeNode):
    weights: jax.Array
    shape: Shape = struct.field(pytree_node=False)
total = jax.jit(lambda p: p.weights.sum() * p.shape.rows)
for _ in range(2):
    print(total(Pipeline(weights=jnp.eye(3), shape=Shape(3, 3))))
""",
            """\
import dataclasses
from flax import struct
@dataclasses.dataclass(eq=False)
class Table:
    values: jax.Array
class Pipeline(struct.PyTreeNode):
    weights: jax.Array
    table: Table = struct.field(pytree_node=False)
total = jax.jit(lambda p: p.weights.sum())
print(total(Pipeline(weights=jnp.eye(3), table=Table(x))), total(Pipeline(weights=jnp.eye(3), table=Table(x))))
""",
            """\
from dataclasses import dataclass, field
@partial(jax.tree_util.register_dataclass, data_fields=["energies"], meta_fields=["elements"])
@dataclass
class Sites:
    energies: jnp.ndarray
    elements: jnp.ndarray = field(metadata={"static": True})
class Made:
    def __init__(self, energies, nodes):
        self.nodes = nodes
        self.sites = Sites(energies=energies, elements=self.elements)
    @property
    def elements(self):
        return tuple(node.upper() for node in self.nodes)
total = jax.jit(lambda sites: sites.energies.sum())
print(total(Made(x, ["fe", "o"]).sites))
""",
            """\
import dataclasses
@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class Settings:
    param_dtype: jax.typing.ArrayLike = jnp.bfloat16
g = jax.jit(lambda settings, v: v.astype(settings.param_dtype))
g(Settings(), x), g(Settings(), x)
""",
            "from flax import struct\n@struct.dataclass\nclass S:\n"
            "    a: jax.Array\n    n: int = struct.field(pytree_node=False)\n",
            "from collections.abc import Callable\nfrom flax import struct\n@struct.dataclass\nclass S:\n"
            "    a: Callable[..., jax.Array] = struct.field(pytree_node=False)\n",
            "from flax import struct\n@struct.dataclass\nclass S:\n    a: jax.Array = struct.field(pytree_node=True)\n",
            "from flax import struct\n@struct.dataclass\nclass S:\n"
            "    a: jax.Array = struct.field(pytree_node=False)\n"
            "    def __eq__(self, other):\n        return self is other\n"
            "    def __hash__(self):\n        return id(self)\n",
            _TABLE
            + "    def tree_flatten(self):\n        return (self.a, self.m), (self.n,)\n"
            + _UNFLATTEN
            + "def make(k):\n"
            "    raw = jax.random.normal(k, (4, 2))\n    return Table(raw, raw.mean(axis=0), 'a')\n"
            "for k in jax.random.split(key, 2):\n    read(make(k))\n",
            _TABLE
            + "    def tree_flatten(self):\n        return (self.a,), (self.m, self.n)\n"
            + _UNFLATTEN
            + "def make(k):\n    raw = jax.random.normal(k, (4, 2))\n"
            "    return Table(raw, tuple(raw.mean(axis=0).tolist()), 'a')\n"
            "for k in jax.random.split(key, 2):\n    read(make(k))\n",
            _TABLE
            + "    def tree_flatten(self):\n        return (self.a,), (self.m, self.n)\n"
            + _UNFLATTEN
            + "grid = jnp.arange(4) / 3\ndef make(k):\n"
            "    return Table(jax.random.normal(k, (4,)), grid, 'a')\n"
            "for k in jax.random.split(key, 2):\n    read(make(k))  # the same array, which is equal to itself\n",
            "from typing import Any\nfrom flax import struct\n@struct.dataclass\nclass S:\n    a: Any\n"
            "    m: Any = struct.field(pytree_node=False)\n"
            "def make(k):\n    raw = jax.random.normal(k, (4, 2))\n    return S(a=raw, m=raw.shape)\n"
            "for k in jax.random.split(key, 2):\n    print(jax.tree.map(jnp.add, make(k), make(k)))\n",
            "class Net(nnx.Module):\n    def __init__(self, rngs):\n        self.layer = nnx.Linear(3, 3, rngs=rngs)\n"
            "        self.freqs = jnp.arange(3) / 3\n        self.rate = 0.5\nNet(nnx.Rngs(0))\n",
            """\
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Block:
    x: jax.Array
    stem: tuple[()] = dataclasses.field(default=(), metadata={"static": True})
    stages: tuple[()] | None = dataclasses.field(default=None, metadata={"static": True})
""",
        ),
    ),
    "NNX780": Cases(
        bad=(
            """\
def losses(w, tokens):
    inputs, targets = tokens[:-1], tokens
    def step(h, pair):
        seen, wanted = pair
        h = jnp.tanh(w * h + seen)
        return h, (h - wanted) ** 2
    return jax.lax.scan(step, jnp.zeros(()), xs=(inputs, targets))  # NNX780
losses(0.5, jnp.arange(6.0))
""",
            """\
def train(params, batches, beta=0.9):
    momentum = None
    for batch in batches:
        grads = jax.grad(lambda p: jnp.sum(p["w"] * batch))(params)
        momentum = jax.tree.map(lambda g, m: g if m is None else beta * m + g, grads, momentum)  # NNX780
        params = jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum)
    return params
train({"w": jnp.ones(3)}, batches)
""",
            "p = {'w': x}\ny = jax.tree.map(lambda a, b: a - b, p, 0.1)  # NNX780\n",
            "def total(parts):\n    out = None\n    for part in parts:\n"
            "        out = jax.tree.map(jnp.add, out, part)  # NNX780\n    return out\n",
            "def ema(old, new, rate):\n    return jax.tree.map(lambda o, n, r: o + r * n, old, new, rate)  # NNX780\n"
            "p = ema({'w': x}, {'w': x}, 0.1)\n",
            "y = jax.lax.scan(lambda c, v: (c, None), 0.0, (x, x[:-1]))  # NNX780\n",
            "y = jax.lax.scan(lambda c, v: (c, None), 0.0, {'a': jnp.zeros((3, 2)), 'b': jnp.arange(4)})  # NNX780\n",
        ),
        clean=(
            """\
def train(params, batches, beta=0.9):
    momentum = None
    for batch in batches:
        grads = jax.grad(lambda p: jnp.sum(p["w"] * batch))(params)
        if momentum is None:
            momentum = grads
        else:
            momentum = jax.tree.map(lambda g, m: beta * m + g, grads, momentum)
        params = jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum)
    return params
print(train({"w": jnp.ones(3)}, batches))
""",
            """\
def losses(w, tokens):
    inputs, targets = tokens[:-1], tokens[1:]
    def step(h, pair):
        seen, wanted = pair
        h = jnp.tanh(w * h + seen)
        return h, (h - wanted) ** 2
    return jax.lax.scan(step, jnp.zeros(()), xs=(inputs, targets))[1]
print(losses(0.5, jnp.arange(6.0)))
""",
            "p = {'w': x}\ny = jax.tree.map(lambda a, b: a - b, p, {'w': 0.1})\n",
            "y = jax.tree.map(lambda a, b: a - b, x, 0.1)\n",
            "def total(parts):\n    out = None\n    for part in parts:\n"
            "        out = part if out is None else jax.tree.map(jnp.add, out, part)\n    return out\n",
            "def total(parts):\n    out = None\n    for part in parts:\n        if out is None:\n"
            "            out = part\n            continue\n"
            "        out = jax.tree.map(jnp.add, out, part)\n    return out\n",
            "def ema(old, new, rate):\n    return jax.tree.map(lambda o, n: o + rate * n, old, new)\n",
            "y = jax.lax.scan(lambda c, v: (c, None), 0.0, (x[1:], x[:-1]))\n",
            "y = jax.lax.scan(lambda c, v: (c, None), 0.0, {'a': jnp.zeros((3, 2)), 'b': x})\n",
        ),
    ),
    "NNX781": Cases(
        bad=(
            """\
start = jnp.zeros(3)
def set_platform(name):
    jax.config.update("jax_platform_name", name)  # NNX781
set_platform("cpu")
""",
            """\
import os
os.environ.update({"JAX_PLATFORM_NAME": "cpu", "HOME": "/tmp"})  # NNX781
""",
            "import os\nos.environ['JAX_PLATFORMS'] = 'cpu'  # NNX781\n",
            "import os\ndef setup():\n    os.environ.setdefault('XLA_FLAGS', '--xla_dump_to=out')  # NNX781\n",
            "jax.config.update('jax_num_cpu_devices', 4)  # NNX781\n",
            "def main():\n    jax.config.update('jax_enable_x64', True)  # NNX781\n    return jnp.ones(3)\n",
            """\
def choose():
    jax.devices("cpu")
    jax.config.update("jax_platforms", "cpu")  # NNX781
choose()
""",
        ),
        clean=(
            """\
# %%
import os; os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.9"
import jax
import numpy as np
from functools import partial
print(jax.devices())
# %%
import os; os.environ["XLA_PYTHON_CLIENT_MEM_FRACTION"] = "0.4"
import numpy as np
import jax
from functools import partial
print(jax.devices())
""",
            """\
def main():
    # the devices are taken by this process
    jax.devices()
    # and not by those that it begins
    jax.config.update("jax_platforms", "cpu")
    return jax.process_index()
print(main())
""",
            """\
start = jnp.zeros(3)
def set_platform(name):
    jax.config.update("jax_platform_name", name)
""",
            """\
import os
os.environ.update({"XLA_FLAGS_OF_MINE": "1"}, HOME="/tmp")
print(x)
""",
            "import os\nimport subprocess\nos.environ['JAX_PLATFORMS'] = 'cpu'\n"
            "subprocess.run(['python', 'train.py'])\n",
            "import os\nname = os.environ['JAX_PLATFORMS']\nflags = os.environ.get('XLA_FLAGS', '')\n",
            "jax.config.update('jax_debug_nans', True)\njax.config.update('jax_enable_x64', False)\n",
            "import os\nos.environ['JAX_COORDINATOR_ADDRESS'] = 'localhost:1234'\n"
            "os.environ['WANDB_MODE'] = 'offline'\n",
            "import os\nfrom unittest import mock\ndef test_cpu():\n    os.environ['JAX_PLATFORMS'] = 'cpu'\n",
            """\
settings = {}
settings.update([("jax_platforms", "cpu")])
settings.update([["jax_enable_x64", True]], jax_platforms=True)
""",
            """\
# %%
y = x + 1
# %%
import jax
jax.config.update("jax_platform_name", "cpu")
z = jnp.ones(3)
""",
        ),
    ),
    "NNX777": Cases(
        bad=(
            "def push(state, v):\n    i = state['count']\n"
            "    return {'buf': state['buf'].at[i].set(v), 'count': state['count'] + 1}  # NNX777\n"
            "def mean(state):\n    return state['buf'].sum(0) / jnp.minimum(state['count'], state['buf'].shape[0])\n",
            """\
from flax import struct
@struct.dataclass
class Replay:
    obs: jax.Array
    ptr: jax.Array
    size: jax.Array
    capacity: int = struct.field(pytree_node=False)
def create(capacity, dim):
    return Replay(jnp.zeros((capacity, dim)), jnp.array(0), jnp.array(0), capacity)
def add(buf: Replay, obs):
    kept = buf.obs.at[buf.ptr].set(obs)  # NNX777
    return buf.replace(obs=kept, ptr=buf.ptr + 1, size=jnp.minimum(buf.size + 1, buf.capacity))
""",
            """\
from typing import NamedTuple
CAPACITY = 4
class Buffer(NamedTuple):
    obs: jax.Array
    ptr: jax.Array
    size: jax.Array
def make():
    return Buffer(obs=jnp.zeros((CAPACITY, 3)), ptr=jnp.int32(0), size=jnp.int32(0))
def add(buf, obs):
    i = buf.ptr
    kept = buf.obs.at[i].set(obs)  # NNX777
    return Buffer(obs=kept, ptr=i + 1, size=jnp.minimum(buf.size + 1, CAPACITY))
print(add(make(), x))
""",
            _RING + "        self.data = self.data.at[self.place].set(x)  # NNX777\n        self.place += 1\n"
            "        self.size = min(self.size + 1, self.rows)\n",
            _RING + "        self.data = self.data.at[self.place, 0].set(x)  # NNX777\n"
            "        self.place = self.place + 1\n        self.size = min(self.rows, self.size + 1)\n",
            "def push(s, x):\n    data = s['data'].at[s['place']].set(x)  # NNX777\n"
            "    size = jnp.minimum(s['size'] + 1, s['data'].shape[0])\n"
            "    return {'data': data, 'place': s['place'] + 1, 'size': size}\n",
        ),
        clean=(
            "def push(state, v):\n    i = state['count'] % state['buf'].shape[0]\n"
            "    return {'buf': state['buf'].at[i].set(v), 'count': state['count'] + 1}\n"
            "def mean(state):\n    return state['buf'].sum(0) / jnp.minimum(state['count'], state['buf'].shape[0])\n"
            "print(mean(push({'buf': jnp.zeros(3), 'count': 0}, 1.0)))\n",
            "class Log:\n    def __init__(self, n):\n        self.losses, self.step = jnp.zeros(n), 0\n"
            "    def add(self, loss):\n"
            "        self.losses = self.losses.at[self.step].set(loss)\n        self.step += 1\n"
            "    def rate(self):\n        return min(self.step, 100) * 1e-3\nlog = Log(4)\nlog.add(1.0)\n"
            "print(log.rate())\n",
            """\
from flax import struct
@struct.dataclass
class Replay:
    obs: jax.Array
    ptr: jax.Array
    size: jax.Array
    capacity: int = struct.field(pytree_node=False)
def create(capacity, dim):
    return Replay(jnp.zeros((capacity, dim)), jnp.array(0), jnp.array(0), capacity)
def add(buf: Replay, obs):
    kept = buf.obs.at[buf.ptr].set(obs)
    return buf.replace(obs=kept, ptr=(buf.ptr + 1) % buf.capacity, size=jnp.minimum(buf.size + 1, buf.capacity))
print(add(create(4, 3), x))
""",
            """\
from typing import NamedTuple
CAPACITY = 4
class Buffer(NamedTuple):
    obs: jax.Array
    ptr: jax.Array
    size: jax.Array
def make():
    return Buffer(obs=jnp.zeros((CAPACITY, 3)), ptr=jnp.int32(0), size=jnp.int32(0))
def add(buf, obs):
    i = buf.ptr
    kept = buf.obs.at[i].set(obs)
    return Buffer(obs=kept, ptr=(i + 1) % CAPACITY, size=jnp.minimum(buf.size + 1, CAPACITY))
print(add(make(), x))
""",
            _RING + "        self.data = self.data.at[self.place].set(x)\n"
            "        self.place = (self.place + 1) % self.rows\n"
            "        self.size = min(self.size + 1, self.rows)\n",
            _RING + "        self.data = self.data.at[self.place].set(x)\n        self.place += 1\n"
            "        self.size += 1\n",
            _RING + "        self.data = self.data.at[self.place].set(x)\n        self.place += 1\n"
            "        self.size = min(self.size + 1, self.rows)\n        if self.place == self.rows:\n"
            "            self.place = 0\n",
            "def push(s, t, x):\n    log = t['log'].at[t['end']].set(x)\n"
            "    size = jnp.minimum(s['size'] + 1, s['data'].shape[0])\n"
            "    return {'log': log, 'end': t['end'] + 1}, size\n",
        ),
    ),
}

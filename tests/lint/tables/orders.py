"""Cases of rules about orders: of examples, of rows of a loop, of trees in a list, and of rows that are filled up."""

from __future__ import annotations

from tests.lint.tables import Cases

CASES = {
    "NNX575": Cases(
        bad=(
            """\
def shuffled(key, v):
    return jax.random.choice(key, v, (len(v),))  # NNX575
print(shuffled(key, x))
""",
            """\
def epoch(v):
    perm = np.random.choice(len(v), len(v))  # NNX575
    return v[perm]
print(epoch(x))
""",
            """\
def epoch(key, x, y, size):
    perm = jax.random.choice(key, len(x), (len(x),))  # NNX575
    for i in range(0, len(x), size):
        yield x[perm[i:i + size]], y[perm[i:i + size]]
print(len(list(epoch(jax.random.key(0), jnp.ones((8, 2)), jnp.ones(8), 4))))
""",
            """\
from jax import random as jr
def shuffle(key, x):
    n = x.shape[0]
    idx = jr.choice(key, n, shape=(n,))  # NNX575
    return x[idx]
print(shuffle(jr.key(0), jnp.arange(6)))
""",
            """\
def epochs(key, n, batch):
    steps = n // batch
    perms = jax.random.choice(key, jnp.arange(n), (n,))  # NNX575
    perms = perms[: steps * batch].reshape((steps, batch))
    return perms
print(epochs(jax.random.key(0), 8, 4))
""",
            """\
import jax.random as jr
N = 6
shuffled = jr.choice(jr.key(0), N, shape=[N], replace=True)  # NNX575
print(jnp.arange(6.0)[shuffled])
""",
        ),
        clean=(
            """\
def epoch(v):
    perm = np.random.choice(len(v), len(v), replace=False)
    return v[perm]
print(epoch(x))
""",
            """\
def particles(key, v):
    order = jax.random.choice(key, len(v), (2 * len(v),))
    return v[order]
print(particles(key, x))
""",
            """\
def resampled(v):
    order = np.random.choice(len(v), len(v))
    return v[order]
print(resampled(x))
""",
            """\
def epoch(key, x, size):
    perm = jax.random.choice(key, len(x), (len(x),), replace=False)
    for i in range(0, len(x), size):
        yield x[perm[i:i + size]]
print(len(list(epoch(jax.random.key(0), jnp.ones((8, 2)), 4))))
""",
            """\
def bootstrap(key, x):
    n = len(x)
    idx = jax.random.choice(key, n, (n,))
    return x[idx].mean()
print(bootstrap(jax.random.key(0), jnp.arange(6.0)))
""",
            """\
def batch(key, x, size):
    order = jax.random.choice(key, len(x), (size,))
    return x[order]
print(batch(jax.random.key(0), jnp.arange(6.0), 3))
""",
            """\
def resample(key, particles, weights):
    n = len(particles)
    order = jax.random.choice(key, n, (n,), p=weights)
    return particles[order]
print(resample(jax.random.key(0), jnp.arange(4.0), jnp.ones(4) / 4))
""",
            """\
def epoch(key, x):
    perm = jax.random.permutation(key, len(x))
    return x[perm]
print(epoch(jax.random.key(0), jnp.arange(4.0)))
""",
        ),
    ),
    "NNX576": Cases(
        bad=(
            """\
def returns(rows):
    flipped = jax.tree.map(lambda v: v[::-1], rows)
    return jax.lax.scan(lambda g, r: (r['r'] + g, r['r'] + g), 0.0, flipped, reverse=True)[1]  # NNX576
print(returns({'r': x}))
""",
            """\
def returns(rewards):
    def step(g, r):
        g = r + 0.9 * g
        return g, g
    return jax.lax.scan(step, 0.0, rewards[::-1], reverse=True)[1]  # NNX576
print(returns(jnp.ones(3)))
""",
            """\
from jax import lax
def returns(rewards, dones):
    def step(g, x):
        r, d = x
        g = r + 0.9 * g * (1 - d)
        return g, g
    return lax.scan(step, 0.0, (rewards[::-1], dones[::-1]), reverse=True)[1]  # NNX576
print(returns(jnp.ones(3), jnp.zeros(3)))
""",
            """\
def suffix(x):
    flipped = jnp.flip(x, axis=0)
    return jax.lax.scan(lambda c, a: (c + a, c + a), 0.0, flipped, reverse=True)[1]  # NNX576
print(suffix(jnp.arange(3.0)))
""",
            """\
print(jnp.asarray(jax.lax.cumsum(jnp.arange(3.0)[::-1], reverse=True)))  # NNX576
""",
        ),
        clean=(
            """\
def sums(rows):
    turned = jax.lax.map(lambda row: row[::-1], rows)
    return jax.lax.scan(lambda g, row: (row.sum() + g, g), 0.0, turned, reverse=True)[1]
print(sums(jnp.ones((2, 3))))
""",
            """\
def returns(rewards):
    def step(g, r):
        g = r + 0.9 * g
        return g, g
    return jax.lax.scan(step, 0.0, rewards[::-1])[1][::-1]
print(returns(jnp.ones(3)))
""",
            """\
def returns(rewards):
    def step(g, r):
        g = r + 0.9 * g
        return g, g
    return jax.lax.scan(step, 0.0, rewards, reverse=True)[1]
print(returns(jnp.ones(3)))
""",
            """\
def backward(x):
    def step(g, r):
        return g + r, g
    both = (x, x[::-1])
    return jax.lax.scan(step, 0.0, both, reverse=True)[1] if False else jax.lax.scan(step, 0.0, x, reverse=True)[1]
print(backward(jnp.ones(3)))
""",
            """\
def run(x):
    flipped = x[::-1]
    out = jax.lax.scan(lambda c, a: (c + a, c), 0.0, flipped, reverse=False)[1]
    return out, flipped
print(run(jnp.ones(3)))
""",
            """\
def both(x):
    def step(c, ab):
        a, b = ab
        return c + a * b, c
    return jax.lax.scan(step, 0.0, (x, x[::-1]), reverse=True)[1]
print(both(jnp.ones(3)))
""",
        ),
    ),
    "NNX577": Cases(
        bad=(
            """\
grads = [{"w": jnp.ones(2)}, {"w": jnp.zeros(2)}]
mean = jax.tree.map(lambda *g: sum(g) / len(g), grads)  # NNX577
print(mean["w"])
""",
            """\
params = []
for i in range(3):
    params.append({"w": jnp.full(2, i)})
stacked = jax.tree.map(lambda *xs: jnp.stack(xs), params)  # NNX577
print(stacked["w"].shape)
""",
            """\
def load(seed):
    return {"w": jnp.full(2, seed)}
def average(trees):
    return jax.tree_util.tree_map(lambda *leaves: jnp.mean(jnp.array(leaves), axis=0), trees)  # NNX577
print(average([load(1.0), load(2.0)]))
""",
        ),
        clean=(
            """\
trees = [{"w": jnp.ones(2)}, {"w": jnp.zeros(2)}]
print(jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees))
""",
            """\
trees = [{"w": jnp.ones(2)}, {"w": jnp.zeros(2)}]
print(jax.tree.map(lambda leaf: leaf * 2, trees))
""",
            """\
trees = [{"w": jnp.ones(2)}, {"w": jnp.zeros(2)}]
print(jax.tree.map(lambda first, *rest: first + sum(rest), trees[0], *trees[1:]))
""",
            """\
def stacked(*trees):
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
print(stacked({"w": jnp.ones(2)}, {"w": jnp.zeros(2)}))
""",
            """\
def shown(*parts):
    print(*parts)
jax.tree.map(shown, [jnp.ones(2), jnp.zeros(2)])
""",
        ),
    ),
    "NNX578": Cases(
        bad=(
            """\
@jax.tree_util.register_pytree_node_class
class Gauss:
    def __init__(self, mean, std):
        self.mean = float(mean)  # NNX578
        self.std = std
    def tree_flatten(self):
        return (self.mean, self.std), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
print(jax.jit(lambda g: g.mean + g.std)(Gauss(1.0, 2.0)))
""",
            """\
class Grid:
    def __init__(self, values, spacing):
        self.values = np.asarray(values)  # NNX578
        self.spacing = spacing
jax.tree_util.register_pytree_node(Grid, lambda g: ((g.values,), g.spacing), lambda aux, kids: Grid(kids[0], aux))
print(jax.jit(lambda g: g.values.sum())(Grid(jnp.ones(3), 0.1)))
""",
            """\
class Box:
    def __init__(self, low, high):
        if low > high:  # NNX578
            raise ValueError("empty")
        self.low, self.high = low, high
def flatten(b):
    return [b.low, b.high], None
def unflatten(aux, kids):
    low, high = kids
    return Box(low, high)
jax.tree_util.register_pytree_node(Box, flatten, unflatten)
print(jax.jit(lambda b: b.high - b.low)(Box(0.0, 1.0)))
""",
        ),
        clean=(
            """\
@jax.tree_util.register_pytree_node_class
class Gauss:
    def __init__(self, mean, std):
        self.mean = mean
        self.std = std
    def tree_flatten(self):
        return (self.mean, self.std), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
print(jax.jit(lambda g: g.mean + g.std)(Gauss(1.0, 2.0)))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Gauss:
    def __init__(self, mean, std):
        self.mean = float(mean)
        self.std = float(std)
    def tree_flatten(self):
        return (self.mean, self.std), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        new = object.__new__(cls)
        new.mean, new.std = children
        return new
print(jax.jit(lambda g: g.mean + g.std)(Gauss(1.0, 2.0)))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Power:
    def __init__(self, scale, degree):
        self.scale = scale
        self.degree = int(degree)
    def tree_flatten(self):
        return (self.scale,), self.degree
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0], aux)
print(jax.jit(lambda g: g.scale ** g.degree)(Power(2.0, 3)))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Gauss:
    def __init__(self, mean, std):
        self.mean = float(mean) if isinstance(mean, int) else mean
        self.std = std
    def tree_flatten(self):
        return (self.mean, self.std), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
print(jax.jit(lambda g: g.mean + g.std)(Gauss(1, 2.0)))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Gauss:
    def __init__(self, mean, std=None):
        self.mean = float(mean)
        self.std = 1.0 if std is None else std
    def tree_flatten(self):
        return (self.mean, self.std), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
print(Gauss(1.0).mean)
""",
        ),
    ),
    "NNX579": Cases(
        bad=(
            """\
@jax.jit
def count(mask):
    rows, = jnp.nonzero(mask, size=mask.shape[0])
    return jnp.zeros(5, jnp.int32).at[rows].add(1)  # NNX579
print(count(jnp.array([False, True, False, True, False])))
""",
            """\
MAX_HITS = 8
def degrees(adj):
    i, j = jnp.where(adj, size=MAX_HITS)
    return jnp.zeros(3).at[j].add(1.0)  # NNX579
print(degrees(jnp.eye(3, dtype=bool)))
""",
            """\
def hits(mask, max_hits=6):
    idx = jnp.flatnonzero(mask, size=max_hits)
    return jnp.zeros(mask.shape).at[idx].set(1.0)  # NNX579
print(hits(jnp.array([False, True, True])))
""",
        ),
        clean=(
            """\
def count(mask):
    rows, = jnp.nonzero(mask, size=mask.shape[0], fill_value=mask.shape[0])
    return jnp.zeros(5, jnp.int32).at[rows].add(1)
print(count(jnp.array([False, True, False, True, False])))
""",
            """\
def best(scores, k):
    mask = scores >= jnp.sort(scores)[-k]
    idx = jnp.flatnonzero(mask, size=k)
    return jnp.zeros(scores.shape).at[idx].set(1.0)
print(best(jnp.array([1.0, 3.0, 2.0]), 2))
""",
            """\
MAX_HITS = 8
def degrees(adj):
    i, j = jnp.where(adj, size=MAX_HITS)
    valid = jnp.arange(MAX_HITS) < adj.sum()
    return jnp.zeros(3).at[j].add(jnp.where(valid, 1.0, 0.0))
print(degrees(jnp.eye(3, dtype=bool)))
""",
            """\
MAX_HITS = 8
def degrees(adj):
    i, j = jnp.where(adj, size=MAX_HITS)
    return jnp.zeros(3).at[j].add(adj[i, j] * 1.0)
print(degrees(jnp.eye(3, dtype=bool)))
""",
            """\
MAX_HITS = 8
def degrees(adj):
    i, j = jnp.where(adj, size=MAX_HITS)
    j = jnp.where(jnp.arange(MAX_HITS) < adj.sum(), j, 3)
    return jnp.zeros(3).at[j].add(1.0)
print(degrees(jnp.eye(3, dtype=bool)))
""",
        ),
    ),
    "NNX580": Cases(
        bad=(
            """\
def pooled(tokens, table, pad_id=0):
    keep = (tokens != pad_id)[..., None]
    h = table[tokens]
    h = h * keep
    return jnp.mean(h, axis=1)  # NNX580
print(pooled(jnp.array([[1, 0], [1, 2]]), jnp.ones((3, 2))))
""",
            """\
def pooled(v, lengths):
    mask = jnp.arange(v.shape[1]) < lengths[:, None]
    h = v * mask[..., None]
    return h.sum(axis=1) / v.shape[1]  # NNX580
print(pooled(jnp.ones((2, 4, 3)), jnp.array([1, 4])))
""",
            """\
def pool(x, lengths):
    mask = jnp.arange(x.shape[1]) < lengths[:, None]
    x = jnp.where(mask[:, :, None], x, 0.0)
    return jnp.mean(x, axis=1)  # NNX580
print(pool(jnp.ones((2, 4, 3)), jnp.array([1, 4])))
""",
            """\
def pool(x, lengths):
    mask = (jnp.arange(x.shape[1])[None, :] < lengths[:, None]).astype(x.dtype)
    return (x * mask[..., None]).mean(axis=1)  # NNX580
print(pool(jnp.ones((2, 4, 3)), jnp.array([1, 4])))
""",
            """\
def embed(tokens, table, pad_id=0):
    keep = tokens != pad_id
    h = table[tokens] * keep[..., None]
    return h.mean(1)  # NNX580
print(embed(jnp.array([[1, 0, 0], [1, 2, 3]]), jnp.ones((4, 2))))
""",
        ),
        clean=(
            """\
def pooled(tokens, table, pad_id=0):
    keep = (tokens != pad_id)[..., None]
    h = table[tokens] * keep
    return jnp.mean(h, axis=-1), h.sum(axis=1) / keep.sum(axis=1)
print(pooled(jnp.array([[1, 0], [1, 2]]), jnp.ones((3, 2))))
""",
            """\
def pooled(v, lengths):
    mask = jnp.arange(v.shape[1]) < lengths[:, None]
    h = v * mask[..., None]
    return h.mean(axis=1) * v.shape[1] / lengths[:, None]
print(pooled(jnp.ones((2, 4, 3)), jnp.array([1, 4])))
""",
            """\
def heads(v, n_head):
    mask = jnp.arange(v.shape[1]) < n_head
    return (v * mask).mean(axis=1)
print(heads(jnp.ones((2, 4)), 2))
""",
            """\
def pool(x, lengths):
    mask = jnp.arange(x.shape[1]) < lengths[:, None]
    x = jnp.where(mask[:, :, None], x, 0.0)
    return jnp.sum(x, axis=1) / lengths[:, None]
print(pool(jnp.ones((2, 4, 3)), jnp.array([1, 4])))
""",
            """\
def pool(x, lengths):
    mask = jnp.arange(x.shape[1]) < lengths[:, None]
    return jnp.mean(x, axis=1, where=mask[:, :, None])
print(pool(jnp.ones((2, 4, 3)), jnp.array([1, 4])))
""",
            """\
def relu_mean(x):
    mask = x > 0
    return (x * mask).mean(axis=1)
print(relu_mean(jnp.ones((2, 4))))
""",
            """\
def dropout(key, x):
    keep = jax.random.bernoulli(key, 0.5, x.shape)
    return jnp.where(keep, x / 0.5, 0.0).mean(axis=1)
print(dropout(jax.random.key(0), jnp.ones((2, 4))))
""",
        ),
    ),
    "NNX581": Cases(
        bad=(
            """\
labels = jnp.array([0, 1, 2, 2])
print(jax.nn.one_hot(labels, int(labels.max())))  # NNX581
""",
            """\
def sums(v, ids):
    n = int(jnp.max(ids))
    return jax.ops.segment_sum(v, ids, num_segments=n)  # NNX581
print(sums(jnp.ones(3), jnp.array([0, 1, 1])))
""",
            """\
def counts(ids):
    return jnp.bincount(ids, length=ids.max().item())  # NNX581
print(counts(jnp.array([0, 1, 1])))
""",
            """\
STARS = 5
def targets(key, n):
    ratings = jax.random.randint(key, (n,), 1, STARS + 1)
    return jax.nn.one_hot(ratings, STARS)  # NNX581
print(targets(key, 3))
""",
            """\
labels = jnp.array([1, 2, 3])
print(jax.nn.one_hot(labels, 3))  # NNX581
""",
            """\
def drawn(key):
    return jax.random.randint(key, (4,), minval=1, maxval=11)
@jax.jit
def encoded(labels):
    return jax.nn.one_hot(labels, num_classes=10)  # NNX581
print(encoded(drawn(key)))
""",
            """\
K = 5
def loss(w, rows, labels):
    return optax.softmax_cross_entropy_with_integer_labels(rows @ w["k"] + w["b"], labels).mean()  # NNX581
def load():
    rng = np.random.default_rng(0)
    kinds = rng.integers(1, K + 1, size=7)
    return np.ones((7, 3), np.float32), kinds.astype(np.int32)
def fit(rows, labels):
    w = {"k": 0.1 * jax.random.normal(key, (3, K)), "b": jnp.zeros(K)}
    tx = optax.sgd(0.1)
    state = tx.init(w)
    for _ in range(2):
        updates, state = tx.update(jax.grad(loss)(w, rows, labels), state)
        w = optax.apply_updates(w, updates)
    return w
rows, kinds = load()
print(fit(rows, kinds))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 4, rngs=rngs)
    def __call__(self, rows):
        return self.out(rows)
def loss(net, rows, labels):
    return optax.losses.softmax_cross_entropy_with_integer_labels(net(rows), labels).mean()  # NNX581
labels = jax.random.randint(key, (7,), 0, 4) + 1
print(nnx.value_and_grad(loss)(Net(nnx.Rngs(0)), jnp.ones((7, 3)), labels)[0])
""",
            """\
K = 6
labels = jnp.arange(1, K + 1)
shares = jax.nn.log_softmax(jnp.zeros((K, K)))
print(-jnp.take_along_axis(shares, labels[:, None], axis=-1))  # NNX581
""",
            """\
rng = np.random.default_rng(0)
labels = rng.choice(np.arange(1, 5), 8)
places = rng.permutation(8)[:4]
print(jax.nn.one_hot(labels[places], 4))  # NNX581
""",
        ),
        clean=(
            """\
K = 5
def loss(w, rows, labels):
    return optax.softmax_cross_entropy_with_integer_labels(rows @ w["k"] + w["b"], labels - 1).mean()
rng = np.random.default_rng(0)
w = {"k": 0.1 * jax.random.normal(key, (3, K)), "b": jnp.zeros(K)}
print(jax.grad(loss)(w, jnp.ones((7, 3)), jnp.asarray(rng.integers(1, K + 1, size=7))))
""",
            """\
# as many as there are, or one more class
K = 5
rng = np.random.default_rng(0)
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((7, K)), rng.integers(1, K, size=7)))
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((7, K + 1)), rng.integers(1, K + 1, size=7)))
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((7, 3)), rng.choice(3, 7)))
""",
            """\
K = 5
rng = np.random.default_rng(0)
labels = rng.integers(1, K + 1, size=7)
labels[labels == K] = 0
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((7, K)), labels))
others = rng.integers(1, K + 1, size=7)
others -= 1
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((7, K)), others))
""",
            """\
K = 5
labels = jax.random.randint(key, (7,), 1, K + 1)
few = np.asarray(labels)
few = few[few < K]
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((len(few), K)), few))
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((7, K)), labels % K))
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((7, K)), jnp.minimum(labels, K - 1)))
print(optax.softmax_cross_entropy_with_integer_labels(jnp.zeros((K - 1, K)), jnp.arange(1, K + 1)[:-1]))
""",
            """\
# a matrix that shifts, and the next element with the last one left out
n = 4
print(jax.nn.one_hot(jnp.arange(1, n + 1), n), jax.nn.one_hot(jnp.arange(n) + 1, n))
rows = jnp.arange(8.0).reshape(2, n)
later = jnp.take_along_axis(rows, jnp.arange(1, n + 1)[None], axis=-1)
print(jnp.where(jnp.arange(n) < n - 1, later, 0.0))
""",
            """\
labels = jnp.array([0, 1, 2, 2])
print(jax.nn.one_hot(labels, int(labels.max()) + 1))
""",
            """\
# labels from one
labels = jnp.array([1, 2, 3, 3])
print(jax.nn.one_hot(labels - 1, int(labels.max())))
""",
            """\
def sums(v, ids):
    n = int(jnp.max(ids))
    n += 1
    return jax.ops.segment_sum(v, ids, num_segments=n)
print(sums(jnp.ones(3), jnp.array([0, 1, 1])))
""",
            """\
# the greatest of other ids
def sums(v, ids, others):
    return jax.ops.segment_sum(v, ids, num_segments=int(others.max()))
print(sums(jnp.ones(3), jnp.array([0, 1, 1]), jnp.array([2, 2])))
""",
            """\
STARS = 5
def targets(key, n):
    ratings = jax.random.randint(key, (n,), 1, STARS + 1)
    return jax.nn.one_hot(ratings - 1, STARS), ratings
print(targets(key, 3))
""",
            """\
STARS = 5
def targets(key, n):
    return jax.nn.one_hot(jax.random.randint(key, (n,), 0, STARS), STARS)
print(targets(key, 3))
""",
            """\
STARS = 5
def targets(key, n):
    return jax.nn.one_hot(jax.random.randint(key, (n,), 1, STARS + 1), STARS + 1)
print(targets(key, 3))
""",
            """\
masked = 3
labels = jnp.array([0, 1, masked, 2])
print(jax.nn.one_hot(labels, 3))
""",
            """\
def encoded(labels, n):
    return jax.nn.one_hot(labels, n)
print(encoded(jnp.array([1, 2]), 4), encoded(jnp.array([1, 2, 3]), 4))
""",
        ),
    ),
    "NNX582": Cases(
        bad=(
            """\
def pca(rows, k):
    centred = rows - rows.mean(0)
    vals, vecs = jnp.linalg.eigh(centred.T @ centred / len(rows))
    return centred @ vecs[:, :k]  # NNX582
print(pca(jnp.arange(12.0).reshape(4, 3) ** 2, 2))
""",
            """\
def project(rows, n_components):
    w, v = np.linalg.eigh(np.cov(rows, rowvar=False))
    basis = v[:, :n_components]  # NNX582
    return rows @ basis
print(project(np.arange(12.0).reshape(4, 3) ** 2, 2))
""",
            """\
class PCA:
    def fit(self, rows):
        found = jnp.linalg.eigh(jnp.cov(rows.T))
        self.explained = found.eigenvalues[:2]  # NNX582
        self.axes = found.eigenvectors[:, :2]  # NNX582
        return self
PCA().fit(jnp.arange(12.0).reshape(4, 3) ** 2)
""",
            """\
def rates(hessian):
    vals = jnp.linalg.eigvalsh(hessian)
    lambda_max = vals[0]  # NNX582
    lambda_min = vals[-1]  # NNX582
    cond = vals[0] / vals[-1]  # NNX582
    return lambda_max, lambda_min, cond
print(rates(jnp.diag(jnp.array([1.0, 3.0]))))
""",
            """\
def topk_accuracy(logits, labels, k=5):
    idx = jnp.argsort(logits, axis=-1)[:, :k]  # NNX582
    return jnp.mean(jnp.any(idx == labels[:, None], axis=-1))
""",
            """\
def top(probs, k):
    return jnp.argsort(probs)[:k]  # NNX582
print(top(jnp.array([0.1, 0.7, 0.2]), 1))
""",
            """\
def f(logits):
    top5 = jnp.argsort(logits)[:5]  # NNX582
    return top5
print(f(jnp.arange(9.0)))
""",
            """\
def f(logits):
    top5 = jnp.argsort(logits, axis=-1)[..., :5]  # NNX582
    return top5
print(f(jnp.arange(18.0).reshape(2, 9)))
""",
            """\
def keep(scores, n_beams):
    order = jnp.argsort(scores)
    return order[:n_beams]  # NNX582
print(keep(jnp.array([0.1, 0.7, 0.2]), 1))
""",
        ),
        clean=(
            """\
def pca(rows, k):
    w, v = jnp.linalg.eigh(jnp.cov(rows.T))
    v, w = v[:, ::-1], w[::-1]
    return rows @ v[:, :k], w[:k]
print(pca(jnp.arange(12.0).reshape(4, 3) ** 2, 2))
""",
            """\
def spectral_embedding(laplacian, n_components):
    w, v = jnp.linalg.eigh(laplacian)
    return v[:, :n_components]
def normals(points):
    w, v = jnp.linalg.eigh(jnp.cov(points.T))
    return v[:, 0]
def minor_components(rows, k):
    w, v = jnp.linalg.eigh(jnp.cov(rows.T))
    return rows @ v[:, :k]
def pca(rows, k):
    w, v = jnp.linalg.eigh(-jnp.cov(rows.T))
    return rows @ v[:, :k]
rows = jnp.arange(12.0).reshape(4, 3) ** 2
print(spectral_embedding(jnp.eye(3), 2), normals(rows), minor_components(rows, 1), pca(rows, 1))
""",
            """\
def probabilistic_pca(rows, q):
    w, v = jnp.linalg.eigh(jnp.cov(rows.T))
    d = len(w)
    sigma2 = w[: d - q].mean()
    return v[:, -q:] * jnp.sqrt(w[-q:] - sigma2)
print(probabilistic_pca(jnp.arange(12.0).reshape(4, 3) ** 2, 1))
""",
            """\
def bounds(hessian):
    vals = jnp.linalg.eigvalsh(hessian)
    lambda_min, lambda_max = vals[0], vals[-1]
    largest = jnp.linalg.svd(hessian)[1][0]
    return lambda_max, lambda_min, vals[-1] / vals[0], largest
print(bounds(jnp.diag(jnp.array([1.0, 3.0]))))
""",
            """\
def topk_accuracy(logits, labels, k=2):
    idx = jnp.argsort(logits, axis=-1)[:, -k:]
    return jnp.mean(jnp.any(idx == labels[:, None], axis=-1))
print(topk_accuracy(jnp.eye(3), jnp.arange(3)))
""",
            """\
def top(probs, k):
    return jnp.argsort(-probs)[:k]
print(top(jnp.array([0.1, 0.7, 0.2]), 1))
""",
            """\
def top(distances, k):
    return jnp.argsort(distances)[:k]
print(top(jnp.array([0.1, 0.7, 0.2]), 1))
""",
            """\
def top(probs, k):
    order = jnp.argsort(probs)
    return order[-k:], order[::-1][:k]
print(top(jnp.array([0.1, 0.7, 0.2]), 1))
""",
            """\
def least(probs, k):
    return jnp.argsort(probs)[:k]
print(least(jnp.array([0.1, 0.7, 0.2]), 1))
""",
            """\
def top(probs, k):
    probs = 1.0 - probs
    return jnp.argsort(probs)[:k]
print(top(jnp.array([0.1, 0.7, 0.2]), 1))
""",
            """\
def top_p(logits, p):
    order = jnp.argsort(logits)
    cum = jnp.cumsum(jax.nn.softmax(logits[order]))
    return logits[order], cum
print(top_p(jnp.array([0.1, 0.7, 0.2]), 1))
""",
            """\
def top_p(probs, n):
    remove = jnp.argsort(probs)[:n]
    return probs.at[remove].set(0.0)
print(top_p(jnp.array([0.1, 0.7, 0.2]), 1))
""",
            """\
def top_p(probs, n):
    return probs.at[jnp.argsort(probs)[:n]].set(0.0)
print(top_p(jnp.array([0.1, 0.7, 0.2]), 1))
""",
        ),
    ),
    "NNX583": Cases(
        bad=(
            """\
def op(l, r):
    return l[0] * r[0], l[1] + l[0] * r[1]
def returns(g, r):
    return jax.lax.associative_scan(op, (g, r), reverse=True)[1]  # NNX583
print(returns(jnp.array([0.9, 0.0, 0.5]), jnp.arange(3.0)))
""",
            """\
from jax import lax
def combine(a, b):
    ga, ra = a
    gb, rb = b
    return ga * gb, ga * rb + ra
print(lax.associative_scan(combine, (jnp.array([0.9, 0.0, 0.5]), jnp.arange(3.0)), reverse=True))  # NNX583
""",
            """\
print(jax.lax.associative_scan(lambda l, r: (l[0] * r[0], l[0] * r[1] + l[1]), (x, x), reverse=True))  # NNX583
""",
        ),
        clean=(
            """\
def op(l, r):
    return l[0] * r[0], r[1] + r[0] * l[1]
print(jax.lax.associative_scan(op, (jnp.array([0.9, 0.0, 0.5]), jnp.arange(3.0)), reverse=True))
""",
            """\
def op(l, r):
    return l[0] * r[0], l[1] + l[0] * r[1]
print(jax.lax.associative_scan(op, (jnp.array([0.9, 0.0, 0.5]), jnp.arange(3.0))))
""",
            """\
print(jax.lax.associative_scan(jnp.maximum, jnp.arange(3.0), reverse=True))
""",
            """\
def op(later, earlier):
    (a1, b1), (a2, b2) = later, earlier
    return a1 * a2, a2 * b1 + b2
print(jax.lax.associative_scan(op, (x, x), reverse=True)[1])
""",
            """\
def op(left, right):
    return left[0] * right[0], left[1] + left[0] * right[1]
print(jax.lax.associative_scan(op, (x, x), reverse=False)[1])
""",
        ),
    ),
    "NNX532": Cases(
        bad=(
            """\
def evolved(psi, rounds):
    def step(psi, _):
        psi = jnp.tanh(psi)
        current_norm = jnp.sum(psi**2)
        return psi, current_norm
    norm_history, psi_final = jax.lax.scan(step, psi, None, length=rounds)  # NNX532
    return psi_final, norm_history
print(evolved(x, 3))
""",
            """\
def fitted(weights, rows):
    def step(weights, row):
        new_weights = weights - 0.1 * row
        loss = jnp.sum(row)
        return loss, new_weights
    last_weights, losses = jax.lax.scan(step, weights, rows)  # NNX532
    return last_weights, losses
""",
            """\
def moments(rows):
    mean = rows.mean(axis=0)
    variance = rows.var(axis=0)
    return mean, variance
variance, mean = moments(x)  # NNX532
""",
            """\
def step(params, velocity, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(params)
    velocity = 0.9 * velocity + grads
    params = params - 0.1 * velocity
    return params, velocity, loss
params, velocity = jnp.ones(4), jnp.zeros(4)
for row in x:
    loss, params, velocity = step(params, velocity, row)  # NNX532
""",
            """\
tx = optax.adam(0.1)
@jax.jit
def update(params, state, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(params)
    updates, new_state = tx.update(grads, state, params)
    return loss, optax.apply_updates(params, updates), new_state
def fit(params, state, rows):
    for row in rows:
        params, state, loss = update(params, state, row)  # NNX532
    return params, loss
""",
            """\
def principal(cov, v):
    vecs, vals = jnp.linalg.eigh(cov)  # NNX532
    return v @ vecs[:, -2:], vals
""",
            """\
def thin(m):
    s, u, vh = jnp.linalg.svd(m, full_matrices=False)  # NNX532
    return u * s @ vh
""",
            """\
def log_density(cov, v):
    logdet, sign = jnp.linalg.slogdet(cov)  # NNX532
    return -0.5 * (logdet + v @ jnp.linalg.solve(cov, v))
""",
        ),
        clean=(
            """\
def step(psi, _):
    psi = jnp.tanh(psi)
    current_norm = jnp.sum(psi**2)
    return psi, current_norm
psi_final, norm_history = jax.lax.scan(step, x, None, length=3)
print(psi_final, norm_history)
""",
            """\
def step(state, row):
    new_state = state + row
    loss = jnp.sum(new_state)
    return new_state, loss
out, losses = jax.lax.scan(step, x, jnp.ones((2, 3)))
states, value = jax.lax.scan(lambda state, row: (state + row, state), x, jnp.ones((2, 3)))
print(out, losses, states, value)
""",
            """\
def step(norm, row):
    norm_now = norm + row
    return norm_now, norm
norm_rows, row_norms = jax.lax.scan(step, x, jnp.ones((2, 3)))
print(norm_rows, row_norms)
""",
            """\
def moments(rows):
    mean = rows.mean(axis=0)
    variance = rows.var(axis=0)
    return mean, variance
mean, variance = moments(x)
mu, mean = moments(x)
_, variance = moments(x)
print(mu, mean, variance)
""",
            """\
def scaled(f, g, cost):
    f = f - cost.sum(axis=1) * g.sum()
    return f, g
f, g = jnp.ones(2), jnp.ones(3)
f, g = scaled(f, g, jnp.ones((2, 3)))
g, f = scaled(g, f, jnp.ones((3, 2)))
print(f, g)
""",
            """\
tx = optax.adam(0.1)
@jax.jit
def update(params, state, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(params)
    updates, new_state = tx.update(grads, state, params)
    return loss, optax.apply_updates(params, updates), new_state
def fit(params, state, rows):
    for row in rows:
        loss, params, state = update(params, state, row)
    last, new_params, _ = update(params, state, rows[0])
    return new_params, last
print(fit(jnp.ones(4), tx.init(jnp.ones(4)), x))
""",
            """\
def halves(key):
    first, second = jax.random.split(key)
    return first, second
def chosen(flag, key):
    if flag:
        first, second = halves(key)
        return first, second
    return key, key
second, first = chosen(True, jax.random.key(0))
print(first, second)
""",
            """\
def parts(m):
    vals, vecs = jnp.linalg.eigh(m)
    w, v = jnp.linalg.eigh(m)
    v, w = jnp.linalg.eigh(m)
    u, s, vh = jnp.linalg.svd(m)
    q, r = jnp.linalg.qr(m)
    sign, logdet = jnp.linalg.slogdet(m)
    return vals, vecs, w, v, u, s, vh, q, r, sign, logdet
print(parts(jnp.outer(x, x) + jnp.eye(3)))
""",
            """\
def parts(m):
    eigvals, eigvecs = jax.scipy.linalg.eigh(m)
    u, s, v = jnp.linalg.svd(m)
    u, s, vt = jnp.linalg.svd(m, full_matrices=False)
    return eigvals, eigvecs, u, s, v, vt
print(len(parts(jnp.outer(x, x) + jnp.eye(3))))
""",
            """\
def log_det(m):
    _, logdet = jnp.linalg.slogdet(m)
    sign, value = jnp.linalg.slogdet(m)
    return logdet, sign, value
print(log_det(jnp.outer(x, x) + jnp.eye(3)))
""",
            """\
def basis_of(m):
    a, b = jnp.linalg.eigh(m)
    values, basis = jnp.linalg.eigh(m)
    vectors, rest = jnp.linalg.qr(m)
    return a, b, values, basis, vectors, rest
print(basis_of(jnp.outer(x, x) + jnp.eye(3)))
""",
        ),
    ),
    "NNX549": Cases(
        bad=(
            """\
from flax.training import train_state
def step(state, row):
    grads = jax.grad(lambda p: jnp.mean((row * p) ** 2))(state.params)
    return state.apply_gradients(grads)  # NNX549
state = train_state.TrainState.create(apply_fn=None, params=jnp.ones(4), tx=optax.sgd(0.1))
state = step(state, x[0])
""",
            """\
from flax.training.train_state import TrainState
state = TrainState.create(lambda p, v: p * v, jnp.ones(4), optax.sgd(0.1))  # NNX549
""",
            """\
from flax.training.train_state import TrainState
class Stats(TrainState):
    batch_stats: dict
state = Stats.create(None, jnp.ones(4), tx=optax.sgd(0.1), batch_stats={})  # NNX549
""",
        ),
        clean=(
            """\
from flax.training import train_state
def step(state, row):
    grads = jax.grad(lambda p: jnp.mean((row * p["w"]) ** 2))(state.params)
    return state.apply_gradients(grads=grads)
state = train_state.TrainState.create(apply_fn=None, params={"w": jnp.ones(1)}, tx=optax.sgd(0.1))
print(step(state, x[0]).step)
""",
            """\
from flax.training.train_state import TrainState
class Own(TrainState):
    def apply_gradients(self, grads):
        return super().apply_gradients(grads=grads)
    @classmethod
    def create(cls, params):
        return super().create(apply_fn=None, params=params, tx=optax.sgd(0.1))
state = Own.create({"w": jnp.ones(4)})
print(state.apply_gradients({"w": jnp.ones(4)}).params)
""",
            """\
from flax.training.train_state import TrainState
class Settings:
    @staticmethod
    def create(size, rate):
        return size * rate
print(Settings.create(3, 0.1))
""",
            """\
from flax.training.train_state import TrainState
class Keras:
    def apply_gradients(self, pairs):
        return [g for g, _ in pairs]
optimizer = Keras()
print(optimizer.apply_gradients([(1.0, 2.0)]))
""",
        ),
    ),
}

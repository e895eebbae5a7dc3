"""Arrays that never change in place, and results that somebody has to take."""

from __future__ import annotations

from tests.lint.tables import Cases

_SYSTEMS = """\
from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular
covs = jnp.eye(3) + 0.1 * jax.random.uniform(key, (7, 3, 3))
rows = jnp.ones((7, 3))
one = 2.0 * jnp.eye(3)
"""

_PARTICLES = """\
places = jax.random.uniform(key, (40,))
charge = jnp.linspace(0.1, 1.0, 40)
grid = jnp.zeros(8)
"""

_BLENDED = """\
def blended(net, slow, rate=0.1):
    new, old = nnx.state(net, nnx.Param), nnx.state(slow, nnx.Param)
    return jax.tree.map(lambda n, o: rate * n + (1 - rate) * o, new, old)
"""

CASES = {
    "NNX744": Cases(
        bad=(
            """\
def confusion(labels, preds):
    counts = np.zeros((3, 3), int)
    counts[labels, preds] += 1  # NNX744
    return counts
print(confusion(np.array([0, 0, 1]), np.array([0, 0, 2])))
""",
            """\
class Confusion:
    def __init__(self, n):
        self.counts = np.zeros((n, n))
    def update(self, batch, logits):
        found = np.argmax(logits, axis=-1)
        self.counts[np.asarray(batch["labels"]), found] += 1  # NNX744
seen = Confusion(3)
seen.update({"labels": [0, 0]}, np.ones((2, 3)))
print(seen.counts)
""",
            """\
def centres(points, assignments, k):
    sums = np.zeros((k, points.shape[1]))
    sums[assignments] += points  # NNX744
    return sums
print(centres(np.ones((3, 2)), np.array([0, 0, 1]), 2))
""",
            """\
def drawn(rng):
    visits = np.zeros(5)
    places = rng.integers(0, 5, size=20)
    visits[places] = visits[places] + 1  # NNX744
    return visits
print(drawn(np.random.default_rng(0)))
""",
            "def bigrams(ids, counts):\n    a, b = ids[:-1], ids[1:]\n"
            "    return counts.at[a, b].set(counts[a, b] + 1)  # NNX744\n",
            "table = {'a': 0, 'b': 1}\ncodes = jnp.array([table[c] for c in 'abba'])\nfreq = jnp.zeros(2)\n"
            "freq = freq.at[codes].set(freq[codes] + 1)  # NNX744\n",
            _PARTICLES
            + "cells = (places * 8).astype(int)\ngrid = grid.at[cells].set(grid[cells] + charge)  # NNX744\n",
            _PARTICLES
            + "@jax.jit\ndef deposit(rho, r, q):\n    i = jnp.clip(jnp.floor(r * rho.size), 0, 7).astype(jnp.int32)\n"
            "    old = rho[i]\n    new = q + old\n    return rho.at[i].set(new)  # NNX744\n"
            "for _ in range(3):\n    grid = deposit(grid, places, charge)\n"
            "    places = (places + 0.1 * grid.mean()) % 1.0\n",
            "ids = jax.random.randint(key, (30,), 0, 5)\nseen = jnp.zeros(5)\n"
            "seen = seen.at[ids].set(seen.at[ids].get() + 1)  # NNX744\n"
            "high = jnp.zeros(5)\nhigh = high.at[ids].set(jnp.maximum(high[ids], jnp.ones(30)))  # NNX744\n",
            "class Count:\n    def __init__(self):\n        self.bins = jnp.zeros((4, 6))\n"
            "    def put(self, values, row):\n        at = jnp.digitize(values, jnp.linspace(-1.0, 1.0, 5))\n"
            "        self.bins = self.bins.at[row, at].set(self.bins[row, at] + 1.0)  # NNX744\n"
            "Count().put(jax.random.normal(key, (50,)), 2)\n",
            "edges = jnp.array([0, 1, 1, 2])\ndegree = jnp.zeros(3)\n"
            "degree = degree.at[edges].set(degree[edges] - 1)  # NNX744\n"
            "rows, cols = jax.random.randint(key, (2, 20), 0, 3)\n",
            "pos = jax.random.uniform(key, (20, 2))\nij = jnp.floor(pos * 4).astype(jnp.int32)\n"
            "mass = jnp.zeros((4, 4))\n"
            "mass = mass.at[ij[:, 0], ij[:, 1]].set(mass[ij[:, 0], ij[:, 1]] + 1.0)  # NNX744\n",
            "moves = jnp.array([0, 2, 4])\nat = moves[jax.random.randint(key, (30,), 0, 3)]\nseen = jnp.zeros(5)\n"
            "seen = seen.at[at].set(seen[at] + 1)  # NNX744\n",
            "class Tally:\n    def __init__(self):\n        self.counts = jnp.zeros(4)\n"
            "    def add(self, scores):\n        best = jnp.argmax(scores, axis=-1)\n"
            "        self.counts = self.counts.at[best].set(self.counts[best] + 1)  # NNX744\n"
            "Tally().add(jax.random.normal(key, (30, 4)))\n",
            "def step(at, k):\n    at = (at + jax.random.randint(k, at.shape, 0, 2)) % 9\n    return at, at\n"
            "_, places = jax.lax.scan(step, jnp.zeros((8,), jnp.int32), jax.random.split(key, 6))\n"
            "flat = places.reshape(-1)\nseen = jnp.zeros(9)\nseen = seen.at[flat].set(seen[flat] + 1)  # NNX744\n",
            "a = jax.random.randint(key, (30,), 0, 5)\nb = jax.random.randint(jax.random.key(3), (30,), 0, 5)\n"
            "a, b = (jnp.ravel(v) for v in (a, b))\nboth = jnp.where(b > 2, a, b)\nseen = jnp.zeros(5)\n"
            "seen = seen.at[both].set(seen[both] + 1)  # NNX744\n",
            """\
class Table:
    def __init__(self, n):
        self.visits = jnp.zeros(n)
        self.grads = jnp.zeros((n, 3))
    def observe(self, states):
        self.visits = self.visits.at[states].set(self.visits[states] + 1)  # NNX744
    def spread(self, tokens, g):
        self.grads = self.grads.at[tokens].set(self.grads[tokens] + g)  # NNX744
""",
            """\
@jax.jit
def embed_step(emb, token_ids, grads, lr=0.1):
    return emb.at[token_ids, :].set(emb[token_ids, :] - lr * grads)  # NNX744
def histogram(labels):
    counts = jnp.zeros(10, jnp.int32)
    return counts.at[labels].set(counts[labels] + 1)  # NNX744
def sums(values, segment_ids, n):
    out = jnp.zeros(n)
    return out.at[segment_ids].set(out[segment_ids] + values)  # NNX744
""",
            """\
class Counts:
    def __init__(self, n):
        self.counts = jnp.zeros(n, dtype=jnp.int32)
    def observe(self, states):
        self.counts = self.counts.at[states].set(self.counts[states] + 1)  # NNX744
table = Counts(5)
for batch in [[0, 0, 0, 1], [2, 2, 0, 4]]:
    table.observe(jnp.array(batch))
def summed(tab, rows=((0, 0, 1), (2, 3, 3))):
    for r in rows:
        i = jnp.asarray(r)
        tab = tab.at[i].set(tab[i] + 1.0)  # NNX744
    return tab
summed(jnp.zeros(4))
""",
            """\
def propagate(h, senders, receivers, weight):
    messages = h[senders] @ weight
    agg = jnp.zeros_like(h)
    old = agg[receivers]
    return agg.at[receivers].set(old + messages)  # NNX744
propagate(jnp.ones((4, 2)), jnp.array([0, 1, 2]), jnp.array([1, 1, 3]), jnp.eye(2))
""",
        ),
        clean=(
            """\
def confusion(labels, preds):
    counts = np.zeros((3, 3), int)
    np.add.at(counts, (labels, preds), 1)
    return counts + np.bincount(labels * 3 + preds, minlength=9).reshape(3, 3)
print(confusion(np.array([0, 0, 1]), np.array([0, 0, 2])))
""",
            """\
def confusion(labels, preds):
    counts = np.zeros((3, 3), int)
    for label, guess in zip(labels, preds):
        counts[label, guess] += 1
    for labels in labels:
        counts[labels, 0] += 1
    return counts
print(confusion(np.array([0, 0, 1]), np.array([0, 0, 2])))
""",
            """\
def one_of_each_row(actions):
    taken = np.zeros((len(actions), 3))
    taken[np.arange(len(actions)), actions] += 1
    return taken
print(one_of_each_row(np.array([0, 0, 1])))
""",
            """\
def unlike(labels):
    counts = np.zeros(3)
    labels = np.unique(labels)
    counts[labels] += 1
    order = np.random.default_rng(0).permutation(3)
    counts[order] += 1
    counts[counts > 1] += 1
    counts[np.flatnonzero(counts)] += 1
    return counts
print(unlike(np.array([0, 0, 1])))
""",
            """\
def seen(label, logits):
    counts = np.zeros(3)
    counts[label] += 1
    counts[np.argmax(logits, axis=-1)] += 1
    return counts
print(seen(1, np.ones(3)))
""",
            """\
def marked(labels):
    present = np.zeros(3)
    present[labels] = 1
    return present
print(marked(np.array([0, 0, 1])))
""",
            "def pull(counts, arm):\n    return counts.at[arm].set(counts[arm] + 1)\nprint(pull(jnp.zeros(3), 1))\n",
            "def best(counts, scores):\n    i = jnp.argsort(scores)[-2:]\n"
            "    counts = counts.at[i].set(counts[i] + 1)\n    rows = jnp.arange(3)[1:]\n"
            "    return counts.at[rows].set(counts[rows] + 1).at[1:].set(counts[1:] + 1)\n"
            "print(best(x, x))\n",
            "def each(counts, action):\n    env = jnp.arange(counts.shape[0])\n"
            "    return counts.at[env, action].set(counts[env, action] + 1)\n"
            "print(each(jnp.zeros((3, 2)), jnp.array([0, 1, 1])))\n",
            _PARTICLES + "cells = (places * 8).astype(int)\ngrid = grid.at[cells].add(charge)\n"
            "one = cells[3]\ngrid = grid.at[one].set(grid[one] + 1.0)\n",
            "ids = jax.random.permutation(key, 5)[:3]\nseen = jnp.zeros(5)\nseen = seen.at[ids].set(seen[ids] + 1)\n"
            "picked = jax.random.choice(jax.random.key(1), 5, (3,), replace=False)\n"
            "seen = seen.at[picked].set(seen[picked] + 1)\n",
            "table = jnp.zeros((6, 3))\nactions = jax.random.randint(key, (6,), 0, 3)\nrows = jnp.arange(6)\n"
            "table = table.at[rows, actions].set(table[rows, actions] + 1.0)\n",
            "def place(grid, r):\n    cell = jnp.floor(r * 8).astype(jnp.int32)\n"
            "    return grid.at[cell].set(grid[cell] + 1.0)\n"
            "for k in jax.random.split(key, 3):\n    print(place(jnp.zeros(8), jax.random.uniform(k)))\n"
            "print(jax.vmap(place, (None, 0))(jnp.zeros(8), jax.random.uniform(jax.random.key(1), (5,))))\n"
            "rs = jax.random.uniform(jax.random.key(2), (5,))\n"
            "print(jax.lax.scan(lambda g, r: (place(g, r), r), jnp.zeros(8), rs))\n",
            "states = jax.random.randint(key, (12,), 0, 4)\nvalue = jnp.zeros(4)\nerror = 1.0 - value[states]\n"
            "value = value.at[states].set(value[states] + 0.1 * error)  # a step towards a target, not a sum\n",
            "ids = jax.random.randint(key, (9,), 0, 4)\nw = jnp.ones(4)\n"
            "w = w.at[ids].set(w[ids] * 0.5)  # each one halved once\n"
            "w = w.at[ids].set(jnp.ones(9))\nw = w.at[jnp.unique(ids)].set(w[jnp.unique(ids)] + 1)\n",
            "start = jax.random.randint(key, (), 0, 9)\nslots = (start + jnp.arange(3)) % 9\nring = jnp.zeros(9)\n"
            "ring = ring.at[slots].set(ring[slots] + 1.0)\n"
            "even = (jnp.linspace(0.0, 1.0, 5) * 8).astype(int)\nring = ring.at[even].set(ring[even] + 1.0)\n",
            "def bump(counts, ids):\n    return counts.at[ids].set(counts[ids] + 1)\n"
            "bump(jnp.zeros(5), jnp.array([0, 3, 4]))\nbump(jnp.zeros(5), jnp.argsort(jax.random.normal(key, (5,))))\n",
            "rows = jax.random.permutation(key, 12).reshape(3, 4)\n"
            "row = rows[jax.random.randint(jax.random.key(5), (), 0, 3)]\n"
            "seen = jnp.zeros(12)\nseen = seen.at[row].set(seen[row] + 1)\n",
            "best = jnp.argmax(jnp.eye(4)[::-1], axis=-1)\nseen = jnp.zeros(4)\n"
            "seen = seen.at[best].set(seen[best] + 1)\n"
            "one = jnp.argmax(jax.random.normal(key, (4,)), axis=0)\nseen = seen.at[one].set(seen[one] + 1)\n",
            "at = np.zeros(3, np.int32)\nfor i in range(3):\n    at[i] = 2 - i\nseen = jnp.zeros(3)\n"
            "seen = seen.at[at].set(seen[at] + 1)\n",
            "a, b = (jnp.ravel(v) for v in (jnp.arange(5), jax.random.randint(key, (5,), 0, 5)))\nseen = jnp.zeros(5)\n"
            "seen = seen.at[a].set(seen[a] + 1)\nseen = seen.at[b].add(1)\n",
            "def step(at, k):\n    return at, jax.random.permutation(k, 9)\n"
            "_, orders = jax.lax.scan(step, 0, jax.random.split(key, 3))\nfirst = orders[0]\nseen = jnp.zeros(9)\n"
            "seen = seen.at[first].set(seen[first] + 1)\n",
            """\
def step(counts, labels):
    return counts.at[labels].set(counts[labels] + 1), labels
print(jax.lax.scan(step, jnp.zeros(4), jnp.array([0, 1, 2])))
def one(counts, states):
    return counts.at[states].set(counts[states] + 1)
print(jax.vmap(one, (None, 0))(jnp.zeros(4), jnp.array([0, 1])))
def pull(counts, actions: int):
    return counts.at[actions].set(counts[actions] + 1)
print(pull(jnp.zeros(3), 2))
""",
            """\
def unique(counts, unique_ids):
    return counts.at[unique_ids].set(counts[unique_ids] + 1)
print(unique(jnp.zeros(3), jnp.array([0, 2])))
def spread(emb, tokens, g):
    return emb.at[tokens].set(emb[tokens] + g)
print(spread(jnp.zeros(3), jnp.arange(2), 1.0))
def td(q, labels, targets):
    return q.at[labels].set(q[labels] + 0.1 * (targets - q[labels]))
print(td(jnp.zeros(3), jnp.array([0, 2]), jnp.ones(2)))
def bump(counts, ids):
    return counts.at[ids].set(counts[ids] + 1)
print(bump(jnp.zeros(5), jnp.array([0, 3, 4])))
for rows in ([0, 1], [2, 3]):
    i = jnp.array(rows)
    z = jnp.zeros(4)
    z = z.at[i].set(z[i] + 1)
""",
        ),
    ),
    "NNX799": Cases(
        bad=(
            """\
def stiffness(k):
    k0, k1 = jnp.moveaxis(k, -1, 0)
    rows = [jnp.stack([k0 + k1, -k1], -1), jnp.stack([-k1, k1], -1)]
    return jnp.stack(rows, axis=-2)
def solved(key, n):
    k = 1.0 + jax.random.uniform(key, (n, 2))
    loads = jax.random.normal(jax.random.key(9), (n, 2))
    return jnp.linalg.solve(stiffness(k), loads)  # NNX799
print(solved(key, 2).shape)
""",
            """\
class Process:
    def __init__(self):
        m = jax.random.normal(key, (16, 4, 4))
        self.k = m @ jnp.swapaxes(m, -1, -2) + jnp.eye(4)
        self.y = jnp.ones((16, 4))
    def alpha(self):
        return jnp.linalg.solve(a=self.k, b=self.y)  # NNX799
Process().alpha()
""",
            """\
def ridge(v, y, lam):
    gram = jnp.einsum("bnd,bne->bde", v, v) + lam * jnp.eye(v.shape[-1])
    rhs = jnp.einsum("bnd,bn->bd", v, y)
    return jnp.linalg.solve(gram, rhs)  # NNX799
ridge(jnp.ones((32, 10, 5)), jnp.ones((32, 10)), 0.1)
""",
            _SYSTEMS + "y = jnp.linalg.solve(covs, rows)  # NNX799\n",
            "means = jnp.array([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])\n"
            "shapes = jnp.stack([jnp.eye(3), 2.0 * jnp.eye(3)])\n"
            "class Mix:\n    def __init__(self, means, shapes):\n        self.means, self.shapes = means, shapes\n"
            "    def far(self, v):\n        off = v - self.means\n"
            "        return jnp.sum(off * jnp.linalg.solve(self.shapes, off), axis=-1)  # NNX799\n"
            "print(Mix(means, shapes).far)\nMix(means, shapes).far(jnp.zeros(3))\n",
            _SYSTEMS + "@jax.jit\ndef white(v, mean, cov):\n    diff = v - mean\n"
            "    return jnp.sum(diff * jax.scipy.linalg.solve(cov, diff), -1)  # NNX799\n"
            "def far(v, cov):\n    return white(v, jnp.zeros(3), cov)\nprint(far(rows, covs))\n",
            "def fit(k, n, d):\n    m = jax.random.normal(k, (n, d, d))\n    gram = m @ m.mT + jnp.eye(d)\n"
            "    right = jnp.ones((n, d))\n    return jnp.linalg.solve(b=right, a=gram)  # NNX799\n",
            _SYSTEMS + "low = jnp.linalg.cholesky(one)\ny = solve_triangular(low, rows, lower=True)  # NNX799\n"
            "z = cho_solve(cho_factor(one), rows)  # NNX799\nw = cho_solve((low, True), b=rows)  # NNX799\n",
            _SYSTEMS + "class Gauss:\n    def __init__(self, d):\n        self.cov = 2.0 * jnp.eye(d)\n"
            "    def __call__(self, v):\n        return jnp.linalg.solve(self.cov, v)  # NNX799\nGauss(3)(rows)\n",
            """\
def systems(k, batch, dim):
    return jax.random.normal(k, (batch, dim, dim)) + 4.0 * jnp.eye(dim), jnp.ones((batch, dim))
@jit
def solved(a, b):
    return jnp.linalg.solve(a, b)  # NNX799
a, b = systems(key, batch=3, dim=3)
solved(a, b)
""",
            """\
n_robots, dof = 4, 4
mass = jnp.zeros((n_robots, dof, dof)) + jnp.eye(dof)
class Arm:
    def acceleration(self, force):
        return jnp.linalg.solve(mass, force)  # NNX799
Arm().acceleration(jnp.ones((n_robots, dof)))
""",
            """\
n, d = 6, 2
a = np.ones((n, d, d)) + np.eye(d)
y = np.linalg.solve(a, np.ones((n, d)))  # NNX799
""",
            """\
def equations(jac, res):
    return jnp.einsum("bmi,bmj->bij", jac, jac), jnp.einsum("bmi,bm->bi", jac, res)
def step(jac, res, damping):
    lhs, rhs = equations(jac, res)
    return jnp.linalg.solve(lhs + damping * jnp.eye(lhs.shape[-1]), -rhs)  # NNX799
""",
        ),
        clean=(
            """\
def stiffness(k):
    k0, k1 = jnp.moveaxis(k, -1, 0)
    rows = [jnp.stack([k0 + k1, -k1], -1), jnp.stack([-k1, k1], -1)]
    return jnp.stack(rows, axis=-2)
def solved(key, n):
    k = 1.0 + jax.random.uniform(key, (n, 2))
    loads = jax.random.normal(jax.random.key(9), (n, 2, 3))
    return jnp.linalg.solve(stiffness(k), loads)
print(solved(key, 2).shape)
""",
            """\
def solved(m):
    k = m @ jnp.swapaxes(m, 0, 1) + jnp.eye(4)
    return jnp.linalg.solve(k, jnp.swapaxes(jnp.ones((16, 4)), 0, 1))
print(solved(jax.random.normal(key, (4, 4))).shape)
""",
            """\
def ridge(v, y, lam):
    gram = jnp.einsum("bnd,bne->bde", v, v) + lam * jnp.eye(v.shape[-1])
    rhs = jnp.einsum("bnd,bn->bd", v, y)
    return jnp.linalg.solve(gram, rhs[..., None])[..., 0]
print(ridge(jnp.ones((32, 10, 5)), jnp.ones((32, 10)), 0.1).shape)
""",
            _SYSTEMS + "y = jnp.linalg.solve(covs, rows[..., None])[..., 0]\nz = jnp.linalg.solve(one, rows.T).T\n",
            "means = jnp.array([[0.0, 1.0], [2.0, 0.0]])\nshapes = jnp.stack([jnp.eye(2), 2.0 * jnp.eye(2)])\n"
            "y = jnp.linalg.solve(shapes, means)  # a matrix for both\nz = jnp.linalg.solve(shapes[0], means[1])\n"
            "w = jnp.linalg.solve(shapes, jnp.array([[1.0], [2.0]]))\n",
            _SYSTEMS + "y = jax.vmap(jnp.linalg.solve)(covs, rows)\n"
            "z = jax.vmap(lambda a, b: jnp.linalg.solve(a, b))(covs, rows)\n",
            _SYSTEMS + "def of(a, b):\n    return jnp.linalg.solve(a, b)\ny = jax.vmap(of)(covs, rows)\n"
            "z = jax.lax.map(lambda pair: of(*pair), (covs, rows))\n",
            _SYSTEMS + "y = jnp.linalg.solve(covs, jnp.eye(3))  # one matrix for all systems\n"
            "z = jnp.linalg.solve(covs, jnp.ones((3, 2)))\n",
            _SYSTEMS + "y = jax.scipy.linalg.solve(covs, rows, assume_a='pos')\nw = cho_solve((one, True), rows[0])\n",
            _SYSTEMS + "y = jnp.linalg.solve(covs, rows[0])\nz = solve_triangular(one, rows[0], lower=True)\n",
            _SYSTEMS + "y = jax.lax.scan(lambda c, row: (c, jnp.linalg.solve(one, row)), 0.0, rows)\n"
            "z = [jnp.linalg.solve(a, b) for a, b in zip(covs, rows)]\n",
            "def fit(k, n, d):\n    m = jax.random.normal(k, (n, d, d))\n    right = jnp.ones((n, d))\n"
            "    return jnp.linalg.solve(m, jnp.expand_dims(right, -1)).squeeze(-1)\nfit(key, 4, 3)\n",
            _SYSTEMS + "y = cho_solve((jnp.linalg.cholesky(covs), True), rows[:, :, None])[..., 0]\n",
            """\
batch, dim = 3, 3
a = jax.random.normal(key, (batch, dim, dim)) + 4.0 * jnp.eye(dim)
y = jnp.linalg.solve(a, jnp.ones((batch, dim))[..., None])[..., 0]
""",
            """\
batch, dim = 3, 3
a = jax.random.normal(key, (batch, dim, dim)) + 4.0 * jnp.eye(dim)
y = jnp.linalg.solve(a, jnp.ones((dim, dim)))  # one matrix for all
z = jnp.linalg.solve(a, jnp.eye(dim))
""",
            """\
n = 3
a = jax.random.normal(key, (n, n, n)) + 4.0 * jnp.eye(n)
y = jnp.linalg.solve(a, jnp.ones((n, n)))
""",
            """\
batch, dim = 3, 3
a = jax.random.normal(key, (batch, dim, dim)) + 4.0 * jnp.eye(dim)
y = jax.vmap(jnp.linalg.solve)(a, jnp.ones((batch, dim)))
""",
            """\
n, d = 6, 2
a = np.ones((n, d, d)) + np.eye(d)
y = np.linalg.solve(a, np.ones((n, d, 1)))[..., 0]
""",
            """\
def equations(jac, res):
    return jnp.einsum("bmi,bmj->bij", jac, jac), jnp.einsum("bmi,bm->bi", jac, res)
def step(jac, res, damping):
    lhs, rhs = equations(jac, res)
    return jnp.linalg.solve(lhs + damping * jnp.eye(lhs.shape[-1]), -rhs[..., None])[..., 0]
print(step(jnp.ones((4, 5, 3)), jnp.ones((4, 5)), 0.1))
""",
            """\
def shared(jac, rows):
    lhs = jnp.einsum("bmi,bmj->bij", jac, jac) + jnp.eye(3)
    rhs = jnp.einsum("im,jm->ij", rows, rows)
    one = jnp.einsum("mi,mj->ij", jac[0], jac[0]) + jnp.eye(3)
    return jnp.linalg.solve(lhs, rhs), jnp.linalg.solve(one, jnp.einsum("mi,mk->ik", jac[0], jac[0]))
print(shared(jnp.ones((4, 5, 3)), jnp.ones((3, 2))))
""",
        ),
    ),
    "NNX840": Cases(
        bad=(
            """\
def counted(frame):
    total = np.asarray(jnp.exp(frame))
    total += 1.5  # NNX840
    return total
""",
            """\
def ordered(frame):
    total = np.asarray(jnp.exp(frame))
    total.sort()  # NNX840
    return total
""",
            """\
def emptied(frame):
    kernel = jax.device_get(jnp.outer(frame, frame))
    np.fill_diagonal(kernel, 0.0)  # NNX840
    return kernel
""",
            """\
def mixed(n):
    order = np.asarray(jnp.arange(n))
    rng = np.random.default_rng(0)
    rng.shuffle(order)  # NNX840
    return order
""",
            """\
def filled(n):
    row = jnp.zeros(n)
    row.at[0] = 1.0  # NNX840
    return row
""",
            """\
def raised(row, i):
    row = jnp.asarray(row)
    row.at[i] += 1.0  # NNX840
    return row
""",
            """\
@jax.jit
def replaced(row):
    row.at[0] = row.sum()  # NNX840
    return row
""",
            "x[0] = 1.0  # NNX840\n",
            """\
def f():
    y = jnp.zeros(3)
    y[1:] += 2  # NNX840
    return y
""",
            """\
from jax.numpy import zeros
table = zeros((2, 2))
for i in range(2):
    table[i, i] = 1  # NNX840
""",
            "del x[0]  # NNX840\n",
            """\
y = jax.random.normal(key, (3,))
y[0], n = 1.0, 2  # NNX840
""",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones(3))
    def clear(self):
        self.w.value[0] = 0.0  # NNX840
""",
        ),
        clean=(
            """\
def counted(frame):
    total = np.asarray(jnp.exp(frame))
    total += jnp.ones(3)
    other = np.array(jnp.exp(frame))
    other += 1.5
    other.sort()
    np.fill_diagonal(np.ones((2, 2)), 0.0)
    listed = [3, 1]
    listed.sort()
    return total, np.sort(np.asarray(jnp.exp(frame))), np.clip(other, 0, 1, out=other), listed
print(counted(jnp.ones(3)))
""",
            """\
class Frame:
    def __init__(self):
        self.at = {}
def noted(frame, value):
    frame.at[0, "loss"] = value
    frame.at[1, "loss"] = jnp.float32(0.5)
    return frame
print(noted(Frame(), 2.0).at)
""",
            """\
def filled(n):
    row = jnp.zeros(n)
    row = row.at[0].set(1.0)
    return row.at[1].add(2.0)
print(filled(3))
""",
            """\
import io
def trimmed(series, start):
    for name, item in series.items():
        series[name] = item - start
    return series
file = io.BytesIO()
jnp.savez(file, t=x)
file.seek(0)
series = dict(jnp.load(file))
print(trimmed(series, series["t"][0]))
""",
            """\
def shifted(series: dict[int, jax.Array], start):
    series[0] = series[0] - start
    return series
print(shifted({0: x}, 1.0))
""",
            # each round writes to a copy
            """\
view = np.asarray(jnp.zeros(3))
for i in range(3):
    view = view.copy()
    view[i] = 1.0
print(view)
""",
            """\
def loss(w, v):
    value = (w * v).sum()
    terms = {}
    terms["total"] = value
    return value, terms
def step(w, v):
    (_, terms), grads = jax.value_and_grad(loss, has_aux=True)(w, v)
    for name in terms:
        terms[name] = terms[name] / 2
    return w - grads, terms
def run(w, rows):
    rows = jax.lax.map(lambda row: row, rows)
    return jax.lax.scan(step, w, rows)
run(x, jnp.ones((2, 3)))
""",
            """\
blocks = jnp.split(jnp.ones(4), 2)
blocks[0] = x
""",
            """\
rows, columns = grid = jnp.meshgrid(x, x)
grid[0] = x
""",
            "x = x.at[0].set(1.0)\n",
            "y = np.zeros(3)\ny[0] = 1\n",
            "rows = [jnp.ones(2)]\nrows[0] = x\n",
            "table = {}\ntable['x'] = x\n",
            "model.kernel[0] = 1.0\n",
            "y = np.array(x)\ny[0] = 1.0\n",
            "def f(values):\n    values[0] = x\n    return values\n",
            """\
def mask(rows):
    parts = jnp.split(jnp.abs(rows), 3, 0)
    for j in range(3):
        parts[j] = jnp.where(parts[j] > 0, -1.0, parts[j])
    return jnp.concatenate(parts)
y = mask(x)
""",
            """\
for group in jnp.split(x, 3):
    parts = jnp.split(abs(group), 1, 0)
    best = parts[0]
    for j in range(1):
        parts[j] = jnp.where(best > 0, -1.0, parts[j])
thirds = jnp.array_split(x, 3)
thirds[1] = x
""",
            """\
def prune(v, m):
    parts = jnp.split(v, 3)
    for i in range(2):
        for j in range(m):
            parts[j] = jnp.where(v[:1] > 0, -1.0, parts[j])
    return parts
y = jax.jit(prune, static_argnums=(1,))(x, 2)
""",
            """\
def swapped(v):
    parts = list(v)
    parts[0], parts[1] = parts[1], parts[0]
    return jnp.stack(parts)
y = swapped(x) + jax.jit(swapped)(x)
""",
        ),
    ),
    "NNX841": Cases(
        bad=(
            """\
from jax.experimental import pallas as pl
def padded(v):
    wide = jnp.zeros(8)
    wide.at[:3].set(v)  # NNX841
    return wide
""",
            "x.at[0].set(1.0)  # NNX841\n",
            """\
def f(y, i):
    y.at[i].add(1)  # NNX841
    return y
""",
            """\
@jax.jit
def f(state, v):
    state["x"].at[0].set(v)  # NNX841
    return state
""",
        ),
        clean=(
            """\
from jax.experimental import pallas as pl
def kernel(x_ref, *outs):
    @pl.when(x_ref[0] >= 0)
    def _():
        for value, out in zip((x_ref[0], x_ref[1]), outs):
            out.at[0].set(value.astype(out.dtype))
like = jax.ShapeDtypeStruct((1,), jnp.float32)
f = pl.pallas_call(kernel, out_shape=[like, like], interpret=True)
""",
            """\
from jax.experimental import pallas as pl
def kernel(x_ref, o_ref):
    memory = {"out": o_ref}
    for name, place in memory.items():
        place.at[0].set(x_ref[0])
    for i, one in enumerate([o_ref]):
        one.at[1].set(x_ref[1])
f = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((3,), jnp.float32), interpret=True)
""",
            """\
from jax.experimental import pallas as pl
def kernel(x_ref, o_ref):
    o_ref.at[0].set(x_ref[0])
f = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((3,), jnp.float32), interpret=True)
""",
            """\
class Where:
    def __init__(self, tree):
        self.tree = tree
    def __getitem__(self, which):
        return self
    def set(self, value):
        self.tree.value = value
        return self.tree
class Tree:
    def __init__(self, value):
        self.value = value
    @property
    def at(self):
        return Where(self)
tree = Tree(1.0)
tree.at[...].set(0)
print(tree.value)
""",
            "x = x.at[0].set(1.0)\n",
            "def f(y):\n    return y.at[0].add(1)\n",
            "frame = load() if False else None\nif frame is not None:\n    frame.at[0, 'a'] = 3\n",
            "seen = set()\nseen.add(3)\n",
            "table = {'a': set()}\ntable['a'].add(1)\n",
        ),
    ),
    "NNX842": Cases(
        bad=(
            """\
import time
from typing import Any, NamedTuple
class Held(NamedTuple):
    params: Any
    count: Any
@jax.jit
def step(held, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(held.params)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, held.params, grads)
    return Held(params=new, count=held.count + 1), loss
def train(held, rows):
    began, losses = time.time(), []
    for row in rows:
        _, loss = step(held, row)  # NNX842
        losses.append(loss)
    return held, losses, began
""",
            """\
import equinox as eqx
tx = optax.sgd(0.1)
@eqx.filter_jit
def make_step(net, state, row):
    loss, grads = eqx.filter_value_and_grad(lambda n: jnp.mean(n(row)))(net)
    updates, state = tx.update(grads, state, net)
    net = eqx.apply_updates(net, updates)
    return net, state, loss
def train(net, state, rows):
    for row in rows:
        _, state, loss = make_step(net, state, row)  # NNX842
        print(loss)
    return net
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        h = self.dense(x)
        self.drop(h)  # NNX842
        nnx.relu(h)  # NNX842
        return h
""",
            """\
class Scale(nnx.Module):
    def __init__(self, n):
        self.mean = nnx.BatchStat(jnp.zeros(n))
    def __call__(self, x):
        self.mean[...] = 0.9 * self.mean[...] + 0.1 * x.mean(0)
        return x - self.mean[...]
class ScaleNorm(Scale):
    pass
class Block(nnx.Module):
    def __init__(self, rngs):
        self.norm = ScaleNorm(3)
    def __call__(self, x):
        self.norm(x)  # NNX842
        return nnx.relu(x)
""",
            """\
def load(model, state):
    graphdef, _ = nnx.split(model)
    loaded = nnx.merge(graphdef, state)  # NNX842
    return model
""",
            """\
class Codes(nnx.Module):
    def __init__(self):
        self.codebook = nnx.Param(jnp.ones((4, 2)))
    def renewed(self, dead, rows):
        codebook = self.codebook[...]
        new_codebook = jnp.where(dead[:, None], rows, codebook)  # NNX842
        return dead.sum()
""",
            """\
class Trainer:
    def __init__(self, params):
        self.params = params
    def train_step(self, grads):
        self.stepped(self.params, grads)  # NNX842
    @functools.partial(jax.jit, static_argnums=0)
    def stepped(self, params, grads):
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
            """\
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Env:
    done: jax.Array
    def replace(self, **changes):
        return dataclasses.replace(self, **changes)
def wrapped(env, limit):
    env.replace(done=env.done | limit)  # NNX842
    return env
""",
            """\
def momentum(params, velocity, grads):
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity), velocity
@jax.jit
def step(params, velocity, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(params)
    params, velocity = momentum(params, velocity, grads)
    return params, velocity, loss
def train(params, rows):
    velocity = jnp.zeros_like(params)
    for row in rows:
        _, velocity, loss = step(params, velocity, row)  # NNX842
    return params
""",
            """\
tx = optax.sgd(0.1)
@jax.jit
def step(state, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(state["params"])
    updates, opt_state = tx.update(grads, state["opt"], state["params"])
    return {**state, "params": optax.apply_updates(state["params"], updates), "opt": opt_state}, loss
def train(state, rows):
    for row in rows:
        _, loss = step(state, row)  # NNX842
    return state
""",
            """\
from flax import linen as nn
from flax import serialization
net = nn.Dense(2)
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
data = serialization.to_bytes(variables)
serialization.from_bytes(variables, data)  # NNX842
""",
            """\
from flax import struct
@struct.dataclass
class Mean:
    total: jax.Array
    count: int = 0
    def merge(self, other):
        total = self.total + other.total
        return self.replace(total=total, count=self.count + other.count)
mean = Mean(jnp.zeros(()))
for v in batches:
    mean.merge(Mean(v.sum(), 3))  # NNX842
print(mean.total)
""",
            """\
from typing import NamedTuple
class Graph(NamedTuple):
    nodes: np.ndarray
def relabel(graphs):
    for graph in graphs:
        nodes = graph.nodes * 2
        graph._replace(nodes=nodes)  # NNX842
    return graphs
""",
            """\
def frozen(params):
    jax.tree.map(jax.lax.stop_gradient, params)  # NNX842
    return params
""",
            "jax.tree.map(lambda v: v * 2, {'a': x})  # NNX842\n",
            """\
def step(params, updates):
    optax.apply_updates(params, updates)  # NNX842
    return params
""",
            """\
from flax.nnx import cached_partial
step = nnx.jit(lambda m, v: m(v))
cached_partial(step, model)  # NNX842
""",
            "x.astype(jnp.float16)  # NNX842\n",
            "nnx.merge(*nnx.split(model))  # NNX842\n",
            "jnp.clip(x, 0, 1)  # NNX842\n",
            _BLENDED + "blended(model, nnx.clone(model))  # NNX842\n",
            _BLENDED + "def learn(net, slow):\n    new = blended(net, slow)  # NNX842\n    return net(x)\n",
            _BLENDED
            + """\
class Learner:
    def __init__(self, net):
        self.net, self.slow = net, nnx.clone(net)
    def mixed(self):
        return blended(self.net, self.slow)
    def learn(self):
        self.mixed()  # NNX842
        return self.net(x)
""",
            """\
def scaled(net):
    new = {}
    for name, leaf in {"a": x}.items():
        new[name] = leaf * 2
    return jax.tree.map(lambda p, q: p + q, new, new)
def run():
    scaled(net=model)  # NNX842
""",
            # a callback that gives nothing
            "seen = []\ndef host(value):\n    seen.append(float(value))\n@jax.jit\ndef step(v):\n"
            "    n = v.sum()\n"
            "    jax.lax.cond(n > 0, lambda n: jax.pure_callback(host, None, n), lambda n: None, n)  # NNX842\n"
            "    return v\n",
            "def host(value):\n    print(value)\ndef told(v):\n    return jax.pure_callback(host, (), v)  # NNX842\n",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
def adapt(net, v, steps):
    params = nnx.state(net, nnx.Param)
    for _ in range(steps):
        grads = nnx.grad(loss_fn)(net, v)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  # NNX842
    return loss_fn(net, v)
loss = adapt(model, x, 3)
""",
            """\
critic = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
@nnx.jit
def step(critic, optimizer, v):
    optimizer.update(critic, nnx.grad(lambda m: m(v).sum())(critic))
    params = nnx.state(critic, nnx.Param)
    params = jax.tree.map(lambda p: jnp.clip(p, -0.1, 0.1), params)  # NNX842
step(critic, nnx.Optimizer(critic, optax.sgd(0.1), wrt=nnx.Param), x)
""",
            """\
def limited(p):
    return jnp.where(p > 1, 1.0, p)
def train(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    grads_new = jax.tree_util.tree_map(limited, grads)  # NNX842
    opt.update(net, grads)
train(model, optimizer, x)
""",
            """\
class Decayed:
    def __init__(self, net):
        self.net = net
    def decay(self, rate):
        graphdef, weights = nnx.split(self.net)
        weights = jax.tree.map(lambda w: w * (1 - rate), weights)  # NNX842
Decayed(model).decay(0.1)
""",
        ),
        clean=(
            """\
import time
from typing import Any, NamedTuple
class Held(NamedTuple):
    params: Any
    count: Any
@jax.jit
def step(held, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(held.params)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, held.params, grads)
    return Held(params=new, count=held.count + 1), loss
def measured(held, rows):
    began = time.time()
    for row in rows:
        _, loss = step(held, row)
        loss.block_until_ready()
    return time.time() - began
print(measured(Held(jnp.ones(3), 0), jnp.ones((2, 3))) > 0)
""",
            """\
from typing import Any, NamedTuple
class Held(NamedTuple):
    params: Any
    count: Any
@jax.jit
def step(held, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(held.params)
    new = jax.tree.map(lambda p, g: p - 0.1 * g, held.params, grads)
    return held._replace(params=new), loss
def train(held, rows):
    for row in rows:
        held, loss = step(held, row)
    return held, loss
print(train(Held(jnp.ones(3), 0), jnp.ones((2, 3))))
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        h = self.dense(x)
        h = self.drop(h)
        return nnx.relu(h)
print(Block(nnx.Rngs(0))(x).shape)
""",
            """\
class Watch(nnx.Module):
    def __init__(self):
        self.seen = nnx.BatchStat(jnp.zeros(()))
    def __call__(self, x):
        self.seen[...] += x.sum()
class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(3, 3, rngs=rngs)
        self.watch = Watch()
    def __call__(self, x):
        self.watch(x)
        return self.dense(x)
print(Block(nnx.Rngs(0))(x).shape)
""",
            """\
class Statistics(nnx.Module):
    def __init__(self):
        self.mean = nnx.BatchStat(jnp.zeros(3))
    def __call__(self, x):
        self.mean[...] = 0.9 * self.mean[...] + 0.1 * x
        return self.mean[...]
class Block(nnx.Module):
    def __init__(self):
        self.statistics = Statistics()
    def __call__(self, x):
        self.statistics(x)
        return x
print(Block()(x).shape)
""",
            """\
def load(model, state):
    graphdef, _ = nnx.split(model)
    loaded = nnx.merge(graphdef, state)
    print(type(loaded).__name__)
    return loaded
load(model, nnx.state(model))
""",
            """\
def prepare(model):
    tx = optax.sgd(0.1)
    clipped = optax.chain(optax.clip_by_global_norm(1.0), tx)
    return nnx.Optimizer(model, clipped, wrt=nnx.Param)
print(type(prepare(model)).__name__)
""",
            """\
class Trainer:
    def __init__(self, params):
        self.params = params
    def compile(self, grads):
        self.stepped(self.params, grads)
    def train_step(self, grads):
        self.params = self.stepped(self.params, grads)
    @functools.partial(jax.jit, static_argnums=0)
    def stepped(self, params, grads):
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
trainer = Trainer(x)
trainer.compile(x)
trainer.train_step(x)
print(trainer.params)
""",
            """\
def chosen(values, updated):
    new_values = jnp.where(updated, 0.0, values)
    return new_values.sum(), values
print(chosen(x, x > 0))
""",
            """\
class Settings:
    def __init__(self):
        self.rate = 1.0
    def replace(self, **changes):
        self.__dict__.update(changes)
        return self
settings = Settings()
settings.replace(rate=2.0)
print(settings.rate)
""",
            """\
def momentum(params, velocity, grads):
    velocity = jax.tree.map(lambda v, g: 0.9 * v + g, velocity, grads)
    return jax.tree.map(lambda p, v: p - 0.1 * v, params, velocity), velocity
@jax.jit
def step(params, velocity, row):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((row * p) ** 2))(params)
    params, velocity = momentum(params, velocity, grads)
    return params, velocity, loss
def train(params, rows):
    velocity = jnp.zeros_like(params)
    for row in rows:
        params, velocity, _ = step(params, velocity, row)
    _, _, loss = step(params, velocity, rows[0])
    return params, loss
print(train(jnp.ones(4), x))
""",
            """\
def looked(params):
    jax.tree.map(np.shape, params)
    jax.tree.map(lambda v: v.dtype, params)
    jax.tree.map(lambda v: jnp.shape(v), params)
    return params
print(looked({"a": x}))
""",
            """\
def to_host(tree):
    return jax.tree.map(np.asarray, tree)
def plotted(v):
    heights = to_host({"a": v})
    slopes = to_host({"a": v * 2})
    return heights["a"]
print(plotted(x))
""",
            """\
def blended(one, two):
    return jax.tree.map(lambda a, b: a * b, one, two)
def fitted(one, two, product):
    if product:
        start = blended(one, two)
    else:
        start = one
    start = one
    return jax.tree.leaves(two)[0].sum()
print(fitted({"a": x}, {"a": x}, True))
""",
            """\
def energy_gradient(energy, v):
    slope = jax.jit(jax.grad(energy))
    energy = jax.jit(energy)
    return slope(v)
def lit(points, lights):
    points = jax.lax.stop_gradient(points.reshape(-1, 3))
    lights = jax.lax.stop_gradient(lights.reshape(-1, 3))
    return points
print(energy_gradient(lambda v: (v**2).sum(), x), lit(x, x))
""",
            """\
from flax import linen as nn
from flax import serialization
net = nn.Dense(2)
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
variables = serialization.from_bytes(variables, serialization.to_bytes(variables))
print(net.apply(variables, jnp.ones((2, 3))).shape)
""",
            """\
from flax import struct
@struct.dataclass
class Mean:
    total: jax.Array
    count: int = 0
    def merge(self, other):
        total = self.total + other.total
        return self.replace(total=total, count=self.count + other.count)
mean = Mean(jnp.zeros(()))
for v in batches:
    mean = mean.merge(Mean(v.sum(), 3))
print(mean.total)
""",
            """\
class Mean:
    def __init__(self):
        self.total = 0.0
    def replace(self, total):
        self.total = total
        return self
    def merge(self, other):
        return self.replace(total=self.total + other)
mean = Mean()
for v in batches:
    mean.merge(float(v.sum()))
print(mean.total)
""",
            """\
from flax import struct
class Mean(struct.PyTreeNode):
    total: float = 0.0
    def merge(self, other):
        seen.append(other)
        return self.replace(total=self.total + other)
seen = []
mean = Mean()
mean.merge(3.0)
print(seen)
""",
            """\
from typing import NamedTuple
class Graph(NamedTuple):
    nodes: np.ndarray
def relabel(graphs, kinds):
    for graph in graphs:
        nodes = graph.nodes
        for i, kind in enumerate(nodes):
            nodes[i] = kinds.index(kind)
        graph._replace(nodes=nodes)
    return graphs
print(relabel([Graph(np.array([6, 1]))], [1, 6]))
""",
            """\
def loss(weights, rows, wanted):
    return jnp.mean((rows @ weights - wanted) ** 2)
def adapt(weights, rows, wanted):
    new = weights - 0.1 * jax.grad(loss)(weights, rows, wanted)
    return new, loss(new, rows, wanted)
def scores(weights, problems):
    found = []
    for rows, wanted in problems:
        new, value = adapt(weights, rows, wanted)
        found.append(value)
    return found
print(scores(x, [(jnp.ones((2, 3)), jnp.ones(2))]))
""",
            """\
def loss(weights, rows, wanted):
    return jnp.mean((rows @ weights - wanted) ** 2)
def descend(weights, task):
    value, grads = jax.value_and_grad(loss)(weights, *task)
    return weights - 0.1 * grads, value
def met(weights, tasks):
    total = 0.0
    for task in tasks:
        new, value = descend(weights, task)
        total += value
    return total
tasks = [(jnp.ones((2, 3)), jnp.ones(2))]
print(jax.grad(met)(x, tasks))
""",
            """\
def frozen(params):
    params = jax.tree.map(jax.lax.stop_gradient, params)
    jax.tree.map(jax.block_until_ready, params)
    return params
frozen({"w": x})
""",
            "from jax.experimental import io_callback\nseen = []\ndef host(value):\n    seen.append(float(value))\n"
            "@jax.jit\ndef step(v):\n    n = v.sum()\n"
            "    jax.lax.cond(n > 0, lambda n: io_callback(host, None, n), lambda n: None, n)\n"
            "    jax.debug.callback(host, v.sum())\n    return v\nstep(x)\n",
            "def step(v):\n    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(v.shape, v.dtype), v)\n"
            "print(step(x))\n",
            "doubled = jax.tree.map(lambda v: v * 2, {'a': x})\n",
            "jax.tree.map(lambda v: print(v), {'a': x})\n",
            "def place(m):\n    s = jax.device_put(nnx.state(m), jax.devices()[0])\n    nnx.update(m, s)\n"
            "    return s\nplace(model)\n",
            """\
def place(m):
    out = []
    for path, leaf in nnx.to_flat_state(nnx.state(m)):
        leaf[...] = jax.device_put(leaf[...], jax.devices()[0])
        out.append((path, leaf))
    return nnx.from_flat_state(out)
def run():
    place(model)
    state = jax.device_put(nnx.state(model), jax.devices()[0])
    def again():
        return nnx.merge(nnx.graphdef(model), state)
    return again()
run()
""",
            "values = [3, 1]\nvalues.sort()\n",
            "y = np.ones(3)\ny.sort()\n",
            "nnx.update(model, nnx.state(model))\n",
            "params = optax.apply_updates({'a': x}, {'a': x})\n",
            _BLENDED + "nnx.update(model, blended(model, nnx.clone(model)))\n",
            # which has changed the model already
            _BLENDED + "def moved(a, b):\n    new = blended(a, b)\n    nnx.update(b, new)\n    return new\n"
            "moved(model, nnx.clone(model))\n",
            _BLENDED + "def moved(a, b):\n    new = blended(a, b)\n    b.bias[...] = new['bias'][...]\n    return new\n"
            "moved(model, nnx.clone(model))\n",
            _BLENDED + "seen = []\ndef kept(a, b):\n    seen.append(1)\n    return blended(a, b)\n"
            "kept(model, nnx.clone(model))\n",
            # only for its errors
            _BLENDED + "def check(a, b):\n    blended(a, b)\ncheck(model, nnx.clone(model))\n",
            "def alike(a, b):\n    return jax.tree.map(lambda p, q: None, a, b)\nalike({'a': x}, {'a': x})\n",
            # it is compiled, and timed later
            "@jax.jit\ndef twice(a, b):\n    return jax.tree.map(lambda p, q: p + q, a, b)\n"
            "twice({'a': x}, {'a': x})\n",
            # the batch statistics of the model change
            """\
net = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
def seen(net):
    net(jnp.ones((2, 3)))
    return jax.tree.map(lambda p, q: p + q, nnx.state(net), nnx.state(net))
seen(net)
""",
            "jax.tree.map(np.testing.assert_allclose, {'a': x}, {'a': x})\n",
            """\
import flax
@flax.struct.dataclass
class State:
    metadata: dict
def save(state):
    metadata = state.metadata
    metadata["chrono"] = 1
    state.replace(metadata=metadata)
    return state
y = save(State({}))
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
def adapt(net, v, steps):
    params = nnx.state(net, nnx.Param)
    for _ in range(steps):
        grads = nnx.grad(loss_fn)(net, v)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        nnx.update(net, params)
    return loss_fn(net, v)
loss = adapt(model, x, 3)
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
def averaged(net, nets):
    total = nnx.state(net, nnx.Param)
    for other in nets:
        total = jax.tree.map(jnp.add, total, nnx.state(other, nnx.Param))
    return total
total = averaged(model, [nnx.clone(model)])
""",
            """\
@nnx.jit
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).sum())(net))
    params = nnx.state(net, nnx.Param)
    params = jax.tree.map(lambda p: jnp.clip(p, -0.1, 0.1), params)
    nnx.update(net, params)
step(model, optimizer, x)
""",
            """\
def count(net):
    params = nnx.state(net, nnx.Param)
    params = jax.tree.map(lambda p: print(p.shape), params)
    sizes = jax.tree.map(lambda p: p.size * 4, nnx.state(net))
count(model)
""",
            """\
def smooth(net, rounds):
    state = nnx.state(net)
    for _ in range(rounds):
        total = sum(jnp.sum(leaf) for leaf in jax.tree.leaves(state))
        print(total)
        state = jax.tree.map(lambda p: p * 0.9, state)
smooth(model, 2)
""",
            """\
def halved(net):
    def halve(v):
        v[...] = v[...] * 0.5
        return v
    state = nnx.state(net)
    state = jax.tree.map(halve, state, is_leaf=lambda v: isinstance(v, nnx.Variable))
halved(model)
""",
        ),
    ),
    "NNX843": Cases(
        bad=(
            """\
def emptied(a):
    a = jnp.asarray(a)
    jnp.fill_diagonal(a, 0.0)  # NNX843
    jnp.put(a, jnp.array([1]), 1.0)  # NNX843
    return a
""",
            """\
def ranked(a):
    products = jnp.ones((3, 3)) @ a
    products.partition(2)  # NNX843
    return products
""",
            "x.fill(0)  # NNX843\n",
            "jnp.add(x, 1, out=x)  # NNX843\n",
            """\
from jax.numpy import exp
y = jnp.zeros(3)
exp(x, out=y)  # NNX843
""",
            """\
def f():
    y = jnp.arange(3)
    y.resize((4,))  # NNX843
    return y
""",
        ),
        clean=(
            """\
def emptied(a):
    a = jnp.fill_diagonal(a, 0.0, inplace=False)
    return jnp.put(a, jnp.array([1]), 1.0, inplace=False)
emptied(jnp.ones((3, 3)))
""",
            """\
table = np.ones((3, 3))
np.fill_diagonal(table, 0.0)
np.put(table, [1], 1.0)
table.partition(2)
""",
            """\
def total(x, axis=None, out=None):
    return jnp.sum(x, axis=axis, out=out)
y = total(x)
""",
            "y = np.zeros(3)\ny.fill(1)\n",
            "y = np.zeros(3)\nnp.add(y, 1, out=y)\n",
            "y = jnp.full_like(x, 0)\n",
            "y = jnp.sum(x, out=None)\n",
            "import queue\nq = queue.Queue()\nq.put(x)\n",
        ),
    ),
    "NNX844": Cases(
        bad=(
            """\
tree = {"w": x, "b": jnp.zeros(2)}
squares = jax.tree.map(lambda p: jnp.sum(p**2), tree)
print(jnp.sum(squares))  # NNX844
""",
            """\
def penalty(params):
    return jnp.sum(jax.tree.map(lambda p: jnp.sum(p**2), params))  # NNX844
penalty({"w": x})
""",
            """\
def largest(grads):
    return jnp.max(jax.tree_util.tree_leaves(grads))  # NNX844
largest({"a": x, "b": x})
""",
            """\
jnp.sum([v * 2 for v in batches], axis=0)  # NNX844
""",
            """\
def largest(values):
    first = jnp.max(tuple(values))  # NNX844
    return first, jnp.mean(list(values))  # NNX844
""",
            "y = jnp.sum([1, 2, 3])  # NNX844\n",
            "y = jnp.max((1.0, 2.0))  # NNX844\n",
            """\
from jax.numpy import mean
y = mean([x[0], x[1]])  # NNX844
""",
            "y = x[[0, 1]]  # NNX844\n",
            "y = jnp.maximum(x, [1.0, 2.0, 3.0])  # NNX844\n",
        ),
        clean=(
            """\
import dataclasses
@dataclasses.dataclass(frozen=True)
class Categorical:
    values: list
    shares: list
    def __post_init__(self):
        shares = jnp.asarray(self.shares)
        object.__setattr__(self, "shares", shares / shares.sum())
        object.__setattr__(self, "values", jnp.asarray(self.values))
    def mean(self):
        return jnp.sum(self.shares * self.values), jnp.log(self.shares)
print(Categorical([0.0, 1.0], [3.0, 1.0]).mean())
""",
            """\
tree = {"w": x, "b": jnp.zeros(2)}
squares = jax.tree.map(lambda p: jnp.sum(p**2), tree)
print(sum(jax.tree.leaves(squares)), jnp.sum(jnp.stack(jax.tree.leaves(squares))), jnp.sum(squares["w"]))
""",
            """\
print(jnp.sum(jax.tree.map(lambda one: one * 2, x)))
def total(given):
    return jnp.sum(jax.tree.map(jnp.abs, given))
print(total(x), jnp.asarray(jax.tree.leaves(x)).max())
""",
            """\
grads = nnx.grad(lambda m: m(x).sum())(model)
print(jax.tree.reduce(jnp.add, jax.tree.map(jnp.sum, grads)))
""",
            """\
def largest(values):
    return jnp.max(jnp.array(tuple(values))), jnp.mean(jnp.stack(list(batches)))
largest([1.0, 2.0])
print(jnp.concatenate([v * 2 for v in batches]))
""",
            """\
def tuple(values):
    return jnp.array(values)
jnp.max(tuple([1.0, 2.0]))
""",
            "y = jnp.stack([x, x]) + jnp.concatenate([x, x]).sum()\n",
            "y = jnp.array([1, 2, 3]).sum()\n",
            "y = np.sum([1, 2, 3])\n",
            "y = jnp.sum(jnp.asarray([1, 2]))\n",
            "y = jnp.zeros((2, 3)).reshape((3, 2))\n",
            "names = {'a': 1}\ny = [names[k] for k in ['a']]\n",
        ),
    ),
    "NNX845": Cases(
        bad=(
            "import jax.numpy as np  # NNX845\n",
            "from jax import numpy as np  # NNX845\n",
            "import jax.numpy as numpy  # NNX845\n",
        ),
        clean=(
            "import jax.numpy as jnp\n",
            "from jax import numpy as jnp\n",
            "import numpy as np\n",
            "from jax import numpy\n",
        ),
    ),
    "NNX846": Cases(
        bad=(
            """\
class Stat(nnx.Variable):
    pass
class Normalizer(nnx.Module):
    def __init__(self, dim):
        self.mean, self.var, self.count = Stat(jnp.zeros(dim)), Stat(jnp.ones(dim)), Stat(jnp.asarray(1e-4))
    def update(self, seen):
        n = seen.shape[0]
        total = self.count[...] + n
        second = self.var[...] * self.count[...] + seen.var(0) * n
        second = second + (seen.mean(0) - self.mean[...]) ** 2 * n
        self.var = second / total  # NNX846
        self.count = total  # NNX846
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.last = nnx.Linear(3, 3, rngs=rngs)

    def tie(self):
        self.last.kernel = self.first.kernel[...].T  # NNX846
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)

    def reset(self, key):
        self.first.kernel = jax.random.normal(key, (3, 3)) * 0.01  # NNX846
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
def port(pair, weights):
    for name in ("one", "two"):
        layer = getattr(pair, name)
        layer.kernel = jnp.asarray(weights[name])  # NNX846
port(Pair(nnx.Rngs(0)), weights)
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
def port(pair, weights):
    for name, array in weights.items():
        getattr(pair, name).kernel = jnp.asarray(array)  # NNX846
port(Pair(nnx.Rngs(0)), weights)
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
for path, layer in nnx.iter_graph(Pair(nnx.Rngs(0))):
    if isinstance(layer, nnx.Linear):
        layer.kernel = jnp.zeros(layer.kernel.shape)  # NNX846
        setattr(layer, "bias", jnp.zeros(3))  # NNX846
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
pair = Pair(nnx.Rngs(0))
pair.one.kernel = np.ones((3, 3))  # NNX846
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
pair = Pair(nnx.Rngs(0))
for key, array in (("kernel", np.eye(3)), ("bias", np.ones(3))):
    setattr(pair.one, key, jnp.asarray(array))  # NNX846
""",
            """\
two = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
for layer in (model, two):
    layer.kernel, layer.bias = layer.kernel * 0.9, jnp.zeros(3)  # NNX846 NNX846
""",
            "model.kernel = jnp.zeros((3, 3))  # NNX846\n",
            "model.bias = model.bias * 2  # NNX846\n",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.count = self.count + 1  # NNX846
        return x
""",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.mean = nnx.BatchStat(jnp.zeros(3))
    def __call__(self, x):
        self.mean = 0.9 * self.mean.value + 0.1 * x  # NNX846
        return x
""",
            """\
def reset(net: nnx.Linear):
    net.kernel = jnp.zeros((3, 3))  # NNX846
""",
        ),
        clean=(
            """\
class Stat(nnx.Variable):
    pass
class Normalizer(nnx.Module):
    def __init__(self, dim):
        self.var, self.count, self.rounds = Stat(jnp.ones(dim)), Stat(jnp.asarray(1e-4)), 0
    def update(self, seen):
        total = self.count[...] + seen.shape[0]
        second = self.var[...] * self.count[...] + seen.var(0)
        second = second + 1.0
        self.var[...] = second / total
        self.count = Stat(total)
        rounds = self.rounds + 1
        self.rounds = rounds * 1
normalizer = Normalizer(3)
normalizer.update(jnp.ones((2, 3)))
print(normalizer.var[...], normalizer.count[...], normalizer.rounds)
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.last = nnx.Linear(3, 3, rngs=rngs)

    def tie(self):
        self.last.kernel[...] = self.first.kernel[...].T
        self.last.kernel = self.first.kernel
Tied(nnx.Rngs(0)).tie()
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)

    def reset(self, key):
        first, second, third = jax.random.split(key, 3)
        self.first.kernel[...] = jax.random.normal(first, (3, 3)) * 0.01
        self.first.kernel = nnx.Param(jax.random.normal(second, (3, 3)) * 0.01)
        self.noise = jax.random.normal(third, (3, 3)) * 0.01
Net(nnx.Rngs(0)).reset(key)
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
def port(pair, weights):
    for name in ("one", "two"):
        layer = getattr(pair, name)
        layer.kernel[...] = jnp.asarray(weights[name])
        layer.bias = nnx.Param(jnp.zeros(3))
port(Pair(nnx.Rngs(0)), weights)
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
class Fixed(nnx.Module):
    def __init__(self):
        self.kernel = jnp.ones((3, 3))
class Both(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.fixed = Fixed()
def port(both, name, array):
    layer = getattr(both, name)
    layer.kernel = jnp.asarray(array)
port(Both(nnx.Rngs(0)), "fixed", np.zeros((3, 3)))
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
for path, layer in nnx.iter_graph(Pair(nnx.Rngs(0))):
    if isinstance(layer, nnx.Linear):
        layer.kernel[...] = jnp.zeros(layer.kernel.shape)
        setattr(layer, "seen", jnp.zeros(3))
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
class Record:
    pass
record = Record()
for key, array in weights.items():
    setattr(record, key, jnp.asarray(array))
setattr(record, "kernel", jnp.ones(3))
""",
            """\
class Pair(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Linear(3, 3, rngs=rngs)
        self.two = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.two(self.one(v))
weights = {"one": np.ones((3, 3)), "two": np.zeros((3, 3))}
pair = Pair(nnx.Rngs(0))
for key, array in (("kernel", np.eye(3)), ("bias", np.ones(3))):
    setattr(pair.one, key, nnx.Param(jnp.asarray(array)))
""",
            """\
two = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
for layer in (model, two):
    layer.kernel, layer.mask = nnx.Param(layer.kernel * 0.9), jnp.zeros(3)
""",
            """\
class Plain:
    def __init__(self, kernel):
        self.kernel = kernel
def halve(one):
    one.kernel = one.kernel * 0.5
halve(Plain(x))
""",
            "model.kernel[...] = jnp.zeros((3, 3))\n",
            "model.kernel = nnx.Param(jnp.zeros((3, 3)))\n",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.count[...] = self.count[...] + 1
        return x
""",
            """\
class Plain:
    def __init__(self):
        self.kernel = jnp.ones(3)
    def reset(self):
        self.kernel = jnp.zeros(3)
""",
            """\
class Net(nnx.Module):
    def __init__(self, bias=None):
        self.bias = bias
    def set(self, v):
        self.bias = v
""",
            "model.bias = None\n",
        ),
    ),
    "NNX847": Cases(
        bad=(
            """\
def values(policy, rewards):
    n, m = policy.shape
    def backup(i, q):
        later = (policy[i + 1] * q[i]).sum()  # NNX847
        return q.at[i].set(rewards[i] + later)
    q = jnp.zeros((n + 1, m))
    return jax.lax.fori_loop(0, n, backup, q)
print(values(jnp.ones((3, 2)), jnp.ones((3, 2))))
""",
            """\
def rolling(series, size):
    def at(start):
        return jax.lax.dynamic_slice(series, (start,), (size,)).mean()  # NNX847
    return jax.vmap(at)(jnp.arange(series.shape[0]))
rolling(jnp.arange(8.0), 3)
""",
            """\
def slopes(u):
    cells = jnp.arange(u.shape[0])
    return u[cells + 1] - u[cells]  # NNX847
print(slopes(x))
""",
            """\
def changes(u):
    places = jnp.arange(len(u))
    ahead = u[places + 1]  # NNX847
    return ahead - u
print(changes(x))
""",
            """\
CELLS = 50
def gradients(u):
    cells = jnp.arange(CELLS)
    return u[cells + 1] - u[cells]  # NNX847
def advance(u, dt):
    return u + dt * gradients(u)
def simulate():
    u = jnp.sin(0.1 * jnp.arange(CELLS))
    for _ in range(3):
        u = advance(u, 0.1)
    return u
print(simulate())
""",
            """\
def padded(ids, n):
    return np.pad(ids, (0, n - len(ids)), constant_values=-1)
def counts(labels, n):
    found = jnp.zeros(n)
    return found.at[labels].add(1.0)  # NNX847
print(counts(jnp.asarray(padded(np.array([0, 1]), 4)), 5))
""",
            """\
ROWS = 6
PAD = ROWS
table = 0.1 * jax.random.normal(key, (ROWS, 3))
ids = jnp.where(jnp.arange(4) < 2, jnp.arange(4), PAD)
print(jnp.take(table, ids, axis=0))  # NNX847
""",
            """\
WORDS = {"a": 0, "b": 1}
PAD = len(WORDS)
def init(key):
    return {"table": jax.random.normal(key, (PAD, 3)), "w": jnp.ones((3, 2))}
def embed(params, ids):
    return jnp.take(params["table"], ids, axis=0) @ params["w"]  # NNX847
print(embed(init(key), np.full((2, 4), PAD)))
""",
            """\
def laplacian(u):
    n, m = u.shape
    i, j = jnp.meshgrid(jnp.arange(n), jnp.arange(m), indexing="ij")
    return u[i + 1, j] + u[i - 1, j] - 2 * u  # NNX847
print(laplacian(jnp.ones((3, 3))))
""",
            """\
def laplacian(u):
    cells = jnp.arange(u.shape[0])
    return u[cells + 1] - 2 * u + u[cells - 1]  # NNX847
print(laplacian(x))
""",
            """\
def gradient(field):
    i = jnp.arange(len(field))
    right, left = i + 1, i - 1
    return (field[right] - field[left]) / 2  # NNX847
print(gradient(x))
""",
            """\
def spread(u):
    n = u.shape[0]
    return jax.vmap(lambda i: u[i + 1] + u[i - 1] - 2 * u[i])(jnp.arange(n))  # NNX847
print(spread(x))
""",
            """\
def step(u):
    i = jnp.arange(8)
    return u + 0.1 * (u[i + 1, :] + u[i - 1, :] + u[:, i + 1] + u[:, i - 1] - 4 * u)  # NNX847
print(step(jnp.ones((8, 8))))
""",
            """\
SIZE = 4
@partial(jit, static_argnames="size")
def summed(data, begin, size):
    return jax.lax.dynamic_slice_in_dim(data, begin, size).sum()  # NNX847
def total(data):
    return sum(summed(data, begin, SIZE) for begin in range(0, data.shape[0], SIZE))
labels = jnp.sort(jnp.arange(10) % 3)
print(total(jax.nn.one_hot(labels, 3) + 0.1 * jax.random.normal(key, (10, 3))))
""",
            """\
SIZE, PART = 10, 4
def put(buffer, place, rows):
    buffer = jax.lax.dynamic_update_slice(buffer, rows, (place, 0))  # NNX847
    return buffer, (place + PART) % SIZE
""",
            """\
def put(state, rows):
    data = jax.lax.dynamic_update_slice_in_dim(state["data"], rows, state["place"], axis=0)  # NNX847
    return {"data": data, "place": (3 + state["place"]) % 8}
""",
            """\
KINDS = 2
def up(v): return v + 1
def down(v): return v - 1
MOVES = (up, down)
def move(v, key):
    which = jax.random.randint(key, (), 1, KINDS + 1)
    return jax.lax.switch(which, MOVES, v)  # NNX847
print(move(x, key))
""",
            """\
last = jnp.arange(10)[11]  # NNX847
print(last)
""",
            """\
WINDOW = 4
@jax.jit
def sums(signal):
    starts = jnp.arange(0, signal.shape[0], WINDOW)
    def one(start):
        return jax.lax.dynamic_slice(signal, (start,), (WINDOW,)).sum()  # NNX847
    return jax.vmap(one)(starts)
print(sums(jnp.arange(10.0)), sums(jnp.linspace(0.0, 1.0, 6)))
""",
            """\
PAD = -1
def padded(lists, width):
    return jnp.array([row + [PAD] * (width - len(row)) for row in lists])
@jax.jit
def degrees(neighbours, weights):
    total = jnp.zeros(weights.shape[0])
    return total.at[neighbours].add(weights[:, None], mode="drop")  # NNX847
print(degrees(padded([[1, 2], [2], [0]], 2), jnp.ones(3)))
""",
            """\
CHUNK = 4
def total(v):
    out = 0.0
    for start in range(0, v.shape[0], CHUNK):
        out += jax.lax.dynamic_slice(v, (start,), (CHUNK,)).sum()  # NNX847
    return out
print(total(jnp.arange(10.0)))
""",
            """\
def numbered(v):
    out = jnp.zeros_like(v)
    for start in range(0, len(v), 3):
        part = jax.lax.dynamic_slice_in_dim(v, start, 3)  # NNX847
        out = jax.lax.dynamic_update_slice_in_dim(out, 10 * part + start, start, 0)
    return out
print(numbered(jnp.arange(10.0)))
""",
            """\
ROWS = 3
table = jnp.arange(ROWS * 2.0).reshape(ROWS, 2)
def lookup(rows, ids):
    return jnp.take(rows, ids, axis=0)  # NNX847
print(lookup(table, jnp.array([1, 3, 2])))
""",
            """\
row = jnp.arange(5)
print(jnp.take(row, 10))  # NNX847
""",
            """\
table = jnp.zeros((3, 2))
print(jnp.take(table, jnp.array([[0, 1], [2, 5]]), axis=0))  # NNX847
""",
            """\
MODES = {"linear": 1, "square": 2}
def penalty(mode, v):
    return jax.lax.switch(mode, [jnp.abs, jnp.square], v).sum()  # NNX847
print({name: penalty(code, x) for name, code in MODES.items()})
""",
            """\
import enum
class Mode(enum.IntEnum):
    SIN = enum.auto()
    COS = enum.auto()
def run(mode, v):
    return jax.lax.switch(mode, (jnp.sin, jnp.cos), v)  # NNX847
print(run(Mode.SIN, 1.0), run(Mode.COS, 1.0))
""",
            """\
TABLE = {"sin": 1, "cos": 2}
def by_name(name, v):
    return jax.lax.switch(TABLE[name], (jnp.sin, jnp.cos), v)  # NNX847
print(by_name("sin", 1.0))
""",
            """\
def ends(v):
    n = v.shape[0]
    return v[n] - v[0]  # NNX847
""",
            """\
class Buffer:
    def __init__(self):
        self.rows = jnp.zeros((8, 2))

    def write(self, value):
        self.rows = self.rows.at[8].set(value)  # NNX847
""",
            """\
SIZE = 2
def windows(series):
    starts = jnp.arange(series.shape[0])
    def one(start):
        before = jax.lax.dynamic_slice(series, (start,), (SIZE,))  # NNX847
        return before, jax.lax.dynamic_slice(series, (start + SIZE,), (1,))[0]
    return jax.vmap(one)(starts)
""",
            """\
def windows(series, size, hop):
    starts = jnp.arange(series.shape[0] // hop) * hop
    return jax.vmap(lambda s: jax.lax.dynamic_slice(series, (s,), (size,)))(starts)  # NNX847
windows(x, size=2, hop=1)
class Data:
    def __init__(self, series, size=5):
        self.series, self.size = series, size
    def window(self, start):
        return jax.lax.dynamic_slice_in_dim(self.series, start, self.size)  # NNX847
    def all(self):
        return jax.vmap(self.window)(jnp.arange(self.series.shape[0]))
""",
            """\
def sums(v):
    def body(total, i):
        part = jax.lax.dynamic_slice_in_dim(v, i, 2)  # NNX847
        return total + part.sum(), None
    return jax.lax.scan(body, 0.0, jnp.arange(0, len(v)))[0]
def stacked(v):
    return jnp.stack([jax.lax.dynamic_slice(v, (i,), (2,)) for i in range(len(v))])  # NNX847
""",
            """\
def energies(v, size):
    n = math.ceil(v.shape[0] / size)
    def body(total, i):
        part = jax.lax.dynamic_slice_in_dim(v, i * size, size)  # NNX847
        return total + part.sum(), None
    return jax.lax.scan(body, 0.0, jnp.arange(n))[0]
""",
            """\
def cdiv(a, b):
    return (a + b - 1) // b
class Blocks:
    def __init__(self, size):
        self.size = size
    def one(self, v, i):
        return jax.lax.dynamic_slice(v, (self.size * i, 0), (self.size, v.shape[1])).sum()  # NNX847
    def all(self, v):
        return [self.one(v, i) for i in range(cdiv(len(v), self.size))]
""",
            """\
SIZE = 4
def sums(v):
    n = -(-v.shape[0] // SIZE)
    return jax.vmap(lambda i: jax.lax.dynamic_slice(v, (i * SIZE,), (SIZE,)).sum())(jnp.arange(n))  # NNX847
""",
            """\
def sums(v, size):
    v = jnp.asarray(v)
    count = int(np.ceil(len(v) / size))
    return jax.lax.map(lambda i: jax.lax.dynamic_slice_in_dim(v, i * size, size).mean(), jnp.arange(count))  # NNX847
""",
            """\
def total(v, size):
    count = int(np.ceil(len(v) / size))
    def body(i, t):
        start = i * size
        return t + jax.lax.dynamic_slice_in_dim(v, start, size).sum()  # NNX847
    return jax.lax.fori_loop(0, count, body, 0.0)
""",
            "n = jax.random.randint(key, (), 1, 3)\ny = jax.lax.switch(n, [jnp.sin, jnp.cos], 1.0)  # NNX847\n",
            "MOVES = (jnp.sin, jnp.cos)\ndef draw(k):\n    return jax.random.randint(k, (), 1, len(MOVES) + 1)\n"
            "y = jax.lax.switch(draw(key), MOVES, 1.0)  # NNX847\n",
            "n = jax.random.randint(key, (), 0, 2)\ny = jax.lax.switch(n + 1, [jnp.sin, jnp.cos], 1.0)  # NNX847\n",
            "y = jnp.zeros(3)\nz = y[3]  # NNX847\n",
            "y = jnp.arange(4)\nz = y.at[5].set(1)  # NNX847\n",
            "def f():\n    y = jnp.array([1, 2])\n    return y[-3]  # NNX847\n",
            "y = jnp.zeros((2, 3))\nz = y[0, 3]  # NNX847\n",
            """\
table = np.full((4, 2), -1)
table[0, 0] = 2
rows = jnp.asarray(table)
def spread(rows, v):
    return jnp.zeros(4).at[rows].add(v, mode="drop")  # NNX847
y = spread(rows, 1.0)
""",
            """\
def place(v, ids, valid):
    ids = jnp.where(valid, ids, -1)
    return jnp.zeros(4).at[ids].set(v, mode="drop")  # NNX847
""",
            """\
def place(v):
    ids, = jnp.nonzero(v > 0, size=4, fill_value=-1)
    return jnp.zeros(4).at[ids].set(v[ids], mode="drop")  # NNX847
""",
            """\
PAD = -1
lists = [[0, 1], [2]]
ids = jnp.array([row + [-1] * (3 - len(row)) for row in lists])
y = jnp.take(x, ids, mode="fill", fill_value=0)  # NNX847
z = x.at[jnp.full(3, PAD)].get(mode="fill")  # NNX847
""",
            """\
def pad(ids, n):
    return jnp.concatenate([ids, jnp.full(n - ids.shape[0], -1)]), jnp.arange(1.0, n + 1)
def put(ids, v):
    return jnp.zeros(4).at[ids].add(v, mode="drop")  # NNX847
y = put(*pad(jnp.arange(2), 5))
""",
            """\
class Bag:
    def __init__(self, n):
        self.n = n
    def add(self, ids, v):
        return jnp.zeros(self.n).at[ids].add(v, mode="drop")  # NNX847
def run(bag, ids):
    return bag.add(ids, 1.0)
y = run(Bag(4), np.append([0, 1], -np.ones(3, np.int32)))
""",
            """\
ROWS, MASK = 16, 16
class Lm(nnx.Module):
    def __init__(self, rows, rngs):
        self.embed = nnx.Embed(rows, 4, rngs=rngs)
    def __call__(self, ids):
        return self.embed(ids)  # NNX847
def corrupt(ids, drop):
    return jnp.where(drop, MASK, ids)
def loss(net, ids, drop):
    return net(corrupt(ids, drop)).sum()
ids = jnp.arange(4)
y = loss(Lm(ROWS, nnx.Rngs(0)), ids, ids > 1)
""",
            """\
table = nnx.Embed(10, 4, rngs=nnx.Rngs(0))
y = table(jnp.full((3,), 10))  # NNX847
z = table(jax.random.randint(key, (3,), 0, 12))  # NNX847
w = table(jnp.zeros((3,), jnp.int32).at[0].set(11))  # NNX847
""",
            # as many as words, however many that are
            """\
WORDS = sorted(set("a rose is a rose".split()))
ROWS = len(WORDS)
PAD = ROWS
def collate(texts):
    out = np.full((len(texts), 6), PAD, np.int32)
    for row, text in zip(out, texts):
        ids = [WORDS.index(word) for word in text.split()]
        row[: len(ids)] = ids
    return jnp.asarray(out)
class Bag(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(ROWS, 4, rngs=rngs)
    def __call__(self, ids):
        return self.embed(ids).mean(axis=1)  # NNX847
def loss(net, ids):
    return net(ids).sum()
y = nnx.value_and_grad(loss)(Bag(nnx.Rngs(0)), collate(["a rose", "is"]))[0]
""",
            """\
class Bag(nnx.Module):
    def __init__(self, rows, rngs):
        self.embed = nnx.Embed(rows, 4, rngs=rngs)
    def __call__(self, ids):
        return self.embed(ids)  # NNX847
def padded(ids, pad):
    return jnp.pad(ids, (0, 2), constant_values=pad)
def main(text):
    words = sorted(set(text.split()))
    size = len(words)
    net, start, stop = Bag(size + 1, nnx.Rngs(0)), size, size + 1
    def run(net, ids):
        return net(ids).sum()
    return run(net, padded(jnp.arange(2), start)) + run(net, padded(jnp.arange(2), stop))
y = main("a rose is a rose")
""",
            # under a gradient
            """\
AMINO, PAD, MASK = 20, 20, 21
class Masked(nnx.Module):
    def __init__(self, dim, rngs):
        self.embed = nnx.Embed(AMINO, dim, rngs=rngs)
    def __call__(self, seq):
        return self.embed(seq)  # NNX847
def corrupt(seq, hit):
    return jnp.where(hit & (seq != PAD), MASK, seq), hit
@nnx.jit
def step(net, seq, hit):
    noisy, hit = corrupt(seq, hit)
    def loss(m):
        return (m(noisy)[..., 0] * hit).sum()
    return nnx.value_and_grad(loss)(net)[0]
seq = jnp.arange(4).at[3].set(PAD)
net = Masked(3, nnx.Rngs(0))
for i in range(2):
    y = step(net, seq, seq > i)
""",
            """\
WINDOW = 4
@jax.jit
def means(series):
    starts = jnp.arange(0, series.shape[0], WINDOW)
    def one(start):
        chunk = jax.lax.dynamic_slice(series, (start,), (WINDOW,))  # NNX847
        return chunk.mean()
    return jax.vmap(one)(starts)
means(jnp.array([1.0, 1, 1, 1, 5, 5, 5, 5, 100, 100]))
""",
            """\
rows = jax.random.normal(key, (10, 3))
def one(i):
    return jax.lax.dynamic_slice(rows, (i, 0), (4, 3)).mean()  # NNX847
a = jax.vmap(one)(jnp.arange(0, 10, 4))
def two(i):
    return jax.lax.dynamic_slice_in_dim(rows, i * 4, 4).mean()  # NNX847
b = jax.lax.map(two, jnp.arange(3))
def three(carry, i):
    return carry, jax.lax.dynamic_slice_in_dim(rows, i, 3, axis=0).sum()  # NNX847
c = jax.lax.scan(three, 0.0, jnp.arange(0, rows.shape[0], 3))
""",
            """\
y = jnp.sin(jnp.zeros((10,)))
def body(i, acc):
    return acc + jax.lax.dynamic_slice_in_dim(y, i * 3, 3).sum()  # NNX847
total = jax.lax.fori_loop(0, 4, body, 0.0)
for start in range(0, 10, 4):
    print(jax.lax.dynamic_slice_in_dim(y, start, 4))  # NNX847
""",
            """\
MOVES = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b]
def node(gene, a, b):
    return jax.lax.switch(gene, MOVES, a, b)  # NNX847
@jit
def genome(genes, a, b):
    return jax.vmap(node, in_axes=(0, None, None))(genes, a, b)
genome(jnp.arange(1, len(MOVES) + 1), 7.0, 2.0)
""",
            """\
@jit
def run(op, v):
    return jax.lax.switch(op, [jnp.sin, jnp.cos], v)  # NNX847
for op in range(1, 3):
    run(op, x)
""",
            """\
from jax import lax
OPS = (jnp.sin, jnp.cos, jnp.tanh)
class Program:
    def run(self, op, v):
        return lax.switch(op, OPS, v)  # NNX847
    def all(self, v):
        return jax.vmap(self.run, in_axes=(0, None))(jnp.array([1, 2, 3]), v)
Program().all(x)
""",
            """\
OPS = (jnp.sin, jnp.cos, jnp.tanh)
def node(gene, v):
    return jax.lax.switch(gene, OPS, v)  # NNX847
genes = jax.random.randint(key, (8,), 1, len(OPS) + 1)
jax.vmap(node, in_axes=(0, None))(genes, 1.0)
""",
        ),
        clean=(
            """\
def values(policy, rewards):
    n, m = policy.shape
    def backup(i, q):
        later = (policy[i + 1] * q[i + 1]).sum()
        return q.at[i].set(rewards[i] + later)
    q = jnp.zeros((n + 1, m))
    return jax.lax.fori_loop(0, n, backup, q)
print(values(jnp.ones((3, 2)), jnp.ones((3, 2))))
""",
            """\
print(jnp.take(jnp.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), jnp.array([0, 1, 5])))
""",
            """\
def windows(series, size):
    def at(start):
        return jax.lax.dynamic_slice(jnp.roll(series, -start), (0,), (size,)).mean()
    return jax.vmap(at)(jnp.arange(series.shape[0]))
windows(jnp.arange(8.0), 3)
""",
            """\
def slopes(u):
    cells = jnp.arange(u.shape[0] - 1)
    return u[cells + 1] - u[cells]
print(slopes(x))
""",
            """\
def slopes(u):
    cells = jnp.arange(u.shape[0])
    return (u[cells + 1] - u[cells])[:-1]
print(slopes(x))
""",
            """\
def slopes(u):
    cells = jnp.arange(len(u))
    return u[(cells + 1) % len(u)] - u
print(slopes(x))
""",
            """\
CELLS = 3
def slopes(nodes):
    cells = jnp.arange(CELLS)
    return nodes[cells + 1] - nodes[cells]
print(slopes(jnp.linspace(0.0, 1.0, CELLS + 1)))
""",
            """\
def advantages(rewards, values):
    steps = jnp.arange(rewards.shape[0])
    return rewards + 0.9 * values[steps + 1] - values[steps]
print(advantages(x, jnp.ones(4)))
""",
            """\
def slopes(u):
    cells = jnp.arange(len(u))  # the last difference is that of the edge to itself
    return u[cells + 1] - u
print(slopes(x))
""",
            """\
def padded(ids, n):
    return np.pad(ids, (0, n - len(ids)), constant_values=-1)
def counts(labels, n):
    return jnp.zeros(n).at[labels].add(jnp.where(labels >= 0, 1.0, 0.0))
print(counts(jnp.asarray(padded(np.array([0, 1]), 4)), 5))
""",
            """\
# a row more for padding
def padded(ids, n):
    return np.pad(ids, (0, n - len(ids)), constant_values=-1)
def counts(labels, n):
    return jnp.zeros(n + 1).at[labels].add(1.0)
print(counts(jnp.asarray(padded(np.array([0, 1]), 4)), 5)[:-1])
""",
            """\
# the row of the padding is left out again
def padded(ids, n):
    return np.pad(ids, (0, n - len(ids)), constant_values=-1)
def counts(labels, n):
    found = jnp.zeros(n).at[labels].add(1.0)
    return found[:-1]
print(counts(jnp.asarray(padded(np.array([0, 1]), 4)), 5))
""",
            """\
# the last row stands for the padding
dummy = 5
def padded(ids, n):
    return np.pad(ids, (0, n - len(ids)), constant_values=-1)
def counts(labels, n):
    return jnp.zeros(n).at[labels].add(1.0)
print(counts(jnp.asarray(padded(np.array([0, 1]), 4)), dummy + 1))
""",
            """\
ROWS = 6
PAD = ROWS
table = 0.1 * jax.random.normal(key, (ROWS + 1, 3))
ids = jnp.where(jnp.arange(4) < 2, jnp.arange(4), PAD)
print(jnp.take(table, ids, axis=0))
""",
            """\
ROWS = 6
PAD = ROWS
table = 0.1 * jax.random.normal(key, (ROWS, 3))
ids = jnp.where(jnp.arange(4) < 2, jnp.arange(4), PAD)
print(jnp.take(table, ids, axis=0, mode="fill", fill_value=0.0))
""",
            """\
# what is looked up for padding is taken out
ROWS = 6
PAD = ROWS
table = 0.1 * jax.random.normal(key, (ROWS, 3))
ids = jnp.where(jnp.arange(4) < 2, jnp.arange(4), PAD)
found = jnp.take(table, ids, axis=0)
print(jnp.where((ids == PAD)[:, None], 0.0, found))
""",
            """\
def laplacian(u):
    n, m = u.shape
    i, j = jnp.meshgrid(jnp.arange(n), jnp.arange(m), indexing="ij")
    return u[jnp.mod(i + 1, n), j] + u[i - 1, j] - 2 * u
print(laplacian(jnp.ones((3, 3))))
""",
            """\
def laplacian(u):
    n = u.shape[0]
    cells = jnp.arange(n)
    return u[(cells + 1) % n] - 2 * u + u[cells - 1]
print(laplacian(x))
""",
            """\
def laplacian(u):
    cells = jnp.arange(1, u.shape[0] - 1)
    return u[cells + 1] - 2 * u[cells] + u[cells - 1]
print(laplacian(x))
""",
            """\
def laplacian(u):
    i = jnp.arange(u.shape[0])
    return u[jnp.minimum(i + 1, u.shape[0] - 1)] - 2 * u + u[jnp.maximum(i - 1, 0)]
print(laplacian(x))
""",
            """\
def inner(u):  # of an array with an element more at each end
    i = jnp.arange(u.shape[0] - 2) + 1
    return u[i + 1] - 2 * u[i] + u[i - 1]
print(inner(x))
""",
            """\
def padded(u):  # with an element behind the end for both sides
    i = jnp.arange(3)
    return u[i + 1] + u[i - 1]
print(padded(jnp.zeros(4)))
""",
            """\
def step(u):
    i = jnp.arange(u.shape[0])
    return u + 0.1 * (u[i + 1] - 2 * u + u[i - 1])
def fixed(u):
    return step(u).at[0].set(0.0).at[-1].set(0.0)
print(fixed(x))
""",
            """\
def differences(u):
    i = jnp.arange(u.shape[0])
    return u - u[i - 1]
print(differences(x))
""",
            """\
SIZE, PART = 12, 4
def put(buffer, place, rows):
    buffer = jax.lax.dynamic_update_slice(buffer, rows, (place, 0))
    return buffer, (place + PART) % SIZE
assert put(jnp.zeros((12, 1)), 8, jnp.ones((4, 1)))[1] == 0
""",
            """\
def put(buffer, place, row, size):
    buffer = jax.lax.dynamic_update_slice_in_dim(buffer, row[None], place, axis=0)
    return buffer, (place + 1) % 10
assert put(jnp.zeros((10, 1)), 9, jnp.ones(1), 10)[1] == 0
""",
            """\
KINDS = 2
def up(v): return v + 1
def down(v): return v - 1
MOVES = (up, down)
def move(v, key):
    return jax.lax.switch(jax.random.randint(key, (), 0, KINDS), MOVES, v)
print(move(x, key))
""",
            """\
LAST = 1
MOVES = (lambda v: v + 1, lambda v: v - 1)
print(jax.lax.switch(jax.random.randint(key, (), 0, LAST + 1), MOVES, x))
""",
            """\
print(jnp.arange(10)[11], jnp.arange(10).at[11].add(23))
""",
            """\
WINDOW = 4
@jax.jit
def sums(signal):
    starts = jnp.arange(0, signal.shape[0], WINDOW)
    def one(start):
        return jax.lax.dynamic_slice(signal, (start,), (WINDOW,)).sum()
    return jax.vmap(one)(starts)
print(sums(jnp.arange(12.0)), sums(jnp.linspace(0.0, 1.0, 8)))
""",
            """\
PAD = 1_000
def padded(lists, width):
    return jnp.array([row + [PAD] * (width - len(row)) for row in lists])
@jax.jit
def degrees(neighbours, weights):
    total = jnp.zeros(weights.shape[0])
    return total.at[neighbours].add(weights[:, None], mode="drop")
print(degrees(padded([[1, 2], [2], [0]], 2), jnp.ones(3)))
""",
            """\
PAD = -1
def padded(lists, width):
    return jnp.array([row + [PAD] * (width - len(row)) for row in lists])
@jax.jit
def degrees(neighbours, weights):
    total = jnp.zeros(neighbours.shape[0])
    return total.at[neighbours].add(weights, mode="drop")
neighbours = padded([[1, 2], [2], [0]], 2)
print(degrees(neighbours, jnp.where(neighbours < 0, 0.0, 1.0)))
""",
            """\
def halves(v):
    return [jax.lax.dynamic_slice_in_dim(v, i, 5).mean() for i in range(0, len(v), 5)]
print(halves(jnp.arange(10.0)))
""",
            """\
def parts(v, size):
    return [jax.lax.dynamic_slice_in_dim(v, i, size).mean() for i in range(0, len(v), size)]
print(parts(jnp.arange(10.0), 2), parts(jnp.arange(9.0), 3))
""",
            """\
def tenfold(v):
    out = jnp.zeros_like(v)
    for start in range(0, len(v), 3):
        part = jax.lax.dynamic_slice_in_dim(v, start, 3)
        out = jax.lax.dynamic_update_slice_in_dim(out, 10 * part, start, 0)
    return out
print(tenfold(jnp.arange(10.0)))
""",
            """\
def whole(v):
    return [jax.lax.dynamic_slice_in_dim(v, i, 4).mean() for i in range(0, len(v) - 4 + 1, 4)]
print(whole(jnp.arange(10.0)))
""",
            """\
table = jnp.arange(6.0).reshape(3, 2)
def lookup(rows, ids):
    return jnp.take(rows, ids, axis=0)
print(lookup(table, jnp.array([1, 3, 2]) - 1))
""",
            """\
table = jnp.zeros((3, 2))
print(jnp.take(table, jnp.array([0, 2, -3]), axis=0), jnp.take(table, jnp.array([5])))
""",
            """\
table = jnp.zeros((3, 2))
print(jnp.take(table, jnp.array([0, 3]), axis=0, mode="clip"), jnp.take(table, 7, axis=0, fill_value=0.0))
""",
            """\
def rows(v, ids):
    return jnp.take(v, ids, axis=0)
print(rows(jnp.zeros((3, 2)), jnp.array([0, 1])), rows(jnp.zeros((5, 2)), jnp.array([0, 4])))
""",
            """\
def gaps(z):
    total = 0.0
    for i in range(len(z)):
        for j in range(i + 2, len(z)):
            total = total + (z[j] - z[i + 1]) * z[i]
    return total
print(gaps(x))
""",
            """\
MODES = {"linear": 0, "square": 1}
def penalty(mode, v):
    return jax.lax.switch(mode, [jnp.abs, jnp.square], v).sum()
print({name: penalty(code, x) for name, code in MODES.items()})
""",
            """\
import enum
class Mode(enum.IntEnum):
    SIN = enum.auto()
    COS = enum.auto()
def run(mode, v):
    return jax.lax.switch(mode - 1, (jnp.sin, jnp.cos), v)
print(run(Mode.SIN, 1.0), run(Mode.COS, 1.0))
""",
            """\
import enum
class Mode(enum.IntEnum):
    NONE = 0
    SIN = enum.auto()
def run(mode, v):
    return jax.lax.switch(mode, (jnp.abs, jnp.sin), v)
print(run(Mode.SIN, 1.0), run(Mode.NONE, 1.0))
""",
            """\
TABLE = {"sin": 1, "cos": 2}
def by_name(name, v):
    return jax.lax.switch(TABLE[name], (jnp.abs, jnp.sin, jnp.cos), v)
print(by_name("sin", 1.0))
""",
            """\
def ends(v):
    n = v.shape[0]
    v = jnp.pad(v, (0, 1))
    return v[n] - v[0] + v[n - 1]
ends(x)
""",
            """\
def noted(seen, value):
    seen[len(seen)] = jnp.sum(value)
    return seen
noted({}, x)
""",
            """\
class Buffer:
    def __init__(self):
        self.rows = jnp.zeros((8, 2))

    def write(self, value):
        self.rows = self.rows.at[7].set(value)

    def grow(self):
        self.rows = jnp.concatenate([self.rows, jnp.zeros((8, 2))])

    def late(self, value):
        self.rows = self.rows.at[8].set(value)
buffer = Buffer()
buffer.write(1.0)
buffer.grow()
buffer.late(2.0)
""",
            """\
def windows(series, size):
    starts = jnp.arange(series.shape[0] - size + 1)
    return jax.vmap(lambda s: jax.lax.dynamic_slice(series, (s,), (size,)))(starts)
print(windows(x, 2))
def longer(series, size):
    series, n = jnp.concatenate([series, jnp.zeros(size)]), series.shape[0]
    return jax.vmap(lambda s: jax.lax.dynamic_slice(series, (s,), (size,)))(jnp.arange(n))
print(longer(x, 2))
""",
            """\
def rows(v):
    return jax.vmap(lambda s: jax.lax.dynamic_slice(v, (s, 0), (1, v.shape[1])))(jnp.arange(v.shape[0]))
print(rows(jnp.ones((2, 3))))
def parts(v):
    return jax.vmap(lambda s: jax.lax.dynamic_slice(v, (s,), (3,)))(jnp.arange(0, v.shape[0], 3))
print(parts(jnp.ones(6)))
""",
            """\
def windows(v):
    found = jax.vmap(lambda s: jax.lax.dynamic_slice(v, (s,), (2,)))(jnp.arange(v.shape[0]))
    return found[: v.shape[0] - 1]
print(windows(x))
""",
            """\
def energies(v, size):
    n = math.ceil(v.shape[0] / size)
    v = jnp.pad(v, (0, n * size - v.shape[0]))
    def body(total, i):
        return total + jax.lax.dynamic_slice_in_dim(v, i * size, size).sum(), None
    return jax.lax.scan(body, 0.0, jnp.arange(n))[0]
energies(x, 2)
""",
            """\
def energies(v, size):
    n = v.shape[0] // size
    def body(total, i):
        return total + jax.lax.dynamic_slice_in_dim(v, i * size, size).sum(), None
    return jax.lax.scan(body, 0.0, jnp.arange(n))[0]
energies(x, 2)
""",
            """\
def applied(v, size):
    def body(i, out):
        part = jax.lax.dynamic_slice_in_dim(v, i * size, size)
        return jax.lax.dynamic_update_slice_in_dim(out, jnp.sin(part), i * size, 0)
    return jax.lax.fori_loop(0, math.ceil(len(v) / size), body, v)
applied(x, 2)
""",
            """\
def energies(v, size):
    n = math.ceil(v.shape[0] / size)
    def body(total, i):
        part = jax.lax.dynamic_slice_in_dim(v, i * size, size)
        fresh = jnp.arange(size) >= i * size - (len(v) - size)
        return total + jnp.where(fresh, part, 0.0).sum(), None
    return jax.lax.scan(body, 0.0, jnp.arange(n))[0]
energies(x, 2)
""",
            """\
def other(v, w, size):
    n = math.ceil(w.shape[0] / size)
    def body(total, i):
        return total + jax.lax.dynamic_slice_in_dim(v, i * size, size).sum(), None
    return jax.lax.scan(body, 0.0, jnp.arange(n))[0]
other(jnp.ones(8), x, 2)
""",
            """\
def pad(ids, n):
    rest = n - ids.shape[0]
    return jnp.concatenate([ids, jnp.full(rest, -1)]), jnp.concatenate([jnp.ones(2), jnp.zeros(rest)])
def put(ids, v):
    return jnp.zeros(4).at[ids].add(2.0 * v, mode="drop")
y = put(*pad(jnp.arange(2), 5))
""",
            """\
class Bag:
    def __init__(self, n):
        self.n = n
    def add(self, ids, v):
        return jnp.zeros(self.n).at[ids].add(v, mode="drop")
def run(bag, ids):
    return bag.add(ids, 1.0)
y = run(Bag(4), np.append([0, 1], np.full(3, 4)))
""",
            """\
def put(ids, valid, *more):
    return jnp.zeros(4).at[ids].add(valid, mode="drop")
ids = jnp.hstack([jnp.arange(2), jnp.full(3, -1)])
y = put(jnp.arange(3), jnp.ones(3), *[ids])
""",
            "n = jax.random.randint(key, (), 0, 2)\ny = jax.lax.switch(n, [jnp.sin, jnp.cos], 1.0)\n",
            "MOVES = (jnp.sin, jnp.cos)\ndef draw(k):\n    return jax.random.randint(k, (), 0, len(MOVES))\n"
            "y = jax.lax.switch(draw(key), MOVES, 1.0)\n",
            "n = jax.random.randint(key, (), 1, 3)\ny = jax.lax.switch(n - 1, [jnp.sin, jnp.cos], 1.0)\n",
            "n = jax.random.randint(key, (), 1, 2)\ny = jax.lax.switch(n, [jnp.sin, jnp.cos], 1.0)\n",
            "y = jnp.zeros(3)\nz = y[2] + y[-3]\n",
            "y = jnp.arange(2, 9)\nz = y[5]\n",
            "y = jnp.zeros((5, 3))\nz = y[4]\n",
            "y = [1, 2]\ny.append(3)\nz = y[2]\n",
            "y = jnp.zeros((2, 3))\nz = y[1, 2]\n",
            """\
table = np.full((4, 2), 4)
table[0, 0] = 2
rows = jnp.asarray(table)
def spread(rows, v):
    return jnp.zeros(4).at[rows].add(v, mode="drop")
y = spread(rows, 1.0)
""",
            """\
table = np.full((4, 2), -1)
table[0, 0] = 2
rows = jnp.asarray(table)
def spread(rows, v):
    ids = jnp.where(rows < 0, 4, rows)
    return jnp.zeros(4).at[ids].add(v, mode="drop")
y = spread(rows, 1.0)
""",
            """\
def spread(rows, v):
    shares = jnp.where(rows >= 0, v, 0.0)
    return jnp.zeros(4).at[rows].add(shares, mode="drop")
y = spread(jnp.full(3, -1), 1.0)
""",
            """\
def spread(rows, v):
    return jnp.zeros(5).at[rows].add(v, mode="drop")[:-1]
y = spread(jnp.full(3, -1), 1.0)
""",
            """\
def read(rows, mask):
    return jnp.take(x, rows, mode="fill", fill_value=0) * mask
y = read(jnp.full(3, -1), jnp.zeros(3))
""",
            "y = x.at[jnp.full(2, -1)].set(0.0)\n",
            "y = jax.ops.segment_sum(x, jnp.full(3, -1), 4, mode='drop')\n",
            """\
ids = jnp.array([0, -1])
y = x.at[ids].set(0.0, mode="drop")
""",
            """\
y = jnp.arange(10.0).at[11].get(mode="fill", fill_value=jnp.nan)
z = jnp.zeros(3).at[3].get(mode="clip")
""",
            """\
rows = jnp.zeros((3,))
y = rows.at[5].set(1.0, mode="drop")
z = rows.at[3].get(fill_value=0.0, mode="fill")
""",
            """\
ROWS, MASK = 16, 16
class Lm(nnx.Module):
    def __init__(self, rows, rngs):
        self.embed = nnx.Embed(rows, 4, rngs=rngs)
    def __call__(self, ids):
        return self.embed(ids)
def corrupt(ids, drop):
    return jnp.where(drop, MASK, ids)
def loss(net, ids, drop):
    return net(corrupt(ids, drop)).sum()
ids = jnp.arange(4)
y = loss(Lm(ROWS + 1, nnx.Rngs(0)), ids, ids > 1)
""",
            """\
WORDS = sorted(set("a rose is a rose".split()))
ROWS = len(WORDS)
PAD = ROWS
def collate(texts):
    out = np.full((len(texts), 6), PAD, np.int32)
    for row, text in zip(out, texts):
        ids = [WORDS.index(word) for word in text.split()]
        row[: len(ids)] = ids
    return jnp.asarray(out)
class Bag(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(ROWS + 1, 4, rngs=rngs)
    def __call__(self, ids):
        return self.embed(ids).mean(axis=1)
def loss(net, ids):
    return net(ids).sum()
y = nnx.value_and_grad(loss)(Bag(nnx.Rngs(0)), collate(["a rose", "is"]))[0]
""",
            # the words are more by then, or those of another text
            """\
words = {"a": 0, "rose": 1}
PAD = len(words)
words["<pad>"] = PAD
table = nnx.Embed(len(words), 4, rngs=nnx.Rngs(0))
y = table(jnp.full((3,), PAD))
""",
            """\
def count(text):
    size = len(set(text.split()))
    return size
class Bag(nnx.Module):
    def __init__(self, rows, rngs):
        self.embed = nnx.Embed(rows, 4, rngs=rngs)
    def __call__(self, ids):
        return self.embed(ids)
def run(net, ids):
    return net(ids).sum()
y = run(Bag(count("a rose is a flower"), nnx.Rngs(0)), jnp.full((2,), count("a rose")))
""",
            """\
table = nnx.Embed(10, 4, rngs=nnx.Rngs(0))
y = table(jnp.full((3,), 9))
z = table(jax.random.randint(key, (3,), 0, 10))
w = table(jnp.zeros((3,), jnp.int32).at[0].set(9))
ids = jnp.where(jnp.arange(3) > 1, 10, jnp.arange(3))
v = jnp.where(ids[:, None] == 10, 0.0, table(ids))
""",
            """\
def padded(table, ids):
    rows = table(jnp.pad(ids, (0, 2), constant_values=10))
    return jnp.nan_to_num(rows)
y = padded(nnx.Embed(10, 4, rngs=nnx.Rngs(0)), jnp.arange(3))
u = nnx.Embed(10, 4, rngs=nnx.Rngs(1))(jnp.arange(10))
""",
            """\
AMINO, PAD, MASK = 20, 20, 21
class Masked(nnx.Module):
    def __init__(self, dim, rngs):
        self.embed = nnx.Embed(AMINO + 2, dim, rngs=rngs)
    def __call__(self, seq):
        return self.embed(seq)
def corrupt(seq, hit):
    return jnp.where(hit & (seq != PAD), MASK, seq), hit
@nnx.jit
def step(net, seq, hit):
    noisy, hit = corrupt(seq, hit)
    def loss(m):
        return (m(noisy)[..., 0] * hit).sum()
    return nnx.value_and_grad(loss)(net)[0]
seq = jnp.arange(4).at[3].set(PAD)
net = Masked(3, nnx.Rngs(0))
for i in range(2):
    y = step(net, seq, seq > i)
""",
            """\
y = jnp.arange(10.0)
padded = jnp.zeros(12).at[:10].set(y)
a = jax.vmap(lambda i: jax.lax.dynamic_slice(padded, (i,), (4,)).mean())(jnp.arange(0, 10, 4))
b = jax.vmap(lambda i: jax.lax.dynamic_slice(y, (i,), (4,)).mean())(jnp.arange(0, 7, 3))
def near(i):
    return jax.lax.dynamic_slice(y, (jnp.minimum(i, 6),), (4,)).mean()
c = jax.vmap(near)(jnp.arange(0, 10, 4))
""",
            """\
y = jnp.arange(10.0)
def copied(i, r):
    return jax.lax.dynamic_update_slice(r, jax.lax.dynamic_slice(y, (i * 2,), (2,)), (i * 2,))
print(jax.lax.fori_loop(0, 5, copied, jnp.zeros(10)))
def summed(i, acc):
    return acc + jax.lax.dynamic_slice_in_dim(y, i * 4, 4).sum()
print(jax.lax.fori_loop(0, 10 // 4, summed, 0.0))
""",
            """\
def windows(s, w):
    return jax.vmap(lambda i: jax.lax.dynamic_slice(s, (i,), (w,)))(jnp.arange(0, s.shape[0], w))
print(windows(jnp.array([1.0, 2, 3, 4]), 2))
""",
            """\
OPS = (jnp.sin, jnp.cos, jnp.tanh)
def node(gene, v):
    return jax.lax.switch(gene, OPS, v)
jax.vmap(node, in_axes=(0, None))(jnp.arange(len(OPS)), 1.0)
""",
            """\
OPS = (jnp.sin, jnp.cos, jnp.tanh)
def node(gene, v):
    return jax.lax.switch(gene - 1, OPS, v)
jax.vmap(node, in_axes=(0, None))(jnp.arange(1, len(OPS) + 1), 1.0)
""",
            """\
@jit
def run(op, v):
    return jax.lax.switch(op, [jnp.sin, jnp.cos, jnp.tanh], v)
for op in range(1, 3):
    run(op, x)
""",
            """\
@jit
def run(op, v):
    return jax.lax.switch(op, [jnp.sin, jnp.cos, jnp.tanh], v)
for op in range(5):
    run(op, x)
""",
            """\
OPS = (jnp.sin, jnp.cos, jnp.tanh)
def node(gene, v):
    return jax.lax.switch(gene, OPS, v)
genes = jax.random.randint(key, (8,), 0, len(OPS))
jax.vmap(node, in_axes=(0, None))(genes, 1.0)
""",
            """\
@jit
def run(op, v):
    return jax.lax.switch(op, [lambda v: v, jnp.sin, jnp.cos], v)
for op in range(1, 3):
    run(op, x)
""",
        ),
    ),
}

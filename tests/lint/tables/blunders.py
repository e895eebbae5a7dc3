"""Cases of what runs without an error and computes something else."""

from __future__ import annotations

from tests.lint.tables import Cases

_QK = "    scores = jnp.einsum('bqd,bkd->bqk', q, k) / jnp.sqrt(q.shape[-1])\n"

CASES = {
    "NNX973": Cases(
        bad=(
            "jax.lax.fori_loop(10, 0, lambda i, c: c + i, 0)  # NNX973\n",
            "N = 8\ndef back(x):\n    return jax.lax.fori_loop(N - 1, -1, lambda i, c: c + x[i], 0.0)  # NNX973\n",
            """\
from jax.lax import fori_loop
first, last = 5, 1
def down(x):
    return fori_loop(lower=first, upper=last, body_fun=lambda i, c: c * x, init_val=x)  # NNX973
""",
            # a condition that says when to stop
            """\
def solve(v, tol=1e-5, steps=100):
    def cond(state):
        i, v, error = state
        return (error < tol) | (i >= steps)
    def body(state):
        i, v, _ = state
        return i + 1, jnp.cos(v), jnp.abs(jnp.cos(v) - v).max()
    init = (0, v, jnp.array(jnp.inf))
    return jax.lax.while_loop(cond, body, init)  # NNX973
""",
            "N = 10\ndef count(v):\n"
            "    return jax.lax.while_loop(lambda s: s[0] == N, lambda s: (s[0] + 1, s[1] * 2), (0, v))  # NNX973\n",
            """\
def search(v):
    carry = {'found': jnp.array(False), 'at': jnp.int32(0)}
    return jax.lax.while_loop(  # NNX973
        cond_fun=lambda c: jnp.logical_and(c['found'], c['at'] < len(v)),
        body_fun=lambda c: {'found': v[c['at']] > 3, 'at': c['at'] + 1},
        init_val=carry,
    )
""",
            """\
from typing import NamedTuple
class Carry(NamedTuple):
    best: jax.Array
    step: jax.Array
def climb(v, steps):
    def going(carry):
        return (carry.step < steps) & ~(carry.best < 5.0)
    def further(carry):
        return Carry(carry.best + v, carry.step + 1)
    return jax.lax.while_loop(going, further, Carry(-float('inf'), 0))  # NNX973
""",
        ),
        clean=(
            """\
def solve(v, tol=1e-5, steps=100):
    def cond(state):
        i, v, error = state
        return (error > tol) & (i < steps)
    def body(state):
        i, v, _ = state
        return i + 1, jnp.cos(v), jnp.abs(jnp.cos(v) - v).max()
    return jax.lax.while_loop(cond, body, (0, v, jnp.array(jnp.inf)))
print(solve(x))
""",
            "def count(v, steps=0):\n"
            "    return jax.lax.while_loop(lambda s: s[0] < steps, lambda s: (s[0] + 1, s[1] * 2), (0, v))\n"
            "print(count(x), count(x, 3))\n",
            "def until(v, limit):\n    done = jnp.array(False)\n"
            "    return jax.lax.while_loop(lambda s: ~s[0] | (s[1] > limit), lambda s: (s[1] > 2, s[1] + 1),\n"
            "                              (done, v))\n"
            "print(until(0, 5))\n",
            "def down(v, n):\n"
            "    return jax.lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * 2), (n, v))\n"
            "print(down(x, 3))\n",
            "jax.lax.fori_loop(0, 10, lambda i, c: c + i, 0)\n",
            "jax.lax.fori_loop(0, 0, lambda i, c: c + i, 0)\n",
            "def up(n):\n    return jax.lax.fori_loop(5, n, lambda i, c: c + i, 0)\nup(9)\n",
            "def up(n):\n    return jax.lax.fori_loop(n - 1, n, lambda i, c: c + i, 0)\nup(3)\n",
        ),
    ),
    "NNX974": Cases(
        bad=(
            "def turned(x):\n    b, t, c = x.shape\n    return x.reshape(t, b, c)  # NNX974\n",
            """\
def heads(x, n):
    batch, length, width = x.shape
    return jnp.reshape(x, (batch, n, length, width // n))  # NNX974
""",
            "def flat(x):\n    return x.reshape(x.shape[1], x.shape[0], -1)  # NNX974\n",
            """\
class Attention(nnx.Module):
    def __init__(self, n_heads):
        self.n_heads = n_heads
    def __call__(self, x):
        b, t, d = x.shape
        return x.reshape((b, self.n_heads, t, d // self.n_heads))  # NNX974
""",
            """\
class A(nnx.Module):
    def __init__(self, d, h, rngs):
        self.h = h
        self.q = nnx.Linear(d, d, rngs=rngs)
        self.k = nnx.Linear(d, d, rngs=rngs)
        self.v = nnx.Linear(d, d, rngs=rngs)
        self.o = nnx.Linear(d, d, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
    def _split_heads(self, x):
        b, n, d = x.shape
        return x.reshape(b, n, self.h, d // self.h).swapaxes(1, 2)
    def __call__(self, x):
        batch, length, _ = x.shape
        q, k, v = self._split_heads(self.q(x)), self._split_heads(self.k(x)), self._split_heads(self.v(x))
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k)
        weights = self.drop(nnx.softmax(scores, axis=-1))
        out = jnp.einsum("bhqk,bhkd->bhqd", weights, v)
        out = out.reshape(batch, length, -1)  # NNX974
        return self.o(out)
""",
            """\
def split(x, heads):
    return jnp.transpose(jnp.reshape(x, (x.shape[0], x.shape[1], heads, -1)), (0, 2, 1, 3))
def attention(q, k, v, heads):
    b, t, d = q.shape
    qh, kh, vh = split(q, heads), split(k, heads), split(v, heads)
    w = jax.nn.softmax(jnp.matmul(qh, jnp.swapaxes(kh, -1, -2)), -1)
    return jnp.reshape(jnp.matmul(w, vh), (b, t, d))  # NNX974
""",
            """\
def attention(x, wqkv, heads):
    b, t, d = x.shape
    qkv = (x @ wqkv).reshape(b, t, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    w = jax.nn.softmax(q @ k.swapaxes(-2, -1), -1)
    return (w @ v).reshape(b, t, d)  # NNX974
""",
            """\
def attention(q, k, v, heads):
    B, T, D = q.shape
    def sh(z):
        return z.reshape(B, T, heads, D // heads).transpose((0, 2, 1, 3))
    w = jax.nn.softmax(sh(q) @ jnp.moveaxis(sh(k), -1, -2), -1)
    ctx = w @ sh(v)
    b, h, t, e = ctx.shape
    return ctx.reshape(b, t, h * e)  # NNX974
""",
        ),
        clean=(
            "def heads(x, n):\n    b, t, d = x.shape\n    return x.reshape(b, t, n, d // n).swapaxes(1, 2)\n",
            "def turned(x):\n    b, t, c = x.shape\n    x = x.transpose(1, 0, 2)\n    return x.reshape(t, b, c)\n",
            "def flat(x):\n    b, t, c = x.shape\n    return x.reshape(b * t, c)\n",
            "def chunks(x, n):\n    b, t, c = x.shape\n    return x.reshape(b, n, t // n, c)\n",
            "def patches(x, p):\n    b, h, w, c = x.shape\n    return x.reshape(b, h // p, p, w // p, p, c)\n",
            "def like(x, y):\n    b, t = y.shape\n    return x.reshape(t, b)\n",
            """\
class A(nnx.Module):
    def __init__(self, d, h, rngs):
        self.h = h
        self.q = nnx.Linear(d, d, rngs=rngs)
        self.k = nnx.Linear(d, d, rngs=rngs)
        self.v = nnx.Linear(d, d, rngs=rngs)
        self.o = nnx.Linear(d, d, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
    def _split_heads(self, x):
        b, n, d = x.shape
        return x.reshape(b, n, self.h, d // self.h).swapaxes(1, 2)
    def __call__(self, x):
        batch, length, _ = x.shape
        q, k, v = self._split_heads(self.q(x)), self._split_heads(self.k(x)), self._split_heads(self.v(x))
        scores = jnp.einsum("bhqd,bhkd->bhqk", q, k)
        weights = self.drop(nnx.softmax(scores, axis=-1))
        out = jnp.einsum("bhqk,bhkd->bqhd", weights, v)
        out = out.reshape(batch, length, -1)
        return self.o(out)
print(A(4, 2, nnx.Rngs(0))(jnp.ones((2, 3, 4))).shape)
""",
            """\
def attention(x, wqkv, heads):
    b, t, d = x.shape
    qkv = (x @ wqkv).reshape(b, t, 3, heads, d // heads).transpose(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    w = jax.nn.softmax(q @ k.swapaxes(-2, -1), -1)
    return (w @ v).transpose(0, 2, 1, 3).reshape(b, t, d)
print(attention(jnp.ones((2, 3, 4)), jnp.ones((4, 12)), 2).shape)
""",
            """\
def attention(q, k, v, heads):
    B, T, D = q.shape
    def sh(z):
        return z.reshape(B, T, heads, D // heads).transpose((0, 2, 1, 3))
    w = jax.nn.softmax(sh(q) @ jnp.moveaxis(sh(k), -1, -2), -1)
    ctx = w @ sh(v)
    b, h, t, e = ctx.shape
    return ctx.swapaxes(1, 2).reshape(b, t, h * e)
print(attention(jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), 2).shape)
""",
            """\
def f(x, h):
    b, t, d = x.shape
    y = x.reshape(b, t, h, d // h).transpose(0, 2, 1, 3)
    return y.reshape(b * h, t, d // h)
""",
            """\
def f(x, h):
    b, t, d = x.shape
    y = x.reshape(b, t, h, d // h).transpose(0, 2, 3, 1)
    return y.reshape(b, h, d // h * t)
""",
        ),
    ),
    "NNX975": Cases(
        bad=(
            f"def attend(q, k, v):\n{_QK}"
            "    w = jax.nn.softmax(scores, axis=1)  # NNX975\n    return jnp.einsum('bqk,bkd->bqd', w, v)\n",
            """\
def attend(q, k, v):
    w = nnx.softmax(q @ k.swapaxes(-1, -2), axis=-2)  # NNX975
    return w @ v
""",
            """\
def attend(q, k, v):
    scores = jnp.matmul(q, k.T) / 2.0
    return jnp.matmul(jax.nn.softmax(scores, axis=-2), v)  # NNX975
""",
        ),
        clean=(
            """\
def attend(q, k, v, mixing):
    w = jax.nn.softmax(jnp.einsum('bhid,bhjd->bhij', q, k), axis=-1)
    w = jnp.einsum('b h i j, h g -> b g i j', w, mixing)
    return jnp.einsum('bhij,bhjd->bhid', w, v)
""",
            f"def attend(q, k, v):\n{_QK}"
            "    w = jax.nn.softmax(scores, axis=-1)\n    return jnp.einsum('bqk,bkd->bqd', w, v)\n",
            f"def slots(q, k, v):\n{_QK}"
            "    w = jax.nn.softmax(scores, axis=1)\n    w = w / w.sum(axis=-1, keepdims=True)\n"
            "    return jnp.einsum('bqk,bkd->bqd', w, v)\n",
            "def attend(q, k, v):\n    w = jax.nn.softmax(jnp.einsum('bqd,bkd->bkq', q, k), axis=1)\n"
            "    return jnp.einsum('bkq,bkd->bqd', w, v)\n",
            "def linear(q, k, v):\n    k = jax.nn.softmax(k, axis=-2)\n    return jnp.einsum('bkd,bke->bde', k, v)\n",
            "def attend(q, k, v):\n    w = jax.nn.softmax(q @ k.T)\n    return w @ v\n",
        ),
    ),
    "NNX976": Cases(
        bad=(
            f"def attend(q, k):\n{_QK}"
            "    mask = jnp.tril(jnp.ones(scores.shape[-2:]))\n    return jax.nn.softmax(scores * mask)  # NNX976\n",
            f"def attend(q, k, pad_mask):\n{_QK}    scores = scores * pad_mask  # NNX976\n"
            "    return jax.nn.softmax(scores, axis=-1)\n",
            f"def attend(q, k):\n{_QK}    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))\n"
            "    scores = jnp.where(seen, -1e9, scores)  # NNX976\n    return jax.nn.softmax(scores, axis=-1)\n",
            f"def attend(q, k):\n{_QK}    seen = jnp.tril(jnp.ones(scores.shape[-2:]))\n"
            "    return nnx.softmax(scores + seen * -1e9)  # NNX976\n",
            f"def attend(q, k):\n{_QK}    hidden = jnp.triu(jnp.ones(scores.shape[-2:], bool), k=1)\n"
            "    return nnx.softmax(jnp.where(hidden, scores, -jnp.inf))  # NNX976\n",
            """\
PAD = 0
def attend(q, k, v, ids):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k)
    valid = ids != PAD
    scores = jnp.where(valid[:, None, :, None], scores, -1e9)  # NNX976
    return jax.nn.softmax(scores, -1) @ v
""",
            """\
def attend(q, k, v, ids, lengths):
    valid = jnp.arange(ids.shape[1])[None, :] < lengths[:, None]
    scores = jnp.where(valid[:, :, None], q @ k.swapaxes(1, 2), -jnp.inf)  # NNX976
    return jax.nn.softmax(scores, axis=-1) @ v
""",
            """\
def attend(q, k, v, lengths):
    valid = jnp.arange(q.shape[1])[None, :] < lengths[:, None]
    mask = valid[:, :, None] & valid[:, None, :]
    scores = jnp.where(mask, q @ k.swapaxes(1, 2), -jnp.inf)  # NNX976
    return jax.nn.softmax(scores, axis=-1) @ v
""",
            """\
def attend(q, k, v, lengths):
    valid = jnp.arange(q.shape[1])[None, :] < lengths[:, None]
    mask = jnp.logical_and(valid[:, None, :], valid[:, :, None])
    scores = jnp.where(mask, q @ k.swapaxes(1, 2), float("-inf"))  # NNX976
    return jax.nn.softmax(scores, axis=-1) @ v
""",
        ),
        clean=(
            """\
def attend(q, k, v, lengths):
    valid = jnp.arange(q.shape[1])[None, :] < lengths[:, None]
    mask = valid[:, :, None] & valid[:, None, :]
    scores = jnp.where(mask, q @ k.swapaxes(1, 2), -1e9)
    return jax.nn.softmax(scores, axis=-1) @ v
print(attend(jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), jnp.array([2, 3])).shape)
""",
            """\
def attend(q, k, v, lengths):
    valid = jnp.arange(q.shape[1])[None, :] < lengths[:, None]
    mask = valid[:, None, :]
    scores = jnp.where(mask, q @ k.swapaxes(1, 2), -jnp.inf)
    return jax.nn.softmax(scores, axis=-1) @ v
print(attend(jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), jnp.array([2, 3])).shape)
""",
            """\
def attend(q, k, v, lengths):
    valid = jnp.arange(q.shape[1])[None, :] < lengths[:, None]
    mask = valid[:, None, :] & jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))
    scores = jnp.where(mask, q @ k.swapaxes(1, 2), -jnp.inf)
    return jax.nn.softmax(scores, axis=-1) @ v
print(attend(jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), jnp.array([2, 3])).shape)
""",
            """\
PAD = 0
def attend(q, k, v, ids):
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k)
    valid = ids != PAD
    scores = jnp.where(valid[:, None, None, :], scores, -1e9)
    return jax.nn.softmax(scores, -1) @ v
""",
            """\
def attend(q, k, v, ids, lengths):
    valid = jnp.arange(ids.shape[1])[None, :] < lengths[:, None]
    scores = jnp.where(valid[:, None, :], q @ k.swapaxes(1, 2), -jnp.inf)
    return jax.nn.softmax(scores, axis=-1) @ v
""",
            """\
def attend(q, k, v, ids):
    valid = ids != 0
    scores = jnp.where(valid[:, None, :], q @ k.swapaxes(1, 2), -1e9)
    scores = jnp.where(valid[:, :, None], scores, -1e9)
    return jax.nn.softmax(scores, axis=-1) @ v
""",
            """\
def pool(x, tokens):
    keep = tokens != 0
    return jax.nn.softmax(jnp.where(keep[:, :, None], x, -1e9), axis=1)
""",
            f"def attend(q, k):\n{_QK}    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))\n"
            "    return jax.nn.softmax(jnp.where(mask, scores, -1e9))\n",
            f"def attend(q, k):\n{_QK}    mask = jnp.tril(jnp.ones(scores.shape[-2:]))\n"
            "    return jax.nn.softmax(scores * mask - 1e9 * (1 - mask))\n",
            f"def attend(q, k):\n{_QK}    hidden = jnp.triu(jnp.ones(scores.shape[-2:]), k=1)\n"
            "    return jax.nn.softmax(scores + hidden * -1e9)\n",
            f"def attend(q, k):\n{_QK}    hidden = jnp.triu(jnp.ones(scores.shape[-2:], bool), k=1)\n"
            "    return jax.nn.softmax(jnp.where(hidden, -jnp.inf, scores))\n",
            f"def attend(q, k, mask):\n{_QK}    return jax.nn.softmax(scores, axis=-1) * mask\n",
            f"def attend(q, k, mask):\n{_QK}    return jax.nn.softmax(scores * mask, where=mask > 0)\n",
            f"def attend(q, k, mask):\n{_QK}    w = jax.nn.softmax(scores * mask) * mask\n    return w / w.sum()\n",
        ),
    ),
    "NNX979": Cases(
        bad=(
            """\
def accuracy(logits, labels):
    targets = jax.nn.one_hot(labels, 10)
    return jnp.mean(jnp.argmax(logits, axis=-1) == targets)  # NNX979
""",
            "def hits(logits, y):\n    return (jax.nn.one_hot(y, 3) == logits.argmax(-1)).sum()  # NNX979\n",
            """\
def accuracy(logits, labels):
    guess = jnp.argmax(logits, -1)
    return jnp.equal(guess, nnx.one_hot(labels, 10)).mean()  # NNX979
""",
        ),
        clean=(
            """\
def accuracy(logits, labels):
    targets = jax.nn.one_hot(labels, 10)
    return jnp.mean(jnp.argmax(logits, axis=-1) == jnp.argmax(targets, axis=-1))
""",
            "def accuracy(logits, labels):\n    return jnp.mean(jnp.argmax(logits, axis=-1) == labels)\n",
            """\
def hits(logits, labels):
    guess = jax.nn.one_hot(jnp.argmax(logits, axis=-1), 10)
    return guess == jax.nn.one_hot(labels, 10)
""",
            "def first(q):\n    return jnp.argmax(q, axis=-1, keepdims=True) == jax.nn.one_hot(jnp.arange(3), 3)\n",
        ),
    ),
    "NNX980": Cases(
        bad=(
            "def nll(logits, labels):\n    p = jax.nn.log_softmax(logits)\n    return -p[:, labels].mean()  # NNX980\n",
            "def nll(z, y):\n    return -jnp.mean(nnx.log_softmax(z, axis=-1)[:, y])  # NNX980\n",
            """\
def nll(logits, targets):
    logp = jax.nn.log_softmax(logits, axis=0)
    return -jnp.take_along_axis(logp, targets[:, None], axis=1).mean()  # NNX980
""",
            """\
def chosen(q, actions):
    p = jax.nn.softmax(q, axis=-2)
    return jnp.take_along_axis(p, actions[..., None], axis=-1)  # NNX980
""",
        ),
        clean=(
            "def nll(z, y):\n    logp = jax.nn.log_softmax(z)\n    return -logp[jnp.arange(len(y)), y].mean()\n",
            "def nll(z, y):\n    p = jax.nn.log_softmax(z)\n    return -jnp.take_along_axis(p, y[:, None], axis=-1)\n",
            "def first(z):\n    p = jax.nn.softmax(z, axis=-1)\n    return p[:, 0].mean()\n",
            "def some(z, tokens):\n    p = jax.nn.softmax(z)\n    return p[:, tokens].sum()\n",
            "def rows(table, labels):\n    return table[:, labels].mean()\n",
            "def nll(z, y):\n    p = jax.nn.softmax(z, axis=0)\n    return jnp.take_along_axis(p, y[None], axis=0)\n",
        ),
    ),
    "NNX982": Cases(
        bad=(
            "def normalize(x):\n    return (x - x.mean(axis=1)) / 2.0  # NNX982\n",
            "def unit(x):\n    norms = jnp.linalg.norm(x, axis=1)\n    return x / norms  # NNX982\n",
            "def soft(x):\n    e = jnp.exp(x)\n    return e / jnp.sum(e, axis=1)  # NNX982\n",
            "def normalize(x):\n    return (x - x.mean(axis=0)) / x.std(axis=1)  # NNX982\n",
        ),
        clean=(
            "def normalize(x):\n    return x - x.mean(axis=1, keepdims=True)\n",
            "def normalize(x):\n    return (x - x.mean(axis=0)) / x.std(axis=0)\n",
            "def normalize(x):\n    return x - x.mean(axis=1)[:, None]\n",
            "def unit(x):\n    return (x.T / jnp.linalg.norm(x, axis=1)).T\n",
            "def spread(x):\n    return x.max(axis=1) - x.min(axis=1)\n",
            "def last(x):\n    return x - x.mean(-1)\n",
        ),
    ),
    "NNX984": Cases(
        bad=(
            "jax.lax.scan(lambda c, _: (c + 1, c), 0, None)  # NNX984\n",
            "def count(step, start):\n    return jax.lax.scan(step, start, xs=None)  # NNX984\n",
            "def count(step, start):\n    return jax.lax.scan(step, init=start)  # NNX984\n",
        ),
        clean=(
            "jax.lax.scan(lambda c, _: (c + 1, c), 0, None, length=3)\n",
            "jax.lax.scan(lambda c, _: (c + 1, c), 0, None, 3)\n",
            "def count(step, start, xs):\n    return jax.lax.scan(step, start, xs)\n",
            "def count(step, start, **how):\n    return jax.lax.scan(step, start, None, **how)\n",
            "def count(step, start, how):\n    return jax.lax.scan(step, start, *how)\n",
        ),
    ),
    "NNX985": Cases(
        bad=(
            """\
def loss(log_prob, old, adv, eps):
    ratio = jnp.exp(log_prob - old)
    objective = jnp.maximum(ratio * adv, jnp.clip(ratio, 1 - eps, 1 + eps) * adv)  # NNX985
    return -objective.mean()
""",
            """\
def loss(log_prob, old, adv, eps):
    ratio = jnp.exp(log_prob - old)
    clipped = jnp.clip(ratio, 1 - eps, 1 + eps)
    return -jnp.mean(jnp.maximum(ratio * adv, clipped * adv))  # NNX985
""",
            """\
def loss(log_prob, old, adv, eps):
    ratio = jnp.exp(log_prob - old)
    first = -adv * ratio
    second = -adv * jnp.clip(ratio, 1 - eps, 1 + eps)
    return jnp.minimum(first, second).mean()  # NNX985
""",
            """\
def loss(log_prob, old, adv):
    ratio = jnp.exp(log_prob - old)
    first = ratio * adv
    second = ratio.clip(0.8, 1.2) * adv
    return -jnp.maximum(first, second).mean()  # NNX985
""",
        ),
        clean=(
            """\
def of_costs(log_prob, old, adv, eps):
    ratio = jnp.exp(log_prob - old)
    clipped = jnp.clip(ratio, 1 - eps, 1 + eps)
    return jnp.maximum(ratio * adv, clipped * adv).mean()
""",
            """\
def loss(log_prob, old, adv, eps):
    ratio = jnp.exp(log_prob - old)
    clipped = jnp.clip(ratio, 1 - eps, 1 + eps)
    return -jnp.mean(jnp.minimum(ratio * adv, clipped * adv))
""",
            """\
def loss(log_prob, old, adv, eps):
    ratio = jnp.exp(log_prob - old)
    first = -adv * ratio
    second = -adv * jnp.clip(ratio, 1 - eps, 1 + eps)
    return jnp.maximum(first, second).mean()
""",
            """\
def loss(log_prob, old, neg_adv, eps):
    ratio = jnp.exp(log_prob - old)
    return jnp.maximum(ratio * neg_adv, jnp.clip(ratio, 1 - eps, 1 + eps) * neg_adv).mean()
""",
            """\
def value_loss(value, old, target, eps):
    clipped = old + jnp.clip(value - old, -eps, eps)
    return jnp.maximum((value - target) ** 2, (clipped - target) ** 2).mean()
""",
        ),
    ),
    "NNX986": Cases(
        bad=(
            """\
def policy_loss(logits, actions, advantages):
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=-1)[:, 0]
    return jnp.mean(chosen * advantages)  # NNX986
""",
            """\
def actor_loss(dist, actions, adv):
    log_prob = dist.log_prob(actions)
    loss = (log_prob * jax.lax.stop_gradient(adv)).mean()  # NNX986
    return loss, log_prob
""",
            """\
def reinforce_loss(logits, actions, returns):
    picked = jax.nn.log_softmax(logits)[jnp.arange(len(actions)), actions]
    return jnp.sum(picked * returns)  # NNX986
""",
        ),
        clean=(
            """\
def policy_loss(dist, actions, energies, baseline):
    adv = energies - baseline
    return jnp.mean(dist.log_prob(actions) * adv)
""",
            """\
def policy_loss(logits, actions, advantages):
    log_probs = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=-1)[:, 0]
    return -jnp.mean(chosen * advantages)
""",
            """\
def policy_objective(dist, actions, adv):
    return jnp.mean(dist.log_prob(actions) * adv)
""",
            """\
def policy_loss(dist, actions, adv):
    return jnp.mean(dist.log_prob(actions) * adv)
def total(dist, actions, adv):
    return -policy_loss(dist, actions, adv)
""",
            """\
def actor_loss(dist, actions, adv):
    cost = -adv
    return jnp.mean(dist.log_prob(actions) * cost)
""",
        ),
    ),
    "NNX987": Cases(
        bad=(
            """\
def loss(params, key, x0, t, a):
    one, two = jax.random.split(key)
    noise = jax.random.normal(one, x0.shape)
    pred = net(params, jnp.sqrt(a) * x0 + jnp.sqrt(1 - a) * noise, t)
    return jnp.mean((pred - jax.random.normal(two, x0.shape)) ** 2)  # NNX987
""",
            """\
def loss(model, x0, a, rngs):
    keys = jax.random.split(rngs.noise(), 2)
    eps = jax.random.normal(keys[0], x0.shape)
    goal = jax.random.normal(keys[1], x0.shape)
    return optax.l2_loss(model(a * x0 + (1 - a) * eps), goal).mean()  # NNX987
""",
            """\
class Diffusion:
    def loss(self, params, key, x0, a):
        k1, k2 = jax.random.split(key)
        noise = jax.random.normal(k1, x0.shape)
        target = jax.random.normal(k2, x0.shape)
        error = target - self.net.apply(params, a * x0 + noise)  # NNX987
        return (error**2).mean()
""",
        ),
        clean=(
            """\
def loss(params, key, x0, t, a):
    one, two = jax.random.split(key)
    noise = jax.random.normal(one, x0.shape)
    mask = jax.random.normal(two, x0.shape) > 0
    pred = net(params, jnp.where(mask, a * x0 + noise, x0), t)
    return jnp.mean((pred - noise) ** 2)
""",
            """\
def sliced(params, key, x0):
    one, two = jax.random.split(key)
    noise, direction = jax.random.normal(one, x0.shape), jax.random.normal(two, x0.shape)
    return jnp.mean((net(params, x0 + noise) * direction).sum(-1) ** 2)
""",
            """\
def flow(params, key, x1):
    one, two = jax.random.split(key)
    x0, jitter = jax.random.normal(one, x1.shape), jax.random.normal(two, x1.shape)
    return jnp.mean((net(params, (x0 + x1) / 2 + 0.01 * jitter) - (x1 - x0)) ** 2)
""",
            """\
def prior(params, key, x):
    one, two = jax.random.split(key)
    z = encode(params, x) + jax.random.normal(one, (3,))
    return jnp.mean((jnp.sort(z) - jnp.sort(jax.random.normal(two, (3,)))) ** 2)
""",
        ),
    ),
    "NNX989": Cases(
        bad=(
            """\
def init(width, hidden):
    params = {"w1": jnp.zeros((width, hidden)), "b1": jnp.zeros(hidden), "w2": jnp.zeros((hidden, 3))}  # NNX989
    return params
grads = jax.grad(loss)(init(2, 4), x)
""",
            """\
sizes = [2, 16, 16, 1]
params = [(jnp.zeros((m, n)), jnp.zeros(n)) for m, n in zip(sizes[:-1], sizes[1:])]  # NNX989
grads = jax.grad(loss)(params, x)
""",
            """\
def init_network(sizes):
    return [{"w": jnp.zeros((n_in, n_out)), "b": jnp.zeros((n_out,))}  # NNX989
            for n_in, n_out in zip(sizes[:-1], sizes[1:])]
slope = jax.value_and_grad(loss)
""",
        ),
        clean=(
            """\
def init(key, width, hidden):
    return {"w1": jax.random.normal(key, (width, hidden)), "b1": jnp.zeros(hidden), "w2": jnp.zeros((hidden, 3))}
grads = jax.grad(lambda p: (jnp.ones(2) @ p["w1"] @ p["w2"]).sum())(init(jax.random.key(0), 2, 4))
""",
            """\
def init(width):
    return {"w": jnp.zeros((width, 3)), "b": jnp.zeros(3)}
grads = jax.grad(lambda p: sum(map(jnp.sum, p.values())))(init(2))
""",
            """\
def init(width):
    return {"w_mean": jnp.zeros((width, 3)), "w_scale": jnp.zeros((width, 3))}
grads = jax.grad(lambda p: sum(map(jnp.sum, p.values())))(init(2))
""",
            """\
sizes = [2, 16, 16, 1]
velocity = [(jnp.zeros((m, n)), jnp.zeros(n)) for m, n in zip(sizes[:-1], sizes[1:])]
grads = jax.grad(lambda p: (x * p).sum())(1.0)
""",
            """\
def init_params(a, b):
    return {"w1": jnp.zeros((a, b)), "w2": jnp.zeros((b, 1))}
params = init_params(2, 3)
print(params)
""",
        ),
    ),
    "NNX990": Cases(
        bad=(
            """\
def loss(model, tokens):
    logits = model(tokens, nnx.make_causal_mask(tokens))
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()  # NNX990
""",
            """\
def apply(params, ids):
    mask = jnp.tril(jnp.ones((ids.shape[1], ids.shape[1])))
    return decode(params, ids, mask)
def step(params, ids):
    return optax.softmax_cross_entropy_with_integer_labels(apply(params, ids), ids).mean()  # NNX990
""",
            """\
def apply(params, tokens, *, causal=True):
    return attend(params, tokens, causal)
def loss(params, batch):
    tokens = batch["tokens"]
    logits = apply(params, tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits=logits, labels=tokens).mean()  # NNX990
""",
            # entries of a batch, one-hot labels, and logarithms that are chosen from
            """\
def loss(model, batch):
    logits = model(batch["tokens"], nnx.make_causal_mask(batch["tokens"]))
    return optax.softmax_cross_entropy_with_integer_labels(logits, batch["tokens"]).mean()  # NNX990
""",
            """\
def apply(params, tokens):
    hidden = params["embed"][tokens]
    seen = jnp.tril(jnp.ones((tokens.shape[1],) * 2))
    return (seen @ hidden) @ params["out"]
def loss(params, tokens):
    logp = jax.nn.log_softmax(apply(params, tokens), axis=-1)
    return -jnp.take_along_axis(logp, tokens[..., None], axis=-1).mean()  # NNX990
params = {"embed": jnp.ones((5, 4)), "out": jnp.ones((4, 5))}
print(loss(params, jnp.zeros((2, 3), int)))
""",
            """\
def lm_logits(params, tokens):
    hidden = params["embed"][tokens]
    before = jnp.pad(hidden, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    return jnp.tanh(hidden + before) @ params["out"]
def lm_loss(params, tokens):
    logits = lm_logits(params, tokens)
    labels = jax.nn.one_hot(tokens, 5)
    return optax.softmax_cross_entropy(logits, labels).mean()  # NNX990
params = {"embed": jnp.ones((5, 4)), "out": jnp.ones((4, 5))}
print(lm_loss(params, jnp.zeros((2, 3), int)))
""",
        ),
        clean=(
            """\
def loss(model, tokens):
    logits = model(tokens, nnx.make_causal_mask(tokens))
    return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:]).mean()
""",
            """\
def loss(model, tokens, targets):
    logits = model(tokens, nnx.make_causal_mask(tokens))
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()
""",
            """\
def loss(model, tokens):
    logits = model(tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()
""",
            """\
def apply(params, tokens):
    shifted = jnp.roll(tokens, 1, axis=1).at[:, 0].set(0)
    return decode(params, shifted, jnp.tril(jnp.ones((tokens.shape[1],) * 2)))
def loss(params, tokens):
    return optax.softmax_cross_entropy_with_integer_labels(apply(params, tokens), tokens).mean()
""",
            """\
def loss(model, tokens):
    inputs = hide(tokens)
    logits = model(inputs, nnx.make_causal_mask(inputs))
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()
""",
            # only what was before each token is seen
            """\
def lm_logits(params, tokens):
    hidden = params["embed"][tokens]
    before = jnp.pad(hidden, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    return jnp.tanh(before) @ params["out"]
def lm_loss(params, tokens):
    logits = lm_logits(params, tokens)
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()
params = {"embed": jnp.ones((5, 4)), "out": jnp.ones((4, 5))}
print(lm_loss(params, jnp.zeros((2, 3), int)))
""",
            """\
def lm_loss(params, tokens):
    logits = params["embed"][tokens] @ params["out"]
    logp = jax.nn.log_softmax(logits[:, :-1], axis=-1)
    return -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1).mean()
params = {"embed": jnp.ones((5, 4)), "out": jnp.ones((4, 5))}
print(lm_loss(params, jnp.zeros((2, 3), int)))
""",
        ),
    ),
    "NNX991": Cases(
        bad=(
            """\
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return self.out(self.drop(v, rngs=rngs))
def spread(net, v, n=20):
    return jnp.stack([net(v, rngs=nnx.Rngs(dropout=7)) for _ in range(n)]).std(0)  # NNX991
""",
            """\
def spread(model, x):
    graphdef, params, rest = nnx.split(model, nnx.Param, ...)
    @jax.jit
    def sample(params, rest, x):
        return nnx.merge(graphdef, params, rest)(x)
    samples = []
    for _ in range(30):
        samples.append(sample(params, rest, x))  # NNX991
    return jnp.stack(samples).std(0)
""",
            """\
@jax.jit
def sample(state, x):
    return nnx.merge(*state)(x)
def spread(state, x):
    return jnp.stack([sample(state, x) for _ in range(30)]).std(0)  # NNX991
""",
            """\
@jax.jit
def noisy(state, x):
    return x + jax.random.normal(state["key"], x.shape)
def mean(state, x):
    total = 0.0
    for i in range(8):
        total += noisy(state, x)  # NNX991
    return total / 8
""",
            """\
import numpy as np
@jax.jit
def noisy(state, x):
    return nnx.merge(*state)(x)
def draws(state, x, n):
    out = np.zeros((n, 4))
    for i in range(n):
        out[i] = np.asarray(noisy(state, x))  # NNX991
    return out
""",
        ),
        clean=(
            """\
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return self.out(self.drop(v, rngs=rngs))
def spread(net, v, n=20):
    noise = nnx.Rngs(dropout=7)
    return jnp.stack([net(v, rngs=noise) for _ in range(n)]).std(0)
def by_number(net, v, n=20):
    return jnp.stack([net(v, rngs=nnx.Rngs(dropout=i)) for i in range(n)]).std(0)
print(spread(Dropping(nnx.Rngs(0)), x), by_number(Dropping(nnx.Rngs(0)), x))
""",
            """\
@jax.jit
def sample(params, key, x):
    return params * x + jax.random.normal(key, x.shape)
def spread(params, keys, x):
    return jnp.stack([sample(params, key, x) for key in keys]).std(0)
print(spread(2.0, jax.random.split(jax.random.key(0), 3), jnp.ones(4)).shape)
""",
            """\
@jax.jit
def step(params, x):
    return params + x
def trace(params, x):
    kept = []
    for _ in range(3):
        params = step(params, x)
        kept.append(step(params, x))
    return kept
print(len(trace(jnp.ones(2), jnp.ones(2))))
""",
            """\
import time
@jax.jit
def step(params, x):
    return params + x
def rates(params, x):
    kept = []
    for _ in range(3):
        start = time.perf_counter()
        kept.append(step(params, x))
        jax.block_until_ready(kept)
        print(time.perf_counter() - start > 0)
    return kept
""",
            """\
@nnx.jit
def drop(dropout, x):
    return dropout(x)
def spread(dropout, x):
    kept = []
    for _ in range(3):
        kept.append(drop(dropout, x))
    return jnp.stack(kept).std(0)
print(spread(nnx.Dropout(0.5, rngs=nnx.Rngs(0)), jnp.ones(8)).shape)
""",
            """\
import numpy as np
@jax.jit
def forward(buffer):
    return buffer.sum()
def rolling(values):
    buffer, out = np.zeros(4), []
    for i, value in enumerate(values):
        buffer[i % 4] = value
        out.append(forward(buffer))
    return out
print(len(rolling(range(6))))
""",
            """\
@jax.jit
def forward(x):
    return x * 2
def test_same(x):
    kept = [forward(x) for _ in range(3)]
    assert all((one == kept[0]).all() for one in kept)
test_same(jnp.ones(3))
""",
        ),
    ),
    "NNX992": Cases(
        bad=(
            """\
def train(model, batches, step, accuracy):
    graphdef, params = nnx.split(model)
    val_model = nnx.merge(graphdef, params)
    for batch in batches:
        params = step(params, batch)
        print(accuracy(val_model, batch))  # NNX992
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(2, 2, rngs=rngs)
    def __call__(self, x):
        return self.out(x)
def rebuild(params):
    net = Net(nnx.Rngs(0))
    nnx.update(net, params)
    return net
def main(params, opt_state, step, batches):
    net = rebuild(params)
    for x, y in batches:
        params, opt_state, loss = step(params, opt_state, x, y)
        print(loss, eval_accuracy(net, x, y))  # NNX992
""",
            """\
def main(state, train_step, evaluate, batches):
    eval_state = state
    for epoch in range(3):
        for batch in batches:
            state = train_step(state, batch)
        print(evaluate(eval_state, batch))  # NNX992
""",
        ),
        clean=(
            """\
def train(model, batches, step, accuracy):
    graphdef, params = nnx.split(model)
    for batch in batches:
        params = step(params, batch)
        val_model = nnx.merge(graphdef, params)
        print(accuracy(val_model, batch))
train(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), [jnp.ones((1, 2))], lambda p, b: p, lambda m, b: m(b).sum())
""",
            """\
def train(model, batches, step, accuracy):
    graphdef, params = nnx.split(model)
    val_model = nnx.merge(graphdef, params)
    for batch in batches:
        params = step(params, batch)
        nnx.update(val_model, params)
        print(accuracy(val_model, batch))
train(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), [jnp.ones((1, 2))], lambda p, b: p, lambda m, b: m(b).sum())
""",
            """\
def train(model, batches, step, distance):
    graphdef, params = nnx.split(model)
    reference = nnx.merge(graphdef, params)
    for batch in batches:
        params = step(params, batch)
        print(distance(reference, params, batch))
train(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), [jnp.ones((1, 2))], lambda p, b: p, lambda m, p, b: m(b).sum())
""",
            """\
def main(state, train_step, evaluate, batches):
    eval_state = state
    print(evaluate(eval_state, batches[0]))
    for epoch in range(3):
        for batch in batches:
            state = train_step(state, batch)
        print(evaluate(state, batch))
main(1.0, lambda s, b: s + b, lambda s, b: s, [1.0])
""",
            """\
def main(params, train_step, evaluate, ema, batches):
    eval_params = params
    for batch in batches:
        params = train_step(params, batch)
        eval_params = ema(eval_params, params)
        print(evaluate(eval_params, batch))
main(1.0, lambda p, b: p + b, lambda p, b: p, lambda a, b: 0.9 * a + 0.1 * b, [1.0])
""",
        ),
    ),
    "NNX998": Cases(
        bad=(
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), return_carry=True)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v, lengths):
        last, _ = self.rnn(v)  # NNX998
        return self.head(last)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.OptimizedLSTMCell(3, 4, rngs=rngs), return_carry=True)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def encode(self, v, seq_lens):
        (_, last), _ = self.rnn(v)  # NNX998
        return last
    def __call__(self, v, seq_lens):
        return self.head(self.encode(v, seq_lens))
""",
            """\
class Both(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.Bidirectional(
            nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs)), nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs)))
    def __call__(self, v, lengths):
        return self.rnn(v).mean(1)  # NNX998
""",
        ),
        clean=(
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), return_carry=True)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v, lengths):
        last, _ = self.rnn(v, seq_lengths=lengths)
        return self.head(last)
print(Reader(nnx.Rngs(0))(jnp.ones((2, 5, 3)), jnp.array([3, 5])).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), return_carry=True)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v):
        last, _ = self.rnn(v)
        return self.head(last)
print(Reader(nnx.Rngs(0))(jnp.ones((2, 5, 3))).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v, lengths):
        every = self.rnn(v)
        seen = jnp.arange(v.shape[1]) < lengths[:, None]
        return self.head((every * seen[..., None]).sum(1) / lengths[:, None])
print(Reader(nnx.Rngs(0))(jnp.ones((2, 5, 3)), jnp.array([3, 5])).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v, lengths):
        every = self.rnn(v)
        return self.head(jnp.take_along_axis(every, (lengths - 1)[:, None, None], axis=1)[:, 0])
print(Reader(nnx.Rngs(0))(jnp.ones((2, 5, 3)), jnp.array([3, 5])).shape)
""",
        ),
    ),
    "NNX933": Cases(
        bad=(
            """\
def noisy(key, rows):
    key_t, key_e = jax.random.split(key)
    t = jax.random.uniform(key_t, (rows.shape[0],))
    noise = jax.random.normal(key_e, rows.shape)
    mixed = (1.0 - t) * rows + t * noise  # NNX933
    return mixed
print(noisy(key, jnp.ones((4, 4))))
""",
            """\
alpha_bar = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, 10))
def q_sample(rows, t, noise):
    kept = alpha_bar[t]
    return jnp.sqrt(kept) * rows + jnp.sqrt(1.0 - kept) * noise  # NNX933
def loss(key, rows):
    key_t, key_e = jax.random.split(key)
    t = jax.random.randint(key_t, (rows.shape[0],), 0, 10)
    noise = jax.random.normal(key_e, rows.shape)
    return q_sample(rows, t, noise).mean()
print(loss(key, jnp.ones((4, 4))))
""",
            """\
def mixup(key, rows):
    share = jax.random.beta(key, 0.2, 0.2, rows.shape[:1])
    return share * rows + (1 - share) * rows[::-1]  # NNX933
print(mixup(key, jnp.ones((4, 4))))
""",
        ),
        clean=(
            """\
def noisy(key, rows):
    key_t, key_e = jax.random.split(key)
    t = jax.random.uniform(key_t, (rows.shape[0],))
    noise = jax.random.normal(key_e, rows.shape)
    return (1.0 - t[:, None]) * rows + t[:, None] * noise
print(noisy(key, jnp.ones((4, 4))))
""",
            """\
def noisy(key, rows):
    key_t, key_e = jax.random.split(key)
    t = jax.random.uniform(key_t, (rows.shape[0], 1))
    return (1.0 - t) * rows + t * jax.random.normal(key_e, rows.shape)
print(noisy(key, jnp.ones((4, 4))))
""",
            """\
def weighted(key, numbers):
    w = jax.random.uniform(key, (numbers.shape[0],))
    return (w * numbers).sum()
print(weighted(key, jnp.ones(4)))
""",
            """\
def scaled(key, rows):
    w = jax.random.uniform(key, (rows.shape[1],))
    return w * rows
print(scaled(key, jnp.ones((4, 4))))
""",
            """\
def one(key, row):
    w = jax.random.uniform(key, (row.shape[0],))
    return w * row
print(jax.vmap(one)(jax.random.split(key, 4), jnp.ones((4, 3))))
""",
        ),
    ),
    "NNX934": Cases(
        bad=(
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))
    def __call__(self, rows):
        return self.rnn(rows)[-1]  # NNX934
print(Reader(nnx.Rngs(0))(jnp.ones((8, 5, 3))).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, rows):
        every = self.rnn(rows)
        return self.head(every[-1])  # NNX934
def loss(reader, rows):
    return reader(rows).mean()
def data():
    return np.random.default_rng(0).normal(size=(8, 5, 3)).astype(np.float32), 1.0
rows, _ = data()
print(nnx.grad(loss)(Reader(nnx.Rngs(0)), rows))
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), time_major=False)
    def last(self, rows):
        return self.rnn(rows)[-1]  # NNX934
print(Reader(nnx.Rngs(0)).last(jnp.zeros((2, 5, 3))).shape)
""",
        ),
        clean=(
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))
    def __call__(self, rows):
        return self.rnn(rows)[:, -1]
print(Reader(nnx.Rngs(0))(jnp.ones((8, 5, 3))).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), time_major=True)
    def __call__(self, rows):
        return self.rnn(rows)[-1]
print(Reader(nnx.Rngs(0))(jnp.ones((8, 5, 3))).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))
    def __call__(self, rows):
        return self.rnn(rows, time_major=True)[-1]
print(Reader(nnx.Rngs(0))(jnp.ones((8, 5, 3))).shape)
""",
            """\
class Reader(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))
    def __call__(self, rows):
        return self.rnn(rows)[-1]
print(Reader(nnx.Rngs(0))(jnp.ones((5, 3))).shape)
""",
        ),
    ),
    "NNX935": Cases(
        bad=(
            """\
def rbf(one, two, scale=0.3):
    return jnp.exp(-0.5 * (one[:, None] - two[None, :]) ** 2 / scale**2)
def sample(key, points):
    factor = jnp.linalg.cholesky(rbf(points, points))  # NNX935
    return factor @ jax.random.normal(key, points.shape)
""",
            """\
def rbf(one, two, scale=0.3):
    return jnp.exp(-0.5 * (one[:, None] - two[None, :]) ** 2 / scale**2)
def prior(key, points, scale=0.3):
    gram = rbf(points, points, scale)
    lower = jnp.linalg.cholesky(gram)  # NNX935
    return lower @ jax.random.normal(key, points.shape)
""",
            """\
def rbf(one, two, scale=0.3):
    return jnp.exp(-0.5 * (one[:, None] - two[None, :]) ** 2 / scale**2)
def solve(points, y):
    factor = jax.scipy.linalg.cho_factor(rbf(points, points))  # NNX935
    return jax.scipy.linalg.cho_solve(factor, y)
""",
        ),
        clean=(
            """\
def rbf(one, two, scale=0.3):
    return jnp.exp(-0.5 * (one[:, None] - two[None, :]) ** 2 / scale**2)
def sample(key, points):
    factor = jnp.linalg.cholesky(rbf(points, points) + 1e-5 * jnp.eye(points.shape[0]))
    return factor @ jax.random.normal(key, points.shape)
print(sample(key, x).shape)
""",
            """\
def rbf(one, two, scale=0.3):
    return jnp.exp(-0.5 * (one[:, None] - two[None, :]) ** 2 / scale**2)
def posterior(points, y, noise=0.1):
    gram = rbf(points, points)
    gram = gram + noise**2 * jnp.eye(points.shape[0])
    return jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(gram), y)
print(posterior(x, x).shape)
""",
            """\
def rbf(one, two, jitter=1e-5):
    gram = jnp.exp(-0.5 * (one[:, None] - two[None, :]) ** 2)
    return gram + jitter * (one[:, None] == two[None, :])
print(jnp.linalg.cholesky(rbf(jnp.arange(3.0), jnp.arange(3.0))).shape)
""",
            """\
def rough(one, two):
    return jnp.exp(-jnp.abs(one[:, None] - two[None, :]))
print(jnp.linalg.cholesky(rough(jnp.arange(3.0), jnp.arange(3.0))).shape)
""",
        ),
    ),
    "NNX936": Cases(
        bad=(
            """\
def evidence(log_joint, log_proposal):
    log_w = log_joint - log_proposal
    return jnp.log(jnp.mean(jnp.exp(log_w)))  # NNX936
""",
            """\
def mixture(log_probs):
    total = jnp.sum(jnp.exp(log_probs), axis=-1)
    return jnp.log(total)  # NNX936
""",
            """\
def marginal(log_p):
    return jnp.log(jnp.exp(log_p).sum())  # NNX936
""",
        ),
        clean=(
            """\
def evidence(log_joint, log_proposal):
    log_w = log_joint - log_proposal
    return jax.nn.logsumexp(log_w) - jnp.log(log_w.shape[0])
print(evidence(x, x))
""",
            """\
def evidence(log_w):
    most = log_w.max()
    return most + jnp.log(jnp.mean(jnp.exp(log_w - most)))
print(evidence(x))
""",
            """\
def evidence(log_all):
    log_w = log_all - jnp.max(log_all)
    return jnp.log(jnp.mean(jnp.exp(log_w)))
print(evidence(x))
""",
            """\
def contrast(similarity):
    return jnp.log(jnp.sum(jnp.exp(similarity / 0.5)))
print(contrast(x))
""",
        ),
    ),
}

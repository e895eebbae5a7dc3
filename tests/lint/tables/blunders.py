"""Cases of what runs without an error and computes something else."""

from __future__ import annotations

from tests.lint.tables import Cases

_QK = "    scores = jnp.einsum('bqd,bkd->bqk', q, k) / jnp.sqrt(q.shape[-1])\n"

_NEXT_TOKENS = """\
class NextToken(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(7, 4, rngs=rngs)
        self.attend = nnx.MultiHeadAttention(2, 4, decode=False, rngs=rngs)
        self.out = nnx.Linear(4, 7, rngs=rngs)
    def __call__(self, tokens):
        h = self.embed(tokens)
        return self.out(self.attend(h, mask=nnx.make_causal_mask(tokens)))
def loss(model, tokens):
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    logits = model(inputs)
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()
print(nnx.grad(loss)(NextToken(nnx.Rngs(0)), jnp.ones((2, 5), int)))
"""
_LINEN_LM = """\
from flax import linen as nn
class Writer(nn.Module):
    @nn.compact
    def __call__(self, ids):
        h = nn.Embed(7, 8)(ids)
        h = h + nn.MultiHeadDotProductAttention(2)(h, mask=nn.make_causal_mask(ids))
        return nn.Dense(7)(h)
net = Writer()
def loss(params, ids):
    logits = net.apply(params, ids)
    return optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], ids[:, 1:]).mean()
params = net.init(key, jnp.ones((1, 4), int))
print(loss(params, jnp.ones((2, 4), int)))
"""
_STATE_OF_LM = """\
from flax.training.train_state import TrainState
state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
"""

_SCANNED = """\
def decode(params, h, tokens):
    def step(h, tok):
        h = jnp.tanh(h + params["e"][tok])
        return h, h @ params["o"]
    _, logits = jax.lax.scan(step, h, tokens.T)
    return jnp.swapaxes(logits, 0, 1)
def loss(params, h, tokens):
    logits = decode(params, h, tokens[:, :-1])
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()
params = {"e": jnp.ones((5, 4)), "o": jnp.ones((4, 5))}
print(loss(params, jnp.zeros((2, 4)), jnp.ones((2, 3), int)))
"""
_SCANNED_BAD = _SCANNED.replace("tokens[:, :-1])", "tokens)").replace(
    "tokens[:, 1:]).mean()", "tokens).mean()  # NNX990"
)
_SAID_BEFORE = """\
def loss(params, h, tokens):
    def step(h, tok):
        said = h @ params["o"]
        h = jnp.tanh(h + params["e"][tok])
        return h, said
    _, logits = jax.lax.scan(step, h, tokens.T)
    logits = logits.swapaxes(0, 1)
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()
params = {"e": jnp.ones((5, 4)), "o": jnp.ones((4, 5))}
print(loss(params, jnp.zeros((2, 4)), jnp.ones((2, 3), int)))
"""

CASES = {
    "NNX973": Cases(
        bad=(
            """\
def relax(v, tol=1e-6):
    def going(state):
        new, old, n = state
        return (jnp.max(jnp.abs(new - old)) > tol) & (n < 50)
    def body(state):
        new, _, n = state
        return jnp.cos(new), new, n + 1
    return jax.lax.while_loop(going, body, (v, v, 0))  # NNX973
print(relax(x))
""",
            """\
def solve(v):
    start = jnp.sin(v)
    going = lambda s: ~jnp.allclose(s['now'], s['before'])
    body = lambda s: {'now': jnp.cos(s['now']), 'before': s['now']}
    return jax.lax.while_loop(going, body, {'now': start, 'before': start})  # NNX973
print(solve(x))
""",
            """\
def newton(f, guess, tolerance):
    def going(state):
        new, old = state
        return jnp.linalg.norm(new - old) / jnp.linalg.norm(old) > tolerance
    body = lambda s: (s[0] - f(s[0]) / jax.grad(f)(s[0]), s[0])
    return jax.lax.while_loop(going, body, (guess, guess))[0]  # NNX973
print(newton(lambda v: v**2 - 2.0, jnp.float32(1.0), 1e-5))
""",
            """\
def going(state):
    return jnp.any(state[0] != state[1])
v = jnp.zeros(3)
print(jax.lax.while_loop(going, lambda s: (jnp.cos(s[0]), s[0]), (v, v)))  # NNX973
""",
            """\
# adds ones, many rounds
def none(v):
    return jax.lax.while_loop(lambda c: c < 0.0, lambda c: c + 1.0, v)  # NNX973
y = none(jnp.float32(5.0))
""",
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
            "def solve(start, tol=1e-4):\n"
            "    def converged(carry):\n"
            "        v, before = carry\n"
            "        return jnp.linalg.norm(v - before) < tol\n"
            "    body = lambda c: (jnp.cos(c[0]), c[0])\n"
            "    return jax.lax.while_loop(converged, body, (jnp.cos(start), start))  # NNX973\n"
            "print(solve(x))\n",
            '@partial(jax.jit, static_argnames="n")\n'
            "def backward(v, n):\n"
            "    return jax.lax.fori_loop(n, 0, lambda i, total: total + v[i], 0.0)  # NNX973\n"
            "print(backward(jnp.arange(4.0), 3))\n",
        ),
        clean=(
            """\
def relax(v, tol=1e-6):
    def going(state):
        new, old, n = state
        return ((jnp.max(jnp.abs(new - old)) > tol) & (n < 50)) | (n == 0)
    body = lambda s: (jnp.cos(s[0]), s[0], s[2] + 1)
    return jax.lax.while_loop(going, body, (v, v, 0))
print(relax(x))
""",
            """\
def relax(v, tol=1e-6):
    going = lambda s: (jnp.max(jnp.abs(s[0] - s[1])) > tol) & (s[2] < 50)
    body = lambda s: (jnp.cos(s[0]), s[0], s[2] + 1)
    return jax.lax.while_loop(going, body, (v, v + jnp.inf, 0))
print(relax(x))
""",
            """\
def relax(v, tol=1e-6):
    going = lambda s: (jnp.max(jnp.abs(s[0] - s[1])) > tol) & (s[2] < 50)
    body = lambda s: (jnp.cos(s[0]), s[0], s[2] + 1)
    return jax.lax.while_loop(going, body, (jnp.cos(v), v, 0))
print(relax(x))
""",
            """\
def apart(v, limit):
    going = lambda s: jnp.abs(s[0] - s[1]).max() < limit
    return jax.lax.while_loop(going, lambda s: (s[0] + 1.0, s[1]), (v, v))
print(apart(x, 3.0))
""",
            """\
def ratio(v, tol=1e-6):
    going = lambda s: ~(jnp.abs(s[0] - s[1]) / jnp.abs(s[1]) < tol) & (s[2] < 9)
    return jax.lax.while_loop(going, lambda s: (jnp.cos(s[0]), s[0], s[2] + 1), (v, v, 0))
print(ratio(jnp.float32(0.0)))
""",
            """\
def until(v, w, tol=1e-6):
    going = lambda s: (jnp.abs(s[0] - s[1]).max() > tol) & (s[2] < 9)
    return jax.lax.while_loop(going, lambda s: (s[0] / 2, s[1], s[2] + 1), (v, w, 0))
print(until(x, 2 * x))
""",
            """\
# 0-iteration while
def none(v):
    return jax.lax.while_loop(lambda c: c < 0.0, lambda c: c + 1.0, v)
print(none(jnp.float32(5.0)))
""",
            """\
y = jax.lax.fori_loop(5, 2, lambda i, c: c + 1.0, x)  # no rounds: the start comes back
""",
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
            "def solve(start, tol=1e-4):\n"
            "    def converged(carry):\n"
            "        v, before = carry\n"
            "        return jnp.linalg.norm(v - before) < tol\n"
            "    going = lambda c: ~converged(c)\n"
            "    return jax.lax.while_loop(going, lambda c: (jnp.cos(c[0]), c[0]), (jnp.cos(start), start))\n"
            "print(solve(x))\n",
            '@partial(jax.jit, static_argnames="n")\n'
            "def forward(v, n):\n"
            "    return jax.lax.fori_loop(n, 4, lambda i, total: total + v[i], 0.0)\n"
            "print(forward(jnp.arange(4.0), 1), forward(jnp.arange(4.0), 4))\n",
        ),
    ),
    "NNX974": Cases(
        bad=(
            """\
def patches(img, p):
    h, w, c = img.shape
    return img.reshape(h // p, w // p, p, p, c).reshape(-1, p * p * c)  # NNX974
print(patches(jnp.ones((4, 4, 3)), 2))
""",
            """\
def patchify(imgs, size):
    b, h, w, c = imgs.shape
    nh, nw = h // size, w // size
    cut = jnp.reshape(imgs, (b, nh, nw, size, size, c))  # NNX974
    return cut.reshape(b, nh * nw, -1)
print(patchify(jnp.ones((1, 4, 4, 3)), 2))
""",
            """\
def to_nhwc(images):
    n, c, h, w = images.shape
    return jnp.asarray(images).reshape(n, h, w, c)  # NNX974
print(to_nhwc(np.ones((2, 3, 4, 5))).shape)
""",
            """\
def channels_last(images):
    n, c, h, w = images.shape
    images = (images.astype(np.float32) / 255.0 - 0.5) * 2
    return jnp.reshape(jnp.array(images), (n, h, w, c))  # NNX974
print(channels_last(np.ones((2, 3, 4, 5))).shape)
""",
            """\
def placed(v):
    batch, length = v.shape[0], v.shape[1]
    return jax.device_put(v).reshape(length, batch, -1)  # NNX974
print(placed(np.ones((2, 3, 4))).shape)
""",
            """\
def scores(y, wq, wk, heads):
    b, t, d = y.shape
    q = (y @ wq).reshape(b, heads, t, d // heads)  # NNX974
    return jnp.einsum("bhqd,bhkd->bhqk", q, q)
print(scores(jnp.ones((2, 4, 6)), jnp.ones((6, 6)), jnp.ones((6, 6)), 2).shape)
""",
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
            "def split(v, heads, head_dim):\n"
            "    b, n, d = v.shape\n"
            "    return v.reshape(b, heads, n, head_dim)  # NNX974\n"
            "print(split(jnp.ones((2, 3, 4)), 2, 2))\n",
            "def channels_last(batch):\n"
            "    size = batch.shape[0]\n"
            "    channels, height, width = batch.shape[1], batch.shape[2], batch.shape[3]\n"
            "    return batch.reshape(size, height, width, channels)  # NNX974\n"
            "print(channels_last(jnp.ones((2, 3, 4, 4))))\n",
            "class Attend(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.heads = 2\n"
            "        self.q = nnx.Linear(4, 4, rngs=rngs)\n"
            "    def __call__(self, v):\n"
            "        b, t, c = v.shape\n"
            "        return jnp.reshape(self.q(v), (b, self.heads, t, c // self.heads))  # NNX974\n"
            "print(Attend(nnx.Rngs(0))(jnp.ones((2, 3, 4))).shape)\n",
        ),
        clean=(
            """\
def patches(img, p):
    h, w, c = img.shape
    return img.reshape(h // p, p, w // p, p, c).transpose(0, 2, 1, 3, 4).reshape(-1, p * p * c)
print(patches(jnp.ones((4, 4, 3)), 2).shape)
""",
            """\
# patches that are put together again
def image(tokens, like, p):
    h, w, c = like.shape
    return tokens.reshape(h // p, w // p, p, p, c).swapaxes(1, 2).reshape(h, w, c)
print(image(jnp.ones((4, 12)), jnp.ones((4, 4, 3)), 2).shape)
""",
            """\
def to_nhwc(images):
    n, c, h, w = images.shape
    return jnp.asarray(images).transpose(0, 2, 3, 1).reshape(n, h, w, c)
print(to_nhwc(np.ones((2, 3, 4, 5))).shape)
""",
            """\
def to_nhwc(images):
    n, c, h, w = images.shape
    flat = jnp.asarray(np.moveaxis(images, 1, -1)).reshape(n, h, w, c)
    return flat.reshape(n, h * w, c) / 255, jnp.asarray(images).reshape(n, c, h * w)
print(to_nhwc(np.ones((2, 3, 4, 5)))[0].shape)
""",
            """\
def summed(a, b):
    n, m = a.shape
    return (a + b).reshape(n, m), jnp.asarray(a @ b.T).reshape(n, -1), (1 - b).reshape(m, n)
print(summed(np.ones((2, 3)), np.ones((2, 3)))[1].shape)
""",
            """\
def relative_shift(scores):
    b, h, q, k = scores.shape
    scores = jnp.pad(scores, ((0, 0), (0, 0), (0, 0), (1, 0)))
    b, h, q, k = scores.shape
    return scores.reshape(b, h, k, q)[:, :, 1:].reshape(b, h, q, k - 1)
print(relative_shift(jnp.ones((1, 2, 3, 4))).shape)
""",
            """\
def relative_shift(scores, memory):
    length, total = scores.shape
    scores = jnp.reshape(scores, [total, length])
    scores = jax.lax.slice(scores, (1, 0), scores.shape)
    return jnp.reshape(scores, [length, total - 1])[:, :memory]
print(relative_shift(jnp.ones((2, 5)), 3).shape)
""",
            """\
def split(y, w, n_heads):
    batch, length, width = y.shape
    return (y @ w).reshape(batch, length, n_heads, width // n_heads).transpose(0, 2, 1, 3)
print(split(jnp.ones((2, 4, 6)), jnp.ones((6, 6)), 2).shape)
""",
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
            "def split(v, heads, head_dim):\n"
            "    b, n, d = v.shape\n"
            "    return v.reshape(b, n, heads, head_dim).swapaxes(1, 2), v.reshape(b, 1, n, d)\n"
            "print(split(jnp.ones((2, 3, 4)), 2, 2))\n",
            "def patches(batch):\n"
            "    size, channels = batch.shape[0], batch.shape[1]\n"
            "    height, width = batch.shape[2], batch.shape[3]\n"
            "    return batch.reshape(size, channels, height * width)\n"
            "print(patches(jnp.ones((2, 3, 4, 4))))\n",
            "class Attend(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.heads = 2\n"
            "        self.q = nnx.Linear(4, 4, rngs=rngs)\n"
            "    def __call__(self, v):\n"
            "        b, t, c = v.shape\n"
            "        return jnp.reshape(self.q(v), (b, t, self.heads, c // self.heads)).swapaxes(1, 2)\n"
            "print(Attend(nnx.Rngs(0))(jnp.ones((2, 3, 4))).shape)\n",
        ),
    ),
    "NNX975": Cases(
        bad=(
            """\
def attention(q, k, v, mask):
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1])
    scores = jnp.where(mask, scores, -1e9)
    return jax.nn.softmax(scores, axis=1) @ v  # NNX975
q, k = jnp.ones((1, 3, 4)), jnp.ones((1, 5, 4))
print(attention(q, k, jnp.ones((1, 5, 2)), jnp.arange(5) < 4))
""",
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
            "def weights(q, k):\n"
            '    return jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k), axis=1)  # NNX975\n'
            "def attend(q, k, v):\n"
            "    w = weights(q, k)\n"
            '    return jnp.einsum("bhqk,bhkd->bhqd", w, v)\n'
            "print(attend(*[jnp.ones((2, 2, 3, 4))] * 3))\n",
        ),
        clean=(
            """\
def attention(q, k, v, mask):
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / jnp.sqrt(q.shape[-1])
    scores = jnp.where(mask, scores, -1e9)
    return jax.nn.softmax(scores, axis=2) @ v
q, k = jnp.ones((1, 3, 4)), jnp.ones((1, 5, 4))
print(attention(q, k, jnp.ones((1, 5, 2)), jnp.arange(5) < 4))
""",
            """\
def attention(q, k, v):
    return jax.nn.softmax(q @ k.T, axis=1) @ v
print(attention(jnp.ones((3, 4)), jnp.ones((5, 4)), jnp.ones((5, 2))))
""",
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
            "def weights(q, k):\n"
            '    return jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k), axis=-1)\n'
            "def slot_weights(q, k):\n"
            '    return jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k), axis=1)\n'
            "def attend(q, k, v):\n"
            '    return jnp.einsum("bhqk,bhkd->bhqd", weights(q, k), v)\n'
            "def slots(q, k, v):\n"
            "    w = slot_weights(q, k)\n"
            '    return jnp.einsum("bqk,bkd->bqd", w / w.sum(-1, keepdims=True), v)\n'
            "print(attend(*[jnp.ones((2, 2, 3, 4))] * 3), slots(*[jnp.ones((2, 3, 4))] * 3))\n",
        ),
    ),
    "NNX976": Cases(
        bad=(
            """\
def attend(scores, n):
    causal = jnp.tril(jnp.ones((n, n), bool))
    bias = jnp.where(causal, -1e9, 0.0)
    return jax.nn.softmax(scores + bias, axis=-1)  # NNX976
""",
            """\
NEG_INF = -1e9
def attend(scores, v):
    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))
    scores = jnp.where(mask, NEG_INF, scores)  # NNX976
    return jax.nn.softmax(scores, axis=-1) @ v
""",
            """\
BIG = jnp.finfo(jnp.float32).min
def attend(scores, v):
    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))
    return jax.nn.softmax(jnp.where(mask, BIG, scores), axis=-1) @ v  # NNX976
""",
            """\
def attend(q, k, v):
    scores = q @ k.T / jnp.sqrt(q.shape[-1])
    weights = jax.nn.softmax(scores, axis=-1)
    weights = jnp.where(jnp.tril(jnp.ones(scores.shape, bool)), weights, 0.0)  # NNX976
    return weights @ v
""",
            """\
def causal(n):
    places = jnp.arange(n)
    return places[:, None] >= places[None, :]
def attend(q, k, v):
    weights = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k))
    return jnp.einsum("bqk,bkd->bqd", weights * causal(q.shape[1]), v)  # NNX976
""",
            """\
def attend(q, k, v):
    mask = jnp.tril(jnp.ones((q.shape[0], k.shape[0])))
    weights = mask * jax.nn.softmax(jnp.matmul(q, k.T) * q.shape[-1] ** -0.5, axis=-1)  # NNX976
    return weights @ v
""",
            """\
def attend(q, k, v):
    weights = jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), axis=-1)
    weights = jnp.where(jnp.tril(jnp.ones(weights.shape, bool)), weights, -1e9)  # NNX976
    return weights @ v
print(attend(jnp.ones((3, 2)), jnp.ones((3, 2)), jnp.ones((3, 2))))
""",
            """\
def attend(q, k, v):
    scores = q @ k.T / jnp.sqrt(q.shape[-1])
    mask = jnp.triu(jnp.ones_like(scores))
    scores = jnp.where(mask, scores, -1e9)  # NNX976
    return jax.nn.softmax(scores, -1) @ v
""",
            """\
class Head(nnx.Module):
    def __init__(self, d, rngs):
        self.q = nnx.Linear(d, d, rngs=rngs)
        self.k = nnx.Linear(d, d, rngs=rngs)
    def __call__(self, x):
        scores = self.q(x) @ self.k(x).swapaxes(1, 2)
        upper = jnp.triu(jnp.ones(scores.shape[1:])).astype(bool)
        return nnx.softmax(jnp.where(upper, scores, float("-inf"))) @ x  # NNX976
""",
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
            "def causal(q, k, v):\n"
            '    scores = jnp.einsum("btd,bsd->bts", q, k)\n'
            "    mask = jnp.tril(jnp.ones((q.shape[1], q.shape[1])))\n"
            "    scores = jnp.where(mask == 0, 0.0, scores)  # NNX976\n"
            "    return jax.nn.softmax(scores, axis=-1) @ v\n"
            "print(causal(*[jnp.ones((2, 3, 4))] * 3))\n",
            "def attend(q, k, v, pad_mask):\n"
            '    scores = jnp.einsum("bqd,bkd->bqk", q, k)\n'
            "    scores *= pad_mask[:, None, :]\n"
            "    return jax.nn.softmax(scores) @ v  # NNX976\n"
            "print(attend(*[jnp.ones((2, 3, 4))] * 3, jnp.ones((2, 3))))\n",
            "def attend(q, k, v):\n"
            "    i = jnp.arange(q.shape[0])\n"
            "    causal = i[:, None] >= i[None, :]\n"
            "    return jax.nn.softmax((q @ k.T) * causal, axis=-1) @ v  # NNX976\n"
            "print(attend(*[jnp.ones((3, 2))] * 3))\n",
            """\
def causal_mask(n):
    return jnp.tril(jnp.ones((n, n), dtype=bool))
def attention(p, h, mask):
    scores = jnp.einsum("btd,bsd->bts", h @ p, h) / jnp.sqrt(h.shape[-1])
    scores = scores + mask  # NNX976
    return jax.nn.softmax(scores, axis=-1) @ h
print(jax.jit(attention)(jnp.eye(4), jnp.ones((2, 3, 4)), causal_mask(3)))
""",
            f"def attend(q, k, mask=None):\n{_QK}    if mask is not None:\n"
            "        scores += mask  # NNX976\n    return nnx.softmax(scores, axis=-1)\n"
            "tokens, h = jnp.ones((2, 3)), jnp.ones((2, 3, 4))\n"
            "print(attend(h, h, mask=nnx.make_causal_mask(tokens, dtype=bool)[:, 0]))\n",
            f"def attend(q, k, ids):\n{_QK}    pad_mask = jnp.logical_not(ids != 0)[:, None, :]\n"
            "    return jax.nn.log_softmax((scores - pad_mask) / 2.0)  # NNX976\n",
            """\
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 5, rngs=rngs)
    def act(self, key, observation, stock):
        legal = (stock > 0) & ~(stock > 9)
        return jax.random.categorical(key, jnp.add(self.out(observation), legal))  # NNX976
print(Policy(nnx.Rngs(0)).act(key, x, jnp.arange(5)))
""",
            """\
def draw(key, logits, tokens):
    pad_mask = jnp.not_equal(tokens, 0)
    return jax.random.categorical(key, logits * pad_mask)  # NNX976
print(draw(key, x, x))
""",
        ),
        clean=(
            """\
def attend(scores, n):
    causal = jnp.tril(jnp.ones((n, n), bool))
    bias = jnp.where(causal, 0.0, -1e9)
    return jax.nn.softmax(scores + bias, axis=-1)
print(attend(jnp.ones((3, 3)), 3))
""",
            """\
NEG_INF = -1e9
def attend(scores, v):
    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))
    scores = jnp.where(mask, scores, NEG_INF)
    return jax.nn.softmax(scores, axis=-1) @ v
print(attend(jnp.ones((3, 3)), jnp.ones((3, 2))))
""",
            """\
# a number that hides nothing
LOW = -1.0
def attend(scores, v):
    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))
    return jax.nn.softmax(jnp.where(mask, LOW, scores), axis=-1) @ v
print(attend(jnp.ones((3, 3)), jnp.ones((3, 2))))
""",
            """\
# hidden places by a name
NEG = jnp.finfo(jnp.float32).min
def attend(scores, v):
    hidden = jnp.triu(jnp.ones(scores.shape[-2:], dtype=bool), k=1)
    return jax.nn.softmax(jnp.where(hidden, NEG, scores), axis=-1) @ v
print(attend(jnp.ones((3, 3)), jnp.ones((3, 2))))
""",
            """\
def attend(q, k, v):
    weights = jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), axis=-1)
    weights = weights * jnp.tril(jnp.ones(weights.shape))
    return weights / weights.sum(-1, keepdims=True) @ v
print(attend(jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((3, 4))))
""",
            """\
def attend(q, k, v):
    mask = jnp.tril(jnp.ones((3, 3), bool))
    scores = jnp.where(mask, q @ k.T, -jnp.inf)
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.where(mask, weights, 0.0) @ v
print(attend(jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((3, 4))))
""",
            """\
def routed(logits, top):
    weights = jax.nn.softmax(logits @ jnp.ones((4, 3)), axis=-1)
    kept = jnp.where(weights >= jax.lax.top_k(weights, top)[0][:, -1:], weights, 0.0)
    return kept
print(routed(jnp.ones((3, 4)), 2))
""",
            """\
def dropped(key, q, k, v, rate=0.1):
    weights = jax.nn.softmax(q @ k.T, axis=-1)
    keep = jax.random.bernoulli(key, 1 - rate, weights.shape)
    return jnp.where(keep, weights / (1 - rate), 0.0) @ v
print(dropped(key, jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((3, 4))))
""",
            """\
def later(q, k):
    weights = jax.nn.softmax(q @ k.T, axis=-1)
    leak = jnp.sum(jnp.where(jnp.tril(jnp.ones((3, 3), bool)), weights, 0.0))
    return leak
print(later(jnp.ones((3, 4)), jnp.ones((3, 4))))
""",
            # numbers, and truth values that choose or are made numbers of
            f"def attend(q, k):\n{_QK}    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))\n"
            "    return jax.nn.softmax(scores + (1 - mask) * -1e9)\nprint(attend(*[jnp.ones((2, 3, 4))] * 2))\n",
            f"def attend(q, k):\n{_QK}    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))\n"
            "    return jax.nn.softmax(scores + jnp.log(mask))\nprint(attend(*[jnp.ones((2, 3, 4))] * 2))\n",
            f"def attend(q, k):\n{_QK}    mask = jnp.tril(jnp.ones(scores.shape[-2:], dtype=bool))\n"
            "    return jax.nn.softmax(scores + jnp.where(mask, 0.0, -1e9))\n"
            "print(attend(*[jnp.ones((2, 3, 4))] * 2))\n",
            f"def attend(q, k, mask):\n{_QK}    return jax.nn.softmax(scores + mask)\n"
            "h = jnp.ones((2, 3, 4))\nprint(attend(h, h, jnp.where(jnp.tri(3, dtype=bool), 0.0, -1e9)))\n",
            f"def attend(q, k, mask):\n{_QK}    return jax.nn.softmax(scores + mask)\n"
            "for mask in (jnp.zeros((3, 3)), jnp.where(jnp.tri(3, dtype=bool), 0.0, -1e9)):\n"
            "    print(attend(jnp.ones((2, 3, 4)), jnp.ones((2, 3, 4)), mask))\n",
            # how many of two conditions hold, and a push for one choice
            """\
def votes(a, b):
    valid = a > 0
    return jax.nn.softmax(((b > 0) + valid).astype(jnp.float32))
print(votes(jnp.ones(3), jnp.arange(3)))
def again(logits, before):
    return jax.nn.softmax(logits + (jnp.arange(3) == before))
print(again(jnp.ones(3), 1))
""",
            """\
def losses(logits, lengths):
    mask = jnp.arange(3) < lengths
    return jax.nn.log_softmax(logits * mask[:, None]), jax.nn.log_softmax(logits) * mask[:, None]
print(losses(jnp.ones((3, 3)), 2))
def penalized(logits, seen, penalty):
    valid = jnp.arange(3) < seen
    return jax.random.categorical(key, logits - penalty * valid)
print(penalized(jnp.ones(3), 2, 10.0))
""",
            """\
def chances(scores, alpha):
    used_mask = alpha > 0
    scores = scores * used_mask + (1 - used_mask) * (-1e10)
    return jax.nn.softmax(scores, axis=-1)
print(chances(jnp.ones(3), jnp.arange(3)))
""",
            # one number for a whole row changes no softmax
            """\
def weights(scores, lengths):
    valid = jnp.arange(3) < lengths
    return jax.nn.softmax(scores + valid[:, None], axis=-1)
print(weights(jnp.ones((3, 3)), jnp.array([1, 2, 3])))
""",
            """\
def weights(scores):
    mask = jnp.tril(jnp.ones((3, 3), dtype=bool)).astype(jnp.float32)
    return jax.nn.softmax(scores + (mask - 1.0) * 1e9, axis=-1)
print(weights(jnp.ones((3, 3))))
def counted(scores, keep):
    return jax.nn.softmax(scores, axis=-1) + keep
print(counted(jnp.ones((3, 3)), jnp.ones(3) > 0))
""",
            """\
def attend(q, k, v):
    weights = jax.nn.softmax(q @ k.T / jnp.sqrt(q.shape[-1]), axis=-1)
    weights = jnp.where(jnp.tril(jnp.ones(weights.shape, bool)), weights, 0.0)
    return weights / weights.sum(-1, keepdims=True) @ v
print(attend(jnp.ones((3, 2)), jnp.ones((3, 2)), jnp.ones((3, 2))))
""",
            """\
def best_allowed(logits, allowed):
    chances = jax.nn.softmax(logits)
    return jnp.argmax(jnp.where(allowed, chances, -jnp.inf))
print(best_allowed(jnp.ones(3), jnp.array([True, False, True])))
""",
            # a model that reads from right to left
            """\
def attend_backwards(q, k, v):
    scores = q @ k.T / jnp.sqrt(q.shape[-1])
    scores = jnp.where(jnp.triu(jnp.ones_like(scores)), scores, -1e9)
    return jax.nn.softmax(scores, -1) @ v
print(attend_backwards(jnp.ones((3, 2)), jnp.ones((3, 2)), jnp.ones((3, 2))))
""",
            """\
def window(q, k, v):
    scores = q @ k.T
    near = jnp.tril(jnp.ones_like(scores), k=1) * jnp.triu(jnp.ones_like(scores), k=-1)
    return jax.nn.softmax(jnp.where(near, scores, -1e9), -1) @ v
print(window(jnp.ones((3, 2)), jnp.ones((3, 2)), jnp.ones((3, 2))))
""",
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
            "def causal(q, k, v):\n"
            '    scores = jnp.einsum("btd,bsd->bts", q, k)\n'
            "    mask = jnp.tril(jnp.ones((q.shape[1], q.shape[1]), bool))\n"
            "    weights = jnp.exp(jnp.where(mask, scores, 0.0)) * mask\n"
            "    return (jax.nn.softmax(jnp.where(mask, scores, 0.0)) * mask + weights) @ v\n"
            "print(causal(*[jnp.ones((2, 3, 4))] * 3))\n",
            "def attend(q, k, v, pad_mask):\n"
            '    scores = jnp.einsum("bqd,bkd->bqk", q, k)\n'
            "    scores *= 1 / jnp.sqrt(q.shape[-1])\n"
            "    scores += jnp.where(pad_mask[:, None, :], 0.0, -1e9)\n"
            "    return jax.nn.softmax(scores) @ v\n"
            "print(attend(*[jnp.ones((2, 3, 4))] * 3, jnp.ones((2, 3))))\n",
            "def attend(q, k, v):\n"
            "    i = jnp.arange(q.shape[0])\n"
            "    causal, behind = i[:, None] >= i[None, :], i[None, :] > i[:, None]\n"
            "    scores = q @ k.T\n"
            "    first = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)\n"
            "    return (first + jax.nn.softmax(jnp.where(behind, -jnp.inf, scores))) @ v\n"
            "print(attend(*[jnp.ones((3, 2))] * 3))\n",
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
            "def rows(y, n=3):\n"
            "    return np.eye(n)[y]\n"
            "def accuracy(logits, targets):\n"
            "    return jnp.mean(jnp.argmax(logits, axis=1) == targets)  # NNX979\n"
            "print(accuracy(jnp.ones((3, 3)), rows(np.array([0, 1, 2]))))\n",
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
            "def rows(y, n=3):\n"
            "    return np.eye(n)[y]\n"
            "def accuracy(logits, targets):\n"
            "    return jnp.mean(jnp.argmax(logits, axis=1) == targets.argmax(1))\n"
            "print(accuracy(jnp.ones((3, 3)), rows(np.array([0, 1, 2]))))\n",
        ),
    ),
    "NNX980": Cases(
        bad=(
            """\
def chosen(logits, actions):
    return jnp.take(jax.nn.log_softmax(logits), actions)  # NNX980
def loss(w, obs, actions, advantages):
    return -jnp.mean(chosen(obs @ w, actions) * advantages)
print(loss(jnp.ones((3, 2)), jnp.ones((4, 3)), jnp.zeros(4, int), jnp.ones(4)))
""",
            """\
def chosen(q_values, actions):
    return jnp.take_along_axis(q_values, jnp.expand_dims(actions, -1), axis=0)  # NNX980
""",
            """\
def last(h, lengths):
    return h[:, lengths - 1]  # NNX980
print(last(jnp.ones((2, 5, 3)), jnp.array([2, 4])))
""",
            """\
def last(hidden, mask):
    ends = mask.sum(axis=1) - 1
    return hidden[:, ends, :]  # NNX980
print(last(jnp.ones((2, 5, 3)), jnp.ones((2, 5), int)))
""",
            """\
def score(outputs, batch):
    return outputs[:, batch["seq_lens"] - 1].mean()  # NNX980
print(score(jnp.ones((2, 5)), {"seq_lens": jnp.array([2, 4])}))
""",
            """\
def predict(params, v):
    logits = v @ params["w"] + params["b"]
    return logits - jax.nn.logsumexp(logits, axis=1, keepdims=True)
def loss(params, batch):
    v, labels = batch
    return -jnp.mean(jnp.take(predict(params, v), labels, axis=0))  # NNX980
""",
            """\
def nll(params, v, labels):
    logits = v @ params
    logp = jax.nn.log_softmax(logits, axis=1)
    return -jnp.mean(logp[labels])  # NNX980
""",
            """\
def nll(params, batch):
    logits = batch["x"] @ params
    right = jnp.argmax(logits, axis=-1) == batch["labels"]
    logp = jnp.log(jax.nn.softmax(logits))
    picked = logp[batch["labels"]]  # NNX980
    return -picked.mean(), right.mean()
""",
            """\
def nll(logits, y):
    logp = logits - jax.scipy.special.logsumexp(logits, axis=1, keepdims=True)
    picked = logp[:, y]  # NNX980
    return -picked.mean()
""",
            """\
from jax.nn import log_softmax
def nll(logits, targets):
    return -jnp.take(log_softmax(logits, axis=1), targets).mean()  # NNX980
""",
            """\
def cross_entropy(logits, labels):
    logp = jax.nn.log_softmax(logits)
    return -logp[labels].mean()  # NNX980
def loss(w, v, y):
    return cross_entropy(v @ w, y)
print(loss(jnp.ones((2, 3)), jnp.ones((4, 2)), jnp.array([0, 1, 2, 1])))
""",
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
            "def nll(logits, y):\n"
            "    log_probs = jax.nn.log_softmax(logits, axis=-1)\n"
            "    picked = jnp.take(log_probs, y, axis=1)  # NNX980\n"
            "    return -picked.mean()\n"
            "print(nll(jnp.ones((2, 3)), jnp.array([0, 1])))\n",
            "def cross_entropy(logits, labels):\n"
            "    probs = jax.nn.softmax(logits)\n"
            "    return -jnp.log(probs[:, labels] + 1e-9).mean()  # NNX980\n"
            "print(cross_entropy(jnp.ones((2, 3)), jnp.array([0, 1])))\n",
            "def loss(logits, labels):\n"
            "    logp = jax.nn.log_softmax(logits, axis=0)\n"
            "    onehot = jax.nn.one_hot(labels, 3)\n"
            "    return -jnp.mean(jnp.sum(logp * onehot, axis=-1))  # NNX980\n"
            "print(loss(jnp.ones((2, 3)), jnp.array([0, 1])))\n",
            "def loss(net, batch):\n"
            '    logp = nnx.log_softmax(net(batch["x"]))\n'
            '    return -jnp.mean(logp[:, batch["labels"]])  # NNX980\n'
            'print(loss(model, {"x": jnp.ones((2, 3)), "labels": jnp.array([0, 1])}))\n',
            # of all actions of a batch, where each step has its own
            "def td_loss(net, batch, target):\n"
            '    q = net(batch["obs"])\n'
            '    chosen = q[:, batch["actions"]]  # NNX980\n'
            "    return jnp.mean((chosen - target) ** 2)\n"
            'print(td_loss(model, {"obs": jnp.ones((2, 3)), "actions": jnp.array([0, 1])}, jnp.ones(2)))\n',
            "def td_loss(net, batch, target):\n"
            '    chosen = jnp.take(net(batch["obs"]), batch["actions"], axis=1)  # NNX980\n'
            "    return jnp.mean((chosen - target) ** 2)\n"
            'print(td_loss(model, {"obs": jnp.ones((2, 3)), "actions": jnp.array([0, 1])}, jnp.ones(2)))\n',
            # weighed by what each action has brought
            "def policy_loss(net, obs, actions, returns):\n"
            "    logp = nnx.log_softmax(net(obs))\n"
            "    return -jnp.mean(logp[:, actions] * returns)  # NNX980\n"
            "print(policy_loss(model, jnp.ones((2, 3)), jnp.array([0, 1]), jnp.arange(2.0)))\n",
            "def policy_loss(net, batch):\n"
            '    logp = nnx.log_softmax(net(batch["obs"]), axis=-1)\n'
            '    chosen = jnp.take(logp, batch["actions"], axis=-1)  # NNX980\n'
            '    return -(chosen * (batch["rewards"] - 0.5)).mean()\n'
            'batch = {"obs": jnp.ones((2, 3)), "actions": jnp.array([0, 1]), "rewards": jnp.ones(2)}\n'
            "print(policy_loss(model, batch))\n",
            # the loss within a step
            "def step(net, v, labels):\n"
            "    def loss_fn(m):\n"
            "        logp = nnx.log_softmax(m(v))\n"
            "        return -logp[:, labels].mean()  # NNX980\n"
            "    return nnx.value_and_grad(loss_fn)(net)[0]\n"
            "print(step(model, jnp.ones((2, 3)), jnp.array([0, 1])))\n",
            "def td_loss(net, batch, target):\n"
            "    s, a = batch\n"
            "    return optax.huber_loss(net(s)[:, a], target).mean()  # NNX980\n"
            "print(td_loss(model, (jnp.ones((2, 3)), jnp.array([0, 1])), jnp.ones(2)))\n",
            "def td_loss(net, states, actions, target):\n"
            "    predicted = net(states)\n"
            "    return jnp.mean(jnp.square(target - predicted[:, actions.astype(int)]))  # NNX980\n"
            "print(td_loss(model, jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones(2)))\n",
        ),
        clean=(
            """\
def chosen(logits, actions):
    return jnp.take(jax.nn.log_softmax(logits), actions)
def loss(w, actions, advantages):
    return -jnp.mean(chosen(w, actions) * advantages)
print(loss(jnp.ones(2), jnp.zeros(4, int), jnp.ones(4)))
""",
            """\
def chosen(q_values, actions):
    return jnp.take_along_axis(q_values, jnp.expand_dims(actions, -1), axis=1)
print(chosen(jnp.ones((2, 3)), jnp.zeros(2, int)))
""",
            """\
def ordered(rows, order):
    return jnp.take_along_axis(rows, order[:, None], axis=0)
print(ordered(jnp.ones((3, 2)), jnp.array([2, 0, 1])))
""",
            """\
def last(h, lengths):
    return h[jnp.arange(len(lengths)), lengths - 1]
print(last(jnp.ones((2, 5, 3)), jnp.array([2, 4])))
""",
            """\
# one length for all
def last(h, length):
    return h[:, length - 1]
print(last(jnp.ones((2, 5, 3)), 4))
""",
            """\
# a table with a column for each length
def prior(table, lengths):
    return table[:, lengths - 1]
print(prior(jnp.ones((2, 5)), jnp.array([2, 4])))
""",
            """\
# the number of all masked places
def last(h, mask):
    return h[:, mask.sum() - 1]
print(last(jnp.ones((2, 5)), jnp.ones(3, int)))
""",
            """\
def predict(params, v):
    logits = v @ params
    return logits - jax.nn.logsumexp(logits, axis=1, keepdims=True)
def loss(params, batch):
    v, labels = batch
    return -jnp.mean(jnp.take_along_axis(predict(params, v), labels[:, None], axis=1))
print(loss(jnp.ones((3, 2)), (jnp.ones((2, 3)), jnp.array([0, 1]))))
""",
            """\
def nll(logits, label):
    return -jax.nn.log_softmax(logits)[label]
print(jax.vmap(nll)(jnp.ones((2, 3)), jnp.array([0, 2])).mean())
""",
            """\
def nll(logits, labels):
    return -jnp.mean(jax.nn.log_softmax(logits)[labels])
print(nll(x, jnp.array([0, 1, 1])))  # one distribution, of which all are drawn
""",
            """\
def bandit(theta, actions, rewards):
    logp = jax.nn.log_softmax(theta)
    return -jnp.mean(jnp.take(logp, actions, axis=-1) * rewards)  # one distribution for all
print(bandit(jnp.ones(3), jnp.array([0, 1, 1]), jnp.ones(3)))
""",
            """\
def step_loss(net, obs, action, advantage):
    logp = nnx.log_softmax(net(obs))
    return -(jnp.take(logp, action, axis=-1) * advantage).mean()  # one step
print(step_loss(model, x, 1, 0.5))
""",
            """\
def td_loss(net, obs, action, target):
    return jnp.square(target - jnp.take(net(obs), action, axis=-1)).mean()  # one step
print(td_loss(model, x, 1, 0.5))
""",
            """\
def each(logits, action, reward):
    return -jnp.mean(jnp.take(jax.nn.log_softmax(logits * 2), action, axis=-1) * reward)
print(jax.vmap(each)(jnp.ones((2, 3)), jnp.array([0, 2]), jnp.ones(2)).mean())
""",
            """\
def policy_loss(net, obs, actions, returns):
    logp = nnx.log_softmax(net(obs))
    return -jnp.mean(logp[jnp.arange(2), actions] * returns)
print(policy_loss(model, jnp.ones((2, 3)), jnp.array([0, 1]), jnp.arange(2.0)))
""",
            """\
def expected(net, obs, actions, costs):
    p = nnx.softmax(net(obs))
    return jnp.sum(p[:, actions] * costs)  # a table of costs, for all that can be done
print(expected(model, jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones((2, 2))))
""",
            """\
def td_loss(net, batch, target):
    q = net(batch["obs"])
    chosen = jnp.take_along_axis(q, batch["actions"][:, None], axis=1)[:, 0]
    return jnp.mean((chosen - target) ** 2)
print(td_loss(model, {"obs": jnp.ones((2, 3)), "actions": jnp.array([0, 1])}, jnp.ones(2)))
""",
            """\
def per_sequence(logits, targets):
    logp = jax.nn.log_softmax(logits)
    return -jnp.mean(logp[targets])
print(jax.vmap(per_sequence)(jnp.ones((2, 3)), jnp.array([[0, 1], [1, 2]])))
""",
            """\
def nll(logits, y):
    logp = logits - jax.scipy.special.logsumexp(logits, axis=1, keepdims=True)
    return -logp[jnp.arange(y.shape[0]), y].mean()
print(nll(jnp.ones((2, 3)), jnp.array([0, 1])))
""",
            """\
def embed(table, labels):
    return jnp.mean(table[labels]), jnp.take(table, labels, axis=0).sum()
print(embed(jnp.ones((3, 2)), jnp.array([0, 1])))
""",
            """\
def bandit(preferences, actions, rewards):
    logp = jax.nn.log_softmax(preferences)
    return -jnp.mean(logp[actions] * rewards)
print(bandit(x, jnp.array([0, 1]), jnp.ones(2)))
""",
            "def td_loss(net, batch, target):\n"
            '    q = net(batch["obs"])\n'
            '    chosen = q[jnp.arange(2), batch["actions"]]\n'
            "    return jnp.mean((chosen - target) ** 2)\n"
            'print(td_loss(model, {"obs": jnp.ones((2, 3)), "actions": jnp.array([0, 1])}, jnp.ones(2)))\n',
            "def td_loss(net, batch, target):\n"
            '    chosen = jnp.diagonal(net(batch["obs"])[:, batch["actions"]])\n'
            "    return jnp.mean((chosen - target) ** 2)\n"
            'print(td_loss(model, {"obs": jnp.ones((2, 3)), "actions": jnp.array([0, 1])}, jnp.ones(2)))\n',
            "def td_loss(net, states, action, target):\n"
            "    return jnp.mean((net(states)[:, action] - target) ** 2)\n"
            "print(td_loss(model, jnp.ones((2, 3)), 1, jnp.ones(2)))\n",
            "def spread(net, env, base):\n"
            "    return net(env.obs)[:, env.actions] - base\n"
            "import types\n"
            "print(spread(model, types.SimpleNamespace(obs=jnp.ones((2, 3)), actions=jnp.array([0, 2])), 1.0))\n",
            "def nll(z, y):\n    logp = jax.nn.log_softmax(z)\n    return -logp[jnp.arange(len(y)), y].mean()\n",
            "def nll(z, y):\n    p = jax.nn.log_softmax(z)\n    return -jnp.take_along_axis(p, y[:, None], axis=-1)\n",
            "def first(z):\n    p = jax.nn.softmax(z, axis=-1)\n    return p[:, 0].mean()\n",
            "def some(z, tokens):\n    p = jax.nn.softmax(z)\n    return p[:, tokens].sum()\n",
            "def rows(table, labels):\n    return table[:, labels].mean()\n",
            "def nll(z, y):\n    p = jax.nn.softmax(z, axis=0)\n    return jnp.take_along_axis(p, y[None], axis=0)\n",
            "def nll(logits, y, first=0):\n"
            "    log_probs = jax.nn.log_softmax(logits, axis=-1)\n"
            "    own = jnp.take_along_axis(log_probs, y[:, None], 1)\n"
            "    return -jnp.take(log_probs, first, axis=1).mean() - own.mean()\n"
            "print(nll(jnp.ones((2, 3)), jnp.array([0, 1])))\n",
            "def cross_entropy(logits, labels):\n"
            "    probs = jax.nn.softmax(logits)\n"
            "    return -jnp.log(probs[jnp.arange(2), labels] + 1e-9).mean()\n"
            "print(cross_entropy(jnp.ones((2, 3)), jnp.array([0, 1])))\n",
            "def usage(logits, labels):\n"
            "    shares = jax.nn.softmax(logits, axis=0)\n"
            "    onehot = jax.nn.one_hot(labels, 3)\n"
            "    return jnp.sum(shares * onehot, axis=0)\n"
            "print(usage(jnp.ones((2, 3)), jnp.array([0, 1])))\n",
            "def loss(net, batch, cfg):\n"
            '    logp = nnx.log_softmax(net(batch["x"]))\n'
            '    own = logp[jnp.arange(2), batch["labels"]]\n'
            '    return -jnp.mean(own) - jnp.mean(logp[:, cfg["first"]])\n'
            'print(loss(model, {"x": jnp.ones((2, 3)), "labels": jnp.array([0, 1])}, {"first": 0}))\n',
        ),
    ),
    "NNX982": Cases(
        bad=(
            "def normalize(x):\n    return (x - x.mean(axis=1)) / 2.0  # NNX982\n",
            "def unit(x):\n    norms = jnp.linalg.norm(x, axis=1)\n    return x / norms  # NNX982\n",
            "def soft(x):\n    e = jnp.exp(x)\n    return e / jnp.sum(e, axis=1)  # NNX982\n",
            "def normalize(x):\n    return (x - x.mean(axis=0)) / x.std(axis=1)  # NNX982\n",
            "def rms_norm(v, eps=1e-6):\n"
            "    rms = jnp.sqrt(jnp.mean(jnp.square(v), axis=-1) + eps)\n"
            "    return v / rms  # NNX982\n"
            "print(rms_norm(jnp.ones((4, 4))))\n",
            "def chances(logits):\n"
            "    return logits - jax.nn.logsumexp(logits, axis=1)  # NNX982\n"
            "def unit(v):\n"
            "    return v / (jnp.linalg.norm(v, axis=1) + 1e-8)  # NNX982\n"
            "print(chances(jnp.ones((4, 4))), unit(jnp.ones((4, 4))))\n",
        ),
        clean=(
            """\
def shares(hidden, weights):  # of tensors of PyTorch
    summed = (hidden * weights).sum(axis=1)
    return summed / summed.sum(axis=1, keepdim=True)
""",
            "def normalize(x):\n    return x - x.mean(axis=1, keepdims=True)\n",
            "def normalize(x):\n    return (x - x.mean(axis=0)) / x.std(axis=0)\n",
            "def normalize(x):\n    return x - x.mean(axis=1)[:, None]\n",
            "def unit(x):\n    return (x.T / jnp.linalg.norm(x, axis=1)).T\n",
            "def spread(x):\n    return x.max(axis=1) - x.min(axis=1)\n",
            "def last(x):\n    return x - x.mean(-1)\n",
            "def rms_norm(v, eps=1e-6):\n"
            "    rms = jnp.sqrt(jnp.mean(jnp.square(v), axis=-1) + eps)\n"
            "    return v / rms\n"
            "print(rms_norm(jnp.ones(4)), jax.vmap(rms_norm)(jnp.ones((4, 4))))\n",
            "def degrees(edges):\n"
            "    return edges / jnp.sqrt(edges.sum(axis=1))\n"
            "def rms_norm(v):\n"
            "    return v * jax.lax.rsqrt(jnp.mean(v**2, axis=-1, keepdims=True) + 1e-6)\n"
            "print(degrees(jnp.ones((4, 4))), rms_norm(jnp.ones((4, 4))))\n",
        ),
    ),
    "NNX984": Cases(
        bad=(
            "jax.lax.scan(lambda c, _: (c + 1, c), 0, None)  # NNX984\n",
            "def count(step, start):\n    return jax.lax.scan(step, start, xs=None)  # NNX984\n",
            "def count(step, start):\n    return jax.lax.scan(step, init=start)  # NNX984\n",
            "def simulate(f, start):\n"
            "    xs = None\n"
            "    return jax.lax.scan(lambda c, _: (f(c), c), start, xs)  # NNX984\n",
        ),
        clean=(
            """\
def walk(start):
    def step(carry, _):
        return carry + 1.0, carry
    _, places = jax.lax.scan(...)
    return places
""",
            "jax.lax.scan(lambda c, _: (c + 1, c), 0, None, length=3)\n",
            "jax.lax.scan(lambda c, _: (c + 1, c), 0, None, 3)\n",
            "def count(step, start, xs):\n    return jax.lax.scan(step, start, xs)\n",
            "def count(step, start, **how):\n    return jax.lax.scan(step, start, None, **how)\n",
            "def count(step, start, how):\n    return jax.lax.scan(step, start, *how)\n",
            "def simulate(f, start):\n"
            "    xs, length = None, 3\n"
            "    return jax.lax.scan(lambda c, _: (f(c), c), start, xs, length)\n"
            "print(simulate(jnp.sin, x))\n",
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
            "def surrogate(ratio, adv, eps=0.2):\n"
            "    return jnp.maximum(ratio * adv, jnp.clip(ratio, 1 - eps, 1 + eps) * adv)  # NNX985\n"
            "def objective(logp, old, adv):\n"
            "    return -surrogate(jnp.exp(logp - old), adv).mean()\n"
            "print(objective(jnp.ones(2), jnp.zeros(2), jnp.ones(2)))\n",
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
            "def surrogate(ratio, adv, eps=0.2):\n"
            "    return jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - eps, 1 + eps) * adv)\n"
            "def objective(logp, old, adv):\n"
            "    return -surrogate(jnp.exp(logp - old), adv).mean()\n"
            "print(objective(jnp.ones(2), jnp.zeros(2), jnp.ones(2)))\n",
        ),
    ),
    "NNX986": Cases(
        bad=(
            # densities of continuous actions
            """\
def actor_loss(mean, log_std, actions, advantages):
    log_prob = -0.5 * ((actions - mean) / jnp.exp(log_std)) ** 2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
    log_prob = log_prob.sum(-1)
    return jnp.mean(log_prob * advantages)  # NNX986
""",
            """\
def policy_loss(mean, std, actions, advantages):
    logp = jax.scipy.stats.norm.logpdf(actions, mean, std)
    return (jnp.sum(logp, axis=-1) * advantages).mean()  # NNX986
def pg_loss(mean, std, actions, adv):
    logp = jnp.sum(-jnp.square(actions - mean) / (2 * std**2) - jnp.log(std), axis=-1)
    return (logp * adv).mean()  # NNX986
""",
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
            "class Learner:\n"
            "    def __init__(self, policy):\n"
            "        self.policy = policy\n"
            "        self.optimizer = nnx.Optimizer(policy, optax.sgd(0.1), wrt=nnx.Param)\n"
            "    def update(self, obs, actions, returns):\n"
            "        def loss_fn(policy):\n"
            "            logp = jax.nn.log_softmax(policy(obs))\n"
            "            chosen = logp[jnp.arange(len(actions)), actions]\n"
            "            return (chosen * returns).mean()  # NNX986\n"
            "        loss, grads = nnx.value_and_grad(loss_fn)(self.policy)\n"
            "        self.optimizer.update(self.policy, grads)\n"
            "        return loss\n"
            "print(Learner(model).update(jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones(2)))\n",
            "def actor_critic_loss(logits, value, actions, advantages, returns):\n"
            "    log_probs = jax.nn.log_softmax(logits)\n"
            "    chosen = jnp.take_along_axis(log_probs, actions[:, None], axis=-1)[:, 0]\n"
            "    policy_loss = jnp.mean(chosen * advantages)  # NNX986\n"
            "    return policy_loss + 0.5 * jnp.mean((value - returns) ** 2)\n",
            "def ppo_loss(logp, old_logp, advantages, eps=0.2):\n"
            "    ratio = jnp.exp(logp - old_logp)\n"
            "    surr = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - eps, 1 + eps) * advantages)  # NNX986\n"
            "    return surr.mean()\n",
            "def reinforce_loss(logits, actions, batch):\n"
            "    onehot = jax.nn.one_hot(actions, 3)\n"
            "    log_prob = jnp.sum(jax.nn.log_softmax(logits) * onehot, axis=-1)\n"
            '    return jnp.mean(log_prob * batch["returns"])  # NNX986\n',
        ),
        clean=(
            """\
def actor_loss(mean, log_std, actions, advantages):
    log_prob = -0.5 * ((actions - mean) / jnp.exp(log_std)) ** 2 - log_std - 0.5 * jnp.log(2 * jnp.pi)
    return -jnp.mean(log_prob.sum(-1) * advantages)
""",
            """\
def policy_loss(mean, std, actions, advantages):
    surprise = 0.5 * ((actions - mean) / std) ** 2 + jnp.log(std)
    return (surprise.sum(-1) * advantages).mean()
""",
            """\
def policy_loss(mean, std, actions, advantages):
    surprise = -jax.scipy.stats.norm.logpdf(actions, mean, std).sum(-1)
    return (surprise * advantages).mean()
""",
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
            "def update(policy, obs, actions, returns):\n"
            "    def loss_fn(policy):\n"
            "        logp = jax.nn.log_softmax(policy(obs))\n"
            "        return -(logp[jnp.arange(len(actions)), actions] * returns).mean()\n"
            "    return nnx.value_and_grad(loss_fn)(policy)[0]\n"
            "print(update(model, jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones(2)))\n",
            "def objective(logp, advantages, value, returns):\n"
            "    gain = jnp.mean(jax.nn.log_softmax(logp)[:, 0] * advantages)\n"
            "    return 0.5 * jnp.mean((value - returns) ** 2) - gain\n"
            "print(objective(jnp.ones((2, 3)), jnp.ones(2), jnp.ones(2), jnp.zeros(2)))\n",
            "def ppo_loss(logp, old_logp, advantages, eps=0.2):\n"
            "    ratio = jnp.exp(logp - old_logp)\n"
            "    surr = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - eps, 1 + eps) * advantages)\n"
            "    return -surr.mean()\n"
            "print(ppo_loss(jnp.ones(2), jnp.zeros(2), jnp.ones(2)))\n",
            "def reinforce_loss(logits, actions, batch):\n"
            "    onehot = jax.nn.one_hot(actions, 3)\n"
            "    log_prob = jnp.sum(jax.nn.log_softmax(logits) * onehot, axis=-1)\n"
            '    return -jnp.mean(log_prob * batch["returns"])\n'
            'print(reinforce_loss(jnp.ones((2, 3)), jnp.array([0, 1]), {"returns": jnp.ones(2)}))\n',
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
            "def noisy(v, t, key):\n"
            "    return jnp.sqrt(t) * v + jnp.sqrt(1 - t) * jax.random.normal(key, v.shape)\n"
            "def loss(net, key, v):\n"
            "    time_key, noise_key, other_key = jax.random.split(key, 3)\n"
            "    t = jax.random.uniform(time_key, (len(v), 1))\n"
            "    eps = jax.random.normal(other_key, v.shape)\n"
            "    return jnp.mean((net(noisy(v, t, noise_key)) - eps) ** 2)  # NNX987\n"
            "print(loss(model, key, jnp.ones((2, 3))))\n",
            """\
class Process:
    def add_noise(self, key, v, t):
        return jnp.sqrt(t) * v + jnp.sqrt(1 - t) * jax.random.normal(key, v.shape)
def loss(net, process, key, v):
    noise_key, other_key = jax.random.split(key)
    noisy = process.add_noise(noise_key, v, 0.5)
    eps = jax.random.normal(other_key, v.shape)
    return jnp.mean((net(noisy) - eps) ** 2)  # NNX987
""",
            "def loss(net, rngs, v):\n"
            "    noisy = v + jax.random.normal(rngs.noise(), v.shape)\n"
            "    noise = jax.random.normal(rngs.noise(), v.shape)\n"
            "    return jnp.mean((net(noisy) - noise) ** 2)  # NNX987\n"
            "print(loss(model, nnx.Rngs(noise=0), jnp.ones((2, 3))))\n",
            "def loss(net, key, v, sigma=0.1):\n"
            "    key, sub = jax.random.split(key)\n"
            "    noisy = v + sigma * jax.random.normal(sub, v.shape)\n"
            "    key, sub = jax.random.split(key)\n"
            "    target = -jax.random.normal(sub, v.shape) / sigma\n"
            "    return optax.l2_loss(net(noisy), target).mean()  # NNX987\n"
            "print(loss(model, key, jnp.ones((2, 3))))\n",
            "def step(net, v, key):\n"
            "    first, second = jax.random.split(key)\n"
            "    noisy = v + jax.random.normal(first, v.shape)\n"
            "    def loss(net):\n"
            "        eps = jax.random.normal(second, v.shape)\n"
            "        return jnp.mean((net(noisy) - eps) ** 2)  # NNX987\n"
            "    return nnx.value_and_grad(loss)(net)[0]\n"
            "print(step(model, jnp.ones((2, 3)), key))\n",
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
            # the noise that a method adds comes of the same key
            """\
class Process:
    def add_noise(self, key, v, t):
        return jnp.sqrt(t) * v + jnp.sqrt(1 - t) * jax.random.normal(key, v.shape)
def loss(net, process, key, v):
    noise_key, other_key = jax.random.split(key)
    noisy = process.add_noise(noise_key, v, 0.5)
    eps = jax.random.normal(noise_key, v.shape)  # nnx: ignore[NNX830]
    return jnp.mean((net(noisy) - eps) ** 2)
print(loss(lambda v: v, Process(), key, x))
""",
            """\
class Process:
    def add_noise(self, v, t, noise):
        return jnp.sqrt(t) * v + jnp.sqrt(1 - t) * noise
def loss(net, process, key, v):
    eps = jax.random.normal(key, v.shape)
    return jnp.mean((net(process.add_noise(v, 0.5, eps)) - eps) ** 2)
print(loss(lambda v: v, Process(), key, x))
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
            "def noisy(v, t, key):\n"
            "    return jnp.sqrt(t) * v + jnp.sqrt(1 - t) * jax.random.normal(key, v.shape)\n"
            "def loss(net, key, v):\n"
            "    time_key, noise_key = jax.random.split(key)\n"
            "    t = jax.random.uniform(time_key, (len(v), 1))\n"
            "    made = net(noisy(v, t, noise_key))\n"
            "    return jnp.mean((made - v) ** 2)\n"
            "print(loss(model, key, jnp.ones((2, 3))))\n",
            "def loss(net, rngs, v):\n"
            "    noise = jax.random.normal(rngs.noise(), v.shape)\n"
            "    mask = jax.random.bernoulli(rngs.noise(), 0.5, v.shape)\n"
            "    return jnp.mean((net(v * mask + noise) - noise) ** 2)\n"
            "print(loss(model, nnx.Rngs(noise=0), jnp.ones((2, 3))))\n",
            "def loss(net, key, v, sigma=0.1):\n"
            "    key, sub = jax.random.split(key)\n"
            "    noise = jax.random.normal(sub, v.shape)\n"
            "    key, sub = jax.random.split(key)\n"
            "    jitter = jax.random.normal(sub, v.shape) / sigma\n"
            "    return optax.l2_loss(net(v + sigma * noise), jitter + noise - jitter).mean()\n"
            "print(loss(model, key, jnp.ones((2, 3))))\n",
            "def step(net, v, key):\n"
            "    first, second = jax.random.split(key)\n"
            "    eps = jax.random.normal(first, v.shape)\n"
            "    def loss(net):\n"
            "        jitter = 0.1 * jax.random.normal(second, v.shape)\n"
            "        return jnp.mean((net(v + eps + jitter) - eps) ** 2)\n"
            "    return nnx.value_and_grad(loss)(net)[0]\n"
            "print(step(model, jnp.ones((2, 3)), key))\n",
        ),
    ),
    "NNX989": Cases(
        bad=(
            """\
class Adapter(nnx.Module):
    def __init__(self, base, rank, rngs):
        width, out = base.kernel.shape
        self.base = base
        self.down = nnx.LoRAParam(jnp.zeros((width, rank)))  # NNX989
        self.up = nnx.LoRAParam(jnp.zeros((rank, out)))
    def __call__(self, v):
        return self.base(v) + 0.5 * (v @ self.down[...]) @ self.up[...]
print(nnx.grad(lambda m: m(x).sum())(Adapter(model, 2, nnx.Rngs(1))))
""",
            """\
class Low(nnx.Module):
    def __init__(self, din, dout, r, *, rngs):
        self.frozen = nnx.Linear(din, dout, rngs=rngs)
        self.a = nnx.Param(nnx.initializers.zeros(rngs.params(), (din, r), jnp.float32))  # NNX989
        self.b = nnx.Param(jnp.zeros(shape=(r, dout)))
    def __call__(self, v):
        h = jnp.dot(v, self.a.value)
        return self.frozen(v) + jnp.dot(h, self.b.value)
""",
            """\
class Bottleneck(nnx.Module):
    def __init__(self, width, rank, rngs):
        start = nnx.initializers.zeros_init()
        self.down = nnx.Linear(width, rank, use_bias=False, kernel_init=start, rngs=rngs)  # NNX989
        self.up = nnx.Linear(rank, width, use_bias=False, kernel_init=start, rngs=rngs)
    def __call__(self, v):
        return v + self.up(self.down(v))
""",
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
            "class Net(nnx.Module):\n"
            "    def __init__(self, din, hidden, rngs):\n"
            "        zeros = nnx.initializers.zeros_init()\n"
            "        self.fc1 = nnx.Linear(din, hidden, kernel_init=zeros, rngs=rngs)  # NNX989\n"
            "        self.fc2 = nnx.Linear(hidden, 1, kernel_init=zeros, rngs=rngs)\n"
            "    def __call__(self, v):\n"
            "        return self.fc2(nnx.relu(self.fc1(v)))\n"
            "print(nnx.grad(lambda net: net(x).sum())(Net(3, 4, nnx.Rngs(0))))\n",
            "class Net(nnx.Module):\n"
            "    def __init__(self):\n"
            "        self.w1 = nnx.Param(jnp.zeros((3, 8)))  # NNX989\n"
            "        self.b1 = nnx.Param(jnp.zeros(8))\n"
            "        self.w2 = nnx.Param(jnp.zeros((8, 1)))\n"
            "    def __call__(self, v):\n"
            "        return jnp.tanh(v @ self.w1 + self.b1) @ self.w2\n"
            "print(nnx.grad(lambda net: net(x).sum())(Net()))\n",
            "zeros = jax.nn.initializers.zeros\n"
            "class MLP(nnx.Module):\n"
            "    def __init__(self, sizes, rngs):\n"
            "        pairs = zip(sizes[:-1], sizes[1:])\n"
            "        self.layers = [nnx.Linear(a, b, kernel_init=zeros, rngs=rngs) for a, b in pairs]  # NNX989\n"
            "def slopes(net, v):\n"
            "    return nnx.grad(lambda net: net.layers[1](jnp.tanh(net.layers[0](v))).sum())(net)\n",
            "def init_params(d, h):\n"
            "    params = {}\n"
            '    params["w1"] = jnp.zeros((d, h))  # NNX989\n'
            '    params["b1"] = jnp.zeros(h)\n'
            '    params["w2"] = jnp.zeros((h, 1))\n'
            "    return params\n"
            "def loss(p, v):\n"
            '    return jnp.mean((jnp.tanh(v @ p["w1"] + p["b1"]) @ p["w2"]) ** 2)\n'
            "print(jax.grad(loss)(init_params(3, 4), jnp.ones((2, 3))))\n",
        ),
        clean=(
            """\
class Adapter(nnx.Module):
    def __init__(self, base, rank, rngs):
        width, out = base.kernel.shape
        self.base = base
        self.down = nnx.LoRAParam(nnx.initializers.he_uniform()(rngs.params(), (width, rank)))
        self.up = nnx.LoRAParam(jnp.zeros((rank, out)))
    def __call__(self, v):
        return self.base(v) + 0.5 * (v @ self.down[...]) @ self.up[...]
print(nnx.grad(lambda m: m(x).sum())(Adapter(model, 2, nnx.Rngs(1))))
""",
            """\
class Adapter(nnx.Module):
    def __init__(self, base, rank, rngs):
        width, out = base.kernel.shape
        self.base = base
        self.down = nnx.LoRAParam(jnp.zeros((width, rank)))
        self.up = nnx.LoRAParam(jnp.zeros((rank, out)))
        self.fill(rngs)
    def fill(self, rngs):
        self.down[...] = jax.random.normal(rngs.params(), self.down.shape)
    def __call__(self, v):
        return self.base(v) + 0.5 * (v @ self.down[...]) @ self.up[...]
print(nnx.grad(lambda m: m(x).sum())(Adapter(model, 2, nnx.Rngs(1))))
""",
            """\
class Two(nnx.Module):
    def __init__(self, width, rank):
        self.one = nnx.Param(jnp.zeros((width, rank)))
        self.two = nnx.Param(jnp.zeros((rank, width)))
    def __call__(self, v, w):
        return (v @ self.one[...]).sum() + (w @ self.two[...]).sum()
print(nnx.grad(lambda m: m(x, jnp.ones(2)))(Two(3, 2)))
""",
            """\
class Bottleneck(nnx.Module):
    def __init__(self, width, rank, rngs):
        start = nnx.initializers.zeros_init()
        self.down = nnx.Linear(width, rank, use_bias=False, rngs=rngs)
        self.up = nnx.Linear(rank, width, use_bias=False, kernel_init=start, rngs=rngs)
    def __call__(self, v):
        return v + self.up(self.down(v))
print(Bottleneck(3, 2, nnx.Rngs(0))(x))
""",
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
            "class Shift(nnx.Module):\n"
            "    def __init__(self, width, rngs):\n"
            "        zeros = nnx.initializers.zeros_init()\n"
            "        self.scale = nnx.Linear(width, width, kernel_init=zeros, rngs=rngs)\n"
            "        self.shift = nnx.Linear(width, width, kernel_init=zeros, rngs=rngs)\n"
            "    def __call__(self, v):\n"
            "        return v * (1 + self.scale(v)) + self.shift(v)\n"
            "print(nnx.grad(lambda net: net(x).sum())(Shift(3, nnx.Rngs(0))))\n",
            "class Net(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.w1 = nnx.Param(jax.random.normal(rngs.params(), (3, 8)))\n"
            "        self.b1 = nnx.Param(jnp.zeros(8))\n"
            "        self.w2 = nnx.Param(jnp.zeros((8, 1)))\n"
            "    def __call__(self, v):\n"
            "        return jnp.tanh(v @ self.w1 + self.b1) @ self.w2\n"
            "print(nnx.grad(lambda net: net(x).sum())(Net(nnx.Rngs(0))))\n",
            "def init_params(d, h, key):\n"
            "    params = {}\n"
            '    params["w1"] = jax.random.normal(key, (d, h))\n'
            '    params["b1"] = jnp.zeros(h)\n'
            '    params["w2"] = jnp.zeros((h, 1))\n'
            "    return params\n"
            "def loss(p, v):\n"
            '    return jnp.mean((jnp.tanh(v @ p["w1"] + p["b1"]) @ p["w2"]) ** 2)\n'
            "print(jax.grad(loss)(init_params(3, 4, key), jnp.ones((2, 3))))\n",
            "zeros = jax.nn.initializers.zeros\n"
            "class Heads(nnx.Module):\n"
            "    def __init__(self, sizes, rngs):\n"
            "        heads = [nnx.Linear(3, b, kernel_init=zeros, rngs=rngs) for a, b in zip(sizes[:-1], sizes[1:])]\n"
            "        self.first, self.second = heads\n"
            "def slopes(net, v):\n"
            "    return nnx.grad(lambda net: (net.first(v) + net.second(v)).sum())(net)\n"
            "print(slopes(Heads([3, 3, 3], nnx.Rngs(0)), x))\n",
        ),
    ),
    "NNX990": Cases(
        bad=(
            _SCANNED_BAD,
            _SCANNED_BAD.replace('params["e"][tok]', "tok").replace("tokens.T)", 'params["e"][tokens.T])'),
            """\
def loss(params, tokens):
    def step(h, e):
        h = jnp.tanh(h @ params["w"] + e)
        return h, h @ params["o"]
    embedded = jnp.swapaxes(params["e"][tokens], 0, 1)
    _, logits = jax.lax.scan(step, jnp.zeros((2, 4)), embedded)
    logits = logits.swapaxes(0, 1)
    return optax.softmax_cross_entropy_with_integer_labels(logits, tokens).mean()  # NNX990
""",
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
            "def forward(params, ids):\n"
            '    h = params["emb"][ids]\n'
            "    t = ids.shape[1]\n"
            '    att = jnp.where(jnp.tril(jnp.ones((t, t), bool)), jnp.einsum("bqd,bkd->bqk", h, h), -1e9)\n'
            '    return (jax.nn.softmax(att) @ h) @ params["emb"].T\n'
            "def loss(params, ids):\n"
            "    logits = forward(params, ids)\n"
            "    logp = jax.nn.log_softmax(logits[:, :-1])\n"
            "    return -jnp.take_along_axis(logp, ids[:, :-1, None], axis=-1).mean()  # NNX990\n"
            'print(jax.grad(loss)({"emb": jnp.ones((10, 4))}, jnp.ones((2, 5), int)))\n',
            _LINEN_LM.replace("(logits[:, :-1], ids[:, 1:]).mean()", "(logits, ids).mean()  # NNX990"),
            # both without the last ones, of a model that the loss is given
            _NEXT_TOKENS.replace("tokens[:, 1:]", "tokens[:, :-1]").replace(".mean()\n", ".mean()  # NNX990\n"),
            _NEXT_TOKENS.replace("model(inputs)", "model(tokens)[:, :-1]")
            .replace("(logits, targets).mean()", "(logits[:, :-1], tokens[:, :-1]).mean()  # NNX990")
            .replace("(tokens)[:, :-1]", "(tokens)"),
            _LINEN_LM.replace("net.apply(params, ids)\n", "state.apply_fn(params, ids)\n")
            .replace("def loss(params, ids):", "def loss(params, state, ids):")
            .replace("(logits[:, :-1], ids[:, 1:]).mean()", "(logits, ids).mean()  # NNX990")
            .replace("loss(params, jnp", "loss(params, state, jnp")
            .replace("print(", _STATE_OF_LM + "print("),
        ),
        clean=(
            _NEXT_TOKENS,
            _SCANNED,
            # what is said of a token is made before it is seen
            _SAID_BEFORE,
            _SCANNED.replace("tokens[:, :-1]", "shifted(tokens)")
            .replace("tokens[:, 1:]", "tokens")
            .replace("def loss", "def shifted(v):\n    return jnp.pad(v, ((0, 0), (1, 0)))[:, :-1]\ndef loss"),
            _NEXT_TOKENS.replace("self.embed(tokens)", "self.embed(jnp.pad(tokens, ((0, 0), (1, 0)))[:, :-1])").replace(
                "tokens[:, 1:]", "tokens[:, :-1]"
            ),
            _LINEN_LM,
            _LINEN_LM.replace("make_causal_mask(ids)", "make_attention_mask(ids > 0, ids > 0)").replace(
                "(logits[:, :-1], ids[:, 1:]).mean()", "(logits, ids).mean()"
            ),
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
            "def forward(params, ids):\n"
            '    h = params["emb"][ids]\n'
            "    t = ids.shape[1]\n"
            '    att = jnp.where(jnp.tril(jnp.ones((t, t), bool)), jnp.einsum("bqd,bkd->bqk", h, h), -1e9)\n'
            '    return (jax.nn.softmax(att) @ h) @ params["emb"].T\n'
            "def loss(params, ids):\n"
            "    logits = forward(params, ids)\n"
            "    logp = jax.nn.log_softmax(logits[:, :-1])\n"
            "    return -jnp.take_along_axis(logp, ids[:, 1:, None], axis=-1).mean()\n"
            'print(jax.grad(loss)({"emb": jnp.ones((10, 4))}, jnp.ones((2, 5), int)))\n',
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
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return self.out(self.drop(v, rngs=rngs))
def spread(net, v, seed, n=20):
    kept = []
    for _ in range(n):
        streams = nnx.Rngs(dropout=seed)  # NNX991
        kept.append(net(v, rngs=streams))
    return jnp.stack(kept).std(0)
""",
            """\
from flax import linen as nn
def spread(net, params, v, args):
    kept = []
    for _ in range(args.samples):
        key = jax.random.key(args.seed)  # NNX991
        logits = net.apply(params, v, rngs={"dropout": key})
        kept.append(logits)
    return jnp.stack(kept).std(0)
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
            "def spread(net, v, rounds):\n"
            "    graphdef, state = nnx.split(net)\n"
            "    @jax.jit\n"
            "    def act(state, v):\n"
            "        return nnx.merge(graphdef, state)(v)\n"
            "    total = 0.0\n"
            "    for _ in range(rounds):\n"
            "        total += act(state, v).sum()  # NNX991\n"
            "    return total / rounds\n"
            "print(spread(nnx.Dropout(0.5, rngs=nnx.Rngs(0)), jnp.ones(4), 5))\n",
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
def noisy(v, rngs):
    return v + jax.random.normal(rngs.dropout(), v.shape)
def spread(net, v, seed, n=4):
    kept = []
    for i in range(n):
        streams = nnx.Rngs(dropout=seed + i)
        kept.append(net(v, rngs=streams))
    return jnp.stack(kept).std(0)
def grown(net, v, seed, n=4):
    kept = []
    for _ in range(n):
        streams = nnx.Rngs(dropout=seed)
        kept.append(net(v, rngs=streams))
        seed += 1
    return jnp.stack(kept).std(0)
def trained(net, optimizer, v, seed, n=4):
    kept = []
    for _ in range(n):
        streams = nnx.Rngs(dropout=seed)
        kept.append(net(v, rngs=streams))
        optimizer(net, v)
    return jnp.stack(kept).std(0)
def over(net, batches, seed):
    kept = []
    for v in batches:
        streams = nnx.Rngs(dropout=seed)
        kept.append(net(v, rngs=streams))
    return jnp.stack(kept)
print(spread(noisy, x, 1), grown(noisy, x, 1), trained(noisy, lambda net, v: None, x, 1), over(noisy, [x, x], 1).shape)
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
            "def spread(net, v, rounds):\n"
            "    graphdef, state = nnx.split(net)\n"
            "    @jax.jit\n"
            "    def act(state, v):\n"
            "        net = nnx.merge(graphdef, state)\n"
            "        return net(v), nnx.state(net)\n"
            "    total = 0.0\n"
            "    for _ in range(rounds):\n"
            "        made, state = act(state, v)\n"
            "        total += made.sum()\n"
            "    return total / rounds\n"
            "print(spread(nnx.Dropout(0.5, rngs=nnx.Rngs(0)), jnp.ones(4), 5))\n",
        ),
    ),
    "NNX992": Cases(
        bad=(
            """\
graphdef, params = nnx.split(model)
def step(params, v):
    return jax.tree.map(lambda p: p - 0.1 * v.mean(), params)
def eval_step(v):
    return jnp.mean(model(v) ** 2)  # NNX992
for v in batches:
    params = step(params, v)
    print(float(eval_step(v)))
""",
            """\
def moved(params):
    return jax.tree.map(lambda p: p - 0.1, params)
def run(v):
    net = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    params = nnx.state(net)
    for _ in range(3):
        params = moved(params)
    return jnp.mean(net(v) ** 2)  # NNX992
""",
            """\
class Learner:
    def __init__(self, net):
        self.net = net
        self.graphdef, self.params = nnx.split(self.net)
    def step(self, grads):
        self.params = moved(self.params, grads)
    def predict(self, v):
        return self.net(v)  # NNX992
def moved(params, grads):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
learner = Learner(model)
""",
            """\
def train(params, batches, step, eval_step):
    weights = params
    for batch in batches:
        weights, loss = step(weights, batch)
        print(loss, eval_step(params, batch))  # NNX992
    return weights
""",
            """\
def train(state, batches, step, evaluate, rounds):
    train_state = state
    for epoch in range(rounds):
        for batch in batches:
            train_state = step(train_state, batch)
        print(epoch, evaluate(state, batches))  # NNX992
    return train_state
""",
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
            "def fit(net, step, loader, v):\n"
            "    graphdef, params = nnx.split(net)\n"
            "    for one in loader:\n"
            "        params = step(params, one)\n"
            "        print(jnp.mean(net(v) ** 2))  # NNX992\n"
            "    return params\n",
            "def run(net, state, step, loader, x_test):\n"
            "    params = state.params\n"
            "    for one in loader:\n"
            "        state = step(state, one)\n"
            '        logits = net.apply({"params": params}, x_test)  # NNX992\n'
            "        print(logits.argmax(-1))\n"
            "    return state\n",
        ),
        clean=(
            """\
graphdef, params = nnx.split(model)
def step(params, v):
    return jax.tree.map(lambda p: p - 0.1 * v.mean(), params)
def eval_step(v):
    return jnp.mean(model(v) ** 2)
for v in batches:
    params = step(params, v)
    nnx.update(model, params)
    print(float(eval_step(v)))
""",
            """\
def moved(params):
    return jax.tree.map(lambda p: p - 0.1, params)
def run(v):
    net = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    params = nnx.state(net)
    for _ in range(3):
        params = moved(params)
    nnx.update(net, params)
    return jnp.mean(net(v) ** 2)
print(run(x))
""",
            """\
class Learner:
    def __init__(self, net):
        self.net = net
        self.graphdef, self.params = nnx.split(net)
    def step(self, grads):
        self.params = moved(self.params, grads)
    def predict(self, v):
        return nnx.merge(self.graphdef, self.params)(v)
def moved(params, grads):
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
learner = Learner(model)
learner.step(learner.params)
print(learner.predict(x))
""",
            """\
def train(params, batches, step, eval_step):
    weights = params
    for batch in batches:
        weights, loss = step(weights, batch)
        print(loss, eval_step(weights, batch))
    return weights
train(x, batches, lambda w, b: (w * 0.9, w.sum()), lambda w, b: w.sum())
""",
            """\
def train(params, batches, step, eval_step):
    weights = params
    for batch in batches:
        weights, loss = step(weights, batch)
        print(loss, eval_step(weights, batch) - eval_step(params, batch))
    return weights
train(x, batches, lambda w, b: (w * 0.9, w.sum()), lambda w, b: w.sum())
""",
            """\
def train(init_params, batches, step, evaluate):
    weights = init_params
    for batch in batches:
        weights = step(weights, batch)
        print(evaluate(init_params, batch))
    return weights
train(x, batches, lambda w, b: w * 0.9, lambda w, b: w.sum())
""",
            """\
def train(params, batches, step, evaluate):
    for batch in batches:
        weights = params
        weights = step(weights, batch)
        print(evaluate(params, batch))
    return weights
train(x, batches, lambda w, b: w * 0.9, lambda w, b: w.sum())
""",
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
            "def fit(net, step, evaluate, loader):\n"
            "    graphdef, params = nnx.split(net)\n"
            "    for one in loader:\n"
            "        params = step(params, one)\n"
            "        nnx.update(net, params)\n"
            "        print(evaluate(net, one))\n"
            "    return params\n"
            "fit(model, lambda p, one: jax.tree.map(lambda v: 0.9 * v, p), lambda net, v: v.sum(), batches)\n",
            "def distill(teacher, step, evaluate, loader):\n"
            "    graphdef, params = nnx.split(teacher)\n"
            "    for one in loader:\n"
            "        params = step(params, one)\n"
            "        print(evaluate(teacher, one))\n"
            "    return params\n"
            "smaller = lambda p, one: jax.tree.map(lambda v: 0.9 * v, p)\n"
            "print(distill(model, smaller, lambda net, v: v.sum(), batches))\n",
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
def noisy(rows, rngs):
    t = rngs.uniform((rows.shape[0],))
    noise = rngs.normal(rows.shape)
    return (1 - t) * noise + t * rows  # NNX933
def run():
    return noisy(jnp.ones((4, 4)), nnx.Rngs(0))
""",
            """\
def noisy(key, rows):
    key_t, key_e = jax.random.split(key)
    b, h, w, c = rows.shape
    t = jax.random.uniform(key_t, (b,))
    noise = jax.random.normal(key_e, rows.shape)
    return (1.0 - t) * rows + t * noise  # NNX933
print(noisy(key, jnp.tile(jnp.ones(4)[None, :, None, None], (4, 1, 4, 1))))
""",
            """\
class Schedule:
    def __init__(self, steps):
        self.alpha_bar = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, steps))
    def q_sample(self, images, t, noise):
        kept = self.alpha_bar[t]
        return jnp.sqrt(kept) * images + jnp.sqrt(1.0 - kept) * noise  # NNX933
def loss(schedule, images, key):
    first, second = jax.random.split(key)
    t = jax.random.randint(first, (images.shape[0],), 0, 10)
    return schedule.q_sample(images, t, jax.random.normal(second, images.shape)).mean()
print(loss(Schedule(10), jnp.ones((4, 2, 2, 1)), key))
""",
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
def noisy(rows, rng):
    t = rng.uniform(size=(rows.shape[0], 1))
    noise = rng.normal(size=rows.shape)
    return (1 - t) * noise + t * rows
print(noisy(np.ones((4, 4)), np.random.default_rng(0)).shape)
""",
            """\
def noisy(key, rows):
    key_t, key_e = jax.random.split(key)
    b, h, w, c = rows.shape
    t = jax.random.uniform(key_t, (b,)).reshape(b, 1, 1, 1)
    noise = jax.random.normal(key_e, rows.shape)
    return (1.0 - t) * rows + t * noise
print(noisy(key, jnp.tile(jnp.ones(4)[None, :, None, None], (4, 1, 4, 1))).shape)
""",
            """\
class Schedule:
    def __init__(self, steps):
        self.alpha_bar = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, steps))
    def q_sample(self, images, t, noise):
        kept = self.alpha_bar[t][:, None, None, None]
        return jnp.sqrt(kept) * images + jnp.sqrt(1.0 - kept) * noise
def loss(schedule, images, key):
    first, second = jax.random.split(key)
    t = jax.random.randint(first, (images.shape[0],), 0, 10)
    return schedule.q_sample(images, t, jax.random.normal(second, images.shape)).mean()
print(loss(Schedule(10), jnp.ones((4, 2, 2, 1)), key))
""",
            """\
class Schedule:
    def __init__(self, steps):
        self.alpha_bar = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, steps))
    def q_sample(self, images, t, noise):
        kept = self.alpha_bar[t]
        return jnp.sqrt(kept) * images + jnp.sqrt(1.0 - kept) * noise
def loss(schedule, images, key):
    first, second = jax.random.split(key)
    t = jax.random.randint(first, (images.shape[0], 1, 1, 1), 0, 10)
    return schedule.q_sample(images, t, jax.random.normal(second, images.shape)).mean()
print(loss(Schedule(10), jnp.ones((4, 2, 2, 1)), key))
""",
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
            "class Reader(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.embed = nnx.Embed(10, 3, rngs=rngs)\n"
            "        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), return_carry=True)\n"
            "    def read(self, ids):\n"
            "        carry, steps = self.rnn(self.embed(ids))\n"
            "        return steps[-1, :, :]  # NNX934\n"
            "print(Reader(nnx.Rngs(0)).read(jnp.ones((4, 5), int)).shape)\n",
            "class Reader(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs))\n"
            "    def __call__(self, rows):\n"
            "        rows = jnp.swapaxes(rows, 0, 1)\n"
            "        return self.rnn(rows)[-1]  # NNX934\n"
            "print(Reader(nnx.Rngs(0))(jnp.ones((4, 5, 3))).shape)\n",
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
            "class Reader(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.embed = nnx.Embed(10, 3, rngs=rngs)\n"
            "        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), return_carry=True)\n"
            "    def read(self, ids):\n"
            "        carry, steps = self.rnn(self.embed(ids))\n"
            "        return steps[-1, :]\n"
            "print(Reader(nnx.Rngs(0)).read(jnp.ones(5, int)).shape)\n",
            "class Reader(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.rnn = nnx.RNN(nnx.GRUCell(3, 4, rngs=rngs), time_major=True)\n"
            "    def __call__(self, rows):\n"
            "        rows = jnp.swapaxes(rows, 0, 1)\n"
            "        return self.rnn(rows)[-1]\n"
            "print(Reader(nnx.Rngs(0))(jnp.ones((4, 5, 3))).shape)\n",
        ),
    ),
    "NNX935": Cases(
        bad=(
            """\
def rbf(one, two, log_length, log_amp):
    squares = (one[:, None] - two[None, :]) ** 2
    return jnp.exp(2 * log_amp - 0.5 * squares / jnp.exp(2 * log_length))
def sample(key, points):
    factor = jnp.linalg.cholesky(rbf(points, points, -0.3, 0.0))  # NNX935
    return factor @ jax.random.normal(key, points.shape)
""",
            """\
def rbf(one, two, p):
    scale = jnp.exp(p["scale"])
    return jnp.exp(p["amp"]) * jnp.exp(-0.5 * jnp.sum(((one - two) / scale) ** 2, -1))
def prior(points, p):
    return jnp.linalg.cholesky(rbf(points, points, p))  # NNX935
""",
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
            "xs = jnp.linspace(-1, 1, 80)\n"
            "diff = xs[:, None] - xs[None, :]\n"
            "gram = 1.5**2 * jnp.exp(-0.5 * (diff / 0.3) ** 2)\n"
            "print(jnp.linalg.cholesky(gram))  # NNX935\n",
        ),
        clean=(
            """\
def rbf(one, two, p):
    same = one[:, None] == two[None, :]
    return jnp.exp(p["amp"] - (one[:, None] - two[None, :]) ** 2) + jnp.exp(p["floor"]) * same
points = jnp.arange(3.0)
print(jnp.linalg.cholesky(rbf(points, points, {"amp": 0.0, "floor": -3.0})).shape)
""",
            """\
def rough(one, two, p):
    gaps = jnp.maximum(one[:, None] - two[None, :], two[None, :] - one[:, None])
    return jnp.exp(p["amp"]) * jnp.exp(-gaps / jnp.exp(p["scale"]))
points = jnp.arange(3.0)
print(jnp.linalg.cholesky(rough(points, points, {"amp": 0.0, "scale": 0.0})).shape)
""",
            """\
def rbf(one, two, p):
    squares = (one[:, None] - two[None, :]) ** 2
    return jnp.exp(p["amp"] - squares) + jnp.exp(p["noise"]) * jnp.equal(squares, 0)
points = jnp.arange(3.0)
print(jnp.linalg.cholesky(rbf(points, points, {"amp": 0.0, "noise": -3.0})).shape)
""",
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
            "xs = jnp.linspace(-1, 1, 8)\n"
            "diff = xs[:, None] - xs[None, :]\n"
            "gram = 1.5**2 * jnp.exp(-0.5 * (diff / 0.3) ** 2)\n"
            "matern = jnp.exp(-jnp.abs(diff) / 0.3)\n"
            "print(jnp.linalg.cholesky(gram + 1e-4 * jnp.eye(8)), jnp.linalg.cholesky(matern))\n",
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
            "def bound(log_p, log_q, k):\n"
            "    log_weights = log_p - log_q\n"
            "    weights = jnp.exp(log_weights)\n"
            "    return jnp.log(jnp.sum(weights, axis=0) / k).mean()  # NNX936\n"
            "print(bound(jnp.zeros(3), jnp.ones(3), 3))\n",
            "def mixture(v, weights, means):\n"
            "    parts = jax.scipy.stats.norm.logpdf(v[:, None], means)\n"
            "    return jnp.log((weights * jnp.exp(parts)).sum(axis=-1))  # NNX936\n"
            "print(mixture(x, jnp.full(2, 0.5), jnp.zeros(2)))\n",
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
            "def bound(log_p, log_q, k):\n"
            "    log_weights = log_p - log_q\n"
            "    top = log_weights.max()\n"
            "    weights = jnp.exp(log_weights - top)\n"
            "    return top + jnp.log(jnp.sum(weights, axis=0) / k).mean()\n"
            "print(bound(jnp.zeros(3), jnp.ones(3), 3))\n",
            "def mixture(v, weights, means):\n"
            "    parts = jax.scipy.stats.norm.logpdf(v[:, None], means)\n"
            "    return jax.nn.logsumexp(parts, b=weights, axis=-1)\n"
            "def softplus_sum(v, weights):\n"
            "    return jnp.log((weights * jnp.exp(v)).sum(axis=-1))\n"
            "print(mixture(x, jnp.full(2, 0.5), jnp.zeros(2)), softplus_sum(x, x))\n",
        ),
    ),
}

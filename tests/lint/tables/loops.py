"""Loops and maps of JAX: bodies, carries and axes that fit."""

from __future__ import annotations

from tests.lint.tables import Cases

_RECORD = """\
from typing import NamedTuple
class Fit(NamedTuple):
    w: jax.Array
    m: jax.Array
def start(size):
    w = jnp.full((size,), 0.1, dtype=jnp.bfloat16)
    return Fit(w, jnp.zeros_like(w))
"""

_CARD = """\
from typing import NamedTuple
class Card(NamedTuple):
    place: jax.Array
    n: jax.Array
card = Card(jnp.zeros(2), jnp.array(3, jnp.int32))
"""

_MEMORY = """\
class Memory(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 4, rngs=rngs)
        self.rngs = rngs
    def __call__(self, v):
"""

CASES = {
    "NNX584": Cases(
        bad=(
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
def losses(net, vs):
    def body(total, v):
        loss, grads = nnx.value_and_grad(loss_fn)(net, v)  # NNX584
        return total + loss, grads
    return jax.lax.scan(body, 0.0, vs)
print(losses(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.ones((4, 2, 3))))
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
grad_fn = nnx.grad(loss_fn)
net = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
per_example = jax.vmap(lambda v: grad_fn(net, v))(jnp.ones((4, 3)))  # NNX584
""",
            """\
class Learner:
    def __init__(self):
        self.net = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    def total(self, vs):
        def body(i, total):
            loss, _ = nnx.value_and_grad(lambda net, v: net(v).sum())(self.net, vs[i])  # NNX584
            return total + loss
        return jax.lax.fori_loop(0, 4, body, 0.0)
print(Learner().total(jnp.ones((4, 3))))
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    loss, grads = nnx.value_and_grad(lambda net: net(v).sum())(net)
    opt.update(net, grads)
    return loss
def epoch(net, vs):
    opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    return jax.lax.map(lambda v: train_step(net, opt, v), vs)  # NNX584
print(epoch(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.ones((4, 3))))
""",
        ),
        clean=(
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
def losses(net, vs):
    graphdef, state = nnx.split(net)
    def body(total, v):
        own = nnx.merge(graphdef, state, copy=True)
        loss, grads = nnx.value_and_grad(loss_fn)(own, v)
        return total + loss, grads
    return jax.lax.scan(body, 0.0, vs)
print(losses(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.ones((4, 2, 3)))[0])
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
def losses(net, vs):
    @nnx.scan(in_axes=(nnx.Carry, None, 0), out_axes=(nnx.Carry, 0))
    def body(total, net, v):
        loss, _ = nnx.value_and_grad(loss_fn)(net, v)
        return total + loss, loss
    return body(0.0, net, vs)
print(losses(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.ones((4, 2, 3)))[0])
""",
            """\
def outputs(net, vs):
    return jax.lax.map(lambda v: net(v), vs)
def gradients(net, vs):
    return jax.vmap(lambda v: jax.grad(lambda u: net(u).sum())(v))(vs)
net = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
print(outputs(net, jnp.ones((4, 3))).shape, gradients(net, jnp.ones((4, 3))).shape)
""",
            """\
def loss_fn(params, v):
    return jnp.mean((v @ params) ** 2)
def losses(params, vs):
    def body(total, v):
        loss, grads = nnx.value_and_grad(loss_fn)(params, v)
        return total + loss, grads
    return jax.lax.scan(body, 0.0, vs)
print(losses(jnp.ones((3, 2)), jnp.ones((4, 2, 3)))[0])
""",
            """\
def loss_fn(net, v):
    return jnp.mean(net(v) ** 2)
def total(net, vs):
    def one(v):
        return nnx.value_and_grad(loss_fn)(net, v)[0]
    return sum(one(v) for v in vs)
print(total(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jnp.ones((4, 2, 3))))
""",
        ),
    ),
    "NNX798": Cases(
        bad=(
            """\
def rollout(step, state, obs):
    def body(carry, _):
        state, last_obs = carry
        obs, state = step(state, last_obs)
        return (state, last_obs), state  # NNX798
    return jax.lax.scan(body, (state, obs), None, 3)
""",
            """\
def descend(cost, start, tx):
    def body(carry, _):
        point, moments = carry
        updates, moments = tx.update(jax.grad(cost)(point), moments)
        moved = optax.apply_updates(point, updates)
        assert moved.shape == point.shape
        return (point, moments), None  # NNX798
    return jax.lax.scan(body, (start, tx.init(start)), None, 3)
""",
            """\
from flax import linen as nn
attend = nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8, decode=True)
def whole(variables, v, n):
    for t in range(n):
        v, mutated = attend.apply(variables, v, mutable=["cache"])  # NNX798
    return v
def put_together(params, cache, v, n):
    for t in range(n):
        variables = {"params": params, "cache": cache}
        v, _ = attend.apply(variables, v, mutable=["cache"])  # NNX798
    return v
class Generator:
    def __init__(self, params, cache):
        self.params, self.cache = params, cache
    def run(self, v, n):
        for t in range(n):
            v, _ = attend.apply({"params": self.params, "cache": self.cache}, v, mutable="cache")  # NNX798
        return v
""",
            """\
from flax import linen as nn
attend = nn.MultiHeadDotProductAttention(num_heads=2, qkv_features=8, decode=True)
def generate(params, cache, v, n):
    for _ in range(n):
        v, _ = attend.apply({"params": params, "cache": cache}, v, mutable=["cache"])  # NNX798
    return v
""",
            """\
def attend(params, cache, pos, token):
    new_cache = cache.at[pos].set(token @ params)
    return jnp.tanh(new_cache.sum(0)), new_cache
def generate(params, cache, token, n):
    for pos in range(n):
        token, new_cache = attend(params, cache, pos, token)  # NNX798
    return token
""",
            """\
def generate(net, token, n):
    graphdef, cache, rest = nnx.split(net, nnx.Cache, ...)
    @jax.jit
    def step(cache, token):
        merged = nnx.merge(graphdef, cache, rest)
        return merged(token), nnx.state(merged, nnx.Cache)
    while n > 0:
        token, _ = step(cache, token)  # NNX798
        n -= 1
    return token
""",
            """\
def run(cell, xs):
    carry = cell.initialize_carry((2, 3), rngs=nnx.Rngs(0))
    outputs = []
    for t in range(xs.shape[1]):
        new_carry, y = cell(carry, xs[:, t])  # NNX798
        outputs.append(y)
    return jnp.stack(outputs, 1)
""",
            "def cell(h, v):\n    new_h = jnp.tanh(h + v)\n    return h, new_h  # NNX798\n"
            "last, every = jax.lax.scan(cell, 0.0, x)\n",
            "def cell(w, carry, v):\n    h, c = carry\n    c_next = c + w * v\n    h_next = jnp.tanh(c_next)\n"
            "    return (h_next, c), (h_next, c_next)  # NNX798\n"
            "jax.lax.scan(partial(cell, 2.0), (0.0, 0.0), x)\n",
            "class Net:\n    def step(self, state, v):\n        place, speed = state\n"
            "        new_state = (place + speed, speed + v)\n        return state, new_state  # NNX798\n"
            "    def run(self, xs):\n        return jax.lax.scan(self.step, (0.0, 0.0), xs)\nNet().run(x)\n",
            "def body(c):\n    i, v = c\n    v_new = 0.5 * (v + 2.0 / v)\n    return i + 1, v  # NNX798\n"
            "jax.lax.while_loop(lambda c: c[0] < 5, body, (0, 1.0))\n",
            "def body(i, v):\n    halved = v * 0.5\n    return v  # NNX798\njax.lax.fori_loop(0, 3, body, 1.0)\n",
            "@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))\ndef cell(h, v):\n    h_new = h * 0.5 + v\n"
            "    return h, h_new  # NNX798\ncell(jnp.zeros(()), x)\n",
            # the carry of a cell that every step begins with
            _MEMORY + "        out = []\n        for t in range(v.shape[1]):\n"
            "            carry = self.cell.initialize_carry((2, 3), self.rngs)  # NNX798\n"
            "            carry, y = self.cell(carry, v[:, t, :])\n            out.append(y)\n"
            "        return jnp.stack(out, 1)\nMemory(nnx.Rngs(7))(jnp.ones((2, 5, 3)))\n",
            _MEMORY + "        for step in jnp.swapaxes(v, 0, 1):\n"
            "            h = jnp.zeros((2, 4))  # NNX798\n            h, y = self.cell(h, step)\n"
            "        return y\nMemory(nnx.Rngs(7))(jnp.ones((2, 5, 3)))\n",
            _MEMORY + "        def step(carry, now):\n"
            "            carry = self.cell.initialize_carry((2, 3), nnx.Rngs(0))  # NNX798\n"
            "            carry, y = self.cell(carry, now)\n            return carry, y\n"
            "        return jax.lax.scan(step, jnp.zeros((2, 4)), v.swapaxes(0, 1))[1]\n"
            "Memory(nnx.Rngs(7))(jnp.ones((2, 5, 3)))\n",
            "cell = nnx.OptimizedLSTMCell(3, 4, rngs=nnx.Rngs(7))\n"
            "def start(size):\n    return jnp.zeros((size, 4)), jnp.zeros((size, 4))\n"
            "@nnx.jit\ndef encode(cell, xs):\n    ys = []\n    for i, now in enumerate(xs):\n"
            "        state = start(2)  # NNX798\n        state, y = cell(state, now)\n        ys.append(y)\n"
            "    return ys\nencode(cell, jnp.ones((5, 2, 3)))\n",
            "class Own(nnx.RNNCellBase):\n    def __init__(self, rngs):\n"
            "        self.lin = nnx.Linear(6, 3, rngs=rngs)\n    def __call__(self, h, v):\n"
            "        h = jnp.tanh(self.lin(jnp.concatenate([h, v], -1)))\n        return h, h\n"
            "@nnx.jit\ndef run(own, seq):\n    for t in range(5):\n        now = seq[t]\n"
            "        state = jnp.zeros(3)  # NNX798\n        state, y = own(state, now)\n    return y\n"
            "run(Own(nnx.Rngs(7)), jnp.ones((5, 3)))\n",
            "import flax.linen as nn\nclass Old(nn.Module):\n    @nn.compact\n    def __call__(self, xs):\n"
            "        cell = nn.GRUCell(4)\n        for t in range(xs.shape[1]):\n"
            "            c = cell.initialize_carry(jax.random.key(0), (2, 3))  # NNX798\n"
            "            c, y = cell(c, xs[:, t])\n        return y\n"
            "Old().init_with_output(jax.random.key(7), jnp.ones((2, 5, 3)))\n",
        ),
        clean=(
            """\
def rollout(state, obs):
    def body(carry, _):
        state, last_obs = carry
        obs = jnp.sin(state + last_obs)
        carry = (state + 1.0, obs)
        return carry, last_obs
    return jax.lax.scan(body, (state, obs), None, 3)
print(rollout(0.0, 1.0))
""",
            """\
def searched(cost, start, tx):
    def body(carry, _):
        point, moments = carry
        updates, moments = tx.update(jax.grad(cost)(point), moments)
        moved = optax.apply_updates(point, updates)
        return (point, moments), cost(moved)
    return jax.lax.scan(body, (start, tx.init(start)), None, 3)
print(searched(lambda p: jnp.sum(p**2), x, optax.sgd(0.1))[1])
""",
            """\
from flax import linen as nn
attend = nn.MultiHeadDotProductAttention(num_heads=1, qkv_features=4, decode=True)
def whole(variables, v, n):
    for t in range(n):
        v, mutated = attend.apply(variables, v, mutable=["cache"])
        variables = {**variables, **mutated}
    return v
def put_together(params, cache, v, n):
    for t in range(n):
        variables = {"params": params, "cache": cache}
        v, cache = attend.apply(variables, v, mutable=["cache"])
        cache = cache["cache"]
    return v
class Generator:
    def __init__(self, params, cache):
        self.params, self.cache = params, cache
    def run(self, v, n):
        for t in range(n):
            v, mutated = attend.apply({"params": self.params, "cache": self.cache}, v, mutable="cache")
            self.cache = mutated["cache"]
        return v
    def first(self, v):
        return attend.apply({"params": self.params, "cache": self.cache}, v, mutable="cache")[0]
first = jnp.ones((1, 1, 4))
variables = attend.init(key, jnp.ones((1, 3, 4)))
made = Generator(variables["params"], variables["cache"])
print(whole(variables, first, 2).shape, put_together(variables["params"], variables["cache"], first, 2).shape)
print(made.first(first).shape, made.run(first, 2).shape)
""",
            """\
def attend(params, cache, pos, token):
    new_cache = cache.at[pos].set(token @ params)
    return jnp.tanh(new_cache.sum(0)), new_cache
def generate(params, cache, token, n):
    for pos in range(n):
        token, cache = attend(params, cache, pos, token)
    return token
def scores(params, cache, tokens):
    found = []
    for token in tokens:
        score, _ = attend(params, cache, 3, token)
        found.append(score)
    return found
def choices(params, cache, tokens):
    return [attend(params, cache, 3, tokens[i])[0] for i in range(len(tokens))]
def again(params, cache, token, n):
    for pos in range(n):
        kept = cache
        token, new_cache = attend(params, kept, pos, token)
        cache = new_cache
    return token
cache = jnp.zeros((4, 3))
print(generate(jnp.eye(3), cache, x, 3), scores(jnp.eye(3), cache, [x]), choices(jnp.eye(3), cache, x[None]))
print(again(jnp.eye(3), cache, x, 3))
""",
            """\
def layer(cache, v):
    cache = cache + 1.0
    return v * 2.0, cache
def through(layers, cache, v):
    for one in layers:
        v, _ = one(cache, v)
    return v
def by_number(layers, cache, v):
    for i in range(len(layers)):
        v, _ = layers[i](cache, v)
    return v
print(through([layer, layer], jnp.zeros(3), x), by_number([layer, layer], jnp.zeros(3), x))
""",
            """\
def values(cell, carry, actions):
    found = []
    for action in actions:
        new_carry, value = cell(carry, action)
        found.append(value)
    return jnp.stack(found)
print(values)
""",
            """\
def run(cell, xs):
    carry = cell.initialize_carry((2, 3), rngs=nnx.Rngs(0))
    outputs = []
    for t in range(xs.shape[1]):
        new_carry, y = cell(carry, xs[:, t])
        outputs.append(y)
        carry = new_carry
    return jnp.stack(outputs, 1)
print(run)
""",
            _MEMORY
            + "        carry = self.cell.initialize_carry((2, 3), self.rngs)\n        for t in range(v.shape[1]):\n"
            "            carry, y = self.cell(carry, v[:, t])\n        return y\n"
            "Memory(nnx.Rngs(7))(jnp.ones((2, 5, 3)))\n",
            "cells = [nnx.GRUCell(3, 3, rngs=nnx.Rngs(i)) for i in range(2)]\nh = jnp.ones((2, 3))\n"
            "for cell in cells:  # one step through layers\n    carry = cell.initialize_carry((2, 3), nnx.Rngs(0))\n"
            "    carry, h = cell(carry, h)\n",
            "cells = [nnx.GRUCell(3, 3, rngs=nnx.Rngs(i)) for i in range(2)]\nv = jnp.ones((2, 2, 3))\n"
            "for i in range(2):\n    carry = cells[i].initialize_carry((2, 3), nnx.Rngs(0))\n"
            "    carry, h = cells[i](carry, v[:, i])\n",
            _MEMORY + "        for part in v:  # one sequence after the other\n"
            "            carry = self.cell.initialize_carry((3,), self.rngs)\n"
            "            for t in range(part.shape[0]):\n                carry, y = self.cell(carry, part[t])\n"
            "        return y\nMemory(nnx.Rngs(7))(jnp.ones((2, 5, 3)))\n",
            _MEMORY + "        for t in range(v.shape[1]):\n            if t % 2 == 0:  # in pieces\n"
            "                carry = self.cell.initialize_carry((2, 3), self.rngs)\n"
            "            carry, y = self.cell(carry, v[:, t])\n        return y\n"
            "Memory(nnx.Rngs(7))(jnp.ones((2, 5, 3)))\n",
            "@nnx.jit\ndef run(cell, batch):\n    for example in batch:  # of one step each\n"
            "        h = jnp.zeros(4)\n        h, y = cell(h, example)\n    return y\n"
            "run(nnx.GRUCell(3, 4, rngs=nnx.Rngs(7)), jnp.ones((2, 3)))\n",
            _MEMORY + "        def step(carry, now):\n            h, n = carry\n"
            "            fresh = self.cell.initialize_carry((2, 3), nnx.Rngs(0))\n"
            "            start = jnp.where(n % 2 == 0, fresh, h)\n            start, y = self.cell(start, now)\n"
            "            return (start, n + 1), y\n"
            "        return jax.lax.scan(step, (jnp.zeros((2, 4)), 0), v.swapaxes(0, 1))[1]\n"
            "Memory(nnx.Rngs(7))(jnp.ones((2, 5, 3)))\n",
            "def measure(total, v):\n    return total + v, v\nfor t in range(3):\n    total = jnp.zeros(())\n"
            "    total, y = measure(total, x[t])\n",
            "def cell(h, v):\n    new_h = jnp.tanh(h + v)\n    return new_h, new_h\njax.lax.scan(cell, 0.0, x)\n",
            "def apply(w, v):\n    y = jnp.tanh(w * v)\n    return w, y\njax.lax.scan(apply, 2.0, x)\n",
            "def search(v, rate):\n    v_new = v - rate * 2.0\n    return v, (v_new**2).sum()\n"
            "jax.lax.scan(search, 1.0, jnp.array([0.1, 0.2]))  # many steps from one place\n",
            "def cell(h, v):\n    h_new = h + v\n    h = jnp.where(v > 0, h_new, h)\n    return h, h_new\n"
            "jax.lax.scan(cell, 0.0, x)\n",
            "def cell(h, v):\n    h_old, h = h, h + v\n    return h, h_old\njax.lax.scan(cell, 0.0, x)\n",
            "def body(c):\n    rate, v = c\n    v_new = v - rate\n    return jnp.where(v_new > 0, rate, rate / 2), v\n"
            "jax.lax.while_loop(lambda c: c[1] < c[0], body, (3.0, 1.0))\n",
            "def body(i, v):\n    seen = jax.experimental.io_callback(lambda a: a, x, x * v)\n    return v\n"
            "import jax.experimental\njax.lax.fori_loop(0, 3, body, 1.0)\n",
            "@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))\ndef cell(h, v):\n    h_new = h * 0.5 + v\n"
            "    return h_new, h\ncell(jnp.zeros(()), x)\n",
        ),
    ),
    "NNX864": Cases(
        bad=(
            """\
def follow(place, force):
    place = place + 0.1 * force
    return place, place
path, last = jax.lax.scan(follow, jnp.zeros(4), x)  # NNX864
""",
            """\
def descend(p, s, xs):
    tx = optax.sgd(0.1)
    def body(carry, batch):
        p, s = carry
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((p * batch) ** 2))(p)
        updates, s = tx.update(grads, s, p)
        return (optax.apply_updates(p, updates), s), loss
    losses, (p_new, s_new) = jax.lax.scan(body, (p, s), xs)  # NNX864
    return p_new, losses
""",
            """\
class Reservoir:
    def __init__(self, n):
        self.h = jnp.zeros(n)
    def run(self, inputs):
        states, self.h = jax.lax.scan(lambda h, u: (jnp.tanh(h + u), h), self.h, inputs)  # NNX864
        return states
""",
            """\
def body(carry, v):
    net, h = carry
    h = net(h) + v
    return net, h  # NNX864
run = nnx.scan(body, in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
out = run((model, x), jnp.ones((4, 3)))
""",
            """\
def rnn(w, xs):
    def step(h, v):
        h_next = jnp.tanh(h @ w + v)
        out = h_next @ w
        return out, h_next  # NNX864
    return jax.lax.scan(step, jnp.zeros(3), xs)
""",
            """\
def step(state, v):
    new_state = 0.9 * state + v
    y = 2.0 * new_state
    return y, new_state  # NNX864
print(jax.lax.scan(step, x, jnp.ones((2, 3)))[0])
""",
            """\
def run(cell, rows):
    def body(h, row):
        h, out = cell(h, row)
        return out, h  # NNX864
    return jax.lax.scan(body, jnp.zeros(2), rows)
""",
            """\
class Decoder:
    def step(self, state, token):
        logits, state = self.advance(token, state)
        return logits, state  # NNX864
    def decode(self, tokens):
        return jax.lax.scan(self.step, self.begin(), tokens)
""",
            """\
def integrate(cell, rows):
    def body(cell, memory, row):
        memory, out = cell.step(memory, row)
        return out, memory  # NNX864
    scanned = nnx.scan(body, in_axes=(None, nnx.Carry, 0), out_axes=(nnx.Carry, 0))
    return scanned(cell, jnp.zeros(3), rows)
""",
            """\
def body(c, v):
    return c + v  # NNX864
jax.lax.scan(body, 0.0, x)
""",
            "jax.lax.scan(lambda c, v: jnp.tanh(c + v), 0.0, x)  # NNX864\n",
            """\
class Filter:
    def step(self, state, z):  # NNX864
        state = state * z
    def run(self, zs):
        return jax.lax.scan(self.step, 1.0, zs)
""",
            """\
def body(c, v):
    new = c * v
    return new, v, c  # NNX864
jax.lax.scan(body, 0.0, x)
""",
            """\
from jax.lax import scan as loop
def body(c, v):
    c = c.at[0].set(v)
    if True:
        return c  # NNX864
    return c, v
loop(body, jnp.zeros(2), x)
""",
        ),
        clean=(
            """\
def both(carry, row):
    place, speed = carry
    return (place + speed, speed), (place, speed)
end, (place, speed) = jax.lax.scan(both, (jnp.zeros(4), jnp.ones(4)), x)
print(end, place, speed)
""",
            """\
def follow(place, force):
    place = place + 0.1 * force
    return place, place
last, path = jax.lax.scan(follow, jnp.zeros(4), x)
final_state, outputs = jax.lax.scan(follow, jnp.zeros(4), x)
print(last, path, final_state, outputs)
""",
            """\
def body(carry, v):
    net, h = carry
    h = net(h) + v
    return (net, h), h
run = nnx.scan(body, in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
(net, h), hs = run((model, x), jnp.ones((4, 3)))
print(hs.shape)
""",
            """\
def rnn(w, xs):
    def step(h, v):
        h_next = jnp.tanh(h @ w + v)
        out = h_next @ w
        return h_next, out
    return jax.lax.scan(step, jnp.zeros(3), xs)
assert rnn(jnp.eye(3), jnp.ones((2, 3)))[1].shape == (2, 3)
""",
            """\
def fibonacci(out, _):
    out_next = out[1], out[0] + out[1]
    y = out_next[0]
    return out_next, y
assert jax.lax.scan(fibonacci, (0, 1), None, length=5)[0] == (5, 8)
""",
            """\
def cell(h, row):
    return h + row, jnp.sum(h)
def body(h, row):
    h, out = cell(h, row)
    return h, out
jax.lax.scan(body, 0.0, x)
""",
            """\
def cell(h, row):
    return h + row, h * row
def body(h, row):
    h, after = cell(h, row)
    out = h + after
    return out, h
jax.lax.scan(body, 0.0, x)
""",
            """\
def advance(position, row):
    return position + row, position * 2
def body(position, row):
    position, next_position = advance(position, row)
    return next_position, position
jax.lax.scan(body, 0.0, x)
""",
            """\
def body(h, row):
    h, out = h + row, h * 2
    return out, h
jax.lax.scan(body, 0.0, x)
""",
            """\
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=(0, nnx.Carry))
def body(row, h):
    h, out = split(h, row)
    return out, h
def split(h, row):
    return h + row, h * row
body(x, 0.0)
""",
            "jax.lax.scan(lambda c, v: (c + v, None), 0.0, x)\n",
            """\
def helper(c, v):
    return c + v, c * v
jax.lax.scan(lambda c, v: helper(c, v), 0.0, x)
""",
            """\
def body(c, v):
    result = (c + v, v)
    return result
jax.lax.scan(body, 0.0, x)
""",
            """\
def body(c, v):
    return jax.lax.cond(v > 0, lambda c: (c, c), lambda c: (c, c * 2), c)
jax.lax.scan(body, 0.0, x)
""",
            """\
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(v, c):
    return c + v
forward(x, 0.0)
""",
            """\
def body(c, v):
    return divmod(c, v)
jax.lax.scan(body, jnp.float32(1), x)
""",
            "jax.lax.map(lambda v: v + 1, x)\n",
        ),
    ),
    "NNX865": Cases(
        bad=(
            """\
def losses(update, first, v, y):
    def step(prior, inputs):
        cost, target = inputs
        posterior = update(cost, prior)
        return (target - posterior, posterior), posterior  # NNX865
    _, (errors, posteriors) = jax.lax.scan(step, first["prior"], (v, y))
    return errors, posteriors
""",
            """\
def moments(xs):
    def update(carry, x):
        count, mean = carry
        count = count + 1
        return None, (count, mean + (x - mean) / count)  # NNX865
    return jax.lax.scan(update, (0.0, 0.0), xs)
""",
            """\
def fit(params, xs):
    def one(params, x):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((p["w"] * x) ** 2))(params)
        return loss, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)  # NNX865
    return jax.lax.scan(one, params, xs)
""",
            """\
def begin(n):
    return {"total": jnp.zeros(n), "count": jnp.zeros(())}
def centred(stats, row):
    stats = {"total": stats["total"] + row, "count": stats["count"] + 1}
    return row - stats["total"] / stats["count"], stats  # NNX865
out = jax.lax.scan(centred, begin(4), x)
""",
            """\
import typing
class Walker(typing.NamedTuple):
    place: jax.Array
    speed: jax.Array
def advance(walker, _):
    speed = 0.9 * walker.speed - 0.1 * walker.place
    return speed.sum(), Walker(walker.place + speed, speed)  # NNX865
out = jax.lax.scan(advance, Walker(jnp.ones(3), jnp.zeros(3)), None, length=3)
""",
            """\
def propagator(phases):
    def propagate(psi):
        return jnp.fft.ifft(phases * jnp.fft.fft(psi))
    return propagate
def packet(n):
    psi = jnp.exp(-(jnp.linspace(-1.0, 1.0, n) ** 2))
    return psi / jnp.sqrt(jnp.sum(psi**2))
def evolve(psi, steps):
    propagate = propagator(jnp.exp(-0.5j * jnp.arange(8)))
    def body(psi, _):
        psi = propagate(psi)
        return psi, jnp.abs(psi)  # NNX865
    return jax.lax.scan(body, psi, None, length=steps)
def main():
    return evolve(packet(8), 3)
""",
            """\
def weighted(carry, row):
    count, mean = carry
    value, weight = row
    return (count + weight, mean + weight * value), None  # NNX865
weights = jnp.linspace(0.5, 1.0, 3)
last, _ = jax.lax.scan(weighted, (jnp.zeros((), jnp.int32), 0.0), (x, weights))
""",
            """\
def summed(state, row):
    return {"n": state["n"] + row["w"]}, None  # NNX865
last, _ = jax.lax.scan(summed, {"n": jnp.zeros((), jnp.int32)}, {"w": jnp.ones(3), "v": x})
""",
            """\
from collections import namedtuple
Moving = namedtuple("Moving", ["place", "count"])
def begin(place):
    return Moving(place, jnp.zeros((), dtype=jnp.int32))
def step(state, _):
    count = jnp.where(state.place.sum() > 0, state.count + 1.0, 0.0)
    return Moving(state.place * 0.9, count), None  # NNX865
last, _ = jax.lax.scan(step, begin(x), None, length=3)
""",
            """\
import collections
Pair = collections.namedtuple("Pair", "place, count")
def step(i, pair):
    return pair._replace(count=pair.count * 0.5)  # NNX865
last = jax.lax.fori_loop(0, 3, step, Pair(x, jnp.zeros((), jnp.int32)))
""",
            """\
def following(table, tokens):
    return table[tokens]
@jax.jit
def generate(table, first):
    out = jnp.full((first.shape[0], 8), -1)
    def step(carry):
        tokens, out, done, i = carry
        tokens = jnp.argmax(following(table, tokens), axis=-1)
        return tokens, out.at[:, i].set(tokens), done | (tokens == 0), i + 1  # NNX865
    going = lambda carry: ~jnp.all(carry[2]) & (carry[3] < 8)
    return jax.lax.while_loop(going, step, (first, out, False, 0))[1]
print(generate(jnp.roll(jnp.eye(6), -1, axis=1), jnp.array([3, 5])))
""",
            """\
class Sim:
    def __init__(self, dt):
        self.dt = dt
    def advance(self, state):
        v, n = state
        return v * self.dt, n + self.dt
    def run(self, v):
        return jax.lax.fori_loop(0, 5, lambda i, s: self.advance(s), (v, jnp.zeros((), jnp.int32)))  # NNX865
print(Sim(0.1).run(jnp.ones(3)))
""",
            """\
def wider(v):
    return jax.lax.scan(lambda c, s: (jnp.stack([c, c]), c), 0.0, v)  # NNX865
try:
    wider(x)
except TypeError as error:
    print(type(error).__name__)
y = wider(x)
""",
            """\
def begin():
    return {"count": jnp.zeros((), jnp.int32), "mean": jnp.zeros((), jnp.int32)}
def push(stats, value):
    count = stats["count"] + 1
    return {"count": count, "mean": stats["mean"] + (value - stats["mean"]) / count}
def run(key):
    keys = jax.random.split(key, 5)
    def body(i, stats):
        return push(stats, jax.random.normal(keys[i]))  # NNX865
    return jax.lax.fori_loop(0, 5, body, begin())
run(jax.random.key(0))
""",
            """\
def advance(state, v):
    place, n = state
    return place + v / 2, n + 1.0
out = jax.lax.scan(lambda s, v: (advance(s, v), None), (jnp.zeros(3), jnp.zeros((), int)), jnp.ones((4, 3)))  # NNX865
""",
            """\
def grow(state, v):
    place, n = state
    return place + v, n + 1, v
def run(xs):
    def body(i, state):
        return grow(state, v=xs[i])  # NNX865
    return jax.lax.fori_loop(0, 4, body, (jnp.zeros(3), 0))
run(jnp.ones((4, 3)))
""",
            """\
def halve(total, v):
    total = total / 2 + v
    return total, total
out = jax.lax.scan(lambda c, v: halve(c, v), jnp.zeros(3, jnp.int32), jnp.ones((4, 3)))  # NNX865
""",
            """\
def body(state, _):
    place, speed = state
    faster = speed - 0.1 * place
    further = place + 0.1 * faster
    return further, faster  # NNX865
out = jax.lax.scan(body, (x, jnp.zeros(3)), None, length=4)
""",
            """\
def run(begin):
    def body(carry, v):
        total, count = carry
        total += v
        return total, count + 1  # NNX865
    return jax.lax.scan(body, begin, x)
run((0.0, 0))
""",
            "out = jax.lax.fori_loop(0, 5, lambda i, pair: pair[0] + pair[1], (0, 1))  # NNX865\n",
            """\
def body(state, v):
    return state["h"] * 0.9 + v, state["t"]  # NNX865
out = jax.lax.scan(body, {"h": 0.0, "t": 0.0}, x)
""",
            _CARD
            + """\
def body(c, v):
    return c.place + v, c.n  # NNX865
out = jax.lax.scan(body, card, x)
""",
            """\
def root(start):
    def body(state):
        guess, count = state
        return guess - (guess * guess - 2) / (2 * guess)  # NNX865
    return jax.lax.while_loop(lambda state: state[1] < 10, body, (start, 0))
""",
            """\
def run(v):
    def body(c, _):
        v, n = c
        up = (v.sum() > 0).astype(v.dtype)
        return (v * 0.5, n * up + up), None  # NNX865
    return jax.lax.scan(body, (v, jnp.zeros((), jnp.int32)), length=3)
run(jnp.array([1.0, 2.0]))
""",
            """\
def counts(seed):
    return np.random.default_rng(seed).poisson(5.0, size=(4, 3)).astype(np.int32)
def average(frames):
    def body(c, frame):
        n, mean = c
        return (n + 1, mean + (frame - mean) / (n + 1)), None  # NNX865
    return jax.lax.scan(body, (0, jnp.zeros_like(frames[0])), frames)
average(jnp.asarray(counts(0)))
""",
            _CARD + "def again(c):\n    return Card(jnp.zeros_like(c.place), jnp.zeros(()))\n"
            "card = jax.lax.cond(x[0] > 0, again, lambda c: c, card)  # NNX865\n",
            _CARD + "def stay(c):\n    return c\n"
            "card = jax.lax.switch(1, (stay, lambda c: c._replace(n=0.5)), card)  # NNX865\n",
            _CARD
            + "class Game:\n    def reset(self, c):\n        return c._replace(place=jnp.ones(2), n=jnp.ones(()))\n"
            "    def keep(self, c):\n        return c\n    def step(self, c):\n"
            "        new = Card(place=c.place + 1.0, n=c.n + 1)\n"
            "        return jax.lax.cond(new.place[0] > 2.0, self.reset, self.keep, new)  # NNX865\n"
            "Game().step(card)\n",
            _CARD + "def step(c, _):\n    new = Card(c.place + 1.0, c.n + 1)\n"
            "    last = jax.lax.cond(x[0] > 0, lambda: new, lambda: new._replace(n=jnp.mean(x)))  # NNX865\n"
            "    return last, None\njax.lax.scan(step, card, None, 3)\n",
            "def go(s):\n    return {'n': s['n'] + 1.0}\n"
            "y = jax.lax.cond(x[0] > 0, lambda s: {'n': 0}, go, {'n': 2})  # NNX865\n",
            """\
def body(c, v):
    return c / 2, v  # NNX865
jax.lax.scan(body, jnp.zeros(3, int), x)
""",
            "jax.lax.scan(lambda c, v: (c + x, v), 0.0, x)  # NNX865\n",
            """\
def body(i, state):
    a, b = state
    return a + 1, b, i  # NNX865
jax.lax.fori_loop(0, 3, body, (0, 1.0))
""",
            """\
def body(c, v):
    return jnp.append(c, v), v  # NNX865
jax.lax.scan(body, jnp.zeros(1), x)
""",
            "jax.lax.fori_loop(0, 3, lambda i, n: n * 0.5, jnp.int32(8))  # NNX865\n",
            """\
def body(c, v):
    return {'sum': c['sum'] + v, 'n': 1}, v  # NNX865
jax.lax.scan(body, {'sum': 0.0}, x)
""",
            """\
def body(c, v):
    return c + v, v  # NNX865
jax.lax.scan(body, None, x)
""",
            _RECORD
            + """\
def body(state, row):
    v, rate = row
    w = state.w - rate * state.m
    return Fit(w, state.m), w.sum()  # NNX865
def run(state, rows, rates):
    return jax.lax.scan(body, state, (rows, rates))
out = run(start(3), jnp.ones((4, 3), jnp.bfloat16), jnp.linspace(0.1, 0.01, 4))
""",
            _RECORD
            + """\
def body(state, row):
    return state._replace(w=state.w - row["rate"] * state.m), None  # NNX865
out = jax.lax.scan(body, start(3), {"rate": jnp.ones(4), "v": jnp.ones((4, 3), jnp.bfloat16)})
""",
            """\
def body(carry, row):
    w, n = carry
    v, rate = row
    return (w - rate * v, n + 1), None  # NNX865
rates = jax.random.uniform(key, (4,))
out = jax.lax.scan(body, (jnp.zeros(3, jnp.bfloat16), 0), (jnp.ones((4, 3), jnp.bfloat16), rates))
""",
            """\
rate = jnp.float32(0.1)
out = jax.lax.fori_loop(0, 3, lambda i, w: w - rate * w, jnp.zeros(3, jnp.bfloat16))  # NNX865
""",
            """\
def take(pair):
    return pair[0] + 1, True
print(jax.lax.cond(x[0] > 0, take, lambda pair: (pair[0], 0), (x, x)))  # NNX865
""",
            "y = jax.lax.cond(x[0] > 0, lambda s: (s[0] + 1, 1), lambda s: s, (x, False))  # NNX865\n",
            "y = jax.lax.switch(1, [lambda s: (s, 1.0), lambda s: (s * 2, True)], x)  # NNX865\n",
            "y = jax.lax.cond(x[0] > 0, lambda: {'x': x, 'ok': not x.ndim}, lambda: {'x': x, 'ok': 0})  # NNX865\n",
            "y = jax.lax.cond(x[0] > 0, lambda s: 0, lambda s: s, x.sum())  # NNX865\n",
            """\
from typing import NamedTuple
class Walk(NamedTuple):
    v: jax.Array
    n: jax.Array
def counted(walk, w):
    return walk._replace(n=walk.n + 0.5 * w)
def moved(walk, dt=0.1):
    return walk._replace(v=(1.0 - dt) * walk.v)
def body(walk, w):
    return moved(counted(walk, w)), walk.v  # NNX865
out = jax.lax.scan(body, Walk(x, jnp.zeros((), jnp.int32)), x)
""",
            """\
from typing import NamedTuple
class Walk(NamedTuple):
    v: jax.Array
    n: jax.Array
class Walker:
    def counted(self, walk, w):
        return walk._replace(n=walk.n + 0.5 * w)
    def step(self, walk, w):
        walk = self.counted(walk, w)
        return walk._replace(v=0.9 * walk.v), None  # NNX865
    def run(self, ws):
        return jax.lax.scan(self.step, Walk(x, jnp.zeros((), jnp.int32)), ws)
""",
            """\
from typing import NamedTuple
class Walk(NamedTuple):
    v: jax.Array
    n: jax.Array
def body(i, walk):
    walk = walk._replace(n=walk.n / 2)
    walk = walk._replace(v=0.9 * walk.v)
    return walk  # NNX865
out = jax.lax.fori_loop(0, 3, body, Walk(x, jnp.zeros((), jnp.int32)))
""",
        ),
        clean=(
            """\
def losses(update, first, v, y):
    def step(prior, inputs):
        cost, target = inputs
        posterior = update(cost, prior)
        return posterior, (target - posterior, posterior)
    _, (errors, posteriors) = jax.lax.scan(step, first["prior"], (v, y))
    return errors, posteriors
print(losses(lambda a, b: a + b, {"prior": 0.0}, x, x))
""",
            """\
def pairs(first, v):
    def step(carry, one):
        a, b = carry
        return (b, a + one), a
    _, (one, two) = jax.lax.scan(step, first["pair"], v[:2])
    return one, two
print(pairs({"pair": (0.0, 1.0)}, x))
""",
            """\
def checked(a, b):
    def kept():
        return jax.lax.cond(
            jnp.all(jnp.isfinite(a)), lambda: (a, b),
            lambda: jax.lax.stop_gradient(jax.lax.cond(False, lambda: (a, b), lambda: (a, b))),
        )
    def best():
        return jax.lax.cond(a.sum() > 0, lambda: [b, jnp.arange(3)], lambda: jax.lax.top_k(a, 3))
    return kept(), best()
checked(jnp.arange(3.0), jnp.ones(3))
""",
            """\
def mapped(rows):
    def body(carry, row):
        del carry
        return None, row.sum()
    return jax.lax.scan(body, None, rows)
print(mapped(x))
""",
            """\
def settled(params, rows):
    def body(before, row):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((p["w"] * row) ** 2))(params)
        return loss, loss - before
    return jax.lax.scan(body, 0.0, rows)
print(settled({"w": jnp.ones(4)}, x))
""",
            """\
def optional(state, rows):
    def body(state, row):
        if state is None:
            return None, row.sum()
        return state + 1, row.sum() + state
    return jax.lax.scan(body, state, rows)
print(optional(None, x), optional(0, x))
""",
            """\
def turned(points, _):
    first, second = points
    return points @ jnp.array([[0.0, 1.0], [-1.0, 0.0]]), first.sum() + second.sum()
print(jax.lax.scan(turned, jnp.ones((2, 2)), None, length=3))
""",
            """\
def packet(n):
    psi = jnp.exp(-(jnp.linspace(-1.0, 1.0, n) ** 2))
    return (psi / jnp.sqrt(jnp.sum(psi**2))).astype(jnp.complex64)
def body(psi, _):
    psi = jnp.fft.ifft(jnp.fft.fft(psi))
    return psi, jnp.abs(psi)
jax.lax.scan(body, packet(8), None, length=3)
jax.lax.scan(lambda v, _: (jnp.fft.ifft(jnp.fft.fft(v)).real, None), jnp.ones(4), None, length=3)
jax.lax.fori_loop(0, 3, lambda i, total: total + 1j, 0.0)
""",
            """\
def take(pair):
    return pair[0] + 1, True
print(jax.lax.cond(x[0] > 0, take, lambda pair: (pair[0], False), (x, x)))
print(jax.lax.cond(x[0] > 0, take, lambda pair: pair, (x, False)))
print(jax.lax.cond(x[0] > 0, lambda s: (s, jnp.any(s > 0)), lambda s: (s, False), x))
""",
            """\
print(jax.lax.cond(x[0] > 0, lambda s: s.astype(bool), lambda s: jnp.zeros(3, bool), x))
print(jax.lax.cond(x[0] > 0, lambda s: jnp.full((3,), 1, bool), lambda s: s > 0, x))
print(jax.lax.cond(x[0] > 0, lambda s: s & (x > 1), lambda s: (s > 0).at[0].set(1), x > 0))
print(jax.lax.cond(x[0] > 0, lambda s: (s > 0).max(), lambda s: bool(1), x))
print(jax.lax.cond(x[0] > 0, lambda s: (s > 0) * (s > 1), lambda s: jnp.array([1, 0, 1], dtype="bool"), x))
""",
            """\
print(jax.lax.cond(x[0] > 0, lambda s: (s > 0).sum(), lambda s: 0, x))
print(jax.lax.cond(x[0] > 0, lambda s: jnp.cumsum(s > 0), lambda s: (s > 0) * 1, x))
print(jax.lax.cond(x[0] > 0, lambda s: jnp.int32(s[0] > 0), lambda s: jnp.prod(s > 0), x))
print(jax.lax.cond(x[0] > 0, lambda s: jnp.mean(s > 0), lambda s: 1.0, x))
""",
            """\
def weighted(carry, row):
    count, mean = carry
    value, weight = row
    return (count + weight, mean + weight * value), None
last, _ = jax.lax.scan(weighted, (jnp.zeros((), jnp.int32), 0.0), (x, jnp.arange(3)))
""",
            """\
def weighted(carry, row):
    value, weight = row
    return (carry[0] + 1, carry[1] + weight * value), None
last, _ = jax.lax.scan(weighted, (jnp.zeros((), jnp.int32), 0.0), (x, jnp.ones(3)))
""",
            """\
def counted(count, row):
    value, weight = row
    return count + (weight > 0.5), value
last, _ = jax.lax.scan(counted, jnp.zeros((), jnp.int32), (x, jnp.ones(3)))
""",
            """\
def counted(ids, one):
    return jax.lax.cond(
        jnp.isnan(one), lambda: jnp.nan, lambda: jnp.sum(ids == one, dtype=jnp.float32)
    )
print(counted(x, x[0]), jax.lax.cond(x[0] > 0, lambda: 0.5, lambda: (x > 0).sum(dtype=float)))
""",
            """\
from collections import namedtuple
Moving = namedtuple("Moving", ["place", "count"])
def begin(place):
    return Moving(place, jnp.zeros((), dtype=jnp.int32))
def step(state, _):
    count = jnp.where(state.place.sum() > 0, state.count + 1, 0)
    return Moving(state.place * 0.9, count), None
last, _ = jax.lax.scan(step, begin(x), None, length=3)
""",
            """\
from collections import namedtuple
Moving = namedtuple("Moving", "place count")
def step(i, state):
    return Moving(count=state.count + 1, place=state.place * 0.5)
print(jax.lax.fori_loop(0, 3, step, Moving(x, jnp.zeros((), jnp.int32))))
""",
            """\
from collections import namedtuple
names = ["count", "place"]
Moving = namedtuple("Moving", names)
def step(i, state):
    return Moving(state.count + 1, state.place * 0.5)
print(jax.lax.fori_loop(0, 3, step, Moving(jnp.zeros((), jnp.int32), x)))
""",
            """\
def following(table, tokens):
    return table[tokens]
@jax.jit
def generate(table, first):
    out = jnp.full((first.shape[0], 8), -1)
    def step(carry):
        tokens, out, done, i = carry
        tokens = jnp.argmax(following(table, tokens), axis=-1)
        return tokens, out.at[:, i].set(tokens), done | (tokens == 0), i + 1
    going = lambda carry: ~jnp.all(carry[2]) & (carry[3] < 8)
    begun = (first, out, jnp.zeros(first.shape[0], dtype=bool), 0)
    return jax.lax.while_loop(going, step, begun)[1]
print(generate(jnp.roll(jnp.eye(6), -1, axis=1), jnp.array([3, 5])))
""",
            """\
def none(c, b):
    return jnp.zeros(c.shape[0]), jnp.array(False)
def part(c):
    return jnp.zeros_like(c)
def some(c, b):
    return part(c), jnp.array(True)
def solve(c, b):
    return jax.lax.cond(b[0] > 0, none, some, c, b)
batch = jax.jit(jax.vmap(solve))
print(batch(jnp.ones((5, 3)), jnp.ones((5, 2))))
""",
            """\
def wider(v):
    return jax.lax.scan(lambda c, s: (jnp.stack([c, c]), c), 0.0, v)
try:
    wider(x)
except TypeError as error:
    print(type(error).__name__)
try:
    jax.lax.scan(lambda c, s: ((c + s, c), c), 0.0, x)
except TypeError as error:
    print(str(error)[:20])
""",
            """\
def push(stats, value):
    count = stats["count"] + 1
    return {"count": count, "mean": stats["mean"] + (value - stats["mean"]) / count}
def run(key):
    keys = jax.random.split(key, 5)
    def body(i, stats):
        return push(stats, jax.random.normal(keys[i]))
    return jax.lax.fori_loop(0, 5, body, {"count": jnp.zeros((), jnp.int32), "mean": jnp.zeros(())})
run(jax.random.key(0))
""",
            """\
def advance(state, v):
    place, n = state
    return place + v / 2, n + 1
out = jax.lax.scan(lambda s, v: (advance(s, v), None), (jnp.zeros(3), jnp.zeros((), int)), jnp.ones((4, 3)))
""",
            """\
def half(total, v):
    return total / 2 + v
def body(total, v):
    return half(total, v).astype(jnp.int32), v
out = jax.lax.scan(body, jnp.zeros(3, jnp.int32), jnp.ones((4, 3)))
""",
            """\
def halve(total, v):
    total = total // 2 + v
    return total, total / 3
out = jax.lax.scan(lambda c, v: halve(c, v), jnp.zeros(3, jnp.int32), jnp.ones((4, 3), jnp.int32))
""",
            """\
def far(state, other):
    return (state - other) / 2
def body(state, v):
    return far(v, state), v
out = jax.lax.scan(body, jnp.zeros(3), jnp.ones((4, 3)))
""",
            """\
def body(state, _):
    place, speed = state
    faster = speed - 0.1 * place
    return (place + 0.1 * faster, faster), place
print(jax.lax.scan(body, (x, jnp.zeros(3)), None, length=4))
""",
            """\
def body(place, row):
    speed, rate = row
    return place + speed * rate, speed
print(jax.lax.scan(body, 0.0, (x, x)))
def fibonacci(pair, v):
    one, two = pair
    following = (two, one + two + v)
    return following, one
print(jax.lax.scan(fibonacci, (0.0, 1.0), x))
""",
            """\
def window(last, v):
    last = last[1:] + (v,)
    return last, last[0]
print(jax.lax.scan(window, (0.0, 1.0), x))
print(jax.lax.scan(lambda c, v: (c + v, c[0] * 2), jnp.zeros(3), x))
print(jax.lax.fori_loop(0, 5, lambda i, pair: (pair[0] + pair[1], pair[0]), (0, 1)))
""",
            """\
def whole(carry, v):
    one, two = carry
    return carry, one + two + v
print(jax.lax.scan(whole, (0.0, 1.0), x))
def alone(carry, v):
    one = carry[0]
    return [one + v], two
two = 2.0
print(jax.lax.scan(alone, [0.0], x))
""",
            """\
def root(start):
    def body(state):
        guess, count = state
        return guess - (guess * guess - 2) / (2 * guess), count + 1
    return jax.lax.while_loop(lambda state: state[1] < 10, body, (start, 0))
root(1.0)
""",
            """\
def counts(seed):
    return np.random.default_rng(seed).poisson(5.0, size=(4, 3)).astype(np.int32)
def average(frames):
    def body(c, frame):
        n, mean = c
        return (n + 1, mean + (frame - mean) / (n + 1)), None
    return jax.lax.scan(body, (0, jnp.zeros(3)), frames)
print(average(jnp.asarray(counts(0))))
""",
            """\
def parts(v):
    def some(w):
        return jnp.linalg.svd(w, full_matrices=False)[:2]
    def none(w):
        return jnp.full((3, 2), jnp.nan), jnp.full((2,), jnp.nan)
    return jax.lax.cond(jnp.isfinite(v).all(), some, none, v)
parts(jnp.ones((3, 2)))
""",
            _CARD + "def again(c):\n    return Card(jnp.zeros_like(c.place), jnp.zeros((), jnp.int32))\n"
            "card = jax.lax.cond(x[0] > 0, again, lambda c: c, card)\n"
            "card = jax.lax.cond(x[0] > 0, lambda c: c._replace(n=jnp.zeros_like(c.n)), lambda c: c, card)\n",
            _CARD
            + "class Game:\n    def reset(self, c):\n        return c._replace(place=jnp.ones(2), n=jnp.int32(0))\n"
            "    def keep(self, c):\n        return c\n    def step(self, c):\n"
            "        new = Card(place=c.place + 1.0, n=c.n + 1)\n"
            "        return jax.lax.cond(new.place[0] > 2.0, self.reset, self.keep, new)\nGame().step(card)\n",
            _CARD + "soft = Card(jnp.zeros(2), jnp.zeros(()))\n"
            "soft = jax.lax.cond(x[0] > 0, lambda c: c._replace(n=jnp.zeros(())), lambda c: c, soft)\n"
            "both = jax.lax.switch(0, (lambda a, b: a, lambda a, b: b), soft, soft._replace(place=jnp.ones(2)))\n",
            _CARD + "def grow(c):\n    return c._replace(n=c.n * 2)\n"
            "for _ in range(2):\n"
            "    card = jax.lax.cond(card.n > 3, grow, lambda c: c._replace(place=c.place + 0.5), card)\n",
            "def go(s):\n    return {'n': s['n'] + 1}\ny = jax.lax.cond(x[0] > 0, lambda s: {'n': 0}, go, {'n': 2})\n",
            "def go(s):\n    return {'m': s['n'], 'n': s['m']}\n"
            "y = jax.lax.cond(x[0] > 0, lambda s: s, go, {'n': 2, 'm': 3})\n",
            "jax.lax.scan(lambda c, v: (c / 2, v), 0, x)\n",
            "jax.lax.scan(lambda c, v: (c + v, v), jnp.zeros(3), jnp.ones((4, 3)))\n",
            "jax.lax.scan(lambda c, v: (c + v.sum(), v), 0.0, jnp.ones((4, 3)))\n",
            "jax.lax.fori_loop(0, 3, lambda i, n: n + i, jnp.int32(8))\n",
            "jax.lax.fori_loop(0, 3, lambda i, n: n // 2, jnp.zeros(3, int))\n",
            "jax.lax.scan(lambda c, v: (c + (v > 0), v), jnp.zeros((), int), x)\n",
            "jax.lax.scan(lambda c, v: (jnp.append(c, v)[1:], v), jnp.zeros(2), x)\n",
            "jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2), (0, x))\n",
            _RECORD
            + """\
def body(state, row):
    v, rate = row
    w = state.w - (rate * state.m).astype(state.w.dtype)
    return Fit(w, state.m), w.sum()
def run(state, rows, rates):
    return jax.lax.scan(body, state, (rows, rates))
out = run(start(3), jnp.ones((4, 3), jnp.bfloat16), jnp.linspace(0.1, 0.01, 4))
""",
            _RECORD
            + """\
def body(state, row):
    v, rate = row
    return Fit(state.w - 0.1 * v, state.m), rate * v.sum()
out = jax.lax.scan(body, start(3), (jnp.ones((4, 3), jnp.bfloat16), jnp.linspace(0.1, 0.01, 4)))
""",
            _RECORD
            + """\
def body(state, row):
    return state._replace(w=state.w - row["rate"] * state.m), None
rates = jnp.linspace(0.1, 0.01, 4, dtype=jnp.bfloat16)
out = jax.lax.scan(body, start(3), {"rate": rates, "v": jnp.ones((4, 3))})
""",
            """\
def body(carry, row):
    w, n = carry
    v, rate = row
    return (w - rate * v, n + 1), None
rates = jnp.linspace(0.1, 0.01, 4)
out = jax.lax.scan(body, (jnp.zeros(3), 0), (jnp.ones((4, 3), jnp.bfloat16), rates))
""",
            """\
rate = jnp.full((3,), 0.1)
out = jax.lax.fori_loop(0, 3, lambda i, w: w - rate * w, jnp.zeros(3, jnp.bfloat16))
""",
            """\
from typing import NamedTuple
class Rows(NamedTuple):
    v: jax.Array
    rate: jax.Array
def body(w, row):
    return w - row.v, row.rate * w
out = jax.lax.scan(body, jnp.zeros(3, jnp.bfloat16), Rows(jnp.ones((4, 3), jnp.bfloat16), jnp.linspace(0.1, 0.01, 4)))
""",
            """\
from typing import NamedTuple
class Walk(NamedTuple):
    v: jax.Array
    n: jax.Array
def counted(walk, w):
    return walk._replace(n=walk.n + 0.5 * w)
def rounded(walk):
    return walk._replace(n=walk.n.astype(jnp.int32))
def body(walk, w):
    return rounded(counted(walk, w)), walk.v
out = jax.lax.scan(body, Walk(x, jnp.zeros((), jnp.int32)), x)
""",
            """\
from typing import NamedTuple
class Walk(NamedTuple):
    v: jax.Array
    n: jax.Array
def touched(walk, w):
    return Walk(walk.v + w, walk.n + 1)
def body(walk, w):
    walk = walk._replace(n=walk.n / 2)
    walk = walk._replace(n=jnp.zeros((), jnp.int32))
    return touched(walk, 0.5 * w)._replace(v=walk.v), None
out = jax.lax.scan(body, Walk(x, jnp.zeros((), jnp.int32)), x)
""",
            """\
class Span:
    left, right = 0.0, 1.0
def halved(span, level):
    def body(ends, _):
        left, right = ends
        middle = ends.mean()
        return jnp.where(middle < level, jnp.array([middle, right]), jnp.array([left, middle])), middle
    return jax.lax.scan(body, jnp.array([span.left, span.right]), None, length=4)
print(halved(Span(), 0.3))
""",
        ),
    ),
    "NNX866": Cases(
        bad=(
            """\
def advance(state, _):
    return state + 1, state.sum()
def run(initial_state, n):
    return jax.lax.scan(advance, None, initial_state, n)  # NNX866
""",
            """\
def apply(state, p):
    return state * p, None
def run(initial_state, reshaped_params):
    return jax.lax.scan(apply, reshaped_params, initial_state)  # NNX866
""",
            """\
def follow(place, forces):
    def step(place, force):
        place = place + 0.1 * force
        return place, place
    return jax.lax.scan(step, forces, place)  # NNX866
""",
            """\
def settle(nodes):
    def step(nodes, _):
        return 0.5 * nodes, nodes.sum()
    return jax.lax.scan(step, None, nodes, length=5)  # NNX866
""",
            """\
def chain(key, start):
    def step(place, key):
        place = place + jax.random.normal(key, place.shape)
        return place, place
    return jax.lax.scan(step, jax.random.split(key, 3), start)[1]  # NNX866
""",
            "jax.lax.fori_loop(0, 3, lambda v, i: v + i, x)  # NNX866\n",
            "jax.lax.fori_loop(0, 3, lambda v: v * 2, x)  # NNX866\n",
            """\
def body(state, _):
    return state * 2
jax.lax.fori_loop(0, 3, body, x)  # NNX866
""",
            """\
def done(a, b):
    return a < b
jax.lax.while_loop(done, lambda s: s, (0, 3))  # NNX866
""",
            "jax.lax.scan(lambda c: (c, c), 0.0, x)  # NNX866\n",
            "y = jax.lax.cond(x[0] > 0, lambda a, b: a, lambda a, b: b, (x, x))  # NNX866\n",
            "def one(a):\n    return a\ndef two(a, b):\n    return a\ny = jax.lax.switch(1, [one, two], x)  # NNX866\n",
            "y = jax.lax.cond(x[0] > 0, lambda: x, lambda a: a, x)  # NNX866\n",
        ),
        clean=(
            """\
def apply(state, p):
    return state * p, None
def run(initial_state, reshaped_params):
    return jax.lax.scan(apply, initial_state, reshaped_params)
print(run(1.0, x))
""",
            """\
def apply(carry, init_state):
    return carry, init_state * 2
def run(inputs, init_states):
    return jax.lax.scan(apply, None, init_states)
print(run(x, x))
""",
            """\
def fill(buffer, mask, scores, places):
    def update(carry, step):
        buffer, mask = carry
        score, place = step
        return (buffer.at[place].set(score), mask.at[place].set(True)), None
    carry = (scores, places, scores)[:2]
    return jax.lax.scan(update, (buffer, mask), carry)[0]
fill(jnp.zeros(4), jnp.zeros(4, bool), jnp.ones(2), jnp.arange(2))
""",
            """\
def follow(place, forces):
    def step(place, force):
        place = place + 0.1 * force
        return place, place
    return jax.lax.scan(step, place, forces)
print(follow(jnp.zeros(4), x))
""",
            """\
def chains(keys, steps):
    def step(keys, number):
        keys = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, number)
        return keys, jax.vmap(jax.random.normal)(keys)
    return jax.lax.scan(step, keys, steps)[1]
print(chains(jax.random.split(jax.random.key(0), 2), jnp.arange(3)))
""",
            """\
def sums(rows):
    def step(_, row):
        return None, row.sum()
    return jax.lax.scan(step, None, rows)[1]
print(sums(x))
""",
            """\
def filled(keys, start):
    def step(key, row):
        key, part = jax.random.split(key)
        return key, row + jax.random.normal(part, row.shape)
    return jax.lax.scan(step, keys, start)[1]
print(filled(jax.random.key(0), x))
""",
            """\
def first(given, scale):
    return given["v"] * scale
def second(given, scale):
    return given["v"] / scale
def chosen(v):
    fixed = {"scale": 2.0}
    return jax.lax.cond(v[0] > 0, partial(first, **fixed), partial(second, **fixed), {"v": v})
print(chosen(x))
def body(i, v, scale, shift):
    return v * scale + shift
print(jax.lax.fori_loop(0, 3, partial(body, **{"scale": 2.0, "shift": 1.0}), x))
""",
            "jax.lax.fori_loop(0, 3, lambda i, v: v + i, x)\n",
            "jax.lax.fori_loop(0, 3, lambda _, v: v * 2, x)\n",
            "jax.lax.fori_loop(0, 3, partial(lambda a, i, v: v + a * i, 2.0), x)\n",
            "jax.lax.fori_loop(0, 3, lambda t, k: jax.random.fold_in(k, t), key)\n",
            "jax.lax.fori_loop(0, 3, lambda n, i: x[n].astype(int) + i, 0)\n",
            "jax.lax.scan(lambda c, v, scale=2.0: (c + v * scale, v), 0.0, x)\n",
            "jax.lax.while_loop(lambda s: s < 3, lambda *s: s[0] + 1, 0)\n",
            "y = jax.lax.cond(x[0] > 0, lambda: x, lambda: x + 1)\n",
            "def two(a, b=1):\n    return a + b\ny = jax.lax.switch(1, [lambda a: a, two], x)\n",
            "y = jax.lax.cond(x[0] > 0, lambda *a: a[0], functools.partial(jnp.add, 1), x)\n",
        ),
    ),
    "NNX867": Cases(
        bad=(
            """\
tx = optax.chain(optax.clip(1.0), optax.adam(0.1))
def step(p, state):
    updates, state = tx.update(p, state, p)
    return optax.apply_updates(p, updates), state
def train(ps):
    state = tx.init(ps)
    return jax.vmap(step)(ps, state)  # NNX867
""",
            """\
def gram(kernel, v, w):
    rows = jax.vmap(kernel, in_axes=(None, 0, None))
    return jax.vmap(lambda one: rows(one, w, scale=0.5))(v)  # NNX867
print(gram(lambda a, b, scale: (a * b).sum() * scale, jnp.ones((2, 3)), jnp.ones((4, 3))))
""",
            """\
class Kernel:
    def __init__(self, function):
        self.rows = jax.jit(jax.vmap(function, (None, 0, None)))
    def __call__(self, v, w):
        return self.rows(v, w, scale=0.5)  # NNX867
print(Kernel(lambda a, b, scale: (a * b).sum() * scale)(x, jnp.ones((4, 3))))
""",
            """\
def mapped(function):
    return jax.vmap(function, in_axes=(None, 0, None))
def scaled(a, b, scale):
    return (a * b).sum() * scale
rows = mapped(scaled)
print(rows(x, jnp.ones((4, 3)), scale=0.5))  # NNX867
print(partial(jax.vmap(scaled, (None, 0, None)), scale=0.5)(x, jnp.ones((4, 3))))  # NNX867
""",
            """\
def applied(scale, v, n):
    return v * scale * n
mapped = jax.pmap(applied, in_axes=(None, 0, None, None))  # NNX867
mapped(2.0, jnp.ones((1, 3)), 2)
""",
            """\
mesh = jax.make_mesh((1,), ("data",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
@functools.partial(jax.jit, in_shardings=(rows,))  # NNX867
def added(v, w):
    return v + w
""",
            """\
mesh = jax.make_mesh((1,), ("data",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
def forward(net, v):
    return net(v)
run = nnx.jit(forward, in_shardings=(None, rows, rows))  # NNX867
""",
            """\
mesh = jax.make_mesh((1,), ("data",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
@nnx.jit(out_shardings=(rows,))  # NNX867
def forward(net, v):
    return net(v)
def run():
    return forward(model, jnp.ones((2, 3)))
""",
            """\
def scaled(v):
    return jnp.tanh(v) * 2
print(jax.vmap(scaled, out_axes=(0,))(x))  # NNX867
""",
            """\
def both(v):
    return v + 1, v * 2
def run():
    return nnx.vmap(both, in_axes=0, out_axes=(0, 0, 0))(x)  # NNX867
""",
            """\
P = jax.sharding.PartitionSpec
mesh = jax.make_mesh((1,), ("data",))
@functools.partial(jax.shard_map, mesh=mesh, in_specs=(P("data"),), out_specs=(P("data"), P()))  # NNX867
def part(v):
    return v - v.mean()
part(x)
""",
            """\
def normed(v, stats):
    return (v - stats["mean"]) / stats["std"]
def run(data):
    stats = {"mean": data.mean(0), "std": data.std(0)}
    return jax.vmap(normed)(data, stats)  # NNX867
print(run(jax.random.normal(key, (7, 3))))
""",
            """\
params = {"w": jnp.ones((5, 2)), "b": jnp.zeros((2,))}
rows = jax.random.normal(key, (12, 5))
def predict(p, v, scale=1.0):
    return (v * scale) @ p["w"] + p["b"]
print(jax.vmap(predict, in_axes=(None, 0))(params, rows, scale=jnp.ones(5)))  # NNX867
""",
            """\
params = {"w": jnp.ones((5, 2)), "b": jnp.zeros((2,))}
rows = jax.random.normal(key, (12, 5))
def predict(p, v, scale=1.0):
    return (v * scale) @ p["w"] + p["b"]
batched = jax.vmap(predict)
def run(params, rows):
    return batched(v=rows, p=params)  # NNX867
print(run(params, rows))
""",
            """\
def standardize(v, mean, std):
    return (v - mean) / std
def run(data):
    mean, std = data.mean(axis=0), data.std(axis=0)
    return jax.vmap(standardize)(data, mean, std)  # NNX867
run(jax.random.normal(key, (12, 5)))
""",
            """\
def standardize(v, mean, std):
    return (v - mean) / std
def run(data):
    mean = jnp.mean(data, axis=0)
    std = jnp.sqrt(jnp.var(data, axis=0) + 1e-6)
    return jax.vmap(standardize, in_axes=(0, None))(data, mean, std=std)  # NNX867
run(jax.random.normal(key, (12, 5)))
""",
            """\
params = {"w": jnp.ones((5, 2)), "b": jnp.zeros((2,))}
rows = jax.random.normal(key, (12, 5))
def predict(p, v, scale=1.0):
    return (v * scale) @ p["w"] + p["b"]
def loss(p, rows, scale):
    return jax.vmap(predict, in_axes=(None, 0))(p, rows, scale=scale).sum()  # NNX867
scale = 1.0 / (jnp.std(rows, axis=0) + 1e-6)
print(jax.grad(loss)(params, rows, scale))
""",
            "def scaled(v, scale=1.0):\n    return v * scale\n"
            "print(jax.vmap(scaled)(jnp.ones((4, 3)), scale=2.0))  # NNX867\n",
            "@partial(jax.vmap, in_axes=(None, 0))\ndef logits(w, v, sharp=False):\n"
            "    return jnp.where(sharp, 2.0, 1.0) * v @ w\n"
            "print(logits(x, jnp.ones((4, 3)), sharp=True))  # NNX867\n",
            """\
def scores(f, params, v):
    slopes = jax.vmap(jax.grad(f), in_axes=(None, 0, 0))
    return slopes(params, v)  # NNX867
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 8, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(nnx.relu(self.inner(v)))
@nnx.vmap
def energies(net, v):
    return net(v)
def loss_fn(net, rows):
    return energies(net, rows).mean()  # NNX867
@nnx.jit
def step(net, optimizer, rows):
    optimizer.update(net, nnx.grad(loss_fn)(net, rows))
def main():
    net = Net(nnx.Rngs(0))
    step(net, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param), jnp.ones((5, 3)))
""",
            """\
def f(a, b, c):
    return a + b + c
y = jax.vmap(f, in_axes=(0, None))(x, 1.0, 2.0)  # NNX867
""",
            """\
def f(a, b):
    return a + b
g = jax.vmap(f, (0, None, None))  # NNX867
""",
            """\
axes = (0, 0)
@nnx.vmap(in_axes=axes)
def f(a, b, c):
    return a + b + c
f(x, x, x)  # NNX867
""",
            """\
def f(a, b):
    return a + b
g = jax.jit(jax.vmap(f, in_axes=(0, None)))
y = g(x, b=1.0)  # NNX867
""",
            "def f(a, s):\n    return a * s\ndef run(v, s=0.5):\n"
            "    return jax.jit(jax.vmap(f))(v, s)  # NNX867\nrun(x)\n",
            "def f(d):\n    return d['a'] * d['b']\ny = jax.vmap(f, in_axes={'a': 0, 'b': None})  # NNX867\n",
            "def f(p, v):\n    return v @ p['w'] + p['b']\n"
            "p = {'w': jnp.zeros((3, 2)), 'b': jnp.zeros(2)}\n"
            "y = jax.vmap(f)(p, jnp.ones((4, 3)))  # NNX867\n",
            "def make(n, m):\n    return {'w': jax.random.normal(key, (n, m)), 'b': jnp.zeros(m)}\n"
            "def f(p, v):\n    return (v @ p['w'] + p['b']).sum()\ng = jax.vmap(jax.grad(f))\n"
            "def run(p, v):\n    return g(p, v)  # NNX867\nrun(make(3, 2), jnp.ones((4, 3)))\n",
            """\
MEMBERS = 5
@nnx.split_rngs(splits=MEMBERS)
@nnx.vmap
def create(rngs):
    return nnx.Linear(3, 1, rngs=rngs)
@partial(nnx.vmap, in_axes=(0, 0))
def forward(member, v):
    return member(v)
y = forward(create(nnx.Rngs(0)), jnp.ones((8, 3)))  # NNX867
""",
            """\
def create(rngs):
    return nnx.Linear(3, 1, rngs=rngs)
stack = nnx.vmap(create, axis_size=4)(nnx.Rngs(0).fork(split=4))
y = nnx.vmap(lambda member, v: member(v))(stack, jnp.ones((8, 3)))  # NNX867
""",
        ),
        clean=(
            """\
tx = optax.chain(optax.clip(1.0), optax.adam(0.1))
plain = optax.sgd(0.1, momentum=0.9)
def step(p, state):
    updates, state = tx.update(p, state, p)
    return optax.apply_updates(p, updates), state
def falling(p, state):
    updates, state = plain.update(p, state, p)
    return optax.apply_updates(p, updates), state
def train(ps):
    return jax.vmap(step)(ps, jax.vmap(tx.init)(ps)), jax.vmap(falling)(ps, plain.init(ps))
print(train(jnp.ones((2, 3))))
""",
            """\
def scaled(self, a, b):
    return self.factor * a * b
class Scale:
    factor = 2.0
    rows = jax.vmap(scaled, in_axes=(None, 0, None))
    slope = jax.grad(scaled, argnums=1)
    def __call__(self, v):
        return self.rows(v, 1.0), self.slope(1.0, b=2.0)
jax.tree_util.register_static(Scale)
print(Scale()(x))
""",
            """\
def gram(kernel, v, w, scale):
    rows = jax.vmap(kernel, in_axes=(None, 0))
    return jax.vmap(lambda one: rows(one, w, scale=scale))(v)
print(gram(lambda a, b, scale: (a * b).sum() * scale, jnp.ones((2, 3)), jnp.ones((4, 3)), jnp.ones(4)))
""",
            """\
def wrapped(function):
    rows = jax.vmap(function, in_axes=(None, 0, None))
    @functools.wraps(function)
    def call(v, w, scale=1.0):
        return rows(v, w, scale)
    return call
print(wrapped(lambda a, b, scale: (a * b).sum() * scale)(x, jnp.ones((4, 3)), scale=3.0))
class Kernel:
    def __init__(self, function, scaled):
        if scaled:
            self.rows = jax.vmap(function, in_axes=(None, 0, None))
        else:
            self.rows = jax.vmap(function, in_axes=(None, 0))
    def __call__(self, v, w):
        return self.rows(v, w, scale=jnp.ones(4))
print(Kernel(lambda a, b, scale: (a * b).sum() * scale, False)(x, jnp.ones((4, 3))))
""",
            """\
class Images:
    def __init__(self, data):
        self.data = dict(data)
    def append(self, order, parity, block):
        self.data[(order, parity)] = block
    def items(self):
        return self.data.items()
mapped = jax.vmap(lambda scale, block, parity: block * scale + parity, in_axes=(None, 0, None))
images = Images({})
for parity in [0, 1]:
    images.append(1, parity, jnp.ones((3, 2)))
for (order, parity), block in images.items():
    print(mapped(2, block, parity))
""",
            """\
def g(v):
    return v * 3
try:
    print(h(1.0))
except NameError:
    print("not yet")
h = jax.jit(jax.vmap(jax.grad(g)))
print(h(x))
""",
            """\
def applied(f, v, n):
    return f(v) * n
mapped = jax.pmap(applied, in_axes=(None, 0, None, None), static_broadcasted_argnums=(0, 2))
print(mapped(jnp.sin, jnp.ones((1, 3)), 2))
""",
            """\
mesh = jax.make_mesh((1,), ("data",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
@functools.partial(jax.jit, in_shardings=(rows,))
def added(v, w=1.0):
    return v + w
print(added(x), jax.jit(lambda v, w: v + w, in_shardings=rows)(x, x))
""",
            """\
mesh = jax.make_mesh((1,), ("data",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
@functools.partial(jax.jit, in_shardings=(rows, rows), static_argnums=2)
def power(v, w, n):
    return (v + w) ** n
print(power(x, x, 2))
""",
            """\
mesh = jax.make_mesh((1,), ("data",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
@nnx.jit(out_shardings=rows)
def forward(net, v):
    return net(v)
def run():
    return forward(model, jnp.ones((2, 3)))
run()
""",
            """\
mesh = jax.make_mesh((1,), ("data",))
rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
@functools.partial(jax.jit, out_shardings=(rows, None))
def parts(v):
    return jnp.frexp(v)
parts(jnp.ones((2, 2)))
""",
            """\
def both(v):
    return v + 1, v * 2
print(jax.vmap(both, out_axes=0)(x), jax.vmap(both, out_axes=(0, 0))(x))
""",
            """\
def pair(v):
    return v + 1, {"twice": v * 2}
def given(v):
    return pair(v)
print(jax.vmap(given, out_axes=(0, 0))(x))
""",
            """\
def loss(w, v):
    return jnp.mean((v @ w) ** 2)
per_row = jax.vmap(jax.value_and_grad(loss), in_axes=(None, 0), out_axes=(0, 0))
both = jax.vmap(jax.grad(loss, argnums=(0, 1)), in_axes=(None, 0), out_axes=(0, 0))
print(per_row(x, jnp.ones((2, 3))), both(x, jnp.ones((2, 3))))
""",
            """\
@functools.partial(jax.vmap, out_axes=(0, 0))
@jax.value_and_grad
def energy(v):
    return jnp.sum(v**2)
print(energy(jnp.ones((2, 3))))
""",
            """\
def single(v):
    return (jnp.tanh(v),)
print(jax.vmap(single, out_axes=(0,))(x))
""",
            """\
P = jax.sharding.PartitionSpec
mesh = jax.make_mesh((1,), ("data",))
@functools.partial(jax.shard_map, mesh=mesh, in_specs=(P(),), out_specs=P())
def part(v):
    return v - 1
part(x)
""",
            """\
params = {"w": jnp.ones((5, 2)), "b": jnp.zeros((2,))}
rows = jax.random.normal(key, (12, 5))
def predict(p, v, scale=1.0):
    return (v * scale) @ p["w"] + p["b"]
print(jax.vmap(predict, in_axes=(None, 0))(params, rows, scale=jnp.ones(12)))
many = jax.tree.map(lambda v: jnp.stack([v] * 12), params)
print(jax.vmap(predict)(v=rows, p=many))
""",
            """\
def standardize(v, mean, std):
    return (v - mean) / std
def run(data):
    mean, std = data.mean(axis=0), data.std(axis=0)
    return jax.vmap(standardize, in_axes=(0, None, None))(data, mean, std)
run(jax.random.normal(key, (12, 5)))
""",
            """\
def standardize(v, mean, std):
    return (v - mean) / std
def run(data):
    mean, std = data.mean(axis=1), data.std(axis=1)
    return jax.vmap(standardize, in_axes=(0, 0))(data, mean, std=std)
run(jax.random.normal(key, (12, 5)))
""",
            """\
def standardize(v, mean, std):
    return (v - mean) / std
def run(data):
    mean, std = data.mean(axis=0), data.std(axis=0)
    return jax.vmap(standardize, in_axes=(1, 0))(data, mean, std=std)
run(jax.random.normal(key, (12, 5)))
""",
            """\
def standardize(v, mean, std):
    return (v - mean) / std
def run(data):
    mean = jnp.mean(data, axis=0, keepdims=True).repeat(12, axis=0)
    return jax.vmap(standardize)(data, mean, data.max(axis=1))
run(jax.random.normal(key, (12, 5)))
""",
            """\
params = {"w": jnp.ones((5, 2)), "b": jnp.zeros((2,))}
rows = jax.random.normal(key, (12, 5))
def predict(p, v, scale=1.0):
    return (v * scale) @ p["w"] + p["b"]
def loss(p, rows, scale):
    return jax.vmap(predict, in_axes=(None, 0, None))(p, rows, scale).sum()
scale = 1.0 / (jnp.std(rows, axis=0) + 1e-6)
print(jax.grad(loss)(params, rows, scale))
""",
            "def scaled(v, scale=1.0):\n    return v * scale\nprint(jax.vmap(scaled)(jnp.ones((3, 3)), scale=x))\n"
            "print(jax.vmap(partial(scaled, scale=2.0))(jnp.ones((3, 3))))\n"
            "print(jax.vmap(lambda v: scaled(v, scale=2.0))(x))\n",
            "def scaled(v, scale=1.0):\n    return v * scale\ndef batched(vs, s):\n"
            "    return jax.vmap(scaled)(vs, scale=s)\n"
            "print(batched(jnp.ones((3, 3)), x))\n"
            "try:\n    jax.vmap(scaled)(x, scale=2.0)\nexcept ValueError as error:\n    print(error)\n",
            """\
def scores(f, params, v):
    slopes = jax.vmap(jax.grad(f), in_axes=(None, 0))
    return slopes(params, v)
scores(lambda p, v: p * v, 1.0, x)
""",
            """\
def scores(f, params, v, axes):
    return jax.vmap(f, in_axes=(None, 0))(params, v, scale=v), jax.vmap(f, in_axes=(None, *axes))(params, v)
scores(lambda p, v, scale=1.0: p * v * scale, 1.0, x, (0,))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 8, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(nnx.relu(self.inner(v)))
@nnx.vmap(in_axes=(None, 0))
def energies(net, v):
    return net(v)
def loss_fn(net, rows):
    return energies(net, rows).mean()
@nnx.jit
def step(net, optimizer, rows):
    optimizer.update(net, nnx.grad(loss_fn)(net, rows))
def main():
    net = Net(nnx.Rngs(0))
    step(net, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param), jnp.ones((5, 3)))
main()
""",
            "def f(v):\n    return v * 2\nv = np.arange(4.0)\ny = jax.jit(jax.vmap(f))(jnp.array(v[[1]]))\n",
            """\
class Grid:
    @staticmethod
    def moves(a, b, c):
        return a + b + c
    def run(self, v):
        return jax.vmap(self.moves, in_axes=(0, None, None))(v, 1.0, 2.0)
Grid().run(x)
""",
            """\
def body(c, v):
    return c + v, v
scanned = nnx.scan(body, in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
total, _ = scanned(c=0.0, v=x)
""",
            """\
def f(a, b, c=1.0):
    return a + b + c
y = jax.vmap(f, in_axes=(0, None))(x, 2.0)
""",
            """\
def f(a, b):
    return a + b
y = jax.vmap(f, in_axes=0)(x, x) + jax.vmap(f, in_axes=(0,))(x, b=x)
""",
            """\
def f(*parts):
    return sum(parts)
y = jax.vmap(f, in_axes=(0, None, None))(x, 1.0, 2.0)
""",
            """\
class Model:
    def f(self, a, b):
        return a + b
    def run(self, a):
        return jax.vmap(self.f, in_axes=(0, None))(a, 1.0)
Model().run(x)
""",
            """\
def f(a, b):
    return a['v'] + b
y = jax.vmap(f, in_axes=({'v': 0}, None))({'v': x}, 1.0)
""",
            """\
def f(a, b, c):
    return a + b + c
y = jax.vmap(partial(f, 1.0), in_axes=(0, None))(x, 2.0)
""",
            "def f(a, s):\n    return a * s\ndef run(v, s):\n    return jax.jit(jax.vmap(f))(v, s)\nrun(x, x)\n",
            "def f(d):\n    return d['a'] * d['b']\n"
            "y = jax.vmap(f, in_axes=({'a': 0, 'b': None},))({'a': x, 'b': 2.0})\n",
            "def make(k, n=3, m=2):\n    return {'w': jax.random.normal(k, (n, m)), 'b': jnp.zeros(m)}\n"
            "def f(p, v):\n    return v @ p['w'] + p['b']\n"
            "many = jax.vmap(make)(jax.random.split(key, 4))\ny = jax.vmap(f)(many, jnp.ones((4, 3)))\n",
            "def f(p, v):\n    return v @ p['w'] + p['b']\n"
            "p = {'w': jnp.zeros((4, 3, 2)), 'b': jnp.zeros((4, 2))}\n"
            "y = jax.vmap(f)(p, jnp.ones((4, 3)))\n",
            """\
MEMBERS = 5
@nnx.split_rngs(splits=MEMBERS)
@nnx.vmap
def create(rngs):
    return nnx.Linear(3, 1, rngs=rngs)
@partial(nnx.vmap, in_axes=(0, None))
def forward(member, v):
    return member(v)
@nnx.vmap
def each(member, v):
    return member(v)
stack = create(nnx.Rngs(0))
y = forward(stack, jnp.ones((8, 3)))
z = each(stack, jnp.ones((5, 8, 3)))
""",
            """\
MEMBERS = 5
def create(rngs):
    return nnx.Linear(3, 1, rngs=rngs)
one = create(nnx.Rngs(0))
few = nnx.vmap(create)(nnx.Rngs(0).fork(split=4))
more = nnx.vmap(create)(nnx.Rngs(1).fork(split=8))
def run(stack, v):
    return nnx.vmap(lambda member, u: member(u))(stack, v)
y = run(few, jnp.ones((4, 3)))
z = run(more, jnp.ones((8, 3)))
""",
        ),
    ),
    "NNX868": Cases(
        bad=(
            # an input that no layer hands on
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
class Deep(nnx.Module):
    def __init__(self, depth, rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(axis_size=depth)
        def build(r):
            return Layer(r)
        self.layers = build(rngs)
        self.head = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        @nnx.scan(in_axes=(0, None), out_axes=0)  # NNX868
        def run(layer, h):
            return layer(h)
        return self.head(run(self.layers, v)[-1])[:, 0]
print(Deep(4, nnx.Rngs(0))(jnp.ones((2, 3))).shape)
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
class Deep(nnx.Module):
    def __init__(self, depth, rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(axis_size=depth)
        def build(r):
            return Layer(r)
        self.layers = build(rngs)
        self.head = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        @nnx.scan(in_axes=(0, None), out_axes=0)  # NNX868
        def run(layer, h):
            return layer(h)
        outputs = run(self.layers, v)
        return self.head(outputs[-1])
print(Deep(4, nnx.Rngs(0))(jnp.ones((2, 3))).shape)
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
@nnx.split_rngs(splits=2)
@nnx.vmap
def make(rngs):
    return Layer(rngs)
stack = make(nnx.Rngs(0))
@nnx.scan(in_axes=(None, nnx.Carry), out_axes=nnx.Carry, length=2)  # NNX868
def run(layer, v):
    return layer(v)
print(run(stack, x))
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
@nnx.split_rngs(splits=2)
@nnx.vmap
def make(rngs):
    return Layer(rngs)
class Deep(nnx.Module):
    def __init__(self, rngs):
        self.layers = make(rngs)
    def __call__(self, v):
        def run(v, layer):
            return layer(v)
        return nnx.scan(run, in_axes=(nnx.Carry, None), out_axes=nnx.Carry, length=2)(v, self.layers)  # NNX868
print(Deep(nnx.Rngs(0))(x))
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
@nnx.split_rngs(splits=2)
@nnx.vmap
def make(rngs):
    return Layer(rngs)
members = nnx.split_rngs(nnx.vmap(Layer), splits=2)(nnx.Rngs(0))
ask = nnx.vmap(lambda member, v: member(v), in_axes=(None, 0))  # NNX868
print(ask(members, jnp.ones((2, 3))))
""",
            """\
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)  # NNX868
def forward(layer, h):
    return layer(h)
""",
            """\
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=0)  # NNX868
def forward(layer, h):
    return layer(h)
""",
            """\
@nnx.scan(in_axes=(0, 0), out_axes=(nnx.Carry, 0))  # NNX868
def forward(layer, h):
    return layer(h), h
""",
            """\
def forward(layer: nnx.Linear, h):
    return layer(h), None
run = nnx.scan(forward, in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))  # NNX868
""",
            """\
@nnx.split_rngs(splits=3)
@nnx.vmap
def create(rngs):
    return nnx.Linear(4, 4, rngs=rngs)
layers = create(nnx.Rngs(0))
axes = nnx.StateAxes({nnx.Param: None, ...: 0})
def forward(stack, v):
    @nnx.scan(in_axes=(axes, nnx.Carry), out_axes=nnx.Carry, length=3)  # NNX868
    def run(layer, h):
        return layer(h)
    return run(stack, v)
y = forward(layers, jnp.ones((2, 4)))
""",
        ),
        clean=(
            # carried, or members of an ensemble
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
class Deep(nnx.Module):
    def __init__(self, depth, rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(axis_size=depth)
        def build(r):
            return Layer(r)
        self.layers = build(rngs)
        self.head = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        @nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
        def run(layer, h):
            return layer(h)
        return self.head(run(self.layers, v))[:, 0]
print(Deep(4, nnx.Rngs(0))(jnp.ones((2, 3))).shape)
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
class Deep(nnx.Module):
    def __init__(self, depth, rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(axis_size=depth)
        def build(r):
            return Layer(r)
        self.layers = build(rngs)
        self.head = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        @nnx.scan(in_axes=(0, None), out_axes=0)
        def run(layer, h):
            return layer(h)
        return self.head(run(self.layers, v).mean(0))
print(Deep(4, nnx.Rngs(0))(jnp.ones((2, 3))).shape)
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
class Deep(nnx.Module):
    def __init__(self, depth, rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(axis_size=depth)
        def build(r):
            return Layer(r)
        self.layers = build(rngs)
        self.head = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        @nnx.scan(in_axes=(0, None), out_axes=0)
        def run(layer, h):
            return layer(h)
        outputs = run(self.layers, v)
        return self.head(outputs[-1]) - self.head(outputs.mean(0))
print(Deep(4, nnx.Rngs(0))(jnp.ones((2, 3))).shape)
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
@nnx.split_rngs(splits=2)
@nnx.vmap
def make(rngs):
    return Layer(rngs)
stack = make(nnx.Rngs(0))
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def run(layer, v):
    return layer(v)
print(run(stack, x))
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
@nnx.split_rngs(splits=2)
@nnx.vmap
def make(rngs):
    return Layer(rngs)
shared = Layer(nnx.Rngs(0))
@nnx.scan(in_axes=(None, nnx.Carry), out_axes=nnx.Carry, length=2)
def run(layer, v):
    return layer(v)
print(run(shared, x))
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
@nnx.split_rngs(splits=2)
@nnx.vmap
def make(rngs):
    return Layer(rngs)
stack = make(nnx.Rngs(0))
ask = nnx.vmap(lambda member, v: member(v), in_axes=(0, None))
print(ask(stack, x))
print(nnx.vmap(lambda member, v: member(v), in_axes=(None, 0))(Layer(nnx.Rngs(0)), jnp.ones((2, 3))))
""",
            """\
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return v + self.fc(v)
@nnx.split_rngs(splits=2)
@nnx.vmap
def make(rngs):
    return Layer(rngs)
stack = make(nnx.Rngs(0))
@nnx.scan(in_axes=(None, nnx.Carry, 0), out_axes=nnx.Carry)
def run(layers, v, i):
    one = jax.tree.map(lambda p: p[i], nnx.state(layers))
    return v + one["fc"]["kernel"][...].sum()
print(run(stack, x, jnp.arange(2)))
""",
            """\
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(layer, h):
    return layer(h)
""",
            """\
@nnx.scan(in_axes=(nnx.Carry, 0))
def forward(h, v):
    return h + v, v
forward(0.0, x)
""",
            """\
@nnx.scan(in_axes=(None, 0), out_axes=0)
def forward(layer, v):
    return layer(v)
forward(model, jnp.ones((4, 3)))
""",
            """\
@nnx.scan(in_axes=(nnx.StateAxes({nnx.RngState: nnx.Carry, ...: None}), nnx.Carry, 0), out_axes=(nnx.Carry, 0))
def forward(cell, h, v):
    return cell(h, v)
""",
            """\
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
def forward(counter, v):
    counter = counter + 1
    return counter, v
forward(0, x)
""",
            """\
@nnx.split_rngs(splits=3)
@nnx.vmap
def create(rngs):
    return nnx.Linear(4, 4, rngs=rngs)
layers = create(nnx.Rngs(0))
axes = nnx.StateAxes({nnx.Param: 0, ...: None})
@nnx.scan(in_axes=(axes, nnx.Carry), out_axes=nnx.Carry)
def run(layer, h):
    return layer(h)
y = run(layers, jnp.ones((2, 4)))
@nnx.vmap(in_axes=(None, 0))
def each(stack, h):
    return nnx.vmap(lambda layer, v: layer(v), in_axes=(0, None))(stack, h)
z = each(layers, jnp.ones((5, 2, 4)))
@nnx.vmap(in_axes=(None, 0))
def shared(layer, h):
    return layer(h)
w = shared(nnx.Linear(4, 4, rngs=nnx.Rngs(1)), jnp.ones((3, 2, 4)))
""",
        ),
    ),
}

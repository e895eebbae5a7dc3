"""Attention, sequences and what else reads only a part of what it is given."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    "a mask of padding that is True for padding": Pair(
        "NNX732",
        """
FILL = 0

class Sentences(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(10, 8, rngs=rngs)
        self.mix = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)

    def encode(self, tokens, mask):
        return self.mix(self.embed(tokens), mask=mask)

    def __call__(self, tokens, pad_id=FILL):
        key_padding_mask = tokens == pad_id
        return self.encode(tokens, key_padding_mask[:, None, None, :])

model = Sentences(nnx.Rngs(0))
one, other = jnp.array([[3, 4, 5, FILL]]), jnp.array([[3, 4, 6, FILL]])
print(f"{float(jnp.abs(model(one)[0, 0] - model(other)[0, 0]).max()):.3f}")
""",
        """
FILL = 0

class Sentences(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(10, 8, rngs=rngs)
        self.mix = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)

    def encode(self, tokens, mask):
        return self.mix(self.embed(tokens), mask=mask)

    def __call__(self, tokens, pad_id=FILL):
        key_padding_mask = tokens == pad_id
        return self.encode(tokens, ~key_padding_mask[:, None, None, :])

model = Sentences(nnx.Rngs(0))
one, other = jnp.array([[3, 4, 5, FILL]]), jnp.array([[3, 4, 6, FILL]])
print(f"{float(jnp.abs(model(one)[0, 0] - model(other)[0, 0]).max()):.3f}")
""",
    ),
    "lengths turned into a mask of what lies behind them, in a module of its own": Pair(
        "NNX732",
        """
from masks import from_lengths

q = jnp.linspace(-1.0, 1.0, 48).reshape(2, 4, 2, 3)
print(nnx.dot_product_attention(q, q, q, mask=from_lengths(jnp.array([2, 3]), 4)).round(3))
# file: masks.py
import jax.numpy as jnp

def from_lengths(lengths, size):
    places = jnp.arange(size)
    return (places[None, :] >= lengths[:, None])[:, None, None, :]
""",
        """
from masks import from_lengths

q = jnp.linspace(-1.0, 1.0, 48).reshape(2, 4, 2, 3)
print(nnx.dot_product_attention(q, q, q, mask=from_lengths(jnp.array([2, 3]), 4)).round(3))
# file: masks.py
import jax.numpy as jnp

def from_lengths(lengths, size):
    places = jnp.arange(size)
    return (places[None, :] < lengths[:, None])[:, None, None, :]
""",
    ),
    "a flag that a checkpointed function hands to its block": Pair(
        "NNX822",
        """
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(4, 4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x, train):
        h = self.dense(x)
        return self.drop(h) if train else h

def run(layer, x, train):
    return x + layer(x, train)

cheap = nnx.remat(run)
layers = [Layer(nnx.Rngs(i)) for i in range(2)]

def loss(layers, x):
    for layer in layers:
        x = cheap(layer, x, False)
    return x.sum()

print(f"{float(loss(layers, x)):.3f}")
""",
        """
class Layer(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(4, 4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x, train):
        h = self.dense(x)
        return self.drop(h) if train else h

def run(layer, x, train):
    return x + layer(x, train)

cheap = nnx.remat(run, static_argnums=(2,))
layers = [Layer(nnx.Rngs(i)) for i in range(2)]

def loss(layers, x):
    for layer in layers:
        x = cheap(layer, x, False)
    return x.sum()

print(f"{float(loss(layers, x)):.3f}")
""",
    ),
    "an advantage whose log-probabilities are chosen under another name": Pair(
        "NNX734",
        """
class Agent(nnx.Module):
    def __init__(self, rngs):
        self.actor = nnx.Linear(4, 2, rngs=rngs)
        self.judge = nnx.Linear(4, 1, rngs=rngs)

    def policy(self, obs):
        return nnx.log_softmax(self.actor(obs))

    def value(self, obs):
        return self.judge(obs)[..., 0]

def objective(agent, obs, actions, returns):
    guess = agent.value(obs)
    chosen = jnp.take_along_axis(agent.policy(obs), actions[:, None], axis=1)[:, 0]
    advantage = returns - guess
    return -(chosen * advantage).mean() + jnp.square(returns - guess).mean()

agent = Agent(nnx.Rngs(0))
optimizer = nnx.Optimizer(agent, optax.sgd(0.1), wrt=nnx.Param)
for _ in range(20):
    grads = nnx.grad(objective)(agent, x, labels, jnp.ones(8))
    optimizer.update(agent, grads)
print(f"{float(agent.value(x).mean()):.3f}")
""",
        """
class Agent(nnx.Module):
    def __init__(self, rngs):
        self.actor = nnx.Linear(4, 2, rngs=rngs)
        self.judge = nnx.Linear(4, 1, rngs=rngs)

    def policy(self, obs):
        return nnx.log_softmax(self.actor(obs))

    def value(self, obs):
        return self.judge(obs)[..., 0]

def objective(agent, obs, actions, returns):
    guess = agent.value(obs)
    chosen = jnp.take_along_axis(agent.policy(obs), actions[:, None], axis=1)[:, 0]
    advantage = jax.lax.stop_gradient(returns - guess)
    return -(chosen * advantage).mean() + jnp.square(returns - guess).mean()

agent = Agent(nnx.Rngs(0))
optimizer = nnx.Optimizer(agent, optax.sgd(0.1), wrt=nnx.Param)
for _ in range(20):
    grads = nnx.grad(objective)(agent, x, labels, jnp.ones(8))
    optimizer.update(agent, grads)
print(f"{float(agent.value(x).mean()):.3f}")
""",
    ),
    "the carry of a cell made anew for every step": Pair(
        "NNX798",
        """
class Echo(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.LSTMCell(1, 6, rngs=rngs)
        self.head = nnx.Linear(6, 1, rngs=rngs)

    def __call__(self, notes):
        heard = []
        for t in range(notes.shape[1]):
            state = self.cell.initialize_carry((notes.shape[0], 1), nnx.Rngs(1))
            state, h = self.cell(state, notes[:, t])
            heard.append(h)
        return self.head(jnp.stack(heard, axis=1))

model = Echo(nnx.Rngs(0))
first = jnp.zeros((1, 3, 1)).at[0, 0].set(2.0)
print(f"{float(jnp.abs(model(first) - model(first * 0))[0, -1, 0]):.4f}")
""",
        """
class Echo(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.LSTMCell(1, 6, rngs=rngs)
        self.head = nnx.Linear(6, 1, rngs=rngs)

    def __call__(self, notes):
        heard = []
        state = self.cell.initialize_carry((notes.shape[0], 1), nnx.Rngs(1))
        for t in range(notes.shape[1]):
            state, h = self.cell(state, notes[:, t])
            heard.append(h)
        return self.head(jnp.stack(heard, axis=1))

model = Echo(nnx.Rngs(0))
first = jnp.zeros((1, 3, 1)).at[0, 0].set(2.0)
print(f"{float(jnp.abs(model(first) - model(first * 0))[0, -1, 0]):.4f}")
""",
    ),
    "a token that is decoded with is_causal": Pair(
        "NNX712",
        """
class Step(nnx.Module):
    def __init__(self, rngs):
        self.mix = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)

    def __call__(self, h, decode=False):
        return self.mix(h, decode=decode, is_causal=True)

net = Step(nnx.Rngs(0))
h = jnp.linspace(-1.0, 1.0, 40).reshape(1, 5, 8)
net.mix.init_cache((1, 5, 8))
steps = jnp.concatenate([net(h[:, t : t + 1], decode=True) for t in range(5)], axis=1)
print(f"{float(jnp.abs(steps - net(h)).max()):.2f}")
""",
        """
class Step(nnx.Module):
    def __init__(self, rngs):
        self.mix = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)

    def __call__(self, h, decode=False):
        return self.mix(h, decode=decode, is_causal=not decode)

net = Step(nnx.Rngs(0))
h = jnp.linspace(-1.0, 1.0, 40).reshape(1, 5, 8)
net.mix.init_cache((1, 5, 8))
steps = jnp.concatenate([net(h[:, t : t + 1], decode=True) for t in range(5)], axis=1)
print(f"{float(jnp.abs(steps - net(h)).max()):.2f}")
""",
        since="0.12",
    ),
    "the last output of sequences that are filled up": Pair(
        "NNX713",
        """
class Summary(nnx.Module):
    def __init__(self, rngs):
        self.reader = nnx.RNN(nnx.GRUCell(4, 6, rngs=rngs))
        self.head = nnx.Linear(6, 1, rngs=rngs)

    def __call__(self, notes, lengths):
        heard = self.reader(notes)
        return self.head(heard[:, -1])

net = Summary(nnx.Rngs(0))
short = jnp.ones((1, 3, 4))
longer = jnp.pad(short, ((0, 0), (0, 4), (0, 0)))
size = jnp.array([3])
print(f"{float(jnp.abs(net(short, size) - net(longer, size)).max()):.3f}")
""",
        """
class Summary(nnx.Module):
    def __init__(self, rngs):
        self.reader = nnx.RNN(nnx.GRUCell(4, 6, rngs=rngs))
        self.head = nnx.Linear(6, 1, rngs=rngs)

    def __call__(self, notes, lengths):
        heard = self.reader(notes)
        return self.head(heard[jnp.arange(len(lengths)), lengths - 1])

net = Summary(nnx.Rngs(0))
short = jnp.ones((1, 3, 4))
longer = jnp.pad(short, ((0, 0), (0, 4), (0, 0)))
size = jnp.array([3])
print(f"{float(jnp.abs(net(short, size) - net(longer, size)).max()):.3f}")
""",
    ),
    "kernels of experts whose number counts among the inputs": Pair(
        "NNX796",
        """
class Bank(nnx.Module):
    def __init__(self, count, rngs):
        start = nnx.initializers.lecun_normal()
        self.kernels = nnx.Param(start(rngs.params(), (count, 16, 16)))

    def __call__(self, grouped):
        return jnp.einsum("ecd,edh->ech", grouped, self.kernels[...])

bank = Bank(16, nnx.Rngs(0))
print(f"{float(bank(jnp.ones((16, 2, 16))).std()):.2f}")
""",
        """
class Bank(nnx.Module):
    def __init__(self, count, rngs):
        start = nnx.initializers.lecun_normal(batch_axis=(0,))
        self.kernels = nnx.Param(start(rngs.params(), (count, 16, 16)))

    def __call__(self, grouped):
        return jnp.einsum("ecd,edh->ech", grouped, self.kernels[...])

bank = Bank(16, nnx.Rngs(0))
print(f"{float(bank(jnp.ones((16, 2, 16))).std()):.2f}")
""",
    ),
}

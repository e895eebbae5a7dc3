"""Mistakes with signatures, shapes, schedules and shares: what people bring along from other libraries."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    # optax users from PyTorch: unexpected keyword argument 'lr'
    "adam lr keyword": Pair(
        "NNX762",
        """
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(lr=1e-3), wrt=nnx.Param)
grads = nnx.grad(lambda m: (m(jnp.ones((2, 2))) ** 2).mean())(model)
optimizer.update(model, grads)
print(model.kernel[...].shape)
""",
        """
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(learning_rate=1e-3), wrt=nnx.Param)
grads = nnx.grad(lambda m: (m(jnp.ones((2, 2))) ** 2).mean())(model)
optimizer.update(model, grads)
print(model.kernel[...].shape)
""",
        since="0.12",
    ),
    # optax quick start: the state is made anew in every step
    "init in step": Pair(
        "NNX838",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx

tx = optax.adam(0.1)
graph, params = nnx.split(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), nnx.Param)


def loss_fn(params, x):
    return jnp.mean((nnx.merge(graph, params)(x) - 3.0) ** 2)


@jax.jit
def step(params, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    opt_state = tx.init(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), loss


x = jnp.ones((4, 2))
for i in range(4):
    params, loss = step(params, x * (i + 1))
print(params)
""",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx

tx = optax.adam(0.1)
graph, params = nnx.split(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), nnx.Param)


def loss_fn(params, x):
    return jnp.mean((nnx.merge(graph, params)(x) - 3.0) ** 2)


@jax.jit
def step(params, opt_state, x):
    loss, grads = jax.value_and_grad(loss_fn)(params, x)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


x = jnp.ones((4, 2))
opt_state = tx.init(params)
for i in range(4):
    params, opt_state, loss = step(params, opt_state, x * (i + 1))
print(params)
""",
        since="0.12",
    ),
    # optax issue threads: labels of the other kind
    "onehot to integer loss": Pair(
        "NNX886",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
x = jnp.ones((5, 4))
labels = jnp.array([0, 1, 2, 1, 0])


@nnx.jit
def loss_fn(model, x, labels):
    logits = model(x)
    targets = jax.nn.one_hot(labels, 3)
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()


print(loss_fn(model, x, labels))
""",
        """
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
x = jnp.ones((5, 4))
labels = jnp.array([0, 1, 2, 1, 0])


@nnx.jit
def loss_fn(model, x, labels):
    logits = model(x)
    targets = jax.nn.one_hot(labels, 3)
    return optax.softmax_cross_entropy(logits, targets).mean()


print(loss_fn(model, x, labels))
""",
        since="0.12",
    ),
    # optax issue on warmup_cosine_decay_schedule: decay_steps counts the warmup
    "warmup longer": Pair(
        "NNX766",
        """
import jax.numpy as jnp
import optax
from flax import nnx

warmup, total = 1000, 500
schedule = optax.warmup_cosine_decay_schedule(
    init_value=0.0, peak_value=1e-3, warmup_steps=warmup, decay_steps=total
)
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(schedule), wrt=nnx.Param)
print(schedule(10))
""",
        """
import jax.numpy as jnp
import optax
from flax import nnx

warmup, total = 1000, 500
schedule = optax.warmup_cosine_decay_schedule(
    init_value=0.0, peak_value=1e-3, warmup_steps=warmup, decay_steps=warmup + total
)
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(schedule), wrt=nnx.Param)
print(schedule(10))
""",
        since="0.12",
    ),
    # Stack Overflow: PyTorch's dim for axis
    "torch dim": Pair(
        "NNX762",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def probabilities(model, x):
    return jax.nn.softmax(model(x), dim=-1)


model = nnx.Linear(3, 4, rngs=nnx.Rngs(0))
print(probabilities(model, jnp.ones((2, 3))).sum())
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def probabilities(model, x):
    return jax.nn.softmax(model(x), axis=-1)


model = nnx.Linear(3, 4, rngs=nnx.Rngs(0))
print(probabilities(model, jnp.ones((2, 3))).sum())
""",
        since="0.12",
    ),
    # Stack Overflow: PyTorch names in jax.numpy
    "cat missing": Pair(
        "NNX762",
        """
import jax.numpy as jnp
from flax import nnx


class Skip(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return jnp.cat([x, self.a(x)], axis=-1)


print(Skip(nnx.Rngs(0))(jnp.ones((2, 3))).shape)
""",
        """
import jax.numpy as jnp
from flax import nnx


class Skip(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return jnp.concatenate([x, self.a(x)], axis=-1)


print(Skip(nnx.Rngs(0))(jnp.ones((2, 3))).shape)
""",
        since="0.12",
    ),
    # Stack Overflow: concatenate takes one sequence
    "concatenate two": Pair(
        "NNX763",
        """
import jax.numpy as jnp
from flax import nnx

embed = nnx.Embed(5, 4, rngs=nnx.Rngs(0))
tokens = embed(jnp.arange(3))
cls = jnp.zeros((1, 4))
x = jnp.concatenate(cls, tokens)
print(x.shape)
""",
        """
import jax.numpy as jnp
from flax import nnx

embed = nnx.Embed(5, 4, rngs=nnx.Rngs(0))
tokens = embed(jnp.arange(3))
cls = jnp.zeros((1, 4))
x = jnp.concatenate([cls, tokens])
print(x.shape)
""",
        since="0.12",
    ),
    # Stack Overflow: zeros(3, 4) takes 4 for the type
    "zeros two numbers": Pair(
        "NNX763",
        """
import jax.numpy as jnp
from flax import nnx

hidden = 4
state = jnp.zeros(3, hidden)
cell = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
print(cell(state).shape)
""",
        """
import jax.numpy as jnp
from flax import nnx

hidden = 4
state = jnp.zeros((3, hidden))
cell = nnx.Linear(4, 4, rngs=nnx.Rngs(0))
print(cell(state).shape)
""",
        since="0.12",
    ),
    # jax discussions: random.normal(key, 3, 4)
    "normal shape numbers": Pair(
        "NNX763",
        """
import jax
import jax.numpy as jnp
from flax import nnx

key = jax.random.key(0)
batch, features = 8, 4
x = jax.random.normal(key, batch, features)
model = nnx.Linear(features, 2, rngs=nnx.Rngs(0))
print(model(x).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx

key = jax.random.key(0)
batch, features = 8, 4
x = jax.random.normal(key, (batch, features))
model = nnx.Linear(features, 2, rngs=nnx.Rngs(0))
print(model(x).shape)
""",
        since="0.12",
    ),
    # jax issue threads on NamedSharding: more axes in the spec than the array has
    "spec too long": Pair(
        "NNX863",
        """
import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(jax.devices()[:1], ("data",))
x = jnp.ones((8, 4))
x = jax.device_put(x, NamedSharding(mesh, P("data", None, None)))
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(model(x).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(jax.devices()[:1], ("data",))
x = jnp.ones((8, 4))
x = jax.device_put(x, NamedSharding(mesh, P("data", None)))
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(model(x).shape)
""",
        since="0.12",
    ),
    # jax docs of make_mesh: another number of names than axes
    "mesh names": Pair(
        "NNX863",
        """
import jax
import jax.numpy as jnp
from flax import nnx

mesh = jax.make_mesh((1, 1), ("data",))
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
with mesh:
    print(model(jnp.ones((2, 4))).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx

mesh = jax.make_mesh((1, 1), ("data", "model"))
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
with mesh:
    print(model(jnp.ones((2, 4))).shape)
""",
        since="0.12",
    ),
    # Stack Overflow: TypeError, indexer must have integer or boolean type
    "float index": Pair(
        "NNX764",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def middle(model, x):
    h = model(x)
    index = h.shape[0] / 2
    return h[index]


model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(middle(model, jnp.ones((6, 4))).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def middle(model, x):
    h = model(x)
    index = h.shape[0] / 2
    return h[int(index)]


model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(middle(model, jnp.ones((6, 4))).shape)
""",
        since="0.12",
    ),
    # jax docs of lax.switch: the index is an integer
    "switch float index": Pair(
        "NNX764",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def route(model, x, level):
    h = model(x)
    index = jnp.floor(level * 2.0)
    return jax.lax.switch(index, [jnp.sin, jnp.cos, jnp.tanh], h)


model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(route(model, jnp.ones((6, 4)), 0.6).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def route(model, x, level):
    h = model(x)
    index = jnp.floor(level * 2.0).astype(jnp.int32)
    return jax.lax.switch(index, [jnp.sin, jnp.cos, jnp.tanh], h)


model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
print(route(model, jnp.ones((6, 4)), 0.6).shape)
""",
        since="0.12",
    ),
    # jax docs of vmap: nothing is mapped
    "vmap all none": Pair(
        "NNX867",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def score(w, x):
    return jnp.dot(w, x)


embed = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
w, xs = jnp.ones(3), embed(jnp.ones((5, 3)))
batched = jax.vmap(score, in_axes=(None, None))
print(batched(w, xs).shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def score(w, x):
    return jnp.dot(w, x)


embed = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
w, xs = jnp.ones(3), embed(jnp.ones((5, 3)))
batched = jax.vmap(score, in_axes=(None, 0))
print(batched(w, xs).shape)
""",
        since="0.12",
    ),
    # jax issue: static_argnames of a parameter that is not there
    "static typo": Pair(
        "NNX828",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


@partial(jax.jit, static_argnames=("num_step",))
def rollout(x, num_steps):
    for _ in range(num_steps):
        x = jnp.tanh(x)
    return x


model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
print(rollout(model(jnp.ones(3)), num_steps=3))
""",
        """
from functools import partial

import jax
import jax.numpy as jnp
from flax import nnx


@partial(jax.jit, static_argnames=("num_steps",))
def rollout(x, num_steps):
    for _ in range(num_steps):
        x = jnp.tanh(x)
    return x


model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
print(rollout(model(jnp.ones(3)), num_steps=3))
""",
        since="0.12",
    ),
    # Stack Overflow: truth value of an array with more than one element
    "arrays in if": Pair(
        "NNX760",
        """
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
before = model.kernel[...]
model.kernel[...] = before * 2
after = model.kernel[...]
same = jnp.ones((3, 3)) == jnp.zeros((3, 3))
if same:
    print("unchanged")
else:
    print("changed")
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
before = model.kernel[...]
model.kernel[...] = before * 2
after = model.kernel[...]
same = jnp.ones((3, 3)) == jnp.zeros((3, 3))
if same.all():
    print("unchanged")
else:
    print("changed")
""",
        since="0.12",
    ),
    # jax users: accuracy by integer division is always zero
    "mean axis of int": Pair(
        "NNX767",
        """
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (10, 4))
labels = jnp.argmax(model(x), axis=-1).at[0].set(9)
correct = (jnp.argmax(model(x), axis=-1) == labels).sum()
accuracy = correct // len(labels)
print(accuracy)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx

model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (10, 4))
labels = jnp.argmax(model(x), axis=-1).at[0].set(9)
correct = (jnp.argmax(model(x), axis=-1) == labels).sum()
accuracy = correct / len(labels)
print(accuracy)
""",
        since="0.12",
    ),
    # jax users: log of a softmax that underflows
    "log softmax log": Pair(
        "NNX765",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def nll(model, x, label):
    probs = jax.nn.softmax(model(x) * 1000.0)
    return -jnp.log(probs)[label]


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
print(nll(model, jnp.ones(4), 0), nll(model, jnp.ones(4), 1), nll(model, jnp.ones(4), 2))
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


@nnx.jit
def nll(model, x, label):
    probs = jax.nn.softmax(model(x) * 1000.0)
    return -jax.nn.log_softmax(model(x) * 1000.0)[label]


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
print(nll(model, jnp.ones(4), 0), nll(model, jnp.ones(4), 1), nll(model, jnp.ones(4), 2))
""",
        since="0.12",
    ),
    # jax docs of value_and_grad: has_aux gives a nested pair
    "iterate grads pair": Pair(
        "NNX850",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def loss_fn(model, x):
    out = model(x)
    return jnp.mean(out**2), out


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
loss, out, grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, jnp.ones((2, 4)))
print(loss, out.shape)
""",
        """
import jax
import jax.numpy as jnp
from flax import nnx


def loss_fn(model, x):
    out = model(x)
    return jnp.mean(out**2), out


model = nnx.Linear(4, 3, rngs=nnx.Rngs(0))
(loss, out), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, jnp.ones((2, 4)))
print(loss, out.shape)
""",
        since="0.12",
    ),
}

"""Mistakes that people make in training code, in many shapes."""

from __future__ import annotations

from tests.lint.programs import Pair

PAIRS = {
    "step without parameters": Pair(
        "NNX801",
        """
model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

@nnx.jit
def train_step():
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss

for _ in range(3):
    train_step()
print(total(model))
""",
        """
model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

@nnx.jit
def train_step(model, optimizer):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss

for _ in range(3):
    train_step(model, optimizer)
print(total(model))
""",
    ),
    "evaluation of a stale capture": Pair(
        "NNX801",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))

@jax.jit
def evaluate():
    return model(x).sum()

evaluate()
model.kernel.value = model.kernel.value * 2
print(f"{float(evaluate()):.3f}")
""",
        """
model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))

@nnx.jit
def evaluate(model):
    return model(x).sum()

evaluate(model)
model.kernel.value = model.kernel.value * 2
print(f"{float(evaluate(model)):.3f}")
""",
    ),
    "update under jax.jit, eval later": Pair(
        "NNX816",
        """
def train_step(model, optimizer, x, y):
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)

def main():
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.5), wrt=nnx.Param)
    step = jax.jit(train_step)
    for _ in range(3):
        step(model, optimizer, x, y)
    model.eval()
    print(total(model), f"{float(model(x).sum()):.3f}")

main()
""",
        """
def train_step(model, optimizer, x, y):
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)

def main():
    model = Net(nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.5), wrt=nnx.Param)
    step = nnx.jit(train_step)
    for _ in range(3):
        step(model, optimizer, x, y)
    model.eval()
    print(total(model), f"{float(model(x).sum()):.3f}")

main()
""",
    ),
    "one key for two helpers": Pair(
        "NNX830",
        """
def inputs(key):
    return jax.random.normal(key, (3,))

def noise(rng):
    return jax.random.normal(rng, (3,))

key = jax.random.key(0)
a = inputs(key)
b = noise(key)
print(bool((a == b).all()))
""",
        """
def inputs(key):
    return jax.random.normal(key, (3,))

def noise(rng):
    return jax.random.normal(rng, (3,))

first, second = jax.random.split(jax.random.key(0))
a = inputs(first)
b = noise(second)
print(bool((a == b).all()))
""",
    ),
    "one key for a helper in a loop": Pair(
        "NNX830",
        """
def layer(key, n):
    w, b = jax.random.split(key)
    return jax.random.normal(w, (n, n)), jax.random.normal(b, (n,))

key = jax.random.PRNGKey(3)
params = []
for _ in range(3):
    params.append(layer(key, 2))
print(bool((params[0][0] == params[1][0]).all()))
""",
        """
def layer(key, n):
    w, b = jax.random.split(key)
    return jax.random.normal(w, (n, n)), jax.random.normal(b, (n,))

key = jax.random.PRNGKey(3)
params = []
for i in range(3):
    params.append(layer(jax.random.fold_in(key, i), 2))
print(bool((params[0][0] == params[1][0]).all()))
""",
    ),
    "one key for helpers of another file": Pair(
        "NNX830",
        """
from draws import init, sample

key = jax.random.key(1)
weights = init(key, 4)
batch = sample(key, 4)
print(bool((weights == batch).all()))
# file: draws.py
import jax

def init(key, n):
    return jax.random.normal(key, (n,))

def sample(key, n):
    return jax.random.normal(key, (n,))
""",
        """
from draws import init, sample

key = jax.random.key(1)
key, one = jax.random.split(key)
weights = init(one, 4)
key, one = jax.random.split(key)
batch = sample(one, 4)
print(bool((weights == batch).all()))
# file: draws.py
import jax

def init(key, n):
    return jax.random.normal(key, (n,))

def sample(key, n):
    return jax.random.normal(key, (n,))
""",
    ),
    "a fixed key in a method": Pair(
        "NNX832",
        """
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        noise = jax.random.normal(jax.random.key(0), x.shape)
        return self.a(x + noise)

model = Noisy(nnx.Rngs(0))
print(bool((model(x) == model(x)).all()))
""",
        """
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 2, rngs=rngs)
        self.rngs = rngs

    def __call__(self, x):
        noise = jax.random.normal(self.rngs(), x.shape)
        return self.a(x + noise)

model = Noisy(nnx.Rngs(0))
print(bool((model(x) == model(x)).all()))
""",
    ),
    "a fixed key in a compiled step": Pair(
        "NNX832",
        """
@jax.jit
def augment(x):
    key = jax.random.PRNGKey(42)
    return x + jax.random.uniform(key, x.shape)

print(bool((augment(x) == augment(x)).all()))
""",
        """
@jax.jit
def augment(x, key):
    return x + jax.random.uniform(key, x.shape)

one, two = jax.random.split(jax.random.PRNGKey(42))
print(bool((augment(x, one) == augment(x, two)).all()))
""",
    ),
    "a factory of steps called in a loop": Pair(
        "NNX903",
        """
count = []

def make_step(decay):
    @jax.jit
    def step(x):
        count.append(1)
        return x * decay
    return step

for _ in range(12):
    make_step(0.9)(x)
print(len(count))
""",
        """
count = []

def make_step(decay):
    @jax.jit
    def step(x):
        count.append(1)
        return x * decay
    return step

step = make_step(0.9)
for _ in range(12):
    step(x)
print(len(count))
""",
    ),
    "a step made anew in every call of a method": Pair(
        "NNX903",
        """
count = []

class Trainer:
    def step(self, x):
        @jax.jit
        def inner(x):
            count.append(1)
            return x * 2
        return inner(x)

trainer = Trainer()
for _ in range(12):
    trainer.step(x)
print(len(count))
""",
        """
count = []

@jax.jit
def inner(x):
    count.append(1)
    return x * 2

class Trainer:
    def step(self, x):
        return inner(x)

trainer = Trainer()
for _ in range(12):
    trainer.step(x)
print(len(count))
""",
    ),
    "a counter of self as a static argument": Pair(
        "NNX908",
        """
count = []

@functools.partial(jax.jit, static_argnames="step")
def update(x, step):
    count.append(1)
    return x / (step + 1)

class Trainer:
    def __init__(self):
        self.global_step = 0

    def train(self, x):
        for _ in range(12):
            update(x, step=self.global_step)
            self.global_step += 1

Trainer().train(x)
print(len(count))
""",
        """
count = []

@jax.jit
def update(x, step):
    count.append(1)
    return x / (step + 1)

class Trainer:
    def __init__(self):
        self.global_step = 0

    def train(self, x):
        for _ in range(12):
            update(x, step=self.global_step)
            self.global_step += 1

Trainer().train(x)
print(len(count))
""",
    ),
    "a counter of the loop as a static argument": Pair(
        "NNX908",
        """
count = []

@functools.partial(jax.jit, static_argnums=(1,))
def update(x, step):
    count.append(1)
    return x / (step + 1)

step = 0
while step < 4:
    update(x, step)
    step += 1
print(len(count))
""",
        """
count = []

@jax.jit
def update(x, step):
    count.append(1)
    return x / (step + 1)

step = 0
while step < 4:
    update(x, step)
    step += 1
print(len(count))
""",
    ),
    "timing a function that is given": Pair(
        "NNX907",
        """
def bench(fn, *args):
    start = time.perf_counter()
    for _ in range(10):
        fn(*args)
    return time.perf_counter() - start

square = jax.jit(lambda a: a @ a.T)
square(x)
print(bench(square, x) > 0)
""",
        """
def bench(fn, *args):
    start = time.perf_counter()
    for _ in range(10):
        out = fn(*args)
    jax.block_until_ready(out)
    return time.perf_counter() - start

square = jax.jit(lambda a: a @ a.T)
square(x)
print(bench(square, x) > 0)
""",
        slow=True,
    ),
    "cond over layers of self": Pair(
        "NNX809",
        """
class Switch(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.BatchNorm(4, rngs=rngs)
        self.b = nnx.BatchNorm(4, rngs=rngs)

    def __call__(self, x, flag):
        return jax.lax.switch(flag, (self.a, self.b), x)

model = Switch(nnx.Rngs(0))
print(model(x, 1).shape)
""",
        """
class Switch(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.BatchNorm(4, rngs=rngs)
        self.b = nnx.BatchNorm(4, rngs=rngs)

    def __call__(self, x, flag):
        return nnx.switch(flag, (lambda m, x: m.a(x), lambda m, x: m.b(x)), self, x)

model = Switch(nnx.Rngs(0))
print(model(x, 1).shape)
""",
    ),
    "the optimizer of another model": Pair(
        "NNX854",
        """
@nnx.jit
def step(model, optimizer, x, y):
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)

actor = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
critic = nnx.Linear(4, 2, rngs=nnx.Rngs(1))
actor_opt = nnx.Optimizer(actor, optax.adam(0.1), wrt=nnx.Param)
critic_opt = nnx.Optimizer(critic, optax.adam(0.1), wrt=nnx.Param)
for _ in range(3):
    step(actor, actor_opt, x, y)
    step(critic, actor_opt, x, y)
print(total(actor), total(critic), int(critic_opt.step.value))
""",
        """
@nnx.jit
def step(model, optimizer, x, y):
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)

actor = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
critic = nnx.Linear(4, 2, rngs=nnx.Rngs(1))
actor_opt = nnx.Optimizer(actor, optax.adam(0.1), wrt=nnx.Param)
critic_opt = nnx.Optimizer(critic, optax.adam(0.1), wrt=nnx.Param)
for _ in range(3):
    step(actor, actor_opt, x, y)
    step(critic, critic_opt, x, y)
print(total(actor), total(critic), int(critic_opt.step.value))
""",
        since="0.11",
    ),
    "a mode handed on to the model": Pair(
        "NNX822",
        """
class Branches(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x, mode):
        return self.a(x) * 2 if mode == "double" else self.a(x)

@nnx.jit
def apply(model, x, mode):
    return model(x, mode)

print(f"{float(apply(Branches(nnx.Rngs(0)), x, 'double').sum()):.3f}")
""",
        """
class Branches(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x, mode):
        return self.a(x) * 2 if mode == "double" else self.a(x)

@nnx.jit(static_argnames="mode")
def apply(model, x, mode):
    return model(x, mode)

print(f"{float(apply(Branches(nnx.Rngs(0)), x, mode='double').sum()):.3f}")
""",
    ),
    "weights kept by split in an attribute": Pair(
        "NNX818",
        """
class Stopper:
    def __init__(self):
        self.best = None

    def save(self, model):
        _, self.best = nnx.split(model)

    def restore(self, model):
        nnx.update(model, self.best)

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
stopper = Stopper()
stopper.save(model)
model.kernel.value = model.kernel.value * 3
stopper.restore(model)
print(total(model))
""",
        """
class Stopper:
    def __init__(self):
        self.best = None

    def save(self, model):
        _, self.best = nnx.split(nnx.clone(model))

    def restore(self, model):
        nnx.update(model, self.best)

model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
stopper = Stopper()
stopper.save(model)
model.kernel.value = model.kernel.value * 3
stopper.restore(model)
print(total(model))
""",
        since="0.11",
    ),
    "device_put as a statement": Pair(
        "NNX842",
        """
batch = np.ones((8, 4))
jax.device_put(batch)
print(type(batch).__name__ == "ndarray")
""",
        """
batch = np.ones((8, 4))
batch = jax.device_put(batch)
print(type(batch).__name__ == "ndarray")
""",
    ),
    "an average that nobody takes": Pair(
        "NNX842",
        """
def soft_update(target, online, tau):
    target = jax.tree.map(lambda t, o: (1 - tau) * t + tau * o, target, online)

target, online = {"w": jnp.zeros(2)}, {"w": jnp.ones(2)}
for _ in range(3):
    soft_update(target, online, 0.5)
print(total(target))
""",
        """
def soft_update(target, online, tau):
    return jax.tree.map(lambda t, o: (1 - tau) * t + tau * o, target, online)

target, online = {"w": jnp.zeros(2)}, {"w": jnp.ones(2)}
for _ in range(3):
    target = soft_update(target, online, 0.5)
print(total(target))
""",
    ),
    "statistics lost in a gradient": Pair(
        "NNX811",
        """
model = Net(nnx.Rngs(0))
graphdef, params, rest = nnx.split(model, nnx.Param, ...)

@jax.jit
def step(params, rest, x, y):
    def loss_fn(params):
        model = nnx.merge(graphdef, params, rest)
        return ((model(x) - y) ** 2).mean()
    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

for _ in range(3):
    params, loss = step(params, rest, x, y)
nnx.update(model, params, rest)
print(f"{float(jnp.abs(model.norm.mean.value).sum()):.4f}")
""",
        """
model = Net(nnx.Rngs(0))
graphdef, params, rest = nnx.split(model, nnx.Param, ...)

@jax.jit
def step(params, rest, x, y):
    model = nnx.merge(graphdef, params, rest)
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    rest = nnx.state(model, nnx.Not(nnx.Param))
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), rest, loss

for _ in range(3):
    params, rest, loss = step(params, rest, x, y)
nnx.update(model, params, rest)
print(f"{float(jnp.abs(model.norm.mean.value).sum()):.4f}")
""",
    ),
    "a compiled forward pass that drops the statistics": Pair(
        "NNX811",
        """
model = Net(nnx.Rngs(0))
graphdef, state = nnx.split(model)

@jax.jit
def forward(state, x):
    model = nnx.merge(graphdef, state)
    model.train()
    return model(x)

for _ in range(3):
    forward(state, x)
nnx.update(model, state)
print(f"{float(jnp.abs(model.norm.mean.value).sum()):.4f}")
""",
        """
model = Net(nnx.Rngs(0))
graphdef, state = nnx.split(model)

@jax.jit
def forward(state, x):
    model = nnx.merge(graphdef, state)
    model.train()
    out = model(x)
    return out, nnx.state(model)

for _ in range(3):
    out, state = forward(state, x)
nnx.update(model, state)
print(f"{float(jnp.abs(model.norm.mean.value).sum()):.4f}")
""",
    ),
    "metrics printed every round": Pair(
        "NNX905",
        """
@nnx.jit
def step(model, optimizer, metrics, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    metrics.update(loss=loss)

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
for _ in range(200):
    step(model, optimizer, metrics, x, y)
    print(metrics.compute())
""",
        """
@nnx.jit
def step(model, optimizer, metrics, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    metrics.update(loss=loss)

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
for i in range(200):
    step(model, optimizer, metrics, x, y)
    if i % 2 == 0:
        print(metrics.compute())
""",
        slow=True,
    ),
}

"""States that go nowhere, parts that are trained or frozen by mistake, and clones of what is donated."""

from __future__ import annotations

from tests.lint.programs import Pair


def _pair(code: str, text: str, wrong: str, right: str, since: str = "0.10", slow: bool = False) -> Pair:
    """Return a pair of a text with one place left open."""
    assert text.count("PLACE") == 1
    return Pair(code, text.replace("PLACE", wrong), text.replace("PLACE", right), since, slow)


_NETS = """
net = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
target = nnx.Linear(4, 2, rngs=nnx.Rngs(1))
"""
_DONATING = """
@functools.partial(nnx.jit, donate_argnames=("model", "opt"))
def step(model, opt, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    opt.update(model, grads)

def setup():
    model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

def copied(model):
    graphdef, state = nnx.split(model)
    return nnx.merge(graphdef, jax.tree.map(jnp.copy, state))
"""
_DISTILLER = """
class Pupil(nnx.Module):
    def __init__(self, rngs):
        self.teacher = nnx.Linear(4, 3, rngs=rngs)
        self.student = nnx.Linear(4, 3, rngs=rngs)

    def distill(self, x):
        wanted = nnx.softmax(self.teacher(x))
        return -(wanted * nnx.log_softmax(self.student(x))).sum(-1).mean()

LEARNING = nnx.All(nnx.Param, nnx.PathContains("student"))
"""
_BACKBONE = """
class Body(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, momentum=0.9, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.norm(self.fc(x)))

class Tuned(nnx.Module):
    def __init__(self, body, rngs):
        self.body = body
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.drop(self.body(x)))
"""
_LAYERS = """
class Deep(nnx.Module):
    def __init__(self, rngs):
        self.enc_low = nnx.Linear(4, 8, rngs=rngs)
        self.enc_norm = nnx.LayerNorm(8, rngs=rngs)
        self.lm_head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.lm_head(self.enc_norm(self.enc_low(x)))

def count(state):
    return len(jax.tree.leaves(state))

deep = Deep(nnx.Rngs(0))
"""

PAIRS = {
    "soft update whose state stays in the function": _pair(
        "NNX842",
        _NETS
        + """
def soft_update(online, slow, tau):
    mixed = jax.tree.map(lambda o, s: tau * o + (1 - tau) * s, nnx.state(online), nnx.state(slow))
    PLACE

@nnx.jit
def learn(net, target, x):
    soft_update(net, target, 0.5)
    return (target(x) ** 2).mean()

before = total(target)
learn(net, target, x)
print(before == total(target))
""",
        "return mixed",
        "nnx.update(slow, mixed)",
    ),
    "soft update by optax in a method": _pair(
        "NNX842",
        """
class Learner:
    def __init__(self):
        self.online = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
        self.slow = nnx.Linear(4, 2, rngs=nnx.Rngs(1))

    def blended(self, rate=0.1):
        _, params, _ = nnx.split(self.online, nnx.Param, ...)
        return optax.incremental_update(params, nnx.state(self.slow, nnx.Param), rate)

    def learn(self, x):
        PLACE
        return total(self.slow)

learner = Learner()
print(learner.learn(x) == learner.learn(x))
""",
        "self.blended()",
        "nnx.update(self.slow, self.blended())",
    ),
    "average under a name that nobody reads": _pair(
        "NNX842",
        _NETS
        + """
def mix(a, b):
    return 0.9 * a + 0.1 * b

def averaged(slow, fast):
    return {"params": jax.tree.map(mix, nnx.state(slow), nnx.state(fast))}

def train(slow, fast, x):
    for _ in range(3):
        fast(x)
        new = averaged(slow, fast)
        PLACE
    return total(slow)

print(train(target, net, x))
""",
        "pass",
        'nnx.update(slow, new["params"])',
    ),
    "average by a partial function behind a helper": _pair(
        "NNX842",
        _NETS
        + """
def mix(rate, a, b):
    return rate * a + (1 - rate) * b

def averaged(slow, fast):
    return jax.tree.map(functools.partial(mix, 0.9), nnx.state(slow), nnx.state(fast))

def renew(slow, fast):
    return averaged(slow, fast)

def train(slow, fast, x):
    for _ in range(3):
        fast(x)
        PLACE
    return total(slow)

print(train(target, net, x))
""",
        "renew(slow, fast)",
        "nnx.update(slow, renew(slow, fast))",
    ),
    "clipped parameters of a helper in another file": _pair(
        "NNX842",
        """
import helpers as h

net = nnx.Linear(4, 2, rngs=nnx.Rngs(0))

def train(model, x):
    for _ in range(3):
        model(x)
        PLACE
    return total(model)

print(train(net, x))
# file: helpers.py
import jax
import jax.numpy as jnp
from flax import nnx

def clipped(model, limit=0.1):
    state = nnx.state(model, nnx.Param)
    low, high = -limit, limit
    return jax.tree.map(lambda p: jnp.clip(p, low, high), state)
""",
        "h.clipped(model)",
        "nnx.update(model, h.clipped(model))",
    ),
    "clone of a donated model as its average": _pair(
        "NNX856",
        _DONATING
        + """
@nnx.jit
def average(ema, model):
    nnx.update(ema, jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, nnx.state(ema), nnx.state(model)))

model, opt = setup()
ema = PLACE
for _ in range(3):
    step(model, opt, x)
    average(ema, model)
print(total(ema))
""",
        "nnx.clone(model)",
        "copied(model)",
        "0.11",
    ),
    "clone from before the training": _pair(
        "NNX856",
        _DONATING
        + """
def change(model, opt, x):
    before = PLACE
    for _ in range(3):
        step(model, opt, x)
    return jnp.abs(before(x) - model(x)).max() > 0

print(change(*setup(), x))
""",
        "nnx.clone(model)",
        "copied(model)",
        "0.11",
    ),
    "trainer with a clone of what it donates": _pair(
        "NNX856",
        _DONATING
        + """
def blend(slow, fast):
    nnx.update(slow, jax.tree.map(lambda s, f: 0.9 * s + 0.1 * f, nnx.state(slow), nnx.state(fast)))

class Trainer:
    def __init__(self, model, opt):
        self.model, self.opt = model, opt
        self.slow = PLACE

    def fit(self, x):
        for _ in range(2):
            step(self.model, self.opt, x)
            blend(self.slow, self.model)
        return total(self.slow)

print(Trainer(*setup()).fit(x))
""",
        "nnx.clone(model)",
        "copied(model)",
        "0.11",
    ),
    "clone by a helper that is called by its keyword": _pair(
        "NNX856",
        _DONATING
        + """
def target_of(model):
    return PLACE

def loss(slow, fast, x):
    return ((slow(x) - fast(x)) ** 2).mean()

def run(x):
    model, opt = setup()
    slow = target_of(model=model)
    step(model, x=x, opt=opt)
    return loss(fast=model, slow=slow, x=x) > 0

print(run(x))
""",
        "nnx.clone(model)",
        "copied(model)",
        "0.11",
    ),
    "model whose clone is trained and donated": _pair(
        "NNX856",
        _DONATING
        + """
def adapt(model, x):
    fast = PLACE
    opt = nnx.Optimizer(fast, optax.adam(1e-2), wrt=nnx.Param)
    step(fast, opt, x)
    return float(model(x).sum() - fast(x).sum()) != 0

print(adapt(setup()[0], x))
""",
        "nnx.clone(model)",
        "copied(model)",
        "0.11",
    ),
    "activations that a list of the module collects": _pair(
        "NNX919",
        """
class Watched(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 4, rngs=rngs)
        self.seen = nnx.List([])
        self.last = nnx.Intermediate(jnp.zeros(()))

    def __call__(self, x):
        h = nnx.relu(self.fc(x))
        PLACE
        return h

traced = []

@nnx.jit
def step(model, opt, x):
    traced.append(1)
    def loss_fn(model):
        return (model(x) ** 2).mean()
    grads = nnx.grad(loss_fn)(model)
    opt.update(model, grads)

watched = Watched(nnx.Rngs(0))
opt = nnx.Optimizer(watched, optax.adam(1e-3), wrt=nnx.Param)
for _ in range(3):
    step(watched, opt, x)
print(len(traced))
""",
        "self.seen.append(nnx.Intermediate(h.mean()))",
        "self.last[...] = h.mean()",
        "0.12",
    ),
    "statistics that a method of a block appends": _pair(
        "NNX919",
        """
class Block(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 4, rngs=rngs)
        self.stats = nnx.data([])

    def note(self, h):
        self.stats.append(nnx.Intermediate(h.mean()))

    def __call__(self, x):
        h = self.fc(x)
        self.note(h)
        return h

class Stack(nnx.Module):
    def __init__(self, rngs):
        self.blocks = nnx.List([Block(rngs) for _ in range(2)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x

class Trainer:
    def __init__(self):
        self.model = Stack(nnx.Rngs(0))
        self.traced = 0
        self.step = nnx.jit(self.loss)

    @staticmethod
    def loss(model, x):
        return model(x).sum()

    def fit(self, x):
        for _ in range(3):
            self.step(self.model, x)
            PLACE
        return sum(len(block.stats) for block in self.model.blocks)

print(Trainer().fit(x))
""",
        "pass",
        "[block.stats.clear() for block in self.model.blocks]",
        "0.12",
    ),
    "teacher in the module that learns from it": _pair(
        "NNX795",
        _DISTILLER
        + """
@nnx.jit
def step(pupil, opt, x):
    grads = nnx.grad(lambda m: m.distill(x), argnums=nnx.DiffState(0, PLACE))(pupil)
    opt.update(pupil, grads)

pupil = Pupil(nnx.Rngs(0))
before = total(pupil.teacher)
""".replace("PLACE", "KIND").replace("pupil = Pupil(nnx.Rngs(0))", "KIND = PLACE\npupil = Pupil(nnx.Rngs(0))")
        + """
opt = nnx.Optimizer(pupil, optax.adam(1e-2), wrt=KIND)
for _ in range(3):
    step(pupil, opt, x)
print(before == total(pupil.teacher))
""",
        "nnx.Param",
        "LEARNING",
    ),
    "reference policy in an agent whose loss is a function": _pair(
        "NNX795",
        """
class Agent(nnx.Module):
    def __init__(self, policy, reference):
        self.policy = policy
        self.reference = reference

def kl(agent, x):
    p, q = nnx.log_softmax(agent.policy(x)), nnx.log_softmax(agent.reference(x))
    return (jnp.exp(p) * (p - q)).sum(-1).mean()

class Trainer:
    def __init__(self, agent):
        self.agent = agent
        self.opt = nnx.Optimizer(agent, optax.adam(1e-2), wrt=KIND)

    def update(self, x):
        loss, grads = nnx.value_and_grad(kl, argnums=nnx.DiffState(0, KIND))(self.agent, x)
        self.opt.update(self.agent, grads)

KIND = PLACE
rngs = nnx.Rngs(0)
agent = Agent(nnx.Linear(4, 3, rngs=rngs), reference=nnx.Linear(4, 3, rngs=rngs))
before = total(agent.reference)
Trainer(agent).update(x)
print(before == total(agent.reference))
""",
        "nnx.Param",
        'nnx.All(nnx.Param, nnx.PathContains("policy"))',
    ),
    "frozen encoder that a helper gives to its optimizer": _pair(
        "NNX795",
        """
class Model(nnx.Module):
    def __init__(self, rngs):
        self.frozen_encoder = nnx.Linear(4, 3, rngs=rngs)
        self.encoder = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return jnp.square(self.encoder(x) - self.frozen_encoder(x)).mean()

def optimizer_of(model):
    return nnx.Optimizer(model, optax.adam(1e-2), wrt=KIND)

def train(model, x):
    opt = optimizer_of(model)
    for _ in range(2):
        grads = nnx.grad(lambda m: m(x), argnums=nnx.DiffState(0, KIND))(model)
        opt.update(model, grads)
    return total(model.frozen_encoder)

KIND = PLACE
model = Model(nnx.Rngs(0))
print(total(model.frozen_encoder) == train(model, x))
""",
        "nnx.Param",
        'nnx.All(nnx.Param, nnx.PathContains("encoder"))',
    ),
    "frozen body that train() puts back into training mode": _pair(
        "NNX749",
        _BACKBONE
        + """
HEAD = nnx.All(nnx.Param, nnx.PathContains("head"))

@nnx.jit
def step(model, opt, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean(), argnums=nnx.DiffState(0, HEAD))(model)
    opt.update(model, grads)

def tune(model, x):
    opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=HEAD)
    model.train()
    PLACE
    step(model, opt, x)

body = Body(nnx.Rngs(0))
body.eval()
before = body(x)
tuned = Tuned(body, nnx.Rngs(1))
tune(tuned, x + 3.0)
tuned.eval()
print(bool(jnp.abs(tuned.body(x) - before).max() > 0))
""",
        "pass",
        "model.body.eval()",
    ),
    "frozen body from a helper, with a filter that is a lambda": _pair(
        "NNX749",
        _BACKBONE
        + """
def pretrained():
    body = Body(nnx.Rngs(0))
    body.train()
    body(x)
    body.eval()
    return body

def without_body(path, leaf):
    return isinstance(leaf, nnx.Param) and "body" not in path

def tune(x):
    model = Tuned(pretrained(), nnx.Rngs(1))
    opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=lambda path, leaf: "head" in path)
    before = model.body.norm.mean[...] + 0
    for _ in range(2):
        model.train()
        PLACE
        grads = nnx.grad(lambda m: (m(x) ** 2).mean(), argnums=nnx.DiffState(0, nnx.PathContains("head")))(model)
        opt.update(model, grads)
    return bool((before == model.body.norm.mean[...]).all())

print(tune(x + 3.0))
""",
        "pass",
        "model.body.eval()",
    ),
    "frozen body of a trainer that leaves it out by its name": _pair(
        "NNX749",
        _BACKBONE
        + """
class Tuner:
    def __init__(self, model):
        self.model = model
        self.only = nnx.All(nnx.Param, nnx.Not(nnx.PathContains("body")))
        self.opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=self.only)

    def fit(self, x):
        self.model.train()
        PLACE
        grads = nnx.grad(lambda m: (m(x) ** 2).mean(), argnums=nnx.DiffState(0, self.only))(self.model)
        self.opt.update(self.model, grads)

def main(x):
    body = Body(rngs=nnx.Rngs(0))
    body.eval()
    tuner = Tuner(Tuned(body=body, rngs=nnx.Rngs(1)))
    before = body.norm.mean[...] + 0
    tuner.fit(x + 3.0)
    return bool((before == tuner.model.body.norm.mean[...]).all())

print(main(x))
""",
        "pass",
        "self.model.body.eval()",
    ),
    "frozen body and an optimizer for the head alone": _pair(
        "NNX749",
        _BACKBONE
        + """
def main(x):
    body = Body(nnx.Rngs(0))
    body.eval()
    model = Tuned(body, nnx.Rngs(1))
    opt = nnx.Optimizer(model.head, optax.adam(1e-3), wrt=nnx.Param)
    before = body.norm.mean[...] + 0
    model.train()
    PLACE
    features = model.body(x)
    head = model.head
    grads = nnx.grad(lambda head: (head(features) ** 2).mean())(head)
    opt.update(head, grads)
    return bool((before == model.body.norm.mean[...]).all())

print(main(x + 3.0))
""",
        "pass",
        "body.eval()",
    ),
    "transformation handed to a function for every epoch": Pair(
        "NNX894",
        """
@nnx.jit
def step(model, opt, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    opt.update(model, grads)

def run_epoch(model, tx, batches):
    opt = nnx.Optimizer(model, tx, wrt=nnx.Param)
    for batch in batches:
        step(model, opt, batch)

def main(x):
    model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
    tx = optax.adam(optax.linear_schedule(0.0, 1e-1, 10))
    for _ in range(3):
        run_epoch(model, tx, [x, x])
    return total(model)

print(main(x))
""",
        """
@nnx.jit
def step(model, opt, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(model)
    opt.update(model, grads)

def run_epoch(model, opt, batches):
    for batch in batches:
        step(model, opt, batch)

def main(x):
    model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
    opt = nnx.Optimizer(model, optax.adam(optax.linear_schedule(0.0, 1e-1, 10)), wrt=nnx.Param)
    for _ in range(3):
        run_epoch(model, opt, [x, x])
    return total(model)

print(main(x))
""",
    ),
    "transformation that a trainer keeps, and an optimizer for every epoch": Pair(
        "NNX894",
        """
class Trainer:
    def __init__(self, model, tx):
        self.model = model
        self.tx = tx

    def train_epoch(self, batches):
        opt = nnx.Optimizer(self.model, self.tx, wrt=nnx.Param)
        for batch in batches:
            grads = nnx.grad(lambda m: (m(batch) ** 2).mean())(self.model)
            opt.update(self.model, grads)

    def fit(self, batches):
        for epoch in range(3):
            self.train_epoch(batches)
        return total(self.model)

print(Trainer(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), tx=optax.adam(1e-1)).fit([x, x + 1.0]))
""",
        """
class Trainer:
    def __init__(self, model, tx):
        self.model = model
        self.opt = nnx.Optimizer(model, tx, wrt=nnx.Param)

    def train_epoch(self, batches):
        for batch in batches:
            grads = nnx.grad(lambda m: (m(batch) ** 2).mean())(self.model)
            self.opt.update(self.model, grads)

    def fit(self, batches):
        for epoch in range(3):
            self.train_epoch(batches)
        return total(self.model)

print(Trainer(nnx.Linear(4, 2, rngs=nnx.Rngs(0)), tx=optax.adam(1e-1)).fit([x, x + 1.0]))
""",
    ),
    "path filter with the beginning of a name": _pair(
        "NNX745",
        _LAYERS
        + """
print(count(nnx.state(deep, nnx.All(nnx.Param, nnx.Not(PLACE)))))
""",
        'nnx.PathContains("enc")',
        'nnx.Any(nnx.PathContains("enc_low"), nnx.PathContains("enc_norm"))',
    ),
    "path filter with the end of a name, in an optimizer": _pair(
        "NNX745",
        _LAYERS
        + """
HEAD = PLACE

class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = nnx.Optimizer(model, optax.adam(1e-2), wrt=HEAD)

    def step(self, x):
        grads = nnx.grad(lambda m: (m(x) ** 2).mean(), argnums=nnx.DiffState(0, HEAD))(self.model)
        self.opt.update(self.model, grads)
        return total(self.model)

print(Trainer(deep).step(x))
""",
        'nnx.PathContains("head")',
        'nnx.PathContains("lm_head")',
    ),
    "name looked for in the tuple that is a path": _pair(
        "NNX745",
        _LAYERS
        + """
_, chosen, rest = nnx.split(deep, PLACE, ...)
print(count(chosen))
""",
        'lambda path, leaf: "norm" in path',
        'lambda path, leaf: any("norm" in part for part in path)',
    ),
    "path filter with the singular of a list": _pair(
        "NNX745",
        """
from flax.nnx import PathContains as Within

class Tower(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.Linear(4, 4, rngs=rngs), nnx.relu, nnx.Linear(4, 4, rngs=rngs))
        self.out = nnx.Linear(4, 2, rngs=rngs)

def chosen(model):
    return nnx.state(model, Within(PLACE))

def make(seed):
    return Tower(nnx.Rngs(seed))

print(len(jax.tree.leaves(chosen(make(0)))))
""",
        '"layer"',
        '"layers"',
    ),
    "path filter with another spelling, in a gradient": _pair(
        "NNX745",
        _LAYERS
        + """
def chosen(path, leaf):
    return PLACE

@nnx.jit
def gradient(model, x):
    return nnx.grad(lambda m: (m(x) ** 2).mean(), argnums=nnx.DiffState(0, chosen))(model)

print(count(gradient(deep, x)))
""",
        '"lmhead" in path',
        '"lm_head" in path',
    ),
    "path filter on a model of two parts": _pair(
        "NNX745",
        _LAYERS
        + """
class Wrapped(nnx.Module):
    def __init__(self, model, rngs):
        self.my_backbone = model
        self.out = nnx.Linear(2, 1, rngs=rngs)

wrapped = Wrapped(deep, rngs=nnx.Rngs(1))
print(count(nnx.state(wrapped, (nnx.BatchStat, PLACE))))
""",
        'nnx.PathContains("backbone")',
        'nnx.PathContains("my_backbone")',
    ),
}

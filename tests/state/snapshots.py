"""NNX401 and NNX402: every reader of a snapshot, and every way to change what it shares; all run."""

from __future__ import annotations

HEAD = """\
import copy
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.rngs = rngs

    def __call__(self, x):
        return self.linear(x) + jax.random.normal(self.rngs.noise(), x.shape)


model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
other = nnx.Linear(2, 2, rngs=nnx.Rngs(1))
x = jnp.ones((2, 2))


def bump(m):
    m.bias.value = m.bias.value + 1


"""

PROGRAMS = {
    "update of the base class": """\
class Logged(nnx.Optimizer):
    def update(self, grads):
        before = nnx.state(self.model, nnx.Param)
        super().update(grads)
        print(float(jnp.abs(before["bias"].value - self.model.bias.value).sum()))


Logged(model, optax.sgd(0.1)).update(nnx.grad(lambda m: (m(x) ** 2).sum())(model))
""",
    "update of a derived optimizer": """\
class Halved(nnx.Optimizer):
    def update(self, grads):
        super().update(jax.tree.map(lambda g: g / 2, grads))


opt = Halved(tx=optax.sgd(0.1), model=model)
before = nnx.state(model, nnx.Param)
opt.update(nnx.grad(lambda m: (m(x) ** 2).sum())(model))
print(float(jnp.abs(before["bias"].value - model.bias.value).sum()))
""",
    "update of a derived metric": """\
class Counted(nnx.metrics.Average):
    def update(self, **values):
        before = nnx.state(self)
        super().update(**values)
        print(float(before["total"].value), float(self.total.value))


Counted("loss").update(loss=jnp.array(2.0))
""",
    "merged again in a function": """\
def evaluate(net):
    graphdef, state = nnx.split(net)
    again = nnx.merge(graphdef, state)
    return float((again(x) ** 2).sum())


noisy = Noisy(nnx.Rngs(0))
print([evaluate(noisy) for _ in range(2)], noisy.rngs.default.count.value)
""",
    "merged again and handed on": """\
def call(net):
    bump(net)
    return float((net(x) ** 2).sum())


@nnx.jit
def evaluate(net):
    graphdef, params, rest = nnx.split(net, nnx.Param, ...)
    return (nnx.merge(graphdef, params, rest)(x) ** 2).sum()


class Evaluation:
    def __init__(self, net):
        self.net = net

    def run(self):
        graphdef, state = nnx.split(self.net)
        return call(nnx.merge(graphdef, state))


noisy = Noisy(nnx.Rngs(0))
print(float(evaluate(noisy)), Evaluation(model).run(), model.bias.value, noisy.rngs.default.count.value)
""",
    "merged again and only read": """\
def evaluate(net):
    graphdef, state = nnx.split(net)
    again = nnx.merge(graphdef, state)
    return float((again(x) ** 2).sum())


print(evaluate(model), evaluate(other))
""",
    "split anew in every round": """\
@nnx.jit(static_argnames=["measure"])
def loss_of(model, x, measure):
    def loss(model):
        graphdef, state = nnx.split(model)

        def inner(x, params):
            return measure(nnx.merge(graphdef, params), x, params)

        return inner(x, state)

    value, grads = nnx.value_and_grad(loss)(model)
    return value, grads


def train(model):
    measure = lambda net, x, params: (net(x) ** 2).sum() + params["bias"].value.sum()
    for _ in range(3):
        for one in (x, 2 * x):
            loss, grads = loss_of(model, one, measure)
            bump(model)
        print(float(loss))


train(model)
""",
    "state handed on in every round": """\
def create(loss):
    @nnx.jit
    def step(model, x):
        _, params = nnx.split(model)

        def inner(p):
            return loss(x, p)

        value, grads = nnx.value_and_grad(inner)(params)
        bump(model)
        return value

    return step


def train(model, loss):
    step = create(loss)
    for _ in range(2):
        for _ in range(2):
            value = step(model, x)
        print(float(value))


def main():
    graphdef, _ = nnx.split(model)
    train(model, lambda x, p: (nnx.merge(graphdef, p)(x) ** 2).sum())


main()
""",
    "merge of the class": """\
kept = nnx.State.merge(nnx.state(model, nnx.Param), nnx.State({}))
bump(model)
print(kept["bias"].value.sum())
""",
    "class of an argument": """\
class Run:
    def __init__(self, model):
        self.model, self.best = model, None

    def keep(self):
        self.best = nnx.state(self.model)


class Other(Run):
    pass


def main(kind):
    run = kind(model)
    run.keep()
    bump(model)
    return run.best


print(main(Run)["bias"].value.sum(), main(Other)["bias"].value.sum())
""",
    "class of a loop": """\
class Run:
    def __init__(self, model):
        self.model, self.best = model, None

    def keep(self):
        self.best = nnx.state(self.model)


for kind in (Run,):
    run = kind(model)
    run.keep()
    bump(model)
    print(run.best["bias"].value.sum())
""",
    "best of a trainer": """\
class Trainer:
    def __init__(self, model):
        self.model, self.best_loss, self.best, self.history = model, jnp.inf, None, []

    def step(self, index):
        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - 1) ** 2).sum())(self.model)
        if loss < self.best_loss:
            self.best_loss = loss
            self.best = nnx.state(self.model, nnx.Param)
        self.history.append(nnx.state(self.model, nnx.Param))
        self.model.bias.value = self.model.bias.value + (1 if index > 1 else -0.1)
        if index == 3:
            nnx.update(self.model, self.history[1])
        return loss


trainer = Trainer(model)
for index in range(5):
    trainer.step(index)
print(trainer.best["bias"].value.sum(), model.bias.value.sum(), trainer.history[2]["bias"].value.sum())
""",
    "state as a function": """\
import dataclasses
import functools


@dataclasses.dataclass
class Hooks:
    snapshot: object = nnx.state


def keep(models, hooks):
    return hooks.snapshot(models[1])


def taken(function, m):
    return function(m)


models = [model, other]
get_state = functools.partial(nnx.state)
kept = [get_state(model), *map(nnx.state, models), *(s for _, s in map(nnx.split, models)), keep(models, Hooks())]
kept += [taken(nnx.state, model), functools.partial(nnx.state, other)()]
kept += jax.tree.map(lambda m: nnx.state(m, nnx.Param), models, is_leaf=lambda m: isinstance(m, nnx.Module))
bump(model)
bump(other)
print([float(state["bias"].value.sum()) for state in kept])
""",
    "attributes of classes": """\
class Best:
    state = None


class Log:
    first = None

    @classmethod
    def keep(cls, m):
        cls.first = nnx.state(m)


def keep(m):
    Best.state = nnx.state(m)


def report():
    return Best.state["bias"].value.sum(), Log.first["bias"].value.sum()


keep(model)
Log.keep(other)
Best.last = nnx.state(other)
bump(model)
bump(other)
print(report(), Best.last["bias"].value.sum())
""",
    "map that hands on": """\
def is_leaf(v):
    return isinstance(v, nnx.VariableState)


same = jax.tree.map(lambda v: v, nnx.state(model), is_leaf=is_leaf)
bump(model)
print(same["bias"].value.sum(), model.bias.value.sum())
""",
    "map that writes": """\
def zero(vs):
    if vs.value.ndim == 1:
        vs.value = vs.value - 1
    return vs


def lowered(m):
    return jax.tree_util.tree_map_with_path(
        lambda path, vs: zero(vs), nnx.state(m), is_leaf=lambda v: isinstance(v, nnx.VariableState)
    )


state = jax.tree.map(zero, nnx.state(model), is_leaf=lambda v: isinstance(v, nnx.VariableState))
print(state["bias"].value.sum(), model.bias.value.sum())
print(lowered(other)["bias"].value.sum(), other.bias.value.sum())
""",
    "map that reads": """\
sizes = jax.tree.map(
    lambda vs: vs.replace(vs.value.sum()), nnx.state(model), is_leaf=lambda v: isinstance(v, nnx.VariableState)
)
bump(model)
print(sizes["bias"].value, model.bias.value.sum())
""",
    "handed on twice": """\
noisy = Noisy(nnx.Rngs(0, noise=1))
graphdef, state = nnx.split(noisy)


@nnx.jit
def run(state, x):
    net = nnx.merge(graphdef, state)
    return net(x), nnx.state(net)


first, _ = run(state, x)
second, after = run(state, x)
third, _ = run(after, x)
print(first.sum(), second.sum(), third.sum())
""",
    "handed on in a loop": """\
norm = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
state = nnx.state(norm)


@nnx.jit
def step(state, x):
    state["mean"].value = state["mean"].value + x.sum()
    return state["mean"].value


for _ in range(2):
    print(step(state, x))
""",
    "laid out": """\
@nnx.jit
def create(rngs):
    m = nnx.Linear(2, 2, rngs=rngs)
    state = nnx.state(m)
    nnx.update(m, jax.lax.with_sharding_constraint(state, jax.sharding.SingleDeviceSharding(jax.devices()[0])))
    return m, state


m, state = create(nnx.Rngs(0))
print(m.bias.value, state["bias"].value, jnp.sum(m.kernel.value) == jnp.sum(state["kernel"].value))
state = nnx.state(model)
nnx.update(model, jax.device_put(state))
print(model.bias.value, state["bias"].value)
""",
    "laid out before a change": """\
state = nnx.state(model)
laid = jax.device_put(state)
bump(model)
nnx.update(model, laid)
print(model.bias.value, state["bias"].value)
other_state = nnx.state(other)
laid = jax.device_put(other_state)
bump(other)
print(other_state["bias"].value, laid["bias"].value)
""",
    "merge best": """\
graphdef = nnx.graphdef(model)
best = nnx.state(model)
bump(model)
m2 = nnx.merge(graphdef, best)
print(m2.bias.value)
""",
    "merge best split": """\
graphdef, best = nnx.split(model)
bump(model)
print(nnx.merge(graphdef, best)(x))
""",
    "merge best loop": """\
graphdef = nnx.graphdef(model)
best, best_loss = None, 9.0
for i in range(3):
    bump(model)
    loss = float(abs(model.bias.value[0] - 1))
    if loss < best_loss:
        best_loss, best = loss, nnx.state(model)
final = nnx.merge(graphdef, best)
print(final.bias.value, model.bias.value)
""",
    "merge best fn": """\
def train(m):
    graphdef, state = nnx.split(m)
    best = state
    for i in range(3):
        bump(m)
        if i == 1:
            best = nnx.state(m)
    return nnx.merge(graphdef, best)
print(train(model).bias.value)
""",
    "merge best dict": """\
g, s = nnx.split(model)
kept = {"g": g, "s": s}
bump(model)
print(nnx.merge(kept["g"], kept["s"]).bias.value)
""",
    "merge best self": """\
class T:
    def __init__(self, m):
        self.m = m
        self.g, self.best = nnx.split(m)
    def step(self):
        bump(self.m)
    def keep(self):
        _, self.best = nnx.split(self.m)
    def result(self):
        return nnx.merge(self.g, self.best)
t = T(model)
t.step(); t.keep(); t.step()
print(t.result().bias.value)
""",
    "merge filters": """\
g, p, r = nnx.split(nnx.BatchNorm(2, rngs=nnx.Rngs(0)), nnx.Param, ...)
m = nnx.merge(g, p, r)
m(jnp.arange(4.0).reshape(2, 2))
print(nnx.merge(g, p, r).mean.value)
""",
    "merge then train": """\
g, s = nnx.split(model)
a = nnx.merge(g, s)
bump(a)
b = nnx.merge(g, s)
print(a.bias.value, b.bias.value, model.bias.value)
""",
    "tree reader": """\
s = nnx.state(model)
bump(model)
print(jax.tree.map(jnp.sum, s)["bias"].value)
""",
    "returned": """\
def f():
    s = nnx.state(model)
    bump(model)
    return s
print(f()["bias"].value)
""",
    "container zip": """\
kept = []
for i in range(3):
    kept.append((i, nnx.state(model)))
    bump(model)
for i, s in kept:
    print(i, s["bias"].value)
""",
    "max kept": """\
kept = []
for i in range(3):
    bump(model)
    kept.append((float(i), nnx.state(model)))
best = max(kept, key=lambda p: -p[0])[1]
nnx.update(model, best)
print(model.bias.value)
""",
    "dict by epoch": """\
hist = {i: None for i in range(3)}
for i in range(3):
    hist[i] = nnx.state(model, nnx.Param)
    bump(model)
nnx.update(model, hist[0])
print(model.bias.value)
""",
    "rollback stream": """\
m = Noisy(nnx.Rngs(0, noise=1))
pre = nnx.state(m)
a = m(x)
nnx.update(m, pre)
b = m(x)
print(bool((a == b).all()), int(m.rngs.noise.count.value))
""",
    "rollback stream direct": """\
rngs = nnx.Rngs(0, noise=1)
pre = nnx.state(rngs)
a = rngs.noise()
nnx.update(rngs, pre)
print(int(rngs.noise.count.value))
""",
    "rollback stream item": """\
rngs = nnx.Rngs(0, noise=1)
pre = nnx.state(rngs)
a = rngs["noise"]()
nnx.update(rngs, pre)
print(int(rngs.noise.count.value))
""",
    "rollback call default": """\
rngs = nnx.Rngs(0)
pre = nnx.state(rngs)
a = rngs()
nnx.update(rngs, pre)
print(int(rngs.default.count.value))
""",
    "rollback layer made": """\
rngs = nnx.Rngs(0)
pre = nnx.state(rngs)
l = nnx.Linear(2, 2, rngs=rngs)
nnx.update(rngs, pre)
print(int(rngs.default.count.value))
""",
    "rollback stream helper": """\
def draw(m):
    key = m.rngs.noise()
    return jax.random.normal(key)
m = Noisy(nnx.Rngs(0, noise=1))
pre = nnx.state(m)
draw(m)
nnx.update(m, pre)
print(int(m.rngs.noise.count.value))
""",
    "rollback stream field": """\
class Box:
    def __init__(self, m):
        self.m = m
    def noise(self):
        return self.m.rngs.noise()
m = Noisy(nnx.Rngs(0, noise=1))
box = Box(m)
pre = nnx.state(m)
box.noise()
nnx.update(m, pre)
print(int(m.rngs.noise.count.value))
""",
    "scan carry draw": """\
m = Noisy(nnx.Rngs(0, noise=1))
pre = nnx.state(m)
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
def body(carry, y):
    m, = carry
    return (m,), m(y)
body((m,), jnp.ones((3, 2)))
nnx.update(m, pre)
print(int(m.rngs.noise.count.value))
""",
    "scan carry draw2": """\
m = Noisy(nnx.Rngs(0, noise=1))
pre = nnx.state(m)
def body(m, y):
    return m, m(y)
nnx.scan(body, in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))(m, jnp.ones((3, 2)))
nnx.update(m, pre)
print(int(m.rngs.noise.count.value))
""",
    "scan set": """\
class C(nnx.Module):
    def __init__(self):
        self.n = nnx.Variable(jnp.zeros(()))
m = C()
pre = nnx.state(m)
def body(m, y):
    m.n.value = m.n.value + y
    return m, y
nnx.scan(body, in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))(m, jnp.ones(3))
print(pre["n"].value, m.n.value)
""",
    "scan state axes": """\
class C(nnx.Module):
    def __init__(self):
        self.n = nnx.Variable(jnp.zeros(()))
m = C()
g, pre = nnx.split(m)
@nnx.scan(in_axes=(nnx.StateAxes({...: nnx.Carry}), 0), out_axes=0)
def body(m, y):
    m.n.value += y
    return y
body(m, jnp.ones(3))
print(nnx.merge(g, pre).n.value, m.n.value)
""",
    "fori": """\
class C(nnx.Module):
    def __init__(self):
        self.n = nnx.Variable(jnp.zeros(()))
m = C()
pre = nnx.state(m)
def body(i, m):
    m.n.value += 1
    return m
m = nnx.fori_loop(0, 3, body, m)
print(pre["n"].value, m.n.value)
""",
    "while": """\
class C(nnx.Module):
    def __init__(self):
        self.n = nnx.Variable(jnp.zeros(()))
m = C()
pre = nnx.state(m)
def body(m):
    m.n.value += 1
    return m
nnx.while_loop(lambda m: m.n.value < 3, body, m)
print(pre["n"].value, m.n.value)
""",
    "cond": """\
class C(nnx.Module):
    def __init__(self):
        self.n = nnx.Variable(jnp.zeros(()))
m = C()
pre = nnx.state(m)
def yes(m):
    m.n.value += 1
def no(m):
    pass
nnx.cond(True, yes, no, m)
print(pre["n"].value, m.n.value)
""",
    "switch": """\
class C(nnx.Module):
    def __init__(self):
        self.n = nnx.Variable(jnp.zeros(()))
m = C()
pre = nnx.state(m)
def one(m):
    m.n.value += 1
def ten(m):
    m.n.value += 10
nnx.switch(1, (one, ten), m)
print(pre["n"].value, m.n.value)
""",
    "switch by a list": """\
class C(nnx.Module):
    def __init__(self):
        self.n = nnx.Variable(jnp.zeros(()))
m = C()
pre = nnx.state(m)
def one(m):
    m.n.value += 1
def ten(m):
    m.n.value += 10
branches = [one]
branches.append(ten)
nnx.switch(m.n.value.astype(int), branches, m)
print(pre["n"].value, m.n.value)
""",
    "while by keywords": """\
class C(nnx.Module):
    def __init__(self):
        self.n = nnx.Variable(jnp.zeros(()))
m = C()
pre = nnx.state(m)
def one(m):
    m.n.value += 1
def ten(m):
    m.n.value += 10
def body(m):
    m.n.value += 1
    return m
nnx.while_loop(lambda m: m.n.value < 3, body_fun=body, init_val=m)
print(pre["n"].value, m.n.value)
""",
    "batchnorm": """\
m = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
pre = nnx.state(m)
m(jnp.arange(4.0).reshape(2, 2))
print(pre["mean"].value, m.mean.value)
""",
    "batchnorm seq jit": """\
m = nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.BatchNorm(2, rngs=nnx.Rngs(0)))
g, pre = nnx.split(m)
@nnx.jit
def fwd(m, x):
    return m(x)
fwd(m, jnp.arange(4.0).reshape(2, 2))
print(nnx.merge(g, pre).layers[1].mean.value)
""",
    "dropout": """\
m = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
pre = nnx.state(m)
a = m(x)
nnx.update(m, pre)
b = m(x)
print(bool((a == b).all()))
""",
    "opt step": """\
opt = nnx.Optimizer(model, optax.sgd(0.1))
before = nnx.state(model, nnx.Param)
g, whole = nnx.split(model)
def loss(m):
    return (m(x) ** 2).mean()
grads = nnx.grad(loss)(model)
opt.update(grads)
d = jax.tree.map(lambda a, b: float(abs(a - b).sum()), before, nnx.state(model, nnx.Param))
print(jax.tree.leaves(d), nnx.merge(g, whole).bias.value)
""",
    "opt step jit": """\
opt = nnx.Optimizer(model, optax.sgd(0.1))
before = nnx.state(model)
@nnx.jit
def step(m, opt, x):
    grads = nnx.grad(lambda m: (m(x) ** 2).mean())(m)
    opt.update(grads)
step(model, opt, x)
print(before["kernel"].value)
""",
    "nnx update handle": """\
s = nnx.state(model)
t = nnx.merge(nnx.graphdef(model), s)
nnx.update(t, nnx.state(other))
print(s["kernel"].value, model.kernel.value)
""",
    "update sub": """\
class Two(nnx.Module):
    def __init__(self):
        self.a = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
        self.b = nnx.Linear(2, 2, rngs=nnx.Rngs(1))
two = Two()
sa = nnx.state(two.a)
nnx.update(two.a, nnx.state(two.b))
nnx.update(two.b, sa)
print(two.a.kernel.value, two.b.kernel.value)
""",
    "swap": """\
sa, sb = nnx.state(model), nnx.state(other)
nnx.update(model, sb)
nnx.update(other, sa)
print(model.kernel.value, other.kernel.value)
""",
    "ema": """\
ema = nnx.state(model, nnx.Param)
for _ in range(3):
    bump(model)
    ema = jax.tree.map(lambda e, p: 0.5 * e + 0.5 * p, ema, nnx.state(model, nnx.Param))
print(ema["bias"].value)
""",
    "target net": """\
target = nnx.merge(*nnx.split(model))
bump(model)
print(target(x))
""",
    "flat": """\
flat = nnx.to_flat_state(nnx.state(model))
bump(model)
print([v.value for p, v in flat][0])
""",
    "flat method": """\
flat = dict(nnx.state(model).flat_state())
bump(model)
print(flat[("bias",)].value)
""",
    "setattr value": """\
s = nnx.state(model)
setattr(model.bias, "value", jnp.ones(2))
print(s["bias"].value)
""",
    "item set": """\
s = nnx.state(model)
model.bias[...] = jnp.ones(2)
print(s["bias"].value)
""",
    "copy from": """\
s = nnx.state(model)
model.bias.copy_from(other.bias)
model.bias.value = model.bias.value + 3
print(s["bias"].value)
""",
    "map write": """\
def reset(m):
    for path, v in nnx.state(m).flat_state():
        v.value = jnp.zeros_like(v.value)
    return m
reset(model)
print(model.kernel.value)
""",
    "iter graph write": """\
s = nnx.state(model)
for path, node in nnx.iter_graph(model):
    if isinstance(node, nnx.Param):
        node.value = jnp.zeros_like(node.value)
print(s["kernel"].value)
""",
    "partial fn": """\
import functools
s = nnx.state(model)
f = functools.partial(bump, model)
f()
print(s["bias"].value)
""",
    "lambda fn": """\
s = nnx.state(model)
f = lambda: bump(model)
f()
print(s["bias"].value)
""",
    "callback list": """\
s = nnx.state(model)
for f in [bump, bump]:
    f(model)
print(s["bias"].value)
""",
    "method of field": """\
class Trainer:
    def __init__(self, m):
        self.m = m
    def fit(self):
        bump(self.m)
class Exp:
    def __init__(self, m):
        self.trainer = Trainer(m)
        self.start = nnx.state(m)
    def go(self):
        self.trainer.fit()
        return self.start
e = Exp(model)
print(e.go()["bias"].value)
""",
    "generator": """\
def steps(m):
    for i in range(3):
        bump(m)
        yield nnx.state(m)
states = list(steps(model))
print([s["bias"].value for s in states])
""",
    "namedtuple": """\
import collections
Snap = collections.namedtuple("Snap", "step state")
snap = Snap(0, nnx.state(model))
bump(model)
print(snap.state["bias"].value)
""",
    "dataclass holder": """\
import dataclasses
@dataclasses.dataclass
class Snap:
    step: int
    state: nnx.State
snap = Snap(0, nnx.state(model))
bump(model)
print(snap.state["bias"].value)
""",
    "with default arg": """\
def check(s=nnx.state(model)):
    return s["bias"].value
bump(model)
print(check())
""",
    "closure": """\
def make():
    s = nnx.state(model)
    def inner():
        return s["bias"].value
    return inner
f = make()
bump(model)
print(f())
""",
    "global set": """\
best = None
def keep():
    global best
    best = nnx.state(model)
keep()
bump(model)
print(best["bias"].value)
""",
    "tree leaf alias": """\
b = nnx.state(model)["bias"]
bump(model)
print(b.value)
""",
    "filter state": """\
s = nnx.filter_state(nnx.state(model), nnx.Param)
bump(model)
print(s["bias"].value)
""",
    "try rollback": """\
def attempt(m):
    snap = nnx.state(m)
    try:
        bump(m)
        raise ValueError
    except ValueError:
        nnx.update(m, snap)
attempt(model)
print(model.bias.value)
""",
    "train eval toggle": """\
params = nnx.state(model, nnx.Param)
ema = jax.tree.map(lambda a: a * 0, params)
nnx.update(model, ema)
a = model(x)
nnx.update(model, params)
print(a, model(x))
""",
    "pop": """\
class Sow(nnx.Module):
    def __init__(self):
        self.l = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    def __call__(self, x):
        self.sow(nnx.Intermediate, "h", x)
        return self.l(x)
m = Sow()
m(x)
ints = nnx.pop(m, nnx.Intermediate)
m(x)
print(len(ints["h"].value))
""",
    "pure jit": """\
g, s = nnx.split(model)
@jax.jit
def fwd(s, x):
    m = nnx.merge(g, s)
    bump(m)
    return m(x), nnx.state(m)
y, new = fwd(s, x)
print(s["bias"].value, new["bias"].value)
""",
    "merge eval copy": """\
g, s = nnx.split(model)
ev = nnx.merge(g, s)
ev.kernel.value = jnp.zeros((2, 2))
print(model(x))
""",
    "cell carry": """\
m = Noisy(nnx.Rngs(0, noise=1))
g, s = nnx.split(m)
def run(g, s, x):
    mm = nnx.merge(g, s)
    return mm(x)
a = run(g, s, x)
b = run(g, s, x)
print(bool((a == b).all()))
""",
    "variable loop": """\
class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def __call__(self):
        self.count.value += 1
        return self.count.value
c = Counter()
s0 = nnx.state(c)
for _ in range(3):
    c()
print(s0["count"].value, nnx.state(c)["count"].value)
""",
    "variable loop set": """\
class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def tick(self):
        self.count = nnx.Variable(self.count.value + 1)
c = Counter()
s0 = nnx.state(c)
c.tick()
print(s0["count"].value)
""",
    "attr assign array": """\
class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def tick(self):
        self.count.value = self.count.value + 1
class Outer(nnx.Module):
    def __init__(self):
        self.inner = Counter()
    def __call__(self):
        self.inner.tick()
o = Outer()
s0 = nnx.state(o)
o()
print(s0["inner"]["count"].value)
""",
    "vars of": """\
s = vars(model)
st = nnx.state(model)
s["bias"].value = jnp.ones(2)
print(st["bias"].value)
""",
    "layers of a class": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
pre = nnx.state(net)
a = net(xs)
nnx.update(net, pre)
print((a == net(xs)).all(), net.norm.mean.value)
""",
    "statistics of a class": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
pre = nnx.state(net, nnx.BatchStat)
for _ in range(2):
    net(xs)
nnx.update(net, pre)
print(net.norm.mean.value)
""",
    "layer called from outside": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
pre = nnx.state(net)
net.norm(xs)
print(pre["norm"]["mean"].value)
""",
    "layers and a function that knows the model": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
def run():
    pre = nnx.state(net)
    a = net(xs)
    nnx.update(net, pre)
    return (a == net(xs)).all()
print(run())
""",
    "layers and a helper": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
def run(model, xs):
    pre = nnx.state(model)
    model(xs)
    return pre
print(run(net, xs)["norm"]["mean"].value)
""",
    "layers of layers": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
class Outer(nnx.Module):
    def __init__(self, rngs):
        self.blocks = [Net(rngs) for _ in range(2)]
        self.head = nnx.Sequential(Net(rngs), nnx.Linear(2, 1, rngs=rngs))
    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
outer = Outer(nnx.Rngs(1))
pre = nnx.state(outer, nnx.BatchStat)
outer(xs)
print(jax.tree.leaves(pre))
""",
    "layers of a dictionary": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
class Outer(nnx.Module):
    def __init__(self, rngs):
        self.parts = {"a": Net(rngs)}
    def __call__(self, x):
        return self.parts["a"](x)
outer = Outer(nnx.Rngs(1))
pre = nnx.state(outer)
outer(xs)
print(pre["parts"]["a"]["norm"]["mean"].value)
""",
    "layers in a loss": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
@nnx.jit
def step(model, x):
    return nnx.value_and_grad(lambda m: m(x).sum())(model)[0]
pre = nnx.state(net, nnx.BatchStat)
step(net, xs)
print(pre["norm"]["mean"].value)
""",
    "layers under another name": """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(self.norm(self.lin(x)))
net = Net(nnx.Rngs(0))
xs = jnp.arange(4.0).reshape(2, 2)
class Agent:
    def __init__(self, actor):
        self.actor = actor
    def act(self, x):
        return self.actor(x)
    def save(self):
        self.saved = nnx.state(self.actor)
    def load(self):
        nnx.update(self.actor, self.saved)
agent = Agent(net)
agent.save()
agent.act(xs)
agent.load()
print(net.norm.mean.value)
""",
    "context manager": """\
import contextlib


@contextlib.contextmanager
def preserved(model):
    saved = nnx.state(model)
    try:
        yield model
    finally:
        nnx.update(model, saved)


def probe(model):
    with preserved(model) as inner:
        bump(inner)
        return inner.bias.value


print(probe(model), model.bias.value)
""",
    "context manager of two": """\
import contextlib
from contextlib import contextmanager


class Trainer:
    def __init__(self, model):
        self.model = model

    @contextmanager
    def frozen(self):
        keep = nnx.split(self.model)
        yield
        nnx.update(self.model, keep[1])


trainer = Trainer(model)
with contextlib.nullcontext(3) as three, trainer.frozen():
    bump(model)
print(model.bias.value, three)
""",
    "context manager class": """\
class Frozen:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.saved = nnx.state(self.model)
        return self.model

    def __exit__(self, *error):
        nnx.update(self.model, self.saved)


class Reentered(Frozen):
    pass


with Reentered(model) as inner:
    bump(inner)
print(model.bias.value)
""",
    "context manager reads": """\
import contextlib


@contextlib.contextmanager
def parameters(model):
    yield nnx.state(model)


with parameters(model) as state:
    print(state["bias"].value)
bump(model)
print(model.bias.value)
""",
    "generator of rounds": """\
def rounds(model, n):
    start = nnx.state(model)
    for i in range(n):
        yield i
        nnx.update(model, start)


for i in rounds(model, 3):
    bump(model)
    print(i, model.bias.value)
print(model.bias.value)
""",
    "decorator": """\
import functools


def stateless(fn):
    @functools.wraps(fn)
    def wrapper(net, *args):
        saved = nnx.state(net)
        out = fn(net, *args)
        nnx.update(net, saved)
        return out

    return wrapper


@stateless
def probe(net, amount):
    net.bias.value = net.bias.value + amount
    return net.bias.value


print(probe(model, 2.0), model.bias.value)
""",
    "decorator with options": """\
def restoring(times):
    def decorate(fn):
        def wrapper(net):
            saved = nnx.state(net)
            for _ in range(times):
                fn(net)
            nnx.update(net, saved)

        return wrapper

    return decorate


@restoring(times=2)
def shake(net):
    bump(net)
    print(net.bias.value)


shake(model)
print(model.bias.value)
""",
    "decorator of what only reads": """\
import functools


def with_state(fn):
    @functools.wraps(fn)
    def wrapper(net):
        return fn(nnx.state(net))

    return wrapper


@with_state
def total(state):
    return state["bias"].value.sum()


print(total(model))
bump(model)
print(total(model))
""",
    "abstract network": """\
import abc
import functools


class Network(abc.ABC):
    @abc.abstractmethod
    def __call__(self, x): ...


class Normalizer(Network, nnx.Module):
    def __init__(self):
        self.mean = nnx.Variable(jnp.zeros(()))

    def __call__(self, x):
        self.mean.value = self.mean.value + x.mean()
        return x - self.mean.value


class Layered(Network, nnx.Module):
    def __init__(self, first: Network):
        self.first = first

    def __call__(self, x):
        return self.first(x)


def transition(env, network: Network, carry, x):
    return carry + network(x).sum(), x


def unroll(env, network: Network, xs):
    step = functools.partial(transition, env)
    axes = (nnx.StateAxes({...: nnx.Carry}), nnx.Carry, 0)
    return nnx.scan(step, in_axes=axes, out_axes=(nnx.Carry, 0))(network, jnp.zeros(()), xs)


def ppo_step(network: Network, xs):
    before = nnx.state(network)
    total, _ = unroll(None, network, xs)
    nnx.update(network, before)
    return total


layered = Layered(Normalizer())
print(ppo_step(layered, jnp.ones((3, 2))), layered.first.mean.value)
""",
    "step of optax alone": """\
tx = optax.adam(0.1)
opt_state = tx.init(nnx.state(model, nnx.Param))


@nnx.jit
def step(model, opt_state):
    grads = nnx.grad(lambda m: (m(x) ** 2).sum())(model)
    params = nnx.state(model, nnx.Param)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    nnx.update(model, params)
    return opt_state


for _ in range(3):
    opt_state = step(model, opt_state)
print(model.bias.value.round(3))
""",
    "step of optax and what was before": """tx = optax.adam(0.1)
opt_state = tx.init(nnx.state(model, nnx.Param))
before = nnx.state(model, nnx.Param)
grads = nnx.grad(lambda m: (m(x) ** 2).sum())(model)
updates, opt_state = tx.update(grads, opt_state, nnx.state(model, nnx.Param))
nnx.update(model, optax.apply_updates(nnx.state(model, nnx.Param), updates))
print(before["bias"].value, model.bias.value.round(3))
""",
    "abstract network that stays": """\
class Network:
    def __call__(self, x):
        raise NotImplementedError


class Doubling(Network, nnx.Module):
    def __init__(self):
        self.factor = nnx.Variable(jnp.array(2.0))

    def __call__(self, x):
        return x * self.factor.value


def step(network: Network, x):
    before = nnx.state(network)
    y = network(x)
    nnx.update(network, before)
    return y


print(step(Doubling(), jnp.ones(2)))
""",
    "class from a table by name": """\
class Keeper:
    def __init__(self):
        self.kept = []

    def keep(self, m):
        self.kept.append(nnx.state(m, nnx.Param))
        return len(self.kept) - 1

    def back(self, m, index):
        nnx.update(m, self.kept[index])


KEEPERS = {"keeper": Keeper}


def make(name):
    return KEEPERS[name]()


keeper = make("keeper")
index = keeper.keep(model)
bump(model)
keeper.back(model, index)
print(model.bias.value)
""",
    "class that a decorator puts into a table": """\
KEEPERS = {}


def register(name):
    def put(cls):
        KEEPERS[name] = cls
        return cls

    return put


class Base:
    def __init__(self):
        self.kept = []

    def keep(self, m):
        self.kept.append(nnx.state(m, nnx.Param))

    def back(self, m):
        nnx.update(m, self.kept[-1])


@register("keeper")
class Keeper(Base):
    pass


def make(name):
    return KEEPERS[name]()


keeper = make("keeper")
keeper.keep(model)
bump(model)
keeper.back(model)
print(model.bias.value)
""",
    "class that the method of a registry puts into it": """\
class Registry:
    def __init__(self):
        self.entries = {}

    def register(self, cls):
        self.entries[cls.__name__] = cls
        return cls

    def build(self, name, *args):
        return self.entries[name](*args)


MODELS = Registry()


@MODELS.register
class Small(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(2, 2, rngs=rngs)


class Trainer:
    def __init__(self):
        self.model = MODELS.build("Small", nnx.Rngs(0))
        self.graphdef, params = nnx.split(self.model)
        self.start = params

    def step(self):
        bump(self.model.layer)


trainer = Trainer()
trainer.step()
print(nnx.merge(trainer.graphdef, trainer.start).layer.bias.value)
""",
    "model that a method of a derived class makes": """\
class Task:
    def build(self):
        raise NotImplementedError


class Fit(Task):
    def build(self):
        return nnx.Linear(2, 2, rngs=nnx.Rngs(0))


class Trainer:
    def __init__(self, task: Task):
        self.model = task.build()
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1))

    def step(self):
        self.optimizer.update(nnx.grad(lambda m: (m(x) ** 2).sum())(self.model))


trainer = Trainer(Fit())
best = nnx.state(trainer.model, nnx.Param)
trainer.step()
nnx.update(trainer.model, best)
print(trainer.model.kernel.value.round(3))
""",
    "callback whose class only derived ones fill": """\
class Callback:
    def after(self, trainer): ...


class Best(Callback):
    def __init__(self):
        self.best = (0, None)

    def after(self, trainer):
        if self.best[1] is None:
            self.best = (1, nnx.state(trainer.model, nnx.Param))

    def end(self, trainer):
        _, state = self.best
        nnx.update(trainer.model, state)


class Trainer:
    def __init__(self, model, callback: Callback):
        self.model, self.callback = model, callback

    def step(self):
        bump(self.model)
        self.callback.after(self)


best = Best()
trainer = Trainer(model, best)
for _ in range(3):
    trainer.step()
best.end(trainer)
print(model.bias.value)
""",
    "table of classes whose states do not change": """\
class Norm:
    def of(self, m):
        return sum(float(jnp.abs(v).sum()) for v in jax.tree.leaves(nnx.state(m, nnx.Param)))


TOOLS = {"norm": Norm}


def make(name):
    return TOOLS[name]()


print(round(make("norm").of(model), 3))
bump(model)
print(round(make("norm").of(model), 3))
""",
    "method that a derived class overrides": """\
class Task:
    def build(self):
        return nnx.Linear(2, 2, rngs=nnx.Rngs(0))

    def train(self, m):
        print(m.bias.value)


class Fit(Task):
    def train(self, m):
        bump(m)


def run(task: Task):
    m = task.build()
    best = nnx.state(m)
    task.train(m)
    nnx.update(m, best)
    return m


print(run(Fit()).bias.value)
""",
    "methods of a protocol": """\
from typing import Protocol


class Task(Protocol):
    def build(self): ...

    def train(self, m): ...


class Fit:
    def build(self):
        return nnx.Linear(2, 2, rngs=nnx.Rngs(0))

    def train(self, m):
        bump(m)


def run(task: Task):
    m = task.build()
    best = nnx.state(m)
    task.train(m)
    nnx.update(m, best)
    return m


print(run(Fit()).bias.value)
""",
    "class that a table gives": """\
class Keeper:
    def __init__(self):
        self.kept = []

    def keep(self, m):
        self.kept.append(nnx.state(m, nnx.Param))

    def back(self, m):
        nnx.update(m, self.kept[-1])


KEEPERS = {"keeper": Keeper}


def make(name):
    cls = KEEPERS.get(name)
    if cls is None:
        raise KeyError(name)
    return cls()


keeper = make("keeper")
keeper.keep(model)
bump(model)
keeper.back(model)
print(model.bias.value)
""",
    "derived class that changes nothing": """\
class Task:
    def train(self, m):
        print(m.bias.value)


class Fit(Task):
    def train(self, m):
        bump(m)


class Keep(Task):
    def train(self, m):
        print(m.kernel.value.sum().round(3))


def run(task: Task, m):
    before = nnx.state(m)
    task.train(m)
    print(before["bias"].value)


run(Keep(), model)
Fit().train(model)
""",
    "attribute trained and put back": """\
class Trainer:
    def __init__(self, model, tx):
        self.model = model
        self.tx = tx
        self.graphdef, self.params, self.rest = nnx.split(model, nnx.Param, ...)
        self.opt_state = tx.init(self.params)
        self._step = jax.jit(self._make_step())

    def _make_step(self):
        def step(params, rest, opt_state, x):
            def loss_fn(p):
                return (nnx.merge(self.graphdef, p, rest)(x) ** 2).mean()

            loss, grads = jax.value_and_grad(loss_fn)(params)
            updates, opt_state = self.tx.update(grads, opt_state, params)
            return optax.apply_updates(params, updates), opt_state, loss

        return step

    def fit(self, x, epochs):
        for _ in range(epochs):
            self.params, self.opt_state, loss = self._step(self.params, self.rest, self.opt_state, x)
        nnx.update(self.model, self.params)
        return loss


trainer = Trainer(model, optax.adam(0.1))
for _ in range(2):
    print(float(trainer.fit(x, 3)), float(model(x).sum()))
""",
    "attribute trained in one method and put back in another": """@jax.jit
def step(params, rest, x):
    return jax.tree.map(lambda p: p * 0.9, params)


class Trainer:
    def __init__(self, net):
        self.net = net
        self.graphdef, self.params, self.rest = nnx.split(net, nnx.Param, ...)

    def write_back(self):
        nnx.update(self.net, self.params)

    def measure(self, x):
        return nnx.merge(self.graphdef, self.params, self.rest)(x).sum()

    def train(self, xs):
        for one in xs:
            self.params = step(self.params, self.rest, one)


trainer = Trainer(model)
for _ in range(2):
    trainer.train([x, x])
    trainer.write_back()
    print(float(model(x).sum()), float(trainer.measure(x)))
""",
    "one part trained and put back beside another": """@jax.jit
def step(params, rest, x):
    return jax.tree.map(lambda p: p * 0.9, params)


net = nnx.BatchNorm(2, use_running_average=True, rngs=nnx.Rngs(0))
graphdef, params, rest = nnx.split(net, nnx.Param, ...)
for _ in range(2):
    for one in (x, x):
        params = step(params, rest, one)
    nnx.update(net, params)
print(float(net(x).sum()))
""",
    "one part put back and the other read that the model changed": """net = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
graphdef, params, rest = nnx.split(net, nnx.Param, ...)
for _ in range(2):
    net(jnp.arange(4.0).reshape(2, 2))
    params = jax.tree.map(lambda p: p * 0.9, params)
    nnx.update(net, params)
print([float(leaf.sum()) for leaf in jax.tree.leaves(rest)])
""",
    "another state put back under the name of a part": """net = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
other_net = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
other_net.mean.value = other_net.mean.value + 5
graphdef, part, rest = nnx.split(net, nnx.Param, ...)
if other_net.mean.value.sum() > 1:
    part = nnx.state(other_net)
nnx.update(net, part)
print([float(leaf.sum()) for leaf in jax.tree.leaves(rest)])
""",
}

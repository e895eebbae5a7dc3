"""Functions that are compiled once and called often: what they may take from outside, and what they may do there."""

from __future__ import annotations

from tests.lint.tables import Cases

_NET = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.calls = 0
        self.last = None

"""

_FILTER = """\
class Filter:
    def __init__(self, gain):
        self.gain = gain
    def tune(self, gain):
        self.gain = gain
    @partial(jax.jit, static_argnums=0)
    def _apply(self, v):
        return jax.lax.fori_loop(0, 3, lambda i, w: self.gain * w, v)  # NNX807
"""

# an object that makes its parameters while a flag is set, and hands them out in compiled code
_STORE = """\
class Params:
    def __init__(self):
        self.params, self.initializing = {}, False
    def get(self, name, shape, initializer):
        if self.initializing:
            self.params[name] = initializer(shape)
        return self.params[name]
    def setup(self, function, *args):
        self.initializing = True
        function(*args)
        self.initializing = False
        return dict(self.params)
    def pure(self, function):
        def run(params, *args):
            self.params = params
            result = function(*args)
            self.params = None
            return result
        return run
"""
_FORWARD = """\
store = Params()
def forward(v):
    return v @ store.get("w", (3, 2), drawn)
params = store.setup(forward, x)
print(jax.jit(store.pure(forward))(params, x).shape)
"""

# a state that is also called with other parameters than its own
_HELD = """\
import dataclasses
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Net:
    params: jax.Array
    offset: jax.Array
    def replace(self, **words):
        return dataclasses.replace(self, **words)
    def __call__(self, v, params=None):
        if params is None:
            params = self.params
        return v * params + self.offset
    def called(self, *args, params=None):
        return self.__call__(*args, params=params)
    def halved(self):
        return self.replace(params=self.params / 2)
def main(net):
"""

CASES = {
    "NNX801": Cases(
        bad=(
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def make_score(net, v):
    @nnx.jit
    def score():
        return net(v).mean()  # NNX801
    return score
score = make_score(model, x)
for epoch in range(3):
    train_step(model, optimizer, x)
    print(score())
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def make_score(net, v):
    return jax.jit(lambda: net(v).mean())  # NNX801
def main():
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
    score = make_score(net, x)
    for epoch in range(3):
        for v in batches:
            train_step(net, opt, v)  # NNX901
        print(score())
main()
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def loss(net, v):
    return (net(v) ** 2).mean()
def make_score(net, v):
    def score():
        return loss(net, v)  # NNX801
    return jax.jit(score)
score = make_score(model, x)
for epoch in range(3):
    train_step(model, optimizer, x)
    print(score())
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def make_score(net):
    @jax.jit
    def score(v):
        return net(v).mean()  # NNX801
    return score
score = make_score(model)
for epoch in range(3):
    train_step(model, optimizer, x)
    print(score(x))
""",
            """\
@nnx.jit
def predict(x):
    return model(x)  # NNX801
""",
            """\
@partial(jax.jit, static_argnames="n")
def predict(x, n):
    return model(x) * n  # NNX801
""",
            """\
def loss(x):
    return jnp.mean(model(x))  # NNX801
fast = jit(loss)
""",
            """\
def forward(x):
    return model(x)  # NNX801

@jax.jit
def predict(x):
    return forward(x)
""",
            """\
@nnx.jit
def step(x):
    grads = nnx.grad(lambda m: m(x).sum())(model)  # NNX801
    optimizer.update(model, grads)
""",
            """\
def train(net: nnx.Module, batches):
    @nnx.jit
    def step(x):
        return net(x)  # NNX801
    for x in batches:
        step(x)
""",
        ),
        clean=(
            """\
def apply(graphdef, params, v):
    return nnx.merge(graphdef, params)(v)
def play(model, params, v):
    graphdef, _ = nnx.split(model)
    def move(carry, _):
        return apply(graphdef, params, carry), None
    return jax.lax.scan(move, v, None, length=2)[0]
def main():
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    params = nnx.state(net)
    def step(params, v):
        return play(model=net, params=params, v=v)
    run = jax.jit(step)
    for _ in range(2):
        out = run(params, x)
        params = jax.tree.map(lambda p: p * 0.5, params)
    nnx.update(net, params)
    return out
print(main())
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def make_score(net, v):
    @nnx.jit
    def score():
        return net(v).mean()
    return score
for epoch in range(3):
    train_step(model, optimizer, x)
print(make_score(model, x)())
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def make_score(net, v):
    @nnx.jit
    def score(net):
        return net(v).mean()
    return lambda: score(net)
score = make_score(model, x)
for epoch in range(3):
    train_step(model, optimizer, x)
    print(score())
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def make_score(net, v):
    @nnx.jit
    def score():
        return net(v).mean()
    return score
teacher = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
score = make_score(teacher, x)
for epoch in range(3):
    train_step(model, optimizer, x)
    print(score())
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def make_score(net, v):
    def score():
        return net(v).mean()
    return score
score = make_score(model, x)
for epoch in range(3):
    train_step(model, optimizer, x)
    print(score())
""",
            """\
@nnx.jit
def train_step(net, opt, v):
    grads = nnx.grad(lambda m: (m(v) ** 2).mean())(net)
    opt.update(net, grads)
def make_score(net, v):
    @nnx.jit
    def score():
        return net(v).mean()
    return score
frozen = nnx.clone(model)
score = make_score(frozen, x)
for epoch in range(3):
    train_step(model, optimizer, x)
    print(score())
""",
            """\
@nnx.jit
def predict(model, x):
    return model(x)
""",
            """\
SCALE = 2.0
@jax.jit
def scaled(x):
    return x * SCALE
""",
            """\
graphdef, state = nnx.split(model)
@jax.jit
def predict(state, x):
    return nnx.merge(graphdef, state)(x)
""",
            """\
def predict(x):
    return model(x)
predict(x)
""",
            """\
@nnx.jit
def build():
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    def loss(m):
        return m(x).sum()
    return nnx.grad(loss)(net)
""",
            """\
@nnx.jit
def step(model, optimizer, x):
    def loss(m):
        return m(x).sum()
    grads = nnx.grad(loss)(model)
    optimizer.update(model, grads)
""",
            """\
class Trainer:
    def __init__(self, width):
        self.width = width
    def run(self, x):
        return jax.jit(lambda v: v * self.width)(x)
""",
        ),
    ),
    "NNX802": Cases(
        bad=(
            """\
class Count(nnx.Variable):
    pass
class Counter(nnx.Module):
    def __init__(self):
        self.n = Count(jnp.array(0))
    def __call__(self):
        self.n[...] += 1
        return self.n[...]
counter = Counter()
print(nnx.jit(counter)())  # NNX802
""",
            """\
class Tracker(nnx.Module):
    def __init__(self):
        self.total = nnx.BatchStat(jnp.array(0.0))
    def add(self, value):
        self.total[...] = self.total[...] + value.sum()
    def watch(self, value):
        self.add(value)
        return value
tracker = Tracker()
watch = jax.jit(tracker.watch)  # NNX802
for _ in range(2):
    watch(x)
""",
            """\
class Sampler(nnx.Module):
    def __init__(self, rngs):
        self.net = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.net(v)
    def sample(self, v, n):
        net = jax.jit(self.net)  # NNX802
        for _ in range(n):
            v = v - net(v)
        return v
sampler = Sampler(nnx.Rngs(0))
trained = nnx.Optimizer(sampler, optax.sgd(0.1), wrt=nnx.Param)
print(sampler.sample(x, 2))
""",
            """\
class Sampler(nnx.Module):
    def __init__(self, rngs):
        self.net = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.net(v)
    def learn(self, trained, v, n):
        net = nnx.jit(self.net)  # NNX802
        for _ in range(n):
            v = v - net(v)
            grads = nnx.grad(lambda m: m(v).sum())(self)
            trained.update(self, grads)  # NNX904
        return v
sampler = Sampler(nnx.Rngs(0))
trained = nnx.Optimizer(sampler, optax.sgd(0.1), wrt=nnx.Param)
print(sampler.learn(trained, x, 2))
""",
            """\
class Runner:
    def __init__(self):
        self.model = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)
        self.infer = nnx.jit(self.model)  # NNX802
        self.step = nnx.jit(self.update)
    @staticmethod
    def update(model, optimizer, v):
        optimizer.update(model, nnx.grad(lambda m: jnp.mean(m(v) ** 2))(model))
    def train(self, v):
        nnx.update(self.model, jax.tree.map(lambda p: p - 0.1, nnx.state(self.model)))
        return self.infer(v)
""",
            "predict = nnx.jit(model.__call__)  # NNX802\n",
            """\
net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
predict = jax.jit(net)  # NNX802
predict(x)
net.kernel.value = jnp.zeros((3, 3))
predict(x)
""",
            _NET
            + """\
    def encode(self, x):
        return self.linear(x)

net = Net(nnx.Rngs(0))
encode = nnx.jit(net.encode)  # NNX802
""",
            """\
class Wrapper(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(3, 3, rngs=rngs)
        self.fast = nnx.jit(self.encoder)  # NNX802

net = Wrapper(nnx.Rngs(0))
trainer = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
""",
        ),
        clean=(
            """\
class Count(nnx.Variable):
    pass
class Counter(nnx.Module):
    def __init__(self):
        self.n = Count(jnp.array(0))
    def __call__(self):
        self.n[...] += 1
        return self.n[...]
counter = Counter()
count = nnx.jit(lambda counter: counter())
print(count(counter), count(counter))
""",
            """\
class Total(nnx.Module):
    def __init__(self):
        self.total = nnx.BatchStat(jnp.array(0.0))
    def add(self, value):
        self.total[...] = self.total[...] + value.sum()
    def __call__(self, value):
        return value + self.total[...]
total = Total()
total.add(x)
print(nnx.jit(total)(x))
""",
            """\
class Total(nnx.Module):
    def __init__(self):
        self.total = nnx.BatchStat(jnp.array(0.0))
    def __call__(self, value, training=False):
        if training:
            self.total[...] = self.total[...] + value.sum()
        return value + self.total[...]
print(jax.jit(Total())(x))
""",
            """\
class Sampler(nnx.Module):
    def __init__(self, rngs):
        self.net = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.net(v)
    def sample(self, v, n):
        net = nnx.jit(self.net)
        for _ in range(n):
            v = v - net(v)
        return v
sampler = Sampler(nnx.Rngs(0))
trained = nnx.Optimizer(sampler, optax.sgd(0.1), wrt=nnx.Param)
print(sampler.sample(x, 2))
""",
            """\
class Runner:
    def __init__(self, seed):
        self.model = nnx.Linear(3, 3, rngs=nnx.Rngs(seed))
        self.load()
        self.infer = jax.jit(self.model)
    def load(self):
        nnx.update(self.model, jax.tree.map(lambda p: 2 * p, nnx.state(self.model)))
    def predict(self, v):
        return self.infer(v)
print(Runner(0).predict(x))
""",
            "predict = nnx.jit(lambda m, x: m(x))\n",
            _NET
            + """\
    @nnx.jit
    def __call__(self, x):
        return self.linear(x)
""",
            """\
class Scaler:
    def __init__(self, factor):
        self.factor = factor
    def apply(self, x):
        return x * self.factor
scale = jax.jit(Scaler(2).apply)
""",
            "predict = jax.jit(model)\n",
            "norm = jax.jit(jnp.linalg.norm)\n",
            "predict = nnx.jit(nnx.Linear.__call__)\n",
            "predict = nnx.cached_partial(nnx.jit(lambda m, x: m(x)), model)\n",
        ),
    ),
    "NNX803": Cases(
        bad=(
            """\
import logging
@jax.jit
def train(batch):
    logging.info("loss (mean) = %s", batch.mean())  # NNX803
    return batch * 2
print(train(x))
""",
            """\
@jax.jit
def doubled(v):
    print("v", v)  # NNX803
    return v * 2
with jax.disable_jit():
    doubled(x)
doubled(x)
""",
            """\
@jax.jit
def doubled(v):
    print("v", v)  # NNX803
    return v * 2
with jax.disable_jit(False):
    doubled(x)
""",
            """\
@jax.jit
def scaled(v):
    print("Running the model")
    print(v)  # NNX803
    return 2 * v
scaled(x)
""",
            """\
@jax.jit
def f(v):
    total = v.sum()
    jax.debug.print("total {}".format(total))  # NNX803
    jax.debug.print("total %s" % total)  # NNX803
    return total
print(f(x))
""",
            """\
@jax.jit
def f(v):
    total = v.sum()
    print("total " + str(total))  # NNX803
    print("total {}".format(total), "of %s" % v.size)  # NNX803
    return total
f(x)
""",
            """\
@jax.jit
def f(x):
    print("loss", x)  # NNX803
    return x
""",
            """\
@nnx.jit
def f(model, x):
    y = model(x)
    print(f"mean {y.mean()}")  # NNX803
    return y
""",
            """\
import logging
@jax.jit
def f(x):
    logging.info("x = %s", x.sum())  # NNX803
    return x
""",
            """\
def report(value):
    print(value)  # NNX803
@jax.jit
def f(x):
    report(x + 1)
    return x
""",
            """\
@jax.jit
def f(x):
    jax.debug.print(f"{x:.3f}")  # NNX803
    return x
""",
            """\
def body(carry, v):
    print(carry)  # NNX803
    return carry + v, v
jax.lax.scan(body, 0.0, x)
""",
            """\
import sys
@jax.jit
def f(x):
    sys.stdout.write(f"{x}")  # NNX803
    return x
""",
            """\
import logging
log = logging.getLogger(__name__)
@jax.jit
def f(x):
    log.info("x = %s", x)  # NNX803
    return x
""",
            "def f(v):\n    jax.debug.print('v', v)  # NNX803\n    return v\n",
            "from jax import debug\ndebug.print('{0} {1}', x)  # NNX803\n",
            "jax.debug.print('{a}', a=x, b=x)  # NNX803\n",
            """\
def run(start, level=0):
    def step(v, _):
        if level > 1:
            print("value", v)  # NNX803
        return v + 1.0, None
    if level:
        print("begins")
    return jax.lax.scan(step, start, None, 3)[0]
print(run(0.0, level=2))
""",
            """\
def run(start, debug=0):
    def step(v, _):
        if debug >= 2:
            print("value", v)  # NNX803
        return v + 1.0, None
    if debug > 3:
        return step(start, None)[0]
    return jax.lax.scan(step, start, None, 3)[0]
print(run(0.0))
""",
        ),
        clean=(
            """\
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:1]), ("i",))
@partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
def doubled(block):
    print("block", block)
    return 2 * block
print(doubled(jnp.arange(4.0)))
""",
            """\
import logging
class Agent:
    def train(self, batch, scale):
        logging.info("train_step(batch=%s)", batch)
        return batch * scale
print(jax.jit(Agent().train)(x, 2.0))
""",
            """\
@jax.jit
def squared(v):
    print("Running the JIT function")
    ans = v * v
    print("v square is", ans)
    return ans
print(squared(x))
""",
            """\
def body(p, v):
    print("p", p)
    return p - v, None
def make(n):
    def run(p):
        p, _ = jax.lax.scan(body, p, jnp.ones((n, 3)))
        print("end", p)
        return p
    return run
def main():
    with jax.disable_jit(True):
        run = jax.jit(jax.vmap(make(3)))
        print(run(jnp.ones((2, 3))))
main()
""",
            """\
@jax.jit
def doubled(v):
    print("v", v)
    return v * 2
def show(v):
    return doubled(v)
with jax.disable_jit():
    print(show(x))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(3)(v)
@jax.jit
def run(v):
    net = Net()
    jax.debug.print(f"network: {net}")
    return net.apply(net.init(jax.random.key(0), v), v)
print(run(x))
""",
            """\
def run(start, debug=0):
    def show(v):
        if debug >= 2:
            print("shown", v)
        return v + 1.0
    def step(v, _):
        if debug >= 2:
            print("value", v)
        return show(v), None
    if debug:
        value = start
        for _ in range(3):
            value, _ = step(value, None)
    else:
        value, _ = jax.lax.scan(step, start, None, 3)
    return value
print(run(0.0), jax.jit(run)(0.0), run(0.0, debug=2))
""",
            """\
import warnings
def as_bool(predicate):
    try:
        return bool(predicate)
    except jax.errors.ConcretizationTypeError:
        return None
@jax.jit
def scaled(v):
    radius = jnp.max(v)
    if as_bool(radius > 0.1):
        warnings.warn(f"a radius of {radius:.1f} is large")
    return v / radius
print(scaled(x + 1.0))
""",
            """\
@jax.jit
def f(v, w):
    print("Running f():")
    print(f"  {v = }")
    result = jnp.dot(v + 1, w + 1)
    print(f"  {result = }")
    return result
print(f(x, x))
""",
            """\
@jax.jit
def scaled(v):
    print("tracing")
    print("got", v)
    return 2 * v
print(scaled(x))
""",
            """\
@jax.jit
def f(v):
    jax.debug.print("rows %d: {}" % v.shape[0], v)
    jax.debug.print("axes " + str(v.ndim) + " {}", v)
    return v
print(f(x))
""",
            """\
@jax.jit
def f(v):
    print("shape " + str(v.shape), "of {} and %s".format(v.dtype) % v.ndim)
    return v.sum()
print(f(x))
""",
            """\
@jax.jit
def f(x):
    print("compiling for", x.shape, x.dtype)
    return x
""",
            """\
@jax.jit
def f(x):
    jax.debug.print("x = {}", x)
    return x
""",
            """\
@jax.jit
def f(x):
    jax.debug.callback(lambda v: print("x", v), x)
    return x
""",
            """\
loss = jax.jit(lambda v: v.sum())(x)
print(f"loss {loss:.3f}")
""",
            """\
@partial(jax.jit, static_argnames=("name",))
def f(x, name):
    print(f"tracing {name} with {len(x)} rows")
    return x
""",
            """\
@jax.jit
def f(x):
    jax.debug.print(f"step of {x.shape[0]} rows: {{}}", x)
    return x
""",
            """\
@jax.jit
def f(params):
    print("leaves:", len(jax.tree.leaves(params)))
    return params
""",
            """\
@jax.jit
def f(x):
    print("devices", jax.device_count())
    return x
""",
            """\
import logging
import warnings
log = logging.getLogger(__name__)
@jax.jit
def f(x):
    log.info("compiling for %s", x.shape)
    if x.dtype != jnp.float32:
        warnings.warn(f"slow for {x.dtype}")
    return x
""",
            """\
import sys
def report(loss):
    sys.stdout.write(f"{loss:.3f}")
report(jax.jit(lambda v: v.sum())(x))
""",
            "jax.debug.print('{} {a[0]:.2f} {{}}', x[0], a=x, ordered=True)\n",
            "jax.debug.print('{0} {0}', x[0])\njax.debug.print('done')\n",
            "form = 'v {}'\njax.debug.print(form, x)\njax.debug.print('{:{}}', x[0], 4)\n",
            """\
def main(v):
    def step(v):
        print(v.sum())
        return v * 2
    step_jit = jax.jit(step)
    for _ in range(3):
        v = step(v)
    return v
y = main(x)
""",
        ),
    ),
    "NNX804": Cases(
        bad=(
            """\
class Dual:
    def __init__(self, v):
        self.scales = v
        self.run = jax.jit(self.objective)
    def objective(self, v):
        out = self.cost() * v.sum()
        self.scales = jnp.exp(v)  # NNX804
        return out
    def cost(self):
        return jnp.sum(self.scales)
print(Dual(x).run(x))
""",
            """\
class Dual:
    def __init__(self, v):
        self.scales = v
        self.run = jax.jit(self.objective)
    def objective(self, v):
        self.scales = jnp.exp(v)  # NNX804
        return jnp.sum(self.scales)
    def show(self):
        print(self.scales)
dual = Dual(x)
print(dual.run(x))
""",
            """\
class Dual:
    def __init__(self, v):
        self.scales = v
        self.run = jax.jit(self.objective)
        self.more = jax.jit(self.cost)
    def objective(self, v, first=True):
        if first:
            self.scales = jnp.exp(v)  # NNX804
        return self.cost()
    def cost(self):
        return jnp.sum(self.scales)
print(Dual(x).run(x))
""",
            """\
class Stored:
    def __init__(self):
        self.params = jnp.ones(3)
    def generate(self, v):
        return v * self.params
def main():
    held = Stored()
    def generate_step(params, v):
        held.params = params  # NNX804
        return held.generate(v)
    step = jax.jit(generate_step)
    print(step(jnp.zeros(3), x))
    return held.generate(x)
""",
            "state = jax.random.key(1)\ndef drawn(shape):\n    global state\n"
            "    state, sub = jax.random.split(state)  # NNX804\n    return jax.random.normal(sub, shape)\n"
            "def forward(v):\n    return v @ drawn((3, 2))\njax.jit(forward)(x)\n",
            """\
class Solver:
    def __init__(self):
        self.history = None
        self.begin = -1
    def at(self, i):
        return self.history[i - self.begin]
    def solve(self, v):
        def step(c, _):
            i, v = c
            self.begin = i  # NNX804
            self.history = jnp.stack([v, v * 2.0])
            v = v + self.at(i)
            return (i + 1, v), v
        return jax.lax.scan(step, (0, v), None, length=3)[0]
print(Solver().solve(x))
""",
            """\
class Buffer:
    def __init__(self, rows):
        self.rows, self._filled = rows, 0
    def insert(self, state, samples):
        self._filled = min(self.rows, self._filled + samples.shape[0])  # NNX804
        return state + samples.sum()
    def full(self):
        return self._filled == self.rows
buffer = Buffer(10)
insert = jax.jit(buffer.insert)
state = insert(insert(0.0, x), x)
""",
            """\
total = 0.0
@jax.jit
def f(x):
    global total
    total = total + x  # NNX804
""",
            """\
calls = 0
@nnx.jit
def f(model, x):
    global calls
    calls += 1  # NNX804
    return model(x)
""",
            """\
def run(x):
    last = None
    def body(carry, v):
        nonlocal last
        last = carry  # NNX804
        return carry + v, v
    jax.lax.scan(body, 0.0, x)
    return last
""",
            """\
count = 0
def note(v):
    global count
    count = count + 1  # NNX804
@jax.jit
def f(x):
    note(x)
    return x
""",
            """\
class Trainer:
    def __init__(self):
        self.steps = 0
        self.step = jax.jit(self._step)
    def _step(self, x):
        self.steps += 1  # NNX804
        return x * 2
""",
            """\
class Trainer:
    def __init__(self):
        self.loss = None
    @partial(jax.jit, static_argnums=0)
    def step(self, x):
        self.loss = x.sum()  # NNX804
        return x
""",
            """\
import itertools
class Trainer:
    def run(self, x):
        @jax.jit
        def step(x):
            self.seen = x  # NNX804
            return x
        return step(x)
""",
        ),
        clean=(
            """\
from functools import partial
class Encoding:
    def __init__(self, width):
        self.width = width
    @partial(jax.jit, static_argnums=0)
    def forward(self, x):
        self.table = jnp.zeros((x.shape[0], self.width))
        self.table = self.table.at[:, 0::2].set(jnp.cos(x[:, :1]))
        self.table = self.table.at[:, 1::2].set(jnp.sin(x[:, :1]))
        return jnp.concatenate([x, self.table], axis=-1)
Encoding(4).forward(jnp.ones((2, 3)))
""",
            """\
import contextlib
stage = None
@contextlib.contextmanager
def staged():
    global stage
    before = stage
    stage = 0
    try:
        yield
    finally:
        stage = before
def mark(v):
    global stage
    if stage is None:
        return v
    number = stage
    stage += 1
    return v * (number + 1)
@jax.jit
def forward(v):
    with staged():
        return mark(mark(v))
print(forward(jnp.ones(2)), forward(jnp.ones(2)))
""",
            """\
class Ctx:
    def __init__(self):
        self.count = 0
ctx = Ctx()
def named(ctx):
    ctx.count += 1
    return float(ctx.count)
@jax.jit
def build(v):
    before = ctx.count
    out = v * named(ctx)
    ctx.count = before
    return out
print(build(x), ctx.count)
""",
            """\
import dataclasses
@dataclasses.dataclass
class Counts:
    updates: int = 0
    def replace(self, **changes):
        return dataclasses.replace(self, **changes)
class Whole:
    def __init__(self):
        self.counts = Counts(3)
whole = Whole()
@jax.jit
def train(v):
    whole.counts = whole.counts.replace(updates=0)
    return v * 2.0
print(train(x), whole.counts)
""",
            """\
class Holder:
    def __init__(self, env):
        self.env = env
class Wrapper:
    def __init__(self, env, size=1):
        self._env, self.size = env, size
class Learner:
    def __init__(self, env):
        self.env = Wrapper(env)
        self.run = jax.jit(self.train)
    def train(self, v):
        self.env = Wrapper(self.env._env, size=3)
        return v * self.env.size
learner = Learner(2.0)
print(learner.run(x), learner.env.size)
""",
            """\
class Stateful:
    def __init__(self, v):
        self.velocity = v
        self.step = jax.jit(self._step)
    def set_state(self, state):
        for name, value in state.items():
            setattr(self, name, value)
        return self
    def pop_state(self):
        return {"velocity": self.velocity}
    def _step(self, state, grads):
        self.set_state(state)
        self.velocity = 0.9 * self.velocity + grads
        return self.pop_state()
solver = Stateful(x)
print(solver.step(solver.pop_state(), x))
""",
            """\
class Settings:
    rate = 1.0
jax.tree_util.register_pytree_node(Settings, lambda s: ((s.rate,), None), lambda _, parts: Settings())
def roll(v, settings):
    settings.rate = v.sum()
    return v * settings.rate
rolled = jax.pmap(roll, in_axes=(0, None))
print(rolled(x[None], Settings()))
""",
            """\
class Dual:
    def __init__(self):
        self.bounds = 2.0
        self.run = jax.jit(jax.value_and_grad(self.objective))
    def objective(self, v):
        self.assemble(v)
        return self.cost()
    def assemble(self, v):
        rest = self.split(v)
        self.parts = [rest, rest * self.bounds]
    def split(self, v):
        self.scales = jnp.log(1 + jnp.exp(v))
        return v * 2
    def cost(self):
        return jnp.sum(self.scales) + sum(jnp.sum(part) for part in self.parts)
dual = Dual()
print(dual.run(x), dual.run(x * 2))
""",
            """\
class Fit:
    def __init__(self, circuit):
        self.circuit = circuit
        self.loss_jit = jax.jit(self.loss)
    def loss(self, v):
        self.low, self.high = self.circuit(v)
        return jnp.sum(self.low - self.high)
    def run(self, v):
        def shown(v):
            self.low, self.high = self.circuit(v)
            print(self.low, self.high)
        for _ in range(2):
            print(self.loss_jit(v))
            shown(v)
Fit(lambda v: (v - 1, v + 1)).run(x)
""",
            """\
class Stored:
    def __init__(self):
        self.params = jnp.ones(3)
    def __call__(self, v, params):
        return v * params
    def generate(self, v):
        return v * self.params
def main():
    held = Stored()
    start = held.params
    def score(params, v):
        return held(v, params=params).sum()
    def generate_step(params, v):
        held.params = params
        return held.generate(v)
    step = jax.jit(generate_step)
    print(jax.jit(score)(start, x))
    return step(jnp.zeros(3), x), step(jnp.ones(3), x)
print(main())
""",
            # the initializer runs while the flag is set
            _STORE + "state = jax.random.key(1)\ndef drawn(shape):\n    global state\n"
            "    state, sub = jax.random.split(state)\n    return jax.random.normal(sub, shape)\n" + _FORWARD,
            """\
class Solver:
    def __init__(self):
        self.history = None
        self.begin = -1
    def at(self, i):
        return self.history[i - self.begin]
    def solve(self, v):
        def step(c, _):
            i, v = c
            self.begin = i
            self.history = jnp.stack([v, v * 2.0])
            v = v + self.at(i)
            self.history = None
            return (i + 1, v), v
        return jax.lax.scan(step, (0, v), None, length=3)[0]
print(Solver().solve(x))
""",
            """\
import threading
_lock = threading.Lock()
_stats = {'hits': 0, 'misses': 0}
_known = set()
def name_of(t):
    try:
        return float(t[0])
    except TypeError:
        return None
def grid(t):
    name = name_of(t)
    if name is None:
        return jnp.meshgrid(t, t)
    with _lock:
        if name in _known:
            _stats['hits'] += 1
        else:
            _stats['misses'] += 1
    return jnp.meshgrid(t, t)
@jax.jit
def total(t):
    first, second = grid(t)
    return (first * second).sum()
grid(x)
print(total(x), _stats)
""",
            """\
class Buffer:
    def __init__(self, rows):
        self.rows, self._filled = rows, 0
    def check(self, samples):
        if samples.shape[0] > self.rows:
            raise ValueError("too many")
        self._filled = min(self.rows, self._filled + samples.shape[0])
    def insert(self, state, samples):
        self.check(samples)
        return state + samples.sum()
buffer = Buffer(10)
insert = jax.jit(buffer.insert)
print(insert(insert(0.0, x), x))
""",
            """\
class Diffusion:
    def __init__(self, k):
        self.key = k
        self.loss = jax.jit(self._loss)
    def noised(self, v, noise=None):
        if noise is None:
            self.key, k = jax.random.split(self.key)
            noise = jax.random.normal(k, v.shape)
        return v + noise
    def _loss(self, v, k):
        return self.noised(v, noise=jax.random.normal(k, v.shape)).sum()
Diffusion(jax.random.key(1)).loss(x, key)
""",
            """\
class Counter:
    def __init__(self):
        self.total = 0.0
        self.step = jax.jit(lambda v: self.advance(v, "plain"))
    def advance(self, v, mode):
        if mode == "counting":
            self.total = self.total + v.sum()
        return v * 2
Counter().step(x)
""",
            """\
KERNEL = None
def kernel():
    global KERNEL
    if KERNEL is None:
        KERNEL = jnp.tanh
    return KERNEL
@jax.jit
def f(x):
    return kernel()(x)
""",
            """\
calls = 0
def f(x):
    global calls
    calls += 1
    return x
""",
            """\
def count_traces():
    n = 0
    @jax.jit
    def f(x):
        nonlocal n
        n += 1
        return x
    f(1.0)
    return n
""",
            """\
@jax.jit
def f(x):
    total = 0.0
    for i in range(3):
        total = total + x * i
    return total
""",
            """\
SCALE = 3.0
@jax.jit
def f(x):
    global SCALE
    return x * SCALE
""",
            """\
class Trainer:
    def __init__(self):
        self.steps = 0
    def step(self, x):
        self.steps += 1
        return jax.jit(lambda v: v * 2)(x)
""",
            """\
class Counter(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    @nnx.jit
    def __call__(self, x):
        self.count[...] = self.count[...] + 1
        return x
""",
            """\
class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y
@jax.jit
def f(x):
    p = Point(x, 2 * x)
    return p.x + p.y
""",
            """\
total = 0
def add(v):
    global total
    total += float(v)
@jax.jit
def f(x):
    jax.debug.callback(add, x.sum())
    return x
""",
            """\
class Runner:
    def __init__(self):
        self.n_updates = 0
    @functools.partial(jax.jit, static_argnums=0)
    def run(self, v):
        self.n_updates += 1
        return v * 2
def report(train_state):
    return train_state.n_updates
y = Runner().run(x)
""",
            """\
class Sampler:
    def __init__(self, scale):
        self.scale = scale
    @functools.partial(jax.jit, static_argnums=0)
    def run(self, v):
        self.scale = dict(self.scale)
        return v * self.scale["a"]
y = Sampler({"a": 2.0}).run(x)
""",
        ),
    ),
    "NNX805": Cases(
        bad=(
            """\
def rows(v):
    out = []
    jax.lax.fori_loop(0, 3, lambda i, _: out.append(v[i]), None)  # NNX805
    return out
rows(x)
""",
            """\
tables = {}
def table(a):
    if not "table" in tables.keys():
        tables["table"] = jnp.linspace(0.0, 1.0, 8) * a  # NNX805
    return tables["table"]
@jax.jit
def f(a):
    return table(a).sum()
print(f(1.0))
""",
            """\
losses = []
@jax.jit
def f(x):
    losses.append(x.sum())  # NNX805
    return x
""",
            """\
seen = {}
@nnx.jit
def f(model, x):
    seen["y"] = model(x)  # NNX805
    return x
""",
            """\
def run(x):
    trace = []
    def body(i, carry):
        trace.append(carry)  # NNX805
        return carry + i
    return jax.lax.fori_loop(0, 3, body, x), trace
""",
            """\
@jax.jit
def f(history, x):
    history.append(x)  # NNX805
    return x
""",
            """\
class Trainer:
    def __init__(self):
        self.losses = []
        self.step = jax.jit(self._step)
    def _step(self, x):
        self.losses.append(x.sum())  # NNX805
        return x
""",
            """\
class Trainer:
    def __init__(self):
        self.logs = {}
    @partial(jax.jit, static_argnums=(0,))
    def step(self, x):
        self.logs["x"] = x  # NNX805
        self.logs.update(y=x)  # NNX805
        return x
""",
            """\
history = {"loss": []}
@jax.jit
def f(x):
    history["loss"].append(x.sum())  # NNX805
    return x
""",
            """\
log = []
def note(v):
    log.append(v)  # NNX805
@jax.jit
def f(x):
    note(x)
    return x
""",
            """\
losses = []
@jax.jit
def f(x):
    losses += [x]  # NNX804 NNX805
    return x
""".replace("def f(x):\n", "def f(x):\n    global losses\n"),
        ),
        clean=(
            """\
settings = {"h": 0.7}
@jax.jit
def derived(free):
    settings.update({"a": free[0], "b": free[1]})
    return sum(settings.values())
print(derived(x))
""",
            """\
@jax.jit
def leaves(tree):
    out = []
    jax.tree.map(lambda leaf: out.append(leaf * 2), tree)
    return out
print(leaves({"a": x, "b": x}))
""",
            # compiled code gets a new object
            """\
@jax.tree_util.register_pytree_node_class
class Cosmology:
    def __init__(self, omega):
        self.omega = omega
        self.cache = {}
    def tree_flatten(self):
        return (self.omega,), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
def growth(cosmo, a):
    if not "growth" in cosmo.cache.keys():
        cosmo.cache["growth"] = jnp.linspace(0.0, 1.0, 8) * cosmo.omega
    return jnp.interp(a, jnp.linspace(0.0, 1.0, 8), cosmo.cache["growth"])
@jax.jit
def kernel(cosmo, z):
    return growth(cosmo, z)
def of_all(cosmo, z):
    return jax.vmap(lambda one: growth(cosmo, one))(z)
cosmo = Cosmology(0.3)
print(kernel(cosmo, 0.5), kernel(cosmo, 0.6), of_all(cosmo, jnp.ones(2)))
""",
            # another method of the same compilation empties it
            """\
class Layers:
    def __init__(self):
        self.params = None
    def begin(self):
        self.params = {}
    def spread(self, params):
        for name, value in params.items():
            self.params[name] = value
    def end(self):
        self.params = None
    def forward(self, v):
        return v * self.params["w"]
    def pure(self):
        def run(params, v):
            self.begin()
            self.spread(params)
            result = self.forward(v)
            self.end()
            return result
        return run
print(jax.jit(Layers().pure())({"w": x}, x))
""",
            """\
settings = {'period': 2.0}
def kernel(theta, given):
    return theta['scale'] * jnp.cos(x / given['period'] - given['center'])
def build(theta):
    settings['center'] = theta.get('center', 0.0)
    return kernel(theta, settings)
@jax.jit
def likelihood(v):
    return build({'scale': v[0], 'center': v[1]}).sum()
print(likelihood(x), likelihood(2 * x))
""",
            """\
@jax.jit
def f(x):
    parts = []
    for i in range(3):
        parts.append(x * i)
    return jnp.stack(parts)
""",
            """\
total = jax.jit(lambda v: v.sum())
losses = []
for x in jnp.ones((3, 2)):
    losses.append(total(x))
""",
            """\
shapes = []
@jax.jit
def f(x):
    shapes.append(x.shape)
    return x
""",
            """\
@jax.jit
def f(batch):
    out = {}
    out["x"] = batch["x"] * 2
    return out
""",
            """\
class Trainer:
    def __init__(self):
        self.losses = []
    def step(self, x):
        self.losses.append(jax.jit(lambda v: v.sum())(x))
""",
            """\
@jax.jit
def f(state, x):
    new = dict(state)
    new["x"] = x
    return new
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([])
        self.layers.append(nnx.Linear(3, 3, rngs=rngs))
    @nnx.jit
    def __call__(self, x):
        hidden = []
        for layer in self.layers:
            x = layer(x)
            hidden.append(x)
        return hidden
""",
            """\
seen = []
def keep(v):
    seen.append(v)
@jax.jit
def f(x):
    jax.debug.callback(keep, x)
    return x
""",
            """\
@jax.jit
def f(x):
    parts = {"a": []}
    parts["a"].append(x)
    return parts
""",
            """\
@jax.jit
def f(d, x):
    d["y"] = x
    return d
""",
        ),
    ),
    "NNX806": Cases(
        bad=(
            """\
class Config:
    values = None
    @classmethod
    def get(cls):
        if cls.values is not None:
            _load()
        return cls.values
def _load():
    Config.at = time.time()  # NNX806
@jax.jit
def scaled(v):
    Config.get()
    return v * 2
print(scaled(x), scaled(x))
""",
            """\
class Source:
    def noise(self, v, key=None):
        if key is None:
            return np.random.normal(size=3)  # NNX806
        return jax.random.normal(key, (3,))
source = Source()
@jax.jit
def step(v, keys):
    for key in keys.values():
        v = v + source.noise(v)
    return v
print(step(x, {"a": key}), source.noise(x))
""",
            """\
def timeit(function):
    def wrapper(*args):
        begin = time.perf_counter()  # NNX806
        value = function(*args)
        print(begin)
        return value
    return wrapper
def doubled(v):
    return 2 * v
jax.jit(timeit(doubled))(x)
""",
            """\
@jax.jit
def stamped(x):
    when = {"t": time.time()}  # NNX806
    return x * when["t"]
""",
            """\
@jax.jit
def f(x):
    return x * random.random()  # NNX806
""",
            """\
@nnx.jit
def f(model, x):
    start = time.perf_counter()  # NNX806
    return model(x), start
""",
            """\
def noisy(v):
    return v + np.random.normal(size=v.shape)  # NNX806
@jax.jit
def f(x):
    return noisy(x)
""",
            """\
from datetime import datetime
@jax.jit
def f(x):
    stamp = datetime.now()  # NNX806
    return x
""",
            """\
@jax.jit
def f(x):
    with open("log.txt", "a") as file:  # NNX806
        file.write("called")
    return x
""",
            """\
import wandb
@nnx.jit
def step(model, x):
    loss = model(x).mean()
    wandb.log({"loss": loss})  # NNX806
    return loss
""",
            """\
from random import gauss as g
def body(i, c):
    return c + g(0, 1)  # NNX806
jax.lax.fori_loop(0, 3, body, 0.0)
""",
            """\
import os
@jax.jit
def f(x):
    return x * float(os.environ["SCALE"])  # NNX806
""",
            """\
from pathlib import Path
@jax.jit
def f(x):
    Path("log.txt").write_text("called")  # NNX806
    return x * np.load("scale.npy")
""",
            """\
rng = np.random.default_rng(0)
@jax.jit
def f(x):
    return x + rng.normal(size=3)  # NNX806
""",
        ),
        clean=(
            """\
import datetime
import random
import time
def tuned(f):
    def fastest(x):
        order = [1, 2]
        random.shuffle(order)
        stamp = datetime.datetime.now().strftime("%H:%M:%S")
        took = {}
        for n in order:
            start = time.perf_counter()
            jax.block_until_ready(jnp.full(x.shape, float(n)))
            took[n] = time.perf_counter() - start
        return max(took, key=took.get), stamp
    def wrapper(x):
        with jax.ensure_compile_time_eval():
            best, _ = fastest(x)
        return f(x, best)
    return wrapper
@jax.jit
def run(x):
    return tuned(lambda v, n: v * n)(x)
run(x)
""",
            """\
import os
@jax.jit
def area(v):
    match os.environ.get("AREA", "flat"):
        case "flat":
            return v * 2
        case _:
            print(f"unknown: {os.environ['AREA']}")
            return v
print(area(x))
@jax.jit
def checked(v):
    if v.ndim > 3:
        raise ValueError(f"too many axes on {os.environ['HOST']}")
    return v
print(checked(x))
""",
            """\
@jax.jit
def prepared(v):
    t0 = time.time()
    table = np.zeros((3, 3))
    print(time.time() - t0)
    return table @ v
print(prepared(x))
""",
            """\
from types import SimpleNamespace
def solve(v, args):
    for i in range(3):
        v = v * 2
        if args.debug:
            np.savez(f"/tmp/step_{i}.npz", v=v)
    return v
args = SimpleNamespace(debug=False, jit=True)
print((jax.jit(partial(solve, args=args)) if args.jit else partial(solve, args=args))(x))
""",
            """\
def init(v):
    return {"w": v, "b": v}
def train(v, tell=False):
    params = init(v)
    if tell:
        import wandb
        count = sum(p.size for p in jax.tree.leaves(params))
        wandb.log({"parameters": count})
    return params["w"] + params["b"]
step = jax.jit(train, static_argnums=(1,))
print([step(one) for one in batches])
""",
            """\
@jax.jit
def patient(v):
    for attempt in range(3):
        try:
            return v * 2
        except OSError:
            time.sleep(random.uniform(0.1, 0.2))
    return v
print(patient(x))
""",
            """\
class Config:
    values = None
    @classmethod
    def get(cls):
        if cls.values is None:
            _load()
        return cls.values
def _load():
    Config.values = {"rate": 0.5, "at": time.time()}
@jax.jit
def scaled(v):
    return v * Config.get()["rate"]
print(scaled(x), scaled(x))
""",
            # the initializer runs while the flag is set
            _STORE + "def drawn(shape):\n    return np.random.normal(size=shape)\n" + _FORWARD,
            # a seed of another kind than those that callers give
            """\
def as_key(seed):
    if seed is None:
        return jax.random.key(0)
    if isinstance(seed, int):
        return jax.random.key(seed)
    return jax.random.key(np.random.SeedSequence().entropy % 1000)
@jax.jit
def noisy(v, seed=None):
    return v + jax.random.normal(as_key(seed), v.shape)
print(noisy(x))
""",
            """\
@jax.jit
def train(x):
    rate = {"since": time.time(), "steps": 0}
    def report(step):
        now = time.time()
        print(step / max(now - rate["since"], 1e-9))
        rate["since"] = now
    for step in range(2):
        jax.debug.callback(report, x.sum())
        x = x * 2
    return x
print(train(x))
""",
            """\
def timeit(function):
    @functools.wraps(function)
    def wrapper(*args):
        begin = time.perf_counter()
        value = function(*args)
        print(time.perf_counter() - begin)
        return value
    return wrapper
@timeit
def apply_matrix(v):
    return jnp.dot(jnp.eye(3), v)
@timeit
@jax.jit
def batched(vs):
    return jax.vmap(apply_matrix)(vs)
print(apply_matrix(x), batched(jnp.ones((2, 3))))
""",
            """\
@functools.cache
def began():
    return time.time()
@jax.jit
def step(v):
    return v * began()
step(x)
""",
            """\
@jax.jit
def step(v):
    begin = time.time()
    return v + 1
step(x)
""",
            """\
from pathlib import Path
class Notes:
    def __init__(self, prefix):
        self.prefix = prefix
    def path(self, name):
        return Path(f"{self.prefix}{name}")
    def start(self):
        self.path("notes").write_text("")
    def add(self, text):
        with self.path("notes").open("a") as file:
            file.write(text)
def solve(v, notes=False):
    writer = Notes("run.") if notes else None
    if writer is not None:
        writer.start()
        writer.add("solved")
    return v * 2
def run():
    return solve(x, notes=True)
fast = jax.jit(lambda v: solve(v))
print(fast(x))
""",
            """\
def in_pairs(it):
    first = next(it)
    for second in it:
        yield first
        first = second
    yield first
@jax.jit
def f(v):
    def load():
        for i in range(0, 4, 2):
            yield v[i : i + 2]
    tiles = in_pairs(load())
    out = [next(tiles)]
    def rest():
        for _ in range(9):
            try:
                out.append(next(tiles))
            except StopIteration:
                break
    rest()
    return jnp.concatenate(out)
print(f(jnp.arange(4.0)))
""",
            """\
@jax.jit
def made(k):
    keys = iter(jax.random.split(k, 2))
    return jax.tree.map(lambda n: jax.random.normal(next(keys), (n,)), {"a": 2, "b": 3})
made(key)
""",
            """\
import os
@jax.jit
def f(x):
    return x if os.environ.get("DEBUG") else x * int(os.getenv("SCALE", "2"))
""",
            """\
@jax.jit
def f(x, key):
    return x * jax.random.uniform(key)
""",
            """\
start = time.perf_counter()
y = jax.block_until_ready(jax.jit(lambda v: v * 2)(x))
print(time.perf_counter() - start)
""",
            """\
@nnx.jit
def f(x, rngs):
    return x + rngs.noise.normal(x.shape) if hasattr(rngs.noise, "normal") else x
""",
            """\
import os
def load(path):
    with open(path) as file:
        return file.read()
data = load(os.devnull)
@jax.jit
def f(x):
    return x * 2
""",
            """\
from jax import random as jr
@jax.jit
def f(x, key):
    return x + jr.normal(key, x.shape)
""",
            """\
import os
@jax.jit
def f(x):
    jax.debug.callback(lambda v: open(os.devnull, "a").write(str(v)), x)
    return x
""",
            """\
def host(v):
    return np.random.default_rng(0).normal(size=v.shape)
@jax.jit
def f(x):
    return jax.pure_callback(host, x, x)
""",
            """\
import os
DEBUG = os.environ.get("DEBUG")
@jax.jit
def f(x):
    return x if DEBUG else x * 2
""",
            """\
from pathlib import Path
NAME = Path("a") / "b"
@jax.jit
def f(x):
    print(NAME.name, Path("c").suffix)
    return x
""",
            """\
class Timer:
    def time(self):
        return 3
timer = Timer()
@jax.jit
def f(x):
    return x * timer.time()
""",
            """\
rng = np.random.default_rng(0)
def batches():
    for _ in range(3):
        yield rng.normal(size=3)
step = jax.jit(lambda v: v * 2)
for batch in batches():
    step(batch)
""",
            """\
class Fit:
    def solve(self, n):
        begin = time.time()
        return [n * 2], time.time() - begin
fit = Fit()
def test_is_not_compiled():
    import contextlib
    @jax.jit
    def compiled(n):
        return fit.solve(n)
    class pytest:
        raises = contextlib.suppress
    with pytest.raises(TypeError):
        compiled("n")
test_is_not_compiled()
""",
            """\
def lanczos(n, v, verbose=False):
    begin = time.time()
    for i in range(n):
        if verbose:
            print(time.time() - begin)
        v = v * 2
    return v
def solve(v):
    return lanczos(3, v, verbose=False)
y = jax.jit(solve)(x)
""",
        ),
    ),
    "NNX807": Cases(
        bad=(
            """\
from typing import Any
from flax.training.train_state import TrainState
class Learner(TrainState):
    table: Any = None
state = Learner.create(apply_fn=None, params={"w": x}, tx=optax.sgd(0.1), table=jnp.arange(3.0))
@jax.jit
def loss(params, v):
    return (params["w"] * state.table * v).sum()  # NNX807
for _ in range(3):
    state = state.apply_gradients(grads=jax.grad(loss)(state.params, x))
    state = state.replace(table=state.table * 0.5)
""",
            """\
scale = 1.0
loss = lambda p: scale * (p**2).sum()  # NNX807
@partial(jax.jit, static_argnames="loss")
def fit(p, loss):
    return jax.grad(loss)(p)
fit(x, loss)
scale = 2.0
fit(x, loss)
""",
            """\
class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.params = jnp.ones(3)
        self.step = jax.jit(self._step)
    def _step(self, params, v):
        return params - self.rate * v  # NNX807
    def fit(self, v, rate):
        self.rate = rate
        for _ in range(3):
            self.params = self.step(self.params, v)
trainer = Trainer(0.1)
trainer.fit(x[:3], 0.1)
trainer.fit(x[:3], rate=0.01)
""",
            """\
class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.params = jnp.ones(3)
        self.step = jax.jit(self._step)
    def _step(self, params, v):
        return params - self.rate * v  # NNX807
    def fit(self, v, rate):
        self.rate = rate
        for _ in range(3):
            self.params = self.step(self.params, v)
trainer = Trainer(0.1)
for rate in (0.1, 0.01):
    trainer.fit(x[:3], rate)
""",
            """\
def path(step, start):
    @jax.jit
    def half(v):
        return v + 0.5 * step(v)
    return jax.lax.scan(lambda v, i: (half(v), v), start, jnp.arange(3))[0]
def train(rate):
    @jax.jit
    def step(v):
        return rate * v  # NNX807
    for i in range(4):
        print(path(step, 1.0))
        rate = rate * 0.5
train(1.0)
def again(rate):
    for i in range(4):
        if i == 0:
            @jax.jit
            def step(v):
                return rate * v  # NNX807
        print(path(step, 1.0))
        rate = rate * 0.5
again(1.0)
""",
            """\
class Agent:
    def __init__(self):
        self.alpha = 0.5
    def update(self):
        @jax.jit
        def loss(w):
            return self.alpha * w  # NNX807
        before = loss(1.0)
        self.cool()
        return before - loss(1.0)
    def cool(self):
        self.alpha = self.alpha * 0.5
print(Agent().update())
""",
            """\
w = jnp.zeros(3)
@jax.jit
def predict(v):
    return v @ w  # NNX807
first = predict(x)
for _ in range(3):
    w = w + 1.0
print(jax.make_jaxpr(predict)(x))
""",
            """\
w = jnp.zeros(3)
@jax.jit
def predict(v):
    return v @ w  # NNX807
from jax import export
v = np.ones((4, 3))
first = predict(v)
w, loss = w + 1.0, 0.0
served = export.export(predict)(jax.ShapeDtypeStruct((4, 3), jnp.float32))
""",
            """\
w = jnp.zeros(3)
@jax.jit
def predict(v):
    return v @ w  # NNX807
def train(v):
    global w
    before = predict(v)
    w = w + before
    return predict.lower(jax.ShapeDtypeStruct(v.shape, v.dtype)).compile()
train(x)
""",
            """\
from collections import namedtuple
Weight = namedtuple("Weight", ["c", "d"])
@jax.jit
def loss(v):
    return weight.c * v.sum() + weight.d  # NNX807
weight = Weight(1.0, 100.0)
print(loss(x))
weight = Weight(2.0, 100.0)
print(loss(x + 1.0))
""",
            """\
def weighted(weights, params, rows):
    return (weights * params * rows).sum()
weights = jnp.ones(3)
@jax.jit
def step(params, rows):
    return jax.grad(partial(weighted, weights))(params, rows)  # NNX807
for _ in range(3):
    weights = jnp.sqrt(weights) * 2.0
    print(step(x, x))
""",
            """\
def fly(v, count):
    @jax.jit
    def act(old):
        return old + speed  # NNX807
    action = jnp.zeros(3)
    for step in range(count):
        speed = v * step
        action = jax.lax.cond(step != 0, act, lambda old: old, action)
    return action
print(fly(x, 3))
""",
            """\
def fly(v, count):
    @jax.jit
    def act(old):
        return old + speed  # NNX807
    action = jnp.zeros(3)
    for step in range(count):
        speed = v * step
        action = jax.lax.cond(step == 0, act, lambda old: old, action)
        action = act(action)
    return action
print(fly(x, 3))
""",
            """\
rate = 1.0
good = x > 0
@jax.jit
def step(v):
    return v.sum() * rate  # NNX807
print(step(x[good]))
rate = jnp.sum(x)
print(step(x[good]))
""",
            """\
rate = 1.0
@jax.jit
def step(v):
    return v.sum() * rate  # NNX807
for t in range(1, 3):
    good = x > t
    rate = rate * 2.0
    print(step(x[good]), step(x))
""",
            """\
class Fixed:
    def __init__(self, rate, table):
        self.rate = rate
        self.table = table
class Solver:
    def __init__(self, rate):
        self.fixed = Fixed(rate, (1.0,))
        self.step = jax.jit(self._step)
    def rate(self):
        return self.fixed.rate  # NNX807
    def refresh(self, new):
        self.fixed = Fixed(rate=new, table=self.fixed.table)
    def _step(self, v):
        return v * self.rate()
    def run(self, v):
        for number in range(3):
            v = self.step(v)
            self.refresh(number)
        return v
print(Solver(0.5).run(x))
""",
            """\
class Sampler:
    def __init__(self, logits):
        self.logits = logits
        self.temperature = 5.0
    @functools.partial(jax.jit, static_argnums=0)
    def probs(self):
        return jax.nn.softmax(self.logits / self.temperature)  # NNX807
    def cool(self):
        self.temperature *= 0.5
def main():
    sampler = Sampler(x)
    for _ in range(3):
        print(sampler.probs())
        sampler.cool()
""",
            """\
class Algo:
    def __init__(self, params):
        self.params = params
    def act(self, v, params=None):
        if params is None:
            params = self.params  # NNX807
        return params * v
    def update(self, v):
        self.params = self.params - v
def train():
    algo = Algo(x)
    act = jax.jit(algo.act)
    for _ in range(2):
        algo.update(act(x))
train()
""",
            """\
class Agent:
    def __init__(self, params):
        self.state = params
    @partial(jax.jit, static_argnums=0)
    def _act(self, v):
        return self.state * v  # NNX807
    def train(self, data):
        for v in data:
            self.state = self.state - self._act(v)
agent = Agent(x)
agent.train([x, x])
""",
            """\
class Env:
    def __init__(self, size):
        self.scale = float(size)
    def step(self, s):
        return s * self.scale
def make_env(size):
    return Env(size)
def render(params, rounds):
    @jax.jit
    def policy_step(s, p):
        return env.step(s * p)  # NNX807
    out = []
    for i in range(rounds):
        env = make_env(i)
        out.append(policy_step(jnp.ones(3), params))
    return out
""",
            """\
shift = 1.0
@jax.jit
def f(x):
    return x + shift  # NNX807
f(x)
shift = 2.0
f(x)
""",
            """\
config = {"scale": 1.0}
@jax.jit
def f(x):
    return x * config["scale"]  # NNX807
f(x)
config["scale"] = 2.0
f(x)
""",
            """\
def run(x):
    rate = 0.1
    step = jax.jit(lambda v: v * rate)  # NNX807
    step(x)
    rate = 0.01
    return step(x)
""",
            """\
rate = 0.1
def f(x):
    return x * rate  # NNX807
fast = jit(f)
for epoch in range(3):
    fast(x)
    rate = rate / 2
""",
            """\
class Scaler:
    def __init__(self):
        self.scale = 1.0
        self.apply = jax.jit(self._apply)
    def _apply(self, x):
        return x * self.scale  # NNX807
    def double(self):
        self.scale = 2 * self.scale
""",
            """\
class Scaler:
    def __init__(self):
        self.scale = 1.0
    @partial(jax.jit, static_argnums=0)
    def apply(self, x):
        return x * self.scale  # NNX807
scaler = Scaler()
scaler.apply(x)
scaler.scale = 2.0
scaler.apply(x)
""",
            """\
rate = 0.1
@jax.jit
def f(x):
    return x * rate  # NNX807
def anneal():
    global rate
    rate = rate / 2
for epoch in range(3):
    f(x)
    anneal()
""",
            _FILTER
            + """\
    def __call__(self, v):
        return self._apply(v)
def main(f):
    for gain in (0.1, 0.2):
        f.tune(gain)
        print(f(x))
main(Filter(1.0))
""",
            _FILTER
            + """\
    def apply(self, v):
        return self._apply(v)
def score(f, v):
    return f.apply(v).sum()
f = Filter(1.0)
for gain in (0.1, 0.2):
    f.tune(gain)
    print(score(f, x))
""",
            _FILTER
            + """\
def tune(f, gain):
    f.gain = gain
def main():
    f = Filter(1.0)
    for gain in (0.1, 0.2):
        tune(f, gain)
        print(f._apply(x))
""",
            """\
rows = jnp.ones((4, 3))
@jax.jit
def noise(key):
    return jax.random.normal(key, rows.shape) + rows.mean()  # NNX807
for i in range(3):
    print(noise(jax.random.key(i)))
    rows = rows.at[i].set(x * i)
""",
            """\
def run(states):
    rows = jnp.ones((1, 3))
    @jax.jit
    def noise(key):
        return jax.random.normal(key, rows.shape)  # NNX807
    for i in range(3):
        print(noise(jax.random.key(i)))
        rows = jnp.concatenate([rows, x[None] * i])
run(None)
""",
            _HELD
            + """\
    @jax.jit
    def grads(params):
        def loss_fn(free):
            return (net(x, params=free) * net.offset).sum()  # NNX807
        return jax.grad(loss_fn)(params)
    for _ in range(3):
        g = grads(net.params)
        net = net.replace(params=net.params - g, offset=net.offset + 1)
main(Net(params=x, offset=x))
""",
            _HELD
            + """\
    @jax.jit
    def grads(params):
        def loss_fn(free):
            return net(x).sum() + free.sum()  # NNX807
        return jax.grad(loss_fn)(params)
    for _ in range(3):
        g = grads(net.params)
        net = net.replace(params=net.params - g)
main(Net(params=x, offset=x))
""",
            """\
import sys
@jax.jit
def step(v):
    return v * scale  # NNX807
if len(sys.argv) < 99:
    scale = 3.0
    print(step(x))
scale = 2.0
for v in batches:
    print(step(v))
""",
            """\
count = 2
@jax.jit
def mean(rows):
    return rows.sum() / count  # NNX807
rows = jnp.ones((2, 3))
print(mean(rows))
count = 5
other = jnp.ones((count, 3))
print(mean(rows))
""",
        ),
        clean=(
            """\
from typing import Any
from flax.training.train_state import TrainState
class Learner(TrainState):
    table: Any = None
state = Learner.create(apply_fn=None, params={"w": x}, tx=optax.sgd(0.1), table=jnp.arange(3.0))
@jax.jit
def loss(params, v):
    return (params["w"] * state.table * v).sum()
for _ in range(3):
    state = state.apply_gradients(grads=jax.grad(loss)(state.params, x))
print(state.step)
""",
            """\
scale = 1.0
loss = lambda p: scale * (p**2).sum()
@partial(jax.jit, static_argnames="loss")
def fit(p, loss):
    return jax.grad(loss)(p)
print(fit(x, loss))
scale = 2.0
other = lambda p: scale * jnp.abs(p).sum()
print(fit(x, other))
""",
            """\
class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.params = jnp.ones(3)
        self.step = jax.jit(self._step)
    def _step(self, params, v):
        return params - self.rate * v
    def fit(self, v, rate):
        self.rate = rate
        for _ in range(3):
            self.params = self.step(self.params, v)
trainer = Trainer(0.1)
trainer.fit(jnp.ones(3), 0.1)
trainer.fit(jnp.zeros(3), rate=0.1)
""",
            """\
class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.params = jnp.ones(3)
        self.step = jax.jit(self._step)
    def _step(self, params, v):
        return params - self.rate * v
    def fit(self, v, rate):
        self.rate = rate
        for _ in range(3):
            self.params = self.step(self.params, v)
trainer = Trainer(0.1)
trainer.fit(jnp.ones(3), 0.1)
other = Trainer(0.1)
other.fit(jnp.ones(3), 0.01)
""",
            """\
class Trainer:
    def __init__(self, rate):
        self.rate = rate
        self.params = jnp.ones(3)
        self.step = jax.jit(self._step)
    def _step(self, params, v):
        return params - self.rate * v
    def fit(self, v, rate):
        self.rate = rate
        for _ in range(3):
            self.params = self.step(self.params, v)
trainer = Trainer(0.1)
for rate in (0.1, 0.01):
    trainer = Trainer(rate)
    trainer.fit(jnp.ones(3), rate)
""",
            """\
def slopes(params, loss, rows):
    @jax.jit
    def mean(params, rows):
        return jnp.mean(jax.vmap(loss, (None, 0))(params, rows))
    return jax.value_and_grad(mean)(params, rows)
class Agent:
    def __init__(self):
        self.w, self.alpha = 1.0, 0.5
    def update(self):
        @jax.jit
        def loss(w, row):
            return self.alpha * w * row
        @jax.jit
        def other(alpha, row):
            return alpha * self.w * row
        value, grad = slopes(self.w, loss, jnp.ones(3))
        _, slope = slopes(self.alpha, other, jnp.ones(3))
        self.w = self.w - 0.1 * grad
        self.alpha = self.alpha - 0.1 * slope
        return value
    def update_other(self, rate):
        self.w = self.w - rate * 0.1
        self.alpha = self.alpha - rate * 0.1
agent = Agent()
agent.update()
agent.update_other(0.5)
print(agent.update())
""",
            """\
def path(step, start):
    @jax.jit
    def half(v):
        return v + 0.5 * step(v)
    return jax.lax.scan(lambda v, i: (half(v), v), start, jnp.arange(3))[0]
def train(rate):
    for i in range(4):
        if i % 2 == 0:
            @jax.jit
            def step(v):
                return rate * v
            print(path(step, 1.0), jax.grad(step)(2.0))
        rate = rate * 0.5
train(1.0)
""",
            """\
order = jax.vmap(jnp.argsort, in_axes=0)
@jax.jit
def nearest(v):
    return order(v)[..., :1]
print(nearest(jnp.ones((2, 3))))
order = jax.vmap(jnp.argsort, in_axes=0)
print(order(jnp.ones((2, 3))), nearest(jnp.zeros((2, 3))))
""",
            """\
class Scaler:
    def __init__(self, factor):
        self.factor = factor
    def fit(self, v):
        if isinstance(self.factor, float):
            self.factor = self.factor * jnp.ones(v.shape[1:])
    def scale(self, v):
        return v * self.factor
def loss(v, scaler):
    return scaler.scale(v).sum()
scaler = Scaler(2.0)
scaler.fit(jnp.ones((2, 3)))
step = jax.jit(lambda v: loss(v, scaler))
print(step(x), step(x + 1))
""",
            """\
class Search:
    def __init__(self, steps, upper):
        self.steps, self.upper = steps, upper
    def optimize(self, f):
        return f(jnp.minimum(x, self.upper)) * self.steps
@jax.jit
def optimized(bias):
    return search.optimize(lambda v: ((v - bias) ** 2).sum())
steps = 20
for bias in jnp.linspace(-1, 1, 3):
    search = Search(steps=steps, upper=jnp.inf)
    print(jnp.abs(optimized(bias)))
""",
            """\
def grouped(v):
    return [v, v * 2]
def run(v):
    groups = grouped(v)
    @jax.jit
    def smoothed(parts):
        return [parts[i].sum() for i in range(len(groups))]
    for _ in range(3):
        print(smoothed(groups))
        groups = grouped(v + 1)
run(x)
""",
            """\
from flax.training import train_state
def train(rates):
    @jax.jit
    def evaluate(state, v):
        return (state.params * v).sum(), rate
    for rate in rates:
        tx = optax.sgd(rate)
        state = train_state.TrainState.create(apply_fn=jnp.sin, params=x, tx=tx)
        for batch in batches:
            print(evaluate(state, batch))
train([0.1, 0.2])
""",
            """\
w = jnp.zeros(3)
@jax.jit
def predict(v):
    return v @ w
for _ in range(3):
    w = w + 1.0
print(jax.make_jaxpr(predict)(x), predict.lower(x).compile()(x), predict(x))
""",
            """\
w = jnp.zeros(3)
@jax.jit
def predict(v):
    return v @ w
from jax import export
first = predict(x)
w = w + 1.0
served = export.export(predict)(jax.ShapeDtypeStruct((8, 3), jnp.float32))
print(predict.lower(jnp.ones((2, 3))).as_text()[:3])
""",
            """\
w = jnp.zeros(3)
@jax.jit
def predict(v):
    return v @ w
first = predict(x)
lowered = predict.lower(x)
w = w + 1.0
print(jax.make_jaxpr(jax.jit(lambda v: v @ w))(x))
""",
            """\
from jax import export
def predict(v, w):
    return v @ w
fast = jax.jit(predict)
w = jnp.zeros(3)
first = fast(x, w)
w = w + 1.0
served = export.export(fast)(x, w)
""",
            """\
from collections import namedtuple
Weight = namedtuple("Weight", ["c", "d"])
@jax.jit
def loss(v):
    return weight.c * v.sum() + weight.d
weight = Weight(1.0, 100.0)
print(loss(x))
weight = Weight(1.0, 100.0)
print(loss(x + 1.0))
""",
            """\
@jax.jit
def loss(v):
    return weights[0] * v.sum() + offset
weights = [1.0, 2.0]
offset = -1.0
print(loss(x))
weights = [1.0, 2.0]
offset = -1.0
print(loss(x + 1.0))
""",
            """\
def weighted(scale, weights, params, rows):
    return (scale * params * rows[0] * rows[1]).sum()
def plain(params, weights):
    return params.sum()
weights = jnp.ones(3)
@jax.jit
def step(params, rows):
    return jax.grad(partial(weighted, 2.0, weights))(params, rows) * plain(params, weights=weights)
for _ in range(3):
    weights = weights[::-1] * 2.0
    print(step(x, (x, weights)))
""",
            """\
class Stateful:
    def __init__(self):
        self.names = ()
        self.run = jax.jit(self._run)
    def add(self, names):
        self.names += tuple(names)
    def _run(self, v):
        return v * len(self.names)
def injected_init(self):
    Stateful.__init__(self)
    Stateful.add(self, ("a", "b"))
Kept = type("Kept", (Stateful,), {"__init__": injected_init})
print(Kept().run(x))
""",
            """\
def run(v):
    weights = jnp.ones(3)
    def step(old):
        @jax.jit
        def inner(old):
            return old + weights
        return inner(old)
    v = step(v)
    weights = jnp.exp(v)
    return step(v)
print(run(x))
""",
            """\
def apply(v, train, rngs):
    return v * 2.0
key = jax.random.key(0)
encode = jax.jit(lambda v: apply(v, train=False, rngs={"dropout": key}))
for one in batches:
    key, _ = jax.random.split(key)
    print(encode(one))
""",
            """\
neighbours = jnp.arange(3)
@jax.jit
def energy(v):
    renewed = neighbours.at[0].set(1)
    return jnp.sum(v)
print(energy(x))
neighbours = neighbours + 1
print(energy(x))
""",
            """\
class Variables:
    def __init__(self, force, mass):
        self.force = force
        self.mass = mass
    def __iadd__(self, other):
        self.force += other.force
        return self
def residual(variables, v):
    return v * variables.force
def solve(variables, v):
    return jax.jit(lambda w: residual(variables, w))(v)
one = Variables(2.0, 1.0)
total = Variables(0.0, 0.0)
for _ in range(2):
    print(solve(one, x))
    total += one
""",
            """\
def fly(v, count):
    @jax.jit
    def act(old):
        return old + speed
    @jax.jit
    def begin(old):
        return old - speed
    action = jnp.zeros(3)
    for step in range(count):
        speed = v * (step + 1)
        action = jax.lax.cond(step == 0, act, lambda old: old, action)
        if step == 0:
            action = begin(action)
    return action
print(fly(x, 3))
""",
            """\
rows = jnp.ones((4, 3))
@jax.jit
def noise(key):
    return jax.random.normal(key, rows.shape)
for i in range(3):
    print(noise(jax.random.key(i)))
    rows = rows.at[i].set(x * i)
""",
            """\
def run(rows):
    @jax.jit
    def noise(key):
        return jax.random.normal(key, (len(rows), 3))
    for i in range(3):
        print(noise(jax.random.key(i)))
        rows[i] = i
    for i in range(3):
        rows = jax.random.permutation(jax.random.key(i), rows)
        print(noise(jax.random.key(i)))
run(np.ones(4))
""",
            _HELD
            + """\
    @jax.jit
    def grads(params):
        def loss_fn(free):
            return (net(x, params=free) * net.offset).sum()
        return jax.grad(loss_fn)(params)
    for _ in range(3):
        g = grads(net.params)
        net = net.replace(params=net.params - g)
main(Net(params=x, offset=x))
""",
            _HELD
            + """\
    @jax.jit
    def grads(params):
        def loss_fn(free):
            return (net.called(x, params=free) * net.offset).sum()
        return jax.grad(loss_fn)(params)
    @jax.jit
    def update(net, g):
        net = net.replace(params=net.params - g)
        net = net.halved()
        return net, {"norm": jnp.sum(g)}
    for _ in range(3):
        net, info = update(net, grads(net.params))
        print(info)
main(Net(params=x, offset=x))
""",
            """\
import sys
@jax.jit
def step(v):
    return v * scale
if len(sys.argv) > 99:
    scale = 3.0
    print(step(x))
    sys.exit(0)
scale = 2.0
for v in batches:
    print(step(v))
""",
            """\
@jax.jit
def step(v):
    return v * scale
scale = 3.0
with jax.disable_jit():
    print(step(x))
scale = 2.0
for v in batches:
    print(step(v))
""",
            """\
count = 2
@jax.jit
def mean(rows):
    return rows.sum() / count
rows = jnp.ones((count, 3))
print(mean(rows))
for count in (3, 4):
    rows = jax.random.multivariate_normal(key, x, jnp.eye(3), (count,)).T
    for _ in range(2):
        print(mean(rows))
for number, count in enumerate((3, 4)):
    print(number)
rows = jax.random.normal(key, shape=(count, 3))
for _ in range(2):
    print(mean(rows))
""",
            """\
class Net:
    def __init__(self, places):
        self.places = places
    def energy(self, places=None):
        used = self.places if places is None else places
        return (used**2).sum()
    def minimize(self):
        places = self.places
        @jax.jit
        def step(places):
            return places - 0.1 * jax.grad(self.energy)(places)
        for _ in range(2):
            places = step(places)
        self.places = places
net = Net(x)
@jax.jit
def score(places):
    return net.energy(places=places)
for i in range(2):
    print(score(x * i))
    net.places = x * i
    print(net.energy())
net.minimize()
""",
            """\
rate = 1.0
@jax.jit
def step(v, w):
    return v.sum() * w.sum() * rate
print(step(x, x))
for t in range(1, 3):
    good = jnp.arange(3) < t
    rate = rate * 2.0
    for _ in range(3):
        y = step(x[good], x[good])
    print(y)
""",
            """\
rate = 1.0
@jax.jit
def step(v):
    return v.sum() * rate
print(step(x))
rate = jnp.sum(x)
good = x > 3
print(step(x[good]))
""",
            """\
from flax import linen
from flax.training.train_state import TrainState
net = linen.Dense(2)
@jax.jit
def evaluate(state, v):
    return net.apply({"params": state.params}, v).sum()
state = TrainState.create(apply_fn=net.apply, params=net.init(key, x)["params"], tx=optax.sgd(0.1))
print(evaluate(state, x))
net = linen.Dense(3)
state = TrainState.create(apply_fn=net.apply, params=net.init(key, x)["params"], tx=optax.sgd(0.1))
print(evaluate(state, x))
""",
            """\
labels = list("abc")
COUNT = len(labels)
@jax.jit
def spread(v):
    return v / COUNT
print(spread(x))
COUNT = len(labels)
print(spread(x))
""",
            """\
class Fixed:
    def __init__(self, rate, table):
        self.rate = rate
        self.table = table
class Solver:
    def __init__(self, rate):
        self.fixed = Fixed(rate, (1.0,))
        self.step = jax.jit(self._step)
    def rate(self):
        return self.fixed.rate
    def refresh(self, new):
        self.fixed = Fixed(rate=self.rate(), table=(new,))
    def _step(self, v):
        return v * self.rate()
    def run(self, v):
        for number in range(3):
            v = self.step(v)
            self.refresh(number)
        return v
print(Solver(0.5).run(x))
""",
            """\
class Fixed:
    def __init__(self, rate, table):
        self.rate = rate
        self.table = table
class Solver:
    def __init__(self, rate):
        self.fixed = Fixed(rate, (1.0,))
        self.step = jax.jit(self._step)
    def rate(self):
        return self.fixed.rate
    def refresh(self, new):
        self.fixed = Fixed(table=(new,), rate=self.fixed.rate)
    def _step(self, v):
        return v * self.rate()
    def run(self, v):
        for number in range(3):
            v = self.step(v)
            self.refresh(number)
        return v
print(Solver(0.5).run(x))
""",
            """\
SCALE = 1.0
def set_scale(value):
    global SCALE
    SCALE = value
def scaled(v):
    return v * SCALE
class Engine:
    def __init__(self, value):
        set_scale(value)
        def step(v):
            return scaled(v)
        self.step = jax.jit(step)
for value in (1.0, 2.0):
    engine = Engine(value)
    print(engine.step(x))
""",
            """\
class Sampler:
    def __init__(self, logits):
        self.logits = logits
        self.temperature = 5.0
    @functools.partial(jax.jit, static_argnums=0)
    def probs(self):
        return jax.nn.softmax(self.logits / self.temperature)
    def cool(self):
        self.rounds = 3
def main():
    sampler = Sampler(x)
    for _ in range(3):
        print(sampler.probs())
        sampler.cool()
""",
            """\
class Algo:
    def __init__(self, params):
        self.params = params
    def act(self, v, params=None):
        if params is None:
            params = self.params
        return params * v
    def update(self, v):
        self.params = self.params - v
class Trainer:
    def __init__(self, algo):
        self.algo = algo
    def train(self):
        def test(params, v):
            return jax.vmap(lambda one: self.algo.act(one, params))(v)
        run = jax.jit(test)
        for _ in range(2):
            self.algo.update(run(self.algo.params, x)[0])
Trainer(Algo(x)).train()
def show():
    algo = Algo(x)
    act = jax.jit(algo.act)
    return act(x)
show()
""",
            """\
from flax.training.train_state import TrainState
class Agent:
    def __init__(self, apply_fn, params):
        self.state = TrainState.create(apply_fn=apply_fn, params=params, tx=optax.sgd(0.1))
        self.both = {"actor": self.state}
    @partial(jax.jit, static_argnums=0)
    def _act(self, params, v):
        return self.state.apply_fn(params, v)
    def act(self, v):
        return self._act(self.state.params, v)
    def train(self, data):
        for v in data:
            self.state = self.state.apply_gradients(grads={"w": self.act(v)})
agent = Agent(lambda p, v: p["w"] * v, {"w": x})
agent.train([x, x])
""",
            """\
from types import SimpleNamespace
class Agent:
    def __init__(self, params):
        self.model = SimpleNamespace(actor=SimpleNamespace(apply_fn=lambda p, v: p * v, params=params))
    @partial(jax.jit, static_argnums=0)
    def _act(self, params, v):
        return self.model.actor.apply_fn(params, v)
    def train(self, data):
        for v in data:
            out = self._act(self.model.actor.params, v)
            self.model = SimpleNamespace(actor=SimpleNamespace(apply_fn=self.model.actor.apply_fn, params=out))
Agent(x).train([x, x])
""",
            """\
class Env:
    def __init__(self, name):
        self.scale = float(len(name))
    def step(self, s):
        return s * self.scale
def make_env(name):
    return Env(name)
def render(name, params, rounds):
    @jax.jit
    def policy_step(s, p):
        return env.step(s * p), s
    out = []
    for i in range(rounds):
        env = make_env(name)
        s = jnp.full(3, float(i))
        for _ in range(2):
            s, before = policy_step(s, params)
            out.append(before)
    return out
print(render("ant", x, 2))
""",
            """\
from flax.training import train_state
def fit(apply, weights, rounds):
    state = train_state.TrainState.create(apply_fn=apply, params=weights, tx=optax.sgd(0.1))
    @jax.jit
    def score(params, v):
        return state.apply_fn(params, v).sum()
    for _ in range(rounds):
        grads = jax.grad(score)(state.params, x)
        state = state.apply_gradients(grads=grads)
        last = score(state.params, x)
    return last
fit(lambda params, v: params["w"] * v, {"w": jnp.ones(3)}, 2)
""",
            """\
def fit(predict, rounds):
    predict = jax.jit(predict)
    @jax.jit
    def step(v):
        return predict(v)
    for _ in range(rounds):
        y = step(x)
    return y
for _ in range(2):
    y = fit(jnp.sin, 2)
""",
            """\
SCALE = 2.0
@jax.jit
def f(x):
    return x * SCALE
f(x)
f(x)
""",
            """\
shift = 1.0
shift = 2.0
@jax.jit
def f(x):
    return x + shift
f(x)
f(x)
""",
            """\
shift = 1.0
def f(x):
    return x + shift
f(x)
shift = 2.0
f(x)
""",
            """\
shift = 1.0
@jax.jit
def f(x, shift):
    return x + shift
f(x, shift)
shift = 2.0
f(x, shift)
""",
            """\
config = {}
config["scale"] = 2.0
@jax.jit
def f(x):
    return x * config["scale"]
f(x)
f(x)
""",
            """\
class Scaler:
    def __init__(self, scale):
        self.scale = scale
        self.apply = jax.jit(self._apply)
    def _apply(self, x):
        return x * self.scale
""",
            """\
class Scaler:
    def __init__(self):
        self.scale = 1.0
    def apply(self, x):
        return x * self.scale
    def double(self):
        self.scale = 2 * self.scale
""",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.scale = 1.0
    @nnx.jit
    def __call__(self, x):
        return x * self.scale
net = Net()
net(x)
net.scale = 2.0
net(x)
""",
            _FILTER.replace("  # NNX807", "")
            + """\
for gain in (0.1, 0.2):
    f = Filter(1.0)
    f.gain = gain
    print(f._apply(x))
""",
            _FILTER.replace("  # NNX807", "")
            + """\
    def apply(self, v):
        return self._apply(v)
for gain in (0.1, 0.2):
    f = Filter(1.0)
    f.tune(gain)
    print(f.apply(x))
""",
            _FILTER.replace("  # NNX807", "")
            + """\
    def apply(self, v):
        return self._apply(v)
def main(gain):
    f = Filter(1.0)
    f.tune(gain)
    print(f.apply(x), f.apply(2 * x))
main(0.5)
""",
            _FILTER.replace("  # NNX807", "")
            + """\
    def apply(self, v):
        return v * self.gain
def main(f):
    print(f._apply(x))
    for gain in (0.1, 0.2):
        f.tune(gain)
        print(f.apply(x))
main(Filter(1.0))
""",
            _FILTER.replace("  # NNX807", "")
            + """\
def tune(f, gain):
    f.gain = gain
def main():
    for gain in (0.1, 0.2):
        f = Filter(1.0)
        tune(f, gain)
        print(f._apply(x))
main()
""",
            """\
params = {"vae": x, "text": x}
@jax.jit
def encode(ids):
    return params["text"] + ids
a = encode(x)
params["vae"] = params["vae"] * 2
b = encode(x)
""",
            """\
def train():
    opt = optax.inject_hyperparams(optax.sgd)(learning_rate=0.0)
    params = x
    state = opt.init(params)
    @jax.jit
    def step(params, state):
        updates, state = opt.update(params, state)
        return optax.apply_updates(params, updates), state
    params, state = step(params, state)
    opt = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)
    state = opt.init(params)
    params, state = step(params, state)
    return params
y = train()
""",
            """\
optim = optax.adam(1e-4)
@jax.jit
def follow(grads, state):
    return optim.update(grads, state)
weights = jnp.ones(3)
updates, state = follow(weights, optim.init(weights))
optim = optax.adam(1e-4)
weights = jnp.ones(4)
updates, state = follow(weights, optim.init(weights))
""",
        ),
    ),
    "NNX808": Cases(
        bad=(
            _NET
            + """\
    def __call__(self, x):
        self.calls += 1  # NNX808
        return self.linear(x)
""",
            _NET
            + """\
    def __call__(self, x):
        self.calls = self.calls + 1  # NNX808
        return self.linear(x)
""",
            _NET
            + """\
    @nnx.jit
    def __call__(self, x):
        h = jnp.tanh(x)
        self.last = h * 2  # NNX808
        return self.linear(h)
""",
            _NET
            + """\
    def __call__(self, x):
        h = jnp.tanh(x)
        self.last = h  # NNX808
        return self.linear(h)

@nnx.jit
def predict(net, x):
    return net(x)
predict(Net(nnx.Rngs(0)), x)
""",
            _NET
            + """\
    def encode(self, x):
        self.calls += 1  # NNX808
        return self.linear(x)

@nnx.jit
def predict(net: Net, x):
    return net.encode(x)
""",
        ),
        clean=(
            _NET
            + """\
    def __call__(self, x):
        self.sow(nnx.Intermediate, "hidden", x)
        return self.linear(x)
""",
            """\
class Counted(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.count[...] += 1
        return x
""",
            _NET
            + """\
    def reset(self):
        self.calls = 0
    def __call__(self, x):
        return self.linear(x)
""",
            """\
class Plain:
    def __init__(self):
        self.calls = 0
    def __call__(self, x):
        self.calls += 1
        return x
""",
            _NET
            + """\
    def set_rate(self, rate):
        self.calls = self.calls + 1
        self.dropout.rate = rate
    def __call__(self, x):
        return self.dropout(self.linear(x))
""",
            _NET
            + """\
    def __call__(self, x):
        calls = self.calls
        calls += 1
        return self.linear(x) * calls
""",
        ),
    ),
    "NNX585": Cases(
        bad=(
            """\
from jax.experimental import checkify
@jax.jit
def root(v):
    checkify.check(jnp.all(v >= 0), "negative")  # NNX585
    return jnp.sqrt(v)
""",
            """\
from jax.experimental.checkify import check
def positive(v):
    check(v.sum() > 0, "not positive: {}", v)  # NNX585
    return v
run = jax.jit(lambda v: positive(v) * 2)
""",
            """\
from jax.experimental import checkify
def body(carry, v):
    checkify.check(v.sum() > 0, "not positive")  # NNX585
    return carry + v.sum(), v
total, _ = jax.lax.scan(body, 0.0, x)
""",
        ),
        clean=(
            """\
from jax.experimental import checkify
def root(v):
    checkify.check(jnp.all(v >= 0), "negative")
    return jnp.sqrt(v)
error, y = jax.jit(checkify.checkify(root))(jnp.ones(3))
error.throw()
""",
            """\
from jax.experimental import checkify
def root(v):
    checkify.check(jnp.all(v >= 0), "negative")
    return jnp.sqrt(v)
print(root(jnp.ones(3)), jax.vmap(root)(jnp.ones((2, 3))))
""",
            """\
from jax.experimental import checkify
@jax.jit
def root(v):
    checkify.debug_check(jnp.all(v >= 0), "negative")
    return jnp.sqrt(v)
print(root(jnp.ones(3)))
""",
            """\
from jax.experimental import checkify
DEBUG = False
@jax.jit
def root(v):
    if DEBUG:
        checkify.check(jnp.all(v >= 0), "negative")
    return jnp.sqrt(v)
print(root(jnp.ones(3)))
""",
        ),
    ),
    "NNX809": Cases(
        bad=(
            """\
class Tracker(nnx.Module):
    def __init__(self):
        self.hits, self.misses = nnx.BatchStat(jnp.array(0)), nnx.BatchStat(jnp.array(0))
    def record(self, ok):
        def hit():
            self.hits[...] += 1
        def miss():
            self.misses[...] += 1
        nnx.cond(ok, hit, miss)  # NNX809
Tracker().record(x[0] > 0)
""",
            """\
class Doubling(nnx.Module):
    def __init__(self):
        self.rounds = nnx.Variable(jnp.array(0))
    def __call__(self, v):
        def body(v):
            self.rounds.value = self.rounds.value + 1
            return 2 * v
        return nnx.while_loop(lambda v: v.sum() < 50, body, v)  # NNX809
""",
            """\
class Switch(nnx.Module):
    def __init__(self):
        self.count = nnx.Variable(jnp.array(0))
    def up(self):
        self.count[...] += 1
    def down(self):
        self.count[...] -= 1
    def __call__(self, ok):
        nnx.switch(ok.astype(int), [self.down, self.up])  # NNX809
""",
            """\
class Probe(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)
    def slope(self, v):
        def loss(fc):
            self.last = fc(v).sum()
            return self.last
        return nnx.grad(loss)(self.fc)  # NNX809
""",
            """\
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return self.fc(self.drop(v, rngs=rngs))
def train(v):
    net, noise = Dropping(nnx.Rngs(0)), nnx.Rngs(dropout=1)
    return nnx.grad(lambda net: net(v, noise).sum())(net)  # NNX809
""",
            _NET
            + """\
    def __call__(self, x):
        return self.dropout(self.norm(self.linear(x)))

net = Net(nnx.Rngs(0))
y = jax.vmap(lambda v: net(v))(x)  # NNX809
""",
            """\
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
def body(carry, v):
    return carry, drop(v)
jax.lax.scan(body, 0, x)  # NNX809
""",
            """\
norm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
y = jax.lax.cond(x.sum() > 0, lambda v: norm(v), lambda v: v, x)  # NNX809
""",
            """\
norm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
@jax.checkpoint  # NNX809
def block(v):
    return norm(v)
""",
            """\
rngs = nnx.Rngs(0)
def body(i, c):
    return c + jax.random.normal(rngs.noise())
jax.lax.fori_loop(0, 3, body, 0.0)  # NNX809
""",
            """\
norm = nnx.BatchNorm(3, rngs=nnx.Rngs(0))
shape = jax.eval_shape(lambda v: norm(v), x)  # NNX809
""",
            """\
class Sampler(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
    def step(self, c, _):
        return c + jax.random.normal(self.rngs.noise(), c.shape), None
    def __call__(self, v):
        return jax.lax.scan(self.step, v, None, length=3)  # NNX809
    def other(self, v):
        return jax.lax.map(lambda one: one + jax.random.normal(self.rngs(), one.shape), v)  # NNX809
def sample(v, rngs):
    return jax.lax.fori_loop(0, 3, lambda _, c: c + jax.random.normal(rngs.noise(), c.shape), v)  # NNX809
y = sample(Sampler(nnx.Rngs(0)).other(x), nnx.Rngs(1))
""",
            """\
class Trainer:
    def __init__(self, net):
        self.net, self.rngs = net, nnx.Rngs(noise=1)
    def step(self, v):
        def loss(net):
            return net(v + jax.random.normal(self.rngs.noise(), v.shape)).sum()
        return nnx.value_and_grad(loss)(self.net)  # NNX809
grads = Trainer(model).step(jnp.ones((4, 3)))
""",
            """\
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
jax.lax.scan(lambda c, v: (c, drop(v)), 0, x)  # NNX809
drop.eval()
jax.lax.scan(lambda c, v: (c, drop(v)), 0, x)
""",
            _NET
            + """\
    def __call__(self, x):
        return self.dropout(self.linear(x))

def rollout(net, v):
    return jax.lax.fori_loop(0, 3, lambda _, c: net(c), v)  # NNX809

def main():
    net, other = Net(nnx.Rngs(0)), Net(nnx.Rngs(1))
    other.eval()
    print("not deterministic", jax.vmap(lambda v: net(v))(x))  # NNX809
    print(rollout(net, x))
    net.eval()

main()
""",
            """\
def sync(target, online):
    nnx.update(target, nnx.state(online))
@nnx.jit
def step(target, online, count):
    jax.lax.cond(count % 5 == 0, lambda: sync(target, online), lambda: None)  # NNX809
    return target(x)
@nnx.jit
def copied(target, online, count):
    def copy():
        nnx.update(target, nnx.state(online))
    jax.lax.cond(count % 5 == 0, copy, lambda: None)  # NNX809
    return target(x)
target = nnx.clone(model)
y = step(target, model, 0) + copied(target, model, 0)
""",
            """\
class Cell(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc, self.drop = nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.1, rngs=rngs)
    def __call__(self, v):
        return v + self.drop(self.fc(v))
class Tower(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.cell = Cell(rngs)
    def __call__(self, v):
        return jax.checkpoint(self.cell)(v)  # NNX809
tower = Tower(nnx.Rngs(0))
opt = nnx.Optimizer(tower, optax.sgd(0.1), wrt=nnx.Param)
@nnx.jit
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).sum())(net))
tower.eval()
print(tower(x))
tower.train()
step(tower, opt, x)
""",
            """\
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
drop.eval()
print(jax.vmap(drop)(jnp.ones((2, 3))))
drop.train()
print(jax.vmap(drop)(jnp.ones((2, 3))))  # NNX809
""",
        ),
        clean=(
            """\
class Tracker(nnx.Module):
    def __init__(self):
        self.hits, self.misses = nnx.BatchStat(jnp.array(0)), nnx.BatchStat(jnp.array(0))
    def record(self, ok):
        def hit(m):
            m.hits[...] += 1
        def miss(m):
            m.misses[...] += 1
        nnx.cond(ok, hit, miss, self)
Tracker().record(x[0] > 0)
""",
            """\
class Scaled(nnx.Module):
    def __init__(self):
        self.rounds, self.scale = nnx.Variable(jnp.array(0)), nnx.Param(jnp.array(2.0))
    def __call__(self, v):
        def body(i, v):
            own = nnx.Variable(v)
            own[...] = own[...] * self.scale[...]
            return own[...]
        v = jax.lax.fori_loop(0, 3, body, v)
        self.rounds[...] += 3
        return v
print(Scaled()(x))
""",
            """\
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5)
    def __call__(self, v, rngs):
        return self.fc(self.drop(v, rngs=rngs))
def train(v):
    net, noise = Dropping(nnx.Rngs(0)), nnx.Rngs(dropout=1)
    return nnx.grad(lambda net, noise: net(v, noise).sum())(net, noise)
print(train(x)["fc"]["bias"])
""",
            "y = jax.vmap(lambda v: model(v))(jnp.ones((4, 3)))\n",
            """\
norm = nnx.BatchNorm(3, use_running_average=True, rngs=nnx.Rngs(0))
y = jax.vmap(lambda v: norm(v))(jnp.ones((4, 3)))
""",
            """\
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
axes = nnx.StateAxes({nnx.RngState: 0, ...: None})
y = nnx.split_rngs(splits=3)(nnx.vmap(lambda d, v: d(v), in_axes=(axes, 0)))(drop, x)
""",
            """\
def body(carry, v):
    return carry + v, v
jax.lax.scan(body, 0.0, x)
""",
            """\
graphdef, state = nnx.split(nnx.BatchNorm(3, rngs=nnx.Rngs(0)))
def body(state, v):
    norm = nnx.merge(graphdef, state)
    y = norm(v)
    return nnx.state(norm), y
jax.lax.scan(body, state, jnp.ones((4, 2, 3)))
""",
            """\
drop = nnx.Dropout(0.5, deterministic=True, rngs=nnx.Rngs(0))
y = jax.lax.cond(x.sum() > 0, lambda v: drop(v), lambda v: v, x)
""",
            """\
shape = nnx.eval_shape(lambda: nnx.BatchNorm(3, rngs=nnx.Rngs(0)))
""",
            """\
class Sampler(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
    def step(self, c, key):
        return c + jax.random.normal(nnx.Rngs(key).noise(), c.shape), None
    def alone(self, c):
        return c + jax.random.normal(self.rngs.noise(), c.shape)
    def __call__(self, v):
        return self.alone(jax.lax.scan(self.step, v, jax.random.split(self.rngs.noise(), 3))[0])
    def compiled(self, v):
        return nnx.jit(lambda sampler, c: c + jax.random.normal(sampler.rngs(), c.shape))(self, v)
sampler = Sampler(nnx.Rngs(0))
print(sampler(jnp.ones(3)), sampler.compiled(jnp.ones(3)))
""",
            """\
def sample(v, rngs, noisy=False):
    def step(_, c):
        if noisy:
            c = c + jax.random.normal(rngs.noise(), c.shape)
        return c * 2
    return jax.lax.fori_loop(0, 3, step, v)
print(sample(jnp.ones(3), nnx.Rngs(1)))
""",
            """\
class Trainer:
    def __init__(self, net):
        self.net, self.rngs = net, nnx.Rngs(noise=1)
    def step(self, v):
        key = self.rngs.noise()
        def loss(net):
            return net(v + jax.random.normal(key, v.shape)).sum()
        return nnx.value_and_grad(loss)(self.net)
print(Trainer(model).step(jnp.ones((4, 3)))[0])
""",
            _NET
            + """\
    def __call__(self, x):
        return self.dropout(self.norm(self.linear(x)))

net = Net(nnx.Rngs(0))
print(net(x))
net.eval()
jax.lax.scan(lambda c, _: (net(c), None), jnp.ones((4, 3)), None, length=6)
y = jax.vmap(net)(jnp.ones((4, 3)))
""",
            _NET
            + """\
    def __call__(self, x):
        return self.dropout(self.norm(self.linear(x)))

def rollout(net, v):
    return jax.lax.fori_loop(0, 3, lambda _, c: net(c), v)

net = Net(nnx.Rngs(0))
net.set_attributes(deterministic=True, use_running_average=True)
rollout(net, jnp.ones((4, 3)))
""",
            _NET
            + """\
    def __call__(self, x):
        return self.dropout(self.norm(self.linear(x)))

class Runner:
    def __init__(self, net):
        self.net = net
        self.net.eval()
net = Net(nnx.Rngs(0))
runner = Runner(net)
y = jax.lax.map(lambda v: net(v), jnp.ones((4, 3)))
""",
            """\
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
for step in range(2):
    if step:
        jax.lax.scan(lambda c, v: (c, drop(v)), 0, jnp.ones((4, 3)))
    drop.eval()
""",
            """\
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
drop.deterministic = True
jax.lax.scan(lambda c, v: (c, drop(v)), 0, jnp.ones((4, 3)))
""",
            """\
def sync(target, online):
    nnx.update(target, nnx.state(online))
def read(target, v):
    return target(v)
def fresh(target, v):
    other = nnx.clone(target)
    return other(v)
@nnx.jit
def step(target, online, count):
    nnx.cond(count % 5 == 0, sync, lambda one, two: None, target, online)
    y = jax.lax.cond(count % 5 == 0, lambda: read(target, x), lambda: read(online, x))
    return y + jax.lax.cond(count % 5 == 0, lambda: fresh(target, x), lambda: read(online, x))
target = nnx.clone(model)
y = step(target, model, 0)
""",
            """\
drop = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
drop.train()
print(drop(x))
drop.eval()
print(jax.vmap(drop)(jnp.ones((2, 3))))
""",
            """\
class Cell(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.fc, self.drop = nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.1, rngs=rngs)
    def __call__(self, v):
        return v + self.drop(self.fc(v))
def fitted(net, opt, v):
    net.train()
    opt.update(net, nnx.grad(lambda m: m(v).sum())(net))
def predicted(net, rows):
    net.eval()
    return jax.vmap(net)(rows)
cell = Cell(nnx.Rngs(0))
fitted(cell, nnx.Optimizer(cell, optax.sgd(0.1), wrt=nnx.Param), x)
print(predicted(cell, jnp.ones((2, 3))))
""",
            """\
class Teacher(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(0.1, rngs=rngs)
    def __call__(self, v):
        return jax.checkpoint(lambda h: self.drop(h))(v)
teacher = Teacher(nnx.Rngs(0))
teacher.eval()
model.train()
optimizer.update(model, nnx.grad(lambda m: ((m(x) - teacher(x)) ** 2).mean())(model))
""",
        ),
    ),
    "NNX810": Cases(
        bad=(
            """\
def rate(count):
    return 0.05 * (1 + math.cos(math.pi * count / 10))  # NNX810
tx = optax.adam(rate)
@jax.jit
def step(p, state, g):
    updates, state = tx.update(g, state, p)
    return optax.apply_updates(p, updates), state
""",
            """\
import numpy as np
@jax.jit
def solved(a, b):
    misfit = lambda v: np.linalg.norm(b - a @ v)  # NNX810
    return a.T @ b + misfit(jnp.ones(3))
solved(jnp.ones((2, 3)), jnp.ones(2))
""",
            """\
import scipy.stats
from scipy.interpolate import CubicSpline, interp1d
class Instrument:
    def __init__(self, knots, smooth):
        self.curve = CubicSpline(knots, knots**2) if smooth else interp1d(knots, knots)
    def observe(self, v):
        return self.curve(v)  # NNX810
prior = scipy.stats.norm(0.0, 1.0)
@jax.grad
def density(v):
    return prior.logpdf(v)  # NNX810
def make(instrument):
    return jax.jit(lambda v: instrument.observe(v).sum())
run = make(Instrument(np.linspace(0.0, 1.0, 5), True))
""",
            """\
@jax.custom_vjp
def noted(v):
    return forward(v)[0]
def forward(v):
    history = np.zeros(3)
    history[0] = v.sum()  # NNX810
    return v.sum(), history
noted.defvjp(forward, lambda kept, g: (g * jnp.ones(3),))
print(jax.jit(noted)(x))
""",
            """\
@jax.custom_jvp
def sine(v):
    return np.sin(v)  # NNX810
@sine.defjvp
def sine_rule(primals, tangents):
    return sine(primals[0]), jnp.cos(primals[0]) * tangents[0]
print(jax.vmap(jax.grad(sine))(x))
""",
            """\
from contextlib import contextmanager
class Timed:
    def __enter__(self):
        return self
    def __exit__(self, kind, value, trace):
        print(kind)
        return None
@contextmanager
def logged():
    try:
        yield
    except Exception as error:
        print(error)
        raise
@jax.jit
def f(v):
    with Timed():
        w = np.exp(v)  # NNX810
    with logged():
        return np.log(v) + w  # NNX810
""",
            "class Series:\n    def __init__(self, a):\n        self.a = a\n"
            "    def scaled(self, other):\n        return np.asarray(other) * self.a  # NNX810\n"
            "    def __call__(self, other):\n        return self.scaled(other)\n"
            "f = Series(2.0)\nprint(jax.vmap(lambda v: f(v))(jnp.ones(3)))\n",
            """\
class Kept:
    def add(self, chunk):
        return np.asarray(chunk)  # NNX810
def simulate(v, writer=None):
    if writer is None:
        writer = Kept()
    return writer.add(v * 2.0)
def loss(v):
    return simulate(v).sum()
print(jax.jit(jax.value_and_grad(loss))(x))
""",
            "from scipy.special import gammaln\n@jit\ndef f(v):\n    return gammaln(v)  # NNX810\n",
            """\
@jax.jit
def f(x):
    return np.exp(x)  # NNX810
""",
            """\
@nnx.jit
def f(model, x):
    y = model(x)
    return np.where(y > 0, y, 0.0)  # NNX810
""",
            """\
from numpy import concatenate as join
def both(a, b):
    return join([a, b])  # NNX810
fast = jax.jit(lambda v: both(v, 2 * v))
""",
            """\
from math import sqrt
def body(carry, v):
    return carry + sqrt(v), v  # NNX810
jax.lax.scan(body, 0.0, x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, x):
        return np.tanh(self.linear(x))  # NNX810
@nnx.jit
def predict(net, x):
    return net(x)
predict(Net(nnx.Rngs(1)), x)
""",
            """\
@jax.jit
def f(x):
    return np.asarray(x) + 1  # NNX810
""",
        ),
        clean=(
            """\
def rate(count):
    return 0.05 * (1 + jnp.cos(math.pi * count / math.sqrt(100)))
tx = optax.adam(rate)
@jax.jit
def step(p, state, g):
    updates, state = tx.update(g, state, p)
    return optax.apply_updates(p, updates), state
print(step(x, tx.init(x), x))
""",
            """\
import numpy as np
@jax.jit
def solved(a, b):
    misfit = lambda v: 0.5 * np.linalg.norm(b - a @ v) ** 2
    return a.T @ b
print(solved(jnp.ones((2, 3)), jnp.ones(2)))
""",
            """\
from scipy.interpolate import CubicSpline
import scipy.stats
curve = CubicSpline(np.linspace(0.0, 1.0, 5), np.ones(5))
prior = scipy.stats.norm(0.0, 1.0)
table = jnp.asarray(curve(np.linspace(0.0, 1.0, 64)))
@jax.jit
def look(v):
    scale = prior.pdf(0.0)
    return jnp.interp(v, jnp.linspace(0.0, 1.0, 64), table) * scale + float(curve(0.5))
look(x)
""",
            """\
@jax.custom_jvp
def product(a, b):
    return np.sin(a) * b
@product.defjvp
def product_rule(primals, tangents):
    a, b = primals
    da, db = tangents
    return jnp.sin(a) * b, jnp.cos(a) * b * da + jnp.sin(a) * db
print(jax.grad(product)(1.0, 2.0))
print(jax.vmap(jax.grad(product), (0, None))(x, 2.0))
print(jax.jit(lambda v: jax.value_and_grad(product)(v, 2.0))(1.0))
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def simulate(steps, v):
    return forward(steps, v)[0]
def forward(steps, v):
    history = np.zeros((steps, 3))
    for i in range(steps):
        history[i] = v * i
        print(f"{float(v.sum()):.1f}")
    return v.sum(), history
def backward(steps, history, g):
    return (g * jnp.asarray(history).sum(0),)
simulate.defvjp(forward, backward)
def loss(v):
    return simulate(3, v)
print(jax.value_and_grad(simulate, argnums=1)(3, x), jax.grad(loss)(x))
""",
            """\
from scipy.optimize import OptimizeResult
class Bunch(dict):
    pass
@jax.jit
def f(v):
    found = OptimizeResult(x=v * 2, fun=v.sum())
    return found.x + found["fun"] + Bunch(a=v)["a"]
print(f(x), jax.grad(lambda v: f(v).sum())(x))
""",
            """\
import scipy.integrate._ivp.ivp as ivp
from scipy.integrate._ivp.ivp import OdeResult
@jax.jit
def f(v):
    return OdeResult(t=v, y=v * 2).y + ivp.OdeResult(y=v).y
print(f(x))
""",
            """\
from contextlib import contextmanager, suppress
class Trying:
    def __enter__(self):
        return self
    def __exit__(self, kind, value, trace):
        return kind is not None and issubclass(kind, jax.errors.TracerArrayConversionError)
@contextmanager
def trying():
    try:
        yield
    except Exception as error:
        print(type(error).__name__)
@jax.jit
def f(v):
    shown = None
    with Trying():
        shown = np.exp(v)
    with trying():
        shown = np.asarray(v)
    with suppress(Exception):
        shown = np.log(v)
    return v if shown is None else v * 2
print(f(x))
""",
            # an object of the class is no tracer, whatever its method gets in compiled code
            "class Series:\n    def __init__(self, a):\n        self.a = a\n"
            "    def composed(self, other):\n        return Series(np.asarray(other.a) + np.asarray(self.a))\n"
            "    def __call__(self, other):\n        if isinstance(other, Series):\n"
            "            return self.composed(other)\n        return self.a * other\n"
            "f = Series(2.0)\nprint(jax.vmap(lambda v: f(v))(jnp.ones(3)), f(Series(1.0)).a)\n",
            """\
def softmax(v):
    v = np.exp(v - v.max())
    return v / v.sum()
def weigh(v):
    return softmax(v) * v
print(weigh(np.ones(3)))
@jax.jit
def softmax(v):
    v = jnp.exp(v - v.max())
    return v / v.sum()
@jax.jit
def weigh(v):
    return softmax(v) * v
print(weigh(x))
""",
            """\
def host(v):
    return jnp.asarray(np.asarray(v) * 2)
def late(v):
    return host(v) if jax.core.is_concrete(v) else v * 2
print(jax.jit(late)(x), late(x))
""",
            """\
def host(v):
    return jnp.asarray(np.asarray(v) * 2)
def early(v):
    if isinstance(v, jax.core.Tracer):
        return v * 2
    return host(v)
def evaluate(v):
    if not isinstance(v, jax.core.Tracer) and v.ndim == 1:
        return host(v)
    return early(v)
print(jax.jit(evaluate)(x), evaluate(x))
""",
            """\
def _is_jax_cosmo(c):
    return hasattr(c, "at")
def eta(c, z):
    if not _is_jax_cosmo(c):
        np.testing.assert_equal(np.sort(z), z)
    return c * z
@jax.jit
def arrival(c, z):
    return eta(c, z)
print(arrival(x, x))
""",
            """\
class Kept:
    def add(self, chunk):
        return np.asarray(chunk)
class Raw:
    def add(self, chunk):
        return chunk
def simulate(v, writer=None):
    if writer is None:
        writer = Raw()
    return writer.add(v * 2.0)
def loss(v):
    return simulate(v).sum()
print(jax.jit(jax.grad(loss))(x), simulate(x, writer=Kept()))
""",
            """\
class Parser:
    @staticmethod
    def _rows(value):
        try:
            found = np.asarray(value)
        except Exception:
            return False
        return found.ndim == 2
    @staticmethod
    def _scalar(value):
        try:
            found = np.asarray(value)
        except Exception:
            return np.isscalar(value)
        return found.ndim == 0
    def parse(self, a, b):
        if self._rows(a) and self._scalar(b):
            return float(np.asarray(b)), np.asarray(a)
        if self._scalar(a) and not self._scalar(b):
            return float(np.asarray(a)), np.asarray(b)
        return b, a
parser = Parser()
@jax.jit
def moved(a, t):
    t, a = parser.parse(a, t)
    return a + t
print(moved(jnp.ones((2, 2)), 1.0), parser.parse(np.ones((2, 2)), 1.0))
""",
            """\
def backend_of(values, backend):
    if backend != 'auto':
        return backend
    return 'jax' if type(values).__module__.startswith('jax') else 'numpy'
def by_numpy(values):
    return np.cumsum(np.asarray(values))
def corrected(values, backend='auto'):
    found = backend_of(values, backend)
    if found == 'jax':
        return jnp.cumsum(values)
    else:
        return by_numpy(values)
print(jax.vmap(corrected)(jnp.ones((2, 3))), corrected(np.ones(3)))
""",
            "from scipy.special import factorial\n@jit\ndef f(v):\n    return v / factorial(4)\n",
            "@jit\ndef f(v):\n    return jax.scipy.special.gammaln(v)\n",
            """\
@jax.jit
def f(x):
    return x * np.sum(x) + np.prod(x.shape) + np.float32(2)
""",
            """\
@jax.jit
def f(x):
    return x / math.sqrt(x.shape[-1]) + np.log(len(x))
""",
            """\
TABLE = np.exp(np.arange(3))
@jax.jit
def f(x):
    return x * TABLE
""",
            """\
y = np.asarray(jax.jit(lambda v: v * 2)(x))
z = np.exp(y)
""",
            """\
@partial(jax.jit, static_argnames="n")
def f(x, n):
    return x * np.exp(n) + math.factorial(n)
""",
            """\
def host(v):
    return np.exp(v)
@jax.jit
def f(x):
    return jax.pure_callback(host, x, x)
""",
            """\
@jax.jit
def f(x):
    return np.reshape(x, (3, 1)) + np.transpose(x) + np.max(x)
""",
        ),
    ),
    "NNX811": Cases(
        bad=(
            """\
@nnx.jit
def loss_of(m, v):
    return m(v).sum()
def train(net, opt, vs):
    graphdef, state = nnx.split((net, opt))
    def body(state, v):
        m, o = nnx.merge(graphdef, state, copy=True)
        loss, grads = nnx.value_and_grad(loss_of)(m, v)
        o.update(m, grads)  # NNX811
        return state, loss
    state, losses = jax.lax.scan(body, state, vs)
    nnx.update((net, opt), state)
    return losses
train(model, optimizer, jnp.ones((2, 3)))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 16, rngs=rngs)
    def __call__(self, token):
        return self.out(self.attn(self.embed(token)[:, None]))[:, 0]
def make(net):
    net.attn.init_cache((1, 32, 8))
    graphdef, params, cache, rest = nnx.split(net, nnx.Param, nnx.Cache, ...)
    @jax.jit
    def decode(params, cache, token):
        m = nnx.merge(graphdef, params, cache, rest, copy=True)
        return m(token).argmax(-1), cache  # NNX811
    token = jnp.array([3])
    for _ in range(4):
        token, cache = decode(params, cache, token)
    return token
make(Decoder(nnx.Rngs(0)))
""",
            """\
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.linear(v))
graphdef, params, rest = nnx.split(Dropping(nnx.Rngs(0)), nnx.Param, ...)
def loss(params, v):
    return nnx.merge(graphdef, params, rest, copy=False)(v).sum()  # NNX811
print(jax.grad(loss)(params, x))
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.MultiHeadAttention(
            num_heads=2, in_features=4, dropout_rate=0.1, decode=False, rngs=rngs
        )
    def __call__(self, v):
        return self.attention(v)
graphdef, params, rest = nnx.split(Encoder(nnx.Rngs(0)), nnx.Param, ...)
def loss(params, v):
    net = nnx.merge(graphdef, params, rest)  # NNX811
    return net(v).sum()
print(jax.grad(loss)(params, jnp.ones((1, 2, 4))))
""",
            """\
@jax.jit
def train_step(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    optimizer.update(model, grads)
    return loss, nnx.state((model, optimizer))
def fit(batches):
    total = 0.0
    for batch in batches:
        total += train_step(model, optimizer, batch)[0]  # NNX811
    return total
""",
            """\
@jax.jit
def train_step(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    optimizer.update(model, grads)
    return loss, nnx.state((model, optimizer))
def fit(batches):
    losses = []
    for batch in batches:
        loss, _ = train_step(model, optimizer, batch)  # NNX811
        losses.append(loss)
    return losses
""",
            """\
@jax.jit
def train_step(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    optimizer.update(model, grads)
    return loss, model, optimizer
def fit(model, optimizer, batches):
    for batch in batches:
        loss, new_model, new_optimizer = train_step(model, optimizer, batch)  # NNX811
    return loss
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.fc(self.drop(v))
net = Net(nnx.Rngs(0))
graphdef, params, rest = nnx.split(net, nnx.Param, ...)
@jax.jit
def gradients(params, rest, v):
    def loss_fn(params, rest):
        net = nnx.merge(graphdef, params, rest)  # NNX811
        return net(v).sum(), nnx.state(net, nnx.Not(nnx.Param))
    return jax.grad(loss_fn, has_aux=True)(params, rest)
grads, rest = gradients(params, rest, x)
net.eval()
""",
            """\
class Norm(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
graphdef, params, rest = nnx.split(Norm(nnx.Rngs(0)), nnx.Param, ...)
params, rest = nnx.to_pure_dict(params), nnx.to_pure_dict(rest)
def loss_fn(params, rest, v):
    merged = nnx.merge(graphdef, params, rest)
    return (merged(v) ** 2).mean(), rest  # NNX811
@jax.jit
def step(params, rest, v):
    (loss, rest), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, rest, v)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), rest, loss
params, rest, loss = step(params, rest, jnp.ones((4, 3)))
""",
            """\
class Norm(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
graphdef, params, rest = nnx.split(Norm(nnx.Rngs(0)), nnx.Param, ...)
print(nnx.to_pure_dict(params))
def loss_fn(params, rest, v):
    merged = nnx.merge(graphdef, params, rest)  # NNX811
    return (merged(v) ** 2).mean(), nnx.state(merged, nnx.BatchStat)
(loss, rest), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, rest, jnp.ones((4, 3)))
""",
            """\
graphdef, state = nnx.split((model, optimizer))
@jax.jit
def step(state, x):
    model, optimizer = nnx.merge(graphdef, state)
    loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)  # NNX811
    return loss
""",
            """\
def step(graphdef, state, x):
    model, optimizer = nnx.merge(graphdef, state)
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)  # NNX811
    return x
fast = jax.jit(step, static_argnums=0)
""",
            """\
graphdef, state = nnx.split((model, optimizer))
@partial(jax.jit, static_argnames=("n",))
def step(state, x, n):
    pair = nnx.merge(graphdef, state)
    grads = nnx.grad(lambda m: m(x).sum())(pair[0])
    pair[1].update(pair[0], grads)  # NNX811
    return n * x
""",
        ),
        clean=(
            """\
@nnx.jit
def loss_of(m, v):
    return m(v).sum()
def train(net, opt, vs):
    graphdef, state = nnx.split((net, opt))
    def body(state, v):
        m, o = nnx.merge(graphdef, state, copy=True)
        loss, grads = nnx.value_and_grad(loss_of)(m, v)
        o.update(m, grads)
        return nnx.state((m, o)), loss
    state, losses = jax.lax.scan(body, state, vs)
    nnx.update((net, opt), state)
    return losses
train(model, optimizer, jnp.ones((2, 3)))
""",
            """\
@nnx.jit
def loss_of(m, v):
    return m(v).sum()
def train(net, opt, vs):
    graphdef, state = nnx.split((net, opt))
    def body(state, v):
        m, o = nnx.merge(graphdef, state, copy=True)
        loss, grads = nnx.value_and_grad(loss_of)(m, v)
        o.update(m, grads)
        carry = (nnx.state((m, o)), loss)
        return carry
    state, losses = jax.lax.scan(body, state, vs)
    nnx.update((net, opt), state)
    return losses
train(model, optimizer, jnp.ones((2, 3)))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 16, rngs=rngs)
    def __call__(self, token):
        return self.out(self.attn(self.embed(token)[:, None]))[:, 0]
def make(net):
    net.attn.init_cache((1, 32, 8))
    graphdef, params, cache, rest = nnx.split(net, nnx.Param, nnx.Cache, ...)
    @jax.jit
    def decode(params, cache, token):
        m = nnx.merge(graphdef, params, cache, rest, copy=True)
        token = m(token).argmax(-1)
        return token, nnx.state(m, nnx.Cache)
    token = jnp.array([3])
    for _ in range(4):
        token, cache = decode(params, cache, token)
    return token
make(Decoder(nnx.Rngs(0)))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)
        self.out = nnx.Linear(8, 16, rngs=rngs)
    def __call__(self, token):
        return self.out(self.attn(self.embed(token)[:, None]))[:, 0]
def make(net):
    net.attn.init_cache((1, 32, 8))
    graphdef, params, cache, rest = nnx.split(net, nnx.Param, nnx.Cache, ...)
    @jax.jit
    def decode(params, cache, token):
        m = nnx.merge(graphdef, params, cache, rest, copy=True)
        return m(token).argmax(-1), cache
    token = jnp.array([3])
    for _ in range(4):
        token, cache = decode(params, cache, token)
    return token
make(Decoder(nnx.Rngs(0)))
""",
            """\
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.linear(v))
graphdef, params, rest = nnx.split(Dropping(nnx.Rngs(0)), nnx.Param, ...)
def loss(params, v):
    return nnx.merge(graphdef, params, rest, copy=True)(v).sum()
print(jax.grad(loss)(params, x))
""",
            """\
class Attending(nnx.Module):
    def __init__(self, rngs):
        self.attention = nnx.MultiHeadAttention(num_heads=2, in_features=4, dropout_rate=0.0, decode=False, rngs=rngs)
    def __call__(self, v):
        return self.attention(v)
graphdef, params, rest = nnx.split(Attending(nnx.Rngs(0)), nnx.Param, ...)
def loss(params, v):
    return nnx.merge(graphdef, params, rest)(v).sum()
print(jax.grad(loss)(params, jnp.ones((1, 2, 4))))
""",
            """\
class Dropping(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v, noisy=False):
        v = self.linear(v)
        return self.drop(v) if noisy else v
graphdef, params, rest = nnx.split(Dropping(nnx.Rngs(0)), nnx.Param, ...)
def loss(params, v):
    return nnx.merge(graphdef, params, rest)(v).sum()
print(jax.grad(loss)(params, x))
""",
            """\
@jax.jit
def train_step(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    optimizer.update(model, grads)
    return loss, nnx.state((model, optimizer))
def fit(batches):
    for batch in batches:
        loss, state = train_step(model, optimizer, batch)
        nnx.update((model, optimizer), state)
    return loss
fit([x])
""",
            """\
@jax.jit
def train_step(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    optimizer.update(model, grads)
    return loss, model, optimizer
def fit(model, optimizer, batches):
    for batch in batches:
        loss, model, optimizer = train_step(model, optimizer, batch)
    return loss
fit(model, optimizer, [x])
""",
            """\
@jax.jit
def train_step(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    optimizer.update(model, grads)
    return loss, nnx.state((model, optimizer))
def measure(batches):
    start = time.perf_counter()
    for batch in batches:
        loss, _ = train_step(model, optimizer, batch)
    loss.block_until_ready()
    return time.perf_counter() - start
""",
            """\
@jax.jit
def train_step(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    optimizer.update(model, grads)
    return loss, nnx.state((model, optimizer))
loss, _ = train_step(model, optimizer, x)  # compiles it
for batch in batches[:2]:
    loss, state = train_step(model, optimizer, batch)
    nnx.update((model, optimizer), state)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.fc(self.drop(v))
net = Net(nnx.Rngs(0))
net.eval()
graphdef, params, rest = nnx.split(net, nnx.Param, ...)
@jax.jit
def gradients(params, rest, v):
    def loss_fn(params, rest):
        net = nnx.merge(graphdef, params, rest)
        return net(v).sum(), nnx.state(net, nnx.Not(nnx.Param))
    return jax.grad(loss_fn, has_aux=True)(params, rest)
grads, rest = gradients(params, rest, x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.fc(self.drop(v))
net = Net(nnx.Rngs(0))
graphdef, params, rest = nnx.split(net, nnx.Param, ...)
@jax.jit
def gradients(params, rest, v):
    def loss_fn(params, rest):
        net = nnx.merge(graphdef, params, nnx.clone(rest))
        return net(v).sum(), nnx.state(net, nnx.Not(nnx.Param))
    return jax.grad(loss_fn, has_aux=True)(params, rest)
grads, rest = gradients(params, rest, x)
net.eval()
""",
            """\
class Norm(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
graphdef, params, rest = nnx.split(Norm(nnx.Rngs(0)), nnx.Param, ...)
params, rest = nnx.to_pure_dict(params), nnx.to_pure_dict(rest)
def loss_fn(params, rest, v):
    merged = nnx.merge(graphdef, params, rest)
    return (merged(v) ** 2).mean(), nnx.to_pure_dict(nnx.state(merged, nnx.Not(nnx.Param)))
@jax.jit
def step(params, rest, v):
    (loss, rest), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, rest, v)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), rest, loss
for _ in range(2):
    params, rest, loss = step(params, rest, jnp.ones((4, 3)))
""",
            """\
class Norm(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
graphdef, params, rest = nnx.split(Norm(nnx.Rngs(0)), nnx.Param, ...)
rest = nnx.pure(rest)
def loss_fn(params, rest, v):
    merged = nnx.merge(graphdef, params, rest)
    return (merged(v) ** 2).mean(), nnx.pure(nnx.state(merged, nnx.Not(nnx.Param)))
@jax.jit
def step(params, rest, v):
    (loss, rest), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, rest, v)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), rest, loss
for _ in range(2):
    params, rest, loss = step(params, rest, jnp.ones((4, 3)))
""",
            """\
class Norm(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
graphdef, params, rest = nnx.split(Norm(nnx.Rngs(0)), nnx.Param, ...)
def arrays(state):
    return jax.tree.map(lambda v: v[...], state, is_leaf=lambda v: isinstance(v, nnx.Variable))
rest = arrays(rest)
def loss_fn(params, rest, v):
    merged = nnx.merge(graphdef, params, rest)
    return (merged(v) ** 2).mean(), arrays(nnx.state(merged, nnx.Not(nnx.Param)))
@jax.jit
def step(params, rest, v):
    (loss, rest), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, rest, v)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), rest, loss
for _ in range(2):
    params, rest, loss = step(params, rest, jnp.ones((4, 3)))
""",
            """\
class Norm(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
graphdef, params, rest = nnx.split(Norm(nnx.Rngs(0)), nnx.Param, ...)
rest = rest.to_pure_dict()
def loss_fn(params, rest, v):
    merged = nnx.merge(graphdef, params, rest)
    return (merged(v) ** 2).mean(), nnx.split(merged, nnx.Param, ...)[2].to_pure_dict()
@jax.jit
def step(params, rest, v):
    (loss, rest), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, rest, v)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), rest, loss
for _ in range(2):
    params, rest, loss = step(params, rest, jnp.ones((4, 3)))
""",
            """\
tx = optax.adam(0.1)
def step(graphdef, params, opt_state):
    grads = jax.grad(lambda p: nnx.merge(graphdef, p)(x).mean())(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state
def merged(net):
    graphdef, params = nnx.split(net)
    opt_state = tx.init(params)
    for _ in range(3):
        params, opt_state = step(graphdef, params, opt_state)
    return nnx.merge(graphdef, params)
def written(given):
    graphdef, params = nnx.split(given)
    opt_state = tx.init(params)
    for _ in range(3):
        params, opt_state = step(graphdef, params, opt_state)
    nnx.update(given, params)
    return given(x)
def later(one):
    graphdef, params = nnx.split(one)
    opt_state = tx.init(params)
    for _ in range(3):
        params, opt_state = step(graphdef, params, opt_state)
    return lambda: nnx.merge(graphdef, params)
net = nnx.Linear(3, 3, rngs=nnx.Rngs(5))
print(net(x))
print(merged(net)(x), written(net), net(x), later(net), net(x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
net = Net(nnx.Rngs(0))
net.eval()
graphdef, params, stats = nnx.split(net, nnx.Param, nnx.BatchStat)
def make(graphdef):
    def loss(params, stats, v):
        merged = nnx.merge(graphdef, params, stats, copy=True)
        return merged(v).mean()
    return loss
grads = jax.grad(make(graphdef))(params, stats, x[None])
""",
            """\
graphdef, state = nnx.split((model, optimizer))
@jax.jit
def step(state, x):
    model, optimizer = nnx.merge(graphdef, state)
    loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
    return nnx.state((model, optimizer)), loss
""",
            """\
@jax.jit
def predict(graphdef, state, x):
    return nnx.merge(graphdef, state)(x)
""",
            """\
@jax.jit
def step(graphdef, state, x):
    model, optimizer = nnx.merge(graphdef, state)
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
    _, state = nnx.split((model, optimizer))
    return state
""",
            """\
def step(graphdef, state, x):
    model, optimizer = nnx.merge(graphdef, state)
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
    return model
""",
        ),
    ),
    "NNX812": Cases(
        bad=(
            """\
def fit(net, xs, steps=3):
    graphdef, params, rest = nnx.split(net, nnx.Param, ...)
    tx = optax.sgd(0.1)
    opt_state = tx.init(params)
    @jax.jit
    def step(params, opt_state, v):
        def loss_fn(p):
            return jnp.mean(nnx.merge(graphdef, p, rest)(v) ** 2)
        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss
    for _ in range(steps):
        for v in xs:
            params, opt_state, loss = step(params, opt_state, v)
    return net  # NNX812
fit(model, batches)
""",
            """\
class Trainer:
    def __init__(self):
        self.model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)
    def fit(self, xs):
        graphdef, state = nnx.split((self.model, self.optimizer))  # NNX812
        @jax.jit
        def step(state, v):
            model, optimizer = nnx.merge(graphdef, state)
            optimizer.update(model, nnx.grad(lambda m: jnp.mean(m(v) ** 2))(model))
            return nnx.state((model, optimizer))
        for v in xs:
            state = step(state, v)
    def predict(self, v):
        return self.model(v)
""",
            """\
step = jax.jit(lambda g, s, v: s)
graphdef, state = nnx.split((model, optimizer))
for batch in batches:
    state = step(graphdef, state, batch)
print(model(x))  # NNX812
""",
            """\
step = jax.jit(lambda g, s, v: (s, 0.0))
def train(batches):
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    graphdef, state = nnx.split(net)
    for batch in batches:
        state, loss = step(graphdef, state, batch)
    return net  # NNX812
""",
            """\
step = jax.jit(lambda g, s, v: s)
graphdef, state = nnx.split(model)
n = 0
while n < 3:
    state = step(graphdef, state, x)
    n += 1
y = model(x)  # NNX812
""",
        ),
        clean=(
            """\
@jax.jit
def shrunk(params):
    return jax.tree.map(lambda leaf: 0.9 * leaf, params)
def fit(net, steps=3):
    graphdef, params = nnx.split(net, nnx.Param)
    for _ in range(steps):
        params = shrunk(params)
    nnx.update(net, params)
    return net
def compared(net, steps=3):
    graphdef, params, rest = nnx.split(net, nnx.Param, ...)
    for _ in range(steps):
        params = shrunk(params)
    return nnx.merge(graphdef, params, rest)(x) - net(x)
def kept(net, steps=3):
    graphdef, params, rest = nnx.split(net, nnx.Param, ...)
    for _ in range(steps):
        params = shrunk(params)
    return graphdef, params, rest
print(compared(model), fit(model)(x), len(kept(model)))
""",
            """\
def restored(entries, template):
    graphdef, _ = nnx.split(template)
    models = []
    for entry in entries:
        _, fresh = nnx.split(template)
        models.append(nnx.merge(graphdef, jax.tree.map(lambda v: v * entry, fresh)))
    for entry in entries:
        _, fresh = nnx.split(template)
        models.append(nnx.merge(graphdef, jax.tree.map(lambda v: v + entry, fresh)))
    return models
print(restored([2.0], model)[0](x))
""",
            """\
class Trainer:
    def __init__(self):
        self.model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)
    def fit(self, xs):
        graphdef, state = nnx.split((self.model, self.optimizer))
        @jax.jit
        def step(state, v):
            model, optimizer = nnx.merge(graphdef, state)
            optimizer.update(model, nnx.grad(lambda m: jnp.mean(m(v) ** 2))(model))
            return nnx.state((model, optimizer))
        for v in xs:
            state = step(state, v)
        return nnx.merge(graphdef, state)[0]
    def predict(self, v):
        return self.model(v)
print(Trainer().fit([x])(x))
""",
            """\
step = jax.jit(lambda g, s, v: s)
graphdef, state = nnx.split((model, optimizer))
for batch in batches:
    state = step(graphdef, state, batch)
nnx.update((model, optimizer), state)
print(model(x))
""",
            """\
step = jax.jit(lambda g, s, v: s)
graphdef, state = nnx.split(model)
for batch in batches:
    state = step(graphdef, state, batch)
model = nnx.merge(graphdef, state)
print(model(x))
""",
            """\
step = jax.jit(lambda g, s, v: s)
graphdef, state = nnx.split(model)
for batch in batches:
    state = step(graphdef, state, batch)
print(jax.tree.leaves(state))
""",
            """\
step = jax.jit(lambda s, v: v)
graphdef, state = nnx.split(model)
for batch in batches:
    y = step(state, batch)
print(model(x))
""",
        ),
    ),
    "NNX813": Cases(
        bad=(
            """\
def make_step(encoder, decoder):
    bundle = (encoder, decoder)
    graphdef, state = nnx.split(bundle)
    @jax.jit
    def step(state, v):
        pair = nnx.merge(graphdef, state)
        decoder, encoder = pair  # NNX813
        return decoder(encoder(v))
    return step
""",
            """\
graphdef, state = nnx.split((model, optimizer))
optimizer, model = nnx.merge(graphdef, state)  # NNX813
""",
            """\
graphdef, state = nnx.split((model, optimizer))
@jax.jit
def step(state, x):
    optimizer, model = nnx.merge(graphdef, state)  # NNX813
    return model(x)
""",
            """\
from flax.nnx import merge, split
graphdef, state = split((model, optimizer))
optimizer, model = merge(graphdef, state)  # NNX813
""",
        ),
        clean=(
            """\
def make_step(encoder, decoder):
    bundle = (encoder, decoder)
    graphdef, state = nnx.split(bundle)
    @jax.jit
    def step(state, v):
        pair = nnx.merge(graphdef, state)
        encoder, decoder = pair
        return decoder(encoder(v))
    return step(state, x)
print(make_step(nnx.Linear(3, 2, rngs=nnx.Rngs(0)), nnx.Linear(2, 3, rngs=nnx.Rngs(1))))
""",
            """\
graphdef, state = nnx.split((model, optimizer))
model, optimizer = nnx.merge(graphdef, state)
""",
            "graphdef, params, others = nnx.split(model, nnx.Param, ...)\n",
            "graphdef, params, batch_stats, rest = nnx.split(model, nnx.Param, nnx.BatchStat, ...)\n",
            "graphdef, state = nnx.split(model)\nnet = nnx.merge(graphdef, state)\n",
            "graphdef, trainable, frozen = nnx.split(model, nnx.Param, ...)\n",
            "_, rest, params = nnx.split(model, nnx.Not(nnx.Param), ...)\n",
        ),
    ),
    "NNX814": Cases(
        bad=(
            """\
@nnx.jit
def evaluate(model, x):
    model.eval()  # NNX814
    return model(x)
""",
            """\
@jax.jit
def step(model, x):
    model.train()  # NNX814
    return x
""",
            """\
def evaluate(net, x):
    net.eval()  # NNX814
    return net(x)
fast = nnx.jit(evaluate)
""",
            """\
def quiet(net: nnx.Module, x):
    net.eval()  # NNX814
    return net(x)
@nnx.jit
def evaluate(model, x):
    return quiet(model, x)
""",
        ),
        clean=(
            """\
@nnx.jit
def predict(model, x):
    return model(x)
model.eval()
predict(model, x)
model.train()
""",
            """\
def evaluate(model, x):
    model.eval()
    return model(x)
""",
            """\
@jax.jit
def predict(graphdef, state, x):
    net = nnx.merge(graphdef, state)
    net.eval()
    return net(x)
""",
            """\
class Table:
    def eval(self, text="a + b"):
        return text
@jax.jit
def parse(x):
    Table().eval()
    return x
parse(x)
""",
            """\
def quiet(net: nnx.Module, x):
    net.eval()
    return net(x)
@jax.jit
def evaluate(graphdef, state, x):
    return quiet(nnx.merge(graphdef, state), x)
""",
        ),
    ),
    "NNX816": Cases(
        bad=(
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.bn = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, y):
        return self.bn(y)
@jax.jit  # NNX816
def calibrate(net, y):
    return net(y).mean()
encoder = Encoder(nnx.Rngs(0))
encoder.train()
for _ in range(3):
    calibrate(encoder, jnp.ones((4, 3)))
encoder.eval()
print(encoder(jnp.ones((4, 3))))
""",
            """\
def make_step(compiler):
    def step(net, opt, v):
        grads = nnx.grad(lambda m: m(v).sum())(net)
        opt.update(net, grads)
    return compiler(step)  # NNX816
step = make_step(jax.jit)
step(model, optimizer, x)
""",
            """\
def make_step(loss, jit=jax.jit):
    @jit  # NNX816
    def step(net, opt, v):
        grads = nnx.grad(loss)(net, v)
        opt.update(net, grads)
    return step
step = make_step(lambda m, v: m(v).sum())
step(model, optimizer, x)
""",
            """\
def compiled(f):
    return jax.jit(f)  # NNX816
def step(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
fast = compiled(step)
fast(model, optimizer, x)
""",
            """\
class Trainer:
    def __init__(self, net, opt, compiler):
        self.net, self.opt = net, opt
        def step(net, opt, v):
            grads = nnx.grad(lambda m: m(v).sum())(net)
            opt.update(net, grads)
        self.step = compiler(step)  # NNX816
trainer = Trainer(model, optimizer, compiler=partial(jax.jit, donate_argnums=(2,)))
trainer.step(trainer.net, trainer.opt, x)
""",
            """\
def make_step(compiler):
    def step(net, opt, v):
        grads = nnx.grad(lambda m: m(v).sum())(net)
        opt.update(net, grads)
    return compiler(step)  # NNX816
slow = True
step = make_step(jax.jit if slow else nnx.jit)
step(model, optimizer, x)
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
def take(scale, v):
    scale.note(v)
    return scale(v)
def skip(scale, v):
    return scale(v)
@nnx.jit
def process(scale, v):
    return jax.lax.cond(v.sum() > 0, take, skip, scale, v)  # NNX816
process(scale, x)
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
def take(scale, v):
    scale.note(v)
    return v
@nnx.jit
def process(scale, i, v):
    return jax.lax.switch(i, [take, lambda scale, v: -v], scale, v)  # NNX816
process(scale, 1, x)
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
def noted(scale, v):
    scale.note(v)
    return v * 2
print(jax.vmap(noted, in_axes=(None, 0))(scale, jnp.ones((4, 3))))  # NNX816
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
def run(counting, v):
    return counting(v)
fast = jax.jit(run)  # NNX816
print(fast(counting, x))
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
@jax.jit  # NNX816
def observed(scale, v):
    scale.peak.value = jnp.abs(v).max()
    return v / scale.peak.value
print(observed(scale, x))
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
block = jax.checkpoint(lambda counting, v: counting(v) * 2)  # NNX816
def loss(counting, v):
    return block(counting, v).sum()
print(loss(counting, x))
""",
            """\
@jax.jit  # NNX816
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
""",
            """\
def step(net, opt, x):
    loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(net)
    opt.update(net, grads)
    return loss
fast = jax.jit(step)  # NNX816
""",
            """\
@partial(jax.jit, static_argnames="n")  # NNX816
def step(model, metrics: nnx.MultiMetric, x, n):
    metrics.update(loss=model(x).sum() * n)
""",
            """\
@jax.jit  # NNX816
def step(norm: nnx.BatchNorm, x):
    return norm(x)
""",
            """\
def apply(opt, net, grads):
    opt.update(net, grads)
@jax.jit  # NNX816
def step(model, optimizer: nnx.Optimizer, x):
    grads = nnx.grad(lambda m: m(x).sum())(model)
    apply(optimizer, model, grads)
""",
        ),
        clean=(
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.bn = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, y):
        return self.bn(y)
@jax.jit
def measure(net, y):
    return net(y).mean()
encoder = Encoder(nnx.Rngs(0))
encoder.train()
print(encoder(jnp.ones((4, 3))))
encoder.eval()
print(measure(encoder, jnp.ones((4, 3))))
""",
            """\
def make_step(compiler):
    def step(net, opt, v):
        grads = nnx.grad(lambda m: m(v).sum())(net)
        opt.update(net, grads)
    return compiler(step)
step = make_step(nnx.jit)
step(model, optimizer, x)
""",
            """\
def make_step(compiler):
    def step(net, opt, v):
        grads = nnx.grad(lambda m: m(v).sum())(net)
        opt.update(net, grads)
        return net, opt
    return compiler(step)
step = make_step(jax.jit)
model, optimizer = step(model, optimizer, x)
""",
            """\
def make(compiler, loss):
    def evaluate(net, v):
        return loss(net, v)
    return compiler(evaluate)
print(make(jax.jit, lambda m, v: m(v).sum())(model, x))
""",
            """\
def make_step(jit=nnx.jit):
    @jit
    def step(net, opt, v):
        grads = nnx.grad(lambda m: m(v).sum())(net)
        opt.update(net, grads)
    return step
make_step()(model, optimizer, x)
""",
            """\
def logged(f):
    print(f.__name__)
    return f
def make_step(compiler):
    def step(net, opt, v):
        grads = nnx.grad(lambda m: m(v).sum())(net)
        opt.update(net, grads)
    return compiler(step)
step = nnx.jit(make_step(logged))
step(model, optimizer, x)
total = jax.jit(jnp.sum)(x)
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
def take(scale, v):
    scale.note(v)
    return scale(v)
def skip(scale, v):
    return scale(v)
@nnx.jit
def process(scale, v):
    return nnx.cond(v.sum() > 0, take, skip, scale, v)
process(scale, x)
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
def take(scale, v):
    scale.note(v)
    return scale, scale(v)
def skip(scale, v):
    return scale, scale(v)
@jax.jit
def process(scale, v):
    return jax.lax.cond(v.sum() > 0, take, skip, scale, v)
scale, result = process(scale, x)
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
def both(scale, v):
    return scale(v) * 2
print(jax.vmap(both, in_axes=(None, 0))(scale, jnp.ones((4, 3))))
print(jax.jit(both)(scale, x), jax.checkpoint(both)(scale, x), jax.lax.cond(True, both, both, scale, x))
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
def read(scale, v):
    copy = nnx.clone(scale)
    copy.note(v)
    return copy(v)
print(jax.jit(read)(scale, x))
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
class Log:
    def note(self, v):
        return v.sum()
def total(log, v):
    return log.note(v)
print(jax.jit(total, static_argnums=0)(Log(), x))
""",
            """\
class Tally(nnx.Variable):
    pass
class Scale(nnx.Module):
    def __init__(self):
        self.peak = Tally(jnp.ones(()))
        self.seen = nnx.Variable(jnp.zeros((), int))
    def note(self, v):
        self.peak.value = jnp.maximum(self.peak.value, jnp.abs(v).max())
        self.seen.value = self.seen.value + 1
    def __call__(self, v):
        return v / self.peak.value
class Counting(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros((), int))
    def __call__(self, v):
        self.calls.value = self.calls.value + 1
        return v
scale, counting = Scale(), Counting()
class Pure(nnx.Module):
    def note(self, v):
        w = jnp.zeros(3)
        return w.at[0].set(v.sum())
def total(pure, v):
    return pure.note(v)
print(jax.jit(total)(Pure(), x), jax.vmap(total, in_axes=(None, 0))(Pure(), jnp.ones((2, 3))))
""",
            """\
@nnx.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
""",
            """\
@jax.jit
def step(model, optimizer, x):
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
    return model, optimizer
""",
            """\
tx = optax.sgd(0.1)
@jax.jit
def step(params, opt_state, x):
    grads = jax.grad(lambda p: (p * x).sum())(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state
""",
            """\
@jax.jit
def predict(model, x):
    return model(x)
""",
            """\
@jax.jit
def merge(table, other):
    table.update(other)
    return table
""",
            """\
@jax.jit
def predict(norm: nnx.BatchNorm, x):
    return norm(x, use_running_average=True)
""",
        ),
    ),
    "NNX817": Cases(
        bad=(
            """\
def made():
    rngs = nnx.Rngs(0)
    return nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.Dropout(0.5, rngs=rngs))
def objective(v, model):
    return jnp.sum(model(v))
gradient = jax.grad(objective, argnums=1)  # NNX817
net = made()
print(gradient(x, net))
""",
            """\
net = nnx.Sequential(model, nnx.Dropout(0.5, rngs=nnx.Rngs(0)))
grads = jax.grad(lambda m: m(x).sum())(net)  # NNX817
""",
            """\
def loss(m, x):
    return m(x).sum()
net = nnx.Sequential(model, nnx.Dropout(0.5, rngs=nnx.Rngs(0)))
grad = jax.value_and_grad(loss)  # NNX817
loss_value, grads = grad(net, x)
""",
            """\
from jax import grad as derive
@nnx.jit
def step(model: nnx.Module, x):
    return derive(lambda m: m(x).sum())(model)  # NNX817
""",
        ),
        clean=(
            """\
def made():
    rngs = nnx.Rngs(0)
    return nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.LayerNorm(3, rngs=rngs))
def objective(model, v):
    return jnp.sum(model(v))
gradient = jax.grad(objective, argnums=1)
net = made()
print(gradient(net, x))
""",
            "grads = nnx.grad(lambda m: m(x).sum())(model)\n",
            """\
def loss(v):
    return jax.jit(lambda m: m(v).sum())
value, grads = jax.value_and_grad(loss(x))(model)
optimizer.update(model, grads)
""",
            "grads = jax.grad(lambda v: model(v).sum())(x)\n",
            """\
graphdef, params, rest = nnx.split(model, nnx.Param, ...)
grads = jax.grad(lambda p: nnx.merge(graphdef, p, rest)(x).sum())(params)
""",
            "grads = jax.grad(lambda v, m: m(v).sum())(x, model)\n",
        ),
    ),
    "NNX818": Cases(
        bad=(
            """\
@nnx.jit
def train_step(model, optimizer, v):
    loss, grads = nnx.value_and_grad(lambda m: m(v).mean())(model)
    optimizer.update(model, grads)
    return loss
def fit(batches):
    best = {"loss": float("inf"), "state": None}
    for batch in batches:
        loss = train_step(model, optimizer, batch)  # NNX901
        if loss < best["loss"]:
            best["loss"] = loss
            best["state"] = nnx.state(model)  # NNX818
    nnx.update(model, best["state"])
""",
            """\
class Stopper:
    def __init__(self):
        self.lowest, self.count = None, 0
        self.weights = None
    def step(self, loss, model):
        if self.lowest is None or loss < self.lowest:
            self.lowest, self.count = loss, 0
            self.weights = nnx.state(model, nnx.Param)  # NNX818
        else:
            self.count += 1
stopper = Stopper()
stopper.step(1.0, model)
nnx.update(model, stopper.weights)
""",
            """\
class Keeper:
    def __init__(self):
        self.least, self.state = float("inf"), None
    def offer(self, loss, model: nnx.Module):
        if loss < self.least:
            self.least = loss
            self.state = nnx.state(model, nnx.Param)  # NNX818
keeper = Keeper()
keeper.offer(1.0, model)
nnx.update(model, keeper.state)
""",
            """\
class Trainer:
    def __init__(self, model: nnx.Module):
        self.model = model
        self.best = nnx.state(model)  # NNX818
    def better(self, best, loss):
        return nnx.state(self.model) if loss < 1 else best
    def fit(self, loss):
        self.best = self.better(self.best, loss)
    def back(self):
        nnx.update(self.model, self.best)
Trainer(model).back()
""",
            "best_state = nnx.state(model)  # NNX818\n",
            """\
def train(model: nnx.Module):
    initial_params = nnx.state(model, nnx.Param)  # NNX818
    return model
""",
            """\
from flax.nnx import state
backup = state(model)  # NNX818
""",
        ),
        clean=(
            """\
def fit(v):
    best = {"loss": float("inf"), "state": None}
    best["state"] = nnx.clone(nnx.state(model))
    optimizer.update(model, nnx.grad(lambda m: m(v).mean())(model))
    nnx.update(model, best["state"])
fit(x)
""",
            """\
class Keeper:
    def __init__(self):
        self.least, self.state = float("inf"), None
    def offer(self, loss, model: nnx.Module):
        if loss < self.least:
            self.least = loss
            self.state = nnx.clone(nnx.state(model, nnx.Param))
keeper = Keeper()
keeper.offer(1.0, model)
nnx.update(model, keeper.state)
""",
            """\
class Holder:
    def __init__(self, model: nnx.Module):
        self.state = nnx.state(model)
    def step(self, state):
        self.state = jax.tree.map(lambda v: v * 2, state)
holder = Holder(model)
holder.step(holder.state)
nnx.update(model, holder.state)
""",
            "best_state = nnx.clone(nnx.state(model))\n",
            "state = nnx.state(model)\n",
            "best_state = jax.tree.map(jnp.copy, nnx.state(model))\n",
            "params = nnx.state(model, nnx.Param)\ncount = sum(p.size for p in jax.tree.leaves(params))\n",
            """\
class Hybrid:
    def __init__(self, model):
        self.model = model
        self.tx = optax.sgd(0.1)
        self.graph, self.params = nnx.split(model, nnx.Param)
        self.state = self.tx.init(self.params)
    def step(self, grads):
        updates, self.state = self.tx.update(grads, self.state, self.params)
        self.params = optax.apply_updates(self.params, updates)
        nnx.update(self.model, self.params)
y = Hybrid(model)
""",
            """\
class Compiled:
    def __init__(self, model):
        self.model = model
        self.graph, self.params, self.rest = nnx.split(model, nnx.Param, ...)
        self._step = jax.jit(self._make_step())
    def _make_step(self):
        def step(params, rest, v):
            grads = jax.grad(lambda p: nnx.merge(self.graph, p, rest)(v).mean())(params)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), 0.0
        return step
    def fit(self, v, epochs):
        for _ in range(epochs):
            self.params, loss = self._step(self.params, self.rest, v)
        nnx.update(self.model, self.params)
y = Compiled(model)
y.fit(x, 2)
""",
            """\
@jax.jit
def step(params, v):
    return jax.tree.map(lambda p: p * 0.9, params)
class Apart:
    def __init__(self, model: nnx.Module):
        self.model = model
        self.graph, self.params = nnx.split(model)
    def sync(self):
        nnx.update(self.model, self.params)
    def fit(self, batches):
        params = self.params
        for batch in batches:
            params = step(params, batch)
        self.params = params
y = Apart(model)
y.fit([x])
y.sync()
""",
            """\
class Handed:
    def __init__(self, model: nnx.Module):
        self.model = model
        self.graph, self.params = nnx.split(model)
    def run(self, trained):
        for one in trained:
            self.params = one["params"]
        nnx.update(self.model, self.params)
y = Handed(model)
y.run([{"params": jax.tree.map(lambda p: p * 0.9, nnx.state(model))}])
""",
        ),
    ),
}

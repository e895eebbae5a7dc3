"""Code that is right and slow."""

from __future__ import annotations

from tests.lint.tables import Cases

_STEP = """\
@nnx.jit
def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
    return loss

"""
_PURE = """\
graphdef, state = nnx.split((model, optimizer))

@partial(jax.jit, donate_argnums=0)
def step(state, x):
    model, optimizer = nnx.merge(graphdef, state)
    loss, grads = nnx.value_and_grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)
    return nnx.state((model, optimizer)), loss

"""
_EVALUATE = """\
@nnx.jit
def evaluate(m, v):
    return m(v).sum()

"""
# nothing that a loop could bind once
_COLD = (
    _STEP + "step(model, optimizer, x)\n",
    _PURE + "for batch in batches:\n    state, loss = step(state, batch)\n",
    _STEP + "fast = nnx.cached_partial(step, model, optimizer)\nfor batch in batches:\n    fast(batch)\n",
    """\
@jax.jit
def double(x):
    return x * 2
for batch in batches:
    double(batch)
""",
    """\
for depth in range(3):
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(depth))
    print(net)
""",
)

_DESCENT = """\
@partial(jax.jit, static_argnames="rate")
def descend(w, rate):
    return w - rate * w
"""

CASES = {
    "NNX901": Cases(
        bad=(
            _STEP + "for batch in batches:\n    step(model, optimizer, batch)  # NNX901\n",
            """\
predict = nnx.jit(lambda m, v: m(v))
def run(net: nnx.Module, batches):
    for i in range(5_000):
        predict(net, batches[i % 2])  # NNX901
""",
            """\
from flax.nnx import jit as compiled
@partial(compiled, static_argnames="n")
def step(model, n):
    return model(x) * n
for i in range(900):
    step(model, n=3)  # NNX901
""",
            """\
class Trainer:
    def __init__(self, model: nnx.Module):
        self.model = model
    def fit(self, batches):
        predict = nnx.jit(lambda m, v: m(v))
        for i in range(0, 2_000, 2):
            predict(self.model, batches[0])  # NNX901
""",
            _EVALUATE
            + _STEP
            + """\
for i, batch in enumerate(batches):
    if i % 100 == 0:
        print(evaluate(model, batch))
    else:
        step(model, optimizer, batch)  # NNX901
""",
            _EVALUATE
            + """\
for i in range(900):
    if i % 4 == 0:
        for batch in batches:
            evaluate(model, batch)  # NNX901
""",
        ),
        clean=(
            _STEP + "step(model, optimizer, x)\n",
            _STEP + "for seed in range(5):\n    step(model, optimizer, x)\n",
            """\
predict = nnx.jit(lambda m, v: m(v))
def run(net: nnx.Module, batches):
    while batches:
        predict(net, batches.pop())
""",
            """\
class Wide(nnx.Module):
    def __init__(self, width, rngs):
        self.inner = nnx.Linear(3, width, rngs=rngs)
    def __call__(self, x):
        return self.inner(x)
wide = Wide(4096, nnx.Rngs(0))
predict = nnx.jit(lambda m, v: m(v))
for batch in batches:
    predict(wide, batch)
""",
            _PURE + "for batch in batches:\n    state, loss = step(state, batch)\n",
            _STEP + "fast = nnx.cached_partial(step, model, optimizer)\nfor batch in batches:\n    fast(batch)\n",
            """\
@jax.jit
def double(x):
    return x * 2
for batch in batches:
    double(batch)
""",
            _STEP + "def test_step():\n    for batch in batches:\n        step(model, optimizer, batch)\n",
            _EVALUATE + "for i in range(9):\n    if i % 4 == 0:\n        print(evaluate(model, x))\n",
            _EVALUATE + "for i in range(9):\n    if not i % 4 or i == 8:\n        print(evaluate(model, x))\n",
        ),
    ),
    "NNX902": Cases(
        bad=(
            """\
@nnx.jit  # NNX902
def double(x):
    return x * 2
double(x)
""",
            """\
from flax.nnx import jit as compiled
f = compiled(lambda a, b: a + b)  # NNX902
f(x, x)
""",
            """\
@partial(nnx.jit, static_argnames="n")  # NNX902
def power(x, n):
    return x**n
power(x, 2)
""",
        ),
        clean=(
            # jax.jit gives another object
            """\
@nnx.jit
def double(v):
    return v * 2
print(double.lower(x).lowered.as_text()[:6])
double(x)
""",
            """\
@nnx.jit
def predict(model, x):
    return model(x)
predict(model, x)
""",
            """\
@jax.jit
def double(x):
    return x * 2
double(x)
""",
            """\
@nnx.jit
def unknown(x):
    return x * 2
""",
            """\
@nnx.jit
def draw(rngs, x):
    return x + jax.random.normal(rngs.noise(), x.shape)
draw(nnx.Rngs(0), x)
""",
            """\
@nnx.jit
def build(n):
    return nnx.Linear(3, 3, rngs=nnx.Rngs(0))
build(jnp.ones(3))
""",
        ),
    ),
    "NNX903": Cases(
        bad=(
            """\
def train(step, scale, v):
    done = False
    for i in range(20):
        if i > 3 and not done:
            run = jax.jit(partial(step, scale))  # NNX903
            v = run(v)
    return v
y = train(lambda s, v: s * v, 0.5, x)
""",
            """\
def simulate(v, beta, dt=0.1, steps=20):
    @partial(jax.jit, static_argnums=2)  # NNX903
    def run(v, beta, steps):
        return jax.lax.fori_loop(0, steps, lambda i, v: v + beta * v * dt, v)
    return run(v, beta, steps)
for beta in jnp.linspace(0.2, 2.0, 15):
    y = simulate(x, beta)
""",
            """\
def decay(v, rate, steps=5):
    shrink = 1 - rate
    @jax.jit  # NNX903
    def run(v):
        return jax.lax.fori_loop(0, steps, lambda i, v: v * shrink, v)
    out = run(v)
    return out
for batch in batches:
    y = decay(batch, 0.3)
""",
            """\
class Model:
    def run(self, v, dt):
        @jax.jit  # NNX903
        def go(v):
            return v * dt
        return go(v)
model = Model()
for i in range(50):
    y = model.run(x + i, dt=0.1)
""",
            """\
class Solver:
    @classmethod
    def half(cls, v):
        return v * 0.5
    def step(self, v):
        return v * 0.5
    def fit(self, v):
        while v.sum() > 0.1:
            v = jax.jit(self.step)(v)  # NNX903
            v = jax.jit(self.half)(v)  # NNX903
        return v
print(Solver().fit(x))
""",
            """\
def fit(state, total, size):
    step = 0
    while step < total:
        n = min(size, total - step)
        if n == size:
            state = jax.jit(lambda state: state * 2)(state)  # NNX903
        step += n
    return state
for batch in range(1000):
    y = jax.jit(jax.vmap(jax.jit(jax.vmap(lambda v: v * 2))))(jnp.ones((2, 3)))  # NNX903
""",
            """\
def make(rate):
    @jax.jit
    def step(v):
        return v * rate
    return step
for _ in range(30):
    y = make(0.1)(x)  # NNX903
""",
            "for batch in batches:\n    y = jax.jit(lambda v: v * 2)(batch)  # NNX903\n",
            """\
def double(v):
    return v * 2
while True:
    f = nnx.jit(double)  # NNX902 NNX903
    f(x)
""",
            """\
from jax import jit as fast
def scale(v, n):
    return v * n
for batch in batches:
    y = fast(partial(scale, n=2))(batch)  # NNX903
""",
            """\
for batch in batches:
    @jax.jit  # NNX903
    def double(v):
        return v * 2
    double(batch)
""",
            """\
def double(batch):
    return jax.jit(lambda v: v * 2)(batch)  # NNX903
for batch in batches:
    double(batch)
""",
        ),
        clean=(
            """\
kept = x
for step in range(20):
    y = x + step
    if step % 10 == 0:
        kept = jax.jit(lambda tree: tree)(y)
print(kept)
""",
            """\
def evaluate(batches):
    def measure(v):
        return v.sum()
    total = 0.0
    for batch in batches:
        total += jax.jit(measure)(batch)
    return total
print(evaluate([jnp.ones(2), jnp.ones(2)]))
""",
            """\
@functools.lru_cache
def decoder(size):
    return jax.vmap(partial(jnp.add, size))
class Kept:
    def __init__(self):
        self.half = lambda v: v / 2
    def get(self, name):
        return getattr(self, name)
kept = Kept()
for _ in range(20):
    x = jax.jit(decoder(1))(x)
    x = jax.jit(kept.get("half"))(x)
print(x)
""",
            """\
import timeit
def score(theta, labels):
    return (theta[None] * labels).sum()
runtimes = []
for size in range(1, 30, 2):
    labels = jnp.ones((size, 3))
    compiled = jax.jit(jax.grad(score))
    compiled(x, labels).block_until_ready()
    runtimes.append(timeit.timeit(lambda: compiled(x, labels).block_until_ready(), number=2))
print(len(runtimes))
""",
            """\
def train(step, scale, v):
    reviewed = False
    for i in range(20):
        if i > 3 and not reviewed:
            run = jax.jit(partial(step, scale))
            reviewed = True
        v = v if not reviewed else run(v)
    return v
print(train(lambda s, v: s * v, 0.5, x))
""",
            """\
def train(step, scale, v):
    run = None
    for i in range(20):
        if run is None:
            run = jax.jit(partial(step, scale))
        v = run(v)
    return v
print(train(lambda s, v: s * v, 0.5, x))
""",
            """\
class Trainer:
    def __init__(self, step):
        self.step, self.run, self.fresh = step, None, True
    def train(self, v):
        for i in range(20):
            if self.fresh:
                self.run = jax.jit(lambda v: self.step(v))
                self.fresh = False
            v = self.run(v)
        return v
print(Trainer(lambda v: v / 2).train(x))
""",
            """\
class Model:
    def __init__(self, scale):
        self.scale = scale
    def run(self, v, dt):
        @jax.jit
        def go(v):
            return v * dt * self.scale
        return go(v)
model = Model(1.0)
for i in range(30):
    model.scale = i
    y = model.run(x, 0.1)
for model in [Model(i) for i in range(30)]:
    y = model.run(x, 0.1)
""",
            """\
def powers(v, n):
    @jax.jit
    def run(v):
        return v.sum() ** n
    return run(v)
for n in range(20):
    y = powers(x, n)
""",
            """\
@jax.jit
def outer(v, dt):
    @jax.jit
    def run(v):
        return v * dt
    return run(v)
@functools.lru_cache
def kept(n, dt):
    @jax.jit
    def run(v):
        return v * dt * n
    return run(jnp.ones(3))
for i in range(50):
    y = outer(x, 0.1), kept(i, 0.1)
""",
            """\
def sized(v, n, dt):
    size = v.shape[0] * n
    @jax.jit
    def run(v):
        return jnp.resize(v, size) * dt
    return run(v)
for i in range(20):
    y = sized(jnp.ones(i + 1), 2, 0.1)
""",
            """\
def scaled(v, config):
    @jax.jit
    def run(v):
        return v * config["dt"]
    return run(v)
rng = np.random.default_rng(0)
config = {}
for i in range(20):
    config["dt"] = i
    y = scaled(x, config), scaled(x, {"dt": rng.uniform()})
""",
            """\
def trained(v, rate, epochs):
    @jax.jit
    def step(v):
        return v - rate * v
    for _ in range(epochs):
        v = step(v)
    return v
for i in range(20):
    y = trained(x + i, 0.1, 10)
""",
            """\
def compiled(function):
    return jax.jit(function)
def squared(v):
    return v**2
def main():
    def shifted(alpha):
        return squared(x) + alpha
    for alpha in np.linspace(0, 1, 20):
        print(compiled(shifted)(alpha))
main()
""",
            """\
def fitted(solver, v):
    solve = jax.jit(jax.vmap(partial(solver, 2.0)))
    return solve(v)
def added(a, v):
    return a + v
def scaled(a, v):
    return a * v
for one in [added, scaled, lambda a, v: a - v, added] * 5:
    print(fitted(one, x))
""",
            """\
for step in range(100):
    ready = jax.pmap(lambda v: jax.lax.psum(v, "i"), "i")(jnp.ones(jax.local_device_count()))
    print(ready)
""",
            """\
def trained(epochs, phases):
    for rate in phases:
        @jax.jit
        def step(v):
            return v * 0.9
        v = x
        for _ in range(epochs):
            v = step(v)
    return v
print(trained(3, list(np.linspace(0, 1, 30))))
""",
            """\
class Solver:
    @staticmethod
    def step(v):
        return v * 0.5
    def fit(self, v):
        while v.sum() > 0.1:
            v = jax.jit(self.step)(v)
            v = jax.jit(Solver.step)(v)
        return v
print(Solver().fit(x))
""",
            """\
def fit(state, total, size):
    step = 0
    def run(state, n):
        return jax.lax.fori_loop(0, n, lambda i, v: v * 0.9, state)
    full = jax.jit(lambda state: run(state, size))
    while step < total:
        n = min(size, total - step)
        if n == size:
            state = full(state)
        else:
            state = jax.jit(lambda state, n=n: run(state, n))(state)
        step += n
    return state
print(fit(x, 10, 4))
""",
            """\
for i in range(30):
    if i == 0:
        spread = jax.jit(lambda u: u * 2)
    print(spread(jnp.ones(3)).sum())
""",
            """\
def fit(v, rate):
    @jax.jit
    def step(u):
        return u * rate
    for _ in range(3):
        v = step(v)
    return v
for rate in range(2):
    fit(x, 0.1)
""",
            "f = jax.jit(lambda v: v * 2)\nfor batch in batches:\n    f(batch)\n",
            """\
def double(v):
    return v * 2
for batch in batches:
    y = jax.jit(double)(batch)
""",
            "y = jax.jit(lambda v: v * 2)(x)\n",
            """\
for n in (1, 2):
    f = jax.jit(lambda v: v * n)
    f(x)
""",
            """\
def test_many():
    for batch in batches:
        jax.jit(lambda v: v * 2)(batch)
""",
            "fast = [jax.jit(f) for f in (jnp.sin, jnp.cos)]\n",
            """\
devices = {"cpu": jax.devices()[0]}
for label, device in devices.items():
    v = jax.device_put(x, device)
    f = jax.jit(jax.vmap(lambda u: u * 2))
    print(label, f(v))
""",
            """\
sizes = [1, 10, 100]
for n in sizes:
    v = jnp.full(n, 2.0)
    f = jax.jit(jax.vmap(jnp.sin))
    print(n, f(v).sum())
""",
            "for _ in range(3):\n    y = jax.jit(lambda v: v * 2)(x)\n",
            """\
ROUNDS = 4
def repeated(v):
    for _ in range(ROUNDS):
        v = jax.jit(lambda u: u * 2)(v)
    return v
print(repeated(x))
""",
            """\
def doubled(v):
    return jax.jit(lambda u: u * 2)(v)
for axis in range(x.ndim):
    print(doubled(x))
""",
        ),
    ),
    "NNX904": Cases(
        bad=(
            """\
for batch in batches:
    grads = nnx.grad(lambda m: m(x).sum())(model)
    optimizer.update(model, grads)  # NNX904
""",
            """\
def step(model, opt, x):
    grads = nnx.grad(lambda m: m(x).sum())(model)
    opt.update(model, grads)  # NNX904
for batch in batches:
    step(model, optimizer, batch)
""",
            """\
class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
    def fit(self, batches):
        for batch in batches:
            grads = nnx.grad(lambda m: m(batch).sum())(self.model)
            self.opt.update(self.model, grads)  # NNX904
""",
        ),
        clean=(
            _STEP + "step(model, optimizer, x)\n",
            """\
grads = nnx.grad(lambda m: m(x).sum())(model)
optimizer.update(model, grads)
""",
            _PURE + "for batch in batches:\n    state, loss = step(state, batch)\n",
            """\
@nnx.jit
def epoch(model, optimizer, xs):
    for v in xs:
        grads = nnx.grad(lambda m: m(v).sum())(model)
        optimizer.update(model, grads)
""",
            """\
table = {}
for batch in batches:
    table.update(a=batch)
""",
        ),
    ),
    "NNX905": Cases(
        bad=(
            """\
def display(image):
    print(image.shape)
@jax.jit
def step(v):
    loss, grads = jax.value_and_grad(lambda w: (w**2).sum())(v)
    return loss, v - grads
def fit(v, n):
    for i in range(n):
        loss, v = step(v)
        print(f"{loss:.4f}")  # NNX905
        if i % 10 == 0:
            display(v)
    return v
print(fit(x, 3))
""",
            _PURE + "for batch in batches:\n    state, loss = step(state, batch)\n    print(loss)  # NNX905\n",
            _PURE + "for i in range(1000):\n    state, loss = step(state, x)\n    print(i, loss)  # NNX905\n",
            _PURE
            + """\
for epoch in range(100):
    for i in range(50):
        state, loss = step(state, x)
        print(epoch, i, loss)  # NNX905
""",
            _PURE
            + """\
total = 0.0
for batch in batches:
    state, loss = step(state, batch)
    total += float(loss)  # NNX905
""",
            _PURE
            + """\
losses = []
for batch in batches:
    state, loss = step(state, batch)
    losses.append(loss.item())  # NNX905
""",
            _PURE
            + """\
for epoch in range(3):
    for batch in batches:
        state, loss = step(state, batch)
        print(f"loss {loss:.3f}")  # NNX905
""",
            _PURE
            + """\
class Bar(list):
    def set_postfix(self, **values):
        print(values)
bar = Bar(batches)
for batch in bar:
    state, loss = step(state, batch)
    bar.set_postfix(loss=loss)  # NNX905
""",
            _PURE
            + """\
losses = []
for batch in batches:
    state, loss = step(state, batch)
    losses.append(np.asarray(loss))  # NNX905
""",
            _PURE
            + """\
losses = []
for batch in batches:
    state, loss = step(state, batch)
    losses.append(loss.item())  # NNX905
    print(f"loss {loss.item():.3f}")
""",
            _PURE
            + """\
for i, batch in enumerate(batches):
    state, loss = step(state, batch)
    if i % 100 == 0:
        jax.block_until_ready(loss)
    print(float(loss))  # NNX905
""",
            _PURE
            + """\
for batch in batches:
    state, one = step(state, batch)
    state, two = step(state, batch)
    print(float(one))  # NNX905
    print(float(two))  # NNX905
""",
        ),
        clean=(
            """\
def energy(places, alive):
    return ((places - places.mean()) ** 2 * alive[:, None]).sum()
@jax.jit
def relaxed(places, alive):
    return places - 0.1 * jax.grad(energy)(places, alive)
def divided(places, alive, rng):
    free = int(np.argmin(alive))
    places, alive = places.copy(), alive.copy()
    places[free] = places[0] + rng.normal(size=2)
    alive[free] = 1.0
    return places, alive
def grown(target):
    rng = np.random.default_rng(0)
    places, alive = np.zeros((4, 2), np.float32), np.zeros(4, np.float32)
    alive[0] = 1.0
    while int(alive.sum()) < target:
        places, alive = divided(places, alive, rng)
        places = np.array(relaxed(jnp.asarray(places), jnp.asarray(alive)))
    return places
print(grown(3).shape)
""",
            """\
@jax.jit
def step(w, v):
    loss, grads = jax.value_and_grad(lambda w: ((w * v) ** 2).mean())(w)
    return w - 0.1 * grads, loss
def train_epoch(w, data):
    for v in data:
        w, loss = step(w, v)
    return w, loss
def main(epochs):
    w = x
    for epoch in range(1, epochs + 1):
        w, loss = train_epoch(w, batches)
        _, test_loss = step(w, x)
        print(epoch, loss, test_loss)
main(2)
""",
            """\
@jax.jit
def step(w, v):
    loss, grads = jax.value_and_grad(lambda w: ((w * v) ** 2).mean())(w)
    return w - 0.1 * grads, loss, jnp.abs(grads).max(), w.std()
def main(data):
    w = x
    for v in data:
        w, loss, largest, spread = step(w, v)
        print("loss=", loss, "largest=", largest, "spread=", np.mean(spread))
main(batches)
""",
            """\
def display(image):
    print(image.shape)
@jax.jit
def step(v):
    loss, grads = jax.value_and_grad(lambda w: (w**2).sum())(v)
    return loss, v - grads
def fit(v, n):
    for _ in range(n):
        loss, v = step(v)
        print(f"{loss:.4f}")
        display(np.asarray(v))
    return v
print(fit(x, 3))
""",
            _PURE
            + """\
for i, batch in enumerate(batches):
    state, loss = step(state, batch)
    if i % 100 == 0:
        print(loss)
""",
            # over before anybody notices
            _PURE + "for _ in range(3):\n    state, loss = step(state, x)\n    print(loss)\n",
            _PURE
            + """\
EXAMPLES, BATCH = 64, 8
STEPS = EXAMPLES // BATCH
for i in range(1, STEPS + 1):
    state, loss = step(state, x)
    print(f"step {i} of {STEPS}: {loss:.4f}")
""",
            _PURE
            + """\
losses = []
for batch in batches:
    state, loss = step(state, batch)
    losses.append(loss)
print(float(sum(losses)))
""",
            _PURE
            + """\
for epoch in range(3):
    for batch in batches:
        state, loss = step(state, batch)
    print(epoch, loss)
""",
            "for batch in batches:\n    print(batch)\n",
            _PURE + "for batch in batches:\n    print(batch.shape)\n    state, loss = step(state, batch)\n",
            _PURE
            + """\
losses = []
for batch in batches:
    state, loss = step(state, np.asarray(batch))
    losses.append(jnp.asarray(loss))
print(jax.device_get(losses))
""",
            _PURE
            + """\
for batch in batches:
    state, loss = step(state, batch)
print(float(loss), loss.item())
""",
            _PURE
            + """\
for batch in batches:
    start = time.perf_counter()
    state, loss = step(state, batch)
    loss.block_until_ready()
    print(float(loss), time.perf_counter() - start)
""",
            _PURE
            + """\
for batch in batches:
    state, loss = step(state, batch)
    jax.block_until_ready((state, loss))
    print(jax.device_get(loss))
""",
            _PURE
            + """\
for batch in batches:
    state, loss = step(state, batch)
    print(jax.block_until_ready(loss))
""",
        ),
    ),
    "NNX906": Cases(
        bad=(
            """\
step = jax.jit(lambda g, s, v: s)
for batch in batches:
    graphdef, state = nnx.split(model)  # NNX906
    state = step(graphdef, state, batch)
    nnx.update(model, state)
""",
            """\
from flax.nnx import split, update
step = jax.jit(lambda g, s, v: s)
def train(net, opt):
    while True:
        graphdef, state = split((net, opt))  # NNX906
        state = step(graphdef, state, x)
        update((net, opt), state)
""",
            """\
class Trainer:
    def __init__(self, model):
        self.model = model
    def fit(self, step, batches):
        for batch in batches:
            graphdef, state = nnx.split(self.model)  # NNX906
            nnx.update(self.model, step(graphdef, state, batch))
""",
        ),
        clean=(
            """\
step = jax.jit(lambda g, s, v: s)
graphdef, state = nnx.split(model)
for batch in batches:
    state = step(graphdef, state, batch)
nnx.update(model, state)
""",
            """\
for i in range(9):
    if i % 3 == 0:
        graphdef, state = nnx.split(model)
        nnx.update(model, state)
""",
            """\
for net in (model, model):
    graphdef, state = nnx.split(net)
    nnx.update(net, state)
""",
            """\
for i in range(3):
    graphdef, state = nnx.split(model)
    print(jax.tree.leaves(state))
""",
        ),
    ),
    "NNX907": Cases(
        bad=(
            """\
import time
step = jax.jit(lambda v: v * 2)
print("begin")
start = time.time()
y = step(x)
end = time.time()
print(f"{end - start} s, {1 / (end - start)} per second")  # NNX907
""",
            """\
step = jax.jit(jnp.sin)
step(x)
start = time.time()
y = step(x)
end = time.time()
print("time jit", end - start)  # NNX907
""",
            """\
f = jax.jit(lambda v: v @ v)
f(x)
# the compiled function alone
begin = time.time()
y = f(x)
seconds = time.time() - begin  # NNX907
""",
            """\
def block(v):
    return v * 2
f = jax.jit(lambda v: v @ v)
def fast(v):
    begin = time.perf_counter()
    for _ in range(100):
        y = f(v)
    return (time.perf_counter() - begin) / 100  # NNX907
print(fast(block(x)))
""",
            """\
f = jax.jit(lambda v: v @ v)
f(x)  # compiled here
results = {}
begin = time.perf_counter()
results["y"] = f(x)
seconds = time.perf_counter() - begin  # NNX907
""",
            """\
f = jax.jit(lambda v: v @ v)
names = np.array(["a", "b"])
picked = np.random.choice(names)
begin = time.perf_counter()
y = f(x)
order = np.arange(3)
seconds = time.perf_counter() - begin  # NNX907
""",
            """\
import timeit
f = jax.jit(lambda v: v @ v)
f(x).block_until_ready()
print(timeit.timeit(lambda: f(x), number=5))  # NNX907
""",
            """\
from timeit import repeat
f = jax.jit(lambda v: v @ v)
def run():
    f(x)
print(min(repeat(run, number=1, repeat=3)))  # NNX907
""",
            """\
import timeit
@jax.jit
def f(v):
    return v @ v
def squared(v):
    return f(v)
print(timeit.Timer(lambda: squared(x)).timeit(3))  # NNX907
""",
            """\
square = jax.jit(lambda v: v * v)
def bench(v):
    t0 = time.time()
    out, two = square(v), 2
    first = time.time() - t0  # NNX907
    jax.block_until_ready(out)
    return first, time.time() - t0
bench(x)
""",
            """\
square = jax.jit(lambda v: v * v)
def dispatch_time(v):
    t0 = time.time()
    out = square(v)
    sent = time.time() - t0  # NNX907
    out.block_until_ready()
    return sent
""",
            """\
f = jax.jit(lambda v: v @ v)
start = time.perf_counter()
y = f(x)
print(time.perf_counter() - start)  # NNX907
""",
            """\
@jax.jit
def f(v):
    return v @ v
def measure(v):
    begin = time.time()
    for _ in range(10):
        y = f(v)
    return time.time() - begin  # NNX907
""",
            """\
from time import perf_counter
@nnx.jit
def predict(m, v):
    return m(v)
t0 = perf_counter()
predict(model, x)
t1 = perf_counter()
elapsed = t1 - t0  # NNX907
""",
            """\
@partial(jax.jit, static_argnums=1)
def powers(m, n):
    return jax.lax.fori_loop(0, n, lambda _, v: v @ m / 2, m)
def seconds(run, *args):
    begin = time.perf_counter()
    run(*args)
    return time.perf_counter() - begin  # NNX907
print(seconds(lambda m: powers(m, 20), jnp.eye(3)))
""",
            """\
class Clock:
    def measure(self, run, *args):
        run(*args).block_until_ready()
        begin = time.perf_counter()
        result = run(*args)
        self.seconds = time.perf_counter() - begin  # NNX907
        return result
""",
            """\
def measure(run, *args):
    jax.block_until_ready(run(*args))
    begin = time.perf_counter()
    for _ in range(5):
        run(*args)
    return (time.perf_counter() - begin) / 5  # NNX907
""",
            """\
f = jax.jit(lambda v: v @ v)
def squared(v):
    scaled = v / 2
    return f(scaled)
begin = time.time()
squared(x)
print(time.time() - begin)  # NNX907
""",
        ),
        clean=(
            """\
from numpy.linalg import solve
residual = jax.jit(lambda v: v**2)
def newton(v):
    start = time.time()
    y = residual(v)
    step = solve(np.eye(3), y)
    print(time.time() - start)
    return v - step
newton(x)
from jax.scipy.linalg import solve
print(solve(jnp.eye(3), x))
""",
            """\
@jax.jit
def policy(v):
    return v * 0.5
class World:
    def __init__(self):
        self.left = 3
    def step(self, action):
        self.left -= 1
        return np.asarray(action) * 1.0, self.left == 0
def played(world, seen):
    begun, done = time.time(), False
    while not done:
        action = policy(seen)
        seen, done = world.step(action)
    return time.time() - begun
print(played(World(), x) > 0)
""",
            """\
def check_asynchronous():
    step = jax.jit(lambda v: v * 2.0)
    step(x).block_until_ready()
    start = time.perf_counter()
    step(x).block_until_ready()
    whole = time.perf_counter() - start
    # the call is asynchronous: it returns before the result is there
    start = time.perf_counter()
    result = step(x)
    sent = time.perf_counter() - start
    result.block_until_ready()
    start = time.perf_counter()
    result = step(x)
    again = time.perf_counter() - start
    result.block_until_ready()
    return whole, sent, again
print(len(check_asynchronous()))
""",
            """\
f = jax.jit(lambda v: v * 2)
def evaluated(v):
    return v.sum()
for epoch in range(2):
    begin = time.time()
    y = f(x)
    total = evaluated(y)
    print(f"{epoch} {total:.3f} ({time.time() - begin:.3f} s)")
""",
            """\
globals()["keep_on_disk"] = np.asarray
step = jax.jit(lambda v: v * 2)
step(x)
start = time.time()
y = step(x)
keep_on_disk(y)
print(time.time() - start)
""",
            """\
import time
def fetch(tree):
    def one(leaf):
        return np.asarray(leaf)
    return jax.tree.map(one, tree)
double = jax.jit(lambda v: v * 2.0)
start = time.time()
out = double(x)
out = fetch(out)
print(time.time() - start)
""",
            """\
@jax.jit
def total(v):
    return jnp.sum(v**2)
start = time.time()
print(f"{total(x):.1e} took {time.time() - start:.1f} seconds")
""",
            """\
import time
step = jax.jit(lambda v: v * 2)
print("all rows at once: compilation")

start = time.time()
y = step(x)
end = time.time()
print(f"{end - start} s")
""",
            """\
start = time.time()
y = jax.jit(jnp.sin)(x)
end = time.time()
print("time jit", end - start, y)
""",
            """\
def _block(tree):
    jax.tree.map(lambda leaf: getattr(leaf, "block_until_ready", lambda: None)(), tree)
    return tree
f = jax.jit(lambda v: v @ v)
begin = time.perf_counter()
for _ in range(3):
    out = f(x)
    _block(out)
print((time.perf_counter() - begin) / 3 > 0)
""",
            """\
def settled(tree):
    return jax.tree.map(lambda leaf: leaf.block_until_ready(), tree)
f = jax.jit(lambda v: v @ v)
def seconds(times):
    begin = time.perf_counter()
    settled(f(x))
    times.append(time.perf_counter() - begin)
    return times
print(len(seconds([])))
""",
            """\
step = jax.jit(lambda v: (v * 2, v.sum()))
means, sums, seconds = np.zeros(3), np.zeros((3, 2)), np.zeros(3)
for i in range(3):
    begin = time.time()
    moved, sums[i, 0] = step(x)
    seconds[i] = time.time() - begin
    begin = time.time()
    means[i] = step(x)[1]
    print(time.time() - begin)
""",
            """\
gradient = jax.jit(jax.grad(lambda v: (v**2).sum()))
def sensitivity(v):
    begin = time.time_ns()
    slopes = gradient(v)
    total = np.trapezoid(slopes) if hasattr(np, "trapezoid") else np.trapz(slopes)
    took = time.time_ns() - begin
    return total, took
print(sensitivity(x)[0])
""",
            """\
f = jax.jit(lambda v: v @ v)
@jax.jit
def many():
    for _ in range(3):
        f(jnp.ones(3))
begin = time.time()
many()
print("took", time.time() - begin)
""",
            """\
f = jax.jit(lambda v: v @ v)
begin = time.time()
y = f(x)
print("First run time (s): ", time.time() - begin)
begin = time.time()
y = f(jnp.ones(4))
first_call_seconds = time.time() - begin
""",
            """\
f = jax.jit(lambda v: v @ v)
compile_times = []
for n in (1, 2):
    # First call: compiled for a new shape
    begin = time.perf_counter()
    f(jnp.ones(n))
    compile_times.append((time.perf_counter() - begin) * 1000)
    # the first call of all that are cached
    begin = time.perf_counter()
    f(jnp.ones(n))
    cold = time.perf_counter() - begin
""",
            """\
import timeit
f = jax.jit(lambda v: v @ v)
def waited():
    return f(x).block_until_ready()
print(timeit.timeit(waited, number=2) > 0)
""",
            """\
import timeit
f = jax.jit(lambda v: v @ v)
print(timeit.timeit(lambda: jax.block_until_ready(f(x)), number=2) > 0)
print(timeit.timeit(lambda: float(f(x)), number=2) > 0)
""",
            """\
import timeit
print(timeit.timeit(lambda: sum(range(10)), number=2) > 0)
""",
            """\
import timeit
f = jax.jit(lambda v: v @ v)
dispatch = timeit.timeit(lambda: f(x), number=2)
print(dispatch > 0)
""",
            """\
import io
import pickle
cube = jax.jit(lambda v: v ** 3)
t0 = time.time()
for _ in range(2):
    out = cube(x)
    pickle.dump(out, io.BytesIO())
print(time.time() - t0 > 0)
""",
            """\
f = jax.jit(lambda v: v @ v)
t0 = time.time()
y = f(x).block_until_ready()
t1 = time.time()
print(t1 - t0)
""",
            """\
f = jax.jit(lambda v: v @ v)
def run(v):
    t0 = time.time()
    y = f(v)
    y.block_until_ready()
    end = time.time()
    print("done")
    return end - t0
run(x)
""",
            """\
def taken(call, wait=lambda value: value):
    wait(call())
    begun = time.perf_counter()
    wait(call())
    return time.perf_counter() - begun
@jax.jit
def f(v):
    return jnp.sin(v)
print(taken(lambda: f(x), wait=jax.block_until_ready))
""",
            """\
f = jax.jit(lambda v: v @ v)
def squared(v):
    return f(v).block_until_ready()
def logged(v):
    y = f(v)
    print(y.sum())
    return f(v + y)
def seconds(run, *args):
    begin = time.perf_counter()
    run(*args)
    return time.perf_counter() - begin
begin = time.time()
squared(x)
print(time.time() - begin)
print(seconds(lambda v: jax.block_until_ready(f(v)), x), seconds(lambda v: float(f(v).sum()), x))
begin = time.time()
logged(x)
print(time.time() - begin)
""",
            """\
def measure(run, *args):
    run(*args).block_until_ready()
    begin = time.perf_counter()
    result = run(*args)
    result.block_until_ready()
    return time.perf_counter() - begin, result
""",
            """\
def measure(run, other, *args):
    run(*args).block_until_ready()
    run = other
    begin = time.perf_counter()
    run(*args)
    return time.perf_counter() - begin
""",
            """\
def measure(run, *args):
    run(*args).block_until_ready()
    begin = time.perf_counter()
    results = [run(*args) for _ in range(3)]
    jax.block_until_ready(results)
    return time.perf_counter() - begin
""",
            """\
f = jax.jit(lambda v: v @ v)
f(x).block_until_ready()
start = time.perf_counter()
y = jax.block_until_ready(f(x))
print(time.perf_counter() - start)
""",
            """\
start = time.perf_counter()
total = sum(range(1000))
print(time.perf_counter() - start)
""",
            """\
f = jax.jit(lambda v: v.sum())
start = time.time()
y = float(f(x))
print(time.time() - start)
""",
            """\
f = jax.jit(lambda v: v.sum())
f(x)
start = time.time()
print("hello")
print(time.time() - start)
""",
        ),
    ),
    "NNX908": Cases(
        bad=(
            """\
class Config:
    def __init__(self, scale):
        self.scale = scale
@partial(jax.jit, static_argnames=("cfg",))
def scaled(v, cfg):
    return cfg.scale * v
def evaluate(rounds):
    for batch in rounds:
        x = scaled(batch, Config(scale=2.0))  # NNX908
        chosen = Config(3.0)
        x = scaled(batch, cfg=chosen)  # NNX908
    return x
evaluate(batches)
""",
            """\
import dataclasses
@dataclasses.dataclass(eq=False)
class Config:
    scale: float
scaled = jax.jit(lambda cfg, v: cfg.scale * v, static_argnums=0)
def once(v):
    return scaled(Config(2.0), v)  # NNX908
def other(v):
    return turned(lambda w: w.T, v)  # NNX908
turned = jax.jit(lambda g, v: g(v), static_argnums=0)
for i in range(9):
    once(x)
    other(x)
""",
            """\
@partial(jax.jit, static_argnums=2)
def update(params, grads, tx):
    return tx.update(grads, tx.init(params), params)[0]
for batch in batches:
    update(batch, batch, optax.sgd(0.1))  # NNX908
""",
            """\
@partial(jax.jit, static_argnames="n")
def f(x, n):
    return x * n
for i in range(10):
    f(x, n=i)  # NNX908
""",
            """\
f = jax.jit(lambda v, n: v * n, static_argnums=1)
for i, batch in enumerate(batches):
    f(batch, i)  # NNX908
""",
            """\
@partial(nnx.jit, static_argnums=1)
def step(x, epoch):
    return x * epoch
def train(x):
    for epoch in range(100):
        x = step(x, epoch)  # NNX908
    return x
""",
            "f = jax.jit(lambda g, v: g(v), static_argnums=0)\nfor i in range(9):\n"
            "    f(lambda v: v + 1, x)  # NNX908\n",
            "f = jax.jit(lambda g, v: g(v), static_argnums=0)\nfor i in range(9):\n"
            "    h = partial(jnp.add, i)\n    f(h, x)  # NNX908\n",
            _DESCENT
            + """\
class Decay:
    def __init__(self, peak):
        self.peak = peak
    def __call__(self, i):
        part = 0.5 * (1 + math.cos(math.pi * i / 100))
        return self.peak * part
rate = Decay(0.1)
for i in range(100):
    x = descend(x, rate=rate(i))  # NNX908
""",
            _DESCENT
            + """\
def warm(i, top=0.1):
    if i < 10:
        return top * i / 10
    return max(1e-4, top * 0.9**i)
def one(w, i):
    return descend(w, warm(i))  # NNX908
for i in range(100):
    x = one(x, i)
""",
            _DESCENT
            + """\
def make(top):
    return lambda i: top * math.exp(-i / 10)
falling = make(0.1)
for i in range(100):
    rate = falling(i)
    x = descend(x, rate)  # NNX908
""",
            _DESCENT
            + """\
class Trainer:
    def rate(self, i):
        return 0.1 / (1 + i)
    def fit(self, w, rate=0.5):
        for i in range(50):
            w = descend(w, self.rate(i))  # NNX908
        for _ in range(50):
            w = descend(w, rate=rate)  # NNX908
            rate *= 0.9
        return w
Trainer().fit(x)
""",
            _DESCENT
            + """\
rate = 0.1
for batch in batches:
    rate = rate * 0.9
    x = descend(x, rate)  # NNX908
for rate in np.linspace(0.1, 0.001, 50):
    x = descend(x, rate)  # NNX908
""",
            """\
@jax.jit
def rounds(net, opt, vs):
    return sum(net(v).sum() for v in vs) * opt.step[...]
def train(epochs):
    for epoch in range(epochs):
        net = nnx.Linear(3, 3, rngs=nnx.Rngs(epoch))
        opt = nnx.Optimizer(net, optax.adam(1e-3, b1=0.5), wrt=nnx.Param)  # NNX908
        rounds(net, opt, batches)
""",
            """\
@jax.jit
def rounds(net, opt, vs):
    return sum(net(v).sum() for v in vs) * opt.step[...]
def folds(number):
    results = []
    for fold in range(number):
        net = nnx.Linear(3, 3, rngs=nnx.Rngs(fold))
        tx = optax.chain(optax.clip(1.0), optax.adamw(1e-3))  # NNX908
        opt = nnx.Optimizer(net, tx, wrt=nnx.Param)
        rounds(net, opt=opt, vs=batches)
        results.append(net)
    return results
""",
            """\
@partial(jax.jit, static_argnames="dt")
def euler(v, dt):
    k = jnp.stack([v[1], -v[0], v[2]])
    after = v + dt * k
    return after, jnp.max(jnp.abs(k - after))
def integrate(v, dt=0.1, tol=1e-3):
    t = 0.0
    while t < 1.0:
        after, error = euler(v, dt)  # NNX908
        if error < tol:
            t, v = t + dt, after
        dt = min(0.5, 0.9 * dt * (tol / float(error)) ** 0.5)
    return v
""",
        ),
        clean=(
            """\
class Config:
    def __init__(self, scale):
        self.scale = scale
@partial(jax.jit, static_argnames="cfg")
def scaled(v, cfg):
    return cfg.scale * v
kept = {}
def once(v):
    if "first" not in kept:
        kept["first"] = scaled(v, Config(2.0))
    return kept["first"] + v
for i in range(9):
    once(x)
""",
            """\
import dataclasses
import enum
import typing
class Config:
    def __init__(self, scale):
        self.scale = scale
class Equal(Config):
    def __eq__(self, other):
        return self.scale == other.scale
    def __hash__(self):
        return hash(self.scale)
@dataclasses.dataclass(frozen=True)
class Frozen:
    scale: float
class Named(typing.NamedTuple):
    scale: float
class Mode(enum.Enum):
    ON = 1
@partial(jax.jit, static_argnames="cfg")
def scaled(v, cfg):
    return v * 2
one = Config(1.0)
for batch in batches:
    scaled(batch, one)
    scaled(batch, Equal(1.0))
    scaled(batch, Frozen(1.0))
    scaled(batch, Named(1.0))
    scaled(batch, Mode(1))
""",
            """\
class Config:
    def __init__(self, scale):
        self.scale = scale
class Single:
    made = None
    def __new__(cls):
        cls.made = cls.made or object.__new__(cls)
        return cls.made
@partial(jax.jit, static_argnames="cfg")
def scaled(v, cfg):
    return v * 2
def once(v):
    return scaled(v, Config(1.0))
@functools.lru_cache
def kept():
    return scaled(x, Config(1.0))
once(x)
for batch in batches:
    scaled(batch, Single())
    kept()
for scale in (1.0, 2.0):
    scaled(x, Config(scale))
""",
            """\
class Layer:
    def __init__(self):
        self.w = 2.0
    def __call__(self, v):
        return self.w * v
    def all(self, vs):
        return [applied(self.__call__, v) for v in vs]
@partial(jax.jit, static_argnums=0)
def applied(f, v):
    return f(v)
layer = Layer()
for batch in batches:
    applied(layer.__call__, batch)
layer.all(batches)
""",
            """\
class Config:
    def __init__(self, scale):
        self.scale = scale
def scaled(v, cfg):
    return cfg.scale * v
compiled = jax.jit(scaled, static_argnames="cfg")
@jax.jit
def several(vs):
    return [compiled(v, Config(2.0)) for v in vs]
for batch in batches:
    scaled(batch, Config(1.0))
    several(batches)
""",
            """\
@jax.jit
def rounds(net, opt, vs):
    return sum(net(v).sum() for v in vs) * opt.step[...]
def train(epochs):
    tx = optax.adam(1e-3, b1=0.5)
    for epoch in range(epochs):
        net = nnx.Linear(3, 3, rngs=nnx.Rngs(epoch))
        opt = nnx.Optimizer(net, tx, wrt=nnx.Param)
        rounds(net, opt, batches)
""",
            """\
@jax.jit
def rounds(net, opt, vs):
    return sum(net(v).sum() for v in vs) * opt.step[...]
def folds(number):
    results = []
    for fold in range(number):
        net = nnx.Linear(3, 3, rngs=nnx.Rngs(fold))
        tx = optax.chain(optax.clip(1.0), optax.adamw(10.0 ** -fold))
        opt = nnx.Optimizer(net, tx, wrt=nnx.Param)
        rounds(net, opt=opt, vs=batches)
        results.append(net)
    return results
""",
            """\
@jax.jit
def rounds(net, opt, vs):
    return sum(net(v).sum() for v in vs) * opt.step[...]
def train(epochs):
    for epoch in range(3):
        net = nnx.Linear(3, 3, rngs=nnx.Rngs(epoch))
        opt = nnx.Optimizer(net, optax.adam(1e-3, b1=0.5), wrt=nnx.Param)
        rounds(net, opt, batches)
""",
            """\
@jax.jit
def rounds(net, opt, vs):
    return sum(net(v).sum() for v in vs) * opt.step[...]
def folds(number):
    results = []
    for fold in (1, 2, 3):
        net = nnx.Linear(3, 3, rngs=nnx.Rngs(fold))
        tx = optax.chain(optax.clip(1.0), optax.adamw(1e-3))
        opt = nnx.Optimizer(net, tx, wrt=nnx.Param)
        rounds(net, opt=opt, vs=batches)
        results.append(net)
    return results
""",
            """\
@jax.jit
def rounds(net, opt, vs):
    return sum(net(v).sum() for v in vs) * opt.step[...]
def sweep(rates):
    for rate in rates:
        net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        opt = nnx.Optimizer(net, optax.sgd(rate), wrt=nnx.Param)
        rounds(net, opt, batches)
sweep([0.1, 0.2])
""",
            _DESCENT
            + """\
def stairs(i):
    return 0.1 * 0.5 ** (i // 10)
def two(i):
    return 0.1 if i < 10 else 0.01
def late(i):
    rate = 0.1
    if i > 10:
        rate = rate / 10
    return rate
for i in range(30):
    x = descend(descend(descend(x, stairs(i)), two(i)), late(i))
""",
            _DESCENT
            + """\
rate = 0.1
for i in range(30):
    if i % 10 == 9:
        rate = rate * 0.5
    x = descend(x, rate)
""",
            _DESCENT
            + """\
def rounded(i):
    return round(0.1 / (1 + i), 1)
def kind(i):
    return min(i, 2)
for i in range(30):
    x = descend(descend(x, rounded(i)), kind(i))
""",
            """\
@partial(jax.jit, static_argnames="exact")
def descend(w, rate, exact):
    return w - rate * w
def rate(i):
    return 0.1 * math.exp(-i / 10)
for i in range(30):
    x = descend(x, rate(i), exact=True)
""",
            """\
@partial(jax.jit, static_argnums=1)
def grown(w, n):
    return jnp.zeros(n).at[0].set(w.sum())
def compare(w, n):
    return grown(w, n)
for i in range(1, 6):
    compare(x, 2**i)
""",
            """\
@partial(jax.jit, static_argnames="n")
def f(x, n):
    return x * n
for i in range(10):
    f(x, n=3)
""",
            """\
@jax.jit
def f(x, n):
    return x * n
for i in range(10):
    f(x, i)
""",
            """\
@partial(jax.jit, static_argnames="mode")
def f(x, mode):
    return x
for mode in ("train", "test"):
    f(x, mode="train")
""",
            """\
@partial(jax.jit, static_argnums=1)
def f(x, n):
    return x * n
f(x, 1)
f(x, 2)
""",
            "f = jax.jit(lambda g, v: g(v), static_argnums=0)\nh = partial(jnp.add, 1)\n"
            "for i in range(9):\n    f(h, x)\n",
            "f = jax.jit(lambda g, v: g(v), static_argnums=0)\nfor act in (jnp.sin, jnp.cos):\n    f(act, x)\n",
            """\
@partial(jax.jit, static_argnames="axis")
def difference(v, axis):
    return jnp.roll(v, -1, axis=axis) - v
def divergence(v):
    return sum(difference(v, axis) for axis in range(v.ndim))
def slopes(v, n):
    out = []
    for axis in range(n):
        out.append(difference(v, axis))
    return out
print(divergence(x), slopes(x, 1))
""",
            """\
@partial(jax.jit, static_argnames="index")
def mirrored(v, index):
    return v.at[index].set(v[-index - 1])
@partial(jax.jit, static_argnames="cells")
def padded(v, cells):
    for i in range(cells):
        v = mirrored(v, i)
    return v
print(padded(x, 2))
""",
            """\
def powers(n):
    return jnp.arange(1, n + 1)
def weighted(n, v):
    return n * v.sum() + jnp.log(powers(n)).sum()
@partial(jax.jit, static_argnames=["n"])
def amplitude(n, v, delta):
    return jnp.exp(-delta**2 * n) * weighted(n, v)
def state(v, dim):
    return jnp.array([amplitude(n, v, 0.1) for n in range(1, dim)])
def listed(v, dim):
    out = []
    for n in range(1, dim):
        out.append(amplitude(n, v, 0.1))
    return out
print(state(x, 20), listed(x, 20))
""",
            """\
@partial(jax.jit, static_argnames="order")
def series(v, order):
    total = v
    for k in range(order):
        total = total + v**k
    return total
for order in range(12):
    print(series(x, order).sum())
""",
            """\
@partial(jax.jit, static_argnames="epoch")
def step(v, epoch):
    if epoch < 5:
        return v
    return v * 0.9
for epoch in range(12):
    x = step(x, epoch)
""",
            """\
WEIGHTS = [0.1, 0.2, 0.3]
@partial(jax.jit, static_argnames="i")
def weighted(v, i):
    return v * WEIGHTS[i % 3]
for i in range(12):
    x = weighted(x, i)
""",
            """\
@partial(jax.jit, static_argnames="n")
def scaled(v, n):
    return v * n
for n in range(4):
    print(scaled(x, n))
""",
            """\
@jax.jit
def euler(v, dt):
    k = jnp.stack([v[1], -v[0], v[2]])
    return v + dt * k, jnp.max(jnp.abs(dt * dt * k))
def integrate(v, dt=0.1, tol=1e-1):
    t = 0.0
    while t < 1.0:
        after, error = euler(v, dt)
        t, v = t + dt, after
        dt = min(0.5, 0.9 * dt * (tol / max(1e-6, float(error))) ** 0.5)
    return v
print(integrate(x))
""",
        ),
    ),
    "NNX909": Cases(
        bad=(
            """\
def large(v, w):
    total = v + w
    for i in range(200):  # NNX909
        total = v + w + total
    return total
fast = jax.jit(large)
print(fast.lower(x, x).as_text(), fast(x, x))
""",
            """\
@jax.jit
def f(x):
    for i in range(100):  # NNX909
        x = x * 2
    return x
""",
            """\
N = 64
def repeat(v):
    for i in range(N):  # NNX909
        v = jnp.sin(v)
    return v
fast = nnx.jit(lambda v: repeat(v))
""",
            """\
@partial(jax.jit, static_argnames="n")
def f(x, n):
    for i in range(0, 1000, 2):  # NNX909
        x = x + n
    return x
""",
        ),
        clean=(
            """\
@jax.jit
def slow_block(v):
    for i in range(100):
        v = v + 5 / v
    return v
@jax.jit
def block_unrolled(v):
    for i in range(70):
        v = v * 0.5 + 1.0
    return v
print(slow_block(x), block_unrolled(x))
""",
            """\
@jax.jit
def busy(v):
    for _ in range(100):
        _ = (v - v.mean()) / v.std()
    return v * 2.0
print(busy(x))
""",
            """\
def large(v, w):
    total = v + w
    for i in range(200):
        total = v + w + total
    return total
lowered = jax.jit(large).lower(x, x)
print(len(lowered.as_text()) > 1000)
""",
            """\
@jax.jit
def f(x):
    for i in range(4):
        x = x * 2
    return x
""",
            """\
def f(x):
    for i in range(100):
        x = x * 2
    return x
f(x)
""",
            """\
@jax.jit
def f(x):
    return jax.lax.fori_loop(0, 100, lambda i, c: c * 2, x)
""",
            """\
@jax.jit
def f(x):
    table = []
    for i in range(500):
        table.append(i * i)
    return x * sum(table)
""",
            """\
step = jax.jit(lambda v: v * 2)
for i in range(100):
    x = step(x)
""",
        ),
    ),
    "NNX910": Cases(
        bad=(
            """\
@jax.jit  # NNX910
def step(state, x):
    state = state + x
    return state, x
""",
            """\
def step(graphdef, state, x):
    return state, x
fast = jax.jit(step, static_argnums=0)  # NNX910
""",
            """\
@partial(jax.jit, static_argnames="n")  # NNX910
def step(state, n):
    return state * n
""".replace("state * n", "(state, n)"),
        ),
        clean=(
            """\
@partial(jax.jit, donate_argnums=0)
def step(state, x):
    return state, x
""",
            """\
@jax.jit
def predict(state, x):
    return x * 2
""",
            """\
@partial(jax.jit, donate_argnames="state")
def step(state, x):
    return state, x
""",
            """\
def step(state, x):
    return state, x
""",
        ),
    ),
    "NNX911": Cases(
        bad=(
            """\
from torch.utils.data import DataLoader
loader = DataLoader(data, batch_size=32)  # NNX911
""".replace("data,", "[1, 2, 3],"),
            "def load(ds):\n    return ds.shuffle(9).batch(32)  # NNX911\n",
            """\
from torch.utils import data
def load(items):
    return data.DataLoader(items, 32, shuffle=True)  # NNX911
""",
        ),
        clean=(
            """\
class DataLoader(list):
    def __init__(self, data, batch_size, drop_last):
        super().__init__(data[:batch_size])
loader = DataLoader([1, 2, 3], batch_size=32, drop_last=True)
""",
            "def load(ds):\n    return ds.batch(32, drop_remainder=True)\n",
            "def load(ds):\n    return ds.batch(32, True)\n",
            "class Queue:\n    def batch(self):\n        return 1\nn = Queue().batch()\n",
        ),
    ),
    "NNX912": Cases(
        bad=(
            """\
for batch in batches:
    y = model(batch)  # NNX912
""",
            """\
def evaluate(net: nnx.Module, batches):
    total = 0.0
    for batch in batches:
        total += net(batch).mean()  # NNX912
    return total
""",
            """\
class Trainer:
    def __init__(self, rngs):
        self.net = nnx.Linear(3, 3, rngs=rngs)
    def predict(self, batches):
        out = []
        while batches:
            out.append(self.net(batches.pop()))  # NNX912
        return out
""",
        ),
        clean=(
            "y = model(x)\n",
            """\
predict = nnx.cached_partial(nnx.jit(lambda m, v: m(v)), model)
for batch in batches:
    y = predict(batch)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(3)])
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
            """\
@nnx.jit
def rollout(model, x):
    for _ in range(3):
        x = model(x)
    return x
""",
            """\
def test_model():
    for batch in batches:
        assert model(batch).shape == (2,)
""",
            """\
for dtype in (jnp.float32, jnp.float16):
    print(model(x.astype(dtype)).dtype)
""",
            # something else sets the pace
            """\
class Walk:
    def reset(self):
        return jnp.zeros(3)
    def step(self, action):
        return jnp.ones(3), float(action.sum()), True
env = Walk()
seen, done = env.reset(), False
while not done:
    seen, reward, done = env.step(model(seen))
""",
            """\
class Window:
    def render(self, picture):
        return picture
window = Window()
for batch in batches:
    window.render(model(batch))
""",
            "for _ in range(4):\n    y = model(x)\n",
            """\
class Hits(nnx.Module):
    def __init__(self):
        self.share = nnx.metrics.Average("hits")
    def __call__(self, hits):
        self.share.update(hits=hits)
hits = Hits()
for batch in batches:
    hits(batch)
print(hits.share.compute())
""",
            """\
class Total(nnx.Metric):
    def __init__(self):
        self.total = nnx.BatchStat(jnp.zeros(()))
    def reset(self):
        self.total.value = jnp.zeros(())
    def update(self, **losses):
        self.total.value = self.total.value + losses["loss"]
    def compute(self):
        return self.total.value
    def __call__(self, loss):
        self.update(loss=loss)
        return self.compute()
total = Total()
for batch in batches:
    print(total(batch.mean()))
""",
            """\
for width in range(2, 9):
    net = nnx.Linear(3, width, rngs=nnx.Rngs(width))
    print(net(x).shape)
""",
            """\
models = [nnx.Linear(3, 3, rngs=nnx.Rngs(seed)) for seed in range(5)]
for net in models:
    print(net(x).mean())
""",
        ),
    ),
    "NNX913": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(12)])
    def __call__(self, x):
        for layer in self.layers:  # NNX913
            x = layer(x)
        return x
""",
            """\
class Net(nnx.Module):
    def __init__(self, depth, rngs):
        self.blocks = [nnx.Linear(3, 3, rngs=rngs) for _ in range(depth)]
    def __call__(self, x):
        for i, block in enumerate(self.blocks):  # NNX913
            x = x + block(x)
        return x
""",
            """\
class Net(nnx.Module):
    def __init__(self, depth, rngs):
        layers = []
        for _ in range(depth):
            layers.append(nnx.Linear(3, 3, rngs=rngs))
        self.layers = nnx.data(layers)
    def encode(self, x):
        for layer in self.layers:  # NNX913
            x = layer(x)
        return x
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)
        self.second = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, x):
        for layer in (self.first, self.second):
            x = layer(x)
        return x
""",
            """\
class Net(nnx.Module):
    def __init__(self, sizes, rngs):
        self.layers = nnx.List([nnx.Linear(a, b, rngs=rngs) for a, b in zip(sizes, sizes[1:])])
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(3)])
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
            """\
class Net(nnx.Module):
    def __init__(self, depth, rngs):
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(depth)])
    def names(self):
        return [type(layer).__name__ for layer in self.layers]
    def freeze(self):
        for layer in self.layers:
            layer.frozen = True
""",
            """\
class Stack:
    def __init__(self, depth):
        self.layers = [jnp.tanh for _ in range(depth)]
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
""",
        ),
    ),
    "NNX914": Cases(
        bad=(
            """\
f = jax.jit(lambda v, s: v * s)
f(x, 1)
f(x, 2.0)  # NNX914
""",
            """\
@jax.jit
def step(x, mask):
    return x
step(x, None)
step(x, jnp.ones(3))  # NNX914
""",
            """\
@nnx.jit
def step(model, batch):
    return model(batch["x"])
step(model, {"x": x})
step(model, {"x": x, "y": x})  # NNX914
""",
            """\
@jax.jit
def f(v, scale):
    return v * scale
f(x, scale=3)
f(x, scale=np.float32(3))  # NNX914
""",
        ),
        clean=(
            """\
f = jax.jit(lambda v, s: v * s)
f(x, 1.0)
f(x, 2.0)
""",
            """\
@partial(jax.jit, static_argnames="n")
def f(x, n):
    return x * n
f(x, n=1)
f(x, n=2.0)
""",
            """\
@nnx.jit
def step(model, batch):
    return model(batch["x"])
step(model, {"x": x, "y": x})
step(model, {"y": x, "x": x})
""",
            """\
def f(v, s):
    return v * s
f(x, 1)
f(x, 2.0)
""",
            """\
def test_kinds():
    f = jax.jit(lambda v, s: v * s)
    f(x, 1)
    f(x, 2.0)
""",
        ),
    ),
    "NNX915": Cases(
        bad=(
            """\
loss = jax.jit(lambda p, v: (p * v).sum())
update = jax.jit(lambda p, g: p - g)
p = x
for batch in batches:
    value = loss(p, batch)
    p = update(p, value)  # NNX915
""",
            """\
@jax.jit
def forward(p, v):
    return p * v
@jax.jit
def backward(p, y):
    return p - y
def train(p, batches):
    for batch in batches:
        p = backward(p, forward(p, batch))  # NNX915
    return p
""",
            """\
grads_of = nnx.jit(nnx.grad(lambda m, v: m(v).sum()))
apply = nnx.jit(lambda m, o, g: o.update(m, g))
for batch in batches:
    grads = grads_of(model, batch)  # NNX901
    apply(model, optimizer, grads)  # NNX901 NNX915
""",
        ),
        clean=(
            _PURE + "for batch in batches:\n    state, loss = step(state, batch)\n",
            """\
train = jax.jit(lambda p, v: p - v)
check = jax.jit(lambda p: p.sum())
p = x
for i, batch in enumerate(batches):
    p = train(p, batch)
    if i % 100 == 0:
        print(check(p))
""",
            """\
f = jax.jit(lambda v: v * 2)
g = jax.jit(lambda v: v + 1)
y = g(f(x))
""",
            """\
f = jax.jit(lambda v: v * 2)
g = jax.jit(lambda v: v + 1)
for batch in batches:
    f(batch)
    g(batch)
""",
        ),
    ),
    "NNX916": Cases(
        bad=(
            "f = jax.pmap(lambda v: v * 2)  # NNX916\n",
            """\
@partial(jax.pmap, axis_name="d")  # NNX916
def f(x):
    return jax.lax.pmean(x, "d")
""",
            """\
from flax.nnx import pmap
@pmap  # NNX916
def f(model, x):
    return model(x)
""",
        ),
        clean=(
            "f = jax.vmap(lambda v: v * 2)\n",
            "f = jax.jit(lambda v: v * 2)\n",
            "def pmap(f):\n    return f\ng = pmap(len)\n",
            "from concurrent.futures import ThreadPoolExecutor\ny = list(ThreadPoolExecutor().map(len, ['a']))\n",
        ),
    ),
    "NNX917": Cases(
        bad=(
            "y = jnp.zeros(3, dtype=jnp.float64)  # NNX917\n",
            "stamps = jnp.asarray([1700000000000, 1700000000500], dtype=jnp.int64)  # NNX917\n",
            "hashes = x.astype(jnp.uint64)  # NNX917\n",
            "y = jnp.zeros(3, jnp.float64)  # NNX917\n",
            "y = jnp.array([1.0], dtype='float64')  # NNX917\n",
            "net = nnx.Linear(3, 3, param_dtype=jnp.float64, rngs=nnx.Rngs(1))  # NNX917\n",
        ),
        clean=(
            """\
v = jnp.arange(3)
if not jnp.issubdtype(v.dtype, jnp.floating):
    v = v.astype(jnp.float64)
print(v / 2)
""",
            "y = jnp.issubdtype(x.dtype, jnp.float64)\n",
            "y = np.zeros(3, np.float64)\n",
            "y = jnp.zeros(3, dtype=jnp.float32)\n",
            "y = np.zeros(3, dtype=np.float64)\n",
            "wide = True\njax.config.update('jax_enable_x64', wide)\ny = jnp.zeros(3, dtype=jnp.float64)\n",
            "wide = x.dtype == jnp.float64\n",
            "y = jnp.zeros(3, dtype=float)\n",
            # small whole numbers
            "tokens = jnp.array([1, 2, 3], dtype=jnp.int64)\n",
            "y = x.astype(jnp.int64)\n",
        ),
    ),
    "NNX918": Cases(
        bad=(
            """\
f = jax.jit(lambda v: v @ v)
start = time.perf_counter()
jax.block_until_ready(f(x))
print(time.perf_counter() - start)  # NNX918
""",
            """\
@nnx.jit
def predict(m, v):
    return m(v)
def measure():
    begin = time.time()
    y = predict(model, x).block_until_ready()
    return time.time() - begin  # NNX918
""",
            """\
from time import perf_counter
from jax import jit as fast
f = fast(lambda v: v.sum())
t0 = perf_counter()
y = float(f(x))
t1 = perf_counter()
elapsed = t1 - t0  # NNX918
""",
        ),
        clean=(
            """\
f = jax.jit(lambda v: v @ v)
jax.block_until_ready(f(x))
start = time.perf_counter()
jax.block_until_ready(f(x))
print(time.perf_counter() - start)
""",
            """\
f = jax.jit(lambda v: v @ v)
start = time.perf_counter()
for _ in range(100):
    y = f(x)
jax.block_until_ready(y)
print(time.perf_counter() - start)
""",
            """\
start = time.perf_counter()
jax.block_until_ready(x @ x)
print(time.perf_counter() - start)
""",
            """\
@jax.jit
def f(v):
    return v @ v
def measure(v):
    begin = time.time()
    f(v).block_until_ready()
    return time.time() - begin
f(x)
measure(x)
""",
        ),
    ),
    "NNX920": Cases(
        bad=(
            _STEP + "for batch in batches:\n    step(model, optimizer, batch)  # NNX901 NNX920\n",
            """\
@nnx.jit
def predict(model, x):
    return model(x)
def run(net: nnx.Module, batches):
    out = []
    for batch in batches:
        out.append(predict(net, batch))  # NNX920
    return out
""",
            """\
from flax.nnx import jit as compiled
@compiled
def update(model, optimizer, grads):
    optimizer.update(model, grads)
grads = nnx.grad(lambda m: m(x).sum())(model)
while optimizer.step[...] < 3:
    update(model, optimizer, grads)  # NNX901 NNX920
""",
        ),
        clean=_COLD,
    ),
    "NNX921": Cases(
        bad=(
            _STEP + "for batch in batches:\n    step(model, optimizer, batch)  # NNX901 NNX921\n",
            _STEP
            + """\
def train(model, optimizer, batches):
    for batch in batches:
        loss = step(model, optimizer, batch)  # NNX901 NNX921
    return loss
train(model, optimizer, batches)
""",
            """\
from flax.nnx import jit as compiled
@compiled
def update(model, optimizer, grads):
    optimizer.update(model, grads)
grads = nnx.grad(lambda m: m(x).sum())(model)
while optimizer.step[...] < 3:
    update(model, optimizer, grads)  # NNX901 NNX921
""",
        ),
        clean=_COLD,
    ),
    "NNX571": Cases(
        bad=(
            """\
def payoffs(paths, strike):
    n = paths.shape[0]
    found = jnp.zeros(n)
    for i in range(n):
        found = found.at[i].set(jnp.maximum(paths[i].mean() - strike, 0.0))  # NNX571
    return found
""",
            """\
grid = jnp.zeros((100, 3))
for i in range(100):
    grid = grid.at[i, :].set(jnp.sin(i * jnp.arange(3)))  # NNX571
""",
            """\
def kernel(a, b):
    rows = jnp.empty((a.shape[0], b.shape[0]))
    for i in range(a.shape[0]):
        row = jnp.exp(-jnp.sum((a[i] - b) ** 2, axis=-1))
        rows = rows.at[i].set(row)  # NNX571
    return rows
""",
        ),
        clean=(
            """\
# compiled
@jax.jit
def squares(v):
    found = jnp.zeros(v.shape[0])
    for i in range(v.shape[0]):
        found = found.at[i].set(v[i] ** 2)
    return found
print(squares(jnp.arange(3.0)))
""",
            """\
# a few places
found = jnp.zeros(3)
for i in range(3):
    found = found.at[i].set(i**2)
print(found)
""",
            """\
# an array of NumPy
def squares(v):
    found = np.zeros(v.shape[0])
    for i in range(v.shape[0]):
        found[i] = v[i] ** 2
    return found
print(squares(np.arange(3.0)))
""",
            """\
# compiled by another name
def squares(v):
    found = jnp.zeros(v.shape[0])
    for i in range(v.shape[0]):
        found = found.at[i].set(v[i] ** 2)
    return found
fast = jax.jit(squares)
print(fast(jnp.arange(3.0)))
""",
            """\
# a world that takes its time
class World:
    def step(self, i):
        return 0.1 * i
def rewards(world, n=64):
    found = jnp.zeros(n)
    for i in range(n):
        found = found.at[i].set(world.step(i))
    return found
print(rewards(World()).sum())
""",
            """\
# the place is another one in no round
def total(v):
    found = jnp.zeros(2)
    for i in range(v.shape[0]):
        found = found.at[0].add(v[i])
    return found
print(total(jnp.arange(3.0)))
""",
        ),
    ),
}

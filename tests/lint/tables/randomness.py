"""Keys and seeds: drawn from once, and other ones for other draws."""

from __future__ import annotations

from tests.lint.tables import Cases

_WALK = """\
from typing import NamedTuple
class Walk(NamedTuple):
    place: jax.Array
    key: jax.Array
"""

_EPISODES = """\
class Maze:
    def reset(self, key):
        return jax.random.randint(key, (2,), 0, 5)
    def step(self, state):
        return state + 1, jnp.all(state > 4)
def rollout(env, key, n):
    first, rest = jax.random.split(key)
    def body(state, each):
        after, done = env.step(state)
        fresh = env.reset(each)
        return jnp.where(done, fresh, after), state
    return jax.lax.scan(body, env.reset(first), jax.random.split(rest, n))[1]
print(jax.jit(rollout, static_argnums=(0, 2))(Maze(), key, 4))
"""

# a policy that gets a key and does not look at it
_POLICY = """\
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, key, x):
        return self.layer(x)
def cost(policy, state, key):
    first, key = jax.random.split(key)
    for _ in range(2):
        state = jax.vmap(policy)(jax.random.split(first, 4), state)
    return jnp.sum(state**2)
def step(policy, state, key):
    used, key = jax.random.split(key)
    return nnx.value_and_grad(cost)(policy, state, used)
policy = Policy(nnx.Rngs(0))
for _ in range(2):
    rest, part = jax.random.split(key)
    print(step(policy, jnp.ones((4, 3)), part)[0])
"""

# all bounds come of NumPy, in spite of the keys that are handed on
_BOUNDS = """rng = np.random.default_rng(0)
for _ in range(2):
    def bounds(key, low):
        found = []
        for _ in range(3):
            key, part = jax.random.split(key)
            found.append(rng.uniform(low, 1.0))
        return found
    keys = jax.random.split(key, 3)
    print(bounds(keys[1], 0.0), bounds(keys[2], 0.5))
"""

_CALIBRATED = """\
def noisy(v, inference, key):
    return v if inference else v * jax.random.normal(key)
def predict(model, batch, inference, key):
    keys = jax.random.split(key, len(batch))
    return jax.vmap(lambda v, k: model(v, inference, k))(batch, keys)
for batch in batches:
    print(predict(noisy, batch, True, key))
"""

_RENDERED = """\
def render(draw, key, v):
    _, one, two = jax.random.split(key, 3)
    return draw(one, two, v)
def rendered(config, draw, key, rows):
    config["randomized"] = {}
    shown = []
    for v in rows:
"""

CASES = {
    "NNX773": Cases(
        bad=(
            """\
def total(rows, weight):
    return jnp.sum(rows * weight)
order = jax.random.permutation(key, 8)
before = total(jnp.arange(8.0)[order], 1.0)
order = jax.random.permutation(key, 8)  # NNX773
after = total(jnp.arange(8.0)[order], 2.0)
print(before, after)
""",
            """\
def score(k, rate):
    return rate + jax.random.normal(k)
curve = []
rates = jnp.linspace(0.0, 1.0, 3)
keys = jax.random.split(key, 4)
for rate in rates:
    found = []
    for k in keys:
        draws = jax.random.split(k, 2)  # NNX773
        found.append(float(score(draws[0], rate)))
    curve.append(sum(found) / 4)
""",
            """\
def fit(k, data):
    return data + jax.random.normal(k)
datasets = {"small": {"w": 1.0}, "large": {"w": 2.0}}
for name, data in datasets.items():
    result = fit(key, data["w"] * jnp.ones(1))  # NNX773
    print(name, result)
""",
            """\
def cost(rate, key):
    return rate * jnp.sum(jax.random.normal(key, (3,)))
costs = []
for rate in jnp.arange(1.0, 1.3, 0.1):
    costs.append(cost(rate, key))  # NNX773
""",
            """\
def fast(k, v):
    return v + jax.random.normal(k, v.shape)
def exact(k, v):
    return v - jax.random.normal(k, v.shape)
a = fast(key, x)
b = exact(key, x)  # NNX773
""",
            """\
def solve(k, rate):
    return rate * jax.random.normal(k)
for rate in [0.1, 0.2]:
    y = solve(key, rate)  # NNX773
""",
            """\
def decode(k, v, exact):
    return v + jax.random.normal(k, v.shape) * exact
a = decode(key, x, False)
b = decode(key, x, True)  # NNX773
""",
            """\
a = jax.random.normal(key)
b = jax.random.normal(key)  # NNX773
assert a == b
""",
        ),
        clean=(
            """\
one, two = jax.random.split(key)
order = jax.random.permutation(one, 8)
before = jnp.arange(8.0)[order].sum()
order = jax.random.permutation(two, 8)
print(before, jnp.arange(8.0)[order].sum())
""",
            """\
def score(k, rate):
    return rate + jax.random.normal(k)
curve = []
for rate in jnp.linspace(0.0, 1.0, 3):
    key, part = jax.random.split(key)
    curve.append(sum(float(score(k, rate)) for k in jax.random.split(part, 4)) / 4)
""",
            """\
def fit(k, data):
    return data + jax.random.normal(k)
datasets = {"small": 1.0, "large": 2.0}
for name, data in datasets.items():
    key, part = jax.random.split(key)
    print(name, fit(part, data))
""",
            """\
def fit(k, data):
    return data + jax.random.normal(k)
datasets = {"small": 1.0, "large": 2.0}
for k, (name, data) in zip(jax.random.split(key, 2), datasets.items()):
    print(name, fit(k, data))
""",
            """\
def cost(rate, key):
    return rate * jnp.sum(jax.random.normal(key, (3,)))
costs = []
for rate in jnp.arange(1.0, 1.3, 0.1):
    key, part = jax.random.split(key)
    costs.append(cost(rate, part))
""",
            """\
def sample(k):
    high = jax.random.normal(k)
    low = jax.random.uniform(k)
    return jnp.where(x.sum() > 0, high, low)
y = sample(key)
""",
            """\
key, one = jax.random.split(key)
a = jax.random.normal(one)
b = jax.random.normal(key)
""",
            """\
def layer(k, n):
    return jax.random.normal(k, (n,))
one, two = jax.random.split(key)
params = {"w": layer(one, 3), "b": layer(two, 2)}
""",
            """\
def fast(k, v):
    return v + jax.random.normal(k, v.shape)
def exact(k, v):
    return v - jax.random.normal(k, v.shape)
one, two = jax.random.split(key)
a = fast(one, x)
b = exact(two, x)
""",
            """\
def solve(k, rate):
    return rate * jax.random.normal(k)
for i, rate in enumerate([0.1, 0.2]):
    y = solve(jax.random.fold_in(key, i), rate)
""",
        ),
    ),
    "NNX830": Cases(
        bad=(
            """\
def rows(key, places, shape):
    out = []
    for place in places:
        key_i = jax.random.fold_in(key, place)
        out.append(jax.random.normal(jax.random.key(0), shape))  # NNX830
    return jnp.stack(out)
""",
            """\
def step(w, row, key):
    noisy = row + 0.1 * jax.random.normal(key, row.shape)
    return w - 0.1 * jax.grad(lambda w: (noisy @ w) ** 2)(w)
def fit(w, rows):
    for row in rows:
        key = jax.random.key(0)  # NNX830
        key, sub = jax.random.split(key)
        w = step(w, row, sub)
    return w
""",
            """\
def fit(model, optimizer, rows):
    for epoch in range(3):
        key = jax.random.PRNGKey(42)  # NNX830
        noisy = rows + jax.random.normal(key, rows.shape)
        train_step(model, optimizer, noisy)
@nnx.jit
def train_step(model, optimizer, rows):
    optimizer.update(model, nnx.grad(lambda m: jnp.mean(m(rows) ** 2))(model))
fit(model, nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param), x)
""",
            """\
def walk(place, steps):
    for _ in range(steps):
        noise = 0.1
        place = place + noise * jax.random.normal(jax.random.key(0), place.shape)  # NNX830
    return place
""",
            """\
def begin(key, sizes):
    layers = []
    for rows, columns in zip(sizes[:-1], sizes[1:]):
        layers.append(jax.random.normal(jax.random.PRNGKey(42), (rows, columns)))  # NNX830
    return layers
""",
            """\
def color_transform(k, images):
    return images * jax.random.uniform(k, (), minval=0.8, maxval=1.2)
def augmented(k, pixels, size):
    found = []
    for i in range(4):
        found.append(color_transform(k, pixels[size * i : size * (i + 1)]))  # NNX830
    return found
print(augmented(key, jnp.ones((8, 4, 4, 3)), 2))
""",
            """\
class Walk:
    def transition(self, key, v, value):
        one, two = jax.random.split(key)
        new = v + jax.random.normal(one, v.shape)
        taken = jnp.log(jax.random.uniform(two)) < value
        return jnp.where(taken, new, v), value, taken
    def run(self, key, v):
        def body(state, _):
            v, value, count = state
            v, value, taken = self.transition(key, v, value)  # NNX830
            return (v, value, count + taken), v
        return jax.lax.scan(body, (v, 0.0, jnp.int32(0)), None, length=3)
Walk().run(key, x)
""",
            """\
def shaken(k, start):
    noise = lambda shape: 0.1 * jax.random.normal(k, shape)  # NNX830
    def step(state, _):
        state = 0.5 * state + noise(state.shape)
        return state, state
    return jax.lax.scan(step, start, None, length=5)
shaken(key, x)
""",
            """\
def noise(k, shape):
    return 0.1 * jax.random.normal(k, shape)
def shaken(k, start):
    def step(state, _):
        return 0.5 * state + noise(k, state.shape), None  # NNX830
    return jax.lax.scan(step, start, None, length=5)
shaken(key, x)
""",
            """\
def make_noise(k):
    def noise(shape):
        return 0.1 * jax.random.normal(k, shape)  # NNX830
    return noise
def make_step(noise):
    def step(i, state):
        return 0.5 * state + noise(state.shape)
    return step
def shaken(k, start):
    return jax.lax.fori_loop(0, 5, make_step(make_noise(k)), start)
shaken(key, x)
""",
            """\
def init(key, a, b):
    def layer(n, m):
        return jax.random.normal(key, (n, m)) / jnp.sqrt(n)
    return {"one": layer(a, b), "two": layer(b, a)}  # NNX830
print(init(key, 2, 3))
""",
            """\
def init(seed, a, b):
    key = jax.random.key(seed)
    def layer(n, m):
        return 0.1 * jax.random.uniform(key, (n, m))
    one = layer(a, b)
    two = layer(b, a)  # NNX830
    return one, two
print(init(0, 2, 3))
""",
            """\
def made(key, sizes):
    keys = jax.random.split(key, len(sizes))
    weights = [jax.random.normal(k, (n, 3)) for k, n in zip(keys, sizes)]
    kernels = [jax.random.normal(k, (3,)) for k in keys]
    scales = {"scale": [0.1 * jax.random.uniform(one, (3,)) for one in keys]}  # NNX830
    return weights, kernels, scales
print(made(key, [2, 3]))
""",
            """\
keys = jax.random.split(key, 4)
ws = [jax.random.normal(k) for k in keys]
bs = [jax.random.normal(k) for k in keys]  # NNX830
print(ws, bs)
""",
            """\
def new_network(rng, width):
    return jax.random.normal(rng, (width,))
def main(seed):
    rng = jax.random.key(seed)
    keys = jax.random.split(rng, 2)
    trained = [jax.random.normal(k, (2,)) for k in keys]
    rng, _rng = jax.random.split(rng)  # NNX830
    network = new_network(_rng, 2)
    return trained, network, jax.random.normal(rng, (2,))
print(main(0)[1].shape)
""",
            """\
def best_start(key, count):
    best, chosen = -jnp.inf, 0
    for restart in range(count):
        start = jax.random.uniform(key, (3,))  # NNX830
        score = -jnp.sum(start**2)
        print(restart, score)
        if score > best:
            best = score
            chosen = restart
    return chosen
""",
            """\
def drawn(*shape, key):
    return jax.random.normal(key, shape)
def noises(key):
    return [drawn(3, key=key) for _ in range(4)]  # NNX830
""",
            """\
key = jax.random.key(0)
for step in range(3):
    part = jax.random.split(key)[1]  # NNX830
    print(jax.random.normal(part))
""",
            """\
for epoch in range(2):
    order = jax.random.permutation(key, 8)  # NNX830
    model = step(model, jnp.arange(8.0)[order])
def step(model, rows):
    return model
""",
            """\
times = jnp.linspace(0.0, 1.0, 3)
keys = jax.random.split(key, 4)
state, path = 0.0, []
for t in times:
    for k in keys:
        state = state + t * jax.random.normal(k)  # NNX830
    path.append(state)
""",
            """\
def fit(k, data, start):
    return start + data * jax.random.normal(k)
datasets = {"first": 1.0, "second": 2.0}
weights = jnp.zeros(3)
for name, data in datasets.items():
    weights = fit(key, data, weights)  # NNX830
""",
            """\
one, two = jax.random.split(key)
v = jax.random.normal(one, (3,))
print(v)
def loss(w):
    return jnp.sum((w - v) ** 2)
noise = jax.random.normal(one, (3,))  # NNX830
print(loss(noise))
""",
            """\
def sampled(key, steps):
    found = []
    for _ in range(steps):
        _, key = jax.random.split(key)
        found.append(jax.random.normal(key, (2,)))
        _, key = jax.random.split(key)  # NNX830
        found.append(jax.random.uniform(key, (2,)))
    return found
print(sampled(jax.random.key(0), 2))
""",
            _RENDERED.format("True") + "        shown.append(render(draw, key, v))  # NNX830\n    return shown\n",
            _RENDERED.format("None") + "        shown.append(render(draw, key, v))  # NNX830\n    return shown\n",
            _POLICY.replace("self.layer(x)", "self.layer(x) + jax.random.normal(key, (3,))")
            .replace("state = jax.vmap(policy)(jax.random.split(first, 4), state)", "state = state + 1.0")
            .replace("state**2)", "state**2) + jnp.sum(policy(first, state))")
            .replace("split(key)\n    print", "split(key)  # NNX830\n    print"),
            _BOUNDS.replace("found.append(rng", "found.append(jax.random.normal(part) + rng").replace(
                "split(key, 3)", "split(key, 3)  # NNX830"
            ),
            _CALIBRATED.replace("True, key))", "False, key))  # NNX830"),
            "def noisy(v, levels):\n    for level in levels:\n"
            "        v = v + jax.random.normal(key, v.shape) * level  # NNX830\n    return v\nnoisy(x, [0.1, 0.2])\n",
            """\
def filtered(start, count, rate, key):
    return start * rate + jax.random.normal(key, (count,))
def cost(start, rate, key):
    return filtered(start, 3, rate, key).sum()
def run(starts, key):
    for _ in range(3):
        starts = [start + cost(start, 0.5, key) for start in starts]  # NNX830
    return starts
print(run(batches, key))
""",
            """\
def kernel(key, place, score):
    move, accept = jax.random.split(key)
    other = place + jax.random.normal(move)
    taken = jnp.log(jax.random.uniform(accept)) < -(other**2) - score
    return jnp.where(taken, other, place), jnp.where(taken, -(other**2), score)
def walk(key, count, place):
    def body(_, state):
        return kernel(key, *state)  # NNX830
    return jax.lax.fori_loop(0, count, body, (place, -(place**2)))[0]
print(walk(key, 3, 0.0))
""",
            """\
def move(place, key):
    return place + jax.random.normal(key, place.shape), place.sum()
def walk(key, place):
    def body(place, _):
        return move(place, key)  # NNX830
    return jax.lax.scan(body, place, None, length=3)
print(walk(key, x))
""",
            """\
from flax import linen
net = linen.Dense(3)
start = jax.random.uniform(key, (4, 3))
first, second = jax.random.split(key)  # NNX830
queries, _ = net.init_with_output(first, start)
keys, _ = net.init_with_output(second, start)
print(queries @ keys.T)
start = jnp.ones(3)
print(start)
""",
            """\
inputs = jax.random.normal(key, (4, 3))
params = [jax.random.normal(key, (2, 3)), jax.random.normal(key, (2,))]  # NNX830
def layer(params, inputs):
    return jax.nn.relu(inputs @ params[0].T) + params[1]
out = layer(params, inputs)
out.shape
out = layer(params, inputs)
""",
            """\
@jax.jit
def update(state, draws):
    return state + draws
def fit(key, state):
    first_key, optim_key = jax.random.split(key)
    first = jax.random.normal(first_key, (3,))
    draw_key, = jax.random.split(key, 1)  # NNX830
    draws = jax.random.normal(draw_key, (3,))
    state = update(state, draws)
    for _ in range(3):
        optim_key, draw_key = jax.random.split(optim_key)
        state = update(state, jax.random.normal(draw_key, (3,)))
    return first, state
print(fit(key, x))
""",
            """\
def prior(k, shape):
    return jax.random.normal(k, shape)
parts = jax.random.split(key, 2)
start = prior(key, (3,))  # NNX830
draw = lambda k: start + jax.random.normal(k, shape=start.shape)
print(draw(parts[0]), draw(parts[1]))
""",
            """\
def scaled(values):
    return [value * 2 for value in values]
def measured(n):
    k = jax.random.key(3)
    values = [jax.random.normal(k, (3,)) for _ in range(n)]  # NNX830
    start = time.time()
    done = scaled(values)
    float(done[0][0])
    print(time.time() - start)
    return done
print(measured(2))
""",
            """\
def plot_performance(f, values):
    return [f(*values) for _ in range(2)]
def heart(a, b):
    return a * b
inputs = [jax.random.uniform(key, (4,)) * scale for scale in (0.1, 0.2)]  # NNX830
plot_performance(heart, inputs)
result = heart(*inputs)
print(result)
""",
            """\
from flax import linen
class Sum(linen.Module):
    @linen.compact
    def __call__(self, tokens, sizes):
        return linen.Embed(5, 4)(tokens).sum() + sizes.sum()
net = Sum()
tokens = jax.random.randint(key, (1, 3), 0, 5)
sizes = jax.random.randint(key, (1, 2), 1, 4)  # NNX830
variables = net.init(key, tokens, sizes)
print(net.apply(variables, tokens, sizes))
""",
            """\
if __name__ == "__main__":
    k = jax.random.key(42)
    places = jax.random.normal(k, (4, 3))
    scale = jax.random.uniform(k, (4, 3))  # NNX830
    def loss(m):
        return ((m(places) - scale) ** 2).mean()
    grads = nnx.grad(loss)(model)
    optimizer.update(model, grads)
""",
            """\
def act(k, seen):
    return seen + jax.random.normal(k, (3,))
def both(k, batch):
    first = act(k, batch["obs"])
    then = act(k, batch["next_obs"])  # NNX830
    return first, then
print(both(key, {"obs": x, "next_obs": x}))
""",
            """\
def init_state(k, width):
    first, second = jax.random.split(k)
    return jax.random.normal(first, (width,)), jax.random.normal(second, (width,))
def states(k, width):
    small = init_state(k, width=2)
    large = init_state(k, width=3)  # NNX830
    return small, large
print(states(key, 2))
""",
            """\
for _ in range(3):
    print(f"drawn: {jax.random.normal(key, (1,))}")  # NNX830
""",
            """\
class Trainer:
    def __init__(self, seed):
        self.rng = jax.random.key(seed)
    def train(self, epochs):
        for epoch in range(epochs):
            masks = jax.random.split(self.rng, epochs)  # NNX830
            print(jax.random.bernoulli(masks[0], 0.5, (3,)))
for seed in range(2):
    Trainer(seed).train(2)
""",
            """\
class World:
    def step(self, key, state):
        key, _ = jax.random.split(key)
        return self.advance(key, state)
    def advance(self, key, state):
        return state + jax.random.normal(key)
world, state = World(), jnp.zeros(())
for _ in range(3):
    state = world.step(key, state)  # NNX830
""",
            """\
class World:
    def step(self, key, state):
        key, _ = jax.random.split(key)
        return self.advance(key, state)
    def advance(self, key, state):
        return state + 1
class Windy(World):
    def advance(self, key, state):
        return state + jax.random.normal(key)
world, state = Windy(), jnp.zeros(())
for _ in range(3):
    state = world.step(key, state)  # NNX830
""",
            """\
def advance(key, state):
    return state + 1
def step(key, state):
    part, other = jax.random.split(key)
    return advance(part, state) + jax.random.normal(other)
state = jnp.zeros(())
for _ in range(3):
    state = step(key, state)  # NNX830
""",
            """\
def body(i, state):
    rng, total = state
    part, rng = jax.random.split(rng)
    noise = jax.random.uniform(rng)  # NNX830
    return rng, total + noise
jax.lax.fori_loop(0, 3, body, (key, jnp.zeros(())))
""",
            """\
def traced_and_used(function):
    a = jax.random.uniform(key, (4,))
    b = jax.random.uniform(key, (4,))  # NNX830
    print(jax.make_jaxpr(function)(a, b))
    return a + b
""",
            """\
def kept(keys):
    return jax.vmap(jax.random.normal)(keys)
def run(key):
    keys = jax.random.split(key, 4)
    return kept(keys) + jax.random.normal(key, (4,))  # NNX830
""",
            """\
def init_actor(key, n):
    return jax.random.normal(key, (n,))
def init_critic(key, n):
    return jax.random.normal(key, (n,))
def compare_agents(key, n):
    w_actor = init_actor(key, n)
    w_critic = init_critic(key, n)  # NNX830
    return w_actor, w_critic
""",
            """\
def gen_data(key, n):
    return jax.random.normal(key, (n, 3))
def fit(key, data):
    begin = time.time()
    weights = jax.random.normal(key, (3,))
    for _ in range(3):
        weights = weights - 0.1 * (data @ weights) @ data
    return weights, time.time() - begin
data = gen_data(key, 5)
weights, seconds = fit(key, data)  # NNX830
""",
            """\
def noise(key, v):
    return jax.random.normal(key, v.shape)
def difference(v, key):
    one = noise(key, v)
    two = noise(key, 2 * v)  # NNX830
    return one - two
""",
            """\
def noisy_feet(feet, key):
    noisy = feet.at[0].add(jax.random.uniform(key, ()))
    noisy = noisy.at[1].add(jax.random.uniform(key, ()))  # NNX830
    return noisy
noisy_feet(x, key)
""",
            """\
def smooth(key, n, trig=False):
    first = jax.random.normal(key, (n,))
    c = first + 1.0
    if trig:
        return c
    wider = jax.random.normal(key, (2 * n,))  # NNX830
    return wider[:n] * c
print(smooth(key, 3))
""",
            """\
RNG_KEY = jax.random.key(7)
def main():
    data = jax.random.normal(RNG_KEY, (3,))
    return data + 0.1 * jax.random.normal(RNG_KEY, (3,))  # NNX830
""",
            """\
ANCHOR_KEY = jax.random.key(7)
def main():
    anchor = jax.random.normal(ANCHOR_KEY, (3,))
    return anchor, jax.random.uniform(ANCHOR_KEY, (2, 3))  # NNX830
""",
            """\
class NoiseCache:
    def __init__(self, k):
        self.k = k
    @classmethod
    def init(cls, key, width):
        first, second = jax.random.split(key)
        return cls(jnp.zeros(width) + jax.random.normal(first, (width,)))
def serve(prompts):
    cache_key = jax.random.key(1)
    found = []
    for prompt in prompts:
        cache = NoiseCache.init(cache_key, 3)  # NNX830
        found.append(prompt + cache.k)
    return found
""",
            """\
def compare(count):
    left = jax.random.normal(key, (count, 3))
    right = jax.random.normal(key, (count, 3))  # NNX830
    print(time.time())
    return jnp.sum((left[:, None] - right[None]) ** 2, axis=-1)
y = compare(4)
""",
            """\
def body(carry, v):
    k, total = carry
    k, sub = jax.random.split(k)
    total = total + v * jax.random.normal(k)  # NNX830
    return (k, total), total
print(jax.lax.scan(body, (key, 0.0), x))
""",
            """\
class Walk:
    def step(self, i, state):
        k, first, second = jax.random.split(state["key"], 3)
        place = state["place"] + jax.random.normal(first)
        place = jnp.where(jax.random.uniform(k) < 0.5, place, -place)  # NNX830
        return {"key": k, "place": place}
    def run(self, k):
        return jax.lax.fori_loop(0, 4, self.step, {"key": k, "place": 0.0})
print(Walk().run(key))
""",
            _EPISODES.replace("reset(each)", "reset(first)  # NNX830"),
            _EPISODES.replace("reset(each)", "reset(first)  # NNX830").replace("env, key", "env: Maze, key"),
            """\
def reset(key):
    return jax.random.uniform(key, (3,))
def rollout(key, state):
    def body(state, _):
        state = jnp.where(state.sum() > 2, reset(key), state + 0.5)  # NNX830
        return state, state
    return jax.lax.scan(body, state, None, length=4)[1]
print(rollout(key, x))
""",
            """\
def choose(key, values):
    coin, arm = key, key
    explore = jax.random.uniform(coin) < 0.2
    return jnp.where(explore, jax.random.randint(arm, (), 0, 4), jnp.argmax(values))  # NNX830
""",
            """\
def params(n, key):
    return jax.random.uniform(key, (n, 3))
batch_sizes = [1, 2]
for size in batch_sizes:
    given = params(size, key)  # NNX830
    print(size, jnp.sum(given))
""",
            """\
def draw(seed):
    rng = jax.random.key(seed)
    a = jax.random.normal(rng)
    return a + jax.random.uniform(rng)  # NNX830
def other(rng):
    def step():
        nonlocal rng
        rng, sub = jax.random.split(rng)
        return jax.random.normal(sub)
    return step
""",
            """\
import flax.linen as nn
def setup(net, key):
    first, second = jax.random.split(key)
    params = net.init(first, x)
    shown, spare = jax.random.split(key)  # NNX830
    print(net.tabulate(shown, x))
    return params, jax.random.normal(second), jax.random.normal(spare)
""",
            """\
def figure(ax, key):
    a = jax.random.normal(key, (30,))
    b = jax.random.normal(key, (30,))  # NNX830
    ax.scatter(a, b)
""",
            """\
def host(state, n):
    return jax.random.uniform(state, (n,))
root = jax.random.key(3)
rest, sub = jax.random.split(root)
a = host(sub, 2)
rest, sub = jax.random.split(root)  # NNX830
print(host(sub, 2) - a)
""",
            _WALK
            + """\
def move(walk, rate):
    k, sub = jax.random.split(walk.key)  # NNX830
    return walk._replace(place=walk.place + rate * jax.random.normal(sub, walk.place.shape))
def body(walk, t):
    walk = move(walk, 0.1)
    return walk, walk.place.sum()
jax.lax.scan(body, Walk(x, key), jnp.arange(3))
""",
            _WALK
            + """\
def noise(k, like):
    return jax.random.normal(k, like.shape)
def body(i, walk):
    return Walk(walk.place + noise(walk.key, walk.place), walk.key)  # NNX830
jax.lax.fori_loop(0, 3, body, Walk(x, key))
""",
            """\
def body(walk):
    k, sub = jax.random.split(walk["key"])  # NNX830
    return {**walk, "place": walk["place"] + jax.random.uniform(sub)}
jax.lax.while_loop(lambda w: w["place"].sum() < 9, body, {"place": x, "key": key})
""",
            _WALK
            + """\
class Walker:
    @partial(jax.jit, static_argnums=0)
    def step(self, walk):
        sub = jax.random.split(walk.key)[0]  # NNX830
        place = walk.place + jax.random.normal(sub, walk.place.shape)
        return Walk(place=place, key=walk.key), place.sum()
    def run(self, walk):
        for _ in range(5):
            walk, seen = self.step(walk)
        return walk
Walker().run(Walk(x, key))
""",
            """\
def body(walk, t):
    k, sub = jax.random.split(walk["key"])  # NNX830
    return walk | {"place": walk["place"] + jax.random.normal(sub)}, t
jax.lax.scan(body, {"place": x, "key": key}, jnp.arange(3))
""",
            """\
def noise(k, v):
    return v + jax.random.normal(k, v.shape)
def mask(k, v):
    return v * jax.random.bernoulli(k, 0.5, v.shape)
def augment(k, v):
    return mask(k, noise(k, v))  # NNX830
""",
            """\
def layer(k):
    return jax.random.normal(k)
weights = [layer(key) for _ in range(3)]  # NNX830
""",
            """\
for i in range(3):
    key, sub = jax.random.split(key)
    y = jax.random.normal(key)  # NNX830
""",
            """\
a = jax.random.normal(key)
b = jax.random.uniform(key)  # NNX830
""",
            """\
for i in range(3):
    y = jax.random.normal(key)  # NNX830
""",
            """\
from jax.random import normal as draw, split
def sample(k):
    first, second = split(k)
    return draw(k) + draw(first)  # NNX830
""",
            """\
@nnx.jit
def noisy(model, x, key):
    x = x + jax.random.normal(key, x.shape)
    return model(x) * jax.random.bernoulli(key, 0.5, x.shape)  # NNX830
""",
            """\
rngs = nnx.Rngs(0)
noise = rngs.noise()
for i in range(3):
    y = jax.random.normal(noise)  # NNX830
""",
            """\
rngs = nnx.Rngs(0)
noise = rngs.noise()
a = jax.random.normal(noise)
b = jax.random.normal(noise)  # NNX830
""",
            """\
class Agent:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
    def act(self):
        a = jax.random.normal(self.key)
        return a + jax.random.uniform(self.key)  # NNX830
""",
        ),
        clean=(
            """\
def rows(key, places, shape):
    out = []
    for place in places:
        key_i = jax.random.fold_in(key, place)
        out.append(jax.random.normal(key_i, shape))
    first = [jax.random.normal(jax.random.key(0), shape)]
    return jnp.stack(first + out)
print(rows(key, range(2), (3,)))
""",
            """\
def init_net(sizes, key):
    keys = jax.random.split(key, len(sizes))
    return [jax.random.normal(k, (n, 2)) for k, n in zip(keys, sizes)]
if __name__ == "__main__":
    key = jax.random.key(0)
    encoder = init_net([3, 2], key)
    code = jnp.ones((2, 3)) @ encoder[0] @ encoder[1]
    decoder = init_net([2, 2], key)
    back = code @ decoder[0]
    if not back.size:
        breakpoint()
""",
            """\
def compared(rates, rows):
    found = {}
    for rate in rates:
        key = jax.random.key(0)
        w = jax.random.normal(key, rows.shape[1:])
        for row in rows:
            w = w - rate * row
        found[rate] = w
    return found
print(compared([0.1, 0.2], x))
""",
            """\
def walk(place, rounds):
    for number in range(rounds):
        key = jax.random.key(number)
        place = moved(place, key)
    return place
def moved(place, key):
    return place + jax.random.normal(key, place.shape)
print(walk(jnp.zeros(3), 3))
""",
            """\
def evaluated(w, rows):
    total = 0.0
    for row in rows:
        key = jax.random.key(0)
        total = total + float((row * jax.random.normal(key, row.shape)).sum())
    return total
print(evaluated(None, x))
""",
            """\
def timings(sizes):
    found = []
    for size in sizes:
        table = jax.random.normal(jax.random.key(0), (size, size))
        found.append(table @ table)
    return found
print(timings([2, 3]))
""",
            """\
def noisy(rows):
    for row in rows:
        row = row + jax.random.normal(jax.random.key(0), row.shape)
        print(row)
noisy(x)
""",
            """\
def optional(size, rounds, key=None):
    for _ in range(rounds):
        if key is None:
            key = jax.random.key(0)
        key, part = jax.random.split(key)
        print(jax.random.normal(part, (size,)))
    return size
optional(2, 2)
""",
            """\
def render_policy(params, key, path):
    print(path, params @ jax.random.normal(key, (3,)))
several = jnp.ones((4, 3))
key = jax.random.key(0)
for i in range(4):
    render_policy(several[i], key, f"{i}.png")
""",
            """\
def step_fn(key, cache, token):
    return jax.random.categorical(key, cache), cache + token
def warm(cache, tokens):
    def body(state, token):
        cache, count = state
        _, cache = step_fn(key, cache, token)
        return (cache, count + 1), None
    return jax.lax.scan(body, (cache, 0), tokens)
warm(x, x)
""",
            """\
def color_transform(k, images):
    return images * jax.random.uniform(k, (), minval=0.8, maxval=1.2)
def augmented(k, pixels, cameras):
    for i in range(cameras):
        pixels = pixels.at[:, :, 3 * i : 3 * (i + 1)].set(color_transform(k, pixels[:, :, 3 * i : 3 * (i + 1)]))
    return pixels
print(augmented(key, jnp.ones((4, 4, 6)), 2).shape)
""",
            """\
class Walk:
    def transition(self, key, v, value):
        one, two = jax.random.split(key)
        new = v + jax.random.normal(one, v.shape)
        taken = jnp.log(jax.random.uniform(two)) < value
        return jnp.where(taken, new, v), value, taken
    def run(self, key, v):
        def body(state, step):
            v, value, count = state
            v, value, taken = self.transition(step, v, value)
            return (v, value, count + taken), v
        return jax.lax.scan(body, (v, 0.0, jnp.int32(0)), jax.random.split(key, 3))
Walk().run(key, x)
""",
            """\
def make_noise(k):
    def noise(shape):
        return 0.1 * jax.random.normal(k, shape)
    return noise
def shaken(k, start):
    def step(state, one):
        noise = make_noise(one)
        return 0.5 * state + noise(state.shape), state
    return jax.lax.scan(step, start, jax.random.split(k, 5))
shaken(key, x)
""",
            """\
def noise(k, shape):
    return 0.1 * jax.random.normal(k, shape)
def shaken(k, start):
    offset = noise(k, start.shape)
    def step(state, _):
        return 0.5 * state + offset, None
    return jax.lax.scan(step, start, None, length=5)
shaken(key, x)
""",
            """\
import dataclasses
@dataclasses.dataclass
class Graph:
    nodes: jax.Array
    edges: jax.Array
def ring(k, n):
    return Graph(jax.random.normal(k, (n,)), jnp.arange(n))
def walk(k, nodes):
    for _ in range(3):
        graph = dataclasses.replace(ring(k, 3), nodes=nodes)
        nodes = jnp.tanh(graph.nodes[graph.edges])
    return nodes
walk(key, x)
""",
            """\
def density(v):
    return -jnp.sum(v["a"] ** 2)
def density_vec(v):
    return -jnp.sum(v**2)
def sample_all(log_density, start, n, k):
    noise = jax.random.normal(k, (n, 3))
    return jax.tree.map(lambda s: s + noise, jax.grad(log_density)(start))
sample_key, other_key = jax.random.split(key)
draws = sample_all(density, {"a": x}, 5, sample_key)
print(jax.tree.map(jnp.mean, draws))
draws_vec = sample_all(density_vec, 2 * x, 5, sample_key)
print(jax.tree.map(jnp.mean, draws_vec))
""",
            """\
def init(key, a, b, flag):
    def layer(n, m, k):
        return jax.random.normal(k, (n, m))
    def next_layer(n, m):
        nonlocal key
        key, sub = jax.random.split(key)
        return jax.random.normal(sub, (n, m))
    one, two = jax.random.split(key)
    return layer(a, b, one), layer(b, a, two), next_layer(a, b), next_layer(b, a)
def either(key, a, b, flag):
    def layer(n, m):
        return jax.random.normal(key, (n, m))
    if flag:
        w = layer(a, b)
    else:
        w = layer(b, a)
    return w
print(init(key, 2, 3, True), either(key, 2, 3, False))
""",
            """\
def slope(key, w, e):
    def loss(q):
        return jnp.mean((q - jax.random.normal(key, (3,))) ** 2)
    def noisy(v, n):
        return v * jax.random.normal(key, (n,))
    ends = (loss(w + e), loss(w - e))
    return ends, [noisy(w, 3), noisy(w + e, 3)]
print(slope(key, jnp.ones(3), 0.1))
""",
            """\
def made(key, flag):
    keys = jax.random.split(key, 4)
    if flag:
        ws = [jax.random.normal(k, (3,)) for k in keys]
    else:
        ws = [jax.random.uniform(k, (2,)) for k in keys]
    keys = jax.random.split(jax.random.fold_in(key, 1), 4)
    bs = [jax.random.normal(k, (2,)) for k in keys]
    cs = [jax.random.normal(jax.random.fold_in(k, 1), (2,)) for k in keys]
    return ws, bs, cs
print(made(key, True))
""",
            """\
def noise(key):
    keys = jax.random.split(key, 4)
    same = [jax.random.normal(k, (3,)) for k in keys]
    same_again = [jax.random.normal(k, (3,)) for k in keys]
    orders = [jax.random.permutation(k, x) for k in keys]
    labels = [jax.random.permutation(k, 2 * x) for k in keys]
    return same, same_again, orders, labels
print(noise(key))
""",
            """\
import pickle
def load_params(text, like):
    return jax.tree.map(lambda old, new: jnp.asarray(new), like, pickle.loads(text))
def new_network(rng, width):
    return [jax.random.normal(rng, (width,)), jnp.zeros(width)]
def main(seed):
    rng = jax.random.key(seed)
    keys = jax.random.split(rng, 2)
    trained = [jax.random.normal(k, (2,)) for k in keys]
    text = pickle.dumps([np.asarray(one) for one in trained])
    rng, _rng = jax.random.split(rng)
    network = new_network(_rng, 2)
    return load_params(text, network)
print(main(0)[0].shape)
""",
            """\
@jax.jit
def episode(keys):
    return {"step": jax.vmap(jax.random.normal)(keys)}
warm = jax.random.split(key, 2)
for _ in range(3):
    episode(warm)["step"].block_until_ready()
print(episode(jax.random.split(jax.random.key(5), 2))["step"].shape)
""",
            """\
from flax import linen as nn
def begun(start):
    layer = nn.Dense(3)
    v = jax.random.normal(start, (4,))
    rest, own = jax.random.split(start)
    params = layer.init(own, v[1:])
    print("a first output:", layer.apply(params, v[1:]))
    return params, rest
print(begun(key))
""",
            """\
def evaluate(w, keys):
    return [(w * jax.random.normal(k, w.shape)).mean() for k in keys]
def trained(w, rng):
    for step in range(4):
        w = w * 0.9
        if step % 2 == 0:
            keys = jax.random.split(rng, 2)
            print(evaluate(w, keys))
    return w
print(trained(x, key))
""",
            """\
def load_test_dataset(rng, name, batch_size=2):
    return jax.random.permutation(rng, len(name))[:batch_size]
def judged(rng):
    return {name: load_test_dataset(rng, name, batch_size=size).sum() for name, size in {"one": 1, "two": 2}.items()}
def shown(rng):
    for name, size in {"one": 1, "two": 2}.items():
        print(name, load_test_dataset(rng, name, size).mean())
shown(key)
""",
            """\
def render(apply, rays, rng):
    _, one, two = jax.random.split(rng, 3)
    return [apply(one, two, ray) for ray in rays]
class Field:
    def apply(self, params, one, two, ray, randomized):
        if randomized:
            ray = ray + jax.random.normal(one, ray.shape) + jax.random.uniform(two, ray.shape)
        return params * ray
field = Field()
def rendered(params, one, two, ray):
    return field.apply(params, one, two, ray, False)
drawing = jax.jit(rendered)
for epoch in range(3):
    print(render(partial(drawing, x), [x, x], key))
""",
            """\
@jax.custom_jvp
def noisy(k, v):
    return v + jnp.sqrt(v) * jax.random.normal(k, v.shape)
@noisy.defjvp
def noisy_jvp(primals, tangents):
    k, v = primals
    slope = 1 + jax.random.normal(k, v.shape) / (2 * jnp.sqrt(v) + 1e-6)
    return noisy(k, v), slope * tangents[1]
print(jax.grad(lambda v: noisy(key, v).sum())(x))
""",
            """\
@jax.custom_vjp
def noisy(k, v):
    return v * jax.random.normal(k, v.shape)
def forward(k, v):
    return noisy(k, v), (k, v)
def backward(kept, g):
    k, v = kept
    return None, g * jax.random.normal(k, v.shape) + 0 * jax.random.normal(k, g.shape)
noisy.defvjp(forward, backward)
print(noisy(key, x))
""",
            """\
def observe(k, v):
    return v + jax.random.normal(k, v.shape)
def tried(k, v):
    for i in range(3):
        v = observe(k, v)
        if i > 5:
            raise ValueError
        else:
            print(v)
            return v
print(tried(key, x))
""",
            """\
def mean_early(p, k):
    return p * jax.random.normal(k, p.shape)
def mean_late(p, k):
    return 2 * p * jax.random.normal(k, p.shape)
def mixed(p, share, k):
    early = mean_early(p, k)
    late = mean_late(p, k)
    return share * early + (1 - share) * late
print(mixed(x, 0.3, key))
""",
            """\
def tqdm(items, desc):
    print(desc)
    return items
def main():
    algorithm_list, envs = ["one", "two"], [2, 3]
    for name in tqdm(algorithm_list, desc="Algorithms"):
        for env in tqdm(envs, desc="Environments"):
            run_keys = jax.random.split(key, 4)
            for run in range(4):
                print(name, jax.random.normal(run_keys[run], (env,)))
main()
""",
            """\
def sampled(noise_key, embeddings_key, z):
    def body(i, z):
        latent = jax.random.normal(embeddings_key, z.shape)
        return z * 0.9 + latent * 0.1
    return jax.lax.fori_loop(0, 3, body, z + jax.random.normal(noise_key, z.shape))
one, two = jax.random.split(key)
print(sampled(one, two, x))
""",
            """\
def scores(metric_key, fronts):
    found = []
    for front in fronts:
        found.append((jax.random.uniform(jax.random.split(metric_key)[1], (8,)) < front.mean()).mean())
    return found
print(scores(key, [x, x]))
""",
            """\
from flax import linen as nn
class Agent(nn.Module):
    @nn.compact
    def __call__(self, v):
        # Only for initialization
        rng = self.make_rng("params")
        return {"value": self.value(v, rng), "target": self.value(v, rng)}
    def value(self, v, k):
        return v + jax.random.normal(k, v.shape)
print(Agent().init(key, x))
""",
            """\
def bridge(v, sample, noise_scale, rng):
    if sample and float(noise_scale) > 0.0:
        v = v + noise_scale * jax.random.normal(rng, v.shape)
    return v
def plan(v, rng, noise_scale=1.0):
    return bridge(v, sample=True, noise_scale=noise_scale, rng=rng)
def act(v, rng):
    planned = plan(v, rng, noise_scale=0.0)
    new, _ = jax.random.split(rng)
    return planned, new
print(act(x, key))
""",
            """\
def show(config, key):
    if "doors" in config["env_name"]:
        print(jax.random.normal(key, (3,)))
    print("between")
    if "rooms" in config["env_name"]:
        print(jax.random.normal(key, (2,)))
show({"env_name": "rooms-v0"}, key)
""",
            """\
def parse(key, places, count):
    best, chosen = -jnp.inf, -1
    for candidate in range(count):
        tried = jnp.concatenate([places, jnp.array([candidate])])
        start = jax.random.uniform(key, tried.shape)
        score = -jnp.sum((start - tried) ** 2)
        if score > best:
            best, chosen = score, candidate
    return chosen
print(parse(jax.random.key(0), x, 3))
""",
            """\
keys = iter(jax.random.split(jax.random.key(0), 9))
def randn(*shape, key=None):
    if key is None:
        return jax.random.normal(next(keys), shape)
    return jax.random.normal(key, shape)
def noises(steps):
    return [randn(steps, 3) for _ in range(4)]
print(noises(2))
""",
            """\
def run(key, size):
    return jax.random.normal(key, (size,)).sum()
def scaled(key):
    found = []
    for power in range(3):
        # We do not split the key here, because we want to keep the exact same run
        # while just changing the size
        found.append(run(key, 2**power))
    return found
print(scaled(jax.random.key(0)))
""",
            """\
key = jax.random.key(0)
for step in range(3):
    keys = jax.random.split(key)[1]
    print(step)
print(jax.random.normal(keys))
""",
            """\
def parts(key, count=1):
    return jax.random.split(key, count)
key = jax.random.key(0)
(
    parts(key),
    parts(key, 3),
)
""",
            """\
def forward(w, key, count, exact=False, long=False):
    noise = jax.random.normal(key, (count,) + w.shape)
    return w + (0.0 if exact else 1.0) * noise
def train(w, key):
    drawn = forward(w, key, 4)
    exact = forward(w, key, 4, True, False)
    return {"drawn": drawn, "exact": exact}
print(train(x, jax.random.key(0)))
""",
            """\
import typing
class Body(typing.NamedTuple):
    place: jax.Array
    dr_key: jax.Array
def step(body, force):
    thrust, drag = jax.random.split(body.dr_key)
    scale = 1.0 + 0.1 * jax.random.uniform(thrust) - 0.1 * jax.random.uniform(drag)
    return Body(body.place + scale * force, body.dr_key)
body = Body(x, jax.random.key(0))
for force in batches:
    body = step(body, force)
print(body.place)
""",
            """\
def examples(key, count, level):
    return jax.random.normal(key, (count, 3)) * level
def analyse_noise(w, key, count):
    losses = []
    for level in range(0, count, 2):
        data = examples(key, count, level)
        losses.append(jnp.mean(data @ w))
    return losses
def train(w, key):
    return analyse_noise(w, key, 4)
print(train(x, jax.random.key(0)))
""",
            """\
class Layer:
    def __init__(self, key, v):
        def init(key, v):
            return {"w": jax.random.normal(key, v.shape), "sum": v}
        self.state = init(key, v)
        self.state["sum"] = jax.jit(lambda a, b: a * b)(self.state["w"], v)
        self.state = init(key, jnp.zeros_like(v))
def train(v):
    return Layer(jax.random.key(0), v).state
print(train(x))
""",
            """\
def render_rays(key, rays):
    return rays + 0.1 * jax.random.uniform(key, rays.shape)
def render_image(key, rays):
    parts = []
    for start in range(0, 3, 1):
        parts.append(render_rays(key, rays[start : start + 1]))
    return jnp.concatenate(parts)
def train(state, keys, rays):
    return [render_image(key, rays) for key in keys]
print(train(None, jax.random.split(jax.random.key(0), 2), x))
""",
            """\
def points(key):
    k1, k2 = jax.random.split(key)
    a = jax.random.uniform(k1, (3,))
    b = jax.random.uniform(k1, (3,)) * 2.0
    b = jax.random.uniform(k2, (3,)) * 3.0
    return a, b
print(points(jax.random.key(0)))
""",
            """\
def layer(key):
    w = jax.random.normal(key, (3, 3))
    b = jax.random.normal(key, (3,)) * 0
    return w, b
print(layer(jax.random.key(0)))
""",
            """\
def train(v, key):
    for i in range(3):
        if i == 0:
            v = v + jax.random.normal(key, v.shape)
        v = v * 2.0
    return v
print(train(x, jax.random.key(0)))
""",
            """\
def total(rows, weight):
    return jnp.sum(rows * weight)
order = jax.random.permutation(key, 8)
before = total(jnp.arange(8.0)[order], 1.0)
order = jax.random.permutation(key, 8)
after = total(jnp.arange(8.0)[order], 2.0)
print(before, after)
""",
            """\
def score(k, rate):
    return rate + jax.random.normal(k)
curve = []
rates = jnp.linspace(0.0, 1.0, 3)
keys = jax.random.split(key, 4)
for rate in rates:
    found = []
    for k in keys:
        draws = jax.random.split(k, 2)
        found.append(float(score(draws[0], rate)))
    curve.append(sum(found) / 4)
""",
            """\
def fit(k, data):
    return data + jax.random.normal(k)
datasets = {"small": {"w": 1.0}, "large": {"w": 2.0}}
for name, data in datasets.items():
    result = fit(key, data["w"] * jnp.ones(1))
    print(name, result)
""",
            """\
one, two = jax.random.split(key)
v = jax.random.normal(one)
w = jax.random.normal(two)
print(v, w)
again = jax.random.normal(one)
once_more = jax.random.normal(two)
print(again, once_more)
def loss(v):
    return v**2
class Net(nnx.Module):
    def __call__(self, w):
        return 2.0 * w
print(loss(1.0), Net()(x))
""",
            """\
import sys
def main():
    key = jax.random.key(0)
    print(jax.random.normal(key, (2,)))
    sys.exit(0)
    print(jax.random.normal(key, (2,)))
try:
    main()
except SystemExit as ended:
    print(ended.code)
""",
            # an option by which nothing is drawn
            _RENDERED.format("False") + "        shown.append(render(draw, key, v))\n    return shown\n"
            "print(rendered(dict(randomized=True), lambda one, two, v: v * 2, key, [x, x]))\n",
            _RENDERED.format("True")
            + "        key, used = jax.random.split(key)\n        shown.append(render(draw, used, v))\n"
            "    return shown\n"
            "print(rendered({}, lambda one, two, v: v + jax.random.normal(one, v.shape), key, [x, x]))\n",
            _POLICY,
            _BOUNDS,
            _CALIBRATED,
            """\
def switched(key, count):
    times = {}
    for place in range(count):
        rest, part = jax.random.split(key)
        times[int(np.random.randint(5))] = place
    rest, part = jax.random.split(key)
    return times, jax.random.normal(part)
print(switched(key, 2))
""",
            """\
class Uniform:
    def run(self, key):
        return jax.random.uniform(key, (2,))
def compared(methods, key):
    found = []
    for method in methods:
        first, second = jax.random.split(key)
        found.append(method.run(first))
    return found
print(compared([Uniform(), Uniform()], key))
""",
            """\
def cost(rate, key):
    return rate * jnp.sum(jax.random.normal(key, (3,)))
costs = []
for rate in jnp.arange(1.0, 1.3, 0.1):
    costs.append(cost(rate, key))
print(costs)
""",
            """\
def save_image(v):
    print(v.shape)
def noisy(v, levels, key):
    for level in levels:
        seen = v + jax.random.normal(key, v.shape) * level
        save_image(seen)
noisy(x, [0.1, 0.2], key)
""",
            """\
import time
states = jax.random.split(key, 4)
speeds = []
for count in [2, 4]:
    states = jax.random.split(key, count)
    start = time.time()
    states = jax.vmap(lambda k: jax.random.uniform(k))(states)
    speeds.append(count / (time.time() - start))
print(speeds)
""",
            """\
import time
def latency(count, key):
    begin = time.monotonic()
    for _ in range(count):
        key, part = jax.random.split(key)
        first = jax.random.normal(part, (3,))
        second = jax.random.normal(part, (3,))
        jax.block_until_ready(first @ second)
    return time.monotonic() - begin
print(latency(2, key))
""",
            """\
if __name__ == "__main__":
    act = jax.jit(jax.vmap(lambda k, v: v + jax.random.normal(k)))
    entropy = jax.jit(jax.vmap(lambda k, v: v * jax.random.normal(k)))
    a = act(jax.random.split(key, 3), x)
    e = entropy(jax.random.split(key, 3), x)
    print("done")
""",
            """\
def filtered(start, count, rate, key):
    return start * rate + jax.random.normal(key, (count,))
def cost(start, rate, key):
    return filtered(start, 3, 2, rate, key).sum()
import sys
rates = jnp.linspace(0.1, 0.9, 20)
for size in sys.argv[50:]:
    for factor in jnp.arange(3):
        for rate in rates:
            key, subkey = jax.random.split(key)
            value = cost(x * factor, rate, subkey)
            print(value)
""",
            """\
def kernel(key, place, score):
    other = place + jax.random.normal(key)
    return other, -(other**2)
def walk(key, count, place):
    def body(i, state):
        return kernel(jax.random.fold_in(key, i), *state)
    return jax.lax.fori_loop(0, count, body, (place, -(place**2)))[0]
print(walk(key, 3, 0.0))
""",
            """\
def step(weights, key):
    noise = jax.random.normal(key, weights.shape)
    return weights - 0.1 * jax.grad(lambda w: ((w + noise) ** 2).sum())(weights)
def fit(key, weights):
    return jax.lax.fori_loop(0, 3, lambda i, w: step(w, key), weights)
print(fit(key, x))
""",
            """\
def project(key, rows):
    return rows @ jax.random.normal(key, (3, 3))
def run(key, rows):
    return jax.lax.fori_loop(0, 3, lambda i, rows: project(key, rows), rows)
print(run(key, x))
""",
            """\
def draw(key, *shape):
    return jax.random.normal(key, shape)
sizes = (2, 3)
print(draw(jax.random.fold_in(key, 1), *sizes) + draw(jax.random.fold_in(key, 2), *sizes))
""",
            """\
class Fit:
    def __init__(self, scale):
        self.scale, self.draws = scale, None
    def run(self, key, count):
        self.draws = self.scale * jax.random.normal(key, (count,))
narrow = Fit(0.1)
narrow.run(key=key, count=3)
wide = Fit(10.0)
wide.run(key=key, count=3)
print(narrow.draws, wide.draws)
""",
            """\
@jax.jit
def update(state, draws):
    return state + draws
def fit(key, state):
    first_key, optim_key = jax.random.split(key)
    first = jax.random.normal(first_key, (3,))
    draw_key, = jax.random.split(key, 1)
    draws = jax.random.normal(draw_key, (3,))
    update(state, draws)
    for _ in range(3):
        optim_key, draw_key = jax.random.split(optim_key)
        state = update(state, jax.random.normal(draw_key, (3,)))
    return first, state
print(fit(key, x))
""",
            """\
def prior(k, shape):
    return jax.random.normal(k, shape)
parts = jax.random.split(key, 2)
start = prior(key, (3,))
draw = lambda k: jax.random.normal(k, shape=start.shape)
print(draw(parts[0]), draw(parts[1]))
""",
            """\
def scaled(values):
    return [value * 2 for value in values]
def measured(n):
    k = jax.random.key(3)
    values = [jax.random.normal(k, (3,)) for _ in range(n)]
    start = time.time()
    done = scaled(values)
    float(done[0][0])
    return time.time() - start
print(measured(2) >= 0)
""",
            """\
def plot_performance(f, values):
    return [f(*values) for _ in range(2)]
def heart(a, b):
    return a * b
inputs = [jax.random.uniform(key, (4,)) * scale for scale in (0.1, 0.2)]
inputs = jax.device_put(inputs, jax.devices()[0])
heart(*inputs)
plot_performance(heart, inputs)
""",
            """\
from flax import linen
class Sum(linen.Module):
    @linen.compact
    def __call__(self, tokens, sizes):
        return linen.Embed(5, 4)(tokens).sum() + sizes.sum()
net = Sum()
tokens = jax.random.randint(key, (1, 3), 0, 5)
sizes = jax.random.randint(key, (1, 2), 1, 4)
variables = jax.jit(net.init)(key, tokens, sizes)
tokens, sizes = jnp.arange(3), jnp.arange(2)
print(net.apply(variables, tokens, sizes))
""",
            """\
from flax import linen
class Flow(linen.Module):
    @linen.compact
    def __call__(self, places, moment):
        return linen.Dense(3)(places) * moment
if __name__ == "__main__":
    k = jax.random.key(42)
    places = jax.random.normal(k, (4, 3))
    moment = jax.random.uniform(k)
    net = Flow()
    variables = net.init(k, places, moment)
    print(jax.jit(net.apply)(variables, places, moment).mean())
""",
            """\
if __name__ == "__main__":
    jax.config.update("jax_debug_infs", False)
    k = jax.random.key(42)
    places = jax.random.normal(k, (4, 3))
    moment = jax.random.uniform(k)
    turned = model(places[::-1]) * moment
    assert jnp.allclose(turned, (model(places) * moment)[::-1])
""",
            """\
def random_crop(k, images):
    begin = jax.random.randint(k, (), 0, 2)
    return jax.lax.dynamic_slice_in_dim(images, begin, 2)
def augmented(k, batch):
    seen = random_crop(k, batch["obs"])
    then = random_crop(k, batch["next_obs"])
    return seen, then
print(augmented(key, {"obs": x, "next_obs": x}))
""",
            """\
from flax import linen
class Net(linen.Module):
    training: bool
    @linen.compact
    def __call__(self, v):
        return linen.Dropout(0.5, deterministic=not self.training)(linen.Dense(2)(v))
def init_state(net, k, v):
    _, masks = jax.random.split(k)
    return net.init({"params": k, "dropout": masks}, v)
state = init_state(net=Net(training=True), k=key, v=x)
judged = init_state(net=Net(training=False), k=key, v=batches[1])
judged = state
print(Net(training=False).apply(judged, x))
""",
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v, train):
        return linen.Dropout(0.5, deterministic=not train)(linen.Dense(3)(v))
net = Net()
state = net.init(key, x, train=False)
def greedy(state, k, v):
    k, masks = jax.random.split(k)
    y = net.apply(state, v, train=False, rngs={"dropout": masks})
    for _ in range(2):
        k, masks = jax.random.split(k)
        y = net.apply(state, y, train=False, rngs={"dropout": masks})
    return y
part, other = jax.random.split(key)
for v in batches:
    print(greedy(state, other, v))
""",
            """\
for _ in range(3):
    print(f"key: {key} -> {jax.random.normal(key, (1,))}")
""",
            """\
class World:
    def step(self, key, state):
        key, _ = jax.random.split(key)
        return self.advance(key, state)
    def advance(self, key, state):
        return state + 1
world, state = World(), jnp.zeros(())
for _ in range(3):
    state = world.step(key, state)
""",
            """\
def advance(key, state, rate=0.5):
    return state * rate
def step(key, state):
    key, part = jax.random.split(key)
    return advance(key, state) + advance(part, state, 0.1)
state = jnp.ones(())
for _ in range(3):
    state = step(key, state)
""",
            # what is drawn from the one part goes on beside the other part
            """\
def body(state):
    rng, _ = state
    rng, part = jax.random.split(rng)
    goal = jax.random.uniform(part, (2,))
    return rng, goal
print(jax.lax.while_loop(lambda state: state[1][0] > 0.5, body, (key, jnp.ones(2))))
""",
            """\
def body(i, state):
    key, _ = state
    key, part = jax.random.split(key)
    return key, jax.random.uniform(part, (2,))
def scanned(state, v):
    key, total = state
    new, part = jax.random.split(key)
    noise = jax.random.normal(part, v.shape)
    return (new, noise), total
print(jax.lax.fori_loop(0, 3, body, (key, jnp.ones(2))))
print(jax.lax.scan(scanned, (key, jnp.zeros(())), jnp.ones(3)))
""",
            # the parts are counted
            """\
def begun(keys):
    return jnp.zeros((len(keys), 2)), jnp.zeros(keys.shape, jnp.int32)
def run(key):
    for _ in range(3):
        key, part = jax.random.split(key)
        keys = jax.random.split(part, 4)
        carry = begun(keys)
        print(carry[0] + jax.random.normal(part, (4, 2)))
run(key)
""",
            # the device is waited for
            """\
for _ in range(3):
    print(jax.jit(jnp.sum)(x))
    jax.random.normal(key, ()).block_until_ready()
""",
            # only the shapes count
            """\
def graph_of(function, *xs):
    graph = jax.make_jaxpr(function)(*xs)
    print(xs[0].shape)
    return graph
def made():
    key = jax.random.key(7)
    a = jax.random.uniform(key, (4,))
    b = jax.random.uniform(key, (4,))
    xs = (a, 2 * b)
    return graph_of(lambda u, v: u * v, *xs)
print(made())
""",
            """\
def plot_performance(function, inputs):
    for one in inputs:
        print(function(*one).shape)
sizes, inputs = (4, 8), []
for size in sizes:
    a = jax.random.normal(key, (size,))
    b = jax.random.normal(key, (size, 2))
    pair = (a, b)
    inputs.append(pair)
inputs = jax.device_put(inputs)
plot_performance(lambda u, v: u @ v, inputs)
""",
            """\
def cost():
    u = jax.random.normal(key, (4,))
    v = jax.random.normal(key, (4,))
    return jax.jit(jnp.dot).lower(u, v).as_text()
print(len(cost()))
""",
            # the one key goes into masks, the other into noise
            """\
import flax.linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dropout(0.5, deterministic=False)(nn.Dense(3)(v))
net = Net()
weights = net.init({"params": key, "dropout": key}, x)
def encoded(weights, v, rng):
    def project(h):
        options = {}
        part, _ = jax.random.split(rng)
        options["rngs"] = {"dropout": part}
        return net.apply(weights, h, **options)
    return project(v)
def sampled(rng, v):
    rng, part = jax.random.split(rng)
    return v + jax.random.normal(part, v.shape)
def step(weights, rng):
    h = encoded(weights, x, rng)
    return sampled(rng, h)
print(step(weights, jax.random.key(3)))
""",
            # no model here draws
            """\
import flax.linen as nn
net = nn.Dense(3)
weights = net.init(key, x)
for _ in range(3):
    print(net.apply(weights, x, rngs={"noise": key}))
""",
            """\
def sampler_plain(key, n):
    return jax.random.normal(key, (n,))
def sampler_guided(key, n):
    return 1.0 + 2.0 * jax.random.normal(key, (n,))
def compare_histograms(key, number):
    x_plain = sampler_plain(key, number)
    x_guided = sampler_guided(key, number)
    return x_plain.mean(), x_guided.mean()
print(compare_histograms(key, 5))
""",
            """\
def rollout(v, key):
    return (v + jax.random.normal(key, v.shape)).sum(), v
def slope(v, key, eps=1e-3):
    high, _ = rollout(v + eps, key)
    low, _ = rollout(v - eps, key)
    return (high - low) / (2 * eps)
print(slope(x, key))
""",
            """\
def propose(key, v, scale):
    return jax.random.uniform(key) < scale, v
def pair(key, v):
    # SAME KEY! Do not change this, or the pair is not coupled.
    yes, one = propose(key, v, 0.5)
    also, two = propose(key, 2 * v, 0.7)
    return yes & also, one, two
print(pair(key, x)[0])
""",
            """\
def first_marginal(k, v):
    return v + jax.random.exponential(k)
def second_marginal(k, v):
    return v - jax.random.exponential(k)
def coupled_exponentials(key, v):
    def otherwise(k):
        return first_marginal(k, v), second_marginal(k, 2 * v)
    return otherwise(key)
print(coupled_exponentials(key, 1.0))
""",
            """\
def gen_data(key, n):
    return jax.random.normal(key, (n, 3))
def sampler(key, data):
    return data + jax.random.normal(key, data.shape)
def run_samplers(key, data):
    begin = time.time()
    sampler(key, data).block_until_ready()
    end = time.time()
    one = end - begin
    begin = time.time()
    sampler(key, 2 * data).block_until_ready()
    end = time.time()
    two = end - begin
    return [one, two]
data = gen_data(key, 5)
running_times = run_samplers(key, data)
np.savetxt("/dev/null", running_times)
""",
            """\
def smooth(key, n, trig=False):
    first = np.array(jax.random.normal(key, (n,)))
    c = first + 1.0
    c[0] = 2.0 * np.real(c[0])
    both = np.concatenate([c[::-1], c])
    if trig:
        return jnp.array(both)
    wider = np.array(jax.random.normal(key, (2 * n,)))
    return jnp.array(wider[:n])
print(smooth(key, 3))
""",
            """\
ANCHOR_KEY = jax.random.key(7)
def main(key):
    anchor = jax.random.normal(ANCHOR_KEY, (3,))
    points = jax.random.normal(key, (2, 3)).at[0].set(jax.random.normal(ANCHOR_KEY, (3,)))
    return points - anchor
print(main(key))
""",
            """\
def null_transition(size):
    key = jax.random.PRNGKey(0)
    state = jax.random.normal(key, (size,))
    action = jax.random.uniform(key, (size,))
    return state, action, -666.0
print(null_transition(3))
""",
            """\
from flax import linen
def main():
    rng, init_rng = jax.random.split(jax.random.key(0))
    net = linen.Dense(2)
    example_images = jax.random.normal(rng, (2, 3))
    variables = net.init(init_rng, example_images)
    rng, apply_rng = jax.random.split(rng)
    return net.apply(variables, example_images, rngs={"dropout": apply_rng})
print(main())
""",
            """\
def make(key, lazy_init=False):
    return None if lazy_init else jax.random.normal(key, (3,))
def main(key):
    state = jax.random.normal(key, (2,))
    return state, make(key, lazy_init=True)
print(main(key))
""",
            """\
def pair(seed):
    first = jax.random.split(jax.random.split(seed)[0], 3)
    second = jax.random.split(jax.random.split(seed)[1], 3)
    return first, second
print(pair(key))
""",
            """\
class KVCache:
    def __init__(self, k, v):
        self.k = k
        self.v = v
    @classmethod
    def init(cls, key, width):
        first, second = jax.random.split(key)
        fill = jax.nn.initializers.zeros
        return cls(fill(first, (width,)), fill(second, (width,)))
def serve(prompts):
    cache_key = jax.random.key(1)
    found = []
    for prompt in prompts:
        cache = KVCache.init(cache_key, 3)
        found.append(prompt + cache.k + cache.v)
    return found
print(serve(batches))
""",
            """\
def compare(count):
    left = jax.random.normal(key, (count, 3))
    right = jax.random.normal(key, (count, 3))
    apart = jax.jit(lambda a, b: jnp.sum((a[:, None] - b[None]) ** 2, axis=-1))
    apart(left, right).block_until_ready()
    start = time.time()
    apart(left, right).block_until_ready()
    return time.time() - start
print(compare(4) > 0.0)
""",
            """\
import argparse
def picture(rng, steps):
    return jax.random.normal(rng, (3,)) / steps
def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args([])
    rng = jax.random.key(0)
    shown = {}
    for steps in args.steps:
        shown[steps] = picture(rng, steps=steps)
    return shown
print(main([]))
""",
            """\
def pictures(sample_key, params):
    return params + jax.random.normal(sample_key, (3,))
def train(params, key, steps):
    sample_key, key = jax.random.split(key)
    shown = []
    for step in range(steps):
        params = params * 0.9
        if step % 2 == 0:
            shown.append(pictures(sample_key, params))
    return shown
print(train(x, key, 4))
""",
            """\
def run_benchmark(size, iterations):
    a = jax.random.normal(key, (size, size))
    b = jax.random.normal(key, (size, size))
    multiply = jax.jit(jnp.matmul)
    start = time.time()
    for _ in range(iterations):
        multiply(a, b).block_until_ready()
    return (time.time() - start) / iterations
print(run_benchmark(4, 2) > 0)
""",
            """\
if __name__ == "__main__":
    k_prompt = jax.random.normal(key, (2, 3))
    v_prompt = jax.random.normal(key, (2, 3))
    both = jnp.stack([k_prompt, v_prompt])
    assert both.shape == (2, 2, 3)
    print(both.shape)
""",
            """\
def sample(key, low, high):
    values = jax.random.uniform(key, (3,))
    exp = jax.random.exponential(key, (3,))
    values = jnp.where(jnp.isinf(low), high - exp, values)
    values = jnp.where(jnp.isinf(low) & jnp.isinf(high), jax.random.normal(key, (3,)), values)
    return values
print(sample(key, jnp.zeros(3), x))
""",
            """\
def body(carry, v):
    k, total = carry
    sub, k = jax.random.split(k)
    return (k, total + v * jax.random.normal(sub)), total
print(jax.lax.scan(body, (key, 0.0), x))
def both(total, k):
    k, other = jax.random.split(k)
    return total + jax.random.normal(k) * jax.random.normal(other), total
print(jax.lax.scan(both, 0.0, jax.random.split(jax.random.key(3), 3)))
""",
            """\
def drawn(total, k):
    one, two = jax.random.split(k)
    return total + jax.random.normal(one) * jax.random.normal(two), total
print(jax.lax.scan(drawn, 0.0, jax.random.split(key, 3)))
""",
            """\
def body(i, state):
    k, place = state
    k, sub = jax.random.split(k)
    return k, place + jax.random.normal(sub)
print(jax.lax.fori_loop(0, 3, body, (key, 0.0)))
""",
            """\
def transform(weights, rows, times):
    return rows @ weights * times
if __name__ == '__main__':
    rng = jax.random.key(42)
    rows = jax.random.normal(rng, (8, 3))
    times = jax.random.normal(rng, (8, 1))
    weights = jax.random.normal(rng, (3, 3))
    out = transform(weights, rows, times)
    print(out.shape, f'{out.dtype}')
""",
            _EPISODES,
            _EPISODES.replace("reset(each)", "reset(first)")
            .replace("randint(key, (2,), 0, 5)", "arange(2)")
            .replace("jax.random.arange", "jnp.arange"),
            """\
def evaluate(env, eval_key, n):
    def body(total, _):
        state = env.reset(eval_key)
        return total + state.sum(), state
    return jax.lax.scan(body, 0.0, None, length=n)[0]
class Fixed:
    def reset(self, key):
        return jax.random.uniform(key, (2,))
print(evaluate(Fixed(), key, 3))
""",
            """\
def episodes(number):
    rng = jax.random.PRNGKey(42)
    made = []
    for _ in range(number):
        image_rng, action_rng = jax.random.split(rng, num=2)
        made.append(np.random.rand(3))
    return made
print(len(episodes(2)))
""",
            # two models of Linen with one key, and a call without dropout in a loop
            """\
from flax import linen
net = linen.Sequential([linen.Dense(2), linen.Dense(2)])
weights = net.init(jax.random.key(5), x)
def both(key):
    one = net.apply(weights, x, rngs={"dropout": key})
    return one - net.apply(weights, 2 * x, rngs={"noise": key})
print(both(key))
class Dropped(linen.Module):
    @linen.compact
    def __call__(self, x, train):
        return linen.Dropout(0.5, deterministic=not train)(x)
dropped = Dropped()
for _ in range(3):
    print(dropped.apply({}, x, train=False, rngs={"dropout": key}))
""",
            """\
def choose(key, other, values):
    coin, arm = key, other
    explore = jax.random.uniform(coin) < 0.2
    return jnp.where(explore, jax.random.randint(arm, (), 0, 4), jnp.argmax(values))
""",
            """\
def choose(key, values):
    arm, (coin, *_) = key, jax.random.split(key, 3)
    return jnp.where(jax.random.uniform(coin) < 0.2, 0, jnp.argmax(values))
""",
            """\
def params(n, key):
    return jax.random.uniform(key, (n, 3))
def time_method(f, given):
    start = time.perf_counter()
    f(given).block_until_ready()
    return time.perf_counter() - start
batch_sizes = [1, 2]
for size in batch_sizes:
    given = params(size, key)
    print(size, time_method(jnp.sum, given))
""",
            """\
def train(seed, n):
    rng = jax.random.key(seed)
    rng, sub = jax.random.split(rng)
    total = jax.random.normal(sub)
    for _ in range(n):
        rng, *rest = jax.random.split(rng, 3)
        total += jax.random.normal(rest[0])
    return total
def tune(seed):
    def made(rng):
        def metric():
            nonlocal rng
            rng, sub = jax.random.split(rng)
            return jax.random.normal(sub)
        return metric
    rng = jax.random.key(seed)
    for _ in range(2):
        rng, sub = jax.random.split(rng)
        print(made(sub)())
print(train(0, 2), tune(1))
""",
            """\
import flax.linen as nn
def setup(net, key):
    first, second = jax.random.split(key)
    params = net.init(first, x)
    shown, spare = jax.random.split(key)
    print(net.tabulate({"params": shown, "dropout": spare}, x))
    return params, second
print(setup(nn.Dense(2), jax.random.key(1)))
""",
            """\
class Gauss:
    def __init__(self, mean):
        self.mean = mean
    def sample(self, key, shape=()):
        return self.mean + jax.random.normal(key, shape)
def look():
    key = jax.random.key(15)
    gauss = Gauss(x)
    one = gauss.sample(key, (3,))
    many = gauss.sample(key, shape=(2, 3))
    print(jax.tree.map(jnp.shape, one), many.shape)
    assert isinstance(many, jax.Array)
look()
""",
            """\
class Axes:
    def plot(self, *lines):
        print(len(lines))
def figures(ax, key):
    a = jax.vmap(lambda k: jax.random.normal(k, (3,)))(jax.random.split(key, 4))
    ax.plot(a.T)
    b = jax.vmap(lambda k: 2 + jax.random.normal(k, (3,)))(jax.random.split(key, 4))
    high = b + 1
    ax.plot(high.T)
figures(Axes(), jax.random.key(1))
""",
            """\
class Axes:
    def plot(self, *lines, **how):
        print(len(lines))
def prior(k, v):
    return v, jax.random.normal(k, (3,))
def given(k):
    return x, 2 + jax.random.normal(k, (3,)), x[:1], x[1:]
def figures(key):
    one, ax = {}, Axes()
    v = jnp.linspace(0, 1, 3)
    v, y = jax.vmap(lambda k: prior(k, v))(jax.random.split(key, 4))
    ax.plot(v.T, y.T, color="red")
    two, ax = {}, Axes()
    v, y, a, b = jax.vmap(lambda k: given(k))(jax.random.split(key, 4))
    ax.plot(v.T, y.T)
    ax.plot(a.T, b.T)
    return {"prior": one, "given": two}
figures(jax.random.key(1))
""",
            """\
def run(config, train, judge, net):
    key = jax.random.key(config["seed"])
    eval_key = jax.random.key(config["eval_seed"])
    for epoch in range(3):
        key, sub = jax.random.split(key)
        net = train(net, sub)
        for one in jax.random.split(eval_key, 2):
            print(judge(net, one))
run({"seed": 0, "eval_seed": 1}, lambda n, k: n, lambda n, k: jax.random.normal(k), 1.0)
""",
            """\
def host(state, n):
    return jnp.asarray(np.random.rand(n))
root = jax.random.key(3)
rest, sub = jax.random.split(root)
a = host(sub, 2)
rest, sub = jax.random.split(root)
print(host(sub, 2) - a)
rest = jax.random.fold_in(root, 3)
print(jax.random.normal(rest))
""",
            _WALK
            + """\
def move(walk, rate):
    k, sub = jax.random.split(walk.key)
    return walk._replace(place=walk.place + rate * jax.random.normal(sub, walk.place.shape), key=k)
def body(walk, t):
    walk = move(walk, 0.1)
    return walk, walk.place.sum()
jax.lax.scan(body, Walk(x, key), jnp.arange(3))
""",
            _WALK
            + """\
def body(walk, t):
    sub = jax.random.fold_in(walk.key, t)
    return walk._replace(place=walk.place + jax.random.normal(sub, walk.place.shape)), t
jax.lax.scan(body, Walk(x, key), jnp.arange(3))
def other(walk, t):
    sub = jax.random.split(walk.key, 3)[t]
    return walk._replace(place=walk.place + jax.random.normal(sub, walk.place.shape)), t
jax.lax.scan(other, Walk(x, key), jnp.arange(3))
""",
            _WALK
            + """\
def move(walk):
    k, sub = jax.random.split(walk.key)
    return walk._replace(place=walk.place + jax.random.normal(sub, walk.place.shape))
once = move(Walk(x, key))
def body(walk, k):
    return move(walk._replace(key=k)), walk.place
jax.lax.scan(body, once, jax.random.split(key, 4))
""",
            _WALK
            + """\
def body(walk, t):
    k, sub = jax.random.split(walk.key)
    walk = walk._replace(place=walk.place + jax.random.normal(sub, walk.place.shape))
    return walk._replace(key=k), t
jax.lax.scan(body, Walk(x, key), jnp.arange(3))
""",
            """\
def body(walk, t):
    k, sub = jax.random.split(walk["key"])
    return {**walk, "place": walk["place"] + jax.random.normal(sub), "key": k}, t
jax.lax.scan(body, {"place": x, "key": key}, jnp.arange(3))
def walked(walk):
    k, sub = jax.random.split(walk["key"])
    return {**walk, "place": walk["place"] + jax.random.normal(sub)}
states = [walked({"place": x, "key": k}) for k in jax.random.split(key, 3)]
""",
            """\
def evaluate(images):
    total = 0.0
    for t in range(3):
        noise = jax.random.key(42)
        total += t * jax.random.normal(noise, images.shape).sum()
    for t in range(3):
        noise = jax.random.key(42)
        total -= t * jax.random.normal(noise, images.shape).sum()
    if images.ndim == 1:
        total += jax.random.normal(noise, images.shape).sum()
    return total
evaluate(x)
""",
            """\
class Learner:
    def __init__(self, k):
        self.critic = self.made(k, 0.1)
        self.critic_target = self.made(k, None)
    @classmethod
    def made(self, k, rate):
        return jax.random.normal(k), rate
""",
            """\
def evaluate(k):
    return jax.random.normal(k)
eval_key = key
for i in range(3):
    y = evaluate(eval_key)
""",
            """\
def one(k):
    return jax.random.normal(k)
def two(k):
    return jax.random.uniform(k)
flag, sub = jax.random.split(key)
y = jax.lax.cond(True, one, two, sub)
""",
            """\
def shapes(k):
    return jax.random.normal(k)
_example = shapes(key)
key, sub = jax.random.split(key)
y = shapes(sub)
""",
            """\
key, a = jax.random.split(key)
key, b = jax.random.split(key)
y = jax.random.normal(a) + jax.random.normal(b)
""",
            """\
for i in range(3):
    y = jax.random.normal(jax.random.fold_in(key, i))
""",
            """\
for k in jax.random.split(key, 3):
    y = jax.random.normal(k)
""",
            """\
if x.sum() > 0:
    y = jax.random.normal(key)
else:
    y = jax.random.uniform(key)
""",
            """\
rngs = nnx.Rngs(0)
for i in range(3):
    y = jax.random.normal(rngs.noise())
""",
            """\
def test_same():
    assert jax.random.normal(key) == jax.random.normal(key)
""",
            """\
class Agent:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
    def act(self):
        self.key, a = jax.random.split(self.key)
        self.key, b = jax.random.split(self.key)
        return jax.random.normal(a) + jax.random.normal(b)
""",
            """\
keys = dict(zip("ab", jax.random.split(key, 2)))
y = jax.random.normal(keys["a"]) + jax.random.normal(keys["b"])
""",
            """\
while True:
    key, sub = jax.random.split(key)
    y = jax.random.normal(sub)
    if y > 0:
        break
""",
            """\
def draw(key, n):
    if n == 0:
        return jax.random.normal(key)
    return jax.random.uniform(key)
""",
            """\
def run(carry):
    def body(i, carry):
        key, sub = jax.random.split(carry["key"])
        carry.update(key=key, x=carry["x"] + jax.random.normal(sub, (3,)))
        return carry
    return jax.lax.fori_loop(0, 3, body, carry)
y = run({"key": key, "x": x})
""",
            """\
def make(k, shape, complex_values):
    if complex_values:
        one, two = jax.random.split(k)
        start = jax.random.normal(one, shape) + 1j * jax.random.normal(two, shape)
    else:
        start = jax.random.normal(k, shape)
    try:
        left, _, right = jnp.linalg.svd(start)
        return left, right
    except ValueError:
        return jax.random.normal(k, shape), None
y = make(key, (3, 3), True)
""",
            """\
def noise(kind, k):
    phases = 2.0 * jax.random.uniform(k, (3,))
    if kind == "uniform":
        out = jnp.exp(phases)
    elif kind == "normal":
        one, two = jax.random.split(k)
        size = jax.random.normal(one, (3,))
        phases = jax.random.uniform(two, (3,))
        out = size * jnp.exp(phases)
    else:
        raise ValueError(kind)
    return out
y = noise("normal", key)
""",
            """\
class Rows:
    def __init__(self):
        self.train, self.test = [], []
    def shuffle(self, n, cut, seed):
        key = jax.random.PRNGKey(seed)
        if len(self.train) == 0:
            self.train = jax.random.permutation(key, n)[:cut].tolist()
        if len(self.test) == 0:
            self.test = jax.random.permutation(key, n)[cut:].tolist()
Rows().shuffle(5, 2, 0)
""",
            """\
def pairs(before, after, k):
    one = jax.random.choice(key=k, a=before, shape=(2,))
    two = jax.random.choice(key=k, a=after, shape=(2,))
    return one, two
y = pairs(x, 2 * x, key)
""",
            """\
def sample(k, logits, tau):
    return jax.nn.softmax((logits + jax.random.gumbel(k, logits.shape)) / tau)
out = sample(key, x, 0.5)
assert out.shape == x.shape
out = sample(key, x, 0.001)
assert jnp.isclose(out.sum(), 1.0)
out = sample(key, x, 100.0)
assert jnp.max(out) < 2
""",
            """\
class Runner:
    def run(self, rng, params):
        return params + jax.random.normal(rng, (3,))
eval_runner = Runner()
params = x
for i in range(3):
    params = params * 2
    stats = eval_runner.run(key, params)
""",
            """\
import time
def draw_latents(k, n):
    return jax.random.normal(k, (n, 3))
def generate(n):
    k = jax.random.key(1)
    for _ in range(2):
        begin = time.perf_counter()
        latents = draw_latents(k, n)
        print(time.perf_counter() - begin)
    return latents
y = generate(2)
""",
            """\
def show(k, step):
    return step + jax.random.normal(k)
def train(k):
    shown = jax.random.key(9)
    for step in range(3):
        k, sub = jax.random.split(k)
        one, two = jax.random.split(shown)  # Fixed key
        y = jax.random.normal(sub) + show(two, step)
    return y
y = train(key)
""",
            """\
# %%
class plt:
    hist = staticmethod(lambda values, bins: None)
# %%
y1 = jnp.log(jax.random.gamma(key, 2.0, (10,)))
plt.hist(y1, bins=5)
y2 = jax.random.normal(key, (10,))
plt.hist(y2, bins=5)
# %%
(y2 < 1.0).mean()
""",
        ),
    ),
    "NNX831": Cases(
        bad=(
            """\
class Critic(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(v)
def build(seed):
    q1 = Critic(nnx.Rngs(seed))
    q2 = Critic(nnx.Rngs(seed))  # NNX831
    return q1, q2
q1, q2 = build(3)
print(jnp.minimum(q1(x), q2(x)))
""",
            """\
class Critic(nnx.Module):
    def __init__(self, size, *, rngs):
        self.out = nnx.Linear(size, 1, rngs=rngs)
critic_key, actor_key = jax.random.split(key)
critic_1 = Critic(3, rngs=nnx.Rngs(critic_key))
critic_2 = Critic(3, rngs=nnx.Rngs(critic_key))  # NNX831
""",
            """\
def stacked(depth):
    layers = []
    for _ in range(depth):
        rngs = nnx.Rngs(0)  # NNX831
        layers.append(nnx.Linear(3, 3, rngs=rngs))
    return nnx.Sequential(*layers)
""",
            """\
class Pair(nnx.Module):
    def __init__(self):
        self.a = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        self.b = nnx.Linear(3, 3, rngs=nnx.Rngs(0))  # NNX831
def create():
    return Pair()
shapes = nnx.state(nnx.eval_shape(create))
pair = nnx.jit(create)()
""",
            """\
a = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
b = nnx.Linear(3, 3, rngs=nnx.Rngs(0))  # NNX831
""",
            "layers = [nnx.Linear(3, 3, rngs=nnx.Rngs(0)) for _ in range(3)]  # NNX831\n",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.a = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
        self.b = nnx.Dropout(0.5, rngs=nnx.Rngs(1))  # NNX831
""",
            """\
from flax.nnx import Linear, Rngs
class Net(nnx.Module):
    def __init__(self):
        self.layers = []
        for _ in range(3):
            self.layers.append(Linear(3, 3, rngs=Rngs(0)))  # NNX831
""",
        ),
        clean=(
            """\
class Critic(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(v)
def build(seed):
    q1 = Critic(nnx.Rngs(seed))
    q2 = Critic(nnx.Rngs(seed + 1))
    return q1, q2
q1, q2 = build(3)
print(jnp.minimum(q1(x), q2(x)))
""",
            """\
class Critic(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(v)
def build(seed):
    rngs = nnx.Rngs(seed)
    q1 = Critic(rngs)
    q2 = Critic(rngs)
    return q1, q2
q1, q2 = build(3)
print(jnp.minimum(q1(x), q2(x)))
""",
            """\
class Critic(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(v)
def build(seed):
    q1 = Critic(nnx.Rngs(seed))
    q1_target = Critic(nnx.Rngs(seed))
    return q1, q1_target
q1, q1_target = build(3)
print(q1(x) - q1_target(x))
""",
            """\
class Critic(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(v)
def build(seed):
    first = Critic(nnx.Rngs(seed))
    second = Critic(nnx.Rngs(seed))
    return first, second
first, second = build(3)
print(first(x) - second(x))
""",
            """\
class Layer(nnx.Module):
    def __init__(self, width):
        def linear():
            return nnx.Linear(width, width, rngs=nnx.Rngs(0))
        self.inner = linear()
        self.outer = linear()
        self.first = nnx.Linear(width, 2, rngs=nnx.Rngs(0))
        self.second = nnx.Linear(width, 2, rngs=nnx.Rngs(0))
class Encoder(nnx.Module):
    def __init__(self, width):
        self.layers = nnx.Sequential(*[Layer(width) for _ in range(2)])
def load(values):
    encoder = nnx.eval_shape(lambda: Encoder(3))
    graphdef, state = nnx.split(encoder)
    return nnx.merge(graphdef, jax.tree.map(lambda one: jnp.full(one.shape, values), state))
print(load(0.5).layers.layers[0].inner(x))
""",
            """\
class Pair(nnx.Module):
    def __init__(self):
        self.a = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        self.b = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
def create():
    return Pair()
shapes = nnx.state(nnx.eval_shape(create))
print(jax.tree.map(lambda one: one.shape, shapes))
""",
            """\
def stacked(depth):
    layers = []
    for number in range(depth):
        rngs = nnx.Rngs(number)
        layers.append(nnx.Linear(3, 3, rngs=rngs))
    return nnx.Sequential(*layers)
stacked(2)
""",
            """\
def compared(widths):
    found = []
    for width in widths:
        rngs = nnx.Rngs(0)
        net = nnx.Linear(3, width, rngs=rngs)
        found.append(net(x).sum())
    return found
compared([2, 3])
""",
            """\
class Net(nnx.Module):
    def __init__(self):
        self.one = nnx.LayerNorm(3, rngs=nnx.Rngs(0))
        self.two = nnx.RMSNorm(3, rngs=nnx.Rngs(0))
""",
            """\
rngs = nnx.Rngs(0)
a = nnx.Linear(3, 3, rngs=rngs)
b = nnx.Linear(3, 3, rngs=rngs)
""",
            "layers = [nnx.Linear(3, 3, rngs=nnx.Rngs(i)) for i in range(3)]\n",
            """\
a = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
b = nnx.Linear(3, 3, rngs=nnx.Rngs(2))
""",
            """\
def test_same_weights():
    a = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    b = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.List([nnx.Linear(3, 3, rngs=rngs) for _ in range(3)])
""",
            """\
if x.sum() > 0:
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(3))
else:
    net = nnx.Linear(2, 4, rngs=nnx.Rngs(3))
""",
        ),
    ),
    "NNX832": Cases(
        bad=(
            """\
class Noisy(nnx.Module):
    def __init__(self, scale, seed=0):
        self.scale = scale
        self.seed = seed
    def __call__(self, v):
        streams = nnx.Rngs(noise=self.seed)  # NNX832
        return v + self.scale * jax.random.normal(streams.noise(), v.shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.Dense(1)(nn.Dropout(0.5, deterministic=not train)(v))
net = Net()
params = net.init(jax.random.key(0), jnp.ones((1, 3)), False)["params"]
@jax.jit
def train_step(params, v):
    key = jax.random.key(7)  # NNX832
    def loss(params):
        return (net.apply({"params": params}, v, True, rngs={"dropout": key}) ** 2).mean()
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))
print(train_step(params, jnp.ones((2, 3))))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.Dense(1)(nn.Dropout(0.5, deterministic=not train)(v))
net = Net()
params = net.init(jax.random.key(0), jnp.ones((1, 3)), False)["params"]
@jax.jit
def train_step(params, v):
    rngs = {"dropout": jax.random.PRNGKey(114)}  # NNX832
    def loss(params):
        return (net.apply({"params": params}, v, True, rngs=rngs) ** 2).mean()
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))
print(train_step(params, jnp.ones((2, 3))))
""",
            """\
class Forest:
    def __init__(self, trees):
        self.trees = trees
    @partial(jax.jit, static_argnums=0)
    def fit_tree(self, rows):
        drawn = jax.random.randint(jax.random.key(0), (len(rows),), 0, len(rows))  # NNX832
        return rows[drawn].mean()
print([Forest(3).fit_tree(jnp.arange(4.0)) for _ in range(3)])
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, start=None):
        if start is not None:
            noise = start
        else:
            noise = jax.random.normal(jax.random.key(0), v.shape)  # NNX832
        return self.out(v + noise)
print(Net(nnx.Rngs(0))(x))
""",
            """\
def noisy_loss(v):
    noise = jax.random.normal(jax.random.key(1), (3,))  # NNX832
    return ((v + noise) ** 2).sum()
@jax.jit
def step(v):
    return v - 0.1 * jax.grad(noisy_loss)(v)
for _ in range(3):
    x = step(x)
""",
            """\
SEED = 7
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, v):
        rngs = nnx.Rngs(jax.random.key(SEED))  # NNX832
        return self.first(v) + jax.random.normal(rngs(), v.shape)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
    def __call__(self, x):
        x = nnx.Sequential(nnx.relu, nnx.Linear(3, 3, rngs=self.rngs))(x)  # NNX832
        self.head = nnx.Linear(3, 3, rngs=self.rngs)  # NNX832
        return self.head(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5)
    def __call__(self, x):
        return self.drop(x, rngs=nnx.Rngs(0))  # NNX832
""",
            """\
@nnx.jit
def step(drop, x):
    return drop(x, rngs=nnx.Rngs(dropout=1))  # NNX832
""",
            """\
from flax.nnx import Rngs
def forward(drop, x):
    return drop(x, rngs=Rngs(0))  # NNX832
fast = nnx.jit(forward)
""",
            """\
@nnx.jit
def step(drop, x):
    rngs = nnx.Rngs(0)  # NNX832
    return drop(x, rngs=rngs)
""",
        ),
        clean=(
            """\
class Noisy(nnx.Module):
    def __init__(self, scale):
        self.scale = scale
        self.seed = 0
    def renew(self, seed):
        self.seed = seed
    def __call__(self, v):
        streams = nnx.Rngs(noise=self.seed)
        return v + self.scale * jax.random.normal(streams.noise(), v.shape)
noisy = Noisy(0.1)
noisy.renew(3)
print(noisy(x))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.Dense(1)(nn.Dropout(0.5, deterministic=not train)(v))
net = Net()
params = net.init(jax.random.key(0), jnp.ones((1, 3)), False)["params"]
@jax.jit
def train_step(params, v, key):
    def loss(params):
        return (net.apply({"params": params}, v, True, rngs={"dropout": key}) ** 2).mean()
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))
print(train_step(params, jnp.ones((2, 3)), jax.random.key(7)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.Dense(1)(nn.Dropout(0.5, deterministic=not train)(v))
net = Net()
params = net.init(jax.random.key(0), jnp.ones((1, 3)), False)["params"]
@jax.jit
def train_step(params, v, step):
    def loss(params):
        rngs = {"dropout": jax.random.fold_in(jax.random.key(7), step)}
        return (net.apply({"params": params}, v, True, rngs=rngs) ** 2).mean()
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params))
print(train_step(params, jnp.ones((2, 3)), 3))
""",
            """\
class Agent:
    def batch_train(self, episodes=2, size=4):
        starts = jax.vmap(lambda k: jax.random.uniform(k, (3,)))(jax.random.split(jax.random.key(0), size))
        weights = jnp.zeros(3)
        for _ in range(episodes):
            weights = weights - 0.1 * (weights - starts.mean(0))
        return weights
agent = Agent()
print(jax.jit(agent.batch_train)())
""",
            """\
@jax.jit
def moves(v):
    actions = jax.random.randint(jax.random.PRNGKey(0), shape=(1,), minval=0, maxval=0)
    return jnp.where(v.sum() > 2, 1, actions)
for _ in range(3):
    print(moves(x))
""",
            """\
from flax import linen as nn
class Agent(nn.Module):
    @nn.compact
    def __call__(self, v):
        # is used for initialization only
        rng = jax.random.key(0)
        return nn.Dense(3)(v) + jax.random.normal(rng, v.shape)
for step in range(3):
    Agent().init(key, x)
""",
            # what is run as a whole, so that it can be run again
            """\
class Forest:
    def __init__(self, trees):
        self.trees = trees
    @partial(jax.jit, static_argnums=0)
    def fit(self, rows):
        drawn = jax.random.randint(jax.random.key(0), (self.trees, len(rows)), 0, len(rows))
        return rows[drawn].mean(1)
print(Forest(3).fit(jnp.arange(4.0)))
""",
            """\
def train_minibatch(rows, size):
    @jax.jit
    def fit(rows):
        order = jax.random.permutation(jax.random.key(42), len(rows))
        def step(total, i):
            return total + rows[jax.lax.dynamic_slice_in_dim(order, i, size)].sum(), None
        return jax.lax.scan(step, 0.0, jnp.arange(2))[0]
    return fit(rows)
for size in (1, 2):
    print(train_minibatch(jnp.arange(4.0), size))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v, encoder=None):
        if encoder is not None:
            seen = encoder.first(v)
        else:
            seen = jax.random.normal(jax.random.key(0), v.shape)
        return self.out(seen)
print(Net(nnx.Rngs(0))(x))
""",
            """\
class Lazy:
    def __init__(self):
        self.weight = None
    def __call__(self, v):
        if self.weight is None:
            self.weight = jax.random.normal(jax.random.key(0), (v.shape[-1], 4))
        return v @ self.weight
lazy = Lazy()
for _ in range(3):
    print(lazy(jnp.ones((2, 3))).shape)
""",
            """\
def sampled(key):
    return jax.random.normal(key, (3,))
def compute_loss(v):
    one_prior = sampled(jax.random.key(1))
    two_prior = jax.random.normal(jax.random.key(2), (3,))
    return ((v - one_prior) ** 2 + (v - two_prior) ** 2).sum()
@jax.jit
def step(v):
    return v - 0.1 * jax.grad(compute_loss)(v)
for _ in range(3):
    x = step(x)
""",
            """\
@jax.jit
def one_step_noise(params, v):
    noisy = v + 0.1 * jax.random.normal(jax.random.PRNGKey(367), v.shape)
    return jnp.mean((params * noisy - v) ** 2)
def evaluate_model(params, data):
    return sum(one_step_noise(params, v) for v in data) / len(data)
print(evaluate_model(x, batches))
""",
            """\
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, v, seed):
        rngs = nnx.Rngs(jax.random.key(seed))
        return self.first(v) + jax.random.normal(rngs(), v.shape)
net = Noisy(nnx.Rngs(0))
net(x, 1)
net(x, 2)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
        self.width = self.probed(jnp.ones((1, 3)))
        self.body = nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.relu)
    def probed(self, x):
        return nnx.Linear(3, 3, rngs=self.rngs)(x).shape[-1]
    def __call__(self, x):
        return nnx.LayerNorm(3, use_scale=False, use_bias=False, rngs=self.rngs)(self.body(x))
Net(nnx.Rngs(0))(x)
""",
            """\
class Wrapped(nnx.Module):
    def __init__(self, inner, rngs):
        self.inner = inner
        self.gate = nnx.Param(jnp.ones(3))
    def __call__(self, x):
        return self.inner(x)
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin = nnx.Linear(3, 3, rngs=rngs)
        self.rngs = rngs
    def __call__(self, x):
        return Wrapped(self.lin, rngs=self.rngs)(x)
Net(nnx.Rngs(0))(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, x):
        return self.drop(x)
""",
            """\
@nnx.jit
def step(drop, x, rngs):
    return drop(x, rngs=rngs)
""",
            """\
@nnx.jit
def step(drop, x, seed):
    return drop(x, rngs=nnx.Rngs(seed))
""",
            """\
@nnx.jit
def build():
    return nnx.Linear(3, 3, rngs=nnx.Rngs(0))
""",
            """\
drop = nnx.Dropout(0.5)
y = drop(x, rngs=nnx.Rngs(0))
""",
            """\
class Norm(nnx.Module):
    def __init__(self, n):
        self.u = nnx.BatchStat(jnp.ones(n))
    def __call__(self, w):
        u = self.u[...]
        if u.shape[0] != w.shape[0]:
            u = jax.random.normal(nnx.Rngs(0).default(), (w.shape[0],))
        return w.T @ u
y = Norm(2)(jnp.ones((3, 3)))
""",
        ),
    ),
    "NNX833": Cases(
        bad=(
            "k = jax.random.PRNGKey(0x123456789)  # NNX833\n",
            """\
SEED = 2**40
rngs = nnx.Rngs(SEED)  # NNX833
""",
            """\
from jax.random import key as make
k = make(12345678901)  # NNX833
""",
            "rngs = nnx.Rngs(params=0, dropout=99999999999)  # NNX833\n",
        ),
        clean=(
            "k = jax.random.key(42)\n",
            "k = jax.random.key(2**32 - 1)\n",
            "k = jax.random.key(int(time.time()))\n",
            "k = jax.random.key(time.time_ns() % 2**32)\n",
            "k = jax.random.key(time.time_ns())\n",
            "wide = True\njax.config.update('jax_enable_x64', wide)\nk = jax.random.key(12345678901)\n",
            "rngs = nnx.Rngs(0, dropout=1)\n",
            "def seeded(seed):\n    return jax.random.key(seed)\n",
        ),
    ),
    "NNX834": Cases(
        bad=(
            "jax.random.split(key)  # NNX834\n",
            """\
from jax.random import split
def draw(key):
    split(key)  # NNX834
    return jax.random.normal(key)  # NNX830
""",
            """\
import jax.random as jr
for i in range(3):
    jr.fold_in(key, i)  # NNX834
""",
        ),
        clean=(
            """\
def act(rng_key, seen):
    jax.random.choice()
    pass
print(act.__name__)
""",
            "key, sub = jax.random.split(key)\n",
            "_ = jax.random.split(key)\n",
            "def split(key):\n    print(key)\nsplit(key)\n",
            "y = jax.random.normal(jax.random.split(key)[0])\n",
        ),
    ),
    "NNX835": Cases(
        bad=(
            """\
keys = []
for i in range(4):
    key, sub = jax.random.split(key)  # NNX835
    keys.append(sub)
""",
            """\
from jax.random import split
def init(key, x):
    for width in (2, 3, 4):
        key, k = split(key)  # NNX835
        x = x + jax.random.normal(k)
    return x
""",
            """\
N = 8
def draws(key):
    out = []
    for _ in range(N):
        k, key = jax.random.split(key)  # NNX835
        out.append(jax.random.normal(k))
    return out
""",
        ),
        clean=(
            """\
for k in jax.random.split(key, 4):
    y = jax.random.normal(k)
""",
            """\
while True:
    key, sub = jax.random.split(key)
    if jax.random.normal(sub) > 0:
        break
""",
            """\
def train(key, batches):
    for batch in batches:
        key, sub = jax.random.split(key)
        y = batch + jax.random.normal(sub)
    return y
""",
            """\
for i in range(4):
    key, sub = jax.random.split(key)
    if jax.random.normal(sub) > 0:
        break
""",
            """\
for i in range(4):
    a, b = jax.random.split(jax.random.fold_in(key, i))
    y = jax.random.normal(a) + jax.random.normal(b)
""",
            """\
key, sub = jax.random.split(key)
y = jax.random.normal(sub)
""",
        ),
    ),
    "NNX706": Cases(
        bad=(
            """\
def noisy(grads, k):
    keys = jax.random.split(k)
    added = jax.tree.map(lambda g: g + jax.random.normal(keys[0], g.shape), grads)  # NNX706
    return added, keys[1]
print(noisy({"a": x, "b": x}, key))
""",
            """\
def noisy(grads, k):
    return jax.tree.map(lambda g: g + 0.1 * jax.random.normal(k, g.shape), grads)  # NNX706
print(noisy({"a": x, "b": x}, key))
""",
            """\
def noisy(grads, k, std):
    def add(leaf):
        return leaf + std * jax.random.normal(k, leaf.shape, leaf.dtype)
    return jax.tree_util.tree_map(add, grads)  # NNX706
print(noisy({"a": x, "b": x}, key, 0.1))
""",
            """\
def add(leaf, k):
    return leaf + jax.random.normal(k, leaf.shape)
def noisy(grads, k):
    return jax.tree.map(lambda g: add(g, k), grads)  # NNX706
print(noisy({"a": x, "b": x}, key))
""",
            """\
def dropped(k, leaf):
    return jnp.where(jax.random.bernoulli(k, 0.5, leaf.shape), leaf, 0.0)
def masked(grads, k):
    return jax.tree.map(partial(dropped, k), grads)  # NNX706
print(masked({"a": x, "b": x}, key))
""",
        ),
        clean=(
            """\
def noisy(grads, k):
    keys = dict(zip(sorted(grads), jax.random.split(k, len(grads))))
    return {name: g + jax.random.normal(keys[name], g.shape) for name, g in grads.items()}
print(noisy({"a": x, "b": x}, key))
""",
            """\
def shuffled(leaf, k):
    leaf = leaf.reshape(-1, *leaf.shape[2:])
    return jax.random.permutation(k, leaf).reshape(2, -1, *leaf.shape[1:])
def minibatches(transitions, k):
    return jax.tree.map(lambda leaf: shuffled(leaf, k), transitions)  # the same order for all
print(minibatches({"a": jnp.ones((2, 3)), "b": jnp.ones((2, 3, 4))}, key))
""",
            """\
def noisy(grads, k):
    leaves, treedef = jax.tree.flatten(grads)
    keys = jax.tree.unflatten(treedef, list(jax.random.split(k, len(leaves))))
    return jax.tree.map(lambda g, own: g + jax.random.normal(own, g.shape), grads, keys)
print(noisy({"a": x, "b": x}, key))
""",
            """\
def noisy(grads, k):
    keys = iter(jax.random.split(k, 8))
    return jax.tree.map(lambda g: g + jax.random.normal(next(keys), g.shape), grads)
print(noisy({"a": x, "b": x}, key))
""",
            """\
def noisy(grads, k):
    def add(path, leaf):
        own = jax.random.fold_in(k, sum(map(ord, jax.tree_util.keystr(path))))
        return leaf + jax.random.normal(own, leaf.shape)
    return jax.tree_util.tree_map_with_path(add, grads)
print(noisy({"a": x, "b": x}, key))
""",
            """\
def shapes_of(tree, k):
    dummy_batch = jax.tree.map(lambda leaf: jax.random.normal(k, leaf.shape), tree)
    return jax.tree.map(jnp.shape, dummy_batch)
print(shapes_of({"a": x}, key))
""",
            """\
def noisy(grads, k):
    noise = jax.random.normal(k, (2, 3))
    return jax.tree.map(lambda g: g + noise.mean(), grads)
print(noisy({"a": x, "b": x}, key))
""",
        ),
    ),
    "NNX970": Cases(
        bad=(
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
def loss_fn(w, v, k):
    return jnp.mean(dropout(k, v * w) ** 2)
tx = optax.adam(0.1)
def train(w, data, key):
    def body(carry, v):
        w, state = carry
        loss, grads = jax.value_and_grad(loss_fn)(w, v, key)  # NNX970
        updates, state = tx.update(grads, state)
        return (optax.apply_updates(w, updates), state), loss
    return jax.lax.scan(body, (w, tx.init(w)), data)
print(train(jnp.ones(3), jnp.ones((4, 2, 3)), key))
""",
            """\
def loss_fn(w, v, k):
    keep = jax.random.bernoulli(k, 0.5, v.shape)
    dropped = jnp.where(keep, 2 * v, 0)
    return jnp.mean((dropped * w) ** 2)
def train(w, v, dropout_key):
    def body(i, carry):
        w, key = carry
        grads = jax.grad(loss_fn)(w, v, key)  # NNX970
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, grads), key
    return jax.lax.fori_loop(0, 3, body, (w, dropout_key))
print(train(jnp.ones(3), jnp.ones((2, 3)), key))
""",
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
def train(w, data, key):
    def body(w, v):
        def loss(w):
            return jnp.mean(dropout(key, v * w) ** 2)  # NNX970
        return jax.tree.map(lambda p, g: p - 0.1 * g, w, jax.grad(loss)(w)), None
    return jax.lax.scan(body, w, data)
print(train(jnp.ones(3), jnp.ones((4, 2, 3)), key))
""",
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
def loss_fn(w, v, k):
    one, two = jax.random.split(k)
    return jnp.mean(dropout(two, dropout(one, v) * w) ** 2)
tx = optax.adam(0.1)
def step(w, state, v, k):
    grads = jax.grad(loss_fn)(w, v, k)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(w, updates), state
@jax.jit
def train(w, data, key):
    def body(carry, v):
        w, state = carry
        return step(w, state, v, key), None  # NNX970
    return jax.lax.scan(body, (w, tx.init(w)), data)
print(train(jnp.ones(3), jnp.ones((4, 2, 3)), key))
""",
            """\
def step(w, batch, noise_key):
    return w - 0.1 * (batch + jax.random.normal(noise_key, w.shape))
def train(w):
    for epoch in range(3):
        for i, batch in enumerate(batches):
            w = step(w, batch, jax.random.fold_in(key, i))  # NNX970
    return w
print(train(x))
""",
            """\
def step(w, batch, noise_key):
    return w - 0.1 * (batch + jax.random.normal(noise_key, w.shape)), 0.0
def train(w, dropout_key, n):
    epoch = 0
    while epoch < 3:
        for number in range(n):
            noise_key = jax.random.fold_in(dropout_key, number)  # NNX970
            w, loss = step(w, batches[number], noise_key)
        epoch += 1
    return w
print(train(x, key, 2))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(params=0, dropout=1))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
@jax.jit
def train_step(net, opt, noise, v):
    nnx.reseed(net, dropout=noise)  # NNX970
    opt.update(net, nnx.grad(lambda m: m(v).mean())(net))
    return nnx.state((net, opt))
for batch in batches[:2]:
    nnx.update((net, opt), train_step(net, opt, key, batch))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(params=0, dropout=1))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
@jax.jit
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).mean())(net))
    return nnx.state((net, opt))
for batch in batches[:2]:
    nnx.reseed(net, dropout=42)  # NNX970
    nnx.update((net, opt), step(net, opt, batch))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(params=0, dropout=1))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
@jax.jit
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).mean())(net))
    return nnx.state((net, opt))
seed = jax.random.key(5)
for v in batches[:2]:
    nnx.reseed(net, dropout=seed)  # NNX970
    nnx.update((net, opt), step(net, opt, v))
""",
            """\
w = jnp.ones(3)
tx = optax.sgd(0.1)
state = tx.init(w)
fixed_batch = jnp.ones((2, 3))
drop = jax.random.key(1)
for step in range(3):
    def loss_fn(m):
        noise = jax.random.normal(drop, fixed_batch.shape)  # NNX970
        return jnp.mean((m * (fixed_batch + noise) - fixed_batch) ** 2)
    grads = jax.grad(loss_fn)(w)
    updates, state = tx.update(grads, state, w)
    w = optax.apply_updates(w, updates)
""",
            """\
def fit(params, x, tx, rng):
    state = tx.init(params)
    def loss(p):
        return jnp.mean((p * (x + jax.random.normal(rng, x.shape)) - x) ** 2)  # NNX970
    value = jax.value_and_grad(loss)
    for _ in range(3):
        l, g = value(params)
        updates, state = tx.update(g, state, params)
        params = optax.apply_updates(params, updates)
    return params
""",
            """\
w = jnp.ones(3)
tx = optax.sgd(0.1)
state = tx.init(w)
for x in batches:
    k = jax.random.PRNGKey(42)
    noise = jax.random.normal(k, x.shape)  # NNX970
    grads = jax.grad(lambda m: jnp.mean((m * (x + noise) - x) ** 2))(w)
    updates, state = tx.update(grads, state, w)
    w = optax.apply_updates(w, updates)
""",
            """\
class Noisy(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, x, key):
        return self.out(x + jax.random.normal(key, x.shape))
net = Noisy(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
first, second = jax.random.split(jax.random.key(5))
for step in range(3):
    grads = nnx.grad(lambda m: jnp.mean((m(x, second) - x) ** 2))(net)  # NNX970
    opt.update(net, grads)  # NNX904
""",
            "@nnx.jit\n"
            "def step(net, optimizer, v):\n"
            "    key = jax.random.key(0)\n"
            "    def loss(net):\n"
            "        eps = jax.random.normal(key, v.shape)  # NNX970\n"
            "        return jnp.mean((net(v + eps) - v) ** 2)\n"
            "    optimizer.update(net, nnx.grad(loss)(net))\n"
            "for one in batches:\n"
            "    step(model, optimizer, one)  # NNX901\n",
            "def fit(net, params, data, seed=0):\n"
            "    dropout_key = jax.random.key(seed)\n"
            "    tx = optax.sgd(0.1)\n"
            "    state = tx.init(params)\n"
            "    @jax.jit\n"
            "    def step(params, state, v):\n"
            "        def loss(p):\n"
            '            return jnp.mean(net.apply({"params": p}, v, rngs={"dropout": dropout_key}) ** 2)  # NNX970\n'
            "        updates, state = tx.update(jax.grad(loss)(params), state)\n"
            "        return optax.apply_updates(params, updates), state\n"
            "    for one in data:\n"
            "        params, state = step(params, state, one)\n"
            "    return params\n",
        ),
        clean=(
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
def loss_fn(w, v, k):
    return jnp.mean(dropout(k, v * w) ** 2)
def train(w, data, key):
    def body(w, given):
        v, k = given
        return w - 0.1 * jax.grad(loss_fn)(w, v, k), None
    return jax.lax.scan(body, w, (data, jax.random.split(key, len(data))))
print(train(jnp.ones(3), jnp.ones((4, 2, 3)), key))
""",
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
def loss_fn(w, v, k):
    return jnp.mean(dropout(k, v * w) ** 2)
tx = optax.adam(0.1)
def train(w, v, key):
    def body(i, carry):
        w, state = carry
        grads = jax.grad(loss_fn)(w, v, jax.random.fold_in(key, i))
        updates, state = tx.update(grads, state)
        return optax.apply_updates(w, updates), state
    return jax.lax.fori_loop(0, 3, body, (w, tx.init(w)))
print(train(jnp.ones(3), jnp.ones((2, 3)), key))
""",
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
tx = optax.adam(0.1)
def train(w, data, key):
    def body(carry, v):
        w, state, key = carry
        key, sub = jax.random.split(key)
        def loss(w):
            return jnp.mean(dropout(sub, v * w) ** 2)
        updates, state = tx.update(jax.grad(loss)(w), state)
        return (optax.apply_updates(w, updates), state, key), None
    return jax.lax.scan(body, (w, tx.init(w), key), data)
print(train(jnp.ones(3), jnp.ones((4, 2, 3)), key))
""",
            """\
def loss_fn(w, v, ticket_key):
    keep = jax.random.bernoulli(ticket_key, 0.5, w.shape)
    return jnp.mean((v * w * keep) ** 2)
tx = optax.adam(0.1)
def train(w, data, key):
    def body(carry, v):
        w, state = carry
        updates, state = tx.update(jax.grad(loss_fn)(w, v, key), state)
        return (optax.apply_updates(w, updates), state), None
    return jax.lax.scan(body, (w, tx.init(w)), data)
print(train(jnp.ones(3), jnp.ones((4, 2, 3)), key))
""",
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
def loss_fn(w, v, k):
    return jnp.mean(dropout(k, v * w) ** 2)
def attack(w, v, key):
    def body(v, _):
        return jax.tree.map(lambda a, g: a - 0.1 * g, v, jax.grad(loss_fn, 1)(w, v, key)), None
    return jax.lax.scan(body, v, None, length=3)
print(attack(jnp.ones(3), jnp.ones((2, 3)), key))
""",
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
def loss_fn(w, v, k, train=False):
    h = dropout(k, v * w) if train else v * w
    return jnp.mean(h ** 2)
tx = optax.adam(0.1)
def fit(w, data, key):
    def body(carry, v):
        w, state = carry
        updates, state = tx.update(jax.grad(loss_fn)(w, v, key), state)
        return (optax.apply_updates(w, updates), state), None
    return jax.lax.scan(body, (w, tx.init(w)), data)
print(fit(jnp.ones(3), jnp.ones((4, 2, 3)), key))
""",
            """\
def dropout(k, v, rate=0.5):
    keep = jax.random.bernoulli(k, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
def loss_fn(w, v, k):
    return jnp.mean(dropout(k, v * w) ** 2)
def mean_gradient(w, data, key):
    def body(total, v):
        return total + jax.grad(loss_fn)(w, v, key), None
    return jax.lax.scan(body, jnp.zeros(3), data)
print(mean_gradient(jnp.ones(3), jnp.ones((4, 2, 3)), key))
""",
            """\
def step(w, batch, noise_key):
    return w - 0.1 * (batch + jax.random.normal(noise_key, w.shape))
def train(w):
    for epoch in range(3):
        epoch_key = jax.random.fold_in(key, epoch)
        for i, batch in enumerate(batches):
            w = step(w, batch, jax.random.fold_in(epoch_key, i))
    return w
print(train(x))
""",
            """\
def step(w, batch, noise_key):
    return w - 0.1 * (batch + jax.random.normal(noise_key, w.shape))
def train(w):
    for epoch in range(3):
        for i, batch in enumerate(batches):
            w = step(w, batch, jax.random.fold_in(key, epoch * len(batches) + i))
    return w
print(train(x))
""",
            """\
def step(w, batch, noise_key):
    return w - 0.1 * (batch + jax.random.normal(noise_key, w.shape))
def compare(rates):
    found = []
    for rate in rates:
        w = jnp.full(3, rate)
        for i, batch in enumerate(batches):
            w = step(w, batch, jax.random.fold_in(key, i))
        found.append(w)
    return found
print(compare([0.1, 0.2]))
""",
            """\
def step(w, batch, noise_key):
    return w - 0.1 * (batch + jax.random.normal(noise_key, w.shape))
def train(w):
    count = 0
    for epoch in range(3):
        for batch in batches:
            w = step(w, batch, jax.random.fold_in(key, count))
            count += 1
    return w
print(train(x))
""",
            """\
def noisy(w, batch, noise_key):
    return (w * batch + jax.random.normal(noise_key, w.shape)).sum()
def watch(w):
    for epoch in range(3):
        for i, batch in enumerate(batches):
            print(noisy(w, batch, jax.random.fold_in(key, i)))
        w = 0.9 * w
    return w
print(watch(x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(params=0, dropout=1))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
@jax.jit
def train_step(net, opt, noise, v):
    nnx.reseed(net, dropout=noise)
    opt.update(net, nnx.grad(lambda m: m(v).mean())(net))
    return nnx.state((net, opt))
for step in range(2):
    nnx.update((net, opt), train_step(net, opt, jax.random.fold_in(key, step), x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(params=0, dropout=1))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
@jax.jit
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).mean())(net))
    return nnx.state((net, opt))
for batch in batches[:2]:
    key, noise = jax.random.split(key)
    nnx.reseed(net, dropout=noise)
    nnx.update((net, opt), step(net, opt, batch))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(params=0, dropout=1))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
@jax.jit
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).mean())(net))
    return nnx.state((net, opt))
def drawn(net, v, noise):
    nnx.reseed(net, dropout=noise)
    return jnp.sum(net.drop(v))
for batch in batches[:2]:
    nnx.update((net, opt), step(net, opt, batch))
    print(drawn(net, x, key))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
    def __call__(self, v):
        return self.drop(self.fc(v))
net = Net(nnx.Rngs(params=0, dropout=1))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
@jax.jit
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).mean())(net))
    return nnx.state((net, opt))
for run in range(2):  # each run begins anew
    nnx.reseed(net, dropout=3)
    for batch in batches[:2]:
        nnx.update((net, opt), step(net, opt, batch))
""",
            """\
w = jnp.ones(3)
tx = optax.sgd(0.1)
state = tx.init(w)
for step in range(3):
    key, sub = jax.random.split(key)
    def loss_fn(m):
        return jnp.mean((m * (x + jax.random.normal(sub, x.shape)) - x) ** 2)
    grads = jax.grad(loss_fn)(w)
    updates, state = tx.update(grads, state, w)
    w = optax.apply_updates(w, updates)
""",
            """\
w = jnp.ones(3)
tx = optax.sgd(0.1)
state = tx.init(w)
for step in range(3):
    def loss_fn(m):
        noise = jax.random.normal(jax.random.fold_in(key, step), x.shape)
        return jnp.mean((m * (x + noise) - x) ** 2)
    grads = jax.grad(loss_fn)(w)
    updates, state = tx.update(grads, state, w)
    w = optax.apply_updates(w, updates)
""",
            """\
w = jnp.ones(3)
tx = optax.sgd(0.1)
state = tx.init(w)
fixed_key = jax.random.key(3)
for step in range(3):
    def loss_fn(m):
        return jnp.mean((m * (x + jax.random.normal(fixed_key, x.shape)) - x) ** 2)
    grads = jax.grad(loss_fn)(w)
    updates, state = tx.update(grads, state, w)
    w = optax.apply_updates(w, updates)
""",
            """\
for rate in (0.1, 0.2):
    w = jnp.ones(3)
    tx = optax.sgd(rate)
    state = tx.init(w)
    k = jax.random.PRNGKey(0)
    noise = jax.random.normal(k, x.shape)
    for step in range(3):
        grads = jax.grad(lambda m: jnp.mean((m * (x + noise) - x) ** 2))(w)
        updates, state = tx.update(grads, state, w)
        w = optax.apply_updates(w, updates)
""",
            """\
def step(w, state, tx, x, key):
    def loss_fn(m):
        return jnp.mean((m * (x + jax.random.normal(key, x.shape)) - x) ** 2)
    updates, state = tx.update(jax.grad(loss_fn)(w), state, w)
    return optax.apply_updates(w, updates), state
w = jnp.ones(3)
tx = optax.sgd(0.1)
state = tx.init(w)
for number, x in enumerate(batches):
    w, state = step(w, state, tx, x, jax.random.fold_in(key, number))
""",
            """\
def loss_fn(m):
    return jnp.mean((m(x + jax.random.normal(key, x.shape)) - x) ** 2)
slopes = [nnx.grad(loss_fn)(model) for _ in range(2)]
""",
            "@nnx.jit\n"
            "def step(net, optimizer, v, key):\n"
            "    def loss(net):\n"
            "        eps = jax.random.normal(key, v.shape)\n"
            "        return jnp.mean((net(v + eps) - v) ** 2)\n"
            "    optimizer.update(net, nnx.grad(loss)(net))\n"
            "step(model, optimizer, x, key)\n"
            "print(model(x))\n",
            "def fit(net, params, data, seed=0):\n"
            "    dropout_key = jax.random.key(seed)\n"
            "    tx = optax.sgd(0.1)\n"
            "    state = tx.init(params)\n"
            "    @jax.jit\n"
            "    def step(params, state, v, key):\n"
            "        def loss(p):\n"
            '            return jnp.mean(net.apply({"params": p}, v, rngs={"dropout": key}) ** 2)\n'
            "        updates, state = tx.update(jax.grad(loss)(params), state)\n"
            "        return optax.apply_updates(params, updates), state\n"
            "    for number, one in enumerate(data):\n"
            "        params, state = step(params, state, one, jax.random.fold_in(dropout_key, number))\n"
            "    return params\n"
            "import flax.linen as nn\n"
            'print(fit(nn.Dense(2), nn.Dense(2).init(key, x)["params"], batches))\n',
        ),
    ),
    "NNX971": Cases(
        bad=(
            """\
def halves(key, x, share=0.8):
    n = int(share * len(x))
    idx = jax.random.permutation(key, len(x))
    return x[idx][:n], x[n:]  # NNX971
""",
            """\
def halves(key, x, n):
    perm = jax.random.permutation(key, x.shape[0])
    test = x[perm[:n]]
    train = x[n:]  # NNX971
    return train, test
""",
            """\
class Data:
    def __init__(self, rows):
        self.rows = rows
    def halves(self, rng, n):
        order = rng.permutation(len(self.rows))
        first = order[n:]
        return self.rows[first], self.rows[:n]  # NNX971
""",
            """\
def shuffled(key, images, labels):
    # shuffle without breaking the pairs
    first, second = jax.random.split(key)
    i = jax.random.permutation(first, len(images))
    j = jax.random.permutation(second, len(labels))  # NNX971
    return fit(images[i], labels[j])
def fit(images, labels):
    return jnp.polyfit(images.mean(1), labels, 1)
""",
            """\
def resampled(key, images, labels):
    first, second = jax.random.split(key)
    i = jax.random.choice(first, len(images), shape=(len(images),))
    j = jax.random.choice(second, len(labels), shape=(len(labels),))  # NNX971
    return fit(images[i], labels[j])
def fit(images, labels):
    return jnp.polyfit(images.mean(1), labels, 1)
""",
            """\
def batches_of(images, labels, size, key):
    order = jax.random.permutation(key, len(images))
    for start in range(0, len(images), size):
        yield images[order[start : start + size]], labels[start : start + size]  # NNX971
print([b for _, b in batches_of(jnp.arange(8), jnp.arange(8), 4, key)])
""",
            """\
def epoch(train_x, train_y, size):
    order = np.random.permutation(len(train_x))
    for start in range(0, len(train_x), size):
        rows = order[start : start + size]
        inputs = train_x[rows]
        targets = train_y[start : start + size]  # NNX971
        print(inputs, targets)
epoch(np.arange(8), np.arange(8), 4)
""",
            """\
def joined(k, x, y):
    first, second = jax.random.split(k)
    i = jax.random.permutation(first, x.shape[0])
    j = jax.random.permutation(second, y.shape[0])  # NNX971
    return jnp.concatenate([x[i], y[j]], axis=1)
print(joined(key, jnp.ones((4, 2)), jnp.ones((4, 1))))
""",
            """\
def load(key, n=100):
    xs = jax.random.normal(key, (n, 2))
    ys = (xs.sum(axis=1) > 0).astype(jnp.int32)
    return xs, ys
def shuffled(key, xs, ys):
    one, two = jax.random.split(key)
    return jax.random.permutation(one, xs), jax.random.permutation(two, ys)  # NNX971
print(shuffled(jax.random.key(1), *load(jax.random.key(0))))
""",
            """\
def minibatches(key, data, size):
    n = data["x"].shape[0]
    first, second = jax.random.split(key)
    x = data["x"][jax.random.permutation(first, n)]
    y = data["y"][jax.random.permutation(second, n)]  # NNX971
    for i in range(0, n, size):
        yield x[i : i + size], y[i : i + size]
print(len(list(minibatches(key, {"x": jnp.ones((4, 2)), "y": jnp.zeros(4)}, 2))))
""",
            """\
def epoch(rng, inputs, targets, size):
    input_order = rng.permutation(len(inputs))
    target_order = rng.permutation(len(targets))  # NNX971
    for i in range(0, len(inputs), size):
        yield inputs[input_order[i : i + size]], targets[target_order[i : i + size]]
print(len(list(epoch(np.random.default_rng(0), np.ones((4, 2)), np.zeros(4), 2))))
""",
            """\
class Rows:
    def __init__(self, features, labels):
        self.rng, self.features, self.labels = np.random.default_rng(0), features, labels
    def epoch(self, size):
        n = len(self.labels)
        order = self.rng.permutation(n)
        features = self.features[order]
        labels = self.labels[self.rng.permutation(n)]  # NNX971
        for i in range(0, n, size):
            yield jnp.asarray(features[i : i + size]), jnp.asarray(labels[i : i + size])
print([v.shape for v, _ in Rows(np.ones((4, 2)), np.arange(4)).epoch(2)])
""",
            """\
class Rows:
    def __init__(self, X, y):
        self.X, self.y, self.rs = X, y, np.random.RandomState(0)
    def shuffle(self):
        n = self.X.shape[0]
        self.X = self.X[self.rs.permutation(n)]
        self.y = self.y[self.rs.permutation(n)]  # NNX971
    def draw(self, size):
        self.shuffle()
        return self.X[:size], self.y[:size]
print(Rows(np.ones((4, 2)), np.array([1, 0, 0, 1])).draw(2))
""",
            """\
def shuffled(batch, rng):
    n = len(batch["labels"])
    return {
        "inputs": batch["inputs"][rng.permutation(n)],
        "labels": batch["labels"][rng.permutation(n)],  # NNX971
    }
print(shuffled({"inputs": np.ones((4, 2)), "labels": np.arange(4)}, np.random.default_rng(0)))
""",
            """\
def epoch(key, x_train, y_train):
    first, second = jax.random.split(key)
    x_order = jax.random.permutation(first, len(x_train))
    y_order = jax.random.permutation(second, len(y_train))  # NNX971
    return x_train[x_order], y_train[y_order]
print(epoch(key, jnp.ones((4, 2)), jnp.arange(4)))
""",
            "def epoch(key, feats, tags):\n    a, b = jax.random.split(key)\n"
            "    feats = jax.random.permutation(a, feats)\n"
            "    tags = jax.random.permutation(b, tags)  # NNX971\n"
            "    return list(zip(feats, tags, strict=True)), (feats, tags)\n",
            """\
rngs = nnx.Rngs(shuffle=1)
def epochs(features, labels, step):
    for _ in range(3):
        x_epoch = jax.random.permutation(rngs.shuffle(), features)
        y_epoch = jax.random.permutation(rngs.shuffle(), labels)  # NNX971
        for x, y in zip(jnp.split(x_epoch, 2), jnp.split(y_epoch, 2)):
            step(x, y)
""",
            """\
def epoch(key, images, labels, step):
    first, second = jax.random.split(key)
    images = jax.random.permutation(first, images)
    labels = jax.random.permutation(second, labels)  # NNX971
    for i in range(3):
        step(images[i], labels[i])
""",
            """\
def epoch(x_train, y_train, step):
    np.random.shuffle(x_train)
    np.random.shuffle(y_train)  # NNX971
    return step(jnp.asarray(x_train), jnp.asarray(y_train))
""",
            """\
class Loader:
    def __init__(self, inputs, targets, seed):
        self.inputs, self.targets = inputs, targets
        self.rng = np.random.default_rng(seed)
    def draw(self):
        self.inputs = self.inputs[self.rng.permutation(len(self.inputs))]
        self.targets = self.targets[self.rng.permutation(len(self.targets))]  # NNX971
        return {"x": self.inputs, "y": self.targets}
""",
            """\
def draw(key, xs, ys):
    a, b = jax.random.split(key)
    some = xs[jax.random.randint(a, (2,), 0, 9)]
    others = ys[jax.random.randint(b, (2,), 0, 9)]  # NNX971
    return some, others
""",
            "def mixed(rng, v):\n"
            "    order = jax.random.permutation(rng, len(v))\n"
            "    return v[order]\n"
            "def epoch(rng, images, labels):\n"
            "    rng, sub = jax.random.split(rng)\n"
            "    images = mixed(sub, images)\n"
            "    rng, sub = jax.random.split(rng)\n"
            "    labels = mixed(sub, labels)  # NNX971\n"
            "    return list(zip(images.reshape(-1, 2), labels.reshape(-1)))\n"
            "print(epoch(key, jnp.ones((4, 2)), jnp.arange(4)))\n",
            "def split(features, labels):\n"
            "    order = np.random.permutation(len(features))\n"
            "    features = features[order]\n"
            "    order = np.random.permutation(len(labels))  # NNX971\n"
            "    labels = labels[order]\n"
            "    return (features[:2], labels[:2]), (features[2:], labels[2:])\n"
            "print(split(np.ones((4, 2)), np.arange(4)))\n",
            """\
def shuffled(images, labels, key):
    first, second = jax.random.split(key)
    return jax.random.permutation(first, images), jax.random.permutation(second, labels)  # NNX971
""",
            """\
def epoch(step, key, xs, ys):
    k1, k2 = jax.random.split(key)
    return step(jax.random.permutation(k1, xs), jax.random.permutation(k2, ys))  # NNX971
""",
            """\
def shuffled(x, y, key):
    kx, ky = jax.random.split(key)
    x, y = jax.random.permutation(kx, x), jax.random.permutation(ky, y)  # NNX971
    return x, y
points = jnp.linspace(-1.0, 1.0, 8)
xs, ys = shuffled(points, 3.0 * points, key)
""",
        ),
        clean=(
            """\
xs = np.linspace(10, 190, 10)
ys = np.linspace(10, 190, 10)
for _ in range(2):
    i = random.choice(range(10))
    j = random.choice(range(10))
    print(xs[i] >= 10, ys[j] >= 10)
""",
            """\
xs, ys = np.ones(10), np.ones(10)
rng = np.random.default_rng(0)
i = rng.integers(10)
j = rng.integers(10)
print(xs[i], ys[j])
""",
            """\
def halves(key, x, share=0.8):
    n = int(share * len(x))
    idx = jax.random.permutation(key, len(x))
    return x[idx][:n], x[idx][n:]
print(halves(key, jnp.arange(6.0)))
""",
            """\
def halves(key, x, n):
    perm = jax.random.permutation(key, x.shape[0])
    return x[perm[n:]], x[perm[:n]]
print(halves(key, jnp.arange(6.0), 2))
""",
            """\
# an order of the rows before the cut alone
def halves(key, x, n):
    perm = jax.random.permutation(key, n)
    return x[perm[:n]], x[n:]
print(halves(key, jnp.arange(6.0), 2))
""",
            """\
# the array is in the drawn order already
def halves(key, x, n):
    perm = jax.random.permutation(key, x.shape[0])
    x = x[perm]
    return x[:n], x[n:]
print(halves(key, jnp.arange(6.0), 2))
""",
            """\
# the last rows are held out by their time, and some of the others drawn
def halves(key, x, n, few):
    perm = jax.random.permutation(key, n)
    return x[perm[:few]], x[n:]
print(halves(key, jnp.arange(6.0), 4, 2))
""",
            """\
def null_statistics(key, x, y, rounds):
    def one(k):
        first, second = jax.random.split(k)
        i = jax.random.choice(first, len(x), shape=(len(x),))
        j = jax.random.choice(second, len(y), shape=(len(y),))
        return jnp.corrcoef(x[i], y[j])[0, 1]
    return jax.vmap(one)(jax.random.split(key, rounds))
print(null_statistics(jax.random.key(0), jnp.arange(8.0), jnp.arange(8.0) ** 2, 3))
""",
            """\
def resampled(key, x, y):
    # independently resample both, to break any dependence
    first, second = jax.random.split(key)
    i = jax.random.choice(first, len(x), shape=(len(x),))
    j = jax.random.choice(second, len(y), shape=(len(y),))
    return jnp.corrcoef(x[i], y[j])
print(resampled(jax.random.key(0), jnp.arange(8.0), jnp.arange(8.0) ** 2))
""",
            """\
def batches_of(images, labels, size, key):
    order = jax.random.permutation(key, len(images))
    for start in range(0, len(images), size):
        rows = order[start : start + size]
        yield images[rows], labels[rows]
print([b for _, b in batches_of(jnp.arange(8), jnp.arange(8), 4, key)])
""",
            """\
def batches_of(images, labels, size, key):
    order = jax.random.permutation(key, len(images))
    labels = labels[order]
    for start in range(0, len(images), size):
        yield images[order[start : start + size]], labels[start : start + size]
print([b for _, b in batches_of(jnp.arange(8), jnp.arange(8), 4, key)])
""",
            """\
def batches_of(images, kinds, size, key):
    order = jax.random.permutation(key, len(images))
    for start in range(0, len(images), size):
        yield images[order[start : start + size]], kinds[start : start + size]
print([b for _, b in batches_of(jnp.arange(8), jnp.arange(8), 4, key)])
""",
            """\
def mixed(k, x, y):
    first, second = jax.random.split(k)
    i = jax.random.choice(first, x.shape[0], (x.shape[0] // 2,), replace=False)
    j = jax.random.choice(second, y.shape[0], (y.shape[0] // 2,), replace=False)
    return np.asarray(jnp.concatenate([x[i], y[j]], axis=0))
print(mixed(key, jnp.ones((4, 2)), jnp.ones((6, 2))))
""",
            """\
def mixed(x, y):
    generator = np.random.default_rng(0)
    x = generator.permutation(x)
    y = generator.permutation(y)
    return np.vstack([x, y])
print(mixed(np.ones((4, 2)), np.ones((6, 2))))
""",
            """\
def load(key, n=100):
    xs = jax.random.normal(key, (n, 2))
    ys = (xs.sum(axis=1) > 0).astype(jnp.int32)
    return xs, ys
def shuffled(key, xs, ys):
    return jax.random.permutation(key, xs), jax.random.permutation(key, ys)
print(shuffled(jax.random.key(1), *load(jax.random.key(0))))
""",
            """\
def load(key, n=100):
    one, two = jax.random.split(key)
    return jax.random.uniform(one, (n,)), jax.random.uniform(two, (n,))
def shuffled(key, xs, ys):
    one, two = jax.random.split(key)
    return jax.random.permutation(one, xs), jax.random.permutation(two, ys)
print(shuffled(jax.random.key(1), *load(jax.random.key(0))))
""",
            """\
def shuffled(images, labels, key):
    first = jax.random.fold_in(key, 1)
    return jax.random.permutation(first, images), jax.random.permutation(first, labels)
""",
            """\
def shuffled(x, y, key):
    kx, ky = jax.random.split(key)
    x, y = jax.random.permutation(kx, x), jax.random.permutation(ky, y)
    return x, y
points = jnp.linspace(-1.0, 1.0, 8)
xs, ys = shuffled(points, jnp.linspace(0.0, 2.0, 8), key)
""",
            """\
def collocation(x, t, key):
    kx, kt = jax.random.split(key)
    return jax.random.permutation(kx, x), jax.random.permutation(kt, t)
""",
            """\
def negatives(images, labels, key):
    first, second = jax.random.split(key)
    return jax.random.permutation(first, images), labels[jax.random.permutation(first, len(labels))]
""",
            """\
def generated(rng, images, labels, size):
    real = images[rng.choice(len(images), size)]
    fake_labels = labels[rng.choice(len(labels), size)]
    return real, fake_labels
print(generated(np.random.default_rng(0), np.ones((4, 2)), np.zeros(4), 2))
""",
            """\
def epochs(key, x_train, y_train):
    for one in jax.random.split(key, 2):
        order = jax.random.permutation(one, len(x_train))
        yield x_train[order], y_train[order]
print(len(list(epochs(key, jnp.ones((4, 2)), jnp.zeros(4)))))
""",
            """\
def epoch(rng, inputs, targets, size):
    order = rng.permutation(len(inputs))
    for i in range(0, len(inputs), size):
        yield inputs[order[i : i + size]], targets[order[i : i + size]]
print(len(list(epoch(np.random.default_rng(0), np.ones((4, 2)), np.zeros(4), 2))))
""",
            """\
def shuffled(batch, rng):
    order = rng.permutation(len(batch["labels"]))
    return {"inputs": batch["inputs"][order], "labels": batch["labels"][order]}
print(shuffled({"inputs": np.ones((4, 2)), "labels": np.arange(4)}, np.random.default_rng(0)))
""",
            """\
def with_null(rng, features, labels):
    order = rng.permutation(len(labels))
    features = features[order]
    permuted_labels = labels[rng.permutation(len(labels))]
    return features, permuted_labels
print(with_null(np.random.default_rng(0), np.ones((4, 2)), np.arange(4)))
""",
            """\
def domains(rng, images, target_images):
    return images[rng.permutation(len(images))], target_images[rng.permutation(len(target_images))]
print(domains(np.random.default_rng(0), np.ones((4, 2)), np.ones((5, 2))))
""",
            "def epoch(key, feats, tags):\n    feats = jax.random.permutation(key, feats)\n"
            "    tags = jax.random.permutation(key, tags)\n    return feats, tags\nprint(epoch(key, x, x))\n",
            """\
rngs = nnx.Rngs(shuffle=1)
def epochs(features, labels, step):
    for _ in range(3):
        order = jax.random.permutation(rngs.shuffle(), len(features))
        x_epoch, y_epoch = features[order], labels[order]
        for x, y in zip(jnp.split(x_epoch, 2), jnp.split(y_epoch, 2)):
            step(x, y)
epochs(jnp.ones((4, 3)), jnp.ones(4), lambda x, y: None)
""",
            """\
def epoch(key, images, labels, step):
    images = jax.random.permutation(key, images)
    labels = jax.random.permutation(key, labels)
    return step(images, labels)
""",
            """\
def epoch(x_train, y_train, step):
    np.random.seed(0)
    np.random.shuffle(x_train)
    np.random.seed(0)
    np.random.shuffle(y_train)
    return step(x_train, y_train)
""",
            """\
def epoch(x_train, y_train, rng, step):
    order = rng.permutation(len(x_train))
    x_train = x_train[order]
    y_train = y_train[order]
    return step(x_train, y_train)
""",
            """\
def points(key, step):
    a, b = jax.random.split(key)
    x = jnp.linspace(0.0, 1.0, 9)
    y = jnp.linspace(0.0, 1.0, 9)
    x = jax.random.permutation(a, x)
    y = jax.random.permutation(b, y)
    return step(x, y)
""",
            """\
def unpaired(rng, horses, zebras, step):
    rng.shuffle(horses)
    rng.shuffle(zebras)
    return step(horses, zebras)
""",
            """\
def splits(rng, train_images, test_labels, step):
    rng.shuffle(train_images)
    rng.shuffle(test_labels)
    return step(train_images, test_labels)
""",
            "def mixed(rng, v):\n"
            "    order = jax.random.permutation(rng, len(v))\n"
            "    return v[order]\n"
            "def epoch(rng, images, labels):\n"
            "    images = mixed(rng, images)\n"
            "    labels = mixed(rng, labels)\n"
            "    return list(zip(images.reshape(-1, 2), labels.reshape(-1)))\n"
            "print(epoch(key, jnp.ones((4, 2)), jnp.arange(4)))\n",
            "def split(features, labels):\n"
            "    order = np.random.permutation(len(features))\n"
            "    features = features[order]\n"
            "    labels = labels[order]\n"
            "    order = np.random.permutation(len(labels))\n"
            "    features = features[order]\n"
            "    labels = labels[order]\n"
            "    return (features[:2], labels[:2]), (features[2:], labels[2:])\n"
            "print(split(np.ones((4, 2)), np.arange(4)))\n",
        ),
    ),
    "NNX977": Cases(
        bad=(
            """\
def drop(v, rate):
    kept = jnp.array(1.0) - rate
    mask = jax.random.bernoulli(key, rate, v.shape)
    return v * mask / kept  # NNX977
""",
            """\
def dropout(k, h, rate):
    mask = jax.random.bernoulli(k, rate, h.shape)
    return h * mask / (1 - rate)  # NNX977
print(dropout(key, x, 0.1))
""",
            """\
def dropout(k, h, rate):
    mask = jax.random.uniform(k, h.shape) < rate
    return jnp.where(mask, h / (1.0 - rate), 0.0)  # NNX977
print(dropout(key, x, 0.1))
""",
            """\
def dropout(k, h, keep):
    mask = jax.random.bernoulli(k, p=keep, shape=h.shape).astype(h.dtype)
    return mask * (h / (1.0 - keep))  # NNX977
print(dropout(key, x, 0.9))
""",
            """\
def dropout(k, h, rate):
    keep = 1.0 - rate
    mask = jax.random.bernoulli(k, keep, h.shape)
    dropped = jnp.where(mask, h, jnp.zeros_like(h))
    return dropped / rate  # NNX977
print(dropout(key, x, 0.1))
""",
            """\
class Dropout(nnx.Module):
    def __init__(self, rate, rngs):
        self.rate = rate
        self.keep = 1.0 - rate
        self.rngs = rngs
    def __call__(self, h):
        mask = jax.random.bernoulli(self.rngs.dropout(), self.rate, h.shape)
        return jax.lax.select(mask, h / self.keep, jnp.zeros_like(h))  # NNX977
print(Dropout(0.1, nnx.Rngs(0))(x))
""",
            """\
def kept(k, p, shape):
    return jax.random.bernoulli(k, p, shape)
def dropout(k, h, rate):
    return jnp.where(kept(k, rate, h.shape), h, 0) * (1 / (1 - rate))  # NNX977
print(dropout(key, x, 0.1))
""",
            """\
def scaled(h, mask, rate):
    return h * mask / (1.0 - rate)  # NNX977
def dropout(k, h, p):
    return scaled(h, jax.random.bernoulli(k, p, h.shape), p)
print(dropout(key, x, 0.1))
""",
            """\
def drop_path(k, h, rate):
    keep = 1.0 - rate
    drop = jax.random.uniform(k, (h.shape[0],)) >= rate
    scaled = h / keep  # NNX977
    return jnp.where(drop, 0.0, scaled)
print(drop_path(key, x, 0.1))
""",
            """\
def dropout(k, h):
    mask = jax.random.bernoulli(k, 0.1, h.shape) / 0.9  # NNX977
    return h * mask
print(dropout(key, x))
""",
            """\
def drop_path(k, h, keep_prob):
    binary = jnp.floor(1.0 - keep_prob + jax.random.uniform(k, (h.shape[0],)))
    return h / keep_prob * binary  # NNX977
print(drop_path(key, x, 0.9))
""",
            """\
class Dropout(nnx.Module):
    def __init__(self, rate, rngs):
        self.rate = rate
        self.rngs = rngs
    def __call__(self, h):
        keep = 1.0 - self.rate
        return h * self.rngs.dropout.bernoulli(self.rate, h.shape) / keep  # NNX977
print(Dropout(0.1, nnx.Rngs(0))(x))
""",
            """\
def dropout(k, h, options):
    h = h * jax.random.bernoulli(k, options["rate"], h.shape)
    h /= 1.0 - options["rate"]  # NNX977
    return h
print(dropout(key, x, {"rate": 0.1}))
""",
            """\
def dropout(k, h, rate):
    mask = jax.random.bernoulli(k, rate, h.shape)
    return jnp.multiply(h, mask) / max(1.0 - rate, 1e-6)  # NNX977
print(dropout(key, x, 0.1))
""",
        ),
        clean=(
            """\
def drop(v, rate):
    kept = jnp.array(1.0) - rate
    mask = jax.random.bernoulli(key, kept, v.shape)
    return v * mask / kept
print(drop(x, 0.5))
""",
            """\
def dropout(k, h, rate):
    drop = jax.random.bernoulli(k, rate, h.shape)
    return h / (1 - rate) - h * drop / (1 - rate)
print(dropout(key, x, 0.1))
""",
            """\
def dropout(k, h, options):
    h = jnp.where(jax.random.bernoulli(k, options["rate"], h.shape), 0.0, h)
    h /= 1.0 - options["rate"]
    return h
print(dropout(key, x, {"rate": 0.1}))
""",
            """\
def losses(k, loss, t):
    alpha = 1.0 - t
    masked = jax.random.uniform(k, loss.shape) < 1.0 - alpha
    return (loss * masked / (1.0 - alpha)).sum()
print(losses(key, x, 0.3))
""",
            """\
def dropout(k, h, rate):
    rate = 1.0 - rate
    mask = jax.random.bernoulli(k, rate, h.shape)
    return h * mask / rate
print(dropout(key, x, 0.1))
""",
            """\
def dropout(k, h, rate):
    mask = jax.random.bernoulli(k, 1 - rate, h.shape)
    return h * mask / (1 - rate)
print(dropout(key, x, 0.1))
""",
            """\
def dropout(k, h, keep_prob):
    mask = jax.random.bernoulli(k, keep_prob, h.shape)
    return jnp.where(mask, h / keep_prob, 0.0)
print(dropout(key, x, 0.9))
""",
            """\
def dropout(k, h, rate):
    drop = jax.random.bernoulli(k, rate, h.shape)
    return jnp.where(drop, 0.0, h / (1.0 - rate))
print(dropout(key, x, 0.1))
""",
            """\
def dropout(k, h, rate):
    mask = jax.random.uniform(k, h.shape) > rate
    return mask * h / (1.0 - rate)
print(dropout(key, x, 0.1))
""",
            """\
def dropout(k, h, rate):
    mask = jax.random.bernoulli(k, rate, h.shape)
    return h * ~mask / (1.0 - rate) + jnp.logical_not(mask) * h / (1.0 - rate)
print(dropout(key, x, 0.1))
""",
            """\
def dropout(k, h, rate):
    keep = 1.0 - rate
    mask = jax.random.bernoulli(k, rate, h.shape).astype(h.dtype)
    return h * (1.0 - mask) / keep
print(dropout(key, x, 0.1))
""",
            """\
class Dropout(nnx.Module):
    def __init__(self, rate, rngs):
        self.rate = rate
        self.keep = 1.0 - rate
        self.rngs = rngs
    def __call__(self, h):
        mask = jax.random.bernoulli(self.rngs.dropout(), self.keep, h.shape)
        return jnp.where(mask, h / (1.0 - self.rate), 0.0)
print(Dropout(0.1, nnx.Rngs(0))(x))
""",
            """\
def kept(k, rate, shape):
    return jax.random.bernoulli(k, 1 - rate, shape)
def dropout(k, h, rate):
    return jnp.where(kept(k, rate, h.shape), h, 0) / (1 - rate)
print(dropout(key, x, 0.1))
""",
            """\
def effect(k, outcome, p):
    treated = jax.random.bernoulli(k, p, outcome.shape)
    return jnp.mean(outcome * treated / p - outcome * (1 - treated) / (1 - p))
print(effect(key, x, 0.3))
""",
            """\
def pull(k, values, p):
    treated = jax.random.bernoulli(k, p, values.shape)
    return values * treated * p / (1 - p), values / (1 - p) + treated
print(pull(key, x, 0.3))
""",
            """\
def mix(k, a, b, p):
    swap = jax.random.bernoulli(k, p, a.shape)
    return jnp.where(swap, a / (1 - p), b)
print(mix(key, x, x[::-1], 0.3))
""",
            """\
def masked_lm(k, tokens, rate):
    picked = jax.random.bernoulli(k, rate, tokens.shape)
    loss = (tokens * picked).sum() / (rate * tokens.size)
    return jnp.where(picked, 0, tokens), loss / (1 - rate)
print(masked_lm(key, x, 0.15))
""",
            """\
def drop_path(k, h, keep_prob):
    binary = jnp.floor(keep_prob + jax.random.uniform(k, (h.shape[0],)))
    return h / keep_prob * binary
print(drop_path(key, x, 0.9))
""",
            """\
def dropout(k, h):
    mask = jax.random.bernoulli(k, 0.5, h.shape)
    return h * mask / (1 - 0.5)
print(dropout(key, x))
""",
            """\
def score(k, p, n):
    heads = jax.random.bernoulli(k, p, (n,))
    odds = heads / (1 - p)
    return jnp.sum(heads / p - (1 - heads) / (1 - p)), odds.max()
print(score(key, 0.3, 4))
""",
            """\
def scaled(h, mask, rate):
    return h * mask / (1.0 - rate)
def dropout(k, h, p):
    return scaled(h, jax.random.bernoulli(k, 1 - p, h.shape), p)
print(dropout(key, x, 0.1))
""",
        ),
    ),
}

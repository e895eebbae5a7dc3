"""Arguments of other kinds than they should be, and what cannot be called or kept."""

from __future__ import annotations

from tests.lint.tables import Cases

_NET = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.rngs = rngs
    def __call__(self, x):
        return self.norm(self.linear(x))

"""
_CLASS = """\
class Settings:
    def __init__(self, scale=2.0):
        self.scale = scale

"""
_TX = "tx = optax.adam(1e-3)\nparams = {'w': x}\nstate = tx.init(params)\n"

CASES = {
    "NNX874": Cases(
        bad=(
            """\
def shapes(model):
    params, graph = nnx.split(model)
    return jax.tree_util.tree_map(lambda one: one.shape, params)  # NNX874
""",
            """\
def stored(model):
    params, graph = nnx.split(model)
    leaves, kept = jax.tree_util.tree_flatten_with_path(params)  # NNX874
    return leaves, kept
""",
            """\
graph, params = nnx.split(model)
print(jax.tree.leaves(graph))  # NNX874
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 5, rngs=rngs)
        self.rngs = rngs.fork()
    def __call__(self, seq, batch_size):
        carry = self.cell.initialize_carry((batch_size,), rngs=self.rngs)  # NNX874
        run = nnx.scan(lambda cell, h, v: cell(h, v), in_axes=(None, nnx.Carry, 1), out_axes=(nnx.Carry, 1))
        return run(self.cell, carry, seq)[0]
""",
            """\
def noise(rng_init, x_shape):
    rng_i = jax.random.fold_in(rng_init, 1)
    return jax.random.normal(x_shape[1:], rng_i, jnp.float32)  # NNX874
""",
            """\
def draw(key, cdf, n):
    return jax.random.uniform(list(cdf.shape[:-1]) + [n], key, maxval=1.0)  # NNX874
""",
            """\
def loaded(model, restored_params):
    nnx.update(restored_params, model)  # NNX874
    return model
""",
            """\
class Evaluator:
    def __init__(self, eval_rng):
        self.eval_rng = eval_rng
    def step(self, eval_step):
        return jax.random.normal(jax.random.fold_in(eval_step, self.eval_rng))  # NNX874
""",
            """\
def fit(layer_sizes, seed):
    return [jax.random.normal(jax.random.key(seed), (n,)) for n in layer_sizes]
def main(layer_sizes, seed):
    return fit(seed, layer_sizes)  # NNX874
""",
            """\
def bounded(upper):
    return jnp.where(upper / jnp.sqrt(3), upper < 1e-4, jnp.sqrt(1 - upper))  # NNX874
""",
            """\
def filled(scores, pad_mask):
    return jnp.where(-1e9, pad_mask, scores)  # NNX874
""",
            """\
class Matrix:
    def __init__(self, cov):
        self.cov = cov
    def symmetric(self):
        self.cov = jnp.where(self.cov.T, jnp.isnan(self.cov), self.cov)  # NNX874
""",
            """\
def perturb(key, row):
    return row + jax.random.normal(key, row.shape)
def noisy(rows):
    key = jax.random.key(0)
    return jax.vmap(perturb)(key, rows)  # NNX874
""",
            """\
def members(seed, n):
    key, sub = jax.random.split(jax.random.key(seed))
    return jax.vmap(lambda k: jax.random.normal(k, (n,)))(sub)  # NNX874
""",
            """\
def accuracy(logits, labels):
    targets = jax.nn.one_hot(logits.shape[-1], labels)  # NNX874
    return jnp.mean(jnp.argmax(logits, -1) == jnp.argmax(targets, -1))
""",
            """\
def loss_fn(model, batch):
    return jnp.mean(model(batch) ** 2)
def step(model, batch):
    return nnx.value_and_grad(loss_fn)(batch, model)  # NNX874
""",
            """\
def noisy(params, key):
    return params + jax.random.normal(key, params.shape)
def sample(params, key):
    return noisy(key, params)  # NNX874
""",
            """\
for epoch in range(3):
    sub = jax.random.fold_in(epoch, key)  # NNX874
    print(jax.random.normal(sub))
""",
            """\
def stage(din, dout, rngs):
    return [nnx.Conv(din, dout, (3, 3), rngs=rngs), nnx.relu, nnx.max_pool]
def chain(widths, rngs):
    layers = []
    for din, dout in zip(widths[:-1], widths[1:]):
        layers.extend(stage(din, dout, rngs))
    return nnx.Sequential(*layers)  # NNX874
net = chain([1, 2, 4], nnx.Rngs(0))
""",
            """\
net = nnx.Sequential(nnx.Conv(1, 2, (3, 3), rngs=nnx.Rngs(0)), nnx.relu, nnx.avg_pool)  # NNX874
""",
            """\
from flax import linen as nn
net = nn.Sequential([nn.Conv(2, (3, 3)), nn.relu, nn.max_pool, nn.Dense(3)])  # NNX874
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        v = nn.max_pool(nn.Conv(8, (3, 3))(v), window_shape=(2, 2))  # NNX874
        return nn.Dense(10)(v.reshape((v.shape[0], -1)))
""",
            """\
def begun(key, n, low, high):
    return jax.random.uniform(key, (n,), low, high)  # NNX874
print(begun(key, 3, -1.0, 1.0))
""",
            """\
def masked(key, v):
    return jnp.where(jax.random.bernoulli(key, v.shape), 0.0, v)  # NNX874
print(masked(key, x))
""",
            """\
print(jax.random.normal(key, 0.0, 1.0, (3,)))  # NNX874
""",
            """\
def begun(key, shape, fan):
    limit = fan ** -0.5
    return jax.random.uniform(key, shape, -limit, limit)  # NNX874
print(begun(key, (3,), 4))
""",
            """\
def adapted(din, dout, lora_rank, rngs):
    return nnx.LoRA(in_features=din, lora_rank=dout, out_features=lora_rank, rngs=rngs)  # NNX874
""",
            """\
class Block(nnx.Module):
    def __init__(self, size, rngs):
        self.norm = nnx.GroupNorm(32, group_size=size, rngs=rngs)  # NNX874
def build(rngs):
    return Block(8, rngs)
""",
            """\
def build(rngs):
    return nnx.GroupNorm(32, num_groups=4, group_size=8, rngs=rngs)  # NNX874
""",
            """\
def adapted(layer, rank, rngs):
    return nnx.LoRA(layer.in_features, layer.out_features, rank, base_module=layer, rngs=rngs)  # NNX874
""",
            """\
IN, OUT, SMALL = 6, 5, 2
def base():
    return nnx.Linear(IN, OUT, rngs=nnx.Rngs(0))
def adapted(layer):
    return nnx.LoRA(IN, OUT, SMALL, base_module=layer, rngs=nnx.Rngs(1))  # NNX874
def build():
    return adapted(base())
""",
            """\
def drawn(shape, seed):
    first, second = jax.random.split(jax.random.key(seed))
    return jax.random.uniform(shape, first)  # NNX874
""",
            """\
class Net(nnx.Module):
    def __init__(self, dim, rngs):
        init = nnx.initializers.xavier_uniform()
        self.w = nnx.Param(init((dim, dim), rngs.params()))  # NNX874
""",
            """\
SEED = 42
noise = jax.random.normal(SEED, (3,))  # NNX874
first, second = jax.random.split(0)  # NNX874
""",
            "state, graphdef = nnx.split(model)\ncopy = nnx.merge(graphdef, state)  # NNX874\n",
            "graphdef, state = nnx.split(model)\ncopy = nnx.merge(state, graphdef)  # NNX874\n",
            "def noise(rngs: nnx.Rngs):\n    return jax.random.normal(rngs, (3,))  # NNX874\nnoise\n",
            "rngs = nnx.Rngs(0)\nw = jax.random.normal(rngs.params, (3,))  # NNX874\n",
            "rngs = nnx.Rngs(0)\nw = nnx.initializers.lecun_normal()(rngs, (3, 3))  # NNX874\n",
            "w = jax.random.normal((3,), key)  # NNX874\n",
            "net = nnx.Sequential([model, nnx.relu])  # NNX874\n",
            "layers = [model, nnx.relu]\nnet = nnx.Sequential(layers)  # NNX874\n",
            "net = nnx.Sequential([nnx.Linear(3, 3, rngs=nnx.Rngs(i)) for i in (1, 2)])  # NNX874\n",
            "keys = jax.random.split(key)\nv = jax.random.normal(keys, (3,))  # NNX874\n",
            "def draw():\n    keys = jax.random.split(key, 3)\n    return jax.random.uniform(keys)  # NNX874\n",
            "v = jax.random.bernoulli(jax.random.split(key))  # NNX874\n",
            "w = jnp.ones(3) / 3\ni = jax.random.choice(key, 3, (2,), w)  # NNX874\n",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Conv(1, 4, (3, 3), rngs=rngs)
        self.two = nnx.Conv(4, 4, (3, 3), rngs=rngs)
    def features(self, v):
        v = nnx.max_pool(nnx.relu(self.one(v)), window_shape=(2, 2))  # NNX874
        return nnx.max_pool(nnx.relu(self.two(v)), window_shape=(2, 2))  # NNX874
    def __call__(self, v):
        return self.features(v).mean(axis=(1, 2))
""",
            """\
def build(rngs):
    return nnx.Sequential(
        nnx.Conv(1, 4, (3, 3), rngs=rngs),
        functools.partial(nnx.max_pool, window_shape=(2, 2)),  # NNX874
        nnx.Conv(4, 4, (3, 3), rngs=rngs),
        functools.partial(nnx.max_pool, window_shape=(2, 2)),  # NNX874
    )
""",
            """\
def encode(convs, v):
    for conv in convs:
        v = nnx.max_pool(nnx.relu(conv(v)), (2, 2))  # NNX874
    return v
""",
            # the decay of the weights in the place of b1
            """\
LEARNING_RATE, WEIGHT_DECAY = 1e-3, 1e-4
tx = optax.adamw(LEARNING_RATE, WEIGHT_DECAY)  # NNX874
""",
            """\
def make(lr, weight_decay):
    return optax.chain(optax.clip_by_global_norm(1.0), optax.lion(lr, weight_decay))  # NNX874
""",
            "tx = optax.adam(optax.cosine_decay_schedule(1e-3, 100), 0.01)  # NNX874\n",
            """\
class Causal(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=4, decode=False, rngs=rngs)
    def __call__(self, h):
        return self.attn(h, mask=nnx.make_causal_mask(h))  # NNX874
class Padded(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=4, decode=False, rngs=rngs)
    def __call__(self, h, keep):
        return self.attn(h, mask=keep)  # NNX874
class Lm(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(9, 4, rngs=rngs)
        self.causal = Causal(rngs)
        self.padded = Padded(rngs)
    def __call__(self, ids):
        keep = jnp.not_equal(ids, 0)
        return self.padded(self.causal(self.embed(ids)), keep)
""",
            """\
class Block(nnx.Module):
    def __init__(self, width, rngs):
        self.norm = nnx.GroupNorm(width, rngs=rngs)  # NNX874
        self.attn = nnx.MultiHeadAttention(num_heads=3, in_features=width, decode=False, rngs=rngs)  # NNX874
    def __call__(self, v):
        return self.attn(self.norm(v))
class Net(nnx.Module):
    def __init__(self, base, rngs):
        self.one = Block(base, rngs)
        self.two = Block(2 * base, rngs)
    def __call__(self, v):
        return self.one(v)
net = Net(40, nnx.Rngs(0))
""",
            """\
def conv_block(din, dout, rngs):
    return nnx.Sequential(nnx.Conv(din, dout, kernel_size=3, rngs=rngs), nnx.relu)
class Net(nnx.Module):
    def __init__(self, rngs):
        self.one = conv_block(3, 4, rngs)
        self.out = nnx.Linear(4, 2, rngs=rngs)
    def pool(self, v):
        return nnx.max_pool(v, (2, 2))  # NNX874
    def __call__(self, images):
        v = self.pool(self.one(images))  # NNX874
        return self.out(self.pool(v).mean(axis=(1, 2)))
y = Net(nnx.Rngs(0))(jax.random.normal(key, (1, 9, 9, 3)))
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 5, rngs=rngs)
        self.rnn = nnx.RNN(self.cell)
    def __call__(self, v, rngs):
        carry = self.cell.initialize_carry(v.shape, rngs)  # NNX874
        for t in range(4):
            carry, y = self.cell(carry, v[:, t])
        return y
    def whole(self, v, rngs):
        return self.rnn(v, initial_carry=self.cell.initialize_carry(v.shape, rngs))  # NNX874
    def scanned(self, v, rngs):
        carry = self.cell.initialize_carry(v.shape, rngs)  # NNX874
        return jax.lax.scan(lambda c, u: self.cell(c, u), carry, jnp.swapaxes(v, 0, 1))
""",
            """\
class Separable(nnx.Module):
    def __init__(self, din, dout, keep_prob, rngs):
        self.depth = nnx.Conv(din, dout, (3, 3), feature_group_count=din, rngs=rngs)  # NNX874
        self.drop = nnx.Dropout(keep_prob, rngs=rngs)  # NNX874
net = Separable(24, 32, 0.9, nnx.Rngs(0))
""",
            # the key of an entry
            """\
hparams = dict(width=4, keep_prob=0.9)
class Crops(nnx.Module):
    def __init__(self, cfg, rngs):
        self.first = nnx.Dropout(cfg["keep_prob"], rngs=rngs)  # NNX874
        self.second = nnx.Dropout(rate=cfg.get("keep_prob", 1.0), rngs=rngs)  # NNX874
        share = cfg["keep_prob"]
        self.third = nnx.Dropout(share, rngs=rngs)  # NNX874
Crops(hparams, nnx.Rngs(0))
""",
        ),
        clean=(
            """\
graph, params = nnx.split(model)
graph_alone = nnx.graphdef(model)
print(len(jax.tree.leaves(params)), jax.tree.map(jnp.shape, params), jax.tree.structure(graph))
print(len(jax.tree.leaves((graph_alone, params))))
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 5, rngs=rngs)
        self.rngs = rngs.fork()
    def __call__(self, seq, batch_size):
        carry = self.cell.initialize_carry((batch_size, 3), rngs=self.rngs)
        run = nnx.scan(lambda cell, h, v: cell(h, v), in_axes=(None, nnx.Carry, 1), out_axes=(nnx.Carry, 1))
        return run(self.cell, carry, seq)[0]
Encoder(nnx.Rngs(0))(jnp.ones((2, 4, 3)), 2)
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 5, rngs=rngs)
        self.rngs = rngs.fork()
    def __call__(self, seq, width):
        carry = self.cell.initialize_carry((width,), rngs=self.rngs)
        run = nnx.scan(lambda cell, h, v: cell(h, v), in_axes=(None, nnx.Carry, 1), out_axes=(nnx.Carry, 1))
        return run(self.cell, carry, seq)[0]
Encoder(nnx.Rngs(0))(jnp.ones((3, 4)), 3)
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 5, rngs=rngs)
        self.rngs = rngs.fork()
    def __call__(self, seq, batch_size):
        carry = self.cell.initialize_carry((batch_size,), rngs=self.rngs)
        for t in range(seq.shape[1]):
            carry, _ = self.cell(carry, seq[:, t])
        return carry
Encoder(nnx.Rngs(0))(jnp.ones((2, 4, 3)), 2)
""",
            """\
def noise(key, x_shape):
    return jax.random.normal(key, x_shape[1:], jnp.float32)
print(noise(key, (2, 3)))
""",
            """\
def distance(first_point, second_point):
    return jnp.sum((first_point - second_point) ** 2)
def both(first_point, second_point):
    return distance(second_point, first_point)
print(both(x, x))
""",
            """\
def edge(src, dst, weight):
    return (src - dst) * weight
def undirected(src, dst, weight):
    return edge(src, dst, weight) + edge(dst, src, weight)
print(undirected(x, x, 1.0))
""",
            """\
def kl(p, q):
    return jnp.sum(p * (jnp.log(p) - jnp.log(q)))
def js(p, q):
    return kl(p, q) + kl(q, p)
print(js(x, x))
""",
            """\
def chosen(use, y, mask):
    a = jnp.where(use, y > 0, y < 0)
    b = jnp.where(use, mask, False)
    c = jnp.where(mask, y, -1e9)
    return a, b, c, jnp.where(1 - jnp.eye(3), y < 2, 0)
print(chosen(True, x, x > 0))
""",
            """\
def perturb(key, row):
    return row + jax.random.normal(key, row.shape)
def noisy(rows, key):
    pairs = jax.random.split(key, (2, rows.shape[0]))
    return jax.vmap(perturb)(pairs[0], rows) + jax.vmap(perturb)(jax.random.split(pairs[1, 0], len(rows)), rows)
print(noisy(x, jax.random.key(3)))
""",
            """\
def spread(key, rates):
    return jax.vmap(lambda k, rate: rate, in_axes=(None, 0))(jax.random.key(0), rates)
print(spread(None, jnp.ones(3)))
""",
            """\
def shifted(keys, rows):
    folded = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, 3)
    return jax.vmap(lambda k, row: row + jax.random.normal(k, row.shape))(folded, rows)
print(shifted(jax.random.split(jax.random.key(4), x.shape[0]), x))
""",
            """\
def planes(labels, depth):
    return jax.nn.one_hot(labels, 3), jax.nn.one_hot(2, depth), jax.nn.one_hot(labels, labels.shape[0])
print(planes(jnp.arange(3), 4))
""",
            """\
def loss_fn(model, batch):
    return jnp.mean(model(batch) ** 2)
def step(model, batch):
    return nnx.value_and_grad(loss_fn)(model, batch)
def turned(batch, model):
    return loss_fn(model, batch)
print(step(model, x)[0], turned(x, model))
""",
            """\
def kl(p, q):
    return jnp.sum(p * (jnp.log(p) - jnp.log(q)))
def reversed_kl(p, q):
    return kl(q, p)
print(reversed_kl(jnp.ones(2) / 2, jnp.array([0.25, 0.75])))
""",
            """\
parts = jax.random.split(key, 2)
for epoch in range(3):
    print(jax.random.normal(jax.random.fold_in(parts[0], epoch), (2,)))
""",
            """\
def folded(key, data):
    return jax.random.fold_in(key, data)
print(jax.random.normal(folded(jax.random.key(0), 3)))
""",
            """\
from functools import partial
def stage(din, dout, rngs):
    pool = partial(nnx.max_pool, window_shape=(2, 2), strides=(2, 2))
    return [nnx.Conv(din, dout, (3, 3), rngs=rngs), nnx.relu, pool]
layers = []
for din, dout in ((1, 2), (2, 4)):
    layers += stage(din, dout, nnx.Rngs(0))
print(nnx.Sequential(*layers)(jnp.ones((1, 8, 8, 1))).shape)
""",
            """\
from flax import linen as nn
net = nn.Sequential([nn.Conv(2, (3, 3)), nn.relu, lambda v: nn.max_pool(v, (2, 2), strides=(2, 2)), nn.Dense(3)])
print(net.init_with_output(jax.random.key(0), jnp.ones((1, 8, 8, 1)))[0].shape)
""",
            """\
def walk(key, n):
    places = []
    for _ in range(n):
        key, drawn = jax.random.split(key)
        each = jax.random.split(drawn, num=())
        places.append(jax.random.normal(each, (3,)))
    return places
print(walk(key, 2))
""",
            """\
def seed_of(rng=None):
    if rng is None:
        rng = 7
    elif isinstance(rng, jax.Array):
        rng = jax.random.randint(rng, (), 0, 100)
        rng = int(rng)
    return rng
print(seed_of(), seed_of(3), seed_of(key))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        v = nn.max_pool(nn.Conv(8, (3, 3))(v), window_shape=(2, 2), strides=(2, 2))
        return nn.Dense(10)(v.reshape((v.shape[0], -1)))
variables = Net().init(jax.random.key(0), jnp.ones((1, 8, 8, 3)))
""",
            """\
def begun(key, n, low, high):
    return jax.random.uniform(key, (n,), minval=low, maxval=high)
print(begun(key, 3, -1.0, 1.0))
""",
            """\
def begun(key, n, kind, low, high):
    return jax.random.uniform(key, (n,), kind, low, high)
print(begun(key, 3, jnp.float32, -1.0, 1.0))
""",
            """\
def masked(key, share):
    return jax.random.bernoulli(key, share)
print(masked(key, jnp.full((2,), 0.5)))
""",
            """\
def begun(key, shape, dtype=jnp.float32):
    return jax.random.normal(key, shape, dtype)
one, two = jax.random.split(key)
print(begun(one, (2,)), jax.random.normal(two, 3, float))
""",
            # averages over two gradients, over none, and by their names
            """\
b1, WEIGHT_DECAY, momentum = 0.9, 1e-4, 0.9
made = [optax.adam(1e-3, 0.5, 0.9), optax.adam(1e-3, 0.0), optax.adamw(1e-3, b1, 0.999), optax.adamw(1e-3, momentum)]
made += [optax.adamw(1e-3, weight_decay=WEIGHT_DECAY), optax.sgd(1e-3, 0.05), optax.rmsprop(1e-3, 0.1)]
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Conv(1, 4, (3, 3), rngs=rngs)
        self.two = nnx.Conv(4, 4, (3, 3), rngs=rngs)
    def features(self, v):
        v = nnx.max_pool(nnx.relu(self.one(v)), window_shape=(2, 2), strides=(2, 2))
        return nnx.max_pool(nnx.relu(self.two(v)), window_shape=(2, 2), strides=(2, 2))
    def __call__(self, v):
        return self.features(v).mean(axis=(1, 2))
""",
            """\
def build(rngs):
    return nnx.Sequential(
        nnx.Conv(1, 4, (3, 3), rngs=rngs),
        functools.partial(nnx.max_pool, window_shape=(2, 2), strides=(2, 2)),
        nnx.Conv(4, 4, (3, 3), rngs=rngs),
        functools.partial(nnx.max_pool, window_shape=(2, 2), strides=(2, 2)),
    )
""",
            """\
def encode(convs, v):
    for conv in convs:
        v = nnx.max_pool(nnx.relu(conv(v)), (3, 3))
    return v
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.one = nnx.Conv(1, 4, (3, 3), rngs=rngs)
        self.two = nnx.Conv(4, 4, (3, 3), rngs=rngs)
    def features(self, v):
        v = nnx.max_pool(nnx.relu(self.one(v)), window_shape=(3, 3), padding="SAME")
        return nnx.max_pool(nnx.relu(self.two(v)), window_shape=(3, 3), padding="SAME")
    def __call__(self, v):
        return self.features(v).mean(axis=(1, 2))
""",
            """\
def dilated(v, rounds):
    for _ in range(rounds):
        v = nnx.max_pool(v, (2, 2))
    return v
""",
            """\
def halved(v):
    return nnx.max_pool(v, (2, 2))
small = halved(jnp.ones((1, 2, 2, 1)))
""",
            """\
def adapted(din, dout, lora_rank, rngs):
    return nnx.LoRA(in_features=din, lora_rank=lora_rank, out_features=dout, rngs=rngs)
adapted(3, 3, 2, nnx.Rngs(1))(x)
""",
            """\
class Block(nnx.Module):
    def __init__(self, size, rngs):
        self.norm = nnx.GroupNorm(32, num_groups=None, group_size=size, rngs=rngs)
Block(8, nnx.Rngs(0))
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs, size=None):
        groups = 32 if size is None else None
        self.norm = nnx.GroupNorm(64, groups, size, rngs=rngs)
Block(nnx.Rngs(0)), Block(nnx.Rngs(0), 8)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs, size=None):
        self.norm = nnx.GroupNorm(64, group_size=size, rngs=rngs)
Block(nnx.Rngs(0))
""",
            """\
def adapted(layer, rank, rngs):
    return nnx.LoRA(layer.in_features, rank, layer.out_features, base_module=layer, rngs=rngs)
adapted(model, 2, nnx.Rngs(1))(x)
""",
            """\
def adapted(layer, rank, rngs):
    return nnx.LoRA(3, out_features=3, lora_rank=rank, base_module=layer, rngs=rngs)
adapted(model, 2, nnx.Rngs(1))(x)
""",
            """\
def drawn(key, shape):
    first, second, third = jax.random.split(key, 3)
    keys = jax.random.split(second, 3)
    return jax.random.uniform(first, shape), jax.random.normal(third, shape), jax.vmap(jax.random.normal)(keys)
drawn(key, (3,))
""",
            """\
class Net(nnx.Module):
    def __init__(self, dim, rngs):
        init = nnx.initializers.xavier_uniform()
        self.w = nnx.Param(init(rngs.params(), (dim, dim)))
Net(3, nnx.Rngs(0))
""",
            """\
SEED = 42
noise = jax.random.normal(jax.random.key(SEED), (3,))
first, second = jax.random.split(jax.random.key(0))
np.random.seed(SEED)
print(np.random.normal(0, 1))
""",
            "graphdef, state = nnx.split(model)\ncopy = nnx.merge(graphdef, state)\n",
            "graphdef, params, rest = nnx.split(model, nnx.Param, ...)\ncopy = nnx.merge(graphdef, params, rest)\n",
            "def copied(parts):\n    return nnx.merge(*parts)\ncopy = copied(nnx.split(model))\n",
            "def noise(rngs: nnx.Rngs):\n    return jax.random.normal(rngs(), (3,))\nprint(noise(nnx.Rngs(0)))\n",
            "rngs = nnx.Rngs(0)\nw = jax.random.normal(rngs.params(), (3,))\n",
            "rngs = nnx.Rngs(0)\nw = nnx.initializers.lecun_normal()(rngs.params(), (3, 3))\n",
            "w = jax.random.normal(key, (3,))\n",
            "w = jax.random.choice(key, (3))\n",
            "net = nnx.Sequential(*[model, nnx.relu])\n",
            "net = nnx.Sequential(lambda v: v)\n",
            "keys = jax.random.split(key)\nv = jax.random.normal(keys[0], (3,))\n",
            "keys = jax.random.split(key, 3)\nv = jax.vmap(jax.random.uniform)(keys)\n",
            "a, b = jax.random.split(key)\nv = jax.random.bernoulli(a)\n",
            "v = [jax.random.normal(k) for k in jax.random.split(key, 3)]\n",
            "w = jnp.ones(3) / 3\ni = jax.random.choice(key, 3, (2,), False, w)\n",
            "def draw(again):\n    return jax.random.choice(key, 3, (2,), again)\n",
            """\
class Causal(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=4, decode=False, rngs=rngs)
    def __call__(self, h, ids, keep):
        mask = nnx.combine_masks(nnx.make_causal_mask(ids), nnx.make_causal_mask(h[..., 0]), keep)
        return self.attn(h, mask=mask)
class Lm(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(9, 4, rngs=rngs)
        self.causal = Causal(rngs)
    def __call__(self, ids):
        keep = ids != 0
        return self.causal(self.embed(ids), ids, nnx.make_attention_mask(keep, keep))
print(Lm(nnx.Rngs(0))(jnp.array([[1, 2, 0]])).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, width, groups, rngs):
        self.norm = nnx.GroupNorm(width, num_groups=width // 4, rngs=rngs)
        self.few = nnx.GroupNorm(width, num_groups=groups, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=width // 8, in_features=width, decode=False, rngs=rngs)
        if width % 32 == 0:
            self.many = nnx.GroupNorm(width, rngs=rngs)
class Net(nnx.Module):
    def __init__(self, base, rngs):
        self.one = Block(base, 5, rngs)
        self.two = Block(2 * base, 16, rngs)
net = Net(40, nnx.Rngs(0))
""",
            """\
def conv_block(din, dout, rngs):
    return nnx.Sequential(nnx.Conv(din, dout, kernel_size=3, rngs=rngs), nnx.relu)
class Signals(nnx.Module):
    def __init__(self, rngs):
        self.one = conv_block(3, 4, rngs)
        self.two = nnx.Sequential(nnx.Conv(4, 4, kernel_size=(3, 3), rngs=rngs), nnx.relu)
    def pool(self, v):
        return nnx.max_pool(v, (2,), strides=(2,))
    def __call__(self, v):
        v = self.pool(self.pool(self.one(v)))
        return self.two(v[:, None])
print(Signals(nnx.Rngs(0))(jax.random.normal(key, (1, 9, 3))).shape)
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 5, rngs=rngs)
        self.rnn = nnx.RNN(self.cell)
    def __call__(self, v, rngs):
        carry = self.cell.initialize_carry(v[:, 0].shape, rngs)
        for t in range(4):
            carry, y = self.cell(carry, v[:, t])
        return y
    def frames(self, v, rngs):
        carry = self.cell.initialize_carry(v.shape, rngs)
        for _ in range(2):
            carry, y = self.cell(carry, v)
        return y
    def whole(self, v, rngs):
        return self.rnn(v, initial_carry=self.cell.initialize_carry(v[:, 0].shape, rngs))
net = Encoder(nnx.Rngs(0))
v = jnp.ones((2, 4, 3))
print(net(v, nnx.Rngs(1)).shape, net.frames(v, nnx.Rngs(1)).shape, net.whole(v, nnx.Rngs(1)).shape)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 4, kernel_size=(3, 3), rngs=rngs)
    def peak(self, v):
        return nnx.max_pool(v, (3, 3))
    def pool(self, v):
        return nnx.max_pool(v, (2, 2), padding="SAME")
    def __call__(self, v):
        return self.pool(self.pool(self.peak(self.peak(self.conv(v)))))
print(Net(nnx.Rngs(0))(jax.random.normal(key, (1, 9, 9, 3))).shape)
""",
            """\
class Separable(nnx.Module):
    def __init__(self, din, dout, keep_prob, rngs):
        self.depth = nnx.Conv(din, 2 * din, (3, 3), feature_group_count=din, rngs=rngs)
        self.point = nnx.Conv(din, dout, (1, 1), feature_group_count=8, rngs=rngs)
        self.drop = nnx.Dropout(1 - keep_prob, rngs=rngs)
        self.few = nnx.Dropout(rate=KEEP, rngs=rngs)
KEEP = 0.1
net = Separable(24, 32, 0.9, nnx.Rngs(0))
""",
            # the share that is dropped, and one that is dropped for all its name
            """\
hparams = dict(width=4, keep_prob=0.9, few=dict(keep=0.1))
small = {"keep_prob": 0.1}
class Crops(nnx.Module):
    def __init__(self, cfg, rngs):
        self.first = nnx.Dropout(1 - cfg["keep_prob"], rngs=rngs)
        dropped = 1.0 - cfg.get("keep_prob", 1.0)
        self.second = nnx.Dropout(dropped, rngs=rngs)
        self.third = nnx.Dropout(cfg["few"]["keep"], rngs=rngs)
class Few(nnx.Module):
    def __init__(self, cfg, rngs):
        self.first = nnx.Dropout(cfg["keep_prob"], rngs=rngs)
        self.second = nnx.Dropout(cfg.get("keep", 0.1), rngs=rngs)
Crops(hparams, nnx.Rngs(0))
Few(small, nnx.Rngs(0))
""",
        ),
    ),
    "NNX875": Cases(
        bad=(
            _NET + "net = Net(nnx.Rngs(0))\nvariables = net.init(key, x)  # NNX875\n",
            _NET + "net = Net(nnx.Rngs(0))\ny = net.apply({}, x)  # NNX875\n",
            "class Old(nnx.Module):\n"
            "    def __call__(self, x):\n"
            "        return x @ self.param('w', nnx.initializers.ones, (3, 3))  # NNX875\n",
            "class Noise(nnx.Module):\n"
            "    def __call__(self, x):\n"
            "        return x + jax.random.normal(self.make_rng('noise'), x.shape)  # NNX875\n",
            "class Late(nnx.Module):\n    def setup(self):  # NNX875\n        self.w = nnx.Param(jnp.ones(3))\n"
            "    def __call__(self, x):\n        return self.w * x\n",
            """\
class Projector(nnx.Module):
    def __init__(self, din, rngs):
        self.din, self.rngs = din, rngs
    def setup(self):  # NNX875
        self.fc = nnx.Linear(self.din, 4, rngs=self.rngs)
    def __call__(self, v):
        return self.fc(v)
net = Projector(3, nnx.Rngs(0))
""",
        ),
        clean=(
            "class Late(nnx.Module):\n    def __init__(self):\n        self.setup()\n    def setup(self):\n"
            "        self.w = nnx.Param(jnp.ones(3))\nLate()\n",
            _NET + "net = Net(nnx.Rngs(0))\nnet.eval()\ny = net(x[None])\n",
            _NET + "class Own(Net):\n    def init(self, x):\n        return self(x)\n"
            "own = Own(nnx.Rngs(0))\nown.init(x[None])\n",
            "state = optax.adam(1e-3).init({'w': x})\n",
            "class Holder(nnx.Module):\n    def __init__(self, apply):\n        self.apply = apply\n"
            "    def __call__(self, x):\n        return self.apply(x)\nprint(Holder(jnp.sin)(x))\n",
            "from flax import linen as nn\nlayer = nn.Dense(3)\n"
            "variables = layer.init(key, x)\ny = layer.apply(variables, x)\n",
            """\
class Projector(nnx.Module):
    def __init__(self, din, rngs):
        self.din, self.rngs = din, rngs
        self.setup()
    def setup(self):
        self.fc = nnx.Linear(self.din, 4, rngs=self.rngs)
    def __call__(self, v):
        return self.fc(v)
print(Projector(3, nnx.Rngs(0))(x))
""",
            """\
class Projector(nnx.Module):
    def __init__(self, din, rngs):
        self.fc = nnx.Linear(din, 4, rngs=rngs)
    def setup(self):
        self.fc = nnx.Linear(3, 2, rngs=nnx.Rngs(1))
    def __call__(self, v):
        return self.fc(v)
print(Projector(3, nnx.Rngs(0))(x))
""",
            """\
class Base(nnx.Module):
    def __init__(self, din, rngs):
        self.din, self.rngs = din, rngs
        getattr(self, "setup")()
class Projector(Base):
    def setup(self):
        self.fc = nnx.Linear(self.din, 4, rngs=self.rngs)
    def __call__(self, v):
        return self.fc(v)
print(Projector(3, nnx.Rngs(0))(x))
""",
        ),
    ),
    "NNX876": Cases(
        bad=(
            """\
@functools.lru_cache
def quadrature(n):  # NNX876
    off = jnp.arange(1.0, n)
    nodes, vectors = jnp.linalg.eigh(jnp.diag(off, 1) + jnp.diag(off, -1))
    return nodes, 2.0 * vectors[0] ** 2
@jax.jit
def integral(a):
    nodes, weights = quadrature(4)
    return jnp.sum(weights * jnp.exp(a * nodes))
""",
            """\
class Kernel:
    def __init__(self, size):
        self.size = size

    @functools.cached_property
    def grid(self):  # NNX876
        return jnp.linspace(0, 1, self.size)

    @partial(jax.jit, static_argnums=0)
    def __call__(self, v):
        return v * self.grid
""",
            "@functools.lru_cache\ndef table(n):  # NNX876\n    return jnp.arange(n) / n\n"
            "f = jax.jit(lambda v: v * table(3))\n",
            "@functools.cache\ndef masks(n):  # NNX876\n    full = jnp.ones((n, n))\n    return jnp.tril(full), n\n"
            "@jax.jit\ndef f(v):\n    return v @ masks(3)[0]\n",
            "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef noise():  # NNX876\n"
            "    return jax.random.normal(jax.random.key(1), (3,))\n"
            "def add(v):\n    return v + noise()\nf = nnx.jit(add)\n",
        ),
        clean=(
            """\
class Kernel:
    def __init__(self, size):
        self.size = size
        print(self.grid)

    @functools.cached_property
    def grid(self):
        return jnp.linspace(0, 1, self.size)

    @functools.cached_property
    def mask(self):
        return np.arange(self.size) > 1

    @partial(jax.jit, static_argnums=0)
    def __call__(self, v):
        return v * self.grid * self.mask
kernel = Kernel(3)
kernel(x)
kernel(x[None])
""",
            "@functools.lru_cache\ndef table(n):\n    return np.arange(n) / n\n"
            "f = jax.jit(lambda v: v * table(3))\nprint(f(x))\n",
            "@functools.lru_cache\ndef table(n):\n    return jnp.arange(n) / n\n"
            "f = jax.jit(lambda v, t: v * t)\nprint(f(x, table(3)))\n",
            "@functools.lru_cache\ndef table(n):\n"
            "    with jax.ensure_compile_time_eval():\n        return jnp.arange(n) / n\n"
            "f = jax.jit(lambda v: v * table(3))\nprint(f(x))\n",
            "@functools.lru_cache\ndef sizes(n):\n    return n, jnp.finfo(jnp.float32).eps\n"
            "f = jax.jit(lambda v: v * sizes(3)[1])\nprint(f(x))\n",
            "def table(n):\n    return jnp.arange(n) / n\nf = jax.jit(lambda v: v * table(3))\nprint(f(x))\n",
        ),
    ),
    "NNX877": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    params = nnx.state(net, nnx.Param)
    for path, variable in nnx.to_flat_state(params):
        variable.value = leaf(path)
    nnx.update(net, params)
    return net
net = load()
print(net(x[None]))  # NNX877
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
params = nnx.state(net, nnx.Param)
nnx.update(net, jax.tree.map(lambda v: jnp.zeros(v.shape), params))
print(net(x[None]))  # NNX877
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
class Loader:
    def load(self):
        net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
        graphdef, params, rest = nnx.split(net, nnx.Param, ...)
        print(rest)
        nnx.update(net, jax.tree.map(jnp.zeros_like, params))
        return net
net = Loader().load()
print(net(x[None]))  # NNX877
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    print(nnx.state(net))
    net.eval()
    return net
def run(v):
    net = load()
    return net(v)  # NNX877
""",
            "net = nnx.eval_shape(lambda: nnx.Linear(3, 3, rngs=nnx.Rngs(0)))\nprint(net(x))  # NNX877\n",
            _NET + "net = nnx.eval_shape(Net, nnx.Rngs(0))\nnet.eval()\nprint(net(x))  # NNX877\n",
            _NET + "def shapes():\n    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))\n    state = nnx.state(net)\n"
            "    return net(x), state  # NNX877\n",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    state = nnx.state(net)
    for path, variable in nnx.to_flat_state(state):
        variable.value = leaf(path)
    nnx.update(net, state)
    return net
print(load()(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def fill(variables):
    for path, variable in variables:
        variable.value = leaf(path)
net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
fill(nnx.to_flat_state(nnx.state(net)))
print(net(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    for path, node in nnx.iter_graph(net):
        if isinstance(node, nnx.Variable):
            node.value = leaf(path)
    return net
encoder = load()
print(encoder(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    state = nnx.state(net)
    nnx.replace_by_pure_dict(state, saved)
    nnx.update(net, state)
    return net
print(load()(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    flat = [(path, variable.replace(leaf(path))) for path, variable in nnx.to_flat_state(nnx.state(net))]
    nnx.update(net, nnx.from_flat_state(flat))
    return net
print(load()(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    params, rest = nnx.state(net, nnx.Param), nnx.state(net, nnx.BatchStat)
    nnx.update(net, jax.tree.map(lambda v: jnp.zeros(v.shape), params))
    nnx.update(net, jax.tree.map(lambda v: jnp.ones(v.shape), rest))
    return net
print(load()(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    graphdef, params, rest = nnx.split(net, nnx.Param, ...)
    for path, variable in [*nnx.to_flat_state(params), *nnx.to_flat_state(rest)]:
        variable.value = leaf(path)
    return net
print(load()(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    params = nnx.state(net, nnx.Param)
    nnx.update(net, jax.tree.map(lambda v: jnp.zeros(v.shape), params))
    net.norm.mean.value = jnp.zeros(4)
    net.norm.var.value = jnp.ones(4)
    return net
print(load()(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    given = nnx.state(Net(nnx.Rngs(1)))
    def put(path, variable):
        variable.value = leaf(path)
        return variable
    nnx.map_state(put, nnx.state(net))
    nnx.update(net, given)
    return net
print(load()(x[None]))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: nnx.Linear(3, 4, rngs=nnx.Rngs(0)))
    params = nnx.state(net, nnx.Param)
    nnx.update(net, jax.tree.map(lambda v: jnp.zeros(v.shape), params))
    return net
print(load()(x))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.a(v))
saved = nnx.to_pure_dict(nnx.state(Net(nnx.Rngs(0))))
def leaf(path):
    found = saved
    for part in path:
        found = found[part]
    return found
def load():
    net = nnx.eval_shape(lambda: Net(nnx.Rngs(0)))
    return net, nnx.state(net)
net, state = load()
for path, variable in nnx.to_flat_state(state):
    variable.value = leaf(path)
print(net(x[None]))
""",
            "net = nnx.eval_shape(lambda: nnx.Linear(3, 3, rngs=nnx.Rngs(0)))\nprint(nnx.state(net))\n",
            "net = nnx.eval_shape(lambda: nnx.Linear(3, 3, rngs=nnx.Rngs(0)))\n"
            "nnx.update(net, nnx.state(model))\nprint(net(x))\n",
            "def filled(net):\n    nnx.update(net, nnx.state(model))\n"
            "net = nnx.eval_shape(lambda: nnx.Linear(3, 3, rngs=nnx.Rngs(0)))\nfilled(net)\nprint(net(x))\n",
            "net = nnx.eval_shape(lambda: nnx.Linear(3, 3, rngs=nnx.Rngs(0)))\n"
            "net.kernel = nnx.Param(jnp.ones((3, 3)))\n"
            "net.bias = nnx.Param(x)\nprint(net(x))\n",
            "graphdef, _ = nnx.split(nnx.eval_shape(lambda: nnx.Linear(3, 3, rngs=nnx.Rngs(0))))\n"
            "net = nnx.merge(graphdef, nnx.state(model))\nprint(net(x))\n",
            "from flax import linen\n\n\nclass Twice(linen.Module):\n    def __call__(self, v):\n        return 2 * v\n"
            "net = nnx.bridge.ToNNX(Twice(), rngs=nnx.Rngs(0))\nprint(net(x))\n",
            """\
from flax import linen


def ready(net):
    nnx.bridge.lazy_init(net, x)
    return net


class Hybrid(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.bridge.ToNNX(linen.Dense(3), rngs=rngs)

    def __call__(self, v):
        return self.dense(v)


one = ready(Hybrid(nnx.Rngs(0)))
print(one(x))
two = Hybrid(nnx.Rngs(0))
two = ready(two)
print(two(x))
three = Hybrid(nnx.Rngs(0))
three.dense.lazy_init(x)
print(three(x))
four = Hybrid(nnx.Rngs(0))
plain = nnx.Optimizer(four, optax.sgd(0.1), wrt=nnx.Param)
ready(four)
""",
        ),
    ),
    "NNX878": Cases(
        bad=(
            """\
def advance(tx: optax.GradientTransformation, params, opt_state, grads):
    updates, opt_state = tx.update(opt_state, grads)  # NNX878
    return optax.apply_updates(params, updates), opt_state
""",
            """\
def soft_update(target_params, online_params, tau=0.005):
    return jax.tree.map(lambda t, p: (1 - tau) * t + tau * p, target_params, online_params)
class Agent:
    def __init__(self, state):
        self.critic_state, self.critic_target_params = state, state.params
    def follow(self):
        self.critic_target_params = soft_update(self.critic_state.params, self.critic_target_params)  # NNX878
""",
            """\
def step(params, state, row):
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(0.1))
    grads = jax.grad(lambda p: jnp.mean((row * p["w"]) ** 2))(params)
    updates, state = tx.update(grads, state)
    return jax.tree.map(lambda p, u: p - u, params, updates), state  # NNX878
""",
            """\
def step(tx, params, row):
    grads = jax.grad(lambda p: jnp.mean((row * p) ** 2))(params)
    updates, state = tx.update(grads, params)  # NNX878
    return optax.apply_updates(params, updates), state
step(optax.adam(0.1), jnp.ones(4), x[0])
""",
            """\
tx = optax.adam(1e-3)
@jax.jit
def step(params, state, v):
    grads = jax.grad(lambda p: (p * v).sum())(params)
    params, state = tx.update(grads, state, params)  # NNX878
    return params, state
print(step(x, tx.init(x), x))
""",
            """\
def ascent(rate):
    def init_fn(params):
        return jax.tree.map(jnp.zeros_like, params)
    def update_fn(updates, state, params=None):
        return jax.tree.map(lambda u: rate * u, updates), state
    return optax.GradientTransformation(init_fn, update_fn)
params = {"w": x}
state = ascent(0.1).init(params)
updates, state = ascent(0.1).update(params, params, state)  # NNX878
""",
            """\
tx = optax.adamw(1e-3)
def make(loss):
    @jax.jit
    def step(carry, batch):
        params, opt_state = carry
        grads = jax.grad(loss)(params, batch)
        updates, opt_state = tx.update(grads, params, opt_state)  # NNX878
        return (optax.apply_updates(params, updates), opt_state), None
    return step
""",
            """\
tx = optax.adamw(1e-3)
def step(params, opt_state, grads):
    updates, opt_state = tx.update(params, opt_state, grads)  # NNX878
    return optax.apply_updates(params, updates), opt_state
""",
            _TX
            + "state, updates = tx.update(params, state)  # NNX878\nparams = optax.apply_updates(params, updates)\n",
            _TX + "def step(g, s):\n    new, delta = tx.update(g, s)  # NNX878\n"
            "    return optax.apply_updates(g, delta), new\n",
            "class Trainer:\n    def __init__(self):\n        self.tx = optax.sgd(0.1)\n"
            "    def step(self, g, s, p):\n        opt_state, updates = self.tx.update(g, s, p)  # NNX878\n"
            "        return opt_state, updates\n",
        ),
        clean=(
            """\
def advance(tx: optax.GradientTransformation, params, opt_state, grads):
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state
tx = optax.adam(0.1)
print(advance(tx, x, tx.init(x), x)[0])
""",
            """\
def soft_update(target_params, params, tau=0.005):
    return jax.tree.map(lambda t, p: (1 - tau) * t + tau * p, target_params, params)
class Agent:
    def __init__(self):
        self.params, self.target_params = x, 0 * x
    def follow(self):
        self.target_params = soft_update(self.target_params, self.params)
agent = Agent()
agent.follow()
print(agent.target_params)
""",
            """\
def step(w, state, row):
    tx = optax.scale_by_adam()
    grads = jax.grad(lambda w: jnp.mean((row * w) ** 2))(w)
    updates, state = tx.update(grads, state)
    w = w - updates
    own = optax.sgd(0.1)
    updates, _ = own.update(grads, own.init(w))
    return jax.tree.map(lambda p, u: p + u, w, updates), jax.tree.map(lambda p, g: p - 0.1 * g, w, grads)
print(step(jnp.ones(4), optax.scale_by_adam().init(jnp.ones(4)), x[0]))
""",
            """\
def step(tx, params, state, row):
    grads = jax.grad(lambda p: jnp.mean((row * p) ** 2))(params)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state
print(step(optax.sgd(0.1), jnp.ones(4), optax.sgd(0.1).init(jnp.ones(4)), x[0]))
""",
            """\
tx = optax.adam(1e-3)
def step(params, state, v):
    grads = jax.grad(lambda p: (p * v).sum())(params)
    old = params
    params, state = tx.update(grads, state, params)
    return optax.apply_updates(old, params), state
print(step(x, tx.init(x), x))
""",
            """\
tx = optax.adam(1e-3)
def step(weights, state, v):
    params = jax.grad(lambda p: (p * v).sum())(weights)
    params, state = tx.update(params, state, weights)
    return optax.apply_updates(weights, params), state
print(step(x, tx.init(x), x))
""",
            """\
def ascent(rate):
    def init_fn(params):
        return jax.tree.map(jnp.zeros_like, params)
    def update_fn(multipliers, updates, state, params=None):
        return jax.tree.map(lambda u: rate * u, updates), state
    return optax.GradientTransformation(init_fn, update_fn)
params = {"w": x}
state = ascent(0.1).init(params)
updates, state = ascent(0.1).update(params, params, state)
print(optax.apply_updates(params, updates))
""",
            """\
tx = optax.adamw(1e-3)
def step(carry, batch):
    params, opt_state = carry
    grads = jax.grad(lambda p: (p * batch).sum())(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return (optax.apply_updates(params, updates), opt_state), None
jax.lax.scan(step, (x, tx.init(x)), jnp.stack(batches))
""",
            """\
ema = optax.ema(0.9)
def smooth(params, averages):
    averaged, averages = ema.update(params, averages)
    return averaged, averages
smooth(x, ema.init(x))
""",
            _TX + "updates, state = tx.update(params, state)\nparams = optax.apply_updates(params, updates)\n",
            _TX + "def step(g, s):\n    delta, new = tx.update(g, s)\n    return optax.apply_updates(g, delta), new\n",
            _TX + "result = tx.update(params, state)\nupdates, state = result\n",
            "class Filter:\n    def update(self, state, step):\n        return state, step\n"
            "state, update = Filter().update(1, 2)\n",
        ),
    ),
    "NNX879": Cases(
        bad=(
            """\
@jax.jit
def applied(activation, v):
    return activation(v)
applied(jax.nn.relu, x)  # NNX879
""",
            _CLASS
            + "@jax.jit\ndef f(settings, v):\n    return settings.scale * v\nprint(f(Settings(), x))  # NNX879\n",
            _CLASS
            + "given = Settings(3.0)\nf = nnx.jit(lambda m, s: m(x) * s.scale)\nprint(f(model, given))  # NNX879\n",
            "@jax.jit\ndef f(v, g):\n    return g(v)\nprint(f(x, lambda v: 2 * v))  # NNX879\n",
            "@jax.jit\ndef f(v, tx):\n    return tx.init(v)\nprint(f(x, optax.sgd(0.1)))  # NNX879\n",
            "from collections.abc import Callable\nfrom flax import struct\n@struct.dataclass\nclass S:\n"
            "    a: jax.Array\n    f: Callable\n@jit\ndef g(s):\n    return s.f(s.a)\n"
            "g(S(x, jnp.sin))  # NNX879\n",
            "import dataclasses\n@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass S:\n"
            "    a: jax.Array\n    name: str\n@jit\ndef g(s):\n    return s.a\ng(S(x, 'one'))  # NNX879\n",
        ),
        clean=(
            """\
import functools
class Likelihood:
    def __init__(self, parts, scale=None):
        self.parts = parts
        self.scale = scale
    @functools.cached_property
    def log(self):
        if self.scale is None:
            def plain(params):
                return sum(part(params) for part in self.parts)
            return plain
        def scaled(params):
            return self.scale * sum(part(params) for part in self.parts)
        return scaled
    @property
    def prior(self):
        if self.scale is None:
            return lambda params: 0.0
        return lambda params: -params["a"] ** 2
likelihood = Likelihood([lambda params: params["a"] * 2.0])
compiled = jax.jit(likelihood.log)
print(compiled({"a": 2.0}), jax.jit(likelihood.prior)({"a": 2.0}))
""",
            # functions of the project and partials may make a field structure
            """\
import flax.struct
def static(default=None):
    return flax.struct.field(pytree_node=False, default=default)
@flax.struct.dataclass
class Manager:
    weights: dict
    method: str = static("__call__")
@jax.jit
def step(manager, v):
    return v + manager.weights["w"]
print(step(Manager({"w": x}, method="init"), x))
""",
            """\
import flax.struct
structure = partial(flax.struct.field, pytree_node=False)
@flax.struct.dataclass
class Manager:
    weights: dict
    method: str = structure(default="__call__")
print(jax.jit(lambda manager: manager.weights["w"])(Manager({"w": x})))
""",
            """\
@partial(jax.jit, static_argnums=0)
def applied(activation, v):
    return activation(v)
applied(jax.nn.relu, x)
@jax.jit
def scaled(factor, v):
    return factor * v
scaled(jnp.pi, x)
""",
            _CLASS + "@partial(jax.jit, static_argnums=0)\ndef f(settings, v):\n"
            "    return settings.scale * v\nprint(f(Settings(), x))\n",
            "@jax.tree_util.register_pytree_node_class\nclass Pair:\n"
            "    def __init__(self, a, b):\n        self.a, self.b = a, b\n"
            "    def tree_flatten(self):\n        return (self.a, self.b), None\n    @classmethod\n"
            "    def tree_unflatten(cls, _, parts):\n        return cls(*parts)\n"
            "@jax.jit\ndef f(pair):\n    return pair.a + pair.b\nprint(f(Pair(x, x)))\n",
            "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: jax.Array\n    b: jax.Array\n"
            "@jax.jit\ndef f(pair):\n    return pair.a + pair.b\nprint(f(Pair(x, x)))\n",
            "from flax import struct\n@struct.dataclass\nclass Pair:\n    a: jax.Array\n    b: jax.Array\n"
            "@jax.jit\ndef f(pair):\n    return pair.a + pair.b\nprint(f(Pair(x, x)))\n",
            _NET + "@nnx.jit\ndef f(net, v):\n    return net(v)\nprint(f(Net(nnx.Rngs(0)), x[None]))\n",
            "from flax import struct\n@struct.dataclass\nclass S:\n    a: jax.Array\n"
            "    name: str = struct.field(pytree_node=False, default='one')\n@jit\ndef g(s):\n"
            "    return s.a\ng(S(x))\n",
            "import dataclasses\n@dataclasses.dataclass\nclass S:\n    a: jax.Array\n    name: str\n"
            "jax.tree_util.register_dataclass(S, data_fields=['a'], meta_fields=['name'])\n@jit\n"
            "def g(s):\n    return s.a\ng(S(x, 'one'))\n",
            "import dataclasses\n@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass S:\n"
            "    a: jax.Array\n    name: str = dataclasses.field(metadata=dict(static=True))\n@jit\n"
            "def g(s):\n    return s.a\ng(S(x, 'one'))\n",
        ),
    ),
    "NNX880": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.BatchNorm(3, rngs=rngs))

    def __call__(self, v):
        return self.layers(v)
def parts(v):
    return nnx.vmap(lambda m, u: m(u), in_axes=(None, 0))(Net(nnx.Rngs(0)), v)  # NNX880
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)

    def features(self, v):
        return self.norm(v)

    def __call__(self, v):
        return self.features(v)
@nnx.vmap(in_axes=(None, 0), out_axes=0)  # NNX880
def apply(net: Net, v):
    return net(v)
net = Net(nnx.Rngs(0))
def parts(v):
    return apply(net, v)
""",
            """\
class Running(nnx.Module):
    def __init__(self):
        self.mean = nnx.BatchStat(jnp.zeros(3))
    def __call__(self, v):
        self.mean.value = 0.9 * self.mean.value + 0.1 * v
        return v - self.mean.value
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.norm = Running()
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def step(self, c, v):
        return c, self.fc(self.norm(v))
axes = None
@nnx.scan(in_axes=(axes, nnx.Carry, 0), out_axes=(nnx.Carry, 0))  # NNX880
def encode(encoder, c, v):
    return encoder.step(c, v)
print(encode(Encoder(nnx.Rngs(0)), 0.0, jnp.ones((4, 3))))
""",
            _NET + "net = Net(nnx.Rngs(0))\nf = nnx.vmap(lambda m, v: m(v), in_axes=(None, 0))  # NNX880\n"
            "f(net, jnp.ones((2, 1, 3)))\n",
            "@nnx.vmap(in_axes=(None, 1))  # NNX880\ndef normed(norm, v):\n    return norm(v)\n"
            "normed(nnx.BatchNorm(3, rngs=nnx.Rngs(0)), jnp.ones((2, 2, 3)))\n",
            _NET + "def whole(v):\n    def one(net, part):\n        return net(part)\n"
            "    return nnx.vmap(one, in_axes=(None, 0))(Net(nnx.Rngs(0)), v)  # NNX880\n",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.LayerNorm(3, rngs=rngs))

    def __call__(self, v):
        return self.layers(v)
def parts(v):
    return nnx.vmap(lambda m, u: m(u), in_axes=(None, 0))(Net(nnx.Rngs(0)), v)
parts(x[None])
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.out = nnx.Linear(3, 3, rngs=rngs)

    def features(self, v):
        return self.norm(v)

    def __call__(self, v):
        return self.out(v)
@nnx.vmap(in_axes=(None, 0), out_axes=0)
def apply(net: Net, v):
    return net(v)
net = Net(nnx.Rngs(0))
apply(net, x[None])
net.features(x[None])
""",
            """\
class Running(nnx.Module):
    def __init__(self):
        self.mean = nnx.BatchStat(jnp.zeros(3))
    def __call__(self, v):
        self.mean.value = 0.9 * self.mean.value + 0.1 * v
        return v - self.mean.value
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.norm = Running()
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def step(self, c, v):
        return c, self.fc(self.norm(v))
axes = nnx.StateAxes({nnx.BatchStat: nnx.Carry, ...: None})
@nnx.scan(in_axes=(axes, nnx.Carry, 0), out_axes=(nnx.Carry, 0))
def encode(encoder, c, v):
    return encoder.step(c, v)
print(encode(Encoder(nnx.Rngs(0)), 0.0, jnp.ones((4, 3)))[1].shape)
""",
            """\
class Plain(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def step(self, c, v):
        return c, self.fc(v)
@nnx.scan(in_axes=(None, nnx.Carry, 0), out_axes=(nnx.Carry, 0))
def encode(encoder, c, v):
    return encoder.step(c, v)
print(encode(Plain(nnx.Rngs(0)), 0.0, jnp.ones((4, 3)))[1].shape)
""",
            _NET + "net = Net(nnx.Rngs(0))\nnet.eval()\n"
            "f = nnx.vmap(lambda m, v: m(v), in_axes=(None, 0))\nf(net, jnp.ones((2, 1, 3)))\n",
            "f = nnx.vmap(lambda m, v: m(v), in_axes=(None, 0))\nf(model, jnp.ones((2, 3)))\n",
            "norm = nnx.BatchNorm(3, use_running_average=True, rngs=nnx.Rngs(0))\n"
            "f = nnx.vmap(lambda m, v: m(v), in_axes=(None, 0))\nf(norm, jnp.ones((2, 1, 3)))\n",
            "norm = nnx.LayerNorm(3, rngs=nnx.Rngs(0))\n"
            "f = nnx.vmap(lambda m, v: m(v), in_axes=(None, 0))\nf(norm, jnp.ones((2, 3)))\n",
        ),
    ),
}

"""Means over unequal parts, padding that counts again, variances that cancel, and names that nothing has."""

from __future__ import annotations

from tests.lint.tables import Cases

_POLICY = """\
from jax.ad_checkpoint import checkpoint_name
@partial(jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names('attention_out'))  # NNX685
def block(w, v):
    return jnp.tanh(checkpoint_name(v * w, 'attn_out') * w)
print(jax.grad(lambda w: block(w, x).sum())(2.0))
"""
_OFFLOADED = """\
from jax.ad_checkpoint import checkpoint_name as named
policies = jax.checkpoint_policies
policy = policies.save_and_offload_only_these_names(  # NNX685
    names_which_can_be_saved=['query_projection'], names_which_can_be_offloaded=['key_projection'],
    offload_src='device', offload_dst='pinned_host',
)
def project(w, v):
    return named(v * w, 'query_proj') + named(v / w, 'key_proj')
"""
_MEAN = """\
def evaluate(losses, mask):
    loss = jnp.sum(losses * mask) / jnp.sum(mask)
    return jax.lax.pmean(loss, 'devices')  # NNX686
losses, mask = jnp.arange(6.0).reshape(2, 3), jnp.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
print(jax.vmap(evaluate, axis_name='devices')(losses, mask))
"""
_ROOT = """\
def standardise(v):
    mean = jnp.mean(v, axis=0)
    var = jnp.mean(v**2, axis=0) - mean**2  # NNX687
    return (v - mean) / jnp.sqrt(var + 1e-6)
print(standardise(x))
"""
_HITS = """\
MAX_HITS = 8
def total(energies, inside):
    (hits,) = jnp.nonzero(inside, size=MAX_HITS)
    return energies[hits].sum()  # NNX688
print(total(jnp.arange(1.0, 5.0), jnp.array([True, False, True, False])))
"""


def _right(text: str, *replaced: tuple[str, str]) -> str:
    """Return a program without its mark, and with other parts."""
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    return text.replace("  # NNX685", "").replace("  # NNX686", "").replace("  # NNX687", "").replace("  # NNX688", "")


_PARTS = """\
@jax.jit
def accuracy(w, x, y):
    return jnp.mean((x @ w > 0) == y)
rows = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
side = rows[:, 0] > 0
"""

_SCALED = """\
half = jnp.ones((2, 3), jnp.float16)
w = jnp.ones(3)
def fit(tx, w, state, loss_scale):
    def scaled(w):
        loss = jnp.mean((half @ w.astype(jnp.float16)) ** 2)
        return loss * loss_scale, loss
    grads, loss = jax.grad(scaled, has_aux=True)(w)
    grads = jax.tree.map(lambda g: g / loss_scale, grads)
    updates, state = tx.update(grads, state, w)
    return optax.apply_updates(w, updates), state
adam = optax.adam(0.1)
print(fit(adam, w, adam.init(w), 8.0))
"""
_UNSCALED = "    grads = jax.tree.map(lambda g: g / loss_scale, grads)\n"
_LATER = "    updates = jax.tree.map(lambda u: u / loss_scale, updates)  # NNX545\n    return optax"
_KERNEL = """\
init = jax.nn.initializers.he_normal(in_axis=-1, out_axis=-2)
def make(key, n_in, n_out):
    return {"weight": init(key, (n_out, n_in)), "bias": jnp.zeros(n_out)}
def apply(params, v):
    return v @ params["weight"].T + params["bias"]
print(apply(make(key, 3, 2), x))
"""
_FANS = """\
class Wide(nnx.Module):
    def __init__(self, dim, many, rngs):
        self.w = nnx.Param(nnx.initializers.lecun_normal()(rngs.params(), (many, dim)))  # NNX546
    def __call__(self, v):
        return jnp.einsum("oi,bi->bo", self.w[...], v)
print(Wide(3, 4, nnx.Rngs(0))(jnp.ones((2, 3))))
"""

CASES = {
    "NNX628": Cases(
        bad=(
            """\
metrics = nnx.MultiMetric(train=nnx.metrics.Average(), test=nnx.metrics.Average())  # NNX628
metrics.update(values=x)
metrics.update(values=x + 1)
print(metrics.compute())
""",
            """\
def tracked(names):
    return nnx.MultiMetric(**{name: nnx.metrics.Average("loss") for name in names})  # NNX628
metrics = tracked(["policy", "value"])
for loss in (x, x + 1):
    metrics.update(loss=loss)
print(metrics.compute())
""",
            """\
class Run:
    def __init__(self, tasks):
        parts = {"accuracy": nnx.metrics.Accuracy()}
        for i in range(tasks):
            parts[f"loss_{i}"] = nnx.metrics.Average()
        self.metrics = nnx.MultiMetric(**parts)  # NNX628
    def step(self, values, logits, labels):
        self.metrics.update(values=values, logits=logits, labels=labels)
run = Run(2)
run.step(x, jnp.ones((2, 3)), jnp.zeros(2, jnp.int32))
print(run.metrics.compute())
""",
        ),
        clean=(
            """\
metrics = nnx.MultiMetric(train=nnx.metrics.Average("train"), test=nnx.metrics.Average("test"))
metrics.update(train=x, test=x + 1)
print(metrics.compute())
""",
            """\
metrics = nnx.MultiMetric(mean=nnx.metrics.Average("loss"), spread=nnx.metrics.Welford("loss"))
metrics.update(loss=x)
print(metrics.compute())
""",
            """\
metrics = nnx.MultiMetric(train=nnx.metrics.Average(), test=nnx.metrics.Average())
metrics.train.update(values=x)
metrics.test.update(values=x + 1)
metrics.update(values=x)
print(metrics.compute())
""",
            """\
def tracked(names):
    return nnx.MultiMetric(**{name: nnx.metrics.Average(name) for name in names})
metrics = tracked(["policy", "value"])
metrics.update(policy=x, value=x + 1)
print(metrics.compute())
""",
        ),
    ),
    "NNX545": Cases(
        bad=(
            _SCALED.replace(_UNSCALED, "").replace("    return optax", _LATER),
            # nothing divides them
            _SCALED.replace(_UNSCALED, "").replace("w)\n    return optax", "w)  # NNX545\n    return optax"),
            # by a method, and multiplied by the inverse
            """\
class Trainer:
    def __init__(self):
        self.tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1))
        self.scale = 512.0
    def loss(self, w):
        return jnp.mean(w**2)
    def step(self, w, state):
        grads = jax.grad(lambda w: self.scale * self.loss(w))(w)
        updates, state = self.tx.update(grads, state, w)
        updates = jax.tree.map(lambda u: u * (1.0 / self.scale), updates)  # NNX545
        return optax.apply_updates(w, updates), state
trainer = Trainer()
print(trainer.step(x, trainer.tx.init(x)))
""",
            # a state of Flax, and a mean over devices in between
            """\
@functools.partial(jax.pmap, axis_name="i")
def step(state, v, loss_scale):
    def loss_fn(params):
        loss = state.apply_fn(params, v.astype(jnp.float16)).mean()
        return loss * loss_scale
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    grads = jax.lax.pmean(grads, "i")
    return state.apply_gradients(grads=grads), loss  # NNX545
""",
            """\
LOSS_SCALE = 1024.0
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.scale(1.0 / LOSS_SCALE),  # NNX545
    optax.adam(0.1),
)
""",
        ),
        clean=(
            _SCALED,
            _SCALED.replace(_UNSCALED, "").replace(
                "(grads, state", "(jax.tree.map(lambda g: g / loss_scale, grads), state"
            ),
            # a step in proportion to its gradients may be divided as well
            _SCALED.replace(_UNSCALED, "")
            .replace("    return optax", _LATER)
            .replace("  # NNX545", "")
            .replace("optax.adam", "optax.sgd"),
            # the chain divides first
            _SCALED.replace(_UNSCALED, "").replace(
                "optax.adam(0.1)", "optax.chain(optax.scale(1.0 / 8.0), optax.adam(0.1))"
            ),
            _SCALED.replace(_UNSCALED, "")
            .replace("    return optax", _LATER)
            .replace("  # NNX545", "")
            .replace("optax.adam(0.1)", "optax.apply_if_finite(optax.sgd(0.1), 3)"),
            # a weight of the loss, in full precision
            _SCALED.replace(_UNSCALED, "").replace("jnp.float16", "jnp.float32"),
            "LOSS_SCALE = 8.0\n"
            "tx = optax.chain(optax.scale(1.0 / LOSS_SCALE), optax.clip_by_global_norm(1.0), optax.adam(0.1))\n"
            "print(tx.init(x))\n",
        ),
    ),
    "NNX546": Cases(
        bad=(
            _KERNEL.replace("in_axis=-1, out_axis=-2", "").replace(".zeros(n_out)}", ".zeros(n_out)}  # NNX546"),
            _FANS,
            """\
class Layer:
    def __init__(self, key, fan_in, fan_out):
        self.kernel = jax.nn.initializers.kaiming_uniform()(key, (fan_out, fan_in), jnp.float32)  # NNX546
    def __call__(self, v):
        return jnp.dot(v, jnp.transpose(self.kernel))
print(Layer(key, 3, 2)(x))
""",
            # of Linen, and a variable
            """\
from flax import linen as nn
class Narrow(nn.Module):
    features: int
    @nn.compact
    def __call__(self, v):
        kernel = self.param("kernel", nn.initializers.lecun_normal(), (self.features, v.shape[-1]))  # NNX546
        return jnp.dot(v, kernel.T)
def drawn(key, v, n):
    w = jax.nn.initializers.variance_scaling(2.0, "fan_in", "normal")(key, (n, v.shape[-1]))  # NNX546
    return v @ w.T
print(drawn(key, x, 2))
""",
            """\
def begin(key, cfg):
    params = {}
    params["w"] = jax.nn.initializers.he_uniform()(key, (cfg["out_dim"], cfg["in_dim"]))  # NNX546
    return params
def run(params, v):
    return v @ params["w"].swapaxes(0, 1)
print(run(begin(key, {"in_dim": 3, "out_dim": 2}), x))
""",
        ),
        clean=(
            _KERNEL,
            _KERNEL.replace("in_axis=-1, out_axis=-2", "").replace("(n_out, n_in)", "(n_in, n_out)").replace(".T", ""),
            # alike for inputs and outputs
            _KERNEL.replace("he_normal(in_axis=-1, out_axis=-2)", "glorot_normal()"),
            _KERNEL.replace("in_axis=-1, out_axis=-2", "")
            .replace("(n_out, n_in)", "(n_in, n_in)")
            .replace("zeros(n_out)", "zeros(n_in)")
            .replace("key, 3, 2", "key, 3, 3"),
            """\
def drawn(key, v, n):
    w = jax.nn.initializers.variance_scaling(2.0, "fan_out", "normal")(key, (n, v.shape[-1]))
    return v @ w.T
print(drawn(key, x, 2))
def handed_on(key, v, n):
    w = jax.nn.initializers.lecun_normal()(key, (n, v.shape[-1]))
    return w, v @ w.T
print(handed_on(key, x, 2))
""",
            # points, with which a similarity is taken
            _FANS.replace("  # NNX546", "").replace("self.w", "self.prototypes"),
            # a table, of which entries are taken too
            _FANS.replace("  # NNX546", "").replace(
                "    def __call__", "    def embed(self, i):\n        return self.w[...][i]\n    def __call__"
            ),
            _FANS.replace("  # NNX546", "").replace("(many, dim)", "(dim, many)").replace("oi,bi", "io,bi"),
        ),
    ),
    "NNX544": Cases(
        bad=(
            _PARTS
            + """\
def evaluate(w, x, y, size=64):
    found = []
    for i in range(0, len(x), size):
        end = min(i + size, len(x))
        found.append(accuracy(w, x[i:end], y[i:end]))  # NNX544
    return np.mean(found)
""",
            _PARTS
            + """\
def evaluate(w, x, y, size=64):
    total, n = 0.0, 0
    for i in range(0, len(x), size):
        total += accuracy(w, x[i:i + size], y[i:i + size])  # NNX544
        n += 1
    return total / n
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def evaluate(w, x, y, size=64):
    parts = int(np.ceil(len(x) / size))
    found = []
    for i in range(parts):
        one = x[i * size:(i + 1) * size]
        found.append(float(accuracy(w, one, y[i * size:(i + 1) * size])))  # NNX544
    return sum(found) / len(found)
""",
            _PARTS
            + """\
def pieces(x, y, size):
    for start in range(0, x.shape[0], size):
        yield x[start:start + size], y[start:start + size]
@jax.jit
def measured(w, x, y):
    right = (x @ w > 0) == y
    return {"accuracy": right.mean(), "loss": jnp.mean((x @ w - y) ** 2)}
def evaluate(w, x, y):
    found = [measured(w, a, b) for a, b in pieces(x, y, 64)]  # NNX544
    return jax.tree.map(lambda *xs: jnp.stack(xs).mean(), *found)
print(evaluate(x, rows[:70], side[:70]))
""",
            # over the number of examples
            _PARTS
            + """\
def evaluate(w, x, y, size=64):
    total = 0.0
    for i in range(0, len(x), size):
        total += accuracy(w, x[i:i + size], y[i:i + size])
    return total / len(x)  # NNX544
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def pieces(x, y, size):
    for start in range(0, x.shape[0], size):
        yield x[start:start + size], y[start:start + size]
def evaluate(w, x, y):
    found = []
    for a, b in pieces(x, y, 50):
        found.append(accuracy(w, a, b))
    return sum(found) / len(x)  # NNX544
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
class Data:
    def __init__(self, x, y):
        self.x, self.y = x, y
    def __len__(self):
        return len(self.x)
    def batches(self, size):
        for i in range(0, len(self), size):
            yield self.x[i:i + size], self.y[i:i + size]
def evaluate(w, data):
    total = 0.0
    for a, b in data.batches(50):
        total = total + float(accuracy(w, a, b))
    total /= len(data)  # NNX544
    return total
print(evaluate(x, Data(rows, side)))
""",
            _PARTS
            + """\
def evaluate(w, loader):
    total = 0.0
    for a, b in loader:
        total += accuracy(w, a, b).item()
    return total / len(loader.dataset)  # NNX544
""",
        ),
        clean=(
            _PARTS
            + """\
def pieces(x, y, size):
    for start in range(0, x.shape[0], size):
        yield x[start:start + size], y[start:start + size]
def evaluate(w, x, y, size=50):
    total, scaled = 0.0, 0.0
    for a, b in pieces(x, y, size):
        total += accuracy(w, a, b) * len(a)
        scaled += accuracy(w, a, b)
    return total / len(x), scaled * size / len(x), size * (scaled / len(x))
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def evaluate(w, x, y):
    total = 0.0
    for i in range(0, len(x), 1):
        total += accuracy(w, x[i:i + 1], y[i:i + 1])
    return total / len(x)
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def evaluate(w, dataset):
    total = 0.0
    for a, b in dataset:
        total += accuracy(w, a, b)
    return total / len(dataset)
print(evaluate(x, [(rows, side), (rows, side)]))
""",
            _PARTS
            + """\
@jax.jit
def right(w, x, y):
    return jnp.sum((x @ w > 0) == y)
def evaluate(w, x, y, size=50):
    total = 0.0
    for i in range(0, len(x), size):
        total += right(w, x[i:i + size], y[i:i + size])
    return total / len(x)
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def evaluate(w, x, y, size=50):
    found = []
    for i in range(0, len(x), size):
        found.append(accuracy(w, x[i:i + size], y[i:i + size]))
    return np.mean(found)
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def evaluate(w, x, y, size=64):
    found, sizes = [], []
    for i in range(0, len(x), size):
        end = min(i + size, len(x))
        found.append(accuracy(w, x[i:end], y[i:end]))
        sizes.append(end - i)
    return np.average(found, weights=sizes)
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def evaluate(w, x, y, size=64):
    total = 0.0
    for i in range(0, len(x), size):
        part = x[i:i + size]
        total += accuracy(w, part, y[i:i + size]) * len(part)
    return total / len(x)
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def evaluate(w, x, y, size=64):
    found = []
    for i in range(0, len(x), size):
        part = x[i:i + size]
        if len(part) < size:
            break
        found.append(accuracy(w, part, y[i:i + size]))
    return np.mean(found)
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def evaluate(w, x, y, size=64):
    parts = len(x) // size
    return np.mean([accuracy(w, x[i * size:(i + 1) * size], y[i * size:(i + 1) * size]) for i in range(parts)])
print(evaluate(x, rows, side))
""",
            _PARTS
            + """\
def train(w, x, y, size=64):
    losses = []
    def step(w, a, b):
        loss, slope = jax.value_and_grad(lambda w: jnp.mean((a @ w - b) ** 2))(w)
        return w - 0.1 * slope, loss
    for i in range(0, len(x), size):
        w, loss = step(w, x[i:i + size], y[i:i + size])
        losses.append(loss)
    return w, np.mean(losses)
print(train(x, rows, side))
""",
            _PARTS
            + """\
def largest(x, size=64):
    found = []
    for i in range(0, len(x), size):
        found.append(jnp.max(x[i:min(i + size, len(x))]))
    return np.mean(found)
print(largest(rows))
""",
            _PARTS
            + """\
@jax.jit
def errors(w, x, y):
    return jnp.sum((x @ w > 0) != y)
def evaluate(w, x, y, size=64):
    found = [errors(w, x[i:i + size], y[i:i + size]) for i in range(0, len(x), size)]
    return sum(found) / len(x), np.mean(found)
print(evaluate(x, rows, side))
""",
        ),
    ),
    "NNX685": Cases(
        bad=(
            _POLICY,
            _OFFLOADED,
            _POLICY.replace("'attn_out'", "'attention_output'"),
        ),
        clean=(
            _right(_POLICY, ("attn_out", "attention_out")),
            # one of them is there
            _right(_POLICY, ("'attention_out'", "'attention_out', 'attn_out'")),
            # what a kernel of a library may give
            _right(_POLICY, ("attention_out", "context")),
            # the name comes from an argument
            _right(_POLICY, ("'attn_out'", "name"), ("def block(w, v):", "def block(w, v, name='attention_out'):")),
            _right(
                _POLICY,
                ("from jax", "NAMES = ['attention_out']\nfrom jax"),
                ("checkpoint_name(v * w, 'attn_out')", "checkpoint_name(v * w, NAMES[0])"),
            ),
            # nothing has a name here at all: another project may give them
            _right(_POLICY, ("checkpoint_name(v * w, 'attn_out')", "(v * w)")),
        ),
    ),
    "NNX686": Cases(
        bad=(
            """\
def masked_mean(values, mask):
    return jnp.sum(values * mask) / jnp.sum(mask)
def step(params, v, y, mask):
    def loss_fn(p):
        return masked_mean((v @ p - y) ** 2, mask)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.lax.pmean(loss, "i"), jax.lax.psum(grads, "i")  # NNX686
f = jax.pmap(step, axis_name="i", in_axes=(None, 0, 0, 0))
""",
            """\
from functools import partial
@partial(jax.pmap, axis_name="i")
def step(params, tokens, loss_mask):
    def loss_fn(p):
        ce = optax.softmax_cross_entropy_with_integer_labels(p[tokens], tokens)
        return (ce * loss_mask).sum() / jnp.maximum(loss_mask.sum(), 1), ce
    (loss, _), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    return jax.lax.pmean((loss, grads), "i")  # NNX686
""",
            """\
from functools import partial
@partial(jax.vmap, axis_name="i")
def step(p, x, valid):
    def loss_fn(p):
        m = valid[1:]
        return jnp.sum((p * x[1:]) ** 2 * m) / jnp.sum(m)
    g = jax.grad(loss_fn)(p)
    return jax.lax.pmean(g, "i")  # NNX686
""",
            _MEAN,
            """\
@partial(jax.pmap, axis_name='batch')
def metrics(losses, labels):
    valid = (labels > 0).astype(jnp.float32)
    loss = (losses * valid).sum() / jnp.maximum(valid.sum(), 1.0)
    return jax.lax.pmean({'loss': loss}, axis_name='batch')  # NNX686
print(metrics(jnp.ones((1, 3)), jnp.ones((1, 3))))
""",
            # sums that a function gives, and what counts told by a comparison
            """\
def token_loss(w, tokens, targets):
    counted = (targets != 0).astype(jnp.float32)
    return jnp.sum((w[tokens] - targets) ** 2 * counted), jnp.sum(counted)
def step(w, tokens, targets):
    def loss_fn(w):
        total, n = token_loss(w, tokens, targets)
        return total / n
    loss, grads = jax.value_and_grad(loss_fn)(w)
    return jax.lax.pmean(loss, "i"), grads  # NNX686
f = jax.pmap(step, axis_name="i", in_axes=(None, 0, 0))
""",
            """\
@partial(jax.vmap, axis_name='batch')
def metrics(losses, mask):
    total = jnp.sum(jnp.where(mask, losses, 0.0))
    return jax.lax.pmean(total / (mask.sum() + 1e-8), 'batch')  # NNX686
print(metrics(jnp.ones((2, 3)), jnp.ones((2, 3), bool)))
""",
            """\
@partial(jax.vmap, axis_name='batch')
def metrics(losses, mask):
    weight = mask[1:]
    return jax.lax.pmean((losses[1:] * weight).sum() / weight.sum(), 'batch')  # NNX686
print(metrics(jnp.ones((2, 3)), jnp.ones((2, 3))))
""",
        ),
        clean=(
            """\
def mean_square(values):
    return jnp.sum(values**2) / values.size
def step(params, v, y):
    def loss_fn(p):
        return mean_square(v @ p - y)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.lax.pmean(loss, "i"), jax.lax.pmean(grads, "i")
f = jax.vmap(step, axis_name="i", in_axes=(None, 0, 0))
print(f(jnp.ones(3), jnp.ones((2, 4, 3)), jnp.ones((2, 4))))
""",
            """\
from functools import partial
@partial(jax.vmap, axis_name="i")
def step(p, x, valid):
    def loss_fn(p):
        count = jax.lax.psum(jnp.sum(valid), "i")
        return jnp.sum((p * x) ** 2 * valid) / count
    loss, g = jax.value_and_grad(loss_fn)(p)
    return jax.lax.psum(loss, "i"), jax.lax.psum(g, "i")
print(step(jnp.ones(2), jnp.ones((2, 3)), jnp.ones((2, 3))))
""",
            """\
# means over everything
from functools import partial
@partial(jax.vmap, axis_name="i")
def step(p, x):
    def loss_fn(p):
        return jnp.sum((p * x) ** 2) / x.size
    loss, g = jax.value_and_grad(loss_fn)(p)
    return jax.lax.pmean((loss, g), "i")
print(step(jnp.ones(2), jnp.ones((2, 3))))
""",
            _right(
                _MEAN,
                (
                    "    loss = jnp.sum(losses * mask) / jnp.sum(mask)\n    return jax.lax.pmean(loss, 'devices')",
                    "    total = jax.lax.psum(jnp.sum(losses * mask), 'devices')\n"
                    "    return total / jax.lax.psum(jnp.sum(mask), 'devices')",
                ),
            ),
            _right(_MEAN, ("/ jnp.sum(mask)", "/ jax.lax.psum(jnp.sum(mask), 'devices')")),
            _right(_MEAN, ("/ jnp.sum(mask)", "/ losses.size")),
            """\
def sums(w, v):
    weight = (v != 0).astype(jnp.float32)
    return jnp.sum((w - v) ** 2 * weight), jnp.sum(weight)
def step(w, v):
    total, n = sums(w, v)
    n = jax.lax.pmean(n, "i")
    return jax.lax.pmean(total / n, "i")
print(jax.vmap(step, axis_name="i", in_axes=(None, 0))(1.0, jnp.ones((2, 3))))
""",
            # weights that every device has alike, as far as is known
            _right(_MEAN, ("mask)", "w)"), ("losses, mask =", "losses, w =")),
            _right(_MEAN, ("jax.lax.pmean(loss, 'devices')", "jax.lax.pmax(loss, 'devices')")),
            # of each example its own
            _right(
                _MEAN,
                ("jnp.sum(losses * mask) / jnp.sum(mask)", "jnp.sum(losses * mask, axis=-1) / jnp.sum(mask, axis=-1)"),
            ),
        ),
    ),
    "NNX687": Cases(
        bad=(
            _ROOT,
            """\
def moments(v):
    m = jnp.mean(v)
    return m, jnp.mean(v * v) - m * m  # NNX687
def whiten(v):
    m, s = moments(v)
    return (v - m) / jnp.sqrt(s)
print(whiten(jnp.arange(3.0)))
""",
            """\
class Norm(nnx.Module):
    def __call__(self, v):
        mean = jnp.mean(v, axis=-1, keepdims=True)
        mean_of_squares = jnp.mean(jax.lax.square(v), axis=-1, keepdims=True)
        var = mean_of_squares - jax.lax.square(mean)  # NNX687
        return (v - mean) * jax.lax.rsqrt(var + 1e-5)
print(Norm()(x))
""",
            "def spread(v):\n    return jnp.sqrt(jnp.mean(v**2) - jnp.mean(v) ** 2)  # NNX687\nprint(spread(x))\n",
        ),
        clean=(
            """\
def fast_var(v, axis):
    'A fast but less numerically-stable variance than jnp.var.'
    return jnp.mean(v**2, axis) - jnp.mean(v, axis) ** 2
print(jnp.sqrt(fast_var(jnp.ones((2, 3)), 0) + 1e-5))
""",
            _right(_ROOT, ("jnp.mean(v**2, axis=0) - mean**2", "jnp.mean((v - mean) ** 2, axis=0)")),
            _right(_ROOT, ("jnp.mean(v**2, axis=0) - mean**2", "jnp.maximum(jnp.mean(v**2, axis=0) - mean**2, 0)")),
            _right(_ROOT, ("jnp.sqrt(var + 1e-6)", "jnp.sqrt(jnp.clip(var, 0) + 1e-6)")),
            _right(_ROOT, ("(v - mean) / jnp.sqrt(var + 1e-6)", "mean, var")),
            _right(_ROOT, ("- mean**2", "- 1.0")),
            # with digits enough
            _right(_ROOT, ("def standardise(v):\n", "def standardise(v):\n    v = np.asarray(v, np.float64)\n")),
            # of two arrays
            "def apart(v, w):\n    return jnp.sqrt(jnp.mean(v**2) - jnp.mean(w) ** 2 + 9)\nprint(apart(x, x))\n",
            "def along(v):\n    return jnp.sqrt(jnp.mean(v**2, axis=0) - jnp.mean(v) ** 2 + 9)\nprint(along(x))\n",
        ),
    ),
    "NNX688": Cases(
        bad=(
            _HITS,
            """\
def mean_of(values, mask):
    found = jnp.where(mask, size=len(values))
    chosen = values[found[0]]
    return jnp.mean(chosen * 2.0)  # NNX688
print(mean_of(jnp.arange(1.0, 5.0), jnp.array([True, False, True, False])))
""",
            """\
@partial(jax.jit, static_argnames='max_points')
def spread(values, mask, max_points):
    index = jnp.flatnonzero(mask, size=max_points, fill_value=-1)
    return values[index].std()  # NNX688
print(spread(jnp.arange(1.0, 5.0), jnp.array([True, False, True, False]), 4))
""",
        ),
        clean=(
            _right(
                _HITS,
                (
                    "energies[hits].sum()",
                    "jnp.where(jnp.arange(MAX_HITS) < inside.sum(), energies[hits], 0.0).sum()",
                ),
            ),
            _right(_HITS, ("energies[hits].sum()", "energies.at[hits].get(mode='fill', fill_value=0).sum()")),
            # as many as there are
            _right(_HITS, ("size=MAX_HITS", "size=2")),
            # the padding is taken off again
            _right(_HITS, ("energies[hits].sum()", "energies[hits].sum() - energies[0] * (MAX_HITS - inside.sum())")),
            _right(_HITS, ("energies[hits].sum()", "energies[hits]")),
            _right(_HITS, ("(hits,) = jnp.nonzero(inside, size=MAX_HITS)", "hits = jnp.argsort(-energies)[:MAX_HITS]")),
        ),
    ),
}

"""Formulas that are nearly right: losses, noise, derivatives, and times."""

from __future__ import annotations

from tests.lint.tables import Cases

_EPOCHS = """\
def log_prob(net, obs, act):
    return jax.nn.log_softmax(net(obs))[jnp.arange(2), act]
def ppo_loss(net, obs, act, adv, old):
    ratio = jnp.exp(log_prob(net, obs, act) - old)
    return -jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv).mean()
@nnx.jit
def step(net, opt, obs, act, adv, old):
    loss, grads = nnx.value_and_grad(ppo_loss)(net, obs, act, adv, old)
    opt.update(net, grads)
    return loss
@nnx.jit
def epochs(net, opt, obs, act, adv):
    # each
    for _ in range(4):
        old = log_prob(net, obs, act)
        loss = step(net, opt, obs, act, adv, old)
    return loss
epochs(model, optimizer, jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones(2))
"""
_OLD = "        old = log_prob(net, obs, act)\n"
_METHOD = """\
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 2, rngs=rngs)
    def log_prob(self, obs, act):
        return jax.nn.log_softmax(self.fc(obs))[jnp.arange(2), act]
@nnx.jit
def epochs(net, opt, obs, act, adv):
    def loss_fn(net, old):
        r = jnp.exp(net.log_prob(obs, act) - old)
        return -jnp.minimum(r * adv, r.clip(0.8, 1.2) * adv).mean()
    # each
    for _ in range(4):
        old = net.log_prob(obs, act)
        grads = nnx.grad(loss_fn)(net, old)
        opt.update(net, grads)
policy = Policy(nnx.Rngs(0))
epochs(policy, nnx.Optimizer(policy, optax.sgd(0.1), wrt=nnx.Param), jnp.ones((2, 3)), jnp.array([0, 1]), jnp.ones(2))
"""
_OLD_METHOD = "        old = net.log_prob(obs, act)\n"

CASES = {
    "NNX779": Cases(
        bad=(
            """\
def objective(log_probs, old_log_probs, adv, eps=0.2):
    quotient = log_probs / old_log_probs  # NNX779
    return -jnp.minimum(quotient * adv, jnp.clip(quotient, 1 - eps, 1 + eps) * adv).mean()
""",
            """\
def objective(logp, batch, eps=0.2):
    ratio = logp - batch["old_logp"]  # NNX779
    return -jnp.minimum(ratio * batch["adv"], jnp.clip(ratio, 1.0 - eps, 1.0 + eps) * batch["adv"]).mean()
""",
            """\
def log_prob(net, obs, act):
    return jnp.take_along_axis(jax.nn.log_softmax(net(obs)), act[:, None], 1)[:, 0]
def loss(net, obs, act, adv):
    r = jnp.exp(log_prob(net, obs, act) - jax.lax.stop_gradient(log_prob(net, obs, act)))  # NNX779
    return -jnp.minimum(r * adv, r.clip(0.8, 1.2) * adv).mean()
""",
            """\
def surrogate(new, old, adv):
    r = jnp.exp(new - old)  # NNX779
    return jnp.minimum(r * adv, jnp.clip(r, 0.8, 1.2) * adv).mean()
def log_prob(w, b):
    return jax.nn.log_softmax(b.obs @ w)[:, 0]
def loss(w, b):
    return surrogate(log_prob(w, b), jax.lax.stop_gradient(log_prob(w, b)), b.adv)
""",
            """\
from jax.lax import stop_gradient as sg
class Agent:
    def dist(self, w, obs):
        return jax.nn.softmax(obs @ w)
    def loss(self, w, obs, act, adv):
        new = self.dist(w, obs)[:, 0]
        old = sg(self.dist(w, obs)[:, 0])
        ratio = new / old  # NNX779
        return jnp.minimum(ratio * adv, jax.lax.clamp(0.8, ratio, 1.2) * adv).mean()
""",
            """\
def log_prob(w, b):
    return jax.nn.log_softmax(b["obs"] @ w)[:, 0]
def update(w, b):
    def loss(w):
        old = jax.lax.stop_gradient(log_prob(w, b))
        log_ratio = log_prob(w, b) - old
        ratio = jnp.exp(log_ratio)  # NNX779
        return -jnp.minimum(ratio * b["adv"], jnp.clip(ratio, 0.8, 1.2) * b["adv"]).mean()
    return jax.grad(loss)(w)
""",
            """\
def loss(w, b, eps=0.2):
    logp = jax.nn.log_softmax(b["obs"] @ w)[:, 0]
    ratio = jnp.exp(b["log_probs"] - logp)  # NNX779
    return -jnp.minimum(ratio * b["adv"], jnp.clip(ratio, 1.0 - eps, 1.0 + eps) * b["adv"]).mean()
""",
            """\
def update(net, batch):
    def loss(net):
        log_prob = jax.nn.log_softmax(net(batch.obs))[:, 0]
        ratio = jnp.exp(batch.logp - log_prob)  # NNX779
        return -jnp.minimum(ratio * batch.adv, jnp.clip(ratio, 0.8, 1.2) * batch.adv).mean()
    return nnx.grad(loss)(net)
""",
            _EPOCHS.replace("    # each\n", "").replace(_OLD, "        old = log_prob(net, obs, act)  # NNX779\n"),
            # of a method, and with the gradient in the loop
            _METHOD.replace("    # each\n", "").replace(
                _OLD_METHOD, "        old = net.log_prob(obs, act)  # NNX779\n"
            ),
        ),
        clean=(
            """\
def objective(log_probs, old_log_probs, adv, eps=0.2):
    log_ratio = log_probs - old_log_probs
    ratio = jnp.exp(log_ratio)
    kl = jnp.clip(log_probs - old_log_probs, -eps, eps).mean()
    return -jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - eps, 1 + eps) * adv).mean() + kl
print(objective(-x, -x - 0.1, x))
def of_probabilities(probs, old_probs, adv, eps=0.2):
    ratio = probs / old_probs
    return -jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - eps, 1 + eps) * adv).mean()
print(of_probabilities(x / 2, x / 3, x))
""",
            """\
rnd = np.random.RandomState(0)
noise = np.random.default_rng(0)
def made(size):
    weight = np.clip(rnd.rand(size) / rnd.rand(size), 0.01, 100.0)
    prob = np.clip(noise.uniform(size=size) / noise.uniform(size=size), 0.01, 100.0)
    return jnp.asarray(weight * prob)
print(made(3))
""",
            """\
class Meter:
    def __init__(self):
        self.total = 1.0
    def measured(self, v):
        self.total += v.sum()
        return self.total
meter = Meter()
def growth(v):
    return jnp.clip(meter.measured(v) / meter.measured(v), 0.5, 2.0)
print(growth(x))
""",
            """\
def loss(w, b, eps=0.2):
    logp = jax.nn.log_softmax(b["obs"] @ w)[:, 0]
    ratio = jnp.exp(logp - b["log_probs"])
    weight = jnp.exp(b["ref_log_probs"] - logp)
    kept = jnp.clip(weight, 1.0 - eps, 1.0 + eps)
    return -jnp.minimum(ratio * b["adv"], jnp.clip(ratio, 1.0 - eps, 1.0 + eps) * b["adv"]).mean() + kept.mean()
rows = jnp.ones(2)
print(loss(jnp.eye(3), {"obs": jnp.ones((2, 3)), "adv": rows, "log_probs": -rows, "ref_log_probs": -rows}))
""",
            """\
def log_prob(w, b):
    return jax.nn.log_softmax(b["obs"] @ w)[:, 0]
def loss(w, old_w, b):
    ratio = jnp.exp(log_prob(w, b) - jax.lax.stop_gradient(log_prob(old_w, b)))
    return jnp.minimum(ratio * b["adv"], jnp.clip(ratio, 0.8, 1.2) * b["adv"]).mean()
loss(jnp.eye(3), jnp.eye(3), {"obs": jnp.ones((2, 3)), "adv": jnp.ones(2)})
""",
            """\
def loss(logp, adv):
    ratio = jnp.exp(logp - jax.lax.stop_gradient(logp))
    return jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv).mean()
loss(x, x)
""",
            """\
def log_prob(w, b):
    return jax.nn.log_softmax(b["obs"] @ w)[:, 0]
def loss(w, b, old=None):
    if old is None:
        old = jax.lax.stop_gradient(log_prob(w, b))
    ratio = jnp.exp(log_prob(w, b) - old)
    return jnp.minimum(ratio * b["adv"], jnp.clip(ratio, 0.8, 1.2) * b["adv"]).mean()
loss(jnp.eye(3), {"obs": jnp.ones((2, 3)), "adv": jnp.ones(2)})
""",
            """\
def log_prob(w, b):
    return jax.nn.log_softmax(b["obs"] @ w)[:, 0]
def reinforce(w, b):
    magic = jnp.exp(log_prob(w, b) - jax.lax.stop_gradient(log_prob(w, b)))
    return (magic * b["adv"]).mean()
reinforce(jnp.eye(3), {"obs": jnp.ones((2, 3)), "adv": jnp.ones(2)})
""",
            """\
def log_prob(net, b):
    return jax.nn.log_softmax(net(b["obs"]))[:, 0]
def measure(net, opt, b, train):
    old = log_prob(net, b)
    train(net, opt, b)
    ratio = jnp.exp(log_prob(net, b) - old)
    return jnp.mean(jnp.clip(ratio, 0.8, 1.2) != ratio)
measure(model, optimizer, {"obs": jnp.ones((2, 3))}, lambda *a: None)
""",
            """\
def log_prob(net, b):
    return jax.nn.log_softmax(net(b["obs"]))[:, 0]
def measure(net, b, step):
    old = log_prob(net, b)
    for _ in range(3):
        ratio = jnp.clip(jnp.exp(log_prob(net, b) - old), 0.8, 1.2)
        step(net)
    return ratio
measure(model, {"obs": jnp.ones((2, 3))}, lambda n: None)
""",
            """\
def surrogate(new, old, adv):
    r = jnp.exp(new - old)
    return jnp.minimum(r * adv, jnp.clip(r, 0.8, 1.2) * adv).mean()
surrogate(x, x, x)
""",
            # once before the loop, and of each round's own batch
            _EPOCHS.replace("    # each\n", _OLD[4:]).replace(_OLD, ""),
            _METHOD.replace("    # each\n", _OLD_METHOD[4:]).replace(_OLD_METHOD, ""),
            _EPOCHS.replace("    # each\n", "").replace(_OLD, "        obs, act = obs + 1, act\n" + _OLD),
            # of a policy that stays
            _EPOCHS.replace("    # each\n", "    past = nnx.clone(net)\n").replace(_OLD, _OLD.replace("(net", "(past")),
        ),
    ),
    "NNX782": Cases(
        bad=(
            """\
def marked(lengths, size):
    return jnp.less(jnp.arange(size), lengths[:, None]).astype(jnp.float32)
def loss(logits, lengths, labels):
    padding = (labels == 0).astype(jnp.float32)
    return optax.ctc_loss(logits, marked(lengths, logits.shape[1]), labels, padding).mean()  # NNX782
""",
            """\
def mask_of(lengths, longest):
    return (jnp.arange(longest)[None, :] < lengths[:, None]).astype(jnp.float32)
def loss(logits, n, labels, m):
    pad = mask_of(n, 10)
    return optax.ctc_loss(logits, pad, labels, mask_of(m, 4)).mean()  # NNX782 NNX782
""",
            """\
class Loss:
    def mask(self, lengths, longest):
        return jnp.where(lengths[:, None] > jnp.arange(longest), 1.0, 0.0)
    def __call__(self, logits, n, labels, m):
        return optax.ctc_loss(logits, logit_paddings=self.mask(n, 10), labels=labels,  # NNX782
                              label_paddings=1.0 - self.mask(m, 4)).mean()
""",
            """\
from optax import ctc_loss as ctc
def loss(logits, n, labels):
    steps = jnp.arange(logits.shape[1])
    keep = jax.vmap(lambda k: steps < k)(n)
    return ctc(logits, ~keep, labels, (labels != 0).astype(jnp.float32)).mean()  # NNX782
""",
            """\
def loss(logits, lengths, labels):
    mask = np.zeros(logits.shape[:2], np.float32)
    for i, k in enumerate(lengths):
        mask[i, :k] = 1.0
    return optax.ctc_loss(logits, mask, labels, labels == 0).mean()  # NNX782
""",
            """\
def pads(lengths, longest):
    return {"pad": (jax.lax.iota(jnp.int32, longest)[None] < lengths[:, None]).astype(float)}
def loss(logits, lengths, labels):
    return optax.ctc_loss(logits, pads(lengths, 10)["pad"], labels, labels == 0).mean()  # NNX782
""",
            """\
def loss(logits, lengths, labels):
    padded = jnp.logical_not(jnp.arange(10) < lengths[:, None])
    return optax.ctc_loss(logits, 1 - padded, labels, labels < 0).mean()  # NNX782
""",
            """\
import dataclasses
@dataclasses.dataclass
class Batch:
    logits: jax.Array
    paddings: jax.Array
    labels: jax.Array
def collate(logits, lengths, labels):
    return Batch(logits, paddings=(jnp.arange(10) < lengths[:, None]) * 1.0, labels=labels)
def loss(batch):
    return optax.ctc_loss(batch.logits, batch.paddings, batch.labels, batch.labels == 0).mean()  # NNX782
loss(collate(jnp.ones((2, 10, 3)), jnp.array([3, 4]), jnp.ones((2, 3), int)))
""",
        ),
        clean=(
            """\
def marked(lengths, size):
    return jnp.greater_equal(jnp.arange(size), lengths[:, None]).astype(jnp.float32)
def loss(logits, lengths, labels):
    padding = jnp.equal(labels, 0).astype(jnp.float32)
    return optax.ctc_loss(logits, marked(lengths, logits.shape[1]), labels, padding).mean()
print(loss(jnp.zeros((1, 6, 4)), jnp.array([5]), jnp.array([[1, 2, 0]])))
""",
            """\
def loss(logits, lengths, labels):
    mask = np.zeros(logits.shape[:2], np.float32)
    for i, k in enumerate(lengths):
        mask[i, k:] = 1.0
    return optax.ctc_loss_with_forward_probs(logits, mask, labels, labels == 0)[0].mean()
loss(jnp.ones((2, 10, 3)), [4, 5], jnp.ones((2, 3), int))
""",
            """\
def loss(logits, lengths, labels):
    mask = (jnp.arange(10) < lengths[:, None]).astype(jnp.float32)
    losses = optax.ctc_loss(logits, 1.0 - mask, labels, (labels == 0).astype(jnp.float32))
    return (losses * mask.any(1)).sum() / mask.any(1).sum()
loss(jnp.ones((2, 10, 3)), jnp.array([4, 5]), jnp.ones((2, 3), int))
""",
            """\
def mask_of(lengths, longest):
    return (jnp.arange(longest)[None, :] >= lengths[:, None]).astype(jnp.float32)
def loss(logits, n, labels, m):
    pad = mask_of(n, 10)
    return optax.ctc_loss(logits, pad, labels, mask_of(m, 4)).mean()
""",
            """\
def left(logits, n, labels):
    begins = 10 - n
    return optax.ctc_loss(logits, (jnp.arange(10) < begins[:, None]).astype(float), labels, labels == 0).mean()
""",
            """\
def left(logits, n_pad, labels):
    return optax.ctc_loss(logits, (jnp.arange(10) < n_pad[:, None]).astype(float), labels, labels == 0).mean()
""",
            """\
def loss(logits, logit_pad, labels):
    return optax.ctc_loss(logits, logit_pad, labels, 1.0 - (labels > 0)).mean()
""",
            """\
def loss(logits, lengths, labels):
    mask = np.ones(logits.shape[:2], np.float32)
    for i, k in enumerate(lengths):
        mask[i, :k] = 0.0
    return optax.ctc_loss(logits, mask, labels, labels == 0).mean()
""",
            """\
def loss(logits, lengths, labels):
    mask = jnp.arange(10) < lengths[:, None]
    return optax.ctc_loss(logits, jnp.where(mask, 0.0, 1.0), labels, jnp.zeros(labels.shape)).mean()
""",
            """\
def loss(logits, lengths, labels, other):
    return optax.ctc_loss(logits, jnp.zeros(logits.shape[:2]), labels, (other != 0).astype(float)).mean()
""",
        ),
    ),
    "NNX783": Cases(
        bad=(
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
def sample(k, n):
    return jax.random.uniform(k, (n, 2))  # NNX783
@partial(jax.shard_map, mesh=mesh, in_specs=P(), out_specs=P())
def share(k):
    points = sample(k, 100)
    hits = jnp.mean(jnp.sum(points**2, axis=1) < 1)
    return jax.lax.pmean(hits, "d")
print(share(key))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
def fitness(theta):
    return -jnp.sum((theta - 1.0) ** 2)
def gradient(k, theta):
    noise = jax.random.normal(k, (64, 3))  # NNX783
    scores = jax.vmap(fitness)(theta + 0.1 * noise)
    grad = jnp.mean(scores[:, None] * noise, axis=0) / 0.1
    return jax.lax.pmean(grad, "d"), noise
run = jax.jit(jax.shard_map(gradient, mesh=mesh, in_specs=(P(), P()), out_specs=(P(), P("d"))))
print(run(key, x))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P()), out_specs=P("d"))
def chains(k, start):
    def step(state, k):
        state = state + jax.random.normal(k, state.shape)  # NNX783
        return state, state
    _, states = jax.lax.scan(step, start, jax.random.split(k, 5))
    return states
print(chains(key, x))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
@partial(jax.shard_map, mesh=mesh, in_specs=(P(),), out_specs=P("d"))
def many(k):
    return jax.vmap(lambda one: jax.random.normal(one, (3,)))(jax.random.split(k, 8))  # NNX783
print(many(key))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
def walk(key, v):
    def body(v, k):
        return v + jax.random.normal(k, v.shape), None  # NNX783
    return jax.lax.scan(body, v, jax.random.split(key, 3))[0]
print(jax.jit(jax.shard_map(walk, mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d")))(key, x))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
def walk(key, v):
    for k in jax.random.split(key, 3):
        v = v + jax.random.normal(k, v.shape)  # NNX783
    return v
print(jax.shard_map(walk, mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d"))(key, x))
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
def drop(k, h):
    return jnp.where(jax.random.bernoulli(k, 0.5, h.shape), h, 0.0)  # NNX783
def loss(w, v, k):
    return jnp.mean(drop(k, jnp.tanh(v @ w)))
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P(), P()), out_specs=P())
def step(w, v, k, i):
    k = jax.random.fold_in(k, i)
    value, grads = jax.value_and_grad(loss)(w, v, k)
    return jax.lax.pmean(value, "data")
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
def noisy(v, k):
    k, sub = jax.random.split(k)
    n = v.shape[0]
    t = jax.random.randint(sub, (n,), 0, 10)  # NNX783
    return v + t[:, None] + jax.random.normal(k, (v.shape[0], 3))  # NNX783
noisy = jax.shard_map(noisy, mesh=mesh, in_specs=(P("data", None), P()), out_specs=P("data"))
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
class Trainer:
    def __init__(self):
        specs = ({"key": P(), "x": P("data")},)
        self.step = jax.jit(jax.shard_map(self._step, mesh=mesh, in_specs=(P(), P("data")), out_specs=P("data")))
    def _step(self, state, batch):
        noise = jax.random.normal(state["key"], batch["x"].shape)  # NNX783
        return batch["x"] + noise
""",
            """\
from jax import shard_map
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
def run(v):
    k = jax.random.key(0)
    @partial(shard_map, mesh=mesh, in_specs=P("data"), out_specs=P("data"))
    def sample(logits):
        return jax.random.categorical(k, logits)  # NNX783
    return sample(v)
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
def one(k, v):
    return v + jax.random.normal(k, v.shape)
@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
def noisy(v, k):
    return jax.vmap(one)(jax.random.split(k, len(v)), v)  # NNX783
""",
            """\
def shift(k, row):
    return jnp.roll(row, jax.random.randint(k, (), 0, 3))
def shard(k, rows):
    return jax.vmap(shift)(jax.random.split(k, rows.shape[0]), rows)  # NNX783
augment = jax.pmap(shard, axis_name="devices", in_axes=(None, 0))
augment(key, jnp.ones((1, 4, 3)))
""",
            """\
class Augment:
    def noise(self, rng, batch):
        return batch["image"] + jax.random.normal(rng, batch["image"].shape)  # NNX783
    def run(self, rng, batch):
        return jax.pmap(self.noise, in_axes=(None, 0))(rng, batch)
Augment().run(key, {"image": jnp.ones((1, 4, 3))})
""",
        ),
        clean=(
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
def own(k):
    return jax.random.fold_in(k, jax.lax.axis_index("d"))
@partial(jax.shard_map, mesh=mesh, in_specs=(P(),), out_specs=P("d"))
def many(k):
    return jax.random.normal(own(k), (3,))
print(many(key))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
@partial(jax.shard_map, mesh=mesh, in_specs=(P(),), out_specs=P())
def same(k):
    return jax.random.normal(k, (3,))
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P()), out_specs=(P(), P("d")))
def both(k, v):
    return jax.random.normal(k, (3,)), v * 2
first, second = jax.random.split(key)
print(same(first), both(second, x))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
@partial(jax.shard_map, mesh=mesh, in_specs=(P(),), out_specs=P("d"))
def weights(k):
    w = jax.random.normal(k, (3,))
    return w[None]
@partial(jax.shard_map, mesh=mesh, in_specs=(P(),), out_specs=P("d"))
def init_params(k):
    return jax.random.normal(k, (3,))
first, second = jax.random.split(key)
print(weights(first), init_params(second))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("d")), out_specs=P())
def projected(k, v):
    return jax.lax.pmean(jnp.mean(v @ jax.random.normal(k, (2, 3))), "d")
print(projected(key, jnp.ones((8, 2))))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
@partial(jax.shard_map, mesh=mesh, in_specs=(P(),), out_specs=P("d"))
def part(k):
    drawn = jax.random.normal(k, (8, 3))
    return jax.lax.dynamic_slice_in_dim(drawn, jax.lax.axis_index("d") * 2, 2)
@partial(jax.shard_map, mesh=mesh, in_specs=(P(),), out_specs=P("d"))
def scattered(k):
    return jax.lax.psum_scatter(jax.random.normal(k, (8, 3)), "d", tiled=True)
first, second = jax.random.split(key)
print(part(first), scattered(second))
""",
            """\
def cast(rays, rng=None, jitter=0):
    if jitter > 0:
        rng, sub = jax.random.split(rng)
        rays = rays + jax.random.uniform(sub, rays.shape)
    return rays
def render(scale, rays):
    return scale * cast(rays)
jax.pmap(render, axis_name="batch", in_axes=(None, 0))(2.0, jnp.ones((1, 4)))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
def walk(keys, v):
    def body(v, k):
        return v + jax.random.normal(k, v.shape), None
    return jax.lax.scan(body, v, keys[0])[0]
print(jax.shard_map(walk, mesh=mesh, in_specs=(P("d"), P("d")), out_specs=P("d"))(jax.random.split(key, (1, 3)), x))
""",
            """\
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("d",))
P = jax.sharding.PartitionSpec
def walk(key, v):
    def body(v, k):
        k = jax.random.fold_in(k, jax.lax.axis_index("d"))
        return v + jax.random.normal(k, v.shape), None
    return jax.lax.scan(body, v, jax.random.split(key, 3))[0]
print(jax.shard_map(walk, mesh=mesh, in_specs=(P(), P("d")), out_specs=P("d"))(key, x))
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
def noisy(v, k):
    k = jax.random.fold_in(k, jax.lax.axis_index("data"))
    return v + jax.random.normal(k, v.shape)
noisy(jnp.ones((4, 3)), key)
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P("data")), out_specs=P("data"))
def noisy(v, ks):
    return v + jax.random.normal(ks[0], v.shape)
noisy(jnp.ones((4, 3)), jax.random.split(key, 1))
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
def projected(v, k):
    return v @ jax.random.normal(k, (v.shape[1], 2))
projected(jnp.ones((4, 3)), key)
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
@partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("data"), P()), out_specs=P())
def step(w, v, k):
    grads = jax.grad(lambda w: jnp.mean(v @ w))(w)
    return jax.lax.pmean(grads + jax.random.normal(k, grads.shape), "data")
step(jnp.ones((3, 2)), jnp.ones((4, 3)), key)
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("model",))
@partial(jax.shard_map, mesh=mesh, in_specs=(P(None, "model"), P()), out_specs=P(None, "model"))
def rows_whole(v, k):
    return v * jax.random.bernoulli(k, 0.5, (v.shape[0], 1))
rows_whole(jnp.ones((4, 3)), key)
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
def noisy(v, k):
    mine = jax.random.split(k, 4)[jax.lax.axis_index("data")]
    return v + jax.random.normal(mine, v.shape)
noisy(jnp.ones((4, 3)), key)
""",
            """\
from jax.sharding import PartitionSpec as P
mesh = jax.sharding.Mesh(jax.devices()[:1], ("data",))
@partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P())
def init(v, k):
    return jax.random.normal(k, (3, 2))
init(jnp.ones((4, 3)), key)
""",
            """\
def noisy(k, v):
    return v + jax.random.normal(k, v.shape)
jax.pmap(noisy, in_axes=(0, 0))(jax.random.split(key, 1), jnp.ones((1, 4, 3)))
""",
            """\
def noisy(k, v):
    k = jax.random.fold_in(k, jax.lax.axis_index("d"))
    return v + jax.random.normal(k, v.shape)
jax.pmap(noisy, axis_name="d", in_axes=(None, 0))(key, jnp.ones((1, 4, 3)))
""",
            """\
def perturbed(k, params, v):
    return v @ (params + jax.random.normal(k, params.shape))
jax.pmap(perturbed, in_axes=(None, 0, 0))(key, jnp.ones((1, 3, 3)), jnp.ones((1, 4, 3)))
""",
            """\
def noisy(k, v):
    return v + jax.random.normal(k, v.shape)
jax.pmap(noisy, in_axes=(None, 0))(key, jnp.broadcast_to(x, (1, 3)))
""",
            """\
def projected(k, v):
    return v @ jax.random.normal(k, (3, 2))
jax.pmap(projected, in_axes=(None, 0))(key, jnp.ones((1, 4, 3)))
""",
        ),
    ),
    "NNX790": Cases(
        bad=(
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas_bar = jnp.cumprod(1.0 - betas)
def add(v, t, noise):
    a = alphas_bar[t][:, None]
    return a * v + (1.0 - a) * noise  # NNX790
add(jnp.ones((2, 3)), jnp.arange(2), jnp.ones((2, 3)))
""",
            """\
class Noise:
    def __init__(self, betas):
        self.bars = jnp.cumprod(1 - betas)
    def add(self, k, v, t):
        bar = jnp.take(self.bars, t)
        rest = 1 - bar
        return v * bar + jax.random.normal(k, v.shape) * rest  # NNX790
Noise(jnp.linspace(1e-4, 0.02, 10)).add(key, x, 3)
""",
            """\
def bars(betas):
    return jnp.cumprod(1 - betas)
def q_sample(x0, eps, alpha_bar_t):
    return alpha_bar_t * x0 + (1.0 - alpha_bar_t) * eps  # NNX790
print(q_sample(x, x, bars(x * 0.1)))
""",
            """\
alpha_bar = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, 10))
root = alpha_bar**0.5
rest = 1.0 - alpha_bar**0.5
def add(v, t, noise):
    return root[t, None] * v + rest[t, None] * noise  # NNX790
add(x, jnp.arange(3), x)
""",
            """\
def add(k, v, a_bar):
    noise = jax.random.normal(k, v.shape)
    root = jnp.sqrt(a_bar)
    return root * v + (1.0 - root) * noise  # NNX790
add(key, x, 0.5)
""",
            """\
def add(k, v, alpha_bar):
    noise = jax.random.normal(k, v.shape)
    return alpha_bar * v + jnp.sqrt(1.0 - alpha_bar) * noise  # NNX790
add(key, x, 0.5)
""",
            """\
class Schedule:
    def __init__(self, betas):
        self.alpha_bars = jnp.cumprod(1.0 - betas)
    def add(self, v, t, eps):
        a = self.alpha_bars[t]
        rest = jnp.sqrt(1.0 - self.alpha_bars[t])
        return rest * eps + self.alpha_bars[t] * v  # NNX790
Schedule(jnp.linspace(1e-4, 0.02, 10)).add(x, 3, x)
""",
            """\
class Schedule:
    def __init__(self, betas):
        self.ab = jnp.cumprod(1.0 - betas)
        self.root = jnp.sqrt(self.ab)
        self.rest = 1.0 - self.ab
    def add(self, v, t, eps):
        return self.root[t][:, None] * v + self.rest[t][:, None] * eps  # NNX790
""",
            """\
def add(k, v, ab):
    n = jax.random.normal(k, v.shape)
    signal = ab**0.5 * v
    return signal + (1 - ab) * n  # NNX790
""",
            """\
def forward(v, beta, noise):
    return noise * beta + v * jnp.sqrt(1 - beta)  # NNX790
""",
            """\
def shares(t, ab):
    a = jnp.take(ab, t)
    return {"signal": jnp.power(a, 0.5), "noise": 1.0 - a}
def forward(v, t, ab, noise):
    s = shares(t, ab)
    return s["signal"] * v + s["noise"] * noise  # NNX790
""",
            """\
def shares(a):
    return jnp.sqrt(a), 1.0 - a
def forward(v, ab, t, noise):
    signal, rest = shares(ab[t])
    return signal * v + rest * noise  # NNX790
""",
            """\
forward = lambda v, a, eps: jnp.sqrt(a) * v + (1 - a) * eps  # NNX790
""",
        ),
        clean=(
            """\
betas = jnp.linspace(1e-4, 0.02, 10)
alphas_bar = jnp.cumprod(1.0 - betas)
signal, spread = jnp.sqrt(alphas_bar), jnp.sqrt(1 - alphas_bar)
def add(v, t, noise):
    return signal[t] * v + spread[t] * noise
print(add(x, 2, x))
""",
            """\
betas = jnp.cumprod(jnp.full(10, 0.9))
def flow(v, t, noise):  # flow matching goes along straight lines
    return (1.0 - t) * noise + t * v
def average(decay, old, new):
    return decay * old + (1.0 - decay) * new
print(flow(x, 0.3, x), average(betas[0], x, x))
""",
            """\
discounts = jnp.cumprod(jnp.full(3, 0.9))
def mixed(v, other):
    return discounts * v + (1 - discounts) * other
print(mixed(x, x))
""",
            """\
def mixed(k, v, u):
    t = jnp.sqrt(u)
    noise = jax.random.normal(k, v.shape)
    return t * v + (1.0 - t) * noise
mixed(key, x, 0.5)
""",
            """\
alpha_bar = jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, 10))
root = alpha_bar**0.5
rest = (1.0 - alpha_bar) ** 0.5
def add(v, t, noise):
    return root[t, None] * v + rest[t, None] * noise
add(x, jnp.arange(3), x)
""",
            """\
def blend(v, alpha, other):
    root = jnp.sqrt(alpha)
    return root * v + (1.0 - root) * other
blend(x, 0.5, x)
""",
            """\
def step(v, dt, noise):
    return (1.0 - dt) * v + jnp.sqrt(dt) * noise
step(x, 0.1, x)
""",
            """\
def keep(v, alpha, noise):
    return alpha * v + jnp.sqrt(1.0 - alpha**2) * noise
keep(x, 0.1, x)
""",
            """\
def move(v, alpha, noise):
    return (1.0 - alpha) * v + jnp.sqrt(2.0 * alpha) * noise
move(x, 0.1, x)
""",
            """\
def flow(v, t, noise):
    return (1 - t) * v + t * noise
flow(x, 0.1, x)
""",
            """\
def pcn(v, beta, noise):
    return jnp.sqrt(1 - beta**2) * v + beta * noise
pcn(x, 0.1, x)
""",
            """\
def euler(v, theta, noise):
    return (1 - theta) * v + jnp.sqrt(theta) * noise
euler(x, 0.1, x)
""",
            """\
def mixed(v, a, other):
    return jnp.sqrt(a) * v + (1 - a) * other
mixed(x, 0.1, x)
""",
            """\
def ddim(v, a, b, noise):
    return jnp.sqrt(a) * v + (1 - b) * noise
ddim(x, 0.1, 0.2, x)
""",
            """\
def noisy(v, a, noise):
    return jnp.sqrt(a) * v + jnp.sqrt(1 - a) * noise
noisy(x, 0.5, x)
""",
            """\
def gated(v, gate, noise):
    return gate * v + (1 - gate) * noise
gated(x, 0.5, x)
""",
        ),
    ),
    "NNX791": Cases(
        bad=(
            """\
def lap(f, v):
    h = jax.hessian(f)(v)
    return h.sum()  # NNX791
""",
            """\
def pde(f, points):
    laplacian = jnp.sum(jax.vmap(jax.hessian(f))(points), axis=(1, 2))  # NNX791
    return laplacian
""",
            """\
def second(f):
    return jax.jacfwd(jax.grad(f))
class Energy:
    def kinetic(self, w, v):
        return -0.5 * jnp.sum(second(lambda z: self.psi(w, z))(v))  # NNX791
    def psi(self, w, v):
        return jnp.tanh(v @ w).sum()
""",
            """\
from jax import hessian as H
def laplacian(u, w, v):
    return H(u, argnums=1)(w, v).sum(axis=None)  # NNX791
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(2, 4, rngs=rngs)
        self.outer = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.outer(jnp.tanh(self.inner(v)))
def laplacian(net, v):
    return jnp.trace(jax.hessian(net)(v))  # NNX791
laplacian(Net(nnx.Rngs(0)), jnp.ones(2))
""",
            """\
net = nnx.Sequential(nnx.Linear(2, 4, rngs=nnx.Rngs(0)), jnp.tanh, nnx.Linear(4, 1, rngs=nnx.Rngs(1)))
def residual(points):
    second = jax.vmap(jax.jacfwd(jax.jacrev(lambda v: net(v))))(points)
    return jnp.trace(second, axis1=1, axis2=2)  # NNX791
residual(jnp.ones((3, 2)))
""",
        ),
        clean=(
            """\
def laplacian(u, v):
    return jnp.sum(jnp.diag(jax.hessian(u)(v)))
laplacian(jnp.sum, x)
""",
            """\
def curvature(u, v):
    return jnp.sum(jax.hessian(u)(v))
curvature(jnp.sum, x)
""",
            """\
def laplacian_1d(u, v):
    return jnp.sum(jax.hessian(u)(v))
laplacian_1d(jnp.sum, x)
""",
            """\
def laplacian_norm(u, v):
    return jnp.sum(jax.hessian(u)(v) ** 2)
laplacian_norm(jnp.sum, x)
""",
            """\
def laplacian(u, v):
    return jnp.sum(jax.hessian(lambda z: jnp.sum(u(z)))(v), axis=1)
laplacian(jnp.sin, x)
""",
            """\
def laplacian(u, v):
    return jnp.trace(jax.hessian(u)(v))
laplacian(jnp.sum, x)
""",
            """\
net = nnx.Sequential(nnx.Linear(2, 4, rngs=nnx.Rngs(0)), jnp.tanh, nnx.Linear(4, 1, rngs=nnx.Rngs(1)))
def laplacians(v):
    whole = jax.hessian(net)(v)
    return (
        jnp.trace(whole, axis1=1, axis2=2),
        jnp.trace(whole[0]),
        jnp.trace(jax.hessian(lambda w: net(w)[0])(v)),
        jnp.trace(jax.hessian(lambda w: net(w).squeeze())(v)),
        jnp.trace(jax.hessian(lambda w: net(w).sum())(v)),
    )
print(laplacians(jnp.ones(2)))
""",
            """\
net = nnx.Sequential(nnx.Linear(2, 4, rngs=nnx.Rngs(0)), jnp.tanh, nnx.Linear(4, 1, rngs=nnx.Rngs(1)))
def residual(points):
    second = jax.vmap(jax.hessian(net))(points)
    return jnp.trace(second, axis1=2, axis2=3), jnp.trace(second[:, 0], axis1=1, axis2=2)
print(residual(jnp.ones((3, 2))))
""",
        ),
    ),
    "NNX792": Cases(
        bad=(
            """\
import timeit
@partial(jax.jit, static_argnames="n")
def power(v, n):
    for _ in range(n):
        v = v @ v
    return v
jax.block_until_ready(power(jnp.eye(4), 3))
start = timeit.default_timer()
result = power(jnp.eye(4), n=3)
duration = timeit.default_timer() - start  # NNX792
jax.block_until_ready(result)
""",
            """\
@jax.jit
def square(v):
    return v * v
def bench(v):
    times = []
    for _ in range(3):
        t0 = time.time()
        out = square(v)
        t1 = time.time()
        out.block_until_ready()
        times.append(t1 - t0)  # NNX792
    return min(times)
""",
            """\
square = jax.jit(lambda v: v * v)
class Bench:
    def run(self, v):
        start = time.perf_counter()
        self.out = square(v)
        self.seconds = time.perf_counter() - start  # NNX792
        jax.block_until_ready(self.out)
        return len(v) / self.seconds
""",
            """\
def bench_square():
    pass
square = jax.jit(lambda v: v * v)
t0 = time.time()
out = square(x)
compile_time = time.time() - t0
out.block_until_ready()
t0 = time.time()
out = square(x)
took = time.time() - t0  # NNX792
out.block_until_ready()
""",
        ),
        clean=(
            """\
import timeit
@partial(jax.jit, static_argnames="n")
def power(v, n):
    for _ in range(n):
        v = v @ v
    return v
jax.block_until_ready(power(jnp.eye(4), 3))
start = timeit.default_timer()
result = jax.block_until_ready(power(jnp.eye(4), n=3))
duration = timeit.default_timer() - start
print(duration > 0)
""",
            """\
square = jax.jit(lambda v: v * v)
def bench(v):
    jax.block_until_ready(square(v))
    t0 = time.time()
    out = square(v)
    out.block_until_ready()
    return time.time() - t0
bench(x)
""",
            """\
square = jax.jit(lambda v: v * v)
def bench(v):
    jax.block_until_ready(square(v))
    t0 = time.time()
    out = jax.block_until_ready(square(v))
    t1 = time.time()
    print(out.block_until_ready())
    return t1 - t0
bench(x)
""",
            """\
def plain(v):
    t0 = time.time()
    out = np.square(v)
    took = time.time() - t0
    jax.block_until_ready(out)
    return took
plain(np.ones(3))
""",
            """\
square = jax.jit(lambda v: v * v)
def bench(v):
    jax.block_until_ready(square(v))
    times = []
    for _ in range(3):
        t0 = time.time()
        square(v).block_until_ready()
        times.append(time.time() - t0)
    return min(times)
bench(x)
""",
            """\
square = jax.jit(lambda v: v * v)
def bench(v):
    out = square(v)
    out.block_until_ready()
    t0 = time.time()
    total = np.asarray(square(v)).sum()
    took = time.time() - t0
    jax.block_until_ready(out)
    return took, total
bench(x)
""",
        ),
    ),
}

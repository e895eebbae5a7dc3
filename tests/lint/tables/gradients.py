"""Losses, and what they are differentiated by."""

from __future__ import annotations

from tests.lint.tables import Cases

_LOSS = """\
def loss(m, x):
    y = m(x)
    return y.sum(), y

"""

_PLACES = """\
MASK_ID = 4
def prepare(rng, ids):
    chosen = rng.random(ids.shape) < 0.15
    return np.where(chosen, MASK_ID, ids), chosen.astype(np.float32)
def mlm_loss(model, inputs, targets, weights):
    ce = optax.softmax_cross_entropy_with_integer_labels(model(inputs), targets)
    return jnp.sum(ce * weights) / weights.sum()
@nnx.jit
def step(model, inputs, targets, weights):
    return nnx.value_and_grad(mlm_loss)(model, inputs, targets, weights)[0]
targets = np.ones((2, 3), int)
inputs, weights = prepare(np.random.default_rng(0), targets)
step(nnx.Embed(5, 5, rngs=nnx.Rngs(0)), inputs, targets, weights)
"""

_SQUARES = """\
def squares(m):
    return sum(jnp.sum(p**2) for p in jax.tree.leaves(nnx.state(m, nnx.Param)))
"""

CASES = {
    "NNX567": Cases(
        bad=(
            _SQUARES
            + """\
@nnx.jit
def step(model, optimizer, v):
    def loss_fn(m):
        return jnp.mean(m(v) ** 2) + 0.01 * squares(model)  # NNX567
    optimizer.update(model, nnx.grad(loss_fn)(model))
""",
            # under names, with what is reported beside the loss
            _SQUARES
            + """\
def step(model, optimizer, v):
    def loss_fn(m):
        error = jnp.mean(m(v) ** 2)
        decay = squares(model)
        loss = error + 0.01 * decay  # NNX567
        return loss, (error, decay)
    (loss, parts), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model)
    optimizer.update(model, grads)
    return parts
""",
            """\
def step(model, optimizer, v):
    def loss_fn(m):
        loss = jnp.mean(m(v) ** 2)
        loss += 0.01 * jnp.sum(model.kernel[...] ** 2)  # NNX567
        return loss
    optimizer.update(model, nnx.grad(loss_fn)(model))
""",
            # plain parameters, which a state holds
            """\
def train_step(state, tx, v):
    def loss_fn(params):
        leaves = jax.tree.leaves(state.params)
        l2 = 0.5 * sum(jnp.sum(p**2) for p in leaves)
        return jnp.mean((v @ params["w"]) ** 2) + 1e-4 * l2  # NNX567
    return jax.value_and_grad(loss_fn)(state.params)
""",
            _SQUARES
            + """\
class Trainer:
    def __init__(self):
        self.net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    def step(self, v):
        def loss_fn(net):
            return jnp.mean(net(v) ** 2) + squares(self.net)  # NNX567
        return nnx.grad(loss_fn)(self.net)
""",
            # by a method, a decorator, and of what was made before
            _SQUARES
            + """\
class Trainer:
    def __init__(self):
        self.net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    def loss(self, net, v):
        return jnp.mean(net(v) ** 2) + squares(self.net)  # NNX567
    def step(self, v):
        return nnx.grad(self.loss)(self.net, v)
def decorated(model, v):
    @nnx.value_and_grad
    def loss_fn(m):
        loss = jnp.mean(m(v) ** 2)
        loss = loss + squares(model)  # NNX567
        return loss
    return loss_fn(model)
def before(model, v):
    params = nnx.state(model, nnx.Param)
    decay = squares(model)
    def loss_fn(m):
        return jnp.mean(m(v) ** 2) + decay  # NNX567
    def norm_fn(m):
        return jnp.mean(m(v) ** 2) + 0.1 * optax.global_norm(params)  # NNX567
    return nnx.grad(loss_fn)(model), nnx.grad(norm_fn)(model)
""",
            _SQUARES
            + """\
def loss_fn(m, v):
    return squares(model) + jnp.mean(m(v) ** 2)  # NNX567
print(nnx.value_and_grad(loss_fn)(model, x)[0])
""",
        ),
        clean=(
            _SQUARES
            + """\
@nnx.jit
def step(model, optimizer, v):
    def loss_fn(m):
        return jnp.mean(m(v) ** 2) + 0.01 * squares(m)
    optimizer.update(model, nnx.grad(loss_fn)(model))
step(model, optimizer, x)
""",
            # another model, and how far this one is from it
            _SQUARES
            + """\
def step(model, optimizer, teacher, v):
    def loss_fn(m):
        return jnp.mean((m(v) - teacher(v)) ** 2) + 0.01 * squares(teacher) + jnp.mean((m(v) - model(v)) ** 2)
    optimizer.update(model, nnx.grad(loss_fn)(model))
step(model, optimizer, nnx.Linear(3, 3, rngs=nnx.Rngs(1)), x)
""",
            # the loss takes the place of the name
            _SQUARES
            + """\
def loss_fn(model, v):
    return squares(model) + jnp.mean(model(v) ** 2)
print(nnx.value_and_grad(loss_fn)(model, x)[0])
""",
            # no gradient is wanted, and it says so; what is beside the loss needs none
            _SQUARES
            + """\
def step(model, v):
    def loss_fn(m):
        loss = jnp.mean(m(v) ** 2) + jax.lax.stop_gradient(squares(model))
        return loss, squares(model)
    return nnx.value_and_grad(loss_fn, has_aux=True)(model)
step(model, x)
""",
            # what was made before is of another model, or of the data as well
            _SQUARES
            + """\
def step(model, other, v):
    decay, far = squares(other), jnp.mean((other(v) - model(v)) ** 2)
    def loss_fn(m):
        return jnp.mean(m(v) ** 2) + decay + far
    return nnx.grad(loss_fn)(model)
step(model, nnx.Linear(3, 3, rngs=nnx.Rngs(1)), x)
""",
            # the gradient is of another one
            _SQUARES
            + """\
def step(first, second, v):
    def loss_fn(m):
        return jnp.mean(m(v) ** 2) + squares(second)
    return nnx.grad(loss_fn)(first), nnx.grad(lambda m: squares(m))(second)
step(model, nnx.Linear(3, 3, rngs=nnx.Rngs(1)), x)
""",
            """\
def train_step(params, v):
    def loss_fn(params):
        l2 = 0.5 * sum(jnp.sum(p**2) for p in jax.tree.leaves(params))
        return jnp.mean((v @ params["w"]) ** 2) + 1e-4 * l2
    return jax.value_and_grad(loss_fn)(params)
train_step({"w": x}, x)
""",
            # the difference to the model before, whose own loss is a number
            """\
def step(model, v):
    def loss_fn(m):
        return jnp.mean(m(v) ** 2) - jnp.mean(model(v) ** 2)
    return nnx.value_and_grad(loss_fn)(model)
step(model, x)
""",
        ),
    ),
    "NNX568": Cases(
        bad=(
            """\
def epoch(model, optimizer, batches):
    for v in batches:
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(v) ** 2))(model)  # NNX568
    optimizer.update(model, grads)
    return loss
""",
            # divided by the number of micro batches, of which one alone is left
            """\
def loss_fn(m, v):
    return jnp.mean(m(v) ** 2)
@nnx.jit
def step(model, optimizer, v):
    for i in range(4):
        grads = nnx.grad(loss_fn)(model, v[i])  # NNX568
    grads = jax.tree.map(lambda g: g / 4, grads)
    optimizer.update(model, grads)
""",
            # by functions
            """\
def gradients(m, v):
    return nnx.value_and_grad(lambda m: jnp.mean(m(v) ** 2))(m)
def apply(m, opt, grads):
    opt.update(m, grads)  # NNX904
def train(model, optimizer, v, rounds):
    for _ in range(rounds):
        total = 0.0
        for i in range(3):
            part = v[i]
            loss, grads = gradients(model, part)  # NNX568
            total += loss
        apply(model, optimizer, grads)
    return total / 3
train(model, optimizer, jnp.ones((3, 3)), 1)
""",
            """\
def step(params, opt_state, tx, rows):
    for row in rows:
        g = jax.grad(lambda p: jnp.mean((row * p) ** 2))(params)  # NNX568
    updates, opt_state = tx.update(g, opt_state, params)
    return optax.apply_updates(params, updates), opt_state
""",
        ),
        clean=(
            """\
def epoch(model, optimizer, batches):
    for v in batches:
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(v) ** 2))(model)
        jax.block_until_ready(grads)
    optimizer.update(model, grads)
    return loss
epoch(model, optimizer, batches)
""",
            """\
@nnx.jit
def epoch(model, optimizer, v):
    total = jax.tree.map(jnp.zeros_like, nnx.state(model, nnx.Param))
    for i in range(2):
        grads = nnx.grad(lambda m: jnp.mean(m(v[i]) ** 2))(model)
        total = jax.tree.map(jnp.add, total, grads)
    optimizer.update(model, jax.tree.map(lambda g: g / 2, total))
epoch(model, optimizer, jnp.ones((2, 3)))
""",
            # every round computes the same, as for a measure of time
            """\
def timed(model, optimizer, v):
    compiled = nnx.jit(nnx.grad(lambda m, v: jnp.mean(m(v) ** 2)))
    for _ in range(3):
        grads = compiled(model, v)
    optimizer.update(model, grads)
timed(model, optimizer, x)
""",
            # the first batch alone is wanted
            """\
def gradients(m, v):
    return nnx.grad(lambda m: jnp.mean(m(v) ** 2))(m)
def first(model, optimizer, batches):
    for v in batches:
        grads = gradients(model, v)
        break
    optimizer.update(model, grads)
first(model, optimizer, batches)
""",
            # what the rounds make of the one before, of which the last is wanted
            """\
def settled(model, optimizer, v):
    for _ in range(3):
        v = jnp.tanh(v)
        half = v / 2
        grads = nnx.grad(lambda m, h: jnp.mean(m(h) ** 2))(model, half)
    optimizer.update(model, grads)
settled(model, optimizer, x)
""",
            # the loop trains the one model, and its last round begins the step of the other
            """\
@nnx.jit
def step(first, second, first_opt, second_opt, batches):
    for v in batches:
        grads = nnx.grad(lambda m: jnp.mean((m(v) - second(v)) ** 2))(first)
        first_opt.update(first, grads)
        others = nnx.grad(lambda m: jnp.mean((m(v) - first(v)) ** 2))(second)
    second_opt.update(second, others)
other = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
step(model, other, optimizer, nnx.Optimizer(other, optax.sgd(0.1), wrt=nnx.Param), batches)
""",
            # other gradients are applied
            """\
def gradients(m, v):
    return nnx.grad(lambda m: jnp.mean(m(v) ** 2))(m)
def last(model, optimizer, batches):
    for v in batches:
        grads = gradients(model, v)
    norm = optax.global_norm(grads)
    grads = gradients(model, jnp.concatenate(batches).reshape(2, 3))
    optimizer.update(model, grads)
    return norm
last(model, optimizer, batches)
""",
            # no gradients at all
            """\
def merged(parts):
    found = {}
    for part in parts:
        grads = dict(part)
    found.update(grads)
    return found
print(merged([{"a": 1}, {"b": 2}]))
""",
        ),
    ),
    "NNX789": Cases(
        bad=(
            """\
def parts(logits, labels):
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return losses, (labels != 0).astype(jnp.float32)
def total(logits, labels):
    losses, mask = parts(logits, labels)
    return jnp.mean(losses * mask)  # NNX789
""",
            """\
def accuracy(logits, labels, mask):
    right = (logits.argmax(-1) == labels) * mask
    return right.mean()  # NNX789
print(accuracy(jnp.ones((2, 3, 4)), jnp.ones((2, 3), int), jnp.ones((2, 3))))
""",
            """\
def accuracy(logits, labels, valid):
    guesses = jnp.argmax(logits, axis=-1)
    right = (guesses == labels).astype(jnp.float32) * valid
    return jnp.mean(right)  # NNX789
print(accuracy(jnp.ones((2, 3)), jnp.zeros(2, int), jnp.ones(2)))
""",
            """\
def token_loss(logits, targets, lengths):
    ce = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    mask = (jnp.arange(targets.shape[1])[None, :] < lengths[:, None]).astype(jnp.float32)
    return jnp.mean(ce * mask)  # NNX789
""",
            """\
def token_loss(logits, batch):
    ce = optax.softmax_cross_entropy(logits, jax.nn.one_hot(batch["targets"], 5))
    return (ce * batch["mask"]).mean()  # NNX789
""",
            """\
PAD = 0
def token_nll(table, tokens):
    logp = jax.nn.log_softmax(table[tokens[:, :-1]], axis=-1)
    return -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1)[..., 0]
def loss_fn(table, tokens):
    mask = (tokens[:, 1:] != PAD).astype(jnp.float32)
    nll = token_nll(table, tokens) * mask
    return jnp.mean(nll)  # NNX789
""",
            """\
def loss(logits, labels):
    mask = labels != 0
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels) * mask)  # NNX789
""",
            """\
def loss(logits, labels, pad_id):
    ce = jnp.where(labels != pad_id, optax.softmax_cross_entropy_with_integer_labels(logits, labels), 0.0)
    return ce.mean()  # NNX789
""",
            """\
def each(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)
def loss(logits, batch):
    ce = each(logits, batch['labels'])
    weights = (batch['labels'] >= 0).astype(jnp.float32)
    ce = ce * weights
    return ce.mean()  # NNX789
""",
            """\
def loss(logits, batch):
    logp = jax.nn.log_softmax(logits, axis=-1)
    nll = -jnp.take_along_axis(logp, batch["labels"][..., None], axis=-1).squeeze(-1)
    nll = jnp.where(batch["attention_mask"] == 1, nll, 0.0)
    return nll.mean()  # NNX789
""",
            """\
class Loss:
    def __init__(self, pad):
        self.pad = pad
    def __call__(self, logits, target):
        losses = optax.softmax_cross_entropy(logits, jnp.eye(logits.shape[-1])[target])
        weights = jnp.where(target == self.pad, 0.0, 1.0)
        losses *= weights
        return losses.mean()  # NNX789
""",
            """\
def loss(logits, labels):
    keep = jnp.not_equal(labels, 0).astype(jnp.float32)
    return jnp.mean(keep * optax.softmax_cross_entropy_with_integer_labels(logits, labels))  # NNX789
""",
            # the places are drawn, or told by their token, where the data are made
            _PLACES.replace("jnp.sum(ce * weights) / weights.sum()", "jnp.mean(ce * weights)  # NNX789"),
            _PLACES.replace("jnp.sum(ce * weights) / weights.sum()", "(weights * ce).mean()  # NNX789").replace(
                "rng.random(ids.shape) < 0.15", "jnp.asarray(ids == MASK_ID)"
            ),
            # the sum, divided by all of them
            """\
def masked_loss(logits, batch):
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch["labels"])
    mask = (batch["labels"] != 0).astype(jnp.float32)
    return jnp.sum(losses * mask) / losses.size  # NNX789
""",
            """\
def accuracy(logits, labels, mask):
    right = (logits.argmax(-1) == labels) * mask
    return right.sum() / jnp.size(labels)  # NNX789
print(accuracy(jnp.ones((2, 3, 4)), jnp.ones((2, 3), int), jnp.ones((2, 3))))
""",
        ),
        clean=(
            """\
def parts(logits, labels):
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return losses, (labels != 0).astype(jnp.float32), (labels == 2).astype(jnp.float32) + 1.0
def total(logits, labels):
    losses, mask, weights = parts(logits, labels)
    return jnp.sum(losses * mask) / jnp.sum(mask), jnp.mean(losses * weights)
print(total(jnp.ones((2, 3)), jnp.array([0, 1])))
""",
            _PLACES,
            """\
def accuracy(logits, labels, mask):
    right = (logits.argmax(-1) == labels) * mask
    return right.sum() / mask.sum(), right.sum() / len(labels), (logits.argmax(-1) == labels).sum() / labels.size
print(accuracy(jnp.ones((2, 3, 4)), jnp.ones((2, 3), int), jnp.ones((2, 3))))
""",
            # weights of classes, and one of the tasks that share a batch
            _PLACES.replace("jnp.sum(ce * weights) / weights.sum()", "jnp.mean(ce * weights)").replace(
                "chosen.astype(np.float32)", "np.ones(5, np.float32)[ids]"
            ),
            _PLACES.replace("jnp.sum(ce * weights) / weights.sum()", "jnp.mean(ce * weights)").replace(
                "rng.random(ids.shape) < 0.15", "ids == 3"
            ),
            # the examples of which a model is sure
            _PLACES.replace("jnp.sum(ce * weights) / weights.sum()", "jnp.mean(ce * weights)").replace(
                "rng.random(ids.shape) < 0.15", "np.full(ids.shape, 0.9) > 0.8"
            ),
            """\
def accuracy(logits, labels, mask):
    right = logits.argmax(-1) == labels
    return jnp.mean(right, where=mask > 0), (right * 2).mean()
print(accuracy(jnp.ones((2, 3, 4)), jnp.ones((2, 3), int), jnp.ones((2, 3))))
""",
            """\
def accuracy(logits, labels, mask):
    right = (logits.argmax(-1) == labels) * mask
    return right.sum() / mask.sum(), right.mean() / mask.mean(), (logits.argmax(-1) == labels).mean()
print(accuracy(jnp.ones((2, 3, 4)), jnp.ones((2, 3), int), jnp.ones((2, 3))))
""",
            """\
def token_loss(logits, targets, lengths):
    ce = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    mask = (jnp.arange(targets.shape[1])[None, :] < lengths[:, None]).astype(jnp.float32)
    return jnp.sum(ce * mask) / jnp.sum(mask)
print(token_loss(jnp.ones((2, 4, 5)), jnp.zeros((2, 4), jnp.int32), jnp.array([4, 2])))
""",
            # divided by what counts, or weighed so before
            """\
def loss(logits, targets, mask):
    ce = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    return jnp.mean(ce * mask) / jnp.mean(mask)
def scaled(logits, targets, mask):
    mask = mask / mask.mean()
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, targets) * mask)
def named(logits, targets, mask):
    ce = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    mean = (ce * mask).mean()
    return mean * mask.size / mask.sum()
given = jnp.ones((2, 4, 3)), jnp.zeros((2, 4), jnp.int32), jnp.ones((2, 4))
print(loss(*given), scaled(*given), named(*given))
""",
            """\
class Loss:
    def __init__(self, pad):
        self.pad = pad
    def __call__(self, logits, target):
        losses = optax.softmax_cross_entropy(logits, jnp.eye(logits.shape[-1])[target])
        weights = jnp.where(target == self.pad, 0.0, 1.0)
        losses *= weights
        return losses.sum() / weights.sum()
print(Loss(0)(jnp.zeros((4, 3)), jnp.array([1, 2, 1, 0])))
""",
            """\
def loss(logits, labels):
    weights = jnp.where(labels == 2, 0.1, 1.0)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    losses *= weights
    return losses.mean()
print(loss(jnp.zeros((4, 3)), jnp.array([1, 2, 1, 0])))
""",
            """\
PAD = 0
def token_nll(table, tokens):
    logp = jax.nn.log_softmax(table[tokens[:, :-1]], axis=-1)
    return -jnp.take_along_axis(logp, tokens[:, 1:, None], axis=-1)[..., 0]
def loss_fn(table, tokens):
    mask = (tokens[:, 1:] != PAD).astype(jnp.float32)
    nll = token_nll(table, tokens) * mask
    return jnp.sum(nll) / jnp.sum(mask)
print(loss_fn(jnp.zeros((4, 4)), jnp.array([[1, 2, 3, 0]])))
""",
            """\
def loss(logits, labels):
    mask = labels != 0
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels), where=mask)
""",
            """\
def loss(logits, labels):
    mask = labels != 0
    return jnp.sum(optax.softmax_cross_entropy_with_integer_labels(logits, labels) * mask) / mask.sum()
""",
            """\
def loss(logits, labels):
    mask = labels != 0
    value = jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels) * mask)
    return value / jnp.mean(mask)
""",
            """\
def loss(logits, labels, weights):
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels) * weights)
""",
            """\
def loss(logits, labels, group):
    chosen = group == 2
    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits, labels) * chosen)
""",
        ),
    ),
    "NNX850": Cases(
        bad=(
            """\
averages = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
def objective(model, x):
    out = model(x)
    return (out ** 2).mean(), out
loss, grads = nnx.value_and_grad(objective, has_aux=True)(model, x)  # NNX850
averages.update(loss=loss)
""",
            """\
def loss(w, v):
    p = v * w
    return jnp.sum(p ** 2), {"p": p}
def step(w, v):
    (value, grads), metrics = jax.value_and_grad(loss, has_aux=True)(w, v)  # NNX850
    return w - 0.1 * grads, metrics
""",
            """\
def loss(w, v):
    p = v * w
    return jnp.sum(p ** 2), {"p": p}
def step(w, v):
    grads = jax.grad(loss, has_aux=True)(w, v)  # NNX850
    return w - 0.1 * grads
""",
            """\
def elbo(params, v):
    return (params * v).sum(), (params, v)
def step(params, v):
    return jax.grad(lambda p: elbo(p, v))(params)  # NNX850
""",
            """\
@functools.partial(jax.value_and_grad, argnums=1)  # NNX850
def loss(w, v):
    return jnp.sum(w * v), v
""",
            _LOSS + "(value, y), grads = nnx.value_and_grad(loss)(model, x)  # NNX850\n",
            "g = jax.grad(lambda v: (v, v))(1.0)  # NNX850\n",
            _LOSS
            + "value, grads = nnx.value_and_grad(loss, has_aux=True)(model, x)  # NNX850\nprint(f'{value:.3f}')\n",
            _LOSS + "grads = nnx.grad(loss, has_aux=True)(model, x)  # NNX850\noptimizer.update(model, grads)\n",
            _LOSS
            + """\
from jax import value_and_grad as vg
@jax.jit
def step(p, x):
    fn = vg(loss)  # NNX850
    return fn(p, x)
""",
        ),
        clean=(
            """\
averages = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))
def objective(model, x):
    out = model(x)
    return (out ** 2).mean(), out
loss, grads = nnx.value_and_grad(objective, has_aux=True)(model, x)
averages.update(loss=loss[0])
print(averages.compute())
""",
            """\
def loss(w, v):
    g = jax.grad(lambda u: jnp.sum(u ** 2))(v)
    return jnp.sum((w * g) ** 2), g
(value, grads), param_grads = jax.value_and_grad(loss, has_aux=True)(2.0, x)
print(value, grads, 2.0 - 0.1 * param_grads)
""",
            """\
def loss(w, v):
    p = v * w
    return jnp.sum(p ** 2), p
both = jax.grad(loss, has_aux=True)(2.0, x)
(value, pred), grad = jax.value_and_grad(loss, has_aux=True)(2.0, x)
print(2.0 - 0.1 * both[0], both, value, pred, grad)
""",
            """\
class Search:
    def __init__(self, fun, value_and_grad=False):
        if value_and_grad:
            self.both = fun
        else:
            self.both = jax.value_and_grad(fun)
def pair(v):
    return v.sum(), jnp.ones(3)
print(Search(pair, value_and_grad=True).both(x))
""",
            """\
def elbo(params, v):
    return (params * v).sum(), (params, v)
def step(params, v):
    first = jax.grad(lambda p: elbo(p, v)[0])(params)
    second, _ = jax.grad(lambda p: elbo(p, v), has_aux=True)(params)
    return first + second
step(x, x)
""",
            _LOSS + "(value, y), grads = nnx.value_and_grad(loss, has_aux=True)(model, x)\n",
            "g = jax.grad(lambda v: v * v)(1.0)\n",
            _LOSS + "(value, y), grads = nnx.value_and_grad(loss, argnums=0, has_aux=True)(model, x)\n",
            _LOSS + "out, grads = nnx.value_and_grad(loss, has_aux=True)(model, x)\nvalue, y = out\n",
            _LOSS + "grads, y = nnx.grad(loss, has_aux=True)(model, x)\noptimizer.update(model, grads)\n",
            _LOSS + "value, grads = nnx.value_and_grad(lambda m: loss(m, x)[0])(model)\nprint(f'{value:.3f}')\n",
        ),
    ),
    "NNX784": Cases(
        bad=(
            # a mask alone
            """\
@jax.custom_vjp
def quantised(w, scale):
    return jnp.clip(jnp.round(w / scale), -7, 7) * scale
def forward(w, scale):
    return quantised(w, scale), (w, scale)
def backward(kept, g):
    w, scale = kept
    inside = jnp.abs(w / scale) <= 7
    return inside.astype(w.dtype), jnp.zeros_like(scale)  # NNX784
quantised.defvjp(forward, backward)
@jax.custom_vjp
def clipped(v):
    return jnp.clip(v, -1.0, 1.0)
clipped.defvjp(lambda v: (clipped(v), v), lambda v, g: (1.0 * ((v > -1.0) & (v < 1.0)),))  # NNX784
""",
            """\
@jax.custom_jvp
def safe_sqrt(v):
    return jnp.sqrt(jnp.maximum(v, 0.0))
def rule(primals, tangents):
    (v,) = primals
    y = safe_sqrt(v)
    return y, 0.5 / jnp.maximum(y, 1e-6)  # NNX784
safe_sqrt.defjvp(rule)
""",
            """\
def made(weight):
    @jax.custom_vjp
    def huber(pred, target):
        d = pred - target
        return weight * jnp.sum(jnp.where(jnp.abs(d) < 1, 0.5 * d**2, jnp.abs(d) - 0.5))
    def fwd(pred, target):
        return huber(pred, target), pred - target
    def bwd(d, ct):
        grad = weight * jnp.clip(d, -1, 1)
        return grad, -grad  # NNX784
    huber.defvjp(fwd, bwd)
    return huber
""",
            """\
@jax.custom_vjp
def scaled(v, scale):
    return v * scale
def forward(v, scale):
    slope = jnp.cos(v)
    return v * scale, (slope, scale)
def backward(kept, g):
    slope, scale = kept
    return slope * scale, slope  # NNX784
scaled.defvjp(forward, backward)
""",
            """\
@jax.custom_vjp
def bump(x):
    return jnp.exp(-x * x)
bump.defvjp(lambda x: (bump(x), x), lambda x, g: (-2 * x * jnp.exp(-x * x),))  # NNX784
""",
            """\
@jax.custom_vjp
def product(a, b):
    return a * b
def forward(a, b):
    return product(a, b), (a, b)
def backward(kept, g):
    a, b = kept
    return g * b, a  # NNX784
product.defvjp(forward, backward)
""",
            """\
def plain(x):
    return jnp.sqrt(x)
def backward(x, g):
    slope = jnp.where(x > 0, 0.5 / jnp.sqrt(x), 0.0).astype(g.dtype)
    return (slope,)  # NNX784
root = jax.custom_vjp(plain)
root.defvjp(fwd=lambda x: (plain(x), x), bwd=backward)
""",
            """\
@jax.custom_vjp
def root(a):
    return jnp.sqrt(a)
def backward(kept, y_bar):
    a, y = kept
    _, pull = jax.vjp(lambda b: y**2 - b, a)
    (a_bar,) = pull(-0.5 / y)
    return (a_bar,)  # NNX784
root.defvjp(lambda a: (root(a), (a, jnp.sqrt(a))), backward)
""",
            """\
def well(v):
    return jnp.sum((v**2 - 1.0) ** 2)
@jax.custom_vjp
def energy(v, scale):
    return scale * well(v)
def backward(kept, e_bar):
    v, scale = kept
    return scale * jax.grad(well)(v), None  # NNX784
energy.defvjp(lambda v, scale: (energy(v, scale), (v, scale)), backward)
""",
            """\
@jax.custom_vjp
def solved(a, b):
    return jax.scipy.sparse.linalg.cg(lambda v: a @ v, b)[0]
def backward(kept, y_bar):
    a, y = kept
    return None, jax.scipy.sparse.linalg.cg(lambda v: a.T @ v, jnp.ones_like(y_bar))[0]  # NNX784
solved.defvjp(lambda a, b: (solved(a, b), (a, b)), backward)
""",
        ),
        clean=(
            """\
@jax.custom_vjp
def quantised(w, scale, on):
    return jnp.where(on, jnp.clip(jnp.round(w / scale), -7, 7) * scale, w)
def forward(w, scale, on):
    return quantised(w, scale, on), (w, scale, on)
def backward(kept, g):
    w, scale, on = kept
    inside = jnp.abs(w / scale) <= 7
    return inside * g, jnp.zeros_like(scale), (w < 0).astype(jax.dtypes.float0)
quantised.defvjp(forward, backward)
@jax.custom_vjp
def clipped(v):
    return jnp.clip(v, -1.0, 1.0)
clipped.defvjp(lambda v: (clipped(v), v), lambda v, g: (jnp.where((v > -1.0) & (v < 1.0), g, 0.0),))
print(jax.grad(lambda v: clipped(v).sum())(x))
""",
            """\
def fill(out, values):
    out[...] = values
@jax.custom_vjp
def doubled(v):
    return 2.0 * v
def forward(v):
    return 2.0 * v, v
def backward(v, g):
    given = np.empty(v.shape)
    fill(given, 2.0 * np.asarray(g))
    return (given,)
doubled.defvjp(forward, backward)
print(jax.grad(lambda v: doubled(v).sum())(x))
""",
            """\
@jax.custom_jvp
def safe_sqrt(v):
    return jnp.sqrt(jnp.maximum(v, 0.0))
def rule(primals, tangents):
    (v,) = primals
    (tangent,) = tangents
    y = safe_sqrt(v)
    return y, 0.5 * tangent / jnp.maximum(y, 1e-6)
safe_sqrt.defjvp(rule)
print(jax.grad(lambda v: 3.0 * safe_sqrt(v))(4.0))
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def scaled(dtype, v, scale, history):
    return v * scale
def forward(dtype, v, scale, history):
    peak = jnp.max(jnp.abs(v))
    return v * scale, (1.0 / peak, jnp.roll(history, 1).at[0].set(peak))
def backward(dtype, kept, g):
    new_scale, new_history = kept
    given = g
    return given, new_scale, new_history
scaled.defvjp(forward, backward)
print(jax.grad(lambda v: scaled(jnp.float32, v, 2.0, jnp.ones(3)).sum())(x))
""",
            """\
@jax.custom_vjp
def scaled(v, scale):
    return v * scale
def forward(v, scale):
    peak = jnp.max(jnp.abs(v))
    return v * scale, (scale, 1.0 / peak)
def backward(kept, g):
    return g * kept[0], kept[1]
scaled.defvjp(forward, backward)
print(jax.grad(lambda v: scaled(v, 2.0).sum())(x))
""",
            """\
@jax.custom_vjp
def bump(x, n):
    return x * n
def backward(res, g):
    x, n = res
    _, pull = jax.vjp(lambda v: v * n, x)
    (dx,) = pull(g)
    found = []
    for one in res:
        found.append(g * one)
    return dx, found[0]
bump.defvjp(lambda x, n: (x * n, (x, n)), backward)
print(jax.grad(bump)(2.0, 3.0))
""",
            """\
@jax.custom_vjp
def stopped(x, n):
    return x * n
def backward(res, g):
    return (jnp.zeros_like(res[0]), None)
stopped.defvjp(lambda x, n: (x * n, (x, n)), backward)
print(jax.grad(stopped)(2.0, 3.0))
""",
            """\
@jax.custom_vjp
def always(x):
    return x
def backward(x, g):
    del g
    return (jnp.sign(x),)
always.defvjp(lambda x: (x, x), backward)
print(jax.grad(always)(2.0))
""",
            """\
@jax.custom_vjp
def counted(x):
    return x
def backward(kept, g):
    return (kept,)
counted.defvjp(lambda x: (x, None), backward)
print(jax.grad(counted)(2.0))
""",
            """\
@jax.custom_vjp
def root(a):
    return jnp.sqrt(a)
def backward(kept, y_bar):
    a, y = kept
    _, pull = jax.vjp(lambda b: y**2 - b, a)
    u = -0.5 * y_bar / y
    (a_bar,) = pull(u)
    return (a_bar,)
root.defvjp(lambda a: (root(a), (a, jnp.sqrt(a))), backward)
print(jax.grad(root)(4.0))
""",
            """\
@jax.custom_vjp
def energy(v):
    return jnp.sum(v**4)
def backward(v, e_bar):
    return (e_bar * jax.grad(lambda w: jnp.sum(w**4))(v),)
energy.defvjp(lambda v: (energy(v), v), backward)
print(jax.grad(energy)(x))
""",
            """\
@jax.custom_vjp
def stopped(v, w):
    return v * w
def backward(kept, g):
    _, pull = jax.vjp(lambda w: kept * w, kept)
    return jnp.zeros_like(kept), pull(g)[0]
stopped.defvjp(lambda v, w: (stopped(v, w), v), backward)
print(jax.grad(stopped)(2.0, 3.0))
""",
        ),
    ),
    "NNX520": Cases(
        bad=(
            """\
def penalised(params, v):
    return (v @ params["w"] - 1.0) ** 2 + jnp.linalg.norm(params["w"])  # NNX520
def fit(v):
    params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    tx = optax.adam(0.1)
    state = tx.init(params)
    for _ in range(3):
        updates, state = tx.update(jax.grad(penalised)(params, v), state)
        params = optax.apply_updates(params, updates)
    return params
""",
            """\
def penalised(w, v):
    return (v @ w - 1.0) ** 2 + jnp.sqrt(jnp.sum(w**2))  # NNX520
print(jax.grad(penalised)(jnp.zeros(3), x))
""",
            """\
def begin(k):
    return {"w": jax.random.normal(k, (3, 3)), "b": jnp.zeros(3)}
def penalised(params, v):
    size = sum(jnp.linalg.norm(leaf) for leaf in jax.tree.leaves(params))  # NNX520
    return (v @ params["w"] + params["b"]).sum() + size
print(jax.grad(penalised)(begin(key), x))
""",
            """\
class Fit:
    def __init__(self, n):
        self.w = jnp.zeros(n)
    def loss(self, w, v):
        return (v @ w - 1.0) ** 2 + jnp.linalg.norm(w)  # NNX520
    def run(self, v):
        for _ in range(3):
            self.w = self.w - 0.1 * jax.grad(self.loss)(self.w, v)
Fit(3).run(x)
""",
        ),
        clean=(
            """\
def penalised(w, v):
    return (v @ w - 1.0) ** 2 + jnp.sqrt(jnp.sum(w**2) + 1e-12)
print(jax.grad(penalised)(jnp.zeros(3), x))
""",
            """\
def penalised(params, v):
    return (v @ params["w"] - 1.0) ** 2 + jnp.linalg.norm(params["w"])
params = {"w": jax.random.normal(key, (3,)), "b": jnp.zeros(())}
print(jax.grad(penalised)(params, x))
""",
            """\
def penalised(params, v):
    return (v @ params["w"] - 1.0) ** 2 + jnp.linalg.norm(params["w"])
params = {"w": jnp.zeros(3)}
params = jax.tree.map(lambda p, k: p + 0.1 * jax.random.normal(k, p.shape), params, {"w": key})
print(jax.grad(penalised)(params, x))
""",
            """\
def with_size(w, v):
    return (v @ w - 1.0) ** 2, jnp.linalg.norm(w)
print(jax.grad(with_size, has_aux=True)(jnp.zeros(3), x))
""",
            """\
def size(v):
    return jnp.linalg.norm(v)
print(size(jnp.zeros(3)), jax.grad(lambda w: size(w))(jnp.ones(3)))
""",
            """\
def penalised(w, v):
    return (v @ w - 1.0) ** 2 + jnp.linalg.norm(w, ord=1) + jnp.linalg.norm(v)
print(jax.grad(penalised)(jnp.zeros(3), x))
""",
            """\
print(jax.grad(lambda w: jnp.linalg.norm(w - 1.0) + jnp.sqrt(jnp.exp(w)).sum())(jnp.zeros(3)))
""",
        ),
    ),
    "NNX851": Cases(
        bad=(
            """\
def bowl(p):
    return (p[0] - 1) ** 2 + p[1] ** 2
def descend(start, steps=3):
    slope = jax.grad(bowl)
    point = jnp.array(start)
    for _ in range(steps):
        point = point - 0.1 * slope(point)  # NNX851
    return point
starts = {"first": [1, 1], "second": [-2, 2]}
ends = {name: descend(start) for name, start in starts.items()}
for name, start in starts.items():
    ends[name] = descend(start)
""",
            """\
def slope_at(start):
    return jax.grad(lambda p: (p**2).sum())(start)  # NNX851
slope_at(np.array([1, 2]))
""",
            """\
def slope_at(start=(1, 2)):
    return jax.jit(jax.grad(lambda p: (p**2).sum()))(jnp.asarray(start))  # NNX851
slope_at()
""",
            """\
for start in np.arange(3):
    print(jax.grad(lambda v: v * v)(start))  # NNX851
""",
            """\
params = {"w": jnp.ones(3), "b": 0}
slopes = jax.grad(lambda p: (p["w"] * 2 + p["b"]).sum())(params)  # NNX851
""",
            """\
def made():
    return {"layer": {"w": jnp.ones(3), "b": 0}}
slopes = jax.grad(lambda p: (p["layer"]["w"] + p["layer"]["b"]).sum())(made())  # NNX851
""",
            """\
def cube(v):
    return v**3
slopes = [jax.grad(cube)(v) for v in (1, 2, 3)]  # NNX851
""",
            """\
slopes = jax.vmap(jax.grad(lambda v: v**3))(jnp.arange(5))  # NNX851
""",
            "g = jax.grad(lambda v: v * v)(3)  # NNX851\n",
            "def f(v):\n    return v**2\ng = jax.value_and_grad(f)(-3)  # NNX851\n",
            "from jax import grad\ndf = grad(lambda v: v**2)\ng = df(2)  # NNX851\n",
            "g = jax.grad(lambda v: v**2)(jnp.array(3))  # NNX851\n",
        ),
        clean=(
            """\
from contextlib import suppress
with suppress(TypeError):
    jax.grad(lambda v: v * v)(jnp.array(3))
import unittest
case = unittest.TestCase()
case.assertRaises(TypeError, lambda: jax.grad(lambda v: v * v)(jnp.array(3)))
with case.assertRaisesRegex(TypeError, "grad requires"):
    jax.jit(jax.grad(lambda v: v * v))(3)
try:
    jax.grad(lambda v: v * v)(3)
except TypeError as error:
    print(error)
""",
            """\
def slope_at(start):
    return jax.grad(lambda p: (p**2).sum())(jnp.array(start, dtype=jnp.float32))
print(slope_at([1, 2]), slope_at(np.array([1, 2])))
""",
            """\
def slope_at(start=(1.0, 2)):
    return jax.grad(lambda p: (p**2).sum())(jnp.array(start))
print(slope_at(), slope_at([1.0, 0]))
""",
            """\
def slope_at(start):
    start = jnp.asarray(start)
    if start.dtype == jnp.int32:
        start = start.astype(jnp.float32)
    return jax.grad(lambda p: (p**2).sum())(start)
print(slope_at([1, 2]))
""",
            """\
config = {"steps": 3, "start": [1.0, 2.0]}
def descend(config):
    point = jnp.array(config["start"])
    for _ in range(config["steps"]):
        point = point - 0.1 * jax.grad(lambda p: (p**2).sum())(point)
    return point
print(descend(config))
""",
            """\
def ones(sizes):
    layers = [jnp.ones(size) for size in sizes]
    return jax.grad(lambda tree: sum((leaf**2).sum() for leaf in tree))(layers)
print(ones([1, 2]))
""",
            """\
params = {"w": jnp.ones(3), "b": 0}
params["b"] = 0.0
slopes = jax.grad(lambda p: (p["w"] * 2 + p["b"]).sum())(params)
""",
            """\
params = {"w": jnp.ones(3), "b": 0.0}
slopes = jax.grad(lambda p, n: (p["w"] * n["times"]).sum())(params, {"times": 2})
""",
            """\
params = {"w": jnp.ones(3), "on": 1}
slopes = jax.grad(lambda p: (p["w"] * 2).sum(), allow_int=True)(params)
""",
            """\
from flax import linen
network = linen.Dense(2)
params = network.init(key, x[None])
network.apply = jax.jit(network.apply)
@jax.jit
def update(params, xs):
    def loss(params):
        return network.apply(params, xs).sum()
    return jax.value_and_grad(loss)(params), jax.vmap(jnp.sum)(xs)
print(network.apply(params, x[None]), update(params, x[None]))
""",
            """\
def cube(v):
    return v**3
slopes = [jax.grad(cube)(v) for v in (1.0, 2.0, 3.0)]
""",
            """\
slopes = jax.vmap(jax.grad(lambda v: v**3))(jnp.arange(5.0))
counted = jax.vmap(jax.grad(lambda v, n: n * v), in_axes=(None, 0))(2.0, jnp.arange(5))
""",
            "g = jax.grad(lambda v: v * v)(3.0)\n",
            "g = jax.grad(lambda v: 0.5 * v, allow_int=True)(3)\n",
            "g = jax.grad(lambda n, v: v * n, argnums=1)(3, 2.0)\n",
            "g = jax.grad(lambda v, n: v * n)(2.0, 3)\n",
            "g = jax.grad(lambda v: v * v)(jnp.array(3.0))\n",
        ),
    ),
    "NNX852": Cases(
        bad=(
            # made a function of gradients where it stands
            """\
@nnx.jit
def step(model, optimizer, v):
    @nnx.value_and_grad
    def loss_fn(m):
        return jnp.mean(model(v) ** 2)  # NNX852
    loss, grads = loss_fn(model)
    optimizer.update(model, grads)
    return loss
step(model, optimizer, x)
""",
            """\
def epoch(policy: nnx.Linear, value: nnx.Linear, seen, returns):
    advantage = returns - value(seen)
    def critic_loss(value):
        return jnp.mean(advantage**2)  # NNX852
    return nnx.grad(critic_loss)(value)
print(epoch(model, nnx.Linear(3, 3, rngs=nnx.Rngs(1)), x, x))
""",
            """\
def critic_loss(critic, advantage):
    return jnp.mean(advantage**2)  # NNX852
critic = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
loss, grads = nnx.value_and_grad(critic_loss)(critic, x - critic(x))
""",
            """\
def actor_loss(actor, critic, batch):
    action = actor(batch["state"])  # NNX852
    return -critic(batch["action"]).mean()
actor, critic = nnx.Linear(3, 3, rngs=nnx.Rngs(1)), nnx.Linear(3, 1, rngs=nnx.Rngs(2))
batch = {"state": jnp.ones((2, 3)), "action": jnp.ones((2, 3))}
print(nnx.grad(actor_loss)(actor, critic, batch))
""",
            """\
def step(net, opt, v, y, seen):
    def loss_fn(m):
        logits = m(v)  # NNX852
        return jnp.mean((seen - y) ** 2)
    opt.update(net, nnx.grad(loss_fn)(net))
""",
            """\
def loss_fn(student, teacher, v):
    out = student(v)  # NNX852
    guess = jax.nn.log_softmax(out)
    wanted = jax.nn.softmax(teacher(v))
    return -jnp.sum(wanted * jax.nn.log_softmax(teacher(v)))
grads = nnx.value_and_grad(loss_fn)(model, nnx.Linear(3, 3, rngs=nnx.Rngs(4)), x)
""",
            """\
class Trainer:
    def __init__(self):
        self.net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))

    def loss(self, v, net):
        return net(v).mean()

    def step(self, v):
        return nnx.value_and_grad(self.loss)(v, self.net)  # NNX852
""",
            "g = nnx.grad(lambda v, m: m(v).sum())(x, model)  # NNX852\n",
            "def loss(m):\n    m = model\n    return m(x).sum()  # NNX852\ng = nnx.grad(loss)(model)\n",
            """\
@nnx.jit
def step(net, x):
    def loss(m):
        return net(x).sum()  # NNX852
    return nnx.grad(loss)(net)
""",
            """\
def loss(x, y, m):
    return jnp.mean((m(x) - y) ** 2)
value, g = nnx.value_and_grad(loss)(x, x, model)  # NNX852
""",
            """\
@nnx.jit
def step(model: nnx.Module, optimizer, y):
    data = jnp.ones(2)
    g = nnx.grad(lambda v, m: m(v).sum())(data, model)  # NNX852
    return g
""",
        ),
        clean=(
            """\
@nnx.jit
def step(model, optimizer, v):
    @nnx.value_and_grad
    def loss_fn(m):
        return jnp.mean(m(v) ** 2)
    loss, grads = loss_fn(model)
    optimizer.update(model, grads)
    return loss
step(model, optimizer, x)
""",
            """\
def critic_loss(critic, returns):
    return jnp.mean((returns - critic(x)) ** 2)
critic = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
loss, grads = nnx.value_and_grad(critic_loss)(critic, x)
""",
            """\
def penalty(unused_model, v):
    return jnp.mean(v**2)
print(nnx.value_and_grad(penalty)(model, x)[0])
""",
            """\
class Objective:
    def loss(self, model, v):
        raise NotImplementedError
class Mean(Objective):
    def loss(self, model, v):
        return model(v).mean()
print(nnx.value_and_grad(Mean().loss)(model, x)[0])
""",
            """\
def actor_loss(actor, critic, batch):
    action = actor(batch["state"])
    return -critic(action).mean()
actor, critic = nnx.Linear(3, 3, rngs=nnx.Rngs(1)), nnx.Linear(3, 1, rngs=nnx.Rngs(2))
print(nnx.grad(actor_loss)(actor, critic, {"state": jnp.ones((2, 3))}))
""",
            """\
def loss_fn(m, v):
    out = m(v)
    unused = out + 1
    return jnp.mean(m(v) ** 2)
print(nnx.grad(loss_fn)(model, x))
""",
            """\
def loss_fn(m, v):
    total = 0.0
    for leaf in jax.tree.leaves(nnx.state(m)):
        total = total + leaf.sum()
    return total
print(nnx.grad(loss_fn)(model, x))
""",
            """\
def loss_fn(m, v):
    def part():
        nonlocal made
        made = m(v)
    made = None
    part()
    return jnp.mean(made**2)
print(nnx.grad(loss_fn)(model, x))
""",
            """\
def loss_fn(m, v):
    made = m(v)
    values = []
    values.append(made)
    return sum(values).mean()
print(nnx.grad(loss_fn)(model, x))
""",
            """\
class Trainer:
    def __init__(self):
        self.net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))

    def loss(self, net, v):
        return net(v).mean()

    def step(self, v):
        return nnx.value_and_grad(self.loss)(self.net, v)
Trainer().step(x)
""",
            "g = nnx.grad(lambda m, v: m(v).sum())(model, x)\n",
            "g = nnx.grad(lambda v, m: m(v).sum(), argnums=1)(x, model)\n",
            "g = jax.grad(lambda v, m: m(v).sum())(x, model)\n",
            "def apply(v, m):\n    return m(v).sum()\ng = nnx.grad(lambda m, v: apply(v, m=m))(model, x)\n",
            "g = nnx.grad(lambda _: model(x).sum())(model)\n",
            "def loss(*given):\n    return given[0](x).sum()\ng = nnx.grad(loss)(model)\n",
            "def loss(m, v):\n    m = nnx.clone(m)\n    return m(v).sum()\ng = nnx.grad(loss)(model, x)\n",
            "g = nnx.grad(lambda v, m: m(v).sum(), argnums=nnx.DiffState(1, nnx.Param))(x, model)\n",
            """\
class Trainer:
    def __init__(self):
        self.model = model
    def loss(self, m, v):
        old, self.model = self.model, m
        out = self.model(v).sum()
        self.model = old
        return out
    def step(self, v):
        return nnx.grad(self.loss)(self.model, v)
Trainer().step(x)
""",
            "head = nnx.Linear(3, 1, rngs=nnx.Rngs(5))\ng = nnx.grad(lambda a, b: a(b(x)).sum())(head, model)\n",
        ),
    ),
    "NNX853": Cases(
        bad=(
            """\
rows = jax.vmap(lambda row: row / row.sum())(jnp.ones((4, 3)))
def loss(params, v, y):
    predicted = v @ params["w"]
    return (predicted - y) ** 2  # NNX853
jax.grad(loss)({"w": x}, rows, jnp.ones(4))
""",
            """\
def u(p, t):
    return jnp.sum(jnp.sin(p * t))
def residual(p, t):
    u_t = jax.grad(u, argnums=1)
    u_tt = jax.grad(u_t, argnums=1)
    return u_tt(p, t) + t  # NNX853
print(residual(2.0, jnp.linspace(0.0, 1.0, 8)))
""",
            """\
def energy(q, k):
    return k * jnp.sum(q**4)
curvature = jax.grad(jax.grad(energy, 0), argnums=0)
print(curvature(jnp.ones(4), 2.0))  # NNX853
""",
            """\
def net(p, t):
    return (jnp.tanh(t[:, None] * p["w"]) @ p["v"])[:, 0]  # NNX853
def residual(p, t):
    return jax.vmap(jnp.sin)(t) - jax.grad(net, argnums=1)(p, t)
print(residual({"w": jnp.ones((1, 4)), "v": jnp.ones((4, 1))}, x))
""",
            """\
def net(p, t):
    h = jnp.tanh(t @ p["w"])
    out = h[..., :2] * 2.0  # NNX853
    return out
slope = jax.vmap(jax.grad(lambda t: net({"w": jnp.ones((3, 4))}, t)))
print(slope(jnp.ones((5, 3))))
""",
            """\
def value(p, t):
    return -t[:, None]  # NNX853
slope = jax.value_and_grad(value, argnums=1)
print(slope(x, x))
""",
            """\
def squared(predicted, y):
    return (predicted - y) ** 2
def step(net, v, y):
    return nnx.grad(lambda m: squared(m(v), y))(net)  # NNX853
""",
            """\
class Trainer:
    def __init__(self, net):
        self.net = net

    def loss(self, net, v, y):
        residual = net(v) - y
        return 0.5 * residual**2  # NNX853

    def grads(self, v, y):
        return nnx.grad(self.loss)(self.net, v, y)
""",
            """\
def pinball(params, v, y, taus):
    pred = v @ params["w"]
    diff = y[:, None] - pred
    return jnp.mean(jnp.maximum(taus * diff, (taus - 1.0) * diff), axis=0)  # NNX853
both = jax.value_and_grad(pinball)
""",
            "def loss(m, x, y):\n    return (m(x) - y) ** 2  # NNX853\ng = nnx.grad(loss)(model, x, x)\n",
            "g = nnx.grad(lambda m: jnp.square(m(x) - 1))(model)  # NNX853\n",
            "def loss(m, v, n):\n    return optax.softmax_cross_entropy_with_integer_labels(m(v), n)  # NNX853\n"
            "g = nnx.grad(loss)(model, x, 0)\n",
            "H = jnp.eye(2, dtype=jnp.complex64)\ndef state(t):\n    return jnp.array([jnp.cos(t), jnp.sin(t)])\n"
            "def energy(t):\n    psi = state(t)\n    return jnp.vdot(psi, H @ psi)  # NNX853\n"
            "g = jax.grad(energy)(0.3)\n",
            "def power(w):\n    return jnp.sum(jnp.fft.fft(w) ** 2)  # NNX853\ng = jax.grad(power)(jnp.ones(4))\n",
            "def loss(w):\n    z = w.astype(jnp.complex64)\n    return (z * z).sum(), z  # NNX853\n"
            "g = jax.grad(loss, has_aux=True)(jnp.ones(4))\n",
            "class Spin:\n    def __init__(self):\n        self.h = jnp.diag(jnp.array([1 + 0j, -1]))\n"
            "    def energy(self, v):\n        return jnp.dot(v, self.h @ v)\n"
            "spin = Spin()\nstep = jax.jit(jax.value_and_grad(lambda t: spin.energy(t)))  # NNX853\n",
        ),
        clean=(
            """\
def loss(params, v, y):
    predicted = v @ params["w"]
    return (predicted - y) ** 2
print(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))({"w": x}, jnp.ones((4, 3)), jnp.ones(4)))
""",
            """\
def loss(params, v, y):
    predicted = v @ params["w"]
    return (predicted - y) ** 2
def of_one(params, v, y):
    return jax.grad(loss)(params, v, y)
print(jax.vmap(of_one, (None, 0, 0))({"w": x}, jnp.ones((4, 3)), jnp.ones(4)))
""",
            """\
def loss(params, v, y):
    predicted = v @ params["w"]
    return (predicted - y) ** 2
slope = jax.grad(loss)
transforms = [jax.vmap]
for transform in transforms:
    print(transform(slope, (None, 0, 0))({"w": x}, jnp.ones((4, 3)), jnp.ones(4)))
""",
            """\
def u(p, t):
    return jnp.sin(p * t)
def residual(p, t):
    u_t = jax.grad(u, argnums=1)
    u_tt = jax.grad(u_t, argnums=1)
    return u_tt(p, t) + t
print(jax.vmap(residual, in_axes=(None, 0))(2.0, jnp.linspace(0.0, 1.0, 8)))
""",
            """\
def u(p, t):
    return jnp.sum(t) * p**3
twice = jax.grad(jax.grad(u, argnums=0), argnums=0)
print(twice(2.0, jnp.linspace(0.0, 1.0, 8)))
""",
            """\
def u(p, t):
    return jnp.sum(jnp.sin(p * t))
slope = jax.grad(lambda p, t: jnp.sum(jax.grad(u, argnums=1)(p, t)), argnums=1)
print(slope(2.0, jnp.linspace(0.0, 1.0, 8)))
""",
            """\
def net(p, t):
    return (jnp.tanh(t[:, None] * p["w"]) @ p["v"])[:, 0]
def residual(p, t):
    return jax.grad(lambda s: net(p, s).sum())(t)
print(residual({"w": jnp.ones((1, 4)), "v": jnp.ones((4, 1))}, x))
""",
            """\
def net(p, t):
    return (jnp.tanh(t[None, None] * p["w"]) @ p["v"])[0, 0]
print(jax.vmap(jax.grad(net, argnums=1), in_axes=(None, 0))({"w": jnp.ones((1, 4)), "v": jnp.ones((4, 1))}, x))
""",
            """\
def loss(p, t):
    out = jnp.outer(t, p)
    return jnp.mean(out**2), out[:, 0]
print(jax.grad(loss, has_aux=True)(x, x))
""",
            """\
def net(p, t):
    return jnp.outer(t, p)[:, 0]
print(jax.jacobian(net)(x, x).shape, jax.jvp(net, (x, x), (x, x))[1].shape)
""",
            """\
def net(p, t):
    if t.ndim == 0:
        return jnp.sin(p * t)
    return jnp.outer(t, p)[:, 0]
print(jax.grad(net, argnums=1)(1.0, 2.0))
""",
            """\
def descended(start, slope, rate, steps):
    w = start
    history, residuals = [w], []
    for i in range(steps):
        new = jnp.clip(w - rate * slope(w), 0)
        residuals.append(jnp.linalg.norm(new - w))
        w = new
        history.append(w)
    return history, residuals
def compared():
    def height(p):
        return 10 * (p[0] - 1.0) ** 2 + (p[1] - 2.0) ** 2
    slope = jax.grad(height)
    starts = [10 * jnp.array([-jnp.sqrt(2) / 2, -np.sqrt(2) / 2]), 10 * jnp.array([np.cos(0.1), np.sin(0.1)])]
    for i in range(len(starts)):
        print(descended(starts[i], slope, 0.01, 3))
compared()
""",
            """\
class Model:
    def constrained(self, u):
        return {"params": u}
    def log_density(self, data, u):
        params, jacobian = self.constrained(u)
        return jacobian + self.likelihood(data, params)
    def likelihood(self, data, params):
        raise NotImplementedError
class Line(Model):
    def constrained(self, u):
        return {"slope": u[0], "scale": jnp.exp(u[1])}, u[1]
    def likelihood(self, data, params):
        return -jnp.sum((data - params["slope"]) ** 2 / params["scale"])
line = Line()
print(jax.value_and_grad(line.log_density, argnums=1)(jnp.ones(3), jnp.ones(2)))
""",
            """\
def squared(predicted, y):
    return (predicted - y) ** 2
def step(net, v, y):
    return nnx.grad(lambda m: squared(m(v).mean(), y))(net), nnx.grad(lambda m: squared(m(v), y).mean())(net)
step(model, x, 1.0)
""",
            """\
class Trainer:
    def __init__(self, net):
        self.net = net

    def loss(self, net, v, y):
        residual = net(v) - y
        return 0.5 * (residual**2).sum()

    def grads(self, v, y):
        return nnx.grad(self.loss)(self.net, v, y)
Trainer(model).grads(x, x)
""",
            """\
def pinball(params, v, y, taus):
    pred = v @ params["w"]
    diff = y[:, None] - pred
    return jnp.mean(jnp.maximum(taus * diff, (taus - 1.0) * diff))
print(jax.value_and_grad(pinball)({"w": jnp.ones((3, 2))}, jnp.ones((4, 3)), jnp.ones(4), jnp.array([0.1, 0.9])))
""",
            "H = jnp.eye(2, dtype=jnp.complex64)\ndef energy(t):\n    psi = jnp.array([jnp.cos(t), jnp.sin(t)])\n"
            "    return jnp.vdot(psi, H @ psi).real\ng = jax.grad(energy)(0.3)\n",
            "def power(w):\n    return jnp.sum(jnp.abs(jnp.fft.fft(w)) ** 2)\ng = jax.grad(power)(jnp.ones(4))\n",
            "def loss(w):\n    z = w.astype(jnp.complex64)\n    return jnp.real(z * z).sum(), z\n"
            "g = jax.grad(loss, has_aux=True)(jnp.ones(4))\n",
            "H = jnp.eye(2, dtype=jnp.complex64)\ndef energy(v):\n    return jnp.linalg.eigvalsh(H * v)[0]\n"
            "g = jax.grad(energy)(0.3)\n",
            "def square(z):\n    return z * z * 1j\ng = jax.grad(square, holomorphic=True)(1.0 + 2.0j)\n",
            "def loss(m, x, y):\n    return jnp.mean((m(x) - y) ** 2)\ng = nnx.grad(loss)(model, x, x)\n",
            "g = jax.grad(lambda p: ((p * x - 1) ** 2).sum())(x)\n",
            "def error(a, b):\n    return (a - b) ** 2\ny = error(x, x)\n",
            "g = jax.grad(lambda p: p**2)(2.0)\n",
            "g = jax.grad(lambda p: (p * 2.0 - 1) ** 2)(2.0)\n",
        ),
    ),
    "NNX854": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(3, 3, rngs=rngs)
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.head(self.encoder(v))
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = nnx.Optimizer(self.net.head, optax.sgd(0.1), wrt=nnx.Param)
    def step(self, v):
        grads = nnx.grad(lambda m: m(v).sum())(self.net)
        self.opt.update(self.net, grads)  # NNX854
Trainer(Net(nnx.Rngs(0))).step(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(3, 3, rngs=rngs)
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.head(self.encoder(v))
@nnx.jit
def step(net, enc, head, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    enc.update(net, grads)
    head.update(net, grads)
net = Net(nnx.Rngs(0))
enc = nnx.Optimizer(net.encoder, optax.sgd(0.1), wrt=nnx.Param)
step(net, enc, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param), x)  # NNX854
""",
            """\
def mlp(din, seed):
    return nnx.Sequential(nnx.Linear(din, 3, rngs=nnx.Rngs(seed)), nnx.relu)
gen, disc = mlp(3, 0), mlp(3, 1)
opt = nnx.Optimizer(gen, optax.sgd(0.1), wrt=nnx.Param)
grads = nnx.grad(lambda m: m(x).sum())(disc)
opt.update(disc, grads)  # NNX854
""",
            """\
def layer(seed):
    return nnx.Linear(3, 3, rngs=nnx.Rngs(seed))
def pair():
    first, second = layer(0), layer(1)
    opt = nnx.Optimizer(first, optax.sgd(0.1), wrt=nnx.Param)
    opt.update(second, nnx.grad(lambda m: m(x).sum())(second))  # NNX854
    return first
""",
            """\
def heads(v):
    first = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    second = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
    made = {
        "first": nnx.Optimizer(first, optax.adam(1e-3), wrt=nnx.Param),
        "second": nnx.Optimizer(second, optax.adam(1e-3), wrt=nnx.Param),
    }
    grads = nnx.grad(lambda m: m(v).sum())(second)
    made["first"].update(model=second, grads=grads)  # NNX854
""",
            """\
other = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
grads = nnx.grad(lambda m: m(x).sum())(model)
optimizer.update(other, grads)  # NNX854
""",
            """\
other = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
@nnx.jit
def step(net, opt):
    grads = nnx.grad(lambda m: m(x).sum())(net)
    opt.update(net, grads)
def run():
    online, target = nnx.Linear(3, 3, rngs=nnx.Rngs(1)), nnx.Linear(3, 3, rngs=nnx.Rngs(2))
    opt = nnx.Optimizer(online, optax.sgd(0.1), wrt=nnx.Param)
    grads = nnx.grad(lambda m: m(x).sum())(target)
    opt.update(target, grads)  # NNX854
""",
            """\
from flax.nnx import Linear, Optimizer, Rngs
class Agent:
    def __init__(self):
        self.actor = Linear(3, 3, rngs=Rngs(1))
        self.critic = Linear(3, 3, rngs=Rngs(2))
        self.opt = Optimizer(self.actor, optax.sgd(0.1), wrt=nnx.Param)
    def learn(self):
        grads = nnx.grad(lambda m: m(x).sum())(self.critic)
        self.opt.update(self.critic, grads)  # NNX854
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(3, 3, rngs=rngs)
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.head(self.encoder(v))
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = nnx.Optimizer(self.net.head, optax.sgd(0.1), wrt=nnx.Param)
    def step(self, v):
        grads = nnx.grad(lambda m: m(v).sum())(self.net)
        self.opt.update(self.net.head, grads["head"])
Trainer(Net(nnx.Rngs(0))).step(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(3, 3, rngs=rngs)
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.head(self.encoder(v))
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = nnx.Optimizer(self.net, optax.sgd(0.1), wrt=nnx.Param)
    def step(self, v):
        grads = nnx.grad(lambda m: m(v).sum())(self.net)
        self.opt.update(self.net, grads)
Trainer(Net(nnx.Rngs(0))).step(x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(3, 3, rngs=rngs)
        self.head = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.head(self.encoder(v))
class Wrapper:
    def __init__(self, net):
        self.net = net
        self.opt = nnx.Optimizer(self.net, optax.sgd(0.1), wrt=nnx.Param)
def step(net, opt, v):
    opt.update(net, nnx.grad(lambda m: m(v).sum())(net))
held = Wrapper(Net(nnx.Rngs(0)))
step(held.net, held.opt, x)
""",
            """\
def mlp(din, seed):
    return nnx.Sequential(nnx.Linear(din, 3, rngs=nnx.Rngs(seed)), nnx.relu)
gen, disc = mlp(3, 0), mlp(3, 1)
opt = nnx.Optimizer(disc, optax.sgd(0.1), wrt=nnx.Param)
grads = nnx.grad(lambda m: m(x).sum())(disc)
opt.update(disc, grads)
""",
            """\
@functools.cache
def shared():
    return nnx.Linear(3, 3, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(shared(), optax.sgd(0.1), wrt=nnx.Param)
opt.update(shared(), nnx.grad(lambda m: m(x).sum())(shared()))
""",
            """\
def layer(seed):
    return nnx.Linear(3, 3, rngs=nnx.Rngs(seed))
def wrapped(seed):
    return layer(seed)
net = wrapped(0)
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
opt.update(net, nnx.grad(lambda m: m(x).sum())(net))
""",
            """\
def heads(v):
    first = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    second = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
    made = {
        "first": nnx.Optimizer(first, optax.adam(1e-3), wrt=nnx.Param),
        "second": nnx.Optimizer(second, optax.adam(1e-3), wrt=nnx.Param),
    }
    grads = nnx.grad(lambda m: m(v).sum())(second)
    made["second"].update(model=second, grads=grads)
heads(x)
""",
            "grads = nnx.grad(lambda m: m(x).sum())(model)\noptimizer.update(model, grads)\n",
            """\
def step(net, opt):
    grads = nnx.grad(lambda m: m(x).sum())(net)
    opt.update(net, grads)
step(model, optimizer)
""",
            """\
class Agent:
    def __init__(self):
        self.actor = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
        self.critic = nnx.Linear(3, 3, rngs=nnx.Rngs(2))
        self.actor_opt = nnx.Optimizer(self.actor, optax.sgd(0.1), wrt=nnx.Param)
        self.critic_opt = nnx.Optimizer(self.critic, optax.sgd(0.1), wrt=nnx.Param)
    def learn(self):
        grads = nnx.grad(lambda m: m(x).sum())(self.critic)
        self.critic_opt.update(self.critic, grads)
""",
            """\
net = nnx.merge(*nnx.split(model))
grads = nnx.grad(lambda m: m(x).sum())(net)
optimizer.update(net, grads)
""",
            """\
nets = [nnx.Linear(3, 3, rngs=nnx.Rngs(seed)) for seed in range(3)]
opts = [nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param) for net in nets]
def learn(i):
    grads = nnx.grad(lambda m: m(x).sum())(nets[i])
    opts[i].update(nets[i], grads)
""",
        ),
    ),
    "NNX855": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.noise = rngs
flat = nnx.to_flat_state(nnx.state(Net(nnx.Rngs(0))))
keep = {path: leaf for path, leaf in flat if "rngs" not in path}  # NNX855
""",
            """\
def weight(path, leaf):
    return not any("rng" in str(part) for part in path)  # NNX855
weights = nnx.state(model, weight)
""",
            """\
parts = nnx.split(model, lambda path, leaf: path[0] == "rngs", ...)  # NNX855
""",
            'weights = nnx.state(model, lambda path, leaf: "rngs" not in path)  # NNX855\n',
            """\
flat = nnx.to_flat_state(nnx.state(model))
keep = {path: leaf for path, leaf in flat if "rngs" not in path}  # NNX855
""",
            """\
from flax.nnx import split
def is_stream(path, value):
    return "rngs" in path  # NNX855
graphdef, streams, rest = split(model, is_stream, ...)
""",
            """\
keep = {}
for path, leaf in nnx.state(model).flat_state():
    if "rngs" in path:  # NNX855
        continue
    keep[path] = leaf
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
        self.rngs = rngs
flat = nnx.to_flat_state(nnx.state(Net(nnx.Rngs(0))))
keep = {path: leaf for path, leaf in flat if "rngs" not in path}
print(len(keep))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)
flat = nnx.to_flat_state(nnx.state(Net(nnx.Rngs(0))))
keep = {path: leaf for path, leaf in flat if "rngs" not in path}
print(len(keep))
""",
            """\
def weight(path, leaf):
    return not any("kernel" in str(part) for part in path)
weights = nnx.state(model, weight)
""",
            """\
settings = {"rngs": 1, "seed": 2}
kept = [name for name in settings if name != "rngs" and "rng" not in str(name)]
""",
            "weights = nnx.state(model, nnx.Not(nnx.RngState))\n",
            'config = {"rngs": 1}\nif "rngs" in config:\n    print(config["rngs"])\n',
            'def call(layer, x, **options):\n    return layer(x) if "rngs" in options else x\n',
            """\
flat = nnx.to_flat_state(nnx.state(model))
keep = {path: leaf for path, leaf in flat if "kernel" in path}
""",
            """\
flat = nnx.to_flat_state(nnx.state(model))
keep = {path: leaf for path, leaf in flat if not isinstance(leaf, nnx.RngState)}
""",
        ),
    ),
    "NNX872": Cases(
        bad=(
            """\
from jax.scipy.optimize import minimize
def best(a):
    def cost(w):
        return jnp.sum((w - a) ** 2)
    return minimize(cost, jnp.zeros(3), method="BFGS").fun  # NNX872
slope = jax.grad(best)
""",
            """\
def settled(v):
    return jax.lax.while_loop(lambda c: jnp.sum(c) < 10.0, lambda c: c * 2.0, v)  # NNX872
def solve(v, method):
    if method == "fixed":
        return v * 2.0
    return settled(v)
print(jax.grad(lambda v: solve(v, "fixed").sum())(x))
print(jax.grad(lambda v: solve(v, "free").sum())(x))
""",
            """\
def settled(v):
    return jax.lax.while_loop(lambda c: jnp.sum(c) < 10.0, lambda c: c * 2.0, v)  # NNX872
class Net:
    def advance(self, v, solver=None):
        if solver == "bdf":
            return settled(v)
        return v * 2.0
net = Net()
print(jax.grad(lambda v: net.advance(v, solver="bdf").sum())(x))
""",
            """\
def solve(b, scale=None):
    if scale is None:
        return b
    return jax.lax.while_loop(lambda v: jnp.sum(v) < 10.0, lambda v: v * 2.0, b * scale)  # NNX872
slope = jax.grad(lambda scale: jnp.sum(solve(jnp.ones(3), scale=scale)))(2.0)
""",
            """\
def descend(operator, b):
    return jax.lax.while_loop(  # NNX872
        lambda v: jnp.sum((operator(v) - b) ** 2) > 1e-8, lambda v: v + 0.3 * (b - operator(v)), b
    )
def solved(matrix, b):
    def operator(v):
        return matrix @ v
    def solve(operator, value):
        return descend(operator, value)
    return solve(operator, b)
slope = jax.grad(lambda m, b: solved(m, b).sum(), (0, 1))
""",
            """\
class Equilibrium(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, v):
        def body(state):
            count, z = state
            return count + 1, nnx.tanh(self.inner(z) + v)
        return jax.lax.while_loop(lambda s: s[0] < 30, body, (0, jnp.zeros_like(v)))[1]  # NNX872
def loss(net: Equilibrium, v):
    return net(v).sum()
def step(net: Equilibrium, v):
    return nnx.grad(loss)(net, v)
""",
            """\
def legendre(n, x):
    _, y = jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (1, x))  # NNX872
    return y
def basis(family, n, x):
    if family == "legendre":
        return legendre(n, x)
    return x**n
y = jax.grad(lambda v: basis("legendre", 2, v))(1.0)
""",
            """\
def grow(v):
    return jax.lax.while_loop(lambda c: c < 10, lambda c: c * v, v)  # NNX872
slope = jax.grad(grow)
""",
            """\
def root(v, steps):
    def improve(state):
        return state[0] + 1, 0.5 * (state[1] + v / state[1])
    return jax.lax.while_loop(lambda s: s[0] < steps, improve, (0, v))  # NNX872
slope = jax.value_and_grad(root)
""",
            "slope = jax.grad(lambda v: jax.lax.while_loop(lambda c: c < 3, lambda c: c + v, 0.0))  # NNX872\n",
        ),
        clean=(
            """\
from jax.scipy.optimize import minimize
def best(a):
    return minimize(lambda w, a: jnp.sum((w - a) ** 2), jnp.zeros(3), args=(a,), method="BFGS").fun
print(best(x), jax.jacfwd(best)(x))
""",
            """\
def settled(v):
    return jax.lax.while_loop(lambda c: jnp.sum(c) < 10.0, lambda c: c * 2.0, v)
class Net:
    def advance(self, v, solver=None):
        if solver == "bdf":
            return settled(v)
        return v * 2.0 if solver is None else solver(v)
net = Net()
print(net.advance(x, solver="bdf"), jax.jit(lambda v: net.advance(v, solver="bdf"))(x))
print(jax.grad(lambda v: net.advance(v).sum())(x), jax.grad(lambda v: net.advance(v, jnp.sin).sum())(x))
""",
            """\
def settled(v):
    return jax.lax.while_loop(lambda c: jnp.sum(c) < 10.0, lambda c: c * 2.0, v)
def solve(v, method="fixed"):
    if method in ("newton", "free"):
        v = settled(v)
    return v * 2.0
def run(v, method):
    return solve(v, method=method).sum()
print(run(x, "newton"))
print(jax.grad(lambda v: run(v, "fixed"))(x))
""",
            """\
def settled(v):
    return jax.lax.while_loop(lambda c: jnp.sum(c) < 10.0, lambda c: c * 2.0, v)
def solve(v, method):
    if method == "fixed":
        return v * 2.0
    return settled(v)
print(solve(x, "free"))
print(jax.grad(lambda v: solve(v, "fixed").sum())(x))
""",
            """\
@jax.custom_vjp
def integrated(y, times):
    def outer(carry, end):
        y, now = carry
        y, _ = jax.lax.while_loop(lambda s: s[1] < end, lambda s: (s[0] * 0.9, s[1] + 0.1), (y, now))
        return (y, end), y
    return jax.lax.scan(outer, (y, 0.0), times)[1]
def integrated_forward(y, times):
    return integrated(y, times), (y, times)
def integrated_backward(kept, cotangents):
    return jnp.sum(cotangents), jnp.zeros_like(kept[1])
integrated.defvjp(integrated_forward, integrated_backward)
print(jax.grad(lambda y: integrated(y, jnp.array([0.2, 0.4])).sum())(1.0))
""",
            """\
def projected(v, implicit=True):
    def residual(u):
        return u**2 - v
    def solve(f, u0):
        def body(state):
            u, i = state
            return u - f(u) / jax.vmap(jax.grad(f_of))(u), i + 1
        def f_of(u):
            return u**2
        return jax.lax.while_loop(lambda s: s[1] < 20, body, (u0, 0))[0]
    def tangent(g, y):
        return y / g(jnp.ones_like(y))
    if implicit:
        return jax.lax.custom_root(residual, v, solve, tangent)
    return jax.lax.stop_gradient(solve(residual, jax.lax.stop_gradient(v)))
print(jax.grad(lambda v: projected(v).sum())(jnp.array([2.0, 3.0])))
print(jax.grad(lambda v: (v * projected(v, False)).sum())(jnp.array([2.0, 3.0])))
""",
            """\
def ordered(edges):
    waiting = jnp.sum(edges != 0.0, axis=0)
    order = jnp.full(waiting.shape, 9)
    def going(carry):
        return jnp.any(carry[2] == 0) & (carry[1] < 3)
    def body(carry):
        order, i, waiting = carry
        one = jnp.argmax(waiting == 0)
        waiting = jnp.where(edges[one] != 0.0, waiting - 1, waiting).at[one].set(-1)
        return order.at[i].set(one), i + 1, waiting
    return jax.lax.while_loop(going, body, (order, 0, waiting))[0]
def loss(weights, v):
    exists = weights != 0.0
    return jnp.sum(v[ordered(exists)] * weights)
print(jax.grad(loss)(jnp.triu(jnp.ones((3, 3)), 1), x))
""",
            """\
def loop(matrix, b, tol):
    def going(v):
        return jnp.linalg.norm(b - matrix @ v) >= tol
    return jax.lax.while_loop(going, lambda v: v + (b - matrix @ v), jnp.zeros_like(b))
@jax.custom_vjp
def solved(matrix, b):
    return loop(matrix, b, 1e-3)
def forward(matrix, b):
    v = loop(matrix, b, 1e-3)
    return v, (matrix, v)
def backward(kept, cotangent):
    matrix, v = kept
    back = loop(matrix, cotangent, 1e-3)
    return -jnp.outer(back, v), back
solved.defvjp(forward, backward)
def solve(b, matrix=None):
    b = b - (jnp.eye(3) if matrix is None else matrix) @ jnp.zeros(3)
    if matrix is None:
        return loop(jnp.eye(3), b, 1e-3)
    return solved(matrix, b)
print(jax.grad(lambda matrix: jnp.sum(solve(jnp.ones(3), matrix=matrix)))(jnp.eye(3)))
""",
            """\
def descend(operator, b):
    return jax.lax.while_loop(
        lambda v: jnp.sum((operator(v) - b) ** 2) > 1e-8, lambda v: v + 0.3 * (b - operator(v)), b
    )
def solved(matrix, b):
    def operator(v):
        return matrix @ v
    def solve(operator, value):
        return descend(operator, value)
    return jax.lax.custom_linear_solve(operator, b, solve=solve, transpose_solve=solve, symmetric=True)
print(jax.grad(lambda m, b: solved(m, b).sum(), (0, 1))(jnp.eye(3), x))
""",
            """\
FORWARD, BACKWARD = 0, 1
def grown(v, mode):
    if mode == FORWARD:
        return jax.lax.while_loop(lambda w: w < 10, lambda w: w * 2, v)
    return jax.lax.fori_loop(0, 4, lambda i, w: w * 2, v)
slope = jax.grad(grown)(1.0, BACKWARD)
""",
            """\
class Solver:
    def __init__(self, adaptive):
        self.adaptive = adaptive
    def solve(self, v):
        if self.adaptive:
            return jax.lax.while_loop(lambda w: w < 10, lambda w: w * 2, v)
        return jax.lax.fori_loop(0, 4, lambda i, w: w * 2, v)
slope = jax.grad(Solver(False).solve)(1.0)
""",
            """\
class Equilibrium(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 3, rngs=rngs)

    def __call__(self, v):
        return jax.lax.fori_loop(0, 3, lambda i, z: nnx.tanh(self.inner(z) + v), jnp.zeros_like(v))
def loss(net: Equilibrium, v):
    return net(v).sum()
def step(net: Equilibrium, v):
    return nnx.grad(loss)(net, v)
step(Equilibrium(nnx.Rngs(0)), x)
""",
            """\
def grow(v):
    return jax.lax.fori_loop(0, 3, lambda i, c: c * v, v)
slope = jax.grad(grow)(2.0)
""",
            """\
def grow(v):
    return jax.lax.while_loop(lambda c: c < 10, lambda c: c * v, v)
slope = jax.jacfwd(grow)(2.0)
""",
            """\
def grow(v):
    return jax.lax.stop_gradient(jax.lax.while_loop(lambda c: c < 10, lambda c: c * 2, v)) * v
slope = jax.grad(grow)(2.0)
""",
            """\
def count(v):
    rounds = jax.lax.while_loop(lambda c: c < v.shape[0], lambda c: c + 1, 0)
    return v.sum() * rounds
slope = jax.grad(count)(x)
""",
            """\
def legendre(n, x):
    _, y = jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * x), (1, x))
    return y
def basis(family, n, x):
    if family == "legendre":
        return legendre(n, x)
    return x**n
def one(family, v):
    return basis(family, 2, v)
for family in ("laguerre", "jacobi"):
    y = jax.grad(lambda v, family=family: one(family, v))(1.0)
""",
        ),
    ),
    "NNX873": Cases(
        bad=(
            """\
@jax.custom_jvp
def safe_log(v):
    return jnp.log(jnp.maximum(v, 1e-12))
@safe_log.defjvp
def rule(primals, tangents):
    (v,), (dv,) = primals, tangents
    slope = dv / jnp.maximum(v, 1e-6)
    return slope, safe_log(v)  # NNX873
""",
            """\
@jax.custom_jvp
def scaled(v, w):
    return v * w
@scaled.defjvp
def rule(primals, tangents):
    v, w = primals
    dv, dw = tangents
    return dv * w + v * dw, scaled(v, w)  # NNX873
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def weakened(v, factor):
    return v
def ahead(factor, v):  # NNX873
    return v, None
def back(factor, _, g):
    return (factor * g,)
weakened.defvjp(ahead, back)
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def kept(v, low, high):
    return v
def ahead(v, low, high):
    return v, None
def back(_, g):  # NNX873
    return (jnp.clip(g, -1, 1),)
kept.defvjp(ahead, back)
""",
            """\
@partial(jax.custom_jvp, nondiff_argnums=(1,))
def power(v, n):
    return v**n
@power.defjvp
def power_jvp(primals, tangents, n):  # NNX873
    (v,), (t,) = primals, tangents
    return power(v, n), n * v ** (n - 1) * t
""",
            """\
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def applied(f, v):
    return f(v)
@applied.defjvp
def applied_jvp(primals, tangents):  # NNX873
    (v,), (t,) = primals, tangents
    return v, t
""",
            """\
def doubled(v):
    return v * 2
gained = nnx.custom_vjp(doubled)
def ahead(v):
    return gained(v), None
def back(_, g):
    return (-g,)  # NNX873
gained.defvjp(ahead, back)
""",
            """\
@nnx.custom_vjp
def gained(net, v):
    return net(v)
def ahead(net, v):
    return gained(net, v), v
def back(v, g):
    return None, jnp.clip(g, -1, 1)  # NNX873
gained.defvjp(ahead, back)
print(nnx.grad(lambda m: gained(m, x).sum())(model))
""",
            """\
from flax.nnx import custom_vjp
@custom_vjp
def doubled(v):
    return v * 2
def ahead(v):
    return doubled(v), None
def back(_, g):
    return (g * 3,)  # NNX873
doubled.defvjp(ahead, back)
""",
            """\
@functools.partial(nnx.custom_vjp, nondiff_argnums=(0,))
def scaled(factor, v):
    return v * factor
def ahead(factor, v):
    return scaled(factor, v), v.shape
def back(factor, shape, cotangent):
    return (jnp.ones(shape) * cotangent.sum(),)  # NNX873
scaled.defvjp(ahead, back)
""",
            """\
@nnx.custom_vjp
def same(v):
    return v
def ahead(v):
    return v, None
def back(_, g):
    return (g,)  # NNX873
same.defvjp(fwd=ahead, bwd=back)
""",
            """\
@jax.custom_vjp
def rounded(v):
    return jnp.round(v)
def forward(v):
    return jnp.round(v)  # NNX873
def backward(res, g):
    return (g,)
rounded.defvjp(forward, backward)
print(jax.grad(lambda v: rounded(v).sum())(x))
""",
            """\
@jax.custom_vjp
def reversed_gradient(v):
    return v
def ahead(v):
    return reversed_gradient(v)  # NNX873
def back(_, g):
    return (-g,)
reversed_gradient.defvjp(ahead, back)
""",
            """\
@jax.custom_vjp
def scaled(v, factor):
    return v * factor
def ahead(v, factor):
    return scaled(v, factor), factor
def back(factor, g):
    return (g * factor,)  # NNX873
scaled.defvjp(fwd=ahead, bwd=back)
""",
            """\
@jax.custom_vjp
def same(v):
    return v
def back(_, g):
    return jnp.clip(g, -1, 1)  # NNX873
same.defvjp(lambda v: (v, None), back)
""",
            """\
@jax.custom_vjp
def scaled(v, factor):
    return v * factor
def ahead(v, factor):
    return v * factor, factor
def back(factor, g):
    return (g * factor,)  # NNX873
scaled.defvjp(ahead, back)
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(v, factor):
    return v * factor
def ahead(v, factor):
    return v * factor, None
def back(factor, _, g):
    return g * factor, None  # NNX873
scaled.defvjp(ahead, back)
""",
            """\
@jax.custom_vjp
def same(v):
    return v
def ahead(v):
    return v, None, None  # NNX873
def back(_, g):
    return (g,)
same.defvjp(ahead, back)
""",
        ),
        clean=(
            """\
@jax.custom_jvp
def safe_log(v):
    return jnp.log(jnp.maximum(v, 1e-12))
@safe_log.defjvp
def rule(primals, tangents):
    (v,), (dv,) = primals, tangents
    slope = dv / jnp.maximum(v, 1e-6)
    return safe_log(v), slope
print(jax.grad(safe_log)(2.0))
""",
            """\
@jax.custom_jvp
def halved(v):
    return v
@halved.defjvp
def rule(primals, tangents):
    y, dy = jax.jvp(lambda v: v * 1.0, primals, tangents)
    return y, 0.5 * dy
print(jax.grad(halved)(2.0))
""",
            """\
@jax.custom_jvp
def constant(v):
    return v * 0 + 1.0
@constant.defjvp
def rule(primals, tangents):
    (v,) = primals
    return constant(v), jnp.zeros_like(v)
print(jax.grad(constant)(2.0))
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def weakened(v, factor):
    return v
def ahead(v, factor):
    return v, None
def back(factor, _, g):
    return (factor * g,)
weakened.defvjp(ahead, back)
print(jax.grad(lambda v: weakened(v, 0.5).sum())(x))
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def applied(f, v):
    return f(v)
def ahead(f, v):
    return f(v), v
def back(f, v, g):
    return (g * jnp.ones_like(v),)
applied.defvjp(ahead, back)
print(jax.grad(lambda v: applied(jnp.sum, v))(x))
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def kept(v, low, high):
    return v
def ahead(v, *limits):
    return v, None
def back(*given):
    return (jnp.clip(given[-1], given[0], given[1]),)
kept.defvjp(ahead, back)
print(jax.grad(lambda v: kept(v, -1.0, 1.0).sum())(x))
""",
            """\
@partial(jax.custom_jvp, nondiff_argnums=(1,))
def power(v, n):
    return v**n
@power.defjvp
def power_jvp(n, primals, tangents):
    (v,), (t,) = primals, tangents
    return power(v, n), n * v ** (n - 1) * t
print(jax.grad(power)(2.0, 3))
""",
            """\
@jax.custom_jvp
def power(v, n):
    return v**n
@power.defjvp
def power_jvp(primals, tangents):
    (v, n), (t, _) = primals, tangents
    return power(v, n), n * v ** (n - 1) * t
print(jax.grad(power)(2.0, 3.0))
""",
            """\
def doubled(v):
    return v * 2
gained = nnx.custom_vjp(doubled)
def ahead(v):
    return gained(v), None
def back(_, g):
    return (-g[1],)
gained.defvjp(ahead, back)
print(jax.grad(lambda v: gained(v).sum())(x))
""",
            """\
@nnx.custom_vjp
def doubled(v):
    return v * 2
def ahead(v):
    return doubled(v), None
def back(_, g):
    inputs, out = g
    return (out * 3,)
doubled.defvjp(ahead, back)
print(jax.grad(lambda v: doubled(v).sum())(x))
""",
            """\
@nnx.custom_vjp
def doubled(v):
    return v * 2
def ahead(v):
    return doubled(v), None
def back(_, g):
    return (g[1] * 3,)
doubled.defvjp(ahead, back)
print(jax.grad(lambda v: doubled(v).sum())(x))
""",
            """\
@nnx.custom_vjp
def doubled(v):
    return v * 2
def ahead(v):
    return doubled(v), None
def back(_, g):
    _, g = g
    return (g * 3,)
doubled.defvjp(ahead, back)
print(jax.grad(lambda v: doubled(v).sum())(x))
""",
            """\
@jax.custom_vjp
def doubled(v):
    return v * 2
def ahead(v):
    return doubled(v), None
def back(_, g):
    return (g * 3,)
doubled.defvjp(ahead, back)
print(jax.grad(lambda v: doubled(v).sum())(x))
""",
            """\
@nnx.custom_vjp
def doubled(v):
    return v * 2
def ahead(v):
    return doubled(v), None
def tripled(pair):
    return pair[1] * 3
def back(_, g):
    return (tripled(g),)
doubled.defvjp(ahead, back)
print(jax.grad(lambda v: doubled(v).sum())(x))
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def backward(f, v):
    return v
def forward(f, v):
    return v, None
def back(f, _, g):
    return (f(g),)
backward.defvjp(forward, back)
halved = partial(backward, lambda g: g / 2.0)
def loss(v):
    w = halved(v * 2.0)
    return (partial(backward, lambda g: 3.0 * g)(w) ** 2).sum()
print(jax.grad(loss)(x))
""",
            """\
@jax.custom_vjp
def rounded(v):
    return jnp.round(v)
def forward(v):
    return jnp.round(v), None
def backward(res, g):
    return (g,)
rounded.defvjp(forward, backward)
print(jax.grad(lambda v: rounded(v).sum())(x))
""",
            """\
@jax.custom_vjp
def reversed_gradient(v):
    return v
def ahead(v):
    return reversed_gradient(v), None
def back(_, g):
    return (-g,)
reversed_gradient.defvjp(fwd=ahead, bwd=back)
jax.grad(lambda v: reversed_gradient(v).sum())(x)
""",
            """\
@jax.custom_vjp
def scaled(v, factor):
    return v * factor
def both(v, factor):
    return scaled(v, factor), factor
def ahead(v, factor):
    return both(v, factor)
scaled.defvjp(fwd=ahead, bwd=lambda factor, g: (g * factor, None))
jax.grad(lambda v: scaled(v, 2.0).sum())(x)
""",
            """\
@jax.custom_vjp
def same(v):
    return v
def back(_, g):
    return (jnp.clip(g, -1, 1),)
same.defvjp(lambda v: (v, None), back)
jax.grad(lambda v: same(v).sum())(x)
""",
            """\
@jax.custom_vjp
def scaled(v, factor):
    return v * factor
def ahead(v, factor):
    return v * factor, (v, factor)
def back(kept, g):
    v, factor = kept
    return g * factor, (g * v).sum()
scaled.defvjp(ahead, back)
jax.grad(lambda v: scaled(v, 2.0).sum())(x)
""",
            """\
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def scaled(v, factor):
    return v * factor
def ahead(v, factor):
    return v * factor, None
def back(factor, _, g):
    return (g * factor,)
scaled.defvjp(ahead, back)
jax.grad(lambda v: scaled(v, 2.0).sum())(x)
""",
            """\
@jax.custom_vjp
def total(*parts):
    return sum(parts)
def back(kept, g):
    return (g,) * kept
total.defvjp(lambda *parts: (sum(parts), len(parts)), back)
""",
            """\
def rules(f, ahead, back):
    f = jax.custom_vjp(f)
    f.defvjp(ahead, back)
    return f
same = rules(lambda v: v, lambda v: (v, None), lambda _, g: (g,))
""",
        ),
    ),
    "NNX972": Cases(
        bad=(
            """\
def mse(w, v):
    return jnp.mean((v @ w) ** 2)
def away(p, g):
    return p + 0.1 * g
def step(w, v):
    grads = jax.grad(mse)(w, v)
    return jax.tree.map(away, w, grads)  # NNX972
""",
            """\
def cost(w, v):
    return jnp.mean((v @ w) ** 2)
def clipped(grads):
    return jax.tree.map(lambda g: jnp.clip(g, -1.0, 1.0), grads)
def step(w, v, lr):
    grads = jax.grad(cost)(w, v)
    grads = clipped(grads)
    w = jax.tree.map(lambda p, g: p + lr * g, w, grads)  # NNX972
    return w
""",
            """\
class SGD:
    def __init__(self, lr):
        self.lr = lr
    def step(self, params, grads):
        return jax.tree.map(lambda p, g: p + self.lr * g, params, grads)  # NNX972
""",
            """\
def loss_fn(w, v, label):
    return -jax.nn.log_softmax(v @ w)[label]
def step(w, v, label):
    return w + 0.1 * jax.grad(loss_fn)(w, v, label)  # NNX972
""",
            """\
def step(w, v):
    loss, slope = jax.value_and_grad(lambda w: ((v @ w) ** 2).mean())(w)
    return w + 0.1 * slope, loss  # NNX972
""",
            """\
def loss(params, v):
    return jnp.mean((v @ params["w"]) ** 2)
def step(params, v, lr=0.1):
    grads = jax.grad(loss)(params, v)
    return jax.tree.map(lambda p, g: p - lr * g, grads, params)  # NNX972
""",
            """\
def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)
@jax.jit
def step(params, x, y, lr=0.1):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    params = jax.tree.map(lambda p, g: p + lr * g, params, grads)  # NNX972
    return params, value
""",
            """\
def mse(w, x, y):
    return jnp.mean((x @ w - y) ** 2)
w = jnp.zeros(3)
for _ in range(3):
    w = w + 0.01 * jax.grad(mse)(w, jnp.ones((2, 3)), jnp.ones(2))  # NNX972
""",
            """\
def nll_loss(params, x):
    return jnp.sum(params["w"] * x)
def fit(params, x, learning_rate):
    for _ in range(3):
        grads = jax.grad(nll_loss)(params, x)
        params["w"] += learning_rate * grads["w"]  # NNX972
    return params
""",
            """\
def loss(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return jnp.mean(x ** 2)
def update(params, x, step_size):
    grads = jax.grad(loss)(params, x)
    return [(w + step_size * dw, b + step_size * db) for (w, b), (dw, db) in zip(params, grads)]  # NNX972
""",
            "@nnx.jit\n"
            "def sgd(net, v, y, lr):\n"
            "    def mse(m):\n"
            "        return jnp.mean((m(v) - y) ** 2)\n"
            "    value, grads = nnx.value_and_grad(mse)(net)\n"
            "    params = nnx.state(net, nnx.Param)\n"
            "    new = jax.tree.map(lambda p, g: p + lr * g, params, grads)  # NNX972\n"
            "    nnx.update(net, new)\n"
            "    return value\n"
            "print(sgd(model, x, x, 0.1))\n",
            "slope = jax.value_and_grad(lambda p, v: jnp.mean((v * p - 1.0) ** 2))\n"
            "def step(p, v, eta=0.01):\n"
            "    value, g = slope(p, v)\n"
            "    return p + eta * g  # NNX972\n"
            "print(step(1.0, x))\n",
            "slope = jax.jit(jax.value_and_grad(lambda p, v: jnp.mean((v * p - 1.0) ** 2)))\n"
            "def step(p, v, eta=0.01):\n"
            "    value, g = slope(p, v)\n"
            "    return p + eta * g  # NNX972\n"
            "print(step(1.0, x))\n",
            "def loss(params, v):\n"
            '    return jnp.mean((v * params["w"] - 1.0) ** 2)\n'
            "def update(params, v, lr=1e-2):\n"
            "    grads = jax.grad(loss)(params, v)\n"
            "    return {k: params[k] + lr * grads[k] for k in params}  # NNX972\n"
            'print(update({"w": 1.0}, x))\n',
            "class SGD:\n"
            "    def __init__(self, lr):\n"
            "        self.lr = lr\n"
            "    def apply(self, params, grads):\n"
            "        return jax.tree.map(lambda p, g: p + self.lr * g, params, grads)  # NNX972\n"
            "def loss(params, v):\n"
            "    return jnp.mean((v * params - 1.0) ** 2)\n"
            "def train(params, v):\n"
            "    sgd = SGD(0.1)\n"
            "    return sgd.apply(params, jax.grad(loss)(params, v))\n",
        ),
        clean=(
            """\
def mse(w, v):
    return jnp.mean((v @ w) ** 2)
def reward(w, v):
    return -jnp.mean((v @ w) ** 2)
def along(p, g):
    return p - 0.1 * g
def uphill(p, g):
    return p + 0.1 * g
def moved(params, rate, grads):
    return jax.tree.map(lambda p, g: p + rate * g, params, grads)
w, v = jnp.ones(3), jnp.eye(3)
w = jax.tree.map(along, w, jax.grad(mse)(w, v))
w = jax.tree.map(uphill, w, jax.grad(reward)(w, v))
print(moved(w, -0.1, jax.grad(mse)(w, v)))
""",
            """\
class SGD:
    def __init__(self, lr):
        self.lr = lr
    def step(self, params, grads):
        return jax.tree.map(lambda p, g: p - self.lr * g, params, grads)
class Momentum:
    def __init__(self, lr):
        self.lr = lr
    def velocity(self, held, grads):
        return jax.tree.map(lambda v, g: 0.9 * v + g, held, grads)
def sgd_updates(params, updates):
    return jax.tree.map(lambda p, u: p + u, params, updates)
print(SGD(0.1).step(jnp.ones(3), jnp.ones(3)), Momentum(0.1).velocity(jnp.ones(3), jnp.ones(3)))
print(sgd_updates(jnp.ones(3), jnp.ones(3)))
""",
            """\
def loss_fn(w, v):
    return -jnp.sum((v @ w) ** 2)
def step(w, v):
    return w + 0.1 * jax.grad(loss_fn)(w, v)
print(step(x, jnp.ones((2, 3))))
""",
            """\
def actor_loss(w, v):
    return jnp.mean(jnp.log(v @ w) * 2.0)
def step(w, v):
    return w + 0.1 * jax.grad(actor_loss)(w, v)
print(step(x, jnp.ones((2, 3))))
""",
            """\
def step(w, v):
    gain, slope = jax.value_and_grad(lambda w: ((v @ w) ** 2).mean())(w)
    return w + 0.1 * slope, gain
print(step(jnp.ones(3), x))
""",
            """\
def step(w, v):
    loss, slope = jax.value_and_grad(lambda w: -((v @ w) ** 2).mean())(w)
    return w + 0.1 * slope, loss
print(step(jnp.ones(3), x))
""",
            """\
def loss(params, v):
    return jnp.mean((v @ params["w"]) ** 2)
def step(params, v, lr=0.1):
    grads = jax.grad(loss)(params, v)
    return jax.tree.map(lambda g, p: p - lr * g, grads, params)
print(step({"w": jnp.ones((3, 2))}, x))
""",
            """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def raise_bound(w, x, lr):
    w = w + lr * jax.grad(loss)(w, x)  # gradient ascent: it is a lower bound
    return w
""",
            """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def step(w, x, lr):
    w = w - lr * jax.grad(loss)(w, x)
    return jax.tree.map(lambda p, g: p - lr * g, w, jax.grad(loss)(w, x))
""",
            """\
def loss(w, image):
    return jnp.mean((image @ w) ** 2)
def attack(w, image, alpha):
    for _ in range(3):
        image = image + alpha * jax.grad(loss, argnums=1)(w, image)
    return image
""",
            """\
def negative_loss(w, x):
    return -jnp.mean((x @ w) ** 2)
def step(w, x, lr):
    return w + lr * jax.grad(negative_loss)(w, x)
""",
            """\
def reward(w, x):
    return jnp.mean(x @ w)
def step(w, x, lr):
    return w + lr * jax.grad(reward)(w, x)
""",
            """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def step(w, x, lr):
    grads = jax.tree.map(lambda g: -g, jax.grad(loss)(w, x))
    return jax.tree.map(lambda p, g: p + lr * g, w, grads)
""",
            """\
def loss(w, x):
    return jnp.mean((x @ w) ** 2)
def sharpness_aware(w, x, rho):
    perturbed = w + rho * jax.grad(loss)(w, x)
    return jax.grad(loss)(perturbed, x)
""",
            "slope = jax.value_and_grad(lambda p, v: -jnp.mean((v * p - 1.0) ** 2))\n"
            "def step(p, v, eta=0.01):\n"
            "    value, g = slope(p, v)\n"
            "    return p + eta * g\n"
            "print(step(1.0, x))\n",
            "def sgd(net, v, y, lr):\n"
            "    def mse(m):\n"
            "        return jnp.mean((m(v) - y) ** 2)\n"
            "    grads = nnx.grad(mse)(net)\n"
            "    params = nnx.state(net, nnx.Param)\n"
            "    nnx.update(net, jax.tree.map(lambda p, g: p - lr * g, params, grads))\n"
            "sgd(model, x, x, 0.1)\n"
            "print(model(x))\n",
            "slope = jax.jit(jax.value_and_grad(lambda p, v: jnp.mean((v * p - 1.0) ** 2)))\n"
            "def step(p, v, eta=0.01):\n"
            "    value, g = slope(p, v)\n"
            "    return p - eta * g, p + value\n"
            "print(step(1.0, x))\n",
            "def loss(params, v):\n"
            '    return jnp.mean((v * params["w"] - 1.0) ** 2)\n'
            "def update(params, v, lr=1e-2):\n"
            "    grads = jax.grad(loss)(params, v)\n"
            "    return {k: params[k] - lr * grads[k] for k in params}\n"
            'print(update({"w": 1.0}, x))\n',
            "class Ascent:\n"
            "    def __init__(self, lr):\n"
            "        self.lr = lr\n"
            "    def apply(self, params, grads):\n"
            "        return jax.tree.map(lambda p, g: p + self.lr * g, params, grads)\n"
            "def gain(params, v):\n"
            "    return jnp.mean(v * params)\n"
            "def train(params, v):\n"
            "    return Ascent(0.1).apply(params, jax.grad(gain)(params, v))\n"
            "print(train(1.0, x))\n",
        ),
    ),
    "NNX572": Cases(
        bad=(
            """\
def loss(metric, x):
    values, vectors = jnp.linalg.eigh(metric)  # NNX572
    root = (vectors * jnp.sqrt(values)) @ vectors.T
    return jnp.sum((x @ root) ** 2)
metric = jnp.eye(3)
for _ in range(5):
    metric = metric - 0.1 * jax.grad(loss)(metric, jnp.ones((2, 3)))
""",
            """\
def low_rank(p, x):
    u, s, vt = jnp.linalg.svd(p["w"], full_matrices=False)  # NNX572
    return jnp.mean((x @ (u[:, :2] * s[:2] @ vt[:2])) ** 2)
params = {"w": jnp.zeros((4, 4)), "b": jnp.zeros(4)}
tx = optax.adam(1e-2)
state = tx.init(params)
for i in range(3):
    g = jax.grad(low_rank)(params, jnp.ones((2, 4)))
    updates, state = tx.update(g, state)
    params = optax.apply_updates(params, updates)
""",
            """\
def root(cov):
    lam, vecs = jnp.linalg.eigh(cov)  # NNX572
    return vecs * jnp.sqrt(lam) @ vecs.T
def loss(cov, x):
    return jnp.sum((x @ root(0.5 * (cov + cov.T))) ** 2)
value, grad = jax.value_and_grad(loss)(2.0 * jnp.identity(3), jnp.ones((2, 3)))
""",
        ),
        clean=(
            """\
# the eigenvalues alone
def loss(metric):
    return jnp.sum(jnp.linalg.eigvalsh(metric) ** 2)
print(jax.grad(loss)(jnp.eye(3)))
""",
            """\
def loss(metric):
    values, _ = jnp.linalg.eigh(metric)
    return jnp.sum(values**2)
print(jax.grad(loss)(jnp.eye(3)))
""",
            """\
# different ones
def loss(metric):
    values, vectors = jnp.linalg.eigh(metric)
    return jnp.sum(vectors[:, 0] * values)
print(jax.grad(loss)(jnp.diag(jnp.array([1.0, 2.0, 3.0]))))
""",
            """\
# differentiated elsewhere
def loss(metric):
    values, vectors = jnp.linalg.eigh(metric)
    return jnp.sum(vectors[:, 0] * values)
start = jnp.eye(3) + jax.random.normal(key, (3, 3))
print(loss(jnp.eye(3)), jax.grad(loss)(start))
""",
            """\
# nothing is differentiated
def whiten(cov):
    values, vectors = jnp.linalg.eigh(cov)
    return vectors / jnp.sqrt(values)
print(whiten(jnp.eye(3)))
""",
            """\
def loss(metric, x):
    root = jnp.linalg.cholesky(metric)
    return jnp.sum((x @ root) ** 2)
print(jax.grad(loss)(jnp.eye(3), jnp.ones((2, 3))))
""",
            """\
# one number
def loss(metric):
    values, vectors = jnp.linalg.eigh(metric)
    return jnp.sum(vectors * values)
print(jax.grad(loss)(jnp.eye(1)))
""",
        ),
    ),
}

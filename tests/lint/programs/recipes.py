"""Recipes with one mistake each: recurrent cells, loops, modes, experts, tied weights, sweeps, misfitting layers."""

from __future__ import annotations

from tests.lint.programs.lined import lined

PAIRS = {
    "a learnable log-std is a plain array": lined(
        "NNX899",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class GaussianPolicy(nnx.Module):
    def __init__(self, obs_dim, act_dim, rngs):
        self.fc = nnx.Linear(obs_dim, 32, rngs=rngs)
        self.mean = nnx.Linear(32, act_dim, rngs=rngs)
-|        self.log_std = jnp.zeros(act_dim)
+|        self.log_std = nnx.Param(jnp.zeros(act_dim))

    def __call__(self, obs):
        h = nnx.tanh(self.fc(obs))
        return self.mean(h), jnp.exp(self.log_std)


def loss_fn(policy, obs, act):
    mean, std = policy(obs)
    return (((act - mean) / std) ** 2 / 2 + jnp.log(std)).mean()


policy = GaussianPolicy(3, 2, nnx.Rngs(0))
optimizer = nnx.Optimizer(policy, optax.adam(1e-2), wrt=nnx.Param)
obs = jax.random.normal(jax.random.key(0), (16, 3))
for _ in range(3):
    grads = nnx.grad(loss_fn)(policy, obs, obs[:, :2])
    optimizer.update(policy, grads)
print(policy.log_std[...])
""",
    ),
    "intermediates pile up over the steps": lined(
        "NNX842",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(4, 16, rngs=rngs)
        self.l2 = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        h = nnx.relu(self.l1(x))
        self.sow(nnx.Intermediate, "features", h)
        return self.l2(h)


@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
+|    nnx.pop(model, nnx.Intermediate)
    optimizer.update(model, grads)
    return loss


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (8, 4))
y = jnp.ones((8, 1))
for step in range(4):
    train_step(model, optimizer, x, y)
print(len(jax.tree.leaves(nnx.state(model, nnx.Intermediate))))
""",
        missed=True,
    ),
    "every step starts from the first carry": lined(
        "NNX842",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class CharRNN(nnx.Module):
    def __init__(self, vocab, hidden, rngs):
        self.embed = nnx.Embed(vocab, hidden, rngs=rngs)
        self.cell = nnx.GRUCell(hidden, hidden, rngs=rngs)
        self.out = nnx.Linear(hidden, vocab, rngs=rngs)
        self.hidden = hidden

    def __call__(self, tokens):
        carry = jnp.zeros((tokens.shape[0], self.hidden))
        outputs = []
        for t in range(tokens.shape[1]):
-|            new_carry, y = self.cell(carry, self.embed(tokens[:, t]))
+|            carry, y = self.cell(carry, self.embed(tokens[:, t]))
            outputs.append(self.out(y))
        return jnp.stack(outputs, axis=1)


model = CharRNN(8, 4, nnx.Rngs(0))
print(model(jnp.array([[1, 2, 3]])).sum())
""",
    ),
    "the sum is never set back": lined(
        "NNX892",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx

model = nnx.Linear(4, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(1e-2), wrt=nnx.Param)


@nnx.jit
def grad_step(model, x, y):
    return nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)


def train(model, optimizer, batches, every):
    accumulated = None
    for i, (x, y) in enumerate(batches):
        grads = grad_step(model, x, y)
        if accumulated is None:
            accumulated = grads
        else:
            accumulated = jax.tree.map(jnp.add, accumulated, grads)
        if (i + 1) % every == 0:
            optimizer.update(model, jax.tree.map(lambda g: g / every, accumulated))
+|            accumulated = None


xs = jax.random.normal(jax.random.key(0), (6, 8, 4))
train(model, optimizer, [(x, x.sum(-1, keepdims=True)) for x in xs], 2)
print(model.kernel[...].sum())
""",
    ),
    "the old policy is the new one": lined(
        "NNX859",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Policy(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(4, 16, rngs=rngs)
        self.l2 = nnx.Linear(16, 2, rngs=rngs)

    def __call__(self, obs):
        return jax.nn.log_softmax(self.l2(nnx.tanh(self.l1(obs))))


@nnx.jit
def ppo_step(policy, old_policy, optimizer, obs, act, adv):
    old = jnp.take_along_axis(old_policy(obs), act[:, None], 1)[:, 0]

    def loss_fn(p):
        new = jnp.take_along_axis(p(obs), act[:, None], 1)[:, 0]
        ratio = jnp.exp(new - old)
        return -jnp.minimum(ratio * adv, jnp.clip(ratio, 0.8, 1.2) * adv).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(policy)
    optimizer.update(policy, grads)
    return loss


def train(policy, optimizer, obs, act, adv, epochs):
-|    old_policy = policy
+|    old_policy = nnx.clone(policy)
    return [float(ppo_step(policy, old_policy, optimizer, obs, act, adv)) for _ in range(epochs)]


policy = Policy(nnx.Rngs(0))
optimizer = nnx.Optimizer(policy, optax.adam(1e-2), wrt=nnx.Param)
obs = jax.random.normal(jax.random.key(0), (8, 4))
print(train(policy, optimizer, obs, jnp.zeros(8, jnp.int32), jnp.linspace(-1, 1.5, 8), 4))
""",
    ),
    "a branch calls a captured dropout": lined(
        "NNX809",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Gate(nnx.Module):
    def __init__(self, dim, rngs):
        self.cheap = nnx.Linear(dim, dim, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.costly = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x, use_costly):
-|        return nnx.cond(
-|            use_costly,
-|            lambda v: self.costly(self.drop(v)),
-|            lambda v: self.cheap(v),
-|            x,
-|        )
+|        return nnx.cond(
+|            use_costly,
+|            lambda m, v: m.costly(m.drop(v)),
+|            lambda m, v: m.cheap(v),
+|            self,
+|            x,
+|        )


@nnx.jit
def forward(model, x, flag):
    return model(x, flag)


model = Gate(4, nnx.Rngs(0))
print(forward(model, jnp.ones((2, 4)), jnp.array(True)).shape)
""",
    ),
    "the body returns less than it gets": lined(
        "NNX868",
        r"""
import jax.numpy as jnp
from flax import nnx


class Denoiser(nnx.Module):
    def __init__(self, dim, rngs):
        self.net = nnx.Linear(dim, dim, rngs=rngs)

    def __call__(self, x):
        return x - 0.1 * self.net(x)


def refine(model, x, steps):
    def body(i, carry):
        model, x = carry
        x = model(x)
-|        return x
+|        return model, x

    model, x = nnx.fori_loop(0, steps, body, (model, x))
    return x


print(refine(Denoiser(4, nnx.Rngs(0)), jnp.ones((2, 4)), 3).shape)
""",
        missed=True,
    ),
    "the model asks for a stream that Rngs was not given": lined(
        "NNX858",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Reparam(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.rngs = rngs

    def __call__(self, mean, std):
        return mean + std * jax.random.normal(self.rngs.sample(), mean.shape)


class VAE(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.enc = nnx.Linear(4, 4, rngs=rngs)
        self.reparam = Reparam(rngs)

    def __call__(self, x):
        mean, std = jnp.split(self.enc(x), 2, -1)
        return self.reparam(mean, jnp.exp(std))


-|model = VAE(nnx.Rngs(params=0, dropout=1))
+|model = VAE(nnx.Rngs(params=0, sample=1))
print(model(jnp.ones((2, 4))).shape)
""",
    ),
    "an int kernel size is a 1D convolution": lined(
        "NNX874",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class ConvNet(nnx.Module):
    def __init__(self, *, rngs: nnx.Rngs):
-|        self.conv = nnx.Conv(in_features=1, out_features=4, kernel_size=3, rngs=rngs)
+|        self.conv = nnx.Conv(in_features=1, out_features=4, kernel_size=(3, 3), rngs=rngs)
        self.fc = nnx.Linear(4, 10, rngs=rngs)

    def __call__(self, images):
        x = nnx.relu(self.conv(images))
        x = nnx.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        return self.fc(x.mean(axis=(1, 2)))


model = ConvNet(rngs=nnx.Rngs(0))
print(model(jnp.ones((2, 28, 28, 1))).shape, model.conv.kernel.shape)
""",
    ),
    "dot_general requires contracting dimensions to have the same shape": lined(
        "NNX874",
        r"""
import jax.numpy as jnp
from flax import nnx


class Decoder(nnx.Module):
    def __init__(self, latent, rngs):
        self.net = nnx.Sequential(
            nnx.Linear(latent, 64, rngs=rngs),
            nnx.relu,
            nnx.Linear(64, 128, rngs=rngs),
            nnx.relu,
-|            nnx.Linear(256, 784, rngs=rngs),
+|            nnx.Linear(128, 784, rngs=rngs),
            nnx.sigmoid,
        )

    def __call__(self, z):
        return self.net(z).reshape(z.shape[0], 28, 28)


decoder = Decoder(8, nnx.Rngs(0))
print(decoder(jnp.ones((2, 8))).shape)
""",
    ),
    "the head gets a copy of the embedding": lined(
        "NNX859",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class LM(nnx.Module):
    def __init__(self, vocab, dim, rngs):
        self.embed = nnx.Embed(vocab, dim, rngs=rngs)
        self.mix = nnx.Linear(dim, dim, rngs=rngs)
-|        self.head = nnx.Linear(dim, vocab, use_bias=False, rngs=rngs)
-|        self.head.kernel = nnx.Param(self.embed.embedding[...].T)  # tie the weights

    def __call__(self, ids):
        x = nnx.gelu(self.mix(self.embed(ids)))
-|        return self.head(x)
+|        return self.embed.attend(x)


@nnx.jit
def step(model, optimizer, ids):
    def loss_fn(m):
        return optax.softmax_cross_entropy_with_integer_labels(m(ids[:, :-1]), ids[:, 1:]).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


model = LM(8, 4, nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
ids = jax.random.randint(jax.random.key(0), (2, 6), 0, 8)
for _ in range(3):
    loss = step(model, optimizer, ids)
print(loss)
""",
        missed=True,
    ),
    "the decorators stand in the wrong order": lined(
        "NNX836",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Critic(nnx.Module):
    def __init__(self, din, rngs):
        self.l1 = nnx.Linear(din, 8, rngs=rngs)
        self.l2 = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.relu(self.l1(x)))[..., 0]


class TwinCritic(nnx.Module):
    def __init__(self, din, rngs, n=2):
-|        @nnx.vmap(in_axes=0, out_axes=0)
-|        @nnx.split_rngs(splits=n)
+|        @nnx.split_rngs(splits=n)
+|        @nnx.vmap(in_axes=0, out_axes=0)
        def make(rngs):
            return Critic(din, rngs)

        self.critics = make(rngs)

    def __call__(self, x):
        return nnx.vmap(lambda c, x: c(x), in_axes=(0, None))(self.critics, x).min(0)


model = TwinCritic(3, nnx.Rngs(0))
print(model(jnp.ones((5, 3))).shape)
""",
    ),
    "with has_aux the value is a pair": lined(
        "NNX850",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)


class Learner:
    def __init__(self, net, lr):
        self.net = net
        self.opt = nnx.Optimizer(net, optax.adam(lr), wrt=nnx.Param)
        self.running = 0.0

    def step(self, x, y):
        def objective(net):
            logits = net(x)
            loss = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
            return loss, logits

-|        loss, grads = nnx.value_and_grad(objective, has_aux=True)(self.net)
+|        (loss, _), grads = nnx.value_and_grad(objective, has_aux=True)(self.net)
        self.opt.update(self.net, grads)
        self.running = 0.9 * self.running + 0.1 * loss
        return self.running


learner = Learner(Net(nnx.Rngs(0)), 1e-3)
print(learner.step(jnp.ones((2, 4)), jnp.array([0, 1])))
""",
    ),
    "the loss calls the outer model, not its argument": lined(
        "NNX852",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class UNet(nnx.Module):
    def __init__(self, rngs):
        self.down = nnx.Linear(4, 8, rngs=rngs)
        self.up = nnx.Linear(8, 4, rngs=rngs)

    def __call__(self, x, t):
        return self.up(nnx.silu(self.down(x) + t[:, None]))


@nnx.jit
def train_step(model, optimizer, x, key):
    k1, k2 = jax.random.split(key)
    t = jax.random.uniform(k1, (x.shape[0],))
    noise = jax.random.normal(k2, x.shape)
    noisy = jnp.sqrt(1 - t)[:, None] * x + jnp.sqrt(t)[:, None] * noise

    def loss_fn(net):
-|        pred = model(noisy, t)
+|        pred = net(noisy, t)
        return ((pred - noise) ** 2).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss


model = UNet(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(1), (16, 4))
for i in range(4):
    print(train_step(model, optimizer, x, jax.random.key(i)))
""",
    ),
    "the gradient of a bound method is taken of the batch": lined(
        "NNX852",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Regression:
    def __init__(self, seed):
        self.model = nnx.Linear(3, 1, rngs=nnx.Rngs(seed))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)

-|    def loss(self, x, y):
-|        return ((self.model(x) - y) ** 2).mean()
+|    def loss(self, model, x, y):
+|        return ((model(x) - y) ** 2).mean()

    def fit(self, x, y, steps):
        for _ in range(steps):
-|            value, grads = nnx.value_and_grad(self.loss)(x, y)
+|            value, grads = nnx.value_and_grad(self.loss)(self.model, x, y)
            self.optimizer.update(self.model, grads)
        return value


x = jax.random.normal(jax.random.key(0), (8, 3))
print(Regression(0).fit(x, x.sum(-1, keepdims=True), 3))
""",
    ),
    "a method without its parentheses": lined(
        "NNX815",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.fc = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.fc(self.drop(x))


def predict_all(model, batches):
-|    model.eval
+|    model.eval()
    return [model(x).argmax(-1) for x in batches]


model = Net(nnx.Rngs(0))
xs = jax.random.normal(jax.random.key(0), (3, 5, 4))
print(predict_all(model, xs))
""",
    ),
    "a list indexed by a traced number": lined(
        "NNX821",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class MoE(nnx.Module):
    def __init__(self, dim, n, rngs):
        self.router = nnx.Linear(dim, n, rngs=rngs)
        self.experts = nnx.List([nnx.Linear(dim, dim, rngs=rngs) for _ in range(n)])

    def __call__(self, x):
        weights = jax.nn.softmax(self.router(x))
-|        best = weights.mean(0).argmax()
-|        return self.experts[best](x)
+|        outs = jnp.stack([expert(x) for expert in self.experts], axis=1)
+|        return (weights[..., None] * outs).sum(1)


@nnx.jit
def forward(model, x):
    return model(x)


print(forward(MoE(4, 3, nnx.Rngs(0)), jnp.ones((2, 4))).shape)
""",
    ),
    "a counter Variable is replaced by an array": lined(
        "NNX846",
        r'''
import jax
import jax.numpy as jnp
from flax import nnx


class Count(nnx.Variable):
    pass


class Running(nnx.Module):
    """Keeps the mean of what it has seen."""

    def __init__(self, dim):
        self.n = Count(jnp.array(0.0))
        self.total = Count(jnp.zeros(dim))

    def update(self, batch):
-|        self.n = self.n + batch.shape[0]
-|        self.total = self.total + batch.sum(0)
+|        self.n[...] = self.n[...] + batch.shape[0]
+|        self.total[...] = self.total[...] + batch.sum(0)

    def mean(self):
        return self.total / self.n


stats = Running(3)
for i in range(3):
    stats.update(jnp.full((4, 3), float(i)))
print(stats.mean(), len(jax.tree.leaves(nnx.state(stats, Count))))
''',
    ),
    "the result of model.eval() is used": lined(
        "NNX711",
        r"""
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 2, rngs=rngs)
        self.bn = nnx.BatchNorm(2, rngs=rngs)

    def __call__(self, x):
        return self.bn(self.fc(x))


def evaluate(model, batches):
-|    net = model.eval()
-|    return [net(x).mean() for x in batches]
+|    model.eval()
+|    return [model(x).mean() for x in batches]


model = Net(nnx.Rngs(0))
print(evaluate(model, [jnp.ones((2, 4))]))
""",
    ),
    "new parameters are computed and not put back": lined(
        "NNX842",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class MLP(nnx.Module):
    def __init__(self, rngs):
        self.l1 = nnx.Linear(1, 16, rngs=rngs)
        self.l2 = nnx.Linear(16, 1, rngs=rngs)

    def __call__(self, x):
        return self.l2(nnx.tanh(self.l1(x)))


@nnx.jit
def sgd_step(model, x, y, lr):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    params = nnx.state(model, nnx.Param)
    params = jax.tree.map(lambda p, g: p - lr * g, params, grads)
+|    nnx.update(model, params)
    return loss


model = MLP(nnx.Rngs(0))
x = jnp.linspace(-1, 1, 32)[:, None]
losses = [float(sgd_step(model, x, x**2, 0.1)) for _ in range(5)]
print(losses)
""",
    ),
    "nnx.jit of a lambda that closes over the model": lined(
        "NNX801",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


def main():
    model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
-|    predict = jax.jit(lambda x: model(x))
+|    predict = nnx.jit(lambda m, x: m(x))

    @nnx.jit
    def train_step(model, optimizer, x, y):
        grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
        optimizer.update(model, grads)

    x = jax.random.normal(jax.random.key(0), (16, 3))
    y = x.sum(-1, keepdims=True)
    for epoch in range(3):
        for _ in range(5):
            train_step(model, optimizer, x, y)
-|        print(epoch, ((predict(x) - y) ** 2).mean())
+|        print(epoch, ((predict(model, x) - y) ** 2).mean())


main()
""",
    ),
    "a list in the class body is shared, and no part of the module": lined(
        "NNX899",
        r"""
import jax
import jax.numpy as jnp
from flax import nnx


class MLP(nnx.Module):
-|    layers = []
-|
    def __init__(self, sizes, rngs):
+|        self.layers = nnx.List([])
        for din, dout in zip(sizes[:-1], sizes[1:]):
            self.layers.append(nnx.Linear(din, dout, rngs=rngs))

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = nnx.relu(layer(x))
        return self.layers[-1](x)


model = MLP([4, 8, 2], nnx.Rngs(0))
print(model(jnp.ones((1, 4))).shape, len(jax.tree.leaves(nnx.state(model, nnx.Param))))
""",
    ),
    "subclass that forgets super().__init__": lined(
        "NNX875",
        r"""
import jax.numpy as jnp
from flax import nnx


class Backbone(nnx.Module):
    def __init__(self, dim, rngs):
        self.norm = nnx.LayerNorm(dim, rngs=rngs)
        self.proj = nnx.Linear(dim, dim, rngs=rngs)

    def features(self, x):
        return nnx.relu(self.proj(self.norm(x)))


class Classifier(Backbone):
    def __init__(self, dim, classes, rngs):
+|        super().__init__(dim, rngs)
        self.head = nnx.Linear(dim, classes, rngs=rngs)

    def __call__(self, x):
        return self.head(self.features(x))


model = Classifier(4, 3, nnx.Rngs(0))
print(model(jnp.ones((2, 4))).shape)
""",
        missed=True,
    ),
    "memory dimension must be divisible by number of heads": lined(
        "NNX874",
        r"""
import jax.numpy as jnp
from flax import nnx


class Block(nnx.Module):
    def __init__(self, dim, heads, rngs):
        self.norm = nnx.LayerNorm(dim, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=heads, in_features=dim, decode=False, rngs=rngs)

    def __call__(self, x):
        return x + self.attn(self.norm(x))


class ViT(nnx.Module):
    def __init__(self, rngs, dim=64, depth=2):
-|        self.blocks = nnx.List([Block(dim, 6, rngs) for _ in range(depth)])
+|        self.blocks = nnx.List([Block(dim, 8, rngs) for _ in range(depth)])

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return x


print(ViT(nnx.Rngs(0))(jnp.ones((1, 4, 64))).shape)
""",
    ),
    "GroupNorm has 32 groups by default": lined(
        "NNX874",
        r"""
import jax.numpy as jnp
from flax import nnx


class ConvBlock(nnx.Module):
    def __init__(self, din, dout, rngs):
        self.conv = nnx.Conv(din, dout, (3, 3), rngs=rngs)
-|        self.norm = nnx.GroupNorm(dout, rngs=rngs)
+|        self.norm = nnx.GroupNorm(dout, num_groups=8, rngs=rngs)

    def __call__(self, x):
        return nnx.silu(self.norm(self.conv(x)))


class UNet(nnx.Module):
    def __init__(self, rngs):
        self.inc = ConvBlock(3, 16, rngs)
        self.out = nnx.Conv(16, 3, (1, 1), rngs=rngs)

    def __call__(self, x):
        return self.out(self.inc(x))


print(UNet(nnx.Rngs(0))(jnp.ones((1, 8, 8, 3))).shape)
""",
    ),
    "the window is a number": lined(
        "NNX874",
        r"""
import jax.numpy as jnp
from flax import nnx


class LeNet(nnx.Module):
    def __init__(self, rngs):
        self.c1 = nnx.Conv(1, 6, (5, 5), rngs=rngs)
        self.fc = nnx.Linear(6 * 14 * 14, 10, rngs=rngs)

    def __call__(self, x):
-|        x = nnx.max_pool(nnx.relu(self.c1(x)), window_shape=2, strides=2)
+|        x = nnx.max_pool(nnx.relu(self.c1(x)), window_shape=(2, 2), strides=(2, 2))
        return self.fc(x.reshape(x.shape[0], -1))


print(LeNet(nnx.Rngs(0))(jnp.ones((2, 28, 28, 1))).shape)
""",
    ),
    "layers are made in __call__, with new weights each time": lined(
        "NNX832",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, hidden, rngs):
        self.hidden = hidden
        self.rngs = rngs
        self.out = nnx.Linear(hidden, 1, rngs=rngs)
+|        self.inner = nnx.Linear(4, hidden, rngs=rngs)

    def __call__(self, x):
-|        x = nnx.Linear(x.shape[-1], self.hidden, rngs=self.rngs)(x)
+|        x = self.inner(x)
        return self.out(nnx.relu(x))


@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss


model = Net(8, nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (8, 4))
for _ in range(4):
    print(train_step(model, optimizer, x, x.sum(-1, keepdims=True)))
""",
    ),
    "the list holds one model many times": lined(
        "NNX859",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


@nnx.jit
def train_step(model, optimizer, x, y):
    grads = nnx.grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)


def snapshot_ensemble(model, optimizer, x, y, cycles):
    snapshots = []
    for cycle in range(cycles):
        for _ in range(3):
            train_step(model, optimizer, x, y)
-|        snapshots.append(model)
+|        snapshots.append(nnx.clone(model))
    return snapshots


model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.05), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (16, 3))
models = snapshot_ensemble(model, optimizer, x, x.sum(-1, keepdims=True), 3)
print(jnp.stack([m(x) for m in models]).std(0).max())
""",
    ),
    "the step gets the optimizer of another round": lined(
        "NNX854",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, width, rngs):
        self.a = nnx.Linear(2, width, rngs=rngs)
        self.b = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x):
        return self.b(nnx.relu(self.a(x)))


@nnx.jit
def step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(model)
    optimizer.update(model, grads)
    return loss


x = jax.random.normal(jax.random.key(0), (16, 2))
y = x.sum(-1, keepdims=True)
-|optimizer = nnx.Optimizer(Net(8, nnx.Rngs(0)), optax.adam(1e-2), wrt=nnx.Param)
for width in (8, 16, 32):
    model = Net(width, nnx.Rngs(0))
+|    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    for _ in range(3):
        loss = step(model, optimizer, x, y)
    print(width, loss)
""",
    ),
    "the clipping stands behind Adam": lined(
        "NNX842",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Trainer:
    def __init__(self, model, lr, clip):
        self.model = model
-|        tx = optax.chain(optax.adam(lr), optax.clip_by_global_norm(clip))
+|        tx = optax.chain(optax.clip_by_global_norm(clip), optax.adam(lr))
        self.optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)

    def step(self, x, y):
        loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(self.model)
        self.optimizer.update(self.model, grads)
        return float(loss)


trainer = Trainer(nnx.Linear(3, 1, rngs=nnx.Rngs(0)), 0.1, 0.01)
x = jax.random.normal(jax.random.key(0), (8, 3)) * jnp.array([1.0, 100.0, 1e-9])
print([trainer.step(x, x.sum(-1, keepdims=True)) for _ in range(3)])
""",
        missed=True,
    ),
    "an update of the optimizer with the state in the place of the model": lined(
        "NNX105",
        r"""
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.fc(x)


@nnx.jit
def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
-|    optimizer.update(grads, model)
+|    optimizer.update(model, grads)
    return loss


model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
for _ in range(2):
    print(step(model, optimizer, jnp.ones((2, 4))))
""",
    ),
}

"""Wrong and right uses of Flax Linen."""

from __future__ import annotations

from tests.lint.tables import Cases

CASES = {
    "NNX548": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
from flax.training import train_state
params = Net().init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
state = train_state.TrainState.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1))
@jax.jit
def step(state, v, masks):
    def loss(params):
        out = state.apply_fn({"params": params}, v, train=False, rngs={"dropout": masks})  # NNX548
        return out.mean()
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
state = step(state, jnp.ones((2, 3)), key)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
net, tx = Net(), optax.sgd(0.1)
def step(params, opt_state, v, masks):
    def loss(params):
        return net.apply({"params": params}, v, rngs={"dropout": masks}, train=False).sum()  # NNX548
    value, grads = jax.value_and_grad(loss)(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, value
params = net.init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
print(step(params, tx.init(params), jnp.ones((2, 3)), key)[2])
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
from flax.training import train_state
params = Net().init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
state = train_state.TrainState.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1))
def loss_fn(params, v, masks, train=True):
    return Net().apply({"params": params}, v, train=train, rngs={"dropout": masks}).mean()
@jax.jit
def step(state, v, masks):
    value, grads = jax.value_and_grad(loss_fn)(state.params, v, masks, train=False)  # NNX548
    return state.apply_gradients(grads=grads), value
state, value = step(state, jnp.ones((2, 3)), key)
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
from flax.training import train_state
params = Net().init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
state = train_state.TrainState.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1))
@jax.jit
def step(state, v, masks):
    def loss(params):
        out = state.apply_fn({"params": params}, v, train=True, rngs={"dropout": masks})
        return out.mean()
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
state = step(state, jnp.ones((2, 3)), key)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
net, tx = Net(), optax.sgd(0.1)
def step(params, opt_state, v):
    def loss(params):
        return net.apply({"params": params}, v, train=False).sum()
    value, grads = jax.value_and_grad(loss)(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, value
params = net.init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
print(step(params, tx.init(params), jnp.ones((2, 3)))[2])
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
from flax.training import train_state
params = Net().init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
state = train_state.TrainState.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1))
def loss_fn(params, v, masks, train=True):
    return Net().apply({"params": params}, v, train=train, rngs={"dropout": masks}).mean()
@jax.jit
def step(state, v, masks):
    value, grads = jax.value_and_grad(loss_fn)(state.params, v, masks, train=True)
    return state.apply_gradients(grads=grads), value
state, value = step(state, jnp.ones((2, 3)), key)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
from flax.training import train_state
params = Net().init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
state = train_state.TrainState.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1))
def loss_fn(params, v, masks, train=True):
    return Net().apply({"params": params}, v, train=train, rngs={"dropout": masks}).mean()
@jax.jit
def step(state, v, masks):
    value, grads = jax.value_and_grad(loss_fn)(state.params, v, masks, train=True)
    return state.apply_gradients(grads=grads), value
@jax.jit
def evaluate(state, v, masks):
    value, _ = jax.value_and_grad(loss_fn)(state.params, v, masks, train=False)
    return value
state, value = step(state, jnp.ones((2, 3)), key)
print(evaluate(state, jnp.ones((2, 3)), key))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
net = Net()
params = net.init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
def attribution(params, v, masks):
    def score(params):
        return net.apply({"params": params}, v, train=False, rngs={"dropout": masks}).sum()
    return jax.grad(score)(params)
print(attribution(params, jnp.ones((2, 3)), key))
""",
        ),
    ),
    "NNX696": Cases(
        bad=(
            """\
from flax import linen as nn
class Autoencoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)
    def __call__(self, v):
        return self.decoder(self.encoder(v))
auto = Autoencoder()
variables = auto.init(jax.random.key(0), jnp.ones((1, 3)))
print(auto.decoder.apply({"params": variables["params"]["decoder"]}, jnp.ones((1, 2))))  # NNX696
""",
            """\
from flax import linen as nn
class Autoencoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)
    def __call__(self, v):
        return self.decoder(self.encoder(v))
auto = Autoencoder()
variables = auto.init(jax.random.key(0), jnp.ones((1, 3)))
def sample(key):
    return auto.apply(variables, jax.random.normal(key, (4, 2)), method=auto.decoder)  # NNX696
print(sample(jax.random.key(1)))
""",
            """\
from flax import linen as nn
class Autoencoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)
    def __call__(self, v):
        return self.decoder(self.encoder(v))
auto = Autoencoder()
variables = auto.init(jax.random.key(0), jnp.ones((1, 3)))
class Sampler:
    def __init__(self):
        self.net = Autoencoder()
    def decode(self, variables, z):
        return self.net.decoder.apply({"params": variables["params"]["decoder"]}, z)  # NNX696
print(Sampler().decode(variables, jnp.ones((1, 2))))
""",
            """\
from flax import linen as nn
class Autoencoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)
    def __call__(self, v):
        return self.decoder(self.encoder(v))
auto = Autoencoder()
variables = auto.init(jax.random.key(0), jnp.ones((1, 3)))
class Deep(Autoencoder):
    pass
def features():
    deep = Deep()
    return deep.encoder.features  # NNX696
print(features())
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    hidden: nn.Module
    def setup(self):
        self.out = nn.Dense(2)
    def __call__(self, v):
        return self.out(self.hidden(v))
    def features(self, v):
        return self.hidden(v)
made = Net(nn.Dense(4))
variables = made.init(jax.random.key(0), jnp.ones((1, 3)))
print(made.hidden.features, made.apply(variables, jnp.ones((1, 3)), method=made.features).shape)
""",
            """\
from flax import linen as nn
class Autoencoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)
    def __call__(self, v):
        return self.decoder(self.encoder(v))
auto = Autoencoder()
variables = auto.init(jax.random.key(0), jnp.ones((1, 3)))
print(auto.apply(variables, jnp.ones((1, 2)), method=lambda module, z: module.decoder(z)))
print(auto.bind(variables).decoder(jnp.ones((1, 2))))
""",
            """\
from flax import linen as nn
class Autoencoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)
    def __call__(self, v):
        return self.decoder(self.encoder(v))
auto = Autoencoder()
variables = auto.init(jax.random.key(0), jnp.ones((1, 3)))
def run(module, v):
    return module.encoder(v)
print(nn.apply(run, auto)(variables, jnp.ones((1, 3))))
""",
            """\
from flax import linen as nn
class Autoencoder(nn.Module):
    width: int = 3
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)
    def __call__(self, v):
        return self.decoder(self.encoder(v))
auto = Autoencoder()
variables = auto.init(jax.random.key(0), jnp.ones((1, 3)))
print(auto.width)
class Outer(nn.Module):
    def setup(self):
        self.inner = Autoencoder()
    def __call__(self, v):
        return self.inner.decoder(self.inner.encoder(v))
print(Outer().init_with_output(jax.random.key(0), jnp.ones((1, 3)))[0].shape)
""",
            """\
from flax import linen as nn
class Autoencoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(3)
    def __call__(self, v):
        return self.decoder(self.encoder(v))
auto = Autoencoder()
variables = auto.init(jax.random.key(0), jnp.ones((1, 3)))
try:
    print(auto.decoder)
except AttributeError:
    print("not yet")
""",
        ),
    ),
    "NNX629": Cases(
        bad=(
            """\
from flax import linen as nn
from flax.training import train_state
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
class State(train_state.TrainState):
    key: jax.Array
def begun(v):
    params = Net().init(jax.random.key(0), v, train=False)["params"]
    return State.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1), key=jax.random.key(1))
@jax.jit
def step(state, v):
    def loss(params):
        return state.apply_fn({"params": params}, v, rngs={"dropout": state.key}).mean()  # NNX629
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
state = begun(jnp.ones((2, 3)))
for _ in range(3):
    state = step(state, jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
from flax.training import train_state
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
class State(train_state.TrainState):
    key: jax.Array
def begun(v):
    params = Net().init(jax.random.key(0), v, train=False)["params"]
    return State.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1), key=jax.random.key(1))
def step(state, v):
    masks = state.key
    def loss(params):
        out = Net().apply({"params": params}, v, rngs={"dropout": masks})  # NNX629
        return out.mean()
    grads = jax.grad(loss)(state.params)
    state = state.apply_gradients(grads=grads)
    return state
state = begun(jnp.ones((2, 3)))
for _ in range(3):
    state = step(state, jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
from flax.training import train_state
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
class State(train_state.TrainState):
    key: jax.Array
def begun(v):
    params = Net().init(jax.random.key(0), v, train=False)["params"]
    return State.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1), key=jax.random.key(1))
@jax.jit
def step(state, v):
    _, masks = jax.random.split(state.key)
    def loss(params):
        return state.apply_fn({"params": params}, v, rngs={"dropout": masks}).mean()  # NNX629
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
state = begun(jnp.ones((2, 3)))
for _ in range(3):
    state = step(state, jnp.ones((2, 3)))
""",
        ),
        clean=(
            """\
from flax import linen as nn
from flax.training import train_state
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
class State(train_state.TrainState):
    key: jax.Array
def begun(v):
    params = Net().init(jax.random.key(0), v, train=False)["params"]
    return State.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1), key=jax.random.key(1))
@jax.jit
def step(state, v):
    masks = jax.random.fold_in(state.key, state.step)
    def loss(params):
        return state.apply_fn({"params": params}, v, rngs={"dropout": masks}).mean()
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
state = begun(jnp.ones((2, 3)))
for _ in range(3):
    state = step(state, jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
from flax.training import train_state
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
class State(train_state.TrainState):
    key: jax.Array
def begun(v):
    params = Net().init(jax.random.key(0), v, train=False)["params"]
    return State.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1), key=jax.random.key(1))
@jax.jit
def step(state, v):
    new, masks = jax.random.split(state.key)
    def loss(params):
        return state.apply_fn({"params": params}, v, rngs={"dropout": masks}).mean()
    return state.apply_gradients(grads=jax.grad(loss)(state.params), key=new)
state = begun(jnp.ones((2, 3)))
for _ in range(3):
    state = step(state, jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
from flax.training import train_state
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
class State(train_state.TrainState):
    key: jax.Array
def begun(v):
    params = Net().init(jax.random.key(0), v, train=False)["params"]
    return State.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1), key=jax.random.key(1))
@jax.jit
def step(state, v):
    def loss(params):
        return state.apply_fn({"params": params}, v, rngs={"dropout": state.key}).mean()
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
state = begun(jnp.ones((2, 3)))
for i in range(3):
    state = step(state.replace(key=jax.random.key(i)), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
from flax.training import train_state
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
class State(train_state.TrainState):
    key: jax.Array
def begun(v):
    params = Net().init(jax.random.key(0), v, train=False)["params"]
    return State.create(apply_fn=Net().apply, params=params, tx=optax.sgd(0.1), key=jax.random.key(1))
@jax.jit
def step(state, v):
    def loss(params):
        return state.apply_fn({"params": params}, v, train=False, rngs={"params": state.key}).mean()
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
state = begun(jnp.ones((2, 3)))
for _ in range(3):
    state = step(state, jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX627": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        h = nn.relu(nn.Dense(8)(v))
        if train:
            aux = nn.Dense(3)(h)
        out = nn.Dense(3)(h)
        return (out, aux) if train else out
params = Net().init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
def loss(params, v):
    out, aux = Net().apply({"params": params}, v, train=True)  # NNX627
    return out.mean() + aux.mean()
print(jax.grad(loss)(params, jnp.ones((2, 3))))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    aux: bool = False
    @nn.compact
    def __call__(self, v):
        h = nn.Dense(8)(v)
        if not self.aux:
            return h
        return nn.Dense(3)(h)
def begun(v):
    return Net().init(jax.random.key(0), v)
variables = begun(jnp.ones((2, 3)))
y = Net(aux=True).apply(variables, jnp.ones((2, 3)))  # NNX627
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(2)
        self.outer = nn.Dense(3)
    def encode(self, v):
        return self.inner(v)
    def decode(self, z):
        return self.outer(z)
coder = Coder()
variables = coder.init(jax.random.key(0), jnp.ones((2, 3)), method="encode")
y = coder.apply(variables, jnp.ones((2, 2)), method="decode")  # NNX627
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.body = nn.Dense(4)
        self.head = nn.Dense(2)
    def features(self, v):
        return nn.relu(self.body(v))
    def classify(self, v):
        return self.head(self.features(v))
    def __call__(self, v):
        return self.features(v)
def logits(params, v):
    return Net().apply({"params": params}, v, method=Net.classify)  # NNX627
params = Net().init(jax.random.key(0), jnp.ones((2, 3)))["params"]
print(logits(params, jnp.ones((2, 3))))
""",
            """\
from flax import linen as nn
class Decoder(nn.Module):
    @nn.compact
    def __call__(self, z):
        return nn.Dense(3)(nn.relu(nn.Dense(8)(z)))
class Model(nn.Module):
    def setup(self):
        self.enc, self.size = nn.Dense(2), 2
        self.dec = Decoder()
    def encode(self, v):
        return self.enc(v)
    def __call__(self, v):
        return self.dec(self.encode(v))
class Run:
    def __init__(self):
        self.model = Model()
        self.variables = self.model.init(jax.random.key(0), jnp.ones((2, 3)), method=self.model.encode)
    def __call__(self, v):
        return self.model.apply(self.variables, v)  # NNX627
Run()(jnp.ones((2, 3)))
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        h = nn.relu(nn.Dense(8)(v))
        if train:
            aux = nn.Dense(3)(h)
        out = nn.Dense(3)(h)
        return (out, aux) if train else out
params = Net().init(jax.random.key(0), jnp.ones((2, 3)), train=True)["params"]
print(Net().apply({"params": params}, jnp.ones((2, 3)), train=True)[1].shape)
print(Net().apply({"params": Net().init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]}, x[None], False))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        if train:
            return nn.Dense(3)(v * 2)
        return nn.Dense(3)(v)
params = Net().init(jax.random.key(0), jnp.ones((2, 3)), train=False)["params"]
print(Net().apply({"params": params}, jnp.ones((2, 3)), train=True).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    aux: bool = False
    @nn.compact
    def __call__(self, v):
        h = nn.Dense(8)(v)
        if not self.aux:
            return h
        return nn.Dense(3)(h)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
first = Net(aux=False).apply(variables, jnp.ones((2, 3)))
variables = Net(True).init(jax.random.key(0), jnp.ones((2, 3)))
second = Net(aux=True).apply(variables, jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(2)
        self.outer = nn.Dense(3)
    def encode(self, v):
        if self.is_initializing():
            self.outer(jnp.ones((1, 2)))
        return self.inner(v)
    def decode(self, z):
        return self.outer(z)
coder = Coder()
variables = coder.init(jax.random.key(0), jnp.ones((2, 3)), method="encode")
y = coder.apply(variables, jnp.ones((2, 2)), method="decode")
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(2)
        self.outer = nn.Dense(3)
    def encode(self, v):
        return self.inner(v)
    def decode(self, z):
        return self.outer(z)
coder = Coder()
first = coder.init(jax.random.key(0), jnp.ones((2, 3)), method="encode")
second = coder.init(jax.random.key(1), jnp.ones((2, 2)), method="decode")
first["params"].update(second["params"])
y = coder.apply(first, jnp.ones((2, 2)), method="decode")
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(2)
        self.outer = nn.Dense(3)
    def encode(self, v):
        return self.inner(v)
    def decode(self, z):
        return self.outer(z)
    def everything(self, v):
        return [step(z) for step, z in ((self.encode, v), (self.decode, jnp.ones((2, 2))))]
coder = Coder()
variables = coder.init(jax.random.key(0), jnp.ones((2, 3)), method=coder.everything)
y = coder.apply(variables, jnp.ones((2, 2)), method=Coder.decode)
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(2)
        self.outer = self.inner
    def encode(self, v):
        return self.inner(v)
    def decode(self, z):
        return self.outer(z)
coder = Coder()
variables = coder.init(jax.random.key(0), jnp.ones((2, 2)), method=coder.encode)
y = coder.apply(variables, jnp.ones((2, 2)), method=coder.decode)
z, made = coder.apply({}, jnp.ones((2, 2)), method=coder.decode, rngs={"params": jax.random.key(0)}, mutable=True)
""",
        ),
    ),
    "NNX540": Cases(
        bad=(
            """\
from flax import linen as nn
class Counted(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        count = self.variable("stats", "count", jnp.zeros, ())
        mean = self.variable("stats", "mean", jnp.zeros, (3,))
        count.value += v.shape[0]  # NNX540
        mean.value = 0.9 * mean.value + 0.1 * v.mean(0)
        return nn.Dense(2)(v - mean.value)
net = Counted()
variables = net.init(key, x)
print(net.apply(variables, x, mutable=["stats"])[1]["stats"])
""",
            """\
from flax import linen as nn
class Carried(nn.Module):
    def setup(self):
        self.carry = self.variable("memory", "carry", lambda: jnp.zeros((1, 3)))
        self.cell = nn.Dense(3)
    def __call__(self, v):
        hidden = nn.tanh(self.cell(v + self.carry.value))
        self.carry.value = hidden  # NNX540
        return hidden
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(Carried()(v))
net = Net()
def start(v):
    variables = net.init(key, v)
    return variables["params"], variables["memory"]
params, memory = start(jnp.ones((1, 3)))
""",
            """\
from flax import linen as nn
class Counted(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        count = self.variable("stats", "count", jnp.zeros, ())
        mean = self.variable("stats", "mean", jnp.zeros, (3,))
        if train:
            count.value += v.shape[0]  # NNX540
        mean.value = 0.9 * mean.value + 0.1 * v.mean(0)
        return nn.Dense(2)(v - mean.value)
net = Counted()
variables = net.init(key, x)
print(net.apply(variables, x, mutable=["stats"])[1]["stats"])
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Counted(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        count = self.variable("stats", "count", jnp.zeros, ())
        mean = self.variable("stats", "mean", jnp.zeros, (3,))
        if not self.is_initializing():
            count.value += v.shape[0]
            mean.value = 0.9 * mean.value + 0.1 * v.mean(0)
        return nn.Dense(2)(v - mean.value)
net = Counted()
variables = net.init(key, x)
print(net.apply(variables, x, mutable=["stats"])[1]["stats"])
""",
            """\
from flax import linen as nn
class Counted(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        count = self.variable("stats", "count", jnp.zeros, ())
        mean = self.variable("stats", "mean", jnp.zeros, (3,))
        if train:
            count.value += v.shape[0]
        return nn.Dense(2)(v - mean.value)
net = Counted()
variables = net.init(key, x, train=False)
print(net.apply(variables, x, mutable=["stats"])[1]["stats"])
""",
            """\
from flax import linen as nn
class Counted(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        count = self.variable("stats", "count", jnp.zeros, ())
        mean = self.variable("stats", "mean", jnp.zeros, (3,))
        count.value += v.shape[0]
        mean.value = 0.9 * mean.value + 0.1 * v.mean(0)
        return nn.Dense(2)(v - mean.value)
net = Counted()
params = net.init(key, x)["params"]
print(net.apply({"params": params}, x, mutable=["stats"])[1]["stats"])
""",
            """\
from flax import linen as nn
class Kept(nn.Module):
    @nn.compact
    def __call__(self, v):
        last = self.variable("stats", "last", jnp.zeros, (3,))
        last.value = v.mean(0)
        return nn.Dense(2)(v)
variables = Kept().init(key, x)
print(Kept().apply(variables, x, mutable=["stats"])[1]["stats"])
""",
            """\
from flax import linen as nn
class Summed(nn.Module):
    @nn.compact
    def __call__(self, v):
        fresh = self.has_variable("stats", "total")
        total = self.variable("stats", "total", jnp.zeros, ())
        if fresh:
            total.value = total.value + v.sum()
        return nn.Dense(2)(v)
variables = Summed().init(key, x)
print(Summed().apply(variables, x, mutable=["stats"])[1]["stats"])
""",
        ),
    ),
    "NNX586": Cases(
        bad=(
            """\
from flax import linen as nn
net = nn.Dense(2)
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
y = net(jnp.ones((2, 3)))  # NNX586
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
def run(v):
    net = Net()
    variables = net.init(jax.random.key(0), v)
    return net(v), net.apply(variables, v)  # NNX586
print(run(jnp.ones((2, 3))))
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(2)
    def encode(self, v):
        return self.inner(v)
    def __call__(self, v):
        return nn.relu(self.encode(v))
coder = Coder()
variables = coder.init(jax.random.key(0), jnp.ones((2, 3)))
z = coder.encode(jnp.ones((2, 3)))  # NNX586
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(3)
    def encode(self, v):
        return self.inner(v)
    def __call__(self, v):
        return nn.relu(self.encode(v))
def encoded(coder, variables, v):
    return coder.encode({"params": variables["params"]}, v)  # NNX586
coder = Coder()
variables = coder.init(key, x)
print(encoded(coder, variables, x))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
class Trainer:
    def __init__(self):
        self.net = Net()
        self.params = self.net.init(key, x)["params"]
    def predict(self, v):
        return self.net({"params": self.params}, v)  # NNX586
Trainer().predict(x)
""",
        ),
        clean=(
            """\
from flax import linen as nn
net = nn.Dense(2)
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
print(net.apply(variables, jnp.ones((2, 3))).shape, net.bind(variables)(jnp.ones((2, 3))).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
class Outer(nn.Module):
    @nn.compact
    def __call__(self, v):
        inner = Net()
        return inner(v) + inner(v)
variables = Outer().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(2)
    def encode(self, v):
        return self.inner(v)
    def sizes(self, v):
        return v.shape
    def __call__(self, v):
        return nn.relu(self.encode(v))
coder = Coder()
variables = coder.init(jax.random.key(0), jnp.ones((2, 3)))
print(coder.apply(variables, jnp.ones((2, 3)), method=coder.encode).shape, coder.sizes(jnp.ones((2, 3))))
""",
            """\
from flax import linen as nn
def mlp(v):
    hidden = nn.Dense(4)
    return nn.Dense(2)(hidden(v))
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return mlp(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Coder(nn.Module):
    def setup(self):
        self.inner = nn.Dense(3)
    def encode(self, v):
        return self.inner(v)
    def __call__(self, v):
        return nn.relu(self.encode(v))
def encoded(coder, variables, v):
    return coder.apply({"params": variables["params"]}, v, method="encode"), coder.bind(variables).encode(v)
coder = Coder()
variables = coder.init(key, x)
print(encoded(coder, variables, x))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
    def predict(self, variables, v):
        return self.apply(variables, v)
net = Net()
def predicted(net, params, v):
    return net.predict({"params": params}, v)
print(predicted(net, net.init(key, x)["params"], x))
""",
        ),
    ),
    "NNX587": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(4)(x)
        return nn.Dropout(0.5, deterministic=not train)(x)
net = Net()
variables = net.init(key, x)  # NNX587
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(x))
net = Net()
variables = net.init(key, x)
def loss_fn(params, x):
    return net.apply({"params": params}, x, training=True, rngs={"dropout": key}).mean()  # NNX587
""",
            """\
from flax import linen as nn
class Pair(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(x)
print(Pair().init(key, x, x))  # NNX587
""",
            """\
from flax import linen as nn
variables = nn.Dense(2).init(jnp.ones((2, 3)), jax.random.key(0))  # NNX587
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
example = jnp.zeros((1, 3))
key = jax.random.PRNGKey(0)
net = Net()
variables = net.init(example, key)  # NNX587
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
class Trainer:
    def __init__(self):
        self.model = Net()
        self.variables = self.model.init(42, jnp.ones((2, 3)))  # NNX587
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, *, train=False, **options):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(x))
net = Net()
variables = net.init(key, x)
print(net.apply(variables, x, train=True, scale=2, rngs={"dropout": key}).shape)
""",
            """\
from flax import linen as nn
class Auto(nn.Module):
    def setup(self):
        self.out = nn.Dense(4)
    def __call__(self, x):
        return self.out(x)
    def decode(self, z, factor):
        return factor * self.out(z)
net = Auto()
variables = net.init(key, x)
print(net.apply(variables, x, 2.0, method=net.decode).shape, net.apply(variables, x, mutable=["stats"])[0].shape)
""",
            """\
from flax import linen as nn
class Either(nn.Module):
    @nn.compact
    def __call__(self, *inputs, train=True):
        return nn.Dense(4)(sum(inputs))
net = Either()
print(net.init_with_output(key, x, x, train=False)[0].shape, net.init(rngs=key, train=True) if False else "")
""",
            """\
from flax import linen as nn
variables = nn.Dense(2).init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
variables = Net().init({"params": jax.random.key(0)}, jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Keyed(nn.Module):
    def __call__(self, v, key):
        return v + jax.random.normal(key, v.shape)
variables = Keyed().init(jax.random.key(0), jnp.ones((2, 3)), jax.random.key(1))
""",
            """\
class Own:
    def init(self, v, key):
        return v
print(Own().init(jnp.ones((2, 3)), jax.random.key(0)), optax.sgd(0.1).init(jnp.ones((2, 3))))
""",
        ),
    ),
    "NNX588": Cases(
        bad=(
            """\
from flax import linen as nn
net = nn.Dense(2)
def begin(key):
    variables = net.init(key, x)
    return variables["params"]
def loss_fn(params, x):
    return jnp.mean(net.apply(params, x) ** 2)  # NNX588
def fit(params):
    grads = jax.grad(loss_fn)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
fit(begin(key))
""",
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
net = nn.Dense(2)
state = TrainState.create(apply_fn=net.apply, params=net.init(key, x)["params"], tx=optax.sgd(0.1))
def step(state, x):
    def loss_fn(params):
        return jnp.mean(state.apply_fn(params, x) ** 2)  # NNX588
    return jax.value_and_grad(loss_fn)(state.params)
""",
            """\
from flax import linen as nn
from flax.training import train_state
def begin(key):
    net = nn.Dense(2)
    params = net.init(key, jnp.ones((2, 3)))["params"]
    return net, train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
def embed(net, state, v):
    return net.apply(state.params, v)  # NNX588
def shown(v):
    net, train_state = begin(jax.random.key(0))
    print(embed(net, train_state, v), net.bind(train_state.params)(v))  # NNX588
""",
            """\
from flax import linen as nn
from flax.training import train_state
net = nn.Dense(2)
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
state = train_state.TrainState.create(apply_fn=net.apply, params=variables["params"], tx=optax.sgd(0.1))
y = state.apply_fn(state.params, jnp.ones((2, 3)))  # NNX588
""",
            """\
from flax import linen as nn
net = nn.Dense(2)
params = net.init(jax.random.key(0), jnp.ones((2, 3)))["params"]
y = net.apply(params, jnp.ones((2, 3)))  # NNX588
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
net = Net()
params = net.init(jax.random.key(0), jnp.ones((2, 3)))
y = net.apply({"params": params}, jnp.ones((2, 3)))  # NNX588
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
from flax.training import train_state
net = Net()
params = net.init(jax.random.key(0), jnp.ones((2, 3)))
state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))  # NNX588
def loss(params):
    return state.apply_fn({"params": params}, jnp.ones((2, 3))).sum()
""",
        ),
        clean=(
            """\
from flax import linen as nn
from flax.training import train_state
net = nn.Dense(2)
class Stored:
    def __init__(self, state):
        self.params = {"params": state.params}
def outputs(net, params, v):
    return net.apply(params, v)
state = train_state.TrainState.create(apply_fn=net.apply, params=net.init(key, x)["params"], tx=optax.sgd(0.1))
results = {"best": Stored(state)}
print(outputs(net, results["best"].params, x))
""",
            """\
from flax import linen as nn
net = nn.Dense(2)
def begin(key):
    return net.init(key, x)
def loss_fn(params, x):
    return jnp.mean(net.apply(params, x) ** 2)
def fit(params):
    grads = jax.grad(loss_fn)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
print(jax.tree.map(jnp.shape, fit(begin(key))))
""",
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
net = nn.Dense(2)
state = TrainState.create(apply_fn=net.apply, params=net.init(key, x)["params"], tx=optax.sgd(0.1))
def step(state, x):
    def loss_fn(params):
        return jnp.mean(state.apply_fn({"params": params}, x) ** 2)
    return jax.value_and_grad(loss_fn)(state.params)
print(step(state, x)[0])
""",
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
net = nn.Dense(2)
state = TrainState.create(apply_fn=net.apply, params=net.init(key, x), tx=optax.sgd(0.1))
def step(state, x):
    def loss_fn(params):
        return jnp.mean(state.apply_fn(params, x) ** 2)
    return jax.value_and_grad(loss_fn)(state.params)
print(step(state, x)[0])
""",
            """\
from flax import linen as nn
from flax.training import train_state
def begin(key):
    net = nn.Dense(2)
    params = net.init(key, jnp.ones((2, 3)))["params"]
    return net, train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
def embed(net, state, v):
    return net.apply({"params": state.params}, v)
class Loaded:
    params = nn.Dense(2).init(jax.random.key(1), jnp.ones((2, 3)))
net, state = begin(jax.random.key(0))
print(embed(net, state, jnp.ones((2, 3))), net.apply(Loaded.params, jnp.ones((2, 3))))
""",
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
layer = nn.Dense(3)
variables = layer.init(key, x)
state = TrainState.create(params=variables, tx=optax.sgd(0.1), apply_fn=None)
other = nn.Dense(2)
second = TrainState.create(params=other.init(key, x)["params"], tx=optax.sgd(0.1), apply_fn=other.apply)
print(layer.apply(state.params, x), second.apply_fn({"params": second.params}, x))
""",
            """\
from flax import linen as nn
from flax.training import train_state
net = nn.Dense(2)
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
state = train_state.TrainState.create(apply_fn=net.apply, params=variables, tx=optax.sgd(0.1))
y = state.apply_fn(state.params, jnp.ones((2, 3)))
print(y.shape)
""",
            """\
from flax import linen as nn
net = nn.Dense(2)
params = net.init(jax.random.key(0), jnp.ones((2, 3)))["params"]
print(net.apply({"params": params}, jnp.ones((2, 3))).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
net = Net()
params = net.init(jax.random.key(0), jnp.ones((2, 3)))
print(net.apply(params, jnp.ones((2, 3))).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
from flax.training import train_state
net = Net()
params = net.init(jax.random.key(0), jnp.ones((2, 3)))
state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.sgd(0.1))
print(jax.grad(lambda p: state.apply_fn(p, jnp.ones((2, 3))).sum())(state.params).keys())
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
from flax.training import train_state
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
state = train_state.TrainState.create(apply_fn=net.apply, params=variables["params"], tx=optax.sgd(0.1))
print(state.apply_fn({"params": state.params}, jnp.ones((2, 3))).shape)
""",
        ),
    ),
    "NNX589": Cases(
        bad=(
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v):
        v = linen.Dense(3)(v)
        self.sow("losses", "size", jnp.sum(v**2))
        return v
net = Net()
params = net.init(key, x)["params"]
def loss(params):
    y, extra = net.apply({"params": params}, x, mutable=["intermediates"])
    return y.sum() + sum(jax.tree.leaves(extra.get("losses", {})))  # NNX589
print(loss(params))
""",
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v):
        v = linen.Dense(3)(v)
        self.sow("losses", "size", jnp.sum(v**2))
        return v
net = Net()
params = net.init(key, x)["params"]
def loss(params):
    y, extra = net.apply({"params": params}, x, mutable="intermediates")
    return y.sum(), extra
(value, extra), grads = jax.value_and_grad(loss, has_aux=True)(params)
print(extra["losses"])  # NNX589
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
y = net.apply(variables, jnp.ones((2, 3)), True, mutable=["batch_stats"])
loss = (y**2).mean()  # NNX589
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
def loss(params, stats):
    out = net.apply({"params": params, "batch_stats": stats}, jnp.ones((2, 3)), True, mutable="batch_stats")
    return out.mean()  # NNX589
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
total = net.apply(variables, jnp.ones((2, 3)), True, mutable=True) - 1.0  # NNX589
""",
        ),
        clean=(
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v):
        v = linen.Dense(3)(v)
        self.sow("losses", "size", jnp.sum(v**2))
        return v
net = Net()
params = net.init(key, x)["params"]
def loss(params):
    y, extra = net.apply({"params": params}, x, mutable=["intermediates", "losses"])
    return y.sum() + sum(jax.tree.leaves(extra.get("losses", {})))
print(loss(params))
""",
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v):
        v = linen.Dense(3)(v)
        self.sow("losses", "size", jnp.sum(v**2))
        return v
net = Net()
params = net.init(key, x)["params"]
def loss(params):
    y, extra = net.apply({"params": params}, x, mutable=True)
    return y.sum() + sum(jax.tree.leaves(extra.get("losses", {})))
print(loss(params))
""",
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v):
        v = linen.Dense(3)(v)
        self.sow("losses", "size", jnp.sum(v**2))
        return v
net = Net()
params = net.init(key, x)["params"]
def loss(params, names=('losses',)):
    y, extra = net.apply({"params": params}, x, mutable=list(names))
    return y.sum() + sum(jax.tree.leaves(extra.get("losses", {})))
print(loss(params))
""",
            """\
from flax import linen
class Net(linen.Module):
    @linen.compact
    def __call__(self, v):
        v = linen.Dense(3)(v)
        self.sow("losses", "size", jnp.sum(v**2))
        return v
net = Net()
params = net.init(key, x)["params"]
y, extra = net.apply({"params": params}, x, mutable=["intermediates"])
print(extra["losses"] if "losses" in extra else 0)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
y, updates = net.apply(variables, jnp.ones((2, 3)), True, mutable=["batch_stats"])
print((y**2).mean(), updates.keys())
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
out = net.apply(variables, jnp.ones((2, 3)), True, mutable=["batch_stats"])
print(out[0].shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
y = net.apply(variables, jnp.ones((2, 3)), False, mutable=False)
print(y.mean())
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
y = net.apply(variables, jnp.ones((2, 3)), True, mutable=["batch_stats"])[0]
print(y * 2)
""",
        ),
    ),
    "NNX590": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dropout(0.5)(nn.Dense(4)(v))  # NNX590
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)
        self.norm = nn.BatchNorm(momentum=0.9)
    def __call__(self, v):
        return self.norm(self.dense(v))  # NNX590
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    rate: float = 0.1
    @nn.compact
    def __call__(self, v, train: bool):
        drop = nn.Dropout(rate=self.rate)
        return drop(v)  # NNX590
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        return nn.Dropout(0.5)(nn.Dense(4)(v), deterministic=not train)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.norm = nn.BatchNorm(True)
        self.drop = nn.Dropout(0.5, deterministic=True)
    def __call__(self, v):
        return self.drop(self.norm(v))
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        options = {"use_running_average": True}
        return nn.BatchNorm(**options)(nn.Dropout(0.5)(v, True))
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        norm = functools.partial(nn.BatchNorm, use_running_average=True)
        return norm()(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX591": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
y = net.apply(variables, jnp.ones((2, 3)))  # NNX591
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
def loss(variables):
    return net.apply(variables, jnp.ones((2, 3)), train=True).sum()  # NNX591
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        v = nn.Dense(4)(v)
        return nn.Dropout(rate=0.2)(v, deterministic=False)
net = Net()
y = net.apply(net.init(jax.random.key(0), jnp.ones((2, 3))), jnp.ones((2, 3)))  # NNX591
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
print(net.apply(variables, jnp.ones((2, 3)), rngs={"dropout": jax.random.key(1)}).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
print(net.apply(variables, jnp.ones((2, 3))).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        return nn.Dropout(0.5, deterministic=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
print(net.apply(variables, jnp.ones((2, 3)), False).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    rate: float = 0.0
    @nn.compact
    def __call__(self, v):
        return nn.Dropout(self.rate, deterministic=False)(nn.Dropout(0.0)(v, deterministic=False))
net = Net()
print(net.apply(net.init(jax.random.key(0), jnp.ones((2, 3))), jnp.ones((2, 3))).shape)
""",
        ),
    ),
    "NNX592": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        self.hidden = nn.Dense(4)(v)  # NNX592
        return self.hidden
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)
        self.calls = 0
    def __call__(self, v):
        self.calls += 1  # NNX592
        return self.dense(v)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    width: int = 4
    def __init__(self, width):  # NNX592
        super().__init__()
        self.width = width
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.width)(v)
""",
        ),
        clean=(
            """\
from abc import ABCMeta
from flax import linen as nn
class Explainer(nn.Module, metaclass=ABCMeta):
    "What all explainers have."
    def __init__(self):
        "Not for use as it is."
        raise NotImplementedError("inherit from it")
    @nn.compact
    def __call__(self, v):
        raise NotImplementedError
class Scaled(Explainer):
    width: int = 2
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.width)(v)
print(Scaled(3).init_with_output(jax.random.key(0), jnp.ones((1, 2)))[0].shape)
""",
            """\
from flax import linen as nn
class Dense(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
class Runner(nn.Module):
    def __init__(self, module, length=None):
        self.module = module
        self._length = length
    def predict(self, variables, v):
        return self.module.apply(variables, v)
dense = Dense()
variables = dense.init(jax.random.key(0), jnp.ones((1, 2)))
print(Runner(dense, 3).predict(variables, jnp.ones((1, 2))).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)
    def __call__(self, v):
        hidden = self.dense(v)
        self.sow("intermediates", "hidden", hidden)
        return hidden
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        calls = self.variable("stats", "calls", lambda: jnp.zeros(()))
        calls.value += 1
        return nn.Dense(4)(v)
print(Net().init_with_output(jax.random.key(0), jnp.ones((2, 3)))[1]["stats"])
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    width: int = 4
    def __post_init__(self):
        self.width = 2 * self.width
        super().__post_init__()
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.width)(v)
print(Net().init_with_output(jax.random.key(0), jnp.ones((2, 3)))[0].shape)
""",
            """\
class Net:
    def __init__(self, width):
        self.width = width
    def __call__(self, v):
        self.last = v * self.width
        return self.last
print(Net(2)(jnp.ones((2, 3))).shape)
""",
        ),
    ),
    "NNX593": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        v = nn.Dense(4, name="dense")(v)
        return nn.Dense(2, name="dense")(nn.relu(v))  # NNX593
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    depth: int = 3
    @nn.compact
    def __call__(self, v):
        for _ in range(self.depth):
            v = nn.relu(nn.Dense(4, name="dense")(v))  # NNX593
        return v
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
class Outer(nn.Module):
    @nn.compact
    def __call__(self, v):
        first = Net(name="net")
        second = Net(name="net")  # NNX593
        return first(v) + second(v)
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        for i in range(3):
            v = nn.relu(nn.Dense(4, name=f"dense_{i}")(v))
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    wide: bool = True
    @nn.compact
    def __call__(self, v):
        if self.wide:
            return nn.Dense(8, name="dense")(v)
        return nn.Dense(4, name="dense")(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        dense = nn.Dense(3, name="dense")
        for _ in range(3):
            v = nn.relu(dense(v))
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class One(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(4, name="dense")(v)
class Two(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(4, name="dense")(One(name="one")(v))
variables = Two().init(jax.random.key(0), jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX594": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return v @ self.param("w", nn.initializers.lecun_normal(), v.shape[-1], 4)  # NNX594
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.w = self.param("w", nn.initializers.zeros, 3, 4)  # NNX594
    def __call__(self, v):
        return v @ self.w
""",
            """\
from flax import linen as nn
from jax.nn import initializers
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return v @ self.param("w", initializers.normal(0.1), 3, 4)  # NNX594
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return v @ self.param("w", nn.initializers.lecun_normal(), (v.shape[-1], 4))
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return v @ self.param("w", lambda key, a, b: jax.random.normal(key, (a, b)), 3, 4)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return v @ self.param("w", nn.initializers.zeros, (3, 4), jnp.float32)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
class Own:
    def param(self, name, make, rows, columns):
        return make(jax.random.key(0), (rows, columns))
print(Own().param("w", jax.nn.initializers.zeros, 3, 4))
""",
        ),
    ),
    "NNX595": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def forward(self, v):
        return nn.Dense(4)(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))  # NNX595
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))  # NNX595
""",
            """\
from flax import linen as nn
class Base(nn.Module):
    width: int = 4
class Net(Base):
    @nn.compact
    def encode(self, v):
        return nn.Dense(self.width)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), method=net.encode)
y = net.apply(variables, jnp.ones((2, 3)))  # NNX595
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def encode(self, v):
        return nn.Dense(4)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), method=net.encode)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
class Same(Net):
    pass
variables = Same().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
class Own:
    def init(self, key, v):
        return v
print(Own().init(jax.random.key(0), x))
""",
        ),
    ),
    "NNX596": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    width: int
    depth: int = 2
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.width)(v)
net = Net(depth=3)  # NNX596
""",
            """\
from flax import linen as nn
cell = nn.LSTMCell()  # NNX596
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    width = 4
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.width)(v)
net = Net(width=8)  # NNX596
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(v)
net = Net(hidden=8)  # NNX596
""",
            """\
from flax import linen as nn
class Base(nn.Module):
    width: int = 4
class Net(Base):
    depth: int = 2
    def __call__(self, v):
        return v
net = Net(width=4, layers=3)  # NNX596
""",
        ),
        clean=(
            """\
from flax import linen as nn
import dataclasses
from typing import ClassVar
class Net(nn.Module):
    kinds: ClassVar[int]
    width: int
    sizes: tuple = dataclasses.field(default=(1, 2))
class Same(Net):
    width: int = 3
make = functools.partial(Net, width=3)
print(Net(4).width, Net(width=4).sizes, Same().width, make().width, nn.Dense(features=3).features)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    width: int
    @nn.compact
    def __call__(self, v):
        return nn.Embed(features=self.width, num_embeddings=4)(nn.Conv(3, kernel_size=(1,))(v).argmax(-1))
print(Net(3).width)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.width)(v)
print(Net(width=8, name="net").width)
""",
            """\
from flax import linen as nn
class Base(nn.Module):
    width: int = 4
class Net(Base):
    depth: int = 2
print(Net(width=4, depth=3).depth)
""",
            """\
class Own:
    width = 3
    def __init__(self, **options):
        self.options = options
print(Own(width=8).options)
""",
            """\
from flax import linen as nn
import dataclasses
@dataclasses.dataclass
class Config:
    width: int
class Net(nn.Module):
    config: Config
print(Net(config=Config(width=3)).config.width, Net(parent=None, config=Config(4)).config.width)
""",
        ),
    ),
    "NNX597": Cases(
        bad=(
            """\
from flax import linen as nn
class Base(nn.Module):
    def setup(self):
        self.inner = nn.Dense(4)
class Net(Base):
    def setup(self):
        self.out = nn.Dense(2)
    def __call__(self, v):
        return self.out(self.inner(v))  # NNX597
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        layers = [nn.Dense(4), nn.Dense(2)]
    def __call__(self, v):
        for layer in self.layers:  # NNX597
            v = layer(v)
        return v
""",
            """\
from flax import linen as nn
class Config:
    width = 4
class Net(nn.Module):
    config: Config
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.width)(v)  # NNX597
""",
            """\
from flax import linen as nn
class Base(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)
class Net(Base):
    def __call__(self, v):
        return self.linear(v) + self.dense(v)  # NNX597
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Outer(nn.Module):
    width: int
    @nn.compact
    def __call__(self, x):
        class Block(nn.Module):
            channels: int
            @nn.compact
            def __call__(self, x):
                return nn.Dense(self.channels)(x)
        return Block(channels=self.width)(x)
Outer(3).init(jax.random.key(0), jnp.ones((1, 2)))
""",
            """\
from flax import linen as nn
class Base(nn.Module):
    def setup(self):
        self.inner = nn.Dense(4)
class Net(Base):
    def setup(self):
        super().setup()
        self.out = nn.Dense(2)
    def __call__(self, v):
        return self.out(self.inner(v))
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    sizes = (4, 2)
    def setup(self):
        self.layers = [nn.Dense(size) for size in self.sizes]
    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        for i in range(2):
            setattr(self, f"dense_{i}", nn.Dense(3))
    def __call__(self, v):
        return self.dense_1(self.dense_0(v))
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Base(nn.Module):
    def __call__(self, v):
        return self.inner(v)
class Net(Base):
    def setup(self):
        self.inner = nn.Dense(4)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @property
    def width(self):
        return 4
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.width, name=self.name)(v) if self.scope is None else nn.Dense(self.width)(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX598": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
y = net.apply({"params": variables["params"]}, jnp.ones((2, 3)), False)  # NNX598
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
params = variables["params"]
def loss(params):
    return net.apply({"params": params}, jnp.ones((2, 3)), train=False).sum()  # NNX598
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.norm = nn.BatchNorm(True)
    def __call__(self, v):
        return self.norm(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
given = {"params": variables["params"]}
y = net.apply(given, jnp.ones((2, 3)))  # NNX598
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
print(net.apply(variables, jnp.ones((2, 3)), False).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
both = {"params": variables["params"], "batch_stats": variables["batch_stats"]}
print(net.apply(both, jnp.ones((2, 3)), False).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
print(net.apply({"params": variables["params"]}, jnp.ones((2, 3)), True, mutable=["batch_stats"])[0].shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    norm: bool = False
    @nn.compact
    def __call__(self, v):
        if self.norm:
            v = nn.BatchNorm(True)(v)
        return nn.Dense(4)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
print(net.apply({"params": variables["params"]}, jnp.ones((2, 3))).shape)
""",
        ),
    ),
    "NNX599": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(3, 4, rngs=rngs)
    def __call__(self, v):
        return nnx.relu(self.hidden)  # NNX599
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.relu(nn.Dense(4))  # NNX599
""",
            """\
layer = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
def loss(v):
    return jnp.mean(layer)  # NNX599
""",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(3, 4, rngs=rngs)
    def __call__(self, v):
        return nnx.relu(self.hidden(v))
print(Net(nnx.Rngs(0))(x).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.relu(nn.Dense(4)(v))
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
param = nnx.Param(jnp.ones(3))
print(nnx.relu(param), jnp.mean(param))
""",
            """\
layer = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
print(jnp.mean(layer.kernel), nnx.relu(layer.bias))
""",
        ),
    ),
    "NNX641": Cases(
        bad=(
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v, _):
        return nn.Dense(4)(v), None
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        def body(net, carry, _):
            return nn.Dense(4)(carry), None
        v, _ = nn.scan(body, length=3)(self, v, None)  # NNX641
        return partial(nn.scan, length=2)(Block)()(v, None)[0]  # NNX641
""",
            """\
from flax import linen as nn
class Cell(nn.Module):
    @functools.partial(nn.scan, in_axes=1, out_axes=1, split_rngs={"params": False})  # NNX641
    @nn.compact
    def __call__(self, carry, v):
        return nn.GRUCell(features=4)(carry, v)
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return Cell()(jnp.zeros((2, 4)), v)
""",
            """\
from flax import linen as nn
@partial(nn.vmap, in_axes=0, out_axes=0)  # NNX641
class Head(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(4)(v)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.vmap(nn.Dense, in_axes=0, out_axes=0)(4)(v)  # NNX641
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, c, _):
        return nn.Dense(3)(c), None
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        layers = nn.scan(Block, variable_broadcast="params", length=3)  # NNX641
        return layers()(v, None)[0]
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.remat(nn.Dense(3))(v)  # NNX641
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v, _):
        return nn.Dense(4)(v), None
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        def body(net, carry, _):
            return nn.Dense(4)(carry), None
        def halved(net, carry, _):
            return carry / 2, None
        v, _ = nn.scan(body, length=3, variable_broadcast="params", split_rngs={"params": False})(self, v, None)
        v, _ = nn.scan(halved, length=3)(self, v, None)
        return partial(nn.scan, length=2, variable_axes={"params": 0}, split_rngs={"params": True})(Block)()(v, None)[0]
print(Net().init_with_output(jax.random.key(0), jnp.ones((2, 4)))[0].shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @partial(nn.remat, static_argnums=(2,))
    @nn.compact
    def __call__(self, v, twice):
        return nn.Dense(2 if twice else 4)(v)
def scale(factor, v):
    return factor * v
double = partial(scale, 2.0)
print(double(Net().init_with_output(jax.random.key(0), jnp.ones((2, 3)), True)[0]).shape)
""",
            """\
from flax import linen as nn
class Cell(nn.Module):
    @functools.partial(nn.scan, variable_broadcast="params", in_axes=1, out_axes=1, split_rngs={"params": False})
    @nn.compact
    def __call__(self, carry, v):
        return nn.GRUCell(features=4)(carry, v)
class Sum(nn.Module):
    @functools.partial(nn.scan, in_axes=1, out_axes=1)
    @nn.compact
    def __call__(self, carry, v):
        return carry + v, carry
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return Cell()(jnp.zeros((2, 4)), v)[1], Sum()(jnp.zeros((2, 3)), v)[1]
print(Net().init_with_output(jax.random.key(0), jnp.ones((2, 5, 3)))[0][1].shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})(4)(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, c, _):
        return nn.Dense(3)(c), None
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        layers = nn.scan(Block, variable_broadcast="params", split_rngs={"params": False}, length=3)
        return layers()(v, None)[0]
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.remat(nn.Dense)(3)(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Doubled(nn.Module):
    def __call__(self, v):
        return 2 * v
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.vmap(Doubled)()(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX642": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.layers = []
        for width in (4, 2):
            self.layers.append(nn.Dense(width))  # NNX642
    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.heads = {}
        self.heads["one"] = nn.Dense(2)  # NNX642
    def __call__(self, v):
        return self.heads["one"](v)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.layers = [nn.Dense(4)]
        self.layers += [nn.Dense(2)]  # NNX642
        self.seen = list()
    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
            self.seen.append(v.shape)  # NNX642
        return v
""",
            """\
from flax import linen as nn
class Base(nn.Module):
    width: int = 4
class Net(Base):
    def setup(this):
        this.heads = dict()
        this.heads.update(one=nn.Dense(this.width))  # NNX642
    def __call__(this, v):
        return this.heads["one"](v)
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        layers = []
        for width in (4, 2):
            layers.append(nn.Dense(width))
        self.layers = layers
    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.layers = []
        for width in (4, 2):
            self.layers = [*self.layers, nn.Dense(width)]
    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.layers = [nn.Dense(4)]
        self.layers += (nn.Dense(2),)
    def __call__(self, v):
        for layer in self.layers:
            v = layer(v)
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nnx.Module):
    def setup(self):
        self.sizes = []
        self.sizes.append(3)
        return self.sizes
print(Net().setup())
""",
            """\
from flax import linen as nn
class Plan:
    def setup(self):
        self.sizes = {}
        self.sizes["one"] = 3
        return self.sizes
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        outs = {}
        outs["one"] = nn.Dense(Plan().setup()["one"])(v)
        return outs
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX643": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    widths: list = [4, 2]  # NNX643
    @nn.compact
    def __call__(self, v):
        for width in self.widths:
            v = nn.Dense(width)(v)
        return v
""",
            """\
from flax import linen as nn
from flax import struct
@struct.dataclass
class Metrics:
    total: float = 0.0
    seen: dict = {}  # NNX643
""",
            """\
from flax import linen as nn
from flax.training import train_state
class State(train_state.TrainState):
    history: list = list()  # NNX643
    names: set = {"a", "b"}  # NNX643
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    widths: tuple = (4, 2)
    @nn.compact
    def __call__(self, v):
        for width in self.widths:
            v = nn.Dense(width)(v)
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
import dataclasses
class Net(nn.Module):
    widths: list = dataclasses.field(default_factory=lambda: [4, 2])
    @nn.compact
    def __call__(self, v):
        for width in self.widths:
            v = nn.Dense(width)(v)
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
from typing import ClassVar
class Net(nn.Module):
    widths: ClassVar[list] = [4, 2]
    names = {"a": 1}
    @nn.compact
    def __call__(self, v):
        for width in self.widths:
            v = nn.Dense(width)(v)
        return v
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Table:
    rows: list = [1, 2]
class Sizes(nnx.Module):
    names: tuple = ("one",)
print(Table.rows, Sizes.names, nn.Dense(2))
""",
            """\
from flax import linen as nn
from flax import struct
@struct.dataclass
class Metrics:
    names: frozenset = frozenset({"a"})
    total: float = 0.0
print(Metrics())
""",
        ),
    ),
    "NNX644": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        query = self.param("query", nn.initializers.lecun_normal(), (v.shape[-1],))  # NNX644
        return v @ query
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    def setup(self):
        self.gain = self.param("gain", jax.nn.initializers.he_uniform(), (4,), jnp.float32)  # NNX644
    def __call__(self, v):
        return v * self.gain
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        start = nn.initializers.variance_scaling(1.0, "fan_in", "normal")
        return nn.Dense(4, bias_init=start)(v)  # NNX644
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        v = nn.Dense(4, kernel_init=nn.initializers.orthogonal())(v)
        return nn.LayerNorm(scale_init=nn.initializers.orthogonal())(v)  # NNX644
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return v @ self.param("query", nn.initializers.normal(0.1), (v.shape[-1],))
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return v @ self.param("query", nn.initializers.lecun_normal(), (v.shape[-1], 1))
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        shape = (1, v.shape[-1])
        return v @ self.param("query", nn.initializers.glorot_normal(), shape)[0]
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        made = nn.initializers.variance_scaling(1.0, "fan_in", "normal")
        return v @ self.param("gain", made, [v.shape[-1], 2])
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        start = nn.initializers.lecun_normal()
        return nn.Dense(4, kernel_init=start, bias_init=nn.initializers.zeros_init())(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(4, use_bias=False, bias_init=nn.initializers.lecun_normal())(v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX645": Cases(
        bad=(
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.Dropout(0.1)(nn.Dense(4)(v), deterministic=not train)
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.remat(Block, static_argnums=(1,))()(v, False)  # NNX645
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v, mask, deterministic=True):
        return nn.SelfAttention(1, deterministic=deterministic)(v, mask=mask)
Saved = nn.checkpoint(Block, static_argnums=2)  # NNX645
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return Saved()(v, jnp.ones((1, 1, 2, 2)), True)
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v, double: bool):
        return 2 * nn.Dense(4)(v) if double else v
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.remat(Block, static_argnums=[1])()(v, False)  # NNX645
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, v, train=True, scale=1.0):
        return nn.Dropout(0.1)(nn.Dense(self.width)(v), deterministic=not train) * scale
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        Saved = nn.checkpoint(Block, static_argnums=2)
        for i in range(2):
            v = Saved(4, name=f"block{i}")(v, train=train)  # NNX645
        return nn.remat(Block, static_argnums=(2,))()(v, train=train)  # NNX645
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, v, train=True, scale=1.0):
        return nn.Dropout(0.1)(nn.Dense(self.width)(v), deterministic=not train) * scale
class Net(nn.Module):
    def setup(self):
        self.block = nn.remat(Block, static_argnums=(2,))(4)
    def __call__(self, v, train):
        return self.block(v, train=train)  # NNX645
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Block(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, v, train=True, scale=1.0):
        return nn.Dropout(0.1)(nn.Dense(self.width)(v), deterministic=not train) * scale
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        v = nn.remat(Block, static_argnums=(2,))()(v, train, scale=2.0)
        return Block(width=4)(v, train=train)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)), False)
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, v, train=True, scale=1.0):
        return nn.Dropout(0.1)(nn.Dense(self.width)(v), deterministic=not train) * scale
class Net(nn.Module):
    remat: bool = False
    @nn.compact
    def __call__(self, v, train):
        cls = nn.remat(Block, static_argnums=(2,)) if self.remat else Block
        return cls()(v, train=train)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)), False)
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, v, train=True, scale=1.0):
        return nn.Dropout(0.1)(nn.Dense(self.width)(v), deterministic=not train) * scale
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, count):
        return nn.remat(Block, static_argnums=(2,))()(v, False, scale=count)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)), 2.0)
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        return nn.Dropout(0.1)(nn.Dense(4)(v), deterministic=not train)
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.remat(Block, static_argnums=(2,))()(v, False)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v, count):
        return nn.Dense(4)(v) * count
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.remat(Block, static_argnums=(2,))()(v, 3)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, train, v):
        return nn.Dropout(0.1)(nn.Dense(4)(v), deterministic=not train)
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.remat(Block, static_argnums=(1,))()(False, v)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v, times: int, train):
        return times * nn.Dropout(0.1)(nn.Dense(4)(v), deterministic=not train)
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.remat(Block, static_argnums=(2, 3))()(v, 2, False)
variables = Net().init(jax.random.key(0), jnp.ones((2, 3)))
""",
            """\
from flax import linen as nn
def block(v, train):
    return v * 2 if train else nn.relu(v)
print(jax.checkpoint(block, static_argnums=(1,))(jnp.ones(3), True))
""",
        ),
    ),
    "NNX646": Cases(
        bad=(
            """\
plain = ("bias", "scale")
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def decays(path, _):
    return not any(name in path for name in plain)  # NNX646
mask = jax.tree_util.tree_map_with_path(decays, params)
""",
            """\
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def decays(path, _):
    for name in ["bias", "scale"]:
        if name in path:  # NNX646
            return False
    return True
mask = jax.tree.map_with_path(decays, params)
""",
            """\
plain, head = ("bias", "scale"), "head"
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def label(path, _):
    if path[0] == head:  # NNX646
        return "fast"
    return "no" if path[-1] in plain else "slow"  # NNX646
labels = jax.tree.map_with_path(label, params)
""",
            """\
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
mask = jax.tree_util.tree_map_with_path(lambda path, _: "bias" not in path, params)  # NNX646
""",
            """\
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def label(path, leaf):
    if path[0] == "dense" or any(part == "scale" for part in path):  # NNX646 NNX646
        return "slow"
    return "fast" if path[-1] in ("bias", "scale") else "no"  # NNX646
labels = jax.tree.map_with_path(label, params)
""",
            """\
from flax import linen as nn
from flax import traverse_util
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2, name="head")(nn.Dense(4, name="trunk_0")(v))
params = Net().init(jax.random.key(0), jnp.ones((1, 3)))["params"]
labels = traverse_util.path_aware_map(lambda path, _: "no" if "trunk" in path else "yes", params)  # NNX646
""",
            """\
from flax import linen as nn
from flax import traverse_util
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(nn.Dense(4)(v))
params = Net().init(jax.random.key(0), jnp.ones((1, 3)))["params"]
def mask(path, _):
    return "Dense" in path and "bias" not in path  # NNX646
print(traverse_util.path_aware_map(mask, params))
""",
        ),
        clean=(
            """\
plain = ("bias", "scale")
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def decays(path, _):
    return not any(name in jax.tree_util.keystr(path) for name in plain)
mask = jax.tree_util.tree_map_with_path(decays, params)
""",
            """\
plain = (jax.tree_util.DictKey("bias"), jax.tree_util.DictKey("scale"))
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def decays(path, _):
    return not any(name in path for name in plain) and path[-1] not in plain
mask = jax.tree_util.tree_map_with_path(decays, params)
""",
            """\
plain = ("bias", "scale")
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def decays(path, _):
    for entry in path:
        entry = entry.key
        if entry in plain:
            return False
    return True
mask = jax.tree_util.tree_map_with_path(decays, params)
""",
            """\
plain = ("bias", "scale")
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def decays(path, _):
    keys = [entry.key for entry in path]
    return not any(name in keys for name in plain)
mask = jax.tree_util.tree_map_with_path(decays, params)
""",
            """\
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
mask = jax.tree_util.tree_map_with_path(lambda path, _: path[-1].key != "bias", params)
""",
            """\
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def label(path, leaf):
    names = [part.key for part in path]
    return "slow" if "bias" in names or names[0] == "dense" else "fast"
labels = jax.tree.map_with_path(label, params)
""",
            """\
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
def label(path, leaf):
    path = jax.tree_util.keystr(path)
    return "slow" if "bias" in path else "fast"
labels = jax.tree.map_with_path(label, params)
""",
            """\
params = {"dense": {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}}
mask = jax.tree_util.tree_map_with_path(lambda path, _: jax.tree_util.DictKey("bias") in path, params)
""",
            """\
from flax import linen as nn
from flax import traverse_util
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2, name="head")(nn.Dense(4, name="trunk_0")(v))
params = Net().init(jax.random.key(0), jnp.ones((1, 3)))["params"]
labels = traverse_util.path_aware_map(lambda path, _: "no" if "trunk_0" in path else "yes", params)
""",
            """\
from flax import linen as nn
from flax import traverse_util
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2, name="head")(nn.Dense(4, name="trunk_0")(v))
params = Net().init(jax.random.key(0), jnp.ones((1, 3)))["params"]
labels = traverse_util.path_aware_map(lambda path, _: any("trunk" in p for p in path), params)
""",
            """\
from flax import linen as nn
from flax import traverse_util
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(2)(nn.Dense(4)(v))
params = Net().init(jax.random.key(0), jnp.ones((1, 3)))["params"]
labels = traverse_util.path_aware_map(lambda path, _: "Dense_0" in path or "bias" in path, params)
""",
            """\
from flax import linen as nn
from flax import traverse_util
class Net(nn.Module):
    def setup(self):
        self.trunk = nn.Dense(4)
        self.encoder = nn.Dense(2)
    def __call__(self, v):
        return self.encoder(self.trunk(v))
params = Net().init(jax.random.key(0), jnp.ones((1, 3)))["params"]
print(traverse_util.path_aware_map(lambda path, _: "encoder" in path, params))
""",
            """\
from flax import linen as nn
from flax import traverse_util
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        for number in range(2):
            v = nn.Dense(2, name=f"trunk{number or ''}")(v)
        return nn.Dense(2, name="trunk_out")(v)
params = Net().init(jax.random.key(0), jnp.ones((1, 3)))["params"]
print(traverse_util.path_aware_map(lambda path, _: "trunk" in path, params))
""",
        ),
    ),
    "NNX647": Cases(
        bad=(
            """\
from flax import linen as nn
class Reader(nn.Module):
    size: int = 10
    @nn.compact
    def __call__(self, tokens):
        return nn.Dense(self.size)(nn.Embed(self.size, 4)(tokens))
variables = Reader().init(jax.random.key(0), jnp.ones((1, 8)))  # NNX647
""",
            """\
from flax import linen as nn
class Reader(nn.Module):
    def setup(self):
        self.embed = nn.Embed(10, 4)
    def __call__(self, tokens, train=False):
        return self.embed(tokens)
reader = Reader()
example = jnp.zeros((1, 8), dtype=jnp.float32)
variables = reader.init(jax.random.key(0), example)  # NNX647
""",
            """\
from flax import linen as nn
class Reader(nn.Module):
    @nn.compact
    def __call__(self, v, tokens):
        return nn.Dense(4)(v) + nn.Embed(10, 4)(tokens)
reader = Reader()
variables = reader.init(jax.random.key(0), jnp.ones((2, 3)), jnp.ones(2, dtype=int))
y = reader.apply(variables, jnp.ones((2, 3)), jnp.ones(2))  # NNX647
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Reader(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        return nn.Embed(10, 4)(tokens)
variables = Reader().init(jax.random.key(0), jnp.ones((1, 8), dtype=jnp.int32))
""",
            """\
from flax import linen as nn
class Reader(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        return nn.Embed(10, 4)(tokens.astype(int))
variables = Reader().init(jax.random.key(0), jnp.ones((1, 8)))
""",
            """\
from flax import linen as nn
class Reader(nn.Module):
    @nn.compact
    def __call__(self, v, tokens):
        return nn.Dense(4)(v) + nn.Embed(10, 4)(tokens)
variables = Reader().init(jax.random.key(0), jnp.ones((2, 3)), jnp.arange(2))
""",
            """\
from flax import linen as nn
class Reader(nn.Module):
    lookup: bool = False
    @nn.compact
    def __call__(self, v):
        if self.lookup:
            return nn.Embed(10, 4)(v)
        return nn.Dense(4)(v)
variables = Reader().init(jax.random.key(0), jnp.ones((2, 3)))
""",
        ),
    ),
    "NNX648": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        v = nn.Dense(4)(v)
        return nn.Dropout(0.5, deterministic=not train)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
apply = jax.jit(net.apply)
y = apply(variables, jnp.ones((2, 3)), train=False)  # NNX648
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, wide=True):
        if wide:
            return nn.Dense(8)(v)
        return nn.Dense(4)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
y = jax.jit(net.apply)(variables, jnp.ones((2, 3)), True)  # NNX648
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        v = nn.Dense(4)(v)
        return nn.Dropout(0.5, deterministic=not train)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
class Trainer:
    def __init__(self):
        self.apply = jax.jit(net.apply)
    def evaluate(self, v):
        return self.apply(variables, v, train=False)  # NNX648
print(Trainer)
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train):
        v = nn.Dense(4)(v)
        return nn.Dropout(0.5, deterministic=not train)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
apply = jax.jit(net.apply, static_argnames="train")
print(apply(variables, jnp.ones((2, 3)), train=False).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, wide=True):
        if wide:
            return nn.Dense(8)(v)
        return nn.Dense(4)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)))
print(jax.jit(net.apply)(variables, jnp.ones((2, 3))).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        v = nn.Dense(4)(v)
        return nn.Dropout(0.5, deterministic=not train)(v)
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
apply = jax.jit(functools.partial(net.apply, train=False))
print(apply(variables, jnp.ones((2, 3))).shape)
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, flag):
        return jnp.where(flag, v, 2 * nn.Dense(3)(v))
net = Net()
variables = net.init(jax.random.key(0), jnp.ones((2, 3)), False)
print(jax.jit(net.apply)(variables, jnp.ones((2, 3)), True).shape)
""",
        ),
    ),
    "NNX649": Cases(
        bad=(
            """\
from flax import linen as nn
carry = nn.LSTMCell.initialize_carry(jax.random.key(0), (2,), 4)  # NNX649
""",
            """\
import flax.linen
def first(batch):
    return flax.linen.GRUCell.initialize_carry(jax.random.PRNGKey(0), (batch,), 8)  # NNX649
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @staticmethod
    def initialize_carry(batch, size):
        return nn.GRUCell.initialize_carry(jax.random.key(0), (batch,), size)  # NNX649
""",
        ),
        clean=(
            """\
from flax import linen as nn
print(nn.LSTMCell(4).initialize_carry(jax.random.key(0), (2, 3))[0].shape)
""",
            """\
from flax import linen as nn
cell = nn.GRUCell(features=8)
print(cell.initialize_carry(jax.random.key(0), (2, 3)).shape)
""",
            """\
from flax import linen as nn
class Own(nn.Module):
    @staticmethod
    def initialize_carry(batch, size):
        return jnp.zeros((batch, size))
print(Own.initialize_carry(2, 3).shape)
""",
            """\
cell = nnx.GRUCell(3, 4, rngs=nnx.Rngs(0))
print(cell.initialize_carry((2, 3), nnx.Rngs(1)).shape)
""",
        ),
    ),
    "NNX541": Cases(
        bad=(
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        return nn.Dense(1)(nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v)))
net, rows = Net(), jnp.ones((2, 3))
variables = net.init(key, rows)
state = TrainState.create(apply_fn=net.apply, params=variables, tx=optax.adamw(1e-3))  # NNX541
@jax.jit
def step(state, v):
    grads = jax.grad(lambda p: state.apply_fn(p, v).sum())(state.params)
    return state.apply_gradients(grads=grads)
state = step(state, rows)
""",
            """\
from flax import linen as nn
from flax.training import train_state
class Block(nn.Module):
    def setup(self):
        self.norm = nn.BatchNorm(use_running_average=False)
    def __call__(self, v):
        return nn.relu(self.norm(v))
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(1)(Block()(v))
def made(net, key, v, rate):
    params = net.init(key, v)
    return train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(rate))  # NNX541
def step(state, v):
    def loss(params):
        y, _ = state.apply_fn(params, v, mutable=["batch_stats"])
        return y.sum()
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
print(step(made(Net(), key, jnp.ones((2, 3)), 1e-3), jnp.ones((2, 3))).step)
""",
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        return nn.Dense(1)(nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v)))
net, rows = Net(), jnp.ones((2, 3))
def fitted(v):
    weights = net.init(key, v)
    tx = optax.adamw(1e-3)
    opt_state = tx.init(weights)  # NNX541
    grads = jax.grad(lambda w: net.apply(w, v).sum())(weights)
    updates, opt_state = tx.update(grads, opt_state, weights)
    return optax.apply_updates(weights, updates)
print(fitted(rows)["batch_stats"])
""",
        ),
        clean=(
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        return nn.Dense(1)(nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v)))
net, rows = Net(), jnp.ones((2, 3))
variables = net.init(key, rows)
class State(TrainState):
    statistics: dict
state = State.create(
    apply_fn=net.apply, params=variables["params"], tx=optax.adamw(1e-3), statistics=variables["batch_stats"]
)
def loss(p, v):
    return state.apply_fn({"params": p, "batch_stats": state.statistics}, v).sum()
state = state.apply_gradients(grads=jax.grad(loss)(state.params, rows))
""",
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
net, rows = nn.Sequential([nn.Dense(4), nn.relu, nn.Dense(1)]), jnp.ones((2, 3))
params = net.init(key, rows)
state = TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-3))
state = state.apply_gradients(grads=jax.grad(lambda p: state.apply_fn(p, rows).sum())(state.params))
""",
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.Dense(1)(nn.LayerNorm()(v))
class Normed(nn.Module):
    @nn.compact
    def __call__(self, v):
        return nn.BatchNorm(use_running_average=True)(v)
params = Net().init(key, jnp.ones((2, 3)))
opt_state = optax.adam(1e-3).init(params)
print(Normed().init_with_output(key, jnp.ones((2, 3)))[0])
""",
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        return nn.Dense(1)(nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v)))
net, rows = Net(), jnp.ones((2, 3))
variables = net.init(key, rows)
tx = optax.multi_transform(
    {"train": optax.adam(1e-3), "keep": optax.set_to_zero()}, {"params": "train", "batch_stats": "keep"}
)
opt_state = tx.init(variables)
""",
            """\
from flax import linen as nn
from flax.training.train_state import TrainState
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=False):
        return nn.Dense(1)(nn.BatchNorm(use_running_average=not train)(nn.Dense(4)(v)))
net, rows = Net(), jnp.ones((2, 3))
params = net.init(key, rows)["params"]
opt_state = optax.adam(1e-3).init(params)
print(len(jax.tree.leaves(opt_state)))
""",
        ),
    ),
    "NNX542": Cases(
        bad=(
            """\
from flax import linen as nn
class Encoder(nn.Module):
    dim: int
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.dim)(nn.relu(nn.Dense(8)(v)))
class Siamese(nn.Module):
    dim: int = 4
    @nn.compact
    def __call__(self, a, b):
        za = Encoder(self.dim)(a)
        zb = Encoder(self.dim)(b)  # NNX542
        return jnp.linalg.norm(za - zb, axis=-1)
print(Siamese().init_with_output(key, x, x)[0])
""",
            """\
from flax import linen as nn
class Encoder(nn.Module):
    dim: int
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.dim)(nn.relu(nn.Dense(8)(v)))
class TripletNet(nn.Module):
    def setup(self):
        self.first = Encoder(4)
        self.second = Encoder(4)  # NNX542
    def distance(self, p, q):
        return jnp.sum((p - q) ** 2)
    def __call__(self, anchor, other):
        left, right = self.first(anchor), self.second(other)
        return self.distance(left, right)
print(TripletNet().init_with_output(key, x, x)[0])
""",
            """\
import flax.linen as fnn
class SiameseHead(fnn.Module):
    @fnn.compact
    def __call__(self, left, right):
        return jnp.abs(fnn.Dense(4)(left) - fnn.Dense(4)(right)).sum()  # NNX542
print(SiameseHead().init_with_output(key, x, x)[0])
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Encoder(nn.Module):
    dim: int
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.dim)(nn.relu(nn.Dense(8)(v)))
class Siamese(nn.Module):
    dim: int = 4
    @nn.compact
    def __call__(self, a, b):
        encoder = Encoder(self.dim)
        za, zb = encoder(a), encoder(b)
        return jnp.linalg.norm(za - zb, axis=-1)
print(Siamese().init_with_output(key, x, x)[0])
""",
            """\
from flax import linen as nn
class Encoder(nn.Module):
    dim: int
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.dim)(nn.relu(nn.Dense(8)(v)))
class TwoTower(nn.Module):
    @nn.compact
    def __call__(self, user, item):
        u, i = Encoder(4)(user), Encoder(4)(item)
        return (u * i).sum()
print(TwoTower().init_with_output(key, x, x)[0])
""",
            """\
from flax import linen as nn
class Encoder(nn.Module):
    dim: int
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.dim)(nn.relu(nn.Dense(8)(v)))
class Siamese(nn.Module):
    def setup(self):
        self.encoder = Encoder(4)
        self.head = nn.Dense(1)
        self.other = nn.Dense(1)
    def __call__(self, a, b):
        za, zb = self.encoder(a), self.encoder(b)
        return self.head(jnp.abs(za - zb)) + self.other(za * zb)
print(Siamese().init_with_output(key, x, x)[0])
""",
            """\
from flax import linen as nn
class Encoder(nn.Module):
    dim: int
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.dim)(nn.relu(nn.Dense(8)(v)))
class PseudoSiamese(nn.Module):
    @nn.compact
    def __call__(self, a, b):
        za = Encoder(4)(a)
        zb = Encoder(4)(b)
        return jnp.linalg.norm(za - zb, axis=-1)
print(PseudoSiamese().init_with_output(key, x, x)[0])
""",
            """\
from flax import linen as nn
class Encoder(nn.Module):
    dim: int
    @nn.compact
    def __call__(self, v):
        return nn.Dense(self.dim)(nn.relu(nn.Dense(8)(v)))
class Siamese(nn.Module):
    @nn.compact
    def __call__(self, a, b):
        za = Encoder(4, name="photo")(a)
        zb = Encoder(4, name="sketch")(b)
        return jnp.linalg.norm(za - zb, axis=-1)
print(Siamese().init_with_output(key, x, x)[0])
""",
        ),
    ),
}

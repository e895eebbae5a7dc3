"""Cases of the rules on how layers are made and called, and on where checkpoints are written."""

from __future__ import annotations

from tests.lint.tables import Cases

_DROPS = (
    "class Drops(nnx.Module):\n    def __init__(self, rngs):\n        self.fc = nnx.Linear(3, 3, rngs=rngs)\n"
    "        self.drop = nnx.Dropout(0.1, rngs=rngs)\n"
    "    def __call__(self, v):\n        return self.drop(self.fc(v))\nnet = Drops(nnx.Rngs(0))\n"
)
_BACKBONE = """\
class Backbone(nnx.Module):
    def __init__(self, rngs):
        self.stem = nnx.Linear(3, 3, rngs=rngs)
    def features(self, v):
        return self.stem(v)
"""
_FORWARD = (
    "class Mlp(nnx.Module):\n    def __init__(self, rngs):\n        self.fc = nnx.Linear(3, 3, rngs=rngs)\n"
    "    def forward(self, v):\n        return self.fc(v)\n"
)
_ORBAX = "import os\nimport tempfile\nimport orbax.checkpoint as ocp\nroot = tempfile.mkdtemp()\n"

# a training that begins where the last checkpoint ends
_RESUMED = (
    _ORBAX
    + """\
@nnx.jit
def fit(net, opt, v):
    opt.update(net, nnx.grad(lambda m: (m(v) ** 2).mean())(net))
def run(folder, steps):
    manager = ocp.CheckpointManager(folder)
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    opt = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
    start = manager.latest_step()
    if start is not None:
        nnx.update((net, opt), manager.restore(start, args=ocp.args.StandardRestore(nnx.state((net, opt)))))
    fit_once = nnx.cached_partial(fit, net, opt)
    for step in range(start or 0, steps):
        fit_once(x)
    manager.save(steps, args=ocp.args.StandardSave(nnx.state((net, opt))))
    manager.wait_until_finished()
    return opt.step[...]
run(os.path.join(root, "run"), 1)
run(os.path.join(root, "run"), 2)
"""
)
_ALONE = _RESUMED.replace("(net, opt), manager", "net, manager").replace("nnx.state((net, opt))", "nnx.state(net)")
_ALONE_MARKED = _ALONE.replace(
    "    manager.save(steps, args=ocp.args.StandardSave(nnx.state(net)))\n",
    "    manager.save(steps, args=ocp.args.StandardSave(nnx.state(net)))  # NNX678\n",
)
# the same with a checkpointer, and the step as an argument
_STEPPED = (
    _ORBAX
    + """\
@nnx.jit
def fit(net, opt, v):
    opt.update(net, nnx.grad(lambda m: (m(v) ** 2).mean())(net))
def run(folder, start, stop):
    net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
    opt = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)
    checkpointer = ocp.StandardCheckpointer()
    if start > 0:
        nnx.update({kept}, checkpointer.restore(os.path.join(folder, str(start)), nnx.state({kept})))
    fit_once = nnx.cached_partial(fit, net, opt)
    for step in range(start, stop):
        fit_once(x)
    checkpointer.save(os.path.join(folder, str(stop)), nnx.state({kept})){mark}
    checkpointer.wait_until_finished()
run(root, 0, 1)
run(root, 1, 2)
"""
)

# an average of the weights of a model with statistics
_FOLLOWING = """\
class Normed(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.fc(v))
def follow(ema, net):
    old, new = nnx.state(ema, nnx.Param), nnx.state(net, nnx.Param)
    nnx.update(ema, jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, old, new))
@nnx.jit
def fit(net, ema, opt, v):
    opt.update(net, nnx.grad(lambda m: (m(v) ** 2).mean())(net))
    follow(ema, net)
    nnx.update(ema, nnx.state(net, nnx.BatchStat))
def main(v):
    net = Normed(nnx.Rngs(0))
    ema = nnx.clone(net)
    fit(net, ema, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param), v)
    ema.eval()
    return ema(v)
print(main(jnp.ones((2, 3))))
"""
_BEHIND = _FOLLOWING.replace("    nnx.update(ema, nnx.state(net, nnx.BatchStat))\n", "")
_BEHIND_MARKED = _BEHIND.replace("0.1 * p, old, new))", "0.1 * p, old, new))  # NNX679")

# weights that come from PyTorch
_PORTED = """\
class Square(nnx.Module):
    def __init__(self, rngs):
        self.fc1 = nnx.Linear(3, 3, rngs=rngs)
        self.fc2 = nnx.Linear(3, 3, rngs=rngs)
class Weight:
    def numpy(self):
        return np.eye(3)
def port(state_dict):
    net = Square(nnx.Rngs(0))
    net.fc1.kernel[...] = state_dict["fc1.weight"].numpy().T
    net.fc2.kernel[...] = state_dict["fc2.weight"].numpy().T
    return net
port({"fc1.weight": Weight(), "fc2.weight": Weight()})
"""

_LINEN = "from flax import linen as nn\n"

_DECODER = """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 4, rngs=rngs)
"""
_DECODING = """\
def decode_all(net, tokens):
    net.attn.init_cache((1, 8, 4))
    return [net(one, decode=True) for one in tokens]
"""

_TAGGER = """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 3, rngs=rngs))
        self.out = nnx.Linear(3, 2, rngs=rngs)
"""
_TAGGED = "print(Tagger(nnx.Rngs(7))(jnp.ones((2, 5, 3)), jnp.array([5, 2])).shape)\n"

_EXPERTS = """\
class Experts(nnx.Module):
    def __init__(self, rngs):
        {made}
        self.w = nnx.Param(init(rngs.params(), (2, 4, 5)))  # NNX796
    def __call__(self, v):
"""
_RIGHT = _EXPERTS.replace("  # NNX796", "")
_ROUTED = "print(Experts(nnx.Rngs(7))(jnp.ones((2, 3, 4))).shape)\n"

_TABLE = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        angles = jnp.arange(5)[:, None] / 100.0 ** (jnp.arange(2) / 2)
        self.pos_table = nnx.Param(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1))  # NNX956
        self.out = nnx.Linear(4, 4, rngs=rngs)
    def __call__(self, v):
        return self.out(v + self.pos_table)
"""
_UNTOLD = _TABLE.replace("  # NNX956", "")
_TRAINED = """\
@nnx.jit
def train(net, opt, v):
    def loss(net):
        return (net(v) ** 2).mean()
    opt.update(net, nnx.grad(loss)(net))
def fit(v):
    net = Net(nnx.Rngs(0))
    opt = nnx.Optimizer(net, optax.adamw(0.1), wrt=nnx.Param)
    train(net, opt, v)
"""

_FITTED = """\
import os
import pickle
def save(path, step, params):
    with open(path, "wb") as f:
        pickle.dump({"step": step, "params": params}, f)
def load(path):
    with open(path, "rb") as f:
        saved = pickle.load(f)
    return saved["step"], saved["params"]
class Fit:
    def __init__(self, path, params):
        self.path, self.start, self.params, self.tx = path, 0, params, optax.adam(0.1)
        if os.path.exists(path):
            self.start, self.params = load(path)
        self.state = self.tx.init(self.params)  # NNX678
    def run(self, steps):
        for step in range(self.start, steps):
            grads = jax.tree.map(jnp.ones_like, self.params)
            updates, self.state = self.tx.update(grads, self.state, self.params)
            self.params = optax.apply_updates(self.params, updates)
        return self.params
print(Fit("none", x).run(2))
"""
_EMBEDDED = """\
def embed(params, tokens):
    positions = jnp.arange(tokens.shape[1])  # NNX957
    return params["wte"][tokens] + params["wpe"][positions]
def step(params, cache, token):
    h = embed(params, token[:, None])
    k = jax.lax.dynamic_update_slice(cache["k"], h @ params["key"], (0, cache["index"], 0))
    return {"k": k, "index": cache["index"] + 1}, h @ k.swapaxes(1, 2)
"""
_COUNTED = """\
import pickle
def save(path, step, params):
    with open(path, "wb") as f:
        pickle.dump({"step": step, "params": params}, f)
def fit(path, params, steps):
    tx = optax.adam(0.1)
    if path:
        with open(path, "rb") as f:
            saved = pickle.load(f)
        start, params = saved["step"], saved["params"]
        state = tx.init(params)
    else:
        start, state = 0, optax.adam(0.1).init(params)
    for step in range(start, steps):
        updates, state = tx.update(jax.tree.map(jnp.ones_like, params), state, params)
        params = optax.apply_updates(params, updates)
    return params
print(fit("", x, 2))
"""

CASES: dict[str, Cases] = {
    "NNX788": Cases(
        bad=(
            """\
def made(depth, name):
    found = {}
    for i in range(depth):
        found[f"layer_{i}"] = jnp.ones((3, 3))
    return found
def forward(params, x):
    for w in jax.tree.leaves(params):  # NNX788
        x = jnp.tanh(x @ w)
    return x
forward(made(12, "layer"), x)
""",
            """\
def made(depth, name):
    found = {}
    for i in range(depth):
        found[f"layer_{i}"] = jnp.ones((3, 3))
    return found
def forward(params, x):
    for w in sorted(params):  # NNX788
        x = jnp.tanh(x @ params[w])
    return x
forward(made(12, "layer"), x)
""",
            """\
class Net:
    def __init__(self, depth):
        self.blocks = {}
        for i in range(depth):
            self.blocks[f"block{i}"] = jnp.ones((3, 3))
    def __call__(self, x):
        for _, w in sorted(self.blocks.items()):  # NNX788
            x = jax.nn.relu(x @ w)
        return x
Net(12)(x)
""",
            """\
def init(key, sizes):
    return {"linear_" + str(i): {"w": jnp.ones((n, n)), "b": jnp.ones(n)} for i, n in enumerate(sizes)}
def apply(params, x):
    for name in sorted(params.keys()):  # NNX788
        w, b = params[name]["w"], params[name]["b"]
        x = jax.nn.relu(x @ w + b)
    return x
apply(init(key, [3] * 12), x)
""",
            """\
def layers_of(key, depth):
    return {"block{}".format(i): jax.random.normal(k, (3, 3)) for i, k in enumerate(jax.random.split(key, depth))}
def net(weights, x):
    flat, _ = jax.tree.flatten(weights)
    for w in flat[:-1]:  # NNX788
        x = jnp.tanh(x @ w)
    return x @ flat[-1]
net(layers_of(key, 24), x)
""",
            """\
def made(depth):
    found = {}
    for i in range(depth):
        found["layer_%d" % i] = jnp.ones((3, 3))
    return found
def forward(params, x):
    for w in jax.tree.leaves(params):  # NNX788
        x = jnp.tanh(x @ w)
    return x
forward(made(12), x)
""",
        ),
        clean=(
            """\
def made(depth):
    found = {}
    for i in range(depth):
        found["layer_%02d" % i] = jnp.ones((3, 3))
    return found
def forward(params, x):
    flat, _ = jax.tree.flatten(params)
    for w in flat:
        x = jnp.tanh(x @ w)
    return x
print(forward(made(12), x))
""",
            """\
def layers_of(key, depth):
    return {"block{}".format(i): jax.random.normal(k, (3, 3)) for i, k in enumerate(jax.random.split(key, depth))}
def norms(weights):
    flat, _ = jax.tree.flatten(weights)
    total = 0.0
    for w in flat:
        total = total + jnp.sum(w**2)
    return total
print(norms(layers_of(key, 12)))
""",
            """\
def made(depth, name):
    found = {}
    for i in range(depth):
        found[f"layer_{i}"] = jnp.ones((3, 3))
    return found
def forward(params, x):
    for w in jax.tree.leaves(params):
        x = jnp.tanh(x @ w)
    return x
forward(made(10, "layer"), x)
""",
            """\
def made(depth, name):
    found = {}
    for i in range(depth):
        found[f"layer_{i:03}"] = jnp.ones((3, 3))
    return found
def forward(params, x):
    for w in jax.tree.leaves(params):
        x = jnp.tanh(x @ w)
    return x
forward(made(12, "layer"), x)
""",
            """\
def made(depth, name):
    found = {}
    for i in range(depth):
        found[f"layer_{i}"] = jnp.ones((3, 3))
    return found
def forward(params, x):
    for w in sorted(params, key=lambda n: int(n.split("_")[1])):
        x = jnp.tanh(x @ params[w])
    return x
forward(made(12, "layer"), x)
""",
            """\
def made(depth, name):
    found = {}
    for i in range(depth):
        found[f"layer_{i}"] = jnp.ones((3, 3))
    return found
def penalty(params):
    total = 0.0
    for w in jax.tree.leaves(params):
        total = total + jnp.sum(w**2)
    return total
penalty(made(12, "layer"))
""",
            """\
def forward(params, x):
    for w in jax.tree.leaves(params):
        x = jnp.tanh(x @ w)
    return x
forward({"encoder": jnp.ones((3, 3)), "output": jnp.ones((3, 3))}, x)
""",
        ),
    ),
    "NNX786": Cases(
        bad=(
            """\
from flax import linen
class Critic(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(1)(x)
def ensemble(n):
    options = dict(variable_axes={"params": 0}, split_rngs={"params": False}, in_axes=None, axis_size=n)
    return linen.vmap(Critic, **options)()  # NNX786
""",
            _LINEN + "nn.scan(nn.Dense, variable_axes={'params': 0}, split_rngs={'params': False})  # NNX786\n",
            _LINEN + "nn.vmap(nn.Dense, variable_axes={'params': 0})  # NNX786\n",
            _LINEN + "nn.scan(nn.Dense, variable_axes={'params': 0, 'cache': 1}, split_rngs={})  # NNX786\n",
        ),
        clean=(
            """\
from flax import linen
class Critic(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(1)(x)
def ensemble(n):
    options = dict(variable_axes={"params": 0}, split_rngs={"params": True}, in_axes=None, axis_size=n)
    return linen.vmap(Critic, **options)()
print(jax.tree.map(jnp.shape, ensemble(2).init(key, x)))
""",
            _LINEN + "nn.scan(nn.Dense, variable_axes={'params': 0}, split_rngs={'params': True})\n",
            _LINEN + "nn.scan(nn.Dense, variable_broadcast='params', split_rngs={'params': False})\n",
            _LINEN + "nn.vmap(nn.Dense, variable_axes={'params': None}, split_rngs={'params': False})\n",
            _LINEN + "split = {n: n == 'params' for n in ('params',)}\n"
            "nn.scan(nn.Dense, variable_axes={'params': 0}, split_rngs=split)\n",
            _LINEN + "nn.scan(nn.Dense, variable_axes={'cache': 0}, split_rngs={'dropout': True})\n",
        ),
    ),
    "NNX710": Cases(
        bad=(
            "layer = nnx.Linear(64, rngs=nnx.Rngs(0))  # NNX710\n",
            "layer = nnx.Conv(3, 8, kernel_size=(3, 3), padding=1, stride=2, rngs=nnx.Rngs(0))  # NNX710\n",
            "net = nnx.Sequential(model, nnx.relu())  # NNX710\n",
            "def norm(rngs):\n    return nnx.BatchNorm(rngs=rngs)  # NNX710\n",
        ),
        clean=(
            "layer = nnx.Linear(in_features=3, out_features=64, rngs=nnx.Rngs(0))\n",
            "sizes = (3, 4)\nlayer = nnx.Linear(*sizes, rngs=nnx.Rngs(0))\n",
            "options = {'in_features': 3, 'out_features': 4}\nlayer = nnx.Linear(**options, rngs=nnx.Rngs(0))\n",
            "make = partial(nnx.Linear, out_features=4)\nlayer = make(3, rngs=nnx.Rngs(0))\n",
            "net = nnx.Sequential(model, partial(nnx.leaky_relu, negative_slope=0.1))\nprint(net(x))\n",
            "try:\n    nnx.Linear(64, rngs=nnx.Rngs(0))\nexcept TypeError as error:\n    print(error)\n",
        ),
    ),
    "NNX711": Cases(
        bad=(
            """\
def loss_fn(model, x):
    jnp.mean((model(x) - 1.0) ** 2)  # NNX711
def train(model, x):
    return nnx.value_and_grad(loss_fn)(model, x)
""",
            """\
def loss_fn(w):  # NNX711
    error = x @ w - 1.0
    loss = jnp.mean(error**2)
grads = jax.grad(loss_fn)(jnp.ones(4))
""",
            """\
@nnx.jit
def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(model)
    optimizer.update(model, grads)
    loss  # NNX711
def train():
    loss = step(model, optimizer, x)
    print(loss)
""",
            """\
@jax.jit
def step(w, x):
    w = w - 0.1 * jax.grad(lambda w: jnp.sum((x @ w) ** 2))(w)
def train(w):
    loss = step(w, x[0])  # NNX711
    print(f"{loss:.3f}")
""",
            """\
def parts(x):
    low, high = jnp.split(x, 2)
def show():
    low, high = parts(x)  # NNX711
    return low + high
""",
            """\
def picked(labels, logits):
    chosen = jnp.take_along_axis(logits, labels[:, None], axis=1)
    return -jnp.mean(chosen)
def loss(w, x, labels):
    picked(labels, x @ w)  # NNX711
def evaluate(w, rows, labels):
    value = loss(w, rows, labels)
    print(value)
""",
            """\
def body(state, inputs):
    new = state + inputs
    (new, new)  # NNX711
""",
            """\
def stretched(v, width):
    if width > 3:
        return v
    padded = jnp.pad(v, (0, width))
    padded  # NNX711
print(stretched(x, 4))
""",
            """\
def scored(v, weights) -> jax.Array:
    kept = v * weights
    kept[:2]  # NNX711
""",
            """\
def scored(v, weights):
    \"""Weighs.

    Returns:
        the sum.
    \"""
    jnp.sum(v * weights)  # NNX711
""",
            "net = nnx.Linear(3, 3, rngs=nnx.Rngs(0)).train()  # NNX711\nprint(net(x))\n",
            "def load(state):\n    net = nnx.update(model, state)  # NNX711\n    return net(x)\n",
            "def ready():\n    net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))\n    return net.eval()  # NNX711\n"
            "print(ready()(x))\n",
            "def run(net):\n    return net(x)\nrun(nnx.Linear(3, 3, rngs=nnx.Rngs(0)).eval())  # NNX711\n",
        ),
        clean=(
            """\
def stored(v, rows) -> None:
    total = jnp.sum(v)
    rows.append(total)
def first(v):
    if v.ndim > 1:
        return v[0]
    rows = [v]
    stored(v, rows)
print(first(x))
""",
            """\
def filed(v, path):
    jnp.savez(path, v=v)
def warm_up(v):
    jnp.dot(v, v)
warm_up(x)
""",
            """\
def noted(v, rows) -> int:
    rows.append(v)
noted(x, [])
""",
            """\
def looked(v, rows):
    \"""Looks.

    Returns:
        None
    \"""
    jnp.sum(v)
looked(x, [x])
""",
            """\
def sloped(v):
    total = jnp.sum(v**2)
    return total
def shown(v):
    total = sloped(v)
    total
shown(x)
""",
            """\
def rows(table):
    for row in table:
        yield row
first, *others = rows(x)
def warm(x):
    jnp.sum(x)
warm(x)
""",
            """\
def halves(x):
    low, high = jnp.split(x, 2)
    return low, high
low, high = halves(jnp.arange(4.0))
print(low + high)
""",
            """\
@nnx.jit
def step(model, optimizer, x):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(model)
    optimizer.update(model, grads)
    loss
step(model, optimizer, x)
""",
            """\
def loss_fn(w):
    error = w - 1.0
    return jnp.mean(error**2)
def show(w):
    print(loss_fn(w))
grads = jax.grad(loss_fn)(jnp.ones(4))
show(grads)
done = show(grads)
print(done)
""",
            """\
def log(value):
    print(value)
def found(rows):
    for row in rows:
        if float(row.sum()) > 1e9:
            return row
best = found(x)
if best is not None:
    print(best + 1, float(best[0]), f"{log(x[0])}")
""",
            """\
class Base:
    def loss(self, w):
        raise NotImplementedError
    def train(self, w):
        return jax.grad(self.loss)(w)
class Mine(Base):
    def loss(self, w):
        return (w**2).sum()
print(Mine().train(x[0]))
""",
            "net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))\nnet.eval()\nprint(net(x))\n",
            "class Own(nnx.Module):\n    def __init__(self, rngs):\n        self.out = nnx.Linear(3, 3, rngs=rngs)\n"
            "    def eval(self):\n        super().eval()\n        return self\nnet = Own(nnx.Rngs(0)).eval()\n"
            "print(net.out(x))\n",
            "import ast\nvalue = ast.literal_eval('[1]')\nprint(value[0])\n",
            "modes = {'off': lambda net: net.eval(), 'on': lambda net: net.train()}\nmodes['off'](model)\n",
            "def finish(net):\n    return net.eval()\nfinish(nnx.Linear(3, 3, rngs=nnx.Rngs(0)))\n",
        ),
    ),
    "NNX796": Cases(
        bad=(
            """\
from flax import linen
class Experts(linen.Module):
    count: int
    hidden: int
    @linen.compact
    def __call__(self, v):
        init = linen.initializers.xavier_uniform()
        wi = self.param("wi", init, (self.count, v.shape[-1], self.hidden))  # NNX796
        return jnp.einsum("ecd,edf->ecf", v, wi.astype(v.dtype))
Experts(4, 8).init(key, jnp.ones((4, 2, 3)))
""",
            _EXPERTS.format(made="init = nnx.initializers.lecun_normal()")
            + "        return jnp.einsum('ecd,edh->ech', v, self.w[...])\n" + _ROUTED,
            _EXPERTS.format(made="init = jax.nn.initializers.variance_scaling(2.0, 'fan_in', 'normal')")
            + "        w = self.w.astype(v.dtype)\n"
            "        return jnp.einsum('g e c d, e d h -> g e c h', v[None], w)\n" + _ROUTED,
            _EXPERTS.format(made="init = nnx.initializers.xavier_uniform()")
            + "        return v @ self.w[...]\n" + _ROUTED,
            _EXPERTS.format(made="init = nnx.initializers.he_normal(dtype=jnp.float32)")
            + "        return jnp.matmul(v, self.w[...])\n" + _ROUTED,
            _EXPERTS.format(made="from flax.nnx.initializers import kaiming_normal as make\n        init = make()")
            + "        return self.mix(v)\n    def mix(self, v):\n        w = self.w[...]\n"
            "        return jnp.einsum('edh,ecd->ech', w, v)\n" + _ROUTED,
            _EXPERTS.format(made="init = INIT").replace("class", "INIT = nnx.initializers.lecun_uniform()\nclass")
            + "        sizes = jnp.array([3, 3])\n"
            "        return jax.lax.ragged_dot(v.reshape(6, 4), self.w[...], sizes)\n" + _ROUTED,
            _EXPERTS.format(made="init = scale").replace("rngs):", "rngs, scale=nnx.initializers.lecun_normal()):")
            + "        return jnp.einsum('ecd,edh->ech', v, self.w[...])\n" + _ROUTED,
        ),
        clean=(
            """\
import dataclasses
@dataclasses.dataclass
class Config:
    n_shared: int = 1
class Shared(nnx.Module):
    def __init__(self, config, rngs):
        init = nnx.initializers.lecun_normal()
        self.weights = nnx.Param(init(rngs.params(), (config.n_shared, 3, 4)))
    def __call__(self, v):
        return jnp.einsum("bd,edh->beh", v, self.weights[...])
print(Shared(Config(), nnx.Rngs(0))(jnp.ones((2, 3))).shape)
""",
            """\
from flax import linen
class Heads(linen.Module):
    @linen.compact
    def __call__(self, v):
        w = self.param("w", linen.initializers.xavier_uniform(), (2, 3, 4))
        return jnp.einsum("cd,hdf->cf", v, w)
print(jax.tree.map(jnp.shape, Heads().init(key, jnp.ones((4, 3)))))
""",
            """\
from flax import linen
class Experts(linen.Module):
    count: int
    hidden: int
    @linen.compact
    def __call__(self, v):
        init = linen.initializers.variance_scaling(1.0, "fan_avg", "uniform", batch_axis=(0,))
        wi = self.param("wi", init, (self.count, v.shape[-1], self.hidden))
        return jnp.einsum("ecd,edf->ecf", v, wi.astype(v.dtype))
print(jax.tree.map(jnp.shape, Experts(4, 8).init(key, jnp.ones((4, 2, 3)))))
""",
            _RIGHT.format(made="init = nnx.initializers.lecun_normal(batch_axis=(0,))")
            + "        return jnp.einsum('ecd,edh->ech', v, self.w[...])\n" + _ROUTED,
            _RIGHT.format(made="init = nnx.initializers.lecun_normal(-2, -1, 0)")
            + "        return jnp.einsum('ecd,edh->ech', v, self.w[...])\n" + _ROUTED,
            _RIGHT.format(made="init = nnx.initializers.lecun_normal(in_axis=1, out_axis=2, batch_axis=0)")
            + "        return v @ self.w[...]\n" + _ROUTED,
            _RIGHT.format(made="init = nnx.initializers.normal(0.02)")
            + "        return jnp.einsum('ecd,edh->ech', v, self.w[...])\n" + _ROUTED,
            # heads: all of the inputs of each go into one sum, or the first axis is summed as well
            _RIGHT.format(made="init = nnx.initializers.lecun_normal()")
            + "        return jnp.einsum('btd,hdk->bthk', v, self.w[...])\n" + _ROUTED,
            _RIGHT.format(made="init = nnx.initializers.lecun_normal()")
            + "        return jnp.einsum('bkd,kdh->bh', v[:, :2], self.w[...])\n" + _ROUTED,
            _RIGHT.format(made="init = jax.vmap(nnx.initializers.lecun_normal(), (0, None))").replace(
                "rngs.params(), (2, 4, 5)", "jax.random.split(rngs.params(), 2), (4, 5)"
            )
            + "        return v @ self.w[...]\n" + _ROUTED,
            _RIGHT.format(made="init = nnx.initializers.lecun_normal()")
            + "        return v[0] @ self.w[0]\n" + _ROUTED,
            _RIGHT.format(made="init = nnx.initializers.lecun_normal()").replace("(2, 4, 5)", "(4, 5)")
            + "        return v @ self.w[...]\n" + _ROUTED,
            _RIGHT.format(made="init = nnx.initializers.lecun_normal()").replace("(2, 4, 5)", "(1, 4, 5)")
            + "        return v @ self.w[...]\n" + _ROUTED,
        ),
    ),
    "NNX712": Cases(
        bad=(
            """\
class Block(nnx.Module):
    def __init__(self, dim, rngs, options=None):
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=dim, rngs=rngs, **(options or {}))
    def __call__(self, v):
        return self.attn(v)  # NNX712
Block(4, nnx.Rngs(0), {"qkv_features": 4})(jnp.ones((1, 3, 4)))
""",
            "class Block(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.attn = nnx.MultiHeadAttention(2, 4, rngs=rngs)\n"
            "    def __call__(self, h):\n        return self.attn(h)  # NNX712\n",
            "class Block(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.cross = nnx.MultiHeadAttention(num_heads=2, in_features=4, dropout_rate=0.1, rngs=rngs)\n"
            "    def __call__(self, h, other, mask):\n"
            "        h = h + self.cross(h, other, mask=mask)  # NNX712\n        return h\n",
            "attention = nnx.MultiHeadAttention(2, 4, rngs=nnx.Rngs(0))\n"
            "print(attention(jnp.ones((1, 2, 4))).shape)  # NNX712\n",
            # is_causal where a token is decoded
            _DECODER + "    def __call__(self, v, decode=False):\n"
            "        return v + self.attn(v, decode=decode, is_causal=True)  # NNX712\n" + _DECODING,
            _DECODER + "    def __call__(self, v, *, decode):\n"
            "        options = dict(deterministic=True)\n"
            "        return v + self.attn(v, v, decode=decode, mask=None, is_causal=True, **options)  # NNX712\n"
            + _DECODING,
            _DECODER + "    def __call__(self, v, decode=False):\n        return self.mix(v, decode)\n"
            "    def mix(self, h, cached):\n        return self.attn(h, is_causal=True, decode=cached)  # NNX712\n"
            + _DECODING,
            _DECODER.replace("4, rngs", "4, decode=True, rngs") + "    def __call__(self, v):\n"
            "        return self.attn(v, is_causal=True)  # NNX712\n"
            "def start(net):\n    net.attn.init_cache((1, 8, 4))\n    return net\n",
            _DECODER.replace("4, rngs", "4, decode=False, rngs") + "    def __call__(self, v):\n"
            "        return self.attn(v, is_causal=True)  # NNX712\n"
            "def start(net):\n    net.attn.init_cache((1, 8, 4))\n"
            "    net.set_attributes(decode=True)\n    return net\n",
            "def layers(rngs):\n    made = nnx.MultiHeadAttention(2, 4, rngs=rngs)\n"
            "    made.init_cache((1, 8, 4))\n    return made\n"
            "attn = layers(nnx.Rngs(7))\n"
            "def step(v):\n    return attn(v, decode=True, is_causal=True)  # NNX712\n",
            """\
class Block(nnx.Module):
    def __init__(self, heads, rngs):
        options = dict(num_heads=heads, in_features=4)
        self.attn = nnx.MultiHeadAttention(**options, rngs=rngs)
    def __call__(self, h):
        return self.attn(h)  # NNX712
""",
            """\
def attention(dim, rngs):
    return nnx.MultiHeadAttention(2, dim, rngs=rngs)
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = attention(4, rngs)
    def __call__(self, h, other):
        return self.attn(h, other)  # NNX712
""",
        ),
        clean=(
            """\
class Block(nnx.Module):
    def __init__(self, dim, rngs, options=None):
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=dim, rngs=rngs, **(options or {}))
    def __call__(self, v):
        return self.attn(v)
print(Block(4, nnx.Rngs(0), {"decode": False})(jnp.ones((1, 3, 4))).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 4, decode=False, rngs=rngs)
    def __call__(self, h):
        return self.attn(h, is_causal=True)
    def step(self, h):
        return self.attn(h, decode=True)
block = Block(nnx.Rngs(0))
block.attn.init_cache((1, 3, 4))
print(block.step(jnp.ones((1, 1, 4))).shape)
""",
            _DECODER + "    def __call__(self, v, decode=False):\n"
            "        return v + self.attn(v, decode=decode, is_causal=not decode)\n" + _DECODING,
            _DECODER + "    def __call__(self, v, decode=False):\n        if decode:\n"
            "            return self.attn(v, decode=True)\n        return self.attn(v, decode=decode, is_causal=True)\n"
            + _DECODING,
            _DECODER + "    def __call__(self, v, decode=False):\n        if not decode:\n"
            "            h = self.attn(v, decode=decode, is_causal=True)\n        else:\n"
            "            h = self.attn(v, decode=decode)\n        return h\n" + _DECODING,
            _DECODER + "    def __call__(self, v, decode=False):  # nothing is ever decoded\n"
            "        return self.attn(v, decode=decode, is_causal=True)\n"
            "def start(net):\n    return net(jnp.ones((1, 2, 4)))\n",
            _DECODER + "    def __call__(self, v):\n        return self.attn(v, decode=False, is_causal=True)\n"
            + _DECODING,
            _DECODER + "    def __call__(self, v, decode=False):\n"
            "        return jax.nn.dot_product_attention(v, v, v, is_causal=True)\n" + _DECODING,
            "class Block(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.attn = nnx.MultiHeadAttention(2, 4, decode=False, rngs=rngs)\n"
            "    def __call__(self, h):\n        return self.attn(h)\n"
            "print(Block(nnx.Rngs(0))(jnp.ones((1, 2, 4))).shape)\n",
            "class Block(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.attn = nnx.MultiHeadAttention(2, 4, rngs=rngs)\n"
            "    def __call__(self, h):\n        return self.attn(h, decode=False)\n"
            "print(Block(nnx.Rngs(0))(jnp.ones((1, 2, 4))).shape)\n",
            "class Block(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.attn = nnx.MultiHeadAttention(2, 4, rngs=rngs)\n"
            "    def __call__(self, h, **options):\n        return self.attn(h, **options)\n"
            "print(Block(nnx.Rngs(0))(jnp.ones((1, 2, 4)), decode=False).shape)\n",
            "class Block(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.attn = nnx.MultiHeadAttention(2, 4, rngs=rngs)\n"
            "        self.attn.set_attributes(decode=False)\n"
            "    def __call__(self, h):\n        return self.attn(h)\n"
            "print(Block(nnx.Rngs(0))(jnp.ones((1, 2, 4))).shape)\n",
            """\
def attention(dim, rngs, **options):
    options["decode"] = False
    return nnx.MultiHeadAttention(2, dim, **options, rngs=rngs)
class Block(nnx.Module):
    def __init__(self, rngs):
        options = {"num_heads": 2, "in_features": 4}
        self.first = attention(4, rngs)
        options["decode"] = False
        self.second = nnx.MultiHeadAttention(**options, rngs=rngs)
    def __call__(self, h):
        return self.second(self.first(h))
print(Block(nnx.Rngs(0))(jnp.ones((1, 2, 4))).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        options = dict(num_heads=2, in_features=4)
        options.update(decode=False)
        self.attn = nnx.MultiHeadAttention(**options, rngs=rngs)
    def __call__(self, h):
        return self.attn(h)
print(Block(nnx.Rngs(0))(jnp.ones((1, 2, 4))).shape)
""",
        ),
    ),
    "NNX713": Cases(
        bad=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, sizes):
        hs = nn.RNN(nn.GRUCell(4))(v, seq_lengths=sizes)
        return hs[:, -1]  # NNX713
variables = Net().init(jax.random.key(0), jnp.ones((2, 5, 3)), jnp.array([5, 2]))
""",
            "class Encoder(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.cell = nnx.GRUCell(3, 3, rngs=rngs)\n"
            "    def __call__(self, xs, carry):\n        for v in xs:\n"
            "            out, carry = self.cell(carry, v)  # NNX713\n        return out\n",
            "cell = nnx.LSTMCell(3, 3, rngs=nnx.Rngs(0))\ndef run(xs, state):\n"
            "    h, state = cell(state, xs[0])  # NNX713\n    return h, state\n",
            "class Encoder(nnx.Module):\n    def __init__(self, rngs):\n"
            "        self.cell = nnx.SimpleCell(3, 3, rngs=rngs)\n"
            "    def __call__(self, xs, h):\n        for v in xs:\n"
            "            h = self.cell(h, v)  # NNX713\n        return h\n",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 3, rngs=rngs), return_carry=True)
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, x):
        outputs, carry = self.rnn(x)  # NNX713
        return self.out(outputs), carry
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 3, rngs=rngs), return_carry=True)
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, x):
        a, (h, c) = self.rnn(x)  # NNX713
        return self.out(a) + h + c
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 3, rngs=rngs), return_carry=True)
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, x):
        a, b = self.rnn(x)  # NNX713
        return self.out(a[:, -1]), b
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.OptimizedLSTMCell(3, 3, rngs=rngs), return_carry=True)
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, x):
        a, _ = self.rnn(x)  # NNX713
        return self.out(a)
""",
            """\
def encode(x, rngs):
    encoder = nnx.RNN(nnx.GRUCell(3, 3, rngs=rngs))
    decoder = nnx.RNN(nnx.GRUCell(3, 3, rngs=rngs))
    a, b = encoder(x, return_carry=True)  # NNX713
    return decoder(x, initial_carry=b)
""",
            """\
def step(x, state, rngs):
    cell = nnx.LSTMCell(3, 3, rngs=rngs)
    y, (h, c) = cell(state, x)  # NNX713
    return y, h, c
""",
            # the output behind the end of shorter sequences
            _TAGGER + "    def __call__(self, v, lengths):\n        hs = self.rnn(v)\n"
            "        return self.out(hs[:, -1])  # NNX713\n" + _TAGGED,
            _TAGGER + "    def __call__(self, v, lengths):\n"
            "        last = self.rnn(v, seq_lengths=lengths)[:, -1, :]  # NNX713\n"
            "        return self.out(last)\n" + _TAGGED,
            _TAGGER + "    def __call__(self, v, lengths):\n"
            "        carry, hs = self.rnn(v, seq_lengths=lengths, return_carry=True)\n"
            "        return self.out(hs[..., -1, :])  # NNX713\n" + _TAGGED,
            _TAGGER + "    def read(self, v):\n        return self.rnn(v)\n"
            "    def __call__(self, v, seq_lens):\n        h = self.read(v)\n"
            "        return self.out(h[:, -1])  # NNX713\n" + _TAGGED,
            "rnn = nnx.RNN(nnx.LSTMCell(3, 3, rngs=nnx.Rngs(7)))\n"
            "def encode(net, v, lengths):\n    options = {'axis': -1}\n    h = net(v, seq_lengths=lengths)\n"
            "    return jnp.sum(h[:, -1], **options)  # NNX713\nencode(rnn, jnp.ones((2, 5, 3)), jnp.array([5, 2]))\n",
            "both = nnx.Bidirectional(nnx.RNN(nnx.GRUCell(3, 3, rngs=nnx.Rngs(7))),"
            " nnx.RNN(nnx.GRUCell(3, 3, rngs=nnx.Rngs(8))))\n"
            "v = jnp.ones((2, 5, 3))\nprint(both(v, seq_lengths=jnp.array([5, 2]))[:, -1].shape)  # NNX713\n",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True)

    def __call__(self, v):
        (h_n, c_n), outputs = self.rnn(v)  # NNX713
        return h_n
print(Encoder(nnx.Rngs(0))(jnp.ones((1, 2, 3))).shape)
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.OptimizedLSTMCell(3, 4, rngs=rngs)
        self.out = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, v, hidden, cell):
        found = []
        for _ in range(3):
            (hidden, cell), _ = self.cell((hidden, cell), v)  # NNX713
            v = self.out(hidden)
            found.append(v)
        return jnp.stack(found)
print(Decoder(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.zeros((1, 4)), jnp.zeros((1, 4))).shape)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 5, rngs=rngs), time_major=True)
        self.other = nnx.RNN(nnx.GRUCell(3, 5, rngs=rngs))
    def __call__(self, v):
        return self.rnn(v)[:, -1]  # NNX713
    def told(self, v):
        states = self.other(v, time_major=True)
        return states[:, -1, :]  # NNX713
""",
        ),
        clean=(
            """\
from flax import linen as nn
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, sizes):
        last, hs = nn.RNN(nn.GRUCell(4), return_carry=True)(v, seq_lengths=sizes)
        return last, nn.RNN(nn.GRUCell(4))(v)[:, -1]
variables = Net().init(jax.random.key(0), jnp.ones((2, 5, 3)), jnp.array([5, 2]))
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True)

    def __call__(self, v):
        (c_n, h_n), outputs = self.rnn(v)
        return h_n
print(Encoder(nnx.Rngs(0))(jnp.ones((1, 2, 3))).shape)
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.OptimizedLSTMCell(3, 4, rngs=rngs)
        self.out = nnx.Linear(4, 3, rngs=rngs)

    def __call__(self, v, hidden, cell):
        found = []
        for _ in range(3):
            (hidden, cell), v4 = self.cell((hidden, cell), v)
            v = self.out(v4)
            found.append(v)
        return jnp.stack(found)
print(Decoder(nnx.Rngs(0))(jnp.ones((1, 3)), jnp.zeros((1, 4)), jnp.zeros((1, 4))).shape)
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True)

    def __call__(self, v):
        (h_n, c_n), outputs = self.rnn(v)
        return outputs, (h_n, c_n)
print(Encoder(nnx.Rngs(0))(jnp.ones((1, 2, 3)))[0].shape)
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True)

    def __call__(self, v):
        (h_n, c_n), outputs = self.rnn(v)
        return jnp.concatenate([h_n, c_n], axis=-1)
print(Encoder(nnx.Rngs(0))(jnp.ones((1, 2, 3))).shape)
""",
            """\
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs), return_carry=True)

    def __call__(self, v):
        (first, second), outputs = self.rnn(v)
        return first
print(Encoder(nnx.Rngs(0))(jnp.ones((1, 2, 3))).shape)
""",
            """\
class Own(nnx.Module):
    def __call__(self, carry, v):
        h, c = carry
        return (h + v, c - v), v
cell = Own()
(h, c), y = cell((x, x), x)
print(h)
""",
            _TAGGER + "    def __call__(self, v, lengths):\n        hs = self.rnn(v)\n"
            "        last = jnp.take_along_axis(hs, (lengths - 1)[:, None, None], axis=1)[:, 0]\n"
            "        return self.out(last)\n" + _TAGGED,
            _TAGGER + "    def __call__(self, v, lengths):\n"
            "        carry, _ = self.rnn(v, seq_lengths=lengths, return_carry=True)\n"
            "        return self.out(carry)\n" + _TAGGED,
            _TAGGER + "    def __call__(self, v, lengths=None):  # of one length\n        hs = self.rnn(v)\n"
            "        if lengths is not None:\n            return self.out(hs[jnp.arange(2), lengths - 1])\n"
            "        return self.out(hs[:, -1])\n" + _TAGGED,
            _TAGGER.replace("rngs=rngs))", "rngs=rngs), reverse=True, keep_order=True)")
            + "    def __call__(self, v, lengths):\n        hs = self.rnn(v, seq_lengths=lengths)\n"
            "        return self.out(hs[:, -1])\n" + _TAGGED,
            _TAGGER + "    def __call__(self, v, lengths):  # filled up on the left\n        hs = self.rnn(v)\n"
            "        return self.out(hs[:, -1])\n" + _TAGGED
            + "rows = np.zeros((2, 5, 3))\nfor row, one in zip(rows, [np.ones((2, 3))] * 2):\n"
            "    row[-len(one):] = one\n",
            _TAGGER + "    def __call__(self, v, length):\n        return self.out(self.rnn(v)[:, -1])\n" + _TAGGED,
            _TAGGER + "    def __call__(self, v, sizes):\n        hs = self.rnn(v, seq_lengths=None)\n"
            "        return self.out(hs[:, -1])\n" + _TAGGED,
            _TAGGER + "    def __call__(self, v, lengths):\n        hs = self.rnn(v, seq_lengths=lengths)\n"
            "        return self.out(hs[:, 0] + v[:, -1])\n" + _TAGGED,
            "cell = nnx.GRUCell(3, 3, rngs=nnx.Rngs(0))\ncarry = jnp.zeros((1, 3))\nfor v in (x[None], x[None]):\n"
            "    carry, out = cell(carry, v)\nprint(out.shape)\n",
            "cell = nnx.GRUCell(3, 3, rngs=nnx.Rngs(0))\npair = cell(jnp.zeros((1, 3)), x[None])\n"
            "print(pair[1].shape)\n",
            "class Cell(nnx.Module):\n    def __call__(self, state, v):\n        return v, state + v\ncell = Cell()\n"
            "state = x\nfor v in (x, x):\n    out, state = cell(state, v)\nprint(state)\n",
            "cell = nnx.GRUCell(3, 3, rngs=nnx.Rngs(0))\nh = jnp.zeros((1, 3))\nfor v in (x[None], x[None]):\n"
            "    h = cell(h, v)\n    h = h[0]\nprint(h.shape)\n",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 3, rngs=rngs), return_carry=True)
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, x):
        carry, outputs = self.rnn(x)
        return self.out(outputs), carry
Tagger(nnx.Rngs(0))(jnp.ones((2, 5, 3)))
""",
            # the last state, of which classes are told
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 3, rngs=rngs), return_carry=True)
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, x):
        last, _ = self.rnn(x)
        return self.out(last)
Tagger(nnx.Rngs(0))(jnp.ones((2, 5, 3)))
""",
            """\
class Tagger(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.LSTMCell(3, 3, rngs=rngs), return_carry=True)
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, x):
        (c, h), outputs = self.rnn(x)
        return self.out(outputs[:, -1]) + self.out(h) + c.sum()
Tagger(nnx.Rngs(0))(jnp.ones((2, 5, 3)))
""",
            # outputs alone
            """\
rnn = nnx.RNN(nnx.GRUCell(3, 3, rngs=nnx.Rngs(0)))
outputs = rnn(jnp.ones((2, 5, 3)))
first, second = outputs
print(outputs[:, -1], first + second)
""",
            # a class that gives its outputs first
            """\
class Turned(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 3, rngs=rngs), return_carry=True)
    def __call__(self, x):
        carry, outputs = self.rnn(x)
        return outputs, carry
outputs, carry = Turned(nnx.Rngs(0))(jnp.ones((2, 5, 3)))
print(outputs[:, -1] - carry)
""",
            """\
encoder = nnx.RNN(nnx.LSTMCell(3, 3, rngs=nnx.Rngs(0)))
decoder = nnx.RNN(nnx.LSTMCell(3, 3, rngs=nnx.Rngs(1)))
a, b = encoder(jnp.ones((2, 5, 3)), return_carry=True)
print(decoder(b, initial_carry=a)[:, -1])
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.rnn = nnx.RNN(nnx.GRUCell(3, 5, rngs=rngs), time_major=True)
        self.other = nnx.RNN(nnx.GRUCell(3, 5, rngs=rngs))
    def __call__(self, v):
        return self.rnn(jnp.swapaxes(v, 0, 1))[-1]
    def back(self, v):
        return jnp.swapaxes(self.rnn(jnp.swapaxes(v, 0, 1)), 0, 1)[:, -1]
    def told(self, v):
        return self.rnn(v, time_major=False)[:, -1] + self.other(v)[:, -1]
net = Net(nnx.Rngs(0))
v = jnp.ones((2, 4, 3))
y = net(v) + net.back(v) + net.told(v)
""",
        ),
    ),
    "NNX714": Cases(
        bad=(
            """\
class Net(nnx.Module):
    def __init__(self, widths, rngs):
        layers = []
        for din, dout in zip(widths[:-1], widths[1:]):
            layers += [nnx.Linear(din, dout, rngs=rngs), nnx.relu, nnx.Dropout(0.1, rngs=rngs)]
        self.body = nnx.Sequential(*layers)
    def __call__(self, v):
        return self.body(v)
def penalty(net):
    return sum(jnp.sum(w**2) for w in jax.tree.leaves(nnx.state(net)))  # NNX714
penalty(Net([3, 4, 2], nnx.Rngs(0)))
""",
            _DROPS + "def l2(net):\n"
            "    return sum(jnp.sum(p**2) for p in jax.tree.leaves(nnx.state(net)))  # NNX714\nprint(l2(net))\n",
            _DROPS + "_, params = nnx.split(net)\n"
            "print(sum(p.size for p in jax.tree.leaves(params)))  # NNX714\n",
            _DROPS + "state = nnx.state(net)\nhalf = jax.tree.map(lambda p: p * 0.5, state)  # NNX714\n"
            "nnx.update(net, half)\n",
            _DROPS + "leaves = jax.tree.leaves(nnx.state(net))  # NNX714\n"
            "print(sum(np.prod(leaf.shape) for leaf in leaves))\n",
            _DROPS + "def mean(a, b):\n    return 0.9 * a + 0.1 * b\n"
            "mixed = jax.tree.map(mean, nnx.state(net), nnx.state(net))  # NNX714\n",
        ),
        clean=(
            """\
class Net(nnx.Module):
    def __init__(self, widths, drop, rngs):
        layers = []
        for din, dout in zip(widths[:-1], widths[1:]):
            layers += [nnx.Linear(din, dout, rngs=rngs), nnx.relu]
            if drop:
                layers.append(nnx.Dropout(0.1, rngs=rngs))
        self.body = nnx.Sequential(*layers)
def penalty(net):
    return sum(jnp.sum(w**2) for w in jax.tree.leaves(nnx.state(net)))
print(penalty(Net([3, 4, 2], False, nnx.Rngs(0))))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs, rate=0.0):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.norm = nnx.BatchNorm(3, rngs=rngs)
        self.drop = nnx.Dropout(0.5)
        if rate > 0:
            self.other = nnx.Dropout(rate, rngs=rngs)
net = Net(nnx.Rngs(0))
mean = jax.tree.map(lambda a, b: (a + b) / 2, nnx.state(net), nnx.state(net))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
net = Net(nnx.Rngs(0))
def mix(a, b):
    if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
        return a
    return a * 0.5 + b * 0.5
mean = jax.tree.map(mix, nnx.state(net), nnx.state(net))
half = jax.tree.map(lambda a: a / 2, nnx.state(net, nnx.Param))
sizes = jax.tree.map(lambda a: a.size * 2, nnx.state(net))
graphdef, params, rest = nnx.split(net, nnx.Param, ...)
double = jax.tree.map(lambda a: a * 2, params)
""",
            _DROPS + "print(sum(jnp.sum(p**2) for p in jax.tree.leaves(nnx.state(net, nnx.Param))))\n",
            _DROPS + "_, params, rest = nnx.split(net, nnx.Param, ...)\n"
            "print(sum(p.size for p in jax.tree.leaves(params)))\n",
            "print(sum(p.size for p in jax.tree.leaves(nnx.state(model))))\n",
            "half = jax.tree.map(lambda p: p * 0.5, nnx.state(model))\nprint(half)\n",
            _DROPS + "print([p.shape for p in jax.tree.leaves(nnx.state(net))])\n",
            _DROPS + "leaves = jax.tree.leaves(nnx.state(net, nnx.Param))\n"
            "print(sum(np.prod(leaf.shape) for leaf in leaves))\n",
        ),
    ),
    "NNX715": Cases(
        bad=(
            """\
import argparse
import pathlib
import orbax.checkpoint as ocp
parser = argparse.ArgumentParser()
parser.add_argument("--out", default="checkpoints")
parser.add_argument("--run-name", default="mlp")
args = parser.parse_args([])
folder = pathlib.Path(args.out) / args.run_name
ocp.StandardCheckpointer().save(folder / "state", nnx.state(model))  # NNX715
""",
            """\
from flax.training import checkpoints
checkpoints.save_checkpoint(ckpt_dir="ckpts", target=nnx.state(model), step=0)  # NNX715
""",
            "import orbax.checkpoint as ocp\n"
            "ocp.StandardCheckpointer().save('runs/last', nnx.state(model))  # NNX715\n",
            "import os\nimport orbax.checkpoint as ocp\n"
            "manager = ocp.CheckpointManager(os.path.join('runs', 'a'))  # NNX715\n",
            "from pathlib import Path\nimport orbax.checkpoint as ocp\nFOLDER = Path('runs')\n"
            "def load(step):\n    return ocp.PyTreeCheckpointer().restore(FOLDER / f'step-{step}')  # NNX715\n",
            # every part is given by the caller
            "import os\nimport orbax.checkpoint as ocp\ndef save(folder, name):\n"
            "    ocp.PyTreeCheckpointer().save(os.path.join(folder, name), {'a': x})  # NNX715\nsave('runs', 'last')\n",
            "from pathlib import Path\nimport orbax.checkpoint as ocp\ndef save(folder, name):\n"
            "    ocp.PyTreeCheckpointer().save(Path(folder) / name, {'a': x})  # NNX715\nsave('runs', 'last')\n",
        ),
        clean=(
            """\
import argparse
import os
import orbax.checkpoint as ocp
parser = argparse.ArgumentParser()
parser.add_argument("--out", default="checkpoints", type=os.path.abspath)
args = parser.parse_args([])
print(ocp.utils is not None, args.out != "")
if len(args.out) > 1000:
    ocp.StandardCheckpointer().save(args.out, nnx.state(model))
""",
            """\
import os
from flax.training import checkpoints
def saved(state, folder="ckpts"):
    checkpoints.save_checkpoint(ckpt_dir=os.path.abspath(folder), target=state, step=0)
""",
            _ORBAX + "ocp.PyTreeCheckpointer().save(os.path.join(root, 'last'), {'a': x})\n",
            _ORBAX + "folder = os.path.abspath(os.path.relpath(root))\n"
            "ocp.PyTreeCheckpointer().save(os.path.join(folder, 'last'), {'a': x})\n",
            "import orbax.checkpoint as ocp\ndef save(path):\n    ocp.PyTreeCheckpointer().save(path, {'a': x})\n",
            _ORBAX + "def put(folder, name):\n    ocp.PyTreeCheckpointer().save(os.path.join(folder, name), {'a': 1})\n"
            "put('runs', os.path.join(root, 'b'))\n",
            _ORBAX + "def put(folder, name):\n    ocp.PyTreeCheckpointer().save(os.path.join(folder, name), {'a': 1})\n"
            "put(root, 'named')\n",
            "import orbax.checkpoint as ocp\ndef manager(bucket='gs://bucket/run'):\n"
            "    return ocp.CheckpointManager(bucket)\n",
            "class Store:\n    def save(self, path, tree):\n        print(path, tree)\nStore().save('runs/last', 1)\n",
        ),
    ),
    "NNX716": Cases(
        bad=(
            """\
import pathlib
import shutil
import tempfile
import orbax.checkpoint as ocp
run = pathlib.Path(tempfile.mkdtemp()) / "run"
run.mkdir()
saver = ocp.StandardCheckpointer()
saver.save(run / "final", {"w": x})
for path in run.iterdir():  # NNX716
    if path.name == "final":
        shutil.copytree(path, run.parent / path.name)
""",
            """\
import pathlib
import shutil
import tempfile
import orbax.checkpoint as ocp
run = pathlib.Path(tempfile.mkdtemp()) / "run"
run.mkdir()
saver = ocp.StandardCheckpointer()
place = run / "final"
saver.save(place, {"w": x})
shutil.copytree(run, run.parent / "served")  # NNX716
""",
            "import orbax.checkpoint as ocp\ndef copied(path):\n    saver = ocp.StandardCheckpointer()\n"
            "    saver.save(path, nnx.state(model))\n"
            "    return ocp.StandardCheckpointer().restore(path)  # NNX716\n",
            "import os\nimport orbax.checkpoint as ocp\ndef checked(path):\n    saver = ocp.StandardCheckpointer()\n"
            "    saver.save(path, nnx.state(model))\n    assert os.path.exists(path)  # NNX716\n",
            "import shutil\nimport orbax.checkpoint as ocp\ndef moved(path, other):\n"
            "    saver = ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler())\n"
            "    saver.save(path, nnx.state(model))\n    shutil.copytree(path, other)  # NNX716\n",
            """\
import tempfile
import orbax.checkpoint as ocp
def export(net, folder):
    checkpointer = ocp.StandardCheckpointer()
    path = folder + "/final"
    checkpointer.save(path, nnx.state(net))
    return path
def check(path, state):
    return ocp.StandardCheckpointer().restore(path, state)
def keep(net, place):
    ocp.StandardCheckpointer().save(place, nnx.state(net))
folder = tempfile.mkdtemp()
path = export(model, folder)
state = check(path, nnx.state(model))  # NNX716
keep(model, folder + "/other")
state = ocp.StandardCheckpointer().restore(folder + "/other", nnx.state(model))  # NNX716
""",
        ),
        clean=(
            """\
import pathlib
import shutil
import tempfile
import orbax.checkpoint as ocp
run = pathlib.Path(tempfile.mkdtemp()) / "run"
run.mkdir()
saver = ocp.StandardCheckpointer()
saver.save(run / "final", {"w": x})
saver.wait_until_finished()
for path in run.iterdir():
    if path.name == "final":
        shutil.copytree(path, run.parent / path.name)
""",
            """\
import pathlib
import shutil
import tempfile
import orbax.checkpoint as ocp
run = pathlib.Path(tempfile.mkdtemp()) / "run"
run.mkdir()
saver = ocp.StandardCheckpointer()
saver.save(run / "final", {"w": x})
for path in run.iterdir():
    if path.name.startswith("old"):
        shutil.rmtree(path)
print([path.name for path in run.parent.iterdir() if path.name != "served"])
saver.wait_until_finished()
""",
            """\
import pathlib
import shutil
import tempfile
import orbax.checkpoint as ocp
run = pathlib.Path(tempfile.mkdtemp()) / "run"
run.mkdir()
saver = ocp.StandardCheckpointer()
saver = ocp.PyTreeCheckpointer()
saver.save(run / "final", {"w": x})
shutil.copytree(run, run.parent / "served")
""",
            _ORBAX + "path = os.path.join(root, 'a')\nsaver = ocp.StandardCheckpointer()\nsaver.save(path, {'a': x})\n"
            "saver.wait_until_finished()\nprint(os.path.exists(path))\n",
            _ORBAX + "path = os.path.join(root, 'a')\nsaver = ocp.PyTreeCheckpointer()\nsaver.save(path, {'a': x})\n"
            "print(os.path.exists(path), ocp.PyTreeCheckpointer().restore(path))\n",
            _ORBAX + "path = os.path.join(root, 'a')\nwith ocp.StandardCheckpointer() as saver:\n"
            "    saver.save(path, {'a': x})\nprint(os.path.exists(path))\n",
            _ORBAX + "path = os.path.join(root, 'a')\nsaver = ocp.StandardCheckpointer()\nsaver.save(path, {'a': x})\n"
            "print(saver.restore(path))\n",
            """\
import tempfile
import orbax.checkpoint as ocp
def export(net, folder):
    checkpointer = ocp.StandardCheckpointer()
    path = folder + "/final"
    checkpointer.save(path, nnx.state(net))
    checkpointer.wait_until_finished()
    return path
def begin(net, place):
    checkpointer = ocp.StandardCheckpointer()
    checkpointer.save(place, nnx.state(net))
    return checkpointer
def check(path, state):
    return ocp.StandardCheckpointer().restore(path, state)
folder = tempfile.mkdtemp()
path = export(model, folder)
state = check(path, nnx.state(model))
writing = begin(model, folder + "/other")
writing.wait_until_finished()
state = check(folder + "/other", nnx.state(model))
""",
        ),
    ),
    "NNX717": Cases(
        bad=(
            """\
import orbax.checkpoint as ocp
class Keeper:
    def __init__(self, paths):
        self.last = ocp.CheckpointManager(paths["last"])
    def keep(self, step, states):
        for name in states:
            self.last.save(step, args=ocp.args.StandardSave(states[name]))  # NNX717
""",
            """\
import orbax.checkpoint as ocp
def fit(path, step):
    manager = ocp.CheckpointManager(path)
    for epoch in range(3):
        manager.save(step, args=ocp.args.StandardSave(nnx.state(model)))  # NNX717
""",
            "import orbax.checkpoint as ocp\ndef fit(path):\n    saver = ocp.StandardCheckpointer()\n"
            "    for epoch in range(3):\n        saver.save(path, nnx.state(model))  # NNX717\n",
            "import os\nimport orbax.checkpoint as ocp\ndef fit(root, losses):\n    saver = ocp.PyTreeCheckpointer()\n"
            "    best = 1.0\n    for loss in losses:\n        if loss < best:\n            best = loss\n"
            "            saver.save(os.path.join(root, 'best'), nnx.state(model))  # NNX717\n",
            "import orbax.checkpoint as ocp\nPATH = '/tmp/run'\ndef save():\n"
            "    ocp.StandardCheckpointer().save(PATH, nnx.state(model))  # NNX717\n"
            "def fit():\n    for epoch in range(3):\n        save()\n",
            """\
import os
import orbax.checkpoint as ocp
def keep(checkpointer, net, folder):
    path = os.path.abspath(os.path.join(folder, "latest"))
    checkpointer.save(path, nnx.state(net))  # NNX717
def train(net, folder, step):
    checkpointer = ocp.StandardCheckpointer()
    for i in range(9):
        step(net)
        if i % 3 == 0:
            keep(checkpointer, net, folder)
""",
        ),
        clean=(
            """\
import orbax.checkpoint as ocp
class Keeper:
    def __init__(self, paths):
        self.best = {name: ocp.CheckpointManager(path) for name, path in paths.items()}
    def keep(self, step, states):
        for name in states:
            manager = self.best[name]
            manager.save(step, args=ocp.args.StandardSave(states[name]))
            manager.wait_until_finished()
print(Keeper({}).keep(1, {}))
""",
            """\
import orbax.checkpoint as ocp
class Keeper:
    def __init__(self, paths):
        self.best = [ocp.CheckpointManager(path) for path in paths]
    def keep(self, step, state):
        for manager in self.best:
            manager.save(step, args=ocp.args.StandardSave(state))
        for i in range(len(self.best)):
            self.best[i].save(step, args=ocp.args.StandardSave(state))
print(Keeper([]).keep(1, {}))
""",
            """\
import orbax.checkpoint as ocp
def fit(path, state):
    manager = ocp.CheckpointManager(path)
    for epoch in range(3):
        manager.save(epoch, args=ocp.args.StandardSave(nnx.state(model)))
        manager.save(int(state.step), args=ocp.args.StandardSave(nnx.state(model)))
""",
            _ORBAX + "saver = ocp.PyTreeCheckpointer()\nfor epoch in range(2):\n"
            "    saver.save(os.path.join(root, str(epoch)), {'a': x})\n",
            _ORBAX + "saver = ocp.PyTreeCheckpointer()\nfor epoch in range(2):\n"
            "    saver.save(os.path.join(root, 'a'), {'a': x}, force=True)\n",
            _ORBAX + "saver = ocp.PyTreeCheckpointer()\nfor epoch in range(2):\n    if epoch == 1:\n"
            "        saver.save(os.path.join(root, 'a'), {'a': x})\n",
            _ORBAX + "import shutil\nsaver = ocp.PyTreeCheckpointer()\nfor epoch in range(2):\n"
            "    shutil.rmtree(os.path.join(root, 'a'), ignore_errors=True)\n"
            "    saver.save(os.path.join(root, 'a'), {'a': x})\n",
            """\
import os
import orbax.checkpoint as ocp
def keep(checkpointer, net, folder, number):
    path = os.path.abspath(os.path.join(folder, str(number)))
    checkpointer.save(path, nnx.state(net))
def train(net, folder, step):
    checkpointer = ocp.StandardCheckpointer()
    for i in range(9):
        step(net)
        keep(checkpointer, net, folder, i)
print(train)
""",
            """\
import os
import orbax.checkpoint as ocp
def keep(checkpointer, net, folder, word):
    path = os.path.abspath(os.path.join(folder, word + "_best"))
    checkpointer.save(path, nnx.state(net))
def train(net, folder, words):
    checkpointer = ocp.StandardCheckpointer()
    for word in words:
        keep(checkpointer, net, folder, word)
print(train)
""",
        ),
    ),
    "NNX718": Cases(
        bad=(
            "layer = nnx.Linear(3, 3, kernel_init=nnx.initializers.he_normal, rngs=nnx.Rngs(0))  # NNX718\n",
            "from jax.nn import initializers\nINIT = initializers.normal\n"
            "layer = nnx.Embed(3, 3, embedding_init=INIT, rngs=nnx.Rngs(0))  # NNX718\n",
            "w = nnx.Param(nnx.initializers.lecun_normal(jax.random.key(1), (3, 2)))  # NNX718\n",
            """\
class Block(nnx.Module):
    def __init__(self, init=nnx.initializers.he_normal, *, rngs):
        self.fc = nnx.Linear(3, 3, kernel_init=init, rngs=rngs)  # NNX718
def build():
    return Block(rngs=nnx.Rngs(0))
""",
            """\
import flax.linen as nn
class Block(nn.Module):
    @nn.compact
    def __call__(self, v):
        v = nn.Dense(3, kernel_init=nn.initializers.orthogonal)(v)  # NNX718
        return v @ self.param("w", nn.initializers.normal, (3, 2))  # NNX718
block = Block()
""",
        ),
        clean=(
            "layer = nnx.Linear(3, 3, kernel_init=nnx.initializers.he_normal(), rngs=nnx.Rngs(0))\n",
            "layer = nnx.Linear(3, 3, kernel_init=nnx.initializers.zeros, rngs=nnx.Rngs(0))\n",
            "w = nnx.Param(nnx.initializers.lecun_normal()(jax.random.key(1), (3, 2)))\n",
            "w = nnx.Param(jax.random.normal(jax.random.key(1), (3, 2)))\n",
            "def init(key, shape, dtype):\n    return jnp.ones(shape, dtype)\n"
            "layer = nnx.Linear(3, 3, kernel_init=init, rngs=nnx.Rngs(0))\n",
            """\
import flax.linen as nn
class Block(nnx.Module):
    def __init__(self, init=nnx.initializers.he_normal, *, rngs):
        self.fc = nnx.Linear(3, 3, kernel_init=init(), rngs=rngs)
class Other(nn.Module):
    @nn.compact
    def __call__(self, v):
        v = nn.Dense(3, kernel_init=nn.initializers.orthogonal())(v)
        return v @ self.param("w", nn.initializers.normal(), (3, 2))
print(Block(rngs=nnx.Rngs(0)), Other().init(jax.random.key(1), jnp.ones((1, 3))))
""",
        ),
    ),
    "NNX719": Cases(
        bad=(
            _FORWARD + "net = Mlp(nnx.Rngs(0))\nprint(net(x))  # NNX719\n",
            _FORWARD + "def run(seed):\n    return Mlp(nnx.Rngs(seed))(x)\n"
            "def main():\n    net = Mlp(nnx.Rngs(1))\n    return net(x)  # NNX719\n",
            _FORWARD + "class Outer(nnx.Module):\n    def __init__(self, rngs):\n        self.inner = Mlp(rngs)\n"
            "    def __call__(self, v):\n        return self.inner(v)  # NNX719\n",
        ),
        clean=(
            _FORWARD + "net = Mlp(nnx.Rngs(0))\nprint(net.forward(x))\n",
            _FORWARD + "class Own(Mlp):\n    def __call__(self, v):\n        return self.forward(v)\n"
            "print(Own(nnx.Rngs(0))(x))\n",
            _FORWARD + "class Own(Mlp):\n    __call__ = Mlp.forward\nnet = Own(nnx.Rngs(0))\nprint(net(x))\n",
            _FORWARD + "Mlp.__call__ = Mlp.forward\nprint(hasattr(Mlp, '__call__'))\n",
        ),
    ),
    "NNX735": Cases(
        bad=(
            _BACKBONE + """\
class Head(Backbone):
    def __init__(self, rngs):  # NNX735
        self.head = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.features(v))
""",
            _BACKBONE + """\
class Middle(Backbone):
    pass
class Deep(Middle):
    def __init__(self, rngs):  # NNX735
        self.build(rngs)
    def build(self, rngs):
        self.head = nnx.Linear(3, 2, rngs=rngs)
""",
            _BACKBONE + """\
class Own(Backbone):
    def __init__(self, rngs):  # NNX735
        self.norm = nnx.LayerNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(self.stem(v))
""",
            """\
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.body(v)
class Pooled(Stack):
    def __init__(self, rngs):  # NNX735
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        return self.out(super().__call__(v))
""",
        ),
        clean=(
            """\
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.body(v)
    def widen(self, factor):
        self.body.kernel = nnx.Param(self.body.kernel[...] * factor)
class Bounded(Stack):
    def __init__(self, rngs):
        self.inner = Stack(rngs)
    def __call__(self, v):
        return (1 - v**2) * self.inner(v) - 1.0
print(Bounded(nnx.Rngs(0))(x))
""",
            _BACKBONE + """\
class Head(Backbone):
    def __init__(self, rngs):
        super().__init__(rngs)
        self.head = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.features(v))
print(Head(nnx.Rngs(0))(x))
""",
            _BACKBONE + """\
class Old(Backbone):
    def __init__(self, rngs):
        Backbone.__init__(self, rngs)
        self.head = nnx.Linear(3, 2, rngs=rngs)
print(Old(nnx.Rngs(0)).features(x))
""",
            _BACKBONE + """\
class Built(Backbone):
    def __init__(self, rngs):
        self.build(rngs)
    def build(self, rngs):
        self.stem = nnx.Linear(3, 3, rngs=rngs)
print(Built(nnx.Rngs(0)).features(x))
""",
            _BACKBONE + """\
class Other(Backbone):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 2, rngs=rngs)
    def features(self, v):
        return self.head(v)
print(Other(nnx.Rngs(0)).features(x))
""",
            _BACKBONE + """\
class Late(Backbone):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 2, rngs=rngs)
late = Late(nnx.Rngs(0))
late.stem = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
print(late.features(x))
""",
            """\
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.body(v)
class Other(Stack):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        return self.out(v)
print(Other(nnx.Rngs(0))(x))
""",
            """\
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        return self.body(v)
class Pooled(Stack):
    def __init__(self, rngs):
        self.body = nnx.LayerNorm(3, rngs=rngs)
    def __call__(self, v):
        return 2 * super().__call__(v)
print(Pooled(nnx.Rngs(0))(x))
""",
        ),
    ),
    "NNX736": Cases(
        bad=(
            """\
class Gate(nnx.Module):
    def __init__(self, train=True):
        self.train = train
Gate().train()  # NNX736
""",
            """\
class Gate(nnx.Module):
    def __init__(self):
        self.eval = False
class Net(nnx.Module):
    def __init__(self):
        self.gate = Gate()
def validate(net):
    net.gate.eval()  # NNX736
validate(Net())
""",
            """\
class Gate(nnx.Module):
    def __init__(self, mode):
        self.sow = mode
    def __call__(self, v):
        self.sow(nnx.Intermediate, "v", v)  # NNX736
        return v
Gate("all")(x)
""",
        ),
        clean=(
            """\
class Gate(nnx.Module):
    def __init__(self, train=True):
        self.training = train
Gate().train()
""",
            """\
class Gate(nnx.Module):
    def __init__(self, train=True):
        self.train = train
print(Gate().train)
""",
            """\
class Loop:
    def __init__(self, train):
        self.train = train
Loop(print).train()
""",
            """\
class Gate(nnx.Module):
    def __init__(self, train=print):
        self.train = train
Gate().train()
""",
            """\
class Gate(nnx.Module):
    def __init__(self):
        self.eval = lambda: None
Gate().eval()
""",
        ),
    ),
    "NNX737": Cases(
        bad=(
            """\
low = nnx.LoRALinear(3, 3, lora_rank=2, rngs=nnx.Rngs(0))
tuned = nnx.Optimizer(low, optax.adam(0.1), wrt=nnx.Param)  # NNX737
""",
            """\
low = nnx.LoRALinear(3, 3, lora_rank=2, rngs=nnx.Rngs(0))
graphdef, params, rest = nnx.split(low, nnx.Param, ...)
tx = optax.adam(0.1)
opt_state = tx.init(params)  # NNX737
""",
            """\
def count(net, kind):
    return sum(one.size for one in jax.tree.leaves(nnx.state(net, kind)))
low = nnx.LoRALinear(3, 3, lora_rank=2, rngs=nnx.Rngs(0))
tuned = nnx.Optimizer(low, optax.adam(0.1), wrt=nnx.Param)  # NNX737
print(count(low, nnx.LoRAParam), nnx.state(low, nnx.LoRAParam))
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.layers = nnx.Sequential(nnx.LoRALinear(3, 3, lora_rank=2, rngs=rngs), nnx.relu)
class Trainer:
    def __init__(self, net):
        self.tuned = nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)  # NNX737
Trainer(Block(nnx.Rngs(0)))
""",
            """\
low = nnx.LoRA(3, 2, 3, base_module=model, rngs=nnx.Rngs(0))
def made(net, tx=optax.sgd(0.1)):
    return nnx.ModelAndOptimizer(net, tx, wrt=nnx.Param)  # NNX737
made(low)
""",
        ),
        clean=(
            """\
low = nnx.LoRALinear(3, 3, lora_rank=2, rngs=nnx.Rngs(0))
tuned = nnx.Optimizer(low, optax.adam(0.1), wrt=nnx.LoRAParam)
""",
            """\
low = nnx.LoRALinear(3, 3, lora_rank=2, rngs=nnx.Rngs(0))
both = nnx.Optimizer(low, optax.adam(0.1), wrt=(nnx.Param, nnx.LoRAParam))
""",
            """\
low = nnx.LoRA(3, 2, 3, rngs=nnx.Rngs(0))
tuned = nnx.Optimizer(low, optax.adam(0.1), wrt=nnx.Param)
""",
            """\
low = nnx.LoRALinear(3, 3, lora_rank=2, rngs=nnx.Rngs(0))
graphdef, params, rest = nnx.split(low, nnx.LoRAParam, ...)
tx = optax.adam(0.1)
opt_state = tx.init(params)
""",
            """\
low = nnx.LoRALinear(3, 3, lora_rank=2, rngs=nnx.Rngs(0))
first = nnx.Optimizer(low, optax.adam(0.1), wrt=nnx.Param)
second = nnx.Optimizer(low, optax.adam(0.1), wrt=nnx.LoRAParam)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
def made(net, tx):
    return nnx.Optimizer(net, tx, wrt=nnx.Param)
net = Net(nnx.Rngs(0))
first = made(net, optax.adam(0.1))
other = Net(nnx.Rngs(1))
other.fc = nnx.LoRA(3, 2, 3, base_module=other.fc, rngs=nnx.Rngs(0))
""",
            """\
low = nnx.LoRALinear(3, 3, lora_rank=2, rngs=nnx.Rngs(0))
other = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
""",
        ),
    ),
    "NNX678": Cases(
        bad=(
            # the state that was loaded is left for a new one
            """\
import pickle
def resume(path, tx):
    with open(path, "rb") as f:
        step, params, opt_state = pickle.load(f)
    return int(step), params, tx.init(params)  # NNX678
def load_training(load, path, tx):
    step, params, opt_state = load(path)
    opt_state = tx.init(params)  # NNX678
    return step, params, opt_state
def load_model(load, path, net):
    state, opt_state, epoch = load(path)
    nnx.update(net, state)
    return epoch, nnx.Optimizer(net, optax.adam(0.1), wrt=nnx.Param)  # NNX678
""",
            """\
import pickle
def save(path, step, params, opt_state):
    with open(path, "wb") as f:
        pickle.dump({"step": step, "params": params, "opt_state": opt_state}, f)
def resume(path, tx):
    with open(path, "rb") as f:
        saved = pickle.load(f)
    return saved["step"], saved["params"], tx.init(saved["params"])  # NNX678
def resume_by_name(path, tx):
    with open(path, "rb") as f:
        saved = pickle.load(f)
    params = saved["params"]
    opt_state = tx.init(params)  # NNX678
    return saved["step"], params, opt_state
""",
            # a function gives what it has loaded
            _FITTED,
            _FITTED.replace("self.start, self.params = load(path)", "self.params, self.start = load(path)").replace(
                'saved["step"], saved["params"]', 'saved["params"], saved["step"]'
            ),
            # the dict holds nothing of it
            _COUNTED.replace("= tx.init(params)\n", "= tx.init(params)  # NNX678\n"),
            _COUNTED.replace('start, params = saved["step"], saved["params"]', 'params = saved["params"]').replace(
                "= tx.init(params)\n", '= tx.init(params)  # NNX678\n        start = int(saved["step"]) + 1\n'
            ),
            _ALONE_MARKED,
            _ALONE_MARKED.replace("        fit_once(x)\n", "        fit(net, opt, x)  # NNX901\n"),
            _STEPPED.format(kept="net", mark="  # NNX678"),
            # restored by a function
            _STEPPED.format(kept="net", mark="  # NNX678")
            .replace("def run(", "def begun(m, c, path):\n    nnx.update(m, c.restore(path, nnx.state(m)))\ndef run(")
            .replace(
                "nnx.update(net, checkpointer.restore(os.path.join(folder, str(start)), nnx.state(net)))\n    fit",
                "begun(net, checkpointer, os.path.join(folder, str(start)))\n    fit",
            ),
            # a schedule, and plain gradients; beside the step that was reached
            _ALONE.replace("optax.adam(0.1)", "optax.sgd(optax.linear_schedule(0.1, 0.0, 10))").replace(
                "    manager.save(steps, args=ocp.args.StandardSave(nnx.state(net)))\n",
                """\
    state = nnx.to_pure_dict(nnx.state(net))  # NNX678
    manager.save(steps, args=ocp.args.PyTreeSave({"model": state, "step": steps}))
""",
            ),
            # a trainer, whose methods save and restore
            _ORBAX
            + """\
from tqdm import tqdm
class Trainer:
    def __init__(self, folder):
        self.manager = ocp.CheckpointManager(folder)
        self.net = nnx.Linear(3, 3, rngs=nnx.Rngs(0))
        self.opt = nnx.Optimizer(self.net, optax.adamw(0.1), wrt=nnx.Param)
    def save(self, step):
        _, state = nnx.split(self.net)  # NNX678
        self.manager.save(step, args=ocp.args.Composite(state=ocp.args.StandardSave(state)))
    def resume(self):
        step = self.manager.latest_step()
        if step is None:
            return 0
        wanted = ocp.args.Composite(state=ocp.args.StandardRestore(nnx.state(self.net)))
        nnx.update(self.net, self.manager.restore(step, args=wanted)["state"])
        return step + 1
    def train(self, steps):
        first = self.resume()
        for step in tqdm(range(first, steps)):
            self.opt.update(self.net, nnx.grad(lambda m: (m(x) ** 2).mean())(self.net))  # NNX904
        self.save(steps)
Trainer(os.path.join(root, "run")).train(1)
""",
        ),
        clean=(
            _FITTED.replace("  # NNX678", "")
            .replace("step, params):\n    with", "step, params, state):\n    with")
            .replace('"params": params}', '"params": params, "state": state}')
            .replace('saved["step"], saved["params"]', 'saved["step"], saved["params"], saved["state"]')
            .replace("self.start, self.params = load", "self.start, self.params, self.state = load")
            .replace("        if os", "        self.state = self.tx.init(params)\n        if os")
            .replace("        self.state = self.tx.init(self.params)\n", ""),
            # the parameters alone, of a training that is over
            _FITTED.replace("  # NNX678", "").replace("range(self.start, steps)", "range(steps)"),
            # the dict holds the state, or it is read from another file, or there is nothing to remember
            _COUNTED.replace('"params": params}', '"params": params, "state": state}')
            .replace("step, params):", "step, params, state):")
            .replace("= tx.init(params)\n", '= saved["state"]\n'),
            _COUNTED.replace("    if path", "    kept = None\n    if path").replace(
                "= tx.init(params)\n", "= kept or tx.init(params)\n"
            ),
            _COUNTED.replace("optax.adam(", "optax.sgd("),
            # the parameters of another training, from which this one begins
            _COUNTED.replace('start, params = saved["step"], saved["params"]', 'start, params = 0, saved["params"]'),
            # the state is read, or is a new one on some ways alone, or nothing is trained
            """\
import pickle
import tempfile
def save(path, step, params, opt_state):
    with open(path, "wb") as f:
        pickle.dump((step, params, opt_state), f)
def resume(path, tx):
    with open(path, "rb") as f:
        step, params, opt_state = pickle.load(f)
    if opt_state is None:
        opt_state = tx.init(params)
    return int(step), params, opt_state
def resume_for(path, tx, same):
    with open(path, "rb") as f:
        step, params, opt_state = pickle.load(f)
    if not same:
        opt_state = tx.init(params)
    return int(step), params, opt_state
def shown(path):
    with open(path, "rb") as f:
        step, params, opt_state = pickle.load(f)
    print(step)
    return params
path, tx = tempfile.mkdtemp() + "/w.pkl", optax.adam(0.1)
save(path, 3, x, None)
print(resume(path, tx), resume_for(path, tx, False), shown(path))
""",
            """\
import pickle
import tempfile
def save(path, step, params, opt_state):
    with open(path, "wb") as f:
        pickle.dump({"step": step, "params": params, "opt_state": opt_state}, f)
def resume(path, tx):
    with open(path, "rb") as f:
        saved = pickle.load(f)
    opt_state = tx.init(saved["params"])
    opt_state = jax.tree.map(lambda new, old: jnp.asarray(old), opt_state, saved["opt_state"])
    return saved["step"], saved["params"], opt_state
path, tx = tempfile.mkdtemp() + "/v.pkl", optax.adam(0.1)
save(path, 3, x, tx.init(x))
print(resume(path, tx))
""",
            # weights of which another training begins, from its first step
            """\
def begin(load, path, tx):
    step, params, opt_state = load(path)
    return params, tx.init(params)
print(begin(lambda path: (3, x, None), "", optax.adam(0.1)))
""",
            _RESUMED,
            _STEPPED.format(kept="(net, opt)", mark=""),
            # the steps are counted from one, and what is restored is where another training ended
            _STEPPED.format(kept="net", mark="").replace("range(start, stop)", "range(stop)"),
            # nothing to keep but the weights
            _STEPPED.format(kept="net", mark="").replace("optax.adam(0.1)", "optax.sgd(0.1)"),
            # weights of another training, which this one begins with
            _STEPPED.format(kept="net", mark="").replace("if start > 0:", "if start > 0:  # pretrained"),
            _ALONE.replace("optax.adam(0.1)", "optax.sgd(0.1)"),
            # both, each under a name of its own
            _RESUMED.replace(
                "ocp.args.StandardSave(nnx.state((net, opt)))",
                "ocp.args.Composite(net=ocp.args.StandardSave(nnx.state(net)), "
                "opt=ocp.args.StandardSave(nnx.state(opt)))",
            ).replace(
                """\
        nnx.update((net, opt), manager.restore(start, args=ocp.args.StandardRestore(nnx.state((net, opt)))))
""",
                """\
        asked = ocp.args.Composite(
            net=ocp.args.StandardRestore(nnx.state(net)), opt=ocp.args.StandardRestore(nnx.state(opt))
        )
        found = manager.restore(start, args=asked)
        nnx.update(net, found["net"])
        nnx.update(opt, found["opt"])
""",
            ),
            # what is restored is looked at, and not trained further
            _ALONE.replace("    for step in range(start or 0, steps):\n        fit_once(x)\n", "    fit_once(x)\n"),
            # the state of the optimizer is kept by a function
            _RESUMED.replace("nnx.state((net, opt))", "kept(net, opt)").replace(
                "@nnx.jit\n", "def kept(*objects):\n    return nnx.state(objects)\n@nnx.jit\n"
            ),
        ),
    ),
    "NNX679": Cases(
        bad=(
            _BEHIND_MARKED,
            # by optax, where the model is trained
            _BEHIND.replace(
                "    nnx.update(ema, jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, old, new))",
                "    nnx.update(ema, optax.incremental_update(new, old, 0.1))  # NNX679",
            ),
            # attributes of a trainer
            _BEHIND_MARKED[: _BEHIND_MARKED.index("@nnx.jit")]
            + """\
class Trainer:
    def __init__(self):
        self.net = Normed(nnx.Rngs(0))
        self.ema = nnx.clone(self.net)
        self.opt = nnx.Optimizer(self.net, optax.sgd(0.1), wrt=nnx.Param)
    def step(self, v):
        self.opt.update(self.net, nnx.grad(lambda m: (m(v) ** 2).mean())(self.net))
        follow(self.ema, self.net)
    def evaluate(self, v):
        self.ema.eval()
        return self.ema(v)
trainer = Trainer()
trainer.step(jnp.ones((2, 3)))
print(trainer.evaluate(jnp.ones((2, 3))))
""",
        ),
        clean=(
            _FOLLOWING,
            # nothing that has statistics
            _BEHIND.replace("nnx.BatchNorm", "nnx.LayerNorm"),
            # a teacher that sees the batches in training mode, and has statistics of its own
            _BEHIND.replace("    follow(ema, net)\n", "    follow(ema, net)\n    ema(v)\n"),
            # the average evaluates by the batch, as in training
            _BEHIND.replace("    ema.eval()\n", "    net.eval()\n    net(v)\n"),
            # what is no parameter is copied before the evaluation
            _BEHIND.replace(
                "    ema.eval()\n",
                "    _, _, rest = nnx.split(net, nnx.Param, ...)\n    nnx.update(ema, rest)\n    ema.eval()\n",
            ),
        ),
    ),
    "NNX680": Cases(
        bad=(
            """\
def convert(state_dict):
    params = []
    for i in range(2):
        weight = jnp.asarray(state_dict[f"layers.{i}.weight"])
        bias = jnp.asarray(state_dict[f"layers.{i}.bias"])
        params.append({"kernel": weight, "bias": bias})  # NNX680
    return params
@jax.jit
def forward(params, v):
    for layer in params:
        v = jax.nn.relu(v @ layer["kernel"] + layer["bias"])
    return v
sd = {f"layers.{i}.{word}": np.ones((3, 3) if word == "weight" else 3) for i in range(2) for word in ("weight", "bias")}
print(forward(convert(sd), x))
""",
            """\
def linear(state_dict, v):
    w = jnp.array(state_dict["fc.weight"])
    return jnp.array(state_dict["fc.bias"]) + jnp.dot(v, w)  # NNX680
print(linear({"fc.weight": np.ones((3, 3)), "fc.bias": np.ones(3)}, x))
""",
            """\
def apply(path, v):
    import torch
    dump = torch.load(path)
    return v @ dump["out.weight"].numpy() + dump["out.bias"].numpy()  # NNX680
""",
            _PORTED.replace('["fc2.weight"].numpy().T', '["fc2.weight"].numpy()  # NNX680'),
            # the layers are in sight
            _PORTED.replace('["fc1.weight"].numpy().T', '["fc1.weight"].numpy()  # NNX680').replace(
                '["fc2.weight"].numpy().T', '["fc2.weight"].numpy()  # NNX680'
            ),
            # names that are put together, in a dict
            """\
def convert(state_dict, depth):
    params = {}
    for i in range(depth):
        params[f"blocks_{i}.fc1.kernel"] = np.transpose(state_dict[f"blocks.{i}.fc1.weight"])
        params[f"blocks_{i}.fc2.kernel"] = np.asarray(state_dict[f"blocks.{i}.fc2.weight"])  # NNX680
    return params
""",
            # modules of PyTorch
            """\
def port(net, torch_net):
    net["conv"]["kernel"] = jnp.asarray(torch_net.conv.weight.detach().numpy()).transpose(2, 3, 1, 0)
    net["fc"]["kernel"] = jnp.asarray(torch_net.fc.weight.detach().cpu().numpy())  # NNX680
""",
        ),
        clean=(
            """\
def convert(state_dict):
    params = []
    for i in range(2):
        weight = jnp.asarray(state_dict[f"layers.{i}.weight"]).T
        bias = jnp.asarray(state_dict[f"layers.{i}.bias"])
        params.append({"kernel": weight, "bias": bias})
    return params
@jax.jit
def forward(params, v):
    for layer in params:
        v = jax.nn.relu(v @ layer["kernel"] + layer["bias"])
    return v
sd = {f"layers.{i}.{word}": np.ones((3, 3) if word == "weight" else 3) for i in range(2) for word in ("weight", "bias")}
print(forward(convert(sd), x))
""",
            """\
def linear(state_dict, v):
    w, b = jnp.array(state_dict["fc.weight"]), jnp.array(state_dict["fc.bias"])
    return v @ w.T + b, w @ v + b
print(linear({"fc.weight": np.ones((3, 3)), "fc.bias": np.ones(3)}, x)[0])
""",
            """\
def conv1d(state_dict, v):  # GPT-2
    return v @ state_dict["h.0.attn.c_attn.weight"] + state_dict["h.0.attn.c_attn.bias"]
print(conv1d({"h.0.attn.c_attn.weight": np.ones((3, 3)), "h.0.attn.c_attn.bias": np.ones(3)}, x))
""",
            """\
def own(params, v):
    return v @ params["fc.weight"] + params["fc.bias"]
state_dict = {"fc.weight": np.ones((3, 3)), "fc.bias": np.ones(3)}
print(own(state_dict, x), x @ state_dict["fc.weight"])
""",
            _PORTED,
            # all kernels are turned around afterwards
            _PORTED.replace('"].numpy().T', '"].numpy()').replace(
                "    return net\n",
                "    for layer in (net.fc1, net.fc2):\n"
                "        layer.kernel[...] = layer.kernel[...].T\n    return net\n",
            ),
            # weights that are stored as Flax has them, in the file and in layers of others
            """\
def convert(state_dict):
    return_value = {}
    return_value["attn.kernel"] = state_dict["attn.c_attn.weight"]
    return_value["fc.kernel"] = state_dict["fc.weight"].T
    return_value["norm.scale"] = state_dict["norm.weight"]
    return return_value
print(convert({"attn.c_attn.weight": x, "fc.weight": x, "norm.weight": x}))
""",
            # a weight of something that nobody knows, beside none that is turned around
            """\
def copied(target, state_dict):
    target["fc"] = {}
    target["fc"]["kernel"] = state_dict["fc.weight"]
copied({}, {"fc.weight": x})
""",
            # turned around where it is read
            """\
def port(net, state_dict):
    def turned(name):
        return np.asarray(state_dict[name]).T
    net["fc1.kernel"] = turned("fc1.weight")
    net["fc2.kernel"] = np.asarray(state_dict["fc2.weight"]).T
    return net
print(port({}, {"fc1.weight": x, "fc2.weight": x}))
""",
        ),
    ),
    "NNX742": Cases(
        bad=(
            """\
import pickle
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
class Keeper:
    def __init__(self, net):
        self.net = net
    def keep(self, file):
        pickle.dump(nnx.state(self.net, nnx.Param), file)  # NNX742
    def load(self, file):
        nnx.update(self.net, pickle.load(file))
        self.net.eval()
keeper = Keeper(Net(nnx.Rngs(5)))
""",
            """\
import pickle
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
def weights(net):
    return {"weights": nnx.state(net, nnx.Param), "epoch": 3}  # NNX742
def save(net):
    return pickle.dumps(weights(net))
net = Net(nnx.Rngs(5))
net.eval()
nnx.update(net, pickle.loads(save(net)))
""",
            """\
import pickle
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
def save(net):
    params = nnx.state(net, nnx.Param)  # NNX742
    return pickle.dumps(jax.tree.map(np.asarray, nnx.to_pure_dict(params)))
net = Net(nnx.Rngs(5))
net.eval()
nnx.update(net, pickle.loads(save(net)))
""",
        ),
        clean=(
            """\
import pickle
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
def save(net):
    return pickle.dumps(nnx.state(net))
net = Net(nnx.Rngs(5))
net.eval()
nnx.update(net, pickle.loads(save(net)))
""",
            """\
import pickle
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
def save(net):
    return pickle.dumps(nnx.state(net, (nnx.Param, nnx.BatchStat)))
net = Net(nnx.Rngs(5))
net.eval()
nnx.update(net, pickle.loads(save(net)))
""",
            """\
import pickle
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
def save(net):
    return pickle.dumps(nnx.state(model, nnx.Param))
net = Net(nnx.Rngs(5))
net.eval()
nnx.update(net, pickle.loads(save(net)))
""",
            """\
import pickle
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
def save(net):
    return pickle.dumps([nnx.state(net, kind) for kind in (nnx.Param, nnx.BatchStat)])
net = Net(nnx.Rngs(5))
net.eval()
nnx.update(net, *pickle.loads(save(net)))
""",
            """\
import pickle
class Net(nnx.Module):
    def __init__(self, rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.norm(v)
print(nnx.state(Net(nnx.Rngs(5)), nnx.Param))
""",
        ),
    ),
    "NNX738": Cases(
        bad=(
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.out = nnx.Param(self.embed.embedding[...].T)  # NNX738
Tied(nnx.Rngs(0))
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        table = nnx.Embed(5, 3, rngs=rngs)
        self.table = table
        self.out = nnx.Param(jnp.transpose(table.embedding[...]))  # NNX738
Tied(nnx.Rngs(0))
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.out = nnx.Linear(3, 5, rngs=rngs)
        self.out.kernel.value = self.embed.embedding.value.T  # NNX738
Tied(nnx.Rngs(0))
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.unembed = nnx.Param(self.embed.embedding[...])  # NNX738
    def __call__(self, tokens):
        h = self.embed(tokens)
        return h @ self.unembed[...].T
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.unembed = nnx.Param(jnp.array(self.embed.embedding.value))  # NNX738
    def __call__(self, tokens):
        h = self.embed(tokens)
        return jnp.einsum("nd,vd->nv", h, self.unembed[...])
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.unembed = nnx.Param(jnp.asarray(self.embed.embedding[...].T))  # NNX738
    def __call__(self, tokens):
        h = self.embed(tokens)
        return h @ self.unembed[...]
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.unembed = self.embed.embedding[...]  # NNX738
    def __call__(self, tokens):
        h = self.embed(tokens)
        return jnp.dot(h, self.unembed.T)
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.unembed = self.embed.embedding[...].T  # NNX738
    def __call__(self, tokens):
        h = self.embed(tokens)
        return h @ self.unembed
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(8, 4, rngs=rngs)
        table = self.embed.embedding[...]
        self.out = nnx.Param(jnp.transpose(table))  # NNX738
    def __call__(self, tokens):
        return self.embed(tokens) @ self.out[...]
""",
        ),
        clean=(
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
    def __call__(self, tokens):
        return self.embed.attend(self.embed(tokens))
Tied(nnx.Rngs(0))
""",
            """\
class Shared(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.table = self.embed.embedding
    def __call__(self, tokens):
        return self.embed(tokens) @ self.table[...].T
Shared(nnx.Rngs(0))
""",
            """\
class Two(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        # untied: only the first values are the same
        self.out = nnx.Param(self.embed.embedding[...].T)
Two(nnx.Rngs(0))
""",
            """\
class Plain(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(5, 3, rngs=rngs)
        self.out = nnx.Param(self.linear.kernel[...].T)
Plain(nnx.Rngs(0))
""",
            """\
class Logits(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
    def __call__(self, h):
        table = self.embed.embedding[...].T
        return h @ table
Logits(nnx.Rngs(0))
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.unembed = self.embed.embedding
    def __call__(self, tokens):
        h = self.embed(tokens)
        return h @ self.unembed[...].T
Tied(nnx.Rngs(0))(jnp.arange(4))
""",
            # another table, that begins alike
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.values = nnx.Param(self.embed.embedding[...])
    def __call__(self, tokens):
        h = self.embed(tokens)
        return h + self.values[...][tokens]
Tied(nnx.Rngs(0))(jnp.arange(4))
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.unembed = nnx.Param(self.embed.embedding[...])  # a copy: the two are trained apart
    def __call__(self, tokens):
        h = self.embed(tokens)
        return h @ self.unembed[...].T
Tied(nnx.Rngs(0))(jnp.arange(4))
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.mixed = nnx.Param(jnp.ones((5, 3)) + self.embed.embedding[...])
    def __call__(self, tokens):
        h = self.embed(tokens)
        return h @ self.mixed[...].T
Tied(nnx.Rngs(0))(jnp.arange(4))
""",
            # products of the rows among themselves
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.rows = nnx.Param(self.embed.embedding[...])
    def __call__(self, tokens):
        h = self.embed(tokens)
        return self.rows[...] @ self.rows[...][0]
Tied(nnx.Rngs(0))(jnp.arange(4))
""",
            """\
class Tied(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(5, 3, rngs=rngs)
        self.size = self.embed.embedding[...].shape
    def __call__(self, tokens):
        h = self.embed(tokens)
        return h.reshape(-1, self.size[1])
Tied(nnx.Rngs(0))(jnp.arange(4))
""",
            """\
class Free(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(8, 4, rngs=rngs)
        table = jax.random.normal(rngs.params(), (8, 4))
        self.out = nnx.Param(jnp.transpose(table))
    def __call__(self, tokens):
        return self.embed(tokens) @ self.out[...]
print(Free(nnx.Rngs(0))(jnp.arange(3)))
""",
            """\
class Both(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(8, 4, rngs=rngs)
        table = self.embed.embedding[...]
        print(jnp.transpose(table).shape)
    def __call__(self, tokens):
        return self.embed.attend(self.embed(tokens))
print(Both(nnx.Rngs(0))(jnp.arange(3)))
""",
        ),
    ),
    "NNX956": Cases(
        bad=(
            _TABLE + _TRAINED,
            _TABLE.replace(
                "        angles = jnp.arange(5)[:, None] / 100.0 ** (jnp.arange(2) / 2)\n", ""
            ).replace("jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)", "sinusoids(5, 4)")
            + "def sinusoids(length, width):\n    table = np.zeros((length, width), np.float32)\n"
            "    at = np.arange(length)[:, None] / 100.0 ** (np.arange(0, width, 2) / width)\n"
            "    table[:, 0::2], table[:, 1::2] = np.sin(at), np.cos(at)\n    return jnp.asarray(table)\n"
            + _TRAINED,
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
        self.order = nnx.Param(jnp.arange(3))  # NNX956
        self.causal_mask = nnx.Param(jnp.tril(jnp.ones((3, 3))))  # NNX956
        self.alphas_cumprod = nnx.Param(jnp.cumprod(1.0 - jnp.linspace(1e-4, 0.02, 3)))  # NNX956
        self.inv_freq = nnx.Param(1.0 / 10000.0 ** (jnp.arange(0, 6, 2) / 6))  # NNX956
    def __call__(self, v):
        return self.out(v * self.inv_freq) @ self.causal_mask * self.alphas_cumprod
"""
            + _TRAINED,
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
        self.running_mean = nnx.Param(jnp.zeros(3))  # NNX956
    def __call__(self, v):
        self.running_mean[...] = 0.9 * self.running_mean[...] + 0.1 * v.mean(axis=0)
        return self.out(v - self.running_mean)
"""
            + _TRAINED,
            """\
class Positions(nnx.Module):
    def __init__(self, length, rngs):
        self.table = nnx.Embed(length, 3, rngs=rngs)
        self.places = nnx.Param(jnp.arange(length))  # NNX956
    def __call__(self, v):
        return v + self.table(self.places[...])
class Net(nnx.Module):
    def __init__(self, rngs):
        self.positions = Positions(4, rngs)
        self.out = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(self.positions(v))
net = Net(nnx.Rngs(0))
slopes = nnx.grad(lambda m: m(jnp.ones((4, 3))).sum())(net)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
        self.center = nnx.Param(jnp.zeros(3))  # NNX956
        self.rate = 0.1
    def __call__(self, v):
        moved = (1 - self.rate) * self.center[...] + self.rate * v.mean(axis=0)
        self.center[...] = moved
        return self.out(v - self.center[...])
net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
slopes = nnx.grad(lambda m: m(jnp.ones((4, 3))).sum())(net)
""",
        ),
        clean=(
            # a type of its own, a gradient that is stopped, and a table that nobody trains
            "class Buffer(nnx.Variable):\n    pass\n" + _UNTOLD.replace("nnx.Param(", "Buffer(") + _TRAINED,
            _UNTOLD.replace("+ self.pos_table", "+ jax.lax.stop_gradient(self.pos_table)") + _TRAINED,
            _UNTOLD + "print(Net(nnx.Rngs(0))(jnp.ones((5, 4))))\n",
            # what is learned, also from a table
            _UNTOLD.replace("pos_table", "pos_embedding") + _TRAINED,
            _UNTOLD.replace("pos_table", "learned_positional_encoding") + _TRAINED,
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.mask_token = nnx.Param(jnp.zeros((1, 4)))
        self.freqs = nnx.Param(jax.random.normal(rngs.params(), (4, 4)))
        self.scale = nnx.Param(jnp.ones(4))
        self.decay = nnx.Param(jnp.linspace(0.1, 1.0, 4))
    def __call__(self, v):
        at = (v + self.mask_token) @ self.freqs
        return (jnp.sin(at) + jnp.cos(at)) * self.scale * self.decay
"""
            + _TRAINED,
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(4, 4, rngs=rngs)
        self.running_mean = nnx.BatchStat(jnp.zeros(4))
        self.order = nnx.Variable(jnp.arange(4))
    def __call__(self, v):
        self.running_mean[...] = 0.9 * self.running_mean[...] + 0.1 * v.mean(axis=0)
        return self.out(v - self.running_mean)[..., self.order[...]]
"""
            + _TRAINED,
            # a constant of nature that is fitted, and the widths of radial functions
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.spring_constant = nnx.Param(jnp.array(1.0))
        self.betas = nnx.Param(jnp.linspace(0.5, 2.0, 4))
    def __call__(self, v):
        return self.spring_constant * jnp.exp(-self.betas * v**2)
"""
            + _TRAINED,
            # an optimizer of another type of Variables, and one that leaves the table out
            "class Weight(nnx.Param):\n    pass\n"
            + _UNTOLD.replace("self.out = nnx.Linear(4, 4, rngs=rngs)", "self.out = Weight(jnp.ones((4, 4)))").replace(
                "self.out(v + self.pos_table)", "(v + self.pos_table) @ self.out"
            )
            + _TRAINED.replace("wrt=nnx.Param", "wrt=Weight").replace("nnx.grad(loss)", "nnx.grad(loss, argnums=of)")
            + "of = nnx.DiffState(0, Weight)\n",
            """\
class Positions(nnx.Module):
    def __init__(self, length, rngs):
        self.table = nnx.Embed(length, 3, rngs=rngs)
        self.places = nnx.Variable(jnp.arange(length))
        self.scale = nnx.Param(jnp.arange(length, dtype=float)[:, None])
        self.shift = nnx.Param(jnp.arange(3.0))
    def __call__(self, v):
        return v * self.scale[...] + self.table(self.places[...]) + self.shift[...]
net = Positions(4, nnx.Rngs(0))
slopes = nnx.grad(lambda m: m(jnp.ones((4, 3))).sum())(net)
""",
            """\
class Codes(nnx.Module):
    def __init__(self, rngs):
        self.used = nnx.Param(jnp.zeros(4, jnp.int32))
        self.out = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        return self.out(v)
net = Codes(nnx.Rngs(0))
only = nnx.DiffState(0, nnx.PathContains("out"))
slopes = nnx.grad(lambda m: m(jnp.ones((4, 3))).sum(), argnums=only)(net)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
        self.center = nnx.Param(jnp.zeros(3))
    def __call__(self, v):
        self.center[...] = 0.9 * self.center[...] + 0.1 * v.mean(axis=0)
        return self.out(v - jax.lax.stop_gradient(self.center[...]))
net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
slopes = nnx.grad(lambda m: m(jnp.ones((4, 3))).sum())(net)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.out = nnx.Linear(3, 3, rngs=rngs)
        self.mix = nnx.Param(jnp.array(0.5))
        self.shift = nnx.Param(jnp.zeros(3))
    def blend(self, v, w):
        return self.mix[...] * v + (1 - self.mix[...]) * w
    def __call__(self, v):
        return self.out(self.blend(v, v + self.shift[...]))
net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.adam(1e-3), wrt=nnx.Param)
slopes = nnx.grad(lambda m: m(jnp.ones((4, 3))).sum())(net)
""",
        ),
    ),
    "NNX957": Cases(
        bad=(
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.tok, self.pos = nnx.Embed(9, 4, rngs=rngs), nnx.Embed(16, 4, rngs=rngs)
        self.key, self.head = nnx.Linear(4, 4, rngs=rngs), nnx.Linear(4, 9, rngs=rngs)
    def __call__(self, ids, cache=None):
        begin = 0 if cache is None else cache["k"].shape[1]
        h = self.tok(ids) + self.pos(jnp.arange(ids.shape[1]))  # NNX957
        k = self.key(h)
        if cache is not None:
            k = jnp.concatenate([cache["k"], k], axis=1)
        scores = nnx.softmax(h @ k.swapaxes(1, 2))
        return self.head(scores @ k), {"k": k}
net = Decoder(nnx.Rngs(0))
logits, cache = net(jnp.ones((1, 3), int))
print(net(jnp.ones((1, 1), int), cache)[0])
""",
            """\
class Attention(nnx.Module):
    def __init__(self, rngs):
        self.qkv = nnx.Linear(4, 12, rngs=rngs)
    def __call__(self, h, past):
        q, k, v = jnp.split(self.qkv(h), 3, axis=-1)
        if past is not None:
            past_k, past_v = past
            k, v = jnp.concatenate([past_k, k], axis=1), jnp.concatenate([past_v, v], axis=1)
        return nnx.softmax(q @ k.swapaxes(1, 2)) @ v, (k, v)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte, self.wpe = nnx.Embed(9, 4, rngs=rngs), nnx.Embed(16, 4, rngs=rngs)
        self.attention = Attention(rngs)
    def __call__(self, ids, past=None):
        _, length = ids.shape
        positions = jnp.arange(length)[None, :]  # NNX957
        h, kept = self.attention(self.wte(ids) + self.wpe(positions), past)
        return h, kept
net = GPT(nnx.Rngs(0))
_, past = net(jnp.ones((1, 3), int))
print(net(jnp.ones((1, 1), int), past)[0])
""",
            # plain functions, and a cache that is written to
            _EMBEDDED,
            _EMBEDDED.replace("embed(params, token[:, None])", "embed(params, tokens)").replace(
                "step(params, cache, token)", "step(params, cache, tokens)"
            ),
            """\
def step(params, k_cache, tokens, pos):
    length = tokens.shape[1]
    h = params["wte"][tokens] + params["wpe"][:length]  # NNX957
    k_cache = k_cache.at[:, pos].set((h @ params["key"])[:, 0])
    return h @ k_cache.swapaxes(1, 2), k_cache
print(step({"wte": jnp.ones((9, 3)), "wpe": jnp.ones((8, 3)), "key": jnp.eye(3)}, jnp.zeros((1, 8, 3)),
           jnp.array([[1]]), 2)[0])
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
    def __call__(self, x, decode=False):
        return x + self.attn(x, decode=decode)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(50, 16, rngs=rngs)
        self.wpe = nnx.Embed(32, 16, rngs=rngs)
        self.block = Block(rngs)
    def __call__(self, ids, decode=False):
        B, T = ids.shape
        pos = jnp.arange(T)  # NNX957
        h = self.wte(ids) + self.wpe(pos)
        h = self.block(h, decode=decode)
        return h @ self.wte.embedding[...].T
def generate(m):
    m.block.attn.init_cache((1, 32, 16))
    t = m(jnp.ones((1, 1), int), decode=True).argmax(-1)
    return m(t, decode=True)
print(generate(GPT(nnx.Rngs(0))).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
    def __call__(self, x, decode=False):
        return x + self.attn(x, decode=decode)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(50, 16, rngs=rngs)
        self.wpe = nnx.Embed(32, 16, rngs=rngs)
        self.block = Block(rngs)
    def __call__(self, ids, decode=False):
        B, T = ids.shape
        pos = jnp.broadcast_to(jnp.arange(T)[None, :], (B, T))  # NNX957
        h = self.wte(ids) + self.wpe(pos)
        h = self.block(h, decode=decode)
        return h @ self.wte.embedding[...].T
def generate(m):
    m.block.attn.init_cache((1, 32, 16))
    t = m(jnp.ones((1, 1), int), decode=True).argmax(-1)
    return m(t, decode=True)
print(generate(GPT(nnx.Rngs(0))).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
    def __call__(self, x, decode=False):
        return x + self.attn(x, decode=decode)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(50, 16, rngs=rngs)
        self.wpe = nnx.Embed(32, 16, rngs=rngs)
        self.block = Block(rngs)
    def __call__(self, ids, decode=False):
        B, T = ids.shape
        pos = jnp.arange(0, T)[None]  # NNX957
        h = self.wte(ids) + self.wpe(pos)
        h = self.block(h, decode=decode)
        return h @ self.wte.embedding[...].T
def generate(m):
    m.block.attn.init_cache((1, 32, 16))
    t = m(jnp.ones((1, 1), int), decode=True).argmax(-1)
    return m(t, decode=True)
print(generate(GPT(nnx.Rngs(0))).shape)
""",
            "class Attend(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.attend = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)\n"
            "    def __call__(self, h):\n"
            "        return self.attend(h)\n"
            "class LM(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.words = nnx.Embed(10, 8, rngs=rngs)\n"
            "        self.places = nnx.Embed(6, 8, rngs=rngs)\n"
            "        self.inner = Attend(rngs)\n"
            "    def __call__(self, ids):\n"
            "        pos = jnp.arange(ids.shape[-1])[None, :]  # NNX957\n"
            "        return self.inner(self.words(ids) + self.places(pos))\n"
            "lm = LM(nnx.Rngs(0))\n"
            "lm.inner.attend.init_cache((1, 6, 8))\n"
            "print(lm(jnp.ones((1, 1), int)))\n",
            "class LM(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.words = nnx.Embed(10, 8, rngs=rngs)\n"
            "        self.pos = nnx.Param(jnp.ones((6, 8)))\n"
            "        self.attend = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)\n"
            "    def __call__(self, ids, decode=False):\n"
            "        b, t = ids.shape\n"
            "        return self.attend(self.words(ids) + self.pos[:t], decode=decode)  # NNX957\n"
            "lm = LM(nnx.Rngs(0))\n"
            "lm.attend.init_cache((1, 6, 8))\n"
            "print(lm(jnp.ones((1, 1), int), decode=True))\n",
        ),
        clean=(
            """\
def embed(params, tokens, offset=0):
    positions = offset + jnp.arange(tokens.shape[1])
    return params["wte"][tokens] + params["wpe"][positions]
def step(params, cache, token):
    i = cache["index"]
    h = embed(params, token[:, None], i)
    k = jax.lax.dynamic_update_slice(cache["k"], h @ params["key"], (0, i, 0))
    return {"k": k, "index": i + 1}, h @ k.swapaxes(1, 2)
params = {"wte": jnp.ones((9, 3)), "wpe": jnp.ones((8, 3)), "key": jnp.eye(3)}
print(step(params, {"k": jnp.zeros((1, 8, 3)), "index": jnp.array(2)}, jnp.array([1]))[1])
""",
            # a prompt, whose keys go into the cache of each layer from its beginning on
            """\
def forward(params, k_cache, tokens):
    h = params["wte"][tokens] + params["wpe"][jnp.arange(tokens.shape[1])]
    for i in range(2):
        k_cache = k_cache.at[i].set(h)
    k_cache = jax.lax.dynamic_update_slice(k_cache, h[None], (0, 0, 0, 0))
    return h, k_cache
params = {"wte": jnp.ones((9, 3)), "wpe": jnp.ones((8, 3))}
print(forward(params, jnp.zeros((2, 1, 4, 3)), jnp.ones((1, 4), int))[0])
""",
            """\
def forward(params, cache, tokens, positions=None):
    if positions is None:
        positions = jnp.arange(tokens.shape[1])
    h = params["wte"][tokens] + params["wpe"][positions]
    return h, cache.at[:, positions[0]].set(h[:, 0])
params = {"wte": jnp.ones((9, 3)), "wpe": jnp.ones((8, 3))}
print(forward(params, jnp.zeros((1, 8, 3)), jnp.ones((1, 1), int), jnp.array([3]))[0])
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.tok, self.pos = nnx.Embed(9, 4, rngs=rngs), nnx.Embed(16, 4, rngs=rngs)
        self.key, self.head = nnx.Linear(4, 4, rngs=rngs), nnx.Linear(4, 9, rngs=rngs)
    def __call__(self, ids, cache=None):
        begin = 0 if cache is None else cache["k"].shape[1]
        h = self.tok(ids) + self.pos(begin + jnp.arange(ids.shape[1]))
        k = self.key(h)
        if cache is not None:
            k = jnp.concatenate([cache["k"], k], axis=1)
        scores = nnx.softmax(h @ k.swapaxes(1, 2))
        return self.head(scores @ k), {"k": k}
net = Decoder(nnx.Rngs(0))
logits, cache = net(jnp.ones((1, 3), int))
print(net(jnp.ones((1, 1), int), cache)[0])
""",
            """\
class Attention(nnx.Module):
    def __init__(self, rngs):
        self.qkv = nnx.Linear(4, 12, rngs=rngs)
    def __call__(self, h, past):
        q, k, v = jnp.split(self.qkv(h), 3, axis=-1)
        if past is not None:
            past_k, past_v = past
            k, v = jnp.concatenate([past_k, k], axis=1), jnp.concatenate([past_v, v], axis=1)
        return nnx.softmax(q @ k.swapaxes(1, 2)) @ v, (k, v)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte, self.wpe = nnx.Embed(9, 4, rngs=rngs), nnx.Embed(16, 4, rngs=rngs)
        self.attention = Attention(rngs)
    def __call__(self, ids, past=None):
        _, length = ids.shape
        positions = jnp.arange(length)[None, :] + (0 if past is None else past[0].shape[1])
        h, kept = self.attention(self.wte(ids) + self.wpe(positions), past)
        return h, kept
net = GPT(nnx.Rngs(0))
_, past = net(jnp.ones((1, 3), int))
print(net(jnp.ones((1, 1), int), past)[0])
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.tok, self.pos = nnx.Embed(9, 4, rngs=rngs), nnx.Embed(16, 4, rngs=rngs)
        self.key, self.head = nnx.Linear(4, 4, rngs=rngs), nnx.Linear(4, 9, rngs=rngs)
    def prefill(self, ids, cache=None):
        begin = 0 if cache is None else cache["k"].shape[1]
        h = self.tok(ids) + self.pos(jnp.arange(ids.shape[1]))
        k = self.key(h)
        if cache is not None:
            k = jnp.concatenate([cache["k"], k], axis=1)
        scores = nnx.softmax(h @ k.swapaxes(1, 2))
        return self.head(scores @ k), {"k": k}
net = Decoder(nnx.Rngs(0))
logits, cache = net.prefill(jnp.ones((1, 3), int))
print(net.prefill(jnp.ones((1, 1), int), cache)[0])
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
    def __call__(self, x, decode=False):
        return x + self.attn(x, decode=decode)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(50, 16, rngs=rngs)
        self.wpe = nnx.Embed(32, 16, rngs=rngs)
        self.block = Block(rngs)
    def __call__(self, ids, decode=False):
        B, T = ids.shape
        pos = jnp.arange(T) + self.block.attn.cache_index[...]
        h = self.wte(ids) + self.wpe(pos)
        h = self.block(h, decode=decode)
        return h @ self.wte.embedding[...].T
def generate(m):
    m.block.attn.init_cache((1, 32, 16))
    t = m(jnp.ones((1, 1), int), decode=True).argmax(-1)
    return m(t, decode=True)
print(generate(GPT(nnx.Rngs(0))).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
    def __call__(self, x, decode=False):
        return x + self.attn(x, decode=decode)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(50, 16, rngs=rngs)
        self.wpe = nnx.Embed(32, 16, rngs=rngs)
        self.block = Block(rngs)
    def __call__(self, ids, decode=False):
        B, T = ids.shape
        pos = self.block.attn.cache_index[...][None] if decode else jnp.arange(T)
        h = self.wte(ids) + self.wpe(pos)
        h = self.block(h, decode=decode)
        return h @ self.wte.embedding[...].T
def generate(m):
    m.block.attn.init_cache((1, 32, 16))
    t = m(jnp.ones((1, 1), int), decode=True).argmax(-1)
    return m(t, decode=True)
print(generate(GPT(nnx.Rngs(0))).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
    def __call__(self, x, decode=False):
        return x + self.attn(x, decode=decode)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(50, 16, rngs=rngs)
        self.wpe = nnx.Embed(32, 16, rngs=rngs)
        self.block = Block(rngs)
    def __call__(self, ids, decode=False):
        B, T = ids.shape
        if decode:
            pos = self.block.attn.cache_index[...][None]
        else:
            pos = jnp.arange(T)
        h = self.wte(ids) + self.wpe(pos)
        h = self.block(h, decode=decode)
        return h @ self.wte.embedding[...].T
def generate(m):
    m.block.attn.init_cache((1, 32, 16))
    t = m(jnp.ones((1, 1), int), decode=True).argmax(-1)
    return m(t, decode=True)
print(generate(GPT(nnx.Rngs(0))).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
    def __call__(self, x, decode=False):
        return x + self.attn(x, decode=decode)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(50, 16, rngs=rngs)
        self.wpe = nnx.Embed(32, 16, rngs=rngs)
        self.block = Block(rngs)
    def __call__(self, ids, start=0, decode=False):
        B, T = ids.shape
        pos = jnp.arange(T) + start
        h = self.wte(ids) + self.wpe(pos)
        h = self.block(h, decode=decode)
        return h @ self.wte.embedding[...].T
def generate(m):
    m.block.attn.init_cache((1, 32, 16))
    t = m(jnp.ones((1, 1), int), decode=True).argmax(-1)
    return m(t, decode=True)
print(generate(GPT(nnx.Rngs(0))).shape)
""",
            """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn = nnx.MultiHeadAttention(2, 16, decode=False, rngs=rngs)
    def __call__(self, x, decode=False):
        return x + self.attn(x, decode=decode)
class GPT(nnx.Module):
    def __init__(self, rngs):
        self.wte = nnx.Embed(50, 16, rngs=rngs)
        self.wpe = nnx.Embed(32, 16, rngs=rngs)
        self.block = Block(rngs)
    def __call__(self, ids, decode=False):
        B, T = ids.shape
        pos = jnp.arange(T)
        if decode:
            pos = pos + self.block.attn.cache_index[...]
        h = self.wte(ids) + self.wpe(pos)
        h = self.block(h, decode=decode)
        return h @ self.wte.embedding[...].T
def generate(m):
    m.block.attn.init_cache((1, 32, 16))
    t = m(jnp.ones((1, 1), int), decode=True).argmax(-1)
    return m(t, decode=True)
print(generate(GPT(nnx.Rngs(0))).shape)
""",
            "class Attend(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.attend = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)\n"
            "    def __call__(self, h):\n"
            "        return self.attend(h)\n"
            "class LM(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.words = nnx.Embed(10, 8, rngs=rngs)\n"
            "        self.places = nnx.Embed(6, 8, rngs=rngs)\n"
            "        self.inner = Attend(rngs)\n"
            "    def __call__(self, ids, start=0):\n"
            "        pos = start + jnp.arange(ids.shape[-1])[None, :]\n"
            "        return self.inner(self.words(ids) + self.places(pos))\n"
            "lm = LM(nnx.Rngs(0))\n"
            "lm.inner.attend.init_cache((1, 6, 8))\n"
            "print(lm(jnp.ones((1, 1), int)))\n",
            "class LM(nnx.Module):\n"
            "    def __init__(self, rngs):\n"
            "        self.words = nnx.Embed(10, 8, rngs=rngs)\n"
            "        self.pos = nnx.Param(jnp.ones((6, 8)))\n"
            "        self.attend = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=False, rngs=rngs)\n"
            "    def __call__(self, ids, decode=False, start=0):\n"
            "        b, t = ids.shape\n"
            "        return self.attend(self.words(ids) + self.pos[start : start + t], decode=decode)\n"
            "lm = LM(nnx.Rngs(0))\n"
            "lm.attend.init_cache((1, 6, 8))\n"
            "print(lm(jnp.ones((1, 1), int), decode=True))\n",
        ),
    ),
    "NNX960": Cases(
        bad=(
            """\
chars = sorted(set("hello world"))
stoi = {ch: i + 1 for i, ch in enumerate(chars)}
vocab_size = len(chars)
class Net(nnx.Module):
    def __init__(self, size, rngs):
        self.embed = nnx.Embed(size, 4, rngs=rngs)  # NNX960
net = Net(vocab_size, nnx.Rngs(0))
""",
            """\
def make(texts):
    words = sorted({w for t in texts for w in t.split()})
    word_to_id = {w: i for i, w in enumerate(words, start=1)}
    embed = nnx.Embed(num_embeddings=len(word_to_id), features=4, rngs=nnx.Rngs(0))  # NNX960
    return word_to_id, embed
""",
            """\
class Tokenizer:
    def __init__(self, texts):
        self.words = sorted({w for t in texts for w in t.split()})
        self.ids = {w: n for n, w in enumerate(self.words, 1)}
class Model(nnx.Module):
    def __init__(self, tokenizer: Tokenizer, rngs):
        self.embed = nnx.Embed(len(tokenizer.ids), 4, rngs=rngs)  # NNX960
""",
            "def build(texts):\n"
            "    stoi = {}\n"
            "    for text in texts:\n"
            "        for ch in text:\n"
            "            if ch not in stoi:\n"
            "                stoi[ch] = len(stoi) + 1\n"
            "    return stoi\n"
            'stoi = build(["hello", "world"])\n'
            "print(nnx.Embed(len(stoi), 8, rngs=nnx.Rngs(0)))  # NNX960\n",
            "import flax.linen as nn\n"
            'chars = sorted(set("hello world"))\n'
            "char_to_id = dict(zip(chars, range(1, len(chars) + 1)))\n"
            "class Table(nn.Module):\n"
            "    vocab: int\n"
            "    @nn.compact\n"
            "    def __call__(self, ids):\n"
            "        return nn.Embed(self.vocab, 8)(ids)  # NNX960\n"
            'print(Table(vocab=len(char_to_id)).init_with_output(key, jnp.array([char_to_id["h"]]))[0])\n',
        ),
        clean=(
            """\
chars = sorted(set("hello world"))
stoi = {ch: i + 1 for i, ch in enumerate(chars)}
vocab_size = len(chars) + 1
class Net(nnx.Module):
    def __init__(self, size, rngs):
        self.embed = nnx.Embed(size, 4, rngs=rngs)
net = Net(vocab_size, nnx.Rngs(0))
print(net.embed(jnp.array([8])).shape)
""",
            """\
def make(texts):
    words = sorted({w for t in texts for w in t.split()})
    word_to_id = {w: i for i, w in enumerate(words)}
    embed = nnx.Embed(num_embeddings=len(word_to_id), features=4, rngs=nnx.Rngs(0))
    return word_to_id, embed
print(make(["a b"])[1](jnp.array([1])).shape)
""",
            """\
class Tokenizer:
    def __init__(self, texts):
        self.words = sorted({w for t in texts for w in t.split()})
        self.ids = {w: n for n, w in enumerate(self.words, 1)}
class Model(nnx.Module):
    def __init__(self, tokenizer: Tokenizer, rngs):
        self.embed = nnx.Embed(len(tokenizer.ids) + 1, 4, rngs=rngs)
print(Model(Tokenizer(["a b"]), nnx.Rngs(0)).embed(jnp.array([2])).shape)
""",
            """\
words = sorted({"a", "b"})
vocab = {w: i + 1 for i, w in enumerate(words)}
vocab["<pad>"] = 0
embed = nnx.Embed(len(vocab), 4, rngs=nnx.Rngs(0))
""",
            """\
names = ["x", "y"]
rank = {n: i + 1 for i, n in enumerate(names)}
embed = nnx.Embed(len(names), 4, rngs=nnx.Rngs(0))
""",
            """\
vocab = {w: i for i, w in enumerate(["<pad>", *sorted({"a", "b"})])}
embed = nnx.Embed(len(vocab), 4, rngs=nnx.Rngs(0))
""",
            "def build(texts):\n"
            "    stoi = {}\n"
            "    for text in texts:\n"
            "        for ch in text:\n"
            "            if ch not in stoi:\n"
            "                stoi[ch] = len(stoi)\n"
            "    return stoi\n"
            'chars = sorted(set("hello"))\n'
            "ids = dict(zip(chars, range(1, len(chars) + 1)))\n"
            'stoi = build(["hello", "world"])\n'
            "print(nnx.Embed(len(stoi), 8, rngs=nnx.Rngs(0)), nnx.Embed(len(ids) + 1, 8, rngs=nnx.Rngs(1)))\n",
            "import flax.linen as nn\n"
            'chars = sorted(set("hello world"))\n'
            "char_to_id = dict(zip(chars, range(1, len(chars) + 1)))\n"
            "class Table(nn.Module):\n"
            "    vocab: int\n"
            "    @nn.compact\n"
            "    def __call__(self, ids):\n"
            "        return nn.Embed(self.vocab, 8)(ids)\n"
            'print(Table(vocab=len(char_to_id) + 1).init_with_output(key, jnp.array([char_to_id["h"]]))[0])\n',
        ),
    ),
}  # fmt: skip

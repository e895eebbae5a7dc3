"""Cases of rules about values that a model sows."""

from __future__ import annotations

from tests.lint.tables import Cases

_GATED = """\
class Gated(nnx.Module):
    def __init__(self, rngs):
        self.gate = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, x):
        gate = nnx.sigmoid(self.gate(x))
        self.sow(nnx.Intermediate, "openness", jnp.mean(gate))
        return x * gate
class Stack(nnx.Module):
    def __init__(self, rngs):
        self.first, self.last = Gated(rngs), Gated(rngs)
    def __call__(self, x):
        return self.last(self.first(x))
"""
_SUMMED = _GATED.replace(
    "jnp.mean(gate))",
    "jnp.mean(gate), init_fn=lambda: jnp.zeros(()), reduce_fn=lambda a, b: a + b)",
)
_STEP = """\
@nnx.jit
def step(net, tx, x):
    def loss_fn(net):
        y = net(x)
        return jnp.mean(y**2) + PENALTY
    loss, grads = nnx.value_and_grad(loss_fn)(net)
    tx.update(net, grads)
    return loss
"""
_LOOP = """\
net = Stack(nnx.Rngs(0))
tx = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
for data in (x, 2 * x):
    step(net, tx, data)  # NNX901
"""
_EAGER = (
    _STEP.replace("@nnx.jit\n", "").replace("    tx.update(net, grads)\n", "").replace("loss, grads =", "loss, _ =")
)
_PLAIN = _LOOP.replace("  # NNX901", "")
_MARKED = _GATED.replace("jnp.mean(gate))", "jnp.mean(gate))  # NNX919")


def _program(penalty: str, *, model: str = _MARKED, step: str = _STEP, loop: str = _LOOP) -> str:
    """Return a program with a penalty in its loss."""
    return model + step.replace("PENALTY", penalty) + loop


_PROBED = """\
class Probed(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        h = self.fc(v)
        self.sow(nnx.Intermediate, "hidden", h)
        return h.sum()
def taken(net, v):
    net(v)
    return nnx.pop(net, nnx.Intermediate)
def norm(net, v):
    net(v)
    hidden = nnx.pop(net, nnx.Intermediate)["hidden"].value[0]
    return float(jnp.linalg.norm(hidden))
net = Probed(nnx.Rngs(0))
print([norm(net, v) for v in batches])
"""
_FIRST = _PROBED.replace('nnx.pop(net, nnx.Intermediate)["hidden"].value[0]', "net.hidden.value[0]")
_FIRST_MARKED = _FIRST.replace("value[0]", "value[0]  # NNX793")
_IN_LOOP = """\
net = Probed(nnx.Rngs(0))
found = []
for v in batches:
    net(v)
    found.append(net.hidden.value[0])
"""

CASES = {
    "NNX793": Cases(
        bad=(
            _FIRST_MARKED,
            _FIRST_MARKED.replace("value[0]", "get_value()[0]"),
            _PROBED[: _PROBED.index("def norm")] + _IN_LOOP.replace("value[0])", "value[0])  # NNX793"),
            _program("sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate)))  # NNX793"),
            _program("jax.tree.reduce(lambda a, b: a + b, nnx.state(net, nnx.Intermediate))  # NNX793"),
            _program(
                "penalty",
                step=_STEP.replace(
                    "        return",
                    "        sown = nnx.state(net, nnx.Intermediate)  # NNX793\n"
                    "        leaves = jax.tree_util.tree_leaves(sown)\n"
                    "        penalty = jnp.mean(jnp.stack(leaves))\n"
                    "        return",
                ),
            ),
            _program(
                "penalty",
                step=_STEP.replace(
                    "        return",
                    "        penalty = 0.0\n"
                    "        for leaf in jax.tree.leaves(nnx.state(net, nnx.Intermediate)):  # NNX793\n"
                    "            penalty += leaf.mean()\n"
                    "        return",
                ),
            ),
            _program(
                "sum(jnp.mean(v) for v in jax.tree.leaves(sown_by(net)))",
                step="def sown_by(net):\n    return nnx.state(net, nnx.Intermediate)  # NNX793\n" + _STEP,
            ),
            _program(
                "sum(jax.tree.leaves(sown))",
                step=_STEP.replace(
                    "        return jnp",
                    "        _, sown, _ = nnx.split(net, nnx.Intermediate, ...)  # NNX793\n        return jnp",
                ),
            ),
            _program("net.last.openness.value[0]  # NNX793"),
            _program("sum(net.last.openness.value)  # NNX793"),
            # a loop in a method of a class that has the model
            _GATED.replace("jnp.mean(gate))", "jnp.mean(gate))  # NNX919")
            + _STEP.replace("PENALTY", "sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate)))  # NNX793")
            + """\
class Trainer:
    def __init__(self):
        self.net = Stack(nnx.Rngs(0))
        self.tx = nnx.Optimizer(self.net, optax.sgd(0.1), wrt=nnx.Param)
    def fit(self, batches):
        for x in batches:
            step(self.net, self.tx, x)  # NNX901
Trainer().fit(batches)
""",
            # sums stay, too
            _program(
                "sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate)))  # NNX793",
                model=_SUMMED,
            ),
            # no compiled code
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate))))  # NNX793
""",
            # the first of the values in a state, by the name
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    seen = nnx.state(net, nnx.Intermediate)
    print(seen["last"]["openness"].get_value()[0])  # NNX793
""",
            _GATED
            + """\
net = Gated(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(nnx.state(net, nnx.Intermediate)["openness"].value[0])  # NNX793
""",
            _GATED
            + """\
net = Gated(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(jax.tree.leaves(nnx.state(net, nnx.Intermediate))[0])  # NNX793
""",
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
def opened(net):
    sown = nnx.state(net, nnx.Intermediate)
    return sown.first.openness[0]  # NNX793
for data in (x, 2 * x):
    y = net(data)
    print(opened(net))
""",
            # a Variable of its own
            _program(
                "sum(jax.tree.leaves(nnx.state(net, Loss)))  # NNX793",
                model="class Loss(nnx.Variable):\n    pass\n" + _MARKED.replace("nnx.Intermediate", "Loss"),
            ),
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        h = self.fc(v)
        self.sow(nnx.Intermediate, "hidden", h)
        return h
def distance(net, a, b):
    net(a)
    one = net.hidden[0]
    net(b)
    two = net.hidden[0]  # NNX793
    return jnp.mean((one - two) ** 2)
d = distance(Net(nnx.Rngs(0)), x, 2 * x)
""",
        ),
        clean=(
            _PROBED,
            # one call; the last of them; all of them
            _FIRST.replace("print([norm(net, v) for v in batches])", "print(norm(net, x))"),
            _FIRST.replace("value[0]", "value[-1]"),
            _PROBED[: _PROBED.index("def norm")] + _IN_LOOP.replace("    found.append", "found.append"),
            # a model of its own for each, and one that keeps the last value alone
            _FIRST.replace(
                "[norm(net, v) for v in batches]",
                "[norm(other, x) for other in [Probed(nnx.Rngs(i)) for i in range(2)]]",
            ),
            _FIRST.replace(
                '"hidden", h)', '"hidden", h, init_fn=lambda: h[None], reduce_fn=lambda old, new: new[None])'
            ),
            _program("sum(jax.tree.leaves(nnx.pop(net, nnx.Intermediate)))", model=_GATED, step=_EAGER, loop=_PLAIN),
            # the last of the values
            _GATED
            + """\
net = Gated(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(nnx.state(net, nnx.Intermediate)["openness"].value[-1])
""",
            _GATED
            + """\
net = Gated(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(jax.tree.leaves(nnx.state(net, nnx.Intermediate))[-1])
""",
            _GATED
            + """\
net = Gated(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(jax.tree.leaves(nnx.pop(net, nnx.Intermediate))[0])
""",
            # once, behind the loop
            _GATED
            + """\
net = Gated(nnx.Rngs(0))
y = net(x)
seen = nnx.state(net, nnx.Intermediate)
for data in (x, 2 * x):
    print(seen["openness"].value[0] * data)
""",
            # taken away as it is read
            _GATED
            + """\
net = Gated(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    seen = nnx.pop(net, nnx.Intermediate)
    print(seen["openness"].value[0])
""",
            # taken away later
            _program(
                "sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate)))",
                model=_GATED,
                step=_EAGER,
                loop=_PLAIN + "    nnx.pop(net, nnx.Intermediate)\n",
            ),
            # the last one alone
            _program(
                "sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate)))",
                model=_GATED.replace(
                    "jnp.mean(gate))", "jnp.mean(gate), init_fn=lambda: 0.0, reduce_fn=lambda a, b: b)"
                ),
                step=_EAGER,
                loop=_PLAIN,
            ),
            # a new model for every round
            _GATED
            + _STEP.replace("PENALTY", "sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate)))").replace(
                "@nnx.jit\n", ""
            )
            + """\
def once(x):
    net = Stack(nnx.Rngs(0))
    return step(net, nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param), x)
print(once(x))
""",
            # what jax.jit is given is a copy
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
graphdef, state = nnx.split(net)
@jax.jit
def penalty(state, x):
    net = nnx.merge(graphdef, state)
    net(x)
    return sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate)))
for data in (x, 2 * x):
    print(penalty(state, data))
""",
            # parameters
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(y + sum(w.sum() for w in jax.tree.leaves(nnx.state(net, nnx.Param))))
""",
            # the newest of each
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(net.first.openness.value[-1] + net.last.openness.value[-1])
    print(jax.tree.leaves(nnx.state(net, nnx.Intermediate))[-1])
""",
            # begun anew
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate))))
    del net.first.openness, net.last.openness
""",
            # one call of the model, looked at often
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
y = net(x)
for scale in (1.0, 2.0):
    print(scale * sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate))))
""",
            # a model that sows nothing
            _GATED
            + """\
class Plain(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, x):
        return self.dense(x)
net = Plain(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate))))
""",
            # a model for each round
            _GATED
            + """\
for data in (x, 2 * x):
    net = Stack(nnx.Rngs(0))
    y = net(data)
    print(sum(jax.tree.leaves(nnx.state(net, nnx.Intermediate))))
""",
            # each layer's own list, of which the caller takes the newest
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
    print(sum(v[-1] for v in (net.first.openness.value, net.last.openness.value)))
""",
            # as many as there are steps, for their mean
            _GATED
            + """\
net = Stack(nnx.Rngs(0))
for data in (x, 2 * x):
    y = net(data)
print(jnp.mean(jnp.stack(jax.tree.leaves(nnx.state(net, nnx.Intermediate)))))
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        h = self.fc(v)
        self.sow(nnx.Intermediate, "hidden", h)
        return h
def distance(net, a, b):
    net(a)
    one = net.hidden[0]
    net(b)
    two = net.hidden[1]
    return jnp.mean((one - two) ** 2)
d = distance(Net(nnx.Rngs(0)), x, 2 * x)
""",
            """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
    def __call__(self, v):
        h = self.fc(v)
        self.sow(nnx.Intermediate, "hidden", h)
        return h
def features(net, a):
    net(a)
    one = net.hidden[0]
    return one + net.hidden[0]
d = features(Net(nnx.Rngs(0)), x)
""",
        ),
    ),
    "NNX543": Cases(
        bad=(
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 16, rngs=rngs)
    def __call__(self, token):
        return self.out(self.attn(self.embed(token)[:, None]))[:, 0]
class Sampler:
    def __init__(self, net):
        self.net = net
        net.attn.init_cache((1, 32, 8))
    def generate(self, prompt):
        for token in prompt:
            last = choose(self.net, jnp.array([token]))
        return int(last)
def choose(net, token):
    return net(token).argmax()
def answer_all(sampler, prompts):
    return [sampler.generate(p) for p in prompts]  # NNX543
print(answer_all(Sampler(Decoder(nnx.Rngs(0))), [[3, 7], [5, 1]]))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
    def reset_cache(self, batch):
        self.attn.init_cache((batch, 32, 8))
def answer(net, prompt):
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
prompts = {"a": [3, 7, 11], "b": [5, 1]}
net.reset_cache(1)
print({name: answer(net, prompt) for name, prompt in prompts.items()})  # NNX543
print(net.attn.cache_index)
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
def answer(net, prompt):
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
prompts = [[3, 7, 11], [5, 1], [3, 7, 11]]
net.attn.init_cache((1, 32, 8))
print([answer(net, prompt) for prompt in prompts])  # NNX543
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
def run(decoder, tokens):
    return [*map(lambda token: decoder(jnp.array([token])), tokens)][-1]
def main(questions):
    decoder = Decoder(nnx.Rngs(0))
    decoder.attn.init_cache((1, 32, 8))
    for number, question in enumerate(questions):
        print(number, run(decoder, question).shape)  # NNX543
main([[1, 2], [3]])
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
net = Decoder(nnx.Rngs(0))
net.attn.init_cache((1, 32, 8))
def answer(prompt):
    steps = map(lambda at: net(jnp.array([prompt[at]])), range(len(prompt)))
    return [*steps][-1]
for text in (texts := [[1, 2], [3]]):
    print(answer(text).shape)  # NNX543
""",
        ),
        clean=(
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 16, rngs=rngs)
    def __call__(self, token):
        return self.out(self.attn(self.embed(token)[:, None]))[:, 0]
class Sampler:
    def __init__(self, net):
        self.net = net
    def generate(self, prompt):
        self.net.attn.init_cache((1, 32, 8))
        for token in prompt:
            last = choose(self.net, jnp.array([token]))
        return int(last)
def choose(net, token):
    return net(token).argmax()
def answer_all(sampler, prompts):
    return [sampler.generate(p) for p in prompts]
print(answer_all(Sampler(Decoder(nnx.Rngs(0))), [[3, 7], [5, 1]]))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 16, rngs=rngs)
    def __call__(self, token):
        return self.out(self.attn(self.embed(token)[:, None]))[:, 0]
class Sampler:
    def __init__(self, net):
        self.net = net
        net.attn.init_cache((1, 32, 8))
    def generate(self, prompt):
        for token in prompt:
            last = choose(self.net, jnp.array([token]))
        return int(last)
def choose(net, token):
    return net(token).argmax()
def answer_all(sampler, prompts):
    return [Sampler(sampler).generate(p) for p in prompts]
print(answer_all(Decoder(nnx.Rngs(0)), [[3, 7], [5, 1]]))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 16, rngs=rngs)
    def __call__(self, token):
        return self.out(self.attn(self.embed(token)[:, None]))[:, 0]
class Sampler:
    def __init__(self, net):
        self.net = net
        net.attn.init_cache((1, 32, 8))
    def generate(self, prompt):
        for token in prompt:
            last = choose(self.net, jnp.array([token]))
        return int(last)
def choose(net, token):
    return net(token).argmax()
def answer_all(sampler, turns):
    return [sampler.generate(p) for p in turns[:1]]
print(answer_all(Sampler(Decoder(nnx.Rngs(0))), [[3, 7], [5, 1]]))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
    def begin(self, batch):
        self.attn.init_cache((batch, 32, 8))
def answer(net, prompt):
    net.begin(1)
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
prompts = {"a": [3, 7, 11], "b": [5, 1]}
print({name: answer(net, prompt) for name, prompt in prompts.items()})
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
    def begin(self, batch):
        self.attn.init_cache((batch, 32, 8))
def answer(net, prompt):
    net.attn.cache_index[...] = jnp.array(0)
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
prompts = {"a": [3, 7, 11], "b": [5, 1]}
net.begin(1)
print({name: answer(net, prompt) for name, prompt in prompts.items()})
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
def answer(net, prompt):
    net.attn.init_cache((1, 32, 8))
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
prompts = [[3, 7, 11], [5, 1], [3, 7, 11]]
print([answer(net, prompt) for prompt in prompts])
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
def answer(net, prompt):
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
prompts = [[3, 7, 11], [5, 1], [3, 7, 11]]
for prompt in prompts:
    net.attn.init_cache((1, 32, 8))
    print(answer(net, prompt))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
def answer(net, prompt):
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
prompts = [[3, 7, 11], [5, 1], [3, 7, 11]]
net.attn.init_cache((1, 32, 8))
print(answer(net, prompts[0]))
print([*map(lambda token: net(jnp.array([token])).shape, prompts[0])])
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
def answer(net, prompt):
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
net.attn.init_cache((1, 32, 8))
conversation_texts = [[3, 7, 11], [5, 1]]
for text in conversation_texts:
    print(answer(net, text))
""",
            """\
class Decoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.embed = nnx.Embed(16, 8, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(num_heads=2, in_features=8, decode=True, rngs=rngs)
    def __call__(self, token):
        return self.attn(self.embed(token)[:, None])[:, 0]
def answer(net, prompt):
    *_, logits = map(lambda token: net(jnp.array([token])), prompt)
    return int(logits.argmax())
net = Decoder(nnx.Rngs(0))
prompts = [[3, 7, 11], [5, 1], [3, 7, 11]]
net.attn.init_cache((1, 32, 8))
start = jax.tree.map(jnp.copy, nnx.state(net, nnx.Cache))
for prompt in prompts:
    nnx.update(net, start)
    print(answer(net, prompt))
""",
        ),
    ),
}

"""Cases of rules about layers that adapt others."""

from __future__ import annotations

from tests.lint.tables import Cases

_PRETRAINED = """\
class Net(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 5, rngs=rngs)
        self.last = nnx.Linear(5, 3, rngs=rngs)
    def __call__(self, x):
        return self.last(nnx.relu(self.first(x)))
"""

CASES = {
    "NNX794": Cases(
        bad=(
            """\
class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(3, 6, rngs=rngs)
    def __call__(self, v):
        return nnx.gelu(self.up(v))
class Tuner:
    def __init__(self, pretrained: Mlp, rank=2):
        self.model = pretrained
        self.model.up = nnx.LoRA(in_features=3, lora_rank=rank, out_features=6, rngs=nnx.Rngs(1))  # NNX794
Tuner(Mlp(nnx.Rngs(0)))
""",
            _PRETRAINED
            + """\
def adapt(net, rngs):
    net.first = nnx.LoRA(net.first.in_features, 2, net.first.out_features, rngs=rngs)  # NNX794
""",
            _PRETRAINED
            + """\
net = Net(nnx.Rngs(0))
net.first = nnx.LoRA(3, 2, 5, rngs=nnx.Rngs(1))  # NNX794
""",
            _PRETRAINED
            + """\
def adapt(net, names, rngs):
    for name in names:
        old = getattr(net, name)
        if isinstance(old, nnx.Linear):
            new = nnx.LoRA(old.in_features, 2, old.out_features, rngs=rngs)  # NNX794
            setattr(net, name, new)
""",
            _PRETRAINED
            + """\
def lora_of(layer, rank, *, rngs):
    din, dout = layer.kernel.shape
    return nnx.LoRA(din, rank, dout, rngs=rngs)  # NNX794
def adapt(net, rngs):
    net.first = lora_of(net.first, 2, rngs=rngs)
    net.last = lora_of(net.last, 2, rngs=rngs)
""",
            _PRETRAINED
            + """\
def adapt(layers, rngs):
    for i, layer in enumerate(layers):
        layers[i] = nnx.LoRA(layer.in_features, 4, layer.out_features, rngs=rngs)  # NNX794
""",
            _PRETRAINED
            + """\
class Adapted(nnx.Module):
    def __init__(self, rngs):
        self.net = Net(rngs)
        self.net.last = nnx.LoRA(5, 1, 3, rngs=rngs)  # NNX794
""",
        ),
        clean=(
            """\
class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(3, 6, rngs=rngs)
    def __call__(self, v):
        return nnx.gelu(self.up(v))
class Tuner:
    def __init__(self, pretrained: Mlp, rank=2):
        self.model = pretrained
        self.model.up = nnx.LoRA(
            in_features=3, lora_rank=rank, out_features=6, base_module=pretrained.up, rngs=nnx.Rngs(1)
        )
print(Tuner(Mlp(nnx.Rngs(0))).model(x))
""",
            _PRETRAINED
            + """\
net = Net(nnx.Rngs(0))
net.first = nnx.LoRA(3, 2, 5, base_module=net.first, rngs=nnx.Rngs(1))
net(x)
""",
            # beside the layer
            _PRETRAINED
            + """\
class Beside(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(3, 5, rngs=rngs)
        self.small = nnx.LoRA(3, 2, 5, rngs=rngs)
    def __call__(self, x):
        return self.dense(x) + self.small(x)
Beside(nnx.Rngs(0))(x)
""",
            # under a name of its own
            _PRETRAINED
            + """\
net = Net(nnx.Rngs(0))
net.small = nnx.LoRA(net.first.in_features, 2, net.first.out_features, rngs=nnx.Rngs(1))
print(net.small(x) + net.first(x))
""",
            # within another layer
            _PRETRAINED
            + """\
class Sum(nnx.Module):
    def __init__(self, one, two):
        self.one, self.two = one, two
    def __call__(self, x):
        return self.one(x) + self.two(x)
net = Net(nnx.Rngs(0))
net.first = Sum(net.first, nnx.LoRA(3, 2, 5, rngs=nnx.Rngs(1)))
net(x)
""",
            # the layer is kept
            _PRETRAINED
            + """\
net = Net(nnx.Rngs(0))
old = net.first
net.first = nnx.LoRA(old.in_features, 2, old.out_features, rngs=nnx.Rngs(1))
print(net.first(x) + old(x))
""",
            # it gets its base later
            _PRETRAINED
            + """\
def adapt(net, rngs):
    new = nnx.LoRA(3, 2, 5, rngs=rngs)
    new.base_module = nnx.data(net.first)
    net.first = new
""",
            # the layer in fewer numbers
            _PRETRAINED
            + """\
net = Net(nnx.Rngs(0))
u, s, v = jnp.linalg.svd(net.first.kernel[...], full_matrices=False)
net.first = nnx.LoRA(3, 2, 5, rngs=nnx.Rngs(1))
net.first.lora_a[...] = u[:, :2] * s[:2]
net.first.lora_b[...] = v[:2]
net(x)
""",
            _PRETRAINED
            + """\
def lora_of(layer, rank, rngs):
    return nnx.LoRA(layer.in_features, rank, layer.out_features, base_module=layer, rngs=rngs)
net = Net(nnx.Rngs(0))
net.first = lora_of(net.first, 2, nnx.Rngs(1))
net(x)
""",
        ),
    ),
}

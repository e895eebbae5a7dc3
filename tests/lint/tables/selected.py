"""Cases of rules about parts of a model that filters choose or leave out."""

from __future__ import annotations

from tests.lint.tables import Cases

_DEEP = """\
class Block(nnx.Module):
    def __init__(self, rngs):
        self.attn_norm = nnx.LayerNorm(3, rngs=rngs)
        self.fc = nnx.Linear(3, 3, rngs=rngs)
class Deep(nnx.Module):
    def __init__(self, width: int, rngs):
        self.blocks = nnx.Sequential(Block(rngs), Block(rngs))
        self.enc = nnx.Sequential(nnx.Linear(3, 3, rngs=rngs), nnx.relu)
        self.lm_head = nnx.Linear(3, 3, rngs=rngs)
        self.num_heads = width
deep = Deep(3, rngs=nnx.Rngs(0))
"""
_TUNED = """\
class Body(nnx.Module):
    def __init__(self, rngs):
        self.fc = nnx.Linear(3, 3, rngs=rngs)
        self.norms = nnx.Sequential(nnx.BatchNorm(3, rngs=rngs))
    def __call__(self, v):
        return self.norms(self.fc(v))
class Tuned(nnx.Module):
    def __init__(self, body, rngs):
        self.body = body
        self.head = nnx.Linear(3, 2, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
    def __call__(self, v):
        return self.head(self.drop(self.body(v)))
HEAD = nnx.All(nnx.Param, nnx.PathContains("head"))
@nnx.jit
def step(net, opt):
    opt.update(net, nnx.grad(lambda m: m(jnp.ones((2, 3))).sum(), argnums=nnx.DiffState(0, HEAD))(net))
"""
_RUN = """\
def tune():
    body = Body(nnx.Rngs(0))
    body.eval()
    net = Tuned(body, nnx.Rngs(1))
    opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=HEAD)
    net.train()  # NNX749
    step(net, opt)
tune()
"""
_CLEAN = _RUN.replace("  # NNX749", "")

CASES = {
    "NNX745": Cases(
        bad=(
            _DEEP + 'nnx.state(deep, nnx.PathContains("block"))  # NNX745\n',
            _DEEP + 'nnx.state(deep, nnx.PathContains("head", ))  # NNX745\n',
            _DEEP + 'nnx.state(deep, lambda path, leaf: "norm" in path)  # NNX745\n',
            _DEEP + 'nnx.state(deep, lambda path, leaf: "head" not in path)  # NNX745\n',
            _DEEP + 'nnx.state(deep, [nnx.LoRAParam, nnx.PathContains("norm")])  # NNX745\n',
            _DEEP
            + 'frozen = nnx.PathContains("Enc")  # NNX745\n'
            + "opt = nnx.Optimizer(deep, optax.adam(1e-3), wrt=nnx.All(nnx.Param, nnx.Not(frozen)))\n",
            _DEEP
            + """\
def chosen(path, leaf):
    return isinstance(leaf, nnx.Param) and "head" in path  # NNX745
class Trainer:
    def __init__(self, net):
        self.opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=chosen)
Trainer(deep)
""",
        ),
        clean=(
            _DEEP + 'nnx.state(deep, nnx.PathContains("blocks"))\n',
            _DEEP + 'nnx.state(deep, nnx.PathContains("fc"))\n',
            # within the layers
            _DEEP + 'nnx.state(deep, nnx.PathContains("kernel"))\nnnx.state(deep, nnx.PathContains("layers"))\n',
            # nothing is like it: the filter may be one for several models
            _DEEP + 'nnx.state(deep, nnx.PathContains("dropout"))\n',
            # a filter for several models, which also names what this one has
            _DEEP + 'nnx.state(deep, nnx.Any(nnx.PathContains("head"), nnx.PathContains("lm_head")))\n',
            # the names in the path, and not the path
            _DEEP + 'nnx.state(deep, lambda path, leaf: any("norm" in str(part) for part in path))\n',
            _DEEP + 'nnx.state(deep, lambda path, leaf: "norm" in "/".join(map(str, path)))\n',
            _DEEP + 'def chosen(path, leaf):\n    path = "/".join(map(str, path))\n    return "norm" in path\n'
            "nnx.state(deep, chosen)\n",
            # it is not known what the model has
            _DEEP + 'def heads(net):\n    return nnx.state(net, nnx.PathContains("head"))\n',
            # for some of its models the name is right
            _DEEP
            + """\
class Other(nnx.Module):
    def __init__(self, rngs):
        self.head = nnx.Linear(3, 3, rngs=rngs)
def heads(net):
    return nnx.state(net, nnx.PathContains("head"))
heads(deep)
heads(Other(nnx.Rngs(0)))
""",
            # the class gets attributes by their names
            """\
class Named(nnx.Module):
    def __init__(self, rngs):
        self.lm_head = nnx.Linear(3, 3, rngs=rngs)
        for name in ("head", "tail"):
            setattr(self, name, nnx.Linear(3, 3, rngs=rngs))
nnx.state(Named(nnx.Rngs(0)), nnx.PathContains("head"))
""",
            # a number, and no layer, is called like it
            _DEEP + 'nnx.state(deep, nnx.PathContains("num_head"))\n',
        ),
    ),
    "NNX749": Cases(
        bad=(
            """\
class Stem(nnx.Module):
    def __init__(self, rngs):
        self.bn = nnx.BatchNorm(3, use_running_average=True, rngs=rngs)
    def __call__(self, v):
        return self.bn(v)
class Detector(nnx.Module):
    def __init__(self, rngs):
        self.stem = Stem(rngs)
        self.head = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.stem(v))
detector = Detector(nnx.Rngs(0))
detector.train()  # NNX749
print(detector(jnp.ones((2, 3))))
""",
            _TUNED + _RUN,
            _TUNED + _RUN.replace("wrt=HEAD", 'wrt=nnx.Not(nnx.PathContains("body"))'),
            _TUNED + _RUN.replace("wrt=HEAD", 'wrt=lambda path, leaf: "body" not in path'),
            _TUNED
            + _RUN.replace("nnx.Optimizer(net, optax.adam(1e-3), wrt=HEAD)", "made(net)")
            + "def made(net):\n    return nnx.Optimizer(net, optax.adam(1e-3), wrt=HEAD)\n",
            # what makes it sets its mode
            _TUNED
            + "def loaded():\n    body = Body(nnx.Rngs(0))\n    body.train()\n    body(jnp.ones((2, 3)))\n"
            + "    body.eval()\n    return body\n"
            + _RUN.replace("Body(nnx.Rngs(0))\n    body.eval()", "loaded()"),
            # a trainer
            _TUNED
            + """\
class Trainer:
    def __init__(self, net):
        self.net = net
        self.opt = nnx.Optimizer(net, optax.adam(1e-3), wrt=HEAD)
    def fit(self):
        self.net.train()  # NNX749
        step(self.net, self.opt)
body = Body(nnx.Rngs(0))
body.eval()
Trainer(Tuned(body=body, rngs=nnx.Rngs(1))).fit()
""",
            # its gradient is stopped
            _TUNED.replace("self.body(v)", "jax.lax.stop_gradient(self.body(v))").replace("nnx.DiffState(0, HEAD)", "0")
            + _RUN.replace("HEAD", "nnx.Param"),
        ),
        clean=(
            """\
class Stem(nnx.Module):
    def __init__(self, rngs):
        self.bn = nnx.BatchNorm(3, use_running_average=True, rngs=rngs)
    def __call__(self, v):
        return self.bn(v)
class Detector(nnx.Module):
    def __init__(self, rngs):
        self.stem = Stem(rngs)
        self.head = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.stem(v))
detector = Detector(nnx.Rngs(0))
detector.train()
detector.stem.bn.eval()
print(detector(jnp.ones((2, 3))))
""",
            """\
class Stem(nnx.Module):
    def __init__(self, rngs):
        self.bn = nnx.BatchNorm(3, rngs=rngs)
    def __call__(self, v):
        return self.bn(v)
class Detector(nnx.Module):
    def __init__(self, rngs):
        self.stem = Stem(rngs)
        self.head = nnx.Linear(3, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(self.stem(v))
detector = Detector(nnx.Rngs(0))
detector.train()
print(detector(jnp.ones((2, 3))))
""",
            _TUNED + _CLEAN.replace("net.train()", "net.train()\n    net.body.eval()"),
            _TUNED + _CLEAN.replace("net.train()", "net.train()\n    body.eval()"),
            _TUNED + _CLEAN.replace("net.train()", "net.head.train()\n    net.drop.train()"),
            # the body is trained, and was asked for features before
            _TUNED.replace("nnx.DiffState(0, HEAD)", "0") + _CLEAN.replace("wrt=HEAD", "wrt=nnx.Param"),
            # nothing says that its statistics are to stay
            _TUNED + _CLEAN.replace("    body.eval()\n", ""),
            # they are to become those of the new data
            _TUNED + _CLEAN.replace("    body.eval()\n", "    body.eval()\n    body.train()\n"),
            # a part of it is trained
            _TUNED.replace('"head")', '"norms")') + _CLEAN,
            # no batch norm
            _TUNED.replace("nnx.BatchNorm(3, rngs=rngs)", "nnx.LayerNorm(3, rngs=rngs)") + _CLEAN,
            # the model sets the modes itself
            _TUNED
            + """\
class Kept(Tuned):
    def train(self, **flags):
        super().train(**flags)
        self.body.eval()
"""
            + _CLEAN.replace("Tuned(", "Kept("),
            # a fixed mode
            _TUNED.replace("BatchNorm(3, ", "BatchNorm(3, use_running_average=True, ")
            + _CLEAN.replace("net.train()", "net.set_attributes(deterministic=False)"),
        ),
    ),
}

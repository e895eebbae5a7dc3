"""What a loss and its optimizer do to which weights, and weights that come from PyTorch."""

from __future__ import annotations

from tests.lint.tables import Cases

_PROBE = """\
class Body(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 4, rngs=rngs)
    def __call__(self, v):
        return nnx.relu(self.first(v))
class Probe(nnx.Module):
    def __init__(self, rngs):
        self.body = Body(rngs)
        self.head = nnx.Linear(4, 2, rngs=rngs)
    def __call__(self, v):
        return self.head(jax.lax.stop_gradient(self.body(v)))
probe = Probe(nnx.Rngs(0))
"""
_NAMED = _PROBE.replace(
    "        return self.head(jax.lax.stop_gradient(self.body(v)))\n",
    """\
        h = self.body(v)
        h = jax.lax.stop_gradient(h)
        return self.head(h)
""",
)
_GIVEN = _PROBE.replace(
    "(self, rngs):\n        self.body = Body(rngs)", "(self, body, rngs):\n        self.body = body"
)
_STEP = """\
@nnx.jit
def step(net, opt, v):
    grads = nnx.grad(lambda m: m(v).sum())(net)
    opt.update(net, grads)
step(probe, opt, x)
"""

CASES = {
    "NNX733": Cases(
        bad=(
            _PROBE + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)  # NNX733\n" + _STEP,
            _NAMED
            + """\
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=0.05))
opt = nnx.Optimizer(probe, tx, wrt=nnx.Param)  # NNX733
"""
            + _STEP,
            _GIVEN.replace("Probe(nnx", "Probe(Body(nnx.Rngs(1)), nnx")
            + """\
def built(net, decay=0.1):
    tx = optax.chain(optax.add_decayed_weights(decay), optax.sgd(0.1))
    return nnx.Optimizer(net, tx, wrt=nnx.Param)  # NNX733
opt = built(probe)
"""
            + _STEP,
            _PROBE.replace("jax.lax.stop_gradient(self.body(v))", "v")
            + """\
from jax.lax import stop_gradient
def loss(net, v):
    return net.head(stop_gradient(net.body(v))).sum()
opt = nnx.ModelAndOptimizer(probe, optax.lion(1e-3), wrt=nnx.Param)  # NNX733
opt.update(nnx.grad(loss)(probe, x))
print(probe.body.first.kernel[...])
""",
        ),
        clean=(
            _PROBE + "opt = nnx.Optimizer(probe, optax.adam(1e-3), wrt=nnx.Param)\n" + _STEP,
            _PROBE + "opt = nnx.Optimizer(probe, optax.adamw(1e-3, weight_decay=0.0), wrt=nnx.Param)\n" + _STEP,
            _PROBE
            + """\
mask = jax.tree.map_with_path(lambda path, _: "head" in jax.tree_util.keystr(path), nnx.state(probe, nnx.Param))
opt = nnx.Optimizer(probe, optax.adamw(1e-3, mask=mask), wrt=nnx.Param)
"""
            + _STEP,
            _PROBE
            + """\
head = nnx.All(nnx.Param, nnx.PathContains("head"))
opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=head)
grads = nnx.grad(lambda m: m(x).sum(), argnums=nnx.DiffState(0, head))(probe)
opt.update(probe, grads)
""",
            _PROBE
            + """\
opt = nnx.Optimizer(probe.head, optax.adamw(1e-3), wrt=nnx.Param)
grads = nnx.grad(lambda m: m(probe.body(x)).sum())(probe.head)
opt.update(probe.head, grads)
""",
            # the gradient reaches the part another way
            _PROBE.replace("(self.body(v)))\n", "(self.body(v))) + self.body(v).sum()\n")
            + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)\n"
            + _STEP,
            _NAMED.replace("self.head(h)", "self.head(h) + g.sum()").replace(
                "        h = jax.lax", "        g = h\n        h = jax.lax"
            )
            + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)\n"
            + _STEP,
            # only for a while
            _NAMED.replace("        h = jax.lax", "        if v.ndim > 1:\n            h = jax.lax")
            + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)\n"
            + _STEP,
            # the part is trained by another loss
            _GIVEN.replace("probe = Probe(nnx", "body = Body(nnx.Rngs(1))\nprobe = Probe(body, nnx")
            + """\
opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)
other = nnx.Optimizer(body, optax.adamw(1e-3), wrt=nnx.Param)
other.update(body, nnx.grad(lambda m: m(x).sum())(body))
"""
            + _STEP,
            # moved by an average of the other part
            _PROBE.replace("(self.body(v)))\n", "(self.body(v)) + self.online(v))\n").replace(
                "        self.head", "        self.online = Body(rngs)\n        self.head"
            )
            + "opt = nnx.Optimizer(probe, optax.adamw(1e-3), wrt=nnx.Param)\n"
            + _STEP
            + """\
mean = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, nnx.state(probe.body), nnx.state(probe.online))
nnx.update(probe.body, mean)
""",
        ),
    ),
}

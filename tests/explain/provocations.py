"""Small wrong programs, each with the entry of ``nnxmigrate explain`` that its error must lead to first."""

from __future__ import annotations

from dataclasses import dataclass

PRELUDE = """
import copy, dataclasses, pickle, tempfile
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np, optax
import orbax.checkpoint as ocp
from flax import nnx

def linear(**options):
    return nnx.Linear(2, 3, rngs=nnx.Rngs(0), **options)

def optimizer(model, tx=None):
    return nnx.Optimizer(model, tx or optax.adam(0.1), wrt=nnx.Param)

def loss(model):
    return (model(jnp.ones((1, 2))) ** 2).sum()

class Block(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.norm(self.linear(x)))

@nnx.split_rngs(splits=3)
@nnx.vmap
def stack(rngs):
    return Block(rngs)
"""


@dataclass(frozen=True)
class Provocation:
    """A program that fails.

    Attributes:
        entry: key of the entry that must come first.
        on: the Flax versions under which the program fails with that error.
        code: the program; it runs behind :data:`PRELUDE`.
        warnings: whether deprecations count as errors.
    """

    entry: str
    on: tuple[str, ...]
    code: str
    warnings: bool = False


OLD = ("0.10",)
NEW = ("0.11", "0.12")
ALL = ("0.10", "0.11", "0.12")

PROVOCATIONS: tuple[Provocation, ...] = (
    # Optimizer
    Provocation("optimizer-wrt", NEW, "nnx.Optimizer(linear(), optax.sgd(0.1))"),
    Provocation("optimizer-wrt", NEW, "nnx.Optimizer(linear(), optax.sgd(0.1), nnx.Param)"),
    Provocation("optimizer-update", NEW, "m = linear(); optimizer(m).update(nnx.grad(loss)(m))"),
    Provocation("optimizer-update", NEW, "m = linear(); optimizer(m).update(grads=nnx.grad(loss)(m))"),
    Provocation(
        "optimizer-update",
        NEW,
        """
m = linear()
@nnx.jit
def step(model, opt):
    opt.update(nnx.grad(loss)(model))
step(m, optimizer(m))
""",
    ),
    Provocation("optimizer-update-on-0.10", OLD, "m = linear(); optimizer(m).update(m, nnx.grad(loss)(m))"),
    Provocation("optimizer-model", NEW, "optimizer(linear()).model"),
    Provocation(
        "optimizer-model",
        NEW,
        """
class TrainState(nnx.Optimizer):
    def loss(self):
        return loss(self.model)
TrainState(linear(), optax.sgd(0.1), wrt=nnx.Param).loss()
""",
    ),
    Provocation("optimizer-state-model", NEW, "nnx.state(optimizer(linear()))['model']"),
    Provocation(
        "compatible-update",
        NEW,
        """
m = linear(); nnx.ModelAndOptimizer(m, optax.sgd(0.1), wrt=nnx.Param).update(grads=nnx.grad(loss)(m))
""",
    ),
    Provocation("optax-ellipsis", ("0.11",), "optimizer(linear(), optax.contrib.muon(0.1))"),
    Provocation(
        "optax-ellipsis",
        ("0.11",),
        """
m = linear()
opt = optimizer(m, optax.masked(optax.adam(0.1), lambda tree: jax.tree.map(lambda leaf: leaf.ndim > 1, tree)))
opt.update(m, nnx.grad(loss)(m))
""",
    ),
    Provocation(
        "optax-mask",
        NEW,
        """
m = linear()
mask = jax.tree.map(lambda leaf: leaf.ndim > 1, nnx.state(m, nnx.Param))
opt = optimizer(m, optax.adamw(0.1, mask=mask))
opt.update(m, nnx.grad(loss)(m))
""",
    ),
    Provocation(
        "optax-mask",
        ALL[:2],
        """
optimizer(linear(), optax.masked(optax.adam(0.1), {'kernel': True, 'bias': False}))
""",
    ),
    Provocation(
        "gradient-filter",
        ("0.11",),
        """
m = linear()
opt = nnx.Optimizer(m, optax.adam(0.1), wrt=nnx.PathContains('bias'))
opt.update(m, nnx.grad(loss)(m))
""",
    ),
    Provocation(
        "gradient-filter",
        ("0.10",),
        """
m = linear()
opt = nnx.Optimizer(m, optax.adam(0.1), wrt=nnx.PathContains('bias'))
opt.update(nnx.grad(loss)(m))
""",
    ),
    Provocation(
        "gradient-raw-arrays",
        ("0.12",),
        """
m = linear()
grads = jax.tree.map(jnp.ones_like, nnx.state(m, nnx.Param))
grads = jax.tree.map(lambda g: g[...], grads, is_leaf=lambda g: isinstance(g, nnx.Variable))
optimizer(m).update(m, grads)
""",
    ),
    Provocation(
        "optimizer-callback-arrays",
        NEW,
        """
m = linear()
tx = optax.stateless(lambda updates, params: jax.tree.map(lambda p: p.replace(p.value), params))
optimizer(m, tx).update(m, nnx.grad(loss)(m))
""",
    ),
    Provocation("optimizer-callback-arrays", NEW, "jax.tree.leaves(nnx.state(optimizer(linear())))[0].source_type"),
    # RNG
    Provocation("rng-stream-missing", NEW, "nnx.Dropout(0.5, rngs=nnx.Rngs(params=0))"),
    Provocation(
        "rng-stream-missing",
        NEW,
        """
nnx.MultiHeadAttention(2, 4, 4, dropout_rate=0.1, rngs=nnx.Rngs(params=0))
""",
    ),
    Provocation(
        "rng-stream-missing",
        NEW,
        """
nnx.RNN(nnx.GRUCell(2, 3, rngs=nnx.Rngs(params=0)), rngs=nnx.Rngs(params=0))
""",
    ),
    Provocation("rng-stream-missing", ALL, "nnx.Rngs(params=0).noise()"),
    Provocation("rng-stream-missing", ALL, "nnx.Rngs(params=0)['noise']()"),
    Provocation("rng-stream-missing", OLD, "nnx.Dropout(0.5, rngs=nnx.Rngs(params=0))(jnp.ones(3))"),
    Provocation("rng-fork-splits", ALL, "nnx.Rngs(0).fork(splits=5)"),
    Provocation("rng-stream-arguments", NEW, "nnx.RngStream('params', jax.random.key(0))"),
    Provocation("rng-stream-arguments", OLD, "nnx.RngStream(jax.random.key(0), tag='params')"),
    Provocation("layer-holds-one-stream", NEW, "nnx.Dropout(0.5, rngs=nnx.Rngs(0)).rngs.dropout.key"),
    Provocation("layer-holds-one-stream", NEW, "nnx.Dropout(0.5, rngs=nnx.Rngs(0)).rngs['dropout']"),
    Provocation(
        "layer-holds-one-stream",
        NEW,
        """
class Cell(nnx.GRUCell):
    def initialize_carry(self, input_shape, rngs=None, carry_init=None):
        return jax.random.normal(rngs.carry(), (3,))
rnn = nnx.RNN(Cell(2, 3, rngs=nnx.Rngs(0)), rngs=nnx.Rngs(0))
rnn(jnp.ones((1, 4, 2)))
""",
    ),
    Provocation("layer-arguments-keyword", NEW, "nnx.Dropout(0.5, (), True)"),
    Provocation("layer-arguments-keyword", NEW, "nnx.RNN(nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)), True, False)"),
    Provocation("dropout-dataclass", NEW, "dataclasses.replace(nnx.Dropout(0.5, rngs=nnx.Rngs(0)), rate=0.1)"),
    Provocation("dropout-dataclass", NEW, "dataclasses.fields(nnx.Dropout(0.5, rngs=nnx.Rngs(0)))"),
    Provocation("dropout-dataclass", NEW, "dataclasses.asdict(nnx.Dropout(0.5, rngs=nnx.Rngs(0)))"),
    Provocation("layer-rngs-type", NEW, "nnx.Dropout(0.5, rngs={'dropout': lambda: jax.random.key(0)})"),
    Provocation("layer-rngs-type", NEW, "nnx.Dropout(0.5, rngs=jax.random.key(0))"),
    Provocation(
        "layer-rngs-type",
        NEW,
        """
nnx.Dropout(0.5)(jnp.ones(3), rngs={'dropout': lambda: jax.random.key(0)})
""",
    ),
    Provocation("rnn-rngs-none", NEW, "nnx.RNN(nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)), rngs=None)"),
    Provocation("rnn-carry-rngs", NEW, "nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)).initialize_carry((1, 2))"),
    Provocation(
        "rnn-cell-rngs",
        NEW,
        """
class Cell(nnx.GRUCell):
    def noise(self):
        return self.rngs.recurrent_dropout()
Cell(2, 3, rngs=nnx.Rngs(0)).noise()
""",
    ),
    Provocation("reseed-stacked", NEW, "nnx.reseed(stack(nnx.Rngs(params=0, dropout=1)), dropout=1)"),
    Provocation("reseed-policy", NEW, "nnx.reseed(Block(nnx.Rngs(0)), policy=1)"),
    Provocation(
        "split-rngs-kept",
        NEW,
        """
@nnx.split_rngs(splits=3)
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(block, x):
    return block(x)
forward(stack(nnx.Rngs(0)), jnp.ones((1, 2)))
""",
    ),
    Provocation(
        "split-rngs-kept",
        NEW,
        """
@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=(0, None))
def forward(block, x):
    return block(x)
forward(stack(nnx.Rngs(0)), jnp.ones((1, 2)))
""",
    ),
    Provocation(
        "split-rngs-missing",
        OLD,
        """
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(block, x):
    return block(x)
forward(stack(nnx.Rngs(0)), jnp.ones((1, 2)))
""",
    ),
    Provocation(
        "split-rngs-missing",
        OLD,
        """
@nnx.vmap(in_axes=(0, None))
def forward(block, x):
    return block(x)
forward(stack(nnx.Rngs(0)), jnp.ones((1, 2)))
""",
    ),
    Provocation(
        "split-rngs-missing",
        ALL,
        """
class Noise(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
    def __call__(self, x):
        return x + jax.random.normal(self.rngs.noise(), x.shape)
@nnx.split_rngs(splits=3)
@nnx.vmap
def noises(rngs):
    return Noise(rngs)
@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)
def forward(noise, x):
    return noise(x)
forward(noises(nnx.Rngs(0)), jnp.ones((1, 2)))
""",
    ),
    # Pytrees and transforms
    Provocation(
        "trace-level",
        NEW,
        """
graphdef, state = nnx.split(Block(nnx.Rngs(0)))
params, rest = nnx.split(Block(nnx.Rngs(0)), nnx.Param, ...)[1:]
jax.grad(lambda p: nnx.merge(graphdef, p, rest)(jnp.ones((4, 2))).sum())(params)
""",
    ),
    Provocation(
        "trace-level",
        ALL,
        """
block = Block(nnx.Rngs(0))
@nnx.jit
def forward(x):
    return block(x)
forward(jnp.ones((4, 2)))
""",
    ),
    Provocation(
        "trace-level",
        ("0.10", "0.11"),
        """
opt = optimizer(linear())
@nnx.jit
def count():
    opt.step.value += 1
count()
""",
    ),
    Provocation(
        "trace-level",
        ALL,
        """
metric = nnx.metrics.Average('loss')
@nnx.jit
def count(x):
    metric.update(loss=x)
count(jnp.ones(2))
""",
    ),
    Provocation("merge-copy-missing", OLD, "nnx.merge(*nnx.split(linear()), copy=True)"),
    Provocation(
        "module-is-pytree",
        NEW,
        """
jax.tree.map(lambda layer: layer(jnp.ones((1, 2))), {'a': linear()})
""",
    ),
    Provocation(
        "module-is-pytree",
        NEW,
        """
metrics = {'loss': nnx.metrics.Average('loss')}
jax.tree.map(lambda metric: metric.update(loss=1.0), metrics)
""",
    ),
    Provocation(
        "pytree-registered-twice",
        NEW,
        """
@jax.tree_util.register_pytree_node_class
class Model(nnx.Module):
    def tree_flatten(self):
        return (), None
    @classmethod
    def tree_unflatten(cls, data, children):
        return cls()
""",
    ),
    Provocation(
        "dict-keys-unordered",
        NEW,
        """
class Model(nnx.Module):
    def __init__(self):
        self.table = {1: jnp.ones(1), 'a': jnp.ones(1)}
Model()
""",
    ),
    Provocation("jax-transform-on-module", OLD, "jax.jit(lambda m: m(jnp.ones((1, 2))))(linear())"),
    Provocation("jax-transform-on-module", OLD, "jax.grad(loss)(linear())"),
    Provocation(
        "jax-transform-on-module",
        OLD,
        """
jax.lax.scan(lambda m, x: (m, m(x)), linear(), jnp.ones((4, 2)))
""",
    ),
    Provocation(
        "jax-grad-on-module",
        NEW,
        """
jax.grad(lambda m: m(jnp.ones((4, 2))).sum())(Block(nnx.Rngs(0)))
""",
    ),
    Provocation(
        "jax-grad-on-module",
        ("0.11",),
        """
class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.norm = nnx.BatchNorm(2, rngs=rngs)
    def __call__(self, x):
        return self.norm(self.linear(x))
m = Net(nnx.Rngs(0))
opt = nnx.Optimizer(m, optax.adam(0.1), wrt=nnx.Param)
grads = jax.grad(lambda m: m(jnp.ones((4, 2))).sum())(m)
opt.update(m, grads)
""",
    ),
    Provocation("module-arithmetic", OLD, "jax.tree.map(lambda a, b: a + b, [linear()], [linear()])"),
    Provocation(
        "leaf-count",
        ALL,
        """
class Model(nnx.Module):
    def __call__(self, x):
        self.sow(nnx.Intermediate, 'x', x)
graphdef, state = nnx.split(Model())
model = nnx.merge(graphdef, state)
model(jnp.ones(1))
nnx.merge(graphdef, nnx.state(model))
""",
    ),
    Provocation("split-order", ALL, "nnx.merge(*reversed(nnx.split(linear())))"),
    Provocation(
        "metadata-equality",
        ("0.12",),
        """
class Model(nnx.Module):
    def __call__(self, x):
        self.h = 2 * x
        return self.h
model = Model()
forward = nnx.jit(lambda model, x: model(x))
forward(model, jnp.ones(1)); forward(model, jnp.ones(1))
""",
    ),
    # Variables and State
    Provocation(
        "state-leaf-is-array",
        NEW,
        """
state = copy.deepcopy(nnx.state(linear()))
state['kernel'].value
""",
    ),
    Provocation(
        "state-leaf-is-array",
        NEW,
        """
jax.tree.leaves(nnx.state(linear()))[0].to_variable()
""",
    ),
    Provocation("get-value-missing", ("0.10", "0.11"), "linear().kernel.get_value()"),
    Provocation("variable-state", NEW, "nnx.VariableState(nnx.Param, jnp.ones(3))"),
    Provocation("variable-state", NEW, "nnx.Param.state(jnp.ones(3))"),
    Provocation("return-variables", NEW, "nnx.graph.flatten(linear(), return_variables=True)"),
    Provocation("variable-index", NEW, "nnx.Param(jnp.ones(4))[np.array([0, 1])] = 2.0"),
    # Names
    *(
        Provocation(f"nnx-name-{name}", on, f"nnx.{name}")
        for name, on in (
            ("Dict", ("0.11",)),
            ("dataclass", ("0.11",)),
            ("ModelAndOptimizer", OLD),
            ("data", OLD),
            ("List", ("0.10", "0.11")),
            ("Pytree", OLD),
            ("is_data_type", ("0.12",)),
            ("fork", NEW),
            ("freeze", NEW),
            ("with_sharding_constraint", NEW),
            ("array_ref", ("0.10", "0.12")),
            ("Scan", ALL),
        )
    ),
    Provocation("nnx-name-Dict", ("0.11",), "from flax.nnx import Dict"),
    Provocation("nnx-name-ForkStates", NEW, "from flax.nnx import ForkStates"),
    Provocation("nnx-name", ALL, "nnx.param"),
    Provocation("nnx-name", ALL, "from flax.nnx import rngs"),
    Provocation("nnx-module", NEW, "from flax.nnx.object import Object"),
    Provocation("nnx-module", OLD, "import flax.nnx.pytreelib"),
    Provocation("config-option", NEW, "import flax; flax.config.update('flax_mutable_array', True)"),
    Provocation("config-option", OLD, "import flax; flax.config.update('flax_array_ref', True)"),
    Provocation(
        "sharding-metadata",
        ("0.11",),
        """
linear(kernel_init=nnx.with_partitioning(nnx.initializers.ones, (None, 'model'))).kernel.get_metadata()['sharding']
""",
    ),
    Provocation("references-removed", ("0.10", "0.12"), "nnx.Param(jnp.ones(1)).has_ref"),
    # Flax 0.12
    Provocation(
        "static-attribute",
        ("0.12",),
        """
class Model(nnx.Module):
    def __init__(self):
        self.layers = [linear(), linear()]
Model()
""",
    ),
    Provocation(
        "static-attribute",
        ("0.12",),
        """
class Model(nnx.Module):
    def __init__(self):
        self.layers = []
        self.layers.append(linear())
Model()
""",
    ),
    Provocation(
        "static-attribute",
        ("0.12",),
        """
class Model(nnx.Module):
    def __init__(self):
        self.head = None
        self.head = linear()
Model()
""",
    ),
    Provocation(
        "static-attribute",
        ("0.12",),
        """
class Model(nnx.Module):
    def __init__(self):
        self.table = {'a': jnp.ones(2)}
Model()
""",
    ),
    Provocation("variable-inplace", ("0.12",), "v = nnx.Param(jnp.ones(2)); v += 1"),
    Provocation("variable-metadata", ("0.12",), "v = nnx.Param(jnp.ones(2)); v.tagged = True"),
    Provocation("variable-metadata", ("0.12",), "v = nnx.Param(jnp.ones(2), tagged=True); del v.tagged"),
    Provocation("layer-init-attribute", ("0.12",), "linear().kernel_init"),
    Provocation("layer-init-attribute", ("0.12",), "nnx.Embed(2, 3, rngs=nnx.Rngs(0)).embedding_init"),
    Provocation("variable-unhashable", ("0.12",), "{nnx.Param(jnp.ones(1)): 1}"),
    Provocation(
        "variable-unhashable",
        ("0.12",),
        "set(jax.tree.leaves(nnx.state(linear()), is_leaf=lambda x: isinstance(x, nnx.Variable)))",
    ),
    Provocation("bound-method", ("0.12",), "nnx.jit(linear().__call__)"),
    Provocation("bound-method", ("0.12",), "nnx.vmap(linear().__call__)"),
    Provocation(
        "sharding-mesh",
        ("0.12",),
        """
linear(kernel_init=nnx.with_partitioning(nnx.initializers.ones, (None, 'model')))
""",
    ),
    Provocation("sharding-mesh", ("0.12",), "nnx.Param(jnp.ones((2, 2)), sharding=('a', 'b'))"),
    Provocation("attention-kv-heads", ("0.12",), "nnx.MultiHeadAttention(2, 4, 4, 4, 6, rngs=nnx.Rngs(0))"),
    Provocation("sequential-layers", ("0.12",), "nnx.Sequential(linear()).layers + [linear()]"),
    Provocation(
        "slots",
        ("0.12",),
        """
class Model(nnx.Module):
    __slots__ = ('x',)
""",
    ),
    Provocation("value-of-non-array", ("0.12",), "nnx.Variable({'a': 1})[...]"),
    Provocation(
        "cached-partial-structure",
        ALL,
        """
class Model(nnx.Module):
    def __init__(self):
        self.linear = linear()
        self.calls = 0
    def __call__(self, x):
        self.calls += 1
        return self.linear(x)
@nnx.jit
def forward(model, x):
    return model(x)
forward = nnx.cached_partial(forward, Model())
forward(jnp.ones((1, 2)))
forward(jnp.ones((1, 2)))
""",
    ),
    # Deprecations, printed as warnings; they are errors here.
    Provocation("value-deprecated", ("0.12",), "linear().kernel.value", warnings=True),
    Provocation("fork-deprecated", ("0.12",), "nnx.Rngs(0).fork(split=2)", warnings=True),
    Provocation("sow-deprecated", ("0.12",), "linear().sow(nnx.Intermediate, 'a', jnp.ones(1))", warnings=True),
    Provocation("iter-modules-deprecated", ("0.12",), "list(linear().iter_modules())", warnings=True),
    Provocation("variable-state", ("0.12",), "nnx.VariableState", warnings=True),
    Provocation("sharding-keyword", ("0.12",), "nnx.Param(jnp.ones((2, 2)), sharding=('a', 'b'))", warnings=True),
    Provocation("type-deprecated", ("0.11",), "linear().kernel.type", warnings=True),
    # Checkpoints
    Provocation(
        "checkpoint-structure",
        ALL,
        """
path = Path(tempfile.mkdtemp()) / 'state'
with ocp.StandardCheckpointer() as saver:
    saver.save(path, nnx.state(linear()))
with ocp.StandardCheckpointer() as saver:
    saver.restore(path, nnx.state(Block(nnx.Rngs(0))))
""",
    ),
    Provocation(
        "checkpoint-structure",
        ALL,
        """
path = Path(tempfile.mkdtemp()) / 'state'
with ocp.StandardCheckpointer() as saver:
    saver.save(path, nnx.state(linear()))
with ocp.StandardCheckpointer() as saver:
    saver.restore(path, jax.tree.map(ocp.utils.to_shape_dtype_struct, nnx.state(Block(nnx.Rngs(0)))))
""",
    ),
    Provocation(
        "checkpoint-key-size",
        NEW,
        """
path = Path(tempfile.mkdtemp()) / 'state'
with ocp.StandardCheckpointer() as saver:
    saver.save(path, nnx.state(Block(nnx.Rngs(0))))
jax.config.update('jax_default_prng_impl', 'rbg')
try:
    with ocp.StandardCheckpointer() as saver:
        saver.restore(path, nnx.state(Block(nnx.Rngs(0))))
finally:
    jax.config.update('jax_default_prng_impl', 'threefry2x32')
""",
    ),
    Provocation(
        "checkpoint-key-size",
        NEW,
        """
path = Path(tempfile.mkdtemp()) / 'state'
jax.config.update('jax_default_prng_impl', 'unsafe_rbg')
try:
    rngs = nnx.state(stack(nnx.Rngs(0)), nnx.RngState)
finally:
    jax.config.update('jax_default_prng_impl', 'threefry2x32')
with ocp.StandardCheckpointer() as saver:
    saver.save(path, rngs)
with ocp.StandardCheckpointer() as saver:
    saver.restore(path, nnx.state(stack(nnx.Rngs(0)), nnx.RngState))
""",
    ),
    Provocation(
        "checkpoint-shape",
        ALL,
        """
path = Path(tempfile.mkdtemp()) / 'state'
with ocp.StandardCheckpointer() as saver:
    saver.save(path, nnx.state(linear()))
with ocp.StandardCheckpointer() as saver:
    saver.restore(path, nnx.state(nnx.Linear(4, 2, rngs=nnx.Rngs(0))))
""",
    ),
    Provocation(
        "checkpoint-pure-dict",
        ALL,
        """
path = Path(tempfile.mkdtemp()) / 'state'
state = nnx.state(linear())
with ocp.StandardCheckpointer() as saver:
    saver.save(path, state)
with ocp.StandardCheckpointer() as saver:
    nnx.replace_by_pure_dict(state, saver.restore(path))
""",
    ),
    Provocation(
        "checkpoint-list-keys",
        NEW,
        """
model = nnx.Sequential(linear(), nnx.Linear(3, 2, rngs=nnx.Rngs(0)))
nnx.update(model, {'layers': {'0': {'kernel': jnp.ones((2, 3))}}})
""",
    ),
    Provocation(
        "checkpoint-dict-update",
        ("0.12",),
        """
model = Block(nnx.Rngs(0))
nnx.update(model, {'dropout': {'rngs': {'carry': {'count': {'value': jnp.ones((), 'uint32')}}}}})
""",
    ),
    Provocation(
        "checkpoint-empty-array",
        ALL,
        """
ocp.StandardCheckpointer().save(Path(tempfile.mkdtemp()) / 'state', {'a': jnp.ones((0,))})
""",
    ),
    Provocation("checkpoint-not-found", ALL, "ocp.StandardCheckpointer().restore('/nowhere/state')"),
    Provocation(
        "checkpoint-not-found",
        ALL,
        """
ocp.StandardCheckpointer().restore(Path(tempfile.mkdtemp()))
""",
    ),
    Provocation(
        "checkpoint-exists",
        ALL,
        """
path = Path(tempfile.mkdtemp()) / 'state'
for _ in range(2):
    with ocp.StandardCheckpointer() as saver:
        saver.save(path, nnx.state(linear()))
""",
    ),
    Provocation("pickle-module", ("0.10", "0.11"), "pickle.dumps(linear())"),
    # JAX: tracing, shapes, gradients
    Provocation(
        "branch-on-tracer",
        ALL,
        """
@nnx.jit
def f(m, x):
    return m(x) if x.sum() > 0 else x
f(linear(), jnp.ones((1, 2)))
""",
    ),
    Provocation("branch-on-tracer", ALL, "jax.jit(lambda x: x and 1)(jnp.ones(()))"),
    Provocation("concretize-tracer", ALL, "jax.jit(lambda x: float(x))(1.0)"),
    Provocation("concretize-tracer", ALL, "jax.jit(lambda x: int(x))(1)"),
    Provocation("concretize-tracer", ALL, "jax.jit(lambda x: x.item())(1.0)"),
    Provocation("concretize-tracer", ALL, "jax.jit(lambda x: x.tolist())(jnp.ones(2))"),
    Provocation("concretize-tracer", ALL, "jax.jit(lambda n: [i for i in range(n)])(3)"),
    Provocation("concretize-tracer", ALL, "jax.jit(lambda i: [1, 2, 3][i])(1)"),
    Provocation("string-argument", ALL, "jax.jit(lambda x, mode: x)(1.0, 'train')"),
    Provocation("dynamic-shape", ALL, "jax.jit(lambda n: jnp.zeros(n))(3)"),
    Provocation("dynamic-shape", ALL, "jax.jit(lambda n: jnp.arange(n))(3)"),
    Provocation("dynamic-shape", ALL, "jax.jit(lambda x, n: x[:n])(jnp.ones(4), 3)"),
    Provocation("dynamic-shape", ALL, "jax.jit(lambda x, n: x.reshape(n, -1))(jnp.ones(4), 2)"),
    Provocation("boolean-mask", ALL, "jax.jit(lambda x: x[x > 0])(jnp.ones(3))"),
    Provocation("boolean-mask", ALL, "jax.jit(lambda x: x.at[x > 0].set(jnp.arange(3.0)))(jnp.ones(3))"),
    Provocation("data-dependent-size", ALL, "jax.jit(lambda x: jnp.nonzero(x))(jnp.ones(3))"),
    Provocation("data-dependent-size", ALL, "jax.jit(lambda x: jnp.unique(x))(jnp.ones(3))"),
    Provocation("data-dependent-size", ALL, "jax.jit(lambda x: jnp.where(x > 0))(jnp.ones(3))"),
    Provocation("numpy-on-tracer", ALL, "jax.jit(lambda x: np.exp(x))(jnp.ones(3))"),
    Provocation("numpy-on-tracer", ALL, "jax.jit(lambda x: np.asarray(x))(jnp.ones(3))"),
    Provocation("concretize-tracer", ALL, "import math; jax.jit(lambda x: math.exp(x))(1.0)"),
    Provocation(
        "leaked-tracer",
        ALL,
        """
seen = []
@jax.jit
def f(x):
    seen.append(x)
    return x
f(jnp.ones(3)); seen[0] + 1
""",
    ),
    Provocation(
        "leaked-tracer",
        ALL,
        """
class Model(nnx.Module):
    def __init__(self):
        self.linear = linear()
model = Model()
holder = {}
@nnx.jit
def f(model, x):
    holder['h'] = model.linear(x)
    return holder['h']
f(model, jnp.ones((1, 2))); jnp.sin(holder['h'])
""",
    ),
    Provocation(
        "static-unhashable",
        ALL,
        """
jax.jit(lambda x, axes: x, static_argnums=1)(1.0, [1, 2])
""",
    ),
    Provocation(
        "static-unhashable",
        ALL,
        """
jax.jit(lambda x, axes: x, static_argnames='axes')(1.0, axes=jnp.ones(1))
""",
    ),
    Provocation(
        "static-unhashable",
        ALL,
        """
nnx.jit(lambda m, axes: m(jnp.ones((1, 2))), static_argnums=1)(linear(), [1, 2])
""",
    ),
    Provocation("loop-keywords", ALL, "jax.lax.fori_loop(start=0, stop=3, body_fun=lambda i, x: x, init_val=1.0)"),
    Provocation("jit-keywords", ALL, "jax.jit(lambda x: x, static_argnum=0)"),
    Provocation("jit-keywords", ALL, "jax.jit(lambda x: x, static_argnames='y')(1.0)"),
    Provocation("has-aux", ALL, "jax.grad(lambda x: (x, x))(1.0)"),
    Provocation("has-aux", ALL, "nnx.value_and_grad(lambda m: (loss(m), 1))(linear())"),
    Provocation("nonscalar-loss", ALL, "nnx.grad(lambda m: m(jnp.ones((1, 2))))(linear())"),
    Provocation("gradient-of-integer", ALL, "jax.grad(lambda x: x * x)(5)"),
    Provocation("list-argument", ALL, "jnp.sum([1, 2, 3])"),
    Provocation("array-immutable", ALL, "x = jnp.ones(3); x[0] = 1"),
    Provocation("array-immutable", ALL, "x = jnp.ones(3); x.fill(0)"),
    Provocation("array-immutable", ALL, "x = jnp.ones(3); del x[0]"),
    Provocation("list-index", ALL, "jnp.ones(4)[[0, 1]]"),
    Provocation("removed-jax-name", ALL, "jax.tree_map(lambda x: x, [1])"),
    Provocation("carry-type", ALL, "jax.lax.scan(lambda c, x: (c.astype('float16'), x), jnp.ones(3), jnp.ones(3))"),
    Provocation("carry-type", ALL, "jax.lax.fori_loop(0, 3, lambda i, c: (c, c), jnp.ones(3))"),
    Provocation("carry-type", ALL, "jax.lax.cond(True, lambda x: x, lambda x: (x, x), 1.0)"),
    Provocation(
        "donated-buffer",
        ALL,
        """
x = jnp.ones(3)
jax.jit(lambda x: x + 1, donate_argnums=0)(x)
x + 1
""",
    ),
    Provocation("seed-overflow", ALL, "jax.jit(jax.random.PRNGKey)(0x123456789)"),
    Provocation(
        "key-reused",
        ALL,
        """
with jax.debug_key_reuse(True):
    key = jax.random.key(0)
    jax.random.normal(key); jax.random.normal(key)
""",
    ),
    Provocation("layer-without-rngs", ALL, "nnx.Linear(2, 3)"),
    Provocation("dropout-without-rngs", ALL, "nnx.Dropout(0.5)(jnp.ones(3))"),
    Provocation("filters-leave-a-rest", ALL, "nnx.split(Block(nnx.Rngs(0)), nnx.Param)"),
    Provocation(
        "attention-without-decode",
        ALL,
        "nnx.MultiHeadAttention(2, 4, rngs=nnx.Rngs(0), decode=None)(jnp.ones((1, 3, 4)))",
    ),
)

"""Programs for the rules about streams: what they rewrite, what they report, and what they leave alone."""

HEAD = """\
import collections
import dataclasses
import functools
import random
import jax
import jax.numpy as jnp
from flax import nnx
from flax.nnx.nn.recurrent import RNNCellBase


class Net(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(3, 3, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.linear(x))


net = Net(nnx.Rngs(params=0, dropout=1))
rngs = nnx.Rngs(0)
key = jax.random.key(0)
x = jnp.ones((1, 3))
"""


def _cell(draw: str) -> str:
    return (
        "class Cell(RNNCellBase):\n    def __init__(self, rngs):\n        self.linear = nnx.Linear(3, 3, rngs=rngs)\n"
        "    def __call__(self, carry, x):\n        carry = self.linear(x) + carry\n        return carry, carry\n"
        f"    def initialize_carry(self, shape, rngs):\n        name = 'carry'\n        return 0 * {draw}\n"
        "    @property\n    def num_feature_axes(self):\n        return 1\n"
        "print(nnx.RNN(Cell(rngs), rngs=rngs)(jnp.ones((1, 2, 3))).shape)"
    )


def _noisy(parent: str, rest: str = "", indent: str = "    ") -> str:
    lines = ["class Noisy(nnx.LSTMCell):", f"{indent}def __init__(self, rngs):", f"{indent * 2}{parent}"]
    lines += [f"{indent}def mask(self):", f"{indent * 2}return self.rngs.noise()"]
    return "\n".join(lines) + f"\n{rest}print(Noisy(nnx.Rngs(params=0, noise=1)).mask().shape)"


def _stack(only: str, axes: str, split: str) -> str:
    """Return a program that makes a stack with a filter and scans over it."""
    return (
        f"blocks = nnx.split_rngs(splits=4, only={only})(nnx.vmap(Net, in_axes=({axes},), out_axes={axes}))(\n"
        "    nnx.Rngs(params=0, dropout=1)\n)\n"
        f"{split}@nnx.scan(in_axes=(0, nnx.Carry), out_axes=nnx.Carry)\ndef forward(block, x):\n    return block(x)\n"
        "print(forward(blocks, x).shape)"
    )


_SPLIT = "@nnx.split_rngs(splits=4)\n"
_NARROW = "@nnx.split_rngs(splits=4, only=lambda path, x: x.shape == ())\n"
_PARAMS = 'nnx.StateAxes({(nnx.Param, "params"): 0, ...: None})'
_RESET = (
    "r = nnx.Rngs({})\nd = nnx.Dropout(0.5, rngs=r)\na = d(jnp.ones(32))\n{}\nprint(bool((a == d(jnp.ones(32))).all()))"
)
_GRU = "nnx.GRUCell(2, 3, rngs=rngs)"
_DROPS = "class Own(nnx.Dropout):\n    def __init__(self, rngs):\n        "

# what becomes of code that 0.11 refuses, or runs differently
FIXED: dict[str, dict[str, str]] = {
    "NNX201": {
        _stack(only, "0", _SPLIT): _stack(only, "0", "")
        for only in (
            "...", "True", "nnx.RngState", '("params", "dropout")', 'nnx.Any("params", "dropout")',
            "lambda path, x: x.shape == ()", "lambda path, x: x.ndim == 0",
        )
    } | {
        _stack("lambda path, x: path[-1] != 'z'", "0", _SPLIT): _stack("lambda path, x: path[-1] != 'z'", "0", _NARROW),
        _stack("(nnx.RngState, 'a')", "0", _SPLIT): _stack("(nnx.RngState, 'a')", "0", ""),
    },
    "NNX203": {
        f"r = nnx.RNN({_GRU}, rngs=nnx.Rngs(carry=1))\nprint(r.rngs.carry.key.value.shape)": (
            f"r = nnx.RNN({_GRU}, rngs=nnx.Rngs(carry=1))\nprint(r.rngs.key.value.shape)"
        ),
        "s = nnx.eval_shape(lambda: nnx.state(net))\nprint(s['dropout']['rngs']['dropout']['key'].value.shape)": (
            "s = nnx.eval_shape(lambda: nnx.state(net))\nprint(s['dropout']['rngs']['key'].value.shape)"
        ),
        **{
            f"class Own(nnx.{base}):\n    pass\nprint(Own({made}).rngs.{stream}.key.value.shape)": (
                f"class Own(nnx.{base}):\n    pass\nprint(Own({made}).rngs.key.value.shape)"
            )
            for base, made, stream in (
                ("RNN", f"{_GRU}, rngs=nnx.Rngs(carry=1)", "carry"),
                ("Bidirectional", f"nnx.RNN({_GRU}), nnx.RNN({_GRU}), rngs=nnx.Rngs(carry=1)", "carry"),
                ("MultiHeadAttention", "1, 2, dropout_rate=0.1, rngs=nnx.Rngs(0, dropout=1)", "dropout"),
                ("Dropout", "0.5, rngs=nnx.Rngs(dropout=1)", "dropout"),
                ("Dropout", "0.5, rngs=nnx.Rngs(0)", "default"),
            )
        },
        "d = nnx.Dropout(0.5, rng_collection='a', rngs=nnx.Rngs(a=1))\nprint(d.rngs.a.key.value.shape)": (
            "d = nnx.Dropout(0.5, rng_collection='a', rngs=nnx.Rngs(a=1))\nprint(d.rngs.key.value.shape)"
        ),
    },
    "NNX204": {
        "print(nnx.RngStream('a', key).key.value.shape)": "print(nnx.RngStream(tag='a', key=key).key.value.shape)",
        "print(nnx.RngStream('a', key=key).key.value.shape)": "print(nnx.RngStream(tag='a', key=key).key.value.shape)",
        "def f(t):\n    return nnx.RngStream(t, key=key).key.value.shape\nprint(f(str(1)))": (
            "def f(t):\n    return nnx.RngStream(tag=t, key=key).key.value.shape\nprint(f(str(1)))"
        ),
    },
    "NNX206": {
        "print(nnx.LSTMCell(2, 3, rngs=rngs).initialize_carry(input_shape=(1, 2))[0].sum())": (
            "print(nnx.LSTMCell(2, 3, rngs=rngs).initialize_carry(input_shape=(1, 2), rngs=nnx.Rngs(0))[0].sum())"
        ),
        f"cell = {_GRU} if x.sum() else None\nprint(cell.initialize_carry((1, 2)).sum())": (
            f"cell = {_GRU} if x.sum() else None\nprint(cell.initialize_carry((1, 2), rngs=nnx.Rngs(0)).sum())"
        ),
    },
    "NNX207": {
        "print(nnx.Dropout(0.5, rngs=nnx.Rngs()).rate)": "print(nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=0)).rate)",
        "print(nnx.MultiHeadAttention(1, 2, dropout_rate=0.1, rngs=nnx.Rngs(params=0)).num_heads)": (
            "print(nnx.MultiHeadAttention(1, 2, dropout_rate=0.1, rngs=nnx.Rngs(params=0, dropout=0)).num_heads)"
        ),
        "print(nnx.Dropout(0.5, rng_collection='a', rngs=nnx.Rngs(dropout=0)).rate)": (
            "print(nnx.Dropout(0.5, rng_collection='a', rngs=nnx.Rngs(dropout=0, a=0)).rate)"
        ),
        f"r = nnx.Rngs(params=0)\nprint(nnx.Dropout(0.5, rngs=r).rate, nnx.RNN({_GRU}, rngs=r).unroll)": (
            "r = nnx.Rngs(params=0, carry=0, dropout=0)\n"
            f"print(nnx.Dropout(0.5, rngs=r).rate, nnx.RNN({_GRU}, rngs=r).unroll)"
        ),
        "def make(rngs):\n    return Net(rngs)\nprint(make(nnx.Rngs(params=1)).dropout.rate)": (
            "def make(rngs):\n    return Net(rngs)\nprint(make(nnx.Rngs(params=1, dropout=0)).dropout.rate)"
        ),
        "def make(rngs=None):\n    return Net(rngs or nnx.Rngs(params=1))\nprint(make().dropout.rate)": (
            "def make(rngs=None):\n    return Net(rngs or nnx.Rngs(params=1, dropout=0))\nprint(make().dropout.rate)"
        ),
    },
    "NNX208": {
        f"{_DROPS}super().__init__(0.5, (1,), rngs=rngs)\nprint(Own(rngs).broadcast_dims)": (
            f"{_DROPS}super().__init__(0.5, broadcast_dims=(1,), rngs=rngs)\nprint(Own(rngs).broadcast_dims)"
        ),
        f"{_DROPS}nnx.Dropout.__init__(self, 0.5, (1,), rngs=rngs)\nprint(Own(rngs).broadcast_dims)": (
            f"{_DROPS}nnx.Dropout.__init__(self, 0.5, broadcast_dims=(1,), rngs=rngs)\nprint(Own(rngs).broadcast_dims)"
        ),
        "print(nnx.Dropout(0.5, (1,), True, 'a', rngs).rng_collection)": (
            "print(nnx.Dropout(0.5, broadcast_dims=(1,), deterministic=True, rng_collection='a', rngs=rngs)"
            ".rng_collection)"
        ),
        f"a = nnx.StateAxes({{...: 0}})\nprint(nnx.RNN({_GRU}, False, False, False, False, 1, rngs, a, None).unroll)": (
            "a = nnx.StateAxes({...: 0})\n"
            f"print(nnx.RNN({_GRU}, time_major=False, return_carry=False, reverse=False, keep_order=False, unroll=1, "
            "rngs=rngs, state_axes=a, broadcast_rngs=None).unroll)"
        ),
    },
    "NNX209": {
        f"print(nnx.Bidirectional(nnx.RNN({_GRU}), nnx.RNN({_GRU}), rngs=None).time_major)": (
            f"print(nnx.Bidirectional(nnx.RNN({_GRU}), nnx.RNN({_GRU})).time_major)"
        ),
    },
    "NNX210": {
        "print(nnx.Dropout(0.5, rngs=3).rate)": "print(nnx.Dropout(0.5, rngs=nnx.Rngs(dropout=3)).rate)",
        "print(nnx.Dropout(0.5)(x, rngs={'dropout': lambda: key}).shape)": (
            "print(nnx.Dropout(0.5)(x, rngs=key).shape)"
        ),
        "print(net.dropout(x, rngs={'dropout': lambda: key}).shape)": "print(net.dropout(x, rngs=key).shape)",
    },
    "NNX211": {
        **{
            f"print(jax.random.normal(nnx.Rngs(0).{name}()).shape)": (
                f'print(jax.random.normal(nnx.Rngs(0)["{name}"]()).shape)'
            )
            for name in (
                "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chisquare", "choice",
                "dirichlet", "double_sided_maxwell", "exponential", "f", "gamma", "generalized_normal", "geometric",
                "gumbel", "laplace", "loggamma", "logistic", "lognormal", "maxwell", "multinomial",
                "multivariate_normal", "normal", "orthogonal", "pareto", "permutation", "poisson", "rademacher",
                "randint", "rayleigh", "t", "triangular", "truncated_normal", "uniform", "wald", "weibull_min",
            )
        },
        "def f(bias_init, rngs: nnx.Rngs):\n    return bias_init(rngs.normal(), (2,))\n"
        "print(f(nnx.initializers.normal(), nnx.Rngs(0)).shape)": (
            'def f(bias_init, rngs: nnx.Rngs):\n    return bias_init(rngs["normal"](), (2,))\n'
            "print(f(nnx.initializers.normal(), nnx.Rngs(0)).shape)"
        ),
        "print(nnx.Rngs(0).beta().shape)": 'print(nnx.Rngs(0)["beta"]().shape)',
    },
    "NNX213": {
        "def f(model):\n    return isinstance(model.dropout.rngs, nnx.Rngs)\nprint(f(net))": (
            "def f(model):\n    return isinstance(model.dropout.rngs, (nnx.Rngs, nnx.RngStream))\nprint(f(net))"
        ),
    },
    "NNX216": {
        _cell("jax.random.normal(rngs['carry'](), (1, 3))"): _cell(
            "jax.random.normal((rngs['carry'] if isinstance(rngs, nnx.Rngs) else rngs)(), (1, 3))"
        ),
        _cell("jax.random.normal(rngs[name](), (1, 3))"): _cell(
            "jax.random.normal((rngs[name] if isinstance(rngs, nnx.Rngs) else rngs)(), (1, 3))"
        ),
        **{
            _noisy(f"super().__init__({arguments})", indent=indent): _noisy(
                f"super().__init__({arguments})\n{indent * 2}self.rngs = rngs", indent=indent
            )
            for arguments, indent in (("2, 3, rngs=rngs", "\t"), ("\n2, 3,\n    rngs=rngs", "  "))
        },
    },
}  # fmt: skip

# what 0.11 refuses, or runs differently, and only a person can change
REPORTED: dict[str, list[str]] = {
    "NNX203": [
        "print(net.dropout.rngs.params.key.shape)",
    ],
    "NNX206": [
        "print(nnx.LSTMCell(2, 3, carry_init=nnx.initializers.normal(), rngs=rngs).initialize_carry((1, 2))[0].shape)",
        "print(nnx.LSTMCell(2, 3, **{'rngs': rngs}).initialize_carry((1, 2))[0].shape)",
        "class Own(nnx.LSTMCell):\n    pass\nprint(Own(2, 3, rngs=rngs).initialize_carry((1, 2))[0].sum())",
    ],
    "NNX208": ["args = ((1,), True)\nprint(nnx.Dropout(0.5, *args).broadcast_dims)"],
    "NNX209": [
        f"r = None if x.sum() else rngs\nprint(nnx.RNN({_GRU}, rngs=r).unroll)",
        f"def f(r=None):\n    return nnx.RNN({_GRU}, rngs=r).unroll\nprint(f())",
    ],
    "NNX210": [
        "print(nnx.Dropout(0.5)(x, rngs={'dropout': lambda **k: key}).shape)",
        "print(nnx.Dropout(0.5)(x, rngs={'dropout': lambda k=key: k}).shape)",
        "print(nnx.Dropout(0.5)(x, rngs={'dropout': nnx.Rngs(0).dropout}).shape)",
        "print(nnx.Dropout(0.5)(x, rngs={'dropout': lambda: key, 'more': 1}).shape)",
        "print(nnx.Dropout(0.5, rng_collection='a')(x, rngs={'a': lambda: key}).shape)",
        "d = {'dropout': lambda: key}\ndef f(key):\n    return nnx.Dropout(0.5)(x, rngs=d).shape\nprint(f(1))",
    ],
    "NNX211": ["print(nnx.Rngs(0).normal().dtype)"],
    "NNX212": [
        _RESET.format("dropout=0", "nnx.reseed(r, dropout=0)"),
        _RESET.format("dropout=0", "options = {'dropout': 0}\nnnx.reseed(r, **options)"),
        _RESET.format("dropout=0", "r.dropout.count.value = jnp.uint32(0)"),
        _RESET.format("dropout=0", "r['dropout'].count.value = jnp.uint32(0)"),
        _RESET.format("dropout=0", "r.dropout.count = nnx.RngCount(jnp.uint32(0), tag='dropout')"),
        _RESET.format("dropout=0", "r.dropout.key.value = key; r.dropout.count.value = jnp.uint32(0)"),
        _RESET.format("0", "r.default.count.value = jnp.uint32(0)"),
        _RESET.format("0", "nnx.reseed(r, default=0)"),
        "r = nnx.Rngs(dropout=0)\nd = nnx.Dropout(0.5, rngs=r)\nprint(d.rngs is r)",
        "r = nnx.Rngs(dropout=0)\na, b = nnx.Dropout(0.5, rngs=r), nnx.Dropout(0.1, rngs=r)\n"
        "print(a.rngs is not b.rngs)",
        "r = nnx.Rngs(0)\na = nnx.MultiHeadAttention(2, 4, dropout_rate=0.1, rngs=r)\nprint(r == a.rngs)",
    ],
    "NNX213": [
        "print(isinstance(net.dropout.rngs, (nnx.Rngs, int)))",
        "print(sum(isinstance(v, nnx.Rngs) for _, v in nnx.iter_graph(net)))",
    ],
    "NNX214": [f"nnx.reseed(nnx.Rngs(policy=0), policy={seed})\nprint(1)" for seed in ("1", "jax.random.key(1)")],
    "NNX215": ["print(nnx.ForkStates.__name__)", "print(callable(nnx.fork))"],
    "NNX216": [
        _noisy("super().__init__(2, 3, rngs=rngs); self.a = 1"),
        _noisy("if True:\n            super().__init__(2, 3, rngs=rngs)"),
        _noisy("made = super().__init__(2, 3, rngs=rngs)"),
        "class Noisy(nnx.LSTMCell):\n    def mask(self):\n        return self.rngs.noise()\n"
        "print(Noisy(2, 3, rngs=nnx.Rngs(params=0, noise=1)).mask().shape)",
        "class Noisy(nnx.LSTMCell):\n    def __init__(self, r):\n        super().__init__(2, 3, rngs=r)\n"
        "    def mask(self):\n        return self.rngs.noise()\nprint(Noisy(nnx.Rngs(params=0, noise=1)).mask().shape)",
    ],
    "NNX218": [
        *(
            f"@dataclasses.dataclass{options}\nclass Own(nnx.Dropout):\n    scale: float = 1.0\nprint(Own(0.5).rate)"
            for options in ("", "(repr=False)")
        ),
        "print(dataclasses.asdict(nnx.Dropout(0.5))['rate'])",
        "print(dataclasses.astuple(nnx.Dropout(0.5))[0])",
        "print(nnx.Dropout(0.5) == nnx.Dropout(0.5))",
        "print(nnx.Dropout(0.5) != nnx.Dropout(0.5))",
    ],
}

# what both versions run the same way
SILENT: dict[str, list[str]] = {
    "NNX201": [
        *(_stack(only, _PARAMS, _SPLIT) for only in ("'params'", "('params',)", "nnx.Any('params')")),
        _stack("...", "0", _NARROW).replace("x.shape == ()", "x.ndim == 0"),
    ],
    "NNX203": [
        f"{_DROPS}super().__init__(0.5, rngs=rngs)\n        self.rngs = rngs\n"
        "print(Own(nnx.Rngs(dropout=1)).rngs.dropout.key.value.shape)",
        "class Hold:\n    def __init__(self):\n        self.rngs = nnx.Rngs(dropout=1)\n"
        "print(Hold().rngs.dropout.key.value.shape)",
        "Hold = collections.namedtuple('Hold', ['rngs'])\n"
        "print(Hold(nnx.Rngs(dropout=1)).rngs.dropout.key.value.shape)",
        "drops = {'x': nnx.Rngs(dropout=1)}\nprint(drops['x'].dropout.key.value.shape)",
        "s = net.dropout.rngs.dropout if hasattr(net.dropout.rngs, 'dropout') else net.dropout.rngs\n"
        "print(s.key.value.shape)",
        "if hasattr(net.dropout.rngs, 'dropout'):\n    print(net.dropout.rngs.dropout.key.value.shape)\n"
        "else:\n    print(net.dropout.rngs.key.value.shape)",
    ],
    "NNX206": [
        "class Own(nnx.LSTMCell):\n    def initialize_carry(self, shape):\n        return shape\n"
        "print(Own(2, 3, rngs=rngs).initialize_carry((1, 2)))",
        "class Own(nnx.Module):\n    def initialize_carry(self, shape):\n        return shape\n"
        "print(Own().initialize_carry((1, 2)))",
        "print(nnx.LSTMCell(2, 3, rngs=rngs).initialize_carry(rngs=rngs, input_shape=(1, 2))[0].sum())",
        "class Own:\n    def initialize_carry(self, rngs):\n        return 1\n"
        "print([make() for make in [Own]][0].initialize_carry(rngs=rngs))",
    ],
    "NNX207": [
        "print(nnx.MultiHeadAttention(1, 2, dropout_rate=0.0, rngs=nnx.Rngs(params=0)).num_heads)",
        "print(nnx.MultiHeadAttention(1, 2, rngs=nnx.Rngs(params=0)).num_heads)",
        "print(nnx.Dropout(0.5, rng_collection='a', rngs=nnx.Rngs(a=0)).rate)",
        "print(Net(nnx.Rngs(*[0], params=1)).dropout.rate)",
        "print(Net(nnx.Rngs({'dropout': 0, 'params': 1})).dropout.rate)",
        "print(Net(nnx.Rngs(key, params=1)).dropout.rate)",
        "print(Net(nnx.Rngs(random.randrange(3), params=1)).dropout.rate)",
        "print(Net(nnx.Rngs(default=0, params=1)).dropout.rate)",
    ],
    "NNX208": [
        f"{_DROPS}nnx.Dropout.__init__(self, 0.5, rngs=rngs)\nprint(Own(rngs).rate)",
        "class Base(nnx.Dropout):\n    def __init__(self, rate, a, rngs):\n        super().__init__(rate, rngs=rngs)\n"
        "class Own(Base):\n    def __init__(self, rngs):\n        super().__init__(0.5, (1,), rngs)\n"
        "print(Own(rngs).rate)",
        "f = functools.partial(nnx.Dropout, 0.5)\nprint(f(deterministic=True).rate)",
        "f = functools.partial(lambda a, b, c: c, 1, 2)\nprint(f(3), functools.partial(max, 1, 2)())",
        "object.__setattr__(net, 'a', 1)\nsuper(Net, net).__init__(*())\nprint(net.a)",
    ],
    "NNX209": [
        f"r = rngs if x.sum() else nnx.Rngs(1)\nprint(nnx.RNN({_GRU}, rngs=r).unroll)",
        f"def f(r):\n    return nnx.RNN({_GRU}, rngs=r).unroll\nprint(f(rngs))",
        "print(nnx.Dropout(0.5, rngs=None).rate)",
    ],
    "NNX210": [
        "print(dict(x=1, rngs={'dropout': lambda: 0})['x'])",
        "class Own(nnx.Module):\n    def __call__(self, rngs):\n        return len(rngs)\n"
        "print(Own()(rngs={'dropout': lambda: 0}))",
        "print(nnx.Dropout(0.5)(x, rngs=nnx.Rngs(0)).shape)",
    ],
    "NNX211": ["print(jax.random.normal(nnx.Rngs(0, normal=1).normal()).shape)"],
    "NNX212": [
        "r = nnx.Rngs(dropout=0, params=1)\nd = nnx.Dropout(0.5, rngs=r)\nr.params.count.value = jnp.uint32(0)\n"
        "r.value = 3\nnnx.reseed(r, params=0)\nprint(d.rate)",
        "r = nnx.Rngs(dropout=0)\nd = nnx.Dropout(0.5, rngs=r)\nprint(nnx.clone(r).dropout.tag is None)",
        "r = nnx.Rngs(dropout=0)\nd = nnx.Dropout(0.5, rngs=r)\nprint(d.rngs is None, r is r)",
        "class Own(nnx.Module):\n    def __init__(self, rngs):\n        self.rngs = rngs\n"
        "r = nnx.Rngs(0)\nprint(Own(r).rngs is r)",
    ],
    "NNX213": [
        "print(isinstance(net.dropout.rngs, (nnx.Rngs, nnx.RngStream)))",
        "print(isinstance(rngs, nnx.Rngs), isinstance(net, nnx.Module), sum(isinstance(v, nnx.Rngs) for v in [rngs]))",
    ],
    "NNX214": ["nnx.reseed(nnx.Rngs(params=0), params=1)\nprint(1)"],
    "NNX215": ["print(nnx.Rngs(0).fork() is None)"],
    "NNX216": [
        _cell("jax.random.normal(rngs(), (1, 3))"),
        _cell("jnp.zeros((1, 3)) * (rngs.fork() is None)"),
        _noisy("super().__init__(2, 3, rngs=rngs)\n        self.rngs = rngs"),
        "class Noisy(nnx.LSTMCell):\n    def mask(self):\n        return self.in_features\n"
        "    def other(self, thing):\n        return thing.rngs\nprint(Noisy(2, 3, rngs=rngs).mask())",
    ],
    "NNX218": [
        "@dataclasses.dataclass\nclass Own(nnx.Module):\n    scale: float = 1.0\nprint(Own(0.5).scale)",
        "def keep(c):\n    return c\n@keep\nclass Own(nnx.Dropout):\n    pass\nprint(Own(0.5).rate)",
        "d = nnx.Dropout(0.5)\nprint(d == None, d is d, net == 3, 1 == 1 == d)",
        "print(len(dataclasses.fields(dataclasses.make_dataclass('A', ['b']))))",
    ],
}

"""Programs for the rules for 0.12: what they rewrite, what they report, and what they leave alone."""

HEAD = """\
import dataclasses
import functools
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs, f=None):
        self.inner = nnx.Linear(2, 2, rngs=rngs)
        self.f = f

    def encode(self, x):
        return self.inner(x)

    def add(self, x, y):
        return self.inner(x) + y

    def shift(self, x, y=1):
        return self.inner(x) + y

    def size(self):
        return self.inner.bias.sum()

    @staticmethod
    def double(x):
        return 2 * x

    @property
    def half(self):
        return lambda x: x / 2


rngs = nnx.Rngs(0)
net = Net(rngs, abs)
weight, other = nnx.Param(jnp.ones(2)), nnx.Param(jnp.ones(2))
count = nnx.Variable(jnp.array(1))
held = nnx.Variable({"a": 1})
deep = nnx.Sequential(nnx.relu)
x = jnp.ones((1, 2))
"""

# what becomes of code that 0.12 refuses, runs differently, or warns of
FIXED: dict[str, dict[str, str]] = {
    "NNX604": {
        'held.value["a"] += 1; print(held["a"])': 'held["a"] += 1; print(held["a"])',
        'held.value["a"]: int = 2; print(held["a"])': 'held["a"]: int = 2; print(held["a"])',
        '(held).value["a"], b = 2, 3; print(held["a"])': '(held)["a"], b = 2, 3; print(held["a"])',
        'del held.value["a"]; print(len(held.value))': 'del held["a"]; print(len(held.value))',
        "v = nnx.Variable([1]); v.value[0] = 2; print(v[0])": "v = nnx.Variable([1]); v[0] = 2; print(v[0])",
        'v = nnx.Variable(dict()); v.value["a"] = 2; print(len(v.value))': (
            'v = nnx.Variable(dict()); v["a"] = 2; print(len(v.value))'
        ),
        'v = nnx.Variable(value=list("ab")); v.value[0] = "c"; print(v[0])': (
            'v = nnx.Variable(value=list("ab")); v[0] = "c"; print(v[0])'
        ),
        "v = nnx.Variable([i for i in range(3)]); v.value[0] = 7; print(v[0])": (
            "v = nnx.Variable([i for i in range(3)]); v[0] = 7; print(v[0])"
        ),
        "v = nnx.Variable([1]); v.value.append(2); print(len(v.value))": (
            "v = nnx.Variable([1]); v.get_raw_value().append(2); print(len(v.value))"
        ),
        "v = nnx.Variable([1]); v.value.extend([2]); print(len(v.value))": (
            "v = nnx.Variable([1]); v.get_raw_value().extend([2]); print(len(v.value))"
        ),
        "v = nnx.Variable([1]); v.value.insert(0, 2); print(len(v.value))": (
            "v = nnx.Variable([1]); v.get_raw_value().insert(0, 2); print(len(v.value))"
        ),
        "v = nnx.Variable([1]); v.value.remove(1); print(len(v.value))": (
            "v = nnx.Variable([1]); v.get_raw_value().remove(1); print(len(v.value))"
        ),
        "v = nnx.Variable([1]); v.value.clear(); print(len(v.value))": (
            "v = nnx.Variable([1]); v.get_raw_value().clear(); print(len(v.value))"
        ),
        "v = nnx.Variable([2, 1]); v.value.sort(); print(v.value[0])": (
            "v = nnx.Variable([2, 1]); v.get_raw_value().sort(); print(v.value[0])"
        ),
        "v = nnx.Variable([2, 1]); v.value.reverse(); print(v.value[0])": (
            "v = nnx.Variable([2, 1]); v.get_raw_value().reverse(); print(v.value[0])"
        ),
        "v = nnx.Variable(list()); v.value.append(2); print(len(v.value))": (
            "v = nnx.Variable(list()); v.get_raw_value().append(2); print(len(v.value))"
        ),
        "held.value.update(b=2); print(len(held.value))": ("held.get_raw_value().update(b=2); print(len(held.value))"),
        'held.value.pop("a"); print(len(held.value))': ('held.get_raw_value().pop("a"); print(len(held.value))'),
        "held.value.popitem(); print(len(held.value))": ("held.get_raw_value().popitem(); print(len(held.value))"),
        'held.value.setdefault("b", 1); print(len(held.value))': (
            'held.get_raw_value().setdefault("b", 1); print(len(held.value))'
        ),
        'v = nnx.Variable({"a": {}}); v.value["a"]["b"] = 2; print(len(v.value["a"]))': (
            'v = nnx.Variable({"a": {}}); v.get_raw_value()["a"]["b"] = 2; print(len(v.value["a"]))'
        ),
        'v = nnx.Variable({"a": []}); v.value["a"].append(2); print(len(v.value["a"]))': (
            'v = nnx.Variable({"a": []}); v.get_raw_value()["a"].append(2); print(len(v.value["a"]))'
        ),
    },
    "NNX605": {
        "weight += 1; print(weight[0])": "weight.value += 1; print(weight[0])",
        "def add(p):\n    p += 1\n    return p\nprint(add(weight)[0])": (
            "def add(p):\n    p.value += 1\n    return p\nprint(add(weight)[0])"
        ),
        "def outer(p):\n    def inner(q):\n        q += 1\n        return q\n    p -= 1\n    return p, inner(other)\n"
        "print(outer(3)[0])": (
            "def outer(p):\n    def inner(q):\n        q.value += 1\n        return q\n    p -= 1\n"
            "    return p, inner(other)\nprint(outer(3)[0])"
        ),
        "net.inner.bias -= 1.0; print(net.inner.bias[0])": "net.inner.bias.value -= 1.0; print(net.inner.bias[0])",
        "weights = [weight]; weights[0] += 1; print(weights[0][0])": (
            "weights = [weight]; weights[0].value += 1; print(weights[0][0])"
        ),
        "def one(p: nnx.Param):\n    p += 1\n    return p\ndef two(p):\n    p += 1\n    return p\n"
        "print(one(weight)[0], two(1))": (
            "def one(p: nnx.Param):\n    p.value += 1\n    return p\ndef two(p):\n    p += 1\n    return p\n"
            "print(one(weight)[0], two(1))"
        ),
    },
    "NNX606": {
        "print(nnx.jit(net.encode)(x).shape)": "print(nnx.jit(lambda x: net.encode(x))(x).shape)",
        "print(nnx.jit(net.add)(x, 1).shape)": "print(nnx.jit(lambda x, y: net.add(x, y))(x, 1).shape)",
        "print(nnx.jit(net.size)().shape)": "print(nnx.jit(lambda: net.size())().shape)",
        **{
            f"print(callable(nnx.{name}(net.encode)))": f"print(callable(nnx.{name}(lambda x: net.encode(x))))"
            for name in ("vmap", "pmap", "grad", "value_and_grad", "remat", "scan", "checkify", "custom_vjp")
        },
        "print(nnx.eval_shape(net.encode, x).shape)": "print(nnx.eval_shape(lambda x: net.encode(x), x).shape)",
        'mesh, spec = jax.make_mesh((1,), ("a",)), jax.sharding.PartitionSpec()\n'
        "print(callable(nnx.shard_map(net.size, mesh=mesh, in_specs=spec, out_specs=spec)))": (
            'mesh, spec = jax.make_mesh((1,), ("a",)), jax.sharding.PartitionSpec()\n'
            "print(callable(nnx.shard_map(lambda: net.size(), mesh=mesh, in_specs=spec, out_specs=spec)))"
        ),
        "def make():\n    own = Net(rngs)\n    return nnx.jit(own.size)\nprint(make()().shape)": (
            "def make():\n    own = Net(rngs)\n    return nnx.jit(lambda: own.size())\nprint(make()().shape)"
        ),
        "print(nnx.jit(net.shift)(x, y=2).shape)": (
            "print(nnx.jit(lambda *args, **kwargs: net.shift(*args, **kwargs))(x, y=2).shape)"
        ),
        "print(nnx.jit(net.inner.__call__)(x).shape)": (
            "print(nnx.jit(lambda *args, **kwargs: net.inner.__call__(*args, **kwargs))(x).shape)"
        ),
        "print(functools.partial(nnx.jit)(net.encode)(x).shape)": (
            "print(functools.partial(nnx.jit)(lambda x: net.encode(x))(x).shape)"
        ),
        "def make(n: Net):\n    return nnx.jit(n.encode)\nprint(make(net)(x).shape)": (
            "def make(n: Net):\n    return nnx.jit(lambda x: n.encode(x))\nprint(make(net)(x).shape)"
        ),
        "nets = [net]\nprint(nnx.jit(nets[0].encode)(x).shape)": (
            "nets = [net]\nprint(nnx.jit(lambda x: nets[0].encode(x))(x).shape)"
        ),
        "for n in [net, net]:\n    print(nnx.remat(n.encode)(x).shape)": (
            "for n in [net, net]:\n    print(nnx.remat(lambda x: n.encode(x))(x).shape)"
        ),
        "n = net if jax.device_count() else None\nprint(nnx.jit(n.encode)(x).shape)": (
            "n = net if jax.device_count() else None\nprint(nnx.jit(lambda x: n.encode(x))(x).shape)"
        ),
        "def make(x):\n    return nnx.jit(x.encode)\nprint(make(net)(x).shape)": (
            "def make(x):\n    return nnx.jit(lambda *args, **kwargs: x.encode(*args, **kwargs))\n"
            "print(make(net)(x).shape)"
        ),
        "def make(n):\n    return nnx.jit(n.encode)\nprint(make(net)(x).shape, make(Net(rngs))(x).shape)": (
            "def make(n):\n    return nnx.jit(lambda x: n.encode(x))\n"
            "print(make(net)(x).shape, make(Net(rngs))(x).shape)"
        ),
        "class Own(Net):\n    def encode(self, value):\n        return value\n"
        "def make(n):\n    return nnx.jit(n.encode)\n"
        "print(make(net)(x).shape, make(Own(rngs))(x).shape)": (
            "class Own(Net):\n    def encode(self, value):\n        return value\ndef make(n):\n"
            "    return nnx.jit(lambda *args, **kwargs: n.encode(*args, **kwargs))\n"
            "print(make(net)(x).shape, make(Own(rngs))(x).shape)"
        ),
    },
    "NNX607": {
        "print(nnx.MultiHeadAttention(2, 4, 4, 4, 8, decode=False, rngs=rngs).in_kv_features)": (
            "print(nnx.MultiHeadAttention(2, 4, 4, 4, in_kv_features=8, decode=False, rngs=rngs).in_kv_features)"
        ),
    },
    "NNX608": {
        'setattr(weight, "tag", 3); print(weight.tag); delattr(weight, "tag")': (
            'weight.set_metadata("tag", 3); print(weight.tag); weight.del_metadata("tag")'
        ),
        """\
for _, v in nnx.iter_graph(net):
    if isinstance(v, nnx.Param) and v.ndim:
        v.tag = 1
for v in [v for _, v in nnx.iter_graph(net) if isinstance(v, nnx.Variable)]:
    setattr(v, "level", 2)
for _, v in nnx.iter_graph(net):
    if not isinstance(v, (nnx.Param, nnx.BatchStat)):
        continue
    v.kind = 3
print(net.inner.kernel.tag, net.inner.bias.level, net.inner.bias.kind)""": """\
for _, v in nnx.iter_graph(net):
    if isinstance(v, nnx.Param) and v.ndim:
        v.set_metadata(tag=1)
for v in [v for _, v in nnx.iter_graph(net) if isinstance(v, nnx.Variable)]:
    v.set_metadata("level", 2)
for _, v in nnx.iter_graph(net):
    if not isinstance(v, (nnx.Param, nnx.BatchStat)):
        continue
    v.set_metadata(kind=3)
print(net.inner.kernel.tag, net.inner.bias.level, net.inner.bias.kind)""",
        "weight.tag  =  3; print(weight.tag)  # kept": "weight.set_metadata(tag=3); print(weight.tag)  # kept",
        "weight.tag = (1, 2); print(weight.tag)": "weight.set_metadata(tag=(1, 2)); print(weight.tag)",
        "weight.__own__ = 1; print(weight.__own__)": "weight.set_metadata(__own__=1); print(weight.__own__)",
        'net.inner.kernel.sharding = ("a", None); print(1)': (
            'net.inner.kernel.set_metadata(out_sharding=("a", None)); print(1)'
        ),
        'net.inner.kernel.sharding_names = ("a", None); print(1)': (
            'net.inner.kernel.set_metadata(out_sharding=("a", None)); print(1)'
        ),
        "s = nnx.Sequential(nnx.relu, net.inner); s.layers[1].kernel.tag = 1; print(net.inner.kernel.tag)": (
            "s = nnx.Sequential(nnx.relu, net.inner); s.layers[1].kernel.set_metadata(tag=1); "
            "print(net.inner.kernel.tag)"
        ),
        "nets = [net.inner for _ in range(2)]; nets[1].bias.tag = 1; print(net.inner.bias.tag)": (
            "nets = [net.inner for _ in range(2)]; nets[1].bias.set_metadata(tag=1); print(net.inner.bias.tag)"
        ),
        'v = nnx.Param(1, tag=1); del v.tag; print(hasattr(v, "tag"))': (
            'v = nnx.Param(1, tag=1); v.del_metadata("tag"); print(hasattr(v, "tag"))'
        ),
    },
    "NNX610": {
        "print(bool((weight == other).all() if weight == other else 0))": (
            "print(bool((weight is other).all() if weight is other else 0))"
        ),
        "print((weight)   !=  (other))": "print((weight)   is not  (other))",
        "print(any((lambda p: p == other)(w) for w in [weight]) is False)": (
            "print(any((lambda p: p is other)(w) for w in [weight]) is False)"
        ),
        "def same(p):\n    def f(q):\n        return q == p\n    return f\nprint(same(weight)(other) is False)": (
            "def same(p):\n    def f(q):\n        return q is p\n    return f\nprint(same(weight)(other) is False)"
        ),
        "print((weight\n    == other) is False)": "print((weight\n    is other) is False)",
    },
    "NNX612": {
        "print(rngs.fork( split = 3 ).params.key.shape)": "print(rngs.split( 3 ).params.key.shape)",
        "n = 3; print(rngs.fork(split=n).params.key.shape)": "n = 3; print(rngs.split(n).params.key.shape)",
        'print(nnx.RngStream(tag="a", key=0).fork(split=3).key.shape)': (
            'print(nnx.RngStream(tag="a", key=0).split(3).key.shape)'
        ),
    },
    "NNX613": {
        "print(len([nnx.tanh] + deep.layers))": "print(len([nnx.tanh] + list(deep.layers)))",
        "print(len(deep.layers * 2))": "print(len(list(deep.layers) * 2))",
        "class Own(nnx.Sequential):\n    pass\nprint(len(Own(nnx.relu).layers + [1]))": (
            "class Own(nnx.Sequential):\n    pass\nprint(len(list(Own(nnx.relu).layers) + [1]))"
        ),
    },
    "NNX615": {
        'class Own(nnx.Module):\n    __slots__ = ("a",)\nprint(1)': "class Own(nnx.Module):\n    pass\nprint(1)",
        'class Own(nnx.Module):\n    __slots__ = "a"\n    b = 1\nprint(1)': (
            "class Own(nnx.Module):\n    b = 1\nprint(1)"
        ),
        'class Own(nnx.Module):\n    b = 1\n    __slots__: list = [\n        "a",\n    ]\nprint(1)': (
            "class Own(nnx.Module):\n    b = 1\nprint(1)"
        ),
    },
    "NNX625": {
        "print([name for name, _ in net.inner.iter_children()])": (
            "print([name for name, _ in net.inner.iter_children() if isinstance(_, nnx.Module)])"
        ),
        "class Own(nnx.Module):\n    def __init__(self):\n        self.w = nnx.Param(1.0)\n"
        "for name, child in Own().iter_children():\n    print(name)\nprint(1)": (
            "class Own(nnx.Module):\n    def __init__(self):\n        self.w = nnx.Param(1.0)\n"
            "for name, child in Own().iter_children():\n"
            "    if not isinstance(child, nnx.Module):\n        continue\n    print(name)\nprint(1)"
        ),
        "class Own(nnx.Module):\n    def __init__(self, rngs):\n        self.rngs = rngs\n"
        "print(sum(1 for name, child in Own(rngs).iter_children()))": (
            "class Own(nnx.Module):\n    def __init__(self, rngs):\n        self.rngs = rngs\n"
            "print(sum(1 for name, child in Own(rngs).iter_children() if isinstance(child, nnx.Module)))"
        ),
        "for name, child in net.inner.iter_children():\n    print(name, type(child).__name__)\nprint(1)": (
            "for name, child in net.inner.iter_children():\n"
            "    if not isinstance(child, nnx.Module):\n        continue\n"
            "    print(name, type(child).__name__)\nprint(1)"
        ),
        'for name, child in net.inner.iter_children():\n    print(f"{name}: {type(child).__name__}")\nprint(1)': (
            "for name, child in net.inner.iter_children():\n"
            "    if not isinstance(child, nnx.Module):\n        continue\n"
            '    print(f"{name}: {type(child).__name__}")\nprint(1)'
        ),
    },
    "NNX616": {
        "print(len(list(net.iter_modules())))": "print(len(list(nnx.iter_modules(net))))",
        "print(len(list((net).iter_children())))": "print(len(list(nnx.iter_children(net))))",
        "print(len(list(Net(rngs).iter_children())))": "print(len(list(nnx.iter_children(Net(rngs)))))",
        "def walk(m):\n    return m.iter_children()\nprint(len(list(walk(net))))": (
            "def walk(m):\n    return nnx.iter_children(m)\nprint(len(list(walk(net))))"
        ),
    },
}

# what 0.12 refuses, runs differently, or warns of, and only a person can change
REPORTED: dict[str, list[str]] = {
    "NNX625": [
        "print(len(list(net.inner.iter_children())))",
        "print([pair[0] for pair in net.inner.iter_children()])",
    ],
    "NNX604": [
        "class Seen(nnx.Variable):\n    def on_get_value(self, value):\n        return value\n"
        "v = Seen([1]); v.value.append(2); print(len(v.raw_value))",
    ],
    "NNX606": [
        "print(nnx.jit(Net(rngs).encode)(x).shape)",
        "print(nnx.jit([net][0].encode)(x).shape)",
        'print(nnx.jit(net.shift, static_argnames="y")(x, y=2).shape)',
        "n = net if jax.device_count() else None\nf = nnx.jit(n.encode)\nprint(f(x).shape)",
        "nets = [net]\nf = nnx.jit(nets[0].encode)\nprint(f(x).shape)",
        "print([nnx.jit(n.encode) for n in [net]][0](x).shape)",
        "def make(n: Net):\n    f = nnx.jit(n.encode)\n    n = None\n    return f\nprint(make(net)(x).shape)",
    ],
    "NNX607": [
        "rest = (8,)\nprint(nnx.MultiHeadAttention(2, 4, 4, 4, *rest, decode=False, rngs=rngs).in_kv_features)",
    ],
    "NNX608": [
        "weight.tag = 1, 2; print(weight.tag)",
        "weight.tag = (1, 2), 3; print(weight.tag)",
        "weight.tag = other.tag = 3; print(weight.tag)",
        "weight.tag, rest = 1, 2; print(weight.tag)",
        "weight.tag: int = 1; print(weight.tag)",
        "for weight.tag in (1, 2):\n    pass\nprint(weight.tag)",
        "v = nnx.Param(1, tag=1); v.tag += 1; print(v.tag)",
        "v = nnx.Param(1, a=1, b=2); del v.a, v.b; print(1)",
        "def send():\n    weight.tag = yield 1\n    yield 2\nsent = send(); next(sent); print(sent.send(3))",
    ],
    "NNX609": [
        "print(callable(net.inner.kernel_init))",
        "print(callable(net.inner.bias_init))",
        "print(callable(nnx.LayerNorm(2, rngs=rngs).scale_init))",
        "print(callable(nnx.Embed(2, 2, rngs=rngs).embedding_init))",
        "print(callable(nnx.GRUCell(2, 2, rngs=rngs).recurrent_kernel_init))",
        "print(callable(nnx.MultiHeadAttention(2, 4, rngs=rngs).out_kernel_init))",
        "print(callable(nnx.MultiHeadAttention(2, 4, rngs=rngs).out_bias_init))",
        "class Own(nnx.Linear):\n    pass\nprint(callable(Own(2, 2, rngs=rngs).kernel_init))",
        "def f(layer: nnx.Linear):\n    return callable(layer.kernel_init)\n"
        "print([f(v) for v in vars(net).values() if hasattr(v, 'kernel')])",
        "for v in vars(net).values():\n    if isinstance(v, nnx.Linear):\n        print(callable(v.kernel_init))",
    ],
    "NNX610": [
        "print(nnx.state(net) == nnx.state(nnx.clone(net)))",
        "before = nnx.split(net)[1]; print(before != nnx.state(nnx.clone(net)))",
        "n = nnx.Variable(3); print(n == 3, n != 4)",
        "n = nnx.Variable(-3); print(-3 != n)",
        "print((weight  # ==\n    == other) is False)",
        "print(weight == weight == weight)",
        "print(weight in [other])",
        "print(weight not in [other])",
        "print(len({**{}, weight: 1}))",
        "print(len({weight}))",
        "print(len({w: 1 for w in (weight, other)}))",
        "print(len(set(nnx.state(net).flat_state())))",
        "flat = nnx.to_flat_state(nnx.state(net)); print(len(frozenset(flat)))",
        "print(len(set(dict(nnx.state(net).flat_state()).values())))",
        "print(len(set(dict(nnx.state(net, nnx.Param).flat_state()).items())))",
        "def paths(state: nnx.State):\n    return set(state.filter(nnx.Param).flat_state())\n"
        "print(len(paths(nnx.state(net))))",
        "seen = set()\nfor path, leaf in nnx.state(net).flat_state():\n    seen.add(leaf)\nprint(len(seen))",
        "names = {}\nfor path, leaf in nnx.to_flat_state(nnx.state(net)):\n    names[leaf] = path\nprint(len(names))",
        "seen = {}\nfor path, leaf in nnx.state(net).flat_state():\n    seen[path, leaf] = 1\nprint(len(seen))",
        "print(len({(1, weight)}))",
        "print(len({w for w in (weight, other)}))",
        "names = {}; names[weight] = 1; print(len(names))",
        "print({1: 2}.get(weight))",
        "print({1: 2}.setdefault(weight, 3))",
        "print({1: 2}.pop(weight, 3))",
        "print([weight, other].index(other))",
        "print([weight, other].count(other))",
        "both = [weight, other]; both.remove(other); print(len(both))",
        "seen = set(); seen.add(weight); print(len(seen))",
        "seen = set(); seen.discard(weight); print(len(seen))",
        "print(hash(weight) == 0)",
    ],
    "NNX611": [
        'print(nnx.Param(jnp.ones((2, 2)), sharding=("a", None)).shape)',
        'print(nnx.Param(jnp.ones((2, 2)), sharding_names=("a", None)).shape)',
        'print(nnx.Param(jnp.ones((2, 2)), out_sharding=("a", None)).shape)',
        'init = nnx.with_partitioning(nnx.initializers.ones, ("a", None))\n'
        "print(nnx.Linear(2, 2, kernel_init=init, rngs=rngs).kernel.shape)",
        'from flax.nnx import with_partitioning as part\ninit = part(nnx.initializers.ones, ("a", None))\n'
        "print(nnx.Linear(2, 2, kernel_init=init, rngs=rngs).kernel.shape)",
        'init = nnx.with_partitioning(nnx.initializers.ones, sharding=("a", None))\n'
        "print(nnx.Linear(2, 2, kernel_init=init, rngs=rngs).kernel.shape)",
    ],
    "NNX613": ["print(isinstance(deep.layers, list))"],
    "NNX614": [
        "opt = nnx.Optimizer(net.inner, optax.sgd(0.1), wrt=nnx.Param)\n"
        f"opt.update(net.inner, nnx.{pure}(nnx.state(net.inner, nnx.Param)))\nprint(1)"
        for pure in ("pure", "to_pure_dict")
    ],
    "NNX615": [
        'class Own(nnx.Module):\n    __slots__ = names = ("a",)\nprint(1)',
        'class Own(nnx.Module):\n    b = 1; __slots__ = ("a",)\nprint(1)',
        'class Own(nnx.Module):\n    __slots__ = ("a",)  # kept\n    b = 1\nprint(1)',
    ],
    "NNX616": [
        "print(len(list(net.iter_modules(*()))))",
        'class Own(nnx.Module):\n    def __call__(self):\n        self.sow(nnx.Intermediate, "a", 1)\nprint(Own()())',
        'class Own(nnx.Module):\n    def __call__(self):\n        return self.perturb("a", 1.0)\nprint(Own()())',
    ],
    "NNX617": [
        *(
            f"print(nnx.Param(jnp.ones(2), {hook}=lambda v, x: 2 * x).shape)"
            for hook in ("on_get_value", "on_set_value", "on_create_value", "on_add_axis", "on_remove_axis")
        ),
        "class Own(nnx.Param):\n    def on_create_value(self, x):\n        return x\nprint(Own(jnp.ones(2)).shape)",
    ],
}

# what all versions run the same way
SILENT: dict[str, list[str]] = {
    "NNX625": [
        "print([name for name, _ in net.iter_children()])",
        "print([name for name, child in net.inner.iter_children() if isinstance(child, nnx.Module)])",
        "for name, child in net.inner.iter_children():\n    if hasattr(child, 'rate'):\n        print(name)\nprint(1)",
        "for name, child in net.inner.iter_children():\n    if type(child).__name__ == 'Own':\n        print(name)\n"
        "print(1)",
        "print(next(net.iter_children())[0])",
        "print(len(list(nnx.Dropout(0.5).iter_children())))",
        "class Own(nnx.Module):\n    def __init__(self):\n        self.w = nnx.Param(1.0)\n"
        "    def iter_children(self):\n        return [1]\nprint(len(list(Own().iter_children())))",
    ],
    "NNX604": [
        'print(held.value["a"], held.value.get("a"))',
        "v = nnx.Variable(jnp.ones(2)); v.value = v.value.at[0].set(2); print(v.value)",
        "v = nnx.Variable({1, 2}); v.value.remove(2); print(len(v.value))",
        "v = nnx.Variable(()); v.value += (1,); print(len(v.value))",
        "class Box:\n    def __init__(self):\n        self.value = {}\nbox = Box(); box.value[1] = 2; print(box.value)",
    ],
    "NNX605": [
        "total = 1; total += count.value; print(total)",
        "weights = [weight]; weights += [other]; print(len(weights))",
        "weight[0] += 1; print(weight[0])",
        "sizes = [1, 2]; sizes[0] += 1; print(sizes[0])",
        "net.number = 1; net.number += 1; print(net.number)",
    ],
    "NNX606": [
        "print(jax.jit(net.encode)(x).shape)",
        "print(nnx.jit(Net.encode)(net, x).shape)",
        "print(nnx.jit(net.inner)(x).shape)",
        "print(nnx.jit(nnx.Linear.__call__)(net.inner, x).shape)",
        "print(nnx.jit(net.double)(1), nnx.jit(net.half)(1), nnx.jit(net.f)(-1))",
        "class Own(Net):\n    def __init__(self, rngs):\n        super().__init__(rngs)\n        self.encode = abs\n"
        "print(nnx.jit(Own(rngs).encode)(-1))",
        "print(nnx.jit(nnx.relu)(1.0))",
        "class Own(nnx.Object):\n    def double(self, x):\n        return 2 * x\nprint(nnx.jit(Own().double)(1))",
        "class Own:\n    def double(self, x):\n        return 2 * x\nprint(nnx.jit(Own().double)(1))",
        "class Env:\n    def reset(self, x):\n        return x + 1\nenv = Env(); print(nnx.vmap(env.reset)(x))",
        "class Env:\n    def reset(self, x):\n        return x + 1\ndef make(e):\n    return nnx.vmap(e.reset)\n"
        "print(make(Env())(x), make(Env())(x))",
        "class Env:\n    def loss(self, model):\n        return model(x).sum()\n"
        "env = Env(); print(nnx.grad(env.loss)(net.inner).bias[...])",
        "class Loss(nnx.metrics.Average):\n    def twice(self, x):\n        return 2 * x\n"
        "mean = Loss(); print(nnx.jit(mean.twice)(x))",
    ],
    "NNX607": [
        "print(nnx.MultiHeadAttention(2, 4, 4, 4, decode=False, rngs=rngs).in_kv_features)",
        "print(max(1, 2, 3, 4, 5))",
    ],
    "NNX608": [
        'setattr(weight, "value", jnp.zeros(2)); print(weight[0])',
        "for v in (net, weight):\n    if isinstance(v, (nnx.Variable, nnx.Module)) and v is net:\n"
        "        v.tag = 1\nprint(net.tag)",
        "weight.value = jnp.zeros(2); print(weight[0])",
        "weight.raw_value = jnp.zeros(2); print(weight[0])",
        "weight._raw_value = jnp.zeros(2); print(1)",
        "weight._trace_state = weight._trace_state; print(weight[0])",
        "weight._var_metadata = weight._var_metadata; print(weight[0])",
        "weight.__class__ = nnx.BatchStat; print(weight[0])",
        "net.tag = 1; print(net.tag)",
        "v = nnx.Param(1, tag=[]); v.tag.append(1); print(v.tag)",
        "class Own(nnx.Param):\n    @property\n    def tag(self):\n        return 3\n    @tag.setter\n"
        "    def tag(self, new):\n        pass\nv = Own(jnp.ones(2)); v.tag = 1; print(v.tag)",
    ],
    "NNX609": [
        "def f(layer: nnx.Linear):\n    return callable(layer.kernel_init) if hasattr(layer, 'kernel_init') else None\n"
        "print(f(net.inner) is None or True)",
        "class Own(nnx.Linear):\n    def __init__(self, init):\n        super().__init__(2, 2, rngs=rngs)\n"
        "        self.kernel_init = init\nprint(callable(Own(max).kernel_init))",
        "class Own(nnx.Linear):\n    def kernel_init(self):\n        pass\n"
        "print(callable(Own(2, 2, rngs=rngs).kernel_init))",
        "class Own(nnx.Linear):\n    bias_init = max\nprint(callable(Own(2, 2, rngs=rngs).bias_init))",
        "@dataclasses.dataclass\nclass Own(nnx.Linear):\n    kernel_init: object\n"
        "print(callable(Own(max).kernel_init))",
        *(
            f'class Own(nnx.{base}):\n    def __init__(self):\n        setattr(self, "kernel_init", max)\n'
            "print(callable(Own().kernel_init))"
            for base in ("Module", "Object")
        ),
        "net.inner.kernel_init = max; print(net.inner.in_features)",
        "import collections\nprint(callable(collections.namedtuple('Own', 'kernel_init')(max).kernel_init))",
    ],
    "NNX610": [
        "state = nnx.state(net); print(state == state, nnx.graphdef(net) == nnx.graphdef(nnx.clone(net)), state == 1)",
        "print(nnx.to_pure_dict(nnx.state(net, nnx.Intermediate)) == {}, nnx.state(net) is None)",
        "n = nnx.Variable(3); print(n.value == 3, n.value != 4, type(n) == 3)",
        "print(weight == None, weight != None, weight is other)",
        "print(len([w for w in (weight, other)]), len({1: weight}), id(weight) == id(weight))",
        'named = {"a": weight}\nfor name in named:\n    print(named[name].shape)\n'
        "print(len({k: v.size for k, v in named.items()}), len({k for k in named.keys()}))",
        "print([1, 2][count], [1, 2].pop(count), [i for i in range(3)][count], [weight].append(weight))",
        "print(jnp.ones(2).at[0].add(count))",
        "class Bag:\n    def add(self, v):\n        return 1\n\n    def __getitem__(self, v):\n        return 2\n"
        "print(Bag().add(weight), Bag()[weight])",
        "state = nnx.state(net)\n"
        "print(len(set(dict(state.flat_state()))), len({path for path, _ in state.flat_state()}))",
        "flat = dict(nnx.state(net).flat_state())\n"
        "print(len(set(flat)), len(set(flat.keys())), len({p: v for p, v in flat.items()}))",
        "sizes = {}\nfor path, leaf in nnx.state(net).flat_state():\n    sizes[path, leaf.value.ndim] = leaf\n"
        "    sizes[path] = len([leaf])\nprint(len(sizes))",
    ],
    "NNX611": [
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec\n"
        "mesh = Mesh(jax.devices()[:1], ('model',))\n"
        "place = NamedSharding(mesh, PartitionSpec(None, 'model'))\n"
        "init = nnx.with_partitioning(nnx.initializers.ones_init(), place)\n"
        "print(nnx.Linear(2, 2, kernel_init=init, rngs=rngs)(x))",
        "print(nnx.Param(jnp.ones((2, 2)), sharding=None).shape)",
        'print(nnx.Param(jnp.ones((2, 2)), sharding=("a", None), mesh=jax.make_mesh((1,), ("a",))).shape)',
        'mesh = jax.make_mesh((1,), ("a",))\n'
        'init = nnx.with_partitioning(nnx.initializers.ones, ("a", None), mesh)\n'
        "print(nnx.Linear(2, 2, kernel_init=init, rngs=rngs).kernel.shape)",
        'mesh = jax.make_mesh((1,), ("a",))\n'
        'init = nnx.with_partitioning(nnx.initializers.ones, ("a", None), mesh=mesh)\n'
        "print(nnx.Linear(2, 2, kernel_init=init, rngs=rngs).kernel.shape)",
        "def place(x, sharding):\n    return x\nprint(place(1, sharding=2))",
    ],
    "NNX612": [
        "print(nnx.Rngs(0).fork().params.key.shape)",
        "print(nnx.Rngs(0).fork(split=None).params.key.shape)",
        "class Own:\n    def fork(self, split):\n        return split\nprint(Own().fork(split=3))",
    ],
    "NNX613": [
        "print(len(deep.layers), len(deep.layers[0:1]), len([*deep.layers]), len(deep.layers) - 1)",
        "class Own(nnx.Sequential):\n    def __init__(self):\n        self.layers = [nnx.relu]\n"
        "print(len(Own().layers + [1]))",
        "class Own(nnx.Module):\n    def __init__(self):\n        self.layers = [nnx.relu]\n"
        "print(len(Own().layers + [1]), isinstance(Own().layers, list))",
        "print(isinstance(deep, nnx.Module), net.inner.in_features + 1)",
        "big = nnx.Sequential(nnx.Linear(2, 2, rngs=rngs), nnx.relu)\n"
        "print(len(list(big.iter_modules())) > 1, len(list(big.iter_modules())) < 2)",
        "deep.number = 2; print(deep.number + 1, isinstance(deep.number, int))",
    ],
    "NNX614": [
        "opt = nnx.Optimizer(net.inner, optax.sgd(0.1), wrt=nnx.Param)\n"
        "opt.update(net.inner, nnx.state(net.inner, nnx.Param))\nprint(1)",
        "seen = {}; seen.update(nnx.to_pure_dict(nnx.state(net))); print(len(seen))",
    ],
    "NNX615": [
        "class Own(nnx.Module):\n    __slots__ = ()\nprint(1)",
        "class Own(nnx.Module):\n    __slots__: list = []\nprint(1)",
        "class Own(nnx.Module):\n    __slots__: tuple\nprint(1)",
        'class Own:\n    __slots__ = ("a",)\nprint(1)',
        'class Own(nnx.Module):\n    slots = ("a",)\nprint(1)',
    ],
    "NNX616": [
        "print(len(list(enumerate([net]))), net.encode(x).shape)",
        "class Own(nnx.Module):\n    def iter_modules(self):\n        return [1]\nprint(len(Own().iter_modules()))",
        "class Own:\n    def iter_modules(self):\n        return [1]\nprint(len(Own().iter_modules()))",
    ],
    "NNX617": [
        "def call(on_get_value):\n    return 1\nprint(call(on_get_value=2))",
        "class Own(nnx.Module):\n    def on_create_value(self, value):\n        return value\n"
        "print(Own().on_create_value(1))",
    ],
}

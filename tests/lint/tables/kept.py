"""What comes back as something else: checkpoints that are kept, objects that are rebuilt, buffers that are refilled."""

from __future__ import annotations

from tests.lint.tables import Cases

_OCP = "import orbax.checkpoint as ocp\n"
_LINE = (
    "class Line:\n    def __init__(self, slope, offset, name='line'):\n        self.slope = slope\n"
    "        self.offset = offset\n        self.name = name\n"
)
_CLASS = "@jax.tree_util.register_pytree_node_class\n"
_FLATTEN = "    def tree_flatten(self):\n        return (self.slope, self.offset), self.name\n"
_UNFLATTEN = "    @classmethod\n    def tree_unflatten(cls, rest, children):\n"
_SCALE = "class Scale:\n    def __init__(self, raw):\n        self.scale = jax.nn.softplus(raw)\n"
_ROWS = "rows = [np.full((64, 8), i, np.float32) for i in range(4)]\n"
_RING = (
    "class Ring:\n    def __init__(self, slots):\n        self.data = np.zeros((slots, 64, 8), dtype=np.float32)\n"
    "        self.slots, self.count = slots, 0\n"
    "    def write(self, row):\n        slot = self.count % self.slots\n        self.data[slot] = row\n"
    "        self.count += 1\n        return slot\n"
)

CASES: dict[str, Cases] = {
    "NNX774": Cases(
        bad=(
            """\
import orbax.checkpoint as ocp
METRIC = "val_rmse"
options = ocp.CheckpointManagerOptions(max_to_keep=5, best_fn=lambda metrics: metrics[METRIC])  # NNX774
""",
            _OCP + "def best(metrics):\n    loss = metrics['loss']\n    return loss\n"
            "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=best)  # NNX774\n",
            _OCP + "kept = dict(max_to_keep=3, best_fn=lambda m: m['loss'])\n"
            "o = ocp.CheckpointManagerOptions(**kept)  # NNX774\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['val_loss'])  # NNX774\n",
            _OCP
            + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: float(m['eval/mse']), best_mode='max')  # NNX774\n",
            _OCP + "def by_loss(metrics):\n    return metrics.get('loss')\n"
            "options = {'max_to_keep': 2}\n"
            "o = ocp.CheckpointManagerOptions(max_to_keep=2, best_fn=by_loss)  # NNX774\n",
            "from operator import itemgetter\nfrom orbax.checkpoint import CheckpointManagerOptions as Options\n"
            "o = Options(best_fn=itemgetter('perplexity'))  # NNX774\n",
            _OCP + "class Trainer:\n    def measure(self, metrics):\n        return metrics['valid']['rmse']\n"
            "    def options(self):\n"
            "        return ocp.CheckpointManagerOptions(best_fn=self.measure)  # NNX774\n",
            _OCP + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: m['accuracy'], best_mode='min')  # NNX774\n",
            _OCP + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: -m['loss'], best_mode='min')  # NNX774\n",
            _OCP + "managers = ocp.checkpoint_managers\n"
            "p = managers.BestN(get_metric_fn=lambda m: m['loss'], n=2)  # NNX774\n",
        ),
        clean=(
            """\
import orbax.checkpoint as ocp
METRIC = "val_accuracy"
options = ocp.CheckpointManagerOptions(max_to_keep=5, best_fn=lambda metrics: metrics[METRIC])
print(options.best_mode)
""",
            _OCP + "kept = dict(best_fn=lambda m: m['loss'], best_mode='min')\n"
            "o = ocp.CheckpointManagerOptions(**kept)\n",
            _OCP + "def options(**more):\n"
            "    return ocp.CheckpointManagerOptions(best_fn=lambda m: m['loss'], **more)\n"
            "o = options(best_mode='min')\n",
            _OCP + "def best(metrics):\n    loss = metrics['loss']\n    loss = -loss\n    return loss\n"
            "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=best)\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['loss'], best_mode='min')\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: -m['loss'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: float(-m['loss']))\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: 1.0 / m['loss'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['accuracy'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['negative_loss'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['loss_improvement'])\n",
            _OCP + "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=lambda m: m['score'])\n",
            _OCP + "def measure(m):\n    if 'acc' in m:\n        return m['acc']\n    return -m['loss']\n"
            "o = ocp.CheckpointManagerOptions(max_to_keep=3, best_fn=measure)\n",
            _OCP
            + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: m['loss'])\nmetrics = {'loss': -float(x.sum())}\n",
            _OCP + "def options(mode):\n"
            "    return ocp.CheckpointManagerOptions(best_fn=lambda m: m['loss'], best_mode=mode)\n"
            "o = options('min')\n",
            _OCP + "o = ocp.CheckpointManagerOptions(best_fn=lambda m: m['loss'])\no.best_mode = 'min'\n",
            _OCP + "p = ocp.checkpoint_managers.BestN(get_metric_fn=lambda m: m['loss'], reverse=True, n=2)\n",
        ),
    ),
    "NNX775": Cases(
        bad=(
            """\
@jax.tree_util.register_pytree_node_class
class Stats:
    def __init__(self, mean, momentum=0.9):
        self.mean = mean
        self.momentum = momentum
    def tree_flatten(self):
        return (self.mean,), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)  # NNX775
    def update(self, v):
        return self.momentum * self.mean + (1 - self.momentum) * v
print(jax.jit(lambda s: s)(Stats(x, momentum=0.5)).update(x))
""",
            """\
import dataclasses
@jax.tree_util.register_pytree_node_class
@dataclasses.dataclass
class Stats:
    mean: jax.Array
    momentum: float = 0.9
    def tree_flatten(self):
        children = (self.mean,)
        return children, ()
    @classmethod
    def tree_unflatten(cls, aux, children):
        (mean,) = children
        return cls(mean=children[0])  # NNX775
    def update(self, v):
        return self.momentum * self.mean + (1 - self.momentum) * v
print(jax.jit(lambda s: s)(Stats(x, 0.5)).update(x))
""",
            """\
class Filter:
    def __init__(self, taps, rate=1.0):
        self.taps, self.rate = taps, rate
def pack(f):
    return [f.taps], None
def unpack(aux, children):
    return Filter(children[0])  # NNX775
jax.tree_util.register_pytree_node(Filter, pack, unpack)
def applied(f, v):
    return f.rate * v * f.taps
print(jax.jit(applied)(Filter(x, rate=2.0), x))
""",
            _CLASS
            + _LINE
            + _FLATTEN
            + _UNFLATTEN
            + "        line = cls.__new__(cls)  # NNX775\n        line.offset, line.slope = children\n"
            "        line.name = rest\n        return line\n",
            _CLASS
            + _LINE
            + "    def tree_flatten(self):\n        return (self.offset, self.slope), self.name\n"
            + _UNFLATTEN
            + "        return cls(*children, name=rest)  # NNX775\n",
            _CLASS
            + _LINE
            + _FLATTEN
            + _UNFLATTEN
            + "        offset, slope = children\n        return cls(slope, offset, rest)  # NNX775\n",
            _CLASS + _LINE + _FLATTEN + _UNFLATTEN + "        return cls(children[1], children[0], rest)  # NNX775\n",
            _CLASS
            + _LINE
            + _FLATTEN
            + _UNFLATTEN
            + "        line = object.__new__(cls)  # NNX775\n        line.offset, line.slope = children\n"
            "        line.name = rest\n        return line\n",
            _LINE + "jax.tree_util.register_pytree_node(\n    Line, lambda v: ((v.slope, v.offset), None),\n"
            "    lambda _, c: Line(offset=c[0], slope=c[1]))  # NNX775\n",
            "from dataclasses import dataclass\n" + _CLASS + "@dataclass\nclass Pair:\n    mean: jax.Array\n"
            "    std: jax.Array\n    def tree_flatten(self):\n        return (self.std, self.mean), None\n"
            + _UNFLATTEN
            + "        return cls(*children)  # NNX775\n",
            "from jax.tree_util import register_pytree_with_keys_class, GetAttrKey\n@register_pytree_with_keys_class\n"
            + _LINE
            + "    def tree_flatten_with_keys(self):\n"
            "        return ((GetAttrKey('o'), self.offset), (GetAttrKey('s'), self.slope)), self.name\n"
            + _UNFLATTEN
            + "        return cls(*children, rest)  # NNX775\n",
            _CLASS
            + _LINE
            + "    def tree_flatten(self):\n        return (self.slope,), (self.name, self.offset)\n"
            + _UNFLATTEN
            + "        return cls(*children, *rest)  # NNX775\n",
            _SCALE + "def flatten(s):\n    return (s.scale,), None\ndef unflatten(_, children):\n"
            "    return Scale(*children)  # NNX775\njax.tree_util.register_pytree_node(Scale, flatten, unflatten)\n",
            _CLASS + "class Image:\n    def __init__(self, pixels, name):\n"
            "        self.pixels = jnp.asarray(pixels) / 255.0\n        self.name = name\n"
            "    def tree_flatten(self):\n        children = (self.pixels,)\n        rest = {'name': self.name}\n"
            "        return children, rest\n" + _UNFLATTEN + "        return cls(*children, **rest)  # NNX775\n",
            _CLASS + "class Gauss:\n    def __init__(self, mean, log_std):\n"
            "        self.mean, self.std = mean, jnp.exp(log_std)\n"
            "    def tree_flatten(self):\n        return [self.mean, self.std], None\n"
            + _UNFLATTEN
            + "        mean, std = children\n        return cls(mean, log_std=std)  # NNX775\n",
        ),
        clean=(
            """\
@jax.tree_util.register_pytree_node_class
class Stats:
    def __init__(self, mean, momentum=0.9):
        self.mean = mean
        self.momentum = momentum
    def tree_flatten(self):
        return (self.mean,), (self.momentum,)
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, *aux)
    def update(self, v):
        return self.momentum * self.mean + (1 - self.momentum) * v
print(jax.jit(lambda s: s)(Stats(x, momentum=0.5)).update(x))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Stats:
    def __init__(self, mean, momentum=0.9):
        self.mean = mean
        self.momentum = momentum
    def tree_flatten(self):
        return (self.mean,), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
    def update(self, v):
        return self.momentum * self.mean + (1 - self.momentum) * v
print(jax.jit(lambda s: s)(Stats(x, 0.9)).update(x))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Stats:
    def __init__(self, mean, momentum=0.9):
        self.mean = mean
        self.momentum = momentum
    def tree_flatten(self):
        return (self.mean,), self.momentum
    @classmethod
    def tree_unflatten(cls, aux, children):
        new = cls(*children)
        new.momentum = aux
        return new
    def update(self, v):
        return self.momentum * self.mean + (1 - self.momentum) * v
print(jax.jit(lambda s: s)(Stats(x, momentum=0.5)).update(x))
""",
            """\
@jax.tree_util.register_pytree_node_class
class Stats:
    def __init__(self, mean, momentum=0.9):
        self.mean = mean
        self.momentum = momentum
    def tree_flatten(self):
        return (self.mean,), {'momentum': self.momentum}
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, **aux)
    def update(self, v):
        return self.momentum * self.mean + (1 - self.momentum) * v
print(jax.jit(lambda s: s)(Stats(x, momentum=0.5)).update(x))
""",
            """\
import dataclasses
@jax.tree_util.register_pytree_node_class
@dataclasses.dataclass
class Stats:
    mean: jax.Array
    width: int = 0
    momentum: float = dataclasses.field(default=0.9, init=False)
    def __post_init__(self):
        self.width = len(self.mean)
    def tree_flatten(self):
        return (self.mean,), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
    def size(self):
        return self.width * self.momentum
print(jax.jit(lambda s: s)(Stats(x, 3)).size())
""",
            """\
@jax.tree_util.register_pytree_node_class
class Stats:
    def __init__(self, mean, name="stats"):
        self.mean = mean
        self.name = name
    def __repr__(self):
        return self.name
    def tree_flatten(self):
        return (self.mean,), None
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
print(jax.jit(lambda s: s)(Stats(x, "other")))
""",
            _CLASS + _LINE + _FLATTEN + _UNFLATTEN + "        line = cls.__new__(cls)\n"
            "        line.slope, line.offset = children\n        line.name = rest\n        return line\n",
            _CLASS
            + _LINE
            + "    def tree_flatten(self):\n        return (self.offset, self.slope), self.name\n"
            + _UNFLATTEN
            + "        line = cls.__new__(cls)\n        offset, slope = children\n"
            "        line.__init__(slope, offset, rest)\n        return line\n",
            _CLASS + _LINE + _FLATTEN + _UNFLATTEN + "        return cls(*children, name=rest)\n",
            _CLASS + _LINE + _FLATTEN + _UNFLATTEN + "        slope, offset = children\n"
            "        return cls(offset=offset, slope=slope, name=rest)\n",
            _CLASS
            + _LINE
            + "    def tree_flatten(self):\n        return (self.offset, self.slope), self.name\n"
            + _UNFLATTEN
            + "        return cls(*children[::-1], name=rest)\n",
            _CLASS + _LINE + _FLATTEN + _UNFLATTEN + "        line = object.__new__(cls)\n"
            "        line.slope, line.offset = children\n        line.name = rest\n        return line\n",
            _SCALE + "def unflatten(_, children):\n    scale = object.__new__(Scale)\n    (scale.scale,) = children\n"
            "    return scale\njax.tree_util.register_pytree_node(Scale, lambda s: ((s.scale,), None), unflatten)\n",
            "class Scale:\n    def __init__(self, raw, positive=False):\n"
            "        self.scale = raw if positive else jax.nn.softplus(raw)\n"
            "jax.tree_util.register_pytree_node(\n"
            "    Scale, lambda s: ((s.scale,), None), lambda _, c: Scale(*c, positive=True))\n",
            "class Raw:\n    def __init__(self, raw):\n        self.raw = raw\n"
            "        self.scale = jax.nn.softplus(raw)\n"
            "jax.tree_util.register_pytree_node(Raw, lambda s: ((s.raw,), None), lambda _, c: Raw(*c))\n",
            "class Whole:\n    def __init__(self, w, eps):\n        self.w = jnp.asarray(w)\n"
            "        self.eps = float(eps)\n"
            "        self.low = jnp.maximum(w, 0)\n"
            "jax.tree_util.register_pytree_node(\n"
            "    Whole, lambda s: ((s.w, s.low), s.eps), lambda e, c: Whole(c[0], e))\n",
            "class Unit:\n    def __init__(self, v):\n        self.v = v / jnp.sqrt((v ** 2).sum())\n"
            "jax.tree_util.register_pytree_node(Unit, lambda u: ((u.v,), None), lambda _, c: Unit(*c))\n",
            "class Rate:\n    def __init__(self, log_rate):\n        self.rate = jnp.exp(log_rate)\n"
            "jax.tree_util.register_pytree_node(Rate, lambda r: ((jnp.log(r.rate),), None), lambda _, c: Rate(*c))\n",
            "from typing import NamedTuple\nclass Pair(NamedTuple):\n    mean: jax.Array\n    std: jax.Array\n"
            "p = Pair(std=x, mean=x)\n",
            _CLASS + "class Two:\n    def __init__(self, a, b):\n        self.first, self.second = a, b\n"
            "    @property\n    def low(self):\n        return self.first\n"
            "    def tree_flatten(self):\n        return (self.low, self.second), None\n"
            + _UNFLATTEN
            + "        return cls(*children)\n",
        ),
    ),
    "NNX776": Cases(
        bad=(
            """\
class Loader:
    def __init__(self, rows):
        self.rows = rows
        self.host = np.empty((256, 8192), np.float32)
    def __iter__(self):
        for row in self.rows:
            self.host[:] = row
            yield jax.device_put(self.host)  # NNX776
def prefetch(iterator, size=3):
    queue = []
    for item in iterator:
        queue.append(item)
        if len(queue) == size:
            yield queue.pop(0)
    yield from queue
print([float(one.mean()) for one in prefetch(Loader(range(4)))])
""",
            """\
class Loader:
    def __init__(self, rows):
        self.rows = rows
        self.host = np.empty((256, 8192), np.float32)
    def __iter__(self):
        for row in self.rows:
            self.host[:] = row
            batch = jax.device_put(self.host)  # NNX776
            yield batch
loader = Loader(range(4))
kept = []
for batch in loader:
    kept.append(batch)
""",
            """\
class Loader:
    def __init__(self, count):
        self.left = count
        self.host = np.empty((256, 8192), np.float32)
    def __iter__(self):
        return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        self.host[:] = self.left
        return jax.device_put(self.host)  # NNX776
print([float(one.mean()) for one in list(Loader(3))])
""",
            """\
class Loader:
    def __init__(self, rows):
        self.rows = rows
        self.host = {"x": np.empty((256, 8192), np.float32), "y": np.zeros(256, np.int32)}
    def __iter__(self):
        for row in self.rows:
            self.host["x"][:] = row
            np.copyto(self.host["y"], row)
            on_device = jax.device_put(self.host["x"])  # NNX776
            yield {"x": on_device, "y": jnp.asarray(self.host["y"])}  # NNX776
print([float(one["x"].mean()) for one in list(Loader(range(3)))])
""",
            """\
def batches(rows):
    host = {"x": np.zeros((32, 8), np.float32)}
    kept = []
    for row in rows:
        host["x"][:] = row
        kept.append({"x": jnp.asarray(host["x"])})  # NNX776
    return kept
batches(range(3))
""",
            """\
def stream(rows):
    work = np.empty(40000, np.float32)
    for row in rows:
        work[...] = row
        yield jax.device_put(work)  # NNX776
print([float(one[0]) for one in list(stream(range(3)))])
""",
            """\
def stream(rows):
    work = np.empty(40000, np.float32)
    for row in rows:
        np.copyto(work, row)
        yield {"row": jax.device_put(work)}  # NNX776
def ahead(items, depth=2):
    queue = []
    for item in items:
        queue.append(item)
        if len(queue) > depth:
            yield queue.pop(0)
    yield from queue
for one in ahead(stream(range(3))):
    print(float(one["row"][0]))
""",
            _ROWS + "def ring(rows):\n    data = np.zeros((3, 64, 8), np.float32)\n    kept = []\n"
            "    for i, row in enumerate(rows):\n        slot = i % 3\n        np.copyto(data[slot], row)\n"
            "        kept += [dict(rows=jax.device_put(data[slot]))]  # NNX776\n    return kept\nring(rows)\n",
            _ROWS + "buffer = np.empty((64, 8), np.float32)\nkept = []\nfor row in rows:\n    buffer[:] = row\n"
            "    kept.append(jnp.asarray(buffer))  # NNX776\n",
            _ROWS + "def batches(rows):\n    buffer = np.zeros((64, 8), dtype='float32')\n    kept = {}\n"
            "    for i, row in enumerate(rows):\n        np.copyto(buffer, row)\n"
            "        on_device = jax.device_put(buffer)  # NNX776\n"
            "        kept[i] = on_device\n    return kept\nbatches(rows)\n",
            _ROWS + "class Stage:\n    def __init__(self):\n        self.buffer = np.zeros((64, 8), np.float32)\n"
            "    def put(self, row):\n        self.buffer[...] = row\n"
            "        return jax.device_put(self.buffer)  # NNX776\n"
            "stage = Stage()\nkept = [stage.put(row) for row in rows]\n",
            _ROWS + _RING + "    def get(self, slot):\n        return jnp.asarray(self.data[slot])  # NNX776\n"
            "def collect(ring):\n    kept = []\n    for row in rows:\n        slot = ring.write(row)\n"
            "        kept.append(ring.get(slot))\n    return kept\ncollect(Ring(2))\n",
            _ROWS + "def put(buffer, row):\n    buffer[:] = row\n    on_device = jax.device_put(buffer)  # NNX776\n"
            "    return on_device\n"
            "def run():\n    buffer = np.zeros((64, 8), np.float32)\n    return [put(buffer, row) for row in rows]\n"
            "run()\n",
            _ROWS + "buffer = np.zeros((64, 8), np.float32)\nhistory = []\nfor row in rows:\n    buffer += row\n"
            "    history.append((jnp.asarray(buffer), 1))  # NNX776\n",
            _ROWS + "def ring(rows):\n    data = np.zeros((3, 64, 8), np.float32)\n    kept = []\n"
            "    for i, row in enumerate(rows):\n        slot = i % 3\n        data[slot] = row\n"
            "        kept.append(jax.device_put(data[slot]))  # NNX776\n    return kept\nring(rows)\n",
            """\
import collections
def aligned(shape):
    raw = np.empty(int(np.prod(shape)) * 4 + 64, dtype=np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + int(np.prod(shape)) * 4].view(np.float32).reshape(shape)
def read(i, out):
    out[:] = i
def prefetch(n, depth=3):
    queue = collections.deque()
    buffer = aligned((32, 8))
    for i in range(n):
        read(i, buffer)
        queue.append(jax.device_put(buffer))  # NNX776
        if len(queue) == depth:
            yield queue.popleft()
    while queue:
        yield queue.popleft()
print([float(one.mean()) for one in prefetch(6)])
""",
            """\
class Slot:
    def __init__(self):
        self.obs = np.zeros((32, 8), np.float32)
    def collect(self, i):
        for t in range(32):
            self.obs[t] = i
        return self.obs
slot = Slot()
replay = []
for i in range(4):
    obs = slot.collect(i)
    replay.append(jax.device_put(obs))  # NNX776
""",
            """\
def fill(out, i):
    np.copyto(out, i)
def kept(n):
    buffer = np.empty((32, 8), np.float32)
    found = []
    for i in range(n):
        fill(buffer, i)
        found.append(jnp.asarray(buffer))  # NNX776
    return found
kept(3)
""",
        ),
        clean=(
            """\
class Loader:
    def __init__(self, rows):
        self.rows = rows
        self.host = np.empty((256, 8192), np.float32)
    def __iter__(self):
        for row in self.rows:
            self.host[:] = row
            yield jax.device_put(self.host.copy())
print([float(one.mean()) for one in list(Loader(range(3)))])
""",
            """\
class Loader:
    def __init__(self, rows):
        self.rows = rows
        self.host = np.empty((256, 8192), np.float32)
    def __iter__(self):
        for row in self.rows:
            self.host = np.empty((256, 8192), np.float32)
            self.host[:] = row
            yield jax.device_put(self.host)
print([float(one.mean()) for one in list(Loader(range(3)))])
""",
            """\
class Loader:
    def __init__(self, rows):
        self.rows = rows
        self.host = np.empty((256, 8192), np.float32)
    def __iter__(self):
        for row in self.rows:
            self.host[:] = row
            yield jax.device_put(self.host)
total = 0.0
for batch in Loader(range(3)):
    total += float(batch.mean())
means = [float(batch.mean()) for batch in Loader(range(3))]
""",
            """\
class Loader:
    def __init__(self, count):
        self.left = count
    def __iter__(self):
        return self
    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        host = np.empty((256, 8192), np.float32)
        host[:] = self.left
        return jax.device_put(host)
print([float(one.mean()) for one in list(Loader(3))])
""",
            """\
class Loader:
    def __init__(self, rows):
        self.rows = rows
        self.host = {"x": np.empty((256, 8192), np.float32)}
    def renew(self):
        self.host["x"] = np.empty((256, 8192), np.float32)
    def __iter__(self):
        for row in self.rows:
            self.renew()
            self.host["x"][:] = row
            yield {"x": jax.device_put(self.host["x"])}
print([float(one["x"].mean()) for one in list(Loader(range(3)))])
""",
            """\
def batches(rows):
    kept = []
    host = {"x": np.zeros((32, 8), np.float32)}
    for row in rows:
        host["x"] = np.zeros((32, 8), np.float32)
        host["x"][:] = row
        kept.append({"x": jnp.asarray(host["x"]), "y": jnp.array(host["x"])})
    return kept
batches(range(3))
""",
            """\
def stream(rows):
    work = np.empty(40000, np.float32)
    for row in rows:
        work[...] = row
        yield jax.device_put(work.copy())
print([float(one[0]) for one in list(stream(range(3)))])
""",
            """\
def stream(rows):
    work = np.empty(40000, np.float32)
    for row in rows:
        work[...] = row
        yield jax.device_put(work)
for one in stream(range(3)):
    print(float(one[0]))
""",
            """\
def stream(rows):
    for row in rows:
        work = np.empty(40000, np.float32)
        work[...] = row
        yield jax.device_put(work)
print([float(one[0]) for one in list(stream(range(3)))])
""",
            _ROWS + "def ring(rows, places):\n    data = np.zeros((3, 64, 8), np.float32)\n    kept = []\n"
            "    for row in rows:\n        slot = places % 3\n        data[slot] = row\n"
            "        kept += [jax.device_put(data[slot])]\n    return kept\nring(rows, np.arange(2))\n",
            _ROWS + "buffer = np.empty((64, 8), np.float32)\nkept = []\nfor row in rows:\n    buffer[:] = row\n"
            "    kept.append(jnp.array(buffer))\n",
            _ROWS + "buffer = np.empty((64, 8), np.float32)\nkept = []\nfor row in rows:\n    buffer[:] = row\n"
            "    kept.append(jnp.asarray(buffer.copy()))\n",
            _ROWS + "kept = []\nfor row in rows:\n    buffer = np.empty((64, 8), np.float32)\n    buffer[:] = row\n"
            "    kept.append(jnp.asarray(buffer))\n",
            _ROWS + "buffer = np.empty((64, 8), np.float32)\nsums = []\nfor row in rows:\n    buffer[:] = row\n"
            "    sums.append(float(jnp.asarray(buffer).sum()))\n",
            _ROWS + "buffer = np.empty((64, 8))\nkept = []\nfor row in rows:\n    buffer[:] = row\n"
            "    kept.append(jnp.asarray(buffer))\n",
            _ROWS
            + "data = np.zeros((4, 64, 8), np.float32)\nkept = []\nfor i, row in enumerate(rows):\n    data[i] = row\n"
            "    kept.append(jax.device_put(data[i]))\n",
            _ROWS
            + "data = np.zeros(4, np.float32)\nkept = []\nfor i, row in enumerate(rows):\n    data[i % 2] = row[0, 0]\n"
            "    kept.append(jax.device_put(data[i % 2]))\n",
            _ROWS + "buffer = np.zeros((64, 8), np.float32)\nfor i, row in enumerate(rows):\n    buffer[i] = row[0]\n"
            "kept = [jnp.asarray(buffer) for _ in range(2)]\n",
            _ROWS + "buffer = np.empty((64, 8), np.float32)\nwaiting = []\nfor row in rows:\n    buffer[:] = row\n"
            "    waiting.append(jnp.asarray(buffer))\n    waiting.pop()\n",
            _ROWS + _RING + "    def get(self, slot):\n        return jax.device_put(self.data[slot].copy())\n"
            "def collect(ring):\n    return [ring.get(ring.write(row)) for row in rows]\ncollect(Ring(2))\n",
            _ROWS + "class Pool:\n    def __init__(self):\n        self.data = np.zeros((10, 8), np.float32)\n"
            "        self.rng = np.random.default_rng(0)\n"
            "    def add(self, i, row):\n        self.data[i] = row\n"
            "    def sample(self):\n        picked = self.rng.integers(0, 10, size=4)\n"
            "        return jnp.asarray(self.data[picked])\n"
            "pool = Pool()\nkept = []\nfor i, row in enumerate(rows):\n    pool.add(i, row[0])\n"
            "    kept.append(pool.sample())\n",
            _ROWS + "buffer = np.empty((64, 8), np.float32)\nkept = []\nfor row in rows:\n    buffer[:] = row\n"
            "    kept.append(jnp.asarray(buffer, copy=True))\n",
            """\
import collections
def read(i, out):
    out[:] = i
def prefetch(n, depth=3):
    queue = collections.deque()
    buffer = np.empty((32, 8), np.float32)
    for i in range(n):
        read(i, buffer)
        queue.append(jax.device_put(buffer.copy()))
        if len(queue) == depth:
            yield queue.popleft()
    while queue:
        yield queue.popleft()
print([float(one.mean()) for one in prefetch(6)])
""",
            """\
class Slot:
    def collect(self, i):
        obs = np.zeros((32, 8), np.float32)
        obs[:] = i
        return obs
slot = Slot()
replay = []
for i in range(4):
    obs = slot.collect(i)
    replay.append(jax.device_put(obs))
""",
            """\
class Slot:
    def __init__(self):
        self.obs = np.zeros((32, 8), np.float32)
    def collect(self, i):
        self.obs[:] = i
        return self.obs
replay = []
for i in range(4):
    slot = Slot()
    obs = slot.collect(i)
    replay.append(jax.device_put(obs))
""",
            """\
class Slot:
    def __init__(self):
        self.obs = np.zeros((32, 8), np.float32)
    def collect(self, i):
        self.obs[:] = i
        return self.obs.copy()
slot = Slot()
replay = []
for i in range(4):
    obs = slot.collect(i)
    replay.append(jax.device_put(obs))
""",
            """\
def total(out):
    return out.sum()
def kept(n):
    buffer = np.ones((32, 8), np.float32)
    found = []
    for i in range(n):
        total(buffer)
        found.append(jnp.asarray(buffer))
    return found
kept(3)
""",
        ),
    ),
}

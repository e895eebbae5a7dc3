"""What may hold a snapshot between the change of a model and its reader; all run."""

from __future__ import annotations

HEAD = """\
import collections
import functools

import jax
from flax import nnx

model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
"""
CHANGE = "nnx.update(model, jax.tree.map(lambda p: p + 1.0, nnx.state(model)))\n"

#: How a state is kept, and how it is read when the model has changed.
HOLDERS = {
    "deque": (
        """\
h = collections.deque()
h.append(nnx.state(model))
""",
        "h.popleft().bias.value",
    ),
    "deque of a length": (
        """\
h = collections.deque(maxlen=2)
h.appendleft(nnx.state(model))
""",
        "h[0].bias.value",
    ),
    "deque made of it": ("h = collections.deque([nnx.state(model)], maxlen=3)\n", "h[-1].bias.value"),
    "list()": (
        """\
h = list()
h.append(nnx.state(model))
""",
        "h[0].bias.value",
    ),
    "dict()": (
        """\
h = dict()
h['a'] = nnx.state(model)
""",
        "h['a'].bias.value",
    ),
    "dict of keywords": ("h = dict(a=nnx.state(model))\n", "h['a'].bias.value"),
    "defaultdict(list)": (
        """\
h = collections.defaultdict(list)
h['a'].append(nnx.state(model))
""",
        "h['a'][0].bias.value",
    ),
    "defaultdict(dict)": (
        """\
h = collections.defaultdict(dict)
h['a']['b'] = nnx.state(model)
""",
        "h['a']['b'].bias.value",
    ),
    "ordered dict": (
        """\
h = collections.OrderedDict()
h['a'] = nnx.state(model)
""",
        "h['a'].bias.value",
    ),
    "namespace": (
        """\
import types
h = types.SimpleNamespace()
h.best = nnx.state(model)
""",
        "h.best.bias.value",
    ),
    "queue": (
        """\
import queue
h = queue.Queue()
h.put(nnx.state(model))
""",
        "h.get().bias.value",
    ),
    "heap": (
        """\
import heapq
h = []
heapq.heappush(h, (1, nnx.state(model)))
""",
        "heapq.heappop(h)[1].bias.value",
    ),
    "smallest of a heap": (
        """\
import heapq
h = [(1, nnx.state(model))]
""",
        "heapq.nsmallest(1, h)[0][1].bias.value",
    ),
    "list of nothing": (
        """\
h = [None] * 3
h[0] = nnx.state(model)
""",
        "h[0].bias.value",
    ),
    "lists joined": (
        """\
h = []
h = h + [nnx.state(model)]
""",
        "h[0].bias.value",
    ),
    "list added to": (
        """\
h = []
h += [nnx.state(model)]
""",
        "h[0].bias.value",
    ),
    "star in a list": (
        """\
h = []
h = [*h, nnx.state(model)]
""",
        "h[0].bias.value",
    ),
    "stars in a dict": (
        """\
h = {}
h = {**h, 'a': nnx.state(model)}
""",
        "h['a'].bias.value",
    ),
    "dicts joined": (
        """\
h = {}
h = h | {'a': nnx.state(model)}
""",
        "h['a'].bias.value",
    ),
    "dict added to": (
        """\
h = {}
h |= {'a': nnx.state(model)}
""",
        "h['a'].bias.value",
    ),
    "dict updated by keyword": (
        """\
h = {}
h.update(a=nnx.state(model))
""",
        "h['a'].bias.value",
    ),
    "dict updated": (
        """\
h = {}
h.update({'a': nnx.state(model)})
""",
        "h['a'].bias.value",
    ),
    "setdefault": (
        """\
h = {}
h.setdefault('a', []).append(nnx.state(model))
""",
        "h['a'][0].bias.value",
    ),
    "slice": (
        """\
h = []
h[:0] = [nnx.state(model)]
""",
        "h[0].bias.value",
    ),
    "insert": (
        """\
h = []
h.insert(0, nnx.state(model))
""",
        "h[0].bias.value",
    ),
    "min key": ("h = [(1., nnx.state(model))]\n", "min(h, key=lambda t: t[0])[1].bias.value"),
    "sorted": ("h = [(1., nnx.state(model))]\n", "sorted(h, key=lambda t: t[0])[0][1].bias.value"),
    "comprehension": ("h = [nnx.state(model) for _ in range(2)]\n", "h[0].bias.value"),
    "dict comprehension": ("h = {i: nnx.state(model) for i in range(2)}\n", "h[0].bias.value"),
    "generator expression": ("h = list(nnx.state(model) for _ in range(2))\n", "h[0].bias.value"),
    "filter": ("h = [nnx.state(model)]\n", "list(filter(None, h))[0].bias.value"),
    "lambda": (
        """\
snap = lambda: nnx.state(model)
h = snap()
""",
        "h.bias.value",
    ),
    "walrus": ("if (h := nnx.state(model)): pass\n", "h.bias.value"),
    "either way": ("h = nnx.state(model) if model else None\n", "h.bias.value"),
    "attrgetter": (
        """\
import operator
h = nnx.state(model)
""",
        "operator.attrgetter('bias')(h).value",
    ),
    "itemgetter": (
        """\
import operator
h = (1, nnx.state(model))
""",
        "operator.itemgetter(1)(h).bias.value",
    ),
    "copy.copy": (
        """\
import copy
h = copy.copy(nnx.state(model))
""",
        "h.bias.value",
    ),
    "dict copy": ("h = {'a': nnx.state(model)}.copy()\n", "h['a'].bias.value"),
    "dict field": (
        """\
import dataclasses
@dataclasses.dataclass
class A:
    store: dict = dataclasses.field(default_factory=dict)
a = A()
a.store['x'] = nnx.state(model)
""",
        "a.store['x'].bias.value",
    ),
    "list field": (
        """\
import dataclasses
@dataclasses.dataclass
class A:
    store: list = dataclasses.field(default_factory=list)
a = A()
a.store.append(nnx.state(model))
""",
        "a.store[0].bias.value",
    ),
    "dataclass replace": (
        """\
import dataclasses
@dataclasses.dataclass
class A:
    s: object = None
a = A()
a = dataclasses.replace(a, s=nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "collections.namedtuple replaced": (
        """\
T = collections.namedtuple('T', 's')
a = T(None)
a = a._replace(s=nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "named tuple": (
        """\
from typing import NamedTuple
class T(NamedTuple):
    s: object
    n: int = 0
a = T(nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "named tuple replaced": (
        """\
from typing import NamedTuple
class T(NamedTuple):
    s: object
    n: int = 0
a = T(None)._replace(s=nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "named tuple unpacked": (
        """\
from typing import NamedTuple
class T(NamedTuple):
    s: object
    n: int = 0
a, n = T(nnx.state(model))
""",
        "a.bias.value",
    ),
    "named tuple as dict": (
        """\
from typing import NamedTuple
class T(NamedTuple):
    s: object
a = T(nnx.state(model))._asdict()
""",
        "a['s'].bias.value",
    ),
    "struct replaced": (
        """\
from flax import struct
@struct.dataclass
class T:
    s: object
a = T(None).replace(s=nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "own items": (
        """\
class H:
    def __init__(self): self.d = {}
    def __setitem__(self, k, v): self.d[k] = v
    def __getitem__(self, k): return self.d[k]
h = H()
h['a'] = nnx.state(model)
""",
        "h['a'].bias.value",
    ),
    "own iterator": (
        """\
class H:
    def __init__(self): self.d = []
    def add(self, v): self.d.append(v)
    def __iter__(self): return iter(self.d)
h = H()
h.add(nnx.state(model))
""",
        "[s.bias.value for s in h]",
    ),
    "own generator": (
        """\
class H:
    def __init__(self): self.d = []
    def add(self, v): self.d.append(v)
    def __iter__(self):
        for s in self.d: yield s
h = H()
h.add(nnx.state(model))
""",
        "[s.bias.value for s in h]",
    ),
    "dict subclass": (
        """\
class H(dict): pass
h = H()
h['a'] = nnx.state(model)
""",
        "h['a'].bias.value",
    ),
    "list subclass": (
        """\
class H(list): pass
h = H()
h.append(nnx.state(model))
""",
        "h[0].bias.value",
    ),
    "userdict": (
        """\
class H(collections.UserDict): pass
h = H()
h['a'] = nnx.state(model)
""",
        "h['a'].bias.value",
    ),
    "setattr": (
        """\
class A: pass
a = A()
setattr(a, 'best', nnx.state(model))
""",
        "getattr(a, 'best').bias.value",
    ),
    "__dict__": (
        """\
class A: pass
a = A()
a.__dict__['best'] = nnx.state(model)
""",
        "a.best.bias.value",
    ),
    "nonlocal": (
        """\
def outer():
    best = None
    def keep():
        nonlocal best
        best = nnx.state(model)
    def get(): return best
    return keep, get
keep, get = outer()
keep()
""",
        "get().bias.value",
    ),
    "attribute of a function": (
        """\
def f(): pass
f.best = nnx.state(model)
""",
        "f.best.bias.value",
    ),
    "default arg": ("def f(s=nnx.state(model)): return s.bias.value\n", "f()"),
    "partial": ("f = functools.partial(lambda s: s.bias.value, nnx.state(model))\n", "f()"),
    "closure late": (
        """\
s = nnx.state(model)
def f(): return s.bias.value
""",
        "f()",
    ),
    "cached_property": (
        """\
class A:
    @functools.cached_property
    def s(self): return nnx.state(model)
a = A(); a.s
""",
        "a.s.bias.value",
    ),
    "property": (
        """\
class A:
    def __init__(self): self._s = nnx.state(model)
    @property
    def s(self): return self._s
a = A()
""",
        "a.s.bias.value",
    ),
    "setter": (
        """\
class A:
    @property
    def s(self): return self._s
    @s.setter
    def s(self, v): self._s = v
a = A(); a.s = nnx.state(model)
""",
        "a.s.bias.value",
    ),
    "chain": (
        """\
import itertools
h = list(itertools.chain([nnx.state(model)], [1]))
""",
        "h[0].bias.value",
    ),
    "zip": ("h = list(zip([1], [nnx.state(model)]))\n", "h[0][1].bias.value"),
    "dict zip": ("h = dict(zip(['a'], [nnx.state(model)]))\n", "h['a'].bias.value"),
    "dict fromkeys": ("h = dict.fromkeys(['a', 'b'], nnx.state(model))\n", "h['a'].bias.value"),
    "object in an object": (
        """\
class A:
    def __init__(self): self.inner = type('X', (), {})()
a = A(); a.inner.s = nnx.state(model)
""",
        "a.inner.s.bias.value",
    ),
    "match": (
        """\
match nnx.state(model):
    case h: pass
""",
        "h.bias.value",
    ),
    "for else": ("for h in [nnx.state(model)]: pass\n", "h.bias.value"),
    "with as": (
        """\
import contextlib
@contextlib.contextmanager
def c(): yield nnx.state(model)
with c() as h: pass
""",
        "h.bias.value",
    ),
    "nullcontext": (
        """\
import contextlib
with contextlib.nullcontext(nnx.state(model)) as h: pass
""",
        "h.bias.value",
    ),
    "tuple add": ("h = (1,) + (nnx.state(model),)\n", "h[1].bias.value"),
    "vars": (
        """\
class A: pass
a = A()
vars(a)['s'] = nnx.state(model)
""",
        "a.s.bias.value",
    ),
    "chain of maps": ("h = collections.ChainMap({'a': nnx.state(model)})\n", "h['a'].bias.value"),
    "mapping proxy": (
        """\
import types
h = types.MappingProxyType({'a': nnx.state(model)})
""",
        "h['a'].bias.value",
    ),
    "frozen dict": (
        """\
from flax.core import freeze
h = freeze({'a': nnx.state(model)})
""",
        "h['a'].bias.value",
    ),
    "cycle": (
        """\
import itertools
h = itertools.cycle([nnx.state(model)])
""",
        "next(h).bias.value",
    ),
    "parent class": (
        """\
class B0:
    def __init__(self, s): self.s = s
class A(B0):
    pass
a = A(nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "keywords of an object": (
        """\
class B0:
    def __init__(self, **kw): self.__dict__.update(kw)
class A(B0):
    pass
a = A(s=nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "keywords set one by one": (
        """\
class B0:
    def __init__(self, **kw):
        for k, v in kw.items(): setattr(self, k, v)
a = B0(s=nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "__slots__ call": (
        """\
class A:
    def __call__(self, s): self.s = s; return self
a = A()(nnx.state(model))
""",
        "a.s.bias.value",
    ),
    "classmethod": (
        """\
class A:
    @classmethod
    def of(cls, m):
        a = cls(); a.s = nnx.state(model); return a
a = A.of(model)
""",
        "a.s.bias.value",
    ),
    "registry": (
        """\
REG = {}
def register(n):
    def d(f): REG[n] = f; return f
    return d
@register('snap')
def snap(model): return nnx.state(model)
h = REG['snap'](model)
""",
        "h.bias.value",
    ),
    "getattr method": (
        """\
class A:
    def snap(self, m): return nnx.state(model)
h = getattr(A(), 'snap')(model)
""",
        "h.bias.value",
    ),
    "list of functions": (
        """\
def snap(model): return nnx.state(model)
h = [f(model) for f in [snap]][0]
""",
        "h.bias.value",
    ),
    "try": (
        """\
try: h = nnx.state(model)
finally: pass
""",
        "h.bias.value",
    ),
}

#: Where the function that keeps a state is not called by its name.
DECORATED = {
    "decorated method": """\
def pure(method):
    def inner(self, *a, **k):
        state = nnx.state(self)
        out = method(self, *a, **k)
        nnx.update(self, state)
        return out
    return inner
class Acc(nnx.Module):
    def __init__(self):
        self.total = nnx.Variable(jax.numpy.zeros(()))
    @pure
    def peek(self, x):
        self.total.value = self.total.value + x
        return self.total.value
a = Acc()
print(a.peek(3.), a.peek(3.), a.total.value)
""",
    "decorated method that calls another": """\
def pure(method):
    def inner(self, *a, **k):
        state = nnx.state(self)
        out = method(self, *a, **k)
        nnx.update(self, state)
        return out
    return inner
class Acc(nnx.Module):
    def __init__(self):
        self.total = nnx.Variable(jax.numpy.zeros(()))
    def add(self, x):
        self.total.value = self.total.value + x
        return self.total.value
    @pure
    def peek(self, x):
        return self.add(x)
a = Acc()
print(a.peek(3.), a.peek(3.), a.total.value)
""",
    "decorated method of a trainer": """\
def keeps(method):
    def inner(self, *a, **k):
        state = nnx.state(self.model)
        out = method(self, *a, **k)
        nnx.update(self.model, state)
        return out
    return inner
class Trainer:
    def __init__(self, model): self.model = model
    @keeps
    def probe(self, x):
        self.model.bias.value = self.model.bias.value + x
        return self.model.bias.value
t = Trainer(nnx.Linear(2, 1, rngs=nnx.Rngs(0)))
print(t.probe(1.), t.model.bias.value)
""",
    "decorator with arguments": """\
def keeps(*filters):
    def deco(method):
        def inner(m, *a, **k):
            state = nnx.state(m, *filters)
            out = method(m, *a, **k)
            nnx.update(m, state)
            return out
        return inner
    return deco
@keeps(nnx.Param)
def probe(m, x):
    m.bias.value = m.bias.value + x
    return m.bias.value
m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
print(probe(m, 1.), m.bias.value)
""",
    "function handed over": """\
def keeping(fn, m, x):
    state = nnx.state(m)
    out = fn(m, x)
    nnx.update(m, state)
    return out
def probe(m, x):
    m.bias.value = m.bias.value + x
    return m.bias.value
m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
print(keeping(probe, m, 1.), keeping(lambda m, x: probe(m, x), m, 1.), m.bias.value)
""",
    "registry filled by a decorator": """\
HOOKS = []
def hook(f):
    HOOKS.append(f)
    return f
@hook
def snap(log, m):
    log.append(nnx.state(m))
m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
log = []
for h in HOOKS: h(log, m)
m.bias.value = m.bias.value + 1
print(log[0].bias.value)
""",
    "callbacks": """\
class Cb:
    def __init__(self): self.log = []
    def on_step(self, m): self.log.append(nnx.state(m))
class Trainer:
    def __init__(self, m, cbs): self.m, self.cbs = m, cbs
    def run(self):
        for _ in range(2):
            self.m.bias.value = self.m.bias.value + 1
            for cb in self.cbs: cb.on_step(self.m)
cb = Cb()
Trainer(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), [cb]).run()
for s in cb.log: print(s.bias.value)
""",
    "table of functions": """\
def ema_init(m): return nnx.state(m)
ALGOS = {"ema": ema_init}
m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
s = ALGOS["ema"](m)
m.bias.value = m.bias.value + 1
print(s.bias.value)
""",
    "function in a function": """\
def main():
    m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
    best = {}
    def cb(i):
        best[i] = nnx.state(m)
    for i in range(2):
        cb(i)
        m.bias.value = m.bias.value + 1
    print(best[0].bias.value)
main()
""",
    "partial application": """\
def keep(store, m): store.append(nnx.state(m))
store = []
cb = functools.partial(keep, store)
m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
cb(m)
m.bias.value = m.bias.value + 1
print(store[0].bias.value)
""",
    "mutable default": """\
def keep(m, store=[]):
    store.append(nnx.state(m))
    return store
m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
keep(m)
m.bias.value = m.bias.value + 1
print(keep(m)[0].bias.value)
""",
}

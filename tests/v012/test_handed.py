"""NNX601 where callers hand what a container gets through ``*mods``, ``**mods``, an index or calls of unknown objects,
and where elements are copies, or built by something that is only given its streams; all run."""

from __future__ import annotations

import pytest

from tests.agreement import assert_breaks, assert_same, runs
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, migrate_text, options

ONLY = options("0.12", select=("NNX601",))
HEAD = """\
import collections
import copy

import jax
import jax.numpy as jnp
from flax import nnx


def lin(seed=0):
    return nnx.Linear(2, 2, rngs=nnx.Rngs(seed))


class Base(nnx.Module):
    def __init__(self):
        self.kids = []
        self.table = {}


def count(module):
    return len(jax.tree.leaves(nnx.state(module)))


def built(cls, how):
    made = cls()
    how(made)
    return made


def any_of(*classes):
    return classes[-1]


"""
SHOW = "print(count(net))\n"


def _filled(method: str, call: str, base: str = "Base") -> str:
    lines = "".join(f"    {line}\n" for line in method.split("; "))
    return f"class Net({base}):\n{lines}\n\nnet = Net()\n{call}\n"


def _made(lines: str, given: str, parameter: str) -> str:
    body = "".join(f"        {line}\n" for line in lines.split("; "))
    cls = f"class Net(nnx.Module):\n    def __init__(self, {parameter}):\n{body}\n\n"
    return cls + f"net = {{'it': Net}}.get('it')({given})\n"


EACH = "def add(self, *mods):;     for mod in mods:;         self.kids.append(mod)"
FIXED = {
    "one of several": _filled(EACH, "net.add(lin(), lin(1))"),
    "one of several by self": _filled(EACH + "; def fill(self):;     self.add(lin())", "net.fill()"),
    "all of several": _filled("def add(self, *mods):;     self.kids += mods", "net.add(lin(), lin(1))"),
    "extended": _filled("def add(self, *mods):;     self.kids.extend(mods)", "net.add(lin())"),
    "counted": _filled("def add(self, *m):;     for i, one in enumerate(m):;         self.table[str(i)] = one",
                       "net.add(lin())"),
    "first of several": _filled("def add(self, *mods):;     self.kids.append(mods[0])", "net.add(lin())"),
    "by names": _filled("def add(self, **m):;     for k, v in m.items():;         self.table[k] = v",
                        "net.add(a=lin())"),
    "values of names": _filled("def add(self, **m):;     for v in m.values():;         self.kids.append(v)",
                               "net.add(a=lin())"),
    "updated": _filled("def add(self, **mods):;     self.table.update(mods)", "net.add(a=lin(), b=lin(1))"),
    "merged": _filled("def add(self, **mods):;     self.table |= mods", "net.add(a=lin())"),
    "unpacked": _filled("def add(self, *mods):;     self.kids += [*mods]", "net.add(*[lin(), lin(1)])"),
    "by index": _filled("def __setitem__(self, key, mod):;     self.table[key] = mod", "net['x'] = lin()"),
    "unknown object": _filled(EACH, "net = built(Net, lambda it: it.add(lin(), lin(1)))"),
    "unknown object, one": _filled("def add(self, mod, at=0):;     self.kids.insert(at, mod)",
                                   "net = built(Net, lambda it: it.add(lin()))"),
    "unknown object, list": _filled("def add(self, mods):;     self.kids.extend(mods)",
                                    "net = built(Net, lambda it: it.add([lin()]))"),
    "clones": _made("self.kids = [nnx.clone(mod) for mod in mods]", "[lin()]", "mods"),
    "clones appended": _made("self.kids = []; for m in mods:;     self.kids.append(nnx.clone(m))", "[lin()]", "mods"),
    "merged from parts": _made("graph, st = nnx.split(mod); self.kids = [nnx.merge(graph, st)]", "lin()", "mod"),
    "sum with a clone": _made("self.kids = [mod] + [nnx.clone(mod)]", "lin()", "mod"),
    "the same class": _made("self.mod = lin(); self.kids = [type(self.mod)(2, n, rngs=nnx.Rngs(0))]", "3", "n"),
    "its class": _made("self.mod = lin(); self.kids = [self.mod.__class__(2, n, rngs=nnx.Rngs(0))]", "3", "n"),
    "unknown class": _made("self.kids = [cls(2, 2, rngs=nnx.Rngs(0))]", "nnx.Linear", "cls"),
    "class by name": _made("self.kids = {'a': getattr(nnx, name)(2, 2, rngs=nnx.Rngs(0))}", "'Linear'", "name"),
    "means of its result": _filled("def __call__(self, x):;     for k in self.kids:;         x = k(x);     return x; "
                                   "def log(self, x):;     y = self(x);     self.table['y'] = y.mean()",
                                   "net.log(jnp.ones(2))"),
}  # fmt: skip
LEFT = {
    "names": _filled("def add(self, *names):;     for name in names:;         self.kids.append(name)",
                     "net.add('a', 2)"),
    "all names": _filled("def add(self, *names):;     self.kids += names", "net.add('a', 'b')"),
    "options": _filled("def add(self, **o):;     self.table.update(o);     for k, v in o.items():;         "
                       "self.table[k] = v", "net.add(a=1.5, b='x')"),
    "keys of names": _filled("def add(self, **mods):;     for name in mods:;         self.kids.append(name);     "
                             "self.kids += [k for k, _ in mods.items()]", "net.add(a=lin())"),
    "texts by index": _filled("def __setitem__(self, key, mod):;     self.table[key] = 'x'; def get(self, mod):;     "
                              "return mod", "net['x'] = lin()"),
    "keys by index": _filled("def __setitem__(self, key, mod):;     self.kids.append(key)", "net['x'] = lin()"),
    "another object": "class Store:\n    def add(self, mod):\n        self.mod = mod\n\n\n"
    + _filled("def add(self, name):;     self.kids.append(name)",
              "Store().add(lin()); built(Net, lambda n: n.add('a'))"),
    "several unknown objects": _filled("def add(self, name):;     self.kids.append(name)",
                                       "built(Net, lambda n: n.add('a')); built(set, lambda n: n.add(lin()))"),
    "names of modules": _made("self.a = list(mods); self.b = sorted(mods); self.c = tuple(mods); "
                              "self.d = [k for k in mods]", "{'x': lin()}", "mods"),
    "lengths": _made("self.a = []; for name in names:;     self.a.append(len(name))", "['a', 'b']", "names"),
    "types": _made("self.a = [type(mod) for mod in mods]; self.b = [type(1)('2')]", "[lin()]", "mods"),
}  # fmt: skip


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    folder = tmp_path_factory.mktemp("handed")
    programs = {name: HEAD + text + SHOW for name, text in FIXED.items()}
    programs |= {f"left: {name}": HEAD + text + SHOW for name, text in LEFT.items()}
    done = runs(programs, folder / "migrated", ("0.12",))
    done["0.12 as it was"] = execute_all("0.12", programs, folder / "was")
    return done


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    once = migrate_text(HEAD + FIXED[name] + SHOW, ONLY)
    assert codes(once, ONLY) == []
    assert migrate_text(once, ONLY) == once
    assert_breaks(outputs, name, "0.12 as it was")
    assert_same({version: done for version, done in outputs.items() if version != "0.12 as it was"}, name)


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert codes(HEAD + LEFT[name], ONLY) == []
    assert_same(outputs, f"left: {name}")

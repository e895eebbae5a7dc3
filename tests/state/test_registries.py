"""Snapshots that a constructor takes, of classes that are made without their names."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import migrate_text

PROGRAM = """\
from flax import nnx

KINDS = {{}}


def kept(cls):
    KINDS[cls.__name__] = cls
    return cls


def named(name):
    def keep(cls):
        KINDS[name] = cls
        return cls

    return keep


class Learner:
{base}
    def __init__(self, net):
        self.net = net

    def step(self):
        self.net.bias.value = self.net.bias.value + 1


{decorator}class Teacher(Learner):
    def __init__(self, net):
        super().__init__(net)
        self.teacher = nnx.merge(*nnx.split(net))
        self.before = nnx.state(net)


{others}
net = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
learner = {made}
learner.step()
print(learner.teacher.bias.value, learner.before["bias"].value, net.bias.value)
"""
_ITSELF = "    kinds = {}\n\n    def __init_subclass__(cls, **options):\n        "
OF_CLASS = _ITSELF + "Learner.kinds[cls.__name__] = cls\n"
MADE = {
    "a subclass that is noted": (OF_CLASS, "", "", "Learner.kinds['Teacher'](net)"),
    "through the class itself": (_ITSELF + "cls.kinds[cls.__name__] = cls\n", "", "", "Learner.kinds['Teacher'](net)"),
    "in a global": (_ITSELF + "KINDS[cls.__name__] = cls\n", "", "", "KINDS['Teacher'](net)"),
    "in a global that a function reads": (
        _ITSELF + "KINDS[cls.__name__] = cls\n", "",
        "def make(name):\n    return KINDS[name](net)\n", "make('Teacher')",
    ),
    "in a global, with options": (
        _ITSELF.replace("**options", "name='t', **options") + "super().__init_subclass__(**options)\n        "
        "if name:\n            KINDS[name] = cls\n",
        "", "def make():\n    made = [KINDS[name](net) for name in sorted(KINDS)]\n    return made[0]\n", "make()",
    ),
    "in a list": (OF_CLASS.replace("{}", "[]").replace("[cls.__name__] = cls", ".append(cls)"), "", "",
                  "Learner.kinds[-1](net)"),
    "by a default": (OF_CLASS.replace("[cls.__name__] = cls", ".setdefault(cls.__name__, cls)"), "", "",
                     "Learner.kinds.get('Teacher')(net)"),
    "one of all": (OF_CLASS, "", "", "[kind(net) for kind in Learner.kinds.values()][0]"),
    "by a method": (
        OF_CLASS + "\n    @classmethod\n    def make(cls, name, *given):\n        return cls.kinds[name](*given)\n",
        "", "", "Learner.make('Teacher', net)",
    ),
    "in a variable": (
        OF_CLASS, "", "def make(name):\n    kind = Learner.kinds[name]\n    return kind(net)\n", "make('Teacher')",
    ),
    "among many": (
        OF_CLASS, "", "".join(f"class Kind{i}(Learner):\n    pass\n\n\n" for i in range(6)),
        "Learner.kinds['Teacher'](net)",
    ),
    "decorated": ("", "@kept\n", "", "KINDS['Teacher'](net)"),
    "decorated with a name": ("", "@named('teacher')\n", "", "KINDS['teacher'](net)"),
    "decorated by a method": (
        "    kinds = {}\n\n    @staticmethod\n    def kept(cls):\n        Learner.kinds[cls.__name__] = cls\n"
        "        return cls\n",
        "@Learner.kept\n", "", "Learner.kinds['Teacher'](net)",
    ),
    "written out": ("", "", "TABLE = {'teacher': Teacher, 'learner': Learner}\n", "TABLE['teacher'](net)"),
    "given back": (
        "", "", "def kind(name):\n    return {'teacher': Teacher, 'learner': Learner}[name]\n", "kind('teacher')(net)",
    ),
    "stored from outside": ("    kinds = {}\n", "", "Learner.kinds['t'] = Teacher\n", "Learner.kinds['t'](net)"),
    "the subclasses": ("", "", "", "Learner.__subclasses__()[0](net)"),
    "the subclasses by name": ("", "", "", "{one.__name__: one for one in Learner.__subclasses__()}['Teacher'](net)"),
}  # fmt: skip


def program(name: str) -> str:
    base, decorator, others, made = MADE[name]
    return PROGRAM.format(base=base, decorator=decorator, others=others, made=made)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    return runs({name: program(name) for name in MADE}, tmp_path_factory.mktemp("registries"))


@pytest.mark.parametrize("name", MADE)
def test_a_snapshot_is_a_copy(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert "self.before = nnx.clone(nnx.state(net))" in migrate_text(program(name))
    assert_same(outputs, name)


@pytest.mark.parametrize("name", ["a subclass that is noted", "decorated", "written out"])
def test_nothing_where_nothing_changes(name: str) -> None:
    text = program(name).replace("learner.step()\n", "")
    assert migrate_text(text) == text

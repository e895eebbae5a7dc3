"""Which class a value is an instance of, where the question comes back to itself."""

from __future__ import annotations

import pytest

from codemods.nnx.context import Context
from codemods.nnx.options import Options
from codemods.nnx.project import Project
from codemods.nnx.walk import walk
from tests.migration import look, sources

COPIES_OF_THEMSELVES = {
    "global": "def step():\n    global config\n    config = config.replace(a=1)\n    return config.b\n",
    "property": "class A:\n    @property\n    def c(self):\n        return self.c.replace(a=1)\n"
    "    def f(self):\n        return self.c.b\n",
    "field": "class A:\n    def __init__(self):\n        self.c = self.c.replace(a=1)\n"
    "    def f(self):\n        return self.c.b\n",
    "two fields": "class A:\n    def f(self):\n        self.c = self.d.replace(a=1)\n"
    "    def g(self):\n        self.d = self.c.replace(b=1)\n    def h(self):\n        return self.d.x.y\n",
}


@pytest.mark.parametrize("text", COPIES_OF_THEMSELVES.values(), ids=list(COPIES_OF_THEMSELVES))
def test_a_copy_of_itself_has_no_known_class(text: str) -> None:
    project = Project([source.once(walk) for source in sources({"m.py": text})])
    flow = Context(project, Options()).flow
    for event in project.attributes():
        if event.node.attr in {"b", "y"}:
            assert flow.classes.class_of(flow.resolve(flow.here(event.base, event.scope))) is None


COPIES_OF_ARGUMENTS = {
    "module": "import jax\nfrom flax import nnx\n@nnx.jit\ndef step(student, teacher, x):\n    def loss(model):\n"
    "        return model(x) - teacher(x)\n    nnx.grad(loss)(student)\n    step(student, teacher, x)\n",
    "graph definition": "from flax import nnx\n@nnx.jit\ndef step(definition, state, x):\n"
    "    nnx.merge(definition, state)(x)\n    step(definition, state, x)\n",
}


@pytest.mark.parametrize("text", COPIES_OF_ARGUMENTS.values(), ids=list(COPIES_OF_ARGUMENTS))
def test_a_recursion_that_hands_on_copies_comes_to_an_end(text: str) -> None:
    project = Project([source.once(walk) for source in sources({"m.py": text})])
    context = Context(project, Options())
    assert {function.name for function in context.traced.known} >= {"step"}


def test_a_copy_is_of_the_class_of_its_original() -> None:
    text = "class C:\n    a: int = 0\nc = C()\nd = c.replace(a=1).replace(a=2)\nd.b\n"
    project = Project([source.once(walk) for source in sources({"m.py": text})])
    flow = Context(project, Options()).flow
    base = next(e for e in project.attributes() if e.node.attr == "b")
    found = flow.classes.class_of(flow.resolve(flow.here(base.base, base.scope)))
    assert found is not None
    assert found.name == "C"


STEP_OF_A_STATE = """\
import jax
import optax
from flax.training import train_state


class TrainState(train_state.TrainState):
    metrics: int


@jax.jit
def train_step(state, grads):
    return state.apply_gradients(grads=grads)


state = TrainState.create(apply_fn=None, params={}, tx=optax.sgd(0.1), metrics=0)
for i in range(3):
    state = train_step(state, {})
    print(state.params["a"].keys())
"""


def test_a_field_of_what_a_compiled_step_gives_is_asked_for() -> None:
    project = Project([source.once(walk) for source in sources({"m.py": STEP_OF_A_STATE})])
    flow = Context(project, Options()).flow
    for event in project.attributes():
        flow.resolve(flow.here(event.base, event.scope))
    read = next(e for e in project.attributes() if e.node.attr == "params")
    state = flow.resolve(flow.here(read.base, read.scope))
    assert flow.fields.field(state, "params") is not None
    assert not look(STEP_OF_A_STATE).failures


CHANGED_BY_THEMSELVES = {
    "item": "class A:\n    def f(self):\n        v = self.v[0]\n        self.v[...] = v\n        v.shape\n",
    "two fields": "class A:\n    def f(self):\n        self.v[0] = self.w[1]\n        self.w[0] = self.v[1]\n"
    "        self.v[1].shape\n",
    "loop": "class A:\n    def f(self, xs):\n        for x in xs:\n            self.v['a'] = self.v['b'] + self.v['c']"
    "\n"
    "        self.v['c'].shape\n",
}


@pytest.mark.parametrize("text", CHANGED_BY_THEMSELVES.values(), ids=list(CHANGED_BY_THEMSELVES))
def test_a_field_that_is_only_changed_comes_to_an_end(text: str) -> None:
    project = Project([source.once(walk) for source in sources({"m.py": text})])
    flow = Context(project, Options()).flow
    (event,) = [event for event in project.attributes() if event.node.attr == "shape"]
    assert flow.classes.class_of(flow.resolve(flow.here(event.base, event.scope))) is None


TWICE = "class C:\n    a = 0\ndef early():\n    return C().x\nclass C:\n    b = 0\ndef late():\n    return C().y\n"


@pytest.mark.parametrize(("attribute", "line"), [("x", None), ("y", 5)])
def test_a_function_behind_the_second_class_of_a_name_sees_no_other(attribute: str, line: int | None) -> None:
    """A function before it may be called while the first one is there."""
    project = Project([source.once(walk) for source in sources({"m.py": TWICE})])
    flow = Context(project, Options()).flow
    base = next(e for e in project.attributes() if e.node.attr == attribute)
    found = flow.classes.class_of(flow.resolve(flow.here(base.base, base.scope)))
    assert (found.node.lineno if found is not None else None) == line

"""What counts as proof that an expression is an optimizer's model, and what does not.

Each case says which form the optimizer of a program takes: ``explicit`` (``update(model, grads)``), ``compatible``
(``nnx.ModelAndOptimizer``) or ``left``. The behaviour of both forms is run in the program tests.
"""

from __future__ import annotations

import textwrap

import pytest

from tests.migration import COMPATIBLE, THREAD, codes, migrated, options

HEAD = """\
import copy
import dataclasses
import jax
import optax
from flax import nnx

def loss_fn(model, x):
    return (model(x) ** 2).mean()

def net(seed=0):
    return nnx.Linear(2, 1, rngs=nnx.Rngs(seed))

"""


def _form(body: str) -> str:
    text = HEAD + textwrap.dedent(body)
    new = migrated(text)[0]["main.py"]
    if "ModelAndOptimizer" in new:
        assert ".update(grads" in new or ".update(" not in text
        return "compatible"
    return "explicit" if new != text else "left"


EXPLICIT = {
    "names deleted behind each round": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        for _ in range(2):
            grads = nnx.grad(loss_fn)(m, x)
            o.update(grads)
            del grads
        del o, m
        """,
    "same scope": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        grads = nnx.grad(loss_fn)(m, x)
        o.update(grads)
        """,
    "a call without arguments, which fails everywhere": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        try:
            o.update()
        except TypeError:
            o.update(nnx.grad(loss_fn)(m, x))
        """,
    "another name of the model": """
        m = net()
        alias = m
        o = nnx.Optimizer(m, optax.sgd(0.1))
        grads = nnx.grad(loss_fn)(alias, x)
        o.update(grads)
        """,
    "gradient at a copy: the constructor's object is stepped": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        grads = nnx.grad(loss_fn)(nnx.clone(m), x)
        o.update(grads)
        """,
    "both rebound together": """
        m = net(0)
        o = nnx.Optimizer(m, optax.sgd(0.1))
        grads = nnx.grad(loss_fn)(m, x)
        o.update(grads)
        m = net(1)
        o = nnx.Optimizer(m, optax.sgd(0.1))
        grads = nnx.grad(loss_fn)(m, x)
        o.update(grads)
        """,
    "made anew in each round": """
        for seed in range(3):
            m = net(seed)
            o = nnx.Optimizer(m, optax.sgd(0.1))
            grads = nnx.grad(loss_fn)(m, x)
            o.update(grads)
        """,
    "model chosen before": """
        if flag:
            m = net(0)
        else:
            m = net(1)
        o = nnx.Optimizer(m, optax.sgd(0.1))
        grads = nnx.grad(loss_fn)(m, x)
        o.update(grads)
        """,
    "returned by a jitted constructor": """
        @nnx.jit
        def create():
            m = net()
            return m, nnx.Optimizer(m, optax.sgd(0.1))

        m, o = create()
        grads = nnx.grad(loss_fn)(m, x)
        o.update(grads)
        """,
    "closure over both": """
        def run():
            m = net()
            o = nnx.Optimizer(m, optax.sgd(0.1))
            def step(x):
                grads = nnx.grad(loss_fn)(m, x)
                o.update(grads)
            step(x)
        run()
        """,
    "factory of a step": """
        def make(loss):
            @nnx.jit
            def step(m, o, x):
                grads = nnx.grad(loss)(m, x)
                o.update(grads)
            return step

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        step = make(loss_fn)
        step(m, o, x)
        """,
    "rebound by a step that returns them": """
        @nnx.jit
        def step(m, o, x):
            grads = nnx.grad(loss_fn)(m, x)
            o.update(grads)
            return m, o

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        for _ in range(3):
            m, o = step(m, o, x)
        grads = nnx.grad(loss_fn)(m, x)
        o.update(grads)
        """,
    "returned to nobody known, who has the model": """
        def create(m):
            return nnx.Optimizer(m, optax.sgd(0.1))
        """,
    "returned to nobody known with its model": """
        def create():
            m = net()
            return {"model": m, "optimizer": nnx.Optimizer(m, optax.sgd(0.1))}
        """,
    "a step that nothing calls": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))

        @nnx.jit
        def step(model, optimizer, x):
            loss, grads = nnx.value_and_grad(loss_fn)(model, x)
            optimizer.update(grads)
            return loss
        """,
    "gradients from a helper, in a step that nothing calls": """
        def gradients(m, x):
            return nnx.grad(loss_fn)(m, x)

        def step(state, x):
            grads = gradients(state.net, x)
            state.opt.update(grads)

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        """,
    "one of the calls is in a function that nothing calls": """
        @nnx.jit
        def step(m, o, x):
            grads = nnx.grad(loss_fn)(m, x)
            o.update(grads)

        def never(net, opt):
            step(net, opt, x)

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        step(m, o, x)
        """,
    "held by a struct that a function returns": """
        from flax import struct

        @struct.dataclass
        class State:
            agent: nnx.Module
            opt: nnx.Optimizer

        def load():
            agent = net()
            return State(agent=agent, opt=nnx.Optimizer(agent, optax.sgd(0.1)))

        def step(ts: State, x):
            grads = nnx.grad(loss_fn)(ts.agent, x)
            ts.opt.update(grads)
        """,
    "held by a struct that is returned with more": """
        @dataclasses.dataclass
        class State:
            agent: nnx.Module
            opt: nnx.Optimizer

        def load():
            agent = net()
            return State(agent, nnx.Optimizer(agent, optax.sgd(0.1))), 1
        """,
    "a stand-in in a test": """
        from unittest.mock import MagicMock

        class Trainer:
            def __init__(self):
                self.m = net()
                self.o = nnx.Optimizer(self.m, optax.sgd(0.1))

            def step(self, x):
                grads = nnx.grad(loss_fn)(self.m, x)
                self.o.update(grads)

        class Tests:
            def test(self):
                t = Trainer()
                self.assertIsInstance(t.o, nnx.Optimizer)
                assert isinstance(t.o, nnx.Optimizer) and t.o is not None
                t.o = MagicMock()
                t.step(x)
        """,
}
COMPATIBLE_ONLY = {
    "model's name deleted before": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        del m
        grads = nnx.grad(loss_fn)(o.model, x)
        o.update(grads)
        """,
    "model's name deleted on one way": """
        def train(small):
            m = net()
            o = nnx.Optimizer(m, optax.sgd(0.1))
            if small:
                del m
            grads = nnx.grad(loss_fn)(o.model, x)
            o.update(grads)

        train(False)
        """,
    "model rebound after: it would need a second name": """
        m = net(0)
        o = nnx.Optimizer(m, optax.sgd(0.1))
        m = net(1)
        grads = nnx.grad(loss_fn)(m, x)
        o.update(grads)
        """,
    "one of two callers gives another model: the other would pass it twice": """
        def step(m, o, x):
            grads = nnx.grad(loss_fn)(m, x)
            o.update(grads)

        a, b = net(0), net(1)
        o = nnx.Optimizer(a, optax.sgd(0.1))
        step(a, o, x)
        step(b, o, x)
        """,
    "a model of one's own beside": """
        def step(o, x):
            model = net(3)
            grads = nnx.grad(loss_fn)(o.model, x)
            model_state = model(x)
            o.update(grads)

        def optimizer_step(optimizer, model, x):
            optimizer_model = model
            optimizer.update(nnx.grad(loss_fn)(optimizer.model, x))

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        optimizer_step(o, net(2), x)
        """,
    "handed through many calls": """
        def step(o, x):
            grads = nnx.grad(loss_fn)(o.model, x)
            o.update(grads)

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        step(o, 1)
        step(o, 2)
        step(o, 3)
        step(o, 4)
        step(o, 5)
        step(o, 6)
        step(o, 7)
        """,
    "axes for each argument": """
        @nnx.vmap(in_axes=(nnx.StateAxes({...: 0}), 0))
        def step(o, x):
            grads = nnx.grad(loss_fn)(o.model, x)
            o.update(grads)

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        step(o, x)
        """,
    "model of the round before": """
        o = None
        for seed in range(3):
            m = net(seed)
            if o is None:
                o = nnx.Optimizer(m, optax.sgd(0.1))
            grads = nnx.grad(loss_fn)(m, x)
            o.update(grads)
        """,
    "field replaced elsewhere": """
        class Trainer:
            def __init__(self):
                self.m = net()
                self.o = nnx.Optimizer(self.m, optax.sgd(0.1))

            def swap(self):
                self.m = net(1)

            def step(self, x):
                grads = nnx.grad(loss_fn)(self.m, x)
                self.o.update(grads)
        Trainer().step(x)
        """,
    "field replaced from outside": """
        class Trainer:
            def __init__(self):
                self.m = net()
                self.o = nnx.Optimizer(self.m, optax.sgd(0.1))

            def step(self, x):
                grads = nnx.grad(loss_fn)(self.m, x)
                self.o.update(grads)
        t = Trainer()
        t.m = net(1)
        t.step(x)
        """,
    "a global is not what a jitted function got": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))

        @nnx.jit
        def step(o, x):
            grads = nnx.grad(loss_fn)(o.model, x)
            o.update(grads)

        for run in [step]:
            run(o, x)
        """,
    "merged apart": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        md, ms = nnx.split(m)
        od, os = nnx.split(o)

        @jax.jit
        def step(ms, os, x):
            m, o = nnx.merge(md, ms), nnx.merge(od, os)
            grads = nnx.grad(loss_fn)(m, x)
            o.update(grads)
        step(ms, os, x)
        """,
    "copied with its model": """
        m = net()
        o = copy.deepcopy(nnx.Optimizer(m, optax.sgd(0.1)))
        grads = nnx.grad(loss_fn)(m, x)
        o.update(grads)
        """,
    "its state, which holds the model, is read": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        print(nnx.to_pure_dict(nnx.state(o)))
        """,
    "a step that nothing calls takes gradients at a copy": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))

        def step(model, optimizer, x):
            grads = nnx.grad(loss_fn)(nnx.clone(model), x)
            optimizer.update(grads)
        """,
    "a step that nothing calls takes gradients at a named copy": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))

        def step(model, optimizer, x):
            near = nnx.clone(model)
            grads = nnx.grad(loss_fn)(near, x)
            optimizer.update(grads)
        """,
    "a call without the model in a function that nothing calls": """
        @nnx.jit
        def step(o, x):
            grads = nnx.grad(loss_fn)(o.model, x)
            o.update(grads)

        def never(opt):
            step(opt, x)

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        step(o, x)
        """,
    "gradients come from somewhere": """
        import somewhere

        def step(model, optimizer, x):
            grads = somewhere.gradients(model, x)
            optimizer.update(grads)

        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        """,
    "passed out of the project": """
        import somewhere
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        somewhere.fit(o)
        """,
    "returned to nobody known without its model": """
        def create():
            return nnx.Optimizer(net(), optax.sgd(0.1))
        """,
    "model replaced in the optimizer": """
        m = net()
        o = nnx.Optimizer(m, optax.sgd(0.1))
        o.model = net(1)
        """,
}


@pytest.mark.parametrize("body", EXPLICIT.values(), ids=EXPLICIT)
def test_proven(body: str) -> None:
    assert _form(body) == "explicit"


@pytest.mark.parametrize("body", COMPATIBLE_ONLY.values(), ids=COMPATIBLE_ONLY)
def test_not_proven(body: str) -> None:
    assert _form(body) == "compatible"


@pytest.mark.parametrize("folder", [{}, {"lab/__init__.py": ""}], ids=["folder", "package"])
@pytest.mark.parametrize("imported", ["from lab import make", "import lab.make as make", "from lab.make import build"])
def test_made_in_another_module(folder: dict[str, str], imported: str) -> None:
    make = "import optax\nfrom flax import nnx\n\ndef build(m):\n    return nnx.Optimizer(m, optax.sgd(0.1))\n"
    call = "build(m)" if "build" in imported else "make.build(m)"
    main = f"{HEAD}{imported}\nm = net()\no = {call}\ngrads = nnx.grad(loss_fn)(m, x)\no.update(grads)\n"
    new, left = migrated({"main.py": main, "lab/make.py": make, **folder})
    assert "o.update(m, grads)" in new["main.py"]
    assert "wrt=nnx.Param" in new["lab/make.py"]
    assert not left


@pytest.mark.parametrize(
    "example",
    [
        "train_step(optimizer, batch)\n",
        "from mylab import train_step\n\ntrain_step(optimizer, batch)\n",
        "import mylab.steps\n\nmylab.steps.train_step(optimizer, batch)\n",
    ],
    ids=["undefined", "imported", "dotted"],
)
def test_calls_in_examples_count(example: str) -> None:
    """A function does not get a parameter where a call of it, of which only the name is known, would break."""
    step = "def train_step(o, x):\n    grads = nnx.grad(loss_fn)(o.model, x)\n    o.update(grads)\n\n"
    main = f"{HEAD}{step}m = net()\no = nnx.Optimizer(m, optax.sgd(0.1))\ntrain_step(o, x)\n"
    assert "train_step(m, o, x)" in migrated(main)[0]["main.py"]
    new, _ = migrated({"main.py": main, "example.py": example})
    assert "nnx.ModelAndOptimizer(" in new["main.py"]
    assert "train_step(o, x)" in new["main.py"]
    assert new["example.py"] == example


STEP = """\
def step(m, ts, x):
    o = nnx.merge(*ts)
    grads = nnx.grad(loss_fn)(m, x)
    o.update(grads)
"""


def test_update_of_a_merged_object_out_of_sight() -> None:
    new, left = migrated(HEAD + STEP)
    assert new["main.py"] == HEAD + STEP
    assert [found.code for found in left] == ["NNX107"]
    assert "o.update(m, grads)" in migrated(HEAD + STEP, unsafe=True)[0]["main.py"]


def test_update_that_may_be_of_a_compatible_optimizer_is_never_rewritten() -> None:
    made = f"{HEAD}from steps import step\n\nm = net()\no = nnx.Optimizer(m, optax.sgd(0.1))\n"
    new, left = migrated({"main.py": made, "steps.py": HEAD + STEP}, unsafe=True)
    assert "nnx.ModelAndOptimizer(m," in new["main.py"]
    assert new["steps.py"] == HEAD + STEP
    assert not left  # right as it is
    assert migrated(new, unsafe=True) == (new, [])


def test_update_beside_a_compatible_optimizer_is_left_alone() -> None:
    text = f"{HEAD}{STEP}\ngraph, state = nnx.split(nnx.Optimizer(net(), optax.sgd(0.1)))\n"
    new, left = migrated(text)
    assert "nnx.ModelAndOptimizer(net()," in new["main.py"]
    assert not left
    assert migrated(new, unsafe=True) == (new, [])


def test_gradient_at_a_copy_names_the_constructors_object() -> None:
    body = textwrap.dedent(EXPLICIT["gradient at a copy: the constructor's object is stepped"])
    assert "o.update(m, grads)" in migrated(HEAD + body)[0]["main.py"]


@pytest.mark.parametrize(
    "body",
    [
        "d = {}\nd.update(grads)\n",
        "tx = optax.adam(0.1)\nupdates, s = tx.update(grads, s)\n",
        "class Optimizer:\n    def update(self, grads): ...\no = Optimizer()\no.update(grads)\n",
        "metrics = nnx.MultiMetric(a=nnx.metrics.Average())\nmetrics.update(values=grads)\n",
        "m = net()\no = nnx.Optimizer(m, optax.sgd(0.1), wrt=nnx.Param)\no.update(m, grads)\n",
        "o = nnx.ModelAndOptimizer(net(), optax.sgd(0.1))\no.update(grads)\nprint(o.model)\n",
        "import hashlib\nh = hashlib.sha256()\nh.update(grads)\n",
    ],
)
def test_left_alone(body: str) -> None:
    text = HEAD + body
    assert migrated(text) == ({"main.py": text}, [])


def test_thread_never_takes_the_compatible_class() -> None:
    text = HEAD + textwrap.dedent(COMPATIBLE_ONLY["merged apart"])
    new, left = migrated(text, options(optimizer=THREAD))
    assert new["main.py"] == text
    assert {finding.code for finding in left} == {"NNX102", "NNX103"}


def test_compatible_always_takes_the_compatible_class() -> None:
    text = HEAD + textwrap.dedent(EXPLICIT["same scope"])
    new, left = migrated(text, options(optimizer=COMPATIBLE))
    assert "o = nnx.ModelAndOptimizer(m, optax.sgd(0.1))" in new["main.py"]
    assert "o.update(grads)" in new["main.py"]
    assert not left


def test_where_values_cannot_be_followed_every_group_takes_the_form_that_is_right_anyway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("codemods.nnx.flow.questions._STEPS", 4)
    assert _form(EXPLICIT["returned by a jitted constructor"]) == "compatible"


def test_an_update_of_what_is_right_either_way_is_left_unsaid() -> None:
    """A class of the project takes gradients as well, and all optimizers keep their model."""
    text = """\
import optax
from flax import nnx


class Logged:
    def __init__(self, opt):
        self.opt = opt

    def __getattr__(self, name):
        return getattr(self.opt, name)

    def update(self, grads):
        self.opt.update(grads)


def with_optimizer(function):
    def run(model, x):
        return function(model, nnx.Optimizer(model, optax.sgd(0.1)), x)

    return run


@with_optimizer
def fit(model, opt, x):
    opt.update(nnx.grad(lambda m: (m(x) ** 2).mean())(model))


model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
logged = Logged(nnx.Optimizer(model, optax.sgd(0.1)))
print(logged.model is model)
"""
    once, left = migrated(text, options("0.11"))
    assert once["main.py"].count("nnx.ModelAndOptimizer(") == 2
    assert left == []
    assert codes(once, options("0.11")) == []

"""What each form of an optimizer looks like in code, line by line, and why a form is refused."""

from __future__ import annotations

import pytest

from codemods.nnx.options import OptimizerForm
from tests.migration import COMPATIBLE, THREAD, migrate_text, migrated, options

HEAD = """\
import functools
import jax
import optax
from flax import nnx
from flax.nnx import Optimizer as Opt

tx = optax.sgd(0.1)
m = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
g = nnx.grad(lambda m: m(1.0).sum())(m)

"""


def _migrated(body: str, form: OptimizerForm | None) -> tuple[str, list[str]]:
    """Return the lines below the head that a migration makes, and the messages it leaves."""
    chosen = options() if form is None else options(optimizer=form)
    new, left = migrated(HEAD + body, chosen)
    return new["main.py"].removeprefix(HEAD), [finding.message for finding in left]


EXPLICIT = [
    ("o = Opt(m, tx)\no.update(grads=g)\n", "o = Opt(m, tx, wrt=nnx.Param)\no.update(m, g)\n"),
    (
        "o = Opt(m, tx)\ndef step(g):\n    o.update(g)\nstep(1)\n",
        "o = Opt(m, tx, wrt=nnx.Param)\ndef step(g):\n    o.update(m, g)\nstep(1)\n",
    ),
    (
        "def step(o, g):\n    o.update(g)\nrun = nnx.jit(step)\no = Opt(m, tx)\nrun(o, g)\n",
        "def step(model, o, g):\n    o.update(model, g)\nrun = nnx.jit(step)\n"
        "o = Opt(m, tx, wrt=nnx.Param)\nrun(m, o, g)\n",
    ),
    (
        "o = Opt(nnx.Linear(\n    2, 1, rngs=nnx.Rngs(0)), tx)\no.update(g)\n",
        "o_model = nnx.Linear(\n    2, 1, rngs=nnx.Rngs(0))\n"
        "o = Opt(o_model, tx, wrt=nnx.Param)\no.update(o_model, g)\n",
    ),
    (
        "o = Opt(m, tx)\nprint(bool(o))\no.update(g)\n",
        "o = Opt(m, tx, wrt=nnx.Param)\nprint(bool(o))\no.update(m, g)\n",
    ),
]

ASKED = [
    (
        "o = Opt(nets[0]\n    .inner, tx)\no.update(g)\n",
        "o_model = (nets[0]\n    .inner)\no = Opt(o_model, tx, wrt=nnx.Param)\no.update(o_model, g)\n",
    ),
    (
        "def step(o, g):\n    model = 1\n    o.update(g)\no = Opt(m, tx)\nstep(o, g)\n",
        "def step(o_model, o, g):\n    model = 1\n    o.update(o_model, g)\n"
        "o = Opt(m, tx, wrt=nnx.Param)\nstep(m, o, g)\n",
    ),
]

KEPT_COMPATIBLE = [
    (
        "o = nnx.Optimizer(m, tx, nnx.Param)\no.update(grads=g)\n",
        "o = nnx.ModelAndOptimizer(m, tx, wrt=nnx.Param)\no.update(g)\n",
    ),
    ("A = nnx.Optimizer\no = A(m, tx)\n", "A = nnx.ModelAndOptimizer\no = A(m, tx)\n"),
    (
        "o = functools.partial(nnx.Optimizer, m)(tx, nnx.Param)\n",
        "o = functools.partial(nnx.ModelAndOptimizer, m)(tx, wrt=nnx.Param)\n",
    ),
    (
        "class My(nnx.Optimizer):\n    def __init__(self, m, tx):\n        super().__init__(m, tx, nnx.Param)\n"
        "o = My(m, tx)\no.update(g)\n",
        "class My(nnx.ModelAndOptimizer):\n    def __init__(self, m, tx):\n"
        "        super().__init__(m, tx, wrt=nnx.Param)\no = My(m, tx)\no.update(g)\n",
    ),
    (
        "def f():\n    O = nnx.Optimizer\n    class My(nnx.Optimizer[int]):\n        pass\n    return My(m, tx)\nf()\n",
        "def f():\n    O = nnx.Optimizer\n    class My(nnx.ModelAndOptimizer[int]):\n        pass\n"
        "    return My(m, tx)\nf()\n",
    ),
    (
        "def step(o: nnx.Optimizer, p: nnx.Optimizer) -> nnx.Optimizer:\n    return o\nstep(nnx.Optimizer(m, tx), 3)\n",
        "def step(o: nnx.ModelAndOptimizer, p: nnx.Optimizer) -> nnx.ModelAndOptimizer:\n    return o\n"
        "step(nnx.ModelAndOptimizer(m, tx), 3)\n",
    ),
    (
        "class T:\n    o: nnx.Optimizer\n    p: nnx.Optimizer\n    def __init__(self):\n"
        "        self.o = nnx.Optimizer(m, tx)\nT()\n",
        "class T:\n    o: nnx.ModelAndOptimizer\n    p: nnx.Optimizer\n    def __init__(self):\n"
        "        self.o = nnx.ModelAndOptimizer(m, tx)\nT()\n",
    ),
]

GRADIENTS = [
    "nnx.grad(f)(alias, 1)",
    "nnx.grad(f, argnums=1)(1, alias)",
    "nnx.grad(f, argnums=nnx.DiffState(1, nnx.Param))(1, alias)",
    "nnx.value_and_grad(f)(alias)[1]",
    "jax.tree.map(abs, nnx.grad(f)(alias))",
]

# Reasons against the explicit form (THREAD asks for no other) and against the compatible one.
REFUSED = [
    ("o = Opt(m, tx)\no.update(*g)\n", THREAD, "the arguments of update() are unpacked"),
    ("o = Opt(m, tx)\nstored = o.update\nstored(g)\n", THREAD, "its update method is used as a value"),
    (
        "def make():\n    return Opt(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), tx)\ndef step(o):\n    o.update(g)\n"
        "step(make())\n",
        THREAD,
        "the model has no name where step() is called",
    ),
    (
        "for o in [Opt(nnx.Linear(2, 1, rngs=nnx.Rngs(0)), tx)]:\n    o.update(g)\n",
        THREAD,
        "no expression there is provably the model",
    ),
    ("a = (m, tx, nnx.Param)\no = Opt(*a)\n", COMPATIBLE, "`wrt` is among its unpacked arguments"),
    ("o = Opt(m, tx)\no.update(**g)\n", COMPATIBLE, "the gradients are among unpacked keywords"),
    ("o = functools.partial(Opt, m, tx, nnx.Param)()\n", COMPATIBLE, "`wrt` is bound by position"),
    ("o = (Opt if g else Opt)(m, tx)\n", COMPATIBLE, "its class is chosen by an expression"),
    ("o = Opt(m, tx, nnx.Param, g)\n", THREAD, "it is given more arguments than there are"),
    ("o = Opt(m, tx, nnx.Param, g)\n", COMPATIBLE, "it is given more arguments than there are"),
]


@pytest.mark.parametrize(("before", "after"), EXPLICIT)
def test_explicit(before: str, after: str) -> None:
    assert _migrated(before, None) == (after, [])


@pytest.mark.parametrize(("before", "after"), ASKED)
def test_handed_over_where_asked(before: str, after: str) -> None:
    assert _migrated(before, THREAD) == (after, [])


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_model_is_named_as_in_the_gradient_call(gradient: str) -> None:
    text = f"alias = m\no = Opt(m, tx{{}})\no.update({{}}{gradient})\n"
    assert _migrated(text.format("", ""), None) == (text.format(", wrt=nnx.Param", "alias, "), [])


@pytest.mark.parametrize(("before", "after"), KEPT_COMPATIBLE)
def test_compatible(before: str, after: str) -> None:
    assert _migrated(before, COMPATIBLE) == (after, [])


@pytest.mark.parametrize(("text", "form", "reason"), REFUSED)
def test_refused(text: str, form: OptimizerForm, reason: str) -> None:
    after, messages = _migrated(text, form)
    assert after == text
    assert messages
    assert all(f"left as it is because {reason}" in message for message in messages)


@pytest.mark.parametrize(
    ("more", "imported", "call"),
    [
        ("", "import ModelAndOptimizer", "ModelAndOptimizer"),
        ("print(isinstance(g, Optimizer))\n", "import Optimizer, ModelAndOptimizer", "ModelAndOptimizer"),
        ("ModelAndOptimizer = 3\nprint(Optimizer)\n", "import Optimizer", "nnx.ModelAndOptimizer"),
    ],
)
def test_imported_class(more: str, imported: str, call: str) -> None:
    """An import follows its uses: renamed if all change, extended if some stay, left where the name is taken."""
    text = f"from flax import nnx\nfrom flax.nnx {{}}\n{more}o = {{}}(m, tx)\n"
    new, _ = migrated(text.format("import Optimizer", "Optimizer"), options(optimizer=COMPATIBLE))
    assert new["main.py"] == text.format(imported, call)


def test_import_under_another_name_stays_short() -> None:
    new, _ = migrated(HEAD + "o = Opt(m, tx)\n", options(optimizer=COMPATIBLE))
    assert new["main.py"] == HEAD.replace("import Optimizer as", "import ModelAndOptimizer as") + "o = Opt(m, tx)\n"


def test_methods_do_not_see_names_of_their_class() -> None:
    """A name for the model beside an optimizer in a class body would be out of reach for the methods."""
    text = "class T:\n    o = nnx.Optimizer(m, tx)\n    def step(self):\n        self.o.update(g)\nT().step()\n"
    assert _migrated(text, None) == (text.replace("nnx.Optimizer", "nnx.ModelAndOptimizer"), [])


ALIAS = """\
import jax.numpy as jnp
import optax
from flax import nnx


@nnx.jit
def step(opt, x):
    {}
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(model)
    opt.update(grads)
    return loss


net = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.sgd(0.1))
print(step(optimizer, jnp.ones((4, 2))))
"""


def test_a_new_parameter_takes_over_the_name_of_the_model() -> None:
    after = migrate_text(ALIAS.format("model = opt.model"))
    assert "def step(model, opt, x):\n    loss, grads" in after
    assert "    opt.update(model, grads)\n" in after
    assert "print(step(net, optimizer, jnp.ones((4, 2))))" in after


@pytest.mark.parametrize(
    "line",
    ["model = opt.model  # the network", "model = opt.model; print(x)", "model = opt.model\n    model = model or x"],
)
def test_but_not_where_more_depends_on_the_line(line: str) -> None:
    after = migrate_text(ALIAS.format(line))
    assert "def step(opt_model, opt, x):" in after or "ModelAndOptimizer" in after
    assert line.replace("opt.model", "opt_model") in after or line in after


_FILLED = """\
import optax
from flax import nnx

g = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
opts = {MADE}


def refill(opts):
    PUT


def step(opts, grads):
    opts["g"].update(grads)
"""


@pytest.mark.parametrize("made", ["{}", '{"g": nnx.Optimizer(g, optax.adam(1e-3))}'])
@pytest.mark.parametrize(
    "put",
    ['opts["g"] = nnx.Optimizer(g, optax.sgd(0.1))', 'opts.setdefault("g", nnx.Optimizer(g, optax.sgd(0.1)))'],
)
def test_put_into_a_container_that_is_given(made: str, put: str) -> None:
    """Whoever updates it there gets the class that takes the gradients alone."""
    text = _FILLED.replace("{MADE}", made).replace("PUT", put) + "\n\nrefill(opts)\nstep(opts, {})\n"
    done = migrate_text(text)
    assert done.count("nnx.ModelAndOptimizer(") == text.count("nnx.Optimizer(")
    assert 'opts["g"].update(grads)' in done


OFTEN = """\
import jax.numpy as jnp
import optax
from flax import nnx


class Trainer:
    def __init__(self, model, rate):
        self.model = model
        self.optimizer = nnx.Optimizer(model, optax.sgd(rate))

    def step(self, x):
        grads = nnx.grad(lambda m: jnp.mean(m(x) ** 2))(self.model)
        self.optimizer.update(grads)


class Loud(Trainer):
    def step(self, x):
        super().step(x)


"""


def test_a_class_that_is_made_often_stays_explicit() -> None:
    made = "".join(
        f"{cls}(nnx.Linear(2, 1, rngs=nnx.Rngs({i})), 0.1).step(jnp.ones((1, 2)))\n"
        for i in range(5)
        for cls in ("Trainer", "Loud")
    )
    after = migrate_text(OFTEN + made)
    assert "nnx.Optimizer(model, optax.sgd(rate), wrt=nnx.Param)" in after
    assert "self.optimizer.update(self.model, grads)" in after

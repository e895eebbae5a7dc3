"""The rewritten loops compute the same bits under every Flax, and the others name the condition that they fail."""

from __future__ import annotations

import textwrap

import pytest

from codemods.nnx.options import Options
from tests.batch import execute_all
from tests.environments import Output
from tests.migration import look, migrated

FORMS = {"cached-partial": "NNX920", "split-merge": "NNX921"}

HEAD = """\
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 8, rngs=rngs)
        self.bn = nnx.BatchNorm(8, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(8, 3, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.dropout(self.bn(self.linear(x)))))


Both = getattr(nnx, "ModelAndOptimizer", nnx.Optimizer)
model = Model(nnx.Rngs(0))
optimizer = Both(model, optax.adam(1e-2), wrt=nnx.Param)
metrics = nnx.MultiMetric(loss=nnx.metrics.Average("loss"))


def show():
    for state in (nnx.state(model), nnx.state(optimizer), nnx.state(metrics)):
        for leaf in jax.tree.leaves(state):
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                leaf = jax.random.key_data(leaf)
            print(jax.device_get(leaf).tobytes().hex())
"""

STEP = """

@nnx.jit
def step(model, optimizer, metrics, x):
    def loss_fn(model):
        return (model(x) ** 2).mean()

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(grads)
    metrics.update(loss=loss)
    return {result}

"""

LOOP = """
for i in range(6):
    x = jnp.ones((4, 2)) * i
    {call}
show()
"""


def program(
    result: str = "loss", call: str = "loss = step(model, optimizer, metrics, x)\n    print(float(loss).hex())"
) -> str:
    """Return a training program whose step returns ``result`` and is called by ``call``."""
    return HEAD + STEP.format(result=result) + LOOP.format(call=call)


RUNNING = {
    "one-result": program(),
    "two-results": program("loss, 2 * loss", "loss, twice = step(model, optimizer, metrics, x)"),
    "no-result": program("None", "step(model, optimizer, metrics, x)"),
    "break": program(call="loss = step(model, optimizer, metrics, x)\n    if i == 3:\n        break"),
    "keyword": program(call="loss = step(model, optimizer, metrics, x=x)"),
}
CACHED_ONLY = {
    "metrics": program(
        call="step(model, optimizer, metrics, x)\n    print(metrics.compute()['loss'])\n    metrics.reset()"
    )
}


def rewritten(text: str, form: str) -> str:
    """Return a program after ``speedup``; it must have changed, and a second run must change nothing."""
    options = Options(select=(FORMS[form],), lint=True)
    once = migrated(text, options, False)[0]["main.py"]
    assert once != text
    assert migrated(once, options, False)[0]["main.py"] == once
    return once


@pytest.fixture(scope="module", params=("0.10", "0.11", "0.12"))
def outputs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Output]:
    """Run all programs, as they are and rewritten, under one version."""
    programs = {**RUNNING, **CACHED_ONLY}
    for form in FORMS:
        chosen = RUNNING if form == "split-merge" else {**RUNNING, **CACHED_ONLY}
        programs |= {f"{name}.{form}": rewritten(text, form) for name, text in chosen.items()}
    return execute_all(request.param, programs, tmp_path_factory.mktemp(request.param))


@pytest.mark.parametrize(
    ("name", "form"),
    [(n, f) for n in RUNNING for f in FORMS] + [(n, "cached-partial") for n in CACHED_ONLY],
)
def test_same_bits(name: str, form: str, outputs: dict[str, Output]) -> None:
    """Losses, parameters, statistics, optimizer state, step counts and metrics agree in every bit."""
    before, after = outputs[name], outputs[f"{name}.{form}"]
    assert before.code == 0, before.err
    assert after.code == 0, after.err
    assert before.out.strip()
    assert before.out == after.out


def stays(
    form: str, *, step: str = "return model(x)", loop: str = "step(model, x)", head: str = "@nnx.jit"
) -> list[str]:
    """Return what is said of a small loop that must stay as it is."""
    text = textwrap.dedent("""\
        from flax import nnx


        {head}
        def step(model, x):
            {step}


        model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
        for x in range(100):
            {loop}
        """).format(head=head, step=step, loop=loop)
    options = Options(select=(FORMS[form],), lint=True)
    assert migrated(text, options, False)[0]["main.py"] == text
    return [finding.message for finding in look(text, options).findings]


REFUSED = [
    ({"step": "model.train(); return model(x)"}, "calls `train`"),
    ({"step": "model.sow(nnx.Intermediate, 'h', x)"}, "calls `sow`"),
    ({"step": "model.calls = 1"}, "assigns to the attribute `calls`"),
    ({"step": "return model"}, "returns one of the objects"),
    ({"loop": "step(model, x); print(model)"}, "uses `model` in the loop"),
    ({"loop": "model = nnx.Linear(2, 2, rngs=nnx.Rngs(0)); step(model, x)"}, "binds one of the objects"),
    ({"loop": "step(model=model, x=x)"}, "not known by name as the first arguments"),
    ({"loop": "step(*[model, x])"}, None),
    ({"loop": "step(model, x); list(map(step, []))"}, "otherwise than in direct calls"),
    ({"loop": "step(model, x)\nstep(model, 1)"}, "called elsewhere"),
    ({"head": "@nnx.jit(donate_argnums=0)"}, "donation"),
]


@pytest.mark.parametrize(("parts", "reason"), REFUSED)
@pytest.mark.parametrize("form", FORMS)
def test_refused(form: str, parts: dict[str, str], reason: str | None) -> None:
    """A loop that fails a condition stays as it is, and the report names the condition."""
    messages = stays(form, **parts)
    assert all(reason is not None and reason in message for message in messages)
    assert bool(messages) == (reason is not None)


@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("state = step(model, x)", "`state` has a meaning"),
        ("print(step(model, x))", "no statement of its own"),
        ("try:\n        step(model, x)\n    finally:\n        pass", "may leave the loop"),
    ],
)
def test_refused_split(loop: str, reason: str) -> None:
    """Conditions of the split/merge form alone."""
    assert [reason in message for message in stays("split-merge", loop=loop)] == [True]

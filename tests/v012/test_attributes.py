"""Which containers are known to hold data, wherever they come from; each confirmed by real Flax 0.11 and 0.12."""

from __future__ import annotations

import pytest

from tests.batch import execute_all
from tests.environments import Output
from tests.migration import migrate_text, options

HEAD = """\
import collections
import itertools

import jax
import jax.numpy as jnp
import optax
from flax import nnx

linear = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
flag = bool(jnp.ones(1).sum())
Pair = collections.namedtuple("Pair", "a b")


def make():
    return [linear]


def number():
    return [1]


def keep(x):
    return x


"""

# what a constructor takes and stores, and the call that makes an instance, if there is one
DATA = [
    *(
        ("", stored, "Net()")
        for stored in (
            "make()", "keep([linear])", "[linear] if flag else []", "{'a': linear} | {'b': 1}", "list([linear])",
            "tuple([linear])", "dict(a=linear)", "dict([('a', linear)])", "list(reversed([linear]))",
            "sorted([linear], key=id)", "[linear for _ in range(2)]", "{i: linear for i in range(2)}",
            "optax.adam(0.1).init(nnx.state(linear))", "nnx.state(linear)", "[jnp.ones(2)]", "[jax.random.key(0)]",
            "nnx.grad(lambda m: m(jnp.ones((1, 2))).sum())(linear)", "(nnx.Rngs(0),)", "{1: nnx.Param(1)}",
            "collections.OrderedDict(a=linear)", "collections.OrderedDict([('a', linear)])", "Pair(linear, 1)",
            "collections.defaultdict(list, a=[linear])", "sum([[linear], [1]], [])", "[None] * 2 + [linear]",
            "list(itertools.chain([1], [linear]))", "jax.tree.map(jnp.copy, nnx.state(linear))",
            "nnx.to_pure_dict(nnx.state(linear))", "jax.tree.leaves(nnx.state(linear))",
            "jax.device_get(nnx.state(linear))", "jax.device_put([linear.bias.value])",
            "[[[linear]]]", "[nnx.Optimizer(linear, optax.sgd(1), wrt=nnx.Param)]", "[nnx.metrics.Average()]",
        )
    ),
    (", layers", "layers", "Net([linear])"),
    (", layers", "list(layers)", "Net([linear])"),
    (", layers: list[nnx.Module] = ()", "layers", "Net([linear])"),
    (", *layers", "layers", "Net(linear)"),
    (", *layers", "list(layers)", "Net(linear)"),
    (", *layers", "layers", "Net(*[linear])"),
    (", n, *layers", "layers", "Net(1, linear)"),
    *(
        (f", layers: {kind}", "layers", "")
        for kind in (
            "list[nnx.Module]", "tuple[nnx.Linear, ...]", "dict[str, nnx.Module]", "list[list[nnx.Module]]",
            "'list[nnx.Module]'", "list[nnx.Module] | None", "list[nnx.Param]",
        )
    ),
    (", *layers: nnx.Module", "layers", ""),
]  # fmt: skip
PLAIN = [
    *(
        ("", stored, "Net()")
        for stored in (
            "number()", "keep([1])", "sum([1, 2])", "sum([[1], [2]], [])", "Pair(1, 2)", "collections.OrderedDict(a=1)",
            "jax.tree.map(abs, [1])", "jax.tree.leaves([1])", "list(itertools.chain([1], [2]))", "[None] * 2",
            "[1] if flag else [2]", "{'a': 1} | {'b': 1}", "sorted([2, 1])",
            "list(map(str, [1]))", "dict(zip('a', [1]))", "[i for i in range(2)]", "optax.adam(0.1)", "[nnx.Linear]",
            "[linear][0]", "[1][:1]", "set()", "nnx.data([linear]) if flag else None", "[nnx.relu, jnp.float32]",
        )
    ),
    ("", "sorted([1], key=linear)", ""),
    (", layers", "layers", "Net([1])"),
    (", layers", "layers", ""),
    (", *layers", "layers", "Net(1)"),
    (", *layers", "layers", "Net(*[1])"),
    (", *layers", "layers", ""),
    (", n, *layers", "layers", "Net(linear, 1)"),
    (", *layers: int", "layers", ""),
    *((f", layers: {kind}", "layers", "") for kind in ("list[int]", "'list['", "list", "nnx.Module", "Unknown[1]")),
]  # fmt: skip


def _net(parameters: str, stored: str, made: str) -> str:
    text = f"{HEAD}class Net(nnx.Module):\n    def __init__(self{parameters}):\n        self.a = {stored}\n\n\n"
    return f"{text}print(len(jax.tree.leaves(nnx.state({made}))))\n" if made else text


@pytest.mark.parametrize("case", DATA, ids=" / ".join)
def test_marked(case: tuple[str, str, str]) -> None:
    parameters, stored, made = case
    both = options("0.11", "0.12", select=("NNX601",))
    after = migrate_text(_net(*case), both)
    assert after == _net(parameters, f"nnx.data({stored})", made)
    assert migrate_text(after, both) == after


@pytest.mark.parametrize("case", PLAIN, ids=" / ".join)
def test_left_alone(case: tuple[str, str, str]) -> None:
    assert migrate_text(_net(*case), options("0.12", select=("NNX601",))) == _net(*case)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    """Run what is called: as it is, and with the mark."""
    folder = tmp_path_factory.mktemp("attributes")
    called = [case for case in (*DATA, *PLAIN) if case[2]]
    programs = {" / ".join(case): _net(*case) for case in called}
    programs |= {f"{' / '.join(case)} marked": _net(case[0], f"nnx.data({case[1]})", case[2]) for case in called}
    return {version: execute_all(version, programs, folder / version) for version in ("0.11", "0.12")}


@pytest.mark.parametrize("case", [case for case in DATA if case[2]], ids=" / ".join)
def test_execution(case: tuple[str, str, str], outputs: dict[str, dict[str, Output]]) -> None:
    """Without the mark 0.12 raises, with it it finds what 0.11 finds."""
    name = " / ".join(case)
    assert outputs["0.11"][name].code == 0
    assert outputs["0.12"][name].code != 0
    assert outputs["0.12"][f"{name} marked"].out == outputs["0.11"][name].out


@pytest.mark.parametrize("case", [case for case in PLAIN if case[2]], ids=" / ".join)
def test_execution_of_what_stays(case: tuple[str, str, str], outputs: dict[str, dict[str, Output]]) -> None:
    name = " / ".join(case)
    assert outputs["0.11"][name].code == outputs["0.12"][name].code == 0
    assert outputs["0.12"][name].out == outputs["0.11"][name].out


@pytest.mark.parametrize(("annotation", "marked"), [("list[Part]", True), ("list[int]", False), ("list", False)])
def test_elements_of_an_annotated_parameter_that_only_users_give(annotation: str, marked: bool) -> None:
    text = f"""\
from flax import nnx


class Part(nnx.Module):
    pass


class Whole(Part):
    def __init__(self, parts: {annotation}):
        kept = []
        for part in parts:
            if isinstance(part, Whole):
                kept.extend(part.parts)
            else:
                kept.append(part)
        self.parts = kept
"""
    assert ("self.parts = nnx.data(kept)" in migrate_text(text, options("0.12"))) == marked

"""NNX617: hooks of Variables; what is reported warns under 0.12, and what is not stays silent."""

from __future__ import annotations

import pytest

from tests.batch import execute_all
from tests.environments import Output
from tests.migration import codes, look, options

HEAD = """\
import warnings

import jax.numpy as jnp
from flax import nnx

warnings.resetwarnings()
warnings.simplefilter("error")


"""
REPORTED = {
    "constructor": "nnx.Param(1.0, on_get_value=lambda variable, value: 2 * value)\n",
    "other hooks": "nnx.Param(1.0, on_set_value=lambda variable, value: value)\n",
    "other class": "nnx.BatchStat(jnp.ones(1), on_get_value=abs)\n",
    "imported": "from flax.nnx import Param as P\n\nP(1.0, on_get_value=lambda variable, value: value)\n",
    "own class": "class Positive(nnx.Param):\n    pass\n\n\n"
    "Positive(1.0, on_get_value=lambda variable, value: value)\n",
    "method": "class Positive(nnx.Param):\n    def on_get_value(self, value):\n        return abs(value)\n\n\n"
    "Positive(1.0)\n",
    "method of a base": "class Base(nnx.Variable):\n    pass\n\n\nclass Positive(Base):\n"
    "    def on_set_value(self, value):\n        return abs(value)\n\n\nPositive(1.0)\n",
    "in a module": "class Net(nnx.Module):\n    def __init__(self):\n"
    "        self.w = nnx.Param(1.0, on_get_value=lambda variable, value: value)\n\n\nNet()\n",
}
SILENT = {
    "own metadata": "nnx.Param(1.0, note='on_get_value', on_call=1)\n",
    "method of another class": "class Box:\n    def on_get_value(self, value):\n        return value\n\n\nBox()\n",
    "method of a module": "class Net(nnx.Module):\n    def on_set_value(self, value):\n        return value\n\n\n"
    "Net()\n",
    "keyword of another function": "def make(on_get_value):\n    return on_get_value\n\n\nmake(on_get_value=1)\n",
    "keyword of another class": "class Box:\n    def __init__(self, on_set_value):\n        pass\n\n\n"
    "Box(on_set_value=abs)\n",
    "overridden": "class Double(nnx.Param):\n    def get_value(self, **options):\n"
    "        return 2 * super().get_value(**options)\n\n\nDouble(1.0)\n",
    "plain": "nnx.Param(1.0)\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Output]:
    texts = {name: f"{HEAD}{text}print('silent')\n" for name, text in {**REPORTED, **SILENT}.items()}
    return execute_all("0.12", texts, tmp_path_factory.mktemp("hooks"))


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str) -> None:
    found = look(HEAD + REPORTED[name], options("0.12", select=("NNX617",))).findings
    assert [(f.code, f.fix) for f in found] == [("NNX617", None)]


@pytest.mark.parametrize("name", REPORTED)
def test_reported_under_the_releases(name: str, outputs: dict[str, Output]) -> None:
    assert "Warning" in outputs[name].err


@pytest.mark.parametrize("name", SILENT)
def test_left_alone(name: str) -> None:
    assert codes(HEAD + SILENT[name], options("0.12", select=("NNX617",))) == []


@pytest.mark.parametrize("name", SILENT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, Output]) -> None:
    assert outputs[name].out == "silent\n"


def test_it_has_to_be_asked_for() -> None:
    assert "NNX617" not in codes(HEAD + REPORTED["constructor"], options("0.12"))
    assert codes(HEAD + REPORTED["constructor"], options("0.11", select=("NNX617",))) == []

"""NNX511: tests for texts of Flax; each runs before and after."""

from __future__ import annotations

import pytest

from tests.agreement import assert_same, runs
from tests.environments import Output
from tests.migration import codes, look, migrate_text, options

HEAD = """\
import re
import unittest
from flax import nnx


def message():
    try:
        nnx.Rngs(params=0).dropout()
    except AttributeError as error:
        return str(error)


"""
FIXED = {
    "in": "print('No RNG named' in message())\n",
    "not in": "print('No RNG named' not in message())\n",
    "double quotes": "print(\"No RNG named 'dropout'\" in message())\n",
    "whole text": "print(message() == \"No RNG named 'dropout' or 'default' found in Rngs.\")\n",
    "pattern": "print(bool(re.search(r\"No RNG named '\\w+'\", message())))\n",
    "all matches": "print(bool(re.findall('No RNG named', message())))\n",
    "whole pattern": "print(bool(re.fullmatch(\"No RNG named 'dropout' or 'default' found in Rngs[.]\", message())))\n",
    "beginning": "print(message().startswith('No RNG named'))\n",
    "joined": "print(('No RNG named '\n       \"'dropout'\") in message())\n",
    "unittest": "class Case(unittest.TestCase):\n    def test(self):\n"
    "        with self.assertRaisesRegex(AttributeError, 'No RNG named'):\n"
    "            nnx.Rngs(params=0).dropout()\n\n\n"
    "print(unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(unittest.TestResult()).wasSuccessful())\n",
    "match": "class raises:\n    def __init__(self, kind, match):\n        self.kind, self.pattern = kind, match\n\n"
    "    def __enter__(self):\n        return self\n\n    def __exit__(self, kind, error, trace):\n"
    "        print(kind is self.kind, bool(re.search(self.pattern, str(error))))\n        return True\n\n\n"
    "with raises(AttributeError, match='No RNG named'):\n    nnx.Rngs(params=0).dropout()\n",
}
REPORTED = {
    "alternatives": "print(bool(re.search('No RNG named|nothing', 'x or y' 'No RNG named' ' or not')))\n",
    "repr": "print('VariableState(type=Param' in repr(nnx.state(nnx.Linear(1, 1, rngs=nnx.Rngs(0)))))\n",
    "twice": "print('No RNG named a No RNG named b' in message())\n",
}
LEFT = {
    "printed": "print('No RNG named like that')\n",
    "raised": "class Own(Exception):\n    pass\n\n\n"
    "try:\n    raise Own('No RNG named ' + 'x')\nexcept Own:\n    print(1)\n",
    "new text": "print('RngStream named' in message() or 'RNG' in message())\n",
    "own text": "print('no rng named' in 'no rng named x', 'VariableState' in 'VariableState')\n",
    "log": "import logging\n\nlogging.getLogger('x').debug('No RNG named %s', 1)\nprint(2)\n",
    "docstring": 'def f():\n    """No RNG named x is an error."""\n\n\nprint(f())\n',
    "other method": "class Box:\n    def match(self, text):\n        return text\n\n\n"
    "print(Box().match('No RNG named'))\n",
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    programs = {name: HEAD + text for name, text in {**FIXED, **LEFT}.items()}
    return runs(programs, tmp_path_factory.mktemp("texts"))


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name: str) -> None:
    once = migrate_text(HEAD + FIXED[name], options("0.11"))
    assert "No RngStream named" in once
    assert codes(once, options("0.11")) == []


@pytest.mark.parametrize("name", FIXED)
def test_fixed_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_the_program_that_the_texts_are_of_prints_what_was_asked_under_the_releases(
    outputs: dict[str, dict[str, Output]],
) -> None:
    """Each of them is true under every version, or false under every version."""
    said = {name: outputs["0.12"][name].out.split() for name in FIXED}
    assert {name for name, words in said.items() if "True" not in words} == {"not in"}


@pytest.mark.parametrize("name", REPORTED)
def test_reported(name: str) -> None:
    found = [f for f in look(HEAD + REPORTED[name], options("0.11")).findings if f.code == "NNX511"]
    assert found
    assert None in {f.fix for f in found}
    assert ("RngStream" in found[0].help) == (name != "repr")


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name: str) -> None:
    assert "NNX511" not in codes(HEAD + LEFT[name], options("0.11"))


@pytest.mark.parametrize("name", LEFT)
def test_left_alone_under_the_releases(name: str, outputs: dict[str, dict[str, Output]]) -> None:
    assert_same(outputs, name)


def test_0_10_too_is_reported_only() -> None:
    (found,) = look(HEAD + FIXED["in"], options("0.10", "0.11")).findings
    assert (found.code, found.fix) == ("NNX511", None)

"""The library: what is public, and what its functions return."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import subprocess
import sys
from enum import Enum
from pathlib import Path

import pytest

import nnxmigrate
from nnxmigrate import Status, api, lint, migrate, rulekit
from tests.conftest import Tree
from tests.test_hostile import HEAD, NEW, OLD

PUBLIC = Path(__file__).with_name("public.txt")


def described() -> str:
    """Return everything public with its signature or its fields, a line each."""
    lines = []
    for module in (nnxmigrate, rulekit):
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            full = f"{module.__name__}.{name}"
            if inspect.isclass(thing) and issubclass(thing, Enum):
                lines.append(f"{full}: {', '.join(member.name for member in thing)}")
            elif dataclasses.is_dataclass(thing):
                lines.append(f"{full}: {', '.join(field.name for field in dataclasses.fields(thing))}")
            elif inspect.isfunction(thing):
                lines.append(f"{full}{inspect.signature(thing)}")
            else:
                lines.append(full)
    return "\n".join(lines) + "\n"


def test_what_is_public_changes_knowingly() -> None:
    """If this was meant: `python -m tests.api.test_api`, and a line in CHANGELOG.md."""
    assert described() == PUBLIC.read_text()


def test_everything_public_is_documented() -> None:
    for module in (nnxmigrate, rulekit):
        assert not [name for name in module.__all__ if name != "__version__" and not getattr(module, name).__doc__]
    page = (Path(__file__).resolve().parents[2] / "docs" / "library.md").read_text(encoding="utf-8")
    assert not [name for name in nnxmigrate.__all__ if f"`{name}" not in page and f".{name}" not in page]


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(api).attempted >= 3
    assert doctest.testmod(api).failed == 0


def test_importing_it_imports_nothing_else() -> None:
    code = "import nnxmigrate, sys; print([name for name in sys.modules if name.startswith(('codemods', 'libcst'))])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    with pytest.raises(AttributeError, match="no attribute 'run_project'"):
        _ = nnxmigrate.run_project


def test_a_text() -> None:
    result = migrate(HEAD + OLD)
    assert result.text == HEAD + NEW
    assert [one.code for one in result.fixed] == ["NNX101"]
    assert (result.left, result.exit_code, result.written) == ([], 1, False)
    again = migrate(result.text)
    assert (again.text, again.exit_code) == (result.text, 0)
    assert migrate("x = 1\n").text == "x = 1\n"


def test_texts_are_one_project() -> None:
    step = "from lab import o\n\n\ndef step(grads):\n    o.update(grads)\n"
    assert migrate({"lab.py": HEAD + OLD}).texts["lab.py"] == HEAD + NEW
    result = migrate({"lab.py": HEAD + OLD, "step.py": step})
    assert "ModelAndOptimizer(m, " in result.texts["lab.py"], "its update elsewhere was not seen"
    assert result.texts["step.py"] == step
    with pytest.raises(ValueError, match="texts"):
        _ = result.text


def test_paths(tree: Tree) -> None:
    root = tree({"a.py": HEAD + OLD, "b.py": b"# coding: latin-1\n# \xe9\n" + (HEAD + OLD).encode(), "c.py": "x = (\n"})
    result = migrate(root)
    assert result.texts == {"a.py": HEAD + NEW, "b.py": "# coding: latin-1\n# é\n" + HEAD + NEW}
    assert (root / "a.py").read_text() == HEAD + OLD
    assert migrate(["a.py"], write=True).written
    assert (root / "a.py").read_text() == HEAD + NEW
    assert migrate(Path("a.py")).exit_code == 0
    assert list(migrate([root], exclude=["b.py"]).texts) == []


def test_bad_texts_are_no_errors() -> None:
    result = migrate({"a.py": HEAD + "x = (\n", "b.py": HEAD + OLD, "c.py": "nnx = '\ud800'", "n.ipynb": "nnx"})
    statuses = {file.path: file.status for file in result.files}
    assert statuses == {
        "a.py": Status.FAILED,
        "b.py": Status.CHANGED,
        "c.py": Status.FAILED,
        "n.ipynb": Status.FAILED,
    }
    assert result.exit_code == 2


def test_lint() -> None:
    (one,) = lint(HEAD + OLD).left
    assert (one.code, one.start.line, one.path) == ("NNX101", 4, "main.py")
    (part,) = one.replacements
    assert "wrt=nnx.Param" in part.text
    assert lint(HEAD + OLD, ignore=["NNX1"]).left == lint(HEAD + OLD, select="NNX2").left == []


def test_the_settings_arrive() -> None:
    update = HEAD + "def f(o, g):\n    o.update(g)\nf(nnx.Optimizer(nnx.Linear(1, 1, rngs=nnx.Rngs(0)), tx), g)\n"
    assert "ModelAndOptimizer" in migrate(update, optimizer="compatible").text
    assert migrate(HEAD + OLD, to=("0.12", "0.11")).text == HEAD + NEW
    assert migrate(HEAD + OLD, origin="0.11", to="0.12").text == HEAD + NEW  # it fails on 0.11 already


@pytest.mark.parametrize(
    "settings",
    [{"to": "0.13"}, {"to": ()}, {"origin": "0.12"}, {"select": ["NNX000"]}, {"ignore": "X"}, {"optimizer": "none"}],
)
def test_wrong_settings(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"NNX000|X|none|0\.1[0-3]|version"):
        migrate("", **settings)  # type: ignore[arg-type]


if __name__ == "__main__":
    PUBLIC.write_text(described())


@pytest.mark.parametrize("name", ["src/train.py", "a.ipynb"])
def test_the_name_of_a_file_is_no_text(name: str) -> None:
    with pytest.raises(ValueError, match="Path"):
        migrate(name)
    assert migrate(f"{name}\n").text == f"{name}\n"

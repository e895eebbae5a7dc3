"""What is left to do lasts: over second runs, in other commands, and until it is done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nnxmigrate.files.atomic import WriteFailed
from nnxmigrate.recorded import LEFT
from nnxmigrate.versions.pins import forget
from tests.cli.test_migrate import HEAD, call
from tests.conftest import Tree

#: What runs without an error since 0.11 and does nothing; it is not looked for in code of 0.12.
SWAPPED = """\
import optax
from flax import nnx

model = nnx.Linear(1, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
optimizer.update(nnx.grad(lambda m: m(1.0).sum())(model), model)
"""


def left(*arguments: str) -> list[str]:
    """Return the codes that a check says are left."""
    record = json.loads(call("--check", "--output-format", "json", *arguments).stdout)
    return [one["code"] for one in record["findings"]]


def test_findings_beside_fixes_are_remembered(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": HEAD + "outer(old)\nmanual\n", "pyproject.toml": ""})
    _beside(monkeypatch)
    first = call("--from", "0.10", "--to", "0.11", "a.py")
    assert first.exit_code == 1
    assert "NNX217 beside" in first.stdout
    assert call("--from", "0.10", "--to", "0.11", "a.py").exit_code == 1, "the second run knows it still"
    assert sorted(left("a.py")) == ["NNX103", "NNX217"]
    assert "NNX217 beside" in call("lint", "a.py").stdout
    listed = call("status", ".").stdout
    assert "      1  NNX217" in listed
    assert listed.splitlines()[-1] == "2 left"
    (root / "a.py").write_text(HEAD + "outer_of_another_kind()\nmanual\n")
    assert left("a.py") == ["NNX103"], "its line has changed"
    assert call("status").stdout.splitlines()[-1] == "1 of 2 left, 1 done"
    (root / "a.py").write_text(HEAD)
    assert call("a.py").exit_code == 0
    assert not (root / LEFT).exists(), "nothing is left, and no list"


@pytest.mark.usefixtures("fake_rules")
def test_status_says_what_fixes_the_rest_and_names_old_pins(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "old\n", "requirements.txt": "flax==0.10.7\n", "pyproject.toml": ""})
    before = call("status")
    assert before.exit_code == 1
    last = before.stdout.splitlines()[-1]
    assert last == "The only finding is fixed by `nnxmigrate .`; nothing is left to do by hand."
    (root / "a.py").write_text(HEAD + "old; old\n")
    assert "\nAll 2 findings are fixed by `nnxmigrate .`; nothing is left" in call("status").stdout
    (root / "a.py").write_text(HEAD + "old; manual\n")
    assert call("status").stdout.endswith("1 left\n1 more is fixed by `nnxmigrate .`\n")
    (root / "a.py").write_text(HEAD)
    after = call("status")
    assert after.exit_code == 0
    assert after.stdout.endswith(
        "Nothing is left to do in the code.\nThe pins still say flax==0.10.7 in requirements.txt, under which the new "
        "code does not run: `nnxmigrate doctor --bump` raises them.\n"
    )
    (root / "requirements.txt").write_text("flax==0.12.6\n")
    forget()
    assert call("status").stdout.splitlines()[-1] == "Nothing is left to do."


def _beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a finding that shows only as long as the word OLD is there."""
    from codemods.nnx.findings import Analysis, Finding
    from tests import fake

    def analyse(sources: list[object], options: object, *more: object) -> Analysis:
        result = fake.analyse(sources, options)  # type: ignore[arg-type]
        for source in sources:
            data, path = source.data, source.path  # type: ignore[attr-defined]
            if b"old" in data:
                place = data.index(b"outer") if b"outer" in data else 0
                result.findings.append(Finding("NNX217", path, place, place + 5, "beside", "look at it"))
        return result

    monkeypatch.setattr("codemods.nnx.analyse.analyse", analyse)


def test_comments_stay_while_their_reason_stands(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": HEAD + "outer(old)\nmanual\n", "pyproject.toml": ""})
    _beside(monkeypatch)
    call("--todo", "a.py")
    marked = (root / "a.py").read_text()
    assert "# TODO(nnxmigrate): NNX217 beside (remove this comment once done)\n" in marked
    assert not (root / LEFT).exists(), "the code says it"
    for _ in range(2):
        assert call("--todo", "a.py").exit_code == 1
        assert (root / "a.py").read_text() == marked
    assert sorted(left("a.py")) == ["NNX103", "NNX217"]
    (root / "a.py").write_text("".join(line for line in marked.splitlines(True) if "NNX217" not in line))
    assert left("a.py") == ["NNX103"], "who removes the comment says that it is done"
    (root / "a.py").write_text(marked.replace("\nmanual", "\nautomatic"))
    call("--todo", "a.py")
    after = (root / "a.py").read_text()
    assert "NNX103" not in after
    assert "NNX217" in after


def test_what_was_noted_is_said_once(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree({"a.py": HEAD + "outer(old)\n", "pyproject.toml": ""})
    _beside(monkeypatch)
    call("a.py")
    kept = (root / LEFT).read_text()
    assert "once = true" in kept
    for _ in range(2):
        assert call("a.py").stdout.count("noted when it was seen") == 1
        assert (root / LEFT).read_text() == kept


def test_what_no_later_run_sees_is_not_advised_for_one(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    from codemods.nnx.edits import Edit
    from codemods.nnx.findings import Analysis, Finding, Fix, Safety
    from tests import fake

    tree({"a.py": HEAD + "old\n", "b.py": "import a\n" + HEAD, "pyproject.toml": ""})

    def analyse(sources: list[object], options: object, *more: object) -> Analysis:
        result = fake.analyse(sources, options)  # type: ignore[arg-type]
        if any(b"old" in source.data for source in sources):  # type: ignore[attr-defined]
            fix = Fix((("b.py", Edit(0, 0, b"x")),), Safety.UNSAFE)
            result.findings.append(Finding("NNX217", "b.py", 0, 5, "beside", "look at it", fix))
        return result

    monkeypatch.setattr("codemods.nnx.analyse.analyse", analyse)
    assert "Next: It can be fixed with --unsafe-fixes" in call("--check", ".").stdout
    done = call(".").stdout
    assert "Next: It can be fixed only together with what was fixed now: undo this run" in done
    assert "with --unsafe-fixes:" not in done


def test_raised_pins_do_not_hide_what_is_left(tree: Tree) -> None:
    root = tree({"a.py": SWAPPED, "requirements.txt": "flax==0.10.7\n", "pyproject.toml": ""})
    call(".")
    before = left(".")
    assert before
    (root / "requirements.txt").write_text("flax>=0.12\n")
    assert left(".") == before


@pytest.mark.usefixtures("fake_rules")
def test_the_list_is_what_people_review(tree: Tree) -> None:
    root = tree({"pyproject.toml": "", "src/a.py": HEAD + "manual  # \x7f é\nmanual\n", "b.py": HEAD + "manual\n"})
    call("src", "b.py")
    text = (root / LEFT).read_text(encoding="utf-8")
    assert text.count("[[left]]") == 3
    assert 'path = "src/a.py"\ncode = "NNX103"\ntext = "manual  # \\u007f é"\nline = 2\n' in text
    assert "most = 3" in text
    (root / "src/a.py").write_text(HEAD)
    call("src")
    assert (root / LEFT).read_text().count("[[left]]") == 1, "files that are not named keep their entries"
    (root / LEFT).write_text(text + "[[")
    assert call("b.py").exit_code == 2


@pytest.mark.usefixtures("fake_rules")
def test_ignored_lines_are_not_left(tree: Tree) -> None:
    root = tree({"pyproject.toml": "", "a.py": HEAD + "manual\n"})
    call("a.py")
    (root / "a.py").write_text(HEAD + "manual  # nnx: ignore[NNX103]\n")
    assert call("a.py").exit_code == 0
    assert not (root / LEFT).exists()


@pytest.mark.usefixtures("fake_rules")
def test_baseline(tree: Tree) -> None:
    root = tree({"pyproject.toml": "", "a.py": HEAD + "manual\nmanual\n", "b.py": HEAD + "manual\n"})
    written = call("lint", "--write-baseline", ".")
    assert "3 findings written to .nnxmigrate-baseline.toml" in written.stdout
    assert written.exit_code == 0
    file = ".nnxmigrate-baseline.toml"
    quiet = call("lint", "--baseline", file, ".")
    assert (quiet.exit_code, "3 findings in the baseline" in quiet.stdout) == (0, True)
    (root / "a.py").write_text("# moved\n" + HEAD + "manual\n" * 3)
    new = call("lint", "--baseline", file, ".")
    assert new.exit_code == 1
    assert "1 finding left" in new.stdout
    (root / "b.py").write_text(HEAD)
    assert "1 of its entries is gone" in call("lint", "--baseline", file, ".").stdout
    (root / "pyproject.toml").write_text(f"[tool.nnxmigrate]\nbaseline = '{file}'\n")
    assert call("lint", "b.py").exit_code == 0
    assert call("lint", "--baseline", "none.toml", ".").exit_code == 2


@pytest.mark.usefixtures("fake_rules")
def test_comments_for_everything(tree: Tree) -> None:
    book = '{"cells": [{"cell_type": "code", "source": ["from flax import nnx\\n", "manual"]}]}'
    root = tree(
        {
            "a.py": HEAD + "manual; old\nrisky  # why\nmanual  # nnx: ignore[NNX101]\nx = '''\nmanual\n'''\n",
            "n.ipynb": book,
        }
    )
    result = call("lint", "--add-ignore", ".")
    assert "5 findings silenced by comments in 2 files; no comment can stand at a.py:6:1" in result.stdout
    assert (root / "a.py").read_text() == HEAD + (
        "manual; old  # nnx: ignore[NNX101, NNX103]\nrisky  # why  # nnx: ignore[NNX102]\n"
        "manual  # nnx: ignore[NNX101, NNX103]\nx = '''\nmanual\n'''\n"
    )
    assert json.loads((root / "n.ipynb").read_text())["cells"][0]["source"][1] == "manual  # nnx: ignore[NNX103]"


@pytest.mark.usefixtures("fake_rules")
def test_rules_can_be_ignored_by_file(tree: Tree) -> None:
    tree(
        {
            "pyproject.toml": '[tool.nnxmigrate.per-file-ignores]\n"tests/" = ["optimizer-model", "NNX10"]\n',
            "a.py": HEAD + "manual\n",
            "tests/b.py": HEAD + "manual\nold\n",
        }
    )
    assert [line.split(":")[0] for line in call("lint", ".").stdout.splitlines() if "NNX1" in line] == ["a.py"]
    assert call("tests").exit_code == 0
    assert Path("tests/b.py").read_text() == HEAD + "manual\nold\n"


def test_mistakes_in_ignores_by_file(tree: Tree) -> None:
    tree({"pyproject.toml": '[tool.nnxmigrate.per-file-ignores]\n"tests/" = "NNX1"\n', "a.py": HEAD})
    assert "per-file-ignores.'tests/' must be a list of codes" in call("lint", "a.py").stderr
    tree({"pyproject.toml": '[tool.nnxmigrate.per-file-ignores]\n"tests/" = ["NNX00I"]\n'})
    assert "did you mean NNX001?" in call("lint", "a.py").stderr


@pytest.mark.usefixtures("fake_rules")
@pytest.mark.parametrize(
    ("options", "code"),
    [([], 1), (["--fail-on", "error"], 1), (["--exit-zero"], 0), (["--fail-on", "warning"], 1)],
)
def test_exit_status(tree: Tree, options: list[str], code: int) -> None:
    tree({"a.py": HEAD + "manual\n", "bad.py": HEAD + "("})
    assert call("lint", *options, "a.py").exit_code == code
    assert call("lint", *options, ".").exit_code == 2, "a failure is no finding"


def test_severity(tree: Tree) -> None:
    tree(
        {
            "a.py": "import jax\nfrom flax import nnx\n\nmodel = nnx.Linear(1, 1, rngs=nnx.Rngs(0))\n"
            "for x in range(99):\n    f = nnx.jit(lambda m: m)\n    f(model)\n"
        }
    )
    codes = {line.split()[1] for line in call("lint", "--to", "0.11", "a.py").stdout.splitlines() if " NNX" in line}
    assert codes <= {"NNX901", "NNX903", "NNX902"}
    assert codes
    assert call("lint", "--to", "0.11", "--fail-on", "warning", "a.py").exit_code == 0
    assert call("lint", "--to", "0.11", "a.py").exit_code == 0
    assert call("lint", "--to", "0.11", "--fail-on", "hint", "a.py").exit_code == 1


def test_more_rules_besides(tree: Tree) -> None:
    code = "import jax.numpy as np\nfrom flax import nnx\n\nprint(np.ones(3))\n"
    tree({"a.py": code + "nnx.Optimizer(a, b)\n"})
    assert "NNX845" not in call("lint", "--to", "0.11", "a.py").stdout
    both = call("lint", "--to", "0.11", "--extend-select", "NNX845", "a.py").stdout
    assert "NNX845" in both
    assert "NNX101" in both


FOREIGN = {"pyproject.toml": "[project]\nname = 'x'\n", "a.py": HEAD + "manual\n", "note.toml": "a = 1\n"}


@pytest.mark.parametrize(
    "options",
    [
        ("lint", "--write-baseline", "--baseline", "pyproject.toml"),
        ("lint", "--write-baseline", "--baseline", "a.py"),
        ("lint", "--baseline", "note.toml"),
        ("lint", "--report", "a.py"),
        ("migrate", "--patch", "pyproject.toml"),
        ("lint", "--fix", "--add-ignore"),
    ],
)
def test_what_is_not_ours_is_not_overwritten(tree: Tree, options: tuple[str, ...]) -> None:
    root = tree(FOREIGN)
    result = call(*options, "a.py")
    assert result.exit_code == 2, result.output
    assert {name: (root / name).read_text() for name in FOREIGN} == FOREIGN


@pytest.mark.usefixtures("fake_rules")
@pytest.mark.parametrize("option", ["--report", "--patch"])
def test_what_an_earlier_run_wrote_is_overwritten(tree: Tree, option: str) -> None:
    root = tree({"a.py": HEAD + "old\n", "b.py": HEAD + "old\n"})
    mode = ["--check"] * (option == "--report")
    for names in (["a.py"], ["a.py", "b.py"]):
        result = call("migrate", *mode, option, "out", *names)
        assert result.exit_code == 1, result.output
    assert b"b.py" in (root / "out").read_bytes()


def test_an_interrupt_ends_a_run_with_a_line_and_a_status_of_its_own(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree({"a.py": HEAD + "old\n"})

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nnxmigrate.cli.execute.read", interrupted)
    for command in ("lint", "migrate", "status"):
        result = call(command, "a.py")
        assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


@pytest.mark.usefixtures("fake_rules")
def test_what_is_left_in_a_file_that_could_not_be_written_is_not_noted(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tree({"a.py": HEAD + "old\nmanual\n", "b.py": HEAD + "manual\n"})

    def refused(*_: object) -> None:
        raise WriteFailed("a.py", "it changed while nnxmigrate ran")

    monkeypatch.setattr("nnxmigrate.cli.git.Guarded.write", refused)
    assert call("a.py", "b.py").exit_code == 2
    assert "b.py" in (root / LEFT).read_text()
    assert "a.py" not in (root / LEFT).read_text(), "the next run finds that anew"

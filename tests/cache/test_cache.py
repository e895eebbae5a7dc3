"""Results are kept beside the project, and used as long as nothing that they depend on changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from codemods.nnx.edits import Edit
from codemods.nnx.findings import Analysis, Failure, Finding, Fix, Safety
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from nnxmigrate.cache import codec, store
from nnxmigrate.cache.store import NAME, Cache
from nnxmigrate.outcome import FileOutcome, Outcome, Status
from nnxmigrate.versions import jax_pins, pins
from tests import fake
from tests.cli.test_migrate import HEAD, call
from tests.conftest import Tree

FILES: dict[str, str | bytes] = {
    "pyproject.toml": "",
    "a.py": HEAD + "import b\nold\nmanual\n",
    "b.py": HEAD + "risky  # nnx: ignore[NNX102]\n",
    "c.py": HEAD + "manual  # nnx: ignore[NNX101]\n",
}


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files of every analysis that is made."""
    calls: list[list[str]] = []

    def analyse(sources: Sequence[Source], options: Options, asked: Collection[str] | None = None) -> Analysis:
        calls.append(sorted(asked if asked is not None else [source.path for source in sources]))
        return fake.analyse(sources, options, asked)

    monkeypatch.setattr("codemods.nnx.analyse.analyse", analyse)
    return calls


def clear_pins() -> None:
    """Forget what files say about versions, as a new process would."""
    pins.forget()
    jax_pins.forget()


@pytest.mark.parametrize("command", [["lint"], ["--check"], ["--diff"], ["lint", "--statistics"], ["--check", "-v"]])
@pytest.mark.parametrize("output", ["text", "json", "sarif"])
def test_a_second_run_says_the_same(tree: Tree, analysed: list[list[str]], command: list[str], output: str) -> None:
    tree(FILES)
    arguments = [*command, "--output-format", output, "."]
    first = call(*arguments)
    done = len(analysed)
    assert first.exit_code == (2 if "--statistics" in command and output != "text" else 1)
    second = call(*arguments)
    assert (second.stdout, second.stderr, second.exit_code) == (first.stdout, first.stderr, first.exit_code)
    assert len(analysed) == done


def test_only_what_belongs_to_a_changed_file_is_analysed_again(tree: Tree, analysed: list[list[str]]) -> None:
    root = tree(FILES)
    call("lint", ".")
    assert sorted(analysed) == [["a.py", "b.py"], ["c.py"]]
    analysed.clear()
    (root / "b.py").write_text(HEAD + "manual\n")
    assert "b.py:2:1: NNX103" in call("lint", ".").stdout
    assert analysed == [["a.py", "b.py"]]
    analysed.clear()
    (root / "b.py").write_text(str(FILES["b.py"]))
    call("lint", ".")
    assert analysed == []


@pytest.mark.parametrize(
    "change",
    [
        ["--select", "NNX101"],
        ["--to", "0.12"],
        ["--optimizer", "thread"],
        ["--fix", "--unsafe-fixes"],
        ["--exclude", "b.py"],
    ],
)
def test_other_options_are_another_question(tree: Tree, analysed: list[list[str]], change: list[str]) -> None:
    tree(FILES)
    call("lint", ".")
    analysed.clear()
    call("lint", *change, ".")
    assert analysed


def test_what_is_ignored_in_some_files_is_part_of_the_question(tree: Tree, analysed: list[list[str]]) -> None:
    table = '[tool.nnxmigrate.per-file-ignores]\n"a.py" = ["{}"]\n'
    root = tree({**FILES, "pyproject.toml": table.format("NNX101")})
    first = call("lint", ".").stdout
    assert call("lint", ".").stdout == first
    (root / "pyproject.toml").write_text(table.format("NNX103"))
    second = call("lint", ".").stdout
    assert ["a.py:3:1: NNX101" in first, "a.py:3:1: NNX101" in second] == [False, True]
    assert "a.py:4:1: NNX103" in first
    assert "a.py:4:1: NNX103" not in second
    assert len(analysed) == 2


def test_one_file_is_answered_from_a_run_over_all(tree: Tree, analysed: list[list[str]]) -> None:
    tree(FILES)
    call("lint", ".")
    analysed.clear()
    result = call("lint", "a.py")
    assert [line.split()[0] for line in result.stdout.splitlines() if " NNX" in line] == ["a.py:3:1:", "a.py:4:1:"]
    assert analysed == []


def test_pins_of_other_files_are_another_question(tree: Tree, analysed: list[list[str]]) -> None:
    other = {"other/pyproject.toml": "", "other/requirements.txt": "jax==0.4.30\n", "other/d.py": HEAD + "manual\n"}
    root = tree({**FILES, "requirements.txt": "jax==0.7.2\n", **other})
    call("lint", ".")
    assert sorted(map(sorted, analysed)) == [["a.py", "b.py"], ["c.py"], ["other/d.py"]]
    analysed.clear()
    call("lint", "a.py")
    assert analysed == []
    (root / "requirements.txt").write_text("jax==0.4.30\n")
    clear_pins()
    call("lint", "a.py")
    assert analysed == [["a.py"]]


def test_what_was_found_in_one_file_is_kept_too(tree: Tree, analysed: list[list[str]]) -> None:
    root = tree(FILES)
    call("lint", "a.py")
    assert analysed == [["a.py"]]
    (root / "c.py").write_text("x = 1\n")  # other files, but not those that a.py has to do with
    call("lint", "a.py")
    assert analysed == [["a.py"]]


def test_after_fixing_nothing_is_analysed_again(tree: Tree, analysed: list[list[str]]) -> None:
    root = tree(FILES)
    call(".")
    assert "new\n" in (root / "a.py").read_text()
    analysed.clear()
    again = call(".")
    assert analysed == []
    assert again.stdout == call(".").stdout
    assert "manual" in (root / "a.py").read_text()


def test_fixes_are_made_from_kept_results(tree: Tree, analysed: list[list[str]]) -> None:
    root = tree(FILES)
    call("--check", ".")
    analysed.clear()
    call(".")
    assert analysed == []
    assert (root / "a.py").read_text() == HEAD + "import b\nnew\nmanual\n"


def test_it_can_be_left_out_and_put_elsewhere(tree: Tree, analysed: list[list[str]]) -> None:
    root = tree(FILES)
    call("lint", "--no-cache", ".")
    assert not (root / NAME).exists()
    call("lint", "--cache-dir", "there", ".")
    assert not (root / NAME).exists()
    analysed.clear()
    call("lint", "--cache-dir", "there", ".")
    assert analysed == []
    (root / "pyproject.toml").write_text("[tool.nnxmigrate]\ncache-dir = 'kept'\n")
    call("lint", "a.py")
    assert (root / "kept" / "CACHEDIR.TAG").exists()
    (root / "pyproject.toml").write_text("[tool.nnxmigrate]\ncache = false\n")
    call("lint", ".")
    assert not (root / NAME).exists()


def test_only_a_project_gets_one(tree: Tree) -> None:
    root = tree({"a.py": HEAD})
    call("lint", "a.py")
    assert os.listdir(root) == ["a.py"]


def test_git_and_backups_leave_it_out(tree: Tree, analysed: list[list[str]]) -> None:
    root = tree(FILES)
    call("lint", ".")
    assert (root / NAME / ".gitignore").read_text() == "*\n"
    assert (root / NAME / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    (root / NAME / "x.py").write_text(HEAD + "manual\n")
    assert NAME not in call("lint", ".").stdout


@pytest.mark.parametrize(
    "junk", [b"", b"{", b'["Finding"]', b'["same", 3]', b'["os.system", "x"]', b"[[]]", b"7", b"\xff"]
)
def test_damage_costs_only_time(tree: Tree, analysed: list[list[str]], junk: bytes) -> None:
    root = tree(FILES)
    first = call("lint", ".").stdout
    kept = list((root / NAME).glob("*/*.json"))
    assert len(kept) == 3
    for path in kept:
        path.write_bytes(junk)
    analysed.clear()
    assert call("lint", ".").stdout == first
    assert len(analysed) == 2


def test_where_nothing_can_be_written_nothing_is_kept(tree: Tree, analysed: list[list[str]]) -> None:
    root = tree({**FILES, NAME: "a file in its place"})
    assert call("lint", ".").exit_code == 1
    assert (root / NAME).read_text() == "a file in its place"


def test_defects_are_not_kept(tree: Tree, analysed: list[list[str]]) -> None:
    tree({**FILES, "d.py": HEAD + "raise_\n"})
    assert call("lint", ".").exit_code == 2
    analysed.clear()
    assert call("lint", ".").exit_code == 2
    assert analysed == [["d.py"]]


def test_a_project_that_is_marked_otherwise_has_other_module_names(tree: Tree, analysed: list[list[str]]) -> None:
    root = tree({**FILES, "sub/d.py": HEAD + "manual\n"})
    call("lint", "sub", "--cache-dir", "there")
    analysed.clear()
    (root / "sub" / "pyproject.toml").touch()
    call("lint", "sub", "--cache-dir", "there")
    assert analysed


def test_the_edition_follows_the_program_and_added_rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text("x = 1\n")
    before = store.edition()
    assert store.edition() == before
    monkeypatch.setattr("nnxmigrate.own_rules.files", lambda: iter([str(rules)]))
    added = store.edition()
    rules.write_text("x = 12\n")
    assert len({before, added, store.edition()}) == 3
    monkeypatch.setattr(store, "__version__", "99")
    assert store.edition() not in {before, added}


def test_old_results_give_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "ENTRIES", 8)
    for number in range(7):
        cache = Cache(str(tmp_path / "c"))
        monkeypatch.setattr(store, "edition", lambda number=number: f"edition{number}")
        cache.keep(Outcome([]), "key")
        os.utime(tmp_path / "c" / f"edition{number}", (number, number))
    assert len(list((tmp_path / "c").glob("edition*"))) <= store.EDITIONS + 1
    cache = Cache(str(tmp_path / "c"))
    for number in range(20):
        cache.keep(Outcome([]), str(number))
        assert cache.find(str(number)) == Outcome([])
        assert len(os.listdir(tmp_path / "c" / "edition6")) <= 8
    assert cache.find("19") is not None
    assert cache.find("1") is None


def test_a_kept_analysis_shares_fixes_as_the_first_did() -> None:
    fix = Fix((("a.py", Edit(1, 2, "é\n".encode(), joins=True)), ("b.py", Edit(0, 0, b""))), Safety.UNSAFE)
    other = Fix((("a.py", Edit(1, 2, b"\r\n")),))
    found = [Finding("NNX101", "a.py", 0, 4, "message", "help", one, True) for one in (fix, other, fix, None)]
    again = codec.load(codec.dump(Analysis(found, [Failure("c.py", "reason", True)])))
    assert again.failures == [Failure("c.py", "reason", True)]
    first, second, third, last = (finding.fix for finding in again.findings)
    assert first is third
    assert first is not second
    assert last is None
    assert (first.edits, first.safety) == (fix.edits, fix.safety)
    assert codec.dump(again) == codec.dump(Analysis(found, again.failures))


def test_what_is_no_result_is_not_kept(tmp_path: Path) -> None:
    cache = Cache(str(tmp_path))
    cache.keep(object(), "key")
    cache.keep([1.5], "key")
    assert os.listdir(tmp_path) == []


def test_runs_at_the_same_time_do_each_other_no_harm(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom nnxmigrate.cache.store import Cache\n"
        "from nnxmigrate.outcome import Outcome, FileOutcome, Status\n"
        "cache = Cache(sys.argv[1])\n"
        "for n in range(300):\n"
        "    cache.keep(Outcome([FileOutcome('x' * 9999, Status.FINDINGS)]), str(n % 3))\n"
        "    assert cache.find(str(n % 3)).files[0].status is Status.FINDINGS\n"
    )
    runs = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parents[2]) for _ in "ab"]
    killed = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=Path(__file__).parents[2])
    assert [run.wait(100) for run in runs[:1]] == [0]
    killed.kill()
    killed.wait(100)
    assert [run.wait(100) for run in runs] == [0, 0]
    for path in tmp_path.glob("*/*.json"):
        json.loads(path.read_bytes())


def test_a_folder_that_another_run_makes_meanwhile_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(str(tmp_path))
    cache.keep(Outcome([]), "first")
    real, answers = os.path.isdir, [False]  # not there yet when this run looks
    monkeypatch.setattr(os.path, "isdir", lambda path: answers.pop() if answers else real(path))
    cache.keep(Outcome([FileOutcome("x.py", Status.UNCHANGED)]), "second")
    assert [one.path for one in cache.find("second").files] == ["x.py"]


def test_versions_that_the_project_asks_for_are_part_of_the_question(tree: Tree, analysed: list[list[str]]) -> None:
    tree({**FILES, "requirements.txt": "flax==0.10.7\n"})
    call("lint", ".")
    analysed.clear()
    call("lint", ".")
    assert analysed == []
    tree({"requirements.txt": "flax==0.12.0\n"})
    clear_pins()
    assert "0.12" in call("lint", ".").stdout
    assert analysed

"""The pipeline, over a fake analysis."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codemods.nnx.options import Options
from nnxmigrate.files.atomic import WriteFailed
from nnxmigrate.files.discovery import discover
from nnxmigrate.outcome import Outcome, Status
from nnxmigrate.project import load
from nnxmigrate.run import run, run_project
from nnxmigrate.settings import Settings
from tests import fake
from tests.conftest import Tree

pytestmark = pytest.mark.usefixtures("fake_rules")

HEAD = "from flax import nnx\n"


def go(**choices: object) -> Outcome:
    """Run the pipeline over the working directory."""
    return run(discover(["."]), Settings(**choices))  # type: ignore[arg-type]


def statuses(outcome: Outcome) -> dict[str, str]:
    """Return the status of every file."""
    return {file.path: file.status.name for file in outcome.files}


@pytest.mark.parametrize(
    ("before", "after", "status", "code", "choices"),
    [
        ("old\n", "new\n", "CHANGED", 0, {}),
        ("old\nmanual\n", "new\nmanual\n", "CHANGED", 1, {}),
        ("manual\n", None, "FINDINGS", 1, {}),
        ("risky\n", None, "FINDINGS", 1, {}),
        ("risky\n", "safe\n", "CHANGED", 0, {"unsafe_fixes": True}),
        ("old\n", None, "CHANGED", 1, {"write": False}),
        ("old\n", None, "FINDINGS", 1, {"fix": False}),
        ("fine\n", None, "UNCHANGED", 0, {}),
        ("outer(old)\n", "new()\n", "CHANGED", 0, {}),  # the second fix has to wait for the first
        ("x = (\n", None, "FAILED", 2, {}),
        ("broken\n", None, "FAILED", 2, {}),
        ("endless\n", None, "FAILED", 2, {}),
        ("raise_\n", None, "FAILED", 2, {}),
        ("old  # nnx: ignore\n", None, "UNCHANGED", 0, {}),
    ],
)
def test_one_file(
    tree: Tree, before: str, after: str | None, status: str, code: int, choices: dict[str, object]
) -> None:
    root = tree({"a.py": HEAD + before, "z.py": HEAD + "old\n"})
    outcome = go(**choices)
    assert statuses(outcome)["a.py"] == status
    assert outcome.exit_code == max(code, 0 if choices.get("write", True) and choices.get("fix", True) else 1)
    assert (root / "a.py").read_text() == HEAD + (before if after is None else after)
    untouched = not choices.get("write", True) or not choices.get("fix", True)
    assert (root / "z.py").read_text() == HEAD + ("old\n" if untouched else "new\n"), "one bad file stopped the run"


@pytest.mark.parametrize("word", ["broken", "endless", "raise_"])
def test_our_defects_are_called_so(tree: Tree, word: str) -> None:
    tree({"a.py": HEAD + word})
    assert go().files[0].internal


def test_a_fix_is_made_in_all_files_or_in_none(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    text = {"a.py": HEAD + "import b\nshared\n", "b.py": HEAD + "shared\nold\n", "c.py": HEAD + "old\n"}
    root = tree(text)
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("a.py") and access(path, mode))
    outcome = go()
    assert statuses(outcome) == {"a.py": "FAILED", "b.py": "CHANGED", "c.py": "CHANGED"}
    assert (root / "a.py").read_text() == text["a.py"]
    assert (root / "b.py").read_text() == HEAD + "shared\nnew\n"
    assert [(one.code, one.path) for one in outcome.left] == [("NNX106", "a.py"), ("NNX106", "b.py")]
    monkeypatch.undo()
    os.chdir(root)


def test_a_write_that_fails_late_is_undone(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    text = {"a.py": HEAD + "import b\nshared\n", "b.py": HEAD + "shared\n", "c.py": HEAD + "old\n"}
    root = tree(text)
    replace = os.replace

    def full(source: str, target: str) -> None:
        if target.endswith("b.py"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    outcome = go()
    assert statuses(outcome) == {"a.py": "FAILED", "b.py": "FAILED", "c.py": "CHANGED"}
    assert {name: (root / name).read_text() for name in text} == {**text, "c.py": HEAD + "new\n"}
    assert sorted(os.listdir(root)) == sorted(text), "temporary files are left"
    assert {one.path for one in outcome.left} == {"a.py", "b.py"}
    assert {one.path for one in outcome.fixed} == {"c.py"}


def test_what_the_user_saves_meanwhile_is_kept(tree: Tree) -> None:
    text = {"a.py": HEAD + "import b\nshared\n", "b.py": HEAD + "shared\n", "c.py": HEAD + "old\n"}
    root = tree(text)
    project = load(discover(["."]))
    edited = text["b.py"] + "# a thought\n"
    (root / "b.py").write_text(edited)
    outcome = run_project(project, Settings())
    assert statuses(outcome) == {"a.py": "FAILED", "b.py": "FAILED", "c.py": "CHANGED"}
    assert {file.path: file.reason for file in outcome.files} == {
        "a.py": f"left alone, as {project.paths['b.py']} cannot be written",
        "b.py": "cannot be written: it changed while nnxmigrate ran",
        "c.py": "",
    }
    assert {name: (root / name).read_text() for name in text} == {**text, "b.py": edited, "c.py": HEAD + "new\n"}


class HalfWritten:
    """Fails on the first file of several after the others were changed."""

    def refusal(self, path: str) -> str | None:
        """Refuse nothing."""
        return None

    def write(self, contents: Mapping[str, bytes], read: Mapping[str, bytes | None]) -> None:
        """Fail."""
        first, *others = sorted(contents)
        raise WriteFailed(first, "Input/output error", others)


def test_files_that_keep_half_a_fix_are_failures(tree: Tree) -> None:
    tree({"a.py": HEAD + "import b\nshared\n", "b.py": "shared\n"})
    outcome = run_project(load(discover(["."])), Settings(), HalfWritten())
    assert statuses(outcome) == {"a.py": "FAILED", "b.py": "FAILED"}, "also the one that does not mention NNX"
    assert "b.py had been changed" in outcome.files[0].reason
    assert "could not be changed back" in outcome.files[1].reason
    assert outcome.exit_code == 2


def test_a_fix_that_breaks_one_file_is_not_made_in_the_other(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    text = {"a.py": HEAD + "import b\nshared\nold\n", "b.py": HEAD + "None.shared\n"}
    root = tree(text)
    monkeypatch.setattr(fake, "COMMON", {"b.py": b"1x"})
    outcome = go()
    assert statuses(outcome) == {"a.py": "CHANGED", "b.py": "FAILED"}
    assert (root / "a.py").read_text() == HEAD + "import b\nshared\nnew\n"
    assert (root / "b.py").read_text() == text["b.py"]


@pytest.mark.parametrize(("jobs", "word"), [(1, "raise_"), (2, "raise_"), (2, "crash_")])
def test_only_the_group_with_the_defect_fails(tree: Tree, jobs: int, word: str) -> None:
    tree({"a.py": HEAD + "import b\n", "b.py": HEAD + word, "c.py": HEAD + "old\n", "d.py": HEAD + "old\n"})
    assert statuses(go(jobs=jobs)) == {"a.py": "FAILED", "b.py": "FAILED", "c.py": "CHANGED", "d.py": "CHANGED"}


def test_a_process_may_crash_before_all_groups_are_handed_over(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    submit = ProcessPoolExecutor.submit

    def slowly(pool: ProcessPoolExecutor, *given: Any) -> Any:
        handed = submit(pool, *given)
        handed.exception()
        return handed

    monkeypatch.setattr(ProcessPoolExecutor, "submit", slowly)
    tree({"a.py": HEAD + "crash_old_longest", "c.py": HEAD + "old\n", "d.py": HEAD + "old\n"})
    assert statuses(go(jobs=2)) == {"a.py": "FAILED", "c.py": "CHANGED", "d.py": "CHANGED"}


def test_processes_change_nothing(tree: Tree) -> None:
    files = {f"m{n}.py": HEAD + "old\nmanual\n" for n in range(6)}
    root = tree(files)
    alone = go(jobs=1, write=False)
    together = go(jobs=3, write=False)
    assert (alone.left, alone.fixed, alone.files) == (together.left, together.fixed, together.files)
    assert len(alone.left) == 6
    assert {path.read_text() for path in root.glob("*.py")} == set(files.values())


def test_files_without_nnx_are_analysed_if_an_import_connects_them(tree: Tree) -> None:
    root = tree(
        {
            "lab/__init__.py": "",
            "lab/make.py": HEAD,
            "lab/step.py": "old\n",  # imported by one that imports make.py
            "train.py": "from lab import make\nimport lab.step\nold\n",
            "other.py": "old\n",
            "helped.py": "import lab.step\nold\n",  # shares only a helper: no object of make.py gets there
        }
    )
    go()
    assert {path.name for path in root.rglob("*.py") if b"new" in path.read_bytes()} == {"step.py", "train.py"}


def test_places_are_those_of_the_text_the_user_then_sees(tree: Tree) -> None:
    text = HEAD + "outer(x)\nold; manual\n"
    for write in (False, True):
        tree({"a.py": text})
        assert [(one.code, one.place) for one in go(write=write).left] == [("NNX103", "a.py:3:6")]
    tree({"a.py": HEAD + "old; old\n"})
    assert [one.start.column for one in go().fixed] == [1, 6]


def test_what_stays_moves_with_the_text_above_it(tree: Tree) -> None:
    tree({"a.py": HEAD + "outer(old); risky\n"})
    outcome = go()
    assert [(one.start.column, [part.start.column for part in one.replacements]) for one in outcome.left] == [(8, [8])]


def test_what_was_offered_and_is_done_by_another_rule_is_not_left(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "old\nlater\n"})
    outcome = go()
    assert (root / "a.py").read_text() == HEAD + "new\nsafe\n"
    assert (list(outcome.left), outcome.exit_code) == ([], 0)


def test_todo_comments_come_and_go(tree: Tree) -> None:
    text = HEAD + "if x:\n    y = [\n        manual,\n        old,\n    ]\n"
    root = tree({"a.py": text})
    marked = (
        HEAD
        + "if x:\n    # TODO(nnxmigrate): NNX103 the word MANUAL\n    y = [\n        manual,\n        new,\n    ]\n"
    )
    first = go(todo=True)
    assert (root / "a.py").read_text() == marked
    assert [one.place for one in first.left] == ["a.py:5:9"]
    second = go(todo=True)
    assert (root / "a.py").read_text() == marked
    assert (second.exit_code, statuses(second)) == (1, {"a.py": "FINDINGS"})
    (root / "a.py").write_text(marked.replace("manual,", "done,"))
    assert go(todo=True).exit_code == 0
    assert (root / "a.py").read_text() == text.replace("manual,", "done,").replace("old", "new")


def test_todo_comments_keep_line_ends_and_strings(tree: Tree) -> None:
    root = tree({"a.py": b'from flax import nnx\r\nx = """\r\n# TODO(nnxmigrate): text\r\n"""; manual\r\n'})
    go(todo=True)
    assert (root / "a.py").read_bytes() == (
        b"from flax import nnx\r\n# TODO(nnxmigrate): NNX103 the word MANUAL\r\n"
        b'x = """\r\n# TODO(nnxmigrate): text\r\n"""; manual\r\n'
    )


MALFORMED = (": NNX101", " NNX101", "(NNX101)", "[NNX101", "[]", "[ ]", ":NNX101,NNX102", "-file: NNX101")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x = 1  # nnx: ignore", "nothing is found here"),
        ("x = 1  # nnx: ignore[NNX000]", "there is no rule NNX000"),
        ("old  # nnx: ignore[NNX101]", None),
        ("old  # nnx: ignore[NNX1]", None),
        ("old  # nnx:ignore [nnx101] because it is fine", None),
        ("(\n    old,\n    x,  # nnx: ignore[NNX101]\n)", "NNX101 is not found here"),
        ("old  # nnx: ignore[NNX101, NNX109]", "NNX109 is not found here"),
        ("x = '# nnx: ignore'", None),
        ("# nnx: ignore-file[NNX101]\nold", None),
        ("# nnx: ignore-file\nx = 1", "nothing is found here"),
        *((f"old  # nnx: ignore{form}", "this comment silences nothing") for form in MALFORMED),
        ("old  # nnx: ignore because it is meant", None),
        ("old  # nnx: ignore -- see #12", None),
    ],
)
def test_suppressions_that_suppress_nothing(tree: Tree, line: str, message: str | None) -> None:
    tree({"a.py": HEAD + line + "\n"})
    outcome = go(fix=False, audit=True, options=Options(lint=True))
    assert [one.message for one in outcome.left if one.code == "NNX001"] == ([message] if message else [])


@pytest.mark.parametrize("form", MALFORMED)
def test_a_comment_that_cannot_be_read_silences_nothing(tree: Tree, form: str) -> None:
    tree({"a.py": HEAD + f"manual  # nnx: ignore{form}\n"})
    outcome = go(fix=False, audit=True, options=Options(lint=True))
    assert [one.code for one in outcome.left] == ["NNX103", "NNX001"]


def test_a_silenced_place_keeps_the_whole_fix_away(tree: Tree) -> None:
    root = tree({"a.py": HEAD + "shared\nshared  # nnx: ignore\n"})
    outcome = go()
    assert [one.place for one in outcome.left] == ["a.py:2:1"]
    assert (root / "a.py").read_text() == HEAD + "shared\nshared  # nnx: ignore\n"


def test_unreadable_things_are_told_apart(tree: Tree) -> None:
    root = tree(
        {
            "bad.py": b"from flax import nnx\nx = '\xff'\n",
            "helper.py": b"x = '\xff'\n",
            "main.py": HEAD + "import helper\n",
            "unrelated.py": b"\xff\x00",
        }
    )
    (root / "dangling.py").symlink_to("nowhere.py")
    outcome = run([*discover(["."]), *discover(["missing.py"])], Settings())
    assert statuses(outcome) == {
        "bad.py": "FAILED",
        "dangling.py": "SKIPPED",
        "helper.py": "SKIPPED",
        "main.py": "UNCHANGED",
        "unrelated.py": "UNCHANGED",
        "missing.py": "FAILED",
    }
    assert outcome.exit_code == 2
    assert all(file.reason for file in outcome.files if file.status in (Status.FAILED, Status.SKIPPED))


def test_new_files_are_created_but_never_overwritten(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    from codemods.nnx.edits import Edit
    from codemods.nnx.findings import Analysis, Finding, Fix

    fix = Fix((("_compat.py", Edit(0, 0, b"x = 1\n")), ("a.py", Edit(0, 0, b"import _compat\n"))))

    def analyse(sources: object, options: object, asked: object) -> Analysis:
        todo = [source for source in sources if source.path == "a.py" and b"_compat" not in source.data]  # type: ignore[attr-defined]
        return Analysis([Finding("NNX101", source.path, 0, 4, "needs help", fix=fix) for source in todo])

    monkeypatch.setattr("codemods.nnx.analyse.analyse", analyse)
    root = tree({"a.py": HEAD, "_compat.py": "mine = 1\n"})
    outcome = go()
    assert (root / "_compat.py").read_text() == "mine = 1\n"
    assert "not among the files given" in outcome.left[0].help
    (root / "_compat.py").unlink()
    assert statuses(go()) == {"a.py": "CHANGED", "_compat.py": "CHANGED"}
    assert (root / "_compat.py").read_text() == "x = 1\n"


def test_permissions_and_links_stay(tree: Tree, tmp_path: Path) -> None:
    root = tree({"real/a.py": HEAD + "old\n"})
    (root / "real/a.py").chmod(0o640)
    (root / "link.py").symlink_to("real/a.py")
    run(discover(["link.py"]), Settings())
    assert (root / "link.py").is_symlink()
    assert (root / "real/a.py").read_text() == HEAD + "new\n"
    assert (root / "real/a.py").stat().st_mode & 0o777 == 0o640


def test_without_a_project_the_files_beside_that_are_imported_are_context(tree: Tree) -> None:
    text = {"a.py": HEAD + "import b\nshared\nold\n", "b.py": HEAD + "shared\nold\n"}
    root = tree(text)
    outcome = run(discover(["a.py"]), Settings())
    assert (root / "a.py").read_text() == HEAD + "import b\nshared\nnew\n"
    assert (root / "b.py").read_text() == text["b.py"]
    assert [one.help for one in outcome.left] == [
        "not fixed: b.py would have to change and is not among the files given"
    ]


def test_the_project_around_the_files_named_is_context(tree: Tree) -> None:
    text = {"a.py": HEAD + "import b\nshared\nold\n", "b.py": HEAD + "shared\nold\n", "c.py": HEAD + "shared\nold\n"}
    root = tree({**text, "pyproject.toml": ""})
    outcome = run(discover(["a.py", "c.py"]), Settings())
    assert statuses(outcome) == {"a.py": "CHANGED", "c.py": "CHANGED"}
    assert (root / "a.py").read_text() == HEAD + "import b\nshared\nnew\n"
    assert (root / "b.py").read_text() == text["b.py"]
    assert (root / "c.py").read_text() == HEAD + "common\nnew\n"
    assert [(one.place, one.help) for one in outcome.left] == [
        ("a.py:3:1", "not fixed: b.py would have to change and is not among the files given")
    ]


@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_rests_during_an_analysis(monkeypatch: pytest.MonkeyPatch, enabled: bool) -> None:
    import gc

    from codemods.nnx.options import Options
    from codemods.nnx.source import Source
    from nnxmigrate.analysing import analysed

    seen: list[bool] = []

    def analyse(*_: object) -> None:
        seen.append(gc.isenabled())
        raise RuntimeError("a defect")

    monkeypatch.setattr("codemods.nnx.analyse.analyse", analyse)
    before = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        assert analysed([Source("a.py", b"")], Options()).failures
        assert (seen, gc.isenabled()) == ([False], enabled)
    finally:
        (gc.enable if before else gc.disable)()

"""The benchmark with Flax's own tests: what is said about a test that stays broken."""

from __future__ import annotations

from pathlib import Path

from benchmarks.flax_tests import SENTENCES, TESTS, Left, _left, places, said
from codemods.nnx.unavoidable import CHANGES

FILE = """\
class Helper:
    def read(self):
        return 1


class TestThings:
    def test_one(self):
        assert Helper().read()

    def test_two(self):
        assert 2
"""


def test_every_sentence_stands_in_the_documentation_once() -> None:
    for beginning in SENTENCES.values():
        assert [change.what.startswith(beginning) for change in CHANGES].count(True) == 1, beginning


def test_findings_count_in_a_test_and_in_what_it_uses(tmp_path: Path) -> None:
    folder = tmp_path / TESTS
    folder.mkdir(parents=True)
    (folder / "things_test.py").write_text(FILE)
    where = places(tmp_path)
    path = f"{TESTS}/things_test.py"
    left = [Left(path, (3, 30), "NNX401"), Left("other.py", (8,), "NNX402"), Left(path, (11,), "NNX403")]
    assert said("tests.nnx.things_test.TestThings.test_one", where, left) == ["NNX401:3"]
    assert said("tests.nnx.things_test.TestThings.test_two0", where, left) == ["NNX403:11"]
    told = said("tests.nnx.summary_test.SummaryTest.test_tabulate", where, left)
    assert len(told) == 1
    assert told[0].startswith("docs/changes.md: `nnx.tabulate`")


def test_the_places_that_a_finding_names_count_too() -> None:
    found = {
        "path": "a.py",
        "start": {"line": 4, "column": 1},
        "code": "NNX611",
        "message": "no mesh is set in this project; so are those in lines 7, 9 and 12, line 3 of b.py",
        "related": [{"start": {"line": 40, "column": 2}}],
    }
    assert {(one.path, frozenset(one.lines)) for one in _left(found)} == {
        ("a.py", frozenset({4, 7, 9, 12, 40})),
        ("b.py", frozenset({3})),
    }

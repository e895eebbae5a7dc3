"""The forms of the report, for one outcome that holds everything."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from nnxmigrate.report.sarif import driver
from nnxmigrate.rules import all_rules
from tests.cli.test_migrate import HEAD, call
from tests.conftest import Tree

pytestmark = pytest.mark.usefixtures("fake_rules")

BOOK = '{"cells": [\n{"cell_type": "code", "source": ["from flax import nnx\\n",\n "old; manual"]}]}'
FILES = {
    "a b,c.py": HEAD + "é = old; manual; risky\n",
    "bad.py": HEAD + "x = (\n",
    "<&>.py": HEAD + "manual  # [/red] %0A <script>\x01\n",
    "n.ipynb": BOOK,
    "ok.py": HEAD,
}


@pytest.fixture
def project(tree: Tree) -> Path:
    """Return a folder with files of every fate."""
    return tree(FILES)


def report(form: str, *options: str) -> str:
    """Return the report of a check."""
    result = call("--check", "--output-format", form, *options, ".")
    assert result.exit_code == 2
    return result.stdout


@pytest.mark.usefixtures("project")
def test_json() -> None:
    content = json.loads(report("json"))
    assert content["counts"] == {"changed": 2, "unchanged": 1, "findings": 1, "skipped": 0, "failed": 1}
    assert {file["path"]: file["status"] for file in content["files"]} == {
        "a b,c.py": "changed",
        "bad.py": "failed",
        "<&>.py": "findings",
        "n.ipynb": "changed",
    }
    by_place = {(one["path"], one["code"]): one for one in content["findings"] + content["fixed"]}
    risky = by_place["a b,c.py", "NNX102"]
    assert risky["start"] == {"line": 2, "column": 18}
    assert risky["fix"]["safety"] == "unsafe"
    assert risky["fix"]["edits"] == [
        {"path": "a b,c.py", "start": {"line": 2, "column": 18}, "end": {"line": 2, "column": 23}, "text": "safe"}
    ]
    assert by_place["a b,c.py", "NNX103"]["fix"] is None
    assert by_place["n.ipynb", "NNX101"]["start"] == {"cell": 1, "line": 2, "column": 1}


@pytest.mark.usefixtures("project")
def test_github() -> None:
    lines = report("github").splitlines()
    assert lines[0].startswith("::error file=bad.py,title=nnxmigrate::line 2: ")
    assert "::error file=a b%2Cc.py,line=2,col=10,title=nnxmigrate (NNX103)::a b,c.py:2:10: " in "\n".join(lines)
    assert any(line.startswith("::error file=n.ipynb,line=3,title=") for line in lines)
    assert all(re.match(r"::(error|warning) file=[^:]+::\S", line) for line in lines)
    assert len(lines) == 1 + 6


def schema() -> dict[str, Any]:
    """Return the part of the standard's schema that speaks about what the report uses.

    Unlike the standard's it knows no other properties, so that a misspelt one is found.
    """
    return json.loads((Path(__file__).parent / "sarif-subset.json").read_text())  # type: ignore[no-any-return]


@pytest.mark.usefixtures("project")
def test_sarif_against_the_full_schema() -> None:
    """The standard's own schema may not be copied; ``NNXMIGRATE_SARIF_SCHEMA`` says where it is."""
    file = os.environ.get("NNXMIGRATE_SARIF_SCHEMA")
    if not file:
        pytest.skip("NNXMIGRATE_SARIF_SCHEMA names no file with the schema of SARIF 2.1.0")
    full = json.loads(Path(file).read_text(encoding="utf-8"))
    jsonschema.validators.validator_for(full)(full).validate(json.loads(report("sarif")))


@pytest.mark.usefixtures("project")
def test_sarif_says_how_bad_findings_are_and_where_more_is_said() -> None:
    run = json.loads(report("sarif"))["runs"][0]
    rules = {rule["id"]: rule for rule in driver({rule.code for rule in all_rules()})["rules"]}
    assert rules["NNX101"]["defaultConfiguration"] == {"level": "error"}
    assert rules["NNX830"]["defaultConfiguration"] == {"level": "error"}
    assert rules["NNX901"]["defaultConfiguration"] == {"level": "note"}
    assert all(rule["helpUri"].startswith("https://") for rule in rules.values())
    assert {result["level"] for result in run["results"]} == {"error"}


def test_sarif_without_results_lists_no_rules(tree: Tree) -> None:
    tree({"a.py": HEAD})
    log = json.loads(call("lint", "--output-format", "sarif", "a.py").stdout)
    jsonschema.Draft202012Validator(schema()).validate(log)
    assert (log["runs"][0]["tool"]["driver"]["rules"], log["runs"][0]["results"]) == ([], [])


@pytest.mark.usefixtures("project")
def test_sarif() -> None:
    log = json.loads(report("sarif"))
    jsonschema.Draft202012Validator(schema()).validate(log)
    run = log["runs"][0]
    known = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} == {"NNX101", "NNX102", "NNX103"} == known
    prints = [result["partialFingerprints"]["nnxmigrate/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints) == 6
    fixes = {result["ruleId"]: result["fixes"] for result in run["results"] if "fixes" in result}
    change = fixes["NNX102"][0]["artifactChanges"][0]
    assert change["artifactLocation"]["uri"] == "a%20b%2Cc.py"
    assert change["replacements"][0]["deletedRegion"] == {
        "startLine": 2,
        "startColumn": 18,
        "endLine": 2,
        "endColumn": 23,
    }
    assert run["invocations"][0]["executionSuccessful"] is False
    assert len(run["invocations"][0]["toolExecutionNotifications"]) == 1


def test_fingerprints_survive_lines_above(project: Path) -> None:
    def prints() -> set[str]:
        results = json.loads(report("sarif"))["runs"][0]["results"]
        return {result["partialFingerprints"]["nnxmigrate/v1"] for result in results}

    before = prints()
    (project / "a b,c.py").write_text("\n\n# more\n" + FILES["a b,c.py"])
    assert prints() == before
    (project / "a b,c.py").write_text(FILES["a b,c.py"].replace("é", "è"))
    assert len(prints() & before) == 3


@pytest.mark.usefixtures("project")
def test_junit() -> None:
    suite = ET.fromstring(report("junit"))
    assert {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8",
        "failures": "6",
        "errors": "1",
        "skipped": "0",
    }
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases["bad.py"] == ["error"]
    assert sum(tags == ["failure"] for tags in cases.values()) == 6, "a test case for each finding"
    assert "a b,c.py" not in cases
    assert cases["ok.py"] == []
    strange = next(case for case in suite if str(case.get("name")).startswith("<&>.py:"))
    assert "\\x01" in (strange.findtext("failure") or "")


def test_page(project: Path) -> None:
    report("text", "--report", "page.html")
    page = (project / "page.html").read_text(encoding="utf-8")
    assert "&lt;&amp;&gt;.py" in page
    assert page.count("<script>") == 1, "what was found is no code of the page"
    assert not re.search(r"""src=|<link|url\(|@import""", page), "the page needs something else"
    for part in (">NNX101</a></td>", "cell 1, line 2, column 6", '<span class="add">+é = new; manual; risky</span>'):
        assert part in page


@pytest.mark.parametrize("form", ["json", "sarif", "junit"])
def test_nothing_at_all(tree: Tree, form: str) -> None:
    tree({})
    result = call("--output-format", form, ".")
    assert result.exit_code == 0
    assert ET.fromstring(result.stdout) is not None if form == "junit" else json.loads(result.stdout)

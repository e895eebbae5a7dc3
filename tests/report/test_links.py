"""Where the documentation of a rule is, is said by one function."""

from __future__ import annotations

import json
import re
from pathlib import Path

from nnxmigrate.links import SITE, rule_url
from nnxmigrate.rules import all_rules
from tests.cli.test_migrate import call
from tests.conftest import Tree
from tests.test_hostile import HEAD, OLD

ROOT = Path(__file__).resolve().parents[2]


def test_every_rule_has_a_page() -> None:
    pages = {f"{SITE}rules/{path.stem}.html" for path in (ROOT / "docs" / "rules").glob("NNX*.md")}
    assert {rule_url(rule.code) for rule in all_rules()} == pages
    assert rule_url("LAB101") == ""
    assert f'Documentation = "{SITE}"' in (ROOT / "pyproject.toml").read_text()


def test_reports_lead_there(tree: Tree) -> None:
    tree({"a.py": HEAD + OLD})
    call("lint", "--report", "page.html", "a.py")
    assert f'<a href="{rule_url("NNX101")}">NNX101</a>' in Path("page.html").read_text()
    log = json.loads(call("lint", "--output-format", "sarif", "a.py").stdout)
    codes = {result["ruleId"] for result in log["runs"][0]["results"]}
    assert {rule["helpUri"] for rule in log["runs"][0]["tool"]["driver"]["rules"]} == set(map(rule_url, codes))
    assert rule_url("NNX101") in call("rule", "NNX101").stdout
    other = [path for path in (ROOT / "nnxmigrate").rglob("*.py") if re.search(SITE, path.read_text())]
    assert other == [ROOT / "nnxmigrate" / "links.py"]

"""The pages in docs that are made from the rules say what the rules say, and leave nothing out."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from codemods.nnx.rule import Kind
from codemods.nnx.unavoidable import CHANGES
from nnxmigrate.cli import COMMANDS
from nnxmigrate.rules import all_rules

DOCS = Path(__file__).parents[1] / "docs"
ROOT = DOCS.parent


def test_pages_are_up_to_date() -> None:
    """`python docs/generate.py` would change nothing."""
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    paths = [DOCS / "changes.md", DOCS / "confidence.md", *(DOCS / "rules").glob("*.md")]
    written = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    assert written == module.pages()


def test_every_change_is_in_the_table() -> None:
    """Each rule of the migration has one row, and each change without a rule too."""
    text = (DOCS / "changes.md").read_text(encoding="utf-8")
    rows = re.findall(r"\[(NNX\d+)\]", text)
    assert rows == [rule.code for rule in all_rules() if rule.kind is not Kind.LINT]
    assert [text.count(f"| {change.what} |") for change in CHANGES] == [1] * len(CHANGES)


def test_the_readme_leads_to_every_page_and_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT).as_posix() for path in DOCS.glob("*.md")]
    assert [page for page in [*pages, "docs/rules/index.md"] if f"({page})" not in text] == []
    assert [command for command in COMMANDS if command != "migrate" and f"nnxmigrate {command}" not in text] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/changes.md", "docs/architecture.md"])
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = [link for link in re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8")) if "://" not in link]
    assert links
    assert [link for link in links if not (path.parent / link).exists()] == []

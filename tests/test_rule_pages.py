"""The pages in docs/rules say what the rules say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_pages_are_up_to_date() -> None:
    """`python docs/generate_rules.py` would change nothing."""
    spec = importlib.util.spec_from_file_location("generate_rules", DOCS / "generate_rules.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "rules").glob("*.md")}
    assert written == module.pages()

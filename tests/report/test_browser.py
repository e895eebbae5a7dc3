"""The page in a real browser, without a window."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_migrate import HEAD, call
from tests.conftest import Tree

pytestmark = pytest.mark.usefixtures("fake_rules")

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None
)


def browse(page: Path, *options: str) -> str:
    """Return the document as it stands after the browser has run its scripts.

    Where ``NNXMIGRATE_TESTS_NEED_BROWSER`` is set, as in continuous integration, a missing browser is a failure.
    """
    if BROWSER is None:
        if os.environ.get("NNXMIGRATE_TESTS_NEED_BROWSER"):
            pytest.fail("no Chromium is installed: apt-get install chromium")
        pytest.skip("no Chromium is installed (Debian: apt-get install chromium)")
    command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    command += [f"--user-data-dir={page.parent / 'profile'}", "--virtual-time-budget=2000", *options]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout


@pytest.fixture
def page(tree: Tree) -> Path:
    """Return a report on two files and a notebook."""
    book = {"cells": [{"cell_type": "markdown", "source": "x"}, {"cell_type": "code", "source": HEAD + "old; manual"}]}
    root = tree(
        {
            "a.py": HEAD + "old\nmanual  # <script>alert(1)</script>\nrisky\n",
            "b.py": HEAD + "manual\n",
            "n.ipynb": json.dumps(book),
        }
    )
    assert call("--check", "--report", "page.html", ".").exit_code == 1
    return root / "page.html"


def test_the_page_as_a_browser_shows_it(page: Path) -> None:
    text = browse(page, "--dump-dom")
    assert '<span id="shown">4 findings shown</span>' in text, "the script ran"
    assert "alert(1)" in text
    assert "<script>alert" not in text
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", text)
    assert "<code>nnxmigrate --check --report page.html .</code>" in text
    assert "Flax 0.10 → 0.11 and 0.12" in text
    assert "<p>Cell 2</p>" in text
    assert '"cell_type"' not in text, "cells are shown as cells"
    for code in re.findall(r'href="#(NNX\d+)"', text):
        assert f'<h3 id="{code}">' in text


def test_filters(page: Path) -> None:
    chosen = page.with_name("chosen.html")
    pick = "rule.value = 'NNX103'; file.value = 'b.py'; filter();"
    chosen.write_text(page.read_text(encoding="utf-8").replace("</script>\n</body>", f"{pick}</script>\n</body>"))
    text = browse(chosen, "--dump-dom")
    assert '<span id="shown">1 finding shown</span>' in text
    shown = re.findall(r'<div data-code="(\w+)" data-path="([^"]+)">', text)
    assert shown == [("NNX103", "b.py")]


def test_a_picture_of_it(page: Path) -> None:
    picture = page.with_name("page.png")
    browse(page, "--window-size=1200,1600", f"--screenshot={picture}")
    data = picture.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert len(data) > 20_000, "more than an empty page"

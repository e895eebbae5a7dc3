"""Properties that hold for every text, tried on real programs that are bent in many ways."""

from __future__ import annotations

import ast
import difflib
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from codemods.nnx.analyse import analyse
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from tests.migration import migrated

FIXTURES = Path(__file__).parents[2] / "fixtures"
TEXTS = [path.read_text() for path in sorted(FIXTURES.rglob("*.py")) if "checkpoints" not in path.parts]
ENDINGS = ("\n", "\r\n", "\r")


@st.composite
def bent(draw: st.DrawFn) -> str:
    """Return the text of a fixture with lines taken away, doubled, moved or commented, and other line endings."""
    lines = draw(st.sampled_from(TEXTS)).splitlines()
    for _ in range(draw(st.integers(0, 4))):
        if not lines:
            break
        place = draw(st.integers(0, len(lines) - 1))
        other = draw(st.integers(0, len(lines) - 1))
        change = draw(st.sampled_from(("drop", "double", "move", "comment", "blank", "tab")))
        if change == "drop":
            del lines[place]
        elif change == "double":
            lines.insert(other, lines[place])
        elif change == "move":
            lines.insert(other, lines.pop(place))
        elif change == "comment":
            lines[place] += draw(st.sampled_from(("  # höher", "  # nnx.Optimizer(model, tx)", "\f", "   ")))
        elif change == "blank":
            lines.insert(place, draw(st.sampled_from(("", "    ", "\f", "# é"))))
        else:
            lines[place] = lines[place].replace("    ", "\t")
    return draw(st.sampled_from(ENDINGS)).join(lines) + draw(st.sampled_from(("", "\n", "\n\n")))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=bent(), target=st.sampled_from((("0.11",), ("0.12",))))
@example(text="", target=("0.11",))
@example(text="from flax import nnx\nprint(nnx.Param.state(nnx.Rngs(0)()).value)\n", target=("0.12",))
@example(text="from flax import nnx\nnnx.Optimizer", target=("0.12",))
def test_any_text(text: str, target: tuple[str, ...]) -> None:
    """Never crashes; the result parses; rounds come to an end; lines without an edit stay."""
    options = Options(targets=target)
    if not _parses(text):
        assert analyse([Source("main.py", text.encode(), "main")], options).failures
        return
    once = migrated(text, options)[0]["main.py"]
    assert _parses(once)
    rounds = [once]  # a fix may make another possible, as a run knows
    while len(rounds) < 5 and (again := migrated(rounds[-1], options)[0]["main.py"]) != rounds[-1]:
        rounds.append(again)
    assert len(rounds) < 5
    assert _parses(rounds[-1])
    kept = difflib.SequenceMatcher(None, text.splitlines(True), once.splitlines(True), autojunk=False)
    changed = sum(i2 - i1 for tag, i1, i2, _, _ in kept.get_opcodes() if tag != "equal")
    findings = analyse([Source("main.py", text.encode(), "main")], options).findings
    edits = {e for f in findings if f.fix is not None for _, e in f.fix.edits}
    touched = sum(text.encode()[e.start : e.end].count(b"\n") + 1 for e in edits)
    assert changed <= touched

"""All pairs of wrong and right programs, and what they do under a Flax release."""

from __future__ import annotations

import re
from pathlib import Path

from tests.batch import execute_all
from tests.lint.programs import (
    Pair,
    asked,
    attention,
    files,
    formulas,
    fresh,
    habits,
    known,
    mended,
    questions,
    recipes,
    reported,
    research,
    scripts,
    states,
    traps,
    unsaid,
    unseen,
)

PAIRS: dict[str, Pair] = {
    **known.PAIRS,
    **unsaid.PAIRS,
    **unseen.PAIRS,
    **asked.PAIRS,
    **fresh.PAIRS,
    **questions.PAIRS,
    **research.PAIRS,
    **scripts.PAIRS,
    **recipes.PAIRS,
    **traps.PAIRS,
    **reported.PAIRS,
    **habits.PAIRS,
    **mended.PAIRS,
    **states.PAIRS,
    **attention.PAIRS,
    **formulas.PAIRS,
}
_LOADER = "import sys, types\nfor _name, _text in {texts!r}.items():\n    _made = types.ModuleType(_name)\n    \
exec(_text, _made.__dict__)\n    sys.modules[_name] = _made\n"
# Flax 0.10 has no model in Optimizer.update
_UPDATE = re.compile(r"(\.update\()(?:self\.)?\w+, (grads?\))")


def check_runs(version: str, folder: Path) -> None:
    """Check that the right programs run, and that the wrong ones raise, or do something else.

    Args:
        version: a key of :data:`tests.environments.PINS`.
        folder: an empty one.

    Raises:
        AssertionError: if one does not.
    """
    pairs = {name: pair for name, pair in PAIRS.items() if pair.since <= version}
    done = execute_all(version, _texts(version), folder)
    assert {name: done[f"right {name}"].err for name in pairs if done[f"right {name}"].code} == {}
    told_apart = {name for name in pairs if done[f"wrong {name}"] != done[f"right {name}"]}
    assert {name for name, pair in pairs.items() if not pair.slow} <= told_apart


def _texts(version: str) -> dict[str, str]:
    programs = {}
    for name, pair in PAIRS.items():
        if pair.since > version:
            continue
        for which, text in (("wrong", pair.wrong), ("right", pair.right)):
            every = files(text)
            main = every.pop("main.py")
            others = {path.removesuffix(".py"): other for path, other in every.items()}
            text = (_LOADER.format(texts=others) if others else "") + main
            programs[f"{which} {name}"] = _UPDATE.sub(r"\1\2", text) if version == "0.10" else text
    return programs

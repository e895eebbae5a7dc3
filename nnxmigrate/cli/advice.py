"""What the user may want to do next."""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar

from codemods.nnx.options import VERSIONS
from nnxmigrate.cli.remaining import Scope
from nnxmigrate.files.discovery import MARKDOWN, Found, all_files, discover, display
from nnxmigrate.files.document import Unreadable
from nnxmigrate.files.markdown import read_markdown
from nnxmigrate.outcome import Outcome, Status
from nnxmigrate.settings import Settings

#: Whether a route is walked, which takes the next steps by itself.
WALKING: ContextVar[bool] = ContextVar("WALKING", default=False)

#: Whether that route commits what it does: files of the work tree bring nothing back then.
COMMITTING: ContextVar[bool] = ContextVar("COMMITTING", default=False)

_FEW = 3


def after_migrate(outcome: Outcome, scope: Scope, settings: Settings, record: str) -> Iterator[str]:
    """Yield the next steps after `migrate`, the nearest first.

    Args:
        outcome: what it came to.
        scope: what it looked at.
        settings: what was asked for.
        record: the file in which what is left is noted.
    """
    place = _place(scope.paths)
    changed = outcome.by_status[Status.CHANGED]
    if changed and not outcome.written and not WALKING.get():
        yield f"`nnxmigrate {place}` makes these changes."
    unsafe = [one for one in outcome.left if one.safety is not None and one.safety.value == "unsafe"]
    gone = [one for one in unsafe if one.beside and outcome.written]
    if len(unsafe) > len(gone) and not settings.unsafe_fixes:
        number = _of(len(unsafe) - len(gone), outcome)
        yield f"{number} can be fixed with --unsafe-fixes: `nnxmigrate --unsafe-fixes --diff {place}`."
    if gone and not settings.unsafe_fixes:
        number = _of(len(gone), outcome)
        yield f"{number} can be fixed only together with what was fixed now: undo this run, and add --unsafe-fixes."
    if outcome.left and outcome.written and os.path.isfile(record):
        yield f"What is left is noted in {display(record)}: `nnxmigrate status` counts it down."
    if outcome.written and changed and not WALKING.get():
        for why in old_pins(scope, [file.path for file in changed]):
            raised = "`nnxmigrate doctor --bump` raises them, `nnxmigrate doctor --diff` shows how"
            yield f"The pins still say {why}: {raised}."
        yield "Prove it with `nnxmigrate verify -- python ...`; `nnxmigrate fix-ckpt` converts checkpoints."


def not_looked_at(found: Iterable[Found]) -> Iterator[str]:
    """Yield how to take Markdown files whose Python blocks use NNX, if there are any among the files of a run."""
    mine = itertools.takewhile(lambda one: not one.context, found)
    names = [one.name for one in mine if not one.named and one.name.lower().endswith(MARKDOWN) and _uses_nnx(one.path)]
    if names:
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"{names[0]}{more} with Python for NNX: Markdown is taken with --include-markdown, or if named."


def left_out(paths: Sequence[str], excluding: bool) -> str | None:
    """Return why a run over folders looked at nothing, if files are left out; None if there are none.

    Args:
        paths: the folders.
        excluding: whether the user's own patterns leave files out.
    """
    found = [file for path in paths if os.path.isdir(path) for file in all_files(path)]
    if not found:
        return None
    told = "The only file here is" if len(found) == 1 else f"All {len(found)} files here are"
    if excluding and any(not one.context for one in discover(paths)):
        return f"{told} left out by `exclude`: {display(found[0])}; name the file itself."
    return f"{told} left out by .gitignore: {display(found[0])}; name it, or its folder."


def _uses_nnx(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            raw = file.read()
        return b"nnx" in raw and b"nnx" in read_markdown(raw).text
    except (OSError, Unreadable):
        return False


def after_lint(outcome: Outcome, scope: Scope, settings: Settings) -> Iterator[str]:
    """Yield the next steps after `lint`."""
    place = _place(scope.paths)
    safe = sum(one.safety is not None and one.safety.value == "safe" for one in outcome.left)
    unsafe = sum(one.safety is not None and one.safety.value == "unsafe" for one in outcome.left)
    if safe and not settings.fix:
        more = f", with --unsafe-fixes {unsafe} more" if unsafe else ""
        yield f"{_of(safe, outcome)} can be fixed: `nnxmigrate lint --fix {place}`{more}."
    elif unsafe and not settings.unsafe_fixes:
        yield f"{_of(unsafe, outcome)} can be fixed: `nnxmigrate lint --fix --unsafe-fixes {place}`."


def _of(count: int, outcome: Outcome) -> str:
    if count == len(outcome.left):
        return "It" if count == 1 else f"All {count}"
    return f"{count} of {len(outcome.left)}"


def _place(paths: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(paths))
    return shlex.join(distinct) if len(distinct) <= _FEW else f"{shlex.join(distinct[:_FEW])} ..."


def old_pins(scope: Scope, paths: Iterable[str]) -> list[str]:
    """Return what the pins of files say that keeps the new code from running, such as ``flax==0.10.7 in setup.cfg``."""
    from nnxmigrate.versions.pins import pinned

    goal = max((options.target for options in scope.options), key=VERSIONS.index, default=VERSIONS[-1])
    folders = dict.fromkeys(os.path.dirname(os.path.abspath(path)) for path in paths)
    return list(dict.fromkeys(pin.why for folder in folders if (pin := pinned(folder)) and goal not in pin.allowed))

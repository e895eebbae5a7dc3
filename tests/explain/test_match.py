"""Recognising an error in whatever form it is pasted."""

from __future__ import annotations

import pytest

from nnxmigrate.explain.entry import Entry, Wording
from nnxmigrate.explain.match import matches
from nnxmigrate.explain.message import read
from nnxmigrate.explain.table import ENTRIES

WRT = "TypeError: Missing required argument `wrt`. As of Flax 0.11.0 the `wrt` argument is required"
FRAMES = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    '
FILTERED = (
    "--------------------\nFor simplicity, JAX has removed its internal frames from the traceback of the following "
    "exception. Set JAX_TRACEBACK_FILTERING=off to include these."
)


def first(text: str) -> str | None:
    """Return the key of the first match."""
    found = matches(text, ENTRIES)
    return found[0].entry.key if found else None


@pytest.mark.parametrize(
    "text",
    [
        WRT,
        WRT.removeprefix("TypeError: "),
        WRT.replace("`", "'"),
        WRT.replace("`", "\u2019"),
        f"{FRAMES}nnx.Optimizer(model, tx)\n{WRT}",
        f"{FRAMES}nnx.Optimizer(model, tx)\n{WRT}\n{FILTERED}\n",
        f"{FRAMES}x()\njax._src.traceback_util.UnfilteredStackTrace: {WRT}",
        f"\x1b[31m{FRAMES}x()\n\x1b[1;31mTypeError\x1b[0m: {WRT[11:]}",
        WRT.replace("required argument", "requi\nred argu\nment"),
        WRT.replace(" ", "\r\n"),
        f"    def f():\n>       nnx.Optimizer(m, tx)\nE       {WRT}\n\ntrain.py:3: TypeError",
        f"> {WRT}",
        f"[rank0]: {WRT}",
        f"| {FRAMES}x()\n| {WRT}",
        f"2026-01-01 12:00:00 ERROR step failed: {WRT}",
        f"{FRAMES}x()\nKeyError: 3\n\nDuring handling of the above exception, another exception occurred:\n\n"
        f"{FRAMES}{WRT}",
        f"{FRAMES}x()\n{WRT}\n\nThe above exception was the direct cause of the following exception:\n\n{FRAMES}y()\n"
        "RuntimeError: the experiment failed",
    ],
)
def test_one_error_in_many_forms(text: str) -> None:
    assert first(text) == "optimizer-wrt"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "everything is fine",
        "ValueError: invalid literal for int() with base 10: 'a'",
        "AttributeError: 'Trainer' object has no attribute 'model'",
        "TypeError: update() missing 1 required positional argument: 'other'",
        "AttributeError: module 'numpy' has no attribute 'data'",
        "ImportError: cannot import name 'Dict' from 'typing'",
        f"{FRAMES}if numpy.ones(3):\nValueError: The truth value of an array with more than one element is ambiguous.",
        f"{FRAMES}config['model']\nKeyError: 'model'",
        f"{FRAMES}row[4]\nIndexError: tuple index out of range",
        f"{FRAMES}names[[]]\nTypeError: unhashable type: 'list'",
        # The words of a message in a source line are not the message.
        f"{FRAMES}raise ValueError('Missing required argument `wrt`')\nValueError: no",
    ],
)
def test_other_errors_are_not_claimed(text: str) -> None:
    assert first(text) is None


@pytest.mark.parametrize(
    ("text", "key", "certain"),
    [
        ("Missing required argument . As of Flax 0.11.0 the  argument is required,", "optimizer-wrt", True),
        ("Missing required argument . As of Flax 0.11.0 update requires both (model, grads)", "optimizer-update", True),
        ("KeyError: 'model'", "optimizer-state-model", False),
        (f"{FRAMES}nnx.state(optimizer)['model']\nKeyError: 'model'", "optimizer-state-model", True),
        ("TypeError: unhashable type: 'list'", "static-unhashable", False),
        ("TypeError: 'jaxlib._jax.ArrayImpl' object is not callable", "module-is-pytree", False),
        (
            "AttributeError: 'jaxlib.xla_extension.ArrayImpl' object has no attribute 'value'",
            "state-leaf-is-array",
            True,
        ),
        ("Found unexpected Arrays on value of type <class 'list'> in static attribute", "static-attribute", True),
        ("Found data on value of type ... assigned to static attribute", "static-attribute", True),
        ("Cannot assign data value ... to static attribute 'decoder'", "static-attribute", True),
        ("Optimizer does have attribute 'model' since Flax 0.11.0.", "optimizer-model", True),
        ("Optimizer does not have attribute 'model' since Flax 0.11.0.", "optimizer-model", True),
        ("module 'flax.nnx' has no attribute 'ModelAndOptimizer'", "nnx-name-ModelAndOptimizer", True),
        ("Module flax.nnx has no attribute 'Lineer'", "nnx-name", True),
        ("Cannot interpret 'key<fry>' as a data type", "checkpoint-typed-keys", True),
        ("Topology mismatch detected", "checkpoint-topology", True),
        ("TraceContextError: Cannot mutate RngStream from a different trace level", "trace-level", True),
        ("Mismatch custom node data: ('bias','kernel') != ('bias',)", "gradient-filter", False),
        ("jit() got an unexpected keyword argument 'abstracted_axes'", "flax-jax-abstracted-axes", True),
        ("train.py:3: DeprecationWarning: '.value' access is now deprecated.", "value-deprecated", True),
        ("KeyError: Ellipsis", "value-of-non-array", True),
    ],
)
def test_short_forms(text: str, key: str, certain: bool) -> None:
    match = matches(text, ENTRIES)[0]
    assert (match.entry.key, match.certain) == (key, certain)


def entry(key: str, pattern: str, context: str = "", required: bool = False) -> Entry:
    """Return an entry with one wording."""
    return Entry(key, key, (Wording(pattern, context, required),), "cause", "fix", "versions")


def keys(text: str, *entries: Entry) -> list[str]:
    """Return the keys of the matches in order."""
    return [match.entry.key for match in matches(text, entries)]


def test_ranking() -> None:
    short, long = entry("short", "no leaf"), entry("long", "no leaf at path")
    assert keys("ValueError: no leaf at path", short, long) == ["long", "short"]
    cause, last = entry("cause", "a much longer message"), entry("last", "the end")
    chain = f"{FRAMES}x()\nKeyError: a much longer message\n\n{FRAMES}y()\nValueError: the end"
    assert keys(chain, cause, last) == ["last", "cause"]
    vague = entry("vague", "no leaf at path", "optax")
    assert keys("no leaf at path", vague, short) == ["short", "vague"]
    assert keys(f"{FRAMES}optax.adam()\nValueError: no leaf at path", vague, short) == ["vague", "short"]


def test_a_required_context_must_be_there() -> None:
    assert keys("no leaf", entry("a", "no leaf", "optax", required=True)) == []
    assert keys("no leaf in optax", entry("a", "no leaf", "optax", required=True)) == ["a"]


def test_messages_of_several_lines_are_taken_whole() -> None:
    report = read(f"{FRAMES}x()\nValueError: first\n\n  second\n{FILTERED}\n")
    assert [message.text for message in report.messages] == ["ValueError: first\n\nsecond"]


def test_entries_are_complete_and_distinct() -> None:
    assert len({entry.key for entry in ENTRIES}) == len(ENTRIES)
    for known in ENTRIES:
        texts = (known.title, known.cause, known.fix, known.versions)
        assert all(text == text.strip() and text for text in texts), known.key
        assert all(text.endswith(".") for text in (known.cause, known.fix)), known.key
        for wording in known.wordings:
            assert wording.message.groups >= 0, known.key  # compiles

"""Raises pins in place, changing nothing but the versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import Version

from nnxmigrate.doctor.compat import CAUTIONS, TARGETS, Outcome, Target, beside_jax, excludes, outcome, python_required
from nnxmigrate.doctor.judge import family, resolve
from nnxmigrate.doctor.pins import Pin, PinSet, specifier

_NO_REQUIREMENTS = re.compile(r"(?ms)\b(?:keywords|classifiers|known_\w+|known-[\w-]+)[ \t]*=[ \t]*(?:\[.*?\]|[^\n]*)")
_OLD_PYTHON = re.compile(r"3\.(?:[0-9]|10)(?:\.\d+)?(?![\d])")

_ORBAX = Version("0.11.27")


@dataclass(frozen=True)
class Change:
    """One pin that is raised.

    Attributes:
        path: the file.
        package: the package.
        before: the specifier as it stood; None for a pin that is added beside the one of Flax.
        after: the specifier as it shall stand.
        beside: for a pin that is added, the specifier of Flax after the changes before.
    """

    path: str
    package: str
    before: str | None
    after: str
    beside: str = ""


@dataclass(frozen=True)
class Plan:
    """What raising the pins of a project comes to.

    Attributes:
        contents: new bytes by path.
        changes: the pins that are raised.
        stuck: pins whose place in the file was not found, to be raised by hand.
    """

    contents: dict[str, bytes]
    changes: tuple[Change, ...]
    stuck: tuple[Change, ...]


def plan(sets: Iterable[PinSet], version: str | None) -> Plan:
    """Return the changes that bring pins to a Flax version. Nothing is written; locks and installations stay.

    Args:
        sets: the sets of a project.
        version: ``0.11`` or ``0.12``; None for the version that each set is for, at least 0.11.

    Raises:
        OSError: if a file cannot be read any more.
    """
    wanted: dict[Change, None] = {}
    for pins in sets:
        if pins.kind == "pins":
            wanted |= dict.fromkeys(_changes(pins, version))
    contents: dict[str, bytes] = {}
    stuck: list[Change] = []
    made: list[Change] = []
    for change in wanted:
        data = contents.get(change.path) or Path(change.path).read_bytes()
        text = data.decode("utf-8")
        changed = _changed(text, change)
        (stuck if changed == text else made).append(change)
        contents[change.path] = changed.encode("utf-8")
    contents = {path: data for path, data in contents.items() if any(change.path == path for change in made)}
    return Plan(contents, tuple(made), tuple(stuck))


def _changes(pins: PinSet, version: str | None) -> Iterator[Change]:
    flax = resolve(pins).get("flax")
    if flax is None:
        return
    goal = version or (family(flax) if family(flax) in TARGETS else "0.11")
    if tuple(flax.release[:2]) > tuple(int(part) for part in goal.split(".")) and not _open(pins):
        return  # pins are raised, never lowered
    target = TARGETS[goal]
    jax = resolve(pins).get("jax")
    fits = family(flax) == goal and jax is not None and outcome(flax, jax) is Outcome.OK and not _warned(flax)
    raised = []
    for pin in pins.pins:
        if pin.package == "flax" and not (fits or flax in specifier(target.ranges["flax"])):
            new = _text(pin, target)
            raised.append(replace(pin, specifier=specifier(new), text=new))
            yield Change(pin.path, "flax", pin.text, new)
        else:
            raised.append(pin)
    after = resolve(replace(pins, pins=tuple(raised)))
    works = "jax" in after and outcome(after["flax"], after["jax"]) is Outcome.OK
    jax = after.get("jax") if works else Version(target.exact["jax"])
    needed = beside_jax(jax) if jax is not None else {}
    for pin in pins.pins:
        old = pin.package == "orbax-checkpoint" and after.get(pin.package, _ORBAX) < _ORBAX
        old |= pin.package in needed and excludes(pin.specifier, needed[pin.package])
        if old or (pin.package in ("jax", "jaxlib") and not works):
            yield Change(pin.path, pin.package, pin.text, _text(pin, target))
        elif pin.package == "python":
            oldest = _OLD_PYTHON.search(pin.text)
            if oldest and oldest[0] not in python_required("flax", after["flax"]):
                yield Change(pin.path, "python", pin.text, _OLD_PYTHON.sub("3.11", pin.text, count=1))
    if not works and not pins.names("jax"):
        flax_pin = next(pin for pin in raised if pin.package == "flax")
        exact = flax_pin.path.endswith(".ipynb")  # `<` and `>` mean something else to a shell
        text = f"=={target.exact['jax']}" if exact else target.ranges["jax"]
        yield Change(flax_pin.path, "jax", None, text, flax_pin.text)


def _warned(flax: Version) -> bool:
    """Say whether something is wrong with a release, whatever the code."""
    return any(one.package == "flax" and not one.uses and flax in one.releases for one in CAUTIONS)


def _open(pins: PinSet) -> bool:
    return pins.specifier("flax").contains("99", prereleases=True)


def _text(pin: Pin, target: Target) -> str:
    """Return the new specifier in the style of the old one: exact stays exact, a range becomes a range."""
    exact = target.exact[pin.package]
    wildcard = re.fullmatch(r"(==?\s*|)\d+\.\d+\.\*", pin.text)
    if pin.package == "flax" and wildcard:
        return f"{wildcard[1]}{'.'.join(exact.split('.')[:2])}.*"
    if pin.package == "flax" and pin.text.startswith(("^", "~")) and not pin.text.startswith("~="):
        return f"{pin.text[0]}{exact}"
    fixed = re.fullmatch(r"(={0,3}\s*)\d[\w.]*(?:=\w+)?", pin.text)
    if fixed and not wildcard:
        return f"{fixed[1]}{exact}"
    return f"=={exact}" if pin.path.endswith(".ipynb") else target.ranges[pin.package]


def _changed(text: str, change: Change) -> str:
    """Return the text of a file with one change made; the same text if its place is not found."""
    if change.before is None:
        return _added(text, change)
    for match in reversed(_places(text, _patterns(change.package, change.before))):
        text = text[: match.start("old")] + change.after + text[match.end("old") :]
    return text


def _patterns(package: str, old: str) -> Iterator[str]:
    """Yield regular expressions whose group ``old`` is the place of a specifier."""
    spec = rf"(?P<old>{re.escape(old)})"
    if package == "python":
        yield rf"(?m)^[ \t]*(?:requires-python|python|python_version|python_requires)[ \t]*=[ \t]*[\"']?{spec}[\"']?"
        yield rf"(?m)^[ \t]*-[ \t]+[\"']?python[ \t]*{spec}"
        yield rf"python_requires[ \t]*=[ \t]*[\"']{spec}[\"']"
        return
    name = rf"(?i:{package.replace('-', '[-_.]')})"
    head = rf"{name}(?:[ \t]*\[[^\]]*\])?"
    if old:
        yield rf"(?<![\w.\-/]){head}[ \t]*{spec}(?![\w.*,<>=!~^])"
    else:
        yield rf"(?P<quote>[\"']){head}{spec}[ \t]*(?:;[^\"'\n]*)?(?P=quote)"
        yield rf"(?m)^[ \t]*(?:-[ \t]+)?{head}{spec}(?=[ \t]*(?:;|[ \t]#|\\?\r?$))"
        yield rf"pip\d?[ \t]+install[^\n\"]*?[ \t]{head}{spec}(?=[ \t\"\\]|$)"
    yield rf"(?m)^[ \t]*[\"']?{name}[\"']?[ \t]*=[ \t]*[\"']{spec}[\"']"
    yield rf"(?m)^[ \t]*[\"']?{name}[\"']?[ \t]*=[ \t]*\{{[^}}\n]*version[ \t]*=[ \t]*[\"']{spec}[\"']"


def _places(text: str, patterns: Iterable[str]) -> list[re.Match[str]]:
    """Return where a specifier stands, every place once; comments and lists of keywords are no places."""
    kept_out = [match.span() for match in _NO_REQUIREMENTS.finditer(text)]
    found: dict[tuple[int, int], re.Match[str]] = {}
    for pattern in patterns:
        for match in re.finditer(pattern, text):
            start = match.start("old")
            comment = re.search(r"(^|\s)#", text[text.rfind("\n", 0, start) + 1 : start])
            if not comment and not any(low <= start < high for low, high in kept_out):
                found.setdefault(match.span("old"), match)
    return [found[span] for span in sorted(found)]


def _added(text: str, change: Change) -> str:
    """Add a requirement behind that of Flax, in the form that it has."""
    flax = rf"(?i:flax)[ \t]*(?:\[[^\]]*\])?[ \t]*(?P<old>{re.escape(change.beside)})(?![\w.*,<>=!~^\-])"
    requirement = f"{change.package}{change.after}"
    newline = "\r\n" if "\r\n" in text else "\n"
    if change.path.endswith(".ipynb"):
        forms = [(rf"pip\d?[ \t]+install[ \t][^\n]*?(?<![\w.\-/]){flax}", f" {requirement}")]
    else:
        quoted = rf"(?P<quote>[\"']){flax}(?:(?!(?P=quote)).)*(?P=quote)"
        key = r"(?P<lead>[ \t]*)[\"']?(?i:flax)[\"']?[ \t]*=[ \t]*(?:\{.*)?"
        table = rf"{key}[\"'](?P<old>{re.escape(change.beside)})[\"']"
        forms = [
            (rf"(?m)^{table}[^\r\n]*", f'{newline}{{lead}}{change.package} = "{change.after}"'),
            (rf"(?m)^(?P<lead>[ \t]*){quoted}", f",{newline}{{lead}}{{quote}}{requirement}{{quote}}"),
            (rf"(?m)^(?P<lead>[ \t]*(?:-[ \t]+)?)[\"']?{flax}[^\r\n]*", f"{newline}{{lead}}{requirement}"),
            (quoted, f", {{quote}}{requirement}{{quote}}"),
        ]
    for pattern, form in forms:
        for match in _places(text, [pattern])[:1]:
            return text[: match.end()] + form.format_map(match.groupdict()) + text[match.end() :]
    return text

"""What changed between two Flax releases, and what of it no rule knows: ``python -m tests.releases 0.11 0.12``.

Each release is a key of ``PINS`` in ``tests/environments.py``, or the path of a Python with another one installed, as
of a release candidate. The public names of ``flax.nnx``, its modules and classes are compared, and the signatures of
what is callable. Known is what the tables in ``codemods/nnx/symbols.py`` list, and what a rule or a change in
``codemods/nnx/unavoidable.py`` names. The command ends with 1 if something is left.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from codemods.nnx.catalogue import RULES
from codemods.nnx.symbols import MODULES, SYMBOLS
from codemods.nnx.unavoidable import CHANGES
from tests.environments import PINS, python

#: Runs inside the environment: prints the signature of everything public by its name.
LISTING = r"""
import inspect, json, types
from flax import nnx

def signature(thing):
    try:
        if isinstance(thing, type) and thing.__init__ is not object.__init__:  # the metaclass takes anything
            found = inspect.signature(thing.__init__)
            found = found.replace(parameters=list(found.parameters.values())[1:])
        else:
            found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    plain = [p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else "...") for p in
             found.parameters.values()]
    return str(found.replace(parameters=plain, return_annotation=found.empty)).replace("'...'", "...")

def public(thing):
    return [name for name in dir(thing) if not name.startswith("_")]

listed = {}
for name in public(nnx):
    thing = getattr(nnx, name)
    if isinstance(thing, types.ModuleType):
        if thing.__name__.startswith("flax.nnx"):
            for inner in public(thing):
                one = getattr(thing, inner)
                if getattr(one, "__module__", None) == thing.__name__:
                    listed[f"{name}.{inner}"] = signature(one) if callable(one) else ""
        continue
    listed[name] = signature(thing) if callable(thing) else ""
    if isinstance(thing, type) and thing.__module__.startswith("flax."):
        for inner in public(thing):
            member = inspect.getattr_static(thing, inner)
            member = getattr(member, "__func__", member)
            listed[f"{name}.{inner}"] = signature(member) if callable(member) else ""
print(json.dumps(listed))
"""


def listed(release: str) -> dict[str, str]:
    """Return the signatures of all public names of a release, by name.

    Args:
        release: a key of ``PINS``, or the path of a Python.

    Raises:
        subprocess.CalledProcessError: if Flax cannot be imported there.
    """
    exe = python(release) if release in PINS else Path(release)
    done = subprocess.run([str(exe), "-W", "ignore", "-c", LISTING], capture_output=True, text=True, check=True)
    names = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(names, dict)
    return names


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what is gone, has another signature or is new: its name, and the difference in words.

    Members of what is itself gone or new are left out.
    """
    for name in sorted(old.keys() | new.keys()):
        owner = name.rpartition(".")[0]
        if owner and (owner in old) != (owner in new):
            continue
        if name not in new:
            yield name, "is gone"
        elif name not in old:
            yield name, f"is new: {new[name]}" if new[name] else "is new"
        elif old[name] != new[name]:
            takes = "takes more: " if _takes_more(old[name], new[name]) else ""
            yield name, f"{takes}{old[name]} became {new[name]}"


def _takes_more(old: str, new: str) -> bool:
    """Say whether a function takes all arguments that it took; a parameter that it gained has a default."""
    before, after = (text.strip("()").split(", ") for text in (old, new))
    gained = [one for one in after if one not in before]
    kept = [one for one in after if one in before]
    return kept == before and all("=" in one or one.startswith("*") for one in gained)


def words() -> frozenset[str]:
    """Return every word that the rules and tables use."""
    texts = [text for rule in RULES for text in (rule.summary, rule.why, *(e.before for e in rule.examples))]
    texts += [f"{change.what} {change.reason} {change.advice}" for change in CHANGES]
    texts += [repr(symbol) for symbol in (*SYMBOLS, *MODULES)]
    return frozenset(re.findall(r"\w+", " ".join(texts)))


def unknown(found: Iterator[tuple[str, str]], known: frozenset[str]) -> list[tuple[str, str]]:
    """Return the differences whose name no rule mentions, without what is new or takes more: that breaks nothing."""
    harmless = ("is new", "takes more")
    return [
        (name, what)
        for name, what in found
        if not what.startswith(harmless) and not {name.rpartition(".")[2], name.partition(".")[0]} <= known
    ]


def main(old: str, new: str) -> int:
    """Print all differences, and then those that no rule knows."""
    found = list(differences(listed(old), listed(new)))
    print(f"{len(found)} differences between {old} and {new}:")
    for name, what in found:
        print(f"  {name} {what}")
    left = unknown(iter(found), words())
    print(f"\n{len(left)} of them are named by no rule:")
    for name, what in left:
        print(f"  {name} {what}")
    return 1 if left else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m tests.releases OLD NEW")
    sys.exit(main(*sys.argv[1:]))

"""NNX510: names that the target does not have, and of which no table tells."""

from __future__ import annotations

from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.findings import Finding, finding
from codemods.nnx.names.references import guarded, newer, nnx_references
from codemods.nnx.options import VERSIONS
from codemods.nnx.places import once
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.symbols import PUBLIC, SYMBOLS

# names of which another rule speaks
_ELSEWHERE = frozenset(
    {
        "Dict",
        "dataclass",
        "static",
        "Static",
        "with_sharding_constraint",
        "fork",
        "ForkStates",
        "VariableState",
        "Object",
    }
)
_TOLD = frozenset(name.rpartition(".")[2] for symbol in SYMBOLS for name in symbol.names.values() if name) | {"field"}


def check(context: Context) -> Iterator[Finding]:
    """Yield references to names of ``flax.nnx`` that some target does not have, a name of many places once."""
    yield from once(context.project, _unknown(context))


def _unknown(context: Context) -> Iterator[Finding]:
    for reference in nnx_references(context):
        name = reference.last
        if reference.base != "flax.nnx" or name.startswith("_") or name in _ELSEWHERE | _TOLD or name == "dataclasses":
            continue
        missing = [target for target in context.options.targets if name not in PUBLIC[target]]
        if missing and not guarded(reference):
            since = next((version for version in VERSIONS if name in PUBLIC[version]), None)
            shared = frozenset.intersection(*(PUBLIC[target] for target in context.options.targets))
            close = None if since else _similar(name, shared)
            yield finding(
                "NNX510",
                reference.scope,
                reference.node,
                f"nnx.{name} does not exist in Flax {' and '.join(missing)}{_nor(context, name)}",
                _help(close, since if since and context.options.beyond(since) else None),
            )


def _nor(context: Context, name: str) -> str:
    """Say so if the code did not work before either."""
    origin = context.options.origin
    old = origin not in context.options.targets and name not in PUBLIC.get(origin, frozenset({name}))
    return f", nor in {origin}" if old else ""


def _help(close: str | None, since: str | None) -> str:
    if since is not None:
        return newer(since)
    return f"did you mean nnx.{close}?" if close else "look for its successor in the release notes of Flax"


def _similar(name: str, names: frozenset[str]) -> str | None:
    """Return the name that is most like another one, whatever their case."""
    import difflib  # dear, and only needed here

    folded = {known.lower(): known for known in sorted(names)}
    found = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.75)
    return folded[found[0]] if found else None


RULE = Rule(
    code="NNX510",
    name="unknown-name",
    summary="a name that flax.nnx does not have in the target version",
    why="""\
A name that the target's `flax.nnx` does not have raises AttributeError where it is reached, or ImportError at once. It
may be a slip, such as `nnx.param`, or a name that came or went with another release. Code that asks for the version, or
for the name, before it uses it is left alone.
""",
    kind=Kind.REQUIRED,
    safety=None,
    since="0.11.0",
    source="names exported by the releases 0.10.7, 0.11.2 and 0.12.8, compared by importing them",
    examples=(
        Example(before="from flax import nnx\n\nkernel = nnx.Parm(1.0)\n", run=False),
        Example(
            before="""\
from flax import nnx

if hasattr(nnx, "List"):
    make = nnx.List
else:
    make = list
print(len(make([1, 2])))
""",
            after="""\
from flax import nnx

if hasattr(nnx, "List"):
    make = nnx.List
else:
    make = list
print(len(make([1, 2])))
""",
        ),
    ),
    check=check,
    always=True,
)

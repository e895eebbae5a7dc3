"""What stands against a conversion, and the ways out that the user is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from nnxmigrate.checkpoint.errors import MisfitError
from nnxmigrate.checkpoint.nodes import MODEL, bare, nested_all, nodes_above, with_streams
from nnxmigrate.checkpoint.rng import Stream
from nnxmigrate.checkpoint.target import Layout, TargetLeaf
from nnxmigrate.checkpoint.tree import Leaf, Path, dotted

_SHOWN = 12  # leaves named in a refusal before "and N more"


@dataclass(frozen=True)
class Misfit:
    """Leaves that stand against a conversion.

    Attributes:
        missing: leaves of the new program that are neither stored nor computed.
        unexpected: stored leaves that the new program does not have.
        reshaped: leaves that have another shape in the new program, stored and wanted.
        streams: the RNG streams found in the checkpoint.
        layout: the layout of the checkpoint.
        elsewhere: names of other items that hold missing leaves.
        lost: leaves of stored streams that the new program does not have.
        of: what the refusal begins with.
    """

    missing: Sequence[TargetLeaf]
    unexpected: Sequence[Leaf]
    reshaped: Sequence[tuple[Leaf, TargetLeaf]]
    streams: Sequence[Stream]
    layout: Layout
    elsewhere: Sequence[str]
    lost: Sequence[Leaf] = ()
    of: str = ""

    def error(self) -> MisfitError:
        """Return the refusal: it names the leaves, and the way out."""
        lines = [f"{self.of}the checkpoint does not fit the model"]
        lines += _listed("missing in the checkpoint", [f"{leaf.name}: {leaf.described}" for leaf in self.missing])
        lines += _listed("unknown to the model", [f"{leaf.name}: {leaf.described}" for leaf in self.unexpected])
        lines += _listed(
            "of another shape",
            [f"{old.name}: stored {old.described}, model {new.described}" for old, new in self.reshaped],
        )
        return MisfitError("\n".join(lines), self._way_out())

    def _way_out(self) -> str:
        return self._from_elsewhere() or self._by_the_factory() or self._by_renames() or "; ".join(self._by_options())

    def _from_elsewhere(self) -> str:
        if not self.elsewhere:
            return ""
        items = ", ".join(self.elsewhere)
        return f"missing leaves are stored in {items}: leave --item out, or name all items that share the state"

    def _by_the_factory(self) -> str:
        nodes = _kept_below(self.unexpected, self.missing)
        nodes = with_streams(nodes, self.streams) or nodes
        if nodes:
            places = " and ".join(map(dotted, nodes))
            tree = nested_all(nodes, MODEL)
            return f"the model is stored below {places}: let the factory return the tree that was saved, with {tree}"
        parts = _parts_below(self.unexpected, self.missing)
        if not parts:
            return ""
        return (
            f"the model's state is stored in parts, below {' and '.join(parts)}: let the factory return the tree "
            f"that was saved, made of what nnx.split gives"
        )

    def _by_renames(self) -> str:
        renames = suggested_renames([*self.unexpected, *self.lost], self.missing)
        return "perhaps: " + " ".join(f"--rename {old}={new}" for old, new in renames.items()) if renames else ""

    def _by_options(self) -> Iterable[str]:
        if self.reshaped:
            yield "build the model with the sizes it was trained with"
        elif self.missing and self.unexpected:  # the values are there: no way that would lose them
            yield "is it the model that was trained? --rename OLD=NEW moves stored leaves to where they are now"
        elif self.missing:
            yield (
                f"if the program really has more now: --allow-missing PATTERN gives leaves new initial values; "
                f"nothing is stored for {named(self.missing)}"
            )
        elif self.unexpected:
            if all(self._beside(leaf) for leaf in self.unexpected):
                yield f"let the factory return the tree that was saved, with {named(self.unexpected)} in it"
            yield (
                f"if the program really has fewer now: --drop PATTERN leaves stored leaves out; "
                f"the values of {named(self.unexpected)} will be lost"
            )

    def _beside(self, leaf: Leaf) -> bool:
        """Say whether a leaf is in no Variable, so that it stood beside what NNX saved, as a step's number does."""
        return len(leaf.path) == 1 or (self.layout is Layout.STATE and leaf.path[-1] != "value")


def suggested_renames(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> dict[str, str]:
    """Guess renames: nodes that went and nodes that came whose leaves agree in names, types and shapes.

    Returns:
        New names by old ones; only nodes with a single possible partner.
    """
    gone, come = ({leaf.path: leaf.described for leaf in leaves} for leaves in (unexpected, missing))
    partners: dict[Path, set[Path]] = {}
    for old in gone:
        tails = {new: _common_tail(old, new) for new in come}
        longest = max(tails.values(), default=0)  # `model.layers.0` is no other layer than `layers.0`
        for new, tail in tails.items():
            if tail and tail == longest:
                partners.setdefault(old[: len(old) - tail], set()).add(new[: len(new) - tail])
    found: dict[str, str] = {}
    for old, candidates in partners.items():
        fitting = [new for new in candidates if old and new and _below(gone, old) == _below(come, new)]
        if len(fitting) == 1:
            found[dotted(old)] = dotted(fitting[0])
    return found


def _kept_below(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> list[Path]:
    """Return the nodes below which a checkpoint holds all that is missing."""
    stored, wanted = ({bare(leaf.path) for leaf in leaves} for leaves in (unexpected, missing))
    return nodes_above(stored, wanted)


def _parts_below(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> list[str]:
    """Return the keys, more than one, below which the missing leaves are stored, each below one of them alone."""
    held: dict[str, set[tuple[Path, str]]] = {}
    for leaf in unexpected:
        held.setdefault(leaf.path[0], set()).add((bare(leaf.path[1:]), leaf.described))
    wanted = {(bare(leaf.path), leaf.described) for leaf in missing}
    parts = {key: own & wanted for key, own in held.items() if own & wanted}
    whole = set().union(*parts.values()) == wanted and sum(map(len, parts.values())) == len(wanted)
    return list(parts) if whole and len(parts) > 1 else []


def named(leaves: Sequence[Leaf]) -> str:
    """Return the names of leaves, of many the first three."""
    more = f" and {len(leaves) - 3} more" if len(leaves) > 3 else ""
    return ", ".join(leaf.name for leaf in leaves[:3]) + more


def _listed(title: str, lines: Sequence[str]) -> list[str]:
    if not lines:
        return []
    shown = [f"    {line}" for line in lines[:_SHOWN]]
    more = [f"    and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return [f"  {title} ({len(lines)}):", *shown, *more]


def _common_tail(one: Path, two: Path) -> int:
    length = 0
    while length < min(len(one), len(two)) and one[-1 - length] == two[-1 - length]:
        length += 1
    return length


def _below(leaves: Mapping[Path, str], node: Path) -> dict[Path, str]:
    return {path[len(node) :]: described for path, described in leaves.items() if path[: len(node)] == node}

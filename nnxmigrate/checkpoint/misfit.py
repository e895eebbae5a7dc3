"""What stands against a conversion, and the ways out that the user is told."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nnxmigrate.checkpoint.errors import MisfitError
from nnxmigrate.checkpoint.nodes import (
    MODEL,
    OPT_STATE,
    STEP,
    bare,
    joined_by,
    nested_each,
    nodes_above,
    with_streams,
    with_streams_apart,
)
from nnxmigrate.checkpoint.rng import Stream, find_streams
from nnxmigrate.checkpoint.target import Layout, TargetLeaf
from nnxmigrate.checkpoint.tree import SEQUENCE_KEY, Leaf, Path, dotted

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
        kept: the paths of the stored leaves that fit.
        rng: leaves of the new program's RNG state that would be computed.
    """

    missing: Sequence[TargetLeaf]
    unexpected: Sequence[Leaf]
    reshaped: Sequence[tuple[Leaf, TargetLeaf]]
    streams: Sequence[Stream]
    layout: Layout
    elsewhere: Sequence[str]
    lost: Sequence[Leaf] = ()
    of: str = ""
    kept: Sequence[Path] = ()
    rng: Sequence[TargetLeaf] = ()

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
        beside = self._from_elsewhere() or self._of_joined_names() or self._by_the_optimizer() or self._by_the_factory()
        return beside or self._by_the_keys() or self._by_renames() or "; ".join(self._by_options())

    def _from_elsewhere(self) -> str:
        if not self.elsewhere:
            return ""
        items = ", ".join(self.elsewhere)
        return f"missing leaves are stored in {items}: leave --item out, or name all items that share the state"

    def _by_the_optimizer(self) -> str:
        """Say so where an optimizer was saved without its model, but has one, or the model alone, in the program."""
        stored = [*self.kept, *(leaf.path for leaf in self.unexpected)]
        if self.unexpected and not self.kept and {path[0] for path in stored} == {OPT_STATE, STEP}:
            return (
                "this is the state of an optimizer without its model, which stays as it is: leave --model out, or let "
                "the factory return the nnx.Optimizer"
            )
        if bool(self.missing) == bool(self.unexpected):
            return ""
        optimizers = _optimizers_in(stored)
        unexpected = [leaf for leaf in self.unexpected if not self._beside(leaf)]
        nodes = {_above_model(leaf.path, optimizers) for leaf in (*self.missing, *unexpected)}
        if not nodes or None in nodes:
            return ""
        places = ", ".join(sorted(dotted(node) for node in nodes if node))
        at = f", at {places}" if places else ""
        if self.missing:
            return (
                f"an optimizer was saved without its model{at}: let the factory return an nnx.Optimizer there, which "
                "does not hold it either"
            )
        drops = " ".join(
            f"--drop {dotted((*node, MODEL))}" for node in sorted(node for node in nodes if node is not None)
        )
        return (
            f"an optimizer was saved with its model{at}: let the factory return an nnx.ModelAndOptimizer there; or, if "
            f"the same model is stored beside it, {drops} leaves this copy out"
        )

    def _by_the_factory(self) -> str:
        nodes = _kept_below(self.unexpected, self.missing)
        nodes = with_streams(nodes, self.streams) or nodes
        apart = self._streams_apart(nodes)
        if nodes and not apart:
            places = " and ".join(map(dotted, nodes))
            holders = _optimizers_in(leaf.path for leaf in self.unexpected)
            inner = {
                node[:-1] if node[-1:] == (MODEL,) and node[:-1] in holders else node: MODEL
                if node[-1:] != (MODEL,) or node[:-1] not in holders
                else "nnx.ModelAndOptimizer(model, tx)"
                for node in nodes
            }
            tops = {node[:1] for node in inner}
            inner |= {leaf.path[:1]: "…" for leaf in self.unexpected if leaf.path[:1] not in tops and () not in tops}
            tree = nested_each(inner)
            return f"the model is stored below {places}: let the factory return the tree that was saved, with {tree}"
        parts = [dotted(node) for node in (*nodes, *apart)] or _parts_below(self.unexpected, self.missing)
        if not parts:
            return self._of_a_part()
        return (
            f"the model's state is stored in parts, below {' and '.join(parts)}: let the factory return the tree "
            f"that was saved, made of what nnx.split gives"
        )

    def _streams_apart(self, nodes: Sequence[Path]) -> list[Path]:
        """Return the nodes that hold the RNG state of a model which stands below one of others without any."""
        if not nodes or with_streams(nodes, self.streams):
            return []
        new = {stream.path for stream in find_streams({leaf.path: leaf for leaf in self.rng})}
        stored = [*self.kept, *(leaf.path for leaf in self.unexpected)]
        return with_streams_apart(stored, nodes[0], self.streams, new)

    def _of_a_part(self) -> str:
        """Say so where keys hold a part of the model each, and no RNG state."""
        wanted = {(bare(leaf.path), leaf.described) for leaf in self.missing}
        held = [(bare(leaf.path[1:]), leaf.described) in wanted for leaf in self.unexpected]
        if self.kept or self.streams or self.lost or not held or not all(held):
            return ""
        keys = ", ".join(dict.fromkeys(repr(leaf.path[0]) for leaf in self.unexpected))
        return (
            f"below {keys} stands a part of the model's state and no RNG state, which needs no conversion: leave "
            "--model out, and load it with the filter that it was saved with, such as nnx.state(model, nnx.Param)"
        )

    def _of_joined_names(self) -> str:
        """Say so where the program joined the names of its state, and there is no RNG state."""
        separators = {joined_by(leaf.path) for leaf in self.unexpected}
        if len(separators - {""}) != 1 or self.kept or self.streams or self.lost:
            return ""
        (separator,) = separators - {""}
        return (
            f"the program joined the names of its state by {separator!r}, and there is no RNG state in it, so it needs "
            "no conversion: leave --model out, and load it as before"
        )

    def _by_the_keys(self) -> str:
        """Say so where the factory returned a list or tuple, and the checkpoint has names in place of its numbers."""
        numbered = {leaf.path[0] for leaf in self.missing if leaf.key_types[:1] == (SEQUENCE_KEY,)}
        renames = suggested_renames([*self.unexpected, *self.lost], self.missing)
        names = {old: new for old, new in renames.items() if new in numbered and "." not in old}
        if not names or names.keys() != renames.keys():
            return ""
        tops = dict.fromkeys(leaf.path[0] for leaf in self.unexpected)
        tree = nested_each({(top,): "…" for top in tops})
        return (
            f"the factory returned a list or tuple, and the checkpoint has names, such as {' and '.join(names)}: let "
            f"it return the tree that was saved, {tree}"
        )

    def _by_renames(self) -> str:
        renames = suggested_renames([*self.unexpected, *self.lost], self.missing)
        return "perhaps: " + " ".join(f"--rename {old}={new}" for old, new in renames.items()) if renames else ""

    def _by_options(self) -> Iterable[str]:
        if self.reshaped:
            yield "build the model with the sizes it was trained with"
        elif self.missing and self.unexpected:  # the values are there: no way that would lose them
            yield "is it the model that was trained? --rename OLD=NEW moves stored leaves to where they are now"
        elif self.missing and not any(leaf.dtype for leaf in self.missing):
            yield (
                f"only arrays and numbers are made anew: let the factory leave {named(self.missing)} out, which the "
                "program sets by itself"
            )
        elif self.missing:
            if self.kept and not (self.streams or self.lost):
                yield (
                    "if it is a part of the model, as a filter gives it, it needs no conversion, for it holds no RNG "
                    "state: leave --model out, and load it with that filter"
                )
            yield (
                f"if the program really has more now: --allow-missing PATTERN gives leaves new initial values; "
                f"nothing is stored for {named(self.missing)}"
            )
        elif self.unexpected and all(_sown(leaf) for leaf in self.unexpected):
            nodes = [dotted(path) for path in dict.fromkeys(_sown(leaf) for leaf in self.unexpected)]
            yield (
                f"{', '.join(nodes)}: tuples, as sow records them in a Variable, which the new model does not have: "
                f"{' '.join(f'--drop {node}' for node in nodes)} leaves them out, and their values are lost; or let "
                "the model have them when it is made"
            )
        elif self.unexpected:
            beside = [leaf for leaf in self.unexpected if self._beside(leaf) or OPT_STATE in leaf.path]
            tops = {leaf.path[0] for leaf in beside} - {path[0] for path in self.kept}
            if beside and all(leaf in beside or leaf.path[0] in tops for leaf in self.unexpected):
                names = named(beside) if len(beside) == len(self.unexpected) else ", ".join(sorted(tops))
                yield f"let the factory return the tree that was saved, with {names} in it"
            yield (
                f"if the program really has fewer now: --drop PATTERN leaves stored leaves out; "
                f"the values of {named(self.unexpected)} will be lost"
            )

    def _beside(self, leaf: Leaf) -> bool:
        """Say whether a leaf is in no Variable, so that it stood beside what NNX saved, as a step's number does."""
        if self.layout is Layout.STATE:
            return len(leaf.path) == 1 or leaf.path[-1] != "value"
        return len(leaf.path) == 1 or leaf.kind == "scalar" or leaf.is_string


def _sown(leaf: Leaf) -> Path:
    """Return the path of the Variable in whose tuple a leaf is, as ``sow`` makes it; empty if it is in none."""
    inner = leaf.path[-2:-1] == ("value",) and leaf.key_types[-1:] == (SEQUENCE_KEY,)
    return leaf.path[:-2] if inner else ()


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


def _optimizers_in(paths: Iterable[Path]) -> set[Path]:
    """Return the nodes that hold a number of steps and mostly the memory of an optimizer."""
    held: dict[Path, set[str]] = {}
    for path in paths:
        for depth, key in enumerate(path):
            if key in (OPT_STATE, STEP):
                held.setdefault(path[:depth], set()).add(key)
    return {node for node, keys in held.items() if keys == {OPT_STATE, STEP}}


def _above_model(path: Path, nodes: Container[Path]) -> Path | None:
    """Return the one of some nodes below whose ``model`` a path leads; None if there is none."""
    return next((path[:at] for at, key in enumerate(path) if key == MODEL and path[:at] in nodes), None)


def _kept_below(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> list[Path]:
    """Return the nodes below which a checkpoint holds all that is missing."""
    stored, wanted = ({bare(leaf.path) for leaf in leaves} for leaves in (unexpected, missing))
    return nodes_above(stored, wanted)


def _parts_below(unexpected: Iterable[Leaf], missing: Iterable[Leaf]) -> list[str]:
    """Return the nodes, more than one, below which the missing leaves are stored, each of a part of them.

    Averages stand beside such parts too. What an optimizer remembers of parameters has their names, but is none; where
    its place has no name, as in a tuple, it stands deeper than they do.
    """
    wanted = {(bare(leaf.path), leaf.described) for leaf in missing}
    held: dict[Path, set[tuple[Path, str]]] = {}
    for leaf in unexpected:
        path = bare(leaf.path)
        for depth in range(1, len(path) if OPT_STATE not in path else 0):
            if (path[depth:], leaf.described) in wanted:
                held.setdefault(path[:depth], set()).add((path[depth:], leaf.described))
    parts = {
        node: own
        for node, own in held.items()
        if not any(own < other or (own == other and len(above) < len(node)) for above, other in held.items())
    }
    whole = set().union(*parts.values()) == wanted
    return [dotted(node) for node in parts] if whole and len(parts) > 1 else []


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

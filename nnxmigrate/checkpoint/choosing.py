"""Which trees of a step are the model's, and what becomes of each: one that holds it all, or several that share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from nnxmigrate.checkpoint.errors import CheckpointError, unreadable
from nnxmigrate.checkpoint.filters import WITHOUT_RNG, filter_of
from nnxmigrate.checkpoint.initialise import Form, Program
from nnxmigrate.checkpoint.layout import Item, Step
from nnxmigrate.checkpoint.nodes import MODEL
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.planning import make_plan
from nnxmigrate.checkpoint.reading import open_array
from nnxmigrate.checkpoint.rng import find_streams
from nnxmigrate.checkpoint.shared import SameValue
from nnxmigrate.checkpoint.target import Layout, TargetLeaf
from nnxmigrate.checkpoint.tree import Leaf, Path, StoredTree
from nnxmigrate.checkpoint.wishes import Wishes, matches, shared_out

Trees = Sequence[tuple[Item, StoredTree]]


@dataclass(frozen=True)
class Chosen:
    """What becomes of the trees of a step.

    Attributes:
        plans: by item name; a tree without a plan is copied as it is.
        shared: whether the items with a plan are parts of one state.
    """

    plans: Mapping[str, Plan]
    shared: bool = False


def choose_form(
    steps: Sequence[tuple[Step, Trees]],
    program: Program | None,
    items: Sequence[str],
    wishes: Wishes,
    eager: bool | None,
) -> tuple[Program | None, list[Chosen]]:
    """Plan the trees of all steps, in the form in which the program made states of its objects.

    A factory returns objects. Whether ``nnx.state`` took them one by one or all at once is seen in the checkpoint: what
    a model and its optimizer share is then stored once, and a tuple has the keys of a dict. Other forms are tried only
    where the usual one does not fit.

    Args:
        steps: the steps with their items, and what they hold.
        program: the new program; None without a model.
        items: names of the items that the user chose; none for all.
        wishes: renames and exceptions.
        eager: whether the user said how to build the model.

    Returns:
        The program in the form that was chosen, and what becomes of each step.

    Raises:
        CheckpointError: as :func:`choose`.
    """
    usual: list[Chosen] = []
    refusal: CheckpointError | None = None
    try:
        usual = [choose(step, trees, program, items, wishes, eager) for step, trees in steps]
        if program is None or all(_fits(chosen, program) for chosen in usual):
            return program, usual
    except CheckpointError as error:
        refusal = error
    for form in (Form.ONE, Form.EACH, Form.HOLDERS) if program else ():
        other = program.in_form(form) if program else None
        try:
            choices = [choose(step, trees, other, items, wishes, eager) for step, trees in steps] if other else []
        except CheckpointError:
            continue
        if other and all(_fits(chosen, other) for chosen in choices):
            return other, choices
    if refusal:
        raise refusal
    return program, usual


def _fits(chosen: Chosen, program: Program) -> bool:
    """Say whether all plans of a step fit the new program, in the kinds of its containers too."""
    for plan in chosen.plans.values():
        target = (program.below(plan.within) if plan.within else program.target)[plan.layout]
        wanted = {(*plan.mount, *path): leaf.key_types for path, leaf in target.items()}
        start = len(plan.mount)
        kept = [(one.leaf.key_types, wanted[one.path]) for one in plan.kept if one.path in wanted and not one.renamed]
        if plan.problems or any(old[start:] != new for old, new in kept):
            return False
    return True


def choose(
    step: Step, trees: Trees, program: Program | None, items: Sequence[str], wishes: Wishes, eager: bool | None
) -> Chosen:
    """Plan the trees of a step.

    Without a model each is planned by itself. A model describes every tree with RNG state that fits it; if there is
    none, then the trees that hold its state together, as programs write that save the results of ``nnx.split``. A dict
    with the names of items describes each of them by what it has under that name.

    Args:
        step: the step.
        trees: its items and what they hold.
        program: the new program; None without a model.
        items: names of the items that the user chose; none for all.
        wishes: renames and exceptions.
        eager: whether the user said how to build the model.

    Raises:
        CheckpointError: if a wish cannot be met, or nothing tells which tree is the model's.
    """
    chosen = _chosen(step, trees, program, items, wishes, eager)
    if len(chosen.plans) < 2:
        return chosen
    return replace(chosen, plans={name: replace(plan, item=name) for name, plan in chosen.plans.items()})


def _chosen(
    step: Step, trees: Trees, program: Program | None, items: Sequence[str], wishes: Wishes, eager: bool | None
) -> Chosen:
    """Plan the trees of a step as :func:`choose` says."""
    named = [(item, tree) for item, tree in trees if not items or item.name in items]
    if program is None:
        return Chosen({item.name: make_plan(tree, None, wishes) for item, tree in named})
    if len(named) == 1:
        item, tree = named[0]
        return Chosen({item.name: _with_sibling_hint(_only(item, tree, program, wishes, eager), item, trees)})
    apart = [(item, tree) for item, tree in named if item.name in program.keys]
    if apart and len(apart) == len(program.keys):
        return Chosen(_apart(apart, program, wishes, eager))
    alone = {
        item.name: _planned(item, tree, program, wishes, eager) for item, tree in named if find_streams(tree.leaves)
    }
    fitting = {name: plan for name, plan in alone.items() if not plan.problems}
    whole = {name: plan for name, plan in fitting.items() if not plan.part_of}
    if whole:
        return Chosen(whole)
    together = _together(named, program, wishes)
    if together:
        return Chosen(together, shared=True)
    if fitting:
        return Chosen(fitting)
    if not alone:  # nothing holds RNG state: what fits the model is as it should be
        plans = {item.name: _planned(item, tree, program, wishes, eager) for item, tree in named}
        fitting = {name: plan for name, plan in plans.items() if not plan.problems}
        if fitting and all(plan.needless for plan in fitting.values()):
            return Chosen(fitting)
    if len(alone) == 1:
        return Chosen(alone)
    names = ", ".join(item.name for item, _ in trees)
    raise CheckpointError(
        f"{step.folder} holds several trees: {names}; none of them, and not all together, hold the model's state",
        "say with --item which one is the model, or with several --item which ones share its state; if each is another "
        f"model's, let the factory return {{{', '.join(f'{name!r}: …' for name in alone)}}}",
    )


def _only(item: Item, tree: StoredTree, program: Program, wishes: Wishes, eager: bool | None) -> Plan:
    """Plan the only item: it holds what the program saves, or else what that has under the item's name."""
    try:
        plan = _planned(item, tree, program, wishes, eager)
    except CheckpointError:  # a wish for what the program has under that name
        if item.name not in program.keys:
            raise
    else:
        if not plan.problems or item.name not in program.keys:
            return plan
    return _planned(item, tree, program, wishes, eager, item.name)


def _apart(trees: Trees, program: Program, wishes: Wishes, eager: bool | None) -> dict[str, Plan]:
    """Plan items of which each is what the program has under its name."""
    below = {item.name: [path for leaves in program.below(item.name).values() for path in leaves] for item, _ in trees}
    inner = {name: [*paths, *((MODEL, *path) for path in paths)] for name, paths in below.items()}
    shares = shared_out(wishes, {item.name: (tree.leaves, inner[item.name]) for item, tree in trees})
    return {item.name: _planned(item, tree, program, shares[item.name], eager, item.name) for item, tree in trees}


def _planned(
    item: Item, tree: StoredTree, program: Program, wishes: Wishes, eager: bool | None, within: str = ""
) -> Plan:
    """Plan an item that holds all that the program saves, or what it has ``within`` a key of its tree."""
    same = _comparison(program, lambda leaf: (item, tree))

    def planned() -> Plan:
        target = program.below(within) if within else program.target
        return replace(make_plan(tree, target, wishes, same), within=within)

    plan = planned()
    hidden = not plan.missing and all(_may_be_plain(leaf, plan.layout) for leaf in plan.unexpected)
    if plan.unexpected and hidden and program.may_hide_arrays and eager is None:
        program.build("Flax 0.12 hides plain array attributes from a traced model, so it is really built")
        plan = planned()
    return _part_alone(plan, tree, program, wishes, same) or _without_rng(plan, program, wishes) or plan


def _without_rng(plan: Plan, program: Program, wishes: Wishes) -> Plan | None:
    """Return the plan for a tree that holds all of the program's state but RNG state, of which it holds none.

    The layers of 0.10 that draw keep their RNG state in the state of the model. So the program left it out, as with
    ``nnx.Not(nnx.RngState)``; it restores with the same filter, and would not find its way in a tree that has more.
    """
    rng = [leaf for leaf in plan.added if leaf.rng]
    if not rng or plan.problems or plan.streams or plan.dropped or not program.filters_rng:
        return None
    if any(matches(leaf.path, wishes.allow_missing) for leaf in rng):
        return None
    return replace(plan, added=tuple(leaf for leaf in plan.added if not leaf.rng), part_of=WITHOUT_RNG)


def _part_alone(plan: Plan, tree: StoredTree, program: Program, wishes: Wishes, same: SameValue) -> Plan | None:
    """Return the plan for a tree that holds a part of the model, as ``nnx.state(model, nnx.Param)`` does.

    Which it is must follow from the classes of the Variables: it has all of some, and none of the others. Without RNG
    state such a part is as the new program has it.
    """
    strange = plan.unexpected or plan.reshaped or plan.mounted or plan.lost or not program.plain
    if strange or not plan.missing or plan.problems == len(program.target[plan.layout]) or wishes != Wishes():
        return None
    target = program.target
    stored = [target[plan.layout][kept.path] for kept in plan.kept if not target[plan.layout][kept.path].rng]
    classes = {leaf.variable_class for leaf in stored}
    with_rng = bool(plan.streams)

    def in_part(leaf: TargetLeaf) -> bool:
        return with_rng if leaf.rng else leaf.variable_class in classes

    found = filter_of(*_classes(target[plan.layout].values(), in_part))
    if not plan.kept or found is None or classes & {leaf.variable_class for leaf in plan.missing}:
        return None
    part = {layout: {path: leaf for path, leaf in leaves.items() if in_part(leaf)} for layout, leaves in target.items()}
    own = make_plan(tree, part, wishes, same)
    if own.problems or not (with_rng or own.needless):
        return None
    note = (
        f"of the model {found.said} alone is stored; the printed code restores that, the rest stays as it is made "
        "(--allow-missing PATTERN stores initial values of what the program has more now)"
    )
    return replace(own, part_of=found, notes=(*own.notes, *([note] if with_rng else [])))


def _classes(leaves: Iterable[TargetLeaf], chosen: Callable[[TargetLeaf], bool]) -> tuple[set[type], set[type]]:
    """Return the classes of the Variables that are chosen, and of the others; ``object`` stands for no Variable."""
    found: tuple[set[type], set[type]] = (set(), set())
    for leaf in leaves:
        found[not chosen(leaf)].add(leaf.variable_class or object)
    return found


def _comparison(program: Program, place: Callable[[Leaf], tuple[Item, StoredTree]]) -> SameValue:
    """Return the function that compares stored RNG state with what the program computes."""

    def same(leaf: Leaf, wanted: TargetLeaf) -> bool:
        item, tree = place(leaf)
        try:
            stored = open_array(item.folder, leaf.name, tree.ocdbt, tree.zarr3).read().result()
        except ValueError as error:
            raise unreadable(item.folder, error, f"{leaf.name} cannot be read") from error
        return bool(stored.tobytes() == program.rng_value(wanted).tobytes())

    return same


def _may_be_plain(leaf: Leaf, layout: Layout) -> bool:
    """Say whether a leaf may have been a plain array attribute, which has no ``value`` in its path."""
    return layout is Layout.PURE or leaf.path[-1] != "value"


def _together(named: Trees, program: Program, wishes: Wishes) -> dict[str, Plan]:
    """Plan trees that share the model's state, and nothing if there are no such trees."""
    parts = [(item, tree) for item, tree in named if _is_part(tree, program)]
    owner: dict[Path, str] = {}
    for item, tree in parts:
        for path in (*tree.leaves, *tree.empty):
            if owner.setdefault(path, item.name) != item.name:
                return {}
    if len(parts) < 2:
        return {}
    first = parts[0][1]
    leaves = {path: leaf for _, tree in parts for path, leaf in tree.leaves.items()}
    empty = {path: leaf for _, tree in parts for path, leaf in tree.empty.items()}
    places = {item.name: (item, tree) for item, tree in parts}
    same = _comparison(program, lambda leaf: places[owner[leaf.path]])
    tree = replace(first, leaves=leaves, empty=empty)
    whole = make_plan(tree, program.target, wishes, same)
    if whole.problems:
        part = _part_alone(whole, tree, program, wishes, same)
        if part is None:
            return {}
        whole = replace(part, part_of=None)
    return {item.name: _share(whole, item.name, owner) for item, _ in parts}


def _is_part(tree: StoredTree, program: Program) -> bool:
    """Say whether all that a tree holds, but for RNG state, is the model's."""
    rng = {leaf.path for stream in find_streams(tree.leaves) for leaf in stream.leaves}
    ordinary = {path for path in tree.leaves if path not in rng and not _may_be_rng(path)}
    return any(ordinary <= set(leaves) for leaves in program.target.values())


def _may_be_rng(path: Path) -> bool:
    """Say whether a leaf may be half of a stream, keys and counts being saved in different items."""
    return any(name in ("key", "count") for name in path[-2:])


def _share(whole: Plan, name: str, owner: Mapping[Path, str]) -> Plan:
    """Return an item's share of a plan; new RNG state goes where the old was, keys and counts each."""
    places: dict[str, str] = {}
    for stream in whole.streams:
        places.setdefault("key", owner[stream.key.path])
        places.setdefault("count", owner[stream.count.path])

    def place(path: Path) -> str | None:
        last = path[-2] if path[-1] == "value" and len(path) > 1 else path[-1]
        return places.get(last)

    def own(leaf: Leaf) -> bool:
        return owner[leaf.path] == name

    return replace(
        whole,
        kept=tuple(kept for kept in whole.kept if own(kept.leaf)),
        empty=tuple(kept for kept in whole.empty if own(kept.leaf)),
        dropped=tuple(leaf for leaf in whole.dropped if own(leaf)),
        emptied=tuple(leaf for leaf in whole.emptied if own(leaf)),
        added=tuple(leaf for leaf in whole.added if (place(leaf.path) if leaf.rng else min(owner.values())) == name),
        opened=(),
        streams=tuple(stream for stream in whole.streams if own(stream.key)),
    )


def _with_sibling_hint(plan: Plan, item: Item, trees: Trees) -> Plan:
    """Say which other items hold what is missing, so that nobody initialises what is stored."""
    if plan.within:  # the others hold what the program has under other keys
        return plan
    missing = {leaf.path for leaf in plan.missing}
    holders = [other.name for other, tree in trees if other is not item and missing & set(tree.leaves)]
    return replace(plan, elsewhere=tuple(holders)) if holders else plan

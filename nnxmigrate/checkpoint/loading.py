"""The lines of code that load a converted checkpoint in the new program."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nnxmigrate.checkpoint.each_step import lines_of_steps
from nnxmigrate.checkpoint.filters import Filter, filter_of
from nnxmigrate.checkpoint.guess import Looks, looks_like, share_a_state
from nnxmigrate.checkpoint.initialise import Made, Program
from nnxmigrate.checkpoint.job import ItemJob, Job
from nnxmigrate.checkpoint.layout import Step
from nnxmigrate.checkpoint.nodes import MODEL, OPT_STATE, OPTIMIZER, STEP, holds_optimizer, nested
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.restoring import as_stored, partially, restored
from nnxmigrate.checkpoint.target import Layout
from nnxmigrate.checkpoint.trained import trained
from nnxmigrate.checkpoint.tree import DICT_KEY, is_below
from nnxmigrate.checkpoint.trees import SAVED, tree_lines


@dataclass(frozen=True)
class Maker:
    """How the new program's model is made.

    Attributes:
        imports: the import statement.
        call: the expression.
    """

    imports: str
    call: str


UNKNOWN = Maker("", "MyModel(rngs=nnx.Rngs(0))  # your model")


def loading_code(job: Job, maker: Maker | None) -> str:
    """Return Python code that loads what ``job`` wrote.

    Args:
        job: a conversion that was planned.
        maker: how the model is made; None if the user did not say.
    """
    made = _made_where(job, maker)

    def of(job: Job, step: Step) -> list[str]:
        shared = _shared_lines(job, step) if job.shared else None
        if shared:
            return [f"model = {made.call}", *shared]
        lines: list[str] = []
        for one, plan, title in _of_step(job, step):
            lines += [*title, *_item_lines(job, one, plan, made, first=not lines)]
        return lines

    return _program(lines_of_steps(job, of) or [], made)


def partial_code(job: Job, maker: Maker | None) -> str | None:
    """Return Python code that loads the source of ``job`` as it is; the new program's RNG state stays its own.

    Args:
        job: a conversion for which a partial restore is enough.
        maker: how the model is made; None if the user did not say.

    Returns:
        The code; None where what was saved is not known, or holds RNG state that cannot be told from arrays.
    """
    made = _made_where(job, maker)

    def of(job: Job, step: Step) -> list[str] | None:
        lines: list[str] = []
        for one, plan, title in _of_step(job, step):
            own = _partial_lines(job, one, plan, made, first=not lines)
            if own is None:
                return None
            lines += [*title, *own]
        return lines

    lines = lines_of_steps(job, of)
    return None if lines is None else _program(lines, made)


def _program(lines: Sequence[str], made: Maker) -> str:
    """Return the lines below the imports that they need, those among the lines included."""
    text = "\n".join(line for line in lines if not line.startswith("from "))
    imports = ["import jax"] if "jax." in text else []
    imports += ["import orbax.checkpoint as ocp"]
    imports += ["from flax import nnx"] if "nnx." in text else []
    own = [made.imports] if made.imports and made.call in text else []
    names: dict[str, set[str]] = {}
    for line in (*own, *(line for line in lines if line.startswith("from "))):
        module, _, name = line.removeprefix("from ").partition(" import ")
        names.setdefault(module, set()).add(name)
    imports += [f"from {module} import {', '.join(sorted(names[module]))}" for module in names]
    return "\n".join([*imports, "", text])


def _of_step(job: Job, step: Step) -> Iterator[tuple[ItemJob, Plan, list[str]]]:
    """Give the converted items of a step, each with the lines that name it if there are several."""
    pairs = [pair for pair in job.converted if pair[0].step is step]
    for number, (one, plan) in enumerate(pairs):
        title = [f"# item {one.item.name}"] if len(pairs) > 1 else []
        yield one, plan, ["", *title] if number else title


def _made_where(job: Job, maker: Maker | None) -> Maker:
    """Return how the model is made, with what the printed call alone lacks."""
    if maker and job.program and job.program.unsharded:
        return Maker(maker.imports, f"{maker.call}  # in your program's mesh: Variables have shardings")
    return maker or UNKNOWN


def _partial_lines(job: Job, one: ItemJob, plan: Plan, made: Maker, first: bool) -> list[str] | None:
    """Return the lines that load one item of the source as it is; None if there are none that surely run."""
    source = str(job.checkpoint.folder)
    if job.program and job.program.made is Made.TREE:
        lines = tree_lines(job.program, job, one, plan, source)
        return None if lines is None else [*(_saved_lines(job.program, made) if first else []), *lines]
    if plan.mounted and not holds_optimizer(one.tree.leaves):
        return _beside_lines(source, one, plan, made, stored=True)
    makes = _making(job, one, plan, made)
    if makes is None or not plan.kept:
        return None
    lines = [*makes.lines, *_stored_streams(plan, "")]
    (name,) = makes.names
    filters = _stored_filter(plan, "")
    if plan.part_of:
        lines += plan.part_of.import_lines
        filters = f"nnx.All({plan.part_of.text}, {filters})"
    lines.append(f"state = nnx.state({name}, {filters})")
    if plan.layout is Layout.PURE:
        lines += partially("pure", "nnx.to_pure_dict(state)", source, one)
        lines.append("nnx.replace_by_pure_dict(state, pure)")
    else:
        lines += partially("state", "state", source, one)
    return [*lines, f"nnx.update({name}, state)", *makes.then]


def _stored_filter(plan: Plan, part: str) -> str:
    """Return the filter that leaves out all RNG state but the streams that stay as stored."""
    filters = "nnx.Not(nnx.RngState)"
    if _stored_streams(plan, part):
        return f"nnx.Any({filters}, lambda path, _: tuple(map(str, path[:-1])) in streams)"
    return filters


def _item_lines(job: Job, one: ItemJob, plan: Plan, made: Maker, first: bool) -> list[str]:
    """Return the lines that load one item; ``first`` says whether nothing was made before."""
    if job.shared:
        return as_stored(_identifier(one.item.name), job, one)
    if job.program and job.program.made is Made.TREE and plan.parts == ("",):
        lines = tree_lines(job.program, job, one, plan, job.result if plan.part_of else "")
        assert lines is not None
        return [*(_saved_lines(job.program, made) if first else []), *lines]
    if plan.mounted and not holds_optimizer(one.tree.leaves):
        without_rng = plan.part_of is not None
        return _beside_lines(job.result, one, plan, made, without_rng) or as_stored("tree", job, one)
    makes = _making(job, one, plan, made)
    if makes is None:
        several = sum(other.step is one.step for other, _ in job.converted) > 1
        name = _identifier(one.item.name) if several and one.item.name else "tree"
        return [line for part in plan.parts for line in as_stored(part or name, job, one, part)]
    lines = list(makes.lines)
    for part, name in zip(plan.parts, makes.names, strict=True):
        lines += _object_lines(name, job, one, plan, part)
    return [*lines, *makes.then]


def _saved_lines(program: Program, made: Maker) -> list[str]:
    """Return the lines that make the tree whose objects are filled."""
    if program.parted is Made.PAIR:
        lines = [f"pair = {made.call}", f"{SAVED} = {{{MODEL!r}: pair[0], {OPTIMIZER!r}: pair[1]}}"]
    elif program.parted is Made.HOLDER:
        optimizer = "nnx.Optimizer(whole.model, whole.tx, wrt=whole.wrt)"
        lines = [f"whole = {made.call}", f"{SAVED} = {{{MODEL!r}: whole.model, {OPTIMIZER!r}: {optimizer}}}"]
    else:
        lines = [f"{SAVED} = {made.call}"]
    return lines


def _beside_lines(folder: str, one: ItemJob, plan: Plan, made: Maker, stored: bool = False) -> list[str] | None:
    """Return the lines that load a model which stands beside other things below a key of the tree.

    There are none for a model in a list or tuple.

    Args:
        folder: the checkpoint's.
        one: the item.
        plan: what becomes of it.
        made: how the model is made.
        stored: whether no RNG state is loaded, as from an item as it was before it was converted.
    """
    length = len(plan.mount)
    own = {path[length:]: leaf for path, leaf in one.tree.leaves.items() if is_below(path, plan.mount)}
    above = next(leaf.key_types[:length] for leaf in own.values())
    if any(key_type != DICT_KEY for key_type in above):
        return None
    name = OPTIMIZER if holds_optimizer(own) else MODEL
    found = "tree" + "".join(f"[{key!r}]" for key in plan.mount)
    pure = plan.layout is Layout.PURE
    target = nested(plan.mount, "nnx.to_pure_dict(state)" if pure else "state")
    lines = [
        f"{name} = {made.call}",
        f"state = nnx.state({name}, nnx.Not(nnx.RngState))" if stored else f"state = nnx.state({name})",
        *partially("tree", f"{target}  # of what is stored, this alone", folder, one),
    ]
    if pure:
        return [*lines, f"nnx.replace_by_pure_dict(state, {found})", f"nnx.update({name}, state)"]
    return [*lines, f"nnx.update({name}, {found})"]


def _shared_lines(job: Job, step: Step) -> list[str] | None:
    """Return the lines that load a state whose parts are items; None where no filters give those parts."""
    parts = [(one, plan) for one, plan in job.converted if one.step is step]
    filters = _filters(job, parts)
    if filters is None:
        return None
    parts = [parts[at] for at, _ in filters]
    names = [_identifier(one.item.name) for one, _ in parts]
    lines = [line for _, one in filters for line in one.import_lines]
    lines.append(f"{', '.join(names)} = nnx.state(model, {', '.join(one.text for _, one in filters)})")
    for name, (one, plan) in zip(names, parts, strict=True):
        if plan.layout is Layout.PURE:
            lines += restored("pure", f"nnx.to_pure_dict({name})", job, one, "")
            lines.append(f"nnx.replace_by_pure_dict({name}, pure)")
        else:
            lines += restored(name, name, job, one, "")
    return [*lines, f"nnx.update(model, {', '.join(names)})"]


def _filters(job: Job, parts: Sequence[tuple[ItemJob, Plan]]) -> list[tuple[int, Filter]] | None:
    """Return the order of the parts and the filters that give them, if their Variables' classes tell them apart."""
    if job.program is None or not job.program.plain:
        return None
    kinds: list[set[type]] = []
    absent: set[type] = set()
    rng = False
    for _, plan in parts:
        target = job.program.target[plan.layout]
        paths = [*(kept.path for kept in plan.kept), *(leaf.path for leaf in plan.added)]
        kinds.append({target[path].variable_class or object for path in paths})
        rng = rng or any(target[path].rng for path in paths)
    for leaf in job.program.target[Layout.STATE].values():
        kind = leaf.variable_class or object
        if not (leaf.empty or any(kind in own for own in kinds) or (leaf.rng and not rng)):
            absent.add(kind)
    rest = "..." if rng else "nnx.Not(nnx.RngState)"  # where no item has RNG state, the model's stays its own
    for order in itertools.permutations(range(len(parts))) if not absent else ():
        found = [filter_of(kinds[at], ()) for at in order[:-1]]
        if all(_first_match(kind, order, kinds) == at for at in order for kind in kinds[at]) and all(found):
            return [(at, one or Filter(rest, "")) for at, one in zip(order, [*found, None], strict=True)]
    every = set().union(absent, *kinds)
    exact = [filter_of(own, every - own) for own in kinds]
    return [(at, one) for at, one in enumerate(exact) if one] if all(exact) else None


def _first_match(kind: type, order: Sequence[int], kinds: Sequence[set[type]]) -> int:
    """Return the part that gets the Variables of a class when filters are tried in order."""
    return next((at for at in order[:-1] if issubclass(kind, tuple(kinds[at]))), order[-1])


def _identifier(name: str) -> str:
    return name if name.isidentifier() and name not in ("model", "ocp", "nnx") else f"part_{len(name)}"


@dataclass(frozen=True)
class _Making:
    """How the objects are made that an item fills.

    Attributes:
        lines: the lines that make them.
        names: the variable that each part of the item fills.
        then: lines that follow once they are filled.
    """

    lines: Sequence[str]
    names: Sequence[str]
    then: Sequence[str] = ()


def _making(job: Job, one: ItemJob, plan: Plan, made: Maker) -> _Making | None:
    """Return how the objects are made; None if it is not known what was saved."""
    split = plan.parts != ("",)
    if job.program is None:
        return _making_what_it_looks_like(job, one, plan, made)
    if job.program.made is Made.PAIR:
        return _making_a_pair(plan, made)
    if job.program.made is Made.TREE:
        return None
    if job.program.made is Made.OPTIMIZER:
        return _Making([f"optimizer = {made.call}"], [OPTIMIZER])
    if job.program.made is Made.HOLDER and not split:
        return _Making([f"optimizer = {made.call}"], [OPTIMIZER])
    if job.program.made is Made.HOLDER:
        lines = [f"whole = {made.call}", "model = whole.model"]
        kind, told = _class_of("nnx.Optimizer", plan)
        return _Making([*lines, *told, f"optimizer = {kind}(model, whole.tx, wrt=whole.wrt)"], plan.parts)
    if holds_optimizer(one.tree.leaves):
        return _making_with_an_optimizer(job, plan, made)
    return _Making([f"model = {made.call}"], [MODEL])


def _making_what_it_looks_like(job: Job, one: ItemJob, plan: Plan, made: Maker) -> _Making | None:
    looks = looks_like(one, plan)
    same_step = [pair for pair in job.converted if pair[0].step is one.step]
    if looks is Looks.TREE or (looks is Looks.MODEL and share_a_state(same_step, one)):
        return None
    if looks is Looks.OPTIMIZER:
        return _making_with_an_optimizer(job, plan, made)
    if looks is Looks.OPT_STATE:
        trains = trained(plan, None)
        lines = [f"model = {made.call}", f"optimizer = nnx.Optimizer(model, tx, wrt={trains.text}){_TX}"]
        return _Making(lines, [OPTIMIZER])
    return _Making([f"model = {made.call}"], [MODEL])


def _making_with_an_optimizer(job: Job, plan: Plan, made: Maker) -> _Making:
    """Return how a model and the optimizer are made that its checkpoint needs."""
    split = plan.parts != ("",)
    kind, told = _class_of("nnx.Optimizer" if split else "nnx.ModelAndOptimizer", plan)
    trains = trained(plan, job.program)
    wrt = f", wrt={trains.text}" if split or not trains.usual else ""
    optimizer = f"optimizer = {kind}(model, tx{wrt}){_TX if trains.known else _TX_AND_WRT}"
    lines = [*trains.import_lines, f"model = {made.call}", *told, optimizer]
    return _Making(lines, plan.parts if split else [OPTIMIZER])


def _making_a_pair(plan: Plan, made: Maker) -> _Making | None:
    """Return how a model and its optimizer are filled from the tree of one that holds the model."""
    lines = [f"model, optimizer = {made.call}"]
    if plan.parts != ("",):
        return _Making(lines, plan.parts)
    if _beyond(plan):  # an object of the program's own class cannot be made of what the pair has
        return None
    lines.append("whole = nnx.ModelAndOptimizer(model, optimizer.tx, wrt=optimizer.wrt)  # as it is stored")
    return _Making(lines, ["whole"], ["nnx.update(optimizer, nnx.state(whole, nnx.optimizer.OptState))"])


_TX = "  # tx: your optax transformation"
_TX_AND_WRT = f"{_TX}; wrt: what it trains, nnx.Param if you gave it nothing"
_PART = "  # or the filter that it was saved with, such as nnx.Param"


def _class_of(usual: str, plan: Plan) -> tuple[str, list[str]]:
    """Return the class of an optimizer, and the lines that say what it is if it is one of the program's own."""
    beyond = _beyond(plan)
    if not beyond:
        return usual, []
    return "MyOptimizer", [f"# MyOptimizer: your class derived from {usual}, with {', '.join(beyond)}"]


def _beyond(plan: Plan) -> list[str]:
    """Return what a checkpoint of an optimizer holds that ``nnx.Optimizer`` does not have."""
    return sorted({kept.path[0] for kept in plan.kept} - {MODEL, OPT_STATE, STEP})


def _object_lines(name: str, job: Job, one: ItemJob, plan: Plan, part: str) -> list[str]:
    """Return the lines that fill one object."""
    lines = [] if job.program else _stored_streams(plan, part)
    # without a model nothing could be initialised, so the checkpoint holds the RNG state that stays and no other
    filters = "" if job.program else f", {_stored_filter(plan, part)}"
    if plan.part_of:
        lines += plan.part_of.import_lines
        filters = f", {plan.part_of.text}"
    part_of = "" if job.program or plan.streams or name != MODEL else _PART
    lines.append(f"state = nnx.state({name}{filters}){part_of}")
    if plan.layout is Layout.PURE:
        lines += restored("pure", "nnx.to_pure_dict(state)", job, one, part)
        lines.append("nnx.replace_by_pure_dict(state, pure)")
    else:
        lines += restored("state", "state", job, one, part)
    return [*lines, f"nnx.update({name}, state)"]


def _stored_streams(plan: Plan, part: str) -> list[str]:
    """Return the line that names the RNG streams which stay as stored."""
    streams = plan.kept_streams
    if part == MODEL:
        streams = tuple(path[1:] for path in streams if path[0] == MODEL)
    elif part == OPTIMIZER:
        streams = tuple(path for path in streams if path[0] != MODEL)
    return [f"streams = {{{', '.join(map(repr, streams))}}}  # RNG streams that are stored"] if streams else []


def maker_from(reference: str, call: str) -> Maker:
    """Return the maker for a ``--model`` reference and the expression that calls it by its last name."""
    module, _, name = reference.rpartition(":")
    if module.endswith(".py"):
        module = pathlib.PurePath(module).stem
    return Maker(f"from {module} import {name.partition('.')[0]}", call)

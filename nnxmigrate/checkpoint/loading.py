"""The lines of code that load a converted checkpoint in the new program."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nnxmigrate.checkpoint.job import ItemJob, Job
from nnxmigrate.checkpoint.layout import Kind, Step
from nnxmigrate.checkpoint.nodes import MODEL, OPTIMIZER, holds_optimizer, nested
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.target import Layout
from nnxmigrate.checkpoint.tree import DICT_KEY, is_below


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
    one, plan = job.converted[0]
    made = _made_where(job, maker)
    lines = ["import orbax.checkpoint as ocp", "from flax import nnx"]
    lines += [made.imports] if made.imports else []
    lines.append("")
    if job.shared:
        return "\n".join([*lines, f"model = {made.call}", *_shared_lines(job)])
    others = [pair for pair in job.converted[1:] if pair[0].step is one.step]
    if others:
        for number, (each, part) in enumerate([(one, plan), *others]):
            lines += ["", f"# item {each.item.name}"] if number else [f"# item {each.item.name}"]
            lines += _item_lines(job, each, part, made)
        return "\n".join(lines)
    return "\n".join([*lines, *_item_lines(job, one, plan, made)])


def _made_where(job: Job, maker: Maker | None) -> Maker:
    """Return how the model is made, with what the printed call alone lacks."""
    if maker and job.program and job.program.unsharded:
        return Maker(maker.imports, f"{maker.call}  # in your program's mesh: Variables have shardings")
    return maker or UNKNOWN


def partial_code(job: Job, maker: Maker | None) -> str:
    """Return Python code that loads the source of ``job`` as it is; the new program's RNG state stays its own.

    Args:
        job: a conversion for which a partial restore is enough.
        maker: how the model is made; None if the user did not say.
    """
    one, plan = job.converted[0]
    made = _made_where(job, maker)
    lines = ["import orbax.checkpoint as ocp", "from flax import nnx", *([made.imports] if made.imports else []), ""]
    if job.program and not job.program.plain:
        lines += [f"saved = {made.call}", "target = ...  # the tree that your program saves, made from it"]
        return "\n".join([*lines, *_partially("tree", "target", str(job.checkpoint.folder), one)])
    optimizer = holds_optimizer(one.tree.leaves)
    if plan.mounted and not optimizer:
        return "\n".join([*lines, *_beside_lines(str(job.checkpoint.folder), one, plan, made, stored=True)])
    lines += _made(job, made, optimizer, plan)
    name = _variable(job, optimizer)
    lines += _stored_streams(plan, "")
    lines.append(f"state = nnx.state({name}, {_stored_filter(plan, '')})")
    if plan.layout is Layout.PURE:
        lines += _partially("pure", "nnx.to_pure_dict(state)", str(job.checkpoint.folder), one)
        lines.append("nnx.replace_by_pure_dict(state, pure)")
    else:
        lines += _partially("state", "state", str(job.checkpoint.folder), one)
    return "\n".join([*lines, f"nnx.update({name}, state)"])


def _partially(variable: str, target: str, folder: str, one: ItemJob) -> list[str]:
    path = "/".join(filter(None, (folder, one.step.name, one.item.name)))
    return [
        f"target = {target}",
        "arguments = ocp.args.PyTreeRestore(",
        "    item=target,",
        "    restore_args=ocp.checkpoint_utils.construct_restore_args(target),",
        "    partial_restore=True,  # Orbax 0.11.30 or later",
        ")",
        "with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:",
        f"    {variable} = checkpointer.restore({path!r}, args=arguments)",
    ]


def _stored_filter(plan: Plan, part: str) -> str:
    """Return the filter that leaves out all RNG state but the streams that stay as stored."""
    filters = "nnx.Not(nnx.RngState)"
    if _stored_streams(plan, part):
        return f"nnx.Any({filters}, lambda path, _: tuple(map(str, path[:-1])) in streams)"
    return filters


def _item_lines(job: Job, one: ItemJob, plan: Plan, made: Maker) -> list[str]:
    """Return the lines that load one item."""
    lines: list[str] = []
    if job.program and not job.program.plain and plan.parts == ("",):
        lines += [f"saved = {made.call}", "target = ...  # the tree that your program saves, made from it"]
        return [*lines, *_restored("tree", "target", job, one, "")]
    optimizer = holds_optimizer(one.tree.leaves)
    if plan.mounted and not optimizer:
        return _beside_lines(job.result, one, plan, made)
    if job.program is None and not optimizer and _more_than_a_state(one, plan):
        target = "...  # the tree that your program saved, made from it; with --model, the model is found in it"
        return [f"model = {made.call}", f"target = {target}", *_restored("tree", "target", job, one, "")]
    names = list(plan.parts) if plan.parts != ("",) else [_variable(job, optimizer)]
    lines += _made(job, made, optimizer, plan)
    for name in names:
        part = name if plan.parts != ("",) else ""
        lines += _object_lines(name, job, one, plan, part)
    return lines


def _beside_lines(folder: str, one: ItemJob, plan: Plan, made: Maker, stored: bool = False) -> list[str]:
    """Return the lines that load a model which stands beside other things below a key of the tree.

    Args:
        folder: the checkpoint's.
        one: the item.
        plan: what becomes of it.
        made: how the model is made.
        stored: whether the item is loaded as it was before it was converted, with the RNG state of old.
    """
    length = len(plan.mount)
    own = {path[length:]: leaf for path, leaf in one.tree.leaves.items() if is_below(path, plan.mount)}
    above = next(leaf.key_types[:length] for leaf in own.values())
    if any(key_type != DICT_KEY for key_type in above):
        return [f"saved = {made.call}", "target = ...  # the tree that your program saves, made from it"]
    name = OPTIMIZER if holds_optimizer(own) else MODEL
    found = "tree" + "".join(f"[{key!r}]" for key in plan.mount)
    pure = plan.layout is Layout.PURE
    target = nested(plan.mount, "nnx.to_pure_dict(state)" if pure else "state")
    lines = [
        f"{name} = {made.call}",
        f"state = nnx.state({name}, nnx.Not(nnx.RngState))" if stored else f"state = nnx.state({name})",
        *_partially("tree", f"{target}  # of what is stored, this alone", folder, one),
    ]
    if pure:
        return [*lines, f"nnx.replace_by_pure_dict(state, {found})", f"nnx.update({name}, state)"]
    return [*lines, f"nnx.update({name}, {found})"]


def _more_than_a_state(one: ItemJob, plan: Plan) -> bool:
    """Say whether things stand beside the ``nnx.State`` in a tree: no Variable holds them."""
    return plan.layout is Layout.STATE and any(path[-1:] != ("value",) for path in one.tree.leaves)


def _shared_lines(job: Job) -> list[str]:
    """Return the lines that load a state whose parts are items."""
    step = job.converted[0][0].step
    parts = [(one, plan) for one, plan in job.converted if one.step is step]
    filters = _filters(job, parts)
    if filters is None:
        saved = ", ".join(one.item.name for one, _ in parts)
        return [f"targets = ...  # the parts of nnx.state(model) that your program saves as {saved}"]
    parts = [parts[at] for at, _ in filters]
    names = [_identifier(one.item.name) for one, _ in parts]
    lines = [f"{', '.join(names)} = nnx.state(model, {', '.join(text for _, text in filters)})"]
    for name, (one, plan) in zip(names, parts, strict=True):
        if plan.layout is Layout.PURE:
            lines += _restored("pure", f"nnx.to_pure_dict({name})", job, one, "")
            lines.append(f"nnx.replace_by_pure_dict({name}, pure)")
        else:
            lines += _restored(name, name, job, one, "")
    return [*lines, f"nnx.update(model, {', '.join(names)})"]


def _filters(job: Job, parts: Sequence[tuple[ItemJob, Plan]]) -> list[tuple[int, str]] | None:
    """Return the order of the parts and the filters that give them, if their Variables' classes tell them apart."""
    from flax import nnx

    assert job.program is not None
    kinds: list[set[str]] = []
    rng = False
    for _, plan in parts:
        target = job.program.target[plan.layout]
        paths = [*(kept.path for kept in plan.kept), *(leaf.path for leaf in plan.added)]
        kinds.append({target[path].variable for path in paths})
        rng = rng or any(target[path].rng for path in paths)
    rest = "..." if rng else "nnx.Not(nnx.RngState)"  # where no item has RNG state, the model's stays its own
    for order in itertools.permutations(range(len(parts))):
        last = order[-1]
        texts = [_filter_text(kinds[at]) if at != last else rest for at in order]
        if all(_first_match(kind, order, kinds, nnx) == at for at in order for kind in kinds[at]) and None not in texts:
            return [(at, str(text)) for at, text in zip(order, texts, strict=True)]
    return None


def _filter_text(kinds: set[str]) -> str:
    names = [f"nnx.{kind}" for kind in sorted(kinds)]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def _first_match(kind: str, order: Sequence[int], kinds: Sequence[set[str]], nnx: Any) -> int | None:
    """Return the part that gets the Variables of a class when filters are tried in order; None if one is unknown."""
    for at in order[:-1]:
        classes = [getattr(nnx, name) for name in kinds[at] if hasattr(nnx, name)]
        if len(classes) < len(kinds[at]):
            return None
        own = getattr(nnx, kind, None)
        if kind in kinds[at] or (own is not None and any(issubclass(own, one) for one in classes)):
            return at
    return order[-1]


def _identifier(name: str) -> str:
    return name if name.isidentifier() and name not in ("model", "ocp", "nnx") else f"part_{len(name)}"


def _variable(job: Job, optimizer: bool) -> str:
    return OPTIMIZER if optimizer else MODEL


def _made(job: Job, made: Maker, optimizer: bool, plan: Plan) -> list[str]:
    """Return the lines that make the objects to be filled."""
    if job.program and not job.program.plain:
        return [f"model, optimizer = {made.call}"]
    whole = job.program is not None and not plan.mounted
    if optimizer and whole and plan.parts == ("",):
        return [f"optimizer = {made.call}"]
    lines = [f"model = {made.call}"]
    if optimizer and plan.parts == ("",):
        lines.append("optimizer = nnx.ModelAndOptimizer(model, tx)  # tx: your optax transformation")
    elif optimizer:
        lines.append("optimizer = nnx.Optimizer(model, tx, wrt=nnx.Param)  # tx: your optax transformation")
    return lines


def _object_lines(name: str, job: Job, one: ItemJob, plan: Plan, part: str) -> list[str]:
    """Return the lines that fill one object."""
    lines = [] if job.program else _stored_streams(plan, part)
    # without a model nothing could be initialised, so the checkpoint holds the RNG state that stays and no other
    filters = "" if job.program else f", {_stored_filter(plan, part)}"
    if plan.part_of:
        filters = f", {_filter_text(set(plan.part_of))}"
    lines.append(f"state = nnx.state({name}{filters})")
    if plan.layout is Layout.PURE:
        lines += _restored("pure", "nnx.to_pure_dict(state)", job, one, part)
        lines.append("nnx.replace_by_pure_dict(state, pure)")
    else:
        lines += _restored("state", "state", job, one, part)
    return [*lines, f"nnx.update({name}, state)"]


def _stored_streams(plan: Plan, part: str) -> list[str]:
    """Return the line that names the RNG streams which stay as stored."""
    streams = plan.kept_streams
    if part == MODEL:
        streams = tuple(path[1:] for path in streams if path[0] == MODEL)
    elif part == OPTIMIZER:
        streams = tuple(path for path in streams if path[0] != MODEL)
    return [f"streams = {{{', '.join(map(repr, streams))}}}  # RNG streams that are stored"] if streams else []


def _restored(variable: str, target: str, job: Job, one: ItemJob, part: str) -> list[str]:
    """Return the lines that restore one item into ``variable``."""
    item = part or one.item.name
    if job.checkpoint.kind is Kind.STEPS and one.step.kind is Kind.ITEMS:
        arguments = f"ocp.args.StandardRestore({target})"
        if item == "default":
            restored = f"manager.restore({one.step.number}, args={arguments})"
        else:
            restored = f"manager.restore({one.step.number}, args=ocp.args.Composite({item}={arguments}))[{item!r}]"
        options = _manager_options(one.step)
        return [f"with ocp.CheckpointManager({job.result!r}{options}) as manager:", f"    {variable} = {restored}"]
    path = "/".join(filter(None, (job.result, one.step.name, item)))
    return [f"{variable} = ocp.StandardCheckpointer().restore({path!r}, {target})"]


def _manager_options(step: Step) -> str:
    """Return the options under which a CheckpointManager finds a step's folder."""
    prefix, _, digits = step.name.rpartition("_")
    options = [f"step_prefix={prefix!r}"] if prefix else []
    if digits.startswith("0") and len(digits) > 1:
        options.append(f"step_format_fixed_length={len(digits)}")
    return f", options=ocp.CheckpointManagerOptions({', '.join(options)})" if options else ""


def maker_from(reference: str, call: str) -> Maker:
    """Return the maker for a ``--model`` reference and the expression that calls it by its last name."""
    module, _, name = reference.rpartition(":")
    if module.endswith(".py"):
        module = pathlib.PurePath(module).stem
    return Maker(f"from {module} import {name.partition('.')[0]}", call)

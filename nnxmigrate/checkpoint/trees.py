"""The lines of code that load a tree of several objects, states and arrays, and fill the objects in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nnxmigrate.checkpoint.initialise import Form, Held, Program, node_type
from nnxmigrate.checkpoint.job import ItemJob, Job
from nnxmigrate.checkpoint.nodes import nested
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.restoring import partially, restored
from nnxmigrate.checkpoint.target import Layout

SAVED = "saved"  # the variable that holds what the factory returned
_WITHOUT_RNG = ", nnx.Not(nnx.RngState)"


def tree_lines(program: Program, job: Job, one: ItemJob, plan: Plan, stored_in: str = "") -> list[str] | None:
    """Return the lines that load an item into what the factory returned, which is in :data:`SAVED`.

    Args:
        program: the new program.
        job: the conversion.
        one: the item.
        plan: what becomes of it.
        stored_in: the folder of the source where that is loaded as it is, without RNG state; else empty.

    Returns:
        The lines; None where RNG state cannot be left out, or nothing would be left in its place.
    """
    partial = bool(stored_in)
    if program.form is not Form.PIECES:
        return None if partial else _joined_lines(program, job, one, plan)
    if partial and (plan.kept_streams or not program.filters_rng):
        return None
    pure = plan.layout is Layout.PURE
    base = f"{SAVED}[{plan.within!r}]" if plan.within else SAVED
    held = list(_below(program.held, plan.within))
    name = _name(plan)
    lines, target = _target(base, held, pure, partial)
    reading, found = _reading(name, target, job, one, plan, stored_in)
    lines += reading
    for each in held:
        if each.is_object and not any("<" in key for key in each.keys):
            keys = "".join(each.keys)
            lines += _filled(base + keys, found + keys, pure, partial)
    return lines


def _reading(name: str, target: str, job: Job, one: ItemJob, plan: Plan, stored_in: str = "") -> tuple[list[str], str]:
    """Return the lines that restore what the factory returned, and the expression of what they give.

    Where it stands below a key, beside other things, it alone is restored.
    """
    if not plan.mount:
        lines = partially(name, target, stored_in, one) if stored_in else restored(name, target, job, one, "")
        return lines, name
    above = f"{nested(plan.mount, target)}  # of what is stored, this alone"
    return partially(name, above, stored_in or job.result, one), name + "".join(f"[{key!r}]" for key in plan.mount)


def saved_lines(program: Program, pure: bool) -> list[str] | None:
    """Return the body of a function that makes what is saved of the tree in :data:`SAVED`; None if it takes more."""
    if program.form is Form.PIECES:
        lines, target = _target(SAVED, program.held, pure, False)
    elif program.form is Form.ONE:
        lines, target = [], _state(SAVED, pure, False)
    else:
        return None
    if not lines:
        return [f"return {target}"]
    return [lines[0].replace("target = ", "return ", 1), *lines[1:]]


_TAKEN = {SAVED, "ocp", "nnx", "jax", "state", "target", "whole", "manager", "arguments", "checkpointer"}


def _name(plan: Plan) -> str:
    """Return the variable that takes what is restored."""
    return plan.within if plan.within.isidentifier() and plan.within not in _TAKEN else "tree"


def _joined_lines(program: Program, job: Job, one: ItemJob, plan: Plan) -> list[str]:
    """Return the lines that load an item which holds the states of several objects in one."""
    pure = plan.layout is Layout.PURE
    name = _name(plan)
    if program.form is Form.ONE:
        below = f"[{plan.within!r}]" if plan.within else ""
        lines = [f"state = nnx.state({SAVED}){below}  # of all objects at once: what they share is stored once"]
        reading, found = _reading(name, "nnx.to_pure_dict(state)" if pure else "state", job, one, plan)
        if pure:
            reading.append(f"nnx.replace_by_pure_dict(state, {found})")
        return [*lines, *reading, f"nnx.update({SAVED}{below}, {'state' if pure else found})"]
    held = {each.keys[0]: each for each in program.held if each.keys[0] == f"[{plan.within!r}]" or not plan.within}
    pairs = [keys for keys, each in held.items() if each.is_pair]
    lines = _wholes(pairs)
    objects = {keys: f"whole{keys}" if each.is_pair else f"{SAVED}{keys}" for keys, each in held.items()}

    def form(keys: str) -> str:
        if keys in held and held[keys].is_object:
            return _state(objects[keys], pure, False)
        return _filtered(f"{SAVED}{keys}", pure and keys in held, False)

    target = form(f"[{plan.within!r}]") if plan.within else "target"
    if not plan.within:
        lines += ["target = {", *(f"    {key!r}: {form(f'[{key!r}]')}," for key in program.keys), "}"]
    reading, found = _reading(name, target, job, one, plan)
    lines += reading
    for keys, each in held.items():
        if each.is_object:
            lines += _filled(objects[keys], found if plan.within else found + keys, pure, False)
        if each.is_pair:
            lines.append(f"nnx.update({SAVED}{keys}[1], nnx.state(whole{keys}, nnx.optimizer.OptState))")
    return lines


def _wholes(pairs: Sequence[str]) -> list[str]:
    """Return the lines that make an optimizer with its model of each pair of a model and its optimizer."""
    if not pairs:
        return []
    return [
        "whole = {  # as it is stored",
        *(
            f"    {keys[1:-1]}: nnx.ModelAndOptimizer({SAVED}{keys}[0], {SAVED}{keys}[1].tx, wrt={SAVED}{keys}[1].wrt),"
            for keys in pairs
        ),
        "}",
    ]


def _below(held: Sequence[Held], within: str) -> Iterator[Held]:
    """Give what is held below a key, by the keys from there."""
    for one in held:
        if not within:
            yield one
        elif one.keys[:1] == (f"[{within!r}]",):
            yield replace(one, keys=one.keys[1:])


def _target(base: str, held: Sequence[Held], pure: bool, partial: bool) -> tuple[list[str], str]:
    """Return the lines that make what Orbax is told of the tree, and its expression."""
    states = pure or partial
    if held and not held[0].keys:
        return [], (_state if held[0].is_object else _filtered)(base, pure, partial)
    forms = {True: _state("one", pure, partial), False: _filtered("one", pure, partial)}
    kinds = {one.is_object for one in held if one.is_object or states}
    if not kinds:
        return [], base
    names = {True: f"nnx.{node_type().__name__}", False: "nnx.State"}
    ordered = sorted(kinds, reverse=True)
    chosen = " else ".join(f"{forms[kind]} if isinstance(one, {names[kind]})" for kind in ordered)
    kind = names[ordered[0]] if len(ordered) == 1 else f"({', '.join(names.values())})"
    return [
        "target = jax.tree.map(",
        f"    lambda one: {chosen} else one,",
        f"    {base},",
        f"    is_leaf=lambda one: isinstance(one, {kind}),",
        ")",
    ], "target"


def _state(of: str, pure: bool, partial: bool) -> str:
    """Return the expression of an object's state, as it is stored."""
    state = f"nnx.state({of}{_WITHOUT_RNG if partial else ''})"
    return f"nnx.to_pure_dict({state})" if pure else state


def _filtered(of: str, pure: bool, partial: bool) -> str:
    """Return the expression of a state, as it is stored."""
    state = f"nnx.filter_state({of}{_WITHOUT_RNG})" if partial else of
    return f"nnx.to_pure_dict({state})" if pure else state


def _filled(place: str, value: str, pure: bool, partial: bool) -> list[str]:
    """Return the lines that fill an object."""
    if not pure:
        return [f"nnx.update({place}, {value})"]
    return [
        f"state = {_state(place, False, partial)}",
        f"nnx.replace_by_pure_dict(state, {value})",
        f"nnx.update({place}, state)",
    ]

"""The lines of code that load a tree of several objects, states and arrays, and fill the objects in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nnxmigrate.checkpoint.initialise import Held, Program, node_type
from nnxmigrate.checkpoint.job import ItemJob, Job
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
    if partial and (plan.kept_streams or _bare_streams(program) or any(one.only_rng for one in program.held)):
        return None
    pure = plan.layout is Layout.PURE
    base = f"{SAVED}[{plan.within!r}]" if plan.within else SAVED
    held = list(_below(program.held, plan.within))
    name = plan.within if plan.within.isidentifier() and plan.within not in _TAKEN else "tree"
    lines, target = _target(base, held, pure, partial)
    if partial:
        lines += partially(name, target, stored_in, one)
    else:
        lines += restored(name, target, job, one, "")
    for each in held:
        if each.is_object and not any("<" in key for key in each.keys):
            keys = "".join(each.keys)
            lines += _filled(base + keys, name + keys, pure, partial)
    return lines


_TAKEN = {SAVED, "ocp", "nnx", "jax", "state", "target", "manager", "arguments", "checkpointer"}


def _bare_streams(program: Program) -> bool:
    """Say whether there is RNG state in no Variable, which a filter cannot leave out."""
    return any(leaf.rng and not leaf.variable for leaf in program.target[Layout.STATE].values())


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

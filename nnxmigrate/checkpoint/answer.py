"""Say whether a checkpoint needs converting, and why or why not."""

from __future__ import annotations

from collections.abc import Iterator

from nnxmigrate.checkpoint.filters import WITHOUT_RNG
from nnxmigrate.checkpoint.job import Job
from nnxmigrate.checkpoint.plan import Plan


def reasons(job: Job) -> list[str]:
    """Return why the items of a job need converting, or why they do not, a line each."""
    lines = []
    for one, plan in job.converted:
        where = ".".join(filter(None, (f"step {one.step.number}" if one.step.name else "", one.item.name)))
        text = "; ".join(_needs(plan)) if not plan.needless else _why_not(plan)
        lines.append(f"{where}: {text}" if where and len(job.converted) > 1 else text)
    return list(dict.fromkeys(lines))


def partial_is_enough(job: Job) -> bool:
    """Say whether a program that gives its own new RNG state may load the source as it is, by a partial restore."""
    return (
        not job.shared and bool(job.converted) and all(plan.only_rng and not plan.opened for _, plan in job.converted)
    )


def _needs(plan: Plan) -> Iterator[str]:
    of_streams = {leaf.path for stream in plan.streams for leaf in stream.leaves}
    old = [leaf for leaf in plan.dropped if leaf.path in of_streams]
    if old:
        yield f"{len(old)} leaves of RNG state are where NNX 0.10 had them, such as {old[0].name}"
    new = [leaf for leaf in plan.added if leaf.rng]
    if new:
        yield f"{len(new)} leaves of the model's RNG state are not stored, such as {new[0].name}"
    moved = [kept for kept in plan.kept if kept.renamed]
    if moved:
        yield f"{len(moved)} leaves are renamed"
    if plan.parts != ("",):
        yield "it is split into the items model and optimizer"
    if plan.emptied:
        yield f"{len(plan.emptied)} places without content are not the model's, such as {plan.emptied[0].name}"
    if plan.opened:
        yield f"{len(plan.opened)} places without content are missing, such as {plan.opened[0].name}"
    typed = [kept for kept in plan.kept if kept.key_impl != kept.leaf.key_impl]
    if typed:
        yield f"{len(typed)} keys are stored without their type, such as {typed[0].leaf.name}"
    others = len(plan.dropped) - len(old) + len(plan.added) - len(new)
    if others:
        yield f"{others} leaves are left out or initialised on request"


def _why_not(plan: Plan) -> str:
    if plan.part_of == WITHOUT_RNG:
        return (
            "it holds all of the model's state but RNG state, which the program left out when it saved; the model "
            "keeps the one that it is made with (--allow-missing PATTERN stores it too)"
        )
    if plan.part_of:
        rng = ", and no RNG state" if not plan.streams else ""
        return f"it holds the model's {plan.part_of.said} alone, all of it{rng}; the rest stays as the model is made"
    if plan.compared and plan.streams:
        return "every leaf, RNG state included, is where the new program has it"
    if plan.compared:
        return "every leaf is where the new program has it, and there is no RNG state"
    if not plan.streams:
        return "it holds no RNG state, and everything else has kept its place, shape and type since Flax 0.10.0"
    return "none of its RNG streams is one that a layer of NNX 0.10 held; they are where NNX 0.11 has them too"

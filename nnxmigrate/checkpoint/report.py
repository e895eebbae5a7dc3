"""Tell people and machines what a conversion found, plans and did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nnxmigrate.checkpoint.job import ItemJob, Job
from nnxmigrate.checkpoint.layout import Step
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.rng import Stream

_SHOWN = 20  # kept leaves listed before "and N more"


def size(count: int) -> str:
    """Return a number of bytes for people, such as ``54.6 MB``."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def duration(seconds: float) -> str:
    """Return a time for people, such as ``38 min``."""
    if seconds < 1:
        return "less than a second"
    for limit, divisor, unit in ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / divisor:.0f} {unit}"
    return f"{seconds / 86_400:.0f} days"


def found_lines(job: Job) -> Iterator[str]:
    """Say what lies at the source."""
    steps = job.checkpoint.steps
    kind = job.checkpoint.kind.value
    if steps[0].name:
        kind += f" with steps {', '.join(str(step.number) for step in steps)}"
    yield f"{job.checkpoint.folder}: {kind}"
    for one in job.items:
        yield f"  {_place(one)}{_contents(one)}"
        if one.plan is None:
            yield "    copied as it is"
            continue
        yield f"    {_writer(one.plan)}"
        for stream in one.plan.streams:
            yield f"    RNG stream {'.'.join(stream.path) or '(root)'}: {_stream(stream)}"


def titled_plans(job: Job) -> Iterator[tuple[str, Plan]]:
    """Give each plan with a title that names its item, and its step if there are several; those that are alike once."""
    several = len({one.step.name for one, _ in job.converted}) > 1
    alike: dict[tuple[object, ...], list[tuple[ItemJob, Plan]]] = {}
    for one, plan in job.converted:
        key = (one.item.name, summary(plan), *plan_lines(plan, every=True))
        alike.setdefault(key, []).append((one, plan))
    for pairs in alike.values():
        first, plan = pairs[0]
        names = [first.item.name] if first.item.name else []
        if several:
            numbers = [str(one.step.number) for one, _ in pairs]
            names.append(f"{'in step' if len(numbers) == 1 else 'in each of the steps'} {', '.join(numbers)}")
        yield " ".join(["plan", *(["for"] if first.item.name else []), *names]), plan


def plan_lines(plan: Plan, every: bool) -> Iterator[tuple[str, str]]:
    """Give the plan as pairs of what happens to a leaf and the leaf.

    Args:
        plan: what becomes of every leaf.
        every: whether all kept leaves are named.
    """
    rows: list[tuple[str, str, str]] = [("drop", leaf.name, leaf.described) for leaf in plan.dropped]
    rows += [("add", leaf.name, leaf.described) for leaf in plan.added]
    rows += [("rename", f"{kept.leaf.name} -> {kept.name}", kept.leaf.described) for kept in plan.kept if kept.renamed]
    kept = [("keep", one.name, one.leaf.described) for one in plan.kept if not one.renamed]
    shown = kept if every else kept[:_SHOWN]
    rows += shown
    width = max((len(name) for _, name, _ in rows), default=0)
    for what, name, described in rows:
        yield what, f"{name:<{width}}  {described}"
    if len(kept) > len(shown):
        yield "keep", f"and {len(kept) - len(shown)} more (--verbose names them)"


def summary(plan: Plan) -> str:
    """Return the plan in one line."""
    renamed = sum(kept.renamed for kept in plan.kept)
    nbytes = sum(kept.leaf.nbytes for kept in plan.kept)
    parts = [f"keep {len(plan.kept)} ({size(nbytes)})", f"drop {len(plan.dropped)}", f"add {len(plan.added)}"]
    return ", ".join(parts + ([f"rename {renamed}"] if renamed else []))


def record(job: Job, status: str) -> dict[str, Any]:
    """Return all of it for machines.

    Args:
        job: the conversion.
        status: ``planned``, ``written``, ``needless`` or ``refused``.
    """
    return {
        "status": status,
        "source": str(job.checkpoint.folder),
        "destination": job.destination,
        "kind": job.checkpoint.kind.name.lower(),
        "steps": [step.number for step in job.checkpoint.steps if step.name],
        "items": [_item_record(one) for one in job.items],
        "notes": job.notes,
        "seconds": {stage: round(seconds, 4) for stage, seconds in job.seconds.items()},
        "bytes": {
            "copied": job.done.copied if job.done else 0,
            "linked": job.done.linked if job.done else 0,
            "compared": job.compared,
        },
        "compiled": vars(job.sizes) if job.sizes else None,
    }


def _item_record(one: ItemJob) -> dict[str, Any]:
    plan = one.plan
    start = {
        "step": one.step.number if one.step.name else None,
        "item": one.item.name,
        "handler": _handler(one.step, one.item.name),
        "ocdbt": one.tree.ocdbt,
        "zarr": 3 if one.tree.zarr3 else 2,
        "leaves": len(one.tree.leaves),
    }
    if plan is None:
        return {**start, "copied": True}
    return {
        **start,
        "layout": plan.layout.value,
        "streams": [
            {"path": ".".join(stream.path), "key": stream.key.described, "certain": stream.certain}
            for stream in plan.streams
        ],
        "kept": [
            {"path": kept.name, "from": kept.leaf.name, "type": kept.leaf.described, "item": kept.part or None}
            for part in plan.parts
            for kept in plan.part(part).kept
        ],
        "dropped": [_leaf(leaf.name, leaf.described) for leaf in plan.dropped],
        "added": [_leaf(leaf.name, leaf.described) for leaf in plan.added],
        "missing": [_leaf(leaf.name, leaf.described) for leaf in plan.missing],
        "unexpected": [_leaf(leaf.name, leaf.described) for leaf in plan.unexpected],
        "reshaped": [{"path": old.name, "stored": old.described, "model": new.described} for old, new in plan.reshaped],
    }


def _leaf(name: str, described: str) -> dict[str, str]:
    return {"path": name, "type": described}


def _place(one: ItemJob) -> str:
    names = [f"step {one.step.number}"] if one.step.name else []
    names += [f"item {one.item.name}"] if one.item.name else []
    return f"{', '.join(names)}: " if names else ""


def _contents(one: ItemJob) -> str:
    handler = _handler(one.step, one.item.name)
    database = "OCDBT" if one.tree.ocdbt else "a folder per leaf"
    written = f"written by {handler}, " if handler else ""
    return (
        f"{len(one.tree.leaves)} leaves, {size(one.tree.nbytes)}; "
        f"{written}{database}, Zarr {3 if one.tree.zarr3 else 2}"
    )


def _handler(step: Step, item: str) -> str:
    return step.handlers.get(item) or step.handlers.get("", "")


def _writer(plan: Plan) -> str:
    """Say what the tree tells about the program that wrote it; no version is recorded."""
    layout = f"saved as {plan.layout.value}"
    if not plan.streams:
        return f"{layout}; no RNG state"
    if any(stream.path[-1:] == ("rngs",) for stream in plan.streams):  # where 0.10 has a node of several streams
        return f"{layout}; RNG state with a stream per layer, as NNX 0.11 has it"
    holders = len({stream.path[:-1] for stream in plan.streams})
    streams = f"{len(plan.streams)} stream{'s' * (len(plan.streams) > 1)}"
    return f"{layout}; RNG state of NNX 0.10: {streams} in {holders} nnx.Rngs"


def _stream(stream: Stream) -> str:
    return stream.key.described if stream.certain else f"{stream.key.described}, probably: no key type is recorded"

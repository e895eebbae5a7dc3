"""The lines of code that load a converted checkpoint in the new program."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from nnxmigrate.checkpoint.job import ItemJob, Job
from nnxmigrate.checkpoint.layout import Kind, Step
from nnxmigrate.checkpoint.plan import MODEL, OPTIMIZER, Layout, Plan, holds_optimizer


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
    made = maker or UNKNOWN
    lines = ["import orbax.checkpoint as ocp", "from flax import nnx"]
    lines += [made.imports] if made.imports else []
    lines.append("")
    if job.program and not job.program.plain and plan.parts == ("",):
        lines += [f"saved = {made.call}", "target = ...  # the tree that your program saves, made from it"]
        return "\n".join([*lines, *_restored("tree", "target", job, one, "")])
    optimizer = holds_optimizer(one.tree.leaves)
    names = list(plan.parts) if plan.parts != ("",) else [_variable(job, optimizer)]
    lines += _made(job, made, optimizer, plan)
    for name in names:
        part = name if plan.parts != ("",) else ""
        lines += _object_lines(name, job, one, plan, part)
    return "\n".join(lines)


def _variable(job: Job, optimizer: bool) -> str:
    return OPTIMIZER if optimizer else MODEL


def _made(job: Job, made: Maker, optimizer: bool, plan: Plan) -> list[str]:
    """Return the lines that make the objects to be filled."""
    if job.program and not job.program.plain:
        return [f"model, optimizer = {made.call}"]
    whole = job.program is not None and not any("the model alone was compared" in note for note in plan.notes)
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
    # without a model nothing could be initialised, so the checkpoint holds no RNG state
    wanted = f"nnx.state({name})" if job.program else f"nnx.state({name}, nnx.Not(nnx.RngState))"
    lines = [f"state = {wanted}"]
    if plan.layout is Layout.PURE:
        lines += _restored("pure", "nnx.to_pure_dict(state)", job, one, part)
        lines.append("nnx.replace_by_pure_dict(state, pure)")
    else:
        lines += _restored("state", "state", job, one, part)
    return [*lines, f"nnx.update({name}, state)"]


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
        return [f"with ocp.CheckpointManager({job.destination!r}{options}) as manager:", f"    {variable} = {restored}"]
    path = "/".join(filter(None, (job.destination, one.step.name, item)))
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

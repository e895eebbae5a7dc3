"""Lines of code that let Orbax restore what is stored."""

from __future__ import annotations

from collections.abc import Sequence

from nnxmigrate.checkpoint.job import ItemJob, Job
from nnxmigrate.checkpoint.layout import Kind, Step


def restored(variable: str, target: str, job: Job, one: ItemJob, part: str) -> list[str]:
    """Return the lines that restore one item, or a part that it was split into, into a variable.

    Args:
        variable: its name.
        target: what Orbax is told of the tree; empty for what is stored, in dicts and lists.
        job: the conversion.
        one: the item.
        part: the new item; empty for the same.
    """
    item = part or one.item.name
    strings = bool(target) and any(leaf.is_string for leaf in one.tree.leaves.values())
    if job.checkpoint.kind is Kind.STEPS and one.step.kind is Kind.ITEMS:
        arguments = "arguments" if strings else f"ocp.args.StandardRestore({target})"
        if item == "default":
            read = f"manager.restore({one.step.number}, args={arguments})"
        elif item.isidentifier():
            read = f"manager.restore({one.step.number}, args=ocp.args.Composite({item}={arguments}))[{item!r}]"
        else:
            read = f"manager.restore({one.step.number}, args=ocp.args.Composite(**{{{item!r}: {arguments}}}))[{item!r}]"
        options = _manager_options(one.step, job.checkpoint.steps)
        return [
            *(_arguments(target) if strings else []),
            f"with ocp.CheckpointManager({job.result!r}{options}) as manager:",
            f"    {variable} = {read}",
        ]
    path = "/".join(filter(None, (job.result, one.step.name, item)))
    if strings:
        return [*_arguments(target), *_by_arguments(variable, path)]
    given = f"{path!r}, {target}" if target else f"{path!r}"
    return [f"{variable} = ocp.StandardCheckpointer().restore({given})"]


def partially(variable: str, target: str, folder: str, one: ItemJob) -> list[str]:
    """Return the lines that restore into a variable what is in a target, of a tree that holds more.

    Args:
        variable: its name.
        target: the target's expression.
        folder: the checkpoint's.
        one: the item.
    """
    path = "/".join(filter(None, (folder, one.step.name, one.item.name)))
    return [*_arguments(target, "partial_restore=True,  # Orbax 0.11.30 or later"), *_by_arguments(variable, path)]


def _arguments(target: str, *further: str) -> list[str]:
    """Return the lines that make the arguments of a restore into a target, with more of them if given."""
    return [
        *([f"target = {target}"] if target != "target" else []),
        "arguments = ocp.args.PyTreeRestore(",
        "    item=target,",
        "    restore_args=ocp.checkpoint_utils.construct_restore_args(target),",
        *(f"    {one}" for one in further),
        ")",
    ]


def _by_arguments(variable: str, path: str) -> list[str]:
    """Return the lines that restore what is at a path into a variable, by the arguments made before."""
    return [
        "with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as checkpointer:",
        f"    {variable} = checkpointer.restore({path!r}, args=arguments)",
    ]


def as_stored(variable: str, job: Job, one: ItemJob, part: str = "") -> list[str]:
    """Return the lines that restore an item without a target."""
    return [
        "# all that is stored, in dicts; it comes as your program saved it if the same tree, made anew, is given too:",
        "# --model with a factory that returns that tree prints the code",
        *restored(variable, "", job, one, part),
    ]


def _manager_options(step: Step, steps: Sequence[Step]) -> str:
    """Return the options under which a CheckpointManager finds a step's folder, and those of the other steps."""
    prefix = step.name.rpartition("_")[0]
    options = [f"step_prefix={prefix!r}"] if prefix else []
    numbers = [one.name.rpartition("_")[2] for one in steps if one.name.rpartition("_")[0] == prefix]
    padded = [len(digits) for digits in numbers if digits.startswith("0") and len(digits) > 1]
    if padded:
        options.append(f"step_format_fixed_length={padded[0]}")
    return f", options=ocp.CheckpointManagerOptions({', '.join(options)})" if options else ""

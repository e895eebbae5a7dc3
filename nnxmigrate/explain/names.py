"""Errors of names that ``flax.nnx`` does not have in every release."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

# Name, the releases that have it, what to write where it is missing.
_NAMES = (
    (
        "ModelAndOptimizer",
        "0.11.0 and later",
        "On 0.10 it is nnx.Optimizer: raise Flax, or write "
        "`getattr(nnx, 'ModelAndOptimizer', nnx.Optimizer)` where both must run.",
    ),
    ("Dict", "0.10 and 0.12, not 0.11", "Use a plain dict, from 0.12 wrapped: `nnx.data({...})`."),
    ("List", "0.12.0 and later", "Use a plain list; `nnx.data([...])` runs from 0.11.0."),
    ("data", "0.11.0 and later", "Raise Flax; 0.10 takes the value as it is."),
    ("Data", "0.11.0 and later", "Raise Flax; 0.10 needs no annotation."),
    ("Pytree", "0.11.1 and later", "Use nnx.Module, which every version has; in 0.11.0 it is nnx.Object."),
    ("Object", "before 0.12", "Use nnx.Module for modules, nnx.Pytree for everything."),
    ("VariableState", "before 0.12.1", "Use nnx.Variable."),
    ("dataclass", "0.10.7 and 0.12", "Write an __init__, or use flax.struct.dataclass for what is no module."),
    ("field", "0.10.7", "Use dataclasses.field, or an __init__."),
    ("static", "0.10.7 and 0.12", "On 0.11 plain attributes are static as they are."),
    ("Static", "0.10.7 and 0.12", "On 0.11 plain attributes are static as they are."),
    ("fork", "0.10", "Use `rngs.fork(split=N)`."),
    ("ForkStates", "0.10", "Use `rngs.fork(split=N)`."),
    ("with_sharding_constraint", "before 0.11.2", "Use jax.lax.with_sharding_constraint."),
    ("freeze", "0.10.7 and 0.11.0", "It is nnx.to_arrays in 0.11.1 to 0.12.0 and gone later."),
    ("mutable", "0.10.7 and 0.11.0", "It is nnx.to_refs in 0.11.1 to 0.12.0 and gone later."),
    ("mutable_array", "0.10.7 and 0.11.0", "It is nnx.array_ref in 0.11.1 to 0.12.0 and gone later."),
    ("MutableArray", "0.10.7 and 0.11.0", "It is nnx.ArrayRef in 0.11.1 to 0.12.0 and gone later."),
    ("is_mutable_array", "0.10.7 and 0.11.0", "It is nnx.is_array_ref in 0.11.1 to 0.12.0 and gone later."),
    ("use_mutable_arrays", "0.11.0", "It is nnx.use_refs in 0.11.1 to 0.12.0 and gone later."),
    ("using_mutable_arrays", "0.11.0", "It is nnx.using_refs in 0.11.1 to 0.12.0 and gone later."),
    ("to_arrays", "0.11.1 to 0.12.0", "References are gone from 0.12.1: use ordinary Variables."),
    ("to_refs", "0.11.1 to 0.12.0", "References are gone from 0.12.1: use ordinary Variables."),
    ("array_ref", "0.11.1 to 0.12.0", "References are gone from 0.12.1: use ordinary Variables."),
    ("ArrayRef", "0.11.1 to 0.12.0", "References are gone from 0.12.1: use ordinary Variables."),
    ("is_array_ref", "0.11.1 to 0.12.0", "References are gone from 0.12.1: use ordinary Variables."),
    ("use_refs", "0.11.1 to 0.12.0", "References are gone from 0.12.1: use ordinary Variables."),
    ("using_refs", "0.11.1 to 0.12.0", "References are gone from 0.12.1: use ordinary Variables."),
    ("is_data_type", "0.11", "It is nnx.is_data from 0.12.0."),
    ("is_data", "0.12.0 and later", "It is nnx.is_data_type in 0.11."),
    ("EmptyState", "0.10", "Leaves are always Variables from 0.11.0: remove the test for it."),
    ("get_fry_dtype", "0.10", "Use `jax.random.key(0).dtype`."),
    ("Jit", "before 0.10.6", "Use nnx.jit; the transform classes are gone."),
    ("Vmap", "before 0.10.6", "Use nnx.vmap; the transform classes are gone."),
    ("Scan", "before 0.10.6", "Use nnx.scan; the transform classes are gone."),
    ("Remat", "before 0.10.6", "Use nnx.remat; the transform classes are gone."),
    ("Pmap", "before 0.10.6", "Use nnx.pmap; the transform classes are gone."),
    ("register_variable_name_type_pair", "before 0.10.4", "It is nnx.register_variable_name."),
    ("fork_rngs", "0.11.0 and later", "Use nnx.split_rngs or raise Flax."),
    ("OptVariable", "0.11.0 and later", "Raise Flax; 0.10.7 has nnx.OptState."),
    ("capture", "0.12.6 and later", "Use `module.sow` and `nnx.pop(module, nnx.Intermediate)`."),
    ("iter_modules", "0.12.6 and later", "Use `module.iter_modules()`."),
    ("iter_children", "0.12.6 and later", "Use `module.iter_children()`."),
    ("restore_int_paths", "0.12.8", "Restore into a target, `checkpointer.restore(path, nnx.state(model))`."),
    ("use_eager_sharding", "0.12.1 and later", "Up to 0.11 Variables are not sharded when they are made."),
)


def _wordings(name: str) -> tuple[Wording, ...]:
    return (
        Wording(rf"[Mm]odule '?flax\.nnx'? has no attribute '{name}'"),
        Wording(rf"cannot import name '{name}' from '?flax\.nnx[\w.]*"),
    )


def _entry(name: str, releases: str, advice: str) -> Entry:
    return Entry(
        f"nnx-name-{name}",
        f"the installed Flax has no nnx.{name}",
        _wordings(name),
        f"Releases of Flax that have it: {releases}.",
        f"{advice} Or install a Flax that has it (`nnxmigrate doctor`).",
        f"all but Flax {releases}",
    )


ENTRIES = (
    *(_entry(*row) for row in _NAMES),
    Entry(
        "nnx-name",
        "the installed Flax has no such name in nnx",
        _wordings(rf"(?!({'|'.join(name for name, _, _ in _NAMES)})')\w+"),
        "The name is misspelt (nnx.param for nnx.Param, nnx.rngs for nnx.Rngs), or belongs to another release.",
        "Check the spelling; `nnxmigrate lint` names the nearest, and `nnxmigrate doctor` shows the installed Flax.",
        "every version",
    ),
)

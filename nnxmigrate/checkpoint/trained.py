"""Which parameters an optimizer trains, told by those of which it remembers something."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from nnxmigrate.checkpoint.filters import filter_of
from nnxmigrate.checkpoint.initialise import Program
from nnxmigrate.checkpoint.nodes import MODEL, OPT_STATE, bare
from nnxmigrate.checkpoint.plan import Plan
from nnxmigrate.checkpoint.tree import Path, is_below

_PARAM = "nnx.Param"
_LORA = {"lora_a", "lora_b"}
_PARAMETERS = {"kernel", "bias", "scale", "embedding"} | _LORA


@dataclass(frozen=True)
class Trained:
    """What an optimizer is told to train.

    Attributes:
        text: its ``wrt``, as Python writes it.
        usual: whether that is what ``nnx.ModelAndOptimizer`` takes if it is told nothing.
        known: whether it was found out; else the user has to say.
        import_lines: the lines that import the program's own classes in it.
    """

    text: str = _PARAM
    usual: bool = True
    known: bool = True
    import_lines: tuple[str, ...] = ()


UNKNOWN = Trained("wrt", usual=False, known=False)


def trained(plan: Plan, program: Program | None) -> Trained:
    """Return what the optimizer trains whose state, and whose model's, an item holds.

    Transformations that remember nothing of single parameters, as plain gradient descent, tell nothing; then it is
    taken to train all.

    Args:
        plan: what becomes of the item.
        program: the new program, if what its factory returned is the model; None if it is not known.
    """
    parameters = {bare(kept.path[1:]) for kept in plan.kept if is_below(kept.path, (MODEL,))}
    # parameters that a wrapped transformation does not see have a place without content
    places = [kept.path for kept in (*plan.kept, *plan.empty)] + [leaf.path for leaf in plan.emptied]
    memory = [bare(path[1:]) for path in places if is_below(path, (OPT_STATE,))]
    if not parameters:  # the model is stored elsewhere
        own = {path[-1] for path in memory if len(path) > 1 and path[-1] in _PARAMETERS}
        return Trained("nnx.LoRAParam", usual=False) if own and own <= _LORA else Trained()
    tails = ((path[start:] for start in range(1, len(path))) for path in memory)
    held = {next((tail for tail in each if tail in parameters), ()) for each in tails} - {()}
    if not held:
        return Trained()
    if program is not None:
        return _by_classes(held, program, plan)
    left = {path[-1] for path in parameters - held} & _PARAMETERS
    if not left:
        return Trained()
    return Trained("nnx.LoRAParam", usual=False) if {path[-1] for path in held} <= _LORA else UNKNOWN


def _by_classes(held: Collection[Path], program: Program, plan: Plan) -> Trained:
    """Return what gives the parameters ``held``, by the classes that they have in the new program."""
    from flax import nnx

    classes = {
        bare(path): leaf.variable_class or object
        for path, leaf in program.target[plan.layout].items()
        if not (leaf.rng or leaf.empty)
    }
    parameters = {path for path, kind in classes.items() if issubclass(kind, nnx.Param)}
    if parameters and parameters <= set(held):
        return Trained()
    wanted = {classes[path] for path in held if path in classes}
    others = {kind for path, kind in classes.items() if path not in held}
    found = filter_of(wanted, others)
    if found is None:
        return UNKNOWN
    return Trained(found.text, found.text == _PARAM, True, tuple(found.import_lines))

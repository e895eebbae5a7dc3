"""Changes of Flax NNX that no rule can speak of, and what users can do about them.

Each was measured on Flax 0.10.7, 0.11.2 and 0.12.8.
"""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """A change that the text of a program does not show, or that needs nothing done.

    Attributes:
        family: the first digit of the codes of the rules that are about the same part of NNX.
        what: the change, one clause.
        since: the Flax version in which it came.
        reason: why no rule reports it, a sentence.
        advice: what the user can do, a sentence.
        shows: a regular expression found in all code that does it; empty if there is none.
    """

    family: int
    what: str
    since: str
    reason: str
    advice: str
    shows: str = ""


CHANGES: tuple[Change, ...] = (
    Change(
        1,
        "`Optimizer.update` returns the updates of optax; up to 0.12.6 it returned None",
        "0.12.7",
        "Code that ignores the result does not notice; NNX618 finds branches that return it.",
        "Nothing needs doing.",
    ),
    Change(
        1,
        "`nnx.ModelAndOptimizer.update` takes the gradients by position only",
        "0.11.0",
        "The class does not exist in 0.10; rules that choose it write calls that it takes.",
        "Nothing needs doing.",
    ),
    Change(
        2,
        "layers fork their stream: dropout masks differ from those of 0.10, and between layers that shared a stream",
        "0.11.0",
        "The counters of the old streams depended on the order of all calls, which no seed reproduces.",
        "Renew expected values of tests that draw masks, and compare runs without dropout, as after `model.eval()`; "
        "initial weights can be kept, see NNX217.",
        r"[Dd]ropout|num_heads",
    ),
    Change(
        2,
        "random initial carries of recurrent layers differ",
        "0.11.0",
        "The layer draws from a fork of the stream instead of the stream.",
        "Pass `initial_carry`, or renew expected values; the default carry of zeros is the same.",
        r"carry|RNN|Cell\b",
    ),
    Change(
        2,
        "`nnx.reseed(model, dropout=42)` gives each stream a key folded from the seed, not the seed's own key",
        "0.11.0",
        "The call is right on every version; only the numbers differ.",
        "Set `stream.key.value` and `stream.count.value` where the very keys of 0.10 are needed.",
        r"\breseed\b",
    ),
    Change(
        2,
        "iterating an `nnx.Rngs` yields its streams only, no further attributes",
        "0.11.0",
        "Attributes of a Rngs that are no streams are set from outside, under any name.",
        "Keep such attributes in an object of their own.",
        r"\bin\s+[\w.]*rngs\b",
    ),
    Change(
        2,
        "dropout masks of NNX modules under `bridge.ToLinen` differ, also with explicit rngs",
        "0.11.0",
        "As in plain NNX, the layer draws from a fork of the stream.",
        "Renew expected values of tests that draw masks.",
        r"ToLinen|to_linen",
    ),
    Change(
        2,
        "`nnx.tabulate` counts more random state: each layer that draws has a stream of its own",
        "0.11.0",
        "The table is the text of a report; the numbers in it follow from the layers of the model.",
        "Renew expected texts of tests that quote the table.",
        r"\btabulate\b",
    ),
    Change(
        3,
        "arithmetic over modules with `jax.tree.map` gives a module; up to 0.10 it raised TypeError",
        "0.11.0",
        "Only code that caught the error can tell.",
        "Drop the handler.",
    ),
    Change(
        3,
        "`nnx.state` and `nnx.split` of a value that is no object raise IndexError, up to 0.10 RuntimeError",
        "0.11.0",
        "What a handler is meant for is not in the text.",
        "Check the argument before the call instead of catching the error.",
    ),
    Change(
        3,
        "JAX functions over a module whose parts refer back to it raise RecursionError",
        "0.11.0",
        "References between objects arise at run time.",
        "Make the class with `pytree=False`, or use the functions of nnx, which follow cycles.",
    ),
    Change(
        3,
        "an attribute that `del` or `nnx.pop` removes stays in the graph definition: `nnx.cached_partial` raises "
        "ValueError in 0.11 where its function sows and pops",
        "0.11.0",
        "What a function removes is mostly sown by layers deep inside, and plain `nnx.jit` does not mind.",
        "Use `functools.partial` there, or run the function once before `nnx.cached_partial` gets the model.",
    ),
    Change(
        3,
        "`jax.tree.map` and `jax.jit` make two objects of one that a module holds twice",
        "0.11.0",
        "NNX301 and NNX304 report the calls; whether an object is shared shows at run time.",
        "Use `nnx.jit` and the other transforms of nnx, which keep shared objects shared.",
    ),
    Change(
        3,
        "the class attribute `__data__` of 0.10.7 is ignored",
        "0.11.0",
        "The state is the same without it.",
        "Delete it.",
        r"__data__",
    ),
    Change(
        4,
        "a State that a function under `nnx.jit` or `nnx.grad` changes in place changes for the caller too",
        "0.11.0",
        "NNX401 copies the argument where the caller reads it later; callers outside the project, and those that hand "
        "it to `nnx.cond`, are not seen.",
        "Begin the function with `state = nnx.clone(state)`.",
    ),
    Change(
        4,
        "`nnx.variables` is another name for `nnx.state`",
        "0.11.0",
        "Both hold the Variables of the object, as `nnx.variables` always did.",
        "Nothing needs doing.",
    ),
    Change(
        4,
        "`nnx.get_partition_spec` and `nnx.get_named_sharding` return states of Variables",
        "0.11.0",
        "`.value` of their leaves, and JAX functions that take the state, work on every version.",
        "Nothing needs doing.",
    ),
    Change(
        4,
        "`metadata_fn` of `bridge.ToLinen` gets Variables",
        "0.11.0",
        "`.value` and metadata read the same; `.type` warns.",
        "Write `type(variable)` for `variable.type`.",
        r"metadata_fn",
    ),
    Change(
        4,
        "`nnx.update` puts a Variable in the place of a plain attribute; 0.10 and 0.12.8 raise ValueError",
        "0.11.2",
        "The paths of a state that is loaded are known at run time only.",
        "Compare the paths of the state with those of `nnx.state(model)` before the update.",
        r"\bnnx\.update\b|\bimport\b.*\bupdate\b",
    ),
    Change(
        5,
        "`nnx.Sequential()` without layers returns its input, up to 0.11.1 None",
        "0.11.2",
        "Nothing can have been done with the None.",
        "Nothing needs doing.",
    ),
    Change(
        5,
        "messages of errors and `repr` texts differ in other words than those that NNX511 knows",
        "0.11.0",
        "Texts are no part of the API, and any string may quote one.",
        "Match the class of the error instead of its text.",
    ),
    Change(
        5,
        "private names of the modules of Flax, such as `nnx.graph._flatten_pytree`, come and go",
        "0.12.5",
        "No table could hold them all; NNX508 knows those of NNX objects.",
        "Do without them, or keep a copy of the function.",
        r"\bnnx\.\w+\._[a-z]",
    ),
    Change(
        5,
        "`with_logical_constraint` and `with_sharding_constraint` of Linen act on CPU too, under a mesh",
        "0.11.2",
        "They are Linen's; the calls are right on every version.",
        "Expect a NamedSharding in tests on CPU.",
        r"sharding_constraint|logical_constraint",
    ),
    Change(
        5,
        "Flax 0.11 needs Python 3.11, and each release runs with some releases of JAX only",
        "0.11.0",
        "It is a matter of the environment, not of the code; what JAX itself takes away, such as "
        "`jax.experimental.enable_x64`, stands in its own changelog.",
        "Ask `nnxmigrate doctor`.",
    ),
    Change(
        6,
        "`variable[...] = array` keeps the dtype of the Variable; 0.11 took that of the array",
        "0.12.1",
        "The dtypes are known at run time, and where they are equal nothing changes.",
        "Call `variable.set_value(array)` where the dtype shall change.",
    ),
    Change(
        6,
        "the constructor's keyword `sharding=` is called `out_sharding=`",
        "0.12.4",
        "The old keyword still works, and the new one does not before 0.12.4.",
        "Rename it once the code needs no older release.",
        r"\bsharding\s*=",
    ),
    Change(
        6,
        "`nnx.clone` and `nnx.merge` share the lists and dicts of plain values that an object holds with its copy",
        "0.12.0",
        "Whether the list of one of them is changed while the other one is used shows at run time.",
        "Give the copy its own, `copied.history = list(copied.history)`, or copy with `copy.deepcopy`.",
        r"\b(clone|merge)\(",
    ),
    Change(
        6,
        "an attribute that held a number or a string cannot be given a Variable, or data of any kind",
        "0.12.0",
        "NNX602 finds the assignments to objects that it can follow; what others are is known at run time only.",
        "Mark the attribute where it is first assigned: `self.x = nnx.data(...)`.",
    ),
    Change(
        6,
        "norm layers with a `dtype` of half precision round the input and their parameters to it before they compute",
        "0.12.1",
        "The dtypes of input and parameters are known at run time; in full precision nothing changes.",
        "Give the layer `promote_dtype=lambda values, **_: values` where the very numbers of 0.11 are needed.",
        r"(Batch|Layer|Group|Instance|RMS)Norm\b",
    ),
    Change(
        6,
        "`nnx.iter_graph` yields a Variable that is held twice once; up to 0.12.4 it came with each of its paths",
        "0.12.5",
        "Which Variables are shared shows at run time only, and a loop that asks each for itself is right either way.",
        "Walk over the attributes of `nnx.iter_modules` where each path counts, or each visit changes a Variable.",
        r"\biter_graph\b",
    ),
    Change(
        7,
        "`bridge.ToNNX` keeps its streams at `to_nnx__rngs/...` in the state, up to 0.11 at `rngs/...`",
        "0.12.0",
        "NNX619 renames what code reads from the state; checkpoints that hold streams of such modules see it too.",
        "Save `nnx.state(model, nnx.Param)`, or rename that part of the state after restoring it.",
        r"ToNNX|to_nnx",
    ),
    Change(
        7,
        "pickled states of 0.10 cannot be unpickled, nor, from 0.12 on, pickled Variables",
        "0.11.0",
        "The file, not the code, is of the old release; it holds the names of its classes and attributes.",
        "Write a checkpoint with Orbax, or a dict of arrays, under the old release.",
        r"pickle",
    ),
)

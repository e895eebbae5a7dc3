"""Errors of ``nnx.Optimizer`` and of optax transformations in it."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

ENTRIES = (
    Entry(
        "optimizer-wrt",
        "nnx.Optimizer is built without the keyword `wrt`",
        (
            Wording(r"Missing required argument 'wrt'"),
            # A shell takes `wrt` between double quotation marks for a command, and nothing is left of it.
            Wording(r"As of Flax 0\.11\.0 the ('wrt')? argument is required"),
        ),
        "From Flax 0.11.0 `wrt` is required and keyword-only. A third positional argument gives the same message.",
        "Write `nnx.Optimizer(model, tx, wrt=nnx.Param)`, which was the default before and runs on 0.10 too; "
        "`nnxmigrate PATHS` does it everywhere. nnx.ModelAndOptimizer keeps the old behaviour.",
        "Flax 0.11.0 and later",
        ("NNX101",),
    ),
    Entry(
        "optimizer-update",
        "Optimizer.update is called without the model",
        (
            Wording(r"Missing required argument 'grads'\. As of Flax 0\.11"),
            Wording(r"As of Flax 0\.11\.0 update requires both \(model, grads\)"),
            Wording(r"Missing required argument '(model|grads)'", r"\.update\(|flax"),
            Wording(r"Optimizer\.update\(\) missing 1 required positional argument: 'model'"),
            Wording(r"\w+\.update\(\) missing 1 required positional argument: 'model'", r"[Oo]ptimi|flax"),
        ),
        "From Flax 0.11.0 an optimizer no longer holds the model: `update` takes the model and the gradients.",
        "Write `optimizer.update(model, grads)` with the model that the constructor got; `nnxmigrate PATHS` finds it "
        "and hands it to jitted functions that have no model, or takes nnx.ModelAndOptimizer.",
        "Flax 0.11.0 and later",
        ("NNX102", "NNX109"),
    ),
    Entry(
        "optimizer-update-on-0.10",
        "Optimizer.update is called with the model, as from Flax 0.11, but an older Flax is installed",
        (Wording(r"\w*Optimizer\.update\(\) takes 2 positional arguments but \d were given"),),
        "Up to Flax 0.10 `update` takes only the gradients.",
        "Raise the installed Flax to the version the code is written for (`nnxmigrate doctor` shows the pins). "
        "`optimizer.update(model=model, grads=grads)` runs on both, where the optax transformation ignores "
        "extra keywords as all made with `optax.chain` do.",
        "Flax 0.10",
        ("NNX102",),
    ),
    Entry(
        "optimizer-model",
        "the attribute `model` of an optimizer is gone",
        (
            Wording(r"does not have attribute 'model' since Flax 0\.11"),
            Wording(r"does have attribute 'model' since Flax 0\.11"),
            Wording(r"'Optimizer' object has no attribute 'model'"),
        ),
        "From Flax 0.11.0 nnx.Optimizer holds only its step and the optax state.",
        "Use the model itself, or nnx.ModelAndOptimizer, which keeps `.model` and `update(grads)`; "
        "`nnxmigrate PATHS` chooses per optimizer.",
        "Flax 0.11.0 and later",
        ("NNX104", "NNX103", "NNX110"),
    ),
    Entry(
        "optimizer-state-model",
        "the state of an optimizer has no entry `model`",
        (
            Wording(r"KeyError: 'model'", r"nnx|[Oo]ptimizer|flax"),
            Wording(r"model: -? ?Source: MISSING"),
        ),
        "From Flax 0.11.0 `nnx.state(optimizer)` holds `opt_state` and `step`; in 0.10 it held the model too. "
        "A checkpoint saved from a 0.10 optimizer therefore does not fit.",
        "Save and restore the model by itself, or use nnx.ModelAndOptimizer, whose state has the layout of 0.10. "
        "`nnxmigrate fix-ckpt` converts a checkpoint.",
        "Flax 0.11.0 and later",
        ("NNX104",),
    ),
    Entry(
        "compatible-update",
        "ModelAndOptimizer.update is called with `grads=`",
        (Wording(r"ModelAndOptimizer\.update\(\) missing 1 required positional argument: 'grads'"),),
        "The gradients are positional-only in nnx.ModelAndOptimizer.",
        "Write `optimizer.update(grads)`.",
        "Flax 0.11.0 and later",
        ("NNX103",),
    ),
    Entry(
        "optax-ellipsis",
        "optax.masked or optax.contrib.muon does not run in nnx.Optimizer on Flax 0.11",
        (Wording(r"tuple indices must be integers or slices, not ellipsis"),),
        "Flax 0.11.0 to 0.11.2 index what optax puts in place of a masked parameter (flax issue 4901). "
        "It works on 0.10 and again on 0.12.8.",
        "Use Flax 0.12.8 (`nnxmigrate --to 0.12`), or keep the optax state by hand over "
        "`nnx.to_pure_dict(nnx.state(model, nnx.Param))` while you are on 0.11.",
        "Flax 0.11.0 to 0.11.2",
    ),
    Entry(
        "optax-mask",
        "an optax mask or label tree does not have the form that nnx.Optimizer hands to optax",
        (
            Wording(r"Custom node type mismatch: expected type: .*(variablelib|Param|Variable)"),
            Wording(
                r"pytree structure error: different types at key path.*<class 'flax\.nnx[\w.]*variablelib\.\w+'>"
                r".*has a subtree of different type"
            ),
            Wording(r"pytree structure error: different types at key path", r"optax|[Oo]ptimi"),
            Wording(r"Expected dict, got State\(\{"),
        ),
        "From Flax 0.11.0 optax sees a State whose leaves are plain arrays, so a mask built from `nnx.state(model)` "
        "has one level (the Variable) too many, and a mask made of dicts has another type.",
        "Give optax a function instead of a tree: `mask=lambda params: jax.tree.map(lambda p: p.ndim > 1, params)`. "
        "The same holds for the labels of optax.multi_transform and optax.partition.",
        "Flax 0.11.0 and later; a mask of dicts on 0.10 too",
    ),
    Entry(
        "gradient-filter",
        "the gradients are not of the parameters that the optimizer was built for",
        (Wording(r"Mismatch custom node data: \(.*\) != \(.*\)", r"State\(\{|nnx|flax"),),
        "`wrt` selects other Variables than nnx.grad differentiates, which are all nnx.Param by default.",
        "Use the same filter in both: `nnx.grad(f, argnums=nnx.DiffState(0, FILTER))` and "
        "`nnx.Optimizer(model, tx, wrt=FILTER)`. Flax 0.12.8 drops the surplus gradients silently.",
        "Flax 0.10 and 0.11",
        ("NNX106",),
    ),
    Entry(
        "gradient-raw-arrays",
        "the gradients given to Optimizer.update are plain arrays, not Variables",
        (
            Wording(
                r"pytree structure error: different numbers of pytree children at key path"
                r".*<class 'flax\.nnx\.statelib\.State'>"
            ),
            Wording(r"pytree structure error: different numbers of pytree children", r"nnx|flax"),
        ),
        "From Flax 0.12.1 `update` selects the gradients by `wrt`; arrays outside nnx.Param match no filter.",
        "Hand on what nnx.grad returned, a State of Variables. Transform gradients with jax.tree.map, "
        "which keeps the Variables, not with nnx.to_pure_dict or `v[...]`.",
        "Flax 0.12.1 and later",
    ),
    Entry(
        "optimizer-callback-arrays",
        "an optax callback treats plain arrays as Variables",
        (Wording(r"'[\w.]*(ArrayImpl|Tracer)' object has no attribute '(replace|source_type|get_metadata|add_axis)'"),),
        "From Flax 0.11.0 optax gets a State of plain arrays; in 0.10 its leaves were VariableState objects with "
        "`.value`, `.replace` and metadata.",
        "Work on the arrays: `params` in `tx.update`, `value_fn` and masks have array leaves. "
        "Metadata is on the model's Variables.",
        "Flax 0.11.0 and later",
    ),
)

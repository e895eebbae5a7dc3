"""Errors of modules' attributes and layers' options under Flax 0.12."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

ENTRIES = (
    Entry(
        "static-attribute",
        "a list, dict, tuple or None attribute holds modules, Variables or arrays",
        (
            Wording(r"Found (unexpected )?(data|Arrays) on value of type .*static attribute"),
            Wording(r"Found (unexpected )?(data|Arrays) on value of type"),
            Wording(r"Cannot assign data value .*to static attribute"),
            Wording(r"Static attributes should not contain data values"),
        ),
        "From Flax 0.12.0 plain containers are static: they may not hold data, and an attribute that is first None "
        "stays static.",
        "Wrap it: `self.layers = nnx.data([...])` (0.11.0 and later), nnx.List and nnx.Dict (0.12), `self.head = "
        "nnx.data(None)`, or annotate the class with `head: nnx.Data[...]`; `nnxmigrate --to 0.12` does it. "
        "`class M(nnx.Module, pytree=False)` or FLAX_PYTREE_MODULE=false restores the old behaviour.",
        "Flax 0.12.0 and later",
    ),
    Entry(
        "layer-init-attribute",
        "layers do not keep their initialisers",
        (Wording(r"'\w+' object has no attribute '(kernel|bias|scale|embedding|recurrent_kernel|carry)_init'"),),
        "From Flax 0.12.1 Linear, Conv, Embed, LayerNorm and others use them once and forget them.",
        "Keep the initialiser yourself where you need it again.",
        "Flax 0.12.1 and later",
    ),
    Entry(
        "attention-kv-heads",
        "MultiHeadAttention has a new positional argument",
        (Wording(r"num_heads \(\d+\) must be divisible by num_kv_heads \(\d+\)"),),
        "From Flax 0.12.6 `num_kv_heads` stands before `in_kv_features`, so a positional value lands there.",
        "Write `in_kv_features=…` as a keyword, which runs on every version.",
        "Flax 0.12.6 and later",
    ),
    Entry(
        "sequential-layers",
        "Sequential.layers is no list any more",
        (Wording(r"unsupported operand type\(s\) for \+: '(List' and '(list|tuple)|(list|tuple)' and 'List)'"),),
        "From Flax 0.12.0 it is an nnx.List, which has no `+`.",
        "Write `[*sequential.layers, layer]`.",
        "Flax 0.12.0 and later",
    ),
    Entry(
        "slots",
        "a module class has __slots__",
        (Wording(r"Pytree currently does not support __slots__"),),
        "From Flax 0.12 modules are pytrees that need a __dict__.",
        "Remove __slots__.",
        "Flax 0.12",
    ),
    Entry(
        "fork-deprecated",
        "Rngs.fork(split=…) is deprecated",
        (Wording(r"The 'split' argument of 'fork' is deprecated"),),
        "From Flax 0.12.6 there is Rngs.split.",
        "Write `rngs.split(5)` once older versions need not run any more.",
        "Flax 0.12.6 and later, a warning",
    ),
    Entry(
        "sow-deprecated",
        "Module.sow and Module.perturb outside of nnx.capture are deprecated",
        (Wording(r"Using 'Module\.(sow|perturb)\(\)' outside of 'nnx\.capture\(\)' is deprecated"),),
        "From Flax 0.12.6 nnx.capture collects what was sown.",
        "Call the model through `nnx.capture`, once older versions need not run any more.",
        "Flax 0.12.6 and later, a warning",
    ),
    Entry(
        "iter-modules-deprecated",
        "methods of modules became functions",
        (Wording(r"The 'm\.(iter_modules|iter_children)\(\)' method is deprecated"),),
        "From Flax 0.12.6 they are nnx.iter_modules and nnx.iter_children.",
        "Write `nnx.iter_modules(model)` once older versions need not run any more.",
        "Flax 0.12.6 and later, a warning",
    ),
)

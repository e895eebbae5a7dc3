"""Errors of NNX objects in transformations and as pytrees."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

_NNX = r"nnx|flax"

ENTRIES = (
    Entry(
        "attention-without-decode",
        "attention is called without saying whether it decodes",
        (Wording(r"No 'decode' argument"),),
        "MultiHeadAttention takes `decode` from the call, from its constructor or from a flag that was set; all three "
        "are None.",
        "Write `nnx.MultiHeadAttention(..., decode=False)`, pass `decode=` in the call, or set it for the whole model: "
        "`model.set_attributes(decode=False, raise_if_not_found=False)`.",
        "every version",
    ),
    Entry(
        "trace-level",
        "an NNX object from outside a transformation is changed inside it",
        (
            Wording(r"Cannot mutate '?\w+'? from a different trace level"),
            Wording(r"Cannot (mutate|extract graph node) .*different trace level"),
            Wording(r"TraceContextError"),
        ),
        "A module, Rngs, metric or optimizer was captured by a function given to nnx.jit, jax.jit, jax.grad, jax.vmap, "
        "jax.lax.scan …, or, from Flax 0.11.2, came out of nnx.merge, which then shares the Variables of the state "
        "it is given.",
        "Pass the object as an argument and use the transformation of nnx (nnx.jit, nnx.grad, nnx.scan). "
        "For a state from outside: `nnx.merge(graphdef, state, copy=True)`; nnx.clone where 0.10 must run too.",
        "every version; through nnx.merge from Flax 0.11.2",
    ),
    Entry(
        "merge-copy-missing",
        "nnx.merge has no keyword `copy` in this Flax",
        (Wording(r"merge\(\) got an unexpected keyword argument 'copy'"),),
        "The keyword came with Flax 0.11.2; before, nnx.merge always copied.",
        "Raise Flax to 0.11.2 or later, or leave `copy=True` out where only older versions run. "
        "`nnx.clone(model)` runs on all.",
        "Flax before 0.11.2",
    ),
    Entry(
        "module-is-pytree",
        "jax.tree functions descend into a module, metric or optimizer",
        (
            Wording(r"'[\w.]*ArrayImpl' object is not callable", r"tree\.map|tree_map|tree_util|jax/_src/tree"),
            Wording(
                r"'[\w.]*ArrayImpl' object has no attribute '(update|compute|reset|train|eval|sow|opt_state|step)'",
                r"tree\.map|tree_map|tree_util|jax/_src/tree",
            ),
        ),
        "From Flax 0.11.0 all NNX objects are pytrees, so jax.tree.map reaches their arrays.",
        "Stop at modules: `jax.tree.map(f, tree, is_leaf=lambda x: isinstance(x, nnx.Module))`, which runs on every "
        "version; nnx.Object matches nothing from 0.12.0. `class M(nnx.Module, pytree=False)` makes one class a leaf.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "module-arithmetic",
        "jax.tree functions met modules as leaves",
        (Wording(r"unsupported operand type\(s\) for [-+*/@]+: '(Linear|BatchNorm|\w*Module)' and"),),
        "Up to Flax 0.10 a module is a leaf of a pytree; from 0.11.0 jax.tree.map reaches its arrays.",
        "Map over `nnx.state(model)`, which is the same on every version.",
        "Flax 0.10",
    ),
    Entry(
        "module-parent-reference",
        "a module refers back to its parent",
        (Wording(r"RecursionError: maximum recursion depth exceeded", r"flax/nnx|jax/_src/tree"),),
        "From Flax 0.11.0 modules are pytrees, and jax.tree functions run in circles; functions of nnx do not. "
        "The interpreter may keep failing afterwards.",
        "Use nnx.state, nnx.split and nnx.jit instead of the functions of jax, or do not keep the parent; "
        "`class M(nnx.Module, pytree=False)` makes the class a leaf.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "pytree-registered-twice",
        "a module class is registered as a pytree by hand",
        (Wording(r"Duplicate custom PyTreeDef type registration"),),
        "From Flax 0.11.0 every nnx.Module subclass registers itself.",
        "Remove the registration (register_pytree_node_class, register_dataclass …), or keep it and declare "
        "`class M(nnx.Module, pytree=False)`, which 0.10.7 knows too.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "dict-keys-unordered",
        "a dict with keys that cannot be compared is an attribute of a module",
        (Wording(r"Comparator raised exception while sorting pytree dictionary keys"),),
        "From Flax 0.11.0 attributes are pytrees, whose dict keys are sorted; int and str keys cannot be.",
        "Use keys of one type, for example `str(key)`.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "jax-transform-on-module",
        "a jax transformation got an NNX object",
        (
            Wording(
                r"Error interpreting argument to .* as an abstract array\. The problematic value is of type "
                r"<class '(flax\.nnx[\w.]*|__main__\.\w+)'>"
            ),
            Wording(r"Argument '\w+\(# .*of type '?<class '[\w.<>]+'>'? is not a valid JAX type"),
            Wording(r"Argument .*of type '?<class 'flax\.nnx[\w.]*'>'? is not a valid JAX type"),
            Wording(r"Cannot interpret value of type <class 'flax\.nnx[\w.]*'> as an abstract array"),
            Wording(r"'DynamicJaxprTracer' object is not callable"),
        ),
        "Up to Flax 0.10 NNX objects are no pytrees, so jax.jit, jax.grad, jax.vmap and jax.lax functions refuse them. "
        "From 0.11.0 they are accepted, but every change made inside (parameters, statistics, counters) is lost unless "
        "the object is returned.",
        "Use nnx.jit, nnx.grad, nnx.vmap, nnx.scan, or split and merge around the jax function.",
        "Flax 0.10",
    ),
    Entry(
        "jax-grad-on-module",
        "jax.grad differentiates a whole module",
        (
            Wording(r"grad requires real- or complex-valued inputs .* but got (uint32|key<\w+>)"),
            Wording(r"Dict key mismatch; expected keys: .*; (present keys|dict): ", _NNX),
        ),
        "From Flax 0.11.0 jax.grad accepts a module and takes the gradient of every array in it: batch statistics and, "
        "where there is a Dropout, random keys and counters, which have none.",
        "Use nnx.grad or nnx.value_and_grad, which select nnx.Param.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "bound-method",
        "a bound method is given to a transformation of nnx",
        (Wording(r"nnx\.\w+ does not support bound methods"),),
        "From Flax 0.12.1 it is refused. Before, the module was captured, so its parameters were frozen at the first "
        "call.",
        "Decorate the method with `@nnx.jit`, or write `nnx.jit(lambda model, x: model(x))(model, x)`.",
        "Flax 0.12.1 and later",
    ),
    Entry(
        "cached-partial-structure",
        "the function given to nnx.cached_partial changes the structure of an object",
        (Wording(r"graph structure of a node added to cached_partial was mutated"),),
        "Inside, an attribute that is no Variable was set (`self.calls += 1`), something was sown or a layer added; "
        "cached_partial fixes the structure at the start.",
        "Keep what changes in an nnx.Variable, or use nnx.jit for this function.",
        "every version",
    ),
    Entry(
        "leaf-count",
        "a graphdef does not belong to the state it is merged with",
        (Wording(r"Incorrect number of leaves, expected \d+ leaves, but got \d+"),),
        "The structure of the object changed between nnx.split and nnx.merge, often by `sow` without `nnx.pop`, or "
        "graphdef and state come from different objects.",
        "Split again after the change and hand on both, or `nnx.pop(model, nnx.Intermediate)` before the split.",
        "every version",
    ),
    Entry(
        "split-order",
        "nnx.merge got its arguments in the wrong order",
        (
            Wording(r"Expected a GraphDef or GraphState object, got"),
            Wording(r"No attribute 'num_leaves' in State"),
        ),
        "nnx.split returns the graphdef first, then one state per filter.",
        "Write `graphdef, state = nnx.split(model)` and `nnx.merge(graphdef, state)`.",
        "every version",
    ),
    Entry(
        "graphdef-unhashable",
        "a graphdef is a static argument and cannot be hashed",
        (Wording(r"TypeError: unhashable type: 'list'", r"GraphDef\(nodes=", required=True),),
        "In Flax 0.12.7 the graphdef of some objects, among them nnx.MultiMetric, holds a list (flax issue 5489).",
        "Raise Flax to 0.12.8, or pass the graphdef as an ordinary argument of jax.jit.",
        "Flax 0.12.7",
    ),
    Entry(
        "metadata-equality",
        "an array sits in a static attribute of a module",
        (Wording(r"Exception raised while checking equality of metadata fields of pytree"),),
        "A traced value was stored in an attribute inside nnx.jit or nnx.grad (`self.h = h`), which from Flax 0.12 "
        "makes it part of the structure.",
        "Return the value, keep it in an nnx.Variable, or use `self.sow(nnx.Intermediate, 'h', h)`.",
        "Flax 0.12.0 and later",
    ),
)

"""Errors of Variables, their values and metadata, and of State."""

from __future__ import annotations

from nnxmigrate.explain.entry import Entry, Wording

_VARIABLES = (
    r"(Variable\w*|Param|BatchStat|Cache|Intermediate|Perturbation|LoRAParam|Rng(State|Key|Count)|"
    r"Opt(State|Array|Variable)|MetricState|SpectralNorm\w*|EMA\w*)"
)

ENTRIES = (
    Entry(
        "filters-leave-a-rest",
        "the filters of split, state or pop do not take everything",
        (Wording(r"Non-exhaustive filters"),),
        "`nnx.split(model, A, B)` divides all Variables by filters, and some match none of them: those of a stream "
        "(nnx.RngState) or a statistic (nnx.BatchStat), as a rule. The message names the paths that are left over. "
        "From Flax 0.11.0 every Dropout, attention and RNN layer holds a stream of its own, so that models which had "
        "none now have nnx.RngState.",
        "End with `...`, which takes the rest: `graphdef, params, rest = nnx.split(model, nnx.Param, ...)`.",
        "every version; more often from Flax 0.11.0",
    ),
    Entry(
        "state-leaf-is-array",
        "a leaf is a plain array where a Variable was expected",
        (Wording(r"'[\w.]*(ArrayImpl|Tracer)' object has no attribute '(value|to_variable|type|raw_value)'"),),
        "From Flax 0.11.0 the Variables in a State are pytree nodes: jax.tree functions see the arrays inside, and "
        "copy.deepcopy of a State drops the Variables. `to_variable` and VariableState are gone.",
        "Use the array itself, or stop at Variables with `is_leaf=lambda x: isinstance(x, nnx.Variable)`. "
        "Copy a State with `nnx.clone(state)` or `jax.tree.map(jnp.copy, state)`.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "get-value-missing",
        "Variables have no get_value or set_value in this Flax",
        (Wording(r"'[\w.]*' object has no attribute '(get_value|set_value|set_metadata)'"),),
        "get_value and set_value came with Flax 0.12.1, set_metadata with 0.12.0.",
        "Raise Flax, or use `.value`, which runs on every version (with a warning from 0.12.1).",
        "Flax before 0.12.1",
    ),
    Entry(
        "variable-state",
        "VariableState is an alias of Variable now",
        (
            Wording(r"Variable\.__init__\(\) takes 2 positional arguments but 3 were given"),
            Wording(rf"type object '{_VARIABLES}' has no attribute 'state'"),
            Wording(r"'VariableState' was removed, this is just an alias"),
        ),
        "From Flax 0.11.0 a State holds Variables. `nnx.VariableState(type=T, value=x)` builds a bare Variable "
        "silently.",
        "Write `T(value)` for `nnx.VariableState(T, value)` and for `T.state(value)`, nnx.Variable for the class, and "
        "`type(leaf)` for `leaf.type`.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "return-variables",
        "graph.flatten has no option `return_variables`",
        (Wording(r"flatten\(\) got an unexpected keyword argument 'return_variables'"),),
        "From Flax 0.11.0 the leaves are always Variables.",
        "Leave the option out.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "variable-index",
        "a Variable is assigned to at the places of a numpy array",
        (Wording(r"The truth value of an array with more than one element is ambiguous", r"variablelib"),),
        "From Flax 0.11.0 `variable[index] = x` compares the index with `...`, which fails for numpy arrays and "
        "boolean masks of numpy.",
        "Use a jax array as index, `variable[jnp.asarray(index)] = x`.",
        "Flax 0.11.0 and later",
    ),
    Entry(
        "variable-inplace",
        "an in-place operator is applied to a Variable",
        (Wording(r"In-place operations are no longer supported for \w+"),),
        "From Flax 0.12.0 `variable += x` is refused.",
        "Write `variable[...] += x`, which runs on every version from 0.10.7, or `variable.value += x`.",
        "Flax 0.12.0 and later",
    ),
    Entry(
        "variable-metadata",
        "metadata of a Variable is set or deleted as an attribute",
        (
            Wording(r"Cannot set attribute \w+\. To set Variable metadata use"),
            Wording(r"Cannot delete attribute \w+\. To delete Variable metadata use"),
        ),
        "From Flax 0.12.1 attributes of Variables are read-only.",
        "Give it to the constructor, `nnx.Param(value, tagged=True)`, which runs on every version; later "
        "`variable.set_metadata('tagged', True)` and `variable.del_metadata('tagged')`.",
        "Flax 0.12.1 and later",
    ),
    Entry(
        "variable-unhashable",
        "a Variable is used as a dict key or in a set",
        (Wording(rf"unhashable type: '{_VARIABLES}'"),),
        "From Flax 0.12.1 `==` of Variables compares values, so they have no hash.",
        "Use `id(variable)` or its path as the key.",
        "Flax 0.12.1 and later; before 0.10.4 too",
    ),
    Entry(
        "value-of-non-array",
        "`[...]` is applied to a Variable that holds no array",
        (
            Wording(r"KeyError: Ellipsis"),
            Wording(r"'(int|float|bool|str|NoneType)' object is not subscriptable", r"variablelib"),
        ),
        "`variable[...]` indexes the value; a dict, number or None cannot be.",
        "Use `variable.get_value()` (Flax 0.12.1 and later) or `variable.value`.",
        "every version",
    ),
    Entry(
        "references-removed",
        "the mutable-array API of Variables does not exist in this Flax",
        (
            Wording(r"object has no attribute '(has_ref|is_mutable)'"),
            Wording(r"Unsupported type: <class 'jax\._src\.core\.(Ref|MutableArray)'> for key"),
        ),
        "It was called mutable arrays in Flax 0.10.7 and 0.11.0 (`mutable=`, nnx.freeze), array references in "
        "0.11.1 to 0.12.0 (`use_ref=`, `.has_ref`, nnx.to_arrays), and is gone from 0.12.1. Orbax does not "
        "save references.",
        "Use ordinary Variables; freeze the state (nnx.to_arrays, nnx.freeze) before it is saved.",
        "Flax 0.10 and 0.12.1 and later",
    ),
    Entry(
        "sharding-metadata",
        "the sharding names of a Variable have another key",
        (
            Wording(r"KeyError: '(sharding|sharding_names|out_sharding)'", r"nnx|flax|metadata"),
            Wording(r"'[\w.]*(ArrayImpl|Tracer)' object has no attribute '(sharding_names|out_sharding)'"),
        ),
        "The metadata is called `sharding` up to Flax 0.11.1, `sharding_names` from 0.11.2 and `out_sharding` from "
        "0.12.4. As an attribute, `variable.sharding` then silently is the array's own sharding.",
        "Read the key of the version you run, or use nnx.get_partition_spec, which knows it.",
        "Flax 0.11.2 and later",
    ),
    Entry(
        "sharding-mesh",
        "a Variable with sharding names is created without a mesh",
        (Wording(r"An auto mesh context or metadata is required if creating a variable with annotation"),),
        "From Flax 0.12.0 such a Variable is sharded when it is made.",
        "Create the model under `with jax.set_mesh(mesh):`, give `mesh=` as metadata, or turn it off with "
        "`nnx.use_eager_sharding(False)` (environment FLAX_ALWAYS_SHARD_VARIABLE=false).",
        "Flax 0.12.0 and later",
    ),
    Entry(
        "sharding-keyword",
        "the keyword `sharding` of Variables has a new name",
        (Wording(r"'sharding(_names)?' is deprecated, use 'out_sharding' instead"),),
        "It is called `out_sharding` from Flax 0.12.4.",
        "Rename it once 0.11 need not run any more.",
        "Flax 0.12.4 and later, a warning",
    ),
    Entry(
        "value-deprecated",
        "`.value` of a Variable is deprecated",
        (Wording(r"'\.(raw_)?value' access is now deprecated"),),
        "From Flax 0.12.1. It still works.",
        "Read arrays with `variable[...]`, anything else with `variable.get_value()`. When assigning, note that "
        "`variable[...] = x` keeps shape and dtype, `variable.set_value(x)` does not.",
        "Flax 0.12.1 and later, a warning",
    ),
    Entry(
        "type-deprecated",
        "`.type` of a Variable is deprecated",
        (Wording(r"'\.type' is deprecated, use 'type\(variable\)' instead"),),
        "From Flax 0.11.0 a State holds Variables, which are of their type.",
        "Write `type(variable)`.",
        "Flax 0.11, a warning",
    ),
    Entry(
        "value-hooks",
        "hooks of Variables are deprecated",
        (Wording(r"(on_get_value|on_set_value|on_create_value|on_add_axis|on_remove_axis).*deprecated"),),
        "Flax 0.12 warns where a Variable class or its metadata defines them.",
        "Compute in the module that uses the Variable.",
        "Flax 0.12, a warning",
    ),
)

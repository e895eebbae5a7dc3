"""The names of Flax NNX by release: what there is, and what was renamed, moved or removed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# names of flax.nnx in 0.10.7, 0.11.2 and 0.12.8 alike
_ALWAYS = _names(
    """
    A All Any BatchNorm BatchStat Bidirectional Cache Carry Conv ConvTranspose DiffState Dropout Einsum Embed
    Everything GRUCell GraphDef GraphState GroupNorm Initializer Intermediate LSTMCell LayerNorm Linear
    LinearGeneral LoRA LoRALinear LoRAParam M MergeContext Metric Module MultiHeadAttention MultiMetric NodeStates
    Not Nothing Object OfType OptState OptimizedLSTMCell Optimizer PARTITION_NAME Param PathContains Perturbation
    PureState RMSNorm RNN RNNCellBase RngCount RngKey RngState RngStream Rngs Sequential SimpleCell SplitContext
    State StateAxes StateSharding TrainState UpdateContext Variable VariableMetadata WithTag avg_pool bridge
    cached_partial call celu checkify clone combine_masks cond current_update_context custom_vjp display
    dot_product_attention elu eval_shape extract filter_state filterlib fori_loop from_flat_state from_tree gelu
    get_named_sharding get_partition_spec glu grad graph graphdef hard_sigmoid hard_silu hard_swish hard_tanh
    helpers initializers iter_graph jit leaky_relu log_sigmoid log_softmax logsumexp make_attention_mask
    make_causal_mask map_state max_pool merge merge_context merge_state metrics min_pool module nn object one_hot
    optimizer pmap pool pop proxy_caller pure register_variable_name relu relu6 remat replace_by_pure_dict reprlib
    reseed restore_rngs rnglib scan selu shard_map sigmoid silu soft_sign softmax softplus split split_context
    split_rngs split_state spmd standardize state statelib summary swish switch tabulate tanh to_flat_state
    to_pure_dict to_tree tracers training transforms traversals update update_context value_and_grad
    variable_name_from_type variable_type_from_name variablelib variables visualization vmap while_loop
    with_metadata with_partitioning wrappers
    """
)

#: Public names of ``flax.nnx`` by Flax version: those of its last release at the time of writing.
PUBLIC: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "0.10": _ALWAYS
        | _names(
            """
    Dict ForkStates MutableArray Static VariableState dataclass dataclasses field fork freeze is_mutable_array
    mutable mutable_array static with_sharding_constraint
            """
        ),
        "0.11": _ALWAYS
        | _names(
            """
    ArrayRef Data ModelAndOptimizer OptArray OptVariable Pytree VariableState array_ref data find_duplicates
    fork_rngs get_abstract_model identity is_array_ref is_data_type logical_axis_rules pytreelib
    register_data_type to_arrays to_refs use_refs using_refs
            """
        ),
        "0.12": _ALWAYS
        | _names(
            """
    Data Dict EMA FlatState InstanceNorm List ModelAndOptimizer OptArray OptVariable PReLU Pytree SpectralNorm
    Static WeightNorm abstract_with_sharding as_abstract as_pure capture check_pytree compat data dataclass
    deprecations find_duplicates flatten fork_rngs get_abstract_model graphlib has_data identity is_data
    iter_children iter_module_children iter_modules jit_partial jvp logical_axis_rules make_jaxpr map prefix
    pytreelib recursive_map register_data_type restore_int_paths set_graph_mode set_graph_updates set_metadata
    static transform_metadata unflatten unpack use_eager_sharding using_eager_sharding var_defaults vars_as view
    view_info vjp with_attributes with_rngs with_vars
            """
        ),
    }
)


class Symbol(NamedTuple):
    """A thing that has not had the same name in all releases.

    Attributes:
        names: its full name by Flax version; None where it does not exist.
        help: what to do where it has no name.
    """

    names: Mapping[str, str | None]
    help: str = ""

    def spelling(self, targets: Iterable[str]) -> str | None:
        """Return the full name that is valid on all targets; None if there is none."""
        found = {self.names.get(target) for target in targets}
        return found.pop() if len(found) == 1 else None

    def since(self, name: str) -> str:
        """Return the first version in which it has a name."""
        return next(version for version, known in self.names.items() if known == name)


def _symbol(one: str | None, two: str | None, three: str | None, help: str = "") -> Symbol:
    """Return a symbol of ``flax.nnx`` by its names in 0.10, 0.11 and 0.12."""
    names = dict(zip(("0.10", "0.11", "0.12"), (one, two, three), strict=True))
    return Symbol(MappingProxyType({v: name and f"flax.nnx.{name}" for v, name in names.items()}), help)


_REFS = "JAX has references since 0.7: jax.new_ref, jax.Ref, or nnx.Variable(x, ref=True)"
_INTERNAL = "it was internal to Flax and has no successor; keep a definition of your own"

#: Everything whose name depends on the release. Names that need more than another name have rules of their own:
#: nnx.Dict, nnx.dataclass, nnx.with_sharding_constraint, nnx.VariableState, nnx.Object, nnx.fork.
SYMBOLS: tuple[Symbol, ...] = (
    # arrays that can be mutated: renamed in 0.11.1, removed in 0.12.1
    _symbol("freeze", "to_arrays", None, "nnx.vars_as and jax.freeze take its place"),
    _symbol("mutable", "to_refs", None, "nnx.vars_as and jax.new_ref take its place"),
    _symbol("mutable_array", "array_ref", None, _REFS),
    _symbol("MutableArray", "ArrayRef", None, _REFS),
    _symbol("is_mutable_array", "is_array_ref", None, _REFS),
    _symbol("variablelib.mutable_array", "variablelib.array_ref", None, _REFS),
    _symbol("variablelib.MutableArray", "variablelib.ArrayRef", None, _REFS),
    _symbol("variablelib.is_mutable_array", "variablelib.is_array_ref", "variablelib.is_array_ref"),
    _symbol("graph.freeze", "graph.to_arrays", None, "nnx.vars_as and jax.freeze take its place"),
    _symbol("graph.mutable", "graph.to_refs", None, "nnx.vars_as and jax.new_ref take its place"),
    _symbol(None, "use_refs", None, "nnx.var_defaults(ref=True) takes its place"),
    _symbol(None, "using_refs", None, "nnx.var_defaults().ref takes its place"),
    _symbol(None, "is_data_type", "is_data"),
    _symbol(None, "pytreelib.is_data_type", "pytreelib.is_data"),
    _symbol("object.ObjectState", "pytreelib.PytreeState", "pytreelib.PytreeState"),
    # internals that users reached
    _symbol("statelib.EmptyState", None, None, "an empty nnx.State({}) takes its place"),
    _symbol("graph.EmptyState", None, None, "an empty nnx.State({}) takes its place"),
    _symbol("rnglib.get_fry_dtype", None, None, "write jax.random.key(0).dtype"),
    _symbol("variablelib.GraphVariableState", None, None, _INTERNAL),
    _symbol("spmd.HasSharding", None, None, _INTERNAL),
    _symbol("graph.MutableArrayDef", None, None, _INTERNAL),
    _symbol("graph.MutableArrayOutput", None, None, _INTERNAL),
    _symbol("graph.ArrayAttr", "graph.ArrayAttr", None, _INTERNAL),
    _symbol("graph.fingerprint", "graph.fingerprint", None, _INTERNAL),
    _symbol("graph.check_fingerprint", "graph.check_fingerprint", None, _INTERNAL),
    _symbol("graph.FingerprintContext", "graph.FingerprintContext", None, _INTERNAL),
)

#: Modules that moved, by Flax version; their names stayed unless :data:`SYMBOLS` says otherwise.
MODULES: tuple[Symbol, ...] = (
    _symbol("object", "pytreelib", "pytreelib"),
    _symbol("dataclasses", None, None, "import dataclasses of the standard library"),
)

#: Names of private attributes and hooks since 0.11.1, by their names before.
PRIVATE: Mapping[str, str] = MappingProxyType(
    {
        "_object__state": "_pytree__state",
        "_object__nodes": "_pytree__nodes",
        "_object_meta_construct": "_pytree_meta_construct",
    }
)

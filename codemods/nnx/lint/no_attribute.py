"""NNX730: attributes that a module of NNX has not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import AttrEvent, ClassFacts, FunctionFacts
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Part
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.early_methods import early_methods
from codemods.nnx.lint.foreign_methods import WORDS
from codemods.nnx.lint.forgotten_self import ByName, forgotten_self, left_local
from codemods.nnx.lint.owners import has_attribute, made_once, own_reads, owner_class, plain_module
from codemods.nnx.lint.places import in_test
from codemods.nnx.nodes import last_word
from codemods.nnx.values import Call, Class, Const, Value

# what instances of the layers have in Flax 0.10 to 0.12 besides what all modules have; found by making them
_LAYERS = {
    "BatchNorm": "axis axis_index_groups axis_name bias bias_init dtype epsilon mean momentum num_features "
    "param_dtype promote_dtype scale scale_init use_bias use_fast_variance "
    "use_running_average use_scale var",
    "Bidirectional": "backward_rnn forward_rnn merge_fn return_carry rngs time_major",
    "Conv": "bias bias_init conv_general_dilated dtype feature_group_count in_features input_dilation "
    "kernel kernel_dilation kernel_init kernel_shape kernel_size mask out_features padding "
    "param_dtype precision preferred_element_type promote_dtype strides use_bias",
    "ConvTranspose": "bias bias_init dtype in_features kernel kernel_dilation kernel_init kernel_shape "
    "kernel_size mask out_features padding param_dtype precision preferred_element_type "
    "promote_dtype strides transpose_kernel use_bias",
    "Dropout": "broadcast_dims deterministic rate rng_collection rngs",
    "Einsum": "bias bias_init bias_shape dtype einsum_op einsum_str kernel kernel_init kernel_shape "
    "param_dtype precision preferred_element_type promote_dtype",
    "Embed": "attend dtype embedding embedding_init features num_embeddings param_dtype promote_dtype",
    "GRUCell": "activation_fn bias_init carry_init dense_h dense_i dtype gate_fn hidden_features "
    "in_features initialize_carry kernel_init num_feature_axes param_dtype promote_dtype "
    "recurrent_kernel_init rngs",
    "GroupNorm": "axis_index_groups axis_name bias bias_init dtype epsilon feature_axis group_size "
    "num_groups param_dtype promote_dtype reduction_axes scale scale_init use_bias "
    "use_fast_variance use_scale",
    "InstanceNorm": "axis_index_groups axis_name bias dtype epsilon feature_axes num_features param_dtype "
    "promote_dtype scale use_bias use_fast_variance use_scale",
    "LSTMCell": "activation_fn bias_init carry_init dtype gate_fn hf hg hi hidden_features ho if_ ig ii "
    "in_features initialize_carry io kernel_init num_feature_axes param_dtype promote_dtype "
    "recurrent_kernel_init rngs",
    "LayerNorm": "axis_index_groups axis_name bias bias_init dtype epsilon feature_axes num_features "
    "param_dtype promote_dtype reduction_axes scale scale_init use_bias use_fast_variance "
    "use_scale",
    "Linear": "bias bias_init dot_general dtype in_features kernel kernel_init out_features param_dtype "
    "precision preferred_element_type promote_dtype use_bias",
    "LinearGeneral": "axis batch_axis bias bias_init dot_general dot_general_cls dtype in_features kernel "
    "kernel_init out_features param_dtype precision preferred_element_type promote_dtype "
    "use_bias",
    "LoRA": "base_module dtype in_features lora_a lora_b lora_param_type out_features param_dtype promote_dtype",
    "LoRALinear": "bias bias_init dot_general dtype in_features kernel kernel_init lora out_features "
    "param_dtype precision preferred_element_type promote_dtype use_bias",
    "MultiHeadAttention": "attention_fn bias_init broadcast_dropout cache_index cached_key cached_value decode "
    "deterministic dropout_rate dtype head_dim in_features in_kv_features init_cache "
    "kernel_init key key_ln ln_promote_dtype normalize_qk num_heads num_kv_heads out "
    "out_bias_init out_dot_general out_dot_general_cls out_features out_kernel_init "
    "out_promote_dtype param_dtype precision qkv_dot_general qkv_dot_general_cls qkv_features "
    "qkv_promote_dtype query query_ln rngs use_bias value",
    "OptimizedLSTMCell": "activation_fn bias_init carry_init dense_h dense_i dtype gate_fn hidden_features "
    "in_features initialize_carry kernel_init num_feature_axes param_dtype promote_dtype "
    "recurrent_kernel_init rngs",
    "RMSNorm": "axis_index_groups axis_name dtype epsilon feature_axes num_features param_dtype "
    "promote_dtype reduction_axes scale scale_init use_fast_variance use_scale",
    "RNN": "broadcast_rngs cell keep_order return_carry reverse rngs state_axes time_major unroll",
    "Sequential": "layers",
    "SimpleCell": "activation_fn bias_init carry_init dense_h dense_i dtype hidden_features in_features "
    "initialize_carry kernel_init num_feature_axes param_dtype promote_dtype "
    "recurrent_kernel_init residual rngs",
}
_MODULE = frozenset(
    {
        "apply",
        "eval",
        "init",
        "iter_children",
        "iter_modules",
        "partial_init",
        "perturb",
        "set_attributes",
        "set_view",
        "sow",
        "split",
        "train",
    }
)
_NAMES = {f"flax.nnx.{layer}": frozenset(words.split()) for layer, words in _LAYERS.items()}
#: The attributes that any layer has.
LAYER_ATTRIBUTES = frozenset(name for names in _NAMES.values() for name in names)
# what containers, texts and numbers have: asked of everything, and hardly ever of a layer
_COMMON = frozenset(word for kind in (str, bytes, list, dict, set, int, float) for word in dir(kind))
_LINEN = frozenset({"init", "apply", "bind", "param", "variable", "make_rng", "has_variable", "put_variable", "unbind"})


def _check(context: Context) -> Iterator[Finding]:
    for scope, node, name in forgotten_self(context):
        yield finding(
            RULE.code,
            scope,
            node,
            f"nothing gives the object an attribute `{name}`: this variable ends with the constructor",
            f"write self.{name} = ...",
        )
    if not any(module.source.mentions(b"nnx") for module in context.asked.modules):
        return
    for call, message, help in early_methods(context):
        yield finding(RULE.code, call.scope, call.node, message, help)
    known = context.flow.fields.stores()
    made = context.flow.may.made_by(_LAYERS)
    for event in context.asked.attributes():
        word = event.node.attr
        if event.context != "load" or word in _MODULE or word in WORDS or word in _LINEN or word.startswith("_"):
            continue
        if word not in _COMMON and word not in known and made.may_be(event.base):
            yield from _of_layer(context, event)
    for cls in context.asked.classes():
        if plain_module(context, cls) and _plain(context, cls):
            yield from _of_class(context, cls)


def _of_layer(context: Context, event: AttrEvent) -> Iterator[Finding]:
    """Yield an attribute that a layer of NNX has not."""
    if made_once(context, event.base, event.scope) is None:
        if context.sources.all_of(context.flow.here(event.base, event.scope), _made) is None:
            return
    cls = owner_class(context, event.base, event.scope)
    if not isinstance(cls, str) or event.node.attr in _NAMES.get(cls, {event.node.attr}):
        return
    if context.bodies.guarded(event.node, event.scope) or in_test(event.scope):
        return
    if context.bodies.of_asked_type(event.node.value, event.node, event.scope):
        return
    yield finding(
        RULE.code,
        event.scope,
        event.node,
        f"`nnx.{cls.rpartition('.')[2]}` has no `{event.node.attr}`",
        "see its documentation for what it has",
    )


def _made(value: Value) -> bool:
    """Say whether a layer can stand there so, or nothing."""
    return isinstance(value, Call | Part) or value == Const(None)


def _plain(context: Context, cls: ClassFacts) -> bool:
    """Say whether all attributes of a class can be known: it is made in the project, and sets none by name."""
    parents = context.flow.classes.mro(cls)[0]
    for one in parents:
        if any(
            last_word(d) in {"abstractmethod", "abstractproperty"} for m in one.methods.values() for d in _marks(m.node)
        ):
            return False
        if context.shared(ByName).sets(one):
            return False
    return any(
        isinstance(found, Class) and found.facts is cls
        for event in context.bodies.named(cls.name)
        for found in (context.flow.resolve(context.flow.here(event.value.callee, event.scope)).value,)
    )


def _marks(node: ast.AST) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _of_class(context: Context, cls: ClassFacts) -> Iterator[Finding]:
    """Yield the attributes that methods of a class read of their object, and that nothing sets."""
    told: set[str] = set()
    for method in cls.methods.values():
        if in_test(method.scope):
            continue
        for node in own_reads(context, method):
            word = node.attr
            if (
                word in told
                or word.startswith("_")
                or word in _MODULE
                or word in _LINEN
                or word in WORDS
                or has_attribute(context, cls, word)
                or left_local(context, cls, word) is not None
            ):
                continue
            if context.bodies.guarded(node, method.scope) or context.bodies.of_asked_type(
                node.value, node, method.scope
            ):
                continue
            if _switched_off(context, node, method):
                continue
            told.add(word)
            yield finding(
                RULE.code,
                method.scope,
                node,
                f"nothing gives `{cls.name}` an attribute `{word}`",
                "make it in the constructor, or take the name that it has there",
            )


def _switched_off(context: Context, node: ast.Attribute, method: FunctionFacts) -> bool:
    """Say whether a place is reached under a flag of the object that is a constant wherever it is set."""
    for block, arm in context.bodies.paths(method.scope).get(node, ()):
        if not isinstance(block, ast.If | ast.IfExp) or arm not in {"body", "orelse"}:
            continue
        negated = isinstance(block.test, ast.UnaryOp) and isinstance(block.test.op, ast.Not)
        flag = block.test.operand if isinstance(block.test, ast.UnaryOp) else block.test
        if not isinstance(flag, ast.Attribute) or ast.dump(flag.value) != ast.dump(node.value):
            continue
        set_to = [store.stored for store in context.flow.fields.stores().get(flag.attr, ())]
        off = (arm == "body") is negated
        declared = any(flag.attr in one.scope.bindings for one in _line(context, method))
        if set_to and not declared and all(isinstance(one, Const) and bool(one.value) is off for one in set_to):
            return True
    return False


def _line(context: Context, method: FunctionFacts) -> list[ClassFacts]:
    return list(context.flow.classes.mro(method.owner)[0]) if method.owner is not None else []


RULE = lint_rule(
    "NNX730",
    "no-attribute",
    "an attribute that a layer of NNX, or a module of the project, has not",
    why="""\
A module has what its constructor makes. `nn.Module` of PyTorch and Linen bring attributes of their own, `nnx.Module`
hardly any; a layer that `__call__` names otherwise than the constructor, or a method that another library's layer has,
is an AttributeError when it is reached.
""",
    source="attributes found by making every layer of Flax 0.10.7, 0.11.2 and 0.12.8: AttributeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear_in = nnx.Linear(4, 8, rngs=rngs)
        self.linear_out = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.linear_out(nnx.relu(self.linear1(x)))


print(Net(nnx.Rngs(0))(jnp.ones((1, 4))))
""",
        """\
from flax import nnx

cell = nnx.GRUCell(4, 8, rngs=nnx.Rngs(0))
state = cell.init_hidden(3)
""",
    ),
    clean=(
        """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    scale: float = 2.0

    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(4, 8, rngs=rngs)

    @property
    def width(self):
        return self.linear.out_features

    def __call__(self, x):
        if hasattr(self, "noise"):
            x = x + self.noise
        return self.scale * self.linear(x) / self.width


print(Net(nnx.Rngs(0))(jnp.ones((1, 4))))
""",
    ),
)

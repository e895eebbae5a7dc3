"""Which values are arrays, as far as constructors, operators and methods tell."""

from __future__ import annotations

import ast

from codemods.nnx.flow import Flow
from codemods.nnx.frames import Bound, Frame, Indexed, Round
from codemods.nnx.kinds import Kind, Kinds
from codemods.nnx.known import ARRAY_FUNCTIONS, GRADIENTS
from codemods.nnx.values import Attr, Call, Changed, Choice, Class, Item, Loop, Param, Unknown, Value

# attributes of arrays that are arrays, or hold them as `array.at` does
_ATTRIBUTES = frozenset({"T", "at", "imag", "mT", "real"})
# methods of arrays that give arrays; among them those of `array.at[index]`
_METHODS = frozenset(
    [
        "add", "apply", "astype", "clip", "copy", "cumsum", "divide", "dot", "flatten", "get", "max", "mean", "min",
        "mul", "multiply", "power", "prod", "ravel", "reshape", "round", "set", "std", "squeeze", "sum", "swapaxes",
        "transpose", "var",
    ]
)  # fmt: skip
_INITIALIZERS = frozenset({"flax.nnx.initializers", "jax.nn.initializers"})
_NAMES = (ast.Name, ast.Attribute)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult, ast.Pow, ast.FloorDiv, ast.Mod)
_DEPTH = 8


class Arrays:
    """Answers whether a value is an array of JAX; "no" means "not known to be one"."""

    def __init__(self, flow: Flow, kinds: Kinds) -> None:
        self.flow = flow
        self.kinds = kinds
        self._held: dict[tuple[Bound, frozenset[Frame]], bool] = {}
        self._attributes: set[Bound] = set()  # those that are taken to be arrays meanwhile
        self._leaned = 0  # how often an answer stood on that
        self._asked: list[tuple[Bound, frozenset[Frame]]] = []  # those taken to hold one, in the order of asking

    def is_array(self, bound: Bound, depth: int = 0) -> bool:
        """Say whether a value is an array on every way."""
        if depth > _DEPTH:
            return False
        found = self.flow.resolve(bound)
        value = found.value
        if isinstance(value, Item | Indexed) and _is_slice(value):  # a part of a list is no array, whatever is in it
            return self.is_array(self.flow.with_value(found, value.base), depth + 1)
        if self.kinds.only(bound) in {Kind.ARRAY, Kind.KEY}:
            return not self._maybe_other(bound)
        if isinstance(value, Choice | Loop):
            ways = value.options if isinstance(value, Choice) else (value.before, value.again)
            return all(way is not None and self.is_array(self.flow.with_value(found, way), depth + 1) for way in ways)
        if isinstance(value, Unknown):
            return self._operation(found, value.node, depth)
        if isinstance(value, Attr):
            base = self.flow.with_value(found, value.base)
            if value.name in _ATTRIBUTES and self.is_array(base, depth + 1):
                return True
            return self._attribute(found, depth)
        if isinstance(value, Item | Indexed):
            return self.is_array(self.flow.with_value(found, value.base), depth + 1)
        return isinstance(value, Call) and self._call(found, value, depth)

    def _attribute(self, found: Bound, depth: int) -> bool:
        """Say whether an attribute is an array wherever it is assigned, also ``self.total = self.total + x``."""
        if found in self._attributes:  # it is what it was
            self._leaned += 1
            return True
        self._attributes.add(found)
        try:
            own = False  # whether one does not stand on what it was before
            for source in self.kinds.sources.of(found) - {found}:
                leaned = self._leaned
                if not self.is_array(source, depth + 1):
                    return False
                own |= leaned == self._leaned
            return own
        finally:
            self._attributes.discard(found)

    def _maybe_other(self, bound: Bound) -> bool:
        """Say whether the value is read from a Variable, whose content only its constructor tells."""
        value = self.flow.resolve(bound).value
        if not isinstance(value, Attr) or value.name not in {"value", "raw_value"}:
            return False
        return not self.holds_array(self.flow.with_value(self.flow.resolve(bound), value.base))

    def _operation(self, found: Bound, node: ast.AST, depth: int) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            return any(self._operand(found, side, depth) for side in (node.left, node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._operand(found, node.operand, depth)
        if isinstance(node, ast.AugAssign):
            return self._operand(found, node.value, depth)
        return False

    def _operand(self, found: Bound, node: ast.expr, depth: int) -> bool:
        """Say whether an operand is an array, or a Variable that holds one."""
        for module in self.flow.project.modules:
            value = module.values.get(node)
            if value is not None:
                bound = self.flow.with_value(found, value)
                return self.is_array(bound, depth + 1) or self.holds_array(bound)
        return False

    def _call(self, found: Bound, value: Call, depth: int) -> bool:
        callee = self.flow.follow(found, value.callee)
        if isinstance(callee.value, Attr) and callee.value.name in _METHODS:
            return self.is_array(Bound(callee.value.base, callee.frame), depth + 1)
        name = self.flow.calls.callee_name(found)
        if name.startswith("flax.nnx.") and name.removeprefix("flax.nnx.") in ARRAY_FUNCTIONS:
            return True
        if name == "builtins.sum" and len(value.args) == 1:
            summed = self.flow.containers.elements(self.flow.with_value(found, value.args[0]))
            return bool(summed) and all(self.is_array(one, depth + 1) for one in summed)
        if isinstance(callee.value, Call):
            return self._is_layer(callee)
        if isinstance(callee.value, Indexed | Round):  # a layer of a list
            layers = self.kinds.sources.of(callee)
            return bool(layers) and all(isinstance(one.value, Call) and self._is_layer(one) for one in layers)
        return False

    def _is_layer(self, made: Bound) -> bool:
        """Say whether a call makes a layer of the library which gives one array when it is called."""
        name = self.flow.calls.callee_name(made)
        return name.startswith("flax.nnx.") and name not in GRADIENTS and name.rpartition(".")[2] in _LAYERS

    def holds_array(self, variable: Bound) -> bool:
        """Say whether a Variable was made with an array, wherever it may come from.

        One that is made with its own content, as in ``p = nnx.Param(p.value + 1)``, holds what it was first made with.
        """
        key = self.flow.resolve(variable), self.flow.assumptions.all
        if key not in self._held:
            start, answer = len(self._asked), False
            self._asked.append(key)
            self._held[key] = True
            try:
                sources = [one for one in self.kinds.sources.originals(variable) if not keeps(one.value)]
                answer = bool(sources) and all(self._made_with_array(source) for source in sources)
            finally:
                if not answer:  # what was said on the way may stand on it
                    for inner in self._asked[start:]:
                        self._held.pop(inner, None)
                    del self._asked[start:]
            if not answer:
                self._held[key] = False
        return self._held[key]

    def _made_with_array(self, source: Bound) -> bool:
        value = source.value
        if isinstance(value, Call):
            callee = self.flow.follow(source, value.callee)
            if isinstance(callee.value, Attr) and callee.value.name == "state":  # nnx.Param.state(value) of Flax 0.10
                callee = self.flow.resolve(Bound(callee.value.base, callee.frame))
            for way in self.kinds.sources.of(callee) if isinstance(callee.value, Choice) else (callee,):
                if Kind.VARIABLE not in self.kinds.class_kinds(way):
                    return False
                if isinstance(way.value, Class) and self.flow.classes.method(way.value.facts, "__init__") is not None:
                    return False
            content = value.argument(0, "value")
            if content is None:
                return False
            made = self.flow.with_value(source, content)
            return self.is_array(made, 3) or self._initialized(self.flow.resolve(made))
        if isinstance(value, Attr) and self.kinds.only(source) is Kind.VARIABLE:
            # the kernel of a layer, the step of an optimizer
            owner = self.kinds.of(self.flow.with_value(source, value.base))
            return bool(owner & {Kind.MODULE, Kind.OPTIMIZER})
        return False

    def _initialized(self, made: Bound) -> bool:
        """Say whether an initializer gives a value: one of the library, or a parameter named so that gets a key."""
        if not isinstance(made.value, Call) or not made.value.args:
            return False
        callee = self.flow.follow(made, made.value.callee)
        home, _, last = self.flow.calls.callee_name(made).rpartition(".")
        if home in _INITIALIZERS:
            return last in {"ones", "zeros"}
        if isinstance(callee.value, Call):
            return self.flow.calls.callee_name(callee).rpartition(".")[0] in _INITIALIZERS
        name = getattr(callee.value, "name", "")
        if not isinstance(callee.value, Param | Attr) or not name.endswith(("_init", "initializer")):
            return False
        key = made.value.node.args[0]
        named = [n.id if isinstance(n, ast.Name) else n.attr for n in ast.walk(key) if isinstance(n, _NAMES)]
        return any("key" in text or "rng" in text for text in named)


def keeps(value: Value) -> bool:
    """Say whether a value is what ``self.count += 1`` or ``self.count[0] = 1`` assigns: the Variable that was there."""
    if isinstance(value, Changed):
        return isinstance(value.node, ast.Subscript) and isinstance(value.before, Attr)
    return isinstance(value, Unknown) and isinstance(value.node, ast.AugAssign)


def _is_slice(value: Item | Indexed) -> bool:
    index = value.index.value if isinstance(value, Indexed) else value.index
    return isinstance(index, Unknown) and isinstance(index.node, ast.Slice)


# layers whose call gives one array
_LAYERS = frozenset(
    [
        "BatchNorm", "Conv", "ConvTranspose", "Dropout", "Einsum", "Embed", "GroupNorm", "InstanceNorm", "LayerNorm",
        "Linear", "LinearGeneral", "LoRA", "LoRALinear", "MultiHeadAttention", "RMSNorm",
    ]
)  # fmt: skip

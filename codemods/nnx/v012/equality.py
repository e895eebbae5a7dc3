"""NNX610: Variables as keys, and Variables that are compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.frames import Bound
from codemods.nnx.kinds import Kind as Objects
from codemods.nnx.kinds import class_kind
from codemods.nnx.nodes import last_word
from codemods.nnx.project import scope_of
from codemods.nnx.rule import Example, Kind, Rule
from codemods.nnx.v012.asked import asked_of_elements, asked_variable
from codemods.nnx.v012.compared import Compared, decides
from codemods.nnx.v012.told import Told
from codemods.nnx.v012.variables import Variables
from codemods.nnx.values import Attr, Call, Changed, Comprehension, Const, Each, Free, Item, Loop, Mapping, Sequence

# methods of lists, sets and dicts that compare or hash their first argument
_METHODS = frozenset({"index", "remove", "count", "add", "discard", "get", "pop", "setdefault"})

_FLAT = frozenset({"flat_state", "items", "to_flat_state", "values"})

_NUMBERS = frozenset(f"builtins.{name}" for name in ("float", "int", "len", "str", "list", "tuple", "dict"))

_ASKING: tuple[type[ast.AST], ...] = (
    ast.Dict, ast.Set, ast.Subscript, ast.DictComp, ast.SetComp, ast.Call, ast.Compare
)  # fmt: skip


def check(context: Context) -> Iterator[Finding]:
    """Yield dict keys, set members and comparisons that are Variables."""
    if not context.options.crosses("0.12"):
        return
    if not any(module.source.mentions(b"nnx") for module in context.project.modules):
        return
    for module, compare in compared_states(context):
        message = (
            "`==` between states compares the contents of their Variables since Flax 0.12.1, which raises ValueError "
            "for arrays; up to 0.10 no state was equal to another one"
        )
        help = "compare the arrays: all(jax.tree.leaves(jax.tree.map(lambda a, b: bool((a == b).all()), one, two)))"
        yield finding("NNX610", scope_of(module, compare), compare, message, help)
    variables = Variables(context)
    compared, told = Compared(variables), Told(context)
    for module in context.asked.modules:
        for node in module.source.of_type(*_ASKING):
            if isinstance(node, ast.Dict | ast.Set | ast.Subscript | ast.DictComp | ast.SetComp | ast.Call):
                if isinstance(node, ast.Call) and any(
                    _holds(variables, module, all) or _pairs(told, module, all) for all in _hashed(module, node)
                ):
                    yield _hashing(module, node)
                for key in _keys(node):
                    variable = any(
                        _is_variable(variables, module, one) or _is_flat_leaf(told, module, one) for one in _parts(key)
                    )
                    if variable and not _only_passed(variables, module, node):
                        yield _hashing(module, key)
            elif isinstance(node, ast.Compare):
                yield from _compared(variables, compared, told, module, node)


def compared_states(context: Context) -> Iterator[tuple[ModuleFacts, ast.Compare]]:
    """Yield comparisons of two states, which up to 0.10 were equal to themselves alone."""
    for module in context.asked.modules:
        if not module.source.mentions(b"nnx"):
            continue
        for node in module.source.of_type(ast.Compare):
            sides = (node.left, node.comparators[0])
            if len(node.ops) > 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
                continue
            if any(not isinstance(one, ast.Name | ast.Attribute | ast.Call) for one in sides):
                continue
            if not _written_alike(*sides) and all(_is_state(context, module, one) for one in sides):
                yield module, node


def _written_alike(one: ast.expr, two: ast.expr) -> bool:
    """Say whether two names or attributes are the same, so that they stand for one state."""
    return not isinstance(one, ast.Call) and ast.unparse(one) == ast.unparse(two)


def _is_state(context: Context, module: ModuleFacts, node: ast.expr) -> bool:
    value = module.values.get(node)
    return value is not None and context.kinds.only(context.flow.here(value, scope_of(module, node))) is Objects.STATE


def _hashing(module: ModuleFacts, node: ast.expr) -> Finding:
    return finding(
        "NNX610",
        scope_of(module, node),
        node,
        "Variables cannot be hashed since Flax 0.12.1, and are found by their content",
        "use id(variable), or the path of the Variable in the state",
    )


def _hashed(module: ModuleFacts, node: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call goes through and hashes each element of."""
    if not node.args or isinstance(node.args[0], ast.Starred):
        return
    first, name = node.args[0], last_word(node.func)
    if name in {"set", "frozenset", "Counter"} or ast.unparse(node.func) == "dict.fromkeys":
        yield first
    elif name in {"dict", "OrderedDict"} and isinstance(first, ast.Call) and last_word(first.func) == "zip":
        yield from first.args[:1]
    elif name == "update" and isinstance(node.func, ast.Attribute):
        holder = module.values.get(node.func.value)
        while isinstance(holder, Changed | Loop | Free):
            if isinstance(holder, Free):
                bound = holder.scope.bindings.get(holder.name, ())
                holder = bound[0] if len(bound) == 1 else None
            else:
                holder = holder.before
        if isinstance(holder, Call) and isinstance(holder.node.func, ast.Name) and holder.node.func.id == "set":
            yield first


def _holds(variables: Variables, module: ModuleFacts, node: ast.expr) -> bool:
    """Say whether going through something gives a Variable."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return any(_is_variable(variables, module, one) for one in node.elts)
    scope = scope_of(module, node)
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return _is_variable(variables, module, node.elt) or asked_of_elements(variables.context, node, scope)
    value = module.values.get(node)
    return value is not None and variables.holds_variable(value, scope)


def _pairs(told: Told, module: ModuleFacts, node: ast.expr) -> bool:
    """Say whether an expression holds leaves of a state, or pairs of a path and a leaf, whose hash is that of both."""
    value = module.values.get(node)
    if not isinstance(value, Call) or last_word(value.node.func) not in _FLAT:  # a dict of it holds the paths as keys
        return False
    return told.flat(value, scope_of(module, node))


def _is_flat_leaf(told: Told, module: ModuleFacts, node: ast.expr) -> bool:
    value = module.values.get(node) if isinstance(node, ast.Name | ast.Subscript) else None
    return value is not None and told.leaf(value, scope_of(module, node))


def _parts(key: ast.expr) -> list[ast.expr]:
    """Return what is hashed together: the elements of a tuple, or the key itself."""
    return key.elts if isinstance(key, ast.Tuple) else [key]


def _keys(node: ast.AST) -> list[ast.expr]:
    """Return the expressions that a node hashes."""
    if isinstance(node, ast.Dict):
        return [key for key in node.keys if key is not None]
    if isinstance(node, ast.Set):
        return node.elts
    if isinstance(node, ast.DictComp):
        return [node.key]
    if isinstance(node, ast.SetComp):
        return [node.elt]
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id == "hash"
        method = isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS
        return node.args[:1] if named or method else []
    return []


def _only_passed(variables: Variables, module: ModuleFacts, node: ast.AST) -> bool:
    """Say whether what gets a Variable is known to neither hash nor compare it: a list's index, an array's ``at``."""
    if isinstance(node, ast.Subscript):
        holder = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        holder = node.func.value
    else:
        return False
    at = holder.value if isinstance(holder, ast.Subscript) else holder
    if isinstance(at, ast.Attribute) and at.attr == "at":  # array.at[index].add(variable)
        return True
    value = module.values.get(holder)
    if value is None:
        return False
    bound = variables.flow.resolve(variables.flow.here(value, scope_of(module, holder)))
    position = isinstance(node, ast.Subscript) or (isinstance(node.func, ast.Attribute) and node.func.attr == "pop")
    if position and isinstance(bound.value, Sequence | Comprehension):
        return True
    return variables.flow.classes.class_of(bound) is not None or bool(variables.context.kinds.of(bound))


def _is_variable(variables: Variables, module: ModuleFacts, node: ast.expr) -> bool:
    if not isinstance(node, ast.Name | ast.Attribute) or node not in module.values:
        return False
    scope = scope_of(module, node)
    value = module.values[node]
    if asked_variable(variables.context, node, scope):
        return True
    return not _is_key(variables.flow.here(value, scope), variables) and variables.is_variable(value, scope)


def _is_key(bound: Bound, variables: Variables) -> bool:
    """Say whether a value is the key of a dict in a loop over it or over its items."""
    value = bound.value
    first = isinstance(value, Item) and value.index == Const(0)
    if isinstance(value, Item) and first:
        value = value.base
    if not isinstance(value, Each):
        return False
    over = value.base
    if isinstance(over, Call) and isinstance(over.callee, Attr) and not over.args:
        return over.callee.name == ("items" if first else "keys")
    resolved = variables.flow.follow(bound, over).value
    return not first and (
        isinstance(resolved, Mapping) or (isinstance(resolved, Comprehension) and resolved.key is not None)
    )


def _compared(
    variables: Variables, compared: Compared, told: Told, module: ModuleFacts, node: ast.Compare
) -> Iterator[Finding]:
    """Report ``==``, ``!=`` and ``in`` between Variables; identity is what the first two meant."""
    for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        if isinstance(operator, ast.In | ast.NotIn):
            if (
                _is_variable(variables, module, left)
                or _is_in(compared, module, left, right)
                or _is_flat_leaf(told, module, left)
            ):
                message = "`in` compares Variables by their content since Flax 0.12.1"
                yield finding("NNX610", scope_of(module, node), node, message, "write any(v is variable for v in ...)")
        elif (
            isinstance(operator, ast.Eq | ast.NotEq)
            and isinstance(right, ast.Name | ast.Attribute)  # most are compared with a constant
            and _is_variable(variables, module, left)
            and _is_variable(variables, module, right)
        ):
            message = "`==` between Variables compares their content since Flax 0.12.1, up to then their identity"
            fix = _identity(module, node, left, right)
            yield finding("NNX610", scope_of(module, node), node, message, "write `is`, or compare the contents", fix)
        elif isinstance(operator, ast.Eq | ast.NotEq) and _are_variables(compared, module, node, left, right):
            message = "`==` between Variables compares their content since Flax 0.12.1, up to then their identity"
            yield finding("NNX610", scope_of(module, node), node, message, "write `is`, or compare the contents")
        elif isinstance(operator, ast.Eq | ast.NotEq):
            if any(
                _is_variable(variables, module, one) and _is_foreign(variables, module, other)
                for one, other in ((left, right), (right, left))
            ):
                always = isinstance(operator, ast.NotEq)
                what = "a constant" if _is_plain(left) or _is_plain(right) else "what is no array of JAX"
                message = f"a Variable compared with {what} gave {always} up to Flax 0.12.0, whatever it holds"
                help = "since 0.12.1 the content is compared: write variable.value == ... if that is meant"
                yield finding("NNX610", scope_of(module, node), node, message, help)


def _is_in(compared: Compared, module: ModuleFacts, left: ast.expr, right: ast.expr) -> bool:
    """Say whether a Variable, or something unknown, is looked for in a list of Variables."""
    if compared.is_variable(module, left):
        return True
    if not isinstance(left, ast.Name | ast.Attribute) or not isinstance(right, ast.Name | ast.Attribute | _DISPLAYS):
        return False
    return compared.lists_variables(module, right) and compared.untold(module, left)


def _are_variables(compared: Compared, module: ModuleFacts, node: ast.Compare, left: ast.expr, right: ast.expr) -> bool:
    """Say whether two Variables are compared, or one with something unknown where a condition needs one answer."""
    places = (ast.Name, ast.Attribute, ast.Subscript)
    if not isinstance(left, places) or not isinstance(right, places):
        return False
    known = [compared.is_variable(module, one) for one in (left, right)]
    if not any(known) or all(known):
        return all(known)
    variable, other = (left, right) if known[0] else (right, left)
    return compared.is_matrix(module, variable) and decides(module, node) and compared.untold(module, other)


_DISPLAYS = ast.List | ast.Tuple


def _is_foreign(variables: Variables, module: ModuleFacts, node: ast.expr) -> bool:
    """Say whether an expression is neither the object itself nor an array of JAX, to which the content is compared."""
    if _is_plain(node) or isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.JoinedStr):
        return True
    if isinstance(node, ast.BinOp):
        return _is_foreign(variables, module, node.left) and _is_foreign(variables, module, node.right)
    value = module.values.get(node)
    if value is None:
        return False
    bound = variables.flow.resolve(variables.flow.here(value, scope_of(module, node)))
    found = bound.value
    if isinstance(found, Const):
        return isinstance(found.value, int | float | complex | str | bytes)
    if not isinstance(found, Call):
        return False
    kind = variables.context.kinds.only(bound)
    if isinstance(node, ast.Call) and kind is Objects.VARIABLE:
        made = class_kind(variables.flow.calls.callee_name(bound)) is Objects.VARIABLE
        return made or last_word(node.func) in {"copy", "replace"}  # made here, so that it is no other's object
    return kind is Objects.NUMPY or variables.flow.calls.callee_name(bound) in _NUMBERS


def _is_plain(node: ast.expr) -> bool:
    """Say whether an expression is a number or a text."""
    node = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex | str | bytes)


def _identity(module: ModuleFacts, node: ast.Compare, left: ast.expr, right: ast.expr) -> Fix | None:
    """Return the edit that compares two objects by ``is``."""
    source = module.source
    old, new = (b"==", b"is") if isinstance(node.ops[0], ast.Eq) else (b"!=", b"is not")
    between = source.data[source.span(left)[1] : source.span(right)[0]]
    if len(node.ops) > 1 or not source.faithful(node) or between.count(old) != 1 or b"#" in between:
        return None
    start = source.span(left)[1] + between.index(old)
    return Fix(((source.path, Edit(start, start + 2, new)),))


_BEFORE = """\
import jax.numpy as jnp
from flax import nnx

one, two = nnx.Param(jnp.ones(2)), nnx.Param(jnp.ones(2))
print(one == one, one == two, one != two)
"""

RULE = Rule(
    code="NNX610",
    name="variable-identity",
    summary="Variables are hashed or compared",
    why="""\
Up to Flax 0.12.0 two Variables were equal if they were the same object, and could be keys of dicts and members of sets;
none was equal to a number, an array of NumPy or another value that is no array of JAX.
Since 0.12.1 `==` compares the contents element by element, and hashing raises TypeError. So does `==` between states,
whose leaves are Variables: up to 0.10 no state was equal to another one, in 0.11 those of one object are, and since
0.12.1 the comparison raises ValueError unless each Variable holds one number.
""",
    kind=Kind.REQUIRED,
    safety=Safety.SAFE,
    since="0.12.1",
    source="measured on Flax 0.10.4 to 0.12.8",
    examples=(
        Example(
            _BEFORE,
            _BEFORE.replace("one == one, one == two, one != two", "one is one, one is two, one is not two"),
            targets=("0.12",),
        ),
        Example(
            "from flax import nnx\n\nweight = nnx.Param(1.0)\nnames = {weight: 'w'}\n", targets=("0.12",), run=False
        ),
    ),
    check=check,
)

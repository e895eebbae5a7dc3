"""NNX865: a carry that is something else after a round than before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.frames import Bound, Indexed
from codemods.nnx.lint.arrays import BOOL, FLOAT, INT, UNKNOWN, Array, Arrays, batched, made_by_jax
from codemods.nnx.lint.carry_width import other_width
from codemods.nnx.lint.complex_values import is_complex
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.exchanged_pair import exchanged_pairs
from codemods.nnx.lint.literal_shape import literal_shape
from codemods.nnx.lint.loop_arguments import begins_with_slices, swapped, taken_apart
from codemods.nnx.lint.loop_bodies import Body, bodies
from codemods.nnx.lint.made_records import changed_fields, fields_given, record_fields
from codemods.nnx.lint.names import last
from codemods.nnx.lint.places import error_wanted, foreign, shown
from codemods.nnx.lint.real_values import RealValues
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.values import Attr, Call, Changed, Const, Function, Item, Mapping, Param, Sequence, Unknown, Value

_GROWING = frozenset({"jax.numpy.append", "jax.numpy.concatenate", "jax.numpy.vstack", "jax.numpy.hstack"})
_WORDS = {BOOL: "truth values", INT: "integers", FLOAT: "floats"}
_ALONE = "one part alone after"
_NO_CARRY = ("None after", "one array after", "loss after")
_COMPLEX = pattern(rb"fft|complex|\dj\b")
_DEPTH = 20
_CALLS = 4  # how many functions stand in each other


def _check(context: Context) -> Iterator[Finding]:
    yield from _branches(context)
    for function, returned_first, name in exchanged_pairs(context):
        yield finding(
            RULE.code,
            function.scope,
            returned_first,
            f"{shown(function)} returns its outputs first: `{name}`, which is one thing, becomes several",
            "return the carry first, and then the outputs",
        )
    for body in bodies(context):
        word = last(body.loop)
        if word == "while_loop" and body.role == "cond_fun" and gives_nothing(body.function):
            if not error_wanted(context, body.event) and not body.callee.gradient:
                yield finding(
                    RULE.code,
                    body.function.scope,
                    body.function.node,
                    f"{shown(body.function)} is the condition of while_loop, and returns nothing",
                    "return whether to go on",
                )
            continue
        if word not in {"scan", "fori_loop", "while_loop"} or body.role == "cond_fun" or body.init is None:
            continue
        free = body.free
        index = 1 if word == "fori_loop" else 0
        if free is None or len(free) <= index or body.function.generator or error_wanted(context, body.event):
            continue
        if word == "fori_loop" and swapped(body, free):
            continue  # NNX866 says so
        if word == "scan" and len(free) == 2 and begins_with_slices(context, body, free):
            continue
        carry = body.function.params[free[index]]
        init = context.flow.resolve(context.flow.here(body.init, body.event.scope))
        if isinstance(init.value, Param | Attr):  # what the loop gives back is not what it begins with
            sources = [one for one in context.sources.originals(init) if not _result(one.value, body.event.value)]
            if len(sources) == 1 and (isinstance(sources[0].value, Mapping) or _given_whole(context, body, sources[0])):
                init = sources[0]
        if word != "scan" and gives_nothing(body.function) and _something(init, carry, body):
            yield finding(
                RULE.code,
                body.function.scope,
                body.function.node,
                f"{shown(body.function)} is the body of {word}, and returns nothing: the next carry is None",
                "return the carry, with the same structure",
            )
            continue
        for returned in body.function.returns:
            value: Value | None = returned
            if word == "scan":
                value = returned.items[0] if isinstance(returned, Sequence) and len(returned.items) == 2 else None
            problem = ""
            if value is not None:
                problem = _problem(context, body, carry, init, value)
                problem = problem or other_width(context, body, init, value)
            helper = _chained(context, body, carry, returned if value is None else value) if not problem else None
            if helper is not None:
                given = helper.returned
                if value is None:  # the helper gives the output of the scan, too
                    pair = isinstance(given, Sequence) and len(given.items) == 2
                    given = given.items[0] if pair and isinstance(given, Sequence) else Const(None)
                if not isinstance(given, Const):
                    problem = _problem(context, helper, helper.carry, init, given)
            if problem:
                yield finding(
                    RULE.code,
                    body.function.scope,
                    _place(body, returned),
                    f"{shown(body.function)} changes the type of the carry of {word}: {problem}",
                    _help(problem, word),
                )
                break


def _help(problem: str, loop: str) -> str:
    if problem.endswith(_ALONE):
        return "return the whole carry" + (", and the output beside it" if loop == "scan" else "")
    if problem.endswith(_NO_CARRY):
        return "return the carry first, and the output second" if loop == "scan" else "return the whole carry"
    return "give the first carry the shape and type that the body returns, or cast the result"


@dataclass(frozen=True, eq=False)
class _Helper(Body):
    """A function that a body gives its carry to, and whose result it returns as the next one.

    Attributes:
        carry: the parameter that gets the carry.
        known: what is known of the others.
        returned: what the function returns.
        over: the fields of a record that are given something else behind it.
    """

    carry: Param
    known: dict[Value, Array]
    returned: Value
    over: frozenset[str] = frozenset()


def _chained(context: Context, body: Body, carry: Param, value: Value, depth: int = 0) -> _Helper | None:
    """Return the function whose result a body returns, or a copy of that with other fields: ``age(push(carry, x))``."""
    found = _helper(context, body, carry, value)
    if found is not None or not isinstance(value, Call) or value.starred or depth > _CALLS:
        return found
    made, inner = value, _before(value)
    if inner is None:
        callees = context.flow.calls.callables(context.flow.here(value.callee, body.function.scope))
        function = callees[0].function if len(callees) == 1 else None
        if function is None or function.generator or function.decorators or len(function.returns) != 1:
            return None
        (returned,) = function.returns
        param = _before(returned) if isinstance(returned, Call) else None
        if not isinstance(param, Param) or param.function is not function or not isinstance(returned, Call):
            return None
        place = list(function.params).index(param.name) - int(callees[0].receiver is not None)
        made, inner = returned, value.argument(place, param.name) if not callees[0].args else None
    if not isinstance(inner, Call):
        return None
    found = _chained(context, body, carry, inner, depth + 1)
    names = {name for name, _ in made.keywords if name is not None}
    return replace(found, over=found.over | names) if found is not None else None


def _before(value: Call) -> Value | None:
    """Return the record of which a call makes a copy with other fields."""
    named = isinstance(value.callee, Attr) and value.callee.name in {"replace", "_replace"}
    known = named and not value.args and not value.starred and all(name is not None for name, _ in value.keywords)
    return value.callee.base if known and isinstance(value.callee, Attr) else None


def _helper(context: Context, body: Body, carry: Param, value: Value) -> _Helper | None:
    """Return the function whose result a body returns: ``return push(carry, x)``; None if there is none."""
    if not isinstance(value, Call) or value.starred or any(name is None for name, _ in value.keywords):
        return None
    scope = body.function.scope
    found = context.flow.resolve(context.flow.here(value.callee, scope))
    callees = context.flow.calls.callables(found) if isinstance(found.value, Function | Attr) else []
    function = callees[0].function if len(callees) == 1 else None
    if function is None or function is body.function or function.generator or function.decorators:
        return None
    if len(function.returns) != 1 or function.vararg is not None or callees[0].args:
        return None
    method = callees[0].receiver is not None
    if method and not (isinstance(found.value, Attr) and found.value.name == function.name):
        return None
    names = list(function.params)[int(method) : function.positional]
    given = dict(zip(names, value.args, strict=False)) | {name: one for name, one in value.keywords if name}
    takes = [name for name, one in given.items() if one is carry]
    if len(takes) != 1 or takes[0] not in function.params:
        return None
    arrays = Arrays(context, _given(context, body, {}))
    params = function.params
    known: dict[Value, Array] = {
        params[name]: arrays.of(one, scope) for name, one in given.items() if name in params and name != takes[0]
    }
    return _Helper(
        body.event,
        body.loop,
        body.role,
        callees[0],
        body.count,
        body.init,
        params[takes[0]],
        known,
        function.returns[0],
    )


def _something(init: Bound, carry: Param, body: Body) -> bool:
    """Say whether a first carry is not None, by what it is or by what the body does with it."""
    if isinstance(init.value, Const):
        return init.value.value is not None
    if isinstance(init.value, Sequence | Mapping):
        return bool(init.value.items)
    return any(isinstance(n, ast.Name) and n.id == carry.name for n in ast.walk(body.function.node))


def gives_nothing(function: FunctionFacts) -> bool:
    """Say whether a function has a body, which ends without a value wherever it ends.

    Args:
        function: a function of the project.
    """
    if isinstance(function.node, ast.Lambda) or function.generator or isinstance(function.node.body[-1], ast.Raise):
        return False
    if all(r == Const(None) for r in function.returns):
        last_one = function.node.body[-1]
        return not isinstance(last_one, ast.Pass) and not (
            isinstance(last_one, ast.Expr) and isinstance(last_one.value, ast.Constant)
        )
    return False


def _given_whole(context: Context, body: Body, source: Bound) -> bool:
    """Say whether a first carry is a tuple or a record that comes from elsewhere as it is, and is not mapped."""
    whole = isinstance(source.value, Sequence) or bool(record_fields(context, source))
    return whole and body.event.scope.function not in context.shared(batched)


def _branches(context: Context) -> Iterator[Finding]:
    """Yield the branches of ``cond`` and ``switch`` that give something of another type than the first."""
    for event, name in foreign(context, "cond", "switch"):
        if not name.startswith(("jax.lax.", "flax.nnx.")) or event.value.starred:
            continue
        branches = _branches_of(context, event, last(name))
        silent = _silent(context, event, [function for function, _ in branches])
        if silent is not None:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"{shown(silent)} is a branch of {last(name)} that returns nothing, and another one returns something",
                "let all branches return the same structure",
                related=[(silent.node, "this one")] if silent.scope.module is event.scope.module else [],
            )
            continue
        if len(branches) < 2 or any(len(function.returns) != 1 for function, _ in branches):
            continue
        functions = [function for function, _ in branches]
        first, *others = functions
        operands = _Operands(context, event, branches)
        problem = next(
            (
                p
                for one in others
                if (p := _unlike(context, first.returns[0], first.scope, one.returns[0], one.scope, 0, operands))
            ),
            "",
        ) or _one_and_several(context, branches, operands)
        if problem:
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"one branch of {last(name)} gives {problem}",
                "let both branches give the same type",
                related=[(value.node, "given here") for f in functions if isinstance(value := f.returns[0], _WRITTEN)],
            )


class _Operands:
    """What the branches of one call get for their parameters."""

    def __init__(self, context: Context, event: CallEvent, branches: list[tuple[FunctionFacts, int]]) -> None:
        self._context, self._event = context, event
        call = event.value
        given = list(call.args[3 if last_word(event.node.func) == "cond" else 2 :])
        by_name = call.keyword("operand")
        self._values: dict[Value, Value] = {}
        for place, operand in enumerate([by_name] if not given and by_name is not None else given):
            for function, bound in branches:
                params = [p for p in function.params.values() if p.name != function.vararg]
                if bound + place < len(params):
                    self._values[params[bound + place]] = operand
        self.arrays: dict[Value, Array] = {
            param: Arrays(context, {}).of(operand, event.scope) for param, operand in self._values.items()
        }

    def parts(self, value: Value) -> Sequence | None:
        """Return the tuple that a branch gives back as it got it."""
        whole = self._values.get(value)
        return whole if whole is not None and _tuple(whole) and isinstance(whole, Sequence) else None

    def fields(self, value: Value, scope: Scope) -> dict[str, tuple[Value, Scope]]:
        """Return the fields of a record that a branch gives: of a new one, of a changed copy, or of its operand."""

        def operand(one: Value) -> tuple[Value, Scope] | None:
            whole = self._values.get(one)
            return (whole, self._event.scope) if whole is not None else None

        return fields_given(self._context, value, scope, operand)

    def number(self, value: Value) -> int | None:
        """Return the type of what a branch gives back as it got it: at first nothing comes from the call itself."""
        operand = self._values.get(value)
        if operand is None and isinstance(value, Item) and isinstance(value.index, Const):
            whole = self._values.get(value.base)
            if isinstance(whole, Sequence) and _tuple(whole) and isinstance(value.index.value, int):
                operand = whole.items[value.index.value] if value.index.value < len(whole.items) else None
            elif isinstance(whole, Mapping):
                operand = dict(whole.items).get(value.index) if _keys(whole) is not None else None
        if operand is None or self._event.scope.function in self._context.shared(batched):
            return None
        every = self._context.sources.originals(self._context.flow.here(operand, self._event.scope))
        first = [one for one in every if not _result(one.value, self._event.value)]
        numbers = {Arrays(self._context, {}).of_bound(one).number for one in first}
        return numbers.pop() if len(numbers) == 1 else None


def _result(value: Value, call: Call) -> bool:
    return value is call or (isinstance(value, Item | Indexed) and value.base is call)


_WRITTEN = (Sequence, Mapping, Unknown, Call)


def _branches_of(context: Context, event: CallEvent, word: str) -> list[tuple[FunctionFacts, int]]:
    """Return the branches, if they are all known, and how many arguments each has already."""
    if word == "cond":
        given = [event.value.argument(1, "true_fun"), event.value.argument(2, "false_fun")]
    else:
        branches = event.value.argument(1, "branches")
        listed = context.flow.resolve(context.flow.here(branches, event.scope)) if branches is not None else None
        if listed is None or not isinstance(listed.value, Sequence) or listed.frame is not None:
            given = [*branches.items] if isinstance(branches, Sequence) else []
        else:
            given = [*listed.value.items]
    found = []
    for one in given:
        callees = context.flow.calls.callables(context.flow.here(one, event.scope)) if one is not None else []
        if len(callees) != 1 or callees[0].gradient:
            return []
        bound = len(callees[0].args) + int(callees[0].receiver is not None)
        found.append((callees[0].function, bound))
    return found


def _silent(context: Context, event: CallEvent, functions: list[FunctionFacts]) -> FunctionFacts | None:
    """Return a branch that returns nothing, where another one certainly returns something."""
    silent = next((one for one in functions if gives_nothing(one)), None)
    if silent is None or context.bodies.guarded(event.node, event.scope):
        return None
    speaking = (one for one in functions if one.returns and not one.generator)
    return silent if any(all(_certain(context, r, one) for r in one.returns) for one in speaking) else None


def _certain(context: Context, value: Value, function: FunctionFacts) -> bool:
    """Say whether a value is certainly not None, nor a tree without leaves."""
    if isinstance(value, Sequence):
        return any(_certain(context, item, function) for item in value.items)
    if isinstance(value, Unknown):
        return isinstance(value.node, ast.BinOp | ast.Compare | ast.UnaryOp)
    return made_by_jax(context, value, function.scope) or Arrays(context, {}).of(value, function.scope) != UNKNOWN


def _unlike(context: Context, one: Value, here: Scope, two: Value, there: Scope, depth: int, given: _Operands) -> str:
    """Return how two results differ in type or structure; empty if they do not, or that is not known."""
    if depth > 3:
        return ""
    if _tuple(one) != _tuple(two):  # one of them is the operand as it came
        whole, tail = (one, two) if _tuple(two) else (two, one)
        parts_of = given.parts(whole)
        if parts_of is not None:
            same = Sequence(parts_of.node, tuple(Item(whole, Const(i)) for i in range(len(parts_of.items))))
            one, two = (same, tail) if whole is one else (tail, same)
    if _tuple(one) and _tuple(two):
        assert isinstance(one, Sequence)
        assert isinstance(two, Sequence)
        if len(one.items) != len(two.items):
            return f"{len(one.items)} values, the other {len(two.items)}"
        for position, (x, y) in enumerate(zip(one.items, two.items, strict=True), 1):
            if problem := _unlike(context, x, here, y, there, depth + 1, given):
                return f"{problem} (part {position})"
        return ""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        before, after = _keys(one), _keys(two)
        if before is None or after is None or before != after:
            return "" if before is None or after is None else "other keys than the other"
        entries = {key.value: item for key, item in two.items if isinstance(key, Const)}
        for key, item in one.items:
            against = entries[key.value] if isinstance(key, Const) else item
            if problem := _unlike(context, item, here, against, there, depth + 1, given):
                return f"{problem} (entry {getattr(key, 'value', None)!r})"
        return ""
    records = given.fields(one, here), given.fields(two, there)
    for name in (name for name in records[0] if name in records[1]):
        if problem := _unlike(context, *records[0][name], *records[1][name], depth + 1, given):
            return f"{problem} (field `{name}`)"
    if all(records):
        return ""
    first, second = Arrays(context, given.arrays).of(one, here), Arrays(context, given.arrays).of(two, there)
    for left, right, other in ((one, two, second), (two, one, first)):
        if left == Const(None):
            if other != UNKNOWN or _tuple(right) or isinstance(right, Mapping):
                return "None, the other an array" if other != UNKNOWN else "None, the other several values"
        if _tuple(left) and other != UNKNOWN:
            return "several values, the other one array"
    shapes = [literal_shape(context, value, scope) for value, scope in ((one, here), (two, there))]
    if first.axes is not None and second.axes is not None and first.axes != second.axes:
        return f"{_axes(first.axes)}, the other {_axes(second.axes)}"
    if all(shapes) and shapes[0] != shapes[1] and None not in shapes[0] + shapes[1]:
        return f"an array of shape {shapes[0]}, the other {shapes[1]}"
    numbers = (first.number, second.number)
    if numbers[0] is None and numbers[1] is not None:
        numbers = (given.number(one), numbers[1])
    elif numbers[0] is not None and numbers[1] is None:
        numbers = (numbers[0], given.number(two))
    if None in numbers or numbers[0] == numbers[1]:
        return ""
    return f"{_WORDS[numbers[0] or 0]}, the other {_WORDS[numbers[1] or 0]}"


def _axes(number: int) -> str:
    return "a number" if number == 0 else f"an array with {number} {'axis' if number == 1 else 'axes'}"


def _one_and_several(context: Context, branches: list[tuple[FunctionFacts, int]], operands: _Operands) -> str:
    """Say so if one branch gives several values, and another an item or the whole of an operand that is an array."""
    several = next((f for f, _ in branches if _tuple(f.returns[0])), None)
    if several is None:
        return ""
    for one, bound in branches:
        value = one.returns[0]
        if made_by_jax(context, value, one.scope):
            return "several values, the other one array"
        if operands.parts(value) is not None:
            continue
        while isinstance(value, Item) and not isinstance(value.index, Sequence):
            value = value.base
        if not isinstance(value, Param) or value.function is not one:
            continue
        place = list(one.params).index(value.name) - bound
        shown_by = [
            context.bodies.evidence(f).get(list(f.params)[place + skip])
            for f, skip in branches
            if 0 <= place < len(f.params) - skip
        ]
        if "array" in shown_by and "object" not in shown_by:
            return "several values, the other one array"
    return ""


def _tuple(value: Value) -> bool:
    node = value.node if isinstance(value, Sequence) else None
    return isinstance(node, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.elts)


def _place(body: Body, returned: Value) -> ast.AST:
    node = body.function.node
    if isinstance(node, ast.Lambda):
        return node.body
    values = body.function.scope.module.values
    for one in ast.walk(node):
        if isinstance(one, ast.Return) and one.value is not None and values.get(one.value) is returned:
            return one
    return node


def _problem(context: Context, body: Body, carry: Param, init: Bound, value: Value) -> str:
    """Return how a carry differs from the one before; empty if it does not, or that is not known."""
    if init.value == Const(None):
        something = isinstance(value, Unknown) and isinstance(value.node, ast.BinOp)
        return "None before, and an array after" if something else ""
    if value == Const(None):
        return "something before, None after" if _something(init, carry, body) and _holds(body, carry) else ""
    if part := _part_alone(context, body, carry, init, value) or _other_kind(context, body, carry, init, value):
        return part
    if isinstance(init.value, Sequence) and isinstance(init.value.node, ast.Tuple):
        if isinstance(value, Sequence) and isinstance(value.node, ast.Tuple):
            if any(isinstance(e, ast.Starred) for e in (*init.value.node.elts, *value.node.elts)):
                return ""
            if len(init.value.items) != len(value.items):
                return f"{len(init.value.items)} parts before, {len(value.items)} after"
            return _parts(context, body, carry, init, init.value, value)
        one = made_by_jax(context, value, body.function.scope) or _calculated(value)
        if len(init.value.items) > 1 and one:
            return f"{len(init.value.items)} parts before, one array after"
        return ""
    if isinstance(init.value, Mapping) and isinstance(value, Mapping):
        before, after = _keys(init.value), _keys(value)
        if before is not None and after is not None and before != after:
            return "other keys before than after"
        return _entries(context, body, carry, init, value) if before is not None and after is not None else ""
    if isinstance(init.value, Call) and (fields := record_fields(context, init)):
        return _fields(context, body, carry, init, fields, value)
    if isinstance(value, Sequence) and isinstance(value.node, ast.Tuple) and len(value.items) > 1:
        return "one array before, a tuple after" if Arrays(context, {}).of_bound(init) != UNKNOWN else ""
    before_ = Arrays(context, {}).of_bound(init)
    return (
        _difference(before_, Arrays(context, _given(context, body, {carry: before_})), body, value)
        or _grows(context, body, carry, value)
        or _grows_complex(context, body, init, value)
    )


def _holds(body: Body, carry: Param) -> bool:
    """Say whether a body works with its carry, and nowhere asks what it is."""
    node = body.function.node
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == carry.name]
    asked = (
        n.left
        for n in ast.walk(node)
        if isinstance(n, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in n.ops)
    )
    loaded = any(isinstance(n.ctx, ast.Load) for n in names)
    return loaded and not any(isinstance(one, ast.Name) and one.id == carry.name for one in asked)


def _other_kind(context: Context, body: Body, carry: Param, init: Bound, value: Value) -> str:
    """Say so if a round gives one array where the carry has several parts, or the loss of the carry itself."""
    if _loss_of(context, body, carry, value):
        return "what is differentiated before, its loss after"
    begun = init.value
    if isinstance(begun, Sequence) and _tuple(begun):
        parts = len(begun.items)
        before = f"{parts} parts"
    elif isinstance(begun, Mapping):
        parts, before = 2, "a dict"
    elif isinstance(begun, Call) and record_fields(context, init):
        parts, before = 2, "a record"
    else:
        parts = taken_apart(context, body, carry.name) if isinstance(begun, Param | Attr | Call) else 0
        before = f"{parts} parts"
        made = Arrays(context, {}).of_bound(init) != UNKNOWN or made_by_jax(context, begun, body.event.scope)
        if parts > 1 and made:
            return ""  # an array is taken apart, too
    if parts < 2:
        return ""
    scope = body.function.scope
    one = made_by_jax(context, value, scope) or _calculated(value) or Arrays(context, {}).of(value, scope) != UNKNOWN
    return f"{before} before, one array after" if one or _reduced(value) else ""


_REDUCED = frozenset({"sum", "mean", "max", "min", "std", "var"})


def _reduced(value: Value) -> bool:
    """Say whether a value is what a method of arrays gives, ``speed.sum()``."""
    callee = value.callee if isinstance(value, Call) and not value.args and not value.keywords else None
    return isinstance(callee, Attr) and callee.name in _REDUCED


def _loss_of(context: Context, body: Body, carry: Param, value: Value) -> bool:
    """Say whether a value is the loss that ``value_and_grad`` gives beside the gradient of the carry, or of a part."""
    if not isinstance(value, Item) or value.index != Const(0) or not isinstance(value.base, Call):
        return False
    call, scope = value.base, body.function.scope
    given = call.args[0] if call.args else None
    while isinstance(given, Item | Attr):
        given = given.base
    made = call.callee
    if given is not carry or not isinstance(made, Call) or any(name == "argnums" for name, _ in made.keywords):
        return False
    return last(context.flow.calls.callee_name(context.flow.here(made, scope))) == "value_and_grad"


def _part_alone(context: Context, body: Body, carry: Param, init: Bound, value: Value) -> str:
    """Say so if a round gives one part of the carry alone, or what is computed of one, where the carry has several."""
    begun = init.value
    fields = frozenset(record_fields(context, init)) if isinstance(begun, Call) else frozenset()
    if not _of_part(body, carry, value, fields, 0):
        return ""
    if isinstance(begun, Sequence) and isinstance(begun.node, ast.Tuple):
        several = len(begun.items) > 1 and not any(isinstance(e, ast.Starred) for e in begun.node.elts)
        number = f"{len(begun.items)} parts"
    elif isinstance(begun, Mapping):
        several, number = len(begun.items) > 1, "a dict"
    elif fields:
        several, number = len(fields) > 1, "a record"
    else:
        parts = taken_apart(context, body, carry.name) if isinstance(begun, Param | Attr) else 0
        several, number = parts > 1, f"{parts} parts"
    return f"{number} before, {_ALONE}" if several else ""


def _of_part(body: Body, carry: Param, value: Value | None, fields: frozenset[str], depth: int) -> bool:
    """Say whether a value is a part of the carry, or arithmetic with one that is no tuple."""
    if isinstance(value, Item):
        return value.base is carry and isinstance(value.index, Const) and isinstance(value.index.value, int | str)
    if isinstance(value, Attr):
        return value.base is carry and value.name in fields
    node = value.node if isinstance(value, Unknown | Changed) else None
    if depth > _DEPTH or node is None or _displayed(node):
        return False
    values = body.function.scope.module.values
    if isinstance(node, ast.AugAssign):  # `total += x`
        sides = [values.get(node.target), values.get(node.value)]
    else:
        sides = [values.get(node.left), values.get(node.right)] if isinstance(node, ast.BinOp) else []
    return any(side is not value and _of_part(body, carry, side, fields, depth + 1) for side in sides)


def _displayed(node: ast.AST) -> bool:
    """Say whether an operation has a tuple or list in it, which it may put together with others."""
    return any(isinstance(n, ast.Tuple | ast.List | ast.Starred) for n in ast.walk(node))


def _calculated(value: Value) -> bool:
    """Say whether a value is the result of arithmetic that tuples do not have."""
    node = value.node if isinstance(value, Unknown) else None
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult)


def _parts(context: Context, body: Body, carry: Param, init: Bound, before: Sequence, after: Sequence) -> str:
    kinds = [Arrays(context, {}).of_bound(context.flow.follow(init, item)) for item in before.items]
    given: dict[Value, Array] = {Item(carry, Const(i)): kind for i, kind in enumerate(kinds)}
    arrays = Arrays(context, _given(context, body, given))
    for position, (one, two) in enumerate(zip(kinds, after.items, strict=True)):
        problem = _difference(one, arrays, body, two) or _grows(context, body, Item(carry, Const(position)), two)
        problem = problem or _grows_complex(context, body, context.flow.follow(init, before.items[position]), two)
        if problem:
            return f"{problem} (part {position + 1})"
    return ""


def _entries(context: Context, body: Body, carry: Param, init: Bound, after: Mapping) -> str:
    """Return how an entry of a dict differs from the one before."""
    assert isinstance(init.value, Mapping)
    kinds = {
        key: Arrays(context, {}).of_bound(context.flow.follow(init, item))
        for key, item in init.value.items
        if isinstance(key, Const)
    }
    arrays = Arrays(context, _given(context, body, {Item(carry, key): kind for key, kind in kinds.items()}))
    for key, item in after.items:
        if isinstance(key, Const) and key in kinds and (problem := _difference(kinds[key], arrays, body, item)):
            return f"{problem} (entry {key.value!r})"
    return ""


def _fields(context: Context, body: Body, carry: Param, init: Bound, fields: list[str], after: Value) -> str:
    """Return how a field of a record differs from the one before: of a record made anew, or of a changed copy."""
    held = changed_fields(context, init, after, body.function.scope)
    if not held or not isinstance(init.value, Call):
        return ""
    kinds: dict[str, Array] = {}
    given: dict[Value, Array] = {}
    for place, name in enumerate(fields):
        first = init.value.argument(place, name)
        kinds[name] = Arrays(context, {}).of_bound(context.flow.follow(init, first)) if first is not None else UNKNOWN
        given[Attr(carry, name)] = given[Item(carry, Const(place))] = kinds[name]
    arrays = Arrays(context, _given(context, body, given))
    over = body.over if isinstance(body, _Helper) else frozenset()
    for name, value in held.items():
        if name in kinds and name not in over and (problem := _difference(kinds[name], arrays, body, value)):
            return f"{problem} (field `{name}`)"
    return ""


def _given(context: Context, body: Body, given: dict[Value, Array]) -> dict[Value, Array]:
    """Return what is known of the parameters: the carry, the counter, and the slice of a scan."""
    if isinstance(body, _Helper):
        return {**body.known, **given}
    free = body.free or []
    params = body.function.params
    if last(body.loop) == "fori_loop":
        return {**given, params[free[0]]: Array(INT, 0)}
    if last(body.loop) == "scan" and len(free) > 1:
        xs = body.event.value.argument(2, "xs")
        return {**given, **_slices(context, body, params[free[1]], xs)} if xs is not None else given
    return given


def _slices(context: Context, body: Body, param: Param, xs: Value) -> dict[Value, Array]:
    """Return what is known of the slice that a scan gives to its body, or of the parts of it."""
    whole = Arrays(context, {}).of(xs, body.event.scope)
    if whole.axes:
        return {param: Array(whole.number, whole.axes - 1)}
    made = context.flow.resolve(context.flow.here(xs, body.event.scope))
    parts: list[tuple[Value, Value]] = []
    if isinstance(made.value, Sequence) and _tuple(made.value):
        parts = [(Const(place), one) for place, one in enumerate(made.value.items)]
    elif isinstance(made.value, Mapping):
        parts = [(key, one) for key, one in made.value.items if isinstance(key, Const)]
    known = {key: Arrays(context, {}).of_bound(context.flow.follow(made, one)) for key, one in parts}
    return {Item(param, key): Array(one.number, one.axes - 1) for key, one in known.items() if one.axes}


def _difference(before: Array, arrays: Arrays, body: Body, value: Value) -> str:
    after = arrays.of(value, body.function.scope)
    if before.number is not None and after.number is not None and before.number != after.number and not before.weak:
        if not after.weak or after.number > before.number:
            return f"{_WORDS[before.number]} before, {_WORDS[after.number]} after"
    if before.axes is not None and after.axes is not None and before.axes != after.axes:
        return f"{before.axes} axes before, {after.axes} after"
    return ""


def _grows(context: Context, body: Body, carry: Value, value: Value) -> str:
    """Say so if a round makes the carry longer."""
    if not isinstance(value, Call):
        return ""
    name = context.flow.calls.callee_name(context.flow.here(value, body.function.scope))
    if name not in _GROWING or not value.args:
        return ""
    parts = value.args[0].items if isinstance(value.args[0], Sequence) else value.args
    return "it grows in every round" if len(parts) > 1 and carry in parts else ""


def _grows_complex(context: Context, body: Body, init: Bound, value: Value) -> str:
    """Say so if a carry of real numbers becomes complex, as a wave function by its first step."""
    module = body.function.scope.module
    if not any(one.source.matches(_COMPLEX) for one in (module, body.event.scope.module)):
        return ""
    if not is_complex(context, value, body.function.scope) or not RealValues(context).holds(init):
        return ""
    return "real numbers before, complex ones after"


def _keys(value: Mapping) -> set[object] | None:
    keys = [key.value if isinstance(key, Const) else None for key, _ in value.items]
    return None if None in keys else set(keys)


RULE = lint_rule(
    "NNX865",
    "carry-changes-type",
    "the carry of a loop has another type, shape or structure after a round, or is not returned",
    why="""\
The body of `scan`, `fori_loop` and `while_loop` is compiled once, so that the carry it returns has to look like the one
it gets: the same structure, shapes and types. A plain Python number gives way to floats, but `jnp.zeros(n, int)`,
a tuple of another length or an array that grows raise a TypeError. Weights in float32 make of a carry in bfloat16 one
in float32.
""",
    source="jax pull request 15178, instadeepai/Mava issue 1184; measured on Flax 0.10.7 and 0.12.8: TypeError",
    severity="error",
    check=_check,
    bad=(
        """\
import jax
import jax.numpy as jnp


def body(carry, x):
    return carry / 2, x


def run(xs):
    return jax.lax.scan(body, jnp.zeros(3, dtype=jnp.int32), xs)
""",
    ),
    clean=(
        """\
import jax
import jax.numpy as jnp


def body(carry, x):
    return carry / 2, x


def run(xs):
    return jax.lax.scan(body, jnp.zeros(3), xs)
""",
    ),
)

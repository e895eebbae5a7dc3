"""Mistakes of a function that a later cell of a notebook shows: a call there raises the error, or a comment says so."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right

from codemods.nnx.findings import Finding
from codemods.nnx.lint.on_purpose import is_comment
from codemods.nnx.lint.shown_errors import NOT_SHOWN, errors_of
from codemods.nnx.nodes import last_word
from codemods.nnx.patterns import pattern
from codemods.nnx.rule import Rule
from codemods.nnx.source import Source

# errors that say that a value was not known while a function was traced
_OF_TRACERS = pattern(r"Tracer\w*Error|Concretization\w*Error|NonConcrete\w*Error|UnexpectedTracerError")
_TRACED = frozenset({"NNX803", "NNX810", "NNX820", "NNX821", "NNX823"})  # what is wrong, or odd, in traced code alone
_TRANSFORMS = frozenset({"jit", "vmap", "pmap", "grad", "value_and_grad", "hessian", "shard_map", "checkpoint",
                         "jacfwd", "jacrev", "filter_jit"})  # fmt: skip
_GRADIENTS = frozenset({"grad", "value_and_grad", "jacrev", "jacfwd", "hessian"})
_OF_GRADIENTS = frozenset({"NNX872", "NNX884"})
_COMMENT = pattern(r"(?:^|(?<=\s))#+(?!\s*(?:%%|\+))\s?(.*)$")
_SAID = pattern(
    r"^\W*((a|an|the|this|it|still|will|does|would|also|here|1st|first|2nd|second|another) )*"
    r"((crash(es|ed)?|fails?|failed)\b(?!( the)?[- ](tests?|safe|fast|over)\b)|(errors?|exceptions?)\s*([!.(]|$))"
    r"|\b(will|should|this|it) (crash|fail|break)(s|es)?\b"
    r"|\bsilent (problem|bug|error|failure)",
)
# a comment that expects a gradient of zero
_OF_ZEROS = pattern(
    r"\b(should|will|must) (return|be|give|get) (a )?(0|zeros?)\b|\bzero gradients?\b|\b(non|not)[- ]differentiable\b"
    r"|\bgradients? (is|are|will be|should be) (0|zeros?)\b",
)
# a comment beside prints, or beside the call, that is about what tracing makes of them
_OF_TRACING = pattern(r"(?<!ray )(?<!ray-)(?<!path )\b(un)?trac(ed|ers?|ing)\b")


def shown_later(source: Source, finding: Finding, rule: Rule | None) -> bool:
    """Say whether a later cell of a notebook calls the function that a mistake is in, to show what comes of it.

    Args:
        source: the source of the finding.
        finding: the finding.
        rule: its rule, whose words say which errors the mistake raises.
    """
    if not source.cell_starts or rule is None or finding.code in NOT_SHOWN:
        return False
    raised = errors_of(rule)
    if finding.code in _OF_GRADIENTS:
        raised.add("TypeError")
    if not raised and finding.code not in _TRACED:
        return False
    if finding.code == "NNX803" and not source.data.startswith(b"print", finding.start):
        return False  # only what is printed shows how a function is traced
    function = _around(source, finding)
    if function is None:
        return False
    end = function.end_lineno or function.lineno
    cells = source.cell_starts
    own = bisect_right(cells, function.lineno)
    until = source.cell_end(own)
    lines = source.lines
    if finding.code == "NNX803" and _comment_in(lines, range(function.lineno, end + 1), _OF_TRACING):
        return True
    first = source.position(finding.start)[0]
    if _comment_in(lines, {*range(min(_decorated(function)), function.lineno + 1), first}, _SAID):
        return True
    errors = {bisect_right(cells, line): name.rpartition(".")[2] for line, name in source.failed}
    for place, loads in _calls(source, function, until).items():
        transforms = {*map(last_word, _made(function))} | loads.transforms
        wanted = _TRANSFORMS if finding.code in _TRACED else _GRADIENTS if finding.code in _OF_GRADIENTS else None
        if wanted is not None and not transforms & wanted:
            continue
        error = errors.get(place, "")
        if error in raised or (finding.code in _TRACED and (_OF_TRACERS.fullmatch(error) or error in _BY_TRACERS)):
            return True
        if _comment_in(lines, loads.lines, _SAID):
            return True
        if finding.code == "NNX884" and _comment_in(lines, loads.lines, _OF_ZEROS):
            return True
        if finding.code == "NNX803" and _comment_in(lines, loads.lines, _OF_TRACING):
            return True
    return False


_BY_TRACERS = frozenset({"TypeError", "IndexError"})  # of shapes and slices that are tracers


class _Loads:
    """Where a cell names a function, with what it transforms there."""

    def __init__(self) -> None:
        self.lines: set[int] = set()
        self.transforms: set[str] = set()


def _calls(source: Source, function: ast.FunctionDef, until: int) -> dict[int, _Loads]:
    """Return the cells behind a function, until it is defined again, that name it, or what was made of it."""
    again = [
        node.lineno for node in source.of_type(ast.FunctionDef) if node.name == function.name and node.lineno >= until
    ]
    stop = min(again, default=len(source.line_starts) + 1)
    names, made = {function.name}, dict[str, set[str]]()
    found: dict[int, _Loads] = {}
    statements = [n for n in source.of_type(ast.Expr, ast.Assign) if n.lineno < stop and not n.col_offset]
    for node in sorted(statements, key=lambda one: one.lineno):
        if node.lineno < function.lineno:
            continue
        words = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if not words & names:
            continue
        transforms = {last_word(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)} & _TRANSFORMS
        transforms = transforms.union(*(made.get(word, set()) for word in words & names))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and transforms:
            if isinstance(node.value, ast.Call) and not isinstance(node.value.func, ast.Call):
                names.add(node.targets[0].id)  # `fast = jax.jit(function)`
                made.setdefault(node.targets[0].id, set()).update(transforms)
        if node.lineno < until:
            continue
        loads = found.setdefault(bisect_right(source.cell_starts, node.lineno), _Loads())
        last = node.end_lineno or node.lineno
        loads.lines |= {*range(node.lineno, last + 1)}
        lines = source.lines
        loads.lines |= {n for n in (node.lineno - 1, last + 1) if 0 < n <= len(lines) and is_comment(lines[n - 1])}
        loads.transforms |= transforms
    return found


def _around(source: Source, finding: Finding) -> ast.FunctionDef | None:
    """Return the outermost function around a finding, if it stands at the top of a cell."""
    for node in source.of_type(ast.FunctionDef):
        start, end = source.span(node)
        if not node.col_offset and start <= finding.start < end:
            return node
    return None


def _decorated(function: ast.FunctionDef) -> list[int]:
    return [one.lineno for one in function.decorator_list] or [function.lineno]


def _made(function: ast.FunctionDef) -> list[ast.expr]:
    """Return the names in the decorators of a function."""
    return [n for one in function.decorator_list for n in ast.walk(one) if isinstance(n, ast.Name | ast.Attribute)]


def _comment_in(lines: list[str], numbers: range | set[int], said: re.Pattern[str]) -> bool:
    """Say whether a comment in some lines says something."""
    for number in numbers:
        found = _COMMENT.search(lines[number - 1].lower()) if number <= len(lines) else None
        if found and said.search(found[1]):
            return True
    return False

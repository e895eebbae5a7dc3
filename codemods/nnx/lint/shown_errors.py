"""Errors that a notebook shows: one that is stored in a cell's output, or that the next cell mends."""

from __future__ import annotations

import ast
from bisect import bisect_right

from codemods.nnx.findings import Finding
from codemods.nnx.patterns import pattern
from codemods.nnx.rule import Rule
from codemods.nnx.source import Source

_ERROR = pattern(r"\b\w+Error\b")
#: What tells of names that are gone, for which the next cells are as wrong.
NOT_SHOWN = frozenset({"NNX881"})


def error_shown(source: Source, finding: Finding, rule: Rule | None) -> bool:
    """Say whether a notebook shows the error that a mistake leads to, so that its author has seen it.

    Args:
        source: the source of the finding.
        finding: the finding.
        rule: its rule, whose words say which errors the mistake raises.
    """
    if not source.cell_starts or rule is None or finding.code in NOT_SHOWN:
        return False
    raised = errors_of(rule)
    if not raised:
        return False
    first = source.position(finding.start)[0]
    place = bisect_right(source.cell_starts, first)
    begin = source.cell_starts[place - 1] if place else 1
    if any(line == begin and name.rpartition(".")[2] in raised for line, name in source.failed):
        return True
    if place >= len(source.cell_starts):
        return False
    end = source.cell_starts[place]
    own, following = range(begin, end), range(end, source.cell_end(place + 1))
    return _mended(source, finding, own, following) or _set_otherwise(source, finding, own, following)


_OTHER = frozenset({"KeyboardInterrupt", "NameError", "ModuleNotFoundError", "ImportError", "FileNotFoundError"})
_TRANSFORM = pattern(rb"\b(jit|vmap|pmap|grad|value_and_grad|scan|while_loop|fori_loop|cond|shard_map)\b")


def only_tried(source: Source, finding: Finding) -> bool:
    """Say whether a cell that transforms the function of a finding ends in an error: it tried whether that works.

    Args:
        source: the source of the finding.
        finding: a finding of what raises in traced code.
    """
    failed = [line for line, name in source.failed if name not in _OTHER]
    if not failed:
        return False
    names = set()
    for node in source.of_type(ast.FunctionDef):
        start, end = source.span(node)
        if start <= finding.start < end:
            names.add(node.name.encode())
    for line in failed:
        end = source.cell_end(bisect_right(source.cell_starts, line))
        text = source.data[
            source.line_starts[line - 1] : source.line_starts[end - 1] if end <= len(source.line_starts) else None
        ]
        if _TRANSFORM.search(text) and names & {*_WORD.findall(text)}:
            return True
    return False


_WORD = pattern(rb"\w+")


def errors_of(rule: Rule) -> set[str]:
    """Return the errors that the words of a rule name."""
    return set(_ERROR.findall(f"{rule.why} {rule.source}"))


def _mended(source: Source, finding: Finding, own: range, following: range) -> bool:
    """Say whether the next cell makes the call of a mistake again, with more keywords, as ``grad(f, has_aux=True)``."""
    wrong: list[ast.Call] = []
    later: list[ast.Call] = []
    for call in source.of_type(ast.Call):
        if call.lineno in own:
            start, end = source.span(call)
            if (start <= finding.start and finding.end <= end) or (finding.start <= start and end <= finding.end):
                wrong.append(call)
        elif call.lineno in following and call.args and call.keywords:
            later.append(call)
    return any(
        ast.dump(one.func) == ast.dump(other.func)
        and [*map(ast.dump, one.args)] == [*map(ast.dump, other.args)]
        and {k.arg for k in one.keywords} < {k.arg for k in other.keywords}
        for one in wrong
        for other in later
    )


def _set_otherwise(source: Source, finding: Finding, own: range, following: range) -> bool:
    """Say whether the next cell updates an array with ``x.at[index]`` that the cell assigned to an item of, or gives a
    function an array made of the list that it gave itself."""
    statements: list[ast.Assign | ast.AugAssign] = [*source.of_type(ast.Assign), *source.of_type(ast.AugAssign)]
    for node in statements:
        if node.lineno not in own or not _within(source, node, finding):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        set_there = {ast.dump(one.value) for one in targets if isinstance(one, ast.Subscript)}
        if any(
            one.attr == "at" and one.lineno in following and ast.dump(one.value) in set_there
            for one in source.of_type(ast.Attribute)
        ):
            return True
    for call in source.of_type(ast.Call):
        if call.lineno in own and call.args and isinstance(call.args[0], ast.List) and _within(source, call, finding):
            given = ast.dump(call.args[0])
            if any(_of_array(one, call, given) for one in source.of_type(ast.Call) if one.lineno in following):
                return True
    return False


def _within(source: Source, node: ast.AST, finding: Finding) -> bool:
    start, end = source.span(node)
    return start <= finding.start and finding.end <= end


def _of_array(call: ast.Call, other: ast.Call, given: str) -> bool:
    """Say whether a call is another one with an array made of its list."""
    made = call.args[0] if call.args and ast.dump(call.func) == ast.dump(other.func) else None
    return isinstance(made, ast.Call) and bool(made.args) and ast.dump(made.args[0]) == given

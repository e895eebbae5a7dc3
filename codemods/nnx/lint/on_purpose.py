"""Mistakes that the cell of a notebook, or a paragraph of a tutorial, shows on purpose, as comments or names say."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right

from codemods.nnx.findings import Finding
from codemods.nnx.patterns import pattern
from codemods.nnx.source import Source

_SAID = pattern(
    r"\b(fails?|failures?|failing|oops|unexpected(ly)?|undefined behaviou?r|non-desirable|undesirable|immutable"
    r"|wrong|incorrect|mistakes?|not (allowed|tolerated)|bad (idea|practice|example|way)|out[- ]of[- ]bounds?"
    r"|(do|does|did|will|would|wo|should)(n'?t| not) (work|do|be done)"
    r"|(raise|throw|cause|give|produce|get|lead to|result in)(s|ed|d|ing)? (an? )?([\w-]+ ){0,2}(error|exception)s?"
    r"|(gives?|gets?|leads? to|results? in) the same (result|value|number)s?"
    r"|same (inputs?|arguments?|keys?|seeds?)\b.*\bsame (results?|outputs?|values?|numbers?))\b",
    re.IGNORECASE,
)
# what begins a comment and judges what follows
_JUDGED = pattern(
    r"\s*(bad|wrong|incorrect|error|don'?t|never do)(\s+(do|use|try|write)\s+(this|that|it)\b|\s*([:!.]|$))"
    r"|\s*(?-i:([\w.]+\.)?[A-Z]\w*Error\s*(:|$))",  # the message of an error
    re.IGNORECASE,
)
_TOY = pattern(
    r"(f|g|h|fn|fun|func|foo|bar|baz|func\w?\d|f\d|\w*impure\w*|\w*side_effect\w*|bad_\w+|wrong_\w+|broken_\w+|toy_\w+"
    r"|(not|non)_?diff\w*|(\w+_)?(bad|wrong|broken)_?(examples?|versions?|ways?|ideas?)|\w+_(bad|wrong|broken))"
)
# notebooks that are about mistakes
_ABOUT = pattern(r"sharp[ _-]?(bits?|edges?)|gotchas?|pitfalls?|common[ _-](mistakes|errors)", re.IGNORECASE)
# what comments say of code with effects, of random numbers, of gradients and of the precision
_SAID_OF = {
    "NNX80": pattern(r"(?<!no )(?<!without )\b(impur(e|ity)|side[- ]effects?|iterators are)\b", re.IGNORECASE),
    "NNX773": (_ALIKE := pattern(r"\b(un)?correlated\b|\bsame again\b", re.IGNORECASE)),
    "NNX83": _ALIKE,
    "NNX781": pattern(r"\b(by default|single[- ]precision)\b", re.IGNORECASE),
    "NNX917": pattern(r"\b(by default|(single|double)[- ]precision|(float|int)(32|64)|x64)\b", re.IGNORECASE),
    "NNX884": pattern(r"\b(non|not)[- ]differentiable\b|\bzero gradients?\b", re.IGNORECASE),
}
# scripts that teach: in their names, and nowhere else
_TEACHING = pattern(
    r"tutorial|lesson|gotchas?|pitfalls?|sharp[ _-]?(bits?|edges?)|zero2hero|crash[ _-]?course|cheat[ _-]?sheet",
    re.IGNORECASE,
)
# what tells of values that come without an error: out of bounds, of too few bits, of NaN, of an index twice
_OF_VALUES = frozenset({"NNX744", "NNX750", "NNX754", "NNX847", "NNX966", "NNX978", "NNX993"})
# what a cell shows that does nothing but to print, also of a lambda that has an effect
_PRINTED = frozenset({"NNX806", "NNX847"})
_PURE = pattern(r"(im)?pure[ _-]?functions?|side[ _-]?effects?", re.IGNORECASE)
_DEFINED = pattern(r"(\s*)(?:async )?def (\w+)")
_COUNTER = pattern(r"class Counter\b")
_RANDOM = ("NNX773", "NNX83")
_COMMENT = pattern(r"^\s*#(?!\s*(%%|\+))|(?<=\s)#\s")


def on_purpose(source: Source, finding: Finding) -> bool:
    """Say whether a notebook or a tutorial shows a mistake and says so: beside it, right above it, or where its cell
    begins.

    Which values come of a statement that has nothing but numbers in it is shown in any file.

    Args:
        source: the source of the finding.
        finding: the finding, about a mistake.
    """
    if finding.code in _OF_VALUES and any(a <= finding.start < b for a, b in source.once(_displays)):
        return True
    name = source.file_name
    if not source.cell_starts and not _TEACHING.search(name):
        return False
    if source.cell_starts and (_ABOUT.search(name) or (finding.code.startswith("NNX80") and _PURE.search(name))):
        return True
    if finding.code in _PRINTED and any(start <= finding.start < end for start, end in source.once(_outputs)):
        return True
    lines = source.lines
    first = source.position(finding.start)[0]
    last = source.position(max(finding.start, finding.end - 1))[0]
    begin = _paragraph(source, first)
    if source.cell_starts:
        place = bisect_right(source.cell_starts, first)
        begin = source.cell_starts[place - 1] if place else 1
    if finding.code == "NNX840" and source.cell_starts and _tried_alone(source, first, begin):
        return True
    if finding.code == "NNX804" and any(_COUNTER.match(line) for line in lines[begin - 1 : first]):
        return True  # the counter that shows what a side effect is
    if not finding.code.startswith(_RANDOM) and _TOY.fullmatch(_function(lines[begin - 1 : first])):
        return True  # of a tutorial
    beside = list(range(first, last + 1))
    above = first - 1
    while above >= begin and is_comment(lines[above - 1]):
        beside.append(above)
        above -= 1
    head = begin
    while head < first and (is_comment(lines[head - 1]) or not lines[head - 1].strip()):
        beside.append(head)
        head += 1
    beside += _above_function(source, first, begin)
    comments = [_comment(lines[number - 1]) for number in set(beside) if number <= len(lines)]
    special = next((said for code, said in _SAID_OF.items() if finding.code.startswith(code)), _SAID)
    return any(_SAID.search(one) or special.search(one) or _JUDGED.match(one) for one in comments)


def _tried_alone(source: Source, line: int, begin: int) -> bool:
    """Say whether the cell of a line has nothing but the assignment of a number to a place that a number says, as
    ``a[0] = 1``: what has to fail there is shown, and the cells behind go on."""
    end = source.cell_end(bisect_right(source.cell_starts, line))
    cell = [statement for statement in source.tree.body if begin <= statement.lineno < end]
    only = cell[0] if len(cell) == 1 else None
    target = only.targets[0] if isinstance(only, ast.Assign) and len(only.targets) == 1 else None
    if not isinstance(only, ast.Assign) or not isinstance(target, ast.Subscript):
        return False
    places = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    return isinstance(target.value, ast.Name) and all(isinstance(one, ast.Constant) for one in (*places, only.value))


def _paragraph(source: Source, line: int) -> int:
    """Return where the lines without a blank one between them begin that end in the statement of a line."""
    starts = [statement.lineno for statement in source.tree.body if statement.lineno <= line]
    begin = max(starts, default=line)
    while begin > 1 and source.lines[begin - 2].strip():
        begin -= 1
    return begin


def _above_function(source: Source, line: int, begin: int) -> list[int]:
    """Return the lines of the comments right above the outermost function that a line stands in."""
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0):
            above = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
            found = []
            while above >= begin and is_comment(source.lines[above - 1]):
                found.append(above)
                above -= 1
            return found
    return []


def _displays(source: Source) -> list[tuple[int, int]]:
    """Return where statements print, or show, what they make of numbers alone by functions of NumPy and JAX."""
    imports: list[ast.Import | ast.ImportFrom] = [*source.of_type(ast.Import), *source.of_type(ast.ImportFrom)]
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in imports
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] in {"jax", "numpy", "math"}
    } | {"print", "len", "float", "int", "range", "repr", "str"}
    return [
        source.span(statement)
        for statement in source.tree.body
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)
        if _printed(statement, source)
        if all(n.id in imported for n in ast.walk(statement) if isinstance(n, ast.Name))
        if not any(isinstance(n, ast.Lambda | ast.NamedExpr | ast.Await) for n in ast.walk(statement))
    ]


def _outputs(source: Source) -> list[tuple[int, int]]:
    """Return where statements outside functions and loops only print or show something."""
    return [
        source.span(statement)
        for statement in source.tree.body
        if isinstance(statement, ast.Expr) and _printed(statement, source)
    ]


def _printed(statement: ast.Expr, source: Source) -> bool:
    """Say whether a statement prints, or is what the cell of a notebook shows at its end."""
    value = statement.value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in {"print", "display"}:
        return True
    if not source.cell_starts:
        return False
    end = source.cell_end(bisect_right(source.cell_starts, statement.lineno))
    following = (one.lineno for one in source.tree.body if statement.lineno < one.lineno < end)
    return next(following, None) is None


def _function(lines: list[str]) -> str:
    """Return the outermost function around the last of some lines of a cell; empty if there is none."""
    depth = len(lines[-1]) - len(lines[-1].lstrip()) if lines else 0
    name = ""
    for line in reversed(lines):
        found = _DEFINED.match(line)
        if found and (len(found[1]) < depth or line is lines[-1]):
            name, depth = found[2], len(found[1])
        elif line.strip() and not line[0].isspace() and line is not lines[-1] and not line.startswith((")", "@", "#")):
            break
    return name


def is_comment(line: str) -> bool:
    """Say whether a line holds a comment and nothing else."""
    return line.lstrip().startswith("#")


def _comment(line: str) -> str:
    """Return the comment of a line, empty if it has none."""
    found = _COMMENT.search(line)
    return line[found.end() :] if found else ""

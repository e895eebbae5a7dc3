"""Changes of one expression with LibCST, returned as the smallest edit of its source.

LibCST is imported when the first expression changes, never before, and not at all inside of :func:`drafts`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from codemods.nnx.edits import Edit, minimal
from codemods.nnx.source import Source

if TYPE_CHECKING:
    import libcst as cst


_drafting: ContextVar[bool] = ContextVar("drafting", default=False)


@contextmanager
def drafts() -> Iterator[None]:
    """Do without LibCST inside: changes of calls that are not simple become drafts, which cannot be made."""
    token = _drafting.set(True)
    try:
        yield
    finally:
        _drafting.reset(token)


class RewriteError(ValueError):
    """An expression cannot be changed as asked for, for example because its arguments are unpacked."""


def _changed(source: Source, node: ast.Call, change: Callable[[cst.Call], cst.Call]) -> Edit:
    """Parse a call with LibCST, change it and return the difference."""
    start, end = source.span(node)
    if _drafting.get():
        return Edit(end - 1, end - 1, b"", joins=True, draft=True)
    import libcst as cst

    old = source.data[start:end]
    text = old.decode("utf-8")
    # in parentheses an expression may go on over line ends, as it may in its statement
    try:
        parsed = cst.parse_expression(f"({text})")
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise RewriteError(f"LibCST cannot parse the call: {error.__class__.__name__}") from error
    if not isinstance(parsed, cst.Call):
        raise RewriteError("the call could not be found in its own text")
    module = cst.Module([], default_newline=_newline(old))
    before = module.code_for_node(parsed)
    if before != f"({text})":
        raise RewriteError("LibCST does not reproduce the call byte for byte")
    after = module.code_for_node(change(parsed))
    return minimal(start, old, after[1:-1].encode("utf-8"))


def _newline(data: bytes) -> str:
    return "\r\n" if b"\r\n" in data else "\r" if b"\r" in data and b"\n" not in data else "\n"


def add_keyword(source: Source, node: ast.Call, name: str, value: str) -> Edit:
    """Add ``name=value`` behind the last argument, in the call's own layout.

    Raises:
        RewriteError: if the call cannot be parsed.
    """

    if _drafting.get() and _simple(source, node):
        _, end = source.span(node)
        comma = ", " if node.args or node.keywords else ""
        return Edit(end - 1, end - 1, f"{comma}{name}={value}".encode())

    def change(call: cst.Call) -> cst.Call:
        import libcst as cst

        argument = cst.Arg(
            value=cst.parse_expression(value),
            keyword=cst.Name(name),
            equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
        )
        return _with_last(call, argument)

    return _changed(source, node, change)


def _simple(source: Source, node: ast.Call) -> bool:
    """Say whether a call stands in one line, with its parentheses next to the function and to the arguments."""
    start, end = source.span(node)
    _, opening = source.span(node.func)
    text, arguments = source.data[start:end], source.data[opening:end]
    inner = arguments[1:-1]
    return b"\n" not in text and b"\r" not in text and arguments[:1] == b"(" and inner == inner.strip(b" \t,#")


def _with_last(call: cst.Call, argument: cst.Arg) -> cst.Call:
    """Append an argument: on a line of its own if the last one has one, with a trailing comma if it has one."""
    import libcst as cst

    args = list(call.args)
    if not args:
        return call.with_changes(args=[argument])
    last = args[-1]
    trailing = isinstance(last.comma, cst.Comma)
    before: cst.BaseParenthesizableWhitespace
    after: cst.BaseParenthesizableWhitespace
    # white space between the last argument (or its comma) and the parenthesis
    closing = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else last.whitespace_after_arg
    if len(args) > 1:
        comma = args[-2].comma
        separator = comma.whitespace_after if isinstance(comma, cst.Comma) else cst.SimpleWhitespace(" ")
    else:
        separator = call.whitespace_before_args
    if isinstance(closing, cst.ParenthesizedWhitespace):
        indent = separator.last_line if isinstance(separator, cst.ParenthesizedWhitespace) else closing.last_line
        before = closing.with_changes(last_line=indent)
        after = cst.ParenthesizedWhitespace(
            first_line=cst.TrailingWhitespace(newline=closing.first_line.newline),
            indent=closing.indent,
            last_line=closing.last_line,
        )
        one_line = not isinstance(separator, cst.ParenthesizedWhitespace)
        if one_line and closing.first_line.comment is None:  # `f(a, b,\n)`
            before, after = cst.SimpleWhitespace(" "), closing
    else:
        if isinstance(separator, cst.ParenthesizedWhitespace) and len(args) > 1:
            before = separator.with_changes(
                first_line=cst.TrailingWhitespace(newline=separator.first_line.newline), empty_lines=[]
            )
        else:
            before = cst.SimpleWhitespace(" ")
        after = closing
    args[-1] = last.with_changes(
        comma=(last.comma if isinstance(last.comma, cst.Comma) else cst.Comma()).with_changes(whitespace_after=before),
        whitespace_after_arg=last.whitespace_after_arg if trailing else cst.SimpleWhitespace(""),
    )
    if trailing:
        argument = argument.with_changes(comma=cst.Comma(whitespace_after=after))
    else:
        argument = argument.with_changes(whitespace_after_arg=after)
    return call.with_changes(args=[*args, argument])


def insert_first(source: Source, node: ast.Call, values: list[str], drop: str | None = None) -> Edit:
    """Put positional arguments before all others, in the call's own layout.

    Args:
        source: the text of the call.
        node: the call.
        values: the expressions that are put first.
        drop: the name of a keyword argument that moves to the position behind ``values``.

    Raises:
        RewriteError: if the call cannot be parsed.
    """

    if _drafting.get() and drop is None and _simple(source, node):
        _, opening = source.span(node.func)
        comma = ", " if node.args or node.keywords else ""
        return Edit(opening + 1, opening + 1, f"{', '.join(values)}{comma}".encode())

    def change(call: cst.Call) -> cst.Call:
        import libcst as cst

        args = list(call.args)
        if drop is not None:
            index = next(i for i, a in enumerate(args) if a.keyword is not None and a.keyword.value == drop)
            moved = args[index].with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)
            if index == 0:
                args[0] = moved
            else:
                first, target = args[0], args[index]
                args[index] = first.with_changes(comma=target.comma, whitespace_after_arg=target.whitespace_after_arg)
                args[0] = moved.with_changes(comma=first.comma, whitespace_after_arg=first.whitespace_after_arg)
                # the others keep their order: rotate what stood between
                args[1 : index + 1] = _rotated(args[1 : index + 1])
        if args:
            own_line = isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace)
            separator = (
                cst.ParenthesizedWhitespace(
                    first_line=cst.TrailingWhitespace(newline=call.whitespace_before_args.first_line.newline),
                    indent=call.whitespace_before_args.indent,
                    last_line=call.whitespace_before_args.last_line,
                )
                if isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace) and own_line
                else cst.SimpleWhitespace(" ")
            )
            new = [cst.Arg(cst.parse_expression(v), comma=cst.Comma(whitespace_after=separator)) for v in values]
        else:
            new = [cst.Arg(cst.parse_expression(v)) for v in values]
        return call.with_changes(args=[*new, *args])

    return _changed(source, node, change)


def _rotated(args: list[cst.Arg]) -> list[cst.Arg]:
    """Move the last argument to the front; separators stay where they are."""
    if len(args) < 2:
        return args
    moved = [args[-1], *args[:-1]]
    return [
        new.with_changes(comma=old.comma, whitespace_after_arg=old.whitespace_after_arg)
        for new, old in zip(moved, args, strict=True)
    ]


def keyword_to_front(source: Source, node: ast.Call, name: str) -> Edit:
    """Make the keyword argument ``name`` the first positional one.

    Raises:
        RewriteError: if the call cannot be parsed.
    """
    return insert_first(source, node, [], drop=name)


def positional_to_keyword(source: Source, node: ast.Call, index: int, name: str) -> Edit:
    """Write ``name=`` before a positional argument."""
    start, _ = _argument_span(source, node.args[index])
    return Edit(start, start, f"{name}=".encode())


def _argument_span(source: Source, node: ast.expr) -> tuple[int, int]:
    """Return the range of an argument with the parentheses around it."""
    start, end = source.span(node)
    data = source.data
    while True:
        left = start
        while data[left - 1 : left].isspace():
            left -= 1
        right = end
        while data[right : right + 1].isspace():
            right += 1
        # an opening parenthesis that follows a name, a bracket or a comma-less argument list belongs to the call
        if (
            data[left - 1 : left] == b"("
            and data[right : right + 1] == b")"
            and data[left - 2 : left - 1] in b" \t\n\r(,="
        ):
            start, end = left - 1, right + 1
        else:
            return start, end


def replace(source: Source, node: ast.AST, text: str) -> Edit:
    """Replace a whole node."""
    start, end = source.span(node)
    return Edit(start, end, text.encode("utf-8"))


def below(source: Source, statement: ast.stmt, text: str) -> Edit | None:
    """Add a line behind a statement, as far in; None for a statement that shares its lines with others."""
    _, end = source.span(statement)
    start = source.line_starts[statement.lineno - 1]
    indent = source.data[start : source.offset(statement.lineno, statement.col_offset)]
    stop = next((i for i in range(end, len(source.data)) if source.data[i : i + 1] in (b"\n", b"\r")), len(source.data))
    rest = source.data[end:stop].strip()
    if indent.strip() or (rest and not rest.startswith(b"#")):
        return None
    return Edit(stop, stop, source.newline + indent + text.encode("utf-8"))


def remove_keyword(source: Source, node: ast.Call, *names: str) -> Edit:
    """Take keyword arguments away with their separators.

    Raises:
        RewriteError: if the call cannot be parsed.
    """

    def change(call: cst.Call) -> cst.Call:
        kept = [a for a in call.args if a.keyword is None or a.keyword.value not in names]
        last = call.args[-1]
        if kept and kept[-1] is not last:
            kept[-1] = _ending_as(kept[-1], last)
        return call.with_changes(args=kept)

    return _changed(source, node, change)


def _ending_as(argument: cst.Arg, last: cst.Arg) -> cst.Arg:
    """Let an argument end the list as the last one did, but keep the comment behind it."""
    import libcst as cst

    comma = argument.comma
    space = comma.whitespace_after if isinstance(comma, cst.Comma) else None
    commented = isinstance(space, cst.ParenthesizedWhitespace) and space.first_line.comment is not None
    if not (commented and isinstance(comma, cst.Comma) and isinstance(space, cst.ParenthesizedWhitespace)):
        return argument.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    closing = last.comma.whitespace_after if isinstance(last.comma, cst.Comma) else last.whitespace_after_arg
    if isinstance(closing, cst.ParenthesizedWhitespace):
        space = space.with_changes(indent=closing.indent, last_line=closing.last_line)
    return argument.with_changes(comma=comma.with_changes(whitespace_after=space))

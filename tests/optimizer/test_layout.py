"""The user's layout of a call survives every change of it."""

from __future__ import annotations

import ast

import pytest

from codemods.nnx.edits import spliced
from codemods.nnx.rewrite import add_keyword, insert_first, keyword_to_front, positional_to_keyword
from codemods.nnx.source import Source


def _call(text: str) -> tuple[Source, ast.Call]:
    source = Source("x.py", text.encode())
    return source, next(node for node in ast.walk(source.tree) if isinstance(node, ast.Call))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a, b)", "f(a, b, k=v)"),
        ("f(a, b,)", "f(a, b, k=v,)"),
        ("f( a, b )", "f( a, b, k=v )"),
        ("f()", "f(k=v)"),
        ("f(a)", "f(a, k=v)"),
        ("f(\n    a,\n    b,\n)", "f(\n    a,\n    b,\n    k=v,\n)"),
        ("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    k=v\n)"),
        ("f(\n    a,  # one\n    b,  # two\n)", "f(\n    a,  # one\n    b,  # two\n    k=v,\n)"),
        ("f(\n    a,\n    b  # two\n)", "f(\n    a,\n    b,  # two\n    k=v\n)"),
        (
            "f(\n    # first\n    a,\n    # second\n    b,\n)",
            "f(\n    # first\n    a,\n    # second\n    b,\n    k=v,\n)",
        ),
        ("f(\n    a, b,\n)", "f(\n    a, b, k=v,\n)"),
        ("f(a,\n  b)", "f(a,\n  b,\n  k=v)"),
        ("f(a,\r\n  b)", "f(a,\r\n  b,\r\n  k=v)"),
        ("f(a, \\\n  b)", "f(a, \\\n  b, k=v)"),
        ("f(a, *b)", "f(a, *b, k=v)"),
        ("x = (f(a)\n     .g)", "x = (f(a, k=v)\n     .g)"),
    ],
)
def test_add_keyword(before: str, after: str) -> None:
    source, call = _call(before)
    assert spliced(source.data, [add_keyword(source, call, "k", "v")]).decode() == after
    ast.parse(after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("o.update(g)", "o.update(m, g)"),
        ("o.update( g )", "o.update( m, g )"),
        ("o.update(g, value=v)", "o.update(m, g, value=v)"),
        ("o.update(\n    g,\n    value=v,\n)", "o.update(\n    m,\n    g,\n    value=v,\n)"),
        ("o.update(\n    # scaled\n    g,\n)", "o.update(\n    # scaled\n    m,\n    g,\n)"),
        ("o . update (g)", "o . update (m, g)"),
        ("o.update((yield g))", "o.update(m, (yield g))"),
    ],
)
def test_insert_first(before: str, after: str) -> None:
    source, call = _call(f"def f():\n  {before}" if "yield" in before else before)
    new = spliced(source.data, [insert_first(source, call, ["m"])]).decode()
    assert new.removeprefix("def f():\n  ") == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("o.update(grads=g)", "o.update(m, g)"),
        ("o.update(grads = g)", "o.update(m, g)"),
        ("o.update(value=v, grads=g)", "o.update(m, g, value=v)"),
        ("o.update(a=1, b=2, grads=g, c=3)", "o.update(m, g, a=1, b=2, c=3)"),
        ("o.update(\n    value=v,\n    grads=g,\n)", "o.update(\n    m,\n    g,\n    value=v,\n)"),
    ],
)
def test_gradients_by_name_come_first(before: str, after: str) -> None:
    source, call = _call(before)
    assert spliced(source.data, [insert_first(source, call, ["m"], drop="grads")]).decode() == after
    without_model = spliced(source.data, [keyword_to_front(source, call, "grads")]).decode()
    assert ast.unparse(ast.parse(without_model)) == ast.unparse(ast.parse(after)).replace("m, ", "", 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f(a, b, c)", "f(a, b, k=c)"),
        ("f(a, b, (c))", "f(a, b, k=(c))"),
        ("f(a, b, ( c ) )", "f(a, b, k=( c ) )"),
        ("f(a, b, c(d))", "f(a, b, k=c(d))"),
        ("f(\n    a,\n    b,\n    c,\n)", "f(\n    a,\n    b,\n    k=c,\n)"),
    ],
)
def test_positional_to_keyword(before: str, after: str) -> None:
    source, call = _call(before)
    assert spliced(source.data, [positional_to_keyword(source, call, 2, "k")]).decode() == after

"""Templates find a formula however it is written, and no other one."""

from __future__ import annotations

import ast

import pytest

from codemods.nnx.lint.templates import match

_KNOWN = {"half": "h / 2", "s6": "(sigma / r) ** 6", "mean": "jnp.mean(x)", "scaled": "2 * y", "loop": "loop + 1"}


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _resolve(node: ast.expr) -> ast.expr:
    return _expression(_KNOWN[node.id]) if isinstance(node, ast.Name) and node.id in _KNOWN else node


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("0.5*M*V**2", "m * v**2 / 2"),
        ("0.5*M*V**2", "0.5 * (v * v) * m"),
        ("0.5*M*V**2", "jnp.square(v) * m / 2.0"),
        ("X + V*T", "dt * v + x"),
        ("X - V*T", "-dt * v + x"),
        ("-X", "-(x)"),
        ("(X - mean(X))/std(X)", "(x - x.mean(axis=0)) / (jnp.std(x, axis=0) + 1e-6)"),
        ("(X - mean(X))/std(X)", "(x - mean) / x.std()"),
        ("4*E*(S**6 - S**12)", "4 * eps * (s6 - (sigma / r) ** 12)"),
        ("sqrt(X)*Y", "x ** 0.5 * y"),
        ("X/sqrt(Y)", "x * jax.lax.rsqrt(y)"),
        ("X + 2*Y", "x + scaled"),
        ("F(X)/grad(F)(X)", "f(x) / jax.grad(f)(x)"),
        ("K @ (Z - H @ X)", "gain @ (z - H @ x)"),
        ("P**G*log(P)", "p**gamma * jnp.log(p)"),
        ("U[2:] - U[:-2]", "u[2:] - u[:-2]"),
        ("exp(-X)", "jnp.exp(-x)"),
        ("1/(2*pi)", "1 / (2 * jnp.pi)"),
        ("log(1 + X)", "jnp.log(x + 1)"),
        ("0.9*X + 0.1*Y", "0.9 * x + (1 - 0.9) * y"),
    ],
)
def test_alike(template: str, text: str) -> None:
    """Order, numbers, powers, methods and names make no difference."""
    assert match(template, _expression(text), _resolve) is not None


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("0.5*M*V**2", "m * v**2"),
        ("0.5*M*V**2", "0.5 * m * v"),
        ("X + V*T", "x - v * dt"),
        ("X + V*T", "x + v * dt + y"),
        ("(X - mean(X))/std(X)", "(x - y.mean()) / x.std()"),
        ("(X - mean(X))/std(X)", "(x - x.mean()) / x.var()"),
        ("exp(X)", "jnp.exp2(x)"),
        ("exp(X)", "jp.exp()"),
        ("U[2:] - U[:-2]", "u[1:] - u[:-1]"),
        ("K @ (Z - H @ X)", "gain @ (z + H @ x)"),
        ("P**G*log(P)", "(1 - p) ** gamma * jnp.log(p)"),
        ("X/sqrt(Y)", "x / y"),
        ("X + 2*Y", "x + loop"),
        ("pi*X", "jnp.e * x"),
        ("grad(F)(X)", "f(x)"),
        ("X**2", "x ** n"),
    ],
)
def test_unlike(template: str, text: str) -> None:
    """Another number, sign, operand or function is another formula."""
    assert match(template, _expression(text), _resolve) is None


def test_what_capitals_stand_for() -> None:
    """Each stands for one expression, the same in all places."""
    found = match("A*(B - A)", _expression("(y[0] - f(x)) * f(x)"), _resolve)
    assert found is not None
    assert {name: text for name, (text, _) in found.items()} == {"A": "f(x)", "B": "y[0]"}

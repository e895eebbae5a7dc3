"""The table of what JAX, Optax, Flax and Orbax have and take agrees with the libraries."""

from __future__ import annotations

import ast

import pytest

from codemods.nnx.lint.public_names import gone, meant, misfit, names, taken
from tests.environments import PINS, python
from tests.public_names import Listed, line, listed, table


@pytest.fixture(scope="module", params=list(PINS))
def there(request: pytest.FixtureRequest) -> Listed:
    """What one release has."""
    return listed(python(request.param))


def test_no_public_name_is_unknown(there: Listed) -> None:
    """What a release has stands in the table."""
    assert sum(map(len, there.values())) > 2000
    assert {home: unknown for home, found in there.items() if (unknown := found.keys() - names(home))} == {}


def test_no_argument_is_unknown(there: Listed) -> None:
    """What a function of a release takes, it may be given."""
    wrong = []
    for home, found in there.items():
        for name, parameters in found.items() if home != "numpy" else ():
            known = taken(home, name)
            if known is None or parameters is None:
                continue
            places = [p for p in parameters if p[1].startswith("POSITIONAL")]
            named = {p[0] for p in parameters if p[1] in {"POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY"}}
            needed = {p[0] for p in parameters if p[2]}
            lacking = {known.places[one] if isinstance(one, int) else one for one in known.needed} - {"", *needed}
            if (known.most is not None and len(places) > known.most) or named - known.named or lacking:
                wrong.append(f"{home}.{name}")
    assert wrong == []


def test_lines() -> None:
    """A line allows what any release takes, and needs what all of them need."""
    either, only = "POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY"
    old = [("x", "POSITIONAL_ONLY", True), ("axis", either, True), ("out", only, True)]
    new = [("x", "POSITIONAL_ONLY", True), ("axis", either, False), ("dtype", either, False), ("out", only, True)]
    assert line("f", [old, new]) == "f 3 !/ axis dtype :!out"
    assert line("f", [old, None]) == "f"
    assert line("f", [[("a", "VAR_POSITIONAL", False), ("k", "VAR_KEYWORD", False)]]) == "f"
    assert line("f", [[("a", "VAR_POSITIONAL", False), ("k", only, False)]]) == "f * :k"
    releases: dict[str, Listed] = {"0.1.0": {"jax": {"f": old}, "numpy": {"g": old}}, "0.2.0": {"jax": {"h": None}}}
    assert table(releases) == "@ jax\nf -0.2.0 2 !/ !axis :!out\nh\n@ numpy\ng\n"


def test_names_that_are_gone() -> None:
    """What is said to be gone is not in the newest release."""
    assert gone("jax.numpy", "trapz") == "0.4.26"
    assert gone("jax.numpy", "sum") == gone("jax.numpy", "tahn") == ""
    newest = listed(python([*PINS][-1]))
    assert [(home, name) for home, found in newest.items() for name in found if gone(home, name)] == []


@pytest.mark.parametrize(
    ("home", "call", "said"),
    [
        ("jax.numpy", "sum(x, dim=0)", "has no argument `dim`"),
        ("jax.numpy", "transpose(x, 1, 0)", "takes 2 at most by position, and gets 3"),
        ("jax.numpy", "mean(x, 0, axis=1)", "gets `axis` twice"),
        ("jax.numpy", "where(x > 0, x)", "takes a condition alone"),
        ("optax", "apply_updates(x)", "needs `updates`"),
        ("jax", "effects_barrier(1)", "takes none by position"),
        ("jax.numpy", "where(x > 0, x, 0)", ""),
        ("jax.numpy", "where(x > 0, x=x, y=0)", ""),
        ("jax.numpy", "transpose(*x)", ""),
        ("jax.numpy", "sum(x, **options)", ""),
        ("jax.numpy", "mean(x, axis=1, keepdims=True)", ""),
        ("jax.numpy", "nothing_of_this_name(x)", ""),
        ("jax.nowhere", "sum(x, dim=0)", ""),
    ],
)
def test_arguments(home: str, call: str, said: str) -> None:
    """What does not fit is said, and nothing else is."""
    node = ast.parse(call, mode="eval").body
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    found = misfit(home, node.func.id, node)
    assert said in found
    assert bool(found) == bool(said)


@pytest.mark.parametrize(
    ("home", "name", "there"),
    [
        ("jax.numpy", "tahn", "jax.numpy.tanh"),
        ("jax.numpy", "floatt32", "jax.numpy.float32"),
        ("optax", "cosine_annealing_schedule", "optax.cosine_decay_schedule"),
        ("jax.numpy", "erf", "jax.scipy.special.erf"),
        ("jax.numpy", "busday_count", "numpy"),
        ("jax.numpy", "tanh", ""),
        ("jax.numpy", "what_comes_next_year", ""),
        ("jax.nowhere", "tahn", ""),
    ],
)
def test_slips(home: str, name: str, there: str) -> None:
    """A name counts as wrong only where it is like one that is there, or another module has it."""
    found = meant(home, name)
    assert found == there or (name == "erf" and found.endswith(".erf"))

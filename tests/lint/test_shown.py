"""Mistakes that a notebook shows on purpose: a comment says so, its output is the error, or its next cell mends it."""

from __future__ import annotations

import json

import pytest

from codemods.nnx.analyse import analyse
from codemods.nnx.options import Options
from codemods.nnx.source import Source
from nnxmigrate.files.notebook import read_notebook
from tests.migration import look

CHOSEN = Options(origin="0.12", targets=("0.12",), lint=True)


def codes(*cells: str, failed: dict[int, str] | None = None) -> set[str]:
    """Return the codes of the findings in a notebook of some cells, of which some have an error as their output."""
    starts = [1]
    for cell in cells[:-1]:
        starts.append(starts[-1] + cell.count("\n"))
    errors = tuple((starts[number], name) for number, name in (failed or {}).items())
    source = Source("main.ipynb", "".join(cells).encode(), "main", False, True, tuple(starts), errors)
    analysis = analyse([source], CHOSEN)
    assert not analysis.failures
    return {one.code for one in analysis.findings}


HEAD = "import jax\nimport jax.numpy as jnp\ny = jnp.ones(3)\ndef both(x, y):\n    return jnp.sum(x * y), x - y\n"
WRONG = "jax.grad(both)(y, y)\n"
MENDED = "jax.grad(both, has_aux=True)(y, y)\n"


@pytest.mark.parametrize(
    ("cells", "failed", "found"),
    [
        ((HEAD, WRONG), {}, True),
        ((HEAD, WRONG), {1: "TypeError"}, False),
        ((HEAD, WRONG), {1: "KeyboardInterrupt"}, True),
        ((HEAD, WRONG), {1: "NameError"}, True),
        ((HEAD, WRONG), {0: "TypeError"}, True),
        ((HEAD, WRONG, MENDED), {}, False),
        ((HEAD, WRONG, "print(y)\n", MENDED), {}, True),
        ((HEAD, WRONG, "jax.grad(jnp.sum, has_aux=False)(y)\n"), {}, True),
        ((HEAD, MENDED, WRONG), {}, True),
    ],
)
def test_an_error_that_is_shown(cells: tuple[str, ...], failed: dict[int, str], found: bool) -> None:
    assert ("NNX850" in codes(*cells, failed=failed)) is found


PLAIN = "import jax\nimport jax.numpy as jnp\ndef picked(x):\n    if x > 0:\n        return x\n    return 0.0\n"
TRIED = "mapped = jax.vmap(picked)\nprint(mapped(jnp.ones(3)))\n"


@pytest.mark.parametrize(
    ("cells", "failed", "found"),
    [
        ((PLAIN, TRIED), {}, True),
        ((PLAIN, TRIED), {1: "IndexError"}, False),
        ((PLAIN, TRIED), {1: "TracerBoolConversionError"}, False),
        ((PLAIN, TRIED), {1: "KeyboardInterrupt"}, True),
        ((PLAIN, TRIED, "print(picked(1.0) / 0)\n"), {2: "ZeroDivisionError"}, True),
        ((PLAIN, TRIED, "jax.jit(jnp.sin)(picked)\n"), {0: "TypeError"}, True),
    ],
)
def test_what_a_cell_only_tried(cells: tuple[str, ...], failed: dict[int, str], found: bool) -> None:
    assert ("NNX820" in codes(*cells, failed=failed)) is found


def test_an_error_does_not_excuse_what_raises_none() -> None:
    cell = "key = jax.random.key(0)\na = jax.random.normal(key)\nb = jax.random.uniform(key)\n"
    assert "NNX830" in codes("import jax\n", cell, failed={1: "TypeError"})


LOOP = """\
def last(x, n):
    for i in range(n):
        # {}
        x = jax.jit(lambda v: v + 1)(x)
    return x
"""


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("Don't do this! the function is another one each time", False),
        ("BAD: compiled in each round", False),
        ("bad", False),
        ("don't use this", False),
        ("don't forget the last one", True),
        ("the badge of the round", True),
        ("one more", True),
    ],
)
def test_a_comment_that_judges(comment: str, found: bool) -> None:
    """What is slow is shown on purpose, too."""
    text = LOOP.format(comment)
    assert ("NNX903" in codes("import jax\n", text)) is found
    assert "NNX903" in {one.code for one in look("import jax\n" + text, CHOSEN).findings}, "a program shows nothing"


def test_errors_of_outputs() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["text\n"]},
        {"cell_type": "code", "source": ["a = 1\n", "b = 2\n"], "outputs": []},
        {"cell_type": "code", "source": ["c = 3\n"], "outputs": [{"output_type": "error", "ename": "TypeError"}]},
        {"cell_type": "code", "source": "d = 4", "outputs": [{"output_type": "stream", "text": ["x"]}]},
        {"cell_type": "code", "source": ["e = 5\n"], "outputs": [{"output_type": "error"}, 7]},
        {"cell_type": "code", "source": ["f = 6\n"], "outputs": "none"},
    ]
    notebook = read_notebook(json.dumps({"cells": cells, "nbformat": 4}).encode())
    assert notebook.failed_lines == ((4, "TypeError"),)


ATTEMPTS = """\
import jax
import jax.numpy as jnp

def attempt(function, *given):
    try:
        print(function(*given))
    except TypeError as error:
        print(error)

def picked(x):
    if x > 0:
        return x
    return 0.0

attempt(jax.jit(picked), 1.0)
{}
"""


@pytest.mark.parametrize(
    ("last", "found"),
    [
        ("", False),
        ("attempt(picked, 2.0)", False),
        ("jax.jit(picked)(1.0)", True),
        ("def picked(x):\n    return x\njax.jit(picked)(1.0)", False),
    ],
)
def test_what_a_helper_tries_out(last: str, found: bool) -> None:
    """Whatever else calls the function does not go on after its errors."""
    assert ("NNX820" in {one.code for one in look(ATTEMPTS.format(last), CHOSEN).findings}) is found
    raising = ATTEMPTS.format(last).replace("print(error)", "raise")
    assert "NNX820" in {one.code for one in look(raising, CHOSEN).findings}


TAUGHT = """\
import jax
import jax.numpy as jnp

total = 0

{}
def add(x):
    global total
    total = total + 1
    return x

jax.jit(add)(1.0)
"""


@pytest.mark.parametrize(
    ("above", "found"),
    [("# an impure function", False), ("# a pure function without side effects", True), ("# adds", True)],
)
def test_a_tutorial_says_so_above(above: str, found: bool) -> None:
    """A script that teaches, as its name says, may show a mistake; any other is not to hold one."""
    text = TAUGHT.format(above)
    assert ("NNX804" in {one.code for one in look({"jax_tutorial.py": text}, CHOSEN).findings}) is found
    assert "NNX804" in {one.code for one in look({"main.py": text}, CHOSEN).findings}


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (("a = jnp.arange(3)\n", "a[0], a[3]\n"), False),
        (("a = jnp.arange(3)\n", "print(a[3])\n", "b = 1\n"), False),
        (("a = jnp.arange(3)\n", "b = a[3]\n"), True),
    ],
)
def test_what_is_only_displayed(cells: tuple[str, ...], found: bool) -> None:
    assert ("NNX847" in codes("import jax.numpy as jnp\n", *cells)) is found


ZEROS = "import jax\ndef kept(x, y):\n    return x * jax.lax.stop_gradient(y)\n"


@pytest.mark.parametrize(("said", "found"), [("# this should return 0\n", False), ("# by y\n", True)])
def test_a_gradient_of_zero_that_is_expected(said: str, found: bool) -> None:
    assert ("NNX884" in codes(ZEROS, said + "jax.grad(kept, argnums=1)(1.0, 2.0)\n")) is found


MADE = """\
import jax.numpy as jnp
kept = []
for size in [2, 3, 4]:
    def model(x):
        return x * size
    print(model(jnp.ones(2)))
    kept.append(model)
"""


def test_functions_that_nobody_reads() -> None:
    """What a notebook only collects is called in its own round."""
    assert "NNX753" not in codes("import jax\n", MADE)
    assert "NNX753" in codes("import jax\n", MADE, "print(kept[0](1.0))\n")


def test_a_name_of_a_later_cell() -> None:
    """A cell that stands before what its name is made of ran with another one."""
    head = "import jax\nimport jax.numpy as jnp\ndef g(x):\n    return x * 3\n"
    made = "h = jax.jit(jax.vmap(jax.grad(g)))\n"
    assert "NNX867" not in codes(head, "h(1.0)\n", made, "h(jnp.ones(3))\n")
    assert "NNX867" in codes(head, made, "h(1.0)\n")


UNFINISHED = """\
import jax.numpy as jnp

def pooled(x, kind):
    if kind == "noisy":
        total = 1 - jnp.product(x)
        {}
    return x.sum()
"""


@pytest.mark.parametrize(
    ("last", "found"),
    [
        ("raise NotImplementedError()", False),
        ("raise NotImplementedError", False),
        ("raise ValueError(total)", True),
        ("return total", True),
    ],
)
def test_an_unfinished_branch(last: str, found: bool) -> None:
    assert ("NNX881" in {one.code for one in look(UNFINISHED.format(last), CHOSEN).findings}) is found
    choosing = UNFINISHED.replace("        {}", "        if kind:\n            total = 2 * total\n        {}")
    assert ("NNX881" in {one.code for one in look(choosing.format(last), CHOSEN).findings}) is found


SHAPED = """\
import jax
import jax.numpy as jnp
def flat(x):
    size = jnp.prod(jnp.array(x.shape)){}
    return x.reshape((size,))
"""
RAN = "jax.jit(flat)(jnp.ones((2, 3))){}\n"


@pytest.mark.parametrize(
    ("cells", "failed", "found"),
    [
        ((SHAPED.format(""), RAN.format("")), {}, True),
        ((SHAPED.format(""), "y = 3\n", RAN.format("")), {2: "TypeError"}, False),
        ((SHAPED.format(""), "y = 3\n", RAN.format("")), {1: "TypeError"}, True),
        ((SHAPED.format(""), RAN.format("")), {1: "NameError"}, True),
        ((SHAPED.format(""), RAN.format("")), {1: "TracerIntegerConversionError"}, False),
        ((SHAPED.format(""), RAN.format("  # a crash!")), {}, False),
        ((SHAPED.format(""), RAN.format("  # fails")), {}, False),
        ((SHAPED.format(""), RAN.format("  # Error!")), {}, False),
        ((SHAPED.format(""), RAN.format("  # no crash")), {}, True),
        ((SHAPED.format(""), RAN.format("  # error of the fit")), {}, True),
        ((SHAPED.format(""), RAN.format("  # crash test of a car")), {}, True),
        ((SHAPED.format("").replace("e,))\n", "e,))  # this will crash\n"), RAN.format("")), {}, False),
        ((SHAPED.format("").replace("e,))\n", "e,))  # so that it will not crash\n"), RAN.format("")), {}, True),
        ((SHAPED.format(""), "fast = jax.jit(flat)\n", "fast(jnp.ones((2, 3)))  # crash\n"), {}, False),
        ((SHAPED.format(""), RAN.format(""), "flat(jnp.ones(3))\n"), {2: "TypeError"}, True),
        ((SHAPED.format(""), RAN.format(""), "def flat(x):\n    return x\n", RAN.format("")), {3: "TypeError"}, True),
    ],
)
def test_a_later_cell_shows_the_error(cells: tuple[str, ...], failed: dict[int, str], found: bool) -> None:
    assert ("NNX823" in codes(*cells, failed=failed)) is found


COUNTED = """\
import jax
import jax.numpy as jnp
def count(r, x):
    return jnp.count_nonzero(x / r < 1.0) * 1.0
"""


@pytest.mark.parametrize(
    ("call", "failed", "found"),
    [
        ("jax.grad(count)(1.0, jnp.ones(3))\n", {}, True),
        ("jax.grad(count)(1.0, jnp.ones(3))\n", {1: "TypeError"}, False),
        ("jax.grad(count)(1.0, jnp.ones(3))\n# a silent problem for gradient descent\n", {}, False),
        ("jax.grad(count)(1.0, jnp.ones(3))\nx = 3\n# a silent problem of another thing\n", {}, True),
    ],
)
def test_a_later_cell_shows_a_gradient(call: str, failed: dict[int, str], found: bool) -> None:
    assert ("NNX884" in codes(COUNTED, call, failed=failed)) is found


def test_lines_are_those_that_python_counts() -> None:
    """A form feed, as old sources have it between their parts, begins no line."""
    head = HEAD.replace("def both", "\f\ndef both")
    assert "NNX850" in codes(head + WRONG)
    assert "NNX850" not in codes(head + WRONG.replace("\n", "  # don't do this\n"))


PRINTS = """\
import jax
import jax.numpy as jnp
def doubled(x):
    print("x:", x){}
    return 2 * x
"""


@pytest.mark.parametrize(
    ("comment", "call", "failed", "found"),
    [
        ("", "jax.jit(doubled)(jnp.ones(3))\n", {}, True),
        ("  # x is traced here", "jax.jit(doubled)(jnp.ones(3))\n", {}, False),
        ("", "jax.jit(doubled)(jnp.ones(3))  # a tracer\n", {}, False),
        ("", "jax.jit(doubled)(jnp.ones(3))\n", {1: "TracerBoolConversionError"}, False),
        ("", "jax.jit(doubled)(jnp.ones(3))\n", {1: "KeyboardInterrupt"}, True),
        ("  # the trace of a matrix", "jax.jit(doubled)(jnp.ones(3))\n", {}, True),
        ("  # for ray tracing", "jax.jit(doubled)(jnp.ones(3))\n", {}, True),
    ],
)
def test_prints_that_show_tracers(comment: str, call: str, failed: dict[int, str], found: bool) -> None:
    cells = (PRINTS.format(comment), call)
    assert ("NNX803" in codes(*cells, failed=failed)) is found


LESSON = "import jax\n@jax.jit\ndef show(x, y):\n    print(y)\n    print(y >= 1.0){}\n{}\nshow(3, 2)\n"


@pytest.mark.parametrize(
    ("more", "comment", "found"),
    [
        ("", "# These are abstract tracers: of them the shape is known alone.", False),
        ("", "# a line", True),
        ("\n    return x / y", "# These are abstract tracers.", True),
    ],
)
def test_a_lesson_about_tracers(more: str, comment: str, found: bool) -> None:
    assert ("NNX803" in codes("import jax\n", LESSON.format(more, comment))) is found


MAPPED = """\
import jax
from functools import partial
@partial(jax.jit, static_argnames=("steps",))
def walked(start, speed, steps):
    return start + speed * steps
print(jax.vmap(walked, in_axes=(0, {}None))({}x, 0.5, [2]))
"""


def test_static_arguments_of_a_call_with_too_many_arguments() -> None:
    """What is told of ``in_axes`` is the mistake: the static argument is none that is meant to be static."""
    found = {one.code for one in look(MAPPED.format("None, ", "x, "), CHOSEN).findings}
    assert "NNX867" in found
    assert "NNX826" not in found
    assert "NNX867" not in {one.code for one in look(MAPPED.format("None, ", ""), CHOSEN).findings}


STORED = "import jax.numpy as jnp\na = jnp.zeros((3, 3))\n"


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ((STORED, "a[1, :] = 1\n"), {"NNX840"}),
        ((STORED, "a[1, :] = 1\n", "a.at[1, :].add(1)\n"), set()),
        ((STORED, "a[1, :] = 1\n", "b = jnp.ones(3)\nb.at[1].add(1)\n"), {"NNX840"}),
        ((STORED, "a[1, :] = 1\n", "print(a)\n", "a.at[1, :].add(1)\n"), {"NNX840"}),
        ((STORED, "a[1, :] = 1\na.at[1, :].add(1)\n"), {"NNX840"}),
        ((STORED, "jnp.sum([1, 1])\n"), {"NNX844"}),
        ((STORED, "jnp.sum([1, 1])\n", "print(jnp.sum(jnp.array([1, 1])))\n"), set()),
        ((STORED, "jnp.sum([1, 1])\n", "print(jnp.sum(jnp.array([1, 2])))\n"), {"NNX844"}),
        ((STORED, "jnp.sum([1, 1])\n", "print(jnp.max(jnp.array([1, 1])))\n"), {"NNX844"}),
    ],
)
def test_the_next_cell_does_it_right(cells: tuple[str, ...], found: set[str]) -> None:
    assert codes(*cells) & {"NNX840", "NNX844"} == found


BAD = "import jax\nimport jax.numpy as jnp\n{}@jax.jit\ndef {}(size):\n    return jnp.arange(size)\n"


@pytest.mark.parametrize(
    ("above", "name", "found"),
    [
        ("", "sizes", True),
        ("", "sizes_badexample", False),
        ("", "wrong_way", False),
        ("", "sizes_bad", False),
        ("", "badges", True),
        ("# ConcretizationTypeError: Abstract tracer value encountered\n", "sizes", False),
        ("# jax.errors.ConcretizationTypeError\n", "sizes", False),
        ("# catches a TypeError of sizes\n", "sizes", True),
        ("# mean error: 3\n", "sizes", True),
        ("# mean_squared_error\n", "sizes", True),
    ],
)
def test_the_name_or_the_error_says_it(above: str, name: str, found: bool) -> None:
    assert ("NNX823" in codes("import jax\n", BAD.format(above, name))) is found
    assert "NNX823" in {one.code for one in look(BAD.format(above, name), CHOSEN).findings}, "a program shows nothing"


def test_the_precision_that_is_shown() -> None:
    wide = "import jax.numpy as jnp\n{}y = jnp.zeros(3, dtype=jnp.float64)\nprint(y.dtype)\n"
    assert "NNX917" in codes(wide.format("# a vector\n"))
    assert "NNX917" not in codes(wide.format("# JAX enforces single precision!\n"))


DRAWN = "from jax import random\n\nkey = random.key(5)\nrandom.uniform(key){}\n"


@pytest.mark.parametrize(
    ("head", "behind", "found"),
    [
        ("", "", True),
        ('"""main.ipynb\n\nAutomatically generated by Colab.\n"""\n', "", False),
        ("# Commented out IPython magic to ensure Python compatibility.\n# %time x\n", '\n\n"""## Profiler"""', False),
        ("# Commented out IPython magic to ensure Python compatibility.\n# %time x\n", "\nprint(key)", True),
        ("# In[1]:\n", "", False),
        ("# In[1]:\n", "\nprint(key)", True),
        ("# In[ ]:\n\n\n", "\n\n\n# In[2]:\n\n\nprint(key)", False),
    ],
)
def test_what_an_exported_notebook_displays(head: str, behind: str, found: bool) -> None:
    """Scripts that Colab and nbconvert make of notebooks have expressions at the ends of their cells."""
    told = {one.code for one in look(head + DRAWN.format(behind), CHOSEN).findings}
    assert ("NNX834" in told) is found


@pytest.mark.parametrize(
    ("cell", "found"),
    [("a[0] = 1\n", False), ("a[0, 1] = 2.0\n", False), ("a[0] = y\n", True), ("a[0] = 1\nprint(a)\n", True)],
)
def test_a_cell_that_only_tries_an_assignment(cell: str, found: bool) -> None:
    head = "import jax.numpy as jnp\ny = jnp.ones(())\na = jnp.ones((3, 3))\n"
    assert ("NNX840" in codes(head, cell, "print(y)\n")) is found


COMPILED = """\
import jax
import jax.numpy as jnp
def magnitude(x):
    if x >= 0:
        return x
    return -x
fast = jax.jit(magnitude)
"""


@pytest.mark.parametrize(
    ("cell", "found"),
    [("# fast(1.0)\n", False), ("print(magnitude(1.0))\n", False), ("fast(1.0)\n", True), ("print(fast)\n", True)],
)
def test_what_no_cell_reads_is_not_compiled(cell: str, found: bool) -> None:
    assert ("NNX820" in codes(COMPILED, cell)) is found
    assert "NNX820" in {one.code for one in look(COMPILED, CHOSEN).findings}, "another file may import it"


RATED = "import optax\nimport jax.numpy as jnp\nrate = 0.1\n"


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (("tx = optax.sgd(rate)\nrate = rate * 0.5\n", "print(tx)\n"), False),
        (("tx = optax.sgd(rate)\n", "rate = rate * 0.5\n", "print(tx)\n"), True),
        (("tx = optax.sgd(rate)\nfor _ in range(3):\n    rate = rate * 0.5\n", "print(tx)\n"), True),
    ],
)
def test_a_cell_to_be_run_again(cells: tuple[str, ...], found: bool) -> None:
    assert ("NNX887" in codes(RATED, *cells)) is found


@pytest.mark.parametrize(
    ("last", "found"),
    [
        ("print(jax.lax.fori_loop(0, 9, lambda i, v: v + next(numbers), 0))\n", False),
        ("total = jax.lax.fori_loop(0, 9, lambda i, v: v + next(numbers), 0)\nprint(total)\n", True),
    ],
)
def test_an_effect_that_is_only_printed(last: str, found: bool) -> None:
    assert ("NNX806" in codes("import jax\nnumbers = iter(range(9))\n", last)) is found

"""Mistakes are found however a program is written: a loss decorated, an optimizer by keywords, variables annotated."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

import pytest

from codemods.nnx.catalogue import RULES
from codemods.nnx.options import Options
from tests.lint.test_tables import CASES, HEAD
from tests.migration import look

_DEFAULT = {rule.code for rule in RULES if rule.default}
_LINT = Options(origin="0.12", targets=("0.12",), lint=True)
_APPLIED = re.compile(r"((?:nnx|jax)\.(?:value_and_grad|grad))\((\w+)((?:, \w+=[^()\n]*)?)\)(?=\()")
# what these say is of the call of ``grad`` itself, or they ask what stands beside it or around the loss
_OTHERWISE = {"NNX538", "NNX785", "NNX850", "NNX943", "NNX951", "NNX965", "NNX989"}


def _decorated(text: str) -> str | None:
    """Return a program with losses decorated that ``grad(loss)(...)`` differentiates in one place; None if none is."""
    found = text
    for match in _APPLIED.finditer(text):
        transform, name, options = match.groups()
        defined = re.search(rf"^( *)def {name}\(", found, re.M)
        if defined is None or len(re.findall(rf"\b{name}\b", found)) != 2:
            continue
        decorator = f"functools.partial({transform}{options})" if options else transform
        found = found.replace(match.group(0), name)
        found = found.replace(defined.group(0), f"{defined.group(1)}@{decorator}\n{defined.group(0)}", 1)
    return found if found != text else None


class _Keywords(ast.NodeTransformer):
    """Gives optimizers their arguments by name."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Rewrite one call."""
        self.generic_visit(node)
        plain = not any(isinstance(one, ast.Starred) for one in node.args)
        if ast.unparse(node.func) in {"nnx.Optimizer", "nnx.ModelAndOptimizer"} and plain:
            named = [ast.keyword(name, one) for name, one in zip(("model", "tx"), node.args, strict=False)]
            node.args, node.keywords = [], [*named, *node.keywords]
        return node


def _named(text: str) -> str | None:
    """Return a program whose optimizers are made by keywords; None if there are none in its body."""
    if "Optimizer(" not in text.removeprefix(HEAD):
        return None
    return HEAD + ast.unparse(ast.fix_missing_locations(_Keywords().visit(ast.parse(text.removeprefix(HEAD)))))


class _Annotations(ast.NodeTransformer):
    """Annotates variables, or attributes, where they are assigned to by themselves."""

    def __init__(self, kind: type[ast.expr]) -> None:
        self.kind = kind

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Leave the fields of a class as they are."""
        node.body = [one if isinstance(one, ast.Assign) else self.visit(one) for one in node.body]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        """Rewrite one assignment."""
        target = node.targets[0]
        if len(node.targets) > 1 or type(target) is not self.kind or not isinstance(target, ast.Name | ast.Attribute):
            return node
        if isinstance(target, ast.Attribute) and target.attr == "value":
            return node  # of a Variable, which nobody annotates, and migration leaves alone then
        return ast.AnnAssign(target, ast.Constant("Any"), node.value, int(isinstance(target, ast.Name)))


def _annotated(text: str, kind: type[ast.expr] = ast.Name) -> str | None:
    """Return a program whose variables are annotated; None if its body has none, or declares some global."""
    body = text.removeprefix(HEAD)
    tree = ast.parse(body)
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(tree)):
        return None
    before = ast.unparse(tree)
    after = ast.unparse(ast.fix_missing_locations(_Annotations(kind).visit(tree)))
    return HEAD + after if after != before else None


def _programs(rewrite: Callable[[str], str | None], besides: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the first bad program of each rule that can be rewritten: the code, the program, and that rewritten."""
    for code, cases in CASES.items():
        turned = ((HEAD + body, rewrite(HEAD + body)) for body in cases.bad)
        first = next(((text, other) for text, other in turned if other is not None), None)
        if first is not None and code not in besides:
            yield code, *first


_DECORATED = [*_programs(_decorated, _OTHERWISE)]
_NAMED = [*_programs(_named, set())]
_ANNOTATED = [*_programs(_annotated, set())]
_ATTRIBUTES = [*_programs(lambda text: _annotated(text, ast.Attribute), set())]


@pytest.mark.parametrize(("code", "text", "other"), _DECORATED + _NAMED + _ANNOTATED + _ATTRIBUTES)
def test_rewritten(code: str, text: str, other: str) -> None:
    """The same mistakes are found."""
    compile(other, "main.py", "exec")
    codes = [finding.code for finding in look(text, _LINT).findings]
    assert code in codes or code not in _DEFAULT
    assert sorted(finding.code for finding in look(other, _LINT).findings) == sorted(codes)


def test_enough() -> None:
    """Programs of many rules are tried."""
    assert len(_DECORATED) > 50
    assert len(_NAMED) > 30
    assert len(_ANNOTATED) > 300
    assert len(_ATTRIBUTES) > 100

"""Every rule's examples, as text and under real Flax versions."""

from __future__ import annotations

import pytest

from codemods.nnx.catalogue import RULES
from codemods.nnx.options import Options
from codemods.nnx.rule import Example, Kind, Rule
from tests.batch import execute_all
from tests.environments import Output, agree
from tests.migration import look, migrated

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}-{number}")
    for rule in RULES
    for number, example in enumerate(rule.examples)
]


def _options(rule: Rule, targets: tuple[str, ...]) -> Options:
    """Return options under which the rule runs beside all default rules but suggestions."""
    lint = rule.kind is Kind.LINT
    select = (rule.code, *(() if lint else ("NNX",))) if not rule.default else ()
    suggestions = [other.code for other in RULES if other.kind is Kind.SUGGESTED and other is not rule]
    return Options(targets=targets, lint=lint, select=select, ignore=suggestions)


def _expected(example: Example) -> str:
    return example.before if example.after is None else example.after


def _runs(rule: Rule, example: Example) -> dict[str, Options]:
    """Return the options for each target of an example; several targets of one example are separate migrations."""
    return {target: _options(rule, (target,)) for target in example.targets}


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_text(rule: Rule, example: Example) -> None:
    """The rule speaks, the text becomes what the example says, and a second run changes nothing."""
    for target, options in _runs(rule, example).items():
        found = [f for f in look(example.before, options).findings if f.code == rule.code]
        assert bool(found) == (example.before != example.after), target
        once, _ = migrated(example.before, options, example.unsafe)
        assert once["main.py"] == _expected(example), target
        twice, _ = migrated(once, options, example.unsafe)
        assert twice == once, target


def _programs(which: str) -> dict[str, str]:
    """Return the texts to run under a version: examples as they were under 0.10, as they become under the others."""
    return {
        f"{rule.code}-{number}": example.before if which == "0.10" else _expected(example)
        for rule in RULES
        for number, example in enumerate(rule.examples)
        if example.run and (which == "0.10" or which in example.targets)
    }


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Output]]:
    """Run all examples under all versions once."""
    folder = tmp_path_factory.mktemp("examples")
    return {v: execute_all(v, _programs(v), folder / v) for v in ("0.10", "0.11", "0.12")}


@pytest.mark.parametrize(("rule", "example"), [p for p in EXAMPLES if p.values[1].run])  # type: ignore[union-attr]
def test_execution(
    rule: Rule, example: Example, outputs: dict[str, dict[str, Output]], request: pytest.FixtureRequest
) -> None:
    """The program prints under each target what it printed under 0.10."""
    name = request.node.callspec.id
    before = outputs["0.10"][name]
    assert before.code == 0, before.err
    assert before.out.strip(), "an example that prints nothing proves nothing"
    for target in example.targets:
        after = outputs[target][name]
        assert after.code == 0, f"{target}: {after.err}"
        assert agree(before.out, after.out), f"{target}: {before.out!r} became {after.out!r}"


def test_codes_are_unique_and_ordered() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))


def test_names_are_unique() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_is_complete(rule: Rule) -> None:
    """A rule explains itself: its words, its examples, and a fix wherever it claims one."""
    for text in (rule.name, rule.summary, rule.why, rule.source, rule.since):
        assert text.strip() == text.rstrip("\n")
    assert rule.examples
    fixes = any(example.after not in (None, example.before) for example in rule.examples)
    assert fixes == (rule.safety is not None)


def test_unrunnable_examples_are_few() -> None:
    """Only fragments, lint examples and reports may go without a run."""
    migrating = [r for r in RULES if r.kind is Kind.REQUIRED and r.safety is not None]
    assert all(any(e.run or e.unsafe for e in rule.examples) for rule in migrating)

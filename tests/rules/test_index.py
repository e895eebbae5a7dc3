"""The index of the rules, and what it saves."""

from __future__ import annotations

import re
import subprocess
import sys

from codemods.nnx.catalogue import RULES
from codemods.nnx.listed import Listed, Words
from codemods.nnx.source import Source
from docs import rule_index

SMALL = """\
import jax.numpy as jnp
from flax import nnx


class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear = nnx.Linear(3, 4, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.linear(x))
"""


def test_it_is_up_to_date() -> None:
    """What python docs/generate.py would write is there."""
    assert rule_index.PLACE.read_text(encoding="utf-8") == rule_index.text()


def test_it_says_what_the_rules_say() -> None:
    for rule in RULES:
        assert isinstance(rule, Listed)
        real = rule.loaded()
        for name in ("code", "name", "summary", "kind", "safety", "since", "default", "always", "severity", "why"):
            assert getattr(rule, name) == getattr(real, name)
        assert rule.check is real.check
        assert rule.examples is real.examples


def test_rules_without_their_words_are_silent_and_not_imported() -> None:
    """Of a small file most rules that are known by their words are not even imported."""
    known = [rule for rule in RULES if isinstance(rule, Listed) and rule.names is not None]
    words = Words([Source("net.py", SMALL.encode())])
    silent = [rule for rule in known if words.silence(rule)]
    assert len(known) > 300
    assert len(silent) > len(known) / 2
    script = (
        "import sys\nfrom codemods.nnx.analyse import analyse\nfrom codemods.nnx.options import Options\n"
        "from codemods.nnx.source import Source\n"
        f"analyse([Source('net.py', {SMALL.encode()!r})], Options(lint=True))\nprint(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    spoken = {f"codemods.nnx.{rule.module}" for rule in known if not words.silence(rule)}
    spoken |= {f"codemods.nnx.{rule.module}" for rule in RULES if isinstance(rule, Listed) and rule.names is None}
    unneeded = {f"codemods.nnx.{rule.module}" for rule in silent} - spoken
    assert len(unneeded & set(loaded)) < len(unneeded) / 4  # some lend others a function


def test_every_rule_is_asked_of_large_texts() -> None:
    """Where looking for words costs more than importing, nothing is silent."""
    words = Words([Source("big.py", SMALL.encode() + b"# filled up\n" * 10_000)])
    assert not any(words.silence(rule) for rule in RULES)


def test_literals_of_patterns() -> None:
    """Whatever a pattern matches has one of the texts that are taken from it."""
    assert rule_index.literals(re.compile(rb"\bscan\b")) == {b"scan"}
    assert rule_index.literals(re.compile(rb"(grad|value_and_grad)\(")) == {b"grad", b"value_and_grad"}
    assert rule_index.literals(re.compile(rb"x?\d+")) == frozenset()
    assert rule_index.literals(re.compile(rb"(?:ab)?cd")) == {b"cd"}
    assert rule_index.literals(re.compile(rb"ab|c")) == frozenset()

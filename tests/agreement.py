"""Programs that must print under newer releases, once migrated, what they print under Flax 0.10."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.batch import execute_all
from tests.environments import Output, agree
from tests.migration import migrate_text, options


def runs(
    programs: Mapping[str, str],
    folder: Path,
    targets: tuple[str, ...] = ("0.11", "0.12"),
    select: tuple[str, ...] = (),
    unsafe: bool = False,
) -> dict[str, dict[str, Output]]:
    """Return what programs do under 0.10, and migrated under each target, by version and name.

    Args:
        programs: texts by name.
        folder: an empty folder.
        targets: the versions; each text is migrated to each of them alone.
        select: codes of rules that do not run by themselves.
        unsafe: whether unsafe fixes are made too.
    """
    done = {"0.10": execute_all("0.10", programs, folder / "0.10")}
    for target in targets:
        chosen = options(target, select=("NNX", *select) if select else ())
        texts = {name: migrate_text(text, chosen, unsafe=unsafe) for name, text in programs.items()}
        done[target] = execute_all(target, texts, folder / target)
    return done


def assert_same(outputs: Mapping[str, Mapping[str, Output]], name: str) -> None:
    """Fail unless a program ran everywhere, printed something, and printed the same."""
    before = outputs["0.10"][name]
    assert before.code == 0, before.err
    assert before.out.strip()
    for version, done in outputs.items():
        assert done[name].code == 0, f"{version}: {done[name].err}"
        assert agree(before.out, done[name].out), f"{version}: {before.out!r} became {done[name].out!r}"


def assert_breaks(outputs: Mapping[str, Mapping[str, Output]], name: str, version: str = "0.11") -> None:
    """Fail unless a program that ran under 0.10 raises an error or prints something else under a newer release."""
    before, after = outputs["0.10"][name], outputs[version][name]
    assert before.code == 0, before.err
    assert before.out.strip()
    assert after.code != 0 or not agree(before.out, after.out), after.out

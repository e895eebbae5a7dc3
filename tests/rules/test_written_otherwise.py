"""The programs of the fixtures, written in other ways, go on printing what they printed under 0.10."""

from __future__ import annotations

from pathlib import Path

from codemods.nnx.options import Options
from tests.batch import execute_all
from tests.environments import agree
from tests.migration import migrated
from tests.rules.test_programs import PROGRAMS
from tests.rules.written_otherwise import FORMS

#: A class of tuples that a function gets as an argument is not followed, and layers that a walk finds not through what
#: is put into a dict or through a function that stands for a loop.
MISSED = {
    ("state/ring_of_snapshots", "with_functions_for_loops"),
    ("rng/layers_of_walks", "with_functions_for_loops"),
    ("rng/layers_of_walks", "in_a_dict"),
}
_LOADER = (
    "import sys, types\n_made = types.ModuleType('parts')\nexec({text!r}, _made.__dict__)\nsys.modules['parts'] = \
_made\n"
)

Form = tuple[str, str]


def _forms() -> dict[Form, dict[str, str]]:
    """Return the files of every program that is to go on as it was, in every form that it has."""
    found: dict[Form, dict[str, str]] = {}
    for program in PROGRAMS:
        if program.kind == "same" and "0.11" in program.targets and set(program.texts) == {"main.py"}:
            for form in FORMS:
                files = form(program.texts["main.py"])
                if files is not None and (program.name, form.__name__) not in MISSED:
                    found[program.name, form.__name__] = files
    return found


def _joined(files: dict[str, str]) -> str:
    """Return one text that runs a program of several files."""
    return (_LOADER.format(text=files["parts.py"]) if "parts.py" in files else "") + files["main.py"]


def test_other_forms(tmp_path: Path) -> None:
    """What prints the same in another form under 0.10 prints it under 0.11, unless something is asked."""
    unsafe = {program.name: program.unsafe for program in PROGRAMS}
    plain = {program.name: program.texts["main.py"] for program in PROGRAMS if "main.py" in program.texts}
    forms = _forms()
    texts = {f"{name} as it is": plain[name] for name, _ in forms}
    texts |= {f"{name} {form}": _joined(files) for (name, form), files in forms.items()}
    before = execute_all("0.10", texts, tmp_path / "0.10")

    migrations: dict[str, str] = {}
    expected: dict[str, str] = {}
    for (name, form), files in forms.items():
        ran, was = before[f"{name} {form}"], before[f"{name} as it is"]
        if ran.code or was.code or not agree(was.out, ran.out):
            continue  # the form does something else
        options = Options(targets=("0.11",))
        once = migrated(files, options, unsafe[name])[0]
        twice, left = migrated(once, options, unsafe[name])
        if not left:
            migrations[f"{name} {form}"] = _joined(twice)
            expected[f"{name} {form}"] = was.out
    assert len(migrations) > 150
    after = execute_all("0.11", migrations, tmp_path / "0.11")
    wrong = {name: after[name].err or after[name].out for name in migrations if after[name].code}
    wrong |= {name: after[name].out for name in migrations if not agree(expected[name], after[name].out)}
    assert wrong == {}

"""Migrating texts in memory, as the program does with files."""

from __future__ import annotations

from codemods.nnx.analyse import analyse
from codemods.nnx.edits import Edit, spliced
from codemods.nnx.findings import Analysis, Finding, Safety
from codemods.nnx.options import OptimizerForm, Options
from codemods.nnx.source import Source


def options(*targets: str, origin: str = "0.10", **choices: object) -> Options:
    """Return options for targets, ``0.11`` by default."""
    return Options(origin=origin, targets=targets or ("0.11",), **choices)  # type: ignore[arg-type]


def sources(texts: dict[str, str]) -> list[Source]:
    """Return sources of texts by path; ``a/b.py`` is the module ``a.b``."""
    made = []
    for path, text in texts.items():
        module = path.removesuffix(".py").replace("/", ".")
        package = module.endswith("__init__")
        made.append(Source(path, text.encode(), module.removesuffix("__init__").rstrip(".") or None, package))
    return made


def look(texts: dict[str, str] | str, chosen: Options | None = None) -> Analysis:
    """Analyse texts; a single one is the file ``main.py``. Of several, each asked about alone says the same."""
    files = {"main.py": texts} if isinstance(texts, str) else texts
    made = sources(files)
    analysis = analyse(made, chosen or options())
    for path in files if len(files) > 1 else ():
        alone = analyse(made, chosen or options(), {path})
        assert shown(alone) == [line for line in shown(analysis) if line[0] == path], f"{path} asked about alone"
    return analysis


def shown(analysis: Analysis) -> list[tuple[object, ...]]:
    """Return all that findings say, in a form that can be compared."""
    return [
        (f.path, f.start, f.end, f.code, f.message, f.help, f.notable, f.fix and (f.fix.edits, f.fix.safety))
        for f in analysis.findings
    ]


def migrated(
    texts: dict[str, str] | str, chosen: Options | None = None, unsafe: bool = False
) -> tuple[dict[str, str], list[Finding]]:
    """Make all applicable fixes once.

    Returns:
        The new texts by path, and the findings that are left without an applicable fix.
    """
    files = {"main.py": texts} if isinstance(texts, str) else texts
    analysis = look(files, chosen)
    assert not analysis.failures, analysis.failures
    edits: dict[str, set[Edit]] = {}
    left = []
    for finding in analysis.findings:
        if finding.fix is not None and (unsafe or finding.fix.safety is Safety.SAFE):
            for path, edit in finding.fix.edits:
                edits.setdefault(path, set()).add(edit)
        else:
            left.append(finding)
    paths = {**files, **{path: "" for path in edits if path not in files}}  # a fix may make a file
    return {path: spliced(text.encode(), edits.get(path, ())).decode() for path, text in paths.items()}, left


def migrate_text(text: str, chosen: Options | None = None, unsafe: bool = False) -> str:
    """Return a single file after all applicable fixes."""
    return migrated(text, chosen, unsafe)[0]["main.py"]


def codes(texts: dict[str, str] | str, chosen: Options | None = None) -> list[str]:
    """Return the codes of all findings, in order."""
    return [finding.code for finding in look(texts, chosen).findings]


def lines(text: str, chosen: Options | None = None) -> list[tuple[int, str]]:
    """Return line and code of every finding in a single file."""
    source = Source("main.py", text.encode(), "main")
    return [(source.position(f.start)[0], f.code) for f in look(text, chosen).findings]


COMPATIBLE = OptimizerForm.COMPATIBLE
THREAD = OptimizerForm.THREAD

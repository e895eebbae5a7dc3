"""The program as a library: texts or files in, results as values out."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from codemods.nnx.options import VERSIONS, OptimizerForm, Options
from nnxmigrate.files.discovery import NOTEBOOK, PYTHON, discover
from nnxmigrate.files.document import Unreadable
from nnxmigrate.files.python import EncodedDocument
from nnxmigrate.outcome import FileOutcome, Outcome, Status
from nnxmigrate.project import Project, load, read_document
from nnxmigrate.run import run_project
from nnxmigrate.settings import Settings
from nnxmigrate.versions.families import families

Paths = os.PathLike[str] | Iterable[str | os.PathLike[str]]

#: The name of a text that was given without one.
MAIN = "main.py"


@dataclass(frozen=True)
class Result(Outcome):
    """What :func:`migrate` or :func:`lint` came to.

    Attributes:
        files: how every file ended, see :class:`FileOutcome`.
        left: findings that remain, see :class:`Diagnostic`.
        fixed: findings that were fixed, or would be, with their places in the old text.
        written: whether changes were written to files.
        texts: every text that was given, by its name, as it is afterwards, and texts that were made; of files, those
            that changed.
    """

    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The new text of the one text that was given.

        Raises:
            ValueError: if files or several texts were given.
        """
        if MAIN not in self.texts:
            raise ValueError("not a single text was given: see the attribute `texts`")
        return self.texts[MAIN]


def migrate(
    code: str | Mapping[str, str] | Paths,
    *,
    origin: str = "0.10",
    to: str | Sequence[str] = ("0.11", "0.12"),
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    optimizer: str = "auto",
    unsafe_fixes: bool = False,
    todo: bool = False,
    exclude: Sequence[str] = (),
    write: bool = False,
) -> Result:
    """Rewrite code for a newer Flax.

    The settings are the arguments: no configuration file is read, and versions are not taken from the project.

    >>> old = "from flax import nnx\\nopt = nnx.Optimizer(nnx.Linear(1, 1, rngs=nnx.Rngs(0)), tx)\\n"
    >>> print(migrate(old).text.splitlines()[1])
    opt = nnx.Optimizer(nnx.Linear(1, 1, rngs=nnx.Rngs(0)), tx, wrt=nnx.Param)

    Args:
        code: a program's text; several texts by the names of their files, which may import each other; or a path or
            paths of files and folders. A string is always a text, a path is a :class:`pathlib.Path` or stands in a
            list.
        origin: the Flax version that the code was written for: ``"0.10"``, ``"0.11"``, ``"0.12"`` or a release.
        to: the Flax version, or versions, that it shall run on, as ``"0.12"``, ``"0.12.8"`` or ``"latest"``; by default
            on both, as on the command line where a project says nothing.
        select: only these rules or families, as ``["NNX101", "NNX2"]``.
        ignore: not these rules or families.
        optimizer: the form of optimizers that are used without their model: ``"auto"``, ``"thread"`` or
            ``"compatible"``.
        unsafe_fixes: whether fixes are made that may change what the program does.
        todo: whether a comment is left where hand work remains.
        exclude: files of folders to leave out, in the form of ``.gitignore``, relative to the working directory.
        write: whether files are changed; texts never are.

    Returns:
        The new texts, what was fixed and what is left. One bad file is no error, but a file whose status is failed.

    Raises:
        ValueError: if a version, a rule or a form is unknown, versions do not go together, or a path is given as text.
        BadRules: if an installed package offers rules that cannot be used.
    """
    options = _options(origin, to, select, ignore, optimizer)
    settings = Settings(options, unsafe_fixes=unsafe_fixes, todo=todo, write=write)
    return _run(code, settings, exclude)


def lint(
    code: str | Mapping[str, str] | Paths,
    *,
    origin: str = "0.10",
    to: str | Sequence[str] = ("0.11", "0.12"),
    select: Collection[str] = (),
    ignore: Collection[str] = (),
    exclude: Sequence[str] = (),
) -> Result:
    """Report mistakes in NNX code, and what the target no longer accepts; nothing is changed.

    >>> [one.code for one in lint("from flax import nnx\\nnnx.Optimizer(model, tx)\\n").left]
    ['NNX101']

    Args:
        code: see :func:`migrate`.
        origin: see :func:`migrate`.
        to: see :func:`migrate`.
        select: see :func:`migrate`.
        ignore: see :func:`migrate`.
        exclude: see :func:`migrate`.

    Returns:
        The findings, as its attribute ``left``; those that can be fixed carry the fix as ``replacements``.

    Raises:
        ValueError: see :func:`migrate`.
        BadRules: see :func:`migrate`.
    """
    options = replace(_options(origin, to, select, ignore, "auto"), lint=True)
    return _run(code, Settings(options, fix=False, write=False, audit=True), exclude)


def _options(
    origin: str, to: str | Sequence[str], select: Collection[str], ignore: Collection[str], optimizer: str
) -> Options:
    """Return checked options."""
    from nnxmigrate.rules import code_of, known

    targets, unknown = families(to if isinstance(to, str) else ",".join(to))
    origins, more = families(origin)
    if unknown or more or not targets or len(origins) != 1:
        asked = ", ".join(map(repr, (*more, *unknown) or ([origin] if targets else [to])))
        raise ValueError(f"unknown Flax version {asked}; known are {', '.join(VERSIONS)} and `latest`")
    origin = origins[0]
    if VERSIONS.index(targets[0]) < VERSIONS.index(origin):
        raise ValueError(f"cannot go back from Flax {origin} to {targets[0]}")
    wanted_codes, unwanted = (tuple(map(code_of, _several(some))) for some in (select, ignore))
    for code in (*wanted_codes, *unwanted):
        if not known(code):
            raise ValueError(f"there is no rule {code}")
    return Options(origin, targets, OptimizerForm(optimizer), wanted_codes, unwanted)


def _several(codes: Collection[str]) -> Collection[str]:
    return (codes,) if isinstance(codes, str) else codes


def _run(code: str | Mapping[str, str] | Paths, settings: Settings, exclude: Sequence[str]) -> Result:
    if isinstance(code, str):
        if "\n" not in code and code.rstrip().endswith((*PYTHON, *NOTEBOOK)):
            raise ValueError(f"a string is a program's text: for the file, pass pathlib.Path({code!r})")
        return _texts({MAIN: code}, settings)
    if isinstance(code, Mapping):
        return _texts(code, settings)
    paths = [os.fspath(path) for path in ([code] if isinstance(code, os.PathLike) else code)]
    return _result(run_project(load(discover(paths, exclude=exclude), settings.options.lint), settings), {})


def _texts(given: Mapping[str, str], settings: Settings) -> Result:
    documents = {}
    troubles = {}
    for name, text in given.items():
        try:
            documents[name] = read_document(name, text.encode("utf-8"))
        except (Unreadable, UnicodeEncodeError) as error:
            troubles[name] = FileOutcome(name, Status.FAILED, str(error))
    project = Project({name: name for name in given}, documents, troubles)
    return _result(run_project(project, replace(settings, write=False)), given)


def _result(outcome: Outcome, given: Mapping[str, str]) -> Result:
    changed = {file.path: _text(file) for file in outcome.files if file.status is Status.CHANGED}
    return Result(outcome.files, outcome.left, outcome.fixed, outcome.written, texts={**given, **changed})


def _text(file: FileOutcome) -> str:
    document = read_document(file.path, file.after)
    return file.after.decode(document.encoding if isinstance(document, EncodedDocument) else "utf-8")

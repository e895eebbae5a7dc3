"""Options that several commands share, and running what they ask for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import click

from codemods.nnx.options import VERSIONS, OptimizerForm, Options
from codemods.nnx.rule import SEVERITIES
from nnxmigrate import config, own_rules
from nnxmigrate.cache.store import NAME, Cache
from nnxmigrate.cli.refusals import check_call
from nnxmigrate.files.roots import common_folder, project_root
from nnxmigrate.perfile import PerFile
from nnxmigrate.versions.families import families

F = TypeVar("F", bound=Callable[..., Any])

IGNORE = (
    "Not these rules or families. An optimizer's edits are made together or not at all: to leave optimizers alone, "
    "ignore all of NNX1."
)
FORMATS = ("text", "json", "github", "sarif", "junit")


def stacked(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that applies several, the first outermost."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def codes(value: str, fail: Callable[[str], NoReturn] | None = None) -> tuple[str, ...]:
    """Return the rule codes or families meant by codes, names of rules or `ALL`, which are separated by commas.

    Args:
        value: the codes and names.
        fail: called with a message if one names no rule; by default it raises :class:`click.BadParameter`.
    """
    from nnxmigrate.rules import code_of

    written = [one.strip() for one in value.split(",") if one.strip()]
    for one in written:
        check_code(one, fail or _bad)
    return tuple(code_of(one) for one in written)


def versions(value: str, fail: Callable[[str], NoReturn] | None = None) -> tuple[str, ...]:
    """Return the families of Flax versions, which are separated by commas, in ascending order.

    Args:
        value: the versions, such as ``0.11``, ``0.12.8`` or ``latest``.
        fail: called with a message if one is unknown; by default it raises :class:`click.BadParameter`.
    """
    known, unknown = families(value)
    if unknown:
        message = f"unknown Flax version {', '.join(map(repr, unknown))}; known are {', '.join(VERSIONS)} and `latest`"
        (fail or _bad)(message)
    return known


def version(value: str, fail: Callable[[str], NoReturn] | None = None) -> str:
    """Return the family of one Flax version; see :func:`versions`."""
    found = versions(value, fail)
    if len(found) != 1:
        (fail or _bad)(f"{value!r} names more than one version")
    return found[0]


def command_line() -> str:
    """Return the command line as a user would write it."""
    words = click.get_current_context().find_root().meta.get("nnxmigrate.words", [])
    return shlex.join(["nnxmigrate", *words])


def _bad(message: str) -> NoReturn:
    raise click.BadParameter(message)


def check_code(code: str, fail: Callable[[str], object]) -> None:
    """Call ``fail`` with a message unless a code, a prefix or a name names a rule."""
    from nnxmigrate.rules import all_rules, code_of, known

    if not known(code_of(code)):
        import difflib

        words = {word: word for rule in all_rules() for word in (rule.code, rule.name)}
        written = code.lower() if "-" in code else code.upper()
        close = difflib.get_close_matches(written, words, 5, 0.7)
        # of those as close, the one with the most letters in their places: `00I` is meant for `001`, not for `800`
        close.sort(
            key=lambda word: (
                -difflib.SequenceMatcher(None, word, written).ratio(),
                -sum(a == b for a, b in zip(word, written, strict=False)),
            )
        )
        shown = code if "-" in code else code.upper()
        fail(f"there is no rule {shown}" + (f"; did you mean {close[0]}?" if close else "; see `nnxmigrate rules`"))


selection = stacked(
    click.argument("paths", nargs=-1, type=click.Path(readable=False), metavar="PATHS..."),
    click.option(
        "--from",
        "origin",
        type=version,
        metavar="VERSION",
        help="Flax version the code was written for. [what the project's pins, environment and code say, else 0.10]",
    ),
    click.option(
        "--to",
        "targets",
        type=versions,
        metavar="VERSIONS",
        help="Flax versions that it shall run on, as 0.12, or latest. [what the project says, else 0.11,0.12]",
    ),
    click.option(
        "--select",
        type=codes,
        metavar="CODES",
        multiple=True,
        help="Only these rules or families, as NNX101,NNX2; names of rules work too, and ALL.",
    ),
    click.option("--extend-select", type=codes, metavar="CODES", multiple=True, help="These rules besides the others."),
    click.option("--ignore", type=codes, metavar="CODES", multiple=True, help=IGNORE),
    click.option(
        "--optimizer",
        type=click.Choice([form.value for form in OptimizerForm]),
        help="Form of optimizers used without their model: hand the model through, take the compatible class, or "
        "whatever can be done. [auto]",
    ),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out files, in the form of .gitignore."),
    click.option(
        "--force-exclude", is_flag=True, default=None, help="Also leave out such files that are named, as hooks do."
    ),
    click.option("--include-markdown", is_flag=True, default=None, help="Also take Markdown files from folders."),
    click.option("--unsafe-fixes", is_flag=True, default=None, help="Also make fixes that may change behaviour."),
    click.option("--jobs", "-j", type=click.IntRange(1), help="Number of processes. [as many as pay]"),
)

reporting = stacked(
    click.option("--output-format", type=click.Choice(FORMATS), help="Form of the report. [text]"),
    click.option("--report", "html", type=click.Path(dir_okay=False), metavar="FILE.html", help="Also write a page."),
    click.option(
        "--require-clean", is_flag=True, default=None, help="Refuse to rewrite files that git could not bring back."
    ),
    click.option(
        "--fail-on",
        type=click.Choice(SEVERITIES),
        help="Exit with 1 only for findings this bad: an error fails or silently gives other results. [info]",
    ),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 whatever is found; failures still give 2."),
    click.option("--quiet", "-q", is_flag=True, help="Print failures only."),
    click.option("--verbose", "-v", is_flag=True, help="Also list every fix, and files that were skipped."),
    click.option("--no-cache", "cache", flag_value=False, default=None, help="Keep no results for the next run."),
    click.option(
        "--cache-dir",
        type=click.Path(file_okay=False),
        metavar="FOLDER",
        help="Where results are kept. [.nnxmigrate_cache in the project's folder]",
    ),
    click.option("--stdin-filename", metavar="NAME", help="Name of the code that is read from stdin with `-`."),
)


class Choices:
    """What the user chose: on the command line, else in pyproject.toml, else the default.

    Args:
        paths: the paths given.
        given: options of the command line by parameter name; None or empty where not given.
    """

    def __init__(self, paths: Sequence[str], given: Mapping[str, Any]) -> None:
        if not paths:
            raise click.UsageError("name at least one file or folder, or `-` for stdin")
        check_call(paths, given)
        place = given.get("stdin_filename") or os.curdir
        try:
            found = config.find([place if path == "-" else path for path in paths])
            self._table = config.load(found) if found else {}
            own_rules.load()
        except (config.ConfigError, own_rules.BadRules) as error:
            raise click.UsageError(str(error)) from error
        self._given = given
        self._file = found

    def get(self, parameter: str, key: str, default: Any) -> Any:
        """Return the value of an option by its parameter name and its key in the configuration."""
        given = self._given.get(parameter)
        if given is None or given == ():
            return self._table.get(key, default)
        return given

    def options(self, *, lint: bool) -> Options:
        """Return what the analysis shall look for.

        Raises:
            click.UsageError: if the choices do not go together.
        """
        origin, targets = self.versions()
        form = self._choice("optimizer", "optimizer", "auto", [form.value for form in OptimizerForm])
        return Options(
            origin or VERSIONS[0],
            targets or VERSIONS[1:],
            OptimizerForm(form),
            self._codes("select"),
            self._codes("ignore"),
            lint,
            extend=self._codes("extend-select"),
        )

    def versions(self) -> tuple[str | None, tuple[str, ...] | None]:
        """Return the versions that the user said code is taken from and to; None where that is left to the project.

        Raises:
            click.UsageError: if they do not go together.
        """
        origin = self.get("origin", "from", None)
        targets = self.get("targets", "to", None)
        targets = versions(targets, self._refuse) if isinstance(targets, str) else targets
        if origin is not None:
            origin = version(origin, self._refuse)
            if targets is not None and VERSIONS.index(targets[0]) < VERSIONS.index(origin):
                raise click.UsageError(f"cannot go back from Flax {origin} to {targets[0]}")
        return origin, targets

    def output_format(self) -> str:
        """Return the form of the report."""
        return self._choice("output_format", "output-format", "text", FORMATS)

    def threshold(self) -> str:
        """Return how bad a finding must be to count in the exit status."""
        return "never" if self._given.get("exit_zero") else self._choice("fail_on", "fail-on", "info", SEVERITIES)

    def per_file(self) -> PerFile | None:
        """Return the rules that are ignored in some files; None if the configuration names none.

        Raises:
            click.UsageError: if the table does not hold lists of codes.
        """
        table = self._table.get("per-file-ignores")
        if not table:
            return None
        for pattern, some in table.items():
            if not isinstance(some, list) or not all(isinstance(one, str) for one in some):
                self._refuse(f"tool.nnxmigrate.per-file-ignores.{pattern!r} must be a list of codes, not {some!r}")
        patterns = {pattern: codes(",".join(some), self._refuse) for pattern, some in table.items()}
        return PerFile(patterns, os.path.dirname(self._file or "") or os.curdir)

    def beside_configuration(self, path: str) -> str:
        """Return a path of the configuration, which is relative to its file."""
        return os.path.join(os.path.dirname(self._file or ""), path)

    def moved(self, project: str, copy: str) -> Choices:
        """Return the same choices for a copy of a project: paths in the configuration are meant there."""
        other = object.__new__(Choices)
        vars(other).update(vars(self))
        if self._file is not None:
            other._file = os.path.normpath(os.path.join(copy, os.path.relpath(self._file, project)))
        return other

    def exclude(self) -> tuple[Sequence[str], str]:
        """Return the patterns of files to leave out, and the folder that they are relative to."""
        if self._given.get("exclude"):
            return self._given["exclude"], os.curdir
        return self._table.get("exclude", ()), os.path.dirname(self._file or "") or os.curdir

    def cache(self, paths: Sequence[str]) -> Cache | None:
        """Return where results are kept; None for nowhere, as where no project is.

        Args:
            paths: the paths given.
        """
        if not self.get("cache", "cache", True):
            return None
        given = self._given.get("cache_dir")
        if given:
            return Cache(given)
        configured = self._table.get("cache-dir")
        if configured:
            return Cache(os.path.join(os.path.dirname(self._file or ""), configured))
        root = project_root(common_folder({os.path.abspath(path) for path in paths}) or os.curdir)
        return Cache(os.path.join(root, NAME)) if root else None

    def jobs(self) -> int | None:
        """Return the number of processes; None if the program shall choose."""
        jobs: int | None = self.get("jobs", "jobs", None)
        if jobs is not None and jobs < 1:
            self._refuse(f"tool.nnxmigrate.jobs must be 1 or more, not {jobs}")
        return jobs

    def _choice(self, parameter: str, key: str, default: str, allowed: Sequence[str]) -> str:
        value = str(self.get(parameter, key, default))
        if value not in allowed:
            self._refuse(f"tool.nnxmigrate.{key} must be one of {', '.join(allowed)}, not {value!r}")
        return value

    def _codes(self, key: str) -> tuple[str, ...]:
        given = self._given.get(key.replace("-", "_"))
        if given:
            return tuple(code for group in given for code in group)
        configured = ",".join(self._table.get(key, ()))
        return codes(configured, self._refuse) if configured else ()

    def _refuse(self, message: str) -> NoReturn:
        raise click.UsageError(f"{self._file}: {message}" if self._file else message)

"""Findings kept in a file that people read and review: what is left of a migration, or the baseline of a linter."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from nnxmigrate.files.atomic import write_all
from nnxmigrate.files.discovery import display
from nnxmigrate.files.document import Document, Unreadable
from nnxmigrate.files.roots import common_folder, project_root
from nnxmigrate.files.toml import parse
from nnxmigrate.outcome import Diagnostic, FileOutcome, Outcome, Status

LEFT = ".nnxmigrate-left.toml"
BASELINE = ".nnxmigrate-baseline.toml"
_NOTED = f"noted when it was seen, in {LEFT}"  # what reports say of what no later run can see

_HEADS = {
    LEFT: """\
# What is left to do after `nnxmigrate`; `nnxmigrate status` lists it. An entry goes when its place is in order or its
# line has changed; delete it to say that it is done. Commit this file: other runs and continuous integration read it.
""",
    BASELINE: """\
# Findings of `nnxmigrate lint` that were there when this file was written: `--baseline` keeps quiet about them, and
# `--write-baseline` writes the file anew.
""",
}


class BadRecord(Exception):
    """A file of recorded findings cannot be read; the message says why."""


@dataclass(frozen=True)
class Entry:
    """A finding as it is kept.

    Attributes:
        path: the file, relative to the record's folder, with slashes.
        code: the rule.
        text: the line of code, without what surrounds it.
        line: where it was; lines move, so that the text decides.
        message: what is wrong.
        help: the way out.
        once: whether no later run can see it, since it showed beside others that were fixed.
    """

    path: str
    code: str
    text: str
    line: int = 0
    message: str = ""
    help: str = ""
    once: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes it the same finding in another run."""
        return self.path, self.code, self.text


@dataclass
class Record:
    """A file of recorded findings.

    Attributes:
        file: where it is, or would be.
        entries: what it holds.
        most: how many entries there were at most since it began.
    """

    file: str
    entries: list[Entry] = field(default_factory=list)
    most: int = 0

    @property
    def folder(self) -> str:
        """The folder that its paths are relative to."""
        return os.path.dirname(os.path.abspath(self.file))

    def name(self, path: str) -> str:
        """Return what the record calls a file."""
        return os.path.relpath(os.path.abspath(path), self.folder).replace(os.sep, "/")

    def entry(self, one: Diagnostic) -> Entry:
        """Return a finding as an entry."""
        help_text = _own_help(one.help) if one.beside else one.help
        line = one.line.strip()
        return Entry(self.name(one.path), one.code, line, one.start.line, one.message, help_text, one.beside)

    def save(self) -> None:
        """Write the file; remove it if nothing is in it.

        Raises:
            WriteFailed: if it cannot be written.
        """
        if not self.entries:
            if os.path.exists(self.file):
                os.remove(self.file)
            return
        text = _written(self)
        if not os.path.exists(self.file) or _read(self.file) != text:
            write_all({self.file: text.encode("utf-8")})


def place(paths: Iterable[str], name: str = LEFT) -> str:
    """Return where the record for some paths is: the nearest one at or above them, else the top of their project."""
    absolute = [os.path.abspath(path) for path in paths]
    start = common_folder({path if os.path.isdir(path) else os.path.dirname(path) for path in absolute}) or os.getcwd()
    folder = start
    while not os.path.isfile(os.path.join(folder, name)):
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return os.path.join(project_root(start) or start, name)
        folder = parent
    return os.path.join(folder, name)


def load(file: str) -> Record:
    """Read a record; an empty one if there is no such file.

    Raises:
        BadRecord: if the file is no record.
    """
    if not os.path.isfile(file):
        return Record(file)
    try:
        content = parse(_read(file))
        if strange := content.keys() - {"left", "most"}:
            raise ValueError(f"it is no list of findings, since it has {', '.join(sorted(strange))}")
        entries = [Entry(**one) for one in content.get("left", [])]
        return Record(file, entries, int(content.get("most", len(entries))))
    except (OSError, ValueError, TypeError) as error:
        raise BadRecord(f"{display(file)} cannot be read: {error}") from error


def _read(file: str) -> str:
    with open(file, encoding="utf-8") as stream:
        return stream.read()


def _written(record: Record) -> str:
    lines = [_HEADS.get(os.path.basename(record.file), _HEADS[BASELINE])]
    if os.path.basename(record.file) == LEFT:
        lines.append(f"most = {max(record.most, len(record.entries))}\n")
    for one in sorted(record.entries, key=lambda one: (one.path, one.line, one.code, one.text)):
        lines.append("[[left]]")
        for key, value in vars(one).items():
            if value or key in ("path", "code", "text"):
                lines.append(f"{key} = {_value(value)}")
        lines.append("")
    return "\n".join(lines)


def _value(value: object) -> str:
    """Return a string, number or boolean as TOML has it, which is how JSON has it but for the character 127."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


Looked = Callable[[str], bool]


def standing(
    record: Record, outcome: Outcome, documents: Mapping[str, Document], looked: Looked
) -> tuple[list[Diagnostic], list[Entry]]:
    """Return the entries of files of a run that still stand and that the run did not find itself.

    An entry stands as long as its line is there, unless the run looked for its rule and could have seen it.

    Args:
        record: what was recorded.
        outcome: what the run found.
        documents: the texts of the files of the run, by name, that its places refer to.
        looked: says whether the run looked for a rule.

    Returns:
        The findings that stand, and all entries that remain, those of other files too.
    """
    names = {record.name(file.path): file.path for file in outcome.files}
    found = Counter(record.entry(one).key for one in outcome.left)
    more: list[Diagnostic] = []
    kept: list[Entry] = []
    taken: set[tuple[str, int]] = set()
    for entry in record.entries:
        if entry.path not in names:
            if os.path.exists(os.path.join(record.folder, entry.path)):
                kept.append(entry)
            continue
        if found[entry.key] > 0:
            found[entry.key] -= 1
            kept.append(entry)
            continue
        document = documents.get(names[entry.path])
        if document is None or (looked(entry.code) and not entry.once):
            continue
        line = _line(document, entry, taken)
        if line is None or _silenced(document.line(line), entry.code):
            continue
        taken.add((entry.path, line))
        kept.append(entry)
        more.append(_diagnostic(entry, names[entry.path], document, line))
    return more, kept


def _own_help(text: str) -> str:
    """Return a help without the remark that reports add: what a run reports is what it keeps for the next one."""
    return text.partition(_NOTED)[0].removesuffix("; ")


def _line(document: Document, entry: Entry, taken: set[tuple[str, int]]) -> int | None:
    """Return the line that holds an entry's text, the nearest to where it was."""
    lines = [
        number
        for number in range(1, len(document.line_starts) + 1)
        if document.line(number).strip() == entry.text and (entry.path, number) not in taken
    ]
    return min(lines, key=lambda number: abs(number - entry.line), default=None)


def _silenced(line: str, code: str) -> bool:
    from nnxmigrate.suppress import codes_in

    codes = codes_in(line)
    return codes is not None and (not codes or any(code.startswith(one) for one in codes))


def _diagnostic(entry: Entry, path: str, document: Document, line: int) -> Diagnostic:
    text = document.line(line)
    start = document.line_starts[line - 1] + len(text[: len(text) - len(text.lstrip())].encode())
    spot = document.spot(start)
    end = document.spot(start + len(text.strip().encode()))
    help_text = f"{_own_help(entry.help)}; {_NOTED}".lstrip("; ") if entry.once else entry.help
    return Diagnostic(entry.code, path, spot, end, entry.message, help_text, text, beside=entry.once)


def with_left(outcome: Outcome, more: Sequence[Diagnostic]) -> Outcome:
    """Return an outcome with more findings left."""
    if not more:
        return outcome
    order = {file.path: number for number, file in enumerate(outcome.files)}
    left = sorted(
        [*outcome.left, *more],
        key=lambda one: (order[one.path], one.start.cell or 0, one.start.line, one.start.column),
    )
    paths = {one.path for one in more}
    files: list[FileOutcome] = [
        replace(file, status=Status.FINDINGS) if file.path in paths and file.status is Status.UNCHANGED else file
        for file in outcome.files
    ]
    return replace(outcome, files=files, left=left)


def texts(
    outcome: Outcome, paths: Mapping[str, str], known: Mapping[str, Document], wanted: Iterable[str]
) -> dict[str, Document]:
    """Return the texts that the places of an outcome refer to, of the files wanted.

    Args:
        outcome: what the run came to.
        paths: where every file is, by name.
        known: texts as they were read.
        wanted: names of files.
    """
    from nnxmigrate.project import read_document

    new = {file.path: file.after for file in outcome.by_status[Status.CHANGED] if outcome.written}
    found: dict[str, Document] = {}
    for name in wanted:
        try:
            if name in new:
                found[name] = read_document(name, new[name])
            elif name in known:
                found[name] = known[name]
            elif name in paths:
                with open(paths[name], "rb") as stream:
                    found[name] = read_document(name, stream.read())
        except (OSError, Unreadable):
            continue
    return found


def subtract(record: Record, outcome: Outcome) -> tuple[Outcome, int, int]:
    """Return an outcome without the findings of a baseline.

    Returns:
        The outcome, how many findings it lost, and how many entries of its files were not found any more.
    """
    budget = Counter(one.key for one in record.entries)
    names = {record.name(file.path) for file in outcome.files}
    left = []
    for one in outcome.left:
        key = record.entry(one).key
        if budget[key] > 0:
            budget[key] -= 1
        else:
            left.append(one)
    paths = {one.path for one in left}
    files = [
        replace(file, status=Status.UNCHANGED) if file.status is Status.FINDINGS and file.path not in paths else file
        for file in outcome.files
    ]
    stale = sum(count for key, count in budget.items() if key[0] in names)
    return replace(outcome, files=files, left=left), len(outcome.left) - len(left), stale

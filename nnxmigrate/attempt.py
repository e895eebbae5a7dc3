"""Making fixes in memory, round by round, until nothing is left to fix, and proving the result."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from codemods.nnx.edits import Edit, merged, spliced
from codemods.nnx.findings import Failure, Finding, Fix, Safety
from codemods.nnx.rule import MISTAKES
from codemods.nnx.source import Source
from nnxmigrate.analyser import Analyser
from nnxmigrate.diagnose import diagnostic
from nnxmigrate.files.document import Document, EditRefused, Unreadable
from nnxmigrate.fixing import ABSENT, choose, moved
from nnxmigrate.outcome import Diagnostic
from nnxmigrate.outdated import put_away
from nnxmigrate.project import Project, groups, read_document, sources
from nnxmigrate.settings import Settings
from nnxmigrate.suppress import sift, unused
from nnxmigrate.todo import marks, standing

#: Fixes that overlap are made one after the other; more rounds than this mean that rules undo each other.
ROUNDS = 10

Key = tuple[str, str, int]


class Broken(Exception):
    """Fixes did not prove themselves.

    Attributes:
        failures: the files to leave alone, with the reasons.
    """

    def __init__(self, failures: Sequence[Failure]) -> None:
        super().__init__(*(failure.message for failure in failures))
        self.failures = failures


class State(NamedTuple):
    """The project's texts at one moment."""

    documents: Mapping[str, Document]
    sources: Mapping[str, Source]

    @classmethod
    def of(cls, documents: Mapping[str, Document], known: Mapping[str, Source] | None = None) -> State:
        """Return the state of documents; sources already known for the same texts are kept with their trees."""
        fresh = sources(documents)
        for name, source in (known or {}).items():
            if name in fresh and fresh[name].data == source.data:
                fresh[name] = source
        return cls(documents, fresh)

    def groups(self) -> list[list[Source]]:
        """Return the sources in groups that are analysed apart, each in an order that does not depend on the run's."""
        return [[self.sources[name] for name in sorted(group)] for group in groups(self.documents)]

    def edited(self, edits: Mapping[str, Sequence[Edit]]) -> State:
        """Return the state after edits.

        Raises:
            Broken: if a file does not hold the intended text then, or the text is no Python.
        """
        documents = dict(self.documents)
        failures = []
        for path, changes in edits.items():
            try:
                documents[path] = _edited(path, documents.get(path, ABSENT), changes)
            except EditRefused as error:
                failures.append(Failure(path, f"a fix cannot be written: {error}"))
            except RecursionError:
                failures.append(Failure(path, "nested too deeply to be fixed"))
            except (Unreadable, SyntaxError, ValueError) as error:
                failures.append(Failure(path, f"a fix gives a file that is not right: {error}", internal=True))
        if failures:
            raise Broken(failures)
        return State.of(documents, self.sources)


def _edited(path: str, document: Document, edits: Sequence[Edit]) -> Document:
    new = read_document(path, document.render(edits))
    if new.text != spliced(document.text, edits):
        raise ValueError("it does not read back as intended")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Source(path, new.text).tree  # noqa: B018 - raises if the text is no Python
    return new


@dataclass
class Attempt:
    """What fixing came to.

    Attributes:
        documents: the files as they are to be.
        fixes: the fixes made.
        fixed: the findings that were fixed, with their places in the old text.
        left: the findings that remain, with their places in the new text.
        left_before: the same, with their places in the old text.
        failures: files that could not be analysed.
        unanswered: how many questions about values were cut short.
    """

    documents: Mapping[str, Document]
    fixes: set[Fix]
    fixed: list[Diagnostic]
    left: list[Diagnostic]
    left_before: list[Diagnostic]
    failures: list[Failure]
    unanswered: int = 0


class Fixer:
    """Attempts to fix one project in memory.

    Args:
        project: the files.
        settings: what is asked for.
    """

    def __init__(self, project: Project, settings: Settings) -> None:
        self._settings = settings
        self._context = project.context
        self._outdated = put_away([path for path in project.documents if path not in project.context])
        self._analyser = Analyser(settings.options, settings.jobs, project.context, settings.cache)
        self._start = State.of(project.documents)

    def attempt(self, barred: Collection[str] = ()) -> Attempt:
        """Make all fixes that are asked for and touch no barred file.

        Raises:
            Broken: if the result does not prove itself.
        """
        state = self._start
        first = self._analyser(state.groups())
        sifted = sift(first.findings, state.documents, self._settings.per_file)
        silenced = {finding.fix for finding in sifted.silenced}

        def allowed(fix: Fix) -> bool:
            asked_for = self._settings.fix and (fix.safety is Safety.SAFE or self._settings.unsafe_fixes)
            return asked_for and fix not in silenced and not fix.paths & set(barred)

        findings = self._reported(sifted.kept)
        if self._settings.audit:
            idle = unused(sifted.suppressions, self._settings.options)
            findings = _ordered([*findings, *self._reported(self._unless_per_file(idle))], state)
        tally = _Tally(findings, state.documents)
        for number in range(ROUNDS + 1):
            choice = choose(findings, state.documents, allowed, self._context)
            tally.refused |= choice.refused
            if not choice.fixes:
                break
            if number == ROUNDS:
                raise _broken(choice.edits, "its fixes come to no end")
            new = state.edited(choice.edits)
            analysis = self._analyser(new.groups())
            _prove(first.failures, analysis.failures, choice.edits)
            tally.note(choice.fixes, choice.edits, findings, state.documents)
            state = new
            sifted = sift(analysis.findings, state.documents, self._settings.per_file)
            silenced |= {finding.fix for finding in sifted.silenced}
            findings = self._reported(sifted.kept)
        tally.finish(findings, allowed)
        marked = {path: document for path, document in state.documents.items() if path not in self._context}
        noted = list(standing(marked, tally.left, self._looked))
        if noted:
            before = {path: self._start.documents[path] for path in marked if path in self._start.documents}
            seen = standing(before, first.findings, self._looked)
            tally.left_before += (diagnostic(finding, self._start.documents) for finding in seen)
        if self._settings.todo:
            editable = {path: document for path, document in marked.items() if path not in barred}
            comments = marks(tally.left, editable, tally.once, self._looked)
            state = state.edited(comments)
            tally.move(comments)
            noted = [_shifted(finding, comments) for finding in noted]
        return Attempt(
            state.documents,
            tally.fixes,
            tally.fixed,
            [
                replace(diagnostic(finding, state.documents, tally.refused), beside=_key(finding) in tally.once)
                for finding in _ordered([*tally.left, *noted], state)
            ],
            tally.left_before,
            first.failures,
            first.unanswered,
        )

    def _unless_per_file(self, findings: Iterable[Finding]) -> list[Finding]:
        quiet = self._settings.per_file
        return [one for one in findings if quiet is None or not quiet.silences(one.path, one.code)]

    def _looked(self, code: str) -> bool:
        """Say whether this run looks for a rule."""
        from nnxmigrate.rules import looked_for

        return looked_for(code, self._settings.options)

    def _reported(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings in files that are more than context; of mistakes in outdated ones, if they are selected.

        Files are analysed in groups: only here it is known which folder all of them are in.
        """
        options = self._settings.options
        selected = (*options.select, *options.extend)
        return [
            finding
            for finding in findings
            if finding.path not in self._context
            and (
                finding.path not in self._outdated
                or not finding.code.startswith(MISTAKES)
                or finding.code.startswith(selected)
            )
        ]


class _Tally:
    """Follows the findings of the first round through the rounds of fixing.

    A finding that cannot be fixed stays a finding even if it is no longer seen after other fixes: it may be the
    explanation of one of them. A fix that had to wait for another is done if its finding is gone at the end.
    """

    def __init__(self, findings: Sequence[Finding], documents: Mapping[str, Document]) -> None:
        self._documents = documents
        self._now = {finding: finding for finding in findings}  # as first seen: as it is now
        self.fixes: set[Fix] = set()
        self.fixed: list[Diagnostic] = []
        self.left: list[Finding] = []
        self.left_before: list[Diagnostic] = []
        self.refused: dict[Fix, str] = {}
        self.once: set[Key] = set()  # what is left and was seen beside something that is fixed now

    def note(
        self,
        fixes: set[Fix],
        edits: Mapping[str, Sequence[Edit]],
        findings: Sequence[Finding],
        documents: Mapping[str, Document],
    ) -> None:
        """Take down what a round did."""
        places = {_key(now): first for first, now in self._now.items()}
        for finding in findings:
            first = places.get(_key(finding))
            waited = first is not None and first.fix is None  # what could not be fixed before others were
            if finding.fix in fixes and (finding in self._now or first is None or waited):
                self.fixed.append(diagnostic(finding, documents))
                self._now.pop(finding, None)
                if first is not None and waited:
                    self._now.pop(first, None)
        made = {_place(finding): finding.fix for finding in findings if finding.fix in fixes}
        for first, now in list(self._now.items()):  # what was offered, and is made by another finding of that place
            done = made.get(_place(now))
            if done is not None and first.fix is not None and _texts(first.fix) <= _texts(done):
                self._now.pop(first)
        self.fixes |= fixes
        self._now = {first: _shifted(now, edits) for first, now in self._now.items()}

    def finish(self, findings: Sequence[Finding], allowed: Callable[[Fix], bool]) -> None:
        """Take down what the last round found."""
        last = {_key(finding): finding for finding in findings}
        for first, now in self._now.items():
            if _key(now) in last or first.fix is None or not allowed(first.fix):
                self.left_before.append(diagnostic(first, self._documents, self.refused))
                if _key(now) not in last:
                    self.once.add(_key(now))
                    last[_key(now)] = now
            else:
                self.fixed.append(diagnostic(first, self._documents))
        self.left = list(last.values())

    def move(self, edits: Mapping[str, Sequence[Edit]]) -> None:
        """Move what is left to where it is after edits."""
        pairs = [(_shifted(finding, edits), _key(finding) in self.once) for finding in self.left]
        self.left = [finding for finding, _ in pairs]
        self.once = {_key(finding) for finding, once in pairs if once}


def _place(finding: Finding) -> tuple[str, int]:
    return finding.path, finding.start


def _texts(fix: Fix | None) -> set[tuple[str, bytes]]:
    """Return what a fix writes into which files."""
    return {(path, edit.text) for path, edit in fix.edits} if fix is not None else set()


def _key(finding: Finding) -> Key:
    return finding.code, finding.path, finding.start


def _ordered(findings: Iterable[Finding], state: State) -> list[Finding]:
    order = {path: number for number, path in enumerate(state.documents)}
    return sorted(findings, key=lambda finding: (order[finding.path], finding.start, finding.code))


def _shifted(finding: Finding, edits: Mapping[str, Sequence[Edit]]) -> Finding:
    """Return a finding, and what its fix would replace, where they are after edits."""
    if not any(path in edits for path in {finding.path, *(finding.fix.paths if finding.fix else ())}):
        return finding
    own = merged(edits.get(finding.path, ()))
    start = moved(finding.start, own)
    related = tuple(replace(one, start=moved(one.start, own), end=moved(one.end, own)) for one in finding.related)
    return replace(finding, start=start, end=max(start, moved(finding.end, own)), fix=None, related=related)


def _prove(before: Sequence[Failure], after: Sequence[Failure], edits: Mapping[str, Sequence[Edit]]) -> None:
    """Check that every file that could be analysed before the edits still can."""
    known = {failure.path for failure in before}
    new = {failure.path: failure.message for failure in after if failure.path not in known}
    if new:
        guilty = new.keys() & edits.keys() or edits.keys()
        raise _broken(guilty, next(iter(new.values())))


def _broken(paths: Iterable[str], reason: str) -> Broken:
    return Broken([Failure(path, f"a fix did not prove itself: {reason}", internal=True) for path in paths])

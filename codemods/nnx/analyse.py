"""The one entry point: sources in, findings with edits out."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from dataclasses import replace

from codemods.nnx.catalogue import every_rule
from codemods.nnx.context import Context
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Analysis, Failure, Finding
from codemods.nnx.lint.left_out import worth_telling
from codemods.nnx.listed import Words
from codemods.nnx.options import VERSIONS, Options
from codemods.nnx.project import Modules, Project
from codemods.nnx.rewrite import drafts
from codemods.nnx.rule import Kind, Rule
from codemods.nnx.source import Source
from codemods.nnx.walk import walk

_OF_NNX = ("NNX1", "NNX2", "NNX4", "NNX6")  # the families of such migration rules

#: Called with what is being done, if somebody watches.
listener: Callable[[str], None] | None = None


class Stopped(BaseException):
    """The analysis was told to stop; no Exception, so that nothing takes it for a defect."""


def analyse(
    sources: Sequence[Source],
    options: Options,
    asked: Collection[str] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Analysis:
    """Find what the chosen rules have to say about a project.

    Nothing is read or written; a source that cannot be analysed becomes a failure and the others go on.

    Args:
        sources: all modules of the project that may matter, each with a unique path.
        options: what is asked for.
        asked: the paths of the sources that findings are wanted of, the same as if all were; None for all. The
            others are only read to understand these.
        stop: asked many times a second whether to go on no further.

    Raises:
        Stopped: if ``stop`` said so.

    Returns:
        Findings in order of path and position, and the sources that failed.
    """

    def poll() -> None:
        if stop is not None and stop():
            raise Stopped

    result = Analysis()
    modules: list[ModuleFacts] = []
    for source in sources:
        poll()
        if listener is not None:
            listener(f"parsing {source.path}")
        try:
            modules.append(source.once(walk))
        except SyntaxError as error:
            place = f"line {error.lineno}: " if error.lineno else ""
            result.failures.append(Failure(source.path, f"{place}{error.msg}"))
        except (RecursionError, MemoryError):
            result.failures.append(Failure(source.path, "nested too deeply to be analysed"))
        except ValueError as error:  # null bytes
            result.failures.append(Failure(source.path, str(error)))
        except Exception as error:  # a defect of the walk must not cost the other files their analysis
            result.failures.append(_defect(source, "this file", error))
    if not modules:
        return result
    subjects = None if asked is None else Modules([module for module in modules if module.source.path in asked])
    project = Project(modules)
    project.poll = None if stop is None else poll
    context = Context(project, options, subjects)
    found: list[Finding] = []
    defects: dict[str, Failure] = {}
    # first those that look at the code as if it came from the oldest version: they share analyses with others
    nnx = any(module.source.mentions(b"nnx") for module in modules)
    wanted = [rule for rule in chosen(options) if nnx or not _of_nnx(rule)]
    words = Words(module.source for module in modules)
    for rule in sorted(wanted, key=lambda rule: not rule.always):
        poll()
        if words.silence(rule):
            continue
        if listener is not None:
            listener(f"looking for {rule.code} ({rule.name})")
        context.options = replace(options, origin=VERSIONS[0]) if rule.always else options
        try:
            with nullcontext() if options.fixes else drafts():
                found += rule.check(context)
        except Exception as error:  # nor one rule the others theirs
            defect = _defect((context.asked.modules or modules)[0].source, f"rule {rule.code}", error)
            defects.setdefault(defect.message.partition(" failed: ")[2], defect)
    result.failures += defects.values()
    result.unanswered = context.flow.questions.unanswered
    if asked is not None:
        found = [finding for finding in found if finding.path in asked]
    # a place that several classes or callers lead to is told of once
    told: dict[tuple[object, ...], Finding] = {}
    for finding in found:
        told.setdefault((finding.path, finding.start, finding.end, finding.code, finding.message), finding)
    telling = worth_telling([*told.values()], modules, options, every_rule())
    result.findings = sorted(telling, key=lambda f: (f.path, f.start, f.code))
    return result


def _defect(source: Source, what: str, error: Exception) -> Failure:
    """Return the failure that reports a defect of the analysis itself, with its place."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.filename.replace(chr(92), '/').rpartition('/')[2]}:{place.lineno}"
    # the text of an error over values may be of any length, since they hold each other
    shown = "" if isinstance(error, KeyError | RecursionError) else f": {error}"
    words = f"the analysis of {what} failed: {type(error).__name__}{shown} ({where})"
    return Failure(source.path, words, internal=True)


def chosen(options: Options) -> list[Rule]:
    """Return the rules that options ask for."""
    return [rule for rule in every_rule() if _wanted(rule, options)]


def applies(rule: Rule, options: Options) -> bool:
    """Say whether the versions of a run differ in what a rule is about, or it holds whatever they are."""
    release = ".".join(rule.since.split(".")[:2])
    return rule.kind is Kind.LINT or rule.always or release not in VERSIONS[1:] or options.crosses(release)


def _of_nnx(rule: Rule) -> bool:
    """Say whether a migration rule is about optimizers, streams, states or Variables of NNX."""
    return rule.kind is not Kind.LINT and rule.code.startswith(_OF_NNX)


def _wanted(rule: Rule, options: Options) -> bool:
    if not applies(rule, options):
        return False
    if any(rule.code.startswith(prefix) for prefix in options.ignore):
        return False
    if any(rule.code.startswith(prefix) for prefix in options.extend):
        return True
    if options.select:
        return any(rule.code.startswith(prefix) for prefix in options.select)
    return rule.default and (rule.kind is not Kind.LINT or options.lint)

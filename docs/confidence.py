"""How often lint rules were right in public projects: counts of the reviewed findings in ``docs/verdicts.csv``, and of
those on speed in ``docs/hint_verdicts.csv``.

``python docs/confidence.py TREE COMMIT REPORT.json`` prints the rows for the findings of a report that was made with
``nnxmigrate lint --output-format json``; a reader then fills in the verdicts:

- ``true``: the code is wrong there, or slow, and the message says why;
- ``useless``: what is said holds, but nobody would change the code;
- ``false``: nothing is wrong there.

A row without a code says that a project was read in which nothing was found.
"""

from __future__ import annotations

import csv
import datetime
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemods.nnx.rule import MISTAKES

VERDICTS = Path(__file__).parent / "verdicts.csv"
#: The verdicts on hints about speed, which were read in fewer projects.
HINTS = Path(__file__).parent / "hint_verdicts.csv"
COLUMNS = ("tree", "commit", "code", "place", "verdict", "date")
KNOWN = ("true", "useless", "false")
#: A rule of which so many findings were read, and a smaller share was right, does not run unless it is selected.
ENOUGH, SHARE = 10, 0.95


#: What was found where the rules had not been mended on the code they are judged by.
_FIRST = (
    "The rules were mended on what was found, so the share of the first look counts more. On the 52 projects that",
    "were added last there were 165 findings, 83 right, 45 of no use (10 of them NNX833, which no longer runs unless",
    "it is selected, and 10 NNX804, of which one object is now one finding), 37 false (14 of them in one project,",
    "where a value is kept before anything is compiled); on the 48 projects before them 139 findings, 102 right, 22",
    "of no use, 15 false; on the 20 projects before those 79 findings, 53 right, 7 of no use, 19 false (8 of them",
    "results shown in a script that was exported from a notebook); on the 19 projects before those 106 findings, 35",
    "right, 46 of no use (25 of them NNX845, which no longer runs unless it is selected), 25 false.",
    "",
    "44 more projects of JAX without NNX (2026-11-23) had 200 findings at first sight: 116 right, 43 of no use, 41",
    "false. Of the 73 that name what JAX took away (NNX881) 72 were right; of the other 127, 44 were right, 43 of no",
    "use (16 of them mistakes that a tutorial shows on purpose) and 40 false, of which 11 were NNX771, which took a",
    "change of what a frozen object holds for one of the object.",
    "",
    "On 33 projects with NNX code that were added after all of these there were 82 findings at first look, 55 right,",
    "17 of no use, 10 false; two of them did not come to an end before arrays were asked about once.",
    "",
    "31 projects were read by somebody else when all of that was mended: 112 findings, 88 right, 11 of no use, 13",
    "false; without the names that JAX took away (NNX762, NNX881) 41 right, 11 of no use, 13 false.",
    "",
    "48 more projects, a third of them with NNX code, were read before the rules were mended on them: 218 findings,",
    "165 right, 36 of no use, 17 false; without those names 89 right, 36 of no use (9 each of NNX801, NNX806 and",
    "NNX830), 17 false. Since then such a name is one finding per file, and NNX761 and NNX889 no longer run unless",
    "they are selected.",
    "",
    "15 projects that nobody had linted were read by somebody else after that: 120 findings, 80 right, 34 of no use,",
    "6 false. Half of them are of one project (60 NNX830: 50 right, 10 of no use); NNX830 is two thirds of what is of",
    "no use: most often the same noise for methods that are compared, which NNX773 tells of since.",
    "",
    "When that was mended, 32 more projects were read: 82 findings, 29 right, 48 of no use, 5 false; 39 of those of no",
    "use are of one project, which makes a model and its target with one key, of which nothing is told since. On 18",
    "projects read after those there were 80 findings, 61 right, 11 of no use, 8 false (4 of these in one test).",
    "",
    "46 projects were read by another reader then: 105 findings, 57 right, 26 of no use (13 of them names that JAX",
    "took away, in a project that asks for a JAX which has them), 22 false (12 of them in one function, which reshapes",
    "arrays of NumPy). One of them brought the analysis into an endless loop, which is mended.",
    "",
    "24 projects that nobody had linted were read by a third reader when that was mended: 94 findings, 56 right, 29 of",
    "no use (13 of them names that JAX took away, in a project whose container pins a JAX that has them), 9 false.",
    "",
    "45 projects were read by a fourth reader after that, 25 of them with NNX code: 208 findings, 137 right, 38 of no",
    "use (21 of them NNX802, in scripts whose model never changes after it is compiled), 33 false. Two thirds of these",
    "took what is not traced for traced: functions that a helper is handed elsewhere, flags that a caller leaves out,",
    "variables bound before a function is made. All but one of the 71 are no longer made since.",
    "",
    "98 projects were read by a fifth reader then, 39 of them with NNX code: 180 findings, 124 right, 46 of no use (22",
    "of them NNX830: settings of an experiment that share their keys, noise that is multiplied by 0, numbers that",
    "nobody reads), 10 false. Two of them brought the analysis into a search without an end; in one of these it is",
    "still cut off from outside, so that it is not listed. All of the 10 and half of the 46 are no longer made.",
    "",
    "104 projects were read by a sixth and a seventh reader after that, 39 of them with NNX code: 381 findings, 272",
    "right, 88 of no use (28 of them NNX827 in one project, whose methods only run on objects that are new in every",
    "trace; 18 NNX830 in another, whose random matrices only show how they are divided among devices), 21 false.",
    "Without these two projects 271 of 330 were right. In one project a rule ended in a recursion; it is mended. All",
    "of the 21 and 60 of the 88 are no longer made.",
    "",
    "55 projects were read by an eighth reader then, 17 of them with NNX code: 127 findings, 112 right, 7 of no use, 8",
    "false. 52 of them are of one project, code of PyTorch that language models put into JAX (49 right); without it 63",
    "of 75 were right. In one project a rule did not come to an end, so that nothing of it is in these numbers; that",
    "is mended. Of the 8 that were false one now says what is wrong there, and the others are no longer made, nor are",
    "2 of the 7.",
    "",
    "The same reader then read 22 more, 7 of them with NNX code: 47 findings, 32 right, 3 of no use, 12 false (4",
    "lines of one function, which a condition keeps from what is traced, and 4 of one field that holds a tree where",
    "its annotation says a function). 11 of the 12 are no longer made.",
    "",
    "30 projects were read by a ninth reader after that, 16 of them with NNX code: 59 findings, 46 right, 6 of no use,",
    "7 false (3 of them copies of one notebook). None of the 7 is made any more.",
    "",
    "38 projects were read by a tenth reader then, when new rules had been written: 95 findings, 70 right, 12 of no",
    "use (8 of them mistakes that a tutorial shows on purpose), 13 false in four places of the code, of which one is",
    "copied eight times. None of the 13 is made any more. Another project, a copy of Hugging Face",
    "transformers with 1.3 million lines, was not done within five minutes.",
    "",
    "70 projects were read by an eleventh reader after that, few of them with NNX code: 293 findings, 218 right, 44 of",
    "no use (18 of them NNX830), 31 false (8 of them NNX871 in one project, which uses a moving average for its state",
    "alone). Two rules crashed in one project each, which is mended, and one project was not done within five minutes.",
    "Of the 31 two are still made, and of the 44 eleven.",
    "",
    "68 more were read by a twelfth reader at the same time, four of them with NNX code: 148 findings, 115 right, 21",
    "of no use, 12 false. None of the 12 is made any more, and one of the 21. A project of 250,000 lines was not done",
    "within five minutes; of it only the files are listed that mention JAX or Flax.",
    "",
    "119 projects were read by a thirteenth reader then (2026-11-27), few of them with NNX code: 266 findings, 224",
    "right, 25 of no use (17 of them NNX830: inputs that only show shapes, copies of tutorials, noise that is equal",
    "on purpose), 17 false; without the names that JAX took away (NNX762, NNX881) 131 of 173 were right. Three of the",
    "17 are one habit of one project, whose first draw is replaced; these and one more NNX830 are still made.",
    "",
    "21 projects were read by a fourteenth reader on the same day, none with NNX code: 118 findings, 87 right, 25 of",
    "no use (12 of them NNX804, globals of one project that each compilation binds before it reads them, and 11 in a",
    "book that shows the mistakes on purpose), 6 false. None of the 6 is made any more, nor are the 12.",
    "",
    "30 projects with NNX code were read by a fifteenth reader then: 80 findings, 32 right, 10 of no use (8 of them",
    "NNX735 in one file), 38 false (33 of them NNX771 in one file, whose classes derive from a frozen one and set",
    "attributes of their own). One of the 38 is still made, and one of the 10. Of two large projects only the part",
    "was read that speaks of JAX, since the whole was not done within ten minutes; one of them was held up by a search",
    "through chains of conditions, which is mended.",
    "",
    "34 projects were read by a sixteenth reader after that (2026-11-28), nine of them with NNX code: 76 findings, 58",
    "right, 11 of no use, 7 false (4 of them NNX870 in one project, for values that go into the metrics alone);",
    "without names that JAX took away (NNX762, NNX881) 32 of 50 were right. None of the 7 is made any more, and one",
    "of the 11. NNX933 failed in half of these projects, which the program said; that is mended, and so it was not",
    "judged there.",
    "",
    "82 projects were read by a seventeenth reader on the same day, 13 of them with NNX code: 130 findings, 97",
    "right, 22 of no use (8 of them in files of PyTorch that name what has become a module of NNX, 7 mistakes that",
    "tutorials show on purpose), 11 false (3 of them in a cache, behind a return for what is traced); without names",
    "that JAX took away (NNX762, NNX881) 66 of 99 were right. None of the 11 is made any more, and 3 of the 22.",
    "",
    "97 projects were read by an eighteenth reader on the same day, 11 of them with NNX code: 328 findings, 245 right,",
    "59 of no use (22 of them names that the JAX has which a project of Linen pins, 15 NNX830), 24 false (8 of them in",
    "one file, below a condition that no tracer passes); without names that JAX took away (NNX302, NNX762, NNX881) 184",
    "of 244 were right. Here, other than above, findings on what must be migrated are counted too; the table leaves",
    "them out. One of the 24 is still made, and 6 of the 59. Another project did not come to an end in ten minutes,",
    "since masks were followed on every way; that is mended, and so it was not judged.",
    "",
    "60 projects were read by a nineteenth reader after that, 12 of them with NNX code: 115 findings, 89 right, 8 of",
    "no use (3 of them errors that are looked at on purpose), 18 false (5 of them models that are only made under",
    "`eval_shape`); without names that JAX took away (NNX762, NNX881) 67 of 93 were right. None of the 18 is made any",
    "more, nor are the 8. Another project did not come to an end in ten minutes, since nested dicts were looked into",
    "on every way; that is mended, and so it was not judged.",
    "",
    "51 projects were read by a twentieth reader then, 19 of them with NNX code: 96 findings, 77 right, 14 of no use",
    "(5 of them NNX806 in timers and callbacks, 4 modules that nothing trains), 5 false; without names that JAX took",
    "away (NNX762, NNX881) 69 of 88 were right. The same reader then read 39 more, none with NNX code: 63 findings,",
    "47 right, 8 of no use, 8 false; without those names 40 of 56 were right. None of the 13 false ones is made any",
    "more; of the 22, four are still made, and two more say something else now, which holds. Another of the 39 did",
    "not come to an end, since a method was replaced by itself compiled; that is mended, and it has no findings.",
    "",
    "59 projects of plain JAX were read by a twenty-first reader at the same time: 204 findings, 165 right, 4 of no",
    "use, 35 false; without names that JAX took away 117 right, 4 of no use, 35 false. Ten of the false ones are in",
    "one project, most of them code that only runs where something is no tracer, or where an argument is of a class",
    "of the project. Another project brought the analysis into a recursion without end, which is mended. Three of the",
    "false ones are still made, and two of the four of no use.",
    "",
    "73 projects of deep learning, nine of them with NNX code, were read by a twenty-second reader then (2026-11-29):",
    "194 findings, 144 right, 40 of no use (21 of them NNX830 for inputs of which only the shapes matter), 10 false;",
    "59 projects of plain JAX by a twenty-third: 169 findings, 101 right, 28 of no use, 40 false (18 of them NNX720",
    "for classes that overload operators). What one function tells was right four times in five, what other files",
    "told one time in five, which is why rules on traced values now ask for a chain of certain calls. Hints about",
    "speed were read there for the first time: 138 findings, 52 right, 72 of no use, 14 false. Of all these, none of",
    "the false ones is made any more, of those of no use 13, and of the right ones 286 of 297.",
    "",
    "When that was mended, 46 more projects of deep learning were read, 18 of them with NNX code: 110 findings, 92",
    "right, 9 of no use, 9 false (36 hints: 29 right, 6 of no use, 1 false), and 34 of plain JAX: 120 findings, 76",
    "right, 34 of no use (22 of them mistakes that one tutorial shows on purpose), 10 false (18 hints: 15 right, 3 of",
    "no use). One project was not done in 400 seconds, since one rule followed every way to a value; that is mended,",
    "as are 14 of the 20 false ones and 21 of the 52 of no use, and all of the right ones are still found.",
    "",
    "127 more projects of deep learning, 13 of them with NNX code, were read later that day: 159 findings, 123 right,",
    "23 of no use, 13 false (38 hints: 33 right, 5 of no use), and 107 of plain JAX: 182 findings, 131 right, 41 of no",
    "use (22 of them mistakes that three tutorials show on purpose), 10 false (30 hints: 26 right, 3 of no use, 1",
    "false). Of the false ones one is still made, of those of no use 18.",
    "",
    "When that was mended, 69 others were read, two of them with NNX code: 204 findings, 145 right (21 of them keys",
    "that are drawn from and split after that, whose numbers nobody can tell apart by a test), 44 of no use, 15 false",
    "(9 of them NNX807 in five projects); 19 hints, 16 right, 3 of no use. None of the false ones is made any",
    "more, and six of those of no use.",
    "",
    "107 more projects of deep learning, five of them with NNX code, were read then: 285 findings, 254 right (97 of",
    "them `jax.tree_map`, which is told by no lint rule and not in the table), 23 of no use, 8 false (28 hints: 22",
    "right, 1 of no use, 5 false); and 93 of plain JAX: 153 findings, 102 right, 29 of no use, 22 false (7 of them in",
    "one project that gives `static_argnames` as a set); 52 hints, 34 right, 18 of no use. Two rules failed on rare",
    "code, which is mended. None of the false ones is made any more, of those of no use 18 and 6 hints, and all of the",
    "right ones.",
    "",
    "When that was mended, 65 others were read, most of them in plain JAX: 146 findings, 90 right, 53 of no use (22",
    "of them in code that nobody calls), 3 false; 23 hints, 15 right, 7 of no use, 1 false. Two of the false ones are",
    "still made, one for a zero that a caller two functions up gives, and one for code that is traced anew.",
    "",
    "119 more projects of deep learning were read then, few of them with NNX code, 22 of them forks or namesakes of",
    "read ones: 540 findings without `jax.tree_map`, 458 right, 49 of no use (20 of them in one project), 33 false (51",
    "hints: 45 right, 5 of no use, 1 false); and 127 of plain JAX: 323 findings, 296 right (31 of them that name), 16",
    "of no use, 11 false (73 hints: 33 right, 33 of no use, 7 false). None of the false ones is made any more, and of",
    "those of no use 12 and 1 hint; 5 right hints are told once for a project now.",
    "",
    "87 more projects were read then, most of them in plain JAX, few with NNX: 193 findings, 160 right (54 of them",
    "names that JAX took away), 14 of no use, 19 false (9 of them NNX810 in one file that exchanges NumPy itself); 24",
    "hints, 20 right, 4 of no use. None of the false ones is made any more, nor 8 of those of no use; all right ones",
    "are. The rules on Linen are newer than these readings: on some 60 projects with Linen they found four mistakes,",
    "in one project, and nothing else.",
    "",
    "104 more projects were read then (2026-11-30), half of them with Linen, none with NNX: 624 findings, 592 right",
    "(309 of them names that JAX took away, most of those in two projects), 20 of no use, 12 false (3 NNX762 for names",
    "that jax.nn never had, 3 NNX830 of draws behind a condition that a caller switches off, 2 NNX803 below",
    "`disable_jit`); 22 hints, 20 right, 2 false. None of the false ones is made any more, nor 9 of those of no use;",
    "all right ones are.",
    "",
    "218 more projects were read then: 110 of deep learning with 399 findings, 368 right, 17 of no use, 14 false (6 of",
    "them NNX720 for methods that one project gives arrays itself), and 108 of plain JAX with 249 findings, 203 right,",
    "31 of no use, 15 false; without the names that JAX took away 384 of 461 right, 48 of no use, 29 false. Of 107",
    "hints 92 were right, 14 of no use, 1 false. NNX830 is 171 of the right ones, 19 of those of no use and 5 of the",
    "false ones. None of the false ones is made any more, of those of no use three mistakes and one hint.",
    "",
    "161 more projects were read then, 71 of plain JAX and 90 of deep learning, hardly one with NNX: 437 findings, 388",
    "right, 30 of no use (12 of them NNX830), 19 false (6 NNX556 for a Kalman update on two lines, 3 NNX553 for",
    "logarithms of a sigmoid); without the names that JAX took away 205 of 254 right, 30 of no use, 19 false. Of 76",
    "hints 64 were right, 7 of no use, 5 false. Two of the false ones are still made, and 14 of those of no use.",
    "",
    "When that was mended, 48 others were read: 158 findings, 132 right, 13 of no use (7 of them NNX830), 13 false (4",
    "NNX821 below `ensure_compile_time_eval`, 3 NNX807, 2 each of NNX872 and NNX939); without the names that JAX took",
    "away 79 of 105 right, 13 of no use, 13 false. Of 33 hints 23 were right, 1 of no use, 9 false (5 of them NNX907).",
    "Two rules failed on rare code and one took too long, which is mended. One of the false ones is still made, and",
    "two of the false hints; all right ones are.",
    "",
    "99 more projects were read then (2026-12-01), half of them of deep learning, 58 of them without findings: 200",
    "findings, 174 right, 23 of no use (12 of them NNX830 for the colours of cameras that are to be alike), 3 false (2",
    "NNX874, 1 NNX760); without the names that JAX took away 137 right, 23 of no use, 3 false. Of 28 hints 27 were",
    "right, 1 false. None of the false ones is made any more, and one of those of no use; all right ones are.",
    "",
    "When that was mended, 47 others were read, two with NNX code: 111 findings, 97 right, 5 of no use, 9 false (3",
    "NNX803 below an eager `shard_map`, 3 NNX971 in copies of one file); without the names that JAX took away 74",
    "right, 4 of no use, 9 false. Of 16 hints 15 were right, 1 false. One of the false ones is still made, and those",
    "of no use; all right ones are.",
    "",
    "125 more projects were read (2026-12-01), a third each of deep learning and of science, the rest reinforcement",
    "learning and notebooks: 260 findings, 231 right, 15 of no use (5 of them NNX820), 14 false (3 each of NNX762,",
    "NNX804 and NNX807); of 38 hints 37 were right, 1 of no use. None of the false ones is made any more, and one of",
    "those of no use; of the right ones one is told by another rule now, and one at the next use of its key.",
    "",
    "72 more projects were read (2026-12-01), of all these fields: 389 findings, 360 right (107 of them in one",
    "project), 14 of no use (7 NNX804 of one object), 15 false (6 NNX865 in one file, 3 NNX806); without the names",
    "that JAX took away 195 right, 14 of no use, 15 false. All 21 hints were right. None of the false ones is made",
    "any more, and 5 of those of no use; all right ones are.",
    "",
    "When that was mended, 39 others were read: 83 findings, 75 right, 2 of no use, 6 false (3 NNX588 in one file);",
    "without the names that JAX took away 35 right, 2 of no use, 6 false. Of 10 hints 9 were right, 1 of no use.",
    "One of the false ones is still made, and those of no use; all right ones are.",
)


@dataclass(frozen=True)
class Verdict:
    """What a reader found of one finding; ``code`` is empty for a project without findings."""

    tree: str
    commit: str
    code: str
    place: str
    verdict: str
    date: str


@dataclass(frozen=True)
class Confidence:
    """The verdicts on one rule, or on all.

    Attributes:
        trees: how many projects were read.
        findings: how many findings there were.
        true: those that were right.
        useless: those that were right and of no use.
        date: when the last one was read.
    """

    trees: int
    findings: int
    true: int
    useless: int
    date: str

    @property
    def share(self) -> float:
        """The share of findings that were not false."""
        return (self.true + self.useless) / self.findings if self.findings else 1.0

    def __str__(self) -> str:
        """Return the counts in words."""
        if not self.findings:
            return f"not seen in {self.trees} public projects ({self.date})"
        useless = f", {self.useless} of no use" if self.useless else ""
        wrong = self.findings - self.true - self.useless
        return (
            f"{self.findings} findings in {self.trees} public projects were read: {self.true} right{useless}"
            f"{f', {wrong} false' if wrong else ''} ({self.date})"
        )


def verdicts(file: Path = VERDICTS) -> list[Verdict]:
    """Return all verdicts.

    Raises:
        ValueError: if a row is not as it should be.
    """
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = [Verdict(**{name: row[name] for name in COLUMNS}) for row in rows]
    for one in found:
        if one.code and one.verdict not in KNOWN:
            raise ValueError(f"{one.place}: no verdict {one.verdict!r}")
    return found


def confidence(read: Sequence[Verdict], prefix: str = "NNX") -> Confidence:
    """Return the counts of the rules whose codes begin with a prefix."""
    chosen = [one for one in read if one.code and one.code.startswith(prefix)]
    counts = {word: sum(one.verdict == word for one in chosen) for word in KNOWN}
    date = max((one.date for one in read), default="")
    return Confidence(len({one.tree for one in read}), len(chosen), counts["true"], counts["useless"], date)


def table(read: Sequence[Verdict], hints: Sequence[Verdict]) -> str:
    """Return the page with the counts of every rule and the projects that were read.

    Args:
        read: the verdicts on mistakes.
        hints: the verdicts on hints about speed.
    """
    total = confidence(read)
    lines = [
        "# How often the lint rules are right",
        "",
        "Every finding of the default rules on mistakes in public projects, read by hand. Those that a rule no longer",
        "makes are left out. *Of no use* is what holds but nobody would change. A rule of which fewer than 95 % of at",
        "least ten findings hold does not run unless it is selected.",
        "",
        f"All together: {total}.",
        "",
        *_FIRST,
        "",
        *_counts(read),
        "",
        f"Hints about speed, which fail no run, were read in the last projects only: {confidence(hints)}.",
        "",
        *_counts(hints),
    ]
    lines += ["", "| project | commit |", "| --- | --- |"]
    lines += [f"| {tree} | {commit} |" for tree, commit in sorted({(one.tree, one.commit[:12]) for one in read})]
    return "\n".join(lines) + "\n"


def _counts(read: Sequence[Verdict]) -> Iterator[str]:
    """Yield the lines of a table of the rules that were seen."""
    yield "| rule | findings | right | of no use | false |"
    yield "| --- | --- | --- | --- | --- |"
    for code in sorted({one.code for one in read if one.code}):
        one = confidence(read, code)
        wrong = one.findings - one.true - one.useless
        yield f"| [{code}](rules/{code}.md) | {one.findings} | {one.true} | {one.useless} | {wrong} |"


def rows(tree: str, commit: str, report: Path) -> Iterator[list[str]]:
    """Yield the rows of a report's findings, with empty verdicts."""
    today = datetime.date.today().isoformat()
    findings = [one for one in json.loads(report.read_text())["findings"] if one["code"].startswith(MISTAKES)]
    for one in findings:
        cell = f"cell {one['start']['cell']}:" if "cell" in one["start"] else ""
        yield [tree, commit, one["code"], f"{one['path']}:{cell}{one['start']['line']}", "", today]
    if not findings:
        yield [tree, commit, "", "", "", today]


if __name__ == "__main__":
    csv.writer(sys.stdout, lineterminator="\n").writerows(rows(sys.argv[1], sys.argv[2], Path(sys.argv[3])))

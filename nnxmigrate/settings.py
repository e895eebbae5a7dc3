"""What one run shall do."""

from __future__ import annotations

from dataclasses import dataclass, field

from codemods.nnx.options import Options
from nnxmigrate.cache.store import Cache
from nnxmigrate.perfile import PerFile


@dataclass(frozen=True)
class Settings:
    """Choices of one run.

    Attributes:
        options: what the analysis looks for.
        fix: whether fixes are made at all.
        unsafe_fixes: whether fixes are made that may change what the program does.
        todo: whether a comment is left where hand work remains.
        write: whether files are changed; otherwise the outcome only says what would change.
        jobs: number of processes; None for as many as pay.
        per_file: rules that are ignored in some files.
        audit: whether suppression comments that suppress nothing are reported.
        cache: where results are kept from run to run; None for nowhere.
    """

    options: Options = field(default_factory=Options)
    fix: bool = True
    unsafe_fixes: bool = False
    todo: bool = False
    write: bool = True
    jobs: int | None = None
    audit: bool = False
    per_file: PerFile | None = None
    cache: Cache | None = None

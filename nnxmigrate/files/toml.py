"""Reading TOML that anybody may have written."""

from __future__ import annotations

import re
import sys
from typing import Any

#: A key of hundreds of parts costs the parser time that grows with the square of their number, and nobody writes one.
#: It is looked for where a word begins: within a long word, every start would cost its length.
_ENDLESS = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){300}""")


def parse(text: str) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises:
        ValueError: if it is no TOML, or of a kind that would exhaust the parser.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    if _ENDLESS.search(text):
        raise ValueError("a key has hundreds of parts")
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error

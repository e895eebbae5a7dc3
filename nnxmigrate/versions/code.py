"""What the code itself shows about the Flax that it was written for."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from codemods.nnx.newer import parse
from codemods.nnx.nodes import every
from codemods.nnx.options import VERSIONS
from codemods.nnx.symbols import PUBLIC
from nnxmigrate.files.document import Document

#: Names of flax.nnx that came with a family, and were not there before.
_SINCE: dict[str, str] = {
    name: version
    for number, version in reversed(list(enumerate(VERSIONS)))
    if number
    for name in PUBLIC[version] - frozenset().union(*(PUBLIC[older] for older in VERSIONS[:number]))
}
#: Names of flax.nnx that the oldest family alone has.
_GONE = PUBLIC[VERSIONS[0]] - frozenset().union(*(PUBLIC[newer] for newer in VERSIONS[1:]))
#: Names that the oldest and the newest family have, and one between them lacks: what came after 0.10 and has one of
#: these needs the newest.
_BACK = PUBLIC[VERSIONS[0]] & PUBLIC[VERSIONS[-1]] - PUBLIC["0.11"]
_BACK_NAME = re.compile(
    rb"\bnnx\s*\.\s*(?:%(names)s)\b|\bflax\.nnx\s+import\b[^)]*?\b(?:%(names)s)\b"
    % {b"names": b"|".join(sorted(name.encode() for name in _BACK))}
)
#: Where a file may show that it was written for 0.10.
_OPTIMIZER = re.compile(rb"\bOptimizer\s*\(")
_OLD_NAME = re.compile(
    rb"\bnnx\s*\.\s*(?:%(names)s)\b|\bflax\.nnx\s+import\b[^)]*?\b(?:%(names)s)\b"
    % {b"names": b"|".join(sorted(name.encode() for name in _GONE))}
)
#: Bytes of a call that are looked through for what 0.10 does not have; the calls that people write are shorter.
_CALL = 1000
#: What a file must hold to show, by family, that it was not written for an older one.
_NEWER: dict[str, re.Pattern[bytes]] = {
    version: re.compile(
        (rb"(?i:opt(?:im(?:izer)?)?\s*\.\s*update\s*\()|" if version == "0.11" else b"")
        + rb"\bflax\.nnx\s+import\b|\bnnx\s+as\b|\bnnx\s*\.\s*(?:"
        + "|".join(sorted(name for name, since in _SINCE.items() if since == version)).encode()
        + rb")\b"
    )
    for version in VERSIONS[1:]
}


class Traces(NamedTuple):
    """What code shows.

    Attributes:
        needs: the oldest family that has every name in it; None if nothing came after 0.10.
        where: the place that shows it, in words.
        old: a place that only 0.10 accepts; None if there is none.
    """

    needs: str | None = None
    where: str = ""
    old: str | None = None


def traces(documents: Mapping[str, Document], names: Iterable[str]) -> Traces:
    """Return what the files of these names show; the first place that settles a question ends the search for it."""
    needs, where, old, back = None, "", None, ""
    for name in names:
        data = documents[name].text
        # parsing every file of a project costs as much as some analyses
        if b"nnx" not in data or not (_worth(data, needs, old) or (not back and _BACK_NAME.search(data))):
            continue
        found = _Walk(data)
        if found.old is not None and old is None:
            old = f"{name}:{found.old[0]} {found.old[1]}"
        if found.back is not None and not back:
            back = f"{name}:{found.back[0]} {found.back[1]}"
        for version, (line, what) in found.newer.items():
            if needs is None or VERSIONS.index(version) > VERSIONS.index(needs):
                needs, where = version, f"{name}:{line} {what}"
    if needs == "0.11" and back:
        needs, where = VERSIONS[-1], back
    return Traces(needs, where, old)


def _worth(data: bytes, needs: str | None, old: str | None) -> bool:
    """Say whether parsing a file may show more than what is known already."""
    if old is None:
        if _OLD_NAME.search(data) or any(_without_wrt(data, found.end()) for found in _OPTIMIZER.finditer(data)):
            return True
    known = -1 if needs is None else VERSIONS.index(needs)
    return any(VERSIONS.index(version) > known and words.search(data) for version, words in _NEWER.items())


def _without_wrt(data: bytes, start: int) -> bool:
    """Say whether the arguments that begin at an offset may lack ``wrt``."""
    depth, end = 1, start
    for found in re.finditer(rb"[()]", data[start : start + _CALL]):
        depth += 1 if found[0] == b"(" else -1
        end = start + found.start()
        if not depth:
            break
    return depth > 0 or b"wrt" not in data[start:end]


class _Walk:
    """One file."""

    def __init__(self, data: bytes) -> None:
        self.newer: dict[str, tuple[int, str]] = {}
        self.old: tuple[int, str] | None = None
        self.back: tuple[int, str] | None = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = parse(data)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        nodes = every(tree)
        guarded = _asks(nodes)
        self._modules = {"nnx"}
        self._names: dict[str, str] = {}
        for node in nodes:
            self._bind(node, guarded)
        for node in nodes:
            if isinstance(node, ast.Attribute) and self._is_nnx(node.value) and not guarded:
                self._name(node.attr, node.lineno)
            elif isinstance(node, ast.Call):
                self._call(node, guarded)

    def _bind(self, node: ast.AST, guarded: bool) -> None:
        if isinstance(node, ast.ImportFrom) and node.module in ("flax.nnx", "flax"):
            for alias in node.names:
                if node.module == "flax.nnx":
                    self._names[alias.asname or alias.name] = alias.name
                    if not guarded:
                        self._name(alias.name, node.lineno)
                elif alias.name == "nnx":
                    self._modules.add(alias.asname or "nnx")
        elif isinstance(node, ast.Import):
            self._modules |= {alias.asname for alias in node.names if alias.name == "flax.nnx" and alias.asname}

    def _is_nnx(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._modules
        return isinstance(node, ast.Attribute) and node.attr == "nnx" and isinstance(node.value, ast.Name)

    def _name(self, name: str, line: int) -> None:
        if name in _SINCE:
            self.newer.setdefault(_SINCE[name], (line, f"uses nnx.{name}"))
        elif name in _GONE and self.old is None:
            self.old = line, f"uses nnx.{name}"
        elif name in _BACK and self.back is None:
            self.back = line, f"uses nnx.{name}, which Flax 0.11 lacks"

    def _call(self, node: ast.Call, guarded: bool) -> None:
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "update" and len(node.args) == 2 and not guarded:
            owner = function.value
            word = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            of_class = word == "Optimizer" or self._names.get(word) == "Optimizer"  # whose first argument is `self`
            if re.fullmatch(r"(\w*_)?opt(im|imizer)?", word, re.IGNORECASE) and not of_class and not _pure(node):
                self.newer.setdefault("0.11", (node.lineno, "updates an optimizer with its model"))
        name = function.attr if isinstance(function, ast.Attribute) and self._is_nnx(function.value) else ""
        if isinstance(function, ast.Name):
            name = self._names.get(function.id, "")
        if name == "Optimizer" and len(node.args) == 2 and not node.keywords and self.old is None:
            if not any(isinstance(argument, ast.Starred) for argument in node.args):
                self.old = node.lineno, "makes an nnx.Optimizer without wrt"


def _pure(node: ast.Call) -> bool:
    """Say whether the call looks like optax's ``update(grads, state)``."""
    first, second = (argument.id if isinstance(argument, ast.Name) else "" for argument in node.args)
    return "grad" in first or "state" in second or "update" in first


def _asks(nodes: Iterable[ast.AST]) -> bool:
    """Say whether a file asks for the version of Flax, for a name, or for a signature, before it uses it."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr == "signature" and isinstance(node.value, ast.Name):
            if node.value.id == "inspect":
                return True
        if isinstance(node, ast.Attribute) and node.attr == "__version__":
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr"):
            if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id in ("nnx", "flax"):
                return True
    return False

"""The same program as other people would write it: in a class, a function, a dict, or with a module of its own.

A program is taken apart into its imports, its definitions with the globals that these read, and the script, which are
the other statements of the main file.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign)


@dataclass(frozen=True)
class Parts:
    """What a program consists of."""

    imports: list[ast.stmt]
    kept: list[ast.stmt]
    script: list[ast.stmt]

    @classmethod
    def of(cls, text: str) -> Parts:
        """Take a program apart."""
        body = ast.parse(text).body
        imports: list[ast.stmt] = [s for s in body if isinstance(s, ast.Import | ast.ImportFrom)]
        others = [s for s in body if s not in imports]
        kept: set[ast.stmt] = {s for s in others if isinstance(s, _DEFINITIONS)}
        needed = {name for s in kept for name in _read_by(s)}
        before = -1
        while len(kept) != before:
            before = len(kept)
            for statement in others:
                if statement not in kept and (_bound(statement) | _changed(statement)) & needed:
                    kept.add(statement)
                    needed |= _names(statement, ast.Load)
        return cls(imports, [s for s in others if s in kept], [s for s in others if s not in kept])

    @property
    def made(self) -> list[ast.stmt]:
        """The assignments that the script begins with, if something comes behind them."""
        end = next((i for i, s in enumerate(self.script) if not isinstance(s, _ASSIGNMENTS)), 0)
        return self.script[:end]


def in_a_function(text: str) -> dict[str, str] | None:
    """Put the script into ``main()``."""
    parts = Parts.of(text)
    if not parts.script:
        return None
    return {"main.py": _text(parts.imports, parts.kept, [_function("main", [], parts.script)], _parsed("main()"))}


def in_a_class(text: str) -> dict[str, str] | None:
    """Make the script's variables attributes of an object, which its constructor makes and its method uses."""
    parts = Parts.of(text)
    made = parts.made
    names = _plain_variables(parts.script)
    if not made or not names:
        return None
    script = [_Replaced(names, _attribute).visit(s) for s in parts.script]
    for node in (n for s in script for n in ast.walk(s) if isinstance(n, ast.AnnAssign)):
        node.simple = 0
    methods = [_function("__init__", ["self"], script[: len(made)]), _function("run", ["self"], script[len(made) :])]
    trainer = _parsed("class Trainer:\n    pass")
    assert isinstance(trainer[0], ast.ClassDef)
    trainer[0].body = methods
    return {"main.py": _text(parts.imports, parts.kept, trainer, _parsed("Trainer().run()"))}


def in_a_dict(text: str) -> dict[str, str] | None:
    """Make the script's variables entries of a dict."""
    parts = Parts.of(text)
    names = _plain_variables(parts.script)
    if not names or "state" in {name for s in (*parts.script, *parts.kept) for name in _bound(s)}:
        return None
    script = [_Replaced(names, _entry).visit(s) for s in parts.script]
    for node in (n for s in script for n in ast.walk(s) if isinstance(n, ast.AnnAssign)):
        node.simple = 0
    return {"main.py": _text(parts.imports, parts.kept, _parsed("state = {}"), script)}


def with_functions_for_loops(text: str) -> dict[str, str] | None:
    """Make a function of each loop of the script, which returns what it binds anew."""
    parts = Parts.of(text)
    functions: list[ast.stmt] = []
    script: list[ast.stmt] = []
    before: set[str] = set()
    for index, statement in enumerate(parts.script):
        if not isinstance(statement, ast.For | ast.While):
            script.append(statement)
            before |= _bound(statement)
            continue
        bound = _bound(statement)
        later = {name for s in parts.script[index + 1 :] for name in _names(s, ast.Load)}
        given = sorted(before & (_names(statement, ast.Load) | bound))
        back = ", ".join(sorted(bound & (before | later)))
        name = f"train_epoch_{index}"
        functions.append(_function(name, given, [statement, *_parsed(f"return {back}" if back else "")]))
        script += _parsed(f"{f'{back} = ' if back else ''}{name}({', '.join(given)})")
        before |= bound & later
    return {"main.py": _text(parts.imports, parts.kept, functions, script)} if functions else None


def with_a_module_of_definitions(text: str) -> dict[str, str] | None:
    """Put the definitions into a module of their own."""
    parts = Parts.of(text)
    bound = {name for s in parts.kept for name in _bound(s)}
    used = sorted(bound & {name for s in parts.script for name in _names(s, ast.Load)})
    if not used or bound & {name for s in parts.script for name in _bound(s)}:
        return None
    imported = _parsed(f"from parts import {', '.join(used)}")
    return {"parts.py": _text(parts.imports, parts.kept), "main.py": _text(parts.imports, imported, parts.script)}


FORMS: tuple[Callable[[str], dict[str, str] | None], ...] = (
    in_a_function,
    in_a_class,
    in_a_dict,
    with_functions_for_loops,
    with_a_module_of_definitions,
)


class _Replaced(ast.NodeTransformer):
    """Puts other expressions in the place of variables, but for those that lambdas and comprehensions bind."""

    def __init__(self, names: set[str], made: Callable[[ast.Name], ast.expr]) -> None:
        self._names = names
        self._made = made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._made(node) if node.id in self._names else node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._within(node, {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)})

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> ast.AST:
        return self._within(node, {n for g in node.generators for n in _names(g.target, ast.Store)})

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def _within(self, node: ast.AST, own: set[str]) -> ast.AST:
        outer, self._names = self._names, self._names - own
        self.generic_visit(node)
        self._names = outer
        return node


def _attribute(node: ast.Name) -> ast.expr:
    return ast.Attribute(ast.Name("self", ast.Load()), node.id, node.ctx)


def _entry(node: ast.Name) -> ast.expr:
    return ast.Subscript(ast.Name("state", ast.Load()), ast.Constant(node.id), node.ctx)


def _plain_variables(script: list[ast.stmt]) -> set[str]:
    """Return the variables that statements of the script assign, but for those of loops and the like."""
    others: set[str] = set()
    for node in (n for s in script for n in ast.walk(s)):
        if isinstance(node, ast.For | ast.AsyncFor):
            others |= _names(node.target, ast.Store)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            others |= _names(node.optional_vars, ast.Store)
        elif isinstance(node, ast.NamedExpr | ast.ExceptHandler | ast.Import | ast.ImportFrom | ast.Delete):
            others |= _names(node, (ast.Store, ast.Del))
    return {name for s in script if isinstance(s, _ASSIGNMENTS) for name in _bound(s)} - others


def _names(node: ast.AST, context: type[ast.expr_context] | tuple[type[ast.expr_context], ...]) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds in its own scope."""
    found: set[str] = set()
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, _DEFINITIONS):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if not isinstance(node, (*_DEFINITIONS, ast.Lambda, *_COMPREHENSIONS)):
            stack += ast.iter_child_nodes(node)
    return found


def _changed(statement: ast.stmt) -> set[str]:
    """Return the variables of which a statement assigns an attribute or an item."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            base: ast.expr = node
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            found |= {base.id} if isinstance(base, ast.Name) else set()
    return found


def _read_by(definition: ast.stmt) -> set[str]:
    """Return the globals that a definition reads, when it is made or later."""
    top = symtable.symtable(ast.unparse(definition), "definition", "exec")
    found = {s.get_name() for s in top.get_symbols() if s.is_referenced()}
    stack = top.get_children()
    while stack:
        table = stack.pop()
        found |= {s.get_name() for s in table.get_symbols() if s.is_global()}
        stack += table.get_children()
    return found - set(dir(builtins))


def _parsed(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _function(name: str, params: list[str], body: list[ast.stmt]) -> ast.stmt:
    made = _parsed(f"def {name}({', '.join(params)}):\n    pass")[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made


def _text(*parts: Iterable[ast.stmt]) -> str:
    module = ast.Module([s for part in parts for s in part], [])
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"

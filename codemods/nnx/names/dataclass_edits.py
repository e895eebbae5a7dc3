"""What becomes of ``nnx.dataclass`` and its fields in one module; all of it or nothing is rewritten."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ClassFacts, ModuleFacts, Scope
from codemods.nnx.findings import Fix, Safety
from codemods.nnx.imports import spell, spell_name
from codemods.nnx.names.references import Reference
from codemods.nnx.values import Class, Ref

Use = tuple[str, ast.Attribute | ast.Name, Scope]
_BASES = frozenset({"flax.nnx.Object", "flax.nnx.Module", "flax.nnx.Pytree"})
_STATIC = frozenset({"int", "float", "bool", "str", "bytes", "complex"})
_SPECIAL = ("ClassVar", "InitVar", "KW_ONLY")


class Refused(Exception):
    """A module cannot be rewritten; the text says why."""


def module_fix(context: Context, module: ModuleFacts, references: list[Reference]) -> Fix:
    """Return the edits of a module that name the standard library instead.

    Raises:
        Refused: if a part of it would not mean the same.
    """
    return _Rewriting(context, module, references).fix()


def tree_classes(module: ModuleFacts) -> list[ClassFacts]:
    """Return the classes that Flax 0.10.7 registers as pytrees: those that say so themselves."""
    return [c for c in module.classes if any(k.arg == "pytree" and not _is(k.value, False) for k in c.node.keywords)]


class _Rewriting:
    """The rewriting of one module."""

    def __init__(self, context: Context, module: ModuleFacts, references: list[Reference]) -> None:
        self.context = context
        self.flow = context.flow
        self.module = module
        self.source = module.source
        self.references = references
        self.calls = {event.node.func: event.node for event in module.calls}
        self.edits: list[Edit] = []
        self.safety = Safety.SAFE
        self.named: dict[ast.expr, str] = {}
        self.fields = {
            statement: cls
            for cls in module.classes
            for statement in cls.node.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        }
        self.dataclasses: list[ClassFacts] = []
        self.static: set[ast.AnnAssign] = set()

    def fix(self) -> Fix:
        if self.source.notebook or any(m.source.mentions(b"flax_mutable_array") for m in self.context.project.modules):
            raise Refused("write dataclasses.dataclass(repr=False) by hand")
        uses = list(self._uses())
        self.named = {node: last for last, node, _ in uses}
        for last, node, scope in uses:
            if not self.source.faithful(node):
                raise Refused("its text is not plain code")
            if last == "dataclass":
                self._decorator(node, scope)
            elif last == "Static":
                self._annotation(node)
            else:
                self._field(last, node, scope)
        for cls in self.dataclasses:
            if cls in tree_classes(self.module):
                self._tree(cls)
        return Fix(tuple((self.source.path, edit) for edit in dict.fromkeys(self.edits)), self.safety)

    # -- where the names stand --------------------------------------------------------------------

    def _uses(self) -> Iterator[Use]:
        """Yield every expression that names one of them, and take the names out of the imports."""
        imports: dict[ast.ImportFrom, list[ast.alias]] = {}
        for reference in self.references:
            if isinstance(reference.node, ast.Attribute):
                yield reference.last, reference.node, reference.scope
            elif reference.statement is not None:
                imports.setdefault(reference.statement, []).append(reference.node)
                yield from self._imported(reference.last, reference.node.asname or reference.last)
        for statement, names in imports.items():
            self._drop(statement, names)

    def _imported(self, last: str, local: str) -> Iterator[Use]:
        module = self.module
        if len(module.scope.bindings.get(local, ())) != 1 or self._exported(local):
            raise Refused(f"`{local}` is bound again, or used by another module")
        scopes = {id(event.node.func): event.scope for event in module.calls}
        for node in ast.walk(self.source.tree):
            if isinstance(node, ast.arg) and node.arg == local:
                raise Refused(f"`{local}` is a parameter somewhere")
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _quoted(node.value, local):
                raise Refused(f"`{local}` is named in a string")
            if isinstance(node, ast.Name) and node.id == local:
                if not isinstance(node.ctx, ast.Load):
                    raise Refused(f"`{local}` is bound again")
                yield last, node, scopes.get(id(node), module.scope)

    def _exported(self, local: str) -> bool:
        """Say whether another module could take a name from this one."""
        own = (self.module.source.module or "").rpartition(".")[2]
        for other in self.context.project.modules:
            if other is self.module:
                continue
            if own and any(star.rpartition(".")[2] == own for star in other.stars):
                return True
            for statement in other.imports:
                if isinstance(statement, ast.ImportFrom) and (statement.module or "").rpartition(".")[2] == own:
                    if any(alias.name == local for alias in statement.names):
                        return True
        return False

    def _drop(self, statement: ast.ImportFrom, gone: list[ast.alias]) -> None:
        """Take names out of an import; the whole line if none is left."""
        source = self.source
        if statement not in source.tree.body:
            raise Refused("the import does not stand at the top")
        if len(gone) == len(statement.names):
            start, end = source.span(statement)
            line_end = (
                source.offset((statement.end_lineno or statement.lineno) + 1, 0) if self._more(statement) else end
            )
            if source.data[end:line_end].strip() or statement.col_offset:
                raise Refused("the import shares its line")
            self.edits.append(Edit(start, line_end, b""))
            return
        for left, group in itertools.groupby(statement.names, lambda alias: alias not in gone):
            names = list(group)
            if left:
                continue
            first, last = statement.names.index(names[0]), statement.names.index(names[-1])
            if first:
                start, end = source.span(statement.names[first - 1])[1], source.span(names[-1])[1]
            else:
                start, end = source.span(names[0])[0], source.span(statement.names[last + 1])[0]
            behind = source.data[end:].splitlines()[0] if end < len(source.data) else b""
            several = statement.lineno != statement.end_lineno
            if b"#" in source.data[start:end] or (several and b"#" in behind):
                raise Refused("a comment stands in the import")
            self.edits.append(Edit(start, end, b""))

    def _more(self, statement: ast.stmt) -> bool:
        return (statement.end_lineno or statement.lineno) < len(self.source.line_starts)

    def _put(self, node: ast.expr, scope: Scope, name: str, behind: str = "") -> None:
        """Replace a name by one of the standard library."""
        spelling = spell_name(self.flow, scope, f"dataclasses.{name}")
        if spelling is None:
            raise Refused(f"the module has no way to write dataclasses.{name}")
        self.edits += (Edit(*self.source.span(node), f"{spelling.text}{behind}".encode()), *spelling.edits)

    # -- what they become -------------------------------------------------------------------------

    def _decorator(self, node: ast.expr, scope: Scope) -> None:
        """``nnx.dataclass`` never made a ``__repr__``."""
        call = self.calls.get(node)
        cls = next(
            (c for c in self.module.classes if node in c.node.decorator_list or call in c.node.decorator_list), None
        )
        if call is None:
            if cls is None:
                raise Refused("nnx.dataclass is no decorator there")
            self._put(node, scope, "dataclass", "(repr=False)")
        else:
            if cls is None:
                cls = self._given(call)
            if any(k.arg is None or (k.arg == "slots" and not _is(k.value, False)) for k in call.keywords):
                raise Refused("its options are not plain")
            self._put(node, scope, "dataclass")
            self._option(call)
        self.dataclasses.append(cls)

    def _given(self, call: ast.Call) -> ClassFacts:
        """Return the class that is handed to ``nnx.dataclass`` as its argument."""
        value = self.module.values.get(call.args[0]) if len(call.args) == 1 else None
        if (
            not isinstance(value, Class)
            or value.facts not in self.module.classes
            or not isinstance(call.args[0], ast.Name)
        ):
            raise Refused("nnx.dataclass is no decorator there")
        return value.facts

    def _option(self, call: ast.Call) -> None:
        """Add ``repr=False`` to a call."""
        if call.keywords:
            start = self.source.span(call.keywords[0])[0]
            self.edits.append(Edit(start, start, b"repr=False, "))
        elif call.args:
            end = self.source.span(call.args[0])[1]
            self.edits.append(Edit(end, end, b", repr=False"))
        else:
            start, end = self._brackets(call)
            self.edits.append(Edit(start, end, b"repr=False"))

    def _brackets(self, call: ast.Call) -> tuple[int, int]:
        """Return the range between the brackets of a call."""
        start, end = self.source.span(call.func)[1], self.source.span(call)[1] - 1
        return self.source.data.index(b"(", start) + 1, end

    def _field(self, last: str, node: ast.expr, scope: Scope) -> None:
        call = self.calls.get(node)
        if call is None or call.args or any(k.arg is None for k in call.keywords):
            raise Refused(f"nnx.{last} is not called in the plain way")
        option = next((k for k in call.keywords if k.arg == "static"), None)
        if option is not None and not (_is(option.value, True) or _is(option.value, False)):
            raise Refused("`static` is no literal")
        static = last == "static" or (option is not None and _is(option.value, True))
        statement = next((s for s in self.fields if s.value is call), None)
        cls = self.fields[statement] if statement is not None else None
        self._put(node, scope, "field")
        if cls is not None and self._of_flax(cls):
            if any(k.arg == "metadata" for k in call.keywords) and cls in tree_classes(self.module):
                raise Refused("it has metadata")
            if static and statement is not None:
                self.static.add(statement)
            if option is not None:
                self._remove(call, option)
            return
        # another library may read the mark
        if any(k.arg == "metadata" for k in call.keywords):
            raise Refused("it has metadata")
        mark = f'metadata={{"static": {static}}}'
        if option is not None:
            self.edits.append(Edit(*self.source.span(option), mark.encode()))
        elif call.keywords:
            end = self.source.span(call.keywords[-1])[1]
            self.edits.append(Edit(end, end, f", {mark}".encode()))
        else:
            self.edits.append(Edit(*self._brackets(call), mark.encode()))

    def _of_flax(self, cls: ClassFacts) -> bool:
        return any(name.startswith("flax.nnx.") for name in self.flow.classes.mro(cls)[1])

    def _remove(self, call: ast.Call, option: ast.keyword) -> None:
        index = call.keywords.index(option)
        start, end = self.source.span(option)
        if index:
            start = self.source.span(call.keywords[index - 1])[1]
        elif len(call.keywords) > 1:
            end = self.source.span(call.keywords[1])[0]
        else:
            start, end = self._brackets(call)
        if b"#" in self.source.data[start:end]:
            raise Refused("a comment stands in the call")
        self.edits.append(Edit(start, end, b""))

    def _annotation(self, node: ast.expr) -> None:
        """``nnx.Static[T]`` becomes ``T``."""
        outer = next((n for n in ast.walk(self.source.tree) if isinstance(n, ast.Subscript) and n.value is node), None)
        if outer is None:
            raise Refused("nnx.Static stands alone")
        statement = next((s for s in self.fields if s.annotation is outer), None)
        if statement is not None:
            self.static.add(statement)
        elif any(c in tree_classes(self.module) for c in self.module.classes):
            raise Refused("nnx.Static is not the annotation of a field")
        start, end = self.source.span(outer)
        opening = self.source.data.index(b"[", self.source.span(node)[1]) + 1
        if outer.lineno != outer.end_lineno:
            raise Refused("nnx.Static[...] spans lines")
        self.edits += (Edit(start, opening, b""), Edit(end - 1, end, b""))

    # -- classes that are pytrees in 0.10.7 -------------------------------------------------------

    def _tree(self, cls: ClassFacts) -> None:
        """Every field that is not static was data there, a number too; since 0.11 this must be said."""
        keyword = next(k.value for k in cls.node.keywords if k.arg == "pytree")
        plain = all(isinstance(base, Ref) and base.name in _BASES for base in self._bases(cls))
        names = {s.target.id for s, owner in self.fields.items() if owner is cls and isinstance(s.target, ast.Name)}
        if not isinstance(keyword, ast.Constant) or not keyword.value or not plain or "__data__" in cls.scope.bindings:
            raise Refused(f"which fields of {cls.name} are data cannot be told")
        if set(cls.stores) - names or "0.10" in self.context.options.targets or self.module.postpones:
            raise Refused(f"which fields of {cls.name} are data cannot be told")
        for statement in (s for s, owner in self.fields.items() if owner is cls):
            text = self.source.text(statement.annotation)
            if isinstance(statement.annotation, ast.Constant) or any(word in text for word in _SPECIAL):
                raise Refused(f"the annotation {text} is none that can be marked")
            if statement in self.static:
                inner = statement.annotation
                inner = inner.slice if isinstance(inner, ast.Subscript) and self._is_static(inner) else inner
                if not (isinstance(inner, ast.Name) and inner.id in _STATIC):
                    self.safety = Safety.UNSAFE  # since 0.11 a module or an array in it is data
                continue
            if isinstance(statement.value, ast.Call) and not self._known_field(statement.value):
                raise Refused("a field is made in an unknown way")
            spelling = spell(self.flow, self.module.scope, "Data")
            if spelling is None:
                raise Refused("the module has no way to write nnx.Data")
            start, end = self.source.span(statement.annotation)
            self.edits += (Edit(start, start, f"{spelling.text}[".encode()), Edit(end, end, b"]"), *spelling.edits)

    def _bases(self, cls: ClassFacts) -> list[object]:
        return [self.flow.resolve(self.flow.here(base, self.module.scope)).value for base in cls.bases]

    def _is_static(self, node: ast.Subscript) -> bool:
        return any(edit.start == self.source.span(node)[0] and not edit.text for edit in self.edits)

    def _known_field(self, call: ast.Call) -> bool:
        """Say whether the call that makes a field does not hide whether it is static."""
        value = self.module.values.get(call.func)
        name = self.flow.resolve(self.flow.here(value, self.module.scope)).value if value is not None else None
        known = call.func in self.named or (isinstance(name, Ref) and name.name == "dataclasses.field")
        return known and not any(k.arg in {None, "metadata"} for k in call.keywords)


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def _quoted(text: str, name: str) -> bool:
    """Say whether a string could be a name or an annotation that has it."""
    return text == name or f"{name}[" in text

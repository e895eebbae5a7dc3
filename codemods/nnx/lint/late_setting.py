"""NNX781: settings of JAX that come too late: behind its import, or behind the first computation."""

from __future__ import annotations

import ast
import struct
from bisect import bisect_right
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.facts import CallEvent, FunctionFacts, ModuleFacts, Scope
from codemods.nnx.findings import Finding, finding
from codemods.nnx.lint.define import lint_rule
from codemods.nnx.lint.places import in_test
from codemods.nnx.lint.syntax import constant, one_of
from codemods.nnx.nodes import last_word

# read when jax is imported, and never again; measured for those of platforms, precision and NaNs
_AT_IMPORT = frozenset(
    {"JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_ENABLE_X64", "JAX_DEBUG_NANS", "JAX_DEBUG_INFS", "JAX_DISABLE_JIT",
     "JAX_NUM_CPU_DEVICES", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_LOG_COMPILES", "JAX_CHECK_TRACER_LEAKS"}
)  # fmt: skip
# of those, what is off unless it is switched on, and how that is written
_OFF = frozenset({"JAX_ENABLE_X64", "JAX_DEBUG_NANS", "JAX_DEBUG_INFS", "JAX_DISABLE_JIT", "JAX_LOG_COMPILES",
                  "JAX_CHECK_TRACER_LEAKS"})  # fmt: skip
_FALSE = frozenset({"n", "no", "f", "false", "off", "0"})
# read when the first computation or question for devices starts the backends
_AT_START = frozenset({"XLA_FLAGS", "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION"})
_OPTIONS_AT_START = frozenset({"jax_platforms", "jax_platform_name", "jax_num_cpu_devices"})
_IMPORTING = frozenset({"jax", "flax", "optax", "orbax", "chex", "equinox", "haiku"})
# processes that a program starts read the variables for themselves
_STARTING = (b"subprocess", b"multiprocessing", b"Popen", b"os.exec", b"os.system", b"spawn", b"import ray")
_DEVICES = frozenset({"jax.devices", "jax.local_devices", "jax.device_count", "jax.local_device_count",
                      "jax.default_backend", "jax.device_put"})  # fmt: skip
# of those, what may ask for one platform: `jax.devices("gpu")`
_ASKED = frozenset({"jax.devices", "jax.local_devices", "jax.device_count", "jax.local_device_count"})
# what makes arrays of floats, whose precision is settled with them
_FLOATS = frozenset({"linspace", "zeros", "ones", "full", "eye", "array", "asarray", "normal", "uniform", "logspace"})


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        data = module.source.data
        if b"environ" in data and (b"JAX_" in data or b"XLA_" in data):
            yield from _variables(context, module)
        if b"config.update" in data:
            yield from _options(context, module)


def _variables(context: Context, module: ModuleFacts) -> Iterator[Finding]:
    """Yield the environment variables that are set when nothing reads them any more."""
    if any(word in module.source.data for word in _STARTING):
        return
    imported = _first_import(module)
    for scope in (module.scope, *(function.scope for function in module.functions)):
        for node in context.bodies.nodes(scope):
            for name, given in _set(node):
                if name not in _AT_IMPORT | _AT_START or in_test(scope) or context.bodies.guarded(node, scope):
                    continue
                if scope.function is not None and _uncalled(context, scope.function):
                    continue
                line = getattr(node, "lineno", 0)
                if name in _AT_IMPORT and imported is not None and imported.lineno < line:
                    if name.lower().encode() in module.source.data or module.source.mentions(b"reload"):
                        continue  # it is set as an option besides
                    if name in _OFF and str(constant(given)).lower() in _FALSE:
                        continue  # which it is anyway
                    if _set_before(context, scope, name, given, imported.lineno) or _restarts(module, imported, line):
                        continue
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"{name} is read when JAX is imported, which line {imported.lineno} does: this changes nothing",
                        "set it before the import, or use jax.config.update",
                        related=[(imported, "imported here")],
                    )
                elif name in _AT_START and (used := _computation(context, scope, node)) is not None:
                    if _set_before(context, scope, name, given, used.lineno) or _restarts(module, used, line):
                        continue
                    yield finding(
                        RULE.code,
                        scope,
                        node,
                        f"{name} is read by the first computation, which line {used.lineno} does: this changes nothing",
                        "set it before, at best before JAX is imported",
                        related=[(used, "computed here")],
                    )


def _options(context: Context, module: ModuleFacts) -> Iterator[Finding]:
    """Yield the options that are set behind what they are for."""
    for event in module.calls:
        if last_word(event.node.func) != "update" or len(event.node.args) != 2:
            continue
        option = constant(event.node.args[0])
        wide = option == "jax_enable_x64" and constant(event.node.args[1]) is True
        if (
            not (one_of(event.node.args[0], _OPTIONS_AT_START) or wide)
            or context.flow.calls.name(event) != "jax.config.update"
        ):
            continue
        if in_test(event.scope) or context.bodies.guarded(event.node, event.scope):
            continue
        used = _computation(context, event.scope, event.node, floats=wide, chosen=option == "jax_platform_name")
        if used is not None and _begun_anew(module, used, event.node):
            continue
        if used is not None and not wide and _begun_first(module, event.node):
            continue
        if event.scope.function is not None and _uncalled(context, event.scope.function):
            continue
        if used is not None:
            what = "the arrays made before stay of 32 bits" if wide else "the backends are running already"
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{option}` is set behind the first computation in line {used.lineno}: {what}",
                "set it right behind the import of JAX",
                related=[(used, "computed here")],
            )
        elif wide and (brought := _brought(context, event)) is not None:
            statement, made = brought
            yield finding(
                RULE.code,
                event.scope,
                event.node,
                f"`{option}` is set behind the import in line {statement.lineno}, which makes arrays of 32 bits "
                f"({made.scope.module.source.file_name}:{made.node.lineno})",
                "set it right behind the import of JAX, before the modules of the project are imported",
                related=[(statement, "imported here")],
            )


def _brought(context: Context, event: CallEvent) -> tuple[ast.stmt, CallEvent] | None:
    """Return an import before a setting whose module makes an array of floats that it keeps, and where; None for none.

    Nothing is returned either if a module that is imported there sets the option itself.
    """
    module = event.scope.module
    found: tuple[ast.stmt, CallEvent] | None = None
    for statement in module.imports:
        if statement.lineno >= event.node.lineno or statement not in _body(module):
            continue
        for one in _reached(context, module, statement):
            if b"enable_x64" in one.source.data.lower():
                return None
            calls = context.bodies.calls.get(one.scope, ())
            made = next((call for call in calls if _kept_at_import(context, call)), None)
            if made is not None and found is None:
                found = statement, made
    return found


def _kept_at_import(context: Context, event: CallEvent) -> bool:
    """Say whether a module that is imported makes an array of floats in any case, with numbers that 32 bits round:
    others are the same when they meet arrays of 64 bits, which they are promoted to."""
    return (
        not _exact(event.node)
        and not context.bodies.paths(event.scope).get(event.node, ())
        and _starts(context, event, floats=True)
    )


def _exact(call: ast.Call) -> bool:
    """Say whether all numbers of an array are written out, and are the same in 32 bits: 0, -1, 0.5 or 96."""
    word = last_word(call.func)
    if word in {"zeros", "ones", "eye"}:
        return True
    place = {"array": 0, "asarray": 0, "full": 1}.get(word)
    given = call.args[place] if place is not None and place < len(call.args) else None
    if given is None:
        return False
    for node in ast.walk(given):
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, int | float) or not _in_single(node.value):
                return False
        elif not isinstance(node, ast.List | ast.Tuple | ast.UnaryOp | ast.USub | ast.UAdd | ast.Load):
            return False
    return True


def _in_single(number: float) -> bool:
    """Say whether a number is the same in 32 bits."""
    try:
        return bool(struct.unpack("f", struct.pack("f", number))[0] == number)
    except OverflowError:
        return False


def _reached(context: Context, module: ModuleFacts, statement: ast.Import | ast.ImportFrom) -> Iterator[ModuleFacts]:
    """Yield the modules of the project that an import runs, and those that these import."""
    pending, seen = [(module, statement)], {module}
    while pending:
        importer, one = pending.pop()
        for name in _names(importer, one):
            target = context.project.find(name, importer.name)
            if target is not None and target not in seen:
                seen.add(target)
                yield target
                pending += [(target, inner) for inner in target.imports if inner in _body(target)]


def _names(module: ModuleFacts, statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """Yield the dotted names of the modules that an import may run, with the packages around them."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    else:
        home = statement.module or ""
        if statement.level:
            around = module.name.split(".")
            kept = around[: len(around) - statement.level + int(module.source.package)]
            home = ".".join([*kept, *([home] if home else [])])
        names = [home, *(".".join([*([home] if home else []), alias.name]) for alias in statement.names)]
    for name in filter(None, names):
        parts = name.split(".")
        yield from (".".join(parts[: end + 1]) for end in range(len(parts)))


def _uncalled(context: Context, function: FunctionFacts) -> bool:
    """Say whether nothing in the project names a function that is told what to set, as one of a file of helpers that
    was copied there."""
    name = function.name
    if not function.params or function.decorators or function.owner is not None:
        return False
    for module in context.project.modules:
        if not module.source.mentions(name.encode()):
            continue
        if any(n.id == name for n in module.source.of_type(ast.Name)):
            return False
        if any(n.attr == name for n in module.source.of_type(ast.Attribute)):
            return False
        if any(one.name == name for n in module.source.of_type(ast.ImportFrom) for one in n.names):
            return False
        if any(n.value == name for n in module.source.of_type(ast.Constant) if isinstance(n.value, str)):
            return False  # in __all__, or asked for by its name
    return True


def _begun_anew(module: ModuleFacts, used: ast.AST, node: ast.Call) -> bool:
    """Say whether the cell of a setting imports JAX again before it: it is the first one behind a restart."""
    cells = module.source.cell_starts
    start = max((line for line in cells if line <= node.lineno), default=0)
    return getattr(used, "lineno", start) < start and any(
        start <= statement.lineno < node.lineno and _imports_jax(statement) for statement in module.imports
    )


_REPEATED = 3  # imports that are written again, where a notebook may begin anew


def _restarts(module: ModuleFacts, before: ast.expr | ast.stmt, line: int) -> bool:
    """Say whether the cell of a setting goes on to import JAX, and imports much else that earlier cells have imported:
    it is the first one behind a restart."""
    source = module.source
    place = bisect_right(source.cell_starts, line)
    if not place or before.lineno >= source.cell_starts[place - 1]:
        return False
    start, end = source.cell_starts[place - 1], source.cell_end(place)
    here = [one for one in module.imports if start <= one.lineno < end]
    earlier = {name for one in module.imports if one.lineno < start for name in _imported(one)}
    again = earlier & {name for one in here for name in _imported(one)}
    return len(again) >= _REPEATED and any(_imports_jax(one) and one.lineno >= line for one in here)


def _imported(statement: ast.Import | ast.ImportFrom) -> list[str]:
    return [a.name for a in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]


def _begun_first(module: ModuleFacts, node: ast.Call) -> bool:
    """Say whether a script asks for the devices right before and does nothing with them: the backends are to run
    already, and what is set is for other processes."""
    source = module.source
    above = node.lineno - 1
    while above and (not source.line(above).strip() or source.line(above).lstrip().startswith("#")):
        above -= 1
    asked = (one.value for one in source.of_type(ast.Expr) if one.end_lineno == above)
    return not source.cell_starts and any(
        isinstance(one, ast.Call)
        and last_word(one.func) in {"devices", "local_devices"}
        and not (one.args or one.keywords)
        for one in asked
    )


def _imports_jax(statement: ast.Import | ast.ImportFrom) -> bool:
    return any(name.partition(".")[0] == "jax" for name in _imported(statement))


def _first_import(module: ModuleFacts) -> ast.stmt | None:
    """Return the first statement of a module's body that imports JAX, or what imports it."""
    for statement in module.imports:
        if statement not in _body(module):
            continue
        names = [a.name for a in statement.names] if isinstance(statement, ast.Import) else [statement.module or ""]
        if getattr(statement, "level", 0) == 0 and any(name.partition(".")[0] in _IMPORTING for name in names):
            return statement
    return None


def _body(module: ModuleFacts) -> list[ast.stmt]:
    return getattr(module.scope.node, "body", [])


def _set_before(context: Context, scope: Scope, name: str, given: ast.expr | None, line: int) -> bool:
    """Say whether a variable has its value from above a line already: what sets it once more may stand anywhere."""
    if given is None or scope.function is not None:
        return False
    return any(
        getattr(node, "lineno", line) < line
        and (name, ast.dump(given)) in ((n, ast.dump(v)) for n, v in _set(node) if v)
        for node in context.bodies.nodes(scope)
    )


def _set(node: ast.AST) -> list[tuple[str, ast.expr | None]]:
    """Return the environment variables that a statement or call sets, and their values."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        given = node.value if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Subscript) and last_word(target.value) == "environ":
            return [(str(constant(target.slice) or ""), given)]
    if not isinstance(node, ast.Call):
        return []
    word = last_word(node.func)
    of_environment = isinstance(node.func, ast.Attribute) and last_word(node.func.value) == "environ"
    if word == "putenv" or (word == "setdefault" and of_environment):
        return [(str(constant(node.args[0]) or ""), node.args[1] if len(node.args) > 1 else None)] if node.args else []
    return _entries(node) if word == "update" and of_environment else []


def _entries(call: ast.Call) -> list[tuple[str, ast.expr | None]]:
    """Return what ``os.environ.update({...})`` sets, also by names or of ``dict(...)``."""
    found: list[tuple[str, ast.expr | None]] = [(one.arg or "", one.value) for one in call.keywords]
    for given in call.args:
        if isinstance(given, ast.Dict):
            found += [(str(constant(k)), v) for k, v in zip(given.keys, given.values, strict=True)]
        elif isinstance(given, ast.Call) and last_word(given.func) == "dict":
            found += _entries(given)
    return found


def _computation(
    context: Context, scope: Scope, node: ast.AST, floats: bool = False, chosen: bool = False
) -> ast.Call | None:
    """Return the first call before a node, in its body or its module's, that starts the backends.

    Args:
        context: the analysis.
        scope: the body.
        node: what stands in it.
        floats: whether to ask for the first array of floats instead.
        chosen: whether to ask for what chooses the platform: a question for the devices of one platform does not.
    """
    line = getattr(node, "lineno", 0)
    for body in dict.fromkeys((scope.module.scope, scope)):
        around = context.bodies.paths(scope).get(node, ()) if body is scope else ()
        for event in context.bodies.calls.get(body, ()):
            if event.node.lineno >= line:
                break
            path = context.bodies.paths(body).get(event.node, ())
            if path != around[: len(path)]:
                continue  # under a condition, or in a loop
            if chosen and context.flow.calls.name(event) in _ASKED and (event.node.args or event.node.keywords):
                continue
            if _starts(context, event, floats) and not (floats and _left_behind(event, line)):
                return event.node
    return None


def _left_behind(event: CallEvent, line: int) -> bool:
    """Say whether a notebook, which may begin another subject there, reads an array no more behind a line."""
    source, statement = event.scope.module.source, event.statement
    if not source.cell_starts or not isinstance(statement, ast.Assign):
        return False
    names = {n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    inner = [n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef | ast.Lambda)]
    reads = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id in names]
    reads += [
        n for one in inner for n in ast.walk(one) if isinstance(n, ast.Name) and n.id in names and n.lineno < line
    ]
    return not any(isinstance(n.ctx, ast.Load) and n.lineno > line for n in reads)


def _starts(context: Context, event: CallEvent, floats: bool) -> bool:
    """Say whether a call starts the backends, or makes an array of floats that is kept."""
    name = context.flow.calls.name(event)
    home, _, word = name.rpartition(".")
    if floats:
        statement = event.statement
        kept = isinstance(statement, ast.Assign) and statement.value is event.node and _once(event.scope, statement)
        typed = any(k.arg == "dtype" and not _wide(k.value) for k in event.node.keywords)
        return home in {"jax.numpy", "jax.random"} and word in _FLOATS and kept and not typed
    if name in _DEVICES or name == "jax.random.PRNGKey":
        return True
    return home in {"jax.numpy", "jax.random"} and word.islower() and word not in _WORDS


def _wide(node: ast.expr) -> bool:
    """Say whether a type of 64 bits is written, which the mode of 32 bits makes smaller."""
    written = constant(node)
    return (written if isinstance(written, str) else last_word(node)) in {"float64", "complex128"}


def _once(scope: Scope, statement: ast.Assign) -> bool:
    """Say whether a statement is the only one that binds its variable."""
    return all(
        isinstance(target, ast.Name) and len(scope.bindings.get(target.id, ())) == 1 for target in statement.targets
    )


_WORDS = frozenset(
    {"dtype", "finfo", "iinfo", "float32", "float64", "issubdtype", "bfloat16", "float16", "set_printoptions"}
)


RULE = lint_rule(
    "NNX781",
    "late-setting",
    "an environment variable or option of JAX that is set too late",
    why="""\
Variables such as JAX_PLATFORMS are read when JAX is imported, and XLA_FLAGS, `jax_platforms` and `jax_num_cpu_devices`
when the first computation starts the backends: set later, they change nothing, without a word in most cases. Arrays
that were made before `jax_enable_x64` stay of 32 bits.
""",
    source="JAX documentation; measured on JAX 0.6.2, 0.7.2 and 0.10.2: ignored, of jax_num_cpu_devices a RuntimeError",
    check=_check,
    bad=(
        """\
import os

import jax

os.environ["JAX_PLATFORMS"] = "cpu"
print(jax.devices())
""",
        """\
import jax
import jax.numpy as jnp

grid = jnp.linspace(0.0, 1.0, 11)
jax.config.update("jax_enable_x64", True)
""",
    ),
    clean=(
        """\
import os

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
jax.config.update("jax_enable_x64", True)
grid = jnp.linspace(0.0, 1.0, 11)
""",
    ),
)

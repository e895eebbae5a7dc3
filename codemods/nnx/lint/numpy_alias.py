"""NNX845: ``import jax.numpy as np``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codemods.nnx.context import Context
from codemods.nnx.edits import Edit
from codemods.nnx.facts import ModuleFacts
from codemods.nnx.findings import Finding, Fix, Safety, finding
from codemods.nnx.lint.define import lint_rule


def _check(context: Context) -> Iterator[Finding]:
    for module in context.asked.modules:
        for statement in module.imports:
            for alias in statement.names:
                jax = isinstance(statement, ast.Import) and alias.name == "jax.numpy"
                jax |= isinstance(statement, ast.ImportFrom) and statement.module == "jax" and alias.name == "numpy"
                if jax and alias.asname in {"np", "numpy"}:
                    yield finding(
                        RULE.code,
                        module.scope,
                        statement,
                        f"`{alias.asname}` is the custom name of numpy, and means jax.numpy here",
                        "import jax.numpy as jnp",
                        _fix(module, alias) if alias.asname == "np" else None,
                    )


def _fix(module: ModuleFacts, alias: ast.alias) -> Fix | None:
    """Return the renaming of every `np` to `jnp`; None if either name has another meaning anywhere."""
    source = module.source
    edits: list[Edit] = []
    for node in source.nodes:
        names = {getattr(node, "name", None), getattr(node, "asname", None), getattr(node, "arg", None)}
        if isinstance(node, ast.Name):
            names.add(node.id)
        if isinstance(node, ast.Global | ast.Nonlocal):
            names.update(node.names)
        if "jnp" in names or (isinstance(node, ast.Constant) and isinstance(node.value, str) and "np." in node.value):
            return None
        if isinstance(node, ast.alias):
            if node is not alias and (node.asname or node.name).partition(".")[0] == "np":
                return None
        elif isinstance(node, ast.Name) and node.id == "np":
            if not isinstance(node.ctx, ast.Load):
                return None
            start, end = source.span(node)
            edits.append(Edit(start, end, b"jnp"))
        elif "np" in names:
            return None
    _, end = source.span(alias)
    edits.append(Edit(end - len("np"), end, b"jnp"))
    return Fix(tuple((source.path, edit) for edit in edits))


RULE = lint_rule(
    "NNX845",
    "numpy-alias",
    "jax.numpy imported as np",
    why="""\
Readers and tools take `np` for numpy, whose arrays can be changed and whose functions run on the host. A real
`import numpy as np` further down changes the meaning of the whole module silently.
""",
    source="JAX tutorial; the custom of JAX's own documentation",
    default=False,
    check=_check,
    mended=(
        (
            """\
import jax.numpy as np

x = np.zeros(3)
""",
            """\
import jax.numpy as jnp

x = jnp.zeros(3)
""",
        ),
    ),
    clean=(
        """\
import jax.numpy as jnp
import numpy as np

x = np.zeros(3) + jnp.zeros(3)
""",
    ),
    safety=Safety.SAFE,
)

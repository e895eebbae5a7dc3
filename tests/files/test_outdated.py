"""Files that a project has put away, whose mistakes nobody mends."""

from __future__ import annotations

from codemods.nnx.options import Options
from nnxmigrate.files.discovery import discover
from nnxmigrate.outdated import put_away
from nnxmigrate.run import run
from nnxmigrate.settings import Settings
from tests.conftest import Tree

REUSED = "import jax\n\ndef f(key):\n    return jax.random.normal(key) + jax.random.uniform(key)\n"


def test_put_away() -> None:
    """Folders that are named as outdated are left alone, unless they alone are looked at."""
    assert put_away(["p/a.py", "p/legacy/b.py", "p/old_tests/c.py", "p/folder/older.py", "p/oldTests/d.py"]) == {
        "p/legacy/b.py",
        "p/old_tests/c.py",
        "p/oldTests/d.py",
    }
    assert not put_away(["/old/p/a.py", "/old/p/b.py"])
    assert not put_away(["p/archive/a.py"])


def test_whatever_is_analysed_together(tree: Tree) -> None:
    """A file that nothing else imports is a group of its own, and put away all the same."""
    tree({"src/a.py": REUSED, "legacy/b.py": REUSED, "legacy/c.py": f"import src.a\n{REUSED}"})

    def places(path: str, **chosen: object) -> list[str]:
        options = Options(lint=True, **chosen)  # type: ignore[arg-type]
        left = run(discover([path]), Settings(options=options, write=False)).left
        return [one.path.replace("\\", "/") for one in left if one.code == "NNX830"]

    assert places(".") == ["src/a.py"]
    assert places("legacy") == ["legacy/b.py", "legacy/c.py"]
    assert len(places(".", select=("NNX830",))) == 3

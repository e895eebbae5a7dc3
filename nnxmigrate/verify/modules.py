"""Which modules the code of a project imports."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from nnxmigrate.files.discovery import discover

#: Packages of an index whose names are not those of their modules.
PACKAGES = {
    "PIL": "pillow",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dotenv": "python-dotenv",
    "git": "gitpython",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "tensorflow_datasets": "tensorflow-datasets",
    "tensorflow_probability": "tensorflow-probability",
    "yaml": "pyyaml",
}


def imported(root: Path) -> list[str]:
    """Return the top names of the modules that the files of a project import, without the standard library's."""
    names: set[str] = set()
    for found in discover([str(root)]):
        if not found.path.endswith(".py"):
            continue
        try:
            tree = ast.parse(Path(found.path).read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names.add(node.module.partition(".")[0])
    return sorted(names - sys.stdlib_module_names)

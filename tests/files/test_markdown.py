"""Markdown: masked but for its Python blocks."""

from __future__ import annotations

import ast

import pytest

from codemods.nnx.edits import Edit
from nnxmigrate.files.document import EditRefused
from nnxmigrate.files.markdown import read_markdown

PAGE = """\
# Title with old naïve text

```python
x = old
```

* A list:

    ```py
    y = old
    if y:
        z = old
    ```

~~~~python title="old"
%matplotlib inline
w = old
~~~~

```{code-cell} ipython3
:tags: [old]

v = old
```

```python
>>> old
```

```
old
```

```python
u = old
"""


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_python_blocks_are_one_text_and_nothing_else_changes(end: str) -> None:
    raw = PAGE.replace("\n", end).encode()
    document = read_markdown(raw)
    assert len(document.text) == len(raw)
    ast.parse(document.text.decode())
    places = [n for n in range(len(raw)) if document.text[n:].startswith(b"old")]
    new = document.render([document.admit(Edit(place, place + 3, b"new")) for place in places]).decode()
    for name in "xyzwv":
        assert f"{name} = new" in new
    assert new.replace("= new", "= old").encode() == raw, "something outside the blocks changed"
    assert new.count("new") == 5


def test_insertions_at_the_top_go_into_the_first_block() -> None:
    document = read_markdown(b"Text\n\n```python\nx = 1\n```\n")
    edit = document.admit(Edit(0, 0, b"import os\n"))
    assert document.render([edit]) == b"Text\n\n```python\nimport os\nx = 1\n```\n"


def test_text_is_not_edited() -> None:
    document = read_markdown(b"  ```python\n  x = 1\n  ```\nText\n")
    for edit in (Edit(0, 0, b"import os\n"), Edit(15, 30, b""), Edit(28, 30, b"")):
        with pytest.raises(EditRefused):
            document.admit(edit)

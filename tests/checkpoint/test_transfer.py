"""Files arrive whole on every file system, and destinations appear in one step."""

from __future__ import annotations

import errno
import os
import pathlib
from typing import Any

import pytest

from nnxmigrate.checkpoint.destination import Destination
from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.transfer import transfer

CONTENT = bytes(range(256)) * 5000


def _failing(number: int) -> Any:
    def fail(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture
def pair(tmp_path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    source = tmp_path / "source"
    source.write_bytes(CONTENT)
    return source, tmp_path / "folder" / "copy"


@pytest.mark.parametrize(
    "copy_file_range",
    [
        pytest.param(None, id="the system's"),
        pytest.param(_failing(errno.EXDEV), id="across file systems"),
        pytest.param(_failing(errno.ENOSYS), id="unknown to the system"),
        pytest.param(lambda *arguments: 0, id="known but without effect"),
    ],
)
def test_copies(pair: tuple[pathlib.Path, pathlib.Path], monkeypatch: pytest.MonkeyPatch, copy_file_range: Any) -> None:
    if copy_file_range:
        monkeypatch.setattr(os, "copy_file_range", copy_file_range, raising=False)
    told: list[int] = []
    done = transfer([pair], False, told.append)
    assert pair[1].read_bytes() == CONTENT
    assert (done.copied, done.linked, sum(told)) == (len(CONTENT), 0, len(CONTENT))
    assert pair[1].stat().st_ino != pair[0].stat().st_ino


@pytest.mark.parametrize(("number", "linked"), [(None, True), (errno.EXDEV, False), (errno.EPERM, False)])
def test_links_where_it_can(
    pair: tuple[pathlib.Path, pathlib.Path], monkeypatch: pytest.MonkeyPatch, number: int | None, linked: bool
) -> None:
    if number:
        monkeypatch.setattr(os, "link", _failing(number))
    done = transfer([pair], True)
    assert pair[1].read_bytes() == CONTENT
    assert (pair[1].stat().st_ino == pair[0].stat().st_ino) is linked
    assert (done.linked, done.copied) == ((len(CONTENT), 0) if linked else (0, len(CONTENT)))


def test_a_full_disk_is_not_taken_for_something_else(
    pair: tuple[pathlib.Path, pathlib.Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "copy_file_range", _failing(errno.ENOSPC), raising=False)
    with pytest.raises(OSError, match="No space left"):
        transfer([pair], False)


def test_a_destination_appears_when_it_is_committed(tmp_path: pathlib.Path) -> None:
    with Destination(tmp_path / "out") as destination:
        (destination.building / "file").write_text("content")
        assert not (tmp_path / "out").exists()
        destination.commit()
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["out", "out/file"]


def test_a_destination_that_fails_leaves_nothing(tmp_path: pathlib.Path) -> None:
    def interrupted() -> None:
        with Destination(tmp_path / "out") as destination:
            (destination.building / "file").write_text("content")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_lives_is_not_swept(tmp_path: pathlib.Path) -> None:
    with Destination(tmp_path / "out") as first, Destination(tmp_path / "out") as second:
        assert second.swept == ()
        assert first.building.exists()
        (first.building / "file").write_text("first")
        (second.building / "file").write_text("second")
        first.commit()
        with pytest.raises(CheckpointError, match="made by another run meanwhile"):
            second.commit()
    assert (tmp_path / "out" / "file").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_a_killed_run_left_is_swept(tmp_path: pathlib.Path) -> None:
    (tmp_path / "out.nnxmigrate-tmp-0123abcd").mkdir()
    (tmp_path / "other.nnxmigrate-tmp-0123abcd").mkdir()
    with Destination(tmp_path / "out") as destination:
        assert destination.swept == ("out.nnxmigrate-tmp-0123abcd",)
    assert [path.name for path in tmp_path.iterdir()] == ["other.nnxmigrate-tmp-0123abcd"]

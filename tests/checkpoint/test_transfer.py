"""Files arrive whole on every file system, and destinations appear in one step."""

from __future__ import annotations

import errno
import os
import pathlib
from typing import Any

import pytest

from nnxmigrate.checkpoint import blocks
from nnxmigrate.checkpoint.destination import Destination
from nnxmigrate.checkpoint.errors import CheckpointError
from nnxmigrate.checkpoint.journal import Journal
from nnxmigrate.checkpoint.memory import available
from nnxmigrate.checkpoint.transfer import Transfer, pair

CONTENT = bytes(range(256)) * 5000


def _failing(number: int) -> Any:
    def fail(*arguments: object) -> int:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture
def files(tmp_path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    source = tmp_path / "source"
    source.write_bytes(CONTENT)
    return source, tmp_path / "folder" / "copy"


def transfer(files: tuple[pathlib.Path, pathlib.Path], check: bool, link: bool = False, told: Any = None) -> Transfer:
    """Copy one file."""
    journal = Journal(None)
    copying = Transfer(files[1].parent.parent, journal, check, told or (lambda count: None))
    copying.copy([pair(*files, link)])
    return copying


@pytest.mark.parametrize(
    "copy_file_range",
    [
        pytest.param(None, id="the system's"),
        pytest.param(_failing(errno.EXDEV), id="across file systems"),
        pytest.param(_failing(errno.ENOSYS), id="unknown to the system"),
        pytest.param(lambda *arguments: 0, id="known but without effect"),
    ],
)
@pytest.mark.parametrize("check", [True, False])
def test_copies(
    files: tuple[pathlib.Path, pathlib.Path], monkeypatch: pytest.MonkeyPatch, copy_file_range: Any, check: bool
) -> None:
    if copy_file_range:
        monkeypatch.setattr(os, "copy_file_range", copy_file_range, raising=False)
    told: list[int] = []
    done = transfer(files, check, told=told.append).done
    assert files[1].read_bytes() == CONTENT
    assert (done.copied, done.linked, sum(told)) == (len(CONTENT), 0, len(CONTENT))
    assert files[1].stat().st_ino != files[0].stat().st_ino


@pytest.mark.parametrize("size", [0, 1, 999, 1000, 1001, 100_000])
def test_pieces(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("nnxmigrate.checkpoint.transfer.PIECE", 1000)
    pairs = []
    for number in range(5):
        (tmp_path / f"source{number}").write_bytes((CONTENT * 2)[number : size + number])
        pairs.append(pair(tmp_path / f"source{number}", tmp_path / "to" / "there" / str(number)))
    copying = Transfer(tmp_path / "to", Journal(None), True)
    copying.copy(pairs)
    copying.sync()
    copying.verify()
    assert copying.done.compared == copying.done.copied == 5 * size
    for one in pairs:
        assert one.source.read_bytes() == one.destination.read_bytes()


@pytest.mark.parametrize("place", [0, 999, 1000, 54_321, -1])
def test_one_flipped_bit_in_the_copy_is_found(
    files: tuple[pathlib.Path, pathlib.Path], monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr("nnxmigrate.checkpoint.transfer.PIECE", 1000)
    copying = transfer(files, True)
    flip(files[1], place)
    with pytest.raises(CheckpointError, match="of the copy differ"):
        copying.verify()


@pytest.mark.parametrize(
    ("from_disk", "memory", "past_cache"),
    [(False, 4 * len(CONTENT), False), (True, 4 * len(CONTENT), True), (False, len(CONTENT), True), (False, 0, True)],
)
def test_copies_that_do_not_fit_into_memory_are_read_from_the_disk(
    files: tuple[pathlib.Path, pathlib.Path],
    monkeypatch: pytest.MonkeyPatch,
    from_disk: bool,
    memory: int,
    past_cache: bool,
) -> None:
    opened: set[tuple[str, bool]] = set()

    class Watched(blocks.File):
        def __init__(self, path: pathlib.Path, write: bool = False, past_cache: bool = False) -> None:
            opened.add((path.name, past_cache))
            super().__init__(path, write, past_cache)

    monkeypatch.setattr("nnxmigrate.checkpoint.transfer.File", Watched)
    monkeypatch.setattr("nnxmigrate.checkpoint.transfer.available", lambda: memory)
    copying = Transfer(files[1].parent.parent, Journal(None), True, from_disk=from_disk)
    copying.copy([pair(*files)])
    copying.sync()
    copying.verify()
    assert opened == {("source", False), ("copy", past_cache)}
    assert copying.done.compared == len(CONTENT)
    assert files[1].read_bytes() == CONTENT


def test_free_memory() -> None:
    assert (1 << 20) < available() < (1 << 50)


@pytest.mark.parametrize(("text", "least"), [("12345\n", 12345), ("max\n", 1 << 20)])
def test_free_memory_of_a_container(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, text: str, least: int
) -> None:
    (tmp_path / "memory.max").write_text(text)
    monkeypatch.setattr("nnxmigrate.checkpoint.memory._LIMITS", (str(tmp_path / "memory.max"), str(tmp_path / "none")))
    assert least <= available() < (12346 if least == 12345 else 1 << 50)


def flip(path: pathlib.Path, place: int) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def test_a_source_that_becomes_shorter_is_noticed(files: tuple[pathlib.Path, pathlib.Path]) -> None:
    one = pair(*files)
    files[0].write_bytes(CONTENT[:100])
    with pytest.raises(CheckpointError, match="became shorter"):
        Transfer(files[0].parent, Journal(None), True).copy([one])


@pytest.mark.parametrize(("number", "linked"), [(None, True), (errno.EXDEV, False), (errno.EPERM, False)])
@pytest.mark.parametrize("check", [True, False])
def test_links_where_it_can(
    files: tuple[pathlib.Path, pathlib.Path],
    monkeypatch: pytest.MonkeyPatch,
    number: int | None,
    linked: bool,
    check: bool,
) -> None:
    if number:
        monkeypatch.setattr(os, "link", _failing(number))
    done = transfer(files, check, link=True).done
    assert files[1].read_bytes() == CONTENT
    assert (files[1].stat().st_ino == files[0].stat().st_ino) is linked
    assert (done.linked, done.copied) == ((len(CONTENT), 0) if linked else (0, len(CONTENT)))


def test_a_full_disk_is_not_taken_for_something_else(
    files: tuple[pathlib.Path, pathlib.Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "copy_file_range", _failing(errno.ENOSPC), raising=False)
    with pytest.raises(OSError, match="No space left"):
        transfer(files, False)
    files[1].unlink()
    monkeypatch.setattr(os, "pwrite", _failing(errno.ENOSPC), raising=False)
    with pytest.raises(OSError, match="No space left"):
        transfer(files, True)


def interrupted(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, at: int) -> tuple[Destination, list[Any]]:
    """Begin a conversion and stop it like a killed process after so many pieces; return what is needed to go on."""
    monkeypatch.setattr("nnxmigrate.checkpoint.transfer.PIECE", 1000)
    (tmp_path / "source").write_bytes(CONTENT[:20_500])
    destination = Destination(tmp_path / "out", "the same")
    destination.__enter__()
    pairs = [pair(tmp_path / "source", destination.building / "copy")]
    copying = Transfer(destination.building, destination.journal, True)
    pieces: list[int] = []

    def told(count: int) -> None:
        pieces.append(count)
        if len(pieces) == at:
            raise KeyboardInterrupt

    copying.tell(told)
    monkeypatch.setattr("nnxmigrate.checkpoint.transfer.WORKERS", 1)
    with pytest.raises(KeyboardInterrupt):
        copying.copy(pairs)
    assert destination._lock is not None
    os.close(destination._lock)
    destination.journal.close()
    return destination, pairs


def test_what_was_copied_is_not_copied_again(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = interrupted(tmp_path, monkeypatch, 8)
    (first.building / "half written").write_text("not in the journal")
    with Destination(tmp_path / "out", "the same") as destination:
        assert destination.building == first.building
        assert destination.swept == ()
        assert not (destination.building / "half written").exists()
        copying = Transfer(destination.building, destination.journal, True)
        copying.copy([pair(tmp_path / "source", destination.building / "copy")])
        assert copying.done.resumed >= 8000
        assert copying.done.copied == 20_500 - copying.done.resumed
        copying.verify()
        assert copying.done.compared == 20_500
        destination.commit()
    assert (tmp_path / "out" / "copy").read_bytes() == CONTENT[:20_500]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["copy"]


def test_what_a_lost_machine_did_not_write_is_copied_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = interrupted(tmp_path, monkeypatch, 8)
    flip(first.building / "copy", 3000)
    with Destination(tmp_path / "out", "the same") as destination:
        copying = Transfer(destination.building, destination.journal, True)
        copying.copy([pair(tmp_path / "source", destination.building / "copy")])
        copying.verify()
        assert (destination.building / "copy").read_bytes() == CONTENT[:20_500]


def test_what_was_verified_is_not_read_again(tmp_path: pathlib.Path) -> None:
    (tmp_path / "source").write_bytes(CONTENT)
    for round in range(2):
        destination = Destination(tmp_path / "out", "the same")
        destination.__enter__()
        copying = Transfer(destination.building, destination.journal, True)
        copying.copy([pair(tmp_path / "source", destination.building / "copy")])
        copying.verify()
        assert copying.done.compared == (0 if round else len(CONTENT))
        destination.journal.close()
        assert destination._lock is not None
        os.close(destination._lock)


def test_another_conversion_is_not_resumed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, _ = interrupted(tmp_path, monkeypatch, 8)
    with Destination(tmp_path / "out", "something else") as destination:
        assert destination.swept == (first.building.name,)


def test_a_destination_appears_when_it_is_committed(tmp_path: pathlib.Path) -> None:
    with Destination(tmp_path / "out") as destination:
        (destination.building / "file").write_text("content")
        assert not (tmp_path / "out").exists()
        destination.commit()
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["out", "out/file"]


def test_a_destination_that_fails_leaves_nothing(tmp_path: pathlib.Path) -> None:
    def stopped() -> None:
        with Destination(tmp_path / "out") as destination:
            (destination.building / "file").write_text("content")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
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

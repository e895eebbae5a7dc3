"""Folders of a checkpoint, on a local disk or in any store that TensorStore opens."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

from nnxmigrate.checkpoint.errors import CheckpointError

_PATIENCE = 60.0  # seconds a remote store may take to answer; its driver retries for ever


class Folder(Protocol):
    """A folder that is read."""

    @property
    def name(self) -> str:
        """Its last path component."""

    @property
    def spec(self) -> dict[str, Any]:
        """Its TensorStore key-value store."""

    def read(self, path: str) -> bytes | None:
        """Return a file's content; None if there is no such file."""

    def files(self) -> list[str]:
        """Return the names of the files in it, not in its sub-folders, in order."""

    def folders(self) -> list[str]:
        """Return the names of its sub-folders, in order."""

    def walk(self) -> Iterator[str]:
        """Give the paths of all files below it, with slashes, relative to it."""

    def child(self, name: str) -> Folder:
        """Return a sub-folder, which need not exist."""


class LocalFolder:
    """A folder on a local disk."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def spec(self) -> dict[str, Any]:
        return {"driver": "file", "path": f"{self.path}/"}

    def read(self, path: str) -> bytes | None:
        try:
            return (self.path / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None

    def files(self) -> list[str]:
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_file())

    def folders(self) -> list[str]:
        return sorted(entry.name for entry in self.path.iterdir() if entry.is_dir())

    def walk(self) -> Iterator[str]:
        for entry in sorted(self.path.rglob("*")):
            if entry.is_file():
                yield entry.relative_to(self.path).as_posix()

    def child(self, name: str) -> LocalFolder:
        return LocalFolder(self.path / name)

    def write(self, path: str, content: bytes) -> None:
        """Write a file, and make the folders above it."""
        file = self.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


class RemoteFolder:
    """A folder in a store that is reached through TensorStore, such as ``gs://bucket/path``."""

    def __init__(self, url: str, keys: list[str] | None = None) -> None:
        """Open a folder.

        Args:
            url: its address.
            keys: the paths of all files below it, if they are known already.

        Raises:
            CheckpointError: if this TensorStore has no driver for the address.
        """
        self.url = url.rstrip("/")
        self._known = keys

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[-1]

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self._store.spec().to_json()
        return spec

    @cached_property
    def _store(self) -> Any:
        import tensorstore

        try:
            return tensorstore.KvStore.open(f"{self.url}/").result(timeout=_PATIENCE)
        except ValueError as error:
            scheme = self.url.partition("://")[0]
            raise CheckpointError(f"{self.url}: TensorStore cannot open {scheme}:// here: {error}") from error

    @cached_property
    def _keys(self) -> list[str]:
        if self._known is not None:
            return self._known
        try:
            return sorted(key.decode() for key in self._store.list().result(timeout=_PATIENCE))
        except TimeoutError as error:
            raise CheckpointError(f"{self.url}: no answer within {_PATIENCE:.0f} s; is it reachable?") from error
        except ValueError as error:
            raise CheckpointError(f"{self.url}: cannot be listed: {error}") from error

    def read(self, path: str) -> bytes | None:
        if path not in self._keys:
            return None
        content: bytes = self._store.read(path).result().value
        return content

    def files(self) -> list[str]:
        return [key for key in self._keys if "/" not in key]

    def folders(self) -> list[str]:
        return sorted({key.partition("/")[0] for key in self._keys if "/" in key})

    def walk(self) -> Iterator[str]:
        yield from self._keys

    def child(self, name: str) -> RemoteFolder:
        head = f"{name}/"
        below = [key[len(head) :] for key in self._keys if key.startswith(head)]
        return RemoteFolder(f"{self.url}/{name}", below)

    def write(self, path: str, content: bytes) -> None:
        """Write a file."""
        self._store.write(path, content).result()

    def remove(self) -> None:
        """Remove all files below the folder."""
        import tensorstore

        self._store.delete_range(tensorstore.KvStore.KeyRange()).result()


def open_folder(address: str) -> LocalFolder | RemoteFolder:
    """Return the folder at a local path, ``file://`` URL or remote URL.

    Raises:
        CheckpointError: if it does not exist, is no folder or cannot be opened.
    """
    if is_remote(address):
        remote = RemoteFolder(address)
        if not (remote.files() or remote.folders()):
            raise CheckpointError(f"{address}: no such checkpoint")
        return remote
    path = local_path(address)
    if not path.exists():
        raise CheckpointError(f"{path}: no such checkpoint")
    if not path.is_dir():
        raise CheckpointError(f"{path}: a file; an Orbax checkpoint is a folder")
    return LocalFolder(path)


def is_remote(address: str) -> bool:
    """Say whether an address is a URL of something other than a local file."""
    scheme, mark, _ = address.partition("://")
    return bool(mark) and scheme != "file"


def local_path(address: str) -> pathlib.Path:
    """Return the absolute path that a local path or a ``file://`` URL stands for."""
    return pathlib.Path(address.removeprefix("file://")).expanduser().absolute()

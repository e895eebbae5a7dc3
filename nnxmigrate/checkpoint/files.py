"""Folders of a checkpoint, on a local disk or in any store that TensorStore opens."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from nnxmigrate.checkpoint.errors import CheckpointError

_PATIENCE = 60.0  # seconds a remote store may take to list or write something; its driver retries for ever
_FIRST = 3.0  # seconds it may take to answer at all


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

    def size(self, path: str) -> int | None:
        """Return the size of a file; None if there is no such file, or nobody knows."""

    def facts(self, path: str, fresh: bool = False) -> dict[str, Any] | None:
        """Return what is known of a file without reading it; None if nothing is. Unless fresh, as it was listed."""

    def pieces(self, path: str, size: int) -> Iterator[bytes]:
        """Give a file's content in pieces of a size."""


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
        found = [pathlib.Path(top, name) for top, _, names in os.walk(self.path, followlinks=True) for name in names]
        for entry in sorted(found):
            if entry.is_file():
                yield entry.relative_to(self.path).as_posix()

    def child(self, name: str) -> LocalFolder:
        return LocalFolder(self.path / name)

    def size(self, path: str) -> int | None:
        """Return the size of a file; None if there is no such file."""
        try:
            return (self.path / path).stat().st_size
        except OSError:
            return None

    def facts(self, path: str, fresh: bool = False) -> dict[str, Any] | None:
        """Return what is known of a file without reading it; None if there is no such file."""
        size = self.size(path)
        return None if size is None else {"size": size}

    def pieces(self, path: str, size: int) -> Iterator[bytes]:
        """Give a file's content in pieces of a size."""
        with open(self.path / path, "rb") as file:
            while content := file.read(size):
                yield content

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

    @property
    def scheme(self) -> str:
        """The part of its address before ``://``."""
        return self.url.partition("://")[0]

    @property
    def driver(self) -> Any:
        """The file system that fsspec has for the store; None if it has none here."""
        return _driver(self.scheme)

    @cached_property
    def _store(self) -> Any:
        import tensorstore

        try:
            return tensorstore.KvStore.open(f"{self.url}/").result(timeout=_FIRST)
        except ValueError as error:
            raise CheckpointError(f"{self.url}: TensorStore cannot open {self.scheme}:// here: {error}") from error
        except TimeoutError as error:
            raise CheckpointError(f"{self.url}: no answer within {_FIRST} s", access_hint(self.scheme)) from error

    def probe(self) -> None:
        """Ask for something small, so that a store that does not answer is noticed at once.

        Raises:
            CheckpointError: if there is no answer, or it is a refusal; with what is known about credentials.
        """
        with quiet_native():
            try:
                self._store.read("_METADATA", byte_range=slice(0, 1)).result(timeout=_FIRST)
            except TimeoutError as error:
                raise CheckpointError(
                    f"{self.url}: no answer within {_FIRST} s: no network, or no credentials", access_hint(self.scheme)
                ) from error
            except ValueError as error:
                if "range" not in str(error).lower():
                    raise CheckpointError(f"{self.url}: {_first_line(error)}", access_hint(self.scheme)) from error

    def size(self, path: str) -> int | None:
        """Return the size of a file; None if there is no such file, or the store cannot be asked."""
        facts = self.facts(path)
        return None if facts is None else facts.get("size")

    def facts(self, path: str, fresh: bool = False) -> dict[str, Any] | None:
        """Return what the store says of a file without reading it; None if it cannot be asked or has no such file.

        Raises:
            CheckpointError: if it refuses to answer.
        """
        if self.driver is None:
            return None
        if not fresh:
            return self._details.get(path)
        try:
            facts: dict[str, Any] = self.driver.info(f"{self.url}/{path}")
        except FileNotFoundError:
            return None
        except Exception as error:  # drivers raise what they like
            raise CheckpointError(f"{self.url}/{path}: {_first_line(error)}", access_hint(self.scheme)) from error
        return facts

    @cached_property
    def _details(self) -> dict[str, dict[str, Any]]:
        """What the store says of all files, asked once."""
        try:
            found = self.driver.find(self.url, detail=True)
        except Exception as error:  # drivers raise what they like
            raise CheckpointError(f"{self.url}: {_first_line(error)}", access_hint(self.scheme)) from error
        head = self.url.partition("://")[2] + "/"
        return {name.removeprefix(head): facts for name, facts in found.items()}

    def pieces(self, path: str, size: int) -> Iterator[bytes]:
        """Give a file's content in pieces of a size; all at once where the store does not tell how long it is."""
        total = self.size(path)
        if total is None:
            content: bytes = self._store.read(path).result().value
            for start in range(0, len(content), size):
                yield content[start : start + size]
            return
        for start in range(0, total, size):
            part = slice(start, min(start + size, total))
            piece: bytes = self._store.read(path, byte_range=part).result().value
            yield piece

    @cached_property
    def _keys(self) -> list[str]:
        if self._known is not None:
            return self._known
        try:
            self.probe()
            with quiet_native():
                keys = sorted(key.decode() for key in self._store.list().result(timeout=_PATIENCE))
            if not keys:  # drivers take a refusal for an empty list
                self.probe()
            return keys
        except TimeoutError as error:
            raise CheckpointError(f"{self.url}: could not be listed within {_PATIENCE:.0f} s") from error
        except ValueError as error:
            raise CheckpointError(f"{self.url}: cannot be listed: {_first_line(error)}") from error

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
        """Write a file.

        Raises:
            CheckpointError: if the store refuses or does not answer.
        """
        try:
            self._store.write(path, content).result(timeout=_PATIENCE + len(content) / 1e6)
        except TimeoutError as error:
            raise CheckpointError(f"{self.url}/{path}: not written: no answer", access_hint(self.scheme)) from error
        except ValueError as error:
            said = _first_line(error)
            raise CheckpointError(f"{self.url}/{path}: not written: {said}", access_hint(self.scheme)) from error

    def remove(self, path: str | None = None) -> None:
        """Remove a file, or all files below the folder."""
        import tensorstore

        if path is not None:
            self._store.write(path, None).result(timeout=_PATIENCE)
        else:
            self._store.delete_range(tensorstore.KvStore.KeyRange()).result(timeout=_PATIENCE)


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
        raise CheckpointError(f"{path}: a file; an Orbax checkpoint is a folder", NOT_ORBAX)
    return LocalFolder(path)


@lru_cache
def _driver(scheme: str) -> Any:
    try:
        import fsspec  # type: ignore[import-not-found]

        driver = fsspec.filesystem(scheme)
        _refuse_soon(driver)
        return driver
    except Exception:  # not installed, or it cannot be used here: TensorStore does without
        return None


def _refuse_soon(driver: Any) -> None:
    """Let gcsfs repeat a request with lost credentials once, not for a minute; a server's own faults it repeats."""
    raw = getattr(getattr(type(driver), "_request", None), "__wrapped__", None)
    if raw is None or not type(driver).__module__.startswith("gcsfs"):
        return
    import asyncio

    from gcsfs.retry import HttpError, retry_request  # type: ignore[import-not-found]

    def refused(error: Exception) -> bool:
        return getattr(error, "code", None) == 401

    async def request(*arguments: Any, **options: Any) -> Any:
        try:
            return await raw(driver, *arguments, **options)
        except HttpError as error:
            if not refused(error):
                raise
        await asyncio.sleep(0.5)
        try:
            return await raw(driver, *arguments, **options)
        except HttpError as error:
            if refused(error):
                raise PermissionError(str(error)) from error
            raise

    driver._request = retry_request(retries=6)(request)


def access_hint(scheme: str) -> str:
    """Say which credentials a store looks for and whether they are there."""
    home = pathlib.Path.home()
    if scheme == "gs":
        places = [os.environ.get("GOOGLE_APPLICATION_CREDENTIALS")]
        places.append(str(home / ".config" / "gcloud" / "application_default_credentials.json"))
        way = "log in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
    elif scheme == "s3":
        if os.environ.get("AWS_ACCESS_KEY_ID"):
            return "the credentials in AWS_ACCESS_KEY_ID are tried; are they right, and is the bucket's region?"
        places = [os.environ.get("AWS_SHARED_CREDENTIALS_FILE"), str(home / ".aws" / "credentials")]
        way = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials"
    else:
        return "is the address right, and the network there?"
    there = [place for place in places if place and pathlib.Path(place).is_file()]
    if there:
        return f"the credentials in {there[0]} are tried; are they right, and may they read this bucket?"
    return f"no credentials were found: {way}"


@contextmanager
def quiet_native() -> Iterator[None]:
    """Keep what the drivers' native code writes to the terminal from it; Python's own messages get through."""
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    own, sys.stderr = sys.stderr, os.fdopen(os.dup(kept), "w") if sys.stderr is sys.__stderr__ else sys.stderr
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    os.close(nothing)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        if sys.stderr is not own:
            sys.stderr.close()
        sys.stderr = own


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def is_remote(address: str) -> bool:
    """Say whether an address is a URL of something other than a local file."""
    scheme, mark, _ = address.partition("://")
    return bool(mark) and scheme != "file"


NOT_ORBAX = (
    "msgpack, pickle and NumPy files are not read. One of plain arrays without RNG state needs no conversion; for any "
    "other, and for a pickled nnx.State, load the file in the old program's environment, leave RNG state out, and save "
    "the rest with ocp.StandardCheckpointer"
)


def local_path(address: str) -> pathlib.Path:
    """Return the absolute path that a local path or a ``file://`` URL stands for, without ``..`` and symbolic links.

    A link in the last place keeps its name, so that results stand beside the link.
    """
    if address.startswith("file://"):
        address = unquote(urlsplit(address).path)
    path = pathlib.Path(address).expanduser()
    if path.name in ("", "..") or os.path.basename(address.rstrip("/")) == ".":
        return pathlib.Path(os.path.realpath(path))
    return pathlib.Path(os.path.realpath(path.parent), path.name)

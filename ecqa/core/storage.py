"""One interface to local disks, s3:// and memory://: read, list, atomic write, conditional put, delete.

A Storage travels to workers as its URL alone and opens its file system there. Endpoint, region and credentials of s3 come
from the environment (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, ...). Knows nothing of tables.
"""

import os
import threading
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec
from botocore.exceptions import BotoCoreError
from fsspec.implementations.local import LocalFileSystem

from ecqa.core.errors import DeniedError, EcqaError, InputError, MissingError, OutputError, UsageError

_MEMORY_LOCK = threading.Lock()
S3_OPTIONS = {
    "use_listings_cache": False,
    # A server that takes the connection and never answers would otherwise hold a run for minutes without a word.
    "config_kwargs": {"connect_timeout": 10, "read_timeout": 60, "retries": {"max_attempts": 5, "mode": "standard"}},
}


@dataclass(frozen=True)
class FileInfo:
    """A stored file: path below the storage's root, size in bytes, and a version that changes with the content."""

    path: str
    num_bytes: int
    version: str


@dataclass(frozen=True)
class Storage:
    """A folder on some file system; every path is relative to it and uses forward slashes."""

    url: str

    @cached_property
    def _opened(self) -> tuple[Any, str]:
        if "://" not in self.url:
            return LocalFileSystem(), str(absolute_url(self.url)).rstrip("/")
        if "::" in self.url:
            raise InputError(f"{self.url}: chained file systems (::) are not supported; give one place")
        options: dict[str, Any] = S3_OPTIONS if self.url.startswith("s3") else {}
        try:
            fs, root = fsspec.core.url_to_fs(self.url, **options)
        except (ImportError, ValueError, OSError) as error:
            raise InputError(
                f"{self.url}: {_one_line(error)}; give a local path, s3://bucket/prefix or memory://"
            ) from error
        return fs, root.rstrip("/")

    def __getstate__(self) -> dict[str, str]:
        return {"url": self.url}

    def __setstate__(self, state: dict[str, str]) -> None:
        object.__setattr__(self, "url", state["url"])

    @property
    def is_local(self) -> bool:
        """True for folders of this machine."""
        return "file" in self._protocols

    @property
    def _protocols(self) -> tuple[str, ...]:
        protocol = self._opened[0].protocol
        return (protocol,) if isinstance(protocol, str) else tuple(protocol)

    def full(self, path: str = "") -> str:
        """Path as its file system knows it."""
        root = self._opened[1]
        return f"{root}/{path}" if path else root

    def read(self, path: str) -> bytes:
        """Whole content. Raises InputError when it cannot be read."""
        with self._named(path, InputError):
            return cast(bytes, self._opened[0].cat_file(self.full(path)))

    def read_range(self, path: str, start: int, stop: int) -> bytes:
        """Bytes start..stop of a file, fetched alone."""
        with self._named(path, InputError):
            return cast(bytes, self._opened[0].cat_file(self.full(path), start=start, end=stop))

    def read_many(self, paths: list[str]) -> list[bytes]:
        """Contents in the order of ``paths``, fetched concurrently where the file system can."""
        if self.is_local or not paths:
            return [self.read(path) for path in paths]
        with self._named(paths[0], InputError):
            nothing = [None] * len(paths)  # whole files; fs.cat would take brackets in a name for a pattern
            return list(
                self._opened[0].cat_ranges([self.full(path) for path in paths], nothing, nothing, on_error="raise")
            )

    @contextmanager
    def open(self, path: str) -> Iterator[BinaryIO]:
        """Open for reading, seekable."""
        with self._named(path, InputError), self._opened[0].open(self.full(path), "rb") as file:
            yield file

    def exists(self, path: str) -> bool:
        """True when the file or folder is there."""
        with self._named(path, InputError):
            return bool(self._opened[0].exists(self.full(path)))

    def list(self, folder: str = "") -> list[FileInfo]:
        """All files below ``folder``, sorted by path; none when the folder is not there."""
        fs, root = self._opened
        with self._named(folder, InputError):
            fs.invalidate_cache()
            found = fs.find(self.full(folder), detail=True)
        details = ((path, _followed(path, detail)) for path, detail in found.items())
        infos = [_info(path, detail, root) for path, detail in details if detail["type"] == "file"]
        return sorted((info for info in infos if info), key=lambda info: info.path)

    def info(self, path: str = "") -> FileInfo | None:
        """The file at ``path`` ("" is the storage's own URL, its path then the last part of it); None when there is none."""
        fs, root = self._opened
        with self._named(path, InputError):
            if not fs.isfile(self.full(path)):
                return None
            detail = _followed(self.full(path), fs.info(self.full(path)))
        return _info(detail["name"], detail, root if path else root.rpartition("/")[0])

    def write(self, path: str, data: bytes) -> None:
        """Write the whole file at once: a reader sees the old content, the new, or none, never a part."""
        with self._named(path, OutputError):
            if self.is_local:
                self._write_local(path, data, replace=True)
            else:
                self._opened[0].pipe_file(self.full(path), data)

    def put_new(self, path: str, data: bytes) -> bool:
        """Create the file only if it is not there; False when another writer with other content was first.

        A put whose answer was lost and that was sent again finds its own content, which counts as created.
        """
        with self._named(path, OutputError):
            try:
                self._create(path, data)
            except FileExistsError:
                return self.read(path) == data
            return True

    def _create(self, path: str, data: bytes) -> None:
        fs = self._opened[0]
        if self.is_local:
            self._write_local(path, data, replace=False)
        elif "memory" in self._protocols:
            with _MEMORY_LOCK:
                if fs.exists(self.full(path)):
                    raise FileExistsError(path)
                fs.pipe_file(self.full(path), data)
        else:
            fs.pipe_file(self.full(path), data, mode="create")

    def _write_local(self, path: str, data: bytes, *, replace: bool) -> None:
        target = Path(self.full(path))
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.tmp")
        try:
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            if replace:
                temporary.replace(target)
            else:
                os.link(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)

    def delete(self, paths: Iterable[str]) -> None:
        """Remove files; one that is gone already is no error."""
        fs = self._opened[0]
        for path in paths:
            with self._named(path, OutputError):
                try:
                    fs.rm_file(self.full(path))
                except FileNotFoundError:
                    continue

    @contextmanager
    def _named(self, path: str, kind: type[EcqaError]) -> Iterator[None]:
        """Turn a file system's error into one line that names the place."""
        place = f"{self.url.rstrip('/')}/{path}" if path else self.url
        try:
            yield
        except FileNotFoundError as error:
            missing = MissingError if kind is InputError else kind
            raise missing(f"{place}: not found; check the path and, on s3, that the bucket exists") from error
        except PermissionError as error:
            denied = DeniedError if kind is InputError else kind
            raise denied(f"{place}: permission denied; check the rights or credentials ({_one_line(error)})") from error
        except (OSError, ValueError, BotoCoreError) as error:
            raise kind(f"{place}: {type(error).__name__}: {_one_line(error)}") from error


def batched(items: Iterable[str], size: int) -> Iterator[list[str]]:
    """Lists of at most ``size`` items, in order."""
    each = iter(items)
    while chunk := list(islice(each, size)):
        yield chunk


def split_url(url: str) -> tuple[str, str]:
    """Split into folder and last name: s3://b/x/y.csv -> (s3://b/x, y.csv); plain paths become absolute."""
    if "://" not in url:
        path = Path(absolute_url(url))
        return str(path.parent), path.name
    head, _, name = url.rstrip("/").rpartition("/")
    return head, name


def absolute_url(url: str) -> str:
    """The URL itself, or the absolute path of a local one. Raises UsageError for what can be no path."""
    if not url.strip() or "\0" in url:
        raise UsageError(f"{url!a} is no path; give a local path, s3://bucket/prefix or memory://")
    if "://" in url:
        return url.rstrip("/")
    try:
        return os.path.abspath(Path(url).expanduser())
    except (RuntimeError, OSError) as error:
        raise UsageError(f"{url}: {_one_line(error)}") from error


def _info(path: str, detail: dict[str, Any], root: str) -> FileInfo | None:
    relative = path[len(root) :].lstrip("/")
    name = relative.rpartition("/")[2]
    if not relative or (name.startswith(".") and name.endswith(".tmp")):
        return None
    version = detail.get("ETag") or detail.get("mtime") or detail.get("created") or ""
    return FileInfo(relative, int(detail["size"] or 0), str(version).strip('"'))


def _followed(path: str, detail: dict[str, Any]) -> dict[str, Any]:
    """A local link to a file counts as the file that it leads to; links to folders are not followed (they may go round)."""
    if not detail.get("islink") or not os.path.isfile(path):
        return detail
    there = Path(path).stat()
    return {**detail, "type": "file", "size": there.st_size, "mtime": there.st_mtime}


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__

"""Listing an input (folder, glob, file, on any storage) and reading whole files: input URL -> DOCUMENTS.

Knows nothing of transcript formats; what a file holds is decided by its content, later.
"""

import fnmatch
from dataclasses import dataclass

import pyarrow as pa

from ecqa.core.errors import InputError
from ecqa.core.schemas import DOCUMENTS
from ecqa.core.shards import Item, Shard
from ecqa.core.storage import FileInfo, Storage, absolute_url, split_url

_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True)
class Listing:
    """Files of an input; paths are below ``root``. num_hidden files (dot files) were left out."""

    root: str
    files: tuple[FileInfo, ...]
    num_hidden: int


def list_input(url: str) -> Listing:
    """List a file, a folder (recursively) or a glob. Raises InputError when there is nothing."""
    place = absolute_url(url)
    file = Storage(place).info()
    if file is not None:
        return Listing(split_url(place)[0], (file,), 0)
    root, pattern = _split_glob(place)
    found = [info for info in Storage(root).list() if pattern is None or _matches(info.path, pattern)]
    files = [info for info in found if not _is_hidden(info.path)]
    if not files:
        raise InputError(f"{url}: no files found; give a folder, a glob or a file of transcripts, or a table of pairs")
    return Listing(root, tuple(files), len(found) - len(files))


def _split_glob(place: str) -> tuple[str, str | None]:
    """Split at the first path part with a wildcard; None without one."""
    if not _WILDCARDS & set(place):
        return place, None
    parts = place.split("/")
    first = next(index for index, part in enumerate(parts) if _WILDCARDS & set(part))
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def _matches(path: str, pattern: str) -> bool:
    """Shell glob by path part; ** stands for any number of parts."""
    return _match_parts(path.split("/"), pattern.split("/"))


def _match_parts(path: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_match_parts(path[skip:], pattern[1:]) for skip in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and _match_parts(path[1:], pattern[1:])


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


@dataclass(frozen=True)
class FileSource:
    """Whole files as DOCUMENTS. A file that cannot be read, or is over max_file_bytes, is a row that says so."""

    root: str
    files: tuple[FileInfo, ...]
    max_items: int
    max_bytes: int
    max_file_bytes: int

    def __getstate__(self) -> dict[str, object]:
        # The listing stays on the driver: workers read what their shard names.
        return {**self.__dict__, "files": ()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def items(self) -> list[Item]:
        """One item a file."""
        return [Item(info.path, info.num_bytes, info.version) for info in self.files]

    def read(self, shard: Shard) -> dict[str, pa.Table]:
        """Bytes of the shard's files."""
        storage = Storage(self.root)
        rows = [self._read_one(storage, item) for item in shard.items]
        return {"documents": pa.Table.from_pylist(rows, schema=DOCUMENTS)}

    def _read_one(self, storage: Storage, item: Item) -> dict[str, object]:
        row: dict[str, object] = {"source_path": item.path, "num_bytes": item.num_bytes}
        if item.num_bytes > self.max_file_bytes:
            return row
        try:
            return row | {"content": storage.read(item.path)}
        except InputError as error:
            return row | {"read_error": str(error)}

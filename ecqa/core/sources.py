"""Listing an input (folder, glob, file, on any storage) and reading whole files: input URL -> DOCUMENTS.

Knows nothing of transcript formats; what a file holds is decided by its content, later.
"""

import fnmatch
from dataclasses import dataclass, replace

import pyarrow as pa

from ecqa.core.errors import DeniedError, InputError, MissingError
from ecqa.core.schemas import DOCUMENTS
from ecqa.core.shards import Item, Limits, Shard
from ecqa.core.storage import FileInfo, Storage, absolute_url, split_url

_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True)
class Listing:
    """Files of an input; paths are below ``root``. num_hidden files (.name, _name) were left out.

    whole: the root was searched (folder or glob), so whatever appears below it is input too.
    """

    root: str
    files: tuple[FileInfo, ...]
    num_hidden: int
    whole: bool = True


def list_input(url: str) -> Listing:
    """List a file, a folder (recursively) or a glob. Raises InputError when there is nothing."""
    place = absolute_url(url)
    file = Storage(place).info()
    if file is not None:
        return Listing(split_url(place)[0], (file,), 0, whole=False)
    root, found = place, Storage(place).list()
    if not found and _WILDCARDS & set(place):
        root, pattern = _split_glob(place)
        found = [info for info in Storage(root).list() if _matches(info.path, pattern)]
    files = [info for info in found if not _is_hidden(info.path)]
    odd = next((info.path for info in files if not _is_text(info.path)), None)
    if odd is not None:
        raise InputError(f"{url}: the file name {odd!a} is not UTF-8, and no table can hold it; rename the file")
    if not files:
        raise InputError(f"{url}: no files found; give a folder, a glob or a file of transcripts, or a table of pairs")
    return Listing(root, tuple(files), len(found) - len(files), whole=True)


def _split_glob(place: str) -> tuple[str, str]:
    """Split at the first path part with a wildcard."""
    parts = place.split("/")
    first = next(index for index, part in enumerate(parts) if _WILDCARDS & set(part))
    rest = [part for index, part in enumerate(parts) if index >= first and not (part == parts[index - 1] == "**")]
    return "/".join(parts[:first]) or "/", "/".join(rest)


def _matches(path: str, pattern: str) -> bool:
    """Shell glob by path part; ** stands for any number of parts."""
    return _match_parts(path.split("/"), pattern.split("/"))


def _match_parts(path: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_match_parts(path[skip:], pattern[1:]) for skip in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and _match_parts(path[1:], pattern[1:])


def _is_text(path: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in path)


def _is_hidden(path: str) -> bool:
    """Dot files, and marks such as _SUCCESS that other engines leave beside their tables."""
    return any(part.startswith((".", "_")) for part in path.split("/"))


@dataclass(frozen=True)
class FileSource:
    """Whole files as DOCUMENTS. A file that is gone, may not be read, or is over max_file_bytes is a row that says so."""

    listing: Listing
    limits: Limits
    max_file_bytes: int
    version: int = 1

    def __getstate__(self) -> dict[str, object]:
        # The listing stays on the driver: workers read what their shard names.
        return {**self.__dict__, "listing": replace(self.listing, files=())}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def cut(self, file: FileInfo) -> list[Item]:
        """One item a file."""
        return [Item(file.path, file.num_bytes, file.version)]

    def read(self, shard: Shard) -> dict[str, pa.Table]:
        """Bytes of the shard's files.

        Raises InputError when storage fails, and when no file of several may be read: credentials that ran out are no
        fault of the files.
        """
        storage = Storage(self.listing.root)
        rows, denied = [], []
        for item in shard.items:
            row: dict[str, object] = {"source_path": item.path, "num_bytes": item.num_bytes}
            if item.num_bytes <= self.max_file_bytes:
                try:
                    row["content"] = storage.read(item.path)
                except (MissingError, DeniedError) as error:
                    row["read_error"] = str(error)
                    denied += [error] if isinstance(error, DeniedError) else []
            rows.append(row)
        if len(denied) == len(shard.items) > 1:
            raise denied[0]
        return {"documents": pa.Table.from_pylist(rows, schema=DOCUMENTS)}

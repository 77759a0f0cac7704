"""CSV in parts: cut a file at record ends without holding it, and read one part alone.

Records are found by Python's csv reader (a quote opens a field only at the field's start), parts are parsed by pyarrow. A
file is UTF-8 or, where any byte of it is not, Windows-1252; the whole file one or the other. Knows nothing of pairs.
"""

import codecs
import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.csv as pacsv

from ecqa.core.errors import InputError
from ecqa.core.shards import Item
from ecqa.core.storage import FileInfo, Storage

_CHUNK = 8 << 20
_BOM = b"\xef\xbb\xbf"


def cut_csv(storage: Storage, file: FileInfo, max_rows: int, check: Callable[[list[str], str], None]) -> Iterator[Item]:
    """Yield parts of at most ``max_rows`` records; ``check`` sees the header's columns first.

    Raises InputError when the file is UTF-16 or its records cannot be told apart.
    """
    with storage.open(file.path) as opened:
        lines = _Lines(opened, file.path)
        header = lines.header()
        check(_columns(header, file.path), file.path)
        start, first, total = lines.num_bytes, 0, 0
        parts = []
        for total in lines.records(_delimiter(header)):
            if total - first == max_rows:
                parts.append((start, lines.num_bytes, first, max_rows))
                start, first = lines.num_bytes, total
        if total > first:
            parts.append((start, lines.num_bytes, first, total - first))
    encoding = "utf-8" if lines.is_utf8() else "cp1252"
    for begin, stop, first, number in parts:
        yield Item(file.path, file.num_bytes, file.version, begin, stop, first, number, len(header), encoding)


class _Lines:
    """Lines of a file, as bytes in latin-1 for the csv reader, with the bytes handed out so far."""

    def __init__(self, opened: object, path: str):
        self._opened = opened
        self._path = path
        self._decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder("utf-8")()
        self.num_bytes = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._opened.readline():  # type: ignore[attr-defined]
            self.num_bytes += len(line)
            self._check_encoding(line)
            yield line.decode("latin-1")

    def _check_encoding(self, raw: bytes, *, final: bool = False) -> None:
        try:
            if self._decoder is not None:
                self._decoder.decode(raw, final)
        except UnicodeDecodeError:
            self._decoder = None

    def is_utf8(self) -> bool:
        """True when all bytes so far are UTF-8."""
        self._check_encoding(b"", final=True)
        return self._decoder is not None

    def header(self) -> bytes:
        """The first record. Raises InputError for UTF-16."""
        first = next(iter(self), "").encode("latin-1")
        if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{self._path}: is UTF-16; save it as UTF-8")
        return first

    def records(self, delimiter: str) -> Iterator[int]:
        """Yield after each record how many there were; ``num_bytes`` then stands at its end."""
        csv.field_size_limit(sys.maxsize)
        reader = csv.reader(self, delimiter=delimiter)
        records = 0
        while True:
            with _named(self._path, records + 1):
                record = next(reader, None)
            if record is None:
                return
            records += bool(record)
            yield records


def read_csv(
    storage: Storage, item: Item, wanted: Callable[[list[str], str], dict[str, str]]
) -> tuple[pa.Table, list[int], list[tuple[int, str]]]:
    """Read one part: its columns under our names, as strings; its rows' numbers; (row number, text) of broken records."""
    header = storage.read_range(item.path, 0, item.header_stop or 0)
    body = storage.read_range(item.path, item.start or 0, item.stop or 0)
    columns = _columns(header, item.path)
    names = wanted(columns, item.path)
    broken: list[tuple[int, str]] = []

    def set_aside(record: pacsv.InvalidRow) -> str:
        broken.append(((record.number or 1) - 1, record.text or ""))
        return "skip"

    text = body.decode(item.encoding or "utf-8", "replace").encode("utf-8", "replace")
    table = pacsv.read_csv(
        io.BytesIO(text),
        # One thread, else pyarrow gives no record numbers; the block holds the whole part.
        read_options=pacsv.ReadOptions(column_names=columns, use_threads=False, block_size=len(text) + 2),
        parse_options=pacsv.ParseOptions(
            delimiter=_delimiter(header), newlines_in_values=True, invalid_row_handler=set_aside
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()), include_columns=list(names.values())
        ),
    )
    first = item.first_row or 0
    lost = {number for number, _ in broken}
    rows = [first + number for number in range(table.num_rows + len(broken)) if number not in lost]
    return table.rename_columns(list(names)), rows, [(first + number, record) for number, record in broken]


def _columns(header: bytes, path: str) -> list[str]:
    text = header.removeprefix(_BOM).decode("utf-8", "replace").strip("\r\n")
    with _named(path, 1):
        return [name.strip() for name in next(csv.reader([text], delimiter=_delimiter(header)), [])]


@contextmanager
def _named(path: str, record: int) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:
        raise InputError(f"{path}: record {record} is no CSV: {error}; save it with \\n line ends") from error


def _delimiter(header: bytes) -> str:
    text = header.decode("latin-1")
    return max(",;\t", key=text.count)

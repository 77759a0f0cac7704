"""A user's table of pairs (Parquet or CSV) -> QA_PAIRS, row for row, in shards of rows.

A row keeps its own id where the table has one (pair_id or id); otherwise its id follows from file, text and row number.
Parquet is cut by rows, CSV by byte ranges at record ends, so no shard reads the whole file. Knows nothing of transcripts.
"""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from ecqa.core.errors import InputError
from ecqa.core.ids import make_id
from ecqa.core.schemas import DEAD_LETTERS, QA_PAIRS, from_rows
from ecqa.core.shards import Item, Shard
from ecqa.core.storage import FileInfo, Storage

TABLE_SUFFIXES = (".parquet", ".csv", ".tsv")
ALIASES: Mapping[str, tuple[str, ...]] = {
    "question": ("question",),
    "answer": ("answer",),
    "pair_id": ("pair_id", "id"),
    "call_id": ("call_id",),
    "transcript_id": ("transcript_id",),
    "asker": ("asker", "questioner"),
    "asker_firm": ("asker_firm",),
    "responder": ("responder", "respondent", "answerer"),
    "responder_title": ("responder_title",),
    "ticker": ("ticker", "companyticker", "company_ticker"),
    "year": ("year",),
    "quarter": ("quarter",),
}
SLICES_OF_ROW_GROUP = 16
"""A row group is decoded from its start for every slice of it, so it is cut into at most this many shards."""
_CHUNK = 8 << 20
_QUOTE, _NEWLINE = 34, 10


@dataclass(frozen=True)
class TableSource:
    """Rows of Parquet and CSV files that all have the columns ``question`` and ``answer`` (any case)."""

    root: str
    files: tuple[FileInfo, ...]
    max_rows: int
    max_items: int = 1
    max_bytes: int = 1 << 62

    def __getstate__(self) -> dict[str, object]:
        return {**{k: v for k, v in self.__dict__.items() if k != "_storage"}, "files": ()}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    @cached_property
    def _storage(self) -> Storage:
        return Storage(self.root)

    def items(self) -> list[Item]:
        """Runs of at most max_rows rows (more where a Parquet row group is very large)."""
        return [item for info in self.files for item in self._cut(info)]

    def _cut(self, info: FileInfo) -> Iterator[Item]:
        if info.path.lower().endswith(".parquet"):
            return _cut_parquet(self._storage, info, self.max_rows)
        return _cut_csv(self._storage, info, self.max_rows)

    def read(self, shard: Shard) -> dict[str, pa.Table]:
        """QA_PAIRS of the shard's rows; CSV records of a wrong width are DEAD_LETTERS."""
        tables, dead = [], []
        for item in shard.items:
            if item.path.lower().endswith(".parquet"):
                raw = _read_parquet(self._storage, item)
            else:
                raw, broken = _read_csv(self._storage, item)
                dead += [_broken_record(item, shard, number, text) for number, text in broken]
            tables.append(_to_pairs(raw, item))
        return {"qa_pairs": pa.concat_tables(tables), "dead_letters": from_rows(dead, DEAD_LETTERS)}


def pairs_from_table(table: pa.Table) -> pa.Table:
    """QA_PAIRS of a table in memory. Raises InputError when question or answer is missing."""
    wanted = _wanted(table.column_names, "table")
    strings = _as_strings(table.select(list(wanted.values())).rename_columns(list(wanted)))
    return _to_pairs(strings, Item("table", table.nbytes, "", 0, table.num_rows, 0))


def has_pair_columns(columns: list[str]) -> bool:
    """True when a table with these columns is a table of pairs."""
    return {"question", "answer"} <= {column.strip().lower() for column in columns}


def _wanted(columns: list[str], place: str) -> dict[str, str]:
    """Map our names to the file's. Raises InputError when question or answer is missing."""
    by_lower = {column.strip().lower(): column for column in columns}
    if not has_pair_columns(columns):
        raise InputError(
            f"{place}: needs the columns question and answer, got {', '.join(columns) or 'none'}; rename them"
        )
    found = {name: next((by_lower[a] for a in aliases if a in by_lower), None) for name, aliases in ALIASES.items()}
    return {name: column for name, column in found.items() if column is not None}


def _cut_parquet(storage: Storage, info: FileInfo, max_rows: int) -> Iterator[Item]:
    with storage.open(info.path) as file:
        parquet = _open_parquet(file, info.path)
        _wanted(parquet.schema_arrow.names, info.path)
        groups = [parquet.metadata.row_group(index).num_rows for index in range(parquet.metadata.num_row_groups)]
    begin = 0
    for rows in groups:
        step = max(max_rows, -(-rows // SLICES_OF_ROW_GROUP))
        for start in range(begin, begin + rows, step):
            stop = min(start + step, begin + rows)
            yield Item(info.path, info.num_bytes, info.version, start, stop, start)
        begin += rows


def _open_parquet(file: object, place: str) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{place}: not a readable Parquet file: {' '.join(str(error).split())}") from error


def _read_parquet(storage: Storage, item: Item) -> pa.Table:
    start, stop = item.start or 0, item.stop or 0
    with storage.open(item.path) as file:
        parquet = _open_parquet(file, item.path)
        wanted = _wanted(parquet.schema_arrow.names, item.path)
        group, offset = _row_group(parquet, start)
        parts, seen = [], 0
        batches = parquet.iter_batches(batch_size=4096, row_groups=[group], columns=list(wanted.values()))
        for batch in batches:
            first, last = max(start - offset - seen, 0), min(stop - offset - seen, batch.num_rows)
            if last > first:
                parts.append(batch.slice(first, last - first))
            seen += batch.num_rows
            if seen >= stop - offset:
                break
    table = pa.Table.from_batches(parts)
    return _as_strings(table.select(list(wanted.values())).rename_columns(list(wanted)))


def _row_group(parquet: pq.ParquetFile, row: int) -> tuple[int, int]:
    begin = 0
    for index in range(parquet.metadata.num_row_groups):
        rows = parquet.metadata.row_group(index).num_rows
        if row < begin + rows:
            return index, begin
        begin += rows
    raise InputError(f"row {row} is past the end of the Parquet file; it changed while it was read")


def _as_strings(table: pa.Table) -> pa.Table:
    for index, field in enumerate(table.schema):
        try:
            column = table.column(index).cast(pa.string())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise InputError(f"column {field.name}: {field.type} is no text; convert it to strings") from error
        table = table.set_column(index, field.name, column)
    return table


def _cut_csv(storage: Storage, info: FileInfo, max_rows: int) -> Iterator[Item]:
    """Cut at every max_rows-th record end: a newline before which the number of quotes is even."""
    header = _csv_header(storage, info.path)
    _wanted(_csv_columns(header), info.path)
    start, row, records = len(header), 0, 0
    for end in _record_ends(storage, info.path):
        if end <= len(header):
            continue
        records += 1
        if records == max_rows:
            yield Item(info.path, info.num_bytes, info.version, start, end, row)
            start, row, records = end, row + records, 0
    if start < info.num_bytes:
        yield Item(info.path, info.num_bytes, info.version, start, info.num_bytes, row)


def _record_ends(storage: Storage, path: str) -> Iterator[int]:
    offset, odd = 0, 0
    with storage.open(path) as file:
        while chunk := file.read(_CHUNK):
            raw = np.frombuffer(chunk, np.uint8)
            parity = (np.cumsum(raw == _QUOTE) + odd) % 2
            yield from (np.flatnonzero((raw == _NEWLINE) & (parity == 0)) + offset + 1).tolist()
            offset += len(chunk)
            odd = int(parity[-1])


def _csv_header(storage: Storage, path: str) -> bytes:
    end = next(_record_ends(storage, path), None)
    with storage.open(path) as file:
        header = file.read() if end is None else file.read(end)
    if header[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path}: is UTF-16; save it as UTF-8")
    return header


def _csv_columns(header: bytes) -> list[str]:
    text = _decode(header).lstrip("\ufeff").strip("\r\n")
    return [name.strip().strip('"') for name in text.split(_delimiter(header))]


def _delimiter(header: bytes) -> str:
    text = _decode(header)
    return max(",;\t", key=text.count)


def _decode(raw: bytes) -> str:
    """UTF-8, else Windows-1252, whose five unassigned bytes become U+FFFD."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _read_csv(storage: Storage, item: Item) -> tuple[pa.Table, list[tuple[int, str]]]:
    header = _csv_header(storage, item.path)
    with storage.open(item.path) as file:
        file.seek(item.start or 0)
        body = file.read((item.stop or 0) - (item.start or 0))
    columns = _csv_columns(header)
    wanted = _wanted(columns, item.path)
    broken: list[tuple[int, str]] = []

    def set_aside(record: pacsv.InvalidRow) -> str:
        broken.append((record.number or 0, record.text or ""))
        return "skip"

    table = pacsv.read_csv(
        io.BytesIO(_decode(body).encode("utf-8", "replace")),
        # One thread, else pyarrow gives no record numbers; the block holds the whole range.
        read_options=pacsv.ReadOptions(column_names=columns, use_threads=False, block_size=max(len(body) * 2, 1 << 16)),
        parse_options=pacsv.ParseOptions(
            delimiter=_delimiter(header), newlines_in_values=True, invalid_row_handler=set_aside
        ),
        convert_options=pacsv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()), include_columns=list(wanted.values())
        ),
    ) if body.strip() else pa.table({column: pa.array([], pa.string()) for column in wanted.values()})  # fmt: skip
    return table.rename_columns(list(wanted)), broken


def _broken_record(item: Item, shard: Shard, number: int, text: str) -> dict[str, object]:
    row = (item.first_row or 0) + max(number - 1, 0)
    return {
        "row_id": make_id("p", item.path, text, row),
        "stage": "read",
        "attempt": 1,
        "error": "InvalidRecord",
        "reason": f"record near row {row} has another number of columns than the header: {text[:200]}",
        "input_ref": f"{item.path} ({shard.shard_id})",
    }


def _to_pairs(raw: pa.Table, item: Item) -> pa.Table:
    columns = {name: raw.column(name).to_pylist() for name in raw.column_names}
    first = item.first_row or 0
    positions = list(range(first, first + raw.num_rows))
    ids = columns.get("pair_id") or [None] * raw.num_rows
    made = [
        given or make_id("p", item.path, question, answer, position)
        for given, question, answer, position in zip(
            ids, columns["question"], columns["answer"], positions, strict=True
        )
    ]
    arrays = {
        "pair_id": pa.array(made, pa.string()),
        "source_path": pa.array([item.path] * raw.num_rows, pa.string()),
        "position": pa.array(positions, pa.int64()),
        "call_id": pa.array(_call_ids(columns, raw.num_rows), pa.string()),
    }
    for name in ("question", "answer", "transcript_id", "asker", "asker_firm", "responder", "responder_title"):
        arrays[name] = raw.column(name) if name in columns else pa.nulls(raw.num_rows, pa.string())
    fields = [arrays.get(field.name, pa.nulls(raw.num_rows, field.type)) for field in QA_PAIRS]
    return pa.table(fields, schema=QA_PAIRS)


def _call_ids(columns: Mapping[str, list[str | None]], rows: int) -> list[str | None]:
    """The table's own call_id, else ticker, year and quarter where it has all three."""
    if "call_id" in columns:
        return columns["call_id"]
    if not {"ticker", "year", "quarter"} <= set(columns):
        return [None] * rows
    parts = zip(columns["ticker"], columns["year"], columns["quarter"], strict=True)
    return [f"{t}-{y}-Q{str(q).upper().removeprefix('Q')}" if t and y and q else None for t, y, q in parts]

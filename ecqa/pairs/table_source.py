"""A user's table of pairs (Parquet or CSV) -> QA_PAIRS, row for row, in shards of rows.

A row keeps its own id where the table has one (pair_id or id); otherwise its id follows from file, text and row number.
Parquet is cut by rows, CSV by byte ranges at record ends (csv_records), so no shard reads the whole file. Knows nothing of
transcripts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from ecqa.core.errors import InputError
from ecqa.core.ids import make_id, ordinals
from ecqa.core.schemas import DEAD_LETTERS, QA_PAIRS, from_rows
from ecqa.core.shards import Item, Limits, Shard
from ecqa.core.sources import Listing
from ecqa.core.storage import FileInfo, Storage
from ecqa.pairs.csv_records import cut_csv, read_csv

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
FILES_OF_SHARD = 64
SLICES_OF_ROW_GROUP = 64
"""A row group is decoded from its start for every slice of it, so it is cut into at most this many shards."""


@dataclass(frozen=True)
class TableSource:
    """Rows of Parquet and CSV files that all have the columns ``question`` and ``answer`` (any case)."""

    listing: Listing
    max_rows: int
    version: int = 1

    @property
    def limits(self) -> Limits:
        """Small tables share a shard, up to as many rows as a part of a large one has."""
        return Limits(FILES_OF_SHARD, 1 << 62, self.max_rows)

    def __getstate__(self) -> dict[str, object]:
        # The listing stays on the driver: workers read what their shard names.
        return {**self.__dict__, "listing": replace(self.listing, files=())}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def cut(self, file: FileInfo) -> list[Item]:
        """Runs of at most max_rows rows (more where a Parquet row group is very large).

        Raises InputError when the file is no such table.
        """
        storage = Storage(self.listing.root)
        if file.path.lower().endswith(".parquet"):
            return list(_cut_parquet(storage, file, self.max_rows))
        return list(cut_csv(storage, file, self.max_rows, _require_pair_columns))

    def read(self, shard: Shard) -> dict[str, pa.Table]:
        """QA_PAIRS of the shard's rows; CSV records of a wrong width are DEAD_LETTERS."""
        storage = Storage(self.listing.root)
        tables, dead = [], []
        for item in shard.items:
            there = storage.info(item.path)
            if there is None or (there.num_bytes, there.version) != (item.num_bytes, item.version):
                raise InputError(f"{item.path}: changed or went away since it was listed; run the same command again")
            if item.path.lower().endswith(".parquet"):
                raw, rows = _read_parquet(storage, item), None
            else:
                raw, rows, broken = read_csv(storage, item, _wanted)
                dead += [_broken_record(item, shard, row, text) for row, text in broken]
            tables.append(_to_pairs(raw, item, rows))
        return {"qa_pairs": pa.concat_tables(tables), "dead_letters": from_rows(dead, DEAD_LETTERS)}


def _require_pair_columns(columns: list[str], place: str) -> None:
    _wanted(columns, place)


def pairs_from_table(table: pa.Table) -> pa.Table:
    """QA_PAIRS of a table in memory. Raises InputError when question or answer is missing."""
    wanted = _wanted(table.column_names, "table")
    strings = _as_strings(table.select(list(wanted.values())).rename_columns(list(wanted)), "table")
    return _to_pairs(strings, Item("table", table.nbytes, "", 0, table.num_rows, 0))


def has_pair_columns(columns: list[str]) -> bool:
    """True when a table with these columns is a table of pairs."""
    return {"question", "answer"} <= {column.strip().lower() for column in columns}


def _wanted(columns: list[str], place: str) -> dict[str, str]:
    """Map our names to the file's. Raises InputError when question or answer is missing."""
    by_lower = {column.strip().lower(): column for column in columns}
    shown = ", ".join(ascii(column[:40]).strip("'") for column in columns[:20]) or "none"
    if not has_pair_columns(columns):
        raise InputError(f"{place}: needs the columns question and answer, got {shown}; rename them")
    folded = [column.strip().lower() for column in columns]
    twice = next((name for names in ALIASES.values() for name in names if folded.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{place}: has the column {twice} more than once ({shown}); leave one")
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
            yield Item(info.path, info.num_bytes, info.version, start, stop, start, stop - start)
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
    if sum(part.num_rows for part in parts) != stop - start:
        raise InputError(f"{item.path}: changed while it was read; run the same command again")
    table = pa.Table.from_batches(parts)
    return _as_strings(table.select(list(wanted.values())).rename_columns(list(wanted)), item.path)


def _row_group(parquet: pq.ParquetFile, row: int) -> tuple[int, int]:
    begin = 0
    for index in range(parquet.metadata.num_row_groups):
        rows = parquet.metadata.row_group(index).num_rows
        if row < begin + rows:
            return index, begin
        begin += rows
    raise InputError(f"row {row} is past the end of the Parquet file; it changed while it was read")


def _as_strings(table: pa.Table, place: str) -> pa.Table:
    """All columns as UTF-8 strings; bytes that are no UTF-8 become U+FFFD."""
    for index, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_nested(kind):
            raise InputError(f"{place}: column {field.name}: {field.type} is no text; convert it to strings")
        column = table.column(index)
        try:
            if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_string(kind):
                column = pa.chunked_array([pa.array(map(_decoded, column.cast(pa.binary()).to_pylist()), pa.string())])
            column = column.cast(pa.string())
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise InputError(f"{place}: column {field.name}: {field.type} is no text; convert it to strings") from error
        table = table.set_column(index, field.name, column)
    return table


def _decoded(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "replace")


def _broken_record(item: Item, shard: Shard, row: int, text: str) -> dict[str, object]:
    return {
        "row_id": make_id("p", item.path, text, row),
        "stage": "read",
        "attempt": 1,
        "error": "InvalidRecord",
        "reason": f"row {row} has another number of columns than the header: {text[:200]}",
        "input_ref": f"{item.path} ({shard.shard_id})",
    }


def _to_pairs(raw: pa.Table, item: Item, rows: list[int] | None = None) -> pa.Table:
    """QA_PAIRS; ``rows`` are the rows' numbers in the file, by default one after another.

    Of rows with the same id the first keeps it, the others get one from their text and place, as rows without id do.
    """
    columns = {name: raw.column(name).to_pylist() for name in raw.column_names}
    first = item.first_row or 0
    positions = rows if rows is not None else list(range(first, first + raw.num_rows))
    given = columns.get("pair_id") or [None] * raw.num_rows
    repeats = ordinals(given)
    ids = [
        own if own and not repeat else make_id("p", item.path, question, answer, position)
        for own, repeat, question, answer, position in zip(
            given, repeats, columns["question"], columns["answer"], positions, strict=True
        )
    ]
    arrays = {
        "pair_id": pa.array(ids, pa.string()),
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

"""Global steps: partial rows of all finished shards -> one table, in buckets of keys, redone when shards were added."""

import hashlib
import io
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ecqa.core.errors import OutputError
from ecqa.core.ledger import PARTIALS, is_ours, table_path
from ecqa.core.recipe import GlobalStep
from ecqa.core.schemas import conform, empty
from ecqa.core.storage import Storage, batched
from ecqa.engine.work import Job, to_parquet

ROWS_PER_BUCKET = 500_000
"""Partial rows that one merge task holds at a time."""

FILES_AT_ONCE = 256

Mapper = Callable[[Any, Sequence[tuple[Any, ...]]], list[Any]]


def run_global_steps(job: Job, shard_ids: Sequence[str], num_partials: int, mapper: Mapper) -> dict[str, int]:
    """Bring every global step up to date with the finished shards; returns the rows of each output.

    The old files go first: a reader may find the table missing for a moment, never a row twice.
    """
    rows = {}
    for step in job.recipe.global_steps:
        covered = _digest(step, job.fingerprint, shard_ids)
        entry = job.ledger.global_entry(step.name)
        if entry is None or entry["covers"] != covered or not _is_whole(job, step, entry):
            entry = _redo(job, step, shard_ids, covered, num_partials, mapper)
        rows[step.output] = sum(file["rows"] for file in entry["files"])
    return rows


def _redo(
    job: Job, step: GlobalStep, shard_ids: Sequence[str], covered: str, num_partials: int, mapper: Mapper
) -> dict[str, Any]:
    storage = Storage(job.output)
    job.ledger.drop_global(step.name)
    storage.delete(info.path for info in storage.list(step.output) if is_ours(info.path))
    buckets = max(1, -(-num_partials // ROWS_PER_BUCKET))
    files = mapper(merge_bucket, [(job, step, tuple(shard_ids), covered, bucket, buckets) for bucket in range(buckets)])
    entry = {"covers": covered, "files": files}
    job.ledger.write_global(step.name, entry)
    return entry


def _is_whole(job: Job, step: GlobalStep, entry: dict[str, Any]) -> bool:
    sizes = {info.path: info.num_bytes for info in Storage(job.output).list(step.output)}
    return all(sizes.get(file["path"]) == file["bytes"] for file in entry["files"])


def merge_bucket(
    job: Job, step: GlobalStep, shard_ids: Sequence[str], covered: str, bucket: int, buckets: int
) -> dict[str, Any]:
    """Merge the rows whose key falls into one bucket, and write them."""
    storage = Storage(job.output)
    schema = job.recipe.schemas[step.partial]
    there = {info.path for info in storage.list(f"{PARTIALS}/{step.partial}")}
    paths = (table_path(step.partial, shard_id, job.fingerprint, job.recipe.partials) for shard_id in shard_ids)
    parts = [empty(schema)]
    for chunk in batched((path for path in paths if path in there), FILES_AT_ONCE):
        tables = (_read_partial(raw, schema, step) for raw in storage.read_many(chunk))
        parts += [_of_bucket(table, step.key, bucket, buckets) for table in tables]
    merged = conform(step.merge(pa.concat_tables(parts)), job.recipe.schemas[step.output], step.output)
    path = f"{step.output}/all-{covered}-{bucket:04d}.parquet"
    data = to_parquet(merged)
    storage.write(path, data)
    return {"path": path, "rows": merged.num_rows, "bytes": len(data)}


def _read_partial(raw: bytes, schema: pa.Schema, step: GlobalStep) -> pa.Table:
    try:
        return pq.read_table(io.BytesIO(raw), schema=schema)
    except pa.ArrowInvalid as error:
        raise OutputError(
            f"a file under {PARTIALS}/{step.partial} is damaged ({error}); give another --output"
        ) from error


def _of_bucket(part: pa.Table, key: str, bucket: int, buckets: int) -> pa.Table:
    if buckets == 1:
        return part
    mask = [zlib.crc32(str(value).encode()) % buckets == bucket for value in part.column(key).to_pylist()]
    return part.filter(pa.array(mask, pa.bool_()))


def _digest(step: GlobalStep, run_fingerprint: str, shard_ids: Sequence[str]) -> str:
    text = "\n".join([step.name, str(step.version), run_fingerprint, *sorted(shard_ids)])
    return hashlib.sha256(text.encode()).hexdigest()[:12]

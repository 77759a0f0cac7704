"""What a worker does to a block: a run of stages (``StageWork``), then writing and committing (``CommitWork``).

Both are plain callables, Arrow block in, Arrow block out; run_local calls them in this process, the Ray engine in tasks
and actors. Transforms are built once a process and kept.
"""

import hashlib
import io
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from ecqa.core.ledger import Ledger, table_path
from ecqa.core.recipe import Recipe
from ecqa.core.redact import redact
from ecqa.core.schemas import empty
from ecqa.core.stage import Stage, Transform
from ecqa.core.storage import Storage
from ecqa.engine.block import Header, pack, unpack
from ecqa.engine.isolate import run_stage

DEAD = "dead_letters"
LOOK_S = 2.0
_BUILT: dict[tuple[str, str], Transform] = {}
_LOOKED: dict[str, tuple[float, bool]] = {}


@dataclass(frozen=True)
class Job:
    """A recipe bound to an output folder and a run; travels to every worker."""

    recipe: Recipe
    output: str
    fingerprint: str
    run_id: str

    @property
    def ledger(self) -> Ledger:
        """Ledger of the output folder."""
        return Ledger(Storage(self.output))

    @cached_property
    def written(self) -> tuple[str, ...]:
        """Tables that a shard writes, partials included."""
        return (*self.recipe.tables, *self.recipe.partials)


def transform_of(job: Job, stage: Stage) -> Transform:
    """The stage's transform, built once for each process and run."""
    key = (job.run_id, stage.name)
    if key not in _BUILT:
        _BUILT[key] = stage.make(stage.config)
    return _BUILT[key]


def asked_to_stop(job: Job) -> bool:
    """Look for the run's stop mark, at most every LOOK_S in a process: on s3 each look is a request."""
    when, answer = _LOOKED.get(job.run_id, (-LOOK_S, False))
    if not answer and time.monotonic() - when >= LOOK_S:
        answer = job.ledger.asked_to_stop(job.run_id)
        _LOOKED[job.run_id] = (time.monotonic(), answer)
    return answer


@dataclass(frozen=True)
class StageWork:
    """Runs stages on each shard of a block; keeps only the tables that somebody needs afterwards."""

    job: Job
    stages: tuple[Stage, ...]
    keep: tuple[str, ...]
    reads_source: bool

    def prepare(self) -> None:
        """Build the transforms now rather than with the first shard."""
        for stage in self.stages:
            transform_of(self.job, stage)

    def __call__(self, block: pa.Table) -> pa.Table:
        """One-row blocks in, one-row blocks out; a shard that comes after a stop mark passes through empty."""
        return pa.concat_tables([self._one(block, row) for row in range(block.num_rows)])

    def _one(self, block: pa.Table, row: int) -> pa.Table:
        recipe = self.job.recipe
        header, tables = unpack(block, row, recipe.schemas)
        header.skipped = header.skipped or asked_to_stop(self.job)
        if header.skipped:
            return pack(header, {name: empty(recipe.schemas[name]) for name in self.keep})
        if self.reads_source:
            begin = time.perf_counter()
            nothing = {name: empty(recipe.schemas[name]) for name in (DEAD, *recipe.sources)}
            tables = {**nothing, **recipe.source.read(header.descriptor)}
            header.timings["read"] = time.perf_counter() - begin
        for stage in self.stages:
            tables |= self._run(stage, header, tables)
        return pack(header, {name: tables[name] for name in self.keep})

    def _run(self, stage: Stage, header: Header, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        begin = time.perf_counter()
        header.began[stage.name] = time.time()
        schemas = self.job.recipe.schemas
        outputs, dead = run_stage(stage, transform_of(self.job, stage), tables, schemas, _reference(header))
        header.timings[stage.name] = time.perf_counter() - begin
        header.workers[stage.name] = f"{socket.gethostname()}:{os.getpid()}"
        outputs[DEAD] = pa.concat_tables([tables[DEAD], dead])
        return outputs


@dataclass(frozen=True)
class CommitWork:
    """Writes a shard's tables, then its ledger entry; gives a receipt of one row."""

    job: Job

    def __call__(self, block: pa.Table) -> pa.Table:
        """Receipts: shard_id and whether the shard is committed (False: skipped after a stop mark)."""
        receipts = [self._one(block, row) for row in range(block.num_rows)]
        return pa.Table.from_pylist(receipts, schema=RECEIPTS)

    def _one(self, block: pa.Table, row: int) -> dict[str, object]:
        recipe = self.job.recipe
        header, tables = unpack(block, row, recipe.schemas)
        shard_id = header.shard["shard_id"]
        if header.skipped:
            return {"shard_id": shard_id, "committed": False, "num_pairs": 0}
        counts = recipe.count(tables)
        begin = time.perf_counter()
        written = {name: tables[name] for name in self.job.written}
        if recipe.redact:
            written = redact(written, recipe.schemas)
        files = [self._write(name, table, shard_id) for name, table in written.items() if table.num_rows]
        header.timings["write"] = time.perf_counter() - begin
        entry = {
            "shard": header.shard, "files": files, "counts": counts,
            "timings": header.timings, "began": header.began, "workers": header.workers, "run_id": self.job.run_id,
        }  # fmt: skip
        self.job.ledger.commit(shard_id, entry)
        return {"shard_id": shard_id, "committed": True, "num_pairs": int(counts.get("pairs", 0))}

    def _write(self, name: str, table: pa.Table, shard_id: str) -> dict[str, object]:
        path = table_path(name, shard_id, self.job.fingerprint, self.job.recipe.partials)
        data = to_parquet(table)
        Storage(self.job.output).write(path, data)
        return {
            "table": name,
            "path": path,
            "rows": table.num_rows,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
        }


RECEIPTS = pa.schema([("shard_id", pa.string()), ("committed", pa.bool_()), ("num_pairs", pa.int64())])


def to_parquet(table: pa.Table) -> bytes:
    """The table as zstd Parquet."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    return buffer.getvalue()


def work_plan(job: Job) -> list[StageWork]:
    """Group consecutive stages of one pool, each group with the tables that are still needed after it."""
    groups: list[list[Stage]] = []
    for stage in job.recipe.stages:
        if groups and groups[-1][-1].pool == stage.pool == "task":
            groups[-1].append(stage)
        else:
            groups.append([stage])
    needed = {*job.written, *job.recipe.counted, DEAD}
    works: list[StageWork] = []
    for index in range(len(groups) - 1, -1, -1):
        group = groups[index]
        works.insert(0, StageWork(job, tuple(group), _available(job, groups[: index + 1], needed), index == 0))
        needed = needed | {name for stage in group for name in stage.inputs}
    return works


def _available(job: Job, groups: list[list[Stage]], needed: set[str]) -> tuple[str, ...]:
    made = {*job.recipe.sources, DEAD} | {name for group in groups for stage in group for name in stage.outputs}
    return tuple(sorted(made & needed))


def _reference(header: Header) -> str:
    paths = [item["path"] for item in header.shard["items"]]
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{paths[0]}{more} ({header.shard['shard_id']})"

"""Runs a recipe into an output folder: plan, clean, work on what is missing, global steps, books, run record.

The same for this process (``workers="local"``) and for Ray: only where the shards are worked on differs.
"""

import platform
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Literal

from ecqa.core.errors import Interrupted
from ecqa.core.fingerprint import fingerprint, fingerprint_parts
from ecqa.core.ledger import Ledger, Plan
from ecqa.core.recipe import Recipe
from ecqa.core.shards import Shard
from ecqa.core.storage import Storage, absolute_url
from ecqa.core.version import VERSION
from ecqa.engine.block import pack, unpack
from ecqa.engine.merging import Mapper, run_global_steps
from ecqa.engine.progress import ProgressLine
from ecqa.engine.resources import Resources, settle
from ecqa.engine.stopping import StopOnTerm
from ecqa.engine.work import CommitWork, Job, to_parquet, work_plan


@dataclass(frozen=True)
class RunOptions:
    """How a run is carried out; none of it changes a value."""

    resources: Resources = field(default_factory=Resources)
    address: str | None = None
    verbose: bool = False
    quiet: bool = False
    object_store_bytes: int | None = None


def describe(recipe: Recipe, output: str, options: RunOptions) -> dict[str, Any]:
    """The plan without doing it: shards, how many are done, stages with their resources. Writes nothing."""
    ledger = Ledger(Storage(absolute_url(output)))
    plan = _plan(ledger, recipe, write=False)
    done = ledger.done()
    stages = [{"stage": s.name, "pool": s.pool, **_asked(s.name, s.pool, options.resources)} for s in recipe.stages]
    return {
        "recipe": recipe.name,
        "input_root": recipe.source.root,
        "output": absolute_url(output),
        "fingerprint": fingerprint(_parts(recipe)),
        "num_shards": len(plan.shards),
        "num_done": sum(shard.shard_id in done for shard in plan.shards),
        "num_items": sum(len(shard.items) for shard in plan.shards),
        "num_changed": plan.num_changed,
        "stages": stages,
        "tables": [*recipe.tables, *(step.output for step in recipe.global_steps)],
    }


def _asked(name: str, pool: str, resources: Resources) -> dict[str, Any]:
    if pool == "task":
        return {"num_cpus": resources.task_cpus, "num_gpus": 0, "workers": "as many as fit"}
    wanted = resources.of(name)
    return {
        "num_cpus": wanted.num_cpus,
        "num_gpus": wanted.num_gpus,
        "workers": wanted.actors or "one a free CPU or GPU",
    }


def run(recipe: Recipe, output: str, options: RunOptions, workers: Literal["ray", "local"] = "ray") -> dict[str, Any]:
    """Do the job and return its summary. A finished job, run again, does nothing but check its books.

    Raises Interrupted after SIGTERM, BooksError when rows are missing, and what core.errors names for bad input or output.
    """
    began = time.monotonic()
    parts = _parts(recipe)
    job = Job(recipe, absolute_url(output), fingerprint(parts), _run_id(recipe))
    job.ledger.open(parts, recipe.source.root)
    plan = _plan(job.ledger, recipe, write=True)
    removed = job.ledger.clean(plan, recipe.tables, recipe.partials)
    done = job.ledger.done()
    missing = [shard for shard in plan.shards if shard.shard_id not in done]
    with StopOnTerm(job.ledger, job.run_id) as stop:
        work = _on_ray if workers == "ray" else _here
        timing = work(job, plan, missing, options, stop)
    summary = _summary(job, plan, missing, removed, timing, time.monotonic() - began)
    path = job.ledger.write_run(job.run_id, summary | _versions())
    if stop.asked:
        left = summary["shards"]["planned"] - summary["shards"]["done"]
        raise Interrupted(
            f"stopped by SIGTERM with {left} of {len(plan.shards)} shards left; run the same command to go on"
        )
    recipe.books(summary["counts"]).check()
    return summary | {"record": f"{job.output}/{path}"}


@dataclass
class _Timing:
    """Seconds a run spent starting Ray and working; rows of the global tables."""

    startup_s: float = 0.0
    work_s: float = 0.0
    num_pairs: int = 0
    global_rows: dict[str, int] = field(default_factory=dict)


def _on_ray(job: Job, plan: Plan, missing: Sequence[Shard], options: RunOptions, stop: StopOnTerm) -> _Timing:
    if not missing and not _stale(job, plan):
        return _Timing(global_rows=run_global_steps(job, _ids(plan), 0, _map_here))
    from ecqa.engine.pipeline import merge_on_ray, run_on_ray
    from ecqa.engine.session import session

    begin = time.monotonic()
    with session(options.address, verbose=options.verbose, object_store_bytes=options.object_store_bytes) as cluster:
        # Ray set its own handler while it connected.
        stop.__enter__()
        resources = settle(options.resources, [s.name for s in job.recipe.stages if s.pool == "actor"], cluster)
        timing = _Timing(startup_s=time.monotonic() - begin)
        receipts = run_on_ray(job, missing, resources) if missing else iter(())
        _follow(receipts, len(missing), options, timing)
        if not stop.asked:
            timing.global_rows = _finish(job, plan, merge_on_ray)
    return timing


def _here(job: Job, plan: Plan, missing: Sequence[Shard], options: RunOptions, stop: StopOnTerm) -> _Timing:
    timing = _Timing()
    _follow(run_here(job, missing), len(missing), options, timing)
    if not stop.asked:
        timing.global_rows = _finish(job, plan, _map_here)
    return timing


def run_here(job: Job, shards: Sequence[Shard]) -> Iterator[dict[str, Any]]:
    """Work on shards one after another in this process; yields the receipts that the Ray engine would."""
    from ecqa.engine.block import Header

    works = work_plan(job)
    commit = CommitWork(job)
    for shard in shards:
        block = pack(Header(shard.to_dict()), {})
        for work in works:
            block = work(block)
        yield from commit(block).to_pylist()


def read_back(job: Job, block: Any) -> Any:
    """Tables of a one-row block, for callers that keep results in memory."""
    return unpack(block, 0, job.recipe.schemas)[1]


def _follow(receipts: Iterator[dict[str, Any]], total: int, options: RunOptions, timing: _Timing) -> None:
    begin = time.monotonic()
    with ProgressLine(total, quiet=options.quiet) as progress:
        for receipt in receipts:
            if receipt["committed"]:
                timing.num_pairs += receipt["num_pairs"]
                progress.advance(receipt["num_pairs"])
    timing.work_s = time.monotonic() - begin


def _finish(job: Job, plan: Plan, mapper: Mapper) -> dict[str, int]:
    """Global steps, and an empty file for every table that has no rows, so that each reads as a dataset."""
    counts = _total_counts(job.ledger, plan)
    rows = run_global_steps(job, _ids(plan), int(counts.get("call_partials", 0)), mapper)
    storage = Storage(job.output)
    for table in job.recipe.tables:
        if not storage.list(table):
            storage.write(
                f"{table}/empty-{job.fingerprint}.parquet", to_parquet(job.recipe.schemas[table].empty_table())
            )
    return rows


def _stale(job: Job, plan: Plan) -> bool:
    entries = [job.ledger.global_entry(step.name) for step in job.recipe.global_steps]
    return bool(plan.retired) or any(entry is None for entry in entries)


def _map_here(function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [function(*each) for each in arguments]


def _ids(plan: Plan) -> list[str]:
    return [shard.shard_id for shard in plan.shards]


def _parts(recipe: Recipe) -> dict[str, str]:
    return fingerprint_parts(recipe.name, recipe.stages, recipe.schemas, recipe.fingerprint_extra)


def _plan(ledger: Ledger, recipe: Recipe, *, write: bool) -> Plan:
    source = recipe.source
    return ledger.plan(source.items(), max_items=source.max_items, max_bytes=source.max_bytes, write=write)


def _run_id(recipe: Recipe) -> str:
    return f"{recipe.name}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def _total_counts(ledger: Ledger, plan: Plan) -> dict[str, float]:
    done = ledger.done()
    totals: Counter[str] = Counter()
    for entry in ledger.entries(key for key in _ids(plan) if key in done):
        totals.update(entry["counts"])
    return dict(totals)


def _summary(
    job: Job, plan: Plan, missing: Sequence[Shard], removed: int, timing: _Timing, wall_s: float
) -> dict[str, Any]:
    done = job.ledger.done()
    ids = [key for key in _ids(plan) if key in done]
    totals: Counter[str] = Counter()
    seconds: Counter[str] = Counter()
    worked = {shard.shard_id for shard in missing}
    for entry in job.ledger.entries(ids):
        totals.update(entry["counts"])
        if entry["shard"]["shard_id"] in worked:
            seconds.update(entry["timings"])
    tokens = sum(e["counts"].get("tokens", 0) for e in job.ledger.entries(key for key in ids if key in worked))
    return {
        "run_id": job.run_id,
        "fingerprint": job.fingerprint,
        "output": job.output,
        "input_root": job.recipe.source.root,
        "shards": {
            "planned": len(plan.shards), "done": len(ids), "this_run": len(worked & set(ids)),
            "changed_inputs": plan.num_changed, "inputs_gone": plan.num_gone, "orphan_files_removed": removed,
        },
        "books": job.recipe.books(totals).to_dict(),
        "counts": dict(totals),
        "speed": {
            "wall_s": round(wall_s, 2), "startup_s": round(timing.startup_s, 2), "work_s": round(timing.work_s, 2),
            "pairs_per_s": _rate(timing.num_pairs, timing.work_s), "tokens_per_s": _rate(tokens, timing.work_s),
            "padding_share": _share(totals, "padding", "computed_tokens"),
            "stage_seconds": {name: round(value, 2) for name, value in sorted(seconds.items())},
        },
        "shares": {
            "windowed": _share(totals, "windowed", "scores"), "truncated": _share(totals, "truncated", "scores"),
        },
        "tables": {name: int(totals.get(name, 0)) for name in job.recipe.tables} | timing.global_rows,
    }  # fmt: skip


def _rate(amount: float, seconds: float) -> float | None:
    return round(amount / seconds, 1) if seconds > 0 and amount else None


def _share(counts: Mapping[str, float], part: str, whole: str) -> float | None:
    return round(counts.get(part, 0) / counts[whole], 4) if counts.get(whole) else None


def _versions() -> dict[str, Any]:
    packages = ("ray", "torch", "transformers", "pyarrow", "numpy", "scikit-learn")
    found = {name: metadata.version(name) for name in packages}
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    return {"versions": {"ecqa": VERSION, "python": platform.python_version(), **found}, "finished": finished}

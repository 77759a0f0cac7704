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

from ecqa.core.errors import EngineError, Interrupted, UsageError
from ecqa.core.fingerprint import fingerprint, fingerprint_parts
from ecqa.core.lease import Lease
from ecqa.core.ledger import Ledger, Plan
from ecqa.core.recipe import Recipe
from ecqa.core.shards import Shard
from ecqa.core.storage import Storage, absolute_url
from ecqa.core.version import VERSION
from ecqa.engine.block import Header, pack
from ecqa.engine.merging import Mapper, run_global_steps
from ecqa.engine.progress import ProgressLine
from ecqa.engine.resources import Resources, check_stages, settle
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
    _check(recipe, absolute_url(output), options)
    ledger = Ledger(Storage(absolute_url(output)))
    plan = _plan(ledger, recipe, write=False)
    done = ledger.done()
    stages = [{"stage": s.name, "pool": s.pool, **_asked(s.name, s.pool, options.resources)} for s in recipe.stages]
    return {
        "recipe": recipe.name,
        "input_root": recipe.source.listing.root,
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
    _check(recipe, job.output, options)
    with Lease(job.ledger.storage, job.run_id) as lease:
        job.ledger.open(parts, recipe.source.listing.root, [*recipe.tables, *(s.output for s in recipe.global_steps)])
        plan = _plan(job.ledger, recipe, write=True)
        removed, done = job.ledger.clean(plan, recipe.tables, recipe.partials)
        missing = [shard for shard in plan.shards if shard.shard_id not in done]
        with StopOnTerm(job.ledger, job.run_id) as stop:
            work = _on_ray if workers == "ray" else _here
            outcome = work(_Run(job, plan, missing, options, stop, lease))
        summary = _summary(job, plan, missing, removed, outcome, time.monotonic() - began)
        path = job.ledger.write_run(job.run_id, summary | _circumstances(options))
    left = len(plan.shards) - summary["shards"]["done"]
    if stop.asked:
        raise Interrupted(
            f"stopped by SIGTERM, {left} of {len(plan.shards)} shards left; run the same command to go on"
        )
    if left:
        raise EngineError(
            f"{left} of {len(plan.shards)} shards came to no end, with no error; run the same command to go on"
        )
    recipe.books(summary["counts"]).check()
    return summary | {"record": f"{job.output}/{path}"}


def _actor_stages(recipe: Recipe) -> list[str]:
    return [stage.name for stage in recipe.stages if stage.pool == "actor"]


def _check(recipe: Recipe, output: str, options: RunOptions) -> None:
    """Raise UsageError when a later run would take this one's output for input, ConfigError on unknown stages."""
    check_stages(options.resources, _actor_stages(recipe))
    root = recipe.source.listing.root
    for table in (*recipe.tables, *(step.output for step in recipe.global_steps)):
        if f"{root}/".startswith(f"{output}/{table}/"):
            raise UsageError(
                f"the input {root} lies where --output {output} puts its table {table}; give another --output"
            )
    if recipe.source.listing.whole and f"{output}/".startswith(f"{root}/"):
        raise UsageError(
            f"--output {output} lies within the input {root}; a later run would read it; give a place outside"
        )


@dataclass(frozen=True)
class _Run:
    """What the working part of a run needs."""

    job: Job
    plan: Plan
    missing: Sequence[Shard]
    options: RunOptions
    stop: StopOnTerm
    lease: Lease


@dataclass
class _Outcome:
    """What the working part of a run took and gave: seconds, pairs of this run, all entries, rows of global tables."""

    startup_s: float = 0.0
    work_began: float = 0.0
    work_s: float = 0.0
    num_pairs: int = 0
    entries: "_Entries" = field(default_factory=lambda: _Entries())
    global_rows: dict[str, int] = field(default_factory=dict)


def _on_ray(run: _Run) -> _Outcome:
    if not run.missing:
        return _here(run)
    from ecqa.engine.pipeline import merge_on_ray, run_on_ray
    from ecqa.engine.session import session

    begin = time.monotonic()
    options = run.options
    with session(options.address, verbose=options.verbose, object_store_bytes=options.object_store_bytes) as cluster:
        run.stop.install()
        resources = settle(options.resources, _actor_stages(run.job.recipe), cluster)
        outcome = _Outcome(startup_s=time.monotonic() - begin)
        _follow(run, run_on_ray(run.job, run.missing, resources), outcome)
        _finish(run, outcome, merge_on_ray)
    return outcome


def _here(run: _Run) -> _Outcome:
    outcome = _Outcome()
    _follow(run, run_here(run.job, run.missing), outcome)
    _finish(run, outcome, _map_here)
    return outcome


def run_here(job: Job, shards: Sequence[Shard]) -> Iterator[dict[str, Any]]:
    """Work on shards one after another in this process; yields the receipts that the Ray engine would."""
    works = work_plan(job)
    commit = CommitWork(job)
    for shard in shards:
        block = pack(Header(shard.to_dict()), {})
        for work in works:
            block = work(block)
        yield from commit(block).to_pylist()


def _follow(run: _Run, receipts: Iterator[dict[str, Any]], outcome: _Outcome) -> None:
    begin = time.monotonic()
    outcome.work_began = time.time()
    with ProgressLine(len(run.missing), quiet=run.options.quiet) as progress:
        for receipt in receipts:
            run.lease.check()
            if receipt["committed"]:
                outcome.num_pairs += receipt["num_pairs"]
                progress.advance(receipt["num_pairs"])
    outcome.work_s = time.monotonic() - begin


def _finish(run: _Run, outcome: _Outcome, mapper: Mapper) -> None:
    """Add up the entries and hold them against the files; unless stopped, bring the global tables up to date."""
    job = run.job
    run.lease.check()
    done = job.ledger.done()
    ids = [shard.shard_id for shard in run.plan.shards if shard.shard_id in done]
    files = job.ledger.files(job.recipe.tables, job.recipe.partials)
    outcome.entries = _Entries.read(job, ids, {shard.shard_id for shard in run.missing}, files)
    if run.stop.asked or len(ids) < len(run.plan.shards):
        return
    num_partials = sum(outcome.entries.counts.get(name, 0) for name in job.recipe.partials)
    outcome.global_rows = run_global_steps(job, ids, int(num_partials), mapper)
    for table in job.recipe.tables:
        if not any(path.startswith(f"{table}/") for path in files):
            nothing = job.recipe.schemas[table].empty_table()
            Storage(job.output).write(f"{table}/empty-{job.fingerprint}.parquet", to_parquet(nothing))


@dataclass
class _Entries:
    """Sums over ledger entries: of all shards, and of those that this run worked on."""

    num_done: int = 0
    num_this_run: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    counts_this_run: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    first_began: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def read(job: Job, ids: Sequence[str], worked: set[str], files: Mapping[str, int]) -> "_Entries":
        """Read entries one after another. Raises EngineError when one lists a file that is not there whole, and forgets it."""
        sums, broken = _Entries(), []
        for shard_id, entry in zip(ids, job.ledger.entries(ids), strict=True):
            if any(files.get(file["path"]) != file["bytes"] for file in entry["files"]):
                broken.append(shard_id)
            sums._add(entry, worked=shard_id in worked)
        if broken:
            job.ledger.drop(broken)
            raise EngineError(
                f"{job.output}: files of {len(broken)} finished shards are gone or cut; run the same command to make them again"
            )
        return sums

    def _add(self, entry: Mapping[str, Any], *, worked: bool) -> None:
        self.num_done += 1
        self.counts.update(entry["counts"])
        if worked:
            self.num_this_run += 1
            self.counts_this_run.update(entry["counts"])
            self.seconds.update(entry["timings"])
            for stage, when in entry["began"].items():
                self.first_began[stage] = min(when, self.first_began.get(stage, when))


def _map_here(function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    return [function(*each) for each in arguments]


def _parts(recipe: Recipe) -> dict[str, str]:
    extra = {"source": f"version {recipe.source.version}", **recipe.fingerprint_extra}
    return fingerprint_parts(recipe.name, recipe.stages, recipe.schemas, extra)


def _plan(ledger: Ledger, recipe: Recipe, *, write: bool) -> Plan:
    source = recipe.source
    return ledger.plan(source.listing.files, source.cut, limits=source.limits, write=write)


def _run_id(recipe: Recipe) -> str:
    return f"{recipe.name}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:6]}"


def _summary(
    job: Job, plan: Plan, missing: Sequence[Shard], removed: int, outcome: _Outcome, wall_s: float
) -> dict[str, Any]:
    entries = outcome.entries
    totals = dict(entries.counts) | {"planned_items": sum(len(shard.items) for shard in plan.shards)}
    totals |= {"planned_rows": sum(item.num_rows or 0 for shard in plan.shards for item in shard.items)}
    return {
        "run_id": job.run_id,
        "fingerprint": job.fingerprint,
        "output": job.output,
        "input_root": job.recipe.source.listing.root,
        "shards": {
            "planned": len(plan.shards), "done": entries.num_done, "this_run": entries.num_this_run,
            "changed_inputs": plan.num_changed, "inputs_gone": plan.num_gone, "orphan_files_removed": removed,
            "hidden_inputs": job.recipe.source.listing.num_hidden,
        },
        "books": job.recipe.books(totals).to_dict(),
        "counts": totals,
        "speed": _speed(job.recipe, outcome, wall_s),
        "shares": {
            "windowed": _share(totals, "windowed", "scores"), "truncated": _share(totals, "truncated", "scores"),
        },
        "tables": {name: int(totals.get(name, 0)) for name in job.recipe.tables} | outcome.global_rows,
    }  # fmt: skip


def _speed(recipe: Recipe, outcome: _Outcome, wall_s: float) -> dict[str, Any]:
    """Rates over the working time of this run, from connecting to the last receipt.

    warmup_s is the part of it before the first actor had started, loaded its model and taken up a shard; stage_seconds
    are summed over workers.
    """
    entries = outcome.entries
    began = [entries.first_began[s.name] for s in recipe.stages if s.pool == "actor" and s.name in entries.first_began]
    return {
        "wall_s": round(wall_s, 2),
        "startup_s": round(outcome.startup_s, 2),
        "warmup_s": round(max(min(began) - outcome.work_began, 0.0), 2) if began else 0.0,
        "work_s": round(outcome.work_s, 2),
        "pairs_per_s": _rate(outcome.num_pairs, outcome.work_s),
        "tokens_per_s": _rate(entries.counts_this_run["tokens"], outcome.work_s),
        "padding_share": _share(entries.counts_this_run, "padding", "computed_tokens"),
        "stage_seconds": {name: round(value, 2) for name, value in sorted(entries.seconds.items())},
    }


def _rate(amount: float, seconds: float) -> float | None:
    return round(amount / seconds, 1) if seconds > 0 and amount else None


def _share(counts: Mapping[str, float], part: str, whole: str) -> float | None:
    return round(counts.get(part, 0) / counts[whole], 4) if counts.get(whole) else None


def _circumstances(options: RunOptions) -> dict[str, Any]:
    """What is recorded beside the summary because it changes no value: resources, versions, time."""
    packages = ("ray", "torch", "transformers", "pyarrow", "numpy", "scikit-learn")
    found = {name: metadata.version(name) for name in packages}
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    resources = options.resources.model_dump(mode="json")
    return {
        "resources": resources,
        "versions": {"ecqa": VERSION, "python": platform.python_version(), **found},
        "finished": finished,
    }

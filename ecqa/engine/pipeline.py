"""Shards through Ray Data: one block a shard, task operators for light stages, actor pools for heavy ones.

Descriptors -> read and light stages -> actors -> write and commit -> receipts. Nothing but receipts comes to the driver.
"""

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ecqa.core import errors
from ecqa.core.errors import EcqaError, EngineError
from ecqa.core.shards import Shard
from ecqa.engine.block import first_block
from ecqa.engine.resources import Resources, StageResources
from ecqa.engine.work import CommitWork, Job, StageWork, work_plan

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3
"""Of glibc's malloc.h."""
_RAISED = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Interrupted)): (.*)$", re.MULTILINE)


class _Actor:
    """Builds its stages when it starts. Without a GPU of its own it sees none: Ray leaves all of them visible."""

    def __init__(self, work: StageWork, num_gpus: float):
        if not num_gpus:
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
            keep_freed_memory()
        self._work = work
        work.prepare()

    def __call__(self, block: pa.Table) -> pa.Table:
        return self._work(block)


def keep_freed_memory() -> None:
    """Tell glibc to keep freed blocks of up to 32 MB rather than give them back to the kernel after every operation.

    A scorer on a CPU asks for the same megabytes again and again, and pays for fresh pages each time. Elsewhere than on
    glibc nothing happens.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
        mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


def run_on_ray(job: Job, shards: Sequence[Shard], resources: Resources) -> Iterator[dict[str, Any]]:
    """Yield a receipt (shard_id, committed, num_pairs) for every shard, as they come.

    Raises EngineError, with the worker's own reason, when the job cannot go on.
    """
    import ray
    from ray.exceptions import RayError

    dataset = ray.data.from_items(first_block(shards), override_num_blocks=len(shards))
    for work in work_plan(job):
        dataset = _add(dataset, work, resources, len(shards))
    commit = CommitWork(job)
    dataset = dataset.map_batches(
        commit.__call__, batch_size=1, batch_format="pyarrow", compute=ray.data.TaskPoolStrategy(),
        num_cpus=resources.task_cpus,
    )  # fmt: skip
    try:
        for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
            yield from batch.to_pylist()
    except RayError as error:
        raise _as_error(error, "working on a shard") from error


def _add(dataset: Any, work: StageWork, resources: Resources, num_shards: int) -> Any:
    from ray.data import ActorPoolStrategy, TaskPoolStrategy

    # A batch is a block of one row, a shard; Ray asks for an explicit size where GPUs are involved.
    common = {"batch_size": 1, "batch_format": "pyarrow"}
    if work.stages[0].pool == "task":
        return dataset.map_batches(work.__call__, compute=TaskPoolStrategy(), num_cpus=resources.task_cpus, **common)
    wanted = resources.of(work.stages[0].name)
    return dataset.map_batches(
        _Actor,
        fn_constructor_args=(work, wanted.num_gpus),
        compute=_pool(wanted, num_shards, ActorPoolStrategy),
        num_cpus=wanted.num_cpus,
        num_gpus=wanted.num_gpus,
        memory=wanted.memory_bytes,
        **common,
    )


def _pool(wanted: StageResources, num_shards: int, strategy: Any) -> Any:
    """A fixed or growing pool, never larger than there are shards."""
    most = min(wanted.actors or 1, num_shards)
    least = min(wanted.min_actors or most, most)
    in_flight = wanted.in_flight or (2 if wanted.num_gpus else 1)
    return strategy(min_size=least, max_size=most, max_tasks_in_flight_per_actor=in_flight)


def _as_error(error: BaseException, doing: str) -> EcqaError:
    """The worker's own error in one line: errors lose their type on the way, so it is read off the traceback's text.

    Of a chain the first error is the cause; an error of ecqa keeps its kind, and so its exit code.
    """
    found = _RAISED.findall(str(error))
    name, reason = next((pair for pair in found if not pair[0].startswith("ray.")), (type(error).__name__, str(error)))
    kind = (
        getattr(errors, name.removeprefix("ecqa.core.errors."), None) if name.startswith("ecqa.core.errors.") else None
    )
    if isinstance(kind, type) and issubclass(kind, EcqaError):
        return kind(f"{reason} (while {doing})")
    said = " ".join(f"{name}: {reason}".split())[:500]
    return EngineError(f"{said} (while {doing}); what was finished is kept, run the same command to go on")


def merge_on_ray(function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Call a function remotely, once for each tuple of arguments, and return the (small) results in order."""
    import ray
    from ray.exceptions import RayError

    remote = ray.remote(num_cpus=1)(function)
    try:
        return list(ray.get([remote.remote(*each) for each in arguments]))
    except RayError as error:
        raise _as_error(error, "merging") from error

"""What each kind of work gets: CPUs, GPUs, memory and actors, from the job's config, checked against the cluster.

Knows nothing of what the stages do.
"""

from collections.abc import Mapping, Sequence

from pydantic import Field

from ecqa.core.config import StrictConfig
from ecqa.core.errors import ConfigError, ResourceError


class StageResources(StrictConfig):
    """Resources of one stage's actors: fractions allowed; actors is the pool's size, or its upper bound with min_actors.

    in_flight: shards handed to an actor at a time; by default two where it has a GPU to keep busy, else one, since an
    actor that waits for its first shard while another holds two costs more than the gap between shards.
    """

    num_cpus: float = Field(default=1.0, ge=0)
    num_gpus: float = Field(default=0.0, ge=0)
    memory_bytes: int | None = Field(default=None, gt=0)
    actors: int | None = Field(default=None, ge=1)
    min_actors: int | None = Field(default=None, ge=1)
    in_flight: int | None = Field(default=None, ge=1)


APART = 0.001
"""Ray merges neighbouring operators that ask for the same resources; this much more CPU keeps tokenising out of actors."""


class Resources(StrictConfig):
    """Resources of a job.

    task_cpus: what each light task (parsing, tokenising, writing) asks for. wait: nodes may still come (autoscaling), so
    pools that do not fit now are no error; each actor stage then needs its number of actors.
    """

    wait: bool = False
    task_cpus: float = Field(default=0.5, gt=0)
    stages: Mapping[str, StageResources] = {}

    def of(self, stage: str) -> StageResources:
        """Resources of a stage."""
        return self.stages.get(stage, StageResources())


def check_stages(resources: Resources, actor_stages: Sequence[str]) -> None:
    """Raise ConfigError when a stage is named that has no actors: its settings would go unheeded."""
    unknown = sorted(set(resources.stages) - set(actor_stages))
    if unknown:
        raise ConfigError(f"resources.stages: no stage {unknown[0]} with actors; known are {', '.join(actor_stages)}")


def settle(resources: Resources, actor_stages: Sequence[str], cluster: Mapping[str, float]) -> Resources:
    """Fill in pool sizes: one actor a GPU (or fraction) where a stage asks for GPUs, else one a free CPU.

    Raises ResourceError when the pools that must exist at once, plus one task, do not fit the cluster.
    """
    free = max(cluster.get("CPU", 0.0) - resources.task_cpus, 0.0)
    settled = {}
    for name in actor_stages:
        wanted = resources.of(name)
        if wanted.num_cpus == resources.task_cpus:
            wanted = wanted.model_copy(update={"num_cpus": wanted.num_cpus + APART})
        actors = wanted.actors or _default_actors(wanted, free, cluster, len(actor_stages))
        settled[name] = wanted.model_copy(update={"actors": max(actors, wanted.min_actors or 1)})
    if not resources.wait:
        _check_fits(resources, settled, cluster)
    return resources.model_copy(update={"stages": {**resources.stages, **settled}})


def _default_actors(wanted: StageResources, free_cpus: float, cluster: Mapping[str, float], num_pools: int) -> int:
    by_cpu = int(free_cpus / wanted.num_cpus / num_pools) if wanted.num_cpus else 1
    if not wanted.num_gpus:
        return max(by_cpu, 1)
    by_gpu = int(cluster.get("GPU", 0.0) / wanted.num_gpus / num_pools)
    return max(min(by_gpu, by_cpu) if wanted.num_cpus else by_gpu, 1)


def _check_fits(resources: Resources, settled: Mapping[str, StageResources], cluster: Mapping[str, float]) -> None:
    least = {name: wanted.min_actors or wanted.actors or 1 for name, wanted in settled.items()}
    needs = {
        "CPU": resources.task_cpus + sum(least[n] * w.num_cpus for n, w in settled.items()),
        "GPU": sum(least[n] * w.num_gpus for n, w in settled.items()),
        "memory": float(sum(least[n] * (w.memory_bytes or 0) for n, w in settled.items())),
    }
    for kind, need in needs.items():
        if need > cluster.get(kind, 0.0):
            pools = ", ".join(f"{least[n]} x {n} ({w.num_cpus:g} CPU, {w.num_gpus:g} GPU)" for n, w in settled.items())
            raise ResourceError(
                f"the cluster has {cluster.get(kind, 0.0):g} {kind}, the job needs {need:g}: {pools}, and a task of "
                f"{resources.task_cpus:g} CPU; lower --actors, --cpus-per-actor or --gpus-per-actor"
            )

import pytest

from ecqa.core.errors import ResourceError
from ecqa.engine.resources import Resources, StageResources, settle


def _settle(wanted: StageResources, **cluster: float) -> StageResources:
    return settle(Resources(stages={"score_pairs": wanted}), ["score_pairs"], cluster).of("score_pairs")


@pytest.mark.parametrize(
    ("wanted", "cluster", "actors"),
    [
        (StageResources(), {"CPU": 3}, 2),
        (StageResources(), {"CPU": 1.5}, 1),
        (StageResources(num_cpus=4), {"CPU": 17}, 4),
        (StageResources(num_gpus=1), {"CPU": 64, "GPU": 8}, 8),
        (StageResources(num_gpus=0.25), {"CPU": 64, "GPU": 2}, 8),
        (StageResources(num_gpus=1), {"CPU": 4.5, "GPU": 8}, 4),
        (StageResources(actors=3), {"CPU": 64}, 3),
        (StageResources(min_actors=1, actors=9), {"CPU": 2}, 9),
    ],
)
def test_pool_sizes(wanted: StageResources, cluster: dict[str, float], actors: int) -> None:
    assert _settle(wanted, **cluster).actors == actors


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (StageResources(num_gpus=1), "has 0 GPU, the job needs 1"),
        (StageResources(actors=4), "has 4 CPU, the job needs 4.5"),
        (StageResources(memory_bytes=10**12), "has 1e.09 memory"),
    ],
)
def test_what_does_not_fit_is_said_before_the_start(wanted: StageResources, message: str) -> None:
    with pytest.raises(ResourceError, match=message):
        _settle(wanted, CPU=4, memory=10**9)

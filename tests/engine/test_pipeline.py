"""Facts about Ray that the engine stands on, and the pipeline on logical GPUs."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecqa.core.errors import EngineError
from ecqa.engine.job import RunOptions, run
from ecqa.engine.resources import Resources, StageResources
from tests.engine.conformance.registry import ENTRIES

pytestmark = pytest.mark.usefixtures("ray_cluster")


def test_one_row_blocks_pass_task_and_actor_pools_whole() -> None:
    import ray

    def grow(block: pa.Table) -> pa.Table:
        assert block.num_rows == 1
        return block.append_column("big", pa.array(["x" * 3_000_000]))

    class Count:
        def __call__(self, block: pa.Table) -> pa.Table:
            return block.append_column("size", pa.array([len(block.column("big")[0].as_py())]))

    dataset = ray.data.from_items([{"n": n} for n in range(24)], override_num_blocks=24)
    dataset = dataset.map_batches(grow, batch_size=None, batch_format="pyarrow", num_cpus=0.5)
    pool = ray.data.ActorPoolStrategy(size=2)
    dataset = dataset.map_batches(Count, batch_size=None, batch_format="pyarrow", compute=pool)
    blocks = list(dataset.iter_batches(batch_size=None, batch_format="pyarrow"))
    assert len(blocks) == 24
    assert sorted(block.column("n")[0].as_py() for block in blocks) == list(range(24))
    assert {block.column("size")[0].as_py() for block in blocks} == {3_000_000}


def test_actors_share_logical_gpus_and_tokenising_stays_out_of_them(stub_model: str, tmp_path: Path) -> None:
    entry = ENTRIES["score_pairs"]
    recipe = entry.build(entry.make_input(tmp_path / "in"), stub_model)
    half = Resources(stages={"score_pairs": StageResources(num_cpus=0.5, num_gpus=0.5, actors=4)})
    run(recipe, str(tmp_path / "out"), RunOptions(resources=half, quiet=True))
    entries = [json.loads(path.read_text()) for path in (tmp_path / "out" / "_ecqa" / "shards").iterdir()]
    scorers = {entry["workers"]["score_pairs"] for entry in entries}
    assert len(scorers) > 1
    assert scorers.isdisjoint({entry["workers"]["encode_pairs"] for entry in entries})


def test_an_error_in_a_worker_is_one_line_with_its_reason(stub_model: str, tmp_path: Path) -> None:
    from dataclasses import replace

    entry = ENTRIES["score_pairs"]
    recipe = entry.build(entry.make_input(tmp_path / "in"), stub_model)

    def make(config: Any) -> Any:
        def transform(tables: Any) -> Any:
            raise OSError("the disk is full")

        return transform

    stages = tuple(replace(stage, make=make) if stage.name == "filter_pairs" else stage for stage in recipe.stages)
    with pytest.raises(EngineError, match="OSError: the disk is full.*run the same command") as caught:
        run(replace(recipe, stages=stages), str(tmp_path / "out"), RunOptions(quiet=True))
    assert "\n" not in str(caught.value)


def test_unwanted_text_is_nowhere(stub_model: str, tmp_path: Path) -> None:
    from ecqa.recipes import ScoreJobConfig, score_recipe

    entry = ENTRIES["score_transcripts"]
    source = entry.make_input(tmp_path / "in")
    config = ScoreJobConfig(text=False, model=stub_model)
    full = tmp_path / "full"
    run(entry.build(source, stub_model), str(full), RunOptions(quiet=True), workers="local")
    run(score_recipe(source, config), str(tmp_path / "out"), RunOptions(quiet=True), workers="local")
    words = pq.read_table(full / "components").column("text").to_pylist()
    runs = {" ".join(text.split()[at : at + 6]) for text in words for at in range(len(text.split()) - 5)}
    assert len(runs) > 100
    for path in (tmp_path / "out").rglob("*.parquet"):
        for column in pq.read_table(path).columns:
            for value in column.to_pylist():
                assert not (isinstance(value, str) and any(run_ in value for run_ in runs)), path
    components = pq.read_table(tmp_path / "out" / "components")
    assert components.column("text").null_count == components.num_rows > 0
    assert components.column("char_end").null_count == 0

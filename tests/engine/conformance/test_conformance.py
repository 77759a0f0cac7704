"""Every registered recipe: the same rows whatever happens to the run, and books that close."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

from ecqa.core.errors import EngineError
from ecqa.core.stage import Tables, Transform
from ecqa.engine.job import RunOptions, run
from ecqa.engine.resources import Resources, StageResources
from tests.engine.conformance.registry import ENTRIES, Entry, assert_same, num_scored

DRIVE = Path(__file__).with_name("drive.py")
QUIET = RunOptions(quiet=True, resources=Resources(stages={"score_pairs": StageResources(actors=2)}))

pytestmark = pytest.mark.parametrize("entry", ENTRIES.values(), ids=list(ENTRIES))


@pytest.fixture
def source(entry: Entry, tmp_path: Path) -> str:
    return entry.make_input(tmp_path / "input")


@pytest.fixture
def undisturbed(entry: Entry, source: str, stub_model: str, tmp_path: Path) -> Path:
    output = tmp_path / "undisturbed"
    summary = run(entry.build(source, stub_model), str(output), QUIET, workers="local")
    assert summary["books"]["closed"]
    assert summary["shards"]["planned"] > 4
    return output


def test_local_equals_ray(
    entry: Entry, source: str, undisturbed: Path, stub_model: str, tmp_path: Path, ray_cluster: None
) -> None:
    output = tmp_path / "ray"
    summary = run(entry.build(source, stub_model), str(output), QUIET)
    assert summary["books"]["closed"]
    assert_same(entry, undisturbed, output)


def test_rerun_does_nothing_and_new_input_is_scored_alone(
    entry: Entry, source: str, undisturbed: Path, stub_model: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in undisturbed.rglob("*.parquet")}
    again = run(entry.build(source, stub_model), str(undisturbed), QUIET, workers="local")
    assert again["shards"]["this_run"] == 0
    assert {path: path.stat().st_mtime_ns for path in undisturbed.rglob("*.parquet")} == before
    first = next(path for path in sorted(Path(source).rglob("*")) if path.is_file())
    shutil.copy(first, first.with_name(f"new-{first.name}"))
    more = run(entry.build(source, stub_model), str(undisturbed), QUIET, workers="local")
    assert 0 < more["shards"]["this_run"] < more["shards"]["planned"]
    assert more["books"]["closed"]


def test_changed_input_replaces_its_rows(
    entry: Entry, source: str, undisturbed: Path, stub_model: str, tmp_path: Path
) -> None:
    entry.spoil(Path(source))
    changed = run(entry.build(source, stub_model), str(undisturbed), QUIET, workers="local")
    assert changed["shards"]["changed_inputs"]
    fresh = tmp_path / "fresh"
    run(entry.build(source, stub_model), str(fresh), QUIET, workers="local")
    assert num_scored(fresh) == num_scored(undisturbed)
    assert_same_but_references(entry, fresh, undisturbed)


def assert_same_but_references(entry: Entry, one: Path, other: Path) -> None:
    for name, keys in entry.keys.items():
        if name != "dead_letters":
            order = [(key, "ascending") for key in keys]
            assert pq.read_table(one / name).sort_by(order).equals(pq.read_table(other / name).sort_by(order)), name


def test_bad_rows_and_files_are_accounted_for(entry: Entry, source: str, stub_model: str, tmp_path: Path) -> None:
    entry.spoil(Path(source))
    output = tmp_path / "spoiled"
    summary = run(entry.build(source, stub_model), str(output), QUIET, workers="local")
    assert summary["books"]["closed"]
    if entry.name == "score_transcripts":
        states = {row["source_path"]: row["status"] for row in pq.read_table(output / "transcripts").to_pylist()}
        assert states["notes.txt"] == "unknown_format"
        assert states["empty.html"] == "empty"
        assert "truncated" in states.values()
        assert states["noise.json"] not in ("ok", "no_qa_session")
    else:
        marks = pq.read_table(output / "filtered_pairs").column("exclusion_reason").to_pylist()
        assert marks.count("empty_answer") == 2


def test_one_bad_row_is_a_dead_letter_and_the_rest_go_on(
    entry: Entry, source: str, undisturbed: Path, stub_model: str, tmp_path: Path
) -> None:
    bad = pq.read_table(undisturbed / "scores").column("pair_id")[3].as_py()
    recipe = entry.build(source, stub_model)
    stages = tuple(replace(s, make=_break_on(bad, s.make)) if s.pool == "actor" else s for s in recipe.stages)
    output = tmp_path / "broken"
    summary = run(replace(recipe, stages=stages), str(output), QUIET, workers="local")
    assert summary["books"]["closed"]
    assert summary["books"]["accounts"]["kept and marked pairs"]["parts"]["dead in score_pairs"] == 1
    letter = pq.read_table(output / "dead_letters").to_pylist()[0]
    assert (letter["row_id"], letter["stage"], letter["error"]) == (bad, "score_pairs", "ValueError")
    assert "no good" in letter["traceback"]
    assert num_scored(output) == num_scored(undisturbed) - 1


def _break_on(bad: str, make: Callable[[Any], Transform]) -> Callable[[Any], Transform]:
    def build(config: Any) -> Transform:
        inner = make(config)

        def transform(tables: Tables) -> Tables:
            if bad in tables["encodings"].column("pair_id").to_pylist():
                raise ValueError("no good")
            return inner(tables)

        return transform

    return build


def test_files_that_went_missing_are_made_again(
    entry: Entry, source: str, undisturbed: Path, stub_model: str, tmp_path: Path
) -> None:
    output = tmp_path / "output"
    shutil.copytree(undisturbed, output)
    next(path for path in sorted((output / "scores").iterdir())).unlink()
    with pytest.raises(EngineError, match="files of 1 finished shards are gone or cut; run the same command"):
        run(entry.build(source, stub_model), str(output), QUIET, workers="local")
    summary = run(entry.build(source, stub_model), str(output), QUIET, workers="local")
    assert summary["shards"]["this_run"] == 1
    assert_same(entry, undisturbed, output)


def test_every_reader_sees_one_table(entry: Entry, undisturbed: Path) -> None:
    for name in entry.keys:
        rows = pq.read_table(undisturbed / name).num_rows
        assert dataset.dataset(undisturbed / name).count_rows() == rows
        assert len(pd.read_parquet(undisturbed / name)) == rows
        assert pl.read_parquet(undisturbed / name / "*.parquet").height == rows
        with duckdb.connect() as connection:
            assert connection.execute(f"select count(*) from '{undisturbed / name}/*.parquet'").fetchall() == [(rows,)]


def _start(entry: Entry, source: str, output: Path | str, model: str, *more: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(DRIVE), entry.name, source, str(output), model, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _wait_for_entries(output: Path, number: int, process: subprocess.Popen[str]) -> list[Path]:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = sorted((output / "_ecqa" / "shards").glob("*.json"))
        if len(found) >= number:
            return found
        if process.poll() is not None:
            raise AssertionError(f"the driver ended early: {process.communicate()}")
        time.sleep(0.05)
    raise AssertionError(f"no {number} finished shards within 120 s")


def test_sigkill_of_the_driver(entry: Entry, source: str, undisturbed: Path, stub_model: str, tmp_path: Path) -> None:
    output = tmp_path / "killed"
    process = _start(entry, source, output, stub_model, "--delay", "0.4")
    _wait_for_entries(output, 2, process)
    process.kill()
    process.communicate()
    summary = run(entry.build(source, stub_model), str(output), QUIET, workers="local")
    assert 0 < summary["shards"]["this_run"] < summary["shards"]["planned"]
    assert_same(entry, undisturbed, output)


def test_sigterm_finishes_the_shard_in_hand(
    entry: Entry, source: str, undisturbed: Path, stub_model: str, tmp_path: Path
) -> None:
    output = tmp_path / "stopped"
    process = _start(entry, source, output, stub_model, "--delay", "0.6")
    _wait_for_entries(output, 1, process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 9, errors
    assert "run the same command" in errors
    summary = run(entry.build(source, stub_model), str(output), QUIET, workers="local")
    assert 0 < summary["shards"]["this_run"] < summary["shards"]["planned"]
    assert_same(entry, undisturbed, output)


def test_sigkill_of_an_actor_on_two_raylets(
    entry: Entry, source: str, undisturbed: Path, stub_model: str, tmp_path: Path
) -> None:
    output = tmp_path / "actor"
    process = _start(entry, source, output, stub_model, "--delay", "0.4", "--nodes", "2")
    first = _wait_for_entries(output, 1, process)[0]
    worker = json.loads(first.read_text())["workers"]["score_pairs"]
    os.kill(int(worker.rpartition(":")[2]), signal.SIGKILL)
    written, errors = process.communicate(timeout=180)
    assert process.returncode == 0, errors
    assert json.loads(written)["books"]["closed"]
    assert_same(entry, undisturbed, output)


def test_s3(
    entry: Entry, source: str, undisturbed: Path, stub_model: str, tmp_path: Path, s3_url: str, ray_cluster: None
) -> None:
    import s3fs

    storage = s3fs.S3FileSystem(use_listings_cache=False)
    place = f"{s3_url}/{entry.name}"
    storage.put(source + "/", f"{place}/input/", recursive=True)
    summary = run(entry.build(f"{place}/input", stub_model), f"{place}/output", QUIET)
    assert summary["books"]["closed"]
    again = run(entry.build(f"{place}/input", stub_model), f"{place}/output", QUIET, workers="local")
    assert again["shards"]["this_run"] == 0
    back = tmp_path / "from_s3"
    storage.get(f"{place}/output/", str(back) + "/", recursive=True)
    assert_same(entry, undisturbed, back)

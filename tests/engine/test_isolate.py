from collections.abc import Callable

import pyarrow as pa
import pytest

from ecqa.core.errors import EngineError, ModelError
from ecqa.core.schemas import DEAD_LETTERS
from ecqa.core.stage import Stage, Tables
from ecqa.engine.isolate import FEW_UNITS, run_stage

IN = pa.schema([pa.field("id", pa.string(), nullable=False), ("value", pa.int64())])
SCHEMAS = {"rows": IN, "doubled": IN, "names": pa.schema([("name", pa.string())]), "dead_letters": DEAD_LETTERS}


def _stage(transform: Callable[[Tables], Tables], **changes: object) -> Stage:
    fields: dict[str, object] = {
        "name": "double",
        "version": 1,
        "make": lambda config: transform,
        "config": None,
        "inputs": ("rows", "names"),
        "outputs": ("doubled",),
        "unit": "id",
    }
    return Stage(**(fields | changes))  # type: ignore[arg-type]


def _rows(number: int) -> dict[str, pa.Table]:
    ids = [f"r{i}" for i in range(number)]
    return {
        "rows": pa.table({"id": ids, "value": list(range(number))}, schema=IN),
        "names": pa.table({"name": ["x", "y"]}, schema=SCHEMAS["names"]),
    }


def _double(bad: tuple[int, ...], error: BaseException) -> Callable[[Tables], Tables]:
    def transform(tables: Tables) -> Tables:
        assert tables["names"].num_rows == 2, "reference tables go whole"
        values = tables["rows"].column("value").to_pylist()
        if set(values) & set(bad):
            raise error
        return {"doubled": tables["rows"].set_column(1, "value", pa.array([2 * value for value in values], pa.int64()))}

    return transform


@pytest.mark.parametrize("error", [ValueError("broken\nrow"), RuntimeError("x"), SystemExit(3)])
def test_bad_rows_are_set_aside_and_the_rest_go_on_in_order(error: BaseException) -> None:
    transform = _double((3, 7), error)
    outputs, dead = run_stage(_stage(transform), transform, _rows(12), SCHEMAS, "file (s_1)")
    assert outputs["doubled"].column("value").to_pylist() == [2 * i for i in range(12) if i not in (3, 7)]
    letters = dead.to_pylist()
    assert [letter["row_id"] for letter in letters] == ["r3", "r7"]
    assert letters[0]["error"] == type(error).__name__
    assert letters[0]["input_ref"] == "file (s_1)"
    assert "transform" in letters[0]["traceback"]


def test_a_table_that_the_stage_replaces_keeps_its_dead_rows() -> None:
    double = _double((1,), ValueError("x"))

    def transform(tables: Tables) -> Tables:
        return {"rows": double(tables)["doubled"]}

    outputs, dead = run_stage(_stage(transform, outputs=("rows",)), transform, _rows(3), SCHEMAS, "")
    assert outputs["rows"].column("value").to_pylist() == [0, 1, 4]
    assert dead.num_rows == 1


def test_a_stage_that_fails_on_every_row_ends_the_job() -> None:
    number = FEW_UNITS + 1
    transform = _double(tuple(range(number)), ValueError("no good"))
    with pytest.raises(EngineError, match=f"stage double failed on all {number} rows of f: ValueError: no good"):
        run_stage(_stage(transform), transform, _rows(number), SCHEMAS, "f")
    _, dead = run_stage(_stage(transform), transform, _rows(FEW_UNITS), SCHEMAS, "f")
    assert dead.num_rows == FEW_UNITS


@pytest.mark.parametrize("error", [ModelError("gone"), OSError("disk"), MemoryError()])
def test_faults_that_are_no_rows_fault_end_the_job(error: Exception) -> None:
    transform = _double((0,), error)
    with pytest.raises(type(error)):
        run_stage(_stage(transform), transform, _rows(3), SCHEMAS, "")


def test_an_empty_shard_that_breaks_a_stage_ends_the_job() -> None:
    def transform(tables: Tables) -> Tables:
        raise ValueError("nothing here")

    with pytest.raises(EngineError, match="empty shard"):
        run_stage(_stage(transform), transform, _rows(0), SCHEMAS, "")

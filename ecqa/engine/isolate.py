"""Runs one stage on one shard's tables; rows on which it fails go to DEAD_LETTERS and the rest go on.

When a transform raises, the rows are halved by the stage's unit until the bad units stand alone. Faults that are not a
row's (a broken disk, a missing model, a broken contract, every unit of a larger shard failing) end the job instead.
"""

import traceback
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ecqa.core.errors import EcqaError, EngineError, MisfitError
from ecqa.core.schemas import DEAD_LETTERS, conform, empty, from_rows
from ecqa.core.stage import Stage, Tables, Transform

FEW_UNITS = 8
"""Up to this many units may all fail without the stage itself being called broken."""


def run_stage(
    stage: Stage, transform: Transform, tables: Tables, schemas: Mapping[str, pa.Schema], input_ref: str
) -> tuple[dict[str, pa.Table], pa.Table]:
    """Return the stage's outputs and its dead letters.

    Raises EngineError when every unit fails and there are more than FEW_UNITS of them.
    """
    inputs = {name: conform(tables[name], schemas[name], name) for name in stage.inputs}
    units = _units(stage, inputs)
    parts, dead = _attempt(stage, transform, inputs, units, schemas, input_ref)
    if len(dead) == len(units) > FEW_UNITS:
        raise EngineError(
            f"stage {stage.name} failed on all {len(units)} rows of {input_ref}: {dead[0]['error']}: {dead[0]['reason']}"
        )
    outputs = {name: _join([part[name] for part in parts], schemas[name]) for name in stage.outputs}
    return outputs, from_rows(dead, DEAD_LETTERS)


def _attempt(
    stage: Stage,
    transform: Transform,
    inputs: Tables,
    units: list[str],
    schemas: Mapping[str, pa.Schema],
    input_ref: str,
) -> tuple[list[dict[str, pa.Table]], list[dict[str, object]]]:
    try:
        made = transform(inputs)
        return [{name: conform(made[name], schemas[name], name) for name in stage.outputs}], []
    except (EcqaError, OSError, MemoryError) as error:
        if not isinstance(error, MisfitError):
            raise
        fault: BaseException = error
    # The one place where any error is caught: a row can break a transform in any way, and it must not take the shard along.
    # SystemExit is among them: inside a Ray actor it would hang the job until the no-progress timeout.
    except (Exception, SystemExit) as error:
        if _is_of_the_device(error):
            raise
        fault = error
    if not units:
        reason = f"{type(fault).__name__}: {fault}"
        raise EngineError(f"stage {stage.name} failed on an empty shard: {reason}") from fault
    if len(units) == 1:
        return [_carried_over(stage, inputs, schemas)], [_dead_letter(stage, units[0], fault, input_ref)]
    middle = len(units) // 2
    parts, dead = [], []
    for half in (units[:middle], units[middle:]):
        chosen = {name: _select(stage, table, half) for name, table in inputs.items()}
        half_parts, half_dead = _attempt(stage, transform, chosen, half, schemas, input_ref)
        parts += half_parts
        dead += half_dead
    return parts, dead


def _units(stage: Stage, inputs: Tables) -> list[str]:
    seen: dict[str, None] = {}
    for table in inputs.values():
        if stage.unit in table.column_names:
            seen |= dict.fromkeys(table.column(stage.unit).unique().to_pylist())
    return list(seen)


def _select(stage: Stage, table: pa.Table, units: list[str]) -> pa.Table:
    """Rows of these units; a table without the unit column is reference data and goes whole."""
    if stage.unit not in table.column_names:
        return table
    return table.filter(
        pc.is_in(table.column(stage.unit), value_set=pa.array(units, table.schema.field(stage.unit).type))
    )


def _carried_over(stage: Stage, inputs: Tables, schemas: Mapping[str, pa.Schema]) -> dict[str, pa.Table]:
    """A dead unit has no new rows but those of when_dead; rows of a table that the stage would replace stay as they were."""
    if stage.when_dead is not None:
        return {name: conform(table, schemas[name], name) for name, table in stage.when_dead(inputs).items()}
    return {name: inputs[name] if name in inputs else empty(schemas[name]) for name in stage.outputs}


def _join(parts: list[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables(parts).combine_chunks() if parts else empty(schema)


def _dead_letter(stage: Stage, unit: str, error: BaseException, input_ref: str) -> dict[str, object]:
    return {
        "row_id": str(unit),
        "stage": stage.name,
        "attempt": 1,
        "error": type(error).__name__,
        "reason": _storable(str(error)[:2000]),
        "traceback": _storable("".join(traceback.format_exception(error))[-8000:]),
        "input_ref": input_ref,
    }


def _storable(text: str) -> str:
    """Lone surrogates, which no file can hold, become question marks."""
    return text.encode("utf-8", "replace").decode()


def _is_of_the_device(error: BaseException) -> bool:
    """True for a GPU that ran out of memory or broke: no row's fault, and no reason to halve a shard again and again."""
    return type(error).__module__.startswith("torch") or (isinstance(error, RuntimeError) and "CUDA" in str(error))

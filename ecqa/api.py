"""ecqa from Python: Arrow or pandas in, the same out, no cluster. For more than some ten thousand rows use ``ecqa score``."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ecqa.core.errors import EngineError, InputError
from ecqa.engine.memory import run_stages
from ecqa.engine.work import DEAD
from ecqa.modelling.encoding import EncodeConfig, encode_stage
from ecqa.modelling.model_dir import load_model_info
from ecqa.modelling.scoring import ScoreConfig, score_stage
from ecqa.pairs.filters import FilterConfig, filters_stage
from ecqa.pairs.table_source import pairs_from_table
from ecqa.recipes import score_schemas


def score(table: Any, *, model: str = "default", drop_excluded: bool = False) -> Any:
    """Score question-answer pairs, row for row.

    table: pyarrow Table or pandas DataFrame with the columns ``question`` and ``answer`` (any case), and optionally
    ``pair_id``. model: "default", a model directory or a hub id. drop_excluded: leave pairs unscored that the
    EvasionBench filters exclude.
    Returns a table of the same kind with one row for each input row, in order: pair_id, exclusion_reason (null = kept)
    and the columns of SCORES, which are null where there was nothing to score.
    Raises InputError for missing columns, ModelError for a model that cannot be used, EngineError when a row breaks.
    """
    arrow = table if isinstance(table, pa.Table) else _from_pandas(table)
    info = load_model_info(model)
    stages = (
        filters_stage(FilterConfig()),
        encode_stage(EncodeConfig(model=model, drop_excluded=drop_excluded)),
        score_stage(ScoreConfig(model=model)),
    )
    pairs = pairs_from_table(arrow)
    made = run_stages(stages, {"qa_pairs": pairs}, score_schemas(info.label_sets))
    if made[DEAD].num_rows:
        first = made[DEAD].to_pylist()[0]
        raise EngineError(f"row {first['row_id']} broke {first['stage']}: {first['error']}: {first['reason']}")
    result = _row_for_row(pairs, made["filtered_pairs"], made["scores"])
    own = next((name for name in arrow.column_names if name.strip().lower() in ("pair_id", "id")), None)
    if own is not None:
        given = pc.coalesce(pc.cast(arrow.column(own), pa.string()), result.column("pair_id"))
        result = result.set_column(0, "pair_id", given)
    if isinstance(table, pa.Table):
        return result
    frame = result.to_pandas()
    frame.index = table.index
    return frame


def _from_pandas(table: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(table, preserve_index=False)
    except (AttributeError, TypeError, pa.ArrowInvalid) as error:
        raise InputError(
            f"score() takes a pyarrow Table or a pandas DataFrame, got {type(table).__name__}: {error}"
        ) from error


def _row_for_row(pairs: pa.Table, filtered: pa.Table, scores: pa.Table) -> pa.Table:
    order = {pair_id: row for row, pair_id in enumerate(scores.column("pair_id").to_pylist())}
    rows = pa.array([order.get(pair_id) for pair_id in pairs.column("pair_id").to_pylist()], pa.int64())
    columns = {"pair_id": pairs.column("pair_id"), "exclusion_reason": filtered.column("exclusion_reason")}
    names = [name for name in scores.column_names if name != "pair_id"]
    return pa.table(columns | {name: scores.column(name).take(rows) for name in names})

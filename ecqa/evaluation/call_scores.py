"""CALL_SCORES: what a call's pairs add up to, with intervals, in two phases.

QA_PAIRS, FILTERED_PAIRS, SCORES, TRANSCRIPTS of one shard -> CALL_PARTIALS (sums and counts); the partials of all shards
are merged into one row a call and model. Every scored pair counts, marked ones too; num_excluded says how many were marked.
Rows without a call_id are in no call. Knows nothing of where the tables lie.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import stats

from ecqa.core.config import StrictConfig
from ecqa.core.stage import Stage, Tables
from ecqa.core.taxonomy import LabelSet

CONFIDENCE = 0.95
_ABOUT = ("company", "ticker", "event_date", "source_path")


class CallScoresConfig(StrictConfig):
    """Label sets that are summed up."""

    label_sets: tuple[LabelSet, ...]


def call_partials_schema(label_sets: Sequence[LabelSet]) -> pa.Schema:
    """Sums and counts of one shard's pairs, by call and model."""
    fields = [
        pa.field("call_id", pa.string(), nullable=False),
        pa.field("model_version", pa.string(), nullable=False),
        pa.field("company", pa.string()),
        pa.field("ticker", pa.string()),
        pa.field("event_date", pa.date32()),
        pa.field("source_path", pa.string()),
        pa.field("num_pairs", pa.int64(), nullable=False),
        pa.field("num_excluded", pa.int64(), nullable=False),
    ]
    return pa.schema([*fields, *(pa.field(name, pa.float64(), nullable=False) for name in _sums(label_sets))])


def call_scores_schema(label_sets: Sequence[LabelSet]) -> pa.Schema:
    """One row a call and model."""

    def field(name: str, kind: pa.DataType, doc: str, nullable: bool = True) -> pa.Field:
        return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})

    fields = [
        field("call_id", pa.string(), "the call", False),
        field("model_version", pa.string(), "name and content hash of the model", False),
        field("company", pa.string(), "company name, where a transcript gives it"),
        field("ticker", pa.string(), "exchange symbol, where a transcript gives it"),
        field("event_date", pa.date32(), "day of the call"),
        field("source_path", pa.string(), "document of the call, the last by name where several tell it"),
        field("num_pairs", pa.int64(), "scored pairs", False),
        field("num_excluded", pa.int64(), "scored pairs that a filter marked", False),
    ]
    for label_set in label_sets:
        if label_set.numeric:
            fields += [
                field(f"{label_set.name}_mean", pa.float32(), "mean expected rating", False),
                field(f"{label_set.name}_mean_low", pa.float32(), "95 % t interval; null for a single pair"),
                field(f"{label_set.name}_mean_high", pa.float32(), "95 % t interval; null for a single pair"),
            ]
        for label in label_set.labels:
            fields.append(
                field(f"{label_set.name}_share_{label}", pa.float32(), f"share of pairs labelled {label}", False)
            )
            if not label_set.numeric:
                fields += [
                    field(f"{label_set.name}_share_{label}_low", pa.float32(), "95 % Wilson interval", False),
                    field(f"{label_set.name}_share_{label}_high", pa.float32(), "95 % Wilson interval", False),
                ]
    return pa.schema(fields)


def call_partials_stage(config: CallScoresConfig) -> Stage:
    """Declare the per-shard phase."""
    return Stage(
        name="sum_calls",
        version=1,
        make=CallPartials,
        config=config,
        inputs=("transcripts", "qa_pairs", "filtered_pairs", "scores"),
        outputs=("call_partials",),
        unit="pair_id",
    )


class CallPartials:
    """One shard's SCORES -> CALL_PARTIALS."""

    def __init__(self, config: CallScoresConfig):
        self.label_sets = config.label_sets

    def __call__(self, tables: Tables) -> Tables:
        """Sum scores by call and model."""
        scores = tables["scores"]
        pairs = tables["qa_pairs"].select(["pair_id", "call_id"])
        marked = tables["filtered_pairs"].select(["pair_id", "exclusion_reason"])
        joined = scores.join(pairs, "pair_id", use_threads=False).join(marked, "pair_id", use_threads=False)
        joined = joined.filter(pc.is_valid(joined.column("call_id")))
        excluded = pc.cast(pc.is_valid(joined.column("exclusion_reason")), pa.int64())
        columns = {
            "call_id": joined.column("call_id"),
            "model_version": joined.column("model_version"),
            "num_pairs": pa.array(np.ones(joined.num_rows, np.int64)),
            "num_excluded": excluded,
        }
        for label_set in self.label_sets:
            columns |= _addends(label_set, joined)
        sums = ["num_pairs", "num_excluded", *_sums(self.label_sets)]
        grouped = pa.table(columns).group_by(["call_id", "model_version"], use_threads=False)
        summed = _plain_names(grouped.aggregate([(name, "sum") for name in sums]))
        about = _first_of_call(tables["transcripts"])
        return {
            "call_partials": summed.join(about, "call_id", use_threads=False).select(
                call_partials_schema(self.label_sets).names
            )
        }


@dataclass(frozen=True)
class MergeCalls:
    """CALL_PARTIALS of any number of shards -> CALL_SCORES."""

    label_sets: tuple[LabelSet, ...]

    def __call__(self, partials: pa.Table) -> pa.Table:
        """One row a call and model, sorted by both."""
        sums = ["num_pairs", "num_excluded", *_sums(self.label_sets)]
        # Sorted first, so that float sums do not depend on the order in which shards came.
        order = [(name, "ascending") for name in ("call_id", "model_version", *sums)]
        grouped = partials.sort_by(order).group_by(["call_id", "model_version"], use_threads=False)
        totals = _plain_names(grouped.aggregate([(name, "sum") for name in sums] + [(name, "max") for name in _ABOUT]))
        count = totals.column("num_pairs").to_numpy().astype(np.float64)
        columns = {
            name: totals.column(name) for name in ("call_id", "model_version", *_ABOUT, "num_pairs", "num_excluded")
        }
        for label_set in self.label_sets:
            columns |= _statistics(label_set, totals, count)
        schema = call_scores_schema(self.label_sets)
        arrays = [pc.cast(_whole(columns[field.name]), field.type) for field in schema]
        return pa.table(arrays, schema=schema).sort_by([("call_id", "ascending"), ("model_version", "ascending")])


def _sums(label_sets: Sequence[LabelSet]) -> list[str]:
    names = []
    for label_set in label_sets:
        if label_set.numeric:
            names += [f"{label_set.name}_sum", f"{label_set.name}_sum_of_squares"]
        names += [f"{label_set.name}_count_{label}" for label in label_set.labels]
    return names


def _addends(label_set: LabelSet, scores: pa.Table) -> dict[str, pa.Array]:
    labels = np.asarray(pc.cast(scores.column(f"{label_set.name}_label"), pa.string()).to_pylist(), dtype=object)
    columns = {
        f"{label_set.name}_count_{label}": pa.array((labels == label).astype(np.float64)) for label in label_set.labels
    }
    if label_set.numeric:
        mean = scores.column(f"{label_set.name}_mean").to_numpy().astype(np.float64)
        columns |= {f"{label_set.name}_sum": pa.array(mean), f"{label_set.name}_sum_of_squares": pa.array(mean**2)}
    return columns


def _first_of_call(transcripts: pa.Table) -> pa.Table:
    chosen = transcripts.select(["call_id", *_ABOUT]).filter(pc.is_valid(transcripts.column("call_id")))
    grouped = chosen.group_by("call_id", use_threads=False)
    return _plain_names(grouped.aggregate([(name, "max") for name in _ABOUT]))


def _plain_names(table: pa.Table) -> pa.Table:
    """Undo the suffix that an aggregation adds to every column but the keys."""
    keys = {"call_id", "model_version"}
    return table.rename_columns([name if name in keys else name.rpartition("_")[0] for name in table.column_names])


def _statistics(label_set: LabelSet, totals: pa.Table, count: npt.NDArray[np.float64]) -> dict[str, pa.Array]:
    name = label_set.name
    columns = {}
    if label_set.numeric:
        mean, low, high = mean_interval(
            totals.column(f"{name}_sum").to_numpy(), totals.column(f"{name}_sum_of_squares").to_numpy(), count
        )
        top = len(label_set.labels) - 1
        columns[f"{name}_mean"] = pa.array(mean)
        columns[f"{name}_mean_low"] = pa.array(np.clip(low, 0, top), from_pandas=True)
        columns[f"{name}_mean_high"] = pa.array(np.clip(high, 0, top), from_pandas=True)
    for label in label_set.labels:
        hits = totals.column(f"{name}_count_{label}").to_numpy()
        low, high = wilson_interval(hits, count)
        columns[f"{name}_share_{label}"] = pa.array(hits / count)
        columns |= {f"{name}_share_{label}_low": pa.array(low), f"{name}_share_{label}_high": pa.array(high)}
    return columns


Floats = npt.NDArray[np.float64]


def mean_interval(total: Floats, squares: Floats, count: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean and its 95 % t interval from sums; NaN bounds where there is one value only."""
    mean = total / count
    several = count > 1
    freedom = np.where(several, count - 1, 1)
    variance = np.maximum(squares - count * mean**2, 0) / freedom
    half = stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * np.sqrt(variance / count)
    half = np.where(several, half, np.nan)
    return mean, mean - half, mean + half


def wilson_interval(hits: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Wilson's 95 % score interval of a share (Wilson 1927, doi:10.1080/01621459.1927.10502953)."""
    z = float(stats.norm.ppf((1 + CONFIDENCE) / 2))
    share = hits / count
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = z * np.sqrt(share * (1 - share) / count + z**2 / (4 * count**2)) / (1 + z**2 / count)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

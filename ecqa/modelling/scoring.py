"""Score pairs: ENCODINGS to SCORES and SCORE_BATCHES, one forward pass for all label sets.

A shard's windows are scored in length-sorted batches, put back in order, and pooled: a pair's probabilities are the mean
of its windows' probabilities by their weights. Knows nothing of text and of where tables are stored.
"""

from typing import Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from ecqa.core.errors import ModelError, SchemaError
from ecqa.core.schemas import SCORE_BATCHES, conform, scores_schema
from ecqa.core.stage import Stage, Tables
from ecqa.core.taxonomy import LabelSet
from ecqa.modelling.model_dir import load_model_info

Floats = NDArray[np.float32]


class ScoreConfig(BaseModel):
    """How windows are scored.

    model: "default", a model directory or a hub id. label_set: name of a plain checkpoint's label set. model_version: what
    the model must turn out to be where it is loaded, None for whatever it is.
    batch_tokens: computed tokens of a batch, by default what suits the device. max_padding: share that may be padding.
    device: "auto" takes the GPU that the process sees, else the CPU. precision: "auto" is float32 on a CPU and float16
    on a GPU. threads: torch threads; None leaves what the environment says. These five change a score by rounding only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = "default"
    label_set: str | None = None
    model_version: str | None = None
    batch_tokens: int | None = Field(default=None, ge=1)
    max_padding: float = Field(default=0.05, ge=0, le=1)
    device: str = Field(default="auto", pattern=r"^(auto|cpu|cuda(:[0-9]+)?)$")
    precision: Literal["auto", "float32", "float16", "bfloat16"] = "auto"
    threads: int | None = Field(default=None, ge=1)


class Batch(NamedTuple):
    """One row of SCORE_BATCHES."""

    num_sequences: int
    num_tokens: int
    num_padded_tokens: int


class WindowScorer(Protocol):
    """A backend's scorer: ENCODINGS to logits [windows, all labels of all label sets], float32, and its batches."""

    def __call__(self, encodings: pa.Table) -> tuple[Floats, list[Batch]]:
        """Score windows, in the order of the rows."""


class ScoreTransform:
    """Table "encodings" to "scores" (one row a pair, in order) and "score_batches". Loads the model once."""

    def __init__(self, config: ScoreConfig) -> None:
        from ecqa.modelling.backends import make_scorer

        self.info = load_model_info(config.model, config.label_set)
        if config.model_version not in (None, self.info.model_version):
            raise ModelError(
                f"model {config.model}: this worker has {self.info.model_version}, the run wants {config.model_version}; "
                f"put the same files on every node"
            )
        self.schema = scores_schema(self.info.label_sets)
        self.scorer = make_scorer(config, self.info)

    def __call__(self, tables: Tables) -> Tables:
        """Score one shard."""
        encodings = tables["encodings"]
        starts = pair_starts(encodings)
        logits, batches = self.scorer(encodings)
        columns = self._pair_columns(encodings.take(pa.array(starts)))
        weights = encodings["weight"].to_numpy()
        offset = 0
        for label_set in self.info.label_sets:
            stop = offset + len(label_set.labels)
            pooled = pool_windows(softmax(logits[:, offset:stop]), weights, starts)
            columns |= label_columns(label_set, pooled, self.info.statuses[label_set.name])
            offset = stop
        scores = conform(pa.table(columns), self.schema, "scores")
        return {"scores": scores, "score_batches": _batch_table(batches)}

    def _pair_columns(self, first_windows: pa.Table) -> dict[str, pa.Array | pa.ChunkedArray]:
        version = pa.array([self.info.model_version] * first_windows.num_rows, pa.string())
        kept = ("pair_id", "num_tokens", "num_windows", "truncated")
        return {name: first_windows[name] for name in kept} | {"model_version": version}


def pair_starts(encodings: pa.Table) -> NDArray[np.int64]:
    """Rows where a pair begins. Raises SchemaError when a pair's windows do not stand together and in order."""
    window = encodings["window"].to_numpy()
    starts = np.flatnonzero(window == 0)
    counts = encodings["num_windows"].to_numpy()[starts]
    expected = np.concatenate([np.empty(0, np.int64), *map(np.arange, counts)])
    if not np.array_equal(window, expected):
        raise SchemaError("encodings: the windows of a pair must follow each other from 0 to num_windows - 1")
    return starts


def softmax(logits: Floats) -> Floats:
    """Probabilities along the last axis."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True)) if logits.size else logits
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def pool_windows(probabilities: Floats, weights: Floats, starts: NDArray[np.int64]) -> Floats:
    """Mean of each pair's rows by weight; [windows, labels] to [pairs, labels]."""
    if not len(starts):
        return probabilities
    summed = np.add.reduceat(probabilities * weights[:, None], starts, axis=0)
    return np.asarray(summed / summed.sum(axis=1, keepdims=True), np.float32)


def label_columns(label_set: LabelSet, probabilities: Floats, status: str) -> dict[str, pa.Array]:
    """Columns of one label set: label, probabilities, and the mean rating or the status."""
    best = probabilities.argmax(axis=1) if len(probabilities) else np.empty(0, np.int64)
    columns = {
        column: pa.array(np.ascontiguousarray(probabilities[:, index]))
        for index, column in enumerate(label_set.probability_columns)
    }
    if label_set.numeric:
        ratings = np.arange(len(label_set.labels), dtype=np.float32)
        columns[f"{label_set.name}_label"] = pa.array(best.astype(np.int8))
        columns[f"{label_set.name}_mean"] = pa.array((probabilities @ ratings).astype(np.float32))
    else:
        columns[f"{label_set.name}_label"] = pa.array(label_set.labels, pa.string()).take(pa.array(best))
        columns[f"{label_set.name}_status"] = pa.array([status] * len(best), pa.string())
    return columns


def _batch_table(batches: list[Batch]) -> pa.Table:
    names = SCORE_BATCHES.names
    return pa.Table.from_pylist([dict(zip(names, batch, strict=True)) for batch in batches], schema=SCORE_BATCHES)


def score_stage(config: ScoreConfig) -> Stage:
    """Declare the stage "score_pairs"."""
    return Stage(
        name="score_pairs",
        version=1,
        make=ScoreTransform,
        config=config,
        inputs=("encodings",),
        outputs=("scores", "score_batches"),
        unit="pair_id",
        pool="actor",
    )

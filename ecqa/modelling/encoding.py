"""Encode pairs: QA_PAIRS and FILTERED_PAIRS to ENCODINGS, one row a window, on CPUs and without torch.

Only pairs with something to score are encoded. What a window holds is the backend's affair (token_encoder, tfidf,
stub). Knows nothing of labels and scores.
"""

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ecqa.core.errors import SchemaError
from ecqa.core.schemas import ENCODINGS, conform
from ecqa.core.stage import Stage, Tables


class EncodeConfig(BaseModel):
    """How pairs are encoded.

    model: "default", a model directory or a hub id. max_tokens: a window's length, by default the model's own.
    question_budget: tokens of the question in a window of a pair that is cut, by default half the room.
    answer_overlap: answer tokens that neighbouring windows share at least, by default an eighth of the room.
    max_pair_tokens: of an answer longer than that only the first so many tokens are covered by windows, and the pair is
    marked truncated; num_tokens still counts all. It bounds the windows of one absurdly long pair; the TF-IDF backend has
    no windows and takes the whole text. drop_excluded: leave out pairs that a filter excludes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = "default"
    max_tokens: int | None = Field(default=None, ge=8)
    question_budget: int | None = Field(default=None, ge=0)
    answer_overlap: int | None = Field(default=None, ge=0)
    max_pair_tokens: int = Field(default=50_000, ge=8)
    drop_excluded: bool = False

    @model_validator(mode="after")
    def _pair_holds_a_window(self) -> "EncodeConfig":
        if self.max_tokens is not None and self.max_pair_tokens < self.max_tokens:
            raise ValueError(f"max_pair_tokens {self.max_pair_tokens}: must be max_tokens ({self.max_tokens}) or more")
        return self


class PairEncoder(Protocol):
    """A backend's encoder: texts to the columns of ENCODINGS, with ``pair`` (position) in place of pair_id."""

    def __call__(self, questions: Sequence[str], answers: Sequence[str]) -> pa.Table:
        """Encode pairs; texts may be anything."""


class EncodeTransform:
    """Tables "qa_pairs" and "filtered_pairs" to "encodings", rows in the order of qa_pairs."""

    def __init__(self, config: EncodeConfig) -> None:
        from ecqa.modelling.backends import make_encoder

        self.config = config
        self.encoder = make_encoder(config)

    def __call__(self, tables: Tables) -> Tables:
        """Encode one shard."""
        pairs = tables["qa_pairs"].filter(self._wanted(tables["qa_pairs"], tables["filtered_pairs"]))
        windows = self.encoder(texts(pairs["question"]), texts(pairs["answer"]))
        pair_ids = pairs["pair_id"].combine_chunks().take(windows["pair"].combine_chunks())
        columns = windows.drop_columns(["pair"]).append_column("pair_id", pair_ids)
        return {"encodings": conform(columns, ENCODINGS, "encodings")}

    def _wanted(self, pairs: pa.Table, filtered: pa.Table) -> pa.ChunkedArray:
        if not pairs["pair_id"].equals(filtered["pair_id"]):
            places = pc.index_in(pairs["pair_id"], value_set=filtered["pair_id"].combine_chunks())
            if places.null_count:
                raise SchemaError(f"filtered_pairs: {places.null_count} of {pairs.num_rows} pairs have no row there")
            filtered = filtered.take(places)
        wanted = filtered["scorable"]
        return pc.and_(wanted, pc.is_null(filtered["exclusion_reason"])) if self.config.drop_excluded else wanted


def texts(column: pa.ChunkedArray) -> list[str]:
    """Texts of a string column; null is the empty text, and bytes that are no UTF-8 become the replacement character."""
    return [raw.decode("utf-8", "replace") if raw else "" for raw in column.cast(pa.binary()).to_pylist()]


def encode_stage(config: EncodeConfig) -> Stage:
    """Declare the stage "encode_pairs"."""
    return Stage(
        name="encode_pairs",
        version=1,
        make=EncodeTransform,
        config=config,
        inputs=("qa_pairs", "filtered_pairs"),
        outputs=("encodings",),
        unit="pair_id",
        pool="task",
    )

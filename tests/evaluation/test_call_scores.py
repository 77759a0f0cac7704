import math

import numpy as np
import pyarrow as pa
import pytest

from ecqa.core.schemas import FILTERED_PAIRS, QA_PAIRS, TRANSCRIPTS, conform, from_rows, scores_schema
from ecqa.core.taxonomy import load_taxonomy
from ecqa.evaluation.call_scores import (
    CallPartials,
    CallScoresConfig,
    MergeCalls,
    call_partials_schema,
    call_scores_schema,
    mean_interval,
    wilson_interval,
)

LABEL_SETS = (load_taxonomy("subjectivity-v1")["clear"], load_taxonomy("evasion-v1")["evasion"])


def _shard(calls: list[str | None], labels: list[int]) -> pa.Table:
    ids = [f"{call}-{number}" for number, call in enumerate(calls)]
    pairs = [{"pair_id": i, "call_id": c, "source_path": "a", "position": 0} for i, c in zip(ids, calls, strict=True)]
    marks = [None if label else "short_answer" for label in labels]
    filtered = [
        {"pair_id": i, "exclusion_reason": m, "scorable": True, "num_question_chars": 1, "num_answer_chars": 1}
        for i, m in zip(ids, marks, strict=True)
    ]
    scores = [_score(i, label) for i, label in zip(ids, labels, strict=True)]
    transcript = {"transcript_id": "t", "call_id": "A", "source_path": "a", "document_index": 0, "status": "ok"}
    transcript |= {"num_bytes": 1, "num_components": 1, "company": "Acme"}
    tables = {
        "transcripts": from_rows([transcript], TRANSCRIPTS),
        "qa_pairs": from_rows(pairs, QA_PAIRS),
        "filtered_pairs": from_rows(filtered, FILTERED_PAIRS),
        "scores": from_rows(scores, scores_schema(LABEL_SETS)),
    }
    made = CallPartials(CallScoresConfig(label_sets=LABEL_SETS))(tables)["call_partials"]
    return conform(made, call_partials_schema(LABEL_SETS), "call_partials")


def _score(pair_id: str, label: int) -> dict[str, object]:
    chances = [float(label == i) for i in range(3)]
    named = dict(zip(LABEL_SETS[1].probability_columns, chances, strict=True))
    rated = dict(zip(LABEL_SETS[0].probability_columns, chances, strict=True))
    fixed = {"pair_id": pair_id, "model_version": "m@1", "num_tokens": 9, "num_windows": 1, "truncated": False}
    labels = {"clear_label": label, "clear_mean": float(label), "evasion_label": LABEL_SETS[1].labels[label]}
    return fixed | named | rated | labels | {"evasion_status": "experimental"}


def test_a_call_in_two_shards_is_one_row() -> None:
    partials = pa.concat_tables([_shard(["A", "A", "B", None], [2, 1, 0, 2]), _shard(["A"], [0])])
    made = conform(MergeCalls(LABEL_SETS)(partials), call_scores_schema(LABEL_SETS), "call_scores").to_pylist()
    assert [row["call_id"] for row in made] == ["A", "B"]
    first = made[0]
    assert (first["num_pairs"], first["num_excluded"], first["company"]) == (3, 1, "Acme")
    assert first["clear_mean"] == 1.0
    assert first["clear_share_2"] == pytest.approx(1 / 3)
    assert first["evasion_share_fully_evasive"] == pytest.approx(1 / 3)
    assert first["evasion_share_direct_low"] < 1 / 3 < first["evasion_share_direct_high"]
    assert (first["clear_mean_low"], first["clear_mean_high"]) == (0, 2), "bounds stay within the ratings"
    assert made[1]["clear_mean_low"] is None, "one pair has no interval"


def test_the_order_of_shards_does_not_matter() -> None:
    shards = [_shard(["A"] * 5, [0, 1, 2, 1, 1]), _shard(["A", "C"], [2, 2]), _shard(["C"], [1])]
    merge = MergeCalls(LABEL_SETS)
    assert merge(pa.concat_tables(shards)).equals(merge(pa.concat_tables(shards[::-1])))


def test_no_pairs_no_calls() -> None:
    assert MergeCalls(LABEL_SETS)(call_partials_schema(LABEL_SETS).empty_table()).num_rows == 0


def test_mean_interval_is_students() -> None:
    values = np.array([1.0, 2.0, 4.0])
    mean, low, high = mean_interval(np.array([values.sum()]), np.array([(values**2).sum()]), np.array([3.0]))
    half = 4.302652729911275 * values.std(ddof=1) / math.sqrt(3)
    assert (mean[0], low[0], high[0]) == pytest.approx((7 / 3, 7 / 3 - half, 7 / 3 + half))


def test_wilson_interval_is_wilsons() -> None:
    low, high = wilson_interval(np.array([0.0, 5.0]), np.array([10.0, 10.0]))
    assert low == pytest.approx([0.0, 0.236593], abs=1e-5)
    assert high == pytest.approx([0.277533, 0.763407], abs=1e-5)

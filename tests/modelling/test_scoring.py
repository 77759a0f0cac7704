from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pydantic import ValidationError

from ecqa.core.errors import ModelError, SchemaError
from ecqa.core.schemas import SCORE_BATCHES, scores_schema
from ecqa.modelling.encoding import EncodeConfig, EncodeTransform
from ecqa.modelling.scoring import ScoreConfig, ScoreTransform, pair_starts, pool_windows, score_stage, softmax
from tests.modelling import tiny


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.write_encoder(tmp_path_factory.mktemp("scoring") / "tiny"))


@pytest.fixture(scope="module")
def encodings(model: str) -> pa.Table:
    return EncodeTransform(EncodeConfig(model=model))(tiny.varied_pairs(60))["encodings"]


def test_scores_keep_order_and_contract(model: str, encodings: pa.Table) -> None:
    scorer = ScoreTransform(ScoreConfig(model=model, batch_tokens=128))
    out = scorer({"encodings": encodings})
    scores = out["scores"]
    assert scores.schema == scores_schema(scorer.info.label_sets)
    assert scores["pair_id"].to_pylist() == [f"pair_{row}" for row in range(60)]
    assert max(scores["num_windows"].to_pylist()) > 1
    for label_set in scorer.info.label_sets:
        table = np.stack([scores[name].to_numpy() for name in label_set.probability_columns], axis=1)
        assert np.allclose(table.sum(axis=1), 1, atol=1e-5)
        best = [label_set.labels[place] for place in table.argmax(axis=1)]
        assert [str(label) for label in scores[f"{label_set.name}_label"].to_pylist()] == best
    assert set(scores["evasion_status"].to_pylist()) == {"experimental"}
    assert np.allclose(
        scores["clear_mean"], scores["clear_p1"].to_numpy() + 2 * scores["clear_p2"].to_numpy(), atol=1e-5
    )


def test_a_score_does_not_depend_on_its_batch(model: str, encodings: pa.Table) -> None:
    scorer = ScoreTransform(ScoreConfig(model=model, batch_tokens=4096, max_padding=0.9))
    whole = scorer({"encodings": encodings})["scores"]
    starts = [*pair_starts(encodings).tolist(), encodings.num_rows]
    for row in (0, 7, 31, 59):
        alone = scorer({"encodings": encodings.slice(starts[row], starts[row + 1] - starts[row])})["scores"]
        for name in ("clear_p0", "clear_p2", "evasion_p_direct", "clear_mean"):
            assert alone[name][0].as_py() == pytest.approx(whole[name][row].as_py(), abs=1e-5)


def test_padding_stays_below_a_twentieth(model: str, encodings: pa.Table) -> None:
    batches = ScoreTransform(ScoreConfig(model=model))({"encodings": encodings})["score_batches"]
    assert batches.schema == SCORE_BATCHES
    real, computed = (sum(batches[name].to_pylist()) for name in ("num_tokens", "num_padded_tokens"))
    assert sum(batches["num_sequences"].to_pylist()) == encodings.num_rows
    assert real == sum(len(ids) for ids in encodings["input_ids"].to_pylist())
    assert computed - real <= 0.05 * computed


def test_pooling_is_the_weighted_mean_of_windows() -> None:
    probabilities = np.array([[1, 0], [0, 1], [0.5, 0.5]], np.float32)
    pooled = pool_windows(probabilities, np.array([0.75, 0.25, 1], np.float32), np.array([0, 2]))
    assert np.allclose(pooled, [[0.75, 0.25], [0.5, 0.5]])


def test_softmax_stands_large_logits() -> None:
    assert np.allclose(softmax(np.array([[1e4, 0, -1e4]], np.float32)), [[1, 0, 0]])


def test_no_rows_give_no_scores(model: str, encodings: pa.Table) -> None:
    out = ScoreTransform(ScoreConfig(model=model))({"encodings": encodings.slice(0, 0)})
    assert (out["scores"].num_rows, out["score_batches"].num_rows) == (0, 0)


def test_windows_out_of_place_are_refused(encodings: pa.Table) -> None:
    several = next(row for row, count in enumerate(encodings["num_windows"].to_pylist()) if count > 1)
    with pytest.raises(SchemaError, match="windows of a pair"):
        pair_starts(encodings.slice(several + 1))
    with pytest.raises(SchemaError, match="windows of a pair"):
        pair_starts(encodings.slice(0, several + 1))


def test_a_plain_checkpoint_scores_through_the_same_interface(tmp_path: Path) -> None:
    names = {0: "low", 1: "mid", 2: "high"}
    path = str(tiny.write_checkpoint(tmp_path / "tone", id2label=names, label2id={v: k for k, v in names.items()}))
    encodings = EncodeTransform(EncodeConfig(model=path))(tiny.varied_pairs(12))["encodings"]
    scores = ScoreTransform(ScoreConfig(model=path))({"encodings": encodings})["scores"]
    assert {"tone_label", "tone_p_low", "tone_p_mid", "tone_p_high", "tone_status"} <= set(scores.column_names)
    assert set(scores["tone_label"].to_pylist()) <= set(names.values())


def test_stage() -> None:
    stage = score_stage(ScoreConfig())
    assert (stage.name, stage.unit, stage.pool) == ("score_pairs", "pair_id", "actor")
    assert stage.outputs == ("scores", "score_batches")


@pytest.mark.parametrize("device", ["xcpu:9", "cpu:9", "cuda:", "cuda:x", "autos", "cpu\n", ""])
def test_a_device_that_is_none_is_refused(device: str) -> None:
    with pytest.raises(ValidationError, match="device"):
        ScoreConfig(device=device)
    assert [ScoreConfig(device=name).device for name in ("auto", "cpu", "cuda", "cuda:1")][-1] == "cuda:1"


def test_another_model_version_than_the_run_s_is_refused(model: str) -> None:
    version = ScoreTransform(ScoreConfig(model=model)).info.model_version
    assert ScoreTransform(ScoreConfig(model=model, model_version=version)).info.model_version == version
    with pytest.raises(ModelError, match=f"this worker has {version}, the run wants tiny@0"):
        ScoreTransform(ScoreConfig(model=model, model_version="tiny@0"))

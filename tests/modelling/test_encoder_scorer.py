from pathlib import Path

import numpy as np
import pytest
import torch

from ecqa.modelling.encoder_scorer import EncoderScorer, TokenRows, choose_device
from ecqa.modelling.encoding import EncodeConfig, EncodeTransform
from ecqa.modelling.model_dir import load_model_info
from ecqa.modelling.scoring import ScoreConfig
from tests.modelling import tiny


def test_batches_are_padded_and_masked_only_where_needed(tmp_path: Path) -> None:
    path = str(tiny.write_encoder(tmp_path / "tiny"))
    encodings = EncodeTransform(EncodeConfig(model=path))(tiny.pair_tables(["how", "how did"], ["yes", "yes"]))[
        "encodings"
    ]
    rows = TokenRows(encodings)
    inputs, batch = rows.batch(np.array([1, 0]), 0)
    assert inputs["input_ids"].shape == (2, 6)
    assert inputs["attention_mask"].tolist() == [[1] * 6, [1] * 5 + [0]]
    assert inputs["token_type_ids"].tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]]
    assert batch == (2, 11, 12)
    assert "attention_mask" not in rows.batch(np.array([1]), 0)[0]


def test_a_slice_of_a_table_reads_its_own_rows(tmp_path: Path) -> None:
    path = str(tiny.write_encoder(tmp_path / "tiny"))
    encodings = EncodeTransform(EncodeConfig(model=path))(tiny.varied_pairs(10))["encodings"]
    part = encodings.slice(4, 3)
    rows = TokenRows(part)
    for row in range(3):
        inputs, _ = rows.batch(np.array([row]), 0)
        assert inputs["input_ids"][0].tolist() == part["input_ids"][row].as_py()
        assert inputs["token_type_ids"][0].tolist() == part["token_type_ids"][row].as_py()


def test_bfloat16_is_near_float32(tmp_path: Path) -> None:
    path = str(tiny.write_encoder(tmp_path / "tiny"))
    encodings = EncodeTransform(EncodeConfig(model=path))(tiny.varied_pairs(10))["encodings"]
    info = load_model_info(path)
    exact, _ = EncoderScorer(ScoreConfig(model=path), info)(encodings)
    rough, _ = EncoderScorer(ScoreConfig(model=path, precision="bfloat16"), info)(encodings)
    assert np.allclose(exact, rough, atol=0.1)
    assert not np.array_equal(exact, rough)


def test_auto_takes_what_the_process_sees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"
    assert choose_device("cpu").type == "cpu"


def test_threads_are_left_alone_unless_given(tmp_path: Path) -> None:
    path = str(tiny.write_encoder(tmp_path / "tiny"))
    before = torch.get_num_threads()
    EncoderScorer(ScoreConfig(model=path), load_model_info(path))
    assert torch.get_num_threads() == before
    EncoderScorer(ScoreConfig(model=path, threads=1), load_model_info(path))
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)

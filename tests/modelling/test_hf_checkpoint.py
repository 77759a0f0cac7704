import json
import shutil
from pathlib import Path

import pytest
from transformers import BertModel

from ecqa.core.errors import ModelError
from ecqa.modelling.hf_checkpoint import longest_input
from ecqa.modelling.model_dir import load_model_info
from tests.modelling import tiny


def test_named_labels_become_a_label_set(tmp_path: Path) -> None:
    names = {0: "negative", 1: "neutral", 2: "positive"}
    path = tiny.write_checkpoint(tmp_path / "FinBERT-tone", id2label=names, label2id={v: k for k, v in names.items()})
    info = load_model_info(str(path))
    assert (info.name, info.backend, info.max_tokens) == ("finbert_tone", "checkpoint", 32)
    (label_set,) = info.label_sets
    assert label_set.probability_columns == tuple(f"finbert_tone_p_{name}" for name in names.values())
    assert info.statuses == {"finbert_tone": "experimental"}


def test_label_0_to_k_are_numeric_and_the_name_can_be_given(tmp_path: Path) -> None:
    info = load_model_info(str(tiny.write_checkpoint(tmp_path / "m", num_labels=3)), "Clear")
    (label_set,) = info.label_sets
    assert label_set.numeric
    assert label_set.probability_columns == ("clear_p0", "clear_p1", "clear_p2")


def test_the_version_does_not_depend_on_the_place(tmp_path: Path) -> None:
    first = tiny.write_checkpoint(tmp_path / "one" / "tone", num_labels=3)
    second = shutil.copytree(first, tmp_path / "two" / "tone")
    assert load_model_info(str(first)).model_version == load_model_info(str(second)).model_version


def test_a_bare_encoder_has_no_heads(tmp_path: Path) -> None:
    BertModel(tiny.bert_config()).save_pretrained(tmp_path / "bare")
    with pytest.raises(ModelError, match="no classification heads.*train"):
        load_model_info(str(tiny.write_tokenizer(tmp_path / "bare")))


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_broken_config_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ModelError, match=r"config\.json"):
        load_model_info(str(tmp_path))


def test_an_empty_directory_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"neither ecqa_model\.json nor config\.json"):
        load_model_info(str(tmp_path))


def test_regression_and_pickled_weights_are_refused(tmp_path: Path) -> None:
    config = {"architectures": ["BertForSequenceClassification"]}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"model\.safetensors is missing \(pickled"):
        load_model_info(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(config | {"problem_type": "regression"}))
    with pytest.raises(ModelError, match="regression"):
        load_model_info(str(tmp_path))


def test_offset_positions_and_tokenizer_limit_count(tmp_path: Path) -> None:
    roberta = {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}
    assert longest_input(tmp_path, roberta) == 512
    assert longest_input(tmp_path, roberta | {"max_position_embeddings": 130}) == 128
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 100}')
    assert longest_input(tmp_path, roberta) == 100
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(ModelError, match=r"tokenizer_config\.json"):
        longest_input(tmp_path, roberta)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"max_position_embeddings": "x"}, "max_position_embeddings"),
        ({"max_position_embeddings": [1]}, "max_position_embeddings"),
        ({"id2label": {"a": "b", "c": "d"}}, "id2label"),
        ({"id2label": 3}, "id2label"),
        ({"architectures": 3}, "architectures"),
    ],
)
def test_a_config_value_of_the_wrong_kind_is_named(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    path = tiny.write_checkpoint(tmp_path / "tone", num_labels=3)
    tiny.change_json(path / "config.json", **changes)
    with pytest.raises(ModelError, match=named):
        load_model_info(str(path))

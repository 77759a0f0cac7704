import json
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from ecqa.core.errors import ConfigError, ModelError
from ecqa.modelling.encoding import EncodeConfig
from ecqa.modelling.token_encoder import load_tokenizer, pair_template, tokenizer_encoder
from tests.modelling import tiny


def test_a_pair_that_fits_equals_the_tokenizer_s_own(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    question, answer = "how did the segment do ?", "we saw growth of a percent ."
    row = tokenizer_encoder(EncodeConfig(), path, 32)([question], [answer]).to_pylist()[0]
    expected = AutoTokenizer.from_pretrained(path)(question, answer)
    assert row["input_ids"] == expected["input_ids"]
    assert row["token_type_ids"] == expected["token_type_ids"]
    assert row["num_tokens"] == len(row["input_ids"])
    assert (row["window"], row["num_windows"], row["weight"], row["truncated"]) == (0, 1, 1.0, False)


def test_windows_hold_every_answer_token_and_the_question(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    words = [tiny.WORDS[place % len(tiny.WORDS)] for place in range(90)]
    rows = tokenizer_encoder(EncodeConfig(), path, 32)(["how did"], [" ".join(words)]).to_pylist()
    places = {word: index for index, word in enumerate(tiny.VOCABULARY)}
    whole = [places[word] for word in words]
    assert len(rows) == rows[0]["num_windows"] > 1
    assert rows[0]["num_tokens"] == 90 + 2 + 3
    assert sum(row["weight"] for row in rows) == pytest.approx(1)
    found = np.zeros(90, bool)
    for row in rows:
        ids = row["input_ids"]
        assert len(ids) <= 32
        assert ids[:4] == [2, places["how"], places["did"], 3]
        span = ids[4:-1]
        start = next(p for p in range(90) if whole[p : p + len(span)] == span and not found[p : p + len(span)].all())
        found[start : start + len(span)] = True
    assert found.all()


def test_limits_must_fit(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    with pytest.raises(ConfigError, match="takes 32 at most"):
        tokenizer_encoder(EncodeConfig(max_tokens=64), path, 32)
    with pytest.raises(ConfigError, match="leave no room"):
        tokenizer_encoder(EncodeConfig(question_budget=28, answer_overlap=2), path, 32)


def test_a_broken_or_absent_tokenizer_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="no fast tokenizer"):
        load_tokenizer(tmp_path)


def test_a_model_without_segments_gets_none(tmp_path: Path) -> None:
    tokenizer = load_tokenizer(tiny.write_tokenizer(tmp_path / "t"))
    assert pair_template(tokenizer, with_types=False).types is None
    assert pair_template(tokenizer, with_types=True).num_special == 3


def test_a_tokenizer_of_custom_code_is_refused_without_asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("builtins.input", lambda prompt="": asked.append(prompt) or "y")
    places = {"AutoTokenizer": ["tokenization_x.X", "tokenization_x.XFast"]}
    content = {"tokenizer_class": "XTokenizer", "auto_map": places}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(content))
    (tmp_path / "config.json").write_text('{"model_type": "mystery"}')
    with pytest.raises(ModelError, match="no fast tokenizer.*custom code") as caught:
        load_tokenizer(tmp_path)
    assert "\n" not in str(caught.value)
    assert not asked

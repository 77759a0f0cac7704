from pathlib import Path

import numpy as np
import pytest

from ecqa.core.errors import ModelError
from ecqa.modelling.encoding import EncodeConfig, EncodeTransform
from ecqa.modelling.model_dir import ModelInfo, load_model_info
from ecqa.modelling.scoring import ScoreConfig, ScoreTransform
from ecqa.modelling.tfidf import join_pair, make_vectorizer, read_tfidf
from ecqa.modelling.tfidf_training import TfidfConfig, fit_tfidf
from tests.modelling import tiny

PAIRS = [("how did it do ?", "we saw growth"), ("how did demand do ?", "no idea"), ("growth ?", "steady demand")] * 5
LABELS = {"clear": np.array([2, 0, 1] * 5), "evasion": np.array([0, 2, -1] * 5)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return fit_tfidf(tmp_path / "tfidf", "tfidf-tiny", tiny.heads(), PAIRS, LABELS, TfidfConfig())


def score(path: Path, pairs: list[tuple[str, str]]) -> list[dict[str, object]]:
    tables = tiny.pair_tables([question for question, _ in pairs], [answer for _, answer in pairs])
    encodings = EncodeTransform(EncodeConfig(model=str(path)))(tables)
    return ScoreTransform(ScoreConfig(model=str(path)))(encodings)["scores"].to_pylist()


def test_round_trip_gives_scikit_learn_s_probabilities(path: Path) -> None:
    from sklearn.linear_model import LogisticRegression

    texts = [join_pair(*pair) for pair in PAIRS]
    vectorizer = make_vectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    model = LogisticRegression(class_weight="balanced", max_iter=3000, random_state=5768)
    expected = model.fit(vectorizer.fit_transform(texts), LABELS["clear"]).predict_proba(vectorizer.transform(texts))
    rows = score(path, PAIRS)
    found = [[row[f"clear_p{label}"] for label in range(3)] for row in rows]
    assert np.allclose(found, expected, atol=1e-4)
    assert [row["clear_label"] for row in rows] == LABELS["clear"].tolist()


def test_no_pickle_and_no_torch_files(path: Path) -> None:
    assert sorted(file.name for file in path.iterdir()) == ["ecqa_model.json", "tfidf.safetensors", "vocabulary.json"]


def test_empty_and_unknown_texts(path: Path) -> None:
    rows = score(path, [("", ""), ("zzz", "\0"), *PAIRS[:1]])
    assert [row["num_tokens"] for row in rows][:2] == [0, 0]
    assert score(path, []) == []


def test_a_row_does_not_depend_on_its_neighbours(path: Path) -> None:
    assert score(path, PAIRS[1:2])[0]["clear_p0"] == pytest.approx(score(path, PAIRS)[1]["clear_p0"], abs=1e-6)


def test_broken_files_are_named(path: Path) -> None:
    info: ModelInfo = load_model_info(str(path))
    (path / "vocabulary.json").write_text('{"terms": ["one"]}')
    with pytest.raises(ModelError, match=r"tfidf\.safetensors: tensor weight is .*expected \(6, 1\)"):
        read_tfidf(info)
    (path / "tfidf.safetensors").write_bytes(b"no")
    with pytest.raises(ModelError, match=r"tfidf\.safetensors"):
        read_tfidf(info)
    (path / "vocabulary.json").write_text("{")
    with pytest.raises(ModelError, match=r"vocabulary\.json"):
        read_tfidf(info)

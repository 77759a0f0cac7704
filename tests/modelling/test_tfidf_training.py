from pathlib import Path

import numpy as np

from ecqa.modelling.model_dir import load_model_info
from ecqa.modelling.tfidf import read_tfidf
from ecqa.modelling.tfidf_training import TfidfConfig, fit_tfidf
from tests.modelling import tiny


def test_a_label_nobody_has_is_never_predicted(tmp_path: Path) -> None:
    pairs = [("how", "yes"), ("did", "no")] * 6
    labels = {"clear": np.array([0, 2] * 6), "evasion": np.array([0, 1] * 6)}
    path = fit_tfidf(tmp_path / "t", "t", tiny.heads(), pairs, labels, TfidfConfig(max_ngram=1))
    info = load_model_info(str(path))
    vocabulary, weights = read_tfidf(info)
    assert vocabulary.terms == ("did", "how", "no", "yes")
    assert weights.bias[1] < -20
    assert info.backend == "tfidf"
    assert info.max_tokens is None

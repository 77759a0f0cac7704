"""Fit the TF-IDF backend: labelled texts to a model directory. Balanced logistic regression, one head a label set.

A label of -1 is missing and its row is left out of that head. Knows nothing of where the texts come from.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from ecqa.modelling.head_fitting import fit_head
from ecqa.modelling.model_dir import Head, ModelFile
from ecqa.modelling.tfidf import TfidfWeights, Vocabulary, join_pair, make_vectorizer, write_tfidf


class TfidfConfig(BaseModel):
    """How terms are made and how strong the regression is held (C of scikit-learn)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_ngram: int = Field(default=2, ge=1)
    min_documents: int = Field(default=2, ge=1)
    sublinear: bool = True
    inverse_regularisation: float = Field(default=1.0, gt=0)
    seed: int = 5768


def fit_tfidf(
    path: Path,
    name: str,
    heads: Sequence[Head],
    pairs: Sequence[tuple[str, str]],
    labels: Mapping[str, NDArray[np.int64]],
    config: TfidfConfig,
) -> Path:
    """Fit and write a model directory; ``labels`` gives for each label set one label index a pair, -1 if missing."""
    vectorizer = make_vectorizer(
        ngram_range=(1, config.max_ngram), min_df=config.min_documents, sublinear_tf=config.sublinear
    )
    rows = vectorizer.fit_transform([join_pair(question, answer) for question, answer in pairs])
    fitted = [
        fit_head(
            rows,
            labels[head.label_set.name],
            len(head.label_set.labels),
            inverse_regularisation=config.inverse_regularisation,
            seed=config.seed,
        )
        for head in heads
    ]
    weight, bias = (np.concatenate([part[index] for part in fitted]) for index in (0, 1))
    terms = tuple(str(term) for term in vectorizer.get_feature_names_out())
    vocabulary = Vocabulary(terms=terms, max_ngram=config.max_ngram, sublinear=config.sublinear)
    content = ModelFile(name=name, backend="tfidf", heads=tuple(heads), about={"training": config.model_dump()})
    write_tfidf(path, content, vocabulary, TfidfWeights(vectorizer.idf_, weight, bias))
    return path

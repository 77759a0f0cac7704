"""The TF-IDF backend: pairs to sparse rows, sparse rows to the logits of a linear head a label set.

The directory holds vocabulary.json (terms in order, and how texts become terms) and tfidf.safetensors (idf, weight, bias):
no pickle. Logits are those of logistic regression, so SCORES mean the same as with an encoder. Loads no torch. Knows
nothing of training (tfidf_training.py).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from ecqa.core.errors import ModelError
from ecqa.modelling.model_dir import ModelFile, ModelInfo, write_model_file
from ecqa.modelling.model_errors import one_line, validation_line
from ecqa.modelling.scoring import Batch

VOCABULARY_FILE = "vocabulary.json"
WEIGHTS_FILE = "tfidf.safetensors"
ROWS_AT_ONCE = 4096


class Vocabulary(BaseModel):
    """Terms in the order of the features, and the settings of the vectoriser."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    terms: tuple[str, ...]
    max_ngram: int = 2
    sublinear: bool = True


class TfidfWeights:
    """idf [features], weight [labels, features], bias [labels]."""

    def __init__(self, idf: NDArray[np.float32], weight: NDArray[np.float32], bias: NDArray[np.float32]) -> None:
        self.idf = idf
        self.weight = weight
        self.bias = bias


class TfidfEncoder:
    """Question and answer, joined by a blank, to feature indices and L2-normalised weights."""

    def __init__(self, info: ModelInfo) -> None:
        vocabulary, weights = read_tfidf(info)
        self.vectorizer = make_vectorizer(vocabulary)
        self.vectorizer.idf_ = weights.idf

    def __call__(self, questions: Sequence[str], answers: Sequence[str]) -> pa.Table:
        """Return the columns of ENCODINGS, one window a pair, ``pair`` in place of pair_id."""
        joined = [join_pair(question, answer) for question, answer in zip(questions, answers, strict=True)]
        rows = self.vectorizer.transform(joined) if joined else None
        count = len(joined)
        offsets = np.zeros(1, np.int32) if rows is None else rows.indptr.astype(np.int32)
        indices = np.empty(0, np.int32) if rows is None else rows.indices.astype(np.int32)
        values = np.empty(0, np.float32) if rows is None else rows.data.astype(np.float32)
        return pa.table(
            {
                "pair": pa.array(np.arange(count)),
                "window": pa.array(np.zeros(count, np.int32)),
                "num_windows": pa.array(np.ones(count, np.int32)),
                "input_ids": pa.ListArray.from_arrays(offsets, indices),
                "values": pa.ListArray.from_arrays(offsets, values),
                "weight": pa.array(np.ones(count, np.float32)),
                "num_tokens": pa.array(np.diff(offsets).astype(np.int32)),
                "truncated": pa.array(np.zeros(count, np.bool_)),
            }
        )


class TfidfScorer:
    """Sparse rows of ENCODINGS to logits."""

    def __init__(self, info: ModelInfo) -> None:
        _, weights = read_tfidf(info)
        self.weight = np.ascontiguousarray(weights.weight.T)
        self.bias = weights.bias

    def __call__(self, encodings: pa.Table) -> tuple[NDArray[np.float32], list[Batch]]:
        """Return logits [pairs, labels]; a batch is a run of rows, its tokens are the non-zero features."""
        from scipy.sparse import csr_matrix

        parts, batches = [np.empty((0, len(self.bias)), np.float32)], []
        for start in range(0, encodings.num_rows, ROWS_AT_ONCE):
            chunk = encodings.slice(start, ROWS_AT_ONCE)
            lists, values = chunk["input_ids"].combine_chunks(), chunk["values"].combine_chunks()
            indices, data = lists.flatten().to_numpy(), values.flatten().to_numpy()
            offsets = lists.offsets.to_numpy() - lists.offsets[0].as_py()
            rows = csr_matrix((data, indices, offsets), shape=(chunk.num_rows, len(self.weight)))
            parts.append(np.asarray(rows @ self.weight + self.bias, np.float32))
            batches.append(Batch(chunk.num_rows, len(indices), len(indices)))
        return np.concatenate(parts), batches


def join_pair(question: str, answer: str) -> str:
    """The one text of a pair that terms are taken from."""
    return f"{question} {answer}"


def make_vectorizer(vocabulary: Vocabulary | None = None, **settings: Any) -> Any:
    """A scikit-learn vectoriser: of a vocabulary, or with ``settings`` to be fitted."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    if vocabulary is not None:
        settings = {"vocabulary": list(vocabulary.terms), "ngram_range": (1, vocabulary.max_ngram)}
        settings["sublinear_tf"] = vocabulary.sublinear
    return TfidfVectorizer(dtype=np.float32, **settings)


def read_tfidf(info: ModelInfo) -> tuple[Vocabulary, TfidfWeights]:
    """Read a TF-IDF directory. Raises ModelError when a file is broken or the two do not fit."""
    file = info.path / VOCABULARY_FILE
    try:
        vocabulary = Vocabulary.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise ModelError(f"model file {file}: {validation_line(error)}") from error
    file = info.path / WEIGHTS_FILE
    try:
        tensors = load_file(file)
        weights = TfidfWeights(tensors["idf"], tensors["weight"].astype(np.float32), tensors["bias"])
    except KeyError as error:
        raise ModelError(f"model file {file}: tensor {error.args[0]} is missing") from error
    except (OSError, SafetensorError) as error:
        raise ModelError(f"model file {file}: {one_line(error)}") from error
    num_labels = sum(len(label_set.labels) for label_set in info.label_sets)
    num_terms = len(vocabulary.terms)
    for name, expected in {"weight": (num_labels, num_terms), "idf": (num_terms,), "bias": (num_labels,)}.items():
        if tensors[name].shape != expected:
            raise ModelError(f"model file {file}: tensor {name} is {tensors[name].shape}, expected {expected}")
    return vocabulary, weights


def write_tfidf(path: Path, content: ModelFile, vocabulary: Vocabulary, weights: TfidfWeights) -> None:
    """Write a TF-IDF model directory."""
    path.mkdir(parents=True, exist_ok=True)
    text = json.dumps(vocabulary.model_dump(mode="json"), ensure_ascii=False)
    (path / VOCABULARY_FILE).write_text(text + "\n", encoding="utf-8")
    tensors = {"idf": weights.idf, "weight": weights.weight, "bias": weights.bias}
    save_file({name: np.ascontiguousarray(value, np.float32) for name, value in tensors.items()}, path / WEIGHTS_FILE)
    write_model_file(path, content)

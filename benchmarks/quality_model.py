"""Quality of a model on the SubjECTive-QA test split, with majority class and TF-IDF beside.

    python benchmarks/quality_model.py --model default --data ../shared/data [--json]

Every figure is measured through EncodeTransform and ScoreTransform, on the weights as they are stored. Features: weighted
and macro-F1 x 100 on test_5768.csv. Evasion: macro-F1 x 100 on dev_108.csv, whose labels are a model's (Eva-4B), in
repeated stratified five-fold cross-validation of the head alone (the encoder never saw those pairs).
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecqa.core.taxonomy import LabelSet, load_taxonomy
from ecqa.modelling.encoding import EncodeConfig, EncodeTransform
from ecqa.modelling.head_fitting import fit_head, fit_scaled_head
from ecqa.modelling.model_dir import Head, ModelInfo, load_model_info
from ecqa.modelling.scoring import ScoreConfig, ScoreTransform
from ecqa.modelling.tfidf import join_pair, make_vectorizer
from ecqa.modelling.tfidf_training import TfidfConfig, fit_tfidf
from ecqa.modelling.training_data import LabelledPairs, read_labelled_pairs

FEATURES = load_taxonomy("subjectivity-v1").label_sets
EVASION = load_taxonomy("evasion-v1")["evasion"]
CALL = ("ticker", "quarter", "year")
SEED = 5768
FOLDS, REPEATS = 5, 10
Labels = dict[str, NDArray[np.int64]]


def read_features(data: Path, part: str) -> LabelledPairs:
    """Read train_5768.csv or test_5768.csv."""
    return read_labelled_pairs(data / "subjectiveqa" / f"{part}_5768.csv", FEATURES, group_by=CALL)


def read_evasion(data: Path) -> LabelledPairs:
    """Read dev_108.csv."""
    return read_labelled_pairs(data / "evasionbench" / "dev_108.csv", [EVASION], columns={"eva4b_label": "evasion"})


def pair_tables(pairs: LabelledPairs) -> dict[str, pa.Table]:
    """The two input tables of EncodeTransform."""
    ids = [f"pair_{row}" for row in range(len(pairs))]
    texts = {"question": pairs.questions, "answer": pairs.answers}
    filtered = {"exclusion_reason": pa.nulls(len(ids), pa.string()), "scorable": [True] * len(ids)}
    return {"qa_pairs": pa.table({"pair_id": ids, **texts}), "filtered_pairs": pa.table({"pair_id": ids, **filtered})}


def predict(model: str, pairs: LabelledPairs) -> Labels:
    """Most probable label of every label set, as an index."""
    encodings = EncodeTransform(EncodeConfig(model=model))(pair_tables(pairs))
    scorer = ScoreTransform(ScoreConfig(model=model))
    scores = scorer(encodings)["scores"]
    return {
        label_set.name: np.stack([scores[name].to_numpy() for name in label_set.probability_columns], axis=1).argmax(1)
        for label_set in scorer.info.label_sets
    }


def f1_scores(truth: Labels, given: Labels, label_sets: tuple[LabelSet, ...]) -> dict[str, dict[str, float]]:
    """Weighted and macro-F1 x 100 for each label set, and their means."""
    from sklearn.metrics import f1_score

    result = {}
    for label_set in label_sets:
        known = truth[label_set.name] >= 0
        pair = truth[label_set.name][known], given[label_set.name][known]
        places = list(range(len(label_set.labels)))
        result[label_set.name] = {
            kind: 100 * float(f1_score(*pair, average=kind, labels=places, zero_division=0))
            for kind in ("weighted", "macro")
        }
    result["mean"] = {kind: float(np.mean([row[kind] for row in result.values()])) for kind in ("weighted", "macro")}
    return result


def majority(training: LabelledPairs, test: LabelledPairs) -> Labels:
    """The most frequent label of the training part for every test pair."""
    return {
        name: np.full(len(test), np.bincount(values[values >= 0]).argmax()) for name, values in training.labels.items()
    }


def tfidf(training: LabelledPairs, test: LabelledPairs) -> Labels:
    """TF-IDF with balanced logistic regression, fitted on the training part, through ecqa's own TF-IDF backend."""
    heads = tuple(Head(taxonomy="subjectivity-v1", status="validated", label_set=item) for item in FEATURES)
    pairs = list(zip(training.questions, training.answers, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = fit_tfidf(Path(folder) / "tfidf", "tfidf", heads, pairs, training.labels, TfidfConfig())
        return predict(str(path), test)


def feature_quality(model: str, data: Path) -> dict[str, dict[str, dict[str, float]]]:
    """F1 of the model, TF-IDF and the majority class on the test part."""
    training, test = read_features(data, "train"), read_features(data, "test")
    given = {"model": predict(model, test), "tfidf": tfidf(training, test), "majority": majority(training, test)}
    return {name: f1_scores(test.labels, labels, FEATURES) for name, labels in given.items()}


def encoder_features(info: ModelInfo, pairs: LabelledPairs) -> NDArray[np.float32]:
    """Pooled vectors [pairs, hidden] of a stored encoder."""
    from ecqa.modelling.encoder import load_encoder
    from ecqa.modelling.token_encoder import tokenizer_encoder
    from ecqa.modelling.training import EncodedPairs, TrainConfig, pooled_features

    config = TrainConfig(max_tokens=info.max_tokens or 512)
    encoder = tokenizer_encoder(EncodeConfig(), info.path, config.max_tokens)
    return pooled_features(load_encoder(info), EncodedPairs(pairs, encoder, (EVASION,)), config)


def evasion_quality(
    info: ModelInfo, pairs: LabelledPairs, inverse_regularisation: float
) -> dict[str, dict[str, float]]:
    """Cross-validated macro-F1 x 100 of the evasion head, mean and spread over repeats; TF-IDF and majority beside."""
    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold

    labels, features = pairs.labels["evasion"], encoder_features(info, pairs)
    texts = np.array([join_pair(*pair) for pair in zip(pairs.questions, pairs.answers, strict=True)])
    scores: dict[str, list[float]] = {"model": [], "tfidf": [], "majority": []}
    for repeat in range(REPEATS):
        given = {name: np.zeros(len(pairs), np.int64) for name in scores}
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED + repeat)
        for train, test in folds.split(features, labels):
            head = fit_scaled_head(
                features[train], labels[train], 3, inverse_regularisation=inverse_regularisation, seed=SEED
            )
            given["model"][test] = (features[test] @ head[0].T + head[1]).argmax(1)
            vectorizer = make_vectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
            head = fit_head(
                vectorizer.fit_transform(texts[train]), labels[train], 3, inverse_regularisation=1.0, seed=SEED
            )
            given["tfidf"][test] = (vectorizer.transform(texts[test]) @ head[0].T + head[1]).argmax(1)
            given["majority"][test] = np.bincount(labels[train]).argmax()
        for name, values in scores.items():
            values.append(100 * float(f1_score(labels, given[name], average="macro")))
    return {name: {"mean": float(np.mean(v)), "low": min(v), "high": max(v)} for name, v in scores.items()}


def measure(model: str, data: Path) -> dict[str, Any]:
    """All figures of a model directory."""
    info = load_model_info(model)
    result: dict[str, Any] = {"model_version": info.model_version, "features": feature_quality(model, data)}
    about = json.loads((info.path / "ecqa_model.json").read_text(encoding="utf-8"))["about"]
    if info.backend == "encoder" and "evasion_inverse_regularisation" in about:
        pairs = read_evasion(data)
        result["evasion"] = evasion_quality(info, pairs, about["evasion_inverse_regularisation"])
    return result


def feature_table(features: dict[str, dict[str, dict[str, float]]]) -> str:
    """Markdown table: weighted (macro) F1 x 100, one row a predictor."""
    titles = {"model": "this model", "tfidf": "TF-IDF + balanced logistic regression", "majority": "majority class"}
    columns = [label_set.name for label_set in FEATURES] + ["mean"]
    lines = [f"| | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, title in titles.items():
        cells = [
            f"{features[name][column]['weighted']:.1f} ({features[name][column]['macro']:.1f})" for column in columns
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def evasion_table(evasion: dict[str, dict[str, float]]) -> str:
    """Markdown table: cross-validated macro-F1 x 100."""
    titles = {"model": "this head", "tfidf": "TF-IDF + balanced logistic regression", "majority": "majority class"}
    lines = ["| | mean | lowest | highest |", "|---|---|---|---|"]
    for name, title in titles.items():
        row = evasion[name]
        lines.append(f"| {title} | {row['mean']:.1f} | {row['low']:.1f} | {row['high']:.1f} |")
    return "\n".join(lines)


def main() -> int:
    """Print the figures; exit code 1 when a feature's macro-F1 is not above the majority class."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="default")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"{options.data}: absent, nothing measured", file=sys.stderr)
        return 0
    result = measure(options.model, options.data)
    if options.json:
        params = {"model": options.model, "model_version": result["model_version"]}
        print(json.dumps({"params": params, "metrics": result}))
    else:
        print(
            f"{result['model_version']}: weighted (macro) F1 x 100 on test_5768\n\n{feature_table(result['features'])}"
        )
        if "evasion" in result:
            print(f"\nevasion, macro-F1 x 100 over {REPEATS} five-fold runs\n\n{evasion_table(result['evasion'])}")
    features = result["features"]
    below = [
        item.name
        for item in FEATURES
        if features["model"][item.name]["macro"] <= features["majority"][item.name]["macro"]
    ]
    if below:
        print(f"macro-F1 not above the majority class: {', '.join(below)}", file=sys.stderr)
    return 1 if below else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Read a plain Hugging Face sequence-classification checkpoint: config.json to a label set and a length limit.

No torch here. Knows nothing of ecqa's own model directories.
"""

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ecqa.core.errors import ModelError
from ecqa.core.taxonomy import LabelSet
from ecqa.modelling.model_errors import one_line

OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet", "longformer", "ibert", "data2vec-text"}
"""Families whose positions start after the padding index, so they take that many tokens less."""

MAX_TOKENS = 512
"""Cap for checkpoints that allow more: longer pairs are scored in windows."""


@dataclass(frozen=True)
class Checkpoint:
    """A sequence-classification checkpoint seen from outside."""

    name: str
    label_set: LabelSet
    max_tokens: int


def read_checkpoint(model: str, path: Path, label_set: str | None) -> Checkpoint:
    """Describe the checkpoint in ``path``. Raises ModelError when it is none, or has no head."""
    config = read_config(path)
    name = _plain_name(model if not Path(model).is_dir() else path.resolve().name)
    architectures = config.get("architectures") or []
    if not isinstance(architectures, list):
        raise ModelError(f"model file {path / 'config.json'}: architectures must be a list, got {architectures!r}")
    if not any(str(item).endswith("ForSequenceClassification") for item in architectures):
        raise ModelError(
            f"model {model}: {', '.join(map(str, architectures)) or 'the encoder'} has no classification heads and no "
            "ecqa_model.json; train heads on it first, or give a sequence-classification checkpoint"
        )
    if config.get("problem_type") in ("regression", "multi_label_classification"):
        raise ModelError(f"model {model}: problem_type {config['problem_type']} is not one label out of several")
    _require_weights(model, path)
    return Checkpoint(name, _label_set(name, config, label_set or name), longest_input(path, config))


def read_config(path: Path) -> dict[str, Any]:
    """Read ``config.json``. Raises ModelError when it is missing or broken."""
    file = path / "config.json"
    if not file.is_file():
        raise ModelError(f"model directory {path}: neither ecqa_model.json nor config.json is there")
    return _read_object(file)


def _read_object(file: Path) -> dict[str, Any]:
    try:
        config = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"model file {file}: {one_line(error)}") from error
    if not isinstance(config, dict):
        raise ModelError(f"model file {file}: expected an object, got {type(config).__name__}")
    return config


def longest_input(path: Path, config: dict[str, Any]) -> int:
    """Tokens a checkpoint takes: the least of its positions, its tokenizer's limit and 512."""
    limits = [MAX_TOKENS]
    if positions := num_positions(path, config):
        limits.append(positions)
    file = path / "tokenizer_config.json"
    if file.is_file():
        limit = whole_number(file, _read_object(file), "model_max_length")
        limits += [limit] if limit else []
    return min(limits)


def num_positions(path: Path, config: dict[str, Any]) -> int | None:
    """Tokens that the position embeddings of a config allow, None where it does not say."""
    file = path / "config.json"
    positions = whole_number(file, config, "max_position_embeddings")
    if not positions or config.get("model_type") not in sorted(OFFSET_POSITIONS):
        return positions
    return positions - (whole_number(file, config, "pad_token_id") or 0) - 1


def whole_number(file: Path, config: dict[str, Any], name: str) -> int | None:
    """A number of a JSON file, None where it is absent. Raises ModelError when it is something else."""
    value = config.get(name)
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or (isinstance(value, float) and not math.isfinite(value)):
        raise ModelError(f"model file {file}: {name} must be a whole number, got {str(value)[:100]!r}")
    return int(value)


def _require_weights(model: str, path: Path) -> None:
    if not (path / "model.safetensors").is_file() and not (path / "model.safetensors.index.json").is_file():
        raise ModelError(f"model {model}: model.safetensors is missing (pickled weights are not loaded)")
    if not (path / "tokenizer.json").is_file() and not (path / "tokenizer_config.json").is_file():
        raise ModelError(f"model {model}: tokenizer.json is missing; save the tokenizer beside the weights")


def _label_set(checkpoint: str, config: dict[str, Any], name: str) -> LabelSet:
    named = config.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    try:
        labels = [str(named[key]) for key in sorted(named, key=int)]
    except (TypeError, ValueError) as error:
        raise ModelError(f"model {checkpoint}: id2label of config.json must map 0, 1, ... to labels") from error
    plain = [label.removeprefix("LABEL_") for label in labels]
    numeric = plain == [str(index) for index in range(len(plain))]
    labels = plain if numeric else labels
    try:
        return LabelSet(
            name=_plain_name(name),
            numeric=numeric,
            labels=tuple(labels),
            meaning=f"label given by {checkpoint}",
            label_meanings={label: f"{label} as {checkpoint} has it" for label in labels},
        )
    except ValidationError as error:
        raise ModelError(f"model {checkpoint}: its labels do not make a label set: {labels}") from error


def _plain_name(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.rstrip("/").rsplit("/", 1)[-1].lower()).strip("_") or "model"

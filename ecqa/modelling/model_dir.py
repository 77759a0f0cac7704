"""The model directory: what ``ecqa_model.json`` says of a model, and the version its content gives it.

A directory of ours holds an encoder that plain transformers loads (config.json, model.safetensors, tokenizer.json),
heads.safetensors and ecqa_model.json; the backends "tfidf" and "stub" hold their own files beside the latter. A plain
Hugging Face sequence-classification checkpoint is read too. No torch here: the driver reads a model's label sets and
version without loading it.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ecqa.core.errors import ModelError
from ecqa.core.taxonomy import LabelSet
from ecqa.modelling.hf_checkpoint import longest_input, num_positions, read_checkpoint, read_config
from ecqa.modelling.model_errors import validation_line
from ecqa.modelling.model_source import find_model

INFO_FILE = "ecqa_model.json"
HEADS_FILE = "heads.safetensors"
Status = Literal["experimental", "validated"]
Pooling = Literal["mean", "cls"]
Backend = Literal["encoder", "checkpoint", "tfidf", "stub"]

REQUIRED_FILES = {
    "encoder": ("config.json", "model.safetensors", "tokenizer.json", HEADS_FILE),
    "tfidf": ("vocabulary.json", "tfidf.safetensors"),
    "stub": (),
}
VALUE_SUFFIXES = {".json", ".safetensors", ".txt", ".model"}


class Head(BaseModel):
    """One label set that the model predicts: whose it is, and whether its measured quality passed a floor."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    taxonomy: str
    status: Status
    label_set: LabelSet


class ModelFile(BaseModel):
    """Content of ecqa_model.json. ``about`` (base model, licence, training) changes no value and no version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format_version: Literal[1] = 1
    name: str = Field(pattern=r"^[A-Za-z0-9][\w.-]*$")
    backend: Literal["encoder", "tfidf", "stub"]
    heads: tuple[Head, ...] = Field(min_length=1)
    max_tokens: int | None = Field(default=None, ge=8)
    pooling: Pooling = "mean"
    about: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _heads_differ(self) -> "ModelFile":
        names = [head.label_set.name for head in self.heads]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"heads: label set {twice[0]} is there {names.count(twice[0])} times, expected once")
        return self


@dataclass(frozen=True)
class ModelInfo:
    """What the rest of ecqa needs to know of a model.

    model_version: ``<name>@<12 hex digits>`` of the content that changes values. statuses: one a label set, by name.
    max_tokens: longest sequence the model takes, None for models without sequences. path: its local directory.
    """

    name: str
    backend: Backend
    label_sets: tuple[LabelSet, ...]
    statuses: dict[str, str]
    model_version: str
    max_tokens: int | None
    pooling: Pooling
    path: Path


def load_model_info(model: str, label_set: str | None = None) -> ModelInfo:
    """Describe the model "default", of a directory or of a hub id.

    label_set: name for the label set of a plain sequence-classification checkpoint; by default its directory's name.
    Raises ModelError for what is missing, broken or has no heads.
    """
    path = find_model(model)
    if not (path / INFO_FILE).is_file():
        return _checkpoint_info(model, path, label_set)
    content = read_model_file(path)
    require_files(path, REQUIRED_FILES[content.backend])
    return ModelInfo(
        name=content.name,
        backend=content.backend,
        label_sets=tuple(head.label_set for head in content.heads),
        statuses={head.label_set.name: head.status for head in content.heads},
        model_version=f"{content.name}@{_content_hash(path, content.model_dump_json(exclude={'about'}))}",
        max_tokens=_max_tokens(path, content),
        pooling=content.pooling,
        path=path,
    )


def _max_tokens(path: Path, content: ModelFile) -> int | None:
    if content.backend != "encoder":
        return content.max_tokens
    config = read_config(path)
    positions = num_positions(path, config)
    if content.max_tokens and positions and content.max_tokens > positions:
        raise ModelError(
            f"model file {path / INFO_FILE}: max_tokens {content.max_tokens} is more than the {positions} positions of "
            "the encoder's config.json (max_position_embeddings); lower it"
        )
    return content.max_tokens or longest_input(path, config)


def _checkpoint_info(model: str, path: Path, label_set: str | None) -> ModelInfo:
    checkpoint = read_checkpoint(model, path, label_set)
    return ModelInfo(
        name=checkpoint.name,
        backend="checkpoint",
        label_sets=(checkpoint.label_set,),
        statuses={checkpoint.label_set.name: "experimental"},
        model_version=f"{checkpoint.name}@{_content_hash(path, checkpoint.label_set.model_dump_json())}",
        max_tokens=checkpoint.max_tokens,
        pooling="cls",
        path=path,
    )


def read_model_file(path: Path) -> ModelFile:
    """Read ``ecqa_model.json``. Raises ModelError when it is broken."""
    file = path / INFO_FILE
    try:
        return ModelFile.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise ModelError(f"model file {file}: {validation_line(error)}") from error


def write_model_file(path: Path, content: ModelFile) -> None:
    """Write ``ecqa_model.json`` into a directory that exists."""
    text = json.dumps(content.model_dump(mode="json"), indent=1, ensure_ascii=False)
    (path / INFO_FILE).write_text(text + "\n", encoding="utf-8")


def require_files(path: Path, names: tuple[str, ...]) -> None:
    """Raise ModelError that names the first file that is missing or empty."""
    for name in names:
        file = path / name
        if not file.is_file() or not file.stat().st_size:
            raise ModelError(f"model directory {path}: {name} is missing or empty; copy the whole directory again")


def _content_hash(path: Path, described: str) -> str:
    digest = hashlib.sha256(described.encode())
    for file in sorted(path.iterdir()):
        if file.suffix in VALUE_SUFFIXES and file.name != INFO_FILE:
            with file.open("rb") as stream:
                digest.update(f"{file.name}:{hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return digest.hexdigest()[:12]

"""The multi-head encoder as a torch module: token ids to the logits of all label sets; loading and saving it.

One shared encoder, one pooled vector, one linear head a label set, computed as a single matrix product. Knows nothing
of tables and of training.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from ecqa.core.errors import ModelError
from ecqa.core.taxonomy import LabelSet
from ecqa.modelling.model_dir import HEADS_FILE, ModelFile, ModelInfo, Pooling, write_model_file


class MultiHeadEncoder(nn.Module):
    """A transformers encoder with the heads of several label sets side by side."""

    def __init__(self, encoder: nn.Module, label_sets: tuple[LabelSet, ...], pooling: Pooling) -> None:
        super().__init__()
        config: Any = encoder.config
        self.encoder = encoder
        self.label_sets = label_sets
        self.pooling = pooling
        self.pad_id = int(getattr(config, "pad_token_id", None) or 0)
        self.heads = nn.Linear(int(config.hidden_size), sum(len(label_set.labels) for label_set in label_sets))

    def features(
        self,
        input_ids: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Pooled vectors [sequences, hidden]: the mean over real tokens, or the first token."""
        segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        hidden: torch.Tensor = self.encoder(input_ids=input_ids, attention_mask=attention_mask, **segments)[0]
        if self.pooling == "cls":
            return hidden[:, 0]
        if attention_mask is None:
            return hidden.mean(dim=1)
        held = attention_mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * held).sum(dim=1) / held.sum(dim=1)

    def forward(
        self,
        input_ids: torch.Tensor,
        token_type_ids: torch.Tensor | None = None,
        attention_mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Logits [sequences, labels of all label sets in order]."""
        logits: torch.Tensor = self.heads(self.features(input_ids, token_type_ids, attention_mask))
        return logits


class CheckpointClassifier(nn.Module):
    """A sequence-classification checkpoint behind the same call."""

    def __init__(self, classifier: nn.Module) -> None:
        super().__init__()
        config: Any = classifier.config
        self.classifier = classifier
        self.pad_id = int(config.pad_token_id or 0)

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Logits [sequences, labels]."""
        logits: torch.Tensor = self.classifier(**inputs).logits
        return logits


def load_encoder(info: ModelInfo) -> MultiHeadEncoder:
    """Load a directory of ours in float32. Raises ModelError when a file is broken or does not fit."""
    model = MultiHeadEncoder(load_backbone(info.path), info.label_sets, info.pooling)
    file = info.path / HEADS_FILE
    try:
        heads = load_file(file)
        weight = torch.cat([heads[f"{label_set.name}.weight"] for label_set in info.label_sets])
        bias = torch.cat([heads[f"{label_set.name}.bias"] for label_set in info.label_sets])
        model.heads.load_state_dict({"weight": weight.float(), "bias": bias.float()})
    except (KeyError, SafetensorError, RuntimeError) as error:
        raise ModelError(f"model file {file}: {' '.join(str(error).split())}") from error
    return model


def load_backbone(path: Path, **changes: object) -> nn.Module:
    """Load the encoder of a directory in float32, without the pooler that we do not use where its class allows that.

    changes: values of its config to replace. Raises ModelError when it does not load.
    """
    from transformers import AutoConfig, AutoModel

    try:
        config = AutoConfig.from_pretrained(str(path), local_files_only=True, **changes)
        extra = {"add_pooling_layer": False} if config.model_type in {"bert", "roberta", "xlm-roberta"} else {}
        with _quiet_transformers():
            encoder: nn.Module = AutoModel.from_pretrained(
                str(path), config=config, dtype=torch.float32, local_files_only=True, **extra
            )
    except (OSError, ValueError, KeyError, SafetensorError, RuntimeError) as error:
        raise ModelError(f"model directory {path}: its encoder does not load: {_first_line(error)}") from error
    return encoder


def load_checkpoint(info: ModelInfo) -> CheckpointClassifier:
    """Load a sequence-classification checkpoint in float32. Raises ModelError when it does not load."""
    from transformers import AutoModelForSequenceClassification

    try:
        with _quiet_transformers():
            classifier: nn.Module = AutoModelForSequenceClassification.from_pretrained(
                str(info.path), dtype=torch.float32, local_files_only=True
            )
    except (OSError, ValueError, KeyError, SafetensorError, RuntimeError) as error:
        raise ModelError(f"model directory {info.path}: it does not load: {_first_line(error)}") from error
    return CheckpointClassifier(classifier)


def save_encoder(model: MultiHeadEncoder, path: Path, content: ModelFile, tokenizer_from: Path) -> None:
    """Write a model directory with float16 weights; the tokenizer's files are copied."""
    path.mkdir(parents=True, exist_ok=True)
    encoder: Any = model.encoder
    halves = {name: value.half() for name, value in encoder.state_dict().items() if value.is_floating_point()}
    encoder.config.architectures = [type(encoder).__name__]
    encoder.config.dtype = "float16"
    encoder.config.save_pretrained(path)
    _save({name: value.contiguous() for name, value in halves.items()}, path / "model.safetensors")
    _save(_split_heads(model), path / HEADS_FILE)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (tokenizer_from / name).is_file():
            shutil.copyfile(tokenizer_from / name, path / name)
    write_model_file(path, content)


def _save(tensors: dict[str, torch.Tensor], file: Path) -> None:
    save_file(tensors, file, {"format": "pt"})
    file.chmod(0o644)


def _split_heads(model: MultiHeadEncoder) -> dict[str, torch.Tensor]:
    """Heads stay float32: they are small, and the evasion head is fitted apart."""
    sizes = [len(label_set.labels) for label_set in model.label_sets]
    weights, biases = torch.split(model.heads.weight.detach(), sizes), torch.split(model.heads.bias.detach(), sizes)
    tensors = {}
    for label_set, weight, bias in zip(model.label_sets, weights, biases, strict=True):
        tensors[f"{label_set.name}.weight"] = weight.float().contiguous().clone()
        tensors[f"{label_set.name}.bias"] = bias.float().contiguous().clone()
    return tensors


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """No progress bar and no report of unused weights (the pooler) while a model loads."""
    from transformers.utils import logging

    verbosity, had_bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if had_bar:
            logging.enable_progress_bar()


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)

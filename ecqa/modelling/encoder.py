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
from safetensors.torch import load_file, save_file
from torch import nn

from ecqa.core.errors import ModelError
from ecqa.core.taxonomy import LabelSet
from ecqa.modelling.model_dir import HEADS_FILE, ModelFile, ModelInfo, Pooling, write_model_file
from ecqa.modelling.model_errors import load_errors, one_line

LOADING: dict[str, Any] = {
    "dtype": torch.float32,
    "local_files_only": True,
    "trust_remote_code": False,
    "output_loading_info": True,
    "ignore_mismatched_sizes": True,
}
"""How transformers loads weights. Tensors that do not fit are let through there, so that _require_whole can name them."""


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
    weight, bias = _load_heads(info, model.heads.in_features)
    model.heads.load_state_dict({"weight": weight, "bias": bias})
    return model


def _load_heads(info: ModelInfo, num_features: int) -> tuple[torch.Tensor, torch.Tensor]:
    file = info.path / HEADS_FILE
    try:
        tensors = load_file(file)
    except load_errors() as error:
        raise ModelError(f"model file {file}: {one_line(error)}") from error
    weights, biases = [], []
    for label_set in info.label_sets:
        num_labels = len(label_set.labels)
        weights.append(_head_tensor(file, tensors, f"{label_set.name}.weight", (num_labels, num_features)))
        biases.append(_head_tensor(file, tensors, f"{label_set.name}.bias", (num_labels,)))
    return torch.cat(weights), torch.cat(biases)


def _head_tensor(file: Path, tensors: dict[str, torch.Tensor], name: str, shape: tuple[int, ...]) -> torch.Tensor:
    if name not in tensors:
        raise ModelError(f"model file {file}: tensor {name} is missing; copy the whole directory again")
    if tuple(tensors[name].shape) != shape:
        raise ModelError(f"model file {file}: tensor {name} is {tuple(tensors[name].shape)}, expected {shape}")
    return tensors[name].float()


def load_backbone(path: Path, **changes: object) -> nn.Module:
    """Load the encoder of a directory in float32, without the pooler that we do not use where its class allows that.

    changes: values of its config to replace. Raises ModelError when it does not load, or when the weights lack a tensor.
    """
    from transformers import AutoConfig, AutoModel

    try:
        config = AutoConfig.from_pretrained(str(path), local_files_only=True, trust_remote_code=False, **changes)
        extra = {"add_pooling_layer": False} if config.model_type in {"bert", "roberta", "xlm-roberta"} else {}
        with _quiet_transformers():
            encoder, loading = AutoModel.from_pretrained(str(path), config=config, **LOADING, **extra)
    except load_errors() as error:
        raise ModelError(f"model directory {path}: its encoder does not load: {one_line(error)}") from error
    _require_whole(path, loading, unused=("pooler.",))
    loaded: nn.Module = encoder
    return loaded


def load_checkpoint(info: ModelInfo) -> CheckpointClassifier:
    """Load a sequence-classification checkpoint in float32. Raises ModelError when it does not load."""
    from transformers import AutoModelForSequenceClassification

    try:
        with _quiet_transformers():
            classifier, loading = AutoModelForSequenceClassification.from_pretrained(str(info.path), **LOADING)
    except load_errors() as error:
        raise ModelError(f"model directory {info.path}: it does not load: {one_line(error)}") from error
    _require_whole(info.path, loading, unused=())
    return CheckpointClassifier(classifier)


def _require_whole(path: Path, loading: dict[str, Any], unused: tuple[str, ...]) -> None:
    """Raise ModelError where transformers made up a tensor that the model uses.

    loading: what transformers says of the loading. unused: beginnings of tensor names that the model does not use.
    """

    def used(name: str) -> bool:
        return not name.startswith(unused) and not name.endswith("position_ids")

    misfits = sorted(item for item in loading["mismatched_keys"] if used(item[0]))
    if misfits:
        name, held, expected = misfits[0]
        raise ModelError(
            f"model directory {path}: {len(misfits)} tensors of its weights do not fit its config.json, first {name}: "
            f"it is {tuple(held)}, expected {tuple(expected)}; copy the whole directory again"
        )
    missing = sorted(name for name in loading["missing_keys"] if used(name))
    if missing:
        raise ModelError(
            f"model directory {path}: its weights lack {len(missing)} tensors that its config.json asks for, first "
            f"{missing[0]}; copy the whole directory again"
        )


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

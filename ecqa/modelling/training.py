"""Train a multi-head encoder: encoded pairs with labels to weights, one process, one loop.

Loss: for every head the cross-entropy of the pairs that have a label, weighted by class and by the share that a window
has in its pair; heads count alike. The best epoch on the validation pairs is kept. Knows nothing of files and of Ray.
"""

import math
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from ecqa.core.taxonomy import LabelSet
from ecqa.modelling.batching import token_batches
from ecqa.modelling.encoder import MultiHeadEncoder
from ecqa.modelling.encoder_scorer import TokenRows
from ecqa.modelling.scoring import pair_starts, pool_windows, softmax
from ecqa.modelling.token_encoder import TokenEncoder
from ecqa.modelling.training_data import LabelledPairs

CHUNK_BATCHES = 12
"""Batches' worth of shuffled windows that are sorted by length together: little padding, yet every epoch other batches."""


class TrainConfig(BaseModel):
    """One training run; everything that changes the weights.

    epochs: the learning rate falls to 0 over them. patience: epochs without a better validation macro-F1 before it stops.
    class_weights: "balanced" is n / (classes x count), "inverse_sqrt" its square root, both scaled to a mean of 1 a pair.
    frozen_layers: the embeddings and so many lowest layers stay as they are; None trains everything.
    batch_tokens: computed tokens of a batch. precision: of the matrix products; weights stay float32.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_tokens: int = Field(default=512, ge=8)
    pooling: Literal["mean", "cls"] = "mean"
    epochs: int = Field(default=5, ge=1)
    patience: int = Field(default=2, ge=1)
    batch_tokens: int = Field(default=4096, ge=8)
    learning_rate: float = Field(default=5e-5, gt=0)
    head_learning_rate: float = Field(default=1e-3, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    warmup_share: float = Field(default=0.1, ge=0, lt=1)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    frozen_layers: int | None = Field(default=0, ge=0)
    class_weights: Literal["none", "inverse_sqrt", "balanced"] = "inverse_sqrt"
    validation_share: float = Field(default=0.15, gt=0, lt=1)
    precision: Literal["float32", "bfloat16"] = "float32"
    seed: int = 5768


class EncodedPairs:
    """Windows of labelled pairs, ready for batches: labels and weights are repeated for each window."""

    def __init__(self, pairs: LabelledPairs, encoder: TokenEncoder, label_sets: tuple[LabelSet, ...]) -> None:
        self.windows: pa.Table = encoder(pairs.questions, pairs.answers)
        self.rows = TokenRows(self.windows)
        self.labels = np.stack([pairs.labels[label_set.name] for label_set in label_sets], axis=1)
        self.pair = self.windows["pair"].to_numpy()
        self.weights = self.windows["weight"].to_numpy()
        self.starts = pair_starts(self.windows)


class EpochResult(BaseModel):
    """What one epoch came to. macro_f1: on the validation pairs, for each label set, 0 to 1; empty without them."""

    epoch: int
    train_loss: float
    macro_f1: dict[str, float]
    seconds: float

    @property
    def mean_macro_f1(self) -> float:
        """Mean over label sets, 0 without validation pairs."""
        return float(np.mean(list(self.macro_f1.values()))) if self.macro_f1 else 0.0


def train(
    model: MultiHeadEncoder,
    training: EncodedPairs,
    validation: EncodedPairs | None,
    config: TrainConfig,
    on_epoch: Callable[[EpochResult], None] = lambda result: None,
) -> list[EpochResult]:
    """Train in place and leave the best epoch's weights in the model (the last one's without validation pairs)."""
    torch.manual_seed(config.seed)
    generator = np.random.default_rng(config.seed)
    steps = [epoch_batches(training.rows.lengths, config, generator) for _ in range(config.epochs)]
    optimizer, schedule = make_optimizer(model, config, sum(map(len, steps)))
    class_weights = make_class_weights(training.labels, model.label_sets, config.class_weights)
    history: list[EpochResult] = []
    best: tuple[float, dict[str, torch.Tensor]] = (-1.0, {})
    for epoch, batches in enumerate(steps, start=1):
        started = time.perf_counter()
        loss = _train_epoch(model, training, batches, class_weights, optimizer, schedule, config)
        scores = {} if validation is None else macro_f1(model, validation, config)
        history.append(
            EpochResult(epoch=epoch, train_loss=loss, macro_f1=scores, seconds=time.perf_counter() - started)
        )
        on_epoch(history[-1])
        if validation is not None and history[-1].mean_macro_f1 > best[0]:
            best = history[-1].mean_macro_f1, {name: value.clone() for name, value in model.state_dict().items()}
        if validation is not None and _stalled(history, config.patience):
            break
    if best[1]:
        model.load_state_dict(best[1])
    return history


def _stalled(history: list[EpochResult], patience: int) -> bool:
    best = max(range(len(history)), key=lambda index: history[index].mean_macro_f1)
    return len(history) - 1 - best >= patience


def _train_epoch(
    model: MultiHeadEncoder,
    data: EncodedPairs,
    batches: list[NDArray[np.int64]],
    class_weights: list[torch.Tensor],
    optimizer: torch.optim.Optimizer,
    schedule: Any,
    config: TrainConfig,
) -> float:
    model.train()
    losses = []
    for rows in batches:
        inputs, _ = data.rows.batch(rows, model.pad_id)
        with torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bfloat16"):
            features = model.features(**inputs)
        logits = model.heads(nn.functional.dropout(features.float(), config.dropout))
        labels = torch.from_numpy(data.labels[data.pair[rows]])
        loss = multi_head_loss(logits, labels, torch.from_numpy(data.weights[rows]), class_weights)
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return float(np.mean(losses))


def multi_head_loss(
    logits: torch.Tensor, labels: torch.Tensor, window_weights: torch.Tensor, class_weights: list[torch.Tensor]
) -> torch.Tensor:
    """Mean over heads of the weighted cross-entropy; a label of -1 counts nothing, a head without labels counts 0.

    logits [windows, all labels], labels [windows, heads], window_weights [windows], class_weights one vector a head.
    """
    total = logits.new_zeros(())
    parts = torch.split(logits, [len(weights) for weights in class_weights], dim=1)
    for head, (part, weights) in enumerate(zip(parts, class_weights, strict=True)):
        known = labels[:, head] >= 0
        if not known.any():
            continue
        target = labels[known, head]
        share = window_weights[known] * weights[target]
        total = total + (nn.functional.cross_entropy(part[known], target, reduction="none") * share).sum() / share.sum()
    return total / len(class_weights)


def make_class_weights(labels: NDArray[np.int64], label_sets: tuple[LabelSet, ...], kind: str) -> list[torch.Tensor]:
    """Weight of every label of every head by its count among the labels that are there."""
    result = []
    for head, label_set in enumerate(label_sets):
        known = labels[labels[:, head] >= 0, head]
        counts = np.maximum(np.bincount(known, minlength=len(label_set.labels)), 1)
        balanced = counts.sum() / (len(counts) * counts)
        weights = {"none": np.ones(len(counts)), "inverse_sqrt": np.sqrt(balanced), "balanced": balanced}[kind]
        weights = weights * counts.sum() / (weights * counts).sum()
        result.append(torch.tensor(weights, dtype=torch.float32))
    return result


def epoch_batches(
    lengths: NDArray[np.int64], config: TrainConfig, generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Batches of one epoch: shuffled, sorted by length within chunks, cut by the token budget, shuffled again."""
    order = generator.permutation(len(lengths))
    per_chunk = max(1, int(CHUNK_BATCHES * config.batch_tokens / max(lengths.mean(), 1)))
    batches = [
        order[start : start + per_chunk][batch]
        for start in range(0, len(order), per_chunk)
        for batch in token_batches(lengths[order[start : start + per_chunk]], config.batch_tokens, 0.2)
    ]
    return [batches[index] for index in generator.permutation(len(batches))]


def make_optimizer(model: MultiHeadEncoder, config: TrainConfig, num_steps: int) -> tuple[torch.optim.Optimizer, Any]:
    """AdamW without decay on biases and norms, a rate of its own for the heads; linear warm-up, then cosine to 0."""

    def is_plain(name: str, value: torch.Tensor) -> bool:
        return value.ndim < 2 or "LayerNorm" in name

    for name, value in model.encoder.named_parameters():
        value.requires_grad_(not is_frozen(name, config.frozen_layers))
    encoder = [(name, value) for name, value in model.encoder.named_parameters() if value.requires_grad]
    groups = [
        {"params": [v for n, v in encoder if not is_plain(n, v)], "weight_decay": config.weight_decay},
        {"params": [v for n, v in encoder if is_plain(n, v)], "weight_decay": 0.0},
        {"params": list(model.heads.parameters()), "weight_decay": 0.0, "lr": config.head_learning_rate},
    ]
    optimizer = torch.optim.AdamW(groups, lr=config.learning_rate)
    warmup = max(1, int(config.warmup_share * num_steps))

    def rate(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / max(1, num_steps - warmup))))

    return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, rate)


def is_frozen(name: str, frozen_layers: int | None) -> bool:
    """Whether an encoder's parameter (``embeddings...`` or ``encoder.layer.3...``) stays as it is."""
    if frozen_layers is None:
        return False
    layer = re.match(r"(?:\w+\.)*layers?\.(\d+)\.", name)
    return name.startswith("embeddings.") or (layer is not None and int(layer[1]) < frozen_layers)


def predict(model: MultiHeadEncoder, data: EncodedPairs, config: TrainConfig) -> dict[str, NDArray[np.float32]]:
    """Pooled probabilities [pairs, labels] of every label set."""
    logits = _by_window(data, config, lambda inputs: model(**inputs), model)
    result, offset = {}, 0
    for label_set in model.label_sets:
        part = logits[:, offset : offset + len(label_set.labels)]
        result[label_set.name] = pool_windows(softmax(part), data.weights, data.starts)
        offset += len(label_set.labels)
    return result


def predict_logits(model: MultiHeadEncoder, data: EncodedPairs, config: TrainConfig) -> NDArray[np.float32]:
    """Logits [pairs, labels of all label sets]; those of a pair's windows are averaged by weight."""
    return _mean_of_windows(_by_window(data, config, lambda inputs: model(**inputs), model), data)


def pooled_features(model: MultiHeadEncoder, data: EncodedPairs, config: TrainConfig) -> NDArray[np.float32]:
    """Pooled vectors [pairs, hidden]; those of a pair's windows are averaged by weight."""
    return _mean_of_windows(_by_window(data, config, lambda inputs: model.features(**inputs), model), data)


def _mean_of_windows(values: NDArray[np.float32], data: EncodedPairs) -> NDArray[np.float32]:
    return np.asarray(np.add.reduceat(values * data.weights[:, None], data.starts, axis=0), np.float32)


def _by_window(
    data: EncodedPairs,
    config: TrainConfig,
    compute: Callable[[dict[str, torch.Tensor]], torch.Tensor],
    model: MultiHeadEncoder,
) -> NDArray[np.float32]:
    model.eval()
    order: list[NDArray[np.int64]] = []
    parts: list[NDArray[np.float32]] = []
    with torch.inference_mode():
        for rows, inputs in _evaluation_batches(data, config, model.pad_id):
            order.append(rows)
            parts.append(compute(inputs).float().numpy())
    result = np.empty((len(data.pair), parts[0].shape[1]), np.float32)
    result[np.concatenate(order)] = np.concatenate(parts)
    return result


def _evaluation_batches(
    data: EncodedPairs, config: TrainConfig, pad_id: int
) -> Iterator[tuple[NDArray[np.int64], dict[str, torch.Tensor]]]:
    for rows in token_batches(data.rows.lengths, config.batch_tokens, 0.05):
        yield rows, data.rows.batch(rows, pad_id)[0]


def macro_f1(model: MultiHeadEncoder, data: EncodedPairs, config: TrainConfig) -> dict[str, float]:
    """Macro-F1 of the most probable label for each label set that has labels."""
    from sklearn.metrics import f1_score

    result = {}
    for head, (name, probabilities) in enumerate(predict(model, data, config).items()):
        known = data.labels[:, head] >= 0
        if known.any():
            truth, given = data.labels[known, head], probabilities.argmax(axis=1)[known]
            places = list(range(probabilities.shape[1]))
            result[name] = float(f1_score(truth, given, average="macro", labels=places, zero_division=0))
    return result

from pathlib import Path

import numpy as np
import pytest
import torch

from ecqa.modelling.encoding import EncodeConfig
from ecqa.modelling.token_encoder import tokenizer_encoder
from ecqa.modelling.training import (
    EncodedPairs,
    TrainConfig,
    epoch_batches,
    is_frozen,
    macro_f1,
    make_class_weights,
    multi_head_loss,
    pooled_features,
    predict,
    predict_logits,
    train,
)
from ecqa.modelling.training_data import LabelledPairs
from tests.modelling import tiny

CONFIG = TrainConfig(
    max_tokens=32, epochs=6, patience=6, batch_tokens=256, learning_rate=3e-3, head_learning_rate=1e-2, dropout=0.0
)  # fmt: skip


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> EncodedPairs:
    """Answers that say yes are clear and direct, those that say no are neither; half the evasion labels are missing."""
    generator = np.random.default_rng(0)
    clear = generator.choice([0, 2], 120)
    filler = [" ".join(generator.choice(tiny.WORDS[:8], generator.integers(2, 40))) for _ in clear]
    answers = tuple(f"{'yes' if label else 'no'} {text}" for label, text in zip(clear, filler, strict=True))
    evasion = np.where(np.arange(120) % 2, -1, 2 - clear)
    groups = tuple(map(str, range(120)))
    pairs = LabelledPairs(("how did it do ?",) * 120, answers, {"clear": clear, "evasion": evasion}, groups)
    path = tiny.write_tokenizer(tmp_path_factory.mktemp("training") / "t")
    (path / "config.json").write_text('{"type_vocab_size": 2}')
    return EncodedPairs(pairs, tokenizer_encoder(EncodeConfig(), path, 32), tiny.label_sets())


def test_training_lowers_the_loss_and_learns(toy: EncodedPairs) -> None:
    model = tiny.new_encoder()
    history = train(model, toy, toy, CONFIG)
    assert history[-1].train_loss < 0.5 * history[0].train_loss
    scores = macro_f1(model, toy, CONFIG)
    assert scores == pytest.approx(max(history, key=lambda result: result.mean_macro_f1).macro_f1)
    assert scores["clear"] > 0.55


def test_the_same_seed_gives_the_same_weights(toy: EncodedPairs) -> None:
    config = CONFIG.model_copy(update={"epochs": 1})
    first, second = tiny.new_encoder(), tiny.new_encoder()
    train(first, toy, None, config)
    train(second, toy, None, config)
    assert torch.equal(first.heads.weight, second.heads.weight)


def test_it_stops_when_validation_does_not_get_better(toy: EncodedPairs) -> None:
    config = CONFIG.model_copy(update={"learning_rate": 1e-9, "head_learning_rate": 1e-9, "patience": 1})
    assert len(train(tiny.new_encoder(), toy, toy, config)) == 2


def test_missing_labels_give_no_gradient() -> None:
    logits = torch.randn(4, 6, requires_grad=True)
    labels = torch.tensor([[0, -1], [2, -1], [1, -1], [-1, -1]])
    loss = multi_head_loss(logits, labels, torch.ones(4), [torch.ones(3), torch.ones(3)])
    loss.backward()
    assert logits.grad is not None
    assert not logits.grad[:, 3:].any()
    assert not logits.grad[3].any()
    assert logits.grad[0, :3].any()


def test_loss_is_the_weighted_mean_over_heads() -> None:
    logits, labels = torch.randn(5, 3), torch.tensor([[0], [1], [2], [1], [0]])
    windows = torch.tensor([1.0, 0.5, 0.5, 1.0, 1.0])
    weights = torch.tensor([1.0, 2.0, 4.0])
    each = torch.nn.functional.cross_entropy(logits, labels[:, 0], reduction="none")
    share = windows * weights[labels[:, 0]]
    assert multi_head_loss(logits, labels, windows, [weights]) == pytest.approx(
        float((each * share).sum() / share.sum())
    )


@pytest.mark.parametrize("kind", ["none", "inverse_sqrt", "balanced"])
def test_class_weights_count_one_a_pair_on_average(kind: str) -> None:
    labels = np.array([[2, 0]] * 8 + [[0, -1]] * 2 + [[1, 1]] * 2)
    clear, _ = make_class_weights(labels, tiny.label_sets(), kind)
    assert float((clear * torch.tensor([2, 2, 8])).sum()) / 12 == pytest.approx(1)
    assert float(clear[0] / clear[2]) == pytest.approx({"none": 1, "inverse_sqrt": 2, "balanced": 4}[kind])


def test_an_epoch_holds_every_window_once() -> None:
    lengths = np.random.default_rng(0).integers(5, 32, 300)
    batches = epoch_batches(lengths, CONFIG, np.random.default_rng(1))
    assert sorted(np.concatenate(batches).tolist()) == list(range(300))
    assert any(
        not np.array_equal(a, b)
        for a, b in zip(batches, epoch_batches(lengths, CONFIG, np.random.default_rng(2)), strict=False)
    )


def test_frozen_parts_stay(toy: EncodedPairs) -> None:
    model = tiny.new_encoder()
    before = {name: value.clone() for name, value in model.encoder.named_parameters()}
    train(model, toy, None, CONFIG.model_copy(update={"epochs": 1, "frozen_layers": 1}))
    same = {name for name, value in model.encoder.named_parameters() if torch.equal(value, before[name])}
    assert same == {name for name in before if name.startswith(("embeddings.", "encoder.layer.0."))}
    assert not is_frozen("embeddings.word_embeddings.weight", None)
    assert is_frozen("transformer.layer.3.attention.q_lin.weight", 4)


def test_predictions_are_one_a_pair_in_order(toy: EncodedPairs, tmp_path: Path) -> None:
    model = tiny.new_encoder()
    assert predict(model, toy, CONFIG)["evasion"].shape == (120, 3)
    assert predict_logits(model, toy, CONFIG).shape == (120, 6)
    assert pooled_features(model, toy, CONFIG).shape == (120, 32)

import numpy as np
import torch

from ecqa.modelling.prior_shift import choose_shift, log_priors, shift_bias
from tests.modelling import tiny


def test_priors_count_what_is_there() -> None:
    labels = np.array([[0, 0], [2, -1], [2, 1], [-1, 1]])
    clear, evasion = log_priors(labels, tiny.label_sets())
    assert np.allclose(np.exp(clear), [2 / 6, 1 / 6, 3 / 6])
    assert np.allclose(np.exp(evasion), [2 / 6, 3 / 6, 1 / 6])


def test_a_shift_that_finds_the_rare_label_is_chosen_and_folded_in() -> None:
    labels = np.array([[0]] * 18 + [[1]] * 2)
    priors = log_priors(labels, tiny.label_sets()[:1])
    logits = np.array([[2.0, 0.0, -9.0]] * 18 + [[1.0, 0.5, -9.0]] * 2, np.float32)
    chosen = choose_shift(logits, labels, priors, (0.0, 0.5, 1.0))
    assert chosen.shift == 0.5
    bias = torch.zeros(3)
    shift_bias(bias, priors, chosen.shift)
    assert (logits + bias.numpy()).argmax(axis=1).tolist() == labels[:, 0].tolist()


def test_the_earliest_of_equals_is_chosen() -> None:
    labels = np.array([[0], [1], [2]])
    logits = np.eye(3, dtype=np.float32) * 9
    assert choose_shift(logits, labels, log_priors(labels, tiny.label_sets()[:1]), (0.0, 0.3)).shift == 0.0

"""Shift a head's logits by a share of the training labels' log prior: one number for all heads, chosen on validation.

Class weights in the loss and macro-F1 ask for different operating points; one scalar moves between them without another
training run (logit adjustment, Menon et al. 2021, arXiv 2007.07314: logits - shift x log prior). Knows nothing of the
encoder.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ecqa.core.taxonomy import LabelSet


class Shift(NamedTuple):
    """A chosen shift and the validation macro-F1 (0 to 1, mean over heads) that it comes to."""

    shift: float
    macro_f1: float


def log_priors(labels: NDArray[np.int64], label_sets: Sequence[LabelSet]) -> list[NDArray[np.float64]]:
    """Log share of every label for every head, by the labels [pairs, heads] that are not -1; counts start at one."""
    result = []
    for head, label_set in enumerate(label_sets):
        known = labels[labels[:, head] >= 0, head]
        counts = np.bincount(known, minlength=len(label_set.labels)) + 1
        result.append(np.log(counts / counts.sum()))
    return result


def choose_shift(
    logits: NDArray[np.float32],
    labels: NDArray[np.int64],
    priors: Sequence[NDArray[np.float64]],
    candidates: Sequence[float],
) -> Shift:
    """The candidate with the best mean macro-F1; the earliest of equals. logits [pairs, all labels]."""
    scored = [Shift(shift, _mean_macro_f1(logits, labels, priors, shift)) for shift in candidates]
    return max(scored, key=lambda item: item.macro_f1)


def _mean_macro_f1(
    logits: NDArray[np.float32], labels: NDArray[np.int64], priors: Sequence[NDArray[np.float64]], shift: float
) -> float:
    from sklearn.metrics import f1_score

    scores, offset = [], 0
    for head, prior in enumerate(priors):
        part = logits[:, offset : offset + len(prior)] - shift * prior
        offset += len(prior)
        known = labels[:, head] >= 0
        places = list(range(len(prior)))
        given = part.argmax(axis=1)[known]
        scores.append(f1_score(labels[known, head], given, average="macro", labels=places, zero_division=0))
    return float(np.mean(scores))


def shift_bias(bias: torch.Tensor, priors: Sequence[NDArray[np.float64]], shift: float) -> None:
    """Fold the shift into the bias of the heads, in place."""
    with torch.no_grad():
        bias -= shift * torch.from_numpy(np.concatenate(priors)).to(bias.dtype)

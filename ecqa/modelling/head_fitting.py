"""Fit one linear head on fixed features by logistic regression: features and labels to weight and bias.

Used by the TF-IDF backend on sparse rows and for a head on the pooled vectors of an encoder that is not trained further.
Knows nothing of where features come from.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ABSENT_BIAS = -30.0
"""Logit of a label that no training row has."""

Head = tuple[NDArray[np.float32], NDArray[np.float32]]


def fit_head(
    rows: Any, labels: NDArray[np.int64], num_labels: int, *, inverse_regularisation: float, seed: int
) -> Head:
    """Balanced logistic regression on rows whose label is not -1; return weight [labels, features] and bias [labels].

    rows: dense or sparse matrix [pairs, features].
    """
    from sklearn.linear_model import LogisticRegression

    known = np.flatnonzero(labels >= 0)
    model = LogisticRegression(C=inverse_regularisation, class_weight="balanced", max_iter=3000, random_state=seed).fit(
        rows[known], labels[known]
    )
    coefficients, intercepts = model.coef_, model.intercept_
    if len(model.classes_) == 2:
        coefficients = np.concatenate([-coefficients / 2, coefficients / 2])
        intercepts = np.concatenate([-intercepts / 2, intercepts / 2])
    weight = np.zeros((num_labels, coefficients.shape[1]), np.float32)
    bias = np.full(num_labels, ABSENT_BIAS, np.float32)
    weight[model.classes_], bias[model.classes_] = coefficients, intercepts
    return weight, bias


def fit_scaled_head(
    rows: NDArray[np.float32], labels: NDArray[np.int64], num_labels: int, *, inverse_regularisation: float, seed: int
) -> Head:
    """The same on standardised dense features, with the scaling folded into weight and bias."""
    mean, scale = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    weight, bias = fit_head(
        (rows - mean) / scale, labels, num_labels, inverse_regularisation=inverse_regularisation, seed=seed
    )
    weight = weight / scale
    return weight, np.asarray(bias - weight @ mean, np.float32)

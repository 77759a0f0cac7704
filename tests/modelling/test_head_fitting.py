import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ecqa.modelling.head_fitting import fit_head, fit_scaled_head


@pytest.mark.parametrize("num_labels", [2, 3])
def test_softmax_of_the_head_is_the_regression(num_labels: int) -> None:
    generator = np.random.default_rng(1)
    rows, labels = generator.normal(size=(60, 5)), generator.integers(0, num_labels, 60)
    weight, bias = fit_head(rows, labels, num_labels, inverse_regularisation=1.0, seed=0)
    powers = np.exp(rows @ weight.T + bias)
    model = LogisticRegression(class_weight="balanced", max_iter=3000).fit(rows, labels)
    assert np.allclose(powers / powers.sum(axis=1, keepdims=True), model.predict_proba(rows), atol=1e-3)


def test_missing_labels_are_left_out() -> None:
    rows = np.array([[0.0], [1.0], [50.0], [0.1], [0.9]])
    labels = np.array([0, 1, -1, 0, 1])
    weight, bias = fit_head(rows, labels, 2, inverse_regularisation=100.0, seed=0)
    assert (rows[[0, 1]] @ weight.T + bias).argmax(axis=1).tolist() == [0, 1]


def test_scaling_is_folded_in() -> None:
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(90, 4)).astype(np.float32) * np.array([1, 1000, 0.001, 1], np.float32) + 7
    scaled = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    labels = np.stack([scaled[:, 1], scaled[:, 2], -scaled[:, 1] - scaled[:, 2]], axis=1).argmax(axis=1)
    weight, bias = fit_scaled_head(rows, labels, 3, inverse_regularisation=10.0, seed=0)
    assert ((rows @ weight.T + bias).argmax(axis=1) == labels).mean() > 0.9

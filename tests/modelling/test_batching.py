import numpy as np
import pytest

from ecqa.modelling.batching import token_batches


@pytest.mark.parametrize(("budget", "padding"), [(512, 0.05), (4096, 0.05), (1, 0.0), (10_000, 1.0)])
def test_every_row_once_within_budget_and_padding(budget: int, padding: float) -> None:
    lengths = np.random.default_rng(3).integers(3, 512, 500)
    batches = list(token_batches(lengths, budget, padding))
    assert sorted(np.concatenate(batches).tolist()) == list(range(500))
    for rows in batches:
        computed = len(rows) * lengths[rows].max()
        assert len(rows) == 1 or computed <= budget
        assert computed - lengths[rows].sum() <= padding * computed


def test_nothing_gives_no_batch() -> None:
    assert list(token_batches(np.empty(0, np.int64), 100, 0.05)) == []

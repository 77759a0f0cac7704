"""Fill batches from a length-sorted window by a token budget: lengths in, index arrays out.

A batch takes sequences as long as sequences x longest stays within the budget and the padding within its share, so the
padding of a whole shard is bounded by construction. One sequence longer than the budget is a batch of its own. Knows
nothing of models.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def token_batches(lengths: NDArray[np.int64], batch_tokens: int, max_padding: float) -> Iterator[NDArray[np.int64]]:
    """Yield arrays of positions in ``lengths``, longest sequences first, each position exactly once.

    max_padding: highest share of a batch's computed tokens that may be padding, 0 to 1.
    """
    order = np.argsort(-lengths, kind="stable")
    ordered = lengths[order].tolist()
    start = 0
    while start < len(ordered):
        stop = _fill(ordered, start, batch_tokens, max_padding)
        yield order[start:stop]
        start = stop


def _fill(ordered: list[int], start: int, batch_tokens: int, max_padding: float) -> int:
    longest, num_tokens = ordered[start], ordered[start]
    stop = start + 1
    while stop < len(ordered):
        computed = (stop - start + 1) * longest
        num_tokens += ordered[stop]
        if computed > batch_tokens or computed - num_tokens > max_padding * computed:
            break
        stop += 1
    return stop

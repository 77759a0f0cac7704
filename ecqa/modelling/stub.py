"""The stub model: pseudo-probabilities from a hash of the tokens, without torch. For tests and memory benchmarks.

It goes through the same tables, windows and pooling as a real model. Knows nothing of language.
"""

import itertools
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecqa.core.taxonomy import load_taxonomy
from ecqa.modelling.batching import token_batches
from ecqa.modelling.model_dir import Head, ModelFile, ModelInfo, write_model_file
from ecqa.modelling.scoring import Batch
from ecqa.modelling.token_encoder import Ids, PairTemplate, TokenEncoder, window_limits

if TYPE_CHECKING:
    from ecqa.modelling.encoding import EncodeConfig

WORD = re.compile(r"\w+|[^\w\s]")
TAXONOMIES = ("subjectivity-v1", "evasion-v1")
BATCH_TOKENS, MAX_PADDING = 8192, 0.05


def stub_encoder(config: "EncodeConfig", longest: int) -> TokenEncoder:
    """Words as tokens, their CRC-32 as ids, in the template of BERT."""
    middle, suffix = np.array([2], np.int32), np.array([2], np.int32)
    types = (np.array([0], np.int32), 0, np.array([0], np.int32), 1, np.array([1], np.int32))
    template = PairTemplate(np.array([1], np.int32), middle, suffix, types)
    return TokenEncoder(_tokenise, template, window_limits(config, longest, template.num_special))


def _tokenise(texts: Sequence[str]) -> list[Ids]:
    return [
        np.array([zlib.crc32(word.encode()) & 0x7FFFFFFF for word in WORD.findall(text)], np.int32) for text in texts
    ]


class StubScorer:
    """Logits from a hash of each window's ids."""

    def __init__(self, info: ModelInfo) -> None:
        self.num_labels = sum(len(label_set.labels) for label_set in info.label_sets)

    def __call__(self, encodings: pa.Table) -> tuple[NDArray[np.float32], list[Batch]]:
        """Return logits [windows, labels] between 0 and 4, and batches as a real model would run them."""
        ids = encodings["input_ids"].combine_chunks()
        offsets, flat = ids.offsets.to_numpy(), ids.values.to_numpy()
        lengths = np.diff(offsets).astype(np.int64)
        hashes = [zlib.crc32(flat[start:stop].tobytes()) for start, stop in itertools.pairwise(offsets)]
        columns = np.arange(1, self.num_labels + 1, dtype=np.uint64) << np.uint64(32)
        logits: NDArray[np.float32] = (_mix(np.array(hashes, np.uint64)[:, None] + columns) % np.uint64(4096)).astype(
            np.float32
        ) / np.float32(1024)
        batches = [
            Batch(len(rows), int(lengths[rows].sum()), int(lengths[rows].max()) * len(rows))
            for rows in token_batches(lengths, BATCH_TOKENS, MAX_PADDING)
        ]
        return logits, batches


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finaliser of MurmurHash3: every bit of the input moves every bit of the output."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ (values >> np.uint64(33))) * np.uint64(factor)
    return values ^ (values >> np.uint64(33))


def write_stub_model(path: Path, max_tokens: int = 512) -> Path:
    """Write a stub model's directory with the released taxonomies, and return it."""
    path.mkdir(parents=True, exist_ok=True)
    heads = tuple(
        Head(taxonomy=taxonomy, status="experimental", label_set=label_set)
        for taxonomy in TAXONOMIES
        for label_set in load_taxonomy(taxonomy).label_sets
    )
    write_model_file(path, ModelFile(name="stub", backend="stub", heads=heads, max_tokens=max_tokens))
    return path

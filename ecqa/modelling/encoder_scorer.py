"""Windows of token ids to logits with a torch encoder: our multi-head encoder or a sequence-classification checkpoint.

Batches without padding run without an attention mask, which is the fast path of torch's scaled dot product attention, and
outputs stay on the device until the shard is done, so a GPU is never waited for between batches. Knows nothing of pairs,
probabilities and pooling.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from ecqa.modelling.batching import token_batches
from ecqa.modelling.encoder import load_checkpoint, load_encoder
from ecqa.modelling.model_dir import ModelInfo
from ecqa.modelling.scoring import Batch

if TYPE_CHECKING:
    from ecqa.modelling.scoring import ScoreConfig

PRECISIONS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}

BATCH_TOKENS = {"cpu": 2048, "cuda": 32768}
"""Tokens of a batch where the config leaves it open. On two AVX-512 cores 1,024 to 4,096 are equally fast, 16,384 is 15 %
slower (activations leave the cache); a GPU wants enough to fill it."""


class EncoderScorer:
    """Loads the model on its device once; called with ENCODINGS."""

    def __init__(self, config: "ScoreConfig", info: ModelInfo) -> None:
        if config.threads is not None:
            torch.set_num_threads(config.threads)
        self.config = config
        self.device = choose_device(config.device)
        precision = config.precision
        if precision == "auto":
            precision = "float16" if self.device.type == "cuda" else "float32"
        self.dtype = PRECISIONS[precision]
        self.batch_tokens = config.batch_tokens or BATCH_TOKENS.get(self.device.type, BATCH_TOKENS["cuda"])
        load = load_checkpoint if info.backend == "checkpoint" else load_encoder
        self.model = load(info).to(self.device).eval()
        self.num_labels = sum(len(label_set.labels) for label_set in info.label_sets)

    def __call__(self, encodings: pa.Table) -> tuple[NDArray[np.float32], list[Batch]]:
        """Return logits [windows, labels] in the order of the rows, and the batches that were run."""
        sequences = TokenRows(encodings)
        order, outputs, batches = [], [], []
        with torch.inference_mode(), self._autocast():
            for rows in token_batches(sequences.lengths, self.batch_tokens, self.config.max_padding):
                inputs, batch = sequences.batch(rows, self.model.pad_id)
                on_device = {name: value.to(self.device, non_blocking=True) for name, value in inputs.items()}
                order.append(rows)
                outputs.append(self.model(**on_device).float())
                batches.append(batch)
            logits = np.empty((len(sequences.lengths), self.num_labels), np.float32)
            if outputs:
                logits[np.concatenate(order)] = torch.cat(outputs).cpu().numpy()
        return logits, batches

    def _autocast(self) -> AbstractContextManager[object]:
        if self.dtype == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.dtype)


class TokenRows:
    """The token columns of ENCODINGS as flat arrays, and padded batches of them."""

    def __init__(self, encodings: pa.Table) -> None:
        ids = encodings["input_ids"].combine_chunks()
        types = encodings["token_type_ids"].combine_chunks()
        self.offsets = ids.offsets.to_numpy().astype(np.int64)
        self.lengths = np.diff(self.offsets)
        self.ids = ids.values.to_numpy()
        self.types = None if types.null_count or not len(types) else types.values.to_numpy()
        self.types_start = 0 if self.types is None else int(types.offsets[0].as_py()) - int(self.offsets[0])

    def batch(self, rows: NDArray[np.int64], pad_id: int) -> tuple[dict[str, torch.Tensor], Batch]:
        """Padded tensors [rows, longest] of int64; the mask is left out where nothing is padded."""
        lengths = self.lengths[rows]
        longest = int(lengths.max())
        place = np.arange(longest)
        held = place < lengths[:, None]
        source = (self.offsets[rows][:, None] + place)[held]
        inputs = {"input_ids": _padded(self.ids[source], held, pad_id)}
        if self.types is not None:
            inputs["token_type_ids"] = _padded(self.types[source + self.types_start], held, 0)
        if not held.all():
            inputs["attention_mask"] = torch.from_numpy(held.astype(np.int64))
        return inputs, Batch(len(rows), int(lengths.sum()), longest * len(rows))


def _padded(values: NDArray[np.generic], held: NDArray[np.bool_], fill: int) -> torch.Tensor:
    result = np.full(held.shape, fill, np.int64)
    result[held] = values
    return torch.from_numpy(result)


def choose_device(device: str) -> torch.device:
    """The device asked for; "auto" is the GPU that the process sees (what Ray assigned), else the CPU."""
    if device != "auto":
        return torch.device(device)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")

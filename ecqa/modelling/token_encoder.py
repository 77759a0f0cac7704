"""Question and answer texts to windows of token ids, in the pair template of the model's own fast tokenizer.

Each text is tokenised once without special tokens; windows are assembled from the ids. Loads ``tokenizers`` only, not
torch or transformers, wherever the model directory holds tokenizer.json. Knows nothing of ids of pairs or of scores.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ecqa.core.errors import ConfigError, ModelError
from ecqa.modelling.hf_checkpoint import read_config, whole_number
from ecqa.modelling.model_errors import load_errors, one_line
from ecqa.modelling.windows import plan_windows

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ecqa.modelling.encoding import EncodeConfig

Ids = NDArray[np.int32]
Tokenise = Callable[[Sequence[str]], list[Ids]]

TEXTS_AT_ONCE = 512
"""Texts handed to the tokenizer in one call; its own objects for a whole shard would take a hundred times the text."""


@dataclass(frozen=True)
class PairTemplate:
    """Special tokens around a pair: before the question, between, after the answer; and the segment of each part.

    types: segments of (prefix, question, middle, answer, suffix), None where the model has no segments.
    """

    prefix: Ids
    middle: Ids
    suffix: Ids
    types: tuple[Ids, int, Ids, int, Ids] | None

    @property
    def num_special(self) -> int:
        """Special tokens of one window."""
        return len(self.prefix) + len(self.middle) + len(self.suffix)


@dataclass(frozen=True)
class WindowLimits:
    """Tokens that a window, its question and an overlap of two answer spans may take; answer tokens that are covered."""

    max_tokens: int
    question_budget: int
    answer_overlap: int
    max_pair_tokens: int


class TokenEncoder:
    """Encode pairs with a tokenise function and a template."""

    def __init__(self, tokenise: Tokenise, template: PairTemplate, limits: WindowLimits) -> None:
        self.tokenise = tokenise
        self.template = template
        self.limits = limits

    def __call__(self, questions: Sequence[str], answers: Sequence[str]) -> pa.Table:
        """Return the columns of ENCODINGS, with ``pair`` (position of the pair in the input) in place of pair_id."""
        rows = _Rows(self.template.types is not None)
        for start in range(0, len(questions), TEXTS_AT_ONCE):
            stop = start + TEXTS_AT_ONCE
            pairs = zip(self.tokenise(questions[start:stop]), self.tokenise(answers[start:stop]), strict=True)
            for offset, (question, answer) in enumerate(pairs):
                self._add(rows, start + offset, question, answer)
        return rows.table()

    def _add(self, rows: "_Rows", pair: int, question: Ids, answer: Ids) -> None:
        template, limits = self.template, self.limits
        plan = plan_windows(
            len(question),
            len(answer),
            room=limits.max_tokens - template.num_special,
            question_budget=limits.question_budget,
            answer_overlap=limits.answer_overlap,
            max_answer=limits.max_pair_tokens,
        )
        num_tokens = len(question) + len(answer) + template.num_special
        if plan.question_tail:
            question = np.concatenate([question[: plan.question_head], question[-plan.question_tail :]])
        for window, ((start, stop), weight) in enumerate(zip(plan.spans, plan.weights, strict=True)):
            parts = (template.prefix, question, template.middle, answer[start:stop], template.suffix)
            rows.ids.append(np.concatenate(parts))
            if template.types is not None:
                rows.types.append(_segments(template.types, len(question), stop - start))
            rows.fixed.append((pair, window, len(plan.spans), weight, num_tokens, plan.truncated))


class _Rows:
    """Windows collected, then turned into one table."""

    def __init__(self, with_types: bool) -> None:
        self.ids: list[Ids] = []
        self.types: list[NDArray[np.int8]] = []
        self.fixed: list[tuple[int, int, int, float, int, bool]] = []
        self.with_types = with_types

    def table(self) -> pa.Table:
        lengths = np.array([len(ids) for ids in self.ids], np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        columns = list(zip(*self.fixed, strict=True)) or [()] * 6
        ids = np.concatenate([np.empty(0, np.int32), *self.ids]).astype(np.int32)
        types = np.concatenate([np.empty(0, np.int8), *self.types]).astype(np.int8)
        return pa.table(
            {
                "pair": pa.array(columns[0], pa.int64()),
                "window": pa.array(columns[1], pa.int32()),
                "num_windows": pa.array(columns[2], pa.int32()),
                "input_ids": pa.ListArray.from_arrays(offsets, ids),
                "token_type_ids": pa.ListArray.from_arrays(offsets, types)
                if self.with_types
                else pa.nulls(len(lengths), pa.list_(pa.int8())),
                "weight": pa.array(columns[3], pa.float32()),
                "num_tokens": pa.array(columns[4], pa.int32()),
                "truncated": pa.array(columns[5], pa.bool_()),
            }
        )


def _segments(types: tuple[Ids, int, Ids, int, Ids], num_question: int, num_answer: int) -> NDArray[np.int8]:
    prefix, question, middle, answer, suffix = types
    parts = (prefix, np.full(num_question, question), middle, np.full(num_answer, answer), suffix)
    return np.concatenate(parts).astype(np.int8)


def window_limits(config: "EncodeConfig", longest: int, num_special: int) -> WindowLimits:
    """Fill what the config leaves open: the model's length, half of it for the question, an eighth of overlap.

    longest: tokens the model takes. Raises ConfigError when the values do not fit the model or each other.
    """
    max_tokens = config.max_tokens or longest
    if max_tokens > longest:
        raise ConfigError(f"max_tokens {max_tokens}: the model {config.model} takes {longest} at most")
    if max_tokens > config.max_pair_tokens:
        raise ConfigError(f"max_pair_tokens {config.max_pair_tokens}: must be max_tokens ({max_tokens}) or more")
    room = max_tokens - num_special
    budget = room // 2 if config.question_budget is None else config.question_budget
    overlap = room // 8 if config.answer_overlap is None else config.answer_overlap
    if room < 4 or budget + overlap >= room:
        raise ConfigError(
            f"question_budget {budget} and answer_overlap {overlap} leave no room for the answer in max_tokens "
            f"{max_tokens} with {num_special} special tokens; lower them or raise max_tokens"
        )
    return WindowLimits(max_tokens, budget, overlap, config.max_pair_tokens)


def tokenizer_encoder(config: "EncodeConfig", path: Path, longest: int) -> TokenEncoder:
    """Build the encoder of a directory with a fast tokenizer, whose model takes ``longest`` tokens."""
    tokenizer = load_tokenizer(path)
    num_segments = whole_number(path / "config.json", read_config(path), "type_vocab_size") or 0
    template = pair_template(tokenizer, with_types=num_segments > 1)

    def tokenise(texts: Sequence[str]) -> list[Ids]:
        encoded = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [np.array(item.ids, np.int32) for item in encoded]

    return TokenEncoder(tokenise, template, window_limits(config, longest, template.num_special))


def load_tokenizer(path: Path) -> "Tokenizer":
    """Load a directory's fast tokenizer without its truncation and padding. Raises ModelError when it has none."""
    from tokenizers import Tokenizer

    file = path / "tokenizer.json"
    if file.is_file():
        try:
            tokenizer = Tokenizer.from_buffer(file.read_bytes())
        except ValueError as error:
            raise ModelError(f"model file {file}: not a tokenizer: {one_line(error)}") from error
    else:
        tokenizer = _converted_tokenizer(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _converted_tokenizer(path: Path) -> "Tokenizer":
    from transformers import AutoTokenizer

    try:
        made = AutoTokenizer.from_pretrained(str(path), local_files_only=True, trust_remote_code=False)
        tokenizer: Tokenizer = made.backend_tokenizer
    except load_errors() as error:
        cause = one_line(error)
        raise ModelError(f"model directory {path}: no fast tokenizer can be made of its files: {cause}") from error
    return tokenizer


def pair_template(tokenizer: "Tokenizer", *, with_types: bool) -> PairTemplate:
    """Read the template off a probe pair, so that whatever the tokenizer's post-processor does is followed."""
    probe = tokenizer.encode("a", "b")
    part = np.array([-1 if item is None else item for item in probe.sequence_ids])
    ids, types = np.array(probe.ids, np.int32), np.array(probe.type_ids, np.int32)
    question, answer = np.flatnonzero(part == 0), np.flatnonzero(part == 1)
    if not len(question) or not len(answer) or question[0] > answer[0]:
        raise ModelError("the model's tokenizer has no template for a pair with the first text in front")
    cuts = slice(0, question[0]), slice(question[-1] + 1, answer[0]), slice(answer[-1] + 1, len(ids))
    prefix, middle, suffix = (types[cut] for cut in cuts)
    segments = (prefix, int(types[question[0]]), middle, int(types[answer[0]]), suffix)
    return PairTemplate(ids[cuts[0]], ids[cuts[1]], ids[cuts[2]], segments if with_types else None)

"""The filters of EvasionBench (arXiv 2601.09142, section 4): QA_PAIRS to FILTERED_PAIRS.

Stage 2: the question holds "?", the answer is longer than 30 characters, neither holds a transcriber's mark. Stage 3:
question and answer together have at least 500 characters. Pairs are marked, never dropped. Works on whole columns.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from ecqa.core.schemas import FILTERED_PAIRS
from ecqa.core.stage import Stage, Tables


class FilterConfig(BaseModel):
    """Thresholds of the filters; 0, False or an empty list switches one off."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question_mark: bool = True
    min_answer_chars: int = Field(default=30, ge=0)
    """The answer must be longer than this."""
    transcriber_marks: tuple[str, ...] = ("[indiscernible]", "[ph]", "[inaudible]")
    min_total_chars: int = Field(default=500, ge=0)
    """Question and answer together must have at least this many."""


class FilterTransform:
    """QA_PAIRS in, FILTERED_PAIRS out, row for row."""

    def __init__(self, config: FilterConfig) -> None:
        self.config = config
        self.marks = mark_pattern(config.transcriber_marks)

    def __call__(self, tables: Tables) -> Tables:
        """Mark every pair with the first filter that it fails."""
        pairs = tables["qa_pairs"]
        question = _plain(pairs["question"])
        answer = _plain(pairs["answer"])
        asked, answered = pc.utf8_length(question), pc.utf8_length(answer)
        no_question = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(question)), 0)
        no_answer = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(answer)), 0)
        failures = [(no_question, "empty_question"), (no_answer, "empty_answer")]
        failures += self._failures(question, answer, asked, answered)
        reason = pc.case_when(
            pc.make_struct(*(mask for mask, _ in failures)),
            *(pa.scalar(name) for _, name in failures),
            pa.scalar(None, pa.string()),
        )
        columns = {
            "pair_id": pairs["pair_id"],
            "call_id": pairs["call_id"],
            "transcript_id": pairs["transcript_id"],
            "exclusion_reason": reason,
            "scorable": pc.invert(pc.or_(no_question, no_answer)),
            "num_question_chars": asked.cast(pa.int32()),
            "num_answer_chars": answered.cast(pa.int32()),
        }
        return {"filtered_pairs": pa.table(list(columns.values()), schema=FILTERED_PAIRS)}

    def _failures(
        self, question: pa.ChunkedArray, answer: pa.ChunkedArray, asked: pa.ChunkedArray, answered: pa.ChunkedArray
    ) -> list[tuple[pa.ChunkedArray, str]]:
        failures = []
        if self.config.question_mark:
            failures.append((pc.invert(pc.match_substring(question, "?")), "no_question_mark"))
        if self.config.min_answer_chars:
            failures.append((pc.less_equal(answered, self.config.min_answer_chars), "short_answer"))
        if self.marks:
            marked = [pc.match_substring_regex(text, self.marks, ignore_case=True) for text in (question, answer)]
            failures.append((pc.or_(*marked), "transcriber_mark"))
        if self.config.min_total_chars:
            failures.append((pc.less(pc.add(asked, answered), self.config.min_total_chars), "short_pair"))
        return failures


def mark_pattern(marks: tuple[str, ...]) -> str:
    """A regular expression (RE2) for the marks in square or round brackets: "[ph]" also finds "(ph)" and "( ph )"."""
    words = [re.escape(mark.strip("[]() \t")) for mark in marks if mark.strip("[]() \t")]
    return rf"[\[(]\s*(?:{'|'.join(words)})\s*[\])]" if words else ""


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(column.cast(pa.string()), "")


def filters_stage(config: FilterConfig) -> Stage:
    """Declare the stage."""
    return Stage(
        name="filter_pairs",
        version=1,
        make=FilterTransform,
        config=config,
        inputs=("qa_pairs",),
        outputs=("filtered_pairs",),
        unit="pair_id",
    )

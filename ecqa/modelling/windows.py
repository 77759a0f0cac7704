"""Cut one question-answer pair into overlapping windows over its answer: counts in, spans out.

The rule. A pair that fits is one window. Otherwise every window carries the question in front and a span of the answer.
The question keeps at most ``question_budget`` tokens (more where the answer leaves room): its first quarter and its last
three quarters of that many, as the ask usually stands at the end. Spans are equally long, neighbours share at least
``answer_overlap`` tokens (never more than half a span by demand), and together they cover the whole answer. A window's
weight is its share of all answer tokens held by the windows. Of an answer longer than ``max_answer`` tokens only the
first so many are covered, and the pair counts as truncated: without an end, one absurd cell would make a shard's windows
without number. Knows nothing of tokenizers, ids or tables.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class WindowPlan:
    """How one pair is laid out.

    question_head, question_tail: tokens kept from the question's start and end (tail 0: the head is all of it).
    spans: answer token ranges, half open, in order. weights: one a span, sum to 1. truncated: some token is in no span.
    """

    question_head: int
    question_tail: int
    spans: tuple[tuple[int, int], ...]
    weights: tuple[float, ...]
    truncated: bool


def plan_windows(
    num_question: int,
    num_answer: int,
    *,
    room: int,
    question_budget: int,
    answer_overlap: int,
    max_answer: int | None = None,
) -> WindowPlan:
    """Lay out a pair of so many tokens in windows that hold ``room`` tokens besides the specials.

    max_answer: answer tokens covered at most, None for all.
    """
    shortened = max_answer is not None and num_answer > max_answer
    num_answer = num_answer if max_answer is None else min(num_answer, max_answer)
    if num_question + num_answer <= room:
        return WindowPlan(num_question, 0, ((0, num_answer),), (1.0,), shortened)
    keep = min(num_question, max(question_budget, room - num_answer))
    head = keep // 4 if keep < num_question else keep
    spans = answer_spans(num_answer, room - keep, answer_overlap)
    held = sum(stop - start for start, stop in spans)
    weights = tuple((stop - start) / held for start, stop in spans) if held else (1.0,)
    return WindowPlan(head, keep - head, spans, weights, shortened or keep < num_question)


def answer_spans(num_answer: int, room: int, overlap: int) -> tuple[tuple[int, int], ...]:
    """Equally long spans of at most ``room`` tokens that cover the answer, neighbours sharing at least the overlap."""
    if num_answer <= room:
        return ((0, num_answer),)
    overlap = min(overlap, room // 2)
    num_spans = -(-(num_answer - overlap) // (room - overlap))
    length = -(-(num_answer + (num_spans - 1) * overlap) // num_spans)
    starts = [index * (num_answer - length) // (num_spans - 1) for index in range(num_spans)]
    return tuple((start, start + length) for start in starts)

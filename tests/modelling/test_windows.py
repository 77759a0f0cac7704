import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecqa.modelling.windows import answer_spans, plan_windows


@given(
    st.integers(0, 300), st.integers(0, 900), st.integers(8, 120), st.integers(0, 100), st.integers(0, 100)
)  # fmt: skip
def test_plan_covers_the_answer_and_fits(
    num_question: int, num_answer: int, room: int, budget: int, overlap: int
) -> None:
    budget = min(budget, room - 2)
    overlap = min(overlap, room - budget - 1)
    plan = plan_windows(num_question, num_answer, room=room, question_budget=budget, answer_overlap=overlap)
    kept = plan.question_head + plan.question_tail
    covered = {place for start, stop in plan.spans for place in range(start, stop)}
    assert covered == set(range(num_answer))
    assert all(kept + stop - start <= room for start, stop in plan.spans)
    assert sum(plan.weights) == pytest.approx(1)
    assert len(plan.weights) == len(plan.spans)
    assert plan.truncated == (kept < num_question)


@given(st.integers(1, 2000), st.integers(4, 100), st.integers(0, 60))
def test_neighbours_share_the_overlap(num_answer: int, room: int, overlap: int) -> None:
    spans = answer_spans(num_answer, room, overlap)
    shared = [left[1] - right[0] for left, right in itertools.pairwise(spans)]
    assert all(tokens >= min(overlap, room // 2) for tokens in shared)


def test_a_pair_that_fits_is_one_window_whatever_the_budget() -> None:
    plan = plan_windows(20, 9, room=29, question_budget=4, answer_overlap=2)
    assert plan.spans == ((0, 9),)
    assert (plan.question_head, plan.question_tail, plan.truncated) == (20, 0, False)


def test_a_long_question_keeps_its_first_quarter_and_its_end() -> None:
    plan = plan_windows(100, 40, room=40, question_budget=20, answer_overlap=5)
    assert (plan.question_head, plan.question_tail, plan.truncated) == (5, 15, True)


def test_a_short_answer_leaves_its_room_to_the_question() -> None:
    plan = plan_windows(100, 4, room=40, question_budget=20, answer_overlap=5)
    assert plan.question_head + plan.question_tail == 36
    assert plan.spans == ((0, 4),)


def test_of_an_absurd_answer_only_the_first_tokens_are_covered() -> None:
    limits = {"room": 40, "question_budget": 20, "answer_overlap": 5, "max_answer": 500}
    plan = plan_windows(10, 10**7, **limits)
    assert (plan.spans[0][0], plan.spans[-1][1], plan.truncated) == (0, 500, True)
    assert sum(plan.weights) == pytest.approx(1)
    assert plan == replace(plan_windows(10, 500, **limits), truncated=True)
    assert not plan_windows(10, 500, **limits).truncated
    assert plan_windows(0, 9, room=40, question_budget=2, answer_overlap=1, max_answer=8).truncated

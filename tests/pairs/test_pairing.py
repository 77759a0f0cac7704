import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecqa.pairs.pairing import Pair, Speech, pair_turns

ROLES = {"O": "operator", "A": "analyst", "B": "analyst", "X": "executive", "Y": "executive"}
Q1 = "What do you expect of margins in the second half?"
Q2 = "And how much will the new plant cost?"
LONG = "We expect them to rise by two points because freight costs less than it did a year ago this time."


def pair(*turns: str) -> tuple[list[Pair], list[str]]:
    """Each turn is ``O text``: who speaks (a letter of ROLES) and what."""
    return pair_turns([Speech(turn[0], ROLES[turn[0]], turn[2:]) for turn in turns])


def table(*turns: str) -> list[tuple[tuple[int, ...], tuple[int, ...], str | None]]:
    return [(found.question, found.answer, found.responder) for found in pair(*turns)[0]]


def test_one_question_one_answer():
    pairs, uses = pair("O Sam Poe.", f"A {Q1}", f"X {LONG}", "A Thank you.", "X Thanks.", "O Goodbye.")
    assert pairs == [Pair((1,), (2,), "A", "X", floor=1, exchange=pairs[0].exchange)]
    assert uses == ["operator", "question", "answer", "thanks", "thanks", "operator"]


def test_one_row_for_each_respondent():
    assert table(f"A {Q1}", f"X {LONG}", f"Y And I would add one thing. {LONG}") == [
        ((0,), (1,), "X"),
        ((0,), (2,), "Y"),
    ]


def test_acknowledgement_does_not_cut_an_answer():
    assert table(f"A {Q1}", f"X {LONG}", "A Okay.", f"X Also, {LONG}") == [((0,), (1, 3), "X")]


def test_short_remark_into_a_broken_answer_does_not_cut_it():
    pairs, uses = pair(
        f"A {Q1}", "X On overhead, we were lower because --", "A I asked about margins, I am sorry.", f"X {LONG}"
    )
    assert [found.answer for found in pairs] == [(1, 3)]
    assert uses[2] == "interjection"


def test_back_and_forth_after_a_colleague_is_a_new_row_unless_short():
    assert len(table(f"A {Q1}", f"X {LONG}", f"Y {LONG}", f"X {LONG}")) == 3
    assert table(f"A {Q1}", f"X {LONG}", f"Y {LONG}", "X Both of those are in our plan.") == [
        ((0,), (1, 3), "X"),
        ((0,), (2,), "Y"),
    ]


def test_colleagues_nod_is_no_answer():
    pairs, uses = pair(f"A {Q1}", f"X {LONG}", "Y Yes.", f"X {LONG}")
    assert [found.answer for found in pairs] == [(1, 3)]
    assert uses[2] == "interjection"


def test_short_real_answer_is_kept():
    assert table(f"A {Q1}", "X Yes.") == [((0,), (1,), "X")]


def test_hand_off_is_no_answer():
    pairs, uses = pair(f"A {Q1}", "X Y, do you want to take that?", f"Y {LONG}")
    assert [found.responder for found in pairs] == ["Y"]
    assert uses[1] == "hand_off"


def test_question_back_and_its_reply_are_left_out():
    pairs, uses = pair(f"A {Q1}", "X Gross margins?", "A Yes, gross margins of the group.", f"X {LONG}")
    assert [(found.question, found.answer) for found in pairs] == [((0,), (3,))]
    assert uses[1:3] == ["ask_back", "clarification"]


def test_question_said_again_on_a_bad_line_replaces_the_first():
    pairs, uses = pair(f"A {Q1}", "X I didn't hear the question, could you repeat?", f"A {Q2}", f"X {LONG}")
    assert [found.question for found in pairs] == [(2,)]
    assert uses[0] == "no_answer"


def test_cut_question_is_joined():
    assert table("A You said that margins", "X Yes.", f"A would rise. {Q1}", f"X {LONG}") == [((0, 2), (3,), "X")]


def test_remark_before_the_question_is_not_part_of_it():
    pairs, uses = pair("A I was sorry to read about the fire in the old plant.", "X Thank you.", f"A {Q1}", f"X {LONG}")
    assert [found.question for found in pairs] == [(2,)]
    assert uses[0] == "no_answer"


def test_chat_without_a_question_is_no_pair():
    pairs, uses = pair("A It has been a pretty wild year.", "X Yeah.", f"A {Q1}", f"X {LONG}")
    assert len(pairs) == 1
    assert uses[:2] == ["no_answer", "interjection"]


def test_operator_closes_the_exchange():
    pairs, uses = pair(f"A {Q1}", "O We lost him. Next is B.", f"X {LONG}", f"B {Q2}", f"X {LONG}")
    assert [found.question for found in pairs] == [(3,)]
    assert uses[:3] == ["no_answer", "operator", "no_question"]


def test_moderators_question_is_kept():
    read_out = (
        "Y While we wait, here is one from the web. Could you tell us how large the northern plant will be next year?"
    )
    assert table(f"A {Q1}", f"X {LONG}", read_out, f"X {LONG}") == [((0,), (1,), "X"), ((2,), (3,), "X")]


def test_moderator_line_closes_the_exchange():
    pairs, uses = pair(f"A {Q1}", f"X {LONG}", "Y Thanks. Next question, please.", f"B {Q2}", f"X {LONG}")
    assert len(pairs) == 2
    assert uses[2] == "moderator"


def test_closing_is_no_answer():
    pairs, uses = pair(
        f"A {Q1}", f"X {LONG}", "Y Okay, thanks everyone for joining our call today. A replay is on our site."
    )
    assert len(pairs) == 1
    assert uses[2] == "closing"


def test_floors_and_exchanges():
    pairs, _ = pair(
        "O A.",
        f"A {Q1}",
        f"X {LONG}",
        f"A {Q2}",
        f"X {LONG}",
        "O B.",
        f"B {Q1}",
        f"X {LONG}",
        "O A.",
        f"A {Q2}",
        f"X {LONG}",
    )
    assert [found.floor for found in pairs] == [1, 1, 2, 3]
    assert len({found.exchange for found in pairs}) == 4


TURNS = st.lists(
    st.builds(
        Speech,
        st.sampled_from(["Op", "Ann", "Bob", "Cy", None]),
        st.sampled_from(["operator", "analyst", "executive", "moderator", "unknown"]),
        st.sampled_from([Q1, Q2, LONG, "Okay.", "Thank you.", "Yes --", "Ray?", "", "And…", "Good morning."]),
    ),
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(TURNS)
def test_books_close(speeches):
    pairs, uses = pair_turns(speeches)
    assert len(uses) == len(speeches)
    asked = {index for found in pairs for index in found.question}
    answered = {index for found in pairs for index in found.answer}
    assert {index for index, use in enumerate(uses) if use == "question"} == asked
    assert {index for index, use in enumerate(uses) if use == "answer"} == answered
    assert not asked & answered
    assert all(max(found.question) < min(found.answer) for found in pairs)


@pytest.mark.parametrize("role", ["operator", "analyst", "executive"])
def test_lonely_turns(role):
    pairs, uses = pair_turns([Speech("Ann", role, Q1)])
    assert pairs == []
    assert uses == [{"operator": "operator", "analyst": "no_answer"}.get(role, "closing")]


def test_thousands_of_respondents_to_one_question():
    answers = [Speech(f"Person {number}", "executive", f"Sales rose in region {number}.") for number in range(20_000)]
    pairs, _ = pair_turns([Speech("Sam", "analyst", "How did sales do in every region last year?"), *answers])
    assert len(pairs) == len(answers)

import pytest

from ecqa.transcripts.document import Turn
from ecqa.transcripts.sections import PREPARED, QA, find_qa_start

OPENING = Turn(
    "Operator", "Welcome. A question-and-answer session will follow. I will now turn the call over to Jane Roe."
)
REMARKS = Turn("Jane Roe", "Sales rose. " * 30)
ASKS = Turn("Sam Poe", "What about margins?")
ANSWERS = Turn("Jane Roe", "They rose.")


@pytest.mark.parametrize(
    "call",
    [
        "Our first question comes from Sam Poe.",
        "[Operator Instructions] Sam Poe from Poe Securities.",
        "And we'll go first to Sam Poe of Poe Securities.",
        "Sam Poe, Poe Securities.",
        "We will now begin the question-and-answer session.",
    ],
)
def test_starts_at_the_operator_who_calls(call):
    assert find_qa_start([OPENING, REMARKS, Turn("Operator", call), ASKS, ANSWERS]) == 2


def test_starts_without_an_operator():
    hands_over = Turn("Jane Roe", "Sales rose. We are happy to take your questions.")
    assert find_qa_start([Turn("Ann Low", "Welcome."), hands_over, ASKS, ANSWERS]) == 2


def test_an_executive_can_call_the_first_question():
    calls = Turn("Ann Low", "We begin the Q&A. Our first question comes from Sam Poe.")
    assert find_qa_start([OPENING, REMARKS, calls, ASKS, ANSWERS]) == 3


def test_no_session():
    assert find_qa_start([OPENING, REMARKS, Turn("Operator", "This concludes the call. You may disconnect.")]) is None
    assert find_qa_start([]) is None


def test_stated_section_wins_unless_it_is_empty():
    stated = [
        Turn("Operator", "Hello", section=PREPARED),
        Turn("Sam Poe", "Why?", section=QA),
        Turn("Jane Roe", "So.", section=QA),
    ]
    assert find_qa_start(stated) == 1
    turns = [OPENING, REMARKS, Turn("Operator", "Our first question comes from Sam Poe."), ASKS, ANSWERS]
    hollow = [Turn(turn.speaker, turn.text, section=PREPARED) for turn in turns] + [
        Turn("Operator", "[Closing]", section=QA)
    ]
    assert find_qa_start(hollow) == 2

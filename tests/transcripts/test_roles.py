from ecqa.transcripts.document import Participant, Turn
from ecqa.transcripts.roles import assign_roles
from ecqa.transcripts.sections import PREPARED, QA


def turn(speaker: str, text: str, section: str = QA) -> Turn:
    return Turn(speaker, text, section=section)


CALL = [
    turn("Operator", "Welcome.", PREPARED),
    turn("Jane Roe", "Sales rose.", PREPARED),
    turn("Operator", "Our first question comes from Sam Poe with Poe Securities."),
    turn("Sam Poe", "What about margins in the second half?"),
    turn("Jane Roe", "Lee, do you want to take that?"),
    turn("Lee Nash", "Margins rose by two points."),
    turn("Sam Poe", "Thank you."),
]


def test_from_the_conversation():
    assert assign_roles(CALL, ()) == {
        "Operator": "operator",
        "Jane Roe": "executive",
        "Sam Poe": "analyst",
        "Lee Nash": "executive",
    }


def test_lists_of_participants_go_first():
    people = [
        Participant("Sam Poe", "VP", "Poe Securities", "analyst"),
        Participant("Lee Nash", "VP", None, "executive"),
    ]
    roles = assign_roles(CALL, people)
    assert (roles["Sam Poe"], roles["Lee Nash"]) == ("analyst", "executive")


def test_titles_and_firms():
    people = [Participant("Sam Poe", "Senior Research Analyst"), Participant("Lee Nash", "CFO", "Roe Inc.")]
    roles = assign_roles([turn("Sam Poe", "Hello."), turn("Lee Nash", "Hello.")], people, "Roe Inc.")
    assert roles == {"Sam Poe": "analyst", "Lee Nash": "executive"}


def test_generic_labels():
    turns = [
        turn("Unidentified Analyst", "Why?"),
        turn("Unidentified Company Representative", "So."),
        turn("Unknown Shareholder", "Hm?"),
    ]
    assert list(assign_roles(turns, ()).values()) == ["analyst", "executive", "analyst"]


def test_an_analyst_whom_the_operator_never_names():
    turns = [
        *CALL,
        turn("Operator", ""),
        turn("Ada Byrd", "Can you repeat the margin?"),
        turn("Jane Roe", "Two points."),
    ]
    assert assign_roles(turns, ())["Ada Byrd"] == "analyst"

from ecqa.transcripts.document import Turn
from ecqa.transcripts.leaks import split_leaks


def test_labels_inside_a_speech_are_split_off():
    turns = [
        Turn("Jane Roe", "Welcome."),
        Turn(
            "Operator",
            "Our first question comes from Sam Poe at Poe Capital. Sam Poe What is next? Jane Roe Sure. More of it.",
        ),
    ]
    assert [(turn.speaker, turn.text) for turn in split_leaks(turns)] == [
        ("Jane Roe", "Welcome."),
        ("Operator", "Our first question comes from Sam Poe at Poe Capital."),
        ("Sam Poe", "What is next?"),
        ("Jane Roe", "Sure. More of it."),
    ]


def test_names_in_running_text_stay():
    turns = [
        Turn("Jane Roe", "I hand over to Sam Poe. Sam Poe, our treasurer, is here."),
        Turn("Sam Poe", "Thank you, Jane Roe and all."),
    ]
    assert split_leaks(turns) == turns

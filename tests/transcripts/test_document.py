from ecqa.transcripts.document import Turn, join_turns


def test_neighbours_of_one_speaker_are_joined_and_empty_turns_dropped():
    turns = [Turn("A", "one"), Turn("A", " two "), Turn("B", "  "), Turn("A", "three", section="qa_session")]
    assert [(turn.text, turn.section) for turn in join_turns(turns)] == [("one\ntwo", None), ("three", "qa_session")]

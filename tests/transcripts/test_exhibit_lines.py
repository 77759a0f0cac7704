from ecqa.transcripts.exhibit_lines import find_start, list_participants, read_turns, strip_noise
from ecqa.transcripts.html_blocks import Block, read_blocks


def bold(text: str) -> Block:
    return Block(text, text, bold=True)


def test_page_numbers_running_heads_and_vendors_go():
    lines = [
        "Roe Inc. Third Quarter",
        "Hello.",
        "1",
        "Roe Inc. Third Quarter",
        "Thank you.",
        "2",
        "Roe Inc. Third Quarter",
        "Thank you.",
        "Page 3 of 3",
    ]
    blocks = strip_noise([Block(line) for line in [*lines, "1-800-555-0100 www.example.com"]])
    assert [block.text for block in blocks] == ["Hello.", "Thank you.", "Thank you."]


def test_header_repeated_before_each_paragraph_is_one_turn():
    blocks = [
        bold("Operator"),
        Block("Jane Roe, go ahead."),
        bold("Jane Roe"),
        Block("One."),
        bold("Jane Roe"),
        Block("Two."),
    ]
    assert [(turn.speaker, turn.text) for turn in read_turns(blocks, ())] == [
        ("Operator", "Jane Roe, go ahead."),
        ("Jane Roe", "One.\nTwo."),
    ]


def test_sentence_cut_by_a_page_is_joined():
    blocks = [Block("Operator: We sold more"), Block("widgets than ever.")]
    assert read_turns(blocks, ())[0].text == "We sold more widgets than ever."


def test_subheadings_are_no_speakers():
    page = "<p><b>Corporate Participants</b></p><p><b>Jane Roe</b> - CEO</p><p><b>Presentation</b></p>"
    page += "<p><b>Jane Roe</b></p><p>We grew.</p>"
    blocks = read_blocks(
        page
        + "<p><b>Bright Outlook Ahead</b></p><p>More to come.</p><p><b>Bright Outlook Ahead</b></p><p>Even more.</p>"
    )
    people = list_participants(blocks)
    assert [person.name for person in people] == ["Jane Roe"]
    assert {turn.speaker for turn in read_turns(blocks[find_start(blocks) :], people)} == {"Jane Roe"}


def test_one_word_speaker_whom_the_operator_called():
    blocks = [
        bold("Operator"),
        Block("Our next question comes from the line of Arun. Please go ahead."),
        bold("Arun"),
        Block("Why?"),
    ]
    assert read_turns(blocks, ())[1].speaker == "Arun"


def test_disclaimer_after_the_farewell_is_left_out():
    blocks = [
        bold("Operator"),
        Block("Welcome, Jane Roe."),
        bold("Jane Roe"),
        Block("Hello."),
        bold("Operator"),
        Block("Sam Poe?"),
    ]
    blocks += [bold("Sam Poe"), Block("Why?"), bold("Operator"), Block("You may now disconnect."), Block("Legal text.")]
    assert read_turns(blocks, ())[-1].text == "You may now disconnect."

import pytest

from ecqa.transcripts.document import Source
from ecqa.transcripts.formats import plain_text
from tests.transcripts.conftest import ROOT


def source(text: str) -> Source:
    return Source(text.encode(), text, "utf-8")


def test_example(read_file):
    _, components = read_file("northmoor_q1_2024.txt")
    assert components[1]["text"].count("\n") == 1
    assert components[1]["text"].startswith("Good morning, all. Volumes rose by 2% and price by 4%.")
    assert components[3]["section"] == "qa_session"


@pytest.mark.parametrize(
    "path", ["pyproject.toml", "tests/data/transcripts/prose.txt", "tests/data/transcripts/server.log.txt"]
)
def test_other_texts_are_not_its_own(path):
    assert plain_text.sniff(source((ROOT / path).read_text())).score < 0.5


@pytest.mark.parametrize(
    "text",
    [
        '{"Jane Roe": "hello"}',
        "a,b\nJane Roe: x,1\n" * 5,
        "<html><body>Operator: hi</body></html>",
        "",
        "Note: one\nNote: two?\n" * 9,
    ],
)
def test_tables_and_markup_are_not_its_own(text):
    assert plain_text.sniff(source(text)).score < 0.5


def test_list_of_participants():
    people = "Company Participants\nJane Roe - CEO, Roe Inc.\nAnalysts\nSam Poe - Poe Securities\n"
    text = people + "\nOperator: Sam Poe.\nSam Poe: Why?\nJane Roe: So.\n"
    [parsed] = plain_text.parse(source(text))
    assert [(person.name, person.role) for person in parsed.participants] == [
        ("Jane Roe", "executive"),
        ("Sam Poe", "analyst"),
    ]

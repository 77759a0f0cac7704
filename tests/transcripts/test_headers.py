import pytest

from ecqa.transcripts.headers import Header, is_name, parse_header, parse_participant


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("Jane Roe", Header("Jane Roe")),
        ("Jane Roe:", Header("Jane Roe")),
        ("Operator", Header("Operator")),
        ("Jane Roe - Roe, Inc. - President & CEO", Header("Jane Roe", "Roe, Inc.", "President & CEO")),
        (
            "Jane Roe - Roe Securities, Research Division - VP",
            Header("Jane Roe", "Roe Securities, Research Division", "VP"),
        ),
        ("Jane Roe, Chief Financial Officer, Roe Ltd.", Header("Jane Roe", "Roe Ltd.", "Chief Financial Officer")),
        ("Jane Roe - Chairman, President, and CEO", Header("Jane Roe", None, "Chairman, President, and CEO")),
        ("Jane Roe – Analyst, Roe & Co. LLC", Header("Jane Roe", "Roe & Co. LLC", "Analyst")),
        ("D. Jean-Luc O’Roe, Jr.", Header("D. Jean-Luc O’Roe, Jr.")),
    ],
)
def test_parse_header(line, header):
    assert parse_header(line) == header


@pytest.mark.parametrize(
    "line",
    ["We sold more widgets", "Financial Results", "I’m Jane Roe", "1,234", "", "QUESTIONS AND ANSWERS", "jane roe"],
)
def test_lines_that_are_no_header(line):
    assert parse_header(line) is None


def test_names():
    assert is_name("Jane van der Roe")
    assert is_name("Unidentified Analyst")
    assert not is_name("Organic Growth")
    assert not is_name("Jane")


def test_participants():
    bold = parse_participant("Jane Roe Roe Inc. - VP of IR", "Jane Roe", "executive")
    assert (bold.name, bold.title, bold.firm, bold.role) == ("Jane Roe", "VP of IR", "Roe Inc.", "executive")
    plain = parse_participant("Jane Roe, Roe Securities", "", "analyst")
    assert (plain.name, plain.firm) == ("Jane Roe", "Roe Securities")
    assert parse_participant("and nobody else", "", None) is None


@pytest.mark.parametrize("firm", ["Harrow Corporation", "Harrow Field, Inc.", "Quill Bancorp", "Roe Holdings Ltd"])
def test_a_firm_is_no_person(firm: str) -> None:
    assert not is_name(firm)

from ecqa.transcripts.document import Source
from ecqa.transcripts.formats import strike_html
from tests.transcripts.conftest import DATA, EXAMPLES


def source(text: str) -> Source:
    return Source(text.encode(), text, "utf-8")


def test_sniffs_its_own_and_nothing_else():
    assert strike_html.sniff(source((EXAMPLES / "HPTX_Q2_2023.html").read_text())).score > 0.9
    for name in ("press_release.htm", "angled_exhibit.htm", "prose.txt"):
        assert strike_html.sniff(source((DATA / name).read_text())).score < 0.5


def test_empty_label_goes_on_and_role_lists_are_no_speech():
    speeches = "<dt>Jane Roe – Roe Bank:</dt><dd>One.</dd><dt>:</dt><dd>Two.</dd>"
    page = f"<html><dl><dt>Executives:</dt><dd>Jane Roe</dd>{speeches}</dl></html>"
    [parsed] = strike_html.parse(source(page))
    assert [(turn.speaker, turn.firm, turn.text) for turn in parsed.turns] == [("Jane Roe", "Roe Bank", "One.\nTwo.")]
    assert parsed.cut is None

"""strike.market transcript pages: an HTML definition list, one ``dt`` (speaker) and ``dd`` (speech) a turn.

From one page to one ParsedDocument. Page title, company, ticker and period stand in ``title``, the day in ``time``.
Does not know roles: the page marks only the operator.
"""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ecqa.transcripts.document import Metadata, ParsedDocument, Sniff, Source, Turn, join_turns
from ecqa.transcripts.leaks import split_leaks
from ecqa.transcripts.metadata import find_date, find_period
from ecqa.transcripts.names import split_label

NAME = "strike_html"

_TITLE = re.compile(
    r"^(?P<company>.+?)\s+[–—-]\s+(?P<ticker>[A-Z][A-Z0-9.]{0,6})\s+(?P<period>Q[1-4]\s+\d{4})\s+Earnings Call Transcript"
)
_PAIR = re.compile(r"<dt\b[^>]{0,300}>[^<]{1,120}:?\s*</dt>\s*<dd\b", re.I)
_LISTED = re.compile(r"^(?:executives|analysts|participants)$", re.I)


def sniff(source: Source) -> Sniff:
    """A page whose definition list holds speeches, with the site's title or its list class."""
    pairs = len(_PAIR.findall(source.text[:2_000_000]))
    named = "earnings call transcript" in source.text[:5000].lower() or "b-list-item" in source.text
    if not pairs:
        return Sniff(0.1 if named and "<html" in source.text[:500].lower() else 0.0, "no speeches as <dt> and <dd>")
    return Sniff(0.95 if named else 0.6, f"{pairs} speeches as <dt> and <dd>")


def parse(source: Source) -> list[ParsedDocument]:
    """Read the page; a page without its closing tag was cut."""
    tree = LexborHTMLParser(source.text)
    turns = []
    for label in tree.css("dt"):
        speech = label.next
        while speech is not None and speech.tag == "-text":
            speech = speech.next
        if speech is None or speech.tag != "dd":
            continue
        name, firm = split_label(label.text())
        if not _LISTED.match(name):
            turns.append(Turn(name or None, _tidy(speech.text()), firm=firm))
    cut = None if "</html>" in source.text[-2000:].lower() else "the page ends without </html>"
    return [ParsedDocument(_metadata(tree), join_turns(split_leaks(_fill_labels(turns))), cut=cut)]


def _tidy(text: str) -> str:
    return re.sub(r"[ \t\n\xa0]+", " ", text).strip()


def _fill_labels(turns: list[Turn]) -> list[Turn]:
    """A turn whose label is empty goes on with the speech before it."""
    filled: list[Turn] = []
    for turn in turns:
        if turn.speaker is None and filled:
            filled.append(Turn(filled[-1].speaker, turn.text, firm=filled[-1].firm))
        else:
            filled.append(turn)
    return filled


def _metadata(tree: LexborHTMLParser) -> Metadata:
    title = _text(tree.css_first("title"))
    day = find_date(_text(tree.css_first("time")) or "")
    match = _TITLE.match(title or "")
    if match is None:
        year, quarter = find_period(title or "")
        return Metadata(title=title, event_date=day, fiscal_year=year, fiscal_quarter=quarter, language="en")
    year, quarter = find_period(match["period"])
    return Metadata(
        title=title,
        company=match["company"],
        ticker=match["ticker"],
        event_date=day,
        fiscal_year=year,
        fiscal_quarter=quarter,
        language="en",
    )


def _text(node: LexborNode | None) -> str | None:
    return _tidy(node.text()) or None if node is not None else None

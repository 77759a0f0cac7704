"""strike.market transcript pages: an HTML definition list, one ``dt`` (speaker) and ``dd`` (speech) a turn.

From one page to one ParsedDocument. Page title, company, ticker and period stand in ``title``, the day in ``time``.
Does not know roles: the page marks only the operator.
"""

import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ecqa.transcripts.document import Metadata, ParsedDocument, Sniff, Source, Turn, join_turns
from ecqa.transcripts.html_blocks import is_tangled, trim_tags
from ecqa.transcripts.leaks import split_leaks
from ecqa.transcripts.metadata import find_date, find_period
from ecqa.transcripts.names import split_label

NAME = "strike_html"

_TITLE = re.compile(
    r"^(?P<company>.+?)\s+[–—-]\s+(?P<ticker>[A-Z][A-Z0-9.]{0,6})\s+(?P<period>Q[1-4]\s+\d{4})\s+Earnings Call Transcript"
)
_LONGEST_TITLE = 500
_PAIR = re.compile(r"<dt\b[^>]{0,300}>[^<]{1,120}:?\s*</dt>\s*<dd\b", re.I)
_LISTED = re.compile(r"^(?:executives|analysts|participants)$", re.I)


def sniff(source: Source) -> Sniff:
    """A page whose definition list holds speeches, with the site's title or its list class."""
    pairs = len(_PAIR.findall(source.text[:2_000_000]))
    named = "earnings call transcript" in source.text[:5000].lower() or "b-list-item" in source.text
    if not pairs:
        return Sniff(0.1 if named and "<html" in source.text[:500].lower() else 0.0, "no speeches as <dt> and <dd>")
    if is_tangled(source.text):
        return Sniff(0.4, f"{pairs} speeches as <dt> and <dd>, but too many open tags")
    return Sniff(0.95 if named else 0.6, f"{pairs} speeches as <dt> and <dd>")


def parse(source: Source) -> list[ParsedDocument]:
    """Read the page; a page without its closing tag was cut."""
    tree = LexborHTMLParser(trim_tags(source.text))
    turns = []
    for label in _outermost(tree, "dt"):
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


def _outermost(tree: LexborHTMLParser, tag: str) -> Iterator[LexborNode]:
    """Elements in order that stand in no ``dt`` or ``dd``: a list inside a speech is part of that speech already."""
    node = tree.root
    while node is not None:
        inside = node.tag in ("dt", "dd")
        if node.tag == tag:
            yield node
        following = node.child if not inside else None
        while following is None and node is not None:
            following = node.next
            node = node.parent if following is None else node
        node = following


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
    match = _TITLE.match((title or "")[:_LONGEST_TITLE])
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

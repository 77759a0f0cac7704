"""HTML to blocks of text as a reader sees them: one block a paragraph, cell or line, with what of it is bold.

Walks the tree without recursion, so that deep nesting costs no stack. Knows nothing of transcripts.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml import etree, html

_BLOCK_NAMES = """
p div td th tr table tbody hr br h1 h2 h3 h4 h5 h6 li ul ol dl dt dd center body pre section article header footer
blockquote
"""
BLOCK_TAGS = frozenset(_BLOCK_NAMES.split())
SKIPPED_TAGS = frozenset(["script", "style", "title", "head", "noscript", "svg"])
BOLD_TAGS = frozenset(["b", "strong", "h1", "h2", "h3", "h4", "th"])
_BOLD_STYLE = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.I)
_BREAK_STYLE = re.compile(r"page-break-(?:before|after)\s*:\s*always", re.I)
_TAG = re.compile(r"<[A-Za-z](?:[^>=]++|=\s*+\"[^\"]*+\"|=\s*+'[^']*+'|=)*+")
"""A tag up to its closing bracket; a bracket in quotes closes nothing."""
_SEPARATOR = re.compile(r"\"[^\"]*+\"|'[^']*+'|[\s/]++")
_TAG_NAME = re.compile(r"<[^\s/>=]{1,40}")
_MOST_ATTRIBUTES = 1000
_ANY_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9]{0,20})")
_UNCOUNTED_NAMES = """
area base br col embed hr img input link meta param source track wbr p li dt dd tr td th option path g
"""
_UNCOUNTED_TAGS = frozenset(_UNCOUNTED_NAMES.split())
"""Tags that are never closed, or often left open and then closed by the next one."""
_MARK_NAMES = "a b big code em font i nobr s small strike strong tt u"
_MARK_TAGS = frozenset(_MARK_NAMES.split())
_DEEPEST, _MOST_MARKS = 1000, 100


@dataclass(frozen=True)
class Block:
    """Text with blanks collapsed. ``lead`` is the bold text it begins with; ``is_break`` marks the end of a page."""

    text: str
    lead: str = ""
    bold: bool = False
    is_break: bool = False


def read_blocks(text: str) -> list[Block]:
    """Return the blocks of a page in order; a page that holds no element gives none."""
    # Bytes and not str: lxml refuses a str that declares its own encoding.
    raw = trim_tags(text).encode("utf-8", "replace")
    parser = html.HTMLParser(encoding="utf-8", recover=True, remove_comments=True, remove_pis=True, huge_tree=False)
    try:
        root = html.document_fromstring(raw, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return []
    return list(_walk(root))


def trim_tags(text: str) -> str:
    """Take the attributes out of tags that have thousands: parsers compare each with all before it."""
    return _TAG.sub(_without_attributes, text)


def is_tangled(text: str) -> bool:
    """True when more elements stay open than any page needs; a parser's work grows with their number at every tag."""
    depth = marks = 0
    for closing, name in _ANY_TAG.findall(text):
        if (tag := name.lower()) in _UNCOUNTED_TAGS:
            continue
        step = -1 if closing else 1
        depth = max(0, depth + step)
        marks = max(0, marks + step) if tag in _MARK_TAGS else marks
        if depth > _DEEPEST or marks > _MOST_MARKS:
            return True
    return False


def _without_attributes(tag: re.Match[str]) -> str:
    if len(tag[0]) < _MOST_ATTRIBUTES or len(_SEPARATOR.findall(tag[0])) < _MOST_ATTRIBUTES:
        return tag[0]
    return f"{_TAG_NAME.match(tag[0])[0]} "  # type: ignore[index]


def _walk(root: etree._Element) -> Iterator[Block]:
    parts: list[tuple[str, bool]] = []
    bold = skipped = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = element.tag if isinstance(element.tag, str) else ""
        heavy = tag in BOLD_TAGS or _BOLD_STYLE.search(element.get("style", "")) is not None
        if tag in BLOCK_TAGS:
            yield from _flush(parts)
            if event == "start" and (tag == "hr" or _BREAK_STYLE.search(element.get("style", ""))):
                yield Block("", is_break=True)
        if event == "start":
            bold += heavy
            skipped += tag in SKIPPED_TAGS
            if element.text and not skipped:
                parts.append((element.text, bold > 0))
        else:
            bold -= heavy
            skipped -= tag in SKIPPED_TAGS
            if element.tail and not skipped:
                parts.append((element.tail, bold > 0))
    yield from _flush(parts)


def _flush(parts: list[tuple[str, bool]]) -> Iterator[Block]:
    text = _collapse("".join(part for part, _ in parts))
    if text:
        lead = []
        for part, bold in parts:
            if not bold and part.strip(" \t\n\xa0"):
                break
            lead.append(part)
        first = _collapse("".join(lead))
        yield Block(text, first, bold=len(first) >= len(text) - 2 > 0)
    parts.clear()


def _collapse(text: str) -> str:
    """Blanks of every kind become one; the non-breaking hyphen becomes a plain one; zero-width marks go."""
    return re.sub(
        r"[\s\xa0]+", " ", re.sub("[\u200b\u200c\u200d\ufeff\u00ad]", "", text).replace("\u2011", "-")
    ).strip()

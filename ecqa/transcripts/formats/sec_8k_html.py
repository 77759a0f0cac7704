"""SEC 8-K exhibits that hold a transcript: HTML of many vendors, speakers named in lines of their own or before a colon.

From one exhibit to one ParsedDocument. What stands before the list of participants (a press release) and after the
farewell (disclaimers) is left out. Which line is a speaker's header is decided in exhibit_lines; roles are not known here.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ecqa.transcripts.document import Metadata, ParsedDocument, Participant, Sniff, Source
from ecqa.transcripts.exhibit_lines import PARTICIPANTS, find_start, list_participants, read_turns, strip_noise
from ecqa.transcripts.html_blocks import Block, read_blocks
from ecqa.transcripts.metadata import from_header_lines
from ecqa.transcripts.names import matches

NAME = "sec_8k_html"

_HTML = re.compile(r"<(?:html|body|div|p|table|font|document)\b", re.I)
_OPERATOR = re.compile(
    r"(?:>|\n)[^\S\n]*+(?:(?:Operator|Moderator|Coordinator)[^\S\n]*+(?:\s*+[:.][^\S\n]*+)?[<\n]|Operator\s*+:)", re.I
)
"""A run of blanks is walked once: only its last line can hold the word."""
_ANGLED = re.compile(r"(?:&lt;|<)\s*[QA]\s*(?:-|–|—|&#821[12];|&#15[01];|&[nm]dash;)", re.I)
_PARTICIPANTS = re.compile(r"\bparticipants\b\s*+(?::\s*+)?<", re.I)
_QUESTIONS = re.compile(r"\bquestions?(?:\s|&nbsp;|&#160;)*(?:and|&amp;|&)(?:\s|&nbsp;|&#160;)*answers?\b", re.I)
_WRAPPER = re.compile(r"^(?:EX-99\S* \d+ |exhibit\s*99|\d+$)", re.I)
_MOST_HEADER_LINES = 25
_EXHIBIT = re.compile(r"<TYPE>\s*EX-99|exhibit(?:\s|&nbsp;|&#160;)*99", re.I)


def sniff(source: Source) -> Sniff:
    """HTML in which an operator speaks, or which lists participants and a Q&A session."""
    text = source.text[:4_000_000]
    if not _HTML.search(text[:20_000]):
        return Sniff(0.0, "no HTML")
    operators = len(_OPERATOR.findall(text)) + len(_ANGLED.findall(text))
    listed = _PARTICIPANTS.search(text) is not None
    asked = _QUESTIONS.search(text) is not None
    exhibit = _EXHIBIT.search(text[:20_000]) is not None
    lists = f"{'a' if listed else 'no'} list of participants, {'a' if asked else 'no'} Q&A session"
    found = f"{operators} operator or Q/A lines, {lists}"
    if operators >= 2 or (operators and (listed or asked)) or (listed and asked):
        return Sniff(0.7 + 0.1 * exhibit + 0.05 * listed + 0.05 * asked, found)
    return Sniff(0.2 + 0.1 * exhibit + 0.1 * (listed or asked), f"an HTML page without speeches: {found}")


def parse(source: Source) -> list[ParsedDocument]:
    """Read the exhibit; one that ends without its closing tags was cut."""
    printed = read_blocks(source.text)
    blocks = strip_noise(printed)
    people = list_participants(blocks)
    turns = read_turns(blocks[find_start(blocks) :], people)
    tail = source.text[-3000:].lower()
    whole = any(tag in tail for tag in ("</html>", "</body>", "</document>"))
    metadata = from_header_lines(_header_lines(printed), Metadata(language="en"))
    if metadata.company is None:
        metadata = replace(metadata, company=_own_firm(people))
    return [ParsedDocument(metadata, turns, people, None if whole or not turns else "the page ends without </html>")]


def _header_lines(blocks: Sequence[Block]) -> list[str]:
    """The lines of the title, nearest to the list of participants: a press release may stand before them.

    Taken before noise is stripped, since vendors repeat the title on every page.
    """
    start = find_start(blocks)
    end = next((index for index, block in enumerate(blocks[:start]) if matches(PARTICIPANTS, block.text)), start)
    lines = [block.text for block in blocks[:end] if not block.is_break and not _WRAPPER.match(block.text)]
    return lines[-12:] if len(lines) > _MOST_HEADER_LINES else lines


def _own_firm(people: Sequence[Participant]) -> str | None:
    firms = Counter(person.firm for person in people if person.role == "executive" and person.firm)
    return firms.most_common(1)[0][0] if firms else None

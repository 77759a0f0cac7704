"""Lines of a printed transcript to turns: drop what the page adds, read the lists of participants, find the headers.

From blocks (html_blocks) to turns and participants. A line is a header only on evidence: its name is listed, was called
by the speaker before, or heads several speeches in bold. Knows nothing of HTML tags or of roles that must be inferred.
"""

import re
from collections import Counter
from collections.abc import Sequence

from ecqa.transcripts.document import Participant, Turn, join_turns
from ecqa.transcripts.headers import (
    ABBREVIATED,
    ANGLED,
    DASH,
    QUESTION_MARK,
    TITLE,
    Header,
    is_name,
    parse_header,
    parse_participant,
)
from ecqa.transcripts.html_blocks import Block
from ecqa.transcripts.names import NameIndex, alike, is_generic, is_operator, matches, name_words
from ecqa.transcripts.sections import HEADING, INTRODUCES, PREPARED, QA

PARTICIPANTS = re.compile(
    r"^\W*(?:(?P<own>corporate|company|management|executive|internal)|(?P<other>conference call|other|external|"
    r"analysts?|call))?"
    r"\s*(?:participants?|representatives|attendees|speakers|analysts|executives)\s*:?\W*$",
    re.I,
)
PRESENTATION = re.compile(
    r"^\W*(?:presentation|prepared remarks|management discussion(?: section)?|opening remarks|transcript|"
    r"corporate presentation)\s*:?\W*$",
    re.I,
)
ENDING = re.compile(
    r"^\W*(?:disclaimer|caution(?:ary)? (?:concerning|regarding|statement|note)\b.*|"
    r"forward[- ]looking (?:statements?|information)\b.{0,40}|"
    r"(?:ir|investor|media)(?: relations)? contacts?\b.{0,30}|about [A-Z].{0,60}|additional information\b.{0,60}|"
    r"no offer\b.*|non-gaap\b.{0,60}|"
    r"participants in the .{0,60}|non-solicitation|important (?:information|additional)\b.*|#\s?#\s?#|\* ?\* ?\*|"
    r"copyright\b.*|reconciliation of\b.*)$",
    re.I,
)
CONCLUSION = re.compile(r"^\W*(?:conclusion|closing remarks|end of (?:call|transcript|q\s?&\s?a))\W*$", re.I)
_PAGE = re.compile(r"^\W*(?:page\s*)?\d{1,3}(?:\s*(?:of|/|\|)\s*\d{1,3})?\W*$", re.I)
_EXHIBIT = re.compile(r"^exhibit\s*99\S*$", re.I)
_VENDOR = re.compile(
    r"^(?:viavid has made considerable efforts|1-8\d\d-\d{3}-\d{4}\b|www\.\S+$|©|\(c\) \d{4}|"
    r"copyright\b.*(?:factset|thomson|refinitiv|s&p)|"
    r"thomson reuters streetevents|factset callstreet|refinitiv streetevents|total pages:|corrected transcript$|"
    r".*\bwww\.callstreet\.com\b)",
    re.I,
)
_INLINE = re.compile(r"^(?P<label>[^:<>]{2,110}?)\s*:\s*(?P<text>\S.*)$", re.S)
_EVENT = r"(?:conference|call|event|presentation|webcast|program|meeting)"
_FEWEST_TURNS = 3
_LONGEST_PLAIN_HEADER = 60
_LONGEST_LISTING = 220
"""Characters; a longer line in a list of participants is no person."""
_MOST_FIRST_NAMES = 100
"""Names with one initial that a lone word is compared with."""
_ENOUGH = 2000
"""Characters at the end of an operator's speech in which the next caller is named."""
_FAREWELLS_LENGTH = 200
_FAREWELL = re.compile(
    rf"\b(?:disconnect|{_EVENT}\b[^.]{{0,40}} (?:concluded|has ended|is over)|conclude[sd]? (?:today|the|this|"
    rf"our)[^.]{{0,30}}{_EVENT}|"
    rf"end of (?:the|today.s) {_EVENT}|good ?bye)\b",
    re.I,
)


def strip_noise(blocks: Sequence[Block]) -> list[Block]:
    """Drop page numbers, vendors' lines and the running heads that repeat beside page ends."""
    marked = [Block("", is_break=True) if matches(_PAGE, block.text) else block for block in blocks]
    near: Counter[str] = Counter()
    total: Counter[str] = Counter(_folded(block.text) for block in marked)
    last_break = -10
    for index, block in enumerate(marked):
        if block.is_break:
            last_break = index
        ahead = any(later.is_break for later in marked[index + 1 : index + 4])
        if not block.is_break and len(block.text) < 150 and (index - last_break <= 4 or ahead):
            near[_folded(block.text)] += 1
    heads = {text for text, count in near.items() if count >= 2 and count >= 0.8 * total[text] and _can_be_head(text)}
    return [
        block
        for block in marked
        if not block.is_break
        and _folded(block.text) not in heads
        and not _VENDOR.match(block.text)
        and not _EXHIBIT.match(block.text)
    ]


def _folded(text: str) -> str:
    return re.sub(r"\d+", "#", text)


def _can_be_head(text: str) -> bool:
    """Short speeches ("Thank you.", "Okay.") and speakers' names repeat near page ends too, and are no running heads."""
    if text.rstrip().endswith((".", "?", "!", "…")) and not ABBREVIATED.search(text):
        return False
    header = parse_header(text)
    return len(text.split()) >= 2 and (header is None or not is_name(header.name) or "#" in text)


def find_start(blocks: Sequence[Block]) -> int:
    """Index of the first block of the transcript proper: after the lists of participants, else the first operator line."""
    operator = next((index for index, block in enumerate(blocks) if _is_operator_line(block.text)), len(blocks))
    lists = [index for index, block in enumerate(blocks[:operator]) if matches(PARTICIPANTS, block.text)]
    if lists:
        return _after_list(blocks, lists[-1])
    presentation = next(
        (index for index, block in enumerate(blocks[:operator]) if matches(PRESENTATION, block.text)), None
    )
    if presentation is not None:
        return presentation
    return operator if operator < len(blocks) else 0


def _after_list(blocks: Sequence[Block], heading: int) -> int:
    """The list ends at a heading, at a long text, or where a listed name comes a second time."""
    seen: set[tuple[str, ...]] = set()
    for index in range(heading + 1, len(blocks)):
        block = blocks[index]
        person = parse_participant(block.text, block.lead, None)
        words = name_words(person.name) if person is not None else ()
        if _ends_list(block) or (words and words in seen):
            return index
        seen.add(words)
    return len(blocks)


def _ends_list(block: Block) -> bool:
    headed = matches(PRESENTATION, block.text) or matches(HEADING, block.text)
    return bool(headed) or _is_operator_line(block.text) or len(block.text) > _LONGEST_LISTING


def _is_operator_line(text: str) -> bool:
    match = _INLINE.match(text)
    return is_operator(text) or (match is not None and is_operator(match["label"]))


def list_participants(blocks: Sequence[Block]) -> tuple[Participant, ...]:
    """Read every list of participants; its heading says on whose side they are."""
    people: list[Participant] = []
    role: str | None = None
    inside = False
    for block in blocks:
        heading = matches(PARTICIPANTS, block.text)
        if heading is not None:
            inside = True
            analysts = heading["other"] or "analyst" in block.text.lower()
            role = (
                "analyst" if analysts else "executive" if heading["own"] or "executive" in block.text.lower() else None
            )
        elif inside and _ends_list(block):
            inside = False
        elif inside:
            person = parse_participant(block.text, block.lead, role)
            if person is not None:
                people.append(person)
    return tuple(people)


def read_turns(blocks: Sequence[Block], people: Sequence[Participant]) -> tuple[Turn, ...]:
    """Cut the blocks at the headers; what stands before the first header is no speech."""
    return _Reader(blocks, people).read()


def _initial(name: str) -> str:
    return "".join(name_words(name)[:1])[:1]


def _first_is(name: str, word: str) -> bool:
    return word == name or any(alike(first, word.lower()) for first in name_words(name)[:1])


class _Reader:
    """Walks the blocks once; holds the turn in hand and the section."""

    def __init__(self, blocks: Sequence[Block], people: Sequence[Participant]) -> None:
        self.blocks = blocks
        self.names = NameIndex(person.name for person in people)
        self.firsts: dict[str, list[str]] = {}
        for name in self.names.names:
            self._add_first(name)
        self.has_list = bool(people)
        # Some vendors print no bold at all: then a line of its own stands for it.
        self.plain = not any(block.bold or block.lead for block in blocks if _is_operator_line(block.text))
        bold = Counter(block.text.strip(" :") for block in blocks if self._is_bold(block) and len(block.text) < 120)
        self.repeated = {text for text, count in bold.items() if count >= 2}
        self.turns: list[Turn] = []
        self.header: Header | None = None
        self.side: str | None = None
        self.texts: list[str] = []
        self.glue: list[str] = []
        self.said_farewell = False
        self.paragraph = ""
        self.section: str | None = None

    def _add_first(self, name: str) -> None:
        known = self.firsts.setdefault(_initial(name), [])
        if len(known) < _MOST_FIRST_NAMES:
            known.append(name)

    def _said(self, length: int) -> str:
        """The end of the speech in hand."""
        parts: list[str] = []
        left = length
        for text in reversed(self.texts):
            if left <= 0:
                break
            parts.append(text[-left:])
            left -= len(text) + 1
        return " ".join(reversed(parts))

    def _is_bold(self, block: Block) -> bool:
        short = len(block.text) < _LONGEST_PLAIN_HEADER and not block.text.endswith((".", "?", "!"))
        return block.bold or (self.plain and short)

    def read(self) -> tuple[Turn, ...]:
        skip = False
        for index, block in enumerate(self.blocks):
            if skip:
                skip = False
                continue
            if self._is_end(block):
                break
            if self._take_heading(block):
                continue
            header = self._header(block)
            if header is None:
                self._take_text(block.text)
                continue
            title = self._title_line(index, header)
            skip = title is not None
            self._begin(title or header[0], header[1])
        self._close()
        return join_turns(self.turns)

    def _is_end(self, block: Block) -> bool:
        """The farewell of the operator ends the call unless a speaker follows; so does the heading of a disclaimer."""
        if len(self.turns) < _FEWEST_TURNS:
            return False
        operator = self.header is not None and is_operator(self.header.name)
        if operator and self.said_farewell and not matches(CONCLUSION, block.text):
            return self._header(block) is None
        return matches(ENDING, block.text) is not None and (block.bold or block.text.isupper())

    def _take_heading(self, block: Block) -> bool:
        if matches(PRESENTATION, block.text):
            self._section(PREPARED)
        elif matches(HEADING, block.text) and len(block.text) < 60:
            self._section(QA)
        elif not matches(CONCLUSION, block.text) and not (matches(PARTICIPANTS, block.text) and self.header is None):
            return False
        return True

    def _section(self, section: str) -> None:
        self._close()
        self.section = section

    def _header(self, block: Block) -> tuple[Header, str] | None:
        """Return (header, text on the same line) when the block is a speaker's header."""
        text = block.text
        angled = ANGLED.match(text)
        if angled is not None:
            parsed = parse_header(angled["name"]) or Header(angled["name"])
            role = "analyst" if angled["side"] == "Q" else "executive"
            return Header(parsed.name, parsed.firm, parsed.title, role), angled["text"]
        if len(text) <= 200:
            whole = parse_header(text if ABBREVIATED.search(text) else text.rstrip("."))
            if whole is not None and self._known(whole, block, text):
                return whole, ""
            single = self._single_word(block)
            if single is not None:
                return Header(single), ""
        return self._inline(block)

    def _single_word(self, block: Block) -> str | None:
        """A lone word heads a speech when it is a listed person's first name, or in bold after the operator's call."""
        word = block.text.strip(" :.")
        if not re.fullmatch(r"[A-Z][a-z'’-]{2,14}", word) or not (
            self._is_bold(block) or block.text.rstrip().endswith(":")
        ):
            return None
        known = next((name for name in self.firsts.get(_initial(word), ()) if _first_is(name, word)), None)
        if (known is not None and block.text.rstrip().endswith(":")) or known == word:
            return known
        called = self.header is not None and is_operator(self.header.name) and INTRODUCES.search(self._said(_ENOUGH))
        return word if self._is_bold(block) and called else None

    def _inline(self, block: Block) -> tuple[Header, str] | None:
        match = _INLINE.match(block.text)
        if match is None:
            return None
        label = parse_header(match["label"])
        if label is None or len(label.name.split()) > 6:
            return None
        if is_operator(label.name) or self._listed(label.name):
            return label, match["text"]
        bold = block.lead.rstrip(": ").endswith(match["label"]) and is_name(label.name)
        return (label, match["text"]) if bold and (self._called(label.name) or not self.has_list) else None

    def _known(self, header: Header, block: Block, text: str) -> bool:
        if is_operator(header.name):
            return len(text) < 30
        if is_generic(header.name):
            return self._is_bold(block) or (len(text) < 40 and text.rstrip().endswith(":"))
        printed = header.firm is not None and header.title is not None and DASH.search(text) is not None
        sentence = text.endswith((".", "?", "!")) and not ABBREVIATED.search(text) and not printed
        if self._listed(header.name):
            return self._is_bold(block) or not sentence
        if not (self._is_bold(block) or block.lead):
            return text.rstrip().endswith(":") and self._called(header.name)
        if self._called(header.name) or (header.firm is not None and not sentence):
            return True
        return text.strip(" :") in self.repeated and (self.section == QA or not self.has_list)

    def _listed(self, name: str) -> bool:
        return self.names.find(name) is not None

    def _called(self, name: str) -> bool:
        """The speaker in hand has just said this name: the surname, or something one typo away."""
        words = name_words(name)
        if not words or len(words) > 5 or not self.texts or len(name) > 60 or not name[:1].isupper():
            return False
        said = name_words(self._said(400))
        return any(alike(words[-1], word) for word in said) and (
            len(words) > 1 or (self.header is not None and is_operator(self.header.name))
        )

    def _title_line(self, index: int, header: tuple[Header, str]) -> Header | None:
        """Some vendors print the title on a line below the name, in the same type."""
        found, inline = header
        if inline or found.firm or found.title or is_operator(found.name) or index + 1 >= len(self.blocks):
            return None
        block, below = self.blocks[index], self.blocks[index + 1]
        if (
            len(below.text) > 160
            or below.bold != block.bold
            or not TITLE.search(below.text)
            or below.text.endswith(("?", "!"))
        ):
            return None
        if not below.bold and below.text.endswith("."):
            return None
        parsed = parse_header(f"{found.name}, {below.text}")
        return Header(found.name, parsed.firm, parsed.title) if parsed else Header(found.name, title=below.text)

    def _begin(self, header: Header, text: str) -> None:
        if self.header is None or header.name != self.header.name:
            self._close()
        self.header = header
        if not self._listed(header.name) and not is_operator(header.name) and not is_generic(header.name):
            self.names.add(header.name)
            self._add_first(header.name)
        if text:
            self._take_text(text)

    def _take_text(self, text: str) -> None:
        if self.header is None:
            return
        marked = QUESTION_MARK.match(text)
        if marked is not None:
            text = marked["text"]
        last = self.texts[-1] if self.texts else ""
        if last and last[-1].isalnum() | (last[-1] in ",;-") and (text[0].islower() or last[-1] in ",;"):
            # A page ended in the middle of the sentence.
            self.glue.append(" ")
        else:
            self.glue.append("\n")
            self.paragraph = ""
        self.texts.append(text)
        if is_operator(self.header.name) and not self.said_farewell:
            self.paragraph = f"{self.paragraph} {text}"
            self.said_farewell = _FAREWELL.search(self.paragraph) is not None
            self.paragraph = self.paragraph[-_FAREWELLS_LENGTH:]

    def _close(self) -> None:
        if self.header is not None:
            header = self.header
            text = "".join(part for pair in zip(self.glue, self.texts, strict=True) for part in pair).removeprefix("\n")
            self.turns.append(Turn(header.name, text, header.title, header.firm, header.role, self.section))
        self.header, self.texts, self.glue = None, [], []
        self.said_farewell, self.paragraph = False, ""

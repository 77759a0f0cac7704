"""Plain text with ``Name: text`` lines: speeches over several lines, optional headings, optional header lines.

From one text to one ParsedDocument. A label may be ``Name - Firm - Role:``. Prose, logs, tables and JSON also hold
colons: a text is a transcript only when its labels are names, come back, and people in it ask and answer.
"""

import re
from collections import Counter
from collections.abc import Iterator

from ecqa.transcripts.document import Metadata, ParsedDocument, Participant, Sniff, Source, Turn, join_turns
from ecqa.transcripts.exhibit_lines import PARTICIPANTS, PRESENTATION
from ecqa.transcripts.headers import Header, is_name, parse_header, parse_participant
from ecqa.transcripts.metadata import from_header_lines
from ecqa.transcripts.names import is_generic, is_operator, matches
from ecqa.transcripts.sections import HEADING, PREPARED, QA

NAME = "plain_text"

_LABEL = re.compile(r"^(?P<label>[A-Z“\"(][^:\n<>{}\[\]=|\t]{1,110}?)\s*:(?:[ \t]+(?P<text>\S.*)|[ \t]*)$")
_MARKUP = re.compile(r"<(?:html|body|div|p|table|tr|td|span|font|dl|dt|dd|br|a|head|meta|script)\b[^<>]*>", re.I)
_LIMIT = 3_000_000
_FEWEST_LABELS = 4
_FEWEST_WORDS = 6
"""Words after a label, on average, below which it is a log or a form and no talk."""


def sniff(source: Source) -> Sniff:
    """Labels that are names and come back, with an operator, a Q&A heading or questions in the speeches."""
    text = source.text[:_LIMIT].lstrip("\ufeff \n\t")
    if text.startswith(("{", "[", "<", "%PDF")) or len(_MARKUP.findall(text[:50_000])) > 3:
        return Sniff(0.0, "JSON, HTML or another marked-up file")
    labels = [header for line in text.split("\n") if (header := _label(line)) is not None]
    names = Counter(header[0].name for header in labels)
    if len(labels) < _FEWEST_LABELS or len(names) < 2:
        return Sniff(
            0.1 if labels else 0.0,
            f"{len(labels)} lines begin with a name and a colon; {_FEWEST_LABELS} of two speakers are needed",
        )
    returning = sum(count for count in names.values() if count > 1)
    operator = any(is_operator(name) for name in names)
    heading = any(matches(HEADING, line) for line in text.split("\n") if len(line) < 60)
    asks = sum(1 for _, said in labels if "?" in said)
    wordy = sum(len(said.split()) for _, said in labels) >= _FEWEST_WORDS * len(labels)
    found = f"{len(labels)} speeches of {len(names)} speakers, {asks} with a question"
    if returning >= 2 and (operator or heading or (asks >= 2 and wordy)) and _is_mostly_labelled(text, len(labels)):
        return Sniff(0.6 + 0.1 * operator + 0.1 * heading + 0.05 * (asks >= 2), found)
    return Sniff(0.3, f"{found}; no operator, no Q&A heading and few questions")


def parse(source: Source) -> list[ParsedDocument]:
    """Read the lines; those before the first speech are header lines or the list of participants."""
    lines = source.text.lstrip("\ufeff").split("\n")
    first = next((index for index, line in enumerate(lines) if _is_first_speech(line)), len(lines))
    turns = join_turns(list(_turns(lines[first:])))
    people = tuple(_participants(lines[:first]))
    header = [line.strip() for line in lines[:first] if line.strip()]
    return [ParsedDocument(from_header_lines(header[:20], Metadata(language="en")), turns, people)]


def _is_mostly_labelled(text: str, num_labels: int) -> bool:
    """A table or a log has many lines for each line that looks like a speech."""
    lines = sum(1 for line in text.split("\n") if line.strip())
    return lines <= 60 * num_labels


def _label(line: str) -> tuple[Header, str] | None:
    match = _LABEL.match(line.strip())
    if match is None:
        return None
    header = parse_header(match["label"])
    if header is None or not (is_name(header.name) or is_operator(header.name)):
        return None
    return header, match["text"] or ""


def _is_first_speech(line: str) -> bool:
    found = _label(line)
    return found is not None and (bool(found[1]) or is_operator(found[0].name))


def _turns(lines: list[str]) -> Iterator[Turn]:
    header: Header | None = None
    texts: list[str] = []
    section: str | None = None
    for line in [*lines, "Operator:"]:
        text = line.strip()
        heading = matches(HEADING, text) is not None and len(text) < 60
        prepared = matches(PRESENTATION, text) is not None
        found = _label(line)
        if not heading and not prepared and found is None:
            texts.append(text)
            continue
        if header is not None:
            yield Turn(header.name, _paragraphs(texts), header.title, header.firm, header.role, section)
        texts = []
        if heading or prepared:
            section, header = (QA if heading else PREPARED), None
        elif found is not None:
            header, texts = found[0], [found[1]]


def _paragraphs(lines: list[str]) -> str:
    """Hard-wrapped lines become one; an empty line ends a paragraph."""
    return "\n".join(" ".join(part.split()) for part in "\n".join(lines).strip().split("\n\n") if part.strip())


def _participants(lines: list[str]) -> Iterator[Participant]:
    role: str | None = None
    inside = False
    for line in lines:
        heading = matches(PARTICIPANTS, line.strip())
        if heading is not None:
            inside = True
            analysts = bool(heading["other"]) or "analyst" in line.lower()
            role = "analyst" if analysts else "executive" if heading["own"] or "executive" in line.lower() else None
        elif inside and line.strip():
            person = parse_participant(line, "", role)
            if person is not None and not is_generic(person.name):
                yield person

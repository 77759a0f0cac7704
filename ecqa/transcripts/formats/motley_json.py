"""Motley Fool transcripts as JSON: ``prepared_remarks``, ``q_and_a`` (speaker and speech), ``participants``.

From one object to one ParsedDocument. The file names neither company nor day. Traps: a pseudo speaker "Duration: 57
minutes" ends a list, and in some files the whole Q&A session stands in ``prepared_remarks``.
"""

import re
from collections.abc import Iterator
from typing import Any

import orjson

from ecqa.transcripts.document import Metadata, ParsedDocument, Participant, Sniff, Source, Turn, join_turns
from ecqa.transcripts.names import split_label
from ecqa.transcripts.sections import PREPARED, QA

NAME = "motley_json"

_KEYS = ("prepared_remarks", "q_and_a", "participants", "header_texts")
_LONGEST_LINE = 500
_PSEUDO = re.compile(r"^\s*(?:duration\s*:|more \w+ analysis|all earnings call transcripts)", re.I)
_OBJECT = re.compile(
    r'\{\s*"speaker"\s*:\s*(?P<speaker>"(?:[^"\\]|\\.)*")\s*,\s*"speech"\s*:\s*(?P<speech>"(?:[^"\\]|\\.)*")\s*\}'
)


def sniff(source: Source) -> Sniff:
    """JSON that begins with an object and names the format's keys."""
    if not source.text[:200].lstrip("\ufeff \t\n").startswith("{"):
        return Sniff(0.0, "no JSON object")
    keys = [key for key in _KEYS if f'"{key}"' in source.text]
    speeches = '"speech"' in source.text and '"speaker"' in source.text
    if speeches and ("prepared_remarks" in keys or "q_and_a" in keys):
        return Sniff(0.95, f"JSON with {', '.join(keys)}")
    return Sniff(0.2 if keys or speeches else 0.05, f"JSON without {' and '.join(_KEYS[:2])}")


def parse(source: Source) -> list[ParsedDocument]:
    """Read the object; of a file that is cut off, every whole turn before the cut."""
    try:
        data = orjson.loads(source.text.lstrip("\ufeff"))
    except orjson.JSONDecodeError as error:
        turns = join_turns(list(_recover(source.text)))
        return [ParsedDocument(Metadata(language="en"), turns, cut=f"no valid JSON: {error}")]
    if not isinstance(data, dict):
        return [ParsedDocument(Metadata(), ())]
    turns_of = [
        turn
        for key, section in (("prepared_remarks", PREPARED), ("q_and_a", QA))
        for turn in _turns(data.get(key), section)
    ]
    return [ParsedDocument(Metadata(language="en"), join_turns(turns_of), _participants(data.get("participants")))]


def _turns(items: Any, section: str) -> Iterator[Turn]:
    for item in items if isinstance(items, list) else ():
        if isinstance(item, dict) and isinstance(item.get("speech"), str):
            yield from _turn(item.get("speaker"), item["speech"], section)


def _turn(label: Any, speech: str, section: str) -> Iterator[Turn]:
    if isinstance(label, str) and _PSEUDO.match(label):
        return
    name, firm = split_label(label) if isinstance(label, str) else ("", None)
    yield Turn(name or None, speech.strip(), firm=firm, section=section)


def _recover(text: str) -> Iterator[Turn]:
    start = text.find('"q_and_a"')
    for match in _OBJECT.finditer(text):
        section = QA if 0 <= start < match.start() else PREPARED
        try:
            yield from _turn(orjson.loads(match["speaker"]), orjson.loads(match["speech"]), section)
        except orjson.JSONDecodeError:
            continue


def _participants(lines: Any) -> tuple[Participant, ...]:
    """``Name--Title`` is an executive, ``Name--Firm -- Analyst`` an analyst; executives stand first."""
    people: list[Participant] = []
    among_analysts = False
    for line in lines if isinstance(lines, list) else ():
        parts = _parts(line[:_LONGEST_LINE]) if isinstance(line, str) else []
        if len(parts) >= 3:
            people.append(Participant(parts[0], title=parts[-1], firm=" -- ".join(parts[1:-1]), role="analyst"))
            among_analysts = True
        elif len(parts) == 2:
            analyst = "analyst" in parts[1].lower()
            role = "analyst" if analyst else None if among_analysts else "executive"
            people.append(Participant(parts[0], title=parts[1], role=role))
            among_analysts = among_analysts or analyst
    return tuple(people)


def _parts(line: str) -> list[str]:
    return [part.strip() for part in line.split("--") if part.strip()]

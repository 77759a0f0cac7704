"""Speaker labels that slipped into a speech: split the text where another speaker's full name stands like a label.

``... is that right? Jane Roe Sure. We ...`` becomes two turns. A name counts only after the end of a sentence and
before a capital letter, and only names that are speakers of the call or that the operator calls. Knows no roles.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace

from ecqa.transcripts.document import Turn
from ecqa.transcripts.names import is_generic, is_operator

_CALLED = re.compile(
    r"\bfrom (?:the line of )?(?P<name>[A-Z][\w.'’-]+(?: [A-Z]\.)? [A-Z][\w'’-]+)(?=,? (?:at|with|of|from)\b)"
)
_PLACE = re.compile(r"(?:^(?=\S)|(?<=[.?!…\]”\"])\s++|\n)(?=[^\s])")
"""Where a label can stand: at the start of the text or of a line, or after the end of a sentence."""
_END = re.compile(r"\s*+:\s*+|\s++(?=[A-Z])")
_LONGEST_NAME = 120


def split_leaks(turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns with every leaked label made a turn of its own."""
    names = {
        turn.speaker
        for turn in turns
        if turn.speaker and len(turn.speaker.split()) >= 2 and not is_generic(turn.speaker)
    }
    names |= {
        match["name"] for turn in turns if is_operator(turn.speaker or "") for match in _CALLED.finditer(turn.text)
    }
    names = {name for name in names if len(name) <= _LONGEST_NAME}
    if not names:
        return list(turns)
    lengths = sorted({len(name) for name in names}, reverse=True)
    return [part for turn in turns for part in _split(turn, names, lengths)]


def _labels(text: str, names: Set[str], lengths: Sequence[int]) -> Iterator[tuple[str, int, int]]:
    """(name, start, end) of every label; the longest name that fits goes first."""
    start = 0
    while (place := _PLACE.search(text, start)) is not None:
        position = place.end()
        start = max(position, place.start() + 1)
        for length in lengths:
            name = text[position : position + length]
            if name in names and (end := _END.match(text, position + length)) is not None:
                start = end.end()
                yield name, place.start(), start
                break


def _split(turn: Turn, names: Set[str], lengths: Sequence[int]) -> list[Turn]:
    parts: list[Turn] = []
    speaker, start = turn.speaker, 0
    for name, begin, end in _labels(turn.text, names, lengths):
        if name == speaker:
            continue
        if text := turn.text[start:begin].strip():
            parts.append(_part(turn, speaker, text))
        speaker, start = name, end
    if not parts and start == 0:
        return [turn]
    if text := turn.text[start:].strip():
        parts.append(_part(turn, speaker, text))
    return parts


def _part(turn: Turn, speaker: str | None, text: str) -> Turn:
    if speaker == turn.speaker:
        return replace(turn, text=text)
    return Turn(speaker, text, section=turn.section)

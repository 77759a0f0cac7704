"""Speaker labels that slipped into a speech: split the text where another speaker's full name stands like a label.

``... is that right? Jane Roe Sure. We ...`` becomes two turns. A name counts only after the end of a sentence and
before a capital letter, and only names that are speakers of the call or that the operator calls. Knows no roles.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from ecqa.transcripts.document import Turn
from ecqa.transcripts.names import is_generic, is_operator

_CALLED = re.compile(
    r"\bfrom (?:the line of )?(?P<name>[A-Z][\w.'’-]+(?: [A-Z]\.)? [A-Z][\w'’-]+)(?=,? (?:at|with|of|from)\b)"
)


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
    if not names:
        return list(turns)
    listed = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    label = re.compile(rf"(?:^|(?<=[.?!…\]”\"])\s+|\n)(?P<name>{listed})\s*(?::\s*|\s(?=[A-Z]))")
    return [part for turn in turns for part in _split(turn, label)]


def _split(turn: Turn, label: re.Pattern[str]) -> list[Turn]:
    parts: list[Turn] = []
    speaker, start = turn.speaker, 0
    for match in label.finditer(turn.text):
        if match["name"] == speaker:
            continue
        if text := turn.text[start : match.start()].strip():
            parts.append(_part(turn, speaker, text))
        speaker, start = match["name"], match.end()
    if not parts and start == 0:
        return [turn]
    if text := turn.text[start:].strip():
        parts.append(_part(turn, speaker, text))
    return parts


def _part(turn: Turn, speaker: str | None, text: str) -> Turn:
    if speaker == turn.speaker:
        return replace(turn, text=text)
    return Turn(speaker, text, section=turn.section)

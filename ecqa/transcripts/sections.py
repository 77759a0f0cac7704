"""Where the question-and-answer session of a call starts, with a heading or without.

From turns with resolved names to the index of the first turn of the session; knows nothing of pairs.
"""

import re
from collections.abc import Sequence

from ecqa.transcripts.document import Turn
from ecqa.transcripts.names import is_operator

PREPARED = "prepared_remarks"
QA = "qa_session"

HEADING = re.compile(
    r"^\W*(?:(?:start of |begin(?:ning)? of |live )?questions?\s*(?:and|&|-|/)\s*-?\s*answers?(?:\s*:)?"
    r"(?:\s+(?:session|section|period|portion))?|q\s*(?:&|and)\s*a(?:\s+(?:session|section))?)\W*$",
    re.I,
)
INTRODUCES = re.compile(
    r"\b(?:first|next|last|final|another|following)\s+(?:\w+\s+)?(?:question|caller)|"
    r"\bquestions?\s+(?:\w+\s+)?(?:comes?|coming|is|will come|will be)\s+(?:\w+\s+)?(?:from|by)\b|"
    r"\bquestion\s+(?:from|in (?:the )?queue)\b|"
    r"\b(?:go|move|turn|take|hear)\b[^.]{0,40}\b(?:the line of|to the site of|from the line)\b|"
    r"\byour line is (?:now )?(?:open|live)\b|\b(?:go|move|turn|hear) (?:first |next |now |on )?(?:to|"
    r"from) (?!slide|page)[A-Z]|"
    r"\b(?:we'll|we will|let's|and|now|next),? (?:now )?(?:go|move) (?:first |next |now )?to\b",
    re.I,
)
CALLS = re.compile(r"\b(?:first|next) (?:\w+ )?question\b|\bquestion (?:comes|is|will come) from\b", re.I)
OPENS = re.compile(
    r"\b(?:begin|start|conduct|open|commence|enter|hold)\b[^.?!]{0,60}\bq(?:uestion)?s?\b|"
    r"\bquestion[ -]and[ -]answer\b|\bq\s?&\s?a\b|"
    r"\bto ask a question\b|\bfor questions\b|\boperator instructions\b|\btake (?:your|any|some) questions\b",
    re.I,
)
HANDS_OVER = re.compile(
    r"\b(?:open|turn|take|ready|happy|move|go|begin|start|poll|operator|answer|"
    r"address)\b[^.?!]{0,80}\b(?:questions?|q\s?&\s?a|q and a)\b",
    re.I,
)
TURNS_OVER = re.compile(r"\b(?:turn|hand|pass)\b[^.?!]{0,50}\b(?:over|back|to)\b|\bintroduce\b|\byou may begin\b", re.I)
ASKS = re.compile(r"\?|\bfor taking\b|\bmy (?:first |next )?question\b|\bcongrat", re.I)
_TAIL = 400
"""Characters at the end of a speech in which a speaker hands over."""
_SHORT, _LONG = 200, 3000
"""An operator who only calls a name is short; a question is no prepared speech."""


def find_qa_start(turns: Sequence[Turn]) -> int | None:
    """Index of the first turn of the session, None when there is none.

    A section that the document states wins, unless it holds nothing. Else it is the first turn that calls a question or
    opens the lines and is followed by a new voice; else the turn after a hand-over to questions.
    """
    stated = next((index for index, turn in enumerate(turns) if turn.section == QA), None)
    if stated is not None and _holds_session(turns, stated):
        return stated
    voices = _next_voices(turns)
    spoken: set[str | None] = set()
    for index, turn in enumerate(turns[:-1]):
        operator = is_operator(turn.speaker or "")
        if operator and spoken and _begins_session(turns, index, spoken, voices[index]):
            return index
        if not operator:
            spoken.add(turn.speaker)
            if (
                index
                and CALLS.search(turn.text[-_TAIL:])
                and _new_voice(voices[index], spoken)
                and not is_operator(turns[index + 1].speaker or "")
            ):
                return index + 1
    return _after_hand_over(turns) if stated is None or not _holds_session(turns, stated) else stated


def _holds_session(turns: Sequence[Turn], start: int) -> bool:
    """Some files state a session that holds nothing: their questions stand among the prepared remarks."""
    return sum(1 for turn in turns[start:] if not is_operator(turn.speaker or "")) >= 2


def _begins_session(turns: Sequence[Turn], index: int, spoken: set[str | None], voice: Turn | None) -> bool:
    text = turns[index].text
    if INTRODUCES.search(text) and not _only_announces(text):
        return True
    if len(text) < _SHORT and not TURNS_OVER.search(text) and _new_voice(voice, spoken) and _asks_next(voice):
        return True
    handed = HANDS_OVER.search(turns[index - 1].text[-_TAIL:]) is not None
    if (not OPENS.search(text) and not handed) or TURNS_OVER.search(text):
        return handed and OPENS.search(text) is not None
    return _new_voice(voice, spoken)


def _only_announces(text: str) -> bool:
    """ "A question-and-answer session will follow; I now hand over to ..." says the words but calls nobody."""
    return TURNS_OVER.search(text) is not None and CALLS.search(text) is None


def _next_voices(turns: Sequence[Turn]) -> list[Turn | None]:
    """For every turn the next one that is no operator's."""
    found: list[Turn | None] = [None] * len(turns)
    for index in range(len(turns) - 2, -1, -1):
        following = turns[index + 1]
        found[index] = found[index + 1] if is_operator(following.speaker or "") else following
    return found


def _new_voice(following: Turn | None, spoken: set[str | None]) -> bool:
    return following is not None and following.speaker not in spoken


def _asks_next(following: Turn | None) -> bool:
    return following is not None and len(following.text) < _LONG and ASKS.search(following.text) is not None


def _after_hand_over(turns: Sequence[Turn]) -> int | None:
    voices = _next_voices(turns)
    spoken: set[str | None] = set()
    for index, turn in enumerate(turns[:-2]):
        spoken.add(turn.speaker)
        following = turns[index + 1]
        hands = index > 0 and HANDS_OVER.search(turn.text[-_TAIL:]) is not None
        if (
            hands
            and _new_voice(voices[index], spoken)
            and ASKS.search(following.text)
            and not is_operator(following.speaker or "")
        ):
            return index + 1
    return None

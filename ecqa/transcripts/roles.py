"""Who is who in a call: operator, executive, analyst, moderator or unknown, for every speaker.

From turns with resolved names and sections, and the lists of participants, to one role a speaker. Order of evidence:
what the document states, lists of participants, analysts' titles and firms, prepared remarks, the operator's
introductions, executives' titles, and last the place in the conversation. Knows nothing of pairs.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from functools import lru_cache

from ecqa.transcripts.document import Participant, Turn
from ecqa.transcripts.names import NameIndex, alike, is_generic, is_operator, name_words
from ecqa.transcripts.sections import CALLS, INTRODUCES, PREPARED, QA

OPERATOR, EXECUTIVE, ANALYST, MODERATOR, UNKNOWN = "operator", "executive", "analyst", "moderator", "unknown"

ANALYST_TITLE = re.compile(
    r"\banalyst\b|\bresearch (?:division|associate)\b|\bshareholder\b|\bportfolio manager\b", re.I
)
EXECUTIVE_TITLE = re.compile(
    r"\b(?:c[efotismhaprbl]+o|chief|president|chairman|chairwoman|chair|founder|treasurer|controller|secretary|"
    r"investor relations|ir|general counsel|vice president|[es]?vp|director|head|general manager|officer)\b",
    re.I,
)
GENERIC_ANALYST = re.compile(
    r"analyst|shareholder|investor(?! relations)|participant|questioner|audience|caller|^\W*q(?:uestion)?\b", re.I
)
GENERIC_EXECUTIVE = re.compile(r"executive|company|corporate|representative|management|^\W*a(?:nswer)?\b", re.I)
ASKS = re.compile(
    r"\?|\bthanks? (?:you )?(?:so much |very much )?for taking\b|\bmy (?:first |next |last )?question\b|\bcongrat", re.I
)


_TAIL = 4000
"""Characters at the end of an operator's speech in which the next caller is named."""


def assign_roles(
    turns: Sequence[Turn], participants: Sequence[Participant], company: str | None = None
) -> dict[str, str]:
    """Return a role for every speaker name that occurs in ``turns`` (sections must be set)."""
    people = People(participants)
    speakers = turns_by_speaker(turns)
    roles: dict[str, str] = {}
    own_firms = _find_own_firms(turns, people, company)
    for speaker, own in speakers.items():
        role = _stated(speaker, own, people, own_firms)
        if role is not None:
            roles[speaker] = role
    _from_prepared(turns, roles)
    _from_introductions(turns, roles)
    _from_executive_titles(turns, people, roles)
    _from_conversation(turns, list(speakers), roles)
    return {speaker: roles.get(speaker, UNKNOWN) for speaker in speakers}


class People:
    """The lists of participants of one call."""

    def __init__(self, participants: Sequence[Participant]) -> None:
        self.participants = participants
        self._index = NameIndex(person.name for person in participants)

    def find(self, name: str) -> Participant | None:
        """The participant that a speaker's name stands for; an equal name goes before a variant of it."""
        place = self._index.equal(name)
        if place is None:
            place = self._index.find(name)
        return None if place is None else self.participants[place]


def turns_by_speaker(turns: Sequence[Turn]) -> dict[str, list[Turn]]:
    """Every speaker's turns, speakers in the order in which they first speak."""
    own: dict[str, list[Turn]] = {}
    for turn in turns:
        if turn.speaker:
            own.setdefault(turn.speaker, []).append(turn)
    return own


def _stated(speaker: str, own: Sequence[Turn], people: People, own_firms: Set[str]) -> str | None:
    if is_operator(speaker):
        return OPERATOR
    stated = Counter(turn.role for turn in own if turn.role)
    if stated:
        return stated.most_common(1)[0][0]
    person = people.find(speaker)
    if person is not None and person.role:
        return person.role
    if is_generic(speaker):
        return _generic_role(speaker)
    titles = [turn.title for turn in own if turn.title] + ([person.title] if person and person.title else [])
    firms = [turn.firm for turn in own if turn.firm] + ([person.firm] if person and person.firm else [])
    return _role_of_firm(titles, firms, own_firms)


def _generic_role(speaker: str) -> str | None:
    if GENERIC_EXECUTIVE.search(speaker):
        return EXECUTIVE
    return ANALYST if GENERIC_ANALYST.search(speaker) else None


def _role_of_firm(titles: Sequence[str], firms: Sequence[str], own_firms: Set[str]) -> str | None:
    if any(ANALYST_TITLE.search(title) for title in titles):
        return ANALYST
    if not firms or not own_firms:
        return None
    return EXECUTIVE if any(word and word in own_firms for word in map(_first_word, firms)) else ANALYST


def _find_own_firms(turns: Sequence[Turn], people: People, company: str | None) -> set[str]:
    """First words of the firms on the company's side: of listed executives, and of whoever speaks before the questions."""
    firms = [person.firm for person in people.participants if person.role == EXECUTIVE]
    for turn in turns:
        if turn.section == PREPARED and turn.speaker and not ANALYST_TITLE.search(turn.title or ""):
            person = people.find(turn.speaker)
            firms.append(turn.firm or (person.firm if person else None))
    named = [firm for firm in firms if firm]
    return {_first_word(firm) for firm in ([*named, company] if named and company else named)}


def _from_executive_titles(turns: Sequence[Turn], people: People, roles: dict[str, str]) -> None:
    """Weak evidence: analysts are directors and vice presidents too, so whom the operator called goes before it."""
    for turn in turns:
        if turn.speaker is None or turn.speaker in roles:
            continue
        person = people.find(turn.speaker)
        title = turn.title or (person.title if person else None)
        if title is not None and EXECUTIVE_TITLE.search(title):
            roles[turn.speaker] = EXECUTIVE


def _first_word(firm: str) -> str:
    return "".join(name_words(firm)[:1])


def _from_prepared(turns: Sequence[Turn], roles: dict[str, str]) -> None:
    for turn in turns:
        if turn.section == PREPARED and turn.speaker and turn.speaker not in roles and not is_generic(turn.speaker):
            roles[turn.speaker] = EXECUTIVE


def _from_introductions(turns: Sequence[Turn], roles: dict[str, str]) -> None:
    """The first unknown voice after the operator is who was called, above all when the operator says the name."""
    called = ""
    fresh = False
    for turn in turns:
        if turn.section != QA or turn.speaker is None:
            continue
        if roles.get(turn.speaker) == OPERATOR:
            called, fresh = turn.text[-_TAIL:], True
            continue
        if CALLS.search(turn.text[-300:]) and roles.get(turn.speaker) == EXECUTIVE:
            called, fresh = turn.text[-300:], True
            continue
        if turn.speaker not in roles and (fresh or _named_in(turn.speaker, called)):
            roles[turn.speaker] = ANALYST
        if turn.speaker in roles:
            fresh = False


def _named_in(speaker: str, text: str) -> bool:
    """True when the operator's sentence holds the surname, or something one typo away from it."""
    own = name_words(speaker)
    return bool(own) and any(alike(own[-1], word) for word in _introduced(text))


@lru_cache(maxsize=64)
def _introduced(text: str) -> frozenset[str]:
    return frozenset(name_words(text)) if INTRODUCES.search(text) else frozenset()


def _from_conversation(turns: Sequence[Turn], speakers: Sequence[str], roles: dict[str, str]) -> None:
    """Who is left answers when the turns come after an analyst's and ask nothing, and asks otherwise."""
    votes: dict[str, int] = defaultdict(int)
    others = _next_others(turns)
    for index, turn in enumerate(turns):
        if turn.speaker is None or turn.speaker in roles:
            continue
        before = roles.get(turns[index - 1].speaker or "") if index else None
        later = others[index]
        after = roles.get(turns[later].speaker or "") if later is not None else None
        asks = ASKS.search(turn.text) is not None
        votes[turn.speaker] += (
            2 * (before == ANALYST) + (before == EXECUTIVE) + (after == ANALYST) - 2 * (before == OPERATOR)
        )
        votes[turn.speaker] -= (3 + (after == EXECUTIVE)) if asks else 0
        votes[turn.speaker] += _called_by_executive(turn.speaker, turns[index - 1], roles) if index else 0
    for speaker in speakers:
        if speaker not in roles and speaker in votes:
            roles[speaker] = EXECUTIVE if votes[speaker] >= 0 else ANALYST


def _next_others(turns: Sequence[Turn]) -> list[int | None]:
    """For every turn the index of the next one of another speaker."""
    found: list[int | None] = [None] * len(turns)
    for index in range(len(turns) - 2, -1, -1):
        same = turns[index].speaker == turns[index + 1].speaker
        found[index] = found[index + 1] if same else index + 1
    return found


def _called_by_executive(speaker: str, previous: Turn, roles: dict[str, str]) -> int:
    """An executive who ends with a first name hands over to a colleague."""
    first = name_words(speaker)[:1]
    if roles.get(previous.speaker or "") != EXECUTIVE or not first:
        return 0
    return 3 if first[0] in name_words(previous.text[-80:]) else 0

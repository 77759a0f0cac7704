"""The pairing rule: the turns of one call to pairs of a question and one respondent's answer.

Plain values in, plain values out; knows nothing of tables or ids. Source: section 3 of the SubjECTive-QA paper (one row a
respondent, the question repeated) and the habits counted in 36 hand-paired calls: carry the last substantive question,
let acknowledgements pass without cutting an answer, drop greetings, thanks, hand-offs without content, questions back
with their short reply, moderator lines and closings, and start afresh at every operator turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ecqa.pairs.turn_kinds import (
    ASK_BACK,
    CLOSING,
    GREETING,
    HAND_OFF,
    INTERJECTION,
    NEXT_CALLER,
    SUBSTANCE,
    THANKS,
    answer_kind,
    asker_kind,
    closes_call,
    content_words,
)

QUESTION, ANSWER = "question", "answer"
NO_ANSWER, NO_QUESTION, OPERATOR, UNKNOWN, CLARIFICATION = "no_answer", "no_question", "operator", "unknown_speaker", "clarification"


@dataclass(frozen=True)
class Speech:
    """One turn of the Q&A session."""

    speaker: str | None
    role: str
    text: str


@dataclass(frozen=True)
class Pair:
    """A question and one respondent's answer, as indices of the turns they are made of.

    ``floor`` counts the stretches in which one asker holds the floor, ``exchange`` the questions within the call.
    """

    question: tuple[int, ...]
    answer: tuple[int, ...]
    asker: str | None
    responder: str | None
    floor: int
    exchange: int


@dataclass
class _State:
    names: frozenset[str]
    uses: list[str]
    pairs: list[Pair] = field(default_factory=list)
    question: list[int] = field(default_factory=list)
    asker: str | None = None
    answers: dict[str | None, list[int]] = field(default_factory=dict)
    floor: int = 0
    exchange: int = 0
    asked_back: bool = False
    floor_asker: str | None = None


def pair_turns(speeches: Sequence[Speech]) -> tuple[list[Pair], list[str]]:
    """Return the pairs in order, and for every turn its use: question, answer, or why it is in no pair."""
    state = _State(first_names(speeches), [NO_QUESTION] * len(speeches))
    for index, speech in enumerate(speeches):
        if speech.role == "operator":
            _flush(state)
            state.floor_asker = None
            state.uses[index] = OPERATOR
        elif _asks(speeches, index, state):
            _take_asker(speeches, index, state)
        else:
            _take_answer(speeches, index, state)
    _flush(state)
    return state.pairs, state.uses


def first_names(speeches: Sequence[Speech]) -> frozenset[str]:
    """Every word of every speaker's name, lower case: greetings are recognised without them."""
    words = {word.strip(".,").lower() for speech in speeches for word in (speech.speaker or "").split()}
    return frozenset(word for word in words if len(word) > 1)


def _asks(speeches: Sequence[Speech], index: int, state: _State) -> bool:
    """Analysts ask. A moderator, or an executive who reads out questions, asks when a colleague answers next."""
    speech = speeches[index]
    if speech.role == "analyst":
        return True
    if speech.role == "unknown":
        return "?" in speech.text and not state.question
    if state.question or "?" not in speech.text or index + 1 >= len(speeches):
        return False
    following = speeches[index + 1]
    answered = following.role == "executive" and following.speaker != speech.speaker
    kind = answer_kind(speech.text, state.names)
    return answered and kind == SUBSTANCE and len(speech.text.split()) >= 8 and answer_kind(following.text, state.names) == SUBSTANCE


def _take_asker(speeches: Sequence[Speech], index: int, state: _State) -> None:
    speech = speeches[index]
    kind = asker_kind(speech.text, state.names)
    if kind != SUBSTANCE:
        state.uses[index] = kind
        return
    if state.question and not state.answers:
        _ask_on(speeches, index, state)
        return
    _flush(state)
    _begin(index, speech, state)


def _begin(index: int, speech: Speech, state: _State) -> None:
    if speech.speaker != state.floor_asker:
        state.floor += 1
        state.floor_asker = speech.speaker
    state.question, state.asker, state.asked_back = [index], speech.speaker, False


def _ask_on(speeches: Sequence[Speech], index: int, state: _State) -> None:
    """A second substantive turn before any answer: a reply to a question back, the rest of a cut question, or anew."""
    speech = speeches[index]
    text = speech.text
    before = speeches[state.question[-1]].text
    if speech.speaker != state.asker:
        _flush(state)
        _begin(index, speech, state)
    elif state.asked_back and len(text.split()) <= 25 and len(text) < len(before):
        state.uses[index] = CLARIFICATION
        state.asked_back = False
    elif len(content_words(before, state.names)) <= 4 and "?" not in before:
        state.uses[state.question[-1]] = NO_ANSWER
        state.question = [index]
    else:
        state.question.append(index)


def _take_answer(speeches: Sequence[Speech], index: int, state: _State) -> None:
    speech = speeches[index]
    kind = answer_kind(speech.text, state.names)
    if not state.question:
        state.uses[index] = _use_without_question(speech, kind)
        return
    mine = speech.speaker in state.answers
    if kind == ASK_BACK and _is_answered_by_asker(speeches, index, state):
        state.uses[index], state.asked_back = ASK_BACK, True
    elif kind in (GREETING, THANKS, HAND_OFF, NEXT_CALLER):
        state.uses[index] = kind
        if kind == NEXT_CALLER:
            _flush(state)
    elif kind == INTERJECTION and (state.answers and not mine or _is_cut(speeches, index, state)):
        state.uses[index] = INTERJECTION
    else:
        state.answers.setdefault(speech.speaker, []).append(index)


def _use_without_question(speech: Speech, kind: str) -> str:
    if kind in (GREETING, THANKS, INTERJECTION, NEXT_CALLER, HAND_OFF):
        return kind
    return CLOSING if closes_call(speech.text) else NO_QUESTION


def _is_answered_by_asker(speeches: Sequence[Speech], index: int, state: _State) -> bool:
    following = speeches[index + 1] if index + 1 < len(speeches) else None
    return following is not None and following.speaker == state.asker


def _is_cut(speeches: Sequence[Speech], index: int, state: _State) -> bool:
    """The question before breaks off and its asker goes on after the nod."""
    before = speeches[state.question[-1]].text.rstrip()
    following = speeches[index + 1] if index + 1 < len(speeches) else None
    goes_on = following is not None and following.speaker == state.asker
    return goes_on and not state.answers and not before.endswith(("?", "."))


def _flush(state: _State) -> None:
    """Close the open question: one pair for each executive who answered it."""
    for responder, indices in state.answers.items():
        state.pairs.append(Pair(tuple(state.question), tuple(indices), state.asker, responder, state.floor, state.exchange))
        for index in indices:
            state.uses[index] = ANSWER
    for index in state.question:
        state.uses[index] = QUESTION if state.answers else NO_ANSWER
    state.exchange += 1
    state.question, state.answers, state.asked_back = [], {}, False

"""The pairing rule: the turns of one call to pairs of a question and one respondent's answer.

Plain values in, plain values out; knows nothing of tables or ids. Source: section 3 of the SubjECTive-QA paper (one row a
respondent, the question repeated) and the habits counted in 36 hand-paired calls: carry the last substantive question,
let acknowledgements pass without cutting an answer, drop greetings, thanks, hand-offs without content, questions back
with their short reply, moderator lines and closings, and start afresh at every operator turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
    breaks_off,
    calls_name,
    closes_call,
    content_words,
    is_farewell,
    is_trouble,
)

QUESTION, ANSWER, NO_ANSWER, NO_QUESTION = "question", "answer", "no_answer", "no_question"
OPERATOR, CLARIFICATION = "operator", "clarification"

SHORT_REMARK = 15
"""Words; up to it a remark into somebody's answer is no turn of its own."""
SHORT_NOD = 6
"""Words; up to it a colleague's remark before the speaker resumes is none either."""
SHORT_REPLY = 25
"""Words; up to it a reply to a question back adds nothing to the question."""
MODERATORS_QUESTION = 12
"""Content words; from it on an executive's turn with a question mark can be a question read out for others."""


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


def pair_turns(speeches: Sequence[Speech]) -> tuple[list[Pair], list[str]]:
    """Return the pairs in order, and for every turn its use: question, answer, or why it is in no pair."""
    return _Session(speeches).pair()


def first_names(speeches: Sequence[Speech]) -> frozenset[str]:
    """Every word of every speaker's name, lower case: greetings are recognised without them."""
    words = {word.strip(".,").lower() for speech in speeches for word in (speech.speaker or "").split()}
    return frozenset(word for word in words if len(word) > 1)


class _Session:
    """Walks the turns once; holds the open question and who has answered it."""

    def __init__(self, speeches: Sequence[Speech]) -> None:
        self.speeches = speeches
        self.names = first_names(speeches)
        self.uses = [NO_QUESTION] * len(speeches)
        self.last_asker = max((i for i, speech in enumerate(speeches) if speech.role == "analyst"), default=-1)
        self.pairs: list[Pair] = []
        self.question: list[int] = []
        self.answers: list[tuple[str | None, list[int]]] = []
        self.latest: dict[str | None, list[int]] = {}
        self.asker: str | None = None
        self.holder: str | None = None
        self.responders: set[str | None] = set()
        self.floor = self.exchange = 0
        self.asked_back = self.trouble = False

    def pair(self) -> tuple[list[Pair], list[str]]:
        for index, speech in enumerate(self.speeches):
            if speech.role == "operator":
                self._flush()
                self.holder = None
                self.uses[index] = OPERATOR
            elif self._asks(index):
                self._take_asker(index)
            else:
                self._take_answer(index)
        self._flush()
        return self.pairs, self.uses

    def _next(self, index: int) -> Speech | None:
        return self.speeches[index + 1] if index + 1 < len(self.speeches) else None

    def _colleague_follows(self, index: int) -> bool:
        following = self._next(index)
        return (
            following is not None
            and following.role == "executive"
            and following.speaker != self.speeches[index].speaker
        )

    # Askers

    def _asks(self, index: int) -> bool:
        """Analysts ask. A moderator, or an executive who reads out questions, asks when a colleague answers next."""
        speech = self.speeches[index]
        if speech.role == "analyst":
            return True
        waiting = bool(self.question) and not self.answers
        if speech.role == "unknown":
            return "?" in speech.text and not waiting
        return not waiting and speech.speaker not in self.responders and self._reads_out(index)

    def _reads_out(self, index: int) -> bool:
        speech, following = self.speeches[index], self._next(index)
        if "?" not in speech.text[-40:] or following is None or not self._colleague_follows(index):
            return False
        before = self.speeches[index - 1] if index else None
        if before is not None and before.role == "executive" and before.text.rstrip().endswith("?"):
            return False
        long = len(content_words(speech.text, self.names)) >= MODERATORS_QUESTION
        kinds = answer_kind(speech.text, self.names), answer_kind(following.text, self.names)
        return long and kinds == (SUBSTANCE, SUBSTANCE)

    def _take_asker(self, index: int) -> None:
        kind = asker_kind(self.speeches[index].text, self.names)
        if kind != SUBSTANCE:
            self.uses[index] = kind
        elif self.question and not self.answers:
            self._ask_on(index)
        elif self._cuts_in(index):
            self.uses[index] = INTERJECTION
        else:
            self._flush()
            self._begin(index)

    def _begin(self, index: int) -> None:
        speaker = self.speeches[index].speaker
        if speaker != self.holder:
            self.floor += 1
            self.holder = speaker
        self.question, self.asker = [index], speaker
        self.asked_back = self.trouble = False

    def _ask_on(self, index: int) -> None:
        """A second turn before any answer: a reply to a question back, the rest of a cut question, or the real one."""
        speech = self.speeches[index]
        before = self.speeches[self.question[-1]].text
        if speech.speaker != self.asker:
            self._flush()
            self._begin(index)
        elif self.trouble and "?" in speech.text:
            self._replace_question(index)
        elif self.asked_back and len(speech.text.split()) <= SHORT_REPLY and len(speech.text) < len(before):
            self.uses[index] = CLARIFICATION
            self.asked_back = False
        elif "?" not in before and before.rstrip().endswith((".", "!")):
            # A remark that drew a courtesy, and then the question.
            self._replace_question(index)
        else:
            self.question.append(index)

    def _replace_question(self, index: int) -> None:
        self.uses[self.question[-1]] = NO_ANSWER
        self.question, self.trouble = [index], False

    def _cuts_in(self, index: int) -> bool:
        """A short remark into an answer that breaks off and is taken up again belongs to the exchange."""
        following = self._next(index)
        if not self.answers or following is None or self.speeches[index].speaker != self.asker:
            return False
        before, responder = self.speeches[index - 1], self.answers[-1][0]
        text = self.speeches[index].text
        short = "?" not in text and len(text.split()) <= SHORT_REMARK
        return short and before.speaker == following.speaker == responder and breaks_off(before.text)

    # Respondents

    def _take_answer(self, index: int) -> None:
        speech = self.speeches[index]
        if not self.question:
            self.uses[index] = self._use_without_question(index)
            return
        kind = self._kind_in_place(index)
        if kind == SUBSTANCE:
            self.responders.add(speech.speaker)
            self._add_answer(index)
            return
        self.uses[index] = kind
        self.asked_back = kind == ASK_BACK
        self.trouble = self.asked_back and is_trouble(speech.text)
        if kind == NEXT_CALLER:
            self._flush()

    def _use_without_question(self, index: int) -> str:
        text = self.speeches[index].text
        if index > self.last_asker and closes_call(text):
            return CLOSING
        kind = answer_kind(text, self.names)
        if kind in (GREETING, THANKS, INTERJECTION, NEXT_CALLER, HAND_OFF):
            return kind
        return CLOSING if index > self.last_asker or closes_call(text) else NO_QUESTION

    def _add_answer(self, index: int) -> None:
        """The same executive goes on in the same row, also after a nod; after a colleague's answer a new row begins.

        Not when what follows is short, or what went before broke off: the two were talking in turns.
        """
        speaker = self.speeches[index].speaker
        own = self.latest.get(speaker)
        if own is not None and (self.answers[-1][0] == speaker or self._goes_on(own[-1], index)):
            own.append(index)
        else:
            self.latest[speaker] = [index]
            self.answers.append((speaker, self.latest[speaker]))

    def _goes_on(self, before: int, index: int) -> bool:
        return len(self.speeches[index].text.split()) <= SHORT_REMARK or breaks_off(self.speeches[before].text)

    def _kind_in_place(self, index: int) -> str:
        """The kind of an executive's turn while a question is open, given who speaks before and after it."""
        speech, following = self.speeches[index], self._next(index)
        kind = answer_kind(speech.text, self.names)
        thanked = index > 0 and self.uses[index - 1] in (THANKS, GREETING) and bool(self.answers)
        if self._colleague_follows(index) and calls_name(speech.text, self.names):
            return HAND_OFF
        if kind == ASK_BACK:
            return ASK_BACK if following is not None and following.speaker == self.asker else SUBSTANCE
        if index > self.last_asker and (is_farewell(speech.text) or (thanked and closes_call(speech.text))):
            return CLOSING
        if self.answers and self.answers[-1][0] != speech.speaker:
            resumes = following is not None and following.speaker == self.answers[-1][0]
            if kind == INTERJECTION or (resumes and len(speech.text.split()) <= SHORT_NOD):
                return INTERJECTION
        if kind == INTERJECTION:
            return INTERJECTION if thanked or self._is_cut(index) else SUBSTANCE
        return kind

    def _is_cut(self, index: int) -> bool:
        """The question before breaks off and its asker goes on after the nod."""
        before, following = self.speeches[self.question[-1]].text.rstrip(), self._next(index)
        goes_on = following is not None and following.speaker == self.asker
        return goes_on and not self.answers and not before.endswith(("?", "."))

    def _flush(self) -> None:
        """Close the open question: one pair for each executive who answered it."""
        answered = bool(self.answers) and not self._is_chat()
        for responder, indices in self.answers:
            if answered:
                self.pairs.append(
                    Pair(tuple(self.question), tuple(indices), self.asker, responder, self.floor, self.exchange)
                )
            for index in indices:
                self.uses[index] = ANSWER if answered else INTERJECTION
        for index in self.question:
            self.uses[index] = QUESTION if answered else NO_ANSWER
        self.exchange += 1
        self.question, self.answers, self.latest = [], [], {}
        self.asked_back = self.trouble = False

    def _is_chat(self) -> bool:
        """A short remark without a question that drew only a nod."""
        asked = " ".join(self.speeches[index].text for index in self.question)
        if "?" in asked or len(content_words(asked, self.names)) > MODERATORS_QUESTION:
            return False
        return all(
            answer_kind(self.speeches[index].text, self.names) == INTERJECTION
            for _, indices in self.answers
            for index in indices
        )

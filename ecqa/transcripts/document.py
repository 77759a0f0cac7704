"""What a format module makes of a file: a parsed document, and the protocol that every format module follows.

From the bytes of one file to plain values; knows nothing of tables, of roles that must be inferred, or of pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Protocol


@dataclass(frozen=True)
class Source:
    """One file as read: its raw bytes, and their text with the name of the encoding it was decoded with."""

    content: bytes
    text: str
    encoding: str


@dataclass(frozen=True)
class Sniff:
    """How sure a format is that a file is its own (0 to 1), and the reason in words."""

    score: float
    reason: str


@dataclass(frozen=True)
class Metadata:
    """What the document says about its call; None where it says nothing."""

    title: str | None = None
    company: str | None = None
    ticker: str | None = None
    event_date: date | None = None
    event_time: datetime | None = None
    available_at: datetime | None = None
    fiscal_year: int | None = None
    fiscal_quarter: int | None = None
    language: str | None = None


@dataclass(frozen=True)
class Participant:
    """A person in a list of participants; ``role`` is "executive" or "analyst" where the list says so."""

    name: str
    title: str | None = None
    firm: str | None = None
    role: str | None = None


@dataclass(frozen=True)
class Turn:
    """One uninterrupted speech.

    ``speaker`` is the label as printed (None when the document has none), ``role`` and ``section`` are set only where
    the document itself states them.
    """

    speaker: str | None
    text: str
    title: str | None = None
    firm: str | None = None
    role: str | None = None
    section: str | None = None


@dataclass(frozen=True)
class ParsedDocument:
    """One call of a file; ``cut`` says what shows that its end is missing, None when it is whole."""

    metadata: Metadata
    turns: tuple[Turn, ...]
    participants: tuple[Participant, ...] = field(default=())
    cut: str | None = None


class Format(Protocol):
    """A module under ecqa/transcripts/formats/."""

    NAME: str

    def sniff(self, source: Source) -> Sniff:
        """Tell from the content, never from the file's name, whether the file is of this format."""
        ...  # pragma: no cover

    def parse(self, source: Source) -> Sequence[ParsedDocument]:
        """Read every call in the file, in order; a document without turns means that none was found."""
        ...  # pragma: no cover


def join_turns(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Drop empty turns and join neighbours of one speaker in one section: vendors repeat a header at each paragraph."""
    joined: list[tuple[Turn, list[str]]] = []
    for turn in turns:
        text = turn.text.strip()
        if not text:
            continue
        last = joined[-1][0] if joined else None
        if last is not None and last.speaker == turn.speaker and last.section == turn.section:
            joined[-1][1].append(text)
        else:
            joined.append((turn, [text]))
    return tuple(replace(turn, text="\n".join(texts)) for turn, texts in joined)

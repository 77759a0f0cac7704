"""The stage that reads files: DOCUMENTS to TRANSCRIPTS and COMPONENTS.

Every document gives at least one row of TRANSCRIPTS with a status; only documents that were read give COMPONENTS. Which
format module reads a file is decided by content. Knows nothing of pairs: ``use`` says only prepared_remarks or unpaired.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ecqa.core.ids import make_id, ordinals
from ecqa.core.schemas import COMPONENTS, TRANSCRIPTS, empty, from_rows
from ecqa.core.stage import Stage, Tables
from ecqa.transcripts.document import Format, ParsedDocument, Participant, Sniff, Source, Turn
from ecqa.transcripts.encoding import decode
from ecqa.transcripts.formats import FORMATS
from ecqa.transcripts.leaks import split_leaks
from ecqa.transcripts.metadata import make_call_id
from ecqa.transcripts.names import is_operator, resolve
from ecqa.transcripts.roles import UNKNOWN, People, assign_roles, turns_by_speaker
from ecqa.transcripts.sections import PREPARED, QA, find_qa_start

Row = dict[str, Any]

ACCEPTED = 0.5
"""A format reads a file from this sniff score on."""


class TranscriptsConfig(BaseModel):
    """Limits on what is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_file_bytes: int = Field(default=64 * 1024 * 1024, gt=0)
    max_turns: int = Field(default=20_000, gt=0)


@dataclass(frozen=True)
class _Reading:
    """A file before its rows are made: what read it, or why nothing did."""

    status: str
    detail: str | None = None
    format: str | None = None
    encoding: str | None = None
    documents: tuple[ParsedDocument, ...] = ()


class ParseTransform:
    """DOCUMENTS in, TRANSCRIPTS and COMPONENTS out."""

    def __init__(self, config: TranscriptsConfig) -> None:
        self.config = config

    def __call__(self, tables: Tables) -> Tables:
        """Read every document of the shard."""
        transcripts: list[Row] = []
        components: list[Row] = []
        for document in tables["documents"].to_pylist():
            for transcript, rows in self._read(document):
                transcripts.append(transcript)
                components.extend(rows)
        return {"transcripts": from_rows(transcripts, TRANSCRIPTS), "components": from_rows(components, COMPONENTS)}

    def _read(self, document: Row) -> list[tuple[Row, list[Row]]]:
        reading = read_document(document["content"], document["num_bytes"], document["read_error"], self.config)
        if not reading.documents:
            return [(self._row(document, 0, reading, None), [])]
        return [self._tables(document, index, reading, parsed) for index, parsed in enumerate(reading.documents)]

    def _tables(self, document: Row, index: int, reading: _Reading, parsed: ParsedDocument) -> tuple[Row, list[Row]]:
        row = self._row(document, index, reading, parsed)
        parsed = finish(parsed)
        rows = component_rows(parsed, row["transcript_id"], row["call_id"])
        row |= {"num_components": len(rows)} | _status(parsed)
        return row, rows

    def _row(self, document: Row, index: int, reading: _Reading, parsed: ParsedDocument | None) -> Row:
        transcript_id = make_id("t", document["source_path"], document["content"], index)
        row: Row = {
            "transcript_id": transcript_id,
            "call_id": make_id("call", transcript_id),
            "source_path": document["source_path"],
            "document_index": index,
            "format": reading.format,
            "status": reading.status,
            "status_detail": reading.detail,
            "encoding": reading.encoding,
            "num_bytes": document["num_bytes"],
            "num_components": 0,
        }
        if parsed is not None:
            metadata = parsed.metadata
            row |= {field: getattr(metadata, field) for field in metadata.__dataclass_fields__}
            row["call_id"] = make_call_id(metadata, transcript_id)
        return row


def read_document(content: bytes | None, num_bytes: int, read_error: str | None, config: TranscriptsConfig) -> _Reading:
    """Decode a file, find its format and parse it; every way to fail is a status."""
    if read_error is not None or content is None:
        return _Reading("unreadable", read_error or "the file has no content")
    if max(num_bytes, len(content)) > config.max_file_bytes:
        return _Reading("too_large", f"{max(num_bytes, len(content))} bytes; max_file_bytes is {config.max_file_bytes}")
    if not content.strip(b" \t\r\n\0\xef\xbb\xbf\xff\xfe"):
        return _Reading("empty", "the file holds no text")
    decoded = decode(content)
    if decoded is None:
        return _Reading("undecodable", "no text in UTF-8, UTF-16, UTF-32, cp1252 or latin-1")
    source = Source(content, *decoded)
    sniffs = sorted(((form, form.sniff(source)) for form in FORMATS), key=lambda pair: -pair[1].score)
    best, sniff = sniffs[0]
    if sniff.score < ACCEPTED:
        return _Reading("unknown_format", _nearest(best, sniff), encoding=source.encoding)
    documents = tuple(parsed for parsed in best.parse(source) if parsed.turns or parsed.cut)
    if not documents:
        detail = f"nearest format {best.NAME} ({sniff.reason}), but no speeches were found in it"
        return _Reading("unknown_format", detail, encoding=source.encoding)
    if any(len(parsed.turns) > config.max_turns for parsed in documents):
        return _Reading("too_large", f"more than max_turns = {config.max_turns} turns", best.NAME, source.encoding)
    return _Reading("ok", None, best.NAME, source.encoding, documents)


def _nearest(form: Format, sniff: Sniff) -> str:
    if sniff.score <= 0:
        return f"no format fits; {form.NAME}: {sniff.reason}"
    return f"nearest format {form.NAME}: {sniff.reason}"


def finish(parsed: ParsedDocument) -> ParsedDocument:
    """Split leaked labels off, resolve names, find the Q&A session, give every turn its role, title and firm."""
    turns = split_leaks(parsed.turns)
    names = resolve(turn.speaker for turn in turns if turn.speaker)
    turns = [replace(turn, speaker=names.get(turn.speaker or "", turn.speaker)) for turn in turns]
    start = find_qa_start(turns)
    sections = [QA if start is not None and index >= start else PREPARED for index in range(len(turns))]
    turns = [replace(turn, section=section) for turn, section in zip(turns, sections, strict=True)]
    roles = assign_roles(turns, parsed.participants, parsed.metadata.company)
    listed, own = People(parsed.participants), turns_by_speaker(turns)
    people = {speaker: _person(speaker, own[speaker], listed) for speaker in roles}
    return replace(parsed, turns=tuple(_describe(turn, roles, people) for turn in turns))


def _person(speaker: str, own: Sequence[Turn], people: People) -> Participant:
    """Title and firm of a speaker: from the headers of the speeches, else from the list of participants."""
    if is_operator(speaker):
        return Participant(speaker)
    listed = people.find(speaker) or Participant(speaker)
    title = next((turn.title for turn in own if turn.title), listed.title)
    return Participant(speaker, title, next((turn.firm for turn in own if turn.firm), listed.firm))


def _describe(turn: Turn, roles: dict[str, str], people: dict[str, Participant]) -> Turn:
    if turn.speaker is None:
        return replace(turn, role=UNKNOWN)
    person = people[turn.speaker]
    return replace(turn, role=roles[turn.speaker], title=person.title, firm=person.firm)


def component_rows(parsed: ParsedDocument, transcript_id: str, call_id: str) -> list[Row]:
    """One row a turn; spans count in the document's texts joined by a newline."""
    rows: list[Row] = []
    start = 0
    repeats = ordinals((turn.speaker, turn.text) for turn in parsed.turns)
    for position, (turn, ordinal) in enumerate(zip(parsed.turns, repeats, strict=True)):
        rows.append(
            {
                "component_id": make_id("c", transcript_id, turn.speaker, turn.text, ordinal),
                "transcript_id": transcript_id,
                "call_id": call_id,
                "position": position,
                "section": turn.section,
                "speaker": turn.speaker,
                "speaker_title": turn.title,
                "speaker_firm": turn.firm,
                "role": turn.role,
                "text": turn.text,
                "num_chars": len(turn.text),
                "char_start": start,
                "char_end": start + len(turn.text),
                "use": "prepared_remarks" if turn.section == PREPARED else "unpaired",
            }
        )
        start += len(turn.text) + 1
    return rows


def _status(parsed: ParsedDocument) -> Row:
    if parsed.cut is not None:
        return {"status": "truncated", "status_detail": f"{parsed.cut}; {len(parsed.turns)} whole turns were read"}
    if not any(turn.section == QA for turn in parsed.turns):
        speakers = len({turn.speaker for turn in parsed.turns})
        return {
            "status": "no_qa_session",
            "status_detail": f"{len(parsed.turns)} turns of {speakers} speakers, none begins a Q&A session",
        }
    return {"status": "ok", "status_detail": None}


def transcripts_stage(config: TranscriptsConfig) -> Stage:
    """Declare the stage."""
    return Stage(
        name="parse_transcripts",
        version=1,
        make=ParseTransform,
        config=config,
        inputs=("documents",),
        outputs=("transcripts", "components"),
        unit="source_path",
        when_dead=failed_documents,
    )


def failed_documents(tables: Tables) -> Tables:
    """TRANSCRIPTS rows with status failed for documents on which the parser broke; why stands in DEAD_LETTERS."""
    rows = [
        {
            "transcript_id": make_id("t", row["source_path"], row["content"], 0),
            "source_path": row["source_path"],
            "document_index": 0,
            "status": "failed",
            "status_detail": "the parser broke on this file; see dead_letters",
            "num_bytes": row["num_bytes"],
            "num_components": 0,
        }
        for row in tables["documents"].to_pylist()
    ]
    return {"transcripts": from_rows(rows, TRANSCRIPTS), "components": empty(COMPONENTS)}

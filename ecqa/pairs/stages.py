"""The stage that pairs: TRANSCRIPTS and COMPONENTS to QA_PAIRS, and COMPONENTS again with ``use`` filled in.

Applies the rule of pairing.py to every transcript; knows nothing of formats or of filters.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from ecqa.core.ids import make_id, ordinals
from ecqa.core.schemas import COMPONENTS, QA_PAIRS, from_rows
from ecqa.core.stage import Stage, Tables
from ecqa.pairs.pairing import Pair, Speech, pair_turns

Row = dict[str, Any]
QA = "qa_session"


class PairsConfig(BaseModel):
    """Nothing to choose yet."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PairTransform:
    """TRANSCRIPTS and COMPONENTS in, QA_PAIRS and COMPONENTS out."""

    def __init__(self, config: PairsConfig) -> None:
        self.config = config

    def __call__(self, tables: Tables) -> Tables:
        """Pair every transcript of the shard; the order of both tables is kept."""
        transcripts = {row["transcript_id"]: row for row in tables["transcripts"].to_pylist()}
        components = tables["components"]
        sessions: dict[str, list[Row]] = defaultdict(list)
        rows = components.to_pylist()
        for row in rows:
            if row["section"] == QA:
                sessions[row["transcript_id"]].append(row)
        pairs: list[Row] = []
        for transcript_id, turns in sessions.items():
            turns.sort(key=lambda row: row["position"])
            pairs.extend(pair_rows(transcripts[transcript_id], turns))
        return {"qa_pairs": from_rows(pairs, QA_PAIRS), "components": from_rows(rows, COMPONENTS)}


def pair_rows(transcript: Row, turns: Sequence[Row]) -> list[Row]:
    """Rows of QA_PAIRS for one transcript; writes each turn's ``use`` into its row."""
    speeches = [Speech(turn["speaker"], turn["role"], turn["text"] or "") for turn in turns]
    pairs, uses = pair_turns(speeches)
    for turn, use in zip(turns, uses, strict=True):
        turn["use"] = use
    texts = [(_join(turns, pair.question), _join(turns, pair.answer)) for pair in pairs]
    ids = [
        make_id("p", transcript["transcript_id"], question, answer, ordinal)
        for (question, answer), ordinal in zip(texts, ordinals(texts), strict=True)
    ]
    links = follow_ups(pairs, ids)
    return [
        _row(transcript, turns, pair, position, pair_id, text, link)
        for position, (pair, pair_id, text, link) in enumerate(zip(pairs, ids, texts, links, strict=True))
    ]


def follow_ups(pairs: Sequence[Pair], ids: Sequence[str]) -> list[str | None]:
    """For each pair the first pair of the exchange before it while the same asker has the floor."""
    first: dict[int, str] = {}
    for pair, pair_id in zip(pairs, ids, strict=True):
        first.setdefault(pair.exchange, pair_id)
    links: list[str | None] = []
    last: dict[int, int] = {}
    link_of: dict[int, str | None] = {}
    for pair in pairs:
        if pair.exchange not in link_of:
            link_of[pair.exchange] = first[last[pair.floor]] if pair.floor in last else None
            last[pair.floor] = pair.exchange
        links.append(link_of[pair.exchange])
    return links


def _join(turns: Sequence[Row], indices: Sequence[int]) -> str:
    return "\n".join(turns[index]["text"] for index in indices)


def _row(
    transcript: Row,
    turns: Sequence[Row],
    pair: Pair,
    position: int,
    pair_id: str,
    text: tuple[str, str],
    link: str | None,
) -> Row:
    asker, responder = turns[pair.question[0]], turns[pair.answer[0]]
    return {
        "pair_id": pair_id,
        "call_id": transcript["call_id"],
        "transcript_id": transcript["transcript_id"],
        "source_path": transcript["source_path"],
        "position": position,
        "question": text[0],
        "answer": text[1],
        "asker": pair.asker,
        "asker_firm": asker["speaker_firm"],
        "responder": pair.responder,
        "responder_title": responder["speaker_title"],
        "question_component_ids": [turns[index]["component_id"] for index in pair.question],
        "answer_component_ids": [turns[index]["component_id"] for index in pair.answer],
        "follow_up_of": link,
    }


def pairs_stage(config: PairsConfig) -> Stage:
    """Declare the stage."""
    return Stage(
        name="make_pairs",
        version=1,
        make=PairTransform,
        config=config,
        inputs=("transcripts", "components"),
        outputs=("qa_pairs", "components"),
        unit="transcript_id",
    )

"""Recipes: which stages in which order make up each job. Imports no Ray; nothing here touches a row but the counting.

score: transcripts or a table of pairs -> QA_PAIRS, FILTERED_PAIRS, SCORES, CALL_SCORES and the rest.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from ecqa.core import schemas
from ecqa.core.books import Account, Books, with_prefix
from ecqa.core.config import StrictConfig
from ecqa.core.errors import InputError
from ecqa.core.recipe import Counts, GlobalStep, Recipe, Source
from ecqa.core.shards import Limits
from ecqa.core.sources import FileSource, Listing, list_input
from ecqa.core.stage import Tables
from ecqa.core.storage import Storage
from ecqa.core.taxonomy import LabelSet, load_taxonomy
from ecqa.evaluation.call_scores import (
    CallScoresConfig,
    MergeCalls,
    call_partials_schema,
    call_partials_stage,
    call_scores_schema,
)
from ecqa.modelling.encoding import EncodeConfig, encode_stage
from ecqa.modelling.model_dir import load_model_info
from ecqa.modelling.scoring import ScoreConfig, score_stage
from ecqa.pairs.filters import FilterConfig, filters_stage
from ecqa.pairs.stages import PairsConfig, pairs_stage
from ecqa.pairs.table_source import TABLE_SUFFIXES, TableSource
from ecqa.transcripts.parse import TranscriptsConfig, transcripts_stage

UNPAIRED = "unpaired"
"""Use of a component that pairing never saw; only those of dead transcripts may end with it."""

TAXONOMIES = ("subjectivity-v1", "evasion-v1")
"""Taxonomies of the shipped model; what ``ecqa schema`` prints follows from them."""

InputKind = Literal["auto", "transcripts", "pairs"]


class ShardConfig(StrictConfig):
    """How much a shard holds: files and bytes of transcripts, or rows of a table of pairs."""

    max_files: int = Field(default=16, ge=1)
    max_bytes: int = Field(default=8 << 20, ge=1)
    max_pairs: int = Field(default=250, ge=1)


class ScoreJobConfig(StrictConfig):
    """Everything about a scoring job that can change a value, and the size of its shards."""

    model: str = "default"
    label_set: str | None = None
    kind: InputKind = "auto"
    text: bool = True
    shards: ShardConfig = ShardConfig()
    transcripts: TranscriptsConfig = TranscriptsConfig()
    pairs: PairsConfig = PairsConfig()
    filters: FilterConfig = FilterConfig()
    encode: EncodeConfig = EncodeConfig()
    score: ScoreConfig = ScoreConfig()

    @model_validator(mode="after")
    def _one_model(self) -> "ScoreJobConfig":
        """Encoding and scoring must use one model: it is named once, at the top."""
        named = {self.encode.model, self.score.model} - {"default", self.model}
        if named or self.score.label_set not in (None, self.label_set):
            raise ValueError("name model and label_set at the top of the settings, not under encode or score")
        return self


def score_recipe(input_url: str, config: ScoreJobConfig) -> Recipe:
    """The scoring job over an input: a folder, glob or file of transcripts, or Parquet and CSV tables of pairs.

    Raises InputError, ConfigError or ModelError before any work begins.
    """
    info = load_model_info(config.model, config.label_set)
    encode = config.encode.model_copy(update={"model": config.model})
    score = config.score.model_copy(
        update={"model": config.model, "label_set": config.label_set, "model_version": info.model_version}
    )
    listing = list_input(input_url)
    from_pairs = is_pairs_input(listing, config.kind)
    parsing = [] if from_pairs else [transcripts_stage(config.transcripts), pairs_stage(config.pairs)]
    scoring = [
        filters_stage(config.filters),
        replace(encode_stage(encode), no_values=frozenset({"model"})),
        replace(score_stage(score), no_values=frozenset(ScoreConfig.model_fields) - {"precision"}),
        call_partials_stage(CallScoresConfig(label_sets=info.label_sets)),
    ]
    written = ("qa_pairs", "filtered_pairs", "scores", "dead_letters")
    return Recipe(
        name="score",
        source=_source(listing, config, from_pairs=from_pairs),
        stages=(*parsing, *scoring),
        schemas=score_schemas(info.label_sets),
        tables=written if from_pairs else ("transcripts", "components", *written),
        partials=("call_partials",),
        counted=("score_batches",),
        global_steps=(call_scores_step(info.label_sets),),
        count=count_shard,
        books=ScoreBooks(from_pairs, config.encode.drop_excluded),
        label_sets=info.label_sets,
        statuses=info.statuses,
        redact=not config.text,
        fingerprint_extra={
            "model": info.model_version,
            "text": str(config.text),
            "input": "pairs" if from_pairs else "files",
        },
    )


def score_schemas(label_sets: Sequence[LabelSet]) -> dict[str, pa.Schema]:
    """Contract schemas of all tables of the scoring job."""
    return {
        "documents": schemas.DOCUMENTS,
        "transcripts": schemas.TRANSCRIPTS,
        "components": schemas.COMPONENTS,
        "qa_pairs": schemas.QA_PAIRS,
        "filtered_pairs": schemas.FILTERED_PAIRS,
        "encodings": schemas.ENCODINGS,
        "score_batches": schemas.SCORE_BATCHES,
        "scores": schemas.scores_schema(label_sets),
        "call_partials": call_partials_schema(label_sets),
        "call_scores": call_scores_schema(label_sets),
        "dead_letters": schemas.DEAD_LETTERS,
    }


def released_schemas() -> dict[str, pa.Schema]:
    """Schemas of the tables that users meet, for the released taxonomies, by name."""
    label_sets = [each for name in TAXONOMIES for each in load_taxonomy(name).label_sets]
    hidden = {"documents", "encodings", "score_batches", "call_partials"}
    return {name: schema for name, schema in score_schemas(label_sets).items() if name not in hidden}


def call_scores_step(label_sets: tuple[LabelSet, ...]) -> GlobalStep:
    """CALL_PARTIALS of all shards -> CALL_SCORES."""
    return GlobalStep("call_scores", 1, "call_partials", "call_scores", "call_id", MergeCalls(label_sets))


def is_pairs_input(listing: Listing, kind: InputKind) -> bool:
    """True when the input is scored row for row: nothing but Parquet and CSV files, or the config says so.

    A folder that holds tables beside other files is a folder of transcripts; its tables get a status that says so.
    """
    if kind != "auto":
        return kind == "pairs"
    return all(info.path.lower().endswith(TABLE_SUFFIXES) for info in listing.files)


def _source(listing: Listing, config: ScoreJobConfig, *, from_pairs: bool) -> Source:
    if not from_pairs:
        limit = config.transcripts.max_file_bytes
        return FileSource(listing, Limits(config.shards.max_files, config.shards.max_bytes), limit)
    wrong = [info.path for info in listing.files if not info.path.lower().endswith(TABLE_SUFFIXES)]
    if wrong:
        raise InputError(
            f"{Storage(listing.root).full(wrong[0])}: not a Parquet or CSV table, but kind is pairs; leave out kind"
        )
    return TableSource(listing, config.shards.max_pairs)


def count_shard(tables: Tables) -> dict[str, float]:
    """Counts of one shard, by unit and outcome; they add up over shards."""
    counts: Counter[str] = Counter()
    for name in ("transcripts", "components", "qa_pairs", "filtered_pairs", "scores", "dead_letters", "call_partials"):
        counts[name] = tables[name].num_rows if name in tables else 0
    counts["pairs"] = counts["qa_pairs"]
    if "transcripts" in tables:
        counts["files"] = pc.count_distinct(tables["transcripts"].column("source_path")).as_py()
        counts.update(_by_value(tables["transcripts"], "status", "transcripts:"))
        session = tables["components"].filter(pc.equal(tables["components"].column("section"), "qa_session"))
        counts["qa_components"] = session.num_rows
        counts.update(_by_value(session, "use", "use:"))
    counts.update(_by_value(tables["filtered_pairs"], "exclusion_reason", "filter:"))
    counts.update(_by_value(tables["dead_letters"], "stage", "dead:"))
    counts.update(_score_counts(tables))
    counts["scores_in_calls"] = pc.sum(tables["call_partials"].column("num_pairs")).as_py() or 0
    return dict(counts)


def _by_value(table: pa.Table, column: str, prefix: str) -> dict[str, int]:
    found = Counter(table.column(column).to_pylist())
    return {f"{prefix}{'kept' if value is None else value}": number for value, number in found.items()}


def _score_counts(tables: Tables) -> dict[str, float]:
    scores, batches, filtered = tables["scores"], tables["score_batches"], tables["filtered_pairs"]
    computed = pc.sum(batches.column("num_padded_tokens")).as_py() or 0
    real = pc.sum(batches.column("num_tokens")).as_py() or 0
    unscored = filtered.filter(pc.invert(pc.is_in(filtered.column("pair_id"), value_set=_ids(scores))))
    apart = tables["qa_pairs"].filter(pc.is_null(tables["qa_pairs"].column("call_id")))
    scorable = unscored.filter(unscored.column("scorable"))
    return {
        "computed_tokens": computed,
        "tokens": real,
        "padding": computed - real,
        "windowed": pc.sum(pc.greater(scores.column("num_windows"), 1)).as_py() or 0,
        "truncated": pc.sum(scores.column("truncated")).as_py() or 0,
        "scores_without_call": pc.sum(pc.is_in(apart.column("pair_id"), value_set=_ids(scores))).as_py() or 0,
        "unscorable": unscored.num_rows - scorable.num_rows,
        "unscored_marked": scorable.num_rows - scorable.column("exclusion_reason").null_count,
    }


def _ids(table: pa.Table) -> pa.Array:
    column = table.column("pair_id")
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


@dataclass(frozen=True)
class ScoreBooks:
    """Accounts of a scoring job: files, components of Q&A sessions, pairs, scores; each row in exactly one part.

    A row that is missing shows as a difference: no part is worked out as what the others leave over.
    """

    from_pairs: bool
    drop_excluded: bool

    def __call__(self, counts: Counts) -> Books:
        """Build the accounts from summed counts."""
        number = {name: int(value) for name, value in counts.items()}
        dead = with_prefix(counts, "dead:")
        accounts = [_rows_account(number, dead)] if self.from_pairs else _document_accounts(number, dead)
        reasons = with_prefix(counts, "filter:")
        parts = {"kept": reasons.pop("kept", 0)} | {f"marked {name}": value for name, value in reasons.items()}
        accounts.append(Account("pairs", number.get("pairs", 0), parts | _dead_in(dead, "filter_pairs")))
        parts = {"scored": number.get("scores", 0), "nothing to score": number.get("unscorable", 0)}
        if self.drop_excluded:
            parts["left out as marked"] = number.get("unscored_marked", 0)
        parts |= _dead_in(dead, "encode_pairs", "score_pairs")
        accounts.append(Account("kept and marked pairs", number.get("filtered_pairs", 0), parts))
        parts = {"in calls": number.get("scores_in_calls", 0), "without a call": number.get("scores_without_call", 0)}
        accounts.append(Account("scores", number.get("scores", 0), parts | _dead_in(dead, "sum_calls")))
        return Books(tuple(accounts))


def _rows_account(number: Mapping[str, int], dead: Mapping[str, int]) -> Account:
    parts = {"read": number.get("pairs", 0)} | _dead_in(dead, "read")
    return Account("rows of the tables", number.get("planned_rows", 0), parts)


def _document_accounts(number: Mapping[str, int], dead: Mapping[str, int]) -> list[Account]:
    uses = with_prefix(number, "use:")
    if "make_pairs" in dead:
        uses["in transcripts dead in make_pairs"] = uses.get(UNPAIRED, 0)
    uses.pop(UNPAIRED, None)
    return [
        Account("files", number.get("planned_items", 0), {"with a status": number.get("files", 0)}),
        Account("transcripts", number.get("transcripts", 0), with_prefix(number, "transcripts:")),
        Account("Q&A components", number.get("qa_components", 0), uses),
    ]


def _dead_in(dead: Mapping[str, int], *stages: str) -> dict[str, int]:
    return {f"dead in {name}": dead[name] for name in stages if name in dead}

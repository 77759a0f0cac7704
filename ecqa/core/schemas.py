"""Every table's contract as a pyarrow schema, and ``conform``, which holds a table to it.

Field metadata {"text": "1"} marks columns that carry transcript text; --no-text empties those. Field metadata
{"doc": ...} is what ``ecqa schema TABLE`` prints. Non-nullable fields must be there; nullable ones are filled with null.
Knows nothing of where a table is stored.
"""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ecqa.core.errors import MisfitError, SchemaError
from ecqa.core.taxonomy import LabelSet

UTC_TIME = pa.timestamp("us", tz="UTC")
STRINGS = pa.list_(pa.string())


def _field(name: str, kind: pa.DataType, doc: str, *, required: bool = False, text: bool = False) -> pa.Field:
    metadata = {"doc": doc} | ({"text": "1"} if text else {})
    return pa.field(name, kind, nullable=not required, metadata=metadata)


DOCUMENTS = pa.schema(
    [
        _field("source_path", pa.string(), "path below the input root", required=True),
        _field("content", pa.large_binary(), "raw bytes; null when the file could not be read", text=True),
        _field("num_bytes", pa.int64(), "size of the file", required=True),
        _field("read_error", pa.string(), "why the file could not be read"),
    ]
)

TRANSCRIPTS = pa.schema(
    [
        _field("transcript_id", pa.string(), "document and version", required=True),
        _field("call_id", pa.string(), "company and event date; several documents can tell one call"),
        _field("source_path", pa.string(), "path below the input root", required=True),
        _field("document_index", pa.int32(), "which document of the file, from 0", required=True),
        _field("format", pa.string(), "format module that read it, null when none did"),
        _field("status", pa.string(), "ok, no_qa_session, truncated, or why there is nothing to use", required=True),
        _field("status_detail", pa.string(), "what was found and what was expected, for every status but ok"),
        _field("company", pa.string(), "company name"),
        _field("ticker", pa.string(), "exchange symbol"),
        _field("cik", pa.string(), "SEC central index key"),
        _field("sector", pa.string(), "sector name"),
        _field("event_date", pa.date32(), "day of the call as the source gives it"),
        _field("event_time", UTC_TIME, "start of the call where the source gives hour and zone"),
        _field("available_at", UTC_TIME, "when the document became public, where the source says"),
        _field("fiscal_year", pa.int32(), "fiscal year of the call"),
        _field("fiscal_quarter", pa.int32(), "fiscal quarter of the call, 1 to 4"),
        _field("title", pa.string(), "title as the document gives it", text=True),
        _field("language", pa.string(), "ISO 639-1 code where known"),
        _field("encoding", pa.string(), "character encoding the bytes were read with"),
        _field("num_bytes", pa.int64(), "size of the file", required=True),
        _field("num_components", pa.int32(), "rows of COMPONENTS", required=True),
    ]
)

COMPONENTS = pa.schema(
    [
        _field("component_id", pa.string(), "one speaker's turn", required=True),
        _field("transcript_id", pa.string(), "its document", required=True),
        _field("call_id", pa.string(), "its call"),
        _field("position", pa.int32(), "place in the document, from 0", required=True),
        _field("section", pa.string(), "prepared_remarks or qa_session", required=True),
        _field("speaker", pa.string(), "name as resolved within the call"),
        _field("speaker_title", pa.string(), "title or position of the speaker"),
        _field("speaker_firm", pa.string(), "firm of the speaker"),
        _field("role", pa.string(), "operator, executive, analyst, moderator, unknown", required=True),
        _field("text", pa.string(), "what was said", text=True),
        _field("num_chars", pa.int32(), "length of the text", required=True),
        _field("char_start", pa.int64(), "start in the document's texts joined by a newline", required=True),
        _field("char_end", pa.int64(), "end in the same", required=True),
        _field("use", pa.string(), "question, answer, or the reason it is in no pair", required=True),
    ]
)

QA_PAIRS = pa.schema(
    [
        _field("pair_id", pa.string(), "one question with one respondent's answer", required=True),
        _field("call_id", pa.string(), "its call"),
        _field("transcript_id", pa.string(), "its document, null for rows of an input table"),
        _field("source_path", pa.string(), "path below the input root", required=True),
        _field("position", pa.int64(), "order within the document, or row of the input table, from 0", required=True),
        _field("question", pa.string(), "the question", text=True),
        _field("answer", pa.string(), "the answer", text=True),
        _field("asker", pa.string(), "who asks"),
        _field("asker_firm", pa.string(), "firm of who asks"),
        _field("responder", pa.string(), "who answers"),
        _field("responder_title", pa.string(), "title of who answers"),
        _field("question_component_ids", STRINGS, "components the question is made of"),
        _field("answer_component_ids", STRINGS, "components the answer is made of"),
        _field("follow_up_of", pa.string(), "pair_id of the same asker's exchange before, in one floor"),
        _field("question_types", STRINGS, "quantitative, temporal, binary, causal; null until classified"),
    ]
)

FILTERED_PAIRS = pa.schema(
    [
        _field("pair_id", pa.string(), "the pair", required=True),
        _field("call_id", pa.string(), "its call"),
        _field("transcript_id", pa.string(), "its document"),
        _field("exclusion_reason", pa.string(), "first filter that it fails; null = kept"),
        _field("scorable", pa.bool_(), "has a question and an answer to score", required=True),
        _field("num_question_chars", pa.int32(), "characters of the question", required=True),
        _field("num_answer_chars", pa.int32(), "characters of the answer", required=True),
    ]
)

ENCODINGS = pa.schema(
    [
        _field("pair_id", pa.string(), "the pair", required=True),
        _field("window", pa.int32(), "which window of the pair, from 0", required=True),
        _field("num_windows", pa.int32(), "windows of the pair", required=True),
        _field("input_ids", pa.list_(pa.int32()), "token ids, or feature indices of a sparse vector", required=True),
        _field("token_type_ids", pa.list_(pa.int8()), "segment of each token, null where the model has none"),
        _field("values", pa.list_(pa.float32()), "weights of a sparse vector, null for encoders"),
        _field("weight", pa.float32(), "share of the pair's pooled score, sums to 1 over its windows", required=True),
        _field("num_tokens", pa.int32(), "tokens of the whole pair, specials included", required=True),
        _field("truncated", pa.bool_(), "some token of the pair is in no window", required=True),
    ]
)

SCORE_BATCHES = pa.schema(
    [
        _field("num_sequences", pa.int64(), "windows in the batch", required=True),
        _field("num_tokens", pa.int64(), "real tokens in the batch", required=True),
        _field("num_padded_tokens", pa.int64(), "tokens computed, padding included", required=True),
    ]
)

DEAD_LETTERS = pa.schema(
    [
        _field("row_id", pa.string(), "id of the row in the stage's input", required=True),
        _field("stage", pa.string(), "stage that failed on it", required=True),
        _field("attempt", pa.int32(), "which attempt, from 1", required=True),
        _field("error", pa.string(), "type of the error", required=True),
        _field("reason", pa.string(), "message of the error", text=True),
        _field("traceback", pa.string(), "where it was raised", text=True),
        _field("input_ref", pa.string(), "source path and shard", required=True),
    ]
)


def scores_schema(label_sets: Sequence[LabelSet]) -> pa.Schema:
    """SCORES for a taxonomy: label, probabilities and, for numeric label sets, mean rating; float32, one row a pair."""
    fields = [
        _field("pair_id", pa.string(), "the pair", required=True),
        _field("model_version", pa.string(), "name and content hash of the model", required=True),
    ]
    for label_set in label_sets:
        kind = pa.int8() if label_set.numeric else pa.string()
        doc = f"most probable label: {label_set.meaning}"
        fields.append(_field(f"{label_set.name}_label", kind, doc, required=True))
        for column, label in zip(label_set.probability_columns, label_set.labels, strict=True):
            fields.append(_field(column, pa.float32(), f"probability of {label}", required=True))
        if label_set.numeric:
            fields.append(_field(f"{label_set.name}_mean", pa.float32(), "expected rating", required=True))
        else:
            fields.append(_field(f"{label_set.name}_status", pa.string(), "experimental or validated", required=True))
    fields += [
        _field("num_tokens", pa.int32(), "tokens of the whole pair, specials included", required=True),
        _field("num_windows", pa.int32(), "1, or the overlapping windows the pair was scored in", required=True),
        _field("truncated", pa.bool_(), "some token of the pair was in no window", required=True),
    ]
    return pa.schema(fields)


def conform(table: pa.Table, schema: pa.Schema, name: str) -> pa.Table:
    """Return ``table`` with exactly the columns, order and types of ``schema``.

    Missing nullable columns become null; a safe cast is tried. Raises SchemaError for an unknown or a missing required
    column, MisfitError for a null in a required one or a value that does not fit the type.
    """
    unknown = [column for column in table.column_names if column not in schema.names]
    if unknown:
        raise SchemaError(f"{name}: unknown columns {unknown}; the contract has {schema.names}")
    columns = []
    for field in schema:
        if field.name not in table.column_names:
            if not field.nullable:
                raise SchemaError(f"{name}: required column {field.name} is missing; got {table.column_names}")
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table.column(field.name)
        if column.type != field.type:
            try:
                column = column.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise MisfitError(f"{name}.{field.name}: {column.type} does not fit {field.type}: {error}") from error
        if not field.nullable and column.null_count:
            raise MisfitError(f"{name}.{field.name}: {column.null_count} nulls in a required column")
        columns.append(column)
    return pa.table(columns, schema=schema)


def empty(schema: pa.Schema) -> pa.Table:
    """A table of the schema without rows."""
    return schema.empty_table()


def from_rows(rows: Sequence[Mapping[str, object]], schema: pa.Schema) -> pa.Table:
    """Build a table from dictionaries; keys that are missing become null. Raises MisfitError on a wrong value."""
    try:
        return pa.Table.from_pylist(list(rows), schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
        raise MisfitError(f"rows do not fit {schema.names}: {error}") from error


def text_columns(schema: pa.Schema) -> tuple[str, ...]:
    """Columns that carry transcript text."""
    return tuple(field.name for field in schema if (field.metadata or {}).get(b"text") == b"1")

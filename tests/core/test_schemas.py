import pyarrow as pa
import pytest

from ecqa.core.errors import SchemaError
from ecqa.core.schemas import COMPONENTS, FILTERED_PAIRS, QA_PAIRS, conform, from_rows, scores_schema, text_columns
from ecqa.core.taxonomy import load_taxonomy


def _filtered(**changes: object) -> dict[str, object]:
    row = {"pair_id": "p", "scorable": True, "num_question_chars": 3, "num_answer_chars": 4}
    return row | changes


def test_conform_fills_orders_and_casts() -> None:
    table = pa.table({"num_answer_chars": [4], "pair_id": ["p"], "scorable": [True], "num_question_chars": [3]})
    made = conform(table, FILTERED_PAIRS, "filtered_pairs")
    assert made.schema.equals(FILTERED_PAIRS, check_metadata=True)
    assert made.to_pylist()[0] == _filtered(call_id=None, transcript_id=None, exclusion_reason=None)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (_filtered(surprise=1), "unknown columns"),
        ({"pair_id": "p", "scorable": True, "num_question_chars": 3}, "num_answer_chars is missing"),
        (_filtered(pair_id=None), "1 nulls in a required column"),
        (_filtered(num_question_chars="many"), "does not fit"),
    ],
)
def test_conform_names_what_is_wrong(row: dict[str, object], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        conform(pa.Table.from_pylist([row]), FILTERED_PAIRS, "filtered_pairs")


def test_rows_of_a_wrong_type_are_an_error() -> None:
    with pytest.raises(SchemaError):
        from_rows([_filtered(num_question_chars="x")], FILTERED_PAIRS)


def test_scores_follow_from_the_taxonomy() -> None:
    label_sets = load_taxonomy("subjectivity-v1").label_sets + load_taxonomy("evasion-v1").label_sets
    names = scores_schema(label_sets).names
    assert {"clear_label", "clear_p0", "clear_p2", "clear_mean", "relevant_mean"} <= set(names)
    assert {"evasion_label", "evasion_p_fully_evasive", "evasion_status"} <= set(names)
    assert "evasion_mean" not in names


def test_text_columns_are_marked() -> None:
    assert text_columns(QA_PAIRS) == ("question", "answer")
    assert text_columns(COMPONENTS) == ("text",)

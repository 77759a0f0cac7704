import pyarrow as pa
import pytest

from ecqa.core.errors import SchemaError
from ecqa.core.redact import redact
from ecqa.core.schemas import QA_PAIRS, from_rows

TEXT = "Revenue grew because our customers in Europe ordered more machines than a year ago."


def _pairs(**changes: object) -> pa.Table:
    row = {
        "pair_id": "p",
        "source_path": "a.html",
        "position": 0,
        "question": "Why?",
        "answer": TEXT,
        "responder": "Jo Roe",
    }
    return from_rows([row | changes], QA_PAIRS)


def test_text_goes_and_names_stay() -> None:
    made = redact({"qa_pairs": _pairs()}, {"qa_pairs": QA_PAIRS})["qa_pairs"]
    assert made.schema.equals(QA_PAIRS, check_metadata=True)
    row = made.to_pylist()[0]
    assert (row["question"], row["answer"]) == (None, None)
    assert (row["pair_id"], row["responder"]) == ("p", "Jo Roe")


def test_text_that_strayed_into_a_name_goes_too() -> None:
    row = redact({"qa_pairs": _pairs(responder=TEXT[:70])}, {"qa_pairs": QA_PAIRS})["qa_pairs"].to_pylist()[0]
    assert row["responder"] is None


def test_text_in_a_required_column_is_an_error() -> None:
    with pytest.raises(SchemaError, match="pair_id: holds transcript text"):
        redact({"qa_pairs": _pairs(pair_id=TEXT)}, {"qa_pairs": QA_PAIRS})

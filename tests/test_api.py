import pandas as pd
import pyarrow as pa
import pytest

import ecqa
from ecqa.core.errors import InputError

TABLE = pa.table(
    {
        "pair_id": ["b", "a", "c"],
        "Question": ["How much did you spend?", None, "When will it open?"],
        "Answer": ["Thirty million dollars.", "Yes.", "It is too early to say."],
    }
)


def test_arrow_row_for_row(stub_model: str) -> None:
    made = ecqa.score(TABLE, model=stub_model)
    assert made.column("pair_id").to_pylist() == ["b", "a", "c"]
    assert made.column("exclusion_reason").to_pylist()[1] == "empty_question"
    labels = made.column("clear_label").to_pylist()
    assert labels[1] is None
    assert set(labels) - {None} <= {0, 1, 2}


def test_excluded_rows_are_left_unscored_when_asked(stub_model: str) -> None:
    made = ecqa.score(TABLE, model=stub_model, drop_excluded=True)
    assert made.column("clear_label").null_count == 3, "all three are shorter than 500 characters"


def test_pandas_in_pandas_out(stub_model: str) -> None:
    made = ecqa.score(TABLE.to_pandas(), model=stub_model)
    assert isinstance(made, pd.DataFrame)
    assert list(made["pair_id"]) == ["b", "a", "c"]


@pytest.mark.parametrize("table", [pa.table({"q": ["x"]}), [1, 2]])
def test_what_is_no_table_of_pairs(table: object, stub_model: str) -> None:
    with pytest.raises(InputError):
        ecqa.score(table, model=stub_model)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'scores'"):
        _ = ecqa.scores  # type: ignore[attr-defined]

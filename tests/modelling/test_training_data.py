from pathlib import Path

import pandas as pd
import pytest

from ecqa.core.errors import InputError
from ecqa.modelling.training_data import read_labelled_pairs, split_by_group
from tests.modelling import tiny


def write(path: Path, **columns: list[object]) -> Path:
    rows = {"QUESTION": ["how ?", "why ?", None], "ANSWER": ["yes", "no", "so"], "CLEAR": [2, None, 0]}
    pd.DataFrame(rows | {"Level": ["direct", "", "fully_evasive"]} | columns).to_csv(path, index=False)
    return path


def test_case_names_and_missing_labels(tmp_path: Path) -> None:
    path = write(tmp_path / "pairs.csv")
    pairs = read_labelled_pairs(path, tiny.label_sets(), columns={"level": "evasion"}, group_by=("answer",))
    assert pairs.questions == ("how ?", "why ?", "")
    assert pairs.labels["clear"].tolist() == [2, -1, 0]
    assert pairs.labels["evasion"].tolist() == [0, -1, 2]
    assert pairs.groups == ("yes", "no", "so")


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_labelled_pairs(tmp_path / "absent.csv", tiny.label_sets())
    with pytest.raises(InputError, match="evasion.*missing"):
        read_labelled_pairs(write(tmp_path / "a.csv"), tiny.label_sets())
    with pytest.raises(InputError, match="clear has unknown labels.*7"):
        read_labelled_pairs(write(tmp_path / "b.csv", CLEAR=[7, 1, 0]), tiny.label_sets()[:1])


def test_groups_never_part(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"question": "q", "answer": [str(i) for i in range(200)], "clear": 1, "call": [i // 7 for i in range(200)]}
    )
    frame.to_parquet(tmp_path / "pairs.parquet")
    pairs = read_labelled_pairs(tmp_path / "pairs.parquet", tiny.label_sets()[:1], group_by=("call",))
    rest, apart = split_by_group(pairs, 0.2, 5)
    assert not set(rest.groups) & set(apart.groups)
    assert len(rest) + len(apart) == 200
    assert 20 < len(apart) <= 40
    assert split_by_group(pairs, 0.2, 5)[1].answers == apart.answers
    assert split_by_group(pairs, 0.2, 6)[1].answers != apart.answers

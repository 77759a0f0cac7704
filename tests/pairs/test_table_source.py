import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecqa.core.errors import InputError
from ecqa.core.shards import group_items
from ecqa.core.sources import list_input
from ecqa.pairs.table_source import TableSource, pairs_from_table


def _read(path: Path, max_rows: int = 2) -> tuple[pa.Table, pa.Table, int]:
    listing = list_input(str(path))
    source = TableSource(listing, max_rows)
    items = [item for file in listing.files for item in source.cut(file)]
    shards = list(group_items(items, source.limits))
    made = [source.read(shard) for shard in shards]
    return (
        pa.concat_tables(tables["qa_pairs"] for tables in made),
        pa.concat_tables(tables["dead_letters"] for tables in made),
        len(shards),
    )


def _write_csv(path: Path, rows: list[dict[str, str]], **options: str) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), **options)  # type: ignore[arg-type]
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_parquet_rows_in_order_across_row_groups(tmp_path: Path) -> None:
    table = pa.table({"Question": [f"q{i}" for i in range(11)], "ANSWER": [f"a{i}" for i in range(11)]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=4)
    pairs, _, shards = _read(tmp_path / "t.parquet", max_rows=3)
    assert pairs.column("question").to_pylist() == table.column("Question").to_pylist()
    assert pairs.column("position").to_pylist() == list(range(11))
    assert len(set(pairs.column("pair_id").to_pylist())) == 11
    assert shards == 5


def test_ids_do_not_depend_on_the_size_of_shards(tmp_path: Path) -> None:
    rows = [{"question": "same?", "answer": "same"}] * 5
    path = _write_csv(tmp_path / "t.csv", rows)
    one, other = _read(path, 1)[0], _read(path, 4)[0]
    assert one.equals(other)
    assert len(set(one.column("pair_id").to_pylist())) == 5


def test_own_ids_and_people_are_kept(tmp_path: Path) -> None:
    row = {"ID": "7", "ASKER": "A", "Respondent": "R", "question": "q", "answer": "a"}
    row |= {"COMPANYTICKER": "XYZ", "year": "2020", "quarter": "2"}
    pairs = _read(_write_csv(tmp_path / "t.csv", [row]))[0].to_pylist()[0]
    assert (pairs["pair_id"], pairs["asker"], pairs["responder"], pairs["call_id"]) == ("7", "A", "R", "XYZ-2020-Q2")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"])), st.text("ab\",\n;'")),
        min_size=1,
        max_size=20,
    ),
    st.integers(1, 7),
)
def test_any_csv_is_cut_at_record_ends(tmp_path: Path, texts: list[tuple[str, str]], max_rows: int) -> None:
    rows = [{"question": "q" + question, "answer": "a" + answer} for question, answer in texts]
    pairs, dead, _ = _read(_write_csv(tmp_path / "t.csv", rows), max_rows)
    assert pairs.select(["question", "answer"]).to_pylist() == rows
    assert dead.num_rows == 0


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters(tmp_path: Path, delimiter: str) -> None:
    path = _write_csv(tmp_path / "t.csv", [{"question": "a, b?", "answer": "c"}], delimiter=delimiter)
    assert _read(path)[0].column("question").to_pylist() == ["a, b?"]


def test_windows_encoding_and_bom(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_bytes("question,answer\nwhy?,we don’t know\n".encode("cp1252"))
    assert _read(tmp_path / "w.csv")[0].column("answer").to_pylist() == ["we don’t know"]
    (tmp_path / "b.csv").write_bytes("﻿question,answer\nwhy?,so\n".encode())
    assert _read(tmp_path / "b.csv")[0].column("question").to_pylist() == ["why?"]


def test_a_record_of_the_wrong_width_is_a_dead_letter(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("question,answer\nq1,a1\nq2,a2,surplus\nq3,a3\n")
    pairs, dead, _ = _read(tmp_path / "t.csv", max_rows=10)
    assert pairs.column("question").to_pylist() == ["q1", "q3"]
    letter = dead.to_pylist()[0]
    assert letter["stage"] == "read"
    assert "another number of columns" in letter["reason"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"text,label\nx,1\n", "needs the columns question and answer, got text, label"),
        ("t.csv", b"", "needs the columns question and answer"),
        ("t.csv", "question,answer\n".encode("utf-16"), "UTF-16"),
        ("t.parquet", b"PAR1 nonsense", "not a readable Parquet file"),
    ],
)
def test_bad_tables_are_one_line(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        _read(tmp_path / name)


@pytest.mark.parametrize("change", ["gone", "other"])
def test_a_table_that_changes_after_it_was_listed_is_no_silent_loss(tmp_path: Path, change: str) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"question": ["q"] * 20, "answer": ["a"] * 20}), path)
    source = TableSource(list_input(str(path)).__class__(str(tmp_path), list_input(str(path)).files, 0), 5)
    shard = next(group_items(source.cut(source.listing.files[0]), source.limits))
    path.unlink() if change == "gone" else pq.write_table(pa.table({"question": ["q"], "answer": ["a"]}), path)
    with pytest.raises(InputError, match="since it was listed; run the same command again"):
        source.read(shard)


def test_small_tables_share_a_shard(tmp_path: Path) -> None:
    for number in range(10):
        pq.write_table(pa.table({"question": ["q"] * 2, "answer": ["a"] * 2}), tmp_path / f"{number}.parquet")
    pairs, _, shards = _read(tmp_path, max_rows=8)
    assert (pairs.num_rows, shards) == (20, 3)


@pytest.mark.parametrize(
    "kind", [pa.binary(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.large_binary()]
)
def test_text_of_any_arrow_type(kind: pa.DataType) -> None:
    column = pa.array([b"caf\xff", None] if "binary" in str(kind) else ["caf\ufffd", None]).cast(kind)
    assert pairs_from_table(pa.table({"question": column, "answer": column})).column("answer").to_pylist() == [
        "caf\ufffd",
        None,
    ]


def test_a_column_that_stands_twice(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("question,Question,answer\nq,r,a\n")
    with pytest.raises(InputError, match="column question more than once"):
        _read(tmp_path / "t.csv")


def test_columns_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no text"):
        pairs_from_table(pa.table({"question": [[1]], "answer": ["a"]}))


def test_of_equal_ids_the_first_keeps_it() -> None:
    table = pa.table({"id": ["a", "a", None], "question": ["q", "q", "q"], "answer": ["x", "x", "x"]})
    ids = pairs_from_table(table).column("pair_id").to_pylist()
    assert ids[0] == "a"
    assert len(set(ids)) == 3


def test_a_quote_within_a_field_is_just_a_quote(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('question,answer\nHow long?,5" pipe\nq2,a2\nq3,"a, 3"\n')
    pairs, dead, _ = _read(tmp_path / "t.csv", max_rows=1)
    assert pairs.column("answer").to_pylist() == ['5" pipe', "a2", "a, 3"]
    assert dead.num_rows == 0


def test_ids_do_not_depend_on_the_cut_where_records_are_broken_or_blank(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("question,answer\nq1,a1\n\nq2,a2,surplus\nq3,a3\nq4\n\nq5,a5\n")
    one, other = _read(tmp_path / "t.csv", 1), _read(tmp_path / "t.csv", 100)
    assert one[0].equals(other[0])
    assert one[0].column("position").to_pylist() == [0, 2, 4]
    assert sorted(one[1].column("row_id").to_pylist()) == sorted(other[1].column("row_id").to_pylist())


def test_one_encoding_a_file(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"question,answer\nq1,caf\xc3\xa9\nq2,caf\xe9\n")
    assert _read(tmp_path / "t.csv", 1)[0].column("answer").to_pylist() == ["caf\u00c3\u00a9", "caf\u00e9"]


def test_old_line_ends_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"question,answer\rq1,a1\rq2,a2\r")
    with pytest.raises(InputError, match="line ends|question and answer"):
        _read(tmp_path / "t.csv")


def test_nulls_stay_null() -> None:
    pairs = pairs_from_table(pa.table({"question": ["q", None], "answer": [None, "a"]}))
    assert pairs.column("answer").to_pylist() == [None, "a"]

import random
from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from ecqa.core.errors import ConfigError, SchemaError
from ecqa.core.schemas import ENCODINGS
from ecqa.modelling.encoding import EncodeConfig, EncodeTransform, encode_stage, texts
from tests.modelling import tiny


@pytest.fixture(scope="module")
def encode(tmp_path_factory: pytest.TempPathFactory) -> EncodeTransform:
    path = tiny.write_encoder(tmp_path_factory.mktemp("encoding") / "tiny")
    return EncodeTransform(EncodeConfig(model=str(path)))


def test_only_scorable_pairs_are_encoded_in_order(encode: EncodeTransform) -> None:
    tables = tiny.pair_tables(["how ?"] * 4, ["yes"] * 4, scorable=[True, False, True, True])
    encodings = encode(tables)["encodings"]
    assert encodings.schema == ENCODINGS
    assert encodings["pair_id"].to_pylist() == ["pair_0", "pair_2", "pair_3"]


def test_excluded_pairs_are_left_out_when_asked(encode: EncodeTransform) -> None:
    tables = tiny.pair_tables(["how ?"] * 3, ["yes"] * 3, exclusion_reason=[None, "too short", None])
    dropping = EncodeTransform(encode.config.model_copy(update={"drop_excluded": True}))
    assert encode(tables)["encodings"].num_rows == 3
    assert dropping(tables)["encodings"]["pair_id"].to_pylist() == ["pair_0", "pair_2"]


def test_filtered_pairs_in_another_order_are_joined(encode: EncodeTransform) -> None:
    tables = tiny.pair_tables(["how ?"] * 3, ["yes"] * 3, scorable=[True, False, True])
    tables["filtered_pairs"] = tables["filtered_pairs"].take([2, 1, 0])
    assert encode(tables)["encodings"]["pair_id"].to_pylist() == ["pair_0", "pair_2"]
    tables["filtered_pairs"] = tables["filtered_pairs"].slice(0, 2)
    with pytest.raises(SchemaError, match="1 of 3 pairs"):
        encode(tables)


def test_a_row_does_not_depend_on_its_neighbours(encode: EncodeTransform) -> None:
    tables = tiny.varied_pairs(40)
    whole = encode(tables)["encodings"].to_pylist()
    alone = []
    for row in range(40):
        alone += encode({name: table.slice(row, 1) for name, table in tables.items()})["encodings"].to_pylist()
    assert whole == alone


def test_hostile_text_and_no_rows(encode: EncodeTransform) -> None:
    texts_in = ["", None, "x" * 1_000_000, "a\0b\0", "\u202e\ufffe", "how " * 20_000, "é" * 5000, " \n\t "]
    encodings = encode(tiny.pair_tables(texts_in, list(reversed(texts_in))))["encodings"]
    assert len(set(encodings["pair_id"].to_pylist())) == len(texts_in)
    assert encode(tiny.pair_tables([], []))["encodings"].num_rows == 0


def test_random_unicode_does_not_break(encode: EncodeTransform) -> None:
    generator = random.Random(5)
    strange = ["".join(chr(generator.randrange(1, 0xD800)) for _ in range(200)) for _ in range(20)]
    assert encode(tiny.pair_tables(strange, strange))["encodings"].num_rows >= 20


def test_bytes_that_are_no_text_become_replacement_characters() -> None:
    surrogate = pa.array([b"ok \xed\xa0\x80", None, b"\xff"], pa.binary()).view(pa.string())
    assert texts(pa.chunked_array([surrogate])) == ["ok \ufffd\ufffd\ufffd", "", "\ufffd"]


def test_stage_and_config() -> None:
    stage = encode_stage(EncodeConfig())
    assert (stage.name, stage.unit, stage.pool, stage.outputs) == ("encode_pairs", "pair_id", "task", ("encodings",))
    with pytest.raises(ValidationError, match="max_token"):
        EncodeConfig(max_token=3)  # type: ignore[call-arg]


def test_the_default_window_is_the_model_s(tmp_path: Path, encode: EncodeTransform) -> None:
    shorter = EncodeTransform(encode.config.model_copy(update={"max_tokens": 16}))
    lengths = [len(ids) for ids in shorter(tiny.varied_pairs(30))["encodings"]["input_ids"].to_pylist()]
    assert max(lengths) <= 16
    assert max(len(ids) for ids in encode(tiny.varied_pairs(30))["encodings"]["input_ids"].to_pylist()) == 32


def test_an_absurdly_long_answer_makes_a_bounded_number_of_windows(encode: EncodeTransform) -> None:
    short = EncodeTransform(encode.config.model_copy(update={"max_pair_tokens": 100}))
    rows = short(tiny.pair_tables(["how ?"] * 3, ["yes " * 100, "yes " * 101, "yes " * 5000]))["encodings"].to_pylist()
    by_pair = [[row for row in rows if row["pair_id"] == f"pair_{pair}"] for pair in range(3)]
    assert len(by_pair[0]) == len(by_pair[1]) == len(by_pair[2]) > 1
    assert [windows[0]["truncated"] for windows in by_pair] == [False, True, True]
    assert [windows[0]["num_tokens"] for windows in by_pair] == [105, 106, 5005]
    assert [row["input_ids"] for row in by_pair[0]] == [row["input_ids"] for row in by_pair[2]]


def test_the_longest_pair_holds_a_window(encode: EncodeTransform) -> None:
    assert EncodeConfig().max_pair_tokens == 50_000
    with pytest.raises(ValidationError, match="max_pair_tokens 64: must be max_tokens .128. or more"):
        EncodeConfig(max_tokens=128, max_pair_tokens=64)
    with pytest.raises(ConfigError, match="max_pair_tokens 16: must be max_tokens .32. or more"):
        EncodeTransform(encode.config.model_copy(update={"max_pair_tokens": 16}))

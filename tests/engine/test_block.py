import pyarrow as pa

from ecqa.core.schemas import DEAD_LETTERS, QA_PAIRS, from_rows
from ecqa.core.shards import Item, make_shard
from ecqa.engine.block import Header, pack, unpack

SCHEMAS = {"qa_pairs": QA_PAIRS, "dead_letters": DEAD_LETTERS}


def _pairs(*ids: str) -> pa.Table:
    rows = [{"pair_id": i, "source_path": "a", "position": n, "question_types": ["binary"]} for n, i in enumerate(ids)]
    return from_rows(rows, QA_PAIRS)


def test_round_trip_of_full_and_empty_tables() -> None:
    header = Header(make_shard([Item("a", 1, "v")]).to_dict(), timings={"read": 0.5})
    tables = {
        "qa_pairs": pa.concat_tables([_pairs("p1", "p2"), _pairs("p3")]),
        "dead_letters": DEAD_LETTERS.empty_table(),
    }
    block = pack(header, tables)
    assert block.num_rows == 1
    back, made = unpack(block, 0, SCHEMAS)
    assert back == header
    assert made["qa_pairs"].equals(tables["qa_pairs"])
    assert made["qa_pairs"].schema.equals(QA_PAIRS, check_metadata=True)
    assert made["dead_letters"].num_rows == 0


def test_blocks_that_ray_joined_come_apart_again() -> None:
    shards = [make_shard([Item(name, 1, "v")]) for name in "ab"]
    blocks = [pack(Header(s.to_dict()), {"qa_pairs": _pairs(s.items[0].path)}) for s in shards]
    joined = pa.concat_tables(blocks).combine_chunks()
    for row, shard in enumerate(shards):
        header, made = unpack(joined, row, SCHEMAS)
        assert header.descriptor == shard
        assert made["qa_pairs"].column("pair_id").to_pylist() == [shard.items[0].path]

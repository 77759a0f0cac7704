from ecqa.core.shards import Item, Limits, Shard, group_items, make_shard


def _items(*sizes: int) -> list[Item]:
    return [Item(f"file{number}", size, "v1") for number, size in enumerate(sizes)]


def test_groups_keep_order_and_limits() -> None:
    groups = [[i.path for i in s.items] for s in group_items(_items(5, 5, 50, 1, 1, 1), Limits(2, 10))]
    assert groups == [["file0", "file1"], ["file2"], ["file3", "file4"], ["file5"]]


def test_ids_follow_from_content() -> None:
    one, other = make_shard(_items(1, 2)), make_shard(_items(1, 2))
    assert one.shard_id == other.shard_id
    assert make_shard([Item("file0", 1, "v2"), Item("file1", 2, "v1")]).shard_id != one.shard_id


def test_round_trip() -> None:
    shard = make_shard([Item("a", 1, "v", 0, 10, 0)])
    assert Shard.from_dict(shard.to_dict()) == shard


def test_rows_are_a_limit_too() -> None:
    items = [Item(f"t{n}", 1, "v", 0, 4, 0, num_rows=4) for n in range(5)]
    assert [len(shard.items) for shard in group_items(items, Limits(99, 99, num_rows=9))] == [2, 2, 1]

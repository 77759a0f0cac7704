from pathlib import Path

import pytest

from ecqa.core.errors import FingerprintError
from ecqa.core.ledger import Ledger, Plan, table_path
from ecqa.core.shards import Item
from ecqa.core.storage import Storage


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(Storage(str(tmp_path)))


def _plan(ledger: Ledger, *items: Item, write: bool = True) -> Plan:
    return ledger.plan(items, max_items=2, max_bytes=1000, write=write)


A, B, C = Item("a", 1, "v1"), Item("b", 1, "v1"), Item("c", 1, "v1")


def test_one_fingerprint_and_one_root(ledger: Ledger) -> None:
    ledger.open({"model": "m1"}, "/in")
    ledger.open({"model": "m1"}, "/in")
    with pytest.raises(FingerprintError, match="model: there m1, now m2"):
        ledger.open({"model": "m2"}, "/in")
    with pytest.raises(FingerprintError, match="input root"):
        ledger.open({"model": "m1"}, "/elsewhere")


def test_a_plan_is_kept_and_extended(ledger: Ledger) -> None:
    first = _plan(ledger, A, B)
    again = _plan(ledger, A, B)
    assert again.shards == first.shards
    more = _plan(ledger, A, B, C)
    assert [[i.path for i in s.items] for s in more.shards] == [["a", "b"], ["c"]]


def test_a_dry_run_writes_nothing(ledger: Ledger) -> None:
    assert len(_plan(ledger, A, B, C, write=False).shards) == 2
    assert ledger.storage.list() == []


def test_changed_input_retires_its_shard_and_its_neighbours_are_planned_anew(ledger: Ledger) -> None:
    first = _plan(ledger, A, B, C)
    changed = _plan(ledger, Item("a", 2, "v2"), B, C)
    assert changed.num_changed == 1
    assert changed.retired == {first.shards[0].shard_id}
    assert sorted(i.path for s in changed.shards for i in s.items) == ["a", "b", "c"]
    assert _plan(ledger, Item("a", 2, "v2"), B, C).retired == changed.retired


def test_input_that_is_gone_keeps_its_rows(ledger: Ledger) -> None:
    first = _plan(ledger, A, B, C)
    later = _plan(ledger, A)
    assert (later.num_gone, later.num_changed) == (2, 0)
    assert later.shards == first.shards


def test_a_table_that_is_cut_elsewhere_is_a_change(ledger: Ledger) -> None:
    first = _plan(ledger, Item("t", 9, "v1", 0, 5), Item("t", 9, "v1", 5, 9))
    later = _plan(ledger, Item("t", 12, "v2", 0, 6), Item("t", 12, "v2", 6, 12))
    assert later.retired == {shard.shard_id for shard in first.shards}
    assert [(i.start, i.stop) for s in later.shards for i in s.items] == [(0, 6), (6, 12)]


def test_the_first_commit_counts(ledger: Ledger) -> None:
    assert ledger.commit("s_1", {"counts": {"pairs": 1}})
    assert not ledger.commit("s_1", {"counts": {"pairs": 2}})
    assert ledger.done() == {"s_1"}
    assert ledger.entries(["s_1"]) == [{"counts": {"pairs": 1}}]


def test_cleaning_removes_what_no_entry_stands_behind(ledger: Ledger) -> None:
    plan = _plan(ledger, A, B, C)
    done, lost = (shard.shard_id for shard in plan.shards)
    ledger.commit(done, {})
    kept = [table_path("scores", done, "f", []), table_path("parts", done, "f", ["parts"]), "scores/empty-f.parquet"]
    orphans = [table_path("scores", lost, "f", []), table_path("parts", lost, "f", ["parts"])]
    for path in kept + orphans:
        ledger.storage.write(path, b"x")
    assert ledger.clean(plan, ["scores"], ["parts"]) == 2
    left = {info.path for info in ledger.storage.list()}
    assert set(kept) <= left
    assert not left & set(orphans)


def test_retired_entries_go_with_their_files(ledger: Ledger) -> None:
    first = _plan(ledger, A)
    ledger.commit(first.shards[0].shard_id, {})
    ledger.storage.write(table_path("scores", first.shards[0].shard_id, "f", []), b"x")
    changed = _plan(ledger, Item("a", 1, "v2"))
    assert ledger.clean(changed, ["scores"], []) == 1
    assert ledger.done() == set()


def test_stop_marks(ledger: Ledger) -> None:
    assert not ledger.asked_to_stop("r")
    ledger.ask_to_stop("r")
    assert ledger.asked_to_stop("r")
    ledger.clear_stop("r")
    assert not ledger.asked_to_stop("r")

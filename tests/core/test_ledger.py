from collections.abc import Callable
from pathlib import Path

import pytest

from ecqa.core.errors import FingerprintError, OutputError
from ecqa.core.ledger import Ledger, Plan, table_path
from ecqa.core.shards import Item, Limits
from ecqa.core.storage import FileInfo, Storage

Cut = Callable[[FileInfo], list[Item]]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(Storage(str(tmp_path)))


def _whole(file: FileInfo) -> list[Item]:
    return [Item(file.path, file.num_bytes, file.version)]


def _plan(ledger: Ledger, *files: FileInfo, write: bool = True, cut: Cut = _whole) -> Plan:
    return ledger.plan(files, cut, limits=Limits(2, 1000), write=write)


F = "0123456789ab"
ENTRY = {"shard": {}, "files": [], "counts": {}, "timings": {}, "began": {}}
A, B, C = FileInfo("a", 1, "v1"), FileInfo("b", 1, "v1"), FileInfo("c", 1, "v1")


def test_one_fingerprint_and_one_root(ledger: Ledger) -> None:
    ledger.open({"model": "m1"}, "/in")
    ledger.open({"model": "m1"}, "/in")
    ledger.commit("s_1", ENTRY)
    with pytest.raises(FingerprintError, match="model: there m1, now m2"):
        ledger.open({"model": "m2"}, "/in")
    with pytest.raises(FingerprintError, match="input root"):
        ledger.open({"model": "m1"}, "/elsewhere")


def test_a_claim_without_work_is_given_up(ledger: Ledger) -> None:
    ledger.open({"model": "m1"}, "/in")
    _plan(ledger, A)
    ledger.open({"model": "m2"}, "/in")
    assert len(_plan(ledger, B).shards) == 1
    ledger.commit("s_1", ENTRY)
    with pytest.raises(FingerprintError):
        ledger.open({"model": "m1"}, "/in")


def test_an_entry_put_while_cleaning_does_not_count(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = _plan(ledger, A)
    late = plan.shards[0].shard_id
    ledger.storage.write(table_path("scores", late, F, []), b"x")
    files = Ledger.files

    def put_meanwhile(self: Ledger, *tables: list[str]) -> list[str]:
        self.commit(late, ENTRY)
        return files(self, *tables)

    monkeypatch.setattr(Ledger, "files", put_meanwhile)
    assert ledger.clean(plan, ["scores"], []) == (1, set())
    assert ledger.done() == set()


@pytest.mark.parametrize("path", ["plan/000001.json.gz", "run.json", "shards/s_1.json"])
def test_a_damaged_ledger_is_one_line(ledger: Ledger, path: str) -> None:
    ledger.storage.write(f"_ecqa/{path}", b"{half")

    def use() -> None:
        ledger.open({"model": "m1"}, "/in")
        _plan(ledger, A)
        list(ledger.entries(["s_1"]))

    with pytest.raises(OutputError, match=f"{path}: this part of the ledger is damaged"):
        use()


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
    changed = _plan(ledger, FileInfo("a", 2, "v2"), B, C)
    assert changed.num_changed == 1
    assert changed.retired == {first.shards[0].shard_id}
    assert sorted(i.path for s in changed.shards for i in s.items) == ["a", "b", "c"]
    assert _plan(ledger, FileInfo("a", 2, "v2"), B, C).retired == changed.retired


def test_input_that_is_gone_keeps_its_rows(ledger: Ledger) -> None:
    first = _plan(ledger, A, B, C)
    later = _plan(ledger, A)
    assert (later.num_gone, later.num_changed) == (2, 0)
    assert later.shards == first.shards


def _in_runs(size: int) -> Cut:
    def cut(file: FileInfo) -> list[Item]:
        ends = range(0, file.num_bytes, size)
        return [Item(file.path, file.num_bytes, file.version, at, min(at + size, file.num_bytes)) for at in ends]

    return cut


def test_another_shard_size_leaves_finished_work_alone(ledger: Ledger) -> None:
    first = _plan(ledger, FileInfo("t", 9, "v1"), cut=_in_runs(5))
    again = _plan(ledger, FileInfo("t", 9, "v1"), cut=_in_runs(2))
    assert again.shards == first.shards
    assert not again.retired


def test_a_table_that_changed_is_cut_anew(ledger: Ledger) -> None:
    first = _plan(ledger, FileInfo("t", 9, "v1"), cut=_in_runs(5))
    later = _plan(ledger, FileInfo("t", 12, "v2"), cut=_in_runs(6))
    assert later.retired == {shard.shard_id for shard in first.shards}
    assert [(i.start, i.stop) for s in later.shards for i in s.items] == [(0, 6), (6, 12)]


def test_the_first_commit_counts(ledger: Ledger) -> None:
    assert ledger.commit("s_1", ENTRY | {"counts": {"pairs": 1}})
    assert not ledger.commit("s_1", ENTRY | {"counts": {"pairs": 2}})
    assert ledger.done() == {"s_1"}
    assert list(ledger.entries(["s_1"])) == [ENTRY | {"counts": {"pairs": 1}}]


def test_cleaning_removes_what_no_entry_stands_behind(ledger: Ledger) -> None:
    plan = _plan(ledger, A, B, C)
    done, lost = (shard.shard_id for shard in plan.shards)
    ledger.commit(done, ENTRY)
    kept = [table_path("scores", done, F, []), table_path("parts", done, F, ["parts"]), f"scores/empty-{F}.parquet"]
    orphans = [table_path("scores", lost, F, []), table_path("parts", lost, F, ["parts"])]
    for path in kept + orphans:
        ledger.storage.write(path, b"x")
    assert ledger.clean(plan, ["scores"], ["parts"]) == (2, {done})
    left = {info.path for info in ledger.storage.list()}
    assert set(kept) <= left
    assert not left & set(orphans)


def test_files_of_others_are_never_touched(ledger: Ledger) -> None:
    for path in ("scores/mine.csv", "scores/s_1-f.parquet", "call_scores/all-x.parquet"):
        ledger.storage.write(path, b"precious")
    with pytest.raises(OutputError, match="its folder scores/ holds files"):
        ledger.open({"model": "m1"}, "/in", ["scores"])
    assert ledger.clean(_plan(ledger, A), ["scores"], []) == (0, set())
    assert len(ledger.storage.list("scores")) == 2


def test_retired_entries_go_with_their_files(ledger: Ledger) -> None:
    first = _plan(ledger, A)
    ledger.commit(first.shards[0].shard_id, ENTRY)
    ledger.storage.write(table_path("scores", first.shards[0].shard_id, F, []), b"x")
    changed = _plan(ledger, FileInfo("a", 1, "v2"))
    assert ledger.clean(changed, ["scores"], []) == (1, set())
    assert ledger.done() == set()


def test_stop_marks(ledger: Ledger) -> None:
    assert not ledger.asked_to_stop("r")
    ledger.ask_to_stop("r")
    assert ledger.asked_to_stop("r")
    ledger.clear_stop("r")
    assert not ledger.asked_to_stop("r")

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ecqa.core.errors import OutputError
from ecqa.core.lease import FOLDER, Lease, process_start, this_process
from ecqa.core.storage import Storage


def _held_by(tmp_path: Path, **changes: object) -> Storage:
    storage = Storage(str(tmp_path))
    storage.write(
        f"{FOLDER}/000007.json", json.dumps({"run_id": "other", **this_process(), "beat": "1", **changes}).encode()
    )
    return storage


def test_one_at_a_time_and_free_afterwards(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    with (
        Lease(storage, "first"),
        pytest.raises(OutputError, match="run first .*is writing here"),
        Lease(storage, "second"),
    ):
        raise AssertionError("two runs at once")
    with Lease(storage, "third"):
        pass
    assert storage.list(FOLDER) == []


def test_a_dead_process_of_this_machine_holds_nothing(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with Lease(_held_by(tmp_path, pid=ended.pid, start="1"), "mine"):
        pass


def test_another_machine_that_renews_is_alive_and_one_that_is_silent_is_gone(tmp_path: Path) -> None:
    storage = _held_by(tmp_path, host="elsewhere")
    with Lease(storage, "mine", silent_s=0.3):
        pass
    storage = _held_by(tmp_path, host="elsewhere")
    storage.delete([f"{FOLDER}/000007.json"])
    other = Lease(storage, "other", renew_s=0.05)
    other._mine["host"] = "elsewhere"
    with other, pytest.raises(OutputError, match="on elsewhere"), Lease(storage, "mine", silent_s=5):
        raise AssertionError("two runs at once")


def test_of_two_takers_one_wins(tmp_path: Path) -> None:
    storage = _held_by(tmp_path, pid=2**22 + 1)
    first, second = Lease(storage, "first"), Lease(storage, "second")
    seen = first._held()
    second._held = lambda: seen  # type: ignore[method-assign]
    with first, pytest.raises(OutputError, match="at the same moment"), second:
        raise AssertionError("two runs at once")


def test_who_was_taken_over_learns_of_it(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    with Lease(storage, "mine", renew_s=0.05) as lease:
        lease.check()
        _held_by(tmp_path)
        deadline = time.monotonic() + 10
        while not lease.lost and time.monotonic() < deadline:
            time.sleep(0.05)
        with pytest.raises(OutputError, match="took this folder over"):
            lease.check()
    assert json.loads(storage.read(f"{FOLDER}/000007.json"))["run_id"] == "other", "the other's lease stays"


def test_process_start() -> None:
    assert process_start(this_process()["pid"]) == this_process()["start"] is not None
    assert process_start(2**22 + 1) is None

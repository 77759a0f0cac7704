"""One run at a time in an output folder: the driver holds a lease, renews it, and another run is refused meanwhile.

    _ecqa/lease/000001.json    who holds it, and a beat that changes with every renewal

Two runs at once would each remove files that the other has written but not committed yet. A holder on this machine is
known to be gone by its process; one elsewhere is taken for gone when it has not renewed its lease for SILENT_S by this
machine's own waiting, so no two clocks are compared. Who takes over puts the next number, under the condition that there
is none, so of two takers one wins.
"""

import json
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any

from ecqa.core.errors import EcqaError, InputError, OutputError
from ecqa.core.storage import Storage

FOLDER = "_ecqa/lease"
RENEW_S = 10.0
SILENT_S = 45.0


class Lease:
    """Context manager around a run. Raises OutputError when another run holds the folder."""

    def __init__(self, storage: Storage, run_id: str, *, renew_s: float = RENEW_S, silent_s: float = SILENT_S):
        self._storage = storage
        self._mine = {"run_id": run_id, **this_process()}
        self._renew_s = renew_s
        self._silent_s = silent_s
        self._path = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="ecqa-lease", daemon=True)
        self.lost = False

    def __enter__(self) -> "Lease":
        held = self._held()
        if held:
            holder = self._read(held[-1])
            if holder is not None and not self._is_gone(held[-1], holder):
                raise OutputError(
                    f"{self._storage.url}: run {holder['run_id']} (process {holder['pid']} on {holder['host']}) is writing "
                    f"here; wait for it to end, or give another --output"
                )
        number = int(held[-1].rpartition("/")[2].removesuffix(".json")) + 1 if held else 1
        self._path = f"{FOLDER}/{number:06d}.json"
        if not self._storage.put_new(self._path, self._content()):
            raise OutputError(f"{self._storage.url}: another run began at the same moment; run the command again later")
        self._storage.delete(held)
        self._thread.start()
        return self

    def _held(self) -> list[str]:
        try:
            return [info.path for info in self._storage.list(FOLDER) if info.path.endswith(".json")]
        except InputError as error:
            raise OutputError(str(error)) from error

    def _is_gone(self, path: str, holder: dict[str, Any]) -> bool:
        if all(holder.get(name) == self._mine[name] for name in ("host", "boot", "pids")):
            return bool(process_start(int(holder["pid"])) != holder["start"])
        deadline = time.monotonic() + self._silent_s
        while time.monotonic() < deadline:
            time.sleep(min(1.0, self._silent_s / 10))
            now = self._read(path)
            if now is None:
                return True
            if now["beat"] != holder["beat"]:
                return False
        return True

    def _read(self, path: str) -> dict[str, Any] | None:
        """The holder; None when it let go, or when the file is no lease at all."""
        if not self._storage.exists(path):
            return None
        try:
            return dict(json.loads(self._storage.read(path)))
        except ValueError:
            return None

    def _content(self) -> bytes:
        return json.dumps({**self._mine, "beat": uuid.uuid4().hex}).encode()

    def _renew(self) -> None:
        while not self._ended.wait(self._renew_s):
            try:
                self.lost = self._held()[-1:] != [self._path]
                if self.lost:
                    return
                self._storage.write(self._path, self._content())
            except EcqaError:
                continue  # storage that is away for a moment is the work's own business; the next beat may reach it

    def check(self) -> None:
        """Raise OutputError when another run has taken this folder over meanwhile."""
        if self.lost:
            raise OutputError(
                f"{self._storage.url}: another run took this folder over while this one was silent; stopping"
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._storage.delete([self._path])


def this_process() -> dict[str, Any]:
    """Host, boot, space of process ids, process id and start of this process."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    space = Path("/proc/self/ns/pid")
    return {
        "host": socket.gethostname(),
        "boot": boot.read_text().strip() if boot.exists() else "",
        "pids": os.readlink(space) if space.is_symlink() else "",
        "pid": os.getpid(),
        "start": process_start(os.getpid()),
    }


def process_start(pid: int) -> str | None:
    """When a process of this machine started, as the kernel counts; None when there is none (a zombie is none)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None if Path("/proc/self").exists() else _start_without_proc(pid)
    return None if fields[0] == "Z" else fields[19]


def _start_without_proc(pid: int) -> str | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return "alive"
    return "alive"

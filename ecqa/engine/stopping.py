"""SIGTERM: workers begin no further shard, shards in hand are finished and committed, then the run ends as Interrupted."""

import signal
import threading
from types import FrameType, TracebackType

from ecqa.core.ledger import Ledger


class StopOnTerm:
    """Context manager around the working part of a run; ``asked`` turns true when SIGTERM came.

    The handler only sets a flag; a thread writes the mark that workers look for, since storage has no place in a signal
    handler. Outside the main thread (a notebook, a server) signals are not ours, and nothing is installed.
    """

    def __init__(self, ledger: Ledger, run_id: str):
        self._ledger = ledger
        self._run_id = run_id
        self._previous: object = None
        self._main = threading.current_thread() is threading.main_thread()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._mark, name="ecqa-stop", daemon=True)
        self.asked = False

    def __enter__(self) -> "StopOnTerm":
        if self._main:
            self._previous = signal.getsignal(signal.SIGTERM)
        self._thread.start()
        self.install()
        return self

    def install(self) -> None:
        """Take the signal, again if need be: Ray sets a handler of its own when it connects."""
        if self._main:
            signal.signal(signal.SIGTERM, self._on_term)

    def _on_term(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self._wake.set()

    def _mark(self) -> None:
        self._wake.wait()
        if self.asked:
            self._ledger.ask_to_stop(self._run_id)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._main:
            signal.signal(signal.SIGTERM, self._previous)  # type: ignore[arg-type]
        self._wake.set()
        self._thread.join()
        if self.asked:
            self._ledger.clear_stop(self._run_id)

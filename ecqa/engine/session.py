"""Starts Ray on this machine or joins a cluster, quietly unless asked otherwise.

Ray's own lines are off by default: progress bars, worker logs and the banner help nobody who asked for a table.
"""

import contextlib
import logging
import os
import socket
import sys
from collections.abc import Iterator, Mapping

from ecqa.core.errors import EngineError

KNOCK_S = 10.0
FEEDER_CPUS = 1
"""Logical CPUs beyond the cores of this machine: parsing and writing are light, so they share the scorers' cores."""
LOCAL_SYSTEM = {"task_events_report_interval_ms": 0}
"""Without a dashboard nobody reads the events that Ray keeps of every task, and they grow with the number of shards."""


@contextlib.contextmanager
def session(
    address: str | None, *, verbose: bool, object_store_bytes: int | None = None
) -> Iterator[Mapping[str, float]]:
    """Connect to ``address`` (or RAY_ADDRESS), else start Ray here; gives the cluster's resources; ends what it began.

    Inside a program that is connected already, that connection is used and kept.
    Raises EngineError when there is no cluster at the address.
    """
    quieten(verbose=verbose)
    with _stderr_closed(not verbose):
        import ray

        joined = ray.is_initialized()
        if not joined:
            _connect(address or os.environ.get("RAY_ADDRESS"), verbose, object_store_bytes)
    try:
        _quieten_data(verbose)
        # Ray tells of dead workers on stdout, where --json promises one object.
        with contextlib.redirect_stdout(sys.stderr):
            yield ray.cluster_resources()
    finally:
        if not joined:
            ray.shutdown()


@contextlib.contextmanager
def _stderr_closed(wanted: bool) -> Iterator[None]:
    """Ray's C++ core announces its log level on stderr as it starts, whatever that level is; failures come as exceptions."""
    if not wanted:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _connect(address: str | None, verbose: bool, object_store_bytes: int | None) -> None:
    import ray

    level = logging.INFO if verbose else logging.ERROR
    if address == "local" or address is None:
        cpus = (os.process_cpu_count() if hasattr(os, "process_cpu_count") else len(os.sched_getaffinity(0))) or 1
        ray.init(
            address="local",
            num_cpus=cpus + FEEDER_CPUS,
            include_dashboard=False,
            log_to_driver=verbose,
            logging_level=level,
            object_store_memory=object_store_bytes,
            _system_config=LOCAL_SYSTEM,
        )
        return
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=verbose, logging_level=level)
    except (ConnectionError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:300]
        raise EngineError(
            f"no Ray cluster at {address}: {reason}; start one with `ray start --head`, or leave out --address"
        ) from error


def _knock(address: str) -> None:
    """Raise ConnectionError when nobody listens there: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit() or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), KNOCK_S).close()
    except OSError as error:
        raise ConnectionError(f"nobody listens there ({error.strerror or error})") from error


def quieten(*, verbose: bool) -> None:
    """Keep Ray silent; works best before Ray is imported."""
    if verbose:
        return
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    # The C++ core warns, for every pool, that actors get their arguments through the object store.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    # Without it Ray warns on every machine without GPUs that it will one day leave CUDA_VISIBLE_DEVICES alone.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("ray").setLevel(logging.ERROR)


def _quieten_data(verbose: bool) -> None:
    from ray.data import DataContext

    context = DataContext.get_current()
    context.enable_progress_bars = verbose
    context.enable_operator_progress_bars = verbose
    context.print_on_execution_start = verbose
    if not verbose:
        # Its errors come as exceptions, with a traceback of several screens beside them.
        logging.getLogger("ray.data").setLevel(logging.CRITICAL)

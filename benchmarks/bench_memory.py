"""Peak memory of a whole ``ecqa`` run for N and 10 N pairs, with the stub scorer and a small object store.

    python benchmarks/bench_memory.py [--pairs 50000] [--factor 10] [--object-store-mb 200]

Pairs of invented words are streamed into a Parquet table of row groups of 5,000 rows, 20 pairs a call. Each run is a
driver process of its own that calls ``ecqa.engine.job.run``. Every 0.2 s the resident memory of all its processes is
added up: the driver, its descendants, and every process with its Ray session's folder in the command line. Memory that
processes share, the object store above all, counts once: the sum is over PSS (proportional set size, Linux). The driver
asks its raylet each half second how many bytes have gone into the object store; both runs must push more than the cap.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from bench_scoring import machine, rounded

EVERY_S = 0.2
FAMILY_EVERY_S = 1.0
ROWS_PER_GROUP = 5000
PAIRS_PER_CALL = 20
MAX_GROWTH = 0.10
WORDS = np.array([f"{start}{end}" for start in ("re", "mar", "cap", "gui", "fin", "lo") for end in ("venue", "gin", "ex",
                  "dance", "ance", "an", "st", "mer", "ger", "k")])  # fmt: skip
SCHEMA = pa.schema([(name, pa.string()) for name in ("call_id", "question", "answer")])


def write_pairs(path: Path, number: int, seed: int) -> int:
    """Stream invented pairs into a table; return the bytes of their texts."""
    generator, num_bytes = np.random.default_rng(seed), 0
    with pq.ParquetWriter(path, SCHEMA, compression="zstd") as writer:
        for start in range(0, number, ROWS_PER_GROUP):
            rows = min(ROWS_PER_GROUP, number - start)
            questions, answers = texts(generator, rows, 60), texts(generator, rows, 260)
            calls = [f"CALL{(start + row) // PAIRS_PER_CALL:07d}" for row in range(rows)]
            writer.write_table(pa.table([calls, questions, answers], schema=SCHEMA))
            num_bytes += sum(map(len, questions)) + sum(map(len, answers))
    return num_bytes


def texts(generator: np.random.Generator, rows: int, mean_words: int) -> list[str]:
    """Texts of so many words on average, as uneven in length as real ones."""
    lengths = generator.gamma(2.0, mean_words / 2, rows).astype(int) + 5
    words = WORDS[generator.integers(0, len(WORDS), lengths.sum())]
    return [" ".join(part) for part in np.split(words, np.cumsum(lengths)[:-1])]


def drive(table: Path, output: Path, model: Path, store_bytes: int) -> None:
    """The driver: score the table on Ray; prints the summary and the bytes that went into the object store."""
    from ecqa.engine.job import RunOptions, run
    from ecqa.recipes import ScoreJobConfig, score_recipe

    config = ScoreJobConfig(model=str(model))
    watch = StoreWatch()
    watch.start()
    summary = run(score_recipe(str(table), config), str(output), RunOptions(quiet=True, object_store_bytes=store_bytes))
    watch.ended.set()
    print(json.dumps(summary | {"store_bytes": watch.num_bytes}, default=str))


class StoreWatch(threading.Thread):
    """Remembers how many bytes the raylet says were ever created in the object store."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.num_bytes = 0

    def run(self) -> None:
        """Ask twice a second while Ray is up."""
        import ray
        from grpc import RpcError
        from ray._private.internal_api import node_stats

        while not self.ended.wait(0.5):
            if not ray.is_initialized():
                continue
            try:
                node = ray.nodes()[0]
                stats = node_stats(node["NodeManagerAddress"], node["NodeManagerPort"], include_memory_info=False)
            except (RuntimeError, ConnectionError, RpcError, IndexError):
                continue  # Ray is starting or has just ended.
            self.num_bytes = max(self.num_bytes, int(stats.store_stats.cumulative_created_bytes))


class Peak:
    """Highest total of a process family so far, and what it was made of."""

    def __init__(self, driver: psutil.Process) -> None:
        self.driver = driver
        self.session = ""
        self.total = 0
        self.by_process: dict[str, int] = {}
        self.family: list[psutil.Process] = []
        self.listed = 0.0
        self.highest: Counter[str] = Counter()

    def sample(self) -> None:
        """Add up now; who belongs to the family is looked up once a second."""
        if time.monotonic() - self.listed >= FAMILY_EVERY_S:
            self.family, self.listed = list(self._family()), time.monotonic()
        parts: Counter[str] = Counter()
        for process in self.family:
            try:
                parts[_kind(process, self.driver.pid)] += pss(process.pid)
            except (psutil.Error, OSError):
                continue  # It ended meanwhile.
        total = sum(parts.values())
        self.highest = self.highest | parts
        if total > self.total:
            self.total, self.by_process = total, dict(parts.most_common())

    def _family(self) -> Iterator[psutil.Process]:
        try:
            tree = [self.driver, *self.driver.children(recursive=True)]
        except psutil.Error:
            return
        self.session = self.session or next(filter(None, map(session_of, tree)), "")
        known = {process.pid for process in tree}
        yield from tree
        if self.session:
            for process in psutil.process_iter():
                if process.pid not in known and session_of(process) == self.session:
                    yield process


def session_of(process: psutil.Process) -> str:
    """The Ray session folder in a process's command line, "" without one."""
    try:
        words = " ".join(process.cmdline()).replace("=", " ").split("/")
    except psutil.Error:
        return ""
    return next((word.split()[0] for word in words if word.startswith("session_2")), "")


def _kind(process: psutil.Process, driver: int) -> str:
    """Driver, a Ray daemon by name, or what a worker is doing as Ray puts it into its title."""
    if process.pid == driver:
        return "driver"
    line = process.cmdline() or [process.name()]
    if line[0].startswith("ray::"):
        return line[0].split("(")[0]
    name = Path(line[0]).name
    return name if not name.startswith("python") else Path(next((w for w in line[1:] if w.endswith(".py")), name)).name


def pss(pid: int) -> int:
    """Proportional set size in bytes: a page that k processes share counts 1/k in each."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def run_watched(number: int, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One run in a driver of its own, watched from here."""
    table, output = folder / f"pairs-{number}.parquet", folder / f"output-{number}"
    text_bytes = write_pairs(table, number, options.seed)
    command = [sys.executable, __file__, "--drive", str(table), str(output), str(options.stub)]
    command += ["--object-store-mb", str(options.object_store_mb)]
    with (folder / "summary").open("w+") as out, (folder / "stderr").open("w+") as err:
        driver = subprocess.Popen(command, stdout=out, stderr=err)
        peak = Peak(psutil.Process(driver.pid))
        while driver.poll() is None:
            begin = time.monotonic()
            peak.sample()
            time.sleep(max(0.01, EVERY_S - (time.monotonic() - begin)))
        out.seek(0), err.seek(0)
        if driver.returncode:
            raise SystemExit(f"run of {number} pairs: exit {driver.returncode}: {err.read()[-2000:]}")
        summary = json.loads(out.read())
    print(f"{number} pairs: peak {peak.total / 1e6:.0f} MB", file=sys.stderr)
    return report(number, text_bytes, summary, peak)


def report(number: int, text_bytes: int, summary: dict[str, Any], peak: Peak) -> dict[str, Any]:
    """Figures of one run; MB are 10^6 bytes."""
    return {
        "pairs": number,
        "peak_mb": peak.total / 1e6,
        "peak_by_process_mb": {name: value / 1e6 for name, value in peak.by_process.items()},
        "highest_by_process_mb": {name: value / 1e6 for name, value in peak.highest.most_common(12)},
        "text_mb": text_bytes / 1e6,
        "through_object_store_mb": summary["store_bytes"] / 1e6,
        "rows_per_s": summary["speed"]["pairs_per_s"],
        "wall_s": summary["speed"]["wall_s"],
        "shards": summary["shards"]["done"],
        "scores": summary["counts"]["scores"],
        "books_closed": summary["books"]["closed"],
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Both runs."""
    from ecqa.modelling.stub import write_stub_model

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options.stub = write_stub_model(folder / "stub")
        small, large = (
            run_watched(number, options, folder) for number in (options.pairs, options.pairs * options.factor)
        )
    cap = options.object_store_mb
    growth = large["peak_mb"] / small["peak_mb"] - 1
    return {
        "growth": growth,
        "reached": growth <= MAX_GROWTH,
        "both_past_cap": min(small["through_object_store_mb"], large["through_object_store_mb"]) > cap,
        "small": small,
        "large": large,
    }


def main() -> int:
    """Print the figures; exit code 1 when memory grows by more than the goal, or a run did not pass the cap."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=50_000)
    parser.add_argument("--factor", type=int, default=10)
    parser.add_argument("--object-store-mb", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", nargs=3, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.drive:
        drive(*options.drive, options.object_store_mb * 1_000_000)
        return 0
    if not Path(f"/proc/{os.getpid()}/smaps_rollup").exists():
        raise SystemExit("needs /proc/<pid>/smaps_rollup, that is Linux")
    params = machine()
    metrics = measure(options)
    sizes = {name: getattr(options, name) for name in ("pairs", "factor", "object_store_mb", "seed")}
    print(json.dumps({"params": params | sizes, "metrics": rounded(metrics)}, indent=1))
    return int(not (metrics["reached"] and metrics["both_past_cap"]))


if __name__ == "__main__":
    sys.exit(main())

"""One run of everything at once: two raylets, s3 storage, more data than the object store, SIGKILL, resume, books.

A server for s3 and a cluster of two raylets are started here, an invented table of pairs larger than the object stores is
put into a bucket, and `score` is run on it in a process that is killed in the middle; the same command then goes on. The
result is compared, row for row and value for value, with an undisturbed run in one process on local disk. Scores come from
the stub scorer: this is about the engine.

    python benchmarks/closing_run.py [--pairs 60000] [--object-store 80000000] [--kills 1]
"""

import argparse
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pyarrow as pa
import pyarrow.parquet as pq

from ecqa.core.storage import Storage
from ecqa.engine.job import RunOptions, run
from ecqa.engine.resources import Resources, StageResources
from ecqa.modelling.stub import write_stub_model
from ecqa.recipes import ScoreJobConfig, ShardConfig, score_recipe

KEYS = {
    "qa_pairs": ["pair_id"],
    "filtered_pairs": ["pair_id"],
    "scores": ["pair_id"],
    "call_scores": ["call_id"],
    "dead_letters": ["row_id"],
}
ROWS = 2000


def main() -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=60_000)
    parser.add_argument("--object-store", type=int, default=80_000_000, help="bytes of each raylet")
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--drive", nargs=4, metavar=("INPUT", "OUTPUT", "MODEL", "STORE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.drive:
        return drive(*given.drive)
    metrics = measure(given.pairs, given.object_store, given.kills)
    params = {"pairs": given.pairs, "object_store_bytes_per_raylet": given.object_store, "kills": given.kills}
    params |= {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count()}
    params |= {"date": f"{datetime.now(UTC):%Y-%m-%d}", "command": " ".join(["python", *sys.argv])}
    sys.stdout.write(json.dumps({"params": params, "metrics": metrics}, indent=1) + "\n")
    return 0 if metrics["equal"] and metrics["books_closed"] else 1


def drive(source: str, output: str, model: str, store: str) -> int:
    """The process to be killed: two raylets of its own, then the job on them."""
    from ecqa.engine.session import quieten

    quieten(verbose=False)
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    for _ in range(2):
        cluster.add_node(num_cpus=2, object_store_memory=int(store))
    resources = Resources(stages={"score_pairs": StageResources(num_cpus=1, actors=2)})
    summary = run(recipe(source, model), output, RunOptions(resources=resources, address=cluster.address, quiet=True))
    sys.stdout.write(json.dumps(summary))
    return 0


def recipe(source: str, model: str) -> Any:
    """The scoring job with shards of ROWS rows."""
    shards = ShardConfig(max_pairs=ROWS)
    return score_recipe(source, ScoreJobConfig(shards=shards, model=model))


def measure(pairs: int, store: int, kills: int) -> dict[str, Any]:
    """Undisturbed on local disk, then killed and resumed on s3 and two raylets; compared."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(write_stub_model(Path(folder) / "stub"))
        table = Path(folder) / "pairs.parquet"
        num_bytes = write_pairs(table, pairs)
        whole = Path(folder) / "undisturbed"
        run(recipe(str(table), model), str(whole), RunOptions(quiet=True), workers="local")
        server = start_s3()
        try:
            bucket = Storage("s3://closing")
            bucket._opened[0].mkdir("closing")
            bucket.write("in/pairs.parquet", table.read_bytes())
            summary, killed_at = kill_and_resume(model, store, kills)
            equal = {name: same(whole, name, keys) for name, keys in KEYS.items()}
        finally:
            server.terminate()
            server.wait()
    return {
        "bytes_through_the_store": num_bytes,
        "object_store_bytes": 2 * store,
        "shards": summary["shards"],
        "shards_done_at_each_kill": killed_at,
        "tables": summary["tables"],
        "books": summary["books"],
        "books_closed": summary["books"]["closed"],
        "equal_by_table": equal,
        "equal": all(equal.values()),
    }


def kill_and_resume(model: str, store: int, kills: int) -> tuple[dict[str, Any], list[int]]:
    """SIGKILL the driver when some shards are done, as often as asked, then let it finish."""
    command = [sys.executable, __file__, "--drive", "s3://closing/in", "s3://closing/out", model, str(store)]
    ledger = Storage("s3://closing/out/_ecqa/shards")
    killed_at: list[int] = []
    for _ in range(kills):
        target = len(ledger.list()) + 5
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(ledger.list()) < target and process.poll() is None:
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed_at.append(len(ledger.list()))
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(finished.stdout)), killed_at


def same(whole: Path, name: str, keys: list[str]) -> bool:
    """True when a table on s3 equals the undisturbed one, sorted by key."""
    order = [(key, "ascending") for key in keys]
    fs = Storage("s3://closing")._opened[0]
    found = pq.read_table(f"closing/out/{name}", filesystem=fs).sort_by(order)
    return bool(found.equals(pq.read_table(whole / name).sort_by(order)))


def write_pairs(path: Path, pairs: int) -> int:
    """Write invented pairs of some 4 kB in row groups of ROWS; returns their bytes in memory."""
    sentence = "We saw steady demand in most regions and kept our costs where they were. "
    num_bytes = 0
    schema = pa.schema(
        [("pair_id", pa.string()), ("call_id", pa.string()), ("question", pa.string()), ("answer", pa.string())]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, pairs, ROWS):
            numbers = range(start, min(start + ROWS, pairs))
            columns = [
                [f"row-{n:08d}" for n in numbers],
                [f"CALL-{n // 20:06d}" for n in numbers],
                [f"How did segment {n % 97} do, and what drove it? " for n in numbers],
                [f"Segment {n % 97} grew {n % 31} percent. {sentence * (20 + n % 70)}" for n in numbers],
            ]
            table = pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema)
            num_bytes += table.nbytes
            writer.write_table(table)
    return num_bytes


def start_s3() -> "subprocess.Popen[bytes]":
    """Start moto's server on loopback and point the environment at it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    os.environ |= {"AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    os.environ |= {"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            with urlopen(f"{url}/moto-api/", timeout=1):
                return process
        except OSError:
            time.sleep(0.2)
    process.kill()
    raise RuntimeError(f"the s3 server did not answer at {url}")


if __name__ == "__main__":
    sys.exit(main())

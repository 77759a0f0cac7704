"""Kill the driver of ``ecqa score`` again and again, go on each time, and compare with an undisturbed run.

    python benchmarks/soak_kill.py [--kills 20] [--seed 1] [--model default] [--input FOLDER]

The real pages under ../shared/data/transcripts/strike_html are scored in shards of two files: once undisturbed, then into
a second folder by drivers that get SIGKILL at seeded random moments: some before the first shard of the attempt is
committed, the others after one or two more commits and a random delay. The next driver starts at once, beside whatever is
left of the old one. When a folder is finished it is compared with the undisturbed one, every table row for row and value
for value, and a new folder is begun, until --kills drivers were killed and the last folder is finished. A driver that ends
before its moment comes is no kill. Of every killed driver it is measured how long its processes (descendants, and all with
its Ray session in their command line) outlive it.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
from bench_memory import session_of
from bench_scoring import machine, need, rounded

KEYS = {"transcripts": "transcript_id", "components": "component_id", "qa_pairs": "pair_id", "filtered_pairs": "pair_id",
        "scores": "pair_id", "call_scores": "call_id", "dead_letters": "row_id"}  # fmt: skip
SHARE_BEFORE_FIRST = 0.3
START_UP_S = 15.0
LONGEST_WAIT_S = 300.0
WATCH_S = 120.0
POLL_S = 0.05
AGENTS = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Ray's own helpers of a node; they load no model and write no row."""


class Moment:
    """When to kill: so many seconds in, or so many seconds after so many further commits."""

    def __init__(self, generator: random.Random) -> None:
        early = generator.random() < SHARE_BEFORE_FIRST
        self.commits = 0 if early else generator.choice((1, 1, 2))
        self.delay_s = generator.uniform(0.5, START_UP_S) if early else generator.uniform(0.0, 4.0)

    def come(self, driver: subprocess.Popen[bytes], output: Path) -> bool:
        """Wait for it; False when the driver ended before."""
        before, begin, reached = commits(output), time.monotonic(), None
        while driver.poll() is None and time.monotonic() - begin < LONGEST_WAIT_S:
            if reached is None and commits(output) - before >= self.commits:
                reached = time.monotonic()
            if reached is not None and time.monotonic() - reached >= self.delay_s:
                return True
            time.sleep(POLL_S)
        return False


class Aftermath(threading.Thread):
    """Watches the processes of a killed driver until the last one is gone."""

    def __init__(self, family: list[psutil.Process]) -> None:
        super().__init__(daemon=True)
        self.alive = {process: kind(process) for process in family}
        self.seconds: dict[str, float] = {}

    def run(self) -> None:
        """Note for each kind of process when its last one ended."""
        begin = time.monotonic()
        while self.alive and time.monotonic() - begin < WATCH_S:
            for process, name in list(self.alive.items()):
                if ended(process):
                    self.seconds[name] = time.monotonic() - begin
                    del self.alive[process]
            time.sleep(POLL_S)


def kind(process: psutil.Process) -> str:
    """Agents and daemons of Ray by their names; everything else that runs our code is a worker."""
    try:
        name = process.name()
    except psutil.Error:
        return "gone before the kill"
    return "workers" if name.startswith("ray::") and name not in AGENTS else name


def ended(process: psutil.Process) -> bool:
    """True when it is gone, or a zombie that nobody has waited for yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return True


def commits(output: Path) -> int:
    """Shards that are done."""
    return len(list((output / "_ecqa" / "shards").glob("*.json")))


def start(options: argparse.Namespace, config: Path, output: Path) -> subprocess.Popen[bytes]:
    """Start a driver; its words go to a log beside the output."""
    command = [sys.executable, "-m", "ecqa", "score", str(options.input), "--output", str(output)]
    command += ["--config", str(config), "--model", options.model, "--json"]
    with output.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def finish(options: argparse.Namespace, config: Path, output: Path) -> None:
    """Run a driver to its end."""
    driver = start(options, config, output)
    if driver.wait():
        complain(driver, output)


def complain(driver: subprocess.Popen[bytes], output: Path) -> None:
    """Exit code 1 with the driver's last words."""
    words = output.with_suffix(".log").read_text(encoding="utf-8", errors="replace")[-2000:]
    print(f"driver: exit {driver.returncode}: {words}", file=sys.stderr)
    raise SystemExit(1)


def family_of(pid: int) -> list[psutil.Process]:
    """A driver's descendants and everything else of its Ray session."""
    tree = psutil.Process(pid).children(recursive=True)
    session = next(filter(None, map(session_of, tree)), "")
    known = {process.pid for process in tree}
    others = [p for p in psutil.process_iter() if session and p.pid not in known and session_of(p) == session]
    return tree + others


def kill_once(driver: subprocess.Popen[bytes], moment: Moment, output: Path) -> dict[str, Any] | None:
    """Kill at the moment, and watch; None when the driver was faster."""
    if not moment.come(driver, output):
        return None
    done, family = commits(output), family_of(driver.pid)
    driver.kill()
    driver.wait()
    aftermath = Aftermath(family)
    aftermath.start()
    return {"done": done, "processes": len(family), "aftermath": aftermath}


def read_table(output: Path, table: str) -> pa.Table:
    """All rows of a table in the order of its key."""
    files = sorted((output / table).glob("*.parquet"))
    return pa.concat_tables(pq.read_table(file) for file in files).sort_by(KEYS[table])


def differences(one: Path, other: Path) -> Iterator[str]:
    """What is not the same in two output folders."""
    for table in KEYS:
        left, right = read_table(one, table), read_table(other, table)
        if left.num_rows != right.num_rows:
            yield f"{table}: {left.num_rows} and {right.num_rows} rows"
        elif not left.equals(right):
            columns = [name for name in left.column_names if not left.column(name).equals(right.column(name))]
            yield f"{table}: other values in {', '.join(columns)}"


def soak(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The undisturbed run, then kills and comparisons."""
    generator = random.Random(options.seed)
    config, calm = folder / "shards.yaml", folder / "calm"
    config.write_text("shards: {max_files: 2}\n", encoding="utf-8")
    finish(options, config, calm)
    kills: list[dict[str, Any]] = []
    different: list[str] = []
    rounds = 0
    while len(kills) < options.kills:
        rounds += 1
        output = folder / f"soak-{rounds}"
        one_round(options, generator, config, output, kills)
        different += [f"round {rounds}: {each}" for each in differences(calm, output)]
        print(f"round {rounds}: {len(kills)} kills so far, {len(different)} differences", file=sys.stderr)
    rows = {table: read_table(calm, table).num_rows for table in KEYS}
    return report(kills, rounds, different, rows, commits(calm))


def one_round(
    options: argparse.Namespace, generator: random.Random, config: Path, output: Path, kills: list[dict[str, Any]]
) -> None:
    """Kill and go on until this folder is finished."""
    while len(kills) < options.kills:
        driver = start(options, config, output)
        killed = kill_once(driver, Moment(generator), output)
        if killed is None:
            if driver.wait():
                complain(driver, output)
            return
        kills.append(killed)
    finish(options, config, output)


def report(
    kills: list[dict[str, Any]], rounds: int, different: list[str], rows: dict[str, int], shards: int
) -> dict[str, Any]:
    """Figures; waits for the last watchers."""
    for kill in kills:
        kill["aftermath"].join()
    outlived: dict[str, float] = {}
    for kill in kills:
        for name, seconds in kill["aftermath"].seconds.items():
            outlived[name] = max(outlived.get(name, 0.0), seconds)
    return {
        "kills": len(kills),
        "kills_before_first_commit": sum(kill["done"] == 0 for kill in kills),
        "done_at_kill": [kill["done"] for kill in kills],
        "shards": shards,
        "folders_finished": rounds,
        "rows": rows,
        "equal": not different,
        "differences": different,
        "processes_at_kill": [kill["processes"] for kill in kills],
        "outlived_driver_at_most_s": outlived,
        "left_behind": sorted({name for kill in kills for name in kill["aftermath"].alive.values()}),
    }


def main() -> int:
    """Print the figures; exit code 1 when a folder differs or a process stays."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", default="default")
    parser.add_argument("--input", type=Path, default=Path("../shared/data/transcripts/strike_html"))
    options = parser.parse_args()
    need(options.input)
    params = machine()
    with tempfile.TemporaryDirectory() as folder:
        metrics = soak(options, Path(folder))
    sizes = {"kills": options.kills, "seed": options.seed, "model": options.model, "input": str(options.input)}
    print(json.dumps({"params": params | sizes, "metrics": rounded(metrics)}, indent=1))
    return int(not metrics["equal"] or bool(metrics["left_behind"]))


if __name__ == "__main__":
    sys.exit(main())

"""Rows/s of ``ecqa score`` against a bare loop and against the common recipe, in one run.

    python benchmarks/bench_scoring.py [--pairs 2000] [--repeats 3] [--pipeline-pairs 300] [--model default]

Real pairs of SubjECTive-QA (train_5768.csv, repeated up to --pairs) are scored on this machine's cores by
(e) the engine: ``python -m ecqa score`` on a Parquet table; (a) a bare loop in a process of its own: the same
EncodeTransform and ScoreTransform on the same chunks, OMP_NUM_THREADS = cores, no Ray; (b) the common recipe: a
transformers text-classification pipeline over the same encoder with one head, batch 128, truncation, arrival order, seven
passes. (a) and (e) take turns, --repeats each; figures are medians.

Start-up is left out everywhere: imports and model loading of (a) and (b); of (e) Ray's start, and the time until the
first actor takes up its first shard, which the ledger records. What was read, filtered and tokenised before that moment,
while actors loaded, is charged to (e). ``engine_work`` beside it is the run's own work_s, the actors' start included.
"""

import argparse
import contextlib
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

PASSES = 7
PIPELINE_BATCH = 128
GOALS = {"engine_to_bare": (0.95, 0.85), "engine_to_pipeline": (10.0, 6.0), "padding_share": (0.05, 0.10)}
"""Goal and floor."""
MAX_OTHER_CORES = 0.2
"""With more work than this beside a part, two torch threads wait for each other and ratios are off by any factor."""
SCORING, ENCODING = "score_pairs", "encode_pairs"
BEFORE_SCORING = ("read", "filter_pairs", ENCODING)


def machine() -> dict[str, Any]:
    """This machine, the versions and the command, for ``params``."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "ram_gib": round(memory / 2**30, 1),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("torch", "ray", "transformers")},
        "load_at_start": round(os.getloadavg()[0], 2),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "command": shlex.join(["python", *sys.argv]),
    }


def need(path: Path) -> Path:
    """The path, or exit code 2 with a line that says what is missing."""
    if not path.exists():
        print(f"{path}: absent; this script needs the folder ../shared with real data", file=sys.stderr)
        raise SystemExit(2)
    return path


class Bystanders(threading.Thread):
    """How many cores other processes kept busy while a part ran: a figure measured beside them is worth less."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.begin, self.busy = time.monotonic(), busy_s()
        self.ours: dict[int, float] = {}
        self.start_of_ours = sum(self._tree().values())

    def run(self) -> None:
        """Remember what each process of ours has used so far, once a second."""
        while not self.ended.wait(1.0):
            self.ours |= self._tree()

    def cores(self) -> float:
        """Stop; cores that others used on average."""
        self.ended.set()
        self.join()
        others = busy_s() - self.busy - (sum((self.ours | self._tree()).values()) - self.start_of_ours)
        return max(others, 0.0) / (time.monotonic() - self.begin)

    def _tree(self) -> dict[int, float]:
        used = {}
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                used[process.pid] = sum(process.cpu_times()[:2])
        return used


def busy_s() -> float:
    """Seconds that all cores together have been busy since the machine started."""
    times = psutil.cpu_times()
    return float(times.user + times.nice + times.system)


def read_pairs(data: Path, number: int) -> pa.Table:
    """Questions and answers of the training part, repeated up to ``number``."""
    raw = pacsv.read_csv(
        need(data / "subjectiveqa" / "train_5768.csv"), parse_options=pacsv.ParseOptions(newlines_in_values=True)
    )
    names = {name.lower(): name for name in raw.column_names}
    columns = {name: raw.column(names[name]).to_pylist() for name in ("question", "answer")}
    return pa.table({name: pa.array(islice(cycle(values), number), pa.string()) for name, values in columns.items()})


def as_inputs(pairs: pa.Table) -> dict[str, pa.Table]:
    """The two input tables of EncodeTransform."""
    ids = pa.chunked_array([[f"p{row}" for row in range(pairs.num_rows)]], pa.string())
    scorable = pa.array([bool(q and a) for q, a in zip(*pairs.to_pydict().values(), strict=True)])
    filtered = {"pair_id": ids, "exclusion_reason": pa.nulls(pairs.num_rows, pa.string()), "scorable": scorable}
    return {"qa_pairs": pairs.append_column("pair_id", ids), "filtered_pairs": pa.table(filtered)}


def run_bare(table: Path, model: str, shard_rows: int) -> dict[str, float]:
    """Part (a), in this process: seconds and rows of tokenising and scoring; loading apart."""
    from ecqa.modelling.encoding import EncodeConfig, EncodeTransform
    from ecqa.modelling.scoring import ScoreConfig, ScoreTransform

    pairs = pq.read_table(table)
    begin = time.perf_counter()
    encode, score = EncodeTransform(EncodeConfig(model=model)), ScoreTransform(ScoreConfig(model=model))
    loaded = time.perf_counter()
    rows = 0
    for start in range(0, pairs.num_rows, shard_rows):
        rows += score(encode(as_inputs(pairs.slice(start, shard_rows))))["scores"].num_rows
    return {"rows": rows, "seconds": time.perf_counter() - loaded, "load_s": loaded - begin}


def run_pipeline(table: Path, model: str, number: int) -> dict[str, float]:
    """Part (b), in this process: seconds of seven passes of a text-classification pipeline; loading apart."""
    from transformers import pipeline

    from ecqa.modelling.model_dir import load_model_info

    info = load_model_info(model)
    inputs = [
        {"text": row["question"] or "", "text_pair": row["answer"] or ""}
        for row in pq.read_table(table).slice(0, number).to_pylist()
    ]
    with tempfile.TemporaryDirectory() as folder:
        save_one_head(info.path, Path(folder))
        classify = pipeline("text-classification", model=folder, device="cpu")
        begin = time.perf_counter()
        for _ in range(PASSES):
            classify(inputs, batch_size=PIPELINE_BATCH, truncation=True, max_length=info.max_tokens or 512)
        return {"rows": len(inputs), "seconds": time.perf_counter() - begin}


def save_one_head(source: Path, target: Path) -> None:
    """The shipped encoder with one head of three classes, as a plain sequence-classification checkpoint."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(
        str(source), num_labels=3, dtype=torch.float32, local_files_only=True
    )
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(str(source), local_files_only=True).save_pretrained(target)


def part(name: str, table: Path, options: argparse.Namespace, cores: int) -> dict[str, float]:
    """Run part (a) or (b) in a process of its own with all cores as torch threads."""
    command = [sys.executable, __file__, "--part", name, "--table", str(table), "--model", options.model]
    command += ["--shard-rows", str(options.shard_rows), "--pipeline-pairs", str(options.pipeline_pairs)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(cores), "TRANSFORMERS_VERBOSITY": "error"}
    return dict(json.loads(checked(command, environment).splitlines()[-1]))


def run_engine(table: Path, output: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Part (e): the summary of ``ecqa score``, and its seconds without start-up."""
    command = [sys.executable, "-m", "ecqa", "score", str(table), "--output", str(output), "--json"]
    command += ["--model", options.model, *options.engine]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    summary = json.loads(checked(command, environment))
    seconds = engine_seconds(output)
    shutil.rmtree(output)
    return {"rows": summary["counts"]["scores"], "seconds": seconds, "speed": summary["speed"]}


def engine_seconds(output: Path) -> float:
    """From the first actor's first shard to the last commit, and all that was done to shards before that moment."""
    files = list((output / "_ecqa" / "shards").glob("*.json"))
    entries = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    first = min(entry["began"][SCORING] for entry in entries)
    early = [entry["timings"] for entry in entries if entry["began"][ENCODING] < first]
    before = sum(timings.get(name, 0.0) for timings in early for name in BEFORE_SCORING)
    return max(file.stat().st_mtime for file in files) - first + before


def checked(command: list[str], environment: dict[str, str]) -> str:
    """Standard output of a command; its last words and exit code 1 when it fails."""
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        print(f"{shlex.join(command)}: exit {result.returncode}: {result.stderr[-2000:]}", file=sys.stderr)
        raise SystemExit(1)
    return result.stdout


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All parts, (a) and (e) in turns, then (b) once."""
    table, cores = folder / "pairs.parquet", len(os.sched_getaffinity(0))
    pq.write_table(read_pairs(options.data, options.pairs), table)
    bare, engine = [], []
    for repeat in range(options.repeats):
        bare.append(watched(part, "bare", table, options, cores))
        engine.append(watched(run_engine, table, folder / f"output-{repeat}", options))
        print(f"repeat {repeat}: (a) {rate(bare[-1]):.1f}, (e) {rate(engine[-1]):.1f} rows/s", file=sys.stderr)
    return figures(bare, engine, watched(part, "pipeline", table, options, cores))


def watched(run: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """A part's figures, and the cores that bystanders used meanwhile."""
    bystanders = Bystanders()
    bystanders.start()
    return run(*arguments) | {"other_cores": bystanders.cores()}


def rate(run: dict[str, Any]) -> float:
    """Rows a second."""
    return float(run["rows"] / run["seconds"])


def figures(bare: list[dict[str, Any]], engine: list[dict[str, Any]], pipeline: dict[str, Any]) -> dict[str, Any]:
    """Medians, ratios, and whether goals and floors are met."""
    a, e, b = statistics.median(map(rate, bare)), statistics.median(map(rate, engine)), rate(pipeline)
    with_start = statistics.median(run["rows"] / run["speed"]["work_s"] for run in engine)
    ratios = {"engine_to_bare": e / a, "engine_to_pipeline": e / b}
    ratios["padding_share"] = engine[0]["speed"]["padding_share"] or 0.0
    noisy = max(run["other_cores"] for run in (*bare, *engine, pipeline)) > MAX_OTHER_CORES
    return {
        "rows_per_s": {"engine": e, "bare": a, "pipeline": b, "engine_work": with_start},
        **ratios,
        "engine_work_to_bare": with_start / a,
        "reached": {name: "disturbed" if noisy else level(name, value) for name, value in ratios.items()},
        "runs": {
            "bare_rows_per_s": [rate(run) for run in bare],
            "engine_rows_per_s": [rate(run) for run in engine],
            "bare_load_s": [run["load_s"] for run in bare],
            "other_cores": {
                "bare": [run["other_cores"] for run in bare],
                "engine": [run["other_cores"] for run in engine],
                "pipeline": pipeline["other_cores"],
            },
            "engine_speed": [run["speed"] for run in engine],
        },
    }


def level(name: str, value: float) -> str:
    """goal, floor or below."""
    goal, floor = GOALS[name]
    met = [value <= bound if name == "padding_share" else value >= bound for bound in (goal, floor)]
    return "goal" if met[0] else "floor" if met[1] else "below"


def rounded(value: Any) -> Any:
    """Floats to four digits, all the way down."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def parse() -> argparse.Namespace:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--pipeline-pairs", type=int, default=300)
    parser.add_argument("--shard-rows", type=int, default=250, help="rows of a chunk of (a): the engine's shard")
    parser.add_argument("--model", default="default")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--engine", type=shlex.split, default=[], help="further flags for ecqa score, in one string")
    parser.add_argument("--part", choices=("bare", "pipeline"), help=argparse.SUPPRESS)
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Print the figures; exit code 1 when a floor is missed, or when other work makes the figures worthless."""
    options = parse()
    if options.part == "bare":
        print(json.dumps(run_bare(options.table, options.model, options.shard_rows)))
        return 0
    if options.part == "pipeline":
        print(json.dumps(run_pipeline(options.table, options.model, options.pipeline_pairs)))
        return 0
    params = machine() | sizes(options)
    with tempfile.TemporaryDirectory() as folder:
        metrics = measure(options, Path(folder))
    print(json.dumps({"params": params, "metrics": rounded(metrics)}, indent=1))
    return int(not {"below", "disturbed"}.isdisjoint(metrics["reached"].values()))


def sizes(options: argparse.Namespace) -> dict[str, Any]:
    """What was asked for."""
    names = ("pairs", "repeats", "pipeline_pairs", "shard_rows", "model", "engine")
    return {name: getattr(options, name) for name in names}


if __name__ == "__main__":
    sys.exit(main())

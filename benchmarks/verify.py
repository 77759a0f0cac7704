"""Every check that needs the real data under ../shared; writes docs/quality.md.

    python benchmarks/verify.py [--shared ../shared] [--output docs/quality.md] [--model default]

Scores the real transcripts of three formats through ``ecqa score``, measures pairs against hand-made ones, exchanges
against hand counts and the model against its baselines, reads the tables with four libraries, and proves that --no-text
leaves no run of six words. Exit code 1 when a floor fails: open books, strict F1 of pairs under 0.92, a count outside its
accepted range, a feature whose macro-F1 is not above the majority class, readers that disagree, text that is left; 2
without the data. Figures come from the run itself; the document holds them with the commands beside.
"""

import argparse
import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from bench_scoring import machine, need, rounded

HERE = Path(__file__).resolve().parent
FORMATS = ("strike_html", "sec_8k_html", "motley_json")
MIN_STRICT_F1 = 0.92
ACCEPT = re.compile(r"accept (\d+)(?:-(\d+))?")
WORDS_IN_A_ROW = 6
WORD = re.compile(r"\w+")
TABLES = ("transcripts", "components", "qa_pairs", "filtered_pairs", "scores", "call_scores", "dead_letters")


@dataclass(frozen=True)
class Room:
    """Where a verification works: the data, the model, a scratch folder ``out``, summaries of the runs by format."""

    shared: Path
    model: str
    out: Path
    summaries: dict[str, dict[str, Any]] = field(default_factory=dict)

    def transcripts(self, name: str) -> Path:
        """Folder of a format's real files."""
        return self.shared / "data" / "transcripts" / name


@dataclass
class Check:
    """One section of the document: its text, its figures, and what failed."""

    title: str
    text: str
    metrics: dict[str, Any]
    failures: list[str] = field(default_factory=list)


def run(room: Room, *arguments: str, allowed: tuple[int, ...] = (0,)) -> dict[str, Any]:
    """Run Python with these arguments, which print one JSON object. Exit code 1 when that fails."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in allowed:
        print(f"{shown(room, *arguments)}: exit {done.returncode}: {done.stderr[-2000:]}", file=sys.stderr)
        raise SystemExit(1)
    return dict(json.loads(done.stdout))


def shown(room: Room, *arguments: str) -> str:
    """A command as the document shows it: paths as they are from the repository, the scratch folder as OUT."""
    line = shlex.join(["python", *arguments])
    return line.replace(str(room.out), "OUT").replace(f"{HERE}{os.sep}", "benchmarks/")


def score_command(room: Room, name: str, *flags: str, output: str | None = None) -> tuple[str, ...]:
    """``ecqa score`` on a format's folder."""
    model = () if room.model == "default" else ("--model", room.model)
    target = str(room.out / (output or name))
    return ("-m", "ecqa", "score", str(room.transcripts(name)), "--output", target, *model, *flags, "--json")


def check_runs(room: Room) -> Check:
    """Score three formats; books, statuses, pairs, marks, windows."""
    lines = [
        "| format | files by status | pairs | marked | in windows | truncated | books | seconds |",
        "|---" * 8 + "|",
    ]
    commands, failures = [], []
    for name in FORMATS:
        commands.append(shown(room, *score_command(room, name)))
        summary = room.summaries[name] = run(room, *score_command(room, name))
        lines.append(run_row(name, summary))
        if not summary["books"]["closed"]:
            failures.append(f"{name}: the books do not close")
    text = "\n".join(
        [*fenced(commands), "", *lines, "", "Files by status counts TRANSCRIPTS rows (*.pairs.csv are no transcripts)."]
    )
    return Check("Real transcripts, end to end", text, {n: s["books"] for n, s in room.summaries.items()}, failures)


def run_row(name: str, summary: dict[str, Any]) -> str:
    """One row of the table of runs."""
    accounts, shares = summary["books"]["accounts"], summary["shares"]
    statuses = ", ".join(f"{value} {key}" for key, value in accounts["transcripts"]["parts"].items() if value)
    marks = [
        f"{value} {key.removeprefix('marked ')}"
        for key, value in accounts["pairs"]["parts"].items()
        if value and key != "kept"
    ]
    closed = "closed" if summary["books"]["closed"] else "OPEN"
    cells = [name, statuses, f"{accounts['pairs']['total']:,}", ", ".join(marks) or "none", percent(shares["windowed"])]
    cells += [percent(shares["truncated"]), closed, f"{summary['speed']['wall_s']:.0f}"]
    return f"| {' | '.join(cells)} |"


def percent(share: float | None) -> str:
    """A share as a percentage."""
    return "none" if share is None else f"{100 * share:.1f} %"


def check_pairs(room: Room) -> Check:
    """Pairs against hand-made pairs."""
    arguments = [str(HERE / "quality_pairs.py"), str(room.out / "strike_html"), str(room.transcripts("strike_html"))]
    arguments += ["--scorer", str(room.shared / "tools" / "score_pairs.py"), "--json"]
    metrics = run(room, *arguments)["metrics"]
    micro, macro = metrics["micro"], metrics["macro"]
    lines = ["| match | precision | recall | F1 | asker right | responder right |", "|---" * 6 + "|"]
    for kind in ("strict", "loose"):
        row = micro[kind]
        names = ("precision", "recall", "f1", "asker_accuracy", "responder_accuracy")
        lines.append(f"| {kind} | {' | '.join(f'{row[name]:.4f}' for name in names)} |")
    about = f"{micro['gold']} hand-made pairs of {macro['calls']} calls, {micro['predicted']} extracted from the same;"
    about += f" strict F1 averaged over calls {macro['strict']['f1']:.4f}. Floor: strict F1 {MIN_STRICT_F1}."
    low = micro["strict"]["f1"] < MIN_STRICT_F1
    failures = [f"strict F1 {micro['strict']['f1']} is under {MIN_STRICT_F1}"] if low else []
    text = "\n".join([*fenced([shown(room, *arguments)]), "", *lines, "", about])
    return Check("Pairs against hand-made pairs", text, {"micro": micro, "macro": macro}, failures)


def check_counts(room: Room) -> Check:
    """Exchanges of the files that were counted by hand and whose format is scored here."""
    lines = ["| file | format | counted by hand | accepted | found |", "|---" * 5 + "|"]
    metrics, failures = {}, []
    with need(room.shared / "data" / "transcripts" / "exchange_counts.csv").open(encoding="utf-8") as stream:
        wanted = [row for row in csv.DictReader(stream) if row["format"] in room.summaries]
    for row in wanted:
        low, high = accepted(row)
        found = num_exchanges(room.out / row["format"], row["file"])
        metrics[row["file"]] = {"found": found, "accepted": [low, high]}
        lines.append(f"| {row['file']} | {row['format']} | {row['n_exchanges']} | {low} to {high} | {found} |")
        if not low <= found <= high:
            failures.append(f"{row['file']}: {found} exchanges, accepted are {low} to {high}")
    text = "\n".join([*lines, "", "An exchange is a run of pairs with the same question, however many answer it."])
    return Check("Exchanges against hand counts", text, metrics, failures)


def accepted(row: dict[str, str]) -> tuple[int, int]:
    """The accepted range in a row's remarks, else its count alone."""
    match = ACCEPT.search(row["remarks"])
    if match is None:
        return int(row["n_exchanges"]), int(row["n_exchanges"])
    return int(match[1]), int(match[2] or match[1])


def num_exchanges(folder: Path, file: str) -> int:
    """Runs of pairs of one file that share their question's components."""
    pairs = read(folder, "qa_pairs", ["source_path", "position", "question_component_ids"]).to_pylist()
    rows = sorted((row for row in pairs if row["source_path"] == file), key=lambda row: row["position"])
    questions = [tuple(row["question_component_ids"]) for row in rows]
    return sum(question != before for question, before in zip(questions, [None, *questions], strict=False))


def check_model(room: Room) -> Check:
    """The model's features against majority class and TF-IDF."""
    arguments = [str(HERE / "quality_model.py"), "--model", room.model, "--data", str(room.shared / "data"), "--json"]
    metrics = run(room, *arguments, allowed=(0, 1))["metrics"]
    from quality_model import evasion_table, feature_table

    features = metrics["features"]
    low = [n for n in features["majority"] if features["model"][n]["macro"] <= features["majority"][n]["macro"]]
    parts = [*fenced([shown(room, *arguments)]), "", f"{metrics['model_version']}: weighted (macro) F1 x 100."]
    parts += ["", feature_table(features)]
    if "evasion" in metrics:
        parts += ["", "Evasion (experimental), macro-F1 x 100 by repeated cross-validation on model-made labels:"]
        parts += ["", evasion_table(metrics["evasion"])]
    failures = [f"{name}: macro-F1 is not above the majority class" for name in low]
    return Check("The model against its baselines", "\n".join(parts), metrics, failures)


def check_readers(room: Room) -> Check:
    """Every table as one dataset in four libraries; one file read by each, scored with ecqa.score, the same scores."""
    lines, failures = ["| table | rows | DuckDB | Polars | pandas | pyarrow |", "|---" * 6 + "|"], []
    for table in TABLES:
        counts = [reader(str(room.out / "strike_html" / table)) for reader in FOLDER_READERS.values()]
        expected = room.summaries["strike_html"]["tables"][table]
        lines.append(f"| {table} | {expected:,} | {' | '.join(f'{count:,}' for count in counts)} |")
        if set(counts) != {expected}:
            failures.append(f"{table}: {expected} rows, readers give {counts}")
    same, rows = scores_agree(room)
    if not same:
        failures.append("ecqa.score gives other scores for the same file read by another library")
    word = "the same" if same else "OTHER"
    about = (
        f"`ecqa.score` on samples_6.csv ({rows} pairs) read by each of the four gives {word} scores, value for value."
    )
    return Check("Readers", "\n".join([*lines, "", about]), {"same_scores": same, "rows": rows}, failures)


def count_duckdb(folder: str) -> int:
    """Rows that DuckDB sees."""
    import duckdb

    return int(duckdb.sql(f"select count(*) from '{folder}/*.parquet'").fetchall()[0][0])


def count_polars(folder: str) -> int:
    """Rows that Polars sees."""
    import polars

    return polars.read_parquet(f"{folder}/*.parquet").height


def count_pandas(folder: str) -> int:
    """Rows that pandas sees."""
    import pandas

    return len(pandas.read_parquet(folder))


FOLDER_READERS: dict[str, Callable[[str], int]] = {
    "DuckDB": count_duckdb,
    "Polars": count_polars,
    "pandas": count_pandas,
    "pyarrow": lambda folder: int(pq.read_table(folder).num_rows),
}


def scores_agree(room: Room) -> tuple[bool, int]:
    """Whether four readers of one file lead to the same scores, and the rows of the file."""
    import ecqa

    path = need(room.shared / "data" / "evasionbench" / "samples_6.csv")
    made = [ecqa.score(table, model=room.model) for table in read_with_four(str(path))]
    tables = [each if isinstance(each, pa.Table) else pa.Table.from_pandas(each, preserve_index=False) for each in made]
    first = tables[-1]
    values = [table.select(first.column_names).cast(first.schema).to_pydict() for table in tables]
    return all(each == values[-1] for each in values), first.num_rows


def read_with_four(path: str) -> Iterator[Any]:
    """A CSV file as Arrow from DuckDB, as Arrow from Polars, as a pandas DataFrame, as Arrow from pyarrow."""
    import duckdb
    import pandas
    import polars

    yield duckdb.read_csv(path).to_arrow_table()
    yield polars.read_csv(path).to_arrow()
    yield pandas.read_csv(path)
    yield pacsv.read_csv(path, parse_options=pacsv.ParseOptions(newlines_in_values=True))


def check_no_text(room: Room) -> Check:
    """Score again with --no-text; compare every string of the output with every run of six words of the texts."""
    arguments = score_command(room, "strike_html", "--no-text", output="no_text")
    run(room, *arguments)
    spoken = read(room.out / "strike_html", "components", ["text"]).column("text").to_pylist()
    known = {hash(words) for text in spoken for words in runs(text or "")}
    found = [
        f"{place}: {' '.join(words)}"
        for place, value in all_strings(room.out / "no_text")
        for words in runs(value)
        if hash(words) in known
    ]
    metrics = {"runs_of_words": len(known), "strings": sum(1 for _ in all_strings(room.out / "no_text"))}
    about = f"{len(known):,} runs of {WORDS_IN_A_ROW} words in the calls' texts; {metrics['strings']:,} strings in the"
    about += f" output (every string of every table, and the ledger's files); runs that occur in both: {len(found)}."
    text = "\n".join([*fenced([shown(room, *arguments)]), "", about])
    return Check("--no-text leaves no text", text, metrics | {"found": len(found)}, found[:5])


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """All runs of six consecutive words, lower case."""
    words = WORD.findall(text.lower())
    return (tuple(words[start : start + WORDS_IN_A_ROW]) for start in range(len(words) - WORDS_IN_A_ROW + 1))


def all_strings(folder: Path) -> Iterator[tuple[str, str]]:
    """Every string of every Parquet file, and every JSON file as one string, with where it stands."""
    for file in sorted(folder.rglob("*.parquet")):
        table = pq.read_table(file)
        for name in table.column_names:
            yield from ((f"{file.parent.name}.{name}", value) for value in strings_of(table.column(name)))
    for file in sorted(folder.rglob("*.json")):
        yield str(file.relative_to(folder)), file.read_text(encoding="utf-8")


def strings_of(column: pa.ChunkedArray) -> Iterable[str]:
    """Different strings of a column or of its lists."""
    if pa.types.is_list(column.type):
        column = pa.chunked_array([chunk.flatten() for chunk in column.chunks], column.type.value_type)
    if not pa.types.is_string(column.type):
        return []
    return [value for value in column.unique().to_pylist() if value]


def read(folder: Path, table: str, columns: list[str]) -> pa.Table:
    """Columns of a table of an output folder."""
    return pq.read_table(folder / table, columns=columns)


def fenced(commands: list[str]) -> list[str]:
    """Commands as a block of code."""
    return ["```", *commands, "```"]


CHECKS = (check_runs, check_pairs, check_counts, check_model, check_readers, check_no_text)


def document(params: dict[str, Any], checks: list[Check], seconds: float) -> str:
    """The whole of docs/quality.md."""
    failed = [failure for check in checks for failure in check.failures]
    about = f"Written by `{params['command']}` on {params['date']} in {seconds:.0f} s; do not edit."
    about += f" {params['cpu']}, {params['cores']} cores, {params['ram_gib']} GiB; Python {params['python']},"
    about += f" torch {params['torch']}, Ray {params['ray']}. Commands run in the repository; OUT is a scratch folder."
    verdict = "All floors hold." if not failed else "FLOORS THAT FAIL:\n\n" + "\n".join(f"- {each}" for each in failed)
    parts = ["# Quality", about, verdict]
    parts += [f"## {check.title}\n\n{check.text}" for check in checks]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Run all checks, write the document, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--output", type=Path, default=Path("docs/quality.md"))
    parser.add_argument("--model", default="default")
    options = parser.parse_args()
    need(options.shared)
    params, begin, checks = machine(), time.monotonic(), []
    with tempfile.TemporaryDirectory() as out:
        room = Room(options.shared, options.model, Path(out))
        for check in CHECKS:
            checks.append(check(room))
            print(
                f"{time.monotonic() - begin:5.0f} s {checks[-1].title}: {checks[-1].failures or 'ok'}", file=sys.stderr
            )
    seconds = time.monotonic() - begin
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(document(params, checks, seconds), encoding="utf-8")
    failures = [failure for check in checks for failure in check.failures]
    metrics = {check.title: check.metrics for check in checks} | {"failures": failures, "seconds": seconds}
    print(json.dumps({"params": params | {"model": options.model}, "metrics": rounded(metrics)}, default=str))
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())

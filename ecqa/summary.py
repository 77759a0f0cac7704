"""What a finished run prints: calls with their scores, where the tables lie, the books and the speed. For people."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from ecqa.core.storage import Storage
from ecqa.core.taxonomy import LabelSet

MAX_CALLS = 20


def print_summary(
    summary: Mapping[str, Any], label_sets: Sequence[LabelSet], statuses: Mapping[str, str], console: Console
) -> None:
    """Print all of it; statuses says which label sets are experimental."""
    calls = _read_calls(str(summary["output"]))
    if calls is not None and calls.num_rows:
        console.print(_calls_table(calls, label_sets))
        doubtful = [name for name, status in statuses.items() if status == "experimental"]
        if doubtful:
            console.print(f"experimental, not to be relied on: {', '.join(doubtful)}", highlight=False)
    _print_tables(summary, console)
    _print_books(summary["books"], console)
    _print_speed(summary, console)


def _read_calls(output: str) -> pa.Table | None:
    storage = Storage(output)
    files = storage.list("call_scores")
    if not files:
        return None
    return pq.read_table(io.BytesIO(storage.read(files[0].path))).slice(0, MAX_CALLS + 1)


def _calls_table(calls: pa.Table, label_sets: Sequence[LabelSet]) -> Table:
    table = Table(title="Calls", title_justify="left", caption_justify="left")
    table.add_column("call")
    table.add_column("pairs", justify="right")
    for label_set in label_sets:
        table.add_column(label_set.name if label_set.numeric else f"{label_set.labels[-1]} %", justify="right")
    for row in calls.slice(0, MAX_CALLS).to_pylist():
        opaque = row["call_id"].startswith("call_") and row["source_path"]
        table.add_row(
            row["source_path"] if opaque else row["call_id"],
            str(row["num_pairs"]),
            *(_cell(row, label_set) for label_set in label_sets),
        )
    if calls.num_rows > MAX_CALLS:
        table.caption = f"the first {MAX_CALLS} calls; all are in call_scores/"
    return table


def _cell(row: Mapping[str, Any], label_set: LabelSet) -> str:
    if label_set.numeric:
        return f"{row[f'{label_set.name}_mean']:.2f}"
    return f"{100 * row[f'{label_set.name}_share_{label_set.labels[-1]}']:.0f}"


def _print_tables(summary: Mapping[str, Any], console: Console) -> None:
    console.print(f"Parquet in {summary['output']}", soft_wrap=True, highlight=False)
    sizes = [f"{name}/ {rows:,}" for name, rows in summary["tables"].items()]
    console.print("  rows: " + ", ".join(sizes), soft_wrap=True, highlight=False)


def _print_books(books: Mapping[str, Any], console: Console) -> None:
    for unit, account in books["accounts"].items():
        parts = ", ".join(f"{value:,} {name}" for name, value in account["parts"].items() if value) or "none"
        console.print(f"  {unit}: {account['total']:,} = {parts}", soft_wrap=True, highlight=False)
    console.print("books closed" if books["closed"] else "BOOKS DO NOT CLOSE", highlight=False)


def _print_speed(summary: Mapping[str, Any], console: Console) -> None:
    speed, shards, shares = summary["speed"], summary["shards"], summary["shares"]
    if not shards["this_run"]:
        console.print(f"nothing to do: all {shards['planned']} shards were done before", highlight=False)
        return
    parts = [f"{shards['this_run']} shards", f"{speed['wall_s']:.1f} s ({speed['startup_s']:.1f} s to start Ray)"]
    if speed["pairs_per_s"]:
        parts += [f"{speed['pairs_per_s']:,.1f} pairs/s", f"{speed['tokens_per_s']:,.0f} tokens/s"]
    if speed["padding_share"] is not None:
        parts.append(f"padding {100 * speed['padding_share']:.1f} %")
    if shares["windowed"] is not None:
        parts.append(
            f"{100 * shares['windowed']:.1f} % of pairs in windows, {100 * shares['truncated']:.1f} % truncated"
        )
    console.print(", ".join(parts), soft_wrap=True, highlight=False)


def print_plan(plan: Mapping[str, Any], console: Console) -> None:
    """Print what a dry run found."""
    changed = f", {plan['num_changed']} inputs changed since they were planned" if plan["num_changed"] else ""
    console.print(f"input {plan['input_root']}\noutput {plan['output']}", soft_wrap=True, highlight=False)
    shards = (
        f"{plan['num_shards']} shards over {plan['num_items']} files or runs of rows, {plan['num_done']} done{changed}"
    )
    console.print(shards, highlight=False)
    table = Table("stage", "runs in", "CPUs", "GPUs", "workers")
    for stage in plan["stages"]:
        kind = "actors" if stage["pool"] == "actor" else "tasks"
        table.add_row(stage["stage"], kind, f"{stage['num_cpus']:g}", f"{stage['num_gpus']:g}", str(stage["workers"]))
    console.print(table)
    console.print(
        f"tables: {', '.join(plan['tables'])}; fingerprint {plan['fingerprint']}", soft_wrap=True, highlight=False
    )

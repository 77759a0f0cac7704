"""Recipes that the conformance suite runs through. A new recipe is not done before it stands here."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ecqa.core.recipe import Recipe
from ecqa.recipes import ScoreJobConfig, ShardConfig, score_recipe

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples" / "transcripts"


@dataclass(frozen=True)
class Entry:
    """A recipe under test: how to make input of several shards, how to spoil one row or file, and its tables' keys."""

    name: str
    make_input: Callable[[Path], str]
    spoil: Callable[[Path], None]
    build: Callable[[str, str], Recipe]
    keys: dict[str, tuple[str, ...]]


def invented_pairs(rows: int, *, call_every: int = 10) -> pa.Table:
    """Pairs of varied length, the same every time."""
    more = "More detail please. "
    steady = "We saw steady demand in most regions. "
    return pa.table(
        {
            "pair_id": [f"row-{i:06d}" for i in range(rows)],
            "call_id": [f"CALL-{i // call_every:05d}" for i in range(rows)],
            "question": [f"How did segment {i % 17} do, and what drove it? {more * (i % 5)}" for i in range(rows)],
            "answer": [f"Segment {i % 17} grew {i % 23} percent. {steady * (i % 29 + 1)}" for i in range(rows)],
        }
    )


def _config(model: str, *, files: int, pairs: int) -> ScoreJobConfig:
    shards = ShardConfig(max_files=files, max_pairs=pairs)
    return ScoreJobConfig(shards=shards, model=model)


def _make_transcripts(folder: Path) -> str:
    for copy in range(3):
        for example in sorted(EXAMPLES.iterdir()):
            target = folder / f"copy{copy}" / example.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(example.read_bytes())
    return str(folder)


def _spoil_transcripts(folder: Path) -> None:
    page = next(path for path in sorted(folder.rglob("*")) if path.suffix == ".html")
    page.write_bytes(page.read_bytes()[: page.stat().st_size // 2])
    (folder / "notes.txt").write_text("Buy milk.\nThe meeting moved to Tuesday.\n")
    (folder / "empty.html").write_bytes(b"")
    (folder / "noise.json").write_bytes(bytes(range(256)) * 20)


def _make_pairs(folder: Path) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(invented_pairs(240), folder / "pairs.parquet", row_group_size=100)
    return str(folder)


def _spoil_pairs(folder: Path) -> None:
    table = invented_pairs(240)
    answers = table.column("answer").to_pylist()
    answers[7], answers[8], answers[9] = None, "   ", "w" * 200_000
    table = table.set_column(3, "answer", pa.array(answers, pa.string()))
    pq.write_table(table, folder / "pairs.parquet", row_group_size=100)


_PAIR_KEYS = {
    "qa_pairs": ("pair_id",),
    "filtered_pairs": ("pair_id",),
    "scores": ("pair_id", "model_version"),
    "call_scores": ("call_id", "model_version"),
    "dead_letters": ("row_id", "stage", "attempt"),
}

ENTRIES = {
    entry.name: entry
    for entry in (
        Entry(
            "score_transcripts",
            _make_transcripts,
            _spoil_transcripts,
            lambda url, model: score_recipe(url, _config(model, files=2, pairs=30)),
            {"transcripts": ("transcript_id",), "components": ("component_id",), **_PAIR_KEYS},
        ),
        Entry(
            "score_pairs",
            _make_pairs,
            _spoil_pairs,
            lambda url, model: score_recipe(url, _config(model, files=2, pairs=30)),
            _PAIR_KEYS,
        ),
    )
}


def read_table(output: Path, name: str, keys: tuple[str, ...]) -> pa.Table:
    """A table as one dataset, sorted by its key; the key must be unique."""
    table = pq.read_table(output / name)
    table = table.sort_by([(key, "ascending") for key in keys])
    distinct = table.select(list(keys)).group_by(list(keys)).aggregate([]).num_rows
    assert distinct == table.num_rows, f"{name}: {table.num_rows} rows but {distinct} keys"
    return table


def assert_same(entry: Entry, one: Path, other: Path) -> None:
    """Every table equal, row for row and value for value, schema included; tracebacks may name other lines."""
    for name, keys in entry.keys.items():
        first, second = read_table(one, name, keys), read_table(other, name, keys)
        if name == "dead_letters":
            first, second = first.drop_columns(["traceback"]), second.drop_columns(["traceback"])
        assert first.schema.equals(second.schema, check_metadata=True), name
        assert first.equals(second), f"{name} differs: {first.num_rows} and {second.num_rows} rows"


def num_scored(output: Path) -> int:
    """Rows of SCORES."""
    return int(pc.count(pq.read_table(output / "scores").column("pair_id")).as_py())

"""The ledger of an output folder: what was planned, what is done, and which files count.

    _ecqa/run.json              fingerprint parts and input root; written once, the first run wins
    _ecqa/plan/000001.json.gz   shards planned by one run, and shards that it retires because their input changed
    _ecqa/shards/<id>.json      one entry a finished shard: files (table, path, rows, sha256), counts, timings
    _ecqa/global/<step>.json    which shards a global step has merged, and its files
    _ecqa/partials/<table>/     per-shard partials of global steps
    _ecqa/runs/<run>.json       summary of each run
    _ecqa/stop/<run>            present when a run was asked to stop

A shard is done when its entry exists. The entry is put last, under the condition that there is none, and a table file's
name begins with its shard's id, so a file whose shard has no entry belongs to nobody and is removed at the next start.
"""

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecqa.core.errors import OutputError
from ecqa.core.fingerprint import check_same
from ecqa.core.shards import Item, Shard, group_items
from ecqa.core.storage import Storage

FOLDER = "_ecqa"
PARTIALS = f"{FOLDER}/partials"


@dataclass(frozen=True)
class Plan:
    """All live shards of an output folder, and what this planning round found.

    shards: in planned order, retired ones left out. retired: ids whose entries and files must go. num_changed: inputs
    that are not what they were when planned. num_gone: inputs once planned that are no longer listed; their rows stay.
    """

    shards: tuple[Shard, ...]
    retired: frozenset[str]
    num_changed: int
    num_gone: int


@dataclass(frozen=True)
class Ledger:
    """Reads and writes the ledger below one output folder."""

    storage: Storage

    def open(self, parts: Mapping[str, str], root: str) -> None:
        """Claim the folder for a fingerprint and an input root, or check that it is theirs already.

        Raises FingerprintError on another fingerprint, OutputError when the folder cannot be written.
        """
        claim = {"fingerprint": dict(parts), "input_root": root}
        path = f"{FOLDER}/run.json"
        if self.storage.put_new(path, _to_json(claim)):
            return
        stored = json.loads(self.storage.read(path))
        check_same(stored["fingerprint"], parts, self.storage.url)
        check_same({"input root": stored["input_root"]}, {"input root": root}, self.storage.url)

    def plan(self, items: Sequence[Item], *, max_items: int, max_bytes: int, write: bool = True) -> Plan:
        """Plan the items that no live shard holds yet; shards with an item that changed are retired and planned anew.

        With write=False (dry run) nothing is stored.
        """
        live, retired, number = self._live()
        listed = {_place(item): item for item in items}
        planned = {_place(item): item for shard in live.values() for item in shard.items}
        changed = {place for place, item in planned.items() if place in listed and _differs(item, listed[place])}
        # A table that shrank or grew is cut elsewhere: ranges that vanish from a file still listed are changes too.
        paths = {item.path for item in items}
        changed |= {place for place in planned if place not in listed and place[0] in paths}
        gone = {place for place in planned if place[0] not in paths}
        outdated = {key for key, shard in live.items() if any(_place(item) in changed for item in shard.items)}
        kept = {key: shard for key, shard in live.items() if key not in outdated}
        held = {_place(item) for shard in kept.values() for item in shard.items}
        fresh = list(group_items((i for i in items if _place(i) not in held), max_items=max_items, max_bytes=max_bytes))
        if write and (fresh or outdated):
            self._write_plan(number, fresh, outdated)
        shards = (*kept.values(), *fresh)
        return Plan(shards, frozenset(retired | outdated) - {s.shard_id for s in shards}, len(changed), len(gone))

    def _live(self) -> tuple[dict[str, Shard], set[str], int]:
        paths = [info.path for info in self.storage.list(f"{FOLDER}/plan")]
        live: dict[str, Shard] = {}
        retired: set[str] = set()
        for raw in self.storage.read_many(paths):
            generation = json.loads(gzip.decompress(raw))
            for key in generation["retires"]:
                live.pop(key, None)
                retired.add(key)
            live |= {shard["shard_id"]: Shard.from_dict(shard) for shard in generation["shards"]}
        return live, retired, len(paths) + 1

    def _write_plan(self, number: int, fresh: Sequence[Shard], outdated: Iterable[str]) -> None:
        generation = {"shards": [shard.to_dict() for shard in fresh], "retires": sorted(outdated)}
        path = f"{FOLDER}/plan/{number:06d}.json.gz"
        if not self.storage.put_new(path, gzip.compress(_to_json(generation), mtime=0)):
            raise OutputError(
                f"{self.storage.url}: another run planned work here at the same moment; run the command again when it is done"
            )

    def done(self) -> set[str]:
        """Ids of the shards that have an entry."""
        return {_stem(info.path) for info in self.storage.list(f"{FOLDER}/shards")}

    def commit(self, shard_id: str, entry: Mapping[str, Any]) -> bool:
        """Put a shard's entry; False when another worker's entry was there first (that one counts)."""
        return self.storage.put_new(_entry_path(shard_id), _to_json(entry))

    def entries(self, shard_ids: Iterable[str]) -> list[dict[str, Any]]:
        """Entries of finished shards."""
        return [json.loads(raw) for raw in self.storage.read_many([_entry_path(key) for key in shard_ids])]

    def clean(self, plan: Plan, tables: Sequence[str], partials: Sequence[str]) -> int:
        """Remove entries of retired shards and files that no entry stands behind; return how many files went."""
        done = self.done()
        dropped = done & plan.retired
        self.storage.delete(_entry_path(key) for key in sorted(dropped))
        done -= dropped
        folders = [*tables, *(f"{PARTIALS}/{name}" for name in partials)]
        files = [info.path for folder in folders for info in self.storage.list(folder)]
        orphans = [path for path in files if path.rpartition("/")[2].partition("-")[0] not in done | {"empty"}]
        self.storage.delete(orphans)
        return len(orphans)

    def global_entry(self, step: str) -> dict[str, Any] | None:
        """Entry of a global step, None when it never ran to its end."""
        path = f"{FOLDER}/global/{step}.json"
        return dict(json.loads(self.storage.read(path))) if self.storage.exists(path) else None

    def write_global(self, step: str, entry: Mapping[str, Any]) -> None:
        """Record a global step as done."""
        self.storage.write(f"{FOLDER}/global/{step}.json", _to_json(entry))

    def drop_global(self, step: str) -> None:
        """Forget a global step."""
        self.storage.delete([f"{FOLDER}/global/{step}.json"])

    def write_run(self, run_id: str, record: Mapping[str, Any]) -> str:
        """Store a run's summary; returns its path."""
        path = f"{FOLDER}/runs/{run_id}.json"
        self.storage.write(path, _to_json(record))
        return path

    def ask_to_stop(self, run_id: str) -> None:
        """Ask the workers of a run to begin no further shard."""
        self.storage.write(_stop_path(run_id), b"stop\n")

    def asked_to_stop(self, run_id: str) -> bool:
        """True when the run was asked to stop."""
        return self.storage.exists(_stop_path(run_id))

    def clear_stop(self, run_id: str) -> None:
        """Remove a run's stop mark."""
        self.storage.delete([_stop_path(run_id)])


def table_path(table: str, shard_id: str, run_fingerprint: str, partials: Sequence[str]) -> str:
    """Where a shard's rows of a table lie."""
    folder = f"{PARTIALS}/{table}" if table in partials else table
    return f"{folder}/{shard_id}-{run_fingerprint}.parquet"


def _place(item: Item) -> tuple[str, int | None, int | None]:
    return item.path, item.start, item.stop


def _differs(one: Item, other: Item) -> bool:
    return (one.num_bytes, one.version) != (other.num_bytes, other.version)


def _entry_path(shard_id: str) -> str:
    return f"{FOLDER}/shards/{shard_id}.json"


def _stop_path(run_id: str) -> str:
    return f"{FOLDER}/stop/{run_id}"


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json")


def _to_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()

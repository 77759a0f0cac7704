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
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecqa.core.errors import OutputError
from ecqa.core.fingerprint import check_same
from ecqa.core.shards import Item, Limits, Shard, group_items
from ecqa.core.storage import FileInfo, Storage, batched

FOLDER = "_ecqa"
PARTIALS = f"{FOLDER}/partials"
ENTRIES_AT_ONCE = 1000
_TABLE_FILE = re.compile(r"(?:s_[0-9a-f]{20}|empty)-[0-9a-f]{12}\.parquet|all-[0-9a-f]{12}-\d{4}\.parquet")
_PLAN = re.compile(r"\d{6}\.json\.gz")
_KEYS = {
    "run.json": ("fingerprint", "input_root"),
    "plan": ("shards", "retires"),
    "shards": ("shard", "files", "counts", "timings", "began"),
    "global": ("covers", "files"),
}


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

    def open(self, parts: Mapping[str, str], root: str, tables: Sequence[str] = ()) -> None:
        """Claim the folder for a fingerprint and an input root, or check that it is theirs already.

        A claim of a run that never finished a shard is given up for the new one. Raises FingerprintError on another
        fingerprint, OutputError when the folder cannot be written, or a table's folder holds files already.
        """
        claim = {"fingerprint": dict(parts), "input_root": root}
        path = f"{FOLDER}/run.json"
        if not self.storage.exists(path):
            self._check_unused(tables)
        if self.storage.put_new(path, _to_json(claim)):
            return
        stored = _from_json(self.storage, path)
        if stored != claim and not self.done():
            self.storage.delete(info.path for info in self.storage.list(f"{FOLDER}/plan"))
            self.storage.write(path, _to_json(claim))
            return
        check_same(stored["fingerprint"], parts, self.storage.url)
        check_same({"input root": stored["input_root"]}, {"input root": root}, self.storage.url)

    def _check_unused(self, tables: Sequence[str]) -> None:
        for table in tables:
            found = self.storage.list(table)
            if found:
                raise OutputError(
                    f"{self.storage.url}/{found[0].path}: there is no run of ecqa here, but its folder {table}/ holds files; "
                    f"give another --output"
                )

    def plan(
        self,
        files: Sequence[FileInfo],
        cut: Callable[[FileInfo], list[Item]],
        *,
        limits: Limits,
        write: bool = True,
    ) -> Plan:
        """Plan the files that no live shard holds; shards with a file that changed are retired, their files planned anew.

        ``cut`` is asked for new and changed files alone, so another shard size leaves finished work as it is. With
        write=False (dry run) nothing is stored.
        """
        live, retired, number = self._live()
        listed = {info.path: info for info in files}
        planned = {item.path: item for shard in live.values() for item in shard.items}
        changed = {path for path, item in planned.items() if path in listed and _differs(item, listed[path])}
        outdated = {key for key, shard in live.items() if any(item.path in changed for item in shard.items)}
        items = [item for key in live if key in outdated for item in live[key].items if item.path not in changed]
        items += [item for info in files if info.path in changed or info.path not in planned for item in cut(info)]
        fresh = list(group_items(items, limits))
        if write and (fresh or outdated):
            self._write_plan(number, fresh, outdated)
        shards = (*(shard for key, shard in live.items() if key not in outdated), *fresh)
        gone = frozenset(retired | outdated) - {shard.shard_id for shard in shards}
        return Plan(shards, gone, len(changed), len(planned.keys() - listed.keys()))

    def _live(self) -> tuple[dict[str, Shard], set[str], int]:
        listed = (info.path for info in self.storage.list(f"{FOLDER}/plan"))
        paths = [path for path in listed if _PLAN.fullmatch(path.rpartition("/")[2])]
        live: dict[str, Shard] = {}
        retired: set[str] = set()
        for path, raw in zip(paths, self.storage.read_many(paths), strict=True):
            generation = _parse(self.storage, path, raw)
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

    def entries(self, shard_ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Entries of finished shards, read a thousand at a time."""
        for keys in batched(shard_ids, ENTRIES_AT_ONCE):
            paths = [_entry_path(key) for key in keys]
            for path, raw in zip(paths, self.storage.read_many(paths), strict=True):
                yield _parse(self.storage, path, raw)

    def clean(self, plan: Plan, tables: Sequence[str], partials: Sequence[str]) -> tuple[int, set[str]]:
        """Remove entries of retired shards and files that no entry stands behind.

        Returns how many files went, and the shards that count as done: those seen before anything was removed, so that
        an entry that a dying worker still puts cannot vouch for files that are gone by then.
        """
        done = self.done()
        dropped = done & plan.retired
        self.storage.delete(_entry_path(key) for key in sorted(dropped))
        done -= dropped
        known = done | {"empty"}
        files = [path for path in self.files(tables, partials) if is_ours(path) and _shard_of(path) not in known]
        self.storage.delete(files)
        late = self.done() - done
        self.storage.delete(_entry_path(key) for key in sorted(late))
        return len(files), done

    def files(self, tables: Sequence[str], partials: Sequence[str]) -> dict[str, int]:
        """Paths and sizes of all files of these tables."""
        folders = [*tables, *(f"{PARTIALS}/{name}" for name in partials)]
        return {info.path: info.num_bytes for folder in folders for info in self.storage.list(folder)}

    def drop(self, shard_ids: Iterable[str]) -> None:
        """Forget that shards were done."""
        self.storage.delete(_entry_path(key) for key in sorted(shard_ids))

    def global_entry(self, step: str) -> dict[str, Any] | None:
        """Entry of a global step, None when it never ran to its end."""
        path = f"{FOLDER}/global/{step}.json"
        return _from_json(self.storage, path) if self.storage.exists(path) else None

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


def is_ours(path: str) -> bool:
    """True when a file's name is one that ecqa gives; no other file is ever removed."""
    return _TABLE_FILE.fullmatch(path.rpartition("/")[2]) is not None


def _shard_of(path: str) -> str:
    return path.rpartition("/")[2].partition("-")[0]


def _differs(item: Item, file: FileInfo) -> bool:
    return (item.num_bytes, item.version) != (file.num_bytes, file.version)


def _from_json(storage: Storage, path: str) -> dict[str, Any]:
    return _parse(storage, path, storage.read(path))


def _parse(storage: Storage, path: str, raw: bytes) -> dict[str, Any]:
    try:
        parsed = dict(json.loads(gzip.decompress(raw) if path.endswith(".gz") else raw))
        missing = [key for key in _KEYS.get(path.split("/")[1], ()) if key not in parsed]
        if missing:
            raise ValueError(f"no {missing[0]} in it")
        return parsed
    except (ValueError, TypeError, EOFError, zlib.error, OSError) as error:
        raise OutputError(
            f"{storage.url}/{path}: this part of the ledger is damaged ({error}); give another --output, or restore the file"
        ) from error


def _entry_path(shard_id: str) -> str:
    return f"{FOLDER}/shards/{shard_id}.json"


def _stop_path(run_id: str) -> str:
    return f"{FOLDER}/stop/{run_id}"


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".json")


def _to_json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()

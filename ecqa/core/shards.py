"""Shards: the unit of work. Groups inputs into shards of a stated size, with ids that follow from what they hold.

A shard is a group of small files or a run of rows of one table file. Knows nothing of how a shard is read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ecqa.core.ids import make_id


@dataclass(frozen=True)
class Item:
    """A piece of input: a whole file (start = stop = None) or units start..stop of it, in the source's own measure.

    num_rows: rows of a table that it holds, first_row the first one's number in the file. header_stop and encoding: end of
    a CSV file's header in bytes, and how the file is encoded.
    """

    path: str
    num_bytes: int
    version: str
    start: int | None = None
    stop: int | None = None
    first_row: int | None = None
    num_rows: int | None = None
    header_stop: int | None = None
    encoding: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values, without what is not set."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Shard:
    """Items that are read, transformed and written together."""

    shard_id: str
    items: tuple[Item, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"shard_id": self.shard_id, "items": [item.to_dict() for item in self.items]}

    @staticmethod
    def from_dict(raw: dict[str, Any]) -> "Shard":
        """Inverse of to_dict."""
        return Shard(raw["shard_id"], tuple(Item(**item) for item in raw["items"]))


def make_shard(items: Iterable[Item]) -> Shard:
    """Build a shard; its id follows from paths, versions and ranges."""
    held = tuple(items)
    parts = [f"{i.path}\0{i.version}\0{i.num_bytes}\0{i.start}\0{i.stop}" for i in held]
    return Shard(make_id("s", *parts), held)


@dataclass(frozen=True)
class Limits:
    """What a shard holds at most; one item alone may be larger."""

    items: int
    num_bytes: int
    num_rows: int | None = None


def group_items(items: Iterable[Item], limits: Limits) -> Iterator[Shard]:
    """Group items in order into shards within the limits."""
    group: list[Item] = []
    for item in items:
        if group and not _fits([*group, item], limits):
            yield make_shard(group)
            group = []
        group.append(item)
    if group:
        yield make_shard(group)


def _fits(group: list[Item], limits: Limits) -> bool:
    rows = sum(item.num_rows or 0 for item in group)
    within = limits.num_rows is None or rows <= limits.num_rows
    return within and len(group) <= limits.items and sum(item.num_bytes for item in group) <= limits.num_bytes

"""Recipe: which source, stages and global steps make up a job. Declared in ecqa/recipes.py, run by the engine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from ecqa.core.books import Books
from ecqa.core.shards import Item, Limits, Shard
from ecqa.core.sources import Listing
from ecqa.core.stage import Stage, Tables
from ecqa.core.storage import FileInfo
from ecqa.core.taxonomy import LabelSet

Counts = Mapping[str, float]


class Source(Protocol):
    """Where a job's input comes from. version is raised whenever the same bytes would be read as other rows."""

    @property
    def listing(self) -> Listing:
        """The files, and the root below which their paths lie."""

    @property
    def version(self) -> int:
        """Part of the run's fingerprint."""

    @property
    def limits(self) -> Limits:
        """What a shard holds at most."""

    def cut(self, file: FileInfo) -> list[Item]:
        """Items of one file: asked once for each file, when it is new or changed."""

    def read(self, shard: Shard) -> Tables:
        """Read one shard. A file that is gone or may not be read is a row that says so."""


@dataclass(frozen=True)
class GlobalStep:
    """A step that needs all rows: a table written per shard (the partial) is merged over all shards in buckets.

    merge takes the concatenated partial rows of one bucket and gives the rows of ``output``; key says which column
    decides the bucket, so that all rows of one key meet.
    """

    name: str
    version: int
    partial: str
    output: str
    key: str
    merge: Callable[[pa.Table], pa.Table]


@dataclass(frozen=True)
class Recipe:
    """A job: source, stages in order, contract schemas of all tables, and which are written.

    tables are written for users; partials are written for global steps, under the ledger; counted travel to the commit
    to be counted only. redact, when set, empties text columns on the way out and proves that nothing is left.
    """

    name: str
    source: Source
    stages: tuple[Stage, ...]
    schemas: Mapping[str, pa.Schema]
    tables: tuple[str, ...]
    partials: tuple[str, ...]
    counted: tuple[str, ...]
    global_steps: tuple[GlobalStep, ...]
    count: Callable[[Tables], dict[str, float]]
    books: Callable[[Counts], Books]
    label_sets: tuple[LabelSet, ...]
    statuses: Mapping[str, str]
    redact: bool = False
    fingerprint_extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> Sequence[str]:
        """Tables that the source gives: inputs of stages that no earlier stage makes."""
        made: set[str] = set()
        given: list[str] = []
        for stage in self.stages:
            given += [name for name in stage.inputs if name not in made and name not in given]
            made |= set(stage.outputs)
        return given

"""Stage: the declaration of one step of work, table names in, table names out.

A step has three rings: a rule (a pure function on plain values), a transform (Arrow tables in, Arrow tables out,
built once for each worker by ``make``) and this declaration, which the engine holds to the contract schemas on entry and exit.
How many CPUs, GPUs and workers a stage gets stands in the job's config, never here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import pyarrow as pa
from pydantic import BaseModel

Tables = Mapping[str, pa.Table]


class Transform(Protocol):
    """What ``make`` builds: called once for each shard with the stage's inputs, gives the stage's outputs."""

    def __call__(self, tables: Tables) -> Tables:
        """Work on one shard."""


@dataclass(frozen=True)
class Stage:
    """One step of a recipe.

    name: unique in its recipe, a verb.
    version: raised by hand whenever the same input would give other output; part of the run's fingerprint.
    make: module-level function or class (it travels to workers), called once a worker with ``config``.
    config: frozen model whose fields change values; part of the fingerprint.
    inputs, outputs: names of tables. An output may replace an input of the same name.
    unit: column that all inputs share; when the transform raises, the engine halves the rows by this column until the
        bad units are alone, sends those to DEAD_LETTERS, and goes on with the rest.
    pool: "task" for light stages, "actor" for those that build something heavy (a model).
    when_dead: rows that stand for a dead unit, from the unit's inputs; without it a dead unit leaves no new rows.
    no_values: config fields that change no value (paths, batch sizes, devices) and stay out of the fingerprint.
    """

    name: str
    version: int
    make: Callable[[Any], Transform]
    config: BaseModel | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    unit: str
    pool: Literal["task", "actor"] = "task"
    no_values: frozenset[str] = frozenset()
    when_dead: Callable[[Tables], Tables] | None = None

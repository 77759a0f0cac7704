"""Runs stages on tables in this process, without a cluster, storage or ledger: for notebooks and small inputs."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ecqa.core.schemas import empty
from ecqa.core.stage import Stage, Tables
from ecqa.engine.isolate import run_stage
from ecqa.engine.work import DEAD


def run_stages(stages: Sequence[Stage], tables: Tables, schemas: Mapping[str, pa.Schema]) -> dict[str, pa.Table]:
    """All tables, the given ones and those made; rows that failed are in dead_letters."""
    held = {DEAD: empty(schemas[DEAD]), **tables}
    for stage in stages:
        outputs, dead = run_stage(stage, stage.make(stage.config), held, schemas, "memory")
        held = held | outputs | {DEAD: pa.concat_tables([held[DEAD], dead])}
    return held

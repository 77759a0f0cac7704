"""A shard as one Arrow block of one row: a column for each table (a list of structs), and a header.

One row cannot be split by Ray, an empty table is an empty list (Ray drops blocks without rows), and several tables travel
together with their types. Packing and unpacking copy no values.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pyarrow as pa

from ecqa.core.shards import Shard

HEADER = "header"


@dataclass
class Header:
    """What travels beside a shard's tables: its descriptor, where and when stages ran, and whether it is skipped.

    timings: seconds by stage. began: when each stage began, in seconds since the epoch. workers: host:pid by stage.
    """

    shard: dict[str, Any]
    timings: dict[str, float] = field(default_factory=dict)
    began: dict[str, float] = field(default_factory=dict)
    workers: dict[str, str] = field(default_factory=dict)
    skipped: bool = False

    @property
    def descriptor(self) -> Shard:
        """The shard."""
        return Shard.from_dict(self.shard)


def pack(header: Header, tables: Mapping[str, pa.Table]) -> pa.Table:
    """Build the one-row block."""
    columns = {HEADER: pa.array([json.dumps(asdict(header))])}
    for name, table in tables.items():
        columns[name] = pa.LargeListArray.from_arrays(pa.array([0, table.num_rows], pa.int64()), _structs(table))
    return pa.table(columns)


def unpack(block: pa.Table, row: int, schemas: Mapping[str, pa.Schema]) -> tuple[Header, dict[str, pa.Table]]:
    """Inverse of pack for one row of a block."""
    header = Header(**json.loads(block.column(HEADER)[row].as_py()))
    tables = {}
    for name in block.column_names:
        if name != HEADER:
            structs = block.column(name).slice(row, 1).combine_chunks().flatten()
            tables[name] = pa.table(structs.flatten(), schema=schemas[name])
    return header, tables


def first_block(shards: Sequence[Shard]) -> list[dict[str, str]]:
    """Descriptors as rows for ``ray.data.from_items``."""
    return [{HEADER: json.dumps(asdict(Header(shard.to_dict())))} for shard in shards]


def _structs(table: pa.Table) -> pa.StructArray:
    arrays = [_one_chunk(table.column(index)) for index in range(table.num_columns)]
    return pa.StructArray.from_arrays(arrays, fields=list(table.schema))


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)

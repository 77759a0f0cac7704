"""Licensed text: empties every text column on the way out, and proves that no run of words is left elsewhere.

The proof compares each remaining string with all runs of six consecutive words of the shard's texts; names, tickers and
ids are shorter than that. Knows nothing of storage.
"""

import re
from collections.abc import Iterable, Mapping

import pyarrow as pa

from ecqa.core.errors import SchemaError
from ecqa.core.schemas import text_columns

WORDS_IN_A_ROW = 6
_WORD = re.compile(r"\w+")


def redact(tables: Mapping[str, pa.Table], schemas: Mapping[str, pa.Schema]) -> dict[str, pa.Table]:
    """Return the tables without text. A nullable string that repeats text is emptied too.

    Raises SchemaError when text stands in a column that cannot be empty.
    """
    forbidden = _Shingles(_texts(tables, schemas))
    return {name: _redact_table(name, table, schemas[name], forbidden) for name, table in tables.items()}


def _texts(tables: Mapping[str, pa.Table], schemas: Mapping[str, pa.Schema]) -> Iterable[str]:
    for name, table in tables.items():
        for column in text_columns(schemas[name]):
            if pa.types.is_string(table.schema.field(column).type):
                yield from (value for value in table.column(column).to_pylist() if value)


def _redact_table(name: str, table: pa.Table, schema: pa.Schema, forbidden: "_Shingles") -> pa.Table:
    hidden = set(text_columns(schema))
    for index, field in enumerate(schema):
        if field.name in hidden:
            table = table.set_column(index, field, pa.nulls(table.num_rows, field.type))
        elif pa.types.is_string(field.type):
            values = table.column(field.name).to_pylist()
            clean = [None if value and forbidden.found_in(value) else value for value in values]
            if clean == values:
                continue
            if not field.nullable:
                raise SchemaError(f"{name}.{field.name}: holds transcript text, which --no-text forbids")
            table = table.set_column(index, field, pa.array(clean, field.type))
    return table


class _Shingles:
    """All runs of six words of some texts, built when first asked for: most shards never need them."""

    def __init__(self, texts: Iterable[str]):
        self._texts = list(texts)
        self._known: set[tuple[str, ...]] | None = None

    def found_in(self, value: str) -> bool:
        runs = _runs(value)
        if not runs:
            return False
        if self._known is None:
            self._known = {run for text in self._texts for run in _runs(text)}
        return any(run in self._known for run in runs)


def _runs(text: str) -> list[tuple[str, ...]]:
    words = _WORD.findall(text.lower())
    return [tuple(words[i : i + WORDS_IN_A_ROW]) for i in range(len(words) - WORDS_IN_A_ROW + 1)]

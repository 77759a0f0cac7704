"""Labelled pairs for training: a CSV or Parquet file to texts, label indices and groups, and a split by group.

Column names are compared without case. A label that is empty is -1, missing, and is masked wherever it is used. Knows
nothing of models.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ecqa.core.errors import InputError
from ecqa.core.taxonomy import LabelSet

MISSING = -1


@dataclass(frozen=True)
class LabelledPairs:
    """Pairs with labels.

    labels: for each label set one label index a pair, -1 where missing. groups: pairs of one group never part in a split.
    """

    questions: tuple[str, ...]
    answers: tuple[str, ...]
    labels: dict[str, NDArray[np.int64]]
    groups: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.questions)

    def take(self, rows: NDArray[np.int64]) -> "LabelledPairs":
        """The pairs at these positions."""
        return LabelledPairs(
            tuple(self.questions[row] for row in rows),
            tuple(self.answers[row] for row in rows),
            {name: values[rows] for name, values in self.labels.items()},
            tuple(self.groups[row] for row in rows),
        )


def read_labelled_pairs(
    path: Path, label_sets: Sequence[LabelSet], *, columns: dict[str, str] | None = None, group_by: Sequence[str] = ()
) -> LabelledPairs:
    """Read a table with the columns question, answer and one a label set (``columns`` renames, in lower case).

    group_by: columns that together name a group; by default every row is its own. Raises InputError for a missing file,
    a missing column or an unknown label.
    """
    if not path.is_file():
        raise InputError(f"labelled pairs {path}: no such file")
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, keep_default_na=False)
    frame = frame.rename(columns=str.lower).rename(columns=columns or {})
    wanted = ["question", "answer", *(label_set.name for label_set in label_sets), *group_by]
    if absent := [column for column in wanted if column not in frame.columns]:
        raise InputError(f"labelled pairs {path}: columns {absent} are missing; it has {list(frame.columns)}")
    groups = frame[list(group_by)].astype(str).agg("|".join, axis=1) if group_by else frame.index.astype(str)
    return LabelledPairs(
        tuple(frame["question"].fillna("").astype(str)),
        tuple(frame["answer"].fillna("").astype(str)),
        {label_set.name: _label_indices(path, label_set, frame[label_set.name]) for label_set in label_sets},
        tuple(groups),
    )


def _label_indices(path: Path, label_set: LabelSet, column: "pd.Series[str]") -> NDArray[np.int64]:
    places = {label: index for index, label in enumerate(label_set.labels)}
    given = column.map(lambda value: _label_text(value))
    unknown = sorted(set(given.dropna()) - set(places))
    if unknown:
        raise InputError(f"labelled pairs {path}: {label_set.name} has unknown labels {unknown}; known {list(places)}")
    return np.array(given.map(places).fillna(MISSING), np.int64)


def _label_text(value: object) -> str | None:
    if value is None or value != value or value == "":
        return None
    return str(value).removesuffix(".0")


def split_by_group(pairs: LabelledPairs, share: float, seed: int) -> tuple[LabelledPairs, LabelledPairs]:
    """Split off whole groups until they hold ``share`` of the pairs; returns (the rest, the part split off)."""
    names, counts = np.unique(np.array(pairs.groups), return_counts=True)
    order = np.random.default_rng(seed).permutation(len(names))
    chosen = order[np.cumsum(counts[order]) <= share * len(pairs)]
    apart = np.isin(np.array(pairs.groups), names[chosen])
    return pairs.take(np.flatnonzero(~apart)), pairs.take(np.flatnonzero(apart))

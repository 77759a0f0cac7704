"""Taxonomies: the label sets that a model predicts and that the columns of SCORES follow from.

A taxonomy is a versioned YAML file under ecqa/resources/taxonomies/ (or a user's own file of that shape). A released
file is never edited; a change is a new version. Knows nothing of models.
"""

import hashlib
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from ecqa.core.errors import ConfigError


class LabelSet(BaseModel):
    """One question asked of every pair, with its ordered answers.

    ``numeric`` label sets have labels 0..k-1 and get a mean rating; the others are named levels.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    numeric: bool
    labels: tuple[str, ...]
    meaning: str
    label_meanings: dict[str, str]

    @model_validator(mode="after")
    def _labels_fit(self) -> "LabelSet":
        if len(set(self.labels)) != len(self.labels) or len(self.labels) < 2:
            raise ValueError(f"label set {self.name}: needs two or more different labels, got {list(self.labels)}")
        if set(self.label_meanings) != set(self.labels):
            raise ValueError(f"label set {self.name}: label_meanings must name exactly {list(self.labels)}")
        if self.numeric and self.labels != tuple(str(i) for i in range(len(self.labels))):
            raise ValueError(f"label set {self.name}: numeric labels must be 0, 1, 2, ..., got {list(self.labels)}")
        return self

    @property
    def probability_columns(self) -> tuple[str, ...]:
        """Column names in label order: clear_p0, clear_p1, ... or evasion_p_direct, ..."""
        return tuple(f"{self.name}_p{'' if self.numeric else '_'}{label}" for label in self.labels)


class Taxonomy(BaseModel):
    """A named, versioned list of label sets from one source."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    source: str
    label_sets: tuple[LabelSet, ...]

    def __getitem__(self, name: str) -> LabelSet:
        for label_set in self.label_sets:
            if label_set.name == name:
                return label_set
        raise KeyError(name)

    @property
    def fingerprint(self) -> str:
        """Hash of the whole content, 16 hex digits."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


@lru_cache(maxsize=32)
def load_taxonomy(name: str) -> Taxonomy:
    """Load a taxonomy by its released name ("subjectivity-v1") or by the path of a YAML file.

    Raises ConfigError when there is none, or when it is malformed.
    """
    path = Path(name)
    if path.suffix in {".yaml", ".yml"}:
        if not path.is_file():
            raise ConfigError(f"taxonomy {name}: no such file")
        return parse_taxonomy(path.read_text(encoding="utf-8"), name)
    folder = resources.files("ecqa.resources") / "taxonomies"
    released = sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml"))
    if name not in released:
        raise ConfigError(f"taxonomy {name}: not released; known are {', '.join(released)}, or give a .yaml file")
    return parse_taxonomy((folder / f"{name}.yaml").read_text(encoding="utf-8"), name)


def parse_taxonomy(text: str, name: str) -> Taxonomy:
    """Build a Taxonomy from YAML text; ``name`` is for the error message."""
    try:
        raw: Any = yaml.safe_load(text)
        return Taxonomy.model_validate(raw)
    except (yaml.YAMLError, ValidationError) as error:
        raise ConfigError(f"taxonomy {name}: {' '.join(str(error).split())}") from error

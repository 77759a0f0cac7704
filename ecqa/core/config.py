"""Strict, frozen configs: an unknown key is an error that names the nearest known one.

Each config model lives beside the code that uses it; this module holds their base and how they are read from YAML.
"""

import difflib
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ecqa.core.errors import ConfigError


class StrictConfig(BaseModel):
    """Base of all configs."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


Config = TypeVar("Config", bound=BaseModel)


def read_yaml(path: str) -> dict[str, Any]:
    """Read a YAML mapping. Raises ConfigError when the file is missing, broken or not a mapping."""
    try:
        raw = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"config {path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"config {path}: not valid YAML: {' '.join(str(error).split())}") from error
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        raise ConfigError(f"config {path}: expected a mapping of settings, got {type(raw).__name__}")
    return raw


def build(model: type[Config], raw: dict[str, Any], place: str) -> Config:
    """Validate ``raw`` as ``model``. Raises ConfigError in one line that names the key and, if unknown, the nearest."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        problems = "; ".join(_explain(model, item) for item in error.errors()[:3])
        raise ConfigError(f"{place}: {problems}") from error


def _explain(model: type[BaseModel], item: Any) -> str:
    location = [str(part) for part in item["loc"]]
    key = ".".join(location)
    if item["type"] != "extra_forbidden":
        return f"{key}: {item['msg']}, got {item.get('input')!r}"
    known = _known_keys(model, location[:-1])
    near = difflib.get_close_matches(location[-1], known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
    return f"{key}: unknown setting; {hint}"


def _known_keys(model: type[BaseModel], location: list[str]) -> list[str]:
    for part in location:
        field = model.model_fields.get(part)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return sorted(model.model_fields)
        model = field.annotation
    return sorted(model.model_fields)

"""A run's fingerprint: everything that changes values, and nothing that does not.

Stage versions, value-changing configs, model and taxonomy versions and schemas are in; resources, paths, verbosity and the
package version are recorded elsewhere, so a release or a larger cluster does not restart a corpus.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ecqa.core.errors import FingerprintError
from ecqa.core.stage import Stage


def fingerprint_parts(
    recipe: str, stages: Sequence[Stage], schemas: Mapping[str, pa.Schema], extra: Mapping[str, str]
) -> dict[str, str]:
    """Name every part, so that a difference can be named too."""
    parts = {"recipe": recipe}
    for stage in stages:
        config = stage.config.model_dump_json(exclude=set(stage.no_values)) if stage.config is not None else "{}"
        parts[f"stage {stage.name}"] = f"version {stage.version}, {config}"
    for name in sorted(schemas):
        fields = [f"{field.name}: {field.type}{'' if field.nullable else ' not null'}" for field in schemas[name]]
        parts[f"schema {name}"] = _short("; ".join(fields))
    return parts | dict(extra)


def fingerprint(parts: Mapping[str, str]) -> str:
    """12 hex digits over all parts."""
    return _short(json.dumps(dict(parts), sort_keys=True))


def check_same(stored: Mapping[str, Any], wanted: Mapping[str, str], place: str) -> None:
    """Raise FingerprintError, naming the first differences, unless both are equal."""
    keys = [key for key in sorted(set(stored) | set(wanted)) if stored.get(key) != wanted.get(key)]
    if not keys:
        return
    shown = "; ".join(f"{key}: there {stored.get(key, 'absent')}, now {wanted.get(key, 'absent')}" for key in keys[:2])
    more = f" (and {len(keys) - 2} more)" if len(keys) > 2 else ""
    raise FingerprintError(
        f"{place}: holds results made with other settings ({shown}{more}); give another --output, or the settings of that run"
    )


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]

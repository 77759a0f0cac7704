"""Helpers of the room's tests: the invented files, and reading bytes as the stage does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ecqa.core.schemas import DOCUMENTS, from_rows
from ecqa.transcripts.parse import ParseTransform, TranscriptsConfig

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "transcripts"
DATA = ROOT / "tests" / "data" / "transcripts"
REAL = ROOT.parent / "shared" / "data" / "transcripts"

Rows = list[dict[str, Any]]


def read_bytes(content: bytes | None, **fields: Any) -> tuple[Rows, Rows]:
    """Parse one document; return its rows of TRANSCRIPTS and COMPONENTS."""
    row = {"source_path": "a/b.bin", "content": content, "num_bytes": len(content or b"")} | fields
    config = fields.pop("config", TranscriptsConfig())
    tables = ParseTransform(config)({"documents": from_rows([row], DOCUMENTS)})
    return tables["transcripts"].to_pylist(), tables["components"].to_pylist()


@pytest.fixture
def read_file() -> Callable[[str], tuple[dict[str, Any], Rows]]:
    """Parse an invented file by name; return its one row of TRANSCRIPTS and its components."""

    def read(name: str) -> tuple[dict[str, Any], Rows]:
        path = EXAMPLES / name if (EXAMPLES / name).exists() else DATA / name
        transcripts, components = read_bytes(path.read_bytes(), source_path=name)
        assert len(transcripts) == 1
        return transcripts[0], components

    return read

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from ecqa.engine.job import RunOptions, run
from ecqa.summary import print_summary
from tests.engine.conformance.registry import ENTRIES


@pytest.mark.parametrize("name", list(ENTRIES))
def test_summary_shows_calls_tables_books_and_doubts(name: str, stub_model: str, tmp_path: Path) -> None:
    entry = ENTRIES[name]
    recipe = entry.build(entry.make_input(tmp_path / "in"), stub_model)
    summary = run(recipe, str(tmp_path / "out"), RunOptions(quiet=True), workers="local")
    console = Console(file=io.StringIO(), width=200)
    print_summary(summary, recipe.label_sets, recipe.statuses, console)
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    for words in (
        "Calls",
        "optimistic",
        "Parquet in",
        "books closed",
        "padding",
        "experimental, not to be relied on: ",
    ):
        assert words in printed
    assert not re.search("call_[0-9a-f]{20}", printed), "a call without company or date is shown by its file"

import time

import pytest

from ecqa.engine import progress
from ecqa.engine.progress import Meter, ProgressLine


def test_line_says_where_it_stands() -> None:
    meter = Meter(10, done=5, pairs=100, began=progress.time.monotonic() - 50)
    assert meter.line() == "5/10 shards, 2.0 pairs/s, 0:50 left"
    assert "unknown left" in Meter(10).line()


def test_a_log_gets_lines_even_while_no_shard_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine(4, every_s=0.05) as line:
        time.sleep(0.2)
        line.advance(12)
        time.sleep(0.2)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0].startswith("0/4 shards, 0.0 pairs/s, unknown left")
    assert lines[-1].startswith("1/4 shards, ")


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine(1, quiet=True, every_s=0.01) as line:
        line.advance(1)
        time.sleep(0.05)
    assert capsys.readouterr().err == ""

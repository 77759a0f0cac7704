import pytest

from ecqa.engine import progress
from ecqa.engine.progress import Meter, ProgressLine


def test_line_says_where_it_stands() -> None:
    meter = Meter(10, done=5, pairs=100, began=progress.time.monotonic() - 50)
    assert meter.line() == "5/10 shards, 2.0 pairs/s, 0:50 left"
    assert "unknown left" in Meter(10).line()


def test_a_log_gets_a_line_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with ProgressLine(4) as line:
        line.meter.began = now[0]
        for _ in range(4):
            now[0] += 6
            line.advance(12)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["2/4 shards, 2.0 pairs/s, 0:12 left", "4/4 shards, 2.0 pairs/s, 0:00 left"]


def test_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLine(1, quiet=True) as line:
        line.advance(1)
    assert capsys.readouterr().err == ""

from pathlib import Path

import pytest

from ecqa.engine.submit import _settled, run_id_of


def test_run_ids_are_stable_and_follow_the_output() -> None:
    assert run_id_of("score", "s3://bucket/out") == run_id_of("score", "s3://bucket/out/")
    assert run_id_of("score", "s3://bucket/out") != run_id_of("score", "s3://bucket/other")
    assert run_id_of("score", "s3://bucket/out").startswith("score-")


def test_local_paths_become_absolute_and_nothing_else_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "calls").mkdir()
    (tmp_path / "job.yaml").write_text("")
    monkeypatch.chdir(tmp_path)
    given = ["calls", "calls/*.html", "job.yaml", "--json", "s3://b/x", "default", "org/model"]
    made = [str(tmp_path / "calls"), str(tmp_path / "calls/*.html"), str(tmp_path / "job.yaml"), *given[3:]]
    assert [_settled(argument) for argument in given] == made

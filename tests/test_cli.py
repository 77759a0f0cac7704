"""The command as a user types it: output, exit codes, and one line for everything that can be wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecqa.core import errors

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "transcripts"


def _ecqa(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ecqa", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=240, env={**os.environ, **environment}, check=False
    )


def _fails(result: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0], lines[0]


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.table({"question": ["Why?"] * 3, "answer": ["Because of demand."] * 3}), path)
    return str(path)


def test_help_is_instant_and_lists_commands() -> None:
    heavy = "{'ray', 'torch', 'transformers', 'pyarrow'}"
    code = f"import sys, ecqa.cli; print(sorted({{name.partition('.')[0] for name in sys.modules}} & {heavy}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
    result = _ecqa("--help")
    assert result.returncode == 0
    assert all(word in result.stdout for word in ("score", "schema", "submit"))


def test_schema() -> None:
    assert "call_scores" in _ecqa("schema").stdout.splitlines()
    printed = _ecqa("schema", "scores").stdout
    assert "evasion_p_fully_evasive" in printed
    _fails(_ecqa("schema", "scroes"), 2, "no table scroes", "scores")


def test_score_prints_one_json_object_and_a_second_run_does_nothing(
    table: str, stub_model: str, tmp_path: Path
) -> None:
    command = ["score", table, "--output", str(tmp_path / "out"), "--model", stub_model, "--json"]
    first = _ecqa(*command)
    assert first.returncode == 0, first.stderr
    summary = json.loads(first.stdout)
    assert summary["books"]["closed"]
    assert summary["tables"]["scores"] == 3
    assert summary["speed"]["padding_share"] is not None
    record = json.loads(Path(summary["record"]).read_text())
    assert record["versions"]["ray"]
    second = _ecqa(*command[:-1])
    assert "nothing to do: all 1 shards were done before" in second.stdout
    assert "books closed" in second.stdout


def test_dry_run_writes_nothing(table: str, stub_model: str, tmp_path: Path) -> None:
    result = _ecqa(
        "score", table, "-o", str(tmp_path / "out"), "--model", stub_model, "--dry-run", "--gpus-per-actor", "0.5"
    )
    assert result.returncode == 0, result.stderr
    assert "score_pairs" in result.stdout
    assert "0.5" in result.stdout
    assert not (tmp_path / "out").exists()


def test_no_such_input(stub_model: str, tmp_path: Path) -> None:
    _fails(_ecqa("score", "nowhere", "-o", str(tmp_path), "--model", stub_model), 3, "nowhere", "no files found")
    (tmp_path / "empty").mkdir()
    _fails(_ecqa("score", str(tmp_path / "empty"), "-o", str(tmp_path), "--model", stub_model), 3, "no files found")


def test_no_such_bucket(stub_model: str, s3_url: str, table: str, tmp_path: Path) -> None:
    _fails(
        _ecqa("score", "s3://no-such-bucket-anywhere/x", "-o", str(tmp_path), "--model", stub_model),
        3,
        "no-such-bucket",
    )
    _fails(_ecqa("score", table, "-o", "s3://no-such-bucket-anywhere/x", "--model", stub_model), 4, "no-such-bucket")


def test_no_pair_columns(stub_model: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,label\na,b\n")
    result = _ecqa("score", str(tmp_path / "t.csv"), "-o", str(tmp_path / "o"), "--model", stub_model)
    _fails(result, 3, "t.csv", "question and answer", "text, label")


def test_unwritable_output(table: str, stub_model: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    _fails(_ecqa("score", table, "-o", str(tmp_path / "file"), "--model", stub_model), 4, "file")


def test_output_of_other_settings(table: str, stub_model: str, tmp_path: Path) -> None:
    from ecqa.core.ledger import Ledger
    from ecqa.core.storage import Storage

    ledger = Ledger(Storage(str(tmp_path / "out")))
    ledger.open({"model": "another@1"}, "/in")
    ledger.commit("s_1", {})
    result = _ecqa("score", table, "-o", str(tmp_path / "out"), "--model", stub_model)
    _fails(result, 4, "other settings", "model: there another@1", "--output")


def test_no_such_model(table: str, tmp_path: Path) -> None:
    result = _ecqa("score", table, "-o", str(tmp_path / "o"), "--model", str(tmp_path / "no-model"))
    _fails(result, 5, "no-model")


def test_bad_config(table: str, stub_model: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("filters: {min_answer_char: 5}\n")
    result = _ecqa(
        "score", table, "-o", str(tmp_path / "o"), "--model", stub_model, "--config", str(tmp_path / "job.yaml")
    )
    _fails(result, 2, "filters.min_answer_char", "did you mean min_answer_chars?")
    (tmp_path / "job.yaml").write_text("resources: {stages: {score_pairs: {num_gpu: 1}}}\n")
    result = _ecqa(
        "score", table, "-o", str(tmp_path / "o"), "--model", stub_model, "--config", str(tmp_path / "job.yaml")
    )
    _fails(result, 2, "num_gpu")


def test_more_than_the_machine_has(table: str, stub_model: str, tmp_path: Path) -> None:
    result = _ecqa("score", table, "-o", str(tmp_path / "o"), "--model", stub_model, "--gpus-per-actor", "8")
    _fails(result, 7, "GPU", "--gpus-per-actor")


def test_no_cluster_there(table: str, stub_model: str, tmp_path: Path) -> None:
    result = _ecqa("score", table, "-o", str(tmp_path / "o"), "--model", stub_model, "--address", "127.0.0.1:1")
    _fails(result, 7, "no Ray cluster at 127.0.0.1:1", "ray start --head")


def test_every_exit_code_is_documented() -> None:
    from ecqa import cli

    codes = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.EcqaError)
    }
    assert all(f"{code} " in (cli.__doc__ or "") for code in codes)

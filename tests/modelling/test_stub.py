import subprocess
import sys
from pathlib import Path

from ecqa.modelling.encoding import EncodeConfig, EncodeTransform
from ecqa.modelling.scoring import ScoreConfig, ScoreTransform
from ecqa.modelling.stub import write_stub_model
from tests.modelling import tiny


def score(path: Path, rows: int) -> list[dict[str, object]]:
    encodings = EncodeTransform(EncodeConfig(model=str(path)))(tiny.varied_pairs(rows))
    return ScoreTransform(ScoreConfig(model=str(path)))(encodings)["scores"].to_pylist()


def test_the_same_pairs_get_the_same_scores(tmp_path: Path) -> None:
    first, second = (score(write_stub_model(tmp_path / name, max_tokens=32), 50) for name in "ab")
    assert first == second
    assert first[:20] == score(tmp_path / "a", 20)


def test_scores_differ_between_pairs_and_label_sets(tmp_path: Path) -> None:
    rows = score(write_stub_model(tmp_path / "stub"), 50)
    assert len({row["clear_p0"] for row in rows}) > 40
    assert any(row["clear_p0"] != row["assertive_p0"] for row in rows)
    assert {row["evasion_label"] for row in rows} == {"direct", "intermediate", "fully_evasive"}


def test_it_runs_without_torch(tmp_path: Path) -> None:
    path = write_stub_model(tmp_path / "stub")
    code = (
        "import sys; from ecqa.modelling.encoding import *; from ecqa.modelling.scoring import *; "
        f"EncodeTransform(EncodeConfig(model={str(path)!r})); ScoreTransform(ScoreConfig(model={str(path)!r})); "
        "sys.exit(len({'torch', 'transformers', 'sklearn', 'tokenizers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0

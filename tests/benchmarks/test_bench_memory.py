import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
SCRIPTS = sorted(path for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_every_script_starts(script):
    done = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:6]) == (0, "usage:"), done.stderr


def test_the_driver_scores_its_table(ray_cluster, stub_model, tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import bench_memory

    text_bytes = bench_memory.write_pairs(tmp_path / "pairs.parquet", 500, seed=1)
    bench_memory.drive(tmp_path / "pairs.parquet", tmp_path / "output", Path(stub_model), 200_000_000)
    summary = json.loads(capsys.readouterr().out)
    assert (summary["counts"]["scores"], summary["books"]["closed"]) == (500, True)
    assert summary["store_bytes"] > text_bytes, "every text goes through the object store at least once"

"""Score the pairs of an ecqa output folder against hand-made pairs: benchmarks/quality_pairs.py DIR GOLD_DIR.

DIR holds ``qa_pairs/*.parquet``; the stem of a row's source_path is its call id. GOLD_DIR holds ``<call id>.pairs.csv``.
Prints one JSON object {params, metrics}; metrics are what the scorer prints with --json.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path, PurePosixPath

import pyarrow.parquet as pq

DEFAULT_SCORER = Path(__file__).resolve().parents[1] / ".." / "shared" / "tools" / "score_pairs.py"
COLUMNS = ("asker", "responder", "question", "answer")


def write_prediction(folder: Path, target: Path) -> int:
    """Write the pairs as the CSV that the scorer reads; return the number of rows."""
    files = sorted((folder / "qa_pairs").glob("*.parquet"))
    if not files:
        raise SystemExit(f"{folder}: no qa_pairs/*.parquet; give the output folder of ecqa score or ecqa ingest")
    rows = [row for file in files for row in pq.read_table(file, columns=["source_path", *COLUMNS]).to_pylist()]
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("call_id", *COLUMNS))
        for row in rows:
            writer.writerow((PurePosixPath(row["source_path"]).stem, *(row[column] or "" for column in COLUMNS)))
    return len(rows)


def main() -> int:
    """Run the scorer on the folder."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("gold_dir", type=Path)
    parser.add_argument("--scorer", type=Path, default=DEFAULT_SCORER)
    parser.add_argument("--json", action="store_true", help="one line instead of an indented object")
    arguments = parser.parse_args()
    if not arguments.scorer.is_file():
        raise SystemExit(f"{arguments.scorer}: no such scorer; give it with --scorer")
    with tempfile.TemporaryDirectory() as folder:
        prediction = Path(folder) / "prediction.csv"
        num_pairs = write_prediction(arguments.dir, prediction)
        command = [sys.executable, str(arguments.scorer), str(prediction), str(arguments.gold_dir), "--json"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        print(result.stderr.strip(), file=sys.stderr)
        return result.returncode
    params = {"dir": str(arguments.dir), "gold_dir": str(arguments.gold_dir), "num_pairs": num_pairs}
    print(json.dumps({"params": params, "metrics": json.loads(result.stdout)}, indent=None if arguments.json else 2))
    return 0


if __name__ == "__main__":
    sys.exit(main())

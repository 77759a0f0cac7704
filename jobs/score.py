"""Entry point for `ray job submit --working-dir . -- python jobs/score.py INPUT --output DIR [options of ecqa score]`.

Joins the cluster that the job runs on; everything else is ``ecqa score``.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ecqa.cli import main

if __name__ == "__main__":
    given = sys.argv[1:]
    sys.argv = ["ecqa", "score", *given, *([] if "--address" in given else ["--address", "auto"])]
    main()

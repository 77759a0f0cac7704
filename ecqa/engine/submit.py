"""``ecqa submit``: sends a command of ecqa to a running cluster as a Ray job, follows its log and returns its outcome.

The run id follows from the command's output folder, so the attempts of one run are counted: <run id>-1, <run id>-2, ...
Token authentication: where this user has a Ray token and RAY_AUTH_MODE is not set, mode "token" is chosen, which a
cluster started with `ray start --head` on this machine expects.
"""

import asyncio
import hashlib
import os
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ecqa.core.errors import EngineError
from ecqa.core.storage import absolute_url, split_url
from ecqa.engine.session import quieten

TOKEN_FILE = Path("~/.ray/auth_token")
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
EXCLUDES = [".git", ".venv", "out", "*.safetensors.tmp", "__pycache__"]


def run_id_of(job: str, output: str) -> str:
    """Stable id of a run: the job's name and a hash of where it writes."""
    return f"{job}-{hashlib.sha256(absolute_url(output).encode()).hexdigest()[:10]}"


def submit(job: str, arguments: Sequence[str], output: str, address: str | None, working_dir: str | None) -> str:
    """Run ``ecqa <job> <arguments>`` on the cluster, stream its log to stdout, and return how it ended.

    working_dir: a checkout to send along; without it the cluster's own installation of ecqa is used.
    Raises EngineError when the cluster is not there or refuses the job.
    """
    if "RAY_AUTH_MODE" not in os.environ and TOKEN_FILE.expanduser().is_file():
        os.environ["RAY_AUTH_MODE"] = "token"
    quieten(verbose=False)
    client = _client(address)
    run_id = run_id_of(job, output)
    submission_id = f"{run_id}-{_next_attempt(client, run_id)}"
    runtime_env: dict[str, Any] = {}
    if working_dir:
        runtime_env = {"working_dir": working_dir, "excludes": EXCLUDES}
    try:
        client.submit_job(
            entrypoint=shlex.join(["python", "-m", "ecqa", job, *map(_settled, arguments), "--address", "auto"]),
            submission_id=submission_id,
            runtime_env=runtime_env,
            metadata={"run_id": run_id},
        )
    except RuntimeError as error:
        raise EngineError(f"the cluster refused {submission_id}: {' '.join(str(error).split())[:400]}") from error
    sys.stderr.write(f"submitted {submission_id}\n")
    return _follow(client, submission_id)


def _client(address: str | None) -> Any:
    from ray.job_submission import JobSubmissionClient

    place = address or os.environ.get("RAY_API_SERVER_ADDRESS") or "http://127.0.0.1:8265"
    try:
        return JobSubmissionClient(place)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise EngineError(
            f"no Ray job server at {place}: {reason}; give its dashboard's address with --address"
        ) from error


def _next_attempt(client: Any, run_id: str) -> int:
    attempts = [
        job.submission_id.rpartition("-")[2]
        for job in client.list_jobs()
        if job.submission_id and job.submission_id.startswith(f"{run_id}-")
    ]
    return 1 + max((int(number) for number in attempts if number.isdigit()), default=0)


def _settled(argument: str) -> str:
    """Paths that exist here, and globs below folders that do, made absolute: the job starts in another folder."""
    parent, _ = split_url(argument)
    is_path = not argument.startswith("-") and "://" not in argument and ("/" in argument or Path(argument).exists())
    return absolute_url(argument) if is_path and (Path(argument).exists() or Path(parent).is_dir()) else argument


def _follow(client: Any, submission_id: str) -> str:
    async def tail() -> None:
        async for lines in client.tail_job_logs(submission_id):
            sys.stdout.write(lines)
            sys.stdout.flush()

    asyncio.run(tail())
    while (status := str(client.get_job_status(submission_id).value)) not in ENDED:
        time.sleep(0.5)
    return status

"""A real cluster, started with `ray start --head`, and jobs sent to it as users send them."""

import contextlib
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
RAY = Path(sys.executable).with_name("ray")


class Head:
    """A head node of its own: ports, session folder and token apart from any other Ray on this machine."""

    def __init__(self, folder: Path):
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        self.environment |= {"HOME": str(folder), "RAY_AUTH_MODE": "token"}
        self.environment["PATH"] = f"{RAY.parent}{os.pathsep}{os.environ['PATH']}"
        token = folder / ".ray" / "auth_token"
        token.parent.mkdir()
        token.write_text(secrets.token_hex(32))
        port, dashboard, agent, client = (_free_port() for _ in range(4))
        self.address = f"http://127.0.0.1:{dashboard}"
        self.gcs = f"127.0.0.1:{port}"
        command = [
            str(RAY),
            "start",
            "--head",
            "--block",
            "--num-cpus=3",
            "--node-ip-address=127.0.0.1",
            f"--port={port}",
        ]
        command += [f"--dashboard-port={dashboard}", f"--dashboard-agent-listen-port={agent}"]
        command += [f"--ray-client-server-port={client}", "--object-store-memory=200000000"]
        self.sessions = Path(tempfile.mkdtemp(prefix="ecqa"))  # short: Ray puts sockets there
        command += [f"--temp-dir={self.sessions}"]
        with (folder / "head.log").open("wb") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        self._wait(folder / "head.log")

    def _wait(self, log: Path) -> None:
        for _ in range(240):
            try:
                with urlopen(f"{self.address}/api/version", timeout=2):
                    return
            except HTTPError:
                return  # it answers, and asks for the token
            except (URLError, OSError):
                assert self.process.poll() is None, log.read_text()
                time.sleep(0.5)
        raise AssertionError(log.read_text())

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        environment = self.environment | {"RAY_API_SERVER_ADDRESS": self.address}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=300, env=environment, check=False, cwd=ROOT
        )

    def stop(self) -> None:
        children = psutil.Process(self.process.pid).children(recursive=True)
        for each in [*children, self.process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        self.process.wait(10)
        psutil.wait_procs(children, 10)
        shutil.rmtree(self.sessions, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Head]:
    started = Head(tmp_path_factory.mktemp("head"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("table") / "pairs.parquet"
    pq.write_table(pa.table({"question": ["Why?"] * 50, "answer": ["Because of demand."] * 50}), path)
    return str(path)


def test_ray_job_submit(head: Head, table: str, stub_model: str, tmp_path: Path) -> None:
    job = ["python", "jobs/score.py", table, "--output", str(tmp_path / "out"), "--model", stub_model]
    result = head.run(str(RAY), "job", "submit", "--working-dir", ".", "--", *job)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "books closed" in result.stdout
    assert pq.read_table(tmp_path / "out" / "scores").num_rows == 50


def test_ecqa_submit_counts_attempts_and_returns_the_jobs_outcome(
    head: Head, table: str, stub_model: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "ecqa", "submit", "score", table, "--output", str(tmp_path / "out")]
    command += ["--model", stub_model]
    first = head.run(*command)
    assert first.returncode == 0, first.stdout + first.stderr
    assert "books closed" in first.stdout
    assert re.search(r"submitted score-[0-9a-f]{10}-1\b", first.stderr)
    second = head.run(*command)
    assert second.returncode == 0
    assert "nothing to do" in second.stdout
    assert re.search(r"submitted score-[0-9a-f]{10}-2\b", second.stderr)
    failing = head.run(*command[:-1], str(tmp_path / "no-model"))
    assert failing.returncode == 7
    assert "no-model" in failing.stdout, "the job's own log is shown"
    assert failing.stderr.strip().splitlines()[-1].startswith("ecqa: the job ended as FAILED")


def test_no_job_server(table: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "ecqa",
        "submit",
        "score",
        table,
        "-o",
        str(tmp_path),
        "--cluster",
        "http://127.0.0.1:1",
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 7
    assert "no Ray job server at http://127.0.0.1:1" in result.stderr
    assert "Traceback" not in result.stderr

"""Fixtures that all tests share: one Ray instance, one S3 server, the stub model, invented inputs."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.request import urlopen

import pyarrow.parquet as pq
import pytest

from ecqa.modelling.stub import write_stub_model
from tests.engine.conformance.registry import invented_pairs


@pytest.fixture(scope="session")
def stub_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_stub_model(tmp_path_factory.mktemp("models") / "stub"))


@pytest.fixture(scope="session")
def ray_cluster(s3_url: str) -> Iterator[None]:
    """One Ray instance for the whole session: four logical CPUs, two logical GPUs; its workers know the S3 server."""
    from ecqa.engine.session import quieten

    quieten(verbose=False)
    import ray

    ray.init(
        address="local", num_cpus=4, num_gpus=2, include_dashboard=False, log_to_driver=False, logging_level="error"
    )
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """URL of an empty bucket: on ECQA_TEST_S3_ENDPOINT where given, else on a server that this fixture starts."""
    endpoint = os.environ.get("ECQA_TEST_S3_ENDPOINT")
    server = None if endpoint else _start_s3()
    settings = {"AWS_ENDPOINT_URL": endpoint or server.url} if endpoint or server else {}
    if server:
        settings |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "us-east-1"}
        settings |= {"AWS_DEFAULT_REGION": "us-east-1"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    bucket = f"ecqa-test-{os.getpid()}"
    import s3fs

    s3fs.S3FileSystem(use_listings_cache=False).mkdir(bucket)
    yield f"s3://{bucket}"
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})
    if server:
        server.stop()


class _Server:
    def __init__(self, process: subprocess.Popen[bytes], url: str):
        self.process = process
        self.url = url

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)


def _start_s3() -> _Server:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    for _ in range(150):
        try:
            with urlopen(f"{url}/moto-api/", timeout=1):
                return _Server(process, url)
        except OSError:
            time.sleep(0.2)
    process.kill()
    raise RuntimeError(f"moto's S3 server did not answer at {url} within 30 s")


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("pairs") / "pairs.parquet"
    pq.write_table(invented_pairs(400), path, row_group_size=100)
    return str(path)

from pathlib import Path

import pytest

from ecqa.core.config import StrictConfig, build, read_yaml
from ecqa.core.errors import ConfigError


class Inner(StrictConfig):
    num_cpus: float = 1


class Outer(StrictConfig):
    inner: Inner = Inner()
    max_files: int = 3


def test_values() -> None:
    assert build(Outer, {"inner": {"num_cpus": 2}}, "job").inner.num_cpus == 2


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({"max_file": 1}, "max_file: unknown setting; did you mean max_files?"),
        ({"inner": {"num_cpu": 1}}, r"inner.num_cpu: unknown setting; did you mean num_cpus\?"),
        ({"zzz": 1}, "known are inner, max_files"),
        ({"max_files": "many"}, "max_files: .*got 'many'"),
    ],
)
def test_errors_name_the_key(raw: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(Outer, raw, "job.yaml")


@pytest.mark.parametrize("text", ["a: [", "- 1\n- 2"])
def test_broken_yaml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="job.yaml"):
        read_yaml(str(path))


def test_missing_and_empty(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_yaml(str(tmp_path / "none.yaml"))
    (tmp_path / "empty.yaml").write_text("")
    assert read_yaml(str(tmp_path / "empty.yaml")) == {}

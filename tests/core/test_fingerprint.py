import pyarrow as pa
import pytest

from ecqa.core.config import StrictConfig
from ecqa.core.errors import FingerprintError
from ecqa.core.fingerprint import check_same, fingerprint, fingerprint_parts
from ecqa.core.stage import Stage


class Config(StrictConfig):
    threshold: int = 3
    device: str = "cpu"


def _stage(version: int = 1, **config: object) -> Stage:
    made = Config.model_validate(config)
    return Stage("cut", version, lambda c: lambda t: t, made, ("a",), ("a",), "id", no_values=frozenset({"device"}))


def _parts(stage: Stage, kind: pa.DataType = pa.string()) -> dict[str, str]:
    return fingerprint_parts("r", [stage], {"a": pa.schema([("id", kind)])}, {"model": "m"})


def test_what_changes_values_changes_it_and_nothing_else_does() -> None:
    same = fingerprint(_parts(_stage()))
    assert fingerprint(_parts(_stage(device="cuda"))) == same
    assert fingerprint(_parts(_stage(threshold=4))) != same
    assert fingerprint(_parts(_stage(version=2))) != same
    assert fingerprint(_parts(_stage(), pa.int64())) != same


def test_differences_are_named() -> None:
    with pytest.raises(FingerprintError, match=r'stage cut: there version 1.*"threshold":3.*now .*"threshold":4'):
        check_same(_parts(_stage()), _parts(_stage(threshold=4)), "/out")
    check_same(_parts(_stage()), _parts(_stage()), "/out")

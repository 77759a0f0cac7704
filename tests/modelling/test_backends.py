from pathlib import Path

import pytest

from ecqa.modelling.backends import make_encoder, make_scorer
from ecqa.modelling.encoding import EncodeConfig
from ecqa.modelling.model_dir import load_model_info
from ecqa.modelling.scoring import ScoreConfig
from ecqa.modelling.stub import write_stub_model
from tests.modelling import tiny


@pytest.mark.parametrize(("backend", "encoder", "scorer"), [
    ("stub", "TokenEncoder", "StubScorer"),
    ("encoder", "TokenEncoder", "EncoderScorer"),
    ("checkpoint", "TokenEncoder", "EncoderScorer"),
])  # fmt: skip
def test_the_directory_chooses(tmp_path: Path, backend: str, encoder: str, scorer: str) -> None:
    write = {"stub": write_stub_model, "encoder": tiny.write_encoder, "checkpoint": tiny.write_checkpoint}[backend]
    path = str(write(tmp_path / "model"))
    assert type(make_encoder(EncodeConfig(model=path))).__name__ == encoder
    assert type(make_scorer(ScoreConfig(model=path), load_model_info(path))).__name__ == scorer

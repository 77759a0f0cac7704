from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModel, AutoTokenizer

from ecqa.core.errors import ModelError
from ecqa.modelling.encoder import load_checkpoint, load_encoder
from ecqa.modelling.model_dir import load_model_info
from tests.modelling import tiny


def test_float16_round_trip_and_plain_transformers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    with safe_open(path / "model.safetensors", "pt") as weights:
        assert {weights.get_tensor(name).dtype for name in weights.keys()} == {torch.float16}  # noqa: SIM118
        assert not [name for name in weights.keys() if "pooler" in name]  # noqa: SIM118
    capfd.readouterr()
    loaded, original = load_encoder(load_model_info(str(path))).eval(), tiny.new_encoder()
    assert capfd.readouterr() == ("", "")
    ids = torch.tensor([[2, 5, 6, 3, 9, 3]])
    with torch.inference_mode():
        assert torch.allclose(loaded(ids), original(ids), atol=2e-2)
    plain = AutoModel.from_pretrained(path, dtype=torch.float32, add_pooling_layer=False).eval()
    with torch.inference_mode():
        assert torch.equal(plain(ids)[0], loaded.encoder(ids)[0])
    assert AutoTokenizer.from_pretrained(path)("how did").input_ids[0] == 2


def test_mean_pooling_ignores_padding() -> None:
    model = tiny.new_encoder()
    ids = torch.tensor([[2, 5, 6, 3]])
    padded = torch.tensor([[2, 5, 6, 3, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    with torch.inference_mode():
        assert torch.allclose(model(ids), model(padded, attention_mask=mask), atol=1e-5)
        model.pooling = "cls"
        assert torch.allclose(model(ids), model(padded, attention_mask=mask), atol=1e-5)


@pytest.mark.parametrize("name", ["model.safetensors", "heads.safetensors"])
def test_broken_weights_are_named(tmp_path: Path, name: str) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    (path / name).write_bytes((path / name).read_bytes()[:100])
    with pytest.raises(ModelError, match=r"tiny") as caught:
        load_encoder(load_model_info(str(path)))
    assert "\n" not in str(caught.value)


def test_heads_that_do_not_fit_are_named(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    (path / "heads.safetensors").write_bytes((path / "model.safetensors").read_bytes())
    with pytest.raises(ModelError, match=r"heads\.safetensors"):
        load_encoder(load_model_info(str(path)))


def test_a_checkpoint_that_does_not_load_is_named(tmp_path: Path) -> None:
    path = tiny.write_checkpoint(tmp_path / "tone", num_labels=3)
    info = load_model_info(str(path))
    assert load_checkpoint(info).pad_id == 0
    (path / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="does not load"):
        load_checkpoint(info)

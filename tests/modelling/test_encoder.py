import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from ecqa.core.errors import ModelError
from ecqa.modelling.encoder import load_backbone, load_checkpoint, load_encoder
from ecqa.modelling.model_dir import load_model_info
from ecqa.modelling.scoring import ScoreConfig, ScoreTransform
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


def failure(load: Callable[[], object]) -> str:
    """The message of the ModelError that ``load`` raises, which is one line of a bounded length."""
    with pytest.raises(ModelError) as caught:
        load()
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1000
    return message


def test_missing_weights_are_refused_not_made_up(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    tiny.change_json(path / "config.json", num_hidden_layers=4)
    capfd.readouterr()
    message = failure(lambda: load_encoder(load_model_info(str(path))))
    assert "lack 32 tensors" in message
    assert "first encoder.layer.2.attention.output.LayerNorm.bias;" in message
    assert capfd.readouterr() == ("", "")


def test_the_default_model_with_more_layers_than_weights_does_not_score(tmp_path: Path) -> None:
    path = shutil.copytree(load_model_info("default").path, tmp_path / "default")
    tiny.change_json(path / "config.json", num_hidden_layers=12)
    assert "first encoder.layer.10." in failure(lambda: ScoreTransform(ScoreConfig(model=str(path))))


def test_weights_of_another_shape_name_the_tensor(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    tiny.change_json(path / "config.json", intermediate_size=48)
    message = failure(lambda: load_encoder(load_model_info(str(path))))
    assert "first encoder.layer.0.intermediate.dense.bias: it is (64,), expected (48,)" in message
    path = tiny.write_checkpoint(tmp_path / "tone", num_labels=3)
    names = {"0": "low", "1": "high"}
    tiny.change_json(path / "config.json", id2label=names, label2id={"low": 0, "high": 1})
    message = failure(lambda: load_checkpoint(load_model_info(str(path))))
    assert "first classifier.bias: it is (3,), expected (2,)" in message


def test_a_pooler_may_be_absent_only_where_it_is_not_used(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    assert "pooler" not in dict(load_backbone(path).named_children())
    tiny.change_json(path / "config.json", architectures=["BertForSequenceClassification"], num_labels=2)
    (path / "ecqa_model.json").unlink()
    assert "lack 4 tensors" in failure(lambda: load_checkpoint(load_model_info(str(path))))


@pytest.mark.parametrize(("suffix", "shape"), [("weight", (3, 31)), ("bias", (4,))])
def test_a_head_of_another_shape_names_the_tensor(tmp_path: Path, suffix: str, shape: tuple[int, ...]) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    tensors = load_file(path / "heads.safetensors")
    save_file(tensors | {f"evasion.{suffix}": torch.zeros(shape)}, path / "heads.safetensors")
    message = failure(lambda: load_encoder(load_model_info(str(path))))
    assert f"heads.safetensors: tensor evasion.{suffix} is {shape}, expected (3" in message
    del tensors["clear.bias"]
    save_file(tensors, path / "heads.safetensors")
    assert "tensor clear.bias is missing" in failure(lambda: load_encoder(load_model_info(str(path))))


@pytest.mark.parametrize("write", [tiny.write_encoder, tiny.write_checkpoint])
def test_custom_code_is_never_run_nor_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], Path]
) -> None:
    def asked(prompt: str = "") -> str:
        raise AssertionError(f"asked on stdin: {prompt}")

    path = write(tmp_path / "custom")
    monkeypatch.setattr("builtins.input", asked)
    code = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
    (path / "modeling_x.py").write_text(code)
    classes = {"AutoConfig": "XConfig", "AutoModel": "XModel", "AutoModelForSequenceClassification": "XModel"}
    places = {name: f"modeling_x.{value}" for name, value in classes.items()}
    tiny.change_json(path / "config.json", model_type="mystery", auto_map=places)
    info = load_model_info(str(path))
    load = load_checkpoint if info.backend == "checkpoint" else load_encoder
    assert "custom code (auto_map), which is never run" in failure(lambda: load(info))
    assert not list(tmp_path.rglob("ran"))


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden_size": "x"}, {"num_attention_heads": 0}, {"num_attention_heads": 5}, {"hidden_act": "no"},
        {"model_type": None}, {"model_type": "no such"},
    ],
)  # fmt: skip
@pytest.mark.parametrize("write", [tiny.write_encoder, tiny.write_checkpoint])
def test_a_config_that_makes_no_model_is_one_line(
    tmp_path: Path, write: Callable[[Path], Path], changes: dict[str, object]
) -> None:
    path = write(tmp_path / "tiny")
    tiny.change_json(path / "config.json", **changes)
    info = load_model_info(str(path))
    load = load_checkpoint if info.backend == "checkpoint" else load_encoder
    message = failure(lambda: load(info))
    assert "does not load" in message
    if "hidden_size" in changes:
        assert "hidden_size" in message

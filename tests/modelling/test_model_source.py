from pathlib import Path

import pytest

from ecqa.core.errors import ModelError
from ecqa.core.taxonomy import load_taxonomy
from ecqa.modelling import model_source
from ecqa.modelling.model_dir import load_model_info
from ecqa.modelling.model_source import find_model


def test_a_directory_is_itself(tmp_path: Path) -> None:
    assert find_model(str(tmp_path)) == tmp_path


def test_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"x")
    with pytest.raises(ModelError, match="is a file"):
        find_model(str(file))


def test_a_name_that_is_nothing_is_refused() -> None:
    with pytest.raises(ModelError, match="no such directory.*'default'"):
        find_model("./no/such/model/here")


def test_a_hub_id_without_network_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="nobody/nothing.*check the name and the network") as caught:
        find_model("nobody/nothing")
    assert "\n" not in str(caught.value)


def test_a_missing_default_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_source, "DEFAULT_MODEL", "absent-v0")
    with pytest.raises(ModelError, match="default.*missing"):
        find_model("default")


def test_the_shipped_model_is_whole_and_small() -> None:
    info = load_model_info("default")
    assert info.name == model_source.DEFAULT_MODEL
    released = (*load_taxonomy("subjectivity-v1").label_sets, *load_taxonomy("evasion-v1").label_sets)
    assert info.label_sets == released
    assert info.statuses["evasion"] == "experimental"
    assert sum(file.stat().st_size for file in info.path.iterdir()) <= 48_000_000
    card = (info.path / "README.md").read_text(encoding="utf-8")
    assert info.model_version in card
    assert "sole evidence" in card


@pytest.mark.parametrize(
    "name", ["m" * 5000, "owner/" + "m" * 5000, "./" + "m/" * 3000, "~nobody-here/model", "a\0b", ""]
)
def test_a_name_that_no_file_can_have_is_one_short_line(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError) as caught:
        load_model_info(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_the_shipped_model_s_version_is_kept() -> None:
    assert load_model_info("default").model_version == "minilm-7heads-v1@c4499927d0b9"

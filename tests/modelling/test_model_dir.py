import json
import subprocess
import sys
from pathlib import Path

import pytest

from ecqa.core.errors import ModelError
from ecqa.modelling.model_dir import INFO_FILE, load_model_info
from tests.modelling import tiny


def test_info_names_label_sets_and_version(tmp_path: Path) -> None:
    info = load_model_info(str(tiny.write_encoder(tmp_path / "tiny")))
    assert (info.name, info.backend, info.max_tokens) == ("tiny", "encoder", 32)
    assert [label_set.name for label_set in info.label_sets] == ["clear", "evasion"]
    assert info.statuses == {"clear": "validated", "evasion": "experimental"}
    assert info.model_version.startswith("tiny@")
    assert len(info.model_version) == len("tiny@") + 12


def test_version_follows_what_changes_values_only(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    before = load_model_info(str(path)).model_version
    (path / "README.md").write_text("a card")
    content = json.loads((path / INFO_FILE).read_text())
    (path / INFO_FILE).write_text(json.dumps(content | {"about": {"licence": "Apache-2.0"}}))
    assert load_model_info(str(path)).model_version == before
    (path / INFO_FILE).write_text(json.dumps(content | {"pooling": "cls"}))
    assert load_model_info(str(path)).model_version != before


@pytest.mark.parametrize("name", ["model.safetensors", "heads.safetensors", "tokenizer.json", "config.json"])
def test_a_missing_or_empty_file_is_named(tmp_path: Path, name: str) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    (path / name).write_bytes(b"")
    with pytest.raises(ModelError, match=name):
        load_model_info(str(path))
    (path / name).unlink()
    with pytest.raises(ModelError, match=name):
        load_model_info(str(path))


@pytest.mark.parametrize("content", ["{", "[]", '{"format_version": 9}', '{"name": "x", "backend": "encoder"}'])
def test_a_broken_info_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / INFO_FILE).write_text(content)
    with pytest.raises(ModelError, match=INFO_FILE) as caught:
        load_model_info(str(tmp_path))
    assert "\n" not in str(caught.value)


def test_reading_info_loads_no_torch(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    code = (
        "import sys; from ecqa.modelling.model_dir import load_model_info; import ecqa.modelling.scoring; "
        f"import ecqa.modelling.encoding; load_model_info({str(path)!r}); "
        "sys.exit(len({'torch', 'transformers', 'sklearn', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0


def test_a_label_set_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    first = json.loads((path / INFO_FILE).read_text())["heads"][0]
    tiny.change_json(path / INFO_FILE, heads=[first, first])
    with pytest.raises(ModelError, match=r"ecqa_model\.json: .*label set clear is there 2 times"):
        load_model_info(str(path))


def test_a_broken_info_file_s_message_has_no_link(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    tiny.change_json(path / INFO_FILE, pooling="max", name="two\nlines", **{f"key{index}": 1 for index in range(9)})
    with pytest.raises(ModelError, match=r"name: .*pooling: .*and 8 more") as caught:
        load_model_info(str(path))
    assert "http" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_max_tokens_must_fit_the_positions_of_the_encoder(tmp_path: Path) -> None:
    path = tiny.write_encoder(tmp_path / "tiny")
    tiny.change_json(path / INFO_FILE, max_tokens=33)
    with pytest.raises(ModelError, match=r"max_tokens 33 is more than the 32 positions"):
        load_model_info(str(path))
    tiny.change_json(path / INFO_FILE, max_tokens=None)
    assert load_model_info(str(path)).max_tokens == 32
    tiny.change_json(path / "config.json", max_position_embeddings="many")
    with pytest.raises(ModelError, match=r"config\.json: max_position_embeddings must be a whole number, got 'many'"):
        load_model_info(str(path))

"""Find the directory a model's name stands for: "default", a directory, or a Hugging Face hub id.

A hub id is downloaded once into the Hugging Face cache; pickled weights are never fetched. Knows nothing of what a model
directory holds.
"""

import re
from importlib import resources
from pathlib import Path

from ecqa.core.errors import ModelError

DEFAULT_MODEL = "minilm-7heads-v1"
"""The model that ships under ecqa/resources/models/."""

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
HUB_FILES = ("*.json", "*.safetensors", "*.txt", "*.model")


def find_model(model: str) -> Path:
    """Return the local directory of a model. Raises ModelError when there is none."""
    if model == "default":
        return _shipped(DEFAULT_MODEL)
    path = Path(model).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise ModelError(f"model {model}: is a file; give the directory that holds ecqa_model.json or config.json")
    if HUB_ID.fullmatch(model):
        return _download(model)
    raise ModelError(f"model {model}: no such directory, and not a hub id (owner/name); 'default' is the shipped model")


def _shipped(name: str) -> Path:
    path = Path(str(resources.files("ecqa.resources"))) / "models" / name
    if not path.is_dir():
        raise ModelError(f"model default: {path} is missing; install ecqa again, or give a model directory")
    return path


def _download(hub_id: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, allow_patterns=list(HUB_FILES)))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        cause = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ModelError(
            f"model {hub_id}: no such directory here, and the Hugging Face hub did not give it ({cause}); "
            "check the name and the network, or copy the model to a directory and give its path"
        ) from error

"""Find the directory a model's name stands for: "default", a directory, or a Hugging Face hub id.

A hub id is downloaded once into the Hugging Face cache; pickled weights are never fetched. Knows nothing of what a model
directory holds.
"""

import re
from importlib import resources
from pathlib import Path

from ecqa.core.errors import ModelError
from ecqa.modelling.model_errors import one_line, shortened

DEFAULT_MODEL = "minilm-7heads-v1"
"""The model that ships under ecqa/resources/models/."""

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
HUB_FILES = ("*.json", "*.safetensors", "*.txt", "*.model")


def find_model(model: str) -> Path:
    """Return the local directory of a model. Raises ModelError when there is none."""
    if model == "default":
        return _shipped(DEFAULT_MODEL)
    shown = shortened(model)
    try:
        path = Path(model).expanduser()
        is_directory, is_there = path.is_dir(), path.exists()
    except (OSError, ValueError, RuntimeError) as error:
        cause = getattr(error, "strerror", None) or one_line(error)
        raise ModelError(
            f"model {shown}: no path that can be read ({cause}); give a model directory or a hub id"
        ) from error
    if is_directory:
        return path
    if is_there:
        raise ModelError(f"model {shown}: is a file; give the directory that holds ecqa_model.json or config.json")
    if HUB_ID.fullmatch(model):
        return _download(model)
    raise ModelError(f"model {shown}: no such directory, and not a hub id (owner/name); 'default' is the shipped model")


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
        raise ModelError(
            f"model {shortened(hub_id)}: no such directory here, and the Hugging Face hub did not give it "
            f"({one_line(error)}); "
            "check the name and the network, or copy the model to a directory and give its path"
        ) from error

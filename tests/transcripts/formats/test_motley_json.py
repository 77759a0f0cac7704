import json

from ecqa.transcripts.document import Source
from ecqa.transcripts.formats import motley_json


def parse(data: object) -> tuple:
    text = json.dumps(data)
    source = Source(text.encode(), text, "utf-8")
    return motley_json.sniff(source), motley_json.parse(source)


def test_example(read_file):
    transcript, components = read_file("quillfeather_q4_2024.txt")
    assert (transcript["format"], transcript["status"]) == ("motley_json", "ok")
    assert not any("Duration" in (row["speaker"] or "") for row in components)
    firms = {row["speaker"]: row["speaker_firm"] for row in components}
    assert firms["Stellan Brandt"] == "Oakmere Bank"


def test_odd_values_are_passed_over():
    sniff, [parsed] = parse(
        {
            "prepared_remarks": [1, {"speaker": None, "speech": "x"}, {"speech": 2}],
            "q_and_a": None,
            "participants": [3, "a"],
        }
    )
    assert sniff.score > 0.5 or "speaker" in sniff.reason
    assert [turn.text for turn in parsed.turns] == ["x"]


def test_other_json_is_not_its_own():
    assert parse({"a": 1})[0].score < 0.5
    assert parse([])[0].score == 0
    assert parse([])[1][0].turns == ()

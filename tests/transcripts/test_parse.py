import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecqa.transcripts.parse import ParseTransform, TranscriptsConfig, transcripts_stage
from tests.transcripts.conftest import DATA, EXAMPLES, REAL, read_bytes

STATUSES = {"ok", "no_qa_session", "truncated", "unknown_format", "undecodable", "empty", "too_large", "unreadable"}
FILES = sorted([*EXAMPLES.iterdir(), *DATA.iterdir()])
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize(
    ("name", "form", "call_id", "num_components"),
    [
        ("HPTX_Q2_2023.html", "strike_html", "HPTX-2023-07-27", 33),
        ("bellweather_ex99-2.htm", "sec_8k_html", "bellweather-rail-services-corp-2022-11-03", 31),
        ("northmoor_q1_2024.txt", "plain_text", "NMDG-2024-05-14", 33),
        ("utf16_call.txt", "plain_text", "NMDG-2024-05-14", 20),
    ],
)
def test_reads_examples(read_file, name, form, call_id, num_components):
    transcript, components = read_file(name)
    assert (transcript["format"], transcript["status"]) == (form, "ok")
    assert transcript["call_id"] == call_id
    assert transcript["num_components"] == len(components) == num_components
    assert {row["call_id"] for row in components} == {call_id}


def test_call_without_company_or_day_gets_opaque_call_id(read_file):
    transcript, _ = read_file("quillfeather_q4_2024.txt")
    assert transcript["call_id"].startswith("call_")
    assert transcript["company"] is None


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("empty.txt", "empty", "no text"),
        ("prose.txt", "unknown_format", "no format fits"),
        ("server.log.txt", "unknown_format", "plain_text"),
        ("press_release.htm", "unknown_format", "sec_8k_html: an HTML page without speeches"),
        ("truncated_page.html", "truncated", "</html>"),
        ("truncated_json.txt", "truncated", "no valid JSON"),
    ],
)
def test_status_of_awkward_files(read_file, name, status, words):
    transcript, components = read_file(name)
    assert transcript["status"] == status
    assert words in transcript["status_detail"]
    assert transcript["num_components"] == len(components)
    assert bool(components) == (status == "truncated")


def test_files_that_were_not_read():
    [unreadable], _ = read_bytes(None, read_error="permission denied")
    assert (unreadable["status"], unreadable["status_detail"]) == ("unreadable", "permission denied")
    [binary], _ = read_bytes(bytes(range(32)) * 40)
    assert binary["status"] == "undecodable"
    [large], _ = read_bytes(b"Jane Roe: hello there\n" * 9, config=TranscriptsConfig(max_file_bytes=10))
    assert large["status"] == "too_large"
    example = (EXAMPLES / "northmoor_q1_2024.txt").read_bytes()
    [long], rows = read_bytes(example, config=TranscriptsConfig(max_turns=5))
    assert (long["status"], rows) == ("too_large", [])


def test_call_without_questions_says_so():
    text = "Operator: Welcome to the call.\nJane Roe: We sold more.\nSam Poe: We spent less.\nOperator: Good day.\n"
    [transcript], components = read_bytes(text.encode())
    assert transcript["status"] == "no_qa_session"
    assert {row["use"] for row in components} == {"prepared_remarks"}


def test_encoding_is_recorded(read_file):
    assert read_file("utf16_call.txt")[0]["encoding"] == "utf-16"
    transcript, components = read_file("cp1252_call.txt")
    assert transcript["encoding"] == "cp1252"
    assert any("depends… With" in row["text"] for row in components)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_spans_and_ids(path):
    content = path.read_bytes()
    _, components = read_bytes(content)
    joined = "\n".join(row["text"] for row in components)
    assert all(joined[row["char_start"] : row["char_end"]] == row["text"] for row in components)
    assert all(row["num_chars"] == len(row["text"]) for row in components)
    ids = [row["component_id"] for row in components]
    assert len(set(ids)) == len(ids)
    assert ids == [row["component_id"] for row in read_bytes(content)[1]]
    assert [row["position"] for row in components] == list(range(len(components)))


def test_names_with_and_without_firm_are_one_speaker(read_file):
    _, components = read_file("northmoor_q1_2024.txt")
    asker = {
        (row["speaker"], row["speaker_firm"], row["role"]) for row in components if row["speaker"] == "Corin Blythe"
    }
    assert asker == {("Corin Blythe", "Saltmarsh Partners", "analyst")}


@FUZZ
@given(st.binary(max_size=400))
def test_arbitrary_bytes_end_with_a_status(content):
    transcripts, _ = read_bytes(content)
    assert [row["status"] in STATUSES for row in transcripts] == [True]


@FUZZ
@given(st.sampled_from(FILES), st.data())
def test_mutated_files_end_with_a_status(path, data):
    content = bytearray(path.read_bytes()[: data.draw(st.integers(0, 12_000), label="cut")])
    for position in data.draw(st.lists(st.integers(0, max(len(content) - 1, 0)), max_size=8), label="flips"):
        if content:
            content[position] ^= data.draw(st.integers(1, 255))
    start = data.draw(st.integers(0, len(content)), label="dropped from")
    del content[start : start + data.draw(st.integers(0, 300))]
    transcripts, components = read_bytes(bytes(content))
    assert all(row["status"] in STATUSES for row in transcripts)
    assert sum(row["num_components"] for row in transcripts) == len(components)
    assert len({row["component_id"] for row in components}) == len(components)


@pytest.mark.parametrize("content", [b"<div>" * 20_000, b"<html>" + b"x" * 2_000_000, b"A: " * 300_000, b"{" * 50_000])
def test_hostile_shapes_do_not_hang(content):
    [transcript], _ = read_bytes(content)
    assert transcript["status"] in STATUSES


def test_stage_declares_what_it_does():
    stage = transcripts_stage(TranscriptsConfig())
    assert (stage.name, stage.inputs, stage.outputs) == (
        "parse_transcripts",
        ("documents",),
        ("transcripts", "components"),
    )
    assert isinstance(stage.make(stage.config), ParseTransform)


@pytest.mark.real
@pytest.mark.parametrize(
    ("folder", "form"), [("strike_html", "strike_html"), ("sec_8k_html", "sec_8k_html"), ("motley_json", "motley_json")]
)
def test_real_files_are_read(folder, form):
    if not (REAL / folder).is_dir():
        pytest.skip(f"{REAL / folder} is absent")
    for path in sorted((REAL / folder).iterdir()):
        if path.name.endswith(".csv"):
            continue
        [transcript], _ = read_bytes(path.read_bytes(), source_path=path.name)
        assert (transcript["format"], transcript["status"]) == (form, "ok"), path.name

import pytest

from ecqa.core.schemas import FILTERED_PAIRS, QA_PAIRS, from_rows
from ecqa.pairs.filters import FilterConfig, FilterTransform, filters_stage, mark_pattern


def reasons(*pairs: tuple[str | None, str | None], **settings: object) -> list[str | None]:
    rows = [
        {"pair_id": f"p{i}", "source_path": "x", "position": i, "question": question, "answer": answer}
        for i, (question, answer) in enumerate(pairs)
    ]
    table = FilterTransform(FilterConfig(**settings))({"qa_pairs": from_rows(rows, QA_PAIRS)})["filtered_pairs"]
    assert table.schema == FILTERED_PAIRS
    return table["exclusion_reason"].to_pylist()


LONG = "a" * 500


def test_first_failing_reason():
    assert reasons(
        (None, None),
        (" \n", LONG),
        ("Why?", None),
        ("Why?", "  "),
        ("Why.", "short"),
        ("Why?", "a" * 30),
        ("Why?", "a" * 31),
        ("Why? [Ph]", LONG),
        ("Why?", LONG + "( INAUDIBLE )"),
        ("Why?", "a" * 495),
        ("Why?", "a" * 496),
    ) == [
        "empty_question",
        "empty_question",
        "empty_answer",
        "empty_answer",
        "no_question_mark",
        "short_answer",
        "short_pair",
        "transcriber_mark",
        "transcriber_mark",
        "short_pair",
        None,
    ]


def test_each_filter_can_be_switched_off():
    assert reasons(("Why.", "b"), question_mark=False, min_answer_chars=0, min_total_chars=0) == [None]
    assert reasons(("Why [ph]?", LONG), transcriber_marks=()) == [None]
    assert reasons(("Why [sic]?", LONG), transcriber_marks=("[sic]",)) == ["transcriber_mark"]


def test_scorable_and_lengths():
    rows = [{"pair_id": "p", "source_path": "x", "position": 0, "question": "Wärum?", "answer": None}]
    [row] = FilterTransform(FilterConfig())({"qa_pairs": from_rows(rows, QA_PAIRS)})["filtered_pairs"].to_pylist()
    assert (row["scorable"], row["num_question_chars"], row["num_answer_chars"]) == (False, 6, 0)


def test_nothing_in_nothing_out():
    assert FilterTransform(FilterConfig())({"qa_pairs": QA_PAIRS.empty_table()})["filtered_pairs"].num_rows == 0


def test_config_is_strict():
    with pytest.raises(ValueError, match="extra"):
        FilterConfig(min_answer=3)
    assert mark_pattern(()) == ""


def test_stage_declares_what_it_does():
    stage = filters_stage(FilterConfig())
    assert (stage.name, stage.inputs, stage.outputs, stage.unit) == (
        "filter_pairs",
        ("qa_pairs",),
        ("filtered_pairs",),
        "pair_id",
    )

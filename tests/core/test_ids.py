from hypothesis import given
from hypothesis import strategies as st

from ecqa.core.ids import make_id, ordinals


def test_parts_are_kept_apart() -> None:
    assert make_id("p", "ab", "c") != make_id("p", "a", "bc")
    assert make_id("p", None) != make_id("p", "")
    assert make_id("p", "a") != make_id("c", "a")


def test_id_is_the_same_everywhere() -> None:
    assert make_id("p", "question", "answer", 0) == "p_155294af9aacd0e0884f"


@given(st.lists(st.text(), max_size=5))
def test_any_text_makes_an_id(parts: list[str]) -> None:
    assert make_id("t", *parts) == make_id("t", *parts)


def test_ordinals_count_equal_siblings() -> None:
    assert ordinals(["a", "b", "a", "a"]) == [0, 0, 1, 2]

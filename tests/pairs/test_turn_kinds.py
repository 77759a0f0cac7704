import pytest

from ecqa.pairs.turn_kinds import (
    ASK_BACK,
    GREETING,
    HAND_OFF,
    INTERJECTION,
    NEXT_CALLER,
    SUBSTANCE,
    THANKS,
    answer_kind,
    asker_kind,
    breaks_off,
    calls_name,
    closes_call,
    content_words,
    is_farewell,
    is_trouble,
)

NAMES = frozenset({"jane", "roe", "ray", "matt"})


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Good morning, Jane.", GREETING),
        ("Hi. How are you?", GREETING),
        ("Great, thanks. That's all I have.", THANKS),
        ("Okay, that's very helpful. I'll jump back in the queue. Thank you.", THANKS),
        ("One more, if I might.", THANKS),
        ("Okay.", INTERJECTION),
        ("Right. Yeah. Got it.", INTERJECTION),
        ("2 percentage points?", SUBSTANCE),
        ("Got it. And what about margins?", SUBSTANCE),
        ("Good morning. " + "We wonder about the plant. " * 40, SUBSTANCE),
    ],
)
def test_asker_kind(text, kind):
    assert asker_kind(text, NAMES) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Hi, Matt.", GREETING),
        ("Thank you, Matt.", THANKS),
        ("Yes.", INTERJECTION),
        ("That's right.", INTERJECTION),
        ("Yes, it does.", SUBSTANCE),
        ("That's fair. That's exactly what happened.", SUBSTANCE),
        ("Ray?", HAND_OFF),
        ("Ray, you want to take that?", HAND_OFF),
        ("I'll have Ray answer that.", HAND_OFF),
        ("Ray, why don't you take that?", HAND_OFF),
        ("I think I have said what I can say on that. We like the plant.", SUBSTANCE),
        ("We don't like to talk about guidance.", SUBSTANCE),
        ("I'd rather not go ahead of the announcement.", SUBSTANCE),
        ("For the widgets?", ASK_BACK),
        ("I'm sorry, you broke up there. Could you repeat the question?", ASK_BACK),
        ("Thanks, Matt. Next question, please.", NEXT_CALLER),
        ("We expect margins to rise by two points in the second half.", SUBSTANCE),
    ],
)
def test_answer_kind(text, kind):
    assert answer_kind(text, NAMES) == kind


def test_farewells():
    assert is_farewell("Okay, thanks everyone for joining us today.")
    assert not is_farewell("We expect two points. Thanks everyone for joining us today.")
    assert closes_call("We look forward to speaking to you next quarter.")


def test_small_signs():
    assert is_trouble("I didn't hear the first part.")
    assert not is_trouble("We're not breaking that out anymore.")
    assert breaks_off("and then we --")
    assert breaks_off("partly driven by…")
    assert not breaks_off("We did.")
    assert calls_name("Ray?", NAMES)
    assert not calls_name("In Q2.", NAMES)
    assert content_words("Matt. It's Jane.", NAMES) == []


@pytest.mark.parametrize("unit", [" ", "\n", "-", ", ", "...", "A ", "(", ". ", "thank you ", "see ", "a ", "just "])
def test_rules_on_very_long_turns_end(unit):
    text = "x" + unit * (200_000 // len(unit)) + "x"
    for turn in (text, text[:600], f"a{text[1:600]}"):
        for rule in (breaks_off, calls_name, closes_call, content_words, is_farewell, is_trouble):
            rule(turn)
        asker_kind(turn)
        answer_kind(turn)

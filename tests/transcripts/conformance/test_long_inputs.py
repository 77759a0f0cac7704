"""Inputs that once took minutes or hours: work must grow with the size of a file, not with its square.

The limit is wide on purpose: what is guarded against is a hang, and the machine may be busy.
"""

import json
import time
from itertools import product
from string import ascii_lowercase

import pytest

from ecqa.core.schemas import DOCUMENTS, from_rows
from ecqa.pairs.stages import PairsConfig, PairTransform
from ecqa.transcripts.parse import ParseTransform, TranscriptsConfig

LONG = 100_000
SECONDS = 20
TALK = """
Operator: Our first question comes from Sam Poe.
Sam Poe: How did margins do in the quarter, and why so?
Jane Roe: They went up.
Sam Poe: And what about next year?
Jane Roe: It is good.
Operator: Thank you.
"""
NAMES = [f"A{''.join(a).title()} A{''.join(reversed(a))}q" for a in product(ascii_lowercase[:15], repeat=3)]
"""Over three thousand people with the same initials."""
BLANKS = [" ", "\n", " \n", "\t", "\xa0", "- ", "(", ". ", "A "]


def read(text):
    start = time.process_time()
    content = text.encode()
    row = {"source_path": "a", "content": content, "num_bytes": len(content)}
    tables = ParseTransform(TranscriptsConfig())({"documents": from_rows([row], DOCUMENTS)})
    PairTransform(PairsConfig())(tables)
    assert time.process_time() - start < SECONDS
    return tables["transcripts"].to_pylist()[0]


def motley(turns=(), participants=()):
    said = [{"speaker": speaker, "speech": text} for speaker, text in turns]
    return json.dumps({"prepared_remarks": said[:1], "q_and_a": said[1:], "participants": list(participants)})


def page(body):
    return f"<html><body><p>Participants</p><p><b>Operator</b></p><p>{body}</p><p><b>Operator</b></p>Bye.</body></html>"


@pytest.mark.parametrize("unit", BLANKS)
def test_runs_in_every_format(unit):
    run = "x" + unit * (LONG // len(unit)) + "x"
    read(page(run))
    read(f"<html><dl class=b-list-item><dt>Jane Roe:</dt><dd>{run}</dd></dl><title>{run}</title></html>")
    read(f"Acme{TALK}Jane Roe: {run}\n{run}\n.{run}")
    read(f".{run[1:]}\n{run}{TALK}")
    read(motley([("Jane Roe", run), (run, "What?"), (f"J{run[1:]}", "Yes.")], [run, f"J{run[1:]}"]))


@pytest.mark.parametrize("blank", [" ", "\n", " \n"])
@pytest.mark.parametrize("word", ["</p>", "Operator", "participants", "questions"])
def test_blanks_after_a_word_that_a_sniff_looks_for(word, blank):
    read(page(f"{word}{blank * LONG}x"))


def test_first_line_of_plain_text():
    assert read("." + "\t" * LONG + "x" + TALK)["num_components"] == 6


@pytest.mark.parametrize("layout", ["plain", "motley", "html"])
def test_thousands_of_speakers(layout):
    if layout == "plain":
        row = read(TALK + "\n".join(f"{name}: what about that, then?" for name in NAMES))
        assert row["num_components"] == len(NAMES) + 6
    elif layout == "motley":
        row = read(motley([(name, "So. What?") for name in NAMES], [f"{name}--CFO" for name in NAMES]))
        assert row["num_components"] == len(NAMES)
    else:
        listed = "".join(f"<p>{name} - Acme - CFO</p>" for name in NAMES)
        said = "".join(f"<p><b>{name}</b></p><p>What of it?</p>" for name in NAMES)
        read(f"<html><p>Participants</p>{listed}<p><b>Operator</b></p><p>Hi.</p>{said}</html>")


def test_lists_inside_speeches():
    nested = "<dt>a</dt><dd>b<dl>"
    assert read(f"<html><dl class=b-list-item>{nested * 200}")["num_components"] == 1
    assert read(f"<html><dl class=b-list-item>{nested * 8000}")["status"] == "unknown_format"


def test_open_tags_that_a_parser_repeats_in_every_paragraph():
    fonts = "".join(f"<font size={size}>" for size in range(3000))
    assert read(f"<html><dl class=b-list-item><dt>a</dt><dd>{fonts}{'<p>x' * 3000}")["status"] == "unknown_format"


@pytest.mark.parametrize("joint", [" ", "/", '=">" '])
def test_a_tag_with_thousands_of_attributes(joint):
    tag = f"p {joint.join(f'a{number}' for number in range(50_000))}"
    assert read(f"<html><p>Participants</p><{tag}>Operator:</p><p>Hi all.</p><p>Operator:</p></html>")["status"]
    assert read(f"<html><dl class=b-list-item><dt>A B</dt><dd>So.<{tag}>x</dd></html>")["num_components"] == 1


def test_many_short_paragraphs_of_an_operator():
    start = (
        "<html><p>Participants</p><p>Jane Roe - Acme - CFO</p><p><b>Operator</b></p><p>Hi.</p><p><b>Jane Roe</b></p>x."
    )
    read(f"{start}<p><b>Operator</b></p>{'<p>one, two</p>' * 20_000}{'<p><b>Hello</b></p>' * 2000}</html>")


def test_many_turns():
    names = ["Operator", "Moderator"]
    assert read(motley([(names[number % 2], "Hi there.") for number in range(19_000)]))["num_components"] == 19_000
    assert read(motley([("Jane Roe", "x y")] * 50_000))["num_components"] == 2
    turns = [("Operator", "Next question from " + "x y " * LONG)]
    turns += [(("Al Bo", "Cy Do")[number % 2], "Hi there?") for number in range(5000)]
    assert read(motley([("Jane Roe", "Hi."), *turns]))["status"] == "ok"

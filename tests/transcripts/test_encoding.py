import pytest

from ecqa.transcripts.encoding import decode


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        ("Jané\r\nsaid".encode(), "Jané\nsaid", "utf-8"),
        ("Jané".encode("utf-8-sig"), "Jané", "utf-8-sig"),
        ("Jané said".encode("utf-16"), "Jané said", "utf-16"),
        ("Jane said so".encode("utf-16-le"), "Jane said so", "utf-16-le"),
        ("Jane said so".encode("utf-16-be"), "Jane said so", "utf-16-be"),
        (b"wait\x85 no", "wait… no", "cp1252"),
        (b"caf\xe9 \x81", "café \x81", "latin-1"),
    ],
)
def test_decodes(content, text, encoding):
    assert decode(content) == (text, encoding)


def test_cut_in_the_middle_of_a_character():
    assert decode("Jané".encode()[:-1]) == ("Jan", "utf-8")


def test_damaged_utf8_is_not_read_as_cp1252():
    text, encoding = decode(("ä ö ü – " * 20).encode() + b"\xff end") or ("", "")
    assert encoding == "utf-8"
    assert text.startswith("ä ö ü –")


def test_binary_is_no_text():
    assert decode(bytes(range(256)) * 10) is None

"""Bytes to text: find the encoding that a file was written in, without guessing from its name.

Order: byte order mark, UTF-16 without one (every second byte zero), UTF-8, cp1252, latin-1. Knows nothing of formats.
"""

import codecs
import re

MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
BINARY_SHARE = 0.02
"""More control characters than this share of the text and it is no text file (a damaged page stays below)."""
_SAMPLE = 20_000


def decode(content: bytes) -> tuple[str, str] | None:
    """Return (text, encoding), or None when the bytes are no text in any known encoding.

    Line ends become a bare newline, so that callers can split on it: ``str.splitlines`` also splits at the ellipsis
    byte 0x85 of cp1252 read as latin-1, at form feeds and at Unicode separators, which stand inside speeches.
    """
    for encoding in _candidates(content):
        text = _try(content, encoding)
        if text is not None:
            if _is_binary(text):
                return None
            return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""), encoding
    return None


def _try(content: bytes, encoding: str) -> str | None:
    """Decode without ``final``: a file cut in the middle of a character keeps the text before the cut."""
    try:
        return codecs.getincrementaldecoder(encoding)().decode(content)
    except UnicodeError:
        if encoding == "utf-8" and _mostly_utf8(content):
            return content.decode("utf-8", "replace")
        return None


def _candidates(content: bytes) -> list[str]:
    for mark, encoding in MARKS:
        if content.startswith(mark):
            return [encoding, "latin-1"]
    guess = _utf16_without_mark(content)
    return [guess, "latin-1"] if guess else ["utf-8", "cp1252", "latin-1"]


def _mostly_utf8(content: bytes) -> bool:
    """A damaged UTF-8 file has more whole characters of several bytes than broken ones; a cp1252 file has none."""
    broken = content.decode("utf-8", "replace").count("\ufffd")
    whole = len(re.findall(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}", content))
    return whole > broken


def _utf16_without_mark(content: bytes) -> str | None:
    head = content[:4096]
    half = len(head) // 2
    if half < 4:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.4 * half and even < 0.05 * half:
        return "utf-16-le"
    if even > 0.4 * half and odd < 0.05 * half:
        return "utf-16-be"
    return None


def _is_binary(text: str) -> bool:
    sample = text[:_SAMPLE]
    control = sum(1 for char in sample if (char < " " and char not in "\t\n\r\f\v") or char == "\ufffd")
    return control > BINARY_SHARE * len(sample)

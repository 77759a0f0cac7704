"""One module a format, each with NAME, sniff and parse; FORMATS lists them in the order of preference on a tie."""

from ecqa.transcripts.document import Format
from ecqa.transcripts.formats import motley_json, plain_text, sec_8k_html, strike_html

FORMATS: tuple[Format, ...] = (strike_html, motley_json, sec_8k_html, plain_text)

"""Dates, fiscal periods and names of calls, read from titles and header lines, and the call_id made of them.

From strings to Metadata fields; knows nothing of formats.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from ecqa.core.ids import make_id
from ecqa.transcripts.document import Metadata

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTH = r"(?P<month>" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\.?"
_DAY_FIRST = re.compile(r"\b(?P<day>\d{1,2})(?:st|nd|rd|th)?\s+" + _MONTH + r",?\s+(?P<year>(?:19|20)\d\d)\b", re.I)
_MONTH_FIRST = re.compile(
    r"\b" + _MONTH + r"\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?\s*,?\s+(?P<year>(?:19|20)\d\d)\b", re.I
)
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b")
_QUARTERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_QUARTER = re.compile(
    r"\b(?:q(?P<digit>[1-4])|(?P<digit2>[1-4])q|(?P<word>first|second|third|fourth|1st|2nd|3rd|4th)[ -]quarter)", re.I
)
_YEAR = re.compile(r"\b(?:fy|fiscal(?: year)?)?\s*'?(?P<year>(?:19|20)\d\d)\b", re.I)
_TICKER = re.compile(r"\((?:(?:NYSE|NASDAQ|AMEX|OTC\w*|TSX|LSE)[^:)]{0,20}:\s*)?(?P<ticker>[A-Z]{1,5}(?:\.[A-Z])?)\)")
_REUTERS = re.compile(r"\b(?P<ticker>[A-Z]{1,5})\.(?:N|O|OQ|A|K|PK|L|TO)\s+-\s+(?=Q[1-4]|Full|Half|Event)")
_LEGAL_FORM = (
    r"(?:Inc|Incorporated|Corp|Corporation|Company|Co|Ltd|Limited|LLC|L\.P|LP|plc|PLC|N\.V|S\.A|AG|SE|Group|Bancorp|Bank|"
    r"Holdings|Trust|Partners|Labs|Industries|International|Technologies)\.?"
)
_COMPANY = re.compile(rf"^(?P<company>[A-Z][\w&.,'’ -]{{1,70}}?(?:,? {_LEGAL_FORM})+)(?=$|[\s,:(–-])")


def find_date(text: str) -> date | None:
    """The first calendar date in the text: 23 Apr 2009, April 23, 2009 or 2009-04-23."""
    found = [match for pattern in (_DAY_FIRST, _MONTH_FIRST, _ISO) if (match := pattern.search(text))]
    for match in sorted(found, key=lambda match: match.start()):
        month = match["month"]
        try:
            return date(int(match["year"]), MONTHS.get(month.lower(), 0) or int(month), int(match["day"]))
        except ValueError:
            continue
    return None


def find_period(text: str) -> tuple[int | None, int | None]:
    """(fiscal year, quarter) where the text names a quarter, (None, None) otherwise."""
    quarter = _QUARTER.search(text)
    if quarter is None:
        return None, None
    digit = quarter["digit"] or quarter["digit2"]
    number = int(digit) if digit else _QUARTERS[quarter["word"].lower()]
    near = text[max(0, quarter.start() - 30) : quarter.end() + 40]
    year = _YEAR.search(text[quarter.end() : quarter.end() + 40]) or _YEAR.search(near)
    return (int(year["year"]) if year else None), number


def find_ticker(text: str) -> str | None:
    """An exchange symbol in brackets: (NYSE: ABC) or (ABC)."""
    match = _TICKER.search(text) or _REUTERS.search(text)
    return match["ticker"] if match else None


def find_company(lines: Sequence[str]) -> str | None:
    """The first short line that begins with a name ending in Inc., Corp., Ltd. and so on."""
    for line in lines:
        match = _COMPANY.match(line.strip()) if len(line) < 140 else None
        if match:
            return match["company"].strip(" ,")
    return None


def from_header_lines(lines: Sequence[str], metadata: Metadata) -> Metadata:
    """Fill what ``metadata`` lacks from the header lines of a transcript."""
    short = [line for line in lines if len(line) < 300]
    joined = "\n".join(short)
    year, quarter = find_period(joined)
    title = next(
        (line for line in short if _QUARTER.search(line) or "transcript" in line.lower() or "call" in line.lower()),
        None,
    )
    return replace(
        metadata,
        title=metadata.title or title,
        company=metadata.company or find_company(short),
        ticker=metadata.ticker or find_ticker(joined),
        event_date=metadata.event_date or find_date(joined),
        fiscal_year=metadata.fiscal_year or year,
        fiscal_quarter=metadata.fiscal_quarter or quarter,
    )


def make_call_id(metadata: Metadata, transcript_id: str) -> str:
    """``TICKER-YYYY-MM-DD`` or ``company-slug-YYYY-MM-DD``; an opaque id when the document names no company or no day."""
    who = metadata.ticker or slug(metadata.company or "")
    if who and metadata.event_date:
        return f"{who}-{metadata.event_date.isoformat()}"
    return make_id("call", transcript_id)


def slug(text: str) -> str:
    """Lower-case ASCII words joined by dashes."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))

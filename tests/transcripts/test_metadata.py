from datetime import date

import pytest

from ecqa.transcripts.document import Metadata
from ecqa.transcripts.metadata import find_company, find_date, find_period, find_ticker, from_header_lines, make_call_id


@pytest.mark.parametrize(
    "text",
    ["23 Apr 2009", "April 23, 2009", "Thursday, Apr. 23rd, 2009, 4 PM", "2009-04-23", "APRIL 23, 2009 / 1:00PM"],
)
def test_dates(text):
    assert find_date(text) == date(2009, 4, 23)


def test_no_date():
    assert find_date("February 31, 2020") is None
    assert find_date("in 2020") is None


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("Q2 2009", (2009, 2)),
        ("Third Quarter Fiscal Year 2015", (2015, 3)),
        ("FISCAL 2021 SECOND QUARTER", (2021, 2)),
        ("4Q 2010 call", (2010, 4)),
        ("first quarter", (None, 1)),
        ("annual meeting", (None, None)),
    ],
)
def test_periods(text, period):
    assert find_period(text) == period


def test_company_and_ticker():
    assert find_company(["Transcript", "Roe & Poe Widgets, Inc. (NYSE: RPW)"]) == "Roe & Poe Widgets, Inc."
    assert find_ticker("Roe (NYSE: RPW)") == "RPW"
    assert find_ticker("JULY 27, 2023, RPW.N - Q2 2023 Roe Earnings Call") == "RPW"


def test_header_lines_fill_only_what_is_missing():
    lines = ["Roe Inc.", "Q1 2020 Earnings Call", "May 4, 2020"]
    metadata = from_header_lines(lines, Metadata(ticker="ROE"))
    assert (metadata.company, metadata.ticker, metadata.event_date, metadata.fiscal_quarter) == (
        "Roe Inc.",
        "ROE",
        date(2020, 5, 4),
        1,
    )
    assert make_call_id(metadata, "t_1") == "ROE-2020-05-04"
    assert (
        make_call_id(Metadata(company="Rœ & Poe, Inc.", event_date=date(2020, 5, 4)), "t_1") == "r-poe-inc-2020-05-04"
    )
    assert make_call_id(Metadata(), "t_1").startswith("call_")

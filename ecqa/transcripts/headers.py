"""Speaker headers and participant lines: strings such as ``Jane Roe - Roe Inc. - CFO`` to name, firm and title.

Knows the spellings of many vendors; knows nothing of HTML or of where in a document a line stands.
"""

import re
from dataclasses import dataclass

from ecqa.transcripts.document import Participant
from ecqa.transcripts.names import LONGEST_LABEL, is_generic, is_operator

DASH = re.compile(r"\s+[-–—]+\s+|\s*[–—]\s+|\s+[–—]\s*|\s*--\s*|(?<=[a-z])-\s+")
ANGLED = re.compile(r"^\W{0,2}<?\s*(?P<side>[QA])\s*[-–—]\s*(?P<name>[^<>]{2,90}?)\s*>+\s*:?\s*(?P<text>.*)$", re.S)
QUESTION_MARK = re.compile(r"^(?P<side>Q|A|Question|Answer)\s*[:.]\s+(?P<text>\S.*)$", re.S)
TITLE = re.compile(
    r"\b(?:analyst|president|chief|c[efosimtr]o|officer|director|chair\w*|founder|treasurer|controller|manager|"
    r"partner|head|"
    r"investor relations|\bir\b|vp|[es]vp|counsel|secretary|professor|consultant|associate|executive|principal|"
    r"strategist)\b",
    re.I,
)
FIRM = re.compile(
    r"\b(?:inc|incorporated|corp|corporation|company|co|llc|l\.l\.c|ltd|limited|lp|l\.p|plc|n\.a|sa|ag|se|bank|"
    r"bancorp|securities|capital|"
    r"partners|research|group|associates|markets|advis\w+|management|financial|holdings?|trust|brothers|university|"
    r"institute|energy)\b\.?",
    re.I,
)
ABBREVIATED = re.compile(r"\b(?:inc|corp|ltd|co|llc|l\.p|n\.a|plc|jr|sr|s\.a|l\.l\.c)\.$", re.I)
"""Ends in the full stop of an abbreviation, not of a sentence."""
_NAME_WORD = (
    r"(?:(?:[A-Z]\.?-?){1,3}|[A-Z][\w.'’`-]*[\w.]|(?:de|del|della|der|den|di|da|dos|du|la|le|van|von|bin|al|el|ter|"
    r"y|st\.)|"
    r"\(?[\"“][A-Z]\w+[\"”]\)?)"
)
NAME = re.compile(
    rf"^(?:(?:Dr|Mr|Mrs|Ms|Prof|Sir)\.?\s+)?{_NAME_WORD}(?:\s+{_NAME_WORD}){{0,5}}(?:,?\s+(?:Jr|Sr|II|III|IV|Ph\.?D|"
    rf"M\.?D|CFA)\.?)*$"
)
_CONTRACTION = re.compile(r"['’](?:m|s|ll|re|ve|t|d)\b")
_NO_NAME = re.compile(
    r"\b(?:the|and|of|for|in|on|to|at|by|with|our|your|we|this|that|forward|looking|statements|financial|results|"
    r"business|update|question|questions|answer|answers|session|presentation|conclusion|conference|call|quarter|"
    r"fiscal|year|outlook|highlights|guidance|exhibit|transcript|disclaimer|participants|corporate|company|inc|"
    r"incorporated|corp|corporation|llc|llp|ltd|limited|plc|bancorp|holdings|page|note|safe|harbor|opportunity|mission|strategy|summary|growth|organic|plan|overview|"
    r"additional|information|contact|contacts|about|operations|balance|sheet|earnings|market|markets|revenue)\b",
    re.I,
)


@dataclass(frozen=True)
class Header:
    """Who speaks, as printed in a header."""

    name: str
    firm: str | None = None
    title: str | None = None
    role: str | None = None


def is_name(text: str) -> bool:
    """True when the text can be a person's name: two to six capitalised words, or Operator and its kind."""
    text = text.strip(" :,")
    if is_operator(text) or (is_generic(text) and len(text.split()) <= 4 and text[:1].isupper()):
        return True
    words = text.split()
    if not 2 <= len(words) <= 6 or NAME.match(text) is None or _CONTRACTION.search(text):
        return False
    return _NO_NAME.search(text) is None


def parse_header(line: str) -> Header | None:
    """Read a whole line as a header: ``Name``, ``Name:``, ``Name - Firm - Title``, ``Name, Title, Firm``.

    None when the line does not begin with what can be a name.
    """
    text = line.strip().rstrip(":").strip()
    if not text or len(text) > 200:
        return None
    parts = [part.strip(" ,") for part in DASH.split(text) if part.strip(" ,")]
    if len(parts) == 1 and "," in text:
        head, rest = text.split(",", 1)
        if is_name(head) and TITLE.search(rest):
            return _with_comma_rest(head.strip(), rest.strip())
    if not parts or not is_name(parts[0]):
        return None
    return _from_parts(parts)


def _from_parts(parts: list[str]) -> Header:
    name = parts[0].strip(" .") if is_operator(parts[0]) else parts[0]
    if len(parts) == 1:
        return Header(name)
    if len(parts) == 2:
        return _with_comma_rest(name, parts[1]) if TITLE.search(parts[1]) else Header(name, firm=parts[1])
    return Header(name, firm=" - ".join(parts[1:-1]), title=parts[-1])


def _with_comma_rest(name: str, rest: str) -> Header:
    """``CFO, Roe Inc.`` or ``Analyst, Roe Securities``: the firm stands last, where it is one.

    ``Roe, Inc.`` keeps its comma.
    """
    match = re.match(r"^(?P<title>.*?),\s*(?P<firm>[^,]+(?:,\s*(?:Inc|LLC|Ltd|L\.P|Corp|Co|N\.A)\.?)?)$", rest)
    if match is None:
        return Header(name, title=rest)
    firm, analyst = match["firm"], re.search(r"\banalyst$", match["title"], re.I)
    if (TITLE.search(firm) or not FIRM.search(firm)) and not analyst:
        return Header(name, title=rest)
    return Header(name, firm=firm, title=match["title"])


def parse_participant(line: str, lead: str, role: str | None) -> Participant | None:
    """Read a line of a participant list; ``lead`` is the bold text it begins with, mostly the name.

    ``Name Firm - Title`` without bold is split after the second word, or after an initial and a third.
    """
    text = line.strip(" •·*")
    if len(text) > LONGEST_LABEL:
        return None
    lead = lead.strip(" ,-–—")
    if lead and len(lead) < len(text) and is_name(lead):
        rest = text[text.find(lead) + len(lead) :].strip(" ,-–—")
        return _participant(lead, rest, role)
    header = parse_header(text)
    if header is not None:
        return Participant(header.name, header.title, header.firm, role)
    match = re.match(
        r"^(?P<name>[A-Z][\w.'’-]+(?:\s+(?:[A-Z]\.|[\"“]\w+[\"”]))*\s+[A-Z][\w'’-]+),?\s+(?P<rest>.+)$", text
    )
    if match is None or not is_name(match["name"]):
        return None
    return _participant(match["name"], match["rest"], role)


def _participant(name: str, rest: str, role: str | None) -> Participant:
    parts = [part.strip(" ,") for part in DASH.split(rest) if part.strip(" ,")]
    if len(parts) >= 2:
        return Participant(name, title=parts[-1], firm=" - ".join(parts[:-1]), role=role)
    if TITLE.search(rest):
        header = _with_comma_rest(name, rest)
        return Participant(name, title=header.title, firm=header.firm, role=role)
    return Participant(name, firm=rest or None, role=role)

"""Speaker labels to names: take firm and marks out of a label, and bring the variants of a name within a call together.

Knows nothing of roles. Two labels are one person when the surnames agree (one typo allowed) and the first names are
equal, initials, short forms or nicknames of each other.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

_NICKNAMES = """
william bill will billy, robert bob rob bobby, richard rich rick dick, michael mike mick, james jim jimmy,
thomas tom tommy, joseph joe joey, david dave, daniel dan danny, edward ed eddie ted, charles chuck charlie,
anthony tony, antonio tony, steven steve stephen, matthew matt, christopher chris, christine chris chrissy,
andrew andy drew, gregory greg, jeffrey jeff geoffrey geoff, kenneth ken kenny, lawrence larry laurence, peter
pete, ronald ron, donald don, timothy tim, patrick pat, patricia pat, katherine kathy kate katy kathryn,
elizabeth liz beth betsy, margaret meg peggy maggie, susan sue, deborah deb debbie, rebecca becky, alexander
alex, alexandra alex, benjamin ben, samuel sam, nicholas nick, frederick fred fritz frederic, douglas doug,
phillip phil philip, raymond ray, gerald gerry jerry, jerome jerry, jonathan jon, john jack jon, zachary zach
zack, maxwell max, nathan nate nathaniel, joshua josh, louis lou, leonard len, vincent vince, walter walt,
francis frank, franklin frank, albert al, alan al allen, eugene gene, henry hank, harold hal harry, irwin ike,
victor vic, stuart stu stewart, theodore ted, gilbert gil, jennifer jen, gabriel gabe gabrial, abigail abby,
cynthia cindy, barbara barb, randall randy, russell russ, mitchell mitch, bradley brad, clifford cliff, terrence
terry, curtis curt, kurtis kurt, lewis lou
"""
NICKNAMES = tuple(frozenset(group.split()) for group in _NICKNAMES.split(","))
"""First names that one person goes by."""
_NICKNAME_KEYS = {
    word: tuple(f"group {number}" for number, group in enumerate(NICKNAMES) if word in group)
    for group in NICKNAMES
    for word in group
}
GENERIC = re.compile(
    r"^\W*(?:unidentified|unknown|unverified|unnamed|male|female|speaker|participant|analyst|shareholder|investor|"
    r"executive|company representative|corporate participant|audience|attendee|question|answer)\b|^\W*[qa]\W*$",
    re.I,
)
"""Labels that name no person: "Unidentified Analyst" of two questions may be two people."""
OPERATOR = re.compile(
    r"^\W*(?:(?:conference|call|telephone|chorus call|webcast|event|teleconference)\s+)*"
    r"(?:operator|coordinator|moderator|facilitator)\b[^a-z]*(?:\d+)?\W*$",
    re.I,
)
_LEAD = re.compile(r"^\s*(?:<?\s*[QA]\s*[-–—:]+\s*|<\s*[QA]\s+|(?:mr|mrs|ms|sir)\.?\s+(?=\S+\s+\S))", re.I)
_DASH = re.compile(r"\s+[-–—]+\s*|\s*[–—]{2,}\s*|\s*--\s*")
LONGEST_LABEL = 300
"""Characters; what a label holds beyond them is no name."""
_LONGEST_MARK = 120
"""Characters; a longer line is neither an operator's label nor a heading."""
_LONGEST_WORD = 60
_MOST_WORDS = 12
_MOST_CANDIDATES = 40
"""Names that one name is compared with; a call never has so many people with the same initials."""
_SUFFIX = frozenset(
    ["jr", "sr", "ii", "iii", "iv", "phd", "md", "cfa", "cpa", "esq", "dr", "mr", "mrs", "ms", "prof", "sir"]
)


def split_label(label: str) -> tuple[str, str | None]:
    """Return (name, firm or None): "Q – Jane Roe – Roe Securities:" gives ("Jane Roe", "Roe Securities")."""
    text = _LEAD.sub("", re.sub(r"\s+", " ", label).strip())[:LONGEST_LABEL].strip(" :<>;*_")
    parts = [part.strip(" ,") for part in _DASH.split(text) if part.strip(" ,")]
    if not parts:
        return "", None
    name = parts[0].strip()
    return name, " - ".join(parts[1:]) or None


def matches(pattern: re.Pattern[str], line: str) -> re.Match[str] | None:
    """Match a pattern for whole short lines; a long line is none, and costs no backtracking."""
    return pattern.match(line) if len(line) <= _LONGEST_MARK else None


def is_operator(name: str) -> bool:
    """True for Operator, Conference Operator, Moderator, Coordinator."""
    return matches(OPERATOR, name) is not None


def is_generic(name: str) -> bool:
    """True for labels that name no person, such as "Unidentified Analyst"."""
    return GENERIC.match(name) is not None


@lru_cache(maxsize=8192)
def name_words(name: str) -> tuple[str, ...]:
    """Lower-case words without accents, titles and suffixes: "Dr. J. Høiland, Jr." gives ("j", "hoiland")."""
    folded = unicodedata.normalize("NFKD", name.replace("ø", "o").replace("Ø", "O").replace("ł", "l"))
    plain = "".join(char for char in folded if not unicodedata.combining(char)).lower()
    words = re.findall(r"[a-z]+", plain.replace("'", "").replace("’", ""))
    return tuple(word for word in words if word not in _SUFFIX)


def alike(one: str, other: str) -> bool:
    """Two words are the same but for a typo: equal, or a ratio of at least 0.8 from five letters on."""
    if one == other:
        return True
    short, long = sorted((len(one), len(other)))
    if short < 4 or long > _LONGEST_WORD or one[0] != other[0] or 2 * short < 0.8 * (short + long):
        return False
    matcher = SequenceMatcher(None, one, other)
    return matcher.quick_ratio() >= 0.8 and matcher.ratio() >= 0.8


def same_first(one: str, other: str) -> bool:
    """First names that can belong to one person: equal, initial, short form (Jon, Jonathan), nickname, one typo."""
    if one == other or (one[0] == other[0] and 1 in (len(one), len(other))):
        return True
    if min(len(one), len(other)) >= 3 and (one.startswith(other) or other.startswith(one)):
        return True
    return any(one in group and other in group for group in NICKNAMES) or alike(one, other)


@lru_cache(maxsize=65536)
def same_person(one: str, other: str) -> bool:
    """True when two names can stand for one person within a call."""
    left, right = name_words(one), name_words(other)
    if not left or not right:
        return False
    if left == right:
        return True
    if is_generic(one) or is_generic(other) or len(left) < 2 or len(right) < 2:
        return False
    surnames = left[-1] == right[-1] or alike(left[-1], right[-1]) or left[-1] in right[1:] or right[-1] in left[1:]
    return surnames and any(same_first(word, right[0]) for word in left[:-1]) | any(
        same_first(word, left[0]) for word in right[:-1]
    )


class NameIndex:
    """Finds the first name added that can stand for the same person, without comparing every two names.

    Names are kept by the initials that same_person asks for, so that the work grows with the number of names only.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names: list[str] = []
        self._equal: dict[tuple[str, ...], int] = {}
        self._alike: dict[tuple[str, str], list[int]] = {}
        for name in names:
            self.add(name)

    def add(self, name: str) -> None:
        """Add a name at the end."""
        place = len(self.names)
        self.names.append(name)
        words = name_words(name)
        self._equal.setdefault(words, place)
        for key in _keys(words):
            known = self._alike.setdefault(key, [])
            if len(known) < _MOST_CANDIDATES:
                known.append(place)

    def equal(self, name: str) -> int | None:
        """Place of the first name with the same words."""
        return self._equal.get(name_words(name))

    def find(self, name: str) -> int | None:
        """Place of the first name that can stand for the same person."""
        words = name_words(name)
        places = sorted({place for key in _keys(words) for place in self._alike.get(key, ())})[:_MOST_CANDIDATES]
        if words in self._equal:
            places = sorted([*places, self._equal[words]])
        return next((place for place in places if same_person(name, self.names[place])), None)


def _keys(words: tuple[str, ...]) -> set[tuple[str, str]]:
    """Initials of what can be a surname, with initials and nicknames of what can be a first name."""
    firsts = {word[0] for word in words[:-1]} | {key for word in words[:-1] for key in _NICKNAME_KEYS.get(word, ())}
    return {(word[0], first) for word in words[1:] for first in firsts} if len(words) <= _MOST_WORDS else set()


def resolve(names: Iterable[str]) -> dict[str, str]:
    """Map every name to the one used for its person: the most frequent spelling, the longer one on a tie."""
    counts = Counter(names)
    ranked = sorted(counts, key=lambda name: (-counts[name], -len(name), name))
    chosen: dict[str, str] = {}
    index = NameIndex()
    for name in ranked:
        place = index.find(name)
        if place is None:
            index.add(name)
        chosen[name] = name if place is None else index.names[place]
    return chosen

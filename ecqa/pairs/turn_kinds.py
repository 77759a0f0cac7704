"""What a turn of the Q&A session is for: a greeting, thanks, an interjection, a hand-off, a question back, or substance.

From one text (and who said it) to a word; knows nothing of the turns around it, of tables or of ids.
"""

import re
from collections.abc import Set
from functools import lru_cache

SUBSTANCE, GREETING, THANKS, INTERJECTION, HAND_OFF, ASK_BACK, CLOSING, NEXT_CALLER = (
    "substance", "greeting", "thanks", "interjection", "hand_off", "ask_back", "closing", "moderator",
)

_NOTES = re.compile(r"[\[(](?:operator instructions?|laughter|crosstalk|technical difficult\w*|multiple speakers|ph|indiscernible|inaudible)[^\])]{0,40}[\])]", re.I)
_HELLO = re.compile(
    r"\b(?:good (?:morning|afternoon|evening|day)|(?:hi|hey|hello|morning|afternoon|evening)(?= |,|\.|!|$)|"
    r"how(?:'s| is| are) (?:it going|everyone|everybody|you|things|you all)(?: guys)?(?: doing)?(?: today| this (?:morning|afternoon|evening))?|"
    r"how(?:'re| are) (?:you|ya)(?: doing)?|can you(?: guys)? hear me(?: okay| ok| all right)?(?: now)?|nice to (?:meet|speak|talk)[^.?!]{0,30}|welcome(?: back| aboard)?|"
    r"(?:i'm |i am |we're |doing )?(?:good|fine|great|well|doing well|very well|doing good|doing great|not bad)(?:,)? (?:thanks?|thank you|and you|yourself)|"
    r"(?:i'm|we're) (?:good|fine|great|well|here|doing \w+)|how about (?:you|yourself))\b",
    re.I,
)
_THANKS = re.compile(
    r"\b(?:(?:many |and |well |but )?thanks?(?: you)?(?: all| guys| both| again)?(?: (?:so|very) much| a lot| a bunch)?"
    r"(?: (?:for|on) (?:taking|letting|fitting|squeezing|all|that|the|your|answering|everything|clarifying|this|those|these|my|addressing|joining|calling|being)\b[^.?!]{0,70})?|"
    r"(?:i |we |really |very |much )*appreciate(?:d)?(?: (?:it|that|you|the|all|your)[^.?!]{0,50})?|"
    r"congrat(?:s|ulations)(?: again| guys)?(?: (?:on|for|to)[^.?!]{0,80})?|(?:you're|you are|you) (?:very |most |quite )?welcome|"
    r"no problem|you bet|my pleasure|(?:take care|good luck|best of luck|keep up|nice (?:job|quarter|work)|great (?:job|quarter|work)|good (?:job|quarter|work))[^.?!]{0,50}|"
    r"(?:and )?(?:that's|that is|that was|this is|it's|that'll be|that would be)(?: all| everything)? (?:(?:very|really|super|quite|extremely|so|pretty) )*(?:helpful|great|good|perfect|fine|fair(?: enough)?|clear|useful|wonderful|excellent|it(?: for me| from me)?|all(?: i(?:'ve got| have| had| got| wanted)?)?(?: (?:for (?:me|now|today|us)|from me))?|(?:for me|from me))|"
    r"(?:that's |that is )?all (?:of )?(?:the questions )?(?:i|we)(?:'ve| have| had)?(?: got| had| have)?(?: for (?:now|today|me|you))?|"
    r"(?:i'll|i will|let me|we'll) (?:get|jump|hop|go|step|turn|pass|leave|circle|follow|cede|let|stop|talk|see|catch|drop|yield|speak|take it)\b[^.?!]{0,70}|"
    r"(?:very |really |super |extremely )?helpful(?: color| answer)?|good (?:color|answer|stuff|to hear)|(?:great|nice|helpful|appreciate the|the) color|"
    r"(?:talk|speak|see) (?:to )?(?:you )?(?:all )?(?:soon|later|next \w+)|have a (?:good|great|nice)[^.?!]{0,30}|you too|same to you|(?:look(?:ing)? forward)[^.?!]{0,50}|"
    r"no(?:thing)? (?:further|more|other)(?: questions?)?(?: (?:from me|here))?|i'm (?:all )?(?:set|done|good)|we're (?:all )?(?:set|done|good)|"
    r"(?:all )?my questions? (?:have been|were|was|has been) answered|answered my questions?)\b",
    re.I,
)
_NODS = re.compile(
    r"\b(?:ok(?:ay)?|alright|all right|right|yes|yeah|yep|yup|sure|no|great|good|perfect|excellent|fantastic|terrific|wonderful|awesome|super|cool|understood|"
    r"understand|got (?:it|you|ya)|gotcha|i see|i got it|mm-?hmm?|uh-?huh|mhm|fair enough|fair|makes sense|that makes sense|sounds (?:good|great)|interesting|exactly|correct|absolutely|"
    r"definitely|of course|certainly|indeed|true|agreed|fine|very good|oh|ah|um|uh|well|so|and|but|now|then|hm+|wow|please|go ahead|nice|noted|very helpful|very well|very much|very|really|much|thank|too|also|again|just|fellows|"
    r"guys|gentlemen|ladies|everyone|everybody|folks|team|all|sir|ma'am|operator|there|buddy|man|both|you|same here|that's right|that's correct|right there|yes sir|there we go|here)\b",
    re.I,
)
_CLOSES = re.compile(
    r"\b(?:concludes?|closing (?:remarks|comments)|this (?:ends|concludes)|for (?:joining|participating|your (?:time|interest|participation|continued))|"
    r"(?:speak|talk|speaking|talking|seeing|see) (?:to|with)?\s*(?:you|everyone|all of you)|next (?:quarter|call)|have a (?:good|great|nice|wonderful))\b",
    re.I,
)
_NEXT = re.compile(
    r"\b(?:(?:next|last|final|first|one more|another) (?:question|caller)|next(?:,)? please|operator,? (?:next|can we|we|could|do we|please|i think|let's)|"
    r"(?:can|could) (?:we|you) (?:have|get|take) the next|we(?:'ll| will) (?:take|go to) (?:the|our) (?:next|last|final)|"
    r"(?:move|go) (?:on )?to the next)\b",
    re.I,
)
_HANDS = re.compile(
    r"\b(?:(?:you )?(?:want|like|care) to (?:take|address|comment|add|talk|answer|handle|speak|touch|give|jump|start|cover|elaborate|go)\b|"
    r"i(?:'ll| will|'m going to| am going to|'d like to|'ll just)? (?:let|have|ask|turn|hand|pass|defer|throw)\b|let me (?:have|ask|turn|hand|pass|let|refer)\b|"
    r"why don't (?:you|i|we)\b|(?:turn|hand|pass|throw) (?:it|that|this)(?: one)?(?: over)?(?: back)? to\b|over to\b|"
    r"(?:can|could|would|will|do) you (?:take|address|handle|answer|comment|want)\b|go ahead\b|take (?:that|this|it)(?: one| question)?\b|i(?:'ll)? let \w+)",
    re.I,
)
_BACK = re.compile(
    r"^(?:(?:i'm |i am )?sorry|excuse me|pardon|what|which|could you|can you|would you|do you mean|are you|you mean|you're (?:asking|talking|referring)|is that|was that|for the|in the|on the|"
    r"meaning|say (?:that )?again|did you|you said|how do you mean|when you say|what do you mean|what was|repeat)\b",
    re.I,
)


@lru_cache(maxsize=16384)
def rest_of(text: str) -> tuple[str, bool, bool]:
    """Strip courtesy: return (what is left, whether it greeted, whether it thanked)."""
    bare = _NOTES.sub(" ", text.replace("’", "'").replace("‘", "'")).replace("--", " ")
    bare, hellos = _HELLO.subn(" ", bare)
    bare, thanks = _THANKS.subn(" ", bare)
    bare = _NODS.sub(" ", bare)
    return bare, hellos > 0, thanks > 0


def content_words(text: str, names: Set[str] = frozenset()) -> list[str]:
    """Words that are left of a text once courtesy, nods and the names of people in the call are gone."""
    words = re.findall(r"[a-z0-9$%][a-z0-9'$%.-]*", rest_of(text)[0].lower())
    return [word for word in words if word.strip(".'-") not in names and len(word.strip(".'-")) > 0]


def asker_kind(text: str, names: Set[str] = frozenset()) -> str:
    """Kind of a turn of somebody who asks."""
    left, hello, thanks = rest_of(text)
    words = content_words(text, names)
    if len(words) <= 2 and not ("?" in left and len(words) >= 1 and not hello):
        return GREETING if hello else THANKS if thanks else INTERJECTION
    if thanks and "?" not in left and len(words) <= 5:
        return THANKS
    if hello and "?" not in left and len(words) <= 5:
        return GREETING
    return SUBSTANCE


def answer_kind(text: str, names: Set[str] = frozenset()) -> str:
    """Kind of a turn of somebody who answers, taken by itself."""
    left, hello, thanks = rest_of(text)
    words = content_words(text, names)
    total = len(text.split())
    if len(words) <= 2 and (hello or thanks) and "?" not in left:
        return GREETING if hello else THANKS
    if _NEXT.search(text) and len(words) <= 14:
        return NEXT_CALLER
    if total <= 25 and _is_hand_off(text, names, len(words)):
        return HAND_OFF
    if total <= 20 and text.rstrip().endswith("?") and "." not in text.strip()[:-1].rstrip(".?")[-200:]:
        return ASK_BACK
    if not words and not hello and not thanks:
        return INTERJECTION
    if thanks and len(words) <= 5:
        return THANKS
    return SUBSTANCE


def _is_hand_off(text: str, names: Set[str], num_words: int) -> bool:
    last = re.findall(r"[a-z]+", text.lower().replace("'", ""))[-1:]
    called = bool(last) and last[0] in names
    if called and num_words <= 3 and text.rstrip().endswith(("?", ".", ",", "…", "-", last[0])):
        return text.rstrip().endswith("?") or num_words == 0
    return _HANDS.search(text) is not None and (num_words <= 12 or text.rstrip().endswith("?"))


def closes_call(text: str) -> bool:
    """True for farewells to the audience."""
    return _CLOSES.search(text) is not None

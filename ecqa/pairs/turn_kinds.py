"""What a turn of the Q&A session is for: a greeting, thanks, an interjection, a hand-off, a question back, or substance.

From one text (and who said it) to a word; knows nothing of the turns around it, of tables or of ids.
"""

import re
from collections.abc import Set
from functools import lru_cache

SUBSTANCE, GREETING, THANKS, INTERJECTION, HAND_OFF, ASK_BACK, CLOSING, NEXT_CALLER = (
    "substance",
    "greeting",
    "thanks",
    "interjection",
    "hand_off",
    "ask_back",
    "closing",
    "moderator",
)

LONG = 600
"""Characters; a longer turn is substance, whatever courtesies it holds."""

_NOTES = re.compile(
    r"[\[(](?:operator instructions?|laughter|crosstalk|technical difficult\w*|multiple speakers|ph|indiscernible|"
    r"inaudible)[^\])]{0,40}[\])]",
    re.I,
)
_HELLO = re.compile(
    r"\b(?:good (?:morning|afternoon|evening|day)|(?:hi|hey|hello|morning|afternoon|evening)(?= |,|\.|!|$)|"
    r"how(?:'s| is| are) (?:it going|everyone|everybody|you|things|you all)(?: guys)?(?: doing)?(?: today|"
    r" this (?:morning|afternoon|evening))?|"
    r"how(?:'re| are) (?:you|ya)(?: doing)?|can you(?: guys)? hear me(?: okay| ok| all right| better)?(?: now)?|"
    r"how (?:you|ya|y'all)(?: guys)? doing|nice to (?:meet|speak|talk)[^.?!]{0,30}|welcome(?: back| aboard)?|"
    r"(?:i'm |i am |we're |doing )(?:good|fine|great|well|doing well|very well|doing good|doing great|"
    r"not bad),? (?:thanks?|thank you)|"
    r"(?:good|fine|great|well),? (?:and )?(?:you|yourself)\?|"
    r"(?:i'm|we're) (?:good|fine|great|well|here|doing \w+)|how about (?:you|yourself))\b",
    re.I,
)
_THANKS = re.compile(
    r"\b(?:(?:many |and |well |but )?thanks?(?: you)?(?: all| guys| both| again)?(?: (?:so|very) much| a lot|"
    r" a bunch)?"
    r"(?: (?:for|on) (?:taking|letting|fitting|squeezing|all|that|the|your|answering|everything|clarifying|this|"
    r"those|these|my|addressing|joining|calling|being)\b[^.?!]{0,70})?|"
    r"(?:i |we |really |very |much )*appreciate(?:d)?(?: (?:it|that|you|the|all|your)[^.?!]{0,50})?|"
    r"congrat(?:s|ulations)(?: again| guys)?(?: (?:on|for|to)[^.?!]{0,80})?|(?:you're|you are|you) (?:very |most |"
    r"quite )?welcome|"
    r"no problem|you bet|my pleasure|(?:take care|good luck|best of luck|keep up|nice (?:job|quarter|work)|"
    r"great (?:job|quarter|work)|good (?:job|quarter|work))[^.?!]{0,50})\b",
    re.I,
)
_SATISFIED = re.compile(
    r"\b(?:(?:and )?(?:that's|that is|that was|this is|it's|that'll be|that would be)(?: all|"
    r" everything)? (?:(?:very|really|super|quite|extremely|so|pretty) )*(?:helpful|great|good|perfect|fine|"
    r"fair(?: enough)?|clear|useful|wonderful|excellent|it(?: for me| from me)?|all(?: i(?:'ve got| have| had| got|"
    r" wanted)?)?(?: (?:for (?:me|now|today|us)|from me))?|(?:for me|from me))|"
    r"(?:that's |that is )?all (?:of )?(?:the questions )?(?:i|we)(?:'ve| have| had)?(?: got| had|"
    r" have)?(?: for (?:now|today|me|you))?|"
    r"(?:i'll|i will|let me|we'll) (?:get|jump|hop|go|step|turn|pass|leave|circle|follow|cede|let|stop|talk|see|"
    r"catch|drop|yield|speak|take it)\b[^.?!]{0,70}|"
    r"(?:very |really |super |extremely )?helpful(?: color| answer)?|good (?:color|answer|stuff|to hear)|(?:great|"
    r"nice|helpful|appreciate the|the) color|"
    r"(?:talk|speak|see) (?:to )?(?:you )?(?:all )?(?:soon|later|next \w+)|have a (?:good|great|nice)[^.?!]{0,30}|"
    r"you too|same to you|(?:look(?:ing)? forward)[^.?!]{0,50}|"
    r"no(?:thing)? (?:further|more|other)(?: questions?)?(?: (?:from me|here))?|i'm (?:all )?(?:set|done|good)|"
    r"we're (?:all )?(?:set|done|good)|"
    r"(?:all )?my (?:other |remaining )?questions? (?:have been|were|was|has been) answered|answered my questions?|"
    r"(?:maybe |may be |just )*(?:one|a|another|1)(?: (?:more|last|quick|final|little))*\s*+(?:(?:one|question|"
    r"follow-?up),?\s*+|,\s*+)?if (?:i (?:could|can|may|might)|that's ok(?:ay)?)|"
    r"(?:(?:i|i've) (?:just )?(?:have|had|got) )?(?:just |maybe )?(?:one|1|a) (?:more|last|final|quick|"
    r"other)(?: (?:quick|one|follow-?up))?(?: question| follow-?up)?(?=\W*$))\b",
    re.I,
)
_NODS = re.compile(
    r"\b(?:ok(?:ay)?|alright|all right|right|yes|yeah|yep|yup|sure|no|great|good|perfect|excellent|fantastic|"
    r"terrific|wonderful|awesome|super|cool|understood|"
    r"understand|got (?:it|you|ya)|gotcha|i see|i got it|mm-?hmm?|uh-?huh|mhm|fair enough|fair|makes sense|"
    r"that makes sense|sounds (?:good|great)|interesting|exactly|correct|absolutely|"
    r"definitely|of course|certainly|indeed|true|agreed|fine|very good|oh|ah|um|uh|well|so|and|but|now|then|hm+|"
    r"wow|please|go ahead|nice|noted|very helpful|very well|very much|very|really|much|thank|too|also|again|just|"
    r"fellows|"
    r"guys|gentlemen|ladies|everyone|everybody|folks|team|all|sir|ma'am|operator|there|buddy|man|both|you|"
    r"same here|that's right|that's correct|right there|yes sir|(?:you've|you) (?:got|covered) it|"
    r"nothing (?:else )?to add|there we go|here)\b",
    re.I,
)
_CLOSES = re.compile(
    r"\b(?:concludes?|closing (?:remarks|comments)|this (?:ends|concludes)|for (?:joining|participating|"
    r"your (?:time|interest|participation|continued))|"
    r"(?:speak|talk|speaking|talking|seeing|see) (?:to|with)?\s*(?:you|everyone|all of you)|next (?:quarter|call)|"
    r"have a (?:good|great|nice|wonderful))\b",
    re.I,
)
_ENDS = re.compile(
    r"\b(?:wrap up|replay of|(?:concludes?|ends) (?:our|the|today's|this)|(?:thank|"
    r"thanks)[^.?!]{0,40} for (?:joining|participating|your (?:time|interest|participation|attention|continued))|"
    r"thanks,? everyone|see (?:many|all|some) of you|bye-?bye|everyone joining|everybody joining|great that you|"
    r"in summary|in closing|available to take your calls)\b",
    re.I,
)
_NEXT = re.compile(
    r"\b(?:(?:next|last|final|first|one more|another) (?:question|caller)|next(?:,)? please|operator,? (?:next|"
    r"can we|we|could|do we|please|i think|let's)|"
    r"(?:can|could) (?:we|you) (?:have|get|take) the next|we(?:'ll| will) (?:take|go to) (?:the|our) (?:next|last|"
    r"final)|"
    r"(?:move|go) (?:on )?to the next)\b",
    re.I,
)
_HANDS = re.compile(
    r"\b(?:(?:you )?(?:want|like|care) to (?:take|address|comment|add|talk|answer|handle|speak|touch|give|jump|"
    r"start|cover|elaborate|go)\b|"
    r"i(?:'ll| will|'m going to| am going to|'d like to|'ll just|'m gonna) (?:let|have|ask|turn|hand|pass|defer|throw)\b|"
    r"let me (?:have|ask|turn|hand|pass|let|refer)\b|"
    r"why don't (?:you|i|we)\b|(?:turn|hand|pass|throw) (?:it|that|this)(?: one)?(?: over)?(?: back)? to\b|over to\b|"
    r"(?:can|could|would|will|do) you (?:take|address|handle|answer|comment|want)\b|go ahead\b|take (?:that|this|"
    r"it)(?: one| question)?\b|(?:that's|that is|this is|that one's) (?:one |a question )?(?:for you|yours)\b|"
    r"i let \w+)",
    re.I,
)
_REFUSES = re.compile(r"\b(?:not|never|cannot|unable|decline|rather)\b|(?<!why do)n['’]t\b(?! (?:you|we|i) )", re.I)
"""Signs of a refusal, which is an answer: "We don't like to talk about guidance" hands nothing over."""
_SELF = frozenset(["it's", "its", "this", "is", "i'm", "i", "am"])
"""Words of "Michael. It's Jack." once the names are gone."""
_SORRY = re.compile(r"\b(?:(?:i'm |i am )?sorry|excuse me|pardon(?: me)?)[.,]", re.I)
_TROUBLE = re.compile(
    r"\b(?:(?:could|can|would|will) you (?:please )?(?:just )?(?:repeat|restate|rephrase|say that again)|"
    r"(?:you|you're|you are|line|it) (?:\w+ )?(?:broke|breaking|broken|cutting|cut) (?:\w+ )?(?:up|out|off)|"
    r"(?:i|we) (?:couldn't|can't|cannot|didn't|could not|did not) (?:quite )?(?:hear|catch)|garbled|what (?:is|"
    r"was) (?:your|the) question)\b",
    re.I,
)


@lru_cache(maxsize=16384)
def rest_of(text: str, of_asker: bool = True) -> tuple[str, bool, bool]:
    """Strip courtesy: return (what is left, whether it greeted, whether it thanked).

    "That's fair." ends an analyst's turn but can be an executive's answer, so it is stripped only from askers' turns.
    """
    bare = _NOTES.sub(" ", text.replace("’", "'").replace("‘", "'")).replace("--", " ")
    bare, hellos = _HELLO.subn(" ", bare)
    bare, thanks = _THANKS.subn(" ", bare)
    satisfied = 0
    if of_asker:
        bare, satisfied = _SATISFIED.subn(" ", bare)
    bare = _NODS.sub(" ", bare)
    return bare, hellos > 0, thanks + satisfied > 0


def content_words(text: str, names: Set[str] = frozenset(), of_asker: bool = True) -> list[str]:
    """Words that are left of a text once courtesy, nods and the names of people in the call are gone."""
    text = text[:LONG]
    words = re.findall(r"[a-z0-9$%][a-z0-9'$%.-]*", rest_of(text, of_asker)[0].lower())
    left = [word for word in words if word.strip(".'-") not in names and len(word.strip(".'-")) > 0]
    return [] if all(word in _SELF for word in left) else left


def asker_kind(text: str, names: Set[str] = frozenset()) -> str:
    """Kind of a turn of somebody who asks."""
    if len(text) > LONG:
        return SUBSTANCE
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
    if len(text) > LONG:
        return SUBSTANCE
    left, hello, thanks = rest_of(text, of_asker=False)
    words = content_words(text, names, of_asker=False)
    total = len(text.split())
    if total <= 25 and _is_hand_off(text, names, len(words)):
        return HAND_OFF
    if _NEXT.search(text) and len(words) <= 14:
        return NEXT_CALLER
    if (hello or thanks) and (not words or (len(words) <= 2 and "?" not in left)):
        return GREETING if hello else THANKS
    if total <= 30 and _TROUBLE.search(text):
        return ASK_BACK
    if total <= 20 and text.rstrip().endswith("?") and not re.search(r"[.!](?=\s)", _SORRY.sub("", text)):
        return ASK_BACK
    if not words and not hello and not thanks:
        return INTERJECTION
    if thanks and len(words) <= 5:
        return THANKS
    return SUBSTANCE


def _is_hand_off(text: str, names: Set[str], num_words: int) -> bool:
    last = re.findall(r"[a-z]+", text.lower().replace("'", ""))[-1:]
    if last and last[0] in names and num_words <= 3 and text.rstrip().endswith("?"):
        return True
    if _REFUSES.search(text) is not None:
        return False
    return _HANDS.search(text) is not None and (num_words <= 16 or text.rstrip().endswith("?"))


def closes_call(text: str) -> bool:
    """True for farewells to the audience."""
    return _CLOSES.search(text) is not None


def is_farewell(text: str) -> bool:
    """True for a turn that begins with thanks and takes leave of the audience: no answer, even while a question is open."""
    first = re.split(r"(?<=[.!?])\s", text.strip())[0]
    if _ENDS.search(first) is not None:
        return True
    return _ENDS.search(text[:300]) is not None and len(content_words(first)) <= 3


def is_trouble(text: str) -> bool:
    """True when the line was bad and the question must be said again."""
    return _TROUBLE.search(text) is not None


def breaks_off(text: str) -> bool:
    """True for a text that stops in the middle of a sentence."""
    text = text.rstrip()
    end = len(text)
    while end and not (text[end - 1].isalnum() or text[end - 1] == "_"):
        end -= 1
    return text[-1:].isalnum() or any(mark in text[end:] for mark in ("...", "…", "-", "–", "—", ","))


def calls_name(text: str, names: Set[str] = frozenset()) -> bool:
    """True for "Ray?" or "Steve Kelsey --": nothing but nods and a capitalised word or two."""
    if len(text.split()) > 5:
        return False
    words = re.findall(r"[A-Za-z][\w'-]*", _NODS.sub(" ", text.replace("’", "'")))
    named = any(word.lower() in names for word in re.findall(r"[A-Za-z][\w']*", text))
    asked = named or (bool(words) and text.rstrip().endswith("?"))
    return asked and all(word[0].isupper() for word in words)

"""Stable identifiers: a child's id follows from its parent's id, its content and its ordinal among equal siblings.

The same input gives the same ids on every machine and in every run. Knows nothing of tables.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable

ID_HEX_DIGITS = 20
"""80 bits: at 22.7 million rows the chance of any collision is about 2e-10."""


def make_id(kind: str, *parts: str | int | bytes | None) -> str:
    """Return ``<kind>_<20 hex digits>`` derived from the parts.

    Every part is length-prefixed, so ("ab", "c") and ("a", "bc") differ; None differs from the empty string.
    """
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        if part is None:
            digest.update(b"\xff-")
            continue
        raw = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return f"{kind}_{digest.hexdigest()[:ID_HEX_DIGITS]}"


def ordinals(contents: Iterable[object]) -> list[int]:
    """Return for each item how many equal items stand before it: ["a", "b", "a"] -> [0, 0, 1]."""
    seen: Counter[object] = Counter()
    result = []
    for content in contents:
        result.append(seen[content])
        seen[content] += 1
    return result

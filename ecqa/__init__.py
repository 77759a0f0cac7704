"""ecqa: earnings-call transcripts to subjectivity features and evasion levels, at corpus scale on Ray."""

from typing import TYPE_CHECKING, Any

from ecqa.core.version import VERSION as __version__

__all__ = ["__version__", "score"]

if TYPE_CHECKING:
    from ecqa.api import score


def __getattr__(name: str) -> Any:
    """Import the API when it is first asked for, so that ``import ecqa`` costs nothing."""
    if name == "score":
        from ecqa.api import score

        return score
    raise AttributeError(f"module 'ecqa' has no attribute {name!r}")

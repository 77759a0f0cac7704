"""What third-party loaders raise about a broken model, and one-line texts of it. Loads neither torch nor transformers."""

from pydantic import ValidationError
from safetensors import SafetensorError

LONGEST_CAUSE = 300


def load_errors() -> tuple[type[Exception], ...]:
    """What transformers, safetensors and torch raise for a directory whose files they cannot make a model of."""
    from huggingface_hub import errors

    broken = (OSError, ValueError, TypeError, LookupError, ArithmeticError, AttributeError, AssertionError, ImportError)
    strict = getattr(errors, "StrictDataclassError", ValueError)
    return (*broken, RuntimeError, SafetensorError, strict)


def one_line(error: BaseException) -> str:
    """First line of a message (with the next where it ends in a colon), or the name of the error's class."""
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if "custom code" in lines[0]:
        return "it needs custom code (auto_map), which is never run; give a model of a class that transformers has"
    text = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    return shortened(text, LONGEST_CAUSE)


def validation_line(error: Exception) -> str:
    """One line of a pydantic error: field and cause of its first three faults, without the link to pydantic's site."""
    if not isinstance(error, ValidationError):
        return one_line(error)
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    parts = [f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}".removeprefix(": ") for fault in faults[:3]]
    more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
    return shortened(" ".join("; ".join(parts).split()), 2 * LONGEST_CAUSE) + more


def shortened(text: str, longest: int = 200) -> str:
    """The text on one line, cut where it is longer."""
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"

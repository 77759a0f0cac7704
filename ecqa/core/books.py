"""The books: rows in against rows out, by unit (files, components, pairs). They close, or the run says so."""

from collections.abc import Mapping
from dataclasses import dataclass

from ecqa.core.errors import BooksError


@dataclass(frozen=True)
class Account:
    """One unit: ``total`` rows came in, and each went to exactly one of ``parts``."""

    unit: str
    total: int
    parts: Mapping[str, int]

    @property
    def difference(self) -> int:
        """Rows that are in no part; negative when a row was counted twice."""
        return self.total - sum(self.parts.values())


@dataclass(frozen=True)
class Books:
    """All accounts of a run."""

    accounts: tuple[Account, ...]

    @property
    def closed(self) -> bool:
        """True when every account comes out even."""
        return all(account.difference == 0 for account in self.accounts)

    def check(self) -> None:
        """Raise BooksError naming the accounts that do not close."""
        open_ones = [f"{a.unit}: {a.total} in, {sum(a.parts.values())} out" for a in self.accounts if a.difference]
        if open_ones:
            raise BooksError(f"the books do not close ({'; '.join(open_ones)}); keep the output folder and report this")

    def to_dict(self) -> dict[str, object]:
        """As plain JSON values."""
        accounts = {
            a.unit: {"total": a.total, "parts": dict(a.parts), "difference": a.difference} for a in self.accounts
        }
        return {"closed": self.closed, "accounts": accounts}


def with_prefix(counts: Mapping[str, float], prefix: str) -> dict[str, int]:
    """Counts whose names begin with ``prefix``, without it, largest first."""
    found = {key.removeprefix(prefix): int(value) for key, value in counts.items() if key.startswith(prefix)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

import pytest

from ecqa.core.books import Account, Books, with_prefix
from ecqa.core.errors import BooksError


def test_books_close_or_say_so() -> None:
    Books((Account("pairs", 3, {"kept": 2, "marked": 1}),)).check()
    lost = Books((Account("pairs", 3, {"kept": 2}),))
    assert not lost.closed
    with pytest.raises(BooksError, match="pairs: 3 in, 2 out"):
        lost.check()


def test_a_row_counted_twice_does_not_close() -> None:
    assert Account("pairs", 1, {"kept": 1, "marked": 1}).difference == -1


def test_prefixes() -> None:
    assert with_prefix({"use:answer": 2.0, "use:thanks": 5, "pairs": 1}, "use:") == {"thanks": 5, "answer": 2}

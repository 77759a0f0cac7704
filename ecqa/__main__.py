"""``python -m ecqa``."""

from ecqa.cli import main

main()

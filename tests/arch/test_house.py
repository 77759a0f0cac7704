"""Rules of the house that a linter does not know."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ecqa"
MODULES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 400
MAX_FUNCTION = 50
BROAD = "ecqa/engine/isolate.py"
"""The one place where any error of a row is caught, so that it becomes a dead letter."""


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_modules_are_small_and_say_what_they_do(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_LINES
    assert ast.get_docstring(ast.parse(text)), "a module's docstring says what it does, from which table to which"
    for function in _functions(path):
        body = function.body[1:] if ast.get_docstring(function) and len(function.body) > 1 else function.body
        assert (function.end_lineno or 0) - body[0].lineno < MAX_FUNCTION, function.name


def test_errors_are_caught_by_name() -> None:
    broad = re.compile(r"except( Exception| BaseException| \(Exception.*)?( as \w+)?:")
    found = {str(path.relative_to(ROOT)) for path in MODULES if broad.search(path.read_text(encoding="utf-8"))}
    assert found == {BROAD}


def test_no_catch_all_modules() -> None:
    assert not [path for path in MODULES if path.stem in {"utils", "helpers", "common", "manager", "misc"}]


def test_tests_mirror_modules() -> None:
    apart = {"arch", "integration", "conformance", "data"}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        relative = path.relative_to(ROOT / "tests")
        if not apart & set(relative.parts):
            module = PACKAGE / relative.with_name(relative.name.removeprefix("test_"))
            known = module.exists() or (relative.parts[0] == "benchmarks")
            assert known, f"{relative} mirrors no module"


def test_entry_points_are_short() -> None:
    for path in sorted((ROOT / "jobs").glob("*.py")):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 60, path


def test_the_readme_shows_the_tree_as_it_is() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tree = re.search(r"```text\n(ecqa/\n.*?)```", readme, re.DOTALL)
    assert tree, "the README shows the tree in a text block that begins with ecqa/"
    shown = set(re.findall(r"^  (\w+(?:\.py|/))", tree[1], re.MULTILINE))
    rooms = {f"{path.name}/" for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    files = {path.name for path in PACKAGE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert shown == rooms | files
    top = set(re.findall(r"^(\w+/)", tree[1], re.MULTILINE))
    hidden = {"out", "build", "dist"}
    there = {f"{p.name}/" for p in ROOT.iterdir() if p.is_dir() and p.name[0] not in "._" and p.name not in hidden}
    assert top == {name for name in there if not name.endswith(".egg-info/")}


def test_nothing_points_outside_the_repository() -> None:
    machine = re.compile(r"(?<![\w.])/(?:work|farm|root|home)/")
    for path in [*MODULES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py"), ROOT / "README.md"]:
        if path != Path(__file__):
            assert not machine.search(path.read_text(encoding="utf-8")), path

from pathlib import Path

import pytest

from ecqa.core.errors import InputError
from ecqa.core.shards import Limits, make_shard
from ecqa.core.sources import FileSource, list_input
from ecqa.core.storage import Storage


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.html", "2020/b.html", "2020/q1/c.txt", ".DS_Store", "2021/odd [x].txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", ["2020/b.html", "2020/q1/c.txt", "2021/odd [x].txt", "a.html"]),
        ("/", ["2020/b.html", "2020/q1/c.txt", "2021/odd [x].txt", "a.html"]),
        ("/*.html", ["a.html"]),
        ("/**/*.html", ["2020/b.html", "a.html"]),
        ("/202?/*.html", ["2020/b.html"]),
        ("/a.html", ["a.html"]),
        ("/2021/odd [x].txt", ["odd [x].txt"]),
    ],
)
def test_folder_glob_and_file(folder: Path, pattern: str, expected: list[str]) -> None:
    assert [info.path for info in list_input(f"{folder}{pattern}").files] == expected


def test_hidden_files_are_counted(folder: Path) -> None:
    (folder / "_SUCCESS").write_text("")
    assert list_input(str(folder)).num_hidden == 2


def test_folder_with_a_bracket_in_its_name(tmp_path: Path) -> None:
    (tmp_path / "calls [2023]").mkdir()
    (tmp_path / "calls [2023]" / "a.txt").write_text("a")
    assert [info.path for info in list_input(str(tmp_path / "calls [2023]")).files] == ["a.txt"]


def test_links_to_files_are_files(folder: Path) -> None:
    (folder / "link.html").symlink_to(folder / "a.html")
    (folder / "loop").symlink_to(folder)
    assert "link.html" in [info.path for info in list_input(str(folder)).files]


@pytest.mark.parametrize("pattern", ["/none", "/*.pdf", "/none/*.html"])
def test_nothing_there_is_an_error(folder: Path, pattern: str) -> None:
    with pytest.raises(InputError, match="not found|no files found"):
        list_input(f"{folder}{pattern}")


def test_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no files found"):
        list_input(str(tmp_path))


def test_s3_folder_glob_and_file(s3_url: str) -> None:
    storage = Storage(f"{s3_url}/sources")
    storage.write("x/a.html", b"a")
    storage.write("x/b.txt", b"b")
    assert [i.path for i in list_input(f"{s3_url}/sources").files] == ["x/a.html", "x/b.txt"]
    assert [i.path for i in list_input(f"{s3_url}/sources/*/*.txt").files] == ["x/b.txt"]
    assert [i.path for i in list_input(f"{s3_url}/sources/x/a.html").files] == ["a.html"]
    with pytest.raises(InputError, match="no files found|not found"):
        list_input(f"{s3_url}/sources/none")
    with pytest.raises(InputError, match="bucket|no files found"):
        list_input("s3://no-such-bucket-anywhere/x")


def test_unreadable_and_oversized_files_are_rows(folder: Path) -> None:
    listing = list_input(str(folder))
    source = FileSource(listing, Limits(10, 1000), max_file_bytes=11)
    items = [item for file in listing.files for item in source.cut(file)]
    (folder / "a.html").unlink()
    rows = source.read(make_shard(items))["documents"].to_pylist()
    by_path = {row["source_path"]: row for row in rows}
    assert by_path["a.html"]["content"] is None
    assert "not found" in by_path["a.html"]["read_error"]
    assert by_path["2020/b.html"]["content"] == b"2020/b.html"
    assert by_path["2020/q1/c.txt"]["content"] is None
    assert by_path["2020/q1/c.txt"]["read_error"] is None

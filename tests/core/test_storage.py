import pickle
import threading
import uuid
from pathlib import Path

import pytest

from ecqa.core.errors import InputError, OutputError, UsageError
from ecqa.core.storage import Storage, absolute_url, split_url


@pytest.fixture(params=["local", "memory", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "local":
        return Storage(str(tmp_path / "root"))
    if request.param == "memory":
        return Storage(f"memory://{uuid.uuid4().hex}")
    return Storage(f"{request.getfixturevalue('s3_url')}/{uuid.uuid4().hex}")


def test_write_read_list_delete(storage: Storage) -> None:
    assert storage.list() == []
    storage.write("a/b.txt", b"one")
    storage.write("a/b.txt", b"two")
    storage.write("c.txt", b"")
    assert storage.read("a/b.txt") == b"two"
    assert storage.read_many(["c.txt", "a/b.txt"]) == [b"", b"two"]
    assert [(info.path, info.num_bytes) for info in storage.list()] == [("a/b.txt", 3), ("c.txt", 0)]
    with storage.open("a/b.txt") as file:
        file.seek(1)
        assert file.read(2) == b"wo"
    storage.delete(["a/b.txt", "never-there"])
    assert [info.path for info in storage.list()] == ["c.txt"]
    assert storage.exists("c.txt")
    assert not storage.exists("a/b.txt")


def test_the_first_conditional_put_wins(storage: Storage) -> None:
    assert storage.put_new("entry.json", b"mine")
    assert not storage.put_new("entry.json", b"yours")
    assert storage.put_new("entry.json", b"mine"), "a put sent again finds its own content"
    assert storage.read("entry.json") == b"mine"


def test_conditional_put_under_contention(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    won: list[int] = []

    def put(number: int) -> None:
        if storage.put_new("entry", str(number).encode()):
            won.append(number)

    threads = [threading.Thread(target=put, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.read("entry") == str(won[0]).encode()
    assert len(list(tmp_path.iterdir())) == 1, "no temporary file stays"


def test_travels_as_its_url(storage: Storage) -> None:
    storage.write("x", b"1")
    again = pickle.loads(pickle.dumps(storage))
    assert again == storage
    assert again.read("x") == b"1"


def test_missing_file_and_bucket_are_one_line(s3_url: str, tmp_path: Path) -> None:
    for place in (Storage(str(tmp_path)), Storage(s3_url)):
        with pytest.raises(InputError, match=r"nothing\.txt: not found"):
            place.read("nothing.txt")
    with pytest.raises(OutputError, match=r"bucket"):
        Storage("s3://no-such-bucket-anywhere/x").write("y", b"1")


def test_unknown_protocol() -> None:
    with pytest.raises(InputError, match="give a local path"):
        Storage("gopher9://x").exists("y")


@pytest.mark.parametrize("name", ["dir [x] out", "a::b", "100 %", "x#y?z*"])
def test_odd_names_are_just_names(tmp_path: Path, name: str) -> None:
    storage = Storage(str(tmp_path / name))
    storage.write("a/b.txt", b"1")
    assert storage.read_many(["a/b.txt"]) == [b"1"]
    assert [info.path for info in storage.list()] == ["a/b.txt"]
    assert (tmp_path / name / "a" / "b.txt").exists()


@pytest.mark.parametrize("url", ["", "  ", "a\0b", "~nobody-of-that-name/x"])
def test_what_is_no_path(url: str) -> None:
    with pytest.raises(UsageError):
        absolute_url(url)


def test_chains_are_refused() -> None:
    with pytest.raises(InputError, match="chained"):
        Storage("zip://x::/tmp/a").list()


def test_urls() -> None:
    assert split_url("s3://bucket/folder/file.csv") == ("s3://bucket/folder", "file.csv")
    assert split_url("/data/file.csv") == ("/data", "file.csv")
    assert absolute_url("s3://b/x/") == "s3://b/x"
    assert absolute_url("/a/../b") == "/b"

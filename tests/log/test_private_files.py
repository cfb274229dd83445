"""Recordings, traces and the cache are private to their user, and files of other users are not used."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from njrt.data.private_files import find_cache_folder, name_temporary, replacing
from njrt.events import Began
from njrt.log.cache import ReplyStore, open_cache_file
from njrt.log.recorder import Recorder
from njrt.log.sqlite_store import SqliteStore
from njrt.log.trace import TraceFile
from njrt.models.model import LayeredModel
from njrt.testing import Request, Scripted, UserMessage

REQUEST = Request("", (UserMessage("hello"),))

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")


def find_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_trace(path: Path) -> None:
    trace = TraceFile(path)
    trace(Began("1", 0.0, "mail.njpy:1"))
    trace.close()


def write_recording(path: Path) -> None:
    with Recorder(path, "all") as recorder:
        LayeredModel(Scripted(["hi"]), (recorder,)).ask(REQUEST)


def write_cache(path: Path) -> None:
    store = SqliteStore(path)
    store.put("key", "text")
    assert find_mode(path.with_name(f"{path.name}-wal")) == 0o600
    store.close()


WRITERS = (write_trace, write_recording, write_cache)


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "existing"])
@pytest.mark.parametrize("write", WRITERS)
def test_only_the_user_may_read_the_file(tmp_path, write, is_old):
    path = tmp_path / "folder" / "file"
    if is_old:
        write(path)
        path.chmod(0o644)
    umask = os.umask(0)
    try:
        write(path)
    finally:
        os.umask(umask)
    assert path.stat().st_size > 0
    assert find_mode(path) == 0o600


def test_the_folder_of_the_cache_is_private(tmp_path):
    open_cache_file(tmp_path / "cache").put("key", "text")
    assert find_mode(tmp_path / "cache") == 0o700


def test_a_folder_that_every_user_may_write_to_is_not_used(tmp_path, caplog):
    open_cache_file(tmp_path).put("key", "text")
    assert open_cache_file(tmp_path).get("key") == "text"
    tmp_path.chmod(0o777)
    assert ReplyStore(open_cache_file(tmp_path)).get("key") is None
    assert "every user may write to" in caplog.text


@pytest.mark.skipif(
    sys.platform == "win32" or os.getuid() != 0, reason="only root gives files away"
)
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_a_file_of_another_user_is_not_used(tmp_path, caplog, suffix):
    opened = open_cache_file(tmp_path)  # closing it would remove the files beside the database
    opened.put("key", "text")
    file = tmp_path / f"replies.sqlite3{suffix}"
    os.chown(file, 12345, -1)
    before = file.read_bytes()
    store = ReplyStore(open_cache_file(tmp_path))
    store.put("key", "other")
    assert store.get("key") is None
    assert "belongs to another user" in caplog.text
    assert file.read_bytes() == before
    assert opened.get("key") == "text"


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_CACHE_HOME": "/a/b"}, Path("/a/b/njc")),
        ({"XDG_CACHE_HOME": "relative"}, None),
        ({}, None),
    ],
)
def test_the_cache_is_in_the_folder_of_the_user(environ, folder):
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "njc"
    assert find_cache_folder(environ) == (folder or home)


def test_temporary_files_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / f"{'x' * 250}.jsonl"
    names = {name_temporary(path) for _ in range(100)}
    assert len(names) == 100
    for name in names:
        assert (name.parent, len(name.name) < 250, name.name.count(".jsonl.")) == (
            tmp_path,
            True,
            1,
        )


@pytest.mark.parametrize("is_private", [False, True])
def test_a_file_is_replaced_as_a_whole(is_private: bool, tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_text("old")
    with suppress(KeyError), replacing(file, is_private=is_private) as opened:
        opened.write(b"a part")
        raise KeyError
    assert file.read_text() == "old"
    assert [file] == list(tmp_path.iterdir())
    with replacing(file, "x", is_private=is_private, encoding="latin-1", newline="\r\n") as opened:
        opened.write("né\n")
    assert (file.read_bytes(), [file]) == (b"n\xe9\r\n", list(tmp_path.iterdir()))
    if is_private:
        assert find_mode(file) == 0o600

"""Files that only their user may read, and that only their user may have written.

    open_private(path, os.O_WRONLY | os.O_APPEND)   creates the file with mode 0600, or sets it
    create_private(path)                            the same for an SQLite file, without opening
    append_private_line(path, line)                 adds a line, after any cut off by a kill
    read_file(path)                                 its bytes; OSError for an endless device
    drop_cut_line(path.read_bytes())                lines of JSON, without one cut off by a kill
    check_private(path)                             PermissionError if it belongs to another user
    with replacing(path) as file: ...               the old contents or the new, never a part
    with lock_folder(path.parent): ...                 other processes that write to the folder wait
    find_cache_folder(os.environ)                      ~/.cache/njc
    find_state_folder(os.environ)                      ~/.local/state/njc

On Windows the mode has no effect and nothing is checked. Files are opened by the functions at the
time of the import, so a test that patches `open` patches it only for the program.
"""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_open, _open_handle, _replace, _stat = io.open, os.open, os.replace, os.stat


def open_private(path: Path | str, flags: int) -> int:
    """Open a file, create it if needed, and make it readable and writable only by its user."""
    handle = _open_handle(path, flags | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    with suppress(OSError, AttributeError):
        if stat.S_ISREG(os.fstat(handle).st_mode):
            os.fchmod(handle, 0o600)
    return handle


def exists(path: Path) -> bool:
    """Return whether there is a file or folder."""
    try:
        _stat(path)
    except (OSError, ValueError):
        return False
    return True


def read_file(path: Path) -> bytes:
    """Return the bytes of a file or a pipe; raise OSError for a device, which may have no end."""
    if stat.S_ISCHR(_stat(path).st_mode):
        raise OSError("it is a device, not a file")
    with _open(path, "rb") as file:
        return file.read()


def lacks_line_end(path: Path) -> bool:
    """Return whether a file's last line lacks its end, as after a kill; False without any lines."""
    if not exists(path) or not stat.S_ISREG((found := _stat(path)).st_mode) or not found.st_size:
        return False
    with _open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() != b"\n"


def drop_cut_line(data: bytes) -> bytes:
    """Return JSON Lines bytes without a last line cut off by a kill; a complete one gets its end.

    A kill leaves an object without its end. Anything else, such as a mistake inside a line, is
    kept, and the reader reports it.
    """
    whole, end, last = data.rpartition(b"\n")
    if not last.lstrip().startswith(b"{"):
        return data
    try:
        json.loads(last.decode("utf-8", "replace"))
    except json.JSONDecodeError as error:
        is_cut = error.msg.startswith("Unterminated") or error.pos >= len(error.doc.rstrip()) - 9
        return whole + end if is_cut else data  # 9: "-Infinity" is the longest word
    except RecursionError:
        return whole + end
    return data + b"\n"


def end_last_line(path: Path) -> None:
    """Remove a last line cut off by a kill from a JSON Lines file; no line is then added to it."""
    if lacks_line_end(path):
        data = read_file(path)
        whole = drop_cut_line(data)
        with _open(path, "r+b") as file:
            if len(whole) < len(data):
                file.truncate(len(whole))
            else:
                file.seek(0, os.SEEK_END)
                file.write(b"\n")


def append_private_line(path: Path, line: str, is_synced: bool = False) -> None:
    """Add a line or nothing to a private file, safe in a kill and, with `is_synced`, power loss."""
    handle = open_private(path, os.O_WRONLY | os.O_APPEND)
    end_last_line(path)
    with _open(handle, "ab", buffering=0) as file:
        data, size = line.encode() + b"\n", os.fstat(handle).st_size
        try:
            if file.write(data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if is_synced:
                os.fsync(handle)
        except OSError:  # no later line may be added to part of this line
            os.ftruncate(handle, size)
            raise


def name_temporary(path: Path) -> Path:
    """Return a new name beside `path` for a replacement, by process and random number."""
    return path.with_name(f".{path.name[-200:]}.{os.getpid()}.{os.urandom(7).hex()}.tmp")


@contextmanager
def replacing(
    path: Path, mode: str = "xb", *, is_private: bool = False, **form: str
) -> Iterator[IO[Any]]:
    """Open a file that replaces `path` at the end of the `with`: readers see old contents or new.

    After an exception, `path` is unchanged. `form` has the encoding and line ends of a text.
    """
    temporary = name_temporary(path)
    try:
        opener = open_private if is_private else None
        with _open(temporary, mode, opener=opener, **form) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        _replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def create_private(path: Path) -> None:
    """Create an empty file unless it exists, and make it readable and writable for its user alone.

    A file that exists is not opened. On POSIX, a process that closes a file loses all its locks on
    it, also for other connections to an SQLite database; other processes would then delete the log
    that it writes to.
    """
    with suppress(FileExistsError):
        os.close(_open_handle(path.resolve(), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    with suppress(OSError):
        if stat.S_ISREG(path.stat().st_mode):
            path.chmod(0o600)


def check_private(path: Path) -> None:
    """Raise a PermissionError if another user owns the file `path`, or may replace it."""
    if not hasattr(os, "getuid"):
        return
    folder = path.parent.stat()
    if folder.st_mode & stat.S_IWOTH and not folder.st_mode & stat.S_ISVTX:
        raise PermissionError(f"every user may write to {path.parent}")
    with suppress(FileNotFoundError):
        if {path.lstat().st_uid, path.stat().st_uid} != {os.getuid()}:
            raise PermissionError(f"{path} belongs to another user")


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; on systems without such locks (Windows), do nothing."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = _open_handle(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # a process forked meanwhile has the handle too
        os.close(handle)


def find_cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for models' replies in the user's cache folder."""
    return _find_user_folder(environ, "XDG_CACHE_HOME", ".cache", "Library/Caches")


def find_state_folder(environ: Mapping[str, str]) -> Path:
    """Return the user's folder for data that must not be lost, such as budgets."""
    return _find_user_folder(
        environ, "XDG_STATE_HOME", ".local/state", "Library/Application Support"
    )


def _find_user_folder(environ: Mapping[str, str], variable: str, usual: str, on_macos: str) -> Path:
    home = Path("~").expanduser()
    if sys.platform == "win32":
        folder = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif Path(configured := environ.get(variable, "")).is_absolute():
        folder = Path(configured)
    else:
        folder = home / (on_macos if sys.platform == "darwin" else usual)
    return folder / "njc"

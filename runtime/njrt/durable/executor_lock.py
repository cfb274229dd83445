"""One process at a time for each executor id of a database.

    hold_executor("sqlite:///workflows.sqlite3", "machine-1")      True, until this process ends
    hold_executor("sqlite:///workflows.sqlite3", "machine-1")      in another process: ConfigurationError

Two processes of one id would run the same workflows twice. In SQLite the lock is a byte of a file beside the database, in
Postgres an advisory lock. Not seen: a process that continues while its connection to Postgres was cut; SQLite in memory,
and on Windows.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from njrt.errors import ConfigurationError
from njrt.private_files import open_private

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

LOST_SECONDS = 30.0
"""How long a lock in Postgres is waited for: its server notices after 25 seconds that a machine is gone."""

_KEEPALIVE = {"tcp_keepalives_idle": 10, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3}

_releases: list[Callable[[], object]] = []
"""What lets go of the lock that this process holds."""


def hold_executor(url: str, executor_id: str) -> bool:
    """Hold the lock of an id until `release_executor`, or the end of this process; whether there is such a lock.

    There is none for a Postgres database that is not there yet. Raises ConfigurationError if another process holds it.
    """
    from sqlalchemy.engine import make_url

    release_executor()
    place = make_url(url)
    digest = hashlib.sha256(f"njrt.durable {executor_id}".encode()).digest()
    number = int.from_bytes(digest[:7], "big")
    hold = _hold_in_file if place.get_backend_name() == "sqlite" else _hold_in_postgres
    try:
        release = hold(place, number)
    except BlockingIOError:
        raise ConfigurationError(
            f"another process that runs now has the executor_id `{executor_id}` in this database, so that both would "
            "run the same workflows; give each process an id of its own: launch(url, executor_id=...)"
        ) from None
    if release is not None:
        _releases.append(release)
    return release is not None


def release_executor() -> None:
    """Let go of the lock that this process holds, if any."""
    while _releases:
        _releases.pop()()


def _hold_in_file(place: URL, number: int) -> Callable[[], object] | None:
    try:
        import fcntl
    except ImportError:
        return None
    if place.database in (None, "", ":memory:"):
        return None
    handle = open_private(Path(f"{place.database}.lock"), os.O_RDWR)
    try:
        # Not inherited by processes that are forked, which may outlive this one.
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
    except OSError as error:
        os.close(handle)
        raise BlockingIOError from error
    return lambda: os.close(handle)


def _hold_in_postgres(place: URL, number: int) -> Callable[[], object] | None:
    import psycopg

    address = place.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        connection = psycopg.connect(address, autocommit=True)
    except psycopg.OperationalError:
        return None
    try:
        for name, value in (_KEEPALIVE | {"lock_timeout": int(LOST_SECONDS * 1000)}).items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, str(value)))
        connection.execute("SELECT pg_advisory_lock(%s)", (number,))
    except psycopg.errors.LockNotAvailable as error:
        connection.close()
        raise BlockingIOError from error
    return connection.close

"""A database for the workflows of a test, and processes that a test may kill."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from dbos import DBOS
from forked_runs import ForkRun, run_forked
from polling import SECONDS, poll_often

from njrt import durable

if sys.version_info >= (3, 12) and sqlite3.sqlite_version_info < (3, 42):
    collect_ignore_glob = ["test_*.py"]  # DBOS does not work here (`durable.launch` says so)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/workflows.sqlite3"


@pytest.fixture(scope="module")
def workflows(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """DBOS, launched for a module; the URL of its database."""
    url = f"sqlite:///{tmp_path_factory.mktemp('workflows')}/workflows.sqlite3"
    poll_often()
    durable.launch(url, version="1", notification_listener_polling_interval_sec=SECONDS)
    yield url
    DBOS.destroy(destroy_registry=True)


@pytest.fixture
def fork_run(tmp_path: Path) -> ForkRun:
    """Runs a function in a child process; gives its result, the text of its exception, or "killed"."""
    return partial(run_forked, tmp_path / "result")

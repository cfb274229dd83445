"""The stores that every test of this folder runs on: a file, the memory, and a real server with examples/redis_store.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import services
from njrt.log.open_store import open_store
from njrt.stores import Store

EXAMPLES = Path(__file__).parents[2] / "examples"
SHARED = ("sqlite", "redis")
KINDS = ("memory", *SHARED)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[services.Service]:
    if services.find_redis() is None:
        pytest.skip("no Redis or Valkey server is installed; `scripts/install_services.sh` does")
    pytest.importorskip("redis")
    with services.start_redis() as server:
        yield server


@pytest.fixture
def url(
    request: pytest.FixtureRequest, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Return the URL of an empty store of this kind."""
    if kind == "memory":
        return "memory:"
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/store.sqlite3"
    service: services.Service = request.getfixturevalue("redis_server")
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))  # of programs that a test starts
    own = f"python:redis_store:{service.url}"
    open_store(own).clear("")
    return own


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = open_store(url)
    yield opened
    opened.close()

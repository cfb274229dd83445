"""The stores that every test of this folder runs on: a file, the memory, and real servers of Redis and Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import services
from njrt.persistence.open_store import open_store
from njrt.stores import Store

SERVERS = ("redis", "postgres")
SHARED = ("sqlite", *SERVERS)
KINDS = ("memory", *SHARED)

MISSING = {
    "redis": (services.find_redis, "no Redis or Valkey server is installed; `make services` does"),
    "postgres": (services.find_postgres, "no Postgres server is installed; `make services` does"),
}


@pytest.fixture(scope="session")
def redis_server() -> Iterator[services.Service]:
    skip_without("redis")
    with services.start_redis() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[services.Service]:
    skip_without("postgres")
    with services.start_postgres() as server:
        yield server


def skip_without(kind: str) -> None:
    find, why = MISSING[kind]
    if find() is None:
        pytest.skip(why)


@pytest.fixture
def server(request: pytest.FixtureRequest, kind: str) -> services.Service:
    """Return the server of this kind; it is for all tests of the session."""
    service: services.Service = request.getfixturevalue(f"{kind}_server")
    return service


@pytest.fixture
def url(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> str:
    """Return the URL of an empty store of this kind."""
    if kind == "memory":
        return "memory:"
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/store.sqlite3"
    service: services.Service = request.getfixturevalue(f"{kind}_server")
    open_store(service.url).clear("")
    return service.url


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    opened = open_store(url)
    yield opened
    opened.close()

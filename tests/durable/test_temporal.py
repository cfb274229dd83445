"""A workflow of Temporal whose worker is killed: the recording answers what was asked before, as docs/durable.md says.

Needs Temporal's client and its development server, which are large: `make durable-temporal` installs them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="`make durable-temporal` installs it")

from temporalio.client import Client

SERVER = shutil.which("temporal", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
WORKER = Path(__file__).parent / "temporal_worker.py"


@contextmanager
def start_server() -> Iterator[str]:
    """Yield a development server of Temporal; its host and port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--headless", "--log-level", "error"]
    server = subprocess.Popen([str(SERVER), "server", "start-dev", *options])
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


async def connect(host: str) -> Client:
    """Return a client of the server, once it has started: on a busy machine that takes longer than the client's own 5 s."""
    for _ in range(200):
        with suppress(RuntimeError):
            return await Client.connect(host)
        await asyncio.sleep(0.3)
    raise AssertionError("the server has not started")


@pytest.mark.skipif(SERVER is None, reason="`make durable-temporal` installs it")
@pytest.mark.timeout(240)
def test_a_killed_activity_asks_only_what_is_not_recorded(tmp_path: Path) -> None:
    def start_worker(host: str, *options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, str(WORKER), host, str(tmp_path), *options])

    async def run() -> int:
        with start_server() as host:
            client = await connect(host)
            handle = await client.start_workflow(
                "FruitWorkflow", {"fruit": ["apples", "pears"]}, id="fruit-1", task_queue="fruit"
            )
            first = start_worker(host, "dies")
            assert await asyncio.to_thread(first.wait, 60) == -9
            second = start_worker(host)
            try:
                result: int = await asyncio.wait_for(handle.result(), 60)
                return result
            finally:
                second.kill()
                second.wait(10)

    assert asyncio.run(run()) == 7
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["How many apples?", "How many pears?", "How many pears?"]

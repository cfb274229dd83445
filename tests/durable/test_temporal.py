"""A workflow of Temporal whose worker is killed: the recording answers what was asked before, as docs/durable.md says.

Needs Temporal's client and its development server, which are large: `make durable-temporal` installs them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("temporalio", reason="`make durable-temporal` installs it")

from temporalio.testing import WorkflowEnvironment

SERVER = shutil.which("temporal", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
WORKER = Path(__file__).parent / "temporal_worker.py"


@pytest.mark.skipif(SERVER is None, reason="`make durable-temporal` installs it")
@pytest.mark.timeout(120)
def test_a_killed_activity_asks_only_what_is_not_recorded(tmp_path: Path) -> None:
    def start_worker(host: str, *options: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, str(WORKER), host, str(tmp_path), *options])

    async def run() -> int:
        options = {"dev_server_existing_path": str(SERVER), "dev_server_log_level": "error"}
        async with await WorkflowEnvironment.start_local(**options) as server:
            host = server.client.service_client.config.target_host
            handle = await server.client.start_workflow(
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

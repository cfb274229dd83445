"""A worker of Temporal whose activity runs natural code: docs/durable.md, "Temporal".

    python temporal_worker.py HOST:PORT FOLDER [dies]

The recording of each workflow and the requests that the model got are in the folder. With `dies`, the process kills itself
when the model gets its second request.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

import njrt
from njrt.messages import ModelMessage, Reply, Request

FOLDER, DIES = Path(sys.argv[2]), "dies" in sys.argv


class LoggedModel:
    """Answers each question with its last word."""

    name, protocol = "openai/logged", "tools"

    def ask(self, request: Request) -> Reply:
        question = request.messages[-1].text  # type: ignore[union-attr]
        with (FOLDER / "asked").open("a") as file:
            file.write(question.strip().splitlines()[0] + "\n")
        if DIES and "pears" in question:
            os.kill(os.getpid(), signal.SIGKILL)
        return Reply(ModelMessage("3" if "apples" in question else "4"))

    async def aask(self, request: Request) -> Reply:
        return self.ask(request)


@activity.defn
def count_fruit(order: dict[str, Any]) -> int:
    identity = activity.info().workflow_id
    with njrt.using(model=LoggedModel(), record=FOLDER / f"{identity}.jsonl", mode="new"):
        return sum(int(njrt.llm(f"How many {fruit}?", int)) for fruit in order["fruit"])


@workflow.defn(sandboxed=False)
class FruitWorkflow:
    """Counts the fruit of an order, in one activity."""

    @workflow.run
    async def run(self, order: dict[str, Any]) -> int:
        timeout = timedelta(seconds=5)
        return await workflow.execute_activity(count_fruit, order, start_to_close_timeout=timeout)


async def main() -> None:
    client = await Client.connect(sys.argv[1])
    with ThreadPoolExecutor(2) as pool:
        worker = Worker(
            client,
            task_queue="fruit",
            workflows=[FruitWorkflow],
            activities=[count_fruit],
            activity_executor=pool,
        )
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main())

"""The event loop on which models are asked: shared by threads and loops, gone when it should be."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import replace

import pytest

from conversations import PLAIN
from loopback import Hang, Trickle
from njrt.models.network import Network
from njrt.models.openai import OpenAI
from openai_server import OpenAIServer, says
from processes import run_python
from waiting import HANG_SECONDS

pytest.importorskip("openai")


def test_calls_one_after_another_share_a_connection():
    with OpenAIServer([says("fine")] * 6, vendor=False, models=("local",)) as server:
        model = OpenAI("local", base_url=server.base_url)
        for _ in range(3):
            model.ask(PLAIN)
            asyncio.run(model.aask(PLAIN))  # each time another event loop
    assert server.connections == 1


def test_threads_share_a_model():
    with OpenAIServer([says("fine")] * 40, vendor=False, models=("local",)) as server:
        model = OpenAI("local", base_url=server.base_url)
        with ThreadPoolExecutor(8) as threads:
            said = list(threads.map(lambda _: model.ask(PLAIN).message.text, range(40)))
    assert said == ["fine"] * 40


def test_the_programs_event_loop_runs_on_meanwhile():
    async def main(model: OpenAI) -> int:
        asking = asyncio.gather(*(model.aask(PLAIN) for _ in range(20)))
        turns = 0
        while not asking.done():
            turns += 1
            await asyncio.sleep(0)
        assert len(await asking) == 20
        return turns

    with OpenAIServer([says("fine")] * 20, vendor=False, models=("local",)) as server:
        assert asyncio.run(main(OpenAI("local", base_url=server.base_url))) > 100


def test_a_cancelled_call_is_given_up_at_once():
    async def main(model: OpenAI, server: OpenAIServer) -> None:
        call = asyncio.create_task(model.aask(PLAIN))
        while not server.seen:
            await asyncio.sleep(0.01)
        call.cancel()
        async with asyncio.timeout(HANG_SECONDS):
            with pytest.raises(asyncio.CancelledError):
                await call

    with OpenAIServer([Trickle(), says("fine")], vendor=False, models=("local",)) as server:
        model = OpenAI("local", base_url=server.base_url)
        asyncio.run(main(model, server))
        assert server.abandoned.wait(HANG_SECONDS)
        assert model.ask(PLAIN).message.text == "fine"


def test_the_users_interrupt_ends_a_waiting_call():
    with OpenAIServer([Trickle(), says("fine")], vendor=False, models=("local",)) as server:
        model = OpenAI("local", base_url=server.base_url)
        main = threading.main_thread().ident
        assert main is not None

        def interrupt() -> None:
            while not server.seen:
                time.sleep(0.01)
            signal.pthread_kill(main, signal.SIGINT)

        thread = threading.Thread(target=interrupt, daemon=True)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            model.ask(replace(PLAIN, timeout=600))
        thread.join()
        assert server.abandoned.wait(HANG_SECONDS)
        assert model.ask(PLAIN).message.text == "fine"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_forked_process_asks_on_connections_of_its_own():
    with OpenAIServer([says("fine")] * 3, vendor=False, models=("local",)) as server:
        code = (
            "import os, sys\n"
            "from njrt.messages import Request, UserMessage\n"
            "from njrt.models.openai import OpenAI\n"
            f"model = OpenAI('local', base_url={server.base_url!r})\n"
            "request = Request('', (UserMessage('hello'),), timeout=100)\n"
            "model.ask(request)\n"
            "child = os.fork()\n"
            "assert model.ask(request).message.text == 'fine'\n"
            "if not child: sys.exit(7)\n"
            "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        )
        # From Python 3.12 on, a fork beside other threads is warned of: this one is forked on purpose.
        quiet = "-Wignore:This process:DeprecationWarning"
        ran = run_python(quiet, "-c", code, timeout=HANG_SECONDS)
    assert (ran.returncode, ran.stderr) == (7, "")
    assert server.connections == 2


@pytest.mark.parametrize("ending", ["", "sys.exit(0)"], ids=["end", "exit"])
def test_a_program_ends_at_once_and_leaves_nothing_open(ending):
    with OpenAIServer([says("fine"), Hang()], vendor=False, models=("local",)) as server:
        code = (
            "import sys, threading, time\n"
            "from njrt.messages import Request, UserMessage\n"
            "from njrt.models.openai import OpenAI\n"
            f"model = OpenAI('local', base_url={server.base_url!r})\n"
            "request = Request('', (UserMessage('hello'),), timeout=600)\n"
            "print(model.ask(request).message.text)\n"
            "threading.Thread(target=model.ask, args=(request,), daemon=True).start()\n"
            "time.sleep(0.2)\n"
            f"{ending}\n"
        )
        ran = run_python("-X", "dev", "-W", "error::ResourceWarning", "-c", code, timeout=HANG_SECONDS)  # fmt: skip
    assert ran.returncode == 0
    assert ran.stdout == "fine\n"
    assert "ResourceWarning" not in ran.stderr
    assert "Task was destroyed" not in ran.stderr


def test_closing_cancels_what_is_under_way_and_closes_the_clients():
    class Connected:
        closed = False

        async def close(self) -> None:
            self.closed = True

    async def asking() -> None:
        network.get_client("owner", lambda: connected)
        begun.set()
        await asyncio.sleep(600)

    network, connected, begun = Network(), Connected(), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(network.run, asking())
        assert begun.wait(HANG_SECONDS)
        network.close()
        with pytest.raises(CancelledError):
            waiting.result(timeout=HANG_SECONDS)
    assert connected.closed

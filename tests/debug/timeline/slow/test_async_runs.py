"""Async programs under control: repeated from the start to go back."""

from __future__ import annotations

import textwrap

import pytest
from waiting_controller import Control, WaitingController

from case_programs import read_program
from njc.debug.timeline.happenings import (
    Diverged,
    Happening,
    OutputWritten,
    ProgramEnded,
    Stopped,
)

SECONDS = 90.0
PROGRAM = read_program("async_runs")
MAINS = {
    "gathered": """
        async def main():
            await asyncio.gather(*(double(number) for number in range(4)))
    """,
    "timers": """
        async def later(number):
            await asyncio.sleep(number / 100)
            return await double(number)

        async def main():
            for number in range(4):
                await asyncio.wait_for(later(number), 60)
            async with asyncio.timeout(60):
                await double(9)
    """,
    "queues": """
        async def work(queue):
            while (number := await queue.get()) is not None:
                await double(number)

        async def main():
            queue = asyncio.Queue()
            async with asyncio.TaskGroup() as group:
                group.create_task(work(queue))
                for number in (1, 2, 3, None):
                    await queue.put(number)
                    await asyncio.sleep(0)
    """,
    "signals": """
        async def main():
            arrived = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, arrived.set)
            await double(1)
            await double(2)
            os.kill(os.getpid(), signal.SIGUSR1)
            await arrived.wait()
    """,
    "cancelled": """
        async def main():
            waiting = asyncio.create_task(asyncio.sleep(600))
            await double(1)
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await waiting
            await double(2)
    """,
}


def wait(controller: WaitingController) -> list[Happening]:
    """What happens until the program stops or ends."""
    happenings = [controller.wait(SECONDS)]
    while not isinstance(happenings[-1], Stopped | ProgramEnded):
        happenings.append(controller.wait(SECONDS))
    assert not any(isinstance(happening, Diverged) for happening in happenings), happenings
    return happenings


def read_output(happenings: list[Happening]) -> str:
    return "".join(item.text for item in happenings if isinstance(item, OutputWritten))


@pytest.mark.parametrize("name", MAINS)
def test_going_back_repeats_the_program(name: str, control: Control) -> None:
    """Back to several steps, and then on to the end: the same steps, the same output."""
    controller = control(PROGRAM.replace("{main}", textwrap.dedent(MAINS[name]).strip()))
    controller.start(stops=False)
    happenings = wait(controller)
    assert happenings[-1] == ProgramEnded(0)
    output = read_output(happenings)
    steps = len(controller.timeline)
    for number in (steps - 1, steps // 2, 0):
        controller.go_back_to(number)
        assert isinstance(wait(controller)[-1], Stopped)
        controller.run_on()
        happenings = wait(controller)
        assert happenings[-1] == ProgramEnded(0)
        assert read_output(happenings) == output
        assert len(controller.timeline) == steps

"""Stopping code at its time limit: in the main thread and in others, nested, concurrent, after a fork."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from playing import aplay, play
from programs import Program, ended_by

import njrt.data.decisions
from case_programs import read_program
from njrt.data.context import _stacks
from njrt.data.timeouts import DeadlineExceeded, Interruption, await_with_timeout, call_with_timeout
from njrt.errors import CodeTimeLimitError, TimeLimitError
from processes import run_python
from waiting import HANG_SECONDS, wait_until

STOPPING_SECONDS = HANG_SECONDS
"""Seconds that a busy machine may take to stop what would go on for 600 or more."""


def loop() -> None:
    while True:
        pass


def limited(seconds: float, code: Callable[[], object]) -> float:
    """Run `code`, which never ends, for `seconds`; gives the seconds that it took to be stopped."""
    start = time.monotonic()
    with pytest.raises(DeadlineExceeded):
        call_with_timeout(seconds, code)
    return time.monotonic() - start


def in_thread(seconds: float, code: Callable[[], object]) -> float:
    """Run code as `limited`, in another thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(limited, seconds, code).result(HANG_SECONDS)


def test_python_code_is_stopped_in_any_thread() -> None:
    assert 0.2 <= limited(0.2, loop) < STOPPING_SECONDS
    assert 0.2 <= in_thread(0.2, loop) < STOPPING_SECONDS


def test_a_call_that_waits_in_c_ends_first() -> None:
    """The documented limit: the exception is raised when the call returns."""
    assert 1.0 <= limited(0.2, lambda: time.sleep(1.0)) < STOPPING_SECONDS
    assert 1.0 <= in_thread(0.2, lambda: time.sleep(1.0)) < STOPPING_SECONDS


def test_code_that_catches_the_exception_goes_on_and_gets_it_again() -> None:
    caught = []

    def go_on() -> None:
        while len(caught) < 3:
            try:
                loop()
            except BaseException as error:
                caught.append(type(error))

    assert 0.4 <= limited(0.2, go_on) < STOPPING_SECONDS
    assert caught == [Interruption] * 3


def test_nested_regions_end_by_the_nearest_deadline() -> None:
    def inner_first() -> str:
        try:
            call_with_timeout(0.2, loop)
        except DeadlineExceeded:
            return "inner"
        return "outer"

    assert limited(0.2, lambda: call_with_timeout(600, loop)) < STOPPING_SECONDS
    assert call_with_timeout(600, inner_first) == "inner"


def run_for(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def stop_a_hundred_calls(inner: Callable[[], object]) -> int:
    """Make 100 calls that end when their time does; return how many of them were stopped."""
    stopped = 0
    for number in range(100):
        try:
            call_with_timeout(0.05, inner)
        except DeadlineExceeded:
            stopped += 1
        for _ in range(100):  # a late exception would be raised here
            str(number)
    run_for(0.3)
    return stopped


@pytest.mark.parametrize(
    "inner",
    [partial(run_for, 0.05), partial(call_with_timeout, 0.05, partial(run_for, 0.1))],
    ids=["one", "nested"],
)
def test_no_exception_is_raised_after_the_call(
    inner: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("njrt.data.timeouts._TICK_SECONDS", 0.001)
    with ThreadPoolExecutor(3) as pool:
        others = [pool.submit(stop_a_hundred_calls, inner) for _ in range(3)]
        assert stop_a_hundred_calls(inner) > 0
        assert all(other.result(HANG_SECONDS) > 0 for other in others)


def test_nothing_stays_open_if_a_with_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("njrt.data.timeouts._TICK_SECONDS", 0.0005)
    # Python drops an exception in a finalizer; pytest's report of it would be interrupted as well.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)

    def open_and_close() -> None:
        while True:
            with (
                njrt.using(intercept=lambda pending: njrt.data.decisions.Accept()),
                njrt.limit(calls=1),
            ):
                pass

    for _ in range(100):
        limited(0.001, open_and_close)
        assert not any(stack.everywhere or stack.variable.get() for stack in _stacks)


def test_no_thread_is_left_when_no_call_is_open() -> None:
    limited(0.1, loop)
    wait_until(lambda: "njrt-time-limit" not in [it.name for it in threading.enumerate()])


TRACED = """\
import sys, threading
from contextlib import suppress
from njrt.data.timeouts import DeadlineExceeded, call_with_timeout

def endless():
    while True:
        pass

def work():
    with suppress(DeadlineExceeded):
        call_with_timeout(0.2, endless)
    sys.settrace(lambda *_: None)
    sys.setprofile(lambda *_: None)
    print([n for n in range(3)])
    sys.setprofile(None)
    sys.settrace(None)

work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_code_after_a_region_can_be_traced() -> None:
    """With a request for an exception that never comes, CPython 3.11 hangs under a tracer."""
    done = run_python("-c", TRACED, timeout=HANG_SECONDS)
    assert done.stdout == "[0, 1, 2]\n" * 2, done.stderr


def test_no_limit_and_enough_time() -> None:
    def fails() -> None:
        raise KeyError

    assert call_with_timeout(None, lambda: 5) == 5
    assert call_with_timeout(600, lambda: time.sleep(0.01)) is None
    with pytest.raises(KeyError):
        call_with_timeout(600, fails)


def test_no_signal_handler_is_set() -> None:
    before = [signal.getsignal(number) for number in signal.valid_signals()]
    limited(0.1, loop)
    assert [signal.getsignal(number) for number in signal.valid_signals()] == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_regions_work_in_a_forked_child() -> None:
    program = (
        "import os, sys, warnings\nwarnings.simplefilter('ignore')\nfrom njrt.data.timeouts import *\n"
        "def loop():\n    while True: pass\n"
        "def stopped():\n    try:\n        call_with_timeout(0.2, loop)\n    except DeadlineExceeded: return 7\n"
        "stopped()\nchild = os.fork()\nif child == 0: os._exit(stopped())\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    assert run_python("-c", program, timeout=HANG_SECONDS).returncode == 7


# --- snippets


def test_runaway_snippets_raise_the_named_error() -> None:
    code = "while True:\n    try:\n        x = 1\n    except Exception:\n        pass"
    with pytest.raises(CodeTimeLimitError, match=r"more than 0.2 seconds .* max_code_seconds"):
        play(lambda: (), code, seconds=0.2)


def test_a_snippets_own_timeout_is_its_own() -> None:
    with pytest.raises(TimeoutError, match="mine"):
        play(lambda: (), "raise TimeoutError('mine')", seconds=600)


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"max_code_seconds": 0.2, "max_seconds": 600}, CodeTimeLimitError),
        ({"max_code_seconds": 600, "max_seconds": 0.3}, TimeLimitError),
    ],
)
def test_code_is_stopped_by_the_smaller_of_its_limits(
    limits: dict[str, float], error: type[Exception]
) -> None:
    program = Program('def f(x):\n    """natural\n    Use <x>.\n    """\n')
    start = time.monotonic()
    with pytest.raises(error):
        program.call("f", 1, says=ended_by("while True: pass"), **limits)
    assert time.monotonic() - start < STOPPING_SECONDS


ENDLESS = Program(read_program("interrupt_endless"))


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        *[("put", '{"y": 1}'), ("choose", '{"y": "B"}'), ("give", '{"return": 1}')],
        *[("give", '{"raise": "Refused", "message": "no"}')],
    ],
)
def test_code_of_the_program_that_reads_an_answer_is_stopped(function: str, answer: str) -> None:
    with pytest.raises(CodeTimeLimitError):
        ENDLESS.call(function, 1, says=[answer], max_code_seconds=0.2)
    assert len(ENDLESS.model.requests) == 1


async def forever() -> None:
    await asyncio.sleep(600)


def test_awaiting_code_is_stopped_whether_it_waits_or_runs() -> None:
    async def spin() -> None:
        await asyncio.sleep(0)
        loop()

    for code in (forever, spin):
        start = time.monotonic()
        with pytest.raises(DeadlineExceeded):
            asyncio.run(await_with_timeout(0.2, code()))
        assert time.monotonic() - start < STOPPING_SECONDS


def test_waiting_does_not_count_against_other_tasks() -> None:
    async def main() -> list[object]:
        async def fine(n: int) -> int:
            await asyncio.sleep(0.3)
            return n

        others = [await_with_timeout(600, fine(n)) for n in range(100)]
        return await asyncio.gather(
            await_with_timeout(0.1, forever()), *others, return_exceptions=True
        )

    first, *others = asyncio.run(main())
    assert isinstance(first, DeadlineExceeded)
    assert others == list(range(100))


def test_values_and_exceptions_pass_through_the_steps() -> None:
    async def value(n: int) -> int:
        await asyncio.sleep(0)
        return n

    async def fails() -> None:
        await asyncio.sleep(0)
        raise TimeoutError("mine")

    assert asyncio.run(await_with_timeout(600, value(3))) == 3
    with pytest.raises(TimeoutError, match="mine"):
        asyncio.run(await_with_timeout(600, fails()))


def test_async_snippets_have_the_limit_too() -> None:
    with pytest.raises(CodeTimeLimitError):
        asyncio.run(aplay(lambda: (asyncio,), "await asyncio.sleep(600)", seconds=0.2))


def test_async_blocks_without_limit() -> None:
    assert asyncio.run(aplay(lambda: (asyncio,), "await asyncio.sleep(0, 5)")) == 5


AWAITING = {
    "asks again for ever": "while True:\n    try:\n        await asyncio.sleep(600)\n    except:\n        pass",
    "in small steps": "while True:\n    try:\n        await asyncio.sleep(0)\n    except BaseException:\n        pass",
    "cleans up for ever": "try:\n    await asyncio.sleep(600)\nfinally:\n    while True: await asyncio.sleep(600)",
    "ends its tasks": "async with asyncio.TaskGroup() as g:\n    g.create_task(asyncio.sleep(600))",
}


@pytest.mark.parametrize("source", AWAITING.values(), ids=AWAITING)
def test_no_handler_keeps_awaiting_code_running(source: str) -> None:
    async def main() -> int:
        task = asyncio.current_task()
        assert task is not None
        with pytest.raises(CodeTimeLimitError):
            await aplay(lambda: (asyncio,), source, seconds=0.2)
        await asyncio.sleep(0)
        return task.cancelling() + len(asyncio.all_tasks()) - 1

    start = time.monotonic()
    assert asyncio.run(main()) == 0
    assert time.monotonic() - start < STOPPING_SECONDS


def test_a_cancellation_from_outside_is_none_of_ours() -> None:
    async def main() -> str:
        task = asyncio.create_task(await_with_timeout(600, forever()))
        await asyncio.sleep(0.05)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return "ended"

    assert asyncio.run(main()) == "cancelled"

"""Many blocks at once: threads, tasks, cancellation, blocks inside blocks; nothing mixes, nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import gc
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest
from playing import play
from programs import Program, ended_by

import njrt
from case_programs import read_program
from njrt.block.session.limits import list_open_meters
from njrt.execution.gates import find_gate
from njrt.log.accounts import _open_runs
from njrt.testing import Reply, Request, Scripted, ToolCall, UserMessage, run
from waiting import HANG_SECONDS

PROGRAM = Program(read_program("concurrency"))


def echo(request: Request) -> ToolCall:
    """Answer from what this very block was shown, so that mixed-up blocks would be seen."""
    opening = request.messages[0]
    assert isinstance(opening, UserMessage)
    name = next(line for line in opening.text.split("\n") if line.startswith("name: "))
    told = name.partition(" = ")[2]
    if "step: " not in opening.text:
        return run(f"greeting = 'hello ' + {told}", done=True)
    return run(f"assert name == {told}\nshared.append((name, step))\nnext = step + 1", done=True)


def drive_by_hand(function: Callable[[str], Any], name: str) -> Any:
    """Run a coroutine as an event loop that is not asyncio's does."""
    try:
        function(name).send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the coroutine waits for asyncio")


def drive_by_trio(function: Callable[[str], Any], name: str) -> Any:
    return pytest.importorskip("trio").run(function, name)


@pytest.mark.parametrize("drive", [drive_by_hand, drive_by_trio])
def test_an_async_block_without_asyncio_is_an_error_before_a_model_is_asked(
    drive: Callable[..., Any],
) -> None:
    model, names = Scripted(echo), PROGRAM.load()

    async def call_beside_asyncio() -> None:
        await asyncio.to_thread(drive, names["awork"], "a")

    with njrt.using(model=model):
        for call in (
            lambda: drive(names["awork"], "a"),
            lambda: asyncio.run(call_beside_asyncio()),
        ):
            with pytest.raises(
                njrt.ConfigurationError, match=r"^program\.njpy:\d+: .* need asyncio"
            ):
                call()
        assert model.requests == []
        assert asyncio.run(names["awork"]("a")) == "hello a"


def test_eight_threads() -> None:
    names = PROGRAM.load()
    with (
        njrt.using(model=Scripted(echo)),
        njrt.watch() as watch,
        njrt.limit(calls=999) as meter,
        ThreadPoolExecutor(8) as pool,
    ):
        results = list(pool.map(njrt.carry(names["work"]), [f"t{n}" for n in range(40)]))
    assert results == [(f"t{n}", 3) for n in range(40)]
    assert sorted(names["shared"]) == sorted(
        (f"t{n}", step) for n in range(40) for step in range(3)
    )
    assert (watch.totals.runs, watch.totals.calls, meter.spent().calls) == (120, 120, 120)
    assert {run.outcome for run in watch.runs} == {"completed"}


def test_a_hundred_concurrent_async_blocks_do_not_wait_for_one_another() -> None:
    async def everyone() -> list[str]:
        return await asyncio.gather(*(PROGRAM.load()["awork"](f"n{i}") for i in range(100)))

    class Together(Scripted):
        """Replies to nobody before all have asked."""

        asked = 0

        async def aask(self, request: Request) -> Reply:
            self.asked += 1
            while self.asked < 100:
                await asyncio.sleep(0)
            return await super().aask(request)

    model = Together(echo)
    with njrt.using(model=model), njrt.watch() as watch:
        assert asyncio.run(everyone()) == [f"hello n{i}" for i in range(100)]
    assert model.asked == watch.totals.calls == 100
    assert {run.parent for run in watch.runs} == {None}


def test_settings_belong_to_the_task_that_made_them() -> None:
    async def with_model(number: int) -> Any:
        model = Scripted(ended_by(f"greeting = {number}"), delay=0.01 * (number % 3))
        with njrt.using(model=model), njrt.watch() as watch, njrt.limit(calls=1):
            await asyncio.sleep(0)
            return await names["awork"]("x"), watch.totals.calls

    async def everyone() -> list[Any]:
        return await asyncio.gather(*map(with_model, range(20)))

    names = PROGRAM.load()
    assert asyncio.run(everyone()) == [(number, 1) for number in range(20)]


def test_settings_belong_to_the_thread_that_made_them() -> None:
    meet = threading.Barrier(4)

    def with_model(number: int) -> Any:
        with njrt.using(model=Scripted(ended_by(f"result = {number}"))), njrt.watch() as watch:
            meet.wait(HANG_SECONDS)
            result = names["outer"](None)
            meet.wait(HANG_SECONDS)
            return result, len(watch.runs)

    names = PROGRAM.load()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(with_model, range(4))) == [(number, 1) for number in range(4)]


def test_a_budget_holds_over_threads() -> None:
    names = PROGRAM.load()

    def guarded(name: str) -> bool:
        with contextlib.suppress(njrt.CallLimitError):
            names["work"](name)
            return True
        return False

    model = Scripted(echo)
    with njrt.using(model=model), njrt.limit(calls=10), ThreadPoolExecutor(4) as pool:
        results = list(pool.map(njrt.carry(guarded), [f"t{n}" for n in range(8)]))
    assert len(model.requests) == 10
    assert results.count(False) >= 5


# ── inside one another ───────────────────────────────────────────────────────────────────────────


def test_a_block_calls_a_function_with_a_block() -> None:
    names = PROGRAM.load()
    says = ended_by("result = inner(None)", "result = 5")
    with njrt.using(model=Scripted(says)), njrt.watch() as watch:
        assert names["outer"](names["outer"]) == 5
    inner, outer = watch.runs
    assert (inner.parent, outer.parent) == (outer.id, None)


def test_the_model_of_a_block_may_be_made_of_blocks() -> None:
    names = PROGRAM.load()

    def thinking(request: Request) -> ToolCall:
        with njrt.using(model=Scripted(ended_by("result = 'from within'"))):
            return run(f"result = {names['outer'](None)!r}", done=True)

    with njrt.using(model=Scripted(thinking)):
        assert names["outer"](None) == "from within"


def test_a_thread_started_by_a_block_goes_on_after_it() -> None:
    names = PROGRAM.load()
    go, log = threading.Event(), []

    def starts() -> threading.Thread:
        thread = threading.Thread(target=lambda: (go.wait(HANG_SECONDS), log.append("ran")))
        thread.start()
        return thread

    with njrt.using(model=Scripted(ended_by("result = inner()"))):
        thread = names["outer"](starts)
    go.set()
    thread.join(HANG_SECONDS)
    assert log == ["ran"]


# ── cancellation ─────────────────────────────────────────────────────────────────────────────────


class Held:
    """Something in the program whose end can be seen."""


class Awaited(asyncio.Event):
    """An event that says whether somebody waits for it."""

    is_awaited = False

    async def wait(self) -> Literal[True]:
        self.is_awaited = True
        return await super().wait()


class Silent(Scripted):
    """A model that does not reply."""

    is_asked = False

    async def aask(self, request: Request) -> Reply:
        self.is_asked = True
        await asyncio.sleep(600)
        raise AssertionError


class Said(Scripted):
    is_asked = False


async def cancelled_while(
    model: Silent | Said, log: list[Any], **settings: Any
) -> weakref.ref[Any]:
    """Cancel a block that waits, for its model or in its code; what the program held then goes free."""
    event = Awaited()
    event.encode_items = Held()  # type: ignore[attr-defined]
    held = weakref.ref(event.encode_items)  # type: ignore[attr-defined]
    with njrt.using(model=model, **settings):
        task = asyncio.ensure_future(PROGRAM.load()["waits"](event, log))
        while not (event.is_awaited or model.is_asked):
            await asyncio.sleep(0.001)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError as error:
        assert error.__context__ is None  # noqa: PT017
        return held
    raise AssertionError("the task was not cancelled")


WAITING: list[tuple[Callable[[], Silent | Said], dict[str, Any], Any]] = [
    (lambda: Silent([]), {}, "unbound"),
    (lambda: Said(ended_by("before = 1\nawait event.wait()")), {}, 1),
    (
        lambda: Said(ended_by("before = 1\nawait event.wait()")),
        {"on_error": "rollback"},
        "unbound",
    ),
]


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(("make_model", "settings", "left"), WAITING)
def test_a_cancelled_block_leaves_nothing_behind(
    make_model: Callable[[], Silent | Said], settings: dict[str, Any], left: Any
) -> None:
    async def check() -> None:
        log: list[Any] = []
        with njrt.watch() as watch:
            held = await cancelled_while(make_model(), log, **settings)
        await asyncio.sleep(
            0
        )  # the loop itself holds the error of a task that is awaited until then
        assert log == [left]
        assert held() is None
        assert [run.outcome for run in watch.runs] == ["failed"]
        assert len(asyncio.all_tasks()) == 1

    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            asyncio.run(check())
    finally:
        gc.enable()
    assert not _open_runs


def test_a_timeout_of_the_program_reaches_it_as_its_own() -> None:
    async def check() -> None:
        async with asyncio.timeout(0.05):
            await PROGRAM.load()["awork"]("x")

    with njrt.using(model=Scripted(echo, delay=600)), pytest.raises(TimeoutError):
        asyncio.run(check())


@pytest.mark.usefixtures("guarded")
def test_code_that_catches_its_cancellation_may_clean_up() -> None:
    async def check() -> None:
        log: list[Any] = []
        code = "try:\n    await event.wait()\nfinally:\n    log.append('cleaned')"
        await cancelled_while(Said(ended_by(code)), log)
        assert log == ["cleaned", "unbound"]

    asyncio.run(check())


class Never:
    """An event that never comes."""

    def __await__(self) -> Any:
        yield None


def drop_half_way(log: list[Any]) -> Coroutine[Any, Any, Any]:
    """Return a coroutine whose block waits in its code, for good."""

    async def take_a_step() -> None:
        contextvars.copy_context().run(coroutine.send, None)

    coroutine: Coroutine[Any, Any, Any] = PROGRAM.load()["waits"](Never(), log)
    with njrt.using(model=Scripted(ended_by("await event"))):
        asyncio.run(take_a_step())
    return coroutine


def test_a_coroutine_that_is_dropped_half_way_is_closed_anywhere() -> None:
    log: list[Any] = []
    drop_half_way(log).close()
    assert log == ["unbound"]
    assert not _open_runs
    with njrt.using(model=Scripted(ended_by("result = 1"))), njrt.watch() as watch:
        assert PROGRAM.load()["outer"](None) == 1
    assert watch.runs[0].parent is None


def test_the_context_that_closes_a_dropped_coroutine_keeps_what_it_carries() -> None:
    @njrt.gated
    def send() -> None:  # from now on, blocks open a gate for the calls of their code
        raise AssertionError("not called")

    log: list[Any] = []
    coroutine = drop_half_way(log)
    with njrt.limit(calls=1):
        inside = list_open_meters()
        coroutine.close()
        assert (log, list_open_meters()) == (["unbound"], inside)
    assert find_gate() is None


def test_threads_may_prepare_large_code_at_once() -> None:
    class Yielding:
        """Garbage that lets other threads run when it is collected, in the middle of whatever allocates."""

        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            time.sleep(0)

    terms = " + ".join(["(1 - (2 * (3 - 1) - 4))"] * 20)

    def played(number: int) -> int:
        n = 0
        Yielding()
        play(lambda: (n,), f"n = {terms} + {number}", writes="n")
        return n - number

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(played, range(300))) == {20}
    finally:
        sys.setswitchinterval(before)

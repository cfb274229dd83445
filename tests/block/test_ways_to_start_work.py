"""What the `with` statements of njrt hold for: what Python's contexts do, and what `njrt.carry` takes along.

docs/reference/runtime.md has the same table; each of its lines is checked here.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import contextvars
import gc
import itertools
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import njrt
from njrt.block.session.limits import limit, list_open_meters
from njrt.data.decisions import Accept, PendingEffect
from waiting import HANG_SECONDS, run_threads

Work = Callable[[], None]

PAGE = Path(__file__).parents[2] / "docs/reference/runtime.md"
POOL = ThreadPoolExecutor(2)
POOL.submit(int).result(HANG_SECONDS)
LOOP = asyncio.new_event_loop()
threading.Thread(target=LOOP.run_forever, daemon=True).start()


@pytest.fixture(autouse=True, scope="module")
def closed() -> Iterator[None]:
    yield
    POOL.shutdown()
    LOOP.call_soon_threadsafe(LOOP.stop)


# ── ways to start work; each returns when the work has ended ─────────────────────────────────────


def thread(work: Work) -> None:
    run_threads(work)


def timer(work: Work) -> None:
    started = threading.Timer(0, work)
    started.start()
    started.join(HANG_SECONDS)


def raw_thread(work: Work) -> None:
    done = threading.Event()
    _thread.start_new_thread(lambda: (work(), done.set()), ())  # type: ignore[func-returns-value]
    assert done.wait(HANG_SECONDS)


def pool(work: Work) -> None:
    POOL.submit(work).result(HANG_SECONDS)


def map_of_a_pool(work: Work) -> None:
    with ThreadPoolExecutor(1) as inner:
        list(inner.map(lambda _: work(), [1]))


def empty_context(work: Work) -> None:
    contextvars.Context().run(work)


def copied_context_in_a_thread(work: Work) -> None:
    context = contextvars.copy_context()
    thread(lambda: context.run(work))


def generator(work: Work) -> None:
    def generate() -> Iterator[None]:
        yield
        work()

    list(generate())


def finalizer(work: Work) -> None:
    class Thing:
        def __del__(self) -> None:
            work()

    Thing()


def signal_handler(work: Work) -> None:
    if threading.current_thread() is not threading.main_thread():
        return work()
    before = signal.signal(signal.SIGUSR1, lambda *_: work())
    try:
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


def in_a_loop(start: Callable[[Work], Any]) -> Callable[[Work], None]:
    """Return the way to start work that a coroutine function is."""

    def way(work: Work) -> None:
        asyncio.run(start(work))

    way.__name__ = start.__name__
    return way


@in_a_loop
async def coroutine(work: Work) -> None:
    work()


@in_a_loop
async def task(work: Work) -> None:
    async def body() -> None:
        work()

    async with asyncio.TaskGroup() as group:
        group.create_task(body())


@in_a_loop
async def thread_of_asyncio(work: Work) -> None:
    await asyncio.to_thread(work)


@in_a_loop
async def executor_of_a_loop(work: Work) -> None:
    await asyncio.get_running_loop().run_in_executor(None, work)


@in_a_loop
async def callback_of_a_loop(work: Work) -> None:
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_later, 0, lambda: (work(), done.set()))  # type: ignore[func-returns-value]
    await done.wait()


@in_a_loop
async def callback_of_a_task(work: Work) -> None:
    done = asyncio.ensure_future(asyncio.sleep(0))
    done.add_done_callback(lambda _: work())
    await done
    await asyncio.sleep(0)


@in_a_loop
async def task_in_an_empty_context(work: Work) -> None:
    async def body() -> None:
        work()

    await asyncio.create_task(body(), context=contextvars.Context())


def coroutine_on_a_loop_of_another_thread(work: Work) -> None:
    async def body() -> None:
        work()

    asyncio.run_coroutine_threadsafe(body(), LOOP).result(HANG_SECONDS)


def callback_on_a_loop_of_another_thread(work: Work) -> None:
    done = threading.Event()
    LOOP.call_soon_threadsafe(lambda: (work(), done.set()))  # type: ignore[func-returns-value]
    assert done.wait(HANG_SECONDS)


def carried(way: Callable[[Work], None]) -> Callable[[Work], None]:
    def start(work: Work) -> None:
        way(njrt.carry(work))

    start.__name__ = f"njrt.carry in {way.__name__}"
    return start


LINES_THAT_HOLD: dict[str, list[Callable[[Work], None]]] = {
    "coroutines that are awaited, asyncio's tasks, `TaskGroup`": [coroutine, task],
    "`asyncio.to_thread`": [thread_of_asyncio],
    "callbacks: `call_soon`, `call_later`, `add_done_callback` of a task": [
        callback_of_a_loop,
        callback_of_a_task,
    ],
    "`run_coroutine_threadsafe`, `call_soon_threadsafe`": [
        coroutine_on_a_loop_of_another_thread,
        callback_on_a_loop_of_another_thread,
    ],
    "generators, `__del__`, signal handlers: what is open around the code that they interrupt or that resumes them": [
        generator,
        finalizer,
        signal_handler,
    ],
    "`copy_context().run` and `njrt.carry` in any thread": [copied_context_in_a_thread],
    "`os.fork`: counted by each process": [],
}
OTHER_LINES: dict[str, list[Callable[[Work], None]]] = {
    "`threading.Thread`, `Timer`, threads made in C": [thread, timer, raw_thread],
    "`ThreadPoolExecutor`: `submit`, `map`": [pool, map_of_a_pool],
    "`loop.run_in_executor`": [executor_of_a_loop],
    "`contextvars.Context()`": [empty_context, task_in_an_empty_context],
    "processes: `spawn`, `forkserver`, `subprocess`": [],
}
"""The lines of the page's table, and the ways that each of them names."""

HOLDS = [way for ways in LINES_THAT_HOLD.values() for way in ways]
DOES_NOT_HOLD = [way for ways in OTHER_LINES.values() for way in ways]
ALL_HOLD = [*HOLDS, *map(carried, DOES_NOT_HOLD)]


def get_name(way: Callable[[Work], None]) -> str:
    return way.__name__


def ask_once() -> str:
    try:
        return str(njrt.llm("Is it?"))
    except njrt.NaturalError as error:
        return type(error).__name__


OPENERS: dict[str, Callable[[Work], None]] = {
    "main": lambda work: work(),
    "thread": thread,
    "pool": pool,
    "empty context": empty_context,
}


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("way", ALL_HOLD, ids=get_name)
def test_what_is_open_holds(way: Callable[[Work], None], opener: str) -> None:
    answers: list[str] = []
    shown: list[PendingEffect] = []

    def decide(pending: PendingEffect) -> Accept:
        shown.append(pending)
        return Accept()

    def ask() -> None:
        answers.append(ask_once())
        with njrt.using(max_calls=9):
            answers.append(ask_once())

    def open_and_start() -> None:
        model = njrt.Scripted(lambda request: "yes")
        with njrt.using(model=model, intercept=decide), njrt.watch() as watch:
            way(ask)
            with njrt.limit(calls=0):
                way(ask)
            answers.append(f"{len(watch.runs)} seen")

    OPENERS[opener](open_and_start)
    assert answers == ["yes", "yes", *["CallLimitError"] * 2, "4 seen"]
    assert len(shown) == 4
    assert list_open_meters() == ()


@pytest.mark.parametrize("way", DOES_NOT_HOLD, ids=get_name)
def test_what_does_not_hold_is_refused_under_an_approval(way: Callable[[Work], None]) -> None:
    errors: list[str] = []

    def ask() -> None:
        for settings in (njrt.using(), njrt.using(max_calls=3)):
            with settings, pytest.raises(njrt.ConfigurationError) as caught:
                njrt.llm_at("mail.njpy:3")("Is it?")
            errors.append(str(caught.value))
        with njrt.using(intercept=lambda pending: Accept(), model=njrt.Scripted(["mine"])):
            errors.append(njrt.llm("Is it?"))  # somebody decides here

    model = njrt.Scripted([])
    with njrt.using(model=model, intercept=lambda pending: Accept()):
        way(ask)
    assert model.requests == []
    assert len(errors) == 3
    assert errors[2] == "mine"
    for error in errors[:2]:
        assert error.startswith("mail.njpy:3: ")
        assert "njrt.carry" in error


@pytest.mark.parametrize("way", DOES_NOT_HOLD, ids=get_name)
def test_rules_of_calls_are_an_approval(way: Callable[[Work], None]) -> None:
    seen: list[str] = []
    with njrt.using(calls=[print]):
        way(lambda: seen.append(ask_once()))
    assert seen == ["ConfigurationError"]


@pytest.mark.parametrize(
    "around", [lambda: limit(calls=5), lambda: njrt.using(budget="usd=5 per=day", store="memory:")]
)
@pytest.mark.parametrize("way", DOES_NOT_HOLD, ids=get_name)
def test_a_limit_that_does_not_hold_warns_once(
    way: Callable[[Work], None], around: Callable[[], Any]
) -> None:
    def ask() -> None:
        with njrt.using(model=njrt.Scripted(["yes", "yes"])):
            assert [njrt.llm_at(place)("Is it?") for _ in range(2)] == ["yes", "yes"]

    place = f"mail.njpy:{next(NUMBERS)}"
    with around(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        way(ask)
    assert [it.category for it in caught] == [njrt.BlockWarning]
    assert "njrt.carry" in str(caught[0].message)


NUMBERS = itertools.count(1)


# ── what is open elsewhere ───────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def opened_in_a_thread(around: Any) -> Iterator[None]:
    inside, over = threading.Event(), threading.Event()

    def hold() -> None:
        with around:
            inside.set()
            over.wait(HANG_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(HANG_SECONDS)
    try:
        yield
    finally:
        over.set()
        holder.join(HANG_SECONDS)


@pytest.mark.parametrize("way", ALL_HOLD, ids=get_name)
def test_an_approval_of_another_thread_is_none_of_ours(way: Callable[[Work], None]) -> None:
    seen: list[str] = []
    with (
        opened_in_a_thread(njrt.using(intercept=lambda pending: njrt.Reject("mine"))),
        njrt.using(model=njrt.Scripted(lambda request: "yes")),
    ):
        way(lambda: seen.append(ask_once()))
    assert set(seen) == {"yes"}


def test_a_worker_that_was_carried_before_is_outside_of_later_approvals() -> None:
    go = threading.Event()
    seen: list[str] = []
    with njrt.using(model=njrt.Scripted(["yes"])):

        def answer() -> None:
            go.wait(HANG_SECONDS)
            seen.append(ask_once())

        work = njrt.carry(answer)
    worker = threading.Thread(target=work)
    worker.start()
    with njrt.using(intercept=lambda pending: njrt.Reject("no")):
        go.set()
        worker.join(HANG_SECONDS)
    assert seen == ["yes"]


def test_requests_in_the_workers_of_a_pool_have_limits_of_their_own() -> None:
    meet = threading.Barrier(4)

    def serve(number: int) -> int:
        with limit(calls=1):
            meet.wait(HANG_SECONDS)
            seen = len(list_open_meters())
            meet.wait(HANG_SECONDS)
            return seen

    with ThreadPoolExecutor(4) as own:
        assert list(own.map(serve, range(8))) == [1] * 8


# ── njrt.carry ───────────────────────────────────────────────────────────────────────────────────


OWN: contextvars.ContextVar[str] = contextvars.ContextVar("own", default="none")


def test_each_call_of_a_carried_function_has_a_fresh_copy_of_one_context() -> None:
    def change(text: str) -> tuple[str, int]:
        before = OWN.get()
        OWN.set(text)
        return before, len(list_open_meters())

    token = OWN.set("outer")
    with limit(calls=1):
        work = njrt.carry(change)
    OWN.reset(token)
    assert [POOL.submit(work, text).result() for text in "ab"] == [("outer", 1)] * 2
    assert work("c") == ("outer", 1)
    assert OWN.get() == "none"
    assert work.__name__ == "change"


def test_a_carried_coroutine_function_runs_in_its_context_and_is_cancelled() -> None:
    ended: list[str] = []

    async def count() -> int:
        await asyncio.sleep(0)
        return len(list_open_meters())

    async def wait() -> None:
        try:
            await asyncio.sleep(HANG_SECONDS)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with limit(calls=1):
        carried_count = njrt.carry(count)

    async def main() -> int:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await njrt.carry(wait)()
        return await carried_count()

    assert asyncio.run(main()) == 1
    assert POOL.submit(lambda: asyncio.run(carried_count())).result() == 1
    assert ended == ["cancelled"]
    assert asyncio.iscoroutinefunction(carried_count)


def generate_once() -> Iterator[int]:
    yield 1


async def generate_async() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [generate_once, generate_async])
def test_a_generator_is_not_carried(function: Any) -> None:
    with pytest.raises(njrt.ConfigurationError, match="generator"):
        njrt.carry(function)


def test_an_exception_passes_a_carried_function() -> None:
    def fail() -> None:
        raise KeyError(len(list_open_meters()))

    with limit(calls=1):
        work = njrt.carry(fail)
    with pytest.raises(KeyError, match="1"):
        work()


# ── njrt.configure ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def unconfigured() -> Iterator[None]:
    yield
    njrt.configure()


@pytest.mark.usefixtures("unconfigured")
@pytest.mark.parametrize("way", [*HOLDS, *DOES_NOT_HOLD], ids=get_name)
def test_what_is_configured_holds_everywhere(way: Callable[[Work], None]) -> None:
    shown: list[PendingEffect] = []
    seen: list[str] = []

    def decide(pending: PendingEffect) -> Accept:
        shown.append(pending)
        return Accept()

    njrt.configure(model=njrt.Scripted(lambda request: "yes"), intercept=decide, max_calls=3)
    way(lambda: seen.append(ask_once()))
    assert set(seen) == {"yes"}
    assert len(shown) == len(seen)


@pytest.mark.usefixtures("unconfigured")
def test_configure_is_outermost_and_a_later_call_replaces_it(tmp_path: Path) -> None:
    asked: list[str] = []

    def decide(name: str) -> Callable[[PendingEffect], Accept]:
        return lambda pending: (asked.append(name), Accept())[1]  # type: ignore[func-returns-value]

    outer, inner = njrt.Scripted(lambda _: "outer"), njrt.Scripted(lambda _: "inner")
    first = tmp_path / "first.jsonl"
    with njrt.using(model=inner, intercept=decide("using")):
        njrt.configure(model=outer, intercept=decide("first"))
        assert ask_once() == "inner"
        njrt.configure(model=outer, intercept=decide("second"))
        assert ask_once() == "inner"
    assert asked == ["using", "first", "using", "second"]
    assert ask_once() == "outer"
    njrt.configure(model=outer, record=f"all:{first}")
    assert ask_once() == "outer"
    assert njrt.configure() is None  # type: ignore[func-returns-value]
    with njrt.using(record=f"none:{first}"):
        assert ask_once() == "outer"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_cals": 3}, "max_calls"),
        ({"record": 3}, "njrt.configure: record must be"),
        ({"effects": "answers"}, "njrt.configure"),
        ({"mode": "static"}, "njrt.configure: the option `mode`"),
        ({"intercept": 3}, "njrt.configure: intercept must be"),
    ],
)
def test_wrong_arguments_of_configure_change_nothing(
    arguments: dict[str, Any], message: str, unconfigured: None
) -> None:
    njrt.configure(model=njrt.Scripted(["yes"]))
    with pytest.raises(njrt.ConfigurationError, match=message):
        njrt.configure(**arguments)
    assert ask_once() == "yes"


# ── how a `with` ends ────────────────────────────────────────────────────────────────────────────


def open_limits(number: int) -> Iterator[None]:
    with limit(calls=number):
        yield
        yield


def get_limits() -> list[int | None]:
    return [meter.limits.calls for meter in list_open_meters()]


def test_items_that_are_closed_in_another_order_do_not_close_others() -> None:
    """What a generator opens holds for its reader until it ends: it has no context of its own."""
    first, second = open_limits(1), contextlib.ExitStack()
    next(first)
    second.enter_context(limit(calls=2))
    assert get_limits() == [1, 2]
    first.close()  # type: ignore[attr-defined]
    assert get_limits() == [2]
    second.close()
    assert get_limits() == []


def test_an_approval_that_a_generator_has_opened_ends_when_another_thread_closes_it() -> None:
    def approve() -> Iterator[None]:
        with njrt.using(intercept=lambda pending: Accept()):
            yield

    def leave_open() -> None:
        made = approve()
        next(made)
        thread(made.close)  # type: ignore[attr-defined]

    contextvars.copy_context().run(leave_open)
    seen: list[str] = []
    with njrt.using(model=njrt.Scripted(["yes"])):
        work = njrt.carry(lambda: seen.append(ask_once()))
    thread(work)
    thread(lambda: seen.append(ask_once()))  # refused if an approval were open
    assert seen[0] == "yes"
    assert seen[1] != "ConfigurationError"


def test_what_a_dropped_async_generator_opens_ends_when_the_loop_closes_it() -> None:
    async def generate(over: asyncio.Event) -> AsyncIterator[None]:
        try:
            with njrt.using(intercept=lambda pending: Accept()):
                yield
        finally:
            over.set()

    async def main() -> str:
        over = asyncio.Event()
        await asyncio.create_task(anext(generate(over)))  # type: ignore[arg-type]
        gc.collect()
        await over.wait()
        return await asyncio.get_running_loop().run_in_executor(None, ask_once)

    assert asyncio.run(main()) != "ConfigurationError"


def test_a_with_ends_although_its_body_or_a_signal_raises() -> None:
    with pytest.raises(KeyError), njrt.using(intercept=lambda pending: Accept()), limit(calls=1):
        raise KeyError
    assert get_limits() == []
    seen: list[str] = []
    thread(lambda: seen.append(ask_once()))
    assert seen != ["ConfigurationError"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_is_inside_and_sees_nothing_of_threads_that_it_does_not_have() -> None:
    with (
        opened_in_a_thread(njrt.using(intercept=lambda pending: Accept())),
        limit(calls=6),
        njrt.using(model=njrt.Scripted(lambda request: "yes")),
    ):
        child = os.fork()
        if not child:
            seen: list[str] = []
            thread(lambda: seen.append(ask_once()))
            is_right = (
                get_limits() == [6] and seen != ["ConfigurationError"] and ask_once() == "yes"
            )
            os._exit(0 if is_right else 1)
    assert os.waitpid(child, 0)[1] == 0


# ── Python is as it was ──────────────────────────────────────────────────────────────────────────


def describe_python() -> dict[str, Any]:
    return {
        "Thread": dict(vars(threading.Thread)),
        "Timer": dict(vars(threading.Timer)),
        "ThreadPoolExecutor": dict(vars(ThreadPoolExecutor)),
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "timers": [signal.getitimer(which)[0] for which in (0, 1, 2)],
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "hooks": [sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook],
        "tracers": [sys.gettrace(), sys.getprofile(), threading.gettrace()],
        "asyncio": [asyncio.get_event_loop_policy(), asyncio.Task, asyncio.to_thread],
        "contexts": [contextvars.copy_context, contextvars.ContextVar],
    }


def test_python_is_as_it_was() -> None:
    before = describe_python()
    y = 0
    script = njrt.Scripted(lambda request: njrt.testing.run("y = 1", done=True))
    with njrt.using(model=script, intercept=njrt.approve()), njrt.limit(calls=9):
        during = describe_python()
        with njrt.using(intercept=lambda pending: Accept()), contextlib.suppress(njrt.NaturalError):
            njrt.run(
                "natural\nPut 1 into <:y>.",
                lambda: (y,),
                writes="y",
                effects="direct",
                max_code_seconds=5,
            )
    assert during == before
    assert describe_python() == before


# ── the page ─────────────────────────────────────────────────────────────────────────────────────


def test_the_page_has_the_table() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| work |")[2].partition("\n\n")[0]
    lines = re.findall(r"^\| (.*) \| (yes|no)\b.*\|$", table, re.MULTILINE)
    assert dict(lines) == {
        **dict.fromkeys(LINES_THAT_HOLD, "yes"),
        **dict.fromkeys(OTHER_LINES, "no"),
    }

"""What a `with` of njrt holds for: all work that is started inside, in every way, and nothing that is started outside."""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import contextvars
import gc
import multiprocessing.pool
import os
import queue
import signal
import threading
import types
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import njrt
from njrt.decisions import Accept, PendingEffect
from njrt.session.limits import limit, list_open_meters
from waiting import HANG_SECONDS

Work = Callable[[], None]

POOL = ThreadPoolExecutor(2)
POOL.submit(int).result(HANG_SECONDS)
OTHER_POOL = multiprocessing.pool.ThreadPool(1)
LOOP = asyncio.new_event_loop()
threading.Thread(target=LOOP.run_forever, daemon=True).start()


@pytest.fixture(autouse=True, scope="module")
def closed() -> Iterator[None]:
    yield
    OTHER_POOL.terminate()
    POOL.shutdown()
    LOOP.call_soon_threadsafe(LOOP.stop)


# ── ways to start work; each returns when the work has ended ─────────────────────────────────────


def thread(work: Work) -> None:
    join(threading.Thread(target=work))


def join(thread: threading.Thread) -> None:
    thread.start()
    thread.join(HANG_SECONDS)


def thread_of_a_class(work: Work) -> None:
    class Worker(threading.Thread):
        def run(self) -> None:
            work()

    join(Worker())


def thread_in_a_thread(work: Work) -> None:
    thread(lambda: thread(work))


def timer(work: Work) -> None:
    join(threading.Timer(0, work))


def pool_made_before(work: Work) -> None:
    POOL.submit(work).result(HANG_SECONDS)


def pool_made_inside(work: Work) -> None:
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(lambda _: work(), [1]))


def pool_in_a_pool(work: Work) -> None:
    POOL.submit(pool_made_before, work).result(HANG_SECONDS)


def callback_of_a_future(work: Work) -> None:
    go, done = threading.Event(), threading.Event()
    future = POOL.submit(go.wait, HANG_SECONDS)
    future.add_done_callback(lambda _: (work(), done.set()))  # type: ignore[func-returns-value]
    go.set()
    assert done.wait(HANG_SECONDS)


def callback_of_a_future_set_elsewhere(work: Work) -> None:
    future: Future[None] = Future()
    future.add_done_callback(lambda _: work())
    thread(lambda: future.set_result(None))


def pool_of_multiprocessing(work: Work) -> None:
    OTHER_POOL.apply(work)


def raw_thread(work: Work) -> None:
    done = threading.Event()
    _thread.start_new_thread(lambda: (work(), done.set()), ())  # type: ignore[func-returns-value]
    assert done.wait(HANG_SECONDS)


def empty_context(work: Work) -> None:
    contextvars.Context().run(work)


def empty_context_in_a_thread(work: Work) -> None:
    thread(lambda: contextvars.Context().run(work))


def empty_context_in_a_pool(work: Work) -> None:
    POOL.submit(contextvars.Context().run, work).result(HANG_SECONDS)


def copied_context_in_a_pool(work: Work) -> None:
    POOL.submit(contextvars.copy_context().run, work).result(HANG_SECONDS)


def finalizer(work: Work) -> None:
    class Thing: ...

    thing = Thing()
    weakref.finalize(thing, work)
    del thing


def generator(work: Work) -> None:
    def generate() -> Iterator[None]:
        yield
        work()

    made = generate()
    next(made)
    thread(lambda: list(made).clear())


def callback_of_a_loop(work: Work) -> None:
    done = threading.Event()
    LOOP.call_soon_threadsafe(lambda: (work(), done.set()))  # type: ignore[func-returns-value]
    assert done.wait(HANG_SECONDS)


def callback_of_a_loop_from_a_pool(work: Work) -> None:
    pool_made_before(lambda: callback_of_a_loop(work))


def on_the_loop(start: Callable[[Work], Any]) -> Callable[[Work], None]:
    """Return the way to start work that a coroutine function is, on a loop that has been started outside."""

    def way(work: Work) -> None:
        asyncio.run_coroutine_threadsafe(start(work), LOOP).result(HANG_SECONDS)

    way.__name__ = start.__name__
    return way


@on_the_loop
async def coroutine(work: Work) -> None:
    work()


def coroutine_from_a_pool(work: Work) -> None:
    pool_made_before(lambda: coroutine(work))


def coroutine_from_a_raw_thread(work: Work) -> None:
    raw_thread(lambda: coroutine(work))


@on_the_loop
async def coroutine_from_the_executor_of_its_loop(work: Work) -> None:
    await LOOP.run_in_executor(None, coroutine, work)


@on_the_loop
async def task(work: Work) -> None:
    await asyncio.gather(asyncio.to_thread(work))


@on_the_loop
async def task_in_an_empty_context(work: Work) -> None:
    async def body() -> None:
        work()

    await asyncio.create_task(body(), context=contextvars.Context())


@on_the_loop
async def executor_of_a_loop(work: Work) -> None:
    await LOOP.run_in_executor(None, work)


@on_the_loop
async def later(work: Work) -> None:
    done = asyncio.Event()
    LOOP.call_later(0, lambda: (work(), done.set()))  # type: ignore[func-returns-value]
    await done.wait()


@on_the_loop
async def callback_of_a_task(work: Work) -> None:
    done = asyncio.ensure_future(asyncio.sleep(0))
    done.add_done_callback(lambda _: work())
    await done
    await asyncio.sleep(0)


@on_the_loop
async def asynchronous_generator(work: Work) -> None:
    async def generate() -> Any:
        yield
        work()

    async for _ in generate():
        pass


WAYS: list[Callable[[Work], None]] = [
    *(thread, thread_of_a_class, thread_in_a_thread, timer, pool_made_before, pool_made_inside),
    *(pool_in_a_pool, callback_of_a_future, callback_of_a_future_set_elsewhere),
    *(pool_of_multiprocessing, raw_thread, empty_context, empty_context_in_a_thread),
    *(empty_context_in_a_pool, copied_context_in_a_pool, finalizer, generator),
    *(callback_of_a_loop, callback_of_a_loop_from_a_pool, coroutine, coroutine_from_a_pool),
    *(coroutine_from_a_raw_thread, coroutine_from_the_executor_of_its_loop, task),
    *(task_in_an_empty_context, executor_of_a_loop, later, callback_of_a_task),
    asynchronous_generator,
]


def a_task(work: Work) -> None:
    async def body() -> None:
        work()

    asyncio.run(body())


OPENERS: dict[str, Callable[[Work], None]] = {
    "main": lambda work: work(),
    "thread": thread,
    "pool": pool_made_inside,
    "task": a_task,
    "task in a thread": lambda work: thread(lambda: a_task(work)),
    "empty context": empty_context,
}


def ask_once() -> str:
    try:
        return str(njrt.llm("Is it?"))
    except njrt.NaturalError as error:
        return type(error).__name__


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_is_open_holds_for_work_started_in_every_way(
    way: Callable[[Work], None], opener: str
) -> None:
    answers: list[str] = []
    shown: list[PendingEffect] = []

    def decide(pending: PendingEffect) -> Accept:
        shown.append(pending)
        return Accept()

    def ask() -> None:
        answers.append(ask_once())
        with njrt.using(
            max_calls=9
        ):  # a `with` inside of that work does not lose what is around it
            answers.append(ask_once())

    def open_and_start() -> None:
        model = njrt.Scripted(lambda request: "yes")
        with njrt.using(model=model, intercept=decide), njrt.watch() as watch:
            way(ask)
            with njrt.limit(calls=0):
                way(ask)
            answers.append(f"{len(watch.runs)} seen")

    OPENERS[opener](open_and_start)
    refused = ["CallLimitError"] * 2
    assert answers == ["yes", "yes", *refused, "4 seen"]
    assert len(shown) == 4
    assert list_open_meters() == ()


# ── what is started outside ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "way", [thread, timer, pool_made_before, pool_made_inside, coroutine, task, later]
)
def test_work_started_outside_sees_nothing_of_other_threads(way: Callable[[Work], None]) -> None:
    inside, over = threading.Event(), threading.Event()
    seen: list[int] = []

    def hold() -> None:
        with limit(calls=0):
            inside.set()
            over.wait(HANG_SECONDS)

    def look() -> None:
        seen.append(len(list_open_meters()))
        with limit(calls=1):
            seen.append(len(list_open_meters()))

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(HANG_SECONDS)
    way(look)
    over.set()
    holder.join(HANG_SECONDS)
    assert seen == [0, 1]


def test_requests_in_the_workers_of_a_pool_have_limits_of_their_own() -> None:
    meet = threading.Barrier(4)

    def serve(number: int) -> int:
        with limit(calls=1):
            meet.wait(HANG_SECONDS)
            seen = len(list_open_meters())
            meet.wait(HANG_SECONDS)
            return seen

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(serve, range(8))) == [1] * 8


def test_what_the_main_thread_opens_holds_for_work_that_a_queue_hands_over() -> None:
    jobs: queue.Queue[Callable[[], None]] = queue.Queue()
    worker = threading.Thread(target=lambda: [jobs.get(timeout=HANG_SECONDS)() for _ in range(2)])
    worker.start()
    seen: list[int] = []
    done = threading.Event()
    with limit(calls=0):
        jobs.put(lambda: seen.append(len(list_open_meters())))
        jobs.put(done.set)
        assert done.wait(HANG_SECONDS)
    worker.join(HANG_SECONDS)
    assert seen == [1]


# ── how a `with` ends ────────────────────────────────────────────────────────────────────────────


def open_limits(number: int) -> Iterator[None]:
    with limit(calls=number):
        yield
        yield


def get_limits() -> list[int | None]:
    return [meter.limits.calls for meter in list_open_meters()]


def test_items_that_are_closed_in_another_order_do_not_close_others() -> None:
    first, second = open_limits(1), contextlib.ExitStack()
    next(first)
    second.enter_context(limit(calls=2))
    assert get_limits() == [1, 2]
    first.close()  # type: ignore[attr-defined]
    assert get_limits() == [2]
    second.close()
    assert get_limits() == []


def test_a_generator_is_inside_of_what_it_opens_whoever_resumes_it() -> None:
    seen: list[list[int | None]] = []

    def generate() -> Iterator[None]:
        with limit(calls=7):
            yield
            seen.append(get_limits())
            yield
        seen.append(get_limits())

    made = generate()
    contextvars.copy_context().run(next, made)
    for _ in range(2):
        join(threading.Thread(target=lambda: next(made, None)))
    assert seen == [[7], []]
    assert get_limits() == []


@contextlib.contextmanager
def limited() -> Iterator[None]:
    with limit(calls=7):
        yield


class Limited(contextlib.ExitStack, contextlib.AsyncExitStack):  # type: ignore[misc]
    def __enter__(self) -> Any:
        self.open()
        return super().__enter__()

    async def __aenter__(self) -> Any:
        self.open()
        return await super().__aenter__()

    def open(self) -> None:
        self.enter_context(limited())


@contextlib.asynccontextmanager
async def limited_async() -> AsyncIterator[None]:
    with limited():
        yield


@pytest.mark.parametrize("make", [limited, Limited])
def test_a_generator_is_inside_of_what_a_context_manager_of_the_program_opens(make: Any) -> None:
    seen: list[list[int | None]] = []

    def generate() -> Iterator[None]:
        with make():
            yield
            seen.append(get_limits())
            yield
        seen.append(get_limits())

    made = generate()
    join(threading.Thread(target=lambda: next(made)))
    for _ in range(2):
        contextvars.copy_context().run(next, made, None)
    assert seen == [[7], []]
    assert get_limits() == []


def test_a_coroutine_that_has_opened_an_item_and_ended_leaves_it_to_no_other() -> None:
    """The frames of later coroutines are often at the place in memory of the one that has ended."""
    seen: list[int | None] = []

    async def start(stack: contextlib.ExitStack) -> None:
        stack.enter_context(limited())

    async def hold(leave: asyncio.Event) -> None:
        with contextlib.ExitStack() as stack:
            await start(stack)
            await leave.wait()

    async def look(_: object) -> None:
        seen.extend(get_limits())

    async def look_outside() -> None:
        for _ in range(50):
            await look(None)

    async def main() -> None:
        leave = asyncio.Event()
        holding = asyncio.create_task(hold(leave))
        await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.create_task(look_outside())
        leave.set()
        await holding

    asyncio.run(main())
    assert seen == []


@pytest.mark.parametrize("make", [limited_async, Limited])
def test_an_async_generator_is_inside_of_what_a_context_manager_of_the_program_opens(
    make: Any,
) -> None:
    seen: list[list[int | None]] = []

    async def generate() -> AsyncIterator[None]:
        async with make():
            yield
            seen.append(get_limits())
            yield
        seen.append(get_limits())

    async def resume(made: AsyncIterator[None]) -> None:
        await anext(made, None)

    async def main() -> None:
        made = generate()
        for _ in range(3):
            await asyncio.create_task(resume(made))
            assert get_limits() == []

    asyncio.run(main())
    assert seen == [[7], []]


def test_what_a_generator_opens_ends_when_another_thread_closes_it() -> None:
    made = open_limits(7)
    next(made)
    assert get_limits() == [7]
    join(threading.Thread(target=made.close))  # type: ignore[attr-defined]
    assert get_limits() == []
    with limit(calls=8):
        assert get_limits() == [8]


def test_what_a_dropped_async_generator_opens_ends_when_the_loop_closes_it() -> None:
    seen: list[list[int | None]] = []

    async def look(go: asyncio.Event) -> None:
        await go.wait()
        seen.append(get_limits())

    async def generate(go: asyncio.Event, over: asyncio.Event) -> AsyncIterator[asyncio.Task[None]]:
        try:
            with limit(calls=7):
                yield asyncio.create_task(look(go))
        finally:
            over.set()

    async def main() -> None:
        go, over = asyncio.Event(), asyncio.Event()
        started = await anext(generate(go, over))
        gc.collect()
        await over.wait()
        seen.append(get_limits())
        go.set()
        await started

    asyncio.run(main())
    assert seen == [[], [7]]


def test_a_coroutine_is_inside_of_what_it_opens_whoever_resumes_it() -> None:
    seen: list[list[int | None]] = []

    @types.coroutine
    def wait() -> Iterator[None]:
        yield

    async def work() -> None:
        with Limited():
            await wait()
            seen.append(get_limits())

    made = work()
    join(threading.Thread(target=lambda: made.send(None)))
    contextvars.copy_context().run(next, made.__await__(), None)
    assert seen == [[7]]


def test_what_a_generator_opens_is_nearer_in_it_than_what_is_around_its_consumer() -> None:
    def generate() -> Iterator[list[int | None]]:
        with limit(calls=7):
            yield get_limits()
            with limit(calls=8):
                yield get_limits()
                yield from around_another()
            yield get_limits()

    def around_another() -> Iterator[list[int | None]]:
        with limit(calls=9):
            yield get_limits()

    made = generate()
    with limit(calls=1):
        assert next(made) == [1, 7]
        with limit(calls=2):
            assert next(made) == [1, 2, 7, 8]
            with limit(calls=3):
                assert next(made) == [1, 2, 3, 7, 8, 9]
        assert next(made) == [1, 7]
        assert get_limits() == [1, 7]
        made.close()  # type: ignore[attr-defined]
        assert get_limits() == [1]


def test_a_generator_asks_its_own_model() -> None:
    def generate() -> Iterator[str]:
        with njrt.using(model=njrt.Scripted(lambda _: "inside")):
            for _ in range(3):
                yield njrt.llm("Who?")

    made = generate()
    first = next(made)
    with njrt.using(model=njrt.Scripted(lambda _: "around")):
        assert [first, next(made), next(made), njrt.llm("Who?")] == [*3 * ["inside"], "around"]
    made.close()  # type: ignore[attr-defined]


def test_a_thread_that_goes_on_keeps_what_it_was_started_in() -> None:
    go = threading.Event()
    seen: list[list[int | None]] = []

    def look() -> None:
        go.wait(HANG_SECONDS)
        seen.append(get_limits())

    worker = threading.Thread(target=look)
    with limit(calls=3):
        worker.start()
    go.set()
    worker.join(HANG_SECONDS)
    assert seen == [[3]]
    assert "run" not in vars(worker)


def test_a_thread_that_could_not_be_started_is_as_before() -> None:
    worker = threading.Thread(target=int)
    join(worker)
    with pytest.raises(RuntimeError, match="only be started once"):
        worker.start()
    assert "run" not in vars(worker)


def test_a_signal_handler_is_inside_of_what_it_interrupts() -> None:
    seen: list[list[int | None]] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(get_limits()))
    try:
        with limit(calls=4):
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [[4]]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_is_inside_and_sees_nothing_of_threads_that_it_does_not_have() -> None:
    inside, over = threading.Event(), threading.Event()

    def hold() -> None:
        with limit(calls=5):
            inside.set()
            over.wait(HANG_SECONDS)

    holder = threading.Thread(target=hold)
    holder.start()
    assert inside.wait(HANG_SECONDS)
    with limit(calls=6):
        child = os.fork()
        if not child:
            empty = contextvars.Context().run(get_limits)
            os._exit(0 if get_limits() == empty == [6] else 1)
    over.set()
    holder.join(HANG_SECONDS)
    assert os.waitpid(child, 0)[1] == 0

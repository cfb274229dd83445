"""A model's code that swallows exceptions, generated: it ends at its time limit, at Ctrl-C, at a signal and at a
cancellation.

a statement that runs on   x   a construct that swallows   x   a loop around it
"""

from __future__ import annotations

import _thread
import asyncio
import itertools
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from playing import aplay, message_of, play

from njrt.data.timeouts import DeadlineExceeded, _Timer, call_with_timeout
from njrt.errors import CodeTimeLimitError
from waiting import HANG_SECONDS

DEFINITIONS = "import asyncio, contextlib, time\n"

BODIES = {
    "jump": "while True: pass",
    "call": "while True: str(1)",
    "inner loop": "while True:\n    for _ in range(9): int('1')",
    "comprehension": "[0 for _ in iter(int, 1)]",
    "sleep": "while True: time.sleep(0.01)",
    "short": "x = 1",
}
SWALLOWING = {
    "except": "try:\n    BODY\nexcept:\n    pass",
    "except as": "try:\n    BODY\nexcept BaseException as error:\n    x = str(error)",
    "except Exception": "try:\n    BODY\nexcept Exception:\n    pass",
    "except star": "try:\n    BODY\nexcept* BaseException:\n    pass",
    "twice": "try:\n    try:\n        BODY\n    except:\n        1\nexcept:\n    1",
    "again": "try:\n    BODY\nexcept:\n    try:\n        BODY\n    except:\n        pass",
    "loop in handler": "try:\n    BODY\nexcept:\n    while True:\n        try: pass\n        except: pass",
    "recursion": "try:\n    BODY\nexcept BaseException:\n    run()",
    "finally": "try:\n    BODY\nfinally:\n    continue",
}
LOOPS = {
    "while": "while True:\n    STATEMENT",
    "for": "for _ in iter(int, 1):\n    STATEMENT",
    "nested": "while True:\n    while True:\n        STATEMENT",
    "function": "while True:\n    def inner():\n        for _ in (1,):\n            STATEMENT\n    inner()",
}


def insert(text: str, mark: str, part: str) -> str:
    """Put `part` in place of the lines that consist of `mark`, with their indentation."""
    lines = []
    for line in text.split("\n"):
        indentation = line[: len(line) - len(line.lstrip())]
        lines.append(textwrap.indent(part, indentation) if line.strip() == mark else line)
    return "\n".join(lines)


def build(body: str, swallowing: str, loop: str) -> str:
    statement = insert(SWALLOWING[swallowing], "BODY", BODIES[body])
    code = insert(LOOPS[loop], "STATEMENT", statement)
    return f"{DEFINITIONS}def run():\n{textwrap.indent(code, '    ')}\n"


CASES = [
    case
    for case in itertools.product(BODIES, SWALLOWING, LOOPS)
    if case[1] != "finally"  # it goes on: a documented limit
]
SAMPLE = list(zip(itertools.cycle(BODIES), SWALLOWING, itertools.cycle(LOOPS), strict=False))
"""Each body, each construct and each loop at least once."""


@pytest.fixture(autouse=True)
def short_turns() -> Iterator[None]:
    """Let threads take turns ten times as often: most of these never wait."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    yield
    sys.setswitchinterval(before)


def in_threads(cases: list[tuple[str, str, str]], stop: Callable[[str], object]) -> list[object]:
    """Stop the code of all cases, many at a time, and give those that did not stop as they should."""
    with ThreadPoolExecutor(len(cases)) as pool:
        results = pool.map(stop, [build(*case) for case in cases], timeout=60)
        return [case for case, result in zip(cases, results, strict=True) if not result]


def stop_snippet(source: str) -> bool:
    """Stop the code, as a model's; its handlers do not catch what comes from outside."""
    with pytest.raises(CodeTimeLimitError):
        play(lambda: (), f"{source}run()", seconds=0.02)
    return True


def test_the_time_limit_ends_code_in_threads() -> None:
    assert in_threads(CASES[::3], stop_snippet) == []


def test_the_time_limit_ends_code_in_the_main_thread() -> None:
    for case in set(SAMPLE) & set(CASES):
        start = time.process_time()
        assert stop_snippet(build(*case))
        assert time.process_time() - start < 1.5, case


@contextmanager
def ctrl_c_after(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, _thread.interrupt_main)
    timer.start()
    try:
        yield
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("swallowing", [name for name in SWALLOWING if name != "finally"])
def test_ctrl_c_passes_the_handlers_of_the_model(swallowing: str) -> None:
    for body, loop in (("call", "while"), ("sleep", "function")):
        with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.02):
            play(lambda: (), f"{build(body, swallowing, loop)}run()", seconds=5)


def test_the_models_handlers_catch_all_that_is_its_own() -> None:
    source = (
        "caught = []\n"
        "try: 1 / 0\nexcept: caught.append(1)\n"
        "try: [][0]\nexcept (KeyError, LookupError) as error: caught.append(2)\n"
        "try: raise ExceptionGroup('g', [KeyError()])\nexcept* KeyError: caught.append(3)\n"
        "with contextlib.suppress(OSError) as nothing: open_file()\n"
        "caught"
    )

    def open_file() -> None:
        raise FileNotFoundError

    assert play(lambda: (open_file,), DEFINITIONS + source) == [1, 2, 3]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("with 3: pass", "TypeError: 'int' object does not support the context manager protocol"),
        ("try: 1 / 0\nexcept 3: pass", "TypeError: catching classes that do not inherit"),
    ],
)
def test_mistakes_in_handlers_and_managers_are_pythons(code: str, message: str) -> None:
    assert message in message_of(code)


WAITING = {name: SWALLOWING[name] for name in ("except", "except as", "twice", "except star")}


@pytest.mark.parametrize("statement", WAITING.values(), ids=WAITING)
def test_a_timeout_of_the_program_ends_waiting_code(statement: str) -> None:
    code = insert(
        LOOPS["while"], "STATEMENT", insert(statement, "BODY", "await asyncio.sleep(600)")
    )

    async def main() -> None:
        async with asyncio.timeout(0.05):
            await aplay(lambda: (), DEFINITIONS + code, seconds=600)

    start = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert time.monotonic() - start < HANG_SECONDS  # it waits for 600


def test_code_catches_the_cancellation_of_its_own_tasks() -> None:
    code = (
        "task = asyncio.ensure_future(asyncio.sleep(600))\nawait asyncio.sleep(0)\ntask.cancel()\n"
        "try: await task\nexcept asyncio.CancelledError: seen = 1\n"
        "try:\n    async with asyncio.timeout(0.01): await asyncio.sleep(600)\n"
        "except TimeoutError: seen += 1\n"
        "seen"
    )

    assert asyncio.run(aplay(lambda: (), DEFINITIONS + code, seconds=600)) == 2


def test_a_system_without_threads_for_once_does_not_end_all_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("njrt.data.timeouts._timer", _Timer())
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _fail_to_start)
        with pytest.raises(RuntimeError, match="new thread"):
            call_with_timeout(5, int)
    with pytest.raises(DeadlineExceeded):
        call_with_timeout(0.1, lambda: [None for _ in itertools.count() if False])


def _fail_to_start(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")

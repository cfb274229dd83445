"""Measure contained code beside guarded code: the start of a piece of code, and one touch of an object.

    the first piece of a process        115.5 ms
    a piece of code, guarded              0.1 ms
    a piece of code, contained            2.8 ms      0.6 ms of processor in the program
    one touch of an object               35.7 us     35.2 us of processor in the program

(Measured with Python 3.11 on two cores without other work.) A touch is the difference of a loop that reads an attribute
5,000 times and one that never does, divided by 5,000.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace

from njrt.execution.execute import Ran, Snippet, execute, prepare
from njrt.options import Policy
from njrt.scope.scope import make_scope

PIECES, TOUCHES, REPEATS = 40, 5000, 5
LOOP = "for _ in range({}):\n    mail.text"
NOTHING = LOOP.format(0)


def time_piece(code: str, policy: Policy) -> tuple[float, float]:
    """Run code once; return the seconds of the clock and the processor seconds of the program."""
    mail = SimpleNamespace(text="Lunch?")
    scope = make_scope(lambda: (mail,), at="bench.njpy:1")
    clock, processor = time.perf_counter(), time.process_time()
    snippet = prepare(code, scope, policy=policy)
    assert isinstance(snippet, Snippet), snippet
    result = execute(snippet)
    assert isinstance(result, Ran), result
    return time.perf_counter() - clock, time.process_time() - processor


def take_median(measure: Callable[[], tuple[float, float]], repeats: int) -> tuple[float, float]:
    """Return the medians of both times."""
    clocks, processors = zip(*(measure() for _ in range(repeats)), strict=True)
    return statistics.median(clocks), statistics.median(processors)


def main() -> None:
    """Print the table."""
    first, _ = time_piece(NOTHING, "contained")
    print(f"the first piece of a process     {first * 1e3:8.1f} ms")
    guarded, _ = take_median(lambda: time_piece(NOTHING, "guarded"), PIECES)
    print(f"a piece of code, guarded         {guarded * 1e3:8.1f} ms")
    start, start_processor = take_median(lambda: time_piece(NOTHING, "contained"), PIECES)
    print(
        f"a piece of code, contained       {start * 1e3:8.1f} ms {start_processor * 1e3:8.1f} ms of processor in the program"
    )
    clock, processor = take_median(lambda: time_piece(LOOP.format(TOUCHES), "contained"), REPEATS)
    touch, touch_processor = (clock - start) / TOUCHES, (processor - start_processor) / TOUCHES
    print(
        f"one touch of an object           {touch * 1e6:8.1f} us {touch_processor * 1e6:8.1f} us of processor in the program"
    )


if __name__ == "__main__":
    main()

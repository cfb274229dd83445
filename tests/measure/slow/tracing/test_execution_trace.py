"""The steps of a run, and code with these steps as comments."""

from __future__ import annotations

import textwrap
from contextlib import suppress
from typing import Any

import pytest

from njc.measure.execution_trace import MAX_STEPS, ExecutionTrace, LineStep, StepRecorder
from njc.measure.repair.annotate import annotate_code, remove_step_comments
from njrt.values.dataclass_json import validate_value

FILENAME = "<traced>"


def trace(code: str, call: str, **more: Any) -> tuple[str, ExecutionTrace]:
    """Run a program, then a call, whose steps are recorded."""
    code = textwrap.dedent(code).strip("\n")
    namespace: dict[str, Any] = {}
    exec(compile(code, FILENAME, "exec"), namespace)
    recorder = StepRecorder(lambda code: code.co_filename == FILENAME, **more)
    with recorder, suppress(IndexError):
        eval(call, namespace)
    return code, recorder.make_trace()


CASES = {
    "loop": (
        """
        def total(prices):
            spent = 0
            for price in prices:
                if price > 9:
                    return None
                spent += price
            return spent
        """,
        "total([3, 4])",
        """
        def total(prices):                  # (1) prices = [3, 4]
            spent = 0                       # (2) spent = 0
            for price in prices:            # (3) price = 3; (6) price = 4
                if price > 9:
                    return None             # not reached
                spent += price              # (5) spent = 3; (8) spent = 7
            return spent                    # (10) returns 7
        """,
    ),
    "recursion": (
        """
        def fact(n):
            if n == 0:
                return 1
            return n * fact(n - 1)
        """,
        "fact(2)",
        """
        def fact(n):                    # (1) n = 2; (3) n = 1; (5) n = 0
            if n == 0:
                return 1                # (7) returns 1
            return n * fact(n - 1)      # (8) returns 1; (9) returns 2
        """,
    ),
    "exception": (
        """
        def first(items):
            '''The first item.'''
            try:
                one = items[0]
            except KeyError:
                one = None
            return one
        """,
        "first([])",
        """
        def first(items):                # (1) items = []
            '''The first item.'''
            try:
                one = items[0]           # (3) raises IndexError('list index out of range')
            except KeyError:
                one = None               # not reached
            return one                   # not reached
        """,
    ),
    "comprehensions": (
        """
        def invert(items):
            item = 5
            names = {str(item): [item for item in items] for item in items}
            return (item := 7)
        """,
        "invert([1, 2])",
        """
        def invert(items):                                                      # (1) items = [1, 2]
            item = 5                                                            # (2) item = 5
            names = {str(item): [item for item in items] for item in items}     # (3) names = {'1': [1, 2], '2': [1, 2]}
            return (item := 7)                                                  # (4) item = 7, returns 7
        """,
    ),
    "comprehensions that raise": (
        """
        def find(items, seen):
            n = 5
            get = lambda: n
            [seen.append(items[n]) for n in items]
        """,
        "find([1, 2], [])",
        """
        def find(items, seen):                          # (1) items = [1, 2], seen = []
            n = 5                                       # (2) n = 5
            get = lambda: n
            [seen.append(items[n]) for n in items]      # (4) seen = [2], raises IndexError('list index out of range')
        """,
    ),
    "a lambda and a decorated function": (
        """
        def twice(do): return lambda n: do(do(n))
        @twice
        def add(n):
            return n + 1
        """,
        "add(1)",
        """
        def twice(do): return lambda n: do(do(n))   # not reached
        @twice              # (1) n = 2
        def add(n):
            return n + 1    # (2) returns 3
        """,
    ),
    "an iterator in a comprehension": (
        """
        class Count:
            left = 1
            def __iter__(self):
                return self
            def __next__(self):
                if not self.left:
                    raise StopIteration
                self.left -= 1
                return self.left
        def count():
            found = [n for n in Count()]
            return found
        """,
        "count()",
        """
        class Count:
            left = 1                      # not reached
            def __iter__(self):           # (2) self = <Count>
                return self               # (3) returns <Count>
            def __next__(self):           # (4) self = <Count>; (8) self = Count(left=0)
                if not self.left:
                    raise StopIteration   # (10) raises StopIteration()
                self.left -= 1            # (6) self = Count(left=0)
                return self.left          # (7) returns 0
        def count():
            found = [n for n in Count()]  # (11) found = [0]
            return found                  # (12) returns [0]
        """,
    ),
    "generator": (
        """
        def count(n):
            for i in range(n):
                yield i
        """,
        "list(count(2))",
        """
        def count(n):               # (1) n = 2
            for i in range(n):      # (2) i = 0; (4) i = 1
                yield i             # (3) gives 0; (5) gives 1
        """,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_steps_stand_as_comments(name: str) -> None:
    code, call, expected = CASES[name]
    source, steps = trace(code, call)
    shown = [line.split() for line in annotate_code(source, steps).split("\n")]
    assert shown == [line.split() for line in textwrap.dedent(expected).strip("\n").split("\n")]


def test_lines_that_only_later_steps_reach_are_not_called_unreached() -> None:
    code, steps = trace(
        """
        def wait(n):
            while n:
                n -= 1
            done = True
            return done
        """,
        f"wait({MAX_STEPS})",
    )
    assert len(steps.steps) == MAX_STEPS
    assert "not reached" not in annotate_code(code, steps)


def test_a_trace_of_some_lines_starts_anew_each_time_they_are_entered() -> None:
    code, steps = trace(
        """
        def fill(prices):
            spent = 0
            for price in prices:
                price = price * 2
                spent += price
            return spent
        """,
        "fill([1, 2, 3])",
        lines=range(4, 6),
    )
    assert steps.given == "prices = [1, 2, 3], spent = 6, price = 3"
    assert steps.steps == (LineStep(4, "price = 6"), LineStep(5, "spent = 12"))
    part = "\n".join(code.split("\n")[3:5])
    shown = "price = price * 2 # (1) price = 6 spent += price # (2) spent = 12"
    assert annotate_code(textwrap.dedent(part), steps, 4).split() == shown.split()


def test_comments_of_steps_are_removed_and_others_stay() -> None:
    code = (
        "def f(n):  # (1) n = 2; (3) n = 1\n    m = '# (1) n'  # keep (2)\n    # not reached\n"
        "    return m   # (4) returns 1"
    )
    assert remove_step_comments(code) == (
        "def f(n):\n    m = '# (1) n'  # keep (2)\n\n    return m"
    )
    assert remove_step_comments("f(  # (1) n = 1") == "f(  # (1) n = 1"


@pytest.mark.parametrize("name", CASES)
def test_annotated_code_without_its_comments_is_the_code(name: str) -> None:
    code, call, _ = CASES[name]
    source, steps = trace(code, call)
    assert remove_step_comments(annotate_code(source, steps)) == source


def test_what_was_written_is_read_again() -> None:
    _, steps = trace("def f(n):\n    return n", "f('a')")
    assert validate_value(steps.to_json(), ExecutionTrace) == steps


def test_long_values_and_long_comments_are_bounded() -> None:
    code, steps = trace("def f(n):\n    m = [n] * 3\n    return m", "f('x' * 10_000)")
    assert max(len(line) for line in annotate_code(code, steps).split("\n")) < 420

"""Where versions of Python have other states of the same program: their line events differ, or what they run."""

from __future__ import annotations

import sys

import pytest
from test_program_states import assert_round_trip, summarize

from spsbench.states.programs import record_call

States = dict[tuple[int, int], str]
"""By the first version that has them."""

DIFFERENCES: dict[str, tuple[str, States]] = {
    "a comprehension over several lines": (
        "def f(xs=(1,)):\n    return [\n        x\n        for x in xs\n    ]\n",
        {
            (3, 11): "c1.0 l2.0 l4.0 l2.0 r2.0=[1]",
            (3, 12): "c1.0 l4.0 l2.0 l4.0 l3.0 l2.0 r2.0=[1]-x",
            (3, 13): "c1.0 l4.0 l2.0 l4.0 l3.0 l4.0 l2.0 r2.0=[1]-x",
        },
    ),
    "a false condition over several lines": (
        "def f(a=1, b=0):\n    if (a and\n            b):\n        return 1\n    return 2\n",
        {(3, 11): "c1.0 l2.0 l3.0 l2.0 l5.0 r5.0=2", (3, 12): "c1.0 l2.0 l3.0 l5.0 r5.0=2"},
    ),
    "the end of a lambda over several lines": (
        "def f():\n    k = lambda a: (\n        a\n        + 1\n    )\n    return k(1)\n",
        {
            (3, 11): "c1.0 l2.0 l6.0 c2.1 l3.1 l4.1 l3.1 l2.1 r2.1=2 r6.0=2",
            (3, 13): "c1.0 l2.0 l6.0 c2.1 l3.1 l4.1 l3.1 r3.1=2 r6.0=2",
        },
    ),
    "an object that is replaced, whose `__del__` runs": (
        "class D:\n    def __del__(self): pass\n\ndef f():\n    d = D()\n    d = 1\n    return d\n",
        {
            (3, 11): "c4.0 l5.0 l6.0 l7.0 r7.0=1",
            (3, 13): "c4.0 l5.0 l6.0 c2.1 l2.1 r2.1=None l7.0 r7.0=1",
        },
    ),
    "a generator that is closed at a `yield` outside of `try`": (
        "def g():\n    yield 1\n\ndef f():\n    it = g()\n    next(it)\n    it.close()\n    return 2\n",
        {
            (
                3,
                11,
            ): "c4.0 l5.0 l6.0 c1.1 l2.1 r2.1=1 l7.0 c2.1 e2.1=GeneratorExit() r2.1 l8.0 r8.0=2",
            (3, 13): "c4.0 l5.0 l6.0 c1.1 l2.1 r2.1=1 l7.0 l8.0 r8.0=2",
            (
                3,
                14,
            ): "c4.0 l5.0 l6.0 c1.1 l2.1 r2.1=1 l7.0 c2.1 e2.1=GeneratorExit() r2.1 l8.0 r8.0=2",
        },
    ),
    "an `await` in a comprehension": (
        "async def v(x):\n    return x\n\nasync def m():\n    return [await v(x) for x in (1, 2)]\n\n"
        "def f():\n    try:\n        m().send(None)\n    except StopIteration:\n        pass\n",
        {
            (
                3,
                11,
            ): "c7.0 l8.0 l9.0 c4.1 l5.1 c1.2 l2.2 r2.2=1 c1.2 l2.2 r2.2=2 e5.1=StopIteration([1, 2])"
            " r5.1=[1, 2] e9.0=StopIteration([1, 2]) l10.0 l11.0 r11.0=None",
            (
                3,
                12,
            ): "c7.0 l8.0 l9.0 c4.1 l5.1 c1.2 l2.2 r2.2=1 e5.1=StopIteration(1) c1.2 l2.2 r2.2=2"
            " e5.1=StopIteration(2) r5.1=[1, 2] e9.0=StopIteration([1, 2]) l10.0 l11.0 r11.0=None",
        },
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_states_that_differ_between_versions(name: str) -> None:
    source, by_version = DIFFERENCES[name]
    trace = record_call(source, "f()").trace
    version = max(known for known in by_version if known <= sys.version_info)
    assert " ".join(map(summarize, trace.states)) == by_version[version]
    assert_round_trip(trace)

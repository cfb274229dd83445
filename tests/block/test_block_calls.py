"""The cost of a block beside the model, counted in Python calls of njrt: times would not be repeatable.

In a process of its own, which has no log and no telemetry as others have that ran before.
"""

from __future__ import annotations

import os

import pytest

from processes import run_python

MOST = {"answer": 200, "direct": 284}
MOST_DEPTH = 14
"""Frames of the runtime and the model above the program's own."""
COUNT = """
import sys
import njrt
from njrt.testing import run

effects = sys.argv[1]
reply = '{"n": 1}' if effects == "answer" else run("n = 1", done=True)

def run_block():
    n: int = 0
    njrt.run(
        "natural: Put 1 into <:n>.",
        lambda: (n,),
        writes="n",
        types=lambda: {"n": int},
        at="counted.njpy:1",
        effects=effects,
    )
    assert n == 1

calls = depth = deepest = 0
def count(frame, event, argument):
    global calls, depth, deepest
    calls += event == "call"
    depth += (event == "call") - (event == "return")
    deepest = max(deepest, depth - 1)

with njrt.using(model=njrt.Scripted(lambda request: reply), cache=False, policy="guarded"):
    for _ in range(3):
        run_block()
    sys.setprofile(count)
    run_block()
    sys.setprofile(None)
print(calls, deepest)
"""


@pytest.mark.parametrize(
    "variables", [{}, {"NJC_TEMPERATURE": "0"}], ids=["plain", "with an option"]
)
@pytest.mark.parametrize("effects", MOST)
def test_a_block_makes_few_python_calls(effects: str, variables: dict[str, str]) -> None:
    """Also if the environment has an option: a lookup of a name in `os.environ` costs a call, or an exception."""
    done = run_python("-c", COUNT, effects, env={**os.environ, **variables}, timeout=60)
    assert done.returncode == 0, done.stderr
    calls, deepest = map(int, done.stdout.split())
    assert 100 < calls <= MOST[effects] + 10 * len(variables)
    assert 10 < deepest <= MOST_DEPTH

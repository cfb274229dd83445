"""A signal handler, a finalizer or the collector may run blocks in a thread that is inside the runtime: nothing waits for itself.

The handler is called at lines of the runtime, as by a signal, by a trace function: at every one of them in turn, in some
runs of a few hundred.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from processes import run_python
from waiting import HANG_SECONDS

BEGIN = f"""
import faulthandler, sys
faulthandler.dump_traceback_later({HANG_SECONDS}, exit=True)
import njrt
from njrt.data.context import _stacks
"""
INTERRUPTED = """
model = njrt.Scripted(lambda request: "3")
inside, lines, count = True, 0, 0

def ask(**settings):
    with njrt.using(model=model, budget=njrt.Budget(usd=1, per='day'), trace="trace.jsonl", max_calls=5, **settings):
        njrt.llm("how many?")

def handle(frame, event, argument):
    global inside, lines, count
    if not frame.f_globals.get("__name__", "").startswith("njrt."):
        return handle
    lines += 1
    if not inside and lines % 61 == 0:
        inside, count = True, count + 1
        ask(record="new:inner.jsonl")
        inside = False
    return handle

ask(record="new:shop.jsonl")
sys.settrace(handle)
inside = False
for _ in range(12):
    ask(record="new:shop.jsonl", cache="cache")
sys.settrace(None)
assert not any(stack.everywhere for stack in _stacks)
print(1 + 12 + count)
"""
COLLECTED = """
import contextlib, gc

def generate(held):
    with njrt.using(max_calls=3):
        yield

def abandon():
    held = []
    generator = generate(held)
    next(generator)
    held.append(generator)

with contextlib.ExitStack() as stack:
    for _ in range(30):
        stack.enter_context(njrt.using(max_calls=9))
    gc.set_threshold(1)
    for _ in range(400):
        abandon()
        with njrt.using(max_calls=5):
            pass
gc.collect()
assert not any(stack.everywhere or stack.variable.get() for stack in _stacks)
print(0)
"""


@pytest.mark.parametrize("script", [INTERRUPTED, COLLECTED], ids=["interrupted", "collected"])
def test_no_thread_waits_for_itself(script: str, tmp_path: Path) -> None:
    done = run_python("-c", BEGIN + script, cwd=tmp_path, timeout=2 * HANG_SECONDS)
    assert done.returncode == 0, done.stderr
    if count := int(done.stdout):
        lines = (tmp_path / "trace.jsonl").read_text("utf-8").splitlines()
        assert sum(json.loads(line)["event"] == "ended" for line in lines) == count

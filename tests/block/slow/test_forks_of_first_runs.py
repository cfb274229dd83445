"""A program that forks while a thread makes the first run: the child runs blocks or is refused."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys, threading, time
import njrt

def run_block():
    def use(n):
        njrt.run("natural\\nCompute <:n>.", lambda: (n,), writes="n", at="a.njpy:1", policy=sys.argv[1])
        return n
    with njrt.using(model=njrt.Scripted(["```python\\nn = 4\\n```"], protocol="text")):
        assert use(0) == 4

def run_and_exit():
    status = 1
    try:
        run_block()
        status = 0
    except RuntimeError as error:
        status = 2 if "was forked while" in str(error) else 1
    finally:
        os._exit(status)

thread = threading.Thread(target=run_block)
thread.start()
children = []
while thread.is_alive() and len(children) < 6:
    child = os.fork()
    if child == 0:
        run_and_exit()
    children.append(child)
    time.sleep(0.01)
thread.join()
deadline = time.monotonic() + 15
ended = {}
while len(ended) < len(children) and time.monotonic() < deadline:
    for child in set(children) - set(ended):
        process, status = os.waitpid(child, os.WNOHANG)
        if process:
            ended[child] = status
    time.sleep(0.01)
for child in set(children) - set(ended):
    os.kill(child, 9)
print(len(children) - len(ended), 1 << 8 in ended.values())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_forked_during_the_first_run_do_not_hang(policy: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, policy]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout == "0 False\n", result.stderr[-2000:]

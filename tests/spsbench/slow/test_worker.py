"""Child processes: messages, limits, and that none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from spsbench.worker import Worker, make_clean_environment
from waiting import wait_until

SECONDS = 90.0

CHILD = """
import os, subprocess, sys, time
print("printed before the channel", file=sys.stderr)
from spsbench.worker import open_channel

channel = open_channel(memory_bytes=1 << 30)
while True:
    message = channel.receive()
    what = message["do"]
    if what == "echo":
        print("this goes to the log", flush=True)
        channel.send({"input": sys.stdin.read(), "echo": message["text"]})
    elif what == "allocate":
        try:
            bytearray(4 << 30)
        except MemoryError:
            channel.send({"error": "MemoryError"})
    elif what == "start":
        started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        channel.send({"pids": [os.getpid(), started.pid]})
    elif what == "leave":
        sys.exit(7)
    elif what == "babble":
        os.write(channel._out.fileno(), b"no json\\n")
    elif what == "sleep":
        time.sleep(600)
"""

PARENT = """
import sys
from pathlib import Path
from spsbench.worker import Worker, make_clean_environment

worker = Worker("child", Path.cwd(), make_clean_environment())
worker.send({"do": "start"})
print(*worker.receive(90.0)["pids"], flush=True)
worker.send({"do": "sleep"})
worker.wait()
"""

Start = Callable[[], Worker]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "parent.py").write_text(PARENT)
    monkeypatch.syspath_prepend(tmp_path)
    log = tmp_path / "log"
    return lambda: Worker("child", tmp_path, make_clean_environment(), log.open("ab"))


def is_running(pid: int) -> bool:
    """Return whether a process is there, and is no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(*pids: int) -> bool:
    wait_until(lambda: not any(map(is_running, pids)))
    return True


def test_messages_go_both_ways_and_prints_to_the_log(start: Start, tmp_path: Path) -> None:
    text = "ä\n" * 1_000_000
    with start() as worker:
        for _ in range(2):
            worker.send({"do": "echo", "text": text})
            assert worker.receive(SECONDS) == {"input": "", "echo": text}
    assert "this goes to the log" in (tmp_path / "log").read_text()


def test_no_message_in_time(start: Start) -> None:
    with start() as worker:
        worker.send({"do": "sleep"})
        with pytest.raises(TimeoutError, match=r"no message within 0\.1 seconds"):
            worker.receive(0.1)


@pytest.mark.parametrize(("what", "code"), [("leave", 7), ("babble", None)])
def test_a_child_that_ends_or_writes_no_json(start: Start, what: str, code: int | None) -> None:
    with start() as worker:
        worker.send({"do": what})
        assert worker.receive(SECONDS) is None
        worker.send({"do": "echo", "text": "nobody is there"})
        assert code is None or worker.wait() == code


def test_memory_is_limited(start: Start) -> None:
    with start() as worker:
        worker.send({"do": "allocate"})
        assert worker.receive(SECONDS) == {"error": "MemoryError"}


@pytest.mark.parametrize("leaves_first", [False, True])
def test_the_whole_group_is_killed(start: Start, leaves_first: bool) -> None:
    with start() as worker:
        worker.send({"do": "start"})
        message = worker.receive(SECONDS)
        assert message is not None
        assert all(map(is_running, message["pids"]))
        if leaves_first:
            worker.send({"do": "leave"})
            worker.wait()
    assert wait_for_end(*message["pids"])


def test_the_group_ends_with_the_parent(start: Start, tmp_path: Path) -> None:
    start().kill()  # the fixture writes the modules
    parent = subprocess.Popen(
        [sys.executable, "-m", "parent"],
        cwd=tmp_path,
        env=make_clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    with parent.stdout:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert all(map(is_running, pids))
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    assert len(pids) == 2
    assert wait_for_end(*pids)

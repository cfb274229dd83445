"""`spsbench states` on programs that do not end, or whose process ends before them: the states are kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from click.testing import CliRunner

from spsbench.cli import main
from spsbench.states.process import ProcessRecording, ProgramTask, record_in_process
from spsbench.states.trace import read_state_lines

FOREVER = "while True:\n    pass\n"
SWALLOWS = """\
while True:
    try:
        while True:
            n = 7
    except BaseException:
        n = 8
"""

PROGRAMS = {
    "swallows every exception": (SWALLOWS, "timed_out"),
    "computes in C": ("sum(range(10**12))\n", "timed_out"),
    "waits for a command in C": ("import os\nos.system('exec sleep 60')\n", "timed_out"),
    "turns the timer off": (f"import signal\nsignal.alarm(0)\n{FOREVER}", "timed_out"),
    "handles the signal": (
        f"import signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\n{FOREVER}",
        "timed_out",
    ),
    "blocks all signals": (
        f"import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n{FOREVER}",
        "timed_out",
    ),
    "leaves a thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n",
        "ran",
    ),
    "leaves an exit handler": ("import atexit, time\natexit.register(time.sleep, 60)\n", "ran"),
    "exits at once": ("import os\nos._exit(3)\n", "lost with exit code 3"),
    "is killed": (
        "import os\nos.kill(os.getpid(), 15)\nimport time; time.sleep(60)\n",
        "lost by SIGTERM",
    ),
    "is ended by a signal without a name": (
        "import os\nos.kill(os.getpid(), 40)\nimport time; time.sleep(60)\n",
        "lost by signal 40",
    ),
    "runs another program": (
        "import os\nos.execv('/bin/true', ['true'])\n",
        "lost with exit code 0",
    ),
    "crashes": ("import ctypes\nctypes.string_at(0)\n", "lost by SIGSEGV"),
    "is doubled": ("import os\nfor i in range(2):\n    os.fork()\nx = 1\n", "ran"),
}


def record(source: str) -> ProcessRecording:
    return record_in_process(ProgramTask("prog.py", f"n = 7\n{source}", max_states=50, seconds=0.2))


def test_programs_end_and_keep_their_states() -> None:
    with ThreadPoolExecutor(5) as pool:
        found = dict(
            zip(PROGRAMS, pool.map(record, [text for text, _ in PROGRAMS.values()]), strict=True)
        )
    for name, (_, expected) in PROGRAMS.items():
        recording = found[name]
        assert f"{recording.end.stage} {recording.end.message}".strip() == expected, name
        assert recording.trace.is_cut == (recording.end.stage != "ran"), name
        states = recording.trace.states
        assert [state.event for state in states[:3]] == ["call", "line", "line"], name
        assert states[2].changed == {"n": "7"}, name
        if recording.end.stage == "ran":
            assert states[-1].event == "return", name


def test_a_call_that_is_not_reached_or_does_not_end(tmp_path: Path) -> None:
    program, out = tmp_path / "prog.py", tmp_path / "out.jsonl"
    flags = ["--seconds", "0.2", "--out", str(out), "--call", "f()"]
    for source, code, said in (
        (f"def f():\n    return 1\n{SWALLOWS}", 1, "did not reach the call within 0.2 seconds"),
        ("def f():\n    sum(range(10**12))\n", 0, "was ended after 0.2 seconds"),
    ):
        program.write_text(source)
        done = CliRunner().invoke(main, ["states", str(program), *flags])
        assert (done.exit_code, said in done.output) == (code, True), done.output
    (trace,) = read_state_lines(out.read_text().splitlines())
    assert [state.line for state in trace.states] == [1, 2]


def test_an_interrupted_program_keeps_its_states(tmp_path: Path) -> None:
    program, out, ready = tmp_path / "prog.py", tmp_path / "out.jsonl", tmp_path / "ready"
    program.write_text(
        f"import pathlib, time\nn = 7\npathlib.Path({str(ready)!r}).touch()\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-m", "spsbench", "states", str(program), "--out", str(out)]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        while not ready.exists() and process.poll() is None:
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    (trace,) = read_state_lines(out.read_text().splitlines())
    assert trace.is_cut
    assert {"n": "7"} in [state.changed for state in trace.states]

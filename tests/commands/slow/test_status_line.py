"""The line on the terminal while a model is asked: painted, kept out of what the program prints, gone at the end."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping

import pyte
import pytest
from workplace import Workplace, clean_environment

from case_programs import read_program
from loopback import Answer
from njc.commands.terminal.console import Console
from njc.commands.terminal.status_line import StatusLine, is_status_shown
from njrt.events import Asked, Began, Unanswered
from njrt.messages import Request
from openai_server import OpenAIServer, says
from waiting import HANG_SECONDS

pytest.importorskip("openai")

PROGRAM = read_program("status_line")
REPLY = '{"greeting": "Good morning, Ida"}'


def read_screen(written: str) -> str:
    """Return the text that a terminal shows after this was written to it."""
    screen = pyte.Screen(80, 50)
    pyte.Stream(screen).feed(written)
    return "\n".join(map(str.rstrip, screen.display)).rstrip()


def run_on_terminal(here: Workplace, *arguments: str, seconds: float, columns: int = 80) -> str:
    """What `njc run` writes to a terminal; the model takes so many seconds."""
    here.write({"prog.njpy": PROGRAM})
    answer = Answer(says(REPLY).body, after=seconds)
    with OpenAIServer([answer], vendor=False, models=("local",)) as server:
        terminal = {"TERM": "xterm", "COLUMNS": str(columns)}
        return read_terminal(here, *arguments, environ=terminal | ask_server(server))


def read_terminal(here: Workplace, *arguments: str, environ: Mapping[str, str]) -> str:
    leader, follower = pty.openpty()
    env = clean_environment() | dict(environ)
    process = subprocess.Popen(
        [sys.executable, "-m", "njc", "run", *arguments],
        cwd=here.folder, env=env, stdin=follower, stdout=follower, stderr=follower,
    )  # fmt: skip
    os.close(follower)
    written = b""
    until = time.monotonic() + HANG_SECONDS
    try:
        while time.monotonic() < until:
            if not select.select([leader], [], [], 1)[0]:
                continue
            try:
                got = os.read(leader, 65536)
            except OSError:  # the last one has closed the terminal
                break
            if not got:
                break
            written += got
        assert process.wait(HANG_SECONDS) == 0, written.decode()
    finally:
        process.kill()
        process.wait(HANG_SECONDS)
        os.close(leader)
    return written.decode()


def ask_server(server: OpenAIServer) -> dict[str, str]:
    return {"NJC_BASE_URL": server.base_url, "NJC_MODEL": "local"}


def find_painted(written: str) -> list[str]:
    return [text for text in re.findall(r"\x1b\[2K(.*?)\x1b8", written) if text]


def test_a_slow_call_is_shown_and_leaves_no_trace(here: Workplace) -> None:
    written = run_on_terminal(here, "prog.njpy", seconds=2, columns=60)
    painted = find_painted(written)
    assert re.fullmatch(r"prog\.njpy:4  openai/local  \d+ s", painted[-1])
    assert max(map(len, painted)) < 60
    assert read_screen(written) == "first\nno end of line: Good morning, Ida\nlast"


def test_what_the_program_prints_meanwhile_is_kept_whole(here: Workplace) -> None:
    written = run_on_terminal(here, "prog.njpy", "--beside", seconds=2.2)
    assert len(find_painted(written)) > 2
    assert read_screen(written) == (
        "first\nno end of line: beside 0\nbeside 1\nbeside 2\nbeside 3\nGood morning, Ida\nlast"
    )


def test_nothing_is_painted_if_less_output_is_wanted(here: Workplace) -> None:
    written = run_on_terminal(here, "-q", "prog.njpy", seconds=1.2)
    assert written == "first\r\nno end of line: Good morning, Ida\r\nlast\r\n"


def make_asked(run: str, place: str) -> Asked:
    return Asked(run, 0.0, Request("", (), place=place))


def test_a_quick_call_is_not_shown() -> None:
    terminal = io.StringIO()
    line = StatusLine(terminal)
    for number in range(50):
        line(make_asked("r-1", f"shop.njpy:{number}"))
        line(Unanswered("r-1", 0.0, 1, OSError(), 0.0))
    line.close()
    assert terminal.getvalue() == ""


def test_nothing_is_painted_in_a_pipe(here: Workplace) -> None:
    here.write({"prog.njpy": PROGRAM})
    with OpenAIServer([says(REPLY)], vendor=False, models=("local",)) as server:
        result = here.process("run", "prog.njpy", environ=ask_server(server))
    assert (result.stdout, result.stderr) == (
        "first\nno end of line: Good morning, Ida\nlast\n",
        "",
    )


def test_the_line_names_the_block_the_model_and_the_seconds() -> None:
    with open(os.devnull, "w") as terminal:
        line = StatusLine(terminal)
        try:
            line(Began("r-1", 0.0, "shop.njpy:3", "gpt\x1b[2J"))
            line(Began("r-2", 0.0, "other.njpy:7", "gpt-4.1"))
            line(make_asked("r-2", "other.njpy:7"))
            line(Unanswered("r-2", 0.0, 1, OSError(), 0.0))
            line(make_asked("r-1", "shop.njpy:3"))
            line(make_asked("r-2", "other.njpy:7"))
            shown = line.describe(time.monotonic() + 12)
        finally:
            line.close()
    assert shown == "shop.njpy:3  gpt\\x1b[2J  and 1 more  12 s"


def test_no_line_without_a_terminal() -> None:
    assert not is_status_shown(Console())

"""`njc debug` on a real terminal, as over ssh: Ctrl+C, recalled lines, the end, a lost connection.

The terminal is a pair of a pty, drawn by pyte, a terminal emulator of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyte
import pytest
from piped import SCRIPTED

from loopback import Answer
from openai_server import KEY, OpenAIServer, calls
from processes import is_running
from waiting import wait_until

SECONDS = 90.0
COLUMNS, ROWS = 100, 60
ROOT = Path(__file__).parents[4]
SOURCE = '"""natural\nBind <:x>, a number.\n"""\nprint("x is", x)\n'


def take_terminal() -> None:
    """In a new process: make its standard input its terminal, and let signals have their default effect.

    What is started under `nohup` or in the background of a shell ignores some of them, and children inherit that.
    """
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A program on a terminal (state: what the terminal shows)."""

    def __init__(self, *arguments: object, **environment: str) -> None:
        self.master, self.terminal = os.openpty()
        size = struct.pack("HHHH", ROWS, COLUMNS, 0, 0)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)
        self.modes = termios.tcgetattr(self.terminal)
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self.is_closed = False
        self.process = subprocess.Popen(
            [sys.executable, "-m", "njc", "debug", *map(str, arguments)],
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm-256color", "NJC_CACHE": "off", **environment},
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with suppress(OSError):
            while not self.is_closed:
                if select.select([self.master], [], [], 0.05)[0]:
                    self._stream.feed(os.read(self.master, 65536))

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def send(self, text: str) -> None:
        os.write(self.master, text.encode())

    def hang_up(self) -> None:
        """Close the terminal; a file that is being read would stay open."""
        self.is_closed = True
        self._reader.join(SECONDS)
        for handle in (self.terminal, self.master):
            with suppress(OSError):
                os.close(handle)

    def wait_for(self, *texts: str) -> None:
        """Wait until the screen shows the texts."""
        deadline = time.monotonic() + SECONDS
        while not all(text in self.text for text in texts):
            assert time.monotonic() < deadline, self.text
            assert self.process.poll() is None, self.text
            time.sleep(0.02)

    def end(self) -> int:
        """Wait for the end of the program; its exit code."""
        code = self.process.wait(SECONDS)
        assert termios.tcgetattr(self.terminal) == self.modes, "the terminal is as it was"
        return code


@contextmanager
def opened(*arguments: object, **environment: str) -> Iterator[Terminal]:
    terminal = Terminal(*arguments, **environment)
    try:
        yield terminal
    finally:
        with suppress(OSError):
            terminal.process.kill()
        terminal.process.wait()
        if not terminal.is_closed:
            terminal.hang_up()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "program.njpy"
    file.write_text(SOURCE)
    return file


def make_slow_reply() -> Answer:
    return Answer(calls(("run", json.dumps({"code": "x = 1", "done": True}))).body, after=3.0)


def test_commands_on_a_terminal(program: Path) -> None:
    with OpenAIServer([make_slow_reply()]) as server:
        environment = {"NJC_BASE_URL": server.base_url, "NJC_API_KEY": KEY}
        arguments = ("--model", "openai/gpt-4.1", program)
        with opened(*arguments, **environment) as terminal:
            terminal.wait_for("entry of the block", "(njc)")
            terminal.send("\x03")
            terminal.wait_for("`q` ends the debugger")
            terminal.send("c\n")
            wait_until(lambda: len(server.seen) == 1)
            terminal.send("\x03")
            terminal.wait_for("the program is to stop at its next step", "before Run")
            terminal.send("edit x = 7\n")
            terminal.wait_for("the edited effect will be performed")
            terminal.send("c\n")
            terminal.wait_for("| x is 7", "the program has ended")
            terminal.send("p 'recalled'.upper()\n")
            terminal.wait_for("error: the program is not stopped: it is ended")
            terminal.send("\x1b[A\x1b[A\n")
            terminal.wait_for("error: the program has ended; `N` goes back")
            terminal.send("\x04")
            assert terminal.end() == 0


def test_a_lost_connection_ends_the_debugger_and_the_program(tmp_path: Path) -> None:
    program, pid_file = tmp_path / "program.njpy", tmp_path / "pid"
    note = f"import os\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()))\n"
    program.write_text(note + SCRIPTED)
    with opened(program) as terminal:
        terminal.wait_for("step 0: entry")
        pid = int(pid_file.read_text())
        terminal.hang_up()
        assert terminal.process.wait(SECONDS) in (-signal.SIGHUP, 0, 1)
        wait_until(lambda: not is_running(pid))

"""A terminal line while a model is asked: the block, the model, and for how long.

    mailbox.njpy:17  gpt-4.1  12 s

It appears on standard error, if that is a terminal, half a second after a model is asked; the
program's prints remove it first. Not detected: output from other processes and from code outside
Python.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TextIO, cast

import click

from njc.commands.terminal.console import Console
from njrt.events import Asked, Began, Ended, Event, Replied, Unanswered
from njrt.log.listeners import add_listener
from njrt.values.rendering.writer import escape_unprintable

DELAY_SECONDS = 0.5
"""Shorter calls are not shown."""

REPAINT_SECONDS = 0.25

_MAKE_ROOM = "\x1bD\x1b[A"
"""Scroll if the cursor is on the terminal's last line, and stay in the same column (ECMA-48)."""

_WRITE_BELOW = "\x1b7\x1b[B\r\x1b[2K{}\x1b8"
"""Replace the line below the cursor and return; saves and restores it like DEC's VT100."""


class StatusLine:
    """The line, as an event listener (state: the runs, their open calls, whether it is painted)."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._asking: dict[str, str] = {}
        """What is shown of each run: its block and its model."""
        self._calls: dict[str, float] = {}
        """When the open call of a run began."""
        self._is_painted = False
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._streams = ExitStack()
        self._is_closed = False
        self._thread = threading.Thread(target=self._repaint, name="njc-status", daemon=True)
        self._thread.start()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self._take(event)

    def _take(self, event: Event) -> None:
        match event:
            case Began(run=run, place=place, model=model):
                self._asking[run] = f"{place}  {model}"
            case Asked(run=run):
                self._calls[run] = time.monotonic()
                self._changed.notify()
            case Replied(run=run) | Unanswered(run=run) | Ended(run=run):
                if self._calls.pop(run, None) is not None and not self._calls:
                    self.erase()
                    self._streams.close()

    def close(self) -> None:
        """Remove the line permanently."""
        with self._lock:
            self._is_closed = True
            self.erase()
            self._streams.close()
            self._changed.notify()
        self._thread.join(2)

    def erase(self) -> None:
        """Remove the line until it is painted again."""
        with self._lock:
            if self._is_painted:
                self._is_painted = False
                self._write("")

    def _repaint(self) -> None:
        with self._lock:
            while not self._is_closed:
                self._changed.wait(REPAINT_SECONDS if self._calls else None)
                oldest = min(self._calls.values(), default=None)
                if oldest is None or time.monotonic() - oldest < DELAY_SECONDS or self._is_closed:
                    continue
                if not self._is_painted:
                    self._watch_streams()
                self._is_painted = True
                width = shutil.get_terminal_size().columns - 1
                self._write(self.describe(time.monotonic())[:width])

    def describe(self, now: float) -> str:
        run, began = next(iter(self._calls.items()))
        others = f"  and {len(self._calls) - 1} more" if len(self._calls) > 1 else ""
        return f"{escape_unprintable(self._asking.get(run, ''))}{others}  {now - began:.0f} s"

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone, or the program has closed it
            self._terminal.write((_MAKE_ROOM if text else "") + _WRITE_BELOW.format(text))
            self._terminal.flush()

    def _watch_streams(self) -> None:
        """Make the program's prints remove the line until the call ends."""
        self._streams.close()
        for name in ("stdout", "stderr"):
            if (stream := getattr(sys, name)) is not None:
                watched = _WatchedStream(stream, self)
                setattr(sys, name, watched)
                self._streams.callback(_restore_stream, name, watched, stream)


def _restore_stream(name: str, watched: _WatchedStream, stream: TextIO) -> None:
    if getattr(sys, name) is watched:  # the program may have set its own in the meantime
        setattr(sys, name, stream)


class _WatchedStream:
    """A stream that removes the line before it is written to."""

    def __init__(self, stream: TextIO, line: StatusLine) -> None:
        self._stream = stream
        self._line = line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        self._line.erase()
        return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        self._line.erase()
        self._stream.writelines(lines)


def is_status_shown(console: Console) -> bool:
    """Return whether a terminal can show the line, and less output was not requested."""
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return console.verbosity > -1 and is_terminal and os.environ.get("TERM") != "dumb"


@contextmanager
def show_status(console: Console) -> Iterator[None]:
    """Show the line while this process's blocks ask models."""
    if not is_status_shown(console):
        yield
        return
    line = StatusLine(cast(TextIO, sys.stderr))
    stop = add_listener(line)
    try:
        yield
    finally:
        stop()
        line.close()


@contextmanager
def showing_progress(console: Console, total: int) -> Iterator[Callable[[int, str], None]]:
    """Show a progress bar on a terminal; yield its update, with what is done and a label."""
    if not is_status_shown(console):
        yield lambda done, label: None
        return
    with click.progressbar(length=total, file=sys.stderr) as bar:

        def update(done: int, label: str) -> None:
            bar.label = label
            bar.update(done - bar.pos)

        yield update

"""The process of a controlled run.

    program = ProgramProcess(settings, receive)
    program.start({"command": "start", ...})          a fresh process

`receive` is called, in a thread, with each message of the running process, and with None when the
process ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from typing import Any

from njc.debug.timeline.channel import CHANNEL_VARIABLE, ChannelClosedError, ControlChannel, Json
from njc.debug.timeline.happenings import RunSettings

Receive = Callable[[dict[str, Any] | None], None]


class ProgramProcess:
    """The process of one run, which a fresh one may replace (state: the process)."""

    def __init__(self, settings: RunSettings, receive: Receive) -> None:
        self._settings, self._receive = settings, receive
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: ControlChannel | None = None

    @property
    def channel(self) -> ControlChannel:
        if self._channel is None:
            raise ChannelClosedError("the program does not run")
        return self._channel

    def start(self, message: Json) -> None:
        """End the running process, if any, and start a fresh one; raises OSError."""
        self.stop()
        settings = self._settings
        ours, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "njc.debug.timeline.debuggee"],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what does not go through `sys.stdout`
                cwd=settings.folder,
                env={
                    **os.environ,
                    "PYTHONHASHSEED": "0",
                    **settings.environment,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                    CHANNEL_VARIABLE: str(theirs.fileno()),
                },
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._channel = channel = ControlChannel(ours)
        threading.Thread(target=self._read, args=(channel,), daemon=True).start()
        channel.send(message)

    def stop(self) -> None:
        """End the running process, with those that it has started."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        if self._process is not None:
            with suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def wait(self) -> int | None:
        """Return the running process's exit code, after its last message; None if unknown."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(10.0) if self._process is not None else None
        return None

    def _read(self, channel: ControlChannel) -> None:
        message: dict[str, Any] | None = {}
        while message is not None:
            try:
                message = channel.receive()
            except ChannelClosedError:
                message = None
            if channel is not self._channel:  # a fresh process has replaced this one
                return
            self._receive(message)

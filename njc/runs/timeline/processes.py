"""The process of a controlled run.

    pool = ProcessPool(settings, receive)
    pool.start({"command": "start", ...})          a fresh process

`receive` is called, in a thread, with each message of the running process, and with None when the
process ends.
"""

from __future__ import annotations

import codecs
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Listener
from tempfile import TemporaryDirectory
from typing import IO, Any

from njc.runs.timeline.channel import ChannelClosedError, ControlChannel, Json
from njc.runs.timeline.happenings import RunSettings
from njc.worker import make_clean_environment

CONNECT_SECONDS = 300.0
"""Seconds within which a process must connect; if it ends earlier, the wait ends too."""

Receive = Callable[[dict[str, Any] | None], None]


class ProcessPool:
    """The process of one run, which a fresh one may replace (state: the process)."""

    def __init__(self, settings: RunSettings, receive: Receive) -> None:
        self._settings, self._receive = settings, receive
        self._key = secrets.token_bytes(32)
        self._folder = TemporaryDirectory(prefix="njc-")
        address = os.path.join(self._folder.name, "listener") if os.name == "posix" else None
        self._listener = Listener(address, authkey=self._key, backlog=16)
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: ControlChannel | None = None
        self._generation = 0
        self._has_connected = threading.Event()
        self._is_closed = False
        threading.Thread(target=self._accept, name="debugger accept", daemon=True).start()

    @property
    def channel(self) -> ControlChannel:
        if self._channel is None:
            raise ChannelClosedError("the program does not run")
        return self._channel

    def start(self, message: Json) -> None:
        """End the running process, if any, and start a fresh one."""
        self.stop()
        settings = self._settings
        config = json.dumps({"address": self._listener.address, "key": self._key.hex()})
        environment = {**os.environ, "PYTHONHASHSEED": "0", **settings.environment}
        environment["PYTHONPATH"] = make_clean_environment()["PYTHONPATH"]
        environment["NJC_TIMELINE"] = config
        self._has_connected.clear()
        process = self._process = subprocess.Popen(
            [sys.executable, "-m", "njc.runs.timeline.debuggee"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=settings.folder,
            env=environment,
            start_new_session=True,
        )
        for name, stream in (("stdout", process.stdout), ("stderr", process.stderr)):
            if stream is not None:
                threading.Thread(target=self._follow, args=(name, stream), daemon=True).start()
        self._await_connection(lambda: process.poll() is not None)
        self.channel.send(message)

    def stop(self) -> None:
        """End the running process, with those that it has started."""
        self._generation += 1
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            with suppress(OSError):
                self._process.kill()
            with suppress(OSError, AttributeError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def wait(self) -> int | None:
        """Return the running process's exit code, after its last message; None if unknown."""
        if self._process is None:
            return None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(10.0)
        return None

    def close(self) -> None:
        self._is_closed = True
        self.stop()
        self._listener.close()
        self._folder.cleanup()

    def _await_connection(self, has_ended: Callable[[], bool]) -> None:
        """Wait for a process to connect; `has_ended` returns whether it has ended."""
        deadline = CONNECT_SECONDS
        while not self._has_connected.wait(0.2):
            deadline -= 0.2
            if deadline <= 0 or (has_ended() and not self._has_connected.wait(1.0)):
                raise TimeoutError("the process of the program did not start")

    def _accept(self) -> None:
        while not self._is_closed:
            try:
                channel = ControlChannel(self._listener.accept())
                channel.receive()
            except Exception:  # not one of our processes, or it has already ended
                continue
            self._channel = channel
            arguments = channel, self._generation
            threading.Thread(target=self._read, args=arguments, daemon=True).start()
            self._has_connected.set()

    def _follow(self, name: str, stream: IO[bytes]) -> None:
        """Report the bytes that a process writes directly to a file descriptor."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        with stream:
            while True:
                data = os.read(stream.fileno(), 65536)
                if text := decoder.decode(data, final=not data):
                    self._receive({"output": text, "stream": name, "muted": False, "direct": True})
                if not data:
                    return

    def _read(self, channel: ControlChannel, generation: int) -> None:
        while True:
            try:
                message = channel.receive()
            except ChannelClosedError:
                message = None
            if generation != self._generation:
                return
            self._receive(message)
            if message is None:
                return

"""A client that checks what the Debug Adapter Protocol demands of each message, and sends anything at any time."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

SECONDS = 110.0
_HEADER = re.compile(rb"Content-Length: (\d+)\r\n\r\n")


class StrictClient:
    """Drives one `njc dap` (state: the requests without a response, the messages so far)."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "njc", "dap"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
        )
        self.pending: dict[int, str] = {}
        self.responses: dict[int, Any] = {}
        self.events: list[Any] = []
        self.problems: list[str] = []
        self.stderr = ""
        self._sent = self._received = 0
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=read, daemon=True) for read in (self._read, self._read_errors)
        ]
        for reader in self._readers:
            reader.start()

    # ── sending ──────────────────────────────────────────────────────────────────────────────────

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, command: str, arguments: Any = None, **fields: Any) -> int:
        """Send a request and do not wait; its number."""
        self._sent += 1
        message = {"seq": self._sent, "type": "request", "command": command, **fields}
        if arguments is not None:
            message["arguments"] = arguments
        self.pending[self._sent] = command
        data = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(data) + data)
        return self._sent

    def request(self, command: str, arguments: Any = None) -> Any:
        """Send a request and wait for its response."""
        number = self.send(command, arguments)
        while number not in self.responses:
            self._take()
        return self.responses[number]

    def wait_for(self, event: str) -> Any:
        """Return the next event of this name."""
        while True:
            if (message := self._take()).get("event") == event:
                return message["body"]

    def launch(self, **arguments: Any) -> None:
        """Launch `program.njpy`, as editors do."""
        self.request("initialize", {"adapterID": "njc"})
        assert self.request("launch", {"program": "program.njpy", **arguments})["success"]
        assert self.request("configurationDone")["success"]

    def end(self) -> int:
        """Close the stream of requests; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(SECONDS)
        for reader in self._readers:
            reader.join(SECONDS)
        while not self._inbox.empty():
            self._take()
        return code

    # ── receiving ────────────────────────────────────────────────────────────────────────────────

    def _read(self) -> None:
        assert self.process.stdout is not None
        data = b""
        while new := os.read(self.process.stdout.fileno(), 65536):
            data += new
            while header := _HEADER.match(data):
                end = header.end() + int(header[1])
                if len(data) < end:
                    break
                self._inbox.put(json.loads(data[header.end() : end]))
                data = data[end:]
        if data:
            self.problems.append(f"what is no message: {data[:80]!r}")
        self._inbox.put({})

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.stderr = self.process.stderr.read().decode()

    def _take(self) -> Any:
        message = self._inbox.get(timeout=SECONDS)
        if not message:
            self._inbox.put(message)
            assert self.process.poll() is not None, "the adapter is silent"
            self._inbox.get()
            return message
        self._received += 1
        self._check(message)
        if message["type"] == "event":
            self.events.append(message)
        else:
            self.responses[message["request_seq"]] = message
        return message

    def _check(self, message: Any) -> None:
        match message:
            case {"seq": int(number)} if number != self._received:
                problem = f"seq {number} is not {self._received}"
            case {"type": "response", "request_seq": number, "command": command}:
                wanted = self.pending.pop(number, None)
                problem = "" if command == wanted else f"a response to {command}, not to {wanted}"
                if not message.get("success") and not isinstance(message.get("message"), str):
                    problem = "a failure without a message"
            case {"type": "event", "event": "stopped", "body": dict(body)}:
                is_whole = isinstance(body.get("reason"), str) and body.get("threadId") == 1
                problem = "" if is_whole else "a stop without its reason or thread"
            case {"type": "event", "event": "output", "body": dict(body)}:
                problem = "" if isinstance(body.get("output"), str) else "output without a text"
            case {"type": "event", "event": str(), "body": dict()}:
                problem = ""
            case _:
                problem = "not a message"
        if problem:
            self.problems.append(f"{problem}: {message}")

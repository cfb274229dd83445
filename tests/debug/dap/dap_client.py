"""A client of the debug adapter: dap-python speaks the protocol, over pipes to a process of `njc dap`."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import dap
from dap.base import ErrorResponse, Response
from dap.events import EventBody, InitializedEvent, OutputEvent, StoppedEvent, TerminatedEvent
from dap.handler import Handler

SECONDS = 110.0

Body = TypeVar("Body")


class ResponseBody(SimpleNamespace):
    """The body of a response, or an object in it; fields that it does not have are None."""

    def __getattr__(self, name: str) -> None:
        return None


class ResponseHandler(Handler):
    """Gives the bodies of successful responses as they are.

    The types of dap-python demand fields that the protocol does not, and confuse some bodies with others.
    """

    def handle_response(self, response: Response) -> Any:
        if not response.success:
            return super().handle_response(response)
        request = self.client._pending_requests.pop(response.request_seq)
        assert request.command == response.command
        body = json.dumps(response.body)
        return json.loads(body, object_hook=lambda fields: ResponseBody(**fields))


class DapClient:
    """Drives one `njc dap`."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "njc", "dap"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=folder,
        )
        self.client = dap.Client("njc", **options)
        self.client.handler = ResponseHandler(self.client)
        self.output = ""
        self.events: list[EventBody] = []
        self._ends = 0
        self._bodies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._receive, daemon=True).start()
        self.initialized = self.flush(ResponseBody)

    def _receive(self) -> None:
        assert self.process.stdout is not None
        while data := os.read(self.process.stdout.fileno(), 65536):
            for body in self.client.receive(data):
                self._bodies.put(body)
        self._bodies.put(None)

    def send_bytes(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def flush(self, wanted: type[Body]) -> Body:
        """Send what is to be sent, and wait for a response or an event."""
        self.send_bytes(bytes(self.client.send()))
        return self.wait(wanted)

    def wait(self, wanted: type[Body]) -> Body:
        while not isinstance(body := self._take(), wanted):
            assert not isinstance(body, ErrorResponse), body.message
        return body

    def _take(self) -> Body:
        body = self._bodies.get(timeout=SECONDS)
        assert body is not None, "the adapter has ended"
        if isinstance(body, OutputEvent):
            self.output += body.output
        if isinstance(body, EventBody):
            self.events.append(body)
        return body

    def request(self, command: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Send a request and wait for its response: the body, or an ErrorResponse."""
        self.client.send_request(command, dict(arguments or {}))
        self.send_bytes(bytes(self.client.send()))
        while not isinstance(body := self._take(), ResponseBody | ErrorResponse):
            pass
        return body

    def launch(
        self, program: str, breakpoints: Mapping[Path, list[Any]] | None = None, **arguments: Any
    ) -> Any:
        """Launch a program as editors do: breakpoints are set before it starts."""
        launched = self.request("launch", {"program": program, **arguments})
        assert not isinstance(launched, ErrorResponse), launched.message
        if not any(isinstance(event, InitializedEvent) for event in self.events):
            self.wait(InitializedEvent)
        answers = [
            self.request("setBreakpoints", {"source": {"path": str(file)}, "breakpoints": points})
            for file, points in (breakpoints or {}).items()
        ]
        done = self.request("configurationDone")
        assert not isinstance(done, ErrorResponse), done.message
        return answers

    def stopped(self) -> StoppedEvent:
        return self.wait(StoppedEvent)

    def move(self, command: str) -> StoppedEvent:
        """Go on, or back, and wait for the stop."""
        answer = self.request(command, {"threadId": 1})
        assert not isinstance(answer, ErrorResponse), answer.message
        return self.stopped()

    def ended(self) -> None:
        """Wait for the end of the program, which a request before may have seen already."""
        self._ends += 1
        while sum(isinstance(event, TerminatedEvent) for event in self.events) < self._ends:
            self.wait(TerminatedEvent)

    def stack(self) -> list[tuple[str, int]]:
        """Return the names and lines of the frames."""
        answer = self.request("stackTrace", {"threadId": 1})
        return [(frame.name, frame.line) for frame in answer.stackFrames]

    def frames(self) -> Any:
        return self.request("stackTrace", {"threadId": 1}).stackFrames

    def scopes(self, frame: int) -> dict[str, int]:
        answer = self.request("scopes", {"frameId": frame})
        return {scope.name: scope.variablesReference for scope in answer.scopes}

    def variables(self, reference: int) -> dict[str, str]:
        answer = self.request("variables", {"variablesReference": reference})
        return {variable.name: variable.value for variable in answer.variables}

    def evaluate(self, expression: str, context: str = "watch") -> str:
        answer = self.request("evaluate", {"expression": expression, "context": context})
        if isinstance(answer, ErrorResponse):
            return f"error: {answer.message}"
        return str(answer.result)

    def close(self) -> int:
        """Disconnect; the exit code of the adapter."""
        self.request("disconnect")
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(SECONDS)

"""A headless Chromium, driven by its DevTools protocol over pipes.

    with Chromium(width=390, height=844, dark=True) as browser:
        browser.open(path)
        browser.evaluate("document.title")
        browser.screenshot(Path("page.png"))

https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

_START = """\
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Puts the pipes where the browser expects them: it reads descriptor 3 and writes descriptor 4."""


def find_chromium() -> str | None:
    """Return the browser's program, if one is installed."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Chromium:
    """A browser with one page."""

    def __init__(self, width: int = 1200, height: int = 800, dark: bool = False) -> None:
        program = find_chromium()
        assert program is not None, "no Chromium is installed"
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        flags += [
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={self._folder.name}",
        ]
        commands_in, self._write = os.pipe()
        self._read, answers_out = os.pipe()
        inherited = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in (commands_in, answers_out)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START, *map(str, inherited), program, *flags, "about:blank"],
            pass_fds=inherited,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for pipe in inherited:
            os.close(pipe)
        os.close(commands_in)
        os.close(answers_out)
        self._number = 0
        self._buffer = b""
        self.events: list[dict[str, Any]] = []
        self._session: str | None = None
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.set_screen(width, height, dark)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the browser with its processes; asked to end by itself, a busy one may take a minute."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)
        os.close(self._write)
        os.close(self._read)
        self._folder.cleanup()

    def send(self, method: str, timeout: float = 60, **params: Any) -> Any:
        """Send a command and wait for its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            answer = self._receive(until)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            got = os.read(self._read, 1 << 20)
            if not got:
                raise RuntimeError("the browser has ended")
            self._buffer += got
        text, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        return answer

    def set_screen(self, width: int, height: int, dark: bool) -> None:
        """Show the page as on a screen of this size, in light or dark colors."""
        metrics = {"deviceScaleFactor": 1, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path) -> None:
        """Open a file; returns when the navigation has begun."""
        self.send("Page.navigate", url=path.absolute().as_uri())

    def evaluate(self, expression: str, timeout: float = 60) -> Any:
        """Return the value of a JavaScript expression; a promise is awaited."""
        answer = self.send(
            "Runtime.evaluate",
            timeout,
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def wait_for(self, expression: str, timeout: float = 90) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + timeout
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > until:
                raise TimeoutError(expression)
            time.sleep(0.02)

    def find_complaints(self) -> list[str]:
        """What the page logged: uncaught errors, and what its policy has blocked."""
        found = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(event["params"]["exceptionDetails"])[:1000])
            elif event.get("method") == "Log.entryAdded":
                found.append(event["params"]["entry"]["text"])
        return found

    def screenshot(self, target: Path) -> None:
        """Save what is seen of the page."""
        data = self.send("Page.captureScreenshot", format="png")["data"]
        target.write_bytes(base64.b64decode(data))

"""The process of peer_worker.py in the environment of a library, and the programs that it is given.

with Worker(environment, server) as worker:
    worker.do({"path": ...}, seconds=60)     ──>   {"value": ...}, or {"error": "no result within 60 s"}
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from peer_cases import decorate, strip_decorators
from peer_environments import Library
from peer_server import PeerServer

WORKER = Path(__file__).with_name("peer_worker.py")


class Worker(contextlib.AbstractContextManager["Worker"]):
    """A process that runs programs; one that hangs is ended, and another one started for the next program."""

    def __init__(
        self, python: Path, speaks: str, server: PeerServer, folder: Path, **variables: str
    ) -> None:
        self._command = [str(python), str(WORKER), speaks]
        settings = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-loopback"}
        self._environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("NJC_", "NJ_", "OPENAI_", "ANTHROPIC_", "PYTHON"))
        } | {**settings, **variables}
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def do(self, job: dict[str, Any], seconds: float = 60.0) -> dict[str, Any]:
        """Carry out one job and return its result."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            ended_by_timer = timer.finished.is_set()
            timer.cancel()
        if line:
            result: dict[str, Any] = json.loads(line)
            return result
        self.close()
        if ended_by_timer:
            return {"error": f"no result within {seconds:g} s"}
        return {"error": self._read_last_line()}

    def _start(self) -> subprocess.Popen[str]:
        self._folder.mkdir(parents=True, exist_ok=True)
        with open(self._folder / "stderr", "w") as errors:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=self._environ,
                cwd=self._folder,
            )
        return self._process

    def _read_last_line(self) -> str:
        lines = (self._folder / "stderr").read_text(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "the process ended")[:200]

    def close(self) -> None:
        if self._process is None:
            return
        self._process.kill()
        self._process.communicate()
        self._process = None

    def __exit__(self, *_: object) -> None:
        self.close()


def write_programs(library: Library, name: str, program: str, folder: Path) -> Iterator[Path]:
    """Write a program as each way of writing it for a library has it; that of njpy is compiled."""
    folder.mkdir(parents=True, exist_ok=True)
    if not library.decorator:
        source = SourceFile(f"{name}.njpy", strip_decorators(program).encode())
        compilation = compile_source(source)
        assert compilation.output is not None, compilation.diagnostics
        path = folder / f"{name}.py"
        path.write_bytes(compilation.output)
        yield path
        return
    for number, text in enumerate(decorate(program, library.decorator)):
        path = folder / f"{name}_{number}.py"
        path.write_text(library.prelude + text, encoding="utf-8")
        yield path

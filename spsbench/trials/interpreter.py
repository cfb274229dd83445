"""A code interpreter for prompts that see no state: Python in a process of its own, which begins empty.

    with Interpreter() as interpreter:
        interpreter.run("x = 6")          Output("", failed=False)
        interpreter.run("x * 7")          Output("42", failed=False)
        interpreter.run("1 / 0")          Output("ZeroDivisionError: division by zero", failed=True)

What was printed comes first, then the value of the last expression. Variables live on until the end of the
conversation. The process has none of the program's variables, and not its folder, environment or input.
"""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import time
from dataclasses import dataclass
from types import TracebackType

TIMEOUT_SECONDS = 30.0
MAX_OUTPUT_CHARACTERS = 4000

_INTERPRETER_SOURCE = """
import ast, contextlib, io, json, sys
asked, told = sys.stdin, sys.stdout
sys.stdin = io.StringIO()
names = {"__name__": "__main__"}
for line in asked:
    printed, failed = io.StringIO(), False
    with contextlib.redirect_stdout(printed):
        try:
            tree = ast.parse(json.loads(line))
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<code>", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
                if value is not None:
                    print(repr(value))
        except BaseException as error:
            failed = True
            print(f"{type(error).__name__}: {error}")
    print(json.dumps({"text": printed.getvalue(), "failed": failed}), file=told, flush=True)
"""


@dataclass(frozen=True, slots=True)
class InterpreterOutput:
    """What a piece of code printed, or how it failed."""

    text: str
    failed: bool


class Interpreter:
    """A process that runs pieces of Python one after the other (state: its variables)."""

    def __init__(self, seconds: float = TIMEOUT_SECONDS) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def run(self, code: str) -> InterpreterOutput:
        """Run a piece of code, for so many seconds at most; after that the variables are lost."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(code).encode() + b"\n")
            process.stdin.flush()
            line = self._read_line(process)
        except BrokenPipeError:
            line = b""
        if line is None or not line.endswith(b"\n"):
            self.close()
            why = "it ran for too long" if line is None else "it ended the interpreter"
            return InterpreterOutput(f"{why}; all variables are lost", failed=True)
        told = json.loads(line)
        text = told["text"].rstrip("\n")
        if len(text) > MAX_OUTPUT_CHARACTERS:
            text = f"{text[:MAX_OUTPUT_CHARACTERS]} ... (+{len(text) - MAX_OUTPUT_CHARACTERS} characters)"
        return InterpreterOutput(text, told["failed"])

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _INTERPRETER_SOURCE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={},
        )
        return self._process

    def _read_line(self, process: subprocess.Popen[bytes]) -> bytes | None:
        """The next line that the process says; None where it takes too long."""
        assert process.stdout is not None
        until, line = time.monotonic() + self.seconds, b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, until - time.monotonic())):
                    return None
                part = process.stdout.read(65536)
                if not part:
                    break
                line += part
        return line

    def close(self) -> None:
        """End the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

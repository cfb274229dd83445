"""A code interpreter for prompts that see no state: Python in a process of its own, which begins empty.

    with Interpreter() as interpreter:
        interpreter.run("x = 6")          InterpreterOutput("", failed=False)
        interpreter.run("x * 7")          InterpreterOutput("42", failed=False)
        interpreter.run("1 / 0")          InterpreterOutput("ZeroDivisionError: division by zero", failed=True)

What was printed comes first, then the value of the last expression. Variables live until the end of the
conversation. The process has none of the program's variables, and not its folder, environment or input.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import spsbench
from njc.worker import Worker

TIMEOUT_SECONDS = 30.0
MAX_OUTPUT_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class InterpreterOutput:
    """What a piece of code printed, or how it failed."""

    text: str
    failed: bool


class Interpreter:
    """A process that runs pieces of Python one after the other (state: its variables)."""

    def __init__(self, seconds: float = TIMEOUT_SECONDS) -> None:
        self.seconds = seconds
        self._worker: Worker | None = None

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, code: str) -> InterpreterOutput:
        """Run a piece of code, for at most `seconds`; after that the variables are lost."""
        self._worker = self._worker or _start_worker()
        self._worker.send({"code": code})
        try:
            reply = self._worker.receive(self.seconds)
        except TimeoutError:
            return self._fail("it ran for too long")
        if reply is None:
            return self._fail("it ended the interpreter")
        text = reply["text"].rstrip("\n")
        if len(text) > MAX_OUTPUT_CHARACTERS:
            text = f"{text[:MAX_OUTPUT_CHARACTERS]} ... (+{len(text) - MAX_OUTPUT_CHARACTERS} characters)"
        return InterpreterOutput(text, reply["failed"])

    def _fail(self, reason: str) -> InterpreterOutput:
        self.close()
        return InterpreterOutput(f"{reason}; all variables are lost", failed=True)

    def close(self) -> None:
        """End the process."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()


def _start_worker() -> Worker:
    folder = Path(spsbench.__file__).parents[1]
    environment = {"PYTHONPATH": f"{folder}"}
    return Worker("spsbench.trials.interpreter_process", Path("/"), environment)

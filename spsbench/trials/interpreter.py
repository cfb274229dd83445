"""The code interpreter: a process that runs pieces of Python, one after the other.

    with Interpreter() as interpreter:
        interpreter.run("print('so')\\n6 * 7")       InterpreterOutput("so\\n42", failed=False)

    {"code": "print('so')\\n6 * 7"}   ──main──>   {"text": "so\\n42\\n", "failed": false}

The code cannot import the project's modules, and has neither the trial's environment nor its input.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import spsbench
from njc.project.worker import Worker, open_channel

TIMEOUT_SECONDS = 30.0
MAX_OUTPUT_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class InterpreterOutput:
    """The output of a piece of code, or its failure."""

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
        """Run a piece of code for at most `seconds`; if it takes longer, the variables are lost."""
        if self._worker is None:
            environment = {"PYTHONPATH": f"{Path(spsbench.__file__).parents[1]}"}
            self._worker = Worker("spsbench.trials.interpreter", Path("/"), environment)
        self._worker.send({"code": code})
        try:
            reply = self._worker.receive(self.seconds)
        except TimeoutError:
            return self._fail("it ran for too long")
        if reply is None:
            return self._fail("it ended the interpreter")
        text = reply["text"].rstrip("\n")
        if len(text) > MAX_OUTPUT_CHARACTERS:
            text = (
                f"{text[:MAX_OUTPUT_CHARACTERS]} ... (+{len(text) - MAX_OUTPUT_CHARACTERS}"
                " characters)"
            )
        return InterpreterOutput(text, reply["failed"])

    def _fail(self, reason: str) -> InterpreterOutput:
        self.close()
        return InterpreterOutput(f"{reason}; all variables are lost", failed=True)

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.kill()


# ── the process ───────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    """Run pieces of code, one after the other, on the same variables."""
    channel = open_channel()
    hide_project()
    names: dict[str, Any] = {"__name__": "__main__"}
    while True:
        channel.send(run_code(channel.receive()["code"], names))


def hide_project() -> None:
    """Leave only the modules of an isolated interpreter and an empty environment."""
    folder = os.environ.pop("PYTHONPATH")
    sys.path[:] = [path for path in sys.path if path not in ("", os.getcwd(), folder)]
    for name in [name for name in sys.modules if name.split(".")[0] in ("njc", "njrt", "spsbench")]:
        del sys.modules[name]
    os.environ.clear()


def run_code(code: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run a piece of code; return its output, then the value of its last expression."""
    printed, failed = io.StringIO(), False
    with contextlib.redirect_stdout(printed):
        try:
            tree = ast.parse(code)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, "<code>", "exec", dont_inherit=True), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
                if value is not None:
                    print(repr(value))
        except BaseException as error:
            failed = True
            print(f"{type(error).__name__}: {error}")
    return {"text": printed.getvalue(), "failed": failed}


if __name__ == "__main__":
    main()

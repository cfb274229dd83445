"""Judge answers: run them in a process with limits.

    with Judge() as judge:
        judge.accepts("def f(n):\\n    return n + 1", "4", "f(3)")      True: `assert 4 == f(3)` holds

The rule is from CruxEval: the function and `assert OUTPUT == ANSWER` run without an exception.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from njc.worker import Worker, make_clean_environment

CHECK_SECONDS = 3.0
"""The time of one check; CruxEval's own scorer has the same."""
START_SECONDS = 60.0
"""Extra seconds for a process, on a machine with other load."""


class Judge:
    """Checks answers (state: the process that runs them, started when it is needed)."""

    def __init__(self, seconds: float = CHECK_SECONDS) -> None:
        self._seconds = seconds
        self._verdicts: dict[str, bool] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="spsbench-", ignore_cleanup_errors=True)
        self._worker: Worker | None = None

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._folder.cleanup()

    def accepts(self, code: str, output: str, answer: str) -> bool:
        """Return whether an answer is right; the same question is run once."""
        program = f"{code}\nassert {output} == {answer}"
        if program not in self._verdicts:
            self._verdicts[program] = self._run(program)
        return self._verdicts[program]

    def _run(self, program: str) -> bool:
        if self._worker is None:
            self._worker = Worker(
                "spsbench.crux.judge_process", Path(self._folder.name), make_clean_environment()
            )
        try:
            program.encode()
        except UnicodeEncodeError:  # a lone surrogate: not a program
            return False
        self._worker.send({"program": program, "seconds": self._seconds})
        try:
            message = self._worker.receive(self._seconds + START_SECONDS)
        except TimeoutError:
            message = None
        if message is None:
            self._stop()
        return message is not None and message["passed"] is True

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None

"""Running code on lessons, in a process of its own: the outer side, which gives it limits and answers.

    rehearsed(stage, code, ask)  ->  Marks(Score(right=7, wrong=1, of=8), failures=(...))

The process inherits no keys and no settings of models: what the code asks a model is asked here, once for
each question. It is ended when it takes longer than it may.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from njc.learning.annotate import LineStep
from njc.learning.examples import ExampleSet
from njc.learning.learn import Evaluation, ExampleFailure
from njc.learning.sandboxed_run import SECONDS_PER_EXAMPLE, WorkerTask
from njc.static.holes import Hole
from njc.static.lock import LockScore
from njrt.errors import NaturalError
from njrt.messages import Reply, Request, UserMessage
from njrt.session.examples import format_example_line

_STARTUP_SECONDS = 30.0
_INHERITED_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "VIRTUAL_ENV",
)
WorkerMessage = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ProgramRunner:
    """Where the code of a gap is run: the program around it, compiled with live blocks, and the lessons."""

    gap: Hole
    program: str
    folders: tuple[Path, ...]
    lessons: ExampleSet


def evaluate_code(stage: ProgramRunner, code: str, ask: Callable[[Request], Reply]) -> Evaluation:
    """Run code on all lessons; a process that ends early has failed those that are left."""
    lessons = stage.lessons.all
    results = list(_run_worker(stage, code, ask))
    results += [{"verdict": "wrong", "differences": ["the code did not end"]}] * (
        len(lessons) - len(results)
    )
    verdicts = [each["verdict"] for each in results]
    usable = len(verdicts) - verdicts.count("unusable")
    failures = tuple(
        ExampleFailure(
            lesson,
            tuple(each["differences"]),
            tuple(LineStep(*step) for step in each.get("steps", ())),
        )
        for lesson, each in zip(stage.lessons.shown, results, strict=False)
        if each["verdict"] == "wrong"
    )
    return Evaluation(LockScore(verdicts.count("right"), verdicts.count("wrong"), usable), failures)


def _run_worker(
    stage: ProgramRunner, code: str, ask: Callable[[Request], Reply]
) -> Iterator[WorkerMessage]:
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "njc.learning.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_make_environment(),
            text=True,
            encoding="utf-8",
        )
        seconds = _STARTUP_SECONDS + SECONDS_PER_EXAMPLE * len(stage.lessons.all)
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            _write_message(process.stdin, asdict(_make_task(stage, code)))
            while (said := _read_message(process, process.stdout, seconds)) is not None:
                if "ask" not in said:
                    yield said
                else:
                    _write_message(process.stdin, _answer_question(stage.gap, said["ask"], ask))
        finally:
            process.kill()
            process.communicate()


def _read_message(
    process: subprocess.Popen[str], out: IO[str], seconds: float
) -> WorkerMessage | None:
    """The next thing that the process says; None once it has ended, or has been ended."""
    clock = threading.Timer(seconds, process.kill)
    clock.start()
    try:
        line = out.readline()
        said: WorkerMessage = json.loads(line) if line else {}
        return said or None
    except ValueError:
        return None
    finally:
        clock.cancel()


def _write_message(stdin: IO[str], what: WorkerMessage) -> None:
    with suppress(BrokenPipeError):
        stdin.write(json.dumps(what) + "\n")
        stdin.flush()


def _answer_question(
    gap: Hole, asked: WorkerMessage, ask: Callable[[Request], Reply]
) -> WorkerMessage:
    request = Request(
        system=asked["system"],
        messages=(UserMessage(asked["question"]),),
        temperature=0.0,
        max_reply_tokens=gap.options.max_reply_tokens or 1024,
        timeout=gap.options.max_call_seconds or 120.0,
        place=gap.place,
    )
    try:
        return {"text": ask(request).message.text}
    except NaturalError as error:
        return {"error": str(error)}


def _make_task(stage: ProgramRunner, code: str) -> WorkerTask:
    gap = stage.gap
    lessons: Sequence[WorkerMessage] = [
        json.loads(format_example_line(each)) for each in stage.lessons.all
    ]
    return WorkerTask(
        stage.program,
        gap.place,
        code,
        gap.helper,
        gap.class_name,
        gap.mode == "auto",
        [str(folder) for folder in stage.folders],
        lessons,
    )


def _make_environment() -> Mapping[str, str]:
    """What the process sees of this one's environment: where things are, and no keys."""
    kept = {name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ}
    path = os.pathsep.join(each for each in sys.path if each)
    return {**kept, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}

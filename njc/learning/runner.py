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

from njc.learning.annotate import Step
from njc.learning.examples import Lessons
from njc.learning.learn import Failure, Marks
from njc.learning.sandboxed_run import SECONDS, Task
from njc.static.holes import Gap
from njc.static.lock import Score
from njrt.errors import NaturalError
from njrt.messages import Reply, Request, UserMessage
from njrt.session.examples import example_line

_STARTING_SECONDS = 30.0
_PASSED_ON = (
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
Said = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the code of a gap is run: the program around it, compiled with live blocks, and the lessons."""

    gap: Gap
    program: str
    folders: tuple[Path, ...]
    lessons: Lessons


def rehearsed(stage: Stage, code: str, ask: Callable[[Request], Reply]) -> Marks:
    """Run code on all lessons; a process that ends early has failed those that are left."""
    lessons = stage.lessons.all
    results = list(_results(stage, code, ask))
    results += [{"verdict": "wrong", "differences": ["the code did not end"]}] * (
        len(lessons) - len(results)
    )
    verdicts = [each["verdict"] for each in results]
    usable = len(verdicts) - verdicts.count("unusable")
    failures = tuple(
        Failure(
            lesson, tuple(each["differences"]), tuple(Step(*step) for step in each.get("steps", ()))
        )
        for lesson, each in zip(stage.lessons.shown, results, strict=False)
        if each["verdict"] == "wrong"
    )
    return Marks(Score(verdicts.count("right"), verdicts.count("wrong"), usable), failures)


def _results(stage: Stage, code: str, ask: Callable[[Request], Reply]) -> Iterator[Said]:
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "njc.learning.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_environment(),
            text=True,
            encoding="utf-8",
        )
        seconds = _STARTING_SECONDS + SECONDS * len(stage.lessons.all)
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            _write(process.stdin, asdict(_task(stage, code)))
            while (said := _said(process, process.stdout, seconds)) is not None:
                if "ask" not in said:
                    yield said
                else:
                    _write(process.stdin, _answer(stage.gap, said["ask"], ask))
        finally:
            process.kill()
            process.communicate()


def _said(process: subprocess.Popen[str], out: IO[str], seconds: float) -> Said | None:
    """The next thing that the process says; None once it has ended, or has been ended."""
    clock = threading.Timer(seconds, process.kill)
    clock.start()
    try:
        line = out.readline()
        said: Said = json.loads(line) if line else {}
        return said or None
    except ValueError:
        return None
    finally:
        clock.cancel()


def _write(stdin: IO[str], what: Said) -> None:
    with suppress(BrokenPipeError):
        stdin.write(json.dumps(what) + "\n")
        stdin.flush()


def _answer(gap: Gap, asked: Said, ask: Callable[[Request], Reply]) -> Said:
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


def _task(stage: Stage, code: str) -> Task:
    gap = stage.gap
    lessons: Sequence[Said] = [json.loads(example_line(each)) for each in stage.lessons.all]
    return Task(
        stage.program,
        gap.place,
        code,
        gap.helper,
        gap.class_name,
        gap.mode == "auto",
        [str(folder) for folder in stage.folders],
        lessons,
    )


def _environment() -> Mapping[str, str]:
    """What the process sees of this one's environment: where things are, and no keys."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    path = os.pathsep.join(each for each in sys.path if each)
    return {**kept, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}

"""Running code on the recorded runs of its block, in a process of its own.

    evaluate_code(runner, code, ask)  ->  Evaluation(LockScore(right=7, wrong=1, of=8), failures=(...))

The process inherits no keys and no settings of models: its questions to a model are asked here. It is ended
when it takes longer than it may.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from njc.evaluation.execution_trace import ExecutionTrace
from njc.evaluation.learning.examples import ExampleSet
from njc.evaluation.learning.learn import Evaluation, ExampleFailure
from njc.evaluation.learning.sandboxed_run import SECONDS_PER_EXAMPLE, WorkerTask
from njc.static.holes import Hole
from njc.static.lock import LockScore
from njc.worker import Message, open_worker
from njrt.errors import NaturalError
from njrt.messages import Reply, Request, UserMessage
from njrt.session.examples import format_example_line

_STARTUP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ProgramRunner:
    """Where the code of a hole is run: the program around it, compiled with live blocks, and the examples."""

    hole: Hole
    program: str
    folders: tuple[Path, ...]
    examples: ExampleSet
    seconds: float = SECONDS_PER_EXAMPLE
    """The limit for one example, without the time of model calls."""


def evaluate_code(runner: ProgramRunner, code: str, ask: Callable[[Request], Reply]) -> Evaluation:
    """Run code on all examples; if its process ends early, the examples that are left count as wrong."""
    verdicts = list(_run_worker(runner, code, ask))
    missing = len(runner.examples.all) - len(verdicts)
    verdicts += [{"verdict": "wrong", "differences": ["the code did not end"]}] * missing
    kinds = [verdict["verdict"] for verdict in verdicts]
    failures = tuple(
        ExampleFailure(
            example,
            tuple(verdict["differences"]),
            ExecutionTrace.from_json(verdict["trace"]) if "trace" in verdict else ExecutionTrace(),
        )
        for example, verdict in zip(runner.examples.shown, verdicts, strict=False)
        if verdict["verdict"] == "wrong"
    )
    usable = len(kinds) - kinds.count("unusable")
    return Evaluation(LockScore(kinds.count("right"), kinds.count("wrong"), usable), failures)


def _run_worker(
    runner: ProgramRunner, code: str, ask: Callable[[Request], Reply]
) -> Iterator[Message]:
    """Yield the verdicts, one for each example, until the process ends or takes too long."""
    seconds = _STARTUP_SECONDS + runner.seconds * len(runner.examples.all)
    with open_worker("njc.evaluation.learning.evaluate") as worker:
        worker.send(asdict(_make_task(runner, code)))
        try:
            while (message := worker.receive(seconds)) is not None:
                if "ask" in message:
                    worker.send(_answer_question(runner.hole, message["ask"], ask))
                else:
                    yield message
        except TimeoutError:
            return


def _answer_question(hole: Hole, question: Message, ask: Callable[[Request], Reply]) -> Message:
    request = Request(
        system=question["system"],
        messages=(UserMessage(question["question"]),),
        temperature=0.0,
        max_reply_tokens=hole.options.max_reply_tokens or 1024,
        timeout=hole.options.max_call_seconds or 120.0,
        place=hole.place,
    )
    try:
        return {"text": ask(request).message.text}
    except NaturalError as error:
        return {"error": str(error)}


def _make_task(runner: ProgramRunner, code: str) -> WorkerTask:
    hole = runner.hole
    return WorkerTask(
        runner.program,
        hole.place,
        code,
        hole.helper,
        hole.class_name,
        hole.mode == "auto",
        [str(folder) for folder in runner.folders],
        [json.loads(format_example_line(example)) for example in runner.examples.all],
        runner.seconds,
    )

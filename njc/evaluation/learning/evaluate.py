"""The process that runs code on examples: `python -m njc.evaluation.learning.evaluate`, started by `njc.evaluation.learning.runner`.

    received   {"program": "...", "code": "...", "examples": [...], ...}     the task
    sent       {"ask": {"question": "...", ...}}                             the code asks a model ...
    received   {"text": "..."}                                               ... and this is the answer
    sent       {"verdict": "wrong", "differences": ["`n` is 1, but should be 2"], "trace": {...}}

Of the program only imports, classes, functions and assignments are executed. What it prints is discarded.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import njrt
from njc.evaluation.learning.sandboxed_run import SECONDS_PER_EXAMPLE, ProgramValue, WorkerTask
from njc.evaluation.learning.verdict import evaluate_example
from njc.evaluation.repair.time_limit import limit_time, pause_time_limit
from njc.worker import open_channel
from njrt.messages import ModelMessage, Protocol, Reply, Request, UserMessage
from njrt.session.examples import example_from_json

MEMORY_LIMIT_BYTES = 2 << 30


def main() -> None:
    """Read a task, run the code on each example, and send the verdicts."""
    channel = open_channel(MEMORY_LIMIT_BYTES)
    task = WorkerTask(**channel.receive())

    def ask(question: Mapping[str, Any]) -> str:
        channel.send({"ask": question})
        answer = channel.receive()
        if "error" in answer:
            raise njrt.ServerError(answer["error"])
        text: str = answer["text"]
        return text

    sys.path[:0] = task.folders
    with njrt.using(model=ForwardingModel(ask), cache=False):
        namespace = execute_definitions(task)
        for example in map(example_from_json, task.examples):
            channel.send(evaluate_example(task, example, namespace))


@dataclass(frozen=True, slots=True)
class ForwardingModel:
    """A model that the parent process asks."""

    forward: Callable[[Mapping[str, Any]], str]
    protocol: Protocol = "text"
    name: str = "forwarded"

    def ask(self, request: Request) -> Reply:
        """Send the question to the parent, and wait for its answer."""
        texts = [message.text for message in request.messages if isinstance(message, UserMessage)]
        with pause_time_limit():
            text = self.forward({"system": request.system, "question": "\n".join(texts)})
        return Reply(ModelMessage(text))

    async def aask(self, request: Request) -> Reply:
        """Do the same; nothing else runs meanwhile."""
        return self.ask(request)


def execute_definitions(task: WorkerTask) -> dict[str, ProgramValue]:
    """Execute what the program defines; a definition that fails is left out, and so is everything else."""
    module = types.ModuleType("program")
    sys.modules["program"] = module  # where dataclasses and pydantic look for their annotations
    namespace = vars(module)
    namespace["__file__"] = task.path
    for statement in ast.parse(task.program).body:
        if isinstance(statement, _DEFINITION_TYPES):
            code = compile(ast.Module([statement], []), task.path, "exec", dont_inherit=True)
            with suppress(Exception, SystemExit), limit_time(SECONDS_PER_EXAMPLE):
                exec(code, namespace)
    return namespace


_DEFINITION_TYPES = (
    ast.Import,
    ast.ImportFrom,
    ast.ClassDef,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.Assign,
    ast.AnnAssign,
    getattr(ast, "TypeAlias", ast.AnnAssign),  # Python 3.12
)


if __name__ == "__main__":
    main()

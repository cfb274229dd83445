"""Running code on lessons, in a process of its own: `python -m njc.learning.worker` on the inner side.

    stdin    {"program": "...", "code": "...", "lessons": [...], ...}      one line: the task
    stdout   {"ask": {"question": "...", ...}}                             the code asks a model ...
    stdin    {"text": "..."}                                               ... and is answered
    stdout   {"verdict": "wrong", "differences": ["answer = 'a', not 'b'"], "steps": [[3, "n = 1"], ...]}

Of the program, only what it defines is carried out: imports, classes, functions, assignments. What it
prints goes nowhere.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import njrt
from njc.learning.sandboxed_run import (
    SECONDS_PER_EXAMPLE,
    ProgramValue,
    WorkerTask,
    limit_time,
    pause_time_limit,
)
from njc.learning.verdict import evaluate_example
from njrt.messages import ModelMessage, Protocol, Reply, Request, UserMessage
from njrt.session.examples import example_from_json

MEMORY_LIMIT_BYTES = 2 << 30


def main() -> None:
    """Read a task, run the code on each lesson, and say what came of it."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the program prints is no answer
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    task = WorkerTask(**json.loads(lines.readline()))
    _limit_memory()

    def say(said: Mapping[str, Any]) -> None:
        out.write(json.dumps(said) + "\n")
        out.flush()

    def ask(question: Mapping[str, Any]) -> str:
        say({"ask": question})
        answer: dict[str, Any] = json.loads(lines.readline())
        if "error" in answer:
            raise njrt.ServerError(answer["error"])
        text: str = answer["text"]
        return text

    sys.path[:0] = task.folders
    with njrt.using(model=ForwardingModel(ask), cache=False):
        namespace = execute_definitions(task)
        for written in task.lessons:
            say(evaluate_example(task, example_from_json(written), namespace))


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@dataclass(frozen=True, slots=True)
class ForwardingModel:
    """A model that is asked outside of this process."""

    forward: Callable[[Mapping[str, Any]], str]
    protocol: Protocol = "text"
    name: str = "forwarded"

    def ask(self, request: Request) -> Reply:
        """Hand the question out, and wait."""
        texts = [each.text for each in request.messages if isinstance(each, UserMessage)]
        with pause_time_limit():
            text = self.forward({"system": request.system, "question": "\n".join(texts)})
        return Reply(ModelMessage(text))

    async def aask(self, request: Request) -> Reply:
        """Do the same; nothing else runs meanwhile."""
        return self.ask(request)


def execute_definitions(task: WorkerTask) -> dict[str, ProgramValue]:
    """Carry out what the program defines; what fails is left out, and so is everything else."""
    import types

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

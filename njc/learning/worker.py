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
from njc.learning.sandboxed_run import SECONDS, Task, Value, timed, untimed
from njc.learning.verdict import verdict
from njrt.messages import ModelMessage, Protocol, Reply, Request, UserMessage
from njrt.session.examples import example_of

MEMORY = 2 << 30


def main() -> None:
    """Read a task, run the code on each lesson, and say what came of it."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the program prints is no answer
    lines = os.fdopen(os.dup(0), encoding="utf-8")
    task = Task(**json.loads(lines.readline()))
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
    with njrt.using(model=Forwarded(ask), cache=False):
        namespace = definitions(task)
        for written in task.lessons:
            say(verdict(task, example_of(written), namespace))


def _limit_memory() -> None:
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


@dataclass(frozen=True, slots=True)
class Forwarded:
    """A model that is asked outside of this process."""

    forward: Callable[[Mapping[str, Any]], str]
    protocol: Protocol = "text"
    name: str = "forwarded"

    def ask(self, request: Request) -> Reply:
        """Hand the question out, and wait."""
        texts = [each.text for each in request.messages if isinstance(each, UserMessage)]
        with untimed():
            text = self.forward({"system": request.system, "question": "\n".join(texts)})
        return Reply(ModelMessage(text))

    async def aask(self, request: Request) -> Reply:
        """Do the same; nothing else runs meanwhile."""
        return self.ask(request)


def definitions(task: Task) -> dict[str, Value]:
    """Carry out what the program defines; what fails is left out, and so is everything else."""
    import types

    module = types.ModuleType("program")
    sys.modules["program"] = module  # where dataclasses and pydantic look for their annotations
    namespace = vars(module)
    namespace["__file__"] = task.path
    for statement in ast.parse(task.program).body:
        if isinstance(statement, _DEFINING):
            code = compile(ast.Module([statement], []), task.path, "exec", dont_inherit=True)
            with suppress(Exception, SystemExit), timed(SECONDS):
                exec(code, namespace)
    return namespace


_DEFINING = (
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

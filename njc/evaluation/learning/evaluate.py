"""The process that runs code on examples: `python -m njc.evaluation.learning.evaluate`, started by `njc.evaluation.learning.study`.

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
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import njrt
from njc.evaluation.learning.sandboxed_run import (
    SECONDS_PER_EXAMPLE,
    ProgramValue,
    WorkerTask,
    execute_once,
    make_recorder,
)
from njc.evaluation.repair.time_limit import TimeLimitError, limit_time, pause_time_limit
from njc.worker import open_channel
from njrt.messages import ModelMessage, Protocol, Reply, Request, UserMessage
from njrt.rendering.one_line import write_brief
from njrt.session.examples import RETURN_VALUE, Example, example_from_json
from njrt.values.decode import decode_values
from njrt.values.equality import is_same_value

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


# ── comparing one run of code with the recorded run ────────────────────────────────────────────────


_MAX_VALUE_CHARS = 240


def evaluate_example(
    task: WorkerTask, example: Example, namespace: dict[str, ProgramValue]
) -> dict[str, Any]:
    """Run the code on one example, and compare the result with the recorded one."""
    try:
        given = decode_values(example.before, namespace, example.classes)
        value = {} if example.value is None else {RETURN_VALUE: example.value}
        wanted = decode_values({**example.after, **value}, namespace, example.classes)
        untouched = decode_values(example.before, namespace, example.classes)
    except Exception as error:
        return {
            "verdict": "unusable",
            "reason": f"its values cannot be restored: {write_brief(error, 200)}",
        }
    returned = wanted.pop(RETURN_VALUE, None)
    untouched = {name: value for name, value in untouched.items() if name not in example.after}
    recorder = make_recorder()
    try:
        how, result, variables = execute_once(task, given, namespace, recorder)
    except TimeLimitError:
        how, result, variables = "ran too long", None, {}
    if how == "unfit":
        return {"verdict": "unfit"}
    same_error = (
        example.outcome == "raised" and how == "raised" and type(result).__name__ == example.error
    )
    found: list[str] = []
    if how != example.outcome or (how == "raised" and not same_error):
        found.append(
            f"it {_describe_end(how, result)}, but should have {_describe_expected_end(example)}"
        )
    else:
        if how == "returned" and not is_same_value(result, returned):
            found.append(
                f"it returned {_format_value(result)}, but should have returned {_format_value(returned)}"
            )
        if how != "raised":
            found += _list_differences({**given, **variables}, wanted)
        found += _list_differences(given, untouched, "should still be")
    return {
        "verdict": "wrong" if found else "right",
        "differences": found,
        "trace": recorder.make_trace().to_json(),
    }


def _list_differences(
    variables: Mapping[str, ProgramValue],
    wanted: Mapping[str, ProgramValue],
    should: str = "should be",
) -> Iterator[str]:
    for path, value in wanted.items():
        if path not in variables:
            yield f"`{path}` is not bound, but should be {_format_value(value)}"
        elif not is_same_value(variables[path], value):
            yield f"`{path}` is {_format_value(variables[path])}, but {should} {_format_value(value)}"


def _describe_end(how: str, result: ProgramValue) -> str:
    return f"raised {write_brief(result, _MAX_VALUE_CHARS)}" if how == "raised" else how


def _describe_expected_end(example: Example) -> str:
    return f"raised {example.error}" if example.outcome == "raised" else example.outcome


def _format_value(value: ProgramValue) -> str:
    return write_brief(value, _MAX_VALUE_CHARS)


if __name__ == "__main__":
    main()

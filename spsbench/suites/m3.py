"""M3ToolEval, CodeAct's tasks with tools: DNA, messages, trade, travel, a small web.

    load_m3_tasks(Path("scripts/eval/m3tooleval"))    ->  (SuiteTask("dna_sequencer/...", ...), ...)

The folder comes from the repository xingyaoww/code-act (MIT). Its modules are imported from there, without the
progress bar and the IPython shell that only its own runner needs. Answers are judged by the suite's own code.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import io
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from njrt.messages import Json, make_object_schema
from spsbench.results import InputError
from spsbench.suites.task import Bench, CallLog, SuiteTask, SuiteTool

PACKAGE = "spsbench_m3tooleval"
KINDS = (
    *("dna_sequencer", "message_decoder", "trade_calculator"),
    *("travel_itinerary_planning", "web_browsing"),
)
JSON_TYPES: Mapping[str, Json] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
}
TEXT_OR_NUMBER: Json = {"anyOf": [{"type": "string"}, {"type": "number"}]}


def load_m3_tasks(folder: Path) -> tuple[SuiteTask, ...]:
    """Return all tasks of a folder; raises `InputError` if it has none."""
    if not (folder / "tasks" / "base.py").is_file():
        raise InputError(
            f"{folder} has no tasks/base.py: --data names the folder scripts/eval/m3tooleval of a clone of "
            "https://github.com/xingyaoww/code-act"
        )
    with open_package(folder / "tasks"):
        return tuple(
            make_task(kind, task)
            for kind in KINDS
            for task in importlib.import_module(f"{PACKAGE}.impl.{kind}").TASKS
        )


@contextlib.contextmanager
def open_package(folder: Path) -> Iterator[None]:
    """Make the folder importable, without output, and with stubs for the imports that only its runner needs."""
    stubs = {name: ModuleType(name) for name in (PACKAGE, f"{PACKAGE}.repl", "tqdm")}
    stubs[PACKAGE].__path__ = [str(folder)]
    vars(stubs[f"{PACKAGE}.repl"])["PythonREPL"] = None
    vars(stubs["tqdm"])["tqdm"] = None
    kept = {name: sys.modules[name] for name in stubs if name in sys.modules}
    sys.modules.update(stubs)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        for name in [name for name in sys.modules if name.startswith(PACKAGE) or name in stubs]:
            del sys.modules[name]
        sys.modules.update(kept)


def make_task(kind: str, task: Any) -> SuiteTask:
    """Return one of the suite's tasks as ours."""
    names = " ".join(f"<{name}>" for name in task.tools)
    answer = task.expected_output
    return SuiteTask(
        name=task.name,
        stratum=kind,
        turns=(task.instruction,),
        block=f"Do what <request> asks, with the functions {names}. Put the answer into <:answer>.",
        open=partial(open_bench, task),
        judge=lambda played: played.value is not None and bool(task.check_answer(played.value)),
        result=str,
        answer=str(answer),
        truth=((),),
        natural_truth=(f"answer = {answer!r}",),
    )


def open_bench(task: Any) -> Bench:
    """Return the tools of a task, with fresh state."""
    log = CallLog()
    tools = tuple(make_tool(tool, log) for tool in copy.deepcopy(dict(task.tools)).values())
    return Bench(tools, {tool.name: tool.function for tool in tools}, log)


def make_tool(tool: Any, log: CallLog) -> SuiteTool:
    """Return a tool with the suite's signature and description."""
    stub = make_stub(tool.fn_signature, tool.description, tool.function)
    return SuiteTool(
        tool.name, tool.fn_signature, tool.description, make_parameters(stub), log.watch(stub)
    )


def make_stub(signature: str, description: str, function: Any) -> Any:
    """Return a function with this signature and docstring that calls another function."""
    name, _, rest = signature.partition("(")
    inner = re.match(r"(.*?)\)\s*(->|$)", rest)
    names = [part.partition(":")[0].strip() for part in (inner[1] if inner else "").split(",")]
    source = f"def {signature}:\n    return __call({', '.join(filter(None, names))})\n"
    namespace: dict[str, Any] = {"__call": function}
    exec(source, namespace)
    stub = namespace[name]
    stub.__doc__ = description
    return stub


def make_parameters(stub: Any) -> Mapping[str, Any]:
    """Return the JSON schema of a function's parameters; `*args` are an array."""
    schemas = {}
    for name, parameter in inspect.signature(stub).parameters.items():
        schema = JSON_TYPES.get(parameter.annotation, TEXT_OR_NUMBER)
        is_variadic = parameter.kind is parameter.VAR_POSITIONAL
        schemas[name] = {"type": "array", "items": schema} if is_variadic else schema
    return make_object_schema(schemas)

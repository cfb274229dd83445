"""BFCL's multi-turn tasks: 200 conversations about file systems, cars, tickets, trading and travel.

    load_bfcl_tasks()    ->  (SuiteTask("multi_turn_base_0", ...), ...)

Data, classes and checker come from the package `bfcl-eval`; nothing is copied from it. The checker repeats the
recorded calls on new objects, makes the right calls on others, and compares state and results turn by turn.
"""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from njrt.messages import make_object_schema
from spsbench.results import InputError
from spsbench.suites.task import Bench, CallLog, Played, SuiteTask, SuiteTool

INSTALL = "pip install --no-deps bfcl-eval mpmath"
CATEGORY = "multi_turn_base"
CONFIGURATION = "bfcl_eval.constants.executable_backend_config"
NAMES = {
    "GorillaFileSystem": "fs",
    "MathAPI": "math_api",
    "MessageAPI": "messages",
    "TicketAPI": "tickets",
    "TradingBot": "trading",
    "TravelAPI": "travel",
    "TwitterAPI": "twitter",
    "VehicleControlAPI": "car",
}
"""The variables of the natural blocks, by class."""
JSON_TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": "string"}
PYTHON_TYPES = {"string": "str", "integer": "int", "boolean": "bool", "array": "list"}


def load_bfcl_tasks() -> tuple[SuiteTask, ...]:
    """Return all tasks; raises `InputError` if the package is missing."""
    try:
        package = importlib.import_module("bfcl_eval")
        importlib.import_module("mpmath")
    except ImportError as error:
        raise InputError(
            f"the suite bfcl needs the package bfcl-eval ({error}): {INSTALL}"
        ) from None
    data = Path(package.__path__[0]) / "data"
    file = f"BFCL_v4_{CATEGORY}.json"
    truth = read_lines(data / "possible_answer" / file)
    answers = {line["id"]: line["ground_truth"] for line in truth}
    return tuple(make_task(entry, answers[entry["id"]], data) for entry in read_lines(data / file))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the values in a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def make_task(entry: Mapping[str, Any], answers: list[list[str]], data: Path) -> SuiteTask:
    """Return the task for an entry in the data."""
    paths = importlib.import_module(CONFIGURATION).CLASS_FILE_PATH_MAPPING
    classes: list[type] = [
        getattr(importlib.import_module(paths[name]), name) for name in entry["involved_classes"]
    ]
    owners = {name: cls for cls in classes for name in list_methods(cls)}
    truth = tuple(tuple(name_arguments(call, owners) for call in turn) for turn in answers)
    objects = " and ".join(f"<{NAMES[cls.__name__]}>" for cls in classes)
    return SuiteTask(
        name=entry["id"],
        stratum=" ".join(sorted(cls.__name__ for cls in classes)),
        turns=tuple("\n".join(each["content"] for each in turn) for turn in entry["question"]),
        block=f"Do what <request> asks, by calling methods of {objects}. Put the result of your last call into <:result>.",
        later_block=" <earlier> has the requests before, with their results.",
        open=partial(open_bench, entry, classes, data),
        judge=partial(judge_calls, entry, answers),
        truth=truth,
        natural_truth=tuple(write_natural_code(turn, owners) for turn in truth),
    )


def list_methods(cls: type) -> dict[str, Any]:
    """Return the public methods of a class, including inherited ones."""
    return {
        name: method
        for name, method in inspect.getmembers(cls, inspect.isfunction)
        if not name.startswith("_")
    }


def open_bench(entry: Mapping[str, Any], classes: list[type], data: Path) -> Bench:
    """Return an entry's tools on new objects, which record calls to their methods."""
    log = CallLog()
    excluded = entry.get("excluded_function", ())
    objects = {cls: make_object(cls, entry, log, excluded) for cls in classes}
    docs = importlib.import_module(CONFIGURATION).MULTI_TURN_FUNC_DOC_FILE_MAPPING
    tools = tuple(
        make_tool(doc, getattr(objects[cls], doc["name"]))
        for cls in classes
        for doc in read_lines(data / "multi_turn_func_doc" / docs[cls.__name__])
        if doc["name"] not in excluded
    )
    variables = {NAMES[cls.__name__]: value for cls, value in objects.items()}
    return Bench(tools, variables, log)


def make_object(cls: type, entry: Mapping[str, Any], log: CallLog, excluded: list[str]) -> Any:
    """Return an object in the entry's initial state, with None in place of excluded methods."""
    methods: dict[str, Any] = {
        name: log.watch(method, is_method=True) for name, method in list_methods(cls).items()
    }
    methods |= {name: None for name in excluded if name in methods}
    made: Any = type(cls.__name__, (cls,), {"__module__": cls.__module__, **methods})()
    if hasattr(made, "_load_scenario"):
        made._load_scenario(copy.deepcopy(entry["initial_config"].get(cls.__name__, {})))
    return made


def make_tool(doc: Mapping[str, Any], function: Any) -> SuiteTool:
    """Return the tool for a description, without the text about the class that all its methods repeat."""
    description = doc["description"].rpartition("Tool description: ")[2]
    parameters = convert_schema(doc["parameters"])
    shown = ", ".join(list_parameters(doc["parameters"]))
    return SuiteTool(doc["name"], f"{doc['name']}({shown})", description, parameters, function)


def list_parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield a description's parameters as Python: `folder: str`, `a: bool = False`."""
    for name, value in schema["properties"].items():
        text = f"{name}: {PYTHON_TYPES.get(value['type'], value['type'])}"
        default = None if value.get("default") == "None" else value.get("default")
        yield text if name in schema.get("required", ()) else f"{text} = {default!r}"


def convert_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a BFCL schema as a strict JSON schema, with optional values null instead of missing."""
    found = {key: schema[key] for key in ("description", "enum") if key in schema}
    found["type"] = JSON_TYPES.get(schema["type"], schema["type"])
    if "items" in schema:
        found["items"] = convert_schema(schema["items"])
    if "properties" not in schema:
        return found
    properties = {name: convert_schema(value) for name, value in schema["properties"].items()}
    for name in properties.keys() - set(schema.get("required", ())):
        properties[name]["type"] = [properties[name]["type"], "null"]
    return found | make_object_schema(properties)


def name_arguments(call: str, owners: Mapping[str, type]) -> str:
    """Return a call with all arguments named: `sort('a.txt')` is `sort(file_name='a.txt')`."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    assert isinstance(tree.func, ast.Name)
    method = getattr(owners[tree.func.id], tree.func.id)
    names = [name for name in inspect.signature(method).parameters if name != "self"]
    named = map(ast.keyword, names, tree.args)
    return ast.unparse(ast.Call(tree.func, [], [*named, *tree.keywords]))


def write_natural_code(calls: tuple[str, ...], owners: Mapping[str, type]) -> str:
    """Return the code of a natural block that makes these calls."""
    pattern = re.compile(rf"\b({'|'.join(owners)})(?=\()")
    lines = [
        pattern.sub(lambda found: f"{NAMES[owners[found[1]].__name__]}.{found[1]}", call)
        for call in calls
    ]
    return "\n".join(f"result = {line}" for line in lines or ["None"])


def judge_calls(entry: Mapping[str, Any], answers: list[list[str]], played: Played) -> bool:
    """Return the verdict of BFCL's checker on the recorded calls."""
    path = "bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker"
    checker = importlib.import_module(path).multi_turn_checker
    turns = [*played.calls, *([[]] * len(answers))][: len(answers)]
    steps = [[turn] if turn else [] for turn in turns]
    # The checker keeps its objects under the model's name, so a new name is needed.
    verdict = checker(steps, answers, dict(entry), CATEGORY, f"m{secrets.token_hex(8)}")
    return bool(verdict["valid"])

"""Comparing one run of code with the recorded run: right, wrong, unfit or unusable.

    {"verdict": "wrong", "differences": ["`spent` is 10, but should be 6"], "trace": {"steps": [[2, "spent = 10"], ...], ...}}

A run is right if it ended in the same way, and the bound, changed, returned and unchanged values are the same. Values
of a class without `__eq__` are compared by their attributes; floats may differ by a relative error of 1e-9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from njc.evaluation.learning.sandboxed_run import (
    ProgramValue,
    WorkerTask,
    execute_once,
    make_recorder,
)
from njc.evaluation.repair.time_limit import TimeLimitError
from njrt.rendering.one_line import write_brief
from njrt.session.examples import RETURN_VALUE, Example
from njrt.values.decode import decode_values
from njrt.values.equality import is_same_value

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

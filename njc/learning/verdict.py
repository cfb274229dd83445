"""Holding one run of code against what the live block did: right, wrong, unfit, or not to be used.

    {"verdict": "wrong", "differences": ["`spent` is 10, but should be 6"], "steps": [[2, "spent = 10"], ...]}

A run is right if it ended in the same way, and all that was bound, changed, returned or left alone is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from njc.learning.sandboxed_run import Task, TooLongError, Value, Watched, run_on
from njrt.rendering.one_line import brief
from njrt.session.examples import VALUE, Example
from njrt.values.decode import rebuilt

_SHOWN_CHARS = 240


def verdict(task: Task, lesson: Example, namespace: dict[str, Value]) -> dict[str, Any]:
    """Run the code on one lesson, and hold what it did against what was done then."""
    try:
        given = rebuilt(lesson.before, namespace, lesson.classes)
        value = {} if lesson.value is None else {VALUE: lesson.value}
        wanted = rebuilt({**lesson.after, **value}, namespace, lesson.classes)
        untouched = rebuilt(lesson.before, namespace, lesson.classes)
    except Exception as error:
        return {
            "verdict": "unusable",
            "reason": f"its values cannot be made again: {brief(error, 200)}",
        }
    returned = wanted.pop(VALUE, None)
    untouched = {name: each for name, each in untouched.items() if name not in lesson.after}
    watched = Watched()
    try:
        how, result, variables = run_on(task, given, namespace, watched)
    except TooLongError:
        how, result, variables = "ran too long", None, {}
    if how == "unfit":
        return {"verdict": "unfit"}
    same_error = (
        lesson.outcome == "raised" and how == "raised" and type(result).__name__ == lesson.error
    )
    found: list[str] = []
    if how != lesson.outcome or (how == "raised" and not same_error):
        found.append(f"it {_ended(how, result)}, but should have {_should(lesson)}")
    else:
        if how == "returned" and not same(result, returned):
            found.append(
                f"it returned {_shown(result)}, but should have returned {_shown(returned)}"
            )
        if how != "raised":
            found += _differences({**given, **variables}, wanted)
        found += _differences(given, untouched, "should have stayed")
    return {"verdict": "wrong" if found else "right", "differences": found, "steps": watched.steps}


def _differences(
    variables: Mapping[str, Value], wanted: Mapping[str, Value], should: str = "should be"
) -> Iterator[str]:
    for path, value in wanted.items():
        if path not in variables:
            yield f"`{path}` is not bound, but should be {_shown(value)}"
        elif not same(variables[path], value):
            yield f"`{path}` is {_shown(variables[path])}, but {should} {_shown(value)}"


def _ended(how: str, result: Value) -> str:
    return f"raised {brief(result, _SHOWN_CHARS)}" if how == "raised" else how


def _should(lesson: Example) -> str:
    return f"raised {lesson.error}" if lesson.outcome == "raised" else lesson.outcome


def _shown(value: Value) -> str:
    return brief(value, _SHOWN_CHARS)


def same(one: Value, other: Value, around: frozenset[tuple[int, int]] = frozenset()) -> bool:
    """Whether two values are equal, part by part; floats nearly, and whatever the program calls equal."""
    pair = (id(one), id(other))
    if one is other or pair in around:
        return True
    around |= {pair}
    if isinstance(one, float | int) and isinstance(other, float | int):
        if isinstance(one, bool) or isinstance(other, bool):
            return one is other
        return one == other or abs(one - other) <= 1e-9 * max(abs(one), abs(other))
    if type(one) is not type(other):
        return False
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(
            same(a, b, around) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            same(held, other[key], around) for key, held in one.items()
        )
    held = getattr(one, "__dict__", None)
    compares = any("__eq__" in vars(cls) for cls in type(one).__mro__[:-1])
    if held is not None and not compares:
        return same(held, other.__dict__, around)
    return bool(one == other)

"""Cases: the arguments of a call and the expected result.

{"inputs": {"mail": "Where is my order?"}, "expect": "shipping"}       the result, as JSON
{"inputs": {"tasks": [{"done": false}]}, "after": {"tasks": [...]}}    arguments after the call
{"inputs": {"text": "..."}, "check": "len(result) <= 60", "name": "short"}    an expression
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from njc.project.units import explaining_failure
from njrt.data.private_files import read_file
from njrt.data.records import field, record
from njrt.errors import ConfigurationError
from njrt.values.dataclass_json import NO_OTHER_KEYS, InvalidJsonError, from_json, make_json_value
from njrt.values.rendering.writer import escape_unprintable

ABSENT = "absent: a case without a result to expect"


@record
class Case:
    """One case. At least one of `expect`, `after` and `check` is given."""

    __pydantic_config__ = NO_OTHER_KEYS
    inputs: dict[str, Any]
    expect: Any = ABSENT
    after: dict[str, Any] = field(default_factory=dict)
    """Arguments with the values they must have after the call."""
    check: str = ""
    """A Python expression over `result`, the arguments and the program's names; it must be true."""
    name: str = ""
    """By default, its line."""


def read_cases(path: Path) -> list[Case]:
    """Read a case file, or raise ConfigurationError."""
    try:
        with explaining_failure(f"read {path}"):
            lines = read_file(path).decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path} is not in UTF-8") from None
    cases = [
        _read_case(line, number, f"{path}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]
    if not cases:
        raise ConfigurationError(f'{path} has no case; write {{"inputs": {{...}}, "expect": ...}}')
    return cases


def _read_case(line: str, number: int, place: str) -> Case:
    try:
        from_json(line, Case)
    except InvalidJsonError as error:
        known = ", ".join(Case.__dataclass_fields__)
        raise ConfigurationError(f"{place}: {error}; the fields of a case are {known}") from None
    fields = json.loads(line)
    for name in ("expect", "after") & fields.keys():  # 1e999 and NaN in the same form as in results
        fields[name] = make_json_value(fields[name])
    name = escape_unprintable(fields.get("name", "")) or f"line {number}"
    case = Case(**{**fields, "name": name})
    if case.expect is ABSENT and not (case.after or case.check.strip()):
        raise ConfigurationError(f"{place}: a case needs `expect`, `after` or `check`")
    return case

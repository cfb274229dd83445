"""The breakpoints of a client, which sets them file by file and kind by kind, each time all of them.

    {"source": {"path": "mail.njpy"}, "breakpoints": [{"line": 14}]}     LineBreakpoint("mail.njpy", 14)
    {"breakpoints": [{"name": "effect Run"}]}                            EffectBreakpoint("Run")
    {"filters": ["refusal"]}                                             RefusalBreakpoint()

The answers say which were set, and why the others were not.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from njc.runs.dap import requests
from njc.runs.timeline.breakpoints import (
    Breakpoint,
    LimitBreakpoint,
    LineBreakpoint,
    RefusalBreakpoint,
    TypeBreakpoint,
    VariableBreakpoint,
    check_condition,
    parse_breakpoint,
)
from njc.runs.timeline.places import find_block_at

EXCEPTION_BREAKPOINTS: Mapping[requests.ExceptionFilter, tuple[Breakpoint, ...]] = {
    "refusal": (RefusalBreakpoint(),),
    "limit": (LimitBreakpoint(),),
    "type": (TypeBreakpoint(),),
    "divergence": (),  # the controller always stops there
}


class BreakpointSets:
    """The breakpoints so far (state)."""

    def __init__(self) -> None:
        self._breakpoints: dict[str, tuple[Breakpoint, ...]] = {}
        self.filters: tuple[requests.ExceptionFilter, ...] = ("divergence",)
        """The exception filters that are on."""

    def set_in_file(
        self, arguments: requests.SetBreakpointsArguments, client: requests.InitializeArguments
    ) -> Any:
        """Return those at lines of a file."""
        if arguments.source.path is None:
            raise requests.RequestError("breakpoints are set in files")
        file = client.read_path(arguments.source.path)
        answers: list[dict[str, Any]] = []
        found: list[Breakpoint] = []
        for wanted in arguments.wanted:
            line = client.read_line(wanted.line)
            block = find_block_at(file, line)
            if block is None:
                text = "no natural block has this line; breakpoints in Python are those of a Python debugger"
                answers.append({"verified": False, "line": wanted.line, "message": text})
                continue
            if problem := find_condition_problem(wanted.condition):
                answers.append({"verified": False, "line": wanted.line, "message": problem})
                continue
            found.append(LineBreakpoint(str(file), line, wanted.condition, block.first))
            lines = {
                "line": client.show_line(block.first),
                "endLine": client.show_line(block.last),
            }
            answers.append({"verified": True, **lines})
        self._replace(f"file {file}", found)
        return {"breakpoints": answers}

    def set_functions(self, arguments: requests.SetFunctionBreakpointsArguments) -> Any:
        """Return those in words, such as `effect Run`."""
        answers: list[dict[str, Any]] = []
        found: list[Breakpoint] = []
        for wanted in arguments.breakpoints:
            try:
                breakpoint = parse_breakpoint(wanted.name)
                if isinstance(breakpoint, LineBreakpoint):
                    raise ValueError("breakpoints on lines are set in their file")
                check_condition(wanted.condition)
            except ValueError as error:
                answers.append({"verified": False, "message": str(error)})
                continue
            condition = wanted.condition or breakpoint.condition
            found.append(replace(breakpoint, condition=condition))
            answers.append({"verified": True})
        self._replace("functions", found)
        return {"breakpoints": answers}

    def set_exceptions(self, arguments: requests.SetExceptionBreakpointsArguments) -> Any:
        """Return those at failures."""
        self.filters = arguments.filters
        found = [point for name in arguments.filters for point in EXCEPTION_BREAKPOINTS[name]]
        self._replace("exceptions", found)
        return {"breakpoints": [{"verified": True} for _ in arguments.filters]}

    def set_data(self, arguments: requests.SetDataBreakpointsArguments) -> Any:
        """Return those on changes of variables."""
        answers: list[dict[str, Any]] = []
        found: list[Breakpoint] = []
        for wanted in arguments.breakpoints:
            if problem := find_condition_problem(wanted.condition):
                answers.append({"verified": False, "message": problem})
                continue
            found.append(VariableBreakpoint(wanted.data_id, condition=wanted.condition))
            answers.append({"verified": True})
        self._replace("data", found)
        return {"breakpoints": answers}

    def _replace(self, key: str, breakpoints: Sequence[Breakpoint]) -> None:
        self._breakpoints[key] = tuple(breakpoints)

    def collect(self) -> tuple[Breakpoint, ...]:
        """Return all breakpoints."""
        return tuple(itertools.chain.from_iterable(self._breakpoints.values()))


def find_condition_problem(condition: str) -> str:
    """Why a condition can never hold; empty if it can."""
    try:
        check_condition(condition)
    except ValueError as error:
        return str(error)
    return ""

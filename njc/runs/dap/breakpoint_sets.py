"""The breakpoints of a client, which sets them file by file and kind by kind, each time all of them.

    {"source": {"path": "mail.njpy"}, "breakpoints": [{"line": 14}]}     LineBreakpoint("mail.njpy", 14)
    {"breakpoints": [{"name": "effect Run"}]}                            EffectBreakpoint("Run")
    {"filters": ["refusal"]}                                             RefusalBreakpoint()

The answers say which were set, and why the others were not.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
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
    find_block_at,
    parse_breakpoint,
)

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

    def set_in_file(
        self, arguments: requests.SetBreakpointsArguments, client: requests.InitializeArguments
    ) -> Any:
        if arguments.source.path is None:
            raise requests.RequestError("breakpoints are set in files")
        file = client.read_path(arguments.source.path)

        def read(wanted: requests.WantedBreakpoint) -> Breakpoint:
            line = client.read_line(wanted.line)
            block = find_block_at(file, line)
            if block is None:
                raise ValueError(
                    "no natural block has this line; breakpoints in Python are those of a Python debugger"
                )
            return LineBreakpoint(str(file), line, block.first)

        answers = self._set(f"file {file}", arguments.wanted, read)
        for wanted, answer in zip(arguments.wanted, answers["breakpoints"], strict=True):
            block = find_block_at(file, client.read_line(wanted.line))
            if block is None or not answer["verified"]:
                answer["line"] = wanted.line
            else:
                answer["line"] = client.show_line(block.first)
                answer["endLine"] = client.show_line(block.last)
        return answers

    def set_functions(self, arguments: requests.SetBreakpointsArguments) -> Any:
        """Set those in words, such as `effect Run`."""

        def read(wanted: requests.WantedBreakpoint) -> Breakpoint:
            breakpoint = parse_breakpoint(wanted.name)
            if isinstance(breakpoint, LineBreakpoint):
                raise ValueError("breakpoints on lines are set in their file")
            return breakpoint

        return self._set("functions", arguments.breakpoints, read)

    def set_exceptions(self, arguments: requests.SetBreakpointsArguments) -> Any:
        self.filters = arguments.filters
        points = (EXCEPTION_BREAKPOINTS[name] for name in arguments.filters)
        self._breakpoints["exceptions"] = tuple(itertools.chain.from_iterable(points))
        return {"breakpoints": [{"verified": True} for _ in arguments.filters]}

    def set_data(self, arguments: requests.SetBreakpointsArguments) -> Any:
        return self._set(
            "data", arguments.breakpoints, lambda wanted: VariableBreakpoint(wanted.data_id)
        )

    def _set(self, key: str, wanted: Sequence[Any], read: Callable[[Any], Breakpoint]) -> Any:
        """Replace the breakpoints of a key; `read` raises ValueError for one that cannot be set."""
        answers: list[dict[str, Any]] = []
        found: list[Breakpoint] = []
        for each in wanted:
            try:
                breakpoint = read(each)
                check_condition(each.condition)
            except ValueError as error:
                answers.append({"verified": False, "message": str(error)})
                continue
            found.append(replace(breakpoint, condition=each.condition or breakpoint.condition))
            answers.append({"verified": True})
        self._breakpoints[key] = tuple(found)
        return {"breakpoints": answers}

    def collect(self) -> tuple[Breakpoint, ...]:
        return tuple(itertools.chain.from_iterable(self._breakpoints.values()))

"""Debugging of predicted steps in editors: `njc dap`, launched with `predicted` and `call`.

    {"program": "fact.py", "predicted": "spsbench.neural.debugging:model.npz", "call": "fact(3)"}
    next, stepIn, stepOut, stepBack     one action of the model
    setVariable                         later answers start from this value
    `check` in the console              runs the program, takes the same steps, and compares

The program is not run, and there is no second thread: each response is followed by the stop that it leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import BaseModel

from njc.runs.dap import requests
from njc.runs.dap.requests import RequestError
from njc.runs.debug.predicted import PredictedSession

Handlers = dict[str, tuple[type[BaseModel], Callable[[Any], Any]]]
SendEvent = Callable[[str, Mapping[str, Any]], None]

MOST_STEPS = 500
_MOVES = {
    "next": "step_over",
    "stepIn": "step_into",
    "stepOut": "step_return",
    "stepBack": "inv_step_over",
    "reverseContinue": "inv_step_call",
}
_LATER = ("setFunctionBreakpoints", "setExceptionBreakpoints", "setDataBreakpoints")
_UNSERVED = ("pause", "restart", "restartFrame", "completions", "dataBreakpointInfo")
LACKING_CAPABILITIES = {
    f"supports{name}": False
    for name in (
        *("ConditionalBreakpoints", "FunctionBreakpoints", "DataBreakpoints"),
        *("RestartFrame", "RestartRequest", "CompletionsRequest"),
    )
}
"""The adapter's capabilities that such a session lacks."""
_STOPPED = {"threadId": 1, "allThreadsStopped": True}


class PredictedRun:
    """Serves one predicted session's requests (state: the session, the lines with breakpoints)."""

    def __init__(
        self, session: PredictedSession, client: requests.InitializeArguments, send: SendEvent
    ) -> None:
        self._session = session
        self._client = client
        self._send = send
        self._lines: frozenset[int] = frozenset()
        session.start()

    def make_handlers(self) -> Handlers:
        none = requests.Arguments
        return {
            "configurationDone": (none, lambda _: lambda: self._report_stop("entry")),
            "setBreakpoints": (requests.SetBreakpointsArguments, self._set_breakpoints),
            "stackTrace": (requests.StackTraceArguments, self._list_frames),
            "scopes": (requests.FrameArguments, self._list_scopes),
            "variables": (requests.VariablesArguments, self._list_variables),
            "setVariable": (requests.SetVariableArguments, self._set_variable),
            "evaluate": (requests.EvaluateArguments, self._evaluate),
            "continue": (none, lambda _: self._continue),
            "terminate": (none, lambda _: lambda: self._send("terminated", {})),
            **{name: (none, partial(self._move, action)) for name, action in _MOVES.items()},
            **{name: (none, lambda _: {"breakpoints": []}) for name in _LATER},
            **{name: (none, partial(self._refuse, name)) for name in _UNSERVED},
        }

    def _refuse(self, name: str, _: requests.Arguments) -> None:
        raise RequestError(f"`{name}` needs a program that runs; here its steps are predicted")

    def _set_breakpoints(self, arguments: requests.SetBreakpointsArguments) -> Any:
        """Set the program's breakpoints; breakpoints in other files, and conditions, are refused."""
        path, problem = arguments.source.path, ""
        if path is not None and not self._session.is_program(path):
            problem = f"only the steps of {self._session.file.name} are predicted"
        answers: list[dict[str, Any]] = []
        lines: set[int] = set()
        for point in arguments.wanted:
            reason = problem or "a condition needs a program that runs" * bool(point.condition)
            answers.append({"verified": not reason, "line": point.line})
            if reason:
                answers[-1]["message"] = reason
            else:
                lines.add(self._client.read_line(point.line))
        if not problem:
            self._lines = frozenset(lines)
        return {"breakpoints": answers}

    def _move(self, action: str, _: requests.Arguments) -> Callable[[], None]:
        return partial(self._take, action)

    # ── moving ───────────────────────────────────────────────────────────────────────────────────

    def _take(self, action: str) -> None:
        self._ask(action)
        self._report_stop("step")

    def _ask(self, action: str, line: int | None = None) -> None:
        """Take one action; without an answer, the position does not change."""
        try:
            self._session.take(action, line)
        except ValueError as problem:
            self._send("output", {"category": "important", "output": f"no answer: {problem}\n"})

    def _continue(self) -> None:
        """Continue to a breakpoint: with a single one, by one action of the model, otherwise step by step."""
        start = before = self._session.state
        if len(self._lines) == 1:
            self._ask("breakpoint", min(self._lines))
        for _ in range(MOST_STEPS if len(self._lines) != 1 else 0):
            self._ask("step_into")
            state = self._session.state
            if state is None or state == before or self._is_at_breakpoint():
                break
            before = state
        has_stopped = self._is_at_breakpoint() and self._session.state != start
        self._report_stop("breakpoint" if has_stopped else "step")

    def _is_at_breakpoint(self) -> bool:
        state = self._session.state
        return state is not None and state.event == "line" and state.frames[-1].line in self._lines

    def _report_stop(self, reason: str) -> None:
        if self._session.state is None:
            text = "the program has ended, as predicted\n"
            self._send("output", {"category": "console", "output": text})
            self._send("terminated", {})
        else:
            self._send("stopped", {"reason": reason, **_STOPPED})

    # ── looking ──────────────────────────────────────────────────────────────────────────────────

    def _list_frames(self, _: requests.StackTraceArguments) -> Any:
        state = self._session.state
        frames = list(reversed(state.frames)) if state is not None else []
        source = {"name": self._session.file.name, "path": str(self._session.file.absolute())}
        shown = [
            {
                "id": number,
                "name": f"depth {len(frames) - number}, as predicted",
                "source": source,
                "line": self._client.show_line(frame.line),
                "column": 1 if self._client.columns_start_at1 else 0,
            }
            for number, frame in enumerate(frames, 1)
        ]
        return {"stackFrames": shown, "totalFrames": len(shown)}

    def _list_scopes(self, arguments: requests.FrameArguments) -> Any:
        number = arguments.frame_id
        self._get_variables(number)
        return {"scopes": [{"name": "Predicted", "variablesReference": number, "expensive": False}]}

    def _list_variables(self, arguments: requests.VariablesArguments) -> Any:
        rows = dict(self._get_variables(arguments.variables_reference))
        state = self._session.state
        if arguments.variables_reference == 1 and state is not None and state.value is not None:
            rows[f"({state.event})"] = state.value
        return {
            "variables": [
                {"name": name, "value": text, "variablesReference": 0}
                for name, text in rows.items()
            ]
        }

    def _get_variables(self, number: int) -> Mapping[str, str]:
        """Return the variables of a frame; the innermost frame is number 1."""
        state = self._session.state
        if state is None or not 0 < number <= len(state.frames):
            raise RequestError("there is no such frame here")
        return state.frames[-number].locals

    def _set_variable(self, arguments: requests.SetVariableArguments) -> Any:
        if arguments.variables_reference != 1:
            raise RequestError("only variables of the innermost function can be set")
        try:
            is_set = self._session.set_variable(arguments.name.strip(), arguments.value.strip())
        except ValueError as problem:
            raise RequestError(f"no answer: {problem}") from None
        if not is_set:
            raise RequestError("a variable needs a name and a value")
        return {"value": self._get_variables(1)[arguments.name.strip()]}

    def _evaluate(self, arguments: requests.EvaluateArguments) -> Any:
        expression = arguments.expression.strip()
        if arguments.context == "repl" and expression.lstrip("/") == "check":
            return {"result": "\n".join(self._session.do("check")), "variablesReference": 0}
        held = self._get_variables(arguments.frame_id or 1)
        if expression not in held:
            raise RequestError(
                f"`{expression}` is not a variable here, and nothing is run; `check` runs the program"
            )
        return {"result": held[expression], "variablesReference": 0}

"""The variables of the runs that are open in a program under control, and questions about them at a stop.

variables.watch("9f3c-1", scope, rule)
variables.answer({"command": "evaluate", "expression": "len(mails)"}, "9f3c-1")    {"variable": {...}}
variables.set({"name": "topic", "expression": "'bills'"}, "9f3c-1")                {"variable": {...}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import FrameType
from typing import Any

from njc.runs.timeline.channel import Json
from njc.runs.timeline.inspection import (
    EvaluationError,
    evaluate,
    expand,
    list_variables,
    show_variable,
)
from njrt.events import RunId, StateChange
from njrt.outcome import UserValue
from njrt.rendering.redaction import Redactor, RedactRule
from njrt.scope.scope import Scope
from njrt.session.states import StateObserver
from njrt.timeouts import clock


class RunVariables:
    """Reads and sets variables (state: the scopes of the open runs)."""

    def __init__(self) -> None:
        self._scopes: dict[RunId, tuple[Scope, RedactRule | None]] = {}
        self._observers: dict[RunId, StateObserver] = {}

    def watch(self, run: RunId, scope: Scope, rule: RedactRule | None) -> None:
        """A run has these variables."""
        self._scopes[run] = scope, rule

    def forget(self, run: RunId) -> None:
        """A run has ended."""
        self._scopes.pop(run, None)
        self._observers.pop(run, None)

    def __contains__(self, run: object) -> bool:
        return run in self._scopes

    def observe(self, run: RunId) -> StateChange:
        """Return what has changed in a run since the last call, at first all."""
        return self._observers.setdefault(run, StateObserver(*self._scopes[run])).observe()

    def read(self, run: RunId, frame: FrameType | None = None) -> dict[str, UserValue]:
        """Return the variables of a run, and the local ones of a frame of its code."""
        if run not in self._scopes:
            return {}
        local = frame.f_locals if frame is not None else {}
        names = {name: value for name, value in local.items() if name.isidentifier()}
        return self._scopes[run][0].list_variables() | names

    def evaluate(self, expression: str, run: RunId) -> UserValue:
        """Return the value of an expression over the variables of a run; raises EvaluationError."""
        return evaluate(expression, self.read(run), self._read_module(run))

    def answer(self, question: Json, run: RunId, frame: FrameType | None = None) -> Json:
        """Return the answer to a question of the debugger; raises EvaluationError."""
        variables = self.read(run, frame)
        rule = self._scopes[run][1] if run in self._scopes else None
        redactor = Redactor(True if rule is None else rule)
        redactor.scan(variables.items())
        match question["command"]:
            case "variables":
                shown = list_variables(variables, redactor)
                return {"variables": [asdict(variable) for variable in shown]}
            case "expand":
                shown = expand(variables, question["path"], redactor)
                return {"variables": [asdict(variable) for variable in shown]}
            case "evaluate":
                clock.start()
                try:
                    value = evaluate(question["expression"], variables, self._read_module(run))
                finally:
                    clock.stop()
                return {"variable": asdict(show_variable("", value, redactor))}
            case command:
                raise EvaluationError(f"unknown command {command!r}")

    def set(self, change: Json, run: RunId) -> Json:
        """Bind a variable of a run to the value of an expression; raises EvaluationError."""
        if run not in self._scopes:
            raise EvaluationError("there are no variables here")
        scope, name = self._scopes[run][0], change["name"]
        if not name.isidentifier():
            raise EvaluationError(f"`{name}` is not the name of a variable")
        value = self.evaluate(change["expression"], run)
        scope.rebind(name, value)
        return {"variable": asdict(show_variable(name, value, Redactor()))}

    def _read_module(self, run: RunId) -> Mapping[str, Any]:
        return self._scopes[run][0].module if run in self._scopes else {}

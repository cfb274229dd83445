"""The stack, scopes and variables at a stop, under identifiers that are valid until the next stop.

view = StopView(controller)
view.list_frames(...)        {"stackFrames": [{"id": 1, "name": "Run", ...}, {"id": 2, ...}]}
view.list_scopes(...)        {"scopes": [{"name": "Variables", "variablesReference": 1}, ...]}
view.list_variables(...)     {"variables": [{"name": "total", "type": "int", "value": "3"}]}
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from njc.debug.dap import requests
from njc.debug.dap.requests import RequestError
from njc.debug.timeline.breakpoints import find_block_at, find_step_source
from njc.debug.timeline.effect_text import (
    format_field,
    format_messages,
    format_reply,
)
from njc.debug.timeline.inspection import ShownVariable
from njc.debug.timeline.run_controller import RunController
from njc.debug.timeline.steps import Step
from njrt.data.records import record, replace


@record
class Frame:
    """A natural block, or the pending effect inside it."""

    step: Step
    """The block's last step."""
    entry: int | None
    """The step at the entry of the block; None for an effect."""
    is_current: bool = True
    """Whether this is the block at the stop, or its effect."""


def describe_effect(step: Step) -> list[tuple[str, str]]:
    """Return an effect's fields, turn, model and tokens, and its result if it has run."""
    effect = step.effect or {}
    rows = [(name, format_field(value)) for name, value in effect.items()]
    rows += [("turn", str(step.turn)), ("model", step.model)]
    rows += [("tokens", f"{step.cost.input} in, {step.cost.output} out")] * bool(step.tokens)
    rows += [("result", step.result)] * step.is_done
    return rows


def choose_stop_reason(reason: str, is_entry: bool = False) -> str:
    """Return the protocol's reason for a stop."""
    kind = reason.partition(" ")[0]
    words = {"step": "entry" if is_entry else "step", "back": "step", "pause": "pause"}
    words |= {"variable": "data breakpoint", "effect": "function breakpoint"}
    words |= {"refusal": "exception", "limit": "exception", "type": "exception"}
    return words.get(kind, "breakpoint")


def describe_failure(steps: Sequence[Step]) -> str:
    """Return the last refusal or error in words."""
    failed = (
        step.error or step.result for step in reversed(steps) if step.is_refused or step.error
    )
    return next(failed, "")


@record
class TextRows:
    """A scope made up of names and texts."""

    rows: tuple[tuple[str, str], ...]


@record
class LivePath:
    """A variable of the stopped block, or part of one; without names, all variables."""

    names: tuple[str, ...] = ()


Handle = TextRows | LivePath


class StopView:
    """Shows one stop (state: what each identifier refers to)."""

    def __init__(self, run: RunController) -> None:
        self._run = run
        self._frames: list[Frame] = []
        self._handles: list[Handle] = []
        self._texts: list[str] = []

    def forget(self) -> None:
        """Forget the identifiers of the last stop; code texts remain."""
        self._frames, self._handles = [], []

    def list_frames(self, arguments: requests.StackTraceArguments) -> Any:
        step = self._run.step if self._run.state == "stopped" else None
        self._frames = []
        if step is not None:
            step = self._show(step)
            if step.kind == "effect" and step.effect is not None:
                self._frames.append(Frame(step, None))
            earlier = self._run.timeline[: step.number + 1]
            run: int | None = step.run
            while run is not None:
                steps = [it for it in earlier if it.run == run]
                last = step if run == step.run else steps[-1]
                self._frames.append(Frame(last, steps[0].number, run == step.run))
                run = last.parent
        end = arguments.start_frame + arguments.levels if arguments.levels else None
        numbered = list(enumerate(self._frames, 1))[arguments.start_frame : end]
        shown = [self._show_frame(number, frame) for number, frame in numbered]
        return {"stackFrames": shown, "totalFrames": len(self._frames)}

    def _show(self, step: Step) -> Step:
        """Return the step with its effect as changed by the user's decisions."""
        return replace(step, effect=self._run.history.find_effect(step))

    def _show_frame(self, number: int, frame: Frame) -> dict[str, Any]:
        step = frame.step
        shown: dict[str, Any] = {"id": number, "column": 1}
        if frame.entry is None:
            name, text = step.name, step.code
            if text not in self._texts:
                self._texts.append(text)
            reference = self._texts.index(text) + 1
            source: dict[str, Any] = {"sourceReference": reference, "origin": "the model"}
            source["name"] = f"{name} (step {step.number})"
            return {**shown, "name": name, "source": source, "line": 1, "canRestart": False}
        shown |= {"name": f"natural block {step.place}", "canRestart": True}
        line = int(step.place.rpartition(":")[2])
        file = find_step_source(step, self._run.folders)
        if file is None:
            return {**shown, "line": line, "presentationHint": "subtle"}
        lines = find_block_at(file, line)
        line = lines.last if lines is not None and step.kind == "exit" else line
        shown["line"] = line
        return {**shown, "source": {"name": file.name, "path": str(file)}}

    def list_scopes(self, arguments: requests.FrameArguments) -> Any:
        frame = self.get_frame(arguments.frame_id)
        run = self._run
        if not frame.is_current:
            before = tuple(run.timeline.variables_before(frame.step.number).items())
            return {"scopes": [self._make_scope("Variables", TextRows(before))]}
        step = run.timeline.at(frame.step.number)
        assert step is not None, "each frame has a step"
        scopes = [self._make_scope("Variables", LivePath())]  # editors open the first one
        if step.effect is not None:
            rows = TextRows(tuple(describe_effect(self._show(step))))
            scopes.append(self._make_scope("Effect", rows))
        if step.shown or step.reply is not None:
            texts = [(str(n), format_messages([it])) for n, it in enumerate(step.shown, 1)]
            texts += [("reply", format_reply(step.reply))] if step.reply is not None else []
            rows = TextRows(tuple(texts))
            scopes.append({**self._make_scope("Shown to the model", rows), "expensive": True})
        return {"scopes": scopes}

    def _make_scope(self, name: str, handle: Handle) -> dict[str, Any]:
        self._handles.append(handle)
        return {"name": name, "variablesReference": len(self._handles), "expensive": False}

    def list_variables(self, arguments: requests.VariablesArguments) -> Any:
        handle = self.get_handle(arguments.variables_reference)
        match handle:
            case TextRows(rows=rows):
                shown = [
                    {"name": name, "value": text, "variablesReference": 0} for name, text in rows
                ]
            case LivePath(names=()):
                shown = [
                    self._show_variable(variable, (variable.name,))
                    for variable in self._run.variables()
                ]
            case LivePath(names=names):
                shown = [
                    self._show_variable(part, (*names, part.name))
                    for part in self._run.expand(*names)
                ]
            case _:
                assert_never(handle)
        end = arguments.start + arguments.count if arguments.count else None
        return {"variables": shown[arguments.start : end]}

    def _show_variable(self, variable: ShownVariable, path: tuple[str, ...]) -> dict[str, Any]:
        type_, _, value = variable.text.partition(" = ")
        shown = {"name": variable.name, "value": value or variable.text, "variablesReference": 0}
        if value:
            shown["type"] = type_
        if variable.has_parts:
            self._handles.append(LivePath(path))
            shown["variablesReference"] = len(self._handles)
        if len(path) == 1:
            shown["evaluateName"] = path[0]
        return shown

    def set_variable(self, arguments: requests.SetVariableArguments) -> Any:
        handle = self.get_handle(arguments.variables_reference)
        if not isinstance(handle, LivePath):
            raise RequestError("only variables of the stopped block can be set")
        if handle.names:
            raise RequestError(
                "only variables can be set, not parts of them; evaluate an expression that changes"
                " the part"
            )
        variable = self._run.set_variable(arguments.name, arguments.value)
        shown = self._show_variable(variable, (arguments.name,))
        return {
            name: shown[name] for name in ("value", "type", "variablesReference") if name in shown
        }

    def describe_data_breakpoint(self, arguments: requests.DataBreakpointInfoArguments) -> Any:
        """Return whether a breakpoint can be set on changes to a variable."""
        reference = arguments.variables_reference
        handle = self.get_handle(reference) if reference else LivePath()
        if not isinstance(handle, LivePath) or handle.names or not arguments.name.isidentifier():
            return {"dataId": None, "description": "only variables have breakpoints on changes"}
        description = f"changes of `{arguments.name}` by an effect"
        return {"dataId": arguments.name, "description": description, "accessTypes": ["write"]}

    def get_source(self, arguments: requests.SourceArguments) -> Any:
        number = arguments.source_reference
        if not 1 <= number <= len(self._texts):
            raise RequestError("the text is no longer there")
        return {"content": self._texts[number - 1], "mimeType": "text/x-python"}

    def get_frame(self, number: int) -> Frame:
        if not 1 <= number <= len(self._frames):
            raise RequestError("the frame is no longer there")
        return self._frames[number - 1]

    def get_handle(self, number: int) -> Handle:
        if not 1 <= number <= len(self._handles):
            raise RequestError("the variables are no longer there")
        return self._handles[number - 1]

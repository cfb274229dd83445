"""A run under control, from the side of its processes: starting, going on, going back, and what they report.

    run = ControlledRun(settings, listener)
    run._go("into")                  the process goes on; `_receive` gets what it reports, in a thread
    run._restore(Position(12))       a copy, or a fresh process, repeats the steps up to there

`RunController` is what a debugger uses.
"""

from __future__ import annotations

import queue
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from njc.runs.timeline.breakpoints import BREAKPOINTS, Breakpoint
from njc.runs.timeline.channel import ChannelClosedError, Json
from njc.runs.timeline.following import Follower
from njc.runs.timeline.happenings import (
    Diverged,
    Divergence,
    Happening,
    InputWanted,
    Noticed,
    OutputWritten,
    ProgramEnded,
    RunSettings,
    StepEdit,
    Stopped,
)
from njc.runs.timeline.inspection import ShownVariable
from njc.runs.timeline.processes import ProcessPool
from njc.runs.timeline.steps import Position, Step, Timeline, choose_executed_effect
from njrt.errors import ConfigurationError

ControlState = Literal["new", "running", "stopped", "ended"]

ANSWER_SECONDS = 60.0
"""The time that the stopped program has to answer a question."""

REPLAY_SECONDS = 600.0
"""The time that going back may take."""


class RunControlError(ConfigurationError):
    """The request cannot be carried out now; the message says why."""


class ControlledRun:
    """One run of a program (state: its processes, its timeline, where it is)."""

    def __init__(
        self, settings: RunSettings, listener: Callable[[Happening], None] | None = None
    ) -> None:
        self.settings = settings
        self.state: ControlState = "new"
        self.position = Position(0)
        """Where the program is stopped, or was last."""
        self.breakpoints: tuple[Breakpoint, ...] = ()
        self.edits: tuple[StepEdit, ...] = ()
        self.checkpoint_obstacle = ""
        """Why there are no checkpoints, so that going back replays the run from its beginning."""
        self._listener = listener
        self._happenings: queue.SimpleQueue[Happening] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Json] = queue.SimpleQueue()
        self._pool = ProcessPool(settings, self._receive, self._write_directly)
        self._follower = Follower()
        self._halted = threading.Event()
        self._is_going_back = self._has_ended_properly = self._has_noted_obstacle = False
        self._hits: list[Position] = []
        self._scanned: set[int] = set()
        self._input, self._is_input_closed = b"", False
        self._input_request: tuple[int, int] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="njc-debug-")
        recording = settings.recording or Path(self._folder.name) / "recording.jsonl"
        self._recording = recording.absolute()
        self._record_mode = "none" if settings.is_replay_only else "new"

    @property
    def timeline(self) -> Timeline:
        """The steps that are known."""
        return self._follower.timeline

    @property
    def step(self) -> Step | None:
        """The step before which the program is stopped."""
        return self.timeline.at(self.position)

    # ── starting, going on, going back ───────────────────────────────────────────────────────────

    def _format_breakpoints(self) -> dict[str, Any]:
        return {"breakpoints": BREAKPOINTS.dump_python(list(self.breakpoints), mode="json")}

    def _make_go(self, **fields: Any) -> dict[str, Any]:
        edits = [
            {"command": edit.kind, "position": asdict(edit.position), **edit.fields}
            for edit in self.edits
        ]
        interval = self.settings.checkpoint_interval
        return {
            "command": "go",
            "edits": edits,
            "checkpoint_interval": interval,
            "checkpoints": self._pool.checkpoints,
            **fields,
        }

    def _start_process(self, go: Json) -> None:
        settings = self.settings
        self._follower.begin()
        self._set_running()
        program = settings.program if settings.folder is None else settings.program.absolute()
        environment = {"NJC_RECORD": f"{self._record_mode}:{self._recording}"}
        options = dict(settings.options) | ({"model": settings.model} if settings.model else {})
        message = {
            **self._make_go(**go),
            **self._format_breakpoints(),
            "command": "start",
            "program": str(program),
            "arguments": list(settings.arguments),
            "environment": environment,
            "options": options,
            "captures_output": settings.captures_output,
        }
        try:
            self._pool.start(message)
        except (OSError, TimeoutError, ChannelClosedError) as error:
            self._end(ProgramEnded(None, f"the program could not be started: {error}"))

    def _set_running(self) -> None:
        self._halted.clear()
        self._has_ended_properly = False
        self._input_request = None
        self.state = "running"

    def _go(self, mode: str, **fields: Any) -> None:
        self._check_stopped()
        self._set_running()
        self._pool.channel.send(self._make_go(mode=mode, **fields))

    def _go_back(self, target: Position | None) -> None:
        """Go back to a position, and report that the program is there."""
        self._check_halted()
        if target is None or not len(self.timeline):
            raise RunControlError("this is the beginning")
        self._drop_edits(target)
        self._restore(target)
        if self.state == "stopped" and (step := self.step) is not None:
            self._report(Stopped(step, "back"))

    def _restore(
        self,
        target: Position,
        first: int | None = None,
        lines_from: int | None = None,
        scan: bool = False,
    ) -> None:
        """Repeat the steps up to a position, from a checkpoint at or before step `first`; wait until it is there."""
        lines_from = target.number if lines_from is None and target.line else lines_from
        earliest = target.number if lines_from is None else lines_from
        go = {
            "mode": "to",
            "target": asdict(target),
            "mute": True,
            "scan": scan,
            "lines": lines_from is not None,
            "lines_from": lines_from or 0,
        }
        message = {**self._make_go(**go), **self._format_breakpoints()}
        if self._record_mode == "new":
            message["reopen"] = {"path": str(self._recording), "mode": "new"}
        self._is_going_back = True
        try:
            self._pool.stop()
            self._set_running()
            start = min(earliest, target.number if first is None else first)
            found = self._pool.restore(start, message, self._follower.go_on_from)
            if found is None:
                self._start_process(go)
            self._note_obstacle(start - (found or 0))
            if not self._halted.wait(REPLAY_SECONDS):
                raise RunControlError(f"going back took more than {REPLAY_SECONDS:g} seconds")
        finally:
            self._is_going_back = False

    def _note_obstacle(self, repeated: int) -> None:
        """Say once why going back repeats many steps."""
        if self.checkpoint_obstacle and repeated > self.settings.checkpoint_interval:
            text = f"going back repeats {repeated} steps: {self.checkpoint_obstacle}"
            if not self._has_noted_obstacle:
                self._report(Noticed(f"{text}, so that it cannot be copied"))
            self._has_noted_obstacle = True

    def _check_stopped(self) -> None:
        if self.state != "stopped":
            raise RunControlError(f"the program is not stopped: it is {self.state}")

    def _check_halted(self) -> None:
        if self.state not in ("stopped", "ended"):
            raise RunControlError(f"the program is not stopped: it is {self.state}")

    def _ask(self, question: Json) -> dict[str, Any]:
        while not self._answers.empty():  # what an earlier end has put there
            self._answers.get()
        self._check_stopped()
        self._pool.channel.send(question)
        try:
            answer = dict(self._answers.get(timeout=ANSWER_SECONDS))
        except queue.Empty:
            raise RunControlError("the program does not answer") from None
        if "error" in answer:
            raise RunControlError(str(answer["error"]))
        return answer

    def _read_variables(self, answer: Json) -> list[ShownVariable]:
        return [ShownVariable(**fields) for fields in answer["variables"]]

    def _decide(self, fields: Json) -> None:
        step = self.step
        if step is None or step.kind != "effect" or (step.effect or {}).get("kind") == "Refusal":
            raise RunControlError("no effect is pending here")
        self._ask({"command": "decide", **fields})
        self.edits = tuple(
            edit for edit in self.edits if edit.kind != "decide" or edit.position != self.position
        )
        self._add_edit("decide", fields)

    def find_effect(self, step: Step) -> Mapping[str, Any] | None:
        """Return the effect at a step, or around a line, as it was or will be carried out."""
        at = Position(step.number)
        decided = [
            edit.fields for edit in self.edits if (edit.kind, edit.position) == ("decide", at)
        ]
        return choose_executed_effect(step.executed, decided)

    def _add_edit(self, kind: Literal["set", "decide"], fields: Json) -> None:
        """Remember a change, and forget what followed without it."""
        self.edits = (*self.edits, StepEdit(self.position, kind, fields))
        self._forget_after(self.position)

    def _drop_edits(self, target: Position) -> None:
        """Forget the changes after a position, and what followed from them."""
        dropped = [edit.position for edit in self.edits if edit.position > target]
        if dropped:
            self.edits = tuple(edit for edit in self.edits if edit.position <= target)
            self._forget_after(min(dropped))

    def _forget_after(self, position: Position) -> None:
        self._follower.forget_after(position)
        self._pool.forget_checkpoints(position.number)
        self._scanned = {number for number in self._scanned if number < position.number}

    # ── messages of the program, in a thread of their own ────────────────────────────────────────

    def _report(self, happening: Happening) -> None:
        self._happenings.put(happening)
        if self._listener is not None:
            self._listener(happening)

    def _receive(self, message: dict[str, Any] | None) -> None:
        match message:
            case None:
                self._end_without_message()
            case {"stopped": str(reason), "position": position}:
                self.position = Position(**position)
                self._halt("stopped")
                if not self._is_going_back and (step := self.step) is not None:
                    self._report(Stopped(step, reason))
            case {"answer": answer}:
                self._answers.put(answer)
            case {"hit": _, "position": position}:
                self._hits.append(Position(**position))
            case {"checkpoint": int(number)}:
                self._follower.note_checkpoint(number)
            case {"no_checkpoint": str(obstacle)}:
                self.checkpoint_obstacle = obstacle
            case {"output": str(text), "stream": str(stream), "muted": is_muted}:
                if not is_muted:
                    self._report(OutputWritten(stream, text))
            case {"streamed": str(text), "run": str(run), "turn": int(turn)}:
                if streamed := self._follower.read_streamed(run, turn, text):
                    self._report(streamed)
            case {"input": int(position), "size": int(size)}:
                self._input_request = position, size
                self._answer_input()
            case {"notice": str(text)}:
                self._report(Noticed(text))
            case {"ended": int(code), "error": str(error)}:
                self._has_ended_properly = True
                self._pool.wait()
                self._end(ProgramEnded(code, error))
            case _:
                self._follow(message)

    def _follow(self, message: Json) -> None:
        for happening in self._follower.take(message):
            if isinstance(happening, Diverged):
                self._pool.forget_checkpoints(self._follower.begun - 1)
                self._pool.channel.send({"command": "pause"})
                self._report(happening)
            elif not self._is_going_back:
                self._report(happening)

    def _halt(self, state: ControlState) -> None:
        self.state = state
        self._halted.set()

    def _end(self, ended: ProgramEnded) -> None:
        begun = self._follower.begun
        missing = self.timeline.at(Position(begun))
        if missing is not None:
            self._forget_after(Position(begun - 1))
            end = "the end of the program"
            self._report(Diverged(Divergence(missing, "end", missing.kind, end)))
        self.position = Position(len(self.timeline))
        is_going_back = self._is_going_back
        self._halt("ended")
        self._answers.put({"error": "the program has ended"})
        if not is_going_back or missing is not None:
            self._report(ended)

    def _end_without_message(self) -> None:
        if self._has_ended_properly or self.state == "ended":
            return
        code = self._pool.wait()
        if code is None:
            text = "the process has ended by os._exit or a signal"
        elif code < 0:
            text = f"the process was ended by signal {-code}"
        else:
            text = f"the program called os._exit({code})"
        self._end(ProgramEnded(code, text))

    def _answer_input(self) -> None:
        """Give the program what it waits for, as far as there is any."""
        if self._input_request is None:
            return
        position, size = self._input_request
        data = self._input[position : position + size]
        if not data and not self._is_input_closed:
            self._report(InputWanted())
            return
        self._input_request = None
        self._pool.channel.send({"data": data.decode("latin-1")})

    def _write_directly(self, stream: str, text: str) -> None:
        if not self._is_going_back:
            self._report(OutputWritten(stream, text))

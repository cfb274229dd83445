"""A controlled run: forward, back, and with other values.

    settings = RunSettings(Path("mail.njpy"), recording=Path("recordings/mail.jsonl"))
    controller = RunController(settings, report)
    controller.start()                     report(Stopped(Step(enter, "mail.njpy:12"), "step"))
    controller.evaluate("len(mails)")      ShownVariable("", "int = 3")
    controller.step_back_over()

Forward movements return immediately, backward movements when the program has arrived; each is
followed by a `Stopped` or a `ProgramEnded`. Call all methods except `pause` from one thread.
"""

from __future__ import annotations

import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from njc.debug.timeline.breakpoints import BREAKPOINTS, Breakpoint
from njc.debug.timeline.channel import ChannelClosedError, Json, RunControlError
from njc.debug.timeline.happenings import (
    Diverged,
    Happening,
    Noticed,
    OutputWritten,
    ProgramEnded,
    RunSettings,
    StepEdit,
    Stopped,
)
from njc.debug.timeline.history import RunHistory
from njc.debug.timeline.inspection import ShownVariable
from njc.debug.timeline.processes import ProgramProcess
from njc.debug.timeline.steps import Step, Timeline
from njc.debug.timeline.stop_targets import ModeKind, find_step_back_out, find_step_back_over

ControlState = Literal["new", "running", "stopped", "ended"]

ANSWER_SECONDS = 60.0

REPLAY_SECONDS = 600.0


class RunController:
    """Controls one run of a program (state: its process, its history, its position)."""

    def __init__(self, settings: RunSettings, listener: Callable[[Happening], None]) -> None:
        self.settings = settings
        self.state: ControlState = "new"
        self.position = 0
        """The number of the step of the last stop."""
        self.breakpoints: tuple[Breakpoint, ...] = ()
        self.history = RunHistory()
        self._report = listener
        self._answers: queue.SimpleQueue[Json] = queue.SimpleQueue()
        self._program = ProgramProcess(settings, self._receive)
        self._halted = threading.Event()
        self._is_going_back = self._has_ended_properly = False
        self._hits: list[int] = []
        self._folder = tempfile.TemporaryDirectory(prefix="njc-debug-")
        recording = settings.recording or Path(self._folder.name) / "recording.jsonl"
        self._recording = recording.absolute()
        self._record_mode = "none" if settings.is_replay_only else "new"

    @property
    def timeline(self) -> Timeline:
        return self.history.timeline

    @property
    def step(self) -> Step | None:
        """The step that the program is stopped before."""
        return self.timeline.at(self.position)

    # ── forward ──────────────────────────────────────────────────────────────────────────────────

    def start(self, stops: bool = True) -> None:
        """Start the program; stop at the first block's entry if `stops`, else at breakpoints."""
        if self.state != "new":
            raise RunControlError("the program has been started already; restart() starts it again")
        self._start_process({"mode": "into" if stops else "run"})

    def step_into(self) -> None:
        """Run to the next step, into called blocks."""
        self._go("into")

    def step_over(self) -> None:
        """Run to the next step in this block or outside it."""
        self._go("over")

    def step_out(self) -> None:
        """Run to the exit of this block; at an exit, to the exit of the calling block."""
        self._go("out")

    def run_on(self) -> None:
        """Run to the next breakpoint, or to the end."""
        self._go("run")

    def pause(self) -> None:
        """Stop at the next step."""
        if self.state == "running":
            with suppress(ChannelClosedError):  # it is just ending
                self._program.channel.send({"command": "pause"})

    def restart(self, stops: bool = True) -> None:
        """Restart the program, without the user's changes."""
        self._program.stop()
        self.history.drop_edits(-1)
        self._start_process({"mode": "into" if stops else "run"})

    def terminate(self) -> None:
        """End the program; going back is still possible."""
        self._program.stop()
        if self.state in ("running", "stopped"):
            self._end(ProgramEnded(None, "ended by the debugger"), is_terminated=True)

    def close(self) -> None:
        self._program.stop()
        self.state = "ended"
        self._folder.cleanup()

    # ── back ─────────────────────────────────────────────────────────────────────────────────────

    def go_back_to(self, number: int) -> None:
        """Go back to a step."""
        if number > self.position:
            raise RunControlError(f"step {number} is ahead; breakpoints stop there")
        self._go_back(number)

    def step_back_into(self) -> None:
        """Go back one step, into called blocks."""
        self._check_state("stopped", "ended")
        last = min(self.position, len(self.timeline)) - 1
        self._go_back(last if last >= 0 else None)

    def step_back_over(self) -> None:
        """Go back to the previous step in or outside the block."""
        self._check_state("stopped", "ended")
        self._go_back(find_step_back_over(self.timeline, self.position))

    def step_back_out(self) -> None:
        """Go back to the entry of this block; from there, to the step that called it."""
        self._check_state("stopped", "ended")
        self._go_back(find_step_back_out(self.timeline, self.position))

    def run_back(self) -> None:
        """Go back to the last breakpoint before this position, or else to the start."""
        self._check_state("stopped", "ended")
        here, self._hits = self.position, []
        self._restore(here, scan=True)
        start = 0 if here > 0 else None
        self._go_back(max((hit for hit in self._hits if hit < here), default=start))

    # ── at a stop ────────────────────────────────────────────────────────────────────────────────

    def set_breakpoints(self, breakpoints: tuple[Breakpoint, ...]) -> tuple[Breakpoint, ...]:
        """Replace all breakpoints; return them. Raises RunControlError for lines outside blocks."""
        self.breakpoints = tuple(each.locate(self.folders) for each in breakpoints)
        if self.state in ("running", "stopped"):
            self._program.channel.send({"command": "breakpoints", **self._format_breakpoints()})
        return self.breakpoints

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that places such as `shop/mail.njpy:12` are relative to."""
        program = self.settings.program.absolute()
        return program.parent, self.settings.folder or Path.cwd(), *program.parents

    def variables(self) -> list[ShownVariable]:
        """Return the variables of the stopped block."""
        return self._list({"command": "variables"})

    def expand(self, *path: str) -> list[ShownVariable]:
        """Return the items and attributes of a variable, or of its part at a path of names."""
        return self._list({"command": "expand", "path": list(path)})

    def evaluate(self, expression: str) -> ShownVariable:
        return self._list({"command": "evaluate", "expression": expression})[0]

    def set_variable(self, name: str, expression: str) -> ShownVariable:
        """Bind a variable to the value of an expression; later steps are forgotten."""
        fields = {"name": name, "expression": expression}
        (variable,) = self._list({"command": "set", **fields})
        self.history.add_edit(StepEdit(self.position, "set", fields))
        return variable

    def edit_effect(self, effect: Mapping[str, Any]) -> None:
        """Replace the pending effect with this one, which needs a `kind`."""
        self._decide({"decision": "edit", "effect": dict(effect)})

    def reject_effect(self, words: str) -> None:
        """Refuse the pending effect, giving the model this answer."""
        self._decide({"decision": "reject", "words": words})

    def abort_effect(self, words: str = "") -> None:
        """End the block with an error instead of performing the pending effect."""
        self._decide({"decision": "abort", "words": words or "aborted in the debugger"})

    def go_live(self) -> None:
        """Ask a model from now on when no reply is recorded; copy a replay-only recording first."""
        self._check_state("stopped")
        if self._record_mode == "new":
            return
        copy = Path(self._folder.name) / "recording.jsonl"
        if self._recording.exists():
            shutil.copyfile(self._recording, copy)
        self._recording, self._record_mode = copy, "new"
        self.history.forget_after(self.position)
        self._restore(self.position)

    # ── starting, going on, going back ───────────────────────────────────────────────────────────

    def _format_breakpoints(self) -> dict[str, Any]:
        return {"breakpoints": BREAKPOINTS.dump_python(list(self.breakpoints), mode="json")}

    def _make_go(self, **fields: Any) -> dict[str, Any]:
        return {
            "command": "go",
            "edits": [
                {"command": edit.kind, "step": edit.number, **edit.fields}
                for edit in self.history.edits
            ],
            **fields,
        }

    def _start_process(self, go: Json) -> None:
        settings = self.settings
        self.history.begin()
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
        }
        try:
            with suppress(ChannelClosedError):  # it has ended; `_receive` reports this
                self._program.start(message)
        except OSError as error:
            self._end(ProgramEnded(None, f"the program could not be started: {error}"))

    def _set_running(self) -> None:
        self._halted.clear()
        self._has_ended_properly = False
        self.state = "running"

    def _go(self, mode: ModeKind) -> None:
        self._check_state("stopped")
        self._set_running()
        self._program.channel.send(self._make_go(mode=mode))

    def _go_back(self, target: int | None) -> None:
        self._check_state("stopped", "ended")
        if target is None or not len(self.timeline):
            raise RunControlError("this is the start")
        self.history.drop_edits(target)
        self._restore(target)
        if self.state == "stopped" and (step := self.step) is not None:
            self._report(Stopped(step, "back"))

    def _restore(self, target: int, scan: bool = False) -> None:
        """Repeat the program up to a step, and wait."""
        go = {"mode": "to", "target": target, "mute": True, "scan": scan}
        self._is_going_back = True
        try:
            self._program.stop()
            self._start_process(go)
            if not self._halted.wait(REPLAY_SECONDS):
                raise RunControlError(f"going back took more than {REPLAY_SECONDS:g} seconds")
        finally:
            self._is_going_back = False

    def _check_state(self, *wanted: ControlState) -> None:
        if self.state not in wanted:
            raise RunControlError(f"the program is not stopped: it is {self.state}")

    def _ask(self, question: Json) -> dict[str, Any]:
        while not self._answers.empty():  # left from an earlier end of the program
            self._answers.get()
        self._check_state("stopped")
        self._program.channel.send(question)
        try:
            answer = dict(self._answers.get(timeout=ANSWER_SECONDS))
        except queue.Empty:
            raise RunControlError("the program does not answer") from None
        if "error" in answer:
            raise RunControlError(str(answer["error"]))
        return answer

    def _list(self, question: Json) -> list[ShownVariable]:
        return [ShownVariable(**fields) for fields in self._ask(question)["variables"]]

    def _decide(self, fields: Json) -> None:
        step = self.step
        if step is None or step.kind != "effect" or (step.effect or {}).get("kind") == "Refusal":
            raise RunControlError("no effect is pending here")
        self._ask({"command": "decide", **fields})
        self.history.add_edit(StepEdit(self.position, "decide", fields))

    # ── messages of the program, in a separate thread ────────────────────────────────────────────

    def _receive(self, message: dict[str, Any] | None) -> None:
        match message:
            case None:
                self._end_without_message()
            case {"stopped": str(reason), "step": int(number)}:
                self.position = number
                self._halt("stopped")
                if not self._is_going_back and (step := self.step) is not None:
                    self._report(Stopped(step, reason))
            case {"answer": answer}:
                self._answers.put(answer)
            case {"hit": _, "step": int(number)}:
                self._hits.append(number)
            case {"output": str(text), "stream": str(stream), "muted": is_muted}:
                if not is_muted:
                    self._report(OutputWritten(stream, text))
            case {"notice": str(text)}:
                self._report(Noticed(text))
            case {"ended": int(code), "error": str(error)}:
                self._has_ended_properly = True
                self._program.wait()
                self._end(ProgramEnded(code, error))
            case _:
                for difference in self.history.take(message):
                    self._program.channel.send({"command": "pause"})
                    self._report(difference)

    def _halt(self, state: ControlState) -> None:
        self.state = state
        self._halted.set()

    def _end(self, ended: ProgramEnded, is_terminated: bool = False) -> None:
        begun = self.history.begun
        missing = None if is_terminated else self.timeline.at(begun)
        if missing is not None:
            self.history.forget_after(begun - 1)
            self._report(Diverged(missing, "end", missing.kind, "the end of the program"))
        self.position = len(self.timeline)
        is_going_back = self._is_going_back
        self._halt("ended")
        self._answers.put({"error": "the program has ended"})
        if not is_going_back or missing is not None:
            self._report(ended)

    def _end_without_message(self) -> None:
        if self._has_ended_properly or self.state == "ended":
            return
        code = self._program.wait()
        text = f"the program called os._exit({code})"
        if code is not None and code < 0:
            text = f"the process was ended by signal {-code}"
        self._end(ProgramEnded(code, text))

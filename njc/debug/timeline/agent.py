"""The debugger's part inside the controlled program: it stops at steps and answers questions there.

    began, pending effect, ended            send the line to the debugger
    a breakpoint, or the end of a step      {"stopped": ...}, then commands until one continues
                                            the run

A step is handled in the program thread that takes it; other threads stop at their next step.
"""

from __future__ import annotations

import codecs
import json
import os
import sys
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from njc.debug.timeline.breakpoints import BREAKPOINTS, Breakpoint, is_place
from njc.debug.timeline.channel import ControlChannel, Json
from njc.debug.timeline.inspection import EvaluationError, RunVariables
from njc.debug.timeline.standard_streams import flush_streams
from njc.debug.timeline.step_builder import ControlLine, PendingLine, StepBuilder
from njc.debug.timeline.steps import Step
from njc.debug.timeline.stop_targets import Mode
from njc.debug.trace_lines import parse_trace_line
from njrt import Accept, Decision, PendingEffect
from njrt.data.timeouts import paused
from njrt.events import Began, Ended, Event, Performed, RunId
from njrt.execution.interruptions import select_catchable
from njrt.log.recorder import Recorder
from njrt.log.trace import format_event_line
from njrt.values.dataclass_json import InvalidJsonError
from njrt.values.effect_json import decision_from_json, effect_to_json


class Agent:
    """Controls the program (state: the channel, the steps so far, the run's mode)."""

    wants_states = True

    def __init__(
        self,
        channel: ControlChannel,
        recorder: Callable[[], Recorder | None],
    ) -> None:
        self._channel = channel
        self._recorder = recorder
        self._lock = threading.RLock()
        make_decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {name: make_decoder("replace") for name in ("stdout", "stderr")}
        self._builder = StepBuilder()
        self._mode = Mode("into")
        self._breakpoints: list[Breakpoint] = []
        self._reason = ""
        """Why the program stops at the next step, apart from its mode."""
        self._edits: list[Json] = []
        self._decision: Decision = Accept()
        self._is_muted = self._is_scanning = self._is_detached = False
        self._evaluating: int | None = None
        """Thread that evaluates an expression of the user, and is not controlled meanwhile."""
        self.ending: tuple[int, str] = (1, "")
        """Exit code and the error of the program."""
        self.variables = RunVariables()
        self._pending: Counter[RunId] = Counter()
        """Number of unfinished effects of each run: effects of an effect's code are inside it."""

    # ── events of the program ────────────────────────────────────────────────────────────────────

    def __call__(self, event: Event) -> None:
        """Receive an event, as the process's listener."""
        if self._is_detached:
            return
        if self._is_evaluating():
            if isinstance(event, Ended):
                self.variables.forget(event.run)
            return
        try:
            self._take_event(event)
        except Exception:  # the program must not continue without control
            traceback.print_exc()
            os._exit(70)

    def _take_event(self, event: Event) -> None:
        text = format_event_line(event)
        if isinstance(event, Began):
            text = json.dumps({**json.loads(text), "file": find_running_file(event.place)})
        line = parse_trace_line(text.encode() + b"\n", 0)
        assert line is not None
        is_new = isinstance(event, Began | Ended) or (
            isinstance(event, Performed) and not self._pending[event.run]
        )
        with paused(everywhere=True), self._lock:  # the debugger's time does not count
            if isinstance(event, Performed) and not is_new:
                self._pending[event.run] -= 1
            (self._arrive if is_new else self._add)(line, {"trace": text}, event.run)
            if isinstance(event, Ended):
                self.variables.forget(event.run)

    def intercept(self, pending: PendingEffect) -> Decision:
        """Stop before an effect, as the outermost interceptor."""
        if self._is_detached or self._is_evaluating():
            return Accept()
        effect = effect_to_json(pending.effect)
        with paused(everywhere=True), self._lock:
            self._pending[pending.run] += 1
            message = {"pending": {"run": pending.run, "turn": pending.turn, "effect": effect}}
            self._arrive(PendingLine(pending.run, pending.turn, effect), message, pending.run)
            decision, self._decision = self._decision, Accept()
        return decision

    intercept.is_observer = True  # type: ignore[attr-defined]
    intercept.asks_again = True  # type: ignore[attr-defined]

    # ── steps ────────────────────────────────────────────────────────────────────────────────────

    def _arrive(self, line: ControlLine, message: Json, run: RunId) -> None:
        """Stop at a new step if the mode or a breakpoint requires it."""
        step = self._add(line, message, run)
        if step is None:
            return
        for edit in self._edits:  # changes from an earlier visit to this step
            if edit["step"] == step.number:
                with suppress(EvaluationError), self._evaluate_freely():
                    self._edit(edit, run)
        reason, self._reason = self._reason, ""
        if reason and self._is_scanning:
            self._channel.send({"hit": reason, "step": step.number})
            reason = ""
        if self._mode.is_end(step):
            reason = reason or "step"
        while self._channel.has_message():
            command = self._channel.receive()
            if command["command"] == "breakpoints":
                self.set_breakpoints(command)
            else:
                reason = reason or "pause"
        if reason:
            self._stop(step, reason, run)

    def _add(self, line: ControlLine, message: Json, run: RunId) -> Step | None:
        """Send a line to the debugger; return the step that the line starts, if any."""
        self._channel.send(message)
        steps = list(self._builder.add(line))
        for step in steps:
            if self._mode.kind != "to" or self._is_scanning:
                self._reason = self._reason or self._find_breakpoint(step, run)
        return steps[-1] if steps else None

    def _find_breakpoint(self, step: Step, run: RunId) -> str:
        for breakpoint in (each for each in self._breakpoints if each.is_hit(step)):
            if not breakpoint.condition:
                return str(breakpoint)
            try:
                with self._evaluate_freely():
                    if self.variables.evaluate(breakpoint.condition, run):
                        return str(breakpoint)
            except EvaluationError as error:
                text = f"the condition `{breakpoint.condition}` cannot be evaluated: {error}"
                self._channel.send({"notice": text})
            except select_catchable():  # from the value's `__bool__`
                continue
        return ""

    def _stop(self, step: Step, reason: str, run: RunId) -> None:
        """Stop, and run the debugger's commands until one continues the program."""
        flush_streams()
        self._is_muted = False
        if (recorder := self._recorder()) is not None:
            recorder.close()  # so that another process, going back, has the replies
        self._channel.send({"stopped": reason, "step": step.number})
        while not self._obey(self._channel.receive(), step, run):
            pass

    def _obey(self, command: Json, step: Step, run: RunId) -> bool:
        """Run one command; return whether the program continues."""
        match command["command"]:
            case "go":
                self.go(command, step)
                return True
            case "breakpoints":
                self.set_breakpoints(command)
            case "pause":
                pass
            case question:
                try:
                    with self._evaluate_freely():
                        if question in ("set", "decide"):
                            answer = self._edit(command, run)
                        else:
                            answer = self.variables.answer(command, run)
                except EvaluationError as error:
                    answer = {"error": str(error)}
                self._channel.send({"answer": answer})
        return False

    def go(self, command: Json, step: Step | None = None) -> None:
        self._mode = Mode(
            command["mode"],
            step.run if step else 0,
            step.depth if step else 0,
            bool(step and step.kind == "exit"),
            command.get("target"),
        )
        self._edits = list(command.get("edits", ()))
        self._is_muted = bool(command.get("mute"))
        self._is_scanning = bool(command.get("scan"))

    def set_breakpoints(self, command: Json) -> None:
        self._breakpoints = BREAKPOINTS.validate_python(command["breakpoints"])

    # ── changes by the user ──────────────────────────────────────────────────────────────────────

    @contextmanager
    def _evaluate_freely(self) -> Iterator[None]:
        """Evaluate the user's code in this thread: its blocks are no steps."""
        self._evaluating = threading.get_ident()
        try:
            yield
        finally:
            self._evaluating = None

    def _is_evaluating(self) -> bool:
        return self._evaluating == threading.get_ident()

    def _edit(self, command: Json, run: RunId) -> Json:
        if command["command"] == "decide":
            try:
                self._decision = decision_from_json(command)
            except InvalidJsonError as error:
                raise EvaluationError(f"not an effect: {error}") from None
            return {}
        return self.variables.set(command, run)

    # ── streams ──────────────────────────────────────────────────────────────────────────────────

    def write_output(self, name: str, data: bytes) -> None:
        if self._is_detached:
            if not self._is_muted:
                os.write(1 if name == "stdout" else 2, data)
        else:
            self._send_output(name, self._decoders[name].decode(data))

    def _send_output(self, name: str, text: str) -> None:
        if text:
            self._channel.send({"output": text, "stream": name, "muted": self._is_muted})

    # ── copies ───────────────────────────────────────────────────────────────────────────────────

    def follow_forks(self) -> None:
        """Leave copies that the program itself makes of its process uncontrolled."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._detach, after_in_parent=self._note_fork)
            # The threads are the debugger's, and only the program's own text belongs in its output.
            threads = r".*multi-threaded, use of fork"
            warnings.filterwarnings("ignore", threads, DeprecationWarning)

    def _detach(self) -> None:
        self._is_detached = True

    def _note_fork(self) -> None:
        if not self._is_detached:
            text = "the program has forked; its child runs without the debugger"
            self._channel.send({"notice": text})

    def finish(self) -> None:
        """Send the program's ending to the debugger; the process does nothing after this."""
        if not self._is_detached:
            flush_streams()
            for name, decoder in self._decoders.items():
                self._send_output(name, decoder.decode(b"", final=True))
            if (recorder := self._recorder()) is not None:
                recorder.close()
            code, error = self.ending
            self._channel.send({"ended": code, "error": error})


def find_running_file(place: str) -> str:
    """Return the file of a block running in this thread; "" if it was not compiled in memory."""
    name = place.rpartition(":")[0]
    paths = (frame.f_code.co_filename for frame, _ in traceback.walk_stack(sys._getframe()))
    found = (it for it in paths if os.path.isabs(it) and is_place(f"{it}:0", f"{name}:0"))
    return next(found, "")

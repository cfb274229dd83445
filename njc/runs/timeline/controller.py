"""A run under control: forward, back, and with other values.

    controller = RunController(RunSettings(Path("mail.njpy"), recording=Path("recordings/mail.jsonl")))
    controller.start()
    controller.wait_for_stop()             Stopped(Step(enter, "mail.njpy:12"), "step")
    controller.step_into()
    controller.wait_for_stop()             Stopped(Step(effect, {"kind": "Run", ...}), "step")
    controller.evaluate("len(mails)")      ShownVariable("", "int = 3")
    controller.step_back_over()
    controller.close()

Methods that go forward return at once; those that go back return when the program is there, and are followed by a
`Stopped` as the others are. All are to be called from one thread, `pause` from any.
"""

from __future__ import annotations

import queue
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from njc.runs.timeline.breakpoints import Breakpoint, LineBreakpoint
from njc.runs.timeline.channel import ChannelClosedError
from njc.runs.timeline.controlled_run import ControlledRun, ControlState, RunControlError
from njc.runs.timeline.happenings import Happening, ProgramEnded, Stopped
from njc.runs.timeline.inspection import ShownVariable
from njc.runs.timeline.navigation import FindStepBack, StepMovements
from njc.runs.timeline.places import find_block_at
from njc.runs.timeline.steps import Position, Variables

__all__ = ["ControlState", "RunControlError", "RunController", "locate_breakpoint"]


class RunController(ControlledRun, StepMovements):
    """Controls one run of a program."""

    def __enter__(self) -> RunController:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ── forward ──────────────────────────────────────────────────────────────────────────────────

    def start(self, stops: bool = True) -> None:
        """Start the program; it stops at the entry of the first block, or only at breakpoints."""
        if self.state != "new":
            raise RunControlError("the program has been started already; restart() starts it again")
        self._start_process({"mode": "into" if stops else "run"})

    def run_to(self, position: Position) -> None:
        """Go on, or back, to a position."""
        self._check_halted()
        nearest = max((n for n in self._pool.checkpoints if n <= position.number), default=-1)
        is_known = self.timeline.at(position) is not None
        if position <= self.position or (is_known and nearest > self.position.number):
            self._go_back(position)
        else:
            self._go("to", target=asdict(position))

    def pause(self) -> None:
        """Stop at the next step."""
        if self.state == "running":
            with suppress(ChannelClosedError):  # it is just ending
                self._pool.channel.send({"command": "pause"})

    def restart(self, stops: bool = True) -> None:
        """Start the program from its beginning, without the changes that were made."""
        self._pool.stop()
        self._pool.forget_checkpoints(-1)
        self._drop_edits(Position(-1))
        self._start_process({"mode": "into" if stops else "run"})

    def terminate(self) -> None:
        """End the program; going back is still possible."""
        self._pool.stop()
        if self.state in ("running", "stopped"):
            self._end(ProgramEnded(None, "ended by the debugger"))

    def close(self) -> None:
        """End the program and all its copies."""
        self._pool.close()
        self.state = "ended"
        self._folder.cleanup()

    # ── back ─────────────────────────────────────────────────────────────────────────────────────

    def step_back_into(self) -> None:
        """Go back to the step before: of a block that was called, or a line of the model's code, too."""
        self._check_halted()
        here = self.position
        region = min(here.number, len(self.timeline)) - 1
        if here.line == 0 and region >= 0 and region not in self._scanned:
            self._scanned.add(region)
            self._restore(here, lines_from=region)
        super().step_back_into()

    def _step_back(self, find: FindStepBack) -> None:
        self._check_halted()
        self._go_back(find(self.timeline, self.position))

    def run_back(self) -> None:
        """Go back to the last breakpoint before this position, or to the beginning."""
        self._check_halted()
        end = here = self.position
        starts = [number for number in self._pool.checkpoints if 0 < number < here.number]
        for start in (*reversed(starts), 0):
            self._hits = []
            self._restore(end, first=start, scan=True)
            if hits := [hit for hit in self._hits if hit < here]:
                self._go_back(hits[-1])
                return
            end = Position(start)
        self._go_back(Position(0))

    # ── at a stop ────────────────────────────────────────────────────────────────────────────────

    def set_breakpoints(self, breakpoints: tuple[Breakpoint, ...]) -> tuple[Breakpoint, ...]:
        """Replace all breakpoints; return them as they were set.

        Raises:
            RunControlError: there is no block at the line of a `LineBreakpoint`.
        """
        self.breakpoints = tuple(map(self._resolve, breakpoints))
        if self.state in ("running", "stopped"):
            self._pool.channel.send({"command": "breakpoints", **self._format_breakpoints()})
        return self.breakpoints

    def variables(self, position: Position | None = None) -> list[ShownVariable]:
        """Return the variables before a step; those of another step than the one here as text only."""
        if position is None or position == self.position:
            return self._read_variables(self._ask({"command": "variables"}))
        texts: Variables = self.timeline.variables_before(position)
        return [ShownVariable(name, text) for name, text in texts.items()]

    def expand(self, *path: str) -> list[ShownVariable]:
        """Return the items and attributes of a variable, or of the part of one that a path of names leads to."""
        return self._read_variables(self._ask({"command": "expand", "path": list(path)}))

    def evaluate(self, expression: str) -> ShownVariable:
        """Return the value of an expression over the variables of the block."""
        answer = self._ask({"command": "evaluate", "expression": expression})
        return ShownVariable(**answer["variable"])

    def set_variable(self, name: str, expression: str) -> ShownVariable:
        """Bind a variable to the value of an expression; what was known of later steps is forgotten."""
        fields = {"name": name, "expression": expression}
        answer = self._ask({"command": "set", **fields})
        self._add_edit("set", fields)
        return ShownVariable(**answer["variable"])

    def edit_effect(self, effect: Mapping[str, Any]) -> None:
        """Carry this effect, with its `kind`, out in place of the pending one."""
        self._decide({"decision": "edit", "effect": dict(effect)})

    def reject_effect(self, words: str) -> None:
        """Do not carry the pending effect out; the model is answered these words."""
        self._decide({"decision": "reject", "words": words})

    def abort_effect(self, words: str = "") -> None:
        """Do not carry the pending effect out, and end the block with an error."""
        self._decide({"decision": "abort", "words": words or "aborted in the debugger"})

    def accept_effect(self) -> None:
        """Carry the pending effect out after all."""
        self._decide({"decision": "accept"})

    def go_live(self) -> None:
        """Ask a model from here on where nothing is recorded; a recording that is only replayed is copied first."""
        self._check_stopped()
        if self._record_mode == "new":
            return
        copy = Path(self._folder.name) / "recording.jsonl"
        if self._recording.exists():
            shutil.copyfile(self._recording, copy)
        self._recording, self._record_mode = copy, "new"
        self._forget_after(self.position)
        self._restore(self.position)

    def save_recording(self, target: Path) -> None:
        """Copy the recording, with what was recorded in this run, to a file that does not exist yet."""
        if target.exists():
            raise RunControlError(f"{target} exists already")
        if not self._recording.exists():
            raise RunControlError("nothing has been recorded yet")
        shutil.copyfile(self._recording, target)

    # ── the program's input, what happens ────────────────────────────────────────────────────────

    def send_input(self, text: str) -> None:
        """Give the program input; it is given again when the steps that read it are repeated."""
        self._input += text.encode()
        self._answer_input()

    def close_input(self) -> None:
        """End the input of the program."""
        self._is_input_closed = True
        self._answer_input()

    def wait(self, seconds: float | None = None) -> Happening:
        """Return the next thing that happens; raises TimeoutError if nothing does."""
        try:
            return self._happenings.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(f"nothing happened within {seconds:g} seconds") from None

    def wait_for_stop(self, seconds: float | None = None) -> Stopped | ProgramEnded:
        """Skip what happens until the program is stopped or has ended."""
        while True:
            happening = self.wait(seconds)
            if isinstance(happening, Stopped | ProgramEnded):
                return happening

    def _resolve(self, breakpoint: Breakpoint) -> Breakpoint:
        if not isinstance(breakpoint, LineBreakpoint) or breakpoint.first_line:
            return breakpoint
        return locate_breakpoint(
            breakpoint, (self.settings.folder or Path(), self.settings.program.parent)
        )


def locate_breakpoint(breakpoint: LineBreakpoint, folders: Iterable[Path]) -> LineBreakpoint:
    """Give a breakpoint the first line of its block; raises RunControlError if there is no block."""
    for folder in folders:
        if lines := find_block_at(folder / breakpoint.file, breakpoint.line):
            return replace(breakpoint, first_line=lines.first)
    raise RunControlError(f"there is no prompt at {breakpoint.file}:{breakpoint.line}")

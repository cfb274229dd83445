"""A debugging session, and the results of its commands.

session = DebugSession(run, folders)
get_step(session)            the step before which the run is stopped
get_effect(session)          the step, if an effect is pending there; else RunControlError
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from njc.runs.debug.stop_report import DebuggedRun, StopReport, make_stop_report
from njc.runs.debug.trace_walk import TraceWalk
from njc.runs.timeline.controller import RunController
from njc.runs.timeline.happenings import RunControlError
from njc.runs.timeline.steps import Position, Step, Variables

BEFORE_ALL = Position(-1)


@dataclass(frozen=True, slots=True)
class Said:
    """The command is done; show these lines."""

    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Moved:
    """The run moves, forward or back; it reports its next stop."""


@dataclass(frozen=True, slots=True)
class EditWanted:
    """Let the user edit a text, then call `edit_effect`."""

    text: str


@dataclass(frozen=True, slots=True)
class QuitWanted:
    """End the debugger."""


CommandResult = Said | Moved | EditWanted | QuitWanted


@dataclass(slots=True)
class DebugSession:
    """A run in the debugger, with its output, its stops and the last command."""

    run: DebuggedRun
    folders: tuple[Path, ...]
    """The folders of the sources of the blocks."""
    outputs: list[tuple[Position, str]] = field(default_factory=list)
    """The output of the program, each text with the stop before it."""
    last_stop: Position = BEFORE_ALL
    last_command: str = ""
    seen: dict[Position, Variables] = field(default_factory=dict)
    """The variables at the stops so far, with the user's changes."""

    @property
    def printed(self) -> str:
        """The output of the program up to here; in a trace, of its effects."""
        if isinstance(self.run, TraceWalk):
            return "".join(step.printed for step in self.run.timeline[: self.run.position.number])
        return "".join(text for _, text in self.outputs)

    def add_output(self, text: str) -> None:
        self.outputs.append((self.last_stop, text))

    def make_report(self) -> StopReport | None:
        """Return a report of the stop; output that was written after it is forgotten."""
        here = self.last_stop = self.run.position
        self.outputs = [(stop, text) for stop, text in self.outputs if stop < here]
        return make_stop_report(self.run, self.folders, self.seen)


def get_controller(session: DebugSession) -> RunController:
    """Return the run, if it can be changed; raises RunControlError for a trace."""
    if isinstance(session.run, RunController):
        return session.run
    raise RunControlError("a trace can only be viewed; `njc debug PROGRAM` runs the program")


def get_step(session: DebugSession) -> Step:
    """Return the step before which the run is stopped; raises RunControlError if it is not stopped."""
    step = session.run.step if session.run.state == "stopped" else None
    if step is None:
        way = "; `back` goes back" if session.run.state == "ended" else ""
        raise RunControlError(f"the program is not stopped: it is {session.run.state}{way}")
    return step


def get_report(session: DebugSession) -> StopReport:
    """Return a report of the stop; raises RunControlError if the run is not stopped."""
    get_step(session)
    report = session.make_report()
    assert report is not None, "there is a step"
    return report


def get_effect(session: DebugSession) -> Step:
    """Return the step if it is a pending effect; raises RunControlError otherwise."""
    step = get_step(session)
    if step.kind != "effect" or step.effect is None:
        raise RunControlError("no effect is pending here; step on to the next one")
    return step

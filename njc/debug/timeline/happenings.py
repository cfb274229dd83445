"""The settings and the events of a controlled run.

RunSettings(Path("mail.njpy"), ("--fast",), recording=Path("recordings/mail.jsonl"))
Stopped(step, "breakpoint ..."), OutputWritten("stdout", "hello\\n"), ProgramEnded(0), ...
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from njc.debug.timeline.steps import Step
from njrt.data.records import field, record
from njrt.errors import ConfigurationError


@record
class RunSettings:
    """How to run a program."""

    program: Path
    """A `.njpy` file, or a Python file that imports natural modules."""
    arguments: tuple[str, ...] = ()
    model: str | None = None
    recording: Path | None = None
    """The recording to replay and extend; None for a temporary file."""
    is_replay_only: bool = False
    """Whether the recording is only replayed, so that no model is asked until a fork is live."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options for all blocks, as for `njrt.using`."""
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    """The program's working directory; by default, this process's."""


def choose_recording(setting: str, program: Path) -> tuple[Path | None, bool]:
    """Return the recording in NJC_RECORD, and whether to only replay it.

    Raises ConfigurationError for other modes.
    """
    mode, _, name = setting.partition(":")
    if mode in ("", "off"):
        return None, False
    path = Path(name or Path("recordings") / f"{program.stem}.jsonl")
    if mode not in ("none", "once", "new") or name.startswith("store:") or "://" in name:
        way = "use none:FILE, once:FILE, new:FILE or off"
        raise ConfigurationError(f"the debugger cannot replay NJC_RECORD={setting}; {way}")
    return path, mode == "none" or (mode == "once" and path.exists())


@record
class StepEdit:
    """A user's change at a stop, made again whenever the program reaches this step again."""

    number: int
    kind: Literal["set", "decide"]
    fields: Mapping[str, Any]


@record
class Stopped:
    """A stop before `step`; `reason` is "step", "pause", "back" or a breakpoint in words."""

    step: Step
    reason: str


@record
class OutputWritten:
    """The program has written to "stdout" or "stderr"."""

    stream: str
    text: str


@record
class Diverged:
    """The program did not repeat its steps; this step and all later ones are forgotten.

    `what` names the first difference: a variable, "effect", "result", "end", ...; `before` and
    `now` are both texts.
    """

    step: Step
    what: str
    before: str
    now: str

    def __str__(self) -> str:
        return (
            f"step {self.step.number} differs when repeated: {self.what} was {self.before}, now"
            f" {self.now}; the program depends on more than its recording (clock, random, network,"
            " files, threads)"
        )


@record
class Noticed:
    """Something that the user should know, in words."""

    text: str


@record
class ProgramEnded:
    """The process has ended; it is still possible to go back.

    `code` is the exit code, -N for signal N, None if unknown; `error` describes the exception.
    """

    code: int | None
    error: str = ""


Happening = Stopped | OutputWritten | Diverged | Noticed | ProgramEnded

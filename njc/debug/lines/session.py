"""A run in the debugger, and what happens in it as lines of text.

    session.take(Stopped(step, "step"))        ["> mail.njpy:10, step 1: before Run", ...]
    session.take(OutputWritten("stdout", "hello\\n"))      ["| hello"]

Line marks: `| ` the program's standard output, `! ` its standard error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from njc.debug.lines.stop_report import (
    StopReport,
    clean_text,
    describe_missing_reply,
    make_stop_report,
)
from njc.debug.timeline.happenings import (
    Diverged,
    Happening,
    Noticed,
    OutputWritten,
    ProgramEnded,
    Stopped,
)
from njc.debug.timeline.run_controller import RunController


@dataclass(slots=True)
class DebugSession:
    """A run in the debugger (state: unfinished lines, the last command)."""

    run: RunController
    last_command: str = ""
    _partial: dict[str, str] = field(default_factory=dict)
    """The unfinished line of each output stream."""

    def take(self, happening: Happening) -> list[str]:
        """Return what has happened as lines; output is returned line by line."""
        lines: list[str] = []
        if isinstance(happening, Stopped | ProgramEnded):
            streams = [stream for stream, rest in self._partial.items() if rest]
            lines += [line for stream in streams for line in self._end_lines(stream, "\n")]
        match happening:
            case OutputWritten(stream=stream, text=text):
                lines += self._end_lines(stream, text)
            case Diverged():
                lines.append(f"diverged: {clean_text(str(happening))}")
            case Noticed(text=text):
                lines.append(f"note: {clean_text(text)}")
            case Stopped(reason=reason):
                report = make_stop_report(self.run)
                lines += describe_report(report, reason) if report is not None else ()
            case ProgramEnded():
                lines += describe_end(happening)
            case _:
                assert_never(happening)
        return lines

    def _end_lines(self, stream: str, text: str) -> Iterator[str]:
        """Yield the lines that a text ends; the rest is kept."""
        *lines, self._partial[stream] = (self._partial.get(stream, "") + text).split("\n")
        mark = "| " if stream == "stdout" else "! "
        yield from ((mark + clean_text(line)).rstrip() for line in lines)


def describe_report(report: StopReport, reason: str) -> Iterator[str]:
    """Yield the last step's result and changes, the place of the stop, and the pending effect."""
    if reason != "back":
        yield from (f"  {line}" for line in report.last_result.splitlines())
    yield from (f"  {row}" for row in report.variables if row.mark)
    if reason not in ("step", "back", "pause"):
        yield f"breakpoint: {reason}"
    yield f"> {report.title}"
    yield from describe_missing_reply(report.step.error)
    source = report.source
    if 0 < source.current <= len(source.lines):
        yield f"{source.current:>5} -> {source.lines[source.current - 1].strip()}"
    yield from number_lines(report.effect)


def number_lines(text: str) -> list[str]:
    """Return the lines of code with numbers."""
    return [f"{number:>5}    {line}".rstrip() for number, line in enumerate(text.splitlines(), 1)]


def describe_end(ended: ProgramEnded) -> list[str]:
    """Return how the program has ended, and which commands are possible next."""
    first = clean_text(ended.error.partition("\n")[0])
    if ended.code is None:
        return [first or "the program has ended"]
    text = f"the program has ended with {ended.code}" if ended.code else "the program has ended"
    lines = [f"{text}: {first}" if first else text]
    return lines + describe_missing_reply(ended.error)

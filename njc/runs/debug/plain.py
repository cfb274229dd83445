"""The line-based debugger: commands from standard input, results to standard output.

    (njc) c
    > citations.njpy:10, step 1: before Run, turn 1, 418 tokens in, 32 out
        1    cited_by[14].add(3)

Line marks: `| ` the program's standard output, `! ` its standard error, `~ ` a streamed reply. Commands are echoed
unless they come from a terminal. The end of the input ends the program.
"""

from __future__ import annotations

import io
import json
import queue
import sys
from collections.abc import Iterator
from contextlib import suppress

from pydantic_core import from_json

from njc.runs.debug.commands import (
    DebugSession,
    EditWanted,
    Moved,
    QuitWanted,
    Said,
    edit_effect,
    number_lines,
    run_command,
)
from njc.runs.debug.stop_report import clean_text, describe_missing_reply
from njc.runs.timeline.channel import ChannelClosedError
from njc.runs.timeline.happenings import (
    Diverged,
    Happening,
    InputWanted,
    Noticed,
    OutputWritten,
    ProgramEnded,
    ReplyStreamed,
    Stopped,
)
from njrt.errors import NaturalError

PROMPT = "(njc) "
EDIT_PROMPT = "(edit) "


class PlainDebugger:
    """Reads commands and shows their results (state: the program's unfinished lines)."""

    def __init__(self, session: DebugSession, happenings: queue.SimpleQueue[Happening]) -> None:
        self._session, self._happenings = session, happenings
        self._partial: dict[str, str] = {}
        self._streamed = StreamedLines()

    def serve(self) -> None:
        if isinstance(sys.stdin, io.TextIOWrapper):
            sys.stdin.reconfigure(errors="surrogateescape")
        self._wait()
        while (line := read_command(PROMPT)) is not None:
            try:
                result = run_command(self._session, line)
                if isinstance(result, EditWanted):
                    result = self._edit(result.text)
            except (NaturalError, ChannelClosedError) as error:
                self._say(f"error: {error}")
                continue
            match result:
                case Said(lines=lines):
                    self._say(*lines)
                case Moved():
                    self._wait()
                case QuitWanted():
                    return
                case _:
                    raise AssertionError(result)

    def _edit(self, text: str) -> Said:
        self._say(
            "write the new effect, then `.` on its own line; an empty text keeps the old one. Now:"
        )
        self._say(*number_lines(clean_text(text)))
        lines: list[str] = []
        while (line := read_command(EDIT_PROMPT)) is not None and line != ".":
            lines.append(line)
        return edit_effect(self._session, "\n".join(lines)) if lines else Said(("not changed",))

    # ── what happens ─────────────────────────────────────────────────────────────────────────────

    def _wait(self) -> None:
        """Show events until the program stops, ends or waits for input."""
        while True:
            try:
                happening = self._happenings.get()
            except KeyboardInterrupt:
                self._say("", "the program is to stop at its next step; it may wait for a model")
                self._session.run.pause()
                continue
            if self._show(happening):
                return

    def _show(self, happening: Happening) -> bool:
        """Show an event; return whether it is the user's turn to type."""
        if isinstance(happening, ReplyStreamed):
            self._say(*(f"~ {line}".rstrip() for line in self._streamed.take(happening)))
            return False
        self._say(*(f"~ {line}".rstrip() for line in self._streamed.finish()))
        match happening:
            case OutputWritten(stream=stream, text=text):
                self._write(stream, text)
            case Diverged() | Noticed():
                self._say(describe_news(happening))
            case InputWanted():
                self._flush()
                self._say(
                    "the program reads its input: `input TEXT` gives it a line, `eof` ends it"
                )
            case Stopped():
                self._flush()
                self._show_stop(happening)
            case ProgramEnded():
                self._flush()
                self._say(*describe_end(happening))
        return isinstance(happening, InputWanted | Stopped | ProgramEnded)

    def _show_stop(self, stopped: Stopped) -> None:
        report = self._session.make_report()
        if report is None:
            return
        if report.last_result and stopped.reason != "back":
            self._say(*(f"  {line}" for line in report.last_result.splitlines()))
        self._say(*(f"  {row}" for row in report.variables if row.mark))
        if stopped.reason not in ("step", "back", "pause"):
            self._say(f"breakpoint: {stopped.reason}")
        self._say(f"> {report.title}", *describe_missing_reply(report.step.error))
        for row in report.source:
            if row.is_current and row.kind == "prompt":
                number = str(row.number) if row.number else ""
                self._say(f"{number:>5} -> {row.text.strip()}")
        if report.effect:
            self._say(*number_lines(report.effect, stopped.step.code_line))

    def _write(self, stream: str, text: str) -> None:
        """Write the program's complete lines, and keep the rest."""
        self._session.add_output(text)
        *lines, rest = (self._partial.get(stream, "") + text).split("\n")
        self._partial[stream] = rest
        mark = "| " if stream == "stdout" else "! "
        self._say(*((mark + clean_text(line)).rstrip() for line in lines))

    def _flush(self) -> None:
        for stream, rest in self._partial.items():
            if rest:
                self._write(stream, "\n")

    def _say(self, *lines: str) -> None:
        for line in lines:
            print(line)
        sys.stdout.flush()


def read_command(prompt: str) -> str | None:
    """Read a line, echoing it unless it is from a terminal; None at the end of the input."""
    try:
        if sys.stdin.isatty():
            return input(prompt)
        line = sys.stdin.readline()
    except EOFError:
        return None
    except KeyboardInterrupt:
        print("\n`q` ends the debugger", flush=True)
        return ""
    if not line:
        return None
    print(prompt + clean_text(line.rstrip("\r\n")), flush=True)
    return line.rstrip("\r\n")


def describe_news(news: Diverged | Noticed) -> str:
    """Return a piece of news on one line."""
    if isinstance(news, Diverged):
        return f"diverged: {clean_text(str(news))}"
    return f"note: {clean_text(news.text)}"


def describe_end(ended: ProgramEnded) -> list[str]:
    """Return how the program has ended, and which commands are possible next."""
    first = clean_text(ended.error.partition("\n")[0])
    if ended.code is None:
        return [first or "the program has ended"]
    text = f"the program has ended with {ended.code}" if ended.code else "the program has ended"
    lines = [f"{text}: {first}" if first else text]
    return lines + describe_missing_reply(ended.error)


_CODE_FIELDS = ("code", "expression", "expr")


def read_streamed_text(text: str) -> str:
    """Return the text of a reply so far; of tool calls, which arrive as JSON, only the code."""
    return clean_text("\n".join(_read_parts(text)))


def _read_parts(text: str) -> Iterator[str]:
    decoder, start = json.JSONDecoder(strict=False), 0
    while start < len(text):
        if text[start] != "{":
            end = text.find("\n{", start)
            yield text[start : end if end >= 0 else len(text)]
            start = end + 1 if end >= 0 else len(text)
            continue
        try:
            arguments, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # incomplete so far
            arguments, end = None, len(text)
            with suppress(ValueError):
                arguments = from_json(text[start:], allow_partial="trailing-strings")
        fields = arguments if isinstance(arguments, dict) else {}
        codes = (fields[name] for name in _CODE_FIELDS if isinstance(fields.get(name), str))
        yield next(codes, text[start:end])
        start = end + (text[end : end + 1] == "\n")


class StreamedLines:
    """Returns each line of a streamed reply once (state: the reply, the number of lines returned)."""

    def __init__(self) -> None:
        self._reply: tuple[int, int] | None = None
        self._lines: list[str] = []
        self._given = 0

    def take(self, streamed: ReplyStreamed) -> list[str]:
        """Return the new complete lines; at the start of another reply, also its block and turn."""
        found = []
        reply = streamed.run, streamed.turn
        lines = read_streamed_text(streamed.text).split("\n")
        if reply != self._reply:
            found = [*self.finish(), f"{streamed.place}, turn {streamed.turn}:"]
        elif lines[: self._given] != self._lines[: self._given]:  # asked again
            self._given = 0
        self._reply, self._lines = reply, lines
        found += lines[self._given : -1]
        self._given = max(self._given, len(lines) - 1)
        return found

    def finish(self) -> list[str]:
        """Return the remaining lines: the reply is complete."""
        rest = [line for line in self._lines[self._given :] if line]
        self._reply, self._lines, self._given = None, [], 0
        return rest

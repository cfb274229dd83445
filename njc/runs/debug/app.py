"""The full-screen terminal debugger.

    DebugApp(session, events).run()

Commands and program events share one queue. A thread serves it, queries the program and updates the
screen, so the screen never waits for the program. The console has the same lines as `--plain`.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import ClassVar, assert_never

from rich.console import RenderableType
from rich.syntax import Syntax
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Key
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, RichLog, Static, TabbedContent, TabPane, TextArea

from njc.runs.debug.commands import (
    CommandResult,
    EditWanted,
    Moved,
    QuitWanted,
    Said,
    list_steps,
    run_command,
)
from njc.runs.debug.session import DebugSession, read_streamed_text
from njc.runs.debug.stop_report import MARKS, ShownSource, StopReport, clean_text
from njc.runs.timeline.channel import ChannelClosedError
from njc.runs.timeline.happenings import (
    Diverged,
    Happening,
    InputWanted,
    Noticed,
    ProgramEnded,
    ReplyStreamed,
    Stopped,
)
from njrt.errors import NaturalError

PANES = ("source", "effect", "variables")
TABS = ("console", "model", "steps")
NEAR = 200
"""The number of lines of a long source that are shown before and after the current one."""
_MARK_STYLES = {"": "", "new": "green", "changed": "yellow", "gone": "red"}


class EffectEditor(ModalScreen[str | None]):
    """An editor for the pending effect; its result is the text, or None if the user cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "accept", "carry this out", priority=True),
        Binding("escape", "dismiss(None)", "leave", priority=True),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        area = TextArea(self._text, show_line_numbers=True, tab_behavior="indent", id="editor")
        area.border_title = "edit the effect: ctrl+s or F2 accepts, Escape leaves it"
        yield area

    def action_accept(self) -> None:
        self.dismiss(self.query_one(TextArea).text)


Job = Happening | str | None
"""An item for the debugger's thread: an event or a command; None ends it."""


class TextPane(VerticalScroll):
    """A pane with scrollable text."""

    ALLOW_MAXIMIZE = True

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def show(self, text: RenderableType, row: int = 0) -> None:
        """Replace the text, and keep a row in view."""
        self.query_one(Static).update(text)
        top = max(0, row - self.size.height // 3)
        self.call_after_refresh(self.scroll_to, y=top, animate=False)


class DebugApp(App[None]):
    """The screen (state: the report, the status, the commands typed)."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "command('s')", "into"),
        Binding("n", "command('n')", "over"),
        Binding("r", "command('r')", "exit"),
        Binding("c", "command('c')", "go"),
        Binding("S", "command('S')", "back", key_display="SNRC"),
        *(Binding(key, f"command('{key}')", show=False) for key in "NRC"),
        Binding("e", "command('edit')", "edit"),
        Binding("colon", "write('')", "command"),
        Binding("z", "screen.maximize", "enlarge"),
        Binding("question_mark", "command('h')", "help"),
        Binding("q", "command('q')", "quit"),
        Binding("b", "write('b ')", show=False),
        Binding("x", "write('reject ')", show=False),
        Binding("p", "write('p ')", show=False),
        Binding("equals_sign", "write('set ')", show=False),
        *(
            Binding(str(digit), f"show_pane('{name}')", show=False)
            for digit, name in enumerate(PANES + TABS)
        ),
        Binding("ctrl+c", "pause", show=False, priority=True),
    ]
    CSS = """
    #panes { height: 1fr; }
    #left { width: 3fr; }
    #right { width: 2fr; }
    #source { height: 3fr; }
    #effect { height: 2fr; }
    #source, #effect, #variables { border: round $foreground 30%; scrollbar-size-vertical: 1; }
    #source:focus, #effect:focus, #variables:focus { border: round $accent; }
    TabbedContent { height: 1fr; }
    TabPane { padding: 0; }
    #title, #status { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #title { background: $primary; color: $text; text-style: bold; }
    #command { height: 1; border: none; padding: 0; }
    EffectEditor { align: center middle; }
    #editor { width: 100%; height: 80%; border: round $accent; }
    """

    def __init__(self, session: DebugSession, jobs: queue.SimpleQueue[Job]) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self.report: StopReport | None = None
        self.status = "starting"
        self._history: list[str] = []
        self._recalled = 0
        self._is_input_wanted = False

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield TextPane(id="source")
                yield TextPane(id="effect")
            with Vertical(id="right"):
                yield TextPane(id="variables")
                with TabbedContent():
                    with TabPane("3 console", id="tab-console"):
                        yield RichLog(id="console", wrap=True, markup=False, min_width=20)
                    with TabPane("4 model", id="tab-model"):
                        yield TextPane(id="model")
                    with TabPane("5 steps", id="tab-steps"):
                        yield TextPane(id="steps")
        yield Static(id="status", markup=False)
        yield Input(id="command", placeholder=": a command", select_on_focus=False)
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.theme = "textual-dark"
        for digit, name in enumerate(PANES):
            self._pane(name).border_title = f"{digit} {name}"
        self._pane("source").focus()
        threading.Thread(target=self._serve, name="debug jobs", daemon=True).start()

    # ── the debugger's thread ────────────────────────────────────────────────────────────────────

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            with suppress(RuntimeError):  # the screen has closed meanwhile
                self._do(job)

    def _do(self, job: Happening | str) -> None:
        session = self._session
        try:
            if not isinstance(job, str):
                self.call_from_thread(self._show_happening, job, session.take(job))
                return
            result = run_command(session, job)
            self.call_from_thread(self._show_result, job, result)
            if isinstance(result, Said) and session.run.state == "stopped":
                session.make_report()
                self.call_from_thread(self._refresh)
        except (NaturalError, ChannelClosedError) as error:
            self.call_from_thread(self._say, [f"error: {error}"])

    # ── display ──────────────────────────────────────────────────────────────────────────────────

    def _show_result(self, line: str, result: CommandResult) -> None:
        match result:
            case Said(lines=lines):
                self._say([f"(njc) {line}", *lines])
                self._set_status(next(iter(lines), ""))
                if len(lines) > 1:
                    self.query_one(TabbedContent).active = "tab-console"
            case Moved():
                self._set_status("running; ctrl+c stops it at its next step")
            case EditWanted(text=text):
                self.push_screen(EffectEditor(text), self._take_edited)
            case QuitWanted():
                self.exit()
            case _:
                assert_never(result)

    def _take_edited(self, text: str | None) -> None:
        if text and not text.isspace():
            self._jobs.put(f"edit {text}")

    def _show_happening(self, happening: Happening, lines: list[str]) -> None:
        self.query_one(RichLog).write("\n".join(lines)) if lines else None
        match happening:
            case Stopped(reason=reason):
                self._set_status(f"stopped: {reason}")
                self._refresh()
            case ReplyStreamed(place=place, turn=turn, text=text):
                size = len(read_streamed_text(text))
                self._set_status(f"{place}, turn {turn}: {size} characters so far; ctrl+c stops it")
            case InputWanted():
                self._is_input_wanted = True
                self._set_status("the program reads its input: type a line; Escape ends its input")
                self.query_one(Input).focus()
            case Diverged() | Noticed() | ProgramEnded():
                self._set_status(lines[-1])

    def _say(self, lines: list[str]) -> None:
        """Write lines to the console, and the last one to the status line."""
        self.query_one(RichLog).write("\n".join(lines))
        self._set_status(lines[-1])

    def _refresh(self) -> None:
        self.report = report = self._session.report
        if report is None:
            return
        self.query_one("#title", Static).update(f" {report.title}")
        self._show_source(report.source)
        self._pane("effect").show(draw_effect(report))
        self._pane("variables").show(draw_variables(report))
        self._pane("model").show(report.shown or "The model has not been asked here.")
        number = report.step.number
        start = max(0, number - NEAR)
        steps = list_steps(self._session).lines[start : number + NEAR]
        self._pane("steps").show(Text("\n".join(steps), no_wrap=True), number - start)

    def _show_source(self, source: ShownSource) -> None:
        pane, current = self._pane("source"), source.current
        start, code = max(1, current - NEAR), "\n".join(source.lines)
        before = draw_code(code, current, (start, max(start, current - 1)))
        options = self.console.options.update_width(pane.scrollable_content_region.width or 80)
        row = len(self.console.render_lines(before, options))
        pane.show(draw_code(code, current, (start, current + NEAR)), row)

    def _set_status(self, text: str) -> None:
        self.status = text
        self.query_one("#status", Static).update(Text(text))

    def _pane(self, name: str) -> TextPane:
        return self.query_one(f"#{name}", TextPane)

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def action_command(self, name: str) -> None:
        self._jobs.put(name)

    def action_show_pane(self, name: str) -> None:
        if name in TABS:
            self.query_one(TabbedContent).active = f"tab-{name}"
        self.call_after_refresh(self.query_one(f"#{name}").focus)

    def action_write(self, text: str) -> None:
        command = self.query_one(Input)
        command.value = text
        command.cursor_position = len(text)
        command.focus()

    def action_pause(self) -> None:
        self._session.run.pause()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line = event.value
        if not self._is_input_wanted:
            self._history.append(line)
            self._recalled = 0
        self._leave_command(f"input {line}" if self._is_input_wanted else line)

    def _leave_command(self, line: str) -> None:
        """Run a command line, and go back to the keys."""
        self._is_input_wanted = False
        self.query_one(Input).value = ""
        self._pane("source").focus()
        if line:
            self._jobs.put(line)

    def on_key(self, event: Key) -> None:
        """In the command line, recall earlier lines with Up and Down, and leave it with Escape."""
        if self.focused is not self.query_one(Input):
            return
        match event.key:
            case "up" | "down":
                change = 1 if event.key == "up" else -1
                self._recalled = min(max(0, self._recalled + change), len(self._history))
                self.action_write(self._history[-self._recalled] if self._recalled else "")
            case "escape":
                self._leave_command("eof" if self._is_input_wanted else "")


def draw_code(code: str, current: int, lines: tuple[int, int] | None = None) -> Syntax:
    """Return Python code with line numbers and a mark at the current line."""
    return Syntax(
        code,
        "python",
        theme="ansi_dark",
        background_color="default",
        line_numbers=True,
        line_range=lines,
        highlight_lines={current},
        word_wrap=True,
    )


def draw_effect(report: StopReport) -> RenderableType:
    """Return the pending effect, or what the entry or exit means."""
    match report.step.kind:
        case "enter":
            return Text("The model has not been asked yet; s asks it.")
        case "exit":
            ending = f"The block ends: {report.step.result}\n{report.step.error}"
            return Text(clean_text(ending).rstrip(), "bold")
        case _:
            return draw_code(report.effect.rstrip("\n"), report.step.code_line)


def draw_variables(report: StopReport) -> Text:
    """Return the result of the last step, and the variables; those that it changed come first."""
    text = Text(f"last: {report.last_result}\n" if report.last_result else "")
    for row in report.variables:
        text.append(f"{MARKS[row.mark]} {row}\n", _MARK_STYLES[row.mark])
    return text

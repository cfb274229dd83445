"""The full-screen terminal debugger.

    DebugApp(session, events).run()

Commands and program events share one queue. A thread serves it, queries the program and updates the screen, so
the screen never waits for the program.
"""

from __future__ import annotations

import queue
import textwrap
import threading
from contextlib import suppress
from typing import ClassVar, assert_never

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.events import Key, Resize
from textual.screen import ModalScreen
from textual.widgets import Input, Static, TextArea

from njc.runs.debug.commands import (
    COMMAND_LIST,
    CommandResult,
    DebugSession,
    EditWanted,
    Moved,
    QuitWanted,
    Said,
    edit_effect,
    format_help,
    run_command,
)
from njc.runs.debug.drawing import draw_effect, draw_reply, draw_source, draw_steps, draw_variables
from njc.runs.debug.plain import describe_end, describe_news, read_streamed_text
from njc.runs.debug.stop_report import StopReport, clean_text
from njc.runs.timeline.channel import ChannelClosedError
from njc.runs.timeline.happenings import (
    Diverged,
    Happening,
    InputWanted,
    Noticed,
    OutputWritten,
    ProgramEnded,
    ReplyStreamed,
    Stepped,
    Stopped,
)
from njrt.errors import NaturalError

KEYS = """\
    s  n  r  c   as in pdb: into, over, to the exit, to a breakpoint
    S  N  R  C   the same, backwards; also < and then s, n, r or c
    b  e  x      a breakpoint, edit the effect, reject it
    p  =         evaluate an expression, set a variable
    :            the command line; Escape leaves it, Up shows earlier lines
    0 to 6       the panes: source, effect, variables, model, prints,
                 steps, console; Tab the next one, arrows scroll
    ctrl+c       stop the program at its next step
    ?  q         this page; quit
"""


class HelpPage(ModalScreen[None]):
    """The keys and the commands."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        text = "\n".join(format_help(COMMAND_LIST))
        with VerticalScroll(id="help") as page:
            page.border_title = "keys and commands; Escape closes this page"
            yield Static(textwrap.dedent(f"{KEYS}\n{text}"), markup=False)


class EffectEditor(ModalScreen[str | None]):
    """An editor for the pending effect; its result is the text, or None if the user cancels."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "accept", "carry this out", priority=True),
        Binding("escape", "cancel", "leave", priority=True),
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

    def action_cancel(self) -> None:
        self.dismiss(None)


MIN_WIDTH, MIN_HEIGHT = 30, 12
WIDE = 70
"""The minimum number of columns for panes side by side."""
PANES = ("source", "effect", "variables", "model", "prints", "steps", "console")
REDRAWING = ("set", "edit", "reject", "abort", "accept", "live")
KEY_LINE = "s n r c step  S N R C back  b break  e edit  : command  ? help  q quit"
RUNNING = "running; ctrl+c stops it at its next step"
NARROW_KEY_LINE = "s n r c  S N R C back  : ? q  tab pane"


class EditedEffect(str):
    """The text of an effect that the user has edited."""


Job = Happening | str | None
"""An item for the debugger's thread: an event, a command, an edited effect; None ends it."""


class TextPane(VerticalScroll):
    """A pane with scrollable text (state: the text)."""

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self._body = Static(markup=False)
        self.border_title = f"{PANES.index(name)} {name}"

    def compose(self) -> ComposeResult:
        yield self._body

    @property
    def text_width(self) -> int:
        """The number of columns left by the border and the scrollbar."""
        return max(20, self.size.width - 1)

    def show(self, text: Text | str, row: int | None = None) -> None:
        """Replace the text; keep a row, or else the top, in view."""
        self._body.update(text)
        height = self.scrollable_content_region.height
        top = 0 if row is None else max(0, row - height // 3)
        self.call_after_refresh(self.scroll_to, y=top, animate=False)


class DebugApp(App[None]):
    """The screen (state: the report, the status, the commands typed)."""

    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(key, f"command('{name}')", show=False)
            for key, name in (
                *((key, key) for key in "snrcSNRC"),
                ("question_mark", "h"),
                ("e", "edit"),
                ("q", "q"),
            )
        ),
        *(
            Binding(key, f"write('{text}')", show=False)
            for key, text in (
                ("b", "b "), ("x", "reject "), ("p", "p "), ("equals_sign", "set "), ("colon", "")
            )
        ),
        *(Binding(str(digit), f"show_pane({digit})", show=False) for digit in range(len(PANES))),
        Binding("less_than_sign", "prefix_back", show=False),
        Binding("tab", "next_pane", show=False, priority=True),
        Binding("escape", "leave_command", show=False),
        Binding("ctrl+c", "pause", show=False, priority=True),
    ]  # fmt: skip
    CSS = """
    Screen { layout: vertical; }
    #main { layout: vertical; height: 1fr; }
    #panes { height: 1fr; }
    .column { height: 1fr; }
    #left { width: 3fr; }
    #right { width: 2fr; }
    TextPane { border: round $foreground 30%; padding: 0; height: 1fr; scrollbar-size-vertical: 1; }
    TextPane:focus { border: round $accent; }
    #source { height: 3fr; }
    #effect { height: 2fr; }
    #title, #status, #keys { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    #title { background: $primary; color: $text; text-style: bold; }
    #keys { color: $text-muted; }
    #command { height: 1; border: none; padding: 0; }
    #small { display: none; }
    Screen.-narrow #panes { layout: vertical; }
    Screen.-narrow #left, Screen.-narrow #right { width: 100%; }
    HelpPage, EffectEditor { align: center middle; }
    #help { width: 100%; max-width: 84; height: 100%; border: round $accent; background: $surface; }
    #editor { width: 100%; height: 80%; border: round $accent; }
    """

    def __init__(self, session: DebugSession, jobs: queue.SimpleQueue[Job]) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self.report: StopReport | None = None
        self.status = "starting"
        self._chosen = ""
        """Name of the visible pane among the panes that share a place; "" for the first."""
        self._history: list[str] = []
        self._recalled = 0
        self._console: list[str] = []
        self._running_seconds = 0
        self._is_narrow = False
        self._is_input_wanted = self._is_back_prefixed = False

    def compose(self) -> ComposeResult:
        with Container(id="main"):
            yield Static(id="title", markup=False)
            with Horizontal(id="panes"):
                with Vertical(id="left", classes="column"):
                    yield TextPane("source")
                    yield TextPane("effect")
                with Vertical(id="right", classes="column"):
                    for name in PANES[2:]:
                        yield TextPane(name)
            yield Static(id="status", markup=False)
            yield Input(id="command", placeholder=": a command", select_on_focus=False)
            yield Static(id="keys", markup=False)
        yield Static(id="small", markup=False)

    def on_mount(self) -> None:
        self.theme = "textual-dark"
        self.query_one("#source").focus()
        self.set_interval(1.0, self._count_second)
        threading.Thread(target=self._serve, name="debug jobs", daemon=True).start()

    # ── the debugger's thread ────────────────────────────────────────────────────────────────────

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            with suppress(RuntimeError):  # the screen has closed meanwhile
                self._do(job)

    def _do(self, job: Happening | str) -> None:
        try:
            match job:
                case str():
                    serve = edit_effect if isinstance(job, EditedEffect) else run_command
                    self.call_from_thread(self._show_result, job, serve(self._session, job))
                    if serve is edit_effect or job.partition(" ")[0] in REDRAWING:
                        self.call_from_thread(self._refresh, self._session.make_report())
                case OutputWritten(text=text):
                    self._session.add_output(text)
                    self.call_from_thread(self._show_prints)
                case Stepped():
                    pass
                case ReplyStreamed():
                    self.call_from_thread(self._show_streamed, job)
                case Diverged() | Noticed():
                    self.call_from_thread(self._say, describe_news(job))
                case InputWanted():
                    self.call_from_thread(self._ask_for_input)
                case Stopped(reason=reason):
                    report = self._session.make_report()
                    self.call_from_thread(self._show_stop, report, reason)
                case ProgramEnded():
                    self.call_from_thread(self._say, f"{' '.join(describe_end(job))}; N goes back")
                case _:
                    assert_never(job)
        except (NaturalError, ChannelClosedError) as error:
            self.call_from_thread(self._say, f"error: {error}")

    # ── display ──────────────────────────────────────────────────────────────────────────────────

    def _show_result(self, line: str, result: CommandResult) -> None:
        match result:
            case Said(lines=lines) if line.partition(" ")[0] in ("h", "?", "help"):
                self.push_screen(HelpPage())
            case Said(lines=lines):
                self._console += [f"(njc) {line}", *lines]
                self._say(*lines[:1])
                if len(lines) > 1:
                    self._choose("console")
            case Moved():
                self._running_seconds = 0
                self._set_status(RUNNING)
            case EditWanted(text=text):
                self.push_screen(EffectEditor(text), self._take_edited)
            case QuitWanted():
                self.exit()
            case _:
                assert_never(result)

    def _count_second(self) -> None:
        self._running_seconds += 1
        if self.status.startswith(RUNNING):
            self._set_status(f"{RUNNING}; {self._running_seconds} s")

    def _take_edited(self, text: str | None) -> None:
        if text is not None:
            self._jobs.put(EditedEffect(text))

    def _show_stop(self, report: StopReport | None, reason: str) -> None:
        words = {"step": "stopped", "back": "stopped, gone back", "pause": "stopped by ctrl+c"}
        if not self.status.startswith("diverged"):
            self._set_status(words.get(reason, f"stopped at a breakpoint: {reason}"))
        self._refresh(report)

    def _refresh(self, report: StopReport | None) -> None:
        self.report = report
        if report is None:
            return
        source, effect, variables = map(self._pane, ("source", "effect", "variables"))
        drawn = draw_source(report, source.text_width)
        source.show(drawn.text, drawn.row)
        effect.show(draw_effect(report, effect.text_width))
        variables.show(draw_variables(report, variables.text_width))
        self._pane("model").show(report.shown or "The model has not been asked here.")
        steps = draw_steps(self._session.run.timeline, report.step)
        self._pane("steps").show(steps.text, steps.row)
        self.query_one("#title", Static).update(f" {report.title}")
        self._show_prints()

    def _show_prints(self) -> None:
        lines = clean_text(self._session.printed).split("\n")[-1000:]
        self._pane("prints").show("\n".join(lines), len(lines))

    def _show_streamed(self, streamed: ReplyStreamed) -> None:
        text = read_streamed_text(streamed.text)
        self._set_status(
            f"{streamed.place}, turn {streamed.turn}: {len(text)} characters so far; ctrl+c stops it"
        )
        effect = self._pane("effect")
        drawn = draw_reply(text, effect.text_width)
        effect.show(drawn.text, drawn.row)

    def _ask_for_input(self) -> None:
        self._is_input_wanted = True
        command = self.query_one("#command", Input)
        command.placeholder = "a line for the program; Escape ends its input"
        command.focus()
        self._set_status("the program reads its input: type a line for it")

    def _say(self, *lines: str) -> None:
        """Show a message in the status line and keep it in the console."""
        if lines:
            self._set_status(lines[0])
            self._console += [line for line in lines if line not in self._console[-2:]]
        del self._console[:-500]
        self._pane("console").show("\n".join(self._console), len(self._console))

    def _set_status(self, text: str) -> None:
        self.status = text
        self.query_one("#status", Static).update(Text(text))

    def _pane(self, name: str) -> TextPane:
        return self.query_one(f"#{name}", TextPane)

    # ── the arrangement ──────────────────────────────────────────────────────────────────────────

    def on_resize(self, event: Resize) -> None:
        width, height = event.size
        is_small = width < MIN_WIDTH or height < MIN_HEIGHT
        self.query_one("#main").display = not is_small
        small = self.query_one("#small", Static)
        small.display = is_small
        small.update(
            f"The terminal has {width}x{height}; {MIN_WIDTH}x{MIN_HEIGHT} are needed. --plain needs none. q quits."
        )
        self._is_narrow = width < WIDE  # `self.size` may still be the old size
        self._arrange()
        if self.report is not None:
            self.call_after_refresh(self._refresh, self.report)

    def _arrange(self) -> None:
        is_narrow = self._is_narrow
        self.screen_stack[0].set_class(is_narrow, "-narrow")
        self.query_one("#keys", Static).update(NARROW_KEY_LINE if is_narrow else KEY_LINE)
        shared = PANES[1:] if is_narrow else PANES[3:]
        chosen = self._chosen if self._chosen in shared else shared[0]
        for name in PANES[1:]:
            self._pane(name).display = name not in shared or name == chosen
        self.query_one("#right").display = not is_narrow or chosen != "effect"

    def _choose(self, name: str) -> None:
        if name != "source":
            self._chosen = name
        self._arrange()
        self.call_after_refresh(self._refresh, self.report)

    def action_show_pane(self, digit: int) -> None:
        self._choose(PANES[digit])
        self._pane(PANES[digit]).focus()

    def action_next_pane(self) -> None:
        """Focus the next pane; on a narrow screen, also show it in the shared place."""
        focused = self.focused.id if self.focused is not None else None
        here = PANES.index(focused) if focused in PANES else -1
        self.action_show_pane((here + 1) % len(PANES))

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────

    def action_command(self, name: str) -> None:
        is_prefixed, self._is_back_prefixed = self._is_back_prefixed, False
        self._jobs.put(name.upper() if is_prefixed and name in "snrc" else name)

    def action_prefix_back(self) -> None:
        self._is_back_prefixed = True
        self._set_status("< and then s, n, r or c goes back")

    def action_write(self, text: str) -> None:
        command = self.query_one("#command", Input)
        command.value = text
        command.cursor_position = len(text)
        command.focus()

    def action_leave_command(self) -> None:
        """Leave the command line; if the program is reading input, end that input."""
        if self._is_input_wanted:
            self._give_input("eof")
        self.query_one("#command", Input).value = ""
        self._pane("source").focus()

    def action_pause(self) -> None:
        self._session.run.pause()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        line, event.input.value = event.value, ""
        if self._is_input_wanted:
            self._give_input(f"input {line}")
            return
        self._history.append(line)
        self._recalled = 0
        self._pane("source").focus()
        self._jobs.put(line)

    def _give_input(self, line: str) -> None:
        self._is_input_wanted = False
        self.query_one("#command", Input).placeholder = ": a command"
        self._pane("source").focus()
        self._jobs.put(line)

    def on_key(self, event: Key) -> None:
        """Recall earlier lines with Up and Down in the command line."""
        command = self.query_one("#command", Input)
        if self.focused is not command or event.key not in ("up", "down"):
            return
        change = 1 if event.key == "up" else -1
        self._recalled = min(max(0, self._recalled + change), len(self._history))
        self.action_write(self._history[-self._recalled] if self._recalled else "")

"""What covers the full screen: the page of keys and commands, and the editor of an effect."""

from __future__ import annotations

import textwrap
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static, TextArea

from njc.runs.debug.commands import COMMAND_LIST, format_help

KEYS = """\
    s  n  r  c   as in pdb: into, over, to the exit, to a breakpoint
    S  N  R  C   the same, backwards; also < and then s, n, r or c
    b  e  x      a breakpoint, edit the effect, reject it
    p  =         evaluate an expression, set a variable
    :            the command line; Escape leaves it, Up has what was typed
    0 to 6       the panes: source, effect, variables, model, prints,
                 steps, console; Tab the next one, arrows scroll
    ctrl+c       stop the program at its next step
    ?  q         this page; quit
"""


class HelpPage(ModalScreen[None]):
    """The keys and the commands."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        """Yield the page."""
        text = "\n".join(format_help(COMMAND_LIST))
        with VerticalScroll(id="help") as page:
            page.border_title = "keys and commands; Escape closes this page"
            yield Static(textwrap.dedent(f"{KEYS}\n{text}"), markup=False)


class EffectEditor(ModalScreen[str | None]):
    """An editor for the pending effect; gives the text, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "accept", "carry this out", priority=True),
        Binding("escape", "cancel", "leave", priority=True),
    ]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        """Yield the editor."""
        area = TextArea(self._text, show_line_numbers=True, tab_behavior="indent", id="editor")
        area.border_title = "edit the effect: ctrl+s or F2 accepts, Escape leaves it"
        yield area

    def action_accept(self) -> None:
        """Give the text."""
        self.dismiss(self.query_one(TextArea).text)

    def action_cancel(self) -> None:
        """Give nothing."""
        self.dismiss(None)

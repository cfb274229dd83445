"""Ask a person on the terminal about each effect.

    with njrt.using(intercept=njrt.approve(decisions="approvals.jsonl")):
        triage(mailbox)

    accept? [y]es [n]o [e]dit [a]bort [p]ause [c]ode always [k]ind always [?]

Standard input and error must be a terminal. While a question waits, no time limit runs.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from njrt.data.context import free_in_child
from njrt.data.decisions import (
    Abort,
    Accept,
    Decision,
    Edit,
    Interceptor,
    Pause,
    PendingEffect,
    Reject,
    check_edit,
)
from njrt.data.timeouts import clock
from njrt.effects import CHANGES, AskModel, Effect, Run, Touch
from njrt.errors import ConfigurationError, InterceptorError, require_packages
from njrt.execution.gates import get_gated_name
from njrt.guests.approval.file import ApprovalsFile
from njrt.guests.approval.question import describe_question
from njrt.values.dataclass_json import InvalidJsonError
from njrt.values.effect_json import effect_from_json, effect_to_json

Otherwise = Literal["reject", "pause", "abort"]

KEYS = """\
  y  perform the effect
  n  reject it, with a reason for the model
  e  edit it in $EDITOR, then decide about what you wrote
  a  end the block with an error
  p  end the block; the program continues here when it is run again with its recording
  c  perform it, and from now on every equal effect of this block
  k  perform it, and from now on every effect of this kind in this block
"""
PROMPT = "accept? [y]es [n]o [e]dit [a]bort [p]ause [c]ode always [k]ind always [?] "


class EndOfInputError(Exception):
    """The terminal was closed while a question waited."""


class Terminal:
    """The terminal on which a person is asked."""

    def is_interactive(self) -> bool:
        return all(
            stream is not None and not stream.closed and stream.isatty()
            for stream in (sys.stdin, sys.stderr)
        )

    def ask(self, prompt: str) -> str:
        """Return one line that was typed after the prompt was shown."""
        stdin = sys.stdin.fileno()
        with suppress(ImportError, OSError):
            import termios

            termios.tcflush(stdin, termios.TCIFLUSH)
        self.write(prompt)
        line = b""
        while not line.endswith(b"\n"):
            read = os.read(stdin, 4096)
            if not read:
                self.write("\n")
                raise EndOfInputError
            line += read
        return line.decode(errors="replace").strip()

    def write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


class Approval:
    """The interceptor that `approve` makes (state: the decisions so far)."""

    __name__ = "approve"

    def __init__(
        self,
        approvals: ApprovalsFile,
        otherwise: Otherwise | None,
        terminal: Terminal,
        calls: bool | Collection[str] = False,
        changes: bool | Interceptor = False,
    ) -> None:
        self._approvals, self._calls, self._otherwise = approvals, calls, otherwise
        self._changes, self.decides_changes = changes, bool(changes)
        self._terminal = terminal
        self._lock = free_in_child(threading.RLock())

    def __call__(self, pending: PendingEffect) -> Decision | Awaitable[Decision]:
        """Decide as before, or ask."""
        if not self._is_asked(pending):
            return Accept()
        effect, changes = pending.effect, self._changes
        if isinstance(effect, Touch) and effect.function == CHANGES and callable(changes):
            return changes(pending)
        with self._lock:
            if (known := self._approvals.find(pending)) is not None:
                return known
            if not self._terminal.is_interactive():
                return self._decide_alone(pending, "there is no terminal; run the program on one")
            try:
                with clock.stopped():
                    return self._ask(pending)
            except EndOfInputError:
                return self._decide_alone(pending, "the input has ended (Ctrl-D); type a letter")

    def _is_asked(self, pending: PendingEffect) -> bool:
        """Return whether a person decides; all effects count if neither calls nor changes do."""
        if pending.is_sure is not None:
            return not pending.is_sure
        if not (self._calls or self._changes):
            return True
        called = pending.effect.function if isinstance(pending.effect, Touch) else ""
        if called == CHANGES or not called:
            return called == CHANGES
        return self._calls if isinstance(self._calls, bool) else called in self._calls

    def _decide_alone(self, pending: PendingEffect, problem: str) -> Decision:
        match self._otherwise:
            case "reject":
                return Reject("nobody is there to approve this; do without it")
            case "pause":
                return Pause()
            case "abort":
                return Abort()
        raise ConfigurationError(
            f"{pending.place or 'njrt.llm'}: an effect needs approval, but {problem}, or choose "
            'njrt.approve(otherwise="reject"), "pause" or "abort"'
        )

    def _ask(self, pending: PendingEffect) -> Decision:
        terminal, shown = self._terminal, pending
        accepted: Accept | Edit = Accept()
        terminal.write(f"\n{describe_question(shown)}\n")
        while True:
            match terminal.ask(PROMPT).lower():
                case "y" | "yes":
                    return self._approvals.add(pending, accepted, "once")
                case "c":
                    return self._approvals.add(pending, accepted, "code")
                case "k" if shown is not pending:
                    terminal.write("an edited effect can only be accepted with y or c\n")
                case "k":
                    return self._approvals.add(pending, accepted, "kind")
                case "n" | "no":
                    words = terminal.ask("reason for the model? ")
                    rejected = Reject(words or "a person has rejected this; do it in another way")
                    return self._approvals.add(pending, rejected, "once")
                case "a":
                    return Abort()
                case "p":
                    return Pause()
                case "e":
                    try:
                        accepted = Edit(_edit(shown))
                        shown = replace(shown, effect=accepted.effect)
                        terminal.write(f"\n{describe_question(shown)}\n")
                    except _UneditedError as error:
                        terminal.write(f"{error}\n")
                case _:
                    terminal.write(KEYS)


class _UneditedError(Exception):
    """Nothing was edited; the text tells the person why."""


def _edit(pending: PendingEffect) -> Effect:
    """Return the effect that the person writes in an editor: its text, or its fields as JSON."""
    try:
        require_packages("editing", "njpy-runtime[approve]", "click")
    except ConfigurationError as error:
        raise _UneditedError(error) from None
    from click import ClickException, edit

    fields = effect_to_json(pending.effect)
    name = {Run: "code", AskModel: "question"}.get(type(pending.effect))
    text = fields[name].rstrip("\n") if name else json.dumps(fields, ensure_ascii=False, indent=2)
    suffix = ".py" if name == "code" else ".txt" if name else ".json"
    try:
        edited = edit(text + "\n", extension=suffix)
        if edited is None or edited == text + "\n":
            raise _UneditedError("nothing was changed")
        changed: Any = {**fields, name: edited.rstrip("\n")} if name else json.loads(edited)
        made = effect_from_json(changed)
        check_edit("approve", Edit(made), pending)
    except ClickException as error:
        raise _UneditedError(f"{error.message}; set EDITOR to an editor") from None
    except (InvalidJsonError, InterceptorError, TypeError, AttributeError) as error:
        raise _UneditedError(f"this is not an effect of the block: {error}") from None
    except ValueError as error:  # of the JSON, or of the editor's command line
        raise _UneditedError(f"the command in EDITOR or the JSON is wrong: {error}") from None
    return made


def approve(
    *,
    decisions: str | Path | None = None,
    otherwise: Otherwise | None = None,
    calls: bool | Sequence[Callable[..., Any]] = False,
    changes: bool | Interceptor = False,
) -> Approval:
    """Make an interceptor that asks a person on the terminal about each effect.

    With `calls` it asks only about calls of gated functions (`njrt.gated`): all, or these. With
    `changes` it asks only about what contained code changes, before it is applied: a person, or a
    function that gets a `PendingEffect` with a `Touch` of `njrt.apply`, and returns a decision.
    `decisions` is a JSON Lines file; "always" in it is final. Without a terminal, `otherwise`
    decides; the default is `ConfigurationError`.
    """
    if otherwise is not None and otherwise not in get_args(Otherwise):
        raise ConfigurationError(
            f"njrt.approve: otherwise must be one of {', '.join(get_args(Otherwise))}, "
            f"not {otherwise!r}"
        )
    if not isinstance(decisions, str | os.PathLike | None):
        raise ConfigurationError(f"njrt.approve: decisions is a file, not {decisions!r}")
    is_list = isinstance(calls, Collection) and not isinstance(calls, str) and calls
    if not (isinstance(calls, bool) or is_list):
        raise ConfigurationError(
            f"njrt.approve: calls is True, or a list of gated functions, not {calls or 'empty'!r}"
        )
    if not (isinstance(changes, bool) or callable(changes)):
        raise ConfigurationError(f"njrt.approve: changes is True or a function, not {changes!r}")
    return Approval(
        ApprovalsFile(None if decisions is None else Path(decisions).absolute()),
        otherwise,
        Terminal(),
        calls if isinstance(calls, bool) else frozenset(map(get_gated_name, calls)),
        changes,
    )

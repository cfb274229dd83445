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
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

from njrt.context import free_in_child
from njrt.dataclass_json import InvalidJsonError
from njrt.decisions import (
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
from njrt.effect_json import effect_from_json, effect_to_json
from njrt.effects import CHANGES, AskModel, Effect, Touch, get_effect_code
from njrt.errors import ConfigurationError, InterceptorError, require_packages
from njrt.gates import get_gated_name
from njrt.production.approval.file import ApprovalScope, ApprovalsFile
from njrt.production.approval.question import describe_names, describe_question, format_code
from njrt.timeouts import clock

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
        read_time: Callable[[], str],
        calls: bool | Collection[str] = False,
        changes: bool | Interceptor = False,
    ) -> None:
        self._approvals, self._calls, self._otherwise = approvals, calls, otherwise
        self._changes, self.decides_changes = changes, bool(changes)
        self._terminal, self._read_time = terminal, read_time
        self._lock = free_in_child(threading.RLock())

    def __call__(self, pending: PendingEffect) -> Decision | Awaitable[Decision]:
        """Decide as before, or ask."""
        if pending.is_sure:
            return Accept()
        is_chosen = bool(self._calls or self._changes)
        called = pending.effect.function if isinstance(pending.effect, Touch) else None
        is_asked = called in self._calls if isinstance(self._calls, Collection) else bool(called)
        if called == CHANGES:
            if callable(self._changes):
                return self._changes(pending)
        elif is_chosen and not (self._calls and is_asked) and pending.is_sure is None:
            return Accept()
        with self._lock:
            if (known := self._approvals.find(pending)) is not None:
                return known
            if not self._terminal.is_interactive():
                return self._decide_alone(pending, "there is no terminal; run the program on one")
            clock.stop()
            try:
                return self._ask(pending)
            except EndOfInputError:
                return self._decide_alone(pending, "the input has ended (Ctrl-D); type a letter")
            finally:
                clock.start()

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
        terminal, requested = self._terminal, pending
        self._show(pending)
        while True:
            is_edited = pending is not requested
            accepted = Edit(pending.effect) if is_edited else Accept()
            match terminal.ask(PROMPT).lower():
                case "y" | "yes":
                    return self._remember(requested, accepted, "once")
                case "c":
                    return self._remember(requested, accepted, "code")
                case "k" if is_edited:
                    terminal.write("an edited effect can only be accepted with y or c\n")
                case "k":
                    return self._remember(requested, accepted, "kind")
                case "n" | "no":
                    words = terminal.ask("reason for the model? ")
                    rejected = Reject(words or "a person has rejected this; do it in another way")
                    return self._remember(requested, rejected, "once")
                case "a":
                    return Abort()
                case "p":
                    return Pause()
                case "e":
                    try:
                        pending = replace(pending, effect=_edit(pending))
                        self._show(pending)
                    except _UneditedError as error:
                        terminal.write(f"{error}\n")
                case _:
                    terminal.write(KEYS)

    def _show(self, pending: PendingEffect) -> None:
        code = enumerate(format_code(pending.effect).split("\n"), start=1)
        lines = [*describe_question(pending), *(f"  {number:3}  {line}" for number, line in code)]
        self._terminal.write("\n".join(["", *lines, *describe_names(pending), ""]))

    def _remember(
        self, pending: PendingEffect, decision: Accept | Edit | Reject, scope: ApprovalScope
    ) -> Decision:
        self._approvals.add(pending, decision, scope, self._read_time())
        return decision


class _UneditedError(Exception):
    """Nothing was edited; the text tells the person why."""


def _edit(pending: PendingEffect) -> Effect:
    """Return the effect that the person writes in an editor."""
    try:
        require_packages("editing", "njpy-runtime[approve]", "click")
    except ConfigurationError as error:
        raise _UneditedError(error) from None
    from click import ClickException, edit

    effect = pending.effect
    fields = effect_to_json(effect)
    name = next((name for name in fields if name != "kind"), "")
    code = effect.question if isinstance(effect, AskModel) else get_effect_code(effect)
    if isinstance(effect, AskModel):
        name = "question"
    text = json.dumps(fields, ensure_ascii=False, indent=2) if code is None else code.rstrip("\n")
    suffix = ".json" if code is None else ".txt" if name == "question" else ".py"
    try:
        edited = edit(text + "\n", extension=suffix)
        if edited is None or edited == text + "\n":
            raise _UneditedError("nothing was changed")
        changed: Any = json.loads(edited) if code is None else {**fields, name: edited.rstrip("\n")}
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
        lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        calls if isinstance(calls, bool) else frozenset(map(get_gated_name, calls)),
        changes,
    )

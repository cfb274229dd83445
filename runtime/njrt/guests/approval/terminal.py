"""Ask a person on the terminal about each effect.

    with njrt.using(intercept=njrt.approve()):
        triage(mailbox)

    accept? [y]es [n]o [e]dit [a]bort [p]ause [?]

Standard input and error must be a terminal. While a question waits, no time limit runs.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from subprocess import CalledProcessError, run
from tempfile import TemporaryDirectory
from typing import Any

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
from njrt.data.timeouts import paused
from njrt.effects import CHANGES, Effect, Run, Touch
from njrt.errors import ConfigurationError, NaturalError
from njrt.execution.gates import get_gated_name
from njrt.guests.approval.question import describe_question
from njrt.values.effect_json import effect_from_json, effect_to_json

KEYS = """\
  y  perform the effect
  n  reject it, with a reason for the model
  e  edit it in $EDITOR, and perform what you wrote
  a  end the block with an error
  p  end the block; the program continues here when it is run again with its recording
"""
PROMPT = "accept? [y]es [n]o [e]dit [a]bort [p]ause [?] "


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
    """The interceptor that `approve` makes."""

    __name__ = "approve"

    def __init__(
        self,
        terminal: Terminal,
        calls: bool | Collection[str] = False,
        changes: bool | Interceptor = False,
    ) -> None:
        self._calls = calls
        self._changes, self.decides_changes = changes, bool(changes)
        self._terminal = terminal
        self._lock = free_in_child(threading.RLock())

    def __call__(self, pending: PendingEffect) -> Decision | Awaitable[Decision]:
        """Ask, if a person decides about this effect; accept others."""
        if not self._is_asked(pending):
            return Accept()
        effect, changes = pending.effect, self._changes
        if isinstance(effect, Touch) and effect.function == CHANGES and callable(changes):
            return changes(pending)
        with self._lock:
            if not self._terminal.is_interactive():
                raise _make_error(pending, "there is no terminal: run the program on one")
            try:
                with paused(everywhere=True):  # an event loop waits
                    return self._ask(pending)
            except EndOfInputError:
                raise _make_error(pending, "the input has ended (Ctrl-D): type a letter") from None

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

    def _ask(self, pending: PendingEffect) -> Decision:
        terminal = self._terminal
        terminal.write(f"\n{describe_question(pending)}\n")
        while True:
            match terminal.ask(PROMPT).lower():
                case "y" | "yes":
                    return Accept()
                case "n" | "no":
                    words = terminal.ask("reason for the model? ")
                    return Reject(words or "a person has rejected this; do it in another way")
                case "e":
                    try:
                        return Edit(edit_effect(pending))
                    except (OSError, CalledProcessError, ValueError, NaturalError) as error:
                        terminal.write(f"not edited: {error}\n")
                case "a":
                    return Abort()
                case "p":
                    return Pause()
                case _:
                    terminal.write(KEYS)


def edit_effect(pending: PendingEffect) -> Effect:
    """Return the effect that the person writes in an editor: its code, or its fields as JSON.

    Raises OSError or CalledProcessError without a working editor, ValueError or a NaturalError for
    a text that is no effect of the block.
    """
    fields = effect_to_json(pending.effect)
    is_code = isinstance(pending.effect, Run)
    with TemporaryDirectory() as folder:
        file = Path(folder, "effect.py" if is_code else "effect.json")
        text = fields["code"] if is_code else json.dumps(fields, ensure_ascii=False, indent=2)
        file.write_text(text, encoding="utf-8")
        run([*shlex.split(os.environ.get("EDITOR") or "vi"), str(file)], check=True)
        edited = file.read_text(encoding="utf-8")
    made = effect_from_json(fields | {"code": edited} if is_code else json.loads(edited))
    check_edit("approve", Edit(made), pending)
    return made


def _make_error(pending: PendingEffect, problem: str) -> ConfigurationError:
    return ConfigurationError(
        f"{pending.place or 'njrt.llm'}: an effect needs approval, but {problem}, or decide by a"
        " function: njrt.using(intercept=f)"
    )


def approve(
    *,
    calls: bool | Sequence[Callable[..., Any]] = False,
    changes: bool | Interceptor = False,
) -> Approval:
    """Make an interceptor that asks a person on the terminal about each effect.

    With `calls` it asks only about calls of gated functions (`njrt.gated`): all, or these. With
    `changes` it asks only about what contained code changes, before it is applied: a person, or a
    function that gets a `PendingEffect` with a `Touch` of `njrt.apply`, and returns a decision.
    Without a terminal, `ConfigurationError` is raised.
    """
    is_list = isinstance(calls, Collection) and not isinstance(calls, str) and calls
    if not (isinstance(calls, bool) or is_list):
        raise ConfigurationError(
            f"njrt.approve: calls is True, or a list of gated functions, not {calls or 'empty'!r}"
        )
    if not (isinstance(changes, bool) or callable(changes)):
        raise ConfigurationError(f"njrt.approve: changes is True or a function, not {changes!r}")
    return Approval(
        Terminal(),
        calls if isinstance(calls, bool) else frozenset(map(get_gated_name, calls)),
        changes,
    )

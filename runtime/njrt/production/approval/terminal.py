"""Ask a person on the terminal about each effect.

    with njrt.using(intercept=njrt.approve(decisions="approvals.jsonl")):
        triage(mailbox)

    accept? [y]es [n]o [e]dit [a]bort [p]ause [c]ode always [k]ind always [?]

Standard input and error must be a terminal. While a question waits, no time limit runs in the process.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from njrt.context import free_in_child
from njrt.dataclass_json import InvalidJsonError, from_json, to_json
from njrt.decisions import Abort, Accept, Decision, Edit, Pause, PendingEffect, Reject
from njrt.effect_json import decision_from_json, decision_to_json, effect_from_json, effect_to_json
from njrt.effects import EFFECT_KINDS, AskModel, Effect, Touch, get_effect_code
from njrt.errors import ConfigurationError, require_packages
from njrt.gates import get_gated_name
from njrt.message_json import hash_json
from njrt.private_files import append_private_line, drop_cut_line
from njrt.production.approval.question import describe_names, describe_question, format_code
from njrt.records import record
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


@record
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

    def show_code(self, code: str, language: str) -> None:
        """Show code with line numbers, in colour if `rich` is installed."""
        try:
            from rich.console import Console
            from rich.syntax import Syntax
        except ImportError:
            for number, line in enumerate(code.split("\n"), start=1):
                self.write(f"  {number:3}  {line}\n")
            return
        # Only the terminal's colours, so that the code is readable on any background.
        colours = partial(Syntax, theme="ansi_dark", background_color="default")
        Console(file=sys.stderr).print(colours(code, language, line_numbers=True, word_wrap=True))


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
    ) -> None:
        self._approvals = approvals
        self._calls = calls
        self._otherwise = otherwise
        self._terminal = terminal
        self._read_time = read_time
        self._lock = free_in_child(threading.RLock())

    def __call__(self, pending: PendingEffect) -> Decision:
        """Decide as before, or ask."""
        effect, calls = pending.effect, self._calls
        if calls and not (
            isinstance(effect, Touch) and (calls is True or effect.function in calls)
        ):
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
        if self._otherwise == "reject":
            return Reject("nobody is there to approve this; do without it")
        if self._otherwise is not None:
            return Pause() if self._otherwise == "pause" else Abort()
        raise ConfigurationError(
            f"{pending.place or 'njrt.llm'}: an effect needs approval, but {problem}, or choose "
            'njrt.approve(otherwise="reject"), "pause" or "abort"'
        )

    def _ask(self, pending: PendingEffect) -> Decision:
        terminal, requested = self._terminal, pending.effect
        self._show(pending)
        while True:
            answer = terminal.ask(PROMPT)
            effect = pending.effect
            accepted = Accept() if effect is requested else Edit(effect)
            match answer.lower():
                case "y" | "yes":
                    return self._remember(pending, requested, accepted, "once")
                case "c":
                    return self._remember(pending, requested, accepted, "code")
                case "k" if effect is requested:
                    return self._remember(pending, requested, Accept(), "kind")
                case "k":
                    terminal.write("an edited effect can only be accepted with y or c\n")
                case "n" | "no":
                    words = terminal.ask("reason for the model? ")
                    rejected = Reject(words or "a person has rejected this; do it in another way")
                    return self._remember(pending, requested, rejected, "once")
                case "a":
                    return Abort()
                case "p":
                    return Pause()
                case "e":
                    pending = self._edit(pending)
                case _:
                    terminal.write(KEYS)

    def _show(self, pending: PendingEffect) -> None:
        terminal = self._terminal
        terminal.write("\n" + "\n".join(describe_question(pending)) + "\n")
        terminal.show_code(*format_code(pending.effect))
        terminal.write("".join(f"{line}\n" for line in describe_names(pending)))

    def _remember(
        self,
        pending: PendingEffect,
        requested: Effect,
        decision: Accept | Edit | Reject,
        scope: ApprovalScope,
    ) -> Decision:
        self._approvals.add(pending, requested, decision, scope, self._read_time())
        return decision

    def _edit(self, pending: PendingEffect) -> PendingEffect:
        from dataclasses import replace

        try:
            require_packages("editing", "njpy-runtime[approve]", "click")
        except ConfigurationError as error:
            self._terminal.write(f"{error}\n")
            return pending
        from click import ClickException, edit

        text, extension = _format_for_editor(pending.effect)
        try:
            edited = edit(text, extension=extension)
        except ClickException as error:
            self._terminal.write(f"{error.message}; set EDITOR to an editor\n")
            return pending
        except ValueError as error:  # the editor's command line cannot be split
            self._terminal.write(f"the command in EDITOR is wrong: {error}\n")
            return pending
        if edited is None or edited == text:
            self._terminal.write("nothing was changed\n")
            return pending
        try:
            effect = _read_edited(pending, edited)
        except (InvalidJsonError, ValueError) as error:
            self._terminal.write(f"this is not an effect of the block: {error}\n")
            return pending
        pending = replace(pending, effect=effect)
        self._show(pending)
        return pending


def _format_for_editor(effect: Effect) -> tuple[str, str]:
    """Return the text to edit (the code or the question, else the effect as JSON) and its file extension."""
    if isinstance(effect, AskModel):
        return effect.question + "\n", ".txt"
    code = get_effect_code(effect)
    if code is not None:
        return code.rstrip("\n") + "\n", ".py"
    return json.dumps(effect_to_json(effect), ensure_ascii=False, indent=2) + "\n", ".json"


def _read_edited(pending: PendingEffect, text: str) -> Effect:
    effect: Any = pending.effect
    fields = effect_to_json(effect)
    if isinstance(effect, AskModel):
        fields["question"] = text.strip()
    elif get_effect_code(effect) is not None:
        name = next(name for name in fields if name != "kind")
        fields[name] = text.rstrip("\n")
    else:
        fields = json.loads(text)
        if not isinstance(fields, dict):
            raise ValueError("it must be a JSON object")
    changed = effect_from_json(fields)
    if isinstance(effect, Touch):
        if not isinstance(changed, Touch) or changed.function != effect.function:
            raise ValueError(f"it must be a call of {effect.function}")
    elif not isinstance(changed, EFFECT_KINDS[pending.effects]):
        names = ", ".join(kind.__name__ for kind in EFFECT_KINDS[pending.effects])
        raise ValueError(f"the kinds of `{pending.effects}` are {names}")
    return changed


def approve(
    *,
    decisions: str | Path | None = None,
    otherwise: Otherwise | None = None,
    calls: bool | Sequence[Callable[..., Any]] = False,
) -> Approval:
    """Make an interceptor that asks a person on the terminal about each effect.

    With `calls` it asks only about calls of gated functions (`njrt.gated`): all, or these. `decisions` is a JSON
    Lines file; "always" in it is final. Without a terminal, `otherwise` decides; the default is `ConfigurationError`.
    """
    if otherwise is not None and otherwise not in get_args(Otherwise):
        raise ConfigurationError(
            f"njrt.approve: otherwise must be one of {', '.join(get_args(Otherwise))}, not {otherwise!r}"
        )
    if not isinstance(decisions, str | os.PathLike | None):
        raise ConfigurationError(f"njrt.approve: decisions is a file, not {decisions!r}")
    if not isinstance(calls, bool | Collection) or isinstance(calls, str):
        raise ConfigurationError(
            f"njrt.approve: calls is True, or a list of gated functions, not {calls!r}"
        )
    asked = calls if isinstance(calls, bool) else frozenset(map(get_gated_name, calls))
    if asked == frozenset():
        raise ConfigurationError(
            "njrt.approve: calls is True, or a list of gated functions, not empty"
        )
    return Approval(
        ApprovalsFile(None if decisions is None else Path(decisions).absolute()),
        otherwise,
        Terminal(),
        lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        asked,
    )


# ── a person's decisions ───────────────────────────────────────────────────────────────────────────


ApprovalScope = Literal["once", "code", "kind"]


@record
class ApprovalLine:
    """One decision in the file."""

    at: str
    scope: ApprovalScope
    place: str
    instruction: list[str]
    block: str
    effect: dict[str, Any]
    decision: dict[str, Any]
    digest: str = ""
    """A digest of a call's full arguments; older versions' lines have none."""

    def applies_to(self, block: str, effect: dict[str, Any], digest: str = "") -> bool:
        """Return whether this line decides about a block's effect."""
        if self.scope == "once" or block != self.block:
            return False
        if self.scope == "kind":
            same = effect["kind"] == self.effect["kind"]
            return bool(same and effect.get("function") == self.effect.get("function"))
        return effect == self.effect and self.digest in ("", digest)


def make_block_digest(pending: PendingEffect) -> str:
    """Return a digest of a block's file, instruction and effect set; a question's instruction is empty."""
    return hash_json([pending.place.rpartition(":")[0], pending.instruction, pending.effects])


class ApprovalsFile:
    """The decisions in a file, or only in memory if there is no path (state: the lines)."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lines: list[ApprovalLine] | None = None

    @property
    def lines(self) -> list[ApprovalLine]:
        """All decisions; the file is read when first needed."""
        if self._lines is None:
            self._lines = [*read_approvals(self.path)] if self.path and self.path.exists() else []
        return self._lines

    def find(self, pending: PendingEffect) -> Decision | None:
        """Return the earlier decision about an equal effect of an equal block."""
        block, effect = make_block_digest(pending), effect_to_json(pending.effect)
        for line in reversed(self.lines):
            if line.applies_to(block, effect, pending.digest):
                return decision_from_json(line.decision)
        return None

    def add(
        self,
        pending: PendingEffect,
        effect: Effect,
        decision: Accept | Edit | Reject,
        scope: ApprovalScope,
        at: str,
    ) -> None:
        """Add a decision about `effect` and write it immediately."""
        line = ApprovalLine(
            at,
            scope,
            pending.place,
            pending.instruction.split("\n"),
            make_block_digest(pending),
            effect_to_json(effect),
            decision_to_json(decision),
            pending.digest,
        )
        self.lines.append(line)
        if self.path is None:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            append_private_line(self.path, to_json(line))
        except OSError as error:
            raise ConfigurationError(
                f"cannot write the decisions {self.path}: {error.strerror or error}; "
                "choose a file that can be written to"
            ) from None


def read_approvals(path: Path) -> Iterator[ApprovalLine]:
    """Read and check the decisions in a file."""
    try:
        text = drop_cut_line(path.read_bytes()).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"cannot read the decisions {path}: {error}") from None
    for number, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            line: ApprovalLine = from_json(written, ApprovalLine)
            effect_from_json(line.effect)
            decision_from_json(line.decision)
        except InvalidJsonError as error:
            raise ConfigurationError(
                f"{path}:{number}: this line is not a decision ({error}); correct or remove it"
            ) from None
        yield line

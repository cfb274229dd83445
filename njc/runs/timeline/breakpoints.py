"""Breakpoints of a controlled run.

    Breakpoint("line", "mail.njpy:14")         a line of a prompt: at the entry of its block
    Breakpoint("effect", "Run", "n > 3")       before an effect of this kind, if the condition holds
    Breakpoint("variable", "total")            after an effect that bound or changed a variable

A breakpoint on an effect's result stops before the next step; a breakpoint on a block's result
stops at its exit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Literal, assert_never, cast

from pydantic import TypeAdapter

from njc.frontend.blocks import NaturalBlock, find_blocks
from njc.frontend.parse import Module, parse
from njc.frontend.source import SourceFile
from njc.runs.timeline.channel import RunControlError
from njc.runs.timeline.steps import Step
from njrt.effects import EFFECT_KINDS
from njrt.records import record, replace

BreakpointKind = Literal[
    "line", "block", "effect", "jump", "variable", "refusal", "type", "limit", "tokens"
]


@record
class Breakpoint:
    """A reason to stop a run.

    At a block's entry: `line`, `block`. Before an effect: `effect`, or `tokens` if its reply took
    more than `target`. After an effect: `variable`, `refusal`, `type` if an output does not fit its
    type. At an exit: `jump`, `limit`, `type`.
    """

    kind: BreakpointKind
    target: str = ""
    """A place (`mail.njpy:14`), kind of effect, jump, variable or token count; "" matches all."""
    condition: str = ""
    """An expression over the block's variables; "" is always true."""
    place: str = ""
    """The block, by its first line, as found by `locate`."""

    def __str__(self) -> str:
        """Return the breakpoint in a few words, such as `block mail.njpy:12 if n > 3`."""
        above = "above " if self.kind == "tokens" else ""
        text = f"{self.kind} {above}{self.target}".strip()
        return f"{text} if {self.condition}" if self.condition else text

    def is_hit(self, step: Step) -> bool:
        """Return whether a step in its present state hits the breakpoint; ignores the condition."""
        target, place = self.target, self.place
        is_effect = step.kind == "effect"
        match self.kind:
            case "line":
                return step.kind == "enter" and is_at(step, place)
            case "block":
                return step.kind == "enter" and (not target or is_at(step, place or target))
            case "effect":
                is_begun = is_effect and not step.is_done and step.effect is not None
                return is_begun and target in ("", (step.effect or {}).get("kind"))
            case "jump":
                return bool(step.jump) and target in ("", step.jump)
            case "variable":
                return is_effect and step.is_done and target in step.changes
            case "refusal":
                return step.is_done and step.is_refused
            case "type":
                is_misfit = step.is_refused and bool(_TYPE_REFUSAL.search(step.result))
                return step.is_done and (is_misfit or step.error.startswith("OutputTypeError"))
            case "limit":
                return step.kind == "exit" and "LimitError" in step.error.partition(":")[0]
            case "tokens":
                return is_effect and not step.is_done and step.tokens > int(target)
            case _:
                assert_never(self.kind)

    def locate(self, folders: Iterable[Path]) -> Breakpoint:
        """Return the breakpoint with its block; raises RunControlError for a line without a block.

        For the kind `block`, the file may be elsewhere, with an imported module; such a breakpoint
        is not changed.
        """
        if self.kind not in ("line", "block") or not self.target or self.place:
            return self
        file, _, line = self.target.rpartition(":")
        files = [folder / file for folder in folders if (folder / file).is_file()]
        for each in files:
            if (lines := find_block_at(each, int(line))) is not None:
                return replace(self, place=f"{each.absolute()}:{lines.first}")
        if self.kind == "block" and not files:
            return self
        raise RunControlError(f"there is no prompt at {self.target}")

    def explain_missing_file(self, folders: Iterable[Path]) -> str:
        """Return a note if the block's file is in none of these folders, or else ""."""
        target = self.target if self.kind == "block" else ""
        if not target or find_source(target, folders) is not None:
            return ""
        return f"{target.rpartition(':')[0]} is not here; a module elsewhere may have it"


BREAKPOINTS = TypeAdapter(list[Breakpoint])
_TYPE_REFUSAL = re.compile(r"does not fit its type|does not have the form")


def is_at(step: Step, wanted: str) -> bool:
    """Return whether a step belongs to the block at a place; its file, if known, must match too."""
    file, _, line = wanted.rpartition(":")
    if not step.file or not is_place(step.place, wanted):
        return is_place(step.place, wanted)
    if Path(file).is_absolute():
        with suppress(OSError):  # the file is gone
            return Path(file).samefile(step.file)
    return is_place(f"{step.file}:{line}", wanted)


def is_place(place: str, wanted: str) -> bool:
    """Return whether `shop/mail.njpy:12` matches `wanted`: `mail.njpy:12`, or an absolute path."""
    file, _, line = place.rpartition(":")
    wanted_file, _, wanted_line = wanted.rpartition(":")
    parts = file.replace("\\", "/").split("/")
    wanted_parts = wanted_file.replace("\\", "/").split("/")
    shorter = min(len(parts), len(wanted_parts))
    return line == wanted_line and parts[-shorter:] == wanted_parts[-shorter:]


def parse_breakpoint(text: str) -> Breakpoint:
    """Parse a breakpoint as written by `str`; raises ValueError, listing all forms."""
    words, _, condition = text.strip().partition(" if ")
    kind, _, rest = words.strip().partition(" ")
    target, condition = _read_target(kind, rest.strip()), condition.strip()
    if target is None:
        raise ValueError(f"`{text.strip()}` is not a breakpoint; write one of: {BREAKPOINT_FORMS}")
    check_condition(condition)
    return Breakpoint(cast(BreakpointKind, kind), target, condition)


def check_condition(condition: str) -> None:
    """Raise ValueError if a condition is not an expression."""
    if condition:
        try:
            compile(condition.strip(), "<condition>", "eval")
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise ValueError(f"the condition `{condition}` is not an expression: {error}") from None


EFFECT_NAMES = (
    *dict.fromkeys(kind.__name__ for kinds in EFFECT_KINDS.values() for kind in kinds),
    "Refusal",
)
JUMP_NAMES = ("broke", "continued", "returned", "raised", "failed")
_STATEMENTS = {"break": "broke", "continue": "continued", "return": "returned", "raise": "raised"}


BREAKPOINT_FORMS = (
    "line FILE:LINE, block [FILE:LINE], effect [KIND], jump [KIND], variable NAME, refusal, type,"
    " limit, tokens above N; each with `if EXPRESSION`"
)


def _read_target(kind: str, text: str) -> str | None:
    """Return the target named by the words after a kind; None if their form is unknown."""
    match kind:
        case "line" | "block" if text or kind == "line":
            file, _, line = text.rpartition(":")
            return text if file and read_number(line) is not None else None
        case "effect":
            effect = next((name for name in EFFECT_NAMES if name.lower() == text.lower()), "")
            if text and not effect:
                names = ", ".join(EFFECT_NAMES)
                raise ValueError(f"there is no effect of the kind `{text}`; the kinds are {names}")
            return effect
        case "jump":
            jump = _STATEMENTS.get(text, text)
            if jump not in ("", *JUMP_NAMES):
                raise ValueError(
                    f"there is no jump `{text}`; the jumps are {', '.join(JUMP_NAMES)}"
                )
            return jump
        case "variable":
            return text if text.isidentifier() else None
        case "tokens":
            number = read_number(text.removeprefix("above").strip())
            return None if number is None else str(number)
        case "block" | "refusal" | "type" | "limit" if not text:
            return ""
        case _:
            return None


def read_number(text: str) -> int | None:
    """Return a number of at most nine digits; None for any other text."""
    return int(text) if text.isdecimal() and len(text) < 10 else None


@record
class BlockLines:
    """The lines of a block's literal, from the opening to the closing quotes, numbered from 1."""

    first: int
    last: int


def find_block_at(file: Path, line: int) -> BlockLines | None:
    """Return the block that contains a line."""
    blocks = list_block_lines(file)
    return next((lines for lines in blocks if lines.first <= line <= lines.last), None)


def find_block_lines(file: Path, first: int) -> BlockLines | None:
    """Return the block with this first line, as in the `place` of its steps."""
    return next((lines for lines in list_block_lines(file) if lines.first == first), None)


def list_block_lines(file: Path) -> tuple[BlockLines, ...]:
    """Return the lines of all blocks in a file; none for a device or pipe, which may never end."""
    try:
        return _parse_block_lines(file, file.stat().st_mtime_ns) if file.is_file() else ()
    except (OSError, ValueError):  # a path with NUL
        return ()


@lru_cache(maxsize=64)
def _parse_block_lines(file: Path, changed_at: int) -> tuple[BlockLines, ...]:
    module = parse(SourceFile(file.name, file.read_bytes()))
    if not isinstance(module, Module):
        return ()
    blocks = [found for found in find_blocks(module) if isinstance(found, NaturalBlock)]
    return tuple(BlockLines(block.line, block.end_line) for block in blocks)


def find_source(place: str, folders: Iterable[Path]) -> Path | None:
    """Return the file of a place such as `shop/mail.njpy:12`, in one of these folders."""
    name = place.rpartition(":")[0]
    return next((folder / name for folder in folders if name and (folder / name).is_file()), None)


def find_step_source(step: Step, folders: Iterable[Path]) -> Path | None:
    """Return the source file of a step's block."""
    return Path(step.file) if step.file else find_source(step.place, folders)

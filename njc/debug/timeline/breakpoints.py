"""Breakpoints of a controlled run.

    Breakpoint("block", "mail.njpy:14")        at the entry of the block with this line
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

from njc.compiler.frontend.blocks import NaturalBlock, find_blocks
from njc.compiler.frontend.parse import Module, parse
from njc.compiler.frontend.source import SourceFile
from njc.debug.timeline.channel import RunControlError
from njc.debug.timeline.steps import Step
from njrt.data.records import record, replace
from njrt.effects import EFFECT_KINDS

BreakpointKind = Literal["block", "effect", "jump", "variable", "refusal", "type", "limit"]


@record
class Breakpoint:
    """A reason to stop a run.

    At a block's entry: `block`. Before an effect: `effect`. After an effect: `variable`, `refusal`,
    `type` if an output does not fit its type. At an exit: `jump`, `limit`, `type`.
    """

    kind: BreakpointKind
    target: str = ""
    """A place (`mail.njpy:14`), kind of effect, jump or variable; "" matches all."""
    condition: str = ""
    """An expression over the block's variables; "" is always true."""
    place: str = ""
    """The block, by its first line, as found by `locate`."""

    def __str__(self) -> str:
        """Return the breakpoint in a few words, such as `block mail.njpy:12 if n > 3`."""
        text = f"{self.kind} {self.target}".strip()
        return f"{text} if {self.condition}" if self.condition else text

    def is_hit(self, step: Step) -> bool:
        """Return whether a step in its present state hits the breakpoint; ignores the condition."""
        target, place = self.target, self.place
        is_effect = step.kind == "effect"
        match self.kind:
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
            case _:
                assert_never(self.kind)

    def locate(self, folders: Iterable[Path]) -> Breakpoint:
        """Return the breakpoint with its block; raises RunControlError for a line without a block.

        If the file is elsewhere, with an imported module, the breakpoint is not changed.
        """
        if self.kind != "block" or not self.target or self.place:
            return self
        if (file := find_source(self.target, folders)) is None:
            return self
        lines = find_block_at(file, int(self.target.rpartition(":")[2]))
        if lines is None:
            raise RunControlError(f"there is no prompt at {self.target}")
        return replace(self, place=f"{file.absolute()}:{lines.first}")

    @property
    def note(self) -> str:
        """A note if the block's file was not found, or else ""."""
        if self.kind != "block" or not self.target or self.place:
            return ""
        return f"{self.target.rpartition(':')[0]} is not here; a module elsewhere may have it"


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


BREAKPOINT_FORMS = (
    "block [FILE:LINE], effect [KIND], jump [KIND], variable NAME, refusal, type, limit; each with"
    " `if EXPRESSION`"
)


def _read_target(kind: str, text: str) -> str | None:
    """Return the target named by the words after a kind; None if their form is unknown."""
    match kind:
        case "block" if text:
            file, _, line = text.rpartition(":")
            return text if file and read_number(line) is not None else None
        case "effect" | "jump":
            names = EFFECT_NAMES if kind == "effect" else JUMP_NAMES
            name = next((name for name in names if name.lower() == text.lower()), "")
            if text and not name:
                raise ValueError(f"there is no {kind} `{text}`; write one of: {', '.join(names)}")
            return name
        case "variable":
            return text if text.isidentifier() else None
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
    """Return the block that contains a line; None for a device or pipe, which may never end."""
    try:
        blocks = _parse_block_lines(file, file.stat().st_mtime_ns) if file.is_file() else ()
    except (OSError, ValueError):  # a path with NUL
        return None
    return next((lines for lines in blocks if lines.first <= line <= lines.last), None)


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

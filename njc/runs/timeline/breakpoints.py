"""Breakpoints of a controlled run.

    LineBreakpoint("mail.njpy", 14)                a line of a prompt: at the entry of its block
    EffectBreakpoint("Run", condition="n > 3")     before an effect of this kind, if the condition holds
    VariableBreakpoint("total")                    after an effect that bound or changed a variable

A breakpoint on the result of an effect stops before the next step; one on the result of a block, at its exit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, assert_never

from pydantic import Discriminator, TypeAdapter

from njc.frontend.blocks import NaturalBlock, find_blocks
from njc.frontend.parse import Module, parse
from njc.frontend.source import SourceFile
from njc.runs.timeline.steps import Step
from njrt.effects import EFFECT_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Conditional:
    """A breakpoint with an expression over the variables of the block as its condition; "" is true."""

    condition: str = ""


@dataclass(frozen=True, slots=True)
class LineBreakpoint(_Conditional):
    """At the entry of the block that has this line of a `.njpy` file; `first_line` is filled in when it is set."""

    file: str
    line: int
    first_line: int = 0
    """The first line of the block; 0 before the block is known."""
    kind: Literal["line"] = "line"


@dataclass(frozen=True, slots=True)
class BlockBreakpoint(_Conditional):
    """At the entry of the block at a place such as `mail.njpy:12`; "" is every block."""

    place: str = ""
    kind: Literal["block"] = "block"


@dataclass(frozen=True, slots=True)
class EffectBreakpoint(_Conditional):
    """Before an effect of a kind such as `Run`; "" is every effect."""

    effect: str = ""
    kind: Literal["effect"] = "effect"


@dataclass(frozen=True, slots=True)
class JumpBreakpoint(_Conditional):
    """At an exit by a jump: broke, continued, returned, raised, failed; "" is every jump."""

    jump: str = ""
    kind: Literal["jump"] = "jump"


@dataclass(frozen=True, slots=True)
class VariableBreakpoint(_Conditional):
    """After an effect that bound or changed a variable, in any block or in the block at `place`."""

    variable: str
    place: str = ""
    kind: Literal["variable"] = "variable"


@dataclass(frozen=True, slots=True)
class RefusalBreakpoint(_Conditional):
    """After an effect that was refused."""

    kind: Literal["refusal"] = "refusal"


@dataclass(frozen=True, slots=True)
class TypeBreakpoint(_Conditional):
    """After an effect that was refused because an output does not fit its type, or at an exit by that error."""

    kind: Literal["type"] = "type"


@dataclass(frozen=True, slots=True)
class LimitBreakpoint(_Conditional):
    """At the exit of a block that exceeded a limit."""

    kind: Literal["limit"] = "limit"


@dataclass(frozen=True, slots=True)
class TokenBreakpoint(_Conditional):
    """Before the first effect of a reply that took more tokens than this."""

    above: int
    kind: Literal["tokens"] = "tokens"


Breakpoint = (
    LineBreakpoint | BlockBreakpoint | EffectBreakpoint | JumpBreakpoint
    | VariableBreakpoint | RefusalBreakpoint | TypeBreakpoint | LimitBreakpoint | TokenBreakpoint
)  # fmt: skip
BREAKPOINTS: TypeAdapter[list[Breakpoint]] = TypeAdapter(
    list[Annotated[Breakpoint, Discriminator("kind")]]
)
_TYPE_REFUSAL = re.compile(r"does not fit its type|does not have the form")


def find_hits(breakpoints: Iterable[Breakpoint], step: Step) -> list[Breakpoint]:
    """Return the breakpoints that a step hits in its present state: begun or finished."""
    return [breakpoint for breakpoint in breakpoints if is_hit(breakpoint, step)]


def is_hit(breakpoint: Breakpoint, step: Step) -> bool:
    """Return whether a step hits a breakpoint, without its condition."""
    match breakpoint:
        case LineBreakpoint(file=file, first_line=first):
            return step.kind == "enter" and is_place(step.place, f"{file}:{first}")
        case BlockBreakpoint(place=place):
            return step.kind == "enter" and (not place or is_place(step.place, place))
        case EffectBreakpoint(effect=kind):
            is_begun = step.kind == "effect" and not step.is_done and step.effect is not None
            return is_begun and kind in ("", (step.effect or {}).get("kind"))
        case JumpBreakpoint(jump=jump):
            return bool(step.jump) and jump in ("", step.jump)
        case VariableBreakpoint(variable=variable, place=place):
            is_here = not place or is_place(step.place, place)
            is_change = step.kind == "effect" and step.is_done
            return is_change and is_here and variable in step.changes
        case RefusalBreakpoint():
            return step.is_done and step.is_refused
        case TypeBreakpoint():
            is_misfit = step.is_refused and bool(_TYPE_REFUSAL.search(step.result))
            return step.is_done and (is_misfit or step.error.startswith("OutputTypeError"))
        case LimitBreakpoint():
            return step.kind == "exit" and "LimitError" in step.error.partition(":")[0]
        case TokenBreakpoint(above=above):
            return step.kind == "effect" and not step.is_done and step.tokens > above
        case _:
            assert_never(breakpoint)


def is_place(place: str, wanted: str) -> bool:
    """Return whether a place such as `shop/mail.njpy:12` is the wanted one, `mail.njpy:12` or an absolute path's."""
    file, _, line = place.rpartition(":")
    wanted_file, _, wanted_line = wanted.rpartition(":")
    parts = file.replace("\\", "/").split("/")
    wanted_parts = wanted_file.replace("\\", "/").split("/")
    shorter = min(len(parts), len(wanted_parts))
    return line == wanted_line and parts[-shorter:] == wanted_parts[-shorter:]


def describe_breakpoint(breakpoint: Breakpoint) -> str:
    """Return a breakpoint in a few words, such as `block mail.njpy:12 if n > 3`."""
    match breakpoint:
        case LineBreakpoint(file=file, line=line):
            at = f"{file}:{line}"
        case BlockBreakpoint(place=at) | EffectBreakpoint(effect=at):
            pass
        case JumpBreakpoint(jump=at) | VariableBreakpoint(variable=at):
            pass
        case RefusalBreakpoint() | TypeBreakpoint() | LimitBreakpoint():
            at = ""
        case TokenBreakpoint(above=above):
            at = f"above {above}"
        case _:
            assert_never(breakpoint)
    text = f"{breakpoint.kind} {at}".strip()
    return f"{text} if {breakpoint.condition}" if breakpoint.condition else text


def parse_breakpoint(text: str) -> Breakpoint:
    """Read a breakpoint from the form of `describe_breakpoint`; raises ValueError with all forms."""
    words, _, condition = text.strip().partition(" if ")
    kind, _, rest = words.strip().partition(" ")
    breakpoint, condition = _make_breakpoint(kind, rest.strip()), condition.strip()
    if breakpoint is None:
        raise ValueError(f"`{text.strip()}` is not a breakpoint; write one of: {BREAKPOINT_FORMS}")
    check_condition(condition)
    return replace(breakpoint, condition=condition)


def check_condition(condition: str) -> None:
    """Raise ValueError for a condition that is not an expression."""
    if condition:
        try:
            compile(condition.strip(), "<condition>", "eval")
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"the condition `{condition}` is not an expression: {error}") from None


EFFECT_NAMES = (
    *dict.fromkeys(kind.__name__ for kinds in EFFECT_KINDS.values() for kind in kinds),
    "Refusal",
)
JUMP_NAMES = ("broke", "continued", "returned", "raised", "failed")
_PLAIN: Mapping[str, Callable[[], Breakpoint]] = {
    "refusal": RefusalBreakpoint,
    "type": TypeBreakpoint,
    "limit": LimitBreakpoint,
}
_STATEMENTS = {"break": "broke", "continue": "continued", "return": "returned", "raise": "raised"}


BREAKPOINT_FORMS = (
    "line FILE:LINE, block [FILE:LINE], effect [KIND], jump [KIND], variable NAME, refusal, type, limit, "
    "tokens above N; each with `if EXPRESSION`"
)


def _make_breakpoint(kind: str, rest: str) -> Breakpoint | None:
    """Make a breakpoint of the words before ` if `; None for an unknown form."""
    match kind:
        case "line":
            file, _, line = rest.rpartition(":")
            return LineBreakpoint(file, int(line)) if file and line.isdecimal() else None
        case "block":
            return BlockBreakpoint(rest)
        case "effect":
            effect = next((name for name in EFFECT_NAMES if name.lower() == rest.lower()), "")
            if rest and not effect:
                names = ", ".join(EFFECT_NAMES)
                raise ValueError(f"there is no effect of the kind `{rest}`; the kinds are {names}")
            return EffectBreakpoint(effect)
        case "jump":
            jump = _STATEMENTS.get(rest, rest)
            if jump not in ("", *JUMP_NAMES):
                raise ValueError(
                    f"there is no jump `{rest}`; the jumps are {', '.join(JUMP_NAMES)}"
                )
            return JumpBreakpoint(jump)
        case "variable":
            return VariableBreakpoint(rest) if rest.isidentifier() else None
        case "refusal" | "type" | "limit" if not rest:
            return _PLAIN[kind]()
        case "tokens":
            number = rest.removeprefix("above").strip()
            return TokenBreakpoint(int(number)) if number.isdecimal() else None
        case _:
            return None


@dataclass(frozen=True, slots=True)
class BlockLines:
    """The lines of the literal of a block, from its opening quotes to its closing ones, numbered from 1."""

    first: int
    last: int


def find_block_at(file: Path, line: int) -> BlockLines | None:
    """Return the block that has a line."""
    blocks = list_block_lines(file)
    return next((lines for lines in blocks if lines.first <= line <= lines.last), None)


def find_block_lines(file: Path, first: int) -> BlockLines | None:
    """Return the block with this first line, which is in the `place` of its steps."""
    return next((lines for lines in list_block_lines(file) if lines.first == first), None)


def list_block_lines(file: Path) -> tuple[BlockLines, ...]:
    """Return the lines of all blocks of a file."""
    try:
        return _parse_block_lines(file, file.stat().st_mtime_ns)
    except OSError:
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

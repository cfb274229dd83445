"""A natural block at run time, and the instruction in its prompt.

\"\"\"natural(max_effects=20)             extract_instruction
    Sum <a> and <b> into <:c>,     ─────────────────>   Sum <a> and <b> into <:c>,
    if a <<= b.                                         if a <= b.
\"\"\"
"""

from __future__ import annotations

import re

from njrt.data.options import Options
from njrt.data.records import record
from njrt.interface import Interface

MARKER_LINE = re.compile(r"(?:natural|prompt)(?:\(.*?\))?[ \t]*(?:\r\n|\n|\r)", re.DOTALL)


@record
class Block:
    """One natural block, about to run.

    `instruction` is the prompt without its marker line and margins. `labels` are the jumps that are
    legal and offered here, of `break`, `continue`, `return` and `bare_return`; `raise` always is.
    `place` is `file.njpy:line`. `options` are complete: no option with a default is None.
    """

    instruction: str
    labels: tuple[str, ...]
    place: str
    is_async: bool
    options: Options
    reads: tuple[str, ...] = ()
    """Outputs that the prompt also reads, as listed by the compiler.

    The instruction may contain inserted values.
    """
    chooses: tuple[str, ...] = ()
    """Outputs with objects that inputs hold, by their types; they can be chosen but not made."""
    code: str = ""
    """Static code, which runs instead of a conversation with a model."""
    interface: Interface | None = None
    """The block's interface, instead of an effect set."""


def extract_code(argument: str) -> str:
    """Return the static code in a call's `code` argument, dedented by its first line's margin."""
    text = argument.strip("\n").rstrip()
    margin = text[: len(text) - len(text.lstrip(" \t"))]
    return "\n".join(line.removeprefix(margin) for line in text.split("\n"))


def extract_instruction(prompt: str) -> str:
    """Return a prompt's instruction without marker line, margin and trailing blanks; `<<` is `<`.

    Formatting a file changes margins and trailing blanks but not the instruction, so caches and
    recordings stay valid. A tab counts as blanks in the margin, and beyond it stays a tab.
    """
    marker = MARKER_LINE.match(prompt)
    text = re.sub("\r\n?", "\n", prompt[marker.end() :] if marker else prompt)
    lines = [line.rstrip() for line in text.split("\n")]
    indents = [line[: len(line) - len(line.lstrip(" \t"))] for line in lines if line]
    margin = min((len(indent.expandtabs()) for indent in indents), default=0)
    dedented = (_remove_margin(line, margin) for line in lines)
    return "\n".join(dedented).strip("\n").replace("<<", "<")


def _remove_margin(line: str, columns: int) -> str:
    """Remove the first columns of a line, which are blanks; a tab that is cut leaves blanks."""
    for number in range(len(line) + 1):
        if (left := len(line[:number].expandtabs()) - columns) >= 0:
            return " " * left + line[number:]
    return line

"""Hover texts, in Markdown, for the name or the block at a place.

<ticket>            `ticket: str`, a parameter, line 3; what its block may do
'''natural          the block's reads, outputs and authority, as in `njc show`
"""

from __future__ import annotations

from collections.abc import Iterator

from njc.compiler.analysis.authority import decide_authority
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.markers import match_opening
from njc.compiler.frontend.name_resolution import Global
from njc.compiler.frontend.occurrences import Occurrence
from njc.editors.lsp.answers.navigation import describe_name
from njc.editors.lsp.texts.documents import Document, Reading
from njrt.data.options import OPTION_NAMES, merge_option_layers
from njrt.data.records import record
from njrt.values.rendering.one_line import write_brief

MAX_LINES = 8
"""The number of lines that bind or read a variable to list."""


@record
class HoverText:
    """A text in Markdown about the part of the program between two offsets."""

    start: int
    end: int
    markdown: str


def describe_place(document: Document, offset: int) -> HoverText | None:
    """Describe the name, or the natural block, at an offset."""
    reading = document.read_at(offset)
    if reading is None:
        return None
    block = reading.find_block(offset)
    occurrence = reading.find_name(offset)
    if occurrence is not None:
        paragraphs = list(_describe_occurrence(document, reading, occurrence, block))
        if paragraphs:
            return HoverText(occurrence.start, occurrence.end, "\n\n".join(paragraphs))
    if block is not None:
        opened = match_opening(block.literal)
        if opened is not None and offset < block.start + opened.end():
            end = block.start + len(opened[0].rstrip())
            return HoverText(block.start, end, describe_authority(document, reading, block))
    return None


def _describe_occurrence(
    document: Document, reading: Reading, occurrence: Occurrence, block: NaturalBlock | None
) -> Iterator[str]:
    uses = reading.list_uses(occurrence)
    is_bound = any(it.binds or it.role == "declare" for it in uses)
    if not is_bound and not occurrence.in_prompt:
        return
    written = reading.module.source.text[occurrence.start : occurrence.end]
    scope = block.scope if block is not None else None
    visible = scope and describe_name(reading, scope, written)
    typed = f"{written}: {visible.type}" if visible and visible.type else written
    yield f"```python\n{typed}\n```"
    if is_bound:
        yield _describe_uses(reading, uses)
    else:
        yield "not bound in this file: a builtin of Python, or undefined"
    if occurrence.in_prompt and block is not None:
        yield describe_authority(document, reading, block)


def _describe_uses(reading: Reading, uses: list[Occurrence]) -> str:
    """Return a variable's kind and scope, and the lines and blocks that bind and read it."""
    home = uses[0].home
    is_global = isinstance(home, Global)
    scope = "module" if is_global else f"{home.scope.kind} `{home.scope.name}`"
    kinds = {"parameter": "parameter", "import": "import", "define": "definition"}
    kind = next((kinds[it.role] for it in uses if it.role in kinds), "variable")
    rows = [f"{kind} of the {scope}"]
    for title, chosen in (
        ("bound in", [it for it in uses if it.binds]),
        ("read by blocks in", [it for it in uses if it.role == "read" and it.in_prompt]),
    ):
        starts = (reading.module.source.place(it.start)[0] for it in chosen)
        if lines := list(dict.fromkeys(map(str, starts))):
            shown = ", ".join(lines[:MAX_LINES]) + (", ..." if lines[MAX_LINES:] else "")
            rows.append(f"{title} {'line' if len(lines) == 1 else 'lines'} {shown}")
    return "; ".join(rows)


# ── authority ────────────────────────────────────────────────────────────────────────────────────


def describe_authority(document: Document, reading: Reading, block: NaturalBlock) -> str:
    """Return a block's reads, outputs and authority, in rows."""
    authority = decide_authority(block, reading.types, document.options)
    options = merge_option_layers(block.options, document.options)
    effects = authority.effects or options.effects or ""
    rows = {
        "reads": ", ".join(f"`{path}`" for path in block.reads),
        "binds": ", ".join(f"`{path}`" for path in block.writes),
        "effects": f"`{effects}`: {EFFECT_MEANINGS[effects]}",
        "because": authority.reason,
        "to do without code": authority.remedy,
        "jumps": ", ".join(f"`{_JUMP_NAMES.get(label, label)}`" for label in authority.labels),
        "options": ", ".join(
            f"`{name}={write_brief(value, 60)}`"
            for name in OPTION_NAMES
            if (value := getattr(block.options, name)) is not None
        ),
    }
    return "\n".join(f"- {name}: {text}" for name, text in rows.items() if text)


EFFECT_MEANINGS = {
    "answer": "the model answers with data, and runs no code",
    "direct": "the model may run Python on the variables",
    "interface": "the model may request the effects of an interface",
}
_JUMP_NAMES = {"bare_return": "return"}

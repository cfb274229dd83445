'''From lowered blocks to the text of the compiled file: a splice, never a rewrite.

    |   """natural             |   try:
    |   Answer <query>.        |       _nj.run(
    |   """                    |           """natural
                               |   Answer <query>.
                               |   """,
                               |           lambda: (query,),
                               |           labels="break continue",
                               |           at="mailbox.njpy:12",
                               |       )
                               |   except _nj.Break:
                               |       break
                               |   except _nj.Continue:
                               |       continue

Everything outside the scaffold, including the prompt, is the author's bytes in the author's order.
The scaffold is formatted as black would format it.'''

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import assert_never

from njc.compiler.analysis.ahead import list_targets
from njc.compiler.codegen.header import FileHeader, format_header
from njc.compiler.codegen.linemap import Piece
from njc.compiler.codegen.lower import (
    RUNTIME_PACKAGE,
    Argument,
    EmittableBlock,
    LoweredBlock,
    WrittenBlock,
    format_literal,
    list_loops,
)
from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import Definition, find_first_line, list_children
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.source import SourceFile, count_opening_lines, find_string_tokens
from njrt.data.private_names import mangle
from njrt.data.records import record

LINE_WIDTH = 88


@record
class _Edit:
    """Replace the source's characters from `start` to `end` with `pieces`."""

    start: int
    end: int
    pieces: tuple[Piece, ...]


def emit_without_blocks(source: SourceFile, header: FileHeader) -> list[Piece]:
    """Return the pieces of a file without blocks: its header and its text."""
    return list(_splice_edits(source, [_make_header_edit(source, header)]))


def emit(
    module: Module,
    lowered: Sequence[EmittableBlock],
    header: FileHeader,
    runtime: str,
    note: str = "",
) -> list[Piece]:
    """Return a module with its blocks replaced, as pieces that record their source lines."""
    source = module.source
    comments = [format_comment(note)] if note else []
    if declared := _list_declared_variables(lowered):
        has_attributes = _reads_attributes(module, declared)
        comments.append(_FOR_PYRIGHT + _FOR_PYRIGHT_ATTRIBUTES * has_attributes)
    edits = [_make_header_edit(source, header, comments)]
    if lowered:
        if any(map(_needs_runtime, lowered)):
            line = f"import {RUNTIME_PACKAGE} as {runtime}"
            at, text = find_import_place(module, lowered[0].block.start, line)
            edits.append(_Edit(at, at, (Piece(text, source.place(at)[0], False),)))
        starts = {entry.block.start for entry in lowered}
        edits += [_make_block_edit(source, entry, starts, runtime) for entry in lowered]
        for entry in lowered:
            if isinstance(entry, LoweredBlock) and not entry.code:
                edits += _make_loop_edits(source, entry.block, runtime)
    return list(_splice_edits(source, edits))


def _splice_edits(source: SourceFile, edits: Sequence[_Edit]) -> Iterator[Piece]:
    """Cut the source at the edits, and yield the pieces of both, in order."""
    text, position = source.text, 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        if edit.start > position:
            yield Piece(text[position : edit.start], source.place(position)[0], True)
        yield from edit.pieces
        position = edit.end
    if position < len(text):
        yield Piece(text[position:], source.place(position)[0], True)
    line_end = "" if not text or text.endswith(("\n", "\r")) else source.newline
    yield Piece(line_end + source.newline * 2, len(source.line_starts), False)


_FOR_PYRIGHT = "# pyright: reportUnboundVariable=false"
"""Pyright does not see that a block binds the variables that are declared before it."""

_FOR_PYRIGHT_ATTRIBUTES = ", reportAttributeAccessIssue=false"
"""Pyright also reports every attribute of such a variable."""


def _list_declared_variables(lowered: Sequence[EmittableBlock]) -> frozenset[str]:
    declarations = (call.declarations for call in lowered if isinstance(call, LoweredBlock))
    return frozenset(line.partition(":")[0] for lines in declarations for line in lines)


def format_comment(text: str) -> str:
    """Format text from another file as a comment of one line, without unprintable characters."""
    words = " ".join(text.split())
    return "# " + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)


def _reads_attributes(module: Module, names: Collection[str]) -> bool:
    """Return whether the file reads one of these attributes of a variable, in any scope."""
    source = module.source
    followed_by_dot = re.compile(rf"\b(?:{'|'.join(names)})\b(?:[\s\\)]|#.*)*\.")
    lines: Sequence[int] = range(1, len(source.line_starts) + 1)
    if source.text.isascii():  # otherwise, a name may be written in more than one way
        lines = [source.place(found.start())[0] for found in followed_by_dot.finditer(source.text)]
    waiting: list[ast.AST] = [module.tree] if lines else []
    while waiting:
        match node := waiting.pop():
            case ast.Attribute(value=ast.Name(id=name)) if name in names:
                return True
        waiting += [child for child in list_children(node) if _is_on_lines(child, lines)]
    return False


def _is_on_lines(node: ast.AST, lines: Sequence[int]) -> bool:
    """Return whether a node is on one of the lines, or has no place."""
    if not isinstance(node, ast.stmt | ast.expr):
        return True
    first = bisect_left(
        lines, find_first_line(node) if isinstance(node, Definition) else node.lineno
    )
    return first < len(lines) and lines[first] <= (node.end_lineno or node.lineno)


def _make_header_edit(
    source: SourceFile, header: FileHeader, comments: Sequence[str] = ()
) -> _Edit:
    """Put the header, and further comments, below the shebang and the coding cookie."""
    text = source.text
    first = count_opening_lines(text)
    at = source.line_starts[first] if first < len(source.line_starts) else len(text)
    line_end = "" if text[:at].endswith(("\n", "\r")) or not at else source.newline
    lines = "".join(line + source.newline for line in (*format_header(header), *comments))
    return _Edit(at, at, (Piece(line_end + lines, first + 1, False),))


def _needs_runtime(each: EmittableBlock) -> bool:
    return not isinstance(each, WrittenBlock) or each.needs_runtime


def find_import_place(module: Module, first_block: int, line: str) -> tuple[int, str]:
    """Return where an import goes, just below the docstring and future imports, and its text."""
    source, body = module.source, module.tree.body
    prologue = _count_prologue(source, body, first_block)
    following = body[prologue]
    is_import = isinstance(following, (ast.Import, ast.ImportFrom))
    if not prologue:
        at = find_first_line(following)
        hole = 0 if is_import else 2 if isinstance(following, Definition) else 1
        if not is_import:
            at = _skip_comments_above(source, at)
        return source.line_starts[at - 1], line + source.newline * (hole + 1)
    last = body[prologue - 1]
    _, end = source.get_span(last)
    if source.text[end:].lstrip(" \t").startswith(";"):
        return end, f"; {line}"
    if is_import and following.lineno > (last.end_lineno or 0) + 1:
        return source.line_starts[following.lineno - 1], line + source.newline
    above = source.newline if isinstance(last, ast.Expr) else ""
    return source.line_starts[last.end_lineno or 0], above + line + source.newline


def _count_prologue(source: SourceFile, body: Sequence[ast.stmt], first_block: int) -> int:
    """Count the statements that must stay first: the docstring and the `__future__` imports."""
    count = 0
    match body[0]:
        case ast.Expr(value=ast.Constant(value=str())) as first:
            count = int(source.get_offset(first.lineno, first.col_offset) != first_block)
    for statement in body[count:]:
        match statement:
            case ast.ImportFrom(module="__future__", level=0):
                count += 1
            case _:
                break
    return count


def _skip_comments_above(source: SourceFile, line: int) -> int:
    """Return the first line of comments above a statement, but below the file's opening lines."""
    top = count_opening_lines(source.text) + 1
    while line > top and source.line(line - 1).lstrip(" \t\f").startswith("#"):
        line -= 1
    return line


_GAP_BEFORE = re.compile(r"[ \t\f]*(?:;[ \t\f]*)?\Z")
_SEMICOLON = re.compile(r"[ \t\f]*;[ \t\f]*")
_END_OF_LINE = re.compile(r"[ \t\f]*(?:#|[\r\n]|\Z)")
_FIRST_NEWLINE = re.compile(r"\r\n|\n|\r")


@record
class BlockSite:
    """The text that a block's lines replace, and the lines that must surround them."""

    start: int
    end: int
    before: str
    """The text before the first line: an indented new line if statements share the line."""
    after: str
    indent: str
    step: str
    """One level of indentation."""
    newline: str


def find_block_site(source: SourceFile, block: NaturalBlock, starts: Collection[int]) -> BlockSite:
    """Find the place of a block's lines; `starts` has the offsets of all blocks in the file."""
    placement = block.placement
    opened = _FIRST_NEWLINE.search(block.literal)
    assert opened, "the marker of a block ends its line"
    newline = opened.group()
    step = "\t" if "\t" in placement.indent else "    "
    indent = placement.indent + step if placement.one_line else placement.indent
    start, end, before = block.start, block.end, ""
    if placement.one_line or placement.after_semicolon:
        line_start = source.line_starts[block.line - 1]
        hole = _GAP_BEFORE.search(source.text, line_start, block.start)
        start = hole.start() if hole else block.start
        before = newline + indent
    after = ""
    semicolon = _SEMICOLON.match(source.text, end)
    following = semicolon.end() if semicolon else end
    if semicolon and following not in starts and not _END_OF_LINE.match(source.text, following):
        end, after = following, newline + indent
    return BlockSite(start, end, before, after, indent, step, newline)


def _make_block_edit(
    source: SourceFile, lowered: EmittableBlock, starts: set[int], runtime: str
) -> _Edit:
    """Replace a block with the call, or the written code, on separate lines."""
    block = lowered.block
    site = find_block_site(source, block, starts)
    match lowered:
        case LoweredBlock():
            pieces = _build_call_pieces(lowered, site)
        case WrittenBlock(code=code):
            text = indent_code(code, site.indent, site.step).removeprefix(site.indent)
            text = text.replace("\n", site.newline)
            pieces = [Piece(site.before + text, block.line, False)]
        case _:
            assert_never(lowered)
    if site.after:
        pieces.append(Piece(site.after, block.end_line, False))
    return _Edit(site.start, site.end, tuple(pieces))


def _make_loop_edits(source: SourceFile, block: NaturalBlock, runtime: str) -> Iterator[_Edit]:
    """Put what a loop goes through above it, into a call of the runtime, which looks ahead."""
    for loop, name in list_loops(block, runtime):
        at, (start, end) = source.line_starts[loop.lineno - 1], source.get_span(loop.iter)
        items = source.text[start:end]
        if isinstance(loop.iter, _OPEN_EXPRESSIONS):
            items = f"({items})"
        targets = ", ".join(mangle(it, block.scope.mangling_class) for it in list_targets(loop))
        call = f"{name} = {runtime}.ahead({items}, {format_literal(targets)}, {block.ahead})"
        above = source.text[at : source.get_span(loop)[0]] + call + source.newline
        yield _Edit(at, at, (Piece(above, loop.lineno, False),))
        yield _Edit(start, end, (Piece(name, source.place(start)[0], False),))


_OPEN_EXPRESSIONS = (ast.Tuple, ast.Yield, ast.YieldFrom, ast.NamedExpr)
"""Expressions that may have no parentheses of their own, and need them as an argument."""


def _build_call_pieces(lowered: LoweredBlock, site: BlockSite) -> list[Piece]:
    block, before = lowered.block, site.before
    indent, step, newline = site.indent, site.step, site.newline
    above, below = _build_scaffold(lowered, indent, step)
    head = before + "".join(line + newline + indent for line in above)
    last = step + step if lowered.arms else step
    tail = "," + newline + newline.join(indent + line for line in below)
    return [
        Piece(head + last, block.line, False),
        Piece(block.literal, block.line, True),
        Piece(tail, block.line, False),
    ]


def _build_scaffold(lowered: LoweredBlock, indent: str, step: str) -> tuple[list[str], list[str]]:
    """Return the lines above the prompt and below it, without the suite's indentation."""
    inner = step if lowered.arms else ""
    room = LINE_WIDTH - len((indent + inner + step).expandtabs(4))
    call = f"if {lowered.call}" if lowered.reraises else lowered.call
    above = [*lowered.declarations, *(["try:"] if lowered.arms else []), f"{inner}{call}("]
    below = [
        f"{inner}{step}{line}"
        for argument in lowered.arguments
        for line in _format_argument(argument, room, step)
    ]
    below += [f"{inner}{step}{line}".rstrip() for line in _format_code(lowered.code)]
    below += [f"{inner}):", f"{inner}{step}raise"] if lowered.reraises else [f"{inner})"]
    for caught, statement in lowered.arms:
        below += [f"except {caught}:", f"{step}{statement}"]
    return above, below


def _format_code(code: str) -> list[str]:
    """Format contained static code as an argument: a text if it can be indented, else its lines."""
    if not code:
        return []
    if '"""' in code or code.endswith("\\") or find_lines_in_strings(code):
        texts = (format_literal(line + "\n") for line in code.split("\n"))
        return ["code=(", *(f"    {text}" for text in texts), "),"]
    prefix = "r" if "\\" in code else ""
    return [f'code={prefix}"""', *code.split("\n"), '""",']


def format_call(function: str, arguments: Sequence[Argument], room: int) -> list[str]:
    """Format a call like black: on one line if it fits, otherwise with one argument per line."""
    given = (f"{each.opening}{', '.join(each.items)}{each.closing}" for each in arguments)
    if len(line := f"{function}({', '.join(given)})") <= room:
        return [line]
    lines = (line for each in arguments for line in _format_argument(each, room - 4, "    "))
    return [f"{function}(", *(f"    {line}" for line in lines), ")"]


def _format_argument(argument: Argument, room: int, step: str) -> list[str]:
    """Format an argument like black: on one line if it fits, otherwise with one item per line."""
    items = ", ".join(argument.items)
    if len(argument.items) == 1 and argument.closing == ")":
        items += ","
    line = f"{argument.opening}{items}{argument.closing},"
    if len(line) <= room or not argument.items:
        return [line]
    return [
        argument.opening,
        *(f"{step}{item}," for item in argument.items),
        f"{argument.closing},",
    ]


# ── indenting code as a whole ─────────────────────────────────────────────────────────────────────


_MARGIN = re.compile(r"(?: {4})+")


def indent_code(code: str, indent: str, step: str = "    ") -> str:
    """Put `indent` before each line of Python code; its own levels are given the width `step`."""
    kept = find_lines_in_strings(code)
    return "\n".join(
        line if number in kept or not line.strip() else indent + _rescale_indent(line, step)
        for number, line in enumerate(code.split("\n"), 1)
    )


def find_lines_in_strings(code: str) -> set[int]:
    """Return the numbers of the lines that start inside a string."""
    return {
        number
        for start, end in find_string_tokens(code)
        for number in range(code.count("\n", 0, start) + 2, code.count("\n", 0, end) + 2)
    }


def _rescale_indent(line: str, step: str) -> str:
    margin = _MARGIN.match(line)
    if margin is None or step == "    ":
        return line
    return step * (margin.end() // 4) + line[margin.end() :]

"""The part of the program that the model sees: enough to write fitting code, and no more.

from dataclasses import dataclass           imports, in full
@dataclass
class Mail: ...                             definitions that the code mentions, in outline:
    sender: str                             fields, signatures, first lines of docstrings
class Mailbox:
    def triage(self) -> None:               the function around the block, in full,
        for mail in self.mails:
            ...  # YOUR CODE STANDS HERE    with the block marked
            self.tasks.append(task)         and with the uses of its outputs
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence

from njc.compiler.frontend.blocks import NaturalBlock
from njc.compiler.frontend.name_resolution import Definition, find_first_line
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.prompt_references import list_variables

PLACEHOLDER = "...  # YOUR CODE STANDS HERE"
_MAX_CHARS = 12_000
_MAX_FULL_LINES = 12
_WORD = re.compile(r"[^\W\d]\w*")


def render_context(module: Module, block: NaturalBlock) -> str:
    """Return the part of the program that the block depends on."""
    host = _find_host(module, block)
    around = {id(scope.node) for scope in block.scope.walk_outwards()}
    full = _render_host(module, block, host, around)
    wanted = _find_mentioned_names(module, full, host, block)
    parts = []
    for statement in module.tree.body:
        if statement is host:
            parts.append(full)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            parts.append(_get_source(module, statement))
        elif not wanted.isdisjoint(_list_defined_names(statement)) or block.scope.kind == "module":
            parts.append(_render_outline(module, statement))
    return _drop_longest(_MAX_CHARS, [part for part in parts if part.strip()], full)


def _find_host(module: Module, block: NaturalBlock) -> ast.stmt:
    """Return the module's statement that contains the block."""
    return next(
        statement
        for statement in module.tree.body
        if find_first_line(statement) <= block.line <= (statement.end_lineno or statement.lineno)
        and module.source.get_span(statement)[0] <= block.start
    )


def _render_host(module: Module, block: NaturalBlock, host: ast.stmt, around: set[int]) -> str:
    """Return the host with the block marked; other members of classes around it are outlined."""
    if not isinstance(host, ast.ClassDef) or id(host) not in around:
        return _insert_placeholder(module, block, host)
    parts = [_get_head(module, host)]
    for member in host.body:
        text = _render_outline(module, member)
        if member.lineno <= block.line <= (member.end_lineno or 0):
            text = _render_host(module, block, member, around)
        parts.append(textwrap.indent(textwrap.dedent(text), "    "))
    return "\n".join(parts)


def _insert_placeholder(module: Module, block: NaturalBlock, host: ast.stmt) -> str:
    source = module.source
    first = source.line_starts[find_first_line(host) - 1]
    _, end = source.get_span(host)
    if not first <= block.start <= end:
        return _get_source(module, host)
    before, after = source.text[first : block.start], source.text[block.end : max(end, block.end)]
    return _normalize_text(f"{before}{PLACEHOLDER}{after}")


def _find_mentioned_names(
    module: Module, text: str, host: ast.stmt, block: NaturalBlock
) -> set[str]:
    """Return the names that the shown text mentions, and those that their outlines mention."""
    outlines = {
        name: _render_outline(module, statement)
        for statement in module.tree.body
        if statement is not host
        for name in _list_defined_names(statement)
    }
    found: set[str] = set()
    waiting = set(_WORD.findall(text)) | set(_WORD.findall(block.literal))
    while waiting:
        name = waiting.pop()
        if name in outlines and name not in found:
            found.add(name)
            waiting |= set(_WORD.findall(outlines[name])) - found
    return found


def _list_defined_names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [name for target in targets for name in list_variables(target)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _ if type(statement).__name__ == "TypeAlias":  # Python 3.12
            return [statement.name.id]  # type: ignore[attr-defined]
        case _:
            return []


def _render_outline(module: Module, statement: ast.stmt) -> str:
    """Return a definition without its body; a short statement in full."""
    match statement:
        case ast.ClassDef(body=body):
            members = [textwrap.dedent(_render_outline(module, statement)) for statement in body]
            inner = "\n".join(member for member in members if member) or "..."
            return f"{_get_head(module, statement)}\n{textwrap.indent(inner, '    ')}"
        case ast.FunctionDef(name="__init__") if _count_lines(statement) <= _MAX_FULL_LINES:
            return _get_source(module, statement)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            docstring = (ast.get_docstring(statement) or "").split("\n")[0]
            inner = f'"""{docstring}"""' if docstring else "..."
            return f"{_get_head(module, statement)}\n    {inner}"
        case ast.Expr(value=ast.Constant(value=str())):
            return _get_source(module, statement) if _count_lines(statement) <= 3 else ""
        case _ if _count_lines(statement) <= _MAX_FULL_LINES:
            return _get_source(module, statement)
        case _:
            return "\n".join([*_get_source(module, statement).split("\n")[:3], "    ..."])


def _get_head(module: Module, definition: Definition) -> str:
    source = module.source
    first = source.line_starts[find_first_line(definition) - 1]
    inner = definition.body[0]
    line, column = find_first_line(inner), 0
    if line <= definition.lineno:
        line, column = inner.lineno, inner.col_offset
    end = source.get_offset(line, column)
    return _normalize_text(source.text[first:end])


def _get_source(module: Module, statement: ast.stmt) -> str:
    source = module.source
    _, end = source.get_span(statement)
    return _normalize_text(source.text[source.line_starts[find_first_line(statement) - 1] : end])


def _count_lines(statement: ast.stmt) -> int:
    return (statement.end_lineno or 0) - statement.lineno + 1


def _normalize_text(text: str) -> str:
    """Return a text without margin and trailing blanks, with line ends as `\\n`."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = textwrap.dedent(text.expandtabs(4)).split("\n")
    return "\n".join(line.rstrip() for line in lines if line.strip()).rstrip()


def _drop_longest(most: int, parts: Sequence[str], kept: str) -> str:
    """Leave out outlines, the longest first, until the text is short enough."""
    chosen = list(parts)
    while sum(map(len, chosen)) > most and len(chosen) > 1:
        chosen.remove(max((part for part in chosen if part != kept), key=len))
    return "\n".join(_add_blank_lines(chosen))


def _add_blank_lines(parts: Sequence[str]) -> Iterator[str]:
    """Put a blank line before each definition."""
    for part in parts:
        if part.startswith(("class ", "def ", "async def ", "@")):
            yield ""
        yield part

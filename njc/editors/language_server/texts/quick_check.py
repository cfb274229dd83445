"""The findings of a text that changes by a few characters, without reading all of it again.

    check_text(source)                      the findings of `analyze`, and of Python's parser
    check_change(checked, source)           the same for the next version: mostly by reading one function

Where a change is inside the body of one function, the findings in all other functions stay as they are: they depend on
the names around them, which the body of a function does not change. A change elsewhere, one that may mean something
elsewhere (`global`, a comment `# njc:`), and one after which the function is not Python, is read as a whole.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from njc.analysis.check import check
from njc.analysis.endless_functions import find_functions_without_end, is_without_end
from njc.analysis.outputs import check_flow
from njc.compiler import Analysis, analyze
from njc.frontend.blocks import (
    NaturalBlock,
    collect_block_outputs,
    find_blocks_in_function,
    make_module_scope,
    make_scope,
)
from njc.frontend.diagnostics import CODES, Diagnostic
from njc.frontend.directives import read_file_directives
from njc.frontend.names import BlockOutputs, FunctionDefinition, NameScope, walk_outwards
from njc.frontend.parse import Module, find_candidates, parse, parse_quietly
from njc.frontend.source import SourceFile

_FAR_REACHING = re.compile(r"\bglobal\b|njc:")
"""What may change the meaning of code outside of its function."""
_FAR_REACHING_CODES = frozenset({"NJ105"})
_MANY_UNDEFINED = 40
"""Undefined names from which `analyze` may leave out suggestions, so that findings depend on each other."""


@dataclass(frozen=True, slots=True)
class FunctionPart:
    """A function whose body may be read alone: its place in the text, its body, and what it stands in."""

    start: int
    """The start of its first line."""
    body: int
    """The start of the first line of its body."""
    end: int
    """The end of its last line, with the blank and indented lines below."""
    line: int
    node: FunctionDefinition
    """Its tree, whose lines may be those of an earlier version."""
    around: NameScope


@dataclass(frozen=True, slots=True)
class CheckedModule:
    """A text that is Python, taken apart. The tree has the functions of the version that was read as a whole."""

    source: SourceFile
    tree: ast.Module
    parts: tuple[FunctionPart, ...]
    outputs: BlockOutputs
    """The outputs in the scopes of the module and the classes."""
    without_end: dict[str, bool]
    ignored: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class CheckedText:
    """A text and its findings; `last` is its last version that was Python and can be taken apart."""

    source: SourceFile
    diagnostics: tuple[Diagnostic, ...]
    last: CheckedModule | None = None
    is_quick: bool = False
    """Whether only one function was read."""


def check_text(source: SourceFile) -> CheckedText:
    """Find what is wrong with a text, reading all of it."""
    analysis = analyze_always(source)
    return CheckedText(source, analysis.diagnostics, _take_apart(analysis))


def analyze_always(source: SourceFile) -> Analysis:
    """Analyze a text, and parse it also if it has no natural blocks."""
    analysis = analyze(source)
    if analysis.module is not None or analysis.diagnostics:
        return analysis
    module = parse(source)
    if isinstance(module, Diagnostic):
        return replace(analysis, diagnostics=(module,))
    return replace(analysis, module=module)


def check_change(checked: CheckedText, source: SourceFile) -> CheckedText:
    """Find what is wrong with the next version of a text."""
    last = checked.last
    if last is not None and (part := _find_changed_part(last, source)) is not None:
        changed = _check_part(last, part, source)
        if changed is not None:
            return CheckedText(source, changed.diagnostics, changed, True)
        if isinstance(problem := parse(source), Diagnostic):
            return CheckedText(source, (problem,), last)
    found = check_text(source)
    return found if found.last is not None else replace(found, last=last)


# ── taking a text apart ──────────────────────────────────────────────────────────────────────────


def _take_apart(analysis: Analysis) -> CheckedModule | None:
    """Find the functions of a module; None if findings depend on the whole text."""
    module = analysis.module
    if module is None or not _can_take_apart(analysis):
        return None
    scopes = {
        id(scope.node): scope
        for block in analysis.blocks
        for scope in walk_outwards(block.scope)
        if not scope.is_function
    }
    top = scopes.get(id(module.tree)) or make_module_scope(module)
    kept = {id(scope) for scope in (*scopes.values(), top)}
    return CheckedModule(
        analysis.source,
        module.tree,
        tuple(_list_parts(module, module.tree.body, top, scopes, len(module.source.text))),
        {scope: names for scope, names in analysis.outputs.items() if id(scope) in kept},
        find_functions_without_end(module),
        read_file_directives(module).ignored,
        analysis.diagnostics,
    )


def _can_take_apart(analysis: Analysis) -> bool:
    codes = [finding.code for finding in analysis.diagnostics]
    if not _FAR_REACHING_CODES.isdisjoint(codes) or codes.count("NJ201") > _MANY_UNDEFINED:
        return False
    outside = [block for block in analysis.blocks if not block.scope.is_function]
    return "NJ201" not in codes or not outside


def _list_parts(
    module: Module,
    body: list[ast.stmt],
    around: NameScope,
    scopes: dict[int, NameScope],
    end: int,
) -> Iterator[FunctionPart]:
    """Yield the functions of a suite and of its classes, in the order of the text."""
    starts = module.source.line_starts
    for number, statement in enumerate(body):
        following = body[number + 1] if number + 1 < len(body) else None
        limit = starts[_get_first_line(following) - 1] if following is not None else end
        if isinstance(statement, ast.ClassDef):
            inner = scopes.get(id(statement)) or make_scope(module, statement, around)
            yield from _list_parts(module, statement.body, inner, scopes, limit)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            part = _make_part(module.source, statement, around, limit)
            if part is not None:
                yield part


def _make_part(
    source: SourceFile, function: FunctionDefinition, around: NameScope, limit: int
) -> FunctionPart | None:
    """Return a function that has lines of its own, and its body too; None for any other."""
    starts = source.line_starts
    line, first = _get_first_line(function), _get_first_line(function.body[0])
    last = function.end_lineno or first
    start, body = starts[line - 1], starts[first - 1]
    indent = _get_indent(source.line(line))
    if not _is_alone(source, function):
        return None
    while last < len(starts) and starts[last] < limit:
        content = source.line(last + 1)
        if content.strip() and not content.startswith((f"{indent} ", f"{indent}\t")):
            break
        last += 1
    end = starts[last] if last < len(starts) else len(source.text)
    return FunctionPart(start, body, min(end, limit), line, function, around)


def _is_alone(source: SourceFile, function: FunctionDefinition) -> bool:
    """Return whether a function and its body begin on lines of their own, and nothing stands behind the function."""
    inner = function.body[0]
    head = source.line(_get_first_line(function)).lstrip(" \t")
    body = source.line(_get_first_line(inner)).lstrip(" \t")
    offset = source.get_offset(inner.lineno, inner.col_offset)
    starts_line = not source.text[source.line_starts[inner.lineno - 1] : offset].strip(" \t")
    end = source.get_offset(function.end_lineno or 1, function.end_col_offset or 0)
    rest = source.text[end : source.text.find("\n", end) + 1 or len(source.text)].strip()
    return (
        head.startswith(("def", "async", "@"))
        and (body.startswith("@") or starts_line)
        and (not rest or rest.startswith("#"))
    )


def _get_first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _get_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


# ── reading one function again ───────────────────────────────────────────────────────────────────


def find_change(before: str, after: str) -> tuple[int, int]:
    """Return the number of equal characters at the start and at the end of two texts; they do not overlap."""
    most = min(len(before), len(after))
    start = _count_equal(before, after, most)
    low, high = 0, most - start
    while low < high:
        middle = (low + high + 1) // 2
        if before[len(before) - middle :] == after[len(after) - middle :]:
            low = middle
        else:
            high = middle - 1
    return start, low


def _count_equal(before: str, after: str, most: int) -> int:
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if before[:middle] == after[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _find_changed_part(last: CheckedModule, source: SourceFile) -> FunctionPart | None:
    """Return the function in whose body the whole change is."""
    before, after = last.source.text, _get_text(source)
    if after is None:
        return None
    start, at_end = find_change(before, after)
    end = len(before) - at_end
    index = bisect_right([part.start for part in last.parts], start) - 1
    if index < 0:
        return None
    part = last.parts[index]
    if not (part.body <= start and end <= part.end):
        return None
    if end == part.end and end < len(before) and not after[: len(after) - at_end].endswith("\n"):
        return None  # the line below would be joined to the last line
    return part


def _get_text(source: SourceFile) -> str | None:
    try:
        return source.text if source.encoding == "utf-8" and "\0" not in source.text else None
    except Exception:
        return None


def _check_part(
    last: CheckedModule, part: FunctionPart, source: SourceFile
) -> CheckedModule | None:
    """Read one function again; None if its change may mean something elsewhere."""
    shift = len(source.text) - len(last.source.text)
    old, new = last.source.text[part.start : part.end], source.text[part.start : part.end + shift]
    if _FAR_REACHING.search(old) or _FAR_REACHING.search(new):
        return None
    function = _parse_function(part, new)
    if function is None or is_without_end(function) != is_without_end(part.node):
        return None
    old_last = part.line + _count_lines(old) - 1
    new_last = part.line + _count_lines(new) - 1
    module = Module(source, last.tree, find_candidates(source, part.start, part.end + shift))
    found = list(find_blocks_in_function(module, function, part.around))
    blocks = [block for block in found if isinstance(block, NaturalBlock)]
    problems = [finding for finding in found if isinstance(finding, Diagnostic)]
    known = {block.line for block in blocks} | {finding.line for finding in problems}
    if not known.issuperset(module.candidates):
        return None  # a string that is like a prompt and is no statement
    outputs = {**last.outputs, **collect_block_outputs(blocks)}
    problems += check(module, blocks, outputs)
    problems += check_flow(module, blocks, outputs, last.without_end)
    kept = [finding for finding in last.diagnostics if not part.line <= finding.line <= old_last]
    own = [it for it in problems if CODES[it.code].fatal or it.code not in last.ignored]
    shifted = shift_findings(kept, old_last, new_last - old_last)
    diagnostics = tuple(sorted({*shifted, *own}))
    if [it.code for it in diagnostics].count("NJ201") > _MANY_UNDEFINED:
        return None
    parts = tuple(_shift_parts(last.parts, part, function, shift, new_last - old_last))
    return replace(last, source=source, parts=parts, diagnostics=diagnostics)


def _parse_function(part: FunctionPart, new: str) -> FunctionDefinition | None:
    """Parse the function alone, with the lines that it has in the text."""
    indented = new[:1] in (" ", "\t")
    try:
        body = parse_quietly(f"if 1:\n{new}" if indented else new).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if indented and len(body) == 1 and isinstance(body[0], ast.If):
        body = body[0].body if not body[0].orelse else []
    match body:
        case [ast.FunctionDef() | ast.AsyncFunctionDef() as function] if (
            type(function) is type(part.node) and function.name == part.node.name
        ):
            ast.increment_lineno(function, part.line - 1 - indented)
            return function
    return None


def _count_lines(text: str) -> int:
    """Return the number of lines of a text that ends at the end of a line, or at the end of the file."""
    breaks = len(re.findall(r"\r\n|\n|\r", text))
    return breaks + (not text.endswith(("\n", "\r")))


def shift_findings(findings: Iterable[Diagnostic], after: int, lines: int) -> Iterator[Diagnostic]:
    """Move the findings behind a line by so many lines."""
    for finding in findings:
        if lines and finding.line > after:
            line, end_line = finding.line + lines, finding.end_line + lines
            yield replace(finding, line=line, end_line=end_line)
        else:
            yield finding


def _shift_parts(
    parts: Sequence[FunctionPart],
    changed: FunctionPart,
    function: FunctionDefinition,
    shift: int,
    lines: int,
) -> Iterator[FunctionPart]:
    for part in parts:
        if part is changed:
            yield replace(part, node=function, end=part.end + shift)
        elif part.start >= changed.end:
            start, body, end = part.start + shift, part.body + shift, part.end + shift
            yield replace(part, start=start, body=body, end=end, line=part.line + lines)
        else:
            yield part


def carry_over(findings: Iterable[Diagnostic], before: str, after: str) -> Iterator[Diagnostic]:
    """The findings of an earlier version that are not on the lines that have changed since, where they are now."""
    start, at_end = find_change(before, after)
    first = before.count("\n", 0, start) + 1
    last = before.count("\n", 0, len(before) - at_end) + 1
    kept = [it for it in findings if it.end_line < first or it.line > last]
    yield from shift_findings(kept, last, after.count("\n") - before.count("\n"))

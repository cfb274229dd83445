'''Find a module's natural blocks, with the data for all later stages.

    for query in queries:
        """natural(max_effects=20)
        Answer <query>, and save a <:response>.
        """

    NaturalBlock(prompt="        Answer <query>, ...", reads=("query",), writes=("response",),
                 labels=("raise", "break", "continue"), scope=Scope("module"), options=...)

A natural block is an expression statement that is exactly one triple-quoted string literal, with
the marker and its options on the first line. Near misses are reported, never ignored.'''

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import NoneType

from njc.compiler.frontend.diagnostics import Diagnostic, make_diagnostic
from njc.compiler.frontend.frames import Frame, Label
from njc.compiler.frontend.markers import (
    NO_WRITTEN_OPTIONS,
    OPENING,
    InterfaceName,
    extract_prompt_text,
    find_near_miss,
    match_marker,
    match_opening,
    parse_options,
)
from njc.compiler.frontend.name_resolution import (
    BlockOutputs,
    Definition,
    NameScope,
    ScopeKind,
    ScopeNode,
    collect_bindings,
    list_branches,
    list_own_expressions,
)
from njc.compiler.frontend.parse import Module
from njc.compiler.frontend.prompt_references import Reference, Tag, find_tags
from njc.compiler.frontend.source import SourceFile, find_string_tokens
from njrt.data.options import Options
from njrt.data.private_names import mangle
from njrt.data.records import record

_HEAD_LENGTH = len('"""natural')


@dataclass(frozen=True)
class NaturalBlock:
    """A natural block. Offsets count characters in the source; lines and columns count from 1."""

    literal: str
    """The literal's source, including prefix and quotes."""
    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int
    tags: tuple[Tag, ...]
    """All tags in the prompt, with offsets in the source text."""
    frame: Frame
    placement: Placement
    options: Options
    requires: tuple[ast.Assert, ...] = ()
    """The asserts directly before the block."""
    ensures: tuple[ast.Assert, ...] = ()
    """The asserts directly after it."""
    interface: InterfaceName | None = None
    """The block's interface, with offsets in the source text."""
    following: tuple[ast.stmt, ...] = ()
    """The statements after the block in its suite."""
    ahead: int | None = None
    """How many requests of the loop are sent at the same time; None for one after the other."""
    loop: ast.For | None = None
    """The `for` loop in whose own suite the block stands."""

    @property
    def head(self) -> tuple[int, int]:
        """The offsets of the opening quotes and the marker."""
        return self.start, self.start + _HEAD_LENGTH

    @property
    def scope(self) -> NameScope:
        """The module, class or function that contains the block's suite."""
        return self.frame.scope

    @cached_property
    def references(self) -> tuple[Reference, ...]:
        """The references, in order of appearance."""
        return tuple(tag for tag in self.tags if isinstance(tag, Reference))

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The paths that the block reads without binding them, each once."""
        return tuple(dict.fromkeys(each.path for each in self.references if not each.writes))

    @cached_property
    def writes(self) -> tuple[str, ...]:
        """The paths that the block must leave bound, each once."""
        return tuple(dict.fromkeys(each.path for each in self.references if each.writes))

    @cached_property
    def binds(self) -> tuple[str, ...]:
        """The variables among the outputs, each once."""
        return tuple(path for path in self.writes if "." not in path)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables that the block refers to, each once."""
        return tuple(dict.fromkeys(reference.root for reference in self.references))

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The control statements that Python would accept in the block's place."""
        return self.frame.list_labels()

    @cached_property
    def labels_exiting_finally(self) -> tuple[Label, ...]:
        """The labels that would leave a `finally` suite, and so are not offered."""
        return self.frame.list_labels_exiting_finally()

    @property
    def is_fstring(self) -> bool:
        """Whether the prompt is an f-string, with a text that is known only at run time."""
        return "f" in self.literal[:2].lower()

    @cached_property
    def prompt(self) -> str:
        """The text between the marker line and the closing quotes, as in the source."""
        return self.literal[match_marker(self.literal).end() : -3]

    @cached_property
    def words(self) -> str:
        """The prompt as its author wrote it for the model: an f-string's fields are blanked."""
        if not self.is_fstring:
            return self.prompt
        return extract_prompt_text(self.literal, match_marker(self.literal))

    @cached_property
    def words_without_references(self) -> str:
        """The words with the references blanked, because their names and types ask for nothing."""
        return self.replace_references(lambda _: "")

    @cached_property
    def marked_words(self) -> str:
        """The words with each character of an input as "\x01" and of an output as "\x02"."""
        return self.replace_references(lambda it: "\x01\x02"[it.writes] * (it.end - it.start))

    def replace_references(self, write: Callable[[Reference], str]) -> str:
        """Return the words with each reference replaced, padded with spaces to keep the offsets."""
        parts, end = list[str](), 0
        text, shift = self.words, self.end - 3 - len(self.words)
        for each in self.references:
            begin, stop = each.start - shift, each.end - shift
            parts += [text[end:begin], write(each).ljust(stop - begin)]
            end = stop
        return "".join([*parts, text[end:]])


def collect_block_outputs(blocks: Iterable[NaturalBlock]) -> BlockOutputs:
    """Return the stored names that natural blocks bind in each scope."""
    outputs: dict[NameScope, set[str]] = {}
    for block in blocks:
        scope = block.scope
        names = {mangle(name, scope.mangling_class) for name in block.binds}
        elsewhere = scope.bindings.globals | scope.bindings.nonlocals
        outputs.setdefault(scope, set()).update(names - elsewhere)
        if at_module := names & scope.bindings.globals:
            outputs.setdefault(scope.module, set()).update(at_module)
    return outputs


BlockOrDiagnostic = NaturalBlock | Diagnostic


def find_blocks(module: Module) -> Iterator[BlockOrDiagnostic]:
    """Yield every natural block of a module in source order, and diagnostics for near misses."""
    bindings = collect_bindings(module.tree, None, module.source.has_walrus)
    scope = NameScope("module", "<module>", module.tree, bindings)
    statements = list(_search_suite(module, module.tree.body, None, Frame(scope)))
    yield from statements
    yield from _find_values(module, statements)


FORM = "a block is one triple-quoted string that starts with the line `natural`"


def _find_values(module: Module, found: Sequence[BlockOrDiagnostic]) -> Iterator[Diagnostic]:
    """Report strings that open like a natural block but are values, arguments or parts."""
    source = module.source
    known = {(block.line, block.column) for block in found if isinstance(block, NaturalBlock)}
    reported = {finding.line for finding in found if isinstance(finding, Diagnostic)}
    lines = {line for line, _ in known} | reported
    if lines.issuperset(module.candidates):
        return
    for start, end in find_string_tokens(source.text):
        opened = OPENING.match(source.text, start)
        line, column = source.place(start)
        if opened and (line, column) not in known and line not in reported:
            message = "a natural block is a statement, not a value"
            hint = "put it on its own lines, and name its output: `<:answer>`"
            yield make_diagnostic(source, "NJ106", start, end, message, hint)


def _search_suite(
    module: Module, body: Sequence[ast.stmt], owner: ast.AST | None, frame: Frame
) -> Iterator[BlockOrDiagnostic]:
    for position, statement in enumerate(body):
        if not module.can_open_block(statement.lineno, statement.end_lineno):
            continue
        if isinstance(statement, ast.Expr):
            yield from _search_expression(module, body, position, owner, frame)
        else:
            yield from _search_compound(module, statement, frame)


def _search_compound(
    module: Module, statement: ast.stmt, frame: Frame
) -> Iterator[BlockOrDiagnostic]:
    """Search a statement's suites, each with its frame."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            scope = make_scope(module, statement, frame.scope)
            yield from _search_suite(module, statement.body, statement, Frame(scope))
        case ast.For() | ast.AsyncFor() | ast.While():
            yield from _search_suite(module, statement.body, statement, frame.enter_loop())
            yield from _search_suite(module, statement.orelse, statement, frame)
        case ast.If():
            chain = list_branches(statement)
            for branch in chain:
                yield from _search_suite(module, branch.body, branch, frame)
            yield from _search_suite(module, chain[-1].orelse, chain[-1], frame)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            yield from _search_suite(module, body, statement, frame)
        case ast.Try() | ast.TryStar():
            yield from _search_suite(module, statement.body, statement, frame)
            starred = isinstance(statement, ast.TryStar)
            for handler in statement.handlers:
                inner = frame.enter_except_star(handler.name or "") if starred else frame
                yield from _search_suite(module, handler.body, statement, inner)
            yield from _search_suite(module, statement.orelse, statement, frame)
            yield from _search_suite(module, statement.finalbody, statement, frame.enter_finally())
        case ast.Match(cases=cases):
            for case in cases:
                yield from _search_suite(module, case.body, case, frame)


def make_scope(module: Module, node: ScopeNode, parent: NameScope) -> NameScope:
    """Make the scope of a function or class that may enclose a block."""
    assert not isinstance(node, ast.Module)
    first, last = module.source.line_starts[node.lineno - 1], node.end_lineno or node.lineno
    end = module.source.line_starts[last] if last < len(module.source.line_starts) else None
    text = module.source.text[first:end]
    kind: ScopeKind
    if isinstance(node, ast.ClassDef):
        kind = "class"
    else:
        yields = "yield" in text and _has_own_yield(node.body)
        kind = "generator" if yields else "function"
        if isinstance(node, ast.AsyncFunctionDef):
            kind = "async generator" if yields else "async function"
    class_name = node.name if kind == "class" else parent.mangling_class
    bindings = collect_bindings(node, class_name, ":=" in text)
    return NameScope(kind, node.name, node, bindings, parent)


def _has_own_yield(body: Sequence[ast.stmt]) -> bool:
    """Return whether a function with this body is a generator; inner functions do not count."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Yield() | ast.YieldFrom():
                return True
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                waiting += list_own_expressions(node)
            case ast.Lambda(args=arguments):
                waiting += filter(None, (*arguments.defaults, *arguments.kw_defaults))
            case _:
                waiting += ast.iter_child_nodes(node)
    return False


def _search_expression(
    module: Module, body: Sequence[ast.stmt], position: int, owner: ast.AST | None, frame: Frame
) -> Iterator[BlockOrDiagnostic]:
    """Decide whether an expression statement is a natural block, nearly one, or neither."""
    statement, source = body[position], module.source
    assert isinstance(statement, ast.Expr)
    value = statement.value
    if not isinstance(value, (ast.Constant, ast.JoinedStr)):
        return
    start, end = source.get_span(statement)
    literal = source.text[start:end]
    if opened := match_opening(literal):
        written = opened["options"]
        options = parse_options(written) if written else NO_WRITTEN_OPTIONS
        shift = start + opened.start("options")
        for problem in options.problems:
            at = shift + problem.start, shift + problem.end
            yield make_diagnostic(source, "NJ104", *at, problem.message)
        if obstacle := check_placement(source, start, end, body):
            yield obstacle
        if (interface := options.interface) is not None:
            interface = replace(interface, start=interface.start + shift, end=interface.end + shift)
        before = reversed(list(_take_asserts(body, range(position - 1, -1, -1))))
        yield NaturalBlock(
            literal,
            start,
            end,
            *source.place(start),
            *source.place(end),
            tuple(_find_shifted_tags(literal, opened, start + opened.end())),
            frame,
            find_placement(source, start, body, owner),
            options.options,
            tuple(before),
            tuple(_take_asserts(body, range(position + 1, len(body)))),
            interface,
            tuple(body[position + 1 :]),
            options.ahead,
            owner if isinstance(owner, ast.For) and body is owner.body else None,
        )
        return
    is_docstring = statement is body[0] and isinstance(owner, NoneType | Definition)
    if miss := find_near_miss(literal, is_docstring):
        at = start + miss.start, start + miss.end
        yield make_diagnostic(source, "NJ103", *at, miss.reason, FORM)


def _take_asserts(body: Sequence[ast.stmt], positions: Iterable[int]) -> Iterator[ast.Assert]:
    """Yield a suite's asserts at these positions, up to the first other statement."""
    for position in positions:
        statement = body[position]
        if not isinstance(statement, ast.Assert):
            return
        yield statement


def _find_shifted_tags(literal: str, opened: re.Match[str], shift: int) -> Iterator[Tag]:
    """Find a prompt's tags and their source offsets; braces in types are as in the prompt."""
    is_fstring = "f" in opened["prefix"].lower()
    for tag in find_tags(extract_prompt_text(literal, opened)):
        start, end = tag.start + shift, tag.end + shift
        if isinstance(tag, Reference):
            type_ = tag.type
            if is_fstring and type_:
                type_ = type_.replace("{{", "{").replace("}}", "}")
            yield Reference(tag.path, tag.writes, start, end, type_)
        else:
            yield replace(tag, start=start, end=end)


# ── a natural block's place among its lines ───────────────────────────────────────────────────────


_BACKSLASH_BEFORE = re.compile(r"\\(?:\r\n|\n|\r)[ \t\f]*\Z")
_CASE = re.compile(r"[ \t\f]*case\b(?![ \t]*[.,|=)\]}])")
_BACKSLASH_AFTER = re.compile(r"[ \t\f;]*\\(?:\r\n|\n|\r)")


@record
class Placement:
    """A block's place among the lines around it."""

    indent: str
    """The indentation of the suite's statements, or of the header if the suite is on its line."""
    one_line: bool
    """Whether the suite is on its header's line: `if x: \"\"\"natural...`."""
    after_semicolon: bool
    """Whether another statement precedes the block on its line: `a = 1; \"\"\"natural...`."""


def find_placement(
    source: SourceFile, start: int, body: Sequence[ast.stmt], owner: ast.AST | None
) -> Placement:
    """Find the place of the block at `start` in the suite `body` of `owner`."""
    before = source.text[source.line_starts[source.place(start)[0] - 1] : start]
    before_first = _get_text_before(source, body[0])
    one_line = bool(before_first.strip())
    indent = _get_header_indent(source, owner) if one_line else _get_indent(before_first)
    return Placement(indent, one_line, bool(before.strip()) and not one_line)


def check_placement(
    source: SourceFile, start: int, end: int, body: Sequence[ast.stmt]
) -> Diagnostic | None:
    """Return a diagnostic if a block between two offsets cannot be cut from its lines, or None."""
    marked = (start, start + _HEAD_LENGTH)
    first, _ = source.get_span(body[0])
    if _get_text_before(source, body[0]).strip() and first != start:
        message = "natural block after `;` in a one-line suite"
        hint = "put each statement of the suite on its own line, below the header"
        return make_diagnostic(source, "NJ101", *marked, message, hint)
    if _is_continued(source, start) or _BACKSLASH_AFTER.match(source.text, end):
        message = "natural block beside a backslash continuation"
        return make_diagnostic(source, "NJ102", *marked, message, "remove the backslash")
    return None


def _get_text_before(source: SourceFile, first: ast.stmt) -> str:
    """Return the text before a suite's first statement on its line; decorators come above it."""
    line_start = source.line_starts[first.lineno - 1]
    return source.text[line_start : source.get_offset(first.lineno, first.col_offset)]


def _is_continued(source: SourceFile, start: int) -> bool:
    """Return whether a backslash outside a comment joins the line of `start` to the one above."""
    number = source.place(start)[0]
    above = source.line_starts[max(number - 2, 0)]
    if number == 1 or not _BACKSLASH_BEFORE.search(source.text, above, start):
        return False
    return not any(
        token.type == tokenize.COMMENT and token.start[0] == number - 1
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline)
    )


def _get_indent(line: str) -> str:
    """Return the blanks at a line's start; a form feed restarts the count, as in the tokenizer."""
    return line[: len(line) - len(line.lstrip(" \t\f"))].rpartition("\f")[2]


def _get_header_indent(source: SourceFile, owner: ast.AST | None) -> str:
    if isinstance(owner, ast.match_case):
        number = owner.pattern.lineno
        while number > 1 and not _CASE.match(source.line(number)):
            number -= 1
        return _get_indent(source.line(number))
    assert isinstance(owner, ast.stmt), "a module has no header"
    return _get_indent(source.line(owner.lineno))

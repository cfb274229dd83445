'''Finding the natural blocks of a module, each with all that later stages need to know of it.

    for query in queries:
        """natural(max_effects=20)
        Answer <query>, and save a <:response>.
        """

    NaturalBlock(prompt="        Answer <query>, ...", reads=("query",), writes=("response",),
                 labels=("raise", "break", "continue"), scope=Scope("module"), options=...)

A natural block is an expression statement that is exactly one triple-quoted string literal, whose
first line is the marker and its options. What is nearly one is reported, never passed over in silence.
'''

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from njc.diagnostics import Diagnostic, finding
from njc.frames import (
    Frame,
    Label,
    inside_except_star,
    inside_finally,
    inside_loop,
    labels_at,
    labels_leaving_finally,
)
from njc.names import (
    Outputs,
    Scope,
    ScopeKind,
    ScopeNode,
    bindings_of,
    branches,
    mangled,
    outwards,
)
from njc.parse import Module
from njc.references import Reference, Tag, tags_in, without_fields
from njc.source import SourceFile
from njrt.options import NAMES, Options, problem_with


@dataclass(frozen=True, slots=True)
class Placement:
    """How the block stands among the lines around it."""

    indent: str
    """The indentation of the suite's statements; of the header, if the suite is on its line."""
    one_line: bool
    """The suite stands on the line of its header: `if x: \"\"\"natural...`."""
    after_semicolon: bool
    """Another statement stands before it on the line: `a = 1; \"\"\"natural...`."""


@dataclass(frozen=True, slots=True)
class NaturalBlock:
    """One natural block. Offsets count characters of the source's text; lines and columns from 1."""

    literal: str
    """The source of the literal, prefix and quotes included."""
    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int
    tags: tuple[Tag, ...]
    """All that has the form of a reference, with offsets in the source's text."""
    frame: Frame
    placement: Placement
    options: Options

    @property
    def scope(self) -> Scope:
        """The module, class or function whose suite the block stands in."""
        return self.frame.scope

    @property
    def references(self) -> tuple[Reference, ...]:
        """The references, in the order of their appearance."""
        return tuple(tag for tag in self.tags if isinstance(tag, Reference))

    @property
    def reads(self) -> tuple[str, ...]:
        """The paths that the block reads without binding them, each once."""
        return tuple(dict.fromkeys(each.path for each in self.references if not each.writes))

    @property
    def writes(self) -> tuple[str, ...]:
        """The paths that the block must leave bound, each once."""
        return tuple(dict.fromkeys(each.path for each in self.references if each.writes))

    @property
    def binds(self) -> tuple[str, ...]:
        """The variables among the outputs, each once."""
        return tuple(path for path in self.writes if "." not in path)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that the block refers to, each once."""
        return tuple(dict.fromkeys(each.root for each in self.references))

    @property
    def labels(self) -> tuple[Label, ...]:
        """The control statements that Python would accept in the block's place."""
        return labels_at(self.frame)

    @property
    def exits_finally(self) -> tuple[Label, ...]:
        """Those of the labels whose jump would leave a `finally` suite, and that are not offered."""
        return labels_leaving_finally(self.frame)

    @property
    def prompt(self) -> str:
        """The text between the marker line and the closing quotes, as it stands in the source."""
        opened = OPENING.match(self.literal)
        assert opened, "a block begins with its marker"
        return self.literal[opened.end() : -3]


def outputs_of(blocks: Iterable[NaturalBlock]) -> Outputs:
    """Collect, for each scope, the names that its natural blocks bind there, as they are stored."""
    outputs: dict[Scope, frozenset[str]] = {}
    for block in blocks:
        scope = block.scope
        names = frozenset(mangled(name, scope.mangler) for name in block.binds)
        elsewhere = scope.bindings.globals | scope.bindings.nonlocals
        outputs[scope] = outputs.get(scope, frozenset()) | (names - elsewhere)
        if at_module := names & scope.bindings.globals:
            module = next(each for each in outwards(scope) if each.kind == "module")
            outputs[module] = outputs.get(module, frozenset()) | at_module
    return outputs


def described(block: NaturalBlock) -> dict[str, Any]:
    """Describe a block in plain data, for `njc show --stage blocks --output-format json`."""
    return {
        "line": block.line,
        "end_line": block.end_line,
        "column": block.column,
        "reads": list(block.reads),
        "writes": list(block.writes),
        "types": {each.path: each.type for each in block.references if each.type},
        "labels": list(block.labels),
        "exits_finally": list(block.exits_finally),
        "scope": block.scope.kind,
        "name": block.scope.name,
        "options": {
            name: value for name in NAMES if (value := getattr(block.options, name)) is not None
        },
        "prompt": block.prompt,
    }


OPENING = re.compile(
    r"(?P<prefix>[rRuUfF]{0,2})(?P<quotes>\"{3}|'{3})(?P<marker>natural|prompt)[ \t]*"
    r"(?P<options>\([^\r\n]*\))?[ \t]*(?:\r\n|\n|\r)"
)
_NEARLY = re.compile(
    r"(?P<prefix>\w{0,2})(?P<quotes>\"{3}|'{3})(?P<before>[ \t\f\\\r\n]*)(?P<marker>natural|prompt)\b"
    r"(?P<after>[^\r\n]*)",
    re.IGNORECASE,
)
_REST_OF_STRING = {
    '"""': re.compile(r'(?:[^\\"]|\\.|"(?!""))*"""', re.DOTALL),
    "'''": re.compile(r"(?:[^\\']|\\.|'(?!''))*'''", re.DOTALL),
}
_CONTINUED = re.compile(r"\\(?:\r\n|\n|\r)[ \t\f]*\Z")
_CONTINUES = re.compile(r"[ \t\f;]*\\(?:\r\n|\n|\r)")

Found = NaturalBlock | Diagnostic


def find_blocks(module: Module) -> Iterator[Found]:
    """Find every natural block of a module in source order, and what is wrong with would-be blocks."""
    walrus = ":=" in module.source.text
    scope = Scope("module", "<module>", module.tree, bindings_of(module.tree, None, walrus))
    yield from _in_suite(module, module.tree.body, None, Frame(scope))


def _in_suite(
    module: Module, body: Sequence[ast.stmt], owner: ast.AST | None, frame: Frame
) -> Iterator[Found]:
    for statement in body:
        if not module.may_open_in(statement.lineno, statement.end_lineno):
            continue
        if isinstance(statement, ast.Expr):
            yield from _in_expression(module, statement, body, owner, frame)
        else:
            yield from _in_compound(module, statement, frame)


def _in_compound(module: Module, statement: ast.stmt, frame: Frame) -> Iterator[Found]:
    """Look into the suites of a statement, each with the frame that it has."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            scope = _scope_of(module, statement, frame.scope)
            yield from _in_suite(module, statement.body, statement, Frame(scope))
        case ast.For(body=body, orelse=orelse) | ast.AsyncFor(body=body, orelse=orelse):
            yield from _in_suite(module, body, statement, inside_loop(frame))
            yield from _in_suite(module, orelse, statement, frame)
        case ast.While(body=body, orelse=orelse):
            yield from _in_suite(module, body, statement, inside_loop(frame))
            yield from _in_suite(module, orelse, statement, frame)
        case ast.If():
            chain = branches(statement)
            for branch in chain:
                yield from _in_suite(module, branch.body, branch, frame)
            yield from _in_suite(module, chain[-1].orelse, chain[-1], frame)
        case ast.With(body=body) | ast.AsyncWith(body=body):
            yield from _in_suite(module, body, statement, frame)
        case ast.Try() | ast.TryStar():
            yield from _in_suite(module, statement.body, statement, frame)
            starred = isinstance(statement, ast.TryStar)
            for handler in statement.handlers:
                inner = inside_except_star(frame) if starred else frame
                yield from _in_suite(module, handler.body, statement, inner)
            yield from _in_suite(module, statement.orelse, statement, frame)
            yield from _in_suite(module, statement.finalbody, statement, inside_finally(frame))
        case ast.Match(cases=cases):
            for each in cases:
                yield from _in_suite(module, each.body, each, frame)


def _scope_of(module: Module, node: ScopeNode, parent: Scope) -> Scope:
    """Make the scope of a function or class that may enclose a block."""
    assert not isinstance(node, ast.Module)
    first, last = module.source.starts[node.lineno - 1], node.end_lineno or node.lineno
    end = module.source.starts[last] if last < len(module.source.starts) else None
    text = module.source.text[first:end]
    kind: ScopeKind
    if isinstance(node, ast.ClassDef):
        kind = "class"
    else:
        yields = "yield" in text and _yields(node.body)
        kind = "generator" if yields else "function"
        if isinstance(node, ast.AsyncFunctionDef):
            kind = "async generator" if yields else "async function"
    class_name = node.name if kind == "class" else parent.mangler
    return Scope(kind, node.name, node, bindings_of(node, class_name, ":=" in text), parent)


def _yields(body: Sequence[ast.stmt]) -> bool:
    """Whether a function with this body is a generator: a `yield` of its own, not of inner functions."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Yield() | ast.YieldFrom():
                return True
            case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
                waiting += [*node.decorator_list, *arguments.defaults]
                waiting += [each for each in arguments.kw_defaults if each]
            case ast.ClassDef():
                waiting += [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
            case ast.Lambda(args=arguments):
                waiting += [*arguments.defaults, *(each for each in arguments.kw_defaults if each)]
            case _:
                waiting += ast.iter_child_nodes(node)
    return False


def _in_expression(
    module: Module,
    statement: ast.Expr,
    body: Sequence[ast.stmt],
    owner: ast.AST | None,
    frame: Frame,
) -> Iterator[Found]:
    """Decide whether an expression statement is a natural block, nearly one, or neither."""
    value, source = statement.value, module.source
    if not isinstance(value, (ast.Constant, ast.JoinedStr)):
        return
    start = source.offset(statement.lineno, statement.col_offset)
    end = source.offset(statement.end_lineno or 0, statement.end_col_offset or 0)
    literal = source.text[start:end]
    opened = OPENING.match(literal)
    if opened and _is_one_token(literal, opened):
        block = _block(source, literal, opened, start, frame)
        yield from block.problems
        yield from _placed(module, statement, body, owner, block.block)
    elif nearly := _NEARLY.search(literal):
        is_docstring = statement is body[0] and (owner is None or _has_docstring(owner))
        if reason := _why_not(literal, nearly, bool(opened), is_docstring):
            hint = "a block is one triple-quoted string that begins with the line `natural`"
            at = start + nearly.start()
            yield finding(source, "NJ103", at, start + nearly.end("marker"), reason, hint)


@dataclass(frozen=True, slots=True)
class _Opened:
    block: NaturalBlock
    problems: tuple[Diagnostic, ...]


def _block(
    source: SourceFile, literal: str, opened: re.Match[str], start: int, frame: Frame
) -> _Opened:
    """Read a literal that is a block: its references and its options; its placement comes later."""
    body = _text(literal, opened)
    shift = start + opened.end()
    tags = tuple(
        replace(tag, start=tag.start + shift, end=tag.end + shift) for tag in tags_in(body)
    )
    options, problems = Options(), []
    if opened["options"]:
        options, complaints = _read_options(opened["options"])
        shift = start + opened.start("options")
        problems = [
            finding(source, "NJ104", shift + each.start, shift + each.end, each.message)
            for each in complaints
        ]
    line, column = source.place(start)
    end_line, end_column = source.place(start + len(literal))
    block = NaturalBlock(
        literal,
        start,
        start + len(literal),
        line,
        column,
        end_line,
        end_column,
        tags,
        frame,
        Placement("", False, False),
        options,
    )
    return _Opened(block, tuple(problems))


def _text(literal: str, opened: re.Match[str]) -> str:
    """The text of the prompt as it stands in the source, the fields of an f-string blanked."""
    prefix = opened["prefix"].lower()
    text = without_fields(literal, "r" in prefix) if "f" in prefix else literal
    return text[opened.end() : -3]


@dataclass(frozen=True, slots=True)
class _Complaint:
    """What is wrong with some characters of the options."""

    start: int
    end: int
    message: str


def _read_options(text: str) -> tuple[Options, list[_Complaint]]:
    """Read `(model="...", max_effects=20)`."""
    try:
        call = ast.parse(f"_{text}", mode="eval").body
    except (SyntaxError, ValueError):
        call = None
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
        return Options(), [_Complaint(0, len(text), "options are keyword arguments")]
    settings: dict[str, Any] = {}
    complaints: list[_Complaint] = []
    encoded = text.encode()
    for each in call.keywords:
        start, end = (
            len(encoded[: column - 1].decode())
            for column in (each.col_offset, each.end_col_offset or 0)
        )
        if problem := _problem_with(each, settings):
            complaints.append(_Complaint(start, end, problem))
    return Options(**settings), complaints


def _problem_with(keyword: ast.keyword, settings: dict[str, Any]) -> str | None:
    """Add one option to the settings, or say what is wrong with it."""
    if keyword.arg is None:
        return "options cannot be unpacked: write each as `name=value`"
    try:
        value = ast.literal_eval(keyword.value)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return f"option `{keyword.arg}` must be a literal value"
    settings_problem = problem_with(keyword.arg, value)
    if settings_problem is None:
        settings[keyword.arg] = value
    return settings_problem


def _is_one_token(literal: str, opened: re.Match[str]) -> bool:
    """Whether the literal is a single string; `ast` folds implicit concatenation into one node."""
    rest = _REST_OF_STRING[opened["quotes"]].match(literal, opened.end("quotes"))
    if rest is not None and rest.end() == len(literal):
        return True
    return "f" in opened["prefix"].lower() and _is_one_fstring(literal)


def _is_one_fstring(literal: str) -> bool:
    """Whether an f-string with its own quotes inside its fields (Python 3.12) is a single token."""
    depth = strings = 0
    for token in tokenize.generate_tokens(io.StringIO(re.sub(r"\r\n?", "\n", literal)).readline):
        name = tokenize.tok_name[token.type]
        strings += depth == 0 and name in ("STRING", "FSTRING_START")
        depth += (name == "FSTRING_START") - (name == "FSTRING_END")
    return strings == 1


def _placed(
    module: Module,
    statement: ast.Expr,
    body: Sequence[ast.stmt],
    owner: ast.AST | None,
    block: NaturalBlock,
) -> Iterator[Found]:
    """Find out how the block stands among its lines, and refuse what cannot be taken apart."""
    source = module.source
    before = source.text[source.starts[block.line - 1] : block.start]
    first_line = source.line(body[0].lineno)
    before_first = first_line[
        : len(first_line.encode()[: body[0].col_offset].decode(errors="ignore"))
    ]
    if isinstance(body[0], (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        before_first = _indent(first_line)
    one_line = bool(before_first.strip())
    marked = (block.start, block.start + len('"""natural'))
    if one_line and body[0] is not statement:
        hint = "put the statements of the suite on lines of their own"
        message = "natural block after `;` in a one-line suite"
        yield finding(source, "NJ101", *marked, message, hint)
    elif _is_continued(source, block) or _CONTINUES.match(source.text, block.end):
        message = "natural block beside a backslash continuation"
        yield finding(source, "NJ102", *marked, message, "remove the backslash")
    indent = _header_indent(source, owner) if one_line else _indent(before_first)
    placement = Placement(indent, one_line, bool(before.strip()) and not one_line)
    yield replace(block, placement=placement)


def _is_continued(source: SourceFile, block: NaturalBlock) -> bool:
    """Whether a backslash, not one at the end of a comment, joins the block to the line before it."""
    if not _CONTINUED.search(
        source.text, 0 if block.line == 1 else source.starts[block.line - 2], block.start
    ):
        return False
    line = source.line(block.line - 1)
    if "#" not in line:
        return True
    return not any(
        token.type == tokenize.COMMENT and token.start[0] == block.line - 1
        for token in tokenize.generate_tokens(io.StringIO(source.text).readline)
    )


def _indent(line: str) -> str:
    """The blanks at the head of a line; a form feed starts the count anew, as in the tokenizer."""
    return line[: len(line) - len(line.lstrip(" \t\f"))].rpartition("\f")[2]


def _header_indent(source: SourceFile, owner: ast.AST | None) -> str:
    """The indentation of the header of a one-line suite."""
    if isinstance(owner, ast.match_case):
        number = owner.pattern.lineno
        while number > 1 and not source.line(number).lstrip(" \t\f").startswith("case"):
            number -= 1
        return _indent(source.line(number))
    assert isinstance(owner, ast.stmt), "a module has no header"
    return _indent(source.line(owner.lineno))


def _has_docstring(owner: ast.AST) -> bool:
    return isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _why_not(
    literal: str, nearly: re.Match[str], is_block_but: bool, is_docstring: bool
) -> str | None:
    """Say why a literal that begins almost like a natural block is not one; None if none was meant."""
    marker, after = nearly["marker"], nearly["after"]
    if literal[: nearly.start()].strip(" \t\f\r\n("):
        return None
    if nearly.start():
        in_parentheses = OPENING.match(literal, nearly.start())
        return "a natural block cannot stand in parentheses" if in_parentheses else None
    if is_block_but:
        return "a natural block cannot be joined with another string"
    spans_lines = "\n" in literal or "\r" in literal
    if set(nearly["prefix"].lower()) - set("ruf"):
        return (
            f"a natural block cannot have the prefix `{nearly['prefix']}`" if spans_lines else None
        )
    if not after.strip() and spans_lines:
        if nearly["before"]:
            return f"`{marker}` must follow the quotes at once"
        return f"a natural block begins with `{marker.lower()}` in small letters"
    addressed = re.search(r"<:?[^\W\d][\w.]*[:>]", literal)
    if (
        not nearly["before"]
        and marker.islower()
        and (addressed or (spans_lines and not is_docstring))
    ):
        return f"the prompt must begin on the line after `{marker}`"
    return None

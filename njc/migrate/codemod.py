"""The codemod itself: one pass over a concrete syntax tree.

@nj.fn                                  def judge(mail):
def judge(mail):                            \"\"\"natural
    \"\"\"natural Judge <mail>. \"\"\"             Judge <mail>.
                                            \"\"\"

MetadataWrapper(module).visit(MigrationTransformer(configurations, natural))
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

import libcst as cst
from libcst.metadata import PositionProvider

from njc.frontend.prompt_references import Reference, blank_fields, find_tags
from njc.migrate.gathering import (
    FN_NAME,
    NIGHTJARPY,
    Configuration,
    ConfigurationReader,
    NightjarpyTransformer,
    Remark,
    find_assigned_root,
    find_natural_argument,
)
from njrt.options import OPTION_NAMES
from njrt.records import record


class MigrationTransformer(NightjarpyTransformer):
    """Removes decorators, and turns strings in natural functions into natural blocks."""

    def __init__(self, known: Mapping[str, Configuration], natural: Iterable[str]) -> None:
        super().__init__()
        self.remarks: set[Remark] = set()
        self.has_natural_functions = False
        self._known = known
        self._natural = frozenset(natural)
        self._around: list[Configuration | None] = [None]

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        here = self._around[-1]
        for decorator in node.decorators:
            if self._is_fn(decorator.decorator):
                self.has_natural_functions = True
                here = self._read_configuration(decorator.decorator)
        if node.name.value in self._natural and here is None:
            here = Configuration()
        self._around.append(here)

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        self._around.pop()
        lines: list[cst.EmptyLine] = []
        kept: list[cst.Decorator] = []
        for before, after in zip(original_node.decorators, updated_node.decorators, strict=True):
            lines += after.leading_lines
            if self._is_fn(before.decorator):
                lines += extract_comment_lines(after.trailing_whitespace)
            else:
                kept.append(after.with_changes(leading_lines=lines))
                lines = []
        if len(kept) == len(original_node.decorators):
            return updated_node
        lines_after = [*lines, *updated_node.lines_after_decorators]
        return updated_node.with_changes(decorators=kept, lines_after_decorators=lines_after)

    def leave_Call(
        self, original_node: cst.Call, updated_node: cst.Call
    ) -> cst.Call | cst.BaseExpression:
        """Replace `nj.fn(judge)` and `nj.fn(config=FAST)(judge)` with `judge`."""
        if find_natural_argument(original_node, self.name_of) is not None:
            return updated_node.args[0].value
        return updated_node

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr:
        value = original_node.value
        if not isinstance(value, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString):
            return updated_node
        line = self.get_line_number(original_node)
        literal = cst.Module([]).code_for_node(value)
        around = self._around[-1]
        margin = " " * int(self.get_metadata(PositionProvider, original_node).start.column)
        block = rewrite_literal(literal, around.options if around else {}, margin)
        if isinstance(value, cst.ConcatenatedString) or block is None:
            if around is not None and is_natural(getattr(value, "evaluated_value", None)):
                how = "write the block as one triple-quoted string that starts with `natural`"
                self.remarks.add(Remark(line, how))
            return updated_node
        if around is None:
            if not block.literal.startswith(literal.split("\n")[0].rstrip()):
                return updated_node
            message = (
                "this string becomes a natural block, though it is outside of natural functions"
            )
            self.remarks.add(Remark(line, message))
            return updated_node
        for within, message in block.notes:
            self.remarks.add(Remark(line + within, message, is_open=False))
        return updated_node.with_changes(value=cst.parse_expression(block.literal))

    def _is_fn(self, node: cst.BaseExpression) -> bool:
        return self.name_of(node.func if isinstance(node, cst.Call) else node) == FN_NAME

    def _read_configuration(self, node: cst.BaseExpression) -> Configuration:
        if not isinstance(node, cst.Call):
            return Configuration()
        for argument in node.args:
            if argument.keyword is not None and argument.keyword.value == "config":
                found = ConfigurationReader(self.name_of, self._known).read(argument.value)
                code = cst.Module([]).code_for_node(argument.value)
                found = found or Configuration({}, (f"`{code}` cannot be read",))
                line = self.get_line_number(node)
                self.remarks |= {Remark(line, f"config: {text}") for text in found.missed}
                return found
        return Configuration()


# ── rewriting a string that nightjarpy treated as a natural block ──────────────────────────────────


_LITERAL = re.compile(
    r"(?P<prefix>[rRuUfF]{0,2})(?P<quotes>\"{3}|'{3})(?P<before>[ \t]*)(?P<marker>natural|prompt)"
    r"(?P<after>[ \t]*)(?:(?P<newline>\r\n|\n|\r)|[:,.]?[ \t]*(?P<same_line>\S))"
)
_BRACKETS = re.compile(r"<{2,}")
_MARKUP = re.compile(
    "a|b|br|center|code|d[dlt]|div|em|font|h[1-6r]|html|i|img|li|[ou]l|p|pre|s|small|span|strong|"
    "su[bp]|table|tbody|t[dhr]|thead|u",
    re.IGNORECASE,
)


@record
class RewrittenLiteral:
    """A natural block's literal, and notes on it, each with its line in the literal."""

    literal: str
    notes: tuple[tuple[int, str], ...] = ()


def rewrite_literal(
    literal: str, options: Mapping[str, Any], margin: str
) -> RewrittenLiteral | None:
    """Rewrite a string statement, indented by `margin`; None if it is not a natural block."""
    opened = _LITERAL.match(literal)
    if opened is None:
        return None
    text = blank_fields(literal, opened["prefix"])
    if opened["newline"] is None and not any(isinstance(tag, Reference) for tag in find_tags(text)):
        return None
    notes = tuple(_find_new_references(text))
    if opened["before"] or opened["after"] or not opened["newline"]:
        notes += ((0, "nightjarpy took this for a plain string; now it is a natural block"),)
    body = _rewrite_body(literal, text, opened)
    marker = f"{opened['prefix']}{opened['quotes']}{opened['marker']}{_format_options(options)}"
    if opened["newline"]:
        return RewrittenLiteral(f"{marker}{opened['newline']}{body}", notes)
    if "\n" not in body:
        body = f"{body.removesuffix(opened['quotes']).rstrip()}\n{margin}{opened['quotes']}"
    return RewrittenLiteral(f"{marker}\n{margin}{body}", notes)


def _rewrite_body(literal: str, text: str, opened: re.Match[str]) -> str:
    """Return the text after the marker; `<<` is doubled unless it means a single `<`."""
    start = opened.end() if opened["newline"] else opened.start("same_line")
    pieces, position = [], start
    for match in _BRACKETS.finditer(text, start):
        reference = next(find_tags(text[match.end() - 1 : match.end() + 1000]), None)
        begins_one = reference is not None and reference.start == 0
        kept = len(match[0]) - begins_one
        pieces += [literal[position : match.start()], "<" * (2 * kept + begins_one)]
        position = match.end()
    return "".join([*pieces, literal[position:]])


def _find_new_references(text: str) -> Iterator[tuple[int, str]]:
    for tag in find_tags(text):
        if isinstance(tag, Reference) and (tag.is_dotted or tag.type):
            written = text[tag.start : tag.end]
            what = f"an output of type `{tag.type}`" if tag.type else "a reference"
            line = text.count("\n", 0, tag.start)
            yield line, f"`{written}` is {what} now; write `<{written}` if it is meant as text"


def is_markup(text: str, name: str) -> bool:
    """Return whether `<name>` in a prompt is markup rather than a variable."""
    return f"</{name}>" in text or _MARKUP.fullmatch(name) is not None


def is_natural(value: object) -> bool:
    """Return whether nightjarpy treats a string with this value as a natural block."""
    return isinstance(value, str) and value.startswith("natural\n")


def _format_options(options: Mapping[str, Any]) -> str:
    """Return options as written on the marker line."""
    said = [
        f"{name}={json.dumps(options[name], ensure_ascii=False)}"
        for name in OPTION_NAMES
        if name in options
    ]
    return f"({', '.join(said)})" if said else ""


# ── removing unused code from a migrated program ───────────────────────────────────────────────────


_TOOL_COMMENT = re.compile(r"#\s*(noqa|type:|pylint|isort|ruff|pyright)", re.IGNORECASE)

Statements = Sequence[cst.BaseStatement]


class UnusedCodeRemover(cst.CSTTransformer):
    """Removes imports from nightjarpy and configurations that are no longer used.

    `natural` contains the functions that a call made natural: `f = nj.fn(f)` has become `f = f`.
    """

    def __init__(
        self, used: Iterable[str], configurations: Iterable[str], natural: Iterable[str]
    ) -> None:
        super().__init__()
        self._natural = frozenset(natural)
        self._used = frozenset(used)
        self._unused = frozenset(configurations) - self._used

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        body, left = self._clear_body(updated_node.body)
        if body and updated_node.body[0] is not body[0]:
            # Otherwise, blank lines around removed code would add up.
            lines = strip_leading_blanks(body[0].leading_lines)  # type: ignore[attr-defined]
            body[0] = body[0].with_changes(leading_lines=lines)
        return updated_node.with_changes(body=body, footer=[*left, *updated_node.footer])

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body, left = self._clear_body(updated_node.body)
        if not body and updated_node.body:
            body = [cst.SimpleStatementLine([cst.Pass()])]
        return updated_node.with_changes(body=body, footer=[*left, *updated_node.footer])

    def _clear_body(self, body: Statements) -> tuple[list[cst.BaseStatement], list[cst.EmptyLine]]:
        """Return the remaining statements, and the comments after the last one."""
        kept: list[cst.BaseStatement] = []
        left: list[cst.EmptyLine] = []
        for statement in body:
            stays = self._clear_statement(statement)
            if stays is None:
                assert isinstance(statement, cst.SimpleStatementLine)
                left = merge_leading_lines(left, statement.leading_lines)
                left += extract_comment_lines(statement.trailing_whitespace)
                continue
            if left:
                lines = merge_leading_lines(left, stays.leading_lines)  # type: ignore[attr-defined]
                stays, left = stays.with_changes(leading_lines=lines), []
            kept.append(stays)
        return kept, [line for line in left if line.comment]

    def _clear_statement(self, statement: cst.BaseStatement) -> cst.BaseStatement | None:
        if not isinstance(statement, cst.SimpleStatementLine):
            return statement
        small = [*filter(None, map(self._clear_small_statement, statement.body))]
        if len(small) == len(statement.body) and all(map(is_, small, statement.body)):
            return statement
        if not small:
            return None
        small[-1] = small[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        return statement.with_changes(body=small)

    def _clear_small_statement(
        self, statement: cst.BaseSmallStatement
    ) -> cst.BaseSmallStatement | None:
        match statement:
            case cst.Assign() if find_assigned_root(statement) in self._unused:
                return None
            case cst.Assign(value=cst.Name(name)) if (
                name in self._natural and find_assigned_root(statement) == name
            ):
                return None
            case cst.Import(names=names):
                kept = [alias for alias in names if self._is_kept(alias, "")]
                return self._keep_names(statement, kept)
            case cst.ImportFrom(names=names, module=module) if not isinstance(
                names, cst.ImportStar
            ):
                origin = "" if module is None else cst.Module([]).code_for_node(module)
                if origin.split(".")[0] != NIGHTJARPY or statement.relative:
                    return statement
                kept = [alias for alias in names if self._is_kept(alias, origin)]
                return self._keep_names(statement, kept)
        return statement

    def _is_kept(self, alias: cst.ImportAlias, origin: str) -> bool:
        imported = alias.evaluated_name
        if (origin or imported).split(".")[0] != NIGHTJARPY:
            return True
        bound = alias.evaluated_alias or (imported if origin else imported.split(".")[0])
        return bound in self._used

    def _keep_names(
        self, statement: cst.Import | cst.ImportFrom, names: list[cst.ImportAlias]
    ) -> cst.BaseSmallStatement | None:
        before = statement.names
        assert not isinstance(before, cst.ImportStar)
        if len(names) == len(before) or not names:
            return statement if names else None
        names[-1] = names[-1].with_changes(comma=before[-1].comma)
        return statement.with_changes(names=names)


def extract_comment_lines(trailing: cst.TrailingWhitespace) -> list[cst.EmptyLine]:
    """Return the comment at the end of a removed line as a separate line; empty for comments to tools."""
    comment = trailing.comment
    if comment is None or _TOOL_COMMENT.match(comment.value):
        return []
    return [cst.EmptyLine(comment=comment)]


def merge_leading_lines(
    left: Sequence[cst.EmptyLine], own: Sequence[cst.EmptyLine]
) -> list[cst.EmptyLine]:
    """Return the lines before a statement, preceded by the lines `left` over from a removed one.

    All comments stay; adjacent runs of blank lines are merged into the longer run.
    """
    tail = len(left) - len(strip_leading_blanks(list(reversed(left))))
    blanks = len(own) - len(strip_leading_blanks(own))
    return [*left, *own[min(tail, blanks) :]]


def strip_leading_blanks(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Return the lines without leading blank lines."""
    kept = list(lines)
    while kept and kept[0].comment is None:
        kept.pop(0)
    return kept

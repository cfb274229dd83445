"""The codemod itself: one pass over a concrete syntax tree, and one that clears away what is left over.

    MetadataWrapper(module).visit(Migrating(...))     decorators gone, blocks rewritten, remarks made
    module.visit(Clearing(...))                       configurations and imports gone that nobody uses

Whatever is removed leaves its comments behind, on lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import libcst as cst
from libcst.metadata import PositionProvider, QualifiedNameProvider, QualifiedNameSource

from njc.migrate.configuration import Configuration, Reader
from njc.migrate.prompts import is_natural, rewritten
from njc.migrate.remarks import Remark

PACKAGE = "nightjarpy"
_FN = f"{PACKAGE}.fn"
_FOR_TOOLS = re.compile(r"#\s*(noqa|type:|pylint|isort|ruff|pyright)", re.IGNORECASE)
_INSTEAD = {
    "NJ_TELEMETRY": "`njrt.watch()` counts calls, tokens and cost",
    "nj_llm_factory": "`njrt.llm(prompt, schema)` asks a model from ordinary code",
    "EffectException": "the runtime's errors are below `njrt.NaturalError`",
    "LLMUsage": "`njrt.last_run()` tells what a block used",
}

Statements = Sequence[cst.BaseStatement]


class Named(cst.CSTTransformer):
    """A pass that knows lines, and which names are nightjarpy's."""

    METADATA_DEPENDENCIES = (PositionProvider, QualifiedNameProvider)

    def line_of(self, node: cst.CSTNode) -> int:
        return int(self.get_metadata(PositionProvider, node).start.line)

    def name_of(self, node: cst.CSTNode) -> str | None:
        """The qualified name of what a node refers to, if that comes from nightjarpy."""
        for name in self.get_metadata(QualifiedNameProvider, node, ()):
            is_ours = name.name.split(".")[0] == PACKAGE
            if is_ours and name.source is QualifiedNameSource.IMPORT:
                return str(name.name)
        return None


class Configurations(Named):
    """Collects the variables that hold a configuration; reads only."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[str, Configuration] = {}

    def visit_Assign(self, node: cst.Assign) -> None:
        target = node.targets[0].target
        if len(node.targets) > 1:
            return
        if isinstance(target, cst.Name):
            if found := Reader(self.name_of, self.known).read(node.value):
                self.known[target.value] = found
        elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name):
            # As in `config.llm = LLMConfig(...)`.
            name = target.value.value
            if name in self.known:
                reader = Reader(self.name_of, self.known)
                set_here = reader.setting(target.attr.value, node.value)
                self.known[name] = set_here.over(self.known[name])


class Migrating(Named):
    """Takes decorators away, and makes natural blocks of the strings in natural functions."""

    def __init__(self, known: Mapping[str, Configuration], natural: Iterable[str]) -> None:
        super().__init__()
        self.remarks: set[Remark] = set()
        self._known = known
        self._natural = frozenset(natural)
        self._around: list[Configuration | None] = [None]

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        here = self._around[-1]
        for decorator in node.decorators:
            if self._is_fn(decorator.decorator):
                here = self._configured(decorator.decorator)
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
                lines += comment_lines(after.trailing_whitespace)
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
        """`judge = nj.fn(judge)` and `nj.fn(config=FAST)(judge)` come to `judge`."""
        if natural_argument(original_node, self.name_of) is not None:
            return updated_node.args[0].value
        return updated_node

    def leave_Expr(self, original_node: cst.Expr, updated_node: cst.Expr) -> cst.Expr:
        value = original_node.value
        if not isinstance(value, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString):
            return updated_node
        line = self.line_of(original_node)
        literal = cst.Module([]).code_for_node(value)
        around = self._around[-1]
        margin = " " * int(self.get_metadata(PositionProvider, original_node).start.column)
        block = rewritten(literal, around.options if around else {}, margin)
        if isinstance(value, cst.ConcatenatedString) or block is None:
            if around is not None and is_natural(getattr(value, "evaluated_value", None)):
                how = "write the block as one triple-quoted string that begins with `natural`"
                self.remarks.add(Remark(line, how))
            return updated_node
        if around is None:
            if not block.literal.startswith(literal.split("\n")[0].rstrip()):
                return updated_node
            message = (
                "this string becomes a natural block, though it stands outside of natural functions"
            )
            self.remarks.add(Remark(line, message))
            return updated_node
        for within, message in block.notes:
            self.remarks.add(Remark(line + within, message, is_open=False))
        return updated_node.with_changes(value=cst.parse_expression(block.literal))

    def _is_fn(self, node: cst.BaseExpression) -> bool:
        return self.name_of(node.func if isinstance(node, cst.Call) else node) == _FN

    def _configured(self, node: cst.BaseExpression) -> Configuration:
        """The configuration that a decorator asks for."""
        if not isinstance(node, cst.Call):
            return Configuration()
        for argument in node.args:
            if argument.keyword is not None and argument.keyword.value == "config":
                found = Reader(self.name_of, self._known).read(argument.value)
                code = cst.Module([]).code_for_node(argument.value)
                found = found or Configuration({}, (f"`{code}` cannot be read",))
                line = self.line_of(node)
                self.remarks |= {Remark(line, f"config: {each}") for each in found.missed}
                return found
        return Configuration()


class NaturalCalls(Named):
    """Collects the functions that are made natural by a call in place of a decorator; reads only."""

    def __init__(self) -> None:
        super().__init__()
        self.functions: set[str] = set()

    def visit_Call(self, node: cst.Call) -> None:
        argument = natural_argument(node, self.name_of)
        if isinstance(argument, cst.Name):
            self.functions.add(argument.value)


def natural_argument(call: cst.Call, name_of: Any) -> cst.BaseExpression | None:
    """The function in `nj.fn(function)` or `nj.fn(config=FAST)(function)`; None for other calls."""
    function = call.func.func if isinstance(call.func, cst.Call) else call.func
    if name_of(function) != _FN or not call.args or call.args[0].keyword is not None:
        return None
    return call.args[0].value


class Loaded(cst.CSTVisitor):
    """Collects the names that code uses, imports and plain assignments to `skipped` names aside."""

    def __init__(self, skipped: Iterable[str]) -> None:
        self.names: set[str] = set()
        self._skipped = frozenset(skipped)

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Assign(self, node: cst.Assign) -> bool:
        return assigned_root(node) not in self._skipped

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)


def assigned_root(node: cst.Assign) -> str | None:
    """The variable that `x = ...` or `x.a = ...` assigns to."""
    target = node.targets[0].target
    if isinstance(target, cst.Attribute):
        target = target.value  # type: ignore[assignment]
    return target.value if isinstance(target, cst.Name) and len(node.targets) == 1 else None


class Clearing(cst.CSTTransformer):
    """Removes imports from nightjarpy and configurations that nothing uses any more.

    `natural` are the functions of which a call made natural ones: `f = nj.fn(f)` has come to `f = f`.
    """

    def __init__(
        self, used: Iterable[str], configurations: Iterable[str], natural: Iterable[str]
    ) -> None:
        super().__init__()
        self._natural = frozenset(natural)
        self._used = frozenset(used)
        self._unused = frozenset(configurations) - self._used

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        body, left = self._cleared(updated_node.body)
        if body and updated_node.body[0] is not body[0]:
            # Blank lines around what is gone from the top would pile up.
            lines = without_blanks(body[0].leading_lines)  # type: ignore[attr-defined]
            body[0] = body[0].with_changes(leading_lines=lines)
        return updated_node.with_changes(body=body, footer=[*left, *updated_node.footer])

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body, left = self._cleared(updated_node.body)
        if not body and updated_node.body:
            body = [cst.SimpleStatementLine([cst.Pass()])]
        return updated_node.with_changes(body=body, footer=[*left, *updated_node.footer])

    def _cleared(self, body: Statements) -> tuple[list[cst.BaseStatement], list[cst.EmptyLine]]:
        """The statements that stay, and the comments after the last of them."""
        kept: list[cst.BaseStatement] = []
        left: list[cst.EmptyLine] = []
        for statement in body:
            stays = self._without_leftovers(statement)
            if stays is None:
                assert isinstance(statement, cst.SimpleStatementLine)
                left = joined(left, statement.leading_lines)
                left += comment_lines(statement.trailing_whitespace)
                continue
            if left:
                lines = joined(left, stays.leading_lines)  # type: ignore[attr-defined]
                stays, left = stays.with_changes(leading_lines=lines), []
            kept.append(stays)
        return kept, [line for line in left if line.comment]

    def _without_leftovers(self, statement: cst.BaseStatement) -> cst.BaseStatement | None:
        if not isinstance(statement, cst.SimpleStatementLine):
            return statement
        small = [left for each in statement.body if (left := self._left_of(each)) is not None]
        if len(small) == len(statement.body) and all(
            left is each for left, each in zip(small, statement.body, strict=True)
        ):
            return statement
        if not small:
            return None
        small[-1] = small[-1].with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
        return statement.with_changes(body=small)

    def _left_of(self, statement: cst.BaseSmallStatement) -> cst.BaseSmallStatement | None:
        match statement:
            case cst.Assign() if assigned_root(statement) in self._unused:
                return None
            case cst.Assign(value=cst.Name(name)) if (
                name in self._natural and assigned_root(statement) == name
            ):
                return None
            case cst.Import(names=names):
                return self._narrowed(statement, [each for each in names if self._stays(each, "")])
            case cst.ImportFrom(names=names, module=module) if not isinstance(
                names, cst.ImportStar
            ):
                origin = "" if module is None else cst.Module([]).code_for_node(module)
                if origin.split(".")[0] != PACKAGE or statement.relative:
                    return statement
                return self._narrowed(
                    statement, [each for each in names if self._stays(each, origin)]
                )
        return statement

    def _stays(self, alias: cst.ImportAlias, origin: str) -> bool:
        imported = alias.evaluated_name
        if (origin or imported).split(".")[0] != PACKAGE:
            return True
        bound = alias.evaluated_alias or (imported if origin else imported.split(".")[0])
        return bound in self._used

    def _narrowed(
        self, statement: cst.Import | cst.ImportFrom, names: list[cst.ImportAlias]
    ) -> cst.BaseSmallStatement | None:
        before = statement.names
        assert not isinstance(before, cst.ImportStar)
        if len(names) == len(before) or not names:
            return statement if names else None
        names[-1] = names[-1].with_changes(comma=before[-1].comma)
        return statement.with_changes(names=names)


class Leftovers(Named):
    """Remarks on every use of nightjarpy that is still there after the migration; reads only."""

    def __init__(self) -> None:
        super().__init__()
        self.remarks: set[Remark] = set()
        self._imported: dict[str, int] = {}
        """The names that imports bind, each with the line of its import."""
        self._used: set[str] = set()

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        module = node.module and cst.Module([]).code_for_node(node.module)
        if node.relative or (module or "").split(".")[0] != PACKAGE:
            return False
        if isinstance(node.names, cst.ImportStar):
            message = f"`from {module} import *` hides which names are {PACKAGE}'s; name them first"
            self.remarks.add(Remark(self.line_of(node), message))
        else:
            for each in node.names:
                self._imported[each.evaluated_alias or each.evaluated_name] = self.line_of(node)
        return False

    def visit_Import(self, node: cst.Import) -> bool:
        for each in node.names:
            root = each.evaluated_name.split(".")[0]
            if root == PACKAGE:
                self._imported[each.evaluated_alias or root] = self.line_of(node)
        return False

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        for name, line in self._imported.items():
            if name not in self._used:
                message = (
                    f"`{name}` is still imported from {PACKAGE}; take it out, and what uses it"
                )
                self.remarks.add(Remark(line, message))
        return updated_node

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        return not self._remarked(node)

    def visit_Name(self, node: cst.Name) -> None:
        self._remarked(node)

    def _remarked(self, node: cst.Attribute | cst.Name) -> bool:
        name = self.name_of(node)
        if name is None or name == PACKAGE:
            return False
        code = cst.Module([]).code_for_node(node)
        self._used.add(code.split(".")[0])
        instead = _INSTEAD.get(name.rpartition(".")[2], "take it out, and the import with it")
        self.remarks.add(Remark(self.line_of(node), f"`{code}` is {PACKAGE}'s; {instead}"))
        return True


def comment_lines(trailing: cst.TrailingWhitespace) -> list[cst.EmptyLine]:
    """The comment at the end of a line that goes, as a line of its own; not if it spoke to a tool."""
    comment = trailing.comment
    if comment is None or _FOR_TOOLS.match(comment.value):
        return []
    return [cst.EmptyLine(comment=comment)]


def joined(left: Sequence[cst.EmptyLine], own: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """The lines before a statement, after those that are `left` of one that goes.

    All comments stay; where blank lines meet, only as many as there were on the side with more.
    """
    tail = len(left) - len(without_blanks(list(reversed(left))))
    blanks = len(own) - len(without_blanks(own))
    return [*left, *own[min(tail, blanks) :]]


def without_blanks(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Lines without the blank ones at their beginning."""
    kept = list(lines)
    while kept and kept[0].comment is None:
        kept.pop(0)
    return kept

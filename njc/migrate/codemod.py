"""The codemod itself: one pass over a concrete syntax tree.

@nj.fn                                  def judge(mail):
def judge(mail):                            \"\"\"natural
    \"\"\"natural Judge <mail>. \"\"\"             Judge <mail>.
                                            \"\"\"

MetadataWrapper(module).visit(MigrationTransformer(configurations, natural))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst
from libcst.metadata import PositionProvider

from njc.migrate.clearing import extract_comment_lines
from njc.migrate.configuration import Configuration, ConfigurationReader
from njc.migrate.gathering import FN_NAME, NightjarpyTransformer, find_natural_argument
from njc.migrate.prompts import is_natural, rewrite_literal
from njc.migrate.remarks import Remark


class MigrationTransformer(NightjarpyTransformer):
    """Removes decorators, and turns the strings in natural functions into natural blocks."""

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
        """`judge = nj.fn(judge)` and `nj.fn(config=FAST)(judge)` become `judge`."""
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
        return self.name_of(node.func if isinstance(node, cst.Call) else node) == FN_NAME

    def _read_configuration(self, node: cst.BaseExpression) -> Configuration:
        """Return the configuration in the arguments of a decorator."""
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

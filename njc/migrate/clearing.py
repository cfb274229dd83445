"""Removing what a migrated program no longer uses: imports from nightjarpy, configurations.

    import nightjarpy as nj   # the models        # the models
    FAST = nj.NJ_CONFIG

    module.visit(UnusedCodeRemover(used, configurations, natural))

Comments of removed code are kept, on lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import libcst as cst

from njc.migrate.gathering import NIGHTJARPY, find_assigned_root

_TOOL_COMMENT = re.compile(r"#\s*(noqa|type:|pylint|isort|ruff|pyright)", re.IGNORECASE)

Statements = Sequence[cst.BaseStatement]


class UnusedCodeRemover(cst.CSTTransformer):
    """Removes imports from nightjarpy and configurations that are not used any more.

    `natural` are the functions that a call made natural: `f = nj.fn(f)` has become `f = f`.
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
            # Otherwise the blank lines around removed code add up.
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
        """Return the statements that stay, and the comments after the last of them."""
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
        small = [
            left
            for part in statement.body
            if (left := self._clear_small_statement(part)) is not None
        ]
        if len(small) == len(statement.body) and all(
            left is part for left, part in zip(small, statement.body, strict=True)
        ):
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
                return self._keep_names(
                    statement, [alias for alias in names if self._is_kept(alias, "")]
                )
            case cst.ImportFrom(names=names, module=module) if not isinstance(
                names, cst.ImportStar
            ):
                origin = "" if module is None else cst.Module([]).code_for_node(module)
                if origin.split(".")[0] != NIGHTJARPY or statement.relative:
                    return statement
                return self._keep_names(
                    statement, [alias for alias in names if self._is_kept(alias, origin)]
                )
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
    """Return the comment at the end of a removed line, as a line of its own; none for comments that are for tools."""
    comment = trailing.comment
    if comment is None or _TOOL_COMMENT.match(comment.value):
        return []
    return [cst.EmptyLine(comment=comment)]


def merge_leading_lines(
    left: Sequence[cst.EmptyLine], own: Sequence[cst.EmptyLine]
) -> list[cst.EmptyLine]:
    """Return the lines before a statement, after those that are `left` of one that goes.

    All comments stay; where blank lines meet, only as many as there were on the side with more.
    """
    tail = len(left) - len(strip_leading_blanks(list(reversed(left))))
    blanks = len(own) - len(strip_leading_blanks(own))
    return [*left, *own[min(tail, blanks) :]]


def strip_leading_blanks(lines: Sequence[cst.EmptyLine]) -> list[cst.EmptyLine]:
    """Lines without the blank ones at their beginning."""
    kept = list(lines)
    while kept and kept[0].comment is None:
        kept.pop(0)
    return kept

"""Conversion of the language server's data to the Language Server Protocol 3.17."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types as lsp
from pygls.workspace import PositionCodec

from njc.compiler.frontend.diagnostics import Diagnostic
from njc.editors.lsp.answers.actions import Correction, get_span
from njc.editors.lsp.answers.completion import Suggestion
from njc.editors.lsp.answers.highlighting import (
    TOKEN_MODIFIERS,
    TOKEN_TYPES,
    SemanticToken,
)
from njc.editors.lsp.texts.documents import Document, TextEdit
from njrt.data.records import record

_COMPLETION_NAMES = {
    "output": "Variable",
    "parameter": "Variable",
    "option": "Property",
    "value": "EnumMember",
    "code": "Constant",
}
"""The kinds of completions that have a different name in the protocol."""


@record
class Converter:
    """Converts places in a document to a client's places, in the client's units."""

    document: Document
    codec: PositionCodec

    def make_position(self, offset: int) -> lsp.Position:
        line, column = self.document.lines.get_position(offset)
        before = self.document.lines.get_line(line)[:column]
        return lsp.Position(line, self.codec.client_num_units(before))

    def make_range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.make_position(start), self.make_position(end))

    def read_position(self, position: lsp.Position) -> int:
        """Return a place's offset; places after the text mean its end."""
        lines = self.document.lines
        if position.line >= len(lines.starts):
            return len(self.document.text)
        line = [f"{lines.get_line(position.line)}\n"]
        place = lsp.Position(0, position.character)
        return (
            lines.starts[position.line]
            + self.codec.position_from_client_units(line, place).character
        )

    def encode_tokens(self, tokens: Iterable[SemanticToken]) -> list[int]:
        """Return five numbers per token, relative to the previous one, as the protocol has them."""
        data: list[int] = []
        before = lsp.Position(0, 0)
        for token in tokens:
            start = self.make_position(token.start)
            column = before.character if start.line == before.line else 0
            length = self.codec.client_num_units(self.document.text[token.start : token.end])
            modifiers = sum(1 << TOKEN_MODIFIERS.index(name) for name in token.modifiers)
            data += [start.line - before.line, start.character - column, length]
            data += [TOKEN_TYPES.index(token.type), modifiers]
            before = start
        return data

    def make_diagnostic(self, finding: Diagnostic) -> lsp.Diagnostic:
        start, end = get_span(self.document, finding)
        message = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
        tags = [lsp.DiagnosticTag.Unnecessary] if finding.code == "NJ204" else None
        return lsp.Diagnostic(
            self.make_range(start, end),
            message,
            lsp.DiagnosticSeverity[finding.severity.capitalize()],
            finding.code,
            source="njc",
            tags=tags,
        )

    def make_workspace_edit(self, edits: Iterable[TextEdit]) -> lsp.WorkspaceEdit:
        changes = [lsp.TextEdit(self.make_range(edit.start, edit.end), edit.text) for edit in edits]
        return lsp.WorkspaceEdit(changes={self.document.uri: changes})

    def make_completion_item(self, suggestion: Suggestion, number: int) -> lsp.CompletionItem:
        """Return a suggestion as a completion item; items stay sorted by nearness."""
        text, kind = suggestion.text + (">" if suggestion.closes else ""), suggestion.kind
        return lsp.CompletionItem(
            suggestion.text,
            kind=lsp.CompletionItemKind[_COMPLETION_NAMES.get(kind, kind.capitalize())],
            detail=suggestion.detail or None,
            sort_text=f"{number:05}",
            filter_text=suggestion.text,
            text_edit=lsp.TextEdit(self.make_range(suggestion.start, suggestion.end), text),
        )

    def make_code_action(self, correction: Correction) -> lsp.CodeAction:
        return lsp.CodeAction(
            correction.title,
            lsp.CodeActionKind.QuickFix,
            [self.make_diagnostic(correction.finding)],
            is_preferred=correction.is_preferred or None,
            edit=self.make_workspace_edit(correction.edits),
        )

"""Conversion of the language server's data to the Language Server Protocol 3.17."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lsprotocol import types as lsp

from njc.editors.language_server.answers.actions import Correction, get_span
from njc.editors.language_server.answers.completion import Suggestion
from njc.editors.language_server.texts.documents import Document, PositionEncoding, TextEdit
from njc.frontend.diagnostics import Diagnostic
from njrt.records import record

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
    """Converts places in a document to a client's places, in the client's encoding."""

    document: Document
    encoding: PositionEncoding

    def make_position(self, offset: int) -> lsp.Position:
        return lsp.Position(*self.document.lines.get_position(offset, self.encoding))

    def make_range(self, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.make_position(start), self.make_position(end))

    def read_position(self, position: lsp.Position) -> int:
        return self.document.lines.get_offset(position.line, position.character, self.encoding)

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

    def make_workspace_edit(
        self, edits: Iterable[TextEdit], *, with_version: bool
    ) -> lsp.WorkspaceEdit:
        """Return an edit of the text, tied to its version if the client can check versions."""
        changes = [lsp.TextEdit(self.make_range(edit.start, edit.end), edit.text) for edit in edits]
        if not with_version:
            return lsp.WorkspaceEdit(changes={self.document.uri: changes})
        identifier = lsp.OptionalVersionedTextDocumentIdentifier(
            self.document.uri, self.document.version
        )
        return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(identifier, changes)])

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

    def make_code_action(self, correction: Correction, *, with_version: bool) -> lsp.CodeAction:
        return lsp.CodeAction(
            correction.title,
            lsp.CodeActionKind.QuickFix,
            [self.make_diagnostic(correction.finding)],
            is_preferred=correction.is_preferred or None,
            edit=self.make_workspace_edit(correction.edits, with_version=with_version),
        )


def choose_encoding(offered: Sequence[str] | None) -> PositionEncoding:
    """Return the position encoding: the client's first known one; UTF-16 by default."""
    known: dict[str, PositionEncoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}
    return next((known[name] for name in map(str, offered or ()) if name in known), "utf-16")

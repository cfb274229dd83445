"""Each protocol request with the function that answers it; `make_server` puts them together.

textDocument/hover    _hover              njc.editors.lsp.answers.hover
njc/compiledText      _get_compiled_text  the compiled text and its line map, for a server of Python
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams

from njc.editors.lsp.answers.actions import list_corrections
from njc.editors.lsp.answers.completion import complete
from njc.editors.lsp.answers.folds import list_folds, list_lenses
from njc.editors.lsp.answers.highlighting import (
    TOKEN_MODIFIERS,
    TOKEN_TYPES,
    list_tokens,
)
from njc.editors.lsp.answers.hover import describe_place
from njc.editors.lsp.answers.navigation import find_definitions, find_references
from njc.editors.lsp.answers.rename import RenameRefused, find_renamed, rename
from njc.editors.lsp.serving.conversion import Converter
from njc.editors.lsp.serving.server import NaturalLanguageServer
from njc.editors.lsp.serving.workspace_files import get_file
from njc.editors.lsp.texts.documents import Document
from njc.project.units import SUFFIX
from njrt.data.records import record

COMPILED_TEXT = "njc/compiledText"
REQUEST_FAILED = -32803

Params = Any
Answer = Any


@record
class RequestedPlace:
    """The subject of a request: a document, and an offset in it if the request has a position."""

    server: NaturalLanguageServer
    document: Document
    converter: Converter
    offset: int = 0


def make_server() -> NaturalLanguageServer:
    """Make a server with all features; call `start_io` to serve."""
    server = NaturalLanguageServer()
    for name, notified in _NOTIFICATIONS.items():
        server.feature(name)(notified)
    for name, answer in _REQUESTS.items():
        handler = _bind_to_place(answer)
        if name in _ABOUT_WHOLE_TEXTS:
            handler = server.thread()(handler)
        server.feature(name, _OPTIONS.get(name))(handler)
    server.feature(COMPILED_TEXT)(_get_compiled_text)
    return server


def _bind_to_place(
    answer: Callable[[RequestedPlace, Params], Answer],
) -> Callable[[NaturalLanguageServer, Params], Answer]:
    """Return a function that answers requests about a document, with None if there is none."""

    def handle(ls: NaturalLanguageServer, params: Params) -> Answer:
        document = ls.documents.get(params.text_document.uri)
        if document is None:
            return None
        converter = ls.make_converter(document)
        position: lsp.Position | None = getattr(params, "position", None)
        offset = converter.read_position(position) if position is not None else 0
        try:
            return answer(RequestedPlace(ls, document, converter, offset), params)
        except RenameRefused as refused:
            raise JsonRpcException(str(refused), REQUEST_FAILED) from None

    return handle


# ── notifications ────────────────────────────────────────────────────────────────────────────────


def _open(ls: NaturalLanguageServer, params: lsp.DidOpenTextDocumentParams) -> None:
    opened = params.text_document
    ls.open_document(opened.uri, opened.text, opened.version)
    ls.publish_later(opened.uri, 0)


def _change(ls: NaturalLanguageServer, params: lsp.DidChangeTextDocumentParams) -> None:
    uri, version = params.text_document.uri, params.text_document.version
    if (document := ls.documents.get(uri)) is not None:
        ls.documents[uri] = document.change(params.content_changes[-1].text, version)
        ls.publish_later(uri)


def _close(ls: NaturalLanguageServer, params: lsp.DidCloseTextDocumentParams) -> None:
    ls.close_document(params.text_document.uri)


def _shut_down(ls: NaturalLanguageServer, params: Params) -> None:
    ls.is_shut_down = True


def _refresh(ls: NaturalLanguageServer, params: Params) -> None:
    ls.refresh_projects()


# ── requests ─────────────────────────────────────────────────────────────────────────────────────


def _complete(at: RequestedPlace, params: lsp.CompletionParams) -> Answer:
    suggestions = complete(at.document, at.offset)
    items = [at.converter.make_completion_item(item, n) for n, item in enumerate(suggestions)]
    return lsp.CompletionList(is_incomplete=False, items=items)


def _hover(at: RequestedPlace, params: lsp.HoverParams) -> Answer:
    text = describe_place(at.document, at.offset)
    if text is None:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, text.markdown)
    return lsp.Hover(content, at.converter.make_range(text.start, text.end))


def _find_definition(at: RequestedPlace, params: lsp.DefinitionParams) -> Answer:
    spans = find_definitions(at.document, at.offset)
    return [lsp.Location(at.document.uri, at.converter.make_range(*span)) for span in spans]


def _find_references(at: RequestedPlace, params: lsp.ReferenceParams) -> Answer:
    with_bindings = params.context.include_declaration
    places = find_references(at.document, at.offset, includes_bindings=with_bindings)
    ranges = (at.converter.make_range(place.start, place.end) for place in places)
    return [lsp.Location(at.document.uri, range_) for range_ in ranges]


def _highlight(at: RequestedPlace, params: lsp.DocumentHighlightParams) -> Answer:
    kinds = {True: lsp.DocumentHighlightKind.Read, False: lsp.DocumentHighlightKind.Write}
    return [
        lsp.DocumentHighlight(
            at.converter.make_range(place.start, place.end), kinds[place.role == "read"]
        )
        for place in find_references(at.document, at.offset)
    ]


def _prepare_rename(at: RequestedPlace, params: lsp.PrepareRenameParams) -> Answer:
    place = find_renamed(at.document, at.offset)
    written = at.document.text[place.start : place.end]
    return lsp.PrepareRenamePlaceholder(at.converter.make_range(place.start, place.end), written)


def _rename(at: RequestedPlace, params: lsp.RenameParams) -> Answer:
    edits = rename(at.document, at.offset, params.new_name)
    return at.converter.make_workspace_edit(edits)


def _list_folds(at: RequestedPlace, params: lsp.FoldingRangeParams) -> Answer:
    return [lsp.FoldingRange(first, last) for first, last in list_folds(at.document)]


def _list_tokens(at: RequestedPlace, params: lsp.SemanticTokensParams) -> Answer:
    return lsp.SemanticTokens(at.converter.encode_tokens(list_tokens(at.document)))


def _list_actions(at: RequestedPlace, params: lsp.CodeActionParams) -> Answer:
    start, end = map(at.converter.read_position, (params.range.start, params.range.end))
    return [
        at.converter.make_code_action(correction)
        for correction in list_corrections(at.document, start, end)
    ]


def _list_lenses(at: RequestedPlace, params: lsp.CodeLensParams) -> Answer:
    file = get_file(at.document.uri)
    if file is None:
        return None
    lenses = []
    for offset, cost in list_lenses(at.document, at.server.files.read_costs(file)):
        start = at.converter.make_range(offset, offset)
        lenses.append(lsp.CodeLens(start, lsp.Command(cost, "")))
    return lenses


# ── requests beyond the protocol ─────────────────────────────────────────────────────────────────


def _get_compiled_text(ls: NaturalLanguageServer, params: Params) -> Mapping[str, Answer]:
    """Return a document's compiled text and its line map; without `text` if there are errors."""
    try:  # lsprotocol does not know this request
        uri = str(params.textDocument.uri)
    except AttributeError:
        raise JsonRpcInvalidParams("the parameters are {textDocument: {uri}}") from None
    document = ls.documents.get(uri)
    if document is None or not document.is_natural:
        raise JsonRpcInvalidParams(f"{uri} is not an open {SUFFIX} file")
    compilation, text = document.compilation, None
    if compilation.output is not None and document.is_python:
        text = compilation.output.decode(compilation.source.encoding, "replace")
    # Lines count from 0: those from `compiled` on map to those from `source` on or all to `source`.
    segments = [
        {"compiled": it.compiled - 1, "source": it.source - 1, "isAuthors": it.running}
        for it in (compilation.line_map.segments if text is not None else ())
    ]
    return {"uri": uri, "version": document.version, "text": text, "lineMap": segments}


_NOTIFICATIONS: Mapping[str, Callable[[NaturalLanguageServer, Params], Answer]] = {
    lsp.SHUTDOWN: _shut_down,
    lsp.TEXT_DOCUMENT_DID_OPEN: _open,
    lsp.TEXT_DOCUMENT_DID_CHANGE: _change,
    lsp.TEXT_DOCUMENT_DID_CLOSE: _close,
    lsp.TEXT_DOCUMENT_DID_SAVE: _refresh,
    lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES: _refresh,
    lsp.WORKSPACE_DID_CHANGE_CONFIGURATION: _refresh,
}
_REQUESTS: Mapping[str, Callable[[RequestedPlace, Params], Answer]] = {
    lsp.TEXT_DOCUMENT_COMPLETION: _complete,
    lsp.TEXT_DOCUMENT_HOVER: _hover,
    lsp.TEXT_DOCUMENT_DEFINITION: _find_definition,
    lsp.TEXT_DOCUMENT_REFERENCES: _find_references,
    lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT: _highlight,
    lsp.TEXT_DOCUMENT_PREPARE_RENAME: _prepare_rename,
    lsp.TEXT_DOCUMENT_RENAME: _rename,
    lsp.TEXT_DOCUMENT_FOLDING_RANGE: _list_folds,
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: _list_tokens,
    lsp.TEXT_DOCUMENT_CODE_ACTION: _list_actions,
    lsp.TEXT_DOCUMENT_CODE_LENS: _list_lenses,
}
_ABOUT_WHOLE_TEXTS = frozenset(
    {
        lsp.TEXT_DOCUMENT_FOLDING_RANGE,
        lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL,
        lsp.TEXT_DOCUMENT_CODE_ACTION,
        lsp.TEXT_DOCUMENT_CODE_LENS,
    }
)
"""Requests that editors send after every change, and that must not delay the findings."""
_OPTIONS: Mapping[str, Any] = {
    lsp.TEXT_DOCUMENT_COMPLETION: lsp.CompletionOptions(trigger_characters=["<", ":", ".", "("]),
    lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL: lsp.SemanticTokensLegend(
        list(TOKEN_TYPES), list(TOKEN_MODIFIERS)
    ),
    lsp.TEXT_DOCUMENT_CODE_ACTION: lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]),
    lsp.TEXT_DOCUMENT_CODE_LENS: lsp.CodeLensOptions(),
}

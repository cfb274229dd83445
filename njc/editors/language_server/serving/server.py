"""A server for one client: the open texts, and when to publish findings.

    didOpen, didChange   a new version of the Document
    10 ms later          its findings are published; findings of the compiled form keep their places
    700 ms later         all findings and hints are published

Answers about a place are computed on the main thread; all findings, and answers about a whole text,
on a second one. A request about a text that is not open is answered from the file.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method

from njc import __version__
from njc.editors.language_server.serving.conversion import Converter
from njc.editors.language_server.serving.workspace_files import WorkspaceFiles, get_file, read_file
from njc.editors.language_server.texts.documents import (
    MAX_CHARACTERS,
    Document,
    PositionEncoding,
    carry_over,
    drop_mark,
)
from njc.frontend.diagnostics import Diagnostic
from njc.project.config import Project
from njc.project.units import SUFFIX
from njrt.errors import ConfigurationError

DEBOUNCE_SECONDS = 0.01
"""Seconds without changes before findings are published."""
PAUSE_SECONDS = 0.7
"""Seconds without changes before compiling the text, for hints and the compiled form's findings."""


T = TypeVar("T")

log = logging.getLogger("njc.editors.language_server")


class NaturalProtocol(LanguageServerProtocol):
    """The protocol of pygls, without its texts, whose lines also end at form feeds and U+2028.

    Handled notifications are forgotten; pygls would keep some data for each.
    """

    def _execute_handler(self, msg_id: int | str, *arguments: Any, **keywords: Any) -> None:
        super()._execute_handler(msg_id, *arguments, **keywords)
        if (future := self._request_futures.get(msg_id)) is not None:
            future.add_done_callback(functools.partial(self._forget, msg_id))

    def _forget(self, msg_id: int | str, future: Any) -> None:
        if self._request_futures.get(msg_id) is future:
            del self._request_futures[msg_id]

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None


class NaturalLanguageServer(LanguageServer):
    """A server for one client (state: open documents, the client's encoding, pending findings)."""

    protocol: NaturalProtocol

    def __init__(self) -> None:
        super().__init__("njc", __version__, protocol_cls=NaturalProtocol)
        self.documents: dict[str, Document] = {}
        self.encoding: PositionEncoding = "utf-16"
        self.files = WorkspaceFiles(os.environ)
        self.is_shut_down = False
        self.background = ThreadPoolExecutor(1, "njc-lsp")
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._shown_errors: set[str] = set()
        self._checked: dict[str, tuple[Diagnostic, ...]] = {}
        self._compiled: dict[str, tuple[str, tuple[Diagnostic, ...]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    # ── documents ────────────────────────────────────────────────────────────────────────────────

    def open_document(self, uri: str, text: str, version: int | None) -> Document:
        file = get_file(uri)
        path = uri.rpartition("/")[2].rpartition(":")[2].removesuffix(SUFFIX) + SUFFIX
        path = path if file is None else self.files.get_unit_path(file)
        document = Document(uri, path, drop_mark(text), version, self._find_project(uri))
        self.documents[uri] = document
        return document

    def _find_project(self, uri: str) -> Project:
        file = get_file(uri)
        try:
            return self.files.find_project(file) if file is not None else Project()
        except ConfigurationError as error:
            if str(error) not in self._shown_errors:
                self._shown_errors.add(str(error))
                message = lsp.ShowMessageParams(lsp.MessageType.Error, f"njc: {error}")
                self.window_show_message(message)
            return Project()

    def get_document(self, uri: str) -> Document | None:
        """Return the open text, or else the file's text; None if there is neither."""
        if uri in self.documents:
            return self.documents[uri]
        file = get_file(uri)
        if file is None or file.suffix != SUFFIX or (data := read_file(file)) is None:
            return None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None
        return Document(uri, self.files.get_unit_path(file), text, None, self._find_project(uri))

    def close_document(self, uri: str) -> None:
        self.cancel_publishing(uri)
        self._checked.pop(uri, None)
        self._compiled.pop(uri, None)
        if self.documents.pop(uri, None) is not None:
            self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    def refresh_projects(self) -> None:
        for uri, document in list(self.documents.items()):
            if self._find_project(uri) != document.project:
                self.open_document(uri, document.text, document.version)
                self.publish_later(uri)

    # ── findings ─────────────────────────────────────────────────────────────────────────────────

    def publish_later(self, uri: str, seconds: float = DEBOUNCE_SECONDS) -> None:
        """Publish a document's findings once it has not changed for `seconds`."""
        self.cancel_publishing(uri)
        loop = asyncio.get_running_loop()
        self._timers[uri] = loop.call_later(seconds, self.publish, uri)

    def cancel_publishing(self, uri: str) -> None:
        if timer := self._timers.pop(uri, None):
            timer.cancel()

    def publish(self, uri: str) -> None:
        """Publish a document's findings, and compile it once it has not changed for a while."""
        document = self.documents.get(uri)
        if document is None or not document.path.endswith(SUFFIX):
            return
        if not document.is_natural:
            at_start = Converter(document, self.encoding).make_range(0, 0)
            message = f"njc analyses files of up to {MAX_CHARACTERS:,} characters"
            severity = lsp.DiagnosticSeverity.Information
            self._send(document, [lsp.Diagnostic(at_start, message, severity, source="njc")])
            return
        is_known = uri in self._checked
        checked = self._checked[uri] = document.analysis.diagnostics
        compiled_text, further = self._compiled.get(uri, (document.text, ()))
        kept = carry_over(further, compiled_text, document.text)
        self._send_findings(document, (*document.report(checked), *kept))
        pause = PAUSE_SECONDS if is_known else 0
        loop = asyncio.get_running_loop()
        self._timers[uri] = loop.call_later(pause, self._start_compiling, document)

    async def run_in_background(self, compute: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self.background, compute)

    def _start_compiling(self, document: Document) -> None:
        task = asyncio.get_running_loop().create_task(self._publish_all(document))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _publish_all(self, document: Document) -> None:
        checked = self._checked[document.uri]
        try:
            findings = await self.run_in_background(lambda: document.findings)
        except Exception as error:
            log.exception("compiling %s failed", document.path)
            message = f"njc: compiling {document.path} failed: {type(error).__name__}: {error}"
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))
            return
        if self.documents.get(document.uri) is document:
            further = tuple(it for it in findings if it not in document.report(checked))
            self._compiled[document.uri] = (document.text, further)
            self._send_findings(document, findings)

    def _send_findings(self, document: Document, findings: Iterable[Diagnostic]) -> None:
        converter = Converter(document, self.encoding)
        self._send(document, list(map(converter.make_diagnostic, findings)))

    def _send(self, document: Document, found: list[lsp.Diagnostic]) -> None:
        arguments = lsp.PublishDiagnosticsParams(document.uri, found, document.version)
        self.text_document_publish_diagnostics(arguments)

    @property
    def takes_document_changes(self) -> bool:
        """Whether the client accepts edits that state the version of the text they apply to."""
        workspace = self.client_capabilities.workspace
        return bool(workspace and (edit := workspace.workspace_edit) and edit.document_changes)

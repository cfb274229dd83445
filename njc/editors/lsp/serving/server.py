"""A server for one client: the open texts, and when to publish findings.

    didOpen, didChange   a new version of the Document, as a whole text
    10 ms later          its findings are published, without those of the compiled form
    700 ms later         all findings and hints are published

Answers about a place are computed on the main thread; findings, and answers about a whole text, on
threads of pygls, whose own texts are not used: their lines also end at form feeds and U+2028.
Requests about a text that is not open have no answer.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
from collections.abc import Callable, Iterable
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from njc import __version__
from njc.compiler.frontend.diagnostics import Diagnostic
from njc.editors.lsp.serving.conversion import Converter
from njc.editors.lsp.serving.workspace_files import WorkspaceFiles, get_file
from njc.editors.lsp.texts.documents import (
    MAX_CHARACTERS,
    Document,
    drop_mark,
)
from njc.project.config import Project
from njc.project.units import SUFFIX
from njrt.errors import ConfigurationError

DEBOUNCE_SECONDS = 0.01
"""Seconds without changes before findings are published."""
PAUSE_SECONDS = 0.7
"""Seconds without changes before compiling the text, for hints and the compiled form's findings."""

log = logging.getLogger("njc.editors.lsp")


class ForgettingProtocol(LanguageServerProtocol):
    """The protocol of pygls, which would keep some data for each notification."""

    def _execute_handler(self, msg_id: int | str, *arguments: Any, **keywords: Any) -> None:
        super()._execute_handler(msg_id, *arguments, **keywords)
        if (future := self._request_futures.get(msg_id)) is not None:
            future.add_done_callback(functools.partial(self._forget, msg_id))

    def _forget(self, msg_id: int | str, future: Any) -> None:
        if self._request_futures.get(msg_id) is future:
            del self._request_futures[msg_id]


class NaturalLanguageServer(LanguageServer):
    """A server for one client (state: open documents, pending findings)."""

    def __init__(self) -> None:
        super().__init__(
            "njc",
            __version__,
            lsp.TextDocumentSyncKind.Full,
            max_workers=2,
            protocol_cls=ForgettingProtocol,
        )
        self.documents: dict[str, Document] = {}
        self.files = WorkspaceFiles(os.environ)
        self.is_shut_down = False
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._shown_errors: set[str] = set()

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

    def close_document(self, uri: str) -> None:
        self.cancel_publishing(uri)
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
        self._pending[uri] = asyncio.get_running_loop().create_task(self._publish(uri, seconds))

    def cancel_publishing(self, uri: str) -> None:
        if task := self._pending.pop(uri, None):
            task.cancel()

    async def _publish(self, uri: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        document = self.documents.get(uri)
        if document is None or not document.path.endswith(SUFFIX):
            return
        if document.is_natural:
            await self._send(document, lambda: document.report(document.analysis.diagnostics))
            await asyncio.sleep(PAUSE_SECONDS if seconds else 0)
        await self._send(document, lambda: document.findings)

    async def _send(self, document: Document, find: Callable[[], Iterable[Diagnostic]]) -> None:
        """Compute findings on a thread, and publish them if the document is still the newest."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(
                self.thread_pool, self._make_diagnostics, document, find
            )
        except Exception as error:
            log.exception("compiling %s failed", document.path)
            message = f"njc: compiling {document.path} failed: {type(error).__name__}: {error}"
            self.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))
            return
        if self.documents.get(document.uri) is document:
            arguments = lsp.PublishDiagnosticsParams(document.uri, found, document.version)
            self.text_document_publish_diagnostics(arguments)

    def _make_diagnostics(
        self, document: Document, find: Callable[[], Iterable[Diagnostic]]
    ) -> list[lsp.Diagnostic]:
        converter = self.make_converter(document)
        if document.is_natural:
            return list(map(converter.make_diagnostic, find()))
        message = f"njc analyses files of up to {MAX_CHARACTERS:,} characters"
        severity = lsp.DiagnosticSeverity.Information
        return [lsp.Diagnostic(converter.make_range(0, 0), message, severity, source="njc")]

    def make_converter(self, document: Document) -> Converter:
        return Converter(document, self.workspace.position_codec)

"""The protocol as pygls has it, with three differences.

- Texts are kept by the server, not by pygls, whose lines also end at form feeds and at U+2028.
- A request that cannot be read is answered with an error; pygls would leave it without an answer.
- A handler that fails is answered with its message, and its traceback is logged.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import JsonRPCNotification

log = logging.getLogger("njc.language_server")

Handler = TypeVar("Handler", bound=Callable[..., Any])


class NaturalProtocol(LanguageServerProtocol):
    """The protocol of the language server."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message; a request that cannot be read is answered with an error."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            return JsonRPCNotification("$/unreadable", self.VERSION, None)

    @lsp_method(lsp.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: lsp.DidOpenTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: lsp.DidChangeTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: lsp.DidCloseTextDocumentParams) -> Any:
        yield self.fm.features[lsp.TEXT_DOCUMENT_DID_CLOSE], (params,), None


def answer_errors(handler: Handler) -> Handler:
    """Turn an exception of a handler into an error response with its message."""

    @functools.wraps(handler)
    def answer(*arguments: Any) -> Any:
        try:
            return handler(*arguments)
        except JsonRpcException:
            raise
        except Exception as error:
            log.exception("%s failed", handler.__name__)
            raise JsonRpcInternalError(f"{type(error).__name__}: {error}") from error

    return answer  # type: ignore[return-value]

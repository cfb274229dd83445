"""The pygls protocol, with these differences.

- The server keeps the texts itself, because pygls also ends lines at form feeds and U+2028.
- An invalid message gets a JSON-RPC 2.0 error; pygls would not answer.
- Values of a wrong type are refused: pygls would read `null` as the text "None" and `"1"` as a number.
- Requests before `initialize` and after `shutdown` are refused, as is a second `initialize`.
- Handled notifications are forgotten; pygls would keep some data for each.
- If a handler fails, the response contains the exception's message, and its traceback is logged.
"""

from __future__ import annotations

import enum
import functools
import json
import logging
from collections.abc import Callable
from typing import Any, TypeVar

from cattrs import Converter, transform_error
from lsprotocol import types as lsp
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

log = logging.getLogger("njc.editors.language_server")

Handler = TypeVar("Handler", bound=Callable[..., Any])
JsonObject = dict[str, Any]


class NaturalProtocol(LanguageServerProtocol):
    """The language server's protocol (state: whether the client has initialized it)."""

    _is_initialized = False

    def receive(self, body: bytes) -> None:
        """Handle a message's text; a request that cannot be handled is answered with an error."""
        message, identifier = None, None
        try:
            message = _read_object(body)
            identifier = _read_identifier(message)
            _check_fields(message)
            self._check_session(message)
            structured = self._structure(message)
        except JsonRpcException as error:
            log.warning("a message was not handled: %s", error.message)
            known = message or {}
            is_notification = isinstance(known.get("method"), str) and "id" not in known
            if not (_is_response(known) or is_notification):
                refusal = {"code": error.code, "message": error.message}
                self._send_data({"jsonrpc": self.VERSION, "id": identifier, "error": refusal})
            return
        self._is_initialized |= message.get("method") == lsp.INITIALIZE and "id" in message
        self.handle_message(structured)

    def _check_session(self, message: JsonObject) -> None:
        """Raise an error if a message does not belong between `initialize` and `shutdown`."""
        method = message.get("method")
        if method == lsp.EXIT or method is None:
            return
        if self._shutdown:
            raise JsonRpcInvalidRequest("the session has been shut down")
        if self._is_initialized and method == lsp.INITIALIZE:
            raise JsonRpcInvalidRequest("the session is initialized already")
        if not self._is_initialized and method != lsp.INITIALIZE:
            raise JsonRpcServerNotInitialized("the first request is `initialize`")

    def _execute_handler(self, msg_id: int | str, *arguments: Any, **keywords: Any) -> None:
        super()._execute_handler(msg_id, *arguments, **keywords)
        if (future := self._request_futures.get(msg_id)) is not None:
            future.add_done_callback(functools.partial(self._forget, msg_id))

    def _forget(self, msg_id: int | str, future: Any) -> None:
        """Forget a handled request; a client may use its identifier again."""
        if self._request_futures.get(msg_id) is future:
            del self._request_futures[msg_id]

    def _structure(self, message: JsonObject) -> Any:
        try:
            return self.structure_message(message)
        except JsonRpcException as error:
            problems = transform_error(error.__cause__ or error)
            raise JsonRpcInvalidParams("; ".join(problems)[:500]) from error

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
    """Turn a handler's exception into an error response with its message."""

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


def make_converter() -> Converter:
    """Make a converter for the protocol's values that accepts no value of a wrong type."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    for kind in (bool, int, float, str):
        converter.register_structure_hook(kind, _check_type)
    return converter


def _check_type(value: Any, kind: type) -> Any:
    """Check a value of a type or an enumeration; the hook for `str` also receives enumerations of strings."""
    if issubclass(kind, enum.Enum):
        return kind(value)
    if kind in (int, float):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and (kind is float or value == int(value)):
            return kind(value)
    elif isinstance(value, kind):
        return value
    raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")


def _read_object(body: bytes) -> JsonObject:
    """Parse a JSON-RPC 2.0 message; the Language Server Protocol has no batches."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise JsonRpcParseError(f"the message is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise JsonRpcInvalidRequest("the message is not an object")
    return message


def _read_identifier(message: JsonObject) -> int | str | None:
    identifier = message.get("id")
    is_wrong = isinstance(identifier, bool) or not isinstance(identifier, int | str | None)
    if is_wrong or ("id" in message and identifier is None and not _is_response(message)):
        raise JsonRpcInvalidRequest("`id` is not an integer or a text")
    return identifier


def _check_fields(message: JsonObject) -> None:
    """Raise an error if a message is neither a request, a notification nor a response."""
    if message.get("jsonrpc") != "2.0":
        raise JsonRpcInvalidRequest("`jsonrpc` is not `2.0`")
    if not isinstance(message.get("method"), str) and not _is_response(message):
        raise JsonRpcInvalidRequest("`method` is not a text")


def _is_response(message: JsonObject) -> bool:
    return "method" not in message and ("result" in message or "error" in message)

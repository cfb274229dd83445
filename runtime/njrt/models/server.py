"""The server of a model: whether it may get the key, and the errors that it is the cause of.

    openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key ...
        ──> AuthenticationError: https://api.openai.com/v1 refused the key for openai/gpt-4.1;
            check OPENAI_API_KEY

Error messages name the fix, never the key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from njrt.data.records import record
from njrt.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelError,
    ModelNotFoundError,
    RejectedRequestError,
    ServerError,
)
from njrt.models.response import escape_surrogates

OWN_KEY_VARIABLE = "NJC_API_KEY"
"""The environment variable with the key for the server at NJC_BASE_URL."""


LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names of this machine, which gets a key without encryption."""


@record
class Server:
    """A server's URL, and the environment variable with its key.

    `allows_http` lets a key be sent without encryption to a host other than this machine.
    """

    url: str
    key_variable: str
    allows_http: bool = False


def check_server(name: str, server: Server, key: str | None) -> None:
    """Raise a ModelError if the URL is invalid, or if the key must not or cannot be sent to it."""
    try:
        url = urlsplit(server.url)
        is_valid = url.port != 0 and server.url.isprintable()
    except ValueError:
        is_valid = False
    if not is_valid or url.scheme not in ("http", "https") or not url.hostname:
        raise ModelError(
            f"cannot ask {name!a}: {server.url!a} is not the URL of a server; "
            "write one such as http://127.0.0.1:8000/v1"
        )
    if key is not None and not (key.isascii() and key.isprintable()):
        raise AuthenticationError(
            f"the key for {name} contains characters that are not possible in a key; "
            f"set {server.key_variable} again"
        )
    has_key = key is not None or server.key_variable != OWN_KEY_VARIABLE
    if not has_key or url.scheme != "http":
        return
    if url.hostname not in LOOPBACK and not server.allows_http:
        raise AuthenticationError(
            f"the key for {name} is not sent to {server.url} without encryption; "
            "use https, or allow it with NJC_ALLOW_HTTP=on"
        )


def have_same_origin(url: str, other: str) -> bool:
    """Return whether two URLs have the same scheme, host and port, written alike."""
    with suppress(ValueError):
        return urlsplit(url.lower())[:2] == urlsplit(other.lower())[:2]
    return False


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


def make_model_error(
    failure: Exception, name: str, server: Server, key: str | None = None
) -> ModelError:
    """Return the error for `failure`, a documented exception of an SDK."""
    status = getattr(failure, "status_code", None)
    error = _explain_status(status, failure, name, server, key)
    if isinstance(error, ServerError):
        error.status = status
        headers = getattr(getattr(failure, "response", None), "headers", None) or {}
        error.retry_after = read_retry_after(headers)
    return error


def _explain_status(
    status: Any, failure: Exception, name: str, server: Server, key: str | None
) -> ModelError:
    message = read_server_message(getattr(failure, "body", None), key)
    said = f"(HTTP {status}: {message})"
    match status:
        case 401 | 403 if key is None and server.key_variable == OWN_KEY_VARIABLE:
            return make_missing_key_error(name, server)
        case 401 | 403:  # the server's message may repeat the key
            return AuthenticationError(
                f"{server.url} refused the key for {name} (HTTP {status}); "
                f"check {server.key_variable}"
            )
        case 404:
            return ModelNotFoundError(
                f"{server.url} does not know {name} ({message}); check the model's name and the "
                "URL, which for most servers ends in `/v1`"
            )
        case int() if status >= 500 or status in (408, 409, 429):
            return ServerError(
                f"{server.url} is too busy for {name}, or failed {said}, after all retries; wait, "
                'or name a second model to fall back on: model="A,B"'
            )
        case int() if status >= 400:
            return RejectedRequestError(f"{server.url} rejected the request to {name} {said}")
        case int():
            return ServerError(
                f"{server.url} redirects the request to {name} (HTTP {status}); "
                "set the URL to the new address"
            )
        case _ if "Connection" in type(failure).__name__ or "Timeout" in type(failure).__name__:
            where = format_model_location(name, server)
            return ServerError(f"cannot reach {where}; check the URL and that the server runs")
        case _:
            return make_missing_key_error(name, server)


def format_model_location(name: str, server: Server) -> str:
    """Return the model's name and its server's URL, unless the name contains the URL."""
    return name if server.url in name else f"{name} at {server.url}"


def make_missing_key_error(name: str, server: Server) -> AuthenticationError:
    """Return the error if no key is set, with the exit code of a wrong configuration."""
    error = AuthenticationError(f"no key to ask {name} with; set {server.key_variable}")
    error.exit_code = ConfigurationError.exit_code
    return error


def read_server_message(body: Any, key: str | None) -> str:
    """Return what a server says in the body of an error, without the key."""
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail")
    message = str(body or "no explanation")
    return "no explanation" if key and key in message else shorten_message(message)


def shorten_message(message: str) -> str:
    """Return a server's message as one short line."""
    text = " ".join(escape_surrogates(message).split())
    return text if len(text) <= 300 else text[:300] + "…"


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in a server's `Retry-After`; None if it has no number of them."""
    with suppress(ValueError):
        seconds = float(headers.get("retry-after") or "")
        return max(0.0, seconds) if math.isfinite(seconds) else None
    return None

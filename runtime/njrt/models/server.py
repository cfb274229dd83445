"""The server of a model: whether it may get the key, and the errors that it is the cause of.

    openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key ...
        ──> AuthenticationError: https://api.openai.com/v1 refused the key for openai/gpt-4.1;
            check OPENAI_API_KEY

Error messages have the SDK's words and name the fix, never the key.
"""

from __future__ import annotations

import math
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
    """Raise AuthenticationError if the key must not or cannot be sent to the server."""
    if key is not None and not (key.isascii() and key.isprintable()):
        raise AuthenticationError(
            f"the key for {name} contains characters that are not possible in a key; "
            f"set {server.key_variable} again"
        )
    has_key = key is not None or server.key_variable != OWN_KEY_VARIABLE
    with suppress(ValueError):  # not a URL: the SDK does not ask it
        url = urlsplit(server.url)
        is_open = url.scheme == "http" and url.hostname not in LOOPBACK
        if has_key and is_open and not server.allows_http:
            raise AuthenticationError(
                f"the key for {name} is not sent to {server.url} without encryption; "
                "use https, or allow it with NJC_ALLOW_HTTP=on"
            )


def make_model_error(
    failure: Exception, name: str, server: Server, key: str | None = None
) -> ModelError:
    """Return the error for what an SDK raises, by its status if the server has replied."""
    status, said = getattr(failure, "status_code", None), describe_failure(failure, key)
    match status:
        case None if "api_key" in str(failure):
            return make_missing_key_error(name, server)
        case 401 | 403 if key is None and server.key_variable == OWN_KEY_VARIABLE:
            return make_missing_key_error(name, server)
        case 401 | 403:  # the server's message may repeat the key
            return AuthenticationError(
                f"{server.url} refused the key for {name} (HTTP {status}); "
                f"check {server.key_variable}"
            )
        case 404:
            return ModelNotFoundError(
                f"{server.url} does not know {name} ({said}); check the model's name and the "
                "URL, which for most servers ends in `/v1`"
            )
        case int() if 400 <= status < 500 and status not in (408, 409, 429):
            return RejectedRequestError(f"{server.url} rejected the request to {name} ({said})")
    error = ServerError(
        f"no reply from {format_model_location(name, server)} ({said}), after all retries; check "
        'the URL, wait, or name a second model to fall back on: model="A,B"'
    )
    error.status, error.retry_after = status, read_retry_after(failure)
    return error


def format_model_location(name: str, server: Server) -> str:
    """Return the model's name and its server's URL, unless the name contains the URL."""
    return name if server.url in name else f"{name} at {server.url}"


def make_missing_key_error(name: str, server: Server) -> AuthenticationError:
    """Return the error if no key is set, with the exit code of a wrong configuration."""
    error = AuthenticationError(f"no key to ask {name} with; set {server.key_variable}")
    error.exit_code = ConfigurationError.exit_code
    return error


def describe_failure(failure: Exception, key: str | None = None) -> str:
    """Return the message of an exception as one short line, unless it has the key."""
    text = " ".join(escape_surrogates(str(failure)).split())
    if not text or (key and key in text):
        return "no explanation"
    return text if len(text) <= 300 else text[:300] + "…"


def read_retry_after(failure: Exception) -> float | None:
    """Return the seconds in the `Retry-After` of a response; None if it has no number of them."""
    headers = getattr(getattr(failure, "response", None), "headers", None) or {}
    wanted: Any = getattr(failure, "retry_after", None) or headers.get("retry-after")
    with suppress(ValueError, TypeError):
        seconds = float(wanted)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    return None

"""A model behind a server, asked through its vendor's SDK; what can go wrong there, in our words.

    openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key ...
        ──> AuthenticationError: https://api.openai.com/v1 refused the key for openai/gpt-4.1;
            check OPENAI_API_KEY

The SDK owns the connection, the key, and the retries with their back-off and `Retry-After`. Here is what
it leaves open: one deadline over all of that, and messages that say a way out and never show a key.
"""

from __future__ import annotations

import asyncio
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from njrt.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelError,
    ModelNotFoundError,
    RejectedRequestError,
    ServerError,
)
from njrt.messages import Protocol, Reply, Request
from njrt.models.network import get_network

MAX_RETRIES = 3
"""Times that the SDK asks again after a dropped connection or HTTP 408, 409, 429, 5xx."""

THINKING_TOKENS = 16_384
"""Tokens that a model which thinks before it speaks may use up beyond `max_reply_tokens`; a ceiling, no goal."""


@dataclass(frozen=True, slots=True)
class Server:
    """Where a model is asked: its URL, and the environment variable that holds its key."""

    url: str
    key_variable: str


class RemoteModel(ABC):
    """A `Model` that stands behind a server."""

    sdk: ClassVar[str]
    """The name of the vendor's SDK: of its package, and of our extra that installs it."""

    def __init__(self, name: str, protocol: Protocol, server: Server) -> None:
        if importlib.util.find_spec(self.sdk) is None:
            raise ConfigurationError(
                f"model `{name}` needs the package `{self.sdk}`; "
                f'install it with: pip install "njpy[{self.sdk}]"'
            )
        self.name = name
        self.protocol: Protocol = protocol
        self.server = server
        self.enforces_schemas = True

    def ask(self, request: Request) -> Reply:
        return get_network().run(self._exchange_with_timeout(request))

    async def aask(self, request: Request) -> Reply:
        return await get_network().arun(self._exchange_with_timeout(request))

    @abstractmethod
    async def exchange(self, request: Request) -> Reply:
        """Ask the server, retries included; runs on the network's loop."""

    @abstractmethod
    def failures(self) -> tuple[type[Exception], ...]:
        """The exceptions by which the SDK says that an exchange has failed."""

    async def exchange_schema(
        self, request: Request, exchange: Callable[[Request], Awaitable[Reply]]
    ) -> Reply:
        """Exchange a request whose reply must fit a schema, through `exchange`.

        A server that rejects the schema is asked again without it, and from then on always so: the reply is
        checked by whoever asked.
        """
        if request.schema is None or not self.enforces_schemas:
            return await exchange(replace(request, schema=None))
        try:
            return await exchange(request)
        except self.failures() as failure:
            if getattr(failure, "status_code", None) not in (400, 404, 422, 501):
                raise
            reply = await exchange(replace(request, schema=None))
            self.enforces_schemas = False
            return reply

    async def _exchange_with_timeout(self, request: Request) -> Reply:
        failures = self.failures()  # imports the SDK: once, and before the clock starts
        try:
            async with asyncio.timeout(request.timeout):
                return await self.exchange(request)
        except TimeoutError:
            raise ServerError(
                f"no reply from {format_model_location(self.name, self.server)} within {request.timeout:g} s, "
                "retries included; raise `max_call_seconds` or ask a faster model"
            ) from None
        except failures as failure:
            raise make_model_error(failure, self.name, self.server) from None


def make_model_error(failure: Exception, name: str, server: Server) -> ModelError:
    """Say in our words what `failure`, an exception of an SDK, means."""
    said, status = _get_server_message(failure), getattr(failure, "status_code", None)
    match status:
        case 401 | 403:
            # What the server says here may repeat the key.
            return AuthenticationError(
                f"{server.url} refused the key for {name} (HTTP {status}); check {server.key_variable}"
            )
        case 404:
            return ModelNotFoundError(
                f"{server.url} does not know {name} ({said}); check the model's name and the URL, "
                "which for most servers ends in `/v1`"
            )
        case 408 | 409 | 429 | 529:
            return ServerError(
                f"{server.url} is too busy for {name}, however often asked (HTTP {status}: {said}); "
                'wait, or name a second model to fall back on: model="A,B"'
            )
        case int() if status >= 500:
            return ServerError(
                f"{server.url} failed to answer for {name} (HTTP {status}: {said}); "
                'try later, or name a second model to fall back on: model="A,B"'
            )
        case int() if status >= 400:
            return RejectedRequestError(
                f"{server.url} rejected the request to {name} (HTTP {status}: {said})"
            )
        case int():
            return make_unreadable_reply_error(name, server)
    if "Connection" in type(failure).__name__ or "Timeout" in type(failure).__name__:
        return ServerError(
            f"cannot reach {format_model_location(name, server)}; check the URL and that the server runs"
        )
    if isinstance(failure, ValueError):
        return make_unreadable_reply_error(name, server)
    return make_missing_key_error(name, server)


def format_model_location(name: str, server: Server) -> str:
    """The model with its server; the name of a server's first model says it already."""
    return name if server.url in name else f"{name} at {server.url}"


def make_missing_key_error(name: str, server: Server) -> AuthenticationError:
    """The error where the SDK has found no key at all."""
    return AuthenticationError(f"no key to ask {name} with; set {server.key_variable}")


def make_unreadable_reply_error(name: str, server: Server) -> ServerError:
    """The error for a reply in no known format."""
    return ServerError(
        f"{server.url} sent something unreadable in place of a reply of {name}; "
        "check that the URL is that of a model's API"
    )


def _get_server_message(failure: Exception) -> str:
    """What the server itself said, in one short line."""
    body = getattr(failure, "body", None)
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail")
    text = " ".join(str(body or "no explanation").split())
    return text if len(text) <= 300 else text[:300] + "…"

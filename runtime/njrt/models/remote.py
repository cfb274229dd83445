"""A model behind a server; whatever the server does, it replies or raises a `NaturalError`.

    RemoteModel       a time limit for the whole, and no fields that the server has rejected before
    VendorModel       asked through its vendor's SDK, which has the retries and the streams

A stream that breaks off is an error, and is counted once, with the usage that it has reported.
Retries are not counted.
"""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from operator import attrgetter
from typing import Any, ClassVar

from njrt.data.loading import load_module
from njrt.data.media import Attachment
from njrt.data.records import replace
from njrt.errors import (
    ModelNotFoundError,
    NaturalError,
    RejectedRequestError,
    ServerError,
    require_packages,
)
from njrt.messages import CallAttempt, Protocol, Reply, Request, Usage, UserMessage
from njrt.models.model import CallLister
from njrt.models.network import get_network
from njrt.models.request_parts import Body
from njrt.models.response import (
    MalformedReplyError,
    escape_surrogates,
    is_event_stream,
    make_client_class,
    parse_json,
)
from njrt.models.server import (
    OWN_KEY_VARIABLE,
    Server,
    check_server,
    describe_failure,
    format_model_location,
    make_model_error,
)

MAX_RETRIES = 3
"""Retries by the SDK after a lost connection or HTTP 408, 409, 429, 5xx."""

THINKING_TOKENS = 16_384
"""Tokens that a thinking model may use beyond `max_reply_tokens`."""


class RemoteModel(CallLister):
    """A `Model` behind a server."""

    sdk: ClassVar[str]
    """The package of the vendor's SDK; with hyphens, the name of the extra that installs it."""

    def __init__(
        self,
        name: str,
        protocol: Protocol,
        server: Server,
        key: str | None = None,
        retries: int = 0,
    ) -> None:
        require_packages(f"model `{name}`", f"njpy-runtime[{self.sdk}]", self.sdk)
        self.name = name
        self.protocol: Protocol = protocol
        self.server = server
        self.is_plain = False
        """Whether the server has rejected a request with a stream or a schema."""
        self._key, self._retries = key, retries

    def ask(self, request: Request) -> Reply:
        return get_network().run(self._exchange_in_time(request))

    async def aask(self, request: Request) -> Reply:
        return await get_network().arun(self._exchange_in_time(request))

    @abstractmethod
    async def exchange(self, request: Request) -> Reply:
        """Ask the server, on the network's loop; raise a NaturalError or MalformedReplyError."""

    async def _exchange_in_time(self, request: Request) -> Reply:
        load_module(self.sdk)  # outside of the time limit
        try:
            async with asyncio.timeout(request.timeout):
                return await self._exchange_accepted(request)
        except TimeoutError:
            where = format_model_location(self.name, self.server)
            raise ServerError(
                f"no reply from {where} within {request.timeout:g} s, retries included; "
                "raise `max_call_seconds` or ask a faster model"
            ) from None
        except MalformedReplyError as error:
            unreadable = ServerError(
                f"{self.server.url} sent an unreadable reply for {self.name} ({error}); "
                "check that the URL is a model's API"
            )
            unreadable.attempts = error.attempts
            raise unreadable from None

    async def _exchange_accepted(self, request: Request) -> Reply:
        """Exchange a request; if the server rejects it, without a stream and a schema.

        It is then asked so from now on. The caller checks a reply against the schema anyway.
        """
        plain = replace(request, on_text=None, schema=None)
        if request.question is not None:  # its reply is needed whole
            request = replace(request, on_text=None)
        if self.is_plain or (request.on_text is None and request.schema is None):
            return await self.exchange(plain)
        try:
            return await self.exchange(request)
        except (RejectedRequestError, ModelNotFoundError):
            reply = await self.exchange(plain)
        self.is_plain = True
        return reply


class VendorModel(RemoteModel):
    """A `Model` behind a server, asked through the SDK of its vendor."""

    sdk_name: ClassVar[str]
    """The name in those of the SDK's client, `AsyncOpenAI`, and exceptions, `OpenAIError`."""

    pieces: ClassVar[Mapping[str, str]]
    """The types of events with text, or arguments of a call, and the attribute that has it."""

    api_path: ClassVar[str]
    """The attributes of the client that lead to the methods which create replies."""

    @abstractmethod
    def make_body(self, request: Request) -> Body:
        """Return the JSON of `request` for the server."""

    @asynccontextmanager
    async def open_stream(self, api: Any, arguments: Body) -> AsyncIterator[tuple[Any, Any]]:
        """Open the SDK's stream of a reply, with its state: what puts the events together."""
        async with api.stream(**arguments) as stream:
            yield stream, stream

    def read_event(self, state: Any, event: Any) -> Sequence[Any]:
        """Return what an event of a stream adds, as events of the SDK of the types in `pieces`."""
        return (event,)

    @abstractmethod
    def get_snapshot(self, state: Any) -> tuple[Body, bool]:
        """Return a stream's reply so far, and whether it has ended."""

    @abstractmethod
    def read_response(self, response: Any, request: Request) -> Reply:
        """Return the reply in a response's JSON; raise MalformedReplyError if there is none."""

    @abstractmethod
    def read_usage(self, usage: Any) -> Usage:
        """Return the priced usage in a response's JSON, which is unknown if it is None."""

    def get_client(self) -> Any:
        """Return the SDK's client, made when first needed.

        It reads the proxies then; plain HTTP goes to its server without one.
        """
        with self.explained():
            return get_network().get_client(self, self._connect)

    def _connect(self) -> Any:
        check_server(self.name, self.server, self._key)
        sdk = load_module(self.sdk)
        make_http = make_client_class(
            sdk.DefaultAsyncHttpxClient, getattr(sdk, f"{self.sdk_name}Error")
        )
        # Without a key the SDK looks for the vendor's; the user's own servers mostly need none.
        is_own = self.server.key_variable == OWN_KEY_VARIABLE
        return getattr(sdk, f"Async{self.sdk_name}")(
            api_key=self._key or ("none" if is_own else None),
            base_url=self.server.url,
            max_retries=self._retries,
            http_client=make_http(
                follow_redirects=False,
                headers={"accept-encoding": "identity"},
                mounts={"http://": None},
            ),
        )

    async def exchange(self, request: Request) -> Reply:
        api, body = attrgetter(self.api_path)(self.get_client()), self.make_body(request)
        # The SDK's types would drop or rename fields; it sends those of `extra_body` as they are.
        required = {name: body[name] for name in ("model", "max_tokens") if name in body}
        arguments = escape_surrogates(required | {"messages": [], "extra_body": body})
        arguments["timeout"] = request.timeout
        with self.explained():
            if request.on_text is None:
                whole = await api.with_raw_response.create(**arguments)
                response = parse_json(whole.http_response.content)
            else:
                async with self.open_stream(api, arguments) as (stream, state):
                    response = await self._read_stream(stream, state, request.on_text)
        try:
            return self.read_response(response, request)
        except MalformedReplyError as error:
            if isinstance(response, dict):
                error.attempts = self._list_attempt("unusable", response.get("usage"))
            raise

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Raise what the SDK raises as a `ModelError`, which names the fix and not the key."""
        try:
            yield
        except (NaturalError, MalformedReplyError):
            raise
        except Exception as failure:
            raise make_model_error(failure, self.name, self.server, self._key) from None

    async def _read_stream(self, stream: Any, state: Any, on_text: Callable[[str], None]) -> Any:
        """Return the JSON of a streamed reply; raise ServerError if it has no usable end."""
        if not is_event_stream(stream.response.headers):
            return parse_json(stream.response.content)  # the server does not stream
        text = ""
        try:
            async for event in stream:
                for part in self.read_event(state, event):
                    if piece := getattr(part, self.pieces.get(part.type, ""), ""):
                        text += escape_surrogates(piece)
                        on_text(text)
            snapshot, is_complete = self.get_snapshot(state)
            if not is_complete:
                raise MalformedReplyError("it has no end")
            return parse_json(json.dumps(snapshot))
        except Exception as failure:  # the SDK does not check what a server streams
            where = format_model_location(self.name, self.server)
            said = describe_failure(failure, self._key)
            error = ServerError(f"the stream of {where} broke off ({said}); try again")
            with suppress(Exception):
                usage = self.get_snapshot(state)[0]["usage"]
                error.attempts = self._list_attempt("ServerError", usage)
            raise error from None

    def _list_attempt(self, outcome: str, usage: Any) -> tuple[CallAttempt, ...]:
        """Return a call without a reply, if its usage is known."""
        with suppress(MalformedReplyError):
            if usage is not None:
                return (CallAttempt(self.name, outcome, self.read_usage(usage)),)
        return ()


def list_files(request: Request) -> list[Attachment]:
    """Return the files of a request."""
    messages = [each for each in request.messages if isinstance(each, UserMessage)]
    return [file for message in messages for file in message.attachments]

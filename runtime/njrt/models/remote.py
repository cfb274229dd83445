"""A model behind a server, asked through its vendor's SDK; failures become `ModelError`s.

    openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key ...
        ──> AuthenticationError: https://api.openai.com/v1 refused the key for openai/gpt-4.1;
            check OPENAI_API_KEY

The SDK has the connection and the key, `RetryingSender` the retries. Error messages name the fix, never the key.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from njrt.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelError,
    ModelNotFoundError,
    NaturalError,
    RejectedRequestError,
    ServerError,
    require_packages,
)
from njrt.loading import load_module
from njrt.messages import Protocol, Reply, Request, Usage, UserMessage
from njrt.models.model import CallLister
from njrt.models.network import Client, get_network
from njrt.models.prices import compute_cost
from njrt.models.response import (
    SAFE_CLIENT,
    MalformedReplyError,
    escape_surrogates,
    is_body_limited,
    parse_json,
)
from njrt.models.retries import (
    FIRST_WAIT,
    RetryingSender,
    get_status,
    list_causes,
    read_headers,
    read_retry_after,
    was_sent,
)
from njrt.models.streaming import BrokenStreamError, OnText, ReplyAssembler, assemble_reply
from njrt.records import record, replace

T = TypeVar("T")

MAX_RETRIES = 3
"""Retries after a dropped connection or HTTP 408, 409, 429, 5xx."""

OWN_KEY_VARIABLE = "NJC_API_KEY"
"""The environment variable with the key for the server at NJC_BASE_URL."""

THINKING_TOKENS = 16_384
"""Tokens that a thinking model may use beyond `max_reply_tokens`, at most."""

REJECTED_FIELD_STATUSES = frozenset({400, 404, 422, 501})
"""The HTTP statuses of servers that reject a field that they do not know."""


@record
class Server:
    """A server's URL, and the environment variable with its key.

    `allows_http` lets a key be sent without encryption to a host other than this machine.
    """

    url: str
    key_variable: str
    allows_http: bool = False


class RemoteModel(CallLister):
    """A `Model` behind a server."""

    sdk: ClassVar[str]
    """The package name of the vendor's SDK and, with hyphens, the name of the extra that installs it."""

    client_name: ClassVar[str]
    error_name: ClassVar[str]
    """The names of the SDK's asynchronous client and of the base class of its documented exceptions."""

    assembler: ClassVar[type[ReplyAssembler]]
    """Assembles the events of a streamed reply."""

    unstreamable: ClassVar[tuple[type[Exception], ...]] = ()
    """Exceptions, besides HTTP errors, of models that cannot stream."""

    stream_fields: ClassVar[Mapping[str, Any]] = {"stream": True}
    """The fields of a request body that ask for a stream."""

    def __init__(
        self, name: str, protocol: Protocol, server: Server, key: str | None, retries: int = 0
    ) -> None:
        require_packages(f"model `{name}`", f"njpy-runtime[{self.sdk}]", self.sdk)
        self.name = name
        self.protocol: Protocol = protocol
        self.server = server
        self.enforces_schemas = True
        self.can_stream = True
        self._key = key
        self._retries = retries
        self.first_wait = FIRST_WAIT

    def ask(self, request: Request) -> Reply:
        return get_network().run(self._exchange_with_timeout(request))

    async def aask(self, request: Request) -> Reply:
        return await get_network().arun(self._exchange_with_timeout(request))

    def connect(self) -> Client:
        """Make the SDK's client, with retries turned off; raise ModelError if the server must not get the key."""
        check_server(self.name, self.server, self._key)
        sdk = load_module(self.sdk)
        client: Client = getattr(sdk, self.client_name)(
            api_key=self.get_key(),
            base_url=self.server.url,
            max_retries=0,
            http_client=sdk.DefaultAsyncHttpxClient(**SAFE_CLIENT),
        )
        return client

    def get_key(self) -> str | None:
        """Return the key for the SDK's client; with None, the client looks for the vendor's key."""
        return self._key

    async def exchange(self, request: Request, sender: RetryingSender) -> Reply:
        """Ask the server through `sender`; runs on the network's loop."""
        api = self.get_api()

        async def exchange(request: Request) -> Reply:
            body = self.make_body(request)
            if request.wants_probability:
                request = replace(request, on_text=None)  # tokens come only with a whole response
            return await self.call_or_stream(api, request, body, self.assembler(), sender)

        return await self.exchange_schema(request, exchange)

    def get_api(self) -> Any:
        """Return the part of the SDK's client that creates replies."""
        raise NotImplementedError

    def make_body(self, request: Request) -> dict[str, Any]:
        """Return the JSON of `request` for the server."""
        raise NotImplementedError

    def read_response(self, response: Any, request: Request) -> Reply:
        """Return the reply in a response's JSON; raise MalformedReplyError if there is none."""
        raise NotImplementedError

    def read_usage(self, response: Any) -> Usage | None:
        """Return the usage that a response reports, even if it is not a reply; None if it reports no usage.

        Raises MalformedReplyError if the usage cannot be read.
        """
        usage = response.get("usage") if isinstance(response, dict) else None
        return None if usage is None else self.price(*self.parse_usage(usage))

    def parse_usage(self, usage: Any) -> tuple[Usage, int]:
        """Return the usage in a response's JSON, and the number of tokens written to the vendor's cache."""
        raise NotImplementedError

    def price(self, usage: Usage, cache_writes: int) -> Usage:
        """Return the usage with its price, if the price is known."""
        return replace(usage, usd=compute_cost(self.name, usage, cache_writes))

    def get_failure_types(self) -> tuple[type[Exception], ...]:
        return (getattr(import_module(self.sdk), self.error_name),)

    def get_client(self) -> Any:
        """Return the SDK's client, made when first needed; it reads the environment's proxies then."""
        explained: tuple[type[Exception], ...] = (NaturalError, *self.get_failure_types())
        try:
            return get_network().get_client(self, self.connect)
        except explained:
            raise
        except Exception as error:
            raise self.explain_sdk_error(error) from None

    async def call_server(self, call: Callable[..., Awaitable[Any]], **arguments: Any) -> Any:
        """Return the JSON of the response to `call`, a method of an SDK's `with_raw_response` object."""
        response = await self.call_sdk(call, **escape_surrogates(arguments))
        return parse_json(response.http_response.content)

    async def call_sdk(self, call: Callable[..., Awaitable[T]], **arguments: Any) -> T:
        """Return the result of a method of the SDK's client; undocumented exceptions become `ModelError`s."""
        try:
            return await call(**arguments)
        except Exception as error:
            for cause in list_causes(error):
                if isinstance(cause, MalformedReplyError):
                    raise cause from None
            if isinstance(error, self.get_failure_types()):
                raise
            raise self.explain_sdk_error(error) from None

    async def call_or_stream(
        self,
        api: Any,
        request: Request,
        body: Mapping[str, Any],
        assembler: ReplyAssembler,
        sender: RetryingSender,
    ) -> Reply:
        """Return the reply of `api.create`, streamed if the request wants a stream and the server supports it.

        If a stream breaks off, the whole reply is requested again.
        """
        stream = partial(self._stream, api, request, body, assembler)
        call = api.with_raw_response.create
        whole = partial(self.call_server, call, **send_unconverted(body), timeout=request.timeout)
        response = await self.stream_or_wait(request, sender, stream, whole)
        try:
            _check_for_error(response, self._key)
            return self.read_response(response, request)
        except MalformedReplyError:
            with suppress(MalformedReplyError):
                sender.unusable = self.read_usage(response)
            raise

    async def stream_or_wait(
        self,
        request: Request,
        sender: RetryingSender,
        stream: Callable[[OnText], Awaitable[T]],
        whole: Callable[[], Awaitable[T]],
    ) -> T:
        """Return the response of `stream` if the request wants that and the server can stream, else of `whole`."""
        refused_stream = False
        if request.on_text is not None and self.can_stream:
            try:
                return await sender.run(partial(stream, request.on_text))
            except self.unstreamable:
                refused_stream = True
            except self.get_failure_types() as failure:
                refused_stream = get_status(failure) in REJECTED_FIELD_STATUSES
                if not refused_stream:
                    raise
            except BrokenStreamError as failure:
                place = format_model_location(self.name, self.server)
                await sender.count_broken_stream(place, str(failure))
        response = await sender.run(whole)
        self.can_stream = self.can_stream and not refused_stream
        return response

    async def _stream(
        self,
        api: Any,
        request: Request,
        body: Mapping[str, Any],
        assembler: ReplyAssembler,
        on_text: OnText,
    ) -> Any:
        arguments = escape_surrogates(send_unconverted(body)) | self.stream_fields
        has_begun = False
        try:
            create = api.with_streaming_response.create
            async with create(**arguments, timeout=request.timeout) as answer:
                has_begun, response = True, answer.http_response
                if "event-stream" not in response.headers.get("content-type", "").lower():
                    return parse_json(await response.aread())
                return await assemble_reply(response.aiter_bytes(), assembler, on_text)
        except MalformedReplyError as error:
            raise BrokenStreamError(str(error)) from None
        except BrokenStreamError:
            raise
        except Exception as error:  # from the connection, whose library the SDK chooses
            kinds = {kind.__name__ for kind in type(error).__mro__}
            if has_begun or "TransportError" in kinds:  # in the body, even an error's body
                raise BrokenStreamError(type(error).__name__) from None
            if isinstance(error, self.get_failure_types()):
                raise
            raise self.explain_sdk_error(error) from None

    def explain_sdk_error(self, error: Exception) -> ModelError:
        """Return the error for an exception that the SDK does not document; its message may contain the key."""
        return ServerError(
            f"the package `{self.sdk}` failed to ask {format_model_location(self.name, self.server)} "
            f"({type(error).__name__}); check the URL and the key, or install another version"
        )

    async def exchange_schema(
        self, request: Request, exchange: Callable[[Request], Awaitable[Reply]]
    ) -> Reply:
        """Exchange a request with a schema for its reply, through `exchange`.

        If the server rejects the schema, later requests are sent without it: the caller checks the reply anyway.
        """
        if request.schema is None or not self.enforces_schemas:
            return await exchange(replace(request, schema=None))
        try:
            return await exchange(request)
        except self.get_failure_types() as failure:
            if get_status(failure) not in REJECTED_FIELD_STATUSES:
                raise
            reply = await exchange(replace(request, schema=None))
            self.enforces_schemas = False
            return reply

    def explain_failure(self, failure: Exception) -> ModelError:
        return make_model_error(failure, self.name, self.server, self._key)

    async def _exchange_with_timeout(self, request: Request) -> Reply:
        sender = RetryingSender(
            self.name, request, self.get_failure_types, self._retries, self.first_wait
        )
        call = partial(self.exchange, request, sender)
        is_body_limited.set(True)
        try:
            return sender.finish(await self._call_with_errors(call, request.timeout, request))
        except NaturalError as error:
            sender.fail(error)
            raise

    async def _call_with_errors(
        self, call: Callable[[], Awaitable[T]], seconds: float, request: Request | None = None
    ) -> T:
        failures = self.get_failure_types()  # imports the SDK: once, and outside the timeout
        try:
            async with asyncio.timeout(seconds):
                return await call()
        except TimeoutError:
            raise ServerError(
                f"no reply from {format_model_location(self.name, self.server)} within {seconds:g} s, "
                "retries included; raise `max_call_seconds` or ask a faster model"
            ) from None
        except _ReportedError as error:
            raise ServerError(
                f"{self.server.url} sent an error in place of a reply for {self.name}: {error}"
            ) from None
        except MalformedReplyError as error:
            raise ServerError(
                f"{self.server.url} sent an unreadable reply for {self.name} ({error}); "
                "check that the URL is a model's API"
            ) from None
        except failures as failure:
            explained = self.explain_failure(failure)
            raise (add_file_hint(explained, request) if request else explained) from None


def send_unconverted(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an SDK's `create` that send `body` unconverted; converting takes a quarter of a request's time."""
    required = {name: body[name] for name in ("model", "max_tokens") if name in body}
    return required | {"messages": [], "extra_body": body}


def describe_files(request: Request) -> str:
    """Return the names and types of the files in a request; empty if it has no files."""
    return ", ".join(
        f"`{file.name}` ({file.media.media_type})"
        for message in request.messages
        if isinstance(message, UserMessage)
        for file in message.attachments
    )


def add_file_hint(error: ModelError, request: Request) -> ModelError:
    """Return the error, with a hint that the request had files if they may be its cause."""
    files = describe_files(request)
    if files and isinstance(error, RejectedRequestError | ServerError):
        error.args = (f"{error}; it was sent {files}, which not every model takes",)
    return error


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
            f"the key for {name} contains characters that are not possible in a key; set {server.key_variable} again"
        )
    has_key = key is not None or server.key_variable != OWN_KEY_VARIABLE
    if not has_key or url.scheme != "http":
        return
    if not is_loopback(url.hostname) and not server.allows_http:
        raise AuthenticationError(
            f"the key for {name} is not sent to {server.url} without encryption; "
            "use https, or allow it with NJC_ALLOW_HTTP=on"
        )
    if proxy := find_proxy(url.hostname):
        raise AuthenticationError(
            f"the key for {name} is not sent to {server.url} through the proxy {proxy} without encryption; "
            f"set NO_PROXY={url.hostname}, or use https"
        )


def find_proxy(host: str) -> str | None:
    """Return the proxy on another machine that the environment sets for plain HTTP to a host, or None."""
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    proxy = proxies.get("http") or proxies.get("all")
    if not proxy or proxy_bypass(host):
        return None
    found = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return None if is_loopback(found.hostname or "") else f"{found.scheme}://{found.hostname}"


def is_loopback(host: str) -> bool:
    """Return whether a host name refers to this machine."""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")


def have_same_origin(url: str, other: str) -> bool:
    """Return whether two URLs have the same scheme, host and port."""
    ports = {"http": 80, "https": 443}
    try:
        both = urlsplit(url), urlsplit(other)
        first, second = ((it.scheme, it.hostname, it.port or ports.get(it.scheme)) for it in both)
    except ValueError:
        return False
    return first == second


def make_model_error(
    failure: Exception, name: str, server: Server, key: str | None = None
) -> ModelError:
    """Return the error for `failure`, a documented exception of an SDK."""
    error = _make_model_error(failure, name, server, key)
    if isinstance(error, ServerError):
        error.status = get_status(failure)
        error.retry_after = read_retry_after(read_headers(failure), time.time())
        error.was_sent = was_sent(failure)
    return error


def _make_model_error(failure: Exception, name: str, server: Server, key: str | None) -> ModelError:
    message = _get_server_message(getattr(failure, "body", None))
    status = getattr(failure, "status_code", None)
    said = f"(HTTP {status}: {message})"
    kind: Callable[[str], ModelError] = ServerError
    match status:
        case 401 | 403:  # the server's message may repeat the key
            is_refused = key or server.key_variable != OWN_KEY_VARIABLE
            verb = "refused the key" if is_refused else "needs a key"
            kind = AuthenticationError if is_refused else make_key_error
            text = f"{server.url} {verb} for {name} (HTTP {status}); check {server.key_variable}"
        case 404:
            kind = ModelNotFoundError
            text = (
                f"{server.url} does not know {name} ({message}); check the model's name and the URL, "
                "which for most servers ends in `/v1`"
            )
        case 408 | 409 | 429 | 529:
            text = (
                f"{server.url} is too busy for {name}, after all retries {said}; "
                'wait, or name a second model to fall back on: model="A,B"'
            )
        case int() if status >= 500:
            text = (
                f"{server.url} failed to answer for {name} {said}; "
                'try later, or name a second model to fall back on: model="A,B"'
            )
        case int() if status >= 400:
            kind = RejectedRequestError
            text = f"{server.url} rejected the request to {name} {said}"
        case int():
            text = f"{server.url} redirects the request to {name} (HTTP {status}); set the URL to the new address"
        case _ if "Connection" in type(failure).__name__ or "Timeout" in type(failure).__name__:
            text = f"cannot reach {format_model_location(name, server)}; check the URL and that the server runs"
        case _:
            return make_missing_key_error(name, server)
    return kind(text)


def format_model_location(name: str, server: Server) -> str:
    """Return the model's name and its server's URL, unless the name contains the URL."""
    return name if server.url in name else f"{name} at {server.url}"


def make_missing_key_error(name: str, server: Server) -> AuthenticationError:
    """Return the error if no key is set."""
    return make_key_error(f"no key to ask {name} with; set {server.key_variable}")


def make_key_error(text: str) -> AuthenticationError:
    """Return an error about a missing key, with the exit code of a wrong configuration."""
    error = AuthenticationError(text)
    error.exit_code = ConfigurationError.exit_code
    return error


class _ReportedError(MalformedReplyError):
    """A response with a success status has an error in its body, as gateways send; the message is the server's."""


def _check_for_error(response: Any, key: str | None) -> None:
    """Raise _ReportedError for a body with an error and no reply, without the message if it repeats the key."""
    is_reply = not isinstance(response, dict) or response.get("choices") or response.get("content")
    if not is_reply and response.get("error"):
        message = _get_server_message(response)
        raise _ReportedError("no explanation" if key and key in message else message)


def _get_server_message(body: Any) -> str:
    if isinstance(body, dict):
        body = body.get("error", body)
    if isinstance(body, dict):
        body = body.get("message") or body.get("detail")
    return shorten_message(str(body or "no explanation"))


def shorten_message(message: str) -> str:
    """Return a server's message as one short line."""
    text = " ".join(escape_surrogates(message).split())
    return text if len(text) <= 300 else text[:300] + "…"

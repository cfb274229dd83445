"""Compiled functions as tools of an MCP server.

    make_mcp_server([load_target("mail.njpy:route")], budgets=())     the SDK's `MCPServer` with the tool `route`

A tool has its function's parameters, result and docstring; pydantic converts the arguments. Synchronous functions
run in threads. While a function runs, its client gets a progress message for each of a model's answers. A cancelled
asynchronous function stops; a synchronous one ends at its next question to a model. Each client has its own budgets.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import json
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from njc.target import TargetFunction
from njrt.errors import ConfigurationError, NotAskedError
from njrt.execution.tracebacks import format_error
from njrt.media import Audio, Image, Media
from njrt.messages import Reply, Request
from njrt.models.model import Ask, LayeredModel
from njrt.models.response import escape_surrogates
from njrt.observability.accounts import Watch, watch
from njrt.options.budget import Budget
from njrt.records import record, replace
from njrt.session.settings import using, wrapping

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

PROGRESS_SECONDS = 0.25
"""How often the calls of models are looked at."""


@record
class _Stop:
    """A model layer that sends no more requests after the client has cancelled its call."""

    stopped: threading.Event

    async def answer(self, request: Request, ask: Ask) -> Reply:
        if self.stopped.is_set():
            raise NotAskedError("the client has cancelled the call")
        return await ask(request)


def make_mcp_server(
    targets: Sequence[TargetFunction],
    name: str,
    budgets: Sequence[Budget],
    lifespan: Callable[[Any], AbstractAsyncContextManager[None]] | None = None,
) -> MCPServer:
    """Return a server for these functions, with budgets for each client; raises ConfigurationError.

    `lifespan` is entered when the server has its streams.
    """
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import InvalidSignature
    from mcp.server.mcpserver.tools import Tool
    from pydantic import PydanticUserError

    from njc import __version__

    tools: list[Tool] = []
    names = [target.name.rpartition(":")[2].replace(".", "_") for target in targets]
    for target, name_of_tool in zip(targets, names, strict=True):
        if names.count(name_of_tool) > 1:
            raise ConfigurationError(
                f"two functions have the name `{name_of_tool}`; serve them apart"
            )
        try:
            tool = Tool.from_function(make_tool(target, budgets, name), name=name_of_tool)
            arguments = tool.fn_metadata.arg_model  # the SDK's, which ignores unknown arguments
            arguments.model_config["extra"] = "forbid"
            arguments.model_rebuild(force=True)
            tools.append(tool)
        except (InvalidSignature, PydanticUserError, TypeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise ConfigurationError(f"`{target.name}` cannot be a tool: {first}") from None
        tool.parameters["additionalProperties"] = False
        if '"format": "binary"' in json.dumps(tool.output_schema):
            raise ConfigurationError(
                f"`{target.name}` cannot be a tool: its result has bytes, which JSON does not carry; "
                "return a text, an njrt.Image, or a list of these"
            )
    return MCPServer(name, version=__version__, log_level="WARNING", tools=tools, lifespan=lifespan)


def make_tool(target: TargetFunction, budgets: Sequence[Budget], server: str) -> Callable[..., Any]:
    """Return the function that a server calls, with the call's context as an additional parameter."""
    from mcp.server.mcpserver import Context
    from mcp.types import ImageContent
    from pydantic import BaseModel, Field, PydanticUserError, TypeAdapter
    from pydantic_core import to_json

    added = "mcp_context"
    while added in target.parameters:
        added += "_"

    @functools.wraps(target.function)
    async def call(**arguments: Any) -> Any:
        context: Context = arguments.pop(added)
        owned = [
            replace(each, name=f"{_find_name(each, server)}/mcp-{find_client(context)}")
            for each in budgets
        ]
        stopped = threading.Event()
        try:
            stoppable = wrapping(lambda model: LayeredModel(model, (_Stop(stopped),)))
            with _translated(), using(budget=owned or None), stoppable, watch() as accounts:
                value = await _run(target, arguments, context, accounts)
                with suppress(PydanticUserError):  # the SDK has no schema for it either
                    TypeAdapter(target.annotations.get("return", Any)).validate_python(value)
                value = _make_content(value)
                to_json(value, fallback=str)  # a value that cannot be sent would end the server
                if "return" in target.annotations:
                    _check_numbers(value)
                return value
        finally:
            stopped.set()

    parameters: list[inspect.Parameter] = []
    for each in target.parameters.values():
        if each.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise ConfigurationError(
                f"`{target.name}` cannot be a tool: it has the parameter {each}"
            )
        annotation, name = target.annotations.get(each.name, Any), each.name
        if hasattr(BaseModel, name):  # the SDK makes a class with a field per parameter
            annotation, name = Annotated[annotation, Field(alias=name)], f"tool_{name}"
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(each.replace(name=name, annotation=annotation, kind=kind))
    parameters.append(inspect.Parameter(added, inspect.Parameter.KEYWORD_ONLY, annotation=Context))
    result = target.annotations.get("return", inspect.Signature.empty)
    if _has_media(result):
        result = ImageContent  # tells the SDK that the result consists of parts and has no schema
    signature = inspect.Signature(parameters, return_annotation=result)
    vars(call)["__signature__"] = signature
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    if result is not inspect.Signature.empty:
        call.__annotations__["return"] = result
    del call.__wrapped__
    return call


def _find_name(budget: Budget, server: str) -> str:
    """Return the name of all clients' accounts: the given name, otherwise the server's."""
    return (server if budget.name == Budget().name else budget.name)[:80]


# ── results ──────────────────────────────────────────────────────────────────────────────────────


def _has_media(declared: Any) -> bool:
    """Return whether a result is a file for models, or a list, tuple or union that contains a file."""
    if get_origin(declared) in (list, tuple, Sequence, Union, UnionType, Annotated):
        return any(map(_has_media, get_args(declared)))
    return isinstance(declared, type) and issubclass(declared, Media)


def _make_content(value: Any) -> Any:
    """Return a result with files as MCP content parts."""
    from mcp.types import (
        AudioContent,
        BlobResourceContents,
        EmbeddedResource,
        ImageContent,
        ResourceLink,
    )

    match value:
        case list() | tuple() if any(isinstance(each, Media) for each in value):
            return [_make_content(each) for each in value]
        case Media(url=url) if url:
            return ResourceLink(type="resource_link", uri=url, name=url)
        case Image():
            return ImageContent(type="image", data=value.base64, mime_type=value.media_type)
        case Audio():
            return AudioContent(type="audio", data=value.base64, mime_type=value.media_type)
        case Media():
            uri = f"urn:sha256:{value.digest}"
            held = BlobResourceContents(uri=uri, blob=value.base64, mime_type=value.media_type)
            return EmbeddedResource(type="resource", resource=held)
    return value


def _check_numbers(value: Any) -> None:
    """Raise a tool error for a result with a number that JSON does not have."""
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic_core import to_jsonable_python

    waiting = [("the result", to_jsonable_python(value, fallback=str))]
    while waiting:
        place, part = waiting.pop()
        if isinstance(part, float) and not math.isfinite(part):
            raise ToolError(f"{place} is {part}, which is not a number in JSON")
        if isinstance(part, list):
            waiting += [(f"{place}[{index}]", each) for index, each in enumerate(part)]
        if isinstance(part, dict):
            waiting += [(f"{place}[{key!r}]", each) for key, each in part.items()]


# ── calls ────────────────────────────────────────────────────────────────────────────────────────


async def _run(
    target: TargetFunction, arguments: dict[str, Any], context: Context, accounts: Watch
) -> Any:
    """Run the function, and report each of a model's answers."""
    positional = [
        arguments.pop(each.name)
        for each in target.parameters.values()
        if each.kind is inspect.Parameter.POSITIONAL_ONLY and each.name in arguments
    ]

    def run() -> Any:
        with _translated():  # a thread cannot propagate StopIteration
            return target.function(*positional, **arguments)

    ended = asyncio.Event()
    reporting = asyncio.create_task(_report(context, accounts, ended))
    try:
        value = run() if target.is_async else await asyncio.to_thread(run)
        return await value if inspect.isawaitable(value) else value
    finally:
        ended.set()
        await reporting


@contextmanager
def _translated() -> Iterator[None]:
    """Raise a tool error for any exception except a cancellation of this task."""
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        yield
    except ToolError:
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        raise ToolError(escape_surrogates(format_error(error))) from error


def _is_cancelled() -> bool:
    with suppress(RuntimeError):  # in a thread without a loop
        return bool((task := asyncio.current_task()) and task.cancelling())
    return False


async def _report(context: Context, accounts: Watch, ended: asyncio.Event) -> None:
    """Send a progress message for each of a model's answers, until the call has ended."""
    sent, is_last = 0, False
    while not is_last:
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), PROGRESS_SECONDS)
        is_last = ended.is_set()
        while sent < accounts.totals.calls:
            sent += 1
            await context.report_progress(sent, None, f"{sent} answers of models")


def find_client(context: Context) -> str:
    """Return a name for a call's client, from its token, otherwise its address; `stdio` for a pipe."""
    token = (context.headers or {}).get("authorization")
    request = context.request_context.request
    address = getattr(getattr(request, "client", None), "host", None)
    if token is None and address is None:
        return "stdio"
    return hashlib.sha256((token or str(address)).encode()).hexdigest()[:12]

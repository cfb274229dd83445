"""Compiled functions as tools of an MCP server.

    make_mcp_server([load_target("mail.njpy:route")], "mail", budgets=())     the SDK's `MCPServer`

A tool has its function's parameters, result and docstring; the SDK converts the arguments.
Synchronous functions run in threads. The client gets a progress message for each answer of a model.
A cancelled coroutine stops; a synchronous function ends at its next question to a model.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from njc.target import TargetFunction
from njrt.errors import ConfigurationError, NotAskedError
from njrt.execution.tracebacks import format_error
from njrt.media import Audio, Image, Media
from njrt.messages import Reply, Request
from njrt.models.model import Ask, LayeredModel
from njrt.models.response import escape_surrogates
from njrt.options.budget import Budget
from njrt.records import replace
from njrt.session.settings import using, wrapping

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.tools import Tool

_CONTEXT = "the call"
"""The key of the SDK's context among the arguments, which no parameter has."""


class _ClientLayer:
    """A model layer for one call of a client (state: the reports so far, whether it is stopped)."""

    def __init__(self, context: Context) -> None:
        self.stopped = threading.Event()
        self._context, self._loop = context, asyncio.get_running_loop()
        self._reports: list[Future[None]] = []

    async def answer(self, request: Request, ask: Ask) -> Reply:
        """Ask, unless the client has cancelled its call, and report progress."""
        if self.stopped.is_set():
            raise NotAskedError("the client has cancelled the call")
        reply = await ask(request)
        if not self.stopped.is_set():
            report = self._report(len(self._reports) + 1)
            self._reports.append(asyncio.run_coroutine_threadsafe(report, self._loop))
        return reply

    async def _report(self, answers: int) -> None:
        await self._context.report_progress(answers, None, f"{answers} answers of models")

    async def wait_for_reports(self) -> None:
        """Wait until the client has been sent every report, since a result ends its call."""
        for report in self._reports:
            await asyncio.wrap_future(report)


def make_mcp_server(
    targets: Sequence[TargetFunction], name: str, budgets: Sequence[Budget]
) -> MCPServer:
    """Return a server for these functions, with budgets for each client.

    Raises ConfigurationError if a function cannot be a tool.
    """
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import InvalidSignature
    from pydantic import PydanticUserError

    from njc import __version__

    tools: dict[str, Tool] = {}
    for target in targets:
        tool = target.name.rpartition(":")[2].replace(".", "_")
        if tool in tools:
            raise ConfigurationError(f"two functions have the name `{tool}`; serve them apart")
        try:
            tools[tool] = make_tool(target, tool, budgets, name)
        except (InvalidSignature, PydanticUserError, TypeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise ConfigurationError(f"`{target.name}` cannot be a tool: {first}") from None
    return MCPServer(name, version=__version__, log_level="WARNING", tools=[*tools.values()])


def make_tool(target: TargetFunction, name: str, budgets: Sequence[Budget], server: str) -> Tool:
    """Return the SDK's tool with the form of a function; raises TypeError if it has none."""
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.server.mcpserver.tools import Tool
    from pydantic import PydanticUserError, TypeAdapter
    from pydantic_core import to_jsonable_python

    for each in target.parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise TypeError(f"it has the parameter {each}")
    declared = target.annotations.get("return", inspect.Signature.empty)
    has_schema = False if _has_media(declared) else None  # None: if the SDK finds one
    tool = Tool.from_function(target.function, name=name, structured_output=has_schema)
    if '"format": "binary"' in json.dumps(tool.output_schema):
        raise TypeError(
            "its result has bytes, which JSON does not carry; return a text, an njrt.Image, or a "
            "list of these"
        )

    async def call(**arguments: Any) -> Any:
        context = arguments.pop(_CONTEXT)
        layer, client = _ClientLayer(context), find_client(context)
        owned = [replace(each, name=f"{_find_name(each, server)}/mcp-{client}") for each in budgets]
        layered = wrapping(lambda model: LayeredModel(model, (layer,)))
        try:
            with using(budget=owned or None), layered:
                value = await _run(target, arguments)
            await layer.wait_for_reports()
            if declared is not inspect.Signature.empty:
                with suppress(PydanticUserError):  # the SDK has no schema for it either
                    TypeAdapter(declared).validate_python(value)
            value = _make_content(value)
            sent = to_jsonable_python(value, fallback=str)  # else it would end the server
            json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            raise ToolError(escape_surrogates(format_error(error))) from error
        finally:
            layer.stopped.set()
        return value

    tool.fn, tool.is_async, tool.context_kwarg = call, True, _CONTEXT
    return tool


async def _run(target: TargetFunction, arguments: dict[str, Any]) -> Any:
    import anyio

    signature = inspect.Signature([*target.parameters.values()])
    bound = inspect.BoundArguments(signature, arguments)
    function = functools.partial(target.function, *bound.args, **bound.kwargs)
    if target.is_async:
        return await function()
    value = await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
    return await value if inspect.isawaitable(value) else value


def _has_media(declared: Any) -> bool:
    """Return whether a result is a file for models, or a list, tuple or union with a file."""
    if get_origin(declared) in (list, tuple, Sequence, Union, UnionType, Annotated):
        return any(map(_has_media, get_args(declared)))
    return isinstance(declared, type) and issubclass(declared, Media)


def _make_content(value: Any) -> Any:
    """Return a result with files as MCP content parts."""
    from mcp import types

    match value:
        case list() | tuple() if any(isinstance(each, Media) for each in value):
            return [_make_content(each) for each in value]
        case Media(url=url) if url:
            return types.ResourceLink(type="resource_link", uri=url, name=url)
        case Image():
            return types.ImageContent(type="image", data=value.base64, mime_type=value.media_type)
        case Audio():
            return types.AudioContent(type="audio", data=value.base64, mime_type=value.media_type)
        case Media():
            uri, kind = f"urn:sha256:{value.digest}", value.media_type
            held = types.BlobResourceContents(uri=uri, blob=value.base64, mime_type=kind)
            return types.EmbeddedResource(type="resource", resource=held)
    return value


def _find_name(budget: Budget, server: str) -> str:
    """Return the name of all clients' accounts: the given name, otherwise the server's."""
    return (server if budget.name == Budget().name else budget.name)[:80]


def find_client(context: Context) -> str:
    """Return a name for a client, from its token, otherwise its address; `stdio` for a pipe."""
    token = (context.headers or {}).get("authorization")
    request = context.request_context.request
    address = getattr(getattr(request, "client", None), "host", None)
    if token is None and address is None:
        return "stdio"
    return hashlib.sha256((token or str(address)).encode()).hexdigest()[:12]

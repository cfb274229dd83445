"""Compiled functions as the tools of an MCP server.

    make_mcp_server([load_target("mail.njpy:route")], budgets=())     an `MCPServer` of the SDK with the tool `route`

A tool has the parameters, the result and the docstring of its function; pydantic converts the arguments. Synchronous functions run
in threads. While a function runs, its client gets a progress message for each answer of a model. A cancelled asynchronous
function is cancelled; a synchronous one ends at its next question to a model. Each client has separate budgets.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from njc.target import TargetFunction
from njrt.errors import ConfigurationError, NotAskedError
from njrt.messages import Reply, Request
from njrt.models.model import Model
from njrt.observability.accounts import Watch, watch
from njrt.production.budgets.budget import Budget
from njrt.session.settings import using, wrapping

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

PROGRESS_SECONDS = 0.25
"""How often the calls of models are looked at."""


@dataclass(frozen=True, slots=True)
class _Stoppable:
    """A model that is not asked any more after a client has cancelled its call."""

    model: Model
    stopped: threading.Event

    @property
    def protocol(self) -> Any:
        return self.model.protocol

    @property
    def name(self) -> str:
        return self.model.name

    def ask(self, request: Request) -> Reply:
        self._check()
        return self.model.ask(request)

    async def aask(self, request: Request) -> Reply:
        self._check()
        return await self.model.aask(request)

    def _check(self) -> None:
        if self.stopped.is_set():
            raise NotAskedError("the client has cancelled the call")


def make_mcp_server(
    targets: Sequence[TargetFunction], name: str, budgets: Sequence[Budget]
) -> MCPServer:
    """Return a server of these functions, with budgets for each client; raises ConfigurationError."""
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import InvalidSignature
    from pydantic import PydanticUserError

    from njc import __version__

    server = MCPServer(name, version=__version__, log_level="WARNING")
    names = [target.name.rpartition(":")[2].replace(".", "_") for target in targets]
    for target, tool in zip(targets, names, strict=True):
        if names.count(tool) > 1:
            raise ConfigurationError(f"two functions have the name `{tool}`; serve them apart")
        try:
            server.add_tool(make_tool(target, budgets), name=tool)
        except (InvalidSignature, PydanticUserError, TypeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise ConfigurationError(f"`{target.name}` cannot be a tool: {first}") from None
    return server


def make_tool(target: TargetFunction, budgets: Sequence[Budget]) -> Callable[..., Any]:
    """Return the function that a server calls: with the context of the call as one more parameter."""
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import PydanticUserError, TypeAdapter

    @functools.wraps(target.function)
    async def call(**arguments: Any) -> Any:
        context: Context = arguments.pop(_CONTEXT)
        owned = [replace(each, name=f"mcp-{find_client(context)}") for each in budgets]
        stopped = threading.Event()
        try:
            stoppable = wrapping(lambda model: _Stoppable(model, stopped))
            with using(budget=owned or None), stoppable, watch() as accounts:
                value = await _run(target, arguments, context, accounts)
                with suppress(PydanticUserError):  # the SDK has no schema for it, either
                    TypeAdapter(target.annotations.get("return", Any)).validate_python(value)
                return value
        except asyncio.CancelledError:
            raise
        except (Exception, SystemExit) as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error
        finally:
            stopped.set()

    parameters = [
        each.replace(
            annotation=target.annotations.get(each.name, Any),
            kind=inspect.Parameter.KEYWORD_ONLY,
        )
        for each in target.parameters.values()
    ]
    _check_parameters(target)
    added = inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    result = target.annotations.get("return", inspect.Signature.empty)
    signature = inspect.Signature([*parameters, added], return_annotation=result)
    vars(call)["__signature__"] = signature
    call.__annotations__ = {each.name: each.annotation for each in [*parameters, added]}
    if result is not inspect.Signature.empty:
        call.__annotations__["return"] = result
    del call.__wrapped__
    return call


_CONTEXT = "mcp_context"


def _check_parameters(target: TargetFunction) -> None:
    """Raise ConfigurationError for parameters that no caller can name."""
    unnamed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    for each in target.parameters.values():
        if each.kind in unnamed:
            raise ConfigurationError(
                f"`{target.name}` cannot be a tool: it has the parameter {each}"
            )


async def _run(
    target: TargetFunction, arguments: dict[str, Any], context: Context, accounts: Watch
) -> Any:
    """Run the function, and report each answer of a model."""
    positional = [
        arguments.pop(each.name)
        for each in target.parameters.values()
        if each.kind is inspect.Parameter.POSITIONAL_ONLY and each.name in arguments
    ]
    function = functools.partial(target.function, *positional, **arguments)
    reporting = asyncio.create_task(_report(context, accounts))
    try:
        if target.is_async:
            return await function()
        return await asyncio.to_thread(function)
    finally:
        reporting.cancel()
        with suppress(asyncio.CancelledError):
            await reporting


async def _report(context: Context, accounts: Watch) -> None:
    """Send a progress message whenever models have answered."""
    sent = 0
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        calls = accounts.totals.calls
        if calls > sent:
            sent = calls
            await context.report_progress(calls, None, f"{calls} answers of models")


def find_client(context: Context) -> str:
    """Return a name for the client of a call: of its token, else of its address; the one of a pipe is `stdio`."""
    token = (context.headers or {}).get("authorization")
    request = context.request_context.request
    address = getattr(getattr(request, "client", None), "host", None)
    if token is None and address is None:
        return "stdio"
    return hashlib.sha256((token or str(address)).encode()).hexdigest()[:12]

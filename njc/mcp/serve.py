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
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from njc.target import TargetFunction
from njrt.errors import ConfigurationError, NotAskedError
from njrt.execution.tracebacks import format_error
from njrt.messages import Reply, Request
from njrt.models.model import Ask, LayeredModel
from njrt.models.response import escape_surrogates
from njrt.observability.accounts import Watch, watch
from njrt.options.budget import Budget
from njrt.session.settings import using, wrapping

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

PROGRESS_SECONDS = 0.25
"""How often the calls of models are looked at."""


@dataclass(frozen=True, slots=True)
class _Stop:
    """A layer of a model that is not asked any more after a client has cancelled its call."""

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
    """Return a server of these functions, with budgets for each client; raises ConfigurationError.

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
            tool = Tool.from_function(make_tool(target, budgets), name=name_of_tool)
            arguments = tool.fn_metadata.arg_model  # of the SDK, which ignores unknown arguments
            arguments.model_config["extra"] = "forbid"
            arguments.model_rebuild(force=True)
            tools.append(tool)
        except (InvalidSignature, PydanticUserError, TypeError, ValueError) as error:
            first = str(error).splitlines()[0]
            raise ConfigurationError(f"`{target.name}` cannot be a tool: {first}") from None
        tool.parameters["additionalProperties"] = False
    return MCPServer(name, version=__version__, log_level="WARNING", tools=tools, lifespan=lifespan)


def make_tool(target: TargetFunction, budgets: Sequence[Budget]) -> Callable[..., Any]:
    """Return the function that a server calls: with the context of the call as one more parameter."""
    from mcp.server.mcpserver import Context
    from pydantic import PydanticUserError, TypeAdapter
    from pydantic_core import to_json

    @functools.wraps(target.function)
    async def call(**arguments: Any) -> Any:
        context: Context = arguments.pop(_CONTEXT)
        owned = [replace(each, name=f"mcp-{find_client(context)}") for each in budgets]
        stopped = threading.Event()
        try:
            stoppable = wrapping(lambda model: LayeredModel(model, (_Stop(stopped),)))
            with _translated(), using(budget=owned or None), stoppable, watch() as accounts:
                value = await _run(target, arguments, context, accounts)
                with suppress(PydanticUserError):  # the SDK has no schema for it, either
                    TypeAdapter(target.annotations.get("return", Any)).validate_python(value)
                to_json(value, fallback=str)  # what cannot be sent would end the server
                return value
        finally:
            stopped.set()

    parameters: list[inspect.Parameter] = []
    for each in target.parameters.values():
        if each.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise ConfigurationError(
                f"`{target.name}` cannot be a tool: it has the parameter {each}"
            )
        annotation = target.annotations.get(each.name, Any)
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(each.replace(annotation=annotation, kind=kind))
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


async def _run(
    target: TargetFunction, arguments: dict[str, Any], context: Context, accounts: Watch
) -> Any:
    """Run the function, and report each answer of a model."""
    positional = [
        arguments.pop(each.name)
        for each in target.parameters.values()
        if each.kind is inspect.Parameter.POSITIONAL_ONLY and each.name in arguments
    ]

    def run() -> Any:
        with _translated():  # a thread cannot hand on a StopIteration
            return target.function(*positional, **arguments)

    reporting = asyncio.create_task(_report(context, accounts))
    try:
        value = run() if target.is_async else await asyncio.to_thread(run)
        return await value if inspect.isawaitable(value) else value
    finally:
        reporting.cancel()
        with suppress(asyncio.CancelledError):
            await reporting


@contextmanager
def _translated() -> Iterator[None]:
    """Raise the error of a tool for any exception but a cancellation of this task."""
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
    with suppress(RuntimeError):  # of a thread without a loop
        return bool((task := asyncio.current_task()) and task.cancelling())
    return False


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

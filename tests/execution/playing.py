"""Plays the model's part: runs snippets in a scope as the compiled program's `run` would.

def f(x):
    y: int
    play(lambda: (x, y), "y = x * 2", writes="y")
    return y
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from typing import Any

import njrt
from njrt.data.outcome import Broke, Completed, Continued, Raised, Returned
from njrt.execution.execute import Snippet, aexecute, execute, prepare
from njrt.execution.results import Execution, Failed, Jumped, Ran
from njrt.execution.scope.names import DeclaredNames
from njrt.execution.scope.opening import open_scope
from njrt.execution.scope.scope import Scope
from njrt.testing import run


class Refused(Exception):
    """A snippet was refused; the message is the model's."""


class FailedCode(Exception):
    """A snippet failed; the message is the model's."""


def ready(source: str, scope: Scope, labels: str = "", **options: Any) -> Snippet:
    """Prepare a snippet that must be legal."""
    snippet = prepare(source, scope, labels=tuple(labels.split()), **options)
    if not isinstance(snippet, Snippet):
        raise Refused(snippet.message)
    return snippet


def open_case(
    variables: Callable[[], tuple[Any, ...]], *, types: Any = None, ns: Any = None, **names: Any
) -> Scope:
    """Make the scope of a block with these names."""
    return open_scope(DeclaredNames("case.njpy:1", **names), variables, types, ns)


def play(
    variables: Callable[[], tuple[Any, ...]],
    *sources: str,
    labels: str = "",
    seconds: float | None = None,
    **arguments: Any,
) -> Any:
    """Run snippets one after the other and jump as they say; gives the last one's value."""
    value = None
    with closing(open_case(variables, **arguments)) as scope:
        for source in sources:
            value = concluded(execute(ready(source, scope, labels), seconds=seconds))
    return value


async def aplay(
    variables: Callable[[], tuple[Any, ...]],
    *sources: str,
    labels: str = "",
    seconds: float | None = None,
    **arguments: Any,
) -> Any:
    """Like `play`, in an async function."""
    value = None
    with closing(open_case(variables, **arguments)) as scope:
        for source in sources:
            snippet = ready(source, scope, labels, is_async=True)
            value = concluded(await aexecute(snippet, seconds=seconds))
    return value


def concluded(execution: Execution) -> Any:
    """Return the value of an execution, or its jump as an exception."""
    match execution:
        case Ran(value):
            return value
        case Failed(message):
            raise FailedCode(message)
        case Jumped(Broke()):
            raise njrt.Break
        case Jumped(Continued()):
            raise njrt.Continue
        case Jumped(Returned(value)):
            raise njrt.Return(value)
        case Jumped(Raised(exception)):
            raise exception
        case Jumped(Completed()):
            return None
    raise AssertionError(execution)


def message_of(
    source: str, variables: Callable[[], tuple[Any, ...]] = lambda: (), **more: Any
) -> str:
    """What the model is told about a snippet that is refused or fails; empty if it runs."""
    try:
        play(variables, source, **more)
    except (Refused, FailedCode) as error:
        return str(error)
    return ""


def carry_out(
    code: str, policy: str = "guarded", *, then: str = "pass", is_async: bool = False, **named: Any
) -> str:
    """Run a block whose prompt names these objects, and whose model writes `code`.

    Return what it is told if that is refused, and then writes `then`; empty otherwise.
    """
    model = njrt.Scripted([run(code, done=True), run(then, done=True)])
    names = ", ".join(named)
    variables = eval(f"lambda {names}: lambda: ({names},)")(**named)
    prompt = f"natural\nUse {', '.join(f'<{name}>' for name in named)}."
    with njrt.using(model=model):
        if is_async:
            asyncio.run(njrt.arun(prompt, variables, at="shop.njpy:1", policy=policy))
        else:
            njrt.run(prompt, variables, at="shop.njpy:1", policy=policy)
    return "".join(str(request.messages[-1]) for request in model.requests[1:])

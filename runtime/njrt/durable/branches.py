"""Branches of a workflow that run at the same time, each with separate step numbers.

    await durable.gather(check(a), check(b), check(c))        in async workflows
    durable.map(check, [a, b, c])                             in others: one thread for each

    steps of the workflow 1 2; of the branches 4 10 16 ... and 6 12 18 ... and 8 14 20 ...

DBOS counts steps as they start, in an order that differs between runs if branches interleave. So branch i of n takes
every n-th number. Branches may branch again.
"""

from __future__ import annotations

import asyncio
import builtins
import contextvars
import functools
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, TypeVar

from njrt.durable.calls import BlockSteps
from njrt.durable.effects import find_steps
from njrt.errors import ConfigurationError
from njrt.session.settings import open_steps

T = TypeVar("T")
R = TypeVar("R")

MAX_STEP = 2**31 - 1
"""The greatest step number that Postgres stores."""


async def gather(*coroutines: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run coroutines at the same time, each as a branch of the workflow; return their results in order.

    All run to their end; then the exception of the first that failed is raised. Outside workflows it does the same.
    """
    if not all(builtins.map(asyncio.iscoroutine, coroutines)):
        raise ConfigurationError(
            "durable.gather needs coroutines that have not begun, such as check(order), not tasks"
        )
    with branches(len(coroutines)) as contexts:
        tasks = [
            asyncio.create_task(_run_branch(coroutine), context=context)
            for coroutine, context in zip(coroutines, contexts, strict=True)
        ]
        results = await asyncio.gather(*tasks, return_exceptions=True)
    return raise_first(results)


def map(function: Callable[[T], R], items: Iterable[T], *, threads: int = 8) -> list[R]:
    """Call a function with each item, in up to `threads` threads, each call a branch; return the results in order.

    All calls run to their end; then the exception of the first that failed is raised. Outside workflows it does the
    same. An async function is refused with a `ConfigurationError`.
    """
    if type(threads) is not int or threads < 1:
        raise ConfigurationError(f"durable.map: threads must be a number from 1, not {threads!r}")

    def call(context: contextvars.Context, item: T) -> R | BaseException:
        try:
            return context.run(_call_branch, function, item)
        except BaseException as error:
            return error

    listed = list(items)
    with branches(len(listed)) as contexts, ThreadPoolExecutor(max_workers=threads) as pool:
        results = list(pool.map(call, contexts, listed))
    return raise_first(results)


def raise_first(results: Sequence[Any]) -> list[Any]:
    """Return the results, or raise the first exception among them, preferring one that ends the program."""
    failures = [result for result in results if isinstance(result, BaseException)]
    for failure in sorted(failures, key=lambda error: isinstance(error, Exception)):
        raise failure
    return list(results)


@contextmanager
def branches(count: int) -> Iterator[list[contextvars.Context]]:
    """Yield a context for each of `count` branches; afterwards, the workflow continues after their last steps."""
    steps = find_steps()
    if steps is None or not count:
        yield [contextvars.copy_context() for _ in range(count)]
        return
    from dbos._context import _set_local_dbos_context, get_local_dbos_context

    around: Any = get_local_dbos_context()
    first, unit = around.function_id, getattr(around, "unit", 2)
    make = functools.partial(get_branch_class(), around, unit=unit * count)
    made = [make(last=first + unit * (1 + index - count)) for index in range(count)]
    contexts = [contextvars.copy_context() for _ in made]
    for context, branch in zip(contexts, made, strict=True):
        context.run(_set_local_dbos_context, branch)

    def skip_used_steps() -> None:
        used = max(branch.function_id for branch in made)
        taken = max(0, -(-(used - first) // unit))
        around.function_id += taken if hasattr(around, "unit") else unit * taken + 1

    try:
        with steps.under_way("a gather or map of njrt.durable"):
            yield contexts
    except BaseException:  # such as a cancellation: its branches' steps have used their numbers
        with suppress(ConfigurationError):
            skip_used_steps()
        raise
    skip_used_steps()


def own_steps() -> AbstractContextManager[None]:
    """Let steps inside the `with` run beside the steps of the workflow's other branches."""
    return nullcontext() if find_steps() is None else open_steps(BlockSteps())


async def _run_branch(coroutine: Coroutine[Any, Any, T]) -> T | SystemExit:
    with own_steps():
        try:
            return await coroutine
        except SystemExit as exit:
            return exit  # raised in a task, it would end the event loop


def _call_branch(function: Callable[[T], R], item: T) -> R:
    with own_steps():
        result = function(item)
    if asyncio.iscoroutine(result):
        result.close()
        raise ConfigurationError(
            "durable.map calls plain functions; run an async one with durable.gather"
        )
    return result


@functools.cache
def get_branch_class() -> Any:
    """Return the class of a branch's context: DBOS's class, with different step numbers."""
    from dbos._context import DBOSContext

    class BranchContext(DBOSContext):
        """A copy of the workflow's context that counts in multiples of `unit` (state: the last step's number)."""

        def __init__(self, around: DBOSContext, last: int, unit: int) -> None:
            vars(self).update(vars(around))
            self.last, self.unit = last, unit

        @property
        def function_id(self) -> int:
            return self.last

        @function_id.setter
        def function_id(self, number: int) -> None:
            self.last += (number - self.last) * self.unit
            if self.last >= MAX_STEP:
                raise ConfigurationError("the workflow has too many steps; use fewer branches")

    return BranchContext

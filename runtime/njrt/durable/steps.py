"""The steps of a workflow: each is done once, in the order of the program.

    steps = WorkflowSteps()
    steps.run("model call mail.njpy:3", ask)       calls `ask`; after a crash, gives what was stored

A step is stored when its function has returned. DBOS finds a stored step by its number: the first step of the workflow is 1, the
next one 2. So steps must come in the same order each time, and two of them may not be under way at once, unless
`njrt.durable.branches` has given each branch numbers of its own. What a step stores begins with a digest of what it is for, so that
a program that takes another way than before the crash gets an error, never the wrong reply.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from njrt.errors import ConfigurationError, RecordingMismatchError
from njrt.packages import require_packages
from njrt.session.settings import get_settings
from njrt.values.failures import failure_from_json


class WorkflowSteps:
    """The steps of one workflow, or of one branch of it (state: the step that is under way)."""

    def __init__(self) -> None:
        self._running: str | None = None

    def run(self, name: str, function: Callable[[], str]) -> str:
        """Return what the function gives, or has given before a crash."""
        if not self.must_store(name):
            return function()
        from dbos import DBOS

        check_no_event_loop(name)
        with self.under_way(name):
            return DBOS.run_step({"name": name}, function)

    async def arun(self, name: str, function: Callable[[], Awaitable[str]]) -> str:
        """Return the same in async workflows."""
        if not self.must_store(name):
            return await function()
        from dbos import DBOS

        async def call() -> str:
            return await function()

        with self.under_way(name):
            return await DBOS.run_step_async({"name": name}, call)

    def must_store(self, name: str) -> bool:
        """Return whether this point is in the workflow and outside of its steps; an error in a thread that is not of the workflow."""
        dbos = get_dbos()
        if dbos is None or dbos.workflow_id is None:
            raise ConfigurationError(
                f"{name} is in a thread that the workflow has started itself, so that it would be lost in a crash; "
                "start threads with durable.map"
            )
        return dbos.step_id is None

    @contextmanager
    def under_way(self, name: str) -> Iterator[None]:
        """Refuse steps that begin inside the `with`."""
        if self._running is not None:
            raise ConfigurationError(
                f"{name} begins while {self._running} is under way in the same workflow; which is first may differ after a "
                "crash. Run them one after the other, or with durable.gather or durable.map"
            )
        self._running = name
        try:
            with mismatches_explained(name):
                yield
        finally:
            self._running = None


class DurableInterceptor:
    """An interceptor that makes steps of its own, so that its decision is not one."""


def find_steps() -> WorkflowSteps | None:
    """Return the steps of the workflow around this point; None outside of workflows and inside of steps."""
    steps = get_settings().steps
    if isinstance(steps, WorkflowSteps):
        return steps if steps.must_store("an effect") else None
    dbos = get_dbos()
    in_workflow = dbos and dbos.workflow_id is not None and dbos.step_id is None
    return WorkflowSteps() if in_workflow else None


def get_dbos() -> Any:
    """DBOS's class if the package is in use, else None."""
    package = sys.modules.get("dbos")
    return package and cast(Any, package).DBOS


@contextmanager
def mismatches_explained(name: str) -> Iterator[None]:
    """Raise `RecordingMismatchError` where DBOS finds a step of another name."""
    from dbos import error as dbos_errors

    try:
        yield
    except dbos_errors.DBOSUnexpectedStepError as error:
        raise make_mismatch(name) from error


def check_digest(stored: str, now: str, what: str) -> None:
    """Raise `RecordingMismatchError` if a stored step belongs to something else."""
    if stored != now:
        raise make_mismatch(what)


def make_mismatch(what: str) -> RecordingMismatchError:
    """Return the error for a step that is not the stored one."""
    dbos = get_dbos()
    return RecordingMismatchError(
        f"{what} differs from what the workflow {dbos and dbos.workflow_id} did at this point before it was interrupted. Either the "
        "program has changed: finish the workflow with the program that began it. Or it does not do the same each time: make "
        "what is not the same a step (DBOS.step), and run blocks that run at the same time with durable.gather or durable.map"
    )


def read_step(text: str, key: str, what: str) -> dict[str, Any]:
    """Return what a step has stored for `key`; raises the failure that it has stored."""
    stored: dict[str, Any] = json.loads(text)
    check_digest(stored["key"], key, what)
    if failure := stored.get("failure"):
        raise failure_from_json(failure)
    return stored


def check_no_event_loop(name: str) -> None:
    """Raise `ConfigurationError` in a plain function that an async workflow has called."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigurationError(
        f"{name}: this is in a plain function that an async workflow calls; make the function async"
    )


def check_installed() -> None:
    """Raise `ConfigurationError` if DBOS is not installed."""
    require_packages("njrt.durable", "njpy-runtime[durable]", "dbos")

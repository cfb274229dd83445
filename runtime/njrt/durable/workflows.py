"""DBOS workflows whose natural blocks survive a crash.

    launch("sqlite:///workflows.sqlite3")        DBOS.launch: interrupted workflows go on
    @workflow                                    DBOS.workflow; what blocks do inside is steps
    with workflow_id("order-17"): ...            the same id is the same workflow: it runs once

Arguments and results of workflows are stored as JSON, never as pickles.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from njrt.durable.calls import BlockSteps
from njrt.durable.effects import (
    VersionWarning,
    check_installed,
    check_version,
    find_other_versions,
    find_version,
    get_dbos,
    normalize_argument,
    normalize_result,
    note_function,
)
from njrt.durable.executor_lock import hold_executor, release_executor
from njrt.errors import ConfigurationError
from njrt.models.model import run_without_waiting
from njrt.session.settings import open_steps
from njrt.values.failures import failure_from_json, failure_to_json

if TYPE_CHECKING:
    from dbos import DBOSConfig

P = ParamSpec("P")
R = TypeVar("R")

_given_id: ContextVar[str | None] = ContextVar("njrt.durable.workflows", default=None)

RECOVERY_ATTEMPTS = 1000
"""How often DBOS takes up a workflow after crashes before it gives it up."""


def workflow(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function, also an async one, a DBOS workflow whose natural blocks survive a crash.

    Its arguments, its result and those of workflows in it are as JSON gives them, in the first run too. A workflow that is taken up
    after a crash does not see a `with njrt.using(...)` around its call: open it inside. An exception that ends it
    is raised by later calls with its id too, and in the workflow that called it.
    """
    check_installed()
    from dbos import DBOS, WorkflowSerializationFormat

    name = function.__qualname__
    note_function(function)
    make_workflow = DBOS.workflow(
        name=name,
        max_recovery_attempts=RECOVERY_ATTEMPTS,
        serialization_type=WorkflowSerializationFormat.PORTABLE,
    )

    is_async = inspect.iscoroutinefunction(function)

    async def perform(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        arguments, keywords = normalize_arguments(name, arguments, keywords)
        with open_steps(BlockSteps()), stored_failures():
            result: Any = function(*arguments, **keywords)
            result = await result if is_async else result
            return normalize_result(result, f"the result of {name}")

    async def start(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        arguments, keywords = normalize_arguments(name, arguments, keywords)
        if identity := get_given_id():
            check_version(
                await DBOS.get_workflow_status_async(identity)
                if is_async
                else DBOS.get_workflow_status(identity)
            )
        with read_failures():
            result = made(*arguments, **keywords)
            return await result if is_async else result

    made: Any = make_workflow(make_plain(perform, function, is_async))
    return cast(Callable[P, R], make_plain(start, made, is_async))


def make_plain(
    run: Callable[[tuple[Any, ...], dict[str, Any]], Coroutine[Any, Any, Any]],
    like: Callable[..., Any],
    is_async: bool,
) -> Callable[..., Any]:
    """Return a function with the name and the signature of another one, a coroutine function if it `is_async`."""
    if is_async:

        @functools.wraps(like)
        async def acall(*arguments: Any, **keywords: Any) -> Any:
            return await run(arguments, keywords)

        return acall

    @functools.wraps(like)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return run_without_waiting(run(arguments, keywords))

    return call


def normalize_arguments(
    name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as they are after a crash."""
    what = f"an argument of {name}"
    return (
        tuple(normalize_argument(value, what) for value in arguments),
        {key: normalize_argument(value, what) for key, value in keywords.items()},
    )


@contextmanager
def stored_failures() -> Iterator[None]:
    """Raise an exception of a workflow so that DBOS stores all of it."""
    from dbos import PortableWorkflowError

    try:
        yield
    except PortableWorkflowError:
        raise
    except Exception as error:
        data: Any = {"failure": failure_to_json(error)}
        raise PortableWorkflowError(str(error), type(error).__name__, None, data) from error


@contextmanager
def read_failures() -> Iterator[None]:
    """Raise the exception of a workflow that DBOS has stored."""
    from dbos import PortableWorkflowError

    try:
        yield
    except PortableWorkflowError as error:
        data: Any = error.data
        if not isinstance(data, dict) or "failure" not in data:
            raise
        raise failure_from_json(data["failure"]) from error.__cause__


def launch(url: str, *, name: str = "njc", version: str | None = None, **options: Any) -> None:
    """Start DBOS on a database (`sqlite:///FILE` or `postgresql://...`) and take up interrupted workflows.

    Call it once, after all modules are imported. Only workflows of the same `version` are taken up; by default it is a digest of
    the program (`njrt.durable.effects`), and a `VersionWarning` names the others. Other `options` are those of
    `dbos.DBOSConfig`; processes that run at the same time need an `executor_id` each, which is the same after a restart.
    Raises ConfigurationError if another process has that of this one.
    """
    check_installed()
    from dbos import DBOS, DBOSPortableJSONSerializer

    version = find_version() if version is None else version
    config: DBOSConfig = {
        "name": name,
        "system_database_url": url,
        "application_version": version,
        "log_level": "ERROR",
        "serializer": DBOSPortableJSONSerializer(),
        **options,  # type: ignore[typeddict-item]
    }
    DBOS(config=config)
    try:
        is_held = hold_executor(url, DBOS.executor_id)
    except ConfigurationError:
        DBOS.destroy()
        raise
    DBOS.launch()
    if not is_held:  # the database was not there yet
        hold_executor(url, DBOS.executor_id)
    for workflow_id, other in find_other_versions(version).items():
        message = (
            f"version {version} does not take up the workflow {workflow_id} of version {other}"
        )
        warnings.warn(message, VersionWarning, stacklevel=2)


def take_over(executor_id: str) -> None:
    """Take up the interrupted workflows of a process that will not come back: one of another machine, say.

    Should it still run, then it stops at its next step; an effect that it is doing is in doubt.
    """
    from dbos import DBOS

    DBOS._recover_pending_workflows([executor_id])


def shut_down() -> None:
    """Stop DBOS in this process; interrupted workflows go on at the next `launch`."""
    from dbos import DBOS

    DBOS.destroy()
    release_executor()


@contextmanager
def workflow_id(name: str) -> Iterator[None]:
    """Give the workflow that is called inside an id; a second call with it gives the result of the first."""
    check_installed()
    from dbos import SetWorkflowID

    token = _given_id.set(name)
    try:
        with SetWorkflowID(name):
            yield
    finally:
        _given_id.reset(token)


def get_given_id() -> str | None:
    """Return the id that `workflow_id` gives here; None inside of workflows."""
    dbos = get_dbos()
    return _given_id.get() if dbos.workflow_id is None else None

"""DBOS workflows whose natural blocks survive a crash.

    launch("sqlite:///workflows.sqlite3")        DBOS.launch: interrupted workflows go on
    @workflow                                    DBOS.workflow; what blocks do inside is steps
    with workflow_id("order-17"): ...            the same id is the same workflow: it runs once

Arguments and results of workflows are stored as JSON, never as pickles.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from njrt.decisions import Interceptor
from njrt.errors import ConfigurationError
from njrt.models.model import Model
from njrt.session.settings import open_steps

if TYPE_CHECKING:
    from dbos import DBOSConfig

P = ParamSpec("P")
R = TypeVar("R")

RECOVERY_ATTEMPTS = 1000
"""How often DBOS takes up a workflow after crashes before it gives it up."""


class WorkflowSteps:
    """What makes model calls and decisions steps of the workflow around them."""

    def wrap_model(self, model: Model) -> Model:
        """The model whose calls are steps; as it is within a step, which is stored as a whole."""
        from njrt.durable.effects import get_dbos_in_workflow
        from njrt.durable.steps import DurableModel

        return DurableModel(model) if get_dbos_in_workflow() else model

    def wrap_interceptor(self, decide: Interceptor, name: str) -> Interceptor:
        """The function of an interceptor whose decisions are steps."""
        from njrt.durable.effects import get_dbos_in_workflow
        from njrt.durable.steps import make_durable_decide

        return make_durable_decide(decide, name) if get_dbos_in_workflow() else decide


STEPS = WorkflowSteps()


def workflow(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function, also an async one, a DBOS workflow whose natural blocks survive a crash.

    A workflow that is taken up after a crash does not see a `with njrt.using(...)` around its call: open it inside.
    """
    check_installed()
    from dbos import DBOS, WorkflowSerializationFormat

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run(*arguments: Any, **keywords: Any) -> Any:
            with open_steps(STEPS):
                return await function(*arguments, **keywords)
    else:

        @functools.wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            with open_steps(STEPS):
                return function(*arguments, **keywords)

    make_workflow = DBOS.workflow(
        name=function.__qualname__,
        max_recovery_attempts=RECOVERY_ATTEMPTS,
        serialization_type=WorkflowSerializationFormat.PORTABLE,
    )
    wrapped: Any = run
    made: Callable[P, R] = make_workflow(wrapped)
    return made


def launch(url: str, *, name: str = "njc", version: str = "1", **options: Any) -> None:
    """Start DBOS on a database (`sqlite:///FILE` or `postgresql://...`) and take up interrupted workflows.

    Call it once, after all workflows are defined. Workflows of another `version` are not taken up: change it where a
    workflow's steps change. Other `options` are those of `dbos.DBOSConfig`, such as `executor_id`.
    """
    check_installed()
    from dbos import DBOS, DBOSPortableJSONSerializer

    config: DBOSConfig = {
        "name": name,
        "system_database_url": url,
        "application_version": version,
        "log_level": "ERROR",
        "serializer": DBOSPortableJSONSerializer(),
        **options,  # type: ignore[typeddict-item]
    }
    DBOS(config=config)
    DBOS.launch()


def shut_down() -> None:
    """Stop DBOS in this process; interrupted workflows go on at the next `launch`."""
    from dbos import DBOS

    DBOS.destroy()


@contextmanager
def workflow_id(name: str) -> Iterator[None]:
    """Give the workflow that is called inside an id; a second call with it gives the result of the first."""
    check_installed()
    from dbos import SetWorkflowID

    with SetWorkflowID(name):
        yield


def check_installed() -> None:
    """Raise `ConfigurationError` if DBOS is not installed."""
    if find_spec("dbos") is None:
        raise ConfigurationError(
            'njrt.durable needs the package `dbos`; install it with: pip install "njpy-runtime[durable]"'
        )

"""DBOS workflows with natural blocks that survive a crash.

    launch("sqlite:///workflows.sqlite3")        DBOS.launch: interrupted workflows continue
    @workflow                                    DBOS.workflow; model calls and decisions inside are steps
    with workflow_id("order-17"): ...            the same id is the same workflow, which runs once

Arguments and results of workflows are stored as JSON, never as pickles.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import sqlite3
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast
from weakref import WeakKeyDictionary

from njrt.durable.calls import BlockSteps
from njrt.durable.effects import (
    VersionWarning,
    WorkflowInterruption,
    call_in_thread,
    check_installed,
    check_version,
    describe_database_error,
    explaining_database,
    find_other_versions,
    find_version,
    make_plain,
    normalize,
    note_function,
)
from njrt.errors import ConfigurationError, StoreError
from njrt.private_files import open_private
from njrt.session.settings import open_steps
from njrt.values.failures import failure_from_json, failure_to_json, write_text

if TYPE_CHECKING:
    from dbos import DBOSConfig
    from sqlalchemy.engine import URL

P = ParamSpec("P")
R = TypeVar("R")

_given_id: ContextVar[str | None] = ContextVar("njrt.durable.workflows", default=None)

_interrupted: set[str | None] = set()
"""The ids of workflows that were interrupted in this process."""

_urls: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""The databases of the DBOS instances."""

RECOVERY_ATTEMPTS = 1000
"""How often DBOS resumes a workflow after crashes."""


def workflow(function: Callable[P, R]) -> Callable[P, R]:
    """Make a function, also an async one, a DBOS workflow with natural blocks that survive a crash.

    Arguments and results, also of workflows in it, pass through JSON, in the first run too. A workflow that is
    resumed after a crash does not see a `with njrt.using(...)` around its call: open it inside. An exception that
    ends it, also `SystemExit`, is raised by later calls with its id too, and in the workflow that called it. Others,
    such as `KeyboardInterrupt`, interrupt it like a crash; the next launch or call with its id continues it.
    """
    check_installed()
    from dbos import DBOS, SetWorkflowID, WorkflowSerializationFormat

    note_function(function, "workflow")
    name = function.__qualname__
    make_workflow = DBOS.workflow(
        name=name,
        max_recovery_attempts=RECOVERY_ATTEMPTS,
        serialization_type=WorkflowSerializationFormat.PORTABLE,
    )
    is_async = inspect.iscoroutinefunction(function)

    async def perform(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        arguments, keywords = normalize_arguments(function, arguments, keywords)
        with open_steps(BlockSteps()), stored_failures():
            result: Any = function(*arguments, **keywords)
            result = await result if is_async else result
            return normalize(result, f"the result of {name}", is_utf8=True)

    async def start(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        arguments, keywords = normalize_arguments(function, arguments, keywords)
        # The id does not apply to workflows that are called inside another one.
        identity = _given_id.get() if DBOS.workflow_id is None else None
        if identity:
            read = DBOS.get_workflow_status_async if is_async else DBOS.get_workflow_status
            status: Any = read(identity)
            check_version(await status if is_async else status)
            if identity in _interrupted:
                _interrupted.discard(identity)
                call_in_thread(DBOS.resume_workflow, identity)
        # DBOS uses an id for only one call; a further call returns the result of the first.
        with read_failures(identity), SetWorkflowID(identity) if identity else nullcontext():
            result = made(*arguments, **keywords)
            return await result if is_async else result

    made: Any = make_workflow(make_plain(perform, function, is_async))
    return cast(Callable[P, R], make_plain(start, made, is_async))


def normalize_arguments(
    function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments as they are after a crash; DBOS makes texts annotated `date` or `datetime` dates."""
    from dbos._serialization import coerce_portable_args_to_hints

    keep = partial(normalize, what=f"an argument of {function.__qualname__}", is_utf8=True)
    args, kwargs = tuple(map(keep, arguments)), {key: keep(it) for key, it in keywords.items()}
    normalized = coerce_portable_args_to_hints(function, {"args": args, "kwargs": kwargs})
    return normalized["args"], normalized["kwargs"]


@contextmanager
def stored_failures() -> Iterator[None]:
    """Raise a workflow's exception in a form that DBOS stores completely."""
    from dbos import PortableWorkflowError

    try:
        yield
    except PortableWorkflowError:
        raise
    except SystemExit as error:
        code = error.code if isinstance(error.code, int | None) else write_text(error)
        raise PortableWorkflowError(str(code), "SystemExit", None, {"exit": code}) from error
    except Exception as error:
        data: Any = {"failure": json.dumps(failure_to_json(error))}  # ASCII: DBOS stores UTF-8
        raise PortableWorkflowError(write_text(error), type(error).__name__, None, data) from error


@contextmanager
def read_failures(identity: str | None) -> Iterator[None]:
    """Raise a workflow's exception from the form that DBOS stored; note if a workflow with an id is interrupted."""
    from dbos import DBOS, PortableWorkflowError
    from sqlalchemy.exc import DBAPIError

    try:
        yield
    except (KeyboardInterrupt, WorkflowInterruption, DBAPIError) as error:
        _interrupted.add(identity)
        if isinstance(error, KeyboardInterrupt):
            raise
        reason = describe_database_error(error)
        if DBOS.workflow_id is not None:  # the workflow that called it is interrupted too
            raise WorkflowInterruption(reason) from error
        raise StoreError(
            f"a workflow is interrupted, because its database cannot be used: {reason}; once this is fixed, the next launch continues it"
        ) from error
    except PortableWorkflowError as error:
        data: Any = error.data if isinstance(error.data, dict) else {}
        if "exit" in data:
            raise SystemExit(data["exit"]) from None
        if "failure" not in data:
            raise
        stored = data["failure"]  # not a text if an earlier version wrote it
        failure = json.loads(stored) if isinstance(stored, str) else stored
        raise failure_from_json(failure) from error.__cause__


def launch(url: str, *, name: str = "njc", version: str | None = None, **options: Any) -> None:
    """Start DBOS on a database (`sqlite:///FILE` or `postgresql://...`) and resume interrupted workflows.

    Call it once, after all modules are imported. Only workflows of the same `version` are resumed; by default it is
    a digest of the program (`njrt.durable.effects`), and a `VersionWarning` names the others. Other `options` are
    fields of `dbos.DBOSConfig`. Each of several simultaneous processes needs its own `executor_id`, which must stay
    the same after a restart. Raises ConfigurationError if another process has the same id.
    """
    with explaining_database(url) as place:
        from dbos import DBOS, DBOSPortableJSONSerializer

        if place.get_backend_name() == "sqlite":
            check_sqlite(sys.version_info[:2], sqlite3.sqlite_version_info)
        version = find_version() if version is None else version
        config: DBOSConfig = {
            "name": name,
            "system_database_url": url,
            "application_version": version,
            "log_level": "ERROR",
            "serializer": DBOSPortableJSONSerializer(),
            **options,  # type: ignore[typeddict-item]
        }
        opened = DBOS(config=config)
        if _urls.setdefault(opened, url) != url:
            raise ConfigurationError(
                "workflows of another database run in this process; call durable.shut_down first"
            )
        try:
            is_held = hold_executor(url, DBOS.executor_id)
            DBOS.launch()
            if not is_held:  # the database did not exist yet
                hold_executor(url, DBOS.executor_id)
        except BaseException:
            shut_down()  # otherwise the next launch would use this instance
            raise
    for workflow_id, other in find_other_versions(version).items():
        text = f"version {version} does not take up the workflow {workflow_id} of version {other}"
        warnings.warn(text, VersionWarning, stacklevel=2)


def check_sqlite(python: tuple[int, ...], sqlite: tuple[int, ...]) -> None:
    """Raise ConfigurationError if DBOS cannot write workflows' times with these versions."""
    if python >= (3, 12) and sqlite < (3, 42):
        raise ConfigurationError(
            f"on Python 3.12 and later, DBOS needs SQLite 3.42, and this is {'.'.join(map(str, sqlite))}; use a newer "
            "SQLite, or PostgreSQL: launch('postgresql://...')"
        )


def take_over(executor_id: str) -> None:
    """Resume the interrupted workflows of a process that will not come back, such as one on another machine.

    If the process still runs, it stops at its next step; an effect that it is performing is in doubt.
    """
    from dbos import DBOS

    DBOS._recover_pending_workflows([executor_id])


def shut_down() -> None:
    """Stop DBOS in this process; interrupted workflows continue with the next `launch`."""
    from dbos import DBOS

    DBOS.destroy()
    release_executor()


@contextmanager
def workflow_id(name: str) -> Iterator[None]:
    """Set the id of the workflow called inside; a second call with the same id returns the result of the first."""
    check_installed()
    from dbos import SetWorkflowID

    is_id = isinstance(name, str) and name.strip() and name == name.encode(errors="ignore").decode()
    if not is_id:
        raise ConfigurationError(f"the id of a workflow is a text, not {name!r}")
    token = _given_id.set(name)
    try:
        with SetWorkflowID(name):
            yield
    finally:
        _given_id.reset(token)


# ── one process at a time for each executor id in a database ─────────────────────────────────────

LOST_SECONDS = 30.0
"""How long to wait for a lock in Postgres: its server needs 25 seconds to notice that a machine is gone."""

_KEEPALIVE = {"tcp_keepalives_idle": 10, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3}

_releases: list[Callable[[], object]] = []
"""Functions that release this process's lock."""


def hold_executor(url: str, executor_id: str) -> bool:
    """Hold an id's lock until `release_executor` or the end of this process; return whether there is such a lock.

    A Postgres database that does not exist yet has no locks. Raises ConfigurationError if another process holds it.
    """
    from sqlalchemy.engine import make_url

    release_executor()
    place = make_url(url)
    number = int(hashlib.sha256(f"njrt.durable {executor_id}".encode()).hexdigest()[:14], 16)
    hold = _hold_in_file if place.get_backend_name() == "sqlite" else _hold_in_postgres
    try:
        release = hold(place, number)
    except BlockingIOError:
        raise ConfigurationError(
            f"another process that runs now has the executor_id `{executor_id}` in this database, so that both would "
            "run the same workflows; give each process its own id: launch(url, executor_id=...)"
        ) from None
    if release is not None:
        _releases.append(release)
    return release is not None


def release_executor() -> None:
    """Release this process's lock, if any."""
    while _releases:
        _releases.pop()()


def _hold_in_file(place: URL, number: int) -> Callable[[], object] | None:
    try:
        import fcntl
    except ImportError:
        return None
    handle = open_private(Path(f"{place.database}.lock"), os.O_RDWR)
    try:
        # Forked processes, which may outlive this one, do not inherit this lock.
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
    except OSError as error:
        os.close(handle)
        raise BlockingIOError from error
    return lambda: os.close(handle)


def _hold_in_postgres(place: URL, number: int) -> Callable[[], object] | None:
    import psycopg

    address = place.set(drivername="postgresql").render_as_string(hide_password=False)
    try:
        connection = psycopg.connect(address, autocommit=True)
    except psycopg.OperationalError:
        return None
    try:
        for name, value in (_KEEPALIVE | {"lock_timeout": int(LOST_SECONDS * 1000)}).items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, str(value)))
        connection.execute("SELECT pg_advisory_lock(%s)", (number,))
    except psycopg.errors.LockNotAvailable as error:
        connection.close()
        raise BlockingIOError from error
    return connection.close

"""Functions with effects outside the program, performed at most once in a workflow.

    @durable.effect(find=find_payment)
    def pay(account: str, cents: int) -> str:
        return bank.pay(account, cents, idempotency_key=durable.effect_key())

    step "effect pay begins"     its key, the digest of its arguments      stored before
    step "effect pay"            the result or the exception               stored after

After a crash between the two, `find(key)` asks the other system for the effect's result, None if it did not happen.
Without `find`, `EffectInDoubtError` is raised, and a person must check.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import json
import sys
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast, overload

from njrt.errors import (
    CallInDoubtError,
    ConfigurationError,
    NaturalError,
    RecordingMismatchError,
    require_packages,
)
from njrt.gates import call_key, keyed, require_awaited
from njrt.message_json import format_json_line, hash_json
from njrt.models.model import run_without_waiting
from njrt.observability.accounts import format_error_line
from njrt.records import field, record
from njrt.session.settings import get_settings
from njrt.timeouts import read_clock
from njrt.values.failures import failure_from_json, failure_to_json

if TYPE_CHECKING:
    from dbos import WorkflowStatus
    from sqlalchemy.engine import URL

P = ParamSpec("P")
R = TypeVar("R")
Find = Callable[[str], Any]


class EffectInDoubtError(CallInDoubtError):
    """The program was killed while it performed an effect, which may have happened; it is not repeated."""


@overload
def effect(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def effect(*, find: Find) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def effect(function: Any = None, /, *, find: Find | None = None) -> Any:
    """Make a function, sync or async, an effect: a workflow performs it at most once.

    The result is stored as JSON, the arguments as a digest. After a crash during the call, `find(key)` returns the
    effect's result, or None if it did not happen. Outside workflows, and in steps, the function is called directly.
    """
    make = functools.partial(_make_effect, find=find)
    return make if function is None else make(function)


def effect_key() -> str:
    """Return, inside an effect, a text that differs for each effect and stays the same after a crash; "" elsewhere.

    Pass it on as the idempotency key, or write it beside the result, so that `find` can look it up.
    """
    return call_key()


@record
class EffectCall:
    """One call of an effect in a workflow."""

    function: Callable[..., Any]
    find: Find | None
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    is_async: bool
    digest: str
    """A digest of the arguments before the call, which may change them."""
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Different in this process and in one that was killed."""

    @property
    def name(self) -> str:
        return f"effect {self.function.__name__}"

    async def begin(self) -> str:
        """Return the text to store before the effect is performed."""
        dbos = get_dbos()
        key = f"{dbos.workflow_id}/{dbos.step_id}"
        return write_step(self.digest, attempt=self.attempt, effect=key)

    async def look_up(self, begun: dict[str, Any]) -> Any:
        """Return the result of `find` if the effect was started before a crash; None if it must be performed."""
        if begun["attempt"] == self.attempt:
            return None
        started = f"the effect `{self.function.__name__}` (key {begun['effect']}) was interrupted by a crash"
        if self.find is None:
            raise EffectInDoubtError(
                f"{started}, and may have been done; it is not done again. Find out whether it was done, or give it a function `find` that does"
            )
        try:
            return await require_awaited(self.find(begun["effect"]), self.is_async)
        except Exception as error:
            raise EffectInDoubtError(
                f"{started}, and `find` failed to look whether it was done: {format_error_line(error)}; it is not done again"
            ) from error

    async def perform(self, begun: dict[str, Any]) -> str:
        """Perform the effect unless it happened; return its stored form. An async function's `find` may be async."""
        try:
            result = await self.look_up(begun)
            if result is None:
                with keyed(begun["effect"]):
                    result = self.function(*self.arguments, **self.keywords)
                    result = await result if self.is_async else result
            result = normalize(result, f"the result of the {self.name}")
            return write_step(self.digest, result=result)
        except Exception as error:  # the program has seen it, and must see it again
            return write_step(self.digest, failure=failure_to_json(error))


def _make_effect(function: Callable[..., Any], find: Find | None) -> Callable[..., Any]:
    note_function(function, "effect")
    is_async = inspect.iscoroutinefunction(function)

    async def perform(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if (steps := find_steps()) is not None:
            return await steps.call_once(function, find, arguments, keywords, is_async)
        result = function(*arguments, **keywords)
        return await result if is_async else result

    return make_plain(perform, function, is_async)


def make_plain(
    run: Callable[[tuple[Any, ...], dict[str, Any]], Coroutine[Any, Any, Any]],
    like: Callable[..., Any],
    is_async: bool,
) -> Callable[..., Any]:
    """Return a function with the name and signature of `like`; it is a coroutine function if `is_async`."""

    @functools.wraps(like)
    async def acall(*arguments: Any, **keywords: Any) -> Any:
        return await run(arguments, keywords)

    @functools.wraps(like)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return run_without_waiting(run(arguments, keywords))

    return acall if is_async else call


def hash_arguments(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    """Return a digest of an effect's arguments; arguments that are not JSON count only with their types."""
    try:
        text = json.dumps([arguments, keywords], default=lambda value: str(type(value)))
    except (TypeError, ValueError, RecursionError):
        return ""
    return hash_json(json.loads(text))


# ── values as they are after being stored as JSON ──────────────────────────────────────────────────


def normalize(value: Any, what: str, is_utf8: bool = False) -> Any:
    """Return the value as it will be read back; raise `ConfigurationError` if it cannot be stored.

    A value that DBOS stores itself, as UTF-8, must have no lone surrogates (`is_utf8`).
    """
    from dbos import DBOSPortableJSONSerializer

    try:
        normalized = json.loads(DBOSPortableJSONSerializer().serialize(value))
        if is_utf8:
            json.dumps(normalized, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{what} cannot be stored as JSON: {error}") from error
    return normalized


# ── which program may continue a workflow ──────────────────────────────────────────────────────────

UNFINISHED = ["PENDING", "ENQUEUED"]

_functions: list[Callable[..., Any]] = []
"""The functions that are workflows and effects."""


class WorkflowVersionError(NaturalError):
    """The workflow was started by another version of the program, which must finish it."""


class VersionWarning(UserWarning):
    """The database has workflows that this version of the program does not resume."""


def note_function(function: Callable[..., Any], kind: str) -> None:
    """Remember one of the program's workflows or effects."""
    if not hasattr(function, "__qualname__"):
        raise ConfigurationError(f"durable.{kind} needs a function with a name, not {function!r}")
    _functions.append(function)


def find_version() -> str:
    """Return the version of the program, as far as it has been imported."""
    modules = {function.__module__ for function in _functions}
    # Compiled modules have the runtime under the name that njc gives it.
    runtime = sys.modules["njrt"]
    modules |= {
        name
        for name, module in list(sys.modules.items())
        if getattr(module, "__dict__", {}).get("_nj", module) is runtime
    }
    texts = {name: read_source(sys.modules.get(name)) for name in modules}
    texts |= {
        f"{function.__module__}.{function.__qualname__}": repr(function.__code__.co_code)
        for function in _functions
        if not texts[function.__module__]
    }
    return hashlib.sha256(repr(sorted(texts.items())).encode(errors="replace")).hexdigest()[:16]


def read_source(module: ModuleType | None) -> str:
    """Return a module's source text; empty if the module is None or has no source."""
    try:
        return "" if module is None else inspect.getsource(module)
    except (OSError, TypeError):
        return ""


def find_other_versions(version: str) -> dict[str, str]:
    """Return the workflows that were interrupted under another version, with that version."""
    from dbos import DBOS

    find = functools.partial(DBOS.list_workflows, load_input=False, load_output=False)
    return {
        workflow.workflow_id: workflow.app_version
        for workflow in call_in_thread(find, status=UNFINISHED)
        if workflow.app_version not in (None, version)
    }


def call_in_thread(function: Callable[..., R], *arguments: Any, **keywords: Any) -> R:
    """Call a function of DBOS in another thread, because DBOS refuses it in a thread with an event loop."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function, *arguments, **keywords).result()


def check_version(workflow: WorkflowStatus | None) -> None:
    """Raise `WorkflowVersionError` if a workflow was started by another program and has not ended."""
    from dbos import DBOS

    if workflow is None or workflow.status not in UNFINISHED:
        return
    if workflow.app_version not in (None, DBOS.application_version):
        raise WorkflowVersionError(
            f"the workflow {workflow.workflow_id} was started by version {workflow.app_version} of the program and has not ended; this "
            f"is version {DBOS.application_version}. Run the program that started it until it has ended, or, if its steps are the "
            f"same in this one, launch with version={workflow.app_version!r}"
        )


# ── the steps of a workflow ────────────────────────────────────────────────────────────────────────


class WorkflowSteps:
    """The steps of one workflow, or of one of its branches (state: the running step, the time of steps before a crash)."""

    def __init__(self) -> None:
        self._running: str | None = None
        self._seconds_before = 0.0

    def read_clock(self) -> float:
        """Return the seconds since any fixed point; after a crash, stored steps take as long as before."""
        return read_clock() + self._seconds_before

    async def run(self, name: str, function: Callable[[], Awaitable[str]], is_async: bool) -> str:
        """Return the function's result, from now or from before a crash; nothing is awaited unless `is_async`."""
        if not self.must_store(name):
            return await function()
        from dbos import DBOS

        began, ended = read_clock(), None

        async def call() -> str:
            nonlocal ended
            text, ended = await function(), read_clock()
            return format_json_line({**json.loads(text), "seconds": round(ended - began, 3)})

        if not is_async:
            check_no_event_loop(name)
        with self.under_way(name):
            if is_async:
                text = await DBOS.run_step_async({"name": name}, call)
            else:
                text = DBOS.run_step({"name": name}, lambda: run_without_waiting(call()))
        if ended is None:
            self._seconds_before += json.loads(text).get("seconds", 0.0)
        return text

    def must_store(self, name: str) -> bool:
        """Return whether this point is in the workflow but in no step; raise an error in a thread of the program."""
        dbos = get_dbos()
        if dbos is None or dbos.workflow_id is None:
            raise ConfigurationError(
                f"{name} is in a thread that the workflow has started itself, so that it would be lost in a crash; "
                "start threads with durable.map"
            )
        return dbos.step_id is None

    async def call_once(
        self,
        function: Callable[..., Any],
        find: Find | None,
        args: tuple[Any, ...],
        named: dict[str, Any],
        is_async: bool,
    ) -> Any:
        """Call a function as two steps, or use its stored result; directly within a step, which is stored as a whole."""
        if not self.must_store(function.__name__):
            made = function(*args, **named)
            return await made if is_async else made
        call = EffectCall(function, find, args, named, is_async, hash_arguments(args, named))
        begins = await self.run(f"{call.name} begins", call.begin, is_async)
        begun = read_step(begins, call.digest, call.name)
        done = await self.run(call.name, functools.partial(call.perform, begun), is_async)
        return read_step(done, call.digest, call.name)["result"]

    @contextmanager
    def under_way(self, name: str) -> Iterator[None]:
        """Refuse steps that start inside the `with`; interrupt the workflow if DBOS cannot store one."""
        if self._running is not None:
            raise ConfigurationError(
                f"{name} starts while {self._running} is under way in the same workflow; which is first may differ after a "
                "crash. Run them one after the other, or with durable.gather or durable.map"
            )
        from dbos import error as dbos_errors
        from sqlalchemy.exc import DBAPIError

        self._running = name
        try:
            yield
        except dbos_errors.DBOSUnexpectedStepError as error:
            raise make_mismatch(name) from error
        except DBAPIError as error:
            raise WorkflowInterruption(describe_database_error(error)) from error
        finally:
            self._running = None


class WorkflowInterruption(BaseException):
    """The database of workflows cannot be used. The workflow's code cannot catch this, and the next launch continues it."""


class DurableInterceptor:
    """An interceptor that makes its own steps, so that its decision itself is not a step."""


def find_steps() -> WorkflowSteps | None:
    """Return the steps of the workflow around this point; None outside workflows and inside steps."""
    steps = get_settings().steps
    if isinstance(steps, WorkflowSteps):
        return steps if steps.must_store("an effect") else None
    dbos = get_dbos()
    in_workflow = dbos and dbos.workflow_id is not None and dbos.step_id is None
    return WorkflowSteps() if in_workflow else None


def get_dbos() -> Any:
    """Return DBOS's class if the package is in use, else None."""
    package = sys.modules.get("dbos")
    return package and cast(Any, package).DBOS


def make_mismatch(what: str) -> RecordingMismatchError:
    """Return the error for a step that differs from the stored step."""
    dbos = get_dbos()
    return RecordingMismatchError(
        f"{what} differs from the step that the workflow {dbos and dbos.workflow_id} took here before it was interrupted. Either the "
        "program has changed: finish the workflow with the program that started it. Or it does not do the same each time: make "
        "the part that differs a step (DBOS.step), and run blocks that run at the same time with durable.gather or durable.map"
    )


def write_step(key: str, **content: Any) -> str:
    """Return a step's content to store, with the digest of its conversation, effect or arguments."""
    return format_json_line({"key": key, **content})


def read_step(text: str, key: str, what: str) -> dict[str, Any]:
    """Return the stored content of a step for `key`, or raise the failure that it stored."""
    stored: dict[str, Any] = json.loads(text)
    if stored["key"] != key:
        raise make_mismatch(what)
    if failure := stored.get("failure"):
        raise failure_from_json(failure)
    return stored


def check_no_event_loop(name: str) -> None:
    """Raise `ConfigurationError` in a plain function that an async workflow called."""
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


@contextmanager
def explaining_database(url: str) -> Iterator[URL]:
    """Yield the parsed URL of a database of workflows; its failures become `ConfigurationError`s."""
    check_installed()
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, DBAPIError

    try:
        place = make_url(url)
        is_known = place.get_backend_name() in ("sqlite", "postgresql")
        if not is_known or place.database in (None, "", ":memory:"):
            raise ArgumentError("no such database")
    except ArgumentError:
        raise ConfigurationError(
            "workflows need a database that is not in memory; write sqlite:///FILE or postgresql://HOST/DATABASE"
        ) from None
    try:
        yield place
    except (DBAPIError, OSError) as error:
        raise ConfigurationError(
            f"the database of workflows {place} cannot be used: {describe_database_error(error)}"
        ) from error


def describe_database_error(error: BaseException) -> str:
    """Return why a database cannot be used, without the statement."""
    return " ".join(str(getattr(error, "orig", error)).split())

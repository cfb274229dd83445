"""Suspend a call at its first missing reply, and call again when the reply has arrived.

    pass_row(target, row, replies, wrap)                    None if it was suspended, or the result
    replies.missing                                         the requests to send

Each pass restarts the call and replays its replies; equal requests get theirs in order. The function must therefore
make the same requests again, and its other effects (files, the network, print) are repeated in every pass. Concurrent
requests from tasks on one event loop are found in one pass, requests from threads one by one.
"""

from __future__ import annotations

import asyncio
import json
import selectors
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

from njc.batch.journal import RequestForm, StoredReply, WaitingRequest
from njc.batch.rows import BatchRow, RowUsage
from njc.target import TargetFunction
from njrt.errors import ConfigurationError, ModelError, RejectedRequestError, ServerError
from njrt.message_json import format_json_line
from njrt.messages import Reply, Request
from njrt.models.model import Model, ModelAround
from njrt.models.openai import OpenAI
from njrt.models.remote import RemoteModel
from njrt.models.response import MalformedReplyError, escape_surrogates
from njrt.models.scripted import Scripted
from njrt.models.vote import VoteModel
from njrt.models.wrapped import list_inner_models
from njrt.persistence.cache import make_request_key
from njrt.records import record
from njrt.session.settings import wrapping
from njrt.timeouts import Interruption

T = TypeVar("T")

GRACE_SECONDS = 0.02
"""Seconds that other tasks have for making requests, if timers or threads are running."""

MAX_CANCELLATIONS = 5


class UnmeasuredModelError(ConfigurationError):
    """The requests to a model, such as a model in Python, are known only when they are sent."""


class Suspended(Interruption):
    """A call is suspended until its replies arrive; a model's code cannot catch this."""

    def __init__(self, was_sent: bool = False) -> None:
        self.was_sent = was_sent  # otherwise budgets release its reservation


@dataclass(slots=True)
class RowReplies:
    """A row's replies during one pass (state: the used and the missing replies)."""

    stored: Mapping[tuple[str, int], StoredReply]
    schemaless: frozenset[str] = frozenset()
    """The models that are asked without a schema, by `name_model`."""
    missing: list[WaitingRequest] = field(default_factory=list)
    sends: bool = True
    """Whether the missing requests will be sent, and not only measured."""
    is_closed: bool = False
    used: set[tuple[str, int]] = field(default_factory=set)
    asked: dict[str, int] = field(default_factory=dict)
    has_threads: bool = False
    """Whether a second thread has made a request: which request is first is then arbitrary."""
    first_thread: int = field(default_factory=threading.get_ident)
    waiters: list[asyncio.Future[None]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_suspended(self) -> bool:
        return bool(self.missing)

    @property
    def has_unused(self) -> bool:
        """Whether the call has not yet repeated all its earlier requests."""
        return len(self.used) < len(self.stored)

    def is_repeated_by(self, other: RowReplies) -> bool:
        """Return whether another pass with the same replies makes the same requests; one may have come further."""
        if self.has_threads or other.has_threads:
            return True
        both = self.missing, other.missing
        first, second = ({(request.key, request.number) for request in each} for each in both)
        return bool(second) and (first <= second or second <= first)

    def take(self, model: RemoteModel, request: Request, count: int = 1) -> StoredReply | None:
        """Return the reply to a request; None if it is missing, and the request must be sent `count` times."""
        key = make_request_key(request, model.name)
        with self.lock:
            if self.is_closed:
                raise Suspended
            self.has_threads |= threading.get_ident() != self.first_thread
            number = self.asked[key] = self.asked.get(key, 0) + 1
            reply = self.stored.get((key, number))
            if reply is not None:
                self.used.add((key, number))
                if reply.kind != "plain":
                    return reply
            name = name_model(model)
            form: RequestForm = "strict"
            if request.schema is None:
                form = "free"
            elif reply is not None or name in self.schemaless:
                form, request = "plain", replace(request, schema=None)
            body = format_json_line(escape_surrogates(model.make_body(request)))
            self.missing += [WaitingRequest(key, number, name, body, form)] * count
            return None

    def close(self) -> None:
        """Leave all further requests to a later pass."""
        with self.lock:
            self.is_closed = True

    def suspend(self) -> bool:
        """Cancel the tasks that wait for replies; return whether there were any."""
        self.close()
        waiting = [waiter for waiter in self.waiters if not waiter.done()]
        for waiter in waiting:
            waiter.set_exception(Suspended(self.sends))
        self.waiters.clear()
        return bool(waiting)


def name_model(model: RemoteModel) -> str:
    """Return a model's name, or `NAME URL` if its server is not the vendor's."""
    own = isinstance(model, OpenAI) and model.is_own_server
    return f"{model.name} {model.server.url}" if own else model.name


@record
class ReplayingModel(ModelAround):
    """A model that answers from a row's replies, or suspends the call."""

    model: RemoteModel
    replies: RowReplies
    count: int = 1
    """How many equal requests are sent."""

    def ask(self, request: Request) -> Reply:
        stored = self.replies.take(self.model, request, self.count)
        if stored is None:
            self.replies.close()
            raise Suspended(self.replies.sends)
        return self._read(stored, request)

    async def aask(self, request: Request) -> Reply:
        stored = self.replies.take(self.model, request, self.count)
        if stored is None:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.replies.waiters.append(waiter)
            await waiter
            raise Suspended(self.replies.sends)
        return self._read(stored, request)

    def _read(self, stored: StoredReply, request: Request) -> Reply:
        if stored.body is None:
            is_lost = stored.kind == "server"
            kind: type[ModelError] = ServerError if is_lost else RejectedRequestError
            raise kind(f"{self.model.name}: {stored.problem}")
        if stored.form == "plain":
            request = replace(request, schema=None)
        try:
            reply = self.model.read_response(json.loads(stored.body), request, is_batch=True)
        except MalformedReplyError as error:
            raise ServerError(f"{self.model.name} sent an unreadable reply ({error})") from None
        is_counted = stored.kind == "counted" or not self.replies.sends
        return replace(reply, source="recording") if is_counted else reply


def read_usage(model: RemoteModel, body: str) -> RowUsage:
    """Return an answer's usage, even if the answer is unusable."""
    with suppress(MalformedReplyError):
        if used := model.read_usage(json.loads(body), is_batch=True):
            return RowUsage(1, used.input, used.output, used.usd or 0.0)
    return RowUsage(1)


def choose_replaying_model(
    model: Model, replies: RowReplies, vendor: str, models: dict[str, RemoteModel]
) -> Model:
    """Return a block's model, answering from replies; `models` collects the models that are asked.

    A scripted model answers itself. Raises ConfigurationError for another vendor's model.
    """
    if isinstance(model, Scripted):
        return model
    if not isinstance(model, RemoteModel) or model.sdk != vendor:
        raise ConfigurationError(
            f"--vendor-batch {vendor} cannot ask {model.name}; set the option `model` to {vendor}/NAME"
        )
    models.setdefault(name_model(model), model)
    return ReplayingModel(model, replies)


def choose_measured_model(model: Model, replies: RowReplies) -> Model:
    """Return the model of a block, with its first requests measured and not sent; a scripted model answers itself.

    Of models that are asked in turn it is the first; of votes each request counts. Raises UnmeasuredModelError.
    """
    count = 1
    while not isinstance(model, RemoteModel | Scripted):
        if not (inner := list_inner_models(model)):
            raise UnmeasuredModelError(
                f"requests to {model.name} cannot be measured without being sent"
            )
        count *= len(inner) if isinstance(model, VoteModel) else 1
        model = inner[0]
    return ReplayingModel(model, replies, count) if isinstance(model, RemoteModel) else model


def pass_row(
    target: TargetFunction, row: BatchRow, replies: RowReplies, wrap: Callable[[Model], Model]
) -> Any:
    """Call a row's function once, with its models wrapped; None if the call was suspended. Raises its errors.

    A suspended call's outcome is ignored: the function may have caught `Suspended`.
    """
    positional, keywords = target.bind_arguments(row.parse())
    call = partial(target.function, *positional, **keywords)
    with wrapping(wrap):
        try:
            if target.is_async:
                return _run_async_pass(call, replies)
            result = call()
            if asyncio.iscoroutine(result):
                return _run_async_pass(lambda: result, replies)
            return result
        except BaseException as error:
            if replies.is_suspended and not isinstance(error, KeyboardInterrupt):
                return None
            raise


def _run_async_pass(call: Callable[[], Awaitable[T]], replies: RowReplies) -> T:
    """Run a coroutine until it ends, or all its tasks wait for replies."""
    selector = IdleSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.get_loop().set_exception_handler(_ignore_suspended)

        async def run() -> T:
            task = asyncio.ensure_future(call())
            cancelled = 0

            def give_up() -> bool:
                """Suspend waiting tasks, or else cancel the call; return whether anything is ready now."""
                nonlocal cancelled
                if replies.suspend():
                    return True
                if not replies.is_suspended or cancelled >= MAX_CANCELLATIONS:
                    return False
                cancelled += 1
                return task.cancel()

            selector.on_idle = give_up
            try:
                done, _ = await asyncio.wait({task})
            finally:
                selector.on_idle = None
            return done.pop().result()

        return runner.run(run())


def _ignore_suspended(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if not isinstance(context.get("exception"), Suspended):
        loop.default_exception_handler(context)


class IdleSelector(selectors.DefaultSelector):
    """A selector that reports when its event loop has nothing to do."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = threading.active_count()
        self.on_idle: Callable[[], bool] | None = None
        """Called when nothing is ready; returns whether it made something ready."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self.on_idle is None or (timeout is not None and timeout <= 0):
            return super().select(timeout)
        has_others = timeout is not None or threading.active_count() > self._threads
        grace = min(GRACE_SECONDS, timeout or GRACE_SECONDS) if has_others else 0
        events = super().select(grace)
        if events or (timeout is not None and timeout <= grace):
            return events
        return [] if self.on_idle() else super().select(timeout)

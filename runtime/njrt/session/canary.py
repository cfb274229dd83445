"""Canaries: in mode `auto` the live block repeats a share of the runs by code, on copies, and the runs are compared.

    canary.sample(scope)                        copies the variables if the run is chosen, before the code runs
    canary.start(outcome, value, scope, run)    afterwards, runs the live block on the copies, in a thread
        ->  Compared  ->  CanaryState in the store  ->  an alarm, or none

An effect that could reach more than the copies (`njrt.production.canary.confinement`) ends the live block first. Runs
under a recording, in a workflow, in a batch and in the debugger are not sampled.
"""

from __future__ import annotations

import asyncio
import atexit
import importlib
import itertools
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import Context
from functools import lru_cache, partial
from hashlib import blake2b
from random import SystemRandom
from types import CellType, FunctionType
from typing import Any

from njrt.context import copy_surroundings, free_in_child
from njrt.decisions import Abort, Accept, Decision, OpenInterceptor, PendingEffect
from njrt.effects import get_effect_code
from njrt.errors import NaturalError, PolicyError, StoreError
from njrt.events import RunId
from njrt.observability.accounts import format_error_line, name_ending
from njrt.observability.logs import warn
from njrt.options import Options
from njrt.outcome import Outcome, Raised, Returned, UserValue
from njrt.production.canary.block_state import AlarmRule, CanaryResult, CanaryStore, describe_alarm
from njrt.production.canary.comparison import BlockEnd, find_differences
from njrt.production.canary.confinement import find_outside_access, find_outside_value
from njrt.rendering.redaction import Redactor
from njrt.scope.scope import Absent, Bound, Scope
from njrt.session.layered_model import find_recorder
from njrt.session.run_block import LiveBlock
from njrt.session.session import enter_run
from njrt.session.settings import Settings, get_canary_store, get_settings, open_settings
from njrt.session.states import is_watched, write_named_value
from njrt.values.copying import CopiedValues, NotCopyableError, copy_values

MAX_RUNNING = 4
"""How many canaries of one process may run at the same time; while there are as many, none is sampled."""

EXIT_SECONDS = 10.0
"""Seconds that an ending program waits for running canaries."""

BREAK_SECONDS = 60.0
"""How long a failed store is left unread."""

REFRESH_SECONDS = 5.0
"""Seconds after which a process checks again whether another process has raised an alarm."""

_MAX_VALUE_CHARS = 200
_VALUE = "return value"
"""The name of the returned value among the variables; no variable can have it."""
_random = SystemRandom()  # not the program's generator, whose sequence must stay the same


class BlockWatch:
    """One block and its code in one process (state: its runs, its alarm, the messages shown)."""

    def __init__(self, block: str, store: CanaryStore, rule: AlarmRule) -> None:
        self._block, self._store, self._rule = block, store, rule
        self._numbers = itertools.count()
        self._is_alarmed = False
        self._reads_at = -math.inf
        self._said: set[str] = set()

    def has_alarm(self, place: str) -> bool:
        """Return whether the live block must run; a failing store raises no alarm."""
        now = time.monotonic()
        if now >= self._reads_at:
            self._reads_at = now + REFRESH_SECONDS
            try:
                alarm = self._store.read(self._block).alarm
            except StoreError as error:
                self._reads_at = now + BREAK_SECONDS
                self.say("store", f"{place}: canaries cannot be counted: {error}")
                return self._is_alarmed
            self._is_alarmed = alarm is not None
            if alarm is not None:
                self._say_alarm(place, describe_alarm(alarm))
        return self._is_alarmed

    def is_sampled(self, share: float, seed: int | None) -> bool:
        """Return whether this run belongs to the sampled share; with a seed, the same runs each time."""
        if seed is None:
            return _random.random() < share
        text = f"{seed}\0{self._block}\0{next(self._numbers)}".encode()
        return int.from_bytes(blake2b(text, digest_size=7).digest()) / 2**56 < share

    def add(self, result: CanaryResult) -> None:
        """Count a sampled run; report the first problem, and an alarm."""
        if result.problem:
            self.say("problem", f"{result.place}: a canary was skipped: {result.problem}")
        try:
            alarm = self._store.add_result(self._block, result, self._rule).alarm
        except StoreError as error:
            self.say("store", f"{result.place}: canaries cannot be counted: {error}")
            return
        if alarm is not None:
            self._is_alarmed = True
            self._say_alarm(result.place, describe_alarm(alarm))

    def _say_alarm(self, place: str, description: str) -> None:
        self.say(
            "alarm",
            f"{place}: {description}: the block is live from now on; "
            f"`njc canary --clear '{self._block}'` uses its code again",
        )

    def say(self, kind: str, message: str) -> None:
        """Write a line to standard error and to the log, once for each kind."""
        if kind in self._said:
            return
        self._said.add(kind)
        warn("%s", message)
        with suppress(Exception):
            sys.stderr.write(f"njrt: {message}\n")


@lru_cache(maxsize=4096)
def get_block_watch(code: str, url: str | None, rule: AlarmRule) -> BlockWatch:
    """Return the watch of a block and code, shared by the whole process."""
    return BlockWatch(code, get_canary_store(url), rule)


class Canary:
    """The live block beside one run by code, if the run is sampled (state: the copies that it runs on, its scope)."""

    def __init__(self, live: LiveBlock, options: Options) -> None:
        self._live, self._options, self._settings = live, options, get_settings()
        rule = AlarmRule(options.canary_tolerated or 0.0, options.canary_false_alarms or 1.0)
        self._watch = get_block_watch(live.code, options.store, rule)
        self._copied: CopiedValues | None = None
        self._scope: Scope | None = None
        self._code_end = BlockEnd("completed")
        self._redactor = Redactor(True if options.redact is None else options.redact)
        self._result: CanaryResult | None = None

    @property
    def has_alarm(self) -> bool:
        """Whether the live block must run instead of the code."""
        return self._watch.has_alarm(self._live.place)

    def sample(self, scope: Scope) -> None:
        """Decide whether this run has a canary, and copy the variables."""
        settings, options = self._settings, self._options
        if (
            not options.canary
            or self.has_alarm
            or settings.steps
            or settings.wrap
            or is_watched()
            or find_recorder(settings, os.environ) is not None
            or not self._watch.is_sampled(options.canary, options.canary_seed)
            or _running.is_full()
        ):
            return
        try:
            copied = copy_values(scope.list_variables(scope.names))
        except NotCopyableError as error:
            self._skip(f"the variables hold {error}")
            return
        # Showing the copies and their parts must not affect the program either.
        held = (find_outside_value(value, scope.lookup) for value in copied.held)
        problem = find_outside_access("", scope.lookup, copied.classes)
        if problem := problem or next(filter(None, held), None):
            self._skip(problem)
        else:
            self._copied = copied

    def _skip(self, problem: str) -> None:
        """Count a run that was chosen but has no canary."""
        result = CanaryResult(self._live.place, problem=problem)
        _running.start(lambda: self._watch.add(result))

    def start(self, outcome: str, value: UserValue, scope: Scope, run: RunId) -> None:
        """If sampled, copy the code's result and run the live block in a thread; `run` is the run by code."""
        if self._copied is None:
            return
        try:
            ended = copy_values({**scope.list_variables(scope.names), _VALUE: value})
        except NotCopyableError as error:
            self._skip(f"the code made {error}")
            return
        variables = dict(ended.values)
        self._code_end = BlockEnd(outcome, variables.pop(_VALUE), variables)
        context = copy_surroundings()
        context.run(enter_run, run)
        _running.start(partial(self._run_in, context))

    def _run_in(self, context: Context) -> None:
        """Run the live block, and count the result; never raise."""
        place, problem = self._live.place, "it did not end"
        try:
            context.run(self._run_live)
        except BaseException as error:  # even SystemExit: this thread belongs to the canary
            problem = format_error_line(error)
        with suppress(Exception):
            self._watch.add(self._result or CanaryResult(place, problem=problem))

    def _run_live(self) -> None:
        assert self._copied is not None
        live, settings = self._live, self._settings
        here = Settings(
            settings.model,
            settings.options,
            cache=settings.cache,
            trace=settings.trace,
            interceptors=(OpenInterceptor("canary", self.decide),),
            budgets=settings.budgets,
        )
        with open_settings(here):
            variables = make_copied_lambda(live.variables, self._copied.values)
            running = live.run(variables, tried="canary", observer=self)
            if live.is_async:
                asyncio.run(running)

    def open(self, scope: Scope) -> None:
        self._scope = scope

    def decide(self, pending: PendingEffect) -> Decision:
        """Accept an effect only if it changes only the copies."""
        assert self._scope is not None
        assert self._copied is not None
        scope = self._scope
        classes = [value for value in scope.lent.values() if isinstance(value, type)]
        try:
            problem = find_outside_access(
                get_effect_code(pending.effect) or "",
                lookup_in(scope),
                (*self._copied.classes, *classes),
            )
        except (SyntaxError, ValueError, RecursionError):
            return Accept()  # the effect will be refused, and the model learns why
        return Abort(PolicyError(f"not confined to the copies: {problem}")) if problem else Accept()

    def compare(self, ending: Outcome | NaturalError) -> tuple[tuple[str, ...], str]:
        found: tuple[str, ...] = ()
        problem = ""
        if isinstance(ending, NaturalError):
            problem = format_error_line(ending)
        else:
            assert self._scope is not None
            variables = self._scope.list_variables(self._scope.names)
            value = ending.value if isinstance(ending, Returned) else None
            if isinstance(ending, Raised):
                value = type(ending.exception)

            def render(name: str, value: UserValue) -> str:
                return write_named_value(self._redactor, name, value, _MAX_VALUE_CHARS)

            live_end = BlockEnd(name_ending(ending)[0], value, variables)
            self._redactor.scan({**self._code_end.variables, **variables}.items())
            try:
                found = tuple(find_differences(self._code_end, live_end, render))
            except Exception as error:  # from the program's `__eq__`
                problem = f"comparing the values failed by {type(error).__name__}"
        self._result = CanaryResult(self._live.place, found, problem)
        return found, problem


def lookup_in(scope: Scope) -> Callable[[str], Bound | Absent]:
    """Return a lookup of names in a live block's code; the name `ask` is the runtime's."""

    def lookup(name: str) -> Bound | Absent:
        is_ask = name == "ask" and scope.is_lent("ask")
        return Absent.UNKNOWN if is_ask else scope.lookup(name)

    return lookup


def make_copied_lambda(
    variables: Callable[[], object], values: Mapping[str, UserValue]
) -> Callable[[], Any]:
    """Return a block's lambda over new cells and globals with these values."""
    assert isinstance(variables, FunctionType)
    code = variables.__code__
    cells = tuple(
        CellType(values[name]) if name in values else CellType() for name in code.co_freevars
    )
    module = variables.__globals__
    own = {name: values[name] for name in code.co_names if name in values and name in module}
    copied = FunctionType(code, module | own, variables.__name__, None, cells)
    copied.__qualname__ = variables.__qualname__
    return copied


class RunningCanaries:
    """The threads of the running canaries (state)."""

    def __init__(self) -> None:
        self._threads: set[threading.Thread] = set()
        self._lock = free_in_child(threading.RLock())
        # Called at the end of the main thread, when threads can still be started, unlike in `atexit`. `threading`
        # calls these functions in reverse order, so those of executors must be registered first.
        importlib.import_module("concurrent.futures.thread")
        getattr(threading, "_register_atexit", atexit.register)(self.wait)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._threads.clear)

    def is_full(self) -> bool:
        """Return whether no further canary may start."""
        return len(self._threads) >= MAX_RUNNING

    def start(self, work: Callable[[], None]) -> None:
        """Run `work` in a thread that an ending program does not wait for longer than `EXIT_SECONDS`."""

        def run() -> None:
            try:
                work()
            finally:
                with self._lock:
                    self._threads.discard(thread)

        thread = threading.Thread(target=run, name="njrt-canary", daemon=True)
        with self._lock:
            self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the program ends, or the system has no thread left
            with self._lock:
                self._threads.discard(thread)

    def wait(self, seconds: float = EXIT_SECONDS) -> bool:
        """Wait until no canary of this process is running, for at most `seconds`; return whether none is."""
        stops = time.monotonic() + seconds
        for thread in tuple(self._threads):
            thread.join(max(0.0, stops - time.monotonic()))
        return not self._threads


_running = RunningCanaries()
wait_for_canaries = _running.wait

"""The surroundings of one run of a block, or of one question to a model.

session = open_session("mail.njpy:12", options, project)
    settings -> options -> recorder -> model -> layers
    Session(run="9f3c-1", model=Metered(Recorder(Cache(model))), ...)
"""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import cache
from typing import Any

from njrt.block.session.interception import DecisionRecord, list_interceptors
from njrt.block.session.layered_model import NO_MODEL, find_recorder, make_layered_model
from njrt.block.session.limits import (
    Meter,
    Metered,
    has_limit_elsewhere,
    list_open_meters,
    read_limits,
)
from njrt.block.session.notified import Notified
from njrt.block.session.settings import (
    FrozenOptions,
    Settings,
    get_listener,
    get_settings,
    has_budget_elsewhere,
    read_environment,
    resolve_options,
)
from njrt.data.context import check_context, is_context_known
from njrt.data.decisions import Abort, OpenInterceptor, Pause, decides_changes
from njrt.data.options import Options
from njrt.data.records import replace
from njrt.errors import BlockWarning, NaturalError, Paused, PolicyError
from njrt.events import Listener, RunId
from njrt.log.accounts import note_error
from njrt.messages import Protocol
from njrt.models.model import LayeredModel


@dataclass(slots=True, eq=False)
class Session:
    """The surroundings of one block run, or of one question to a model."""

    run: RunId
    place: str
    settings: Settings
    options: Options
    listener: Listener
    meter: Meter
    model: LayeredModel
    """The model behind all its layers."""
    protocol: Protocol
    """The protocol of the conversation: the option's, or else the model's."""
    interceptors: tuple[OpenInterceptor, ...]
    """Interceptors to ask about each effect, innermost first."""
    record: DecisionRecord | None
    """The interceptors' recorded decisions, if there is a recording."""
    parent: RunId | None
    environ: Mapping[str, str]
    """The environment variables of njrt that are set."""

    @property
    def asks_changes(self) -> bool:
        """Whether interceptors, or a recording, decide about the changes of contained code."""
        is_recorded = self.record is not None and self.record.recorder.has_changes
        return is_recorded or any(map(decides_changes, self.interceptors))

    def use_model(self, name: str) -> None:
        """Ask another model from now on, behind the same layers; it is chosen by name alone."""
        record, model = self.record, self.model
        self.model = make_layered_model(
            replace(self.settings, model=None),
            replace(self.options, model=name),
            record.recorder if record else None,
            *model.layers[: 3 if record else 2],  # limits, events, decisions
            environ=self.environ,
        )

    def get_code_seconds(self) -> float | None:
        """Return the seconds that the next piece of code may run; None for no limit."""
        most, left = self.options.max_code_seconds, self.meter.seconds_left()
        return left if most is None else most if left is None else min(most, left)


_current_run: ContextVar[RunId | None] = ContextVar("njrt.block.session.session", default=None)
_run_numbers = itertools.count(1)
_process_id = os.urandom(4).hex()

get_current_run = _current_run.get
"""Returns the run of the innermost block around this point; None outside blocks."""
enter_run = _current_run.set
"""Makes a run the innermost run in this context."""


def leave_run(token: Token[RunId | None]) -> None:
    """Make the run around the innermost one the innermost again."""
    try:
        _current_run.reset(token)
    except ValueError:  # an abandoned coroutine is closed in another context
        return


def make_run_id() -> RunId:
    """Return an id for a run that is unique among all processes."""
    return f"{_process_id}-{next(_run_numbers)}"


def open_session(
    place: str,
    options: FrozenOptions,
    project: FrozenOptions,
    is_static: bool = False,
) -> Session:
    """Resolve the settings, options and model of one run at a place (`njrt.llm` if none is known).

    A run of static code needs no model.
    """
    try:
        if not is_context_known():
            check_context(place or "njrt.llm")
            if has_limit_elsewhere() or has_budget_elsewhere():
                warn_of_limit(place)
        settings, environ = get_settings(), read_environment()
        merged = resolve_options(options, project, settings.options, place or "njrt.llm", environ)
        run, listener = make_run_id(), get_listener(settings, environ)
        meter = Meter(read_limits(merged), place=place, around=list_open_meters())
        recorder = find_recorder(settings, environ)
        record = DecisionRecord(recorder) if recorder else None
        layers = (Metered(meter), Notified(run, listener), *((record,) if record else ()))
        model = (
            LayeredModel(NO_MODEL, layers)
            if is_static
            else make_layered_model(settings, merged, recorder, *layers, environ=environ)
        )
    except NaturalError as error:
        raise add_place(error, place or "njrt.llm") from None
    interceptors = list_interceptors(settings.interceptors)
    parent = get_current_run()
    protocol = merged.protocol or model.protocol
    return Session(
        *(run, place, settings, merged, listener, meter, model, protocol),
        *(interceptors, record, parent, environ),
    )


def add_place(error: NaturalError, place: str) -> NaturalError:
    """Record on an error of the runtime which blocks it left (`place` is the innermost block's)."""
    error.place = error.place or place
    note_error(error)
    add_place_note(error, place)
    return error


def add_place_note(error: BaseException, place: str) -> None:
    """Note on an exception which block it leaves; each block is noted once."""
    add_note(error, f"natural block at {place}")


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an exception, once."""
    with suppress(Exception):  # the program's class may refuse notes
        if note not in getattr(error, "__notes__", ()):
            BaseException.add_note(error, note)


def make_ending_error(decision: Abort | Pause, interceptor: str, session: Session) -> NaturalError:
    """Return the error for a decision that ends a block."""
    where = session.place or "njrt.llm"
    if isinstance(decision, Abort):
        return decision.error or PolicyError(f"{where}: aborted by the interceptor `{interceptor}`")
    path = session.record.recorder.place.name if session.record else None
    way = (
        f"run the program again with the recording {path} to continue"
        if path
        else "it cannot continue without a recording; make one with NJC_RECORD=new:FILE"
    )
    paused = Paused(f"{where}: paused by the interceptor `{interceptor}`; {way}")
    paused.recording = path
    return paused


RECURSION_NOTE = (
    "natural blocks that call each other use Python's stack; sys.setrecursionlimit(...) allows more"
    " levels"
)


def complete_error(error: NaturalError | RecursionError) -> None:
    """Complete an error that leaves a block.

    The runtime's own frames are removed from a `NaturalError`'s traceback. A `RecursionError` of
    blocks that call each other gets a note, since the frames between them are not the program's.
    """
    if isinstance(error, NaturalError):
        error.__traceback__ = None
    elif get_current_run() is not None:
        add_note(error, RECURSION_NOTE)


LIMIT_ELSEWHERE = (
    "this runs in a thread or context without the settings of the code that started it, while a"
    " limit or budget is open in the process; start it with njrt.carry(function) if the limit"
    " counts it"
)


@cache
def warn_of_limit(place: str) -> None:
    """Warn once that a limit which is open elsewhere may not count a block."""
    warn_at(place, LIMIT_ELSEWHERE)


def warn_at(place: str, text: str, category: type[Warning] = BlockWarning) -> None:
    """Warn about a block."""
    file, _, line = place.rpartition(":")
    number = int(line) if line.isdecimal() else 1
    warnings.warn_explicit(text, category, file or place or "njrt.llm", number, registry=_warned)


_warned: dict[Any, Any] = {}
"""The warnings that were shown, each once by default."""

"""What surrounds one run of a block: its name, settings, options, limits, and its model behind all layers.

    set_up_run("mail.njpy:12", options, project)    settings -> options -> recorder -> model -> layers
        RunSetup(run="9f3c-1", model=Metered(Notified(Recorder(Cache(model)))), ...)

Each capability is a wrapper; the conversation, the handlers and the models know nothing of them. A call that
a limit refuses was never made: no account and no trace has it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from typing import Any

from njrt.decisions import Abort, OpenInterceptor, Pause
from njrt.errors import NaturalError, Paused, PolicyError
from njrt.events import Listener, RunId
from njrt.messages import Protocol
from njrt.models.model import Layer, LayeredModel, Model
from njrt.observability.listeners import Notified
from njrt.options import Options
from njrt.session.block_options import resolve_options
from njrt.session.interception import DecisionRecord, list_interceptors
from njrt.session.layered_model import (
    NO_MODEL,
    find_recorder,
    make_layered_model,
    share_budgets,
)
from njrt.session.limits import Meter, Metered, list_open_meters, read_limits
from njrt.session.settings import Settings, get_listener, get_settings


@dataclass(frozen=True, slots=True)
class RunSetup:
    """What surrounds one run of a block, or one question to a model."""

    run: RunId
    place: str
    settings: Settings
    options: Options
    listener: Listener
    meter: Meter
    model: Model
    """The model behind all its layers."""
    interceptors: tuple[OpenInterceptor, ...]
    """Those that are asked about each effect, innermost first."""
    record: DecisionRecord | None
    """What the recording holds of their decisions, if there is one."""
    parent: RunId | None

    @property
    def protocol(self) -> Protocol:
        return self.options.protocol or self.model.protocol


_current_run: ContextVar[RunId | None] = ContextVar("njrt.session.run_setup", default=None)
_run_numbers = itertools.count(1)
_process_id = os.urandom(4).hex()


def make_run_id() -> RunId:
    """Return a name for a run that is unique among all processes."""
    return f"{_process_id}-{next(_run_numbers)}"


def get_current_run() -> RunId | None:
    """Return the run of the innermost block around this point, if there is one."""
    return _current_run.get()


def enter_run(run: RunId) -> Token[RunId | None]:
    """Make a run the innermost one in this context; `leave_run` takes the token back."""
    return _current_run.set(run)


def leave_run(token: Token[RunId | None]) -> None:
    """Make the run around the innermost one again, unless an abandoned coroutine is closed in another context."""
    try:
        _current_run.reset(token)
    except ValueError:
        return


def set_up_run(
    place: str,
    options: Mapping[str, Any],
    project: Mapping[str, Any] | None,
    is_static: bool = False,
) -> RunSetup:
    """Resolve the settings, options and model of one run at a place (`njrt.llm` if none is known).

    A run of static code needs no model.
    """
    try:
        settings = get_settings()
        merged = resolve_options(options, project, settings.options, place or "njrt.llm")
        run, listener = make_run_id(), get_listener(settings)
        meter = Meter(read_limits(merged), place=place, around=list_open_meters())
        recorder = find_recorder(settings, os.environ)
        record = DecisionRecord(recorder) if recorder else None
        layers: list[Layer] = [Metered(meter), Notified(run, listener)]
        layers += [record] if record else []
        model = (
            LayeredModel(NO_MODEL, tuple(layers))
            if is_static
            else make_layered_model(settings, merged, *layers)
        )
        if settings.predictor:
            predictor = share_budgets(model, settings.predictor)
            steps = settings.steps
            settings = replace(
                settings, predictor=steps.wrap_model(predictor) if steps else predictor
            )
    except NaturalError as error:
        raise add_place(error, place or "njrt.llm") from None
    interceptors = list_interceptors(settings.interceptors)
    parent = get_current_run()
    return RunSetup(
        run, place, settings, merged, listener, meter, model, interceptors, record, parent
    )


def add_place(error: NaturalError, place: str) -> NaturalError:
    """Record on an error of the runtime which blocks it left (`place` is that of the innermost)."""
    error.place = error.place or place
    add_place_note(error, place)
    return error


def add_place_note(error: BaseException, place: str) -> None:
    """Note on an exception which block it leaves; a block is noted once."""
    note = f"natural block at {place}"
    with suppress(Exception):  # a class of the program may refuse notes
        if note not in getattr(error, "__notes__", ()):
            BaseException.add_note(error, note)


def make_ending_error(decision: Abort | Pause, interceptor: str, setup: RunSetup) -> NaturalError:
    """Return the error of a decision that ends a block."""
    where = setup.place or "njrt.llm"
    if isinstance(decision, Pause):
        path = setup.record.path if setup.record else None
        way = (
            f"run the program again with the recording {path} to continue"
            if path
            else "there is no recording from which it could continue; make one with NJC_RECORD=new:FILE"
        )
        paused = Paused(f"{where}: paused by the interceptor `{interceptor}`; {way}")
        paused.recording = path
        return paused
    return decision.error or PolicyError(f"{where}: aborted by the interceptor `{interceptor}`")

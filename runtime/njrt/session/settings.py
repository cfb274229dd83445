"""What surrounds every block: settings of the process, of a `with` statement, of the environment.

    with njrt.using(model=Scripted([...])):          in tests: every block inside asks this model
        triage(mailbox)

    with njrt.using(record="recordings/triage.jsonl", max_calls=3):
        triage(mailbox)

    NJC_RECORD=none:recordings/triage.jsonl          the same for a whole process, without touching it

What a `with` sets is stronger than what a block, a file, the environment or the project says.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from njrt.context import Around
from njrt.errors import ConfigurationError
from njrt.events import Listener
from njrt.messages import Protocol, Reply, Request
from njrt.models.choose import model_for
from njrt.models.model import Layer, Model
from njrt.observability.listeners import listener_for
from njrt.options import DEFAULTS, ENVIRONMENT, Options, nearest, options_in, options_of

if TYPE_CHECKING:
    from njrt.persistence.recorder import Mode, Recorder
    from njrt.persistence.store import Store

NOTHING = Options()


@dataclass(frozen=True, slots=True)
class Settings:
    """What surrounds a block, beside its own options; None where nothing is said."""

    model: Model | None = None
    options: Options = NOTHING
    recorder: Recorder | None = None
    cache: bool | str | Path | None = None
    trace: str | None = None
    examples: str | None = None


NO_SETTINGS = Settings()

_settings: Around[Settings] = Around("njrt.session.settings")


@contextmanager
def using(
    *,
    model: Model | str | None = None,
    record: str | Path | Recorder | None = None,
    mode: Mode = "once",
    cache: bool | str | Path | None = None,
    trace: str | Path | None = None,
    examples: str | Path | None = None,
    **options: Any,
) -> Iterator[None]:
    """Run the blocks inside with these settings.

    `model` is a model (`njrt.Scripted([...])`) or the name of one; `record` is the path of a recording,
    replayed and made as `mode` says; `cache` is True, False or the cache's folder; `trace` is the path of a
    trace file, `examples` that of a file of examples for `njc static --learn`; every other keyword is an
    option of blocks. It holds for everything called inside, and for
    threads started inside as long as the `with` is open.
    """
    if isinstance(model, str):
        options, model = {**options, "model": model}, None
    around = settings_here()
    recorder = recorder_of(record, mode)
    here = Settings(
        model or around.model,
        nearest(options_of(options, "njrt.using"), around.options),
        recorder or around.recorder,
        around.cache if cache is None else cache,
        around.trace if trace is None else str(trace),
        around.examples if examples is None else str(examples),
    )
    with _settings.opened(here):
        try:
            yield
        finally:
            if recorder is not None and recorder is not record:
                recorder.close()


def recorder_of(record: str | Path | Recorder | None, mode: Mode) -> Recorder | None:
    """The recorder that is given, or the one of a path."""
    if record is None:
        return None
    from njrt.persistence.recorder import Recorder

    return record if isinstance(record, Recorder) else Recorder(record, mode)


def settings_here() -> Settings:
    """The settings of the innermost `with using` around this point of the program."""
    around = _settings.here()
    return around[-1] if around else NO_SETTINGS


def options_for(
    block: Mapping[str, Any], project: Mapping[str, Any] | None, settings: Settings, place: str
) -> Options:
    """All options of a block: `using`, then the block and its file, environment, project, defaults."""
    environment = tuple((variable, os.environ.get(variable, "")) for variable in ENVIRONMENT)
    layers = (settings.options, typed(block), environment, typed(project or {}), place)
    try:
        return merged(*layers)
    except TypeError:  # a value that cannot be hashed is no option's, and is refused by name
        return merged.__wrapped__(*layers)


Said = tuple[tuple[str, Any, type], ...]
"""Options and their values as they were said; the types keep `1` and `True` apart."""


def typed(options: Mapping[str, Any]) -> Said:
    """Options in a form that can be remembered."""
    return tuple((name, value, type(value)) for name, value in options.items())


@lru_cache(maxsize=1024)
def merged(
    using: Options,
    block: Said,
    environment: tuple[tuple[str, str], ...],
    project: Said,
    place: str,
) -> Options:
    """The options of one place; a block that runs again, mostly in a loop, finds them here."""
    return nearest(
        using,
        options_of({name: value for name, value, _ in block}, place),
        options_in(dict(environment)),
        options_of({name: value for name, value, _ in project}, "[tool.njc]"),
        DEFAULTS,
    )


def recorder_for(settings: Settings, environ: Mapping[str, str]) -> Recorder | None:
    """The recording that is replayed or made here: that of a `with using`, or of NJC_RECORD.

    NJC_RECORD=off is neither. It leaves alone what asks a model of its own, as tests do with `using(model=Scripted([...]))`.
    """
    if settings.recorder is not None or settings.model is not None:
        return settings.recorder
    said = environ.get("NJC_RECORD")
    return recorder_said(said) if said and said != "off" else None


@lru_cache(maxsize=64)
def recorder_said(said: str) -> Recorder:
    """The recorder that `NJC_RECORD=MODE[:PATH]` asks for; one for the whole process."""
    from njrt.persistence.recorder import Mode, Recorder

    mode, _, path = said.partition(":")
    if mode not in get_args(Mode):
        raise ConfigurationError(
            "NJC_RECORD must be off, MODE or MODE:PATH, "
            f"with MODE one of {', '.join(get_args(Mode))}, not {said!r}"
        )
    return Recorder(path or default_recording(), mode)  # type: ignore[arg-type]


def default_recording() -> str:
    """Where a program's recording is, if nothing else is said: `recordings/PROGRAM.jsonl`."""
    program = getattr(sys.modules.get("__main__"), "__file__", None) or "program"
    return str(Path("recordings") / f"{Path(program).stem}.jsonl")


@dataclass(frozen=True, slots=True)
class Deferred:
    """A model that is chosen when it is first asked: behind a recording, mostly never."""

    choose: Callable[[], Model]
    protocol: Protocol
    name: str = "recorded"

    def ask(self, request: Request) -> Reply:
        return self.choose().ask(request)

    async def aask(self, request: Request) -> Reply:
        return await self.choose().aask(request)


def model_here(settings: Settings, options: Options, recorder: Recorder | None) -> Model:
    """The model that a block asks: one that is given, the recorded one, or the one that its options choose."""

    def chosen() -> Model:
        return settings.model or model_for(options, os.environ)

    if recorder is None:
        return chosen()
    return Deferred(chosen, recorder.protocol or options.protocol or chosen().protocol)


def layers_here(
    settings: Settings, options: Options, model: Model, recorder: Recorder | None
) -> tuple[Layer, ...]:
    """What stands between a block and its model: the recording, then the cache, where there are any."""
    recording = (recorder,) if recorder is not None else ()
    folder = cache_folder(settings, options, os.environ)
    if not folder:
        return recording
    from njrt.persistence.cache import Cache

    return (*recording, Cache(store_in(folder), f"{model.name} {options.base_url or ''}".strip()))


def cache_folder(settings: Settings, options: Options, environ: Mapping[str, str]) -> str | None:
    """Where the cache is, or None where there is none.

    It is off unless `using(cache=...)` or NJC_CACHE=on asks for it; the `nightjar` effects include it, as
    published, unless NJC_CACHE=off says no. A model that the program itself hands in, such as a script, is
    cached only when the program says so, too.
    """
    said = settings.cache
    if said is None:
        text = environ.get("NJC_CACHE", "").lower()
        if text not in ("", *_ON, *_OFF):
            raise ConfigurationError(f"NJC_CACHE must be on or off, not {text!r}")
        wanted = text in _ON or (options.effects == "nightjar" and text not in _OFF)
        said = wanted and settings.model is None
    if said is True:
        return ".njc_cache"
    return str(said) if said else None


_ON = ("on", "1", "true", "yes")
_OFF = ("off", "0", "false", "no")


@lru_cache(maxsize=16)
def store_in(folder: str) -> Store:
    """The store of replies in a folder; one for the whole process."""
    from njrt.persistence.store import Store  # and with it sqlite3

    return Store(folder)


def listener_here(settings: Settings) -> Listener:
    """Whoever is told of what happens in blocks: accounts, log, spans, and the trace file if there is one."""
    return listener_for(settings.trace or os.environ.get("NJC_TRACE") or None)

"""The settings around a block: those of a `with` statement, of the environment, of the project.

    with njrt.using(model=Scripted([...])):          in tests: every block inside asks this model
        triage(mailbox)

    with njrt.using(record="recordings/triage.jsonl", max_calls=3):
        triage(mailbox)

    NJC_RECORD=none:recordings/triage.jsonl          the same for a whole process, from outside

What a `with` sets takes precedence over a block, a file, the environment and the project.
"""

from __future__ import annotations

import os
import sys
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from njrt.context import Around
from njrt.decisions import Interceptor, OpenInterceptor, get_interceptor_name
from njrt.errors import ConfigurationError
from njrt.events import Listener, combine_listeners
from njrt.messages import Protocol, Reply, Request
from njrt.models.adapt import adapt_model
from njrt.models.choose import choose_model
from njrt.models.model import Layer, LayeredModel, Model
from njrt.observability.listeners import make_listener, make_safe_listener
from njrt.options import (
    DEFAULTS,
    ENVIRONMENT_VARIABLES,
    OFF_WORDS,
    ON_WORDS,
    Options,
    make_options,
    merge_option_layers,
    read_environment_options,
)
from njrt.private_files import find_cache_folder

if TYPE_CHECKING:
    from njrt.budgets.budget import Budget
    from njrt.budgets.budgeted import Budgeted, OpenBudget
    from njrt.budgets.ledger import Ledger
    from njrt.canary.block_state import CanaryStore
    from njrt.persistence.recorder import Recorder, RecordMode
    from njrt.persistence.reply_store import ReplyStore

EMPTY_OPTIONS = Options()

ModelWrapper = Callable[[Model], Model]


class DurableSteps(typing.Protocol):
    """Stores what is done inside a workflow, so that it is not done again after a crash."""

    def wrap_model(self, model: Model) -> Model:
        """The model, whose calls are steps."""

    def wrap_interceptor(self, decide: Interceptor, name: str) -> Interceptor:
        """The function of an interceptor, whose decisions are steps."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What surrounds a block, besides its own options; None where nothing is set."""

    model: Model | None = None
    options: Options = EMPTY_OPTIONS
    recorder: Recorder | None = None
    cache: bool | str | Path | None = None
    trace: str | None = None
    examples: str | None = None
    interceptors: tuple[OpenInterceptor, ...] = ()
    """Those of all `with using` around, outermost first."""
    predictor: Model | None = None
    """The model that predicts effects."""
    budgets: tuple[OpenBudget, ...] = ()
    """Those of all `with using` around."""
    wrap: ModelWrapper | None = None
    """Applied to every model that a block asks, below the layers."""
    steps: DurableSteps | None = None
    """What makes model calls and decisions steps, inside a workflow (`njrt.durable`)."""


NO_SETTINGS = Settings()

_open_settings: Around[Settings] = Around("njrt.session.settings")


@contextmanager
def using(
    *,
    model: Model | str | None = None,
    record: str | Path | Recorder | None = None,
    mode: RecordMode = "once",
    cache: bool | str | Path | None = None,
    trace: str | Path | None = None,
    examples: str | Path | None = None,
    intercept: Interceptor | None = None,
    ask_again: bool = False,
    predict: Model | str | None = None,
    manifest: str | Path | None = None,
    budget: Budget | str | Sequence[Budget] | None = None,
    **options: Any,
) -> Iterator[None]:
    """Run the blocks inside with these settings.

    `model` is a model (`njrt.Scripted([...])`, a model object of PydanticAI) or the name of one; `record` is the path of
    a recording, or `store:NAME`, replayed and made according to `mode`; `cache` is True, False, the cache's folder or the URL of a store; `trace` is the path of
    a trace file, or `store:NAME`, `examples` that of a file of examples for `njc static --learn`; `intercept` is called with each
    `PendingEffect` and decides about it, before those of the `with using` around, and with `ask_again` also
    where the recording has its decision; `manifest` is a lock file whose manifest is enforced
    (`njrt.approval.manifest`); `predict` is a model, or the name of one, that predicts what each effect does to the
    variables (`njrt.prediction`); `budget` is a `Budget`, several, or their text, in addition
    to those around; every other keyword is an option of blocks. The settings hold for everything
    called inside, and for threads started inside while the `with` is open.
    """
    if isinstance(model, str):
        options, model = {**options, "model": model}, None
    around = get_settings()
    recorder = make_recorder(record, mode, options.get("store") or around.options.store)
    interceptors = around.interceptors
    if intercept is not None:
        opened = OpenInterceptor(get_interceptor_name(intercept), intercept, ask_again)
        interceptors = (*interceptors, opened)
    if manifest is not None:
        from njrt.approval.manifest import read_manifest

        # It is the outermost one, so that it decides about what others have edited.
        enforced = OpenInterceptor("manifest", read_manifest(manifest), asks_again=True)
        interceptors = (enforced, *interceptors)
    opened_budgets = open_budgets(budget)
    here = Settings(
        around.model if model is None else adapt_model(model),
        merge_option_layers(make_options(options, "njrt.using"), around.options),
        recorder or around.recorder,
        around.cache if cache is None else cache,
        around.trace if trace is None else str(trace),
        around.examples if examples is None else str(examples),
        interceptors,
        choose_predictor(predict, around),
        around.budgets + opened_budgets,
        around.wrap,
        around.steps,
    )
    with _open_settings.opened(here):
        try:
            yield
        finally:
            if recorder is not None and recorder is not record:
                recorder.close()
            for opened_budget in opened_budgets:
                opened_budget.close()


@contextmanager
def open_steps(steps: DurableSteps) -> Iterator[None]:
    """Make model calls and decisions steps inside a `with`: that of a workflow."""
    with _open_settings.opened(replace(get_settings(), steps=steps)):
        yield


def open_budgets(budget: Budget | str | Sequence[Budget] | None) -> tuple[OpenBudget, ...]:
    """The budgets of a `with`, given as `Budget`s or as text."""
    if budget is None:
        return ()
    from njrt.budgets.budget import Budget, parse_budgets
    from njrt.budgets.budgeted import open_budget

    if isinstance(budget, str):
        budget = parse_budgets(budget, in_code=True)
    budgets = (budget,) if isinstance(budget, Budget) else tuple(budget)
    for given in budgets:
        if not isinstance(given, Budget):
            raise ConfigurationError(
                f"njrt.using: budget must be a Budget, several, or a text, not {given!r}"
            )
    return tuple(map(open_budget, budgets))


@contextmanager
def open_settings(settings: Settings) -> Iterator[None]:
    """Have blocks inside use exactly these settings."""
    with _open_settings.opened(settings):
        yield


@contextmanager
def wrapping(wrap: ModelWrapper) -> Iterator[None]:
    """Have blocks inside ask `wrap(model)` in place of each model that they choose."""
    with _open_settings.opened(replace(get_settings(), wrap=wrap)):
        yield


def choose_predictor(predict: Model | str | None, around: Settings) -> Model | None:
    """The model that predicts effects: the given one, one of a name, or that of the `with using` around."""
    if predict is None:
        return around.predictor
    if not isinstance(predict, str):
        return adapt_model(predict)
    named = make_options({"model": predict}, "njrt.using")
    environment = read_environment_options(dict(read_option_variables()))
    return choose_model(merge_option_layers(named, environment, DEFAULTS), os.environ)


def make_recorder(
    record: str | Path | Recorder | None, mode: RecordMode, store: str | None
) -> Recorder | None:
    """The given recorder, or a new one for a path, or for a name in the store of a URL."""
    if record is None:
        return None
    from njrt.persistence.recorder import Recorder

    return record if isinstance(record, Recorder) else open_recorder(record, mode, store)


def open_recorder(path: str | Path, mode: RecordMode, store: str | None = None) -> Recorder:
    """A recorder for a path; NJC_RECORD_TO has it go on in a copy below another folder, NJC_DRIFT note mismatches."""
    from njrt.persistence.recorder import Recorder
    from njrt.persistence.recording_place import name_copy

    if folder := os.environ.get("NJC_RECORD_TO"):
        return Recorder(Path(folder) / name_copy(str(path)), "new")
    return Recorder(path, mode, store=store, drift=os.environ.get("NJC_DRIFT") or None)


def get_settings() -> Settings:
    """The settings of the innermost `with using` around this point of the program."""
    around = _open_settings.here()
    return around[-1] if around else NO_SETTINGS


def resolve_options(
    block: Mapping[str, Any], project: Mapping[str, Any] | None, settings: Settings, place: str
) -> Options:
    """All options of a block: `using`, then the block and its file, environment, project, defaults."""
    layers = (
        settings.options,
        freeze_options(block),
        read_option_variables(),
        freeze_options(project or {}),
        place,
    )
    try:
        return merge_options(*layers)
    except TypeError:  # an unhashable value: no option has one, and it is refused by name
        return merge_options.__wrapped__(*layers)


def read_option_variables() -> tuple[tuple[str, str], ...]:
    """The environment variables of options that are set.

    `os.environ` raises an exception inside for each name that is not set, which would cost more than the rest of
    `resolve_options`; the dict that it wraps does not.
    """
    wrapped = getattr(os.environ, "_data", None)
    if wrapped is None:
        return tuple(
            (name, os.environ[name]) for name in ENVIRONMENT_VARIABLES if name in os.environ
        )
    return tuple((name, os.environ[name]) for key, name in _ENVIRONMENT_KEYS if key in wrapped)


_ENVIRONMENT_KEYS = tuple(
    (name.encode() if os.name == "posix" else name, name) for name in ENVIRONMENT_VARIABLES
)

FrozenOptions = tuple[tuple[str, Any, type], ...]
"""Options and their values; the types keep `1` and `True` apart."""


def freeze_options(options: Mapping[str, Any]) -> FrozenOptions:
    """Options as a hashable key."""
    return tuple((name, value, type(value)) for name, value in options.items())


@lru_cache(maxsize=1024)
def merge_options(
    using: Options,
    block: FrozenOptions,
    environment: tuple[tuple[str, str], ...],
    project: FrozenOptions,
    place: str,
) -> Options:
    """The options of one place, remembered for blocks that run again."""
    return merge_option_layers(
        using,
        make_options({name: value for name, value, _ in block}, place),
        read_environment_options(dict(environment)),
        make_options({name: value for name, value, _ in project}, "[tool.njc]"),
        DEFAULTS,
    )


def find_recorder(settings: Settings, environ: Mapping[str, str]) -> Recorder | None:
    """The recording that is replayed or made here: that of a `with using`, or of NJC_RECORD.

    NJC_RECORD=off means none. NJC_RECORD does not apply to blocks whose model is given by `using(model=...)`.
    """
    if settings.recorder is not None or settings.model is not None:
        return settings.recorder
    text = environ.get("NJC_RECORD")
    return get_environment_recorder(text) if text and text != "off" else None


@lru_cache(maxsize=64)
def get_environment_recorder(text: str) -> Recorder:
    """The recorder that `NJC_RECORD=MODE[:PATH]` asks for; one for the whole process."""
    from njrt.persistence.recorder import RecordMode

    mode, _, path = text.partition(":")
    if mode not in get_args(RecordMode):
        raise ConfigurationError(
            "NJC_RECORD must be off, MODE or MODE:PATH, "
            f"with MODE one of {', '.join(get_args(RecordMode))}, not {text!r}"
        )
    return open_recorder(path or make_default_recording_path(), mode)  # type: ignore[arg-type]


def make_default_recording_path() -> str:
    """The recording of a program if no path is given: `recordings/PROGRAM.jsonl`."""
    program = getattr(sys.modules.get("__main__"), "__file__", None) or "program"
    return str(Path("recordings") / f"{Path(program).stem}.jsonl")


@dataclass(frozen=True, slots=True)
class DeferredModel:
    """A model that is chosen when it is first asked; behind a complete recording it never is."""

    choose: Callable[[], Model]
    protocol: Protocol
    name: str = "recorded"

    def ask(self, request: Request) -> Reply:
        return self.choose().ask(request)

    async def aask(self, request: Request) -> Reply:
        return await self.choose().aask(request)


def make_layered_model(settings: Settings, options: Options, *outer: Layer) -> LayeredModel:
    """The model that a block asks, behind the `outer` layers, the recording and the cache, where there are any.

    It is the one that is given, the recorded one, or the one that the options choose.
    """

    def choose() -> Model:
        model = settings.model or choose_model(options, os.environ)
        return model if settings.wrap is None else settings.wrap(model)

    layers: list[Layer] = []
    if (recorder := find_recorder(settings, os.environ)) is None:
        model = choose()
    else:
        protocol = recorder.protocol or options.protocol or choose().protocol
        recorder.use_protocol(protocol)
        model = DeferredModel(choose, protocol)
        layers.append(recorder)
    if place := find_cache_place(settings, options, os.environ):
        from njrt.persistence.cache import Cache

        name = f"{model.name} {options.base_url or ''}".strip()
        layers.append(Cache(get_reply_store(place), name))
    if budgeted := make_budget_layer(settings, options, choose):
        layers.append(budgeted)
    if settings.steps is None:
        return LayeredModel(model, (*outer, *layers))
    # A stored reply is taken before recording, cache and budgets are asked.
    return LayeredModel(settings.steps.wrap_model(LayeredModel(model, tuple(layers))), outer)


def make_budget_layer(
    settings: Settings, options: Options, choose: Callable[[], Model]
) -> Budgeted | None:
    """The layer of all budgets here: of `with using`, of the option, and of NJC_BUDGET whatever the option is."""
    texts = {options.budget, os.environ.get("NJC_BUDGET")} - {None, ""}
    if not settings.budgets and not texts:
        return None
    from njrt.budgets.budget import parse_budgets
    from njrt.budgets.budgeted import Budgeted, open_budget

    named = [budget for text in texts for budget in parse_budgets(text or "")]
    budgets = (*settings.budgets, *map(open_budget, dict.fromkeys(named)))
    find_ledger = partial(get_ledger, options.store)
    return Budgeted(budgets, find_ledger, choose, options.tenant or "")


@lru_cache(maxsize=16)
def get_canary_store(url: str | None) -> CanaryStore:
    """The states of canaries in the store of a URL; one for the whole process."""
    from njrt.canary.block_state import CanaryStore
    from njrt.persistence.open_store import get_store

    return CanaryStore(get_store(url, os.environ))


@lru_cache(maxsize=16)
def get_ledger(url: str | None) -> Ledger:
    """The accounts of budgets in the store of a URL; one for the whole process."""
    from njrt.budgets.ledger import Ledger
    from njrt.persistence.open_store import get_store

    return Ledger(get_store(url, os.environ))


def share_budgets(model: Model, other: Model) -> Model:
    """`other` behind the same budgets as `model`, whose run it is part of."""
    from njrt.budgets.budgeted import Budgeted

    layers: list[Layer] = []
    inner: Model | None = model
    while inner is not None:
        found = inner.layers if isinstance(inner, LayeredModel) else ()
        layers += [layer.move_to(other) for layer in found if isinstance(layer, Budgeted)]
        inner = getattr(inner, "model", None)
    return LayeredModel(other, tuple(layers)) if layers else other


def find_cache_place(
    settings: Settings, options: Options, environ: Mapping[str, str]
) -> str | None:
    """The folder of the cache, or the URL of the store that has it; None where there is no cache.

    It is off unless `using(cache=...)` or NJC_CACHE=on turns it on; the `nightjar` effects include it, as
    published, unless NJC_CACHE=off. A model given by `using(model=...)` is cached only by `using(cache=...)`.
    """
    cache = settings.cache
    if cache is None:
        text = environ.get("NJC_CACHE", "").lower()
        if text not in ("", *ON_WORDS, *OFF_WORDS):
            raise ConfigurationError(f"NJC_CACHE must be on or off, not {text!r}")
        is_on = text in ON_WORDS or (options.effects == "nightjar" and text not in OFF_WORDS)
        cache = is_on and settings.model is None
    if cache is True:
        if options.store:
            from njrt.persistence.open_store import make_store_url

            return make_store_url(options.store)
        return str(find_cache_folder(environ))
    return str(cache) if cache else None


@lru_cache(maxsize=16)
def get_reply_store(place: str) -> ReplyStore:
    """The store of replies in a folder, or at the URL of a store; one for the whole process."""
    from njrt.persistence.open_store import get_store, is_store_url  # and with them sqlite3
    from njrt.persistence.reply_store import SHARED_PREFIX, ReplyStore, open_reply_store

    if is_store_url(place):
        return ReplyStore(get_store(place, os.environ), SHARED_PREFIX)
    return open_reply_store(place)


def get_listener(settings: Settings) -> Listener:
    """The listener to what happens in blocks: accounts, log, spans, and the trace file if there is one."""
    trace = settings.trace or os.environ.get("NJC_TRACE") or None
    if trace is None or not trace.startswith("store:"):
        return make_listener(trace)
    url = settings.options.store or os.environ.get("NJC_STORE") or None
    return combine_listeners(make_listener(), get_stored_trace(trace, url))


@lru_cache(maxsize=16)
def get_stored_trace(trace: str, url: str | None) -> Listener:
    """The listener that appends to a trace in the store of a URL."""
    from njrt.persistence.open_store import get_store
    from njrt.persistence.stored_trace import PLACE_PREFIX, StoredTrace

    name = trace.removeprefix(PLACE_PREFIX)
    return make_safe_listener(StoredTrace(get_store(url, os.environ), name))

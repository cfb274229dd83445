"""The settings around a block, from a `with` statement, the environment and the project.

    with njrt.using(record="recordings/triage.jsonl", max_calls=3):
        triage(mailbox)

    NJC_RECORD=none:recordings/triage.jsonl        a recording for a whole process, set from outside

A `with` statement takes precedence over a block, its file, the environment and the project.
"""

from __future__ import annotations

import atexit
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, unquote

from njrt.data.context import Stack, allow_one_entry, open_approvals
from njrt.data.decisions import Interceptor, OpenInterceptor, get_interceptor_name, is_observer
from njrt.data.options import (
    BUILD_OPTIONS,
    DEFAULTS,
    ENVIRONMENT_VARIABLES,
    RECORD_MODES,
    Options,
    make_options,
    merge_option_layers,
    read_environment_options,
)
from njrt.data.options.removed import VARIABLES as REMOVED_VARIABLES
from njrt.data.records import field, fields, record
from njrt.errors import ConfigurationError
from njrt.events import Listener
from njrt.execution.gates import CallRules, nest_rules, read_call_rules
from njrt.interface import Interface
from njrt.log.listeners import make_listener
from njrt.models.model import Model
from njrt.models.wrapped import adapt_model

if TYPE_CHECKING:
    from njrt.data.options.budget import Budget
    from njrt.log.recorder import Recorder

EMPTY_OPTIONS = Options()


@record
class Settings:
    """The settings around a block, besides its own options; None if nothing is set."""

    model: Model | None = None
    options: Options = EMPTY_OPTIONS
    recorder: Recorder | None = None
    cache: bool | str | Path | None = None
    trace: str | None = None
    interceptors: tuple[OpenInterceptor, ...] = ()
    """The interceptors of all enclosing `with using`, outermost first."""
    budgets: tuple[Budget, ...] = ()
    """The budgets of all enclosing `with using`."""
    calls: CallRules = field(default_factory=dict)
    """The rules for calls by contained code, from all enclosing `with using`."""
    interface: Interface | None = None
    """The interface of blocks that name none."""


NO_SETTINGS = Settings()

_open_settings: Stack[Settings] = Stack("njrt.settings")
_process_layers: dict[str, AbstractContextManager[Settings]] = {}
"""The open settings of the whole process: a tool's, such as a debugger's, and the program's."""
_process_settings: dict[str, Settings] = {"tool": NO_SETTINGS, "program": NO_SETTINGS}


@record
class GivenSettings:
    """The arguments of `using`."""

    model: Model | str | None = None
    record: str | Path | Recorder | None = None
    cache: bool | str | Path | None = None
    trace: str | Path | None = None
    intercept: Interceptor | None = None
    budget: Budget | str | Sequence[Budget] | None = None
    calls: Iterable[Callable[..., Any]] | CallRules | None = None
    interface: Interface | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@allow_one_entry
@contextmanager
def using(
    *,
    model: Model | str | None = None,
    record: str | Path | Recorder | None = None,
    cache: bool | str | Path | None = None,
    trace: str | Path | None = None,
    intercept: Interceptor | None = None,
    budget: Budget | str | Sequence[Budget] | None = None,
    calls: Iterable[Callable[..., Any]] | CallRules | None = None,
    interface: Interface | None = None,
    **options: Any,
) -> Iterator[None]:
    """Run the blocks inside with these settings, also in tasks; `carry` takes them into threads.

    :param model: A model (`njrt.Scripted([...])`, a PydanticAI model object) or the name of one.
    :param record: The path of a recording, perhaps after `MODE:`: `once`
        (default), `none`, `new` or `all`.
    :param cache: True, False, the cache's folder or the URL of a store.
    :param trace: The path of a trace file.
    :param intercept: Decides about each `PendingEffect`, before enclosing interceptors.
    :param budget: A `Budget`, several, or their text, in addition to the enclosing budgets.
    :param calls: Functions that contained code calls through the gate, or a dict to `CallRule`s.
    :param interface: The interface of all blocks inside that name none of their own.
    :param options: Options of blocks.
    """
    given = GivenSettings(model, record, cache, trace, intercept, budget, calls, interface, options)
    with (
        open_layer(given, get_settings(), "njrt.using") as layer,
        _open_settings.opened(nest_settings(get_open_settings(), layer)),
        open_approvals.opened(None) if is_approval(layer) else nullcontext(),
    ):
        yield


def is_approval(layer: Settings) -> bool:
    """Return whether somebody decides about effects or calls; a debugger only observes."""
    return bool(layer.calls) or not all(map(is_observer, layer.interceptors))


def configure(**settings: Any) -> None:
    """Set what holds for all blocks of this process, in every thread: the arguments of `using`.

    They are around every `with using`. A later call replaces them; `njrt.configure()` removes them.
    """
    options = {name: value for name, value in settings.items() if name not in _ARGUMENTS}
    arguments = {name: value for name, value in settings.items() if name in _ARGUMENTS}
    configure_layer("program", GivenSettings(**arguments, options=options))


_ARGUMENTS = frozenset(each.name for each in fields(GivenSettings)) - {"options"}


def configure_layer(name: Literal["tool", "program"], given: GivenSettings) -> None:
    """Replace the settings of the whole process that a tool or the program has set."""
    layer = open_layer(given, _process_settings["tool"], "njrt.configure")
    settings = layer.__enter__()
    if not _process_layers:
        atexit.register(_close_layers)
    before = _process_layers.pop(name, None)
    _process_layers[name] = layer
    _process_settings[name] = NO_SETTINGS if settings == NO_SETTINGS else settings
    if before is not None:
        before.__exit__(None, None, None)


def _close_layers() -> None:
    for layer in _process_layers.values():
        layer.__exit__(None, None, None)


@contextmanager
def open_layer(given: GivenSettings, around: Settings, name: str) -> Iterator[Settings]:
    """Open what the arguments of `using` or `configure` give, and close it at the end.

    Raises ConfigurationError, with the function's `name`, if an argument is wrong.
    """
    options, model, record = dict(given.options), given.model, given.record
    check_arguments(given, name)
    if isinstance(model, str):
        options, model = {**options, "model": model}, None
    if (store := options.get("store")) is not None:
        options["store"] = anchor(store) if isinstance(store, str) else _name_store(store)
    recorder: Recorder | None
    if isinstance(record, str | os.PathLike):
        recorder = open_recorder(str(record))
    else:
        recorder = record
    interceptors: tuple[OpenInterceptor, ...] = ()
    if (intercept := given.intercept) is not None:
        interceptors = (OpenInterceptor(get_interceptor_name(intercept), intercept),)
    cache, trace = given.cache, given.trace
    try:
        yield Settings(
            None if model is None else adapt_model(model),
            make_options(options, name),
            recorder,
            cache if cache is None or isinstance(cache, bool) else anchor(cache),
            None if trace is None else anchor(trace),
            interceptors,
            read_budgets(given.budget),
            read_call_rules(given.calls),
            given.interface,
        )
    finally:
        if recorder is not None and recorder is not record:
            recorder.close()


def nest_settings(outer: Settings, inner: Settings) -> Settings:
    """Return the settings inside two layers: the inner ones count, approvals and budgets add up."""
    return Settings(
        outer.model if inner.model is None else inner.model,
        merge_option_layers(inner.options, outer.options),
        inner.recorder or outer.recorder,
        outer.cache if inner.cache is None else inner.cache,
        outer.trace if inner.trace is None else inner.trace,
        outer.interceptors + inner.interceptors,
        outer.budgets + inner.budgets,
        nest_rules(outer.calls, inner.calls),
        outer.interface if inner.interface is None else inner.interface,
    )


def is_path(value: Any) -> bool:
    """Return whether a value is a file's or folder's path, or a text that names another place."""
    return isinstance(value, str | os.PathLike) and bool(os.fspath(value))


def check_arguments(given: GivenSettings, name: str) -> None:
    """Raise ConfigurationError for the first argument of `using` that is neither None nor valid."""
    if given.options.get("mode") in RECORD_MODES:
        raise ConfigurationError(
            f"{name}: the mode of a recording is a part of its name:"
            f' record="{given.options["mode"]}:{given.record or "PATH"}"'
        )
    if ignored := [option for option in BUILD_OPTIONS if option in given.options]:
        raise ConfigurationError(
            f"{name}: the option `{ignored[0]}` counts when a program is compiled; set it on the"
            " block, or in [tool.njc]"
        )
    record, cache, trace = given.record, given.cache, given.trace
    interface = given.interface
    is_recorder = is_path(record) or hasattr(record, "take_decision")
    is_cache = isinstance(cache, bool) or cache == "" or is_path(cache)
    for argument, value, is_right, expected in (
        ("record", record, is_recorder, "a path or a Recorder"),
        ("cache", cache, is_cache, "True, False, a folder or a URL"),
        ("trace", trace, trace == "" or is_path(trace), "a path"),
        ("intercept", given.intercept, callable(given.intercept), "a function"),
        ("interface", interface, isinstance(interface, Interface), "an njrt.Interface"),
    ):
        if value is not None and not is_right:
            raise ConfigurationError(f"{name}: {argument} must be {expected}, not {value!r}")


def anchor(place: str | Path) -> str:
    """Make a path, also in `sqlite:///FILE`, absolute and safe from `os.chdir`; keep other URLs."""
    text = str(place)
    if text.startswith("sqlite:///") and (path := unquote(text[10:])):
        return f"sqlite:///{quote(anchor(path))}"
    is_unchanged = not text or text.startswith("~") or re.match(r"\w[\w+.-]+:", text)
    return text if is_unchanged else os.path.abspath(text)


anchor_once = lru_cache(maxsize=64)(anchor)
"""The same for a path in the environment, which is resolved when it is first used."""


def _name_store(store: Any) -> str:
    from njrt.log.open_store import name_store  # and with it sqlite3

    return name_store(store)


def read_budgets(budget: Budget | str | Sequence[Budget] | None) -> tuple[Budget, ...]:
    """Return the budgets of a `with`, given as `Budget`s or as text."""
    if budget is None:
        return ()
    from njrt.data.options.budget import Budget, parse_budgets

    if isinstance(budget, str):
        return parse_budgets(budget)
    budgets = tuple(budget) if isinstance(budget, Iterable) else (budget,)
    if others := [given for given in budgets if not isinstance(given, Budget)]:
        raise ConfigurationError(f"njrt.using: budget must be a Budget or text, not {others[0]!r}")
    return budgets


def get_open_settings() -> Settings:
    """Return the settings of the innermost `with using` around this point of the program."""
    return _open_settings.innermost() or NO_SETTINGS


def get_settings() -> Settings:
    """Return all settings that hold here: of the process, and of the `with` statements around."""
    settings = _open_settings.innermost() or NO_SETTINGS
    for layer in (_process_settings["program"], _process_settings["tool"]):
        if layer is not NO_SETTINGS:
            settings = nest_settings(layer, settings)
    return settings


def has_budget_elsewhere() -> bool:
    """Return whether a budget is open in this process, but none here."""
    return not get_open_settings().budgets and any(
        settings.budgets for settings in _open_settings.list_everywhere()
    )


def get_listener(settings: Settings, environ: Mapping[str, str] = os.environ) -> Listener:
    """Return the listener for blocks' events: accounts, log, spans, and any trace file."""
    trace = settings.trace or anchor_once(environ.get("NJC_TRACE") or "") or None
    if trace is not None and ":" in trace:
        from njrt.log.recording_place import refuse_store

        refuse_store(trace)
    return make_listener(trace)


# ── recordings ───────────────────────────────────────────────────────────────────────────────────


def open_recorder(text: str) -> Recorder:
    """Return a recorder for `PATH` or `MODE:PATH`; the mode is `once` otherwise."""
    from njrt.log.recorder import Recorder

    start, _, path = text.partition(":")
    mode = next((mode for mode in RECORD_MODES if mode == start), None)
    if (mode and not path) or start == "off":
        raise ConfigurationError(f"name the recording beside its mode: MODE:PATH, not {text!r}")
    return Recorder(path if mode else text, mode or "once")


@lru_cache(maxsize=64)
def get_environment_recorder(text: str) -> Recorder:
    """Return the process's recorder for `NJC_RECORD=MODE[:PATH]`, by default in `recordings/`."""
    mode, _, path = text.partition(":")
    if mode not in RECORD_MODES:
        modes = ", ".join(RECORD_MODES)
        raise ConfigurationError(
            f"NJC_RECORD must be off, MODE or MODE:PATH, with MODE one of {modes}, not {text!r}"
        )
    program = getattr(sys.modules.get("__main__"), "__file__", None) or "program"
    usual = str(Path("recordings") / f"{Path(program).stem}.jsonl")
    return open_recorder(f"{mode}:{path or usual}")


# ── options ──────────────────────────────────────────────────────────────────────────────────────


def resolve_options(
    block: FrozenOptions,
    project: FrozenOptions,
    using: Options,
    place: str,
    environ: Mapping[str, str] | None = None,
) -> Options:
    """Return a block's options: `using`, the block, its file, environment, project, defaults."""
    environ = read_environment() if environ is None else environ
    layers = (
        using,
        block,
        tuple(environ.items()),
        project,
        place,
    )
    try:
        return merge_options(*layers)
    except TypeError:  # an unhashable value, which no option has; it is refused by name
        return merge_options.__wrapped__(*layers)


def read_environment() -> Mapping[str, str]:
    """Return the environment variables of njrt that are set.

    `os.environ` internally raises an exception for each name that is not set; the dict that it
    wraps does not.
    """
    wrapped = getattr(os.environ, "_data", None)
    if wrapped is None:
        return os.environ
    return {os.fsdecode(name): os.fsdecode(wrapped[name]) for name in wrapped.keys() & _KEYS}


_OPTION_VARIABLES = frozenset((*ENVIRONMENT_VARIABLES, *REMOVED_VARIABLES))
_KEYS = frozenset(
    name.encode() if os.name == "posix" else name
    for name in (
        *_OPTION_VARIABLES,
        *("NJC_BUDGET", "NJC_CACHE", "NJC_RECORD", "NJC_STORE", "NJC_TRACE"),
    )
)

FrozenOptions = tuple[tuple[str, Any, type], ...]
"""Options and their values; the types keep `1` and `True` apart."""


def freeze_options(options: Mapping[str, Any] | None) -> FrozenOptions:
    """Return options as a hashable key."""
    return tuple([(name, value, type(value)) for name, value in options.items()]) if options else ()


@lru_cache(maxsize=1024)
def merge_options(
    using: Options,
    block: FrozenOptions,
    environment: tuple[tuple[str, str], ...],
    project: FrozenOptions,
    place: str,
) -> Options:
    """Return the options at one place, cached for blocks that run again."""
    return merge_option_layers(
        using,
        make_options({name: value for name, value, _ in block}, place),
        read_environment_options(dict(environment)),
        make_options({name: value for name, value, _ in project}, "[tool.njc]"),
        DEFAULTS,
    )

"""Installation checks: problems that prevent running natural code, and how to fix them.

    ok    python      3.11.9
    ok    model       openai/gpt-4.1
    fail  key         OPENAI_API_KEY is not set; set it to a key for https://api.openai.com/v1
    warn  extras      openai 2.1; without anthropic, otel; pip install "njpy[all]" installs the rest

`diagnose` changes nothing and shows no keys.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Literal

from njc.project.config import PROJECT_VARIABLES, Project, apply_environment
from njrt.block.session.layered_model import find_cache_place, find_recorder
from njrt.block.session.settings import NO_SETTINGS
from njrt.data.options import (
    BUILD_OPTIONS,
    DEFAULTS,
    ENVIRONMENT_VARIABLES,
    Options,
    merge_option_layers,
    read_environment_options,
)
from njrt.data.options.budget import parse_budgets
from njrt.data.options.removed import DROPPED, VARIABLES, find_removed
from njrt.data.records import record
from njrt.data.similar import find_similar
from njrt.errors import ConfigurationError, NaturalError, NoModelError, PolicyError
from njrt.log.open_store import get_store
from njrt.messages import Request, UserMessage
from njrt.models.choose import choose_model
from njrt.models.model import Model
from njrt.models.remote import RemoteModel
from njrt.models.server import OWN_KEY_VARIABLE
from njrt.models.wrapped import list_inner_models

CheckStatus = Literal["ok", "warn", "fail"]

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "pydantic-ai": ("pydantic-ai-slim",),
    "static": ("tomlkit",),
    "otel": ("opentelemetry-api",),
    "notebook": ("ipython",),
    "lsp": ("pygls",),
    "mcp": ("mcp",),
}
"""The extras that a program or a command may need, and the packages that each installs."""

RUNTIME_VARIABLES: Mapping[str, str] = {
    "NJC_ALLOW_HTTP": "`on`: send keys by plain HTTP to other machines too.",
    "NJC_API_KEY": "The key for the server at `base_url`.",
    "NJC_CACHE": "The variable: `on` or `off`.",
    "NJC_RECORD": "The variable: `MODE` or `MODE:PATH`; the mode `off` records nothing.",
    "NJC_REPLACE_MODEL": (
        "`OLD=NEW`: ask the model NEW in place of OLD; without OLD, of every model."
    ),
    "NJC_STORE_SECRET": (
        "The key that signs entries of a store, and checks them when they are read."
    ),
    "NJC_TRACE": "",
}
"""The runtime's variables that are not block options, with their meaning beyond `njrt.using`."""


@record
class HealthCheck:
    """The result of a check; the command exits with the smallest `exit_code` above 0."""

    check: str
    status: CheckStatus
    says: str
    exit_code: int = 0


@record
class HostEnvironment:
    """The inputs of the checks; `flags` are nearer than the environment, `project` is not."""

    python: tuple[int, int, int]
    environ: Mapping[str, str]
    flags: Options
    project: Options
    version_of: Callable[[str], str | None]
    obstacle: str | None = None
    """Why this system cannot contain code."""

    @property
    def merged_options(self) -> Options:
        """The options of a block that sets none."""
        environment = read_environment_options(self.environ)
        return merge_option_layers(self.flags, environment, self.project, DEFAULTS)


def list_remote_models(model: Model) -> tuple[RemoteModel, ...]:
    """Return the remote models in `model`, including those inside wrappers."""
    here = (model,) if isinstance(model, RemoteModel) else ()
    inner = map(list_remote_models, list_inner_models(model))
    return here + tuple(remote for remotes in inner for remote in remotes)


def diagnose(host: HostEnvironment, is_offline: bool) -> Iterator[HealthCheck]:
    """Run the checks one by one; offline, no model is asked."""
    yield HealthCheck("python", "ok", ".".join(map(str, host.python)))
    yield _check_extras(host)
    yield _check_policy(host)
    yield from _check_variables(host)
    try:
        model = choose_model(host.merged_options, host.environ)
    except ConfigurationError as error:
        yield _report_missing_model(host, error)
    except Exception as error:  # of a module of the project, which makes the model
        says = f"{host.merged_options.model}: {type(error).__name__}: {error}"
        yield HealthCheck("model", "fail", says, ConfigurationError.exit_code)
    else:
        yield HealthCheck("model", "ok", model.name)
        for remote in list_remote_models(model):
            yield _check_key(host, remote)
            if not is_offline:
                yield from _report_failure("round trip", partial(_check_round_trip, remote))
    yield from _report_failure("store", partial(_check_store, host))


def _report_failure(name: str, check: Callable[[], HealthCheck | None]) -> Iterator[HealthCheck]:
    """Yield a check's result, if it has one; an error that it raises becomes a failure."""
    try:
        result = check()
    except NaturalError as error:
        result = HealthCheck(name, "fail", str(error), error.exit_code)
    if result is not None:
        yield result


def _check_extras(host: HostEnvironment) -> HealthCheck:
    versions = {each: host.version_of(each) for packages in EXTRAS.values() for each in packages}
    installed = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    missing = [name for name, packages in EXTRAS.items() if not all(map(versions.get, packages))]
    if not missing:
        return HealthCheck("extras", "ok", installed)
    status: CheckStatus = "ok" if versions["openai"] or versions["anthropic"] else "warn"
    way = f'pip install "njpy[{",".join(missing)}]" if you need them'
    says = f"{installed or 'none'}; without {', '.join(missing)}: {way}"
    return HealthCheck("extras", status, says)


def _check_policy(host: HostEnvironment) -> HealthCheck:
    """Check whether this system can contain code, as far as the policy of the project needs it."""
    try:
        policy = host.merged_options.policy or "auto"
    except ConfigurationError:  # reported with the variables
        policy = None
    if host.obstacle is None:
        return HealthCheck("policy", "ok", f"{policy}; this system can contain code")
    says = f"{policy}; this system cannot contain code: {host.obstacle}"
    match policy:
        case "contained":
            way = 'use Linux, or set policy="auto" to run blocks guarded where it is not possible'
            return HealthCheck("policy", "fail", f"{says}; {way}", PolicyError.exit_code)
        case "auto":
            return HealthCheck("policy", "warn", f"{says}, so all blocks run guarded")
    return HealthCheck("policy", "ok", says)


def _check_variables(host: HostEnvironment) -> Iterator[HealthCheck]:
    """Check the names and values of the `NJC_*` variables."""
    known = {*ENVIRONMENT_VARIABLES, *PROJECT_VARIABLES, *RUNTIME_VARIABLES}
    words = [name.removeprefix("NJC_") for name in known]
    for name in sorted(host.environ):
        if removed := VARIABLES.get(name):
            if removed in DROPPED:  # others are errors, below
                yield HealthCheck("variable", "warn", f"{name}: {find_removed(removed)}")
        elif name.startswith("NJC_") and name not in known:
            close = find_similar(name.removeprefix("NJC_"), words)
            hint = f"did you mean NJC_{close}?" if close else "unset it"
            yield HealthCheck("variable", "warn", f"{name} is unknown and has no effect; {hint}")
        elif (option := ENVIRONMENT_VARIABLES.get(name)) in BUILD_OPTIONS:
            way = f"set `{option}` in [tool.njc], or give the build --set {option}=VALUE"
            yield HealthCheck("variable", "warn", f"{name} has no effect on a build; {way}")
    readers: tuple[Callable[[Mapping[str, str]], object], ...] = (
        read_environment_options,
        lambda environ: apply_environment(Project(), environ),
        lambda environ: parse_budgets(environ.get("NJC_BUDGET") or ""),
        lambda _: [parse_budgets(it.budget or "") for it in (host.flags, host.project)],
        lambda environ: find_recorder(NO_SETTINGS, environ),
        lambda environ: find_cache_place(NO_SETTINGS, Options(), environ),
    )
    found = ""
    for read in readers:
        try:
            read(host.environ)
        except ConfigurationError as error:
            if str(error) not in found:  # a budget is also an option
                yield HealthCheck("variable", "fail", str(error), error.exit_code)
            found += str(error)


def _report_missing_model(host: HostEnvironment, error: ConfigurationError) -> HealthCheck:
    replays = host.environ.get("NJC_RECORD", "").startswith("none")
    if isinstance(error, NoModelError) and replays:
        return HealthCheck("model", "warn", "none; none is needed, as NJC_RECORD=none only replays")
    return HealthCheck("model", "fail", str(error), error.exit_code)


def _check_key(host: HostEnvironment, remote: RemoteModel) -> HealthCheck:
    if remote.name.startswith("pydantic-ai:"):
        return HealthCheck("key", "ok", "left to PydanticAI, which has found the settings it needs")
    variable, url = remote.server.key_variable, remote.server.url
    if host.environ.get(variable):
        return HealthCheck("key", "ok", f"{variable} is set")
    if variable == OWN_KEY_VARIABLE:
        return HealthCheck("key", "ok", f"{variable} is not set; most own servers need no key")
    return HealthCheck("key", "fail", f"{variable} is not set; set it to a key for {url}", 2)


def _check_round_trip(remote: RemoteModel) -> HealthCheck:
    request = Request(
        system="You help to test a connection.",
        messages=(UserMessage("Answer with the word: ok"),),
        max_reply_tokens=16,
        timeout=60.0,
    )
    began = time.monotonic()
    reply = remote.ask(request)
    seconds = time.monotonic() - began
    return HealthCheck("round trip", "ok", f"{reply.model} answered in {seconds:.2f} s")


def _check_store(host: HostEnvironment) -> HealthCheck | None:
    """Check whether the store that the options choose answers; the default store is not opened."""
    if (url := host.merged_options.store) is None:
        return None
    store = get_store(url, host.environ)
    store.get("doctor")
    return HealthCheck("store", "ok", f"{store.name} answers")

"""What is in the way of running natural code here: one verdict for each thing that must be right.

    ok    python      3.11.9
    ok    model       openai/gpt-4.1, because NJC_MODEL says so
    fail  key         OPENAI_API_KEY is not set; set it to a key for https://api.openai.com/v1
    warn  extras      openai 2.1; without anthropic, otel; pip install "njpy[all]" installs the rest

`diagnose` only looks: it changes nothing, and shows no key. What it asks of the network comes in as `Network`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from njc.sandbox.bubblewrap import list_remote_models
from njrt.errors import ConfigurationError, ModelError, NaturalError, NoModelError
from njrt.messages import Request, UserMessage
from njrt.models.choose import DEFAULT_MODELS, choose_model
from njrt.models.remote import RemoteModel
from njrt.options import DEFAULTS, Options, merge_option_layers, read_environment_options
from njrt.session.settings import NO_SETTINGS, find_cache_folder, find_recorder

CheckStatus = Literal["ok", "warn", "fail"]

EXTRAS: Mapping[str, tuple[str, ...]] = {
    "openai": ("openai",),
    "anthropic": ("anthropic",),
    "static": ("libcst", "black"),
    "watch": ("watchfiles",),
    "otel": ("opentelemetry-api",),
}
"""The extras of njpy that a program or a command may need, and the packages that they install."""

OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """What was found of one thing; `exit_code` is that of the whole, if nothing worse is found."""

    check: str
    status: CheckStatus
    says: str
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """All that the verdicts depend on, but for the network.

    `options` are those of the command line and of the project, each with the name of its place, nearest first.
    `version_of` gives the version of an installed package, or None.
    """

    python: tuple[int, int, int]
    environ: Mapping[str, str]
    folder: Path
    options: tuple[tuple[str, Options], ...]
    version_of: Callable[[str], str | None]
    sandbox: str | None = None
    """Why this machine cannot make a sandbox; None if it can."""

    @property
    def merged_options(self) -> Options:
        """The options that hold for a block which says nothing itself."""
        (_, flags), *further = self.options
        environment = read_environment_options(self.environ)
        return merge_option_layers(flags, environment, *(each for _, each in further), DEFAULTS)


UrlProbe = Callable[[str], None]
"""Sends one plain request to a URL; returns if anything answers, and raises OSError if not."""


def diagnose(here: HostEnvironment, knock: UrlProbe | None) -> Iterator[HealthCheck]:
    """Look at one thing after the other; without `knock` leave out what needs the network."""
    yield _check_python(here)
    yield _check_extras(here)
    try:
        model = choose_model(here.merged_options, here.environ)
    except ConfigurationError as error:
        yield _report_missing_model(here, error)
    else:
        yield HealthCheck("model", "ok", f"{model.name}, {_explain_model_choice(here)}")
        for remote in list_remote_models(model):
            yield from _check_remote(here, remote, knock)
    yield _check_cache(here)
    yield _check_recording(here)
    if here.sandbox is None:
        yield HealthCheck("sandbox", "ok", "`njc run --sandbox` works here")
    else:
        yield HealthCheck("sandbox", "warn", f"`njc run --sandbox` is unavailable: {here.sandbox}")


def _check_python(here: HostEnvironment) -> HealthCheck:
    version = ".".join(map(str, here.python))
    if here.python[:2] >= OLDEST_PYTHON:
        return HealthCheck("python", "ok", version)
    needed = ".".join(map(str, OLDEST_PYTHON))
    return HealthCheck(
        "python", "fail", f"{version} is too old; install Python {needed} or newer", 2
    )


def _check_extras(here: HostEnvironment) -> HealthCheck:
    versions = {
        package: here.version_of(package) for packages in EXTRAS.values() for package in packages
    }
    there = ", ".join(f"{package} {version}" for package, version in versions.items() if version)
    lacking = [
        extra for extra, packages in EXTRAS.items() if not all(versions[each] for each in packages)
    ]
    if not lacking:
        return HealthCheck("extras", "ok", there)
    status: CheckStatus = "ok" if versions["openai"] or versions["anthropic"] else "warn"
    return HealthCheck(
        "extras",
        status,
        f"{there or 'none'}; without {', '.join(lacking)}: "
        f'pip install "njpy[{",".join(lacking)}]" if you need them',
    )


def _report_missing_model(here: HostEnvironment, error: ConfigurationError) -> HealthCheck:
    replays = here.environ.get("NJC_RECORD", "").startswith("none")
    if isinstance(error, NoModelError) and replays:
        return HealthCheck(
            "model", "warn", "none, and none is needed: NJC_RECORD=none only replays"
        )
    return HealthCheck("model", "fail", str(error), error.exit_code)


def _explain_model_choice(here: HostEnvironment) -> str:
    """Say why this model is chosen."""
    environment = read_environment_options(here.environ)
    (flags_place, flags), *further = here.options
    places = ((flags_place, flags), ("NJC_MODEL", environment), *further)
    for place, options in places:
        if options.model:
            return f"because {place} says so"
    for place, options in ((flags_place, flags), *further):
        if options.base_url:
            return f"because {place} names its server"
    for vendor in DEFAULT_MODELS:
        if here.environ.get(variable := f"{vendor.upper()}_API_KEY"):
            return f"because nothing names a model and {variable} is set"
    return "because NJC_BASE_URL names its server"


def _check_remote(
    here: HostEnvironment, remote: RemoteModel, knock: UrlProbe | None
) -> Iterator[HealthCheck]:
    """Look at a model behind a server: its key, its server, one question to it."""
    yield _check_key(here, remote)
    if knock is None:
        return
    began = time.monotonic()
    try:
        knock(remote.server.url)
    except OSError as error:
        says = f"nothing answers at {remote.server.url} ({error}); check the URL and that it runs"
        yield HealthCheck("endpoint", "fail", says, 3)
        return
    says = f"{remote.server.url} answers in {time.monotonic() - began:.2f} s"
    yield HealthCheck("endpoint", "ok", says)
    yield _check_round_trip(remote)


def _check_key(here: HostEnvironment, remote: RemoteModel) -> HealthCheck:
    variable, url = remote.server.key_variable, remote.server.url
    key = here.environ.get(variable)
    if key and key != key.strip():
        says = f"{variable} begins or ends with blanks; set it again without them"
        return HealthCheck("key", "warn", says)
    if key:
        return HealthCheck("key", "ok", f"{variable} is set")
    if variable == "OPENAI_API_KEY" and here.merged_options.base_url:
        return HealthCheck(
            "key", "ok", f"none set ({variable}), as servers of one's own mostly need none"
        )
    return HealthCheck("key", "fail", f"{variable} is not set; set it to a key for {url}", 2)


def _check_round_trip(remote: RemoteModel) -> HealthCheck:
    request = Request(
        system="You help to test a connection.",
        messages=(UserMessage("Answer with the word: ok"),),
        max_reply_tokens=16,
        timeout=60.0,
    )
    began = time.monotonic()
    try:
        reply = remote.ask(request)
    except ModelError as error:
        return HealthCheck("round trip", "fail", str(error), error.exit_code)
    seconds, usage = time.monotonic() - began, reply.usage
    price = "price unknown" if usage.usd is None else f"${usage.usd:.6f}"
    return HealthCheck(
        "round trip",
        "ok",
        f"{reply.model} answered in {seconds:.2f} s: {usage.input} tokens in, {usage.output} out, {price}",
    )


def _check_cache(here: HostEnvironment) -> HealthCheck:
    try:
        folder = find_cache_folder(NO_SETTINGS, here.merged_options, here.environ)
    except NaturalError as error:
        return HealthCheck("cache", "fail", str(error), error.exit_code)
    if folder is None:
        return HealthCheck("cache", "ok", "off; NJC_CACHE=on turns it on")
    if obstacle := find_write_obstacle(here.folder / folder):
        return HealthCheck("cache", "warn", f"{obstacle}; programs run without it")
    return HealthCheck("cache", "ok", f"on, in {folder}")


def _check_recording(here: HostEnvironment) -> HealthCheck:
    try:
        recorder = find_recorder(NO_SETTINGS, here.environ)
    except NaturalError as error:
        return HealthCheck("recording", "fail", str(error), error.exit_code)
    if recorder is None:
        obstacle = find_write_obstacle(here.folder / "recordings")
        says = obstacle or "off; NJC_RECORD=once:PATH makes one and replays it from then on"
        return HealthCheck("recording", "warn" if obstacle else "ok", says)
    # Without a path it depends on the program where the recording is: only the folder is known.
    is_named = ":" in here.environ["NJC_RECORD"]
    path = here.folder / (recorder.path if is_named else recorder.path.parent)
    if recorder.mode == "none":
        if path.exists():
            return HealthCheck("recording", "ok", f"replays {path}")
        says = (
            f"{path} is not there to be replayed; make it with NJC_RECORD=once:{path} and a model"
        )
        return HealthCheck("recording", "fail", says, 3)
    if obstacle := find_write_obstacle(path.parent if is_named else path):
        return HealthCheck("recording", "fail", obstacle, 2)
    return HealthCheck("recording", "ok", f"{recorder.mode}, in {path}")


def find_write_obstacle(folder: Path) -> str | None:
    """Say why nothing can be written in `folder`, there already or not; None where it can."""
    found = next(each for each in (folder, *folder.parents) if each.exists())
    if not found.is_dir():
        return f"{found} is a file where a folder is needed; remove or rename it"
    if not os.access(found, os.W_OK | os.X_OK):
        return f"{found} cannot be written to; change its permissions, or run elsewhere"
    return None

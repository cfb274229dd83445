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

from njc.sandbox.bubblewrap import remotes_in
from njrt.errors import ConfigurationError, ModelError, NaturalError, NoModelError
from njrt.messages import Request, UserMessage
from njrt.models.choose import DEFAULT_MODELS, model_for
from njrt.models.remote import Remote
from njrt.options import DEFAULTS, Options, nearest, options_in
from njrt.session.settings import NO_SETTINGS, cache_folder, recorder_for

Status = Literal["ok", "warn", "fail"]

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
class Verdict:
    """What was found of one thing; `exit_code` is that of the whole, if nothing worse is found."""

    check: str
    status: Status
    says: str
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Surroundings:
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
    """Why there can be no sandbox here; None where there can."""

    @property
    def merged(self) -> Options:
        """The options that hold for a block which says nothing itself."""
        (_, flags), *further = self.options
        environment = options_in(self.environ)
        return nearest(flags, environment, *(each for _, each in further), DEFAULTS)


Knock = Callable[[str], None]
"""Sends one plain request to a URL; returns if anything answers, and raises OSError if not."""


def diagnose(here: Surroundings, knock: Knock | None) -> Iterator[Verdict]:
    """Look at one thing after the other; without `knock` leave out what needs the network."""
    yield _python(here)
    yield _extras(here)
    try:
        model = model_for(here.merged, here.environ)
    except ConfigurationError as error:
        yield _no_model(here, error)
    else:
        yield Verdict("model", "ok", f"{model.name}, {_reason(here)}")
        for remote in remotes_in(model):
            yield from _remote(here, remote, knock)
    yield _cache(here)
    yield _recording(here)
    if here.sandbox is None:
        yield Verdict("sandbox", "ok", "`njc run --sandbox` works here")
    else:
        yield Verdict("sandbox", "warn", f"`njc run --sandbox` does not: {here.sandbox}")


def _python(here: Surroundings) -> Verdict:
    version = ".".join(map(str, here.python))
    if here.python[:2] >= OLDEST_PYTHON:
        return Verdict("python", "ok", version)
    needed = ".".join(map(str, OLDEST_PYTHON))
    return Verdict("python", "fail", f"{version} is too old; install Python {needed} or newer", 2)


def _extras(here: Surroundings) -> Verdict:
    versions = {
        package: here.version_of(package) for packages in EXTRAS.values() for package in packages
    }
    there = ", ".join(f"{package} {version}" for package, version in versions.items() if version)
    lacking = [
        extra for extra, packages in EXTRAS.items() if not all(versions[each] for each in packages)
    ]
    if not lacking:
        return Verdict("extras", "ok", there)
    status: Status = "ok" if versions["openai"] or versions["anthropic"] else "warn"
    return Verdict(
        "extras",
        status,
        f"{there or 'none'}; without {', '.join(lacking)}: "
        f'pip install "njpy[{",".join(lacking)}]" if you need them',
    )


def _no_model(here: Surroundings, error: ConfigurationError) -> Verdict:
    replays = here.environ.get("NJC_RECORD", "").startswith("none")
    if isinstance(error, NoModelError) and replays:
        return Verdict("model", "warn", "none, and none is needed: NJC_RECORD=none only replays")
    return Verdict("model", "fail", str(error), error.exit_code)


def _reason(here: Surroundings) -> str:
    """Say why this model is chosen."""
    environment = options_in(here.environ)
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


def _remote(here: Surroundings, remote: Remote, knock: Knock | None) -> Iterator[Verdict]:
    """Look at a model behind a server: its key, its server, one question to it."""
    yield _key(here, remote)
    if knock is None:
        return
    began = time.monotonic()
    try:
        knock(remote.server.url)
    except OSError as error:
        says = f"nothing answers at {remote.server.url} ({error}); check the URL and that it runs"
        yield Verdict("endpoint", "fail", says, 3)
        return
    says = f"{remote.server.url} answers in {time.monotonic() - began:.2f} s"
    yield Verdict("endpoint", "ok", says)
    yield _round_trip(remote)


def _key(here: Surroundings, remote: Remote) -> Verdict:
    variable, url = remote.server.key_variable, remote.server.url
    key = here.environ.get(variable)
    if key and key != key.strip():
        says = f"{variable} begins or ends with blanks; set it again without them"
        return Verdict("key", "warn", says)
    if key:
        return Verdict("key", "ok", f"{variable} is set")
    if variable == "OPENAI_API_KEY" and here.merged.base_url:
        return Verdict(
            "key", "ok", f"none set ({variable}), as servers of one's own mostly need none"
        )
    return Verdict("key", "fail", f"{variable} is not set; set it to a key for {url}", 2)


def _round_trip(remote: Remote) -> Verdict:
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
        return Verdict("round trip", "fail", str(error), error.exit_code)
    seconds, usage = time.monotonic() - began, reply.usage
    price = "price unknown" if usage.usd is None else f"${usage.usd:.6f}"
    return Verdict(
        "round trip",
        "ok",
        f"{reply.model} answered in {seconds:.2f} s: {usage.input} tokens in, {usage.output} out, {price}",
    )


def _cache(here: Surroundings) -> Verdict:
    try:
        folder = cache_folder(NO_SETTINGS, here.merged, here.environ)
    except NaturalError as error:
        return Verdict("cache", "fail", str(error), error.exit_code)
    if folder is None:
        return Verdict("cache", "ok", "off; NJC_CACHE=on turns it on")
    if obstacle := obstacle_to_writing(here.folder / folder):
        return Verdict("cache", "warn", f"{obstacle}; programs run without it")
    return Verdict("cache", "ok", f"on, in {folder}")


def _recording(here: Surroundings) -> Verdict:
    try:
        recorder = recorder_for(NO_SETTINGS, here.environ)
    except NaturalError as error:
        return Verdict("recording", "fail", str(error), error.exit_code)
    if recorder is None:
        obstacle = obstacle_to_writing(here.folder / "recordings")
        says = obstacle or "off; NJC_RECORD=once:PATH makes one and replays it from then on"
        return Verdict("recording", "warn" if obstacle else "ok", says)
    # Without a path it depends on the program where the recording is: only the folder is known.
    is_named = ":" in here.environ["NJC_RECORD"]
    path = here.folder / (recorder.path if is_named else recorder.path.parent)
    if recorder.mode == "none":
        if path.exists():
            return Verdict("recording", "ok", f"replays {path}")
        says = (
            f"{path} is not there to be replayed; make it with NJC_RECORD=once:{path} and a model"
        )
        return Verdict("recording", "fail", says, 3)
    if obstacle := obstacle_to_writing(path.parent if is_named else path):
        return Verdict("recording", "fail", obstacle, 2)
    return Verdict("recording", "ok", f"{recorder.mode}, in {path}")


def obstacle_to_writing(folder: Path) -> str | None:
    """Say why nothing can be written in `folder`, there already or not; None where it can."""
    found = next(each for each in (folder, *folder.parents) if each.exists())
    if not found.is_dir():
        return f"{found} is a file where a folder is needed; remove or rename it"
    if not os.access(found, os.W_OK | os.X_OK):
        return f"{found} cannot be written to; change its permissions, or run elsewhere"
    return None

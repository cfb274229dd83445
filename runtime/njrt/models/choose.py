"""Choose the `Model` from the options and the environment.

    model="openai/gpt-4.1"                            OpenAI("gpt-4.1")
    model="local", base_url="http://…/v1"             OpenAI("local", base_url="http://…/v1")
    model="pydantic-ai:groq:llama-3.3-70b-versatile"  PydanticAI("groq:llama-3.3-70b-versatile")
    model="python:shop.models:small"                  shop.models.open_model("small")
    model="openai/gpt-4.1,anthropic/…"                FallbackModel((OpenAI(…), Anthropic(…)))
    no option, ANTHROPIC_API_KEY=…                    Anthropic(DEFAULT_MODELS["anthropic"])

Equal choices share one model and its connections. A key is sent only to the server that it was
configured for: OPENAI_API_KEY to OPENAI_BASE_URL or else to OpenAI, ANTHROPIC_API_KEY likewise,
NJC_API_KEY to NJC_BASE_URL.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from njrt.data.context import free_in_child
from njrt.data.options import (
    DEFAULTS,
    ON_WORDS,
    Options,
    merge_option_layers,
    read_environment_options,
)
from njrt.errors import ConfigurationError, NoModelError, find_opener
from njrt.models.model import Model
from njrt.models.retry_and_fallback import FallbackModel
from njrt.models.wrapped import adapt_model

DEFAULT_MODELS: Mapping[str, str] = {"anthropic": "claude-sonnet-5-5", "openai": "gpt-6-sol"}
"""The model to use for each vendor if its key is set and no model is configured."""

NO_MODEL_MESSAGE = (
    "no model is configured; set one of ANTHROPIC_API_KEY, OPENAI_API_KEY or NJC_BASE_URL (the URL"
    " of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1), name a model in NJC_MODEL,"
    " in `[tool.njc] model` or on the block, or replay a recording"
)

_models: dict[tuple[object, ...], Model] = {}
_models_lock = free_in_child(threading.RLock())


def get_model(name: str | None = None, *, base_url: str | None = None) -> Model:
    """Return the model with this name, or the environment's model, shared by the whole process.

    Raises `ConfigurationError` if no model has this name, and `NoModelError` if none is configured.
    """
    environment = read_environment_options(os.environ)
    options = merge_option_layers(Options(model=name, base_url=base_url), environment, DEFAULTS)
    return choose_model(options, os.environ)


def choose_model(options: Options, environ: Mapping[str, str]) -> Model:
    """Return the model that `options` choose, else the first with a key or server in `environ`."""
    if not (names := list_model_names(options, environ)):
        return _choose_default(options.base_url, environ)
    models = tuple(_choose_named(name, options.base_url, environ) for name in names)
    return models[0] if len(models) == 1 else FallbackModel(models)


def list_model_names(options: Options, environ: Mapping[str, str]) -> list[str]:
    """Return the configured model names, with fallbacks last; empty for a vendor's default."""
    names = [name for part in (options.model or "").split(",") if (name := part.strip())]
    old, _, new = environ.get("NJC_REPLACE_MODEL", "").partition("=")
    if new and not old:
        return [new]
    if new and (not names or old in names):
        return [new if name == old else name for name in names] or [new]
    return names


def _choose_default(base_url: str | None, environ: Mapping[str, str]) -> Model:
    # A server that was named takes precedence over keys: nothing must go to a vendor unasked.
    if url := base_url or environ.get("NJC_BASE_URL"):
        return _get_openai(None, url, environ)
    if environ.get("ANTHROPIC_API_KEY"):
        return _get_anthropic(DEFAULT_MODELS["anthropic"], environ)
    if environ.get("OPENAI_API_KEY"):
        return _get_openai(DEFAULT_MODELS["openai"], None, environ)
    raise NoModelError(NO_MODEL_MESSAGE)


def _choose_named(name: str, base_url: str | None, environ: Mapping[str, str]) -> Model:
    match name.split(":", 1):
        case ["pydantic-ai", model] if model:
            from njrt.models.pydantic_ai import PydanticAI

            return _share(("pydantic-ai", model), lambda: PydanticAI(model))
        case ["python", place] if place:
            return _get_own_model(place)
    match name.split("/", 1):
        case ["anthropic", model] if model:
            return _get_anthropic(model, environ)
        case ["openai", model] if model:
            return _get_openai(model, base_url, environ)
    if base_url:
        return _get_openai(name, base_url, environ)
    raise ConfigurationError(
        f"no vendor is known for model `{name}`; write openai/NAME, anthropic/NAME,"
        " pydantic-ai:VENDOR:NAME or python:MODULE:NAME, or set a base_url for your own server"
    )


def find_server_key(base_url: str, environ: Mapping[str, str]) -> str | None:
    """Return the key that is configured for the server at `base_url`, or None."""
    from njrt.models.openai import VENDOR_URL
    from njrt.models.server import OWN_KEY_VARIABLE

    key = environ.get(OWN_KEY_VARIABLE)
    if key and have_same_origin(base_url, environ.get("NJC_BASE_URL", "")):
        return key
    if have_same_origin(base_url, environ.get("OPENAI_BASE_URL") or VENDOR_URL):
        return environ.get("OPENAI_API_KEY")
    return None


def have_same_origin(url: str, other: str) -> bool:
    """Return whether two URLs have the same scheme, host and port, written alike."""
    with suppress(ValueError):
        return urlsplit(url.lower())[:2] == urlsplit(other.lower())[:2]
    return False


def _get_openai(model: str | None, base_url: str | None, environ: Mapping[str, str]) -> Model:
    from njrt.models.openai import OpenAI

    key = find_server_key(base_url, environ) if base_url else environ.get("OPENAI_API_KEY")
    urls = {"base_url": base_url, "vendor_url": environ.get("OPENAI_BASE_URL")}
    return _share_model(OpenAI, model, key, environ, **urls)


def _get_anthropic(model: str, environ: Mapping[str, str]) -> Model:
    from njrt.models.anthropic import Anthropic

    key, url = environ.get("ANTHROPIC_API_KEY"), environ.get("ANTHROPIC_BASE_URL")
    return _share_model(Anthropic, model, key, environ, vendor_url=url)


def _get_own_model(place: str) -> Model:
    def open_model() -> Model:
        opener = find_opener("model", place, f"`python:{place}`")
        return adapt_model(opener(place.partition(":")[2]))

    return _share(("python", place), open_model)


def _share_model(
    make: Callable[..., Model],
    model: str | None,
    key: str | None,
    environ: Mapping[str, str],
    **urls: str | None,
) -> Model:
    allow_http = environ.get("NJC_ALLOW_HTTP", "").lower() in ON_WORDS
    choice = (make, model, key, allow_http, *urls.values())
    return _share(choice, lambda: make(model, key=key or None, allow_http=allow_http, **urls))


def _share(choice: tuple[object, ...], make: Callable[[], Model]) -> Model:
    with _models_lock:
        if choice not in _models:
            _models[choice] = make()
        return _models[choice]

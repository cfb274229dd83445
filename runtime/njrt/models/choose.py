"""Which model answers: from what is configured to the `Model` itself.

    model="openai/gpt-4.1"                            OpenAI("gpt-4.1")
    model="anthropic/claude-sonnet-5-5"               Anthropic("claude-sonnet-5-5")
    model="local", base_url="http://…/v1"             OpenAI("local", base_url="http://…/v1")
    base_url="http://…/v1"                            OpenAI(None, base_url="http://…/v1"), its first model
    model="openai/gpt-4.1,anthropic/…"                Fallback((OpenAI(…), Anthropic(…)))
    nothing, but ANTHROPIC_API_KEY=…                  Anthropic(DEFAULT_MODELS["anthropic"])
    nothing at all                                    NoModelError

A base_url is always that of a server which speaks OpenAI's chat completions; `anthropic/…` has no use for
one. Models are made once for each choice and then shared, with their connections.
"""

from __future__ import annotations

import difflib
import threading
from collections.abc import Mapping

from njrt.errors import ConfigurationError, NoModelError
from njrt.models.fallback import FallbackModel
from njrt.models.model import Model
from njrt.options import Options

DEFAULT_MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6-sol",
}
"""The model of each vendor that is asked where a key is there, but no model is configured."""

NO_MODEL_MESSAGE = (
    "no model is configured; set one of ANTHROPIC_API_KEY, OPENAI_API_KEY or NJC_BASE_URL (the URL of an "
    "OpenAI-compatible server, such as http://127.0.0.1:8000/v1), name a model in NJC_MODEL, in "
    "`[tool.njc] model` or on the block, or replay a recording"
)

_models: dict[tuple[str | None, ...], Model] = {}
_models_lock = threading.Lock()


def choose_model(options: Options, environ: Mapping[str, str]) -> Model:
    """The model that `options` choose, or else the first for which `environ` has a key or a server."""
    base_url = options.base_url
    names = [name for part in (options.model or "").split(",") if (name := part.strip())]
    if not names:
        return _choose_default(base_url, environ)
    models = tuple(_choose_named(name, base_url, environ) for name in names)
    return models[0] if len(models) == 1 else FallbackModel(models)


def _choose_default(base_url: str | None, environ: Mapping[str, str]) -> Model:
    # A server that somebody has chosen for this very program comes before the keys that lie around.
    if base_url and base_url != environ.get("NJC_BASE_URL"):
        return _get_openai(None, base_url, environ)
    if environ.get("ANTHROPIC_API_KEY"):
        return _get_anthropic(DEFAULT_MODELS["anthropic"], environ)
    if environ.get("OPENAI_API_KEY"):
        return _get_openai(DEFAULT_MODELS["openai"], None, environ)
    if url := base_url or environ.get("NJC_BASE_URL"):
        return _get_openai(None, url, environ)
    raise NoModelError(NO_MODEL_MESSAGE)


def _choose_named(name: str, base_url: str | None, environ: Mapping[str, str]) -> Model:
    match name.split("/", 1):
        case ["anthropic", model] if model:
            return _get_anthropic(model, environ)
        case ["openai", model] if model:
            return _get_openai(model, base_url, environ)
    if base_url:
        return _get_openai(name, base_url, environ)
    raise ConfigurationError(
        f"no vendor is known for model `{name}`; write openai/NAME or anthropic/NAME"
        + _suggest_name(name)
        + ", or set a base_url for a server of your own"
    )


def _suggest_name(name: str) -> str:
    prefix, slash, model = name.partition("/")
    if not slash:
        vendor = "anthropic" if name.startswith("claude") else "openai"
        return f" (did you mean `{vendor}/{name}`?)"
    close = difflib.get_close_matches(prefix.lower(), DEFAULT_MODELS, n=1)
    return f" (did you mean `{close[0]}/{model}`?)" if close and model else ""


def _get_openai(model: str | None, base_url: str | None, environ: Mapping[str, str]) -> Model:
    key, vendor_url = environ.get("OPENAI_API_KEY"), environ.get("OPENAI_BASE_URL")
    with _models_lock:
        choice = ("openai", model, base_url, vendor_url, key)
        if choice not in _models:
            from njrt.models.openai import OpenAI

            _models[choice] = OpenAI(model, base_url=base_url, vendor_url=vendor_url, key=key)
        return _models[choice]


def _get_anthropic(model: str, environ: Mapping[str, str]) -> Model:
    key, vendor_url = environ.get("ANTHROPIC_API_KEY"), environ.get("ANTHROPIC_BASE_URL")
    with _models_lock:
        choice = ("anthropic", model, vendor_url, key)
        if choice not in _models:
            from njrt.models.anthropic import Anthropic

            _models[choice] = Anthropic(model, vendor_url=vendor_url, key=key)
        return _models[choice]

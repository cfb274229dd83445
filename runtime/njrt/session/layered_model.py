"""The model that a block asks, behind its layers.

    make_layered_model(settings, options, outer)    outer(Recorder(Cache(Budgeted(model))))

A layer exists only if configured: a recording and a cache by `using` or the environment, budgets also by options.
Replies come from the outermost layer that has one; a model behind a complete recording is never chosen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from njrt.errors import ConfigurationError, RecordingMissingError
from njrt.messages import Protocol, Reply, Request
from njrt.models.choose import choose_model, get_reported_name, list_model_names
from njrt.models.model import Layer, LayeredModel, Model
from njrt.models.wrapped import list_inner_models
from njrt.options import OFF_WORDS, ON_WORDS, Options
from njrt.private_files import find_cache_folder
from njrt.records import record, replace
from njrt.session.settings import Settings, get_environment_recorder, get_settings, resolve_options

if TYPE_CHECKING:
    from njrt.persistence.cache import ReplyStore
    from njrt.persistence.recorder import Recorder
    from njrt.production.budgets.budgeted import Budgeted
    from njrt.production.budgets.ledger import Ledger


def find_recorder(settings: Settings, environ: Mapping[str, str]) -> Recorder | None:
    """Return this block's recorder, from `with using` or NJC_RECORD.

    NJC_RECORD=off means no recorder. NJC_RECORD does not apply to blocks with a model from `using(model=...)`.
    """
    if settings.recorder is not None or settings.model is not None:
        return settings.recorder
    text = environ.get("NJC_RECORD")
    return get_environment_recorder(text) if text and text != "off" else None


@record
class DeferredModel:
    """A model that is chosen when it is first asked, which never happens behind a complete recording."""

    choose: Callable[[], Model]
    protocol: Protocol
    name: str = "recorded"

    def ask(self, request: Request) -> Reply:
        return self.choose().ask(request)

    async def aask(self, request: Request) -> Reply:
        return await self.choose().aask(request)


def _refuse_to_choose() -> Model:
    raise AssertionError("static code asks no model")


NO_MODEL = DeferredModel(_refuse_to_choose, "text", "static code")
"""Takes the model's place in a run of static code."""


def make_layered_model(
    settings: Settings, options: Options, *outer: Layer, environ: Mapping[str, str] = os.environ
) -> LayeredModel:
    """Return a block's model, behind the `outer` layers and any recording and cache.

    The model comes from the settings or the recording, or the options choose it.
    """

    def choose() -> Model:
        if settings.model is None and environ.get("NJC_REPLAY"):
            raise RecordingMissingError(
                "`njc replay` asks no model, and there is no recording of this block; name one: NJC_RECORD=none:FILE"
            )
        model = settings.model or choose_model(options, os.environ)
        if options.second_below is not None:
            model = add_second_model(model, options)
        if options.votes and options.votes > 1:
            from njrt.models.vote import VoteModel

            model = VoteModel(model, options.votes)
        return model if settings.wrap is None else settings.wrap(model)

    layers: list[Layer] = []
    if (recorder := find_recorder(settings, environ)) is None:
        model = choose()
    else:
        protocol = recorder.protocol or options.protocol or choose().protocol
        recorder.use_protocol(protocol)
        model = DeferredModel(choose, protocol)
        layers.append(recorder)
    if place := find_cache_place(settings, options, environ):
        from njrt.persistence.cache import Cache

        layers.append(Cache(get_reply_store(place), partial(identify_model, model)))
    if budgeted := make_budget_layer(settings, options, choose, environ):
        layers.append(budgeted)
    if settings.steps is None:
        return LayeredModel(model, (*outer, *layers))
    # A workflow's stored reply is used before recording, cache and budgets are asked.
    return LayeredModel(settings.steps.wrap_model(LayeredModel(model, tuple(layers))), outer)


def identify_model(model: Any) -> str:
    """Return what distinguishes the replies of a model: names, servers and settings, also of the models in it."""
    if isinstance(model, DeferredModel):
        return identify_model(model.choose())
    server = getattr(getattr(model, "server", None), "url", "")
    settings = [str(getattr(model, name, "")) for name in ("below", "quorum", "_temperature")]
    parts = map(identify_model, list_inner_models(model))
    return " ".join(filter(None, [model.name, server, *settings, *parts]))


def add_second_model(model: Model, options: Options) -> Model:
    """Return the model with the second model behind it; raise ConfigurationError if no second model is named."""
    from njrt.models.cascade import CascadeModel

    if not options.second_model:
        raise ConfigurationError(
            "`second_below` needs `second_model`, the model that is asked then"
        )
    second = choose_model(
        replace(options, model=options.second_model), {**os.environ, "NJC_REPLACE_MODEL": ""}
    )
    return CascadeModel(model, second, options.second_below or 0.0)


def make_budget_layer(
    settings: Settings, options: Options, choose: Callable[[], Model], environ: Mapping[str, str]
) -> Budgeted | None:
    """Return the layer of all budgets here: from `with using`, from the option, and always from NJC_BUDGET."""
    texts = {options.budget, environ.get("NJC_BUDGET")} - {None, ""}
    if not settings.budgets and not texts:
        return None
    from njrt.options.budget import parse_budgets
    from njrt.production.budgets.budgeted import Budgeted, open_budget

    named = [budget for text in texts for budget in parse_budgets(text or "")]
    budgets = (*settings.budgets, *map(open_budget, dict.fromkeys(named)))
    return Budgeted(budgets, partial(get_ledger, options.store), choose, options.tenant or "")


@lru_cache(maxsize=16)
def get_ledger(url: str | None) -> Ledger:
    """Return the budget accounts in the store at a URL, shared by the whole process."""
    from njrt.persistence.open_store import get_store
    from njrt.production.budgets.ledger import Ledger

    return Ledger(get_store(url, os.environ))


def share_budgets(model: Model, other: Model) -> Model:
    """Return `other` behind the budgets of `model`, for part of the same run."""
    from njrt.production.budgets.budgeted import Budgeted

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
    """Return the cache's folder, or its store's URL; None without a cache.

    The cache is off unless `using(cache=...)` or NJC_CACHE=on turns it on; the `nightjar` effects include it, as
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
        return str(find_cache_folder(os.environ))
    return str(cache) if cache else None


@lru_cache(maxsize=16)
def get_reply_store(place: str) -> ReplyStore:
    """Return the reply store in a folder or at a store's URL, shared by the whole process."""
    from njrt.persistence.cache import SHARED_PREFIX, ReplyStore, open_reply_store
    from njrt.persistence.open_store import get_store, is_store_url  # and with them sqlite3

    if is_store_url(place):
        return ReplyStore(get_store(place, os.environ), SHARED_PREFIX)
    return open_reply_store(place)


def find_model_name(
    place: str, options: Mapping[str, Any], project: Mapping[str, Any] | None, tuned: Container[str]
) -> str | None:
    """Return the name of the model that a block asks, before it is `tuned`; None if none is configured."""
    settings = get_settings()
    if settings.model is not None:
        return settings.model.name
    merged = resolve_options(options, project, settings.options, place)
    recorder = find_recorder(settings, os.environ)
    if names := list_model_names(merged, os.environ):
        # A model in Python names itself, but a replay must not open it: that may take long.
        is_own = any(name.startswith("python:") for name in names)
        if recorder and is_own and (recorded := recorder.replayed_model) in tuned:
            return recorded
        return ",".join(map(get_reported_name, names))
    return None if recorder else choose_model(merged, os.environ).name

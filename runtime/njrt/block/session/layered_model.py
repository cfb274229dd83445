"""The model that a block asks, behind its layers.

    make_layered_model(settings, options, recorder, outer)   outer(Recorder(Cache(Budgeted(model))))

A layer exists only if configured: a recording and a cache by `using` or the environment, budgets
also by options. Replies come from the outermost layer that has one; a model behind a complete
recording is never chosen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from njrt.block.session.code_system import find_system_obstacle
from njrt.block.session.settings import Settings, get_environment_recorder
from njrt.data.options import OFF_WORDS, ON_WORDS, Options
from njrt.data.private_files import find_cache_folder
from njrt.data.records import record
from njrt.errors import ConfigurationError
from njrt.messages import Protocol, Reply, Request
from njrt.models.choose import choose_model
from njrt.models.model import Layer, LayeredModel, Model
from njrt.models.wrapped import can_decide, list_inner_models

if TYPE_CHECKING:
    from njrt.log.budgets.budgeted import Budgeted
    from njrt.log.cache import ReplyStore
    from njrt.log.recorder import Recorder


def find_recorder(settings: Settings, environ: Mapping[str, str]) -> Recorder | None:
    """Return this block's recorder, from `with using` or NJC_RECORD.

    NJC_RECORD=off means no recorder. NJC_RECORD does not apply to blocks with a model from
    `using(model=...)`.
    """
    if settings.recorder is not None or settings.model is not None:
        return settings.recorder
    text = environ.get("NJC_RECORD")
    return get_environment_recorder(text) if text and text != "off" else None


@record
class DeferredModel:
    """A model that is chosen when first asked, which never happens behind a complete recording."""

    choose: Callable[[], Model]
    protocol: Protocol
    name: str = "recorded"

    @property
    def can_decide(self) -> bool:
        return can_decide(self.choose())

    def ask(self, request: Request) -> Reply:
        return self.choose().ask(request)

    async def aask(self, request: Request) -> Reply:
        return await self.choose().aask(request)


def _refuse_to_choose() -> Model:
    raise AssertionError("static code asks no model")


NO_MODEL = DeferredModel(_refuse_to_choose, "text", "static code")
"""Takes the model's place in a run of static code."""


def make_layered_model(
    settings: Settings,
    options: Options,
    recorder: Recorder | None,
    *outer: Layer,
    environ: Mapping[str, str] = os.environ,
) -> LayeredModel:
    """Return a block's model, behind the `outer` layers and any recording and cache.

    The model comes from the settings or the recording, or the options choose it.
    """

    def choose() -> Model:
        return settings.model or choose_model(options, os.environ)

    layers: list[Layer] = []
    if recorder is None:
        model = choose()
    else:
        protocol = recorder.protocol or options.protocol or choose().protocol
        recorder.use_surroundings(protocol, "guarded" if find_system_obstacle() else "auto")
        model = DeferredModel(choose, protocol)
        layers.append(recorder)
    if place := find_cache_place(settings, options, environ):
        from njrt.log.cache import Cache

        layers.append(Cache(get_reply_store(place), partial(identify_model, model)))
    if budgeted := make_budget_layer(settings, options, environ):
        layers.append(budgeted)
    return LayeredModel(model, (*outer, *layers))


def identify_model(model: Any) -> str:
    """Return what distinguishes a model's replies: names, servers, settings, inner models' too."""
    if isinstance(model, DeferredModel):
        return identify_model(model.choose())
    server = getattr(getattr(model, "server", None), "url", "")
    settings = [str(getattr(model, name, "")) for name in ("_temperature",)]
    parts = map(identify_model, list_inner_models(model))
    return " ".join(filter(None, [model.name, server, *settings, *parts]))


def make_budget_layer(
    settings: Settings, options: Options, environ: Mapping[str, str]
) -> Budgeted | None:
    """Return the layer of all budgets here: of `with using`, the option and, always, NJC_BUDGET."""
    texts = {options.budget, environ.get("NJC_BUDGET")} - {None, ""}
    if not settings.budgets and not texts:
        return None
    from njrt.data.options.budget import parse_budgets
    from njrt.log.budgets.budgeted import Budgeted
    from njrt.log.open_store import get_store

    named = [budget for text in texts for budget in parse_budgets(text or "")]
    return Budgeted((*settings.budgets, *named), partial(get_store, options.store, os.environ))


def find_cache_place(
    settings: Settings, options: Options, environ: Mapping[str, str]
) -> str | None:
    """Return the cache's folder, or its store's URL; None without a cache.

    The cache is off unless `using(cache=...)` or NJC_CACHE=on turns it on. A model given by
    `using(model=...)` is cached only by `using(cache=...)`.
    """
    cache = settings.cache
    if cache is None:
        text = environ.get("NJC_CACHE", "").lower()
        if text not in ("", *ON_WORDS, *OFF_WORDS):
            raise ConfigurationError(f"NJC_CACHE must be on or off, not {text!r}")
        cache = text in ON_WORDS and settings.model is None
    if cache is True:
        if options.store:
            from njrt.log.open_store import make_store_url

            return make_store_url(options.store)
        return str(find_cache_folder(os.environ))
    return str(cache) if cache else None


@lru_cache(maxsize=16)
def get_reply_store(place: str) -> ReplyStore:
    """Return the reply store in a folder or at a store's URL, shared by the whole process."""
    from njrt.log.cache import SHARED_PREFIX, ReplyStore, open_cache_file
    from njrt.log.open_store import get_store, is_store_url  # and with them sqlite3

    if is_store_url(place):
        return ReplyStore(get_store(place, os.environ), SHARED_PREFIX)
    return ReplyStore(open_cache_file(place))

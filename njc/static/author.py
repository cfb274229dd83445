"""The model that writes the code of a block: the one its options choose, with limits, recording and cache.

author = choose_author(file, hole)
author.driven(generating(hole, check, most, author.temperature))     what the conversation returns
"""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TypeVar

from njc.static.fit import StaticFile
from njc.static.holes import Hole
from njrt.messages import Reply, Request
from njrt.models.model import Model
from njrt.observability.listeners import Notified, make_added_listener
from njrt.options import DEFAULTS, merge_option_layers, read_environment_options
from njrt.session.layered_model import find_recorder, make_layered_model
from njrt.session.limits import Meter, Metered, list_open_meters, read_limits
from njrt.session.settings import get_settings

ConversationResult = TypeVar("ConversationResult")


@dataclass(frozen=True, slots=True)
class Author:
    """A model, and the temperature that it writes code best at."""

    model: Model
    temperature: float | None
    is_remote: bool
    """Whether a vendor serves it, who answers several questions at once."""

    def run_conversation(
        self, conversation: Generator[Request, Reply, ConversationResult]
    ) -> ConversationResult:
        """Answer all that a conversation asks."""
        try:
            request = next(conversation)
            while True:
                request = conversation.send(self._add_requested_model(self.model.ask(request)))
        except StopIteration as end:
            result: ConversationResult = end.value
            return result

    def _add_requested_model(self, reply: Reply) -> Reply:
        """Return a reply that names the model as it was asked for, where its server calls it otherwise.

        A vendor's `gpt-4.1-2025-04-14` says more than that; the `local` of a server of your own, nothing.
        """
        asked = self.model.name
        if reply.model.startswith(asked.split("/", 1)[-1]):
            return reply
        return replace(reply, model=f"{asked} ({reply.model})" if reply.model else asked)


def choose_author(file: StaticFile, hole: Hole) -> Author:
    """Choose the author of a hole."""
    settings = get_settings()
    options = merge_option_layers(
        settings.options,
        hole.block.options,
        read_environment_options(os.environ),
        file.project,
        DEFAULTS,
    )
    meter = Meter(read_limits(options), place=hole.place, around=list_open_meters())
    listener = make_added_listener()
    notified = (Notified(hole.place, listener),) if listener else ()
    model = make_layered_model(settings, options, Metered(meter), *notified)
    temperature = options.temperature
    if temperature is None and model.protocol == "text":
        temperature = 0.0
    is_recorded = find_recorder(settings, os.environ) is not None
    is_remote = settings.model is None and not is_recorded and not options.base_url
    return Author(model, temperature, is_remote)

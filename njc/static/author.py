"""Who writes code: the model that a block's options choose, behind its limits, its recording and its cache.

author = author_for(file, gap)
author.driven(generating(gap, check, most, author.temperature))     what the conversation returns
"""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TypeVar

from njc.static.fit import StaticFile
from njc.static.holes import Gap
from njrt.messages import Reply, Request
from njrt.models.model import Layered, Model
from njrt.options import DEFAULTS, nearest, options_in
from njrt.session.limits import Meter, limits_of, meters_around
from njrt.session.session import Metered
from njrt.session.settings import layers_here, model_here, recorder_for, settings_here

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Author:
    """A model, and the temperature that it writes code best at."""

    model: Model
    temperature: float | None
    is_remote: bool
    """Whether a vendor serves it, who answers several questions at once."""

    def driven(self, conversation: Generator[Request, Reply, Result]) -> Result:
        """Answer all that a conversation asks."""
        try:
            request = next(conversation)
            while True:
                request = conversation.send(self._signed(self.model.ask(request)))
        except StopIteration as end:
            result: Result = end.value
            return result

    def _signed(self, reply: Reply) -> Reply:
        """A reply that names the model as it was asked for, where its server calls it otherwise.

        A vendor's `gpt-4.1-2025-04-14` says more than that; the `local` of a server of your own, nothing.
        """
        asked = self.model.name
        if reply.model.startswith(asked.split("/", 1)[-1]):
            return reply
        return replace(reply, model=f"{asked} ({reply.model})" if reply.model else asked)


def author_for(file: StaticFile, gap: Gap) -> Author:
    """Choose the author of a gap."""
    settings = settings_here()
    options = nearest(
        settings.options, gap.block.options, options_in(os.environ), file.project, DEFAULTS
    )
    recorder = recorder_for(settings, os.environ)
    model = model_here(settings, options, recorder)
    meter = Meter(limits_of(options), place=gap.place, around=meters_around())
    layers = layers_here(settings, options, model, recorder)
    temperature = options.temperature
    if temperature is None and model.protocol == "text":
        temperature = 0.0
    is_remote = settings.model is None and recorder is None and not options.base_url
    return Author(Layered(model, (Metered(meter), *layers)), temperature, is_remote)

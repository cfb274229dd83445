"""The live block behind static code: what `run` is given if the code is not used, or has a canary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from njrt.options import OPTION_NAMES, Options
from njrt.session.block_options import resolve_options
from njrt.session.settings import get_settings


@dataclass(frozen=True, slots=True)
class LiveBlock:
    """The arguments of `run`; `code` names the block and its static code, and is empty if they have no name."""

    prompt: str
    variables: Callable[[], tuple[Any, ...]]
    place: str
    code: str
    is_async: bool
    arguments: Mapping[str, Any]

    def resolve_options(self) -> Options:
        """Return the options of the block, all layers merged."""
        own = {name: value for name, value in self.arguments.items() if name in OPTION_NAMES}
        return resolve_options(
            own, self.arguments.get("project"), get_settings().options, self.place
        )

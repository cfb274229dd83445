"""The options of a block, from all places that set some.

    with njrt.using(max_calls=3)  >  the block and its file  >  NJC_MAX_CALLS=5  >  [tool.njc]  >  the defaults

The merged options of a place are remembered: blocks in loops are resolved once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from njrt.options import (
    DEFAULTS,
    ENVIRONMENT_VARIABLES,
    Options,
    make_options,
    merge_option_layers,
    read_environment_options,
)


def resolve_options(
    block: Mapping[str, Any], project: Mapping[str, Any] | None, using: Options, place: str
) -> Options:
    """Return all options of a block: `using`, then the block and its file, environment, project, defaults."""
    layers = (
        using,
        freeze_options(block),
        read_option_variables(),
        freeze_options(project or {}),
        place,
    )
    try:
        return merge_options(*layers)
    except TypeError:  # an unhashable value: no option has one, and it is refused by name
        return merge_options.__wrapped__(*layers)


def read_option_variables() -> tuple[tuple[str, str], ...]:
    """Return the environment variables of options that are set.

    `os.environ` raises an exception inside for each name that is not set, which would cost more than the rest of
    `resolve_options`; the dict that it wraps does not.
    """
    wrapped = getattr(os.environ, "_data", None)
    if wrapped is None:
        return tuple(
            (name, os.environ[name]) for name in ENVIRONMENT_VARIABLES if name in os.environ
        )
    return tuple((name, os.environ[name]) for key, name in _ENVIRONMENT_KEYS if key in wrapped)


_ENVIRONMENT_KEYS = tuple(
    (name.encode() if os.name == "posix" else name, name) for name in ENVIRONMENT_VARIABLES
)

FrozenOptions = tuple[tuple[str, Any, type], ...]
"""Options and their values; the types keep `1` and `True` apart."""


def freeze_options(options: Mapping[str, Any]) -> FrozenOptions:
    """Options as a hashable key."""
    return tuple((name, value, type(value)) for name, value in options.items())


@lru_cache(maxsize=1024)
def merge_options(
    using: Options,
    block: FrozenOptions,
    environment: tuple[tuple[str, str], ...],
    project: FrozenOptions,
    place: str,
) -> Options:
    """Return the options of one place, remembered for blocks that run again."""
    return merge_option_layers(
        using,
        make_options({name: value for name, value, _ in block}, place),
        read_environment_options(dict(environment)),
        make_options({name: value for name, value, _ in project}, "[tool.njc]"),
        DEFAULTS,
    )

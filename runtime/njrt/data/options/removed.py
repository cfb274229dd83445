"""Names of 0.2 that have left, and what to do instead.

    njrt.using(votes=3)              warns once, and the program runs as if `votes` were not there
    njrt.using(tenant="acme")        raises ConfigurationError, because it restricted the program

A name that only chose how a model is asked is dropped; a name that restricted a program is an
error, because ignoring it would lift the restriction.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from njrt.errors import ConfigurationError

_CANARY = "compare code with the live block by `njc compare`"

DROPPED: Mapping[str, str] = {
    "votes": "set `model` to a stronger model",
    "second_model": "set `model` to a stronger model",
    "second_below": "set `model` to a stronger model",
    "max_repeats": "a block fails after four equal mistakes",
    "canary": _CANARY,
    "canary_tolerated": _CANARY,
    "canary_false_alarms": _CANARY,
    "canary_seed": _CANARY,
    "tuned": "set `effects` or `reasoning` on the block",
    "examples": "write examples into the prompt",
    "predict": "compare two runs by `njc trace A B`",
}
"""Options, arguments and variables that chose how a model is asked."""

REFUSED: Mapping[str, str] = {
    "tenant": "open `njrt.using(budget=...)` with the tenant's budget around its calls",
    "manifest": "decide about effects in `njrt.using(intercept=...)`",
    "ask_again": "give the interceptor the attribute `asks_again = True`",
    "replay": "replay recordings with NJC_RECORD=none:FILE",
}
"""Options, arguments and variables that restricted a program."""

_PAPER = (
    "was removed in njc 0.3: the effect sets of the Nightjar paper are interfaces of spsbench, for "
    "`njrt.using(interface=...)`, as docs/migrating.md shows"
)
EFFECTS: Mapping[str, str] = dict.fromkeys(
    ("nightjar", "shared-python", "shared-eval", "isolated-eval", "baseline"), _PAPER
)
"""Values of the option `effects`."""

MODE = (
    'was removed in njc 0.3: build with mode="reviewed", or with mode="static" and fallback="live"'
)
"""What to do instead of `mode="auto"`."""
MODES: Mapping[str, str] = {
    "auto": MODE,
    "static-raw": 'was removed in njc 0.3: use mode="static", whose checks name what is wrong',
}

_CONDITIONS = ("Condition", "is_failure", "is_server_failure", "is_unusable_reply")
NAMES: Mapping[str, str] = {
    **dict.fromkeys(_CONDITIONS, "leave `when=` out: models are asked again after a ServerError"),
    "attempts": "the mode `auto`, whose runs it counted, has left",
    "BreakerModel": "use FallbackModel, whose second model answers while the first fails",
    "CascadeModel": "use a stronger model",
    "RateLimitModel": "limit the requests at the server or in a model class of your own",
    "VoteModel": "use a stronger model",
    "CodeTimeLimitError": "catch LimitError, its base, or import it from njrt.errors",
    "EffectLimitError": "catch LimitError, its base, or import it from njrt.errors",
    "NoModelError": "catch ConfigurationError, its base",
    "RecordingMissingError": "catch RecordingError, its base",
    "durable": "call blocks in steps of DBOS, as docs/batch.md shows",
}
"""Public names of `njrt` and `njrt.models`."""

BUDGET_FIELDS: Mapping[str, str] = {
    "each": "`each` was removed in njc 0.3: open `njrt.using(budget=...)` with a budget of its own"
    " name around the calls of each key or tenant",
    "zone": "`zone` was removed in njc 0.3: hours, days and months are in UTC",
    "unpriced": "`unpriced` was removed in njc 0.3: limit `tokens` for models without a price",
}
"""Fields of budgets."""

VARIABLES = {f"NJC_{name.upper()}": name for name in (*DROPPED, *REFUSED)}
"""The variables of the environment that set them."""


def find_removed(name: str) -> str | None:
    """Describe an option that has left, in one short line; None for any other name."""
    way_out = DROPPED.get(name) or REFUSED.get(name)
    return way_out and f"`{name}` was removed in njc 0.3: {way_out}"


def refuse_removed_name(name: str) -> None:
    """Raise ImportError for a removed name: `from njrt import NAME` hides AttributeError texts."""
    if name in NAMES:
        raise ImportError(f"{name} was removed in njc 0.3: {NAMES[name]}", name=name)


def drop_removed(settings: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the settings without names that have left; warn once of each, with the place `where`.

    Raises:
        ConfigurationError: a name that restricted the program.
    """
    kept = {}
    for name, value in settings.items():
        if name in REFUSED and value:
            raise ConfigurationError(f"{where}: {find_removed(name)}")
        if name in DROPPED:
            _warn_once(name, where)
        elif name not in REFUSED:
            kept[name] = value
    return kept


def warn_of_mode(where: str) -> None:
    """Warn once that a compiled file has a block of the mode `auto`, which runs live."""
    if MODE not in _warned:
        _warned.add(MODE)
        warnings.warn(f'{where}: `mode="auto"` {MODE}; the block runs live', FutureWarning, 3)


_warned: set[str] = set()
"""The names that this process has warned about."""


def _warn_once(name: str, where: str) -> None:
    if name not in _warned:
        _warned.add(name)
        warnings.warn(f"{where}: {find_removed(name)}; it is ignored", FutureWarning, stacklevel=2)

"""Classify failed trials by the categories of the paper's appendix F that a program can tell apart.

    classify_failure("UnboundLocalError: ...")        "program raised"
    classify_failure("EffectLimitError: ...")         "limit"
    classify_failure(None)                            "wrong result"

Rules cannot detect whether a model reasoned badly or invented something: the paper's categories
`Reasoning` and `Hallucination` are both `wrong result` here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Literal

FailureCategory = Literal[
    "wrong result",
    "incorrect state operation",
    "program raised",
    "gave up",
    "no answer",
    "limit",
    "generated code",
    "not built",
    "timeout",
    "crash",
    "rejected",
    "server",
    "unsayable",
    "unclassified",
]
"""The category of a failed trial, determined by its first failed case.

    wrong result                 nothing was raised, but a check fails (the paper's Reasoning and
                                 Hallucination)
    incorrect state operation    a check of the operation on the state fails: another kind of object
                                 was bound, or an object was copied or replaced (the paper's
                                 Incorrect State Op)
    program raised               the program raised an exception on the state that the model left
                                 (the paper's authors label most of these Reasoning)
    gave up                      the model raised an exception, or ended a block on an error (the
                                 paper's Give Up)
    no answer                    no attempt gave a reply that could be parsed and had the right type
    limit                        a block reached its limit of effects, calls, seconds or tokens
    generated code               the generated code of a block raised an exception
    not built                    no code for a block passed the checks of the static mode
    timeout                      the trial reached its limit of seconds and was killed
    crash                        the process was killed by a signal or ended itself
    rejected                     the model's server refused the request, mostly as too long
    server                       the model's server is down, or does not accept the key or the
                                 model: not a result
    unsayable                    the effect set cannot express the code (scripted models only)
    unclassified                 none of these
"""

_TYPES_BY_CATEGORY: Mapping[FailureCategory, tuple[str, ...]] = {
    "unsayable": ("UnsupportedCodeError",),
    "limit": (
        *("LimitError", "EffectLimitError", "CallLimitError", "TimeLimitError"),
        *("CodeTimeLimitError", "TokenLimitError"),
    ),
    "server": ("AuthenticationError", "ModelNotFoundError", "ServerError", "ModelError"),
    "rejected": ("RejectedRequestError",),
    "no answer": ("ReplyError", "OutputTypeError", "ValidationError"),
    "unclassified": ("NaturalError", "ConfigurationError", "NoModelError", "RecordingError"),
}
_CATEGORY_BY_TYPE = {name: kind for kind, names in _TYPES_BY_CATEGORY.items() for name in names}


def classify_failure(
    error: str | None,
    *,
    raised: Collection[str] = (),
    gave_up: bool = False,
    is_code: bool = False,
    is_operation: bool = False,
) -> FailureCategory:
    """Return the category of a failed case.

    `error` is its exception, if any; `raised` are exceptions that its blocks raised on purpose, as
    `Type: message` or `Type('message')`. The flags are set if a block ended right after a refused
    effect (`gave_up`), its blocks are generated code (`is_code`), or a check of the operation on
    the state failed (`is_operation`).
    """
    if error is None:
        if gave_up:
            return "gave up"
        return "incorrect state operation" if is_operation else "wrong result"
    kind = parse_error_type(error)
    if kind in _CATEGORY_BY_TYPE:
        return _CATEGORY_BY_TYPE[kind]
    if kind in map(parse_error_type, raised):
        return "gave up"
    return "generated code" if is_code else "program raised"


def parse_error_type(error: str) -> str:
    """Return the type of an exception written as `Type: message` or `Type('message')`."""
    return re.split(r"[:(]", error, maxsplit=1)[0].strip()

"""Classify failed trials by the categories of the paper's appendix F that a program can tell apart.

    classify_failure("UnboundLocalError: ...")        "program raised"
    classify_failure("EffectLimitError: ...")         "limit"
    classify_failure(None)                            "wrong result"

    classify_refusal("SyntaxError: invalid syntax")   "syntax error"

Rules cannot detect whether a model reasoned badly or invented something: the paper's categories
`Reasoning` and `Hallucination` are both `wrong result` here. A refusal is classified by its first
line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
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

ErrorCategory = Literal[
    "state op error",
    "forbidden variable",
    "type error",
    "syntax error",
    "function call error",
    "index error",
    "other",
]
"""The category of a refused effect, as in the paper's table 10.

    state op error       an effect that does not exist, has wrong arguments, or is not possible here
    forbidden variable   a name that is unbound, unknown or read-only
    type error           a value does not have the assumed type
    syntax error         the code is not valid Python
    function call error  a call with the wrong arguments
    index error          a key or position that does not exist
"""

Recovery = Literal["correction", "ignored error", "workaround", "retry", "not recovered"]
"""The model's next step, as in the paper's table 11.

    correction       the same effect again, changed, and executed
    retry            the same effect again, unchanged
    workaround       another effect instead, executed
    ignored error    the next effect ended the block
    not recovered    the next effect was also refused, or there was none
"""


@dataclass(frozen=True, slots=True)
class EffectError:
    """A refused effect, and the model's next step."""

    category: ErrorCategory
    recovery: Recovery


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


_REFUSAL_PATTERNS: tuple[tuple[str, ErrorCategory], ...] = (
    (
        r"^(syntax error|SyntaxError|IndentationError|TabError)|cannot be read as Python",
        "syntax error",
    ),
    (r"^TypeError: .*(argument|takes no)|^TypeError: .*not callable", "function call error"),
    (r"^(TypeError|AttributeError|ValueError)|does not fit its type", "type error"),
    (r"^(IndexError|KeyError)", "index error"),
    (
        r"^(NameError|UnboundLocalError)|there is no variable|not visible|read-only|not bound",
        "forbidden variable",
    ),
    (
        r"there is no tool|are not a JSON object|needs `|takes no `|send \{|must be one expression"
        r"|possible here|cannot be imported|is refused in a block|needs a call, not code"
        r"|only exceptions can be raised",
        "state op error",
    ),
)  # fmt: skip


def classify_refusal(message: str) -> ErrorCategory:
    """Return the category of a refusal, judged by its first line."""
    first = message.strip().split("\n")[0]
    for pattern, category in _REFUSAL_PATTERNS:
        if re.search(pattern, first):
            return category
    return "other"

"""Why trials fail, by rule: the categories of the paper's appendix F, as far as a program can tell them apart.

    classify_failure("UnboundLocalError: ...", said=...)        "incorrect state operation"
    classify_failure("EffectLimitError: ...", said=...)         "limit"
    classify_failure(None, said=...)                            "wrong result"

    classify_refusal("SyntaxError: invalid syntax")          "syntax error"

The paper's authors read 125 traces. No rule sees whether a model reasoned badly or made something up:
what their table calls `Reasoning` and `Hallucination` is `wrong result` here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

FailureCategory = Literal[
    "wrong result",
    "incorrect state operation",
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
"""Why a trial failed, after the first of its cases that did."""

FAILURE_CATEGORIES: Mapping[FailureCategory, str] = {
    "wrong result": "all went well, but the state is not what the checks want "
    "(the paper's Reasoning and Hallucination)",
    "incorrect state operation": "the program could not go on with what the model left it "
    "(the paper's Incorrect State Op)",
    "gave up": "the model raised an exception, or ended a block on an error (the paper's Give Up)",
    "no answer": "no reply, however often asked, could be read, or was of the type asked for",
    "limit": "a block reached its limit of effects, calls, seconds or tokens",
    "generated code": "the code that stands for a block raised an exception",
    "not built": "no code for a block passed the checks of the static mode",
    "timeout": "the trial reached its limit of seconds and was killed",
    "crash": "the process died: of a signal, or by leaving Python",
    "rejected": "the model's server says that the request is wrong, mostly that it is too long",
    "server": "the model's server is down, or does not know the key or the model: not a result",
    "unsayable": "the effects have no way to say it (of scripted models only)",
    "unclassified": "none of these",
}

ErrorCategory = Literal[
    "state op error",
    "forbidden variable",
    "type error",
    "syntax error",
    "function call error",
    "index error",
    "other",
]
"""Why an effect was refused, as in the paper's table 10.

    state op error        an effect that is not there, or does not go with its arguments, or not here
    forbidden variable    a name that is unbound, unknown or read-only
    type error            a value is not of the type that was assumed
    syntax error          not Python
    function call error   a call with the wrong arguments
    index error           a key or position that is not there
"""

Recovery = Literal["correction", "ignored error", "workaround", "retry", "not recovered"]
"""What the model did about it, as in the paper's table 11.

    correction       the same effect again, changed, and carried out
    retry            the same effect again, unchanged
    workaround       another effect instead, carried out
    ignored error    nothing: the next effect ended the block
    not recovered    what came next was refused too, or nothing came
"""


@dataclass(frozen=True, slots=True)
class EffectError:
    """An effect that was refused, and what came after it."""

    category: ErrorCategory
    recovery: Recovery


_CATEGORY_BY_TYPE: Mapping[str, FailureCategory] = {
    "UnsupportedCodeError": "unsayable",
    "LimitError": "limit",
    "EffectLimitError": "limit",
    "CallLimitError": "limit",
    "TimeLimitError": "limit",
    "CodeTimeLimitError": "limit",
    "TokenLimitError": "limit",
    "AuthenticationError": "server",
    "ModelNotFoundError": "server",
    "ServerError": "server",
    "RejectedRequestError": "rejected",
    "ModelError": "server",
    "ReplyError": "no answer",
    "OutputTypeError": "no answer",
    "ValidationError": "no answer",
    "NaturalError": "unclassified",
    "ConfigurationError": "unclassified",
    "NoModelError": "unclassified",
    "RecordingError": "unclassified",
}


def classify_failure(
    error: str | None, *, raised: Collection[str] = (), gave_up: bool = False, is_code: bool = False
) -> FailureCategory:
    """The category of a case that failed.

    `error` is the exception that it left by, if any; `raised` are those that its blocks raised on purpose,
    as `Type: message` or `Type('message')`. `gave_up` says that a block ended on an error, and `is_code` that its blocks are
    generated code.
    """
    if error is None:
        return "gave up" if gave_up else "wrong result"
    kind = parse_error_type(error)
    if kind in _CATEGORY_BY_TYPE:
        return _CATEGORY_BY_TYPE[kind]
    if kind in map(parse_error_type, raised):
        return "gave up"
    return "generated code" if is_code else "incorrect state operation"


def parse_error_type(error: str) -> str:
    """The type of an exception that stands as `Type: message` or `Type('message')`."""
    return re.split(r"[:(]", error, maxsplit=1)[0].strip()


_REFUSAL_PATTERNS: tuple[tuple[str, ErrorCategory], ...] = (
    (r"^(syntax error|SyntaxError|IndentationError|TabError)|cannot be read as Python", "syntax error"),
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
    """The category of a refusal, by its words."""
    told = message.strip()
    first = told.split("\n")[0] if told else ""
    for pattern, category in _REFUSAL_PATTERNS:
        if re.search(pattern, first):
            return category
    return "other"

"""njrt: the runtime that compiled natural programs import.

    import njrt as _nj                                  what njc writes into compiled files

    njrt.llm(prompt, schema)                            one question to a model, from ordinary code
    njrt.using(model=..., record=..., max_calls=...)    settings for the blocks inside a `with`
    njrt.configure(model=..., max_calls=...)            the same settings for the whole process
    njrt.carry(function)                                takes what is open here into a thread
    njrt.limit(usd=0.50)                                a limit for all blocks inside a `with`
    njrt.using(budget=njrt.Budget(usd=5, per="day"))    a budget that processes share
    njrt.using(intercept=decide)                        decides each effect (njrt.data.decisions)
    njrt.approve()                                      an interceptor that asks a person
    @njrt.gated                                         each call of a block is decided, made once
    njrt.watch(), njrt.last_run()                       calls, tokens, cost, seconds of blocks
    njrt.Interface("shop", effects=[reserve])           effects as functions (njrt.interface)
    njrt.Image.from_path("a.png")                       a file for the model (njrt.data.media)
    njrt.Scripted([...])                                a model for tests, with given replies
    njrt.NaturalError                                   the root of all errors (njrt.errors)

Importing njrt costs next to nothing: the modules that run blocks are loaded when the first block
runs.
"""

import njrt.data.root_context  # noqa: F401  (marks the context of this import)
from njrt.data.jumps import Break, Continue, Return
from njrt.data.loading import load_module
from njrt.errors import (
    AuthenticationError,
    BlockWarning,
    BudgetError,
    CallInDoubtError,
    CallLimitError,
    ConfigurationError,
    CostLimitError,
    InterceptorError,
    LimitError,
    ModelError,
    ModelNotFoundError,
    NaturalError,
    OutputTypeError,
    Paused,
    PolicyError,
    PolicyWarning,
    RecordingError,
    RecordingMismatchError,
    RejectedRequestError,
    ReplyError,
    ServerError,
    StoreError,
    TimeLimitError,
    TokenLimitError,
    Unsure,
)
from njrt.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any as Any

    from njrt.block.session.ahead import ahead as ahead
    from njrt.block.session.attempt import attempt as attempt
    from njrt.block.session.limits import limit
    from njrt.block.session.question import allm, llm
    from njrt.block.session.question import allm_at as allm_at
    from njrt.block.session.question import llm_at as llm_at
    from njrt.block.session.run_block import arun, run
    from njrt.block.session.settings import configure, using
    from njrt.data.context import carry
    from njrt.data.decisions import Abort, Accept, Decision, Edit, Pause, PendingEffect, Reject
    from njrt.data.media import Audio, Document, Image
    from njrt.data.options.budget import Budget
    from njrt.effects import Touch
    from njrt.execution.gates import CallRule, call_key, gated
    from njrt.execution.scope.typecheck import check_type
    from njrt.guests.approval.terminal import approve
    from njrt.interface import Interface
    from njrt.log.accounts import last_run, watch
    from njrt.log.recorder import Recorder
    from njrt.testing import Scripted

# Names with `as` are for compiled files only.
__all__ = [
    "Abort", "Accept", "Audio", "AuthenticationError", "BlockWarning", "Break", "Budget",
    "BudgetError", "CallInDoubtError", "CallLimitError", "CallRule",
    "ConfigurationError", "Continue", "CostLimitError", "Decision", "Document", "Edit",
    "Image", "InterceptorError", "Interface",
    "LimitError", "ModelError", "ModelNotFoundError", "NaturalError",
    "OutputTypeError", "Pause", "Paused", "PendingEffect", "PolicyError", "PolicyWarning",
    "Recorder", "RecordingError",
    "RecordingMismatchError", "Reject", "RejectedRequestError",
    "ReplyError", "Return",
    "Scripted", "ServerError", "StoreError", "TimeLimitError", "TokenLimitError", "Touch", "Unsure",
    "allm", "approve", "arun", "call_key", "carry", "check_type", "configure", "gated", "last_run",
    "limit", "llm", "run", "using", "watch",
]  # fmt: skip

_LOADED_LATER = {
    name: module
    for module, names in {
        "typing": "Any",
        "njrt.data.context": "carry",
        "njrt.data.decisions": "Abort Accept Decision Edit Pause PendingEffect Reject",
        "njrt.effects": "Touch",
        "njrt.execution.gates": "CallRule call_key gated",
        "njrt.interface": "Interface",
        "njrt.data.media": "Audio Document Image",
        "njrt.testing": "Scripted",
        "njrt.log.accounts": "last_run watch",
        "njrt.log.recorder": "Recorder",
        "njrt.guests.approval.terminal": "approve",
        "njrt.data.options.budget": "Budget",
        "njrt.execution.scope.typecheck": "check_type",
        "njrt.block.session.ahead": "ahead",
        "njrt.block.session.attempt": "attempt",
        "njrt.block.session.run_block": "arun run",
        "njrt.block.session.limits": "limit",
        "njrt.block.session.question": "allm allm_at llm llm_at",
        "njrt.block.session.settings": "configure using",
    }.items()
    for name in names.split()
}


def __getattr__(name: str) -> "Any":
    """Load the modules that run blocks when their names are first used (PEP 562)."""
    if name not in _LOADED_LATER:
        from njrt.data.options.removed import refuse_removed_name

        refuse_removed_name(name)
        raise AttributeError(f"module 'njrt' has no attribute {name!r}")
    value = getattr(load_module(_LOADED_LATER[name]), name)
    globals()[name] = value
    return value

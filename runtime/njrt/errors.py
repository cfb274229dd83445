"""What can go wrong in a natural block, as one tree.

    NaturalError
    ├── ConfigurationError          no model, unknown option, a missing extra     exit code 2
    │   └── NoModelError            nothing says which model to ask
    ├── ModelError                  the model or its server failed                exit code 3
    │   ├── AuthenticationError     the key is missing or wrong
    │   ├── ModelNotFoundError      the server does not know this model
    │   ├── ServerError             unreachable, overloaded, timed out, broken reply
    │   ├── RejectedRequestError    the server says that our request is wrong
    │   └── ReplyError              empty, cut off or refused, however often asked
    ├── LimitError                  a limit of the block was reached              exit code 3
    │   ├── EffectLimitError        ├── CallLimitError      ├── TimeLimitError
    │   ├── CodeTimeLimitError      ├── TokenLimitError     └── CostLimitError
    ├── RecordingError              replay is impossible                          exit code 3
    │   ├── RecordingMissingError   no such file
    │   └── RecordingMismatchError  the program asks what was not recorded
    └── OutputTypeError             an output does not fit its type (also a TypeError)

An exception that the *block* raises in the program is the program's own and never one of these.
"""

from __future__ import annotations


class NaturalError(Exception):
    """Root of every error that the runtime itself raises into the program.

    `place` is `file.njpy:line` of the block, where one is known. `run` is the finished account of
    the block's run (`njrt.Run`) with its calls and effects, where one had begun.
    """

    exit_code = 3
    place: str | None = None
    run: object | None = None


class ConfigurationError(NaturalError):
    """The program, its options or its environment ask for something that is not there."""

    exit_code = 2


class NoModelError(ConfigurationError):
    """No model is configured; the message lists every way to configure one."""


class ModelError(NaturalError):
    """The model, or the server in front of it, failed to answer."""


class AuthenticationError(ModelError):
    """The server refused the key."""


class ModelNotFoundError(ModelError):
    """The server does not know the model."""


class ServerError(ModelError):
    """The server could not be reached, was overloaded, timed out or sent something unreadable."""


class RejectedRequestError(ModelError):
    """The server answered that the request itself is wrong (HTTP 400 or 422)."""


class ReplyError(ModelError):
    """The model answered, but never with anything that can be carried out."""


class LimitError(NaturalError):
    """A limit of this block's run was reached. Counters belong to one run, never to the process."""


class EffectLimitError(LimitError):
    """`max_effects` was reached."""


class CallLimitError(LimitError):
    """`max_calls` was reached."""


class TimeLimitError(LimitError):
    """`max_seconds` of wall time was reached."""


class CodeTimeLimitError(LimitError):
    """`max_code_seconds` of running the model's code was reached."""


class TokenLimitError(LimitError):
    """`max_tokens` was reached."""


class CostLimitError(LimitError):
    """`max_usd` was reached."""


class RecordingError(NaturalError):
    """A recording cannot be replayed."""


class RecordingMissingError(RecordingError):
    """The recording that should be replayed is not there, or holds nothing."""


class RecordingMismatchError(RecordingError):
    """The program shows the model something else than when it was recorded."""


class OutputTypeError(NaturalError, TypeError):
    """The model could not be brought to bind an output of the declared type."""

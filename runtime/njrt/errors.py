"""The exceptions of the runtime, as one tree.

    NaturalError
    ├── ConfigurationError          no model, unknown option, a missing extra     exit code 2
    │   └── NoModelError            no model is configured
    ├── ModelError                  the model or its server failed                exit code 3
    │   ├── AuthenticationError     the key is missing (exit code 2) or wrong
    │   ├── ModelNotFoundError      the server does not know this model
    │   ├── ServerError             unreachable, overloaded, timed out, broken reply
    │   ├── RejectedRequestError    the server rejected the request as invalid
    │   └── ReplyError              empty, cut off or refused, after all retries
    ├── LimitError                  a limit of the block was reached              exit code 3
    │   ├── EffectLimitError        ├── CallLimitError      ├── TimeLimitError
    │   ├── CodeTimeLimitError      ├── TokenLimitError     ├── CostLimitError
    │   └── BudgetError             a budget is spent
    ├── PolicyError                 the block needs more than it is allowed        exit code 3
    ├── InterceptorError            an interceptor failed                         exit code 3
    ├── CallInDoubtError            a crash interrupted a call                  exit code 3
    ├── Unsure                      an answer is less probable than `sure`        exit code 3
    ├── Paused                      an interceptor paused the block               exit code 75
    ├── RecordingError              replay is impossible                          exit code 3
    │   ├── RecordingMissingError   no such file
    │   └── RecordingMismatchError  a request differs from the recorded ones
    ├── StoreError                  a store cannot be used                        exit code 3
    │   ├── DamagedStoreError       its file is damaged
    │   └── WrongSignatureError     somebody else has written the text
    └── OutputTypeError             an output does not fit its type (also a TypeError)

An exception that the *block* raises in the program belongs to the program, not to this tree.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class BlockWarning(UserWarning):
    """A block has done nothing, which may be right; `-W error` raises it in the program."""


class PolicyWarning(UserWarning):
    """A model's code runs in the program, although the program has not set `policy="guarded"`."""


class NaturalError(Exception):
    """Root of the errors that the runtime raises.

    `place` is the block's `file.njpy:line`, if known. `run` is the account of the block's run
    (`njrt.Run`) with its calls and effects, if a run had started; copies in other processes have
    none. `attempts` are the calls that a model made before it failed (`njrt.messages.CallAttempt`),
    if it makes several per request.
    """

    exit_code = 3
    place: str | None = None
    run: object | None = None
    attempts: tuple[Any, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        made = super().__reduce__()
        kept = {name: value for name, value in vars(self).items() if name != "run"}
        return (*made[:2], kept)


class ConfigurationError(NaturalError):
    """The program, its options or its environment ask for something that does not exist."""

    exit_code = 2


class NoModelError(ConfigurationError):
    """No model is configured; the message lists the ways to configure one."""


class ModelError(NaturalError):
    """The model or its server failed."""


class AuthenticationError(ModelError):
    """The key is missing, or the server rejected it. If it is missing, the exit code is 2."""


class ModelNotFoundError(ModelError):
    """The server does not know the model."""


class ServerError(ModelError):
    """The server could not be reached, was overloaded, timed out or sent an invalid response.

    `retry_after` is the wait in seconds that the server requested, if any. `status` is the HTTP
    status of its refusal, None without a response.
    """

    retry_after: float | None = None
    status: int | None = None


class RejectedRequestError(ModelError):
    """The server rejected the request as invalid (HTTP 400 or 422)."""


class ReplyError(ModelError):
    """The replies of the model could not be used: empty, cut off or refused."""


class LimitError(NaturalError):
    """A limit of the block's run was reached. Counters belong to one run, not to the process."""


class EffectLimitError(LimitError):
    """`max_effects` was reached."""


class CallLimitError(LimitError):
    """`max_calls` was reached."""


class TimeLimitError(LimitError):
    """`max_seconds` of wall time was reached."""


class CodeTimeLimitError(LimitError):
    """The model's code ran for longer than `max_code_seconds`."""


class TokenLimitError(LimitError):
    """`max_tokens` was reached."""


class CostLimitError(LimitError):
    """`max_usd` was reached."""


class BudgetError(LimitError):
    """A model call was not made: an `njrt.Budget` is spent.

    `budget` is its text form, `period` names the hour, day or month in UTC.
    """

    budget: str = ""
    period: str = ""


class PolicyError(NaturalError):
    """The block needs what its project does not allow, such as code under `authority="strict"`."""


class Unsure(NaturalError):
    """The answer of a block is less probable than the option `sure`; no output is bound.

    `probabilities` has those of the answers by output, as in the account of the run. It is empty if
    the reply gave none.
    """

    probabilities: Mapping[str, Mapping[str, float]] = {}


class InterceptorError(NaturalError):
    """An interceptor raised an exception, or returned something other than a decision."""


class CallInDoubtError(NaturalError):
    """The program was killed in a gated call, which may have taken effect; it is not repeated."""


class Paused(NaturalError):
    """An interceptor paused the block before an effect, which has not been performed.

    `recording` is the file that lets the program continue when it is run again, None without one.
    """

    exit_code = 75  # EX_TEMPFAIL of sysexits.h
    recording: str | None = None


class RecordingError(NaturalError):
    """A recording cannot be replayed."""


class RecordingMissingError(RecordingError):
    """The recording to be replayed does not exist, or has no line."""


class RecordingMismatchError(RecordingError):
    """A request of the program differs from the recorded one."""


class StoreError(NaturalError):
    """A store of budgets or traces cannot be used. The cache works without its store."""


class DamagedStoreError(StoreError):
    """A store's file is damaged, or has another version."""


class WrongSignatureError(StoreError):
    """A text in a store was not signed with the secret of this program."""


class OutputTypeError(NaturalError, TypeError):
    """The model, after all retries, or static code did not bind an output of the declared type."""


# ── packages that only some installations have ────────────────────────────────────────────────────


def require_packages(purpose: str, requirement: str, *names: str, otherwise: str = "") -> None:
    """Raise ConfigurationError unless the packages of these import names are installed.

    `purpose` is the feature that needs them, `requirement` is what pip installs, `otherwise` is the
    alternative.
    """
    from importlib.util import find_spec

    missing = [f"`{name}`" for name in names if find_spec(name) is None]
    if not missing:
        return
    packages, it = ("package", "it") if len(missing) == 1 else ("packages", "them")
    raise ConfigurationError(
        f"{purpose} needs the {packages} {' and '.join(missing)}; "
        f'install {it} with: pip install "{requirement}"'
        + (f", or {otherwise}" if otherwise else "")
    )


def find_opener(kind: str, place: str, shown: str) -> Callable[[str], Any]:
    """Return `open_model` or `open_store` of a program's module, for a `place` MODULE:NAME.

    Raises ConfigurationError, with the place as `shown`, if there is no such module or function.
    """
    from importlib import import_module

    try:
        module = import_module(place.partition(":")[0])
        opener: Callable[[str], Any] = getattr(module, f"open_{kind}")
    except (ImportError, AttributeError, ValueError) as problem:
        raise ConfigurationError(
            f"the {kind} {shown}: {problem}; the module must have a function `open_{kind}(name)`"
        ) from None
    return opener

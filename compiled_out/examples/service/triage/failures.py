# compiled by njc 0.3.0 from service/triage/failures.py (sha256 1c7161bd8a4ba52c, abi 1)
# do not edit: change service/triage/failures.py and build again
"""What a client is answered when a request fails.

njrt.ServerError("no reply from ...")    ->    503, {"error": "model_unavailable", ...}, Retry-After: 2

The answer does not repeat the error's message, which may hold addresses and data; the log has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.exc import SQLAlchemyError

import njrt


@dataclass(frozen=True)
class Failure:
    """An HTTP status, a code for programs, a sentence for people, and the seconds after which to try again."""

    status: int
    code: str
    message: str
    retry_after: int | None = None


MISCONFIGURED = Failure(500, "misconfigured", "The service is not set up correctly.")
UNUSABLE = Failure(502, "unusable_reply", "The model gave no usable reply to this message.")
BUDGET = Failure(503, "budget_used_up", "The budget for the model is used up.", 60)
STORAGE = Failure(503, "storage_unavailable", "The database does not answer.", 2)
TOO_SLOW = Failure(504, "too_slow", "The request took too long.")
OVERLOADED = Failure(503, "overloaded", "Too many requests are running.", 1)
STOPPING = Failure(503, "stopping", "This instance is stopping.", 1)
NO_LENGTH = Failure(411, "length_required", "Send the header Content-Length.")
TOO_LARGE = Failure(413, "too_large", "The body is too large.")
NOT_FOUND = Failure(404, "not_found", "There is no such ticket.")
CONFLICT = Failure(409, "conflict", "The ticket has another message.")

FAILURES: Mapping[type[Exception], Failure] = {
    njrt.NaturalError: MISCONFIGURED,
    njrt.ModelError: UNUSABLE,
    njrt.AuthenticationError: MISCONFIGURED,
    njrt.ModelNotFoundError: MISCONFIGURED,
    njrt.RejectedRequestError: UNUSABLE,
    njrt.ServerError: Failure(503, "model_unavailable", "The model does not answer.", 2),
    njrt.LimitError: UNUSABLE,
    njrt.TimeLimitError: TOO_SLOW,
    njrt.CostLimitError: BUDGET,
    njrt.BudgetError: BUDGET,
    njrt.TokenLimitError: UNUSABLE,
    njrt.OutputTypeError: UNUSABLE,
    njrt.StoreError: STORAGE,
    SQLAlchemyError: STORAGE,
}
"""By the nearest base class of the error."""


def describe_failure(error: Exception) -> Failure:
    """Find what to answer for an error of the runtime or of the database."""
    return next(FAILURES[kind] for kind in type(error).__mro__ if kind in FAILURES)


# njc lines 1=1 3:1 64=62 sha256 582c6b3e44e218d0

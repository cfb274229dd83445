"""What the Batch APIs of vendors have in common, as the waves use them.

    new ──submit──> running ──> ended: all lines are there      failed: refused as a whole      cancelled: by a person

A request that creates a batch is never repeated blindly: where its response was lost, `find` looks for the batch.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from njc.batch.journal import BatchLimits, SentBatch, StoredReply
from njrt.errors import ConfigurationError, ServerError
from njrt.models.remote import RemoteModel

CALL_SECONDS = 120.0
"""Seconds for one call of a Batch API."""

TRANSFER_SECONDS = 1800.0
"""Seconds for sending or fetching the file of a batch."""

CLOCK_SKEW_SECONDS = 86_400.0
"""By how much the clocks of this machine and of the vendor may differ: also by a wrong time zone."""

RETRIED_STATUSES = frozenset({408, 409, 425, 429})
"""The HTTP statuses below 500 of requests that are sent again."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """What a vendor says of a batch.

    `done` counts its finished requests, `answered` those whose answers are in the results; `files` are the ids under
    which its results can be fetched. `is_too_large` marks a failed batch that asks for more tokens than the vendor queues.
    """

    state: Literal["running", "ended", "failed", "cancelled"]
    done: int = 0
    message: str = ""
    files: tuple[str, ...] = ()
    is_too_large: bool = False
    answered: int = 0


@dataclass(frozen=True, slots=True)
class FoundBatch:
    """A batch that may be the one whose creation was not confirmed; None as the id: not decided yet."""

    vendor_id: str | None


IsOwn = Callable[[str], bool]
"""Whether a request with this id was sent in the batch that is looked for."""


async def write_download(pieces: AsyncIterable[bytes], path: Path) -> None:
    """Write what is downloaded to `path`; raises ServerError if the connection breaks off, and OSError."""
    iterator = aiter(pieces)
    with path.open("wb") as file:
        while True:
            try:
                piece = await anext(iterator)
            except StopAsyncIteration:
                return
            except Exception as error:  # of the connection, whose library is the SDK's choice
                raise ServerError(
                    f"the download of the results broke off ({type(error).__name__}); the same command continues"
                ) from None
            file.write(piece)


@contextmanager
def reading_responses() -> Iterator[None]:
    """Raise ServerError for a response that is not of the vendor's API, such as one of a proxy."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ServerError(
            f"the response of the Batch API cannot be read ({type(error).__name__}: {error})"
        ) from None


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise ConfigurationError for what goes wrong on the disk."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(
            f"cannot write {path}: {error.strerror or error}; once that is mended, the same command continues"
        ) from None


class VendorBatches(Protocol):
    """The Batch API of one vendor; its methods raise `ModelError`s."""

    limits: BatchLimits
    """What a batch may have."""

    def write_line(self, name: str, body: str) -> str:
        """Return the line of a request in the file of a batch."""

    def submit(self, model: RemoteModel, batch: SentBatch, path: Path) -> str:
        """Send the file of a batch and create the batch; return its id. Not repeated by the SDK."""

    def find(
        self, model: RemoteModel, batch: SentBatch, known: frozenset[str], is_own: IsOwn
    ) -> FoundBatch | None:
        """Return the batch, if it has been created; those with `known` ids are others."""

    def check(self, model: RemoteModel, vendor_id: str) -> BatchStatus:
        """Ask how far a batch is."""

    def download(self, model: RemoteModel, file: str, path: Path) -> None:
        """Write the lines of a file of results to `path`."""

    def read_line(self, line: Mapping[str, Any]) -> tuple[str, StoredReply | None]:
        """Return the id of a request, and its reply; None if it is to be sent again.

        Raises LookupError, TypeError, ValueError or AttributeError if it is no line of results.
        """

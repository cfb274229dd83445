"""Stores: texts by key, shared by threads, processes and machines.

    store.put("reply/9f3c", text)                    may be evicted when space runs out: a cache
    store.swap("budget/day", old, new)               is never evicted; True if the text was `old`
    update(store, "budget/day", add_call)            reads, changes and swaps until that succeeds

Every change is one atomic step, stored when the call returns. Every method raises `StoreError` if
the store cannot be used; after an error from `swap` it is not known whether the change was made.
`njrt.log.open_store` opens a store by its URL.
"""

from __future__ import annotations

import random
import time
import typing
from collections.abc import Callable, Sequence
from urllib.parse import quote, unquote

from njrt.data.records import record
from njrt.errors import StoreError

Change = Callable[[str | None], str | None]
"""Returns the new text for the present one; None: no text. It may be called several times."""


@record
class StoreSize:
    """The number of texts in a store, and their bytes."""

    entries: int = 0
    size: int = 0


class Store(typing.Protocol):
    """Texts by key. Safe to share between threads and across `fork`.

    Keys come from `make_store_key`: printable ASCII without blanks. A text is any `str` that UTF-8
    can encode.
    """

    @property
    def name(self) -> str:
        """The store's URL or path, without its password, for messages."""

    def get(self, key: str) -> str | None:
        """Return the text of `key`, or None."""

    def put(self, key: str, text: str) -> None:
        """Set a text that may be lost: the store may evict it when space runs out."""

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        """Set a text that must not be lost, if it is `old`; None: none. Return whether it was."""

    def list_keys(self, prefix: str) -> Sequence[str]:
        """Return the keys that start with `prefix`, sorted."""

    def measure(self, prefix: str) -> StoreSize:
        """Count the texts with keys that start with `prefix`."""

    def clear(self, prefix: str) -> int:
        """Delete the texts with keys that start with `prefix`; return their number."""

    def now(self) -> float:
        """Return the time in seconds since the epoch, by the clock of the store's server."""

    def close(self) -> None:
        """Close the connections; they are reopened when needed."""


def make_store_key(*parts: str) -> str:
    """Return a key made from any texts: `("budget", "Zoë/1")` is `budget/Zo%C3%AB%2F1`."""
    return "/".join(quote(part, safe="", errors="surrogatepass") for part in parts)


def split_store_key(key: str) -> tuple[str, ...]:
    """Return the texts that `make_store_key` has made a key from."""
    return tuple(unquote(part, errors="surrogatepass") for part in key.split("/"))


def update(store: Store, key: str, change: Change, seconds: float = 20.0) -> str | None:
    """Replace the text of `key` with `change(text)`, atomically; return the new text.

    If `change` returns the text unchanged, nothing is written. It is tried for `seconds`.
    """
    stops = time.monotonic() + seconds
    while True:
        old = store.get(key)
        new = change(old)
        if new == old or store.swap(key, old, new):
            return new
        if time.monotonic() > stops:
            raise StoreError(
                f"the store {store.name} did not take a change of {key} within {seconds:g} s: "
                "too many others write it"
            )
        time.sleep(random.uniform(0, 0.01))

"""Open a store by its URL.

    open_store("sqlite:///store.sqlite3", os.environ)           a file; a plain path works too
    open_store("memory:", os.environ)                           only this process
    open_store("python:shop.stores:redis", os.environ)          shop.stores.open_store("redis")

Entries are signed if `NJC_STORE_SECRET` is set. A program has one store for each URL.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from njrt.data.logs import warn
from njrt.data.private_files import find_state_folder
from njrt.errors import ConfigurationError, WrongSignatureError, find_opener
from njrt.log.sqlite_store import MemoryStore, SqliteStore
from njrt.stores import Store


def get_store(url: str | None, environ: Mapping[str, str]) -> Store:
    """Return the store at a URL, shared by the whole process; None is the user's own, a file."""
    url = url or str(find_state_folder(environ) / "store.sqlite3")
    return _get_store(url, environ.get(SECRET_VARIABLE) or None)


def get_store_to_read(url: str | None, environ: Mapping[str, str]) -> Store:
    """Return the store to read from; a file that does not exist is read as an empty store."""
    store = get_store(url, environ)
    is_missing = Path(store.name).is_absolute() and not os.path.exists(store.name)
    return MemoryStore(name=store.name) if is_missing else store


def open_store(url: str, secret: str | None = None) -> Store:
    """Open a store, signed with `secret` if there is one; it connects only when it is used."""
    opened, is_shared = _open_unsigned(url)
    if secret is not None:
        return SignedStore(opened, secret)
    if is_shared:
        warn(
            "the store %s is not signed: whoever can write to it can change what this program "
            "does; set %s",
            *(opened.name, SECRET_VARIABLE),
        )
    return opened


_get_store = lru_cache(maxsize=16)(open_store)


def is_store_url(place: str) -> bool:
    """Return whether a place is a store's URL rather than a path."""
    return re.match(r"\w[\w+.-]+:", place) is not None


def make_store_url(place: str) -> str:
    """Return the URL of a store that is given by its URL or by its file's path."""
    return place if is_store_url(place) else f"sqlite:///{quote(place)}"


def _open_unsigned(url: str) -> tuple[Store, bool]:
    """Return the store, and whether anybody but this user can write to it."""
    kind, _, place = make_store_url(url).partition(":")
    match kind.lower():
        case "memory":
            return MemoryStore(), False
        case "object":
            return _given_stores[url], True
        case "python":
            opener = find_opener("store", place, hide_password(url))
            return check_store(opener(place.partition(":")[2])), True
        case "sqlite" if place.startswith("///") and len(place) > 3:
            return SqliteStore(Path(unquote(place[3:])).expanduser()), False
    raise ConfigurationError(
        f"no store has the URL {hide_password(url)!r}; write sqlite:///FILE, memory:, or "
        "python:MODULE:NAME for a store of your own, such as examples/redis_store.py"
    )


_given_stores: dict[str, Store] = {}


def name_store(store: Store) -> str:
    """Return the URL, within this process, of a store that the program gives as an object."""
    url = f"object:{id(store)}"
    _given_stores[url] = check_store(store)
    return url


def check_store(store: Any) -> Store:
    """Return a program's store; raises ConfigurationError if it lacks a method of the protocol."""
    for name in dir(Store):
        if not name.startswith("_") and not hasattr(store, name):
            kind = type(store).__name__
            raise ConfigurationError(f"{kind} is not an njrt.stores.Store: it has no `{name}`")
    found: Store = store
    return found


def hide_password(url: str) -> str:
    """Return a URL without password and parameters, as messages show it."""
    return re.sub(r"(://[^/@:]*):.*@", r"\1@", url.partition("?")[0])


# ── a store with signed contents: contents written by others are rejected ────────────────────────


SECRET_VARIABLE = "NJC_STORE_SECRET"

_VERSION = "1:"


class SignedStore:
    """A `Store` around another store that signs what it writes and checks what it reads.

    A text with a wrong signature raises `WrongSignatureError`.
    """

    def __init__(self, store: Store, secret: str) -> None:
        if len(secret) < 16:
            raise ConfigurationError(
                f"{SECRET_VARIABLE} must have at least 16 characters; "
                "make one with: python -c 'import secrets; print(secrets.token_hex(32))'"
            )
        self._store = store
        self._secret = secret.encode("utf-8", "surrogatepass")
        self.name, self.now, self.close = store.name, store.now, store.close
        self.list_keys, self.measure, self.clear = store.list_keys, store.measure, store.clear

    def get(self, key: str) -> str | None:
        signed = self._store.get(key)
        if signed is None:
            return None
        text = signed[len(_VERSION) + 65 :]
        right = self._sign(key, text).encode("utf-8", "surrogatepass")
        if not hmac.compare_digest(right, signed.encode("utf-8", "surrogatepass")):
            raise WrongSignatureError(
                f"the text of {key} in the store {self.name} has no valid signature, and is not "
                f"used; check {SECRET_VARIABLE}, and who else writes to the store"
            )
        return text

    def put(self, key: str, text: str) -> None:
        self._store.put(key, self._sign(key, text))

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        signed = (None if text is None else self._sign(key, text) for text in (old, new))
        return self._store.swap(key, *signed)

    def _sign(self, key: str, text: str) -> str:
        # No key contains a NUL character, so two different inputs never give the same bytes.
        signed = f"text\0{key}\0{text}".encode("utf-8", "surrogatepass")
        return f"{_VERSION}{hmac.new(self._secret, signed, hashlib.sha256).hexdigest()}:{text}"

"""A store whose contents are signed: what others have written there is not believed.

    store = SignedStore(RedisStore(url), secret)
    store.put("reply/9f3c", text)             1:5d41...:text       HMAC-SHA256 of key and text
    store.get("reply/9f3c")                   WrongSignatureError where it is wrong

The secret is that of NJC_STORE_SECRET. Not seen: that somebody has deleted a text, has put back an older one of the same
key, or has deleted, repeated or rearranged lines of a log.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Literal

from njrt.errors import ConfigurationError, WrongSignatureError
from njrt.observability.logs import warn
from njrt.stores import Store, StoreSize

SECRET_VARIABLE = "NJC_STORE_SECRET"
MIN_SECRET_CHARS = 16

_VERSION = "1:"


class SignedStore:
    """A `Store` around another one, which signs what it writes and checks what it reads.

    A text with a wrong signature raises `WrongSignatureError`; such a line of a log is left out, with one warning in the log.
    """

    def __init__(self, store: Store, secret: str) -> None:
        if len(secret) < MIN_SECRET_CHARS:
            raise ConfigurationError(
                f"{SECRET_VARIABLE} must have at least {MIN_SECRET_CHARS} characters; "
                "make one with: python -c 'import secrets; print(secrets.token_hex(32))'"
            )
        self._store = store
        self._secret = secret.encode("utf-8", "surrogatepass")
        self._has_warned = False

    @property
    def name(self) -> str:
        return self._store.name

    def get(self, key: str) -> str | None:
        signed = self._store.get(key)
        if signed is None:
            return None
        text = self._check("text", key, signed)
        if text is None:
            raise WrongSignatureError(
                f"the text of {key} in the store {self.name} has no valid signature, and is not used; "
                f"check {SECRET_VARIABLE}, and who else writes to the store"
            )
        return text

    def put(self, key: str, text: str) -> None:
        self._store.put(key, self._sign("text", key, text))

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        signed = (None if text is None else self._sign("text", key, text) for text in (old, new))
        return self._store.swap(key, *signed)

    def append(self, key: str, line: str) -> int:
        return self._store.append(key, self._sign("line", key, line))

    def read_log(self, key: str, after: int = 0) -> Sequence[str]:
        checked = [self._check("line", key, line) for line in self._store.read_log(key, after)]
        lines = [line for line in checked if line is not None]
        if len(lines) < len(checked) and not self._has_warned:
            self._has_warned = True
            warn(
                "%d lines of %s in the store %s have no valid signature, and are left out; check %s",
                *(len(checked) - len(lines), key, self.name, SECRET_VARIABLE),
            )
        return lines

    def list_keys(self, prefix: str) -> Sequence[str]:
        return self._store.list_keys(prefix)

    def measure(self, prefix: str) -> StoreSize:
        return self._store.measure(prefix)

    def clear(self, prefix: str) -> int:
        return self._store.clear(prefix)

    def now(self) -> float:
        return self._store.now()

    def close(self) -> None:
        self._store.close()

    def _sign(self, kind: Literal["text", "line"], key: str, text: str) -> str:
        # No key holds a NUL character: two different inputs never give the same bytes.
        signed = f"{kind}\0{key}\0{text}".encode("utf-8", "surrogatepass")
        return f"{_VERSION}{hmac.new(self._secret, signed, hashlib.sha256).hexdigest()}:{text}"

    def _check(self, kind: Literal["text", "line"], key: str, signed: str) -> str | None:
        """Return the text if its signature is right, else None."""
        text = signed[len(_VERSION) + 65 :]
        right = self._sign(kind, key, text).encode("utf-8", "surrogatepass")
        given = signed.encode("utf-8", "surrogatepass")
        return text if hmac.compare_digest(right, given) else None

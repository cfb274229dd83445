"""A store on Redis, shared by machines: cache, budgets, traces and recordings of njrt in one place.

    NJC_STORE=python:redis_store:redis://cache.example:6379/0        for a whole process
    with njrt.using(store=RedisStore("redis://...")):                for the blocks inside

Set NJC_STORE_SECRET on every machine, so that entries are signed. A text that may be lost expires after 30 days; on a
server that evicts, set `maxmemory-policy volatile-lru`, and for budgets `appendonly yes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import redis

from njrt.errors import StoreError
from njrt.stores import StoreSize, decode_text, encode_text

PUT_SECONDS = 30 * 24 * 3600
_TEXT, _LOG = b"njc:text:", b"njc:log:"
_SWAP = """
local now = redis.call('GET', KEYS[1])
if ARGV[1] == '0' then
    if now then return 0 end
elseif not now or now ~= ARGV[2] then
    return 0
end
if ARGV[3] == '0' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[4]) end
return 1
"""

T = TypeVar("T")


def open_store(url: str) -> RedisStore:
    """Open a store by the URL after `python:redis_store:`."""
    return RedisStore(url)


class RedisStore:
    """An `njrt.stores.Store` on a server with the Redis protocol."""

    def __init__(self, url: str) -> None:
        self.name = re.sub(r"//[^/@]*@", "//", url)  # without its password
        self._client: Any = redis.Redis.from_url(url, socket_timeout=10.0, retry=None)

    def get(self, key: str) -> str | None:
        text = self._run(lambda: self._client.get(_TEXT + key.encode()))
        return None if text is None else decode_text(text)

    def put(self, key: str, text: str) -> None:
        name = _TEXT + key.encode()
        self._run(lambda: self._client.set(name, encode_text(text), ex=PUT_SECONDS))

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        before = int(old is not None), encode_text(old or "")
        after = int(new is not None), encode_text(new or "")
        name = _TEXT + key.encode()
        return bool(self._run(lambda: self._client.eval(_SWAP, 1, name, *before, *after)))

    def append(self, key: str, line: str) -> int:
        return int(self._run(lambda: self._client.rpush(_LOG + key.encode(), encode_text(line))))

    def read_log(self, key: str, after: int = 0) -> Sequence[str]:
        lines = self._run(lambda: self._client.lrange(_LOG + key.encode(), after, -1))
        return [decode_text(line) for line in lines]

    def list_keys(self, prefix: str) -> Sequence[str]:
        found = self._run(lambda: list(self._scan(prefix)))
        return sorted({name.removeprefix(kind).decode() for kind, name in found})

    def measure(self, prefix: str) -> StoreSize:
        def measure() -> StoreSize:
            total = StoreSize()
            for kind, name in self._scan(prefix):
                lines = (
                    [self._client.get(name)] if kind == _TEXT else self._client.lrange(name, 0, -1)
                )
                total += StoreSize(len(lines), sum(len(line or b"") for line in lines))
            return total

        return self._run(measure)

    def clear(self, prefix: str) -> int:
        def clear() -> int:
            deleted = 0
            for kind, name in list(self._scan(prefix)):
                count = 1 if kind == _TEXT else self._client.llen(name)
                deleted += count if self._client.delete(name) else 0
            return deleted

        return self._run(clear)

    def now(self) -> float:
        seconds, micros = self._run(self._client.time)
        return float(seconds + micros / 1e6)

    def close(self) -> None:
        self._client.close()

    def _scan(self, prefix: str) -> Iterator[tuple[bytes, bytes]]:
        pattern = re.sub(r"([*?\[\]\\^])", r"\\\1", prefix).encode() + b"*"
        for kind in (_TEXT, _LOG):
            found = set(self._client.scan_iter(match=kind + pattern, count=1000))
            yield from ((kind, name) for name in found)

    def _run(self, command: Callable[[], T]) -> T:
        try:
            return command()
        except (redis.RedisError, OSError) as error:
            raise StoreError(f"the store {self.name} cannot be used ({error})") from error

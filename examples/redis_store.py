"""A store on Redis, shared by machines: the cache and the budgets of njrt in one place.

    NJC_STORE=python:redis_store:redis://cache.example:6379/0        for a whole process
    with njrt.using(store=RedisStore("redis://...")):                for the blocks inside

Set NJC_STORE_SECRET on every machine, so that entries are signed. A text that may be lost expires after 30 days; on a
server that evicts, set `maxmemory-policy volatile-lru`, and for budgets `appendonly yes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import redis

from njrt.errors import StoreError
from njrt.stores import StoreSize

PUT_SECONDS = 30 * 24 * 3600
_TEXT = b"njc:text:"
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

LONE = "surrogatepass"
"""How a lone surrogate, which UTF-8 lacks, is stored."""

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
        return None if text is None else text.decode("utf-8", LONE)

    def put(self, key: str, text: str) -> None:
        name = _TEXT + key.encode()
        self._run(lambda: self._client.set(name, text.encode("utf-8", LONE), ex=PUT_SECONDS))

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        before = int(old is not None), (old or "").encode("utf-8", LONE)
        after = int(new is not None), (new or "").encode("utf-8", LONE)
        name = _TEXT + key.encode()
        return bool(self._run(lambda: self._client.eval(_SWAP, 1, name, *before, *after)))

    def list_keys(self, prefix: str) -> Sequence[str]:
        return sorted(name.decode() for name in self._run(lambda: self._scan(prefix)))

    def measure(self, prefix: str) -> StoreSize:
        def measure() -> StoreSize:
            sizes = [self._client.strlen(_TEXT + name) for name in self._scan(prefix)]
            return StoreSize(len(sizes), sum(sizes))

        return self._run(measure)

    def clear(self, prefix: str) -> int:
        def clear() -> int:
            return sum(self._client.delete(_TEXT + name) for name in self._scan(prefix))

        return self._run(clear)

    def now(self) -> float:
        seconds, micros = self._run(self._client.time)
        return float(seconds + micros / 1e6)

    def close(self) -> None:
        self._client.close()

    def _scan(self, prefix: str) -> set[bytes]:
        pattern = _TEXT + re.sub(r"([*?\[\]\\^])", r"\\\1", prefix).encode() + b"*"
        found = self._client.scan_iter(match=pattern, count=1000)
        return {name.removeprefix(_TEXT) for name in found}

    def _run(self, command: Callable[[], T]) -> T:
        try:
            return command()
        except (redis.RedisError, OSError) as error:
            raise StoreError(f"the store {self.name} cannot be used ({error})") from error

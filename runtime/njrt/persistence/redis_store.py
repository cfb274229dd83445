"""A store on a Redis or Valkey server, shared by machines; requires the extra `redis`.

    RedisStore("redis://cache.example:6379/0")      njc:text:reply/9f3c: a string; njc:log:trace/nightly: a list

An evictable text expires `PUT_SECONDS` after it was put, other entries never. So a server that evicts needs a
`volatile-...` policy; one that must not lose budgets needs `appendonly yes`. Each change is one command or one script
on one key, which also works on a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from njrt.errors import ConfigurationError, StoreError, require_packages
from njrt.observability.logs import warn
from njrt.stores import StoreSize, decode_text, encode_text

if TYPE_CHECKING:
    import redis

PUT_SECONDS = 30 * 24 * 3600
"""Seconds after which an evictable text expires."""

CONNECT_SECONDS = 5.0
COMMAND_SECONDS = 10.0
"""Seconds to wait for a connection, and for the reply to one command."""

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


class RedisStore:
    """A `Store` on a server with the Redis protocol. `url` is in redis-py's format, or starts with `valkey`."""

    def __init__(self, url: str, name: str | None = None) -> None:
        require_packages("a store on Redis", "njpy-runtime[redis]", "redis")
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        self.name = name or url
        if not re.fullmatch(r"/?\d*", urlsplit(url).path):
            raise ConfigurationError(
                f"the store {self.name}: the path of its URL must be the number of a database, such as /0"
            )
        self._failures = (redis.RedisError, OSError)
        try:
            self._client = redis.Redis.from_url(
                re.sub(r"^valkey(s?)://", r"redi\1s\1://", url),
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=COMMAND_SECONDS,
                # If the reply is lost, the command must not be sent again, because it may have run.
                retry=Retry(NoBackoff(), 0),
            )
        except ValueError as error:
            raise ConfigurationError(f"the store {self.name}: {error}") from None
        self._has_checked_policy = False

    def get(self, key: str) -> str | None:
        text = self._run(lambda client: client.get(_TEXT + key.encode()), again=True)
        return None if text is None else decode_text(text)

    def put(self, key: str, text: str) -> None:
        def write(client: redis.Redis) -> None:
            client.set(_TEXT + key.encode(), encode_text(text), ex=PUT_SECONDS)

        self._run(write, again=True)

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        arguments = (
            *(int(old is not None), encode_text(old or "")),
            *(int(new is not None), encode_text(new or "")),
        )
        self._check_eviction_policy()
        return bool(
            self._run(lambda client: client.eval(_SWAP, 1, _TEXT + key.encode(), *arguments))
        )

    def append(self, key: str, line: str) -> int:
        self._check_eviction_policy()
        return int(self._run(lambda client: client.rpush(_LOG + key.encode(), encode_text(line))))

    def read_log(self, key: str, after: int = 0) -> Sequence[str]:
        lines = self._run(lambda client: client.lrange(_LOG + key.encode(), after, -1), again=True)
        return [decode_text(line) for line in lines]

    def list_keys(self, prefix: str) -> Sequence[str]:
        return self._run(
            lambda client: sorted(
                {name.removeprefix(kind).decode() for kind, name in _scan(client, prefix)}
            ),
            again=True,
        )

    def measure(self, prefix: str) -> StoreSize:
        def count(client: redis.Redis) -> StoreSize:
            total = StoreSize()
            for kind, name in _scan(client, prefix):
                if kind == _TEXT:
                    total += StoreSize(1, client.strlen(name))
                else:
                    lines = client.lrange(name, 0, -1)
                    total += StoreSize(len(lines), sum(map(len, lines)))
            return total

        return self._run(count, again=True)

    def clear(self, prefix: str) -> int:
        def delete(client: redis.Redis) -> int:
            deleted = 0
            for kind, name in list(_scan(client, prefix)):
                count = 1 if kind == _TEXT else client.llen(name)
                deleted += count if client.delete(name) else 0
            return deleted

        return self._run(delete)

    def now(self) -> float:
        seconds, micros = self._run(lambda client: client.time(), again=True)
        return float(seconds + micros / 1e6)

    def close(self) -> None:
        """Close this process's connections; they are reopened when needed."""
        self._client.close()

    def _run(self, command: Callable[[Any], T], again: bool = False) -> T:
        """Call `command` with the client; with `again`, retry once after a failure, on another connection."""
        try:
            return command(self._client)
        except self._failures as error:
            if again:
                return self._run(command)
            raise StoreError(f"the store {self.name} cannot be used ({error})") from error

    def _check_eviction_policy(self) -> None:
        """Warn, once, if the server may evict entries."""
        if self._has_checked_policy:
            return
        self._has_checked_policy = True
        try:
            memory = self._client.info("memory")
        except self._failures:
            return  # not every server allows it
        policy = str(memory.get("maxmemory_policy", ""))
        if policy.startswith("allkeys") and memory.get("maxmemory"):
            warn(
                "the store %s evicts keys that must not be lost, by its policy %s; set maxmemory-policy to volatile-lru",
                self.name,
                policy,
            )


def _scan(client: Any, prefix: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the kind and the server's name of each text and log with a key that starts with `prefix`."""
    pattern = re.sub(r"([*?\[\]\\^])", r"\\\1", prefix).encode() + b"*"
    for kind in (_TEXT, _LOG):
        found = set(client.scan_iter(match=kind + pattern, count=1000))
        yield from ((kind, name) for name in found)

"""A store in this process's memory, for tests and for data that does not outlive a `with`.

store = MemoryStore()          the URL `memory:`
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from njrt.context import free_in_child
from njrt.stores import StoreSize


class MemoryStore:
    """A `Store` that no other process sees; nothing is evicted."""

    def __init__(self, now: Callable[[], float] = time.time, name: str = "memory:") -> None:
        self.now, self.name = now, name
        self._lock = free_in_child(threading.RLock())
        self._texts: dict[str, str] = {}
        self._logs: dict[str, list[str]] = {}

    def get(self, key: str) -> str | None:
        return self._texts.get(key)

    def put(self, key: str, text: str) -> None:
        with self._lock:
            self._texts[key] = text

    def swap(self, key: str, old: str | None, new: str | None) -> bool:
        with self._lock:
            if self._texts.get(key) != old:
                return False
            if new is None:
                self._texts.pop(key, None)
            else:
                self._texts[key] = new
            return True

    def append(self, key: str, line: str) -> int:
        with self._lock:
            lines = self._logs.setdefault(key, [])
            lines.append(line)
            return len(lines)

    def read_log(self, key: str, after: int = 0) -> Sequence[str]:
        with self._lock:
            return self._logs.get(key, [])[after:]

    def list_keys(self, prefix: str) -> Sequence[str]:
        with self._lock:
            return sorted(key for key in {*self._texts, *self._logs} if key.startswith(prefix))

    def measure(self, prefix: str) -> StoreSize:
        with self._lock:
            texts = [text for key, text in self._texts.items() if key.startswith(prefix)]
            logs = [lines for key, lines in self._logs.items() if key.startswith(prefix)]
        stored = [*texts, *(line for lines in logs for line in lines)]
        return StoreSize(
            len(stored), sum(len(text.encode("utf-8", "surrogatepass")) for text in stored)
        )

    def clear(self, prefix: str) -> int:
        deleted = self.measure(prefix).entries
        with self._lock:
            for table in (self._texts, self._logs):
                for key in [key for key in table if key.startswith(prefix)]:
                    del table[key]
        return deleted

    def close(self) -> None:
        """Do nothing; the texts stay."""

"""The event loop for requests to models, in a separate thread.

    get_network().run(exchange)             a thread waits          one client for each server,
    await get_network().arun(exchange)      an event loop waits     shared by all threads and loops

A connection belongs to one event loop, but a program may have many, or none.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

from njrt.timeouts import make_service_thread

T = TypeVar("T")


class Network:
    """An event loop in a thread, and the clients with connections that belong to it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._clients: dict[object, Any] = {}
        self._exchanges: set[asyncio.Task[Any]] = set()
        self._thread = make_service_thread(self._loop.run_forever, "njrt-network", close_network)
        Context().run(self._thread.start)  # each exchange runs in the context of its caller

    def run(self, exchange: Coroutine[Any, Any, T]) -> T:
        """Run `exchange` on the network's loop and wait for it; an interrupt cancels it.

        Raises RuntimeError in the network's own thread, which would wait for itself.
        """
        if threading.current_thread() is self._thread:
            exchange.close()
            raise RuntimeError(
                "a model is asked by `ask` inside of an asynchronous model; await `aask`"
            )
        future = self.start(exchange)
        try:
            return future.result()()
        finally:
            future.cancel()

    async def arun(self, exchange: Coroutine[Any, Any, T]) -> T:
        """Run `exchange` on the network's loop without blocking the caller's."""
        return (await asyncio.wrap_future(self.start(exchange)))()

    def get_client(self, owner: object, connect: Callable[[], Any]) -> Any:
        """Return the client of `owner`, made by `connect` when first needed, on this loop."""
        if owner not in self._clients:
            self._clients[owner] = connect()
        return self._clients[owner]

    def close(self) -> None:
        """Cancel running exchanges, close the clients and end the thread."""
        with suppress(Exception):
            closing = asyncio.run_coroutine_threadsafe(self._close_clients(), self._loop)
            closing.result(timeout=2)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=2)
        if not self._thread.is_alive():
            self._loop.close()

    def start(self, exchange: Coroutine[Any, Any, T]) -> Future[Callable[[], T]]:
        """Start `exchange` on the network's loop, in the caller's context; a cancel ends it."""
        return asyncio.run_coroutine_threadsafe(self._run_exchange(exchange), self._loop)

    async def _run_exchange(self, exchange: Coroutine[Any, Any, T]) -> Callable[[], T]:
        """Return what the caller calls for the result of an exchange."""
        task = asyncio.current_task()
        assert task is not None
        self._exchanges.add(task)
        try:
            result = await exchange
        except (KeyboardInterrupt, SystemExit) as error:  # which would end the loop
            return partial(_raise, error)
        finally:
            self._exchanges.discard(task)
        return lambda: result

    async def _close_clients(self) -> None:
        await asyncio.sleep(0)  # so that all exchanges have started
        for task in self._exchanges:
            task.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)
        for client in self._clients.values():
            await client.close()
        # Tasks close the generators that were dropped, and then those that these have read.
        for _ in range(8):
            await asyncio.sleep(0)
            others = asyncio.all_tasks() - {asyncio.current_task()}
            await asyncio.gather(*others, return_exceptions=True)


def _raise(error: BaseException) -> Any:
    raise error


_network_lock = threading.RLock()
_network: Network | None = None


def get_network() -> Network:
    """Return the network of this process, started when first needed."""
    global _network
    with _network_lock:
        if _network is None:
            _network = Network()
            atexit.register(close_network)
        return _network


def close_network() -> None:
    """Close this process's connections to models; the next request opens new ones."""
    global _network
    with _network_lock:
        network, _network = _network, None
    if network is not None:
        network.close()


def _reset_after_fork() -> None:
    """Drop the network in a forked process, which has the connections but not the thread."""
    global _network_lock, _network
    _network_lock, _network = threading.RLock(), None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)

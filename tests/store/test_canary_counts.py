"""What the stores keep of canaries: counted by threads at once, signed, listed and cleared."""

from __future__ import annotations

import threading

import pytest

from njrt.errors import StoreError
from njrt.persistence.open_store import open_store
from njrt.production.canary.block_state import AlarmRule, CanaryResult, CanaryState, CanaryStore
from njrt.stores import Store
from waiting import HANG_SECONDS

BLOCK = "shop.njpy:Übung.fill#2 51f0a2c37d8e4b66"


@pytest.mark.parametrize("kind", ["memory", "sqlite", "redis", "postgres"])
def test_no_canary_of_many_threads_is_lost(store: Store) -> None:
    canaries, rule = CanaryStore(store), AlarmRule(0.5, 0.001)
    assert canaries.read(BLOCK) == CanaryState()

    def count(number: int) -> None:
        for turn in range(10):
            differences = ("a",) if (number + turn) % 5 == 0 else ()
            problem = "a file" if turn == 3 else ""
            canaries.add_result(BLOCK, CanaryResult("shop.njpy:3", differences, problem), rule)

    threads = [threading.Thread(target=count, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_SECONDS)
    ((name, state),) = canaries.list_states()
    assert name == BLOCK
    assert (state.history.runs, state.skipped, state.alarm) == (36, 4, None)
    assert state.place == "shop.njpy:3"
    assert canaries.clear(BLOCK)
    assert not canaries.clear(BLOCK)
    assert list(canaries.list_states()) == []


@pytest.mark.parametrize("kind", ["sqlite", "redis", "postgres"])
def test_an_alarm_by_others_is_not_believed(url: str, store: Store) -> None:
    CanaryStore(store).add_result(BLOCK, CanaryResult("a:1", ("a",)), AlarmRule(0.0, 0.5))
    assert CanaryStore(open_store(url)).read(BLOCK).alarm is not None
    with pytest.raises(StoreError, match="no valid signature"):
        CanaryStore(open_store(url, "x" * 20)).read(BLOCK)

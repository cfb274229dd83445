"""One block's canaries in a store: the test so far, and any alarm.

    canaries = CanaryStore(store)
    canaries.add_result("shop.njpy:fill 51f0a2c37d8e4b66", result, rule)     CanaryState(runs=41, alarm=Alarm(...))
    canaries.clear("shop.njpy:fill 51f0a2c37d8e4b66")                        the code is used again, the test restarts

A block's name includes the digest of its instruction and code. After an alarm no more runs are counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from njrt.dataclass_json import InvalidJsonError, to_json, validate_value
from njrt.errors import StoreError
from njrt.production.canary.sequential_test import DifferenceHistory, compute_evidence
from njrt.records import field, record, replace
from njrt.stores import Store, make_store_key, split_store_key, update

KEY_PREFIX = "canary/"
MAX_EXAMPLE_CHARS = 400


@record
class AlarmRule:
    """The tolerated rate of differences and the probability of a false alarm, both for one block."""

    tolerated: float = 0.1
    false_alarms: float = 0.01


@record
class Alarm:
    """Why the block is live again: the number of runs and differences, and the last difference."""

    at: float
    runs: int
    differences: int
    evidence: float
    example: str
    tolerated: float
    false_alarms: float


@record
class CanaryResult:
    """The result of one sampled run.

    `problem` is the reason if nothing was compared; `differences` are texts, empty if code and live block agree.
    """

    place: str
    differences: tuple[str, ...] = ()
    problem: str = ""


@record
class CanaryState:
    """The canaries of one block and code. `skipped` runs were sampled, but nothing was compared."""

    place: str = ""
    history: DifferenceHistory = field(default_factory=DifferenceHistory)
    skipped: int = 0
    problem: str = ""
    """Why the last of these was skipped."""
    example: str = ""
    """The last difference."""
    alarm: Alarm | None = None
    at: float = 0.0

    def add(self, result: CanaryResult, rule: AlarmRule, now: float) -> CanaryState:
        """Return the state after one more sampled run."""
        if self.alarm is not None:
            return self
        state = replace(self, place=result.place, at=now)
        if result.problem:
            return replace(
                state, skipped=self.skipped + 1, problem=result.problem[:MAX_EXAMPLE_CHARS]
            )
        history = self.history.add(bool(result.differences))
        example = "; ".join(result.differences)[:MAX_EXAMPLE_CHARS] or self.example
        state = replace(state, history=history, example=example)
        evidence = compute_evidence(history, rule.tolerated)
        if not result.differences or evidence < 1 / rule.false_alarms:
            return state
        alarm = Alarm(
            now, history.runs, history.differences, evidence, example,
            rule.tolerated, rule.false_alarms,
        )  # fmt: skip
        return replace(state, alarm=alarm)


class CanaryStore:
    """The states in one store."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def read(self, block: str) -> CanaryState:
        """Return the state of a block and code; it is empty if there is no entry."""
        key = make_store_key("canary", block)
        return _parse_state(self.store.get(key), key)

    def add_result(self, block: str, result: CanaryResult, rule: AlarmRule) -> CanaryState:
        key, now = make_store_key("canary", block), self.store.now()

        def change(text: str | None) -> str | None:
            before = _parse_state(text, key)
            after = before.add(result, rule, now)
            return text if after is before else to_json(after)

        return _parse_state(update(self.store, key, change), key)

    def list_states(self) -> Iterator[tuple[str, CanaryState]]:
        """Yield the blocks that have a state, by name, with their states."""
        for name in self.list_names():
            yield name, self.read(name)

    def list_names(self) -> list[str]:
        """Return the names of the blocks that have a state, whether or not it can be read."""
        return [split_store_key(key)[1] for key in self.store.list_keys(KEY_PREFIX)]

    def clear(self, block: str) -> bool:
        """Remove a block, so that its code is used again and the test restarts. Return whether it had a state."""
        return self.store.clear(make_store_key("canary", block)) > 0


def _parse_state(text: str | None, key: str) -> CanaryState:
    if text is None:
        return CanaryState()
    try:
        state: CanaryState = validate_value(json.loads(text), CanaryState)
    except (InvalidJsonError, ValueError) as error:
        raise StoreError(
            f"the text of {key} in the store is not a state of canaries ({error}); "
            "`njc canary --clear` deletes it"
        ) from None
    return state


def describe_alarm(alarm: Alarm) -> str:
    """Describe an alarm in one line."""
    return (
        f"{alarm.differences} of {alarm.runs} canaries differed, more than the tolerated share of {alarm.tolerated:g} "
        f"(false alarms: {alarm.false_alarms:g})"
    )

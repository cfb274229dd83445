"""Blocks behave by the defaults that docs/reference/settings.md names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import njrt
from njrt.block.agent.conversation import MAX_REPEATS
from njrt.data.options import DEFAULTS, OPTION_CHOICES
from njrt.testing import Protocol, Request, run


def test_the_defaults_are_among_the_choices() -> None:
    assert all(getattr(DEFAULTS, name) in (None, *given) for name, given in OPTION_CHOICES.items())


def ask_failing_model(
    protocol: Protocol, code: Callable[[int], str], calls: int, done: bool = True
) -> list[Request]:
    """Return the requests of a block whose model writes code that fails."""
    codes = map(code, range(calls))
    said = [
        run(text, done=done) if protocol == "tools" else f"```python\n{text}\n```" for text in codes
    ]
    model = njrt.Scripted(said, protocol=protocol)
    with njrt.using(model=model), pytest.raises(njrt.NaturalError):
        njrt.run("""natural\nSet <:y>.\n""", lambda: (), writes="y", at="p.njpy:1")
    return model.requests


@pytest.mark.parametrize(("protocol", "temperature"), [("text", 0.0), ("tools", None)])
def test_the_default_temperature_depends_on_the_protocol(
    protocol: Protocol, temperature: float | None
) -> None:
    first, *_ = ask_failing_model(protocol, lambda number: "1 / 0", 10)
    assert first.temperature == temperature


def test_a_block_ends_after_the_default_number_of_equal_mistakes() -> None:
    assert len(ask_failing_model("tools", lambda number: "1 / 0", 10)) == MAX_REPEATS


def test_a_block_ends_after_the_default_number_of_calls() -> None:
    requests = ask_failing_model("tools", lambda number: f"print({number})", 40, done=False)
    assert len(requests) == DEFAULTS.max_calls

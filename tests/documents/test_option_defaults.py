"""The defaults that the tables of the documentation name are those of the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

import njrt
from njrt.messages import Protocol, Request
from njrt.models.scripted import run
from njrt.options import DEFAULTS, OPTION_CHOICES, Options

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `(?P<name>\w+)` \|(?P<default>[^|]*)\|", re.MULTILINE)
NOT_SET = {"": "", "none": "none", "off": "off"}
DEPENDS = {
    "protocol": "by model",
    "temperature": "`text`: 0; `tools`: of the vendor",
    "fallback": "`error`; in `auto` `live`",
    "store": "a file of the user",
}
"""Defaults that depend on something else; the first two are checked below."""


def read_defaults(page: str, heading: str) -> dict[str, str]:
    text = (DOCS / page).read_text()
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {row["name"]: row["default"].strip() for row in ROW.finditer(section)}


@pytest.mark.parametrize(
    ("page", "heading"), [("language.md", "Options"), ("runtime.md", "Limits")]
)
def test_each_default_of_a_table_is_that_of_the_code(page: str, heading: str) -> None:
    documented = read_defaults(page, heading)
    for name, told in documented.items():
        default = getattr(DEFAULTS, name)
        if name in DEPENDS:
            assert (told, default) == (DEPENDS[name], None)
        elif default is None:
            assert told in NOT_SET, name
        else:
            plain = told.strip("`")
            assert plain == (f"{default:g}" if isinstance(default, float) else str(default)), name


def test_the_table_has_every_option() -> None:
    assert set(read_defaults("language.md", "Options")) == {field.name for field in fields(Options)}
    assert all(getattr(DEFAULTS, name) in (None, *given) for name, given in OPTION_CHOICES.items())


def ask_failing_model(
    protocol: Protocol, code: Callable[[int], str], calls: int, done: bool = True
) -> list[Request]:
    """The requests of a block whose model writes code that fails."""
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
    assert len(ask_failing_model("tools", lambda number: "1 / 0", 10)) == DEFAULTS.max_repeats


def test_a_block_ends_after_the_default_number_of_calls() -> None:
    requests = ask_failing_model("tools", lambda number: f"print({number})", 40, done=False)
    assert len(requests) == DEFAULTS.max_calls

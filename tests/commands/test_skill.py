"""`njc skill`: the guide for coding agents is printed."""

from __future__ import annotations

from pathlib import Path

import yaml
from workplace import Workplace

GUIDE = (Path(__file__).parents[2] / "njc/skill/SKILL.md").read_text()


def test_it_is_printed_as_it_is(here: Workplace) -> None:
    assert here.njc("skill").stdout == GUIDE


def test_its_head_names_it_and_says_when_to_read_it() -> None:
    head = yaml.safe_load(GUIDE.split("---\n")[1])
    assert head["name"] == "natural-code"
    assert len(head["description"]) <= 1024
    assert len(GUIDE.splitlines()) < 500

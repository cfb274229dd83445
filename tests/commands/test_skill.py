"""`njc skill`: the guide for coding agents is printed, or written below a folder."""

from __future__ import annotations

from pathlib import Path

import yaml
from workplace import Workplace

GUIDE = (Path(__file__).parents[2] / "njc/skill/SKILL.md").read_text()
PLACE = ".claude/skills/natural-code/SKILL.md"


def test_it_is_printed_as_it_is(here: Workplace) -> None:
    result = here.njc("skill")
    assert (result.exit_code, result.stdout) == (0, GUIDE)


def test_its_head_names_it_and_says_when_to_read_it() -> None:
    head = yaml.safe_load(GUIDE.split("---\n")[1])
    assert head["name"] == "natural-code"
    assert len(head["description"]) <= 1024
    assert len(GUIDE.splitlines()) < 500


def test_it_is_written_and_written_again(here: Workplace) -> None:
    for _ in range(2):
        result = here.njc("skill", "--into", ".claude/skills")
        assert (result.exit_code, here.read(PLACE)) == (0, GUIDE)
        assert PLACE in result.stderr


def test_a_file_that_was_edited_is_kept(here: Workplace) -> None:
    here.write({PLACE: "mine"})
    result = here.njc("skill", "--into", ".claude/skills")
    assert (result.exit_code, here.read(PLACE)) == (2, "mine")
    assert "--force overwrites it" in result.stderr
    assert here.njc("skill", "--into", ".claude/skills", "--force").exit_code == 0
    assert here.read(PLACE) == GUIDE


def test_a_file_in_the_place_of_the_folder_is_an_error(here: Workplace) -> None:
    here.write({".claude": "a file"})
    result = here.njc("skill", "--into", ".claude/skills")
    assert result.exit_code == 2
    assert here.read(".claude") == "a file"

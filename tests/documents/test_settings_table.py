"""docs/reference/settings.md is the page that the code makes; `--update-cases` writes it."""

from __future__ import annotations

import re

from settings_table import PAGE, write_settings

from njc.doctor import RUNTIME_VARIABLES
from njc.project.config import PROJECT_VARIABLES
from njrt.data.options import BUILD_OPTIONS, ENVIRONMENT_VARIABLES, OPTION_NAMES


def test_the_page_is_up_to_date(update_cases: bool) -> None:
    text = write_settings()
    if update_cases:
        PAGE.write_text(text, encoding="utf-8")
    assert text == PAGE.read_text(encoding="utf-8")


def test_every_setting_has_one_row_and_a_meaning() -> None:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows = [line[2:].removesuffix(" |").split(" | ") for line in lines[2:]]
    options = [row[0].strip("`") for row in rows if row[-1] == "block"]
    assert options == [*OPTION_NAMES]
    variables = {word for row in rows for word in re.findall(r"^`NJC_\w+`", row[3])}
    read = [name for name, option in ENVIRONMENT_VARIABLES.items() if option not in BUILD_OPTIONS]
    known = (*read, *PROJECT_VARIABLES, *RUNTIME_VARIABLES)
    assert variables == {f"`{name}`" for name in known}
    assert all(len(row[2]) > 10 for row in rows)

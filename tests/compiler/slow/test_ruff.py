"""ruff, set up as docs/reference/building.md says, changes nothing that a block needs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from compiling import compile_text
from njc.commands.show import describe_source

ROOT = Path(__file__).parents[3]
RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent)) or shutil.which("ruff")

PROGRAM = '''from __future__ import annotations

import json
from pathlib import Path
from typing import Literal
from decimal import Decimal


def choose(items: list[str], where: Path, limit: int):
    for item in items:
        """natural
        Read <item> below <where> with <json> into <:kind: Literal["a", "b"]>, and return it if it is long.
        """
    first, last = items[0], items[-1]
    for number in range(limit):
        \'\'\'natural
        Add <number>, <first> and <last> to <:total: Decimal>.
        \'\'\'
    key = 3


def shout(text):
    """natural
    say <text> loudly in <:loud>
    """
    return loud
'''


def describe(text: str) -> list[object]:
    compilation = compile_text(text)
    findings = {diagnostic.code for diagnostic in compilation.diagnostics}
    blocks = [describe_source(block) for block in compilation.blocks]
    return [findings, [{**block, "line": 0, "end_line": 0} for block in blocks]]


@pytest.mark.skipif(RUFF is None, reason="ruff is not installed")
def test_fixes_of_every_rule(tmp_path: Path) -> None:
    assert RUFF is not None
    building = (ROOT / "docs" / "reference" / "building.md").read_text()
    (settings,) = re.findall(r"```toml\n(\[tool\.ruff\].*?)```", building, re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(settings)
    program = tmp_path / "p.njpy"
    program.write_text(PROGRAM)
    ruff = [RUFF, "check", "--quiet", "--exit-zero", "--no-cache", "--select", "ALL", "--fix"]
    subprocess.run([*ruff, "--unsafe-fixes", "."], cwd=tmp_path, check=True, timeout=60)
    subprocess.run([RUFF, "format", "--quiet", "."], cwd=tmp_path, check=True, timeout=60)
    fixed = program.read_text()
    assert fixed != PROGRAM
    assert describe(fixed) == describe(PROGRAM)

"""A directory in which `njc` runs as a user would run it, and the programs that tests write there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result

from njc.commands import njc as njc_command

GREETING = '''\
def greet(name: str) -> str:
    """natural
    Greet <name> in a <:greeting>.
    """
    return greeting
'''
MISSPELT = GREETING.replace("<name>", "<nmae>")
NOT_PYTHON = "def greet(:\n"


@dataclass(frozen=True)
class Workplace:
    """A directory, and the command to run in it."""

    folder: Path

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")

    def read(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def files(self, under: str = ".") -> list[str]:
        found = (file for file in (self.folder / under).rglob("*") if file.is_file())
        return sorted(file.relative_to(self.folder).as_posix() for file in found)

    def njc(self, *arguments: str, environ: Mapping[str, str] | None = None) -> Result:
        """Run the command in this process."""
        return CliRunner(env=environ).invoke(njc_command, arguments, prog_name="njc")

    def process(
        self, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own."""
        return self.python("-m", "njc", *arguments, environ=environ)

    def python(
        self, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=clean_environment() | dict(environ or {}),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def clean_environment() -> dict[str, str]:
    """Return the environment without what would change the outcome of a test."""
    foreign = ("NJC_", "OPENAI_", "ANTHROPIC_", "NO_COLOR", "FORCE_COLOR", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}

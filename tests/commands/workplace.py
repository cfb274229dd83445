"""A directory in which `njc` runs as a user would run it, and the programs that tests write there."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from click.testing import CliRunner, Result

import njrt
from njc.commands import njc as njc_command
from processes import run_python

GREETING = '''\
def greet(name: str) -> str:
    """natural
    Greet <name> in a <:greeting>.
    """
    return greeting
'''
MISSPELT = GREETING.replace("<name>", "<nmae>")
NOT_PYTHON = "def greet(:\n"
GREETING_CODE = '```python\ngreeting = f"Hello {name}"\n```'
WRITER = njrt.Scripted(lambda request: GREETING_CODE, protocol="text")
"""A model that writes the code of the greeting."""


@dataclass
class Workplace:
    """A directory, and the command to run in it, whose exit code must be `code`."""

    folder: Path

    def write(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="")

    def read(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def edit(self, path: str, before: str, after: str) -> None:
        """Replace a part of the text of a file, wherever it stands."""
        text = self.read(path)
        assert before in text
        self.write({path: text.replace(before, after)})

    def files(self, under: str = ".") -> list[str]:
        found = (file for file in (self.folder / under).rglob("*") if file.is_file())
        return sorted(file.relative_to(self.folder).as_posix() for file in found)

    def njc(
        self, *arguments: str, code: int = 0, environ: Mapping[str, str] | None = None
    ) -> Result:
        """Run the command in this process."""
        runner = CliRunner(env=environ, catch_exceptions=False)
        result = runner.invoke(njc_command, arguments, prog_name="njc")
        assert result.exit_code == code, result.output
        return result

    def process(
        self, *arguments: str, code: int = 0, environ: Mapping[str, str] | None = None
    ) -> CompletedProcess[str]:
        """Run the command in a process of its own."""
        return self.python("-m", "njc", *arguments, code=code, environ=environ)

    def python(
        self, *arguments: str, code: int = 0, environ: Mapping[str, str] | None = None
    ) -> CompletedProcess[str]:
        env = clean_environment() | dict(environ or {})
        result = run_python(*arguments, cwd=self.folder, env=env)
        assert result.returncode == code, result.stdout + result.stderr
        return result

    def shell(self, line: str, code: int = 0) -> CompletedProcess[str]:
        """Run a line of bash, in which `njc` is the command."""
        script = f'njc() {{ {sys.executable} -m njc "$@"; }}; {line}'
        result = subprocess.run(
            ["bash", "-c", script],
            cwd=self.folder,
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert result.returncode == code, result.stdout + result.stderr
        return result


def build_wheel(here: Workplace, code: int = 0) -> str:
    """Build the wheel of a project without a network; return what pip prints."""
    flags = ["--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check"]
    built = here.python("-m", "pip", "wheel", ".", "-w", "dist", *flags, code=code)
    return built.stdout + built.stderr


def read_wheel(here: Workplace) -> dict[str, str]:
    """Return the text of each file of a project's wheel."""
    (path,) = (here.folder / "dist").glob("*.whl")
    with zipfile.ZipFile(path) as wheel:
        return {name: wheel.read(name).decode() for name in wheel.namelist()}


def clean_environment() -> dict[str, str]:
    """Return the environment without what would change the outcome of a test."""
    foreign = ("NJC_", "OPENAI_", "ANTHROPIC_", "NO_COLOR", "FORCE_COLOR", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def enter_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make an empty directory the working directory, and leave no settings of njc in the environment."""
    monkeypatch.chdir(folder)
    for name in os.environ.keys() - clean_environment().keys():
        monkeypatch.delenv(name)
    (folder / ".git").mkdir()  # a project ends here: no pyproject.toml above is looked at

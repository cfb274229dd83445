"""Running the blocks of a page, in their order, in a folder of the page's own."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from fences import ROOT, Fence

from njc.compiler.compiler import compile_source
from njc.compiler.frontend.source import SourceFile
from njc.project.config import make_project

SECONDS = 100
"""For one command."""


class PageRunner:
    """The state of a page: the names that its Python has bound, and what its last block has printed."""

    def __init__(self, folder: Path) -> None:
        self.folder = self.cwd = folder
        self.environment = _make_environment(folder)
        self.namespace: dict[str, Any] = {"__name__": "__page__"}
        self.printed = ""

    def run(self, fence: Fence) -> None:
        """Run one block; an AssertionError or the block's own exception says what is wrong with it."""
        if fence.checked_by:
            other = ROOT / fence.checked_by
            assert other.exists(), f"there is no {fence.checked_by}"
            assert fence.path.name in other.read_text(), (
                f"{fence.checked_by} does not name the page"
            )
        elif fence.reason:
            return
        elif fence.file:
            self._write_file(fence)
        elif fence.is_output:
            assert_output(fence.text, self.printed)
        elif fence.kind == "python":
            self._run_python(fence)
        elif fence.kind == "console":
            self._run_console(fence)
        elif fence.kind == "toml":
            settings = tomllib.loads(fence.text).get("tool", {}).get("njc", {})
            make_project(settings, self.folder / "pyproject.toml")
        elif fence.kind == "json":
            _parse_json(fence.text)
        elif fence.kind == "yaml":
            assert yaml.safe_load(fence.text)
        else:
            raise AssertionError(f"no test has this block of kind {fence.kind!r}: see fences.py")

    def _write_file(self, fence: Fence) -> None:
        path = self.folder / fence.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fence.text)
        if path.suffix in (".njpy", ".py"):
            _compile(fence)

    def _run_python(self, fence: Fence) -> None:
        code = compile(_compile(fence), str(fence), "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self.namespace)
        self.printed = printed.getvalue()

    def _run_console(self, fence: Fence) -> None:
        commands = list(split_session(fence.text))
        assert commands, "there is no command"
        for position, (command, expected) in enumerate(commands, 1):
            match command.split():
                case ["cd", name]:
                    self.cwd = self.cwd / name
                    continue
                case ["export", setting]:
                    name, _, value = setting.partition("=")
                    self.environment[name] = value.replace(
                        "$EXAMPLES", self.environment["EXAMPLES"]
                    )
                    continue
            done = subprocess.run(
                ["bash", "-c", command],
                cwd=self.cwd,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                timeout=SECONDS,
            )
            self.printed = done.stdout
            status = fence.exit_code if position == len(commands) else 0
            assert done.returncode == status, f"{command}\n{done.stdout}"
            if expected:
                assert_output(expected, done.stdout)


def split_session(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command with the output that is shown below it; without `$`, each line is a command."""
    if not re.search(r"^\$ ", text, re.MULTILINE):
        yield from ((line, "") for line in text.replace("\\\n", "").splitlines() if line.strip())
        return
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, output = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
        yield command, output


def assert_output(expected: str, printed: str) -> None:
    """Compare line by line, without trailing blanks; `...` stands for any text."""
    wanted = "\n".join(line.rstrip() for line in expected.strip("\n").splitlines())
    actual = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    pattern = ".*".join(map(re.escape, wanted.split("...")))
    assert re.fullmatch(pattern, actual, re.DOTALL), f"expected:\n{wanted}\nprinted:\n{actual}"


def _compile(fence: Fence) -> bytes:
    compilation = compile_source(SourceFile(fence.path.name, fence.text.encode()))
    assert compilation.diagnostics == ()
    assert compilation.output is not None
    return compilation.output


def _parse_json(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        for line in text.splitlines():
            json.loads(line)


def _make_environment(folder: Path) -> dict[str, str]:
    """Return an environment without keys and settings, in which `njc`, `pytest` and `python` are those of the tests."""
    return {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin", "/bin"]),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "HOME": str(folder),
        "EXAMPLES": str(ROOT / "examples"),
        "LANG": "C.UTF-8",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        # Only the plugin of njrt: others that happen to be installed take seconds to load.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTEST_PLUGINS": "njrt.pytest_plugin",
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
